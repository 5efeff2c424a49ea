"""
Where values are used for the last time: `xp.free` ops are put there, and checked.

A value from outside that dies in a branch is freed in both branches, unless a branch yields it. In a loop, what comes from
outside lives until the loop is over; what the loop takes dies when it begins; a carry dies like other values of the body.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Block, Operation, SSAValue

from mind_dialect.codecs import INTEGERS
from mind_dialect.errors import error
from mind_dialect.ptir import FusionOp

from .ops import FreeOp, can_free
from .regions import IfOp, LoopOp

Values = dict[SSAValue, None]
"""A set in the order of insertion."""


def insert_frees(block: Block) -> None:
    """Put a free after each last use in a function's block and in those inside of it."""
    captures: dict[Operation, Values] = {}
    _find_captures(block, captures)
    _insert(block, {}, captures)


def home(value: SSAValue) -> Block | None:
    """The block that defines a value."""
    owner = value.owner
    return owner.parent if isinstance(owner, Operation) else owner


def _find_captures(block: Block, captures: dict[Operation, Values]) -> Values:
    """The values from outside that a block uses; `captures` gets those of each op with regions."""
    used: Values = {}
    for op in block.ops:
        used.update(dict.fromkeys(op.operands))
        if op.regions and not isinstance(op, FusionOp):
            inner: Values = {}
            for region in op.regions:
                inner.update(_find_captures(region.block, captures))
            captures[op] = inner
            used.update(inner)
    return {v: None for v in used if home(v) is not block}


def _insert(block: Block, dying: Values, captures: dict[Operation, Values]) -> None:
    """Free what the block defines, and the values from outside that are `dying` here."""
    live: Values = {}
    ops = list(block.ops)
    for op in reversed(ops):
        used = dict.fromkeys((*op.operands, *captures.get(op, ())))
        dead = [
            v for v in dict.fromkeys((*used, *op.results)) if v not in live and can_free(v) and (v in dying or home(v) is block)
        ]
        live.update(used)
        if op is ops[-1]:
            continue
        after = _inside(op, dead, captures)
        if after:
            block.insert_op_after(FreeOp(after), op)
    unused = [v for v in (*block.args, *dying) if v not in live and can_free(v)]
    if unused and ops:
        block.insert_op_before(FreeOp(unused), ops[0])


def _inside(op: Operation, dead: list[SSAValue], captures: dict[Operation, Values]) -> list[SSAValue]:
    """Free in the regions of `op` what can be freed there; what is left is to be freed after it."""
    if isinstance(op, FusionOp):  # one kernel: there is nothing to free inside
        return dead
    inner: Values = {}
    if isinstance(op, IfOp):
        kept = {op.condition, *(v for region in op.regions for v in _yielded(region.block))}
        inner = {v: None for v in dead if v in captures[op] and v not in kept}
    elif isinstance(op, LoopOp):
        initial = op.initial()
        others = {*captures[op], *op.operands[len(initial) :]}
        numbers: dict[SSAValue, int] = {}
        for i, v in enumerate(initial):
            if v in dead and v not in others:
                numbers.setdefault(v, i)
        op.properties["takes"] = INTEGERS.attribute(list(numbers.values()))
        dead = [v for v in dead if v not in numbers]
    for region in op.regions:
        _insert(region.block, inner, captures)
    return [v for v in dead if v not in inner]


def _yielded(block: Block) -> Iterable[SSAValue]:
    return () if block.last_op is None else block.last_op.operands


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
