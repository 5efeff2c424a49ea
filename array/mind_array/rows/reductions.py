# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
"""Sums, extremes and other functions that take many elements to one, and cumulative ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mind_dialect import ptir

from ..array import Array
from ..dtypes import DType, accumulated, bool_, int64, kind_of, real_of
from ..emit import constant, emit
from ..faults import fault
from ..operands import array_of, axes_of, axis_of, cast, dtype_or, floats_of, is_dynamic, one
from ..table import PIECEWISE, SMOOTH, row
from . import elementwise as e
from .manipulation import along, concat, expand_dims, reshape, reshaped, stack
from .masks import identity, mask_of, selected, started
from .parts import abs_, select, square
from .shares import at_share, shares_of


def reduced(kind: str, x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    """The sum, greatest or least over axes; `x` itself if there are none."""
    return emit(ptir.ReduceOp, x, kind=kind, axes=axes, keepdims=bool(keepdims)) if axes else x


def count_of(x: Array, axes: tuple[int, ...], dtype: DType) -> Array | int:
    """The number of elements that a reduction over axes takes together; an array where a dimension has no size yet."""
    extents = [x.shape[a] for a in axes]
    if not is_dynamic(extents):
        return math.prod(extents)
    ones = constant(1, dtype, tuple(extents))
    return reduced("sum", ones, tuple(range(len(extents))), False)


@row("sum", category="numeric", derivative=SMOOTH)
def sum_(
    x: Any, /, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Array:
    """Return the sum over the axes, all for None; integers narrower than 64 bits are summed in 64."""
    array = array_of(x, "sum")
    wanted = dtype_or(dtype, accumulated(array.dtype))
    chosen = selected("sum", cast(array, wanted), where, "sum")
    return started("sum", reduced("sum", chosen, axes_of(axis, array.ndim, "sum"), keepdims), initial)


@row("prod", category="numeric", derivative=SMOOTH, domain=(0.5, 2.0))
def prod(
    x: Any, /, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Array:
    """Return the product over the axes, all for None; integers narrower than 64 bits are multiplied in 64."""
    array = array_of(x, "prod")
    wanted = dtype_or(dtype, accumulated(array.dtype))
    chosen = selected("prod", cast(array, wanted), where, "prod")
    return started("prod", reduced("prod", chosen, axes_of(axis, array.ndim, "prod"), keepdims), initial)


def _extreme(kind: str, x: Any, axis: Any, keepdims: bool, initial: Any, where: Any) -> Array:
    array = one(kind, "real", x)
    axes = axes_of(axis, array.ndim, kind)
    if where is not None and initial is None:
        raise fault("E1110", f"{kind}: where= may leave no element; pass initial= too", argument="initial", value=None)
    if initial is None and any(array.shape[a] == 0 for a in axes if not isinstance(array.shape[a], str)):
        message = f"{kind} of no elements: axes {list(axes)} of shape {list(array.shape)}"
        raise fault("E1110", message, argument="x", value=str(array.shape))
    return started(kind, reduced(kind, selected(kind, array, where, kind), axes, keepdims), initial)


@row("max", "amax", category="real", derivative=PIECEWISE)
def max_(x: Any, /, axis: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = None) -> Array:
    """Return the greatest element over the axes, all for None; NaN if there is one, a `ValueError` of no elements."""
    return _extreme("max", x, axis, keepdims, initial, where)


@row("min", "amin", category="real", derivative=PIECEWISE)
def min_(x: Any, /, axis: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = None) -> Array:
    """Return the least element over the axes, all for None; NaN if there is one, a `ValueError` of no elements."""
    return _extreme("min", x, axis, keepdims, initial, where)


@row("mean", category="floating", derivative=SMOOTH)
def mean(x: Any, /, axis: Any = None, *, keepdims: bool = False, where: Any = None) -> Array:
    """Return the sum over the axes divided by the number of elements."""
    array = one("mean", "floating", x)
    axes = axes_of(axis, array.ndim, "mean")
    if where is not None:
        count = reduced("sum", cast(mask_of(where, array, "mean"), array.dtype), axes, keepdims)
        return e.divide(reduced("sum", selected("sum", array, where, "mean"), axes, keepdims), count)
    return e.divide(reduced("sum", array, axes, keepdims), _divisor(count_of(array, axes, array.dtype)))


def _divisor(n: Array | int) -> Any:
    return float(n) if isinstance(n, int) else n


@row("var", category="floating", derivative=SMOOTH)
def var(x: Any, /, axis: Any = None, *, correction: float = 0.0, keepdims: bool = False, ddof: float | None = None) -> Array:
    """
    Return the mean square distance to the mean, the sum divided by the number of elements less `correction`.

    `ddof` is another name of `correction`.
    """
    correction = correction if ddof is None else ddof
    array = one("var", "floating", x)
    axes = axes_of(axis, array.ndim, "var")
    centred = e.subtract(array, mean(array, axis=axes, keepdims=True)) if axes else e.subtract(array, array)
    squares = square(abs_(centred)) if kind_of(array.dtype) == "c" else square(centred)
    n = count_of(array, axes, real_of(array.dtype))
    total = reduced("sum", squares, axes, keepdims)
    if isinstance(n, int):
        less = n - correction
        if less == 0:
            return e.divide(total, constant(0, total.dtype, total.shape))
        return e.divide(total, float(less))
    return e.divide(total, e.subtract(n, float(correction)))


@row("std", category="floating", derivative=SMOOTH)
def std(x: Any, /, axis: Any = None, *, correction: float = 0.0, keepdims: bool = False, ddof: float | None = None) -> Array:
    """Return the square root of the variance."""
    return e.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims, ddof=ddof))


# Truth and counts


def truth(x: Array) -> Array:
    """Test whether each element differs from 0."""
    if kind_of(x.dtype) == "b":
        return x
    return e.not_equal(x, constant(0, x.dtype, x.shape)) if kind_of(x.dtype) == "c" else cast(x, bool_)


@row("all", category="all")
def all_(x: Any, /, axis: Any = None, *, keepdims: bool = False, where: Any = None) -> Array:
    """Return whether all elements over the axes differ from 0; True of none."""
    array = array_of(x, "all")
    return reduced("min", selected("min", truth(array), where, "all"), axes_of(axis, array.ndim, "all"), keepdims)


@row("any", category="all")
def any_(x: Any, /, axis: Any = None, *, keepdims: bool = False, where: Any = None) -> Array:
    """Return whether an element over the axes differs from 0; False of none."""
    array = array_of(x, "any")
    return reduced("max", selected("max", truth(array), where, "any"), axes_of(axis, array.ndim, "any"), keepdims)


@row("count_nonzero", category="all")
def count_nonzero(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    """Return how many elements over the axes differ from 0."""
    array = array_of(x, "count_nonzero")
    return reduced("sum", cast(truth(array), int64), axes_of(axis, array.ndim, "count_nonzero"), keepdims)


# Cumulative


def _cumulative(name: str, x: Any, axis: Any, dtype: Any, include_initial: bool, start: int) -> Array:
    array = array_of(x, name)
    if axis is None:
        if array.ndim != 1:
            raise fault("E1110", f"{name}: axis is None for rank {array.ndim}, expected an axis", argument="axis", value=None)
        axis = 0
    place = axis_of(axis, array.ndim, name)
    array = cast(array, dtype_or(dtype, accumulated(array.dtype)))
    if name == "cumulative_sum":
        found = emit(ptir.CumulativeSumOp, array, axis=place, exclusive=False, reverse=False)
    else:
        found = emit(ptir.CumulativeOp, array, kind="prod", axis=place, exclusive=False, reverse=False)
    if not include_initial:
        return found
    first = constant(start, array.dtype, (*array.shape[:place], 1, *array.shape[place + 1 :]))
    return concat([first, found], axis=place)


def running(kind: str, x: Any, axis: int = 0, dtype: Any = None) -> Array:
    """Return the greatest (`max`) or least (`min`) of all elements along `axis` up to each one, as NumPy's `accumulate`."""
    array = array_of(x, f"{kind}imum.accumulate")
    array = array if dtype is None else cast(array, dtype_or(dtype, array.dtype))
    return emit(ptir.CumulativeOp, array, kind=kind, axis=axis_of(axis, array.ndim, kind), exclusive=False, reverse=False)


