"""Batching of elementwise ops: the op itself, what is not batched repeated."""

from __future__ import annotations

from mind_dialect import ptir
from mind_dialect.ptir_shapes import Dim

from .rules import Flags, Row, Value, Values, again, spread_all


def elementwise(op: ptir.PtirOp, xs: Values, flags: Flags, size: Dim) -> Value:
    """f(x[n], y[n]) at each n is f(x, y)."""
    return again(op, spread_all(xs, flags, size), size)


def never(op: ptir.PtirOp, xs: Values, flags: Flags, size: Dim) -> Value:
    """For an op without operands, which is the same for every example."""
    raise AssertionError(f"{op.name} has no operands")


_EVERYWHERE = (
    *ptir.UNARY_OPS,
    *ptir.BINARY_OPS,
    *ptir.UNARY_EXTENSIONS,
    *ptir.BINARY_EXTENSIONS,
    *ptir.CONVERSIONS,
    *ptir.COMPLEX_OPS,
    *ptir.FUNCTIONS,
    ptir.DigammaOp,
)

ELEMENTWISE: dict[type[ptir.PtirOp], Row] = {
    ptir.ConstantOp: Row(never),
    **dict.fromkeys(_EVERYWHERE, Row(elementwise)),
    ptir.CompareOp: Row(elementwise),
    ptir.SelectOp: Row(elementwise),
    ptir.CastOp: Row(elementwise),
    ptir.StopGradientOp: Row(elementwise),
    ptir.ClampOp: Row(elementwise),
}
