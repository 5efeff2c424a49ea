"""Constants: three scalars and the tensor literal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, prop_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike

from ..literals import LiteralAttr, Number, parse_literal
from ..profiles import Profile
from ..textform import print_property, print_rest
from ..types import F32, F64, I64, DType, tensor_type
from .attributes import LITERAL, Scalar
from .base import CoreOp


class ScalarConstant(CoreOp):
    """A rank-0 constant of one dtype: `mind.const_f32 1.5 : tensor<f32>`."""

    CONSTANT: ClassVar[DType]
    value = prop_def()
    traits = traits_def(ConstantLike())

    def __init__(self, value: Number):
        super().__init__(value=value)

    @classmethod
    def infer(cls, operand_types: Sequence[Attribute], values: Mapping[str, Any], profile: Profile) -> Attribute:
        return tensor_type(cls.CONSTANT, ())

    def print(self, printer: Printer) -> None:
        if (value := self.properties.get("value")) is not None:
            printer.print_string(" ")
            print_property(printer, self.CODECS["value"], value)
        print_rest(self, printer)
        printer.print_string(" : ")
        printer.print_list(self.result_types, printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> ScalarConstant:
        value = cls.CODECS["value"].parse(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        return cls.create(properties={"value": value}, attributes=attributes, result_types=[type])


@irdl_op_definition
class ConstI64Op(ScalarConstant):
    """
    A rank-0 `i64`.

    Derivative: none, because a constant has no operands.
    """

    name = "mind.const_i64"
    OPCODE: ClassVar = "ConstI64"
    CONSTANT: ClassVar = I64
    value = prop_def(Scalar(I64))


@irdl_op_definition
class ConstF32Op(ScalarConstant):
    """
    A rank-0 `f32`.

    Derivative: none, because a constant has no operands.
    """

    name = "mind.const_f32"
    OPCODE: ClassVar = "ConstF32"
    CONSTANT: ClassVar = F32
    value = prop_def(Scalar(F32))


@irdl_op_definition
class ConstF64Op(ScalarConstant):
    """
    A rank-0 `f64`.

    Derivative: none, because a constant has no operands.
    """

    name = "mind.const_f64"
    OPCODE: ClassVar = "ConstF64"
    CONSTANT: ClassVar = F64
    value = prop_def(Scalar(F64))


@irdl_op_definition
class ConstantOp(CoreOp):
    """
    A tensor constant: a literal of every element, or (our extension) `fill` and one number for all.

    Declared extents are positive (E3006), elements fit the dtype and are as many as the shape says (E4005).

    Derivative: none, because a constant has no operands.
    """

    name = "mind.constant"
    OPCODE: ClassVar = "ConstTensor"
    value = prop_def(LITERAL)
    traits = traits_def(ConstantLike())

    def __init__(self, value: LiteralAttr):
        super().__init__(value=value)

    @classmethod
    def infer(cls, operand_types: Sequence[Attribute], values: Mapping[str, Any], profile: Profile) -> Attribute:
        literal: LiteralAttr = values["value"]
        literal.check()
        return literal.type

    @property
    def literal(self) -> LiteralAttr:
        """The value of a verified constant."""
        return LITERAL.value(self.value)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        if (value := self.properties.get("value")) is not None:
            print_property(printer, LITERAL, value)
        print_rest(self, printer)

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        literal = parse_literal(parser)
        attributes = parser.parse_optional_attr_dict()
        return cls.create(properties={"value": literal}, attributes=attributes, result_types=[literal.type])
