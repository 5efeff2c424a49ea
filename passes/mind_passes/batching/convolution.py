"""Batching of convolutions: a batch of images is more images, of filters more output channels, of both more groups."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from mind_dialect.extents.dims import mul_dims
from mind_dialect.op import value_of
from mind_dialect.ptir import ConvolutionOp, PtirOp
from mind_dialect.ptir.types import tensor_type
from mind_dialect.ptir_shapes import Dim, Dims

from ..ptir.construct import dims, reshape, spec, transpose
from .rules import Flags, Row, Value, Values, by_loop, infers, reshape_to, to_front


def shaped(op: PtirOp, operands: Sequence[Value], shape: Dims, **changed: int) -> PtirOp:
    """The op on other operands with a result of another shape."""
    properties = dict(op.properties)
    properties.update(op.store_properties(changed))
    return type(op).create(
        operands=[value_of(v) for v in operands],
        properties=properties,
        attributes=dict(op.attributes),
        result_types=[tensor_type(op.result_spec().dtype, shape)],
    )


def as_one_lead(op: PtirOp, xs: Values, flags: Flags, size: Dim) -> Value | Sequence[Value]:
    """The op on an operand 0 whose first axis holds the batch too; the other operands are not batched."""
    shape = dims(op.operands[0])
    lead = mul_dims(size, shape[0])
    if not infers(lead, shape[1:]):
        return by_loop(op, xs, flags, size)
    result = dims(op.results[0])
    made = shaped(op, [reshape_to(xs[0], (lead, *shape[1:])), *xs[1:]], (lead, *result[1:]))
    return reshape(made, (size, *result))


def convolved(op: ConvolutionOp, xs: Values, flags: Flags, size: Dim) -> Value | Sequence[Value]:
    """By which operand is batched."""
    if not flags[1]:
        return as_one_lead(op, xs, flags, size)
    if not flags[0]:
        return _filters(op, xs, flags, size)
    return _both(op, xs, flags, size)


def _filters(op: ConvolutionOp, xs: Values, flags: Flags, size: Dim) -> Value | Sequence[Value]:
    """`rhs[n]` gives output channels of their own; those of a group stay together: group, example, channel."""
    lhs, rhs = xs
    *window, per_group, out = dims(op.operands[1])
    groups = op.values()["feature_group_count"]
    if groups == 1:
        split: Dims = (out,)
    elif isinstance(out, int):
        split = (groups, out // groups)
    else:
        return by_loop(op, xs, flags, size)
    channels = mul_dims(mul_dims(groups, size), split[-1])
    if not infers(channels, (*window, per_group)):
        return by_loop(op, xs, flags, size)
    apart = reshape(rhs, (size, *window, per_group, *split))
    lead = len(window) + 1
    moved = transpose(apart, (*range(1, lead + len(split)), 0, lead + len(split)))
    result = dims(op.results[0])
    made = shaped(op, [lhs, reshape_to(moved, (*window, per_group, channels))], (*result[:-1], channels))
    apart = reshape(made, (*result[:-1], *split[:-1], size, split[-1]))
    return reshape(to_front(apart, len(result) - 2 + len(split)), (size, *result))


def _both(op: ConvolutionOp, xs: Values, flags: Flags, size: Dim) -> Value | Sequence[Value]:
    """Example `n` is a group, or its groups are."""
    lhs, rhs = dims(op.operands[0]), dims(op.operands[1])
    if not isinstance(size, int) or size == 0 or any(isinstance(n, str) for n in (lhs[-1], *rhs)):
        return by_loop(op, xs, flags, size)
    channels, out = (prod(n for n in (size, shape[-1]) if isinstance(n, int)) for shape in (lhs, rhs))
    images = reshape(_last_but_one(xs[0]), (*lhs[:-1], channels))
    filters = reshape(_last_but_one(xs[1]), (*rhs[:-1], out))
    result = dims(op.results[0])
    groups = op.values()["feature_group_count"] * size
    made = shaped(op, [images, filters], (*result[:-1], out), feature_group_count=groups)
    return to_front(reshape(made, (*result[:-1], size, result[-1])), len(result) - 1)


def _last_but_one(x: Value) -> Value:
    """The batch axis moved to just before the last."""
    n = len(spec(x).shape)
    return transpose(x, (*range(1, n - 1), 0, n - 1))


CONVOLUTION: dict[type[PtirOp], Row] = {
    ConvolutionOp: Row(
        convolved,
        "both operands are batched and the batch or a number of channels has no static size, or is 0; filters in groups with a"
        " dynamic number of channels; a dynamic batch of images or filters of no elements",
    ),
}
