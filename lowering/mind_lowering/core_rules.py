"""
The meaning of every Core IR op in PTIR: one table, in the order of `mind_dialect.core`.

Each rule appends ops to an `Emitter` and returns the value that stands for the op's result. Core IR broadcasts and PTIR does
not; Core IR's static indices may be out of bounds, which must fail at run time with E6001 and never be clamped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from mind_dialect import core, ptir, shapes
from mind_dialect.core import CoreOp
from mind_dialect.ptir.literal import PtirLiteralAttr
from mind_dialect.ptir.types import F32 as PTIR_F32
from mind_dialect.ptir.types import F64 as PTIR_F64
from mind_dialect.ptir.types import SI32, SI64, PtirDType
from mind_dialect.types import F32, F64, I32, I64, DType, Shape, read_type

from . import core_convolution as convolution
from .emitter import Emitter

DTYPES: Mapping[DType, PtirDType] = {I32: SI32, I64: SI64, F32: PTIR_F32, F64: PTIR_F64}
"""The dtype of PTIR that stands for each of Core IR."""

Operands = list[SSAValue]
Rule = Callable[[Emitter, Any, Operands], SSAValue]


def converted_type(type: Attribute) -> Attribute:
    """The PTIR type that stands for a Core IR type; a coded error for what is none."""
    dtype, shape = read_type(type)
    return type if dtype.is_float else TensorType(DTYPES[dtype].type, shape)


def _same(kind: type[ptir.PtirOp]) -> Rule:
    """The op of the same meaning on the same operands."""
    return lambda emit, _op, operands: emit(kind, *operands)


def _binary(kind: type[ptir.PtirOp]) -> Rule:
    """An elementwise op of operands that are broadcast to its result's shape."""
    return lambda emit, op, operands: emit(kind, *(emit.broadcast(v, op.result_shape) for v in operands))


def _reshape(emit: Emitter, op: CoreOp, operands: Operands) -> SSAValue:
    return emit.reshape(operands[0], op.result_shape)


# Constants


def _scalar(emit: Emitter, op: core.ScalarConstant, _: Operands) -> SSAValue:
    return emit.fill(DTYPES[op.dtype], (), op.values()["value"])


def _constant(emit: Emitter, op: core.ConstantOp, _: Operands) -> SSAValue:
    dtype, shape = read_type(op.literal.type)
    literal = PtirLiteralAttr(TensorType(DTYPES[dtype].type, shape), op.literal.data)
    return emit(ptir.ConstantOp, literal)


# Reductions


def _sum(emit: Emitter, op: core.ReductionOp, operands: Operands) -> SSAValue:
    """No axes mean all of them here, none in PTIR; counting from the end was settled by the verifier."""
    values = op.values()
    axes = shapes.reduced_axes(op.operand_shape(0), values["axes"], negative=True)
    keepdims = bool(values["keepdims"] and values["axes"])
    return emit(ptir.ReduceOp, *operands, kind="sum", axes=axes, keepdims=keepdims)


def _mean(emit: Emitter, op: core.MeanOp, operands: Operands) -> SSAValue:
    """The sum by the count; the count of an i32 mean may not fit si32, the quotient does."""
    axes = shapes.reduced_axes(op.operand_shape(0), op.values()["axes"], negative=True)
    count = prod(op.operand_shape(0)[i] for i in axes)
    total, dtype = _sum(emit, op, operands), DTYPES[op.dtype]
    wide = SI64 if dtype is SI32 and count >= 1 << 31 else dtype
    if wide is not dtype:
        total = emit(ptir.CastOp, total, dtype=wide)
    mean = emit(ptir.DivOp, total, emit.fill(wide, op.result_shape, count))
    return mean if wide is dtype else emit(ptir.CastOp, mean, dtype=dtype)


# Structure and indexing


