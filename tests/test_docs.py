"""The pages of record say what is so: tests, opcodes, codes and decisions they name exist, and none is left out."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

import error_tables
import result_tables
from mind_dialect import build
from mind_dialect.core import CORE_OPS, EXTENSION_OPS
from mind_dialect.errors import CATALOGUE
from mind_dialect.profiles import Profile
from mind_tools.flags import SPELLINGS
from verifier_rows import CONSTANTS
from verifier_rows_elementwise import ELEMENTWISE, REDUCTIONS
from verifier_rows_gradient import GRADIENT
from verifier_rows_products import CONTRACTION, CONVOLUTION
from verifier_rows_structural import INDEXING, STRUCTURAL

ROOT = Path(__file__).parents[1]
DECISIONS = (ROOT / "docs" / "implementation-defined.md").read_text(encoding="utf-8")
PTIR_DECISIONS = (ROOT / "docs" / "implementation-defined-ptir.md").read_text(encoding="utf-8")
PTIR = (ROOT / "docs" / "ptir.md").read_text(encoding="utf-8")
ERRORS = error_tables.PAGE.read_text(encoding="utf-8")
EXTENDING = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
TOOLS = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONFORMANCE = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
VERIFIER_ROWS = {
    row.name
    for table in (CONSTANTS, ELEMENTWISE, REDUCTIONS, STRUCTURAL, INDEXING, CONTRACTION, CONVOLUTION, GRADIENT)
    for row in table
}
REFERENCE = re.compile(r"`(?P<file>tests/[^`:]+)(?:::(?P<function>\w+)(?:\[(?P<row>[^`]+)\])?)?`")


def rows(page: str) -> list[list[str]]:
    """The cells of every table row, without headers and rulers."""
    found = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in page.splitlines() if line.startswith("| ")]
    return [row for row in found if row[0] not in ("#", "---", "code", "opcode", "rule")]


NUMBERED = [row for row in rows(DECISIONS) if row[0].isdigit()]
NUMBERED_PTIR = [row for row in rows(PTIR_DECISIONS) if row[0].isdigit()]


@cache
def functions(file: str) -> set[str]:
    """The test functions that a pytest file defines, or the functions of a FileCheck file."""
    if not file.endswith(".py"):
        return set(re.findall(r"func\.func @(\w+)", (ROOT / file).read_text(encoding="utf-8")))
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def missing(text: str) -> list[str]:
    """The tests named in `text` that do not exist."""
    found: list[str] = []
    for match in REFERENCE.finditer(text):
        file, function, row = match["file"], match["function"], match["row"]
        exists = (ROOT / file).is_file()
        if exists and (function is not None or file.endswith(".py")):
            exists = function in functions(file)
        if exists and row is not None:
            exists = file == "tests/dialect/test_verifier.py" and row in VERIFIER_ROWS
        if not exists:
            found.append(match[0])
    return found


@pytest.mark.quick
def test_every_test_named_exists():
    assert missing(DECISIONS + CONFORMANCE + PTIR_DECISIONS + PTIR) == []
    assert [named for named in missing(EXTENDING) if "::" in named] == []
    nowhere = [
        "`tests/test_docs.py::test_no_such`",
        "`tests/none.mlir`",
        "`tests/filecheck/dialects/ptir/dims.mlir::no_such`",
        "`tests/dialect/test_verifier.py::test_kept[no such row]`",
    ]
    assert missing(" ".join(nowhere)) == nowhere


@pytest.mark.parametrize(("numbered", "least"), [(NUMBERED, 47), (NUMBERED_PTIR, 74)], ids=["core", "ptir"])
def test_decisions_are_numbered_from_1_without_gaps(numbered: list[list[str]], least: int):
    assert [int(row[0]) for row in numbered] == list(range(1, len(numbered) + 1))
    assert len(numbered) >= least


@pytest.mark.parametrize("row", [*NUMBERED, *NUMBERED_PTIR], ids=lambda row: f"{row[0]} {row[1]}")
def test_a_decision_is_complete(row: list[str]):
    _, topic, behaviour, source, tests = row
    assert topic
    assert behaviour.endswith(".")
    assert source
    assert REFERENCE.search(tests), "names no test"
    assert not REFERENCE.sub("", tests).strip(), "names nothing but tests"


@pytest.mark.parametrize("numbered", [NUMBERED, NUMBERED_PTIR], ids=["core", "ptir"])
def test_topics_are_unique(numbered: list[list[str]]):
    assert len({row[1] for row in numbered}) == len(numbered)


@pytest.mark.quick
def test_every_code_of_ours_is_documented():
    """Codes from E8001 on belong to the tensor backend's contract and are documented with it, in ptir.md."""
    documented = [row[0] for row in rows(DECISIONS) if re.fullmatch(r"E\d{4}", row[0])]
    assert documented == [code for code, entry in CATALOGUE.items() if entry.ours and code < "E8"]


