"""
GPT-2 as PTIR programs over the same weights: `full`, `prefill` and `decode` to read and to go on, `loss` to learn from.

    full      tokens si32[T], positions si32[T], weights                               -> logits [T, V]
    prefill   the same and a cache of keys and one of values per layer [H, cap, d]     -> logits, caches
    decode    tokens si32[1], positions si32[1], cache_start si32[3], weights, caches  -> logits [1, V], caches
    step      tokens si32[B, T], positions si32[T], cache_start si32[4], weights, caches of keys and values [B, H, C, d]
                                                                                       -> logits [B, T, V], caches
    loss      tokens si32[B, T], targets si32[B, T], weights                           -> loss []

`prefill` writes the prompt's keys and values from place 0, `decode` those of one token at `cache_start`, which is
`[0, positions[0], 0]`. The causal mask hides what is beyond. `B`, `T` and `C` of `step` are open: with all tokens of a prompt it
is prefill, with one token decode, at any capacity `C`. Those of `loss` are open where they are names. Weights are `[in, out]`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

import mind_array as ma
from mind_array import Array
from mind_dialect.declared_dims import state_declarations
from mind_dialect.errors import brief, error
from mind_dialect.program import functions

from . import weights as files
from .layers import (
    attention,
    causal_mask,
    converted,
    cross_entropy,
    decode_mask,
    gelu,
    layer_norm,
    linear,
    position_mask,
    repeat_heads,
    wide_layer_norm,
    widened,
)
from .weights import Spec, Weights

MODES = ("full", "prefill", "decode")


@dataclass(frozen=True)
class Config:
    """
    The sizes of a GPT-2; `kv_heads` fewer than `heads` share keys and values, `gelu` is `erf` or `tanh`.

    Weights are of `dtype`, and so is everything, but that products take their operands in `compute` if it is given: f32 and bf16
    are mixed precision, in which gradients are f32 as the weights are.
    """

    vocabulary: int = 50257
    context: int = 1024
    width: int = 768
    layers: int = 12
    heads: int = 12
    kv_heads: int = 12
    epsilon: float = 1e-5
    gelu: str = "erf"
    dtype: str = "f32"
    compute: str | None = None

    def __post_init__(self) -> None:
        sizes = (self.vocabulary, self.context, self.width, self.layers, self.heads, self.kv_heads)
        if min(sizes) < 1 or self.width % self.heads or self.heads % self.kv_heads:
            message = f"{self}: expected positive sizes, width a multiple of heads, heads a multiple of kv_heads"
            raise error("E7001", message, option="config")
        if self.gelu not in ("erf", "tanh"):
            raise error("E7001", f"gelu {self.gelu!r}, expected 'erf' or 'tanh'", option="gelu")
        if self.compute not in (None, *files.FLOATS):
            message = f"compute {brief(str(self.compute))!r}, expected one of {list(files.FLOATS)}, or None"
            raise error("E7001", message, option="compute")

    @property
    def depth(self) -> int:
        """The width of one head."""
        return self.width // self.heads

    @property
    def kv_width(self) -> int:
        """The width of the keys of all heads."""
        return self.depth * self.kv_heads

    def cache_shape(self, capacity: int) -> tuple[int, int, int]:
        """The shape of a layer's cache of keys, or of values."""
        return (self.kv_heads, capacity, self.depth)


REAL = Config()
"""GPT-2 small: 124M parameters, of which 39M stand twice here, as the last layer's weights are not tied to the embedding."""
SMALL = Config(vocabulary=256, context=64, width=32, layers=2, heads=4, kv_heads=4)


def parameters(config: Config) -> dict[str, Spec]:
    """The name, dtype and shape of each weight, in the order in which programs take them."""
    width, hidden = config.width, 4 * config.width
    qkv = width + 2 * config.kv_width
    shapes: dict[str, tuple[int, ...]] = {
        "tok_embeddings.weight": (config.vocabulary, width),
        "pos_embeddings": (config.context, width),
    }
    for i in range(config.layers):
        block = {
            "ln_1.gamma": (width,),
            "ln_1.beta": (width,),
            "attention.w_qkv": (width, qkv),
            "attention.b_qkv": (qkv,),
            "attention.w_out": (width, width),
            "attention.b_out": (width,),
            "ln_2.gamma": (width,),
            "ln_2.beta": (width,),
            "feed_forward.w_in": (width, hidden),
            "feed_forward.b_in": (hidden,),
            "feed_forward.w_out": (hidden, width),
            "feed_forward.b_out": (width,),
        }
        shapes |= {f"blocks.{i}.{name}": shape for name, shape in block.items()}
    shapes |= {"final_ln.gamma": (width,), "final_ln.beta": (width,), "lm_head": (width, config.vocabulary)}
    return {name: Spec(config.dtype, shape) for name, shape in shapes.items()}


