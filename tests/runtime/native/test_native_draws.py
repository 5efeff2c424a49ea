"""Native random numbers: uniform ones are NumPy's bit for bit, normal ones but for last bits of logarithm, sine and cosine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from mind_dialect import ptir
from mind_dialect.ptir.legal import WIDE_FLOATS
from mind_dialect.ptir.types import F32, SI32, PtirDType
from mind_lowering.native import detect
from mind_lowering.native.target_info import computes
from native_checks import assert_close
from native_control_programs import add, chosen, counted, scan
from native_same import way
from ptir_control_programs import number
from ptir_forms import program
from ptir_oracle import ids

__all__ = ["way"]
pytestmark = pytest.mark.usefixtures("way")
SEEDS = (0, 7, (1 << 63) + 12345, (1 << 64) - 1)


def drawn(op: Any, shape: tuple[int, ...], dtype: PtirDType, ulps: float) -> None:
    """Two draws of a program, the second after another one."""

    def body(x: Any) -> Any:
        first = op(shape=shape, dtype=dtype)
        ptir.RngUniformOp(shape=(3,), dtype="f32")
        return [first, op(shape=shape, dtype=dtype), ptir.NegOp(x)]

    module = program("f32[1]", body)
    native, reference = (mind_runtime.compile(module, target=t) for t in ("native", "numpy"))
    assert ("0 ops on NumPy" in native.explain()[0]) == computes(dtype, detect())
    x = np.ones(1, np.float32)
    for seed in SEEDS:
        found, expected = native(x, seed=seed), reference(x, seed=seed)
        for a, b in zip(found, expected, strict=True):
            assert_close(a, b, ulps=ulps)
            if not ulps:
                assert a.tobytes() == b.tobytes()
        assert np.array_equal(native(x, seed=seed)[0], found[0])
    if shape == (700, 41):
        assert not np.array_equal(found[0], found[1])
        assert not np.array_equal(native(x)[0], found[0])


@pytest.mark.exhaustive
@pytest.mark.parametrize("shape", [(1,), (3, 5), (700, 41), (0, 3), (64,)], ids=str)
@pytest.mark.parametrize("dtype", WIDE_FLOATS, ids=ids)
def test_uniform(dtype: PtirDType, shape: tuple[int, ...]) -> None:
    drawn(ptir.RngUniformOp, shape, dtype, 0)


@pytest.mark.parametrize("shape", [(3, 5), (700, 41)], ids=str)
@pytest.mark.parametrize("dtype", WIDE_FLOATS, ids=ids)
def test_normal(dtype: PtirDType, shape: tuple[int, ...]) -> None:
    """In f64 an angle near a zero of sine or cosine costs some units."""
    drawn(ptir.RngNormalOp, shape, dtype, 8 if dtype.bits == 64 else 1)


def uniform(*shape: int) -> Any:
    return ptir.RngUniformOp(shape=shape, dtype="f32").result


def in_iterations(x: Any, steps: Any) -> Any:
    """Draws before, in and after a loop; those in it are stacked."""
    y = add(x, uniform(4))
    looped = scan(lambda c, step: [add(c, uniform(4)), uniform(3, 50), add(step, uniform())], y, steps, stacks=2)
    return [*looped, uniform(4)]


def in_tests(x: Any, n: Any) -> Any:
    """A loop draws to know whether to go on, and in its iterations."""
    drawn = ptir.WhileOp(
        x,
        n,
        x,
        cond=lambda c, left, _: [
            ptir.CompareOp(left, number(SI32, (), 0), kind="greater"),
            add(c, uniform(4)),
            ptir.SubOp(left, number(SI32, (), 1)),
            uniform(4),
        ],
        body=lambda c, left, d: [add(c, ptir.MulOp(d, uniform(4))), left, d],
    ).results
    return [*drawn, uniform(4)]


def in_loops_in_loops(x: Any, steps: Any, n: Any) -> Any:
    """Iterations of the inner loop count from 0 each time; a branch draws in one of its parts only."""

    def inner(c: Any) -> Any:
        half = ptir.CompareOp(uniform(), number(F32, (), 0.5), kind="less")
        return chosen(half, lambda c: [add(c, uniform(4))], lambda c: [ptir.SubOp(c, uniform(4))], c)

    def outer(c: Any, n: Any, step: Any) -> Any:
        return [
            counted(n, inner, c)[0],
            n,
            *scan(lambda r: [add(r, uniform())], ptir.IotaOp(shape=(3,), dtype="f32", axis=0), carries=0, stacks=1),
        ]

    return [*scan(outer, x, n, steps, carries=2, stacks=1), uniform(4)]


def in_no_iteration(x: Any, steps: Any) -> Any:
    """Draws that never run count for those after them."""
    return [
        *scan(lambda c, _: [add(c, uniform(4)), uniform(4)], x, ptir.SliceOp(steps, starts=(0,), sizes=(0,)), stacks=1),
        uniform(4),
    ]


def in_one_iteration(x: Any, steps: Any) -> Any:
    return scan(lambda c, _: [add(c, uniform(4)), uniform(4)], x, ptir.SliceOp(steps, starts=(0,), sizes=(1,)), stacks=1)


LOOPED = {
    "iterations": ("f32[4] f32[5]", in_iterations),
    "tests": ("f32[4] si32[]", in_tests),
    "loops in loops": ("f32[4] f32[5] si32[]", in_loops_in_loops),
    "no iteration": ("f32[4] f32[5]", in_no_iteration),
    "one iteration": ("f32[4] f32[5]", in_one_iteration),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", LOOPED)
def test_draws_in_loops_have_keys_of_their_own(name: str) -> None:
    module = program(*LOOPED[name])
    native, reference = (mind_runtime.compile(module, target=t) for t in ("native", "numpy"))
    assert "0 ops on NumPy" in native.explain()[0]
    arrays = [np.full(s.shape, 3, s.numpy_dtype) for s in native.inputs]
    for seed in SEEDS:
        for _ in range(2):
            for a, b in zip(native(*arrays, seed=seed), reference(*arrays, seed=seed), strict=True):
                assert a.tobytes() == b.tobytes()


def test_normal_draws_in_loops() -> None:
    def iteration(c: Any, step: Any) -> Any:
        return [c, ptir.RngNormalOp(shape=(7, 41), dtype="f32")]

    module = program("f32[4] f32[6]", lambda x, s: scan(iteration, x, s, stacks=1))
    native, reference = (mind_runtime.compile(module, target=t) for t in ("native", "numpy"))
    arrays = np.zeros(4, np.float32), np.zeros(6, np.float32)
    found, expected = native(*arrays, seed=5), reference(*arrays, seed=5)
    assert_close(found[1], expected[1], ulps=1)
    assert len(np.unique(found[1])) > found[1].size * 0.99


def test_a_loop_that_runs_on_numpy_counts_its_draws() -> None:
    """What native code drew of it before it was given up is not counted twice."""

    def iteration(c: Any, step: Any) -> Any:
        y = add(c, uniform(4))
        return [y, ptir.CastOp(ptir.CastOp(y, dtype="fp8_e4m3"), dtype="f32"), uniform(4)]

    module = program("f32[4] f32[5]", lambda x, s: [*scan(iteration, x, s, stacks=2), uniform(4)])
    native, reference = (mind_runtime.compile(module, target=t) for t in ("native", "numpy"))
    assert "1 op on NumPy" in native.explain()[0]
    arrays = np.zeros(4, np.float32), np.zeros(5, np.float32)
    for a, b in zip(native(*arrays, seed=5), reference(*arrays, seed=5), strict=True):
        assert a.tobytes() == b.tobytes()
