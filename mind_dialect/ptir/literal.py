"""
PTIR's tensor literals: every dtype of the contract, every value of it, through every text round trip.

    #ptir.literal<[[1.0, nan], [-0.0, -inf]] : tensor<2x2xbf16>>    #ptir.literal<(1.0, -2.5) : tensor<complex<f32>>>
    #ptir.literal<fill true : tensor<100xi1>>    #ptir.literal<"0x0102" : tensor<2xui8>>

The bytes are the contract's: row-major, little-endian; one byte for 4-bit integers (the low half) and for i1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import BytesAttr, NoneAttr, TensorType
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ..by_identity import by_identity
from ..elements import Number, UnfitError
from ..errors import MindError, brief, error
from ..literals import HEX_ABOVE, MAX_ELEMENTS, coded, mlir_number, nested, parse_nested, parse_number, unhex
from .types import DTYPE_OF_TYPE, PtirDType, read_type, tensor_type, unknown_dtype

Shape = tuple[int, ...]


def check_element(value: object, dtype: PtirDType) -> Number:
    """
    `value` as an element of `dtype`; E4005 for what the dtype cannot hold.

    >>> from .types import BF16, SI4
    >>> check_element(1.001, BF16), check_element(-8, SI4)
    (1.0, -8)
    """
    try:
        return dtype.element.check(value)
    except UnfitError as e:
        message = f"element {brief(value)} of a {dtype} literal {e}"
        raise error("E4005", message, dtype=str(dtype), issue=str(e)) from None


@by_identity
def static_spec(type: Attribute) -> tuple[PtirDType, Shape]:
    """The dtype and shape of a literal's type; E3006 for a dynamic dimension."""
    dtype, dims = read_type(type)
    shape = tuple(d for d in dims if isinstance(d, int))
    if len(shape) != len(dims):
        i = next(i for i, d in enumerate(dims) if isinstance(d, str))
        raise error("E3006", f"a literal of shape {list(dims)}, expected static", shape=dims, index=i, value=dims[i])
    return dtype, shape


def check_count(dtype: PtirDType, shape: Shape, count: int | None) -> None:
    """E4005 unless `shape` has `count` elements (None: an ill-sized number of bytes), and not too many."""
    needed = math.prod(shape)
    if needed != count or needed > MAX_ELEMENTS:
        has = "bytes that are no whole number of elements" if count is None else f"{count} elements"
        issue = f"shape {brief(list(shape))} with {has}; expected as many as the shape has, at most {MAX_ELEMENTS}"
        raise error("E4005", f"a literal of {issue}", dtype=str(dtype), issue=issue)


@irdl_attr_definition
class PtirLiteralAttr(ParametrizedAttribute):
    """
    A tensor of numbers: its type and its bytes. One element for a shape of several is a fill.

    Two literals of the same bytes are equal, NaN included.
    """

    name = "ptir.literal"

    type: TensorType = param_def()
    data: BytesAttr = param_def()

    @staticmethod
    def from_values(dtype: PtirDType, shape: Shape, values: Sequence[object]) -> PtirLiteralAttr:
        """Make a literal from its elements in row-major order; E4005 for a wrong count or element."""
        check_count(dtype, shape, len(values))
        return _literal(dtype, shape, dtype.element.pack([check_element(v, dtype) for v in values]))

    @staticmethod
    def from_bytes(dtype: PtirDType, shape: Shape, data: bytes) -> PtirLiteralAttr:
        """Make a literal from its bytes; E4005 for a wrong length or a byte that stores no i1 or 4-bit integer."""
        literal = _literal(dtype, shape, data)
        _check_bytes(dtype, shape, data)
        return literal

    @staticmethod
    def filled(dtype: PtirDType, shape: Shape, value: object) -> PtirLiteralAttr:
        """A literal whose every element is `value`, stored once, whatever the size; none for no elements."""
        data = dtype.element.pack([check_element(value, dtype)])
        return _literal(dtype, shape, data if math.prod(shape) else b"")

    @property
    def spec(self) -> tuple[PtirDType, Shape]:
        """The dtype and shape."""
        return static_spec(self.type)

    @property
    def is_fill(self) -> bool:
        """Return whether one stored element stands for several."""
        dtype, shape = self.spec
        return len(self.data.data) == dtype.size and math.prod(shape) > 1

    def check(self) -> None:
        """Raise a coded error unless type and data fit."""
        dtype, shape = self.spec
        if not self.is_fill:
            _check_bytes(dtype, shape, self.data.data)
        else:
            _check_bytes(dtype, (), self.data.data)

    def values(self) -> tuple[Number, ...]:
        """The stored elements in row-major order: all of them, or the one of a fill."""
        return self.spec[0].element.unpack(self.data.data)

    def item(self) -> Number:
        """The one stored element of a fill or of a literal of one element."""
        (value,) = self.values()
        return value

    def element_texts(self) -> list[str]:
        """The stored elements in their shortest texts, row-major."""
        dtype = self.spec[0]
        return [dtype.element.text(v) for v in self.values()]

    def body(self) -> str:
        """The text between the brackets, without the type; hex for many elements, for none, and for unusual NaNs."""
        data = self.data.data
        try:
            self.check()
            dtype, shape = self.spec
        except MindError:  # shown to whoever must repair it
            return _hex(data)
        if not data or len(data) > HEX_ABOVE * dtype.size:
            return _hex(data)
        values = dtype.element.unpack(data)
        if dtype.element.pack([_canonical_nan(v) for v in values]) != data:
            return _hex(data)
        texts = [_text(dtype.element.text(v)) for v in values]
        return f"fill {texts[0]}" if self.is_fill else nested(texts, shape)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            self.print_content(printer)

    def print_content(self, printer: Printer) -> None:
        """Write `body : type`."""
        printer.print_string(f"{self.body()} : ")
        printer.print_attribute(self.type)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return parse_literal(parser).parameters


