"""
Rows that are taken along an inner axis become elements gathered along it, which are read where they lie.

    transpose(take(transpose(x, p), i), q)   is   transpose(gather(x, i along axis p[0], p[0]), p[q])

A `take` is along the first axis, so importers transpose before and after it; a kernel of such a `take` copies in the order of the
transposed operand. Where `i` has several axes, or not all axes come back in order, views of the result follow the `gather`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import BroadcastToOp, GatherOp, PtirOp, ReshapeOp, TakeOp, TransposeOp
from mind_dialect.ptir.types import known_extents, tensor_type

from ..ptir.building import in_place_of, insert_new, spec_of, substitute

Shape = tuple[int, ...]


def gather_axes(root: Operation) -> bool:
    """Rewrite the takes inside `root` between transposes; whether there were any."""
    found = [op for op in walk(root) if isinstance(op, TransposeOp) and _is_taken(op)]
    for op in found:
        _gather(op)
    return bool(found)


def _is_taken(op: TransposeOp) -> bool:
    """Return whether a transpose is all that reads rows of a transposed value, of which there are some."""
    take = op.x.owner
    if not isinstance(take, TakeOp) or not take.result.has_one_use() or not isinstance(take.x.owner, TransposeOp):
        return False
    indices = spec_of(take.indices)
    is_static = all(spec_of(v).is_static for v in (take.x, take.indices, take.result))
    return is_static and len(indices.shape) > 0 and 0 not in known_extents(take.result.type)


def _gather(op: TransposeOp) -> None:
    """Replace a transpose, and the take before it, by a gather."""
    take, block = op.x.owner, op.parent
    assert isinstance(take, TakeOp), "checked"
    assert isinstance(block, Block), "of a function"
    before = take.x.owner
    assert isinstance(before, TransposeOp), "checked"
    first, last = _perm(before), _perm(op)
    axis, x, lengths = first[0], before.x, known_extents(take.indices.type)
    shape, (index, _) = known_extents(x.type), spec_of(take.indices)
    count = prod(lengths)
    along: Shape = (count, *(1 for _ in shape[axis + 1 :]))
    gathered = (*shape[:axis], count, *shape[axis + 1 :])

    def put(made: PtirOp) -> SSAValue:
        insert_new(made, op, block)
        return made.results[0]

    def reshaped(value: SSAValue, extents: Shape) -> SSAValue:
        type_ = tensor_type(spec_of(value).dtype, extents)
        return value if value.type == type_ else put(in_place_of(op, ReshapeOp, value, type=type_, new_shape=extents))

    places = reshaped(take.indices, along)
    if gathered != along:
        type_ = tensor_type(index, gathered)
        places = put(in_place_of(op, BroadcastToOp, places, type=type_, result_shape=gathered))
    type_ = tensor_type(spec_of(x).dtype, gathered)
    gather = in_place_of(take, GatherOp, x, places, type=type_, axis=axis)
    gather.attributes.update(take.attributes)
    found = reshaped(put(gather), (*shape[:axis], *lengths, *shape[axis + 1 :]))
    substitute(op, in_place_of(op, TransposeOp, found, perm=_order(first, last, len(lengths))))
    block.erase_op(take)


def _perm(op: TransposeOp) -> Shape:
    perm: Sequence[int] = op.values()["perm"]
    return tuple(axis % len(perm) for axis in perm)


def _order(first: Shape, last: Shape, rank: int) -> Shape:
    """Return which axes of the gathered elements, indices of some rank where the axis was, those of the result are."""
    axis = first[0]
    inner = (axis + i for i in range(rank))
    outer = (a if a < axis else a + rank - 1 for a in first[1:])
    taken = (*inner, *outer)
    return tuple(taken[i] for i in last)


@dataclass(frozen=True)
class PtirGatherAxesPass(ModulePass):
    """Replace takes between transposes by gathers along the axis."""

    name = "mind-ptir-gather-axes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        gather_axes(op)
