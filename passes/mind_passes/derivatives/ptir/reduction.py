"""
The derivatives of what takes many elements to one, but for windows and contraction.

Elements that tie for the greatest (or least) share the adjoint equally: each gets a part of 1 by their number, which is what
central differences give on average. Counts are taken in the accumulator's dtype, where they are exact. NaN is no element's
equal: its group has the adjoint NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from mind_dialect.ptir import ArgMaxOp, ArgMinOp, CumulativeOp, ReduceOp, SegmentReduceOp, TakeOp, WindowArgOp
from mind_dialect.ptir.legal import default_accumulator
from mind_dialect.ptir.types import tensor_type

from ...ptir.construct import Value, broadcast, cast, compare, dims, div, make, mul, reduce, spec, with_axes
from ..walks import FLAT, ForwardRow, Row
from .shared import adjoint_in_kind, applied, at_least_one, zeros


def spread(op: ReduceOp, v: Value) -> Value:
    """`v`, of the shape of the result, repeated over the axes that `op` reduced."""
    values = op.values()
    if not values["axes"]:
        return v
    return broadcast(v, dims(op.x)) if values["keepdims"] else with_axes(v, values["axes"], dims(op.x))


def ties(op: ReduceOp) -> tuple[Value, Value]:
    """1 at each extreme of its group and 0 elsewhere, and how many extremes each group has."""
    values, dtype = op.values(), spec(op.x).dtype
    over: Sequence[int] = values["axes"]
    keepdims = values["keepdims"]
    extreme: Value = op.result
    if spec(op.result).dtype is not dtype:  # perhaps rounded, and equal to no element
        extreme = reduce(values["kind"], op.x, over, keepdims=keepdims)
    mask = cast(compare("equal", op.x, spread(op, extreme)), default_accumulator(dtype))
    count: Value = reduce("sum", mask, over, keepdims=keepdims)
    if any(isinstance(spec(op.x).shape[a], str) for a in over):
        count = at_least_one(count)
    return mask, count


def nothing_to_reduce(op: ReduceOp) -> bool:
    over: Sequence[int] = op.values()["axes"]
    return any(spec(op.x).shape[a] == 0 for a in over)


def product_of_others(op: ReduceOp) -> Value:
    """
    For each element the product of all others of its group, in the accumulator's dtype: nothing is divided, so zeros are right.

    One axis after the other: the others along the axis, times what they are multiplied with along the next.
    """
    values = op.values()
    axes: Sequence[int] = values["axes"]
    x = cast(op.x, values["accum_dtype"] or default_accumulator(spec(op.x).dtype))
    shape, found = dims(op.x), None
    for i, axis in enumerate(axes):
        x = x if i == 0 else reduce("prod", x, (axes[i - 1],), keepdims=True)
        before, after = (make(CumulativeOp, x, kind="prod", axis=axis, exclusive=True, reverse=back) for back in (False, True))
        others = broadcast(mul(before, after), shape)
        found = others if found is None else mul(found, others)
    assert found is not None, "a product over no axes is its operand"
    return found


def is_plain(op: ReduceOp) -> bool:
    """Return whether a reduction is its own derivative: a sum, or one of nothing."""
    values = op.values()
    return values["kind"] == "sum" or not values["axes"]


def reduce_x(op: ReduceOp, g: SSAValue) -> Value:
    values, dtype = op.values(), spec(op.x).dtype
    if values["kind"] == "prod" and values["axes"]:
        others = product_of_others(op)
        return cast(mul(others, spread(op, cast(adjoint_in_kind(g, dtype), spec(others).dtype))), dtype)
    if is_plain(op):
        return spread(op, cast(g, dtype))
    if nothing_to_reduce(op):
        return zeros(op.x)
    mask, count = ties(op)
    share = div(cast(g, spec(count).dtype), count)
    return cast(mul(mask, spread(op, share)), dtype)


def reduce_tangent(op: ReduceOp, ts: Sequence[SSAValue | None]) -> Value:
    """A sum of tangents; of those at the extremes the mean; in a product each times the others."""
    (t,), values = ts, op.values()
    assert t is not None
    if is_plain(op):
        return applied(op, {0: t})
    if values["kind"] == "prod":
        others = product_of_others(op)
        summed = reduce("sum", mul(others, cast(t, spec(others).dtype)), values["axes"], keepdims=values["keepdims"])
        return cast(summed, op.result_spec().dtype)
    if nothing_to_reduce(op):
        return zeros(op.result)
    mask, count = ties(op)
    chosen = mul(mask, cast(t, spec(mask).dtype))
    return cast(div(reduce("sum", chosen, values["axes"], keepdims=values["keepdims"]), count), op.result_spec().dtype)


# Segments


def rows(op: SegmentReduceOp, v: Value) -> Value:
    """For each row of the data, the row of `v` that belongs to its segment."""
    return make(TakeOp, v, op.segment_ids, type=tensor_type(spec(v).dtype, dims(op.data)))


def segment_sum(op: SegmentReduceOp, x: Value) -> Value:
    result = tensor_type(spec(x).dtype, op.result_spec().shape)
    return make(SegmentReduceOp, x, op.segment_ids, type=result, **{**op.values(), "kind": "sum", "accum_dtype": None})


def segment_weights(op: SegmentReduceOp) -> Value:
    """For each greatest of its segment 1 by their number, else 0; no row is of an empty segment."""
    mask = cast(compare("equal", op.data, rows(op, op.result)), default_accumulator(spec(op.data).dtype))
    return div(mask, rows(op, segment_sum(op, mask)))


def segment_data(op: SegmentReduceOp, g: SSAValue) -> Value:
    if op.values()["kind"] == "sum":
        return rows(op, g)
    weights = segment_weights(op)
    return cast(mul(weights, rows(op, cast(g, spec(weights).dtype))), spec(op.data).dtype)


def segment_tangent(op: SegmentReduceOp, ts: Sequence[SSAValue | None]) -> Value:
    t = ts[0]
    assert t is not None
    if op.values()["kind"] == "sum":
        return applied(op, {0: t})
    weights = segment_weights(op)
    return cast(segment_sum(op, mul(weights, cast(t, spec(weights).dtype))), spec(op.data).dtype)


REVERSE: dict[type[Operation], Row] = {
    ReduceOp: (reduce_x,),
    ArgMaxOp: (None,),
    ArgMinOp: (None,),
    WindowArgOp: (None,),
    SegmentReduceOp: (segment_data, None),
}
FORWARD: dict[type[Operation], ForwardRow] = {
    ReduceOp: reduce_tangent,
    ArgMaxOp: FLAT,
    ArgMinOp: FLAT,
    WindowArgOp: FLAT,
    SegmentReduceOp: segment_tangent,
}
