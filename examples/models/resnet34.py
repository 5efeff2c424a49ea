"""
ResNet34 as PTIR programs over the same weights: `full` takes images to scores, `loss` says how wrong these are.

    full   image f32[N, C, H, W], weights                     -> scores [N, classes]
    loss   image f32[N, C, H, W], labels si32[N], weights     -> loss []

Each convolution's batch normalisation is folded into its weight and bias, as inference has it. Filters are `[out, in, h, w]`, the
last layer's weight is `[in, out]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

import mind_array as ma
from mind_array import Array
from mind_dialect.errors import error

from . import weights as files
from .layers import average_pool, conv2d, cross_entropy, linear, max_pool, relu
from .weights import Spec, Weights


@dataclass(frozen=True)
class Config:
    """
    The sizes of a ResNet of basic blocks: the channels and the number of blocks of each stage.

    `colours` are the channels of the image, `stem` the window and the stride of the first convolution.
    """

    image: int = 224
    classes: int = 1000
    channels: tuple[int, ...] = (64, 128, 256, 512)
    blocks: tuple[int, ...] = (3, 4, 6, 3)
    batch: int = 1
    dtype: str = "f32"
    colours: int = 3
    stem: tuple[int, int] = (7, 2)

    def __post_init__(self) -> None:
        sizes = (self.image, self.classes, self.batch, self.colours, *self.stem, *self.channels, *self.blocks)
        if min(sizes) < 1 or len(self.channels) != len(self.blocks):
            raise error("E7001", f"{self}: expected positive sizes, and blocks for each entry of channels", option="config")


REAL = Config()
SMALL = Config(image=64, classes=10, channels=(4, 8, 12, 16), batch=2)
"""Every layer of the real one, with few channels."""
DIGITS = Config(image=8, classes=10, channels=(16, 32), blocks=(1, 1), batch=64, colours=1, stem=(3, 1))
"""Two blocks for images of 8 by 8 greys: the data set of handwritten digits that comes with scikit-learn."""


@dataclass(frozen=True)
class Block:
    """A basic block: two convolutions around a shortcut, which `downsample` projects where shapes change."""

    name: str
    inputs: int
    outputs: int
    stride: int

    @property
    def downsample(self) -> bool:
        return self.stride != 1 or self.inputs != self.outputs


def blocks(config: Config) -> list[Block]:
    """The blocks in order, each stage but the first halving the image."""
    made: list[Block] = []
    inputs = config.channels[0]
    for stage, (outputs, count) in enumerate(zip(config.channels, config.blocks, strict=True), start=1):
        for i in range(count):
            made.append(Block(f"layer{stage}.{i}", inputs, outputs, 2 if stage > 1 and i == 0 else 1))
            inputs = outputs
    return made


def parameters(config: Config) -> dict[str, Spec]:
    """The name, dtype and shape of each weight, in the order in which the program takes them."""
    window = config.stem[0]
    filters = {"conv1": (config.channels[0], config.colours, window, window)}
    for block in blocks(config):
        filters[f"{block.name}.conv1"] = (block.outputs, block.inputs, 3, 3)
        filters[f"{block.name}.conv2"] = (block.outputs, block.outputs, 3, 3)
        if block.downsample:
            filters[f"{block.name}.downsample"] = (block.outputs, block.inputs, 1, 1)
    shapes: dict[str, tuple[int, ...]] = {}
    for name, shape in filters.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    shapes |= {"fc.weight": (config.channels[-1], config.classes), "fc.bias": (config.classes,)}
    return {name: Spec(config.dtype, shape) for name, shape in shapes.items()}


def program(config: Config, mode: str = "full") -> ModuleOp:
    """The function `@full`; E7001 for another mode."""
    if mode != "full":
        raise error("E7001", f"mode {mode!r}, expected 'full'", option="mode")
    return ma.trace(partial(scores, config), _image(config), files.parameters(parameters(config)), name=mode)


def loss_program(config: Config) -> ModuleOp:
    """The function `@loss`: the cross-entropy of the labels, a mean over the batch."""

    def loss(image: Array, labels: Array, weights: dict[str, Array]) -> Array:
        return cross_entropy(scores(config, image, weights), labels)

    labels = ma.spec((config.batch,), ma.int32, name="labels")
    return ma.trace(loss, _image(config), labels, files.parameters(parameters(config)))


def _image(config: Config) -> Any:
    return ma.spec((config.batch, config.colours, config.image, config.image), config.dtype, name="image")


def scores(config: Config, image: Array, weights: dict[str, Array]) -> Array:
    """The scores of each class for a batch of images `[N, C, H, W]`."""

    def convolved(x: Array, name: str, stride: int, padding: int) -> Array:
        return conv2d(x, weights[f"{name}.weight"], weights[f"{name}.bias"], stride=stride, padding=padding)

    window, stride = config.stem
    x = relu(convolved(ma.permute_dims(image, (0, 2, 3, 1)), "conv1", stride, window // 2))
    x = max_pool(x, window=3, stride=2, padding=1)
    for block in blocks(config):
        y = relu(convolved(x, f"{block.name}.conv1", block.stride, 1))
        y = convolved(y, f"{block.name}.conv2", 1, 1)
        x = relu(y + (convolved(x, f"{block.name}.downsample", block.stride, 0) if block.downsample else x))
    return linear(average_pool(x), weights["fc.weight"], weights["fc.bias"])


def random_weights(config: Config, seed: int = 0) -> Weights:
    """Random weights by name."""
    return files.random_weights(parameters(config), seed)


def load_safetensors(path: Path | str, config: Config = REAL) -> Weights:
    """Weights from a file with this module's names."""
    return files.load_safetensors(path, parameters(config))
