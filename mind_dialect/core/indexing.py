"""Reading parts of a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def

from .. import shapes
from ..errors import error
from ..op import TENSOR
from ..types import INTEGERS as INTEGER_DTYPES
from ..types import DType
from .attributes import INTEGERS
from .base import CoreOp, supported_dtype


@irdl_op_definition
class IndexOp(CoreOp):
    """
    The element at `indices`, as rank 0; out of bounds is E6001 at run time.

    Derivative: input: zeros with g at indices.
    """

    name = "mind.index"
    OPCODE: ClassVar = "Index"
    RULE: ClassVar = staticmethod(shapes.index)
    input = operand_def(TENSOR)
    indices = prop_def(INTEGERS)

    def can_fail(self) -> bool:
        return not all(0 <= i < n for i, n in zip(self.values()["indices"], self.operand_shape(0), strict=True))


@irdl_op_definition
class SliceOp(CoreOp):
    """
    Elements from `starts` up to `ends`, `steps` apart, per dimension.

    Derivative: input: zeros with g at the sliced places.
    """

    name = "mind.slice"
    OPCODE: ClassVar = "Slice"
    RULE: ClassVar = staticmethod(shapes.slice)
    COUNTS_FROM_END: ClassVar = True
    input = operand_def(TENSOR)
    starts = prop_def(INTEGERS)
    ends = prop_def(INTEGERS)
    steps = prop_def(INTEGERS)


def check_indices(dtype: DType) -> None:
    """Raise E4011 unless `dtype` is an integer one."""
    if dtype not in INTEGER_DTYPES:
        raise error("E4011", f"indices have dtype {dtype}, expected i32 or i64", dtype=str(dtype))


@irdl_op_definition
class GatherOp(CoreOp):
    """
    Rows of `input` along its first axis, picked by an integer tensor; out of range is E6001 at run time.

    Derivative: input: g, added to zeros at the gathered rows; indices: none, because they are integers.
    """

    name = "mind.gather"
    OPCODE: ClassVar = "Gather"
    CAN_FAIL: ClassVar = True
    RULE: ClassVar = staticmethod(shapes.gather)
    input = operand_def(TENSOR)
    indices = operand_def(TENSOR)

    @classmethod
    def check_dtypes(cls, dtypes: Sequence[DType]) -> None:
        supported_dtype(dtypes[0], cls.DTYPES)
        check_indices(dtypes[1])
