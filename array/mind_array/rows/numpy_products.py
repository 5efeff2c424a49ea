"""NumPy's products, polynomials and convolutions beyond the standard, as compositions of other rows."""

from __future__ import annotations

import math
from typing import Any

from ..array import Array
from ..checks import whole
from ..dtypes import accumulated, float64, int64, kind_of
from ..emit import check_memory
from ..faults import fault
from ..operands import array_of, cast, floats_of, promoted, static_size
from ..table import SMOOTH, row
from . import elementwise as e
from .contraction import matmul, tensordot, vecdot
from .creation import full, iota, ones, zeros
from .indexing import take
from .manipulation import concat, expand_dims, flip, pad, ravel, reshape, stack
from .mathematics import pow_
from .nn import conv
from .parts import conj
from .pseudo_inverse import pinv
from .reductions import sum_
from .sequences import linspace

# Products


@row("dot", standard=False, category="numeric", arrays=2, derivative=SMOOTH)
def dot(a: Any, b: Any, /) -> Array:
    """Return sums of products over the last axis of `a` and the last but one, or only one, of `b`; of numbers the product."""
    x, y = array_of(a, "dot", "a"), array_of(b, "dot", "b")
    if x.ndim == 0 or y.ndim == 0:
        return e.multiply(x, y)
    return tensordot(x, y, axes=((-1,), (-2 if y.ndim > 1 else -1,)))


@row("inner", standard=False, category="numeric", arrays=2, derivative=SMOOTH)
def inner(a: Any, b: Any, /) -> Array:
    """Return the sum of products over the last axes of both; of numbers the product."""
    x, y = array_of(a, "inner", "a"), array_of(b, "inner", "b")
    return e.multiply(x, y) if x.ndim == 0 or y.ndim == 0 else tensordot(x, y, axes=((-1,), (-1,)))


@row("vdot", standard=False, category="numeric", arrays=2, derivative=SMOOTH)
def vdot(a: Any, b: Any, /) -> Array:
    """Return the sum of the products of all elements, those of `a` conjugated."""
    return vecdot(ravel(a), ravel(b))


@row("matvec", standard=False, category="numeric", arrays=2, derivative=SMOOTH)
def matvec(x1: Any, x2: Any, /) -> Array:
    """Return the products of matrices, in the last two axes of `x1`, and vectors, in the last axis of `x2`."""
    return matmul(x1, expand_dims(array_of(x2, "matvec"), -1))[..., 0]


@row("vecmat", standard=False, category="numeric", arrays=2, derivative=SMOOTH)
def vecmat(x1: Any, x2: Any, /) -> Array:
    """Return the products of conjugated vectors, in the last axis of `x1`, and matrices, in the last two axes of `x2`."""
    return matmul(expand_dims(conj(x1), -2), x2)[..., 0, :]


@row("kron", standard=False, category="numeric", arrays=2, derivative=SMOOTH)
def kron(a: Any, b: Any, /) -> Array:
    """Return the Kronecker product: each element of `a` times all of `b`."""
    x, y = array_of(a, "kron", "a"), array_of(b, "kron", "b")
    rank = max(x.ndim, y.ndim)
    first, second = ((*(1,) * (rank - v.ndim), *(static_size(n, "kron") for n in v.shape)) for v in (x, y))
    spread = reshape(x, [m for n in first for m in (n, 1)]) * reshape(y, [m for n in second for m in (1, n)])
    return reshape(spread, [m * n for m, n in zip(first, second, strict=True)])


# Polynomials: coefficients of the highest power first


@row("polyval", standard=False, category="numeric", arrays=2, derivative=SMOOTH)
def polyval(p: Any, x: Any, /) -> Array:
    """Return the values of the polynomial of the coefficients `p` at `x`, by Horner's rule."""
    (coefficients, points), dtype = promoted("polyval", "numeric", _vector(p, "polyval"), array_of(x, "polyval"))
    found = zeros(points.shape, dtype)
    for i in range(static_size(coefficients.shape[0], "polyval")):
        found = found * points + coefficients[i]
    return found


