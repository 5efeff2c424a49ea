"""
The networks as one would write them in NumPy, weights by the programs' names.

They are written for speed: the cache is updated in place, images are channels last, patches are strided views made contiguous
once, products go to BLAS. Float32 in, float32 throughout.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from .. import gpt2, mobilenet_v2, resnet34

try:
    from scipy.special import erf
except ImportError:
    erf = np.frompyfunc(math.erf, 1, 1)  # slow, and right

Array = np.ndarray
Weights = Mapping[str, Array]


class GPT2:
    """Logits for tokens that follow those given before; `reset` forgets them."""

    def __init__(self, config: gpt2.Config, weights: Weights, capacity: int | None = None):
        self.config = config
        self.weights = weights
        shape = config.cache_shape(capacity or config.context)
        self.caches = [(np.zeros(shape, np.float32), np.zeros(shape, np.float32)) for _ in range(config.layers)]
        self.length = 0

    def reset(self) -> None:
        self.length = 0

    def __call__(self, tokens: Array) -> Array:
        w, start = self.weights, self.length
        self.length = end = start + len(tokens)
        x = w["tok_embeddings.weight"][tokens] + w["pos_embeddings"][start:end]
        for i, caches in enumerate(self.caches):
            name = f"blocks.{i}"
            x = x + self._attend(self._norm(x, f"{name}.ln_1"), f"{name}.attention", caches, start)
            hidden = self._norm(x, f"{name}.ln_2") @ w[f"{name}.feed_forward.w_in"] + w[f"{name}.feed_forward.b_in"]
            x = x + self._gelu(hidden) @ w[f"{name}.feed_forward.w_out"] + w[f"{name}.feed_forward.b_out"]
        return self._norm(x, "final_ln") @ w["lm_head"]

    def _norm(self, x: Array, name: str) -> Array:
        centred = x - x.mean(-1, keepdims=True)
        variance = (centred * centred).mean(-1, keepdims=True)
        scaled = centred / np.sqrt(variance + np.float32(self.config.epsilon))
        return scaled * self.weights[f"{name}.gamma"] + self.weights[f"{name}.beta"]

    def _gelu(self, x: Array) -> Array:
        if self.config.gelu == "tanh":
            return np.float32(0.5) * x * (1 + np.tanh(np.float32(math.sqrt(2 / math.pi)) * (x + np.float32(0.044715) * x**3)))
        return np.float32(0.5) * x * (1 + erf(x * np.float32(math.sqrt(0.5))).astype(np.float32))

    def _attend(self, x: Array, name: str, caches: tuple[Array, Array], start: int) -> Array:
        c, w, count = self.config, self.weights, len(x)
        qkv = x @ w[f"{name}.w_qkv"] + w[f"{name}.b_qkv"]
        q, k, v = np.split(qkv, (c.width, c.width + c.kv_width), axis=1)
        q, k, v = (a.reshape(count, -1, c.depth).transpose(1, 0, 2) for a in (q, k, v))
        for cache, new in zip(caches, (k, v), strict=True):
            cache[:, start : start + count] = new
        k, v = (
            np.repeat(a[:, : start + count], c.heads // c.kv_heads, 0) if c.kv_heads != c.heads else a[:, : start + count]
            for a in caches
        )
        scores = q @ k.transpose(0, 2, 1) * np.float32(1 / math.sqrt(c.depth))
        if count > 1:
            scores += np.triu(np.full((count, start + count), -1e9, np.float32), start + 1)
        scores -= scores.max(-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(-1, keepdims=True)
        y = (scores @ v).transpose(1, 0, 2).reshape(count, c.width)
        return y @ w[f"{name}.w_out"] + w[f"{name}.b_out"]


def packed(filters: Array) -> Array:
    """`[out, in, h, w]` as the matrix `[h w in, out]` that patches are multiplied by."""
    return np.ascontiguousarray(filters.transpose(2, 3, 1, 0).reshape(-1, filters.shape[0]))


class Convolutions:
    """What both image networks share: convolutions by name, with their filters packed once."""

    def __init__(self, weights: Weights, windows: Mapping[str, tuple[int, ...]]):
        self.weights = weights
        self.windows = windows
        names = [n.removesuffix(".weight") for n, a in weights.items() if a.ndim == 4]
        self.filters = {n: packed(weights[f"{n}.weight"]) for n in names}

    def convolve(self, x: Array, name: str, stride: int = 1, padding: int = 0) -> Array:
        """The image `[N, H, W, C]` against all channels' filters."""
        window = self.windows[name]
        if window == (1, 1):
            patches = x[:, ::stride, ::stride]
        else:
            patches = views(x, window, stride, padding).transpose(0, 1, 2, 4, 5, 3)
        n, h, w = patches.shape[:3]
        y = patches.reshape(n * h * w, -1) @ self.filters[name]
        y += self.weights[f"{name}.bias"]
        return y.reshape(n, h, w, -1)

    def depthwise(self, x: Array, name: str, stride: int, padding: int) -> Array:
        """Each channel against its own filter."""
        patches = views(x, self.windows[name], stride, padding)
        return np.einsum("nhwcij,cij->nhwc", patches, self.weights[f"{name}.weight"][:, 0]) + self.weights[f"{name}.bias"]

    def classify(self, x: Array) -> Array:
        """The mean of each channel, times the last layer."""
        return x.mean((1, 2)) @ self.weights["fc.weight"] + self.weights["fc.bias"]


def views(x: Array, window: tuple[int, ...], stride: int, padding: int) -> Array:
    """Windows of the padded image: `[N, H, W, C, h, w]`."""
    x = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    return sliding_window_view(x, window, (1, 2))[:, ::stride, ::stride]


def _windows(weights: Weights) -> dict[str, tuple[int, ...]]:
    return {name.removesuffix(".weight"): a.shape[2:] for name, a in weights.items() if a.ndim == 4}


class ResNet34(Convolutions):
    """Scores of images `[N, 3, H, W]`."""

    def __init__(self, config: resnet34.Config, weights: Weights):
        super().__init__(weights, _windows(weights))
        self.blocks = resnet34.blocks(config)

    def __call__(self, image: Array) -> Array:
        x = np.maximum(self.convolve(image.transpose(0, 2, 3, 1), "conv1", 2, 3), 0)
        x = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=-np.inf)
        x = sliding_window_view(x, (3, 3), (1, 2))[:, ::2, ::2].max((-1, -2))
        for block in self.blocks:
            y = np.maximum(self.convolve(x, f"{block.name}.conv1", block.stride, 1), 0)
            y = self.convolve(y, f"{block.name}.conv2", 1, 1)
            y += self.convolve(x, f"{block.name}.downsample", block.stride) if block.downsample else x
            x = np.maximum(y, 0, out=y)
        return self.classify(x)


class MobileNetV2(Convolutions):
    """Scores of images `[N, 3, H, W]`."""

    def __init__(self, config: mobilenet_v2.Config, weights: Weights):
        super().__init__(weights, _windows(weights))
        self.blocks = mobilenet_v2.blocks(config)

    def __call__(self, image: Array) -> Array:
        x = np.clip(self.convolve(image.transpose(0, 2, 3, 1), "stem", 2, 1), 0, 6)
        for block in self.blocks:
            y = x if block.widening == 1 else np.clip(self.convolve(x, f"{block.name}.expand"), 0, 6)
            y = np.clip(self.depthwise(y, f"{block.name}.depthwise", block.stride, 1), 0, 6)
            y = self.convolve(y, f"{block.name}.project")
            x = x + y if block.residual else y
        return self.classify(np.clip(self.convolve(x, "head"), 0, 6))
