"""
What is done once before a loop, because no turn of it changes what that works on: operands of products are packed there.

Each loop that is being planned has an `Ahead`, the outermost first in `planner.loops`. What is appended to it runs before the
first turn, in memory that stays until the last one is over; it must not be able to fail, since there may be no turn.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .memory import Access
from .views import Buffer, View

if TYPE_CHECKING:
    from .planner import Planner, Step

MOST_KEPT = 256 << 20
"""Bytes at most that a program has in such memory."""


@dataclass
class Ahead:
    """The steps before a loop. `since` is a number between those of the buffers before the loop and those of its own."""

    since: int
    steps: list[Step] = field(default_factory=list["Step"])
    access: list[Access] = field(default_factory=list[Access])
    packed: dict[Hashable, View] = field(default_factory=dict[Hashable, View])
    """Operands that were packed here, by what was packed and how."""

    @property
    def made(self) -> list[Buffer]:
        """The memory that stays while the loop runs."""
        return list(dict.fromkeys(b for access in self.access for b in access.writes))

    @contextmanager
    def appending(self, planner: Planner) -> Generator[None]:
        """Let what is planned be appended here."""
        outer, first = (planner.steps, planner.access), len(self.access)
        planner.steps, planner.access = self.steps, self.access
        try:
            yield
        finally:
            planner.steps, planner.access = outer
            planner.kept += sum(b.bytes for b in dict.fromkeys(b for a in self.access[first:] for b in a.writes))


def lasting(planner: Planner, views: Sequence[View], size: int) -> Ahead | None:
    """The outermost loop whose turns all find views as they are, if there is one and `size` more bytes may stay."""
    if not planner.loops or planner.kept + size > MOST_KEPT:
        return None
    numbers = [v.base.number for view in views for v in (view, *(k.index for k in view.lookups)) if isinstance(v.base, Buffer)]
    return next((loop for loop in planner.loops if all(n < loop.since for n in numbers)), None)
