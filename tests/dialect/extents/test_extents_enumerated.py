"""Random expressions under random facts against enumeration: no answer is wrong on any point, and many are given."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from extent_trees import Points, Tree, build, equal_tree, facts, points, tree, value, value_of_form
from mind_dialect.extents import TooLarge

POINTS = points()
CASES = 500


def pair(r: random.Random) -> tuple[str, Tree, Tree]:
    """Half of the pairs are equal by an identity, a fifth differ by a constant: unrelated ones prove little."""
    t, mode = tree(r, r.choice([2, 3])), r.random()
    same = equal_tree(r, equal_tree(r, t)) if r.random() < 0.5 else equal_tree(r, t)
    if mode < 0.5:
        return "equal", t, same
    return ("unrelated", t, tree(r, r.choice([2, 3]))) if mode < 0.8 else ("shifted", t, ("+", same, r.choice([1, 2, 3, -1])))


def truth(holds: Points) -> bool | None:
    return True if holds.all() else None if holds.any() else False


def check(r: random.Random, counts: Counter[str]) -> None:
    if (found := facts(r, POINTS)) is None or not found[1].any():
        counts["facts without points"] += 1
        return
    known, holds = found
    env = {n: v[holds] for n, v in POINTS.items()}
    kind, t, u = pair(r)
    counts[kind] += 1
    try:
        a, b = build(t), build(u)
    except TooLarge:
        counts["too large"] += 1
        return
    np.testing.assert_array_equal(value_of_form(a, POINTS), value(t, POINTS), err_msg=f"{a} from {t}")
    x, y = value(t, env), value(u, env)
    for question, answer, expected in (("eq", known.eq(a, b), truth(x == y)), ("ge", known.ge(a, b), truth(x >= y))):
        assert answer in (None, expected), (question, answer, t, u)
        counts[f"{kind} decided"] += question == "eq" and answer is not None


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(40))
def test_no_answer_is_wrong_on_any_point(seed: int) -> None:
    r, counts = random.Random(seed), Counter[str]()
    while counts["equal"] + counts["unrelated"] + counts["shifted"] < CASES:
        check(r, counts)
    assert counts["equal decided"] > 0.85 * counts["equal"], counts
    assert counts["shifted decided"] > 0.8 * counts["shifted"], counts
    assert counts["too large"] < 0.03 * CASES, counts
