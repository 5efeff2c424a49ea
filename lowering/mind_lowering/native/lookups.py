"""
Views of elements that are looked up by indices: of `take` in slices of its first axis, of `gather` each along one axis, and of
`gather_windows` by vectors of indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mind_dialect.ptir import GatherOp, GatherWindowsOp, PtirOp

from .demanded import shape_of
from .joins import in_box
from .views import Lookup, View


def table_of(op: PtirOp, x: View) -> View:
    """Return where the elements of `x` lie that an op of `LOOKUPS` reads, in the shape of its result, but for its indices."""
    axis: int = op.values()["axis"] % len(x.shape) if isinstance(op, GatherOp) else 0
    shape = shape_of(op.results[0])
    if isinstance(op, GatherOp):
        strides = tuple(0 if a == axis else s for a, s in enumerate(x.strides))
    else:
        strides = (0,) * (len(shape) - len(x.shape) + 1) + x.strides[1:]
    lookup = Lookup(None, x.strides[axis], x.shape[axis], origin=op)
    return View(x.base, x.dtype, shape, strides, x.offset, (lookup,))


def looked_up(op: PtirOp, x: View, indices: View) -> View:
    """Return the result of an op of `LOOKUPS` as a view: `x` at `indices`, which are in memory."""
    table = table_of(op, x)
    (lookup,) = table.lookups
    still = (0,) * (len(table.shape) - len(indices.shape))
    spread = View(indices.base, indices.dtype, table.shape, indices.strides + still, indices.offset)
    return replace(table, lookups=(replace(lookup, index=spread),))


def windows_of(op: GatherWindowsOp, x: View, vectors: View) -> View:
    """Return the windows of `x` at vectors of indices, which are in memory, together or component by component."""
    values, rank, result = op.values(), len(x.shape), shape_of(op.result)
    offset, sizes = _axes(values["offset_dims"], len(result)), values["slice_sizes"]
    batching = _axes(values["operand_batching_dims"], rank)
    without = {*_axes(values["collapsed_slice_dims"], rank), *batching}
    own = _axes(values["start_indices_batching_dims"], len(vectors.shape))
    places = [i for i in range(len(vectors.shape)) if i != values["index_vector_dim"]]
    axis_of = dict(zip(places, [i for i in range(len(result)) if i not in offset], strict=True))
    strides = [0] * len(result)
    for at, axis in zip(offset, [a for a in range(rank) if a not in without], strict=True):
        strides[at] = x.strides[axis]
    for axis, i in zip(batching, own, strict=True):
        strides[axis_of[i]] += x.strides[axis]
    lookups: list[Lookup] = []
    for j, axis in enumerate(_axes(values["start_index_map"], rank)):
        part = component(vectors, values["index_vector_dim"], j)
        moved = [0] * len(result)
        for i, at in axis_of.items():
            moved[at] = part.strides[i]
        index = View(part.base, part.dtype, result, tuple(moved), part.offset)
        extent, is_clamped = x.shape[axis] - sizes[axis] + 1, values["mode"] == "clamp"
        lookups.append(Lookup(index, x.strides[axis], extent, is_clamped, op, axis))
    return View(x.base, x.dtype, result, tuple(strides), x.offset, tuple(lookups))


def component(vectors: View, dim: int, j: int) -> View:
    """Return component `j` of vectors that lie along a dimension, which is left with an extent of 1 if there is one."""
    if dim == len(vectors.shape):
        return vectors
    starts = tuple(j if a == dim else 0 for a in range(len(vectors.shape)))
    return in_box(vectors, (starts, tuple(1 if a == dim else n for a, n in enumerate(vectors.shape))))


def _axes(given: Sequence[int], rank: int) -> list[int]:
    return [a % rank for a in given]
