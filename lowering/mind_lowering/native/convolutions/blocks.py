"""
Windows longer than their results: a filter's gradient, whose window is an image of cotangents.

Such a window is cut into blocks, along its outer axes, that are in cache while all places of a panel of columns pass by. Where
panels are too few to share, blocks are in parts, each with sums of its own, which another kernel adds up. Both depend on shapes
and on the kind of machine alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from ..slides import Slide
from ..target_info import TargetInfo
from .convolution import ENOUGH, Convolution


def in_blocks(host: TargetInfo, it: Convolution) -> Convolution:
    """Return a convolution with its window cut into blocks and parts; its `out` is not yet that of the parts."""
    slides = _cut(host, it)
    made = replace(it, slides=slides)
    return replace(made, parts=_parts(made))


def _cut(host: TargetInfo, it: Convolution) -> Sequence[Slide]:
    """
    The slides, cut so that a block of both operands is in a part of the second cache.

    Of the window it is a panel, but where channels are by themselves: there all panels pass by in a block (`loops.py`).
    """
    dilated = prod(s.dilation for s in it.slides)
    columns = it.rhs.shape[-1] if it.by_channel else min(it.columns, it.cut.columns)
    each = it.rhs.dtype.size * (it.rhs.shape[-2] * columns + it.lhs.shape[0] * it.lhs.shape[-1] * dilated)
    left, most = prod(s.taps for s in it.slides), max(1, host.l2_bytes // 4 // each)
    found = list(it.slides)
    for i, slide in enumerate(it.slides[:-1]):
        if i == it.cut.along - 1 or left <= most:
            continue
        blocks = next(n for n in range(1, slide.window + 1) if slide.window % n == 0 and (left // n <= most or n == slide.window))
        found[i] = replace(slide, window=slide.window // blocks, blocks=blocks)
        left //= blocks
    return found


def _parts(it: Convolution) -> int:
    """The number of parts: enough units of work, whose sums take no more memory than a quarter of the operands."""
    wanted = min(-(-ENOUGH // (it.groups * it.panels)), it.worth)
    most = max(1, (it.lhs.count * it.lhs.dtype.size + it.rhs.count * it.rhs.dtype.size) // 4 // (it.out.count * it.total.size))
    fitting = [n for n in range(1, it.blocks + 1) if it.blocks % n == 0 and n <= most]
    return next((n for n in fitting if n >= wanted), fitting[-1])
