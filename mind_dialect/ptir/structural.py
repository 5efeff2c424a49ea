"""Ops that move, repeat or number elements without computing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, var_operand_def

from .. import ptir_shapes as shapes
from ..codecs import INTEGERS
from ..op import TENSOR
from .attributes import DIMS, DTYPE, INTEGER, SCALAR
from .base import OneResultOp
from .legal import mixed
from .types import PtirDType, TensorSpec


@irdl_op_definition
class ReshapeOp(OneResultOp):
    """The same elements in row-major order under another shape; one extent may be -1, others may be names."""

    name = "ptir.reshape"
    RULE: ClassVar = staticmethod(shapes.reshape)
    x = operand_def(TENSOR)
    new_shape = prop_def(DIMS)


@irdl_op_definition
class TransposeOp(OneResultOp):
    """Axis `i` of the result is axis `perm[i]` of `x`."""

    name = "ptir.transpose"
    RULE: ClassVar = staticmethod(shapes.transpose)
    x = operand_def(TENSOR)
    perm = prop_def(INTEGERS)


@irdl_op_definition
class BroadcastToOp(OneResultOp):
    """Repeat along new leading axes and along axes of size 1, up to `result_shape`."""

    name = "ptir.broadcast_to"
    RULE: ClassVar = staticmethod(shapes.broadcast_to)
    x = operand_def(TENSOR)
    result_shape = prop_def(DIMS)


@irdl_op_definition
class SliceOp(OneResultOp):
    """The window of `sizes` elements from `starts`; both may be expressions of names."""

    name = "ptir.slice"
    RULE: ClassVar = staticmethod(shapes.slice)
    x = operand_def(TENSOR)
    starts = prop_def(DIMS)
    sizes = prop_def(DIMS)


@irdl_op_definition
class ConcatOp(OneResultOp):
    """The operands one after the other along `axis`."""

    name = "ptir.concat"
    LEAST_VARIADIC: ClassVar = 1
    RULE: ClassVar = staticmethod(shapes.concat)
    xs = var_operand_def(TENSOR)
    axis = prop_def(INTEGER)

    @classmethod
    def check_dtypes(cls, operands: Sequence[TensorSpec], values: Mapping[str, Any]) -> None:
        super().check_dtypes(operands, values)
        for i, spec in enumerate(operands):
            if spec.dtype is not operands[0].dtype:
                raise mixed(f"operands 0 and {i}", operands[0].dtype, spec.dtype)


@irdl_op_definition
class PadOp(OneResultOp):
    """`low` elements of `pad_value` before, `high` after, `interior` between each two; the edges may be expressions of names."""

    name = "ptir.pad"
    RULE: ClassVar = staticmethod(shapes.pad)
    RULE_TAKES: ClassVar = ("low", "high", "interior")
    SCALARS: ClassVar = ("pad_value",)
    x = operand_def(TENSOR)
    low = prop_def(DIMS)
    high = prop_def(DIMS)
    interior = prop_def(INTEGERS)
    pad_value = prop_def(SCALAR)


@irdl_op_definition
class TileOp(OneResultOp):
    """`x`, `repeats[i]` times along each axis `i`; repeats may be expressions of names."""

    name = "ptir.tile"
    RULE: ClassVar = staticmethod(shapes.tile)
    x = operand_def(TENSOR)
    repeats = prop_def(DIMS)


@irdl_op_definition
class IotaOp(OneResultOp):
    """0, 1, 2 and on along `axis`, the same along the others; as if counted in si64 and converted, integers wrapping."""

    name = "ptir.iota"
    RULE: ClassVar = staticmethod(shapes.iota)
    RULE_TAKES: ClassVar = ("shape", "axis")
    shape = prop_def(DIMS)
    dtype = prop_def(DTYPE)
    axis = prop_def(INTEGER)

    @classmethod
    def result_dtype(cls, dtypes: Sequence[PtirDType], values: Mapping[str, Any]) -> PtirDType:
        return values["dtype"]
