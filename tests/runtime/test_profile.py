"""Where the time of a call goes: steps, bytes, operations, limits, the trace; for NumPy and for a GPU that is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mind_runtime
from fake_gpu import FakeArray, FakeMachine
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_runtime.profile import REPEATS, Limits, Profile, Span, medians, profile
from numpy_launches import on_numpy
from ptir_forms import program
from tool_runs import mind_run


def product(x: Any, w: Any) -> Any:
    p = ptir.DotGeneralOp(x, w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,))
    return ptir.ExpOp(ptir.MulOp(p, p))


MODULE = "f32[8,16] f32[16,4]"


def arguments() -> list[np.ndarray]:
    return [np.ones((8, 16), np.float32), np.ones((16, 4), np.float32)]


def test_the_calls_of_numpy_and_what_they_move() -> None:
    found = profile(mind_runtime.compile(program(MODULE, product)), arguments())
    assert [s.name for s in found.spans] == ["xp.matmul", "xp.multiply", "xp.exp"]
    assert found.spans[0].bytes == 4 * (8 * 16 + 16 * 4 + 8 * 4)
    assert all(s.duration > 0 for s in found.spans)
    assert found.call > 0


def test_the_steps_on_a_gpu_what_they_move_and_compute() -> None:
    made = on_numpy(program(MODULE, product))
    here = []
    for x in arguments():
        here.append(FakeMachine().fresh(x.shape, x.dtype))
        here[-1][...] = x
    found = profile(made, here)
    assert sum(s.flops for s in found.spans) == 2 * 8 * 16 * 4
    assert sum(s.name.startswith("f_k") or "matmul" in s.name for s in found.spans) == len(found.spans)
    assert found.spans[-1].name.endswith("mul_exp")
    table = found.table()
    assert "100 GB/s" in table
    assert "1 TFLOP/s in f32" in table
    assert "%" in table.splitlines()[1]


def test_what_is_donated_is_still_there_afterwards() -> None:
    made = on_numpy(program("f32[8] f32[8]", lambda w, g: ptir.SubOp(w, g)), [0])
    w = FakeMachine().fresh((8,), np.float32)
    w[...] = 3
    profile(made, [w, w.copy().view(FakeArray)])
    assert (w.view(np.ndarray) == 3).all()


def test_medians_follow_each_other() -> None:
    runs = [[Span("a", 9, d, 10), Span("b", 9, 2 * d)] for d in (5.0, 1.0, 3.0)]
    found = medians(runs)
    assert [(s.name, s.start, s.duration) for s in found] == [("a", 0, 3), ("b", 3, 6)]


def test_rates_beside_limits() -> None:
    spans = (Span("copy", 0, 10, 8000), Span("product", 10, 10, 10, 5000, "f32"), Span("nothing", 20, 0))
    text = Profile(spans, Limits("M", 1e9, {"f32": 1e9})).table()
    copy = next(line for line in text.splitlines() if line.endswith("copy"))
    assert copy.split()[:6] == ["10.00", "50.0", "%", "8000", "0.8", "80"]
    assert "50 %" in next(line for line in text.splitlines() if line.endswith("product"))


def test_the_tool_prints_and_writes_a_trace(tmp_path: Path) -> None:
    text, trace = str(program(MODULE, product)), tmp_path / "trace.json"
    run = mind_run("-", "--all", "random:0", "--profile", "--trace", trace, stdin=text)
    assert run.status == 0, run.err
    assert "xp.matmul" in run.out
    assert "a whole call" in run.out
    events = json.loads(trace.read_text())["traceEvents"]
    assert [e["name"] for e in events] == ["xp.matmul", "xp.multiply", "xp.exp"]
    assert all(e["ph"] == "X" and e["dur"] > 0 for e in events)
    assert events[1]["ts"] >= events[0]["ts"] + events[0]["dur"] - 1e-6


def test_native_code_is_one_call() -> None:
    pytest.importorskip("llvmlite", reason="no llvmlite: no native code")
    with pytest.raises(MindError, match="one call") as e:
        profile(mind_runtime.compile(program(MODULE, product), target="native"), arguments())
    assert e.value.code == "E7001"
    assert REPEATS > 2


def test_what_cannot_be_measured_is_not_run() -> None:
    pytest.importorskip("llvmlite", reason="no llvmlite: no native code")
    run = mind_run("-", "--all", "random:0", "--target", "native", "--profile", stdin=str(program(MODULE, product)))
    assert (run.status, run.out) == (1, "")
    assert "native code is one call" in run.err
