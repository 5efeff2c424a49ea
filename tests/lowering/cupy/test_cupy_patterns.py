"""Kernel patterns of the CuPy target: a match emits nothing, and what matches can be emitted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation

from attention_gradients import attend, gradient
from mind_dialect import ptir
from mind_dialect.dominance import walk
from mind_dialect.program import functions
from mind_dialect.ptir.types import BF16, F32
from mind_lowering.cupy.kernels import patterns
from mind_lowering.cupy.kernels.kernel import KernelWriter
from mind_lowering.cupy.kernels.patterns import ELEMENTWISE, PATTERNS, ROWS, choose, why_no_kernel
from mind_lowering.cupy.kernels.scope import Scope
from mind_lowering.cupy.prepare import prepared
from mind_lowering.launch.kernel_patterns import Choice, Rejection
from native_control_programs import convolved, dot
from ptir_forms import attention, patches, program, reduce, shape, softmax
from ptir_programs import ACCEPTED, row_module
from row_programs import RowMaker


def scattered(x: Any, i: Any, u: Any) -> Any:
    dims = {"update_window_dims": (1,), "inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,)}
    return ptir.ScatterAddOp(x, i, u, **dims)


def overlapping(x: Any, i: Any, u: Any) -> Any:
    dims = {"update_window_dims": (1,), "inserted_window_dims": (), "scatter_dims_to_operand_dims": (0,)}
    return ptir.ScatterAddOp(x, i, u, **dims)


def pooled(x: Any, accum_dtype: Any = None) -> Any:
    one = {name: (1, 1) for name in ("strides", "base_dilation", "window_dilation")}
    return ptir.ReduceWindowOp(x, kind="sum", window_dims=(2, 2), padding=((0, 0), (0, 0)), accum_dtype=accum_dtype, **one)


def segmented(x: Any, i: Any, n: int = 9, accum_dtype: Any = None) -> Any:
    settings: Any = {"indices_are_sorted": False, "unique": False, "accum_dtype": accum_dtype}
    return ptir.SegmentReduceOp(x, i, kind="sum", num_segments=n, **settings)


def summed(x: Any) -> Any:
    return ptir.CumulativeSumOp(x, axis=-1, exclusive=False, reverse=False)


def turned(x: Any, w: Any) -> Any:
    return convolved(x, ptir.NegOp(w))


def window(x: Any, u: Any, start: Any) -> Any:
    return ptir.DynamicUpdateSliceOp(x, u, start, sizes=shape(u))


def along(x: Any, i: Any, u: Any) -> Any:
    return ptir.ScatterReduceOp(x, i, u, kind="add", axis=1)


def looked_up(times: int) -> Callable[..., Any]:
    """A lookup by indices that are looked up themselves, so many times."""

    def body(x: Any, i: Any) -> Any:
        for _ in range(times):
            i = ptir.TakeOp(i, i).results[0]
        return ptir.TakeOp(x, i)

    return body


def smoothed(times: int) -> Callable[..., Any]:
    """Sums of neighbours, of which each element needs three times as many from step to step."""

    def body(x: Any) -> Any:
        for _ in range(times):
            wide = ptir.PadOp(x, low=(1,), high=(1,), interior=(0,), pad_value=0.0)
            a, b, c = (ptir.SliceOp(wide, starts=(k,), sizes=(40,)).results[0] for k in range(3))
            x = ptir.AddOp(ptir.AddOp(a, ptir.TanhOp(b)), c).results[0]
        return x

    return body


def crossed(x: Any) -> Any:
    rows = reduce(x, "sum")
    return ptir.AddOp(x, ptir.BroadcastToOp(ptir.TransposeOp(rows, perm=(1, 0)), result_shape=shape(x)))


def turned_scores(q: Any, k: Any, v: Any) -> Any:
    return dot(softmax(ptir.TransposeOp(dot(q, ptir.TransposeOp(k, perm=(1, 0))), perm=(1, 0)), 1), v)


def plain_attention(q: Any, k: Any, v: Any) -> Any:
    return dot(softmax(dot(q, ptir.TransposeOp(k, perm=(1, 0))), 1), v)


def body_of(types: str, body: Callable[..., Any]) -> Block:
    """The ops of a program as the body of one fusion."""
    (func,) = functions(program(types, body))
    block = Block(arg_types=func.function_type.inputs.data)
    values: dict[Any, Any] = dict(zip(func.body.block.args, block.args, strict=True))
    for op in func.body.block.ops:
        if op is func.body.block.last_op:
            block.add_op(ptir.YieldOp(*(values[v] for v in op.operands)))
        else:
            block.add_op(copy := op.clone(values))
            values.update(zip(op.results, copy.results, strict=True))
    return block


CHOSEN: dict[str, tuple[str, Callable[..., Any]]] = {
    "attention": ("f32[20,8] f32[30,8] f32[30,8]", plain_attention),
    "convolution": ("f32[1,8,8,3] f32[3,3,3,4]", turned),
    "scan": ("f32[4,40]", lambda x: summed(ptir.ExpOp(x))),
    "window update": ("f32[2,20,3] f32[2,4,3] si32[3]", window),
    "scatter along an axis": ("f32[4,7] si32[4,3] f32[4,3]", along),
    "scatter of windows": ("f32[9,5] si32[4] f32[4,5]", scattered),
    "segments": ("f32[8,5] si32[8]", segmented),
    "windows": ("f32[8,5]", pooled),
    "reduction": ("f32[20,64]", softmax),
    "elementwise": ("f32[20,64]", lambda x: ptir.NegOp(ptir.ExpOp(x))),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_which_row_is_chosen(name: str) -> None:
    chosen = choose(body_of(*CHOSEN[name]))
    assert isinstance(chosen, Choice)
    assert chosen.pattern.name == name
    assert chosen.match.cost > 0


def test_updates_among_other_ops_are_maps() -> None:
    for types, body in (
        ("f32[2,20,3] f32[2,4,3] si32[3]", lambda x, u, s: ptir.NegOp(window(x, u, s))),
        ("f32[4,7] si32[4,1] f32[4,1]", lambda x, i, u: along(ptir.ExpOp(x), i, u)),
    ):
        chosen = choose(body_of(types, body))
        assert isinstance(chosen, Choice)
        assert chosen.pattern is ELEMENTWISE
        assert chosen.match.schedule.into is None


REASONS: list[tuple[str, Callable[..., Any], str]] = [
    ("f32[8,16] f32[16,4]", dot, "ptir.dot_general in a kernel"),
    ("f32[20,8] f32[20,8] f32[20,8]", turned_scores, "dot_general used elsewhere than where its kernel has it"),
    ("f32[20,600] f32[30,600] f32[30,600]", plain_attention, "an attention of depth 600"),
    ("f32[0,8] f32[30,8] f32[30,8]", plain_attention, "an attention of nothing"),
    (
        "f32[1,8,8,3] f32[3,3,3,4]",
        lambda x, w: reduce(turned(x, w), "sum"),
        "a convolution with more than elementwise",
    ),
    ("f32[0,8,8,3] f32[3,3,3,4]", turned, "a convolution of nothing"),
    ("f32[4,40]", lambda x: ptir.NegOp(summed(x)), "cumulative_sum with something after it"),
    ("f32[4,0]", summed, "sums of nothing"),
    ("f32[2,20,3] f32[2,0,3] si32[3]", window, "an update of nothing, or by nothing"),
    (
        "f32[4,7] si32[4,3] f32[4,3]",
        lambda x, i, u: along(ptir.ExpOp(x), i, u),
        "an update of a computed value, or of one that is also read",
    ),
    ("f32[4,7] si32[4,70000] f32[4,70000]", along, "70000 updates that may meet"),
    ("f32[9] si32[4] f32[4,2]", overlapping, "windows that may overlap in part"),
    ("f32[8,0] si32[8]", segmented, "8 rows for 9 segments"),
    ("bf16[8,3] si32[8]", lambda x, i: segmented(x, i, accum_dtype=BF16), "a sum in bf16"),
    ("bf16[8,5]", lambda x: pooled(x, BF16), "a sum in bf16"),
    ("bf16[8,5]", lambda x: reduce(x, "sum", accum_dtype=BF16), "a sum in bf16"),
    ("f32[8,5]", lambda x: [reduce(x, "sum"), reduce(x, "sum", 0)], "columns of few rows that are reduced too"),
    ("f32[8,0]", lambda x: reduce(x, "sum"), "a reduction of nothing, or to nothing"),
    ("f32[8,5]", lambda x: [reduce(x, "sum"), ptir.SliceOp(x, starts=(0, 0), sizes=(2, 3))], "a result that is neither whole"),
    ("f32[6,6]", crossed, "a reduction used elsewhere than in its row"),
    ("f32[9] si32[9]", looked_up(3), "indices that depend on indices from data"),
    ("f32[40]", smoothed(5), "values needed at too many indices"),
    ("f32[8] f32[3]", lambda x, y: [ptir.NegOp(x), ptir.NegOp(y)], "results of different sizes"),
    ("f32[B,5]", lambda x: ptir.NegOp(ptir.ExpOp(x)), "a dimension without a size"),
    ("f32[B,5]", lambda x: reduce(x, "sum"), "a dimension without a size"),
    ("f32[B,7] si32[B,3] f32[B,3]", along, "a dimension without a size"),
    ("f32[B,7] si32[B,1] f32[B,1]", lambda x, i, u: along(ptir.ExpOp(x), i, u), "a dimension without a size"),
    ("f32[B,8] f32[B,8] f32[B,8]", plain_attention, "a dimension without a size"),
    ("cf32[8]", ptir.NegOp, "cf32 in a kernel"),
    ("f32[8]", lambda x: ptir.SortOp(x, axis=0, descending=False), "ptir.sort in a kernel"),
    ("f32[0] si32[3]", lambda x, i: ptir.TakeOp(x, i), "take of nothing"),
    ("f32[9,0] si32[2]", lambda x, i: ptir.TakeOp(x, i), "indices of elements without an index"),
]


@pytest.mark.parametrize(("types", "body", "reason"), REASONS, ids=[reason for _, _, reason in REASONS])
def test_a_body_that_is_no_kernel_says_why(types: str, body: Callable[..., Any], reason: str) -> None:
    block = body_of(types, body)
    assert (why_no_kernel(block) or "").startswith(reason)
    found = choose(block)
    assert not isinstance(found, Choice)
    assert all(isinstance(rejection, Rejection) and rejection.reason for _, rejection in found)


@pytest.mark.parametrize(("types", "body"), [("f32[9] si32[9]", looked_up(2)), ("f32[40]", smoothed(3))])
def test_less_of_the_same_is_a_kernel(types: str, body: Callable[..., Any]) -> None:
    assert why_no_kernel(body_of(types, body)) is None


def corpus() -> Iterator[FuncOp]:
    """Functions of every op, of rows, of the table above, and of attentions with their gradients."""
    for row in ACCEPTED:
        yield from (f for f in functions(row_module(row)) if "?" not in str(f.function_type) and '"' not in str(f.function_type))
    for types, body in CHOSEN.values():
        yield from functions(program(types, body))
    for dtype in (F32, BF16):
        for seed in range(6):
            yield from functions(RowMaker(seed, dtype).module())
    yield from functions(program("f32[1,2,40,16] f32[1,2,40,16] f32[1,2,40,16]", attention))
    yield from functions(program("f32[2,8,8,3]", patches))
    yield from functions(gradient("f32[20,8] f32[30,8] f32[30,8]", attend))


def no_text(*given: Any, **named: Any) -> None:
    raise AssertionError("text is made before a kernel is chosen")


def test_a_match_emits_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole functions are fused, each step of which asks whether a body is a kernel."""
    matched: set[str] = set()

    def watched(block: Block) -> Any:
        before = str(block)
        found, again = choose(block), choose(block)
        assert str(block) == before
        if isinstance(found, Choice):
            assert isinstance(again, Choice)
            assert (found.pattern, found.match.cost, found.rejections) == (again.pattern, again.match.cost, again.rejections)
            matched.add(found.pattern.name)
        else:
            assert found == again
        return found

    for owner in (KernelWriter, Scope):
        monkeypatch.setattr(owner, "__init__", no_text)
    monkeypatch.setattr(patterns, "choose", watched)
    for func in corpus():
        prepared(func)
    assert matched == {row.name for row in (*PATTERNS, ELEMENTWISE)}


def test_what_matches_can_be_emitted() -> None:
    """Also more than once: a schedule is not changed by its text."""
    emitted: set[str] = set()
    for func in corpus():
        for op in walk(prepared(func)):
            if isinstance(op, ptir.FusionOp) and isinstance(chosen := choose(op.body.block), Choice):
                kernel = chosen.match.schedule.emit()
                assert kernel == chosen.match.schedule.emit()
                assert kernel.launch.into == chosen.match.schedule.into
                emitted.add(chosen.pattern.name)
    assert emitted == {row.name for row in (*PATTERNS, ELEMENTWISE)}


@pytest.mark.quick
def test_the_table_is_whole() -> None:
    assert len({row.name for row in (*PATTERNS, ELEMENTWISE)}) == len(PATTERNS) + 1
    assert [op for op, rows in ROWS.items() for row in rows if op not in row.ops] == []
    assert {row for rows in ROWS.values() for row in rows} == set(PATTERNS)
    assert all(issubclass(op, Operation) for op in ROWS)
