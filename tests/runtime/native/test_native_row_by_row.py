"""Column sums of kernels that write what they add up: row by row, the sums in memory, with the bits of those in registers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from machines import RUNNABLE
from mind_dialect import ptir
from mind_lowering.native import host as host_module
from mind_lowering.native import schedule
from mind_lowering.ptir_kernels.formats import array_dtype
from native_checks import assert_close, computed_here, several
from ptir_forms import program, reduce

rng = np.random.default_rng(23)


def array(dtype: str, *shape: int) -> Any:
    return (rng.standard_normal(shape) / 2).astype(array_dtype(dtype))


def exponentials(x: Any, y: Any) -> list[Any]:
    e = ptir.ExpOp(ptir.SubOp(x, y)).result
    return [e, reduce(e, "sum", 0)]


def two_sums(x: Any, y: Any) -> list[Any]:
    p = ptir.MulOp(x, y).result
    return [p, reduce(p, "sum", 0), reduce(ptir.AddOp(p, y).result, "max", 0)]


def least(x: Any, y: Any) -> list[Any]:
    d = ptir.SubOp(x, y).result
    return [d, reduce(d, "min", 0)]


BODIES: dict[str, Callable[[Any, Any], list[Any]]] = {"exponentials": exponentials, "two sums": two_sums, "least": least}
SHAPES = [(6, 40), (40, 300), (300, 1100), (4500, 70), (3, 5000)]
"""Shorter than a run along the lanes, whole and not, of several runs, of several parts of rows, too long for sums in memory."""


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> set[bool]:
    """What schedules choose that were asked for."""
    found: set[bool] = set()
    original = schedule.NestSchedule.__dict__["is_row_by_row"].fget
    monkeypatch.setattr(schedule.NestSchedule, "is_row_by_row", property(lambda self: found.add(c := original(self)) or c))
    mind_runtime.clear_cache()
    return found


@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", RUNNABLE)
@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", BODIES)
def test_sums_have_the_bits_of_those_in_registers(
    name: str, shape: tuple[int, int], dtype: str, isa: str, chosen: set[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(host_module.ISA_VARIABLE, isa)
    module = program(f"{dtype}[{shape[0]},{shape[1]}] {dtype}[{shape[0]},{shape[1]}]", BODIES[name])
    arrays = [array(dtype, *shape), array(dtype, *shape)]
    expected = several(mind_runtime.compile(module)(*arrays))
    found: list[list[bytes]] = []
    for size in (schedule.IN_MEMORY, 0):
        monkeypatch.setattr(schedule, "IN_MEMORY", size)
        mind_runtime.clear_cache()
        results = several(mind_runtime.compile(module, target="native", threads=2)(*arrays))
        for a, b in zip(results, expected, strict=True):
            assert_close(a, b, ulps=64 + shape[0], scale=4.0)
        found.append([x.tobytes() for x in results])
    mind_runtime.clear_cache()
    assert found[0] == found[1]
    if computed_here(dtype) and dtype == "f32" and shape == (300, 1100):
        assert True in chosen, "row by row"


@pytest.mark.parametrize("checks", ["0", "1"])
def test_a_donated_operand_is_overwritten(checks: str, chosen: set[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(host_module.CHECKS_VARIABLE, checks)
    mind_runtime.clear_cache()
    module = program("f32[300,1100] f32[300,1100]", two_sums)
    x, y = array("f32", 300, 1100), array("f32", 300, 1100)
    expected = several(mind_runtime.compile(module)(x.copy(), y))
    given = x.copy()
    results = several(mind_runtime.compile(module, target="native", donate=["arg0"])(given, y))
    assert True in chosen
    assert np.shares_memory(results[0], given)
    for a, b in zip(results, expected, strict=True):
        assert_close(a, b, ulps=512, scale=4.0)
    mind_runtime.clear_cache()


def test_sums_alone_are_in_registers(chosen: set[bool]) -> None:
    """So many vectors of each row are read at a time that rows need not be read in order."""
    module = program("f32[300,1100] f32[300,1100]", lambda x, y: two_sums(x, y)[1:])
    mind_runtime.compile(module, target="native")
    assert chosen == {False}
