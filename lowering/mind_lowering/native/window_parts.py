"""
Windows of an operand with padding or holes, as parts whose loops read inside of the operand alone.

A window's places run from a first to a last one inside of the operand, and each part states along which axes that differs from
window to window. Where lanes run along an axis with padding, the windows inside of the operand are one part, and each of the few
others is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from math import inf

from mind_dialect import ptir
from mind_dialect.lazy_dataclass import dataclass

from .demanded import shape_of
from .schedule import NestSchedule
from .slides import Clip, Slide
from .views import View, window

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


def lane_parts(phase: WindowPhase, free: NestSchedule, clipped: NestSchedule) -> list[WindowPart] | str:
    """
    Return the parts of a phase so that lanes run where they run best, or why that would be too many.

    `free` is the schedule of all its windows as if all were inside of the operand, `clipped` as they are.
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


def _cost(schedule: NestSchedule) -> tuple[float, bool]:
    if schedule.along is None:
        return inf, True
    return schedule.axes[schedule.along].cost(schedule.lane_count())
