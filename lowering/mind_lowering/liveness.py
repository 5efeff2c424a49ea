"""
Live ranges in program order: from which op to which a value, or memory, of a function is needed.

Ops have numbers in program order, those of regions included; an op with regions has a second number, its end. What comes from
outside of a loop and is touched inside is needed from the begin of the loop to its end. A dialect says which ops hold others,
which of them are loops, and what touches what: allocations in `launch`, names and arrays in `xp`. Whether memory may be written
to again is one question for all of them: `is_used_after`.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Generic, TypeVar

from xdsl.ir import Block, Operation, SSAValue

R = TypeVar("R")
Flow = tuple[SSAValue, SSAValue]
"""A value, and one that may be the same value by control flow."""


class LiveRanges(Generic[R]):
    """Program order, and the first and the last number at which each resource of a block is touched."""

    LOOPS: ClassVar[tuple[type[Operation], ...]] = ()

    def __init__(self, block: Block):
        self.order: dict[Operation, int] = {}
        self.end: dict[Operation, int] = {}
        self.first: dict[R, int] = {}
        self.last: dict[R, int] = {}
        self.uses: dict[R, list[int]] = {}
        """The numbers of the ops that touch each resource, in order; for a loop around them, its end."""
        self.at: list[Operation] = []
        """The op that has each number."""
        self._number(block)

    def blocks_of(self, op: Operation) -> Iterable[Block]:
        """Yield the blocks in the regions of an op that hold ops of the program."""
        for region in op.regions:
            yield from region.blocks

    def ops_of(self, block: Block) -> Iterable[Operation]:
        """Yield the ops of a block that count."""
        return block.ops

    def touch(self, resource: R, home: Block | None, op: Operation) -> None:
        """Note that an op needs a resource of the block `home`; loops inside of it need it from begin to end."""
        begin = end = self.order[op]
        for loop in self._loops_between(op, home):
            begin, end = self.order[loop], self.end[loop]
        self.first[resource] = min(self.first.get(resource, begin), begin)
        self.last[resource] = max(self.last.get(resource, end), end)
        insort(self.uses.setdefault(resource, []), end)

    def is_used_after(self, uses: Sequence[int], op: Operation) -> bool:
        """
        Return whether one of the uses, numbers in order, may follow an op.

        Those in the other region of a branch around the op do not, as only one of the regions runs.
        """
        if not uses or uses[-1] <= self.order[op]:
            return False
        begin = self.order[op]
        while (block := op.parent) is not None and block.last_op is not None:
            outer = block.parent_op()
            end = self.end[outer] if isinstance(outer, self.LOOPS) else self.order[block.last_op]
            at = bisect_right(uses, begin)
            if at < len(uses) and uses[at] <= end:
                return True
            if outer is None or outer not in self.end:
                return False
            op, begin = outer, self.end[outer]
        return False

    def _number(self, block: Block) -> None:
        for op in self.ops_of(block):
            self.order[op] = len(self.at)
            self.at.append(op)
            if op.regions:
                for inner in self.blocks_of(op):
                    self._number(inner)
                self.end[op] = len(self.at)
                self.at.append(op)
            else:
                self.end[op] = len(self.at)

    def _loops_between(self, op: Operation, home: Block | None) -> Iterator[Operation]:
        """Yield the loops around an op that `home` is outside of, the inner ones first."""
        parent = op
        while parent.parent is not home and (outer := parent.parent_op()) is not None and outer in self.order:
            parent = outer
            if isinstance(parent, self.LOOPS):
                yield parent


def spread(known: dict[SSAValue, frozenset[R]], flows: Iterable[tuple[Iterable[SSAValue], SSAValue]]) -> None:
    """Add to what is known of values what may reach them by control flow: once in straight lines, more where loops permute."""
    edges = [(tuple(sources), holder) for sources, holder in flows]
    changed = True
    while changed:
        changed = False
        for sources, holder in edges:
            before = known.get(holder, frozenset())
            after = before.union(*(known.get(v, frozenset()) for v in sources))
            if after != before:
                known[holder], changed = after, True
