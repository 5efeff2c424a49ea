"""The memory that values of a lowered function share, how they lie in it, and whether it may be written to."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import field
from enum import IntEnum

from mind_dialect.lazy_dataclass import dataclass


class MemoryLayout(IntEnum):
    """The order in which the elements of a value lie in its memory."""

    REPEATED = 0
    """Elements may share an address."""
    DISTINCT = 1
    """Each element has its own address."""
    DENSE = 2
    """The memory is the value, in whatever order array functions chose for strided operands."""
    ROW_MAJOR = 3
    """The memory is the value, in row-major order."""


@dataclass(eq=False)
class LoopCarry:
    """A loop-carried value; `written` once something in the loop writes to its memory."""

    written: bool = False


@dataclass(eq=False)
class Memory:
    """Memory that values may share; where control flow leaves open which of several a value has, they become one."""

    writable: bool = True
    """True if the function may write to it: neither an input's nor a constant's."""
    carries: dict[LoopCarry, None] = field(default_factory=dict[LoopCarry, None])
    """The values of enclosing loops whose memory this may be."""
    uses: list[int] = field(default_factory=list[int])
    """The numbers of the ops that use a value in it, in order."""
    _became: Memory | None = None

    def root(self) -> Memory:
        """Return the memory that this one has become part of."""
        found = self
        while found._became is not None:
            if found._became._became is not None:
                found._became = found._became._became
            found = found._became
        return found

    def join(self, other: Memory) -> None:
        """From now on the two are one."""
        mine, others = self.root(), other.root()
        if mine is not others:
            others._became = mine
            mine.writable &= others.writable
            mine.carries |= others.carries
            mine.use(others.uses)

    def use(self, numbers: Sequence[int]) -> None:
        """Add uses."""
        into = self.root()
        if len(numbers) > len(into.uses):
            into.uses, numbers = [*numbers], into.uses
        for number in numbers:
            insort(into.uses, number)

    def write(self) -> None:
        """Note that something writes to it."""
        for carry in self.root().carries:
            carry.written = True


@dataclass(frozen=True)
class MemoryView:
    """The memory of a value, and its layout there."""

    home: Memory
    layout: MemoryLayout

    @property
    def memory(self) -> Memory:
        """The memory that its own has become part of."""
        return self.home.root()

    @property
    def is_writable(self) -> bool:
        """Return whether an update may be made in place, given that nothing else needs the memory."""
        return self.memory.writable and self.layout >= MemoryLayout.DISTINCT


def fresh(layout: MemoryLayout = MemoryLayout.ROW_MAJOR) -> MemoryView:
    """Return memory that the function allocates."""
    return MemoryView(Memory(), layout)


def fixed(layout: MemoryLayout = MemoryLayout.DISTINCT) -> MemoryView:
    """Return memory of an input or a constant."""
    return MemoryView(Memory(writable=False), layout)


def is_shared(memory: Memory, views: Sequence[MemoryView]) -> bool:
    """Return whether more than one of the views is of `memory`."""
    return sum(view.memory is memory for view in views) > 1
