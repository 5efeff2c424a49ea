"""
Quotients by a number that many lanes share: its reciprocal is taken once, and each quotient is corrected by what it misses.

With `r = 1 / y`, rounded, `q = x r` and the rest `q y - x`, which is exact, `q - rest r` is `x / y` rounded right (Markstein
1990; Brisebarre, Muller, Raina 2004): three instructions instead of one that takes several times as long.
"""

from __future__ import annotations

from .reals import Reals

MOST_TOTAL = 1 << 24
"""Greatest divisor of a share."""


def share(v: Reals, x: str, total: str) -> str:
    """
    `x / total` of an `x` from 0 to 1 and a total from 1 to `MOST_TOTAL`, or NaN.

    Where `x` is below `2^-100` in f32, or `2^-900` in f64, the rest may be no normal number: such quotients may be one unit
    in the last place off. LLVM takes the reciprocal out of loops.
    """
    if not v.lanes.host.fma:
        return v.div(x, total)
    reciprocal = v.div(v.c(1), total)
    found = v.mul(x, reciprocal)
    rest = v.fma(found, total, v.neg(x))
    return v.fma(rest, v.neg(reciprocal), found)
