"""
Planner of kernels, their order and their memory: one walk over the ops of a function.

Views cost nothing. A fusion is one group; an op alone is a group of one; what no native kernel runs is a step of its own, a small
function of PTIR that the runtime hands to the NumPy target. Nothing falls back without a note that says why.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from mind_dialect.ptir import PtirOp

from .control import CONTROL, control
from .kernels import FALLBACK, ROWS
from .patterns import Choice, Operands, Rejections, choose
from .plan import NativePlan


@dataclass
class Planner(NativePlan):
    """A plan that takes the kernels of the table."""

    rejections: dict[PtirOp, Rejections] = field(default_factory=dict[PtirOp, Rejections])
    """Of each planned op: why other rows of the table do not take it."""

    def step(self, op: PtirOp) -> None:
        """Append an op: a branch or a loop, the kernels of the row that takes it at least cost, or NumPy's kernel."""
        if type(op) in CONTROL:
            if (reason := control(self, op)) is not None:
                self.foreign(op, reason)
            return
        chosen = choose(ROWS.get(type(op), ()), op, Operands(self.views, self.deferred), self.host)
        if isinstance(chosen, Choice):
            self.rejections[op] = chosen.rejections
            chosen.pattern.expand(self, op, chosen.match)
        else:
            self.rejections[op] = chosen
            self.foreign(op, chosen[-1][1].reason if chosen else FALLBACK[type(op)])
