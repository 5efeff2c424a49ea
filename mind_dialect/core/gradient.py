"""Extension ops: what gradients need and the specification's opcodes cannot say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def

from .. import shapes
from ..op import TENSOR
from ..types import FLOATS, DType
from .attributes import INTEGERS, PADDING
from .base import CoreOp, supported_dtype
from .elementwise import UnaryOp
from .indexing import check_indices


@irdl_op_definition
class ReluGradOp(CoreOp):
    """
    `g where x > 0, else 0`, by selection: an infinite `g` where `x <= 0` gives 0.

    Derivative: gradient: relu_grad(g, x); input: none, because the step function is flat.
    """

    name = "mind.relu_grad"
    OPCODE: ClassVar = "ReluGrad"
    EXTENSION: ClassVar = "the mask x > 0 has no opcode; a product with one would turn inf * 0 into NaN"
    RULE: ClassVar = staticmethod(shapes.relu_grad)
    DTYPES: ClassVar = FLOATS
    gradient = operand_def(TENSOR)
    input = operand_def(TENSOR)


@irdl_op_definition
class ReciprocalOp(UnaryOp):
    """
    `1 / x`.

    Derivative: input: -g * result * result.
    """

    name = "mind.reciprocal"
    OPCODE: ClassVar = "Reciprocal"
    EXTENSION: ClassVar = "1 / x, which the gradient of Log needs; Div is outside core-v1"
    DTYPES: ClassVar = FLOATS


@irdl_op_definition
class BroadcastToOp(CoreOp):
    """
    Repeat along new leading axes and along axes of extent 1, up to `shape`.

    Derivative: input: g, summed over the repeated axes.
    """

    name = "mind.broadcast_to"
    OPCODE: ClassVar = "BroadcastTo"
    EXTENSION: ClassVar = "the gradient of a reduction repeats; a product with ones would cost a multiplication and memory"
    RULE: ClassVar = staticmethod(shapes.broadcast_to)
    input = operand_def(TENSOR)
    shape = prop_def(INTEGERS)


@irdl_op_definition
class ScatterAddOp(CoreOp):
    """
    Zeros of `shape`, with each row of `updates` added at its index; duplicates accumulate in row-major order.

    Derivative: indices: none, because they are integers; updates: g, gathered at indices.
    """

    name = "mind.scatter_add"
    OPCODE: ClassVar = "ScatterAdd"
    CAN_FAIL: ClassVar = True
    EXTENSION: ClassVar = "the transpose of Gather"
    RULE: ClassVar = staticmethod(shapes.scatter_add)
    indices = operand_def(TENSOR)
    updates = operand_def(TENSOR)
    shape = prop_def(INTEGERS)

    @classmethod
    def check_dtypes(cls, dtypes: Sequence[DType]) -> None:
        check_indices(dtypes[0])
        supported_dtype(dtypes[1], cls.DTYPES)

    @classmethod
    def result_dtype(cls, dtypes: Sequence[DType]) -> DType:
        return dtypes[1]


@irdl_op_definition
class SliceScatterOp(CoreOp):
    """
    Zeros of `shape`, with `updates` at `starts`, `steps` apart.

    Derivative: updates: g, sliced.
    """

    name = "mind.slice_scatter"
    OPCODE: ClassVar = "SliceScatter"
    EXTENSION: ClassVar = "the transpose of Slice"
    RULE: ClassVar = staticmethod(shapes.slice_scatter)
    updates = operand_def(TENSOR)
    shape = prop_def(INTEGERS)
    starts = prop_def(INTEGERS)
    steps = prop_def(INTEGERS)


@irdl_op_definition
class IndexScatterOp(CoreOp):
    """
    Zeros of `shape`, with the scalar `update` at `indices`; out of bounds is E6001 at run time.

    Derivative: update: g, indexed.
    """

    name = "mind.index_scatter"
    OPCODE: ClassVar = "IndexScatter"
    EXTENSION: ClassVar = "the transpose of Index"
    RULE: ClassVar = staticmethod(shapes.index_scatter)
    update = operand_def(TENSOR)
    shape = prop_def(INTEGERS)
    indices = prop_def(INTEGERS)

    def can_fail(self) -> bool:
        return not all(0 <= i < n for i, n in zip(self.values()["indices"], self.result_shape, strict=True))


class ConvolutionGradientOp(CoreOp):
    """One half of the gradient of `Conv2d`; `shape` is that of the result."""

    shape = prop_def(INTEGERS)
    strides = prop_def(INTEGERS)
    padding = prop_def(PADDING)


@irdl_op_definition
class Conv2dBackwardInputOp(ConvolutionGradientOp):
    """
    The gradient of `Conv2d` in its input.

    Derivative: gradient: conv2d(g, filter); filter: conv2d_backward_filter(g, gradient).
    """

    name = "mind.conv2d_backward_input"
    OPCODE: ClassVar = "Conv2dBackwardInput"
    EXTENSION: ClassVar = "named by the autodiff chapter, absent from the instruction set"
    RULE: ClassVar = staticmethod(shapes.conv2d_backward_input)
    gradient = operand_def(TENSOR)
    filter = operand_def(TENSOR)


@irdl_op_definition
class Conv2dBackwardFilterOp(ConvolutionGradientOp):
    """
    The gradient of `Conv2d` in its filter.

    Derivative: input: conv2d_backward_input(gradient, g); gradient: conv2d(input, g).
    """

    name = "mind.conv2d_backward_filter"
    OPCODE: ClassVar = "Conv2dBackwardFilter"
    EXTENSION: ClassVar = "named by the autodiff chapter, absent from the instruction set"
    RULE: ClassVar = staticmethod(shapes.conv2d_backward_filter)
    input = operand_def(TENSOR)
    gradient = operand_def(TENSOR)
