"""
The trigamma function in ops of PTIR: the derivative of `digamma`, and differentiable itself.

From 1/2 on ten steps of `trigamma(x) = trigamma(x + 1) + 1 / x^2`, then eight terms of the asymptotic series (NIST Digital
Library of Mathematical Functions, 5.15.8); below it the reflection `pi^2 / sin(pi x)^2 - trigamma(1 - x)` (5.15.6).
"""

from __future__ import annotations

from math import pi

from xdsl.ir import SSAValue

from mind_dialect.ptir import ReciprocalOp, RoundOp, SinOp
from mind_dialect.ptir.types import F64

from ...ptir.construct import add, cast, compare, div, full, make, mul, scale, spec, sub, where
from ..rules import Value

STEPS = 10
SERIES = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
"""Bernoulli numbers B2, B4, ..., the coefficients of `y^-3`, `y^-5`, ..."""


def trigamma(x: SSAValue) -> Value:
    """Return the values, of the type of `x`, computed in f64: +inf at 0 and the negative integers."""
    wide = cast(x, F64)
    mirrored = compare("less", wide, full(0.5, wide))
    a = where(mirrored, sub(full(1.0, wide), wide), wide)
    total: Value = full(0.0, wide)
    for step in range(STEPS):
        inverse = make(ReciprocalOp, add(a, full(float(step), wide)))
        total = add(total, mul(inverse, inverse))
    inverse = make(ReciprocalOp, add(a, full(float(STEPS), wide)))
    square = mul(inverse, inverse)
    series: Value = full(SERIES[-1], wide)
    for number in SERIES[-2::-1]:
        series = add(mul(series, square), full(number, wide))
    total = add(total, add(add(inverse, scale(square, 0.5)), mul(mul(series, square), inverse)))
    # Where nothing is reflected, 1 keeps derivatives of this side finite: they are multiplied by 0.
    sine = where(mirrored, make(SinOp, scale(sub(wide, make(RoundOp, wide)), pi)), full(1.0, wide))
    reflected = sub(div(full(pi * pi, wide), mul(sine, sine)), total)
    return cast(where(mirrored, reflected, total), spec(x).dtype)
