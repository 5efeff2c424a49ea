"""
Rows of windows that are added where they overlap: what `fold`, `istft` and the derivative of `unfold` consist of.

A window of up to `MOST_PARTS` steps is cut into parts of one step. Parts with one number lie side by side, so that they are one
array, shifted by whole steps; the sum of these arrays needs no scatter.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import Kind

from ..unsupported import Refused
from .converter import AtenConverter, Call, Table
from .structural import MOST_STRIDED

MOST_PARTS = 16
"""So many parts of windows are added at most; longer windows are scattered."""

Sizes = Sequence[int]


def _overlapped(to: AtenConverter, x: SSAValue, axis: int, step: int, length: int) -> SSAValue:
    """
    Return sums along an axis of `length`; a window begins every `step` places.

    Windows are along `axis` of `x`, their elements along the next one.
    """
    shape = to.sizes(x)
    before, (count, size), after = shape[:axis], shape[axis : axis + 2], shape[axis + 2 :]
    parts = -(-size // step)
    pieces = to.reshape(_extended(to, x, axis + 1, 0, parts * step - size), (*before, count, parts, step, *after))
    total: SSAValue | None = None
    for i in range(parts):
        piece = to.reshape(to.part(pieces, axis + 1, i, i + 1), (*before, count * step, *after))
        piece = _extended(to, piece, axis, i * step, (parts - 1 - i) * step)
        total = piece if total is None else to.emit(ptir.AddOp, total, piece)
    assert total is not None, "a window has elements"
    end = (count + parts - 1) * step
    return to.part(total, axis, 0, length) if length < end else _extended(to, total, axis, 0, length - end)


def _extended(to: AtenConverter, x: SSAValue, axis: int, low: int, high: int) -> SSAValue:
    """Return `x` with zeros before and after it along an axis."""
    kind, rank = to.dtype(x).kind, len(to.shape(x))
    zero = 0.0 if kind is Kind.FLOAT else 0j if kind is Kind.COMPLEX else 0
    lows, highs = [0] * rank, [0] * rank
    lows[axis], highs[axis] = low, high
    return to.pad(x, zero, lows, highs)


def _scattered(to: AtenConverter, x: SSAValue, places: Sequence[int], lead: Sequence[int], count: int) -> SSAValue:
    """Return `count` sums of the elements of `x` by their places, behind `lead` axes."""
    if len(places) > MOST_STRIDED:
        raise Refused("windows with very many elements that overlap")
    flat = to.reshape(x, (*lead, len(places)))
    zeros = to.number(0, to.dtype(x), (*lead, count))
    indices = to.broadcast(to.integers(places), to.shape(flat))
    return to.emit(ptir.ScatterReduceOp, zeros, indices, flat, kind="add", axis=len(lead))


def _unfold_backward(to: AtenConverter, call: Call, g: SSAValue, sizes: Sizes, dim: int, size: int, step: int) -> SSAValue:
    """Windows along the last axis, added along `dim`; `istft` gives those of one signal for all of a batch."""
    if not call.shape:
        return to.shaped(g, ())
    axis, rank = dim % len(call.shape), len(call.shape)
    length = call.shape[axis]
    if 0 in to.sizes(g):
        return to.number(0, call.dtype, call.shape)
    assert isinstance(length, int), "all sizes are known"
    if -(-size // step) <= MOST_PARTS:
        windows = to.transpose(g, [*range(axis + 1), rank, *range(axis + 1, rank)])
        return to.broadcast(_overlapped(to, windows, axis, step, length), call.shape)
    others = [a for a in range(rank) if a != axis]
    windows, (count, _) = to.transpose(g, [*others, axis, rank]), to.sizes(g, (axis, rank))
    lead = [n for n in to.sizes(windows)[:-2]]
    found = _scattered(to, windows, [i * step + j for i in range(count) for j in range(size)], lead, length)
    return to.broadcast(to.transpose(found, [others.index(a) if a != axis else rank - 1 for a in range(rank)]), call.shape)


def _col2im(
    to: AtenConverter, call: Call, x: SSAValue, out: Sizes, window: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
) -> SSAValue:
    """Patches summed where they lie in the padded image, whose padding is then cut off."""
    padded = [n + 2 * p for n, p in zip(out, padding, strict=True)]
    counts = [(n - d * (k - 1) - 1) // s + 1 for n, d, k, s in zip(padded, dilation, window, stride, strict=True)]
    lead = [int(n) for n in call.shape[:-2]]
    if set(dilation) == {1} and all(-(-k // s) <= MOST_PARTS for k, s in zip(window, stride, strict=True)) and 0 not in lead:
        rank = len(lead)
        patches = to.reshape(x, (*lead, *window, *counts))
        columns = to.transpose(patches, [*range(rank), rank, rank + 2, rank + 3, rank + 1])
        rows = _overlapped(to, columns, rank + 2, stride[1], padded[1])
        whole = _overlapped(to, to.transpose(rows, [*range(rank), rank + 1, rank, rank + 2]), rank, stride[0], padded[0])
    else:
        axes = [
            [[i * d + j * s for j in range(c)] for i in range(k)]
            for k, d, s, c in zip(window, dilation, stride, counts, strict=True)
        ]
        places = [a * padded[1] + b for rows in axes[0] for columns in axes[1] for a in rows for b in columns]
        whole = to.reshape(_scattered(to, x, places, lead, padded[0] * padded[1]), (*lead, *padded))
    for axis, (n, p) in enumerate(zip(out, padding, strict=True), len(lead)):
        whole = to.part(whole, axis, p, p + n)
    return whole


OVERLAPS: Table = {"col2im.default": _col2im, "unfold_backward.default": _unfold_backward}
