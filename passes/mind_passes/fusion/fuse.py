"""
Fusion: each group of `grouping.py` that is more than one op becomes a `ptir.fusion`, in functions and in regions.

Ops may change places: each group stands where its last op stood, what it needs before it. What is left keeps its order as far
as that allows, so the result is one for each program. Fusions that are there stay as they are, and random ops keep their order.
"""

from __future__ import annotations

from collections.abc import Collection

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import FUSIBLE, TARGETED, BroadcastToOp, DotGeneralOp, FusionOp

from ..ptir.dead_ops import holders, replace_values
from ..ptir.patterns.matching import fusion
from .grouping import Group, Grouping


def fuse(root: Operation, targeted: Collection[type[Operation]] = ()) -> bool:
    """
    Form fusions of the verified ops inside `root`; whether there were any to form.

    `targeted` are the elementwise ops of `TARGETED` that kernels of the target compute.
    """
    became: dict[SSAValue, SSAValue] = {}
    kept = holders(root)
    parts = {**FUSIBLE, **{cls: TARGETED[cls] for cls in targeted}}
    for block in _blocks(root):
        _fuse_block(Grouping.of(block, kept, parts), became)
    return replace_values(root, became)


def _blocks(root: Operation) -> list[Block]:
    """The blocks inside `root`, but those of fusions."""
    ops = [op for op in walk(root) if op.regions and not isinstance(op, FusionOp)]
    return [block for op in ops for region in op.regions for block in region.blocks]


def _fuse_block(grouping: Grouping, became: dict[SSAValue, SSAValue]) -> None:
    """Put fusions in the place of the block's groups; `became` gets what they give instead of the old values."""
    made: dict[Group, FusionOp] = {}
    for group in grouping.groups():
        if not _is_worth_it(group):
            continue
        members: set[Operation] = set(group.ops)
        results = [v for op in group.ops for v in op.results if any(use.operation not in members for use in v.uses)]
        if results:
            made[group] = fusion(group.ops, results)
            became.update(zip(results, made[group].results, strict=True))
    if made:
        _arrange(grouping, made)


def _is_worth_it(group: Group) -> bool:
    """Two ops, or one and a broadcast that it reads."""
    if not group.is_open:
        return False
    op = group.ops[0]
    reads = not isinstance(op, DotGeneralOp) and any(isinstance(v.owner, BroadcastToOp) for v in op.operands)
    return len(group.ops) > 1 or reads


def _arrange(grouping: Grouping, made: dict[Group, FusionOp]) -> None:
    """Order the block: each op, and each fusion where its last op stood, after what it needs."""
    block, placed = grouping.block, set[Operation]()
    order: list[Operation] = []
    for op in grouping.place:
        group = grouping.group_of(op)
        if group in made and op is not group.ops[-1]:
            continue
        stack: list[tuple[Operation, bool]] = [(op, False)]
        while stack:
            op, ready = stack.pop()
            group = grouping.group_of(op)
            together = group.ops if group in made else [op]
            if op in placed:
                continue
            if ready:
                placed.update(together)
                order += together
                order += [made[group]] if group in made else []
                continue
            stack.append((op, True))
            needs = [n for member in together for n in grouping.needs[member] if n not in placed]
            stack += [(n, False) for n in reversed(needs) if grouping.group_of(n) is not group or group is None]
    for op in grouping.place:
        block.detach_op(op)
    block.add_ops(order)


@dataclass(frozen=True)
class PtirFusePass(ModulePass):
    """
    Form fusions: elementwise ops of one shape, their broadcasts, one product before, one reduction after.

    The groups are maximal, up to 512 ops. Fusing changes no result; `ptir-defuse` undoes it.
    """

    name = "mind-ptir-fuse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        fuse(op)
