"""The documentation site: its pages are complete and lead somewhere, which is tested without mkdocs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import forked_tools
import reference_pages
import site_sources
from error_examples import EXAMPLES, ErrorExample
from error_tables import raised
from mind_dialect.error_cures import CURES
from mind_dialect.errors import CATALOGUE
from mind_tools.universe import PASSES, tool_dialects

ROOT = Path(__file__).parents[1]
NAV = re.findall(r"^ +- [^:\n]+: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
GENERATED = {
    *(f"reference/{dialect}.md" for dialect in reference_pages.DIALECTS),
    "reference/passes.md",
    "reference/error-codes.md",
}


def test_every_page_is_in_the_navigation_once() -> None:
    committed = {file.as_posix() for file in site_sources.committed() if file.suffix == ".md"}
    assert sorted(NAV) == sorted(committed | {f"docs/{name}" for name in GENERATED})


def test_pages_of_the_index_are_all_pages() -> None:
    """Each page of `docs/` has a link in the overview, by which a reader of the checkout finds it."""
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\(([\w-]+\.md)", index))
    assert linked == {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"}


def test_the_stage_holds_each_page_and_each_file_that_a_page_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_pages, "pages", lambda: dict.fromkeys(GENERATED, "# generated\n"))
    site_sources.stage(tmp_path / "src")
    staged = {file.relative_to(tmp_path / "src").as_posix() for file in (tmp_path / "src").rglob("*") if file.is_file()}
    assert set(NAV) <= staged
    assert {"LICENSE", "examples/foreign_flow.py", "benchmarks/results/core_ir.png"} <= staged
    for page in (tmp_path / "src").rglob("*.md"):
        for target in site_sources.TARGET.findall(site_sources.FENCE.sub("", page.read_text(encoding="utf-8"))):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_name_of_a_file_is_the_title_of_its_block() -> None:
    text = "```mlir chain.mlir\nfunc.func @f()\n```\n\n```python\nx = 1\n```\n"
    assert site_sources.titled(text) == text.replace("mlir chain.mlir", 'mlir title="chain.mlir"')


def test_every_code_has_a_cure() -> None:
    assert list(CURES) == list(CATALOGUE)
    assert all(cure.endswith(".") for cure in CURES.values())


@pytest.mark.parametrize("dialect", reference_pages.DIALECTS)
def test_a_page_has_every_op_with_its_operands_properties_and_results(dialect: str) -> None:
    page = reference_pages.ops_page(dialect)
    sections = dict(re.findall(r"^## `([\w.]+)`\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE))
    ops = list(tool_dialects()[dialect]().operations)
    assert list(sections) == [op.name for op in ops]
    for op in ops:
        definition = op.get_irdl_definition()
        named = [name for name, _ in (*definition.operands, *definition.properties.items(), *definition.results)]
        assert [name for name in named if f"| `{name}` |" not in sections[op.name]] == []
        assert sections[op.name].strip()[0] not in "|#"


def test_the_page_of_codes_has_an_example_for_each_message_that_a_filecheck_test_shows() -> None:
    page = reference_pages.errors_page()
    assert re.findall(r"^## (E\d{4})$", page, re.MULTILINE) == list(CATALOGUE)
    assert "error[E3001]: " in page
    assert len(reference_pages.refusals()) >= 60


def test_every_code_that_anything_raises_has_one_example() -> None:
    shown = reference_pages.refusals().keys() | EXAMPLES.keys()
    assert sorted(raised() & CATALOGUE.keys()) == sorted(shown)
    assert not reference_pages.refusals().keys() & EXAMPLES.keys()


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_of_an_error_raises_it(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example = EXAMPLES[code]
    if example.needs:
        pytest.importorskip(example.needs, reason=f"{example.needs} is not installed")
    if example.file is not None:
        (tmp_path / example.file[0]).write_text(example.file[1], encoding="utf-8")
    head = f"error[{code}]: " if example.shell else f"{code}: "
    found = _output(example, tmp_path)
    assert any(head in line and example.message in line for line in found.splitlines()), found


def _output(example: ErrorExample, folder: Path) -> str:
    """What the commands print, or the Python before it ends in an error."""
    command = ["bash", "-c", example.shell] if example.shell else [sys.executable, "-c", example.python]
    environment = os.environ | {"PATH": forked_tools.path()}
    found = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert found.returncode == 1
    return found.stderr


def test_programs_of_a_test_are_its_functions_with_the_module_around_them() -> None:
    text = "// RUN: x\nbuiltin.module attributes {a} {\n// why\nfunc.func @f() {\n  test.op {\n  }\n}\n\nfunc.func @g() {\n}\n}\n"
    f, g = "func.func @f() {\n  test.op {\n  }\n}", "func.func @g() {\n}"
    head = "builtin.module attributes {a} {"
    assert list(reference_pages.programs(text))[1:] == [f"{head}\n{body}\n}}" for body in (f, g, f"{f}\n{g}")]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", PASSES)
def test_a_pass_has_an_example_that_it_changes(name: str) -> None:
    before, after = reference_pages.pass_example(name)
    assert before != after
    assert f"## `{name}`" in reference_pages.pass_section(name)


def test_the_figure_of_the_stack_is_described_and_readable_without_colour() -> None:
    figure = ElementTree.parse(ROOT / "docs" / "stack.svg").getroot()
    name = "{http://www.w3.org/2000/svg}"
    described = {child.get("id") for child in figure if child.tag in (f"{name}title", f"{name}desc") and child.text}
    assert figure.get("role") == "img"
    assert set((figure.get("aria-labelledby") or "").split()) == described
    colours = {shape.get(key) for shape in figure.iter() for key in ("fill", "stroke")} - {None, "none"}
    assert all(colour[1:3] == colour[3:5] == colour[5:7] for colour in colours if colour)  # greys
    written = {text.text for text in figure.iter(f"{name}text")}
    assert set(reference_pages.DIALECTS) <= written
    x, y, width, height = map(float, (figure.get("viewBox") or "").split())
    for box in figure.iter(f"{name}rect"):
        left, top = float(box.get("x", 0)), float(box.get("y", 0))
        assert x <= left <= left + float(box.get("width", 0)) <= x + width
        assert y <= top <= top + float(box.get("height", 0)) <= y + height


def test_the_first_program_of_the_readme_has_ten_lines_and_trains() -> None:
    """`test_documents.py` runs it and compares what it prints."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    program, printed = re.findall(r"```python\n(.*?)```\n+```text\n(.*?)```", readme, re.DOTALL)[0]
    assert len([line for line in program.splitlines() if line]) == 10
    assert "ma.grad(" in program
    assert float(re.findall(r"loss (\S+),", printed)[0]) < 1e-5
