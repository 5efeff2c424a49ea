"""
The memory plan of a function of the `launch` dialect: where each temporary lies, which results take the memory of arguments.

1. An output takes the memory of a donated input of its type. Where there are as many of the one as of the other, the first takes
   that of the first, and so on, if need be by a copy at the end: what goes around from call to call stays where it is. Else an
   output takes what is not used any more when it is first written.
2. A temporary that only passes its memory on to an output, in place, is that output.
3. A write that is in place of a temporary used there for the last time has its memory.
4. Temporaries get offsets in the arena, so that those in use at a time have no byte in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from enum import Enum

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.errors import error
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.program import functions

from ..arena import Slot, place_by_size, place_in_order
from .check_memory import check_memory
from .liveness import Liveness, launch_ops
from .memory_ops import ALIGNMENT, AllocOp, CopyOp, Space, ViewOp, is_alike
from .return_op import ReturnOp

ARENA_BYTES = "launch.arena_bytes"
"""The attribute of a function that says how large its arena is."""
ORDERS = ("size", "program")
MOST_RESTING = 1 << 16
"""Bytes up to which memory rests, where it is to."""
MOST_BY_SIZE = 2000
"""Temporaries up to which offsets are given by size, which may take time quadratic in their number."""


@dataclass(eq=False)
class SharedSlot(Slot):
    """A slot of temporaries that follow one another in place."""

    allocations: list[AllocOp] = field(default_factory=list[AllocOp])


@dataclass(frozen=True)
class LaunchAssignMemoryPass(ModulePass):
    """
    Assign offsets in the arena to temporaries, and memory of donated arguments to results.

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


class Donation(Enum):
    """The allocations that have the memory of donated inputs."""

    RESULTS = "results, from call to call in one place, if need be by a copy"
    IN_PLACE = "results and temporaries that are written in place of them"


def assign_memory(
    func: FuncOp, *, order: str = "size", align: int = ALIGNMENT, rest: int = 0, donation: Donation = Donation.RESULTS
) -> int:
    """
    Plan the memory of a function and check the plan; the bytes of its arena, which the function states too.

    Memory of up to `MOST_RESTING` bytes rests for `rest` ops before it is used again: ops that share none may run side by side.
    """
    for op in launch_ops(func.body.block):
        if isinstance(op, AllocOp) and op.kind is Space.ARENA:
            op.at = None
    if donation is Donation.RESULTS:
        live = _put_into_outputs(func, _take_donated(func, Liveness(func)))
    else:
        live = _put_into_outputs(func, Liveness(func))
        _pass_on_donated(live)
    slots = _slots(live, align)
    for slot in slots:
        slot.last += rest if slot.size <= MOST_RESTING else 0
    by_size = order == "size" and len(slots) <= MOST_BY_SIZE
    total = place_by_size(slots) if by_size else place_in_order(slots)
    for slot in slots:
        for alloc in slot.allocations:
            alloc.at = IntegerAttr(slot.at, i64)
    func.attributes[ARENA_BYTES] = IntegerAttr(total, i64)
    check_memory(func, live)  # offsets change nothing in it
    return total


def _temporaries(live: Liveness) -> list[AllocOp]:
    return [a for a in live.allocations if a.kind is Space.ARENA and a.over is None]


def _put_into_outputs(func: FuncOp, live: Liveness) -> Liveness:
    """Let temporaries that outputs are written in place of be those outputs, from the last op to the first; what is live then."""
    becomes: dict[AllocOp, AllocOp] = {}
    taken: set[AllocOp] = set()
    for new, old in sorted(live.in_place, key=lambda pair: -live.first[pair[0]]):
        output = new if new.kind is Space.OUTPUT and new.over is None else becomes.get(new)
        if output is None or new in taken or old in becomes or old.kind is not Space.ARENA or not _holds(output, old):
            continue
        becomes[old] = output
        taken.add(new)
    for old, output in becomes.items():  # the last op first, so that an output ends where its first temporary was
        if live.order[output] > live.order[old]:
            output.detach()
            assert old.parent is not None
            old.parent.insert_op_before(output, old)
        same = output.res
        if old.res.type != same.type:
            assert old.parent is not None
            old.parent.insert_op_before(view := ViewOp(same, old.res.type), old)
            same = view.res
        old.res.replace_all_uses_with(same)
        old.detach()
        old.erase()
    return Liveness(func) if becomes else live


