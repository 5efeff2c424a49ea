"""Aliases and live ranges of `launch`: the memory that a value may lie in, and the range in which each allocation is in use."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import cast

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from ..liveness import Flow, LiveRanges, spread
from .base import LaunchOp
from .compute_ops import ComputeOp
from .control_ops import AtOp, ConditionOp, ForOp, IfOp, WhileOp
from .memory_ops import AllocOp, ViewOp
from .ref import read_ref

Roots = frozenset[AllocOp]
Touched = dict[AllocOp, list[int]]


ADDRESSES = (ViewOp, AtOp)
"""Ops that pass the memory of their source on; asked by type, which takes a tenth of the time of `isinstance`."""


def base(value: SSAValue) -> SSAValue:
    """Return the allocation, carry or result that a value is an address into."""
    while type(owner := value.owner) in ADDRESSES:
        value = cast("ViewOp | AtOp", owner).source
    return value


def unviewed(value: SSAValue) -> SSAValue:
    """Return the allocation, slice, carry or result that a value is, or is a view of."""
    while isinstance(owner := value.owner, ViewOp):
        value = owner.source
    return value


def offset(value: SSAValue) -> int | None:
    """Return the bytes between the address of a value and that of its base; None where it moves with a loop."""
    found = 0
    while isinstance(owner := value.owner, ViewOp | AtOp):
        if isinstance(owner, AtOp):
            return None
        found += owner.word("offset", 0) * read_ref(value.type).dtype.size
        value = owner.source
    return found


def is_same_part(one: AtOp, other: AtOp) -> bool:
    """Return whether two slices are of one array, seen alike, at one index."""
    if one.index is not other.index or base(one.source) is not base(other.source) or one.source.type != other.source.type:
        return False
    return one.source is other.source or (offset(one.source) is not None and offset(one.source) == offset(other.source))


def whole(value: SSAValue) -> AllocOp | None:
    """Return the allocation that a value is all of, in row-major order; None for a part, or for another order."""
    owner = base(value).owner
    return owner if isinstance(owner, AllocOp) and is_whole(value) else None


def is_whole(value: SSAValue) -> bool:
    """Return whether a value is all of its base, in row-major order."""
    layout = read_ref(value.type)
    return offset(value) == 0 and layout.is_row_major and layout.nbytes == read_ref(base(value).type).nbytes


def home(value: SSAValue) -> SSAValue:
    """Return the base of a value, that of a loop's result being what the loop was given where its carries only change places."""
    while True:
        value = base(value)
        found = _first_place(value.owner, value.index) if isinstance(value, OpResult) else None
        if found is None or not is_whole(found):
            return value
        value = found


def _first_place(op: Operation, carry: int) -> SSAValue | None:
    """Return what a loop was given, that result `carry` is; None for what it computes elsewhere."""
    if not isinstance(op, ForOp) or (last := op.body.block.last_op) is None:
        return None
    places = [carry]
    while True:
        following = last.operands[places[-1]]
        argument = home(following)
        if not isinstance(argument, BlockArgument) or argument.block is not op.body.block or not is_whole(following):
            return None
        if argument.index - 1 == carry:
            return op.inits[places[op.trip_count % len(places)]]
        if argument.index - 1 in places:
            return None
        places.append(argument.index - 1)


def blocks_of(op: Operation) -> Iterator[Block]:
    """Yield the blocks of launch ops inside an op; the body of a kernel holds none."""
    if not isinstance(op, ComputeOp):
        for region in op.regions:
            yield from region.blocks


def launch_ops(block: Block) -> Iterator[Operation]:
    """Yield the ops of a block and of those inside, in program order."""
    for op in block.ops:
        yield op
        for inner in blocks_of(op):
            yield from launch_ops(inner)


def flows_of(op: Operation) -> Iterator[Flow]:
    """Yield where control flow passes addresses on: from what is given to what then holds it."""
    match op:
        case ForOp():
            last = op.body.block.last_op
            assert last is not None
            for init, carry, following, result in zip(op.inits, op.body.block.args[1:], last.operands, op.res, strict=True):
                yield from ((init, carry), (following, carry))
                place = home(result)
                yield from ((init, result), (following, result)) if place is result else ((place, result),)
        case WhileOp():
            condition, last = op.test.block.last_op, op.body.block.last_op
            assert isinstance(condition, ConditionOp)
            assert last is not None
            for i, passed in enumerate(condition.inputs):
                yield from ((op.inits[i], op.test.block.args[i]), (last.operands[i], op.test.block.args[i]))
                yield from ((passed, op.body.block.args[i]), (passed, op.res[i]))
        case IfOp():
            for region in (op.then, op.otherwise):
                assert region.block.last_op is not None
                yield from zip(region.block.last_op.operands, op.res, strict=True)
        case _:
            return


