"""NumPy's functions on shapes and indices beyond the standard, as compositions of other rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..array import Array
from ..dtypes import bool_, int64
from ..emit import constant
from ..faults import fault
from ..kinds import is_list, is_sequence
from ..operands import array_of, axis_of, broadcast, broadcast_shapes, cast, static_size
from ..table import PIECEWISE, SMOOTH, row
from . import elementwise as e
from .creation import asarray, eye, iota, ones, tril, zeros
from .indexing import diagonal_of, take, take_along_axis
from .manipulation import (
    along,
    at_least,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    moveaxis,
    pad,
    ravel,
    reshape,
    split,
    stack,
    swapaxes,
)
from .mathematics import where
from .reductions import all_, any_, argsort, diff

# Ranks and sizes


@row("ndim", standard=False)
def ndim(a: Any, /) -> int:
    """Return the number of axes."""
    return array_of(a, "ndim").ndim


@row("shape", standard=False)
def shape(a: Any, /) -> tuple[int, ...]:
    """Return the extents of the axes."""
    return array_of(a, "shape").shape


@row("size", standard=False)
def size(a: Any, /, axis: int | None = None) -> int | None:
    """Return the number of elements, or the extent of an axis."""
    array = array_of(a, "size")
    return array.size if axis is None else array.shape[axis_of(axis, array.ndim, "size")]


@row("copy", standard=False, derivative=SMOOTH)
def copy(a: Any, /) -> Array:
    """Return an array of its own memory."""
    return asarray(a, copy=True)


def _ranked(name: str, rank: int) -> Callable[..., Any]:
    def function(*arrays: Any) -> Any:
        found = [at_least(array_of(x, name), rank) for x in arrays]
        return found[0] if len(found) == 1 else found

    function.__name__, function.__doc__ = name, f"Return arrays of at least {rank} axes; a list of them for several."
    return row(name, standard=False, arrays=-1, derivative=SMOOTH)(function)


atleast_1d, atleast_2d, atleast_3d = (_ranked(f"atleast_{rank}d", rank) for rank in (1, 2, 3))


# Joins and parts


@row("column_stack", standard=False, arrays=-1, derivative=SMOOTH)
def column_stack(arrays: Any, /) -> Array:
    """Return arrays joined along their second axis, vectors as columns."""
    given = [array_of(x, "column_stack") for x in arrays]
    return concat([x if x.ndim > 1 else reshape(x, (-1, 1)) for x in given], axis=1)


@row("block", standard=False, arrays=-1, derivative=SMOOTH)
def block(arrays: Any, /) -> Array:
    """Return an array assembled from nested lists of blocks: the innermost are joined along the last axis."""
    depth = _depth(arrays)
    rank = max(depth, *(x.ndim for x in _blocks(arrays)))

    def joined(part: Any, level: int) -> Array:
        if not is_list(part):
            return reshape(array := array_of(part, "block"), (*(1,) * (rank - array.ndim), *array.shape))
        return concat([joined(inner, level + 1) for inner in part], axis=rank - depth + level)

    return joined(arrays, 0)


def _depth(part: Any) -> int:
    """The depth of nested lists, equal everywhere and without empty ones; E1110 else."""
    if not is_list(part):
        return 0
    depths = {_depth(inner) for inner in part}
    if len(depths) != 1:
        raise fault(
            "E1110", f"block: lists of depths {sorted(depths)}, expected one depth and no empty list", argument="arrays", value=""
        )
    return 1 + depths.pop()


def _blocks(part: Any) -> list[Array]:
    return [x for inner in part for x in _blocks(inner)] if is_list(part) else [array_of(part, "block")]


def _split_along(name: str, axis: int) -> Callable[..., Any]:
    def function(ary: Any, indices_or_sections: Any, /) -> list[Array]:
        array = array_of(ary, name)
        return split(array, indices_or_sections, axis=0 if name == "hsplit" and array.ndim == 1 else axis)

    function.__name__, function.__doc__ = name, f"Return the parts of an array along axis {axis}, equal ones or between indices."
    return row(name, standard=False, derivative=SMOOTH)(function)


hsplit, vsplit, dsplit = (_split_along(name, axis) for name, axis in (("hsplit", 1), ("vsplit", 0), ("dsplit", 2)))


@row("append", standard=False, arrays=2, derivative=SMOOTH)
def append(arr: Any, values: Any, /, axis: int | None = None) -> Array:
    """Return `arr` followed by `values` along `axis`, both in one axis where it is None."""
    both = [array_of(x, "append") for x in (arr, values)]
    return concat([ravel(x) for x in both] if axis is None else both, axis=axis or 0)


@row("delete", standard=False, derivative=SMOOTH)
def delete(arr: Any, obj: int | slice | Sequence[int], /, axis: int | None = None) -> Array:
    """Return `arr` without the elements at `obj` along `axis`: a number, a slice or a sequence, not traced."""
    array, place = along(arr, axis, "delete")
    kept = _placed("delete", lambda places: np.delete(places, _static(obj, "delete")), array.shape[place])
    return take(array, kept, axis=place)


@row("insert", standard=False, arrays=2, derivative=SMOOTH)
def insert(arr: Any, obj: int | slice | Sequence[int], values: Any, /, axis: int | None = None) -> Array:
    """Return `arr` with `values` before the elements at `obj` along `axis`: a number, a slice or a sequence, not traced."""
    array, place = along(arr, axis, "insert")
    where_, sliced = _static(obj, "insert"), isinstance(obj, slice)
    given = cast(array_of(values, "insert"), array.dtype)
    n = static_size(array.shape[place], "insert")
    if np.ndim(where_) == 0 and not sliced:
        given = reshape(given, (*(1,) * (array.ndim - given.ndim), *given.shape))
        given = given if given.ndim == 1 else moveaxis(given, 0, place)
        count = static_size(given.shape[place], "insert")
    else:
        count = len(_placed("insert", lambda places: places[where_], n + 1))
    extents = (*array.shape[:place], count, *array.shape[place + 1 :])
    given = broadcast_to(given, extents)
    added = np.arange(n, n + count)
    order = _placed("insert", lambda places: np.insert(places, where_, added), n)
    return take(concat([array, given], axis=place), order, axis=place)


def _static(obj: Any, function: str) -> Any:
    """Indices that are known while a function is traced."""
    if isinstance(obj, Array):
        return obj.concrete(function, "pass indices that are no arrays")
    return np.asarray(obj, None if len(obj) else np.int64) if is_sequence(obj) else obj


def _placed(function: str, change: Callable[[Any], Any], n: Any) -> Array:
    """The places that elements come from, by what NumPy does to them."""
    try:
        return asarray(change(np.arange(static_size(n, function))))
    except (IndexError, ValueError) as err:
        raise fault("E6001", f"{function}: {err}", indices=str(err), shape=[n]) from None


@row("ediff1d", standard=False, category="numeric", derivative=SMOOTH)
def ediff1d(ary: Any, /, to_end: Any = None, to_begin: Any = None) -> Array:
    """Return the differences of neighbours in row-major order, between numbers to begin and to end with."""
    array = ravel(ary)
    ends = [None if x is None else ravel(cast(array_of(x, "ediff1d"), array.dtype)) for x in (to_begin, to_end)]
    return concat([x for x in (ends[0], diff(array), ends[1]) if x is not None])


# Rotations and diagonals


@row("fliplr", standard=False, derivative=SMOOTH)
def fliplr(m: Any, /) -> Array:
    """Return the columns in reverse order."""
    return flip(m, axis=1)


@row("flipud", standard=False, derivative=SMOOTH)
def flipud(m: Any, /) -> Array:
    """Return the rows in reverse order."""
    return flip(m, axis=0)


@row("rot90", standard=False, derivative=SMOOTH)
def rot90(m: Any, /, k: int = 1, axes: Sequence[int] = (0, 1)) -> Array:
    """Return `m` rotated by `k` times 90 degrees in the plane of two axes, from the first towards the second."""
    array = array_of(m, "rot90")
    first, second = _two_axes("rot90", axes, array.ndim)
    match k % 4:
        case 0:
            return array
        case 1:
            return swapaxes(flip(array, axis=second), first, second)
        case 2:
            return flip(flip(array, axis=first), axis=second)
        case _:
            return flip(swapaxes(array, first, second), axis=second)


def _two_axes(function: str, axes: Sequence[int], rank: int) -> tuple[int, int]:
    """Two different axes; E1110 else."""
    if len(axes) != 2:
        raise fault("E1110", f"{function}: axes {tuple(axes)}, expected two", argument="axes", value=str(axes))
    first, second = (axis_of(axis, rank, function) for axis in axes)
    if first == second:
        raise fault("E1110", f"{function}: axes {tuple(axes)}, expected two different ones", argument="axes", value=str(axes))
    return first, second


@row("diagonal", standard=False, derivative=SMOOTH)
def diagonal(a: Any, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Return the elements whose index along `axis2` is that along `axis1` plus `offset`, as last axis."""
    array = array_of(a, "diagonal")
    return diagonal_of(moveaxis(array, _two_axes("diagonal", (axis1, axis2), array.ndim), (-2, -1)), int(offset))


