"""
The native target beside NumPy, PyTorch, torch.compile, JAX, ONNX Runtime and numba, all in one run.

    python benchmarks/native.py [--families | --only softmax mlp] [--sides ours numpy jax] [--threads 2]
        [--rounds 7] [--before CHECKOUT] [--small] [--out DIR]

Programs are PTIR through the whole pipeline, gradients those of the autodiff pass (`peers/by_ours.py`). Each side has a new
process for each workload, so that first calls are those of one that has compiled nothing before; small sizes share processes.
A side whose package is absent is left out, and said to be. `native.md` and `native.png` are written into the folder of results,
those of `--families` as `native_families.md` and `native_families.png`. `--before` adds another checkout as a side, such as an
earlier commit: both are measured in one run.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))  # before this folder, which has a `models` too

from peers import report
from peers.families import FAMILIES
from peers.rounds import Times, interpreter, measure, new_peers, write_bytecode
from peers.workloads import WORKLOADS, Arrays
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

OURS = "ours, native"
SIDES: dict[str, tuple[str, str, dict[str, str]]] = {
    "ours": (OURS, "by_ours", {}),
    "ours-numpy": ("ours, numpy", "by_ours", {"SIDE_TARGET": "numpy"}),
    "numpy": ("NumPy", "by_numpy", {}),
    "torch": ("PyTorch", "by_torch", {}),
    "compile": ("torch.compile", "by_torch", {"SIDE_MODE": "compile"}),
    "jax": ("JAX", "by_jax", {}),
    "onnx": ("ONNX Runtime", "by_onnx", {}),
    "numba": ("numba", "by_numba", {}),
}
"""By the name that `--sides` takes: how a side is called, its module, its settings."""
SUBNORMALS = """\
Numbers below the least normal one count as 0 in our training steps (`native{flush-subnormals}`), in all programs of PyTorch
(`torch.set_flush_denormal`) and, as always, in those of JAX."""
LIMITS = """\
The roofline is that of streams, which move each byte once and in order. Transposes touch lines in many pages at a time; softmax
along an outer axis, batch norm and gradients need numbers two or three times that the caches of a core do not hold; options,
histograms and codes of 4 bits take longer to compute than to read."""
EVERY = {**WORKLOADS, **FAMILIES}
BESIDE = [side for side in SIDES if side != "ours-numpy"]


def roofline(arrays: Arrays, name: str, threads: int, peak: float) -> float | None:
    """The least seconds of a workload on this machine, if it is known what it must do."""
    workload = EVERY[name]
    (read, written), flops = workload.moved(arrays), workload.flops(arrays)
    if flops:
        return flops / peak
    if read + written <= 1 << 20:
        return None
    from streams import stream_seconds

    return stream_seconds(read, written, threads)


def peak_flops(threads: int) -> float:
    """Multiplications and additions in registers, per second, by the cores that are used."""
    from native_products import peak_flops as of_one

    from mind_lowering.native.host import this_machine

    return of_one(this_machine(), 5) * 1e9 * threads


def page(families: bool) -> tuple[str, str, str]:
    """The name of the page of results, its title, and a note."""
    if families:
        return "native_families", "Families of programs, the native target beside its peers", f"{SUBNORMALS}\n{LIMITS}"
    return "native", "The native target beside its peers", SUBNORMALS


def parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="the native target beside its peers")
    parser.add_argument("--families", action="store_true", help="measure the families of programs that no kernel was tuned for")
    parser.add_argument("--only", nargs="+", choices=list(EVERY), metavar="WORKLOAD")
    parser.add_argument("--sides", nargs="+", choices=list(SIDES), default=BESIDE, metavar="SIDE")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of every side")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="another checkout of the project, as one more side")
    parser.add_argument("--seconds", type=float, default=0.08, help="of one sample")
    parser.add_argument("--small", action="store_true", help="small sizes, to try the benchmark out")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results"))
    options = parser.parse_args(argv)
    if options.before and not interpreter(options.before.resolve()):
        parser.error(f"--before {options.before} has no environment: run `make .venv-bench/stamp` there")
    options.only = options.only or list(FAMILIES if options.families else WORKLOADS)
    if options.rounds < 1 or options.threads < 1:
        parser.error("--rounds and --threads from 1")
    return options


def here(options: argparse.Namespace, console: Console) -> list[Sequence[Any]]:
    """Return the arguments of `Peer` for each side that is asked for and whose package is there."""
    sides: list[Sequence[Any]] = [(*SIDES[side], options.threads) for side in options.sides]
    if options.before:
        sides.append(("before", *SIDES["ours"][1:], options.threads, options.before.resolve()))
    found: list[Sequence[Any]] = []
    for side in sides:
        if (absent := write_bytecode(side, *side[4:])) is None:
            found.append(side)
        else:
            console.print(f"{side[0]} is left out: {absent}", markup=False)
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, write the table and the picture, print the table."""
    options = parsed(argv)
    console = Console()
    every: dict[str, dict[str, Times]] = {}
    failures: dict[str, dict[str, str]] = {}
    roofs: dict[str, float] = {}
    peak = peak_flops(options.threads)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    sides = here(options, console)
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("", total=len(options.only) * (len(sides) + options.rounds))
        for names in [options.only] if options.small else [[name] for name in options.only]:
            with new_peers(sides) as peers:
                for name in names:
                    progress.update(bar, description=name)
                    arrays = (options.rounds, options.seconds, options.small, lambda: progress.advance(bar))
                    every[name], failures[name] = measure(peers, name, *arrays)
    for name in options.only:
        if (least := roofline(EVERY[name].arrays(options.small), name, options.threads, peak)) is not None:
            roofs[name] = least
    text = report.write(options.out, every, failures, OURS, roofs, options.threads, options.small, page(options.families))
    console.print(text, markup=False, highlight=False, soft_wrap=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
