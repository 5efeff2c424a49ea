"""
Families of programs that no kernel was tuned for, on arrays of real use.

Where every side writes a program alike, it is here once, over the functions of a side: `exp`, `log`, `sqrt`, `erf` and `sum`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .workloads import Arrays, Workload, normal, size_of

RATE, VOLATILITY = 0.02, 0.3
"""Of the options of Black and Scholes."""


def _matrix(seed: int, n: int, m: int, *names: str) -> Callable[[bool], Arrays]:
    def arrays(small: bool) -> Arrays:
        return normal(seed, **dict.fromkeys(names or ("x",), (min(n, 37), min(m, 70)) if small else (n, m)))

    return arrays


def _square(small: bool) -> Arrays:
    return _matrix(22, 2048, 2048, "x", "y")(False) if not small else normal(22, x=(40, 40), y=(40, 40))


def _blocks(small: bool) -> Arrays:
    return normal(23, x=(3, 5, 33) if small else (64, 64, 1024))


def _options(small: bool) -> Arrays:
    return {name: abs(x) + 1 for name, x in normal(24, **dict.fromkeys(("s", "k", "t"), (200 if small else 1_000_000,))).items()}


def _images(small: bool) -> Arrays:
    channels = 8 if small else 64
    return normal(25, x=(2, 6, 6, 8) if small else (16, 56, 56, 64), gamma=(channels,), beta=(channels,))


def _bodies(small: bool) -> Arrays:
    n = 20 if small else 2048
    return {"x": normal(26, x=(n, 3))["x"], "mass": abs(normal(27, mass=(n,))["mass"])}


def _bytes(small: bool) -> Arrays:
    n = 40 if small else 1024
    rng = np.random.default_rng(32)
    return {name: rng.integers(-128, 128, (n, n)).astype(np.int8) for name in ("x", "y")}


def _packed(small: bool) -> Arrays:
    """A row, and weights of 4 bits in blocks of 32 with a scale each, the zero point 8."""
    n = 64 if small else 4096
    codes = np.random.default_rng(33).integers(0, 256, (n, n // 32, 16)).astype(np.uint8)
    return {**normal(34, x=(1, n)), "codes": codes, "scales": 0.01 * abs(normal(35, s=(n, n // 32))["s"])}


def _windows(seed: int, extent: int, channels: int, inputs: int = 0, stride: int = 1) -> Callable[[bool], Arrays]:
    """Images, filters of 3x3 if they have inputs, and cotangents."""

    def arrays(small: bool) -> Arrays:
        images, n, c = (2, 8, min(channels, 8)) if small else (8, extent, channels)
        filters = {"weight": (3, 3, min(inputs, c), c)} if inputs else {}
        return normal(seed, x=(images, n, n, c), **filters, dy=(images, n // stride, n // stride, c))

    return arrays


FAMILIES: dict[str, Workload] = {
    "cumsum": Workload("running sums of 1024 rows of 4096", _matrix(20, 1024, 4096), size_of("x", times={"x": 2})),
    "transpose": Workload("transpose of 4096 x 4096", _matrix(21, 4096, 4096), size_of("x", times={"x": 2})),
    "transpose_add": Workload("x + y transposed, 2048 x 2048", _square, size_of("x", "y", times={"x": 2})),
    "softmax_middle": Workload("softmax of 64 x 64 x 1024 along axis 1", _blocks, size_of("x", times={"x": 2})),
    "softmax_first": Workload("softmax of 4096 x 1024 along axis 0", _matrix(28, 4096, 1024), size_of("x", times={"x": 2})),
    "top_k": Workload("the 50 greatest of 4 rows of 50,257", _matrix(29, 4, 50_257), size_of("x"), reads=True),
    "sort": Workload("256 rows of 4096 in order", _matrix(30, 256, 4096)),
    "black_scholes": Workload("a million options of Black and Scholes", _options, size_of("s", "k", "t")),
    "batch_norm": Workload("batch norm with statistics, 16 images 56x56x64", _images, size_of("x", times={"x": 2})),
    "int8": Workload("product of 1024 x 1024 in int8, summed in int32", _bytes, flops=lambda a: 2 * len(a["x"]) ** 3),
    "row_int4": Workload("a row times 4096 x 4096 of 4 bits", _packed, size_of("codes", "scales"), reads=True),
    "depthwise": Workload(
        "depthwise convolution 3x3, 8 images 56x56x128, value and gradients", _windows(31, 56, 128, 1), is_convolution=True
    ),
    "depthwise_strided": Workload(
        "depthwise convolution 3x3 by 2, 8 images 56x56x128, value and gradients",
        _windows(34, 56, 128, 1, stride=2),
        is_convolution=True,
    ),
    "dense": Workload("convolution 3x3, 8 images 56x56x64, value and gradients", _windows(32, 56, 64, 64), is_convolution=True),
    "max_pool": Workload("max pool 3x3 by 2, 8 images 112x112x64, value and gradient", _windows(33, 112, 64, stride=2)),
    "bodies": Workload("forces between 2048 bodies", _bodies),
}


def black_scholes(f: Any, s: Any, k: Any, t: Any) -> Any:
    """The prices of calls and puts."""
    spread = VOLATILITY * f.sqrt(t)
    d = (f.log(s / k) + (RATE + VOLATILITY**2 / 2) * t) / spread
    e = d - spread
    discounted = k * f.exp(-t * RATE)

    def cdf(x: Any) -> Any:
        return 0.5 * (1 + f.erf(x / 2**0.5))

    return s * cdf(d) - discounted * cdf(e), discounted * cdf(-e) - s * cdf(-d)


def decoded(stack: Callable[..., Any], codes: Any, scales: Any) -> Any:
    """The weights of codes of 4 bits, two to a byte, where `stack` joins arrays along a new last axis."""
    numbers = stack((codes & 15, codes >> 4)) - 8.0
    return (numbers * scales[:, :, None, None]).reshape(len(codes), -1)


def bodies(f: Any, x: Any, mass: Any) -> Any:
    """The force on each body, softened where two are close."""
    between = x[None, :, :] - x[:, None, :]
    squared = f.sum(between * between, -1) + 1e-3
    weight = mass[None, :] / (squared * f.sqrt(squared))
    return f.sum(between * weight[:, :, None], 1)
