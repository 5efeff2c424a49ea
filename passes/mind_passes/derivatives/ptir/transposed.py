"""Padding of the transpose of a sliding window: what gives the elements of x back to the places they came from."""

from __future__ import annotations

from collections.abc import Sequence

from mind_dialect.ptir_shapes import Pairs

from ...ptir.construct import Value
from ...ptir.parts import AxisSlice
from .windows import Sliding, cut


def transposed(g: Value, axes: Sequence[Sliding]) -> tuple[Value, Pairs] | None:
    """
    The places of `g`, and the padding with which windows over them, strides and base dilation exchanged, have the places of x.

    Places whose windows lie wholly in padding are left out. None if no others are left.
    """
    padding: list[tuple[int, int]] = []
    cuts: dict[int, AxisSlice] = {}
    for i, a in enumerate(axes):
        low = a.reach - 1 - a.low
        if a.stride == a.base == 1:
            high = a.reach - 1 - a.high
        elif not a.o or not a.n:
            return None
        else:
            high = a.reach + a.spread - 1 - low - ((a.o - 1) * a.stride + 1)
        before, after = max(0, -(low // a.stride)), max(0, -(high // a.stride))
        if before or after:
            if a.o - before - after <= 0:
                return None
            cuts[i] = AxisSlice(before, a.o - before - after)
        padding.append((low + before * a.stride, high + after * a.stride))
    if any(0 in (a.x, a.y) for a in axes):
        return None
    return cut(g, cuts), tuple(padding)
