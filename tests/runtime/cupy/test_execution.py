"""How programs run on a GPU, seen on a machine that is none: plans, graphs, arrays that move, donated ones, loops, failures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import mind_runtime
from cupy_agreement import arguments, close
from fake_gpu import RULES, FakeArray, FakeMachine
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_lowering.cupy.options import CupyOptions
from mind_lowering.cupy.planning import device, planner
from mind_lowering.launch.compute_ops import KernelOp
from mind_lowering.launch.memory_ops import CopyOp
from mind_runtime.cupy.runner import MOST_MOVES, MOST_TAPES
from mind_runtime.on_cupy import CupyProgram
from numpy_launches import on_numpy
from programs import parse
from ptir_control_programs import control_programs
from ptir_forms import program, reduce, spread


def there(x: np.ndarray) -> Any:
    """An array on the machine."""
    made = FakeMachine().fresh(x.shape, x.dtype)
    made[...] = x
    return made


def outcome(run: Any, values: Any, **options: Any) -> Any:
    try:
        found = run(*values, **options)
    except MindError as e:
        return e.code
    return found if isinstance(found, tuple) else (found,)


def same(found: Any, expected: Any, name: str = "") -> None:
    if isinstance(expected, str):
        assert found == expected, name
        return
    assert len(found) == len(expected), name
    for x, y in zip(found, expected, strict=True):
        close(np.asarray(x.view(np.ndarray)), y, name)


def exercise(module: Any, values: list[np.ndarray], made: CupyProgram | None = None) -> CupyProgram:
    """Call a program on arrays of the host, arrays that stay, arrays that move; results are kept and stay as they are."""
    expected = outcome(mind_runtime.compile(module), values)
    made = on_numpy(module.clone()) if made is None else made
    for _ in range(2):
        same(outcome(made, values), expected, "host")
    stay = [there(x) for x in values]
    kept = [outcome(made, stay) for _ in range(4)]
    kept += [outcome(made, [there(x) for x in values]) for _ in range(MOST_MOVES + 4)]
    for found in kept:
        same(found, expected, "there")
    for x, y in zip(stay, values, strict=True):
        np.testing.assert_array_equal(x.view(np.ndarray), y)
    return made


def mlp(x: Any, w: Any, b: Any) -> Any:
    p = ptir.DotGeneralOp(x, w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,))
    row = ptir.BroadcastToOp(b, result_shape=(6, 5))
    return [ptir.TanhOp(ptir.AddOp(p, row)), ptir.NegOp(p)]


MLP = "f32[6,4] f32[4,5] f32[5]"


def test_a_program_is_one_graph_and_finds_it_again() -> None:
    module = program(MLP, mlp)
    made = on_numpy(module)
    values = [there(x) for x in arguments(made, 0)]
    made(*values)
    held = [made(*values) for _ in range(3)]
    RULES.log.clear()
    del held[:]
    for _ in range(5):
        made(*values)
    assert RULES.log["captures"] <= 2
    before = RULES.log["rooms"], RULES.log["pool"], RULES.log["captures"]
    for _ in range(5):
        made(*values)
    assert (RULES.log["rooms"], RULES.log["pool"], RULES.log["captures"]) == before
    assert RULES.log["graph launches"] == 10
    assert RULES.log["waits"] == 0, "nothing of it is for the host to know"
    exercise(module, arguments(made, 1))


def test_graphs_can_be_turned_off() -> None:
    module = program(MLP, mlp)
    made = on_numpy(module.clone(), options=CupyOptions(graph=False))
    RULES.log.clear()
    exercise(module, arguments(made, 0), made)
    assert RULES.log["captures"] == RULES.log["graph launches"] == 0
    assert any("graph=off" in line for line in made.explain())


def test_what_cannot_be_captured_runs_step_by_step_and_is_told() -> None:
    module = program(MLP, mlp)
    made = on_numpy(module.clone())
    assert isinstance(made._machine, FakeMachine)
    made._machine.refuses = "not today"
    exercise(module, arguments(made, 0), made)
    assert [line for line in made.explain() if "not today" in line]


def test_arrays_that_move_are_copied_after_some_time_and_tapes_are_few() -> None:
    module = program(MLP, mlp)
    made = on_numpy(module.clone())
    kept: list[Any] = []
    for i in range(40):
        values = arguments(made, i)
        here = [there(x) for x in values]
        kept += [here, found := made(*here)]
        same(found, outcome(mind_runtime.compile(module), values))
    assert made.runner is not None
    assert made.runner.made <= MOST_MOVES + 6
    assert len(made.runner._tapes) <= MOST_TAPES
    assert all(made.runner._inputs.copied)


def test_results_are_new_arrays() -> None:
    made = on_numpy(program(MLP, mlp))
    values = [there(x) for x in arguments(made, 0)]
    found = [made(*values) for _ in range(30)]
    addresses = {x.ctypes.data for pair in found for x in pair}
    assert len(addresses) == 60
    first = np.array(found[0][0].view(np.ndarray))
    for pair in found:
        np.testing.assert_array_equal(pair[0].view(np.ndarray), first)


@settings(max_examples=40, phases=[Phase.explicit, Phase.generate])
@given(control_programs(), st.integers(0, 100))
def test_views_updates_branches_and_loops_give_what_numpy_gives(text: str, seed: int) -> None:
    module = parse(text)
    ways = ((0, device.MOST_UNROLLED), (planner.REST, -1))
    for rest, most in ways:  # memory that is used again at once, and that rests; scans by iterations
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(planner, "REST", rest)
            patch.setattr(device, "MOST_UNROLLED", most)
            made = on_numpy(module.clone())
        assert made.runner is not None, made.unplanned
        exercise(module, arguments(made, seed), made)


@pytest.mark.parametrize("here", [False, True])
def test_a_donated_argument_is_updated_in_place(here: bool) -> None:
    def update(w: Any, g: Any) -> Any:
        return ptir.SubOp(w, ptir.MulOp(g, g))

    module = program("f32[8,8] f32[8,8]", update)
    made = on_numpy(module.clone(), [0])
    assert made.runner is not None
    assert made.runner.plan.in_place == [(0, 0)]
    w, g = arguments(made, 0)
    expected = np.array(w)
    state = there(w) if here else np.array(w)
    steps = there(g) if here else g
    for _ in range(6):
        expected = expected - g * g
        state = made(state, steps)
        np.testing.assert_allclose(np.asarray(state.view(np.ndarray)), expected, rtol=1e-6)
    if here:
        first = state.ctypes.data
        assert made(state, steps).ctypes.data == first
        moving = state
        for _ in range(20):
            expected = expected - g * g
            moving = made(there(np.array(moving.view(np.ndarray))), steps)
        np.testing.assert_allclose(moving.view(np.ndarray), expected - g * g, rtol=1e-5)


def launches(made: CupyProgram) -> list[Any]:
    """The ops of a plan that run."""
    return [op for op in made.runner.plan.func.body.block.ops if isinstance(op, KernelOp | CopyOp)]


def test_what_reads_others_elements_is_not_put_over_its_operand() -> None:
    def swapped(w: Any) -> Any:
        return ptir.AddOp(ptir.TransposeOp(w, perm=(1, 0)), w)

    module = program("f32[8,8]", swapped)
    made = on_numpy(module.clone(), [0])
    assert made.runner is not None
    launch, copy = launches(made)
    assert isinstance(copy, CopyOp), "it is put there when all is read"
    assert list(launch.writes) == [copy.source]
    (w,) = arguments(made, 0)
    given = there(w)
    for _ in range(3):
        address, expected = given.ctypes.data, np.array(given).T + np.array(given)
        given = made(given)
        np.testing.assert_array_equal(given.view(np.ndarray), expected)
        assert given.ctypes.data == address


def test_each_of_several_donated_arguments_stays_where_it_is() -> None:
    """Also those that are read for the last time after others are made; sums over rows are written where weights were."""

    def update(v: Any, w: Any, g: Any) -> Any:
        total = reduce(g, "sum", 0, keepdims=False)
        return [ptir.SubOp(v, ptir.MulOp(total, w)), ptir.AddOp(ptir.MulOp(w, v), total)]

    module = program("f32[8] f32[8] f32[4,8]", update)
    made = on_numpy(module.clone(), [0, 1])
    assert made.runner is not None
    v, w, g = (there(x) for x in arguments(made, 0))
    places = [v.ctypes.data, w.ctypes.data]
    plain = mind_runtime.compile(module)
    for _ in range(4):
        expected = plain(*(np.array(x) for x in (v, w, g)))
        v, w = made(v, w, g)
        assert [v.ctypes.data, w.ctypes.data] == places
        for x, y in zip((v, w), expected, strict=True):
            np.testing.assert_allclose(x.view(np.ndarray), y, rtol=1e-5)
    assert made.runner.made == 1


SUMS: dict[str, tuple[str, Any, set[tuple[int, int]]]] = {
    "at the place": ("f32[8] f32[4,8]", lambda w, g: ptir.SubOp(w, reduce(g, "sum", 0, keepdims=False)), {(0, 0)}),
    "rows": ("f32[4] f32[4,8]", lambda w, g: ptir.SubOp(w, reduce(g, "sum", 1, keepdims=False)), {(0, 0)}),
    "spread": ("f32[1,8] f32[4,8]", lambda w, g: ptir.AddOp(w, reduce(ptir.MulOp(g, spread(w, g)), "sum", 0)), set()),
    "as large as what is summed": ("f32[4,8]", lambda g: ptir.SubOp(g, spread(reduce(g, "sum", 0), g)), set()),
}


@pytest.mark.parametrize("case", SUMS)
def test_which_results_of_reductions_may_be_over_their_operands(case: str) -> None:
    text, body, expected = SUMS[case]
    made = on_numpy(program(text, body))
    assert made.runner is not None
    (launch,) = launches(made)
    assert isinstance(launch, KernelOp)
    assert {(r, launch.reads[i].owner.number) for r, i in launch.inplace_pairs} == expected


def test_donated_arguments_share_no_memory() -> None:
    made = on_numpy(program("f32[8,8] f32[8,8]", lambda w, g: ptir.SubOp(w, g)), [0])
    (w, _) = arguments(made, 0)
    x = there(w)
    for pair in ((x, x), (x, x[:]), (x[...], x)):
        with pytest.raises(MindError, match="shares memory") as e:
            made(*pair)
        assert e.value.code == "E2001"
    with pytest.raises(MindError, match="row-major"):
        made(there(w).T, there(w))


def division(x: Any, y: Any) -> Any:
    return ptir.NegOp(ptir.DivOp(x, y))


def test_a_failure_is_raised_when_the_call_is_over_and_forgotten_by_the_next() -> None:
    module = program("si32[4] si32[4]", division)
    made = on_numpy(module.clone())
    good, bad = [np.array([4, 5, 6, 7], np.int32), np.array([1, 2, 3, 4], np.int32)], np.array([1, 0, 3, 0], np.int32)
    for divisor in (bad, good[1], bad, bad, good[1], good[1]):
        same(outcome(made, [good[0], divisor]), outcome(mind_runtime.compile(module), [good[0], divisor]))
        here = [there(good[0]), there(divisor)]
        same(outcome(made, here), outcome(mind_runtime.compile(module), [good[0], divisor]))
    with pytest.raises(MindError, match="division of the integer 5 by 0"):
        made(good[0], bad)


def test_a_call_waits_once_for_its_failures() -> None:
    made = on_numpy(program("si32[4] si32[4]", lambda x, y: ptir.DivOp(ptir.DivOp(x, y), ptir.AddOp(y, y))))
    values = [there(np.array([4, 5, 6, 7], np.int32)), there(np.array([1, 2, 3, 4], np.int32))]
    made(*values)
    RULES.log.clear()
    made(*values)
    assert RULES.log["waits"] == 1


@pytest.mark.parametrize(
    ("what", "values"),
    [
        ("a list", [[1.0] * 4]),
        ("another dtype", [np.zeros(4)]),
        ("another shape", [np.zeros(5, np.float32)]),
        ("another dtype there", [np.zeros(4).view(FakeArray)]),
        ("another shape there", [np.zeros(5, np.float32).view(FakeArray)]),
    ],
)
def test_wrong_arguments(what: str, values: Any) -> None:
    made = on_numpy(program("f32[4]", lambda x: ptir.NegOp(x)))
    with pytest.raises(MindError) as e:
        made(*values)
    assert e.value.code == "E2001", what


def test_arrays_in_any_order_and_from_any_address() -> None:
    module = program("f32[6,4]", lambda x: ptir.ExpOp(x))
    made = on_numpy(module.clone())
    x = np.arange(24, dtype=np.float32).reshape(6, 4)
    wide = there(np.zeros((6, 9), np.float32))
    wide[:, 1:5] = x
    turned = there(np.ascontiguousarray(x.T)).T
    for x_there in (wide[:, 1:5], turned, turned[::-1][::-1]):
        np.testing.assert_array_equal(np.asarray(made(x_there).view(np.ndarray)), np.exp(x))


def dot(x: Any, y: Any, batch: Any, contract: Any, **options: Any) -> Any:
    axes = {"batch_lhs": batch[0], "batch_rhs": batch[1], "contract_lhs": contract[0], "contract_rhs": contract[1]}
    return ptir.DotGeneralOp(x, y, **axes, **options)


PRODUCTS = [
    ("f32[3,4] f32[5,4]", ((), ()), ((1,), (1,))),
    ("f32[4,3] f32[4,5]", ((), ()), ((0,), (0,))),
    ("f32[2,3,4] f32[2,5,4]", ((0,), (0,)), ((2,), (2,))),
    ("f32[3,2,4] f32[5,2,4]", ((1,), (1,)), ((2,), (2,))),
    ("f32[2,3,4,5] f32[2,6,4,5]", ((0, 2), (0, 2)), ((3,), (3,))),
    ("f32[2,3,4] f32[4,3,6]", ((), ()), ((1, 2), (1, 0))),
    ("f32[4] f32[4,3]", ((), ()), ((0,), (0,))),
    ("f16[4] f16[3]", ((), ()), ((), ())),
    ("f64[3,4] f64[5,4]", ((), ()), ((1,), (1,))),
    ("f16[3,4] f16[5,4]", ((), ()), ((1,), (1,))),
    ("bf16[2,3,4] bf16[2,4,5]", ((0,), (0,)), ((2,), (1,))),
]


@pytest.mark.parametrize(("types", "batch", "contract"), PRODUCTS)
def test_products_are_cublas_and_no_graph_is_broken(types: str, batch: Any, contract: Any) -> None:
    module = program(types, lambda x, y: ptir.NegOp(dot(x, y, batch, contract)))
    made = on_numpy(module.clone())
    RULES.log.clear()
    exercise(module, arguments(made, 0), made)
    assert made.runner is not None
    assert not made.runner.issues
    assert RULES.log["products"]
    assert not [line for line in made.explain() if line.startswith(("host", "no graph"))]
