"""
Frees at last uses: `xp.free` ops are put there, and checked.

A value from outside that dies in a branch is freed in both branches, unless a branch yields it. In a loop, what comes from
outside lives until the loop is over; what the loop takes dies when it begins; a carry dies like other values of the body.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, SSAValue

from mind_dialect.codecs import INTEGERS
from mind_dialect.errors import error
from mind_dialect.ptir.control import yielded

from .liveness import NameRanges, home
from .ops import FreeOp, can_free
from .regions import IfOp, LoopOp

Values = dict[SSAValue, None]
"""A set in the order of insertion."""


def insert_frees(block: Block) -> None:
    """Put a free after each last use in a function's block and in those inside of it."""
    _insert(block, (), NameRanges(block))


def _insert(block: Block, dying: Sequence[SSAValue], live: NameRanges) -> None:
    """Free what the block defines, and the values from outside that are `dying` here."""
    dead: dict[Operation | None, list[SSAValue]] = {}
    for value in (*block.args, *dying, *(r for op in block.ops for r in op.results)):
        if can_free(value):
            dead.setdefault(live.last_in(block, value), []).append(value)
    for op in list(block.ops):
        if op is not block.last_op and (after := _inside(op, dead.get(op, []), live)):
            block.insert_op_after(FreeOp(after), op)
    if unused := dead.get(None):
        assert block.first_op is not None
        block.insert_op_before(FreeOp(unused), block.first_op)


def _inside(op: Operation, dead: list[SSAValue], live: NameRanges) -> list[SSAValue]:
    """Free in the regions of `op` what can be freed there; what is left is to be freed after it."""
    inner: list[SSAValue] = []
    if isinstance(op, IfOp):
        kept = {op.condition, *(v for region in op.regions for v in yielded(region.block))}
        inner = [v for v in dead if v not in kept and live.is_captured(op, v)]
    elif isinstance(op, LoopOp):
        initial = op.initial()
        others = {*op.operands[len(initial) :], *(v for v in dead if live.is_captured(op, v))}
        numbers: dict[SSAValue, int] = {}
        for i, v in enumerate(initial):
            if v in dead and v not in others:
                numbers.setdefault(v, i)
        op.properties["takes"] = INTEGERS.attribute(list(numbers.values()))
        dead = [v for v in dead if v not in numbers]
    for block in live.blocks_of(op):
        _insert(block, inner, live)
    dead = [v for v in dead if v not in inner]
    named = {v: i for i, v in enumerate(op.operands)}
    return sorted(dead, key=lambda v: named.get(v, len(named))) if len(dead) > 1 else dead


def check_frees(block: Block) -> None:
    """
    Raise E4001 for a value that is used after it was freed or taken, or that cannot be freed.

    That is an input, a constant, a value from outside of a loop, and a value from outside that only one branch frees.
    """
    _Check().block(block, {block})


class _Check:
    def __init__(self) -> None:
        self.freed: Values = {}

    def block(self, block: Block, scope: set[Block]) -> None:
        """`scope` holds the blocks around, up to the innermost loop's."""
        for op in block.ops:
            for i, value in enumerate(op.operands):
                if value in self.freed:
                    raise error("E4001", "uses a value after xp.free", operand=i).at(op, op.name)
                if isinstance(op, FreeOp):
                    if not can_free(value):
                        raise error("E4001", "frees an input or a constant", operand=i).at(op, op.name)
                    if home(value) not in scope:
                        raise error("E4001", "frees a value from outside of the loop", operand=i).at(op, op.name)
                    self.freed[value] = None
            if isinstance(op, IfOp):
                self._branches(op, scope)
            elif isinstance(op, LoopOp):
                for i in op.taken():
                    if not can_free(op.operands[i]) or home(op.operands[i]) not in scope:
                        raise error("E4001", "takes an input, a constant or a value from outside", operand=i).at(op, op.name)
                    self.freed[op.operands[i]] = None
                for region in op.regions:
                    self.block(region.block, {region.block})

    def _branches(self, op: IfOp, scope: set[Block]) -> None:
        before = len(self.freed)
        ended: list[Values] = []
        for region in op.regions:
            self.block(region.block, {*scope, region.block})
            added = list(self.freed)[before:]
            for value in added:
                del self.freed[value]
            ended.append({v: None for v in added if home(v) in scope})
        if ended[0].keys() != ended[1].keys():
            raise error("E4001", "a value is freed in one branch alone", operand=0).at(op, op.name)
        self.freed.update(ended[0])
