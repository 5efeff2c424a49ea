"""
Rewrites of elementwise ops that are true for every input, NaN, infinities, -0 and integer extremes included.

NaN is one value here: its sign and payload are no part of a result. Integers wrap, so they are a ring. Floats are never
reassociated or distributed, and `x + 0`, `x * 0`, `0 - x` and `x - x` stay as they are: -0, infinity or NaN give another answer.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from mind_dialect.core import AddOp, BinaryOp, BroadcastToOp, CoreOp, DivOp, MulOp, NegOp, ReluGradOp, ReluOp, SubOp
from mind_dialect.shapes import broadcast

from .building import in_place_of, is_integer, same_type, shape_of
from .constants import is_all, zeros


def neg_neg(op: NegOp) -> SSAValue | None:
    """`-(-x) = x`. Always: a float negation flips one bit, an integer one wraps."""
    inner = op.operands[0].owner
    return inner.operands[0] if isinstance(inner, NegOp) else None


def relu_relu(op: ReluOp) -> SSAValue | None:
    """`relu(relu(x)) = relu(x)`. Always: what relu gives is positive or +0, and relu keeps both."""
    x = op.operands[0]
    return x if isinstance(x.owner, ReluOp) else None


def add_zero(op: AddOp) -> SSAValue | None:
    """`x + 0 = x` for integers, `x + (-0) = x` for floats, where x has the result's type. Not `x + (+0)`: -0 + 0 is +0."""
    zero = 0 if is_integer(op) else -0.0
    return _other_than(op, zero)


def sub_zero(op: SubOp) -> SSAValue | None:
    """`x - 0 = x`, the float zero being +0, where x has the result's type. Not `x - (-0)`: -0 - (-0) is +0."""
    return _left_of(op, 0.0)


def mul_one(op: MulOp) -> SSAValue | None:
    """`x * 1 = x`, where x has the result's type."""
    return _other_than(op, 1)


def div_one(op: DivOp) -> SSAValue | None:
    """`x / 1 = x`, where x has the result's type."""
    return _left_of(op, 1)


def _left_of(op: BinaryOp, number: float) -> SSAValue | None:
    lhs, rhs = op.operands
    return lhs if is_all(rhs, number) and same_type(lhs.type, op.results[0].type) else None


def _other_than(op: BinaryOp, number: float) -> SSAValue | None:
    lhs, rhs = op.operands
    for x, constant in ((lhs, rhs), (rhs, lhs)):
        if is_all(constant, number) and same_type(x.type, op.results[0].type):
            return x
    return None


def mul_zero(op: MulOp) -> SSAValue | CoreOp | None:
    """`x * 0 = 0` for integers, where zeros of the result's type exist or can be written. Not for floats: inf * 0 is NaN."""
    for constant in op.operands:
        if is_all(constant, 0) and is_integer(op):
            return zeros(op, constant)
    return None


def mul_minus_one(op: MulOp) -> CoreOp | None:
    """`x * -1 = -x`, where x has the result's type. Always: both flip the sign, and both wrap the least integer to itself."""
    x = _other_than(op, -1)
    return None if x is None else in_place_of(op, NegOp, x)


def sub_from_zero(op: SubOp) -> CoreOp | None:
    """
    `0 - x = -x` for integers, `-0 - x = -x` for floats, where x has the result's type. Not `+0 - x`: +0 - 0 is +0, and -0 is not.
    """
    lhs, rhs = op.operands
    if not is_all(lhs, 0 if is_integer(op) else -0.0) or not same_type(rhs.type, op.results[0].type):
        return None
    return in_place_of(op, NegOp, rhs)


def add_neg(op: AddOp) -> CoreOp | None:
    """`x + (-y) = x - y` and `(-x) + y = y - x`. Always: this is what IEEE subtraction is, and integers wrap."""
    lhs, rhs = op.operands
    if isinstance(rhs.owner, NegOp):
        return in_place_of(op, SubOp, lhs, rhs.owner.operands[0])
    if isinstance(lhs.owner, NegOp):
        return in_place_of(op, SubOp, rhs, lhs.owner.operands[0])
    return None


def sub_neg(op: SubOp) -> CoreOp | None:
    """`x - (-y) = x + y`. Always, for the same reason."""
    lhs, rhs = op.operands
    return in_place_of(op, AddOp, lhs, rhs.owner.operands[0]) if isinstance(rhs.owner, NegOp) else None


def implicit_broadcast(op: BinaryOp) -> CoreOp | None:
    """`broadcast_to(x) op y = x op y`, where x and y alone broadcast to the result's shape; on either side."""
    lhs, rhs = op.operands
    for x, y, swapped in ((lhs, rhs, False), (rhs, lhs, True)):
        if isinstance(x.owner, BroadcastToOp):
            source = x.owner.operands[0]
            if broadcast(shape_of(source), shape_of(y)) == shape_of(op.results[0]):
                return in_place_of(op, type(op), *((y, source) if swapped else (source, y)))
    return None


def relu_grad_of_relu(op: ReluGradOp) -> CoreOp | None:
    """`relu_grad(g, relu(x)) = relu_grad(g, x)`. Always: relu(x) > 0 where x > 0, and nowhere else, NaN included."""
    g, x = op.operands
    return in_place_of(op, ReluGradOp, g, x.owner.operands[0]) if isinstance(x.owner, ReluOp) else None


def relu_grad_twice(op: ReluGradOp) -> SSAValue | None:
    """`relu_grad(relu_grad(g, x), x) = relu_grad(g, x)`. Always: a selection by one mask. Not for two masks."""
    g, x = op.operands
    return g if isinstance(g.owner, ReluGradOp) and g.owner.operands[1] is x else None