@row("polyadd", standard=False, category="numeric", arrays=2, derivative=SMOOTH)
def polyadd(a1: Any, a2: Any, /) -> Array:
    """Return the coefficients of the sum of two polynomials."""
    first, second = (_vector(a, "polyadd") for a in (a1, a2))
    length = max(static_size(a.shape[0], "polyadd") for a in (first, second))
    return e.add(*(pad(a, (length - a.shape[0], 0)) for a in (first, second)))


@row("polysub", standard=False, category="numeric", arrays=2, derivative=SMOOTH)
def polysub(a1: Any, a2: Any, /) -> Array:
    """Return the coefficients of the difference of two polynomials."""
    return polyadd(a1, e.negative(_vector(a2, "polysub")))


@row("polymul", standard=False, category="numeric", arrays=2, derivative=SMOOTH)
def polymul(a1: Any, a2: Any, /) -> Array:
    """Return the coefficients of the product of two polynomials; zeros that lead a factor stay, which NumPy drops."""
    return convolve(_vector(a1, "polymul"), _vector(a2, "polymul"))


@row("polyder", standard=False, category="numeric", derivative=SMOOTH)
def polyder(p: Any, /, m: int = 1) -> Array:
    """Return the coefficients of the `m`-th derivative of a polynomial, in 64 bits for integers."""
    found = _vector(p, "polyder")
    for _ in range(min(_order(m, "polyder"), static_size(found.shape[0], "polyder"))):
        n = static_size(found.shape[0], "polyder")
        found = cast(found, accumulated(found.dtype))
        powers = flip(iota((max(n - 1, 0),), 0, found.dtype)) + 1
        found = found[: max(n - 1, 0)] * powers
    return found


@row("polyint", standard=False, category="floating", derivative=SMOOTH)
def polyint(p: Any, /, m: int = 1) -> Array:
    """Return the coefficients of the `m`-th antiderivative of a polynomial, whose constants are 0."""
    found = floats_of(_vector(p, "polyint"), "polyint")
    check_memory((_order(m, "polyint"),), float64)
    for _ in range(_order(m, "polyint")):
        powers = flip(iota((static_size(found.shape[0], "polyint"),), 0, found.dtype)) + 1
        found = concat([found / powers, zeros((1,), found.dtype)])
    return found


def _vector(x: Any, function: str) -> Array:
    array = array_of(x, function)
    if array.ndim > 1:
        raise fault("E3002", f"{function}: rank {array.ndim}, expected at most 1", expected="at most 1", actual=array.ndim)
    return ravel(array)


def _order(m: Any, function: str) -> int:
    if not isinstance(m, int) or m < 0:
        raise fault("E1110", f"{function}: m is {m}, expected a whole number from 0 up", argument="m", value=str(m))
    return m


@row("vander", standard=False, category="numeric", derivative=SMOOTH)
def vander(x: Any, /, N: int | None = None, increasing: bool = False) -> Array:
    """Return the matrix whose columns are the powers of `x` from `N` - 1 to 0, or from 0 up, in 64 bits for integers."""
    points = _vector(x, "vander")
    points = cast(points, accumulated(points.dtype))
    count = static_size(points.shape[0], "vander") if N is None else N
    check_memory((*points.shape, whole(count, "vander", "N", 0)), points.dtype)
    columns = [ones(points.shape, points.dtype)]
    for _ in range(count - 1):
        columns.append(columns[-1] * points)
    columns = columns[:count] if increasing else columns[:count][::-1]
    return stack(columns, axis=1) if columns else zeros((*points.shape, 0), points.dtype)


