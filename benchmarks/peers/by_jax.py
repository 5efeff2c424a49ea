"""The workloads in JAX, each under `jax.jit`; what training and decoding replace is donated."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from models import resnet34 as sizes

from . import families, workloads
from .workloads import EPSILON, HEADS, RATE, TINY_TURNS, Arrays

NAME = "JAX"
if os.environ.get("SIDE_DEVICE") == "cuda" and jax.default_backend() != "gpu":
    raise ImportError("JAX finds no GPU")
Call = Callable[[], Any]


def on_device(arrays: Arrays) -> dict[str, Any]:
    return {name: jnp.asarray(array) for name, array in arrays.items()}


def caller(function: Callable[..., Any], *arguments: Any) -> Call:
    run = jax.jit(function)
    return lambda: jax.block_until_ready(run(*arguments))


def tiny(arrays: Arrays) -> Call:
    def iterations(a: Any, b: Any) -> Any:
        x = a
        for _ in range(TINY_TURNS):
            x = jnp.maximum(x * b + a, 0) - b
        return x

    return caller(iterations, *on_device(arrays).values())


def chain(arrays: Arrays) -> Call:
    return caller(lambda a, b, c: (jax.nn.relu(a * b + c) * jnp.exp(-a) - b) * c, *on_device(arrays).values())


def softmax(arrays: Arrays) -> Call:
    return caller(lambda x: jax.nn.softmax(x, axis=1), on_device(arrays)["x"])


def surprise(x: Any, labels: Any) -> Any:
    """Mean cross entropy over all places."""
    chosen = jnp.take_along_axis(jax.nn.log_softmax(x, axis=-1), labels[..., None], axis=-1)
    return -chosen.mean()


def cross_entropy(arrays: Arrays) -> Call:
    return caller(jax.value_and_grad(surprise), *on_device(arrays).values())


def norm(x: Any, gamma: Any, beta: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    variance = (centred * centred).mean(-1, keepdims=True)
    return centred * lax.rsqrt(variance + EPSILON) * gamma + beta


def layer_norm(arrays: Arrays) -> Call:
    return caller(norm, *on_device(arrays).values())


def layer_norm_gradient(arrays: Arrays) -> Call:
    def both(x: Any, gamma: Any, beta: Any, dy: Any) -> Any:
        y, pull = jax.vjp(norm, x, gamma, beta)
        return y, *pull(dy)

    return caller(both, *on_device(arrays).values())


def trained(loss: Callable[[Any], Any], weights: Any, update: Callable[..., Any], state: Any = ()) -> Call:
    """Training steps: `update(weights, gradients, state)` gives the new ones of both."""

    def step(weights: Any, state: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(weights)
        return value, *update(weights, gradients, state)

    run = jax.jit(step, donate_argnums=(0, 1))
    held = [jax.tree.map(jnp.array, weights), state]  # `array` copies: what is donated is gone

    def call() -> Any:
        value, *held[:] = run(*held)
        return jax.block_until_ready(value)

    return call


def mlp(arrays: Arrays) -> Call:
    t = on_device(arrays)
    x, labels = t["x"], t["labels"]
    weights = [t[f"{kind}{i}"] for i in range(3) for kind in "wb"]

    def loss(w: Any) -> Any:
        h = jax.nn.relu(x @ w[0] + w[1])
        return surprise(jax.nn.relu(h @ w[2] + w[3]) @ w[4] + w[5], labels)

    return trained(loss, weights, lambda w, g, s: ([p - RATE * q for p, q in zip(w, g, strict=True)], s))


def product(x: Any, w: Any, dtype: Any = None) -> Any:
    """`x @ w`, in a narrower dtype if one is given, the result as wide as `x`."""
    return x @ w if dtype is None else (x.astype(dtype) @ w.astype(dtype)).astype(x.dtype)


def fed(x: Any, w: Any, name: str = "", dtype: Any = None) -> Any:
    """The half of a layer that is a network of two layers."""
    h = norm(x, w[f"{name}ln_2.gamma"], w[f"{name}ln_2.beta"])
    h = product(h, w[f"{name}feed_forward.w_in"], dtype) + w[f"{name}feed_forward.b_in"]
    h = jax.nn.gelu(h, approximate=True)
    return x + product(h, w[f"{name}feed_forward.w_out"], dtype) + w[f"{name}feed_forward.b_out"]


def projected(x: Any, w: Any, name: str, heads: int, dtype: Any = None) -> Any:
    """Queries, keys and values, `[..., heads, T, depth]` each."""
    h = norm(x, w[f"{name}ln_1.gamma"], w[f"{name}ln_1.beta"])
    h = product(h, w[f"{name}attention.w_qkv"], dtype) + w[f"{name}attention.b_qkv"]
    h = h if dtype is None else h.astype(dtype)
    split = (h.reshape(*h.shape[:-1], 3, heads, -1)[..., i, :, :] for i in range(3))
    return [jnp.swapaxes(t, -3, -2) for t in split]


def layer(x: Any, w: Any, name: str = "", heads: int = HEADS, dtype: Any = None) -> Any:
    """A layer of GPT-2 on `[..., T, width]`, with products in `dtype`, if given, and scores in that of `x`."""
    q, k, v = projected(x, w, name, heads, dtype)
    scores = jnp.matmul(q, jnp.swapaxes(k, -1, -2), preferred_element_type=x.dtype) * q.shape[-1] ** -0.5
    scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e9)
    y = jnp.swapaxes(jax.nn.softmax(scores, -1).astype(v.dtype) @ v, -3, -2).reshape(x.shape).astype(x.dtype)
    return fed(x + product(y, w[f"{name}attention.w_out"], dtype) + w[f"{name}attention.b_out"], w, name, dtype)


def gpt2_layer(arrays: Arrays) -> Call:
    t = on_device(arrays)
    return caller(layer, t.pop("x"), t)


def gpt2_decode(arrays: Arrays) -> Call:
    t = on_device(arrays)
    config = workloads.decode_config(t["tok_embeddings.weight"].shape[1] < 768)
    given = [t.pop(name) for name in ("tokens", "positions", "cache_start")]
    caches = {name: jnp.array(t.pop(name)) for name in list(t) if name.endswith("_cache")}

    def decode(w: Any, caches: Any, tokens: Any, positions: Any, start: Any) -> Any:
        x = w["tok_embeddings.weight"][tokens] + w["pos_embeddings"][positions]
        made = {}
        for i in range(config.layers):
            name = f"blocks.{i}."
            q, k, v = projected(x, w, name, config.heads)
            kept = [f"{name}attention.{kind}_cache" for kind in "kv"]
            k, v = (lax.dynamic_update_slice(caches[c], new, start) for c, new in zip(kept, (k, v), strict=True))
            made |= dict(zip(kept, (k, v), strict=True))
            scores = q @ jnp.swapaxes(k, -1, -2) * q.shape[-1] ** -0.5
            scores = jnp.where(jnp.arange(k.shape[1]) <= positions[0], scores, -1e9)
            y = (jax.nn.softmax(scores, -1) @ v).reshape(x.shape)
            x = fed(x + y @ w[f"{name}attention.w_out"] + w[f"{name}attention.b_out"], w, name)
        return (norm(x, w["final_ln.gamma"], w["final_ln.beta"]) @ w["lm_head"])[0], made

    run = jax.jit(decode, donate_argnums=1)
    held = [caches]

    def call() -> Any:
        logits, held[0] = run(t, held[0], *given)
        return jax.block_until_ready(logits)

    return call


def convolved(x: Any, weight: Any, stride: int, padding: int) -> Any:
    sides = [(padding, padding)] * 2
    return lax.conv_general_dilated(x, weight, (stride, stride), sides, dimension_numbers=("NHWC", "HWIO", "NHWC"))


def turned(weight: Any) -> Any:
    """Filters `[out, in, h, w]` as `[h, w, in, out]`, which JAX runs fastest."""
    return jnp.transpose(weight, (2, 3, 1, 0)) if weight.ndim == 4 else weight


def convolution(arrays: Arrays) -> Call:
    t = on_device(arrays)
    return caller(lambda x, w, b: convolved(x, w, 1, 1) + b, t["x"], turned(t["weight"]), t["bias"])


def resnet34(arrays: Arrays) -> Call:
    t = on_device(arrays)
    config = workloads.resnet_config(t["image"].shape[-1] < 224, len(t["image"]))
    window, stride = config.stem

    def network(x: Any, w: Any) -> Any:
        def unit(x: Any, name: str, stride: int, padding: int) -> Any:
            return convolved(x, w[f"{name}.weight"], stride, padding) + w[f"{name}.bias"]

        x = jax.nn.relu(unit(x.transpose(0, 2, 3, 1), "conv1", stride, window // 2))
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (1, 1), (1, 1), (0, 0)))
        for block in sizes.blocks(config):
            y = jax.nn.relu(unit(x, f"{block.name}.conv1", block.stride, 1))
            y = unit(y, f"{block.name}.conv2", 1, 1)
            x = jax.nn.relu(y + (unit(x, f"{block.name}.downsample", block.stride, 0) if block.downsample else x))
        return x.mean((1, 2)) @ w["fc.weight"] + w["fc.bias"]

    return caller(network, t.pop("image"), {name: turned(w) for name, w in t.items()})


def logits_of(tokens: Any, w: Any, config: Any, dtype: Any = None) -> Any:
    """A GPT on `[..., T]` tokens."""
    x = w["tok_embeddings.weight"][tokens] + w["pos_embeddings"]
    for i in range(config.layers):
        x = layer(x, w, f"blocks.{i}.", config.heads, dtype)
    return product(norm(x, w["final_ln.gamma"], w["final_ln.beta"]), w["lm_head"], dtype)


def gpt2_prefill(arrays: Arrays) -> Call:
    config, t = workloads.config_of(arrays), on_device(arrays)
    tokens = t.pop("tokens")
    return caller(lambda tokens, w: logits_of(tokens, w, config), tokens, t)


def gpt_train(arrays: Arrays, dtype: Any = None) -> Call:
    """Training steps, with products in `dtype` if given."""
    t = on_device(arrays)
    tokens, targets = t.pop("tokens"), t.pop("targets")
    config = workloads.config_of(arrays)

    def loss(w: Any) -> Any:
        return surprise(logits_of(tokens, w, config, dtype), targets)

    def update(w: Any, g: Any, state: Any) -> Any:
        """AdamW, as if each step were the first."""
        means = {n: 0.9 * m + 0.1 * g[n] for n, m in state[0].items()}
        squares = {n: 0.99 * s + 0.01 * g[n] * g[n] for n, s in state[1].items()}
        made = {}
        for n, p in w.items():
            change = means[n] / 0.1 / (jnp.sqrt(squares[n] / 0.01) + 1e-8)
            made[n] = p - RATE * (change + 0.1 * p if p.ndim > 1 else change)
        return made, (means, squares)

    zeros = [{n: jnp.zeros_like(w) for n, w in t.items()} for _ in range(2)]
    return trained(loss, t, update, tuple(zeros))


class Functions:
    """The functions of JAX that families of programs use."""

    exp, log, sqrt, sum, erf, tanh, where, roll = jnp.exp, jnp.log, jnp.sqrt, jnp.sum, lax.erf, jnp.tanh, jnp.where, jnp.roll
    sigmoid = jax.nn.sigmoid

    @staticmethod
    def scan(step: Callable[..., Any], state: Any, rows: Any) -> Any:
        return lax.scan(step, state, rows)[1]

    @staticmethod
    def loop(count: int, step: Callable[[Any], Any], state: Any) -> Any:
        return lax.fori_loop(0, count, lambda _, state: step(state), state)


LOSS = partial(families.loss, Functions)


def embedding(table: Any, tokens: Any, dy: Any) -> Any:
    rows, pull = jax.vjp(lambda table: table[tokens], table)
    return rows, *pull(dy)


def hessian_vector(x: Any, y: Any, w0: Any, w1: Any, v0: Any, v1: Any) -> Any:
    return jax.jvp(lambda *w: jax.grad(LOSS, (0, 1))(*w, x, y), (w0, w1), (v0, v1))[1]


def per_example(x: Any, y: Any, w0: Any, w1: Any) -> Any:
    return jax.vmap(jax.grad(LOSS, (0, 1)), (None, None, 0, 0))(w0, w1, x, y)


def batch_norm(x: Any, gamma: Any, beta: Any) -> Any:
    return jax.nn.standardize(x, axis=(0, 1, 2), epsilon=EPSILON) * gamma + beta


def halves(parts: Any) -> Any:
    return jnp.stack(parts, -1).astype(jnp.float32)


def depthwise(x: Any, weight: Any, stride: int = 1) -> Any:
    names, groups, sides = ("NHWC", "HWIO", "NHWC"), x.shape[-1] // weight.shape[-2], [(1, 1)] * 2
    return lax.conv_general_dilated(x, weight, (stride, stride), sides, dimension_numbers=names, feature_group_count=groups)


def pooled(x: Any) -> Any:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), [(0, 0), (1, 1), (1, 1), (0, 0)])


def derived(function: Callable[..., Any]) -> Callable[[Arrays], Call]:
    """A family: a function of its arrays but the last, which is a cotangent, and its gradients."""

    def both(*given: Any) -> Any:
        y, pull = jax.vjp(function, *given[:-1])
        return y, *pull(given[-1])

    return lambda arrays: caller(both, *on_device(arrays).values())


def on(function: Callable[..., Any]) -> Callable[[Arrays], Call]:
    """A family: a function of its arrays."""
    return lambda arrays: caller(function, *on_device(arrays).values())


SIDES: dict[str, Callable[[Arrays], Call]] = {
    "cumsum": on(lambda x: jnp.cumsum(x, 1)),
    "transpose": on(lambda x: x.T),
    "transpose_add": on(lambda x, y: x + y.T),
    "softmax_middle": on(lambda x: jax.nn.softmax(x, 1)),
    "softmax_first": on(lambda x: jax.nn.softmax(x, 0)),
    "top_k": on(lambda x: lax.top_k(x, 50)),
    "sort": on(lambda x: jnp.sort(x, 1)),
    "black_scholes": on(partial(families.black_scholes, Functions)),
    "batch_norm": on(batch_norm),
    "int8": on(lambda x, y: lax.dot(x, y, preferred_element_type=jnp.int32)),
    "row_int4": on(lambda x, codes, scales: x @ families.decoded(halves, codes, scales).T),
    "depthwise": derived(depthwise),
    "depthwise_strided": derived(lambda x, weight: depthwise(x, weight, 2)),
    "dense": derived(lambda x, weight: convolved(x, weight, 1, 1)),
    "max_pool": derived(pooled),
    "bodies": on(partial(families.bodies, Functions)),
    "lstm": derived(partial(families.lstm, Functions)),
    "selective_scan": on(partial(families.selective_scan, Functions)),
    "embedding": on(embedding),
    "histogram": on(lambda x: jnp.bincount((x * 256).astype(jnp.int32), length=256)),
    "stencil": on(partial(families.heat, Functions)),
    "stencil_gradient": derived(partial(families.sinks, Functions)),
    "mandelbrot": on(partial(families.mandelbrot, Functions)),
    "hessian_vector": on(hessian_vector),
    "per_example": on(per_example),
    "tiny": tiny,
    "chain1k": chain,
    "chain10M": chain,
    "softmax": softmax,
    "cross_entropy": cross_entropy,
    "layer_norm": layer_norm,
    "layer_norm_gradient": layer_norm_gradient,
    "mlp": mlp,
    "gpt2_layer": gpt2_layer,
    "gpt2_decode": gpt2_decode,
    "conv1": convolution,
    "conv8": convolution,
    "resnet34": resnet34,
    "gpt_train": gpt_train,
    "gpt2_train": gpt_train,
    "gpt2_train_bf16": partial(gpt_train, dtype=jnp.bfloat16),
    "gpt2_prefill": gpt2_prefill,
    "resnet34_64": resnet34,
    "gpt2_decode_bf16": gpt2_decode,
}
