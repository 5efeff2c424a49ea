"""Elementwise ops, ops that move elements, and those that read windows where an operand says, as tensor and linalg ops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, cast

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DenseArrayBase, IndexType, TensorType, i64
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import SI64, PtirDType

from . import scalars
from .builder import Access, LinalgBuilder, Shape, dims, element_of, element_type, shape_of

Values = list[SSAValue]

Ints = Sequence[int]


def static(op: PtirOp, i: int = 0) -> Shape:
    """The extents of result `i`, which are static in a legal program."""
    return cast(Shape, op.result_spec(i).shape)


def elementwise(b: LinalgBuilder, op: PtirOp, x: Values) -> Values:
    """Every op of `scalars.ELEMENTWISE`: the same place of each operand."""
    shape = static(op)
    places = dims(len(shape))
    body = element_type(op.result_spec().dtype)
    return [b.each([(v, places) for v in x], shape, body, lambda inner, values: [scalars.element(inner, op, list(values))])]


def copied(b: LinalgBuilder, access: Access, shape: Shape) -> SSAValue:
    """A tensor of elements read elsewhere."""
    return b.each([access], shape, element_of(access[0]), lambda inner, values: [values[0]])


def same(b: LinalgBuilder, op: PtirOp, x: Values) -> Values:
    """The operand itself."""
    return [x[0]]


def constant(b: LinalgBuilder, op: ptir.ConstantOp, x: Values) -> Values:
    return [b.literal(op.literal)]


def reshape(b: LinalgBuilder, op: ptir.ReshapeOp, x: Values) -> Values:
    return [b.reshape(x[0], static(op))]


def transpose(b: LinalgBuilder, op: ptir.TransposeOp, x: Values) -> Values:
    rank = len(shape_of(x[0]))
    perm = [n % rank for n in op.values()["perm"]]
    out = b.empty(TensorType(element_of(x[0]), static(op)))
    return [b(linalg.TransposeOp(x[0], out, DenseArrayBase.from_list(i64, perm)))]


def broadcast_to(b: LinalgBuilder, op: ptir.BroadcastToOp, x: Values) -> Values:
    return [copied(b, (x[0], broadcast(shape_of(x[0]), static(op))), static(op))]


def broadcast(shape: Shape, result: Shape) -> list[AffineExpr]:
    """Map each place of a tensor of `result` to the element of one of `shape` that stands there."""
    loops = dims(len(result))[len(result) - len(shape) :]
    wide = result[len(result) - len(shape) :]
    return [loop if n == m else AffineExpr.constant(0) for loop, n, m in zip(loops, shape, wide, strict=True)]


def slice(b: LinalgBuilder, op: ptir.SliceOp, x: Values) -> Values:
    return [b.slice(x[0], op.values()["starts"], static(op))]


def strided_slice(b: LinalgBuilder, op: ptir.StridedSliceOp, x: Values) -> Values:
    values = op.values()
    return [b.slice(x[0], values["starts"], static(op), values["strides"])]


def reverse(b: LinalgBuilder, op: ptir.ReverseOp, x: Values) -> Values:
    """Every loop of a reversed axis counts down."""
    shape = static(op)
    axes = {a % len(shape) for a in op.values()["axes"]}
    if not prod(shape):
        return [x[0]]
    places = [AffineExpr.constant(shape[i] - 1) - d if i in axes else d for i, d in enumerate(dims(len(shape)))]
    return [copied(b, (x[0], places), shape)]


def concat(b: LinalgBuilder, op: ptir.ConcatOp, x: Values) -> Values:
    """Each operand written into its part of one tensor."""
    shape = static(op)
    axis: int = op.values()["axis"] % len(shape)
    place = 0
    found = b.empty(TensorType(element_of(x[0]), shape))
    for value in x:
        starts: list[SSAValue | int] = [place if i == axis else 0 for i in range(len(shape))]
        found = b.insert(value, found, starts)
        place += shape_of(value)[axis]
    return [found]


def pad(b: LinalgBuilder, op: ptir.PadOp, x: Values) -> Values:
    values = op.values()
    number = b.scalar(op.operand_spec(0).dtype, values["pad_value"].item())
    return [padded(b, x[0], number, values["low"], values["high"], values["interior"])]


def padded(b: LinalgBuilder, x: SSAValue, number: SSAValue, low: Ints, high: Ints, interior: Ints) -> SSAValue:
    """`x` with numbers around it and between its elements."""
    old = shape_of(x)
    if not any((*low, *high, *interior)):
        return x
    spread = [n + max(n - 1, 0) * hole for n, hole in zip(old, interior, strict=True)]
    shape = tuple(a + n + z for a, n, z in zip(low, spread, high, strict=True))
    if any(interior):
        return b.insert(x, b.fill(number, shape), list(low), tuple(hole + 1 for hole in interior))
    region = b.region([IndexType()] * len(old), lambda inner, places: [number], lambda values: tensor.YieldOp(*values))
    return b(tensor.PadOp(x, (), (), region, tuple(low), tuple(high), TensorType(element_of(x), shape)))


def tile(b: LinalgBuilder, op: ptir.TileOp, x: Values) -> Values:
    """A dimension for the repeats before each dimension, then both merged."""
    old, repeats = shape_of(x[0]), op.values()["repeats"]
    wide = tuple(n for pair in zip(repeats, old, strict=True) for n in pair)
    found = copied(b, (x[0], dims(len(wide))[1::2]), wide)
    return [b.reshape(found, static(op)) if prod(wide) else b.empty(TensorType(element_of(found), static(op)))]


def dimension_size(b: LinalgBuilder, op: ptir.DimensionSizeOp, x: Values) -> Values:
    axis: int = op.values()["axis"]
    return [b.fill(b.scalar(SI64, shape_of(x[0])[axis]), ())]


def iota(b: LinalgBuilder, op: ptir.IotaOp, x: Values) -> Values:
    shape, dtype = static(op), op.result_spec().dtype
    axis = op.values()["axis"] % len(shape)

    def count(inner: LinalgBuilder, _: Sequence[SSAValue]) -> Values:
        number = inner(arith.IndexCastOp(inner(linalg.IndexOp(axis)), i64))
        convert = scalars.cast if dtype.is_float else scalars.wrap
        return [convert(inner, SI64, dtype, number)]

    return [b.each([], shape, element_type(dtype), count)]


# Places that are data


def dynamic_slice(b: LinalgBuilder, op: ptir.DynamicSliceOp, x: Values) -> Values:
    return [b.slice(x[0], clamped(b, op.operand_spec(1).dtype, x[1], shape_of(x[0]), static(op)), static(op))]


def dynamic_update_slice(b: LinalgBuilder, op: ptir.DynamicUpdateSliceOp, x: Values) -> Values:
    into, update, start = x
    return [b.insert(update, into, clamped(b, op.operand_spec(2).dtype, start, shape_of(into), shape_of(update)))]


def clamped(b: LinalgBuilder, dtype: PtirDType, start: SSAValue, shape: Shape, sizes: Shape) -> list[SSAValue | int]:
    """The elements of `start` as indices from which `sizes` fit into `shape`; 0 where nothing else does."""
    found: list[SSAValue | int] = []
    for i, (extent, size) in enumerate(zip(shape, sizes, strict=True)):
        if extent == size:
            found.append(0)
            continue
        given = b(tensor.ExtractOp(start, [b.index(i)], element_of(start)))
        wide = scalars.cast(b, dtype, SI64, given)
        limited = b(arith.MinSIOp(b(arith.MaxSIOp(wide, b.integer(0, i64))), b.integer(extent - size, i64)))
        found.append(b(arith.IndexCastOp(limited, IndexType())))
    return found


def take(b: LinalgBuilder, op: ptir.TakeOp, x: Values) -> Values:
    """Rows of `x`; legal only where the caller promises that indices are in range."""
    rank = len(shape_of(x[1]))
    return [_looked_up(b, op, x, dims(len(static(op)))[:rank], [None, *range(rank, len(static(op)))])]


def gather(b: LinalgBuilder, op: ptir.GatherOp, x: Values) -> Values:
    """Elements of `x` along one axis, under the same promise."""
    shape = static(op)
    axis = op.values()["axis"] % len(shape)
    return [_looked_up(b, op, x, dims(len(shape)), [None if i == axis else i for i in range(len(shape))])]


def _looked_up(b: LinalgBuilder, op: PtirOp, x: Values, index: list[AffineExpr], loops: list[int | None]) -> SSAValue:
    """A tensor of elements of `x[0]`, at the places of some loops, None standing for the index."""
    shape = static(op)

    def read(inner: LinalgBuilder, values: Sequence[SSAValue]) -> Values:
        found = inner(arith.IndexCastOp(values[0], IndexType()))
        places = [found if i is None else inner(linalg.IndexOp(i)) for i in loops]
        return [inner(tensor.ExtractOp(x[0], places, element_of(x[0])))]

    return b.each([(x[1], index)], shape, element_of(x[0]), read)


# Quantisation


def quantization(b: LinalgBuilder, op: ptir.QuantizationOp, x: Values) -> Values:
    """Parameters are scalars, or lie along an axis."""
    shape, values = static(op), op.values()
    loops = dims(len(shape))
    along: list[AffineExpr] = [] if values["axis"] is None else [loops[values["axis"] % len(shape)]]
    dtypes = [op.operand_spec(i).dtype for i in range(len(x))]
    target = op.result_spec().dtype

    def body(inner: LinalgBuilder, given: Sequence[SSAValue]) -> Values:
        number, *parameters = zip(dtypes, given, strict=False)
        return [_quantized(inner, op, number, parameters, target)]

    inputs: list[Access] = [(x[0], loops), *((v, along) for v in x[1:])]
    return [b.each(inputs, shape, element_type(target), body)]


def _quantized(b: LinalgBuilder, op: PtirOp, x: scalars.Number, given: list[scalars.Number], target: PtirDType) -> SSAValue:
    scale, zero_point = (*given[:2], None, None)[:2]
    if isinstance(op, ptir.QuantizeOp):
        return scalars.quantized(b, x, scale, zero_point, target)
    if isinstance(op, ptir.DequantizeOp):
        return scalars.dequantized(b, x, scale, zero_point, target)
    real = scalars.F64 if scale is None or scale[0] is scalars.F64 else scalars.F32
    number = (real, scalars.dequantized(b, x, scale, zero_point, real))
    second, second_zero = (*given[2:4], None, None)[:2]
    return scalars.quantized(b, number, second, second_zero, target)


RULES: Mapping[type[PtirOp], Any] = {
    **dict.fromkeys(sorted(scalars.ELEMENTWISE - {ptir.StopGradientOp}, key=lambda op: op.name), elementwise),
    ptir.StopGradientOp: same,
    ptir.ConstantOp: constant,
    ptir.ReshapeOp: reshape,
    ptir.TransposeOp: transpose,
    ptir.BroadcastToOp: broadcast_to,
    ptir.SliceOp: slice,
    ptir.StridedSliceOp: strided_slice,
    ptir.ReverseOp: reverse,
    ptir.ConcatOp: concat,
    ptir.PadOp: pad,
    ptir.TileOp: tile,
    ptir.IotaOp: iota,
    ptir.DimensionSizeOp: dimension_size,
    ptir.DynamicSliceOp: dynamic_slice,
    ptir.DynamicUpdateSliceOp: dynamic_update_slice,
    ptir.TakeOp: take,
    ptir.GatherOp: gather,
    **dict.fromkeys((ptir.QuantizeOp, ptir.DequantizeOp, ptir.RequantizeOp), quantization),
}
