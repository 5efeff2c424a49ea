"""A fusion as steps: one kernel of a known form, else views, kernels of their own, and groups."""

from __future__ import annotations

from xdsl.ir import Operation

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp

from .attention import add_attention
from .convolutions.fusion import add_fused_convolution
from .elementwise import EMITTERS
from .grouping import why_not
from .plan import NativePlan
from .products.fusion import add_fused_product
from .rows.step import add_rows


def add_fusion(plan: NativePlan, op: ptir.FusionOp) -> str | None:
    """
    The body of a fusion: what is a view is one, a product has what follows as its epilogue, the rest is one group.

    A body that was not made by fusing may need several groups: one ends where its results are read in another shape.
    """
    block = op.body.block
    ending = block.last_op
    assert ending is not None, "verified"
    members = [inner for inner in block.ops if _is_member(inner)]
    if reason := next((r for inner in members if isinstance(inner, PtirOp) and (r := why_not(inner, plan.host))), None):
        return reason
    for argument, value in zip(block.args, op.operands, strict=True):
        if value not in plan.deferred:
            plan.views[argument] = plan.views[value]
    if not any(add(plan, op) for add in (add_attention, add_fused_product, add_fused_convolution, add_rows)):
        _separate(plan, op)
    for value, yielded in zip(op.results, ending.operands, strict=True):
        plan.views[value] = plan.views[yielded]
    return None


def _separate(plan: NativePlan, op: ptir.FusionOp) -> None:
    """Append the body of a fusion as views, kernels of their own, and groups."""
    pending: dict[Operation, PtirOp] = {}
    for inner in op.body.block.ops:
        if not isinstance(inner, PtirOp) or isinstance(inner, ptir.YieldOp):
            continue
        if _must_wait(inner, pending, plan):
            _flush(plan, pending)
        if _is_member(inner):
            pending[inner] = inner
        else:
            plan.step(inner)
    _flush(plan, pending)


def _flush(plan: NativePlan, pending: dict[Operation, PtirOp]) -> None:
    """Append the pending ops as a group."""
    if pending:
        results = [r for op in pending.values() for r in op.results if any(use.operation not in pending for use in r.uses)]
        reason = plan.group(list(pending.values()), results)
        assert reason is None, "asked before"
    pending.clear()


def _is_member(op: Operation) -> bool:
    """Return whether an op of a fusion is computed in its group; the others are views, or kernels of their own."""
    return isinstance(op, ptir.ReduceOp) or type(op) in EMITTERS


def _must_wait(op: PtirOp, pending: dict[Operation, PtirOp], plan: NativePlan) -> bool:
    """Return whether an op cannot be in the pending group, and needs it, or ends it."""
    if not pending:
        return False
    if not _is_member(op):
        return any(v.owner in pending for v in op.operands)
    first = next(iter(pending.values()))
    if plan.group_shape(op) != plan.group_shape(first):
        return True
    if isinstance(op, ptir.ReduceOp):  # all that are pending are over the same axes
        other = next((p for p in pending.values() if isinstance(p, ptir.ReduceOp)), op)
        if other.values()["axes"] != op.values()["axes"]:
            return True
    return any(isinstance(v.owner, ptir.ReduceOp) and v.owner in pending for v in op.operands)
