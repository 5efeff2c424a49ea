"""
Convolutions to few channels: lanes run from place to place, not from channel to channel, most of which would idle.

The image is copied channel by channel, with its padding, unless neighbours along its last axis are neighbours in memory already.
Each place then sums over windows in the order of their places, as one group: no tile is needed, as nothing is read across lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import PtirDType
from mind_passes.ptir.building import accumulator

from ...launch.kernel_patterns import Match, Rejection
from ..demanded import shape_of
from ..kernels_windows import padded
from ..patterns import Builder, Operands, in_memory, moving
from ..synthetic_groups import Add, compute
from ..target_info import TargetInfo
from ..views import Use, View, filled, literal_of, reordered
from .convolution import is_long

SHARE = 4
"""Several channels are at most this part of the lanes that are of use: tiles, whose lanes are channels, compute more as fast."""
WIDEST_STRIDE = 2
"""Lanes further apart in the image are gathered one by one, which takes longer than a tile does."""


def why_not_by_places(op: ptir.ConvolutionOp, host: TargetInfo) -> str | None:
    """Return why lanes do not run from place to place."""
    values, result, window = op.values(), shape_of(op.result), shape_of(op.rhs)[:-2]
    lanes = host.lanes(max(4, accumulator(op).size))
    if len(result) < 3 or result[-2] < lanes or 0 in (*result, *shape_of(op.rhs)):
        return "there are few places along the last axis"
    assigned = -(-result[-2] // lanes) * lanes
    stride: int = values["strides"][-1]
    if stride > WIDEST_STRIDE:
        return "neighbouring windows are far apart"
    if result[-1] > 1 and result[-1] * assigned * stride * SHARE > lanes * result[-2]:
        return "its result has many channels"
    if prod(window) == 1 or is_long(op) or any(n != 1 for n in values["base_dilation"]):
        return "its windows are single places, as large as the image, or have holes in it"
    return None


def match_by_places(op: ptir.ConvolutionOp, operands: Operands, host: TargetInfo) -> Match | Rejection:
    """Match a convolution whose results have few channels."""
    del operands
    reason = why_not_by_places(op, host)
    return Match(moving([*op.operands, *op.results])) if reason is None else Rejection(reason)


def expand_by_places(build: Builder, op: ptir.ConvolutionOp, match: Match) -> None:
    """
    Append the sums over windows as a group over images, places, channels, channels of the image, places of the window.

    In this order the lines of memory that neighbouring places of a window share are in the first cache, wherever planes lie.
    """
    del match
    values, total, rank = op.values(), accumulator(op), len(shape_of(op.result))
    x, weights, target = _image(build, op), in_memory(build, op.rhs), _result(build, op)
    groups = values["feature_group_count"]
    *window, depth, count = weights.shape
    each, inner = count // groups, len(window) + 1
    shape = (*target.shape[:-1], groups, each, depth, *window)
    moved = [s * n for s, n in zip(x.strides[1:-1], values["strides"], strict=True)]
    taps = [s * n for s, n in zip(x.strides[1:-1], values["window_dilation"], strict=True)]
    across = weights.strides[-1]
    sources = [
        View(x.base, x.dtype, shape, (x.strides[0], *moved, x.strides[-1] * depth, 0, x.strides[-1], *taps), x.offset),
        View(
            weights.base,
            weights.dtype,
            shape,
            (*[0] * (rank - 1), across * each, across, weights.strides[-2], *weights.strides[:-2]),
            weights.offset,
        ),
    ]
    channel = target.strides[-1]
    places = View(target.base, target.dtype, shape[:-inner], (*target.strides[:-1], channel * each, channel))
    axes = tuple(range(len(shape) - inner, len(shape)))

    def body(add: Add, *factors: SSAValue) -> Sequence[SSAValue]:
        wide = [_widened(add, v, source.dtype, total) for v, source in zip(factors, sources, strict=True)]
        product = add(ptir.MulOp(*wide))
        return [add(ptir.ReduceOp(product, kind="sum", axes=axes, keepdims=False, accum_dtype=total, out_dtype=target.dtype))]

    compute(build, op.result.name_hint or "convolution", sources, body, [places], keeps_lanes=True)
    build.views[op.result] = target


def _widened(add: Add, value: SSAValue, dtype: PtirDType, total: PtirDType) -> SSAValue:
    return value if dtype is total else add(ptir.CastOp(value, dtype=total))


def _planes(shape: Sequence[int]) -> list[int]:
    """Return the axes of an image in the order in which places of a channel are side by side."""
    return [0, len(shape) - 1, *range(1, len(shape) - 1)]


def _result(build: Builder, op: ptir.ConvolutionOp) -> View:
    """Make memory for the result, channel by channel."""
    view = build.new(Use.ARENA, op.result)
    return reordered(view, _planes(view.shape))


def _image(build: Builder, op: ptir.ConvolutionOp) -> View:
    """Return the image with its padding, in memory, neighbours along the last axis side by side."""
    x, padding = in_memory(build, op.lhs), op.values()["padding"]
    if x.strides[-2] == 1 and not any(low or high for low, high in padding):
        return x
    edges = [(0, 0), *padding, (0, 0)]
    return padded(build, op.lhs, edges, [0] * len(edges), filled(literal_of(x.dtype, 0), ()), _planes(x.shape))
