"""
What reading and writing PTIR's serialised forms costs: GPT-2 programs of about 1,000, 3,000 and 10,000 ops.

    python benchmarks/ptir_json.py [--layers 10 30 100] [--repeat 7] [--out benchmarks/results]

The widths are small, the ops and their order those of the model. Reading includes checking every op. The collector runs as in any
process. The status is 1 if the JSON of the program of about 3,000 ops takes a second or more to read.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from machine import described
from rich.console import Console
from rich.progress import track
from xdsl.dialects.builtin import ModuleOp

from mind_dialect.ptir import PtirOp
from mind_dialect.verify import verify
from mind_translate.ptir_json import parse_ptir_json, print_ptir_json
from mind_translate.ptir_text import parse_display, print_ptir_text
from models import gpt2

LIMIT = 1.0
"""Seconds that the import of about 3,000 ops may take."""
LIMIT_OPS = range(2500, 3500)


def seconds(run: Callable[[], object]) -> float:
    """How long `run` takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def program(layers: int) -> ModuleOp:
    """GPT-2 of so many layers, small in all else."""
    config = gpt2.Config(vocabulary=64, context=16, width=16, layers=layers, heads=2, kv_heads=2)
    return gpt2.program(config, length=8)


def measure(module: ModuleOp, repeat: int) -> dict[str, list[float]]:
    """Seconds of each way in and out."""
    json, text = print_ptir_json(module), print_ptir_text(module)
    assert parse_ptir_json(json).is_structurally_equivalent(parse_display(text))
    ways: dict[str, Callable[[], object]] = {
        "read JSON": lambda: parse_ptir_json(json),
        "write JSON": lambda: print_ptir_json(module),
        "read display": lambda: parse_display(text),
        "write display": lambda: print_ptir_text(module),
        "verify": lambda: verify(module),
    }
    return {name: [seconds(run) for _ in range(repeat)] for name, run in ways.items()}


def report(figures: dict[int, tuple[int, dict[str, list[float]]]], repeat: int) -> str:
    """A markdown table: milliseconds, median (least to most)."""
    header = ["", *(f"{ops:,} ops, {size / 1e6:.1f} MB of JSON" for ops, (size, _) in figures.items())]
    rows = [header, ["---"] * len(header)]
    for name in next(iter(figures.values()))[1]:
        cells = [[1e3 * s for s in by_name[name]] for _, by_name in figures.values()]
        rows.append([name, *(f"{statistics.median(ms):.0f} ({min(ms):.0f} to {max(ms):.0f})" for ms in cells)])
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    title = f"Milliseconds on the wall, median of {repeat} (least to most), GPT-2 programs of 10, 30 and 100 layers."
    return "\n".join(["# PTIR's serialised forms", "", title, f"{described(['xdsl'])}.", "", *lines, ""])


def main() -> int:
    """Measure, write the result, compare with the limit."""
    parser = argparse.ArgumentParser(description="reading and writing PTIR's serialised forms")
    parser.add_argument("--layers", type=int, nargs="+", default=[10, 30, 100])
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results"))
    options = parser.parse_args()
    console = Console()
    figures: dict[int, tuple[int, dict[str, list[float]]]] = {}
    for layers in track(options.layers, "programs", console=console):
        module = program(layers)
        ops = sum(isinstance(op, PtirOp) for op in module.walk())
        figures[ops] = len(print_ptir_json(module)), measure(module, options.repeat)
    text = report(figures, options.repeat)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "ptir_json.md").write_text(text, encoding="utf-8")
    console.print(text, markup=False, highlight=False, soft_wrap=True)
    slow = [ops for ops in figures if ops in LIMIT_OPS and statistics.median(figures[ops][1]["read JSON"]) >= LIMIT]
    return int(bool(slow))


if __name__ == "__main__":
    raise SystemExit(main())
