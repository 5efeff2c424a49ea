"""NumPy's statistics, numerical integrals and histograms beyond the standard, as compositions of other rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..array import Array
from ..dim_values import dim_value
from ..dtypes import int64, kind_of, real_of
from ..emit import check_memory
from ..faults import fault
from ..kinds import is_sequence
from ..operands import array_of, axes_of, axis_of, broadcast, cast, floats_of, is_number, one, static_size
from ..table import PIECEWISE, SMOOTH, row
from ..trace import TracedArray
from . import elementwise as e
from .contraction import matmul
from .creation import asarray, ones_like
from .indexing import diagonal_of, segment_sum, take, take_along_axis
from .manipulation import along, concat, expand_dims, moveaxis, ravel, reshape, reshaped, squeeze, transposed
from .mathematics import remainder, where
from .parts import abs_, conj, isnan
from .reductions import (
    all_,
    argmax,
    argmin,
    count_nonzero,
    cumulative_prod,
    cumulative_sum,
    diff,
    max_,
    mean,
    min_,
    nanmean,
    prod,
    quantile,
    searchsorted,
    sort,
    sum_,
)
from .sequences import linspace
from .shares import shares_of

# Running sums and products


@row("average", standard=False, category="floating", derivative=SMOOTH)
def average(x: Any, /, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Array:
    """Return the mean, or the mean weighted by `weights`, of the same shape or of the extents along the axes."""
    array = one("average", "floating", x)
    if weights is None:
        return mean(array, axis=axis, keepdims=keepdims)
    share = _weights(asarray(weights) if is_sequence(weights) else array_of(weights, "average", "weights"), array, axis)
    total = sum_(e.multiply(array, share), axis=axis, keepdims=keepdims)
    return e.divide(total, sum_(share, axis=axis, keepdims=keepdims))


def _weights(share: Array, x: Array, axis: Any) -> Array:
    """Weights in the shape of the array; E3001 for those that are neither of that shape nor of the extents along the axes."""
    if share.shape == x.shape:
        return share
    axes = axes_of(axis, x.ndim, "average")
    if axis is None or share.shape != tuple([x.shape[a] for a in axes]):
        message = f"average: weights of shape {list(share.shape)}, expected {list(x.shape)}, or the extents along axis="
        raise fault("E3001", message, shapes=(x.shape, share.shape), dimension=0, extents=(x.shape, share.shape))
    ordered = transposed(share, tuple([axes.index(a) for a in sorted(axes)]))
    return broadcast(reshaped(ordered, tuple([n if a in axes else 1 for a, n in enumerate(x.shape)])), x.shape)


@row("cumsum", standard=False, category="all", derivative=SMOOTH)
def cumsum(a: Any, /, axis: int | None = None, dtype: Any = None) -> Array:
    """Return sums of the elements up to each, along `axis` or in row-major order."""
    array, place = along(a, axis, "cumsum")
    return cumulative_sum(_counted(array), axis=place, dtype=dtype)


@row("cumprod", standard=False, category="all", derivative=SMOOTH, domain=(0.5, 2.0))
def cumprod(a: Any, /, axis: int | None = None, dtype: Any = None) -> Array:
    """Return products of the elements up to each, along `axis` or in row-major order."""
    array, place = along(a, axis, "cumprod")
    return cumulative_prod(_counted(array), axis=place, dtype=dtype)


def _counted(x: Array) -> Array:
    return cast(x, int64) if kind_of(x.dtype) == "b" else x


def _filled(a: Any, filling: float, function: str) -> Array:
    """Elements with a number in place of NaN."""
    array = array_of(a, function)
    if kind_of(array.dtype) not in "fc":
        return array
    return where(isnan(array), filling, array)


@row("nancumsum", standard=False, category="float", derivative=PIECEWISE)
def nancumsum(a: Any, /, axis: int | None = None, dtype: Any = None) -> Array:
    """Return running sums with 0 in place of NaN."""
    return cumsum(_filled(a, 0.0, "nancumsum"), axis, dtype)


@row("nancumprod", standard=False, category="float", derivative=PIECEWISE, domain=(0.5, 2.0))
def nancumprod(a: Any, /, axis: int | None = None, dtype: Any = None) -> Array:
    """Return running products with 1 in place of NaN."""
    return cumprod(_filled(a, 1.0, "nancumprod"), axis, dtype)


# Statistics


@row("nanprod", standard=False, category="float", derivative=PIECEWISE, domain=(0.5, 2.0))
def nanprod(a: Any, /, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Array:
    """Return the product over the axes of the elements that are not NaN."""
    return prod(_filled(a, 1.0, "nanprod"), axis, dtype, keepdims=keepdims)


@row("nanvar", standard=False, category="float", derivative=PIECEWISE)
def nanvar(a: Any, /, axis: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Array:
    """Return the variance over the axes of the elements that are not NaN; NaN where there are not more than `ddof`."""
    array = floats_of(a, "nanvar")
    axes = axes_of(axis, array.ndim, "nanvar")
    is_number = e.logical_not(isnan(array))
    off = where(is_number, array - nanmean(array, axis=axes, keepdims=True), 0.0)
    freedom = cast(count_nonzero(is_number, axes, keepdims=keepdims), array.dtype) - ddof
    is_positive = e.greater(freedom, 0.0)
    return where(is_positive, sum_(off * off, axes, keepdims=keepdims) / where(is_positive, freedom, 1.0), math.nan)


@row("nanstd", standard=False, category="float", derivative=PIECEWISE)
def nanstd(a: Any, /, axis: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Array:
    """Return the standard deviation over the axes of the elements that are not NaN."""
    return e.sqrt(nanvar(a, axis, ddof=ddof, keepdims=keepdims))


@row("percentile", standard=False, category="float", derivative=PIECEWISE)
def percentile(a: Any, q: float | Sequence[float], /, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """Return the numbers below which `q` percent of the elements lie; of several `q` along a first axis."""
    percents = shares_of(q)
    shares = [p / 100 for p in percents] if isinstance(percents, list) else percents / 100
    return quantile(floats_of(a, "percentile"), shares, axis, keepdims=keepdims)


@row("nanquantile", standard=False, category="float", derivative=PIECEWISE)
def nanquantile(a: Any, q: float, /, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """Return the number below which a share `q` of the elements that are not NaN lies; NaN where there are none."""
    given = floats_of(a, "nanquantile")
    array, place = along(given, axis, "nanquantile")
    if not 0 <= q <= 1:
        raise fault("E1110", f"nanquantile: q is {q}, expected 0 to 1", argument="q", value=q)
    count = count_nonzero(e.logical_not(isnan(array)), place, keepdims=True)
    at = e.maximum(cast(count, array.dtype) - 1.0, 0.0) * float(q)
    low = cast(e.floor(at), int64)
    high = e.minimum(low + 1, e.maximum(count - 1, 0))
    ordered = sort(array, place)  # NaN is last in order
    below, above = (take_along_axis(ordered, i, place) for i in (low, high))
    share = at - e.floor(at)
    found = where(e.greater(share, 0.0), below * (1.0 - share) + above * share, below)
    if axis is None:
        return reshape(found, (1,) * given.ndim if keepdims else ())
    return found if keepdims else squeeze(found, place)


@row("nanpercentile", standard=False, category="float", derivative=PIECEWISE)
def nanpercentile(a: Any, q: float, /, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """Return the number below which `q` percent of the elements that are not NaN lie."""
    return nanquantile(a, q / 100, axis, keepdims=keepdims)


@row("nanmedian", standard=False, category="float", derivative=PIECEWISE)
def nanmedian(a: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """Return the number below which half of the elements that are not NaN lies."""
    return nanquantile(a, 0.5, axis, keepdims=keepdims)


def _place_without_nan(name: str, find: Any, filling: float, what: str) -> Any:
    def function(a: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Array:
        array = floats_of(a, name)
        found = find(_filled(array, filling, name), axis, keepdims=keepdims)
        return where(all_(isnan(array), axis, keepdims=keepdims), -1, found)

    function.__name__ = name
    function.__doc__ = f"Return the place of the {what} element that is not NaN; -1 where all are, which NumPy refuses."
    return row(name, standard=False, category="float")(function)


nanargmax = _place_without_nan("nanargmax", argmax, -math.inf, "greatest")
nanargmin = _place_without_nan("nanargmin", argmin, math.inf, "least")


@row("cov", standard=False, category="floating", derivative=SMOOTH)
def cov(m: Any, /, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None) -> Array:
    """Return the covariances of variables, which are rows, or columns unless `rowvar`; those of `y` follow those of `m`."""
    parts = [_variables(x, rowvar, "cov") for x in (m, y) if x is not None]
    array = concat(parts, axis=0) if len(parts) > 1 else parts[0]
    n, less = array.shape[1], (0 if bias else 1) if ddof is None else ddof
    freedom = e.maximum(dim_value(n) - less, 0) if isinstance(n, str) else float(max(n - less, 0))
    off = array - mean(array, 1, keepdims=True)
    found = matmul(off, conj(off).T) / freedom
    return reshape(found, ()) if found.shape == (1, 1) else found


def _variables(x: Any, rowvar: bool, function: str) -> Array:
    array = floats_of(x, function)
    if array.ndim > 2:
        raise fault("E3002", f"{function}: rank {array.ndim}, expected at most 2", expected="at most 2", actual=array.ndim)
    if array.ndim < 2:
        return reshape(array, (1, -1))
    return array if rowvar or array.shape[0] == 1 else array.T


@row("corrcoef", standard=False, category="float", derivative=SMOOTH)
def corrcoef(x: Any, /, y: Any = None, rowvar: bool = True) -> Array:
    """Return the correlation coefficients of variables, which are rows, or columns unless `rowvar`."""
    found = cov(x, y, rowvar)
    if found.ndim == 0:
        return found / found
    deviation = e.sqrt(e.reciprocal(diagonal_of(found, 0)))
    return found * expand_dims(deviation, 1) * deviation


# Histograms and tables


@row("bincount", standard=False, category="integer")
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Array:
    """
    Return how often each number from 0 to the greatest, at least to `minlength` - 1, occurs, or the sums of weights.

    Of a traced array exactly the numbers below `minlength`, as the size cannot depend on data: E1108 without it, E6001 in a call
    with another number. Negative numbers are E1110.
    """
    array = one("bincount", "integer", x)
    if isinstance(array, TracedArray):
        if not minlength:
            raise fault("E1108", "bincount: the size depends on data; pass minlength=", function="bincount")
    elif array.ndarray.size:
        least, most = int(array.ndarray.min()), int(array.ndarray.max())
        if least < 0:
            raise fault("E1110", f"bincount: x contains {least}, expected no negative numbers", argument="x", value=least)
        minlength = max(minlength, most + 1)
        check_memory((minlength,), int64)
    counted = ones_like(array, dtype=int64) if weights is None else floats_of(weights, "bincount", "weights")
    return segment_sum(counted, array, num_segments=int(minlength))


@row("digitize", standard=False, category="real", arrays=2)
def digitize(x: Any, bins: Any, /, right: bool = False) -> Array:
    """Return numbers of bins between growing edges: `bins[i-1] <= x < bins[i]`; `right` moves the equal sign."""
    return searchsorted(array_of(bins, "digitize", "bins"), array_of(x, "digitize"), side="left" if right else "right")


@row("histogram", standard=False, category="real")
def histogram(
    a: Any, /, bins: Any = 10, range: tuple[float, float] | None = None, density: bool = False, weights: Any = None
) -> tuple[Array, Array]:
    """Return how many elements each bin holds, or their weights, and the edges: given ones, or those of so many equal bins."""
    edges, place, inside = histogram_place(ravel(floats_of(a, "histogram")), bins, range)
    n = static_size(edges.shape[0], "histogram") - 1
    counted = inside if weights is None else ravel(floats_of(weights, "histogram", "weights"))
    counted = cast(inside, int64) if weights is None else where(inside, counted, 0.0)
    found = segment_sum(counted, where(inside, place, 0), num_segments=n)
    if density:
        found = cast(found, edges.dtype) / diff(edges) / cast(sum_(found), edges.dtype)
    return found, edges


def histogram_place(array: Array, bins: Any, given: Any) -> tuple[Array, Array, Array]:
    """Return the edges of bins, the bin of each element, and whether it is in one."""
    edges = _edges(array, bins, given)
    n = static_size(edges.shape[0], "histogram") - 1
    inside = e.logical_and(e.greater_equal(array, edges[0]), e.less_equal(array, take(edges, n, axis=0)))
    return edges, e.minimum(searchsorted(edges, array, side="right") - 1, n - 1), inside


def _edges(array: Array, bins: Any, given: Any) -> Array:
    if not isinstance(bins, int):
        edges = cast(array_of(bins, "histogram", "bins"), array.dtype)
        if edges.ndim != 1:
            raise fault(
                "E3002", f"histogram: bins of rank {edges.ndim}, expected a number or a vector", expected=1, actual=edges.ndim
            )
        return edges
    if bins < 1:
        raise fault("E1110", f"histogram: {bins} bins, expected at least 1", argument="bins", value=bins)
    if given is not None:
        low, high = (float(x) for x in given)
        return linspace(low - 0.5, high + 0.5, bins + 1) if low == high else linspace(low, high, bins + 1)
    low, high = min_(array), max_(array)
    same = e.equal(low, high)
    return linspace(where(same, low - 0.5, low), where(same, high + 0.5, high), bins + 1)


# Differences, integrals, interpolation


@row("trapezoid", standard=False, category="floating", derivative=SMOOTH)
def trapezoid(y: Any, /, x: Any = None, dx: float = 1.0, axis: int = -1) -> Array:
    """Return the integral along `axis` by the trapezoidal rule, at points `x` or with the distance `dx`."""
    values = floats_of(y, "trapezoid", "y")
    place = axis_of(axis, values.ndim, "trapezoid")
    step: Any = dx
    if x is not None:
        points = floats_of(x, "trapezoid")
        step = diff(points, axis=place if points.ndim > 1 else -1)
        step = reshape(step, (-1, *(1,) * (values.ndim - place - 1))) if points.ndim == 1 else step
    before: tuple[Any, ...] = (slice(None),) * place
    return sum_((values[(*before, slice(1, None))] + values[(*before, slice(None, -1))]) * 0.5 * step, place)


@row("gradient", standard=False, category="float", derivative=SMOOTH)
def gradient(f: Any, /, *varargs: Any, axis: Any = None) -> Any:
    """
    Return central differences inside and one-sided ones at the ends, along an axis, or a tuple of them for several.

    `varargs`: none for a distance of 1, a distance, or for each axis a distance or the points.
    """
    array = floats_of(f, "gradient", "f")
    axes = axes_of(axis, array.ndim, "gradient")
    steps = [1.0] * len(axes) if not varargs else list(varargs) * (len(axes) if len(varargs) == 1 else 1)
    if len(steps) != len(axes):
        message = f"gradient: {len(varargs)} distances for {len(axes)} axes, expected none, one or one each"
        raise fault("E1110", message, argument="varargs", value=len(varargs))
    found = tuple([cast(_slope(array, step, place), array.dtype) for step, place in zip(steps, axes, strict=True)])
    return found[0] if len(found) == 1 else found


def _slope(array: Array, step: Any, axis: int) -> Array:
    """Differences along one axis, by NumPy's formula of second order for points at unequal distances."""
    moved = moveaxis(array, axis, 0)
    n = static_size(moved.shape[0], "gradient")
    if n < 2:
        raise fault("E1110", f"gradient: axis {axis} has {n} elements, expected at least 2", argument="f", value=n)
    after, ahead = moved[1:], moved[:-1]
    steps = floats_of(step, "gradient", "varargs")
    if steps.weak or is_number(step):
        steps = cast(steps, real_of(array.dtype))
    if steps.ndim == 0:
        slopes = (after - ahead) / steps
        inner = (moved[2:] - moved[:-2]) / (steps * 2.0)
    else:
        gaps = reshape(diff(steps), (-1, *(1,) * (moved.ndim - 1)))
        slopes = (after - ahead) / gaps
        low, high = gaps[:-1], gaps[1:]
        inner = (slopes[:-1] * high + slopes[1:] * low) / (low + high)
    return moveaxis(concat([slopes[:1], inner, slopes[-1:]], axis=0), 0, axis)