@row(standard=False, category="real", derivative=PIECEWISE)
def cummax(a: Any, /, axis: int | None = None) -> Array:
    """Return the greatest of all elements along `axis` up to each one, in row-major order for None; NaN from a NaN on."""
    return running("max", *along(one("cummax", "real", a), axis, "cummax"))


@row(standard=False, category="real", derivative=PIECEWISE)
def cummin(a: Any, /, axis: int | None = None) -> Array:
    """Return the least of all elements along `axis` up to each one, in row-major order for None; NaN from a NaN on."""
    return running("min", *along(one("cummin", "real", a), axis, "cummin"))


@row("cumulative_sum", category="numeric", derivative=SMOOTH)
def cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Array:
    """Return the sums along `axis` of all elements up to each one; with `include_initial` after a 0."""
    return _cumulative("cumulative_sum", x, axis, dtype, include_initial, 0)


@row("cumulative_prod", category="numeric", derivative=SMOOTH, domain=(0.5, 2.0))
def cumulative_prod(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Array:
    """Return the products along `axis` of all elements up to each one; with `include_initial` after a 1."""
    return _cumulative("cumulative_prod", x, axis, dtype, include_initial, 1)


@row("diff", category="all", derivative=SMOOTH)
def diff(x: Any, /, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Array:
    """Return the differences of neighbours along `axis`, `n` times; of bool whether they differ."""
    array = array_of(x, "diff")
    if n < 0:
        raise fault("E1110", f"diff: n is {n}, expected 0 or more", argument="n", value=n)
    place = axis_of(axis, array.ndim, "diff")
    parts = [array_of(p, "diff") for p in (prepend, array, append) if p is not None]
    if len(parts) > 1 and n:
        array = concat(parts, axis=place)
    size = array.shape[place]
    for _ in range(int(n) if isinstance(size, str) else min(int(n), size)):
        size = array.shape[place]
        end = -1 if isinstance(size, str) else max(size - 1, 0)
        before: tuple[Any, ...] = (slice(None),) * place
        after, ahead = array[(*before, slice(1, None))], array[(*before, slice(0, end))]
        array = e.not_equal(after, ahead) if kind_of(array.dtype) == "b" else e.subtract(after, ahead)
    return array


# The places of extremes


def _place_of_extreme(name: str, x: Any, axis: int | None, keepdims: bool) -> Array:
    array = one(name, "real", x)
    given = array
    if axis is None:
        array, place = reshape(array, (-1,)), 0
    else:
        place = axis_of(axis, array.ndim, name)
    if array.shape[place] == 0:
        raise fault(
            "E1110", f"{name} of no elements: axis {axis} of shape {list(given.shape)}", argument="x", value=str(given.shape)
        )
    op = ptir.ArgMaxOp if name == "argmax" else ptir.ArgMinOp
    keep = bool(keepdims) and axis is not None
    found = emit(op, array, axis=place, keepdims=keep, output_dtype="si64")
    return reshaped(found, (1,) * given.ndim) if keepdims and axis is None else found


@row("argmax", category="real")
def argmax(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """Return the index of the first greatest element along `axis`, of the flattened array for None."""
    return _place_of_extreme("argmax", x, axis, keepdims)


@row("argmin", category="real")
def argmin(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """Return the index of the first least element along `axis`, of the flattened array for None."""
    return _place_of_extreme("argmin", x, axis, keepdims)


# Order


@row("sort", category="real", derivative=PIECEWISE)
def sort(x: Any, /, axis: int | None = -1, *, descending: bool = False, stable: bool = True, kind: Any = None) -> Array:
    """
    Return the elements along `axis` in order, equals as they stood, whatever the `kind`; NaN is greater than all numbers.

    For None all elements are in one axis.
    """
    array, place = along(one("sort", "ordered", x), axis, "sort")
    return emit(ptir.SortOp, array, axis=place, descending=bool(descending))


@row("argsort", category="real")
def argsort(x: Any, /, axis: int | None = -1, *, descending: bool = False, stable: bool = True, kind: Any = None) -> Array:
    """Return the indices that put the elements along `axis` (all elements for None) in order, equals as they stood."""
    array, place = along(one("argsort", "ordered", x), axis, "argsort")
    k = array.shape[place]
    return emit(ptir.TopKOp, array, k=k, axis=place, largest=bool(descending), indices_dtype="si64")[1]


@row(standard=False, category="real", derivative=PIECEWISE)
def top_k(x: Any, k: int, /, *, axis: int = -1, largest: bool = True) -> tuple[Array, Array]:
    """Return the `k` greatest (or least) elements along `axis`, best first, and their indices."""
    array = one("top_k", "ordered", x)
    place = axis_of(axis, array.ndim, "top_k")
    return emit(ptir.TopKOp, array, k=int(k), axis=place, largest=bool(largest), indices_dtype="si64")


_SEARCH_LIMIT = 32
"""The length of the longest vector of which each element is compared with each one that is sought; longer ones are bisected."""


@row("searchsorted", category="real", arrays=2)
def searchsorted(x1: Any, x2: Any, /, side: str = "left", sorter: Any = None) -> Array:
    """Return where the elements of `x2` would stand in the ordered vector `x1`, before (`left`) or after its equals."""
    from ..operands import joint_dtype, together
    from .indexing import take

    if side not in ("left", "right"):
        raise fault("E1110", f"searchsorted: side is {side!r}, expected 'left' or 'right'", argument="side", value=side)
    ordered, wanted = array_of(x1, "searchsorted"), array_of(x2, "searchsorted")
    if ordered.ndim != 1:
        raise fault("E3002", f"searchsorted: x1 of rank {ordered.ndim}, expected a vector", expected=1, actual=ordered.ndim)
    if sorter is not None:
        ordered = take(ordered, sorter, axis=0)
    dtype, _ = joint_dtype([ordered, wanted])
    ordered, wanted = cast(ordered, dtype), cast(wanted, dtype)
    count = ordered.shape[0]
    if not isinstance(count, str) and count > _SEARCH_LIMIT:
        return _bisected(ordered, wanted, side)
    left, right = together("searchsorted", "ordered", expand_dims(wanted, axis=-1), ordered)
    before = _before(right, left, side)
    return reduced("sum", cast(before, int64), (wanted.ndim,), False)


def _before(ordered: Array, wanted: Array, side: str) -> Array:
    """Test whether an ordered element stands before the place; NaN is greater than all numbers."""
    greater = e.greater(ordered, wanted) if side == "right" else e.greater_equal(ordered, wanted)
    if kind_of(ordered.dtype) != "f":
        return e.logical_not(greater)
    is_nan, wants_nan = e.not_equal(ordered, ordered), e.not_equal(wanted, wanted)
    beyond = e.logical_or(greater, is_nan)
    behind_nan = e.logical_not(is_nan) if side == "left" else e.equal(is_nan, is_nan)
    return select(wants_nan, behind_nan, e.logical_not(beyond))


def _bisected(ordered: Array, wanted: Array, side: str) -> Array:
    """One step for each bit of the length."""
    n = int(ordered.shape[0])
    low = constant(0, int64, wanted.shape)
    for shift in reversed(range(n.bit_length())):
        reach = e.add(low, constant(1 << shift, int64, wanted.shape))
        fits = e.less_equal(reach, constant(n, int64, wanted.shape))
        place = select(fits, e.subtract(reach, constant(1, int64, wanted.shape)), constant(0, int64, wanted.shape))
        before = _before(emit(ptir.TakeOp, ordered, place), wanted, side)
        low = select(e.logical_and(fits, before), reach, low)
    return low


# Of NumPy, beyond the standard


@row("ptp", standard=False, category="real", derivative=PIECEWISE)
def ptp(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    """Return the greatest less the least element over the axes."""
    return e.subtract(max_(x, axis=axis, keepdims=keepdims), min_(x, axis=axis, keepdims=keepdims))


@row("quantile", standard=False, category="float", derivative=PIECEWISE)
def quantile(x: Any, q: float | Sequence[float], /, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """
    Return the number below which a share `q` of the elements lies, between neighbours along a line; NaN if one is NaN.

    Several shares give several results along a first axis.
    """
    array = one("quantile", "float", x)
    place = 0 if axis is None else axis_of(axis, array.ndim, "quantile")
    ordered = sort(reshape(array, (-1,)) if axis is None else array, axis=place)
    shares = shares_of(q)
    several = isinstance(shares, list)
    found = [at_share(ordered, share, place) for share in (shares if several else [shares])]
    if axis is None and keepdims:
        found = [reshaped(part, (1,) * array.ndim) for part in found]
    elif not keepdims:
        found = [reshaped(part, tuple([m for i, m in enumerate(part.shape) if i != place])) for part in found]
    return stack(found) if several else found[0]


@row("median", standard=False, category="float", derivative=PIECEWISE)
def median(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """Return the number below which half of the elements lies."""
    return quantile(x, 0.5, axis=axis, keepdims=keepdims)


def _without_nan(name: str, doc: str, function: Any, kind: str, category: str) -> Any:
    def made(x: Any, /, axis: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = None) -> Array:
        array = one(name, category, x)
        if kind_of(array.dtype) not in "fc":
            return function(array, axis=axis, keepdims=keepdims, initial=initial, where=where)
        is_number = e.equal(array, array)
        kept = select(is_number, array, constant(identity(kind, array.dtype), array.dtype, array.shape))
        found = function(kept, axis=axis, keepdims=keepdims, initial=initial, where=where)
        if kind == "sum":
            return found
        none = e.logical_not(any_(is_number, axis=axis, keepdims=keepdims, where=where))
        return found if initial is not None else select(none, constant(math.nan, found.dtype, found.shape), found)

    made.__name__, made.__doc__ = name, doc
    return row(name, standard=False, category=category, derivative=PIECEWISE)(made)


nansum = _without_nan("nansum", "Return the sum over the axes of the elements that are not NaN.", sum_, "sum", "numeric")
nanmax = _without_nan("nanmax", "Return the greatest element over the axes that is not NaN; NaN of none.", max_, "max", "real")
nanmin = _without_nan("nanmin", "Return the least element over the axes that is not NaN; NaN of none.", min_, "min", "real")


@row("nanmean", standard=False, category="float", derivative=PIECEWISE)
def nanmean(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    """Return the mean over the axes of the elements that are not NaN, of integers in float64."""
    array = one("nanmean", "float", floats_of(x, "nanmean"))
    counted = reduced("sum", cast(e.equal(array, array), array.dtype), axes_of(axis, array.ndim, "nanmean"), keepdims)
    return e.divide(nansum(array, axis=axis, keepdims=keepdims), counted)


@row("allclose", standard=False, category="numeric", arrays=2)
def allclose(a: Any, b: Any, /, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Array:
    """Return whether all elements are close, as `isclose` says."""
    from .mathematics import isclose

    return all_(isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan))
