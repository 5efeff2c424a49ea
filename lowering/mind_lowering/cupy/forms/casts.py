"""
Casts change sides with views, so that what is moved is narrow: a cast to fewer bytes comes before its views, one to more after.

In a program of mixed precision the queries, keys and values of an attention are slices of one product that are turned and then
cast. Cast first, they are views that kernels read where they lie, and a cast there and back is none. No bit of a result changes:
a cast goes element by element, and a view only moves elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue

from mind_dialect.dominance import walk
from mind_dialect.ptir import BroadcastToOp, CastOp, FusionOp, PtirOp, ReshapeOp, SliceOp, TransposeOp
from mind_dialect.ptir.types import Kind, tensor_type
from mind_passes.ptir.building import spec_of
from mind_passes.ptir.dce import erase_dead
from mind_passes.ptir.rewrites.casts import lossless

_MOVES = (TransposeOp, ReshapeOp)
_VIEWS = (*_MOVES, BroadcastToOp)


def move_casts(module: ModuleOp) -> bool:
    """Let casts of floats change sides with transposes, reshapes, repetition and slices; whether any did."""
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
        erase_dead(module)  # what is left of the views would be a use of slices
    sliced = dict.fromkeys(op.x for op in ops if isinstance(op, SliceOp) and op.parent is not None)
    if any([_before_slices(x) for x in sliced]):
        erase_dead(module)
        changed = True
    return changed


def _is_wider(op: CastOp) -> bool:
    """Whether a cast between floats adds bytes and loses nothing."""
    source, target = spec_of(op.x).dtype, spec_of(op.result).dtype
    return source.kind is target.kind is Kind.FLOAT and source.bits < target.bits and lossless(source, target)


def _is_narrower(op: CastOp) -> bool:
    source, target = spec_of(op.x).dtype, spec_of(op.result).dtype
    return source.kind is target.kind is Kind.FLOAT and source.bits > target.bits


def _before_views(cast: CastOp) -> bool:
    """`cast(view(x)) = view(cast(x))`, through all views that follow each other."""
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
    """`cast(slice(x)) = slice(cast(x))`, if such slices are all that `x` is used for, and not less than it."""
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
    """The same view of elements of another dtype."""
    made = tensor_type(spec_of(x).dtype, spec_of(view.results[0]).shape)
    return type(view).create(operands=[x], properties=dict(view.properties), result_types=[made], location=view.location)


def _replace(op: PtirOp, made: Sequence[PtirOp]) -> None:
    """Put ops in the place of one, whose result the last of them has."""
    block = op.parent
    assert isinstance(block, Block)
    for new in made:
        new.location = new.location if isinstance(new, _VIEWS) else op.location
        block.insert_op_before(new, op)
    made[-1].results[0].name_hint = op.results[0].name_hint
    op.results[0].replace_all_uses_with(made[-1].results[0])
    block.erase_op(op)
