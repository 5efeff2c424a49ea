"""
Masks for the tails of padded dimensions: what replaces a tail by a number that changes nothing, and what is known of tails.

A tail is what lies beyond the size of a named dimension, along which an array may be longer; `mask_padding.py` says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from xdsl.ir import Operation, SSAValue

from mind_dialect.ptir import BroadcastToOp, CompareOp, ConstantOp, IotaOp, PtirLiteralAttr, SelectOp
from mind_dialect.ptir.legal import WIDE_FLOATS
from mind_dialect.ptir.types import SI64, Kind, PtirDType
from mind_dialect.ptir_shapes import Dim, Dims

from ..ptir.building import fill, put_before, rewire, spec_of
from .tail_sizes import Refused, Sizes

Axes = Sequence[int]


@dataclass
class Masks:
    """The sizes of dimensions, and what is known of tails."""

    sizes: Sizes
    vanishing: dict[SSAValue, frozenset[int]] = field(default_factory=dict[SSAValue, frozenset[int]])
    """Axes along which the tail of a value is 0 in each row, but where the row is NaN as a whole: the parts of a softmax."""
    _became: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """The last masked value in the place of each that later ops take masked."""
    _original: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def tails(self, value: SSAValue) -> list[int]:
        """Return the axes of a value that have a tail."""
        return [i for i, n in enumerate(spec_of(value).shape) if isinstance(n, str)]

    def rewire(self, op: Operation) -> None:
        """Let an op take the masked values of ops before it, as tails are anything."""
        rewire(op, self._became)

    def replace_later(self, op: Operation, i: int, value: SSAValue) -> None:
        """Let an op take a masked value as an operand, and later ops in the place of that operand: see `rewire`."""
        old = op.operands[i]
        original = self._original.get(old, old)
        self._became[original], self._original[value] = value, original
        op.operands[i] = value

    def masked(self, op: Operation, value: SSAValue, axes: Axes, number: float | PtirLiteralAttr) -> SSAValue:
        """Return `value` with a number in the tails of some axes, made before an op."""
        spec = spec_of(value)
        for axis in axes:
            keep = self._within(op, spec.shape, axis)
            other = put_before(op, BroadcastToOp(_scalar(op, spec.dtype, number), result_shape=spec.shape))
            made = put_before(op, SelectOp(keep, value, other))
            made.name_hint = value.name_hint
            value = made
        return value

    def _within(self, op: Operation, shape: Dims, axis: int) -> SSAValue:
        """Return where an index along an axis is below the size."""
        size = self.size(op, shape[axis])
        index = put_before(op, IotaOp(shape=shape, dtype=SI64, axis=axis))
        return put_before(op, CompareOp(index, put_before(op, BroadcastToOp(size, result_shape=shape)), kind="less"))

    def size(self, op: Operation, n: Dim) -> SSAValue:
        """Return the size of a dimension as a number in si64, for an op."""
        return self.sizes.of(n, partial(put_before, op))


def _scalar(op: Operation, dtype: PtirDType, number: float | PtirLiteralAttr) -> ConstantOp:
    if isinstance(number, PtirLiteralAttr):
        return ConstantOp.create(properties={"value": number}, result_types=[number.type], location=op.location)
    return fill(op, dtype, (), number)


def neutral(kind: str, dtype: PtirDType) -> float:
    """Return the number that changes no reduction of a kind."""
    if kind in ("max", "min"):
        sign = -1 if kind == "max" else 1
        if dtype in WIDE_FLOATS:
            return sign * float("inf")
        if dtype.kind in (Kind.SIGNED, Kind.UNSIGNED):
            least = -(1 << (dtype.bits - 1)) if dtype.kind is Kind.SIGNED else 0
            return least if kind == "max" else least + (1 << dtype.bits) - 1
        raise Refused(f"the least and the greatest {dtype} are not known")
    if kind == "sum":
        return -0.0 if dtype.kind in (Kind.FLOAT, Kind.COMPLEX) else 0
    if kind == "and":
        return 1 if dtype.kind is Kind.BOOL else -1 if dtype.kind is Kind.SIGNED else (1 << dtype.bits) - 1
    return {"prod": 1, "or": 0, "xor": 0}[kind]
