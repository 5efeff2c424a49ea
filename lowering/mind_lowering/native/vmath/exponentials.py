"""
exp, expm1, logistic, tanh in f64: a power of two times a polynomial.

`x = n ln 2 + r` with an integer `n` and `r` within half of ln 2 (Cody and Waite: `n` times the leading part of ln 2 is exact),
then `exp x = 2^n (1 + p)` with `p = r + r^2 q(r)`.
"""

from __future__ import annotations

import math

from mind_dialect.lazy_dataclass import dataclass

from . import coefficients as k
from .reals import Reals, less_one


@dataclass(frozen=True)
class Reduced:
    """`n` as `Reals.nearest` gives it, and `r`."""

    number: str
    whole: str
    rest: str


def _reduced(v: Reals, x: str, number: str, whole: str) -> Reduced:
    high, low = k.LN2_SHORT_F64 if v.double else k.LN2_SHORT_F32
    rest = v.fma(whole, v.c(-low), v.fma(whole, v.c(-high), x))
    return Reduced(number, whole, rest)


def exp(v: Reals, x: str) -> str:
    """`e^x`; operands beyond what a float can tell from infinity are as good as the bound."""
    reduced, significand = _not_below(v, v.at_most(x, 710.0 if v.double else 89.0), -746.0 if v.double else -104.0, 2 * v.bias)
    return v.scaled(significand, reduced.whole, reduced.number)


def exp_not_above_one(v: Reals, x: str) -> str:
    """`e^x`, the same bits, of operands that are 0, less or NaN."""
    reduced, significand = _not_below(v, x, -746.0 if v.double else -104.0, v.bias + v.bias // 2)
    return v.scaled_down(significand, reduced.whole, reduced.number)


def exp_of_score(v: Reals, x: str) -> str:
    """`e^x` as `exp_not_above_one`, but 0 for what is no normal number: products of such take a hundred times as long."""
    reduced, significand = _not_below(v, x, -708.0 if v.double else -87.0, v.bias + v.bias // 2)
    return v.scaled_down(significand, reduced.whole, reduced.number)


def _not_below(v: Reals, x: str, low: float, offset: int) -> tuple[Reduced, str]:
    """As `_significand`, which is 0 where `x` is below a bound: no result underflows there, which would take far longer."""
    reduced, significand = _significand(v, v.at_least(x, low), offset)
    return reduced, v.where(v.test("ogt", v.c(low), x), v.c(0), significand)


def _significand(v: Reals, x: str, offset: int) -> tuple[Reduced, str]:
    """A reduced operand, its number with an offset, and `e^r`."""
    reduced = _reduced(v, x, *v.nearest(x, 1 / math.log(2), offset))
    return reduced, v.add(less_one(v, reduced.rest, k.EXP_F64 if v.double else k.EXP_F32), v.c(1))


def _half_less_half(v: Reals, x: str) -> tuple[str, str, str]:
    """
    `2^(n-1)`, `p` and `2^(n-1) - 1/2`: `expm1 x` is twice the sum of the last and the product of the first two.

    Half, for at the upper end `2^n` is no float. Around 0, where the sum would lose digits, `n` is 0.
    """
    around = v.test("olt", v.abs(x), v.c(0.5))
    number, whole = v.nearest(x, 1 / math.log(2))
    whole = v.where(around, v.c(0), whole)
    reduced = _reduced(v, x, number, whole)
    p = less_one(v, reduced.rest, k.EXPM1_F64 if v.double else k.EXPM1_F32)
    scale = v.scaled_in_range(v.c(0.5), whole, v.lanes.select(around, v.integer, v.i(0), number))
    return scale, p, v.sub(scale, v.c(0.5))


def expm1(v: Reals, x: str) -> str:
    """`e^x - 1`, `x` itself where it is too small to differ."""
    low, high = (-38.0, 710.0) if v.double else (-18.0, 89.0)
    scale, p, rest = _half_less_half(v, v.at_least(v.at_most(x, high), low))
    half = v.fma(scale, p, rest)
    tiny = v.test("olt", v.abs(x), v.c(2.0**-54 if v.double else 2.0**-25))
    return v.where(tiny, x, v.add(half, half))


def tanh(v: Reals, x: str) -> str:
    """`t / (t + 2)` of `t = expm1 2|x|`, what sums and quotient lose made good."""
    size = v.at_most(v.abs(x), 20.0)
    scale, p, rest = _half_less_half(v, v.add(size, size))
    half = v.fma(scale, p, rest)
    lost = v.fma(scale, p, v.sub(rest, half))
    divisor, lost_of_divisor = v.two_sum(half, v.c(1))
    inverse = v.div(v.c(1), divisor)
    first = v.mul(half, inverse)
    missing = v.exact_fma(v.neg(first), divisor, half)
    missing = v.add(missing, v.sub(lost, v.mul(first, v.add(lost_of_divisor, lost))))
    return v.with_sign_of(v.fma(missing, inverse, first), x)


def logistic(v: Reals, x: str) -> str:
    """`2^n / (2^n + e^r)`, `x = n ln 2 - r`: no exponential overflows, and all but the last sum are exact."""
    low, high = (-746.0, 60.0) if v.double else (-104.0, 40.0)
    x = v.at_least(v.at_most(x, high), low)
    reduced = _reduced(v, x, *v.nearest(x, 1 / math.log(2), 2 * v.bias))
    p = less_one(v, v.neg(reduced.rest), k.EXP_F64 if v.double else k.EXP_F32)
    scale = v.scaled(v.c(1), reduced.whole, reduced.number)
    total, lost = v.fast_two_sum(v.c(1), scale)
    return v.scaled(v.div(v.c(1), v.add(total, v.add(lost, p))), reduced.whole, reduced.number)
