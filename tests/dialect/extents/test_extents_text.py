"""Text of extents: what is read, what is printed, and what is refused with the column."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from extent_trees import build, tree
from mind_dialect.extents import Extent, ExtentSyntaxError, Facts, TooLarge, extent_text, parse_extent

ROOT = Path(__file__).parents[3]
CANONICAL = [
    ("T + P", "P+T"),
    ("B*2", "2*B"),
    ("T*B - 3", "B*T-3"),
    ("3-T", "-T+3"),
    ("8", "8"),
    ("B-B", "0"),
    ("floordiv(T, 8)", "T floordiv 8"),
    ("(T+7) floordiv 8", "T ceildiv 8"),
    ("T - T floordiv 2", "T ceildiv 2"),
    ("T - 8*floordiv(T, 8)", "T mod 8"),
    ("B + max(T-B, 0)", "max(B,T)"),
    ("T - max(T-B, 0)", "min(B,T)"),
    ("2*max(T, B)", "2*max(B,T)"),
    ("P + max(T, B)", "P+max(B,T)"),
    ("B*(T floordiv 8)", "B*(T floordiv 8)"),
    ("B*T floordiv 8", "B*T floordiv 8"),
    ("(P+T) floordiv B", "(P+T) floordiv B"),
    ("T floordiv (P*B)", "T floordiv (B*P)"),
    ("(T floordiv P)*B", "B*(T floordiv P)"),
    ("max + min*mod + floordiv", "min*mod+floordiv+max"),
    ("max(max, min)", "max(max,min)"),
    ("min(T, 4)", "min(4,T)"),
]


@pytest.mark.parametrize(("text", "canonical"), CANONICAL)
def test_canonical_text(text: str, canonical: str) -> None:
    assert extent_text(parse_extent(text)) == canonical
    assert extent_text(parse_extent(canonical)) == canonical


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(20))
def test_what_is_printed_reads_as_the_same_form(seed: int) -> None:
    r, read = random.Random(seed), 0
    for _ in range(60):
        try:
            e = build(tree(r, r.choice([1, 2, 2, 3])))
        except TooLarge:
            continue
        text = extent_text(e)
        assert parse_extent(text) == e, text
        read += 1
    assert read > 40


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("", 0),
        ("T +", 3),
        ("+T", 0),
        ("(T", 2),
        ("T)", 1),
        ("T T", 2),
        ("T ? 2", 2),
        ("2T", 1),
        ("max(T", 5),
        ("max()", 4),
        ("floordiv(T)", 11),
        ("T floordiv 0", 12),
        ("T mod (B-B)", 11),
        ("T * mod 8", 8),
        ("T,B", 1),
        ("1.5", 1),
    ],
)
def test_no_expression(text: str, column: int) -> None:
    with pytest.raises(ExtentSyntaxError) as refused:
        parse_extent(text)
    assert refused.value.column == column
    assert f"at column {column}" in str(refused.value)


@pytest.mark.parametrize(
    "text",
    ["9" * 5000, "9" * 19, "(" * 41 + "T" + ")" * 41, "*".join(["T"] * 9), "+".join(f"N{i}" for i in range(49)), "T" * 2001],
)
def test_a_text_beyond_the_limits(text: str) -> None:
    with pytest.raises(TooLarge):
        parse_extent(text)


@pytest.mark.parametrize(
    "e", ["max(A,B,C,D,E,F)", "((((((A floordiv B)+C) floordiv D+E) floordiv F+G) floordiv H)+1) floordiv I floordiv J"]
)
def test_operands_and_nesting_are_limited(e: str) -> None:
    with pytest.raises(TooLarge):
        parse_extent(e)


PROGRAM = """
import random, sys
from extent_trees import build, tree
from mind_dialect.extents import Facts, TooLarge, extent_text, parse_extent
r, texts = random.Random(5), []
for _ in range(60):
    try:
        texts.append(extent_text(build(tree(r, 3))))
    except TooLarge:
        pass
order = list(range(1, len(texts)))
if sys.argv[1] == "backwards":
    order.reverse()
known = Facts()
known.assume_range("A", 1, 64)
known.assume_ge(parse_extent("B"), parse_extent("C"))
pairs = {i: (parse_extent(texts[i]), parse_extent(texts[i - 1])) for i in order}
answers = {i: (known.eq(*pair), known.ge(*pair)) for i, pair in pairs.items()}
print(texts, sorted(answers.items()))
"""


def test_text_and_answers_do_not_depend_on_the_process_or_the_order_of_questions() -> None:
    path = os.pathsep.join(map(str, (ROOT, ROOT / "tests" / "support")))
    printed = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM, way],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed, way in (("0", "forwards"), ("1", "backwards"), ("2", "forwards"))
    }
    assert len(printed) == 1
    assert len(printed.pop()) > 1000


def test_a_form_under_facts_never_shows_in_text() -> None:
    known, t = Facts(), parse_extent("T")
    known.assume_remainder(t, 8)
    assert isinstance(known.norm(t), Extent)
    assert known.norm(t) != t
    assert extent_text(t) == "T"
