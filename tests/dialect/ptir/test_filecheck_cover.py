"""The FileCheck files of the ptir dialect: each op, property and word makes the round trip in both forms, each op is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mind_dialect.errors import CATALOGUE
from mind_dialect.ptir import EXTENSION_OPS, PTIR_OPS, PtirOp
from mind_dialect.ptir.attributes import Word
from mind_dialect.ptir.types import ALL

FOLDER = Path(__file__).parents[2] / "filecheck" / "dialects" / "ptir"
INVALID = sorted(FOLDER.glob("*-invalid.mlir"))
GOOD = sorted(set(FOLDER.glob("*.mlir")) - set(INVALID))
OPS = (*PTIR_OPS, *EXTENSION_OPS)
NEVER_REFUSED_ALONE = {"yield"}
"""Its refusals are those of the op around it."""


def checked(prefix: str) -> list[str]:
    """What the lines with a prefix expect, in all round-trip files."""
    pattern = re.compile(rf"^ *// {prefix}(?:-NEXT|-LABEL)?: +(.*)", re.MULTILINE)
    return [line for path in GOOD for line in pattern.findall(path.read_text(encoding="utf-8"))]


CUSTOM, GENERIC = checked("CHECK"), checked("GENERIC")


def lines_of(op: type[PtirOp], generic: bool) -> list[str]:
    pattern = re.compile(rf'"{op.name}"\(' if generic else rf"(?:^|= ){re.escape(op.name)}(?!\w)")
    return [line for line in (GENERIC if generic else CUSTOM) if pattern.search(line)]


def cases(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("// -----")


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_a_round_trip_file_is_checked_in_both_forms(path: Path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith("// RUN: MIND_ROUNDTRIP\n// RUN: MIND_GENERIC\n")
    functions = re.findall(r"^ *func\.func @(\w+)", text, re.MULTILINE)
    assert functions == re.findall(r"CHECK-LABEL: func\.func @(\w+)", text)
    assert functions == re.findall(r'GENERIC: sym_name = "(\w+)"', text)


@pytest.mark.parametrize("generic", [False, True], ids=["custom", "generic"])
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.OPCODE)
def test_an_op_makes_the_round_trip_with_each_property(op: type[PtirOp], generic: bool):
    lines = lines_of(op, generic)
    assert lines, f"no round-trip file of tests/filecheck/dialects/ptir holds {op.name}"
    for name, codec in op.CODECS.items():
        stated = [line for line in lines if re.search(rf"(?<![\w.]){name} = ", line)]
        if generic or op.OPCODE != "constant":
            assert stated, f"nothing checks the text of {op.name} with {name}"
            assert name not in op.OPTIONAL or len(stated) < len(lines), f"nothing checks the text of {op.name} without {name}"
        for word in codec.words if isinstance(codec, Word) else ():
            quoted = f'"{word}"' if generic else word
            assert any(f"{name} = {quoted}" in line for line in stated), f"nothing checks {op.name} with {name} = {word}"


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_literals_of_each_dtype_make_the_round_trip(dtype):
    shown = re.escape(str(dtype.type))
    lines = [line for line in CUSTOM if re.search(rf"ptir\.constant \[.* : tensor<\d+x{shown}>", line)]
    assert lines
    if dtype.is_float:
        assert any("nan" in line and "-0.0" in line and ("inf" in line or dtype.name == "fp8_e4m3") for line in lines)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.OPCODE)
def test_an_op_is_refused_somewhere(op: type[PtirOp]):
    pattern = re.compile(rf"CHECK: error\[E\d+\]: {op.OPCODE}(?: %[\w#]+)?: ")
    found = [path for path in INVALID if pattern.search(path.read_text(encoding="utf-8"))]
    assert found or op.OPCODE in NEVER_REFUSED_ALONE, f"no file of refusals is about {op.name}"


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_a_file_of_refusals_checks_code_message_and_category(path: Path):
    names: list[str] = []
    for case in cases(path):
        names += re.findall(r"^ *func\.func @(\w+)", case, re.MULTILINE)
        (error,) = re.findall(r"^// CHECK: error\[(E\d{4})\]: \S.*\S$", case, re.MULTILINE)
        (category,) = re.findall(r"^// CHECK: = note: (\w+)$", case, re.MULTILINE)
        assert error in CATALOGUE
        assert category
    assert len(set(names)) == len(names) == len(cases(path))
