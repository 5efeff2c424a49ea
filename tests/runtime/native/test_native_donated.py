"""Donated arguments and bound weights in calls that native code takes."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from mind_dialect import ptir
from mind_runtime.native import support
from native_calls import ROWS, calls_in_python, chain, compiled, failure
from native_checks import assert_close
from ptir_forms import program

if support.why_not() is not None:
    pytest.skip(f"no native calls here: {support.why_not()}", allow_module_level=True)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The calls that go through Python, by how many arguments they have."""
    return calls_in_python(monkeypatch)


# Donation


def update() -> Any:
    return program("f32[64,16] f32[1,16] si32[2]", lambda c, u, s: [ptir.DynamicUpdateSliceOp(c, u, s, sizes=(1, 16))])


def test_donated_arguments(slow: list[int]) -> None:
    run = compiled(update(), donate=[mind_runtime.compile(update()).inputs[0].name])
    state, row = np.zeros((64, 16), np.float32), np.ones((1, 16), np.float32)
    before = sys.getrefcount(state)
    for i in range(64):
        state = run(state, row, np.array([i, 0], np.int32))
    assert sys.getrefcount(state) == before
    assert state.all()
    assert slow == []
    out = np.zeros_like(state)
    assert run(state, row, np.array([0, 0], np.int32), out=out) is out
    assert out.all()
    room = np.zeros((65, 16), np.float32)
    for c, u in ((room[:64], room[63:64]), (room[1:], room[1:2]), (room[:64][::-1], row)):
        assert failure(run, c, u, np.array([3, 0], np.int32)).code == "E2001"
    state.flags.writeable = False
    assert failure(run, state, row, np.array([3, 0], np.int32)).code == "E2001"
    assert run(room[:64], room[64:], np.array([3, 0], np.int32)).base is room


# Bound programs


def test_bound_programs(slow: list[int]) -> None:
    names = [s.name for s in mind_runtime.compile(chain()).inputs]
    a, b = ROWS
    step = mind_runtime.bind(chain(), {names[0]: np.repeat(a, 2)[::2]}, target="native")
    out = np.empty_like(b)
    assert_close(step(b), mind_runtime.compile(chain())(a, b), ulps=0)
    assert step(b, out=out) is out
    assert_close(out, step(b), ulps=0)
    assert slow == []
    assert failure(step, b[:-1]).code == "E2001"
    assert failure(step).code == "E2007"
    assert slow == [1, 0]


def test_bound_programs_with_donated_arguments(slow: list[int]) -> None:
    names = [s.name for s in mind_runtime.compile(update()).inputs]
    room = np.ones((65, 16), np.float32)
    step = mind_runtime.bind(update(), {names[1]: room[64:]}, target="native", donate=[names[0]])
    state = np.zeros((64, 16), np.float32)
    assert step(state, np.array([7, 0], np.int32)) is state
    assert state.sum() == 16
    assert slow == []
    assert failure(step, room[1:], np.array([7, 0], np.int32)).code == "E2001"
    indices = np.array([0, 9], np.int32)
    taken = mind_runtime.bind(program("f32[4] si32[2]", lambda x, i: [ptir.TakeOp(x, i)]), {}, target="native")
    assert failure(taken, np.zeros(4, np.float32), indices).code == "E6001"
