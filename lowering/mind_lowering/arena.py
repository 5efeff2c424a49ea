"""
Memory that is planned before anything runs: offsets in one block, given back and handed out again.

Who plans, and for how long a value lives, is the business of each target.
"""

from __future__ import annotations

from bisect import bisect_left, insort


class Gaps:
    """
    What of a block of memory is free, by size and by place, neighbours joined.

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
