"""Batching of layer norm, random numbers, quantisation and custom calls."""

from __future__ import annotations

from collections.abc import Sequence

from mind_dialect import ptir
from mind_dialect.call_providers import provided
from mind_dialect.extents.dims import mul_dims
from mind_dialect.ptir.types import F32, tensor_type
from mind_dialect.ptir_shapes import Dim
from mind_dialect.shapes import inverse_permutation

from ..ptir import construct as c
from .rules import Flags, Row, Rule, Value, Values, after, again, by_loop, infers, rank, reshape_to, spread, spread_all

CALLS: dict[str, Rule] = {}
"""The rules of custom calls that have one, by target."""


def normalized(op: ptir.LayerNormOp, xs: Values, flags: Flags, size: Dim) -> Value:
    """Batched gains and offsets are applied after a layer norm without any, in f32 for narrower floats, rounded once."""
    (axis,) = after((op.values()["feature_axis"],), rank(op.operands[0]))
    if not any(flags[1:]):
        return again(op, xs, size, feature_axis=axis)
    dtype = c.spec(xs[0]).dtype
    wide = F32 if dtype.bits < 32 else dtype
    features = c.spec(xs[0]).shape[axis - (not flags[0])]
    one, zero = (c.broadcast(c.scalar(number, wide), (features,)) for number in (1.0, -0.0))
    x = c.make(
        ptir.LayerNormOp, c.cast(xs[0], wide), one, zero, epsilon=op.values()["epsilon"], feature_axis=axis - (not flags[0])
    )
    normal = spread(x.results[0], flags[0], size)
    gain, offset = (_along(c.cast(v, wide), flag, axis, c.dims(normal)) for v, flag in zip(xs[1:], flags[1:], strict=True))
    return c.cast(c.add(c.mul(normal, gain), offset), dtype)


def _along(vector: Value, batched: bool, axis: int, shape: tuple[Dim, ...]) -> Value:
    """A vector per example, or one for all, along an axis of the batch."""
    lead = shape[:1] if batched else (1,)
    ones = [1] * (len(shape) - axis - 1)
    return c.broadcast(c.reshape(vector, (*lead, *[1] * (axis - 1), shape[axis], *ones)), shape)


def drawn(op: ptir.RandomOp, xs: Values, flags: Flags, size: Dim) -> Value:
    """A draw per example; for one draw for all the driver copies the op."""
    return again(op, [], size, shape=(size, *op.values()["shape"]))


def quantized(op: ptir.QuantizationOp, xs: Values, flags: Flags, size: Dim) -> Value | Sequence[Value]:
    """A scale per example is a scale along the batch axis; with an axis of its own, along both axes in one."""
    axis = op.values()["axis"]
    if not any(flags[1:]):
        return again(op, xs, size, **({} if axis is None else {"axis": after((axis,), rank(op.operands[0]))[0]}))
    x, *parameters = spread_all(xs, flags, size)
    if axis is None:
        return again(op, [x, *parameters], size, axis=0)
    a: int = axis % rank(op.operands[0])
    shape = c.dims(x)
    count = mul_dims(size, shape[a + 1])
    rest = (*shape[1 : a + 1], *shape[a + 2 :])
    if not infers(count, rest):
        return by_loop(op, xs, flags, size)
    forth = (0, a + 1, *(i for i in range(1, len(shape)) if i != a + 1))
    back = inverse_permutation(forth)
    one = reshape_to(c.transpose(x, forth), (count, *rest))
    vectors = [reshape_to(p, (count,)) for p in parameters]
    values = {name: v for name, v in op.values().items() if name != "axis"}
    made = c.make(type(op), one, *vectors, type=tensor_type(op.result_spec().dtype, c.spec(one).shape), axis=0, **values)
    return c.transpose(c.reshape(made, (size, shape[a + 1], *rest)), back)


def called(op: ptir.CustomCallOp, xs: Values, flags: Flags, size: Dim) -> Value | Sequence[Value]:
    """By the rule that is registered for the target."""
    return (provided(CALLS, op.values()["target"]) or by_loop)(op, xs, flags, size)


MODELS: dict[type[ptir.PtirOp], Row] = {
    ptir.LayerNormOp: Row(normalized),
    ptir.CustomCallOp: Row(called, "no rule is registered for its target"),
    ptir.RngUniformOp: Row(drawn),
    ptir.RngNormalOp: Row(drawn),
    ptir.QuantizeOp: Row(quantized, "batched scales along an axis of a dynamic batch of no elements"),
    ptir.DequantizeOp: Row(quantized, "batched scales along an axis of a dynamic batch of no elements"),
    ptir.RequantizeOp: Row(quantized, "batched scales along an axis of a dynamic batch of no elements"),
}
