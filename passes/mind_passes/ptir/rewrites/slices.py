"""
Slices moved before the ops that repeat, surround, permute or join what they take from, and joins of what slices took apart.

True for every dtype and every bit pattern: nothing is computed. All sizes are static, so that no check of a run is lost. Where
the op before the slice would stay for others, so that two ops would do what one did, a rule needs the slice to be its only use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, cast

from xdsl.ir import SSAValue

from mind_dialect.ptir import BroadcastToOp, ConcatOp, PadOp, SliceOp, TransposeOp
from mind_dialect.ptir.types import tensor_type

from ..building import Found, constant, in_place_of, spec_of, stands_for

MAX_OPERANDS = 64
"""Concats of more operands are not searched, which bounds the time per slice."""


def _sizes(value: SSAValue) -> tuple[int, ...] | None:
    """The shape of a value of static shape."""
    spec = spec_of(value)
    return cast(tuple[int, ...], spec.shape) if spec.is_static else None


def _numbers(op: SliceOp | PadOp) -> Mapping[str, Any] | None:
    """The properties of `op`, if its bounds are numbers and its shapes static."""
    values = op.values()
    bounds = [n for name in ("starts", "sizes", "low", "high") for n in values.get(name, ())]
    static = _sizes(op.x) is not None and _sizes(op.result) is not None
    return values if static and all(isinstance(n, int) for n in bounds) else None


def _sliced(op: SliceOp | ConcatOp, x: SSAValue, starts: Sequence[int], sizes: Sequence[int]) -> SSAValue:
    """`x` if the slice takes everything, else the new slice."""
    dtype, shape = spec_of(x)
    if tuple(sizes) == shape:
        return x
    return in_place_of(op, SliceOp, x, type=tensor_type(dtype, tuple(sizes)), starts=starts, sizes=sizes).result


def slice_of_pad(op: SliceOp) -> Found:
    """
    `slice(pad(x)) = pad(slice(x))` with the padding that the slice reaches; no holes between the elements.

    Padding alone is a constant. Where padding and a part of `x` remain, the slice must be the only use of the pad.
    """
    inner = op.x.owner
    if not isinstance(inner, PadOp) or (extents := _sizes(inner.x)) is None:
        return None
    pad, window = _numbers(inner), _numbers(op)
    if pad is None or window is None or any(pad["interior"]):
        return None
    sizes: Sequence[int] = window["sizes"]
    first = [a - low for a, low in zip(window["starts"], pad["low"], strict=True)]
    starts = [min(max(a, 0), n) for a, n in zip(first, extents, strict=True)]
    ends = [max(min(a + size, n), b) for a, size, n, b in zip(first, sizes, extents, starts, strict=True)]
    taken = [b - a for a, b in zip(starts, ends, strict=True)]
    if 0 in taken and prod(sizes):
        return constant(op, spec_of(op.x).dtype, tuple(sizes), pad["pad_value"].data.data)
    if taken == list(sizes):
        return in_place_of(op, SliceOp, inner.x, starts=starts, sizes=taken)
    if 0 in sizes or (taken != list(extents) and not op.x.has_one_use()):
        return None
    low = [a - b for a, b in zip(starts, first, strict=True)]
    high = [size - n - before for size, n, before in zip(sizes, taken, low, strict=True)]
    x = _sliced(op, inner.x, starts, taken)
    return in_place_of(op, PadOp, x, low=low, high=high, interior=pad["interior"], pad_value=pad["pad_value"])


def slice_of_broadcast(op: SliceOp) -> Found:
    """`slice(broadcast_to(x, s)) = broadcast_to(slice(x), sizes)`: an axis that x repeats is not sliced in x."""
    inner = op.x.owner
    if not isinstance(inner, BroadcastToOp) or (extents := _sizes(inner.x)) is None:
        return None
    values, whole = _numbers(op), _sizes(op.x)
    if values is None or whole is None:
        return None
    lead = len(whole) - len(extents)
    starts, sizes = list(values["starts"][lead:]), list(values["sizes"][lead:])
    for i, (n, m) in enumerate(zip(extents, whole[lead:], strict=True)):
        if n != m:
            starts[i], sizes[i] = 0, 1
    return in_place_of(op, BroadcastToOp, _sliced(op, inner.x, starts, sizes), result_shape=values["sizes"])


def slice_of_transpose(op: SliceOp) -> Found:
    """`slice(transpose(x, p)) = transpose(slice(x), p)`, where the slice is the only use of the transpose."""
    inner = op.x.owner
    if not isinstance(inner, TransposeOp) or not op.x.has_one_use() or (values := _numbers(op)) is None:
        return None
    perm = cast(Sequence[int], inner.values()["perm"])
    starts, sizes = [0] * len(perm), [0] * len(perm)
    for axis, start, size in zip(perm, values["starts"], values["sizes"], strict=True):
        starts[axis], sizes[axis] = start, size
    return in_place_of(op, TransposeOp, _sliced(op, inner.x, starts, sizes), perm=perm)


def slice_across_concat(op: SliceOp) -> Found:
    """
    A slice of a concat is the concat of slices of the operands that it reaches, where it does not reach all of them.

    The slice must be the only use of the concat. A slice within one operand is `slice_of_concat`'s.
    """
    inner = op.x.owner
    if not isinstance(inner, ConcatOp) or len(inner.operands) > MAX_OPERANDS or not op.x.has_one_use():
        return None
    if (values := _numbers(op)) is None:
        return None
    axis: int = inner.values()["axis"]
    starts: Sequence[int] = values["starts"]
    sizes: Sequence[int] = values["sizes"]
    begin, before, reached = starts[axis], 0, list[tuple[SSAValue, int, int]]()
    for x in inner.operands:
        if (extents := _sizes(x)) is None:
            return None
        first, last = max(begin, before), min(begin + sizes[axis], before + extents[axis])
        if first < last:
            reached.append((x, first - before, last - first))
        before += extents[axis]
    if not 1 < len(reached) < len(inner.operands):
        return None
    parts = [_sliced(op, x, _with(starts, axis, first), _with(sizes, axis, count)) for x, first, count in reached]
    return in_place_of(op, ConcatOp, *parts, axis=axis)


def _with(numbers: Sequence[int], axis: int, number: int) -> list[int]:
    return [number if i == axis else n for i, n in enumerate(numbers)]


def concat_of_slices(op: ConcatOp) -> Found:
    """`concat(x[a : b], x[b : c]) = x[a : c]`, where the slices are the same along the other axes."""
    axis: int = op.values()["axis"]
    runs: list[list[SSAValue]] = []
    for x in op.operands:
        if runs and _continues(runs[-1][-1], x, axis):
            runs[-1].append(x)
        else:
            runs.append([x])
    if len(runs) == len(op.operands):
        return None
    parts = [run[0] if len(run) == 1 else _run(op, run, axis) for run in runs]
    if len(parts) > 1:
        return in_place_of(op, ConcatOp, *parts, axis=axis)
    whole = parts[0].owner
    return whole if isinstance(whole, SliceOp) and whole.parent is None else stands_for(parts[0], op)


def _continues(left: SSAValue, right: SSAValue, axis: int) -> bool:
    """Return whether two values are slices of one, the second from where the first ends along `axis`."""
    a, b = left.owner, right.owner
    if not isinstance(a, SliceOp) or not isinstance(b, SliceOp) or a.x is not b.x:
        return False
    first, second = _numbers(a), _numbers(b)
    if first is None or second is None:
        return False
    ends = [n + m if i == axis else n for i, (n, m) in enumerate(zip(first["starts"], first["sizes"], strict=True))]
    rest = [(m, n) for i, (m, n) in enumerate(zip(first["sizes"], second["sizes"], strict=True)) if i != axis]
    return ends == list(second["starts"]) and all(m == n for m, n in rest)


def _run(op: ConcatOp, run: Sequence[SSAValue], axis: int) -> SSAValue:
    """The one slice that adjacent slices are."""
    slices = [v.owner for v in run if isinstance(v.owner, SliceOp)]
    values = [each.values() for each in slices]
    extent = sum(v["sizes"][axis] for v in values)
    return _sliced(op, slices[0].x, values[0]["starts"], _with(values[0]["sizes"], axis, extent))


def pad_of_pad(op: PadOp) -> Found:
    """`pad(pad(x, a), b) = pad(x, a + b)`, with one value, bit by bit, and no holes in the outer pad."""
    inner = op.x.owner
    if not isinstance(inner, PadOp):
        return None
    outer, first = _numbers(op), _numbers(inner)
    if outer is None or first is None or any(outer["interior"]) or outer["pad_value"] != first["pad_value"]:
        return None
    low, high = ([a + b for a, b in zip(outer[side], first[side], strict=True)] for side in ("low", "high"))
    return in_place_of(op, PadOp, inner.x, low=low, high=high, interior=first["interior"], pad_value=first["pad_value"])
