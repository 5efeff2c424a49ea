"""
Train a small residual network on handwritten digits: each step is one PTIR program with its gradient and update.

Convolutions, residual blocks and pooling as in ResNet34, but two blocks instead of sixteen, for the images of 8 by 8 greys that
come with scikit-learn. Every image is moved by up to a pixel each time it is seen, so that the network learns shapes, not places.

    python examples/train_resnet.py
    python examples/train_resnet.py --target native
    python examples/train_resnet.py --steps 1500 --plot loss.png
    python examples/train_resnet.py --optimiser momentum --rate 0.05
    python examples/train_resnet.py --show | less
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console
from sklearn.datasets import load_digits

from mind_dialect.errors import MindError, error
from models import resnet34
from models.optimised import compile
from models.training import AdamW, Momentum, Trainer, schedule, train_step
from models.watching import plot, train
from models.weights import Weights

TEST = 360
"""Digits that nothing is learnt from."""
OPTIMISERS = {"adamw": (AdamW(), 0.01), "momentum": (Momentum(), 0.05)}
"""Each with a learning rate that suits it."""


def load(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Images f32 `[N, 1, 8, 8]` with mean 0 and variance 1, and labels si32 `[N]`: to train on, then to test with."""
    digits = load_digits()
    images, labels = digits.images.astype(np.float32)[:, None], digits.target.astype(np.int32)
    images = (images - images.mean()) / images.std()
    order = np.random.default_rng(seed).permutation(len(labels))
    kept, held_out = order[TEST:], order[:TEST]
    return images[kept], labels[kept], images[held_out], labels[held_out]


def initial_weights(config: resnet34.Config, seed: int) -> Weights:
    """Weights to start from: no biases, and blocks that add little to what they read."""
    weights = resnet34.random_weights(config, seed)
    for name, values in weights.items():
        if values.ndim == 1:
            values[:] = 0
        elif name.endswith("conv2.weight"):
            values *= 0.1
    return weights


def batches(images: np.ndarray, labels: np.ndarray, batch: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Batches without end, in a new order each epoch, each moved; the odd rest of an epoch is left out."""
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(len(labels))
        for start in range(0, len(order) - batch + 1, batch):
            rows = order[start : start + batch]
            yield moved(images[rows], *rng.integers(-1, 2, 2)), labels[rows]


def moved(images: np.ndarray, down: int, right: int) -> np.ndarray:
    """Images moved by a pixel or none, with the colour of the paper where nothing comes in."""
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=images.min())
    height, width = images.shape[2:]
    return np.ascontiguousarray(padded[:, :, 1 - down : 1 - down + height, 1 - right : 1 - right + width])


def accuracy_on(
    images: np.ndarray, labels: np.ndarray, config: resnet34.Config, weights: Weights, target: str = "numpy"
) -> float:
    """The share of images whose greatest score is that of their label."""
    scores = compile(resnet34.program(replace(config, batch=len(labels))), weights, target=target)(images)
    return float((scores.argmax(1) == labels).mean())


def arguments(args: list[str] | None) -> argparse.Namespace:
    """The command line; E7001 for numbers out of range."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form, allow_abbrev=False)
    epoch = (1797 - TEST) // resnet34.DIGITS.batch
    parser.add_argument("--steps", type=int, default=500, metavar="N", help=f"updates; {epoch} see each digit once (%(default)s)")
    parser.add_argument("--optimiser", choices=OPTIMISERS, default="adamw", help="how gradients become updates (%(default)s)")
    suiting = ", ".join(f"{rate} for {name}" for name, (_, rate) in OPTIMISERS.items())
    parser.add_argument("--rate", type=float, metavar="X", help=f"peak of the learning rate ({suiting})")
    parser.add_argument("--width", type=int, default=16, metavar="N", help="channels of the first block (%(default)s)")
    parser.add_argument("--target", choices=("numpy", "native"), default="numpy", help="what runs it (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the split, first weights and batches (%(default)s)")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="save the loss curve, as a PNG")
    parser.add_argument("--show", action="store_true", help="print the program of a step and do nothing else")
    options = parser.parse_args(args)
    if options.rate is None:
        options.rate = OPTIMISERS[options.optimiser][1]
    for name, least in {"steps": 1, "rate": 0, "width": 1, "seed": 0}.items():
        given = getattr(options, name)
        if not least <= given < math.inf:
            raise error("E7001", f"--{name} {given} is out of range, expected at least {least}; see --help", option=name)
    return options


def run(options: argparse.Namespace, console: Console) -> None:
    """Train, and say what came of it."""
    start = time.perf_counter()
    config = replace(resnet34.DIGITS, channels=(options.width, 2 * options.width))
    loss, (optimiser, _) = resnet34.loss_program(config), OPTIMISERS[options.optimiser]
    if options.show:
        print(train_step(loss, optimiser))
        return
    images, labels, test_images, test_labels = load(options.seed)
    weights = initial_weights(config, options.seed)
    count = sum(a.size for a in weights.values())
    console.print(f"{count:,} weights, {len(labels):,} digits to learn from", highlight=False)
    trainer = Trainer(loss, weights, optimiser, options.target)
    rates = [schedule(i, options.steps, options.rate, options.steps // 10) for i in range(1, options.steps + 1)]
    losses = train(trainer, batches(images, labels, config.batch, options.seed), rates, console, "images")
    accuracy = accuracy_on(test_images, test_labels, config, trainer.weights, options.target)
    said = f"test accuracy {accuracy:.2%} on {TEST} digits never seen, after {options.steps} steps"
    console.print(f"{said}; {time.perf_counter() - start:.1f} s in all", highlight=False)
    if options.plot:
        plot(losses, options.plot, f"handwritten digits, test accuracy {accuracy:.1%}")


def main(args: list[str] | None = None) -> int:
    """Run the program; the status is 1 for an error, which is printed with its code."""
    try:
        run(arguments(args), Console())
    except MindError as e:
        print(f"error[{e.code}]: {e.message}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
