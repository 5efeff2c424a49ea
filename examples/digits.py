"""
Learn handwritten digits: the loss is Core IR text (mlp.coreir), its gradient is made by our pass, NumPy runs both.

    python examples/digits.py [--steps N] [--out DIR]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from sklearn.datasets import load_digits

from mind_passes.autodiff import GradientOptions, differentiate
from mind_runtime import compile
from mind_translate.core_ir import parse_core_ir, print_core_ir

mpl.use("Agg")
import matplotlib.pyplot as plt

Array = NDArray[np.float32]

PROGRAM = Path(__file__).with_name("mlp.coreir")
PARAMETERS = ("w1", "b1", "w2", "b2")
BATCH, TEST = 128, 360  # as in mlp.coreir: Core IR shapes are static
TARGET = 0.95


def load(seed: int) -> tuple[Array, Array, Array, NDArray[np.int64]]:
    """Pixels in [0, 1] and one-hot labels to train on, pixels and labels to test with."""
    digits = load_digits()
    pixels, labels = (digits.data / 16).astype(np.float32), digits.target
    order = np.random.default_rng(seed).permutation(len(labels))
    train, test = order[TEST:], order[:TEST]
    return pixels[train], np.eye(10, dtype=np.float32)[labels[train]], pixels[test], labels[test]


def initial(rng: np.random.Generator) -> list[Array]:
    """He-scaled weights, so that the logits start near 1; zero biases."""
    shapes = ((64, 64), (64,), (64, 10), (10,))
    return [(rng.normal(0, (2 / s[0]) ** 0.5, s) if len(s) == 2 else np.zeros(s)).astype(np.float32) for s in shapes]


def batches(count: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Endless batches of row numbers, in a new order each epoch; the odd rest of an epoch is left out."""
    while True:
        order = rng.permutation(count)
        for start in range(0, count - BATCH + 1, BATCH):
            yield order[start : start + BATCH]


def train(loss_and_gradients, x: Array, y: Array, steps: int, console: Console, seed: int) -> tuple[list[Array], list[float]]:
    """Gradient descent with momentum; returns the parameters and the loss of every step."""
    rng = np.random.default_rng(seed)
    parameters, losses = initial(rng), list[float]()
    velocity = [np.zeros_like(p) for p in parameters]
    loss_shown = TextColumn("loss {task.fields[loss]:.4f}")
    columns = (TextColumn("training"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), loss_shown)
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("training", total=steps, loss=float("nan"))
        for _, rows in zip(range(steps), batches(len(x), rng), strict=False):
            loss, *gradients = loss_and_gradients(x[rows], y[rows], *parameters)
            if not np.isfinite(loss):
                raise ArithmeticError(f"the loss is {loss} after {len(losses)} steps")
            velocity = [np.float32(0.9) * v - np.float32(0.05) * g for v, g in zip(velocity, gradients, strict=True)]
            parameters = [p + v for p, v in zip(parameters, velocity, strict=True)]
            losses.append(float(loss))
            progress.update(bar, advance=1, loss=losses[-1])
    return parameters, losses


def plot(losses: list[float], accuracy: float, path: Path) -> None:
    """Save the loss curve."""
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.semilogy(losses, linewidth=1)
    axes.set(xlabel="step", ylabel="cross-entropy of the batch", title=f"handwritten digits, test accuracy {accuracy:.1%}")
    axes.grid(alpha=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(args: list[str] | None = None) -> int:
    """Run the demo; the status is 1 when a full run misses 95 % test accuracy."""
    parser = argparse.ArgumentParser(description="train a digits classifier written in Core IR")
    parser.add_argument("--steps", type=int, default=1100, help="gradient steps (11 are one epoch)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder of the picture")
    parser.add_argument("--seed", type=int, default=0, help="of the split, the first weights and the batches")
    parser.add_argument("--target", choices=("numpy", "native"), default="numpy", help="what runs it")
    options = parser.parse_args(args)
    console, start = Console(), time.perf_counter()

    module = parse_core_ir(PROGRAM.read_text(encoding="utf-8"), name=str(PROGRAM))
    gradient = differentiate(module, "loss", GradientOptions(wrt=PARAMETERS))
    console.rule("the canonical gradient module")
    console.print(print_core_ir(gradient.module), markup=False, highlight=False, soft_wrap=True)
    console.rule("training")

    x, y, x_test, labels = load(options.seed)
    loss_and_gradients = compile(gradient.module, "loss_grad", target=options.target)
    logits = compile(module, "logits", target=options.target)
    parameters, losses = train(loss_and_gradients, x, y, options.steps, console, options.seed)

    scores = logits(x_test, *parameters)
    accuracy = float((scores.argmax(axis=1) == labels).mean())
    picture = options.out / "digits_loss.png"
    plot(losses, accuracy, picture)
    console.print(f"test accuracy {accuracy:.2%} on {TEST} digits never seen, after {options.steps} steps", highlight=False)
    console.print(f"loss curve in {picture}, {time.perf_counter() - start:.1f} s in all", highlight=False)
    return int(options.steps >= 1100 and accuracy < TARGET)


if __name__ == "__main__":
    raise SystemExit(main())
