"""
Reductions with few results, cut up: each part of a reduced axis gives partial results, which a second kernel folds.

A kernel's units of work are places of its results, so one that sums everything has one unit, which threads cannot share. Into how
many parts it is cut depends on shapes and on the kind of machine alone, so results do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from xdsl.ir import Block

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import ReduceOp
from mind_dialect.ptir.types import tensor_type
from mind_passes.ptir.building import accumulator

from ..launch.ref import row_major
from ..launch.views import Ints
from .groups import Group
from .schedule import ENOUGH, NestSchedule
from .target_info import TargetInfo
from .values import Values
from .views import Use, View, whole

LEAST_WORK = 40_000
"""Nanoseconds of work from which on a reduction is cut up."""
LEAST_PART = 1 << 13
"""Elements of a part, at least."""
LEAST_ROWS = 8
"""Elements that a part sums up for each result, at least: else the second kernel has as much to do as the first."""
ALIGNED = 64
"""Parts of the innermost axis are multiples of this, where that can be."""


@dataclass(frozen=True)
class AxisCut:
    """`count` parts of `size` elements along an axis, and `rest` elements more, which are a part too."""

    axis: int
    count: int
    size: int
    rest: int

    @property
    def parts(self) -> int:
        """Return the number of parts."""
        return self.count + bool(self.rest)


def is_cut_up(host: TargetInfo, group: Group) -> bool:
    """Return whether a group has reductions, too few units of work, and much to do."""
    return _axis_cut(host, group) is not None


def cut_up(values: Values, group: Group) -> list[Group]:
    """A group as the groups that do its work: itself, unless it is cut up."""
    cut = _axis_cut(values.host, group)
    if cut is None:
        return [group]
    kept = tuple(n for a, n in enumerate(group.shape) if a not in group.axes)
    totals: list[View] = []
    for reduction, _ in group.reductions:
        buffer = values.buffer(Use.ARENA, accumulator(reduction), cut.parts * prod(kept), reduction.result.name_hint or "partial")
        totals.append(whole(buffer, (cut.parts, *kept)))
    found = [_part(group, cut, totals, 0, cut.count, cut.size)]
    if cut.rest:
        found.append(_part(group, cut, totals, cut.count, 1, cut.rest))
    return [*found, _fold(values, group, totals, kept)]


def _axis_cut(host: TargetInfo, group: Group) -> AxisCut | None:
    """Return the axis cut of a group, if one is worth it; clipped windows differ from place to place, and are not cut."""
    is_long = group.reductions and prod(group.shape) and group.cost(host) >= LEAST_WORK
    if group.clips or not is_long:
        return None
    schedule = NestSchedule(host, group)
    reduced = [a for a in group.axes if group.shape[a] > 1]
    rows = prod(group.shape[a] for a in reduced)
    wanted = min(-(-ENOUGH // schedule.units), prod(group.shape) // (LEAST_PART * schedule.units), rows // LEAST_ROWS)
    if schedule.units >= ENOUGH // 4 or wanted < 2:
        return None
    axis = next((a for a in reduced if group.shape[a] >= wanted), max(reduced, key=lambda a: group.shape[a]))
    extent, inner = group.shape[axis], all(group.shape[a] == 1 for a in reduced if a > axis)
    wanted = min(wanted, extent)
    unit = ALIGNED if inner and not schedule.lanes_are_kept and extent >= wanted * ALIGNED else 1
    even = [n for n in range(-(-wanted // 2), 2 * wanted + 1) if extent % n == 0 and extent // n % unit == 0]
    if even:
        count = min(even, key=lambda n: (abs(n - wanted), n))
        return AxisCut(axis, count, extent // count, 0)
    size = -(-(extent // wanted) // unit) * unit
    return AxisCut(axis, extent // size, size, extent % size)


def _part(group: Group, cut: AxisCut, totals: Sequence[View], first: int, count: int, size: int) -> Group:
    """The group on some parts of one size, with partial results as they are accumulated."""
    axis, start = cut.axis, first * cut.size
    shape = (*group.shape[:axis], count, size, *group.shape[axis + 1 :])
    axes = tuple(a + 1 if a >= axis else a for a in group.axes)
    reductions: list[tuple[ReduceOp, View]] = []
    for (reduction, _), total in zip(group.reductions, totals, strict=True):
        strides = iter(total.strides[1:])
        spread = tuple(total.strides[0] if a == axis else 0 if a in axes else next(strides) for a in range(len(shape)))
        reductions.append((reduction, View(total.base, total.dtype, shape, spread, first * total.strides[0])))
    return replace(
        group,
        name=f"{group.name}.parts" if count > 1 or not first else f"{group.name}.rest",
        shape=shape,
        inputs={value: _split(view, axis, start, count, size) for value, view in group.inputs.items()},
        outputs=[(value, _split(view, axis, start, count, size)) for value, view in group.outputs],
        tables={op: _split(view, axis, start, count, size) for op, view in group.tables.items()},
        reductions=reductions,
        partial=axes,
    )


def _split(view: View, axis: int, start: int, count: int, size: int) -> View:
    """A view from a place of an axis on, that axis as two: parts, and elements of a part."""
    stride = view.strides[axis]
    return replace(
        view,
        shape=(*view.shape[:axis], count, size, *view.shape[axis + 1 :]),
        strides=(*view.strides[:axis], stride * size, stride, *view.strides[axis + 1 :]),
        offset=view.offset + start * stride,
        lookups=tuple(replace(k, index=k.index and _split(k.index, axis, start, count, size)) for k in view.lookups),
    )


def _fold(values: Values, group: Group, totals: Sequence[View], kept: Ints) -> Group:
    """The group that folds partial results, in their order."""
    shape = totals[0].shape
    block = Block(arg_types=[tensor_type(total.dtype, shape) for total in totals])
    values.keep.append(block)
    made = Group(f"{group.name}.fold", shape)
    for (reduction, target), total, argument in zip(group.reductions, totals, block.args, strict=True):
        argument.name_hint = reduction.result.name_hint
        made.inputs[argument] = total
        fold = ReduceOp(
            argument,
            kind=reduction.values()["kind"],
            axes=(0,),
            keepdims=False,
            accum_dtype=total.dtype,
            out_dtype=target.dtype,
        )
        fold.result.name_hint = reduction.result.name_hint
        block.add_op(fold)
        if target.shape != kept:
            assert target.is_dense, "results with other axes are in row-major order"
            target = replace(target, shape=kept, strides=row_major(kept))
        made.reductions.append((fold, target))
    return made
