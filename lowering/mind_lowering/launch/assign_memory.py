"""
The memory plan of a function of the `launch` dialect: where each temporary lies, which results take the memory of arguments.

1. A temporary that only passes its memory on to an output, in place, is that output.
2. An output takes the memory of a donated input of its type that is not used any more when the output is first written.
3. A write that is in place of a temporary used there for the last time has its memory.
4. Temporaries get offsets in the arena, so that those in use at a time have no byte in common.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.errors import error
from mind_dialect.program import functions

from ..arena import Gaps
from .check_memory import check_memory
from .compute_ops import ComputeOp
from .liveness import Liveness, launch_ops
from .memory_ops import ALIGNMENT, AllocOp, Space
from .return_op import ReturnOp

ARENA_BYTES = "launch.arena_bytes"
"""The attribute of a function that says how large its arena is."""
ORDERS = ("size", "program")
MOST_BY_SIZE = 2000
"""Temporaries up to which offsets are given by size, which takes time quadratic in their number."""


@dataclass
class Slot:
    """Temporaries that share one place of the arena, and from when to when it is in use."""

    size: int
    first: int
    last: int
    allocations: list[AllocOp] = field(default_factory=list[AllocOp])


@dataclass(frozen=True)
class LaunchAssignMemoryPass(ModulePass):
    """
    Give temporaries offsets in the arena, and results the memory of donated arguments.

    `order=size` places the largest temporaries first, which needs the least memory; `order=program` takes the tightest gap in the
    order of the program, in less time. Offsets are multiples of `align`.
    """

    name = "mind-launch-assign-memory"

    order: str = "size"
    align: int = ALIGNMENT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        if self.order not in ORDERS:
            message = f"order is {self.order!r}, expected one of {list(ORDERS)}"
            raise error("E7001", message, option="order")
        if self.align < 1 or self.align & (self.align - 1):
            raise error("E7001", f"align is {self.align}, expected a power of two", option="align")
        for func in functions(op):
            if len(func.body.blocks) == 1 and isinstance(func.body.block.last_op, ReturnOp):
                assign_memory(func, order=self.order, align=self.align)


def assign_memory(func: FuncOp, *, order: str = "size", align: int = ALIGNMENT) -> int:
    """Plan the memory of a function and check the plan; the bytes of its arena, which the function states too."""
    for op in launch_ops(func.body.block):
        if isinstance(op, AllocOp) and op.kind is Space.ARENA:
            op.at = None
    _put_into_outputs(func)
    _take_donated(func)
    live = Liveness(func)
    slots = _slots(live, align)
    by_size = order == "size" and len(slots) <= MOST_BY_SIZE
    total = _place_by_size(slots) if by_size else _place_in_order(slots)
    func.attributes[ARENA_BYTES] = IntegerAttr(total, i64)
    check_memory(func, live)  # offsets change nothing in it
    return total


def _temporaries(live: Liveness) -> list[AllocOp]:
    return [a for a in live.allocations if a.kind is Space.ARENA]


def _in_place(live: Liveness) -> Iterator[tuple[ComputeOp, AllocOp, AllocOp]]:
    """Yield whole allocations that an op may write in place of others which it uses last, with the op."""
    for op in live.order:
        if not isinstance(op, ComputeOp):
            continue
        for w, r in op.inplace_pairs:
            new, old = op.writes[w].owner, op.reads[r].owner
            if isinstance(new, AllocOp) and isinstance(old, AllocOp) and new is not old and new.ref.nbytes == old.ref.nbytes:
                if live.first[new] == live.order[op] == live.last[old] and new.parent is old.parent:
                    yield op, new, old


def _put_into_outputs(func: FuncOp) -> None:
    """Let temporaries that outputs are written in place of be those outputs, from the last op to the first."""
    live = Liveness(func)
    becomes: dict[AllocOp, AllocOp] = {}
    taken: set[AllocOp] = set()
    for _, new, old in reversed(list(_in_place(live))):
        output = new if new.kind is Space.OUTPUT and new.over is None else becomes.get(new)
        if output is None or new in taken or old in becomes or old.kind is not Space.ARENA or old.res.type != output.res.type:
            continue
        becomes[old] = output
        taken.add(new)
    for old, output in becomes.items():  # the last op first, so that an output ends where its first temporary was
        if live.order[output] > live.order[old]:
            output.detach()
            assert old.parent is not None
            old.parent.insert_op_before(output, old)
        old.res.replace_all_uses_with(output.res)
        old.detach()
        old.erase()


def _take_donated(func: FuncOp) -> None:
    """Let outputs take the memory of donated inputs that are used no more when they are first written, in the order of both."""
    live = Liveness(func)
    ending = func.body.block.last_op
    returned = {v.owner for v in (() if ending is None else ending.operands)}
    donated = [a for a in live.allocations if a.donated is not None and a not in returned]
    taken = {a.over.owner for a in live.allocations if a.over is not None}
    passed_on = {(new, old) for _, new, old in _in_place(live)}
    for output in live.allocations:
        if output.kind is not Space.OUTPUT or output.over is not None:
            continue
        for old in donated:
            over = live.last[old] < live.first[output] or (output, old) in passed_on
            if old in taken or old.res.type != output.res.type or not over or live.order[old] > live.order[output]:
                continue
            output.operands = (*output.operands, old.res)
            taken.add(old)
            break


def _slots(live: Liveness, align: int) -> list[Slot]:
    """The places that the temporaries need, those written in place of others in one."""
    slots = {a: Slot(_rounded(a.ref.nbytes, align), live.first[a], live.last[a], [a]) for a in _temporaries(live)}
    given: set[AllocOp] = set()
    for _, new, old in _in_place(live):
        if new in slots and old in slots and new not in given and old not in given and slots[new].allocations == [new]:
            slot = slots[old]
            if slot.last != live.last[old]:
                continue
            slot.allocations.append(new)
            slot.last = live.last[new]
            slots[new] = slot
            given.add(old)
    return list({id(slot): slot for slot in slots.values()}.values())


def _rounded(size: int, align: int) -> int:
    return -(-size // align) * align


def _state(slot: Slot, at: int) -> None:
    for alloc in slot.allocations:
        alloc.at = IntegerAttr(at, i64)


def _place_by_size(slots: Sequence[Slot]) -> int:
    """Give each slot the lowest offset that is free for as long as it is in use, the largest slots first."""
    placed: list[tuple[int, int, Slot]] = []
    for slot in sorted(slots, key=lambda s: (-s.size, s.first)):
        at = 0
        for start, stop, other in placed:
            if other.first <= slot.last and slot.first <= other.last:
                if start - at >= slot.size:
                    break
                at = max(at, stop)
        _state(slot, at)
        if slot.size:
            insort(placed, (at, at + slot.size, slot), key=lambda p: p[:2])
    return max((stop for _, stop, _ in placed), default=0)


def _place_in_order(slots: Sequence[Slot]) -> int:
    """Give each slot the tightest gap when it is first used, and the gap back after it was last used."""
    arena = Gaps()
    used: list[tuple[int, int, int]] = []
    for slot in sorted(slots, key=lambda s: s.first):
        while used and used[0][0] < slot.first:
            _, at, size = heappop(used)
            arena.give(at, size)
        at = arena.take(slot.size) if slot.size else 0
        _state(slot, at)
        if slot.size:
            heappush(used, (slot.last, at, slot.size))
    return arena.size
