"""Loops without carries, around what a `for` statement emits, have the text of loops around what a function emits."""

from __future__ import annotations

import pytest

pytest.importorskip("llvmlite")

from mind_lowering.native.ir import Function, LlvmModule
from mind_lowering.native.kernel_text import PATIENCE, patient, patiently


def function() -> Function:
    return LlvmModule("x86_64-unknown-linux-gnu").function("f", "i64", [("ptr", "args"), ("i64", "n")])


def visit(f: Function, i: str) -> None:
    f.do(f"call void @visit(i64 {i})")


@pytest.mark.parametrize(("low", "high", "step"), [("0", "8", 4), ("2", "%n", 1), ("0", "4", 4), ("3", "3", 1), ("5", "-2", 2)])
def test_each(low: str, high: str, step: int) -> None:
    f, g = function(), function()
    for i in f.each(low, high, step, "k"):
        visit(f, i)
    assert g.loop(low, high, step, lambda i, *values: visit(g, i), hint="k") == []
    assert f.text() == g.text()


@pytest.mark.parametrize(("high", "count"), [("0", 0), ("4", 1), ("5", 1)])
def test_loops_of_one_iteration_are_none(high: str, count: int) -> None:
    f = function()
    assert len(list(f.each("0", high, 4, "k"))) == count
    assert ("loop" in f.text()) == (high == "5")


@pytest.mark.parametrize("high", ["8", str(PATIENCE + 1), "%n"])
def test_long_loops_look_for_signals(high: str) -> None:
    f, g = function(), function()
    for i in patiently(f, "0", high):
        visit(f, i)
    patient(g, "0", high, lambda i, *values: visit(g, i))
    assert f.text() == g.text()
    assert f.polls == g.polls == (high != "8")


def test_carries() -> None:
    f = function()
    assert f.loop("0", "4", 4, lambda i, *values: [f.add(values[0], "1")], [("i64", "2")]) == ["3"]
    assert f.loop("4", "4", 4, lambda i, *values: [f.add(values[0], "1")], [("i64", "2")]) == ["2"]
    (found,) = f.loop("0", "%n", 1, lambda i, *values: [f.add(values[0], i)], [("i64", "2")])
    assert f"  {found} = phi i64 [ 2, " in f.text()
