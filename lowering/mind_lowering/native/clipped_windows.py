"""
Reductions of windows that reach beyond their operand, or over holes in it, without a copy of it that has a border or holes.

Padding and holes hold the identity of the reduction, so they are skipped, and the order of what is read does not change. Loops
over the places of a window have bounds that depend on the window (`Nest.bounds`). A vector, however, reads neighbouring windows
at one place: where lanes run along an axis with padding, the windows inside of the operand form one kernel, and each of the few
others forms one. With a base dilation, results at equal places modulo it are a phase, whose windows have no holes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import inf, prod

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
from .reductions import identity_of
from .slides import MOST_PHASES, Clip, Slide, phases_along
from .target_info import TargetInfo
from .views import Buffer, Use, View, filled, literal_of, whole, window

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

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the number of windows along each axis, then that of places in them."""
        return (*self.counts, *(end - first for first, end in self.taps))

    def along(self, axis: int, start: int, count: int, taps: tuple[int, int]) -> WindowPart:
        """Return the part of these windows that has `count` from `start` on along an axis, without clipping there."""
        return WindowPart(
            [start if a == axis else n for a, n in enumerate(self.starts)],
            [count if a == axis else n for a, n in enumerate(self.counts)],
            [taps if a == axis else t for a, t in enumerate(self.taps)],
            [a != axis and c for a, c in enumerate(self.clipped)],
        )


@dataclass(frozen=True)
class WindowPhase:
    """Windows that move alike: along each axis every `steps[i]`-th result from `first[i]` on, and how these windows slide."""

    first: Sequence[int]
    steps: Sequence[int]
    slides: Sequence[Slide]

    @property
    def every(self) -> WindowPart:
        """Return all windows of this phase as one part."""
        slides = self.slides
        starts, counts, taps = [0] * len(slides), [s.places for s in slides], [(0, s.window) for s in slides]
        return WindowPart(starts, counts, taps, [not s.is_inside for s in slides])

    def view(self, part: WindowPart, source: View) -> View:
        """Return the places of the windows of a part in the operand: of axes that are clipped, as if nothing was before it."""
        each = zip(self.slides, part.starts, part.taps, part.clipped, strict=True)
        starts = [0 if c else start * s.stride - s.low + first * s.dilation for s, start, (first, _), c in each]
        outer = tuple(s * slide.stride for s, slide in zip(source.strides, self.slides, strict=True))
        inner = tuple(s * slide.dilation for s, slide in zip(source.strides, self.slides, strict=True))
        offset = source.offset + sum(n * s for n, s in zip(starts, source.strides, strict=True))
        return View(source.base, source.dtype, part.shape, outer + inner, offset)

    def clips(self, part: WindowPart) -> list[Clip]:
        """Return the axes of a part along which its windows reach beyond the operand."""
        rank = len(self.slides)
        return [Clip(a, rank + a, slide) for a, (slide, c) in enumerate(zip(self.slides, part.clipped, strict=True)) if c]

    def results(self, view: View) -> View:
        """Return this phase of a view of all results."""
        return window(view, self.first, [slide.places for slide in self.slides], self.steps)

    def along(self, axis: int, places: range) -> WindowPhase:
        """Return the windows of this phase at some places of an axis."""
        slide = self.slides[axis]
        fewer = replace(slide, places=len(places), low=slide.low - places.start * slide.stride)
        first = [n + places.start * step * (a == axis) for a, (n, step) in enumerate(zip(self.first, self.steps, strict=True))]
        return WindowPhase(first, self.steps, [fewer if a == axis else s for a, s in enumerate(self.slides)])


@dataclass
class WindowSchedule:
    """The kernels of a reduction of windows."""

    parts: list[tuple[WindowPhase, WindowPart, bool]] = field(default_factory=list[tuple[WindowPhase, WindowPart, bool]])
    """Windows of a phase, and whether lanes run along them."""
    nothing: list[WindowPhase] = field(default_factory=list[WindowPhase])
    """Windows of padding and holes alone."""


def whole_phase(op: ptir.ReduceWindowOp | ptir.WindowArgOp) -> WindowPhase:
    """Return all windows of an op without a base dilation."""
    values, lows = op.values(), [low for low, _ in op.values()["padding"]]
    names = ("window_dims", "strides", "window_dilation")
    each = zip(shape_of(op.x), shape_of(op.result), *(values[name] for name in names), lows, strict=True)
    return WindowPhase([0] * len(lows), [1] * len(lows), [Slide(*axis) for axis in each])


def _phases(op: ptir.ReduceWindowOp) -> list[WindowPhase]:
    """Return the phases of the base dilation of an op; one if there is none."""
    values = op.values()
    lows = [low for low, _ in values["padding"]]
    extents, places, bases, taps = shape_of(op.x), shape_of(op.result), values["base_dilation"], values["window_dims"]
    if all(b == 1 for b in bases):
        return [whole_phase(op)]
    axes = [phases_along(*axis) for axis in zip(extents, places, taps, bases, lows, strict=True)]
    return [
        WindowPhase([r for r, *_ in each], [b for _, _, b, _ in each], [slide for *_, slide in each]) for each in product(*axes)
    ]


