"""The inverse error function, lgamma and digamma on every dtype, against series in decimals of many digits."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mind_lowering.special_coefficients as numbers
from mind_dialect.ptir.types import DTYPES, PtirDType
from ptir_oracle import array, elements, ids, legal, rounded, run, run_everywhere, same, samples, spacing

SPECIAL = ("erf_inv", "lgamma", "digamma")
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")
BERNOULLI = (
    *((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510), (43867, 798), (-174611, 330)),
    *((854513, 138), (-236364091, 2730), (8553103, 6), (-23749461029, 870), (8615841276005, 14322)),
)


def shifted(x: float) -> tuple[list[Decimal], Decimal]:
    """`x`, `x + 1` and on up to a number above 50, and that."""
    value = Decimal(x)
    steps = max(0, math.ceil(50 - x)) if x < 50 else 0
    return [value + i for i in range(steps)], value + steps


def lgamma_of(x: float) -> Any:
    """By Stirling's series far out, and the recurrence back."""
    if x != x or math.isinf(x):
        return abs(x)
    if x <= 0 and x == math.floor(x):
        return math.inf
    with localcontext() as context:
        context.prec = 80
        before, y = shifted(x)
        found = (y - Decimal("0.5")) * y.ln() - y + (2 * PI).ln() / 2
        for k, (a, b) in enumerate(BERNOULLI, 1):
            found += Decimal(a) / Decimal(b) / (2 * k * (2 * k - 1)) / y ** (2 * k - 1)
        return Fraction(found - sum((abs(v).ln() for v in before), Decimal(0)))


def digamma_of(x: float) -> Any:
    if x != x or x == -math.inf or (x <= 0 and x == math.floor(x)):
        return math.nan
    if x == math.inf:
        return x
    with localcontext() as context:
        context.prec = 80
        before, y = shifted(x)
        found = y.ln() - 1 / (2 * y)
        for k, (a, b) in enumerate(BERNOULLI, 1):
            found -= Decimal(a) / Decimal(b) / (2 * k) / y ** (2 * k)
        return Fraction(found - sum((1 / v for v in before), Decimal(0)))


def erf_inv_of(x: float) -> Any:
    """Two steps of Newton's method, in 60 digits, from a bisection in floats."""
    if not -1 < x < 1 or x == 0:
        return x if x == 0 else math.nan if abs(x) != 1 else x * math.inf
    low, high = 0.0, 6.4
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erfc(middle) > 1 - abs(x) else (low, middle)
    with localcontext() as context:
        context.prec = 80
        y = Decimal(low if abs(x) > 1e-8 else abs(x) * 0.886)
        for _ in range(8):
            y -= (erf_decimal(y) - Decimal(abs(x))) * PI.sqrt() / 2 * (y * y).exp()
        return Fraction(y) if x > 0 else -Fraction(y)


def erf_decimal(y: Decimal) -> Decimal:
    """The power series of the error function."""
    total, term, n = Decimal(0), y, 0
    while abs(term) > Decimal(10) ** -75 * max(abs(y), Decimal(10) ** -300) or n < 4:
        total += term / (2 * n + 1)
        n += 1
        term = -term * y * y / n
    return total * 2 / PI.sqrt()


ORACLES = {"erf_inv": erf_inv_of, "lgamma": lgamma_of, "digamma": digamma_of}


def largest_term(op: str, x: float) -> float:
    """What cancels in a result: reflections lose as much as their terms are larger than it."""
    if op == "erf_inv" or not math.isfinite(x):
        return 0.0
    off = abs(x - round(x))
    near = abs(math.log(off)) if op == "lgamma" and off else 1 / off if off else 0.0
    return 4.0 + abs(x) + (near if x < 1 else 0.0)


def check(op: str, x: np.ndarray, found: np.ndarray, dtype: PtirDType) -> None:
    wide = dtype is DTYPES["f64"]
    for a, b in zip(elements(x), elements(found), strict=True):
        exact = ORACLES[op](a)
        nearest = rounded(exact if isinstance(exact, Fraction) else float(exact), dtype.name)
        if not math.isfinite(nearest) or not math.isfinite(b):
            assert same(b, nearest), (op, a, b, nearest)
            continue
        slack = Fraction(4 if wide else 1) * spacing(nearest, dtype) + Fraction(4 * 2.0**-52 * largest_term(op, a))
        assert abs(Fraction(b) - Fraction(exact)) <= slack, (op, a, b, float(exact))


@pytest.mark.parametrize(("op", "dtype"), [p for p in legal("transcendental") if p[0] in SPECIAL], ids=ids)
def test_special_values_and_random_ones(op: str, dtype: PtirDType):
    x = samples(dtype, 60)
    check(op, x, run_everywhere(op, x), dtype)


POINTS = {
    "erf_inv": [*np.linspace(-0.99, 0.99, 41), 1 - 2.0**-20, 1 - 2.0**-24, 1 - 2.0**-40, 1 - 2.0**-53, 1e-20, -1e-300, 0.9990],
    "lgamma": [*np.linspace(0.01, 12, 101), 1.0, 2.0, 1 + 2.0**-30, 2 - 2.0**-30, -0.5, -1.5, -10.25, 1e-300, 1e10, 1e300, 7.99],
    "digamma": [*np.linspace(0.01, 12, 101), 1.4616321449683622, -0.5, -1.5, -10.25, 1e-300, 1e10, 1e300, 9.99, 10.0],
}


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("op", SPECIAL)
def test_accurate_everywhere(op: str, dtype: str):
    with np.errstate(over="ignore"):
        x = array(np.float32(POINTS[op]).tolist() if dtype == "f32" else POINTS[op], dtype)
    check(op, x, run(op, x), DTYPES[dtype])


def test_zeros_keep_their_sign():
    assert math.copysign(1, float(run("erf_inv", array([-0.0], "f64"))[0])) == -1


def test_the_numbers_are_those_of_the_script():
    pytest.importorskip("mpmath", reason="the numbers are derived with mpmath")
    import special_fits

    assert Path(numbers.__file__).read_text(encoding="utf-8") == special_fits.text()
