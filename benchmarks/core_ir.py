"""
What one op costs, by program length: our passes on Core IR beside xDSL's own on the same chain of `arith` ops.

    python benchmarks/core_ir.py [--ops 1000 10000 100000] [--repeat 5] [--out benchmarks/results]

The programs are straight lines of elementwise ops in which every op is live. The collector is frozen and off while the clock
runs, which counts processor time, so that other work on the machine disturbs less; each figure is the median of five runs,
with the least and the most beside it.
"""

from __future__ import annotations

import argparse
import gc
import io
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from machine import described
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func, FuncOp
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.transforms.canonicalize import CanonicalizePass

from mind_dialect import Profile, register
from mind_dialect.program import functions
from mind_dialect.verify import verify
from mind_passes.algebra import CoreAlgebra
from mind_passes.canonicalize import canonicalize
from mind_passes.gradient import GradientOptions, Sweep
from mind_translate.core_ir import parse_core_ir, print_core_ir

mpl.use("Agg")
import matplotlib.pyplot as plt

AIMS = {"read core-ir": 30, "verify": 25, "canonicalize": 40, "autodiff": 60, "print core-ir": 20, "print mlir": 20}
"""Microseconds per op that the project aims at."""
FLAT = 1.5
"""How much more an op may cost in the longest program than in the shortest."""


def context() -> Context:
    """A context that knows what the programs use."""
    ctx = Context()
    for dialect in (Builtin, Func, Arith):
        ctx.load_dialect(dialect)
    register(ctx)
    return ctx


def program(ops: int) -> str:
    """Core IR text of `ops` live ops: a chain of binary and unary elementwise ops that ends in the sum of the last."""
    type = "tensor<f32[4]>"
    lines = [f"%0 = Input {{name=x}} : {type}", f"%1 = Input {{name=y}} : {type}"]
    for i in range(2, ops + 1):
        a, b = i - 1, i - 2
        kinds = (f"Add (%{b}, %{a})", f"Mul (%{b}, %{a})", f"Sub (%{a}, %{b})", f"Relu (%{a})", f"Exp (%{a})")
        lines.append(f"%{i} = {kinds[i % 5]} : {type}")
    lines.append(f"%{ops + 1} = Sum (%{ops}) {{axes=[], keepdims=false}} : tensor<f32[]>")
    return "\n".join([*lines, f"outputs: %{ops + 1}"])


def arith_program(ops: int) -> str:
    """The same chain in xDSL's own `arith` dialect, for xDSL's own curve."""
    type = "tensor<4xf32>"
    lines = [f"func.func @main(%v0 : {type}, %v1 : {type}) -> {type} {{"]
    for i in range(2, ops + 2):
        a, b = f"%v{i - 1}", f"%v{i - 2}"
        kinds = (f"addf {b}, {a}", f"mulf {b}, {a}", f"subf {a}, {b}", f"negf {a}", f"maximumf {a}, {b}")
        lines.append(f"  %v{i} = arith.{kinds[i % 5]} : {type}")
    return "\n".join([*lines, f"  func.return %v{ops + 1} : {type}", "}"])


@dataclass(frozen=True)
class Stage:
    """Something to time: `prepare` makes the argument of each run, outside the clock."""

    name: str
    prepare: Callable[[], Any]
    run: Callable[[Any], object]


def only(module: ModuleOp) -> FuncOp:
    """The one function of a module."""
    return next(functions(module))


def sweep(func: FuncOp) -> FuncOp:
    """The reverse sweep alone, without the canonicalisation and verification around it."""
    return Sweep(func, "main_grad", CoreAlgebra(Profile.CORE_V1), GradientOptions(verify=False), {}).run()


def canonicalize_as_flag(ctx: Context, module: ModuleOp) -> None:
    """What `mind-opt --canonicalize` does: xDSL's pass, then ours."""
    CanonicalizePass().apply(ctx, module)
    canonicalize(only(module))


def mlir_text(module: ModuleOp) -> str:
    """The module in xDSL's text form."""
    stream = io.StringIO()
    Printer(stream).print_op(module)
    return stream.getvalue()