def caches(config: Config, capacity: int) -> dict[str, Spec]:
    """The name, dtype and shape of each cache, in the order in which programs take and return them."""
    spec = Spec(config.dtype, config.cache_shape(capacity))
    return {f"blocks.{i}.attention.{kind}_cache": spec for i in range(config.layers) for kind in "kv"}


def program(config: Config, mode: str = "full", *, length: int = 1, capacity: int = 0) -> ModuleOp:
    """
    The function `@<mode>` for `length` tokens (1 for `decode`) and caches of `capacity` places.

    E7001 for an unknown mode, or lengths that fit neither the capacity nor the context.
    """
    if mode not in MODES:
        raise error("E7001", f"mode {mode!r}, expected one of {list(MODES)}", option="mode")
    room = config.context if mode == "full" else min(capacity, config.context)
    if not 1 <= length <= room or (mode == "decode" and length != 1) or capacity > config.context:
        message = f"{mode} of {length} tokens with a cache of {capacity} places and a context of {config.context}"
        raise error("E7001", f"{message}; expected tokens <= cache <= context, and one token to decode", option="length")
    given = OrderedDict((name, ma.spec((length,), ma.int32, name=name)) for name in ("tokens", "positions"))
    if mode == "decode":
        given["cache_start"] = ma.spec((3,), ma.int32, name="cache_start")
    cached = {} if mode == "full" else files.inputs(caches(config, capacity))
    return ma.trace(partial(logits, config), given, files.parameters(parameters(config)), cached, name=mode)


def logits(config: Config, given: dict[str, Array], weights: dict[str, Array], cached: dict[str, Array]) -> Any:
    """The logits of all tokens, then the caches: those of `prefill` are written from place 0, of `decode` at `cache_start`."""
    tokens, positions, start = given["tokens"], given["positions"], given.get("cache_start")
    decoding, cached = start is not None, OrderedDict(cached)
    if cached and not decoding:
        start = ma.asarray([0, 0, 0], dtype=ma.int32)
    x = ma.ptir.take(weights["tok_embeddings.weight"], tokens) + ma.ptir.take(weights["pos_embeddings"], positions)
    for i in range(config.layers):
        x = Layer(config, f"blocks.{i}", weights, cached, start, positions if decoding else None).apply(x)
    x = layer_norm(x, weights["final_ln.gamma"], weights["final_ln.beta"], epsilon=config.epsilon)
    return linear(x, weights["lm_head"], compute=config.compute), cached


def step_program(config: Config) -> ModuleOp:
    """
    Return the function `@step` that reads any number of tokens of any number of texts after those in the caches.

    `B` texts, `T` tokens and `C` places in the caches are names; a call with more tokens than places, or more than the context,
    is E8010.
    """
    given = OrderedDict(
        tokens=ma.spec(("B", "T"), ma.int32, name="tokens"),
        positions=ma.spec(("T",), ma.int32, name="positions"),
        cache_start=ma.spec((4,), ma.int32, name="cache_start"),
    )
    cached = {
        name: ma.spec(("B", config.kv_heads, "C", config.depth), spec.dtype, name=name)
        for name, spec in caches(config, config.context).items()
    }
    module = ma.trace(partial(step, config), given, files.parameters(parameters(config)), cached, name="step")
    return declared(module, "B >= 1", "T >= 1", f"C <= {config.context}", "T <= C")


def declared(module: ModuleOp, *facts: str) -> ModuleOp:
    """Return a module whose functions declare these facts about names of dimensions."""
    for func in functions(module):
        state_declarations(func, facts)
    return module


def step(config: Config, given: dict[str, Array], weights: dict[str, Array], cached: dict[str, Array]) -> Any:
    """Return the logits of all tokens, then the caches with their keys and values from `cache_start`."""
    tokens, positions, start, cached = given["tokens"], given["positions"], given["cache_start"], OrderedDict(cached)
    capacity = next(iter(cached.values())).shape[2]
    mask = position_mask(positions, capacity)
    x = ma.ptir.take(weights["tok_embeddings.weight"], tokens) + ma.ptir.take(weights["pos_embeddings"], positions)
    for i in range(config.layers):
        x = Layer(config, f"blocks.{i}", weights, cached, start, mask=mask).apply(x)
    x = layer_norm(x, weights["final_ln.gamma"], weights["final_ln.beta"], epsilon=config.epsilon)
    return linear(x, weights["lm_head"], compute=config.compute), cached


