"""Scatters into private tables: bit for bit what NumPy's kernels give, and only where the order of updates is immaterial."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

pytest.importorskip("llvmlite")

import mind_array as ma
import mind_runtime
from mind_dialect import ptir
from mind_dialect.program import functions
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.types import DTYPES
from mind_lowering.native import TARGETS, kernels_scatters
from mind_lowering.native.kernel_steps import PrivateScatter
from mind_lowering.native.program import lower, planned, prepared
from mind_runtime.native import jit
from native_same import block, same, way
from ptir_forms import program

__all__ = ["way"]
INTEGERS = [DTYPES[name] for name in ("si8", "ui8", "si16", "si32", "ui32", "si64", "ui64")]
COUNTS = {"num_segments": 7, "indices_are_sorted": False, "unique": False}
ONE_AXIS = {"update_window_dims": [], "inserted_window_dims": [0], "scatter_dims_to_operand_dims": [0], "index_vector_dim": 1}
rng = np.random.default_rng(0)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give also few updates private tables."""
    monkeypatch.setattr(kernels_scatters, "LEAST_PART", 5)
    monkeypatch.setattr(kernels_scatters, "LEAST_FOLD", 0)


def segments(kind: str, **changes: Any) -> Callable[..., Any]:
    return lambda a, i: ptir.SegmentReduceOp(a, i, kind=kind, **{**COUNTS, **changes}).result


def scattered(a: Any, i: Any, u: Any) -> Any:
    return ptir.ScatterAddOp(a, i, u, **ONE_AXIS).result


def reduced(kind: str, axis: int = 0) -> Callable[..., Any]:
    return lambda a, i, u: ptir.ScatterReduceOp(a, i, u, kind=kind, axis=axis).result


@pytest.mark.exhaustive
@pytest.mark.usefixtures("way", "small")
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("n", [10, 16, 83, 320])
@pytest.mark.parametrize("kind", ["sum", "max"])
def test_segments(kind: str, n: int, dtype: Any) -> None:
    """Numbers wrap around; a segment without rows has what combining begins with."""
    where = rng.integers(0, 6, n).astype(np.int32)
    same(segments(kind), block(dtype, (n,), special=kind == "max"), where)
    same(segments(kind), block(dtype, (n, 1, 1), special=kind == "max"), where.astype(np.int64))


@pytest.mark.exhaustive
@pytest.mark.usefixtures("way", "small")
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("kind", ["add", "max", "min", "replace"])
def test_scatters(kind: str, dtype: Any) -> None:
    x, updates, where = block(dtype, (9,)), block(dtype, (83,), 1), rng.integers(0, 9, 83).astype(np.int64)
    same(reduced(kind), x, where, updates)
    same(reduced(kind, -2), x.reshape(1, 9, 1), where.reshape(1, 83, 1), updates.reshape(1, 83, 1))
    if kind == "add":
        same(scattered, x, where.astype(np.int32).reshape(83, 1), updates)


@pytest.mark.usefixtures("way", "small")
def test_updates_and_indices_of_any_layout() -> None:
    """One number, counted ones, transposed ones, and every second one."""
    where = rng.integers(0, 7, (6, 14)).astype(np.int32)

    def three(n: int) -> Any:
        return ptir.ConstantOp(PtirLiteralAttr.from_values(DTYPES["si32"], (n,), [3] * n))

    def flat(i: Any) -> Any:
        return ptir.ReshapeOp(i, new_shape=[84])

    same(lambda i: segments("sum")(three(84), flat(i)), where)
    same(lambda i: segments("sum")(ptir.IotaOp(shape=[84], dtype="si64", axis=0), flat(i)), where)
    same(lambda i: segments("sum")(three(84), flat(ptir.TransposeOp(i, perm=[1, 0]))), where)
    same(lambda i, u: segments("max")(flat(ptir.TransposeOp(u, perm=[1, 0])), flat(i)), where, where * 5)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16", "si32", "i1"])
def test_updates_of_one_number_are_not_stored_where_they_have_an_order(dtype: str) -> None:
    """In rows, which threads share, and one after the other; also where the last update stays."""
    where, x = rng.integers(0, 7, 20).astype(np.int64), block(DTYPES[dtype], (7, 40))

    def one(shape: tuple[int, ...]) -> Any:
        value = (1.5 if dtype[0] in "fb" else True if dtype == "i1" else 3,)
        return ptir.BroadcastToOp(ptir.ConstantOp(PtirLiteralAttr.from_values(DTYPES[dtype], (), value)), result_shape=shape)

    if dtype != "i1":
        same(lambda i: segments("sum")(one((20,)), i), where)
        same(lambda i: segments("sum")(one((20, 40)), i), where)
    same(lambda a, i: reduced("replace")(a, i, one((20, 40))), x, np.repeat(where[:, None], 40, 1))
    same(lambda a, i: reduced("max")(a, i, one((20,))), x[:, 0].copy(), where)


