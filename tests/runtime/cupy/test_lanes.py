"""Steps side by side: lanes wait for what they need, and any order that keeps to the waits gives the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mind_runtime
from fake_gpu import RULES, FakeMachine, awkward
from mind_dialect import ptir
from mind_lowering.launch.compute_ops import KernelOp
from mind_runtime.cupy.lanes import MOST_LANES, WINDOW, in_lanes
from mind_runtime.cupy.tape import Work
from numpy_launches import on_numpy
from ptir_forms import program, reduce, spread


def there(x: np.ndarray) -> Any:
    made = FakeMachine().fresh(x.shape, x.dtype)
    made[...] = x
    return made


def branches(x: Any, y: Any) -> Any:
    """Two chains of reductions that know nothing of each other, and what joins them."""
    found = []
    for v in (x, y):
        for axis in (0, 1, 0):
            v = ptir.SubOp(v, spread(reduce(ptir.ExpOp(v), "sum", axis), v))
        found.append(v)
    return [ptir.AddOp(*found), reduce(found[0], "max", 0)]


def test_independent_branches_run_side_by_side() -> None:
    module = program("f32[5,7] f32[5,7]", branches)
    made = on_numpy(module.clone())
    rng = np.random.default_rng(0)
    values = [0.1 * rng.standard_normal((5, 7)).astype(np.float32) for _ in range(2)]
    expected = mind_runtime.compile(module)(*values)
    here = [there(x) for x in values]
    made(*here)
    RULES.log.clear()
    for _ in range(3):
        for a, b in zip(made(*here), expected, strict=True):
            np.testing.assert_allclose(a.view(np.ndarray), b, rtol=1e-5, atol=1e-5)
    assert RULES.log["lanes"] >= 2


def step(grid: int) -> Any:
    made = object.__new__(KernelOp)
    made.number = grid
    return made


@pytest.mark.parametrize("seed", range(30))
def test_any_order_that_keeps_to_the_waits_gives_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    room = np.zeros(64, np.int64)
    count = int(rng.integers(1, 3 * WINDOW))
    plans = []
    for i in range(count):
        (a, b), size = rng.integers(0, 60, 2), int(rng.integers(1, 4))
        plans.append((slice(a, a + size), slice(b, b + size), i, int(rng.choice([1, 1000]))))

    def run(target: np.ndarray, order: Any) -> np.ndarray:
        works = []
        for read, write, i, grid in plans:

            def work(read: slice = read, write: slice = write, i: int = i) -> None:
                target[write] = target[read].copy() * 3 + i

            works.append(Work(work, step(grid), (target[read],), (target[write],)))
        order(works)
        return target

    def plainly(works: Any) -> None:
        for work in works:
            work.run()

    def awkwardly(works: Any) -> None:
        items = in_lanes(works, lambda s: s.number, lambda x: x.ctypes.data)
        assert max(item.lane for item in items) < MOST_LANES
        awkward(items)()

    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(run(room.copy(), awkwardly), run(room.copy(), plainly))


def test_large_kernels_stay_one_after_the_other() -> None:
    arrays = [np.zeros(4) for _ in range(6)]
    works = [Work(lambda: None, step(10_000), (), (x,)) for x in arrays]
    assert {item.lane for item in in_lanes(works, lambda s: s.number, lambda x: x.ctypes.data)} == {0}
