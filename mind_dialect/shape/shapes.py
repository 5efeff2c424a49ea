"""Ops on shapes: where they come from, how they combine, and what is read from them."""

from __future__ import annotations

import re
from abc import ABC
from collections.abc import Mapping
from typing import ClassVar, Self

from xdsl.ir import Attribute
from xdsl.irdl import (
    AnyAttr,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Commutative, Pure

from .base import ShapeOp, Types, error_or
from .constants import checked_rank
from .meeting import JoinOp, MeetOp
from .sizes import BINARY_FORMAT
from .types import (
    EXTENTS,
    INDICES,
    INTEGERS_OR_VALUE_SHAPE,
    SHAPE,
    SHAPE_OR_EXTENTS,
    SHAPE_OR_SIZE,
    SHAPED,
    SHAPED_OR_VALUE_SHAPE,
    SIZE_OR_INDEX,
    VALUE_SHAPE,
    extents_type,
    index,
    shape,
    shaped_extents,
    size,
    static_length,
    value_shape,
)

UNARY_FORMAT = "$arg attr-dict `:` type($arg) `->` type($result)"


def _sum_of_lengths(types: Types) -> int | None:
    lengths = [static_length(t) for t in types]
    return None if None in lengths else sum(n for n in lengths if n is not None)


def _agreeing_shapes(inferred: Attribute, stated: Attribute) -> bool:
    """Two shapes agree unless both are extent tensors of different static lengths."""
    lengths = {static_length(inferred), static_length(stated)} - {None}
    return len(lengths) < 2


# From values to shapes and back


@irdl_op_definition
class ShapeOfOp(ShapeOp):
    """The shape of a tensor, memref, vector or value shape."""

    name = "shape.shape_of"
    PROPAGATES: ClassVar = shape
    INFERS: ClassVar = True
    arg = operand_def(SHAPED_OR_VALUE_SHAPE)
    result = result_def(SHAPE_OR_EXTENTS)
    traits = traits_def(Pure())
    assembly_format = UNARY_FORMAT

    @classmethod
    def infer(cls, operands: Types, properties: Mapping[str, Attribute]) -> Types:
        extents = shaped_extents(operands[0])
        return [shape if operands[0] == value_shape else extents_type(None if extents is None else len(extents))]

    @staticmethod
    def agrees(inferred: Attribute, stated: Attribute) -> bool:
        return _agreeing_shapes(inferred, stated)


@irdl_op_definition
class ValueOfOp(ShapeOp):
    """The value of a value shape."""

    name = "shape.value_of"
    arg = operand_def(VALUE_SHAPE)
    result = result_def(SHAPED)
    traits = traits_def(Pure())
    assembly_format = "$arg attr-dict `:` type($result)"


@irdl_op_definition
class ValueAsShapeOp(ShapeOp):
    """The shape whose extents are the elements of a value."""

    name = "shape.value_as_shape"
    arg = operand_def(INTEGERS_OR_VALUE_SHAPE)
    result = result_def(SHAPE_OR_EXTENTS)
    traits = traits_def(Pure())
    assembly_format = UNARY_FORMAT

    @classmethod
    def infer(cls, operands: Types, properties: Mapping[str, Attribute]) -> Types:
        return [shape]


@irdl_op_definition
class WithShapeOp(ShapeOp):
    """A value together with a stated shape."""

    name = "shape.with_shape"
    operand = operand_def(SHAPED_OR_VALUE_SHAPE)
    shape = operand_def(SHAPE_OR_EXTENTS)
    result = result_def(VALUE_SHAPE)
    traits = traits_def(Pure())
    assembly_format = "operands attr-dict `:` type($operand) `,` type($shape)"


@irdl_op_definition
class CreateShapeOp(ShapeOp):
    """The shape whose extents are the elements of a list of integers; early form of `from_extent_tensor`."""

    name = "shape.create_shape"
    input = operand_def(INDICES)
    result = result_def(SHAPE)
    traits = traits_def(Pure())
    assembly_format = "$input attr-dict `:` type($input)"


@irdl_op_definition
class FromExtentTensorOp(ShapeOp):
    """An extent tensor as a shape."""

    name = "shape.from_extent_tensor"
    input = operand_def(EXTENTS)
    result = result_def(SHAPE)
    traits = traits_def(Pure())
    assembly_format = "$input attr-dict `:` type($input)"


@irdl_op_definition
class ToExtentTensorOp(ShapeOp):
    """A shape, which must be valid and known at run time, as an extent tensor."""

    name = "shape.to_extent_tensor"
    input = operand_def(SHAPE_OR_EXTENTS)
    result = result_def(EXTENTS)
    traits = traits_def(Pure())
    assembly_format = "$input attr-dict `:` type($input) `->` type($result)"

    @classmethod
    def infer(cls, operands: Types, properties: Mapping[str, Attribute]) -> Types:
        return [extents_type(static_length(operands[0]))]


_NEXT_OP = re.compile(r"%[\w$.-]+(?:\s*:\s*\d+)?(?:\s*,\s*%[\w$.-]+(?:\s*:\s*\d+)?)*\s*=")
"""The results of the op that follows, which are no operands of one that has none and no colon either."""


@irdl_op_definition
class FromExtentsOp(ShapeOp):
    """The shape of the given extents."""

    name = "shape.from_extents"
    extents = var_operand_def(SIZE_OR_INDEX)
    shape = result_def(SHAPE)
    traits = traits_def(Pure())

    def check_op(self) -> None:
        checked_rank(len(self.operands))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        start = parser.pos
        extents = None
        if _NEXT_OP.match(parser.lexer.input.content, start) is None:
            extents = parser.parse_optional_undelimited_comma_separated_list(
                parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
            )
        attributes = parser.parse_optional_attr_dict()
        types: list[Attribute] = []
        if extents:
            parser.parse_punctuation(":")
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        else:
            parser.parse_optional_punctuation(":")
        operands = parser.resolve_operands(extents or (), types, start)
        return cls.create(operands=operands, attributes=attributes, result_types=[shape])

    def print(self, printer: Printer) -> None:
        """Rank 0 keeps the colon; upstream reads neither spelling of it, only the generic form."""
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" :")
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operand_types, printer.print_attribute)


