"""Where the time of a call goes: steps, bytes, operations, limits, the trace; for NumPy and for a GPU that is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import mind_runtime
from fake_gpu import FakeArray, FakeMachine
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_lowering.native.program import print_module
from mind_runtime.profile import Limits, Profile, Span, medians, profile
from mind_runtime.program import Program
from mind_tools.frontends import parse
from numpy_launches import on_numpy
from ptir_forms import program
from tool_runs import mind_run


def product(x: Any, w: Any) -> Any:
    p = ptir.DotGeneralOp(x, w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,))
    return ptir.ExpOp(ptir.MulOp(p, p))


MODULE = "f32[8,16] f32[16,4]"


KEYS = np.array([3, 1, 4, -1], ml_dtypes.int4)


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


STEPS = """builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @steps(%h: tensor<8xf32>, %xs: tensor<5x8xf32>, %w: tensor<8x8xf32>, %k: tensor<4xsi4>)
      -> (tensor<8x8xf32>, tensor<5x8xf32>, tensor<4xsi4>) {
    %last, %all = ptir.scan %h, %xs carry_count = 1 scan_output_count = 1
        : (tensor<8xf32>, tensor<5x8xf32>) -> (tensor<8xf32>, tensor<5x8xf32>) body {
    ^bb0(%c: tensor<8xf32>, %x: tensor<8xf32>):
      %n = ptir.add %c, %x : tensor<8xf32>
      ptir.yield %n, %n : tensor<8xf32>, tensor<8xf32>
    }
    %z = ptir.sort %k axis = 0 descending = true : tensor<4xsi4>
    %p = ptir.dot_general %w, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0]
        : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %t = ptir.tanh %p : tensor<8x8xf32>
    func.return %t, %all, %z : tensor<8x8xf32>, tensor<5x8xf32>, tensor<4xsi4>
  }
}
"""
"""A loop, a step that runs on NumPy, a product with an op in its epilogue."""


ROWS = """builtin.module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @rows(%x: tensor<{0}>) -> tensor<{0}> {{
    %y = ptir.exp %x : tensor<{0}>
    func.return %y : tensor<{0}>
  }}
}}
"""


@pytest.fixture
def llvmlite() -> None:
    pytest.importorskip("llvmlite", reason="no llvmlite: no native code")


@pytest.mark.usefixtures("llvmlite")
def test_the_kernels_of_native_code_how_often_they_run_and_where_they_come_from() -> None:
    made = mind_runtime.compile(parse(STEPS, "mlir", "steps.mlir"), target="native")
    found = profile(made, [np.ones(8, np.float32), np.ones((5, 8), np.float32), np.eye(8, dtype=np.float32), KEYS])
    loop, sort, product = found.spans
    assert loop.name.endswith(": add over [8]")
    assert (loop.runs, loop.bytes, loop.flops) == (5, 5 * 3 * 8 * 4, 0)
    assert loop.locations == ("steps.mlir:7:12",)
    assert "then tanh" in product.name
    assert (product.runs, product.flops, product.locations) == (1, 2 * 8**3, ("steps.mlir:11:10", "steps.mlir:13:10"))
    assert sort.name == "numpy: sort %z of si4[4]"
    assert sort.locations == ("steps.mlir:10:10",)
    assert [s.duration >= 0 for s in found.spans] == [True] * 3
    assert sum(s.duration for s in found.spans) > 0
    assert "(5 runs)" in found.table()


@pytest.mark.usefixtures("llvmlite")
def test_only_timed_code_reads_the_clock() -> None:
    """Twice around each of the two calls of kernels, in the entry alone; a program that was profiled stays as it is."""
    made = mind_runtime.compile(parse(STEPS), target="native")
    profile(made, [np.ones(8, np.float32), np.ones((5, 8), np.float32), np.eye(8, dtype=np.float32), KEYS])
    assert "clock_gettime" not in made.source
    assert "clock_gettime" not in print_module(parse(STEPS))
    timed = print_module(parse(STEPS), timed=True)
    assert timed.count("call i64 @now()") == 4
    kernels, _, entry = timed.partition("define i64 @run.steps(")
    assert "@now()" not in kernels
    assert entry


@pytest.mark.usefixtures("llvmlite")
def test_a_dynamic_program_is_timed_in_code_for_the_sizes_of_the_call() -> None:
    made = mind_runtime.compile(parse(ROWS.format('?x4xf32, "T,*"')), target="native")
    (span,) = profile(made, [np.ones((3, 4), np.float32)]).spans
    assert span.name.endswith("exp over [3, 4]")


@pytest.mark.usefixtures("llvmlite")
def test_a_program_whose_sizes_only_a_run_knows_is_timed_on_numpy() -> None:
    made = mind_runtime.compile(parse(ROWS.format("?x4xf32")), target="native")
    assert made.explain()[0].endswith("calls are compiled for their sizes where that can be")
    assert "xp.exp" in [span.name for span in profile(made, [np.ones((3, 4), np.float32)]).spans]


@pytest.mark.usefixtures("llvmlite")
def test_native_code_gets_copies_of_what_it_would_overwrite() -> None:
    made = mind_runtime.compile(program("f32[8] f32[8]", lambda w, g: ptir.SubOp(w, g)), target="native", donate=["arg0"])
    w = np.full(8, 3, np.float32)
    assert profile(made, [w, w.copy()]).spans
    assert (w == 3).all()


LAYER = """builtin.module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @layer(%x: tensor<{0}x96xf32{1}>, %w: tensor<96x64xf32>, %c: tensor<{0}x64xf32{1}>) -> tensor<{0}x64xf32{1}> {{
    %p = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0]
        : (tensor<{0}x96xf32{1}>, tensor<96x64xf32>) -> tensor<{0}x64xf32{1}>
    %r = ptir.add %p, %c : tensor<{0}x64xf32{1}>
    func.return %r : tensor<{0}x64xf32{1}>
  }}
}}
"""


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("rows", [("40", ""), ("?", ', "n,*"')], ids=["static", "dynamic"])
def test_a_bound_program_is_measured_without_what_its_binding_computed(target: str, rows: tuple[str, str]) -> None:
    if target == "native":
        pytest.importorskip("llvmlite")
    module = parse(LAYER.format(*rows), "mlir")
    rng = np.random.default_rng(0)
    x, w, c = (rng.normal(size=shape).astype(np.float32) for shape in ((40, 96), (96, 64), (40, 64)))
    bound = mind_runtime.bind(module, {"w": w.copy()}, target=target, donate=["c"])
    given = c.copy()
    found = profile(bound, [x, given])
    np.testing.assert_array_equal(given, c)
    np.testing.assert_allclose(bound(x, c.copy()), x @ w + c, atol=1e-4)
    names = [span.name for span in found.spans]
    assert names
    assert not any("panels" in name for name in names)  # of the weights, packed once
    if target == "native":
        every = profile(mind_runtime.compile(module, target="native"), [x, w, c])
        assert found.spans[-1].flops == every.spans[-1].flops > 0
    with pytest.raises(MindError) as caught:
        profile(bound, [x])
    assert caught.value.code == "E2007"


@pytest.mark.usefixtures("llvmlite")
def test_what_a_call_of_native_code_refuses_is_refused() -> None:
    made = mind_runtime.compile(program("f32[8] si64[2]", lambda x, i: ptir.TakeOp(x, i)), target="native")
    with pytest.raises(MindError) as e:
        profile(made, [np.ones(8, np.float32), np.array([0, 9])])
    assert e.value.code == "E6001"
    with pytest.raises(MindError, match="input arg0"):
        profile(made, [np.ones(8), np.array([0, 1])])


@pytest.mark.usefixtures("llvmlite")
def test_the_tool_profiles_native_code(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    run = mind_run("-", "--all", "fill:1", "--target", "native", "--profile", "--trace", trace, stdin=STEPS)
    assert run.status == 0, run.err
    assert "then tanh" in run.out
    events = json.loads(trace.read_text())["traceEvents"]
    assert [e["args"]["runs"] for e in events] == [5, 1, 1]


def test_a_target_without_steps_is_refused_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    class Elsewhere(Program):
        target = "elsewhere"

    made = mind_runtime.compile(program(MODULE, product))
    monkeypatch.setattr(made, "__class__", Elsewhere)
    monkeypatch.setattr(Elsewhere, "execute", lambda *_: pytest.fail("it ran"))
    with pytest.raises(MindError, match="numpy, native and cupy: a call on 'elsewhere' has no steps") as e:
        profile(made, arguments())
    assert e.value.code == "E7001"
