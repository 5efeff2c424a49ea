"""Donated arguments: memory that a program may write to, so no one else's."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from mind_dialect.errors import error

Range = tuple[int, int]
"""The address of a first byte, and of what follows the last."""


def check_donated(
    arguments: Sequence[Any], donated: Collection[int], shared: Collection[int], what: Callable[[int], str]
) -> None:
    """
    E2001 unless those of `arguments` whose numbers are `donated` can be written to, are in row-major order and not `shared`.

    `what` names an argument in the message.
    """
    for i in donated:
        flags = arguments[i].flags
        if not flags.c_contiguous or not getattr(flags, "writeable", True):  # arrays of a GPU all are
            issue = "one that is read-only or not in row-major order"
        elif i in shared:
            issue = "one that shares memory with another argument"
        else:
            continue
        expected = "a donated array of its own memory, writeable, in row-major order"
        raise error("E2001", f"{what(i)}: expected {expected}, found {issue}", expected=expected, actual=issue)


def shared_memory(arguments: Sequence[Any], donated: Collection[int]) -> set[int]:
    """
    Return the donated ones of NumPy arrays that share an address range with any other.

    Arrays that own their memory share it only if they are one array, so addresses are compared where one of two is a view.
    """
    given = {i: id(arguments[i]) for i in donated if arguments[i].size}
    counts = Counter(given.values())
    others = {id(a) for i, a in enumerate(arguments) if i not in given}
    found = {i for i, array in given.items() if counts[array] > 1 or array in others}
    views = [i for i, a in enumerate(arguments) if a.base is not None and a.size]
    if views:
        every = range(len(arguments)) if any(i in given for i in views) else {*given, *views}
        found |= overlapping({i: host_range(arguments[i]) for i in every if arguments[i].size}, donated)
    return found


class MemoryRanges:
    """The memory of arrays that stay, to compare others with."""

    def __init__(self, arrays: Iterable[Any]):
        self._low: list[int] = []
        self._high: list[int] = []
        for low, high in sorted(host_range(a) for a in arrays if a.size):
            if self._high and low <= self._high[-1]:
                self._high[-1] = max(self._high[-1], high)
            else:
                self._low.append(low)
                self._high.append(high)

    def overlaps(self, array: Any) -> bool:
        """Return whether an array has an address within them."""
        if not array.size:
            return False
        low, high = host_range(array)
        before = bisect_left(self._low, high)
        return before > 0 and self._high[before - 1] > low


def host_range(array: Any) -> Range:
    """Return the addresses of a NumPy array of some elements."""
    return range_of(array, array.__array_interface__["data"][0])


def range_of(array: Any, first: int) -> Range:
    """The addresses of an array of some elements, the first of which is at `first`."""
    if array.flags.c_contiguous:
        return first, first + array.nbytes
    spans = [(n - 1) * step for n, step in zip(array.shape, array.strides, strict=True)]
    return first + sum(s for s in spans if s < 0), first + sum(s for s in spans if s > 0) + array.dtype.itemsize


def overlapping(ranges: Mapping[int, Range], donated: Collection[int]) -> set[int]:
    """Return the donated ranges that share an address with any other: one sweep over them by their begin."""
    given, found = frozenset(donated), set[int]()
    end = donated_end = donor = -1
    for low, high, i in sorted((*r, i) for i, r in ranges.items()):
        if low < donated_end:
            found.add(donor)
        if i in given:
            if low < end:
                found.add(i)
            if high > donated_end:
                donated_end, donor = high, i
        end = max(end, high)
    return found
