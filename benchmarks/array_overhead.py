"""
What `mind_array` costs beside the work itself: a small eager op, a compiled call, tracing, preparing an op.

    python benchmarks/array_overhead.py [--check]

Each figure is the best of several runs in microseconds, next to its budget. `--check` exits with 1 if a figure is more
than half above its budget. Results go to `benchmarks/results/array_overhead.md`.
"""

from __future__ import annotations

import argparse
import sys
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from machine import described

import mind_array as ma
from mind_array import emit, tree

PAGE = Path(__file__).parent / "results" / "array_overhead.md"


def best(f: Callable[[], Any], number: int = 2000, repeat: int = 15) -> float:
    """The least time of a call, in microseconds."""
    f()
    return min(timeit.repeat(f, number=number, repeat=repeat)) / number * 1e6


def eager() -> list[tuple[str, float, float]]:
    """Operations on four floats, above NumPy's."""
    a = np.arange(4.0)
    x = ma.asarray(a)
    rows: list[tuple[str, float, float]] = []
    pairs: list[tuple[str, Callable[[], Any], Callable[[], Any]]] = [
        ("x + y", lambda: x + x, lambda: a + a),
        ("x * 2.0", lambda: x * 2.0, lambda: a * 2.0),
        ("exp(x)", lambda: ma.exp(x), lambda: np.exp(a)),
        ("x < y", lambda: x < x, lambda: a < a),
        ("x[1:3]", lambda: x[1:3], lambda: a[1:3]),
    ]
    for name, ours, theirs in pairs:
        rows.append((f"eager `{name}` of 4 floats, above NumPy", best(ours) - best(theirs), 3.0))
    return rows


def calls() -> list[tuple[str, float, float]]:
    """Calls of compiled functions, above those of their native programs."""
    rows: list[tuple[str, float, float]] = []
    x = ma.ones((4, 4), dtype=ma.float32)
    params = {name: {"w": ma.ones((4, 4)), "b": ma.ones(4)} for name in "abcdef"}
    cases: list[tuple[str, Any, tuple[Any, ...]]] = [
        ("two arrays", lambda x, y: ma.tanh(x @ y) + 1.0, (x, x)),
        ("a dict of 12 arrays", lambda p: ma.sum(sum((v["w"] @ v["b"] for v in p.values()), 0.0)), (params,)),
    ]
    for name, f, arguments in cases:
        compiled = ma.jit(f, target="native")
        compiled(*arguments)
        program = compiled.lower(*arguments).compile()
        arrays = [leaf.ndarray for leaf in tree.leaves(arguments)]
        above = best(lambda c=compiled, a=arguments: c(*a)) - best(lambda p=program, a=arrays: p(*a))
        rows.append((f"call of {name}, above the native program", above, 2.0))
    return rows


def tracing() -> list[tuple[str, float, float]]:
    """Tracing 1,000 ops, and preparing one that was not seen before."""

    def many(x: Any) -> Any:
        for i in range(333):
            x = (x + i) * 1.5 - x
        return x

    spec = ma.spec((8,), "float32")
    traced = best(lambda: ma.trace(many, spec), number=1, repeat=7)
    shapes = iter(range(1, 10**6))

    def fresh() -> Any:
        n = next(shapes)
        return emit.emit(ma_reduce, ma.ones((n, 2)), kind="sum", axes=(0,), keepdims=False)

    from mind_dialect.ptir import ReduceOp as ma_reduce

    return [
        ("tracing 999 operations with Python numbers, in milliseconds", traced / 1000, 150.0),
        ("an op of a new shape: preparing its kernel", best(fresh, number=50, repeat=5), 100.0),
    ]


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    rows = [*eager(), *calls(), *tracing()]
    lines = ["| what | measured | budget |", "| --- | --- | --- |", *(f"| {n} | {t:.2f} | {b:g} |" for n, t, b in rows)]
    print("\n".join(lines))
    if not check:
        head = "# What mind_array costs\n\nMicroseconds unless stated; best of several runs, by `benchmarks/array_overhead.py`.\n"
        head += f"{described(('numpy', 'xdsl', 'llvmlite', 'optree'))}.\n\n"
        PAGE.write_text(f"{head}{chr(10).join(lines)}\n", encoding="utf-8")
    return int(check and any(t > 1.5 * b for _, t, b in rows))


if __name__ == "__main__":
    sys.exit(main())
