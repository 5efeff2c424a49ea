"""
The networks in PyTorch's own layers and functions, on the CPU, weights by the programs' names.

Nothing of the programs' structure is copied: layer norm, GELU, attention, convolution and pooling are PyTorch's.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch.nn import functional as F

from .. import gpt2, mobilenet_v2, resnet34

Weights = Mapping[str, np.ndarray]


def tensors(weights: Weights) -> dict[str, torch.Tensor]:
    """The weights as tensors that share their memory; matrices `[in, out]` are left so."""
    return {name: torch.from_numpy(values) for name, values in weights.items()}


class GPT2:
    """Logits for tokens that follow those given before; `reset` forgets them."""

    def __init__(self, config: gpt2.Config, weights: Weights, capacity: int | None = None):
        self.config = config
        self.weights = tensors(weights)
        shape = config.cache_shape(capacity or config.context)
        self.caches = [(torch.zeros(shape), torch.zeros(shape)) for _ in range(config.layers)]
        self.length = 0

    def reset(self) -> None:
        self.length = 0

    @torch.inference_mode()
    def __call__(self, tokens: np.ndarray) -> np.ndarray:
        w, start = self.weights, self.length
        self.length = end = start + len(tokens)
        x = F.embedding(torch.from_numpy(tokens).long(), w["tok_embeddings.weight"]) + w["pos_embeddings"][start:end]
        for i, caches in enumerate(self.caches):
            name = f"blocks.{i}"
            x = x + self._attend(self._norm(x, f"{name}.ln_1"), f"{name}.attention", caches, start)
            hidden = self._linear(self._norm(x, f"{name}.ln_2"), f"{name}.feed_forward", "in")
            hidden = F.gelu(hidden, approximate="none" if self.config.gelu == "erf" else "tanh")
            x = x + self._linear(hidden, f"{name}.feed_forward", "out")
        return (self._norm(x, "final_ln") @ w["lm_head"]).numpy()

    def _linear(self, x: torch.Tensor, part: str, which: str) -> torch.Tensor:
        return torch.addmm(self.weights[f"{part}.b_{which}"], x, self.weights[f"{part}.w_{which}"])

    def _norm(self, x: torch.Tensor, name: str) -> torch.Tensor:
        w = self.weights
        return F.layer_norm(x, x.shape[-1:], w[f"{name}.gamma"], w[f"{name}.beta"], self.config.epsilon)

    def _attend(self, x: torch.Tensor, name: str, caches: tuple[torch.Tensor, torch.Tensor], start: int) -> torch.Tensor:
        c, count = self.config, len(x)
        q, k, v = self._linear(x, name, "qkv").split((c.width, c.kv_width, c.kv_width), 1)
        q, k, v = (a.reshape(count, -1, c.depth).transpose(0, 1) for a in (q, k, v))
        for cache, new in zip(caches, (k, v), strict=True):
            cache[:, start : start + count] = new
        k, v = (a[:, : start + count].repeat_interleave(c.heads // c.kv_heads, 0) for a in caches)
        seen = torch.ones(count, start + count, dtype=torch.bool).tril(start) if count > 1 else None
        y = F.scaled_dot_product_attention(q[None], k[None], v[None], seen)[0]
        return self._linear(y.transpose(0, 1).reshape(count, c.width), name, "out")


class _Images:
    def __init__(self, weights: Weights):
        self.weights = tensors(weights)

    def convolve(self, x: torch.Tensor, name: str, stride: int = 1, padding: int = 0, groups: int = 1) -> torch.Tensor:
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return F.conv2d(x, weight, bias, stride=stride, padding=padding, groups=groups)

    def classify(self, x: torch.Tensor) -> np.ndarray:
        x = F.adaptive_avg_pool2d(x, 1).flatten(1)
        return F.linear(x, self.weights["fc.weight"].T, self.weights["fc.bias"]).numpy()


class ResNet34(_Images):
    """Scores of images `[N, 3, H, W]`."""

    def __init__(self, config: resnet34.Config, weights: Weights):
        super().__init__(weights)
        self.blocks = resnet34.blocks(config)

    @torch.inference_mode()
    def __call__(self, image: np.ndarray) -> np.ndarray:
        x = F.relu(self.convolve(torch.from_numpy(image), "conv1", 2, 3))
        x = F.max_pool2d(x, 3, 2, 1)
        for block in self.blocks:
            y = F.relu(self.convolve(x, f"{block.name}.conv1", block.stride, 1))
            y = self.convolve(y, f"{block.name}.conv2", 1, 1)
            x = F.relu(y + (self.convolve(x, f"{block.name}.downsample", block.stride) if block.downsample else x))
        return self.classify(x)


class MobileNetV2(_Images):
    """Scores of images `[N, 3, H, W]`."""

    def __init__(self, config: mobilenet_v2.Config, weights: Weights):
        super().__init__(weights)
        self.blocks = mobilenet_v2.blocks(config)

    @torch.inference_mode()
    def __call__(self, image: np.ndarray) -> np.ndarray:
        x = F.relu6(self.convolve(torch.from_numpy(image), "stem", 2, 1))
        for block in self.blocks:
            y = x if block.widening == 1 else F.relu6(self.convolve(x, f"{block.name}.expand"))
            y = F.relu6(self.convolve(y, f"{block.name}.depthwise", block.stride, 1, block.hidden))
            y = self.convolve(y, f"{block.name}.project")
            x = x + y if block.residual else y
        return self.classify(F.relu6(self.convolve(x, "head")))
