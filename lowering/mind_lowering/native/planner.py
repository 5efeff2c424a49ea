"""
Planner of kernels, their order and their memory: one walk over the ops of a function.

Views cost nothing. A fusion is one group; an op alone is a group of one; what no native kernel runs is a step of its own, a small
function of PTIR that the runtime hands to the NumPy target. Nothing falls back without a note that says why.
"""

from __future__ import annotations

from dataclasses import dataclass

from mind_dialect.ptir import PtirOp

from .kernels import FALLBACK, KERNELS
from .plan import NativePlan
from .products.defer import defer


@dataclass
class Planner(NativePlan):
    """A plan that knows which kernel runs which op."""

    def step(self, op: PtirOp) -> None:
        """Append what an op is."""
        if defer(self, op):
            return
        row = KERNELS.get(type(op))
        reason = FALLBACK[type(op)] if row is None else row(self, op)
        if reason is not None:
            self.foreign(op, reason)