@row("diag", standard=False, derivative=SMOOTH)
def diag(v: Any, /, k: int = 0) -> Array:
    """Return the matrix whose `k`-th diagonal is a vector, or the diagonal of a matrix."""
    array = array_of(v, "diag")
    if array.ndim == 2:
        return diagonal_of(array, k)
    if array.ndim != 1:
        raise fault("E3002", f"diag: rank {array.ndim}, expected 1 or 2", expected="1 or 2", actual=array.ndim)
    side = static_size(array.shape[0], "diag") + abs(k)
    padded = pad(array, (0, k) if k > 0 else (-k, 0))
    return where(eye(side, k=k, dtype=bool_), expand_dims(padded, -1), zeros((), array.dtype))


@row("diagflat", standard=False, derivative=SMOOTH)
def diagflat(v: Any, /, k: int = 0) -> Array:
    """Return the matrix whose `k`-th diagonal holds the elements in row-major order."""
    return diag(ravel(v), k)


@row("tri", standard=False, arrays=0)
def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float) -> Array:
    """Return a matrix of ones at and below the `k`-th diagonal, zeros above."""
    return tril(ones((N, N if M is None else M), dtype), k)


def _static_indices(name: str, arrays: int, doc: str) -> Callable[..., Any]:
    theirs: Any = getattr(np, name)

    def function(*args: Any, **options: Any) -> tuple[Array, ...]:
        given = args
        if arrays:  # of the array only the shape counts
            given = (np.empty([static_size(n, name) for n in array_of(args[0], name).shape], bool), *args[1:])
        try:
            return tuple([asarray(x) for x in theirs(*given, **options)])
        except (TypeError, ValueError) as err:
            raise fault("E1110", f"{name}: {err}", argument="", value="") from None

    function.__name__, function.__doc__ = name, doc
    return row(name, standard=False, arrays=arrays)(function)