def loss_program(config: Config, *, batch: int | None = None, length: int | None = None) -> ModuleOp:
    """
    The function `@loss`: the cross-entropy of the tokens that follow, a mean over `batch` sequences of `length` tokens.

    Without numbers, these are the names `B` and `T`. E7001 for lengths beyond the context, or none; of names, E8010 in a call.
    """
    if batch is None or length is None:
        text = [ma.spec((batch or "B", length or "T"), ma.int32, name=name) for name in ("tokens", "targets")]
        module = ma.trace(partial(loss, config), *text, files.parameters(parameters(config)), name="loss")
        facts = {"B": "B >= 1", "T": f"T in 1..{config.context}"}
        return declared(module, *(facts[d] for d, n in (("B", batch), ("T", length)) if n is None))
    if not 1 <= length <= config.context or batch < 1:
        message = f"{batch} sequences of {length} tokens, expected at least one, of 1 to {config.context} tokens (the context)"
        raise error("E7001", message, option="length")
    text = [ma.spec((batch, length), ma.int32, name=name) for name in ("tokens", "targets")]
    return ma.trace(partial(loss, config), *text, files.parameters(parameters(config)), name="loss")


def loss(config: Config, tokens: Array, targets: Array, weights: dict[str, Array]) -> Array:
    """
    How surprising the targets are after the tokens before them: a mean, in nats.

    Layer norms and the loss are f32 at least, also where weights are narrower.
    """
    x = ma.ptir.take(weights["tok_embeddings.weight"], tokens) + weights["pos_embeddings"][: tokens.shape[-1]]
    for i in range(config.layers):
        x = Layer(config, f"blocks.{i}", weights, training=True).apply(x)
    x = wide_layer_norm(x, weights["final_ln.gamma"], weights["final_ln.beta"], epsilon=config.epsilon)
    return cross_entropy(widened(linear(x, weights["lm_head"], compute=config.compute)), targets)


@dataclass(frozen=True)
class Layer:
    """
    A layer: attention and a feed-forward network, each added to what it reads.

    Keys and values are written to `cached` from `start`, if given; a `position` says that one token is decoded against them, a
    `mask` that any number is. Without a position, what is read may have axes in front.
    """

    config: Config
    name: str
    weights: dict[str, Array]
    cached: dict[str, Array] = field(default_factory=dict)
    start: Array | None = None
    position: Array | None = None
    training: bool = False
    mask: Array | None = None

    def weight(self, name: str) -> Array:
        return self.weights[f"{self.name}.{name}"]

    def linear(self, x: Array, part: str, which: str) -> Array:
        return linear(x, self.weight(f"{part}.w_{which}"), self.weight(f"{part}.b_{which}"), self.config.compute)

    def norm(self, x: Array, name: str) -> Array:
        norm = wide_layer_norm if self.training else layer_norm
        return norm(x, self.weight(f"{name}.gamma"), self.weight(f"{name}.beta"), epsilon=self.config.epsilon)

    def apply(self, x: Array) -> Array:
        x = x + self.attend(self.norm(x, "ln_1"))
        hidden = gelu(self.linear(self.norm(x, "ln_2"), "feed_forward", "in"), approximate=self.config.gelu)
        return x + self.linear(hidden, "feed_forward", "out")

    def attend(self, x: Array) -> Array:
        """Attention over the tokens given, or over the cache if there is one token."""
        config, (*outer, length, _) = self.config, x.shape
        qkv = self.linear(x, "attention", "qkv")
        q, k, v = ma.split(qkv, (config.width, config.width + config.kv_width), axis=-1)
        q, k, v = self.split(q, config.heads), self.split(k, config.kv_heads), self.split(v, config.kv_heads)
        if self.start is not None:
            long_k, long_v = self.cache("k", k, self.start), self.cache("v", v, self.start)
            if self.position is not None or self.mask is not None:
                k, v = long_k, long_v
        mask = self.mask
        if mask is None:
            mask = causal_mask(length) if self.position is None else decode_mask(self.position, k.shape[1])
        q, k, v = (converted(t, config.compute) for t in (q, repeat_heads(k, config.heads), repeat_heads(v, config.heads)))
        y = converted(attention(q, k, v, mask, training=self.training), x.dtype.name)
        merged = ma.swapaxes(y, -3, -2) if self.position is None else y
        return self.linear(merged.reshape(*outer, length, config.width), "attention", "out")

    def split(self, x: Array, heads: int) -> Array:
        """`[..., T, heads * d]` as `[..., heads, T, d]`; no transpose for one token."""
        *outer, length, _ = x.shape
        if self.position is not None:
            return x.reshape(heads, 1, self.config.depth)
        return ma.swapaxes(x.reshape(*outer, length, heads, self.config.depth), -3, -2)

    def cache(self, kind: str, new: Array, start: Array) -> Array:
        name = f"{self.name}.attention.{kind}_cache"
        self.cached[name] = updated = ma.dynamic_update_slice(self.cached[name], new, start)
        return updated


