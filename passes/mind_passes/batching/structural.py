"""Batching of ops that move, repeat or number elements: their axes move up by one."""

from __future__ import annotations

from mind_dialect import ptir
from mind_dialect import ptir_shapes as shapes
from mind_dialect.errors import error
from mind_dialect.ptir_shapes import INFER, UNKNOWN, Dim

from ..ptir.construct import dims, reshape, spec
from .elementwise import never
from .indexing import corresponding
from .reduction import reduced
from .rules import Flags, Row, Value, Values, after, again, rank, spread


def reshaped(op: ptir.ReshapeOp, xs: Values, flags: Flags, size: Dim) -> Value:
    """
    An extent of -1 is stated if it is known: of an empty batch nothing can be inferred.

    Where it is not known, an empty batch is E5006, or E3007 if only the run knows that it is empty.
    """
    new_shape = op.values()["new_shape"]
    found = shapes.reshape(spec(op.operands[0]).shape, new_shape=new_shape)
    if UNKNOWN in found and size == 0:
        message = f"new_shape {list(new_shape)} of an empty batch: -1 cannot be inferred, expected a size or a name"
        raise error("E5006", message, type=str(op.results[0].type))
    return again(op, xs, size, new_shape=(size, *(INFER if d == UNKNOWN else d for d in found)))


def transposed(op: ptir.TransposeOp, xs: Values, flags: Flags, size: Dim) -> Value:
    """The batch axis stays in front."""
    return again(op, xs, size, perm=(0, *after(op.values()["perm"], rank(op.operands[0]))))


def broadcast(op: ptir.BroadcastToOp, xs: Values, flags: Flags, size: Dim) -> Value:
    """New leading axes come after the batch axis, by way of axes of size 1."""
    x, target = xs[0], op.values()["result_shape"]
    new = len(target) - rank(op.operands[0])
    source = reshape(x, (size, *[1] * new, *dims(x)[1:])) if new else x
    return again(op, [source], size, result_shape=(size, *target))


def padded(op: ptir.PadOp, xs: Values, flags: Flags, size: Dim) -> Value:
    """Nothing is added along the batch axis."""
    return again(op, xs, size, **{name: (0, *op.values()[name]) for name in ("low", "high", "interior")})


def tiled(op: ptir.TileOp, xs: Values, flags: Flags, size: Dim) -> Value:
    """Once along the batch axis."""
    return again(op, xs, size, repeats=(1, *op.values()["repeats"]))


def sliced(op: ptir.SliceOp, xs: Values, flags: Flags, size: Dim) -> Value:
    """All of the batch axis."""
    values = op.values()
    return again(op, xs, size, starts=(0, *values["starts"]), sizes=(size, *values["sizes"]))


def strided(op: ptir.StridedSliceOp, xs: Values, flags: Flags, size: Dim) -> Value:
    """As `sliced`."""
    v = op.values()
    return again(op, xs, size, starts=(0, *v["starts"]), limits=(size, *v["limits"]), strides=(1, *v["strides"]))


def dimension_size(op: ptir.DimensionSizeOp, xs: Values, flags: Flags, size: Dim) -> Value:
    """The same for every example."""
    (axis,) = after((op.values()["axis"],), rank(op.operands[0]))
    return spread(ptir.DimensionSizeOp(xs[0], axis=axis).result, False, size)


STRUCTURAL: dict[type[ptir.PtirOp], Row] = {
    ptir.ReshapeOp: Row(reshaped),
    ptir.TransposeOp: Row(transposed),
    ptir.BroadcastToOp: Row(broadcast),
    ptir.SliceOp: Row(sliced),
    ptir.ConcatOp: Row(corresponding),
    ptir.PadOp: Row(padded),
    ptir.TileOp: Row(tiled),
    ptir.IotaOp: Row(never),
    ptir.DimensionSizeOp: Row(dimension_size),
    ptir.ReverseOp: Row(reduced),
    ptir.StridedSliceOp: Row(strided),
}