for _name, _arrays, _what in (
    ("tril_indices", 0, "at and below a diagonal of a matrix of n rows"),
    ("triu_indices", 0, "at and above a diagonal of a matrix of n rows"),
    ("tril_indices_from", 1, "at and below a diagonal of a matrix"),
    ("triu_indices_from", 1, "at and above a diagonal of a matrix"),
    ("diag_indices", 0, "of the main diagonal of n rows"),
    ("diag_indices_from", 1, "of the main diagonal of an array"),
):
    _static_indices(_name, _arrays, f"Return the indices {_what}, an array for each axis.")


# Choices


@row("select", standard=False, arrays=-1, derivative=PIECEWISE)
def select_(condlist: Any, choicelist: Any, /, default: Any = 0) -> Array:
    """Return elements of the first choice whose condition holds, `default` where none does."""
    if len(condlist) != len(choicelist) or not len(condlist):
        message = f"select: {len(condlist)} conditions for {len(choicelist)} choices, expected one each"
        raise fault("E1110", message, argument="choicelist", value=len(choicelist))
    found = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        found = where(condition, choice, found)
    return found


@row("choose", standard=False, arrays=-1, derivative=SMOOTH)
def choose(a: Any, choices: Any, /) -> Array:
    """Return at each place the element there of the choice that `a` numbers; E6001 for a number out of range."""
    index, given = array_of(a, "choose"), [array_of(x, "choose") for x in choices]
    extents = broadcast_shapes(index.shape, *(x.shape for x in given))
    stacked = stack([broadcast(x, extents) for x in given])
    return take_along_axis(stacked, expand_dims(broadcast(index, extents), 0), axis=0)[0]


@row("isin", standard=False, arrays=2)
def isin(element: Any, test_elements: Any, /, assume_unique: bool = False, invert: bool = False) -> Array:
    """Return whether each element is among others, or is not where `invert` holds."""
    array = array_of(element, "isin")
    found = any_(e.equal(expand_dims(array, -1), ravel(test_elements)), axis=-1)
    return e.logical_not(found) if invert else found


@row("array_equal", standard=False, arrays=2)
def array_equal(a1: Any, a2: Any, /, equal_nan: bool = False) -> Array:
    """Return whether arrays have one shape and equal elements; NaN equals NaN where `equal_nan` holds."""
    a, b = array_of(a1, "array_equal"), array_of(a2, "array_equal")
    if a.shape != b.shape:
        return constant(False, bool_, ())
    same = e.equal(a, b)
    if equal_nan:
        same = e.logical_or(same, e.logical_and(e.not_equal(a, a), e.not_equal(b, b)))
    return all_(same)


@row("lexsort", standard=False, arrays=-1)
def lexsort(keys: Any, /, axis: int = -1) -> Array:
    """Return the order that sorts by the last key, among its equals by the one before, and so on."""
    given = [array_of(key, "lexsort") for key in keys]
    if not given:
        raise fault("E1110", "lexsort: no keys, expected at least one", argument="keys", value="()")
    place = axis_of(axis, given[0].ndim, "lexsort")
    order = iota(given[0].shape, place, int64)
    for key in given:
        later = argsort(take_along_axis(key, order, axis=place), axis=place, stable=True)
        order = take_along_axis(order, later, axis=place)
    return order
