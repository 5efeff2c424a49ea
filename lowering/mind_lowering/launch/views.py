"""Ops of PTIR that move no element: the layout of their result in the memory of their operand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import read_type

from .ref import row_major

Ints = tuple[int, ...]


class StridedLayout(NamedTuple):
    """Element `[i, j, ...]` is at `offset + i * strides[0] + j * strides[1] + ...`, counted in elements."""

    shape: Ints
    strides: Ints
    offset: int = 0


def reshaped(x: StridedLayout, shape: Ints) -> StridedLayout | None:
    """
    Return the same elements in row-major order under another shape, if strides can say that.

    Each new axis is taken off the front of the old ones, which are joined where they are one axis in effect.

    >>> reshaped(StridedLayout((2, 3), (3, 1)), (6,)), reshaped(StridedLayout((2, 3), (1, 2)), (6,))
    (StridedLayout(shape=(6,), strides=(1,), offset=0), None)
    """
    if 0 in x.shape:
        return StridedLayout(shape, row_major(shape), x.offset)
    old = [(n, s) for n, s in zip(x.shape, x.strides, strict=True) if n != 1]
    strides: list[int] = []
    at = 0
    for n in shape:
        if n == 1:
            strides.append(0)
            continue
        if at < len(old) and old[at][0] == n:
            strides.append(old[at][1])
            at += 1
            continue
        if (found := _split(old, at, n)) is None:
            return None
        strides.append(found)
    return StridedLayout(shape, tuple(strides), x.offset)


def _split(old: list[tuple[int, int]], at: int, n: int) -> int | None:
    """Take an axis of extent `n` off the front of the axes from `at` on, joining those that are one in effect; its stride."""
    while old[at][0] % n:
        if at + 1 >= len(old) or old[at][1] != old[at + 1][1] * old[at + 1][0]:
            return None
        old[at : at + 2] = [(old[at][0] * old[at + 1][0], old[at + 1][1])]
    extent, stride = old[at]
    rest = extent // n
    old[at : at + 1] = [(rest, stride)] if rest > 1 else []
    return stride * rest


def broadcast(x: StridedLayout, shape: Ints) -> StridedLayout:
    """Return a layout repeated along new leading axes and along axes of extent 1."""
    missing = len(shape) - len(x.shape)
    old = [*[(1, 0)] * missing, *zip(x.shape, x.strides, strict=True)]
    return StridedLayout(
        shape, tuple([0 if extent == 1 != n else s for (extent, s), n in zip(old, shape, strict=True)]), x.offset
    )


def window(x: StridedLayout, starts: Sequence[int], shape: Ints, steps: Sequence[int]) -> StridedLayout:
    """Return every `steps[i]`-th element from `starts[i]` on, `shape[i]` of them."""
    offset = x.offset + sum([start * stride for start, stride in zip(starts, x.strides, strict=True)])
    strides = tuple([stride * step for stride, step in zip(x.strides, steps, strict=True)])
    return StridedLayout(shape, strides, offset if 0 not in shape else 0)


def _transpose(x: StridedLayout, values: Mapping[str, Any], shape: Ints) -> StridedLayout:
    perm: Sequence[int] = values["perm"]
    return StridedLayout(shape, tuple([x.strides[a] for a in perm]), x.offset)


def _reverse(x: StridedLayout, values: Mapping[str, Any], shape: Ints) -> StridedLayout:
    given: Sequence[int] = values["axes"]
    axes = {a % len(shape) for a in given}
    starts = [max(n - 1, 0) if a in axes else 0 for a, n in enumerate(shape)]
    return window(x, starts, shape, [-1 if a in axes else 1 for a in range(len(shape))])


VIEWS: Mapping[type[PtirOp], Callable[[StridedLayout, Mapping[str, Any], Ints], StridedLayout | None]] = {
    ptir.ReshapeOp: lambda x, values, shape: reshaped(x, shape),
    ptir.TransposeOp: _transpose,
    ptir.BroadcastToOp: lambda x, values, shape: broadcast(x, shape),
    ptir.SliceOp: lambda x, values, shape: window(x, values["starts"], shape, [1] * len(shape)),
    ptir.StridedSliceOp: lambda x, values, shape: window(x, values["starts"], shape, values["strides"]),
    ptir.ReverseOp: _reverse,
    ptir.StopGradientOp: lambda x, values, shape: x,
}
"""Ops that are another view of their operand; None where strides cannot say it and the operand must be copied first."""


def view_of(op: PtirOp, x: StridedLayout) -> StridedLayout | None:
    """Return the layout of the result of an op of `VIEWS`, given that of its operand; None where it needs memory of its own."""
    shape = tuple([n for n in read_type(op.results[0].type).shape if isinstance(n, int)])
    return VIEWS[type(op)](x, op.values(), shape)
