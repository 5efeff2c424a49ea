"""A fusion as steps: views, kernels of their own, and groups; and the body of a fusion as one kernel of a known form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import Operation

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp

from ..launch.kernel_patterns import Match
from ..launch.views import VIEWS
from .grouping import group_shape, is_lookup, is_member
from .patterns import Builder, Operands, moving
from .target_info import TargetInfo

Part = list[PtirOp]
"""Members of one group, or one op that is a view or has a kernel of its own."""


def match_parts(op: ptir.FusionOp, operands: Operands, host: TargetInfo) -> Match:
    """
    Match any fusion whose members can be computed: what is a view is one, the rest are groups.

    A body that was not made by fusing may need several groups: one ends where its results are read in another shape.
    """
    parts = _parts(op)
    cost = moving([*op.operands, *op.results])
    part_of = {id(member): i for i, part in enumerate(parts) for member in part}
    for i, part in enumerate(parts):  # what one part leaves for others in memory
        if len(parts) > 1 and is_member(part[0]):
            cost += 2 * moving([v for member in part for v in member.operands if part_of.get(id(v.owner), i) != i])
    return Match(cost, parts)


def is_one_group(op: ptir.FusionOp) -> bool:
    """Return whether a fusion is one group, views of its operands, constants and indices."""
    *others, last = _parts(op)
    return is_member(last[0]) and all(type(part[0]) in (*VIEWS, ptir.ConstantOp, ptir.IotaOp) for part in others)


def expand_parts(build: Builder, op: ptir.FusionOp, match: Match) -> None:
    """Append the parts of a fusion."""
    parts: list[Part] = match.schedule
    for part in parts:
        if is_member(part[0]):
            members: set[Operation] = {*part}
            build.group(part, [r for op in part for r in op.results if any(use.operation not in members for use in r.uses)])
        else:
            build.step(part[0])


def _parts(op: ptir.FusionOp) -> list[Part]:
    """Return the views, kernels and groups of the body of a fusion, in their order."""
    found: list[Part] = []
    pending: dict[Operation, PtirOp] = {}

    def flush() -> None:
        if pending:
            found.append(list(pending.values()))
        pending.clear()

    for inner in op.body.block.ops:
        if not isinstance(inner, PtirOp) or isinstance(inner, ptir.YieldOp):
            continue
        if _must_wait(inner, pending):
            flush()
        if is_member(inner):
            pending[inner] = inner
        else:
            found.append([inner])
    flush()
    return found


def _must_wait(op: PtirOp, pending: dict[Operation, PtirOp]) -> bool:
    """Return whether an op cannot be in the pending group, and needs it, or ends it."""
    if not pending:
        return False
    if not is_member(op):
        return any(v.owner in pending for v in op.operands)
    if is_lookup(op) and op.operands[0].owner in pending:  # which is read at other places than its own
        return True
    if isinstance(op, ptir.GatherWindowsOp) and op.indices.owner in pending:
        return True
    first = next(iter(pending.values()))
    if group_shape(op) != group_shape(first):
        return True
    if isinstance(op, ptir.ReduceOp):  # all that are pending are over the same axes
        other = next((p for p in pending.values() if isinstance(p, ptir.ReduceOp)), op)
        if other.values()["axes"] != op.values()["axes"]:
            return True
    return any(isinstance(v.owner, ptir.ReduceOp) and v.owner in pending for v in op.operands)


def in_body(expand: Callable[[Builder, Any, Match], None]) -> Callable[[Builder, Any, Match], None]:
    """Return an `expand` of the body of a fusion, whose arguments are where its operands are, and results what it yields."""

    def whole(build: Builder, op: ptir.FusionOp, match: Match) -> None:
        ending = op.body.block.last_op
        assert ending is not None, "verified"
        build.views.update(Operands(build.views, build.deferred).body(op.body.block, op.operands))
        expand(build, op, match)
        build.views.update({value: build.views[v] for value, v in zip(op.results, ending.operands, strict=True)})

    return whole
