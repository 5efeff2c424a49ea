"""The choice of lines that are sorted in lanes, and the vectors they take."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from .kernel_steps import LaneSort
from .sort_keys import Keys
from .target_info import TargetInfo

MOST_KEYS = 128 << 10
"""Bytes of the keys of the lines of a unit of work, at most: they are on the stack."""
MOST_BEST = 8
"""So many of the best of a line are kept in registers while the line is read once."""
MOST_SORTED = 256
"""Elements of lines that are sorted whole for a quarter of them at most: of longer ones a threshold finds the best sooner."""
LEAST_LANES, MOST_LANES = 4, 32
"""With fewer lines each is sorted by itself."""


@dataclass(frozen=True)
class LaneOrder:
    """The sizes of a sort in lanes: bits of a key and of the place in it; lanes; columns of a block, and in all."""

    bits: int
    place_bits: int
    parts: int
    """Vectors of a column: two where a key and its place do not fit in 64 bits."""
    width: int
    block: int
    columns: int
    axes: tuple[tuple[int, ...], ...]
    """Of each axis of lines its extent, and the strides of source, values and places; the last axis is that of the lanes."""

    @property
    def type(self) -> str:
        """The LLVM type of a key."""
        return f"i{self.bits}"

    @property
    def in_registers(self) -> bool:
        """Return whether a line is one block."""
        return self.columns <= self.block

    @property
    def groups(self) -> int:
        """Vectors that the lines of the last axis take."""
        return -(-self.axes[-1][0] // self.width)

    @property
    def units(self) -> int:
        """The number of units of work."""
        return prod(axis[0] for axis in self.axes[:-1]) * self.groups


def lane_order(step: LaneSort, host: TargetInfo) -> LaneOrder | None:
    """Return how a sort runs in lanes, None where it does not: lines that are long, or few."""
    n, count = (view.shape[step.axis] for view in (step.source, step.values))
    key_bits = Keys(step.source.dtype, step.descending).bits
    place_bits, parts = 0, 1
    if step.places is not None:
        place_bits = 16 if key_bits <= 16 and n <= 1 << 16 else 32
        place_bits, parts = (0, 2) if key_bits > 32 else (place_bits, 1)
    bits = place_bits + max(key_bits, place_bits)
    axes = _axes(step)
    if n < 2 or not axes or (n > MOST_SORTED and 4 * count <= n):
        return None
    width = min(host.lanes(bits // 8), MOST_LANES, 1 << (axes[-1][0].bit_length() - 1))
    block = host.registers // (2 * parts)
    columns = n if n <= block else -(-n // block) * block
    while columns * parts * width * bits // 8 > MOST_KEYS:
        width //= 2
    if width < LEAST_LANES:
        return None
    return LaneOrder(bits, place_bits, parts, width, block, columns, axes)


def _axes(step: LaneSort) -> tuple[tuple[int, ...], ...]:
    """Return the axes of the lines, joined where all views allow it; the last one has neighbours in memory, or is longest."""
    found: list[tuple[int, ...]] = []
    for a, n in enumerate(step.source.shape):
        if a == step.axis or n == 1:
            continue
        strides = tuple(view.strides[a] for view in step.lines)
        if found and all(outer == n * inner for outer, inner in zip(found[-1][1:], strides, strict=True)):
            found[-1] = (found[-1][0] * n, *strides)
        else:
            found.append((n, *strides))
    found.sort(key=lambda axis: (axis[1] == 1 and axis[0] >= MOST_LANES, axis[0]))
    return tuple(found)
