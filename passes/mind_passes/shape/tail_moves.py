"""
Tails of ops that move elements by as many as a size says, at places that a padded array does not have: parts of a concatenation
follow each other without tails between, a slice may start at a size, and the last element of a size is the first in reverse.
"""

from __future__ import annotations

from functools import partial
from itertools import accumulate

from mind_dialect import ptir
from mind_dialect.extents.dims import add_dims, sub_dims
from mind_dialect.ptir.types import SI64
from mind_dialect.ptir_shapes import Dim
from mind_dialect.ptir_shapes import pad as padded_shape

from ..ptir import parts
from ..ptir.building import in_place_of, put_before, spec_of, substitute
from ..ptir.construct import broadcast, make, scalar, typed
from .tail_masks import Masks
from .tail_sizes import Put
from .tail_windows import vector, window_of, windows


def concatenates(masks: Masks, op: ptir.ConcatOp) -> None:
    """Write each operand from where the elements of the ones before it end, over their tails."""
    axis: int = op.values()["axis"] % len(spec_of(op.result).shape)
    extents = [spec_of(v).shape[axis] for v in op.operands]
    if all(isinstance(n, int) for n in extents[:-1]):
        return
    put: Put = partial(put_before, op)
    shape = spec_of(op.result).shape
    high: list[Dim] = [sub_dims(shape[axis], extents[0]) if a == axis else 0 for a in range(len(shape))]
    found = put(parts.pad(op.operands[0], [0] * len(shape), high, [0] * len(shape)))
    for operand, first in zip(op.operands[1:], accumulate(extents, add_dims), strict=False):
        start = vector(put, [masks.sizes.of(first, put) if a == axis else scalar(0, SI64) for a in range(len(shape))])
        update = make(ptir.DynamicUpdateSliceOp, found, operand, start, type=op.result.type, sizes=spec_of(operand).shape)
        found = put(update)
    found.name_hint = op.result.name_hint
    op.result.replace_all_uses_with(found)
    op.detach()
    op.erase()


def pads(masks: Masks, op: ptir.PadOp) -> None:
    """Put the pad value into a tail, as the edge after it has it; after an edge of an open size, the elements are an update."""
    values, result = op.values(), spec_of(op.result)
    edged = [i for i in masks.tails(op.x) if any(values[name][i] != 0 for name in ("low", "high", "interior"))]
    x = masks.masked(op, op.x, edged, values["pad_value"])
    if all(isinstance(n, int) for n in values["low"]):
        op.operands[0] = x
        return
    put: Put = partial(put_before, op)
    value: ptir.PtirLiteralAttr = values["pad_value"]
    if any(values["interior"]):
        none, holes = (0,) * len(result.shape), values["interior"]
        dims = padded_shape(spec_of(x).shape, low=none, high=none, interior=holes)
        x = put(make(ptir.PadOp, x, type=typed(result.dtype, dims), low=none, high=none, interior=holes, pad_value=value))
    edges = broadcast(ptir.ConstantOp.create(properties={"value": value}, result_types=[value.type]), result.shape)
    start = vector(put, [masks.sizes.of(n, put) for n in values["low"]])
    update = in_place_of(op, ptir.DynamicUpdateSliceOp, put(edges), x, start, sizes=spec_of(x).shape)
    substitute(op, update)
    windows(masks, update)


def slices(masks: Masks, op: ptir.SliceOp) -> None:
    """Leave a slice from a number on, whose tail is more of the operand; from a size on it is a window."""
    starts: tuple[Dim, ...] = op.values()["starts"]
    if all(isinstance(start, int) for start in starts):
        return
    at = vector(partial(put_before, op), [masks.size(op, start) for start in starts])
    window = in_place_of(op, ptir.DynamicSliceOp, op.x, at, sizes=op.values()["sizes"])
    substitute(op, window)
    windows(masks, window)


def steps(masks: Masks, op: ptir.StridedSliceOp) -> None:
    """Leave a slice from a number on, whose tail is more of the operand; from a size on, step through what begins there."""
    values = op.values()
    starts: tuple[Dim, ...] = values["starts"]
    if all(isinstance(start, int) for start in starts):
        return
    counts = tuple(sub_dims(limit, start) for limit, start in zip(values["limits"], starts, strict=True))
    x = put_before(op, ptir.SliceOp(op.x, starts=starts, sizes=counts))
    assert isinstance(x.owner, ptir.SliceOp)
    stepped = in_place_of(op, ptir.StridedSliceOp, x, starts=(0,) * len(starts), limits=counts, strides=values["strides"])
    substitute(op, stepped)
    slices(masks, x.owner)


def reverses(masks: Masks, op: ptir.ReverseOp) -> None:
    """Move the elements of a size to the end, from where they are reversed."""
    shape = spec_of(op.x).shape
    axes = {a % len(shape) for a in op.values()["axes"]} & set(masks.tails(op.x))
    if not axes:
        return
    put: Put = partial(put_before, op)
    none = [0] * len(shape)
    wide = put(parts.pad(op.x, [n if a in axes else 0 for a, n in enumerate(shape)], none, none))
    start = vector(put, [masks.sizes.of(n, put) if a in axes else scalar(0, SI64) for a, n in enumerate(shape)])
    op.operands[0] = window_of(put, wide, start, shape)
