"""Elementwise ops: binary with broadcasting, unary without."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, traits_def
from xdsl.traits import Commutative

from .. import shapes
from ..errors import MindError, error
from ..op import TENSOR
from ..profiles import Profile
from ..types import FLOATS
from .base import CoreOp


class BinaryOp(CoreOp):
    """Two operands of one dtype, broadcast against each other."""

    RULE: ClassVar = staticmethod(shapes.broadcast)
    lhs = operand_def(TENSOR)
    rhs = operand_def(TENSOR)


class UnaryOp(CoreOp):
    """One operand; the result has its type."""

    RULE: ClassVar = staticmethod(shapes.elementwise)
    input = operand_def(TENSOR)


@irdl_op_definition
class AddOp(BinaryOp):
    """
    `lhs + rhs`; integers wrap.

    Derivative: lhs: g; rhs: g.
    """

    name = "mind.add"
    OPCODE: ClassVar = "Add"
    traits = traits_def(Commutative())


@irdl_op_definition
class SubOp(BinaryOp):
    """
    `lhs - rhs`; integers wrap.

    Derivative: lhs: g; rhs: -g.
    """

    name = "mind.sub"
    OPCODE: ClassVar = "Sub"


@irdl_op_definition
class MulOp(BinaryOp):
    """
    `lhs * rhs`; integers wrap.

    Derivative: lhs: g * rhs; rhs: g * lhs.
    """

    name = "mind.mul"
    OPCODE: ClassVar = "Mul"
    traits = traits_def(Commutative())


def no_division(remedy: str = "set mind.profile = 'core-v1.1'") -> MindError:
    """E6003: core-v1 has no `Div`; `remedy` says how to state another profile."""
    message = f"is not part of core-v1; {remedy}, or multiply by a reciprocal"
    return error("E6003", message, backend="core-v1")


@irdl_op_definition
class DivOp(BinaryOp):
    """
    `lhs / rhs`: E6003 under core-v1, accepted under core-v1.1; integers truncate toward zero.

    Derivative: lhs: g / rhs; rhs: -g * result / rhs; with the option div-gradient only.
    """

    name = "mind.div"
    OPCODE: ClassVar = "Div"

    def check_rules(self, profile: Profile) -> None:
        if profile is Profile.CORE_V1:
            raise no_division()
        super().check_rules(profile)

    def can_fail(self) -> bool:
        return not self.dtype.is_float


@irdl_op_definition
class ReluOp(UnaryOp):
    """
    `x if x > 0 else 0`, so NaN and -0 give +0.

    Derivative: input: g where input > 0, else 0.
    """

    name = "mind.relu"
    OPCODE: ClassVar = "Relu"
    DTYPES: ClassVar = FLOATS


@irdl_op_definition
class NegOp(UnaryOp):
    """
    `-x`; integers wrap.

    Derivative: input: -g.
    """

    name = "mind.neg"
    OPCODE: ClassVar = "Neg"


@irdl_op_definition
class ExpOp(UnaryOp):
    """
    `e ** x`.

    Derivative: input: g * result.
    """

    name = "mind.exp"
    OPCODE: ClassVar = "Exp"
    DTYPES: ClassVar = FLOATS


@irdl_op_definition
class LogOp(UnaryOp):
    """
    The natural logarithm: -inf at 0, NaN below.

    Derivative: input: g * (1 / input).
    """

    name = "mind.log"
    OPCODE: ClassVar = "Log"
    DTYPES: ClassVar = FLOATS
