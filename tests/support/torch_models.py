"""Models of PyTorch for tests: what users write, small."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    """A layer of a small GPT."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Any) -> Any:
        """Attention and a perceptron, each added."""
        b, t, c = x.shape
        q, k, v = (u.view(b, t, self.heads, -1).transpose(1, 2) for u in self.qkv(self.first(x)).chunk(3, -1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.second(x)), approximate="tanh"))


class GPT(nn.Module):
    """A small GPT-2: tied embeddings, learned places."""

    def __init__(self, width: int = 16, layers: int = 2):
        super().__init__()
        self.tokens, self.places = nn.Embedding(31, width), nn.Embedding(12, width)
        self.blocks = nn.ModuleList(Block(width, 2) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens: Any) -> Any:
        """The logits of the next token."""
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.tokens.weight.T


def rotated(x: Any) -> Any:
    """Rotary embedding of places, halves against halves."""
    half = x.shape[-1] // 2
    angles = torch.outer(torch.arange(x.shape[-2]).float(), 10000.0 ** (-torch.arange(half).float() / half))
    cos, sin = torch.cos(angles), torch.sin(angles)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


class Llama(nn.Module):
    """A layer of a small Llama: rotary embedding, grouped queries, RMS norm, SwiGLU."""

    def __init__(self, width: int = 16):
        super().__init__()
        self.embedding = nn.Embedding(31, width)
        self.gain = nn.Parameter(torch.ones(width))
        self.q, self.kv, self.o = (nn.Linear(width, n, bias=False) for n in (width, width, width))
        self.gate, self.up, self.down = nn.Linear(width, 40, False), nn.Linear(width, 40, False), nn.Linear(40, width, False)

    def normed(self, x: Any) -> Any:
        """RMS norm."""
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.gain

    def forward(self, tokens: Any) -> Any:
        """The hidden state after the layer."""
        x = self.embedding(tokens)
        b, t, c = x.shape
        h = self.normed(x)
        q = rotated(self.q(h).view(b, t, 4, -1).transpose(1, 2))
        k, v = (u.view(b, t, 2, -1).transpose(1, 2) for u in self.kv(h).chunk(2, -1))
        k, v = (u.repeat_interleave(2, dim=1) for u in (rotated(k), v))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        mask = torch.full((t, t), float("-inf")).triu(1)
        x = x + self.o((torch.softmax(scores + mask, -1) @ v).transpose(1, 2).reshape(b, t, c))
        h = self.normed(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class CNN(nn.Module):
    """Convolutions, grouped and strided, batch norm, pools of every kind."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.second, self.back = nn.Conv2d(8, 8, 3, stride=2, groups=2), nn.ConvTranspose2d(8, 6, 2, stride=2)
        self.out = nn.Linear(24, 5)

    def forward(self, x: Any) -> Any:
        """The logits of five classes."""
        x = F.max_pool2d(torch.relu(self.norm(self.first(x))), 3, stride=2, padding=1, ceil_mode=True)
        x = F.avg_pool2d(torch.relu(self.back(self.second(x))), 2, padding=1, count_include_pad=False)
        return self.out(F.adaptive_avg_pool2d(x, 2).flatten(1))


class Recurrent(nn.Module):
    """An LSTM of two layers, both ways, and what reads its last state."""

    def __init__(self) -> None:
        super().__init__()
        self.cells, self.out = nn.LSTM(6, 8, num_layers=2, bidirectional=True, batch_first=True), nn.Linear(16, 3)

    def forward(self, x: Any) -> Any:
        """Three numbers for each sequence."""
        return self.out(self.cells(x)[0][:, -1])


def encoder() -> Any:
    """A layer of torch's own transformer encoder."""
    return nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)


class Bert(nn.Module):
    """BERT: embedded words and places, normed, and two layers that norm after each part."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places, self.norm = nn.Embedding(31, 16), nn.Parameter(torch.randn(7, 16)), nn.LayerNorm(16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, activation="gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, tokens: Any) -> Any:
        """The hidden state."""
        return self.layers(self.norm(self.words(tokens) + self.places))


MODELS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "gpt": (GPT, lambda: torch.randint(0, 31, (2, 7))),
    "llama": (Llama, lambda: torch.randint(0, 31, (2, 7))),
    "bert": (Bert, lambda: torch.randint(0, 31, (2, 7))),
    "cnn": (CNN, lambda: torch.randn(2, 3, 17, 17)),
    "lstm": (Recurrent, lambda: torch.randn(2, 5, 6)),
    "encoder": (encoder, lambda: torch.randn(2, 5, 16)),
}
"""By name: what makes the model, and its argument."""


def made(name: str, *, training: bool = False) -> tuple[Any, Any]:
    """A model with random weights, the same each time, and its argument."""
    torch.manual_seed(0)
    model, x = MODELS[name]
    return model().train(training), x()
