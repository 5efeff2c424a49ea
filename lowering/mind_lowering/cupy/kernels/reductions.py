"""
Kernels that reduce: a team of threads per row where the last axes are reduced, else neighbouring threads for columns.

All reductions of a kernel go over the same axes of the same shape. Only rows that stay in registers may be reduced over both.
Many such rows are reduced over the first axes alone in the same way: a thread then reads several neighbouring elements at once.
"""

from __future__ import annotations

from math import prod

from xdsl.ir import Block

from mind_dialect.ptir import PtirOp, ReduceOp

from .body import Body, reduced_axes
from .column_sums import RowAndColumnSchedule
from .columns import ColumnSchedule
from .kernel import Schedule
from .places import spec
from .rows import RowSchedule
from .unsupported import Unsupported


def reduction_schedule(op: PtirOp, block: Block) -> Schedule:
    """The schedule of a body with reductions."""
    body = Body(block)
    body.check_size()
    shape = spec(body.reductions[0].x)[1]
    axes = {op: reduced_axes(op) for op in body.reductions}
    if any(spec(op.x)[1] != shape for op in axes):
        raise Unsupported("reductions of different shapes")
    if prod(shape) == 0:
        raise Unsupported("a reduction of nothing, or to nothing")
    kinds, all_axes = sorted(set(axes.values())), tuple(range(len(shape)))
    columns = [op for op, reduced in axes.items() if reduced == kinds[0] and isinstance(op, ReduceOp)]
    if len(kinds) == 1:
        if kinds[0] == all_axes[len(all_axes) - len(kinds[0]) :]:
            return RowSchedule(body, shape, kinds[0])
        if kinds[0] == all_axes[: len(kinds[0])] and len(columns) == len(axes):
            try:
                return RowAndColumnSchedule(body, shape, all_axes[len(kinds[0]) :], columns)
            except Unsupported:
                pass  # too few rows, or rows too long
        return ColumnSchedule(body, shape, kinds[0])
    if len(kinds) > 2 or kinds[0] + kinds[1] != all_axes or len(columns) + list(axes.values()).count(kinds[1]) != len(axes):
        raise Unsupported("reductions over different axes")
    return RowAndColumnSchedule(body, shape, kinds[1], columns)
