"""Loops on a GPU, seen on a machine that is none: what the host reads, what is one graph, what draws random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mind_runtime
from cuda_emulation import compiler
from cupy_agreement import agree, arguments
from fake_device import Batch
from fake_gpu import RULES, FakeMachine
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.ptir.types import DTYPES
from mind_lowering.cupy.planning import device, planner
from mind_lowering.cupy.planning.host_calls import CAPTURED, HOST, VIEWS
from mind_lowering.launch.control_ops import ForOp
from mind_lowering.xp.functions import FUNCTIONS
from mind_runtime.cupy import recorder
from native_control_programs import counted, dot, scan
from numpy_launches import on_numpy
from ptir_control_programs import SI32, number
from ptir_forms import program


def there(x: np.ndarray) -> Any:
    made = FakeMachine().fresh(x.shape, x.dtype)
    made[...] = x
    return made


def numbers(program: Any, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(s.shape).astype(s.numpy_dtype) for s in program.inputs]


def recurrence(w: Any, h: Any, xs: Any) -> Any:
    def body(w: Any, h: Any, x: Any) -> Any:
        new = ptir.TanhOp(ptir.AddOp(ptir.MulOp(h, w), x))
        return [w, new, ptir.NegOp(new)]

    return list(scan(body, w, h, xs, carries=2, stacks=1))[1:]


@pytest.mark.parametrize("steps", [0, 1, 7])
@pytest.mark.parametrize("together", [None, 1, 3, 100])
def test_a_scan_reads_nothing(steps: int, together: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether its steps are one graph, or some of its iterations are one."""
    unrolled = together is None or steps == 0
    if together is not None:
        monkeypatch.setattr(device, "MOST_UNROLLED", 0)
        monkeypatch.setattr(recorder, "enqueued", lambda ops: recorder.MOST_UNROLLED // together)
    module = program(f"f32[6] f32[6] f32[{steps},6]", recurrence)
    made = on_numpy(module.clone())
    assert made.runner is not None
    found = [op for op in made.runner.plan.func.body.block.ops if isinstance(op, ForOp)]
    assert all((op.unrolled is not None) is unrolled for op in found)
    values = numbers(made)
    expected = mind_runtime.compile(module)(*values)
    here = [there(x) for x in values]
    for _ in range(4):  # results come back to one of two places
        made(*here)
    RULES.log.clear()
    results = made(*here)
    assert RULES.log["waits"] == 0
    assert RULES.log["captures"] == RULES.log["sends"] == 0
    rounds = 0 if unrolled or together is None else steps // together
    assert rounds <= RULES.log["graph launches"] <= rounds + 2, "and what comes before and after"
    for x, y in zip(results, expected, strict=True):
        np.testing.assert_allclose(x.view(np.ndarray), y, rtol=1e-6)


def test_what_a_loop_never_changes_stays_until_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def body(w: Any, h: Any) -> Any:
        a = dot(h, w)
        for _ in range(3):
            a = ptir.TanhOp(dot(a, a))
        return [w, a]

    module = program("f32[4,4] si32[]", lambda w, n: list(counted(n, body, dot(w, w), w)))
    monkeypatch.setattr(planner, "REST", 0)
    made, plain = on_numpy(module.clone()), mind_runtime.compile(module)
    w = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)
    for iterations in (0, 1, 4):
        values = [w, np.array(iterations, np.int32)]
        for a, b in zip(made(*values), plain(*values), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def halved(x: Any) -> Any:
    """Halves until the greatest is below 1; counts the iterations."""

    def cond(count: Any, x: Any) -> Any:
        most = ptir.ReduceOp(x, kind="max", axes=(0,), keepdims=False)
        return [ptir.CompareOp(most, number(DTYPES["f32"], (), 1.0), kind="greater"), count, x]

    def body(count: Any, x: Any) -> Any:
        half = ptir.BroadcastToOp(number(DTYPES["f32"], (), 0.5), result_shape=(4,))
        return [ptir.AddOp(count, number(SI32, (), 1)), ptir.MulOp(x, half)]

    return list(ptir.WhileOp(number(SI32, (), 0), x, cond=cond, body=body).results)


def test_a_while_reads_one_truth_per_iteration_and_its_body_is_a_graph() -> None:
    module = program("f32[4]", halved)
    made = on_numpy(module.clone())
    for most, iterations in ((100.0, 7), (0.5, 0), (3.0, 2)):
        x = np.array([0.25, most, 0.125, 0.0], np.float32)
        here = there(x)
        made(here)
        made(here)
        RULES.log.clear()
        count, left = made(here)
        assert RULES.log["waits"] == iterations + 1
        assert RULES.log["graph launches"] == iterations + 2, "the first test, an iteration with its test each, and what is left"
        assert RULES.log["captures"] == 0
        assert int(count.view(np.ndarray)) == iterations
        np.testing.assert_array_equal(left.view(np.ndarray), x / 2**iterations)


def drawn(x: Any) -> Any:
    def body(x: Any, row: Any) -> Any:
        noise = ptir.RngUniformOp(shape=(4,), dtype=DTYPES["f32"])
        return [ptir.AddOp(x, noise), ptir.MulOp(noise, row)]

    first = ptir.AddOp(x, ptir.RngNormalOp(shape=(4,), dtype=DTYPES["f32"]))
    return list(scan(body, first, ptir.BroadcastToOp(x, result_shape=(3, 4)), stacks=1))


SCANS: list[tuple[str, Any]] = [
    ("f32[6] f32[6] f32[7,6]", recurrence),
    ("f64[3] f64[3] f64[5,3]", recurrence),
    ("bf16[5] bf16[5] bf16[9,5]", recurrence),
    ("f16[400] f16[400] f16[3,400]", recurrence),
    ("i1[3] i1[6,3]", lambda h, xs: list(scan(lambda h, x: [ptir.XorOp(h, x), ptir.NotOp(x)], h, xs, stacks=1))),
    ("f32[3] f32[9,3]", lambda h, xs: later(h, ptir.SliceOp(xs, starts=(1, 0), sizes=(7, 3)))),
    ("f32[0] f32[4,0]", lambda h, xs: later(h, xs)),
    ("f32[3] f32[4,2,3]", lambda h, xs: list(scan(lambda h, x: later(h, x), h, xs, stacks=1))),
]


def later(h: Any, xs: Any) -> Any:
    return list(scan(lambda h, x: [ptir.AddOp(h, x), ptir.MulOp(h, x)], h, xs, stacks=1))


def test_slices_of_iterations_are_moved_by_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every width, from any address, within others too."""
    compiler()
    monkeypatch.setattr(device, "MOST_UNROLLED", -1)
    batch = Batch()
    cases = [(program(types, body), types) for types, body in SCANS]
    made = [(batch.add(module.clone()), module, types) for module, types in cases]
    assert all("slices_in" in p.cuda or "[0]" in types for p, _, types in made)
    for i, (p, module, types) in enumerate(made):
        values = arguments(p, i)
        for _ in range(3):
            agree(types, p, module, values)


@pytest.mark.parametrize("unrolled", [True, False])
def test_random_numbers_are_those_of_numpy_for_every_seed_and_iteration(unrolled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not unrolled:
        monkeypatch.setattr(device, "MOST_UNROLLED", -1)
        monkeypatch.setattr(recorder, "MOST_UNROLLED", -1)
    module = program("f32[4]", drawn)
    made, plain = on_numpy(module.clone()), mind_runtime.compile(module)
    x = np.ones(4, np.float32)
    here = there(x)
    for seed in (0, 1, 2**40, 1, 0):
        for given in (x, here):
            for a, b in zip(made(given, seed=seed), plain(x, seed=seed), strict=True):
                np.testing.assert_allclose(a.view(np.ndarray), b, rtol=1e-6)
    assert not any(line.startswith("host:") for line in made.explain())
    made(here)
    for seed in (5, 5, 6):
        RULES.log.clear()
        found, expected = made(here, seed=seed), plain(x, seed=seed)
        assert RULES.log["captures"] == RULES.log["waits"] == 0
        assert RULES.log["graph launches"] == (1 if unrolled else 4), "what is before, and three iterations"
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a.view(np.ndarray), b, rtol=1e-6)


def test_a_failure_ends_a_loop_that_would_go_on() -> None:
    def cond(x: Any) -> Any:
        return [ptir.CompareOp(x, number(SI32, (), 100), kind="less"), x]

    def body(x: Any) -> Any:
        return [ptir.DivOp(number(SI32, (), 7), ptir.SubOp(x, x))]

    module = program("si32[]", lambda x: ptir.WhileOp(x, cond=cond, body=body).results[0])
    made = on_numpy(module.clone())
    for _ in range(4):
        with pytest.raises(MindError, match="integer 7 by 0"):
            made(there(np.array(5, np.int32)))


@pytest.mark.quick
def test_every_call_is_captured_or_has_a_reason_not_to_be() -> None:
    assert CAPTURED | set(HOST) == set(FUNCTIONS)
    assert not CAPTURED & set(HOST)
    assert VIEWS <= CAPTURED
    assert all(HOST.values())
