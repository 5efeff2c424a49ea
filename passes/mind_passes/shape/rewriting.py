"""Steps of rewrites of shape ops: new ops before the one that is rewritten, constants, casts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import tensor
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from mind_dialect.shape import ConstShapeOp, FromExtentTensorOp
from mind_dialect.shape.types import ShapeType, is_extents, static_length

from .constants import Constant, extents, make

Values = Sequence[SSAValue]
Rewrite = Callable[[Any, PatternRewriter], Sequence[SSAValue | None] | None]


def insert(op: Operation, rewriter: PatternRewriter) -> Values:
    """Insert a new op before the one that is rewritten; its results."""
    rewriter.insert(op)
    return op.results


def as_constant(value: Constant, type: Attribute, rewriter: PatternRewriter) -> Values | None:
    """A constant of that type, if there is one."""
    made = make(value, type)
    return None if made is None else insert(made, rewriter)


def as_type(value: SSAValue, type: Attribute, rewriter: PatternRewriter) -> Values | None:
    """A shape or extent tensor as one of `type`; None where only running tells whether it is one."""
    if value.type == type:
        return [value]
    if isinstance(type, ShapeType) and is_extents(value.type):
        return insert(FromExtentTensorOp(value), rewriter)
    if is_extents(type) and is_extents(value.type):
        lengths = {static_length(type), static_length(value.type)} - {None}
        return insert(tensor.CastOp(value, type), rewriter) if len(lengths) < 2 else None
    return None


def set_operands(op: Operation, operands: Values, rewriter: PatternRewriter) -> None:
    """Give the op other operands."""
    op.operands = operands
    rewriter.notify_op_modified(op)


def is_empty(shape: SSAValue) -> bool:
    """Return whether a shape is known to have no extents."""
    return static_length(shape.type) == 0 or (isinstance(shape.owner, ConstShapeOp) and extents(shape) == ())
