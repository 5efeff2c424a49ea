"""Random expressions of extents as trees, evaluated by NumPy on many points, and built by the engine."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mind_dialect.extents import Contradiction, Extent, Facts, TooLarge, ceildiv, extent, floordiv, max_of, min_of, mod, symbol

Tree = int | str | tuple[str, "Tree", "Tree"]
Ints = NDArray[np.int64]
Points = NDArray[np.bool_]
NAMES = "ABC"
UNDEFINED = -7
"""What the oracle takes for a quotient by 0: no rule may rely on the value, so a strange one is chosen."""
OPERATORS = ("+", "+", "-", "*", "scale", "//", "//", "%", "cd", "max", "min", "by")


def points() -> dict[str, Ints]:
    """All points below 10 in each name, random ones up to 100, and multiples of 8, so that facts keep some."""
    rng = np.random.default_rng(0)
    small = np.stack(np.meshgrid(*[np.arange(10)] * 3, indexing="ij")).reshape(3, -1)
    eights = np.stack(np.meshgrid(*[np.arange(0, 65, 8)] * 3, indexing="ij")).reshape(3, -1)
    found = np.concatenate([small, rng.integers(0, 70, (3, 700)), rng.integers(0, 100, (3, 300)), eights], axis=1)
    return dict(zip(NAMES, found.astype(np.int64), strict=True))


def tree(r: random.Random, depth: int) -> Tree:
    """A random tree; names are frequent, small constants less so. Divisors are constants, names and expressions."""
    if depth == 0 or r.random() < 0.18:
        return r.choice(NAMES) if r.random() < 0.75 else r.choice([0, 1, 1, 2, 2, 3, 4, 5, 7, 8, 16, -1, -2])
    op = r.choice(OPERATORS)
    a = tree(r, depth - 1)
    if op == "scale":
        return "*", a, r.choice([2, 3, 4, 8, -1])
    if op in ("//", "%", "cd"):
        return op, a, r.choice([1, 2, 2, 3, 4, 8, 8, 16, -3])
    if op == "by":
        return (
            "//",
            a,
            r.choice([r.choice(NAMES), ("*", "A", "B"), ("+", r.choice(NAMES), 1), ("+", ("max", tree(r, depth - 1), 0), 1)]),
        )
    return op, a, tree(r, depth - 1)


def build(t: Tree) -> Extent:
    """The tree in the engine's normal form."""
    if isinstance(t, int):
        return extent(t)
    if isinstance(t, str):
        return symbol(t)
    op, a, b = t[0], build(t[1]), build(t[2])
    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "//":
            return floordiv(a, b)
        case "%":
            return mod(a, b)
        case "cd":
            return ceildiv(a, b)
        case "max":
            return max_of(a, b)
        case _:
            return min_of(a, b)


def quotient(a: Ints, b: Ints) -> Ints:
    with np.errstate(divide="ignore"):
        return np.where(b == 0, UNDEFINED, a // np.where(b == 0, 1, b))


def value(t: Tree, env: dict[str, Ints]) -> Ints:
    """The tree on all points."""
    if isinstance(t, int):
        return np.full_like(env["A"], t)
    if isinstance(t, str):
        return env[t]
    op, a, b = t[0], value(t[1], env), value(t[2], env)
    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "//":
            return quotient(a, b)
        case "%":
            return a - b * quotient(a, b)
        case "cd":
            return -quotient(-a, b)
        case "max":
            return np.maximum(a, b)
        case _:
            return np.minimum(a, b)


def value_of_form(e: Extent, env: dict[str, Ints]) -> Ints:
    """A normal form on all points."""
    total = np.zeros_like(env["A"])
    for monomial, coefficient in e.terms.items():
        product = np.full_like(total, coefficient)
        for a in monomial:
            args = [value_of_form(x, env) for x in a.args]
            product = product * (
                env[a.text] if a.kind == "name" else quotient(*args) if a.kind == "div" else np.max(args, axis=0)
            )
        total = total + product
    return total


def equal_tree(r: random.Random, t: Tree) -> Tree:
    """Another tree with the same value, by one identity at a random place."""
    if isinstance(t, int | str) or r.random() < 0.35:
        d, n = r.choice([2, 3, 4, 8]), r.choice(NAMES)
        return r.choice(
            [
                ("+", ("*", ("//", t, d), d), ("%", t, d)),
                ("//", ("*", t, d), d),
                ("max", t, ("min", t, n)),
                ("-", ("+", t, n), n),
                ("-", ("+", ("max", t, n), ("min", t, n)), n),
                ("+", ("//", t, 2), ("cd", t, 2)),
            ]
        )
    op, a, b = t
    side = r.random()
    if side < 0.3 or (side < 0.6 and op in ("//", "%", "cd")):
        return op, equal_tree(r, a), b
    if side < 0.6:
        return op, a, equal_tree(r, b)
    if op in ("+", "*", "max", "min"):
        return op, b, a
    if op == "-":
        return "+", a, ("*", b, -1)
    if op == "//" and isinstance(b, int) and b > 1:
        return "-", ("cd", a, b), ("min", ("%", a, b), 1)
    if op == "cd" and isinstance(b, int) and b > 0:
        return "//", ("+", a, b - 1), b
    return ("-", a, ("*", b, ("//", a, b))) if op == "%" else t


def facts(r: random.Random, env: dict[str, Ints]) -> tuple[Facts, Points] | None:
    """
    Up to three random facts, and the points on which they hold.

    None where the engine finds them contradictory: AssertionError if a point says that they are not.
    """
    found, holds = Facts(), np.ones_like(env["A"], bool)
    for _ in range(r.choice([0, 0, 1, 2, 3])):
        assume, where = _fact(r, env)
        holds &= where
        try:
            assume(found)
        except TooLarge:
            return None
        except Contradiction as refused:
            if holds.any():
                raise AssertionError("facts that hold at a point are refused") from refused
            return None
    return found, holds


def _fact(r: random.Random, env: dict[str, Ints]) -> tuple[Callable[[Facts], None], Points]:
    n, m, c = r.choice(NAMES), r.choice(NAMES), r.choice([0, 1, 3])
    d, t, u = r.choice([2, 3, 4, 8]), tree(r, 2), tree(r, 1)
    match r.randrange(9):
        case 0:
            lo, hi = r.choice([0, 1, 2]), r.choice([3, 8, 64, None])
            return lambda f: f.assume_range(n, lo, hi), (env[n] >= lo) & (env[n] <= (1000 if hi is None else hi))
        case 1:
            k = r.choice([0, 0, 1])
            return lambda f: f.assume_remainder(symbol(n), d, k), env[n] % d == k
        case 2:
            return lambda f: f.assume_eq(symbol(n), symbol(m)), env[n] == env[m]
        case 3:
            return lambda f: f.assume_ge(symbol(n), symbol(m) + c), env[n] >= env[m] + c
        case 4:
            return lambda f: f.assume_ne(symbol(n), c), env[n] != c
        case 5:
            return lambda f: f.assume_ge(build(t), build(u)), value(t, env) >= value(u, env)
        case 6:
            return lambda f: f.assume_remainder(build(u), d), value(u, env) % d == 0
        case 7:
            return lambda f: f.assume_ne(build(u), symbol(n)), value(u, env) != env[n]
        case _:
            return lambda f: f.assume_eq(build(t), build(u)), value(t, env) == value(u, env)
