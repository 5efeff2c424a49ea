"""
Families of programs that no kernel was tuned for, on arrays of real use.

Where every side writes a program alike, it is here once, over the functions of a side: those of elements, `sum` and `roll`, and
`scan` and `loop`, which are Python's loops where a side has no others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .workloads import EVERY, Arrays, Workload, moves, normal

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


def _sequences(small: bool) -> Arrays:
    """A sequence of batches, with weights and cotangents, for an LSTM."""
    n, b, m = (5, 2, 8) if small else (64, 32, 256)
    found = normal(36, x=(n, b, m), w_x=(m, 4 * m), w_h=(m, 4 * m), bias=(4 * m,), dy=(n, b, m))
    return {name: array * np.float32(0.05) if name[0] == "w" else array for name, array in found.items()}


def _selective(small: bool) -> Arrays:
    """A sequence, its steps and its weights to and from the state, for a selective state space."""
    n, d, k = (5, 6, 4) if small else (512, 512, 16)
    found = normal(37, x=(n, d), steps=(n, d), rates=(d, k), b=(n, k), c=(n, k))
    return {**found, "steps": abs(found["steps"]) * np.float32(0.1), "rates": -abs(found["rates"])}


def _words(small: bool) -> Arrays:
    n, m, count = (30, 8, 12) if small else (50_257, 256, 4096)
    tokens = np.random.default_rng(38).integers(0, n, count).astype(np.int32)
    return {**normal(39, table=(n, m)), "tokens": tokens, **normal(40, dy=(count, m))}


def _samples(small: bool) -> Arrays:
    return {"x": np.random.default_rng(41).random(500 if small else 4_000_000, dtype=np.float32)}


def _plane(small: bool) -> Arrays:
    """Points of the complex plane."""
    n = 20 if small else 512
    x, y = np.meshgrid(np.linspace(-2, 0.6, n, dtype=np.float32), np.linspace(-1.2, 1.2, n, dtype=np.float32))
    return {"x": x, "y": y}


def _plate(small: bool) -> Arrays:
    """Temperatures, how well each place conducts, and cotangents."""
    n = 20 if small else 512
    found = normal(44, u=(n, n), rate=(n, n), dy=(n, n))
    return {**found, "rate": np.float32(0.1) + np.float32(0.01) * found["rate"]}


def _perceptron(*more: str) -> Callable[[bool], Arrays]:
    """Inputs, targets and weights of two layers, and directions for those in `more`."""

    def arrays(small: bool) -> Arrays:
        n, m, k, batch = (6, 5, 3, 4) if small else (256, 512, 64, 128)
        shapes = {"x": (batch, n), "y": (batch, k), "w0": (n, m), "w1": (m, k), "v0": (n, m), "v1": (m, k)}
        found = normal(42, **shapes)
        return {
            name: x * np.float32(0.05) if name[0] in "wv" else x for name, x in found.items() if name[0] != "v" or name in more
        }

    return arrays


def _windows(seed: int, extent: int, channels: int, inputs: int = 0, stride: int = 1) -> Callable[[bool], Arrays]:
    """Images, filters of 3x3 if they have inputs, and cotangents."""

    def arrays(small: bool) -> Arrays:
        images, n, c = (2, 8, min(channels, 8)) if small else (8, extent, channels)
        filters = {"weight": (3, 3, min(inputs, c), c)} if inputs else {}
        return normal(seed, x=(images, n, n, c), **filters, dy=(images, n // stride, n // stride, c))

    return arrays


FAMILIES: dict[str, Workload] = {
    "cumsum": Workload("running sums of 1024 rows of 4096", _matrix(20, 1024, 4096), moves("x", written="x")),
    "transpose": Workload("transpose of 4096 x 4096", _matrix(21, 4096, 4096), moves("x", written="x")),
    "transpose_add": Workload("x + y transposed, 2048 x 2048", _square, moves("x", "y", written="x")),
    "softmax_middle": Workload("softmax of 64 x 64 x 1024 along axis 1", _blocks, moves("x", written="x")),
    "softmax_first": Workload("softmax of 4096 x 1024 along axis 0", _matrix(28, 4096, 1024), moves("x", written="x")),
    "top_k": Workload("the 50 greatest of 4 rows of 50,257", _matrix(29, 4, 50_257), moves("x")),
    "sort": Workload("256 rows of 4096 in order", _matrix(30, 256, 4096)),
    "black_scholes": Workload("a million options of Black and Scholes", _options, moves("s", "k", "t", written="s")),
    "batch_norm": Workload("batch norm with statistics, 16 images 56x56x64", _images, moves("x", written="x")),
    "int8": Workload("product of 1024 x 1024 in int8, summed in int32", _bytes),
    "row_int4": Workload("a row times 4096 x 4096 of 4 bits", _packed, moves("codes", "scales")),
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
    "lstm": Workload("LSTM of 256, 64 steps of 32 sequences, value and gradients", _sequences),
    "selective_scan": Workload("selective scan, 512 steps of 512 channels and 16 states", _selective),
    "embedding": Workload(
        "4,096 rows of a table of 50,257 x 256, and its gradient", _words, moves("dy", "dy", written=["table", "dy"])
    ),
    "histogram": Workload("histogram of 4 million numbers in 256 bins", _samples, moves("x")),
    "stencil": Workload("100 steps of heat on 512 x 512", lambda small: normal(43, u=(20, 20) if small else (512, 512))),
    "stencil_gradient": Workload("50 steps of heat with sinks on 512 x 512, value and gradients", _plate),
    "mandelbrot": Workload("50 steps of Mandelbrot's set on 512 x 512", _plane),
    "hessian_vector": Workload("Hessian times vector of two layers, batch 128", _perceptron("v0", "v1")),
    "per_example": Workload("gradients of two layers for each of 128 examples", _perceptron()),
}
PROGRAMS = {**EVERY, **FAMILIES}
"""All workloads, those of a GPU and of families too, by name."""


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


def lstm(f: Any, x: Any, w_x: Any, w_h: Any, bias: Any) -> Any:
    """The hidden states of an LSTM, whose gates are in the order of PyTorch's."""
    n = w_h.shape[0]

    def step(state: Any, row: Any) -> Any:
        h, c = state
        gates = row + h @ w_h
        enter, keep, new, leave = (gates[:, i * n : (i + 1) * n] for i in range(4))
        c = f.sigmoid(keep) * c + f.sigmoid(enter) * f.tanh(new)
        h = f.sigmoid(leave) * f.tanh(c)
        return (h, c), h

    begin = x[0] * 0.0
    return f.scan(step, (begin, begin), x @ w_x + bias)


