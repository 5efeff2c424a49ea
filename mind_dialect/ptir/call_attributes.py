"""The kind of property that holds the attributes of a custom call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from typing_extensions import TypeIs
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FloatAttr, StringAttr, f64, i64
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.printer import Printer

from ..codecs import BOOLEAN, INTEGERS, Codec, is_array
from ..errors import MindError
from ..literals import coded
from .attributes import INTEGER, REAL, invalid, is_integer, is_list
from .literal import PtirLiteralAttr
from .types import F64

CallValue = bool | int | float | str | Sequence[bool] | Sequence[int] | Sequence[float] | Sequence[str]


def _is_real(attribute: Attribute) -> TypeIs[FloatAttr[Any]]:
    return isinstance(attribute, FloatAttr)


class CallAttributes(Codec):
    """
    The attributes of a custom call by name: i64, f64, bool, string, or an array of one of them.

    Floats are stored as literals of f64, as plain float attributes of NaN and infinity do not survive stock xDSL's text. In
    Python an array is a tuple; an empty one is read as integers.
    """

    kind = "a map from names to i64, f64, bool, string or arrays of one of these"

    def attribute(self, value: Mapping[str, CallValue]) -> Attribute:
        if not isinstance(value, Mapping) or not all(isinstance(name, str) and name for name in value):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise self.wrong(value)
        return DictionaryAttr({name: self._stored(name, v) for name, v in sorted(value.items())})

    def _stored(self, name: str, value: CallValue) -> Attribute:
        if isinstance(value, bool):
            return BOOLEAN.attribute(value)
        if isinstance(value, int):
            return INTEGER.attribute(value)
        if isinstance(value, float):
            return REAL.attribute(value)
        if isinstance(value, str):
            return StringAttr(value)
        items = list(value) if isinstance(value, list | tuple) else [None]
        if all(isinstance(v, int) and not isinstance(v, bool) for v in items):
            return INTEGERS.attribute(cast(list[int], items))
        if all(isinstance(v, float) for v in items):
            return PtirLiteralAttr.from_values(F64, (len(items),), items)
        if all(isinstance(v, bool) for v in items) or all(isinstance(v, str) for v in items):
            return ArrayAttr([self._stored(name, cast(bool | str, v)) for v in items])
        raise invalid(f"{self.kind} for {name!r}", value)

    def value(self, attribute: Attribute) -> dict[str, CallValue]:
        if not isinstance(attribute, DictionaryAttr):
            raise self.wrong(attribute)
        return {name: self._read(name, a) for name, a in attribute.data.items()}

    def _read(self, name: str, attribute: Attribute) -> CallValue:
        if isinstance(attribute, StringAttr):
            return attribute.data
        if isinstance(attribute, PtirLiteralAttr):
            attribute.check()
            dtype, shape = attribute.spec
            if dtype is F64 and len(shape) <= 1 and not attribute.is_fill:
                values = cast(tuple[float, ...], attribute.values())
                return values if shape else values[0]
        try:
            if is_array(attribute):
                return INTEGERS.value(attribute)
            if is_list(attribute):
                items = [self._read(name, a) for a in attribute.data]
                if items and (all(isinstance(v, bool) for v in items) or all(isinstance(v, str) for v in items)):
                    return cast(tuple[bool, ...] | tuple[str, ...], tuple(items))
            if is_integer(attribute):
                return (INTEGER if attribute.type == i64 else BOOLEAN).value(attribute)
        except MindError:
            pass
        if _is_real(attribute) and attribute.type == f64:
            return attribute.value.data
        raise invalid(f"{self.kind} for {name!r}", attribute)

    def print(self, printer: Printer, attribute: Attribute) -> None:
        printer.print_attribute(attribute)

    def parse(self, parser: Parser) -> Attribute:
        start = parser.pos
        attribute = parser.parse_attribute()
        try:
            self.value(attribute)
        except MindError as e:
            raise coded(parser, start, e) from None
        return attribute


CALL_ATTRIBUTES = CallAttributes()
