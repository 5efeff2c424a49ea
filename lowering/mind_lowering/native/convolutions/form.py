"""
Convolutions in the form that is planned: found in products of patches, and taken into the fusion that reads what they give.

So patches are nowhere in memory, and what follows place by place is done on a convolution's results in registers.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from mind_dialect.dominance import walk
from mind_dialect.ptir import FUSIBLE, ConvolutionOp, FusionOp, PtirOp, ReshapeOp, YieldOp
from mind_passes.fusion.edit import FusionEdit
from mind_passes.ptir.building import substitute
from mind_passes.ptir.patterns.matching import fusion
from mind_passes.ptir.recognize import recognize

from ...ptir_optimize import simplify


def find_convolutions(module: ModuleOp) -> None:
    """Make products of patches convolutions; the ops of the module are canonical."""
    if recognize(module, ("convolution",)):
        simplify(module)


def fuse_convolutions(module: ModuleOp) -> None:
    """Take each convolution into the fusion, or to the elementwise op, that alone reads it, perhaps under another shape."""
    for op in [op for op in walk(module) if isinstance(op, ConvolutionOp) and not isinstance(op.parent_op(), FusionOp)]:
        members: list[PtirOp] = [op]
        user = _only_user(op)
        if isinstance(user, ReshapeOp):
            members.append(user)
            user = _only_user(user)
        if isinstance(user, FusionOp) and user.pattern is None and not _sums(user):
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
    """The op that uses a result, once, and stands in the same block, if nothing else uses it."""
    uses = list(op.results[0].uses)
    return uses[0].operation if len(uses) == 1 and uses[0].operation.parent is op.parent else None


def _sums(op: FusionOp) -> bool:
    """Whether a fusion does more than go place by place."""
    parts = ("elementwise", "view")
    return any(FUSIBLE.get(type(inner)) not in parts for inner in op.body.block.ops if not isinstance(inner, YieldOp))


def _with(op: FusionOp, members: Sequence[PtirOp]) -> FusionOp:
    """A fusion that does what some ops, one after the other, and then a fusion of their last result do."""
    edit, last = FusionEdit(), members[-1].results[0]
    for value in (*members[0].operands, *(v for v in op.operands if v is not last)):
        edit.read(value)
    edit.append(*members)
    edit.inline(op)
    return edit.fusion(op.results, like=op)
