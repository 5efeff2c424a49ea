"""EXTENSION ops on windows at index vectors: StableHLO's gather and scatter, with all of their dimension numbers."""

from __future__ import annotations

from typing import Any, ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def

from .. import ptir_shapes as shapes
from ..codecs import BOOLEAN, INTEGERS
from ..op import TENSOR
from .attributes import INTEGER, Word
from .base import OneResultOp
from .indexing import ScatterOp

GATHER_DIMS = (
    *("offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims", "start_index_map"),
    "index_vector_dim",
)
"""The dimension numbers of a gather."""
SCATTER_DIMS = (
    *("update_window_dims", "inserted_window_dims", "input_batching_dims", "scatter_indices_batching_dims"),
    *("scatter_dims_to_operand_dims", "index_vector_dim"),
)
"""Properties of a scatter, with the same meaning in the same order."""


@irdl_op_definition
class GatherWindowsOp(OneResultOp):
    """
    Windows of `x` at index vectors, with the dimension numbers of StableHLO's gather.

    A window that is not inside of `x` is E6001 at run time (`mode = raise`), moved inside (`clamp`), or has 0 for elements that
    are outside (`fill`).
    """

    name = "ptir.gather_windows"
    EXTENSION: ClassVar = "take and gather index one axis; several need flat indices otherwise"
    RULE: ClassVar = staticmethod(shapes.gather_windows)
    RULE_TAKES: ClassVar = (*GATHER_DIMS, "slice_sizes")
    x = operand_def(TENSOR)
    indices = operand_def(TENSOR)
    offset_dims = prop_def(INTEGERS)
    collapsed_slice_dims = prop_def(INTEGERS)
    operand_batching_dims = prop_def(INTEGERS)
    start_indices_batching_dims = prop_def(INTEGERS)
    start_index_map = prop_def(INTEGERS)
    index_vector_dim = prop_def(INTEGER)
    slice_sizes = prop_def(INTEGERS)
    mode = prop_def(Word("raise", "clamp", "fill"))

    def can_fail(self) -> bool:
        return self.values()["mode"] == "raise"


@irdl_op_definition
class ScatterWindowsOp(ScatterOp):
    """
    Windows of `updates` combined with `x` at index vectors, with the dimension numbers of StableHLO's scatter.

    A window that is not inside of `x` is E6001 at run time (`mode = raise`), or its elements that are outside are left out
    (`drop`). `unique` promises that no element of `x` is updated twice.
    """

    name = "ptir.scatter_windows"
    EXTENSION: ClassVar = "the contract's scatter_add only adds, and only inside; scatter_reduce indexes one axis"
    RULE: ClassVar = staticmethod(shapes.scatter)
    RULE_TAKES: ClassVar = SCATTER_DIMS
    kind = prop_def(Word("add", "mul", "min", "max", "replace"))
    update_window_dims = prop_def(INTEGERS)
    inserted_window_dims = prop_def(INTEGERS)
    input_batching_dims = prop_def(INTEGERS)
    scatter_indices_batching_dims = prop_def(INTEGERS)
    scatter_dims_to_operand_dims = prop_def(INTEGERS)
    index_vector_dim = prop_def(INTEGER)
    mode = prop_def(Word("raise", "drop"))
    unique = prop_def(BOOLEAN)

    def can_fail(self) -> bool:
        return self.values()["mode"] == "raise"


def gather_dims(scatter: dict[str, Any]) -> dict[str, Any]:
    """
    The dimension numbers with which a gather reads what a scatter of these wrote.

    >>> names = dict.fromkeys(SCATTER_DIMS, (0,))
    >>> sorted(gather_dims(names)) == sorted(GATHER_DIMS)
    True
    """
    return {ours: scatter[theirs] for ours, theirs in zip(GATHER_DIMS, SCATTER_DIMS, strict=True)}


def scatter_dims(gather: dict[str, Any]) -> dict[str, Any]:
    """The dimension numbers with which a scatter writes where a gather of these read."""
    return {ours: gather[theirs] for ours, theirs in zip(SCATTER_DIMS, GATHER_DIMS, strict=True)}