def stages(ops: int) -> list[Stage]:
    """Ours first, then xDSL's own curve."""
    text = program(ops)
    module = parse_core_ir(text)
    canonical = module.clone()
    canonicalize(only(canonical))
    mlir, ctx = mlir_text(module), context()
    peer = Parser(ctx, arith_program(ops)).parse_module()
    return [
        Stage("read core-ir", lambda: text, parse_core_ir),
        Stage("verify", lambda: module, verify),
        Stage("mind-canonicalize", module.clone, lambda m: canonicalize(only(m))),
        Stage("canonicalize", module.clone, lambda m: canonicalize_as_flag(ctx, m)),
        Stage("autodiff", lambda: only(canonical), sweep),
        Stage("print core-ir", lambda: module, print_core_ir),
        Stage("print mlir", lambda: module, mlir_text),
        Stage("parse mlir", lambda: mlir, lambda t: Parser(ctx, t).parse_module()),
        Stage("xDSL parse", lambda: arith_program(ops), lambda t: Parser(ctx, t).parse_module()),
        Stage("xDSL verify", lambda: peer, lambda m: m.verify()),
        Stage("xDSL canonicalize", peer.clone, lambda m: CanonicalizePass().apply(ctx, m)),
        Stage("xDSL print", lambda: peer, mlir_text),
    ]


def measure(stage: Stage, repeat: int) -> list[float]:
    """Seconds of each run."""
    seconds: list[float] = []
    frozen = gc.get_freeze_count()  # by who calls, and to stay so
    for _ in range(repeat):
        argument = stage.prepare()
        gc.collect()
        gc.freeze()
        gc.disable()
        start = time.process_time()
        result = stage.run(argument)
        seconds.append(time.process_time() - start)
        gc.enable()
        if not frozen:
            gc.unfreeze()
        del argument, result
    return seconds


Figures = dict[str, dict[int, list[float]]]
"""Microseconds per op of each run, by stage and program length."""


def measure_all(lengths: list[int], repeat: int, console: Console) -> Figures:
    """Every stage at every length, with a progress bar."""
    figures: Figures = {}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("building", total=None)
        for ops in lengths:
            todo = stages(ops)
            progress.update(bar, total=len(todo) * len(lengths))
            for stage in todo:
                progress.update(bar, description=f"{stage.name}, {ops:,} ops")
                figures.setdefault(stage.name, {})[ops] = [1e6 * s / ops for s in measure(stage, repeat)]
                progress.advance(bar)
    return figures


def table(figures: Figures) -> str:
    """A markdown table: median (least to most) in µs per op."""
    lengths = sorted(next(iter(figures.values())))
    repeat = len(next(iter(figures.values()))[lengths[0]])
    header = ["step", *(f"{n:,} ops" for n in lengths), "last / first", "aim"]
    rows = [header, ["---"] * len(header)]
    for name, by_length in figures.items():
        medians = [statistics.median(by_length[n]) for n in lengths]
        cells = [f"{m:.1f} ({min(by_length[n]):.1f} to {max(by_length[n]):.1f})" for n, m in zip(lengths, medians, strict=True)]
        rows.append([name, *cells, f"{medians[-1] / medians[0]:.2f}", str(AIMS.get(name, ""))])
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    title = f"Microseconds of processor time per op, median of {repeat} (least to most), collector frozen. {described(['xdsl'])}."
    flat = (
        f"Flat means last / first of at most {FLAT}. `autodiff` is the reverse sweep, per primal op, without canonicalise and "
        "verify; `canonicalize` is what the flag of mind-opt does, xDSL's pass and then ours. The rows of xDSL are its "
        "own passes on the same chain in its `arith` dialect."
    )
    return "\n".join(["# Cost per op", "", title, flat, "", *lines, "", "![cost per op](core_ir.png)", ""])


def plot(figures: Figures, path: Path) -> None:
    """Cost per op against program length: ours solid, xDSL's own dashed."""
    figure, axes = plt.subplots(figsize=(9, 5), layout="constrained")
    colours = mpl.colormaps["tab20"].colors
    for colour, (name, by_length) in zip(colours, figures.items(), strict=False):
        medians = [statistics.median(runs) for runs in by_length.values()]
        spread = [[m - min(runs) for m, runs in zip(medians, by_length.values(), strict=True)]]
        spread.append([max(runs) - m for m, runs in zip(medians, by_length.values(), strict=True)])
        style = "--" if name.startswith("xDSL") else "-"
        axes.errorbar(list(by_length), medians, yerr=spread, label=name, marker="o", color=colour, linestyle=style, capsize=3)
    axes.set(xscale="log", yscale="log", xlabel="ops in the program", ylabel="µs per op", title="cost per op, median and spread")
    axes.grid(alpha=0.3, which="both")
    figure.legend(loc="outside right upper", fontsize=8)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, write table and plot, print the table."""
    parser = argparse.ArgumentParser(description="cost per op of Core IR, ours and xDSL's own")
    parser.add_argument("--ops", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results"))
    options = parser.parse_args(argv)
    console = Console()
    figures = measure_all(sorted(options.ops), options.repeat, console)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "core_ir.md").write_text(table(figures), encoding="utf-8")
    plot(figures, options.out / "core_ir.png")
    console.print(table(figures), markup=False, highlight=False, soft_wrap=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
