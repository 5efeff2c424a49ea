"""
Where the numbers of `mind_lowering.native.vmath.coefficients` come from: `python tests/support/minimax.py` prints that file.

Polynomials are weighted least squares at Chebyshev's points, in 60 digits of mpmath, which is minimax but for a small factor.
Coefficients are rounded to the working format one after the other, lowest power first, and the rest is fitted again after each
rounding, so that roundings make up for each other.
Tables cut the range into 16 pieces, each with a polynomial around its middle. The rows of the logarithm tables are searched for:
of all factors near the reciprocal of a piece's middle, the one whose logarithm is nearest to a float.
"""

from __future__ import annotations

import struct
import textwrap
from collections.abc import Callable, Sequence
from functools import cache

import mpmath as mp

mp.mp.dps = 60
Function = Callable[[mp.mpf], mp.mpf]
F32, F64 = "f32", "f64"
POINTS = 60


def rounded(x: mp.mpf, kind: str) -> float:
    """`x` in a format, as a float."""
    return struct.unpack("<f", struct.pack("<f", float(x)))[0] if kind == F32 else float(x)


def least_squares(f: Function, weight: Function, low: mp.mpf, high: mp.mpf, powers: Sequence[int]) -> list[mp.mpf]:
    """The combination of powers with the least weighted squares at Chebyshev's points: minimax but for a small factor."""
    low, high, n = mp.mpf(low), mp.mpf(high), len(powers)
    points = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (k + mp.mpf(1) / 2) / POINTS) for k in range(POINTS)]
    weights = [weight(x) for x in points]
    columns = [[w * x**p for w, x in zip(weights, points, strict=True)] for p in powers]
    right = [w * f(x) for w, x in zip(weights, points, strict=True)]
    normal, sums = mp.matrix(n, n), mp.matrix(n, 1)
    for i, column in enumerate(columns):
        sums[i] = mp.fdot(column, right)
        for j in range(i, n):
            normal[i, j] = normal[j, i] = mp.fdot(column, columns[j])
    solved = mp.cholesky_solve(normal, sums)
    return [solved[j] for j in range(n)]


def _value(coefficients: Sequence[mp.mpf], powers: Sequence[int], x: mp.mpf) -> mp.mpf:
    return mp.fsum(c * x**p for c, p in zip(coefficients, powers, strict=True))


def fitted(
    f: Function, weight: Function, low: float, high: float, powers: Sequence[int], kind: str, fixed: Sequence[float] = ()
) -> tuple[list[float], float]:
    """Rounded coefficients, lowest power first, and the error they leave; `fixed` are given for the first powers."""
    done = [*fixed]
    while len(done) < len(powers):
        known = list(zip(done, powers, strict=False))

        def rest(x: mp.mpf, known: list[tuple[float, int]] = known) -> mp.mpf:
            return f(x) - mp.fsum(c * x**p for c, p in known)

        done.append(rounded(least_squares(rest, weight, low, high, powers[len(done) :])[0], kind))
    points = [mp.mpf(low) + (mp.mpf(high) - low) * k / 500 for k in range(501)]
    return done, float(max(weight(x) * abs(f(x) - _value([mp.mpf(c) for c in done], powers, x)) for x in points if x != 0))


# The functions


def near_zero(f: Function, series: mp.mpf | float, bound: float = 1e-13) -> Function:
    """`f` with its limit where it is 0 by 0."""
    return lambda x: f(x) if abs(x) > bound else mp.mpf(series)


def exponential(degree: int, kind: str, half: float = 0.3466) -> tuple[list[float], float]:
    """`q` in `exp r = 1 + r + r^2 q(r)`."""
    q = near_zero(lambda r: (mp.expm1(r) - r) / r**2, 0.5)
    return fitted(q, lambda r: r * r, -half, half, range(degree + 1), kind)


def log_of_one_plus(degree: int, kind: str, low: float, high: float) -> tuple[list[float], float]:
    """`q` in `log(1 + r) = r + r^2 q(r)`."""
    q = near_zero(lambda r: (mp.log1p(r) - r) / r**2, -0.5)
    return fitted(q, lambda r: max(abs(r), mp.mpf("1e-4")), low, high, range(degree + 1), kind)


def log2_of_one_plus(degree: int, kind: str, low: float, high: float) -> tuple[list[float], float]:
    """`q` in `log2(1 + r) = r q(r)`."""
    q = near_zero(lambda r: mp.log1p(r) / r / mp.log(2), 1 / mp.log(2), 1e-30)
    return fitted(q, lambda r: 1, low, high, range(degree + 1), kind)


def log_of_one_plus_after_square(degree: int, kind: str, low: float, high: float) -> tuple[list[float], float]:
    """`q` in `log(1 + r) = r - r^2 / 2 + r^3 q(r)`."""
    q = near_zero(lambda r: (mp.log1p(r) - r + r * r / 2) / r**3, mp.mpf(1) / 3, 1e-9)
    return fitted(q, lambda r: max(r * r, mp.mpf("1e-6")), low, high, range(degree + 1), kind)


