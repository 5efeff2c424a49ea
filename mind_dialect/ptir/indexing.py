"""Ops whose places are data: rows by index, scattered updates, windows that start where an operand says."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def

from .. import ptir_shapes as shapes
from ..codecs import INTEGERS
from .attributes import INTEGER, Word
from .base import OneResultOp


@irdl_op_definition
class TakeOp(OneResultOp):
    """Rows of `x` along axis 0; an index outside 0 .. N-1 is E6001 at run time."""

    name = "ptir.take"
    OPCODE: ClassVar = "take"
    OPERANDS: ClassVar = ("x", "indices")
    RULE: ClassVar = staticmethod(shapes.take)
    x = operand_def()
    indices = operand_def()


@irdl_op_definition
class GatherOp(OneResultOp):
    """At each place `i`, the element of `x` at `i` with `i[axis]` replaced by `indices[i]`; out of range is E6001 at run time."""

    name = "ptir.gather"
    OPCODE: ClassVar = "gather"
    OPERANDS: ClassVar = ("x", "indices")
    CODECS: ClassVar = {"axis": INTEGER}
    RULE: ClassVar = staticmethod(shapes.gather)
    x = operand_def()
    indices = operand_def()
    axis = prop_def()


class ScatterOp(OneResultOp, ABC):
    """`x` with `updates` combined in at `indices`, in row-major order of the updates; out of range is E6001 at run time."""

    OPERANDS: ClassVar = ("x", "indices", "updates")
    SAME_DTYPE: ClassVar = ("x", "updates")
    x = operand_def()
    indices = operand_def()
    updates = operand_def()


@irdl_op_definition
class ScatterAddOp(ScatterOp):
    """
    Windows of `updates` added at index vectors, with the dimension numbers of StableHLO's scatter.

    `index_vector_dim` absent means that each index is a scalar.
    """

    name = "ptir.scatter_add"
    OPCODE: ClassVar = "scatter_add"
    CODECS: ClassVar = {
        "update_window_dims": INTEGERS,
        "inserted_window_dims": INTEGERS,
        "scatter_dims_to_operand_dims": INTEGERS,
        "index_vector_dim": INTEGER,
    }
    OPTIONAL: ClassVar = frozenset({"index_vector_dim"})
    RULE: ClassVar = staticmethod(shapes.scatter_add)
    update_window_dims = prop_def()
    inserted_window_dims = prop_def()
    scatter_dims_to_operand_dims = prop_def()
    index_vector_dim = opt_prop_def()


@irdl_op_definition
class ScatterReduceOp(ScatterOp):
    """At each place `i` of `updates`, `x` at `i` with `i[axis]` replaced by `indices[i]` is combined with the update."""

    name = "ptir.scatter_reduce"
    OPCODE: ClassVar = "scatter_reduce"
    CODECS: ClassVar = {"kind": Word("add", "max", "min", "replace"), "axis": INTEGER}
    RULE: ClassVar = staticmethod(shapes.scatter_reduce)
    RULE_TAKES: ClassVar = ("axis",)
    kind = prop_def()
    axis = prop_def()


@irdl_op_definition
class DynamicSliceOp(OneResultOp):
    """The window of `sizes` elements from `start`, clamped so that it fits; one that cannot fit is E4012."""

    name = "ptir.dynamic_slice"
    OPCODE: ClassVar = "dynamic_slice"
    OPERANDS: ClassVar = ("x", "start")
    CODECS: ClassVar = {"sizes": INTEGERS}
    RULE: ClassVar = staticmethod(shapes.dynamic_slice)
    x = operand_def()
    start = operand_def()
    sizes = prop_def()


@irdl_op_definition
class DynamicUpdateSliceOp(OneResultOp):
    """`x` with the window from `start`, clamped so that it fits, overwritten by `update`."""

    name = "ptir.dynamic_update_slice"
    OPCODE: ClassVar = "dynamic_update_slice"
    OPERANDS: ClassVar = ("x", "update", "start")
    SAME_DTYPE: ClassVar = ("x", "update")
    CODECS: ClassVar = {"sizes": INTEGERS}
    RULE: ClassVar = staticmethod(shapes.dynamic_update_slice)
    x = operand_def()
    update = operand_def()
    start = operand_def()
    sizes = prop_def()