def _literal(dtype: PtirDType, shape: Shape, data: bytes) -> PtirLiteralAttr:
    return PtirLiteralAttr(tensor_type(dtype, shape), BytesAttr(data))


def _check_bytes(dtype: PtirDType, shape: Shape, data: bytes) -> None:
    count, rest = divmod(len(data), dtype.size)
    check_count(dtype, shape, None if rest else count)
    limit = 2 if dtype.bits == 1 else 16 if dtype.bits == 4 else 256
    if limit < 256 and data and max(data) >= limit:
        issue = f"has a byte {max(data)}, expected 0 to {limit - 1}"
        raise error("E4005", f"a {dtype} literal {issue}", dtype=str(dtype), issue=issue)


def _hex(data: bytes) -> str:
    return f'"0x{data.hex().upper()}"'


def _canonical_nan(value: Number) -> Number:
    if isinstance(value, complex):
        return complex(_canonical_nan(value.real).real, _canonical_nan(value.imag).real)
    return math.nan if value != value else value


def _text(text: str) -> str:
    """A Python number, a pair of them, or a truth, in MLIR's spelling."""
    if text in ("true", "false"):
        return text
    return f"({', '.join(map(mlir_number, text[1:-1].split(', ')))})" if text[0] == "(" else mlir_number(text)


def _parse_element(parser: AttrParser) -> Number | None:
    if parser.parse_optional_punctuation("("):
        real = _parse_part(parser)
        parser.parse_punctuation(",")
        imaginary = _parse_part(parser)
        parser.parse_punctuation(")")
        return complex(real, imaginary)
    if (word := parser.parse_optional_keyword_in(("true", "false"))) is not None:
        return word == "true"
    return parse_number(parser)


def _parse_part(parser: AttrParser) -> float:
    start = parser.pos
    if (part := parse_number(parser)) is None:
        parser.raise_error("expected a number")
    try:
        return float(part)
    except OverflowError:
        issue = "is beyond the finite range; write inf for infinity"
        raise coded(parser, start, error("E4005", f"element {issue}", dtype="f64", issue=issue)) from None


def parse_literal(parser: AttrParser, *, scalar: bool = False, dtype: PtirDType | None = None) -> PtirLiteralAttr:
    """
    Read `body : type`; coded errors with the place of the wrong element.

    With `scalar` the type is that of the one element; with `dtype` there is none to read.
    """
    start = parser.pos
    text = parser.parse_optional_str_literal()
    fill = text is None and parser.parse_optional_keyword("fill") is not None
    elements, inferred = ([], ()) if text is not None else parse_nested(parser, _parse_element)
    type: Attribute = TensorType(dtype.type, ()) if dtype is not None else NoneAttr()
    if dtype is None:
        parser.parse_punctuation(":")
        type = parser.parse_type()
    place = start
    try:
        if scalar and type not in DTYPE_OF_TYPE:
            raise unknown_dtype(type)
        dtype, shape = static_spec(TensorType(type, ()) if scalar else type)
        if text is not None:
            data = unhex(text, dtype)
            literal = _literal(dtype, shape, data)
            literal.check()
            return literal
        for place, value in elements:  # noqa: B007, the error below names the place
            check_element(value, dtype)
        place = start
        if fill and not inferred:
            return PtirLiteralAttr.filled(dtype, shape, elements[0][1])
        if inferred != shape:
            hint = "" if inferred else "; `fill` before a number stores it for all"
            message = f"literal has shape {list(inferred)}, declared is {list(shape)}{hint}"
            raise error("E3010", message, declared=shape, inferred=inferred)
        return PtirLiteralAttr.from_values(dtype, shape, [value for _, value in elements])
    except MindError as e:
        raise coded(parser, place, e) from None
