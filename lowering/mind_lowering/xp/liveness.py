"""
From which op to which a lowered function needs each of its names, and each of its arrays.

A name is needed until its last use, where `frees` puts an `xp.free`. An array is needed as long as any value that may lie in it:
views, results in its place, and what control flow passes on.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence

from xdsl.ir import Block, Operation, SSAValue

from mind_dialect.ptir import FusionOp
from mind_dialect.ptir.control import yielded

from ..liveness import LiveRanges, spread
from .ops import CallOp, ExpectOp, FreeOp, is_constant
from .regions import ForOp, IfOp, WhileOp

Source = tuple[Sequence[SSAValue], SSAValue]
"""Values, and one that may lie in the memory of any of them."""


def home(value: SSAValue) -> Block | None:
    """Return the block that defines a value."""
    owner = value.owner
    return owner.parent if isinstance(owner, Operation) else owner


class LoweredRanges(LiveRanges[SSAValue]):
    """Live ranges of a lowered function."""

    LOOPS = (WhileOp, ForOp)

    def blocks_of(self, op: Operation) -> Iterable[Block]:
        return () if isinstance(op, FusionOp) else [region.block for region in op.regions]


class NameRanges(LoweredRanges):
    """The uses of each value of a lowered function by its name."""

    def __init__(self, block: Block):
        super().__init__(block)
        for op in self.order:
            for value in op.operands:
                self.touch(value, home(value), op)

    def last_in(self, block: Block, value: SSAValue) -> Operation | None:
        """Return the last op of a block that uses a value, or whose regions do; without a use, the op that defines it."""
        uses = self.uses.get(value, [])
        assert block.first_op is not None
        assert block.last_op is not None
        i = bisect_right(uses, self.order[block.last_op])
        owner = value.owner
        found = self.at[uses[i - 1]] if i else owner if isinstance(owner, Operation) else None
        if found is None or self.order[found] < self.order[block.first_op]:
            return None
        while found.parent is not block:
            found = found.parent_op()
            assert found is not None
        return found

    def is_captured(self, op: Operation, value: SSAValue) -> bool:
        """Return whether a region of an op uses a value from outside."""
        uses = self.uses.get(value, [])
        begin, end = bisect_left(uses, self.order[op]), bisect_right(uses, self.end[op])
        return end - begin > sum(v is value for v in op.operands)


class ArrayRanges(LoweredRanges):
    """
    The range in which the memory of each parameter, and of `made`, values with memory of their own, is needed.

    What a loop carries has memory of its own, or that of its initial value if the loop passes it on as it is.
    """

    def __init__(self, block: Block, made: Collection[SSAValue]):
        super().__init__(block)
        self.memory = {v: frozenset({v}) for v in (*block.args, *made)}
        spread(self.memory, [(s, v) for op in self.order for s, v in _sources(op) if v not in self.memory])
        for op in self.order:
            defined = [a for inner in self.blocks_of(op) for a in inner.args] if op.regions else op.results
            for root in self._roots((*op.operands, *defined)):
                self.touch(root, home(root), op)
            for root in self._roots(op.results) if op.regions else ():
                self.first[root] = min(self.first.get(root, self.end[op]), self.end[op])
                self.last[root] = max(self.last.get(root, 0), self.end[op])

    def _roots(self, values: Iterable[SSAValue]) -> Iterator[SSAValue]:
        for value in values:
            yield from self.memory.get(value, ())

    def ops_of(self, block: Block) -> Iterable[Operation]:
        return [op for op in block.ops if not isinstance(op, FreeOp | ExpectOp) and not is_constant(op)]


def _sources(op: Operation) -> Iterator[Source]:
    """Yield whose memory the results of an op, and the parameters of its regions, may have if they have none of their own."""
    match op:
        case CallOp():
            target = op.written_over
            for result in op.results:
                yield op.operands[:1] if target is None else (target,), result
        case IfOp():
            yields = [yielded(region.block) for region in op.regions]
            yield from ((values, result) for *values, result in zip(*yields, op.results, strict=True))
        case WhileOp():
            cond, body = op.cond_region.block, op.body_region.block
            yield from zip(zip(op.inits), cond.args, strict=True)
            for passed, argument, value, result in zip(yielded(cond)[1:], body.args, yielded(body), op.results, strict=True):
                yield (passed,), argument
                yield (passed, value), result
        case ForOp():
            body = op.body_region.block
            yield from zip(zip((*op.inits, *op.scanned)), body.args, strict=True)
            yield from zip(zip(body.args, yielded(body), strict=False), op.results, strict=False)
        case _:
            return
