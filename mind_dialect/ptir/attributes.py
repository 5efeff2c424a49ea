"""The kinds of property that PTIR ops have beyond those of all dialects, each written in an op's text in its own way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from typing_extensions import TypeIs
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.printer import Printer

from ..codecs import INT64, INTEGERS, Codec, is_array
from ..elements import Number
from ..errors import MindError, brief, error
from ..extents.dims import is_expression
from ..literals import coded
from ..ptir_shapes import Dim, Pairs
from .literal import PtirLiteralAttr, check_element, parse_literal
from .types import DTYPE_OF_TYPE, F64, PtirDType, checked_dim, dtype_named, unknown_dtype


def is_integer(attribute: Attribute) -> TypeIs[IntegerAttr[Any]]:
    """Return whether an attribute is an integer."""
    return isinstance(attribute, IntegerAttr)


def is_list(attribute: Attribute) -> TypeIs[ArrayAttr[Attribute]]:
    """Return whether an attribute is a list of attributes."""
    return isinstance(attribute, ArrayAttr)


def invalid(kind: str, given: object) -> MindError:
    """E8002: a property holds a value it must not have."""
    return error("E8002", f"found {brief(given)}, expected {kind}", attribute=kind, value=brief(given))


def parsed(parser: Parser, codec: Codec, start: int, value: object) -> Attribute:
    """The attribute of a value read from text; a parse error at `start` if there is none."""
    try:
        return codec.attribute(value)
    except MindError as e:
        raise coded(parser, start, e) from None


def parse_integer(parser: Parser) -> int:
    """An integer; a coded parse error for one of thousands of digits."""
    start = parser.pos
    try:
        return parser.parse_integer()
    except ValueError as e:
        raise coded(parser, start, error("E1005", "a number of too many digits", text=str(e))) from None


class Int(Codec):
    """One 64-bit integer, stored as `3 : i64`, written `3`."""

    kind = "an i64"

    def attribute(self, value: int) -> Attribute:
        if not isinstance(value, int) or isinstance(value, bool) or value not in INT64:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise self.wrong(value)
        return IntegerAttr(value, i64)

    def value(self, attribute: Attribute) -> int:
        if is_integer(attribute) and attribute.type == i64:
            return attribute.value.data
        raise self.wrong(attribute)

    def print(self, printer: Printer, attribute: Attribute) -> None:
        printer.print_string(str(self.value(attribute)))

    def parse(self, parser: Parser) -> Attribute:
        start = parser.pos
        return parsed(parser, self, start, parse_integer(parser))


class Word(Codec):
    """One of a few names, stored as a string, written bare: `max`."""

    def __init__(self, *words: str):
        self.words = words
        self.kind = f"one of {', '.join(words)}"

    def attribute(self, value: str) -> Attribute:
        if value not in self.words:
            raise invalid(self.kind, value)
        return StringAttr(value)

    def value(self, attribute: Attribute) -> str:
        if isinstance(attribute, StringAttr) and attribute.data in self.words:
            return attribute.data
        raise invalid(self.kind, attribute)

    def print(self, printer: Printer, attribute: Attribute) -> None:
        printer.print_string(self.value(attribute))

    def parse(self, parser: Parser) -> Attribute:
        start = parser.pos
        return parsed(parser, self, start, parser.parse_identifier())


class DTypeCodec(Codec):
    """A dtype, stored and written as its builtin type: `si32`. In Python a dtype or its contract name."""

    kind = "a dtype"

    def attribute(self, value: PtirDType | str) -> Attribute:
        if isinstance(value, str):
            return dtype_named(value).type
        if not isinstance(value, PtirDType):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise unknown_dtype(value)
        return value.type

    def value(self, attribute: Attribute) -> PtirDType:
        if (dtype := DTYPE_OF_TYPE.get(attribute)) is None:
            raise unknown_dtype(attribute)
        return dtype

    def print(self, printer: Printer, attribute: Attribute) -> None:
        printer.print_attribute(attribute)

    def parse(self, parser: Parser) -> Attribute:
        start = parser.pos
        type = parser.parse_type()
        try:
            return self.value(type).type
        except MindError as e:
            raise coded(parser, start, e) from None


class DimsCodec(Codec):
    """
    Sizes, names of dimensions and expressions of them, written `[B, 4, -1, "P+T"]`.

    Stored as `array<i64: ...>` when there are only sizes, else as an array of canonical texts and integers.
    """

    kind = "a list of sizes and dimension names"

    def attribute(self, value: Sequence[Dim]) -> Attribute:
        try:
            items = tuple(value)
        except TypeError:
            raise self.wrong(value) from None
        if isinstance(value, str):
            raise self.wrong(value)
        dims = [checked_dim(d) if isinstance(d, str) else d for d in items]
        if not any(isinstance(d, str) for d in dims):
            return INTEGERS.attribute(cast(Sequence[int], dims))
        return ArrayAttr([StringAttr(d) if isinstance(d, str) else INTEGER.attribute(d) for d in dims])

    def value(self, attribute: Attribute) -> tuple[Dim, ...]:
        if is_array(attribute):
            return INTEGERS.value(attribute)
        if is_list(attribute):
            dims = tuple(d.data if isinstance(d, StringAttr) else INTEGER.value(d) for d in attribute.data)
            texts = [d for d in dims if isinstance(d, str)]
            if texts and all(checked_dim(d) == d for d in texts):
                return dims
        raise self.wrong(attribute)

    def print(self, printer: Printer, attribute: Attribute) -> None:
        printer.print_string(f"[{', '.join(map(dim_text, self.value(attribute)))}]")

    def parse(self, parser: Parser) -> Attribute:
        start = parser.pos
        dims = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_dim(parser))
        return parsed(parser, self, start, dims)


class DimCodec(Codec):
    """A size, a name of a dimension or an expression, written as in a list of them, stored as an integer or a canonical text."""

    kind = "a size, a dimension name or an expression of names"

    def attribute(self, value: Dim) -> Attribute:
        dim = checked_dim(value) if isinstance(value, str) else value
        return StringAttr(dim) if isinstance(dim, str) else INTEGER.attribute(dim)

    def value(self, attribute: Attribute) -> Dim:
        if not isinstance(attribute, StringAttr):
            return INTEGER.value(attribute)
        if checked_dim(attribute.data) == attribute.data:
            return attribute.data
        raise self.wrong(attribute)

    def print(self, printer: Printer, attribute: Attribute) -> None:
        printer.print_string(dim_text(self.value(attribute)))

    def parse(self, parser: Parser) -> Attribute:
        start = parser.pos
        return parsed(parser, self, start, parse_dim(parser))


def dim_text(dim: Dim) -> str:
    """A dimension in a property's text."""
    return f'"{dim}"' if is_expression(dim) else str(dim)


