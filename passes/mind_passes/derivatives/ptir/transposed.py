"""Padding of the transpose of a sliding window: what gives the elements of x back to the places they came from."""

from __future__ import annotations

from collections.abc import Sequence

from mind_dialect.extents.dims import add_dims
from mind_dialect.ptir_shapes import Dims, Pairs

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


def is_transposable(axes: Sequence[Sliding]) -> bool:
    """Return whether windows over the places give x along dynamic axes too: strides are 1, and no place is left out."""
    return all(a.stride == a.base == 1 and max(a.low, a.high) < a.reach for a in axes if a.dynamic)


def transposed_extents(axes: Sequence[Sliding]) -> Dims:
    """Return the extents that the transpose has; more than those of x where x is smaller than a window."""
    return tuple(add_dims(a.y, a.reach - 1 - a.low - a.high) if a.dynamic else a.x for a in axes)


def without_excess(found: Value, axes: Sequence[Sliding]) -> Value:
    """Return the transpose with the extents of x."""
    return cut(found, {i: AxisSlice(0, a.x) for i, a in enumerate(axes) if a.dynamic})
