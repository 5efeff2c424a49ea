"""A training run as one sees it: a bar with loss and speed while it lasts, a curve of the losses afterwards."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from .training import Trainer

Batch = tuple[np.ndarray, ...]


def train(trainer: Trainer, batches: Iterator[Batch], rates: Sequence[float], console: Console, unit: str) -> list[float]:
    """
    One step for each of the learning rates; gives the losses, and says how many of `unit` a second were learnt from.

    The units of a batch are the elements of its last array: the targets.
    """
    losses: list[float] = []
    units, start = 0, time.perf_counter()
    numbers = TextColumn("loss {task.fields[loss]:.3f}"), TextColumn("{task.fields[rate]:,.0f} " + f"{unit}/s")
    columns = (TextColumn("training"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), *numbers)
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("training", total=len(rates), loss=float("nan"), rate=0.0)
        for rate in rates:
            batch = next(batches)
            losses.append(trainer.step(rate, *batch))
            units += batch[-1].size
            progress.update(bar, advance=1, loss=mean_of_last(losses), rate=units / (time.perf_counter() - start))
    seconds = time.perf_counter() - start
    said = f"loss {losses[0]:.3f} in the first step, {mean_of_last(losses):.3f} in the last ones"
    speed = f"{units / seconds:,.0f} {unit}/s, {1e3 * seconds / len(losses):.1f} ms a step"
    console.print(f"{said}; {speed}, compiled in {trainer.compile_seconds:.2f} s", highlight=False)
    return losses


def mean_of_last(losses: Sequence[float], count: int = 20) -> float:
    """The mean of so many losses at the end: a batch more or less does not move it."""
    return float(np.mean(losses[-count:]))


def plot(losses: Sequence[float], path: Path, title: str) -> None:
    """Save the loss of every step, and their running mean, as a picture."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    steps = range(1, len(losses) + 1)
    axes.plot(steps, losses, linewidth=0.6, alpha=0.5, label="batch")
    axes.plot(steps, list(running_mean(losses)), linewidth=1.5, label="running mean")
    axes.set(xlabel="step", ylabel="cross-entropy, nats", title=title)
    axes.grid(alpha=0.3)
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def running_mean(losses: Iterable[float], memory: float = 0.9) -> Iterator[float]:
    """The mean so far, in which each loss counts `memory` times as much as the one after it."""
    total = weight = 0.0
    for loss in losses:
        total, weight = memory * total + loss, memory * weight + 1
        yield total / weight
