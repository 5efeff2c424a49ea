"""Lines along memory that are walked or written across it: squares are transposed in registers, and nothing is gathered."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from mind_dialect import ptir
from mind_dialect.ptir.types import DTYPES
from mind_lowering.native import TARGETS, crossed, scans, schedule
from mind_lowering.native.program import lower, prepared
from mind_runtime.native import jit
from native_same import block, same, way
from ptir_evaluator import function_of
from ptir_forms import program

__all__ = ["way"]

EDGES = [
    *[(0, 5), (1, 40), (2, 1), (3, 17), (7, 8), (8, 7), (9, 16)],
    *[(15, 15), (16, 64), (17, 65), (33, 63), (65, 9), (130, 33), (5, 200)],
]
SCANS = {
    "sum": lambda v, **flags: ptir.CumulativeSumOp(v, **flags).result,
    **{kind: lambda v, kind=kind, **flags: ptir.CumulativeOp(v, kind=kind, **flags).result for kind in ("prod", "max", "min")},
}
"""By kind."""


def gathers(module: Any, isa: str) -> int:
    """The gathers and scatters in a program's text, of which code for the target is made."""
    text = lower(prepared(function_of(module), TARGETS[isa]), TARGETS[isa]).text
    jit.assembly(text, TARGETS[isa])
    return sum("call" in line and ("masked.gather" in line or "masked.scatter" in line) for line in text.splitlines())


@pytest.mark.exhaustive
@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("exclusive", "reverse"), list(itertools.product((False, True), repeat=2)))
def test_scans_of_lines_of_all_lengths(exclusive: bool, reverse: bool) -> None:
    for shape, (kind, scan) in zip(EDGES, itertools.cycle(SCANS.items())):
        x = block(DTYPES["f32"], shape, special=kind != "prod")
        same(lambda v, scan=scan: scan(v, axis=1, exclusive=exclusive, reverse=reverse), x)


@pytest.mark.exhaustive
@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("dtype", ["bf16", "f64", "si8", "ui16", "si64"])
def test_scans_of_lines_of_other_dtypes(dtype: str) -> None:
    x = block(DTYPES[dtype], (3, 19, 37), special=True)
    same(lambda v: ptir.CumulativeSumOp(v, axis=2, exclusive=False, reverse=True).result, x)
    same(lambda v: ptir.CumulativeOp(v, kind="max", axis=-1, exclusive=True, reverse=False).result, x)


@pytest.mark.exhaustive
@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("exclusive", "reverse"), list(itertools.product((False, True), repeat=2)))
@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16", "si8"])
def test_scans_of_strips_of_lines(dtype: str, exclusive: bool, reverse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scans, "LARGE", 0)
    for shape, (kind, scan) in zip([(7, 8200), (1, 4097), (2, 3, 5003), (60, 4200)], SCANS.items(), strict=True):
        x = np.resize(block(DTYPES[dtype], (997,), special=kind != "prod"), shape)
        same(lambda v, scan=scan: scan(v, axis=-2, exclusive=exclusive, reverse=reverse), x)


def test_strips_are_for_many_lines_that_caches_do_not_hold() -> None:
    def has_totals(shape: str) -> bool:
        module = program(shape, lambda v: [ptir.CumulativeSumOp(v, axis=0, exclusive=False, reverse=False).result])
        return "%totals.1 = alloca" in lower(prepared(function_of(module), TARGETS["avx2"]), TARGETS["avx2"]).text

    assert has_totals("f32[1024,4096]")
    assert not has_totals("f32[511,4096]")
    assert not has_totals("f32[8192,512]")
    assert not has_totals("f32[65536,33]")


def test_an_exclusive_scan_of_lines_begins_with_zero_and_keeps_negative_zeros() -> None:
    x = np.full((9, 21), -0.0, np.float32)
    same(lambda v: ptir.CumulativeSumOp(v, axis=1, exclusive=True, reverse=False).result, x)


@pytest.mark.parametrize("isa", TARGETS)
@pytest.mark.parametrize("dtype", ["f32", "f64", "si8"])
def test_scans_of_lines_gather_nothing(dtype: str, isa: str) -> None:
    def scan(v: Any, axis: int) -> Any:
        return [ptir.CumulativeSumOp(v, axis=axis, exclusive=False, reverse=False).result]

    assert gathers(program(f"{dtype}[70,90]", lambda v: scan(v, 1)), isa) == 0
    assert gathers(program(f"{dtype}[70,90]", lambda v: scan(v, 0)), isa) == 0
    reversed_lines = program(f"{dtype}[70,90]", lambda v: scan(ptir.ReverseOp(v, axes=(1,)).result, 1))
    assert gathers(reversed_lines, isa) > 0


