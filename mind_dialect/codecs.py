"""Codecs: store, check and write each kind of property; one codec per kind, not one per op."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Self, cast

from typing_extensions import TypeIs, TypeVar
from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, IntegerType, i64
from xdsl.ir import Attribute
from xdsl.irdl import AttrConstraint, IntConstraint, VerificationContext
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer

from .by_identity import by_identity
from .errors import MindError, brief, error
from .literals import Number, check_element, coded, element_text, parse_number
from .types import DType

_TRUE, _FALSE = IntegerAttr.from_bool(True), IntegerAttr.from_bool(False)
INT64 = range(-(1 << 63), 1 << 63)
SHORT = 8
"""Lists of at most so many integers are remembered as attributes."""


def is_array(attribute: Attribute) -> TypeIs[DenseArrayBase[Any]]:
    """Return whether `attribute` is an `array<...>`."""
    return isinstance(attribute, DenseArrayBase)


class Codec(AttrConstraint[Attribute], ABC):
    """
    A kind of property: between the Python value, the xDSL attribute, and its text in an op's own format.

    It is also the constraint of the property in the op's declaration.
    """

    kind: str

    def __eq__(self, other: object) -> bool:
        return self is other  # constraints compare fields, of which a codec has none

    def __hash__(self) -> int:
        return id(self)

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        self.value(attr)

    def mapping_type_vars(self, type_var_mapping: Mapping[TypeVar, AttrConstraint | IntConstraint]) -> Self:
        return self

    @abstractmethod
    def attribute(self, value: Any) -> Attribute:
        """The attribute that stores `value`; a coded error if it cannot be stored."""

    @abstractmethod
    def value(self, attribute: Attribute) -> Any:
        """The Python value of `attribute`; a coded error if it is of another kind."""

    @abstractmethod
    def print(self, printer: Printer, attribute: Attribute) -> None:
        """Write `attribute`, which is of this kind, in the op's own format."""

    @abstractmethod
    def parse(self, parser: Parser) -> Attribute:
        """Read what `print` writes."""

    def wrong(self, given: object) -> MindError:
        """E4000: the property holds something of another kind."""
        shown = brief(given)
        return error("E4000", f"expected {self.kind}, found {shown}", given=shown, expected=self.kind)


@lru_cache(maxsize=1 << 10)
def short_array(items: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    """`array<i64: ...>`: lists of axes are few and recur, and making the attribute costs more than making an op."""
    return DenseArrayBase.from_list(i64, items)


@by_identity
def integers(attribute: Attribute) -> tuple[int, ...]:
    """The items of an `array<...>` of integers."""
    return cast("DenseArrayBase[IntegerType]", attribute).get_values()


def _plain(n: Any) -> Any:
    """An integer of NumPy, or of whatever else can be an index, as Python's; all else as it is."""
    try:
        return n if isinstance(n, bool) else operator.index(n)
    except TypeError:
        return n


class Integers(Codec):
    """A list of 64-bit integers, stored as `array<i64: 1, 2>`, written `[1, 2]`."""

    kind = "a list of i64 (array<i64: ...>)"

    def attribute(self, value: Sequence[int]) -> Attribute:
        try:
            items = tuple(value)
        except TypeError:
            raise self.wrong(value) from None
        if not all(type(n) is int for n in items):
            items = tuple(_plain(n) for n in items)
        for n in items:
            if not isinstance(n, int) or isinstance(n, bool) or n not in INT64:  # pyright: ignore[reportUnnecessaryIsInstance]
                raise self.wrong(list(items))
        return short_array(items) if len(items) <= SHORT else DenseArrayBase.from_list(i64, items)

    def value(self, attribute: Attribute) -> tuple[int, ...]:
        if is_array(attribute) and attribute.elt_type == i64:
            return integers(attribute)
        raise self.wrong(attribute)

    def print(self, printer: Printer, attribute: Attribute) -> None:
        printer.print_string(str(list(self.value(attribute))))

    def parse(self, parser: Parser) -> Attribute:
        start = parser.pos
        try:
            return self.attribute(parse_integers(parser))
        except MindError as e:
            raise coded(parser, start, e) from None


def parse_integers(parser: AttrParser) -> list[int]:
    """Read `[1, -2]`; E1005 for more digits than Python reads."""
    start = parser.pos
    try:
        return parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False, context_msg=" in a list of integers")
        )
    except ValueError as e:
        raise coded(parser, start, error("E1005", "a number of too many digits", text=str(e))) from None


class BooleanCodec(Codec):
    """`true` or `false`."""

    kind = "true or false"

    def attribute(self, value: bool) -> Attribute:
        if not isinstance(value, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise self.wrong(value)
        return _TRUE if value else _FALSE

    def value(self, attribute: Attribute) -> bool:
        if attribute == _TRUE or attribute == _FALSE:
            return attribute == _TRUE
        raise self.wrong(attribute)

    def print(self, printer: Printer, attribute: Attribute) -> None:
        printer.print_string("true" if self.value(attribute) else "false")

    def parse(self, parser: Parser) -> Attribute:
        return self.attribute(parser.parse_boolean())


class Scalar(Codec):
    """One number of a dtype, stored as a builtin integer or float attribute. `nan`, `inf` and `-inf` are read and written."""

    def __init__(self, dtype: DType):
        self.dtype = dtype
        self.kind = f"a number of type {dtype}"

    def attribute(self, value: Number) -> Attribute:
        checked = check_element(value, self.dtype)
        return FloatAttr(checked, self.dtype.type) if self.dtype.is_float else IntegerAttr(checked, self.dtype.type)  # pyright: ignore

    def value(self, attribute: Attribute) -> Number:
        if isinstance(attribute, FloatAttr | IntegerAttr):
            number = cast(FloatAttr[Any] | IntegerAttr[Any], attribute)
            if number.type == self.dtype.type:
                return check_element(number.value.data, self.dtype)
        raise error("E4005", f"value {attribute}, expected {self.kind}", dtype=str(self.dtype), issue=f"is no {self.dtype}")

    def print(self, printer: Printer, attribute: Attribute) -> None:
        printer.print_string(element_text(self.value(attribute), self.dtype))

    def parse(self, parser: Parser) -> Attribute:
        start = parser.pos
        if (value := parse_number(parser)) is None:
            parser.raise_error(f"expected {self.kind}")
        try:
            return self.attribute(value)
        except MindError as e:
            raise coded(parser, start, e) from None


INTEGERS = Integers()
BOOLEAN = BooleanCodec()
