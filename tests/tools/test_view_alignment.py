"""Which lines the viewer takes for the same: by hand, and on random edits that are known."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr
from xdsl.ir import Operation

from mind_tools.viewer.alignment import CHANGED, RENUMBERED, REPLACED, SAME, Line, LineRun, aligned


def op_at(line: int) -> Operation:
    """An op from a line of a source."""
    op = test.TestOp()
    op.location = FileLineColLoc(StringAttr("f"), IntAttr(line), IntAttr(1))
    return op


def lines(*texts: str, first: int | None = None) -> list[Line]:
    """Lines of different ops, without locations or from consecutive lines of a source."""
    return [Line(text, test.TestOp() if first is None else op_at(first + i), 0) for i, text in enumerate(texts)]


def kinds(before: list[Line], after: list[Line]) -> list[tuple[int, int, int]]:
    return [tuple(run) for run in aligned(before, after)]


def test_a_value_under_its_new_number_is_no_change() -> None:
    before = lines("%0 = a", "%1 = b %0", "%2 = c %1, %0")
    after = lines("%0 = b %9", "%0 = a", "%1 = b %0", "%2 = c %1, %0")
    assert kinds(before, lines("%3 = a", "%4 = b %3", "%5 = c %4, %3")) == [(RENUMBERED, 3, 3)]
    assert kinds(before, after)[-1][0] == SAME


def test_another_value_under_any_number_is_a_change() -> None:
    before = lines("%0 = a", "%1 = b", "%2 = c %0, %1")
    assert kinds(before, lines("%3 = a", "%4 = b", "%5 = c %4, %3")) == [(RENUMBERED, 2, 2), (CHANGED, 1, 1)]
    assert kinds(before, lines("%3 = a", "%4 = b", "%5 = c %3, %3")) == [(RENUMBERED, 2, 2), (CHANGED, 1, 1)]


def test_another_value_under_the_same_number_is_a_change() -> None:
    first, second = test.TestOp(), test.TestOp()
    before = [Line("%0 = a", first, 0), Line("%1 = b", second, 0), *lines("%2 = c %0, %1")]
    after = [Line("%1 = a", first, 0), Line("%0 = b", second, 0), *lines("%2 = c %0, %1")]
    assert kinds(before, after) == [(RENUMBERED, 2, 2), (CHANGED, 1, 1)]


def test_a_value_that_is_gone_cannot_be_renumbered() -> None:
    before = lines("%0 = a", "%1 = old", "%2 = c %1")
    assert kinds(before, lines("%0 = a", "%4 = new", "%2 = c %4")) == [(SAME, 1, 1), (REPLACED, 1, 1), (CHANGED, 1, 1)]


def test_a_line_that_only_moves_into_a_region_is_no_change() -> None:
    assert kinds(lines("  %0 = a", "  %1 = b %0"), lines("    %0 = a", "    %2 = b %0")) == [(RENUMBERED, 2, 2)]


def test_names_in_strings_are_text() -> None:
    assert kinds(lines('a "%0"'), lines('a "%1"')) == [(REPLACED, 1, 1)]


def test_a_kept_op_is_matched_whatever_its_text() -> None:
    op = test.TestOp()
    assert kinds([Line("a x", op, 0)], [Line("b y", op, 0)]) == [(CHANGED, 1, 1)]


def test_arguments_of_a_block_are_definitions() -> None:
    before = lines("func.func @f(%x: i32) -> i32 {", "  %0 = a %x", "^bb0(%1: i32):", "  use %1", "}")
    after = lines("func.func @f(%y: i32) -> i32 {", "  %0 = a %y", "^bb0(%2: i32):", "  use %2", "}")
    assert kinds(before, after) == [(RENUMBERED, 4, 4), (SAME, 1, 1)]


def test_of_the_ops_that_one_became_the_last_is_matched() -> None:
    before = [Line("%0 = old.relu %x", op_at(1), 0), Line("%1 = old.exp %0", op_at(2), 0)]
    after = [Line(text, op_at(line), 0) for text, line in (("%0 = zero", 1), ("%1 = max %x, %0", 1), ("%2 = new.exp %1", 2))]
    assert kinds(before, after) == [(REPLACED, 0, 1), (CHANGED, 2, 2)]


def test_nothing_against_something() -> None:
    assert kinds([], lines("a", "b")) == [(REPLACED, 0, 2)]
    assert kinds(lines("a"), []) == [(REPLACED, 1, 0)]
    assert kinds([], []) == []


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("located", [False, True])
def test_random_edits_of_kept_ops_are_found_exactly(seed: int, located: bool) -> None:
    """Removals and insertions only: what is left in order is the same, and no line of another is."""
    rng = random.Random(seed)
    before = lines(*(f"op{rng.randrange(5)} {i}" for i in range(300)), first=1 if located else None)
    after: list[Line] = []
    for line in before:
        if rng.random() < 0.2:
            after.append(Line(f"new {rng.randrange(3)}", test.TestOp(), 0))
        if rng.random() < 0.8:
            after.append(line)
    runs = aligned(before, after)
    _covers(runs, before, after)
    assert sum(run.after for run in runs if run.kind == SAME) == len({line.op for line in after} & {line.op for line in before})


@pytest.mark.parametrize("seed", range(8))
def test_random_texts_are_covered(seed: int) -> None:
    """Few distinct lines, in any order: what counts as the same is equal."""
    rng = random.Random(seed)
    before, after = (lines(*(f"op {rng.randrange(6)}" for _ in range(rng.randrange(200)))) for _ in range(2))
    _covers(aligned(before, after), before, after)


def test_long_programs_without_anything_unique_end_soon() -> None:
    """They are not compared line by line: there are 36 million pairs."""
    before, after = lines(*["a", "b"] * 3000), lines(*["b", "a", "a"] * 2000)
    runs = aligned(before, after)
    _covers(runs, before, after)
    assert runs == [LineRun(REPLACED, 6000, 6000)]


def _covers(runs: list[LineRun], before: list[Line], after: list[Line]) -> None:
    assert (sum(r.before for r in runs), sum(r.after for r in runs)) == (len(before), len(after))
    assert all(a.kind != b.kind for a, b in pairwise(runs))
    i = k = 0
    for kind, removed, added in runs:
        if kind == SAME:
            assert [line.text for line in before[i : i + removed]] == [line.text for line in after[k : k + added]]
        if kind != REPLACED:
            assert removed == added
        i, k = i + removed, k + added
