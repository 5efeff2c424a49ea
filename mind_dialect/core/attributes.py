"""The kinds of property that only Core IR has; the others are in `mind_dialect.codecs` and are to be had here too."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.printer import Printer

from ..codecs import BOOLEAN, INTEGERS, BooleanCodec, Codec, Integers, Scalar, is_array, parse_integers
from ..errors import MindError, brief, error
from ..literals import LiteralAttr, coded, parse_literal
from ..shapes import Padding

__all__ = [
    "BOOLEAN",
    "INTEGERS",
    "LITERAL",
    "PADDING",
    "BooleanCodec",
    "Codec",
    "Integers",
    "Literal",
    "PaddingCodec",
    "Scalar",
]


class PaddingCodec(Codec):
    """`Valid`, `Same` or `[[top, bottom], [left, right]]`, stored as a string or as four i64."""

    kind = "Valid, Same or [[top, bottom], [left, right]]"

    def attribute(self, value: Padding) -> Attribute:
        if isinstance(value, str):
            return StringAttr(value)
        try:
            (top, bottom), (left, right) = value
        except (TypeError, ValueError):
            raise self.wrong(value) from None
        return INTEGERS.attribute([top, bottom, left, right])

    def value(self, attribute: Attribute) -> Padding:
        if isinstance(attribute, StringAttr):
            return attribute.data
        if is_array(attribute) and len(flat := INTEGERS.value(attribute)) == 4:
            top, bottom, left, right = flat
            return ((top, bottom), (left, right))
        raise self.wrong(attribute)

    def wrong(self, given: object) -> MindError:
        return error("E4013", f"padding {brief(given)}, expected {self.kind}", padding=brief(given))

    def print(self, printer: Printer, attribute: Attribute) -> None:
        value = self.value(attribute)
        if isinstance(value, str):
            printer.print_identifier_or_string_literal(value)
        else:
            printer.print_string(str([list(pair) for pair in value]))

    def parse(self, parser: Parser) -> Attribute:
        if (word := parser.parse_optional_identifier_or_str_literal()) is not None:
            return StringAttr(word)
        start, square = parser.pos, parser.Delimiter.SQUARE
        pairs = parser.parse_comma_separated_list(square, lambda: parse_integers(parser))
        try:
            return self.attribute(pairs)  # pyright: ignore[reportArgumentType]
        except MindError as e:
            raise coded(parser, start, e) from None


class Literal(Codec):
    """The elements of a constant, written `[[1.0, nan], [2.0, -inf]] : tensor<2x2xf32>`."""

    kind = "a literal (#mind.literal<... : tensor<...>>)"

    def attribute(self, value: LiteralAttr) -> Attribute:
        return self.value(value)

    def value(self, attribute: Attribute) -> LiteralAttr:
        if isinstance(attribute, LiteralAttr):
            return attribute
        raise error("E4005", f"value {brief(attribute)}, expected {self.kind}", dtype="?", issue="no literal")

    def print(self, printer: Printer, attribute: Attribute) -> None:
        literal = self.value(attribute)
        printer.print_string(f"{literal.body()} : ")
        printer.print_attribute(literal.type)

    def parse(self, parser: Parser) -> Attribute:
        return parse_literal(parser)


PADDING = PaddingCodec()
LITERAL = Literal()
