"""
Concats and pads that groups read where their parts lie: a group over each box in which every operand lies in one part.

    %r = ptir.concat [%tail, %head] axis = 0        slices of %u: its rows, each moved by one
    %y = ptir.sub %u, %r                            two kernels, of the rows before the seam and of those after it

So neighbours of a grid, rotated halves and borders are never copied together. Each box is a kernel with code of its own: a few,
over arrays that are worth it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate, pairwise, product
from math import prod

from xdsl.ir import Operation

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import known_extents

from ..launch.views import VIEWS, Ints
from .grouping import is_elementwise, why_not
from .target_info import TargetInfo
from .views import Joined, View, window

LEAST_BYTES = 4 << 10
"""Bytes of a value that is not copied together, at least, for each kernel that reads it: their code takes time too."""
MOST_BOXES = 27
"""Kernels that a group becomes, at most: those of a step to either side along three axes."""

_WINDOWS = (ptir.GatherWindowsOp, ptir.ScatterWindowsOp)
Box = tuple[Ints, Ints]
"""The first index along each axis, and the extents."""


def concat_pieces(op: ptir.ConcatOp) -> list[Box]:
    """Return where in the result of a concat each operand lies."""
    rank = len(known_extents(op.result.type))
    axis: int = op.values()["axis"] % rank
    extents = [known_extents(x.type) for x in op.operands]
    begins = accumulate([e[axis] for e in extents[:-1]], initial=0)
    starts = [tuple([begin if a == axis else 0 for a in range(rank)]) for begin in begins]
    return list(zip(starts, extents, strict=True))


def pieces(op: Operation) -> list[Box] | None:
    """Return where in the result of a concat or a pad each operand lies, then each part of a border; None for other ops."""
    if isinstance(op, ptir.ConcatOp):
        return concat_pieces(op)
    if not isinstance(op, ptir.PadOp) or any(op.values()["interior"]):
        return None
    low, high = op.values()["low"], op.values()["high"]
    around = border(known_extents(op.result.type), list(zip(low, high, strict=True)))
    return [(tuple(low), known_extents(op.x.type)), *around]


def border(shape: Ints, padding: Sequence[tuple[int, int]]) -> Iterator[Box]:
    """Yield what is around the inner elements: for each axis what is before and after those of the axes before."""
    starts, extents = [0] * len(shape), list(shape)
    for axis, (low, high) in enumerate(padding):
        n = shape[axis]
        for start, size in ((0, low), (n - high, high)):
            if size:
                yield (*starts[:axis], start, *starts[axis + 1 :]), (*extents[:axis], size, *extents[axis + 1 :])
        starts[axis], extents[axis] = low, n - low - high


def is_read_in_parts(op: PtirOp, host: TargetInfo) -> bool:
    """Return whether all that uses a concat or a pad are groups that read it where its parts lie, and it is large."""
    if len(op.operands) > MOST_BOXES or pieces(op) is None:
        return False
    return all(_reads_parts(use.operation, use.index, op, host) for use in op.results[0].uses)


def _reads_parts(user: Operation, index: int, op: PtirOp, host: TargetInfo) -> bool:
    """Return whether groups alone read the operand of an op at `index`, as it is, and that in few boxes, or as index vectors."""
    if user.parent is not op.parent or not isinstance(user, PtirOp):
        return False
    value = user.body.block.args[index] if isinstance(user, ptir.FusionOp) else op.results[0]
    readers = [use for use in value.uses if isinstance(user, ptir.FusionOp) or use.operation is user]
    vectors = [u.operation for u in readers if isinstance(u.operation, _WINDOWS) and u.index == 1]
    if vectors:
        return len(vectors) == len(readers) and all(_are_components(v.values()["index_vector_dim"], op) for v in vectors)
    members: Collection[PtirOp] = [user]
    if isinstance(user, ptir.FusionOp):
        inner = [o for o in user.body.block.ops if isinstance(o, PtirOp) and not isinstance(o, ptir.YieldOp)]
        members = [o for o in inner if type(o) not in (*VIEWS, ptir.ConstantOp, ptir.IotaOp)]
        if not all(use.operation in members for use in user.body.block.args[index].uses):
            return False
    shape = known_extents(op.results[0].type)
    if not all(is_elementwise(o) and known_extents(o.results[0].type) == shape and why_not(o, host) is None for o in members):
        return False
    cuts, count = [{0, n} for n in shape], 0
    for owner in (v.owner for v in user.operands):
        if isinstance(owner, PtirOp) and (found := pieces(owner)) is not None:
            _cut(cuts, shape, found)
            if (count := prod(len(places) - 1 for places in cuts)) > MOST_BOXES:
                return False  # whatever follows: many operands are not looked at for each of them
    return prod(shape) * op.result_spec().dtype.size >= count * LEAST_BYTES


def _are_components(dim: int, op: PtirOp) -> bool:
    """Return whether an op puts the components of index vectors together, each of which is looked up by itself."""
    if not isinstance(op, ptir.ConcatOp) or op.values()["axis"] % len(known_extents(op.result.type)) != dim:
        return False
    return all(known_extents(x.type)[dim] == 1 for x in op.operands)


def _cut(cuts: Sequence[set[int]], shape: Ints, every: Sequence[Box]) -> None:
    """Add where boxes begin and end along each axis of a shape."""
    for box in (box for box in every if len(box[0]) == len(shape)):
        for places, end, start, extent in zip(cuts, shape, *box, strict=True):
            places.update(n for n in (start, start + extent) if n <= end)


def boxes(shape: Ints, views: Sequence[View]) -> Iterator[Box]:
    """Yield the boxes of a shape in each of which every view lies in one part."""
    cuts = [{0, n} for n in shape]
    for base in (v.base for v in views):
        if isinstance(base, Joined):
            _cut(cuts, shape, [(start, part.shape) for start, part in base.parts])
    for box in product(*(pairwise(sorted(places)) for places in cuts)):
        yield tuple([low for low, _ in box]), tuple([high - low for low, high in box])


def in_box(view: View, box: Box) -> View:
    """Return a box of a view."""
    starts, extents = box
    if isinstance(view.base, Joined):
        for first, part in view.base.parts:
            at = tuple([s - f for s, f in zip(starts, first, strict=True)])
            if all(0 <= a and a + n <= m for a, n, m in zip(at, extents, part.shape, strict=True)):
                return window(part, at, extents, [1] * len(extents))
    return window(view, starts, extents, [1] * len(extents))
