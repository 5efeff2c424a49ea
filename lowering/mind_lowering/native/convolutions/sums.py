"""The axes that a tile of a convolution sums over."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from mind_dialect.lazy_dataclass import dataclass

from .by_channel import is_shared
from .convolution import MOST_TAPS, Convolution

Taps = tuple[tuple[int, int], ...]
"""For each place of the window along the tile's axis, the rows that have it: the first, and the end."""


@dataclass(frozen=True)
class Sum:
    """An axis that is summed over: its extent, how far operands move, and bounds or taps where not all of it counts."""

    extent: int
    a: int
    b: int
    bounds: tuple[str, str] | None = None
    taps: Taps | None = None

    @property
    def is_plain(self) -> bool:
        """Return whether all of it counts."""
        return self.bounds is None and self.taps is None


def sums_of(it: Convolution, rows: int, taps: Taps | None) -> list[Sum]:
    """Return the axes that a tile of some rows sums over, outermost first; neighbours that are one axis in effect are joined."""
    every = list[Sum]()
    strides = it.weight_strides
    for i, slide in enumerate(it.slides, 1):
        bounds = (f"%first{i}", f"%end{i}") if i in it.bounded else None
        own = taps if i == it.cut.along else None
        if it.by_channel and i == it.cut.along and taps is None and is_shared(slide):
            own = ((0, rows),) * slide.window
        every.append(Sum(slide.window, slide.dilation * it.lhs.strides[i], strides[i - 1], bounds, own))
    if not it.by_channel:
        every.append(Sum(it.rhs.shape[-2], it.lhs.strides[-1], strides[-1]))
    found: list[Sum] = []
    for one in every:
        if one.extent == 1 and one.is_plain:
            continue
        last = found[-1] if found else None
        joins = last is not None and last.is_plain and one.is_plain
        if last is not None and joins and (last.a, last.b) == (one.a * one.extent, one.b * one.extent):
            found[-1] = Sum(last.extent * one.extent, one.a, one.b)
        else:
            found.append(one)
    return found


def runs_of_taps(taps: Taps) -> Iterator[tuple[int, int, tuple[int, int]]]:
    """Yield runs of neighbouring taps that the same rows have: the first, how many, the rows; short ones tap by tap."""
    tap = 0
    for rows, run in groupby(taps):
        count = len(list(run))
        if count > MOST_TAPS:
            yield tap, count, rows
        else:
            yield from ((tap + i, 1, rows) for i in range(count))
        tap += count
