"""The axes of lines side by side, one in each lane of a vector."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from mind_dialect.lazy_dataclass import dataclass

LEAST_LANES, MOST_LANES = 4, 32
"""With fewer lines each is computed by itself."""


@dataclass(frozen=True)
class LineAxes:
    """The axes of lines, joined where all views allow it; the lanes run along the last one."""

    extents: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]
    """Of each axis those of the views."""

    def groups(self, width: int) -> int:
        """Vectors that the lines of the last axis take."""
        return -(-self.extents[-1] // width)

    def units(self, width: int) -> int:
        """The number of units of work, a vector of lines each."""
        return prod(self.extents[:-1]) * self.groups(width)


def line_axes(extents: Sequence[int], strides: Sequence[Sequence[int]]) -> LineAxes | None:
    """Join axes of lines, given their extents and the strides of all views along each; None if there are none."""
    found: list[tuple[int, ...]] = []
    for n, along in zip(extents, strides, strict=True):
        if n == 1:
            continue
        if found and all(outer == n * inner for outer, inner in zip(found[-1][1:], along, strict=True)):
            found[-1] = (found[-1][0] * n, *along)
        else:
            found.append((n, *along))
    # The last one has neighbours in memory, or is longest.
    found.sort(key=lambda axis: (axis[1] == 1 and axis[0] >= MOST_LANES, axis[0]))
    return LineAxes(tuple(n for n, *_ in found), tuple(tuple(along) for _, *along in found)) if found else None


def width_of(lanes: int, lines: int) -> int:
    """Return how many of the lanes of a vector some lines take."""
    return min(lanes, MOST_LANES, 1 << (lines.bit_length() - 1))
