"""Functions that select by index: `take`, `take_along_axis`, `repeat`, diagonals, windows at places that data says."""

from __future__ import annotations

from typing import Any

import numpy as np

from mind_dialect import ptir

from ..array import Array, wrap
from ..dim_values import dim_value
from ..dtypes import check_category, int64, kind_of
from ..emit import check_memory, constant, emit
from ..faults import fault
from ..kinds import is_sequence
from ..operands import array_of, axis_of, broadcast, broadcast_shapes, cast, shape_of, static_size
from ..table import SMOOTH, row
from ..trace import TracedArray
from . import elementwise as e
from .creation import iota
from .manipulation import along, expand_dims, moveaxis, reshape, reshaped, stack
from .parts import select


def places_array(x: Any, function: str) -> Array:
    """Integers in a dtype that ops take."""
    array = array_of(x, function, "indices")
    check_category(function, array.dtype, "integer")
    return array if array.dtype.name in ("int32", "int64") else cast(array, int64)


def index_array(x: Any, n: Any, function: str) -> Array:
    """Indices in a dtype that ops take, negative ones counted from the end of an axis of extent `n`."""
    array = array_of(x, function, "indices")
    wide = places_array(array, function)
    if kind_of(array.dtype) == "u":
        return wide
    size = dim_value(n) if isinstance(n, str) else constant(n, wide.dtype)
    counted = e.add(wide, broadcast(cast(size, wide.dtype), wide.shape))
    return select(e.less(wide, constant(0, wide.dtype, wide.shape)), counted, wide)


@row("take", arrays=2, derivative=SMOOTH)
def take(x: Any, indices: Any, /, axis: int | None = None) -> Array:
    """Return slices of `x` at indices along `axis`, which a vector may leave out; E6001 for an index out of range."""
    array = array_of(x, "take")
    if axis is None:
        if array.ndim != 1:
            raise fault("E1110", f"take: axis is None for rank {array.ndim}, expected an axis", argument="axis", value=None)
        axis = 0
    place = axis_of(axis, array.ndim, "take")
    chosen = index_array(indices, array.shape[place], "take")
    found = emit(ptir.TakeOp, moveaxis(array, place, 0), chosen)
    return moveaxis(found, tuple(range(chosen.ndim)), tuple(range(place, place + chosen.ndim)))


@row("take_along_axis", arrays=2, derivative=SMOOTH)
def take_along_axis(x: Any, indices: Any, /, axis: int = -1) -> Array:
    """Return, at each place of `indices`, the element of `x` there whose position along `axis` is the index."""
    array, given = array_of(x, "take_along_axis"), array_of(indices, "take_along_axis", "indices")
    if given.ndim != array.ndim:
        message = f"take_along_axis: indices of rank {given.ndim} for an array of rank {array.ndim}, expected one rank"
        raise fault("E3002", message, expected=array.ndim, actual=given.ndim)
    place = axis_of(axis, array.ndim, "take_along_axis")
    joint = broadcast_shapes(
        *((*x.shape[:place], 1, *x.shape[place + 1 :]) for x in (array, given)),
    )
    shapes = [(*joint[:place], x.shape[place], *joint[place + 1 :]) for x in (array, given)]
    chosen = index_array(given, array.shape[place], "take_along_axis")
    return emit(ptir.GatherOp, broadcast(array, shapes[0]), broadcast(chosen, shapes[1]), axis=place)


def _start(start: Any, rank: int, function: str) -> Array:
    if is_sequence(start):
        parts = [cast(array_of(s, function, "start"), int64) for s in start]
        found = stack(parts) if parts else constant(0, int64, (0,))
    else:
        found = array_of(start, function, "start")
        check_category(function, found.dtype, "integer")
        found = found if found.dtype.name in ("int32", "int64") else cast(found, int64)
    if found.shape != (rank,):
        message = f"{function}: start of shape {list(found.shape)}, expected one index per axis of rank {rank}"
        raise fault("E3003", message, dimension="start", extents=(found.shape, rank))
    return found


