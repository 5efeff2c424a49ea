"""
The rows of `ptir.convolution`: which kernels compute it.

A window of one place without padding is a matrix product. An image with holes between its elements is convolved by phases; where
these are rejected, the holes are laid out in a copy first. Weights are copied panel by panel where many tiles read them, or where
their columns do not lie side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

from xdsl.ir import Block, SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import PtirLiteralAttr, PtirOp
from mind_dialect.ptir.types import I1, Kind, PtirDType, tensor_type
from mind_passes.ptir.building import accumulator

from ...launch.kernel_patterns import Match, Rejection
from ...launch.ref import row_major
from ...launch.views import Ints
from ..kernels_windows import padded
from ..nest import Axis, axes_of
from ..patterns import Builder, Operands, in_memory, moving
from ..products import cut as products_cut
from ..products.chain import Epilogue, stored_in
from ..products.kernels import ProductStep, add_matrices
from ..products.product import TOTALS, Product
from ..reasons import rounded_each_step, unsupported
from ..slides import Slide
from ..target_info import LINE, WAYS, TargetInfo
from ..views import Buffer, Use, View, broadcast, filled, literal_of, whole, window
from .blocks import in_blocks
from .convolution import Convolution, ConvolutionStep, choose, is_long
from .phases import Phase, phases_of, why_no_phases

FEW_TILES = 8
"""So many tiles at most read weights where they lie, unless these are packed once for many calls."""
Follow = Callable[[Sequence[View]], Epilogue]
"""Builder of an epilogue, given the views that it needs in the axes that results are computed in."""
Append = Callable[[Builder, ptir.ConvolutionOp, Sequence[View], Follow], None]
"""Appends the steps of a convolution: all of it in one kernel, or by phases."""


def match_phases(op: ptir.ConvolutionOp, operands: Operands, host: TargetInfo) -> Match | Rejection:
    """Match a convolution that is computed by phases of its base dilation."""
    reason = why_no_phases(op)
    return Match(moving([*op.operands, *op.results])) if reason is None else Rejection(reason)


def expand_phases(build: Builder, op: ptir.ConvolutionOp, match: Match) -> None:
    """Append a convolution of known dtypes, phase by phase."""
    _expand(build, op, append_by_phases)


def expand_convolution(build: Builder, op: ptir.ConvolutionOp) -> None:
    """Append a convolution of known dtypes."""
    _expand(build, op, append)


def _expand(build: Builder, op: ptir.ConvolutionOp, how: Append) -> None:
    empty = 0 in build.shape(op.result) or 0 in build.shape(op.rhs)
    if not empty and is_long(op):
        _in_blocks(build, op)
        return
    target = build.target(op.result)
    if target.count == 0:
        return
    if empty:
        build.copy(op.result, filled(literal_of(target.dtype, 0), target.shape), target)
        return
    how(build, op, [target], lambda views: stored_in(views[0], accumulator(op)))


def why_no_convolution(op: ptir.ConvolutionOp, host: TargetInfo) -> str | None:
    """Return the reason why there is no kernel for the dtypes of a convolution."""
    total = accumulator(op)
    return unsupported([op.operand_spec(0).dtype, total, op.result_spec().dtype], host) or rounded_each_step("sum", total)


def append(build: Builder, op: ptir.ConvolutionOp, views: Sequence[View], follow: Follow) -> None:
    """
    Append the steps of a convolution of known dtypes; no extent is 0.

    `views`, of the shape of the result, are what `follow` needs; the first is one that it writes.
    """
    total, groups = accumulator(op), op.values()["feature_group_count"]
    lhs, rhs, slides = _operands(build, op)
    if _is_product(slides, total, groups):
        _product(build, op, (lhs, rhs), slides, views, follow)
    else:
        _windows(build, op, _convolution(build, op, (lhs, rhs, views[0]), slides, groups, follow(views)))


def append_by_phases(build: Builder, op: ptir.ConvolutionOp, views: Sequence[View], follow: Follow) -> None:
    """Append the steps of a convolution as `append` does, one convolution for each phase of its base dilation."""
    total, groups = accumulator(op), op.values()["feature_group_count"]
    lhs, rhs = _image(build, op), in_memory(build, op.rhs)
    phases = phases_of(op)
    starts = _skipped_sums(build, op, rhs, phases)
    for phase, start in zip(phases, starts, strict=True):
        parts, weights, slides = [phase.results(view) for view in views], phase.weights(rhs), phase.slides
        if 0 in phase.taps:
            _windows(build, op, _constant_results(build, op, parts[0], start, follow(parts)))
        elif start is None and _is_product(slides, total, groups):
            _product(build, op, (lhs, weights), slides, parts, follow)
        else:
            made = _convolution(build, op, (lhs, weights, parts[0]), slides, groups, follow(parts))
            _windows(build, op, replace(made, start=start))


def _is_product(slides: Sequence[Slide], total: PtirDType, groups: int) -> bool:
    """Return whether windows of one place, all inside of the image, make a convolution a matrix product."""
    return groups == 1 and total in TOTALS and all(s.window == 1 and s.is_inside for s in slides)


def _skipped_sums(build: Builder, op: ptir.ConvolutionOp, rhs: View, phases: Sequence[Phase]) -> list[View | None]:
    """
    Return, for each phase that does not meet all taps, what the others times 0 add to each column; None where that is 0.

    A first kernel adds up `w - w`, which is 0 or NaN, for each tap and column, a second one the taps that a phase does not meet.
    """
    total, taps = accumulator(op), prod(rhs.shape[:-2])
    if total.kind is not Kind.FLOAT or all(prod(phase.taps) == taps for phase in phases):
        return [None] * len(phases)
    columns, extents = rhs.shape[-1], (len(phases), taps, rhs.shape[-1])
    block = _skipping_block(op.result.name_hint or "convolution", rhs, total, extents)
    build.keep.append(block)
    by_tap, by_phase = (member for member in block.ops if isinstance(member, ptir.ReduceOp))
    ops = [member for member in block.ops if isinstance(member, PtirOp)]
    skips = [not phase.meets(tap) for phase in phases for tap in product(*map(range, rhs.shape[:-2]))]
    literal = PtirLiteralAttr.from_values(I1, (len(phases), taps, 1), skips)
    weights, mask, each, zero = block.args
    with build.packing([rhs], len(phases) * columns * total.size):
        build.views[weights] = rhs
        build.group(ops[:2], by_tap.results)
        build.views[mask] = broadcast(whole(build.constant(literal, mask), (len(phases), taps, 1)), extents)
        build.views[each] = broadcast(whole(build.buffer_of(build.view(by_tap.result)), (taps, columns)), extents)
        build.views[zero] = filled(literal_of(total, 0), extents)
        build.group(ops[2:], by_phase.results)
    found = build.view(by_phase.result)
    return [
        None if prod(phase.taps) == taps else View(found.base, total, (columns,), (1,), found.offset + k * columns)
        for k, phase in enumerate(phases)
    ]


def _skipping_block(name: str, rhs: View, total: PtirDType, extents: Ints) -> Block:
    """Return `sum(w - w)` over channels, then `sum(select(mask, x, 0))` over the second of the axes phases, taps and columns."""
    types = tensor_type(rhs.dtype, rhs.shape), tensor_type(I1, extents), tensor_type(total, extents), tensor_type(total, extents)
    block = Block(arg_types=types)
    weights, mask, each, zero = block.args
    options: dict[str, Any] = {"kind": "sum", "keepdims": False, "accum_dtype": total, "out_dtype": total}
    nothing, chosen = ptir.SubOp(weights, weights), ptir.SelectOp(mask, each, zero)
    by_tap = ptir.ReduceOp(nothing, axes=(len(rhs.shape) - 2,), **options)
    by_phase = ptir.ReduceOp(chosen, axes=(1,), **options)
    by_tap.result.name_hint, by_phase.result.name_hint = f"{name}.taps", f"{name}.skipped"
    block.add_ops([nothing, by_tap, chosen, by_phase])
    return block


def _constant_results(build: Builder, op: ptir.ConvolutionOp, out: View, start: View | None, epilogue: Epilogue) -> Convolution:
    """Return the results of a phase that meets no taps: 1 times what its sums begin with, place by place."""
    total, columns = accumulator(op), out.shape[-1]
    ones = (1,) * (len(out.shape) - 2)
    if start is None:
        start = whole(build.constant(PtirLiteralAttr.from_values(total, (columns,), [0] * columns), op.result), (columns,))
    factor = build.constant(literal_of(total, 1), op.result)
    lhs = View(factor, total, (*out.shape[:-1], 1), (0,) * len(out.shape))
    weights = View(start.base, total, (*ones, 1, columns), (0,) * (len(ones) + 1) + (1,), start.offset)
    slides = [Slide(n, n, 1, 1, 1, 0) for n in out.shape[1:-1]]
    return _convolution(build, op, (lhs, weights, out), slides, 1, epilogue)


def _image(build: Builder, op: ptir.ConvolutionOp) -> View:
    """
    Return the first operand in memory, its channels side by side where there are many, as a tile reads all of some places.

    Where channels are planes of a power of two elements, all of a place would be in one set of a cache. Images under a long
    window are read as they are, or as `_beside` has them.
    """
    lhs = in_memory(build, op.lhs)
    far = lhs.shape[-1] > WAYS and 1 not in (lhs.strides[0], lhs.strides[-1]) and lhs.strides[-1] != 0
    return build.copied(op.lhs, lhs) if far and not is_long(op) else lhs


def _beside(build: Builder, op: ptir.ConvolutionOp, it: Convolution) -> View:
    """
    Return the image of a long window, what a tile reads of it at once side by side: each element is read in many tiles.

    Columns of places are put side by side where places have one element each, as in a gradient of weights.
    """
    lhs, along = it.lhs, it.cut.along
    if it.by_channel or lhs.strides[along] in (0, 1) or lhs.shape[along] <= WAYS or (along and lhs.shape[-1] > 1):
        return lhs
    name = f"{it.name}.image"
    if along == 0:
        return _gathered(build, op.lhs, lhs, name, inner=0)
    target = whole(build.buffer(Use.ARENA, lhs.dtype, lhs.count, name), lhs.shape)
    build.copy(op.lhs, lhs, target)
    return target


def _operands(build: Builder, op: ptir.ConvolutionOp) -> tuple[View, View, list[Slide]]:
    """Return both operands, holes between elements laid out, and how windows slide."""
    values = op.values()
    lhs, rhs = _image(build, op), in_memory(build, op.rhs)
    edges: list[tuple[int, int]] = [(0, 0), *values["padding"], (0, 0)]
    holes = [0, *(n - 1 for n in values["base_dilation"]), 0]
    lows = [low for low, _ in values["padding"]]
    if any(holes):
        lhs = padded(build, op.operands[0], edges, holes, filled(literal_of(lhs.dtype, 0), ()))
        lows = [0] * len(lows)
    extents = lhs.shape[1:-1], build.shape(op.result)[1:-1], rhs.shape[:-2]
    return lhs, rhs, [Slide(*each) for each in zip(*extents, values["strides"], values["window_dilation"], lows, strict=True)]


def _convolution(
    build: Builder,
    op: ptir.ConvolutionOp,
    views: tuple[View, View, View],
    slides: Sequence[Slide],
    groups: int,
    epilogue: Epilogue,
) -> Convolution:
    """Return a convolution, cut into tiles."""
    (lhs, rhs, out), total = views, accumulator(op)
    by_channel = rhs.shape[-2] == 1 and groups > 1 and out.shape[-1] == groups
    groups = 1 if by_channel else groups
    near = 0 if is_long(op) and lhs.strides[0] == 1 else -1
    cut = choose(build.host, out.shape, out.shape[-1] // groups, total, slides, by_channel=by_channel, near=near)
    name = op.result.name_hint or "convolution"
    return Convolution(name, lhs, rhs, out, total, slides, groups, by_channel, cut, epilogue)


def _in_blocks(build: Builder, op: ptir.ConvolutionOp) -> None:
    """Append a convolution of a long window: its sums, part by part, and the kernel that adds up those of several parts."""
    lhs, rhs, slides = _operands(build, op)
    result, total, groups = op.result, accumulator(op), op.values()["feature_group_count"]
    shape, name = build.shape(result), result.name_hint or "convolution"
    nowhere = whole(Buffer(Use.ARENA, -1, total, prod(shape)), shape)
    made = in_blocks(build.host, _convolution(build, op, (lhs, rhs, nowhere), slides, groups, stored_in(nowhere, total)))
    made.lhs = _beside(build, op, made)
    if made.parts == 1 and total is op.result_spec().dtype:
        out = build.target(result)
        _windows(build, op, replace(made, out=out, epilogue=stored_in(out, total)))
        return
    extents = (*shape[:-1], made.parts * shape[-1])
    out = whole(build.buffer(Use.ARENA, total, prod(extents), f"{name}.parts"), extents)
    _windows(build, op, replace(made, out=out, epilogue=stored_in(out, total)))
    parts = whole(build.buffer_of(out), (*shape[:-1], made.parts, shape[-1]))
    block = Block(arg_types=[tensor_type(total, parts.shape)])
    build.keep.append(block)
    fold = ptir.ReduceOp(
        block.args[0], kind="sum", axes=(len(shape) - 1,), keepdims=False, accum_dtype=total, out_dtype=op.result_spec().dtype
    )
    block.add_op(fold)
    build.reduction(fold, parts, result)


def _windows(build: Builder, op: ptir.ConvolutionOp, made: Convolution) -> None:
    """Append the kernel that slides, and the copy of its weights."""
    size = made.rhs.count * made.total.size
    kept = build.hoists([made.rhs], size)
    if _is_packed(made, kept=kept):
        with build.packing([made.rhs], size):
            made.packed = (None if kept else _turned(build, made)) or _packed(build, op.operands[1], made)
    build.add(ConvolutionStep(made))


def _is_packed(it: Convolution, *, kept: bool) -> bool:
    """
    Return whether weights are copied panel by panel.

    If `kept`, the copy serves many calls: then two tiles are enough, as rows of weights lie in the same few sets of a cache, and
    panels in order. A block of a long window stays in the caches, unless its places lie so far apart that they are in few sets.
    """
    cut, rhs = it.cut, it.rhs
    tiles = prod(it.extents) * -(-it.out.shape[cut.along] // cut.rows)
    if rhs.strides[-1] != 1 or it.by_channel or it.panels == 1 or tiles <= (1 if kept else FEW_TILES):
        return rhs.strides[-1] != 1
    return it.blocks == 1 or rhs.strides[-3] * rhs.dtype.size % (WAYS * LINE) == 0


def _turned(build: Builder, it: Convolution) -> View | None:
    """
    Weights whose columns are rows of memory, copied panel by panel as those of a product are: square by square.

    They keep the order that the places of the window and the channels have in memory.
    """
    rhs, cut, depth = it.rhs, it.cut, it.depth
    order = sorted(range(len(rhs.shape) - 1), key=lambda a: -rhs.strides[a])
    axes = axes_of([rhs.shape[a] for a in order], (), [[rhs.strides[a] for a in order]])
    if it.groups > 1 or len(axes) != 1 or axes[0].strides[0] != 1 or it.total not in TOTALS:
        return None
    count = it.panels * depth * cut.columns
    base = build.buffer(Use.ARENA, it.total, count, f"{it.name}.panels")
    matrix = View(rhs.base, rhs.dtype, (depth, it.columns), (1, rhs.strides[-1]), rhs.offset)
    lhs, out = (replace(matrix, shape=extents, strides=(0, 0)) for extents in ((1, depth), (1, it.columns)))
    panels = products_cut.ProductCut(cut.width, 1, cut.vectors, depth, True, 1, False, True)
    nothing = replace(stored_in(out, it.total), key=("panels of a convolution", panels))
    flat = View(base, it.total, (count,), (1,))
    product = Product(it.name, lhs, matrix, out, it.total, panels, nothing, rhs_copy=flat)
    build.add(ProductStep(f"{it.name}.panels", "panels", product))
    inner = tuple(s * cut.columns for s in rhs.strides[:-1])
    shape = (1, it.panels, *rhs.shape[:-1], cut.columns)
    return View(base, it.total, shape, (count, depth * cut.columns, *inner, 1))


def _packed(build: Builder, value: SSAValue, it: Convolution) -> View:
    """Weights copied panel by panel; where the last panel has fewer columns, what is after them is not read."""
    rhs, cut, count = it.rhs, it.cut, it.columns
    *window, step, across = rhs.strides
    inner = rhs.shape[:-1]
    shape = (it.groups, it.panels, *inner, cut.columns)
    target = whole(build.buffer(Use.ARENA, rhs.dtype, prod(shape), f"{it.name}.panels"), shape)
    strides = (across * count, across * cut.columns, *window, step, across)
    full, rest = divmod(count, cut.columns)
    for panels, first, columns in ((full, 0, cut.columns), (1, full, rest)):
        if panels and columns:
            extents = (it.groups, panels, *inner, columns)
            source = View(rhs.base, rhs.dtype, extents, strides, rhs.offset + first * cut.columns * across)
            to = View(target.base, rhs.dtype, extents, target.strides, first * target.strides[1])
            build.copy(value, source, to)
    return target


def _rows(lhs: View, views: Sequence[View]) -> list[Axis]:
    """Return the axes of the rows of a product, neighbours joined where they are one axis of the operand and of all views."""
    return axes_of(views[0].shape[:-1], (), [v.strides[:-1] for v in (lhs, *views)])


def _is_gathered(host: TargetInfo, lhs: View, rhs: View, views: Sequence[View]) -> bool:
    """
    Return whether to copy the places of an image that are rows of a product, so that more of them are one axis.

    Each matrix of `n` rows goes through the weights once, `columns / n` elements of them for each element of the image; the copy
    moves two, most of them beyond the first cache. It is made where it moves at most half as much, and weights are not near.
    """
    apart, joined = _rows(lhs, views), _rows(whole(Buffer(Use.ARENA, -1, lhs.dtype, lhs.count), lhs.shape), views)
    near = prod(rhs.shape[-2:]) * rhs.dtype.size <= host.l1_bytes
    return not near and lhs.strides[-1] == 1 and len(joined) < len(apart) and rhs.shape[-1] >= 4 * apart[-1].extent


def _gathered(build: Builder, value: SSAValue, lhs: View, name: str, inner: int = -1) -> View:
    """
    Append a copy of the places of an image, one after the other, a line apart: so tiles read rows that do not conflict.

    `inner` is the axis of what is side by side at a place.
    """
    inner %= len(lhs.shape)
    apart, places = lhs.shape[inner] + LINE // lhs.dtype.size, tuple(n for a, n in enumerate(lhs.shape) if a != inner)
    strides = [n * apart for n in row_major(places)]
    strides.insert(inner, 1)
    base = build.buffer(Use.ARENA, lhs.dtype, prod(places) * apart, name)
    target = View(base, lhs.dtype, lhs.shape, tuple(strides))
    build.copy(value, lhs, target)
    return target


def _product(
    build: Builder,
    op: ptir.ConvolutionOp,
    operands: tuple[View, View],
    slides: Sequence[Slide],
    views: Sequence[View],
    follow: Follow,
) -> None:
    """Windows of one place: every `stride`-th place of the image, as rows of a product."""
    (lhs, rhs), name = operands, op.result.name_hint or "convolution"
    lhs = window(lhs, [0, *(-slide.low for slide in slides), 0], lhs.shape, [1] * len(lhs.shape))
    depth, columns = rhs.shape[-2:]
    moved = (lhs.strides[0], *(s * slide.stride for s, slide in zip(lhs.strides[1:-1], slides, strict=True)))
    lhs = replace(lhs, shape=(*views[0].shape[:-1], depth), strides=(*moved, lhs.strides[-1]))
    if _is_gathered(build.host, lhs, rhs, views):
        lhs = _gathered(build, op.lhs, lhs, f"{name}.places")
    axes = _rows(lhs, views) or [Axis(1, False, [0] * (1 + len(views)))]
    batch, row = axes[:-1], axes[-1]
    extents = tuple(axis.extent for axis in batch)

    def matrices(view: View, which: int | None, last: Ints, strides: Ints) -> View:
        """An operand or a result in the axes of the product; `which` says how it moves along the rows, if it does."""
        outer = tuple(0 if which is None else axis.strides[which] for axis in batch)
        return View(view.base, view.dtype, (*extents, *last), (*outer, *strides), view.offset)

    a = matrices(lhs, 0, (row.extent, depth), (row.strides[0], lhs.strides[-1]))
    b = matrices(rhs, None, (depth, columns), (rhs.strides[-2], rhs.strides[-1]))
    others = [matrices(view, k, (row.extent, columns), (row.strides[k], view.strides[-1])) for k, view in enumerate(views, 1)]

    add_matrices(build, name, (a, b, others[0]), accumulator(op), follow(others))
