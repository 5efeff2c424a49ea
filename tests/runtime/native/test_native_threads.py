"""Threads share kernels: results are those of one thread, bit for bit, and failures those of the first unit that fails."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from mind_dialect import ptir
from mind_dialect.errors import MindError, brief
from mind_dialect.ptir.types import DTYPES
from mind_lowering.native import calling, kernel_text, partials, sorts
from mind_lowering.native import host as host_module
from mind_lowering.native.products import loops as products_loops
from mind_runtime.native import settings
from native_checks import assert_close, computed_here, several
from ptir_forms import like, program, reduce, softmax, spread
from ptir_random_programs import Maker

THREADS = (1, 2, 3, 8)


@pytest.fixture(autouse=True)
def new_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that was compiled before is found."""
    monkeypatch.setenv("MIND_CACHE_DIR", str(tmp_path))
    mind_runtime.clear_cache()


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every kernel is shared, a unit at a time, and every reduction with few results is cut up."""
    for name, value in {"SHARED": 0, "SHORTEST": 1, "LONGEST": 1}.items():
        monkeypatch.setattr(calling, name, value)
    for name, value in {"LEAST_WORK": 0, "LEAST_PART": 4, "LEAST_ROWS": 2}.items():
        monkeypatch.setattr(partials, name, value)


def compiled(module: Any, threads: int | None = None) -> Any:
    return mind_runtime.compile(module, target="native", threads=threads)


def arrays_of(run: Any, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    found = []
    for spec in run.inputs:
        x = rng.standard_normal(spec.shape) if spec.numpy_dtype.kind != "i" else rng.integers(0, 7, spec.shape)
        found.append(np.asarray(x).astype(spec.numpy_dtype))
    return found


def same_for_all(module: Any, *, seed: int = 0) -> Any:
    """Results of some numbers of threads, three times each, all the same; the program of one thread and its arguments."""
    runs = [compiled(module, n) for n in THREADS]
    arrays = arrays_of(runs[0], seed)
    expected = [x.tobytes() for x in several(runs[0](*arrays))]
    for run in runs[1:]:
        assert run.source == runs[0].source
        for _ in range(3):
            assert [x.tobytes() for x in several(run(*arrays))] == expected
    return runs[0], arrays


def total(kind: str = "sum", *axes: int, keepdims: bool = False) -> Callable[[Any], Any]:
    return lambda x: ptir.ReduceOp(x, kind=kind, axes=axes, keepdims=keepdims)


def counted(n: int) -> Any:
    return ptir.IotaOp(dtype=DTYPES["f32"], shape=(n,), axis=0)


def turned(a: Any) -> Any:
    return ptir.TransposeOp(a, perm=(4, 2, 0, 1, 3))


def dot(a: Any, b: Any, batch: int = 0) -> Any:
    axes = tuple(range(batch))
    return ptir.DotGeneralOp(a, b, contract_lhs=(batch + 1,), contract_rhs=(batch,), batch_lhs=axes, batch_rhs=axes)


PROGRAMS: dict[str, Any] = {
    "elementwise": ("f32[300000] f32[300000]", lambda a, b: [ptir.SubOp(ptir.MulOp(a, b), ptir.ExpOp(a))]),
    "elementwise, a tail": ("f64[100003]", lambda a: [ptir.TanhOp(a)]),
    "two rows": ("f32[2,200000] f32[200000]", lambda a, b: [ptir.ExpOp(ptir.AddOp(a, spread(b, a)))]),
    "transposed": ("f32[700,600]", lambda a: [ptir.ExpOp(ptir.TransposeOp(a, perm=(1, 0)))]),
    "softmax": ("f32[300,1000]", lambda a: [softmax(a)]),
    "rows": ("f32[400,999]", lambda a: [reduce(ptir.MulOp(a, a), "sum")]),
    "columns": ("f32[9001,100]", lambda a: [reduce(ptir.MulOp(a, a), "sum", 0)]),
    "wide columns": ("f32[300,5000]", lambda a: [reduce(a, "max", 0), reduce(a, "min", 0)]),
    "all": ("f32[1000003]", total("sum", 0)),
    "all, squared": ("f32[1009,500]", lambda a: [total("sum", 0, 1)(ptir.MulOp(a, a)), ptir.NegOp(a)]),
    "few rows": ("f32[3,500000]", total("sum", 1, keepdims=True)),
    "channels": ("f32[16,40,40,24]", total("sum", 0, 1, 2)),
    "halves": ("f16[2000003]", total("sum", 0)),
    "integers": ("si32[500009]", total("sum", 0)),
    "product": ("f32[300,200] f32[200,500]", dot),
    "batches": ("f32[12,70,64] f32[12,64,90]", lambda a, b: dot(a, b, 1)),
    "one row": ("f32[1,900] f32[900,3000]", dot),
    "gather": ("f32[500,300] si32[3000]", lambda a, i: [ptir.TakeOp(a, i)]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_do_not_depend_on_the_number_of_threads(name: str) -> None:
    types, body = PROGRAMS[name]
    run, arrays = same_for_all(program(types, body))
    assert "%share" in run.source or not computed_here(types.partition("[")[0])
    expected = several(mind_runtime.compile(program(types, body))(*arrays))
    for a, b in zip(several(run(*arrays)), expected, strict=True):
        assert_close(a, b, ulps=64, scale=float(np.abs(b.astype(np.float64)).max()))


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 4 == 0:
        monkeypatch.setenv(host_module.CHECKS_VARIABLE, "1")
    same_for_all(Maker(500 + seed, DTYPES[("f32", "si64", "ui8", "f64")[seed % 4]]).module(20), seed=seed)


# Reductions that are cut up

REDUCED: dict[str, Any] = {
    "a prime": ("f32[101]", total("sum", 0)),
    "nothing": ("f32[0]", total("max", 0)),
    "one": ("f32[1,1]", total("max", 0, 1)),
    "several results": ("f32[3,70]", lambda a: [total("max", 1)(a), total("sum", 1, keepdims=True)(ptir.MulOp(a, a))]),
    "a middle axis": ("f32[2,53,3]", total("min", 1)),
    "outer and inner axes": ("f32[11,3,13]", total("sum", 0, 2)),
    "a result on the way": ("f32[7,31]", lambda a: [b := ptir.ExpOp(a), total("sum", 0, 1)(b)]),
    "looked up": ("f32[9,50] si32[41]", lambda a, i: [total("sum", 0, 1, keepdims=True)(ptir.TakeOp(a, i))]),
    "counted": ("f32[200]", lambda a: [total("sum", 0)(ptir.MulOp(a, counted(200)))]),
    "reversed": ("f32[90,2]", lambda a: [total("sum", 0)(ptir.ReverseOp(a, axes=(0, 1)))]),
    "bf16": ("bf16[300]", total("sum", 0)),
    "least of f16": ("f16[300]", total("min", 0)),
    "bytes": ("ui8[301,2]", total("sum", 0)),
    "truths": ("i1[301]", total("max", 0)),
    "axes shorter than the parts wanted": ("f32[3,3,3,3,3]", lambda a: [total("sum", 0, 1, 2, 3, 4)(ptir.MulOp(a, turned(a)))]),
    "no places behind a broadcast": (
        "f32[300,1]",
        lambda a: [total("sum", 0)(ptir.ExpOp(ptir.BroadcastToOp(a, result_shape=(300, 0))))],
    ),
}


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("checked", [False, True], ids=["", "checked"])
@pytest.mark.parametrize("name", REDUCED)
def test_reductions_in_parts(name: str, checked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if checked:
        monkeypatch.setenv(host_module.CHECKS_VARIABLE, "1")
    types, body = REDUCED[name]
    run, arrays = same_for_all(program(types, body))
    if name not in ("nothing", "one", "no places behind a broadcast") and computed_here(types.partition("[")[0]):
        assert any(".fold:" in line for line in run.explain())
    expected = several(mind_runtime.compile(program(types, body))(*arrays))
    for a, b in zip(several(run(*arrays)), expected, strict=True):
        assert_close(a, b, ulps=16, scale=4.0)


def test_parts_depend_on_shapes_alone() -> None:
    module = program("f32[1000003]", total("sum", 0))
    assert compiled(module, 1).explain() == compiled(module, 8).explain()
    assert [line.split(":")[0].rpartition(".")[2] for line in compiled(module).explain()[1:]] == ["parts", "rest", "fold"]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_no_part_loses_a_special_value(bad: float) -> None:
    run, reference = (mind_runtime.compile(program("f32[1000003]", total("max", 0)), target=t) for t in ("native", "numpy"))
    for place in (0, 7, 500_000, 1_000_002):
        x = np.zeros(1_000_003, np.float32)
        x[place] = bad
        np.testing.assert_array_equal(run(x), reference(x))


# Failures


@pytest.mark.parametrize("threads", THREADS)
def test_the_first_failure_is_the_one(threads: int) -> None:
    module = program("f32[500,16] si32[400000]", lambda a, i: [ptir.TakeOp(a, i)])
    run, a = compiled(module, threads), np.ones((500, 16), np.float32)
    rng = np.random.default_rng(threads)
    for _ in range(20):
        indices = rng.integers(0, 500, 400_000).astype(np.int32)
        places = np.sort(rng.integers(0, 400_000, 50))
        indices[places] = 1000 + np.arange(50)
        with pytest.raises(MindError, match=rf"\b{indices[places[0]]}\b") as e:
            run(a, indices)
        assert e.value.code == "E6001"
    assert run(a, np.zeros(400_000, np.int32)).all()


# Kernels with long units


LONG: dict[str, Any] = {
    "sort": ("f32[3,50]", lambda x: [ptir.SortOp(x, axis=1, descending=True)]),
    "top of many": ("si32[2,300]", lambda x: list(ptir.TopKOp(x, k=9, axis=1, largest=True, indices_dtype="si32").results)),
    "running sum": ("f64[4,91]", lambda x: [ptir.CumulativeSumOp(x, axis=1, exclusive=True, reverse=False)]),
    "product": ("f32[40,9000] f32[9000,300]", dot),
    "scatter": ("f32[9] si32[60] f32[60]", lambda x, i, u: [ptir.ScatterReduceOp(x, i, u, kind="add", axis=0)]),
}


@pytest.mark.parametrize("name", LONG)
def test_kernels_with_long_units_look_for_signals(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In loops that are long; results are the same."""
    types, body = LONG[name]
    short = compiled(program(types, body))
    arrays = arrays_of(short)
    expected = [x.tobytes() for x in several(short(*arrays))]
    assert "%poll." not in short.source
    mind_runtime.clear_cache()
    for module, name, iterations in ((kernel_text, "PATIENCE", 7), (sorts, "PATIENCE", 7), (products_loops, "LONG", 0)):
        monkeypatch.setattr(module, name, iterations)
    monkeypatch.setenv("MIND_CACHE_DIR", "")
    patient = compiled(program(types, body))
    assert "%poll." in patient.source
    assert [x.tobytes() for x in several(patient(*arrays))] == expected