def match_clipped(op: ptir.ReduceWindowOp, operands: Operands, host: TargetInfo) -> Match | Rejection:
    """Match a reduction of windows some of which reach beyond the operand, or over holes between its elements."""
    values, source = op.values(), operands.views.get(op.x)
    count = prod(values["base_dilation"])
    if count > 1 and any(n != 1 for n in (*values["strides"], *values["window_dilation"])):
        return Rejection("a stride or a window dilation in addition to the base dilation")
    if count > MOST_PHASES:
        return Rejection(f"{count} phases of the base dilation, more than {MOST_PHASES}")
    phases = _phases(op)
    if 0 in (*shape_of(op.x), *shape_of(op.result)) or (count == 1 and all(slide.is_inside for slide in phases[0].slides)):
        return Rejection("no window reaches beyond the operand")
    if source is None or not isinstance(source.base, Buffer) or source.lookups:
        return Rejection("the operand is not in memory")
    found, out = WindowSchedule(), whole(Buffer(Use.ARENA, -1, source.dtype, 0), shape_of(op.result))
    for phase in phases:
        met = met_windows(phase, found.nothing)
        reason = None if met is None else _add(found, op, met, source, out, host)
        if reason is not None:
            return Rejection(reason)
    return Match(moving([op.x, op.result]), found)


def met_windows(phase: WindowPhase, nothing: list[WindowPhase]) -> WindowPhase | None:
    """Return the windows of a phase that meet elements along axes where windows have one place; append others to `nothing`."""
    for axis, slide in enumerate(phase.slides):
        if slide.window > 1 or (slide.window == 1 and slide.is_inside):
            continue
        inside = slide.whole if slide.window else range(0)
        outside = (range(inside.start), range(inside.stop, slide.places)) if inside else (range(slide.places),)
        nothing += [phase.along(axis, places) for places in outside if places]
        if not inside:
            return None
        phase = phase.along(axis, inside)
    return phase


def _add(
    found: WindowSchedule, op: ptir.ReduceWindowOp, phase: WindowPhase, source: View, out: View, host: TargetInfo
) -> str | None:
    """
    Add the parts of a phase to a schedule, or return why there are none.

    They are one part, or where lanes run best along an axis with padding, this axis is split.
    """
    every = phase.every
    clipped = group_of(op, phase, every, source, out)
    free = replace(clipped, clips=())
    if is_cut_up(host, free):
        return "windows are reduced part by part"
    best = _nest(host, free)
    keeps = best.lanes_are_kept
    if not keeps and op.values()["kind"] == "sum" and source.dtype.kind is Kind.FLOAT:
        return "lanes run along the places of a window, in an order that sums of floats depend on"
    parts = lane_parts(phase, best, _nest(host, replace(clipped, keeps_lanes=keeps)))
    if isinstance(parts, str):
        return parts
    found.parts += [(phase, part, keeps) for part in parts]
    return None


def lane_parts(phase: WindowPhase, free: Nest, clipped: Nest) -> list[WindowPart] | str:
    """
    Return the parts of a phase so that lanes run where they run best, or why that would be too many.

    `free` is the nest of all its windows as if all were inside of the operand, `clipped` as they are.
    """
    every = phase.every
    if free.along is None or _cost(clipped) <= _cost(free):
        return [every]
    first, rank = free.axes[free.along].first, len(phase.slides)
    end = min((a.first for a in free.axes if a.first > first), default=2 * rank)
    axis = max(a % rank for a in range(first, end) if every.clipped[a % rank])
    return _split(every, axis, phase.slides[axis])


def _split(every: WindowPart, axis: int, slide: Slide) -> list[WindowPart] | str:
    """Return the windows that are inside of the operand along an axis as one part, and each other one as one."""
    inside = slide.whole
    borders = [p for p in range(slide.places) if p not in inside]
    if len(borders) > MOST_BORDERS:
        return f"{len(borders)} windows reach beyond the operand along the lanes, more than {MOST_BORDERS}"
    parts = [every.along(axis, inside.start, len(inside), (0, slide.window))] if inside else []
    return parts + [every.along(axis, p, 1, slide.inside(p)) for p in borders]


def _nest(host: TargetInfo, group: Group) -> Nest:
    return Nest(LlvmModule("").function("", "i64", []), host, group, Sites())


def _cost(nest: Nest) -> tuple[float, bool]:
    return (inf, True) if nest.along is None else nest.axes[nest.along].cost(nest.lane_count())


def group_of(op: ptir.ReduceWindowOp, phase: WindowPhase, part: WindowPart, source: View, out: View) -> Group:
    """Return the reduction of some windows as one kernel, with results where those of all windows lie."""
    values, rank, view = op.values(), len(phase.slides), phase.view(part, source)
    total: PtirDType = values["accum_dtype"] or default_accumulator(source.dtype)
    block = Block(arg_types=[tensor_type(source.dtype, view.shape)])
    made = ptir.ReduceOp(block.args[0], kind=values["kind"], axes=tuple(range(rank, 2 * rank)), keepdims=False, accum_dtype=total)
    block.add_op(made)
    target = window(phase.results(out), part.starts, part.counts, [1] * rank)
    name, reductions = group_name([made], [op.result]), [(made, target)]
    return Group(name, view.shape, {block.args[0]: view}, reductions=reductions, clips=phase.clips(part))


def expand_clipped(build: Builder, op: ptir.ReduceWindowOp, match: Match) -> None:
    """Append the kernels of the parts."""
    schedule: WindowSchedule = match.schedule
    source, out = build.view(op.x), build.target(op.result)
    for phase in schedule.nothing:
        target = phase.results(out)
        build.copy(op.result, filled(literal_of(out.dtype, identity_of(op.values()["kind"], out.dtype)), target.shape), target)
    for phase, part, keeps in schedule.parts:
        group = replace(group_of(op, phase, part, source, out), keeps_lanes=keeps)
        build.keep += [value.owner for value in group.inputs if isinstance(value.owner, Block)]
        build.add(group)