def odd(f: Function, third: mp.mpf, square: float, degree: int, kind: str) -> tuple[list[float], float]:
    """`q` in `f r = r + r^3 q(r^2)`, where `r^2` is up to `square`, and `third` the factor of `r^3`."""
    q = near_zero(lambda z: (f(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, third)
    weight = lambda z: z * mp.sqrt(z) / f(mp.sqrt(z)) if z > 1e-4 else mp.mpf("1e-4")  # noqa: E731
    return fitted(q, weight, 0, square, range(degree + 1), kind)


def sine(degree: int, kind: str) -> tuple[list[float], float]:
    """The sine of what is within half of pi."""
    return odd(mp.sin, -mp.mpf(1) / 6, 2.4675, degree, kind)


def arc_tangent(degree: int, kind: str) -> tuple[list[float], float]:
    """The arc tangent of what is at most a half."""
    return odd(mp.atan, -mp.mpf(1) / 3, 0.25, degree, kind)


def pieces(f: Function, step: float, degree: int, kind: str, slope: float | None, steep: bool = False) -> list[list[float]]:
    """
    Per power a row of 16 coefficients of `f(m + d)`: piece `k` is within half a step of `m = k * step`.

    `f` is odd and tends to 1. The first piece has no constant term, and the given slope, so that it is right at 0;
    `steep`: `d` is taken off it.
    """
    table: list[list[float]] = []
    for k in range(16):
        middle, half = k * mp.mpf(step), mp.mpf(step) / 2 * mp.mpf("1.0001")

        def wanted(d: mp.mpf, middle: mp.mpf = middle) -> mp.mpf:
            return f(middle + d) - (d if steep and not middle else 0)

        def weight(d: mp.mpf, middle: mp.mpf = middle) -> mp.mpf:
            return 1 / f(max(middle + d, mp.mpf("1e-4")))

        fixed = [] if k else [0.0] if slope is None else [0.0, slope]
        table.append(fitted(wanted, weight, -half if k else 0, half, range(degree + 1), kind, fixed)[0])
    return [list(row) for row in zip(*table, strict=True)]


@cache
def log_rows(kind: str) -> tuple[list[float], list[float]]:
    """
    Factors `c` and `-log c` by the first four bits of the significand.

    Next to 1 (in f32, where significands are in [1, 2), also next to 2) factors are powers of 2: what is a little off 1 is exact.
    The other logarithms are within a tolerance of multiples of a unit, so that a sum with a multiple of a short ln 2 is exact. In
    f32 the lower half of a binade is taken with `LN2` once too often, and its logarithms make up for the error of that constant.
    """
    if kind == F32:
        bits, unit, tolerance = 24, mp.mpf(2) ** -24, mp.mpf(2) ** -34
        middles = [1 + (k + mp.mpf(1) / 2) / 16 for k in range(16)]
        errors = [0 if k < 8 else mp.mpf(rounded(mp.log(2), F32)) - mp.log(2) for k in range(16)]
        exact = {0: (1.0, 0.0), 15: (0.5, rounded(mp.log(2), F32))}
    else:
        bits, unit, tolerance = 53, mp.mpf(2) ** -42, mp.mpf(2) ** -67
        middles = [1 + (k + mp.mpf(1) / 2) / 16 if k < 8 else mp.mpf(1) / 2 + (k + mp.mpf(1) / 2) / 32 for k in range(16)]
        errors = [0] * 16
        exact = {0: (1.0, 0.0), 15: (1.0, 0.0)}
    pairs = enumerate(zip(middles, errors, strict=True))
    rows = [exact.get(k) or _nearest(1 / middle, bits, unit, tolerance, error) for k, (middle, error) in pairs]
    return [c for c, _ in rows], [log for _, log in rows]


def _nearest(start: mp.mpf, bits: int, unit: mp.mpf, tolerance: mp.mpf, error: mp.mpf) -> tuple[float, float]:
    """The first factor of `bits` bits from `start` on whose `-log`, plus `error`, is nearly a multiple of `unit`."""
    first = int(mp.nint(-mp.log(start) / unit))
    for i in range(1 << 20):
        multiple = (first + i) * unit
        exact = mp.exp(error - multiple)
        grain = mp.mpf(2) ** -(bits if exact < 1 else bits - 1)
        factor = mp.nint(exact / grain) * grain
        if abs(mp.log(factor) + multiple - error) <= tolerance:
            return float(factor), float(multiple)
    raise ValueError("no factor is near enough")


def short(x: mp.mpf, places: int, kind: str) -> tuple[float, float]:
    """`x` cut off after some binary places, and the rest, which is positive."""
    high = mp.floor(x * mp.mpf(2) ** places) / mp.mpf(2) ** places
    return float(high), rounded(x - high, kind)


def parts(x: mp.mpf, kind: str, count: int) -> list[float]:
    """Numbers of a format whose sum is `x`."""
    found: list[float] = []
    for _ in range(count):
        found.append(rounded(x, kind))
        x -= mp.mpf(found[-1])
    return found


def inverse_pi_words(count: int) -> list[int]:
    """The binary digits of 1 / pi in words of 64, after a word of zeros."""
    with mp.workdps(500):
        bits = int(mp.floor(mp.mpf(2) ** (64 * count) / mp.pi))
    return [0, *((bits >> (64 * (count - 1 - i))) & (2**64 - 1) for i in range(count))]


def _log2_factors() -> list[float]:
    return [1.0, *(float(1 / (1 + (k + mp.mpf(1) / 2) / 16)) for k in range(1, 15)), 0.5]


NUMBERS: dict[str, Callable[[], object]] = {
    "LN2_F32": lambda: rounded(mp.log(2), F32),
    "LN2_SHORT_F32": lambda: short(mp.log(2), 15, F32),
    "LN2_SHORT_F64": lambda: short(mp.log(2), 42, F64),
    "PI_SHORT_F64": lambda: short(mp.pi, 30, F64),
    "PI_WORD": lambda: int(mp.floor(mp.pi * 2**62)),
    "PI_F32": lambda: parts(mp.pi, F32, 3),
    "PI_F64": lambda: parts(mp.pi, F64, 3),
    "THREE_QUARTERS_PI_F32": lambda: parts(3 * mp.pi / 4, F32, 2),
    "THREE_QUARTERS_PI_F64": lambda: parts(3 * mp.pi / 4, F64, 2),
    "EXP_F32": lambda: exponential(4, F32)[0],
    "EXP_F64": lambda: exponential(9, F64)[0],
    "EXP2_F64_OF_F32": lambda: fitted(lambda r: mp.mpf(2) ** r, lambda r: 1, -0.5, 0.5, range(7), F64, [1.0])[0],
    "EXPM1_F32": lambda: exponential(5, F32, 0.51)[0],
    "EXPM1_F64": lambda: exponential(10, F64, 0.51)[0],
    "LOG_F32": lambda: log_of_one_plus(3, F32, -1 / 32, 1 / 16)[0],
    "LOG_F64": lambda: log_of_one_plus(8, F64, -1 / 32, 1 / 16)[0],
    "LOG2_F64_OF_F32": lambda: log2_of_one_plus(5, F64, -1 / 32, 1 / 16)[0],
    "LOG_F64_PRECISE": lambda: log_of_one_plus_after_square(9, F64, -1 / 32, 1 / 16)[0],
    "SIN_F32": lambda: sine(3, F32)[0],
    "SIN_F64": lambda: sine(7, F64)[0],
    "ATAN_F32": lambda: arc_tangent(4, F32)[0],
    "ATAN_F64": lambda: arc_tangent(11, F64)[0],
    "LOG_FACTORS_F32": lambda: log_rows(F32)[0],
    "LOG_TERMS_F32": lambda: log_rows(F32)[1],
    "LOG_FACTORS_F64": lambda: log_rows(F64)[0],
    "LOG_TERMS_F64": lambda: log_rows(F64)[1],
    "LOG2_FACTORS": _log2_factors,
    "LOG2_TERMS": lambda: [float(-mp.log(c, 2)) + 0.0 for c in _log2_factors()],
    "TANH_STEP_F32": lambda: 0.59375,
    "ERF_STEP_F32": lambda: 65 / 256,
    "ERF_STEP_F64": lambda: 25 / 64,
    "TANH_F32": lambda: pieces(mp.tanh, 0.59375, 7, F32, 1.0),
    "ERF_F32": lambda: pieces(mp.erf, 65 / 256, 6, F32, None, steep=True),
    "ERF_F64": lambda: pieces(mp.erf, 25 / 64, 12, F64, None),
    "INVERSE_PI": lambda: inverse_pi_words(20),
}
"""Every name of the file and what makes its number."""

HEAD = '''"""
The numbers of the vector math: polynomials (lowest power first), tables of 16 pieces (a row per power), constants in parts.

Derived by `tests/support/minimax.py`, which prints this file; a test compares them.
"""

# fmt: off

'''


def text() -> str:
    """The file of coefficients."""
    lines: list[str] = []
    for name, make in NUMBERS.items():
        value = make()
        if not isinstance(value, (list, tuple)):
            lines.append(f"{name} = {value!r}")
            continue
        lines.append(f"{name} = (")
        for row in value if isinstance(value[0], list) else [value]:
            inside = ", ".join(map(repr, row)) + ","
            nested = row is not value
            lines += ["    ("] * nested
            lines += textwrap.wrap(inside, 126, initial_indent="    " * (1 + nested), subsequent_indent="    " * (1 + nested))
            lines += ["    ),"] * nested
        lines.append(")")
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(text(), end="")
