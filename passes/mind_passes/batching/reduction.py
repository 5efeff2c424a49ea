"""Batching of reductions, contractions, windows, orders and transforms."""

from __future__ import annotations

from collections.abc import Sequence

from mind_dialect import ptir
from mind_dialect.ptir.types import SI64, tensor_type
from mind_dialect.ptir_shapes import Dim

from ..ptir import construct as c
from .convolution import as_one_lead
from .rules import Flags, Row, Value, Values, after, again, by_loop, from_front, rank, to_front


def reduced(op: ptir.ReduceOp | ptir.ReverseOp, xs: Values, flags: Flags, size: Dim) -> Value:
    """Over the next axes."""
    return again(op, xs, size, axes=after(op.values()["axes"], rank(op.operands[0])))


def along(op: ptir.PtirOp, xs: Values, flags: Flags, size: Dim) -> Value:
    """For an op along one axis: along the next."""
    (axis,) = after((op.values()["axis"],), rank(op.operands[0]))
    return again(op, xs, size, axis=axis)


def contracted(op: ptir.DotGeneralOp, xs: Values, flags: Flags, size: Dim) -> Value:
    """A batch axis if both operands are batched, else a free axis of the one that is, moved to the front of the result."""
    v = op.values()
    changed: dict[str, tuple[int, ...]] = {}
    for side, x, flag in zip(("lhs", "rhs"), op.operands, flags, strict=True):
        for name in (f"batch_{side}", f"contract_{side}"):
            changed[name] = after(v[name], rank(x)) if flag else v[name]
    if all(flags):
        both = {name: (0, *changed[name]) for name in ("batch_lhs", "batch_rhs")}
        return again(op, xs, size, **{**changed, **both})
    place = len(v["batch_lhs"]) if flags[0] else rank(op.operands[0]) - len(v["contract_lhs"])
    return to_front(again(op, xs, size, place, **changed), place)


def windowed(op: ptir.ReduceWindowOp, xs: Values, flags: Flags, size: Dim) -> Value:
    """A window of 1 along the batch axis."""
    v = op.values()
    ones = {name: (1, *v[name]) for name in ("window_dims", "strides", "base_dilation", "window_dilation")}
    return again(op, xs, size, padding=((0, 0), *v["padding"]), **ones)


def window_places(op: ptir.WindowArgOp, xs: Values, flags: Flags, size: Dim) -> Value:
    """A window of 1 along the batch axis; from an index in the whole batch, what lies before the example is taken off."""
    v = op.values()
    ones = {name: (1, *v[name]) for name in ("window_dims", "strides", "window_dilation")}
    values = {"kind": v["kind"], "padding": ((0, 0), *v["padding"]), "output_dtype": SI64, **ones}
    shape, whole = (size, *c.dims(op.results[0])), c.dims(xs[0])
    found = c.make(ptir.WindowArgOp, xs[0], type=tensor_type(SI64, shape), **values)
    counted = c.reduce_sum(c.broadcast(c.scalar(1, SI64), whole), range(1, len(whole)))
    numbers = c.make(ptir.IotaOp, type=tensor_type(SI64, (size,)), shape=(size,), dtype=SI64, axis=0)
    before = c.with_axes(c.mul(numbers, counted), range(1, len(shape)), shape)
    inside = c.where(c.compare("less", found, c.full(0, found)), found, c.sub(found, before))
    return c.cast(inside, v["output_dtype"])


def segments(op: ptir.SegmentReduceOp, xs: Values, flags: Flags, size: Dim) -> Value | Sequence[Value]:
    """Ids that are not batched name rows of all examples at once; others would meet in one bucket."""
    if flags[1]:
        return by_loop(op, xs, flags, size)
    return to_front(again(op, [from_front(xs[0], 1), xs[1]], size, 1), 1)


def transformed(op: ptir.FftOp, xs: Values, flags: Flags, size: Dim) -> Value:
    """Along the last axes, of which there are as many as before."""
    return again(op, xs, size)


REDUCTION: dict[type[ptir.PtirOp], Row] = {
    ptir.ReduceOp: Row(reduced),
    ptir.ArgMaxOp: Row(along),
    ptir.ArgMinOp: Row(along),
    ptir.DotGeneralOp: Row(contracted),
    ptir.ReduceWindowOp: Row(windowed),
    ptir.WindowArgOp: Row(window_places),
    ptir.ExtractPatchesOp: Row(as_one_lead, "a dynamic batch of several images each, of no pixels"),
    ptir.FftOp: Row(transformed),
    ptir.TopKOp: Row(along),
    ptir.RaggedDotOp: Row(by_loop, "an op has one list of groups, of rows of one matrix"),
    ptir.SegmentReduceOp: Row(segments, "the segment ids are batched: they and their promises are checked example by example"),
    ptir.CumulativeSumOp: Row(along),
    ptir.CumulativeOp: Row(along),
    ptir.SortOp: Row(along),
}
