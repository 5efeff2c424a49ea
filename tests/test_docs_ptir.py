"""docs/ptir.md says what the code does: its tables are the code's, its rules are broken by the files it names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ptir_tables
from closed_tables import expect_rows
from mind_dialect.errors import CATALOGUE
from mind_dialect.ptir import EXTENSION_OPS, PTIR_OPS
from mind_tools.flags import PASS_ALIASES
from mind_tools.universe import PASSES
from tool_runs import mind_opt

ROOT = Path(__file__).parents[1]
PTIR = ptir_tables.PAGE.read_text(encoding="utf-8")
FOLDER = ROOT / "tests" / "filecheck" / "dialects" / "ptir"
BROKEN = re.compile(r"`(?P<file>tests/filecheck/dialects/ptir/[\w-]+-invalid\.mlir)::(?P<name>\w+)`")
AT_RUN_TIME = {("GatherIndexOutOfBounds", "E6001"), ("ScatterIndexOutOfBounds", "E6001")}
"""Categories that only a run meets; tests/lowering/ptir/test_indexing.py has them."""


def cases(path: Path) -> dict[str, tuple[str, str]]:
    """Code and category by function of a file of refusals."""
    found: dict[str, tuple[str, str]] = {}
    for case in path.read_text(encoding="utf-8").split("// -----"):
        (name,) = re.findall(r"func\.func @(\w+)", case)
        (code,) = re.findall(r"CHECK: error\[(\w+)\]", case)
        (category,) = re.findall(r"CHECK: = note: (\w+)", case)
        found[name] = (code, category)
    return found


def section(title: str) -> list[list[str]]:
    """The table rows of one chapter of the page."""
    (text,) = re.findall(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", PTIR, re.DOTALL | re.MULTILINE)
    lines = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1:]]


@pytest.mark.quick
def test_the_tables_are_those_of_the_code():
    ops = (*PTIR_OPS, *EXTENSION_OPS)
    expect_rows("docs/ptir.md, by python tests/support/ptir_tables.py,", {op for op in ops if f"| `{op.name}` |" in PTIR}, ops)
    assert ptir_tables.filled(PTIR) == PTIR, "run: python tests/support/ptir_tables.py"


def test_a_stale_page_is_found():
    assert ptir_tables.filled(PTIR.replace("| `ptir.neg` |", "| `ptir.negative` |")) == PTIR
    with pytest.raises(ValueError, match="reasons"):
        ptir_tables.filled(PTIR.replace("<!-- reasons -->", ""))


def test_each_rule_is_broken_by_the_functions_it_names_with_the_codes_it_names():
    rules = section("What the contract says must hold")
    assert len(rules) >= 38
    for rule, codes, names in rules:
        found = [cases(ROOT / m["file"])[m["name"]][0] for m in BROKEN.finditer(names)]
        assert not BROKEN.sub("", names).strip(), rule
        assert set(found) == set(codes.split(", ")), rule


def test_categories_and_codes_of_the_page_are_those_that_files_of_refusals_check():
    checked = {(category, code) for path in FOLDER.glob("*-invalid.mlir") for code, category in cases(path).values()}
    errors = section("Errors")
    named = [(row[0], code) for row in errors for code in re.findall(r"E\d{4}", row[1])]
    own = {(entry.category, code) for code, entry in CATALOGUE.items()}
    theirs = {pair for pair in checked if pair not in own}
    assert theirs | AT_RUN_TIME == {pair for pair in named if pair not in own}
    assert len(named) == len(set(named))


@pytest.mark.quick
def test_every_pass_of_ptir_is_described_by_its_flag():
    described = {flag for row in section("Passes") for flag in re.findall(r"`--([\w-]+)`", row[0])}
    elsewhere = {"mind-canonicalize", *(name for name in PASSES if "shape" in name)}
    assert {PASS_ALIASES.get(flag, flag) for flag in described} == set(PASSES) - elsewhere


def test_strict_refuses_the_extensions():
    text = "%x = ptir.iota shape = [2] dtype = f32 axis = 0 : tensor<2xf32>\n%y = ptir.{} %x : tensor<2xf32>"
    assert mind_opt("--lenient", "--strict", stdin=text.format("neg")).status == 0
    assert mind_opt("--lenient", stdin=text.format("sqrt")).status == 0
    assert "error[E4000]: sqrt %y: sqrt is an extension" in mind_opt("--lenient", "--strict", stdin=text.format("sqrt")).err
