"""Complex numbers at the edges of functions, and functions of complex numbers in wider ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from mind_dialect import ptir


def edges(precision: str) -> Any:
    """Numbers of zeros, infinities, NaN, the least, the greatest and ordinary parts, others near 1, others of all sizes."""
    info, rng = np.finfo(precision), np.random.default_rng(0)
    ends = [info.smallest_subnormal, info.tiny, info.tiny * 8, info.max, info.max / 2, info.max**0.5, info.tiny**0.5]
    numbers = [0.0, 0.5, 1, 2, 3, 7.25, 1e-3, 1e-15, 1e15, 40, 3e4, *ends, np.inf]
    line = np.array([*numbers, *(-n for n in numbers), np.nan], precision)
    real, imag = (v.ravel() for v in np.meshgrid(line, line))
    near = (1 + rng.standard_normal(2000) * 10.0 ** rng.uniform(-8, 0, 2000)) * np.exp(2j * np.pi * rng.random(2000))
    sizes = rng.standard_normal((2, 2000)) * 10.0 ** rng.uniform(-30, 30, (2, 2000))
    return joined(np.concatenate([real, near.real, sizes[0]]), np.concatenate([imag, near.imag, sizes[1]]), precision)


def joined(real: Any, imag: Any, precision: str) -> Any:
    return with_parts(np.asarray(real, precision), np.asarray(imag, precision))


def with_parts(real: Any, imag: Any) -> Any:
    """Each part as it is: a sum with `1j * imag` loses the signs of zeros."""
    z = np.empty(real.shape, np.result_type(real, np.complex64))
    z.real, z.imag = real, imag
    return z


def finite(precision: str) -> Any:
    """The edges that are finite, numbers near 0 and near poles, and those whose exponentials are near the greatest number."""
    z, rng = edges(precision), np.random.default_rng(4)
    small = rng.standard_normal((2, 2000)) * 10.0 ** rng.uniform(-12, 0, (2, 2000))
    poles = small[:, :1000] * 1e-2 + np.pi / 2 * rng.integers(-20, 20, (2, 1000)) * [[0], [1]]
    great = rng.uniform(-1.1, 1.1, (2, 4000)) * np.log(np.finfo(precision).max) * [[1], [2]]
    found = np.concatenate([z[np.isfinite(z)], *(joined(*v, precision) for v in (small, poles, great, great[::-1]))])
    return np.concatenate([found, found.conj()])


def wide_log1p(z: Any) -> Any:
    a, b = z.real, z.imag
    near = np.log1p(np.where(np.abs(a) < 0.5, a * (a + 2) + b * b, 0)) / 2
    real = np.where((np.abs(a) < 0.5) & (np.abs(b) < 0.5), near, np.log(np.hypot(1 + a, b)))
    return with_parts(real, np.arctan2(b, 1 + a))


def wide_expm1(z: Any) -> Any:
    found = np.expm1(z)
    return with_parts(found.real, np.where(z.imag == 0, z.imag, found.imag))


def wide_logistic(z: Any) -> Any:
    far = np.abs(z.real) > 600
    half = np.where(far, 0, z / 2)
    return np.where(far, np.where(z.real < 0, np.exp(np.where(far & (z.real < 0), z, 0)), 1), np.exp(half) / np.cosh(half) / 2)


WIDE = {
    **{ptir.SinOp: np.sin, ptir.CosOp: np.cos, ptir.TanhOp: np.tanh},
    **{ptir.Expm1Op: wide_expm1, ptir.Log1pOp: wide_log1p, ptir.LogisticOp: wide_logistic},
}
"""The functions in numbers of more digits and greater exponents."""
