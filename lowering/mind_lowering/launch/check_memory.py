"""
The verifier of memory: refuses a function of the `launch` dialect that uses its memory as it may not.

- Nothing is read that no op has written.
- What is written may be: no constant, no input that is not donated, kept memory by a prepack only.
- An op writes nothing that it reads or writes otherwise, but for pairs that are in place.
- Allocations with bytes in common are never in use at a time, but for pairs in place, which pass them on.
- A loop's carry is the only name of what it was given.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from mind_dialect.errors import MindError, error

from .base import LaunchOp
from .control_ops import ForOp, PrepackOp, WhileOp
from .definedness import check_defined
from .liveness import Liveness, base, offset
from .memory_ops import AllocOp, Space
from .ref import read_ref


def check_memory(func: FuncOp, live: Liveness | None = None) -> None:
    """Raise a coded error, at an op, unless a function uses memory as it may; `live` is its liveness, if it is known."""
    live = live or Liveness(func)
    for op in live.order:
        if isinstance(op, LaunchOp):
            try:
                _check_writes(op, live)
                _check_pairs(op, live)
                _check_carries(op, live)
            except MindError as e:
                raise e.at(op, op.name) if e.op is None else e from None
    _check_live_ranges(live)
    check_defined(func.body.block)


def _check_writes(op: LaunchOp, live: Liveness) -> None:
    """Raise E9103 for a write to memory that is not for writing."""
    for i, value in enumerate(op.effects()[1]):
        for root in live.roots(value):
            space = root.kind
            allowed = root.donated is not None if space is Space.INPUT else space is not Space.CONSTANT
            if space is Space.KEPT:
                allowed = isinstance(op.parent_op(), PrepackOp)
            if not allowed:
                message = f"write {i} is memory of {space} {root.number}, expected a donated input, or memory of another space"
                raise error("E9103", message, space=str(space), value=str(value.type))


def _check_pairs(op: LaunchOp, live: Liveness) -> None:
    """Raise E9102 for an op that writes what it reads or writes otherwise."""
    reads, writes = op.effects()
    read_at, written_at = live.touched(op)
    pairs = op.inplace_pairs
    for i, write in enumerate(writes):
        roots = live.roots(write)
        for j in sorted({j for root in roots for j in read_at.get(root, ())}):
            read = reads[j]
            if write is read and (i, j) in pairs:
                continue
            if not _may_overlap(write, read, live):
                continue
            if (i, j) not in pairs:
                raise error("E9102", f"write {i} lies in memory of read {j}", value=str(write.type), other=str(read.type))
            if base(write) is base(read) and (write.type, offset(write)) != (read.type, offset(read)):
                message = f"write {i} is in place of read {j} with another layout or offset"
                raise error("E9102", message, value=str(write.type), other=str(read.type))
        for j in sorted({j for root in roots for j in written_at[root] if j < i}):
            if _may_overlap(write, writes[j], live):
                other = writes[j]
                raise error("E9102", f"write {i} lies in memory of write {j}", value=str(write.type), other=str(other.type))


def _may_overlap(a: SSAValue, b: SSAValue, live: Liveness) -> bool:
    """Return whether two values may have an element in common; carries of one loop have not."""
    if base(a) is not base(b):
        return not _are_distinct(base(a), base(b)) and bool(live.roots(a) & live.roots(b))
    first, second = offset(a), offset(b)
    if first is None or second is None:
        return True
    x, y = read_ref(a.type).span, read_ref(b.type).span
    return bool(x and y) and x.start + first < y.stop + second and y.start + second < x.stop + first


def _are_distinct(a: SSAValue, b: SSAValue) -> bool:
    """Return whether two addresses are carries, or results, of one op: `_check_carries` keeps them apart."""
    return a.owner is b.owner


def _check_carries(op: LaunchOp, live: Liveness) -> None:
    """Raise E9102 for a loop that is given, or yields, one address twice, or memory that something else names later."""
    if not isinstance(op, ForOp | WhileOp):
        return
    last = op.body.block.last_op
    for values, what in ((op.inits, "is given"), (() if last is None else last.operands, "yields")):
        bases = [base(v) for v in values]
        for i, value in enumerate(bases):
            if value in bases[:i]:
                message = f"{what} one memory as carries {bases.index(value)} and {i}, expected memory of its own for each"
                raise error("E9102", message, value=str(values[i].type), other=str(value.type))
    for i, init in enumerate(op.inits):
        for use in base(init).uses:
            other = use.operation
            if other is not op and isinstance(other, LaunchOp) and live.order[other] > live.order[op]:
                message = (
                    f"carry {i} is memory that {other.name} names during or after the loop, expected the carry or the result"
                )
                raise error("E9102", message, value=str(init.type), other=other.name)


def _check_live_ranges(live: Liveness) -> None:
    """Raise E9102 for allocations that share bytes and are in use at a time."""
    ops = {n: op for op, n in live.order.items()}
    placed: dict[Space, list[tuple[int, int, int]]] = {}
    deaths: list[tuple[int, int]] = []
    for born, i in sorted((live.first[a], i) for i, a in enumerate(live.allocations)):
        alloc = live.allocations[i]
        if alloc.over is not None and isinstance(alloc.over.owner, AllocOp):
            _expect_passed_on(alloc, alloc.over.owner, live, ops, "memory of a donated input")
        if (at := alloc.word("at")) is None or not alloc.ref.nbytes:
            continue
        while deaths and deaths[0][0] < born:
            _forget(placed, live.allocations, deaths.pop(0)[1])
        there, end = placed.setdefault(alloc.kind, []), at + alloc.ref.nbytes
        for number in _meeting(there, at, end):
            _expect_passed_on(alloc, live.allocations[number], live, ops, f"bytes {at} to {end} of {alloc.kind}")
        insort(there, (at, end, i))
        insort(deaths, (live.last[alloc], i))


def _forget(placed: dict[Space, list[tuple[int, int, int]]], allocations: Sequence[AllocOp], number: int) -> None:
    alloc = allocations[number]
    at = alloc.word("at")
    there = placed[alloc.kind]
    del there[bisect_left(there, (at, at + alloc.ref.nbytes, number))]


def _meeting(there: Sequence[tuple[int, int, int]], at: int, end: int) -> list[int]:
    """The numbers of the allocations in use that have bytes between two offsets."""
    i = bisect_left(there, (end, -1, -1))
    found: list[int] = []
    while i and (there[i - 1][1] > at or (i > 1 and there[i - 2][1] > at)):
        i -= 1
        if there[i][1] > at:
            found.append(there[i][2])
    return found


def _expect_passed_on(new: AllocOp, old: AllocOp, live: Liveness, ops: dict[int, Operation], memory: str) -> None:
    """Raise E9102 unless an allocation's last use is over before another begins, or passes its memory on in place."""
    begin, end = live.first[new], live.last[old]
    if end < begin:
        return
    op = ops.get(begin)
    if end == begin and isinstance(op, LaunchOp) and live.is_passed_on(op, old, new):
        return
    message = f"{memory} is in use by an allocation of {old.kind} of type {old.res.type}"
    raise error("E9102", message, value=str(new.res.type), other=str(old.res.type)).at(new, new.name)
