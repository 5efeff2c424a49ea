"""Expressions that grow with a name: no answer is wrong on any point, and sizes that programs have are known to grow."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from extent_trees import NAMES, build, points, tree, value_of_form
from mind_dialect.extents import Facts, TooLarge, parse_extent
from mind_dialect.extents.monotone import is_nondecreasing

POINTS = {name: values + 1 for name, values in points().items()}


def at_least_one() -> Facts:
    facts = Facts()
    for name in NAMES:
        facts.assume_range(name, 1)
    return facts


@pytest.mark.parametrize("seed", range(4))
def test_what_is_said_to_grow_falls_on_no_point(seed: int) -> None:
    r, counts, facts = random.Random(seed), Counter[str](), at_least_one()
    while counts["all"] < 500:
        try:
            e = build(tree(r, r.choice([2, 3])))
        except TooLarge:
            continue
        for name in sorted(e.names):
            before, after = value_of_form(e, POINTS), value_of_form(e, {**POINTS, name: POINTS[name] + 1})
            grows = bool(np.all(after >= before))
            counts["all"] += 1
            counts["grows"] += grows
            if is_nondecreasing(e, name, facts):
                counts["known"] += 1
                assert grows, (e, name)
    assert counts["known"] > 0.75 * counts["grows"], counts


@pytest.mark.parametrize(
    "text",
    [
        "T ceildiv 3",
        "(T-1) floordiv 2",
        "max(0,(T-1) floordiv 2)",
        "B*(T ceildiv 3)",
        "T-(T floordiv 3)",
        "min(T,B)",
        "T-max(T-3,0)",
    ],
)
def test_sizes_of_programs_grow(text: str) -> None:
    assert is_nondecreasing(parse_extent(text), "T", at_least_one())


@pytest.mark.parametrize("text", ["8-T", "T mod 8", "max(B-T,0)", "T-2*(T floordiv 2)", "-(T floordiv 3)", "(T-2)*(B-2)"])
def test_sizes_that_fall_somewhere_do_not(text: str) -> None:
    assert not is_nondecreasing(parse_extent(text), "T", at_least_one())
