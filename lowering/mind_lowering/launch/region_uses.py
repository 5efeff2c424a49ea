"""The uses of memory in the regions of a branch or a loop: which ops write it, and what they pass on element by element."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import partial

from xdsl.ir import Block, Operation, SSAValue

from mind_dialect.lazy_dataclass import dataclass

from ..liveness import spread
from .base import LaunchOp
from .compute_ops import ComputeOp
from .control_ops import ForOp, IfOp, WhileOp
from .liveness import blocks_of, flows_of, home, is_whole
from .memory_ops import AllocOp, Space, ViewOp
from .ref import read_ref

Loop = ForOp | WhileOp


@dataclass
class RegionUses:
    """The ops of a loop in program order: which write, and which use, each allocation and carry."""

    names: dict[SSAValue, SSAValue]
    """The carry that an argument is, where a loop has two blocks."""
    writers: dict[SSAValue, list[Operation]] = field(default_factory=dict[SSAValue, list[Operation]])
    at: dict[SSAValue, list[int]] = field(default_factory=dict[SSAValue, list[int]])
    """The numbers of all uses, in order."""
    order: dict[Operation, int] = field(default_factory=dict[Operation, int])
    end: dict[Operation | Block, int] = field(default_factory=dict[Operation | Block, int])
    written: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    inner: set[SSAValue] = field(default_factory=set[SSAValue])
    """The memory that is allocated, and the results of loops, in the loop."""
    passed: dict[SSAValue, frozenset[SSAValue]] = field(default_factory=dict[SSAValue, frozenset[SSAValue]])
    """Values that control flow passes on, with the memory that each may be."""
    count: int = 0

    def memory(self, value: SSAValue) -> SSAValue:
        """The allocation or carry that a value lies in."""
        value = home(value)
        return self.names.get(value, value)

    def use(self, value: SSAValue) -> SSAValue:
        found = self.memory(value)
        for memory in {found, *self.passed.get(found, ())}:
            self.at.setdefault(memory, []).append(self.count)
        return found

    def is_used(self, memory: SSAValue, after: int, until: int | None = None) -> bool:
        """Return whether memory is used by ops of greater numbers than one, up to another."""
        numbers = self.at.get(memory, [])
        i = bisect_right(numbers, after)
        return i < len(numbers) and (until is None or numbers[i] <= until)

    def visit(self, block: Block) -> set[SSAValue]:
        """Number the ops of a block; the memory that they use."""
        used: set[SSAValue] = set()
        for op in block.ops:
            self.count += 1
            self.order[op] = self.count
            if not isinstance(op, LaunchOp):
                continue
            self.inner.update(op.results if isinstance(op, AllocOp | ForOp | WhileOp | IfOp) else ())
            reads, writes = op.effects()
            used.update([self.use(v) for v in reads])
            for value in writes:
                found = self.use(value)
                self.writers.setdefault(found, []).append(op)
                self.written[found] = None
                used.add(found)
            if op.regions and not isinstance(op, ComputeOp):
                used |= self.region(op)
        self.end[block] = self.count
        return used

    def region(self, op: LaunchOp) -> set[SSAValue]:
        """Visit the regions of an op: what a loop uses, it uses until its end."""
        used = {self.use(v) for v in op.inits} if isinstance(op, Loop) else set[SSAValue]()
        for memory in used:
            self.writers.setdefault(memory, []).append(op)
        for inner in blocks_of(op):
            used |= self.visit(inner)
        self.count += 1
        self.end[op] = self.count
        for memory in used if isinstance(op, Loop) else ():
            self.at[memory].append(self.count)
        self.pass_on(op)
        return used

    def pass_on(self, op: LaunchOp) -> None:
        """Note which memory results and arguments of a loop or branch may be."""
        flows = [(self.memory(given), holder) for given, holder in flows_of(op)]
        for given, _ in flows:
            self.passed.setdefault(given, frozenset({given}))
        spread(self.passed, [((given,), holder) for given, holder in flows])

    def reach(
        self, new: SSAValue, blocks: Sequence[Block], is_inner: Callable[[AllocOp], bool]
    ) -> dict[SSAValue, list[SSAValue]]:
        """
        The memory from outside of blocks that `new` may be written over; with each, what is allocated there and comes between.

        Each of them is used last by the op that first writes the next one, which passes it on element by element.
        """
        found: dict[SSAValue, list[SSAValue]] = {}
        waiting: list[tuple[SSAValue, list[SSAValue]]] = [(new, [])]
        seen = {new}
        while waiting:
            one, between = waiting.pop()
            for old, others in self.sources(one, blocks):
                if old in seen or read_ref(old.type).nbytes != read_ref(new.type).nbytes:
                    continue
                seen.add(old)
                if not isinstance(old.owner, AllocOp) or not is_inner(old.owner):
                    found[old] = [*between, *others]
                elif old.owner.kind is Space.ARENA:
                    waiting.append((old, [*between, *others, old]))
        return found

    def sources(self, new: SSAValue, blocks: Sequence[Block]) -> list[tuple[SSAValue, list[SSAValue]]]:
        """The memory that the first op of blocks which writes `new` passes on to it, with what comes between in its regions."""
        until = self.end[blocks[-1]] if isinstance(blocks[-1].parent_op(), IfOp) else None
        start = min((self.order[b.first_op] for b in blocks if b.first_op is not None), default=0)
        op = self.first_writer(new, blocks, start)
        if isinstance(op, IfOp):
            both = [self.reach(new, [r.block], partial(holds, r.block)) for r in (op.then, op.otherwise)]
            return [
                (old, [*between, *both[1][old]])
                for old, between in both[0].items()
                if old in both[1] and not self.is_used(old, self.end[op], until)
            ]
        if not isinstance(op, ComputeOp):
            return []
        pairs = [(op.writes[w], op.reads[r]) for w, r in op.inplace_pairs]
        olds = [self.memory(r) for w, r in pairs if self.memory(w) is new and is_whole(w) and is_whole(r)]
        return [(old, []) for old in olds if old is not new and not self.is_used(old, self.order[op], until)]

    def first_writer(self, new: SSAValue, blocks: Sequence[Block], start: int) -> Operation | None:
        """The op of blocks which first writes memory, or which the first op that does is in."""
        for op in self.writers.get(new, ()):
            if self.order[op] >= start and (found := next((a for b in blocks if (a := b.find_ancestor_op_in_block(op))), None)):
                return found
        return None

    def is_read_before(self, old: SSAValue, new: SSAValue) -> bool:
        """Return whether `old` is used only by ops before the one that first writes `new`."""
        return new in self.writers and not self.is_used(old, self.order[self.writers[new][0]] - 1)


def holds(block: Block, op: Operation) -> bool:
    """Return whether a block, or one inside of it, holds an op."""
    return block.find_ancestor_op_in_block(op) is not None


def comes_after(op: Operation, other: Operation) -> bool:
    """Return whether an op is after the op of its block, or of one around it, that another op is in."""
    parent: Operation | None = op
    while parent is not None:
        if parent.parent is not None and (inner := parent.parent.find_ancestor_op_in_block(other)) is not None:
            return inner is not parent and inner.is_before_in_block(parent)
        parent = parent.parent_op()
    return False


def replace_memory(memory: SSAValue, other: SSAValue) -> None:
    """Let memory have the place of other memory of its size."""
    alloc = memory.owner
    assert isinstance(alloc, AllocOp)
    assert alloc.parent is not None
    if memory.type != other.type:
        view = ViewOp(other, memory.type)
        alloc.parent.insert_op_before(view, alloc)
        other = view.res
    memory.replace_all_uses_with(other)
    alloc.detach()
    alloc.erase()
