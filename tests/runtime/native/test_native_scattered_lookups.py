"""Scatters of rows that are looked up: these are read where they lie, at indices that are checked before anything changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_lowering.ptir_kernels.formats import array_dtype
from ptir_forms import program

RNG = np.random.default_rng(0)
ROWS = np.array([3, 0, 3, 8, 1, 1, 4, 0, 8, 3, 2, 7])
PLACES = np.array([0, 2, 2, 4, 0, 1, 2, 4, 4, 4, 3, 2])
DIMS = {"update_window_dims": (1,), "inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,), "index_vector_dim": 1}


def same(module: Any, *given: Any) -> str:
    """Compare the target with that of NumPy, bit by bit; return the kernels."""
    expected = mind_runtime.compile(module, target="numpy")(*given)
    run = mind_runtime.compile(module, target="native")
    assert run(*given).tobytes() == expected.tobytes()
    return "\n".join(run.explain())


def normal(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


def rows(x: Any, i: Any) -> Any:
    return ptir.TakeOp(x, i)


def columns(x: Any, i: Any) -> Any:
    return ptir.GatherOp(x, ptir.BroadcastToOp(ptir.ReshapeOp(i, new_shape=(12, 1)), result_shape=(12, 5)), axis=0)


def windows(y: Any, at: Any, found: Any, kind: str = "add", mode: str = "raise") -> Any:
    batch = {"input_batching_dims": (), "scatter_indices_batching_dims": ()}
    where = ptir.ReshapeOp(at, new_shape=(12, 1))
    return ptir.ScatterWindowsOp(y, where, found, **DIMS, **batch, kind=kind, mode=mode, unique=False)


def along_axis(y: Any, at: Any, found: Any) -> Any:
    where = ptir.BroadcastToOp(ptir.ReshapeOp(at, new_shape=(12, 1)), result_shape=(12, 5))
    return ptir.ScatterReduceOp(y, where, found, kind="add", axis=0)


def added(y: Any, at: Any, found: Any) -> Any:
    return ptir.ScatterAddOp(y, ptir.ReshapeOp(at, new_shape=(12, 1)), found, **DIMS)


@pytest.mark.parametrize("scatter", [windows, along_axis, added])
@pytest.mark.parametrize("lookup", [rows, columns])
def test_looked_up_rows_are_not_copied(lookup: Any, scatter: Any) -> None:
    module = program("f32[5,5] si64[12] f32[9,5] si64[12]", lambda y, at, x, i: scatter(y, at, lookup(x, i)))
    kernels = same(module, normal(5, 5), PLACES, normal(9, 5), ROWS)
    assert "0 ops on NumPy" in kernels
    assert "copy over [12, 5]" not in kernels


@pytest.mark.parametrize("kind", ["add", "mul", "max", "min", "replace"])
@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16", "f16", "si32", "si8", "ui8"])
def test_each_kind(dtype: str, kind: str) -> None:
    x, y = (RNG.integers(1, 4, s).astype(array_dtype(dtype)) for s in ((9, 5), (5, 5)))
    module = program(f"{dtype}[5,5] si64[12] {dtype}[9,5] si64[12]", lambda y, at, x, i: windows(y, at, rows(x, i), kind))
    assert "0 ops on NumPy" in same(module, y, PLACES, x, ROWS)


def test_rows_of_what_is_scattered_into() -> None:
    """The operand is read after the scatter begins to write, so it is not overwritten."""
    module = program("f32[9,5] si64[12] si64[12]", lambda y, at, i: windows(ptir.MulOp(y, y), at, rows(ptir.MulOp(y, y), i)))
    same(module, normal(9, 5), PLACES, ROWS)

    def twice(y: Any, at: Any, i: Any) -> Any:
        square = ptir.MulOp(y, y)
        return windows(square, at, rows(square.result, i))

    same(program("f32[9,5] si64[12] si64[12]", twice), normal(9, 5), PLACES, ROWS)


def test_a_donated_operand_whose_rows_are_scattered_into_it() -> None:
    module = program("f32[9,5] si64[12] si64[12]", lambda y, at, i: windows(y, at, rows(y, i)))
    y = normal(9, 5)
    expected = y.copy()
    np.add.at(expected, PLACES, y[ROWS])
    run = mind_runtime.compile(module, target="native", donate=["arg0"])
    np.testing.assert_allclose(run(y.copy(), PLACES, ROWS), expected, 1e-5)


def test_rows_that_numpy_scatters_are_copied() -> None:
    """A scatter without a kernel reads its updates from memory, as rows in their order."""
    beyond = PLACES.copy()
    beyond[3] = 7
    types = "f32[5,5] si64[12] f32[9,5] si64[12]"
    module = program(types, lambda y, at, x, i: windows(y, at, rows(x, i), "replace", "drop"))
    assert "1 op on NumPy" in same(module, normal(5, 5), beyond, normal(9, 5), ROWS)


def test_rows_with_another_reader_are_copied() -> None:
    def body(y: Any, at: Any, x: Any, i: Any) -> Any:
        found = rows(x, i)
        return ptir.ConcatOp(windows(y, at, found), ptir.NegOp(found), axis=0)

    same(program("f32[5,5] si64[12] f32[9,5] si64[12]", body), normal(5, 5), PLACES, normal(9, 5), ROWS)


@pytest.mark.parametrize("lookup", [rows, columns])
@pytest.mark.parametrize(("argument", "wrong"), [(3, 9), (3, -1), (1, 5), (1, -1), (3, 1 << 40)])
def test_an_index_outside(argument: int, wrong: int, lookup: Any) -> None:
    """The errors are those of the numpy target, and name the op whose index it is."""
    module = program("f32[5,5] si64[12] f32[9,5] si64[12]", lambda y, at, x, i: windows(y, at, lookup(x, i)))
    arguments = [normal(5, 5), PLACES.copy(), normal(9, 5), ROWS.copy()]
    arguments[argument][7] = wrong
    messages: list[str] = []
    for target in ("numpy", "native"):
        with pytest.raises(MindError) as e:
            mind_runtime.compile(module, target=target)(*arguments)
        assert e.value.code == "E6001"
        messages.append(str(e.value))
    assert messages[0] == messages[1]


def test_one_scatter_after_another() -> None:
    def body(y: Any, at: Any, x: Any, i: Any) -> Any:
        for _ in range(3):
            y = windows(y, at, rows(x, i))
        return y

    same(program("f32[5,5] si64[12] f32[9,5] si64[12]", body), normal(5, 5), PLACES, normal(9, 5), ROWS)
