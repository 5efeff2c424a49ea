"""
Quotients by a number that many lanes share: its reciprocal is taken once, and each quotient is corrected by what it misses.

With `r = 1 / y`, rounded, `q = x r` and the rest `q y - x`, which is exact, `q - rest r` is `x / y` rounded right (Markstein
1990; Brisebarre, Muller, Raina 2004): three instructions instead of one that takes several times as long.
"""

from __future__ import annotations

import math

from ..lanes import Lanes
from .reals import Reals

MOST_TOTAL = 1 << 24
"""Greatest divisor of a share."""
DIVISORS = (2.0**-24, 2.0**24)
"""The least and the greatest divisor whose quotients are corrected."""
CORRECTED = 32
"""Corrected quotients and other functions in one kernel, at most: each is two blocks more to compile."""
REPEATED = 3
"""Vectors that share a divisor, at least."""


def share(v: Reals, x: str, total: str) -> str:
    """
    `x / total` of an `x` from 0 to 1 and a total from 1 to `MOST_TOTAL`, or NaN.

    Where `x` is below `2^-100` in f32, or `2^-900` in f64, the rest may be no normal number: such quotients may be one unit
    in the last place off. LLVM takes the reciprocal out of loops.
    """
    return _corrected(v, x, total) if v.lanes.host.fma else v.div(x, total)


def pays(lanes: Lanes, divisor: float = 1.0) -> bool:
    """Return whether `shared` is faster than a division in some lanes, and right for a divisor."""
    is_early = lanes.function.inlined < CORRECTED
    return is_early and lanes.width > 1 and lanes.host.fma and DIVISORS[0] <= divisor <= DIVISORS[1]


def shared(v: Reals, x: str, divisor: str, *, is_known: bool = False) -> str:
    """
    `x / divisor`, the same bits, where many lanes share the divisor; `is_known` says that it is in `DIVISORS`.

    All lanes are divided where it is not, or where an `x` that is not 0 is tiny, large, infinite or NaN. LLVM takes what
    depends on the divisor alone out of loops.
    """
    v.lanes.function.inlined += 1
    size = v.bits(v.abs(x))
    outside = _is_outside(v, size, (2.0**-900, 2.0**900) if v.double else (2.0**-100, 2.0**100))
    odd = v.lanes.any(v.lanes.binary("and", "i1", outside, v.lanes.compare("icmp ne", v.integer, size, v.i(0))))
    if not is_known:
        odd = v.lanes.function.op(f"or i1 {odd}, {v.lanes.any(_is_outside(v, v.bits(divisor), DIVISORS))}", "odd")
    found = _corrected(v, x, divisor)
    return v.lanes.function.changed(odd, [(v.lanes.of(v.type), found)], lambda: [v.div(x, divisor)])[0]


def _is_outside(v: Reals, bits: str, bounds: tuple[float, float]) -> str:
    """Compare floats, by their bits, with bounds that are powers of two: a negative number, or NaN, is outside."""
    low, high = (v.bias + int(math.log2(b)) << v.digits for b in bounds)
    return v.lanes.compare("icmp ugt", v.integer, v.on_bits("sub", bits, low), v.i(high - low))


def _corrected(v: Reals, x: str, divisor: str) -> str:
    reciprocal = v.div(v.c(1), divisor)
    found = v.mul(x, reciprocal)
    rest = v.fma(found, divisor, v.neg(x))
    return v.fma(rest, v.neg(reciprocal), found)