SQUARES = [(0, 40), (40, 0), (1, 40), (15, 64), (16, 17), (17, 16), (33, 63), (65, 31), (64, 130), (300, 40), (40, 300)]


def transpose(x: Any) -> Any:
    return ptir.TransposeOp(x, perm=(1, 0)).result


@pytest.mark.usefixtures("way")
def test_transposes_of_all_extents() -> None:
    for shape in SQUARES:
        same(lambda v: transpose(v), block(DTYPES["f32"], shape, special=True))


@pytest.mark.exhaustive
@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("dtype", ["i1", "si8", "ui16", "bf16", "f64", "si64", "cf32"])
def test_transposes_of_other_dtypes(dtype: str) -> None:
    same(lambda v: transpose(v), block(DTYPES[dtype], (67, 37)))
    same(lambda v: ptir.TransposeOp(v, perm=(0, 2, 1)).result, block(DTYPES[dtype], (3, 17, 70)))
    same(lambda v: ptir.TransposeOp(v, perm=(1, 2, 0)).result, block(DTYPES[dtype], (34, 3, 18)))


@pytest.mark.usefixtures("way")
def test_ops_on_transposes() -> None:
    """Short groups and long ones, several operands that lie across, results that take over an operand."""
    a, b, c = (block(DTYPES["f32"], shape, i, special=True) for i, shape in enumerate([(37, 66), (66, 37), (66, 37)]))
    same(lambda x, y: ptir.AddOp(x, transpose(y)).result, a, b)
    same(lambda x, y, z: ptir.MulOp(ptir.NegOp(ptir.AddOp(x, transpose(y)).result).result, transpose(z)).result, a, b, c)
    same(lambda x, y, z: ptir.SelectOp(ptir.CompareOp(x, transpose(y), kind="less").result, x, transpose(z)).result, a, b, c)

    def long(x: Any, y: Any, z: Any) -> Any:
        for _ in range(4):
            x = ptir.MaximumOp(ptir.AddOp(ptir.NegOp(x).result, transpose(y)).result, transpose(z)).result
        return x

    same(long, a, b, c)


@pytest.mark.parametrize("shape", [(0, 33, 17), (33, 0, 17), (33, 17, 0)])
def test_ops_on_transposes_without_elements(shape: tuple[int, int, int]) -> None:
    """A batch of 0 images leaves no units of work to divide by."""
    x, y = (block(DTYPES["f32"], s) for s in (shape, (shape[0], shape[2], shape[1])))
    for axes in itertools.permutations(range(3)):
        same(lambda v, axes=axes: ptir.TransposeOp(v, perm=axes).result, x)
    same(lambda v, w: ptir.AddOp(ptir.TransposeOp(v, perm=(0, 2, 1)).result, w).result, x, y)


ACROSS = [(70, 300), (300, 70), (65, 63)]


@pytest.mark.exhaustive
@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("dtype", ["f32", "f64", "i1"])
def test_units_of_work_along_the_operands_that_are_not_transposed(dtype: str) -> None:
    """Several strips in a unit, several units along and across, and rests of both."""
    for n, m in ACROSS:
        x, y = (block(DTYPES[dtype], shape, i) for i, shape in enumerate([(n, m), (m, n)]))
        same(lambda v, w: ptir.MaximumOp(v, transpose(w)).result, x, y)
    x, y = (block(DTYPES[dtype], shape, i) for i, shape in enumerate([(3, 70, 130), (3, 130, 70)]))
    same(lambda v, w: ptir.MaximumOp(v, ptir.TransposeOp(w, perm=(0, 2, 1)).result).result, x, y)


