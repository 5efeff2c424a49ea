"""
How large a gradient is: the ops of `value_and_grad` of GPT-2's layer, ours optimised, beside the equations of JAX's jaxpr.

    python benchmarks/gradient_size.py [--tokens 64] [--small] [--out benchmarks/results]

The function is one layer at the size of GPT-2 small, and as loss the sum of the squares of what comes out; gradients are taken by
all weights and by what goes in. JAX traces the same function twice: with the same formulas, op for op, and in its own library's
words (`jax.nn.softmax` and the like). Broadcasts, reshapes and constants count on neither side, nor do equations whose results
nobody uses; calls are inlined, and what is in a fused group counts by itself. Both gradients are computed and compared.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

import jax
import jax.numpy as jnp
import numpy as np
from jax.interpreters.partial_eval import dce_jaxpr
from rich.console import Console
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp

import mind_array as ma
from mind_dialect.ptir import FusionOp, PtirOp, YieldOp
from mind_passes.autodiff import differentiate
from mind_runtime import compile
from models import gpt2
from models import weights as files
from models.optimised import optimised

AIM = 1.3
"""How many times as many ops as equations the project aims at, at most."""
FREE = {"broadcast_to", "reshape", "constant"}
FREE_EQUATIONS = {"broadcast_in_dim", "reshape", "squeeze", "expand_dims"}
"""What counts on neither side. JAX's `squeeze` is a reshape; its constants are no equations."""
TOLERANCE = 1e-3
"""Of the greatest entry of each gradient, in f32."""


def loss_program(config: gpt2.Config, tokens: int) -> ModuleOp:
    """`@loss`: x and the layer's weights to the sum of the squares of what comes out."""

    def loss(x: ma.Array, weights: dict[str, ma.Array]) -> ma.Array:
        y = gpt2.Layer(config, "blocks.0", weights, training=True).apply(x)
        return ma.sum(y * y)

    x = ma.spec((tokens, config.width), config.dtype, name="x")
    return ma.trace(loss, x, files.parameters(layer_parameters(config)))


def layer_parameters(config: gpt2.Config) -> dict[str, Any]:
    """The weights of one layer."""
    return {name: spec for name, spec in gpt2.parameters(config).items() if name.startswith("blocks.0.")}


def jax_loss(config: gpt2.Config, x: Any, w: dict[str, Any], *, library: bool) -> Any:
    """The same function in JAX: the formulas of `models.layers` op for op, or those of its `library`."""
    length, depth = len(x), config.depth

    def norm(x: Any, name: str) -> Any:
        gamma, beta = w[f"blocks.0.{name}.gamma"], w[f"blocks.0.{name}.beta"]
        if library:
            return jax.nn.standardize(x, axis=-1, epsilon=config.epsilon) * gamma + beta
        centred = x - x.sum(-1, keepdims=True) * (1 / config.width)
        variance = (centred * centred).sum(-1, keepdims=True) * (1 / config.width)
        return centred * jax.lax.rsqrt(variance + config.epsilon) * gamma + beta

    def linear(x: Any, part: str, which: str) -> Any:
        return x @ w[f"blocks.0.{part}.w_{which}"] + w[f"blocks.0.{part}.b_{which}"]

    def softmax(x: Any) -> Any:
        if library:
            return jax.nn.softmax(x)
        shares = jnp.exp(x - jax.lax.stop_gradient(x.max(-1, keepdims=True)))
        return shares / shares.sum(-1, keepdims=True)

    def gelu(x: Any) -> Any:
        if library:
            return jax.nn.gelu(x, approximate=False)
        return x * 0.5 * (jax.lax.erf(x / np.float32(np.sqrt(2))) + 1)

    def attend(x: Any) -> Any:
        qkv = linear(x, "attention", "qkv")
        q, k, v = (
            qkv[:, i * config.width : (i + 1) * config.width].reshape(length, config.heads, depth).transpose(1, 0, 2)
            for i in range(3)
        )
        rows, columns = (jax.lax.broadcasted_iota(jnp.int32, (length, length), a) for a in (0, 1))
        mask = jax.lax.select(rows >= columns, jnp.zeros((length, length)), jnp.full((length, length), -1e9))
        scores = jax.lax.dot_general(q, k, (((2,), (2,)), ((0,), (0,)))) * np.float32(depth**-0.5)
        y = jax.lax.dot_general(softmax(scores + mask), v, (((2,), (1,)), ((0,), (0,))))
        return linear(y.transpose(1, 0, 2).reshape(length, config.width), "attention", "out")

    x = x + attend(norm(x, "ln_1"))
    y = x + linear(gelu(linear(norm(x, "ln_2"), "feed_forward", "in")), "feed_forward", "out")
    return (y * y).sum()


