"""
Tensor literals that survive any text round trip: NaN, infinities and -0 included, each element checked.

xDSL's `dense<...>` prints NaN and infinity as hex and reads them back as other numbers, rounds 1e400 to infinity and checks no
element counts. `#mind.literal<[[1.0, nan], [-inf, 0.1]] : tensor<2x2xf32>>` is read by our own code in every tool.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from xdsl.dialects.builtin import BytesAttr, TensorType
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.lexer import Span

from .errors import MindError, MindParseError, error
from .shapes import positive, shown_count
from .types import F32, DType, Shape, read_type, tensor_type

_F32_OVERFLOW = 3.4028235677973366e38
"""Half a unit above the largest f32: from here on a decimal rounds to infinity."""
HEX_ABOVE = 100
"""Literals of more elements than this print as one hex string."""
MAX_ELEMENTS = 1 << 26
"""Literals of more elements than this are refused: such data belongs in arguments."""

Number = int | float
T = TypeVar("T")


def check_element(value: object, dtype: DType) -> Number:
    """
    `value` as an element of `dtype`: exact for integers, rounded to nearest for floats.

    Raises E4005 for what the dtype cannot hold: 3.5 or 2**40 in i32, a finite number beyond the range of f32.

    >>> check_element(1, F32)
    1.0
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _element_error(value, dtype, "is not a number")
    if not dtype.is_float:
        if not isinstance(value, int):
            raise _element_error(value, dtype, "is no integer")
        bits = 8 * dtype.size - 1
        if not -(1 << bits) <= value < 1 << bits:
            raise _element_error(value, dtype, f"is outside -2^{bits} .. 2^{bits} - 1")
        return value
    try:
        number = float(value)
        return math.nan if number != number else struct.unpack(dtype.format, struct.pack(dtype.format, number))[0]
    except OverflowError:
        raise _element_error(value, dtype, "is beyond the finite range; write inf for infinity") from None


def _element_error(value: object, dtype: DType, issue: str) -> MindError:
    shown = str(value) if not isinstance(value, int) or abs(value) < 10**40 else "a number of more than 40 digits"
    return error("E4005", f"element {shown} of a {dtype} constant {issue}", dtype=str(dtype), issue=issue)


def check_count(shape: Shape, count: int, dtype: DType) -> None:
    """Raise E4005 unless a literal of `shape` has `count` elements, and not too many."""
    needed = math.prod(shape)
    if needed > MAX_ELEMENTS:
        issue = f"{shown_count(needed)} elements, at most {MAX_ELEMENTS} fit a literal"
        raise error("E4005", f"a literal of shape {list(shape)} has {issue}", dtype=str(dtype), issue=issue)
    if needed != count:
        issue = f"shape {list(shape)} requires {needed} elements, found {count}"
        raise error("E4005", issue, dtype=str(dtype), issue=issue)


