"""Rows of running extremes and running sums of exponentials, and of the most frequent element."""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import I1, SI32, SI64, Kind

from ..unsupported import Refused
from .converter import AtenConverter, Call, Results, Row, Table, wide


def _running_extreme(kind: str) -> Row:
    """The extreme so far and its index, the last of equals; NaN stays, its index is that of the last one."""

    def row(to: AtenConverter, call: Call, x: SSAValue, dim: int) -> Results:
        if not to.shape(x):
            return x, to.fill(0, SI64)
        axis = to.axis(x, dim)
        ordered = to.cast(x, SI32) if to.dtype(x) is I1 else x
        properties = {"axis": axis, "exclusive": False, "reverse": False}
        extreme = to.emit(ptir.CumulativeOp, ordered, kind=kind, **properties)
        is_new = to.compare("equal", ordered, extreme)
        if to.dtype(x).is_float:
            is_new = to.emit(ptir.OrOp, is_new, to.compare("not_equal", x, x))
        number = to.emit(ptir.IotaOp, shape=to.shape(x), dtype=SI64, axis=axis)
        indices = to.emit(ptir.CumulativeOp, to.select(is_new, number, to.like(0, number)), kind="max", **properties)
        return to.emit(ptir.GatherOp, x, indices, axis=axis), indices

    return row


def _log_add_exp(to: AtenConverter, x: SSAValue, y: SSAValue) -> SSAValue:
    """`max + log1p(exp(-|x - y|))`; equal infinities have the difference 0."""
    apart = to.select(to.compare("equal", x, y), to.like(0.0, x), to.emit(ptir.SubOp, x, y))
    rest = to.emit(ptir.Log1pOp, to.emit(ptir.ExpOp, to.emit(ptir.NegOp, to.emit(ptir.AbsOp, apart))))
    return to.emit(ptir.AddOp, to.emit(ptir.MaximumOp, x, y), rest)


def _log_cum_sum_exp(to: AtenConverter, call: Call, x: SSAValue, dim: int) -> SSAValue:
    """By doubling: after the step of width s each element has the sum of the last 2 s. No term is lost, whatever the range."""
    if not to.dtype(x).is_float:
        raise Refused(f"logcumsumexp of {to.dtype(x)}")
    if not to.shape(x):
        return x
    axis = to.axis(x, dim)
    size, low, step = to.sizes(x, [axis])[0], [0] * len(to.shape(x)), 1
    found = to.cast(x, wide(call.dtype))
    while step < size:
        low[axis] = step
        before = to.pad(to.part(found, axis, 0, size - step), -math.inf, low, [0] * len(low))
        found, step = _log_add_exp(to, found, before), 2 * step
    return to.cast(found, call.dtype)


def _mode(to: AtenConverter, call: Call, x: SSAValue, dim: int = -1, keep: bool = False) -> Results:
    """The least of the most frequent elements, and the last of its indices: equals are neighbours once they are sorted."""
    if not to.shape(x):
        return x, to.fill(0, SI64)
    if to.dtype(x).kind is Kind.COMPLEX:
        raise Refused("a sort of complex numbers")
    axis = to.axis(x, dim)
    size = to.sizes(x, [axis])[0]
    ordered = to.cast(x, SI32) if to.dtype(x) is I1 else x
    values, indices = to.add(ptir.TopKOp(ordered, k=size, axis=axis, largest=False, indices_dtype=SI64)).results
    number = to.emit(ptir.IotaOp, shape=to.shape(x), dtype=SI64, axis=axis)
    begins = to.compare("not_equal", to.part(values, axis, 1, size), to.part(values, axis, 0, size - 1))
    starts = to.select(begins, to.part(number, axis, 1, size), to.like(0, to.part(number, axis, 1, size)))
    starts = to.concat([to.part(number, axis, 0, 1), starts], axis)
    start = to.emit(ptir.CumulativeOp, starts, kind="max", axis=axis, exclusive=False, reverse=False)
    length = to.emit(ptir.SubOp, number, start)
    best = to.emit(ptir.ArgMaxOp, length, axis=axis, keepdims=True, output_dtype=SI64)
    index = to.emit(ptir.GatherOp, indices, best, axis=axis)
    return to.shaped(to.emit(ptir.GatherOp, x, index, axis=axis), call.shape), to.shaped(index, call.shape)


RUNNING: Table = {
    "cummax.default": _running_extreme("max"),
    "cummin.default": _running_extreme("min"),
    "logcumsumexp.default": _log_cum_sum_exp,
    "mode.default": _mode,
}