# Many callers


def test_calls_from_many_threads_at_once() -> None:
    module = program("f32[300000]", lambda a: [ptir.ExpOp(a), total("sum", 0)(a)])
    run = compiled(module, 4)
    inputs = [np.full(300_000, n, np.float32) for n in range(6)]
    expected = [[y.tobytes() for y in run(x)] for x in inputs]
    wrong: list[int] = []

    def work(n: int) -> None:
        for _ in range(40):
            if [y.tobytes() for y in run(inputs[n])] != expected[n]:
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


# How many


def test_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    module = program("f32[3]", lambda a: [ptir.NegOp(a)])
    monkeypatch.delenv(settings.THREADS_VARIABLE, raising=False)
    assert compiled(module).threads == settings.cores()
    assert compiled(module, 5).threads == 5
    monkeypatch.setenv(settings.THREADS_VARIABLE, " 3 ")
    assert compiled(module).threads == 3
    assert compiled(module, 2).threads == 2
    monkeypatch.setenv(settings.THREADS_VARIABLE, "")
    assert compiled(module).threads == settings.cores()
    if hasattr(os, "sched_getaffinity"):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3})
        assert compiled(module).threads == 1


@pytest.mark.parametrize("bad", ["0", "-1", "two", "1.5", "257", "٣", "9" * 30])
def test_a_variable_that_is_no_number_of_threads(bad: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(settings.THREADS_VARIABLE, bad)
    with pytest.raises(MindError, match="MIND_NUM_THREADS") as e:
        compiled(program("f32[3]", lambda a: [ptir.NegOp(a)]))
    assert (e.value.code, e.value.context["option"]) == ("E7001", "MIND_NUM_THREADS")


@pytest.mark.parametrize("bad", [0, -1, 257, 1.5, "2", True, 10**5000], ids=brief)
def test_an_option_that_is_no_number_of_threads(bad: Any) -> None:
    with pytest.raises(MindError) as e:
        compiled(program("f32[3]", lambda a: [ptir.NegOp(a)]), bad)
    assert (e.value.code, e.value.context["option"]) == ("E7001", "threads")


def test_bound_weights() -> None:
    run = mind_runtime.bind(program("f32[3] f32[3]", ptir.AddOp), {"arg1": np.ones(3, np.float32)}, target="native", threads=3)
    assert run.program.threads == 3
    np.testing.assert_array_equal(run(np.zeros(3, np.float32)), np.ones(3))


def test_threads_are_for_the_native_target() -> None:
    with pytest.raises(MindError) as e:
        mind_runtime.compile(program("f32[3]", lambda a: [ptir.NegOp(a)]), threads=2)
    assert e.value.code == "E7001"


def test_small_kernels_are_called_at_once() -> None:
    run = compiled(program("f32[8]", lambda a: [ptir.NegOp(ptir.AddOp(a, like(a, 1.0)))]))
    assert "%share" not in run.source
