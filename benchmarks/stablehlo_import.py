"""
What a program of JAX costs on its way in: reading its text, our gradient, compiling it for the native target.

    python benchmarks/stablehlo_import.py [--layers 3] [--megabytes 1.0] [--repeat 3] [--out benchmarks/results]

The programs are those of a small GPT whose layers are unrolled: its loss, differentiated by us, and the training step that JAX
makes of it. Text is that of a training step with as many layers as make a megabyte, in MLIR's pretty and generic forms, with and
without the locations of debug information. Times are processor time of one process: of reading the least of some repetitions, of
compiling that of one without caches.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ["MIND_CACHE_DIR"] = ""
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import jax
import jax.numpy as jnp
import numpy as np
from machine import described
from xdsl.dialects.builtin import ModuleOp

import jax_programs
from mind_dialect.ptir import PtirOp
from mind_passes.functional import value_and_grad
from mind_runtime import compile
from mind_translate.stablehlo import parse_stablehlo, read_stablehlo

WIDTH, TOKENS, LENGTH = 32, 64, 16
LIMIT = 3.0
"""Seconds that a megabyte of text may take, and compiling 1,000 ops."""
FORMS = {
    "pretty": {},
    "pretty, with locations": {"enable_debug_info": True},
    "generic": {"print_generic_op_form": True},
    "generic, with locations": {"print_generic_op_form": True, "enable_debug_info": True},
}


def parameters(layers: int) -> dict[str, Any]:
    """Return the weights of a GPT of so many layers."""
    shapes = {"g": (WIDTH,), "qkv": (WIDTH, 3 * WIDTH), "o": (WIDTH, WIDTH), "up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return (rng.normal(size=shape) / 8).astype(np.float32)

    return {"embedding": normal(TOKENS, WIDTH), "layers": [{n: normal(*s) for n, s in shapes.items()} for _ in range(layers)]}


def loss(weights: dict[str, Any], tokens: Any) -> Any:
    """Return the loss of the GPT, its layers one after the other."""
    x = weights["embedding"][tokens]
    for layer in weights["layers"]:
        x = jax_programs.layer(x, layer)
    logits = x @ weights["embedding"].T
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[..., None], -1).mean()


def step(weights: dict[str, Any], tokens: Any) -> Any:
    """Return the loss and the weights after a step of gradient descent, by JAX's own gradient."""
    value, grads = jax.value_and_grad(loss)(weights, tokens)
    return value, jax.tree.map(lambda w, g: w - 0.1 * g, weights, grads)


def arguments(layers: int) -> tuple[dict[str, Any], Any]:
    """Return weights and tokens."""
    return parameters(layers), np.arange(2 * LENGTH, dtype=np.int32).reshape(2, LENGTH) % TOKENS


def text_of(function: Callable[..., Any], layers: int, form: str = "pretty") -> str:
    """Return a function as text of StableHLO."""
    module = jax.jit(function).lower(*arguments(layers)).compiler_ir("stablehlo")
    return module.operation.get_asm(large_elements_limit=None, **FORMS[form])


def texts(megabytes: float) -> dict[str, str]:
    """Return text of so many megabytes, at least, in each form."""
    found: dict[str, str] = {}
    for form in FORMS:
        one, two = (len(text_of(step, n, form)) for n in (1, 2))
        layers = max(1, 1 + round((megabytes * 1e6 - one) / (two - one)))
        found[form] = text_of(step, layers, form)
    return found


def seconds(function: Callable[[], Any], repeat: int = 1) -> tuple[float, Any]:
    """Return the least processor time of a call, and what the last returned."""
    times: list[float] = []
    made: Any = None
    for _ in range(repeat):
        start = time.process_time()
        made = function()
        times.append(time.process_time() - start)
    return min(times), made


def ops_in(module: ModuleOp, name: str) -> int:
    """Return the number of ops of PTIR in a function."""
    (func,) = (op for op in module.ops if getattr(getattr(op, "sym_name", None), "data", "") == name)
    return sum(isinstance(op, PtirOp) for op in func.walk())


def measured_texts(megabytes: float, repeat: int) -> list[tuple[str, float, float, float]]:
    """Return for each form its size in megabytes, and the seconds that parsing takes, and parsing and converting."""
    rows: list[tuple[str, float, float, float]] = []
    for form, text in texts(megabytes).items():
        parsing, _ = seconds(lambda text=text: parse_stablehlo(text), repeat)
        reading, _ = seconds(lambda text=text: read_stablehlo(text), repeat)
        rows.append((form, len(text) / 1e6, parsing, reading))
    return rows


def measured_steps(layers: int) -> list[tuple[str, int, float, float, float]]:
    """Return for each program its ops, and the seconds that reading, our gradient and compiling take."""
    reading, module = seconds(lambda: read_stablehlo(text_of(step, layers)))
    compiling, _ = seconds(lambda: compile(module, "main", "native"))
    rows = [("JAX's training step", ops_in(module, "main"), reading, 0.0, compiling)]
    reading, module = seconds(lambda: read_stablehlo(text_of(loss, layers + 1)))
    deriving, gradient = seconds(lambda: value_and_grad(module))
    compiling, _ = seconds(lambda: compile(gradient, "main_grad", "native"))
    return [*rows, ("the loss and our gradient", ops_in(gradient, "main_grad"), reading, deriving, compiling)]


def report(
    steps: Sequence[tuple[str, int, float, float, float]], rows: Sequence[tuple[str, float, float, float]], layers: int
) -> str:
    """Return the page."""
    lines = ["# StableHLO on its way in", "", described(("jax", "jaxlib", "xdsl", "numpy", "llvmlite")) + ".", ""]
    lines.append(
        f"Seconds of processor time. A GPT of {layers} and {layers + 1} layers, unrolled, on the native target without caches;"
    )
    lines += [f"the limit is {LIMIT:.0f} s for compiling 1,000 ops.", "", "| program | ops | import | gradient | compile |"]
    lines.append("| --- | ---: | ---: | ---: | ---: |")
    lines += [f"| {name} | {ops} | {a:.2f} | {b:.2f} | {c:.2f} |" for name, ops, a, b, c in steps]
    lines += ["", f"Text of a training step with many layers; the limit is {LIMIT:.0f} s for a megabyte.", ""]
    lines += ["| form | megabytes | parse | parse and convert | per megabyte |", "| --- | ---: | ---: | ---: | ---: |"]
    lines += [f"| {form} | {size:.2f} | {a:.2f} | {b:.2f} | {b / size:.2f} |" for form, size, a, b in rows]
    return "\n".join(lines) + "\n"


def main(args: list[str] | None = None) -> int:
    """Measure, write and print the page; the status is 1 if a limit is passed."""
    parser = argparse.ArgumentParser(description="what a program of JAX costs on its way in")
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--megabytes", type=float, default=1.0)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results"))
    options = parser.parse_args(args)
    steps, rows = measured_steps(options.layers), measured_texts(options.megabytes, options.repeat)
    text = report(steps, rows, options.layers)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "stablehlo_import.md").write_text(text, encoding="utf-8")
    print(text)
    return int(
        any(c / max(ops, 1000) * 1000 > LIMIT for _, ops, _, _, c in steps) or any(b / size > LIMIT for _, size, _, b in rows)
    )


if __name__ == "__main__":
    raise SystemExit(main())
