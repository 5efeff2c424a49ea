"""What native code runs, as launches: it verifies, prints and parses back, and defects planted in it are refused."""

from __future__ import annotations

from functools import reduce as folded
from typing import Any

import pytest
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser

from counting import calls
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.ptir.types import read_type
from mind_lowering.launch import AllocOp, ForOp, HostCallOp, KernelOp, Launch, Space, WhileOp
from mind_lowering.launch.base import LaunchOp
from mind_lowering.launch.check_memory import check_memory
from mind_lowering.launch.hoist_packing import hoist_packing
from mind_lowering.native import program as native_program
from mind_lowering.native import target_of
from mind_lowering.native.program import planned, prepared
from native_control_programs import BOTH, across, add, dot, scan
from programs import context
from ptir_evaluator import function_of
from ptir_forms import program, reduce
from ptir_programs import row_module
from ptir_rows import ROWS, Row

ISA = target_of("avx2")


def launches(module: Any, donate: bool = False, fixed: tuple[int, ...] = ()) -> FuncOp:
    func = function_of(module)
    donated = [i for i, t in enumerate(func.function_type.inputs.data) if donate and read_type(t).shape and i not in fixed]
    return planned(prepared(func, ISA), ISA, donated, fixed).func


def held(func: FuncOp) -> None:
    """Verify a function of launches op by op, and again after its text is read back."""
    func.verify()
    text = str(func)
    ctx = context()
    ctx.load_dialect(Launch)
    read = Parser(ctx, 'builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {\n' + text + "\n}").parse_module()
    assert str(function_of(read)) == text


@pytest.mark.exhaustive
@pytest.mark.parametrize("donate", [False, True])
@pytest.mark.parametrize("name", BOTH)
def test_branches_and_loops(name: str, donate: bool) -> None:
    held(launches(program(*BOTH[name]), donate))


@pytest.mark.exhaustive
@pytest.mark.parametrize("row", [row for row in ROWS if not row.is_refused], ids=str)
def test_ops_alone(row: Row) -> None:
    module = row_module(row)
    values = [v for op in function_of(module).walk() if isinstance(op, ptir.PtirOp) for v in (*op.operands, *op.results)]
    if all(read_type(v.type).is_static for v in values):
        held(launches(module))


def mlp(x: Any, v: Any, w: Any) -> list[Any]:
    """A product, its gradient, and an update of what may be donated."""
    hidden = ptir.TanhOp(dot(x, v)).results[0]
    out = ptir.SortOp(dot(hidden, w), axis=0, descending=False).results[0]
    down = ptir.DotGeneralOp(out, w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(1,)).results[0]
    slope = ptir.DotGeneralOp(hidden, out, batch_lhs=(), batch_rhs=(), contract_lhs=(0,), contract_rhs=(0,)).results[0]
    wide = ptir.SortOp(ptir.MulOp(down, hidden), axis=1, descending=True)
    return [ptir.SubOp(w, slope).results[0], reduce(wide.results[0], "sum", 0, keepdims=False)]


MLP = ("f32[16,24] f32[24,40] f32[40,8]", mlp)
LSTM = (
    "f32[8,16] f32[16,16] f32[6,8,16]",
    lambda h, w, s: scan(
        lambda h, w, r: [ptir.TanhOp(add(dot(h, w), ptir.SortOp(r, axis=0, descending=True))), w], h, w, s, carries=2
    ),
)


def code(func: FuncOp) -> str:
    """The code of the error that the verifier raises; empty if it raises none."""
    try:
        check_memory(func)
    except MindError as e:
        return e.code or ""
    return ""


@pytest.mark.parametrize("donate", [False, True])
def test_a_moved_temporary_is_refused_exactly_where_it_meets_another(donate: bool) -> None:
    """Held against first and last uses that are counted in the text of a straight line."""
    func = launches(program(*MLP), donate)
    ops = list(func.body.block.ops)
    temporaries = [op for op in ops if isinstance(op, AllocOp) and op.kind is Space.ARENA and op.over is None]
    uses = {a: [i for i, op in enumerate(ops) if a.res in op.operands] for a in temporaries}
    assert len(temporaries) >= 4
    refused = 0
    for moved in temporaries:
        begun = moved.at
        for other in temporaries:
            if other is moved or other.at == begun:
                continue
            moved.at = other.at
            meets = uses[moved][0] <= uses[other][-1] and uses[other][0] <= uses[moved][-1]
            refused += code(func) == "E9102"
            assert not meets or code(func) == "E9102"
        moved.at = begun
    assert refused >= 3
    assert code(func) == ""


