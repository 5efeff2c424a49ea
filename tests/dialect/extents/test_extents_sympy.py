"""SymPy as an oracle: neither contradicts the other, and the engine decides at least as many equalities."""

from __future__ import annotations

import random
from typing import Any

import pytest

from extent_trees import Tree, build, equal_tree, tree
from mind_dialect.extents import Facts, TooLarge

sympy: Any = pytest.importorskip("sympy")
SYMBOLS = {name: sympy.Symbol(name, integer=True, positive=True) for name in "ABC"}
CASES = 40


def in_sympy(t: Tree) -> Any:
    if isinstance(t, int):
        return sympy.Integer(t)
    if isinstance(t, str):
        return SYMBOLS[t]
    op, a, b = t[0], in_sympy(t[1]), in_sympy(t[2])
    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "//":
            return sympy.floor(a / b)
        case "%":
            return a - b * sympy.floor(a / b)
        case "cd":
            return sympy.ceiling(a / b)
        case "max":
            return sympy.Max(a, b)
        case _:
            return sympy.Min(a, b)


def sizes_from_one() -> Facts:
    known = Facts()
    for name in SYMBOLS:
        known.assume_range(name, 1)
    return known


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(8))
def test_neither_contradicts_the_other(seed: int) -> None:
    r, known = random.Random(seed), sizes_from_one()
    ours = theirs = 0
    for _ in range(CASES):
        t = tree(r, 2)
        u = equal_tree(r, t) if r.random() < 0.6 else tree(r, 2)
        try:
            answer = known.eq(build(t), build(u))
        except TooLarge:
            continue
        difference = sympy.expand(in_sympy(t) - in_sympy(u))
        if (oracle := difference.is_zero) is not None:
            assert answer in (None, oracle), (t, u)
        ours, theirs = ours + (answer is not None), theirs + (oracle is not None)
    assert ours >= theirs > 0
