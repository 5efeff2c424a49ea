"""Rows of `kernels.py` whose places are data: copies from or to a view with looked-up indices."""

from __future__ import annotations

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp

from .demanded import shape_of
from .grouping import BEYOND
from .lookups import looked_up, windows_of
from .patterns import Builder, row
from .target_info import TargetInfo
from .views import Lookup, View


def _look_up(build: Builder, op: PtirOp) -> None:
    x, indices = (build.view(v) for v in op.operands)
    build.copy(op.operands[0], looked_up(op, x, indices), build.target(op.results[0]))


def _gather_windows(build: Builder, op: ptir.GatherWindowsOp) -> None:
    target = build.target(op.result)
    if target.count:
        source = windows_of(op, build.view(op.x), build.view(op.indices))
        build.copy(op.x, source, target)


def _why_not_windows(op: ptir.GatherWindowsOp, host: TargetInfo) -> str | None:
    return BEYOND if op.values()["mode"] == "fill" else None


def why_unchecked(op: PtirOp, host: TargetInfo) -> str | None:
    """Return why no kernel checks the indices of a lookup: one is where an element is looked up, and there may be none."""
    is_empty = 0 in shape_of(op.results[0]) and 0 not in shape_of(op.operands[1])
    return "it looks up no elements at indices to be checked" if is_empty else None


def _dynamic_slice(build: Builder, op: ptir.DynamicSliceOp) -> None:
    x, start = (build.view(v) for v in op.operands)
    target = build.target(op.result)
    lookups = _starts(start, x, target.shape)
    build.copy(op.operands[0], View(x.base, x.dtype, target.shape, x.strides, x.offset, lookups), target)


def _dynamic_update_slice(build: Builder, op: ptir.DynamicUpdateSliceOp) -> None:
    """A copy of all, which is none where `x` dies here, and the update where it belongs."""
    x, update, start = (build.view(v) for v in op.operands)
    target = build.target(op.result)
    build.copy(op.operands[0], x, target)
    lookups = _starts(start, target, update.shape)
    build.copy(op.operands[1], update, View(target.base, target.dtype, update.shape, target.strides, 0, lookups))


def _starts(start: View, whole: View, shape: tuple[int, ...]) -> tuple[Lookup, ...]:
    """Lookups of where a window of some shape begins, which are clamped so that it lies inside."""
    still = (0,) * len(shape)
    return tuple(
        Lookup(
            View(start.base, start.dtype, shape, still, start.offset + i * start.strides[0]), stride, n - size + 1, clamped=True
        )
        for i, (n, size, stride) in enumerate(zip(whole.shape, shape, whole.strides, strict=True))
        if n != size
    )


LOOKUPS = (
    row("lookup", ptir.TakeOp, _look_up, why_unchecked),
    row("lookup", ptir.GatherOp, _look_up),
    row("lookup", ptir.GatherWindowsOp, _gather_windows, _why_not_windows),
    row("lookup", ptir.DynamicSliceOp, _dynamic_slice),
    row("update", ptir.DynamicUpdateSliceOp, _dynamic_update_slice),
)
"""Their rows."""