def written(ops: Iterable[Operation]) -> set[SSAValue]:
    """Return the allocations, carries and results that ops may write to, by whatever name."""
    found: set[SSAValue] = set()
    flows: list[Flow] = []
    for op in ops:
        if isinstance(op, LaunchOp):
            found.update(map(base, op.effects()[1]))
            flows.extend(flows_of(op))
    count = -1
    while count != len(found):
        count = len(found)
        found.update([base(given) for given, holder in flows if holder in found])
    return found


class Liveness(LiveRanges[AllocOp]):
    """Program order, aliases and live ranges of a function of launch ops."""

    LOOPS = (ForOp, WhileOp)

    def __init__(self, func: FuncOp):
        super().__init__(func.body.block)
        self._roots: dict[SSAValue, Roots] = {}
        self._touched: dict[LaunchOp, tuple[Touched, Touched]] = {}
        self.allocations = [op for op in self.order if isinstance(op, AllocOp)]
        self._roots.update({alloc.res: frozenset({alloc}) for alloc in self.allocations})
        spread(self._roots, [([base(given)], holder) for op in self.order for given, holder in flows_of(op)])
        for op in self.order:
            if isinstance(op, LaunchOp):
                for value in (*op.effects()[0], *op.effects()[1], *_carried(op)):
                    for root in self.roots(value):
                        self.touch(root, root.parent, op)
        for alloc in self.allocations:
            self.first.setdefault(alloc, self.order[alloc])
            self.last[alloc] = max(self.last.get(alloc, 0), self.order[alloc])

    def blocks_of(self, op: Operation) -> Iterable[Block]:
        return blocks_of(op)

    def roots(self, value: SSAValue) -> Roots:
        """Return the allocations that a value may be an address into."""
        return self._roots.get(base(value), frozenset())

    def is_passed_on(self, op: LaunchOp, old: AllocOp, new: AllocOp) -> bool:
        """Return whether an op reads an allocation only element by element where it writes those of another."""
        reads, writes = self.touched(op)
        sources, targets = reads.get(old, ()), writes.get(new, ())
        if not sources or len(targets) != 1 or old in writes:
            return False
        values, made = op.effects()
        pairs = op.inplace_pairs
        return whole(made[targets[0]]) is new and all((targets[0], i) in pairs and whole(values[i]) is old for i in sources)

    def is_handed_over(self, old: AllocOp, new: AllocOp) -> bool:
        """
        Return whether the uses of one allocation are over when those of another begin, or pass its memory on in place.

        Of a branch, each region by itself: only one of them runs.
        """
        uses = self.uses.get(old, [])
        for number in dict.fromkeys(self.uses.get(new, ())):
            op, at = self.at[number], bisect_left(uses, number)
            if self.is_used_after(uses, op):
                return False
            if at < len(uses) and uses[at] == number and not (isinstance(op, LaunchOp) and self.is_passed_on(op, old, new)):
                return False
        return True

    @cached_property
    def in_place(self) -> list[tuple[AllocOp, AllocOp]]:
        """The allocations that an op may write in place of others which it uses last: the written and the read one."""
        return [pair for op in self.order if isinstance(op, ComputeOp) for pair in self._in_place(op)]

    def _in_place(self, op: ComputeOp) -> Iterator[tuple[AllocOp, AllocOp]]:
        n, (reads, writes) = self.order[op], op.effects()
        for w, r in op.inplace_pairs:
            new, old = base(writes[w]).owner, base(reads[r]).owner
            if not isinstance(new, AllocOp) or not isinstance(old, AllocOp) or new.ref.nbytes != old.ref.nbytes:
                continue
            if self.first[new] != n or self.last[old] < n:
                continue
            if self.is_passed_on(op, old, new) if self.last[old] == n else self.is_handed_over(old, new):
                yield new, old

    def touched(self, op: LaunchOp) -> tuple[Touched, Touched]:
        """The allocations that an op may read, and those that it may write, with the numbers of its reads or writes."""
        found = self._touched.get(op)
        if found is None:
            found = self._touched[op] = ({}, {})
            for values, by_root in zip(op.effects(), found, strict=True):
                for i, value in enumerate(values):
                    for root in self.roots(value):
                        by_root.setdefault(root, []).append(i)
        return found


def _carried(op: Operation) -> list[SSAValue]:
    """Return the values that control flow takes or hands on at an op: they are in use there."""
    values = list(op.operands) if not isinstance(op, AllocOp | ViewOp | AtOp) else []
    return [v for v in values if not isinstance(v, BlockArgument) or v.index or not isinstance(v.block.parent_op(), ForOp)]