# From several shapes to one


@irdl_op_definition
class BroadcastOp(ShapeOp):
    """The shape that shapes broadcast to; invalid, for the reason `error`, if they do not."""

    name = "shape.broadcast"
    PROPAGATES: ClassVar = shape
    shapes = var_operand_def(SHAPE_OR_EXTENTS)
    error = opt_prop_def(AnyAttr())
    result = result_def(SHAPE_OR_EXTENTS)
    traits = traits_def(Pure(), Commutative())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$shapes attr-dict `:` type($shapes) `->` type($result)"

    def check_properties(self) -> None:
        self.string("error")

    @classmethod
    def infer(cls, operands: Types, properties: Mapping[str, Attribute]) -> Types:
        lengths = [static_length(t) for t in operands]
        known = None if None in lengths else max((n for n in lengths if n is not None), default=0)
        return [error_or(operands, shape, extents_type(known))]


@irdl_op_definition
class AnyOp(ShapeOp):
    """Any one of several shapes that are known to be equal."""

    name = "shape.any"
    inputs = var_operand_def(SHAPE_OR_EXTENTS)
    result = result_def(SHAPE_OR_EXTENTS)
    traits = traits_def(Pure(), Commutative())
    assembly_format = "$inputs attr-dict `:` type($inputs) `->` type($result)"

    @classmethod
    def infer(cls, operands: Types, properties: Mapping[str, Attribute]) -> Types:
        known = next((n for t in operands if (n := static_length(t)) is not None), None)
        return [error_or(operands or [shape], shape, extents_type(known))]


@irdl_op_definition
class ConcatOp(ShapeOp):
    """The extents of one shape, then those of another."""

    name = "shape.concat"
    lhs = operand_def(SHAPE_OR_EXTENTS)
    rhs = operand_def(SHAPE_OR_EXTENTS)
    result = result_def(SHAPE_OR_EXTENTS)
    traits = traits_def(Pure())
    assembly_format = BINARY_FORMAT

    @classmethod
    def infer(cls, operands: Types, properties: Mapping[str, Attribute]) -> Types:
        return [error_or(operands, shape, extents_type(_sum_of_lengths(operands)))]


