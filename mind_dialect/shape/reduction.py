"""`shape.reduce`, a loop over the extents of a shape, and how its region ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, region_def, traits_def, var_operand_def, var_result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, ReturnLike

from ..errors import brief, error
from .base import ShapeOp, Types, only_block
from .terminators import check_passed, close_region
from .text import parse_results
from .types import ANY, SHAPE_OR_EXTENTS, index, shape, size


@irdl_op_definition
class YieldOp(ShapeOp):
    """Ends an iteration of `reduce` with the values for the next one."""

    name = "shape.yield"
    PARENTS: ClassVar = ("shape.reduce", "shape.function_library")
    arguments = var_operand_def(ANY)
    traits = traits_def(IsTerminator(), ReturnLike())
    assembly_format = "attr-dict ($arguments^ `:` type($arguments))?"


@irdl_op_definition
class ReduceOp(ShapeOp):
    """
    A loop over the extents of a shape: the region takes the index, the extent and the loop-carried values.

    The early form has an index of type i32 and ends in `shape.return`; both are kept as written.
    """

    name = "shape.reduce"
    shape = operand_def(SHAPE_OR_EXTENTS)
    init_vals = var_operand_def(ANY)
    outputs = var_result_def(ANY)
    body = region_def()
    traits = traits_def()

    @classmethod
    def infer(cls, operands: Types, properties: Mapping[str, Attribute]) -> Types:
        return operands[1:]

    def check_op(self) -> None:
        block = only_block(self.body, "the region")
        carried = self.operand_types[1:]
        if tuple(self.result_types) != tuple(carried):
            shown, wanted = (f"({', '.join(map(brief, types))})" for types in (self.result_types, carried))
            message = f"results {shown}, expected the types of the initial values {wanted}"
            raise error("E9003", message, declared=shown, inferred=wanted)
        if len(block.args) != len(carried) + 2:
            expected = f"{len(carried) + 2}: an index, an extent and what is carried"
            raise error("E9005", f"the region has {len(block.args)} arguments, expected {expected}", issue="count of arguments")
        extent = size if self.operand_types[0] == shape else index
        wanted_types = [(index, i32), (extent,), *((t,) for t in carried)]
        for i, (argument, allowed) in enumerate(zip(block.args, wanted_types, strict=True)):
            if argument.type not in allowed:
                expected = " or ".join(map(str, allowed))
                message = f"argument {i} of the region has type {brief(argument.type)}, expected {expected}"
                raise error("E9001", message, expected=expected, actual=brief(argument.type))
        check_passed(self, block, (YieldOp.name, "shape.return"))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        start = parser.pos
        operands = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        if not operands:
            parser.raise_error("expected the shape to reduce over", start)
        parser.parse_punctuation(":")
        shape_type = parser.parse_type()
        results: Sequence[Attribute] = []
        if parser.parse_optional_punctuation("->") is not None:
            results = parse_results(parser)
        values = parser.resolve_operands(operands, [shape_type, *results], start)
        region = parser.parse_region()
        if not results:
            close_region(region, YieldOp)
        attributes = parser.parse_optional_attr_dict()
        return cls.create(operands=values, result_types=results, regions=[region], attributes=attributes)

    def print(self, printer: Printer) -> None:
        with printer.in_parens():
            printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_string(" : ")
        printer.print_attribute(self.operand_types[0])
        if self.results:
            printer.print_string(" -> ")
            if len(self.results) == 1:
                printer.print_attribute(self.results[0].type)
            else:
                with printer.in_parens():
                    printer.print_list(self.result_types, printer.print_attribute)
        printer.print_string(" ")
        printer.print_region(self.body)
        printer.print_op_attributes(self.attributes)


REDUCTION_OPS: tuple[type[ShapeOp], ...] = (ReduceOp, YieldOp)
