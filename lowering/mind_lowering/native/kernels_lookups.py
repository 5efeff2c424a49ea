"""Rows of `kernels.py` whose places are data: copies from or to a view with looked-up indices."""

from __future__ import annotations

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp

from .patterns import Builder, row
from .views import Lookup, View


def _take(build: Builder, op: ptir.TakeOp) -> None:
    x, indices = (build.view(v) for v in op.operands)
    target = build.target(op.result)
    rank = len(indices.shape)
    spread = View(indices.base, indices.dtype, target.shape, indices.strides + (0,) * (len(x.shape) - 1), indices.offset)
    rows = View(x.base, x.dtype, target.shape, (0,) * rank + x.strides[1:], x.offset, (Lookup(spread, x.strides[0], x.shape[0]),))
    _looked_up(build, op, rows, target)


def _gather(build: Builder, op: ptir.GatherOp) -> None:
    x, indices = (build.view(v) for v in op.operands)
    target = build.target(op.result)
    axis: int = op.values()["axis"] % len(x.shape)
    strides = tuple(0 if a == axis else s for a, s in enumerate(x.strides))
    lookup = Lookup(indices, x.strides[axis], x.shape[axis])
    _looked_up(build, op, View(x.base, x.dtype, target.shape, strides, x.offset, (lookup,)), target)


def _dynamic_slice(build: Builder, op: ptir.DynamicSliceOp) -> None:
    x, start = (build.view(v) for v in op.operands)
    target = build.target(op.result)
    lookups = _starts(start, x, target.shape)
    _looked_up(build, op, View(x.base, x.dtype, target.shape, x.strides, x.offset, lookups), target)


def _dynamic_update_slice(build: Builder, op: ptir.DynamicUpdateSliceOp) -> None:
    """A copy of all, which is none where `x` dies here, and the update where it belongs."""
    x, update, start = (build.view(v) for v in op.operands)
    target = build.target(op.result)
    build.copy(op.operands[0], x, target)
    lookups = _starts(start, target, update.shape)
    build.copy(op.operands[1], update, View(target.base, target.dtype, update.shape, target.strides, 0, lookups), op)


def _looked_up(build: Builder, op: PtirOp, source: View, target: View) -> None:
    build.copy(op.operands[0], source, target, op)


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
    row("lookup", ptir.TakeOp, _take),
    row("lookup", ptir.GatherOp, _gather),
    row("lookup", ptir.DynamicSliceOp, _dynamic_slice),
    row("update", ptir.DynamicUpdateSliceOp, _dynamic_update_slice),
)
"""Their rows."""
