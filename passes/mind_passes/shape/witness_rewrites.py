"""Rewrites of constraints, of the witnesses that they give, and of the regions that assume them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from mind_dialect.shape import AssumingAllOp, AssumingOp, AssumingYieldOp, CstrBroadcastableOp, CstrEqOp, ShapeOfOp
from mind_dialect.shape.types import shaped_extents

from .constants import extents, truth
from .rewriting import Values, as_constant, insert, is_empty, set_operands


def _type_extents(shape: SSAValue) -> tuple[int, ...] | None:
    """The extents of a constant, or of the value that shape_of reads, unknown ones included."""
    return shaped_extents(shape.owner.arg.type) if isinstance(shape.owner, ShapeOfOp) else extents(shape)


def _certainly_broadcast(shapes: Sequence[tuple[int, ...]]) -> bool:
    """In each dimension one extent other than 1, and an unknown one only once."""
    for i in range(1, max(map(len, shapes), default=0) + 1):
        column = [shape[-i] for shape in shapes if len(shape) >= i and shape[-i] != 1]
        if any(n != column[0] for n in column) or (len(column) > 1 and column[0] < 0):
            return False
    return True


def broadcastable(op: CstrBroadcastableOp, rewriter: PatternRewriter) -> Values | None:
    """cstr_broadcastable -> true for equal operands, if all but one are [], or if the extents that are known leave no doubt."""
    shapes = op.operands
    known = list(map(_type_extents, shapes))
    several = sum(not is_empty(shape) for shape in shapes) > 1
    doubtful = None in known or not _certainly_broadcast([s for s in known if s is not None])
    if several and doubtful and any(shape is not shapes[0] for shape in shapes):
        return None
    return as_constant(True, op.result.type, rewriter)


def equal(op: CstrEqOp, rewriter: PatternRewriter) -> Values | None:
    """cstr_eq -> true for equal operands."""
    shapes = op.operands
    known = extents(shapes[0]) if shapes else None
    same = bool(shapes) and all(shape is shapes[0] for shape in shapes)
    if not same and (known is None or any(extents(shape) != known for shape in shapes)):
        return None
    return as_constant(True, op.result.type, rewriter)


def all_of_constants(op: AssumingAllOp, rewriter: PatternRewriter) -> Values | None:
    """assuming_all(x, false) -> false, assuming_all(x, true) -> assuming_all(x)."""
    known = list(map(truth, op.operands))
    if False in known:
        return as_constant(False, op.result.type, rewriter)
    kept = [witness for witness, holds in zip(op.operands, known, strict=True) if holds is None]
    if not kept:
        return as_constant(True, op.result.type, rewriter)
    if len(kept) < len(known):
        set_operands(op, kept, rewriter)
    return None


def all_of_one(op: AssumingAllOp, rewriter: PatternRewriter) -> Values | None:
    """assuming_all(x) -> x."""
    return [op.operands[0]] if len(op.operands) == 1 else None


def all_of_all(op: AssumingAllOp, rewriter: PatternRewriter) -> None:
    """assuming_all(assuming_all(x, y), z) -> assuming_all(x, y, z), at once for those that only others of their kind use."""
    if not any(isinstance(w.owner, AssumingAllOp) for w in op.operands):
        return
    if op.result.first_use is not None and all(isinstance(use.operation, AssumingAllOp) for use in op.result.uses):
        return
    flat: dict[SSAValue, None] = {}
    seen: set[SSAValue] = set()
    stack = list(reversed(op.operands))
    while stack:
        witness = stack.pop()
        if not isinstance(witness.owner, AssumingAllOp):
            flat[witness] = None
        elif witness not in seen:
            seen.add(witness)
            stack.extend(reversed(witness.owner.operands))
    set_operands(op, list(flat), rewriter)


def all_of_broadcastable(op: AssumingAllOp, rewriter: PatternRewriter) -> None:
    """assuming_all of cstr_broadcastable only: those that ask about some of another's shapes go."""
    owners = list(dict.fromkeys(w.owner for w in op.operands))
    if len(owners) < 2 or not all(isinstance(owner, CstrBroadcastableOp) for owner in owners):
        return
    left = sorted(cast(list[Operation], owners), key=lambda owner: -len(owner.operands))
    kept: list[Operation] = []
    asking: dict[SSAValue, list[set[SSAValue]]] = {}
    for owner in left:
        asked = set(owner.operands)
        rarest = min((asking.get(shape, []) for shape in owner.operands), key=len)
        if not any(asked <= other for other in rarest):
            kept.append(owner)
            for shape in asked:
                asking.setdefault(shape, []).append(asked)
    if len(kept) == len(left):
        return
    set_operands(op, [owner.results[0] for owner in kept], rewriter)
    for owner in left:
        if owner.results[0].first_use is None:
            rewriter.erase(owner)


def all_of_equal(op: AssumingAllOp, rewriter: PatternRewriter) -> Values | None:
    """assuming_all(cstr_eq(x, y), cstr_eq(y, z)) -> cstr_eq(x, y, y, z), where each shares a shape with those before it."""
    shapes: list[SSAValue] = []
    seen: set[SSAValue] = set()
    for witness in op.operands:
        owner = witness.owner
        if not isinstance(owner, CstrEqOp) or (seen and owner.operands and seen.isdisjoint(owner.operands)):
            return None
        shapes += owner.operands
        seen.update(owner.operands)
    return insert(CstrEqOp(*shapes), rewriter) if shapes else None


def assuming_true(op: AssumingOp, rewriter: PatternRewriter) -> Values | None:
    """assuming true { ops } -> ops."""
    if truth(op.witness) is not True:
        return None
    block = op.body.block
    last = block.last_op
    if not isinstance(last, AssumingYieldOp):
        return None
    values = list(last.operands)
    rewriter.erase(last)
    rewriter.inline_block(block, InsertPoint.before(op))
    return values


def assuming_used(op: AssumingOp, rewriter: PatternRewriter) -> list[SSAValue | None] | None:
    """Remove unused results of assuming."""
    used = [result.first_use is not None for result in op.results]
    last = op.body.block.last_op
    if all(used) or not isinstance(last, AssumingYieldOp):
        return None
    passed = [value for value, is_used in zip(last.operands, used, strict=True) if is_used]
    types = [result.type for result in op.results if result.first_use is not None]
    rewriter.replace(last, AssumingYieldOp(*passed))
    made = AssumingOp(op.witness, result_types=types, regions=[op.detach_region(op.body)])
    made.attributes.update(op.attributes)
    made.location = op.location
    results = iter(insert(made, rewriter))
    return [next(results) if is_used else None for is_used in used]
