"""
Derivative rules, and how other packages add theirs.

Reverse mode asks the row of an op for the adjoints of its operands, forward mode for the tangent of its result. Rules build ops
and insert them nowhere: the driver does, and it also accumulates, skips what needs no gradient and writes the zeros. An op with
several floating-point results, or with regions, has one rule for all: a `Whole` (see `walks`), which gets the walk that asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from mind_dialect.errors import MindError
from mind_dialect.names import shown_op
from mind_dialect.op import DialectOp
from mind_dialect.ptir.types import DTYPE_OF_TYPE, Kind

Value = SSAValue | Operation
"""A value, or a new op with one result."""
Rule = Callable[[Any, SSAValue], Value]
"""From the op and `g`, the adjoint of its floating-point result, to the adjoint of one operand."""
Rules = tuple[Rule | None, ...]
"""One rule per operand; None where no gradient flows: an integer, or a function that is flat almost everywhere."""
Tangent = Callable[[Any, Sequence[SSAValue | None]], Value]
"""From the op and the tangents of its operands, None for those that do not vary, to the tangent of its floating-point result."""


def linear(*positions: int) -> Tangent:
    """
    The tangent of an op that is linear in the operands at `positions` together: the op itself on their tangents.

    Positions that do not vary are zero, so a rule for several positions is only right where at most one of them may be absent
    together with its contribution; use it for one position, or write the tangent out.
    """

    def tangent(op: Operation, ts: Sequence[SSAValue | None]) -> Value:
        operands = [t if i in positions and t is not None else x for i, (x, t) in enumerate(zip(op.operands, ts, strict=True))]
        return type(op).create(
            operands=operands,
            properties=op.properties,
            attributes=op.attributes,
            result_types=op.result_types,
            location=op.location,
        )

    return tangent


def can_vary(type: Attribute) -> bool:
    """Return whether values of this type can vary: tensors of floating-point and complex numbers."""
    if not isinstance(type, TensorType):
        return False
    dtype = DTYPE_OF_TYPE.get(type.element_type)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    return dtype is not None and (dtype.is_float or dtype.kind is Kind.COMPLEX)


def no_rule(op: Operation, reason: str) -> MindError:
    """E5001, at the place of `op`."""
    opcode = op.OPCODE if isinstance(op, DialectOp) else op.name
    place = shown_op(opcode, op)
    return MindError("E5001", f"{place}: cannot be differentiated: {reason}", {"op": opcode, "id": place}, op)
