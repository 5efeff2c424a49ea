"""
Parts of a concat, written where they are in its result.

A value that a concat alone reads is not computed in memory of its own and copied: its kernel writes rows of the result. Where
few elements of it follow each other there, a copy is left: a kernel with other operands would be as slow as that. Components of
short vectors are written one by one.
"""

from __future__ import annotations

from collections.abc import Container
from math import prod

from xdsl.ir import Block, Operation, SSAValue, Use

from mind_dialect.ptir import ConcatOp, FusionOp, ReshapeOp, YieldOp
from mind_dialect.ptir.types import known_extents

from .joins import concat_pieces, in_box
from .lanes import MOST_APART
from .views import View

LEAST_RUN = 16
"""Elements of a part that follow each other in the result, at least."""
MOST_PARTS = 64
"""Concats of more operands are left to copies, which bounds the time per part."""


def outer_use(value: SSAValue, members: Container[Operation]) -> Use | None:
    """Return the one use of a result of a group in the block that the group is in; a fusion may yield it to that use."""
    block = value.owner.parent if isinstance(value.owner, Operation) else None
    fusion = block.parent_op() if isinstance(block, Block) else None
    if isinstance(fusion, FusionOp):
        outer = [use for use in value.uses if use.operation not in members]
        if len(outer) != 1 or not isinstance(outer[0].operation, YieldOp):
            return None
        value, block = fusion.results[outer[0].index], fusion.parent
    use = next(iter(value.uses)) if value.has_one_use() else None
    return None if use is None or use.operation.parent is not block else use


def concat_of(value: SSAValue, members: Container[Operation]) -> tuple[ConcatOp, int] | None:
    """Return the concat, and the operand of it, that a result of a group is alone for, perhaps in another shape."""
    use = outer_use(value, members)
    while use is not None and isinstance(use.operation, ReshapeOp):
        use = outer_use(use.operation.result, ())
    if use is None or not isinstance(use.operation, ConcatOp) or len(use.operation.operands) > MOST_PARTS:
        return None
    shape = known_extents(use.operation.operands[use.index].type)
    run, whole = (prod(extents[_axis(use.operation) :]) for extents in (shape, known_extents(use.operation.result.type)))
    return (use.operation, use.index) if run >= LEAST_RUN or (run == 1 and whole <= MOST_APART) else None


def parts(op: ConcatOp, whole: View) -> list[View]:
    """Return the part of the result of a concat that each operand is."""
    return [in_box(whole, box) for box in concat_pieces(op)]


def _axis(op: ConcatOp) -> int:
    axis: int = op.values()["axis"]
    return axis % len(known_extents(op.result.type))
