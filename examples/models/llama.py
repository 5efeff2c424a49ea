"""
A block of a Llama as PTIR programs: RMSNorm, rotary positions, attention with shared keys and values, a SwiGLU network, a cache.

    block   x f32[B, T, D], positions si32[T], cache_start si32[4], weights, caches of keys and values [B, H, C, d]
                                                                                        -> y [B, T, D], caches
    loss    x f32[B, T, D], weights                                                     -> loss []

`B` sequences, `T` tokens and `C` places in the caches are open: with all tokens of a prompt, `block` is prefill, with one token
decode. Positions are those of RoPE (Su et al., 2021) on the two halves of a head, as in the published models; weights are
`[in, out]`, without biases. `loss` is the mean square of the block without a cache, to differentiate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

from xdsl.dialects.builtin import ModuleOp

import mind_array as ma
from mind_array import Array
from mind_dialect.errors import error

from . import weights as files
from .gpt2 import declared
from .layers import attention, position_mask, repeat_heads
from .weights import Spec, Weights


@dataclass(frozen=True)
class Config:
    """The sizes of a block; `kv_heads` fewer than `heads` share keys and values, `hidden` is the width of the SwiGLU network."""

    width: int = 4096
    heads: int = 32
    kv_heads: int = 8
    hidden: int = 14336
    context: int = 8192
    epsilon: float = 1e-5
    theta: float = 500000.0
    dtype: str = "f32"

    def __post_init__(self) -> None:
        sizes = (self.width, self.heads, self.kv_heads, self.hidden, self.context)
        if min(sizes) < 1 or self.width % (2 * self.heads) or self.heads % self.kv_heads:
            message = f"{self}: expected positive sizes, heads of an even width, heads a multiple of kv_heads"
            raise error("E7001", message, option="config")

    @property
    def depth(self) -> int:
        """The width of one head."""
        return self.width // self.heads


REAL = Config()
"""A block of Llama 3 8B."""
SMALL = Config(width=32, heads=4, kv_heads=2, hidden=48, context=64, theta=10000.0)


def parameters(config: Config) -> dict[str, Spec]:
    """The name, dtype and shape of each weight, in the order in which programs take them."""
    width, shared = config.width, config.kv_heads * config.depth
    shapes: dict[str, tuple[int, ...]] = {
        "attention_norm": (width,),
        "attention.w_q": (width, width),
        "attention.w_k": (width, shared),
        "attention.w_v": (width, shared),
        "attention.w_o": (width, width),
        "feed_forward_norm": (width,),
        "feed_forward.w_gate": (width, config.hidden),
        "feed_forward.w_up": (width, config.hidden),
        "feed_forward.w_down": (config.hidden, width),
    }
    return {name: Spec(config.dtype, shape) for name, shape in shapes.items()}


def random_weights(config: Config, seed: int = 0) -> Weights:
    """Random weights by name."""
    return files.random_weights(parameters(config), seed)


def block_program(config: Config) -> ModuleOp:
    """
    Return the function `@block` that reads `T` tokens of `B` sequences after those in the caches.

    A call with more tokens than places, or more places than the context, is E8010.
    """
    x = ma.spec(("B", "T", config.width), config.dtype, name="x")
    positions, start = ma.spec(("T",), ma.int32, name="positions"), ma.spec((4,), ma.int32, name="cache_start")
    shape = ("B", config.kv_heads, "C", config.depth)
    cached = [ma.spec(shape, config.dtype, name=f"{kind}_cache") for kind in "kv"]
    given = files.parameters(parameters(config))
    module = ma.trace(partial(block, config), x, positions, start, given, *cached, name="block")
    return declared(module, "B >= 1", "T >= 1", f"C <= {config.context}", "T <= C")


def loss_program(config: Config) -> ModuleOp:
    """Return the function `@loss`, whose `B` and `T` are open."""
    x = ma.spec(("B", "T", config.width), config.dtype, name="x")
    module = ma.trace(partial(loss, config), x, files.parameters(parameters(config)), name="loss")
    return declared(module, "B >= 1", f"T in 1..{config.context}")


def block(
    config: Config, x: Array, positions: Array, start: Array, weights: dict[str, Array], k_cache: Array, v_cache: Array
) -> Any:
    """Return what the block makes of `x`, then the caches with its keys and values from `start`."""
    q, k, v = projected(config, x, positions, weights)
    k_cache, v_cache = (ma.dynamic_update_slice(held, new, start) for held, new in ((k_cache, k), (v_cache, v)))
    mask = position_mask(positions, k_cache.shape[2])
    return fed(config, attended(config, x, q, k_cache, v_cache, mask, weights), weights), k_cache, v_cache


def loss(config: Config, x: Array, weights: dict[str, Array]) -> Array:
    """Return the mean square of what the block makes of `x`."""
    positions = ma.ptir.iota(shape=(x.shape[1],), dtype=ma.int32, axis=0)
    q, k, v = projected(config, x, positions, weights)
    y = fed(config, attended(config, x, q, k, v, position_mask(positions, x.shape[1]), weights), weights)
    return ma.mean(y * y)


def projected(config: Config, x: Array, positions: Array, weights: dict[str, Array]) -> list[Array]:
    """Return queries and keys, turned by their positions, and values: `[B, heads, T, d]`."""
    h = rms_norm(x, weights["attention_norm"], config.epsilon)
    parts = [split(h @ weights[f"attention.w_{part}"], config.depth) for part in "qkv"]
    return [rotated(parts[0], positions, config.theta), rotated(parts[1], positions, config.theta), parts[2]]


def attended(config: Config, x: Array, q: Array, k: Array, v: Array, mask: Array, weights: dict[str, Array]) -> Array:
    """Return `x` and what its queries gather."""
    batch, length, _ = x.shape
    y = attention(q, repeat_heads(k, config.heads), repeat_heads(v, config.heads), mask)
    y = ma.swapaxes(y, -3, -2).reshape(batch, length, config.width)
    return x + y @ weights["attention.w_o"]


def fed(config: Config, x: Array, weights: dict[str, Array]) -> Array:
    """Return `x` and what the SwiGLU network makes of it."""
    h = rms_norm(x, weights["feed_forward_norm"], config.epsilon)
    gate = h @ weights["feed_forward.w_gate"]
    hidden = gate / (1.0 + ma.exp(-gate)) * (h @ weights["feed_forward.w_up"])
    return x + hidden @ weights["feed_forward.w_down"]


def rms_norm(x: Array, gamma: Array, epsilon: float) -> Array:
    """Return `x` over the root of its mean square along the last axis, times `gamma`."""
    mean = ma.sum(x * x, axis=-1, keepdims=True) * (1 / x.shape[-1])
    return x / ma.sqrt(mean + epsilon) * gamma


def split(x: Array, depth: int) -> Array:
    """`[B, T, heads * d]` as `[B, heads, T, d]`."""
    batch, length, width = x.shape
    return ma.swapaxes(x.reshape(batch, length, width // depth, depth), 1, 2)


def rotated(x: Array, positions: Array, theta: float) -> Array:
    """Return `[B, heads, T, d]` with element `i` and `i + d/2` of a head turned by the angle `position * theta ** (-2i/d)`."""
    half = x.shape[-1] // 2
    (length,) = positions.shape
    steps = ma.astype(ma.ptir.iota(shape=(half,), dtype=ma.int32, axis=0), x.dtype)
    rates = ma.exp(steps * (-math.log(theta) / half))
    places = ma.expand_dims(ma.astype(positions, x.dtype), axis=1)
    angles = ma.broadcast_to(places, (length, half)) * rates
    low, high = ma.split(x, (half,), axis=-1)
    cos, sin = ma.cos(angles), ma.sin(angles)
    return ma.concat([low * cos - high * sin, high * cos + low * sin], axis=-1)
