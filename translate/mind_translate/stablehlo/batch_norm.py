"""
Rows of batch normalization: the arithmetic of the specification.

Scales, offsets and statistics have one element for each index along `feature_index`; statistics are over all other dimensions.
"""

from __future__ import annotations

import math

from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.errors import error
from mind_dialect.ptir_shapes import UNKNOWN

from ..unsupported import Refused
from .converter import StablehloConverter, StablehloRow, Values
from .foreign import ForeignOp
from .structural import static


class _Features:
    """The dimensions of a batch normalization, and arithmetic along them."""

    def __init__(self, to: StablehloConverter, op: ForeignOp):
        self.to, self.shape, self.axis = to, to.shape(op.operands[0]), op.integer("feature_index")
        rank = len(self.shape)
        if not 0 <= self.axis < rank:
            raise error("E3004", f"feature_index {self.axis} is out of range for rank {rank}", axis=self.axis, rank=rank)
        if not isinstance(epsilon := op.attributes.get("epsilon"), FloatAttr):
            raise op.wrong("epsilon", "a float such as 1.0e-03 : f32")
        self.epsilon = epsilon.value.data

    def along(self, x: SSAValue) -> SSAValue:
        """Broadcast one number for each feature to the shape of the operand."""
        given, count = self.to.shape(x), self.shape[self.axis]
        if len(given) != 1:
            rank = len(given)
            raise error("E3002", f"scales and statistics have rank {rank}, expected 1", expected=1, actual=rank)
        if isinstance(count, int) and given[0] not in (count, UNKNOWN):
            message = f"scales and statistics of {given[0]} features, expected {count}"
            raise error("E3003", message, dimension=f"dimension {self.axis}", extents=(given[0], count))
        return self.to.place(x, [self.axis], self.shape)

    def sum(self, x: SSAValue) -> SSAValue:
        """Sum over all dimensions but that of the features."""
        axes = tuple(i for i in range(len(self.shape)) if i != self.axis)
        return self.to.emit(ptir.ReduceOp, x, kind="sum", axes=axes, keepdims=False) if axes else x

    def count(self) -> int:
        """Return the number of elements of a feature. Raises `Refused` where it is not known."""
        if (sizes := static(self.shape)) is None:
            raise Refused("statistics over dimensions whose sizes are not known", "give the program static shapes")
        return math.prod(n for i, n in enumerate(sizes) if i != self.axis)

    def mean(self, x: SSAValue) -> SSAValue:
        """Return the mean of each feature."""
        total = self.sum(x)
        return self.to.emit(ptir.DivOp, total, self.to.like(self.count(), total))

    def centered(self, x: SSAValue, mean: SSAValue) -> SSAValue:
        """Return the operand less its mean."""
        return self.to.emit(ptir.SubOp, x, self.along(mean))

    def raised(self, variance: SSAValue) -> SSAValue:
        """Return the variance plus epsilon."""
        return self.to.emit(ptir.AddOp, variance, self.to.like(self.epsilon, variance))

    def normalized(self, centered: SSAValue, variance: SSAValue) -> SSAValue:
        """Divide by the standard deviation."""
        return self.to.emit(ptir.DivOp, centered, self.along(self.to.emit(ptir.SqrtOp, self.raised(variance))))

    def scaled(self, normalized: SSAValue, scale: SSAValue, offset: SSAValue) -> SSAValue:
        """Multiply by the scale, and add the offset."""
        return self.to.emit(ptir.AddOp, self.to.emit(ptir.MulOp, self.along(scale), normalized), self.along(offset))


def _inference(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    x, scale, offset, mean, variance = op.operands
    features = _Features(to, op)
    return features.scaled(features.normalized(features.centered(x, mean), variance), scale, offset)


def _training(to: StablehloConverter, op: ForeignOp) -> Values:
    x, scale, offset = op.operands
    features = _Features(to, op)
    mean = features.mean(x)
    centered = features.centered(x, mean)
    variance = features.mean(to.emit(ptir.MulOp, centered, centered))
    return features.scaled(features.normalized(centered, variance), scale, offset), mean, variance


def _grad(to: StablehloConverter, op: ForeignOp) -> Values:
    """
    Return the gradients of the operand, the scale and the offset of a training step.

    That of the operand is `scale / stddev * (dy - mean(dy) - centered * mean(dy * centered) / (variance + epsilon))`.
    """
    x, scale, mean, variance, dy = op.operands
    features = _Features(to, op)
    centered = features.centered(x, mean)
    correlation = features.mean(to.emit(ptir.MulOp, dy, centered))
    slope = to.emit(ptir.DivOp, correlation, features.raised(variance))
    inner = to.emit(ptir.SubOp, dy, features.along(features.mean(dy)))
    inner = to.emit(ptir.SubOp, inner, to.emit(ptir.MulOp, centered, features.along(slope)))
    gain = to.emit(ptir.DivOp, scale, to.emit(ptir.SqrtOp, features.raised(variance)))
    d_scale = features.sum(to.emit(ptir.MulOp, dy, features.normalized(centered, variance)))
    return to.emit(ptir.MulOp, features.along(gain), inner), d_scale, features.sum(dy)


BATCH_NORM: dict[str, StablehloRow | Refused] = {
    "stablehlo.batch_norm_grad": _grad,
    "stablehlo.batch_norm_inference": _inference,
    "stablehlo.batch_norm_training": _training,
}
