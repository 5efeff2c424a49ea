"""Architectures of PyTorch models as their papers have them, with random weights: what `benchmarks/imported.py` measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    """Two convolutions with batch norm, and the skip connection."""

    def __init__(self, inner: int, outer: int, stride: int):
        super().__init__()
        self.parts = nn.Sequential(normed(inner, outer, 3, stride), nn.ReLU(), normed(outer, outer, 3))
        self.skip = nn.Identity() if stride == 1 else normed(inner, outer, 1, stride)

    def forward(self, x: Any) -> Any:
        """The image after the block."""
        return torch.relu(self.parts(x) + self.skip(x))


class Bottleneck(nn.Module):
    """The block of ResNet-50: three convolutions, the one of 3x3 on a quarter of the channels."""

    def __init__(self, inner: int, width: int, stride: int):
        super().__init__()
        outer = 4 * width
        self.parts = nn.Sequential(
            normed(inner, width, 1), nn.ReLU(), normed(width, width, 3, stride), nn.ReLU(), normed(width, outer, 1)
        )
        self.skip = nn.Identity() if inner == outer else normed(inner, outer, 1, stride)

    def forward(self, x: Any) -> Any:
        """The image after the block."""
        return torch.relu(self.parts(x) + self.skip(x))


class ResNet(nn.Module):
    """ResNet: blocks after a convolution of 7x7 and a pool."""

    def __init__(self, width: int, blocks: Sequence[nn.Module], outer: int):
        super().__init__()
        self.first, self.blocks, self.out = normed(3, width, 7, 2), nn.Sequential(*blocks), nn.Linear(outer, 1000)

    def forward(self, x: Any) -> Any:
        """The logits of the classes."""
        x = F.max_pool2d(torch.relu(self.first(x)), 3, 2, 1)
        return self.out(self.blocks(x).mean((2, 3)))


def resnet18() -> nn.Module:
    """ResNet-18 with half its channels."""
    sizes = ((32, 32, 1), (32, 64, 2), (64, 128, 2), (128, 256, 2))
    return ResNet(32, [block for a, b, stride in sizes for block in (Residual(a, b, stride), Residual(b, b, 1))], 256)


def resnet50() -> nn.Module:
    """ResNet-50."""
    blocks: list[nn.Module] = []
    inner = 64
    for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(count):
            blocks.append(Bottleneck(inner, width, stride if i == 0 else 1))
            inner = 4 * width
    return ResNet(64, blocks, inner)


class Inverted(nn.Module):
    """The block of MobileNetV2: wider, a depthwise convolution, narrower."""

    def __init__(self, inner: int, outer: int, stride: int, factor: int):
        super().__init__()
        wide = inner * factor
        widen = [normed(inner, wide, 1), nn.ReLU6()] if factor != 1 else []
        self.parts = nn.Sequential(*widen, normed(wide, wide, 3, stride, groups=wide), nn.ReLU6(), normed(wide, outer, 1))
        self.skips = stride == 1 and inner == outer

    def forward(self, x: Any) -> Any:
        """The image after the block."""
        return x + self.parts(x) if self.skips else self.parts(x)


def mobilenet() -> nn.Module:
    """MobileNetV2."""
    blocks: list[nn.Module] = []
    inner = 32
    table = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    for factor, outer, count, stride in table:
        for i in range(count):
            blocks.append(Inverted(inner, outer, stride if i == 0 else 1, factor))
            inner = outer
    head = [normed(320, 1280, 1), nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000)]
    return nn.Sequential(normed(3, 32, 3, 2), nn.ReLU6(), *blocks, *head)


class Denoiser(nn.Module):
    """A level of a diffusion model's U-Net: residual blocks with group norm, smaller images and back, and a skip connection."""

    def __init__(self, width: int):
        super().__init__()
        self.before, self.below, self.after = (self.block(a, b) for a, b in ((width, width), (width, width), (2 * width, width)))
        self.down, self.up = nn.Conv2d(width, width, 3, 2, 1), nn.Conv2d(width, width, 3, padding=1)
        self.narrow = nn.Conv2d(2 * width, width, 1)

    @staticmethod
    def block(inner: int, outer: int) -> nn.Sequential:
        """Two convolutions of what was normed in 32 groups."""
        parts = ((nn.GroupNorm(32, a), nn.SiLU(), nn.Conv2d(a, outer, 3, padding=1)) for a in (inner, outer))
        return nn.Sequential(*(part for three in parts for part in three))

    def forward(self, x: Any) -> Any:
        """The image after the level."""
        x = x + self.before(x)
        y = self.down(x)
        y = self.up(F.interpolate(y + self.below(y), scale_factor=2.0, mode="nearest"))
        both = torch.cat([x, y], 1)
        return self.narrow(both) + self.after(both)


def normed(inner: int, outer: int, window: int, stride: int = 1, groups: int = 1) -> nn.Sequential:
    """A convolution with batch norm, whose statistics are random."""
    norm = nn.BatchNorm2d(outer)
    norm.running_mean, norm.running_var = 0.2 * torch.rand(outer) - 0.1, torch.rand(outer) + 0.5
    return nn.Sequential(nn.Conv2d(inner, outer, window, stride, window // 2, groups=groups, bias=False), norm)


def words(batch: int) -> Any:
    """Tokens."""
    return torch.randint(0, WORDS, (batch, TOKENS))


def images(size: int, channels: int = 3) -> Callable[[int], Any]:
    """Square images."""
    return lambda batch: torch.randn(batch, channels, size, size)


class MeanSquare(nn.Module):
    """The mean square of what a model gives, as a loss."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, x: Any) -> Any:
        y = self.model(x)
        return (y * y).mean()


MODELS: dict[str, tuple[Callable[[], Any], Callable[[int], Any], Sequence[int]]] = {
    "GPT-2": (lambda: Tokens(causal=True), words, (1, 8)),
    "Llama": (Llama, words, (1, 8)),
    "BERT": (lambda: Tokens(causal=False), words, (1, 8)),
    "ViT": (Vit, images(224), (1, 8)),
    "Whisper encoder": (Whisper, lambda batch: torch.randn(batch, 80, 400), (1, 8)),
    "ResNet-18, half": (resnet18, images(112), (1, 8)),
    "ResNet-50": (resnet50, images(224), (1, 16)),
    "MobileNetV2": (mobilenet, images(224), (1, 16)),
    "U-Net level": (lambda: Denoiser(128), images(32, 128), (1, 8)),
}
"""By name: what makes a model, its argument for a batch, and the batches that are measured."""
