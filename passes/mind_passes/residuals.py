"""
A body's gradient cut in two: what runs forwards, and what runs backwards from saved values.

The reverse walk over a body gives one block: the ops of the body, its `ptir.yield`, and then the ops of the adjoints. `cut` moves
the latter into a block of their own. What they use of the former are residuals, which the forward part has to hand out, unless
they are cheaper to compute again: always if views or constants, and plain arithmetic if its operands are available anyway. Draws
of random numbers are never repeated.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import (
    AbsOp,
    AddOp,
    AndOp,
    BitcastOp,
    BroadcastToOp,
    CastOp,
    CeilOp,
    CompareOp,
    ConstantOp,
    FloorOp,
    IotaOp,
    MaximumOp,
    MinimumOp,
    MulOp,
    NegOp,
    NotOp,
    OrOp,
    ReshapeOp,
    RoundOp,
    SelectOp,
    SignOp,
    SliceOp,
    StopGradientOp,
    StridedSliceOp,
    SubOp,
    TransposeOp,
    TruncateOp,
    XorOp,
)

from .emit import copy
from .loop_options import CHECKPOINT, RECOMPUTED
from .ptir.dead_ops import holders

VIEWS: tuple[type[Operation], ...] = (ConstantOp, IotaOp, BroadcastToOp, ReshapeOp, TransposeOp, StopGradientOp)
"""No residual: nothing is computed, and the operand is no larger than the result."""
PLAIN: tuple[type[Operation], ...] = (
    *(AbsOp, AddOp, AndOp, BitcastOp, CastOp, CeilOp, CompareOp, FloorOp, MaximumOp, MinimumOp, MulOp, NegOp, NotOp, OrOp),
    *(RoundOp, SelectOp, SignOp, SliceOp, StridedSliceOp, SubOp, TruncateOp, XorOp),
)
"""No residual where all operands are available: one pass over memory, as reading the residual would be."""


@dataclass(frozen=True)
class Cut:
    """The backward part of a body's gradient."""

    backward: Block
    """Its arguments are the residuals, then `extra`; it has no terminator yet."""
    residuals: list[SSAValue]
    """Values of the forward block, its arguments among them, in the order of the backward block's arguments."""
    became: dict[SSAValue, SSAValue]
    """From values of the forward block to those of the backward block."""

    @property
    def computed(self) -> list[SSAValue]:
        """The residuals that the forward part computes."""
        return [x for x in self.residuals if not isinstance(x, BlockArgument)]

    @property
    def arguments(self) -> list[BlockArgument]:
        """The residuals that are arguments of the forward part."""
        return [x for x in self.residuals if isinstance(x, BlockArgument)]


def cut(
    block: Block,
    end: Operation,
    results: Iterable[SSAValue],
    extra: Sequence[BlockArgument],
    *,
    at_hand: Container[SSAValue],
    invariant: Container[SSAValue] = (),
    everything: bool = False,
) -> Cut:
    """
    Move the ops after `end`, and the arguments `extra`, to a block of their own.

    `results` are the values wanted of the backward part. `at_hand` are the arguments of the block that cost nothing to have;
    `invariant` are those that are the same in each iteration of a loop, so that what depends on them alone is computed again
    rather than saved in each iteration. With `everything`, all that can be is computed again.
    """
    moved = _after(end)
    needed = dict.fromkeys(x for op in moved for x in op.operands) | dict.fromkeys(results)
    own = {x for op in moved for x in op.results} | set(extra)
    again, residuals = _recomputed(block, end, [x for x in needed if x not in own], at_hand, invariant, everything)
    backward = Block(arg_types=[x.type for x in (*residuals, *extra)])
    became: dict[SSAValue, SSAValue] = dict(zip([*residuals, *extra], backward.args, strict=True))
    for x, y in became.items():
        y.name_hint = x.name_hint
    for op in block.ops:
        if op is end:
            break
        if op in again:
            backward.add_op(copy(op, became))
    for op in moved:
        op.detach()
        op.operands = [became.get(x, x) for x in op.operands]
        backward.add_op(op)
    for x in reversed(extra):
        block.erase_arg(x)
    return Cut(backward, residuals, became)


def _after(end: Operation) -> list[Operation]:
    found: list[Operation] = []
    op = end.next_op
    while op is not None:
        found.append(op)
        op = op.next_op
    return found


def _recomputed(
    block: Block,
    end: Operation,
    needed: Sequence[SSAValue],
    at_hand: Container[SSAValue],
    invariant: Container[SSAValue],
    everything: bool,
) -> tuple[set[Operation], list[SSAValue]]:
    """The ops of the forward part to compute again, and the values to save, in the order of their definition."""
    fixed = {held for op in block.ops for held in holders(op)}
    places: dict[SSAValue, int] = {x: i for i, x in enumerate([*block.args, *(r for op in block.ops for r in op.results)])}
    free = _invariants(block, end, invariant, fixed)
    again: set[Operation] = set()
    saved: set[SSAValue] = set()
    stack = list(needed)
    while stack:
        x = stack.pop()
        op = x.owner
        if isinstance(op, Block):
            saved.add(x)
        elif op not in fixed and (everything or isinstance(op, VIEWS) or CHECKPOINT in op.attributes or x in free):
            stack += () if op in again else op.operands
            again.add(op)
        else:
            saved.add(x)
    for x in sorted(saved, key=places.__getitem__, reverse=True):
        op = x.owner
        if isinstance(op, PLAIN) and op not in fixed and all(y in saved or y.owner in again or y in at_hand for y in op.operands):
            again.add(op)
            saved.discard(x)
            saved.update(y for y in op.operands if y in at_hand)
    return again, sorted(saved, key=places.__getitem__)


def _invariants(block: Block, end: Operation, invariant: Container[SSAValue], fixed: set[Operation]) -> set[SSAValue]:
    """Return the values that are the same in each iteration."""
    free: set[SSAValue] = {x for x in block.args if x in invariant}
    for op in block.ops:
        if op is end:
            break
        if op not in fixed and all(x in free for x in op.operands):
            free.update(op.results)
    return free


def recompute_marked(end: Operation) -> None:
    """
    In a flat function, compute the ops marked `ptir.checkpoint` again for the adjoints behind `end`, right before they are used.

    The copies are marked `ptir.recomputed`, which keeps common subexpression elimination from undoing this.
    """
    block = end.parent
    assert isinstance(block, Block)
    marked = [op for op in block.ops if CHECKPOINT in op.attributes and not op.regions and not holders(op)]
    if not marked:
        return
    behind, again = set(_after(end)), dict.fromkeys(marked)
    copies: dict[SSAValue, SSAValue] = {}

    def missing(op: Operation) -> list[Operation]:
        return [x.owner for x in op.operands if isinstance(x.owner, Operation) and x.owner in again and x not in copies]

    def repeat(op: Operation, place: Operation) -> None:
        """Put copies of what `op` uses that is marked, and of what that uses, before `place`."""
        stack = missing(op)
        while stack:
            op = stack[-1]
            if before := missing(op):
                stack += before
                continue
            stack.pop()
            if op.results[0] in copies:
                continue
            made = copy(op, {x: copies.get(x, x) for x in op.operands})
            del made.attributes[CHECKPOINT]
            made.attributes[RECOMPUTED] = UnitAttr()
            block.insert_op_before(made, place)
            copies.update(zip(op.results, made.results, strict=True))

    for user in tuple(block.ops):
        if user not in behind:
            continue
        repeat(user, user)
        user.operands = [copies.get(x, x) for x in user.operands]
