"""
Windows along dynamic axes: for each place in a window the strided slice of what is there in all windows.

`unfold_parts` joins these slices, `fold_parts` adds up what belongs to each. Bounds of slices are expressions of the extents, so
that they hold for windows that do not fit too, of which there are none.
"""

from __future__ import annotations

from collections.abc import Sequence

from mind_dialect.ptir import ConcatOp
from mind_dialect.ptir.types import tensor_type
from mind_dialect.ptir_shapes import Dims
from mind_dialect.ptir_shapes import pad as padded_shape

from ...ptir.construct import Value, add, make, reshape, spec
from ...ptir.parts import AxisSlice, place, window
from .windows import Sliding, padded


def unfold_parts(x: Value, axes: Sequence[Sliding], padding: float) -> Value:
    """Return `x` with an axis for the places in the window after each axis of windows."""
    for i, a in reversed(list(enumerate(axes))):
        if a.still:
            continue
        low, high = _edges(a)
        rank = len(spec(x).shape)
        whole = padded(x, _at(i, low, rank), _at(i, high, rank), _at(i, a.base - 1, rank), padding)
        parts = [window(whole, {i: AxisSlice(start, a.y, a.stride)}) for start in _starts(a)]
        dtype, shape = spec(parts[0])
        apart = [reshape(part, (*shape[: i + 1], 1, *shape[i + 1 :])) for part in parts]
        joined = tensor_type(dtype, (*shape[: i + 1], a.window, *shape[i + 1 :]))
        x = apart[0] if len(apart) == 1 else make(ConcatOp, *apart, type=joined, axis=i + 1)
    return x


def fold_parts(v: Value, axes: Sequence[Sliding]) -> Value:
    """Return for each element of x the sum of what it gets from all windows, of `v` in the shape of `unfold`."""
    for i, a in enumerate(axes):
        if not a.still:
            v = _folded(v, i, a)
    return v


def _folded(v: Value, i: int, a: Sliding) -> Value:
    """Return the sums along one axis, which the axis of places in windows follows."""
    shape = spec(v).shape
    rest: Dims = (*shape[: i + 1], *shape[i + 2 :])
    low, high = _edges(a)
    (length,) = padded_shape((a.x,), low=(low,), high=(high,), interior=(a.base - 1,))
    total: Value | None = None
    for k, start in enumerate(_starts(a)):
        part = reshape(window(v, {i + 1: AxisSlice(k, 1)}), rest)
        steps = [a.stride if axis == i else 1 for axis in range(len(rest))]
        wide = place(part, _at(i, start, len(rest)), steps, (*rest[:i], length, *rest[i + 1 :]))
        total = wide if total is None else add(total, wide)
    assert total is not None
    return window(total, {i: AxisSlice(low, a.x, a.base)})


def _edges(a: Sliding) -> tuple[int, int]:
    """Return the padding of an axis, with so much more behind that slices of any number of windows fit."""
    return max(0, a.low), max(0, a.high + a.reach + a.stride)


def _starts(a: Sliding) -> list[int]:
    """Return where the first of each place in a window is, in the padded axis."""
    return [max(0, -a.low) + k * a.dilation for k in range(a.window)]


def _at(i: int, n: int, rank: int) -> list[int]:
    return [n if axis == i else 0 for axis in range(rank)]