@row("interp", standard=False, category="float", arrays=3, derivative=PIECEWISE)
def interp(x: Any, xp: Any, fp: Any, /, left: Any = None, right: Any = None) -> Array:
    """Return values on the lines between points, whose places `xp` grow; beyond the ends `left` and `right`, or as there."""
    points, places, values = (floats_of(v, "interp") for v in (x, xp, fp))
    if places.ndim != 1 or places.shape != values.shape or places.shape == (0,):
        message = f"interp: xp of shape {places.shape} and fp of shape {values.shape}, expected vectors of one length, at least 1"
        raise fault("E1110", message, argument="fp", value=str(values.shape))
    n = static_size(places.shape[0], "interp")
    upper = e.minimum(e.maximum(searchsorted(places, points, side="right"), 1), n - 1)
    (x0, x1), (y0, y1) = ([take(v, i, 0) for i in (e.maximum(upper - 1, 0), upper)] for v in (places, values))
    is_step = e.equal(x0, x1)
    share = e.minimum(e.maximum((points - x0) / where(is_step, 1.0, x1 - x0), 0.0), 1.0)
    share = where(is_step if n == 1 else e.logical_and(is_step, e.equal(points, points)), 1.0, share)
    found = where(e.less(points, places[0]), values[0] if left is None else left, y0 + share * (y1 - y0))
    return where(e.greater(points, places[-1]), values[-1] if right is None else right, found)


@row("unwrap", standard=False, category="float", derivative=PIECEWISE)
def unwrap(p: Any, /, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi) -> Array:
    """Return `p` with multiples of `period` added along `axis`, so that neighbours differ by at most half of it."""
    array = floats_of(p, "unwrap", "p")
    place = axis_of(axis, array.ndim, "unwrap")
    steps = diff(array, axis=place)
    half = period / 2
    wrapped = remainder(steps + half, period) - half
    wrapped = where(e.logical_and(e.equal(wrapped, -half), e.greater(steps, 0.0)), half, wrapped)
    added = where(e.less(abs_(steps), max(half, discont or 0.0)), 0.0, wrapped - steps)
    before: tuple[Any, ...] = (slice(None),) * place
    first = array[(*before, slice(0, 1))]
    return concat([first, array[(*before, slice(1, None))] + cumulative_sum(added, axis=place)], axis=place)
