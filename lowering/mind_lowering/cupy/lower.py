"""Functions lowered for CuPy: `xp` calls as for NumPy, and every fusion that is a kernel kept as its launch."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.dialects.func import FuncOp

from mind_dialect.ptir import FusionOp, PtirOp
from mind_dialect.verify import verify

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
        if not isinstance(op, FusionOp) or (schedule := schedule_of(op.body.block)) is None:
            return super().step(step)
        made = op.clone(dict(zip(op.operands, self.of(op.operands), strict=True)))
        if schedule.into is not None:
            self.overwrites[made] = schedule.into
        self.stand(op.results, self.emit(made).results)
        return None


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