@row("polyfit", standard=False, category="float", arrays=2, derivative=SMOOTH)
def polyfit(x: Any, y: Any, /, deg: int, *, w: Any = None) -> Array:
    """Return the coefficients of the polynomial of degree `deg` that fits `y` at `x` best, by squares weighted with `w**2`."""
    points, values = floats_of(_vector(x, "polyfit"), "polyfit"), floats_of(y, "polyfit", "y")
    matrix = vander(points, _order(deg, "polyfit") + 1)
    if w is not None:
        weights = floats_of(w, "polyfit", "w")
        matrix = matrix * expand_dims(weights, 1)
        values = values * (weights if values.ndim == 1 else expand_dims(weights, 1))
    scale = e.sqrt(sum_(matrix * matrix, 0))
    solution = matmul(pinv(matrix / scale), values)
    return solution / (scale if values.ndim == 1 else expand_dims(scale, 1))


# Convolutions


@row("convolve", standard=False, category="numeric", arrays=2, derivative=SMOOTH)
def convolve(a: Any, v: Any, /, mode: str = "full") -> Array:
    """
    Return the convolution of two vectors.

    `mode`: "full" for all of it, "same" for the part as long as the longer vector, "valid" for the part without borders.
    """
    first, second = _vector(a, "convolve"), _vector(v, "convolve")
    return _convolved(first, second, mode, "convolve", (min(first.shape + second.shape) - 1) // 2)


@row("correlate", standard=False, category="numeric", arrays=2, derivative=SMOOTH)
def correlate(a: Any, v: Any, /, mode: str = "valid") -> Array:
    """Return the sums of products of `a` and the conjugate of `v`, moved along it; `mode` as in `convolve`."""
    first, second = _vector(a, "correlate"), _vector(v, "correlate")
    n, m = first.shape[0], second.shape[0]
    return _convolved(first, flip(conj(second)), mode, "correlate", n // 2 if n < m else (m - 1) // 2)


def _convolved(a: Array, v: Array, mode: str, function: str, same: int) -> Array:
    """A convolution; `same` is where the part begins that is as long as the longer vector."""
    (longer, shorter), dtype = promoted(function, "numeric", a, v)
    if longer.shape[0] < shorter.shape[0]:
        longer, shorter = shorter, longer
    n, m = (static_size(x.shape[0], function) for x in (longer, shorter))
    if not m:
        raise fault("E1110", f"{function}: a vector of length 0, expected at least 1", argument="v", value=0)
    parts = {"full": (0, n + m - 1), "same": (same, n), "valid": (m - 1, n - m + 1)}
    if mode not in parts:
        raise fault("E1110", f"{function}: mode {mode!r}, expected 'full', 'same' or 'valid'", argument="mode", value=mode)
    start, size = parts[mode]
    turned, low, high = flip(shorter), max(m - 1 - start, 0), max(start + size - n, 0)
    if kind_of(dtype) == "f":
        found = conv(reshape(longer, (1, n, 1)), reshape(turned, (m, 1, 1)), padding=((low, high),))
        return reshape(found, (-1,))[-size:]
    windows = iota((size, m), 0, int64) + iota((size, m), 1, int64)
    return matmul(take(pad(longer, (low, high)), windows, 0), turned)


# Sequences


@row("logspace", standard=False, arrays=0)
def logspace(start: Any, stop: Any, /, num: int = 50, endpoint: bool = True, base: float = 10.0, dtype: Any = None) -> Array:
    """Return powers of `base` whose exponents are at equal distances."""
    found = pow_(float(base), linspace(start, stop, num, endpoint))
    return found if dtype is None else found.astype(dtype)


@row("geomspace", standard=False, arrays=0)
def geomspace(start: float, stop: float, /, num: int = 50, endpoint: bool = True, dtype: Any = None) -> Array:
    """Return numbers from `start` to `stop` of equal quotients; both have one sign and are not 0."""
    start, stop = float(start), float(stop)
    if start * stop <= 0:
        raise fault("E1110", f"geomspace: from {start} to {stop}, expected one sign", argument="start", value=start)
    sign = -1.0 if start < 0 else 1.0
    found = logspace(math.log10(abs(start)), math.log10(abs(stop)), num, endpoint) * sign
    ends = [full((1,), start), found[1:-1] if endpoint else found[1:], full((1,), stop)]
    found = concat(ends if endpoint else ends[:2]) if num > 1 else ends[0][:num]
    return found if dtype is None else found.astype(dtype)
