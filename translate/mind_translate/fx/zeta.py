"""
The zeta function of Hurwitz and the polygamma functions, of operands of f64.

By the sum of the first terms and Euler and Maclaurin's formula for the rest (NIST Digital Library of Mathematical Functions,
25.11.5), of positive q. Of negative q finitely many more terms precede those of its fraction f; they are a difference of two
sums of positive ones: `zeta(s, q) = zeta(s, f) + (-1)^s (zeta(s, 1 - f) - zeta(s, 1 - q))`.
"""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from mind_dialect import ptir

from .converter import AtenConverter

TERMS = 12
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)
"""B2, B4, ..."""


def _of_positive(to: AtenConverter, s: SSAValue, q: SSAValue) -> SSAValue:
    """`zeta(s, q)` for `s > 1` and `q > 0`."""
    spread = (*to.shape(q), TERMS)
    axis = len(spread) - 1
    number = to.emit(ptir.IotaOp, shape=(TERMS,), dtype=to.dtype(q), axis=0)
    wide_q, wide_s = (to.place(v, list(range(axis)), spread) for v in (q, s))
    minus_s = to.emit(ptir.NegOp, wide_s)
    terms = to.emit(ptir.PowOp, to.math(ptir.AddOp, wide_q, number), minus_s)
    end = to.math(ptir.AddOp, q, float(TERMS))
    power = to.emit(ptir.PowOp, end, to.emit(ptir.NegOp, s))
    inverse = to.emit(ptir.ReciprocalOp, end)
    square = to.emit(ptir.MulOp, inverse, inverse)
    # B2k / (2k)! s (s + 1) ... (s + 2k - 2) end^(1 - 2k), each factor from the one before it
    factor = to.emit(ptir.MulOp, s, inverse)
    series = to.scaled(factor, BERNOULLI[0] / 2)
    for k, number_2k in enumerate(BERNOULLI[1:], 2):
        pair = to.emit(ptir.MulOp, to.math(ptir.AddOp, s, float(2 * k - 3)), to.math(ptir.AddOp, s, float(2 * k - 2)))
        factor = to.emit(ptir.MulOp, to.emit(ptir.MulOp, factor, pair), square)
        series = to.emit(ptir.AddOp, series, to.scaled(factor, number_2k / math.factorial(2 * k)))
    rest = to.math(ptir.AddOp, to.emit(ptir.DivOp, end, to.math(ptir.SubOp, s, 1.0)), 0.5)
    tail = to.emit(ptir.MulOp, power, to.emit(ptir.AddOp, rest, series))
    return to.emit(ptir.AddOp, to.reduce("sum", terms, axis), tail)


def zeta(to: AtenConverter, s: SSAValue, q: SSAValue) -> SSAValue:
    """
    `sum (q + k)^-s`: infinite for `s = 1` and where q is 0 or a negative integer, NaN for smaller s and infinite q.

    Of negative q it is defined for whole s only. Special values are those of Cephes, `zeta.c`.
    """
    is_below = to.compare("less", q, 0.0)
    is_normal = to.compare("less", to.emit(ptir.AbsOp, q), math.inf)
    normal_q = to.select(is_normal, q, to.like(1.0, q))
    floor = to.emit(ptir.FloorOp, normal_q)
    fraction = to.emit(ptir.SubOp, normal_q, floor)
    is_pole = to.emit(ptir.AndOp, to.compare("less_equal", q, 0.0), to.compare("equal", fraction, 0.0))
    normal_s = to.select(to.compare("greater", s, 1.0), s, to.like(2.0, s))
    is_mirrored = to.emit(ptir.AndOp, is_below, to.compare("greater", fraction, 0.0))
    half = to.like(0.5, q)
    inner = to.select(is_mirrored, fraction, half)  # of the others, numbers without poles
    outer = to.select(is_mirrored, normal_q, to.emit(ptir.NegOp, half))
    positive = to.select(to.emit(ptir.OrOp, is_below, is_pole), to.like(1.0, q), normal_q)
    (plain, at_fraction, above, beyond) = (
        _of_positive(to, normal_s, v)
        for v in (positive, inner, to.math(ptir.SubOp, to.like(1.0, q), inner), _one_minus(to, outer))
    )
    parity = to.math(ptir.RemainderOp, to.select(is_mirrored, normal_s, to.like(2.0, s)), 2.0)
    sign = to.math(ptir.SubOp, to.like(1.0, s), to.scaled(parity, 2.0))
    between = to.emit(ptir.MulOp, sign, to.emit(ptir.SubOp, above, beyond))
    found = to.select(is_mirrored, to.emit(ptir.AddOp, at_fraction, between), plain)
    is_whole = to.compare("equal", to.emit(ptir.FloorOp, s), s)
    nan, infinite = to.like(math.nan, q), to.like(math.inf, q)
    undefined = to.emit(ptir.AndOp, is_mirrored, to.emit(ptir.NotOp, is_whole))
    found = to.select(to.emit(ptir.OrOp, undefined, to.emit(ptir.NotOp, is_normal)), nan, found)
    found = to.select(is_pole, infinite, found)
    found = to.select(to.compare("greater", s, 1.0), found, nan)
    return to.select(to.compare("equal", s, 1.0), infinite, found)


def _one_minus(to: AtenConverter, x: SSAValue) -> SSAValue:
    return to.math(ptir.SubOp, to.like(1.0, x), x)


def digamma(to: AtenConverter, x: SSAValue) -> SSAValue:
    """`-1 / x` at the zeros, which are infinities of either sign, as torch has it."""
    is_zero = to.compare("equal", x, 0.0)
    pole = to.emit(ptir.NegOp, to.emit(ptir.ReciprocalOp, to.select(is_zero, x, to.like(1.0, x))))
    return to.select(is_zero, pole, to.emit(ptir.DigammaOp, to.select(is_zero, to.like(1.0, x), x)))


def polygamma(to: AtenConverter, n: int, x: SSAValue) -> SSAValue:
    """The n-th derivative of `digamma`: `(-1)^(n + 1) n! zeta(n + 1, x)`; for n = 1 it is 0 at +inf, and NaN at -inf."""
    if n == 0:
        return digamma(to, x)
    found = to.scaled(zeta(to, to.like(float(n + 1), x), x), (-1.0) ** (n + 1) * math.factorial(n))
    if n == 1:
        found = to.select(to.compare("equal", x, math.inf), to.like(0.0, x), found)
        found = to.select(to.compare("equal", x, -math.inf), to.like(math.nan, x), found)
    return found
