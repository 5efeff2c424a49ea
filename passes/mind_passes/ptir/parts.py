"""
Parts of tensors as new ops: a part cut out, a part put among zeros, whatever is known of the extents.

Slices and padding state sizes. Where an extent has only a name, `take` with computed indices cuts, and an update of zeros puts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from xdsl.ir import Attribute

from mind_dialect.ptir import (
    ConstantOp,
    DynamicUpdateSliceOp,
    IotaOp,
    PadOp,
    PtirLiteralAttr,
    SliceOp,
    StridedSliceOp,
    TakeOp,
)
from mind_dialect.ptir.attributes import scalar as scalar_literal
from mind_dialect.ptir.types import SI64, tensor_type
from mind_dialect.ptir_shapes import Dim, Dims
from mind_dialect.ptir_shapes import pad as padded_shape
from mind_dialect.shapes import inverse_permutation

from .construct import Value, add, broadcast, full, make, mul, reduce_sum, scalar, spec, transpose


class AxisSlice(NamedTuple):
    """Along one axis, `size` elements from `start` on, each `step` after the one before."""

    start: Value | int
    size: Dim
    step: int = 1


def pad(x: Value, low: Sequence[int], high: Sequence[int], interior: Sequence[int], type: Attribute | None = None) -> Value:
    """Zeros around `x` and between its elements; `x` itself where there are none."""
    if not (any(low) or any(high) or any(interior)):
        return x
    dtype, shape = spec(x)
    found = tensor_type(dtype, padded_shape(shape, low=low, high=high, interior=interior)) if type is None else type
    zero = scalar_literal(dtype, False if dtype.bits == 1 else 0)
    return make(PadOp, x, type=found, low=tuple(low), high=tuple(high), interior=tuple(interior), pad_value=zero)


def place(x: Value, starts: Sequence[int], steps: Sequence[int], shape: Dims) -> Value:
    """Zeros of `shape`, but for `x`, of static shape, from `starts` on with `steps` from element to element: undoes a slice."""
    sizes = [n for n in spec(x).shape if isinstance(n, int)]
    spans = [(m - 1) * step + 1 if m else 0 for m, step in zip(sizes, steps, strict=True)]
    low = [start if isinstance(n, int) else 0 for start, n in zip(starts, shape, strict=True)]
    high = [n - start - span if isinstance(n, int) else 0 for start, span, n in zip(starts, spans, shape, strict=True)]
    padded = pad(x, low, high, [step - 1 for step in steps])
    if all(isinstance(n, int) for n in shape):
        return padded
    dtype, sizes = spec(padded)
    left = [0 if isinstance(n, int) else start for start, n in zip(starts, shape, strict=True)]
    zeros = broadcast(scalar(0, dtype), shape)
    return make(DynamicUpdateSliceOp, zeros, padded, indices(left), type=tensor_type(dtype, shape), sizes=tuple(sizes))


def window(x: Value, cuts: Mapping[int, AxisSlice]) -> Value:
    """`x` cut along some axes, whole along the others."""
    shape = spec(x).shape
    starts, limits, counts, steps = [0] * len(shape), list[int](), list[int](), [1] * len(shape)
    for a, n in enumerate(shape):
        start, count, step = cuts.get(a, AxisSlice(0, n))
        if not isinstance(start, int) or not isinstance(count, int):
            for b, cut in cuts.items():
                x = taken(x, b, cut)
            return x
        starts[a], steps[a] = start, step
        counts.append(count)
        limits.append(start + (count - 1) * step + 1 if count else start)
    result = tensor_type(spec(x).dtype, counts)
    if all(step == 1 for step in steps):
        return make(SliceOp, x, type=result, starts=tuple(starts), sizes=tuple(counts))
    return make(StridedSliceOp, x, type=result, starts=tuple(starts), limits=tuple(limits), strides=tuple(steps))


def taken(x: Value, axis: int, cut: AxisSlice) -> Value:
    """`x` cut along one axis, by indices."""
    start, count, step = cut
    places: Value = make_iota(count)
    if step != 1:
        places = mul(places, full(step, places))
    if start != 0:
        places = add(places, full(start, places) if isinstance(start, int) else broadcast(start, (count,)))
    dtype, shape = spec(x)
    others = [a for a in range(len(shape)) if a != axis]
    perm = (axis, *others)
    found = make(TakeOp, transpose(x, perm), places, type=tensor_type(dtype, (count, *(shape[a] for a in others))))
    return transpose(found, inverse_permutation(perm))


def make_iota(count: Dim) -> IotaOp:
    """0, 1, 2 and on, `count` of them, as indices."""
    return make(IotaOp, type=tensor_type(SI64, (count,)), shape=(count,), dtype=SI64, axis=0)


def indices(numbers: Sequence[int]) -> ConstantOp:
    """Known indices."""
    literal = PtirLiteralAttr.from_values(SI64, (len(numbers),), tuple(numbers))
    return ConstantOp.create(properties={"value": literal}, result_types=[literal.type])


def total(extents: Sequence[Dim]) -> Value | int:
    """The sum of extents: a number, or with names among them a value of si64; each name is counted as a sum of ones."""
    known = sum(n for n in extents if isinstance(n, int))
    named = [n for n in extents if isinstance(n, str)]
    if not named:
        return known
    result: Value | None = scalar(known, SI64) if known else None
    for name in named:
        count = reduce_sum(broadcast(scalar(1, SI64), (name,)), (0,))
        result = count if result is None else add(result, count)
    assert result is not None
    return result


__all__ = ["AxisSlice", "indices", "pad", "place", "taken", "total", "window"]
