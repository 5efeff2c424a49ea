"""Constraints on shapes: truths that can be asked, witnesses that can be demanded, and code that demands them."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import StringAttr, i1
from xdsl.ir import Attribute
from xdsl.irdl import (
    AnyAttr,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Commutative, IsTerminator, Pure, RecursiveMemoryEffect, ReturnLike

from ..errors import error
from .base import ShapeOp, Types, only_block
from .terminators import check_passed, close_region, print_body
from .text import parse_results
from .types import ANY, I1, SHAPE_OR_EXTENTS, WITNESS, witness


class TruthOp(ShapeOp, ABC):
    """A truth about several shapes."""

    shapes = var_operand_def(SHAPE_OR_EXTENTS)
    result = result_def(I1)
    assembly_format: ClassVar[str | None] = "$shapes attr-dict `:` type($shapes)"


@irdl_op_definition
class IsBroadcastableOp(TruthOp):
    """True if shapes broadcast together."""

    name = "shape.is_broadcastable"
    traits = traits_def(Commutative())


@irdl_op_definition
class ShapeEqOp(TruthOp):
    """True if shapes are equal."""

    name = "shape.shape_eq"
    traits = traits_def(Pure(), Commutative())


class ConstraintOp(ShapeOp, ABC):
    """A witness that several shapes relate to each other; running it fails if they do not."""

    shapes = var_operand_def(SHAPE_OR_EXTENTS)
    result = result_def(WITNESS)
    traits = traits_def(Commutative())
    assembly_format: ClassVar[str | None] = "$shapes attr-dict `:` type($shapes)"


@irdl_op_definition
class CstrBroadcastableOp(ConstraintOp):
    """Demands that two or more shapes broadcast together."""

    name = "shape.cstr_broadcastable"
    MIN_OPERANDS: ClassVar = 2


@irdl_op_definition
class CstrEqOp(ConstraintOp):
    """Demands that shapes are equal."""

    name = "shape.cstr_eq"


@irdl_op_definition
class CstrRequireOp(ShapeOp):
    """Demands that a condition is true, with the message where it is false."""

    name = "shape.cstr_require"
    pred = operand_def(I1)
    msg = prop_def(AnyAttr())
    result = result_def(WITNESS)

    def check_properties(self) -> None:
        self.string("msg")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        pred = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        message = parser.parse_attribute()
        attributes = parser.parse_optional_attr_dict()
        operands = [parser.resolve_operand(pred, i1)]
        return cls.create(operands=operands, properties={"msg": message}, attributes=attributes, result_types=[witness])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.pred)
        printer.print_string(", ")
        printer.print_attribute(self.msg)
        printer.print_op_attributes(self.attributes)

    @property
    def message(self) -> str:
        """The message where the condition is false."""
        assert isinstance(self.msg, StringAttr)
        return self.msg.data


@irdl_op_definition
class AssumingAllOp(ShapeOp):
    """A witness that all of several constraints hold."""

    name = "shape.assuming_all"
    MIN_OPERANDS: ClassVar = 1
    inputs = var_operand_def(WITNESS)
    result = result_def(WITNESS)
    traits = traits_def(Pure(), Commutative())
    assembly_format = "$inputs attr-dict"


@irdl_op_definition
class AssumingYieldOp(ShapeOp):
    """Ends the region of `assuming` with its results."""

    name = "shape.assuming_yield"
    PARENTS: ClassVar = ("shape.assuming",)
    arguments = var_operand_def(ANY)
    traits = traits_def(IsTerminator(), ReturnLike(), Pure())
    assembly_format = "attr-dict ($arguments^ `:` type($arguments))?"


@irdl_op_definition
class AssumingOp(ShapeOp):
    """A region that may rely on a constraint."""

    name = "shape.assuming"
    witness = operand_def(WITNESS)
    outputs = var_result_def(ANY)
    body = region_def()
    traits = traits_def(RecursiveMemoryEffect())

    @classmethod
    def infer(cls, operands: Types, properties: Mapping[str, Attribute]) -> Types:
        raise error("E2003", f"{cls.name}: the types of the results must be stated", name=cls.name)

    def check_op(self) -> None:
        block = only_block(self.body, "the region")
        if block.args:
            raise error("E9005", "the region has arguments, expected none", issue="arguments")
        check_passed(self, block, (AssumingYieldOp.name,))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operand = parser.resolve_operand(parser.parse_unresolved_operand(), witness)
        results: Sequence[Attribute] = []
        if parser.parse_optional_punctuation("->") is not None:
            results = parse_results(parser)
        region = parser.parse_region()
        close_region(region, AssumingYieldOp)
        attributes = parser.parse_optional_attr_dict()
        return cls.create(operands=[operand], result_types=results, regions=[region], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.witness)
        if self.results:
            printer.print_string(" -> ")
            with printer.in_parens():
                printer.print_list(self.result_types, printer.print_attribute)
        print_body(printer, self.body, AssumingYieldOp)
        printer.print_op_attributes(self.attributes)


CONSTRAINT_OPS: tuple[type[ShapeOp], ...] = (
    IsBroadcastableOp,
    ShapeEqOp,
    CstrBroadcastableOp,
    CstrEqOp,
    CstrRequireOp,
    AssumingAllOp,
    AssumingOp,
    AssumingYieldOp,
)
