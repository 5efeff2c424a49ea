"""Ops that move, repeat or number elements, and windows that start where an operand says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.extents.dims import add_dims, extent_of, max_dims
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import SI64, Kind
from mind_dialect.ptir_shapes import Dim

from .attributes import attribute, flag, integers, numbers
from .builder import StablehloBuilder, Values, dtype_of, is_static, shape_of, static
from .elementwise import Rule, cast_to, is_small


def _constant(b: StablehloBuilder, op: ptir.ConstantOp, x: Values) -> SSAValue:
    return b.literal(op.literal)


def _reshape(b: StablehloBuilder, op: ptir.ReshapeOp, x: Values) -> SSAValue:
    return b.reshape(x[0], static(op.result_spec()))


def _transpose(b: StablehloBuilder, op: ptir.TransposeOp, x: Values) -> SSAValue:
    shape = static(op.result_spec())
    perm = [a % len(shape) for a in op.values()["perm"]]
    return b.typed("transpose", (dtype_of(x[0]), shape), x[0], permutation=integers(perm))


def _broadcast_to(b: StablehloBuilder, op: ptir.BroadcastToOp, x: Values) -> SSAValue:
    rank, shape = len(shape_of(x[0])), static(op.result_spec())
    return b.broadcast(x[0], shape, range(len(shape) - rank, len(shape)))


def _slice(b: StablehloBuilder, op: ptir.SliceOp, x: Values) -> SSAValue:
    starts = op.values()["starts"]
    return b.slice(x[0], starts, [add_dims(a, n) for a, n in zip(starts, op.result_spec().shape, strict=True)])


def _strided_slice(b: StablehloBuilder, op: ptir.StridedSliceOp, x: Values) -> SSAValue:
    """An empty slice may end before it starts in PTIR."""
    values = op.values()
    limits = [max_dims(start, limit) for start, limit in zip(values["starts"], values["limits"], strict=True)]
    return b.slice(x[0], values["starts"], limits, values["strides"])


def _concat(b: StablehloBuilder, op: ptir.ConcatOp, x: Values) -> SSAValue:
    return b.concat(x, op.values()["axis"] % len(static(op.result_spec())))


def _pad(b: StablehloBuilder, op: ptir.PadOp, x: Values) -> SSAValue:
    values = op.values()
    return b.pad(x[0], b.literal(values["pad_value"]), values["low"], values["high"], values["interior"])


def _tile(b: StablehloBuilder, op: ptir.TileOp, x: Values) -> SSAValue:
    """A dimension for the repeats before each dimension, then both merged."""
    old, repeats = shape_of(x[0]), op.values()["repeats"]
    wide = [n for pair in zip(repeats, old, strict=True) for n in pair]
    spread = b.broadcast(x[0], wide, range(1, len(wide), 2)) if wide else x[0]
    return b.reshape(spread, static(op.result_spec()))


def _dimension_size(b: StablehloBuilder, op: ptir.DimensionSizeOp, x: Values) -> SSAValue:
    axis: int = op.values()["axis"]
    return b.value(extent_of(op.operand_spec(0).shape[axis]))


def _iota(b: StablehloBuilder, op: ptir.IotaOp, x: Values) -> SSAValue:
    """Counted in 64 bits and converted, as our kernels do: integers wrap, floats round."""
    dtype, shape = op.result_spec().dtype, static(op.result_spec())
    axis = op.values()["axis"] % len(shape)
    if dtype.kind in (Kind.SIGNED, Kind.UNSIGNED) and dtype.bits >= 32:
        return b.iota(dtype, shape, axis)
    if not dtype.is_float:
        return b.convert(b.iota(SI64, shape, axis), dtype)
    if dtype.bits >= 32 or (is_static(shape) and shape[axis] <= 1 << 8 and not is_small(dtype)):
        return b.iota(dtype, shape, axis)
    return cast_to(b, b.iota(SI64, shape, axis), dtype)


def _reverse(b: StablehloBuilder, op: ptir.ReverseOp, x: Values) -> SSAValue:
    rank = len(shape_of(x[0]))
    axes = sorted({a % rank for a in op.values()["axes"]})
    return b("reverse", x[0], dimensions=integers(axes)) if axes else x[0]


def _dynamic_slice(b: StablehloBuilder, op: ptir.DynamicSliceOp, x: Values) -> SSAValue:
    shape = static(op.result_spec())
    return dynamic_slice(b, x[0], starts(b, x[1]), shape)


def dynamic_slice(b: StablehloBuilder, x: SSAValue, at: Sequence[SSAValue], shape: Sequence[Dim]) -> SSAValue:
    """The window of `shape` elements from the scalars `at`, which XLA clamps as PTIR does."""
    if not is_static(shape):
        axes, at_once = list(range(len(shape))), b.concat([b.reshape(v, (1,)) for v in at], 0)
        text = numbers(offset_dims=axes, start_index_map=axes, index_vector_dim=0)
        properties = {"dimension_numbers": attribute("gather", text), "indices_are_sorted": flag(True)}
        return b.typed("dynamic_gather", (dtype_of(x), shape), x, at_once, b.vector(shape), **properties)
    return b.typed("dynamic_slice", (dtype_of(x), shape), x, *at, slice_sizes=integers(shape)) if at else x


def _dynamic_update_slice(b: StablehloBuilder, op: ptir.DynamicUpdateSliceOp, x: Values) -> SSAValue:
    at = starts(b, x[2])
    return b("dynamic_update_slice", x[0], x[1], *at) if at else x[1]


def starts(b: StablehloBuilder, x: SSAValue) -> list[SSAValue]:
    """The elements of a vector as scalars."""
    return [b.reshape(b.slice(x, [i], [i + 1]), ()) for i in range(shape_of(x)[0])]


def _extract_patches(b: StablehloBuilder, op: ptir.ExtractPatchesOp, x: Values) -> SSAValue:
    """A strided slice of the padded image for each place of the window, one after the other."""
    values, shape = op.values(), static(op.result_spec())
    low, high = ([0, *(pad[i] for pad in values["padding"]), 0] for i in (0, 1))
    padded = b.pad(x[0], b.literal(values["pad_value"]), low, high, [0] * len(shape))
    outer, strides = shape_of(padded), [1, *values["strides"], 1]
    parts: Values = []
    for place in product(*map(range, values["window"])):
        begin = [0, *(i * hole for i, hole in zip(place, values["dilation"], strict=True)), 0]
        spans = zip(begin[1:-1], shape[1:-1], values["strides"], strict=True)
        end = [outer[0], *(a + max(n - 1, 0) * stride + (n > 0) for a, n, stride in spans), outer[-1]]
        parts.append(b.slice(padded, begin, end, strides))
    return b.concat(parts, len(shape) - 1)


def _fft(b: StablehloBuilder, op: ptir.FftOp, x: Values) -> SSAValue:
    values, result = op.values(), op.result_spec()
    if not all(shape_of(x[0])):
        return b.fill(0, result)
    kind, lengths = attribute("fft_type", values["kind"].upper()), integers(values["lengths"])
    return b.typed("fft", result, x[0], fft_type=kind, fft_length=lengths)


RULES: Mapping[type[PtirOp], Rule] = {
    ptir.ConstantOp: _constant,
    ptir.ReshapeOp: _reshape,
    ptir.TransposeOp: _transpose,
    ptir.BroadcastToOp: _broadcast_to,
    ptir.SliceOp: _slice,
    ptir.StridedSliceOp: _strided_slice,
    ptir.ConcatOp: _concat,
    ptir.PadOp: _pad,
    ptir.TileOp: _tile,
    ptir.IotaOp: _iota,
    ptir.DimensionSizeOp: _dimension_size,
    ptir.ReverseOp: _reverse,
    ptir.DynamicSliceOp: _dynamic_slice,
    ptir.DynamicUpdateSliceOp: _dynamic_update_slice,
    ptir.ExtractPatchesOp: _extract_patches,
    ptir.FftOp: _fft,
}
"""Each rule returns the one result of its op."""