def selective_scan(f: Any, x: Any, steps: Any, rates: Any, b: Any, c: Any) -> Any:
    """A state for each channel that decays at rates of its own, what enters it and leaves it chosen by each step."""

    def step(h: Any, row: Any) -> Any:
        x, dt, b, c = row
        h = f.exp(dt[:, None] * rates) * h + (dt * x)[:, None] * b[None, :]
        return h, f.sum(h * c[None, :], -1)

    return f.scan(step, rates * 0.0, (x, steps, b, c))


def heat(f: Any, u: Any) -> Any:
    """Diffusion on a torus."""

    def step(u: Any) -> Any:
        return u + 0.2 * (f.roll(u, 1, 0) + f.roll(u, -1, 0) + f.roll(u, 1, 1) + f.roll(u, -1, 1) - 4.0 * u)

    return f.loop(100, step, u)


def sinks(f: Any, u: Any, rate: Any) -> Any:
    """Diffusion on a torus that conducts differently from place to place and loses heat where it is hot."""

    def step(u: Any) -> Any:
        around = f.roll(u, 1, 0) + f.roll(u, -1, 0) + f.roll(u, 1, 1) + f.roll(u, -1, 1)
        return u + rate * (around - 4.0 * u) - 0.01 * u * u * u

    return f.loop(50, step, u)


def mandelbrot(f: Any, x: Any, y: Any) -> Any:
    """How many steps the points of each row stay within 2 of 0, in all: a point on the border differs by its last bits."""

    def step(state: Any) -> Any:
        a, b, count = state
        a, b = a * a - b * b + x, 2.0 * a * b + y
        return a, b, f.where(a * a + b * b <= 4.0, count + 1.0, count)

    return f.sum(f.loop(50, step, (x, y, x * 0.0))[2], -1)


def loss(f: Any, w0: Any, w1: Any, x: Any, y: Any) -> Any:
    """Half the squared error of two layers, over all rows or of one."""
    error = f.tanh(x @ w0) @ w1 - y
    return 0.5 * (error * error).sum()


def scanned(step: Callable[..., Any], state: Any, rows: Any, stack: Callable[..., Any]) -> Any:
    """A scan as a loop of Python."""
    every: list[Any] = []
    for row in zip(*rows, strict=True) if isinstance(rows, tuple) else rows:
        state, out = step(state, row)
        every.append(out)
    return stack(every)


def looped(count: int, step: Callable[[Any], Any], state: Any) -> Any:
    """A loop of Python."""
    for _ in range(count):
        state = step(state)
    return state
