"""Elementwise functions of several ops: division, powers, logarithms of other bases, selection."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mind_dialect import ptir

from ..array import Array
from ..calls import call, define_numpy
from ..dtypes import check_category, kind_of, promote
from ..emit import emit
from ..faults import fault
from ..operands import array_of, broadcast, broadcast_shapes, cast, is_number, one, together
from ..table import PIECEWISE, SMOOTH, row
from . import elementwise as e
from .dtype_functions import finfo
from .parts import abs_, copysign, from_parts, is_complex, isfinite, isnan, like, parts_of, round_, select
from .trigonometry import log1p

_POW = define_numpy("pow", "power")


# Division and powers


@row("floor_divide", category="real", arrays=2)
def floor_divide(x1: Any, x2: Any, /) -> Array:
    """Return the greatest whole number not above `x1 / x2`; E8004 for an integer divided by 0."""
    a, b = together("floor_divide", "real", x1, x2)
    quotient = emit(ptir.DivOp, a, b)
    if kind_of(a.dtype) == "f":
        return _floored(quotient, a, b)
    if kind_of(a.dtype) == "u":
        return quotient
    inexact = e.not_equal(emit(ptir.RemainderOp, a, b), like(0, a))
    below = e.logical_and(inexact, e.not_equal(e.less(a, like(0, a)), e.less(b, like(0, b))))
    return e.subtract(quotient, cast(below, a.dtype))


def _floored(quotient: Array, a: Array, b: Array) -> Array:
    """Return the greatest whole number not above `a / b`, also where the rounded `quotient` is: 1 / 0.1 is less than 10."""
    found = e.floor(quotient)
    rest = remainder(a, b)
    is_above = e.logical_and(e.equal(found, quotient), e.greater(abs_(rest), e.multiply(abs_(b), 0.5)))
    return select(is_above, e.subtract(found, like(1.0, a)), found)


@row("remainder", "mod", category="real", arrays=2, derivative=PIECEWISE, domain=(0.6, 2.9))
def remainder(x1: Any, x2: Any, /) -> Array:
    """Return the remainder of floored division, of the sign of `x2`; E8004 for an integer divided by 0."""
    a, b = together("remainder", "real", x1, x2)
    rest = emit(ptir.RemainderOp, a, b)
    zero = like(0, a)
    is_zero = e.equal(rest, zero)
    wrong_side = e.logical_and(e.logical_not(is_zero), e.not_equal(e.less(rest, zero), e.less(b, zero)))
    found = select(wrong_side, e.add(rest, b), rest)
    if kind_of(a.dtype) != "f":
        return found
    moving = e.subtract(emit(ptir.StopGradientOp, rest), rest)  # zero, with the derivative of the remainder
    return select(is_zero, e.subtract(copysign(zero, b), moving), found)


@row("fmod", category="real", arrays=2, standard=False, derivative=PIECEWISE, domain=(0.6, 2.9))
def fmod(x1: Any, x2: Any, /) -> Array:
    """Return the remainder of truncated division, of the sign of `x1`."""
    a, b = together("fmod", "real", x1, x2)
    return emit(ptir.RemainderOp, a, b)


@row(
    "power",
    category="numeric",
    arrays=2,
    derivative=SMOOTH,
    domain=(0.5, 2.0),
    call="PTIR has no power of integers",
)
def pow_(x1: Any, x2: Any, /) -> Array:
    """Return `x1 ** x2`, for floats as IEEE 754 defines pow; integers wrap, and have no negative powers."""
    if type(x2) is int and 0 <= x2 <= 3 and isinstance(x1, Array) and x2 != 0:
        array = one("pow", "numeric", x1)
        found = array
        for _ in range(x2 - 1):
            found = emit(ptir.MulOp, found, array)
        return found
    a, b = together("pow", "numeric", x1, x2)
    return call(_POW, (a, b), [(a.dtype, a.shape)]) if kind_of(a.dtype) in "iu" else emit(ptir.PowOp, a, b)


@row("logaddexp", category="float", arrays=2, derivative=SMOOTH)
def logaddexp(x1: Any, x2: Any, /) -> Array:
    """Return `log(exp(x1) + exp(x2))` without overflow."""
    a, b = together("logaddexp", "float", x1, x2)
    same = e.logical_and(e.equal(a, b), e.equal(abs_(a), math.inf))
    distance = select(same, like(0.0, a), abs_(e.subtract(a, b)))
    found = e.add(emit(ptir.MaximumOp, a, b), log1p(e.exp(e.negative(distance))))
    return select(same, a, found)


# Logarithms of other bases. Powers of the base give whole numbers.


def _log_base(name: str, base: float, x: Any) -> Array:
    array = one(name, "floating", x)
    if is_complex(array):
        return from_parts(*(e.multiply(part, 1 / math.log(base)) for part in parts_of(e.log(array))))
    found = e.multiply(e.log(array), 1 / math.log(base))
    whole = round_(found)
    power = emit(ptir.PowOp, like(base, array), whole)
    ulps = e.multiply(abs_(whole), float(finfo(array.dtype).eps))
    # Among subnormal numbers one may be nearest to a power that is far from it; a power itself is off by an ulp on some targets.
    is_near = e.less_equal(abs_(e.subtract(whole, found)), e.multiply(ulps, 4.0))
    is_power = e.less_equal(abs_(e.subtract(power, array)), e.multiply(e.multiply(ulps, 0.5), array))
    exact = e.logical_and(is_power, is_near)
    return select(exact, e.add(found, emit(ptir.StopGradientOp, e.subtract(whole, found))), found)


@row("log2", category="floating", derivative=SMOOTH, domain=(0.5, 3.0))
def log2(x: Any, /) -> Array:
    """Return the logarithm to base 2, exact for powers of 2."""
    return _log_base("log2", 2.0, x)


@row("log10", category="floating", derivative=SMOOTH, domain=(0.5, 3.0))
def log10(x: Any, /) -> Array:
    """Return the logarithm to base 10, exact for powers of 10."""
    return _log_base("log10", 10.0, x)


# Selection


@row("clip", category="real", derivative=PIECEWISE, domain=(-2.0, 2.0), method=True)
def clip(x: Any, /, min: Any = None, max: Any = None) -> Array:
    """Return `x` with what is below `min` or above `max` replaced by that; the dtype is that of `x`."""
    array = one("clip", "real", x)
    bounds = [_bound(array, bound, name) for bound, name in ((min, "min"), (max, "max")) if bound is not None]
    shape = broadcast_shapes(array.shape, *(b.shape for b in bounds))
    found = broadcast(array, shape)
    if min is not None:
        found = emit(ptir.MaximumOp, found, broadcast(bounds[0], shape))
    return found if max is None else emit(ptir.MinimumOp, found, broadcast(bounds[-1], shape))


def _bound(x: Array, bound: Any, name: str) -> Array:
    if is_number(bound):
        return together("clip", "real", x, bound)[1]
    other = array_of(bound, "clip", name)
    check_category("clip", other.dtype, "real")
    if not other.weak and promote(x.dtype, other.dtype) != x.dtype:
        message = f"clip: {name} is of {other.dtype}, expected one that {x.dtype} holds; cast x or {name} with ma.astype"
        raise fault("E1107", message, dtypes=[str(x.dtype), str(other.dtype)])
    return cast(other, x.dtype)


@row("where", category="all", arrays=3, derivative=PIECEWISE)
def where(condition: Any, x1: Any, x2: Any, /) -> Array:
    """Return `x1` where the condition, an array of bool, holds, else `x2`."""
    pred = array_of(condition, "where", "condition")
    check_category("where", pred.dtype, "bool")
    a, b = together("where", "all", x1, x2)
    shape = broadcast_shapes(pred.shape, a.shape)
    return select(broadcast(pred, shape), broadcast(a, shape), broadcast(b, shape))


@row(category="float", standard=False, derivative=SMOOTH)
def erf(x: Any, /) -> Array:
    """Return the error function."""
    return emit(ptir.ErfOp, one("erf", "float", x))


@row("isclose", category="numeric", arrays=2, standard=False)
def isclose(a: Any, b: Any, /, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Array:
    """Return whether `|a - b| <= atol + rtol * |b|`, element by element; infinities are close to themselves."""
    x, y = together("isclose", "numeric", a, b)
    x, y = (cast(v, np.dtype("float64")) if kind_of(v.dtype) in "iu" else v for v in (x, y))
    close = e.less_equal(abs_(e.subtract(x, y)), e.add(e.multiply(abs_(y), rtol), atol))
    found = e.logical_or(e.logical_and(close, e.logical_and(isfinite(x), isfinite(y))), e.equal(x, y))
    return e.logical_or(found, e.logical_and(isnan(x), isnan(y))) if equal_nan else found
