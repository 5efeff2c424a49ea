"""
Tiles of convolutions by channel: each column has a channel of its own, so a multiplication reads an element of the image.

Rows of a tile share elements of the image where their windows overlap: each is read once for each row of the window.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import prod
from operator import itemgetter

from ..slides import Slide
from ..target_info import LINE

MOST_SHARED = 16
"""Windows of so many places at most, along the axis of a tile, share the elements that they meet."""
APART = 4.0
"""The cost factor of a tile whose rows are not neighbours in memory: each of its loads is of another cache line."""
CALL = 40
"""Cycles that the call of a tile takes, about."""
LATENCY = 4
"""Cycles from a multiplication to one that adds to it."""


def is_shared(slide: Slide | None) -> bool:
    """Return whether the rows of a tile along an axis share the elements that their windows meet."""
    return slide is not None and slide.window <= MOST_SHARED


def most_rows(room: int, vectors: int, slide: Slide | None) -> int:
    """
    Return the number of rows of a tile that registers hold: sums, an element, and the weights that it is multiplied by.

    >>> most_rows(14, 2, Slide(56, 56, 3, 1, 1, 1)), most_rows(14, 4, Slide(56, 3, 56, 1, 1, 1))
    (5, 3)
    """
    most, rows = room * 3 // 4 if is_shared(slide) else room, 0  # the code generator loads some elements that are shared earlier
    while (rows + 1) * vectors <= most and (rows + 1) * vectors + _live_weights(rows + 1, slide) + 1 <= room:
        rows += 1
    return rows


def _taps(slide: Slide | None) -> int:
    """Return how many neighbouring places of a window are multiplied together."""
    return slide.window if slide is not None and is_shared(slide) else 1


def _live_weights(rows: int, slide: Slide | None) -> int:
    """Return how many weights at most are in registers while an element is multiplied: those of it and of later elements."""
    return 1 if slide is None else min(_taps(slide), (rows - 1) * slide.stride // slide.dilation + 1)


def tile_by_channel(slides: Sequence[Slide], slide: Slide | None, vector: int, rows: int, vectors: int) -> float:
    """
    Return the cycles of a tile per place of the window, `slide` being along its rows; a vector has `vector` bytes.

    They are those of its multiplications, its loads, its cache lines, or the latency of its sums, and its part of the call. A
    line comes from the second cache in as many cycles as it has vectors.
    """
    taps = _taps(slide)
    met = rows if slide is None else min((rows - 1) * slide.stride + (taps - 1) * slide.dilation + 1, rows * taps) / taps
    lines = (met if is_shared(slide) else 2) * -(-vectors * vector // LINE) * LINE / vector
    return max(rows * vectors / 2, (met + 1) * vectors / 2, lines, LATENCY) + CALL / prod(s.taps for s in slides)


def elements_met(across: int, step: int, taps: Sequence[tuple[int, int]]) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """
    Yield the elements of the image that some taps meet, each for the rows of its span, and the taps and rows that meet each.

    A row moves `across` elements from the one before, a tap `step`. Each row meets its taps in their order.

    >>> list(elements_met(1, 1, [(0, 2), (0, 2)]))
    [(0, [(0, 0)]), (1, [(0, 1), (1, 0)]), (2, [(1, 1)])]
    """
    sign = 1 if step >= 0 else -1
    met = sorted((sign * (row * across + tap * step), tap, row) for tap, rows in enumerate(taps) for row in range(*rows))
    for place, uses in groupby(met, itemgetter(0)):
        yield sign * place, [(tap, row) for _, tap, row in uses]
