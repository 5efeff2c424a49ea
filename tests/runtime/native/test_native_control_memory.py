"""What branches and loops of native code copy, which is little, and the memory that they work in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from mind_dialect import ptir
from mind_dialect.ptir.types import SI32
from mind_lowering.native import detect, plan
from mind_lowering.native.program import lower, prepared
from native_checks import assert_close
from native_control_programs import BOTH, across, add, counted, dot, scan, updated
from ptir_control_programs import number
from ptir_evaluator import function_of
from ptir_forms import like, program, reduce


def compiled(module: Any, **options: Any) -> Any:
    return mind_runtime.compile(module, target="native", **options)


def is_native(run: Any) -> bool:
    return not any(line.startswith("numpy") for line in run.explain())


def copies(run: Any, *shapes: tuple[int, ...]) -> int:
    """How many lines of `explain` say that something of one of these shapes is copied in a loop or a branch."""
    ends = tuple(f": copy over {list(s)}" for s in shapes)
    return sum(line.startswith("native   ") and line.endswith(ends) for line in run.explain())


DECODE = (
    "f32[16,8] f32[8,8] f32[8] si32[]",
    lambda cache, w, x, n: counted(
        n,
        lambda cache, w, x, at: [
            cache_ := updated(cache, ptir.ReshapeOp(x, new_shape=(1, 8)).results[0], at),
            w,
            ptir.TanhOp(reduce(dot(cache_, w), "sum", 0, keepdims=False)).results[0],
            add(at, number(SI32, (), 1)),
        ],
        cache,
        w,
        x,
        number(SI32, (), 0),
    ),
)


def test_a_cache_is_updated_in_place_from_a_donated_input_to_the_result() -> None:
    module = program(*DECODE)
    name = mind_runtime.compile(module).inputs[0].name
    run, donated = compiled(module), compiled(module, donate=[name])
    assert is_native(run)
    assert copies(donated, (16, 8)) == 0, "only the row is written in an iteration"
    arrays = [a.astype(np.float32) for a in (np.zeros((16, 8)), np.eye(8) / 4, np.ones(8))]
    expected = mind_runtime.compile(module)(*[a.copy() for a in arrays], np.asarray(5, np.int32))
    kept = run(*arrays, np.asarray(5, np.int32))
    assert not arrays[0].any()
    found = donated(*arrays, np.asarray(5, np.int32))
    assert found[0] is arrays[0]
    for got, same, want in zip(found, kept, expected, strict=True):
        assert_close(got, want, ulps=64, scale=1.0)
        assert_close(got, same, ulps=0)


def test_weights_are_trained_in_place() -> None:
    def body(w: Any, x: Any) -> Any:
        error = ptir.SubOp(dot(x, w), like(dot(x, w), 1.0))
        slope = ptir.DotGeneralOp(x, error, batch_lhs=(), batch_rhs=(), contract_lhs=(0,), contract_rhs=(0,))
        return [ptir.SubOp(w, ptir.MulOp(slope, like(slope, 0.01))).results[0]]

    module = program("f32[24,6] f32[50,20,24]", lambda w, xs: scan(body, w, xs))
    name = mind_runtime.compile(module).inputs[0].name
    run = compiled(module, donate=[name])
    assert is_native(run)
    assert copies(run, (24, 6), (20, 24), (20, 6)) == 0
    rng = np.random.default_rng(0)
    w, xs = rng.standard_normal((24, 6)).astype(np.float32), rng.standard_normal((50, 20, 24)).astype(np.float32)
    expected = mind_runtime.compile(module)(w, xs)
    found = run(w, xs)
    assert found is w
    assert_close(found, expected, ulps=2000, scale=1.0)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("a product with the value before", 0),
        ("a product, in a while", 0),
        ("values that change places", 0),
        ("a sum of the last two", 0),
        ("three that go round, one of them new", 0),
        ("a queue of what was stacked", 0),
        ("a queue of slices", 0),
        ("one value yielded three times", 0),
        ("one value carried twice", 1),
        ("what is passed through", 0),
        ("branch: an update of what dies", 0),
        ("branch: an update of what is used afterwards", 2),
        ("branch: changed places", 3),
    ],
)
def test_what_is_copied_in_a_iteration(name: str, count: int) -> None:
    assert copies(compiled(program(*BOTH[name])), (4,), (3, 5), (2, 3), (4, 3)) == count


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("a stack that is reversed", 0),
        ("a stack that is reversed, with the carry in it", 0),
        ("a reversed stack in a loop", 1),
        ("a stack in both orders", 1),
        ("a stack that is reversed along two axes", 1),
    ],
)
def test_a_stack_that_is_read_from_its_end_is_written_from_it(name: str, count: int) -> None:
    lines = compiled(program(*BOTH[name])).explain()
    assert sum(line.endswith((": copy over [5, 4]", ": copy over [3, 2]")) for line in lines) == count


def test_the_arena_of_a_loop_holds_what_lives_at_once() -> None:
    """Two buffers that change places, and two temporaries of an iteration: whatever the number of iterations."""

    def body(a: Any, w: Any) -> Any:
        for _ in range(6):
            a = ptir.TanhOp(dot(a, w)).results[0]
        return [a, w]

    for iterations in (2, 1000):
        module = program(
            "f32[64,64] f32[64,64] f32[1]",
            lambda a, w, s, n=iterations: scan(
                lambda a, w, r: body(a, w), a, w, ptir.BroadcastToOp(s, result_shape=(n,)), carries=2
            ),
        )
        native = lower(prepared(function_of(module), detect()), detect())
        assert native.arena <= 4 * 64 * 64 * 4


# Operands that no iteration changes


def packed(name: str) -> list[int]:
    """How deep in loops and branches operands of products and convolutions are packed, filters in blocks of panels."""
    lines = [line.removeprefix("native  ") for line in compiled(program(*BOTH[name])).explain()[1:]]
    copies = [line for line in lines if ": panels of " in line or ": copy over [1, 1, 3, 3, 20, 20]" in line]
    return [(len(line) - len(line.lstrip())) // 2 for line in copies]


@pytest.mark.parametrize(
    ("name", "depths"),
    [
        ("weights that no iteration changes", [0]),
        ("weights that iterations change", []),
        ("weights of a branch in a loop", [0]),
        ("weights of loops in loops", [0, 1, 1]),
        ("weights of convolutions", [0]),
        ("keys and values that no iteration changes", [0, 0]),
    ],
)
def test_operands_are_packed_before_the_outermost_loop_that_does_not_change_them(name: str, depths: list[int]) -> None:
    assert packed(name) == depths


def test_a_loop_of_one_iteration_packs_nothing_before_it() -> None:
    for iterations, lines in ((1, 0), (2, 1)):
        module = program(
            f"f32[7,40] f32[40,40] f32[{iterations},7,40]",
            lambda h, w, s: scan(lambda h, w, r: [add(across(h, w), r), w], h, w, s, carries=2),
        )
        assert sum("panels of" in line for line in compiled(module).explain()) == lines


def test_what_is_packed_before_loops_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    def body(h: Any, v: Any, w: Any, r: Any) -> Any:
        return [add(add(across(h, v), across(h, w)), r), v, w]

    module = program("f32[7,40] f32[40,40] f32[40,40] f32[9,7,40]", lambda h, v, w, s: scan(body, h, v, w, s, carries=3))
    size = 40 * 48 * 4
    arenas: list[int] = []
    for most, count in ((0, 0), (size, 1), (4 * size, 2)):
        monkeypatch.setattr(plan, "BUDGET", most)
        native = lower(prepared(function_of(module), detect()), detect())
        arenas.append(native.arena)
        assert sum("panels of" in str(note) for note in native.notes) == count
    assert arenas[0] < arenas[1] < arenas[2] <= arenas[0] + 4 * size


@pytest.mark.parametrize(("columns", "count"), [(64, 1), (4096, 0)])
def test_narrow_weights_that_are_not_in_cache_stay_narrow(columns: int, count: int) -> None:
    """In a loop that reads them from memory each time, wide copies would take longer."""

    def body(h: Any, w: Any, r: Any) -> Any:
        wide = ptir.CastOp(w, dtype="f32")
        found = ptir.DotGeneralOp(h, wide, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(1,))
        return [ptir.NegOp(h), w, reduce(add(found, r), "max", 1, keepdims=False)]

    module = program(
        f"f32[7,256] bf16[{columns},256] f32[5,7,{columns}]",
        lambda h, w, s: scan(body, h, w, s, carries=2, stacks=1),
    )
    run = compiled(module)
    assert sum("panels of" in line and "read in bf16" in line for line in run.explain()) == count
    rng = np.random.default_rng(0)
    arrays = [np.asarray(rng.standard_normal(s.shape)).astype(s.numpy_dtype) for s in run.inputs]
    for found, expected in zip(run(*arrays), mind_runtime.compile(module)(*arrays), strict=True):
        assert_close(found, expected, ulps=256, scale=4.0)
