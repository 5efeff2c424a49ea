"""
Constants as folds see them: reading one off an operand, and making one of a given type.

A constant is a truth, a number, or the extents of a shape as they are written, negative ones included. Whatever else an operand
may be (poison, a constant with attributes of the wrong kind), it is no constant.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, i1
from xdsl.ir import Attribute, Operation, SSAValue

from mind_dialect.errors import MindError
from mind_dialect.shape import ConstShapeOp, ConstSizeOp, ConstWitnessOp
from mind_dialect.shape.evaluate import Shaped
from mind_dialect.shape.foreign import constant_of
from mind_dialect.shape.lattice import MAX_RANK
from mind_dialect.shape.types import ShapeType, SizeType, WitnessType, is_extents

Constant = bool | int | tuple[int, ...]
LARGEST = (1 << 63) - 1


def constant(value: SSAValue) -> Constant | None:
    """The constant that a value is, if it is one."""
    owner = value.owner
    try:
        match owner:
            case ConstSizeOp():
                size: Any = owner.lattice()
                return size
            case ConstShapeOp():
                return tuple(owner.extents)
            case ConstWitnessOp():
                return owner.passes
            case arith.ConstantOp():
                found: Any = constant_of(owner.value)
                read: Any = found.contents if isinstance(found, Shaped) else found
                return read
            case _:
                return None
    except (MindError, AttributeError, KeyError):
        return None


def extents(value: SSAValue) -> tuple[int, ...] | None:
    """The extents of a constant shape or extent tensor."""
    found = constant(value)
    return found if isinstance(found, tuple) else None


def number(value: SSAValue) -> int | None:
    """The number that a constant size or index is."""
    found = constant(value)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def truth(value: SSAValue) -> bool | None:
    """The truth that a constant i1 or witness is."""
    found = constant(value)
    return found if isinstance(found, bool) else None


def make(value: Constant, type: Attribute) -> Operation | None:
    """The op that is `value` as a constant of `type`; None if there is none, as a negative size or a shape of another rank."""
    if isinstance(value, bool):
        if isinstance(type, WitnessType):
            return ConstWitnessOp(passing=value)
        return arith.ConstantOp(IntegerAttr.from_bool(value)) if type == i1 else None
    if isinstance(value, int):
        if isinstance(type, SizeType):
            return ConstSizeOp(value=value) if 0 <= value <= LARGEST else None
        return arith.ConstantOp(IntegerAttr(value, type)) if isinstance(type, IndexType) and abs(value) <= LARGEST else None
    exact = isinstance(type, ShapeType) or (is_extents(type) and type.get_shape() == (len(value),))
    fits = len(value) <= MAX_RANK and all(-LARGEST - 1 <= n <= LARGEST for n in value)
    return ConstShapeOp.of(value, type) if exact and fits else None
