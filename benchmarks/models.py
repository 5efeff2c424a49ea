"""
Model programs on the numpy target, beside the same networks written by hand in NumPy and in PyTorch, in one run.

    python benchmarks/models.py [--model gpt2 resnet34 mobilenet_v2] [--rounds 20] [--threads 1] [--small] [--out DIR]

In every round each side makes the same step, so that what disturbs the machine disturbs all, and each round another side begins:
a token of GPT-2 small against its cache, or one image. The sides' results are compared in each round. Figures are medians; ratios
are medians of the ratios within rounds. With one thread the clock counts processor time, with more the time on the wall.

What depends on weights alone is computed before, on our side by `@f_prepare`, in NumPy by hand: both have the filters of dense
convolutions as matrices. Each side keeps its own caches.
"""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import itertools
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

import numpy as np
from machine import described
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from models import gpt2, mobilenet_v2, resnet34
from models.optimised import compile
from models.peers import by_numpy
from models.session import EAGER, Session

try:
    from models.peers import by_torch
except ImportError:
    by_torch = None

OURS, HAND, TORCH = "PTIR, numpy target", "NumPy by hand", "PyTorch"
TOLERANCE = 1e-3
"""Of the greatest result, in f32 at real size."""
PROMPT, CAPACITY = 33, 64
"""GPT-2 reads so many tokens first, so that the cache has 64 places and room for 30 more."""
IMAGES = {"resnet34": (resnet34, "ResNet34"), "mobilenet_v2": (mobilenet_v2, "MobileNetV2")}
BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
Step = Callable[[Any], np.ndarray]
Figures = dict[str, list[float]]


def gpt2_sides(small: bool) -> tuple[dict[str, Step], Iterator[Any]]:
    """Each side having read the prompt, and the tokens to come."""
    config = gpt2.SMALL if small else gpt2.REAL
    weights = gpt2.random_weights(config)
    tokens = np.random.default_rng(0).integers(0, config.vocabulary, CAPACITY).astype(np.int32)
    session = Session(config, weights, partial(compile, specialize=EAGER))
    session.read(tokens[:PROMPT].tolist())
    peers = {HAND: by_numpy.GPT2(config, weights, CAPACITY)}
    if by_torch is not None:
        peers[TORCH] = by_torch.GPT2(config, weights, CAPACITY)
    for peer in peers.values():
        peer(tokens[:PROMPT])
    sides: dict[str, Step] = {OURS: lambda token: session.append(int(token))}
    for name, peer in peers.items():
        sides[name] = lambda token, peer=peer: peer(np.array([token], np.int32))[0]
    return sides, iter(tokens[PROMPT:])


def image_sides(name: str, small: bool) -> tuple[dict[str, Step], Iterator[Any]]:
    """Each side, and images without end."""
    module, peer = IMAGES[name]
    config = module.SMALL if small else module.REAL
    weights = module.random_weights(config)
    sides: dict[str, Step] = {OURS: compile(module.program(config), weights), HAND: getattr(by_numpy, peer)(config, weights)}
    if by_torch is not None:
        sides[TORCH] = getattr(by_torch, peer)(config, weights)
    rng = np.random.default_rng(0)
    shape = (config.batch, 3, config.image, config.image)
    return sides, (rng.standard_normal(shape, dtype=np.float32) for _ in itertools.count())


def measure(name: str, options: argparse.Namespace, progress: Progress) -> Figures:
    """The seconds of each side's step in each round, after two that nobody counts."""
    sides, inputs = gpt2_sides(options.small) if name == "gpt2" else image_sides(name, options.small)
    clock = time.process_time if options.threads == 1 else time.perf_counter
    figures: Figures = {side: [] for side in sides}
    bar = progress.add_task(name, total=options.rounds)
    gc.collect()
    gc.disable()
    for i, given in zip(range(-2, options.rounds), inputs, strict=False):
        results: dict[str, np.ndarray] = {}
        order = list(sides)
        for k in range(len(order)):
            side = order[(i + k) % len(order)]
            start = clock()
            results[side] = sides[side](given)
            seconds = clock() - start
            if i >= 0:
                figures[side].append(seconds)
        for side, result in results.items():
            error = abs(result - results[HAND]).max() / abs(results[HAND]).max()
            if not error <= TOLERANCE:
                raise ArithmeticError(f"{name}: {side} differs from NumPy by {error} of the greatest result")
        progress.update(bar, completed=max(0, i + 1))
    gc.enable()
    return figures


def version(distribution: str) -> str:
    """A version, or that there is none."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


def report(all_figures: dict[str, Figures], options: argparse.Namespace) -> str:
    """A markdown table: median (least to most) in milliseconds, and how the time of a peer compares with ours."""
    clock = "processor time" if options.threads == 1 else "wall time"
    size = "small sizes, for trying out" if options.small else "real sizes: GPT-2 of 12 layers, 124M parameters; 224x224 images"
    lines = ["# Models on the numpy target", ""]
    lines += [f"Milliseconds of {clock} per step, median of {options.rounds} (least to most), {options.threads} BLAS thread(s)."]
    lines += [f"{size[0].upper()}{size[1:]}. Above 1 in the last column means that ours is faster."]
    lines += [f"{described(['numpy', 'scipy', 'torch'])}."]
    if by_torch is None:
        lines += ["PyTorch is not installed: its side is missing."]
    if version("scipy") == "absent":
        lines += ["SciPy is not installed: the error function of NumPy by hand is a slow loop."]
    head = "| model | side | ms per step | steps per second | its time / ours (middle half of the rounds) |"
    lines += ["", head, "| --- | --- | --- | --- | --- |"]
    for model, figures in all_figures.items():
        for side, seconds in figures.items():
            median = statistics.median(seconds)
            ratios = [s / ours for s, ours in zip(seconds, figures[OURS], strict=True)]
            low, ratio, high = np.percentile(ratios, (25, 50, 75))
            spread = f"{1e3 * median:.1f} ({1e3 * min(seconds):.1f} to {1e3 * max(seconds):.1f})"
            lines.append(f"| {model} | {side} | {spread} | {1 / median:.1f} | {ratio:.2f} ({low:.2f} to {high:.2f}) |")
    return "\n".join([*lines, ""])


def main(args: list[str] | None = None) -> int:
    """Measure, write the table, print it."""
    parser = argparse.ArgumentParser(description="model programs beside NumPy by hand and PyTorch")
    parser.add_argument("--model", nargs="+", choices=("gpt2", *IMAGES), default=["gpt2", *IMAGES])
    parser.add_argument("--rounds", type=int, default=20, help="at most 29 for GPT-2, whose cache is full then")
    parser.add_argument("--threads", type=int, default=1, help="of BLAS and PyTorch")
    parser.add_argument("--small", action="store_true", help="the small sizes of the tests")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results"))
    options = parser.parse_args(args)
    if not 1 <= options.rounds <= CAPACITY - PROMPT - 2 or options.threads < 1:
        parser.error(f"--rounds from 1 to {CAPACITY - PROMPT - 2}, --threads from 1")
    wanted = dict.fromkeys(BLAS_THREADS, str(options.threads))
    if args is None and wanted.items() - os.environ.items():  # BLAS reads them when it is loaded, which it is
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **wanted})
    if by_torch is not None:
        by_torch.torch.set_num_threads(options.threads)
    console = Console()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        figures = {name: measure(name, options, progress) for name in options.model}
    text = report(figures, options)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "models.md").write_text(text, encoding="utf-8")
    console.print(text, markup=False, highlight=False, soft_wrap=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
