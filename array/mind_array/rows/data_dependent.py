"""Functions whose result has a size that depends on data: of concrete arrays only."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..array import Array, wrap
from ..dtypes import int64
from ..faults import fault
from ..operands import array_of, axis_of
from ..table import row
from ..trace import TracedArray

_REASON = "the size of the result depends on data"


def concrete(x: Any, function: str, advice: str) -> Any:
    """The NumPy array of an array; E1108 for a traced one."""
    array = array_of(x, function)
    if isinstance(array, TracedArray):
        raise fault("E1108", f"{function}: {_REASON}, and the array is traced; {advice}", function=function)
    return array.ndarray


class UniqueAll(NamedTuple):
    """Results of `unique_all`."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """Results of `unique_counts`."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """Results of `unique_inverse`."""

    values: Array
    inverse_indices: Array


@row("nonzero", host=_REASON)
def nonzero(x: Any, /) -> tuple[Array, ...]:
    """Return, for each axis, the indices of the elements that differ from 0, in row-major order."""
    array = concrete(x, "nonzero", "use ma.where(x != 0, ...) or a mask")
    if array.ndim == 0:
        raise fault("E3002", "nonzero of an array of rank 0, expected at least 1", expected="at least 1", actual=0)
    return tuple([wrap(i.astype(int64)) for i in array.nonzero()])


@row("flatnonzero", standard=False, host=_REASON)
def flatnonzero(a: Any, /) -> Array:
    """Return the places of the elements that differ from 0, in row-major order."""
    return wrap(np.flatnonzero(concrete(a, "flatnonzero", "use ma.where(x != 0, ...) or a mask")).astype(int64))


@row("argwhere", standard=False, host=_REASON)
def argwhere(a: Any, /) -> Array:
    """Return the indices of the elements that differ from 0 as rows, in row-major order."""
    return wrap(np.argwhere(concrete(a, "argwhere", "use ma.where(x != 0, ...) or a mask")).astype(int64))


def _unique(x: Any, function: str) -> tuple[Any, Any, Any, Any]:
    array = concrete(x, function, "use ma.sort, and a mask of the first of equals")
    values, indices, inverse, counts = np.unique(
        array, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    return values, indices.astype(int64), inverse.reshape(array.shape).astype(int64), counts.astype(int64)


@row("unique_all", host=_REASON)
def unique_all(x: Any, /) -> UniqueAll:
    """Return the different elements, the first index of each, the index of each element among them, and how often each occurs."""
    return UniqueAll(*map(wrap, _unique(x, "unique_all")))


@row("unique_counts", host=_REASON)
def unique_counts(x: Any, /) -> UniqueCounts:
    """Return the different elements and how often each occurs."""
    values, _, _, counts = _unique(x, "unique_counts")
    return UniqueCounts(wrap(values), wrap(counts))


@row("unique_inverse", host=_REASON)
def unique_inverse(x: Any, /) -> UniqueInverse:
    """Return the different elements and, for each element, its index among them."""
    values, _, inverse, _ = _unique(x, "unique_inverse")
    return UniqueInverse(wrap(values), wrap(inverse))


@row("unique_values", host=_REASON)
def unique_values(x: Any, /) -> Array:
    """Return the different elements; NaN differs from itself."""
    return wrap(_unique(x, "unique_values")[0])


@row("unique", standard=False, host=_REASON)
def unique(
    ar: Any,
    /,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """Return the different elements, or slices along `axis`, in order; and what else is asked for, in a tuple."""
    array = concrete(ar, "unique", "use ma.sort, and a mask of the first of equals")
    if axis is not None:
        axis = axis_of(axis, array.ndim, "unique")
    found = np.unique(array, return_index, return_inverse, return_counts, axis, equal_nan=equal_nan)
    return tuple(map(wrap, found)) if isinstance(found, tuple) else wrap(found)
