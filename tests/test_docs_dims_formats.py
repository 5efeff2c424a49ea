"""The table of docs/dynamic.md that says what each format has of names and facts, against the writers themselves."""

from __future__ import annotations

import io
import itertools
from importlib.util import find_spec
from pathlib import Path

import pytest
from xdsl.context import Context

from mind_dialect.errors import MindError
from mind_tools.frontends import parse
from mind_tools.universe import TARGETS

PAGE = Path(__file__).parents[1] / "docs" / "dynamic.md"
HEAD = 'builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {\n'
PROGRAMS = {
    "name": ('%x: tensor<?xf32, "N">', "", '%0 = ptir.tanh %x : tensor<?xf32, "N">', 'tensor<?xf32, "N">'),
    "expression": (
        '%x: tensor<?xf32, "N">',
        "",
        '%0 = ptir.concat %x, %x axis = 0 : (tensor<?xf32, "N">, tensor<?xf32, "N">) -> tensor<?xf32, "2*N">',
        'tensor<?xf32, "2*N">',
    ),
    "bound of a slice": (
        '%x: tensor<?xf32, "N">',
        "",
        '%0 = ptir.slice %x starts = [0] sizes = ["N floordiv 2"] : tensor<?xf32, "N"> -> tensor<?xf32, "N floordiv 2">',
        'tensor<?xf32, "N floordiv 2">',
    ),
    "declaration": (
        '%x: tensor<?xf32, "N">',
        ' attributes {mind.dims = ["N in 1..8"]}',
        '%0 = ptir.tanh %x : tensor<?xf32, "N">',
        'tensor<?xf32, "N">',
    ),
    "no name": ("%x: tensor<?xf32>", "", "%0 = ptir.tanh %x : tensor<?xf32>", "tensor<?xf32>"),
}
NEEDS = {"onnx": "onnx"}
"""The package that a writer needs."""


def rows() -> list[list[str]]:
    """The cells of the table, its head first."""
    lines = PAGE.read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("| format written |"))
    table = itertools.takewhile(lambda line: line.startswith("|"), lines[start:])
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in table]


def written(format: str, construct: str) -> str:
    """What a writer does with a construct: `yes`, `listed` or the code of its error."""
    arguments, declared, op, result = PROGRAMS[construct]
    module = parse(f"{HEAD}func.func @f({arguments}) -> {result}{declared} {{ {op} func.return %0 : {result} }} }}")
    name, _, options = format.partition("{")
    target = TARGETS[f"mind-{name}"]()(**({"strict": True} if options else {}))
    out = io.StringIO()
    if name == "onnx":
        import onnx

        from mind_lowering.ptir_to_onnx import onnx_model
        from mind_runtime.compilation import find_function

        try:
            model = onnx.load_from_string(onnx_model(find_function(module, "f")))
        except MindError as e:
            return e.code
        return "listed" if "facts not exported" in model.graph.doc_string else "yes"
    try:
        target.emit(Context(), module, out)
    except MindError as e:
        return e.code
    return "yes"


HEADER, _, *ROWS = rows()


def test_the_table_has_every_construct() -> None:
    assert HEADER[1:] == list(PROGRAMS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_says_what_the_writer_does(row: list[str]) -> None:
    format, *cells = row
    if find_spec(NEEDS.get(format, "re")) is None:
        pytest.skip(f"{format} needs a package that is absent")
    assert [written(format, construct) for construct in PROGRAMS] == cells
