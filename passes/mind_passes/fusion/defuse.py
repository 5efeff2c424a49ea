"""The inverse of fusion: the ops of each `ptir.fusion` in its place. For targets that have no use for fusions, and for tests."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import FusionOp, YieldOp

from ..ptir.building import rewire


def defuse(root: Operation, only: Callable[[FusionOp], bool] | None = None) -> bool:
    """Replace the fusions inside `root`, or `only` some, by their bodies, in linear time; whether there were any."""
    fusions = [op for op in walk(root) if isinstance(op, FusionOp) and (only is None or only(op))]
    became: dict[SSAValue, SSAValue] = {}
    for op in fusions:
        block, body = op.parent, op.body.block
        assert isinstance(block, Block)
        became.update(zip(body.args, (became.get(v, v) for v in op.operands), strict=True))
        for inner in tuple(body.ops):
            rewire(inner, became)
            if isinstance(inner, YieldOp):
                became.update(zip(op.results, inner.operands, strict=True))
            else:
                body.detach_op(inner)
                block.insert_op_before(inner, op)
    if fusions:
        for op in walk(root):
            rewire(op, became)
    for op in fusions:
        for old in op.results:
            became[old].name_hint = became[old].name_hint or old.name_hint
        op.detach()
        op.erase()
    return bool(fusions)


@dataclass(frozen=True)
class PtirDefusePass(ModulePass):
    """Replace each `ptir.fusion` by its ops."""

    name = "mind-ptir-defuse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        defuse(op)
