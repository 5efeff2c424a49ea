"""
log and log1p: a table takes the significand close to 1.

`x = 2^e m`; the four leading bits of `m` choose a factor `c` near `1/m`; `log x = e ln 2 - log c + log(1 + r)` with `r = c m - 1`
in [-1/32, 1/16]. Where `x` is near 1, `c` and the first two terms vanish and `r` is exact.
"""

from __future__ import annotations

import math

from . import coefficients as k
from .reals import Reals, decomposed, factor_and_term


def repaired(v: Reals, x: str, found: str) -> str:
    """The logarithm of `x`, with what it is of infinity, 0, negative numbers and NaN."""
    found = v.where(v.test("oeq", x, v.c(math.inf)), x, found)
    found = v.where(v.test("oeq", x, v.c(0)), v.c(-math.inf), found)
    return v.where(v.test("ult", x, v.c(0)), v.c(math.nan), found)


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