def check_bytes(shape: Shape, size: int, dtype: DType) -> None:
    """Raise E4005 unless `size` bytes hold the elements of a literal of `shape`."""
    if size % dtype.size:
        issue = f"{size} bytes, expected a multiple of {dtype.size}"
        raise error("E4005", f"a literal of {dtype} has {issue}", dtype=str(dtype), issue=issue)
    check_count(shape, size // dtype.size, dtype)


def shortest(value: Number, dtype: DType) -> str:
    """
    The shortest decimal that reads back as `value` in `dtype`.

    >>> shortest(0.10000000149011612, F32), shortest(-0.0, F32), shortest(float("-inf"), F32)
    ('0.1', '-0.0', '-inf')
    """
    if dtype is F32 and math.isfinite(value):
        for digits in range(1 if abs(value) < 1e-37 else 6, 10):
            candidate = float(f"{value:.{digits}g}")
            if abs(candidate) < _F32_OVERFLOW and struct.pack("<f", candidate) == struct.pack("<f", value):
                return repr(candidate)
    return repr(value)


def nested(texts: Sequence[str], shape: Shape) -> str:
    """
    Element texts as nested brackets.

    >>> nested(["1", "2", "3", "4"], (2, 2))
    '[[1, 2], [3, 4]]'
    """
    level = list(texts)
    for depth in reversed(range(len(shape))):
        n, groups = shape[depth], math.prod(shape[:depth])
        level = ["[" + ", ".join(level[i * n : (i + 1) * n]) + "]" for i in range(groups)]
    return level[0]


def flatten(value: object) -> tuple[list[object], Shape]:
    """
    Nested lists as row-major elements and their shape, without recursion.

    Raises E3010 if the lists of one depth differ in length, E4005 for more than `MAX_ELEMENTS` or 1000 dimensions.

    >>> flatten([[1, 2], [3, 4]]), flatten(5), flatten([])
    (([1, 2, 3, 4], (2, 2)), ([5], ()), ([], (0,)))
    """
    level: list[object] = [value]
    shape: list[int] = []
    while level and isinstance(level[0], list | tuple):
        rows = [cast(Sequence[object], row) for row in level if isinstance(row, list | tuple)]
        if len(rows) != len(level) or len({len(row) for row in rows}) != 1:
            raise ragged()
        shape.append(len(rows[0]))
        if math.prod(shape) > MAX_ELEMENTS or len(shape) > 1000:
            issue = f"more than {MAX_ELEMENTS} elements or 1000 dimensions"
            raise error("E4005", f"nested lists of {issue}", dtype="?", issue=issue)
        level = [item for row in rows for item in row]
    if any(isinstance(item, list | tuple) for item in level):
        raise ragged()
    return level, tuple(shape)


def ragged() -> MindError:
    """E3010: the lists of one depth differ in length."""
    return error("E3010", "ragged literal: the lists of one depth differ", declared=None, inferred="ragged")


def mlir_number(text: str) -> str:
    """
    A Python float text as MLIR's lexer wants it: the mantissa of an exponent form has a point.

    >>> mlir_number("1e-07")
    '1.0e-07'
    """
    mantissa, e, exponent = text.partition("e")
    return text if not e or "." in mantissa else f"{mantissa}.0e{exponent}"


def element_text(value: Number, dtype: DType) -> str:
    """An element as MLIR text: `nan`, `-inf`, `1.0e-07`."""
    return mlir_number(shortest(value, dtype))


def coded(parser: AttrParser, start: int, err: MindError, end: int | None = None) -> MindParseError:
    """`err` as a parse error that spans from `start` to `end`, or to where the parser stands."""
    last = parser.pos if end is None else end
    return MindParseError(Span(start, max(start + 1, min(last, len(parser.lexer.input))), parser.lexer.input), err)


def parse_number(parser: AttrParser) -> Number | None:
    """Read a number, `nan`, `inf` or `-inf`; None if there is none. Coded errors: E1005, E4005 beyond the range of f64."""
    start = parser.pos
    try:
        if (word := parser.parse_optional_keyword_in(("nan", "inf"))) is not None:
            return float(word)
        negative = parser.parse_optional_punctuation("-") is not None
        if negative and parser.parse_optional_keyword("inf"):
            return -math.inf
        value = parser.parse_number() if negative else parser.parse_optional_number()
    except ValueError as e:
        raise coded(parser, start, error("E1005", "a number of too many digits", text=str(e))) from None
    if isinstance(value, float) and math.isinf(value):
        issue = "is beyond the finite range; write inf for infinity"
        raise coded(parser, start, error("E4005", f"element {issue}", dtype="f64", issue=issue))
    return -value if negative and value is not None else value


def parse_nested(parser: AttrParser, element: Callable[[AttrParser], T | None]) -> tuple[list[tuple[int, T]], Shape]:
    """Read nested brackets without recursion: elements with their places, and the shape. E3010 if ragged."""
    elements: list[tuple[int, T]] = []
    lengths: list[int] = []  # of the finished lists at each depth
    open_counts: list[int] = []
    start = parser.pos

    while True:
        while parser.parse_optional_punctuation("["):
            open_counts.append(0)
        place = parser.pos
        if (value := element(parser)) is None:
            parser.raise_error("expected a number, or a list of them in brackets")
        if elements and len(open_counts) != len(lengths):
            raise coded(parser, start, ragged())
        elements.append((place, value))
        if len(elements) == 1:
            lengths = [0] * len(open_counts)
        while open_counts:
            open_counts[-1] += 1
            if parser.parse_optional_punctuation(",") is not None:
                break
            parser.parse_punctuation("]")
            n = open_counts.pop()
            if lengths[len(open_counts)] not in (0, n):
                raise coded(parser, start, ragged())
            lengths[len(open_counts)] = n
        if not open_counts:
            return elements, tuple(lengths)


@irdl_attr_definition
class LiteralAttr(ParametrizedAttribute):
    """
    The value of a `mind.constant`: a tensor type and its elements, row-major and little-endian.

    One element for a shape of several is a fill: every element has that value.
    """

    name = "mind.literal"

    type: TensorType = param_def()
    data: BytesAttr = param_def()

    @staticmethod
    def from_values(dtype: DType, shape: Shape, values: Sequence[object]) -> LiteralAttr:
        """Make a literal from `prod(shape)` numbers in row-major order; E4005 for a wrong count or element."""
        check_count(shape, len(values), dtype)
        checked = [check_element(v, dtype) for v in values]
        data = struct.pack(f"<{len(checked)}{dtype.format[1]}", *checked)
        return LiteralAttr(tensor_type(dtype, shape), BytesAttr(data))

    @staticmethod
    def from_bytes(dtype: DType, shape: Shape, data: bytes) -> LiteralAttr:
        """Make a literal from its row-major little-endian bytes; E4005 for a wrong length."""
        check_bytes(shape, len(data), dtype)
        return LiteralAttr(tensor_type(dtype, shape), BytesAttr(data))

    @staticmethod
    def filled(dtype: DType, shape: Shape, value: object) -> LiteralAttr:
        """A literal whose every element is `value`, stored once."""
        data = struct.pack(dtype.format, check_element(value, dtype))
        return LiteralAttr(tensor_type(dtype, shape), BytesAttr(data))

    @property
    def is_fill(self) -> bool:
        """Return whether one stored element stands for several."""
        dtype, shape = read_type(self.type)
        return len(self.data.data) == dtype.size and math.prod(shape) != 1

    def check(self) -> None:
        """Raise a coded error unless type and data fit: E2005, E3006 for extents below 1, E4005 for the element count."""
        dtype, shape = read_type(self.type)
        positive(shape)
        if not self.is_fill:
            check_bytes(shape, len(self.data.data), dtype)

    def values(self) -> tuple[Number, ...]:
        """The stored elements in row-major order: all of them, or the one of a fill."""
        dtype, _ = read_type(self.type)
        return struct.unpack(f"<{len(self.data.data) // dtype.size}{dtype.format[1]}", self.data.data)

    def element_texts(self) -> list[str]:
        """The elements as the shortest decimals that read back, row-major."""
        dtype, _ = read_type(self.type)
        return [shortest(v, dtype) for v in self.values()]

    def body(self) -> str:
        """The text between the brackets, without the type. What does not fit its type is shown as hex, for diagnostics."""
        try:
            dtype, shape = read_type(self.type)
            if self.is_fill:
                return f"fill {element_text(self.values()[0], dtype)}"
            check_bytes(shape, len(self.data.data), dtype)
        except MindError:
            return self.hex()
        if len(self.data.data) > HEX_ABOVE * dtype.size or not self._has_decimals(dtype):
            return self.hex()
        return nested([mlir_number(t) for t in self.element_texts()], shape)

    def hex(self) -> str:
        """The stored bytes as a hex string."""
        return f'"0x{self.data.data.hex().upper()}"'

    def _has_decimals(self, dtype: DType) -> bool:
        """Return whether decimals give the same bytes again: NaNs have many bit patterns, `nan` is one."""
        values = self.values()
        if not any(v != v for v in values):
            return True
        return self.data.data == struct.pack(f"<{len(values)}{dtype.format[1]}", *(math.nan if v != v else v for v in values))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.body()} : ")
            printer.print_attribute(self.type)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return parse_literal(parser).parameters