def test_codes_named_exist():
    for code in re.findall(r"E\d{4}", DECISIONS + CONFORMANCE + PTIR_DECISIONS + PTIR):
        assert code in CATALOGUE, code


@pytest.mark.quick
def test_every_code_is_on_the_page_of_errors():
    assert re.findall(r"^\| (E\d{4}) ", ERRORS, re.MULTILINE) == list(CATALOGUE)
    assert error_tables.filled(ERRORS) == ERRORS, "run: python tests/support/error_tables.py"
    assert error_tables.filled(ERRORS.replace("| E3001 ", "| E3999 ")) == ERRORS
    with pytest.raises(ValueError, match="E3"):
        error_tables.filled(ERRORS.replace("<!-- E3 -->", ""))


@pytest.mark.quick
def test_every_function_that_builds_is_on_the_page_of_python():
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"<!-- build -->(.*?)<!-- end -->", text, re.DOTALL)
    made = [n for n, v in vars(build).items() if inspect.isfunction(v) and v.__module__ == build.__name__ and n[0] != "_"]
    assert sorted(re.findall(r"`(\w{3,})`", shown)) == sorted(made)
    assert sorted(build.__all__) == sorted([*made, "Expression", "Operand"])


def test_the_op_of_the_page_on_extending_stands_where_it_says():
    (shown,) = re.findall(r"<!-- op -->(.*?)<!-- end -->", EXTENDING, re.DOTALL)
    files = [f for row in rows(shown) for f in re.findall(r"`((?:\w+/)+[\w.-]+)`", row[1])]
    assert len(files) >= 12
    for file in files:
        assert "log1p" in (ROOT / file).read_text(encoding="utf-8").lower(), file


def test_options_of_mlir_opt_are_those_that_the_tool_recognises():
    """Each spelling of theirs in the table is read, and as what the table says."""
    documented = set(re.findall(r"`(--(?:mlir|verify-each)[\w-]*(?:=false)?)", TOOLS))
    rows = [line for line in TOOLS.splitlines() if line.startswith(("| `--mlir-", "| `--verify-each"))]
    for row in rows:
        (theirs, *_), ours = (re.findall(r"`(--[\w-]+(?:=false)?)", cell) for cell in row.split(" | ")[:2])
        assert SPELLINGS[theirs.partition("=F")[0]] == (ours[0] if ours else theirs.replace("--mlir-", "--"))
        for ending in re.findall(r"`(-[a-z]+-?[a-z]+)[`=]", row.split(" | ")[0].partition(",")[2]):
            assert f"--mlir-print-ir{ending}" in SPELLINGS
    assert documented <= {*SPELLINGS, "--mlir-timing"}
    assert len(rows) == 6


@pytest.mark.quick
def test_the_index_has_every_page():
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert set(re.findall(r"\]\(([\w-]+\.md)\)", (ROOT / "docs" / "index.md").read_text(encoding="utf-8"))) == pages


def test_the_readme_says_how_fast_it_is_by_the_results():
    assert result_tables.filled(README) == README, "run: python tests/support/result_tables.py"


@pytest.mark.quick
def test_the_readme_has_every_extra_for_users():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (shown,) = re.findall(r"^\| extra \| for \|\n(.*?)\n\n", README, re.DOTALL | re.MULTILINE)
    listed = re.findall(r"^\| `(\w+)`", shown, re.MULTILINE)
    assert set(listed) == set(project["optional-dependencies"])


def test_the_extra_all_is_every_extra_for_users_that_needs_no_device():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    (named,) = extras["all"]
    users = set(extras)
    assert named == f"mind-dialect[{','.join(sorted(users - {'all', 'cupy', 'demo'}))}]"


def test_codes_raised_are_of_the_catalogue():
    assert error_tables.raised() <= set(CATALOGUE)


@pytest.mark.quick
def test_conformance_lists_every_opcode_in_the_order_of_the_code():
    listed = [(row[0], row[1]) for row in rows(CONFORMANCE) if row[1].startswith(("`mind.", "argument"))]
    assert listed[0][0] == "Input"
    assert listed[1:] == [(op.OPCODE, f"`{op.name}`") for op in (*CORE_OPS, *EXTENSION_OPS)]


def test_conformance_says_what_is_core_and_why_an_extension_exists():
    said = {row[0]: row[2] for row in rows(CONFORMANCE) if row[1].startswith("`mind.")}
    for op in CORE_OPS:
        assert said[op.OPCODE].startswith("no" if op.OPCODE == "Div" else "yes")
    for op in EXTENSION_OPS:
        assert said[op.OPCODE] == op.EXTENSION


@pytest.mark.quick
def test_conformance_names_every_profile():
    for profile in Profile:
        assert str(profile) in CONFORMANCE
