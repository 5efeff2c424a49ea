"""Batching of elementwise ops: the op itself, what is not batched repeated."""

from __future__ import annotations

from mind_dialect.ptir import (
    BINARY_EXTENSIONS,
    BINARY_OPS,
    COMPLEX_OPS,
    CONVERSIONS,
    FUNCTIONS,
    UNARY_EXTENSIONS,
    UNARY_OPS,
    CastOp,
    ClampOp,
    CompareOp,
    ConstantOp,
    DigammaOp,
    PtirOp,
    SelectOp,
    StopGradientOp,
)
from mind_dialect.ptir_shapes import Dim

from .rules import Flags, Row, Value, Values, again, spread_all


def elementwise(op: PtirOp, xs: Values, flags: Flags, size: Dim) -> Value:
    """f(x[n], y[n]) at each n is f(x, y)."""
    return again(op, spread_all(xs, flags, size), size)


def never(op: PtirOp, xs: Values, flags: Flags, size: Dim) -> Value:
    """For an op without operands, which is the same for every example."""
    raise AssertionError(f"{op.name} has no operands")


_EVERYWHERE = (*UNARY_OPS, *BINARY_OPS, *UNARY_EXTENSIONS, *BINARY_EXTENSIONS, *CONVERSIONS, *COMPLEX_OPS, *FUNCTIONS, DigammaOp)

ELEMENTWISE: dict[type[PtirOp], Row] = {
    ConstantOp: Row(never),
    **dict.fromkeys(_EVERYWHERE, Row(elementwise)),
    CompareOp: Row(elementwise),
    SelectOp: Row(elementwise),
    CastOp: Row(elementwise),
    StopGradientOp: Row(elementwise),
    ClampOp: Row(elementwise),
}
