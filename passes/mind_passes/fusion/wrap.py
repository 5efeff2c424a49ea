"""Single ops become fusions of one op, so that they can be merged with others, and lowered like them."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import FUSIBLE, FusionOp, PtirOp

from ..ptir.dead_ops import replace_values
from ..ptir.failing import MARK
from ..ptir.patterns.matching import fusion
from .edit import FusionEdit
from .kernels import IsKernel, always


def is_pointwise_or_reduction(op: Operation) -> bool:
    """Return whether an op computes elements, one by one or by a reduction."""
    return FUSIBLE.get(type(op)) in ("elementwise", "reduction")


def wrap_ops(
    root: Operation, is_wanted: Callable[[PtirOp], bool] = is_pointwise_or_reduction, is_kernel: IsKernel = always
) -> list[FusionOp]:
    """
    Replace wanted ops of one result outside of fusions by fusions, with the views that they read if that is a kernel.

    Return the fusions.
    """
    became: dict[SSAValue, SSAValue] = {}
    wrapped: list[FusionOp] = []
    for op in list(walk(root)):
        block = op.parent
        if not isinstance(op, PtirOp) or isinstance(op.parent_op(), FusionOp) or not is_wanted(op):
            continue
        assert isinstance(block, Block)
        for make in (_with_views, _alone):
            if is_kernel(made := make(op)):
                block.insert_op_after(made, op)
                became[op.results[0]] = made.results[0]
                wrapped.append(made)
                op.attributes.pop(MARK, None)  # its copy is marked, so that the fusion stays
                break
            made.erase()  # drops its uses
    replace_values(root, became)
    return wrapped


def _with_views(op: Operation) -> FusionOp:
    return fusion([op], op.results)


def _alone(op: Operation) -> FusionOp:
    edit = FusionEdit()
    edit.append(op)
    return edit.fusion(op.results, location=op.location)


@dataclass(frozen=True)
class PtirWrapOpsPass(ModulePass):
    """Wrap each elementwise op and reduction outside of fusions in a fusion of its own."""

    name = "mind-ptir-wrap-ops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        wrap_ops(op)