@pytest.mark.usefixtures("way", "small")
@pytest.mark.parametrize("at", [(0,), (37, 61), (82,), (5, 5)])
@pytest.mark.parametrize("wrong", [7, -1, 1 << 40, -(1 << 62)])
def test_the_first_index_outside_is_reported(at: tuple[int, ...], wrong: int) -> None:
    where = rng.integers(0, 7, 83)
    where[list(at)] = wrong
    ones = np.ones(83, np.int32)
    same(segments("sum"), ones, where)
    same(reduced("add"), np.ones(7, np.int32), where, ones)


@pytest.mark.usefixtures("way", "small")
@pytest.mark.parametrize("unique", [False, True])
@pytest.mark.parametrize("is_sorted", [False, True])
def test_promises_of_ids(is_sorted: bool, unique: bool) -> None:
    for where in (np.arange(30), np.arange(30) // 2, np.arange(30)[::-1].copy(), np.r_[0:20, 30]):
        same(segments("sum", num_segments=30, indices_are_sorted=is_sorted, unique=unique), np.ones(len(where), np.int32), where)


def explained(types: str, body: Callable[..., Any]) -> str:
    return "\n".join(mind_runtime.compile(program(types, body), target="native").explain(rejected=True))


MANY = "[65536]"


def test_counting_stores_no_updates() -> None:
    """A histogram is the kernel that counts and the one that adds up tables."""

    def histogram(x: Any) -> Any:
        return ma.bincount(x, minlength=100)

    module = ma.trace(histogram, ma.spec((65536,), np.int32, name="x"))
    found = mind_runtime.compile(module, target="native")
    assert [line for line in found.explain() if "copy" in line] == []
    assert "segment_reduce of [65536] in 4 parts, each in 4 private tables of 100" in "\n".join(found.explain())
    x = rng.integers(0, 100, 65536).astype(np.int32)
    np.testing.assert_array_equal(found(x), np.bincount(x, minlength=100))


def test_counting_in_floats_stores_no_updates() -> None:
    def counted(ids: Any) -> Any:
        return ma.segment_sum(ma.ones((65536,), dtype=ma.float32), ids, num_segments=9)

    found = mind_runtime.compile(ma.trace(counted, ma.spec((65536,), np.int32, name="ids")), target="native")
    assert [line for line in found.explain() if "copy over [65536]" in line] == []
    assert "0 ops on NumPy" in found.explain()[0]
    ids = rng.integers(0, 9, 65536).astype(np.int32)
    np.testing.assert_array_equal(found(ids), np.bincount(ids, minlength=9).astype(np.float32))


@pytest.mark.parametrize(
    ("types", "body", "reason"),
    [
        (f"f32{MANY} si32{MANY}", segments("sum"), "the order of updates matters in f32"),
        (f"f32{MANY} si32{MANY}", segments("max"), "the order of updates matters in f32"),
        (f"si32[9] si64{MANY} si32{MANY}", reduced("replace"), "the last of several updates stays"),
        ("si32[65536,2] si32[65536]", segments("sum"), "updates are not single elements along one axis"),
        ("si32[9,2] si64[65536,2] si32[65536,2]", reduced("add"), "updates are not single elements along one axis"),
        ("si32[20000] si32[20000]", segments("sum"), "20000 updates are few for tables of 7"),
        (f"si32{MANY} si32{MANY}", segments("sum", num_segments=5000), "65536 updates are few for tables of 5000"),
        ("si64[9999999] si32[9999999]", segments("sum", num_segments=99999), "more than half of the second cache"),
    ],
)
def test_where_there_are_no_private_tables(types: str, body: Callable[..., Any], reason: str) -> None:
    lines = explained(types, body)
    assert f"not private tables: {reason}" in lines or reason in lines
    assert "private tables of" not in lines


@pytest.mark.parametrize("isa", ["avx512", "avx2", "baseline", "neon", "sve256"])
def test_code_of_each_machine(isa: str) -> None:
    """Updates of one iteration take turns in the tables of a part, from memory that indices were checked in."""

    def func() -> FuncOp:
        (found,) = functions(program(f"si32{MANY} si64{MANY}", segments("sum")))
        return prepared(found, TARGETS[isa])

    steps = [k.step for k in planned(func(), TARGETS[isa]).planner.kernels.values()]
    (step,) = (step for step in steps if isinstance(step, PrivateScatter))
    assert step.tables.shape == (4, kernels_scatters.BANKS, 7)
    assert jit.assembly(lower(func(), TARGETS[isa]).text, TARGETS[isa])