def equations(jaxpr: Any) -> Iterator[Any]:
    """The leaf equations, calls inlined."""
    for equation in jaxpr.eqns:
        inner = [v for v in equation.params.values() if hasattr(v, "jaxpr") or hasattr(v, "eqns")]
        if not inner:
            yield equation
        for called in inner:
            yield from equations(getattr(called, "jaxpr", called))


def count_jaxpr(jaxpr: Any) -> Counter[str]:
    """How often each primitive stands in a jaxpr."""
    return Counter(name for e in equations(jaxpr) if (name := e.primitive.name) not in FREE_EQUATIONS)


def count_ops(module: ModuleOp, name: str) -> Counter[str]:
    """How often each op stands in a function, reductions and comparisons by kind."""
    found = Counter[str]()
    (func,) = (op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == name)
    for op in func.walk():
        if not isinstance(op, PtirOp) or isinstance(op, FusionOp | YieldOp):
            if not isinstance(op, FuncOp | ReturnOp | FusionOp | YieldOp):
                raise TypeError(f"{op.name} in @{name}")
            continue
        kind = op.properties.get("kind")
        shown = op.name.removeprefix("ptir.") + (f" {kind.data}" if isinstance(kind, StringAttr) else "")
        if shown not in FREE:
            found[shown] += 1
    return found


def compare(config: gpt2.Config, tokens: int, gradient: ModuleOp) -> float:
    """The greatest difference of ours from JAX's, as a share of the greatest entry of each gradient."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((tokens, config.width)).astype(np.float32)
    weights = {n: a for n, a in gpt2.random_weights(config).items() if n.startswith("blocks.0.")}
    _, *found = compile(gradient, "loss_grad")(x, *weights.values())
    x_adj, w_adj = jax.grad(lambda x, w: jax_loss(config, x, w, library=True), argnums=(0, 1))(x, weights)
    expected = [x_adj, *(w_adj[n] for n in weights)]
    return max(float(abs(a - b).max() / abs(b).max()) for a, b in zip(found, expected, strict=True))


def measure(config: gpt2.Config, tokens: int) -> tuple[dict[str, Counter[str]], float]:
    """The counts by side, and how far the gradients are apart."""
    module = optimised(differentiate(loss_program(config, tokens)).module, split=False)
    x = jnp.zeros((tokens, config.width))
    w = {name: jnp.zeros(spec.shape) for name, spec in layer_parameters(config).items()}
    counts = {OURS: count_ops(module, "loss_grad")}
    for name, library in ((SAME, False), (LIBRARY, True)):
        traced = jax.make_jaxpr(jax.value_and_grad(lambda x, w, library=library: jax_loss(config, x, w, library=library), (0, 1)))
        jaxpr = traced(x, w).jaxpr
        counts[name] = count_jaxpr(dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars))[0])
    return counts, compare(config, tokens, module)


OURS, SAME, LIBRARY = "PTIR, optimised", "JAX, the same formulas", "JAX, its library's"


def report(counts: dict[str, Counter[str]], difference: float, function: str) -> str:
    """A markdown table: how often each kind of op stands on each side."""
    ours = counts[OURS].total()
    lines = ["# Size of a gradient", ""]
    lines.append(f"`value_and_grad` of {function}. JAX {jax.__version__}.")
    for name in (SAME, LIBRARY):
        n = counts[name].total()
        lines.append(f"Ours has {ours} ops; {name}, has {n} equations: a ratio of {ours / n:.2f} (aim: at most {AIM}).")
    lines.append(f"The gradients differ by {difference:.1e} of the greatest entry of each.")
    for name, found in counts.items():
        rows = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
        lines += ["", f"| {name} | {found.total()} |", "| --- | ---: |", *(f"| {kind} | {n} |" for kind, n in rows)]
    return "\n".join([*lines, ""])


def main(args: list[str] | None = None) -> int:
    """Measure, write and print the table; the status is 1 for gradients that differ."""
    parser = argparse.ArgumentParser(description="the size of a gradient module, ours and JAX's")
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--small", action="store_true", help="a small layer, for trying out")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results"))
    options = parser.parse_args(args)
    counts, difference = measure(gpt2.SMALL if options.small else gpt2.REAL, options.tokens)
    text = report(counts, difference, "a small layer" if options.small else f"GPT-2 small's layer on {options.tokens} tokens")
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "gradient_size.md").write_text(text, encoding="utf-8")
    Console().print(text, markup=False, highlight=False, soft_wrap=True)
    return int(not difference <= TOLERANCE)


if __name__ == "__main__":
    raise SystemExit(main())
