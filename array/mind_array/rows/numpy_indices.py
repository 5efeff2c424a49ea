"""NumPy's functions on indices, orders and slices beyond the standard, and its windows, as compositions of other rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ..arguments import checked
from ..array import Array
from ..dtypes import as_dtype, float64, int64
from ..emit import check_memory
from ..faults import fault
from ..kinds import is_sequence
from ..operands import array_of, axis_of, cast, floats_of, static_size
from ..table import PIECEWISE, Row, register, row
from ..trace import TracedArray
from . import elementwise as e
from .creation import asarray, iota
from .indexing import segment_sum
from .manipulation import along, moveaxis, permute_dims, ravel, reshape, stack
from .mathematics import clip, floor_divide, remainder, where
from .numpy_statistics import histogram_place
from .reductions import argsort, diff, sort, sum_

# Indices


@row("indices", standard=False, arrays=0)
def indices(dimensions: Sequence[int], /, dtype: Any = None) -> Array:
    """Return the index along each axis of every element of an array of some shape, axis by axis."""
    shape = tuple(static_size(n, "indices") for n in dimensions)
    return stack([iota(shape, axis, int64 if dtype is None else as_dtype(dtype)) for axis in range(len(shape))])


@row("unravel_index", standard=False)
def unravel_index(indices: Any, /, shape: int | Sequence[int]) -> tuple[Array, ...]:
    """
    Return the index along each axis of elements, given their numbers in row-major order; E6001 for one outside.

    A traced number outside gives a first index outside.
    """
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    place = cast(array_of(indices, "unravel_index"), int64)
    _check_inside("unravel_index", place, prod(sizes))
    found: list[Array] = []
    for n in reversed(sizes[1:]):
        found.append(remainder(place, n))
        place = floor_divide(place, n)
    return (place, *reversed(found)) if sizes else ()


@row("ravel_multi_index", standard=False, arrays=-1)
def ravel_multi_index(multi_index: Any, /, dims: Sequence[int], mode: str = "raise") -> Array:
    """
    Return the number in row-major order of elements at an index along each axis, `clip`ped to the axes or `wrap`ped around.

    With `raise` an index outside is E6001; traced ones are not checked.
    """
    places = [cast(array_of(x, "ravel_multi_index"), int64) for x in multi_index]
    if len(places) != len(dims):
        message = f"ravel_multi_index: {len(places)} indices for {len(dims)} axes, expected one each"
        raise fault("E1110", message, argument="multi_index", value=len(places))
    if mode not in ("raise", "clip", "wrap"):
        message = f"ravel_multi_index: mode is {mode!r}, expected 'raise', 'clip' or 'wrap'"
        raise fault("E1110", message, argument="mode", value=mode)
    found = asarray(0, dtype=int64)
    for place, n in zip(places, dims, strict=True):
        if mode == "raise":
            _check_inside("ravel_multi_index", place, n)
        inside = place if mode == "raise" else remainder(place, n) if mode == "wrap" else clip(place, 0, n - 1)
        found = found * n + inside
    return found


def ix_(*args: Any) -> tuple[Array, ...]:
    """Return vectors of indices, each along an axis of its own, so that a key of them selects every combination."""
    given = [asarray(x, None if len(x) else int64) if is_sequence(x) else array_of(x, "ix_") for x in args]
    if any(x.ndim != 1 for x in given):
        raise fault("E3002", f"ix_: ranks {[x.ndim for x in given]}, expected vectors", expected=1, actual=0)
    return tuple(reshape(x, (*(1,) * i, -1, *(1,) * (len(given) - 1 - i))) for i, x in enumerate(given))


register(Row("ix_", checked(ix_), standard=False, numpy=("ix_",), arrays=-1))


def _check_inside(function: str, place: Array, n: int) -> None:
    """Raise E6001 for a concrete index outside."""
    numbers = None if isinstance(place, TracedArray) else place.ndarray
    if numbers is not None and numbers.size and not (0 <= numbers.min() and numbers.max() < n):
        outside = int(numbers[(numbers < 0) | (numbers >= n)][0])
        message = f"{function}: index {outside} is out of bounds, expected 0 to {n - 1}"
        raise fault("E6001", message, indices=[outside], shape=[n])


# Orders


def _check_kth(function: str, kth: Any, n: int) -> None:
    places = kth if is_sequence(kth) else [kth]
    if any(not isinstance(k, int) or not -n <= k < n for k in places):
        message = f"{function}: kth is {kth}, expected places along an axis of extent {n}"
        raise fault("E1110", message, argument="kth", value=str(kth))


@row("partition", standard=False, category="real", derivative=PIECEWISE)
def partition(a: Any, kth: Any, /, axis: int | None = -1) -> Array:
    """Return elements in an order in which the `kth` are where sorting puts them: the sorted ones."""
    array, place = along(a, axis, "partition")
    _check_kth("partition", kth, static_size(array.shape[place], "partition"))
    return sort(array, axis=place)


@row("argpartition", standard=False, category="real")
def argpartition(a: Any, kth: Any, /, axis: int | None = -1) -> Array:
    """Return the indices of an order in which the `kth` elements are where sorting puts them: those that sort."""
    array, place = along(a, axis, "argpartition")
    _check_kth("argpartition", kth, static_size(array.shape[place], "argpartition"))
    return argsort(array, axis=place)


# Slices and pieces


@row("apply_along_axis", standard=False, arrays=0)
def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, /, *args: Any, **kwargs: Any) -> Array:
    """Return a function of each vector along an axis, in its place; the function runs once, over all of them."""
    from ..transforms.batching import vmap  # which imports rows

    array = array_of(arr, "apply_along_axis")
    place = axis_of(axis, array.ndim, "apply_along_axis")
    lines = moveaxis(array, place, -1)
    rest, n = lines.shape[:-1], lines.shape[-1]

    def of_line(x: Array) -> Array:
        return array_of(func1d(x, *args, **kwargs), "apply_along_axis")

    found = vmap(of_line)(reshape(lines, (prod(rest), n)))
    inner = found.shape[1:]
    spread = reshape(found, (*rest, *inner))
    order = [*range(place), *range(len(rest), len(rest) + len(inner)), *range(place, len(rest))]
    return permute_dims(spread, tuple(order))


@row("piecewise", standard=False, derivative=PIECEWISE)
def piecewise(x: Any, condlist: Any, funclist: Any, /, *args: Any, **kwargs: Any) -> Array:
    """Return where each condition holds its function of `x`, or number; one function more is for where none holds, else 0."""
    array = array_of(x, "piecewise")
    conditions = list(condlist) if is_sequence(condlist) else [condlist]
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        message = f"piecewise: {len(funclist)} functions for {len(conditions)} conditions, expected as many or one more"
        raise fault("E1110", message, argument="funclist", value=len(funclist))
    parts = [f(array, *args, **kwargs) if callable(f) else f for f in funclist]
    found = parts.pop() if len(parts) > len(conditions) else 0
    for condition, part in zip(conditions, parts, strict=True):
        found = where(array_of(condition, "piecewise", "condlist"), _like(part, array), _like(found, array))
    return _like(found, array)


def _like(value: Any, array: Array) -> Array:
    return cast(value, array.dtype) if isinstance(value, Array) else asarray(value, dtype=array.dtype)


@row("histogram2d", standard=False, category="real", arrays=2)
def histogram2d(
    x: Any,
    y: Any,
    /,
    bins: Any = 10,
    range: Sequence[tuple[float, float] | None] | None = None,
    density: bool = False,
    weights: Any = None,
) -> tuple[Array, Array, Array]:
    """Return how many points each cell of a grid holds, or their weights, and the edges along both axes."""
    both = bins if is_sequence(bins) and len(bins) == 2 else (bins, bins)
    ranges = (None, None) if range is None else range
    points = [ravel(floats_of(v, "histogram2d")) for v in (x, y)]
    edges, places, insides = zip(*(histogram_place(v, b, r) for v, b, r in zip(points, both, ranges, strict=True)), strict=True)
    m, n = (static_size(edge.shape[0], "histogram2d") - 1 for edge in edges)
    inside = e.logical_and(*insides)
    counted = floats_of(1.0, "histogram2d") if weights is None else ravel(floats_of(weights, "histogram2d", "weights"))
    cells = where(inside, places[0] * n + places[1], 0)
    found = reshape(segment_sum(where(inside, counted, 0.0), cells, num_segments=m * n), (m, n))
    if density:
        areas = reshape(diff(edges[0]), (-1, 1)) * diff(edges[1])
        found = found / areas / sum_(found)
    return found, *edges


# Windows


def _window(name: str, function: Callable[[int], Any]) -> Callable[[int], Array]:
    def window(M: int, /) -> Array:
        length = static_size(M, name)
        check_memory((length,), float64)
        return asarray(np.asarray(function(length)))

    window.__name__, window.__doc__ = name, f"Return NumPy's window `{name}` of a length."
    return row(name, standard=False, arrays=0)(window)


bartlett, blackman, hamming, hanning = (_window(f.__name__, f) for f in (np.bartlett, np.blackman, np.hamming, np.hanning))
