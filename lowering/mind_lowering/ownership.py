"""
Aliases of values while they are lowered, and the memory that may be written to: the decision to update in place.

Values of one `Memory` may overlap. Where control flow leaves open which of several memories a value has, they become one. What
a loop carries is written to only on demand: the loop then sees to it that nothing else has that memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum


class Grade(IntEnum):
    """The layout of a value in its memory."""

    REPEATED = 0
    """Elements may share a place."""
    PLACES = 1
    """Each element has its own place."""
    OWN = 2
    """The memory is the value, in whatever order array functions chose for strided operands."""
    WHOLE = 3
    """The memory is the value, in row-major order."""


@dataclass(eq=False)
class OwnedCarry:
    """A value that a loop carries; `written` once something in the loop writes to its memory."""

    written: bool = False


class Memory:
    """Memory that values share. `live` counts those of them that are still used."""

    def __init__(self, *, writable: bool, carries: Sequence[OwnedCarry] = ()):
        self._parent: Memory | None = None
        self._writable = writable
        self._carries = dict.fromkeys(carries)
        self._live = 0

    def root(self) -> Memory:
        """The memory that this one has become part of."""
        found = self
        while found._parent is not None:
            if found._parent._parent is not None:
                found._parent = found._parent._parent
            found = found._parent
        return found

    @property
    def writable(self) -> bool:
        """Return whether the function may write to it: neither an input's nor a constant's."""
        return self.root()._writable

    @property
    def carries(self) -> tuple[OwnedCarry, ...]:
        """The values of enclosing loops whose memory this may be."""
        return tuple(self.root()._carries)

    @property
    def live(self) -> int:
        """Return the number of values with this memory that are still used."""
        return self.root()._live

    def count(self, change: int) -> None:
        """A value that is used begins or ceases to live here."""
        self.root()._live += change

    def join(self, other: Memory) -> None:
        """From now on the two are one."""
        mine, others = self.root(), other.root()
        if mine is not others:
            others._parent = mine
            mine._writable &= others._writable
            mine._carries |= others._carries
            mine._live += others._live

    def freeze(self) -> None:
        """Nothing may write to it any more."""
        self.root()._writable = False

    def write(self) -> None:
        """Take note that something writes to it."""
        for carry in self.carries:
            carry.written = True


@dataclass(frozen=True)
class Held:
    """The memory of a value, and its layout there."""

    memory: Memory
    grade: Grade

    @property
    def ready(self) -> bool:
        """Return whether an update may be made in place, given that nothing else lives here."""
        return self.memory.writable and self.grade >= Grade.PLACES


def fresh(grade: Grade = Grade.WHOLE) -> Held:
    """Memory that the function has just allocated."""
    return Held(Memory(writable=True), grade)


def fixed(grade: Grade = Grade.PLACES) -> Held:
    """Memory of an input or a constant."""
    return Held(Memory(writable=False), grade)


def shared(memory: Memory, held: Sequence[Held]) -> bool:
    """Return whether more than one of `held` has `memory`."""
    return sum(h.memory.root() is memory.root() for h in held) > 1