def parse_dim(parser: Parser) -> Dim:
    """A dimension in a property's text, in any spelling."""
    name = parser.parse_optional_identifier() or parser.parse_optional_str_literal()
    return parse_integer(parser) if name is None else name


class PairsCodec(Codec):
    """Pairs of integers, low and high per dimension, written `[[1, 1], [0, 0]]`, stored flat as `array<i64: 1, 1, 0, 0>`."""

    kind = "a list of pairs of i64"

    def attribute(self, value: Pairs) -> Attribute:
        try:
            return INTEGERS.attribute([n for low, high in value for n in (low, high)])
        except (TypeError, ValueError):
            raise self.wrong(value) from None

    def value(self, attribute: Attribute) -> Pairs:
        flat = INTEGERS.value(attribute)
        if len(flat) % 2:
            raise self.wrong(attribute)
        return tuple(zip(flat[::2], flat[1::2], strict=True))

    def print(self, printer: Printer, attribute: Attribute) -> None:
        printer.print_string(str([list(pair) for pair in self.value(attribute)]))

    def parse(self, parser: Parser) -> Attribute:
        start, square = parser.pos, parser.Delimiter.SQUARE
        pairs = parser.parse_comma_separated_list(
            square, lambda: parser.parse_comma_separated_list(square, lambda: parse_integer(parser))
        )
        return parsed(parser, self, start, pairs)


class LiteralCodec(Codec):
    """A tensor literal, written `[[1.0, nan]] : tensor<1x2xf32>`; `scalar` demands rank 0 and writes `0.0 : f32`."""

    def __init__(self, scalar: bool = False):
        self.scalar = scalar
        self.kind = "a scalar literal (#ptir.literal of rank 0)" if scalar else "a literal (#ptir.literal)"

    def attribute(self, value: PtirLiteralAttr) -> Attribute:
        return self.value(value)

    def value(self, attribute: Attribute) -> PtirLiteralAttr:
        if isinstance(attribute, PtirLiteralAttr):
            attribute.check()
            if not self.scalar or attribute.spec[1] == ():
                return attribute
        raise error("E4005", f"value {brief(attribute)}, expected {self.kind}", dtype="?", issue="no such literal")

    def print(self, printer: Printer, attribute: Attribute) -> None:
        literal = self.value(attribute)
        if not self.scalar:
            literal.print_content(printer)
            return
        printer.print_string(f"{literal.body()} : ")
        printer.print_attribute(literal.type.element_type)

    def parse(self, parser: Parser) -> Attribute:
        return parse_literal(parser, scalar=self.scalar)


class Text(Codec):
    """A string, written in quotes."""

    kind = "a string"

    def attribute(self, value: str) -> Attribute:
        if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise self.wrong(value)
        return StringAttr(value)

    def value(self, attribute: Attribute) -> str:
        if isinstance(attribute, StringAttr):
            return attribute.data
        raise self.wrong(attribute)

    def print(self, printer: Printer, attribute: Attribute) -> None:
        printer.print_attribute(attribute)

    def parse(self, parser: Parser) -> Attribute:
        return StringAttr(parser.parse_str_literal())


class Real(Codec):
    """One f64, stored as a rank-0 literal so that NaN and infinity survive, written `1.0e-05`."""

    kind = "an f64"

    def attribute(self, value: float) -> Attribute:
        return PtirLiteralAttr.from_values(F64, (), (value,))

    def value(self, attribute: Attribute) -> float:
        if isinstance(attribute, PtirLiteralAttr) and attribute.spec == (F64, ()):
            attribute.check()
            return cast(float, attribute.item())
        raise self.wrong(attribute)

    def print(self, printer: Printer, attribute: Attribute) -> None:
        self.value(attribute)
        printer.print_string(cast(PtirLiteralAttr, attribute).body())

    def parse(self, parser: Parser) -> Attribute:
        return parse_literal(parser, dtype=F64)


def scalar(dtype: PtirDType, value: Number | PtirLiteralAttr) -> PtirLiteralAttr:
    """A rank-0 literal; a literal is returned as it is."""
    return value if isinstance(value, PtirLiteralAttr) else PtirLiteralAttr.from_values(dtype, (), (check_element(value, dtype),))


INTEGER = Int()
DTYPE = DTypeCodec()
DIM = DimCodec()
DIMS = DimsCodec()
PAIRS = PairsCodec()
LITERAL = LiteralCodec()
SCALAR = LiteralCodec(scalar=True)
TEXT = Text()
REAL = Real()
