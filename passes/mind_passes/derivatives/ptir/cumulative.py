"""
The derivatives of running sums, products and extremes.

A running product is a linear recurrence, and so are its derivatives: scans of two operations a step, which divide by nothing, so
that zeros are right. A running extreme passes its adjoint to the first element that set it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from xdsl.ir import Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.control import Body
from mind_dialect.ptir.legal import default_accumulator
from mind_dialect.ptir.types import F8E4M3, SI64, PtirDType
from mind_dialect.ptir_shapes import Dims

from ...ptir.construct import (
    Value,
    add,
    broadcast,
    cast,
    compare,
    dims,
    elementwise,
    filled,
    full,
    make,
    mul,
    scalar,
    spec,
    transpose,
    typed,
    where,
)
from ..rules import linear
from ..walks import ForwardRow, Row
from .shared import applied, zeros


def sum_x(op: ptir.CumulativeSumOp, g: SSAValue) -> Value:
    """The sums from the other end."""
    return applied(op, {0: g}, reverse=not op.values()["reverse"])


# Products


def in_time(op: ptir.CumulativeOp, x: Value, *, backwards: bool) -> Value:
    """`x` with the axis of `op` first, in the order in which `op` walks along it, or against it."""
    axis, rank = axis_of(op), len(spec(x).shape)
    moved = transpose(x, (axis, *(a for a in range(rank) if a != axis)))
    return make(ptir.ReverseOp, moved, axes=(0,)) if op.values()["reverse"] is not backwards else moved


def from_time(op: ptir.CumulativeOp, x: Value, *, backwards: bool) -> Value:
    """Undo `in_time`."""
    axis, rank = axis_of(op), len(spec(x).shape)
    turned = make(ptir.ReverseOp, x, axes=(0,)) if op.values()["reverse"] is not backwards else x
    return transpose(turned, (*range(1, axis + 1), 0, *range(axis + 1, rank)))


def axis_of(op: ptir.CumulativeOp) -> int:
    return op.values()["axis"] % len(spec(op.x).shape)


def again(op: ptir.CumulativeOp, x: Value, **changed: Any) -> ptir.CumulativeOp:
    """The op on another operand, with some properties changed."""
    values: dict[str, Any] = {**op.values(), **changed}
    return make(ptir.CumulativeOp, x, type=None, **values)


def nothing(dtype: PtirDType, shape: Dims) -> Value:
    """Zeros of a shape."""
    sizes = tuple(n for n in shape if isinstance(n, int))
    return filled(0.0, dtype, sizes) if len(sizes) == len(shape) else broadcast(scalar(0.0, dtype), shape)


def widened(op: ptir.CumulativeOp, x: Value) -> Value:
    return cast(x, default_accumulator(spec(op.x).dtype))


def before(op: ptir.CumulativeOp) -> Value:
    """The product of what comes before each element, in the accumulator's dtype."""
    return again(op, widened(op, op.x), exclusive=True)


def product_x(op: ptir.CumulativeOp, g: SSAValue) -> Value:
    """
    Multiply what comes before an element by `s`, the sum of adjoints of what comes after, each times what lies between.

    `s[k] = g[k] + x[k + 1] s[k + 1]`; where elements are left out, `s[k] = g[k + 1] + x[k + 1] s[k + 1]`.
    """
    exclusive = op.values()["exclusive"]

    def body(c: SSAValue, x: SSAValue, g: SSAValue) -> Sequence[Value]:
        if exclusive:
            return [add(g, mul(x, c)), c]
        total = add(g, c)
        return [mul(x, total), total]

    x, g_wide = (in_time(op, widened(op, v), backwards=True) for v in (op.x, g))
    return cast(mul(before(op), from_time(op, scanned(x, g_wide, body), backwards=True)), spec(op.x).dtype)


def product_tangent(op: ptir.CumulativeOp, t: SSAValue) -> Value:
    """`dy[i] = x[i] dy[i - 1] + t[i]` times what comes before; where elements are left out, that of the step before."""
    exclusive = op.values()["exclusive"]

    def body(c: SSAValue, x: SSAValue, b: SSAValue) -> Sequence[Value]:
        after = add(mul(x, c), b)
        return [after, c if exclusive else after]

    x, b = (in_time(op, v, backwards=False) for v in (widened(op, op.x), mul(before(op), widened(op, t))))
    return cast(from_time(op, scanned(x, b, body), backwards=False), spec(op.x).dtype)


def scanned(a: Value, b: Value, body: Body) -> Value:
    """The stacked output of a scan over two values, from zeros."""
    dtype, shape = spec(a)
    return ptir.ScanOp(nothing(dtype, shape[1:]), a, b, carry_count=1, scan_output_count=1, body=body).results[1]


# Extremes


def setters(op: ptir.CumulativeOp) -> tuple[Value, Value]:
    """For each result the index along the axis of the first element that set it, and whether there is one."""
    values = op.values()
    most = 448.0 if spec(op.x).dtype is F8E4M3 else inf
    least = full(-most if values["kind"] == "max" else most, op.x)
    best = again(op, op.x, exclusive=True)
    better = compare("greater" if values["kind"] == "max" else "less", op.x, best)
    first_nan = elementwise(ptir.AndOp, compare("not_equal", op.x, op.x), compare("equal", best, best))
    of_nothing = elementwise(ptir.AndOp, compare("equal", op.x, least), compare("equal", best, least))
    new = elementwise(ptir.OrOp, elementwise(ptir.OrOp, better, first_nan), of_nothing)
    own = make(ptir.IotaOp, type=typed(SI64, dims(op.x)), shape=dims(op.x), dtype=SI64, axis=axis_of(op))
    none = (1 << 63) - 1 if values["reverse"] else -1
    latest = again(op, where(new, own, full(none, own)), kind="min" if values["reverse"] else "max")
    found = elementwise(
        ptir.AndOp, compare("greater_equal", latest, full(0, own)), compare("less", latest, full((1 << 63) - 1, own))
    )
    return where(found, latest, full(0, own)), found


def extreme_x(op: ptir.CumulativeOp, g: SSAValue) -> Value:
    """The adjoints of what an element set."""
    places, found = setters(op)
    return make(ptir.ScatterReduceOp, zeros(op.x), places, where(found, g, zeros(g)), kind="add", axis=op.values()["axis"])


def extreme_tangent(op: ptir.CumulativeOp, t: SSAValue) -> Value:
    """The tangents of what set each result."""
    places, found = setters(op)
    return where(found, make(ptir.GatherOp, t, places, axis=op.values()["axis"]), zeros(t))


def cumulative_x(op: ptir.CumulativeOp, g: SSAValue) -> Value:
    return product_x(op, g) if op.values()["kind"] == "prod" else extreme_x(op, g)


def cumulative_tangent(op: ptir.CumulativeOp, ts: Sequence[SSAValue | None]) -> Value:
    (t,) = ts
    assert t is not None
    return product_tangent(op, t) if op.values()["kind"] == "prod" else extreme_tangent(op, t)


REVERSE: dict[type[Operation], Row] = {ptir.CumulativeSumOp: (sum_x,), ptir.CumulativeOp: (cumulative_x,)}
FORWARD: dict[type[Operation], ForwardRow] = {ptir.CumulativeSumOp: linear(0), ptir.CumulativeOp: cumulative_tangent}
