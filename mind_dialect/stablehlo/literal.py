"""Constants of StableHLO as MLIR's `dense<...>`, exact to the bit for every dtype and every reader."""

from __future__ import annotations

import math
from typing import Any, cast

from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import BuiltinAttribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.printer import Printer

from ..elements import Number
from ..literals import HEX_ABOVE, mlir_number, nested
from ..ptir.literal import PtirLiteralAttr
from ..ptir.types import I1, SI4, Kind, PtirDType, part_of
from .types import spec_of, stablehlo_type

_ALL_OR_NOTHING = bytes(255 if b else 0 for b in range(256))
_SIGN_EXTENDED = bytes(b | 0xF0 if b & 8 else b for b in range(256))


@irdl_attr_definition
class DenseAttr(ParametrizedAttribute, BuiltinAttribute):
    """
    A tensor constant. `data` holds the elements as PTIR stores them; one element for a shape of several is a splat.

    xDSL's own attribute of this text packs no i1 and prints no NaN, infinity or large literal that MLIR reads as the same bytes.
    """

    name = "stablehlo.dense"

    type: TensorType = param_def()
    data: BytesAttr = param_def()

    @staticmethod
    def of(literal: PtirLiteralAttr) -> DenseAttr:
        """The constant of a PTIR literal."""
        return DenseAttr(stablehlo_type(*literal.spec), literal.data)

    def as_read(self) -> DenseIntOrFPElementsAttr[Any]:
        """Return the attribute that a parser makes of this text: the bytes of every element as xDSL stores them."""
        dtype, shape = self._spec()
        data = self.data.data
        if dtype is I1 or dtype is SI4:
            data = data.translate(_ALL_OR_NOTHING if dtype is I1 else _SIGN_EXTENDED)
        count = math.prod(shape)
        type = cast("TensorType[Any]", self.type)
        return DenseIntOrFPElementsAttr(type, BytesAttr(data * count if len(data) == dtype.size else data))

    def print_builtin(self, printer: Printer) -> None:
        """Print `dense<...> : type`."""
        printer.print_string(f"dense<{self.body()}> : ")
        printer.print_attribute(self.type)

    def body(self) -> str:
        """The text between the brackets: numbers, or a hex string for many."""
        dtype, shape = self._spec()
        data = self.data.data
        count = len(data) // dtype.size
        if not count:
            return ""
        if count == 1 or data == data[: dtype.size] * count:
            return element_text(dtype, data[: dtype.size])
        if count > HEX_ABOVE and dtype is not I1:  # versions of MLIR differ in whether hex strings of i1 are packed
            return f'"0x{data.hex().upper()}"'
        return nested([element_text(dtype, data[i : i + dtype.size]) for i in range(0, len(data), dtype.size)], shape)

    def _spec(self) -> tuple[PtirDType, tuple[int, ...]]:
        dtype, shape = spec_of(self.type)
        return dtype, tuple(n for n in shape if isinstance(n, int))


def element_text(dtype: PtirDType, data: bytes) -> str:
    """
    One element, given by its bytes, as MLIR reads it.

    >>> from ..ptir.types import BF16, CF32, F32, SI4
    >>> element_text(F32, F32.element.pack([1e-7])), element_text(BF16, BF16.element.pack([float("inf")]))
    ('1.0e-07', '0x7F80')
    >>> element_text(SI4, SI4.element.pack([-3])), element_text(CF32, CF32.element.pack([1 - 2j])), element_text(I1, b"\\x01")
    ('-3', '(1.0, -2.0)', 'true')
    """
    if dtype.kind is Kind.COMPLEX:
        part, half = part_of(dtype), len(data) // 2
        return f"({element_text(part, data[:half])}, {element_text(part, data[half:])})"
    (value,) = dtype.element.unpack(data)
    if not dtype.is_float:
        return dtype.element.text(value)
    if not math.isfinite(_real(value)):
        return f"0x{data[::-1].hex().upper()}"
    return mlir_number(dtype.element.text(value))


def _real(value: Number) -> Any:
    return value.real
