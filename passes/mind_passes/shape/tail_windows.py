"""
Tails of ops that move elements by as many as a size says: windows that start where an operand says, along dimensions with tails.

    dynamic_slice %x, %start sizes = [T]   of N elements

A start is clamped so that the window fits: to N - T, which a padded array has not. So it is clamped against the sizes here. The
window of the bound may still not fit where that of the size does; then it starts earlier, by some distance, and its elements are
moved by that distance. An update leaves in its place what `x` has before and after the elements of the size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import SI64
from mind_dialect.ptir_shapes import Dim

from ..ptir import parts
from ..ptir.building import put_before, spec_of
from ..ptir.construct import (
    Value,
    broadcast,
    cast,
    compare,
    elementwise,
    full,
    make,
    reshape,
    scalar,
    sub,
    typed,
    where,
)
from .tail_masks import Masks
from .tail_sizes import Put


@dataclass(frozen=True)
class Window:
    """The start of a window that fits into a padded array, and how far before the start that sizes allow it is, as vectors."""

    start: SSAValue
    distance: SSAValue
    moved: Mapping[int, str]
    """The names of sizes by axis along which a padded window may not fit where one of the size does."""


def windows(masks: Masks, op: ptir.DynamicSliceOp | ptir.DynamicUpdateSliceOp) -> None:
    """Clamp the start of a window against sizes, and move the elements of one of an open size by how far it is from there."""
    shape, sizes = spec_of(op.x).shape, op.values()["sizes"]
    if all(n == size or (isinstance(n, int) and isinstance(size, int)) for n, size in zip(shape, sizes, strict=True)):
        return
    put: Put = partial(put_before, op)
    window = _window(masks, put, op.start, shape, sizes)
    if isinstance(op, ptir.DynamicUpdateSliceOp):
        update = _moved_update(masks, put, op, window) if window.moved else op.update
        op.operands = [op.x, update, window.start]
    elif not window.moved:
        op.operands = [op.x, window.start]
    else:
        found = window_of(put, op.x, window.start, sizes)
        high = [size if i in window.moved else 0 for i, size in enumerate(sizes)]
        none = [0] * len(sizes)
        op.operands = [put(parts.pad(found, none, high, none)), window.distance]


def _window(masks: Masks, put: Put, start: SSAValue, shape: Sequence[Dim], sizes: Sequence[Dim]) -> Window:
    whole = [n == size for n, size in zip(shape, sizes, strict=True)]
    moved = {i: size for i, size in enumerate(sizes) if isinstance(size, str) and not whole[i]}

    def last(extent: Callable[[Dim], Value]) -> SSAValue:
        """The last start of a window that fits, where extents are these."""
        each = [scalar(0, SI64) if w else sub(extent(n), extent(m)) for n, m, w in zip(shape, sizes, whole, strict=True)]
        return vector(put, each)

    given = put(cast(start, SI64))
    not_negative = put(elementwise(ptir.MaximumOp, given, full(0, given)))
    exact = put(elementwise(ptir.MinimumOp, not_negative, last(lambda n: masks.sizes.of(n, put))))
    if not moved:
        return Window(exact, exact, moved)
    fitting = put(elementwise(ptir.MinimumOp, exact, last(bound)))
    return Window(fitting, put(sub(exact, fitting)), moved)


def bound(n: Dim) -> Value:
    """Return the extent that a dimension has, of a padded array the bound."""
    if isinstance(n, int):
        return scalar(n, SI64)
    return make(ptir.DimensionSizeOp, broadcast(scalar(0, SI64), (n,)), type=typed(SI64, ()), axis=0)


def _moved_update(masks: Masks, put: Put, op: ptir.DynamicUpdateSliceOp, window: Window) -> SSAValue:
    """Return an update for a window of the bound: the elements of the size from the distance on, and around them those of `x`."""
    sizes = spec_of(op.update).shape
    low = [size if i in window.moved else 0 for i, size in enumerate(sizes)]
    none = [0] * len(sizes)
    wide = put(parts.pad(op.update, low, none, none))
    first = vector(put, [bound(n) for n in low])
    update = window_of(put, wide, put(sub(first, window.distance)), sizes)
    inside: SSAValue | None = None
    for axis, name in window.moved.items():
        place = make(ptir.IotaOp, type=typed(SI64, sizes), shape=sizes, dtype=SI64, axis=axis)
        entry = make(ptir.SliceOp, window.distance, type=typed(SI64, (1,)), starts=(axis,), sizes=(1,))
        place = put(sub(place, broadcast(reshape(entry, ()), sizes)))
        after = put(compare("greater_equal", place, full(0, place)))
        within = put(elementwise(ptir.AndOp, after, compare("less", place, broadcast(masks.sizes.of(name, put), sizes))))
        inside = within if inside is None else put(elementwise(ptir.AndOp, inside, within))
    assert inside is not None
    return put(where(inside, update, window_of(put, op.x, window.start, sizes)))


def window_of(put: Put, x: SSAValue, start: SSAValue, sizes: Sequence[Dim]) -> SSAValue:
    """Return the window of some sizes from a start, which fits."""
    return put(make(ptir.DynamicSliceOp, x, start, type=typed(spec_of(x).dtype, tuple(sizes)), sizes=tuple(sizes)))


def vector(put: Put, entries: Sequence[Value]) -> SSAValue:
    """Return numbers as a vector."""
    found = [put(reshape(entry, (1,))) for entry in entries]
    return found[0] if len(found) == 1 else put(make(ptir.ConcatOp, *found, type=typed(SI64, (len(found),)), axis=0))
