"""Builder of `arith`, `tensor` and `scf` ops before an op, or in a region that is being made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import IntegerAttr, i1, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from mind_dialect.shape.types import index

from .shape_arith.numbers import PREDICATES


class StdBuilder:
    """Puts ops down before `anchor`, or at the end of the block of a region that is being made."""

    def __init__(self, anchor: Operation, made: list[Operation]):
        self.anchor = anchor
        self.made = made
        """Everything put down so far is added here, operands before users."""
        self.block: Block | None = None

    def put(self, op: Operation) -> SSAValue:
        """Put down an op; its first result."""
        op.location = self.anchor.location
        self.made.append(op)
        if self.block is not None:
            self.block.add_op(op)
        else:
            cast(Block, self.anchor.parent).insert_op_before(op, self.anchor)
        return op.results[0] if op.results else cast(Any, None)

    def number(self, n: int) -> SSAValue:
        """A constant index."""
        return self.put(arith.ConstantOp(IntegerAttr(n, index)))

    def truth(self, t: bool) -> SSAValue:
        """A constant i1."""
        return self.put(arith.ConstantOp(IntegerAttr.from_bool(t)))

    def of(self, kind: type[Operation], *operands: SSAValue, type: Attribute = index) -> SSAValue:
        """An op of the given operands and result type."""
        return self.put(kind.create(operands=operands, result_types=[type]))

    def compare(self, relation: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """Return whether two indices are in a relation."""
        predicate = {"predicate": IntegerAttr({**PREDICATES, "ult": 6}[relation], i64)}
        return self.put(arith.CmpiOp.create(operands=[a, b], result_types=[i1], properties=predicate))

    def cast(self, value: SSAValue, type: Attribute) -> SSAValue:
        """`value` as one of `type`."""
        return value if value.type == type else self.of(tensor.CastOp, value, type=type)

    def length(self, extents: SSAValue) -> SSAValue:
        """Return the number of extents."""
        return self.of(tensor.DimOp, extents, self.number(0))

    def element(self, extents: SSAValue, at: SSAValue) -> SSAValue:
        """One of the extents."""
        return self.of(tensor.ExtractOp, extents, at)

    def loop(self, end: SSAValue, first: Sequence[SSAValue], step: Callable[..., Sequence[SSAValue]]) -> Sequence[SSAValue]:
        """A loop from 0 to `end`; `step` gets the index and the carries."""
        zero, one = self.number(0), self.number(1)
        block = Block(arg_types=[index, *(v.type for v in first)])
        self._fill(block, lambda: step(*block.args))
        loop = scf.ForOp(zero, end, one, list(first), block)
        self.put(loop)
        return loop.results

    def branch(self, condition: SSAValue, yes: Callable[[], SSAValue], no: Callable[[], SSAValue], type: Attribute) -> SSAValue:
        """One of two values, computed where it is wanted."""
        blocks = Block(), Block()
        for block, make in zip(blocks, (yes, no), strict=True):
            self._fill(block, lambda make=make: [make()])
        return self.put(scf.IfOp(condition, [type], Region(blocks[0]), Region(blocks[1])))

    def _fill(self, block: Block, make: Callable[[], Sequence[SSAValue]]) -> None:
        before, self.block = self.block, block
        self.put(scf.YieldOp(*make()))
        self.block = before
