"""Rows of `kernels.py` whose places are data: copies from or to a view with looked-up indices."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from xdsl.ir import Operation

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp

from .demanded import shape_of
from .grouping import BEYOND
from .kernel_steps import Column, IndexCheck
from .kernels_scatters import why_not_scattered
from .lookups import looked_up, windows_of
from .patterns import Builder, in_memory, row
from .target_info import TargetInfo
from .update_windows import moved, window_of
from .views import Lookup, View


def _look_up(build: Builder, op: PtirOp) -> None:
    if _is_scattered(op, build.host):
        build.views[op.results[0]] = _checked(build, op)
        return
    x, indices = (build.view(v) for v in op.operands)
    build.copy(op.operands[0], looked_up(op, x, indices), build.target(op.results[0]))


def _is_scattered(op: PtirOp, host: TargetInfo) -> bool:
    """Return whether what is looked up is nothing but the updates of one scatter, whose kernel reads them where they lie."""
    uses = list(islice(op.results[0].uses, 2))
    return len(uses) == 1 and uses[0].index == 2 and _reads_lookups(uses[0].operation, op, host)


def _reads_lookups(user: Operation, op: PtirOp, host: TargetInfo) -> bool:
    """Return whether an op is a scatter in the same block, of updates that there are, and has a kernel."""
    if not isinstance(user, ptir.ScatterReduceOp | ptir.ScatterAddOp | ptir.ScatterWindowsOp) or user.parent is not op.parent:
        return False
    return 0 not in shape_of(op.results[0]) and why_not_scattered(user, host) is None


def _checked(build: Builder, op: PtirOp) -> View:
    """Return the elements that are looked up where they lie, at indices that are checked first: they are read without."""
    x, indices = (in_memory(build, v) for v in op.operands)
    view = looked_up(op, x, indices)
    (lookup,) = view.lookups
    name = op.results[0].name_hint or op.OPCODE
    axis: int = op.values()["axis"] % len(x.shape) if isinstance(op, ptir.GatherOp) else 0
    build.add(IndexCheck(f"{name}.indices", op, [Column(indices, 0, axis, lookup.extent)]))
    return replace(view, lookups=(replace(lookup, clamped=True),))


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
    """A copy of all, which is none where `x` dies here, and the update where it belongs, unless its kernel writes it there."""
    if op.result in build.views:
        return
    x, update, start = (build.view(v) for v in op.operands)
    target = build.target(op.result)
    build.copy(op.operands[0], x, target)
    if (part := window_of(op, x, update.shape)) is not None:
        (update,) = moved([update], x, target, part) or [update]
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
