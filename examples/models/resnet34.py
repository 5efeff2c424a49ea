"""
ResNet34 as a PTIR program: an image `[N, 3, H, W]` to scores `[N, classes]`.

Each convolution's batch normalisation is folded into its weight and bias, as inference has it. Filters are `[out, in, h, w]`, the
last layer's weight is `[in, out]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from mind_dialect.errors import error

from . import weights as files
from .builder import Builder, Tensor
from .layers import average_pool, conv2d, linear, max_pool, relu
from .weights import Spec, Weights


@dataclass(frozen=True)
class Config:
    """The sizes of a ResNet of basic blocks: the channels and the number of blocks of each stage."""

    image: int = 224
    classes: int = 1000
    channels: tuple[int, ...] = (64, 128, 256, 512)
    blocks: tuple[int, ...] = (3, 4, 6, 3)
    batch: int = 1
    dtype: str = "f32"

    def __post_init__(self) -> None:
        sizes = (self.image, self.classes, self.batch, *self.channels, *self.blocks)
        if min(sizes) < 1 or len(self.channels) != len(self.blocks):
            raise error("E7001", f"{self}: expected positive sizes, and blocks for each entry of channels", option="config")


REAL = Config()
SMALL = Config(image=64, classes=10, channels=(4, 8, 12, 16), batch=2)
"""Every layer of the real one, with few channels."""


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
    filters = {"conv1": (config.channels[0], 3, 7, 7)}
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
    build = Builder(mode)
    image = build.input("image", config.dtype, (config.batch, 3, config.image, config.image))
    weights = {name: build.parameter(name, *spec) for name, spec in parameters(config).items()}

    def convolved(x: Tensor, name: str, stride: int, padding: int) -> Tensor:
        return conv2d(x, weights[f"{name}.weight"], weights[f"{name}.bias"], stride=stride, padding=padding)

    x = relu(convolved(image.transpose(0, 2, 3, 1), "conv1", 2, 3))
    x = max_pool(x, window=3, stride=2, padding=1)
    for block in blocks(config):
        y = relu(convolved(x, f"{block.name}.conv1", block.stride, 1))
        y = convolved(y, f"{block.name}.conv2", 1, 1)
        x = relu(y + (convolved(x, f"{block.name}.downsample", block.stride, 0) if block.downsample else x))
    return build.finish(linear(average_pool(x), weights["fc.weight"], weights["fc.bias"]))


def random_weights(config: Config, seed: int = 0) -> Weights:
    """Random weights by name."""
    return files.random_weights(parameters(config), seed)


def load_safetensors(path: Path | str, config: Config = REAL) -> Weights:
    """Weights from a file with this module's names."""
    return files.load_safetensors(path, parameters(config))