def _holds(output: AllocOp, old: AllocOp) -> bool:
    """Return whether an output may be the memory of a temporary, where the temporary is allocated."""
    return old.ref.dtype.size == output.ref.dtype.size and old.parent is output.parent


def _pass_on_donated(live: Liveness) -> None:
    """Let what is written in place of a donated input have its memory, and what is written in place of that."""
    passed_on: set[AllocOp] = set()
    for new, old in live.in_place:
        root = old if old.over is None else old.over.owner
        if not isinstance(root, AllocOp) or root.donated is None or old in passed_on or new.over is not None:
            continue
        if new.kind in (Space.ARENA, Space.OUTPUT) and is_alike(new.ref, root.ref) and live.order[root] < live.order[new]:
            new.operands = (*new.operands, root.res)
            passed_on.update((old, root))


def _take_donated(func: FuncOp, live: Liveness) -> Liveness:
    """Let outputs take the memory of donated inputs of their type, as the head of the file says; what is live then."""
    ending = func.body.block.last_op
    assert isinstance(ending, ReturnOp)
    taken = {a.over.owner for a in live.allocations if a.over is not None} | {v.owner for v in ending.inputs}
    passed_on = set(live.in_place)
    donated = _by_type([a for a in live.allocations if a.donated is not None])
    copied = False
    for type, outputs in _by_type([v.owner for v in ending.inputs if isinstance(v.owner, AllocOp)]).items():
        given = donated.get(type, [])
        pairs = list(zip(outputs, given, strict=False))
        if len(outputs) != len(given):
            pairs += [(output, old) for output in outputs for old in given]
        for output, old in pairs:
            if output.kind is not Space.OUTPUT or output.over is not None or old in taken or not output.ref.nbytes:
                continue
            free = live.last[old] < live.first[output] or (output, old) in passed_on
            if free and live.order[old] < live.order[output]:
                output.operands = (*output.operands, old.res)
            elif len(outputs) == len(given):
                _copy_at_the_end(output, old, ending)
                copied = True
            else:
                continue
            taken.add(old)
    return Liveness(func) if copied else live


def _by_type(allocations: Sequence[AllocOp]) -> dict[Attribute, list[AllocOp]]:
    found: dict[Attribute, list[AllocOp]] = {}
    for alloc in allocations:
        found.setdefault(alloc.res.type, []).append(alloc)
    return found


def _copy_at_the_end(output: AllocOp, old: AllocOp, ending: ReturnOp) -> None:
    """Let a result be computed in a temporary and copied into a donated input when all is read."""
    output.space, output.index = StringAttr(Space.ARENA), None
    copy = CopyOp(output.res, old.res)
    copy.location = ending.location
    assert ending.parent is not None
    ending.parent.insert_op_before(copy, ending)
    ending.operands = [old.res if v is output.res else v for v in ending.inputs]


def _slots(live: Liveness, align: int) -> list[SharedSlot]:
    """The places that the temporaries need, those written in place of others in one."""
    slots = {
        a: SharedSlot(_rounded(a.ref.nbytes, align), live.first[a], live.last[a], allocations=[a]) for a in _temporaries(live)
    }
    given: set[AllocOp] = set()
    for new, old in live.in_place:
        if new in slots and old in slots and new not in given and old not in given and slots[new].allocations == [new]:
            slot = slots[old]
            if slot.last != live.last[old]:
                continue
            slot.allocations.append(new)
            slot.last = max(live.last[new], slot.last)
            slots[new] = slot
            given.add(old)
    return list({id(slot): slot for slot in slots.values()}.values())


def _rounded(size: int, align: int) -> int:
    return -(-size // align) * align
