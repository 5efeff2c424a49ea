"""Scatters of one element a row as selections: the same results bit for bit, and only where nobody misses an index."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from mind_dialect.errors import MindError
from mind_dialect.program import functions
from mind_dialect.verify import verify
from mind_passes.fusion.select_scatters import select_scatters
from mind_runtime import compile
from programs import parse

HEAD = 'module attributes {ptir.spec_version = "ptir.v0.4"}'
KINDS = {"add": -0.125, "max": 3.0, "min": 0.0, "replace": -1.0}


def program(kind: str = "add", fill: str = "0.0", index: str = "si32", axis: int = 1, gathered: str = "%i", rows: int = 1) -> str:
    shape, at = ([5, 7], [5, rows]) if axis == 1 else ([7, 5], [rows, 5])
    x, i = (f"tensor<{'x'.join(map(str, n))}x" for n in (shape, at))
    return f"""{HEAD} {{
  func.func @f(%x: {x}f32>, %i: {i}{index}>, %j: {i}{index}>, %u: {i}f32>) -> ({i}f32>, {x}f32>) {{
    %base = ptir.constant fill {fill} : {x}f32>
    %g = ptir.gather %x, {gathered} axis = {axis} : ({x}f32>, {i}{index}>) -> {i}f32>
    %s = ptir.scatter_reduce %base, %i, %u kind = {kind} axis = {axis - 2} : ({x}f32>, {i}{index}>, {i}f32>) -> {x}f32>
    func.return %g, %s : {i}f32>, {x}f32>
  }}
}}"""


def rewritten(text: str) -> ModuleOp:
    module = parse(text)
    select_scatters(module)
    verify(module)
    return module


def scatters(module: ModuleOp) -> int:
    return sum(op.name == "ptir.scatter_reduce" for f in functions(module) for op in f.walk())


def arguments(axis: int, index: str, rows: int = 1) -> list[Any]:
    rng = np.random.default_rng(0)
    kind = {"si32": np.int32, "si64": np.int64}[index]
    at = rng.integers(0, 7, (5, rows)).astype(kind)
    at[0], at[1] = 0, 6
    u = np.array([-0.0, 1.0, np.nan, -np.inf, 2.5], np.float32).repeat(rows).reshape(5, rows)
    x = rng.standard_normal((5, 7), dtype=np.float32)
    return [a if axis == 1 else np.ascontiguousarray(a.T) for a in (x, at, at, u)]


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("index", ["si32", "si64"])
@pytest.mark.parametrize("fill", ["0.0", "-0.0", "1.5"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_selection_gives_what_the_scatter_gives_to_the_bit(kind: str, fill: str, index: str, axis: int) -> None:
    text = program(kind, fill, index, axis)
    module = rewritten(text)
    assert scatters(module) == 0
    given = arguments(axis, index)
    for ours, theirs in zip(compile(module)(*given), compile(parse(text))(*given), strict=True):
        assert ours.tobytes() == theirs.tobytes()


def test_an_index_out_of_range_is_still_an_error() -> None:
    x, i, j, u = arguments(1, "si32")
    i[3] = 7
    with pytest.raises(MindError) as caught:
        compile(rewritten(program()))(x, i, j, u)
    assert caught.value.code == "E6001"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(program(gathered="%j"), id="nobody else looks at these indices"),
        pytest.param(program(rows=2), id="two updates a row"),
        pytest.param(program().replace("ptir.constant fill 0.0", "ptir.neg %x"), id="no constant"),
    ],
)
def test_what_is_no_selection_stays(text: str) -> None:
    assert scatters(rewritten(text)) == 1


def test_the_gradient_of_a_cross_entropy_runs_natively_as_a_whole() -> None:
    pytest.importorskip("llvmlite")
    program_ = compile(parse(program()), target="native")
    assert not [line for line in program_.explain() if line.startswith("numpy")]
    given = arguments(1, "si32")
    for ours, theirs in zip(program_(*given), compile(parse(program()))(*given), strict=True):
        np.testing.assert_array_equal(ours, theirs)