@irdl_op_definition
class SplitAtOp(ShapeOp):
    """The extents before an index, which counts from the end if negative, and those from it on. It has the generic form only."""

    name = "shape.split_at"
    operand = operand_def(SHAPE_OR_EXTENTS)
    index = operand_def(SIZE_OR_INDEX)
    head = result_def(SHAPE_OR_EXTENTS)
    tail = result_def(SHAPE_OR_EXTENTS)
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, operands: Types, properties: Mapping[str, Attribute]) -> Types:
        return [error_or(operands, shape, extents_type(None))] * 2


# What is read from shapes


class ReadingOp(ShapeOp, ABC):
    """A shape to a size; an index if nothing it is read from can be an error."""

    PROPAGATES: ClassVar = size
    INFERS: ClassVar = True

    @classmethod
    def infer(cls, operands: Types, properties: Mapping[str, Attribute]) -> Types:
        return [error_or(operands, size, index)]

    @staticmethod
    def agrees(inferred: Attribute, stated: Attribute) -> bool:
        return True  # a size stands for an index too; the kinds of the results allow no others


@irdl_op_definition
class GetExtentOp(ReadingOp):
    """One extent of a shape."""

    name = "shape.get_extent"
    shape = operand_def(SHAPE_OR_EXTENTS)
    dim = operand_def(SIZE_OR_INDEX)
    extent = result_def(SIZE_OR_INDEX)
    traits = traits_def(Pure())
    assembly_format = "$shape `,` $dim attr-dict `:` type($shape) `,` type($dim) `->` type($extent)"


@irdl_op_definition
class RankOp(ReadingOp):
    """The number of extents of a shape."""

    name = "shape.rank"
    shape = operand_def(SHAPE_OR_EXTENTS)
    rank = result_def(SIZE_OR_INDEX)
    traits = traits_def(Pure())
    assembly_format = "$shape attr-dict `:` type($shape) `->` type($rank)"


@irdl_op_definition
class NumElementsOp(ReadingOp):
    """The product of the extents of a shape."""

    name = "shape.num_elements"
    shape = operand_def(SHAPE_OR_EXTENTS)
    result = result_def(SIZE_OR_INDEX)
    traits = traits_def(Pure())
    assembly_format = "$shape attr-dict `:` type($shape) `->` type($result)"


@irdl_op_definition
class DimOp(ShapeOp):
    """One extent of the shape of a value."""

    name = "shape.dim"
    value = operand_def(SHAPED)
    index = operand_def(SIZE_OR_INDEX)
    extent = result_def(SIZE_OR_INDEX)
    traits = traits_def(Pure())
    assembly_format = "$value `,` $index attr-dict `:` type($value) `,` type($index) `->` type($extent)"

    @classmethod
    def infer(cls, operands: Types, properties: Mapping[str, Attribute]) -> Types:
        return [index if operands[1] == index else size]


@irdl_op_definition
class DebugPrintOp(ShapeOp):
    """Prints a size or shape when run, and passes it on. It has the generic form only."""

    name = "shape.debug_print"
    INFERS: ClassVar = True
    input = operand_def(SHAPE_OR_SIZE)
    output = result_def(SHAPE_OR_SIZE)

    @classmethod
    def infer(cls, operands: Types, properties: Mapping[str, Attribute]) -> Types:
        return operands


SHAPE_OPS_PROPER: tuple[type[ShapeOp], ...] = (
    ShapeOfOp,
    ValueOfOp,
    ValueAsShapeOp,
    WithShapeOp,
    FromExtentTensorOp,
    ToExtentTensorOp,
    FromExtentsOp,
    MeetOp,
    BroadcastOp,
    AnyOp,
    ConcatOp,
    SplitAtOp,
    GetExtentOp,
    RankOp,
    NumElementsOp,
    DimOp,
    DebugPrintOp,
)
EARLY_SHAPE_OPS: tuple[type[ShapeOp], ...] = (CreateShapeOp, JoinOp)
