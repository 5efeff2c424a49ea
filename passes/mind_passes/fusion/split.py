"""Fusions of products are split: reductions after a product belong to rows, not to tiles, and a library may multiply better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import BroadcastToOp, ConstantOp, DotGeneralOp, FusionOp, ReduceOp, ReshapeOp

from ..ptir.dead_ops import replace_values
from ..ptir.patterns.matching import fusion
from .defuse import defuse
from .kernels import IsKernel, always

Parts = tuple[Sequence[Operation], Sequence[Operation]]
"""The ops of a fusion that are fused again, and those that move behind them."""


def split_reductions(root: Operation) -> None:
    """Split reductions off the fusions of products."""
    parts: dict[FusionOp, Parts] = {}
    for op, inner in _of_products(root):
        sums = [o for o in inner if isinstance(o, ReduceOp)]
        if sums and op.pattern is None:
            rest = [o for o in inner if not isinstance(o, ReduceOp)]
            is_one = len(rest) > 1 and not any(v.owner in sums for o in rest for v in o.operands)
            parts[op] = (rest, sums) if is_one else ((), ())
    _split(root, parts, always)


def split_products(root: Operation, is_kernel: IsKernel = always) -> None:
    """Split products, and the ops that they need, off the fusions that are no kernels; the rest is fused where it is a kernel."""
    parts: dict[FusionOp, Parts] = {}
    for op, inner in _of_products(root):
        if is_kernel(op):
            continue
        early: set[SSAValue] = set()
        for o in reversed(inner):
            if isinstance(o, DotGeneralOp) or any(result in early for result in o.results):
                early.update(o.operands, o.results)
        late = [o for o in inner if o.results[0] not in early]
        computes = not all(isinstance(o, BroadcastToOp | ReshapeOp | ConstantOp) for o in late)
        parts[op] = (late if computes else (), ())
    _split(root, parts, is_kernel)


def _of_products(root: Operation) -> list[tuple[FusionOp, list[Operation]]]:
    """Return the fusions of products, and the ops of their bodies."""
    bodies = {op: list(op.body.block.ops)[:-1] for op in walk(root) if isinstance(op, FusionOp)}
    return [(op, inner) for op, inner in bodies.items() if any(isinstance(o, DotGeneralOp) for o in inner)]


def _split(root: Operation, parts: Mapping[FusionOp, Parts], is_kernel: IsKernel) -> None:
    """Replace fusions by their ops, some of them fused again."""
    defuse(root, only=parts.__contains__)
    became: dict[SSAValue, SSAValue] = {}
    for ops, behind in parts.values():
        members = set(ops)
        results = [v for o in ops for v in o.results if any(use.operation not in members for use in v.uses)]
        if not results:
            continue
        made, block = fusion(ops, results), ops[-1].parent
        if not is_kernel(made):
            made.erase()  # drops its uses
            continue
        assert isinstance(block, Block)
        block.insert_op_after(made, ops[-1])
        for op in reversed(behind):
            block.detach_op(op)
            block.insert_op_after(op, made)
        became.update(zip(results, made.results, strict=True))
    replace_values(root, became)


@dataclass(frozen=True)
class PtirSplitReductionsPass(ModulePass):
    """Split reductions off the fusions of products."""

    name = "mind-ptir-split-reductions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        split_reductions(op)


@dataclass(frozen=True)
class PtirSplitProductsPass(ModulePass):
    """
    Split products, and the ops that they need, off their fusions; the rest stays fused.
    """

    name = "mind-ptir-split-products"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        split_products(op, lambda fusion: not any(isinstance(o, DotGeneralOp) for o in fusion.body.block.ops))
