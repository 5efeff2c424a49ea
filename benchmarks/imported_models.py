"""Architectures of PyTorch models as their papers have them, with random weights: what `benchmarks/imported.py` measures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

WIDTH, HEADS, LAYERS, TOKENS, WORDS = 256, 4, 4, 128, 2048


class Attention(nn.Module):
    """Attention of several heads; fewer of keys and values for groups, rotary places where asked for."""

    def __init__(self, groups: int = HEADS, *, causal: bool, rotary: bool = False, bias: bool = True):
        super().__init__()
        self.groups, self.causal, self.rotary, size = groups, causal, rotary, WIDTH // HEADS
        self.q, self.o = nn.Linear(WIDTH, WIDTH, bias), nn.Linear(WIDTH, WIDTH, bias)
        self.k, self.v = nn.Linear(WIDTH, groups * size, bias), nn.Linear(WIDTH, groups * size, bias)
        angles = torch.outer(torch.arange(TOKENS).float(), 10000.0 ** (-torch.arange(size // 2).float() * 2 / size))
        self.register_buffer("cos", torch.cos(angles))
        self.register_buffer("sin", torch.sin(angles))

    def turned(self, x: Any) -> Any:
        """Rotary embedding of places."""
        a, b = x.chunk(2, -1)
        return torch.cat([a * self.cos - b * self.sin, b * self.cos + a * self.sin], -1)

    def forward(self, x: Any) -> Any:
        """What each token gathers."""
        b, t, _ = x.shape
        q = self.q(x).view(b, t, HEADS, -1).transpose(1, 2)
        k, v = (f(x).view(b, t, self.groups, -1).transpose(1, 2) for f in (self.k, self.v))
        if self.rotary:
            q, k = self.turned(q), self.turned(k)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal, enable_gqa=self.groups != HEADS)
        return self.o(y.transpose(1, 2).reshape(b, t, WIDTH))


class Layer(nn.Module):
    """A layer of an encoder or decoder, normed before or after its parts."""

    def __init__(self, *, causal: bool, before: bool = True, tanh: bool = False):
        super().__init__()
        self.attention, self.before, self.tanh = Attention(causal=causal), before, "tanh" if tanh else "none"
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def perceptron(self, x: Any) -> Any:
        """Two products with GELU between."""
        return self.down(F.gelu(self.up(x), approximate=self.tanh))

    def forward(self, x: Any) -> Any:
        """The tokens after the layer."""
        if self.before:
            x = x + self.attention(self.first(x))
            return x + self.perceptron(self.second(x))
        x = self.first(x + self.attention(x))
        return self.second(x + self.perceptron(x))


class Tokens(nn.Module):
    """GPT-2 (causal, with logits) or BERT (normed after each part)."""

    def __init__(self, *, causal: bool):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(TOKENS, WIDTH)
        self.layers = nn.Sequential(*(Layer(causal=causal, before=causal, tanh=causal) for _ in range(LAYERS)))
        self.norm, self.causal = nn.LayerNorm(WIDTH), causal

    def forward(self, tokens: Any) -> Any:
        """Logits, or the hidden state."""
        x = self.words(tokens) + self.places.weight
        if not self.causal:
            return self.layers(self.norm(x))
        return self.norm(self.layers(x)) @ self.words.weight.T


class RmsNorm(nn.Module):
    """RMS norm as Llama writes it."""

    def __init__(self) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x: Any) -> Any:
        """`x` over the root of its mean square."""
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.gain


class LlamaLayer(nn.Module):
    """Grouped queries with rotary places, SwiGLU."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = Attention(HEADS // 2, causal=True, rotary=True, bias=False)
        self.first, self.second = RmsNorm(), RmsNorm()
        self.gate, self.up, self.down = (nn.Linear(a, b, False) for a, b in ((WIDTH, 704), (WIDTH, 704), (704, WIDTH)))

    def forward(self, x: Any) -> Any:
        """The tokens after the layer."""
        x = x + self.attention(self.first(x))
        h = self.second(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    """Llama, with logits."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.out = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, WORDS, False)
        self.layers, self.norm = nn.Sequential(*(LlamaLayer() for _ in range(LAYERS))), RmsNorm()

    def forward(self, tokens: Any) -> Any:
        """Logits."""
        return self.out(self.norm(self.layers(self.words(tokens))))


class Vit(nn.Module):
    """ViT: patches of 16 by 16 pixels as tokens, and one token for the class."""

    def __init__(self) -> None:
        super().__init__()
        self.patches, self.token = nn.Conv2d(3, WIDTH, 16, 16), nn.Parameter(torch.randn(1, 1, WIDTH))
        self.places = nn.Parameter(torch.randn(1, 197, WIDTH))
        self.layers = nn.Sequential(*(Layer(causal=False) for _ in range(LAYERS)))
        self.norm, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 1000)

    def forward(self, x: Any) -> Any:
        """The logits of the classes."""
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.out(self.norm(self.layers(x))[:, 0])


class Whisper(nn.Module):
    """The encoder of Whisper: two convolutions over frames, then layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv1d(80, WIDTH, 3, padding=1), nn.Conv1d(WIDTH, WIDTH, 3, stride=2, padding=1)
        self.places = nn.Parameter(torch.randn(1, 200, WIDTH))
        self.layers, self.norm = nn.Sequential(*(Layer(causal=False) for _ in range(LAYERS))), nn.LayerNorm(WIDTH)

    def forward(self, x: Any) -> Any:
        """The hidden state."""
        x = F.gelu(self.second(F.gelu(self.first(x)))).transpose(1, 2) + self.places
        return self.norm(self.layers(x))


class Residual(nn.Module):
    """Two convolutions with batch norm, and what is added."""

    def __init__(self, inner: int, outer: int, stride: int):
        super().__init__()
        self.first, self.second = nn.Conv2d(inner, outer, 3, stride, 1, bias=False), nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.a, self.b, self.c = nn.BatchNorm2d(outer), nn.BatchNorm2d(outer), nn.BatchNorm2d(outer)
        self.skip = nn.Conv2d(inner, outer, 1, stride, bias=False) if stride != 1 else None

    def forward(self, x: Any) -> Any:
        """The image after the block."""
        kept = x if self.skip is None else self.c(self.skip(x))
        return torch.relu(self.b(self.second(torch.relu(self.a(self.first(x))))) + kept)


class ResNet(nn.Module):
    """ResNet-18 with half its channels."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 32, 7, 2, 3, bias=False), nn.BatchNorm2d(32)
        sizes = ((32, 32, 1), (32, 64, 2), (64, 128, 2), (128, 256, 2))
        blocks = (block for a, b, stride in sizes for block in (Residual(a, b, stride), Residual(b, b, 1)))
        self.blocks, self.out = nn.Sequential(*blocks), nn.Linear(256, 1000)

    def forward(self, x: Any) -> Any:
        """The logits of the classes."""
        x = F.max_pool2d(torch.relu(self.norm(self.first(x))), 3, 2, 1)
        return self.out(self.blocks(x).mean((2, 3)))


def words(batch: int) -> Any:
    """Tokens."""
    return torch.randint(0, WORDS, (batch, TOKENS))


MODELS: dict[str, tuple[Callable[[], Any], Callable[[int], Any]]] = {
    "GPT-2": (lambda: Tokens(causal=True), words),
    "Llama": (Llama, words),
    "BERT": (lambda: Tokens(causal=False), words),
    "ViT": (Vit, lambda batch: torch.randn(batch, 3, 224, 224)),
    "Whisper encoder": (Whisper, lambda batch: torch.randn(batch, 80, 400)),
    "ResNet": (ResNet, lambda batch: torch.randn(batch, 3, 112, 112)),
}
"""By name: what makes a model, and its argument for a batch."""
