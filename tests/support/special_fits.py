"""
Where the numbers of `mind_lowering.special_coefficients` come from: `python tests/support/special_fits.py` prints that file.
With the argument `bessel` it prints `mind_translate.bessel_coefficients`.

Polynomials interpolate at Chebyshev's points in 60 digits of mpmath; their variable is scaled to -1 .. 1, where powers are tame.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable

import mpmath as mp

Function = Callable[[mp.mpf], mp.mpf]

HEAD = '''"""
Polynomials of special functions, lowest power first, in a variable that goes from -1 to 1 over the piece.

Derived by `tests/support/special_fits.py`, which prints this file; a test compares them.
"""

# fmt: off
'''


def interpolated(f: Function, count: int, low: float | str, high: float | str) -> list[float]:
    """The coefficients of the polynomial through `count` of Chebyshev's points on a piece."""
    low, high = mp.mpf(low), mp.mpf(high)
    angles = [mp.pi * (k + mp.mpf(1) / 2) / count for k in range(count)]
    values = [f((low + high) / 2 + (high - low) / 2 * mp.cos(a)) for a in angles]
    series = [2 * mp.fsum(v * mp.cos(j * a) for v, a in zip(values, angles, strict=True)) / count for j in range(count)]
    series[0] /= 2
    polynomials = [[mp.mpf(1)], [mp.mpf(0), mp.mpf(1)]]
    while len(polynomials) < count:
        shifted = [mp.mpf(0), *(2 * c for c in polynomials[-1])]
        before = polynomials[-2] + [mp.mpf(0)] * 2
        polynomials.append([a - b for a, b in zip(shifted, before, strict=True)])
    return [float(mp.fsum(s * p[i] for s, p in zip(series, polynomials, strict=True) if i < len(p))) for i in range(count)]


def of_log(w: mp.mpf) -> mp.mpf:
    """`erf_inv(x) / x` where `w = -log(1 - x^2)`."""
    if w < mp.mpf(10) ** -15:
        return mp.sqrt(mp.pi) / 2 * (1 + mp.pi / 12 * w)
    x = mp.sqrt(-mp.expm1(-w))
    return mp.erfinv(x) / x


def of_root(s: mp.mpf) -> mp.mpf:
    """The same, where `s` is the square root of that logarithm."""
    return of_log(s * s)


def gamma_near(root: int) -> Function:
    """`lgamma(x) / (x - root)` near one of its two zeros."""
    at_root = {1: -mp.euler, 2: 1 - mp.euler}[root]
    return lambda x: mp.loggamma(x) / (x - root) if x != root else at_root


def tables() -> dict[str, list[float]]:
    """Every table by name."""
    with mp.workdps(60):
        root = mp.sqrt(5)
        return {
            "ERF_INV_SMALL_F32": interpolated(of_log, 10, 0, 5),
            "ERF_INV_LARGE_F32": interpolated(of_root, 10, root, 4),
            "ERF_INV_SMALL_F64": interpolated(of_log, 24, 0, 6.25),
            "ERF_INV_MIDDLE_F64": interpolated(of_root, 20, 2.5, 4),
            "ERF_INV_LARGE_F64": interpolated(of_root, 20, 4, 6.125),
            "LGAMMA_AT_1": interpolated(gamma_near(1), 30, 0.5, 1.5),
            "LGAMMA_AT_2": interpolated(gamma_near(2), 20, 1.5, 2.5),
            "STIRLING": [float(mp.bernoulli(2 * k) / (2 * k * (2 * k - 1))) for k in range(1, 11)],
            "DIGAMMA": [float(-mp.bernoulli(2 * k) / (2 * k)) for k in range(1, 11)],
        }


def bessel_near(order: int) -> Function:
    """`exp(-x) I(x) / x^order` of the modified Bessel function of order 0 or 1."""
    return lambda x: mp.exp(-x) * mp.besseli(order, x) / x**order if x else mp.mpf(1) / (1 + order)


def bessel_far(order: int) -> Function:
    """`sqrt(x) exp(-x) I(x)` where `t = 8 / x`."""
    return lambda t: mp.sqrt(8 / t) * mp.exp(-8 / t) * mp.besseli(order, 8 / t) if t else 1 / mp.sqrt(2 * mp.pi)


def bessel_tables() -> dict[str, list[float]]:
    """The tables of the modified Bessel functions of the first kind."""
    with mp.workdps(60):
        near = {f"I{order}E_NEAR": interpolated(bessel_near(order), 28, 0, 8) for order in (0, 1)}
        far = {f"I{order}E_FAR": interpolated(bessel_far(order), 24, 0, 1) for order in (0, 1)}
        short = {"NEAR": interpolated(bessel_near(1), 22, 0, 8), "FAR": interpolated(bessel_far(1), 8, 0, 1)}
        return near | far | {f"I1E_{piece}_F32": numbers for piece, numbers in short.items()}


FILES = {"special": tables, "bessel": bessel_tables}


def text(file: str = "special") -> str:
    """The file."""
    lines = [HEAD]
    for name, values in FILES[file]().items():
        body = textwrap.fill(", ".join(map(repr, values)) + ",", 126, initial_indent="    ", subsequent_indent="    ")
        lines.append(f"{name} = (\n{body}\n)")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(text(*sys.argv[1:]), end="")
