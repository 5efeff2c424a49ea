"""
Ten NumPy-style programs on `mind_array`, JAX and PyTorch: the first call of each, and calls after that.

    python benchmarks/array_programs.py [--threads 2] [--write]

The programs are one text for all sides, over a namespace of array functions; gradients are those of each library. Inputs are the
same arrays; each side runs in a process of its own. The first call traces and compiles; steady times are the best of several
runs, results included (JAX's are awaited). PyTorch runs eagerly. Results of the sides are compared. A side whose package is not
installed is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from machine import described

PAGE = Path(__file__).parent / "results" / "array_programs.md"
Program = Callable[..., Any]
RNG = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def black_scholes(xp: Any, price: Any, strike: Any, years: Any) -> Any:
    rate, volatility = 0.02, 0.3
    spread = volatility * xp.sqrt(years)
    d1 = (xp.log(price / strike) + (rate + volatility * volatility / 2) * years) / spread

    def distribution(x: Any) -> Any:
        return (xp.erf(x * 0.7071067811865476) + 1.0) * 0.5

    return price * distribution(d1) - strike * xp.exp(-rate * years) * distribution(d1 - spread)


def polynomial(xp: Any, x: Any) -> Any:
    y = x * 0.0
    for i in range(12):
        y = y * x + 1.0 / (i + 1)
    return y


def softmax(xp: Any, x: Any) -> Any:
    shifted = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return shifted / xp.sum(shifted, axis=-1, keepdims=True)


def layer_norm(xp: Any, x: Any, gamma: Any, beta: Any) -> Any:
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    return centred / xp.sqrt(xp.mean(centred * centred, axis=-1, keepdims=True) + 1e-5) * gamma + beta


def distances(xp: Any, a: Any, b: Any) -> Any:
    squares = xp.sum(a * a, axis=1)[:, None] + xp.sum(b * b, axis=1)[None, :]
    return xp.sqrt(xp.maximum(squares - (a @ b.T) * 2.0, xp.zeros_like(squares)))


def attention(xp: Any, q: Any, k: Any, v: Any) -> Any:
    return softmax(xp, q @ k.T * 0.125) @ v


def mlp(xp: Any, w1: Any, b1: Any, w2: Any, b2: Any, x: Any) -> Any:
    return xp.tanh(x @ w1 + b1) @ w2 + b2


def loss(xp: Any, w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any) -> Any:
    error = mlp(xp, w1, b1, w2, b2, x) - y
    return xp.mean(error * error)


def smooth(xp: Any, x: Any) -> Any:
    for _ in range(5):
        x = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
    return x


def rotary(xp: Any, x: Any, angles: Any) -> Any:
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return xp.sin(angles) * a + xp.cos(angles) * b


def training_step(xp: Any, w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any) -> Any:
    gradients = xp.gradients(lambda *weights: loss(xp, *weights, x, y), (w1, b1, w2, b2))
    return tuple(w - 0.1 * g for w, g in zip((w1, b1, w2, b2), gradients, strict=True))


_WEIGHTS = (normal(64, 128) * 0.1, normal(128) * 0.1, normal(128, 10) * 0.1, normal(10) * 0.1)
PROGRAMS: dict[str, tuple[Program, tuple[np.ndarray, ...]]] = {
    "Black-Scholes, 100,000 options": (black_scholes, tuple(abs(normal(100_000)) + 0.5 for _ in range(3))),
    "polynomial of degree 11, 100,000 numbers": (polynomial, (normal(100_000),)),
    "softmax, 256 x 1024": (softmax, (normal(256, 1024),)),
    "layer norm, 256 x 1024": (layer_norm, (normal(256, 1024), normal(1024), normal(1024))),
    "distances of 512 and 512 points": (distances, (normal(512, 32), normal(512, 32))),
    "attention, 256 tokens of 64": (attention, tuple(normal(256, 64) for _ in range(3))),
    "five sweeps of a stencil, 512 x 512": (smooth, (normal(512, 512),)),
    "rotary embedding, 512 x 128": (rotary, (normal(512, 128), normal(512, 64))),
    "two layers, 64 examples": (mlp, (*_WEIGHTS, normal(64, 64))),
    "a training step of two layers, 64 examples": (training_step, (*_WEIGHTS, normal(64, 64), normal(64, 10))),
}


class Ours:
    """`mind_array`, compiled for the native target."""

    name = "mind_array"

    def __init__(self) -> None:
        import mind_array as ma

        self.ma = ma

    def __getattr__(self, name: str) -> Any:
        return getattr(self.ma, name)

    def gradients(self, f: Any, weights: tuple[Any, ...]) -> Any:
        return self.ma.grad(f, tuple(range(len(weights))))(*weights)

    def compiled(self, program: Program) -> Any:
        return self.ma.jit(lambda *arrays: program(self, *arrays), target="native")

    def put(self, array: np.ndarray) -> Any:
        return self.ma.asarray(array)

    def wait(self, result: Any) -> Any:
        return result


class Jax(Ours):
    """JAX, compiled by XLA."""

    name = "JAX"

    def __init__(self) -> None:
        import jax

        self.jax = jax

    def __getattr__(self, name: str) -> Any:
        return self.jax.scipy.special.erf if name == "erf" else getattr(self.jax.numpy, name)

    def gradients(self, f: Any, weights: tuple[Any, ...]) -> Any:
        return self.jax.grad(f, tuple(range(len(weights))))(*weights)

    def compiled(self, program: Program) -> Any:
        return self.jax.jit(lambda *arrays: program(self, *arrays))

    def put(self, array: np.ndarray) -> Any:
        return self.jax.device_put(array)

    def wait(self, result: Any) -> Any:
        return self.jax.block_until_ready(result)


class Torch(Ours):
    """PyTorch, eager."""

    name = "PyTorch"

    def __init__(self) -> None:
        import torch

        self.torch = torch

    def __getattr__(self, name: str) -> Any:
        function = getattr(self.torch, {"max": "amax"}.get(name, name))

        def call(*args: Any, axis: Any = None, keepdims: bool = False) -> Any:
            return function(*args) if axis is None else function(*args, dim=axis, keepdim=keepdims)

        return call

    def gradients(self, f: Any, weights: tuple[Any, ...]) -> Any:
        leaves = [w.detach().requires_grad_() for w in weights]
        return self.torch.autograd.grad(f(*leaves), leaves)

    def compiled(self, program: Program) -> Any:
        return lambda *arrays: program(self, *arrays)

    def put(self, array: np.ndarray) -> Any:
        return self.torch.from_numpy(array.copy())

    def wait(self, result: Any) -> Any:
        return result


SIDES: dict[str, Any] = {side.name: side for side in (Ours, Jax, Torch)}


def measured(side: Any, program: Program, arrays: tuple[np.ndarray, ...]) -> tuple[float, float, list[np.ndarray]]:
    """The first call in milliseconds, the best of later ones in microseconds, and the results."""
    given = [side.put(a) for a in arrays]
    start = time.perf_counter()
    call = side.compiled(program)
    result = side.wait(call(*given))
    first = (time.perf_counter() - start) * 1e3
    best = float("inf")
    deadline = time.perf_counter() + 0.6
    while time.perf_counter() < deadline:
        start = time.perf_counter()
        side.wait(call(*given))
        best = min(best, time.perf_counter() - start)
    results = result if isinstance(result, tuple) else (result,)
    return first, best * 1e6, [np.asarray(r) for r in results]


def measure_side(name: str, threads: int, folder: Path) -> int:
    """Measure all programs on one side and write the times and the results into a folder; 3 if its package is not there."""
    os.environ["MIND_NUM_THREADS"] = str(threads)
    try:
        side = SIDES[name]()
    except ImportError:
        return 3
    if isinstance(side, Torch):
        side.torch.set_num_threads(threads)
    times: dict[str, tuple[float, float]] = {}
    arrays: dict[str, np.ndarray] = {}
    for program, (function, inputs) in PROGRAMS.items():
        *taken, results = measured(side, function, inputs)
        times[program] = (taken[0], taken[1])
        arrays |= {f"{program} {i}": r for i, r in enumerate(results)}
    (folder / f"{name}.json").write_text(json.dumps(times), encoding="utf-8")
    np.savez(folder / f"{name}.npz", **arrays)  # pyright: ignore[reportArgumentType]
    return 0


def in_processes(threads: int, folder: Path) -> list[str]:
    """Measure each side in a process of its own, so that no library's threads wait beside another's; the sides that there are."""
    found: list[str] = []
    for name in SIDES:
        command = [sys.executable, __file__, "--threads", str(threads), "--side", name, "--folder", str(folder)]
        code = subprocess.run(command, check=False).returncode
        if code not in (0, 3):
            raise SystemExit(f"{name} failed")
        found += [name] * (code == 0)
    return found


def main() -> int:
    """Measure, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--side", choices=list(SIDES), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        return measure_side(options.side, options.threads, options.folder)
    with tempfile.TemporaryDirectory() as folder:
        names = in_processes(options.threads, Path(folder))
        times = [json.loads((Path(folder) / f"{name}.json").read_text(encoding="utf-8")) for name in names]
        results = [dict(np.load(Path(folder) / f"{name}.npz")) for name in names]
    for name, found in zip(names, results, strict=True):
        for key, expected in results[0].items():
            np.testing.assert_allclose(found[key], expected, rtol=2e-3, atol=2e-4, err_msg=f"{key}: {name}")
    lines = [f"| program | {' | '.join(f'{n}: first, ms | then, µs' for n in names)} |", "| --- " * (1 + 2 * len(names)) + "|"]
    for program in PROGRAMS:
        cells = [cell for each in times for cell in (f"{each[program][0]:.0f}", f"{each[program][1]:,.1f}")]
        lines.append(f"| {program} | {' | '.join(cells)} |")
    print("\n".join(lines))
    how = f"{options.threads} threads, float32, each side in a process of its own"
    head = f"# NumPy-style programs\n\nBy `benchmarks/array_programs.py`, {how}.\n"
    if options.write:
        taken_on = described(("numpy", "xdsl", "llvmlite", "jax", "torch"))
        PAGE.write_text(f"{head}{taken_on}.\n\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
