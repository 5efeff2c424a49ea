"""
The verifier of memory: refuses a function of the `launch` dialect that uses its memory as it may not.

- Nothing is read that no op has written.
- What is written may be: no constant, no input that is not donated, kept memory by a prepack only.
- An op writes nothing that it reads or writes otherwise, but for pairs that are in place.
- Allocations with bytes in common are never in use at a time, but for pairs in place, which pass them on.
- A loop's carry that is written is the only name of what it was given.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, OpResult, SSAValue

from mind_dialect.errors import MindError, error

from .base import LaunchOp
from .control_ops import AtOp, ForOp, IfOp, PrepackOp, WhileOp
from .definedness import check_defined
from .liveness import Liveness, base, blocks_of, flows_of, is_same_part, is_whole, launch_ops, offset, unviewed, written
from .memory_ops import AllocOp, Space
from .ref import Ref, read_ref


def check_memory(func: FuncOp, live: Liveness | None = None) -> None:
    """Raise a coded error, at an op, unless a function uses memory as it may; `live` is its liveness, if it is known."""
    live = live or Liveness(func)
    changed = written(live.order)
    for op in live.order:
        if isinstance(op, LaunchOp):
            try:
                _check_writes(op, live)
                _check_pairs(op, live)
                _check_carries(op, live, changed)
            except MindError as e:
                raise e.at(op, op.name) if e.op is None else e from None
    _check_live_ranges(live)
    check_defined(func.body.block, changed)


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
            alike = (write.type, offset(write)) == (read.type, offset(read)) or (is_whole(write) and is_whole(read))
            if base(write) is base(read) and not alike:
                message = f"write {i} is in place of read {j} with another layout or offset"
                raise error("E9102", message, value=str(write.type), other=str(read.type))
        for j in sorted({j for root in roots for j in written_at[root] if j < i}):
            if _may_overlap(write, writes[j], live):
                other = writes[j]
                raise error("E9102", f"write {i} lies in memory of write {j}", value=str(write.type), other=str(other.type))


def _may_overlap(a: SSAValue, b: SSAValue, live: Liveness) -> bool:
    """Return whether two values may have an element in common; carries of one loop have not."""
    first, second = base(a), base(b)
    if first is second:
        begin, other = offset(a), offset(b)
        if begin is None or other is None:
            return True
        (first_a, end_a), (first_b, end_b) = (_bytes_of(read_ref(v.type)) for v in (a, b))
        return first_a < end_a and first_b < end_b and first_a + begin < end_b + other and first_b + other < end_a + begin
    if _are_distinct(first, second) or not live.roots(a) & live.roots(b):
        return False
    return any(_may_meet(x, y, live) for x in _places(a, b) for y in _places(b, a))


def _bytes_of(layout: Ref) -> tuple[int, int]:
    """Return the range of its bytes, counted from its address."""
    span, size = layout.span, layout.dtype.size
    return span.start * size, span.stop * size


def _may_meet(a: SSAValue, b: SSAValue, live: Liveness) -> bool:
    """As `_may_overlap`, of values that are no results of inner loops and branches."""
    if base(a) is base(b):
        return True
    if _are_distinct(base(a), base(b)) or not live.roots(a) & live.roots(b):
        return False
    return not _is_of_earlier_iterations(a, b, live) and not _is_of_earlier_iterations(b, a, live)


def _places(value: SSAValue, other: SSAValue) -> list[SSAValue]:
    """
    Return what an address may be, results and carries of inner loops and branches resolved.

    A carry of a loop that `other` is inside of too stays as it is: both are of one iteration.
    """
    waiting, found = [value], dict[SSAValue, None]()
    seen = set[SSAValue]()
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        if (begins := _carried(base(one), other)) is None:
            found[one] = None
        else:
            waiting += begins
    return list(found)


def _carried(value: SSAValue, other: SSAValue) -> list[SSAValue] | None:
    """Return what a result of a loop or branch, or a carry of a loop that `other` is outside of, may be; None for another."""
    op = value.op if isinstance(value, OpResult) else value.owner.parent_op()
    if not isinstance(op, ForOp | WhileOp | IfOp) or (isinstance(value, BlockArgument) and op.is_ancestor(other.owner)):
        return None
    return [given for given, holder in flows_of(op) if holder is value]


def _are_distinct(a: SSAValue, b: SSAValue) -> bool:
    """Return whether two addresses are carries, or results, of one op: `_check_carries` keeps them apart."""
    return a.owner is b.owner


def _is_of_earlier_iterations(carry: SSAValue, part: SSAValue, live: Liveness) -> bool:
    """Return whether a carry of a loop is, of an array that the loop slices, at most parts of the iterations before."""
    at, first, owner = _slice_of(part), base(carry), base(part).owner
    if isinstance(first, BlockArgument) and isinstance(owner, AllocOp) and owner.word("at") is None:
        loop = first.block.parent_op()
        if loop is not None and loop.is_ancestor(owner):
            return True  # each iteration allocates memory of its own
    if at is None or not isinstance(first, BlockArgument) or first.block is not at.index.owner:
        return False
    loop, last, source = first.block.parent_op(), first.block.last_op, read_ref(at.source.type)
    if not isinstance(loop, ForOp) or last is None or abs(source.strides[0]) < len(read_ref(at.res.type).span):
        return False
    waiting, seen = [first.index - 1], set[int]()
    while waiting:
        k = waiting.pop()
        seen.add(k)
        if live.roots(loop.inits[k]) & live.roots(part):
            return False
        following = last.operands[k]
        held, other = base(following), _slice_of(following)
        if isinstance(held, BlockArgument) and held.block is first.block:
            waiting += {held.index - 1} - seen
        elif live.roots(following) & live.roots(part):
            if other is None or not is_same_part(other, at):
                return False
    return True


def _slice_of(value: SSAValue) -> AtOp | None:
    """Return the slice of an array that a value is, or is a view of."""
    owner = unviewed(value).owner
    return owner if isinstance(owner, AtOp) else None


def _check_carries(op: LaunchOp, live: Liveness, changed: set[SSAValue]) -> None:
    """
    Raise E9102 for a loop that is given, or yields, one address twice, or memory that something else names later.

    A carry that is only read shares its memory with whatever else is only read.
    """
    if not isinstance(op, ForOp | WhileOp):
        return
    args = op.body.block.args[1:] if isinstance(op, ForOp) else op.test.block.args
    own = [i for i, arg in enumerate(args) if arg in changed or op.res[i] in changed]
    last = op.body.block.last_op
    for values, what in ((op.inits, "is given"), (() if last is None else last.operands, "yields")):
        bases = [base(v) for v in values]
        for i in own:
            if (other := next((j for j, value in enumerate(bases) if j != i and value is bases[i]), None)) is not None:
                pair = sorted((other, i))
                message = f"{what} one memory as carries {pair[0]} and {pair[1]}, expected memory of its own for each"
                raise error("E9102", message, value=str(values[i].type), other=str(bases[i].type))
    for value in () if last is None else last.operands:
        alloc = base(value).owner
        if isinstance(alloc, AllocOp) and alloc.word("at") is not None and op.is_ancestor(alloc):
            message = "yields memory that each iteration allocates in one place, expected launch-loop-carried before"
            raise error("E9102", message, value=str(value.type), other=op.name)
    shared = {base(init) for i, init in enumerate(op.inits) if i not in own}
    for inner in (inner for block in blocks_of(op) for inner in launch_ops(block)):
        if isinstance(inner, LaunchOp) and any(base(v) in shared for v in inner.effects()[1]):
            message = f"a carry is memory that {inner.name} writes in the loop by another name"
            raise error("E9102", message, value=inner.name, other=op.name)
    for i in own:
        init = op.inits[i]
        for use in base(init).uses:
            other = use.operation
            if other is not op and isinstance(other, LaunchOp) and live.order[other] > live.order[op]:
                message = (
                    f"carry {i} is memory that {other.name} names during or after the loop, expected the carry or the result"
                )
                raise error("E9102", message, value=str(init.type), other=other.name)


def _check_live_ranges(live: Liveness) -> None:
    """Raise E9102 for allocations that share bytes and are in use at a time."""
    placed: dict[Space | AllocOp, list[tuple[int, int, int]]] = {}
    deaths: list[tuple[int, int]] = []
    for born, i in sorted((live.first[a], i) for i, a in enumerate(live.allocations)):
        alloc = live.allocations[i]
        memory, at = _place(alloc)
        if at is None or not alloc.ref.nbytes:
            continue
        while deaths and deaths[0][0] < born:
            _forget(placed, live.allocations, deaths.pop(0)[1])
        there, end = placed.setdefault(memory, []), at + alloc.ref.nbytes
        what = "memory of a donated input" if isinstance(memory, AllocOp) else f"bytes {at} to {end} of {memory}"
        for number in _meeting(there, at, end):
            _expect_passed_on(alloc, live.allocations[number], live, what)
        insort(there, (at, end, i))
        insort(deaths, (live.last[alloc], i))


def _place(alloc: AllocOp) -> tuple[Space | AllocOp, int | None]:
    """Return the block of memory that an allocation lies in, a space or a donated input, and where, if that is known."""
    if alloc.over is not None and isinstance(alloc.over.owner, AllocOp):
        return alloc.over.owner, 0
    return (alloc, 0) if alloc.donated is not None else (alloc.kind, alloc.word("at"))


def _forget(placed: dict[Space | AllocOp, list[tuple[int, int, int]]], allocations: Sequence[AllocOp], number: int) -> None:
    alloc = allocations[number]
    memory, at = _place(alloc)
    assert at is not None, "placed"
    there = placed[memory]
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


def _expect_passed_on(new: AllocOp, old: AllocOp, live: Liveness, memory: str) -> None:
    """Raise E9102 unless an allocation's last use is over before another begins, or passes its memory on in place."""
    if live.last[old] < live.first[new] or live.is_handed_over(old, new):
        return
    message = f"{memory} is in use by an allocation of {old.kind} of type {old.res.type}"
    raise error("E9102", message, value=str(new.res.type), other=str(old.res.type)).at(new, new.name)
