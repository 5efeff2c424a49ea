"""The VS Code extension: its files fit together, and its grammars know what the dialects have."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mind_dialect.core import CORE_OPS
from mind_dialect.version import __version__
from mind_tools.language.documentation import op_documentation, opcode_documentation
from mind_tools.language.names import NAME

FOLDER = Path(__file__).parents[2] / "editors" / "vscode"
PACKAGE: dict[str, Any] = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))


def grammar(name: str) -> list[tuple[str, re.Pattern[str]]]:
    """The scope of each rule, and what it matches; rules in order, of which the first that matches counts."""
    rules = json.loads((FOLDER / "syntaxes" / f"{name}.tmLanguage.json").read_text(encoding="utf-8"))["patterns"]
    return [(rule.get("name", "captures"), re.compile(rule.get("match", rule.get("begin")), re.MULTILINE)) for rule in rules]


def scope(name: str, text: str, word: str) -> str:
    """The scope of a word in a text: that of the rule which takes it when the text is read from the left."""
    rules, at, wanted = grammar(name), 0, text.index(word)
    while at < len(text):
        found = [
            (m.start(), i, m) for i, (_, pattern) in enumerate(rules) if (m := pattern.search(text, at)) and m.end() > m.start()
        ]
        start, i, match = min(found)
        if start <= wanted < match.end():
            return rules[i][0]
        assert start < wanted, f"no rule takes {word!r}"
        at = match.end()
    raise AssertionError(word)


def test_the_version_is_the_projects():
    assert PACKAGE["version"] == __version__.partition(".dev")[0]


def test_every_file_that_the_package_names_is_there():
    contributes = PACKAGE["contributes"]
    paths = [
        PACKAGE["main"],
        *(g["path"] for g in contributes["grammars"]),
        *(x["configuration"] for x in contributes["languages"]),
    ]
    for path in paths:
        assert (FOLDER / path).is_file(), path
    languages = {x["id"] for x in contributes["languages"]}
    assert {g["language"] for g in contributes["grammars"]} == languages
    assert PACKAGE["activationEvents"] == [f"onLanguage:{x['id']}" for x in contributes["languages"]]
    for x in contributes["languages"]:
        read = json.loads((FOLDER / x["configuration"]).read_text(encoding="utf-8"))
        re.compile(read["wordPattern"])
    text = (FOLDER / "extension.js").read_text(encoding="utf-8")
    assert all(f'"{language}"' in text for language in languages)
    assert '"--stdio"' in text


@pytest.mark.parametrize("op", op_documentation())
def test_every_op_has_its_colour(op: str):
    assert scope("mlir", f"%0 = {op} %x : tensor<2xf32>", op) == "keyword.operator.op.mlir"
    assert scope("mlir", f'%0 = "{op}"(%x) : (i32) -> i32', f'"{op}"') == "keyword.operator.op.mlir"


@pytest.mark.parametrize("opcode", opcode_documentation())
def test_every_opcode_has_its_colour(opcode: str):
    assert scope("coreir", f"%0 = {opcode} (%1) : tensor<f32[2]>", opcode) == "keyword.operator.op.coreir"


def test_the_opcodes_are_those_of_core_ir():
    assert {getattr(op, "OPCODE", None) for op in CORE_OPS} - {None} <= set(opcode_documentation())


MLIR = '  func.func private @main(%w: tensor<3xbf16>) { // %no\n ^bb0: %r#1 "a %b" !shape.size #ptir.x -1.5e-3 0xFF true'
WORDS = {
    "func.func": "keyword.operator.op.mlir",
    "private": "keyword.other.mlir",
    "@main": "entity.name.function.mlir",
    "%w": "variable.other.mlir",
    "tensor": "storage.type.shaped.mlir",
    "bf16": "storage.type.scalar.mlir",
    "%no": "comment.line.double-slash.mlir",
    "^bb0": "entity.name.label.mlir",
    "%r#1": "variable.other.mlir",
    '"a': "string.quoted.double.mlir",
    "!shape.size": "storage.type.mlir",
    "#ptir.x": "constant.other.attribute.mlir",
    "-1.5e-3": "constant.numeric.mlir",
    "0xFF": "constant.numeric.mlir",
    "true": "constant.language.mlir",
}


@pytest.mark.parametrize("word", WORDS)
def test_words_have_their_colours(word: str):
    assert scope("mlir", MLIR, word) == WORDS[word]


def test_names_are_those_of_the_server():
    (pattern,) = [p for n, p in grammar("mlir") if n == "variable.other.mlir"]
    for name in ("%0", "%a-b", "%x.y$", "%_"):
        assert pattern.fullmatch(name) is not None
        assert NAME.fullmatch(name) is not None
    assert pattern.fullmatch("%0a") is None
    assert NAME.fullmatch("%0a") is None
