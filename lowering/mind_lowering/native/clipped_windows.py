"""
Reductions of windows that reach beyond their operand, without a copy of it that has a border.

Padding holds the identity of the reduction, so it is skipped, and the order of what is read does not change. Loops over the
places of a window have bounds that depend on the window (`Nest.bounds`). A vector, however, reads neighbouring windows at one
place: where lanes run along an axis with padding, the windows inside of the operand form one kernel, and each of the few others
forms one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

from xdsl.ir import Block

from mind_dialect import ptir
from mind_dialect.ptir.legal import default_accumulator
from mind_dialect.ptir.types import Kind, PtirDType, tensor_type

from ..launch.kernel_patterns import Match, Rejection
from .demanded import shape_of
from .failures import Sites
from .grouping import group_name
from .groups import Group
from .ir import LlvmModule
from .loops import Nest
from .partials import is_cut_up
from .patterns import Builder, Operands, moving
from .slides import Clip, Slide
from .target_info import TargetInfo
from .views import Buffer, Use, View, whole, window

MOST_BORDERS = 8
"""Kernels for windows that reach beyond the operand along the lanes, at most."""


@dataclass(frozen=True)
class WindowPart:
    """
    Some windows: along each axis the first one, how many, and the places in them that are read.

    Along axes that are `clipped`, windows reach beyond the operand.
    """

    starts: Sequence[int]
    counts: Sequence[int]
    taps: Sequence[tuple[int, int]]
    clipped: Sequence[bool]

    def along(self, axis: int, start: int, count: int, taps: tuple[int, int]) -> WindowPart:
        """Return the part of these windows that has `count` from `start` on along an axis, without clipping there."""
        return WindowPart(
            [start if a == axis else n for a, n in enumerate(self.starts)],
            [count if a == axis else n for a, n in enumerate(self.counts)],
            [taps if a == axis else t for a, t in enumerate(self.taps)],
            [a != axis and c for a, c in enumerate(self.clipped)],
        )


@dataclass(frozen=True)
class WindowViews:
    """The operand, and the results of all windows."""

    source: View
    out: View


@dataclass(frozen=True)
class WindowSchedule:
    """The parts of all windows, and whether lanes run along windows."""

    parts: Sequence[WindowPart]
    keeps_lanes: bool


def slides_of(op: ptir.ReduceWindowOp) -> list[Slide]:
    """Return how windows move along each axis."""
    values = op.values()
    each = (values[name] for name in ("window_dims", "strides", "window_dilation"))
    lows = [low for low, _ in values["padding"]]
    return [Slide(*axis) for axis in zip(shape_of(op.x), shape_of(op.result), *each, lows, strict=True)]


def match_clipped(op: ptir.ReduceWindowOp, operands: Operands, host: TargetInfo) -> Match | Rejection:
    """Match a reduction of windows some of which reach beyond the operand; others are reduced as they are."""
    slides, source = slides_of(op), operands.views.get(op.x)
    if 0 in (*shape_of(op.x), *shape_of(op.result)) or all(slide.is_inside for slide in slides):
        return Rejection("no window reaches beyond the operand")
    if any(n != 1 for n in op.values()["base_dilation"]):
        return Rejection("a base dilation")
    if source is None or not isinstance(source.base, Buffer) or source.lookups:
        return Rejection("the operand is not in memory")
    if any(slide.window == 1 and not slide.is_inside for slide in slides):
        return Rejection("windows of one place over padding")
    out = whole(Buffer(Use.ARENA, -1, source.dtype, 0), shape_of(op.result))
    found = _parts(op, WindowViews(source, out), slides, host)
    return found if isinstance(found, Rejection) else Match(moving([op.x, op.result]), found)


def _parts(op: ptir.ReduceWindowOp, views: WindowViews, slides: Sequence[Slide], host: TargetInfo) -> WindowSchedule | Rejection:
    """Return the parts of all windows: one, or where lanes run best along an axis with padding, that axis split."""
    every = WindowPart(
        [0] * len(slides),
        [s.places for s in slides],
        [(0, s.window) for s in slides],
        [not s.is_inside for s in slides],
    )
    clipped = group_of(op, every, views, slides)
    free = replace(clipped, clips=())
    if is_cut_up(host, free):
        return Rejection("windows are reduced part by part")
    best = _nest(host, free)
    keeps = best.lanes_are_kept
    if not keeps and op.values()["kind"] == "sum" and views.source.dtype.kind is Kind.FLOAT:
        return Rejection("lanes run along the places of a window, in an order that sums of floats depend on")
    nest = _nest(host, replace(clipped, keeps_lanes=keeps))
    if best.along is None or _cost(nest) <= _cost(best):
        return WindowSchedule([every], keeps)
    first, rank = best.axes[best.along].first, len(slides)
    end = min((a.first for a in best.axes if a.first > first), default=2 * rank)
    axis = max(a % rank for a in range(first, end) if every.clipped[a % rank])
    parts = _split(every, axis, slides[axis])
    return parts if isinstance(parts, Rejection) else WindowSchedule(parts, keeps)


def _split(every: WindowPart, axis: int, slide: Slide) -> list[WindowPart] | Rejection:
    """Return the windows that are inside of the operand along an axis as one part, and each other one as one."""
    inside = slide.whole
    borders = [p for p in range(slide.places) if p not in inside]
    if len(borders) > MOST_BORDERS:
        return Rejection(f"{len(borders)} windows reach beyond the operand along the lanes, more than {MOST_BORDERS}")
    parts = [every.along(axis, inside.start, len(inside), (0, slide.window))] if inside else []
    return parts + [every.along(axis, p, 1, slide.inside(p)) for p in borders]


def _nest(host: TargetInfo, group: Group) -> Nest:
    return Nest(LlvmModule("").function("", "i64", []), host, group, Sites())


def _cost(nest: Nest) -> tuple[float, bool]:
    return (inf, True) if nest.along is None else nest.axes[nest.along].cost(nest.lane_count())


def group_of(op: ptir.ReduceWindowOp, part: WindowPart, views: WindowViews, slides: Sequence[Slide]) -> Group:
    """Return the reduction of some windows as one kernel, with results where those of all windows lie."""
    values, rank, source = op.values(), len(slides), views.source
    dtype: PtirDType = source.dtype
    total: PtirDType = values["accum_dtype"] or default_accumulator(dtype)
    shape = (*part.counts, *(end - first for first, end in part.taps))
    starts = [
        0 if is_clipped else start * s.stride - s.low + first * s.dilation
        for s, start, (first, _), is_clipped in zip(slides, part.starts, part.taps, part.clipped, strict=True)
    ]
    outer = tuple(s * slide.stride for s, slide in zip(source.strides, slides, strict=True))
    inner = tuple(s * slide.dilation for s, slide in zip(source.strides, slides, strict=True))
    offset = source.offset + sum(n * s for n, s in zip(starts, source.strides, strict=True))
    view = View(source.base, dtype, shape, outer + inner, offset)
    block = Block(arg_types=[tensor_type(dtype, shape)])
    made = ptir.ReduceOp(block.args[0], kind=values["kind"], axes=tuple(range(rank, 2 * rank)), keepdims=False, accum_dtype=total)
    block.add_op(made)
    clips = [Clip(a, rank + a, slide) for a, (slide, c) in enumerate(zip(slides, part.clipped, strict=True)) if c]
    target = window(views.out, part.starts, part.counts, [1] * rank)
    name, reductions = group_name([made], [op.result]), [(made, target)]
    return Group(name, shape, {block.args[0]: view}, reductions=reductions, clips=clips)


def expand_clipped(build: Builder, op: ptir.ReduceWindowOp, match: Match) -> None:
    """Append the kernels of the parts."""
    schedule: WindowSchedule = match.schedule
    views, slides = WindowViews(build.view(op.x), build.target(op.result)), slides_of(op)
    for part in schedule.parts:
        group = replace(group_of(op, part, views, slides), keeps_lanes=schedule.keeps_lanes)
        build.keep += [value.owner for value in group.inputs if isinstance(value.owner, Block)]
        build.add(group)
