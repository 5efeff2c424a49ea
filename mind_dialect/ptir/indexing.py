"""Ops whose places are data: rows by index, scattered updates, windows that start where an operand says."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def

from .. import ptir_shapes as shapes
from ..codecs import INTEGERS
from ..op import TENSOR
from .attributes import DIMS, INTEGER, Word
from .base import OneResultOp


@irdl_op_definition
class TakeOp(OneResultOp):
    """Rows of `x` along axis 0; an index outside 0 .. N-1 is E6001 at run time."""

    name = "ptir.take"
    CAN_FAIL: ClassVar = True
    RULE: ClassVar = staticmethod(shapes.take)
    x = operand_def(TENSOR)
    indices = operand_def(TENSOR)


@irdl_op_definition
class GatherOp(OneResultOp):
    """At each place `i`, the element of `x` at `i` with `i[axis]` replaced by `indices[i]`; out of range is E6001 at run time."""

    name = "ptir.gather"
    CAN_FAIL: ClassVar = True
    RULE: ClassVar = staticmethod(shapes.gather)
    x = operand_def(TENSOR)
    indices = operand_def(TENSOR)
    axis = prop_def(INTEGER)


class ScatterOp(OneResultOp, ABC):
    """`x` with `updates` combined in at `indices`, in row-major order of the updates; out of range is E6001 at run time."""

    SAME_DTYPE: ClassVar = ("x", "updates")
    x = operand_def(TENSOR)
    indices = operand_def(TENSOR)
    updates = operand_def(TENSOR)


@irdl_op_definition
class ScatterAddOp(ScatterOp):
    """
    Windows of `updates` added at index vectors, with the dimension numbers of StableHLO's scatter.

    `index_vector_dim` absent means that each index is a scalar.
    """

    name = "ptir.scatter_add"
    CAN_FAIL: ClassVar = True
    RULE: ClassVar = staticmethod(shapes.scatter_add)
    update_window_dims = prop_def(INTEGERS)
    inserted_window_dims = prop_def(INTEGERS)
    scatter_dims_to_operand_dims = prop_def(INTEGERS)
    index_vector_dim = opt_prop_def(INTEGER)


@irdl_op_definition
class ScatterReduceOp(ScatterOp):
    """At each place `i` of `updates`, `x` at `i` with `i[axis]` replaced by `indices[i]` is combined with the update."""

    name = "ptir.scatter_reduce"
    CAN_FAIL: ClassVar = True
    RULE: ClassVar = staticmethod(shapes.scatter_reduce)
    RULE_TAKES: ClassVar = ("axis",)
    kind = prop_def(Word("add", "max", "min", "replace"))
    axis = prop_def(INTEGER)


@irdl_op_definition
class DynamicSliceOp(OneResultOp):
    """
    The window of `sizes` elements from `start`, clamped so that it fits; one that cannot fit is E4012.

    Sizes may be expressions of names.
    """

    name = "ptir.dynamic_slice"
    RULE: ClassVar = staticmethod(shapes.dynamic_slice)
    x = operand_def(TENSOR)
    start = operand_def(TENSOR)
    sizes = prop_def(DIMS)


@irdl_op_definition
class DynamicUpdateSliceOp(OneResultOp):
    """`x` with the window from `start`, clamped so that it fits, overwritten by `update`."""

    name = "ptir.dynamic_update_slice"
    SAME_DTYPE: ClassVar = ("x", "update")
    RULE: ClassVar = staticmethod(shapes.dynamic_update_slice)
    x = operand_def(TENSOR)
    update = operand_def(TENSOR)
    start = operand_def(TENSOR)
    sizes = prop_def(DIMS)
