"""
MobileNetV2 as a PTIR program: an image `[N, 3, H, W]` to scores `[N, classes]`.

Inverted residuals: a 1x1 convolution widens, a depthwise 3x3 one filters each channel by itself, a 1x1 one narrows. Batch
normalisation is folded into weights and biases. Filters are `[out, in / groups, h, w]`, the last layer's weight is `[in, out]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

import mind_array as ma
from mind_array import Array
from mind_dialect.errors import error

from . import weights as files
from .layers import average_pool, conv2d, linear, relu6
from .weights import Spec, Weights

STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
"""Of each stage: how much wider its blocks are inside, its channels, its blocks, the stride of the first."""


@dataclass(frozen=True)
class Config:
    """The sizes of a MobileNetV2; `stages` as `STAGES`."""

    image: int = 224
    classes: int = 1000
    stem: int = 32
    stages: tuple[tuple[int, int, int, int], ...] = STAGES
    head: int = 1280
    batch: int = 1
    dtype: str = "f32"

    def __post_init__(self) -> None:
        if min((self.image, self.classes, self.stem, self.head, self.batch, *(n for s in self.stages for n in s))) < 1:
            raise error("E7001", f"{self}: expected positive sizes", option="config")


REAL = Config()
SMALL = Config(image=64, classes=10, stem=4, stages=tuple((t, c // 8, n, s) for t, c, n, s in STAGES), head=32, batch=2)
"""Every layer of the real one, with an eighth of the channels."""


@dataclass(frozen=True)
class Block:
    """An inverted residual; the input is added where shapes stay."""

    name: str
    inputs: int
    outputs: int
    widening: int
    stride: int

    @property
    def hidden(self) -> int:
        return self.inputs * self.widening

    @property
    def residual(self) -> bool:
        return self.stride == 1 and self.inputs == self.outputs


def blocks(config: Config) -> list[Block]:
    """The blocks in order."""
    made: list[Block] = []
    inputs = config.stem
    for widening, outputs, count, stride in config.stages:
        for i in range(count):
            made.append(Block(f"blocks.{len(made)}", inputs, outputs, widening, stride if i == 0 else 1))
            inputs = outputs
    return made


def parameters(config: Config) -> dict[str, Spec]:
    """The name, dtype and shape of each weight, in the order in which the program takes them."""
    filters = {"stem": (config.stem, 3, 3, 3)}
    for block in blocks(config):
        if block.widening != 1:
            filters[f"{block.name}.expand"] = (block.hidden, block.inputs, 1, 1)
        filters[f"{block.name}.depthwise"] = (block.hidden, 1, 3, 3)
        filters[f"{block.name}.project"] = (block.outputs, block.hidden, 1, 1)
    filters["head"] = (config.head, blocks(config)[-1].outputs, 1, 1)
    shapes: dict[str, tuple[int, ...]] = {}
    for name, shape in filters.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    shapes |= {"fc.weight": (config.head, config.classes), "fc.bias": (config.classes,)}
    return {name: Spec(config.dtype, shape) for name, shape in shapes.items()}


def program(config: Config, mode: str = "full") -> ModuleOp:
    """The function `@full`; E7001 for another mode."""
    if mode != "full":
        raise error("E7001", f"mode {mode!r}, expected 'full'", option="mode")
    image = ma.spec((config.batch, 3, config.image, config.image), config.dtype, name="image")
    return ma.trace(partial(scores, config), image, files.parameters(parameters(config)), name=mode)


def scores(config: Config, image: Array, weights: dict[str, Array]) -> Array:
    """The scores of each class for a batch of images `[N, 3, H, W]`."""

    def convolved(x: Array, name: str, **properties: int) -> Array:
        return conv2d(x, weights[f"{name}.weight"], weights[f"{name}.bias"], **properties)

    x = relu6(convolved(ma.permute_dims(image, (0, 2, 3, 1)), "stem", stride=2, padding=1))
    for block in blocks(config):
        y = x if block.widening == 1 else relu6(convolved(x, f"{block.name}.expand"))
        y = relu6(convolved(y, f"{block.name}.depthwise", stride=block.stride, padding=1, groups=block.hidden))
        y = convolved(y, f"{block.name}.project")
        x = x + y if block.residual else y
    x = relu6(convolved(x, "head"))
    return linear(average_pool(x), weights["fc.weight"], weights["fc.bias"])


def random_weights(config: Config, seed: int = 0) -> Weights:
    """Random weights by name."""
    return files.random_weights(parameters(config), seed)


def load_safetensors(path: Path | str, config: Config = REAL) -> Weights:
    """Weights from a file with this module's names."""
    return files.load_safetensors(path, parameters(config))
