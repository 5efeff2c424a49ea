"""
Loops while they are planned, and what is done once before one, because no iteration of it changes what that works on.

Operands of products are packed there. Each loop that is being planned has an `Ahead`, the outermost first in `planner.loops`.
What is appended to it runs before the first iteration, in memory that stays until the last one is over; it must not be able to
fail, since there may be no iteration. What works on nothing but constants, and on inputs that are the same in each call, is done
once for all calls: `planner.once`.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mind_dialect.ptir.types import UI64

from .memory import Access
from .views import Buffer, Use, View, whole

if TYPE_CHECKING:
    from .planner import Planner, Step

MOST_KEPT = 256 << 20
"""Bytes at most that a program has in memory that stays."""


@dataclass
class Ahead:
    """The steps before a loop. `since` is a number between those of the buffers before the loop and those of its own."""

    since: int
    steps: list[Step] = field(default_factory=list["Step"])
    access: list[Access] = field(default_factory=list[Access])
    packed: dict[Hashable, View] = field(default_factory=dict[Hashable, View])
    """Operands that were packed here, by what was packed and how."""
    iteration: View | None = None
    """Where the induction variable is, if something in the loop needs it."""

    @property
    def made(self) -> list[Buffer]:
        """The memory that stays while the loop runs."""
        iteration = [] if self.iteration is None or not isinstance(self.iteration.base, Buffer) else [self.iteration.base]
        return list(dict.fromkeys([*iteration, *(b for access in self.access for b in access.writes)]))

    def holds(self, buffer: Buffer) -> bool:
        """Whether all iterations find a buffer as it is."""
        return buffer.number < self.since

    def number(self, planner: Planner) -> View:
        """Where the induction variable is, counted from 0."""
        if self.iteration is None:
            self.iteration = whole(planner.buffer(Use.ARENA, UI64, 1, "iteration"), ())
        return self.iteration

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


@dataclass
class Once(Ahead):
    """The steps once for all calls."""

    since: int = -1
    fixed: set[Buffer] = field(default_factory=set[Buffer])
    """The inputs that are the same in each."""

    def holds(self, buffer: Buffer) -> bool:
        return buffer.use is Use.CONSTANT or buffer in self.fixed

    def mark(self) -> tuple[int, int, int]:
        """How much there is."""
        return len(self.steps), len(self.access), len(self.packed)

    def back_to(self, mark: tuple[int, int, int]) -> None:
        """Forget what was appended since a mark."""
        steps, access, packed = mark
        del self.steps[steps:], self.access[access:]
        for key in list(self.packed)[packed:]:
            del self.packed[key]


def lasting(planner: Planner, views: Sequence[View], size: int) -> Ahead | None:
    """
    All calls, or the outermost loop whose iterations all find views as they are, if there is one and `size` more bytes may stay.
    """
    if planner.kept + size > MOST_KEPT:
        return None
    bases = [v.base for view in views for v in (view, *(k.index for k in view.lookups)) if isinstance(v.base, Buffer)]
    return next((loop for loop in (planner.once, *planner.loops) if all(map(loop.holds, bases))), None)


def beforehand(planner: Planner, views: Sequence[View], size: int) -> AbstractContextManager[None]:
    """Let what is planned, which works on views and makes `size` bytes, be done as seldom as may be."""
    loop = lasting(planner, views, size)
    return nullcontext() if loop is None else loop.appending(planner)
