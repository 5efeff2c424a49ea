"""The choice of lines that are sorted in lanes, and the vectors they take."""

from __future__ import annotations

from .kernel_steps import LaneSort
from .line_axes import LEAST_LANES, line_axes, width_of
from .sort_keys import ComparedKeys, Keys, LaneOrder
from .target_info import TargetInfo

MOST_KEYS = 128 << 10
"""Bytes of the keys of the lines of a unit of work, at most: they are on the stack."""
MOST_BEST = 8
"""So many of the best of a line are kept in registers while the line is read once."""
MOST_SORTED = 256
"""Elements of lines that are sorted whole for a quarter of them at most: of longer ones a threshold finds the best sooner."""


def lane_order(step: LaneSort, host: TargetInfo) -> LaneOrder | None:
    """Return how a sort runs in lanes, None where it does not: lines that are long, or few."""
    n, count = (view.shape[step.axis] for view in (step.source, step.values))
    key_bits = Keys(step.source.dtype, step.descending).bits
    place_bits, parts = 0, 1
    if step.places is not None:
        place_bits = 16 if key_bits <= 16 and n <= 1 << 16 else 32
        place_bits, parts = (0, 2) if key_bits > 32 else (place_bits, 1)
    bits = place_bits + max(key_bits, place_bits)
    outer = [a for a in range(len(step.source.shape)) if a != step.axis]
    axes = line_axes([step.source.shape[a] for a in outer], [[view.strides[a] for view in step.lines] for a in outer])
    if n < 2 or axes is None or (n > MOST_SORTED and 4 * count <= n):
        return None
    width = width_of(host.lanes(bits // 8), axes.extents[-1])
    block = host.registers // (2 * parts)
    columns = n if n <= block else -(-n // block) * block
    while columns * parts * width * bits // 8 > MOST_KEYS:
        width //= 2
    if width < LEAST_LANES:
        return None
    compared = None if step.places is not None else ComparedKeys.of_step(step.source.dtype, step.descending, host)
    return LaneOrder(bits, place_bits, parts, width, block, columns, axes, compared)
