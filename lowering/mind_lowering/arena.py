"""Memory that is planned before anything runs: offsets in one block for what is needed from one number to another."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from heapq import heappop, heappush

from mind_dialect.lazy_dataclass import dataclass


class Gaps:
    """
    The free bytes of a block of memory, by size and by place, neighbours joined.

    The tightest gap is taken first; the block grows at its end.
    """

    def __init__(self) -> None:
        self.size = 0
        self._by_size: list[tuple[int, int]] = []
        self._starts: dict[int, int] = {}
        self._ends: dict[int, int] = {}

    def take(self, size: int) -> int:
        """The offset of `size` bytes."""
        i = bisect_left(self._by_size, (size, -1))
        if i < len(self._by_size):
            gap, offset = self._by_size[i]
            self._drop(offset, gap)
            if gap > size:
                self._add(offset + size, gap - size)
            return offset
        offset = self.size
        if offset in self._ends:  # the last gap reaches to the end: only what is missing is added
            gap = self._ends[offset]
            offset -= gap
            self._drop(offset, gap)
        self.size = offset + size
        return offset

    def give(self, offset: int, size: int) -> None:
        """Take `size` bytes back."""
        if (before := self._ends.get(offset)) is not None:
            self._drop(offset - before, before)
            offset, size = offset - before, size + before
        if (after := self._starts.get(offset + size)) is not None:
            self._drop(offset + size, after)
            size += after
        self._add(offset, size)

    def _add(self, offset: int, size: int) -> None:
        insort(self._by_size, (size, offset))
        self._starts[offset] = self._ends[offset + size] = size

    def _drop(self, offset: int, size: int) -> None:
        del self._by_size[bisect_left(self._by_size, (size, offset))]
        del self._starts[offset], self._ends[offset + size]


@dataclass(eq=False)
class Slot:
    """So many bytes that are needed from one number to another, both included, and their offset."""

    size: int
    first: int
    last: int
    at: int = 0


PARTS = 256
"""Into so many parts of the time slots are sorted: a slot is compared with those of its parts, not with all."""


def place_by_size(slots: Sequence[Slot]) -> int:
    """Give each slot the lowest offset that is free for as long as it is in use, the largest first; the bytes of them all."""
    length = 1 + max((s.last for s in slots), default=0) // PARTS
    parts: list[list[Slot]] = [[] for _ in range(PARTS)]
    placed: list[Slot] = []
    for slot in sorted(slots, key=lambda s: (-s.size, s.first)):
        used = parts[slot.first // length : slot.last // length + 1]
        others = dict.fromkeys(s for part in used for s in part) if sum(map(len, used)) < len(placed) else placed
        slot.at = 0
        for other in sorted((s for s in others if s.first <= slot.last and slot.first <= s.last), key=lambda s: (s.at, s.size)):
            if other.at - slot.at >= slot.size:
                break
            slot.at = max(slot.at, other.at + other.size)
        if slot.size:
            placed.append(slot)
            for part in used:
                part.append(slot)
    return max((s.at + s.size for s in placed), default=0)


def place_in_order(slots: Sequence[Slot]) -> int:
    """Give each slot the tightest gap when it is first used, and the gap back after it was last used; the bytes of them all."""
    arena = Gaps()
    used: list[tuple[int, int, int]] = []
    for slot in sorted(slots, key=lambda s: s.first):
        while used and used[0][0] < slot.first:
            _, at, size = heappop(used)
            arena.give(at, size)
        slot.at = arena.take(slot.size) if slot.size else 0
        if slot.size:
            heappush(used, (slot.last, slot.at, slot.size))
    return arena.size
