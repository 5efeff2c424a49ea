"""Calls that native code takes: when it does, that it means the same when it does not, references, threads, failures, memory."""

from __future__ import annotations

import copy
import gc
import os
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_runtime.native import callable as calls
from mind_runtime.native import jit, plans, support
from native_calls import ROWS, calls_in_python, chain, compiled, failure, unaligned
from native_checks import assert_close, several
from ptir_forms import program, softmax

if support.why_not() is not None:
    pytest.skip(f"no native calls here: {support.why_not()}", allow_module_level=True)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The calls that go through Python, by how many arguments they have."""
    return calls_in_python(monkeypatch)


def divide(dtype: str = "si32") -> Any:
    return program(f"{dtype}[70] {dtype}[70]", lambda a, b: [ptir.DivOp(a, b)])


# When native code takes a call


def test_usual_calls_never_enter_python(slow: list[int]) -> None:
    run, reference = compiled(chain()), mind_runtime.compile(chain())
    a, b = ROWS
    out = np.empty(37, np.float32)
    for found in (run(a, b), run(b, a), run(a, a), run(a, b, out=out), run.__call__(a, b)):
        assert type(found) is np.ndarray
        assert found.flags.owndata
        assert found.flags.writeable
    assert_close(out, reference(a, b), ulps=0)
    assert_close(run(a, b), reference(a, b), ulps=0)
    assert slow == []


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (1, 1, 1), (5, 7), (40, 130)])
def test_results_of_every_shape(shape: tuple[int, ...], slow: list[int]) -> None:
    axes = tuple(range(len(shape)))
    text = f"f32[{','.join(map(str, shape))}]"
    module = program(
        text, lambda x: [softmax(x) if axes else x, ptir.ExpOp(x), ptir.ReduceOp(x, kind="sum", axes=axes, keepdims=False)]
    )
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    run, reference = compiled(module), mind_runtime.compile(module)
    for found, expected in zip(run(x), reference(x), strict=True):
        assert_close(found, expected, ulps=8)
    out = tuple(np.empty_like(found) for found in run(x))
    assert all(a is b for a, b in zip(run(x, out=out), out, strict=True))
    for found, expected in zip(out, run(x), strict=True):
        assert_close(found, expected, ulps=0)
    assert slow == []


class Subclass(np.ndarray):
    pass


UNUSUAL: dict[str, Any] = {
    "strided": lambda a: np.repeat(a, 2)[::2],
    "reversed": lambda a: a[::-1].copy()[::-1],
    "unaligned": unaligned,
    "a subclass": lambda a: a.view(Subclass),
    "another float": lambda a: a.astype(np.float64),
    "the other byte order": lambda a: a.astype(">f4"),
    "an integer of the size": lambda a: a.view(np.int32),
    "shorter": lambda a: a[:-1],
    "another rank": lambda a: a.reshape(1, 37),
    "a list": lambda a: a.tolist(),
    "nothing": lambda a: None,
    "masked": np.ma.masked_invalid,
}
RIGHT = ("strided", "reversed", "unaligned", "a subclass")


@pytest.mark.parametrize("kind", UNUSUAL)
@pytest.mark.parametrize("place", [0, 1])
def test_unusual_arguments_mean_what_they_mean_in_python(kind: str, place: int, slow: list[int]) -> None:
    run, reference = compiled(chain()), mind_runtime.compile(chain())
    arguments = list(ROWS)
    arguments[place] = UNUSUAL[kind](arguments[place])
    if kind in RIGHT:
        assert_close(run(*arguments), reference(*arguments), ulps=0)
    else:
        found, expected = failure(run, *arguments), failure(reference, *arguments)
        assert (found.code, found.message) == (expected.code, expected.message)
    assert slow == [2]


def test_read_only_arguments_are_usual(slow: list[int]) -> None:
    a, b = ROWS.copy()
    a.flags.writeable = False
    assert_close(compiled(chain())(a, b), mind_runtime.compile(chain())(a, b), ulps=0)
    assert slow == []


def test_wrong_calls() -> None:
    run, (a, b) = compiled(chain()), ROWS
    assert failure(run, a).code == failure(run).code == failure(run, a, b, b).code == "E2007"
    with pytest.raises(TypeError):
        run(a, b, into=a)
    with pytest.raises(TypeError):
        run(a, x=b)
    np.testing.assert_array_equal(run(a, b, seed=5), run(a, b))
    np.testing.assert_array_equal(run(*[a, b], **{"o" + "ut": np.empty(37, np.float32)}), run(a, b))
    np.testing.assert_array_equal(run(a, b, seed=5, out=np.empty(37, np.float32)), run(a, b))
    np.testing.assert_array_equal(run(a, b, out=None), run(a, b))


# Failures


@pytest.mark.parametrize("dtype", ["si8", "ui64"])
def test_failures_are_those_of_python(dtype: str, slow: list[int]) -> None:
    run, reference = compiled(divide(dtype)), mind_runtime.compile(divide(dtype))
    a = np.arange(1, 71).astype(run.inputs[0].numpy_dtype)
    b = a.copy()
    a[67] = np.iinfo(a.dtype).max
    b[67] = 0
    found, expected = failure(run, a, b), failure(reference, a, b)
    assert (found.code, found.message, found.context) == (expected.code, expected.message, expected.context)
    assert failure(run, a, b, out=np.zeros_like(a)).code == "E8004"
    assert slow == []
    b[67] = 1
    assert_close(run(a, b), reference(a, b))


def test_failures_of_core_programs() -> None:
    from programs import parse

    text = """func.func @f(%a: tensor<3xi32>, %b: tensor<3xi32>) -> tensor<3xi32> attributes {mind.profile = "core-v1.1"} {
      %0 = mind.div %a, %b : tensor<3xi32>
      func.return %0 : tensor<3xi32>
    }"""
    run, zeros = compiled(parse(text)), np.zeros(3, np.int32)
    assert failure(run, zeros, zeros).code == "E6006"
    assert failure(run._slowly, zeros, zeros).code == "E6006"


# References and memory


def references(things: list[Any]) -> list[int]:
    gc.collect()
    return [sys.getrefcount(x) for x in things]


def test_no_reference_is_lost_or_kept() -> None:
    run, broken = compiled(chain()), compiled(divide())
    pair = compiled(program("f32[37] f32[37]", lambda a, b: [ptir.AddOp(a, b), ptir.MulOp(a, b)]))
    a, b = ROWS.copy()
    zeros = np.zeros(70, np.int32)
    out, outs = np.empty(37, np.float32), (np.empty(37, np.float32), np.empty(37, np.float32))
    held = [
        a,
        b,
        zeros,
        out,
        outs,
        *outs,
        np.dtype(np.float32),
        np.dtype(np.int32),
        run,
        pair,
        broken,
        "out",
        np.ndarray,
        run._executable,
    ]
    held += [a.shape, ()]

    def work() -> None:
        for _ in range(3000):
            run(a, b)
            pair(a, b)
            run(a, b, out=out)
            pair(a, b, out=outs)
        for _ in range(300):
            for wrong in (lambda: broken(zeros, zeros), lambda: run(a, zeros), lambda: run(a), lambda: run(a, b, out=b.tolist())):
                with pytest.raises(MindError):
                    wrong()
            run(a[::-1], b)

    work()
    before = references(held)
    work()
    after = references(held)
    assert max(abs(x - y) for x, y in zip(before, after, strict=True)) <= 3


def test_programs_go_when_nobody_has_them() -> None:
    import weakref

    run = compiled(softmax_rows())
    run(np.zeros((64, 300), np.float32))
    plan = weakref.ref(run._executable.plan)
    gone = weakref.ref(run)
    mind_runtime.clear_cache()
    gc.disable()
    try:
        del run
        assert gone() is None
        assert plan() is None
    finally:
        gc.enable()


def softmax_rows() -> Any:
    return program("f32[64,300]", lambda x: [softmax(softmax(x))])


def test_hundreds_of_programs_leave_nothing_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    psutil = pytest.importorskip("psutil")
    monkeypatch.setenv("MIND_CACHE_DIR", str(tmp_path))
    process = psutil.Process(os.getpid())
    x = np.zeros(1000, np.float32)

    def work(first: int, count: int) -> None:
        for n in range(first, first + count):
            run = compiled(program(f"f32[{n}]", lambda x: [ptir.AddOp(x, x)]))
            assert run(x[:n]).shape == (n,)
        mind_runtime.clear_cache()
        gc.collect()

    work(1, jit.LIBRARIES + 20)
    before = process.memory_info().rss
    work(1, 3 * jit.LIBRARIES)
    assert process.memory_info().rss - before < 12 << 20


def test_copies_of_a_program_are_the_program() -> None:
    run = compiled(chain())
    assert copy.copy(run) is run
    assert isinstance(run, mind_runtime.Program)
    assert "Program @f" in repr(run)


# Threads


def test_calls_from_threads_have_memory_of_their_own(slow: list[int]) -> None:
    run = compiled(softmax_rows())
    inputs = [np.random.default_rng(i).standard_normal((64, 300)).astype(np.float32) for i in range(8)]
    expected = [run(x) for x in inputs]
    wrong: list[int] = []

    def work(i: int) -> None:
        out = np.empty((64, 300), np.float32)
        for _ in range(50):
            if not np.array_equal(run(inputs[i]), expected[i]) or not np.array_equal(run(inputs[i], out=out), expected[i]):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert slow == []


def test_other_threads_run_during_long_calls_alone() -> None:
    assert not compiled(chain())._executable.runner.native.cost >= plans.LIGHT
    long = compiled(program("f32[3000000]", lambda x: [ptir.TanhOp(ptir.ExpOp(ptir.TanhOp(x)))]))
    assert long._executable.runner.native.cost > plans.LIGHT
    x = np.zeros(3_000_000, np.float32)
    iterations, over = [0], threading.Event()

    def count() -> None:
        while not over.is_set():
            iterations[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        thread.start()
        before = iterations[0]
        for _ in range(5):
            long(x)
        found = iterations[0] - before
    finally:
        sys.setswitchinterval(interval)
        over.set()
        thread.join()
    assert found > 0


# Where native code cannot take calls


def test_without_it_calls_go_through_python() -> None:
    script = """
