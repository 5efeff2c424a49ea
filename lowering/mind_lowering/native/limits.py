"""
The table of limits: of each kind of kernel, how sizes limit its units of work, or why it runs over the whole bound.

A kernel is limited along an axis of its grid where no more than a size is demanded (`demanded.py`) of all that it writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from xdsl.ir import SSAValue

from ..launch.limits import Limit
from .attention import AttentionStep
from .convolutions.convolution import ConvolutionStep
from .demanded import Demanded, Extents, shape_of
from .extremes_gradient import ExtremesGradient
from .first_extremes import FirstExtremes
from .fourier import FourierTransform
from .fourier_batches import FourierBatch
from .fourier_columns import FourierColumns
from .fourier_halves import FourierHalves
from .groups import Group
from .kernel_steps import Draw, IndexCheck, LaneSort, PrivateScatter, Scan, Scatter, Sort
from .matrix_steps import Factorization, LaneFactorization
from .products.kernels import BlockedStep, ProductStep
from .quicksort_steps import PartedSort
from .rows.step import Layout, RowStep
from .schedule import schedule_of
from .steps import Limited, NativeStep
from .systems import LinearSystem
from .target_info import TargetInfo

Row = Callable[[Any, Demanded, TargetInfo], Limited | str]
ALL = "all that it writes is demanded"
ONE = "it has no units of work along the axis of a size"


def limited(step: NativeStep, demanded: Demanded, host: TargetInfo) -> Limited | str:
    """Return how sizes limit a kernel, or why none does."""
    row = LIMITS[type(step)]
    return row if isinstance(row, str) else row(step, demanded, host)


def _group(step: Group, demanded: Demanded, host: TargetInfo) -> Limited | str:
    if step.partial is not None:
        return "it leaves parts of sums, which others add up"
    extents = _common(
        [*(_written(step, v, demanded) for v, _ in step.outputs), *(_sums(step, r.result, demanded) for r, _ in step.reductions)]
    )
    step.limited = frozenset(a for a, size in enumerate(extents) if size is not None)
    if not step.limited:
        return ALL
    schedule = schedule_of(host, step)
    found = [(size, limit) for a, size in enumerate(extents) if size is not None and (limit := schedule.limit(a)) is not None]
    if not found:
        step.limited = frozenset()
        return ONE
    return Limited(schedule.grid, found)


def _written(step: Group, value: SSAValue, demanded: Demanded) -> Extents:
    """Return what is demanded of a result along the axes of a group; all of a part of a larger value."""
    return demanded.along(value) if shape_of(value) == step.shape else (None,) * len(step.shape)


def _sums(step: Group, value: SSAValue, demanded: Demanded) -> Extents:
    """Return what is demanded of a reduction along the axes of a group; those that are reduced are read as a whole."""
    extents = demanded.along(value)
    if len(extents) == len(step.shape):
        return tuple([None if a in step.axes else e for a, e in enumerate(extents)])
    left = iter(extents)
    return tuple([None if a in step.axes else next(left, None) for a in range(len(step.shape))])


def _common(extents: Iterable[Extents]) -> Extents:
    """Return what is demanded of all of some values along each axis."""
    return tuple([each[0] if all(e is each[0] for e in each) else None for each in zip(*extents, strict=True)])


def _rows(step: RowStep, demanded: Demanded, host: TargetInfo) -> Limited | str:
    plan = step.plan
    if plan.columns:
        return "it leaves sums over its rows, which others add up"
    if Layout.of(plan, step.views, host).vectors:
        return "lanes run from row to row"
    outer = next((a for a, n in enumerate(plan.shape) if a not in plan.axes and n > 1), None)
    sizes = [_outermost(plan.shape, plan.axes, outer, demanded.along(value)) for value, _, _ in plan.outputs]
    size = sizes[0] if all(s is sizes[0] for s in sizes) else None
    if outer is None or size is None:
        return ALL
    units = -(-plan.rows // step.per_unit)
    return ONE if units == 1 else Limited([units], [(size, Limit(0, plan.rows // plan.shape[outer], step.per_unit))])


def _outermost(shape: Sequence[int], axes: Sequence[int], outer: int | None, extents: Extents) -> SSAValue | None:
    """Return what is demanded of a result of a row kernel along an axis; it may lack the axes of a row."""
    if outer is None:
        return None
    return extents[outer if len(extents) == len(shape) else outer - sum(a < outer for a in axes)]


def _product(step: ProductStep, demanded: Demanded, host: TargetInfo) -> Limited | str:
    product, cut = step.product, step.product.cut
    if step.part == "panels":
        size, grid, tile = product.limits[1], (*product.distinct, product.groups), cut.group * cut.columns
    elif step.part == "product" and cut.by_rows:
        size, grid, tile = product.limits[0], (*product.batch, product.row_blocks), cut.rows * cut.tiles
    elif step.part == "product":
        size, grid, tile = product.limits[1], (*product.batch, product.groups), cut.group * cut.columns
    else:
        return "its units of work are parts of sums" if step.part in ("stream", "sums") else ONE
    if size is None:
        return ALL
    return ONE if grid[-1] == 1 else Limited(grid, [(size.size, Limit(len(grid) - 1, size.scale, tile))])


def _attention(step: AttentionStep, demanded: Demanded, host: TargetInfo) -> Limited | str:
    size, span = step.scores.limits[0], step.scores.cut.rows * step.tiles
    grid = (*step.scores.batch, -(-step.scores.rows // span))
    if size is None:
        return ALL
    return ONE if grid[-1] == 1 else Limited(grid, [(size.size, Limit(len(grid) - 1, size.scale, span))])


LIMITS: Mapping[type[NativeStep], Row | str] = {
    Group: _group,
    RowStep: _rows,
    ProductStep: _product,
    AttentionStep: _attention,
    BlockedStep: "its units of work have all rows, which are few",
    FirstExtremes: "windows along an axis overlap",
    ExtremesGradient: "windows along an axis overlap",
    ConvolutionStep: "no axis of a convolution has a size of its own",
    LaneSort: "its units of work have lines far apart",
    PartedSort: "its units of work have lines far apart",
    Sort: "its units of work have lines far apart",
    FourierTransform: "a line is a unit of work",
    FourierBatch: "some lines are a unit of work",
    FourierColumns: "some columns are a unit of work",
    FourierHalves: "a part of a line is a unit of work",
    Factorization: "a matrix, or some of its columns, is a unit of work",
    LaneFactorization: "its units of work have matrices far apart",
    LinearSystem: "a matrix is a unit of work",
    Scan: "its units of work are runs of lines",
    IndexCheck: "all indices are checked",
    Scatter: "all updates are done",
    PrivateScatter: "all updates are done",
    Draw: "each number depends on its place among all",
}
"""By kind of kernel: its row, or why it is never limited."""
