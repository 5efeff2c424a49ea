"""
log and log1p: a table takes the significand close to 1.

`x = 2^e m`; the four leading bits of `m` choose a factor `c` near `1/m`; `log x = e ln 2 - log c + log(1 + r)` with `r = c m - 1`
in [-1/32, 1/16]. Where `x` is near 1, `c` and the first two terms vanish and `r` is exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from . import coefficients as k
from .reals import Reals


def decomposed(v: Reals, x: str, around_one: bool) -> tuple[str, str]:
    """
    The significand and the exponent of `x`, as floats.

    Significands are in [3/4, 3/2) or, not around 1, in [1, 2). What they are of 0, of infinity and of what has no logarithm makes
    the logarithm of those right in registers of 512 bits; else `repaired` does.
    """
    if v.full:
        significand = v.special("getmant", [x], 15 if around_one else 12)
        exponent = v.special("getexp", [x])
        if not around_one:
            return significand, exponent
        lower = v.test("olt", significand, v.c(1))
        return significand, v.where(lower, v.add(exponent, v.c(1)), exponent)
    subnormal = v.test("olt", x, v.c(2.0 ** (1 - v.bias)))
    bits = v.bits(v.where(subnormal, v.mul(x, v.c(2.0 ** (v.digits + 1))), x))
    start = v.bias << v.digits
    if around_one:
        start -= 1 << (v.digits - 1)
    offset = v.on_bits("sub", bits, start)
    significand = v.of_bits(v.on_bits("add", v.on_bits("and", offset, (1 << v.digits) - 1), start))
    number = v.on_bits("ashr", offset, v.digits)
    number = v.on_bits("sub", number, v.lanes.select(subnormal, v.integer, v.i(v.digits + 1), v.i(0)))
    return significand, v.lanes.convert("sitofp", v.integer, v.type, number)


def repaired(v: Reals, x: str, found: str) -> str:
    """The logarithm of `x`, with what it is of infinity, 0, negative numbers and NaN."""
    found = v.where(v.test("oeq", x, v.c(math.inf)), x, found)
    found = v.where(v.test("oeq", x, v.c(0)), v.c(-math.inf), found)
    return v.where(v.test("ult", x, v.c(0)), v.c(math.nan), found)


def factor_and_term(v: Reals, name: str, significand: str, factors: Sequence[float], terms: Sequence[float]) -> tuple[str, str]:
    """`c` and the logarithm of its reciprocal."""
    index = v.on_bits("lshr", v.bits(significand), v.digits - 4)
    return v.looked_up(f"{name}.factors", factors, index), v.looked_up(f"{name}.terms", terms, index)


def _factor_and_term(v: Reals, significand: str) -> tuple[str, str]:
    factors, terms = (k.LOG_FACTORS_F64, k.LOG_TERMS_F64) if v.double else (k.LOG_FACTORS_F32, k.LOG_TERMS_F32)
    return factor_and_term(v, "log", significand, factors, terms)


def _assembled(v: Reals, exponent: str, term: str, r: str) -> str:
    """`e ln 2 - log c + log(1 + r)`."""
    square = v.mul(r, r)
    if not v.double:
        return v.add(v.fma(exponent, v.c(k.LN2_F32), term), v.fma(square, v.polynomial(r, k.LOG_F32), r))
    long, short = k.LN2_SHORT_F64
    low = v.fma(square, v.polynomial(r, k.LOG_F64), v.fma(exponent, v.c(short), r))
    return v.add(v.fma(exponent, v.c(long), term), low)


def log(v: Reals, x: str) -> str:
    """The natural logarithm."""
    significand, exponent = decomposed(v, x, v.double)
    factor, term = _factor_and_term(v, significand)
    r = v.exact_fma(significand, factor, v.c(-1))
    found = _assembled(v, exponent, term, r)
    return found if v.full else repaired(v, x, found)


def log1p(v: Reals, x: str) -> str:
    """`log(1 + x)`: the logarithm of the sum, with what the sum lost added to `r`."""
    total, lost = v.two_sum(v.c(1), x)
    significand, exponent = decomposed(v, total, v.double)
    factor, term = _factor_and_term(v, significand)
    r = v.exact_fma(significand, factor, v.c(-1))
    r = v.add(r, v.mul(lost, v.mul(factor, v.div(significand, total))))
    found = repaired(v, total, _assembled(v, exponent, term, r))
    return v.where(v.test("oeq", x, v.c(0)), x, found)
