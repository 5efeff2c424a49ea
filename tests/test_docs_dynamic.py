"""docs/dynamic.md says what the engine does: its programs run, its tables hold, its limits are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_dialect.extents import Facts, expr, extent_text, parse_extent, proofs, text
from mind_runtime import compile
from mind_tools.frontends import parse

PAGE = (Path(__file__).parents[1] / "docs" / "dynamic.md").read_text(encoding="utf-8")
SIGNS = ("==", "!=", ">=", "<=")


def table(first: str) -> list[list[str]]:
    """The rows of the table whose first column has that heading."""
    (rows,) = re.findall(rf"^\| {first} \|.*\n\| ---.*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows.splitlines()]


def sides(claim: str) -> tuple[str, str, str]:
    """The sign of a claim in backticks, and the text on either side."""
    (sign,) = (s for s in SIGNS if s in claim)
    left, right = claim.strip("`").split(sign)
    return sign, left, right


def test_the_programs_of_the_page_run() -> None:
    programs = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    names: dict[str, object] = {}
    for program in programs:
        exec(program, names)
    assert len(programs) == 4


@pytest.mark.parametrize("row", table("read"))
def test_texts_are_canonical_as_the_page_says(row: list[str]) -> None:
    read, canonical = (cell.strip("`") for cell in row)
    assert extent_text(parse_extent(read)) == canonical


@pytest.mark.parametrize("row", table("text"))
def test_texts_of_the_page_are_read(row: list[str]) -> None:
    for spelling in re.findall(r"`(.*?)`", row[0]):
        assert parse_extent(extent_text(parse_extent(spelling))) == parse_extent(spelling)


@pytest.mark.parametrize("row", table("question"), ids=lambda row: row[0])
def test_questions_are_answered_as_the_page_says(row: list[str]) -> None:
    claim, assumed, answer = row
    known = Facts()
    for fact in re.findall(r"`(.*?)`", assumed):
        sign, left, right = sides(fact)
        a, b = parse_extent(left), parse_extent(right)
        {"==": known.assume_eq, "!=": known.assume_ne, ">=": known.assume_ge, "<=": lambda x, y: known.assume_ge(y, x)}[sign](
            a, b
        )
    sign, left, right = sides(claim)
    a, b = parse_extent(left), parse_extent(right)
    found = {"==": known.eq, "!=": known.ne, ">=": known.ge, "<=": lambda x, y: known.ge(y, x)}[sign](a, b)
    assert str(found) == answer.partition(":")[0]


def test_limits_of_the_page_are_those_of_the_code() -> None:
    (limits,) = re.findall(r"^## Limits\n(.*)", PAGE, re.DOTALL | re.MULTILINE)
    limits = " ".join(limits.split())
    assert f"at most {expr.MAX_TERMS} terms, {expr.MAX_DEGREE} factors in a term" in limits
    assert f"nested {expr.MAX_DEPTH} deep, {expr.MAX_OPERANDS} operands of a maximum" in limits
    assert f"coefficients below 2^{expr.MAX_COEFFICIENT.bit_length() - 1}" in limits
    assert f"{text.MAX_TEXT:,} characters and parentheses nested {text.MAX_NESTING} deep" in limits
    assert f"at most {proofs.STEPS} steps, {proofs.DEPTH} deep" in limits


def test_the_parts_of_the_page_are_taken_and_refused_as_it_says() -> None:
    (program,) = re.findall(r"^```mlir\n(func\.func @parts.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    module = parse(f'builtin.module attributes {{ptir.spec_version = "ptir.v0.4"}} {{\n{program}}}')
    run, x, y = compile(module), np.arange(20, dtype=np.float32).reshape(5, 4), np.arange(5, dtype=np.float32)
    found = run(x, y, y[:2], y[:3])
    for part, expected in zip(found, (x[:, :2], x[3:], y[2:], x[1::2]), strict=True):
        np.testing.assert_array_equal(part, expected)
    with pytest.raises(MindError) as e:
        run(x[:1], y, y[:2], y[:3])
    assert " ".join(PAGE.split()).count(f"`{e.value}`") == 1


def test_the_mean_of_the_page_counts_the_rows() -> None:
    (program,) = re.findall(r"^```mlir\n(func\.func @mean.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    run = compile(parse(f'builtin.module attributes {{ptir.spec_version = "ptir.v0.4"}} {{\n{program}}}'))
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(run(x), x.mean(axis=0))