_NUMBER = re.compile(r"[^\s,\]:]+")


def parse_literal(parser: AttrParser) -> LiteralAttr:
    """Read `body : type`, where the body is nested brackets, a hex string, or `fill` and a number; coded errors."""
    start = parser.pos
    text = parser.parse_optional_str_literal()
    fill = text is None and parser.parse_optional_keyword("fill") is not None
    elements, inferred = ([], ()) if text is not None else parse_nested(parser, parse_number)
    parser.parse_punctuation(":")
    type = parser.parse_type()
    try:
        dtype, shape = read_type(type)
        if text is not None:
            return LiteralAttr.from_bytes(dtype, shape, unhex(text, dtype))
        if fill and not inferred:
            return LiteralAttr.filled(dtype, shape, elements[0][1])
        if inferred != shape:
            hint = "" if inferred else "; `fill` before a number stores it for all"
            message = f"literal has shape {list(inferred)}, declared is {list(shape)}{hint}"
            raise error("E3010", message, declared=shape, inferred=inferred)
        for place, value in elements:
            try:
                check_element(value, dtype)
            except MindError as e:
                number = _NUMBER.match(parser.lexer.input.content, place)
                raise coded(parser, place, e, place + 1 if number is None else number.end()) from None
        return LiteralAttr.from_values(dtype, shape, [value for _, value in elements])
    except MindError as e:
        raise coded(parser, start, e) from None


def unhex(text: str, dtype: DType) -> bytes:
    """The bytes of a hex string such as 0x0AFF; E4005 for another text."""
    try:
        if text[:2] == "0x":
            return bytes.fromhex(text[2:])
    except ValueError:
        pass
    raise error("E4005", "a literal string must be 0x and hex digits", dtype=str(dtype), issue="no hex string")
