"""
Running sums, updates in place, scattered updates and segments as kernels, against the NumPy target.

Updates of one element are combined in their order, so results of scatters and segments are the same bits.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from closed_tables import expect_rows
from cuda_emulation import ARCHITECTURES, compiled, compiler
from cupy_agreement import agree, arguments, in_one_batch
from fake_device import Batch, compile_on_fake
from mind_dialect import ptir
from mind_dialect.ptir import TARGETED
from mind_lowering.cupy.cuda_cpp.text import module_text
from mind_lowering.cupy.kernels.patterns import ROWS
from mind_lowering.cupy.options import CupyOptions
from mind_runtime.on_cupy import CupyProgram
from ptir_forms import like, program, shape

pytest.importorskip("ml_dtypes", reason="no ml_dtypes: narrow floats have no arrays to compare with")


def summed(axis: int, *, exclusive: bool = False, reverse: bool = False) -> Any:
    return lambda x: ptir.CumulativeSumOp(x, axis=axis, exclusive=exclusive, reverse=reverse)


def running(kind: str, axis: int, *, exclusive: bool = False, reverse: bool = False) -> Any:
    return lambda x: ptir.CumulativeOp(x, kind=kind, axis=axis, exclusive=exclusive, reverse=reverse)


def reduced(kind: str, axis: int) -> Any:
    return lambda x, i, u: ptir.ScatterReduceOp(x, i, u, kind=kind, axis=axis)


DIMS = {"update_window_dims": (1,), "inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,)}


def added(**dims: Any) -> Any:
    return lambda x, i, u: ptir.ScatterAddOp(x, i, u, **{**DIMS, **dims})


def segmented(kind: str, n: int = 9, **options: Any) -> Any:
    settings = {"indices_are_sorted": False, "unique": False, **options}
    return lambda x, i: ptir.SegmentReduceOp(x, i, kind=kind, num_segments=n, **settings)


def window(x: Any, u: Any, start: Any) -> Any:
    return ptir.DynamicUpdateSliceOp(x, u, start, sizes=shape(u))


OVERLAPPING = {"update_window_dims": (1,), "inserted_window_dims": (), "scatter_dims_to_operand_dims": (0,)}

SUMS = [("5,77", 1), ("5,77", 0), ("3,1500", 1), ("2,70,3", 1), ("1030", 0), ("4,1", 1)]
CASES: list[tuple[str, str, Any]] = [
    *((f"sums {s} {a}", f"f32[{s}]", summed(a)) for s, a in SUMS),
    *((f"sums of {t}", f"{t}[3,40]", summed(1)) for t in ("f16", "bf16", "f64", "si8", "ui32", "si64")),
    *((f"sums {e} {r}", "f32[3,1100]", summed(1, exclusive=e, reverse=r)) for e in (False, True) for r in (False, True)),
    *(
        (f"sums of columns {e} {r}", "si32[30,7]", summed(0, exclusive=e, reverse=r))
        for e in (False, True)
        for r in (False, True)
    ),
    *((f"running {k} {t}", f"{t}[5,40]", running(k, 1)) for k in ("prod", "max", "min") for t in ("f32", "f16", "si8", "ui64")),
    *((f"running {k} of columns", "f32[30,7]", running(k, 0, exclusive=True, reverse=True)) for k in ("prod", "max", "min")),
    ("running truths", "i1[3,40]", running("max", 1, exclusive=True)),
    ("sums of a product", "f32[3,70]", lambda x: summed(1)(ptir.MulOp(x, x))),
    *(
        (f"{k} {t}", f"{t}[9,4] si32[30,4] {t}[30,4]", reduced(k, 0))
        for k in ("add", "max", "min", "replace")
        for t in ("f32", "si8")
    ),
    *((f"add {t}", f"{t}[3,9] si64[3,20] {t}[3,20]", reduced("add", 1)) for t in ("f16", "bf16", "f64", "ui8")),
    ("add to a vector", "f32[9] si32[300] f32[300]", reduced("add", 0)),
    ("max of truths", "i1[9] si32[3] i1[3]", reduced("max", 0)),
    ("rows", "f32[9,40] si32[50] f32[50,40]", added()),
    ("wide rows", "f32[9,1300] si32[20] f32[20,1300]", added()),
    ("narrow rows", "bf16[9,4] si32[50] bf16[50,4]", added()),
    ("rows of a table", "f32[9,4] si32[3,5,1] f32[3,5,4]", added(update_window_dims=(2,), index_vector_dim=2)),
    (
        "columns",
        "f32[4,9] si32[20] f32[4,20]",
        added(update_window_dims=(0,), inserted_window_dims=(1,), scatter_dims_to_operand_dims=(1,)),
    ),
    (
        "pairs",
        "f32[7,3,8] si64[2,20] f32[20,3]",
        added(inserted_window_dims=(0, 2), scatter_dims_to_operand_dims=(0, 2), index_vector_dim=0),
    ),
    (
        "one window",
        "f32[9,9] si32[2] f32[2,3]",
        added(update_window_dims=(0, 1), inserted_window_dims=(), scatter_dims_to_operand_dims=(0, 1), index_vector_dim=0),
    ),
    *((f"segments {k} {t}", f"{t}[30,5] si32[30]", segmented(k)) for k in ("sum", "max") for t in ("f32", "f16", "si8")),
    ("segments of vectors", "f32[300] si64[300]", segmented("sum")),
    ("segments of tables", "f32[30,3,400] si32[30]", segmented("sum")),
    ("segments, wide", "si8[300] si32[300]", segmented("sum", accum_dtype="si32")),
    ("segments, sorted", "f32[8,5] si32[8]", segmented("sum", indices_are_sorted=True)),
    ("segments, unique", "f32[8,5] si32[8]", segmented("sum", indices_are_sorted=True, unique=True)),
    *((f"rows of {t}", f"{t}[9,4] si32[50] {t}[50,4]", added()) for t in ("si32", "ui64")),
    ("integers that overlap", "si32[11] si32[50] si32[50,3]", added(**OVERLAPPING)),
    *((f"add {t}", f"{t}[3,9] si64[3,20] {t}[3,20]", reduced("add", 1)) for t in ("si32", "ui32", "si64")),
    *(
        (f"{k} {t}", f"{t}[3,9] si32[3,20] {t}[3,20]", reduced(k, 1))
        for k in ("max", "min")
        for t in ("si32", "ui32", "si64", "ui64")
    ),
    ("window", "f32[2,20,3] f32[2,4,3] si32[3]", window),
    ("window of an exponential", "bf16[20] bf16[4] si64[1]", lambda x, u, s: window(x, ptir.ExpOp(u), s)),
    ("old and new", "f32[9,4] si32[5] f32[5,4]", lambda x, i, u: [added()(x, i, u), ptir.NegOp(x)]),
    ("of a negative", "f32[9,4] si32[5] f32[5,4]", lambda x, i, u: added()(ptir.NegOp(x), i, u)),
    ("rows of zeros", "si32[5] f32[5,4]", lambda i, u: added()(like(ptir.ConcatOp(u, u, axis=0), 0.0), i, u)),
    ("products of updates", "f32[9,4] si32[5] f32[5,4]", lambda x, i, u: added()(x, i, ptir.MulOp(u, u))),
]


@lru_cache(maxsize=1)
def batch() -> tuple[Batch, list[tuple[str, CupyProgram, Any]]]:
    return in_one_batch([(name, program(types, body)) for name, types, body in CASES])


def case(name: str) -> tuple[CupyProgram, Any]:
    ((made, module),) = [(made, module) for n, made, module in batch()[1] if n == name]
    return made, module


def given(name: str, made: CupyProgram, seed: int) -> list[np.ndarray]:
    values = arguments(made, seed)
    if name == "segments, sorted":
        values[1].sort()
    if name == "segments, unique":
        values[1][:] = [0, 1, 2, 4, 5, 6, 7, 8]
    return values


def test_results_are_those_of_numpy() -> None:
    compiler()
    for i, (name, made, module) in enumerate(batch()[1]):
        agree(name, made, module, given(name, made, i))


def test_each_is_a_kernel() -> None:
    for name, made, _ in batch()[1]:
        calls = set(re.findall(r"(?:xp|k)\.\w+", made.source)) - {"k.copy", "k.fill", "xp.float32"}
        assert calls == {"k.launch"}, f"{name}: {calls}"


def test_scatters_and_segments_are_the_same_bits() -> None:
    compiler()
    for name in ("add f16", "add to a vector", "rows", "narrow rows", "segments sum f32", "segments of vectors"):
        made, module = case(name)
        values = given(name, made, 5)
        for x in values:
            if x.dtype.kind not in "iu":
                x[...] = (x.astype("f4") * 1e3).astype(x.dtype)
        from mind_runtime import compile as on_numpy

        assert np.asarray(made(*values)).tobytes() == np.asarray(on_numpy(module)(*values)).tobytes(), name


@pytest.mark.parametrize("index", [-1, 9, 1 << 31, -(1 << 62)])
@pytest.mark.parametrize("name", ["add f16", "rows of a table", "pairs", "one window", "segments of vectors"])
def test_an_index_out_of_bounds_is_that_of_numpy(name: str, index: int) -> None:
    compiler()
    made, module = case(name)
    values = given(name, made, 0)
    if values[1].dtype.itemsize == 4:
        index = (index + (1 << 31)) % (1 << 32) - (1 << 31)
    values[1].reshape(-1)[1:4] = index
    agree(name, made, module, values)


@pytest.mark.parametrize("name", ["rows", "rows of a table", "add f64", "add to a vector", "add f16", "replace f32"])
def test_with_fast_reduce_floats_are_added_in_any_order(name: str) -> None:
    compiler()
    ((types, body),) = [(t, b) for n, t, b in CASES if n == name]
    module = program(types, body)
    assert "add_to" not in case(name)[0].cuda
    made = compile_on_fake(module.clone(), options=CupyOptions(fast_reduce=True))
    assert ("add_to" in made.cuda) is (name not in ("add f16", "replace f32"))
    agree(name, made, module, arguments(made, 1))
    compiled(module_text([made.cuda]), "sm_90")


@pytest.mark.parametrize(("name", "ids"), [("segments, sorted", 3), ("segments, unique", 1), ("segments, unique", 8)])
def test_a_broken_promise_is_that_of_numpy(name: str, ids: int) -> None:
    compiler()
    made, module = case(name)
    values = given(name, made, 0)
    values[1][ids % 8] = values[1][(ids + 7) % 8] - (ids == 3)
    values[1][values[1] < 0] = 0
    agree(name, made, module, values)


def test_a_donated_array_is_updated_where_it_is() -> None:
    compiler()
    module = program("f32[2,20,3] f32[2,4,3] si32[3]", window)
    made = compile_on_fake(module, donated=[0])
    assert "k.copy" not in made.source
    kept = compile_on_fake(module.clone())
    assert "k.copy" in kept.source


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_nvrtc_compiles_every_kernel(architecture: str) -> None:
    compiled(batch()[0].text(), architecture)


@pytest.mark.quick
def test_there_is_a_kernel_for_every_op_that_is_one() -> None:
    whole = {op for op, part in TARGETED.items() if part in ("whole", "contraction")}
    among_others = {ptir.DotGeneralOp, ptir.ReduceOp, ptir.ArgMaxOp}
    expect_rows("ROWS of mind_lowering/cupy/kernels/patterns.py", ROWS, whole | {ptir.DynamicUpdateSliceOp} | among_others)
