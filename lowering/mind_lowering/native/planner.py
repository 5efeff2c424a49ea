"""
Planner of kernels, their order and their memory: one walk over the ops of a function.

Views cost nothing. A fusion is one group; an op alone is a group of one; what no native kernel runs is a step of its own, a small
function of PTIR that the runtime hands to the NumPy target. Nothing falls back without a note that says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Operation

from mind_dialect.locations import fused_location
from mind_dialect.ptir import FusionOp, PtirOp

from ..launch.kernel_patterns import Choice, Rejections
from .control import CONTROL, control
from .kernels import FALLBACK, ROWS
from .outlining import shown
from .patterns import KernelPattern, Operands, choose
from .plan import NativePlan

Chosen: TypeAlias = Choice[KernelPattern] | Rejections


@dataclass
class Planner(NativePlan):
    """A plan that takes the kernels of the table."""

    choices: list[tuple[PtirOp, Chosen]] = field(default_factory=list[tuple[PtirOp, Chosen]])
    """Of each planned op: the row of the table that takes it, and why others do not."""

    def step(self, op: PtirOp) -> None:
        """Append an op: a branch or a loop, the kernels of the row that takes it at least cost, or NumPy's kernel."""
        outer, self.origin = self.origin, fused_location(part.location for part in _parts(op))
        try:
            self._step(op)
        finally:
            self.origin = outer

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

    def rejected(self) -> Iterator[str]:
        """Yield a line for each planned op that some rows do not take: the row that takes it, and the reasons of the others."""
        for op, chosen in self.choices:
            taken, rejections = (chosen.pattern.name, chosen.rejections) if isinstance(chosen, Choice) else ("numpy", chosen)
            if rejections:
                reasons = "; ".join(f"not {name}: {rejection.reason}" for name, rejection in rejections)
                yield f"{shown(op)}: {taken}; {reasons}"
        yield from (f"without a limit: {line}" for line in self.unlimited)


def _parts(op: PtirOp) -> Iterable[Operation]:
    """Return the ops of a fusion; any other op is its only part."""
    return op.body.block.ops if isinstance(op, FusionOp) else (op,)
