"""Reductions and ops that move or rename elements."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def

from .. import shapes
from ..op import TENSOR
from .attributes import BOOLEAN, INTEGERS
from .base import CoreOp


class ReductionOp(CoreOp):
    """Reduce over `axes`; empty axes reduce everything to rank 0."""

    COUNTS_FROM_END: ClassVar = True
    input = operand_def(TENSOR)
    axes = prop_def(INTEGERS)
    keepdims = prop_def(BOOLEAN)


@irdl_op_definition
class SumOp(ReductionOp):
    """
    The sum of elements over `axes`; integers wrap, an empty sum is 0.

    Derivative: input: g, broadcast back over the reduced axes.
    """

    name = "mind.sum"
    OPCODE: ClassVar = "Sum"
    RULE: ClassVar = staticmethod(shapes.reduce)


@irdl_op_definition
class MeanOp(ReductionOp):
    """
    The sum over `axes`, divided by the number of elements reduced; integers truncate toward zero.

    Derivative: input: g / count, broadcast back over the reduced axes.
    """

    name = "mind.mean"
    OPCODE: ClassVar = "Mean"
    RULE: ClassVar = staticmethod(shapes.mean)


@irdl_op_definition
class ReshapeOp(CoreOp):
    """
    The same elements in row-major order under another shape; one extent may be -1.

    Derivative: input: g, reshaped back.
    """

    name = "mind.reshape"
    OPCODE: ClassVar = "Reshape"
    RULE: ClassVar = staticmethod(shapes.reshape)
    input = operand_def(TENSOR)
    new_shape = prop_def(INTEGERS)


@irdl_op_definition
class TransposeOp(CoreOp):
    """
    Axis `i` of the result is axis `permutation[i]` of the input.

    Derivative: input: g, transposed by the inverse permutation.
    """

    name = "mind.transpose"
    OPCODE: ClassVar = "Transpose"
    RULE: ClassVar = staticmethod(shapes.transpose)
    input = operand_def(TENSOR)
    permutation = prop_def(INTEGERS)


class AxesOp(CoreOp):
    """Insert or remove axes of extent 1."""

    COUNTS_FROM_END: ClassVar = True
    input = operand_def(TENSOR)
    axes = prop_def(INTEGERS)


@irdl_op_definition
class ExpandDimsOp(AxesOp):
    """
    Insert axes of extent 1 so that they stand at `axes` of the result.

    Derivative: input: g, squeezed at axes.
    """

    name = "mind.expand_dims"
    OPCODE: ClassVar = "ExpandDims"
    RULE: ClassVar = staticmethod(shapes.expand_dims)


@irdl_op_definition
class SqueezeOp(AxesOp):
    """
    Remove `axes`, each of extent 1.

    Derivative: input: g, expanded at axes.
    """

    name = "mind.squeeze"
    OPCODE: ClassVar = "Squeeze"
    RULE: ClassVar = staticmethod(shapes.squeeze)
