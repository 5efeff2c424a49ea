"""Rows added to a large constant by way of one row for each update: the same results bit for bit, and only where it pays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from cuda_emulation import compiler
from fake_device import compile_on_fake
from mind_dialect.errors import MindError
from mind_dialect.program import functions
from mind_dialect.verify import verify
from mind_passes.fusion import compact_scatters as pass_of
from mind_passes.fusion.compact_scatters import compact_scatters
from mind_runtime import compile
from programs import parse

HEAD = 'module attributes {ptir.spec_version = "ptir.v0.4"}'
ROWS, UPDATES = 13, 6


def program(
    dtype: str = "f32",
    fill: str = "0.0",
    index: str = "si32",
    inner: str = "4",
    shape: str = "6",
    rows: int = ROWS,
    checks: str = "%i",
    ending: str = "ptir.sub %w, %s",
    base: str | None = None,
    taken: int = ROWS,
) -> str:
    """An embedding: rows that are looked up, and their gradients taken off the table."""
    table, ids, updates = (
        f"tensor<{n}x{k}>" for n, k in ((f"{rows}x{inner}", dtype), (shape, index), (f"{shape}x{inner}", dtype))
    )
    rank, deep = shape.count("x") + 1, inner.count("x") + 1
    window = f"update_window_dims = [{', '.join(str(rank + i) for i in range(deep))}]"
    axes = f"{window} inserted_window_dims = [0] scatter_dims_to_operand_dims = [0]"
    other = f"tensor<{taken}x{inner}x{dtype}>"
    return f"""{HEAD} {{
  func.func @f(%w: {table}, %o: {other}, %i: {ids}, %j: {ids}, %u: {updates}) -> ({updates}, {table}) {{
    %base = {base or f"ptir.constant fill {fill} : {table}"}
    %t = ptir.take %o, {checks} : ({other}, {ids}) -> {updates}
    %s = ptir.scatter_add %base, %i, %u {axes} : ({table}, {ids}, {updates}) -> {table}
    %n = {ending} : {table}
    func.return %t, %n : {updates}, {table}
  }}
}}"""


def rewritten(text: str) -> ModuleOp:
    module = parse(text)
    compact_scatters(module, least_bytes=0)
    verify(module)
    return module


def is_rewritten(module: ModuleOp) -> bool:
    return any(op.name == "ptir.scatter_reduce" for f in functions(module) for op in f.walk())


def arguments(text: str) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    given: list[np.ndarray] = []
    for s in compile(parse(text)).inputs:
        if s.dtype.name in ("si32", "si64"):
            ids = rng.integers(0, ROWS, s.shape).astype(s.numpy_dtype)
            ids.reshape(-1)[:4] = [5, 0, 5, 12]  # a row with two updates, the first and the last
            given.append(ids)
        else:
            given.append((rng.standard_normal(s.shape) * 100).astype(s.numpy_dtype))
    if given[-1].dtype.kind == "f":
        given[-1].reshape(-1)[:3] = [-0.0, np.nan, np.inf]
    return given


PROGRAMS = {
    "f32": program(),
    "two axes of indices": program(shape="2x3"),
    "two axes of rows": program(inner="2x3"),
    "64 bits": program("f64", index="si64"),
    "a sum of a number": program(fill="1.5"),
    "negative zeros": program(fill="-0.0"),
    "integers": program("si32", "3"),
    "rows of one element": program(inner="1"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_have_the_same_bits(name: str) -> None:
    text = PROGRAMS[name]
    module = rewritten(text)
    assert is_rewritten(module)
    given = arguments(text)
    for ours, theirs in zip(compile(module)(*given), compile(parse(text))(*given), strict=True):
        assert ours.tobytes() == theirs.tobytes()


STAYS = {
    "nobody else checks these indices": program(checks="%j"),
    "they are checked against another number of rows": program(taken=14),
    "the table is changed, not a constant": program(base=f"ptir.neg %w : tensor<{ROWS}x4xf32>"),
    "fewer than two rows for each update": program(shape="7"),
    "the sums are read by a reduction too": program(ending="ptir.cumulative_sum %s axis = 0 exclusive = false reverse = false"),
}


@pytest.mark.parametrize("reason", STAYS)
def test_other_sums_stay(reason: str) -> None:
    assert not is_rewritten(rewritten(STAYS[reason]))


def test_a_small_table_stays() -> None:
    module = parse(program())
    assert not compact_scatters(module)
    assert not is_rewritten(module)


@pytest.mark.parametrize("index", [-1, ROWS])
def test_an_index_out_of_range_is_the_same_error(index: int) -> None:
    text = program()
    given: list[Any] = arguments(text)
    given[2][2] = index
    found = list[MindError]()
    for module in (rewritten(text), parse(text)):
        with pytest.raises(MindError) as caught:
            compile(module)(*given)
        found.append(caught.value)
    assert str(found[0]) == str(found[1])
    assert found[0].code == "E6001"


def test_kernels_give_the_same_bits_and_the_same_error(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler()
    text = program(shape="2x3")
    given = arguments(text)
    monkeypatch.setattr(pass_of.compact_scatters, "__defaults__", (0,))
    made: Any = compile_on_fake(parse(text))
    assert "mind::min_to" in made.cuda
    for ours, theirs in zip(made(*given), compile(parse(text))(*given), strict=True):
        assert np.asarray(ours).tobytes() == theirs.tobytes()
    given[2][0, 1] = 99
    with pytest.raises(MindError) as ours_error:
        made(*given)
    with pytest.raises(MindError) as theirs_error:
        compile(parse(text))(*given)
    assert str(ours_error.value) == str(theirs_error.value)
