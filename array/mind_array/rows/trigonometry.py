"""Trigonometric and hyperbolic functions: compositions; inverses of those of complex numbers are custom calls."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from mind_dialect import ptir

from ..array import Array
from ..calls import call, define_numpy
from ..emit import emit
from ..operands import one, together
from ..table import SMOOTH, row
from . import elementwise as e
from .parts import abs_, copysign, from_parts, is_complex, isfinite, isinf, isnan, like, parts_of, select

_NAMES = {
    **{"acos": "arccos", "asin": "arcsin", "atan": "arctan", "acosh": "arccosh", "asinh": "arcsinh", "atanh": "arctanh"},
    **{"sinh": "sinh", "cosh": "cosh", "tan": "tan"},  # in programs that were saved by version 0.1
}
TARGETS = {ours: define_numpy(ours, theirs) for ours, theirs in _NAMES.items()}
_COMPLEX = "of complex numbers alone: PTIR has no op for them"


def _host(name: str, x: Array, *others: Array) -> Array:
    """The result of a NumPy function of elements, as a custom call."""
    return call(TARGETS[name], (x, *others), [(x.dtype, x.shape)])


# Exponentials of complex numbers by their parts, with the special cases of the standard


def _expm1(x: Array) -> Array:
    a, b = parts_of(x)
    zero, one_ = like(0.0, a), like(1.0, a)
    half = e.sin(e.multiply(b, 0.5))
    whole = _expm1_of_reals(a)
    real = e.subtract(e.multiply(whole, e.cos(b)), e.multiply(e.multiply(half, half), 2.0))
    is_zero = e.equal(b, zero)
    grown = e.exp(a)
    imag = e.multiply(select(e.logical_and(is_zero, isinf(grown)), one_, grown), e.sin(b))  # 0 for inf * 0
    finite = isfinite(b)
    least, most = e.equal(a, -math.inf), e.equal(a, math.inf)
    real = select(least, e.negative(one_), real)
    imag = select(least, select(finite, e.multiply(zero, e.sin(b)), zero), imag)
    endless = e.logical_and(most, e.logical_not(finite))
    real = select(e.logical_or(endless, e.logical_and(most, is_zero)), a, real)
    imag = select(endless, e.subtract(b, b), imag)
    real = e.add(select(isnan(a), a, real), 0.0)  # -0 becomes +0
    return from_parts(real, imag)


def _expm1_of_reals(x: Array) -> Array:
    """`exp(x) - 1` of real numbers."""
    return emit(ptir.Expm1Op, x)


def _tanh(x: Array) -> Array:
    a, b = parts_of(x)
    p, q = parts_of(emit(ptir.TanhOp, x))
    infinite = isinf(a)
    zero = like(0.0, a)
    p = select(e.logical_and(e.equal(a, zero), e.logical_not(isfinite(b))), a, p)
    signed = select(isfinite(b), copysign(zero, b), zero)
    return from_parts(select(infinite, copysign(like(1.0, a), a), p), select(infinite, signed, q))


@row("hypot", category="float", arrays=2, derivative=SMOOTH, domain=(0.5, 2.0))
def hypot(x1: Any, x2: Any, /) -> Array:
    """Return `sqrt(x1**2 + x2**2)` without overflow; infinite if either is."""
    a, b = (abs_(x) for x in together("hypot", "float", x1, x2))
    high, low = emit(ptir.MaximumOp, a, b), emit(ptir.MinimumOp, a, b)
    zero, infinite = e.equal(high, like(0.0, high)), e.logical_or(e.equal(a, math.inf), e.equal(b, math.inf))
    ratio = e.divide(low, select(zero, like(1.0, high), high))
    found = e.multiply(high, e.sqrt(e.add(e.multiply(ratio, ratio), 1.0)))
    return select(infinite, like(math.inf, high), found)


def _log1p(x: Array) -> Array:
    """Near 0 by `log1p` of the square of the magnitude less 1, elsewhere by the magnitude."""
    a, b = parts_of(x)
    shifted = e.add(a, 1.0)
    near = e.logical_and(e.less(abs_(a), 0.5), e.less(abs_(b), 0.5))
    zero = like(0.0, a)
    p, q = select(near, a, zero), select(near, b, zero)
    square = e.add(e.multiply(p, e.add(p, 2.0)), e.multiply(q, q))
    real = select(near, e.multiply(emit(ptir.Log1pOp, square), 0.5), e.log(hypot(shifted, b)))
    return from_parts(real, emit(ptir.Atan2Op, b, shifted))


expm1 = e.unary(
    *("expm1", ptir.Expm1Op, "floating", "Return `exp(x) - 1`, exact near 0."),
    complex_form=_expm1,
)
tanh = e.unary(*("tanh", ptir.TanhOp, "floating", "Return the hyperbolic tangent."), complex_form=_tanh)
log1p = e.unary(
    *("log1p", ptir.Log1pOp, "floating", "Return `log(1 + x)`, exact near 0."),
    domain=(-0.5, 2.0),
    complex_form=_log1p,
)


@row("arctan2", "atan2", category="float", arrays=2, derivative=SMOOTH, domain=(0.5, 2.0))
def atan2(x1: Any, x2: Any, /) -> Array:
    """Return the angle of the point `(x2, x1)`, from -pi to pi."""
    a, b = together("atan2", "float", x1, x2)
    return emit(ptir.Atan2Op, a, b)


@row("cbrt", category="float", standard=False, derivative=SMOOTH, domain=(0.5, 2.0))
def cbrt(x: Any, /) -> Array:
    """Return the cube root."""
    return emit(ptir.CbrtOp, one("cbrt", "float", x))


# Hyperbolic functions and inverses


def _signed(found: Array, x: Array) -> Array:
    """`found`, a function of the magnitude of `x`, as an odd function of `x`."""
    return select(e.less(x, like(0.0, x)), e.negative(found), select(e.equal(x, like(0.0, x)), x, found))


def _real_or_host(name: str, x: Any, real_form: Callable[[Array], Array]) -> Array:
    array = one(name, "floating", x)
    return _host(name, array) if is_complex(array) else real_form(array)


def times_i(x: Array) -> Array:
    """Return `i x`."""
    a, b = parts_of(x)
    return from_parts(e.negative(b), a)


def _times_minus_i(x: Array) -> Array:
    """Return `-i x`."""
    a, b = parts_of(x)
    return from_parts(b, e.negative(a))


@row("sinh", category="floating", derivative=SMOOTH)
def sinh(x: Any, /) -> Array:
    """Return the hyperbolic sine: of complex numbers `-i sin(i x)`."""
    array = one("sinh", "floating", x)
    if is_complex(array):
        return _times_minus_i(e.sin(times_i(array)))
    magnitude = abs_(array)
    near = expm1(magnitude)
    half = e.exp(e.multiply(magnitude, 0.5))
    small = e.multiply(e.add(near, e.divide(near, e.add(near, 1.0))), 0.5)
    return _signed(select(e.less(magnitude, like(20.0, array)), small, e.multiply(e.multiply(half, 0.5), half)), array)


@row("cosh", category="floating", derivative=SMOOTH)
def cosh(x: Any, /) -> Array:
    """Return the hyperbolic cosine: of complex numbers `cos(i x)`."""
    array = one("cosh", "floating", x)
    if is_complex(array):
        return e.cos(times_i(array))
    half = e.exp(e.multiply(abs_(array), 0.5))
    large = e.multiply(e.multiply(half, 0.5), half)
    return e.add(large, e.divide(like(0.5, array), e.multiply(half, half)))


@row("tan", category="floating", derivative=SMOOTH, domain=(-1.0, 1.0))
def tan(x: Any, /) -> Array:
    """Return the tangent, of radians: of complex numbers `-i tanh(i x)`."""
    array = one("tan", "floating", x)
    return _times_minus_i(emit(ptir.TanhOp, times_i(array))) if is_complex(array) else e.divide(e.sin(array), e.cos(array))


@row("arcsinh", category="floating", derivative=SMOOTH, domain=(0.5, 2.0), call=_COMPLEX)
def asinh(x: Any, /) -> Array:
    """Return the inverse hyperbolic sine."""

    def form(array: Array) -> Array:
        a = abs_(array)
        great = e.greater(a, like(1e8 if array.dtype.itemsize >= 8 else 1e4, a))
        safe = select(great, like(1.0, a), a)
        squared = e.multiply(safe, safe)
        near = log1p(e.add(safe, e.divide(squared, e.add(e.sqrt(e.add(squared, 1.0)), 1.0))))
        far = e.add(e.log(select(great, a, like(1.0, a))), math.log(2.0))
        return _signed(select(great, far, near), array)

    return _real_or_host("asinh", x, form)


@row("arccosh", category="floating", derivative=SMOOTH, domain=(1.5, 3.0), call=_COMPLEX)
def acosh(x: Any, /) -> Array:
    """Return the inverse hyperbolic cosine; NaN below 1."""

    def form(array: Array) -> Array:
        great = e.greater(array, like(1e8 if array.dtype.itemsize >= 8 else 1e4, array))
        t = e.subtract(select(great, like(2.0, array), array), 1.0)
        near = log1p(e.add(t, e.multiply(e.sqrt(t), e.sqrt(e.add(t, 2.0)))))  # NaN where t is negative
        return select(great, e.add(e.log(array), math.log(2.0)), near)

    return _real_or_host("acosh", x, form)


@row("arctanh", category="floating", derivative=SMOOTH, domain=(0.1, 0.8), call=_COMPLEX)
def atanh(x: Any, /) -> Array:
    """Return the inverse hyperbolic tangent; NaN beyond -1 and 1."""

    def form(array: Array) -> Array:
        a = abs_(array)
        return _signed(e.multiply(log1p(e.divide(e.add(a, a), e.subtract(like(1.0, a), a))), 0.5), array)

    return _real_or_host("atanh", x, form)


@row("arcsin", category="floating", derivative=SMOOTH, domain=(-0.8, 0.8), call=_COMPLEX)
def asin(x: Any, /) -> Array:
    """Return the inverse sine, from -pi/2 to pi/2; NaN beyond -1 and 1."""

    def form(array: Array) -> Array:
        one_ = like(1.0, array)
        return emit(ptir.Atan2Op, array, e.sqrt(e.multiply(e.subtract(one_, array), e.add(one_, array))))

    return _real_or_host("asin", x, form)


@row("arccos", category="floating", derivative=SMOOTH, domain=(-0.8, 0.8), call=_COMPLEX)
def acos(x: Any, /) -> Array:
    """Return the inverse cosine, from 0 to pi; NaN beyond -1 and 1."""

    def form(array: Array) -> Array:
        one_ = like(1.0, array)
        half = emit(ptir.Atan2Op, e.sqrt(e.subtract(one_, array)), e.sqrt(e.add(one_, array)))
        return e.multiply(half, 2.0)

    return _real_or_host("acos", x, form)


@row("arctan", category="floating", derivative=SMOOTH, call=_COMPLEX)
def atan(x: Any, /) -> Array:
    """Return the inverse tangent, from -pi/2 to pi/2."""
    return _real_or_host("atan", x, lambda array: emit(ptir.Atan2Op, array, like(1.0, array)))
