"""Functions lowered for CuPy: `xp` calls as for NumPy, and every fusion that is a kernel kept as its launch."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from mind_dialect.ptir import FusionOp, PtirOp
from mind_dialect.verify import verify
from mind_passes.ptir.patterns.product_epilogue import ProductEpilogue, epilogue_of

from ..core_to_ptir import is_core
from ..numpy import is_lowered
from ..ptir_idioms import IdiomStep
from ..ptir_to_xp import Lowered, lowered_function
from ..xp_lowering import Lowering
from .kernels.patterns import schedule_of
from .options import DEFAULT, CupyOptions
from .prepare import prepared


class _CupyLowering(Lowering):
    """As for NumPy, but that a fusion which is a kernel stays: it is launched, and makes new arrays."""

    def step(self, step: IdiomStep) -> None:
        op = step.op
        if isinstance(op, FusionOp) and (found := epilogue_of(op)) is not None:
            return self._product(op, found)
        if not isinstance(op, FusionOp) or (schedule := schedule_of(op.body.block)) is None:
            return super().step(step)
        made = op.clone(dict(zip(op.operands, self.of(op.operands), strict=True)))
        if schedule.into is not None:
            self.overwrites[made] = schedule.into
        self.stand(op.results, self.emit(made).results)
        return None

    def _product(self, op: FusionOp, found: ProductEpilogue) -> None:
        """A product that the library computes with its epilogue."""
        outer: dict[SSAValue, SSAValue] = dict(zip(op.body.block.args, self.of(op.operands), strict=True))
        values = found.product.values()
        arguments = {"form": found.form, "contract_lhs": values["contract_lhs"], "contract_rhs": values["contract_rhs"]}
        operands = [found.product.lhs, found.product.rhs, *([] if found.extra is None else [found.extra])]
        self.stand(op.results, self.call("k.product_epilogue", [outer[v] for v in operands], op.result_types, arguments))


def lowered_for_cupy(func: FuncOp, donate: Collection[int] = (), options: CupyOptions = DEFAULT) -> Lowered:
    """
    A function, verified, lowered for CuPy; what is lowered already stays as it is. Errors are those of `prepared`.

    The origins are ops of the prepared function, with the locations of those they come from.
    """
    verify(func)
    if is_lowered(func):
        return Lowered(func, list(func.body.block.walk()))
    return lowered_function(prepared(func, options), donate, kind=_CupyLowering)


def is_ours(func: FuncOp) -> bool:
    """Return whether a function is Core IR or PTIR, to be lowered."""
    return not is_lowered(func) and (is_core(func) or any(isinstance(op, PtirOp) for op in func.walk()))