@pytest.mark.parametrize("isa", TARGETS)
@pytest.mark.parametrize(
    ("types", "body", "is_short"),
    [
        ("f32[300,500] f32[500,300]", lambda v, w: ptir.AddOp(v, transpose(w)).result, True),
        ("f32[300,500] f32[500,300]", lambda v, w: ptir.AddOp(transpose(ptir.NegOp(w).result), v).result, True),
        ("f32[300,500]", lambda v: transpose(v), False),
        ("f32[300,500] f32[300]", lambda v, w: ptir.AddOp(transpose(v), row_of(w)).result, False),
        ("f32[500,300] f32[500,300]", lambda v, w: ptir.SubOp(transpose(v), transpose(w)).result, False),
    ],
    ids=["a sum", "after an op", "a transpose", "a row", "two transposes"],
)
def test_which_way_units_of_work_run(types: str, body: Any, is_short: bool, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The most streams of memory are passed line after line: a row that is read again and again is none."""
    found: list[bool] = []

    def schedule_of(host: Any, group: Any) -> Any:
        made = schedule.schedule_of(host, group)
        found.append(isinstance(made, schedule.CrossedSchedule) and made.is_short)
        return made

    monkeypatch.setattr(crossed, "schedule_of", schedule_of)
    lower(prepared(function_of(program(types, body)), TARGETS[isa]), TARGETS[isa])
    assert found[-1] == is_short


FAR = [
    ("f32[300,500]", transpose, True),
    ("f32[320,500]", transpose, False),
    ("f32[320,500] f32[500,320]", lambda v, w: ptir.AddOp(transpose(v), w).result, True),
]
"""Programs, each with True if lines are asked for ahead where all memory is far off: results of 300 lie in parts of lines."""


@pytest.mark.parametrize("isa", TARGETS)
@pytest.mark.parametrize(("types", "body", "asks"), FAR, ids=["parts of lines", "whole lines", "a sum"])
def test_large_arrays_are_asked_for_line_by_line(types: str, body: Any, asks: bool, isa: str) -> None:
    far, near = (replace(TARGETS[isa], shared_bytes=bytes) for bytes in (0, 32 << 20))
    for host, expected in ((far, asks), (near, False)):
        assert ("@llvm.prefetch" in lower(prepared(function_of(program(types, body)), host), host).text) == expected


@pytest.mark.parametrize("isa", ["avx512", "baseline"])
def test_what_is_counted_is_not_asked_for(isa: str) -> None:
    """Only the transposed operand, the other one and the result lie in memory; a counter along the lanes does not."""

    def counted(v: Any, w: Any, axis: int) -> Any:
        counter = ptir.IotaOp(shape=(500, 320), dtype=DTYPES["f32"], axis=axis).results[0]
        return ptir.AddOp(ptir.AddOp(transpose(v), w).result, counter).result

    host = replace(TARGETS[isa], shared_bytes=0)
    types = "f32[320,500] f32[500,320]"
    plain = lower(prepared(function_of(program(types, lambda v, w: ptir.AddOp(transpose(v), w).result)), host), host)
    for axis in (0, 1):
        native = lower(prepared(function_of(program(types, lambda v, w, axis=axis: counted(v, w, axis))), host), host)
        jit.assembly(native.text, host)
        assert native.text.count("@llvm.prefetch") == plain.text.count("@llvm.prefetch")


@pytest.mark.exhaustive
@pytest.mark.usefixtures("way")
def test_lines_are_asked_for_beyond_the_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "APART", 1 << 60)
    for n, m in [*SQUARES, *ACROSS]:
        x, y = (block(DTYPES["f32"], shape, i, special=True) for i, shape in enumerate([(n, m), (m, n)]))
        same(lambda v: transpose(v), x)
        same(lambda v, w: ptir.MaximumOp(v, transpose(w)).result, x, y)


def row_of(w: Any) -> Any:
    return ptir.BroadcastToOp(w, result_shape=(500, 300)).result


@pytest.mark.usefixtures("way")
def test_an_integer_division_by_a_transpose_fails_where_it_divides_by_zero() -> None:
    a, b = np.arange(40 * 33, dtype=np.int32).reshape(40, 33), np.ones((33, 40), np.int32)
    same(lambda x, y: ptir.DivOp(x, transpose(y)).result, a, b)
    b[32, 39] = 0
    same(lambda x, y: ptir.DivOp(x, transpose(y)).result, a, b)


def test_large_transposes_are_stored_past_the_caches() -> None:
    x = np.random.default_rng(0).standard_normal((2050, 2064), dtype=np.float32)
    same(lambda v: transpose(v), x)
    same(lambda v: transpose(v), x[:2048, :2048].copy())


@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", TARGETS)
@pytest.mark.parametrize("dtype", ["f32", "f64", "si8", "i1"])
def test_transposes_gather_nothing(dtype: str, isa: str) -> None:
    assert gathers(program(f"{dtype}[70,90]", lambda v: [transpose(v)]), isa) == 0
    equal = program(f"{dtype}[70,90] {dtype}[90,70]", lambda v, w: [ptir.CompareOp(v, transpose(w), kind="equal").result])
    assert gathers(equal, isa) == 0


def test_operands_of_fewer_elements_than_lanes_are_gathered() -> None:
    assert gathers(program("f32[12,90]", lambda v: [transpose(v)]), "avx512") > 0
