"""Ops whose result is the shape or size that two must both be."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from typing import ClassVar, Self

from xdsl.ir import Attribute
from xdsl.irdl import AnyAttr, irdl_op_definition, operand_def, opt_prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Commutative

from ..errors import error
from .base import ShapeOp, Types, error_or
from .text import parse_meet, print_meet
from .types import SHAPE_LIKE, index, shape, size, static_length


class MeetingOp(ShapeOp, ABC):
    """The shape or size that two must both be; invalid, for the reason `error`, if they contradict each other."""

    INFERS: ClassVar = True
    ONE_TYPE: ClassVar[bool]
    """True if equal types are printed once."""
    arg0 = operand_def(SHAPE_LIKE)
    arg1 = operand_def(SHAPE_LIKE)
    error = opt_prop_def(AnyAttr())
    result = result_def(SHAPE_LIKE)
    traits = traits_def(Commutative())

    @classmethod
    def infer(cls, operands: Types, properties: Mapping[str, Attribute]) -> Types:
        lhs, rhs = operands
        if _is_size(lhs) != _is_size(rhs):
            message = f"operands of types {lhs} and {rhs}, expected two sizes or two shapes"
            raise error("E9001", message, expected="two sizes or two shapes", actual=f"{lhs}, {rhs}")
        if _is_size(lhs):
            return [error_or(operands, size, index)]
        known = next((t for t in operands if static_length(t) is not None), lhs)
        return [error_or(operands, shape, known)]

    @staticmethod
    def agrees(inferred: Attribute, stated: Attribute) -> bool:
        return _is_size(inferred) == _is_size(stated)

    def check_properties(self) -> None:
        self.string("error")

    def check_op(self) -> None:
        lengths = {n for t in (*self.operand_types, *self.result_types) if (n := static_length(t)) is not None}
        if len(lengths) > 1:
            least, greatest = min(lengths), max(lengths)
            message = f"extent tensors of {least} and {greatest} extents, expected the same rank"
            raise error("E9003", message, declared=greatest, inferred=least)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands, properties, attributes, result = parse_meet(parser)
        return cls.create(operands=operands, properties=properties, attributes=attributes, result_types=[result])

    def print(self, printer: Printer) -> None:
        result = self.result.type
        print_meet(printer, self.operands, self.properties, self.attributes, result, one_type=self.ONE_TYPE)


def _is_size(type: Attribute) -> bool:
    return type in (size, index)


@irdl_op_definition
class MeetOp(MeetingOp):
    """The shape or size that two must both be; invalid, for the reason `error`, if they contradict each other."""

    name = "shape.meet"
    ONE_TYPE: ClassVar = False


@irdl_op_definition
class JoinOp(MeetingOp):
    """The early name of `meet`."""

    name = "shape.join"
    ONE_TYPE: ClassVar = True
