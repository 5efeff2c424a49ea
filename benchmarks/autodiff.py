"""
What the gradient of a PTIR program costs per op, by the program's length.

    python benchmarks/autodiff.py [--ops 1000 10000 100000] [--repeat 5] [--out benchmarks/results]

`chain` is a straight line of elementwise ops; `layers` is a network of layers that share their weights, each a product, a
broadcast bias, and a maximum with 0. Every op is live. The clock counts the processor time of the reverse sweep with what
prepares it, without canonicalise and verify, for which the project aims at 60 µs per op; the collector is frozen and off
meanwhile. Forward mode is beside it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from core_ir import FLAT, Stage, measure
from machine import described
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import mind_array as ma
from mind_dialect.program import functions
from mind_passes.autodiff import GradientOptions, ptir_sweep
from mind_passes.forward import ForwardOptions, jvp_function

AIM = 60
"""Microseconds per op of the primal."""
ELEMENTWISE = (lambda a, b: a + b, lambda a, b: a * b, lambda a, b: b - a, lambda a, b: ma.tanh(b), lambda a, b: ma.exp(b))


def chain(ops: int) -> ModuleOp:
    """So many elementwise ops, each of the two values before it or of the last."""

    def chain(a: ma.Array, b: ma.Array) -> ma.Array:
        for i in range(ops - 1):
            a, b = b, ELEMENTWISE[i % 5](a, b)
        return ma.sum(b)

    return ma.trace(chain, ma.spec((4,), "f32"), ma.spec((4,), "f32"))


def layers(ops: int) -> ModuleOp:
    """So many ops in layers of three."""

    def layers(x: ma.Array, w: ma.Array, b: ma.Array) -> ma.Array:
        for _ in range(ops // 3):
            x = ma.maximum(x @ w + b, 0.0)
        return ma.sum(x)

    return ma.trace(layers, *(ma.spec(shape, "f32") for shape in ((2, 4), (4, 4), (2, 4))))


PROGRAMS = {"chain": chain, "layers": layers}
MODES = {
    "reverse": lambda func: ptir_sweep(func, "f_grad", GradientOptions(verify=False)).run(),
    "forward": lambda func: jvp_function(func, "f_jvp", ForwardOptions(verify=False)),
}
Figures = dict[tuple[str, str], dict[int, tuple[list[float], float]]]
"""By program and mode, by length: microseconds per op of each run, and how many ops came out for one."""


def measure_all(lengths: list[int], repeat: int, console: Console) -> Figures:
    """Every program at every length, with a progress bar."""
    figures: Figures = {(program, mode): {} for program in PROGRAMS for mode in MODES}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("building", total=len(lengths) * len(figures))
        for length in lengths:
            for program, make in PROGRAMS.items():
                module = make(length)
                (func,) = functions(module)
                count = ops_in(func)
                for mode, derive in MODES.items():
                    progress.update(bar, description=f"{mode} of {program}, {count:,} ops")
                    runs = measure(Stage(mode, lambda func=func: func, derive), repeat)
                    figures[program, mode][length] = [1e6 * s / count for s in runs], ops_in(derive(func)) / count
                    progress.advance(bar)
    return figures


def ops_in(func: FuncOp) -> int:
    """How many ops stand in a function."""
    return sum(1 for _ in func.body.block.ops)


def table(figures: Figures) -> str:
    """A markdown table: median (least to most) in µs per op of the primal."""
    lengths = sorted(next(iter(figures.values())))
    header = ["program", "mode", *(f"{n:,} ops" for n in lengths), "last / first", "ops made per op"]
    rows = [header, ["---"] * len(header)]
    for (program, mode), by_length in figures.items():
        medians = [statistics.median(by_length[n][0]) for n in lengths]
        spread = [
            f"{m:.1f} ({min(by_length[n][0]):.1f} to {max(by_length[n][0]):.1f})" for n, m in zip(lengths, medians, strict=True)
        ]
        rows.append([program, mode, *spread, f"{medians[-1] / medians[0]:.2f}", f"{by_length[lengths[-1]][1]:.1f}"])
    repeat = len(next(iter(figures.values()))[lengths[0]][0])
    title = f"Microseconds of processor time per op of the primal, median of {repeat} (least to most). {described(['xdsl'])}."
    aims = f"The aim is at most {AIM} in reverse, flat: last / first of at most {FLAT}. Ops made include the primal's own copy."
    return "\n".join(["# Cost of a derivative", "", title, aims, "", *("| " + " | ".join(row) + " |" for row in rows), ""])


def main(args: list[str] | None = None) -> int:
    """Measure, write and print the table."""
    parser = argparse.ArgumentParser(description="cost per op of derivatives of PTIR")
    parser.add_argument("--ops", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results"))
    options = parser.parse_args(args)
    console = Console()
    text = table(measure_all(sorted(options.ops), options.repeat, console))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "autodiff.md").write_text(text, encoding="utf-8")
    console.print(text, markup=False, highlight=False, soft_wrap=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
