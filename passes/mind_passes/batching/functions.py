"""Batching of calls that stay calls: those of functions with derivative rules of their own."""

from __future__ import annotations

from xdsl.dialects.builtin import UnitAttr
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation

from mind_dialect.op import value_of
from mind_dialect.ptir_shapes import Dim

from .rules import Flags, Row, Values, batched_type, spread_all

BATCHED = "mind.batched"
"""On a call of a function for one example with operands for a batch, until the function for a batch is made."""


def called(op: CallOp, xs: Values, flags: Flags, size: Dim) -> Operation:
    """Return the call with a batch of every operand."""
    operands = [value_of(x) for x in spread_all(xs, flags, size)]
    made = CallOp(op.callee, operands, [batched_type(y.type, size) for y in op.results])
    made.attributes.update(op.attributes)
    made.attributes[BATCHED] = UnitAttr()
    return made


FUNCTIONS: dict[type[Operation], Row] = {CallOp: Row(called)}
