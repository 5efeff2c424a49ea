"""The language server, as an editor sees it: over pipes, by requests and notifications."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="pygls is not installed (pip install 'mind-dialect[lsp]')")

from lsp_client import Editor, Refused
from mind_tools import mind_lsp
from mind_tools.language.analysis import MOST_TEXT, analyse

URI = "file:///work/a%20b.mlir"
CORE = "file:///work/f.coreir"
TEXT = """builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @main(%w: tensor<3xf32> {mind.name = "w"}, %x: tensor<2x3xf32>) -> tensor<3xf32> {
    %0 = ptir.broadcast_to %w result_shape = [2, 3] : tensor<3xf32> -> tensor<2x3xf32>
    %1 = ptir.mul %x, %0 : tensor<2x3xf32>
    %n = shape.const_size 3
    func.return %w : tensor<3xf32>
  }
}
"""
CORE_TEXT = "# @f\n%0 = Input {name=x} : tensor<f32[2]>\n%1 = Neg (%0)\n%2 = Exp (%1) : tensor<f32[2]>\noutputs: %2\n"


@pytest.fixture(scope="module")
def editor() -> Iterator[Editor]:
    made = Editor()
    yield made
    assert made.close() == 0


@pytest.fixture(scope="module")
def opened(editor: Editor) -> Editor:
    assert editor.open(URI, TEXT) == []
    assert editor.open(CORE, CORE_TEXT) == []
    return editor


def spans(answer: list[dict[str, Any]]) -> list[tuple[int, int, int]]:
    """Line, first and last column of each."""
    found = [a["range"] for a in answer]
    assert all(r["start"]["line"] == r["end"]["line"] for r in found)
    return [(r["start"]["line"], r["start"]["character"], r["end"]["character"]) for r in found]


def hover(editor: Editor, line: int, character: int, uri: str = URI) -> str | None:
    found = editor.at("hover", uri, line, character)
    return None if found is None else found["contents"]["value"]


def test_it_says_what_it_can(editor: Editor):
    expected = {"hoverProvider", "definitionProvider", "referencesProvider", "renameProvider", "inlayHintProvider"}
    assert expected | {"documentSymbolProvider", "completionProvider", "documentHighlightProvider"} <= set(editor.capabilities)


def test_values_have_types_and_ops_have_documentation(opened: Editor):
    assert "%0 : tensor<2x3xf32>" in (hover(opened, 2, 5) or "")
    assert "%w : tensor<3xf32>" in (hover(opened, 5, 17) or "")
    assert "used 2 times" in (hover(opened, 1, 19) or "")
    assert (hover(opened, 2, 12) or "").startswith("**ptir.broadcast_to**\n\nRepeat")
    assert "%0 : tensor<f32[2]>" in (hover(opened, 1, 1, CORE) or "")
    assert "%1 : tensor<2xf32>" in (hover(opened, 2, 1, CORE) or "")
    assert (hover(opened, 2, 6, CORE) or "").startswith("**Neg**")
    assert hover(opened, 0, 0) is None
    assert hover(opened, 99, 5) is None


def test_names_lead_to_their_definitions_and_uses(opened: Editor):
    assert spans([opened.at("definition", URI, 3, 23)]) == [(2, 4, 6)]
    both = opened.at("references", URI, 2, 4, context={"includeDeclaration": True})
    assert spans(both) == [(2, 4, 6), (3, 22, 24)]
    assert spans(opened.at("references", URI, 3, 22, context={"includeDeclaration": False})) == [(3, 22, 24)]
    assert [h["kind"] for h in opened.at("documentHighlight", URI, 2, 4)] == [3, 2]
    assert opened.at("definition", URI, 2, 12) is None
    assert [s["name"] for s in opened.ask("textDocument/documentSymbol", textDocument={"uri": URI})] == ["@main"]


def test_types_that_the_text_does_not_show_are_hints(opened: Editor):
    everywhere = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
    found = opened.ask("textDocument/inlayHint", textDocument={"uri": URI}, range=everywhere)
    assert [(h["label"], h["position"]) for h in found] == [(": !shape.size", {"line": 4, "character": 6})]
    found = opened.ask("textDocument/inlayHint", textDocument={"uri": CORE}, range=everywhere)
    assert [(h["label"], h["position"]) for h in found] == [(": tensor<2xf32>", {"line": 2, "character": 2})]


def test_names_get_other_spellings(opened: Editor):
    edits = opened.at("rename", URI, 3, 23, newName="wide")["changes"][URI]
    assert spans(edits) == [(2, 4, 6), (3, 22, 24)]
    assert {e["newText"] for e in edits} == {"%wide"}
    edits = opened.at("rename", URI, 1, 14, newName="@other")["changes"][URI]
    assert [e["newText"] for e in edits] == ["@other"]


REFUSED = {
    "another value's name": ((URI, 2, 4, "%x"), "%x is defined already"),
    "a name of a later value": ((URI, 2, 4, "1"), "%1 is defined already"),
    "no name": ((URI, 2, 4, "a b"), "'a b' is no name for %0"),
    "code": ((URI, 2, 4, "a = 1"), "is no name"),
    "nothing": ((URI, 2, 4, ""), "is no name"),
    "a number for a function": ((URI, 1, 14, "1"), "is no name for @main"),
    "an op": ((URI, 2, 12, "y"), "no name is defined here"),
    "Core IR's numbers": ((CORE, 2, 1, "%7"), "numbered in order"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_new_name_is_refused(opened: Editor, case: str):
    (uri, line, character, new), said = REFUSED[case]
    with pytest.raises(Refused, match=re.escape(said)):
        opened.at("rename", uri, line, character, newName=new)


def test_completion_gives_ops_and_names_that_are_seen_here(opened: Editor):
    ops = {i["label"]: i for i in opened.at("completion", URI, 2, 14)["items"]}
    assert ops["ptir.mul"]["insertText"] == "mul", "the dialect stands there already"
    assert {"mind.matmul", "shape.const_size", "launch.kernel"} <= set(ops)
    names = {i["label"] for i in opened.at("completion", URI, 3, 23)["items"]}
    assert names == {"%w", "%x", "%0", "%1", "%n"}
    opcodes = {i["label"] for i in opened.at("completion", CORE, 2, 6)["items"]}
    assert {"MatMul", "Conv2d", "Exp"} <= opcodes


def test_errors_have_codes_and_places_and_go_when_mended(editor: Editor):
    uri = "file:///work/broken.mlir"
    wrong = TEXT.replace("ptir.mul %x, %0", "ptir.mul %w, %0")
    (found,) = editor.open(uri, wrong)
    assert (found["code"], found["source"], found["severity"]) == ("E2001", "mind", 1)
    assert spans([found]) == [(3, 18, 20)]
    change = {"range": {"start": {"line": 3, "character": 18}, "end": {"line": 3, "character": 20}}, "text": "%x"}
    editor.tell("textDocument/didChange", textDocument={"uri": uri, "version": 2}, contentChanges=[change])
    assert editor.diagnostics(uri, 2) == []
    editor.tell("textDocument/didClose", textDocument={"uri": uri})


def test_all_that_a_verifier_finds_is_shown(editor: Editor):
    uri = "file:///work/two.mlir"
    lines = ["%0 = ptir.reshape %x new_shape = [4] : tensor<2x3xf32> -> tensor<4xf32>"]
    lines += ["%1 = ptir.transpose %x perm = [0, 0] : tensor<2x3xf32> -> tensor<2x3xf32>"]
    head, tail = TEXT.split("    %0 = ")[0], "    func.return %w : tensor<3xf32>\n  }\n}\n"
    found = editor.open(uri, head + "".join(f"    {line}\n" for line in lines) + tail)
    assert [d["range"]["start"]["line"] for d in found] == [2, 3]
    assert all(re.fullmatch(r"E\d{4}", d["code"]) for d in found)


def test_columns_are_counted_as_editors_count_them(editor: Editor):
    """In units of UTF-16, of which the character before the names has two."""
    uri = "file:///work/wide.mlir"
    text = '"test.op"() {a = "\U0001d400"} : () -> () %a = "test.b"() : () -> i32\n"test.c"(%a) : (i32) -> ()\n'
    editor.open(uri, text)
    column = len(text[: text.index("%a")].encode("utf-16-le")) // 2
    assert column == text.index("%a") + 1
    assert spans([editor.at("definition", uri, 1, 10)]) == [(0, column, column + 2)]
    assert "%a" in (hover(editor, 0, column, uri) or "")


def test_only_the_newest_version_is_analysed(editor: Editor):
    uri = "file:///work/typed.mlir"
    editor.tell("textDocument/didOpen", textDocument={"uri": uri, "languageId": "mlir", "version": 1, "text": "builtin"})
    for version in range(2, 12):
        text = TEXT if version == 11 else f"// {version}\nbuiltin.modul"
        editor.tell("textDocument/didChange", textDocument={"uri": uri, "version": version}, contentChanges=[{"text": text}])
    assert editor.diagnostics(uri, 11) == []
    assert [p["version"] for p in editor.published if p["uri"] == uri] == [11]


HOSTILE = {
    "nothing": "",
    "a zero byte": "\0",
    "an open string": 'module { "',
    "braces": "{" * 5000,
    "parentheses": "(" * 5000 + "%x : f32",
    "closed only": "}" * 100 + ")" * 100,
    "a long line": "%x" * 20_000,
    "lone surrogate": "\ud800",
}


@pytest.mark.parametrize("case", HOSTILE)
def test_texts_that_are_no_programs_are_diagnosed(editor: Editor, case: str):
    uri = f"file:///work/{case.replace(' ', '')}.mlir"
    found = editor.open(uri, HOSTILE[case])
    assert all(re.fullmatch(r"E\d{4}", d["code"]) for d in found)
    assert bool(found) == (case != "nothing")
    assert hover(editor, 0, 0, uri) is None or case == "a long line"
    editor.ask("textDocument/documentSymbol", textDocument={"uri": uri})


def test_a_text_of_any_size_ends():
    (found,) = analyse(" " * (MOST_TEXT + 1), "a.mlir", "mlir").findings
    assert found.code == "E1001"
    assert str(MOST_TEXT) in found.message


def test_without_pygls_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "language.server" or name.startswith("pygls"):
            raise ImportError("No module named 'pygls'")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    assert mind_lsp.main([]) == 1
    said = capsys.readouterr().err
    assert "error[E6002]" in said
    assert "pip install 'mind-dialect[lsp]'" in said


def test_options(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as stopped:
        mind_lsp.main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out.startswith("mind-lsp ")
    assert mind_lsp.main(["--tcp"]) == 1
    assert "error[E7001]: unrecognized arguments: --tcp" in capsys.readouterr().err


def test_the_server_writes_nothing_to_disk(editor: Editor, tmp_path: Path):
    before = sorted(tmp_path.rglob("*"))
    editor.open(f"file://{tmp_path}/x.mlir", TEXT)
    assert sorted(tmp_path.rglob("*")) == before
