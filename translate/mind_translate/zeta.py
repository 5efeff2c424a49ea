"""
The zeta function of Hurwitz and the polygamma functions, of operands of f64.

By the sum of the first terms and Euler and Maclaurin's formula for the rest (NIST Digital Library of Mathematical Functions,
25.11.5), of positive q. Of negative q finitely many more terms precede those of its fraction f; they are a difference of two
sums of positive ones: `zeta(s, q) = zeta(s, f) + (-1)^s (zeta(s, 1 - f) - zeta(s, 1 - q))`.

Of positive q, the formula leaves out less than its next term, which is below 1e-21 of the value, so that values are within some
units in the last place; where `n` of polygamma is an operand, `n!` adds as many as its logarithm is. Differences cancel near
their zeros.
"""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from mind_dialect import ptir

from .formulas import Formula
from .landing import Lander

TERMS = 12
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)
"""B2, B4, ..."""


def _of_positive(to: Lander, s: SSAValue, q: SSAValue) -> SSAValue:
    """`zeta(s, q)` for `s > 1` and `q > 0`."""
    m = Formula(to, q)
    spread = (*to.shape(q), TERMS)
    axis = len(spread) - 1
    number = to.emit(ptir.IotaOp, shape=spread, dtype=to.dtype(q), axis=axis)
    wide_q, wide_s = (to.place(v, list(range(axis)), spread) for v in (q, s))
    terms = to.emit(ptir.PowOp, to.emit(ptir.AddOp, wide_q, number), to.emit(ptir.NegOp, wide_s))
    end = m.add(q, float(TERMS))
    power = m(ptir.PowOp, end, m(ptir.NegOp, s))
    inverse = m(ptir.ReciprocalOp, end)
    square = m.mul(inverse, inverse)
    # B2k / (2k)! s (s + 1) ... (s + 2k - 2) end^(1 - 2k), each factor from the one before it
    factor = m.mul(s, inverse)
    series = m.mul(factor, BERNOULLI[0] / 2)
    for k, number_2k in enumerate(BERNOULLI[1:], 2):
        pair = m.mul(m.add(s, float(2 * k - 3)), m.add(s, float(2 * k - 2)))
        factor = m.mul(m.mul(factor, pair), square)
        series = m.add(series, m.mul(factor, number_2k / math.factorial(2 * k)))
    rest = m.add(m.div(end, m.sub(s, 1.0)), 0.5)
    tail = m.mul(power, m.add(rest, series))
    return m.add(to.emit(ptir.ReduceOp, terms, kind="sum", axes=(axis,), keepdims=False), tail)


def zeta(to: Lander, s: SSAValue, q: SSAValue) -> SSAValue:
    """
    `sum (q + k)^-s`: infinite for `s = 1` and where q is 0 or a negative integer, NaN for smaller s and infinite q.

    Of negative q it is defined for whole s only. Special values are those of Cephes, `zeta.c`.
    """
    m = Formula(to, q)
    is_below = to.compare("less", q, 0.0)
    is_normal = to.compare("less", m(ptir.AbsOp, q), math.inf)
    normal_q = to.select(is_normal, q, to.like(1.0, q))
    fraction = m.sub(normal_q, m(ptir.FloorOp, normal_q))
    is_pole = to.emit(ptir.AndOp, to.compare("less_equal", q, 0.0), to.compare("equal", fraction, 0.0))
    normal_s = to.select(to.compare("greater", s, 1.0), s, to.like(2.0, s))
    is_mirrored = to.emit(ptir.AndOp, is_below, to.compare("greater", fraction, 0.0))
    half = to.like(0.5, q)
    inner = to.select(is_mirrored, fraction, half)  # of the others, numbers without poles
    outer = to.select(is_mirrored, normal_q, to.like(-0.5, q))
    positive = to.select(is_mirrored, fraction, to.select(to.emit(ptir.OrOp, is_below, is_pole), to.like(1.0, q), normal_q))
    (plain, above, beyond) = (_of_positive(to, normal_s, v) for v in (positive, m.sub(1.0, inner), m.sub(1.0, outer)))
    parity = m(ptir.RemainderOp, to.select(is_mirrored, normal_s, to.like(2.0, s)), 2.0)
    between = m.mul(m.sub(1.0, m.mul(parity, 2.0)), m.sub(above, beyond))
    found = to.select(is_mirrored, m.add(plain, between), plain)
    is_whole = to.compare("equal", m(ptir.FloorOp, s), s)
    nan, infinite = to.like(math.nan, q), to.like(math.inf, q)
    undefined = to.emit(ptir.AndOp, is_mirrored, to.emit(ptir.NotOp, is_whole))
    found = to.select(to.emit(ptir.OrOp, undefined, to.emit(ptir.NotOp, is_normal)), nan, found)
    found = to.select(is_pole, infinite, found)
    found = to.select(to.compare("greater", s, 1.0), found, nan)
    return to.select(to.compare("equal", s, 1.0), infinite, found)


def digamma(to: Lander, x: SSAValue) -> SSAValue:
    """`-1 / x` at the zeros, which are infinities of either sign, as torch has it."""
    m, is_zero = Formula(to, x), to.compare("equal", x, 0.0)
    pole = m(ptir.NegOp, m(ptir.ReciprocalOp, to.select(is_zero, x, to.like(1.0, x))))
    return to.select(is_zero, pole, m(ptir.DigammaOp, to.select(is_zero, to.like(1.0, x), x)))


def polygamma(to: Lander, n: int, x: SSAValue) -> SSAValue:
    """The n-th derivative of `digamma`: `(-1)^(n + 1) n! zeta(n + 1, x)`; for n = 1 it is 0 at +inf, and NaN at -inf."""
    if n == 0:
        return digamma(to, x)
    found = Formula(to, x).mul(zeta(to, to.like(float(n + 1), x), x), (-1.0) ** (n + 1) * math.factorial(n))
    if n == 1:
        found = to.select(to.compare("equal", x, math.inf), to.like(0.0, x), found)
        found = to.select(to.compare("equal", x, -math.inf), to.like(math.nan, x), found)
    return found


def polygamma_of(to: Lander, n: SSAValue, x: SSAValue) -> SSAValue:
    """The same of orders that are data, constants for derivatives; NaN where they are negative or not whole."""
    m, one = Formula(to, x), to.like(1.0, x)
    n = m(ptir.StopGradientOp, n)
    is_whole = to.emit(ptir.AndOp, to.compare("greater_equal", n, 0.0), to.compare("equal", m(ptir.FloorOp, n), n))
    is_zero = to.compare("equal", n, 0.0)
    order = to.select(to.emit(ptir.AndOp, is_whole, to.emit(ptir.NotOp, is_zero)), n, one)
    size = m(ptir.ExpOp, m(ptir.LgammaOp, m.add(order, 1.0)))
    sign = m.sub(m.mul(m(ptir.RemainderOp, order, 2.0), 2.0), 1.0)
    found = m.mul(m.mul(sign, size), zeta(to, m.add(order, 1.0), x))
    found = to.select(is_zero, m(ptir.DigammaOp, to.select(is_zero, x, one)), found)
    return to.select(is_whole, found, to.like(math.nan, x))
