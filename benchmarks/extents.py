"""
What a question about symbolic sizes costs: by the engine, by SymPy and by JAX's symbolic shapes, where they are installed.

    python benchmarks/extents.py [--count 300] [--out benchmarks/results]

Questions are equalities of random pairs of expressions, six of ten equal by an identity. Each side builds both expressions and
answers with caches of its own; names are at least 1, as JAX wants it. A side may leave a question undecided.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, quantiles
from time import process_time
from typing import Any

from machine import processor, versions

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from extent_trees import Tree, build, equal_tree, tree
from mind_dialect.extents import Facts, TooLarge, parse_extent

NAMES = "ABC"
Answer = bool | None
LAYER = [("B*T*64 floordiv 64", "B*T"), ("P+T", "T+P"), ("max(B,1)", "B"), ("T ceildiv 8*8", "T"), ("B*T*768", "B*T*12*64")]
"""Questions as a layer of a transformer asks them."""


def pairs(count: int) -> list[tuple[Tree, Tree]]:
    """Return random pairs, always the same ones."""
    r = random.Random(2026)
    found: list[tuple[Tree, Tree]] = []
    while len(found) < count:
        t = tree(r, 2)
        found.append((t, equal_tree(r, t) if r.random() < 0.6 else tree(r, 2)))
    return found


def ours(t: Tree, u: Tree) -> Answer:
    known = Facts()
    for name in NAMES:
        known.assume_range(name, 1)
    try:
        return known.eq(build(t), build(u))
    except TooLarge:
        return None


def computed(
    t: Tree, names: dict[str, Any], constant: Callable[[int], Any], functions: dict[str, Callable[[Any, Any], Any]]
) -> Any:
    """Return the tree in the expressions of a peer."""
    if isinstance(t, int):
        return constant(t)
    if isinstance(t, str):
        return names[t]
    a, b = (computed(x, names, constant, functions) for x in t[1:])
    return functions[t[0]](a, b)


def sympy_side() -> Callable[[Tree, Tree], Answer]:
    import sympy

    names = {name: sympy.Symbol(name, integer=True, positive=True) for name in NAMES}
    functions = {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "//": lambda a, b: sympy.floor(a / b),
        "%": lambda a, b: a - b * sympy.floor(a / b),
        "cd": lambda a, b: sympy.ceiling(a / b),
        "max": sympy.Max,
        "min": sympy.Min,
    }

    def answer(t: Tree, u: Tree) -> Answer:
        a, b = (computed(x, names, sympy.Integer, functions) for x in (t, u))
        return sympy.simplify(a - b).is_zero

    return answer


def jax_side() -> Callable[[Tree, Tree], Answer]:
    import jax
    from jax import export
    from jax._src.export.shape_poly import BoundsPrecision
    from jax._src.export.shape_poly_decision import bounds_decision

    functions = {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "//": lambda a, b: a // b,
        "%": lambda a, b: a % b,
        "cd": lambda a, b: -(-a // b),
        "max": jax.core.max_dim,
        "min": jax.core.min_dim,
    }

    def answer(t: Tree, u: Tree) -> Answer:
        names = dict(zip(NAMES, export.symbolic_shape(",".join(NAMES)), strict=True))
        d = computed(t, names, int, functions) - computed(u, names, int, functions)
        if isinstance(d, int):
            return d == 0
        low, high = bounds_decision(d, BoundsPrecision.BEST)
        return True if low == high == 0 else False if low > 0 or high < 0 else None

    return answer


SIDES: dict[str, Callable[[], Callable[[Tree, Tree], Answer]]] = {"ours": lambda: ours, "sympy": sympy_side, "jax": jax_side}


def measured(answer: Callable[[Tree, Tree], Answer], asked: Sequence[tuple[Tree, Tree]]) -> tuple[list[float], int]:
    """Return the processor time of each question in microseconds, and how many are decided."""
    times: list[float] = []
    decided = 0
    for t, u in asked:
        start = process_time()
        try:
            decided += answer(t, u) is not None
        except (ZeroDivisionError, OverflowError):
            pass  # a divisor that may be 0, which a side refuses: undecided
        times.append((process_time() - start) * 1e6)
    return times, decided


def layer_times(rounds: int = 200) -> list[float]:
    """Return the time of each question of a layer with cold caches of facts, in microseconds."""
    times: list[float] = []
    for _ in range(rounds):
        known = Facts()
        for a, b in LAYER:
            start = process_time()
            known.eq(parse_extent(a), parse_extent(b))
            times.append((process_time() - start) * 1e6)
    return times


def row(name: str, times: Sequence[float], decided: str) -> str:
    cuts = quantiles(times, n=100, method="inclusive")
    return f"| {name} | {cuts[49]:,.0f} | {cuts[98]:,.0f} | {mean(times):,.0f} | {max(times):,.0f} | {decided} |"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args(arguments)
    asked = pairs(options.count)
    lines = [
        "# Questions about symbolic sizes",
        "",
        f"Microseconds of processor time per question. {processor()}; {versions(('sympy', 'jax'))}.",
        f"Equality of {options.count} random pairs, both expressions built anew; decided means answered with yes or no.",
        "",
        "| side | p50 | p99 | mean | most | decided |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, make in SIDES.items():
        try:
            side = make()
        except ImportError:
            continue
        times, decided = measured(side, asked)
        lines.append(row(name, times, f"{decided} of {len(asked)}"))
    lines.append(row("ours, questions of a layer", layer_times(), ""))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "extents.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
