"""
Planner of kernels, their order and their memory: one walk over the ops of a function.

Views cost nothing. A fusion is one group; an op alone is a group of one; what no native kernel runs is a step of its own, a small
function of PTIR that the runtime hands to the NumPy target. Nothing falls back without a note that says why.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.locations import fused_location
from mind_dialect.ptir import FusionOp, PtirOp

from ..launch.kernel_patterns import Choice
from .control import CONTROL, control
from .kernels import FALLBACK, ROWS
from .limits import limited
from .patterns import Operands, choose
from .plan import NativePlan
from .steps import Limited, NativeStep


@dataclass
class Planner(NativePlan):
    """A plan that takes the kernels of the table, and limits them by the table of limits."""

    def step(self, op: PtirOp) -> None:
        """Append an op: a branch or a loop, the kernels of the row that takes it at least cost, or NumPy's kernel."""
        outer, self.origin = self.origin, fused_location(part.location for part in _parts(op))
        try:
            self._step(op)
        finally:
            self.origin = outer

    def limited(self, step: NativeStep) -> Limited | None:
        found = limited(step, self.demanded, self.host)
        if isinstance(found, str):
            self.unlimited.append(f"{step.name} over {step.contents()}: {found}")
            return None
        return found

    def _step(self, op: PtirOp) -> None:
        if type(op) in CONTROL:
            if (reason := control(self, op)) is not None:
                self.foreign(op, reason)
            return
        chosen = choose(ROWS.get(type(op), ()), op, Operands(self.views, self.deferred), self.host)
        self.choices.append((op, chosen))
        if isinstance(chosen, Choice):
            chosen.pattern.expand(self, op, chosen.match)
        else:
            self.foreign(op, chosen[-1][1].reason if chosen else FALLBACK[type(op)])


def _parts(op: PtirOp) -> Iterable[Operation]:
    """Return the ops of a fusion; any other op is its only part."""
    return op.body.block.ops if isinstance(op, FusionOp) else (op,)