def _slice(emit: Emitter, op: core.SliceOp, operands: Operands) -> SSAValue:
    """Bounds that select nothing or one place may lie anywhere in Core IR; in PTIR they are put in range."""
    starts, _, steps = shapes.slice_bounds(op.operand_shape(0), **op.values(), negative=True)
    sizes = op.result_shape
    starts = tuple(start if n else 0 for start, n in zip(starts, sizes, strict=True))
    steps = tuple(step if n > 1 else 1 for step, n in zip(steps, sizes, strict=True))
    if all(step == 1 for step in steps):
        return emit(ptir.SliceOp, *operands, starts=starts, sizes=sizes)
    limits = [start + (n - 1) * step + 1 if n else 0 for start, n, step in zip(starts, sizes, steps, strict=True)]
    return emit(ptir.StridedSliceOp, *operands, starts=starts, limits=limits, strides=steps)


def _outside(indices: Shape, shape: Shape) -> int | None:
    """The first dimension whose index is out of bounds."""
    return next((d for d, (i, n) in enumerate(zip(indices, shape, strict=True)) if not 0 <= i < n), None)


def _index(emit: Emitter, op: core.IndexOp, operands: Operands) -> SSAValue:
    """A slice of one element; out of bounds it is a `take` of the wrong row, which fails when it runs."""
    (x,), indices, shape = operands, op.values()["indices"], op.operand_shape(0)
    if (d := _outside(indices, shape)) is None:
        return emit.reshape(emit(ptir.SliceOp, x, starts=indices, sizes=[1] * len(shape)), ())
    rows = emit(ptir.TransposeOp, x, perm=[d, *(i for i in range(len(shape)) if i != d)])
    row = emit(ptir.TakeOp, rows, emit.fill(SI64, (), indices[d]))
    return emit(ptir.ReduceOp, row, kind="sum", axes=range(len(shape) - 1), keepdims=False)


def _index_scatter(emit: Emitter, op: core.IndexScatterOp, operands: Operands) -> SSAValue:
    """Padding around one element; out of bounds it is a scatter to the wrong place, which fails when it runs."""
    (update,), indices, shape = operands, op.values()["indices"], op.result_shape
    if _outside(indices, shape) is None:
        return _placed(emit, emit.reshape(update, [1] * len(shape)), indices, [1] * len(shape), shape)
    every = range(len(shape))
    vector = emit(ptir.ConstantOp, PtirLiteralAttr.from_values(SI64, (len(shape),), indices))
    dims = {"inserted_window_dims": every, "scatter_dims_to_operand_dims": every, "index_vector_dim": 0}
    zeros = emit.fill(DTYPES[op.dtype], shape, 0)
    return emit(ptir.ScatterAddOp, zeros, vector, update, update_window_dims=(), **dims)


def _placed(emit: Emitter, x: SSAValue, starts: Sequence[int], steps: Sequence[int], shape: Shape) -> SSAValue:
    """Zeros of `shape` with `x` at `starts`, `steps` apart."""
    sizes = emit.shape(x)
    if 0 in sizes:
        return emit.fill(emit.spec(x).dtype, shape, 0)
    gaps = [step - 1 if n > 1 else 0 for n, step in zip(sizes, steps, strict=True)]
    ends = [start + (n - 1) * (gap + 1) + 1 for start, n, gap in zip(starts, sizes, gaps, strict=True)]
    high = [n - end for n, end in zip(shape, ends, strict=True)]
    return emit(ptir.PadOp, x, low=starts, high=high, interior=gaps, pad_value=0)


def _slice_scatter(emit: Emitter, op: core.SliceScatterOp, operands: Operands) -> SSAValue:
    values = op.values()
    return _placed(emit, operands[0], values["starts"], values["steps"], op.result_shape)


def _scatter_add(emit: Emitter, op: core.ScatterAddOp, operands: Operands) -> SSAValue:
    """Rows added to zeros in row-major order."""
    indices, updates = operands
    first = len(op.operand_shape(0))
    return emit(
        ptir.ScatterAddOp,
        emit.fill(DTYPES[op.dtype], op.result_shape, 0),
        indices,
        updates,
        update_window_dims=range(first, len(op.operand_shape(1))),
        inserted_window_dims=(0,),
        scatter_dims_to_operand_dims=(0,),
    )