@pytest.mark.parametrize("row", [MLP, LSTM, BOTH["a loop in a loop"]])
def test_a_dropped_kernel_is_refused(row: Any) -> None:
    """Where it alone writes what is read later: a kernel that writes a part, or in place, is not missed."""
    names = [op.symbol for op in launches(program(*row)).walk() if isinstance(op, KernelOp)]
    refused = 0
    for i in range(len(names)):
        func = launches(program(*row))
        dropped = [op for op in func.walk() if isinstance(op, KernelOp)][i]
        alone = [
            w
            for w in dropped.writes
            if isinstance(w.owner, AllocOp)
            and w not in dropped.reads
            and not any(
                isinstance(u.operation, KernelOp) and w in u.operation.writes for u in w.uses if u.operation is not dropped
            )
            and any(isinstance(u.operation, LaunchOp) and w in u.operation.effects()[0] for u in w.uses)
        ]
        dropped.detach()
        dropped.erase()
        assert not alone or code(func) == "E9101"
        refused += bool(alone)
    assert refused


def test_offsets_outside_of_a_region_are_found_from_inside() -> None:
    func = launches(program(*LSTM))
    (loop,) = [op for op in func.walk() if isinstance(op, ForOp)]
    inner = [op for op in loop.walk() if isinstance(op, AllocOp) and op.kind is Space.ARENA]
    outer = [op for op in func.body.block.ops if isinstance(op, AllocOp) and op.kind is Space.ARENA]
    assert inner
    for op in inner:
        for other in outer:
            begun, op.at = op.at, other.at
            assert code(func) == "E9102"
            op.at = begun


def test_weights_that_stay_are_packed_before_any_call() -> None:
    func = launches(program("f32[7,40] f32[40,40]", across), fixed=(1,))
    held(func)
    assert "launch.prepack" in str(func)
    (kept,) = [op for op in func.walk() if isinstance(op, AllocOp) and op.kind is Space.KEPT]
    assert kept.number == 0


def test_packing_is_hoisted_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def effort(weights: int) -> int:
        counted: list[int] = []
        monkeypatch.setattr(native_program, "hoist_packing", lambda *given: counted.append(calls(lambda: hoist_packing(*given))))
        module = program("f32[7,40]" + " f32[40,40]" * weights, lambda x, *ws: [folded(across, ws, x)])
        func = launches(module, fixed=tuple(range(1, weights + 1)))
        kept = [op.number for op in func.walk() if isinstance(op, AllocOp) and op.kind is Space.KEPT]
        assert kept == list(range(weights))
        return counted[0]

    assert effort(48) < 2.3 * effort(24)


def test_what_numpy_runs_is_a_host_call() -> None:
    func = launches(
        program("cf32[4,3]", lambda x: [ptir.PowOp(ptir.TransposeOp(x, perm=(1, 0)), ptir.TransposeOp(x, perm=(1, 0)))])
    )
    held(func)
    (call,) = [op for op in func.walk() if isinstance(op, HostCallOp)]
    assert call.word("reason")


def test_random_numbers_of_loops_depend_on_the_iteration() -> None:
    module = program(
        "f32[4] f32[3,4]",
        lambda a, s: scan(lambda a, r: [add(add(a, ptir.RngUniformOp(shape=(4,), dtype="f32").results[0]), r)], a, s),
    )
    func = launches(module)
    held(func)
    assert [op.symbol for op in func.walk() if isinstance(op, KernelOp)].count("iteration") == 1


def test_a_rotation_returns_the_memory_that_it_ends_in() -> None:
    func = launches(program(*BOTH["three that go round, one of them new"]))
    held(func)
    assert [len(op.inits) for op in func.walk() if isinstance(op, WhileOp)] == [4]
