"""PTIR's serialised forms through the tools: by suffix, by -f and -t, errors at their place, and run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mind_tools.frontends import BINARY_READERS, READERS, SUFFIXES
from mind_tools.mind_run import Run, parse_arguments
from tool_runs import mind_opt, mind_run

PROGRAM = """\
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @main(%0: tensor<2x2xf32>) -> tensor<2xf32> {
    %1 = ptir.exp %0 : tensor<2x2xf32>
    %2 = ptir.reduce %1 kind = sum axes = [1] keepdims = false : tensor<2x2xf32> -> tensor<2xf32>
    func.return %2 : tensor<2xf32>
  }
}
"""
FORMS = {"ptir-json": "ptir.json", "ptir-text": "ptir", "ptir-snippet": "ptir"}


@pytest.mark.parametrize("form", FORMS)
def test_there_and_back(form: str, tmp_path: Path) -> None:
    written = mind_opt("-t", form, stdin=PROGRAM)
    assert (written.status, written.err) == (0, "")
    file = tmp_path / f"p.{FORMS[form]}"
    file.write_text(written.out)
    for arguments, stdin in (((file,), ""), (("-f", "ptir-text" if form == "ptir-snippet" else form), written.out)):
        again = mind_opt(*arguments, stdin=stdin)
        assert (again.status, again.err) == (0, "")
        assert again.out.rstrip() == PROGRAM.rstrip()
    assert mind_opt("-t", f"mind-{form}", stdin=PROGRAM).out == written.out


@pytest.mark.parametrize("form", FORMS)
def test_mind_run_reads_them(form: str, tmp_path: Path) -> None:
    file = tmp_path / f"p.{FORMS[form]}"
    file.write_text(mind_opt("-t", form, stdin=PROGRAM).out)
    for more in ((), ("-f", "ptir-json" if form == "ptir-json" else "ptir-text")):
        assert str(Run(parse_arguments([str(file), *more])).read()) == PROGRAM.rstrip()


def test_an_error_has_its_path_and_its_place(tmp_path: Path) -> None:
    node = json.loads(mind_opt("-t", "ptir-json", stdin=PROGRAM).out)
    node["functions"][0]["body"][1]["op"]["Reduce"]["axes"] = 7
    file = tmp_path / "p.json"
    file.write_text(json.dumps(node, indent=1))
    line = next(i for i, text in enumerate(file.read_text().splitlines(), 1) if '"axes": 7' in text)
    for tool in (mind_opt, mind_run):
        result = tool(file)
        assert result.status == 1
        assert "error[E4000]: functions[0].body[1].op.Reduce.axes: expected a list, found 7" in result.err
        assert f"--> {file}:{line}:" in result.err
        assert f"{line} |" in result.err
        assert "^" in result.err


def test_versions() -> None:
    text = mind_opt("-t", "ptir-json", stdin=PROGRAM).out.replace('  "spec_version": "ptir.v0.4",\n', "")
    for tool in (mind_opt, mind_run):
        refused = tool("-f", "ptir-json", stdin=text)
        assert "error[E8006]: spec_version is nothing" in refused.err
        assert "E8006" not in tool("-f", "ptir-json", "--lenient", stdin=text).err
    assert mind_opt("-f", "ptir-json", "--lenient", stdin=text).status == 0


def test_strict_targets() -> None:
    text = PROGRAM.replace("ptir.exp", "ptir.sqrt")
    for form in ("ptir-json", "ptir-text"):
        assert mind_opt("-t", form, stdin=text).status == 0
        refused = mind_opt("-t", f"{form}{{strict=true}}", stdin=text)
        assert "error[E4000]: sqrt is an extension" in refused.err


def test_every_suffix_has_a_reader() -> None:
    assert set(SUFFIXES.values()) == {*READERS, *BINARY_READERS}
    result = mind_opt("-f", "ptir-json", stdin="[]")
    assert "error[E4000]: expected an object" in result.err
