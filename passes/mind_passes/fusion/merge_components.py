"""
Elementwise ops that give the components of vectors, such as the coordinates of points, are merged into one fusion.

A concat of components along the last axis has them a few elements apart in memory. One kernel of all of them reads what they have
in common once, and writes whole lines of the result; kernels of their own would each touch all lines. Components may be scalars,
each of which a reshape gives an axis.
"""

from __future__ import annotations

from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue, Use
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import FUSIBLE, ConcatOp, FusionOp, ReduceOp, ReshapeOp
from mind_dialect.ptir.types import read_type

from ..ptir.rewrites.structural import MOST_COLUMNS
from .edit import FusionEdit
from .kernels import IsKernel, always
from .merge_rows import MOST_MERGED


def merge_components(root: Operation, is_kernel: IsKernel = always) -> None:
    """
    Merge the elementwise fusions and ops inside `root`, in place, whose results are components that one concat alone reads.

    `is_kernel` is whether a fusion is one kernel. Static shapes only.
    """
    for op in list(walk(root)):
        if isinstance(op, ConcatOp) and not isinstance(op.parent_op(), FusionOp) and _joins_components(op):
            owners = dict.fromkeys(_unshaped(v).owner for v in op.operands)
            members = [m for m in owners if isinstance(m, Operation) and _is_member(m, op)]
            if len(members) > 1:
                _merge(op, members, is_kernel)


def _joins_components(op: ConcatOp) -> bool:
    """Return whether each operand is one element of each row of the result, which is short."""
    types = [read_type(x.type) for x in op.operands]
    if not 2 <= len(types) <= MOST_COLUMNS or not all(type.is_static for type in types):
        return False
    axis: int = op.values()["axis"] % len(types[0].shape)
    return all(prod(type.shape[axis:]) == 1 for type in types)


def _unshaped(value: SSAValue) -> SSAValue:
    """Return the number that is an operand of a concat as an array of one element."""
    owner = value.owner
    return owner.x if isinstance(owner, ReshapeOp) and read_type(owner.x.type).shape == () else value


def _reader(use: Use) -> Operation:
    """Return the op that uses a value, or what alone uses its reshape."""
    op = use.operation
    return next(iter(op.result.uses)).operation if isinstance(op, ReshapeOp) and op.result.has_one_use() else op


def _is_member(owner: Operation, concat: ConcatOp) -> bool:
    """Return whether an op or a fusion is elementwise and gives components of a concat alone."""
    if owner.parent is not concat.parent:
        return False
    if isinstance(owner, FusionOp):
        kinds = {type(inner) for inner in owner.body.block.ops}
        if owner.pattern is not None or ReduceOp in kinds:
            return False
    elif FUSIBLE.get(type(owner)) != "elementwise":
        return False
    return all(_reader(use) is concat for value in owner.results for use in value.uses)


def _merge(concat: ConcatOp, members: list[Operation], is_kernel: IsKernel) -> None:
    """Put one fusion before a concat for the members, in their order there, if it is a kernel."""
    edit = FusionEdit()
    for member in members:
        if isinstance(member, FusionOp):
            edit.inline(member)
        else:
            edit.append(member)
    count = sum(1 for _ in edit.body.ops)
    results: list[SSAValue] = [value for member in members for value in member.results if value.first_use]
    merged = edit.fusion(results, location=concat.location)
    if count > MOST_MERGED or not is_kernel(merged):
        merged.erase()  # drops its uses
        return
    block = concat.parent
    assert block is not None, "a concat that is walked over is in a block"
    block.insert_op_before(merged, concat)
    for value in concat.operands:
        if _unshaped(value) in results and isinstance(reshape := value.owner, Operation) and reshape not in members:
            reshape.detach()  # it was before the fusion
            block.insert_op_before(reshape, concat)
    for old, new in zip(results, merged.results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    for member in members:
        block.erase_op(member)


@dataclass(frozen=True)
class PtirMergeComponentsPass(ModulePass):
    """Merge elementwise ops and fusions whose results are components that a concat puts together."""

    name = "mind-ptir-merge-components"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        merge_components(op)
