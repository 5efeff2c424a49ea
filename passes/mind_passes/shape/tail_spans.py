"""
Tails of ops that read windows around each place: those that overlap a tail read there what padding holds.

The value that an op pads by is in the place of tails, so a window beyond the size reads the same as in the array of that size.
"""

from __future__ import annotations

from collections.abc import Sequence

from mind_dialect.ptir import ConvolutionOp, ExtractPatchesOp, FftOp, ReduceWindowOp, WindowArgOp

from ..ptir.building import spec_of
from .tail_masks import Masks, neutral
from .tail_sizes import Refused


def reduces_windows(masks: Masks, op: ReduceWindowOp) -> None:
    values = op.values()
    names = ("window_dims", "strides", "base_dilation", "padding")
    alone = [(1, 1, 1, (0, 0)) == parts for parts in zip(*(values[name] for name in names), strict=True)]
    axes = [a for a in masks.tails(op.x) if not alone[a]]
    if axes:
        op.operands[0] = masks.masked(op, op.x, axes, neutral(values["kind"], spec_of(op.x).dtype))


def finds_in_windows(masks: Masks, op: WindowArgOp) -> None:
    """Leave an op along whose dimensions with tails no window moves and no index counts: the first one."""
    values = op.values()
    if masks.tails(op.x) != [0] or values["window_dims"][0] != 1 or values["strides"][0] != 1 or any(values["padding"][0]):
        raise Refused("window_arg counts elements of x, of which a padded array has others")


def extracts(masks: Masks, op: ExtractPatchesOp) -> None:
    last = len(spec_of(op.x).shape) - 1
    if last in masks.tails(op.x) and any(n != 1 for n in op.values()["window"]):
        raise Refused("extract_patches of channels of an open size, between whose elements the tails are")
    axes = _between(masks.tails(op.x), last)
    op.operands[0] = masks.masked(op, op.x, axes, op.values()["pad_value"])


def convolves(masks: Masks, op: ConvolutionOp) -> None:
    """Mask what the sums of a convolution read: space, and the channels of both operands."""
    last = len(spec_of(op.lhs).shape) - 1
    channels, filters = masks.tails(op.lhs), masks.tails(op.rhs)
    if op.values()["feature_group_count"] != 1 and (last in channels or filters):
        raise Refused("convolution in groups of channels of an open size")
    axes = [*_between(channels, last), *([last] if last in channels else [])]
    op.operands[0] = masks.masked(op, op.lhs, axes, 0)
    op.operands[1] = masks.masked(op, op.rhs, [a for a in filters if a == last - 1], 0)


def transforms(masks: Masks, op: FftOp) -> None:
    rank = len(spec_of(op.x).shape)
    if any(a >= rank - len(op.values()["lengths"]) for a in masks.tails(op.x)):
        raise Refused("fft along an open size: each length is a transform of its own")


def _between(axes: Sequence[int], last: int) -> list[int]:
    """Return the axes that are neither the first, of batches, nor the last, of channels."""
    return [a for a in axes if 0 < a < last]