@row(standard=False, derivative=SMOOTH)
def dynamic_slice(x: Any, start: Any, sizes: Any, /) -> Array:
    """Return the window of `sizes` elements from `start`, an index per axis, moved so that it fits."""
    array = array_of(x, "dynamic_slice")
    return emit(ptir.DynamicSliceOp, array, _start(start, array.ndim, "dynamic_slice"), sizes=shape_of(sizes, "dynamic_slice"))


@row(standard=False, arrays=2, derivative=SMOOTH)
def dynamic_update_slice(x: Any, update: Any, start: Any, /) -> Array:
    """Return `x` with the window from `start` overwritten by `update`, moved so that it fits."""
    array, new = array_of(x, "dynamic_update_slice"), array_of(update, "dynamic_update_slice", "update")
    place = _start(start, array.ndim, "dynamic_update_slice")
    return emit(ptir.DynamicUpdateSliceOp, array, cast(new, array.dtype), place, sizes=new.shape)


@row(standard=False, arrays=2, derivative=SMOOTH)
def segment_sum(data: Any, segment_ids: Any, /, num_segments: int) -> Array:
    """Return the sums of the rows of `data` by id, from 0 to `num_segments - 1`; E6001 for another id."""
    array = array_of(data, "segment_sum")
    ids = places_array(segment_ids, "segment_sum")
    options = {"indices_are_sorted": False, "unique": False}
    return emit(ptir.SegmentReduceOp, array, ids, kind="sum", num_segments=int(num_segments), **options)


@row("repeat", derivative=SMOOTH)
def repeat(x: Any, repeats: Any, /, axis: int | None = None) -> Array:
    """
    Return each element repeated along `axis`, flattened for None.

    `repeats` is a number, or an array of one per element; a traced array is E1108, as the size would depend on data.
    """
    array, place = along(x, axis, "repeat")
    n = array.shape[place]
    if isinstance(repeats, TracedArray):
        message = "repeat: repeats is a traced array, so the size would depend on data; pass a NumPy array or a number"
        raise fault("E1108", message, function="repeat")
    counts: Any = np.asarray(repeats.ndarray if isinstance(repeats, Array) else repeats)
    if counts.dtype.kind not in "iu" or counts.ndim > 1 or (counts.size and counts.min() < 0):
        raise fault("E1110", "repeat: expected whole numbers from 0 up", argument="repeats", value=str(repeats)[:80])
    if counts.ndim == 0 or counts.size == 1:
        k = int(counts.reshape(()))
        wide = broadcast(expand_dims(array, axis=place + 1), (*array.shape[: place + 1], k, *array.shape[place + 1 :]))
        return reshape(wide, (*array.shape[:place], -1 if isinstance(n, str) else n * k, *array.shape[place + 1 :]))
    if isinstance(n, str) or counts.size != n:
        message = f"repeat: {counts.size} repeats along an axis of extent {n}"
        raise fault("E3003", message, dimension="repeats", extents=(counts.size, n))
    check_memory((sum(counts.tolist()),), int64)
    return take(array, wrap(np.repeat(np.arange(n), counts)), axis=place)


def diagonal_of(x: Array, offset: int) -> Array:
    """A diagonal of the last two axes, by its places in row-major order."""
    *batch, m, n = [static_size(d, "diagonal") for d in x.shape]
    row_start, column_start = max(-offset, 0), max(offset, 0)
    count = max(0, min(m - row_start, n - column_start))
    flat = reshaped(x, (*batch, m * n))
    places = e.add(
        e.multiply(iota((count,), 0, int64), constant(n + 1, int64, (count,))),
        constant(row_start * n + column_start if count else 0, int64, (count,)),
    )
    return moveaxis(emit(ptir.TakeOp, moveaxis(flat, -1, 0), places), 0, -1)
