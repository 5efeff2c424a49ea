"""
Tails of ops that move elements by as many as a size says, at places that a padded array does not have: parts of a concatenation
follow each other without tails between, a slice may start at a size, and the last element of a size is the first in reverse.
"""

from __future__ import annotations

from functools import partial
from itertools import accumulate

from mind_dialect.extents.dims import add_dims, sub_dims
from mind_dialect.ptir import (
    ConcatOp,
    ConstantOp,
    DynamicSliceOp,
    DynamicUpdateSliceOp,
    PadOp,
    PtirLiteralAttr,
    ReverseOp,
    SliceOp,
    StridedSliceOp,
)
from mind_dialect.ptir.types import SI64
from mind_dialect.ptir_shapes import Dim

from ..ptir import parts
from ..ptir.building import in_place_of, spec_of, substitute
from ..ptir.construct import broadcast, make, scalar
from .tail_masks import Masks
from .tail_sizes import Put, Refused
from .tail_windows import vector, window_of, windows


def concatenates(masks: Masks, op: ConcatOp) -> None:
    """Write each operand from where the elements of the ones before it end, over their tails."""
    axis: int = op.values()["axis"] % len(spec_of(op.result).shape)
    extents = [spec_of(v).shape[axis] for v in op.operands]
    if all(isinstance(n, int) for n in extents[:-1]):
        return
    put: Put = partial(masks.put, op)
    shape = spec_of(op.result).shape
    high: list[Dim] = [sub_dims(shape[axis], extents[0]) if a == axis else 0 for a in range(len(shape))]
    found = put(parts.pad(op.operands[0], [0] * len(shape), high, [0] * len(shape)))
    for operand, first in zip(op.operands[1:], accumulate(extents, add_dims), strict=False):
        start = vector(put, [masks.sizes.of(first, put) if a == axis else scalar(0, SI64) for a in range(len(shape))])
        update = make(DynamicUpdateSliceOp, found, operand, start, type=op.result.type, sizes=spec_of(operand).shape)
        found = put(update)
    found.name_hint = op.result.name_hint
    op.result.replace_all_uses_with(found)
    op.detach()
    op.erase()


def pads(masks: Masks, op: PadOp) -> None:
    """Put the pad value into a tail, as the edge after it has it; after an edge of an open size, the elements are an update."""
    values, result = op.values(), spec_of(op.result)
    edged = [i for i in masks.tails(op.x) if any(values[name][i] != 0 for name in ("low", "high", "interior"))]
    x = masks.masked(op, op.x, edged, values["pad_value"])
    if all(isinstance(n, int) for n in values["low"]):
        op.operands[0] = x
        return
    if any(values["interior"]):
        raise Refused("pad puts elements between others, and as many before them as a size says")
    put: Put = partial(masks.put, op)
    value: PtirLiteralAttr = values["pad_value"]
    edges = broadcast(ConstantOp.create(properties={"value": value}, result_types=[value.type]), result.shape)
    start = vector(put, [masks.sizes.of(n, put) for n in values["low"]])
    update = in_place_of(op, DynamicUpdateSliceOp, put(edges), x, start, sizes=spec_of(x).shape)
    substitute(op, update)
    windows(masks, update)


def slices(masks: Masks, op: SliceOp) -> None:
    """Leave a slice from a number on, whose tail is more of the operand; from a size on it is a window."""
    starts: tuple[Dim, ...] = op.values()["starts"]
    if all(isinstance(start, int) for start in starts):
        return
    at = vector(partial(masks.put, op), [masks.size(op, start) for start in starts])
    window = in_place_of(op, DynamicSliceOp, op.x, at, sizes=op.values()["sizes"])
    substitute(op, window)
    windows(masks, window)


def steps(masks: Masks, op: StridedSliceOp) -> None:
    """Leave a slice from a number on; how many elements it has is no matter of where they are."""
    for start in op.values()["starts"]:
        if not isinstance(start, int):
            raise Refused(f"strided_slice takes elements {start} and on")


def reverses(masks: Masks, op: ReverseOp) -> None:
    """Move the elements of a size to the end, from where they are reversed."""
    shape = spec_of(op.x).shape
    axes = {a % len(shape) for a in op.values()["axes"]} & set(masks.tails(op.x))
    if not axes:
        return
    put: Put = partial(masks.put, op)
    none = [0] * len(shape)
    wide = put(parts.pad(op.x, [n if a in axes else 0 for a, n in enumerate(shape)], none, none))
    start = vector(put, [masks.sizes.of(n, put) if a in axes else scalar(0, SI64) for a, n in enumerate(shape)])
    op.operands[0] = window_of(put, wide, start, shape)
