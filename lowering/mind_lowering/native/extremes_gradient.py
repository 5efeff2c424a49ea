"""
The gradient of the extremes of windows as one kernel, without windows, shares or borders in the arena.

Autodiff makes it a fusion of the pattern `window_extremes_gradient`. An element of `x` adds up the shares of the windows that
hold it and whose result it equals; a window's share is its adjoint over the number of its extremes. A unit of work is a band of
rows of the gradient: it walks along the first axis that windows slide along, computes the shares of one row of windows after the
other, and keeps as many rows as meet in an element on the stack (`extremes_gradient_loops.py`). The rows before a band are
computed twice, so that no two units write one element.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import groupby
from math import prod
from typing import TypeVar

from xdsl.ir import Block, SSAValue

from mind_dialect import ptir
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.legal import default_accumulator
from mind_dialect.ptir.types import Kind, PtirDType, known_extents, read_type
from mind_passes.derivatives.ptir.gathering import is_gathered
from mind_passes.derivatives.ptir.pooling import EXTREMES_GRADIENT, extremes_gradient
from mind_passes.derivatives.ptir.windows import Sliding, still

from ..launch.kernel_patterns import Match, Rejection
from ..ptir_optimize import simplify
from .groups import layout
from .memory import Access, buffers_of
from .nontemporal import LEAST, passing
from .patterns import Builder, Operands, moving
from .reasons import unsupported
from .schedule import ENOUGH
from .slides import Slide
from .steps import NativeStep
from .target_info import TargetInfo
from .views import Buffer, Indices, View

SCRATCH = 192 << 10
"""Bytes of results and shares of windows that a unit of work keeps on the stack, at most."""
MOST_SEGMENTS = 12
"""Copies of a loop body, at most: one for each way in which windows reach beyond the operand."""

T = TypeVar("T", bound=Hashable)


def segments(places: range, key: Sequence[T]) -> list[tuple[int, int, T]]:
    """
    Return runs of places of equal keys: the first place, the end, and the key.

    >>> segments(range(2, 6), "abba")
    [(2, 3, 'a'), (3, 5, 'b'), (5, 6, 'a')]
    """
    found = [(value, [place for place, _ in run]) for value, run in groupby(zip(places, key, strict=True), lambda pair: pair[1])]
    return [(run[0], run[-1] + 1, value) for value, run in found]


@dataclass(frozen=True)
class Overlap:
    """
    The windows that meet in elements along one axis.

    Elements are in blocks as long as the stride: element `block * stride + phase - low` is in the windows `block`, `block - 1`,
    ... at the places `phase`, `phase + stride`, ...
    """

    slide: Slide

    @property
    def meeting(self) -> int:
        """Return how many windows meet in an element, at most."""
        return -(-self.slide.window // self.slide.stride)

    @property
    def blocks(self) -> range:
        """Return the blocks that have elements."""
        low, stride = self.slide.low, self.slide.stride
        return range(low // stride, (low + self.slide.extent - 1) // stride + 1)

    @property
    def windows(self) -> range:
        """Return the windows of these blocks, some of which may not exist."""
        return range(self.blocks.start - self.meeting + 1, self.blocks.stop)

    def holding(self, phase: int) -> list[int]:
        """Return how many blocks before an element the windows that hold it begin, the furthest first."""
        return [v for v in reversed(range(self.meeting)) if phase + v * self.slide.stride < self.slide.window]

    @property
    def taps(self) -> list[tuple[int, int, tuple[int, int]]]:
        """Return runs of the windows that exist, each with the places of a window that are in the operand."""
        found = range(max(0, self.windows.start), min(self.slide.places, self.windows.stop))
        return segments(found, [self.slide.inside(place) for place in found])

    @property
    def phases(self) -> list[tuple[int, int, tuple[int, ...]]]:
        """Return runs of blocks, each with the phases whose elements are in the operand."""
        s = self.slide
        inside = [tuple(b for b in range(s.stride) if 0 <= a * s.stride + b - s.low < s.extent) for a in self.blocks]
        return segments(self.blocks, inside)


@dataclass
class ExtremesGradient(NativeStep):
    """The gradient `out` of the extremes `y` of windows of `x`, given the adjoints `g` of these."""

    name: str
    x: View
    y: View
    g: View
    out: View
    slides: Sequence[Slide]
    """By axis; along an axis that is still, windows have one place."""
    full: bool
    """True if each window has an extreme that is not padding."""
    total: PtirDType
    """The dtype of counts, shares and sums."""
    width: int
    """Number of lanes, along the last axis."""
    rows: int
    """Blocks of elements along the walk in a unit of work."""

    @property
    def overlaps(self) -> list[Overlap]:
        """Return how windows meet along each axis."""
        return [Overlap(slide) for slide in self.slides]

    @property
    def walk(self) -> int:
        """Return the axis that units of work walk along: the first one that windows slide along."""
        return walk_of(self.slides)

    @property
    def grid(self) -> list[int]:
        """Return the numbers of units of work: along each axis before the walk, and of bands."""
        return [*self.x.shape[: self.walk], -(-len(self.overlaps[self.walk].blocks) // self.rows)]

    @property
    def views(self) -> Sequence[View]:
        """Return operands and result in a fixed order."""
        return [self.x, self.y, self.g, self.out]

    @property
    def addresses(self) -> Sequence[View]:
        return [v for v in self.views if isinstance(v.base, Buffer)]

    def access(self) -> Access:
        bases = buffers_of(self.views)
        return Access(bases[:-1], bases[-1:])

    def past(self, cache: int = LEAST) -> bool:
        """Return whether the gradient is written by non-temporal stores, as `passing` does."""
        return passing([self.x, self.y, self.g], [self.out], cache)[0]

    def key(self) -> Hashable:
        views = tuple([layout(v) for v in self.views])
        return views, self.x.shape, tuple(self.slides), self.full, self.width, self.rows, self.past()

    def contents(self) -> str:
        windows, places = ("x".join(str(getattr(s, n)) for s in self.slides) for n in ("window", "places"))
        band = f"{self.rows} of {len(self.overlaps[self.walk].blocks)} blocks of rows at a time"
        return f"gradient of the extremes of windows {windows} over {places}, {band}"


def walk_of(slides: Sequence[Slide]) -> int:
    """Return the first axis that windows slide along."""
    return next(i for i, s in enumerate(slides) if (s.window, s.stride, s.low, s.extent) != (1, 1, 0, s.places))


def sliding_of(op: ptir.FusionOp) -> tuple[Sliding, ...] | None:
    """Return how windows slide along each axis if a fusion is their gradient, in the form that autodiff makes it."""
    body = op.body.block
    if op.values()["pattern"] != EXTREMES_GRADIENT or len(body.args) != 3:
        return None
    specs = [read_type(v.type) for v in (*body.args, *op.results)]
    if not all(s.is_static and s.dtype is specs[0].dtype and s.dtype.kind is Kind.FLOAT for s in specs):
        return None
    x, y = (known_extents(v.type) for v in body.args[:2])
    axes = next(
        (found for o in body.ops if isinstance(o, ptir.ExtractPatchesOp) and (found := _axes(o, body.args[0], x, y))), None
    )
    if axes is None or not is_gathered(axes):
        return None
    args = Block(arg_types=body.arg_types).args
    expected = extremes_gradient(args[0], args[1], args[2], axes)
    is_known = op.body.is_structurally_equivalent(expected.body)
    if not is_known:  # each may be in canonical form, or not yet
        given = op.clone()
        simplify(given)
        simplify(expected)
        is_known = given.body.is_structurally_equivalent(expected.body)
        given.erase()
    expected.erase()
    return axes if is_known else None


def _axes(op: ptir.ExtractPatchesOp, x: SSAValue, shape: Sequence[int], places: Sequence[int]) -> tuple[Sliding, ...] | None:
    """Return how the windows slide that patches of `x`, maybe with a border, are; None if they slide along the last axis."""
    source, values = op.x, op.values()
    pads = {"low": (0,) * len(shape), "high": (0,) * len(shape)}
    while isinstance(owner := source.owner, ptir.ReshapeOp | ptir.PadOp):
        pads = owner.values() if isinstance(owner, ptir.PadOp) else pads
        source = owner.operands[0]
    first = len(shape) - 1 - len(values["window"])
    if source is not x or first < 0 or len(places) != len(shape):
        return None
    found = [still(n) for n in shape[:first]]
    each = zip(*(values[n] for n in ("window", "strides", "padding", "dilation")), strict=True)
    for i, (window, stride, (low, high), dilation) in enumerate(each, first):
        before, after = low + pads["low"][i], high + pads["high"][i]
        found.append(Sliding(shape[i], places[i], window, stride, before, after, 1, dilation))
    found.append(still(shape[-1]))
    fits = all(a.o == (a.low + a.n + a.high - a.reach) // a.stride + 1 for a in found)
    return tuple(found) if fits else None


def planned_step(op: ptir.FusionOp, host: TargetInfo) -> ExtremesGradient | str:
    """Return the kernel of a fusion, its operands and its result in no memory; or why it has none."""
    axes, (x, y, g, out) = sliding_of(op), _anywhere(op)
    if axes is None:
        return "it is not the gradient of extremes of windows along axes before the last one"
    if any(a.dilation > 1 < a.window for a in axes):
        return "windows are dilated"
    total, n = default_accumulator(x.dtype), x.shape[-1]
    if (reason := unsupported([x.dtype], host)) is not None:
        return reason
    width = host.lanes(total.size)
    if n < width:
        return f"the last axis has {n} elements, fewer than the {width} lanes"
    slides = [Slide(a.n, a.o, a.window, a.stride, 1, a.low) for a in axes]
    overlaps, walk = [Overlap(s) for s in slides], walk_of(slides)
    if max(prod(len(o.taps) for o in overlaps), prod(len(o.phases) for o in overlaps)) > MOST_SEGMENTS:
        return "windows reach beyond the operand in too many ways"
    kept = overlaps[walk].meeting * prod(len(o.windows) for o in overlaps[walk + 1 : -1]) * -(-n // width) * width
    if 2 * total.size * kept > SCRATCH:
        return "rows of shares are too long for the stack"
    blocks, before = len(overlaps[walk].blocks), overlaps[walk].meeting - 1
    bands = max(1, min(-(-ENOUGH // prod(x.shape[:walk])), blocks // max(1, 6 * before)))
    full, rows = all(a.full for a in axes), -(-blocks // bands)
    name = op.results[0].name_hint or EXTREMES_GRADIENT
    return ExtremesGradient(name, x, y, g, out, slides, full, total, width, rows)


def is_extremes_gradient(op: ptir.FusionOp, host: TargetInfo) -> bool:
    """Return whether a fusion is the gradient of extremes of windows, and has a kernel here."""
    if op.values()["pattern"] != EXTREMES_GRADIENT:
        return False
    return isinstance(planned_step(op, host), ExtremesGradient)


def _anywhere(op: ptir.FusionOp) -> list[View]:
    """Return views of the types of the operands and the result of a fusion, in no memory."""
    specs = [(read_type(v.type).dtype, known_extents(v.type)) for v in (*op.operands, *op.results)]
    return [View(Indices(), dtype, shape, (0,) * len(shape)) for dtype, shape in specs]


def match_extremes_gradient(op: ptir.FusionOp, operands: Operands, host: TargetInfo) -> Match | Rejection:
    """Match a fusion that is the gradient of extremes of windows."""
    if op.values()["pattern"] != EXTREMES_GRADIENT:
        return Rejection("it is not the gradient of extremes of windows")
    found = planned_step(op, host)
    return Rejection(found) if isinstance(found, str) else Match(moving([*op.operands, *op.results]), found)


def expand_extremes_gradient(build: Builder, op: ptir.FusionOp, match: Match) -> None:
    """Append the kernel."""
    ending = op.body.block.last_op
    assert ending is not None, "verified"
    x, y, g = ((value, build.view(value)) for value in op.body.block.args)
    operands = {"x": _readable(build, *x, in_rows=True), "y": _readable(build, *y), "g": _readable(build, *g)}
    step: ExtremesGradient = match.schedule
    build.add(replace(step, **operands, out=build.target(ending.operands[0])))


def _readable(build: Builder, value: SSAValue, view: View, *, in_rows: bool = False) -> View:
    """Return a view without lookups, `in_rows` one in memory that is consecutive along the last axis; if need be of a copy."""
    fits = not view.lookups and (not in_rows or (isinstance(view.base, Buffer) and view.strides[-1] == 1))
    return view if fits else build.copied(value, view)
