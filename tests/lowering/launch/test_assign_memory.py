"""Memory plans: what shares memory, how much they need, and that none is accepted which gives wrong numbers."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.dialects.func import FuncOp

from launch_machine import execute
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.ptir.types import F32
from mind_lowering.launch import AllocOp, Space
from mind_lowering.launch.assign_memory import ARENA_BYTES, LaunchAssignMemoryPass, assign_memory
from mind_lowering.launch.check_memory import check_memory
from mind_lowering.launch.compute_ops import KernelOp
from mind_lowering.launch.convert import converted_to_launch
from mind_lowering.launch.liveness import Liveness
from mind_lowering.launch.memory_ops import CopyOp, ViewOp
from mind_lowering.launch.ref import ref
from native_control_programs import BOTH
from ptir_evaluator import evaluate, function_of, same_bits, special_inputs
from ptir_forms import dot, layer_norm, program, softmax

PROGRAMS: dict[str, tuple[str, Callable[..., Any]]] = {
    "softmax": ("f32[4,33]", softmax),
    "layer norm": ("f32[4,33] f32[33] f32[33]", layer_norm),
    "products": (
        "f32[8,8] f32[8,8]",
        lambda x, w: dot(ptir.ExpOp(dot(x, w, (1,), (0,))), ptir.NegOp(dot(w, x, (1,), (0,))), (1,), (0,)),
    ),
    "a scan": BOTH["a product with the value before"],
    "a loop": BOTH["a product, in a while"],
    "loops in loops": BOTH["weights of loops in loops"],
}


def converted(name: str, donate: tuple[int, ...] = ()) -> FuncOp:
    return converted_to_launch(function_of(program(*PROGRAMS[name])), donate)


def temporaries(func: FuncOp) -> list[AllocOp]:
    return [op for op in func.walk() if isinstance(op, AllocOp) and op.kind is Space.ARENA and op.ref.nbytes]


def least(func: FuncOp) -> int:
    """The most bytes of temporaries that are in use at a time, which no plan can do without."""
    live = Liveness(func)
    ends = sorted({n for a in live.allocations for n in (live.first[a], live.last[a])})
    return max((sum(a.ref.nbytes for a in temporaries(func) if live.first[a] < n <= live.last[a]) for n in ends), default=0)


@pytest.mark.parametrize("order", ["size", "program"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_arenas_are_small(name: str, order: str) -> None:
    func = converted(name)
    apart = sum(-(-a.ref.nbytes // 64) * 64 for a in temporaries(func))
    total = assign_memory(func, order=order)
    assert func.attributes[ARENA_BYTES] == IntegerAttr(total, i64)
    assert least(func) <= total <= apart
    assert all(a.word("at") % 64 == 0 and a.word("at") + a.ref.nbytes <= total for a in temporaries(func))


def test_a_chain_of_elementwise_kernels_needs_no_arena() -> None:
    func = converted_to_launch(function_of(program("f32[100]", lambda x: ptir.ExpOp(ptir.NegOp(ptir.TanhOp(ptir.AbsOp(x)))))))
    assert assign_memory(func) == 0
    assert not temporaries(func)


def test_equal_plans_for_equal_programs() -> None:
    assert len({str(planned) for _ in range(3) if (planned := converted("loops in loops")) and assign_memory(planned)}) == 1


def test_a_plan_can_be_made_again() -> None:
    func = converted("a scan")
    first = assign_memory(func, order="program")
    text = str(func)
    assert assign_memory(func, order="size") <= first
    assert assign_memory(func, order="program") == first
    assert str(func) == text


@pytest.mark.parametrize("donate", [(), (0,)])
def test_an_output_takes_a_donated_input_that_nothing_reads_later(donate: tuple[int, ...]) -> None:
    def twice(x: Any) -> Any:
        return [ptir.ExpOp(x), ptir.NegOp(x)]

    func = converted_to_launch(function_of(program("f32[9]", twice)), donate)
    assign_memory(func)
    outputs = [op for op in func.walk() if isinstance(op, AllocOp) and op.kind is Space.OUTPUT]
    assert [op.over is not None for op in outputs] == [False, bool(donate)]


def results(func: FuncOp) -> list[Any]:
    """Of each result whether its memory is its own (None), or which input it is given, or over which it is written."""
    ending = func.body.block.last_op
    assert ending is not None
    owners = [v.owner for v in ending.operands]
    return [op.number if op.kind is Space.INPUT else None if op.over is None else ("over", op.over.owner.number) for op in owners]


def test_as_many_outputs_as_donated_inputs_pair_in_order() -> None:
    """The first result is made before the second input is read for the last time, and goes into the first all the same."""

    def update(v: Any, w: Any) -> Any:
        sums = ptir.AddOp(ptir.TransposeOp(w, perm=(1, 0)), w)
        return [sums, ptir.MulOp(v, w)]

    module = program("f32[3,3] f32[3,3]", update)
    func = converted_to_launch(function_of(module), (0, 1))
    assign_memory(func)
    func.verify()
    assert results(func) == [0, ("over", 1)], "computed apart and copied where %v is read later; over %w, which is read last"
    arrays = special_inputs(function_of(module))
    for found, wanted in zip(execute(func, arrays), evaluate(function_of(module), arrays, seed=7), strict=True):
        assert same_bits(found, wanted)


def test_with_more_outputs_than_donated_inputs_nothing_is_copied() -> None:
    module = program("f32[3]", lambda x: [ptir.ExpOp(x), ptir.NegOp(x), ptir.AbsOp(x)])
    func = converted_to_launch(function_of(module), (0,))
    assign_memory(func)
    assert results(func) == [None, None, ("over", 0)]
    assert not any(isinstance(op, CopyOp) for op in func.walk())


def test_what_is_read_in_another_order_too_is_not_written_over() -> None:
    module = program("f32[3,3]", lambda x: ptir.ExpOp(x))
    func = converted_to_launch(function_of(module), (0,))
    given, output = [op for op in func.walk() if isinstance(op, AllocOp)]
    (kernel,) = [op for op in func.walk() if isinstance(op, KernelOp)]
    turned = ViewOp(given.res, ref(F32, (3, 3), (1, 3)))
    assert kernel.parent is not None
    made = KernelOp("both", [given.res, turned.res], [output.res], inplace=[(0, 0)], schedule=StringAttr("none"))
    kernel.parent.insert_ops_before([turned, made], kernel)
    kernel.detach()
    kernel.erase()
    assign_memory(func)
    func.verify()
    assert results(func) == [0], "computed apart, then copied"


@pytest.mark.parametrize("order", ["size", "program"])
@pytest.mark.parametrize("size", [64, 1 << 17])
def test_small_memory_rests_where_it_is_asked_to(size: int, order: str) -> None:
    def body(x: Any) -> Any:
        for _ in range(4):
            x = ptir.SortOp(x, axis=0, descending=False)
        return x

    func = converted_to_launch(function_of(program(f"f32[{size}]", body)))
    at_once, later = (assign_memory(func, order=order, rest=rest) for rest in (0, 100))
    assert (at_once, later) == (8 * size, (12 if size == 64 else 8) * size)


def is_refused(func: FuncOp) -> bool:
    try:
        check_memory(func)
    except MindError as e:
        return e.code == "E9102"
    return False


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in ("softmax", "layer norm")])
def test_a_plan_with_another_offset_is_refused_or_gives_the_same_numbers(name: str) -> None:
    module = program(*PROGRAMS[name])
    arrays = [a if a.dtype.kind == "f" else np.full_like(a, 3) for a in special_inputs(function_of(module))]
    expected = evaluate(function_of(module), arrays, seed=7)
    refused = 0
    for seed in range(40):
        func, choose = converted_to_launch(function_of(module)), random.Random(seed)
        total = assign_memory(func)
        moved = choose.choice(temporaries(func))
        moved.at = IntegerAttr(choose.randrange(0, max(1, (total - moved.ref.nbytes) // 64 + 1)) * 64, i64)
        if is_refused(func):
            refused += 1
            continue
        for found, wanted in zip(execute(func, arrays), expected, strict=True):
            assert same_bits(found, wanted), str(func)
    assert refused


@pytest.mark.parametrize(
    ("options", "message"), [({"order": "best"}, "order is 'best'"), ({"align": 48}, "align is 48"), ({"align": 0}, "align is 0")]
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(MindError, match=message) as found:
        LaunchAssignMemoryPass(**options).apply(Context(), program("f32[2]", lambda x: ptir.ExpOp(x)))
    assert found.value.code == "E7001"
