"""Elementwise functions of signs, bits, and parts of complex numbers; tests of numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mind_dialect import ptir
from mind_dialect.errors import brief

from ..array import Array
from ..dtypes import bool_, float64, kind_of, ptir_dtype
from ..emit import constant, emit
from ..faults import fault
from ..operands import cast, one, together
from ..table import PIECEWISE, SMOOTH, row
from . import elementwise as e


def like(value: Any, x: Array) -> Array:
    """A number everywhere, in the dtype and shape of `x`."""
    return constant(value, x.dtype, x.shape)


def select(condition: Array, x: Array, y: Array) -> Array:
    """`x` where the condition holds, else `y`; all of one shape."""
    return emit(ptir.SelectOp, condition, x, y)


def is_complex(x: Array) -> bool:
    """Return whether an array holds complex numbers."""
    return kind_of(x.dtype) == "c"


def from_parts(real: Array, imag: Array) -> Array:
    """Complex numbers of their parts, each as it is."""
    return emit(ptir.ComplexOp, real, imag)


def parts_of(x: Array) -> tuple[Array, Array]:
    """The parts of complex numbers."""
    return emit(ptir.RealOp, x), emit(ptir.ImagOp, x)


def _direction(x: Array) -> Array:
    """
    `x / abs(x)`, and 0 at 0; beside an infinite part a finite one counts as 0, as in NumPy.

    Numbers whose magnitude is not normal are scaled by a power of 2.
    """
    parts = parts_of(x)
    sizes = [emit(ptir.AbsOp, part) for part in parts]
    greatest, limits = emit(ptir.MaximumOp, *sizes), np.finfo(parts[0].dtype)
    one, zero = like(1, greatest), like(0, greatest)
    is_small, is_large = e.less(greatest, float(limits.tiny / limits.eps)), e.greater(greatest, float(limits.max / 4))
    scale = select(is_small, like(limits.eps**-2, one), select(is_large, like(0.25, one), one))
    is_alone = emit(ptir.AndOp, e.equal(greatest, math.inf), e.less(emit(ptir.MinimumOp, *sizes), math.inf))
    ends = [select(e.equal(size, math.inf), emit(ptir.SignOp, part), zero) for size, part in zip(sizes, parts, strict=True)]
    parts = [select(is_alone, end, e.multiply(part, scale)) for end, part in zip(ends, parts, strict=True)]
    magnitude = emit(ptir.AbsOp, from_parts(*parts))
    is_zero = e.equal(magnitude, zero)
    safe = select(is_zero, one, magnitude)
    return from_parts(*(select(is_zero, zero, e.divide(part, safe)) for part in parts))


MOST_DECIMALS = 308
"""Decimals of the greatest power of ten in 64 bits."""


@row("round", "rint", "around", category="numeric")
def round_(x: Any, /, decimals: int = 0) -> Array:
    """Return the nearest whole number, ties to even, or of `decimals` more digits; of complex numbers of each part."""
    array = one("round", "numeric", x)
    if not -MOST_DECIMALS <= decimals <= MOST_DECIMALS:
        message = f"round: decimals is {brief(decimals)}, expected {-MOST_DECIMALS} to {MOST_DECIMALS}"
        raise fault("E1110", message, argument="decimals", value=brief(decimals))
    if kind_of(array.dtype) not in "fc":
        return array if decimals >= 0 else cast(round_(cast(array, float64), decimals), array.dtype)
    if decimals:
        scale = 10.0**decimals
        return e.divide(round_(e.multiply(array, scale)), scale)
    return from_parts(*(emit(ptir.RoundOp, part) for part in parts_of(array))) if is_complex(array) else emit(ptir.RoundOp, array)


@row("sign", category="numeric")
def sign(x: Any, /) -> Array:
    """Return -1, 0 or 1; of complex numbers `x / abs(x)`. Zeros have no sign."""
    array = one("sign", "numeric", x)
    if is_complex(array):
        return _direction(array)
    found = emit(ptir.SignOp, array)
    return select(e.equal(array, 0), like(0, array), found) if kind_of(array.dtype) == "f" else found


@row("positive", category="numeric", derivative=SMOOTH)
def positive(x: Any, /) -> Array:
    """Return `x` as it is."""
    return one("positive", "numeric", x)


@row("absolute", category="numeric", derivative=PIECEWISE, domain=(0.5, 2.0))
def abs_(x: Any, /) -> Array:
    """Return the magnitude; the least signed integer stays as it is."""
    array = one("abs", "numeric", x)
    return array if kind_of(array.dtype) == "u" else emit(ptir.AbsOp, array)


@row("square", category="numeric", derivative=SMOOTH)
def square(x: Any, /) -> Array:
    """Return `x * x`."""
    array = one("square", "numeric", x)
    return emit(ptir.MulOp, array, array)


@row("trunc", "fix", category="real")
def trunc(x: Any, /) -> Array:
    """Return the nearest whole number that is no greater in magnitude."""
    array = one("trunc", "real", x)
    if kind_of(array.dtype) in "iu":
        return array
    return select(e.less(array, 0.0), e.ceil(array), e.floor(array))


# Tests of numbers


@row("isnan", category="numeric")
def isnan(x: Any, /) -> Array:
    """Return whether each element is NaN."""
    array = one("isnan", "numeric", x)
    return e.not_equal(array, array)


@row("isinf", category="numeric")
def isinf(x: Any, /) -> Array:
    """Return whether each element is infinite; of complex numbers, whether a part is."""
    array = one("isinf", "numeric", x)
    if is_complex(array):
        return e.logical_or(*(isinf(part) for part in parts_of(array)))
    if kind_of(array.dtype) != "f":
        return constant(False, bool_, array.shape)
    return e.equal(abs_(array), math.inf)


@row("isfinite", category="numeric")
def isfinite(x: Any, /) -> Array:
    """Return whether each element is neither NaN nor infinite."""
    array = one("isfinite", "numeric", x)
    if is_complex(array):
        return e.logical_and(*(isfinite(part) for part in parts_of(array)))
    if kind_of(array.dtype) != "f":
        return constant(True, bool_, array.shape)
    return e.less(abs_(array), math.inf)


# The bits of floats


def bits_of(x: Array) -> Array:
    """The bits of floats as signed integers of the same width."""
    return emit(ptir.BitcastOp, x, dtype=ptir_dtype(np.dtype(f"int{8 * x.dtype.itemsize}")))


def _from_bits(bits: Array, like: Array) -> Array:
    return emit(ptir.BitcastOp, bits, dtype=ptir_dtype(like.dtype))


@row("signbit", category="float")
def signbit(x: Any, /) -> Array:
    """Return whether the sign bit is set, that of -0 and NaN included."""
    return e.less(bits_of(one("signbit", "float", x)), 0)


@row("copysign", category="float", arrays=2, derivative=PIECEWISE)
def copysign(x1: Any, x2: Any, /) -> Array:
    """Return the magnitude of `x1` with the sign of `x2`."""
    a, b = together("copysign", "float", x1, x2)
    x, y = bits_of(a), bits_of(b)
    return select(e.less(e.bitwise_xor(x, y), like(0, x)), e.negative(a), a)


@row("nextafter", category="float", arrays=2, derivative=PIECEWISE)
def nextafter(x1: Any, x2: Any, /) -> Array:
    """Return the next number from `x1` towards `x2`; it moves with `x1`, as the step is constant between powers of 2."""
    a, b = together("nextafter", "float", x1, x2)
    bits, zero = bits_of(a), like(0.0, a)
    one_up = like(1, bits)
    away = e.equal(e.less(a, b), e.less(zero, a))  # towards a greater magnitude
    stepped = _from_bits(select(away, e.add(bits, one_up), e.subtract(bits, one_up)), a)
    least = _from_bits(one_up, a)
    stepped = select(e.equal(a, zero), select(e.less(zero, b), least, e.negative(least)), stepped)
    stepped = select(e.equal(a, b), b, stepped)
    found = select(e.logical_or(isnan(a), isnan(b)), e.add(a, b), stepped)
    return _moving_with(found, a, e.not_equal(a, b))


def _moving_with(found: Array, x: Array, where: Array) -> Array:
    """Return `found`, which is made of bits, with the derivative of `x` where stated, if `x` is finite and `found` is not 0."""
    constant_found, constant_x = (emit(ptir.StopGradientOp, array) for array in (found, x))
    size = abs_(constant_found)
    plain = e.logical_and(where, e.logical_and(e.less(like(0.0, size), size), isfinite(constant_x)))  # -0 + 0 is 0
    return select(plain, e.add(constant_found, e.subtract(x, constant_x)), constant_found)


# Parts of complex numbers


@row("real", category="numeric", derivative=SMOOTH)
def real(x: Any, /) -> Array:
    """Return the real part."""
    array = one("real", "numeric", x)
    return emit(ptir.RealOp, array) if is_complex(array) else array


@row("imag", category="numeric")
def imag(x: Any, /) -> Array:
    """Return the imaginary part; 0 of real numbers."""
    array = one("imag", "numeric", x)
    return emit(ptir.ImagOp, array) if is_complex(array) else like(0, array)


@row("conjugate", "conj", category="numeric", derivative=SMOOTH)
def conj(x: Any, /) -> Array:
    """Return the complex conjugate; real numbers as they are."""
    array = one("conj", "numeric", x)
    return emit(ptir.ConjOp, array) if is_complex(array) else array