import numpy as np, sys
sys.abiflags = "t"
import mind_runtime
from mind_dialect import ptir
from mind_runtime.native import support
from ptir_forms import program
module = program("f32[9]", lambda x: [ptir.MulOp(ptir.AddOp(x, x), x)])
x, out = np.full(9, 3, np.float32), np.zeros(9, np.float32)
run = mind_runtime.compile(module, target="native")
bound = mind_runtime.bind(module, {}, target="native")
assert "counts references" in support.why_not() and run._executable.plan is None
print(run(x).sum(), run(x, out=out).sum(), bound(x).sum(), support.empty((1 << 20,), np.uint8).size)
"""
    paths = [str(support_folder()), *sys.path]
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    )
    assert run.stdout.split() == ["162.0", "162.0", "162.0", str(1 << 20)], run.stderr


def support_folder() -> Any:
    from pathlib import Path

    return Path(__file__).parents[2] / "support"


def test_very_long_tables_are_left_to_python(monkeypatch: pytest.MonkeyPatch, slow: list[int]) -> None:
    monkeypatch.setattr(calls, "MOST_WORDS", 4)
    mind_runtime.clear_cache()
    run = compiled(chain(36))
    a, b = ROWS[:, :36].copy()
    assert_close(run(a, b), mind_runtime.compile(chain(36))(a, b), ulps=0)
    assert slow == [2]
    mind_runtime.clear_cache()


def test_sizes_that_are_compiled_for_are_called_natively(slow: list[int]) -> None:
    module = program("f32[B,5] f32[B,5]", lambda x, y: [ptir.AddOp(ptir.MulOp(x, y), y)])
    run = compiled(module, specialize="eager")
    for size in (3, 3, 3, 7, 7):
        x, y = (np.random.default_rng(size).standard_normal((size, 5)).astype(np.float32) for _ in range(2))
        assert_close(run(x, y), x * y + y, ulps=1)
        assert_close(run(x[::-1], y), x[::-1] * y + y, ulps=1)
        assert slow == [2, 2, 2]  # each call of the program itself, and the strided one of the program for these sizes
        slow.clear()


def test_steps_on_numpy_are_left_to_python(slow: list[int]) -> None:
    # sums that are rounded after every step are NumPy's
    def body(x: Any, ids: Any) -> Any:
        options = {"num_segments": 5, "accum_dtype": "f16", "indices_are_sorted": False, "unique": False}
        return ptir.NegOp(ptir.SegmentReduceOp(ptir.AddOp(x, x).result, ids, kind="sum", **options).result).result

    module = program("f16[5,9] si32[5]", body)
    run = compiled(module)
    x, ids = np.random.default_rng(1).standard_normal((5, 9)).astype(np.float16), np.array([0, 4, 2, 2, 4], np.int32)
    (found,) = several(run(x, ids))
    assert_close(found, mind_runtime.compile(module)(x, ids), ulps=0)
    assert slow == ([2] if run._executable.plan is None else [])
