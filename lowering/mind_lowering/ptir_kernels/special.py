"""
The inverse of the error function, the logarithm of the gamma function and its derivative, of arrays, without SciPy.

Everything is computed in f64; results of f32 are rounded once. The polynomials are this project's own fits, see
`special_coefficients`. Recurrences and reflections are those of the NIST Digital Library of Mathematical Functions, 5.5 and 5.11.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, pi
from typing import Any

from .. import special_coefficients as k
from .formats import Array


def horner(xp: Any, t: Array, coefficients: Sequence[float]) -> Array:
    """The polynomial at every `t`, lowest power first."""
    total = xp.full(t.shape, coefficients[-1])
    for c in coefficients[-2::-1]:
        total = total * t + c
    return total


def erf_inv(xp: Any, x: Array) -> Array:
    """The number whose error function is `x`: infinite at -1 and 1, NaN beyond."""
    x = xp.asarray(x).astype("float64")
    w = -xp.log((1.0 - x) * (1.0 + x))
    s = xp.sqrt(xp.minimum(w, 37.0))
    found = horner(xp, w / 3.125 - 1.0, k.ERF_INV_SMALL_F64)
    found = xp.where(w > 6.25, horner(xp, (s - 3.25) / 0.75, k.ERF_INV_MIDDLE_F64), found)
    found = xp.where(w > 16.0, horner(xp, (s - 5.0625) / 1.0625, k.ERF_INV_LARGE_F64), found)
    return xp.where(xp.absolute(x) == 1.0, x * xp.inf, x * found)


def lgamma(xp: Any, x: Array) -> Array:
    """The logarithm of the magnitude of the gamma function: +inf at 0, the negative integers and both infinities."""
    x = xp.asarray(x).astype("float64")
    mirrored = x < 0
    positive = _lgamma_of_positive(xp, xp.where(mirrored, 1.0 - x, xp.absolute(x)))
    off = x - xp.rint(x)  # the sine is of the distance to the nearest integer, which is exact
    reflected = log(pi) - xp.log(xp.absolute(xp.sin(pi * off))) - positive
    found = xp.where(mirrored, xp.where(off == 0, xp.inf, reflected), positive)
    return xp.where(xp.absolute(x) == xp.inf, xp.inf, found)


def _lgamma_of_positive(xp: Any, x: Array) -> Array:
    """Near its zeros at 1 and 2 by their own polynomials, up to 8 by recurrence, beyond by Stirling's series."""
    small = x < 0.5
    y = xp.where(small, x + 1.0, xp.minimum(x, 8.0))
    product = xp.ones_like(x)
    for _ in range(6):
        large = y > 2.5
        y = xp.where(large, y - 1.0, y)
        product = xp.where(large, product * y, product)
    at_1 = (y - 1.0) * horner(xp, 2.0 * (y - 1.0), k.LGAMMA_AT_1)
    at_2 = (y - 2.0) * horner(xp, 2.0 * (y - 2.0), k.LGAMMA_AT_2)
    inner = xp.where(y < 1.5, at_1, at_2) + xp.where(small, -xp.log(x), xp.log(product))
    z = xp.maximum(x, 8.0)
    series = horner(xp, 1.0 / (z * z), k.STIRLING) / z
    outer = (z - 0.5) * xp.log(z) - z + 0.5 * log(2 * pi) + series
    return xp.where(x < 8.0, inner, xp.where(x == xp.inf, x, outer))


def digamma(xp: Any, x: Array) -> Array:
    """The derivative of `lgamma`: NaN at 0, the negative integers and -inf, where there is none."""
    x = xp.asarray(x).astype("float64")
    mirrored = x < 0.5
    a = xp.where(mirrored, 1.0 - x, x)
    shift = xp.zeros_like(a)
    for _ in range(10):
        small = a < 10.0
        shift = xp.where(small, shift + 1.0 / a, shift)
        a = xp.where(small, a + 1.0, a)
    series = horner(xp, 1.0 / (a * a), k.DIGAMMA) / (a * a)
    found = xp.log(a) - 0.5 / a + series - shift
    off = x - xp.rint(x)
    angle = pi * off
    reflected = found - pi * xp.cos(angle) / xp.sin(angle)
    return xp.where(mirrored, xp.where(off == 0, xp.nan, reflected), xp.where(x == xp.inf, x, found))
