"""
Rows of slices and ranges, whose bounds may be sizes with names.

ONNX clamps the bounds of a slice to the dimension. Where that depends on a size, the part has an expression as its size; but a
first or last element that is named is taken to be there, and so are the rows of a table of known size up to a dimension. The
program declares this, so that a call with other sizes is refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.errors import error
from mind_dialect.extents.dims import add_dims, ceildiv_dims, is_nonnegative, max_dims, min_dims, sub_dims
from mind_dialect.ptir_shapes import UNKNOWN, Dim

from ..unsupported import Refused
from .converter import OnnxConverter, OnnxRow
from .emitter import HOW_SIZED
from .extents import Extent, dim_of
from .node import Node, distinct_axes, slice_of

FAR = 1 << 31
"""A bound from here on, or below its negation, is that of the dimension."""


def _slice(to: OnnxConverter, node: Node) -> SSAValue:
    x = node.x()
    shape = to.shape(x)
    starts, ends = node.sizes(1) or [], node.sizes(2) or []
    axes = distinct_axes(node.integers(3) or [], len(shape)) if node.has(3) else list(range(len(starts)))
    steps = (node.integers(4) or []) if node.has(4) else [1] * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise error("E4007", "starts, ends, axes and steps differ in length", rank=len(shape), lengths=(len(starts), len(ends)))
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        if step == 0:
            raise error("E4008", f"step 0 at axis {axis}", dimension=axis, step=step)
        is_static = all(isinstance(n, int) for n in (shape[axis], start, end))
        x = (_sliced if is_static else _sized)(to, x, axis, start, end, step)
    return x


def _sliced(to: OnnxConverter, x: SSAValue, axis: int, start: int, end: int, step: int) -> SSAValue:
    """A slice along one axis whose bounds are numbers."""
    n = to.shape(x)[axis]
    assert isinstance(n, int)
    places = range(*slice_of(start, end, step, n).indices(n))
    if not places:
        return to.part(x, axis, 0, 0)
    first, last = (places[0], places[-1]) if step > 0 else (places[-1], places[0])
    found = to.part(x, axis, first, last + 1, abs(step))
    return found if step > 0 else to.emit(ptir.ReverseOp, found, axes=(axis,))


def _sized(to: OnnxConverter, x: SSAValue, axis: int, start: Any, end: Any, step: int) -> SSAValue:
    """A slice along one axis of which a bound, or the dimension, is an expression of names."""
    shape = to.shape(x)
    n = shape[axis]
    if UNKNOWN in shape:
        raise Refused("a slice of a tensor with a size that is not known", HOW_SIZED)
    if step < 0:
        if (start == -1 or _is_far(start)) and isinstance(end, int) and end <= -FAR and step == -1:
            return to.emit(ptir.ReverseOp, x, axes=(axis,))
        raise Refused("a slice backwards of a part of a dimension without a size", HOW_SIZED)
    first, last = _place(to, start, n), _place(to, end, n)
    if first == 0 and last == n and step == 1:
        return x
    count = ceildiv_dims(sub_dims(last, first), step)
    count = count if is_nonnegative(count) else max_dims(count, 0)
    starts = tuple(first if i == axis else 0 for i in range(len(shape)))
    if step == 1:
        return to.emit(ptir.SliceOp, x, starts=starts, sizes=tuple(count if i == axis else m for i, m in enumerate(shape)))
    limits = tuple(last if i == axis else m for i, m in enumerate(shape))
    strides = tuple(step if i == axis else 1 for i in range(len(shape)))
    return to.emit(ptir.StridedSliceOp, x, starts=starts, limits=limits, strides=strides)


def _is_far(bound: Any) -> bool:
    return isinstance(bound, int) and bound >= FAR


def _place(to: OnnxConverter, bound: Any, n: Dim) -> Dim:
    """A bound of a slice along a dimension of size `n` as a place from 0 to `n`."""
    if isinstance(bound, int) and abs(bound) >= FAR:
        return n if bound > 0 else 0
    place = dim_of(bound)
    if is_nonnegative(place) is None:
        to.demand(sub_dims(0, place) if is_nonnegative(sub_dims(0, place)) else place, 1)
    if is_nonnegative(place) is False:
        place = add_dims(n, place)
        if dim_of(bound) == -1:
            to.demand(n, 1)
        return place if is_nonnegative(place) else max_dims(place, 0)
    if is_nonnegative(sub_dims(place, n)):
        return n
    if place == 1 or isinstance(place, str):
        to.demand(n, place)
    return place if is_nonnegative(sub_dims(n, place)) else min_dims(place, n)


def _range(to: OnnxConverter, node: Node) -> SSAValue:
    start, limit, delta = (node.number(i) for i in range(3))
    if isinstance(limit, Extent) or isinstance(start, Extent):
        return _counted(to, start, limit, delta)
    if delta == 0:
        raise error("E8002", "delta is 0", attribute="delta", value=0)
    dtype = to.dtype(node.x(0))
    count = max(0, math.ceil((limit.item() - start.item()) / delta.item()))
    steps = to.counted(count, dtype) if count else to.fill(0, dtype, (0,))
    return to.plus(to.times(steps, to.like(delta.item(), steps)), to.like(start.item(), steps))


def _counted(to: OnnxConverter, start: Any, limit: Any, delta: Any) -> SSAValue:
    """A range between sizes with names, forwards or backwards."""
    if isinstance(delta, Extent) or delta not in (1, -1):
        raise Refused(f"a range of sizes with names by steps of {delta}", HOW_SIZED)
    count = dim_of((limit - start) * int(delta))
    steps = to.counted(count if is_nonnegative(count) else max_dims(count, 0))
    if dim_of(start) == 0 and delta == 1:
        return steps
    first = to.broadcast(to.emitted_size(start), to.shape(steps))
    return to.plus(first, steps) if delta == 1 else to.minus(first, steps)


SLICES: Mapping[str, OnnxRow | Refused] = {"Range": _range, "Slice": _slice}
