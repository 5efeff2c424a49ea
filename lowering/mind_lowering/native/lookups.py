"""Views of elements that are looked up by indices: of `take` in slices of its first axis, of `gather` each along one axis."""

from __future__ import annotations

from dataclasses import replace

from mind_dialect.ptir import GatherOp, PtirOp

from .demanded import shape_of
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
