"""Rows of losses of which torch has decompositions with other derivatives."""

from __future__ import annotations

from xdsl.ir import SSAValue

from mind_dialect import ptir

from .converter import AtenConverter, Call, Table, wide
from .margins import MEAN

_LEAST_LOG = -100.0
"""Logarithms of probabilities are at least this in torch."""
_LEAST_VARIANCE = 1e-12
"""The derivative divides by `x (1 - x)`, which is at least this in torch."""


def _cross_entropy_at(to: AtenConverter, x: SSAValue, target: SSAValue) -> SSAValue:
    """`(t - 1) log(1 - x) - t log(x)`, logarithms bounded from below."""
    of_rest = to.math(ptir.MaximumOp, to.emit(ptir.Log1pOp, to.emit(ptir.NegOp, x)), _LEAST_LOG)
    of_x = to.math(ptir.MaximumOp, to.emit(ptir.LogOp, x), _LEAST_LOG)
    rest = to.emit(ptir.MulOp, to.math(ptir.SubOp, target, 1.0), of_rest)
    return to.emit(ptir.SubOp, rest, to.emit(ptir.MulOp, target, of_x))


def _binary_cross_entropy(
    to: AtenConverter, call: Call, x: SSAValue, target: SSAValue, weight: SSAValue | None = None, reduction: int = MEAN
) -> SSAValue:
    """
    The loss whose derivative is `(x - t) / max(x (1 - x), 1e-12)`, as in torch: finite where a probability is 0 or 1.

    There the value is a constant in `x`, to which `x - x` times the slope is added, of which only the first `x` moves.
    """
    dtype = wide(call.dtype)
    x, target = (to.broadcast(to.cast(v, dtype), to.shape(x)) for v in (x, target))
    variance = to.emit(ptir.MulOp, x, to.emit(ptir.SubOp, to.like(1.0, x), x))
    is_inner = to.compare("greater_equal", variance, _LEAST_VARIANCE)
    inner = _cross_entropy_at(to, to.select(is_inner, x, to.like(0.5, x)), target)
    fixed = to.emit(ptir.StopGradientOp, x)
    slope = to.math(ptir.DivOp, to.emit(ptir.SubOp, fixed, to.emit(ptir.StopGradientOp, target)), _LEAST_VARIANCE)
    moving = to.emit(ptir.MulOp, to.emit(ptir.SubOp, x, fixed), slope)
    outer = to.emit(ptir.AddOp, _cross_entropy_at(to, fixed, target), moving)
    loss = to.select(is_inner, inner, outer)
    if weight is not None:
        loss = to.math(ptir.MulOp, loss, to.cast(weight, dtype))
    if reduction:
        loss = to.mean(loss, to.axes(loss, None)) if reduction == MEAN else to.reduce("sum", loss, None)
    return to.cast(loss, call.dtype)


LOSSES: Table = {"binary_cross_entropy.default": _binary_cross_entropy}
