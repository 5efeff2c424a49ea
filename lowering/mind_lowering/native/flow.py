"""
The blocks of an entry that branches and loops of launches become.

Kernels in a loop are the same functions as elsewhere. What changes from iteration to iteration is where they work: a slice of a
scanned input and the part of a stacked result are an address that the entry computes, a value that changes its place from one
iteration to the next an address that it carries. Nothing is copied to move it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from xdsl.ir import SSAValue

from mind_dialect.lazy_dataclass import dataclass

from ..launch.compute_ops import KernelOp
from ..launch.control_ops import AtOp, ConditionOp, ForOp, IfOp, WhileOp
from ..launch.ref import read_ref
from .calling import Calls
from .ir import identifier
from .steps import NativeKernel, NativeStep

POLLED = 100_000
"""Nanoseconds of iterations after which to look for signals."""
MOST_ITERATIONS = 10
"""At most after two to this power."""


@dataclass
class Nested:
    """A loop or a branch whose kernels are made."""

    op: ForOp | WhileOp | IfOp
    parts: Sequence[Sequence[Code]]


@dataclass
class KernelCall:
    """A kernel of a launch `op`; `bind` states where its operands are and returns its code object."""

    kernel: NativeKernel
    step: NativeStep
    bind: Callable[[], NativeStep]
    op: KernelOp


Code = KernelCall | Nested | AtOp | KernelOp
"""Step of an entry: a call, nested code, a slice that moves with a loop, or a kernel that writes the induction variable."""


def kernel_calls(codes: Sequence[Code]) -> Iterator[KernelCall]:
    """Yield the calls of kernels in some code, nested ones too."""
    for code in codes:
        if isinstance(code, Nested):
            for part in code.parts:
                yield from kernel_calls(part)
        elif isinstance(code, KernelCall):
            yield code


def run(calls: Calls, codes: Sequence[Code], iteration: str = "0") -> None:
    """Append what runs some code; what is known in a part of it is forgotten after that."""
    for code in codes:
        match code:
            case KernelCall():
                calls.call(code.kernel, code.bind(), code.op)
            case AtOp():
                _slice(calls, code)
            case KernelOp():
                calls.f.do(f"store i64 {iteration}, ptr {calls.at(code.writes[0])}, align 8")
            case Nested():
                known = dict(calls.bases)
                match code.op:
                    case IfOp():
                        _branch(calls, code.op, code.parts, known)
                    case WhileOp():
                        _while(calls, code.op, code.parts, _between_polls(calls, code))
                    case ForOp():
                        _for(calls, code.op, code.parts[0], _between_polls(calls, code))
                calls.bases = known


def _slice(calls: Calls, op: AtOp) -> None:
    source = read_ref(op.source.type)
    start = calls.f.mul(calls.moving[op.index], source.strides[0] * source.dtype.size)
    calls.moving[op.res] = calls.f.address("i8", calls.at(op.source), start, identifier(op.res.name_hint or "p"))


def _branch(calls: Calls, op: IfOp, parts: Sequence[Sequence[Code]], known: dict[tuple[int, int], str]) -> None:
    f, holds = calls.f, _holds(calls, op.predicate)
    known |= calls.bases

    def part(i: int) -> None:
        calls.bases = dict(known)
        run(calls, parts[i])

    f.choose(holds, lambda: part(0), lambda: part(1))


def _between_polls(calls: Calls, code: Nested) -> int:
    """
    After how many iterations of a loop to look for signals: a power of 2, so that it is neither seldom nor much of the work.
    """
    cost = sum(call.step.cost(calls.host) for call in kernel_calls([code]))
    return 1 << min(MOST_ITERATIONS, int(max(1, POLLED / max(cost, 1.0))).bit_length() - 1)


def _poll(calls: Calls, iteration: str, every: int) -> None:
    """Look for signals in the last of each `every` iterations."""
    if every == 1:
        return calls.poll()
    rest = calls.f.op(f"and i64 {iteration}, {every - 1}", "rest")
    calls.f.when(calls.f.op(f"icmp eq i64 {rest}, {every - 1}", "due"), calls.poll)


def _for(calls: Calls, op: ForOp, body: Sequence[Code], every: int) -> None:
    index, *carries = op.body.block.args

    def iteration(number: str, /, *places: str) -> list[str]:
        calls.moving.update(zip((index, *carries), (number, *places), strict=True))
        run(calls, body, number)
        if op.trip_count >= every:
            _poll(calls, number, every)
        return _yielded(calls, op)

    calls.f.loop("0", str(op.trip_count), 1, iteration, _first(calls, op.inits), "iteration")


def _while(calls: Calls, op: WhileOp, parts: Sequence[Sequence[Code]], every: int) -> None:
    head, body = parts
    condition = op.test.block.last_op
    assert isinstance(condition, ConditionOp)

    def test(iteration: str, *places: str) -> str:
        for values in (op.test.block.args, op.body.block.args, op.res):
            calls.moving.update(zip(values, places, strict=True))
        run(calls, head, iteration)
        return _holds(calls, condition.go_on)

    def body_of(iteration: str, *places: str) -> list[str]:
        run(calls, body, iteration)
        _poll(calls, iteration, every)
        return [calls.f.add(iteration, "1"), *_yielded(calls, op)]

    calls.f.repeat([("i64", "0"), *_first(calls, op.inits)], test, body_of)


def _first(calls: Calls, inits: Sequence[SSAValue]) -> list[tuple[str, str]]:
    return [("ptr", calls.at(v)) for v in inits]


def _yielded(calls: Calls, op: ForOp | WhileOp) -> list[str]:
    last = op.body.block.last_op
    assert last is not None
    return [calls.at(v) for v in last.operands]


def _holds(calls: Calls, pred: SSAValue) -> str:
    """Emit the test of a truth value in memory."""
    byte = calls.f.op(f"load i8, ptr {calls.at(pred)}, align 1", "pred")
    return calls.f.op(f"icmp ne i8 {byte}, 0", "holds")
