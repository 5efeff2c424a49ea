"""Numbers and dense literals: within their types and within bounds, hex for the bits of floats, real and complex."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NoReturn, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    BytesAttr,
    ComplexType,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    RankedStructure,
    Signedness,
    TensorType,
    i1,
)
from xdsl.ir import TypeAttribute
from xdsl.irdl import base
from xdsl.parser import AttrParser, Parser
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from .errors import MindParseError, error
from .mlir_lexer import beyond
from .mlir_types import MOST_REMEMBERED, TENSOR

MAX_DENSE_ELEMENTS = 1 << 24
"""All `dense<...>` literals of a text together may have this many elements; `mind.constant fill` has no such bound."""
MAX_WIDTH = (1 << 24) - 1
"""The widest integer type, as in MLIR."""
_DENSE: Any = base(RankedStructure[IntegerType | IndexType | AnyFloat | ComplexType])
"""Types that `dense<...>` may be a literal of."""
_ONE_NUMBER = re.compile(rf"<-?[\w.+-]{{1,40}}> : {TENSOR}")
_BLANK = re.compile(r"(?:\s+|//[^\n]*)*")


class _Part(int):
    """An integer token of a complex literal that is written in hex."""

    __slots__ = ()


class LiteralParser(Parser):
    """A parser that refuses numbers beyond their type, and reads hex in `dense` as the bits of a float."""

    def __init__(self, ctx: Context, input: str | bytes, name: str = "<unknown>"):
        super().__init__(ctx, input, name)
        self._dense_elements = 0
        self._splat, self._splat_type = False, cast(Any, None)
        self._numbers: dict[str, Any] = {}

    def _parse_optional_integer_or_float_type(self) -> TypeAttribute | None:
        span = self._current_token.span
        if span.len > 10 and self._builtin_integer_type_regex.match(span.text) is not None:
            message = f"integer type {span.text[:20]}... is too wide, at most {MAX_WIDTH} bits"
            raise MindParseError(span, error("E1005", message, text=span.text[:20]))
        type = super()._parse_optional_integer_or_float_type()
        if isinstance(type, IntegerType) and cast(Any, type).bitwidth > MAX_WIDTH:
            message = f"integer type {span.text} is too wide, at most {MAX_WIDTH} bits"
            raise MindParseError(span, error("E1005", message, text=span.text))
        return type  # pyright: ignore[reportUnknownVariableType]

    def parse_optional_builtin_int_or_float_attr(self) -> IntegerAttr[Any] | FloatAttr[Any] | None:
        first = self._current_token
        attr: Any = self._ranged(super().parse_optional_builtin_int_or_float_attr, "a float attribute", first.span)
        value = attr.value.data if type(attr) is FloatAttr else 0.0
        if math.isinf(value) and first.text[:2] not in ("0x", "0X"):
            raise MindParseError(Span(first.span.start, self.pos, first.span.input), beyond("a number", str(attr.type)))
        return attr

    def _ranged(self, parse: Callable[[], Any], what: str, span: Span) -> Any:
        """Call `parse`; an `OverflowError` of a float that its type cannot hold becomes E4005 at `span`."""
        try:
            return parse()
        except OverflowError:
            raise MindParseError(span, beyond(f"a number in {what}", "its type")) from None

    def _parse_builtin_densearray_attr(self) -> Any:
        return self._ranged(super()._parse_builtin_densearray_attr, "array<...>", self._current_token.span)

    def parse_dense_int_or_fp_elements_attr(self, type: Any) -> Any:
        """As xDSL's, but one number with its type, which text repeats often, is read once."""
        match = _ONE_NUMBER.match(self.lexer.input.content, self._current_token.span.start) if type is None else None
        if match is None:
            return self._parse_dense(type)
        if (known := self._numbers.get(match[0])) is not None:
            self._count_elements(known.type)
            self._resume_from(match.end())
            return known
        attr = self._parse_dense(type)
        if len(self._numbers) < MOST_REMEMBERED:
            self._numbers[match[0]] = attr
        return attr

    def _parse_dense(self, type: Any) -> Any:
        """As xDSL's, but a splat is read as one element and repeated as bytes, which is a thousand times faster."""
        text, after = self.lexer.input.content, self._current_token.span.end
        blank = _BLANK.match(text, after)
        first = text[after if blank is None else blank.end()]
        if first == '"':
            return self._parse_hex(type)
        splat = first not in "[>"
        if type is not None:
            self._count_elements(type)
            attr = super().parse_dense_int_or_fp_elements_attr(_scalar(type) if splat else type)
        else:
            self._splat, outer = splat, self._splat
            attr = super().parse_dense_int_or_fp_elements_attr(None)
            self._splat, type = outer, self._splat_type
        return DenseIntOrFPElementsAttr(type, BytesAttr(attr.data.data * math.prod(type.get_shape()))) if splat else attr

    def _parse_hex(self, type: Any) -> Any:
        """
        Read `<"0x..."> : type`: the bytes of all elements, or of one for all. The text bounds their number.

        MLIR packs i1 eight to a byte, the lowest bit first; xDSL gives each a byte, as here. Of integers of fewer bits than a
        byte, MLIR writes zeros above them and xDSL the sign.
        """
        self.parse_punctuation("<")
        token = self._current_token.span
        digits = self.parse_str_literal()
        self.parse_punctuation(">", " in dense attribute")
        if type is None:
            self.parse_punctuation(":", " in dense attribute")
            type = self._checked_dense_type()
        return self.literal_of_hex(digits, type, token)

    def literal_of_hex(self, digits: str, type: Any, token: Span[Any]) -> Any:
        """Return the literal of bytes in hex, at `token`; E1007 for other digits, and for another number of bytes."""
        count, size = math.prod(type.get_shape()), type.element_type.compile_time_size
        try:
            data = bytes.fromhex(digits[2:]) if digits[:2].lower() == "0x" else None
        except ValueError:
            data = None
        if data is None:
            raise MindParseError(token, error("E1007", "hex data is 0x and two digits for each byte"))
        packed = type.element_type == i1 and count > 8 and len(data) == (count + 7) // 8
        if packed:
            data = b"".join(_BITS[byte] for byte in data)[:count]
        elif len(data) == size and count != 1:
            self._count_elements(type)
            data *= count
        if len(data) != count * size:
            message = f"hex data of {len(data)} bytes, expected {_short(count * size)}, or {size} for one element repeated"
            raise MindParseError(token, error("E1007", message))
        return DenseIntOrFPElementsAttr(type, BytesAttr(_as_packed(data, type.element_type)))

    def _checked_dense_type(self) -> Any:
        """As xDSL's, which makes a new constraint for every literal."""
        type: Any = self.expect(self.parse_optional_type, "Dense attribute must be typed!")
        if not _DENSE.verifies(type):
            self.raise_error("Expected memref, vector or tensor type of integer, index, float, or complex type")
        if DYNAMIC_INDEX in type.get_shape():
            self.raise_error("Dense literal attribute should have a static shape.")
        return type

    def _parse_dense_literal_type(self) -> Any:
        splat, self._splat = self._splat, False
        type: Any = self._checked_dense_type()
        self._count_elements(type)
        if splat:
            self._splat_type, type = type, _scalar(type)
        return type

    def _count_elements(self, type: Any) -> None:
        count = math.prod(type.get_shape())
        self._dense_elements += count
        if self._dense_elements > MAX_DENSE_ELEMENTS:
            issue = f"the dense literals have more than {MAX_DENSE_ELEMENTS} elements together (this one: {_short(count)})"
            message = f"{issue}; pass large data as arguments, or use mind.constant fill"
            raise MindParseError(self._current_token.span, error("E4005", message, dtype=str(type.element_type), issue=issue))

    def _parse_optional_complex(self) -> Any:
        """As xDSL's, but each part may be a number of any kind, and remembers that it is hex."""
        start = self._current_token.span
        if self._parse_optional_token(MLIRTokenKind.L_PAREN) is None:
            return None
        real = self._parse_part()
        self.parse_punctuation(",")
        imaginary = self._parse_part()
        end = self._parse_token(MLIRTokenKind.R_PAREN, "')' expected after the parts of a complex number").span.end
        return (real, imaginary), Span(start.start, end, start.input)

    def _parse_part(self) -> int | float:
        value, span = self._parse_bool_int_or_float()
        return _Part(value) if isinstance(value, int) and span.text[:2].lower() == "0x" else value

    class _TensorLiteralElement(AttrParser._TensorLiteralElement):  # pyright: ignore[reportPrivateUsage]
        """An element of `dense<...>`: a hex integer of a float type is its bit pattern."""

        def to_type(self, parser: AttrParser, type: Any) -> Any:
            if isinstance(self.value, tuple) != isinstance(type, ComplexType):
                expected = "a pair (real, imaginary)" if isinstance(type, ComplexType) else "one number"
                found = "a pair" if isinstance(self.value, tuple) else "one number"
                self._fail(f"an element of {type} is {expected}, found {found}")
            if isinstance(self.value, tuple):
                return tuple(self._number(part, type.element_type) for part in self.value)
            if not isinstance(type, AnyFloat):
                return self._in_range(cast(int, super().to_type(parser, type)), type)
            is_hex = isinstance(self.value, int) and self.span.text[:2].lower() == "0x"
            return self._float(_Part(self.value) if is_hex else self.value, type)

        def _number(self, value: float, type: Any) -> int | float:
            """Return a part of a complex number of parts of `type`."""
            if isinstance(type, AnyFloat):
                return self._float(value, type)
            if isinstance(value, float) or not isinstance(type, IntegerType):
                self._fail(f"a part of a complex number of {type} is an integer, found {self.span.text[:40]}")
            return self._in_range(value, cast(Any, type))

        def _in_range(self, value: int, type: Any) -> int:
            fits = -(1 << 63) <= value < 1 << 63
            found = (value if fits else None) if isinstance(type, IndexType) else type.normalized_value(int(value))
            if found is None:
                issue = f"{_short(int(value))} is outside of the range of {type}"
                raise MindParseError(self.span, error("E4005", issue, dtype=str(type), issue=issue))
            return found

        def _float(self, value: float, type: Any) -> float:
            text = self.span.text
            try:
                if isinstance(value, _Part):
                    return type.unpack(value.to_bytes(type.compile_time_size, "little"), 1)[0]
                number = float(value)
                if abs(number) > 240 and not math.isfinite(type.unpack(type.pack((number,)), 1)[0]):
                    raise OverflowError
            except OverflowError:
                raise MindParseError(self.span, beyond(text, str(type))) from None
            return number

        def _fail(self, message: str) -> NoReturn:
            raise MindParseError(self.span, error("E1007", message))


_BITS = [bytes((byte >> i) & 1 for i in range(8)) for byte in range(256)]
"""The bits of each byte, the lowest first."""


def _as_packed(data: bytes, type: Any) -> bytes:
    """Return the bytes that `type` packs numbers into, given bytes of which only the bits of `type` count."""
    if not isinstance(type, IntegerType) or (width := cast(Any, type).bitwidth) >= 8:
        return data
    lowest = 0 if cast(Any, type).signedness.data is Signedness.UNSIGNED else 1 << (width - 1)
    numbers = [byte & ((1 << width) - 1) for byte in range(256)]
    return data.translate(bytes(n | (256 - (1 << width)) if n & lowest else n for n in numbers))


def _scalar(type: Any) -> TensorType[Any]:
    return TensorType(type.element_type, [])


def _short(n: int) -> str:
    return str(n) if abs(n) < 10**20 else "more than 10^20"
