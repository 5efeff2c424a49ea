"""The memory plan of a function of launches as a picture shows it: each temporary, where it lies, and for how long."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp

from ..memory_plan import Block, MemoryPlan
from .liveness import Liveness
from .memory_ops import Space


def arena_plan(func: FuncOp, what: str, size: int) -> MemoryPlan:
    """Return the blocks of an arena of `size` bytes, by the numbers of the ops of a function; `what` is the title."""
    live = Liveness(func)
    placed = [a for a in live.allocations if a.kind is Space.ARENA and a.over is None and a.ref.nbytes]
    blocks = [
        Block(a.res.name_hint or f"temporary {i}", a.word("at"), a.ref.nbytes, live.first[a], live.last[a])
        for i, a in enumerate(placed)
    ]
    return MemoryPlan(what, size, tuple(blocks))
