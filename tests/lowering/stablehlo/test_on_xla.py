"""What XLA makes of exported programs against the NumPy target: every op and kind, in every dtype that it takes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from xdsl.dialects.builtin import ModuleOp

from cupy_agreement import close
from mind_dialect import ptir
from mind_dialect.program import functions
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.legal import LEGAL
from mind_dialect.ptir.types import ALL, DTYPES, SI32, SI64, PtirDType
from mind_lowering.ptir_kernels.formats import array_dtype, format_of
from mind_runtime import compile
from programs import parse
from ptir_batching_rows import ROWS, inputs
from ptir_control_programs import control_programs, number
from ptir_forms import program
from ptir_oracle import samples
from ptir_programs import regions_module

jax = pytest.importorskip("jax", reason="JAX is not installed")
from xla_runs import normal_numbers, run_all  # noqa: E402, after the skip

Case = tuple[ModuleOp, list[np.ndarray]]


def agree(cases: list[Case], *, seed: int = 0, exact: bool = False, checks: bool = True) -> None:
    """Run all by XLA and by NumPy, and compare."""
    pairs = [(next(functions(module)), arrays) for module, arrays in cases]
    for (module, arrays), found in zip(cases, run_all(pairs, seed=seed, checks=checks), strict=True):
        expected = compile(module)(*arrays, seed=seed)
        wanted = expected if isinstance(expected, tuple) else (expected,)
        if checks:
            assert found.pop() == 0
        assert len(found) == len(wanted)
        for x, y in zip(found, wanted, strict=True):
            if exact:
                equal(x, np.asarray(y), str(module))
            else:
                close(x, np.asarray(y), str(module))


def equal(found: np.ndarray, wanted: np.ndarray, name: str) -> None:
    """The same numbers, NaN where there is NaN; NumPy compares NaN so only of its own dtypes."""
    assert found.dtype == wanted.dtype
    if DTYPES[format_of(found.dtype).name].is_float:
        found, wanted = found.astype(np.float64), wanted.astype(np.float64)
    np.testing.assert_array_equal(found, wanted, err_msg=name)


def test_there_is_a_row_for_every_op_and_kind() -> None:
    here = {"constant", "iota", "rng_uniform", "rng_normal", "cond", "while", "scan", "fusion"}
    without_form = {"custom_call", "yield"}
    assert {row.key for row in ROWS} | here | without_form == LEGAL.keys()


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_ops_in_every_dtype(row) -> None:
    cases: list[Case] = []
    for dtype in row.legal():
        module = row.module(dtype)
        arrays = inputs(next(functions(module)), row)
        cases.append((module, [normal_numbers(a) for a in arrays]))
    agree(cases)


EDGES = [2.0**31, -(2.0**31) - 1, 2.0**31 - 1, 255.5, -0.5, 127.99, 2.0**63, 2.0**64, 1e300, 7.5, -8.9, np.nan, np.inf, -np.inf]


@pytest.mark.parametrize("source", ALL, ids=str)
def test_casts_to_every_dtype(source: PtirDType) -> None:
    pool = samples(source, 60)
    if source.name == "f64":
        pool = np.concatenate([pool, EDGES, 1 + 2.0 ** -np.arange(1.0, 50)])
    if source.bits == 64 and source.kind in ("signed", "unsigned"):
        wide = [2**k + d for k in (53, 54, 60, 62) for d in (-1, 0, 1, 3)]
        pool = np.concatenate([pool, np.array(wide, pool.dtype)])
    pool = normal_numbers(pool)
    targets = [d for d in ALL if d.kind == "complex" or source.kind != "complex"]
    cases: list[Case] = []
    for target in targets:
        module = program(f"{source}[{len(pool)}]", lambda x, to=target: [ptir.CastOp(x, dtype=to)])
        cases.append((module, [pool]))
    pairs = [(next(functions(module)), arrays) for module, arrays in cases]
    for (module, arrays), (found,) in zip(cases, run_all(pairs), strict=True):
        wanted = compile(module)(*arrays)
        equal(normal_numbers(found), normal_numbers(wanted), str(module))


def test_constants_and_counting() -> None:
    cases: list[Case] = []
    for dtype in ALL:
        values = normal_numbers(samples(dtype, 24))
        literal = PtirLiteralAttr.from_values(dtype, (len(values),), values.tolist())
        many = PtirLiteralAttr.from_values(dtype, (10, len(values)), values.tolist() * 10)
        fill = PtirLiteralAttr.filled(dtype, (2, 2), values[-1].item())
        cases += [(program("", lambda v=v: [ptir.ConstantOp(v)]), []) for v in (literal, many, fill)]
        if dtype in LEGAL["iota"]["dtype"]:
            shape = {"shape": (300, 2), "dtype": dtype.name}
            cases += [(program("", lambda s=shape, a=axis: [ptir.IotaOp(**s, axis=a)]), []) for axis in (0, -1)]
    agree(cases, exact=True)


@pytest.mark.parametrize("seed", [0, 12345678901234567890])
def test_random_numbers_have_the_same_bits(seed: int) -> None:
    """Uniform ones exactly; normal ones but for the last digit of a logarithm in f64."""
    for op, exact in ((ptir.RngUniformOp, True), (ptir.RngNormalOp, False)):
        shapes = [(), (7,), (3, 5), (0, 2)]
        made = [(s, d) for s in shapes for d in LEGAL[op.OPCODE]["dtype"]]

        def body(*_: Any, op: Any = op, made: Any = made) -> Any:
            return [op(shape=s, dtype=d.name) for s, d in made]

        agree([(program("", body), [])], seed=seed, exact=exact)


def _random_loops() -> ModuleOp:
    """Random numbers in a while loop, in its condition, and in a scan inside of it."""

    def uniform() -> Any:
        return ptir.RngUniformOp(shape=(3,), dtype="f32")

    def cond(i: Any, x: Any) -> Any:
        return [ptir.CompareOp(i, number(SI32, (), 3), kind="less"), i, ptir.AddOp(x, uniform())]

    def step(carried: Any, row: Any) -> Any:
        new = ptir.AddOp(ptir.MulOp(carried, row), uniform())
        return [new, new]

    def body(i: Any, x: Any) -> Any:
        rows = ptir.ReshapeOp(ptir.ConcatOp(x, x, axis=0), new_shape=(2, 3))
        last = ptir.ScanOp(x, rows, carry_count=1, scan_output_count=1, body=step)
        return [ptir.AddOp(i, number(SI32, (), 1)), last.results[0]]

    def whole(x: Any) -> Any:
        return [uniform(), *ptir.WhileOp(number(SI32, (), 0), x, cond=cond, body=body).results[1:], uniform()]

    return program("f32[3]", whole)


def test_random_numbers_in_loops_have_the_keys_of_their_iterations() -> None:
    agree([(_random_loops(), [np.arange(3, dtype=np.float32)])], seed=7)


def test_regions() -> None:
    module = regions_module()
    func = next(functions(module))
    program_ = compile(module, func.sym_name.data)
    rng = np.random.default_rng(0)
    arrays = [np.asarray(rng.integers(0, 2, s.shape)).astype(s.numpy_dtype) for s in program_.inputs]
    agree([(module, arrays)])


def test_loops_without_iterations() -> None:
    """A scan over nothing, whose body would index nothing."""

    def step(carried: Any, row: Any) -> Any:
        return [ptir.AddOp(carried, row), row]

    def body(x: Any, rows: Any) -> Any:
        return list(ptir.ScanOp(x, rows, carry_count=1, scan_output_count=1, body=step).results)

    agree([(program("f32[3] f32[0,3]", body), [np.ones(3, np.float32), np.ones((0, 3), np.float32)])])


@settings(max_examples=12)
@given(control_programs())
def test_random_programs_of_branches_and_loops(text: str) -> None:
    module = parse(text)
    sizes = [spec.shape for spec in compile(module).inputs]
    agree([(module, [np.arange(math.prod(s), dtype=np.float32).reshape(s) / 4 for s in sizes])])


def faults(module: ModuleOp, *arrays: Any) -> int:
    """1 more than the number of the op that XLA found wrong first, or 0."""
    (found,) = run_all([(next(functions(module)), [np.asarray(a) for a in arrays])], checks=True)
    return int(found[-1])


def test_checks_find_the_first_op_that_is_wrong() -> None:
    module = program("si32[2] si32[2] f32[3]", lambda a, b, x: [ptir.DivOp(a, b), ptir.TakeOp(x, a), ptir.RemainderOp(a, b)])
    x = np.ones(3, np.float32)

    def fault(a: list[int], b: list[int]) -> int:
        return faults(module, np.array(a, np.int32), np.array(b, np.int32), x)

    assert fault([1, 2], [1, 2]) == 0
    assert fault([1, 2], [1, 0]) == 1
    assert fault([2, 3], [1, 2]) == 2
    assert fault([-1, 2], [1, 2]) == 2
    assert fault([2, 3], [0, 2]) == 1


RAISING = [row for row in ROWS if row.below and "shift" not in row.key and row.properties.get("mode", "raise") == "raise"]
RAISING += [
    replace(row, properties={**row.properties, "mode": "raise"}, below={1: 5}) for row in ROWS if row.key == "scatter_windows add"
]


@pytest.mark.parametrize("row", RAISING, ids=str)
def test_checks_find_every_index_out_of_range(row) -> None:
    module = row.module(DTYPES["f32"])
    arrays = inputs(next(functions(module)), row)
    assert faults(module, *arrays) == 0
    for i, first_wrong in row.below.items():
        for value in (-1, first_wrong if row.name != "windows" else 4):
            wrong = arrays[i].copy()
            wrong.reshape(-1)[-1] = value
            assert faults(module, *arrays[:i], wrong, *arrays[i + 1 :]) == 1


def test_checks_reach_out_of_regions() -> None:
    def step(carried: Any, row: Any) -> Any:
        return [ptir.DivOp(carried, row), row]

    def branch(a: Any, rows: Any) -> Any:
        return [ptir.ScanOp(a, rows, carry_count=1, scan_output_count=1, body=step).results[0]]

    def other(a: Any, rows: Any) -> Any:
        return [a]

    def cond(i: Any, a: Any, rows: Any, p: Any) -> Any:
        return [ptir.CompareOp(i, number(SI64, (), 2), kind="less"), i, a, rows, p]

    def body(i: Any, a: Any, rows: Any, p: Any) -> Any:
        (found,) = ptir.CondOp(p, a, rows, true=branch, false=other).results
        return [ptir.AddOp(i, number(SI64, (), 1)), found, rows, p]

    def whole(a: Any, rows: Any, p: Any) -> Any:
        return [ptir.WhileOp(number(SI64, (), 0), a, rows, p, cond=cond, body=body).results[1]]

    module = program("si32[] si32[3] i1[]", whole)
    a = np.array(5, np.int32)
    assert faults(module, a, np.array([1, 2, 3], np.int32), np.array(True)) == 0
    assert faults(module, a, np.array([1, 0, 3], np.int32), np.array(True)) == 1
    assert faults(module, a, np.array([1, 0, 3], np.int32), np.array(False)) == 0


@pytest.mark.parametrize("dtype", ["f32", "bf16", "si8", "ui32"])
@pytest.mark.parametrize("kind", ["max", "min"])
def test_winners_of_windows_with_nan_ties_and_padding(kind: str, dtype: str) -> None:
    """NaN wins, the first of equals wins, padding loses to what is equal to its value and is -1 alone."""
    worst = {"max": -np.inf, "min": np.inf}[kind]
    values = [1, 1, np.nan, 2, worst, worst, 0, np.nan] if DTYPES[dtype].is_float else [1, 1, 0, 2, 2, 0, 0, 127]
    x = np.resize(np.array(values), (5, 6)).astype(array_dtype(dtype))
    cases: list[Case] = []
    for window, strides, padding, dilation in (
        ((2, 3), (1, 2), ((1, 1), (2, 0)), (1, 1)),
        ((2, 2), (2, 1), ((3, 0), (0, 4)), (2, 1)),
        ((1, 6), (1, 1), ((0, 0), (6, 6)), (1, 1)),
    ):
        p = {"window_dims": window, "strides": strides, "padding": padding, "window_dilation": dilation}
        for index in ("si32", "si64"):
            module = program(f"{dtype}[5,6]", lambda x, p=p, i=index: [ptir.WindowArgOp(x, kind=kind, output_dtype=i, **p)])
            cases.append((module, [x]))
    agree(cases, exact=True)
