"""
Casts commute with views, so that views are of the narrower dtype: narrowing casts come before views, widening ones after.

In a program of mixed precision the queries, keys and values of an attention are slices of one product that are transposed and
then cast. Cast first, they are views that kernels read in place, and a cast there and back cancels. No bit of a result changes: a
cast is elementwise, and a view only moves elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.dominance import walk
from mind_dialect.ptir import BroadcastToOp, CastOp, FusionOp, PtirOp, ReshapeOp, SliceOp, TransposeOp
from mind_dialect.ptir.types import Kind, tensor_type

from ..ptir.building import spec_of
from ..ptir.dead_ops import erase_dead
from ..ptir.rewrites.casts import lossless

_MOVES = (TransposeOp, ReshapeOp)
_VIEWS = (*_MOVES, BroadcastToOp)


def move_casts(module: Operation) -> bool:
    """Move casts of floats across transposes, reshapes, broadcasts and slices; return whether any moved."""
    ops = [op for op in walk(module) if isinstance(op, PtirOp) and not isinstance(op.parent_op(), FusionOp)]
    changed = False
    for op in ops:
        if isinstance(op, (*_MOVES, SliceOp)) and isinstance(cast := op.operands[0].owner, CastOp) and _is_wider(cast):
            narrow = _like(op, cast.x)
            _replace(op, [narrow, CastOp(narrow.results[0], dtype=spec_of(cast.result).dtype.name)])
            changed = True
    for op in ops:
        if isinstance(op, CastOp) and op.parent is not None and _is_narrower(op):
            changed |= _before_views(op)
    if changed:
        erase_dead(module)  # dead views would be uses of slices
    sliced = dict.fromkeys(op.x for op in ops if isinstance(op, SliceOp) and op.parent is not None)
    if any([_before_slices(x) for x in sliced]):
        erase_dead(module)
        changed = True
    return changed


def _is_wider(op: CastOp) -> bool:
    """Return whether a cast between floats adds bytes and loses nothing."""
    source, target = spec_of(op.x).dtype, spec_of(op.result).dtype
    return source.kind is target.kind is Kind.FLOAT and source.bits < target.bits and lossless(source, target)


def _is_narrower(op: CastOp) -> bool:
    source, target = spec_of(op.x).dtype, spec_of(op.result).dtype
    return source.kind is target.kind is Kind.FLOAT and source.bits > target.bits


def _before_views(cast: CastOp) -> bool:
    """`cast(view(x)) = view(cast(x))`, through a chain of views."""
    views: list[PtirOp] = []
    x = cast.x
    while isinstance(x.owner, _VIEWS) and x.owner.parent is cast.parent:
        views.append(x.owner)
        x = x.owner.operands[0]
    if views:
        made: list[PtirOp] = [CastOp(x, dtype=spec_of(cast.result).dtype.name)]
        for view in reversed(views):
            made.append(_like(view, made[-1].results[0]))
        _replace(cast, made)
    return bool(views)


def _before_slices(x: SSAValue) -> bool:
    """`cast(slice(x)) = slice(cast(x))`, if `x` has no other uses and the slices together are no smaller than it."""
    slices = [use.operation for use in x.uses]
    casts = [use.operation for op in slices for result in op.results for use in result.uses]
    found = [op for op in casts if isinstance(op, CastOp) and _is_narrower(op)]
    if not all(isinstance(op, SliceOp) for op in slices) or len(found) != len(casts) or not found:
        return False
    dtype = spec_of(found[0].result).dtype
    if any(spec_of(op.result).dtype is not dtype or op.parent is not found[0].parent for op in found):
        return False
    shapes = [spec_of(v).shape for v in (x, *(op.results[0] for op in slices))]
    whole, *parts = (prod(n for n in shape if isinstance(n, int)) for shape in shapes)
    if not all(isinstance(n, int) for shape in shapes for n in shape) or sum(parts) < whole:
        return False
    block, cast = slices[0].parent, CastOp(x, dtype=dtype.name)
    first = next((op for op in block.ops if op in set(slices)), None) if isinstance(block, Block) else None
    if not isinstance(block, Block) or first is None or any(op.parent is not block for op in (*slices, *found)):
        return False
    cast.location = found[0].location
    block.insert_op_before(cast, first)
    for op in found:
        assert isinstance(op.x.owner, SliceOp)
        _replace(op, [_like(op.x.owner, cast.result)])
    return True


def _like(view: PtirOp, x: SSAValue) -> PtirOp:
    """Return the same view of elements of another dtype."""
    made = tensor_type(spec_of(x).dtype, spec_of(view.results[0]).shape)
    return type(view).create(operands=[x], properties=dict(view.properties), result_types=[made], location=view.location)


def _replace(op: PtirOp, made: Sequence[PtirOp]) -> None:
    """Replace an op by ops, the last of which has its result."""
    block = op.parent
    assert isinstance(block, Block)
    for new in made:
        new.location = new.location if isinstance(new, _VIEWS) else op.location
        block.insert_op_before(new, op)
    made[-1].results[0].name_hint = op.results[0].name_hint
    op.results[0].replace_all_uses_with(made[-1].results[0])
    block.erase_op(op)


@dataclass(frozen=True)
class PtirMoveCastsPass(ModulePass):
    """Move narrowing casts of floats before views, and widening casts after them."""

    name = "mind-ptir-move-casts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        move_casts(op)
