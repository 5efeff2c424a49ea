"""Making PTIR ops one after the other, with the place of the op that they come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.literals import Number
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.literal import PtirLiteralAttr
from mind_dialect.ptir.types import PtirDType, TensorSpec, read_type


class Emitter:
    """The ops made so far, in order; each keeps the location of `origin` and is remembered as coming from it."""

    def __init__(self) -> None:
        self.ops: list[Operation] = []
        self.origins: list[Operation] = []
        self.origin: Operation | None = None

    def __call__(self, op_class: type[PtirOp], /, *operands: Any, **properties: Any) -> SSAValue:
        """Make an op and return its first result."""
        op = op_class(*operands, **properties)
        if self.origin is not None:
            op.location = self.origin.location
            self.origins.append(self.origin)
        self.ops.append(op)
        return op.results[0]

    def spec(self, value: SSAValue) -> TensorSpec:
        """The dtype and shape of a value."""
        return read_type(value.type)

    def shape(self, value: SSAValue) -> tuple[int, ...]:
        """The sizes of a value of static shape."""
        return tuple([n for n in read_type(value.type).shape if isinstance(n, int)])

    def fill(self, dtype: PtirDType, shape: Sequence[int], value: Number) -> SSAValue:
        """A constant of one number for every element."""
        return self(ptir.ConstantOp, PtirLiteralAttr.filled(dtype, tuple(shape), value))

    def broadcast(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """`value` under `shape`: itself where it has that already."""
        return value if self.spec(value).shape == shape else self(ptir.BroadcastToOp, value, result_shape=shape)

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The elements of `value` under `shape`."""
        return self(ptir.ReshapeOp, value, new_shape=shape)
