"""Ops on sizes: arithmetic, and conversions between sizes and indices."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from typing import ClassVar

from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Commutative, Pure

from .base import ShapeOp, Types, error_or
from .types import INDEX, SHAPE_OR_SIZE, SIZE, SIZE_OR_INDEX, index, size

BINARY_FORMAT = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)"


class SizeArithmeticOp(ShapeOp, ABC):
    """Two sizes to one; an index if both are indices."""

    PROPAGATES: ClassVar = size
    INFERS: ClassVar = True
    lhs = operand_def(SIZE_OR_INDEX)
    rhs = operand_def(SIZE_OR_INDEX)
    result = result_def(SIZE_OR_INDEX)
    traits = traits_def(Pure())
    assembly_format: ClassVar[str | None] = BINARY_FORMAT

    @classmethod
    def infer(cls, operands: Types, properties: Mapping[str, Attribute]) -> Types:
        return [error_or(operands, size, index)]

    @staticmethod
    def agrees(inferred: Attribute, stated: Attribute) -> bool:
        return True  # a size stands for an index too; the kinds of the results allow no others


@irdl_op_definition
class AddOp(SizeArithmeticOp):
    """Sum of two sizes; unknown if either is."""

    name = "shape.add"
    traits = traits_def(Commutative())


@irdl_op_definition
class MulOp(SizeArithmeticOp):
    """Product of two sizes; unknown if either is."""

    name = "shape.mul"
    traits = traits_def(Commutative())


@irdl_op_definition
class DivOp(SizeArithmeticOp):
    """Quotient of two sizes, rounded down."""

    name = "shape.div"


class ExtremumOp(ShapeOp, ABC):
    """Two sizes, or two shapes element by element."""

    INFERS: ClassVar = True
    lhs = operand_def(SHAPE_OR_SIZE)
    rhs = operand_def(SHAPE_OR_SIZE)
    result = result_def(SHAPE_OR_SIZE)
    traits = traits_def(Pure(), Commutative())
    assembly_format: ClassVar[str | None] = BINARY_FORMAT

    @classmethod
    def infer(cls, operands: Types, properties: Mapping[str, Attribute]) -> Types:
        return [operands[0] if operands[0] == operands[1] else size]


@irdl_op_definition
class MaxOp(ExtremumOp):
    """The greater of two sizes, or of each two extents of shapes."""

    name = "shape.max"


@irdl_op_definition
class MinOp(ExtremumOp):
    """The lesser of two sizes, or of each two extents of shapes."""

    name = "shape.min"


@irdl_op_definition
class IndexToSizeOp(ShapeOp):
    """An index as a size."""

    name = "shape.index_to_size"
    arg = operand_def(INDEX)
    result = result_def(SIZE)
    traits = traits_def(Pure())
    assembly_format = "$arg attr-dict"


@irdl_op_definition
class SizeToIndexOp(ShapeOp):
    """A size, which must be known at run time, as an index."""

    name = "shape.size_to_index"
    INFERS: ClassVar = True
    arg = operand_def(SIZE_OR_INDEX)
    result = result_def(INDEX)
    traits = traits_def(Pure())
    assembly_format = "$arg attr-dict `:` type($arg)"


SIZE_OPS: tuple[type[ShapeOp], ...] = (AddOp, MulOp, DivOp, MaxOp, MinOp, IndexToSizeOp, SizeToIndexOp)