def random_weights(config: Config, seed: int = 0) -> Weights:
    """Random weights by name."""
    return files.random_weights(parameters(config), seed)


PUBLISHED = {
    "tok_embeddings.weight": "wte.weight",
    "pos_embeddings": "wpe.weight",
    "final_ln.gamma": "ln_f.weight",
    "final_ln.beta": "ln_f.bias",
    "ln_1.gamma": "ln_1.weight",
    "ln_1.beta": "ln_1.bias",
    "attention.w_qkv": "attn.c_attn.weight",
    "attention.b_qkv": "attn.c_attn.bias",
    "attention.w_out": "attn.c_proj.weight",
    "attention.b_out": "attn.c_proj.bias",
    "ln_2.gamma": "ln_2.weight",
    "ln_2.beta": "ln_2.bias",
    "feed_forward.w_in": "mlp.c_fc.weight",
    "feed_forward.b_in": "mlp.c_fc.bias",
    "feed_forward.w_out": "mlp.c_proj.weight",
    "feed_forward.b_out": "mlp.c_proj.bias",
}
"""Our names, and those of the published checkpoints, which have `h.0` for `blocks.0` and perhaps `transformer.` before all."""

OWN_HEAD, MASKS = "lm_head.weight", (".attn.bias", ".attn.masked_bias")
"""In a published checkpoint: the last layer's weight `[V, D]`, where it is stored at all, and the ends of names of masks."""


def published_name(name: str, prefix: str = "") -> str:
    """The name in a published checkpoint: `blocks.3.ln_1.gamma` is `h.3.ln_1.weight`."""
    if name == OWN_HEAD:
        return name
    if not name.startswith("blocks."):
        return prefix + PUBLISHED[name]
    _, number, part = name.split(".", 2)
    return f"{prefix}h.{number}.{PUBLISHED[part]}"


def load_safetensors(path: Path | str, heads: int | None = None) -> tuple[Config, Weights]:
    """
    The sizes and weights in a file, as f32: one with our names, or a published checkpoint of GPT-2.

    Published ones have GELU by tanh, often no `lm_head` (it is the embedding, transposed), and masks that are not weights. Heads
    are 64 wide unless their number is given. Coded errors as for `weights.load_safetensors`.
    """
    shapes = files.shapes_in(path)
    prefix = next((p for p in ("", "transformer.") if f"{p}wte.weight" in shapes), None)
    named = (lambda name: name) if prefix is None else (lambda name: published_name(name, prefix))
    tokens, places = (_matrix(path, shapes, named(name)) for name in ("tok_embeddings.weight", "pos_embeddings"))
    blocks = "blocks." if prefix is None else f"{prefix}h."
    layers = len({name.removeprefix(blocks).split(".")[0] for name in shapes if name.startswith(blocks)})
    count = heads or max(1, tokens[1] // 64)
    style = "erf" if prefix is None else "tanh"
    config = Config(tokens[0], places[0], tokens[1], layers, count, count, gelu=style)
    specs = parameters(config)
    if prefix is None:
        return config, files.load_safetensors(path, specs)
    del specs["lm_head"]
    if OWN_HEAD in shapes:
        specs[OWN_HEAD] = Spec(config.dtype, tokens)
    weights = files.load_safetensors(path, specs, rename=named, ignore=lambda name: name.endswith(MASKS))
    head = weights.pop(OWN_HEAD, weights["tok_embeddings.weight"])
    return config, {**weights, "lm_head": np.ascontiguousarray(head.T)}


def _matrix(path: Path | str, shapes: Mapping[str, tuple[int, ...]], name: str) -> tuple[int, ...]:
    if name not in shapes:
        known = sorted(shapes)
        raise error("E7003", f"{brief(path)} is no GPT-2: no tensor {name!r}, found {brief(known)}", name=name, known=known)
    if len(shapes[name]) != 2:
        message = f"{brief(path)}: {name} has shape {brief(list(shapes[name]))}, expected a matrix"
        raise error("E3002", message, expected=2, actual=len(shapes[name]))
    return shapes[name]
