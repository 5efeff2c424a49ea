"""What MLIR's own parser accepts, and xDSL's alone does not: empty texts, stdin by name, byte order marks, chunks."""

from __future__ import annotations

from pathlib import Path

import pytest

from mind_tools.chunks import split
from mind_tools.frontends import load, parse
from tool_runs import mind_opt, mind_run

PROGRAM = """\
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = mind.neg %x : tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
"""
CORE_IR = "%0 = Input {name=x} : tensor<f32[2]>\n%1 = Neg (%0)\noutputs: %1\n"
EMPTY = {
    "nothing": "",
    "blanks": " \n\t\n",
    "a comment": "// nothing here",
    "aliases alone": "#a = 1\n!t = i32\n",
    "an alias at the end": '#loc = loc("f.mlir":1:2)',
}


@pytest.mark.parametrize("text", EMPTY.values(), ids=list(EMPTY))
def test_a_text_without_ops_is_an_empty_module(text: str) -> None:
    assert not parse(text).body.block.ops
    result = mind_opt(stdin=text)
    assert (result.status, result.err) == (0, "")
    assert result.out.split() == ["builtin.module", "{", "}"]


@pytest.mark.parametrize("text", [*EMPTY.values(), "]", "}", "func.func"])
def test_no_module_where_one_is_asked_for(text: str) -> None:
    result = mind_opt("--no-implicit-module", stdin=text)
    assert (result.status, result.out) == (1, "")
    assert "error[E1007]" in result.err


@pytest.mark.parametrize(
    ("text", "modules"), [("// -----\nP", 2), ("P// -----\n", 2), ("// -----", 2), ("P// -----\n// -----\nP", 3)]
)
def test_chunks_may_be_empty(text: str, modules: int) -> None:
    result = mind_opt("--split-input-file", stdin=text.replace("P", PROGRAM))
    assert (result.status, result.err) == (0, "")
    assert result.out.count("builtin.module") == modules
    assert result.out.count("func.func") == text.count("P")
    assert mind_opt("--split-input-file", stdin=result.out) == result


def test_a_mark_in_a_string_divides_nothing() -> None:
    text = 'module attributes {a.b = "x // ----- \\" // -----"} {}\n// -----\nmodule {}\n'
    assert [chunk.line_offset for chunk in split(text.encode())] == [0, 1]
    assert mind_opt("--split-input-file", stdin=text).out.count("builtin.module") == 2


def test_errors_behind_a_mark_count_lines_and_bytes_of_the_file() -> None:
    text = PROGRAM + "// -----\n" + PROGRAM.replace("mind.neg %x", "mind.neg %y")
    assert "--> stdin:7:17" in mind_opt("--split-input-file", stdin=text).err
    data = PROGRAM.encode() + b"// -----\n// -----\n\xff"
    assert f"at offset {len(data) - 1}: [0xFF]" in mind_opt("--split-input-file", stdin=data).err


def test_a_dash_is_stdin() -> None:
    assert mind_opt("-", stdin=PROGRAM) == mind_opt(stdin=PROGRAM)
    assert mind_opt("-", "--cse", stdin=PROGRAM).status == 0
    assert "--> stdin:1:1" in mind_opt("-", stdin="]").err
    assert mind_opt("-", "-f", "core-ir", stdin=CORE_IR).out.count("mind.neg") == 1


@pytest.mark.parametrize(("form", "text"), [("mlir", PROGRAM), ("core-ir", CORE_IR)])
def test_a_byte_order_mark_is_no_part_of_a_text(form: str, text: str, tmp_path: Path) -> None:
    marked = "\ufeff" + text
    path = tmp_path / {"mlir": "f.mlir", "core-ir": "f.coreir"}[form]
    path.write_text(marked, encoding="utf-8")
    expected = str(parse(text, form))
    assert str(parse(marked, form)) == str(load(path)) == expected
    assert mind_opt(path).out.strip() == expected
    assert mind_run(path, "x=[1, 2]").status == 0


def test_a_byte_order_mark_of_ptir_forms() -> None:
    for target, form in (("ptir-json", "ptir-json"), ("ptir-text", "ptir-text")):
        text = mind_opt("--convert-mind-to-ptir", "-t", target, stdin=PROGRAM).out
        assert str(parse("\ufeff" + text, form)) == str(parse(text, form))


def test_a_byte_order_mark_elsewhere_is_an_error() -> None:
    for text in (PROGRAM + "\ufeff", PROGRAM.replace("%0 =", "\ufeff%0 =")):
        result = mind_opt(stdin=text)
        assert result.status == 1
        assert "error[E1002]" in result.err
    assert "error[E1002]" in mind_opt("-f", "core-ir", stdin=CORE_IR + "\ufeff").err


def test_what_is_no_file() -> None:
    assert "error[E7002]: -.mlir" in mind_opt("-.mlir").err or "unrecognized" in mind_opt("-.mlir").err
    assert "error[E7002]" in mind_opt("a\0.mlir").err
