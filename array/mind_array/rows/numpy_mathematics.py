"""Elementwise functions of NumPy beyond the standard, as compositions of other rows."""

from __future__ import annotations

import math
from typing import Any

from ..array import Array
from ..dtypes import float64, kind_of
from ..operands import array_of, cast, floats_of, is_number, one, together
from ..table import PIECEWISE, SMOOTH, row
from . import elementwise as e
from .dtype_functions import finfo
from .mathematics import floor_divide, logaddexp, pow_, remainder, where
from .parts import abs_, copysign, from_parts, imag, is_complex, isinf, isnan, like, parts_of, real, select, signbit, trunc
from .trigonometry import atan2


@row("exp2", standard=False, category="float", derivative=SMOOTH)
def exp2(x: Any, /) -> Array:
    """Return 2 to the power of each element."""
    array = floats_of(x, "exp2")
    if is_complex(array):  # by its parts: a product of complex numbers has inf * 0
        return e.exp(from_parts(*(e.multiply(part, math.log(2.0)) for part in parts_of(array))))
    return pow_(2.0, array)


@row("fabs", standard=False, category="real", derivative=PIECEWISE, domain=(0.5, 2.0))
def fabs(x: Any, /) -> Array:
    """Return the magnitude of real numbers, of integers in float64."""
    return abs_(floats_of(one("fabs", "real", x), "fabs"))


@row("logaddexp2", standard=False, category="float", arrays=2, derivative=SMOOTH)
def logaddexp2(x1: Any, x2: Any, /) -> Array:
    """Return the logarithm to base 2 of `2**x1 + 2**x2`."""
    a, b = together("logaddexp2", "float", x1, x2)
    return logaddexp(a * math.log(2), b * math.log(2)) * (1 / math.log(2))


@row("deg2rad", "radians", standard=False, category="float", derivative=SMOOTH)
def deg2rad(x: Any, /) -> Array:
    """Return angles in radians, given in degrees."""
    return floats_of(x, "deg2rad") * (math.pi / 180)


@row("rad2deg", "degrees", standard=False, category="float", derivative=SMOOTH)
def rad2deg(x: Any, /) -> Array:
    """Return angles in degrees, given in radians."""
    return floats_of(x, "rad2deg") * (180 / math.pi)


_SINC_SERIES = [(-1) ** k / math.factorial(2 * k + 1) for k in range(9)]
"""Of sin(y) / y in y**2: beyond the last term it is below 1e-18 for y up to 1/2."""


@row("sinc", standard=False, category="float", derivative=SMOOTH)
def sinc(x: Any, /) -> Array:
    """Return `sin(pi x) / (pi x)`, 1 at 0; near 0 by its series, whose derivatives of every order are right there."""
    y = floats_of(x, "sinc") * math.pi
    is_small = e.less(y * y, 0.25)
    away, square = where(is_small, 1.0, y), where(is_small, y * y, 0.0)
    series = like(_SINC_SERIES[-1], y)
    for coefficient in _SINC_SERIES[-2::-1]:
        series = series * square + coefficient
    return select(is_small, series, e.sin(away) / away)


@row("heaviside", standard=False, category="float", arrays=2)
def heaviside(x1: Any, x2: Any, /) -> Array:
    """Return 0 for negative and 1 for positive elements of `x1`, `x2` at 0, NaN for NaN."""
    a, b = together("heaviside", "float", x1, x2)
    zero, unit = like(0, a), like(1, a)
    return select(isnan(a), a, select(e.less(a, zero), zero, select(e.equal(a, zero), b, unit)))


@row("fmax", standard=False, category="real", arrays=2, derivative=PIECEWISE)
def fmax(x1: Any, x2: Any, /) -> Array:
    """Return the greater element, the other one for NaN."""
    a, b = together("fmax", "real", x1, x2)
    return select(isnan(a), b, select(isnan(b), a, e.maximum(a, b)))


@row("fmin", standard=False, category="real", arrays=2, derivative=PIECEWISE)
def fmin(x1: Any, x2: Any, /) -> Array:
    """Return the lesser element, the other one for NaN."""
    a, b = together("fmin", "real", x1, x2)
    return select(isnan(a), b, select(isnan(b), a, e.minimum(a, b)))


@row("float_power", standard=False, category="real", arrays=2, derivative=SMOOTH, domain=(0.5, 2.0))
def float_power(x1: Any, x2: Any, /) -> Array:
    """Return `x1` to the power of `x2`, in float64 at least."""
    return pow_(_wide(x1), _wide(x2))


def _wide(x: Any) -> Any:
    array = x if is_number(x) else array_of(x, "float_power")
    return array if is_number(x) or is_complex(array) else cast(array, float64)


@row("nan_to_num", standard=False, category="all", derivative=PIECEWISE)
def nan_to_num(x: Any, /, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Array:
    """Return `x` with NaN and infinities replaced, by default by 0 and the greatest and least finite numbers."""
    array = array_of(x, "nan_to_num")
    if is_complex(array):
        return from_parts(*(nan_to_num(part, copy, nan, posinf, neginf) for part in parts_of(array)))
    if kind_of(array.dtype) != "f":
        return array
    greatest = finfo(array.dtype).max
    high, low = greatest if posinf is None else posinf, -greatest if neginf is None else neginf
    is_infinite, is_negative = isinf(array), e.less(array, 0.0)
    finite = select(is_infinite, select(is_negative, like(low, array), like(high, array)), array)
    return select(isnan(array), like(nan, array), finite)


@row("angle", standard=False, category="numeric")
def angle(z: Any, /, deg: bool = False) -> Array:
    """Return the angle of complex numbers, in radians or degrees; of real ones 0, or pi where they are negative."""
    array = floats_of(z, "angle", "z")
    found = atan2(imag(array), real(array)) if is_complex(array) else atan2(like(0, array), array)
    return rad2deg(found) if deg else found


@row("isreal", standard=False, category="numeric")
def isreal(x: Any, /) -> Array:
    """Return whether the imaginary parts are 0."""
    array = one("isreal", "numeric", x)
    return e.equal(imag(array) if is_complex(array) else like(0, array), 0)


@row("iscomplex", standard=False, category="numeric")
def iscomplex(x: Any, /) -> Array:
    """Return whether the imaginary parts differ from 0."""
    return e.logical_not(isreal(x))


@row("divmod", standard=False, category="real", arrays=2)
def divmod_(x1: Any, x2: Any, /) -> tuple[Array, Array]:
    """Return `x1 // x2` and `x1 % x2`."""
    return floor_divide(x1, x2), remainder(x1, x2)


@row("modf", standard=False, category="float")
def modf(x: Any, /) -> tuple[Array, Array]:
    """Return the fractional and the whole parts, both of the sign of `x`."""
    array = floats_of(x, "modf")
    whole = copysign(trunc(array), array)
    fraction = select(isinf(array), like(0, array), array - whole)
    return copysign(fraction, array), whole


@row("isposinf", standard=False, category="real")
def isposinf(x: Any, /) -> Array:
    """Return whether elements are infinity."""
    array = one("isposinf", "real", x)
    return e.logical_and(isinf(array), e.logical_not(signbit(array))) if kind_of(array.dtype) == "f" else isinf(array)


@row("isneginf", standard=False, category="real")
def isneginf(x: Any, /) -> Array:
    """Return whether elements are negative infinity."""
    array = one("isneginf", "real", x)
    return e.logical_and(isinf(array), signbit(array)) if kind_of(array.dtype) == "f" else isinf(array)
