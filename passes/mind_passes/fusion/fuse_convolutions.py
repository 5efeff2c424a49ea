"""
Convolutions are fused with the elementwise ops that read their results, which then run on results in registers.

A convolution goes into the fusion, or to the elementwise op, that alone reads it, through a reshape too.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import FUSIBLE, ConvolutionOp, FusionOp, PtirOp, ReshapeOp, YieldOp

from ..ptir.building import substitute
from ..ptir.patterns.matching import fusion
from .edit import FusionEdit


def fuse_convolutions(module: Operation) -> None:
    """Fuse each convolution with the fusion or the elementwise op that alone reads it, or a reshape of it."""
    for op in [op for op in walk(module) if isinstance(op, ConvolutionOp) and not isinstance(op.parent_op(), FusionOp)]:
        members: list[PtirOp] = [op]
        user = _only_user(op)
        if isinstance(user, ReshapeOp):
            members.append(user)
            user = _only_user(user)
        if isinstance(user, FusionOp) and user.pattern is None and _is_pointwise(user):
            made = _with(user, members)
        elif user is not None and FUSIBLE.get(type(user)) == "elementwise":
            made = fusion([*members, user], user.results)
        else:
            continue
        substitute(user, made)
        for old in reversed(members):
            old.detach()
            old.erase()


def _only_user(op: PtirOp) -> Operation | None:
    """Return the op of the same block that uses a result once, if nothing else uses it."""
    uses = list(op.results[0].uses)
    return uses[0].operation if len(uses) == 1 and uses[0].operation.parent is op.parent else None


def _is_pointwise(op: FusionOp) -> bool:
    """Return whether a fusion holds elementwise ops and views only."""
    return all(
        FUSIBLE.get(type(inner)) in ("elementwise", "view") for inner in op.body.block.ops if not isinstance(inner, YieldOp)
    )


def _with(op: FusionOp, members: Sequence[PtirOp]) -> FusionOp:
    """Return a fusion of ops, one after the other, and of a fusion that reads the result of the last."""
    edit, last = FusionEdit(), members[-1].results[0]
    for value in (*members[0].operands, *(v for v in op.operands if v is not last)):
        edit.read(value)
    edit.append(*members)
    edit.inline(op)
    return edit.fusion(op.results, like=op)


@dataclass(frozen=True)
class PtirFuseConvolutionsPass(ModulePass):
    """Fuse each convolution with the elementwise ops that alone read its result."""

    name = "mind-ptir-fuse-convolutions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        fuse_convolutions(op)
