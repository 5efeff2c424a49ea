"""
The row of `ptir.convolution`: which kernel computes it.

A window of one place without padding is a matrix product. Holes between the elements of the image are laid out in a copy first;
weights are copied panel by panel where many tiles read them, or where their columns do not lie side by side.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.legal import default_accumulator
from mind_dialect.ptir.types import Kind, PtirDType

from .convolutions import Convolution, Slide, choose
from .convolutions_loops import emit_convolution
from .failures import Sites
from .host import Host
from .ir import Function
from .kernels_windows import padded
from .memory import Access
from .nest import axes_of
from .products import TOTALS, planned, stored_in
from .products_kernels import steps_of
from .reasons import rounded_each_step, unsupported
from .steps import SharedStep
from .views import Buffer, Use, View, filled, whole

if TYPE_CHECKING:
    from .planner import Planner

FEW_TILES = 2
"""So many tiles at most read weights where they lie."""


@dataclass
class ConvolutionStep(SharedStep):
    """The kernel of a convolution."""

    convolution: Convolution

    def __post_init__(self) -> None:
        self.name = self.convolution.name

    @property
    def addresses(self) -> Sequence[View]:
        it = self.convolution
        return [it.lhs, it.weights, *it.epilogue.views]

    def access(self) -> Access:
        it = self.convolution
        reads = [v.base for v in (it.lhs, it.weights, *it.epilogue.reads) if isinstance(v.base, Buffer)]
        return Access(reads, [v.base for v in it.epilogue.writes if isinstance(v.base, Buffer)])

    def cost(self, host: Host) -> float:
        """Some three multiplications of vectors a nanosecond."""
        it = self.convolution
        return prod(it.out.shape) * it.depth / it.cut.width / 3

    def key(self) -> Hashable:
        return self.convolution.key()

    def emit(self, f: Function, host: Host, sites: Sites) -> int:
        units = emit_convolution(f, host, self.convolution, sites)
        f.ret("0")
        return units

    def contents(self) -> str:
        return self.convolution.describe()


def convolution(planner: Planner, op: ptir.ConvolutionOp) -> str | None:
    """Append a convolution; a reason if there is no kernel for its dtypes."""
    values, dtype = op.values(), op.operand_spec(0).dtype
    total: PtirDType = values["accum_dtype"] or default_accumulator(dtype)
    if reason := unsupported([dtype, total, op.result_spec().dtype], planner.host) or rounded_each_step("sum", total):
        return reason
    target = planner.target(op.result)
    if target.count == 0:
        return None
    lhs, rhs = (_in_memory(planner, value) for value in op.operands)
    if rhs.count == 0:
        planner.copy(op.result, filled(_zero(target.dtype), target.shape), target)
        return None
    edges: list[tuple[int, int]] = [(0, 0), *values["padding"], (0, 0)]
    holes = [0, *(n - 1 for n in values["base_dilation"]), 0]
    lows = [low for low, _ in values["padding"]]
    if any(holes):
        number = filled(_zero(dtype), ())
        lhs = padded(planner, op.operands[0], edges, holes, number)
        lows = [0] * len(lows)
    geometry = zip(
        lhs.shape[1:-1], target.shape[1:-1], rhs.shape[:-2], values["strides"], values["window_dilation"], lows, strict=True
    )
    slides = [Slide(*each) for each in geometry]
    groups: int = values["feature_group_count"]
    if groups == 1 and total in TOTALS and all(s.window == 1 and s.is_inside for s in slides):
        _product(planner, op, (lhs, rhs, target), slides, total)
        return None
    add_convolution(planner, op, (lhs, rhs, target), slides, groups, total)
    return None


def add_convolution(
    planner: Planner,
    op: ptir.ConvolutionOp,
    views: tuple[View, View, View],
    slides: Sequence[Slide],
    groups: int,
    total: PtirDType,
) -> None:
    """Append the kernel that slides, and the copy of its weights."""
    lhs, rhs, out = views
    by_channel = rhs.shape[-2] == 1 and groups > 1 and out.shape[-1] == groups
    groups = 1 if by_channel else groups
    cut = choose(planner.host, out.shape, out.shape[-1] // groups, total, slides, by_channel=by_channel)
    name = op.result.name_hint or "convolution"
    made = Convolution(name, lhs, rhs, out, total, slides, groups, by_channel, cut, stored_in(out, total))
    tiles = prod(made.extents) * -(-out.shape[cut.along] // cut.rows)
    if not by_channel and (rhs.strides[-1] != 1 or (made.panels > 1 and tiles > FEW_TILES)):
        made.packed = _packed(planner, op.operands[1], made)
    planner.add(ConvolutionStep(made))


def _packed(planner: Planner, value: SSAValue, it: Convolution) -> View:
    """Weights copied panel by panel; where the last panel has fewer columns, what is after them is not read."""
    rhs, cut, count = it.rhs, it.cut, it.columns
    *window, step, across = rhs.strides
    inner = rhs.shape[:-1]
    shape = (it.groups, it.panels, *inner, cut.columns)
    target = whole(planner.buffer(Use.ARENA, rhs.dtype, prod(shape), f"{it.name}.panels"), shape)
    strides = (across * count, across * cut.columns, *window, step, across)
    full, rest = divmod(count, cut.columns)
    for panels, first, columns in ((full, 0, cut.columns), (1, full, rest)):
        if panels and columns:
            extents = (it.groups, panels, *inner, columns)
            source = View(rhs.base, rhs.dtype, extents, strides, rhs.offset + first * cut.columns * across)
            to = View(target.base, rhs.dtype, extents, target.strides, first * target.strides[1])
            planner.copy(value, source, to)
    return target


def _product(
    planner: Planner, op: ptir.ConvolutionOp, views: tuple[View, View, View], slides: Sequence[Slide], total: PtirDType
) -> None:
    """Windows of one place: every `stride`-th place of the image, as rows of a product."""
    lhs, rhs, out = views
    moved = [lhs.strides[0], *(s * slide.stride for s, slide in zip(lhs.strides[1:-1], slides, strict=True))]
    joined = axes_of(out.shape[:-1], (), [moved, out.strides[:-1]]) or axes_of((1,), (), [(0,), (0,)])
    rows = [(axis.extent, *axis.strides) for axis in joined] or [(1, 0, 0)]
    batch, (count, step, place) = rows[:-1], rows[-1]
    extents = tuple(n for n, _, _ in batch)
    depth, columns = rhs.shape[-2:]
    a = View(lhs.base, lhs.dtype, (*extents, count, depth), (*(s for _, s, _ in batch), step, lhs.strides[-1]), lhs.offset)
    b = View(rhs.base, rhs.dtype, (*extents, depth, columns), (*[0] * len(batch), *rhs.strides[-2:]), rhs.offset)
    c = View(out.base, out.dtype, (*extents, count, columns), (*(s for _, _, s in batch), place, out.strides[-1]), out.offset)

    def scratch(dtype: PtirDType, size: int, name: str) -> Buffer:
        return planner.buffer(Use.ARENA, dtype, size, name)

    for part in steps_of(planned(planner.host, op.result.name_hint or "convolution", a, b, c, total, scratch)):
        planner.add(part)


def _in_memory(planner: Planner, value: SSAValue) -> View:
    """A value where it lies, or where nothing does, copied."""
    view = planner.view(value)
    return view if isinstance(view.base, Buffer) and not view.lookups else planner.copied(value, view)


def _zero(dtype: PtirDType) -> PtirLiteralAttr:
    return PtirLiteralAttr.from_values(dtype, (), (0.0 if dtype.kind is Kind.FLOAT else 0,))
