"""Products: inner, matrix, convolution."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def

from .. import shapes
from ..op import TENSOR
from .attributes import INTEGERS, PADDING
from .base import CoreOp
from .elementwise import BinaryOp


@irdl_op_definition
class DotOp(BinaryOp):
    """
    The product of vectors and matrices of rank 1 or 2, contracting lhs's last axis with rhs's first.

    Derivative: lhs: g times rhs; rhs: lhs times g; as outer, vector or matrix products by rank.
    """

    name = "mind.dot"
    OPCODE: ClassVar = "Dot"
    RULE: ClassVar = staticmethod(shapes.dot)


@irdl_op_definition
class MatMulOp(BinaryOp):
    """
    The product of matrices; leading dimensions broadcast.

    Derivative: lhs: g times rhs transposed; rhs: lhs transposed times g.
    """

    name = "mind.matmul"
    OPCODE: ClassVar = "MatMul"
    RULE: ClassVar = staticmethod(shapes.matmul)


@irdl_op_definition
class Conv2dOp(CoreOp):
    """
    Cross-correlation of an NHWC input with an HWCF filter.

    Derivative: input: Conv2dBackwardInput(g, filter); filter: Conv2dBackwardFilter(input, g); under core-v1.1 only.
    """

    name = "mind.conv2d"
    OPCODE: ClassVar = "Conv2d"
    RULE: ClassVar = staticmethod(shapes.conv2d)
    input = operand_def(TENSOR)
    filter = operand_def(TENSOR)
    strides = prop_def(INTEGERS)
    padding = prop_def(PADDING)