# Products


def _contract(emit: Emitter, lhs: SSAValue, rhs: SSAValue, batch: int, of_lhs: int, of_rhs: int) -> SSAValue:
    """The product of two tensors over one axis of each, for each place along their first `batch` axes."""
    leading = range(batch)
    contracted = {"contract_lhs": (of_lhs,), "contract_rhs": (of_rhs,)}
    return emit(ptir.DotGeneralOp, lhs, rhs, batch_lhs=leading, batch_rhs=leading, **contracted)


def _dot(emit: Emitter, op: core.DotOp, operands: Operands) -> SSAValue:
    return _contract(emit, operands[0], operands[1], 0, len(op.operand_shape(0)) - 1, 0)


def _matmul(emit: Emitter, op: core.MatMulOp, operands: Operands) -> SSAValue:
    """One matrix on the right multiplies all rows on the left at once; else leading dimensions are broadcast."""
    (a, b), (left, right) = operands, (op.operand_shape(0), op.operand_shape(1))
    if len(right) == 2:
        return _contract(emit, a, b, 0, len(left) - 1, 0)
    batch = op.result_shape[:-2]
    a, b = emit.broadcast(a, batch + left[-2:]), emit.broadcast(b, batch + right[-2:])
    return _contract(emit, a, b, len(batch), len(batch) + 1, len(batch))


# Activations


def _positive(emit: Emitter, x: SSAValue, values: SSAValue) -> SSAValue:
    """`values` where `x` is positive, else +0: a selection, so nothing is multiplied."""
    zeros = emit.fill(emit.spec(x).dtype, emit.shape(x), 0)
    return emit(ptir.SelectOp, emit(ptir.CompareOp, x, zeros, kind="greater"), values, zeros)


RULES: dict[type[CoreOp], Rule] = {
    core.ConstI64Op: _scalar,
    core.ConstF32Op: _scalar,
    core.ConstF64Op: _scalar,
    core.ConstantOp: _constant,
    core.AddOp: _binary(ptir.AddOp),
    core.SubOp: _binary(ptir.SubOp),
    core.MulOp: _binary(ptir.MulOp),
    core.DivOp: _binary(ptir.DivOp),
    core.SumOp: _sum,
    core.MeanOp: _mean,
    core.ReshapeOp: _reshape,
    core.TransposeOp: lambda emit, op, operands: emit(ptir.TransposeOp, *operands, perm=op.values()["permutation"]),
    core.ExpandDimsOp: _reshape,
    core.SqueezeOp: _reshape,
    core.IndexOp: _index,
    core.SliceOp: _slice,
    core.GatherOp: _same(ptir.TakeOp),
    core.DotOp: _dot,
    core.MatMulOp: _matmul,
    core.Conv2dOp: convolution.conv2d,
    core.ReluOp: lambda emit, _, operands: _positive(emit, operands[0], operands[0]),
    core.NegOp: _same(ptir.NegOp),
    core.ExpOp: _same(ptir.ExpOp),
    core.LogOp: _same(ptir.LogOp),
    core.ReluGradOp: lambda emit, _, operands: _positive(emit, operands[1], operands[0]),
    core.ReciprocalOp: _same(ptir.ReciprocalOp),
    core.BroadcastToOp: lambda emit, op, operands: emit(ptir.BroadcastToOp, *operands, result_shape=op.result_shape),
    core.ScatterAddOp: _scatter_add,
    core.SliceScatterOp: _slice_scatter,
    core.IndexScatterOp: _index_scatter,
    core.Conv2dBackwardInputOp: convolution.conv2d_backward_input,
    core.Conv2dBackwardFilterOp: convolution.conv2d_backward_filter,
}
"""Every op's meaning; a test closes the table over `mind_dialect.core`."""
