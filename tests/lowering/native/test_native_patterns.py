"""Kernel patterns of the native target: `match` decides and changes nothing, and each row that matches can be built."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from types import MappingProxyType
from typing import Any

import pytest
from xdsl.dialects.func import FuncOp

from mind_dialect import ptir
from mind_dialect.program import functions
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import F32
from mind_lowering.launch.kernel_patterns import Choice, Match, Rejection
from mind_lowering.native import TARGETS, planner
from mind_lowering.native.kernels import FALLBACK, PATTERNS, ROWS
from mind_lowering.native.lowered import Foreign
from mind_lowering.native.patterns import Operands, choose
from mind_lowering.native.program import dynamic, lower, prepared
from native_control_programs import BOTH, convolved, dot
from ptir_forms import attention, like, program, reduce, softmax, spread
from ptir_programs import ACCEPTED, row_module
from row_programs import RowMaker

HOST = TARGETS["avx2"]


def biased(x: Any, w: Any, b: Any) -> Any:
    y = dot(x, w)
    return ptir.MaximumOp(ptir.AddOp(y, spread(b, y)), like(y, 0.0))


def filtered(x: Any, w: Any) -> Any:
    return convolved(x, ptir.NegOp(w))


def widened(w: Any) -> Any:
    return ptir.CastOp(w, dtype="f32")


def scaled(w: Any, s: Any) -> Any:
    return ptir.MulOp(ptir.CastOp(w, dtype="f32"), spread(s, w))


CHOSEN: dict[str, tuple[str, Callable[..., Any], str]] = {
    "product with epilogue": ("f32[8,16] f32[16,4] f32[4]", biased, "product with epilogue"),
    "a product alone": ("f32[8,16] f32[16,4]", dot, "product"),
    "a product of narrow integers": ("si8[8,16] si8[16,4]", dot, "product as a group"),
    "a product without a sum": ("bf16[8,1] bf16[1,4]", dot, "outer product"),
    "a product of no elements": ("f32[8,0] f32[0,4]", dot, "product as a group"),
    "convolution with epilogue": (
        "f32[1,8,8,3] f32[3,3,3,4]",
        lambda x, w: convolved(x, ptir.NegOp(w)),
        "convolution with epilogue",
    ),
    "softmax": ("f32[20,64]", softmax, "rows"),
    "one sum": ("f32[20,64]", lambda x: reduce(ptir.ExpOp(x), "sum"), "groups"),
    "attention": ("f32[1,2,40,16] f32[1,2,40,16] f32[1,2,40,16]", attention, "attention"),
    "a cast that a product reads": (
        "f32[8,16] bf16[16,4]",
        lambda x, w: dot(x, ptir.CastOp(w, dtype="f32")),
        "prologue of products",
    ),
    "weights with scales": ("f32[8,16] si8[16,4] f32[4]", lambda x, w, s: dot(x, scaled(w, s)), "prologue of products"),
    "a cast that something else reads": ("bf16[16,4]", widened, "elementwise"),
    "a transpose": ("f32[8,16]", lambda x: ptir.TransposeOp(x, perm=(1, 0)), "view"),
    "rows looked up": ("f32[8,16] si32[3]", ptir.TakeOp, "lookup"),
    "running sums": ("f32[8,16]", lambda x: ptir.CumulativeSumOp(x, axis=1, exclusive=False, reverse=False), "scan"),
    "lines in order": ("f32[8,16]", lambda x: ptir.SortOp(x, axis=1, descending=False), "sort"),
}


def corpus() -> Iterator[tuple[str, FuncOp]]:
    """Prepared functions of every op, of loops and branches, of rows, and of the table above, by name."""
    for i, row in enumerate(ACCEPTED):
        for func in functions(row_module(row)):
            yield f"{i} {row.op.OPCODE}", func
    for name, (types, body) in BOTH.items():
        yield from ((name, func) for func in functions(program(types, body)))
    for name, (types, body, _) in CHOSEN.items():
        yield from ((name, func) for func in functions(program(types, body)))
    for seed in range(20):
        yield from ((f"rows {seed}", func) for func in functions(RowMaker(seed, F32).module()))


def ready() -> list[tuple[str, FuncOp]]:
    """Return the functions of the corpus that have sizes, prepared."""
    found: list[tuple[str, FuncOp]] = []
    for name, func in corpus():
        work = None
        if not any("?" in str(t) or '"' in str(t) for t in (*func.function_type.inputs, *func.function_type.outputs)):
            work = prepared(func, HOST)
        if work is not None and dynamic(work) is None:
            found.append((name, work))
    return found


@pytest.fixture(scope="module")
def prepared_functions() -> list[tuple[str, FuncOp]]:
    return ready()


def test_the_table_is_whole() -> None:
    assert len({id(row) for row in PATTERNS}) == len(PATTERNS)
    assert all(row.ops and row.name for row in PATTERNS)
    assert [op for op, rows in ROWS.items() for row in rows if op not in row.ops] == []
    assert {row.name for rows in ROWS.values() for row in rows} == {row.name for row in PATTERNS}
    assert all(FALLBACK.values())


@pytest.mark.parametrize("name", CHOSEN)
def test_which_row_is_chosen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    types, body, wanted = CHOSEN[name]
    (func,) = functions(program(types, body))
    taken: list[str] = []

    def chosen(*given: Any) -> Any:
        found = choose(*given)
        taken.append(found.pattern.name if isinstance(found, Choice) else "host")
        return found

    monkeypatch.setattr(planner, "choose", chosen)
    lower(prepared(func, HOST), HOST)
    assert wanted in taken


def test_rows_that_do_not_take_an_op_say_why() -> None:
    (func,) = functions(program("f32[20,64]", softmax))
    native = lower(prepared(func, HOST), HOST)
    (line,) = native.rejected
    assert line not in list(native.explain())
    assert list(native.explain(rejected=True))[-1] == line
    assert [part.partition(":")[0] for part in line.split("; ")[1:]] == [
        "not prologue of products",
        "not attention",
        "not gradient of extremes of windows",
        "not product with epilogue",
        "not convolution by phases with epilogue",
        "not convolution with epilogue",
    ]
    assert "; not product with epilogue: 0 products" in line
    assert ": rows; " in line


@pytest.mark.parametrize(
    ("types", "body", "reason"),
    [
        ("f32[20,64] f32[20,64]", lambda x, y: ptir.MulOp(ptir.ExpOp(x), y), "not rows: no sum"),
        ("f32[20,64]", lambda x: reduce(ptir.ExpOp(x), "sum"), "not rows: an elementwise group is equivalent"),
        ("cf32[8] cf32[8]", ptir.PowOp, "not elementwise: kernels do not support cf32"),
        ("si4[8]", ptir.NegOp, "numpy; not elementwise: kernels do not support si4"),
        ("f64[16,4]", lambda w: ptir.NegOp(widened(w)), "not prologue of products: its result is computed"),
    ],
)
def test_reasons(types: str, body: Callable[..., Any], reason: str) -> None:
    (func,) = functions(program(types, body))
    assert any(reason in line for line in lower(prepared(func, HOST), HOST).explain(rejected=True))


def state(plan: Any) -> tuple[Any, ...]:
    """All of a plan that rows could change."""
    blocks = [list(block.ops) for block in (plan.top, plan.block, *plan.keep)]
    sizes = plan.kernels, plan.host_calls, plan.packings, plan.constants
    maps = dict(plan.views), dict(plan.deferred), dict(plan.counts)
    return (*maps, blocks, plan.draws, plan.drawn, plan.packed, *map(len, sizes))


def test_match_changes_nothing(prepared_functions: list[tuple[str, FuncOp]], monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[Any] = []
    asked = count()

    class Watched(planner.Planner):
        def __init__(self, *given: Any, **named: Any):
            super().__init__(*given, **named)
            plans.append(self)

    def watched(rows: Any, op: PtirOp, operands: Operands, host: Any) -> Any:
        frozen = Operands(MappingProxyType(dict(operands.views)), MappingProxyType(dict(operands.deferred)))
        before = state(plans[-1])
        found = choose(rows, op, frozen, host)
        again = choose(rows, op, frozen, host)
        assert state(plans[-1]) == before
        assert type(found) is type(again)
        if isinstance(found, Choice) and isinstance(again, Choice):
            assert (found.pattern, found.match.cost, found.rejections) == (again.pattern, again.match.cost, again.rejections)
        else:
            assert found == again
        next(asked)
        return found

    monkeypatch.setattr(planner, "choose", watched)
    monkeypatch.setattr("mind_lowering.native.program.Planner", Watched)
    for name, func in prepared_functions:
        text = str(func)
        lower(func, HOST)
        assert str(func) == text, name
    assert next(asked) > 300


def test_each_row_that_matches_can_be_built(
    prepared_functions: list[tuple[str, FuncOp]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those that are not the best: each is taken once for every op that it matches, and text is made."""
    built: set[str] = set()

    def second(rows: Any, op: PtirOp, operands: Operands, host: Any) -> Any:
        """Choose the matching row of the greatest cost, the last one of equals."""
        best = choose(rows, op, operands, host)
        if not isinstance(best, Choice):
            assert all(isinstance(rejection, Rejection) and rejection.reason for _, rejection in best)
            return best
        matches = [(row, found) for row in rows if isinstance(found := row.match(op, operands, host), Match)]
        row, found = max(reversed(matches), key=lambda each: each[1].cost)
        built.add(row.name)
        return Choice(row, found, best.rejections)

    for choice in (choose, second):
        monkeypatch.setattr(planner, "choose", choice)
        for name, func in prepared_functions:
            native = lower(func, HOST)
            assert native.text, name
            notes = [note for note in native.notes if note.reason is not None]
            assert len(notes) == sum(isinstance(step, Foreign) for step in native.steps), name
    assert built >= {"groups", "product as a group", "elementwise", "view", "constant", "scatter", "random", "windows"}
