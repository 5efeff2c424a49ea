"""
Parts of tensors as new ops: a part cut out, a part put among zeros, whatever is known of the extents.

Slices and padding state sizes, names and expressions of them. Where an extent has no name, `take` with computed indices cuts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from xdsl.ir import Attribute

from mind_dialect import ptir
from mind_dialect.errors import error
from mind_dialect.extents.dims import add_dims, sub_dims
from mind_dialect.op import value_of
from mind_dialect.ptir.attributes import scalar as scalar_literal
from mind_dialect.ptir.types import SI64, tensor_type
from mind_dialect.ptir_shapes import UNKNOWN, Dim, Dims, spread
from mind_dialect.ptir_shapes import pad as padded_shape
from mind_dialect.shapes import inverse_permutation

from .construct import Value, add, broadcast, dims, full, make, mul, reduce_sum, scalar, spec, transpose


class AxisSlice(NamedTuple):
    """Along one axis, `size` elements from `start` on, each `step` after the one before."""

    start: Dim
    size: Dim
    step: int = 1


def pad(x: Value, low: Sequence[Dim], high: Sequence[Dim], interior: Sequence[int], type: Attribute | None = None) -> Value:
    """Zeros around `x` and between its elements; `x` itself where there are none."""
    if not (any(low) or any(high) or any(interior)):
        return x
    dtype, shape = spec(x)
    found = tensor_type(dtype, padded_shape(shape, low=low, high=high, interior=interior)) if type is None else type
    zero = scalar_literal(dtype, False if dtype.bits == 1 else 0)
    return make(ptir.PadOp, x, type=found, low=tuple(low), high=tuple(high), interior=tuple(interior), pad_value=zero)


def place(x: Value, starts: Sequence[Dim], steps: Sequence[int], shape: Dims) -> Value:
    """Zeros of `shape`, but for `x` from `starts` on with `steps` from element to element: undoes a slice. E5006 if too large."""
    dtype, sizes = spec(x).dtype, dims(x)
    high: list[Dim] = []
    for start, step, m, n in zip(starts, steps, sizes, shape, strict=True):
        high.append(stated(sub_dims(n, add_dims(start, spread(m, step - 1))), x))
    return pad(x, starts, high, [step - 1 for step in steps], tensor_type(dtype, shape))


def stated(dim: Dim, x: Value) -> Dim:
    """A dimension that a new op states; E5006 where it is unknown, as that of a dimension of `x` is, or its text is too large."""
    if dim == UNKNOWN:
        message = f"a part of a value of type {value_of(x).type} has a size that no expression says, expected one"
        raise error("E5006", message, type=str(value_of(x).type))
    return dim


def window(x: Value, cuts: Mapping[int, AxisSlice]) -> Value:
    """`x` cut along some axes, whole along the others; by indices where one of those has no name, which a slice would state."""
    shape = spec(x).shape
    if UNKNOWN in shape:
        for a, cut in cuts.items():
            x = taken(x, a, cut)
        return x
    bounds = [cuts.get(a, AxisSlice(0, n)) for a, n in enumerate(shape)]
    starts, counts = tuple(bound.start for bound in bounds), tuple(bound.size for bound in bounds)
    result = tensor_type(spec(x).dtype, counts)
    if all(bound.step == 1 for bound in bounds):
        return make(ptir.SliceOp, x, type=result, starts=starts, sizes=counts)
    limits = tuple(stated(add_dims(start, spread(count, step - 1)), x) for start, count, step in bounds)
    return make(ptir.StridedSliceOp, x, type=result, starts=starts, limits=limits, strides=tuple(bound.step for bound in bounds))


def taken(x: Value, axis: int, cut: AxisSlice) -> Value:
    """`x` cut along one axis, by indices."""
    start, count, step = cut
    places: Value = make_iota(count)
    if step != 1:
        places = mul(places, full(step, places))
    if start != 0:
        first = total((start,))
        places = add(places, full(first, places) if isinstance(first, int) else broadcast(first, (count,)))
    dtype, shape = spec(x)
    others = [a for a in range(len(shape)) if a != axis]
    perm = (axis, *others)
    found = make(ptir.TakeOp, transpose(x, perm), places, type=tensor_type(dtype, (count, *(shape[a] for a in others))))
    return transpose(found, inverse_permutation(perm))


def make_iota(count: Dim) -> ptir.IotaOp:
    """0, 1, 2 and on, `count` of them, as indices."""
    return make(ptir.IotaOp, type=tensor_type(SI64, (count,)), shape=(count,), dtype=SI64, axis=0)


def indices(numbers: Sequence[int]) -> ptir.ConstantOp:
    """Known indices."""
    literal = ptir.PtirLiteralAttr.from_values(SI64, (len(numbers),), tuple(numbers))
    return ptir.ConstantOp.create(properties={"value": literal}, result_types=[literal.type])


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


__all__ = ["AxisSlice", "indices", "pad", "place", "stated", "taken", "total", "window"]
