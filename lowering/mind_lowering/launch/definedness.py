"""
The check that each array is written before it is read.

What is written are allocations and, in loops, carries: a carry of the body is defined if what the loop is given for it is, and
what the body yields for it. A write of a part defines the whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, SSAValue

from mind_dialect.errors import error

from .base import LaunchOp
from .control_ops import ForOp, IfOp, PrepackOp, WhileOp
from .liveness import base
from .memory_ops import AllocOp, Space
from .ref import read_ref

Defined = set[SSAValue]
FILLED = frozenset({Space.INPUT, Space.CONSTANT, Space.STATE, Space.RECORD})
"""Spaces whose memory holds something before the function begins."""


def check_defined(block: Block, written: Defined) -> None:
    """Raise E9101, at the op, for a read of memory that no op has written; `written` is what ops of the function write to."""
    _Definitions(written).block(block, set())


class _Definitions:
    """A walk through a function whose ops write to the allocations, carries and results of `written`."""

    def __init__(self, written: Defined):
        self.written = written

    def block(self, block: Block, defined: Defined) -> Defined:
        """Add to `defined` what is at the end of a block, and take from it what loops have been given; return it."""
        for op in block.ops:
            if isinstance(op, LaunchOp):
                self.step(op, defined)
        return defined

    def step(self, op: LaunchOp, defined: Defined) -> None:
        reads, writes = op.effects()
        for i, value in enumerate(reads):
            if base(value) not in defined and read_ref(value.type).count:
                message = f"read {i} is memory that no op before has written"
                raise error("E9101", message, value=str(value.type)).at(op, op.name)
        match op:
            case AllocOp() if op.kind in FILLED:
                defined.add(op.res)
            case PrepackOp():
                self.block(op.body.block, defined)
            case IfOp():
                self.branch(op, defined)
            case ForOp():
                self.loop(op, defined)
            case WhileOp():
                self.while_loop(op, defined)
            case _:
                defined.update(base(v) for v in writes)

    def branch(self, op: IfOp, defined: Defined) -> None:
        ends = [(region.block, self.block(region.block, set(defined))) for region in (op.then, op.otherwise)]
        results = [_where(_ending(block).operands, op.res, after) for block, after in ends]
        defined.update(ends[0][1] & ends[1][1], results[0] & results[1])

    def loop(self, op: ForOp, defined: Defined) -> None:
        block, carries = op.body.block, op.body.block.args[1:]
        held, never = _where(op.inits, carries, defined), _where(op.inits, op.res, defined)
        self.take(op.inits, carries, op.res, defined)
        while True:
            after = self.block(block, defined | held)
            yielded = _where(_ending(block).operands, carries, after)
            if held <= yielded:
                break
            held &= yielded
        if op.trip_count:
            defined.update(after - set(carries), _where(_ending(block).operands, op.res, after))
        else:
            defined.update(never)

    def while_loop(self, op: WhileOp, defined: Defined) -> None:
        """After a loop is defined what its test, which runs at least once, defines."""
        test, body = op.test.block, op.body.block
        passed = _ending(test).operands[1:]
        held = _where(op.inits, test.args, defined)
        self.take(op.inits, test.args, op.res, defined)
        while True:
            tested = self.block(test, defined | held)
            after = self.block(body, tested | _where(passed, body.args, tested))
            yielded = _where(_ending(body).operands, test.args, after)
            if held <= yielded:
                break
            held &= yielded
        defined.update(tested - set(test.args), _where(passed, op.res, tested))

    def take(self, inits: Sequence[SSAValue], carries: Sequence[SSAValue], results: Sequence[SSAValue], defined: Defined) -> None:
        """Forget what a loop is given for carries that it writes: it is no longer what it was."""
        for init, carry, result in zip(inits, carries, results, strict=True):
            if carry in self.written or result in self.written:
                defined.discard(base(init))


def _where(given: Sequence[SSAValue], holders: Sequence[SSAValue], defined: Defined) -> Defined:
    """The holders whose given values are defined."""
    return {h for v, h in zip(given, holders, strict=True) if base(v) in defined}


def _ending(block: Block) -> Operation:
    assert block.last_op is not None
    return block.last_op
