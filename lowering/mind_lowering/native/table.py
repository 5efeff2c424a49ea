"""The table of addresses that the code of a program is given: which entry the memory of each operand is in, and where in it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, SSAValue

from ..launch.base import LaunchOp
from ..launch.control_ops import AtOp, ForOp, IfOp, PrepackOp, WhileOp, YieldOp
from ..launch.liveness import base, blocks_of
from ..launch.memory_ops import AllocOp, Space, ViewOp
from ..launch.ref import read_ref
from .lowered import TableEntry

ARENA_PLACE, FIRST_PLACE = 1, 2
"""The entry of the arena, and the first one after it; the record of failures is in entry 0."""
_ORDER = (Space.INPUT, Space.OUTPUT, Space.CONSTANT, Space.KEPT, Space.HOST)


def spot(value: SSAValue) -> tuple[SSAValue, int]:
    """
    Return what an address is counted from, and how many bytes: an allocation, or an address that moves with a loop.

    After a loop of known length, memory that its iterations pass on is known.
    """
    offset = 0
    while True:
        owner = value.owner
        if type(owner) is AllocOp:
            return value, offset
        if isinstance(owner, ViewOp):
            offset += owner.word("offset", 0) * read_ref(value.type).dtype.size
            value = owner.source
        elif isinstance(owner, ForOp):
            value, more = _after(owner, owner.res.index(value))
            offset += more
        else:
            return value, offset


def _after(loop: ForOp, carry: int) -> tuple[SSAValue, int]:
    """The address of a carry after the last iteration, from one that is known outside of the loop, and bytes from there."""
    last, left = loop.body.block.last_op, loop.trip_count
    assert last is not None
    while left:
        left -= 1
        value, offset = spot(last.operands[carry])
        if isinstance(value, BlockArgument) and value.block is loop.body.block:
            carry = value.index - 1
        elif isinstance(at := value.owner, AtOp) and at.index is loop.body.block.args[0]:
            source = read_ref(at.source.type)
            return at.source, offset + left * source.strides[0] * source.dtype.size
        else:
            return value, offset
    return loop.inits[carry], 0


class Table:
    """The entries of a program whose memory is assigned: those of its arena, and of each allocation outside of that."""

    def __init__(self, func: FuncOp):
        self._used: Mapping[Space, dict[AllocOp, None]] = {space: {} for space in _ORDER}
        self._visit(func.body.block)
        self.entries: dict[AllocOp, int] = {}
        for space in _ORDER:
            for alloc in self._used[space]:
                self.entries[alloc] = FIRST_PLACE + len(self.entries)
        self.size = FIRST_PLACE + len(self.entries)

    def _visit(self, block: Block) -> None:
        for op in block.ops:
            if isinstance(op, LaunchOp):
                reads, writes = op.effects()
                self._use(*reads, *writes, *op.operands if isinstance(op, YieldOp) else ())
            if isinstance(op, IfOp | ForOp | WhileOp | PrepackOp):
                for inner in blocks_of(op):
                    self._visit(inner)
            self._use(*op.operands if isinstance(op, ForOp | WhileOp | AtOp) else ())

    def _use(self, *values: SSAValue) -> None:
        for value in values:
            alloc = _owner(spot(base(value))[0])
            if alloc is not None and alloc.kind in self._used:
                self._used[alloc.kind][alloc] = None

    def memory(self, value: SSAValue) -> TableEntry:
        """Return the entry and the offset of an address that does not move."""
        found, offset = spot(value)
        alloc = _owner(found)
        assert alloc is not None, "no carry"
        if alloc.kind is Space.ARENA:
            return TableEntry(ARENA_PLACE, offset + alloc.word("at", 0))
        owner = found.owner
        donated = isinstance(owner, AllocOp) and owner is not alloc
        return TableEntry(self.entries[alloc], offset, alloc.kind is Space.OUTPUT and not donated)

    def location(self, value: SSAValue) -> tuple[Hashable, bool]:
        """Return a key that tells memory from any other, and whether it is a result in memory that the caller gives."""
        found, offset = spot(value)
        alloc = _owner(found)
        if alloc is None:
            return (found, offset), False
        if alloc.kind is Space.ARENA:
            return (Space.ARENA, offset + alloc.word("at", 0)), False
        return (alloc, offset), alloc.kind is Space.OUTPUT


def _owner(value: SSAValue) -> AllocOp | None:
    """The allocation whose memory an address is: that of a donated input, where it is taken over."""
    alloc = value.owner
    if isinstance(alloc, AllocOp) and alloc.over is not None:
        alloc = alloc.over.owner
    return alloc if isinstance(alloc, AllocOp) else None
