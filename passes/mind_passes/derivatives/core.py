"""
The derivatives of Core IR: for each op class, one rule per operand.

A rule takes the op and `g`, the adjoint of its result, and gives the operand's adjoint in the dialect's own ops. `None` says
that no gradient flows into that operand: an integer, or a function that is flat almost everywhere. The driver sums broadcast
axes away, accumulates, and evaluates only the rules that are needed, so no rule mentions any of that. Formulas: the chapter
"Static reverse-mode autodiff"; those of the extension ops are in their docstrings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from xdsl.ir import Operation, SSAValue

from mind_dialect.core import (
    AddOp,
    BroadcastToOp,
    ConstantOp,
    ConstF32Op,
    ConstF64Op,
    ConstI64Op,
    Conv2dBackwardFilterOp,
    Conv2dBackwardInputOp,
    Conv2dOp,
    CoreOp,
    DivOp,
    DotOp,
    ExpandDimsOp,
    ExpOp,
    GatherOp,
    IndexOp,
    IndexScatterOp,
    LogOp,
    MatMulOp,
    MeanOp,
    MulOp,
    NegOp,
    ReciprocalOp,
    ReluGradOp,
    ReluOp,
    ReshapeOp,
    ScatterAddOp,
    SliceOp,
    SliceScatterOp,
    SqueezeOp,
    SubOp,
    SumOp,
    TransposeOp,
)
from mind_dialect.profiles import Profile
from mind_dialect.shapes import inverse_permutation, reduced_axes
from mind_dialect.types import F32, DType, read_type

Value = SSAValue | Operation
Rule = Callable[[Any, SSAValue], Value]


def scalar(value: float, dtype: DType) -> CoreOp:
    """A rank-0 constant of a floating-point dtype."""
    return ConstF32Op(value) if dtype is F32 else ConstF64Op(value)


def expand(op: SumOp | MeanOp, g: Value) -> Value:
    """Repeat `g` over the axes that `op` reduced; a full reduction has rank 0, whatever keepdims says."""
    x, values = op.operand_shape(0), op.values()
    if values["axes"] and not values["keepdims"]:
        g = ExpandDimsOp(g, axes=values["axes"])
    return BroadcastToOp(g, shape=x)


def mean_input(op: MeanOp, g: SSAValue) -> Value:
    """`g / count`, repeated; the count is that of the elements, not of the axes."""
    x = op.operand_shape(0)
    count = prod(x[a] for a in reduced_axes(x, op.values()["axes"]))
    return expand(op, MulOp(g, scalar(1 / count, op.dtype)))


def swap_last_two(x: SSAValue) -> Value:
    """The transpose of each matrix of a batch."""
    rank = len(read_type(x.type)[1])
    return TransposeOp(x, permutation=(*range(rank - 2), rank - 1, rank - 2))


def matmul_lhs(op: MatMulOp | DotOp, g: SSAValue) -> Value:
    return MatMulOp(g, swap_last_two(op.rhs))


def matmul_rhs(op: MatMulOp | DotOp, g: SSAValue) -> Value:
    return MatMulOp(swap_last_two(op.lhs), g)


def outer(column: Value, row: Value) -> Value:
    """`column[i] * row[j]` of two vectors."""
    return MulOp(ExpandDimsOp(column, axes=(1,)), ExpandDimsOp(row, axes=(0,)))


def dot_lhs(op: DotOp, g: SSAValue) -> Value:
    """By rank of the operands; two matrices are as in MatMul."""
    match len(op.operand_shape(0)), len(op.operand_shape(1)):
        case 1, 1:
            return MulOp(g, op.rhs)
        case 2, 1:
            return outer(g, op.rhs)
        case 1, 2:
            return DotOp(op.rhs, g)
        case _:
            return matmul_lhs(op, g)


def dot_rhs(op: DotOp, g: SSAValue) -> Value:
    """By rank of the operands; two matrices are as in MatMul."""
    match len(op.operand_shape(0)), len(op.operand_shape(1)):
        case 1, 1:
            return MulOp(g, op.lhs)
        case 2, 1:
            return DotOp(g, op.lhs)
        case 1, 2:
            return outer(op.lhs, g)
        case _:
            return matmul_rhs(op, g)


def slice_scatter_updates(op: SliceScatterOp, g: SSAValue) -> Value:
    values, counts = op.values(), op.operand_shape(0)
    starts, steps = values["starts"], values["steps"]
    ends = [start + (n - 1) * step + 1 if n else 0 for start, n, step in zip(starts, counts, steps, strict=True)]
    return SliceOp(g, starts=starts, ends=ends, steps=steps)


def convolution(op: Conv2dOp | Conv2dBackwardInputOp | Conv2dBackwardFilterOp) -> dict[str, Any]:
    """The strides and padding of a convolution or of its gradients."""
    return {"strides": op.values()["strides"], "padding": op.values()["padding"]}


def input_gradient(op: Any, g: Value, filter: Value, shape: Sequence[int]) -> Value:
    return Conv2dBackwardInputOp(g, filter, shape=shape, **convolution(op))


def filter_gradient(op: Any, x: Value, g: Value, shape: Sequence[int]) -> Value:
    return Conv2dBackwardFilterOp(x, g, shape=shape, **convolution(op))


RULES: dict[type[CoreOp], tuple[Rule | None, ...]] = {
    ConstI64Op: (),
    ConstF32Op: (),
    ConstF64Op: (),
    ConstantOp: (),
    AddOp: (lambda op, g: g, lambda op, g: g),
    SubOp: (lambda op, g: g, lambda op, g: NegOp(g)),
    MulOp: (lambda op, g: MulOp(g, op.rhs), lambda op, g: MulOp(g, op.lhs)),
    DivOp: (
        lambda op, g: DivOp(g, op.rhs, profile=Profile.CORE_V1_1),
        lambda op, g: NegOp(DivOp(MulOp(g, op.result), op.rhs, profile=Profile.CORE_V1_1)),
    ),
    SumOp: (expand,),
    MeanOp: (mean_input,),
    ReshapeOp: (lambda op, g: ReshapeOp(g, new_shape=op.operand_shape(0)),),
    TransposeOp: (lambda op, g: TransposeOp(g, permutation=inverse_permutation(op.values()["permutation"])),),
    ExpandDimsOp: (lambda op, g: SqueezeOp(g, axes=op.values()["axes"]),),
    SqueezeOp: (lambda op, g: ExpandDimsOp(g, axes=op.values()["axes"]),),
    IndexOp: (lambda op, g: IndexScatterOp(g, shape=op.operand_shape(0), indices=op.values()["indices"]),),
    SliceOp: (
        lambda op, g: SliceScatterOp(g, shape=op.operand_shape(0), starts=op.values()["starts"], steps=op.values()["steps"]),
    ),
    GatherOp: (lambda op, g: ScatterAddOp(op.indices, g, shape=op.operand_shape(0)), None),
    DotOp: (dot_lhs, dot_rhs),
    MatMulOp: (matmul_lhs, matmul_rhs),
    Conv2dOp: (
        lambda op, g: input_gradient(op, g, op.filter, op.operand_shape(0)),
        lambda op, g: filter_gradient(op, op.input, g, op.operand_shape(1)),
    ),
    ReluOp: (lambda op, g: ReluGradOp(g, op.input),),
    NegOp: (lambda op, g: NegOp(g),),
    ExpOp: (lambda op, g: MulOp(g, op.result),),
    LogOp: (lambda op, g: MulOp(g, ReciprocalOp(op.input)),),
    ReluGradOp: (lambda op, g: ReluGradOp(g, op.input), None),
    ReciprocalOp: (lambda op, g: NegOp(MulOp(MulOp(g, op.result), op.result)),),
    BroadcastToOp: (lambda op, g: g,),
    ScatterAddOp: (None, lambda op, g: GatherOp(g, op.indices)),
    SliceScatterOp: (slice_scatter_updates,),
    IndexScatterOp: (lambda op, g: IndexOp(g, indices=op.values()["indices"]),),
    Conv2dBackwardInputOp: (
        lambda op, g: Conv2dOp(g, op.filter, **convolution(op)),
        lambda op, g: filter_gradient(op, g, op.gradient, op.operand_shape(1)),
    ),
    Conv2dBackwardFilterOp: (
        lambda op, g: input_gradient(op, op.gradient, g, op.operand_shape(0)),
        lambda op, g: Conv2dOp(op.input, g, **convolution(op)),
    ),
}
"""Op class -> one rule per operand, in operand order."""

REFUSED_UNDER: dict[type[CoreOp], tuple[Profile, str]] = {
    Conv2dOp: (Profile.CORE_V1, "core-v1 lists Conv2d as unsupported; profile core-v1.1 differentiates it"),
}
"""Ops whose rule a profile forbids, with the reason."""

OPTIONAL: dict[type[CoreOp], str] = {
    DivOp: "the specification excludes Div; the option div-gradient (from Python div_gradient=True) allows the quotient rule",
}
"""Ops whose rule needs the option `div-gradient`, with the reason."""
