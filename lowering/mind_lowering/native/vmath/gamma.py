"""
The logarithm of the magnitude of the gamma function, in f64 (f32 is rounded once).

Near its zeros at 1 and 2 their own polynomials, below 1/2 and up to 8 by recurrence, beyond 8 Stirling's series. Negative numbers
by reflection: `lgamma(-a) = -log(a sin(pi a) / pi) - lgamma(a)`, the sine of the distance to the nearest integer, which is exact.
Where the two terms cancel, next to zeros below -2, the C library computes the lanes of f64, in a branch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from ... import special_coefficients as k
from .reals import Reals, where_any

_STIRLING_FROM = 8
_SINE = tuple((-1) ** n * math.pi ** (2 * n) / math.factorial(2 * n + 1) for n in range(12))
"""`sin(pi r) / (pi r)` in powers of `r^2`: up to 1/2 the next term is below 1e-18."""


Log = Callable[[Reals, str], str]
"""The natural logarithm."""


def lgamma(v: Reals, x: str, log: Log) -> str:
    """Infinite at 0, the negative integers and both infinities."""
    if v.double:
        return _lgamma(v, x, log)
    wide = replace(v, type="double")
    return v.narrowed(_lgamma(wide, v.widened(x), log, near_zeros=False))


def _lgamma(v: Reals, x: str, log: Log, near_zeros: bool = True) -> str:
    """`near_zeros`: correct to the last places there too."""
    size, below = v.abs(x), v.test("olt", x, v.c(0))
    is_small = v.test("olt", size, v.c(0.5))
    inner, positive = _of_positive(v, size, is_small, log)
    clamped = v.at_most(size, 2.0**52)
    off = v.abs(v.sub(clamped, v.sub(v.add(clamped, v.c(2.0**52)), v.c(2.0**52))))
    sine = v.mul(off, v.polynomial(v.mul(off, off), _SINE))
    logarithm = log(v, v.mul(sine, v.where(is_small, v.c(1), size)))
    mirrored = v.neg(v.add(logarithm, v.where(is_small, inner, positive)))
    if near_zeros:
        terms = v.fma(v.abs(positive), v.c(0.5), v.c(0.5))
        cancels = v.lanes.binary("and", "i1", v.test("olt", v.abs(mirrored), terms), v.test("olt", x, v.c(-2)))
        v.lanes.function.module.declare("lgamma", v.type, [v.type])
        mirrored = where_any(v, cancels, (x,), mirrored, "lgamma.rare", "lgamma")
    infinite = v.c(math.inf)
    mirrored = v.where(v.test("oeq", off, v.c(0)), infinite, mirrored)
    return v.where(v.test("oeq", size, infinite), infinite, v.where(below, mirrored, positive))


def _of_positive(v: Reals, x: str, is_small: str, log: Log) -> tuple[str, str]:
    """`lgamma(1 + x)` where `x` is small; `lgamma(x)`."""
    one = v.c(1)
    is_inner = v.test("olt", x, v.c(_STIRLING_FROM))
    y, product = v.where(is_small, v.add(x, one), v.at_most(x, _STIRLING_FROM)), one
    for _ in range(_STIRLING_FROM - 2):
        is_large, less = v.test("ogt", y, v.c(2.5)), v.sub(y, one)
        y = v.where(is_large, less, y)
        product = v.where(is_large, v.mul(product, less), product)
    near = [
        v.mul(distance, _polynomial(v, v.add(distance, distance), table))
        for distance, table in ((v.sub(y, one), k.LGAMMA_AT_1), (v.sub(y, v.c(2)), k.LGAMMA_AT_2))
    ]
    near_zero = v.where(v.test("olt", y, v.c(1.5)), *near)
    logarithm = log(v, v.where(is_inner, v.where(is_small, x, product), x))
    inner = v.add(near_zero, v.where(is_small, v.neg(logarithm), logarithm))
    z = v.at_least(x, _STIRLING_FROM)
    inverse = v.div(one, z)
    series = v.mul(v.polynomial(v.mul(inverse, inverse), k.STIRLING), inverse)
    rest = v.add(series, v.c(0.5 * math.log(2 * math.pi) - 0.5))
    outer = v.fma(v.sub(z, v.c(0.5)), v.sub(logarithm, one), rest)
    return near_zero, v.where(is_inner, inner, outer)


def _polynomial(v: Reals, t: str, coefficients: Sequence[float]) -> str:
    """Return the value at `t`, the two lowest powers added last: those of even and of odd powers cancel."""
    constant, slope, *others = coefficients
    return v.fma(v.fma(v.polynomial(t, others), t, v.c(slope)), t, v.c(constant))
