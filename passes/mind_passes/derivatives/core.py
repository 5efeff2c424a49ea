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

from mind_dialect import core
from mind_dialect.profiles import Profile
from mind_dialect.shapes import inverse_permutation, reduced_axes
from mind_dialect.types import F32, DType, read_type

Value = SSAValue | Operation
Rule = Callable[[Any, SSAValue], Value]


def scalar(value: float, dtype: DType) -> core.CoreOp:
    """A rank-0 constant of a floating-point dtype."""
    return core.ConstF32Op(value) if dtype is F32 else core.ConstF64Op(value)


def expand(op: core.SumOp | core.MeanOp, g: Value) -> Value:
    """Repeat `g` over the axes that `op` reduced; a full reduction has rank 0, whatever keepdims says."""
    x, values = op.operand_shape(0), op.values()
    if values["axes"] and not values["keepdims"]:
        g = core.ExpandDimsOp(g, axes=values["axes"])
    return core.BroadcastToOp(g, shape=x)


def mean_input(op: core.MeanOp, g: SSAValue) -> Value:
    """`g / count`, repeated; the count is that of the elements, not of the axes."""
    x = op.operand_shape(0)
    count = prod(x[a] for a in reduced_axes(x, op.values()["axes"]))
    return expand(op, core.MulOp(g, scalar(1 / count, op.dtype)))


def swap_last_two(x: SSAValue) -> Value:
    """The transpose of each matrix of a batch."""
    rank = len(read_type(x.type)[1])
    return core.TransposeOp(x, permutation=(*range(rank - 2), rank - 1, rank - 2))


def matmul_lhs(op: core.MatMulOp | core.DotOp, g: SSAValue) -> Value:
    return core.MatMulOp(g, swap_last_two(op.rhs))


def matmul_rhs(op: core.MatMulOp | core.DotOp, g: SSAValue) -> Value:
    return core.MatMulOp(swap_last_two(op.lhs), g)


def outer(column: Value, row: Value) -> Value:
    """`column[i] * row[j]` of two vectors."""
    return core.MulOp(core.ExpandDimsOp(column, axes=(1,)), core.ExpandDimsOp(row, axes=(0,)))


def dot_lhs(op: core.DotOp, g: SSAValue) -> Value:
    """By rank of the operands; two matrices are as in MatMul."""
    match len(op.operand_shape(0)), len(op.operand_shape(1)):
        case 1, 1:
            return core.MulOp(g, op.rhs)
        case 2, 1:
            return outer(g, op.rhs)
        case 1, 2:
            return core.DotOp(op.rhs, g)
        case _:
            return matmul_lhs(op, g)


def dot_rhs(op: core.DotOp, g: SSAValue) -> Value:
    """By rank of the operands; two matrices are as in MatMul."""
    match len(op.operand_shape(0)), len(op.operand_shape(1)):
        case 1, 1:
            return core.MulOp(g, op.lhs)
        case 2, 1:
            return core.DotOp(g, op.lhs)
        case 1, 2:
            return outer(op.lhs, g)
        case _:
            return matmul_rhs(op, g)


def slice_scatter_updates(op: core.SliceScatterOp, g: SSAValue) -> Value:
    values, counts = op.values(), op.operand_shape(0)
    starts, steps = values["starts"], values["steps"]
    ends = [start + (n - 1) * step + 1 if n else 0 for start, n, step in zip(starts, counts, steps, strict=True)]
    return core.SliceOp(g, starts=starts, ends=ends, steps=steps)


def convolution(op: core.Conv2dOp | core.Conv2dBackwardInputOp | core.Conv2dBackwardFilterOp) -> dict[str, Any]:
    """The strides and padding of a convolution or of its gradients."""
    return {"strides": op.values()["strides"], "padding": op.values()["padding"]}


def input_gradient(op: Any, g: Value, filter: Value, shape: Sequence[int]) -> Value:
    return core.Conv2dBackwardInputOp(g, filter, shape=shape, **convolution(op))


def filter_gradient(op: Any, x: Value, g: Value, shape: Sequence[int]) -> Value:
    return core.Conv2dBackwardFilterOp(x, g, shape=shape, **convolution(op))


RULES: dict[type[core.CoreOp], tuple[Rule | None, ...]] = {
    core.ConstI64Op: (),
    core.ConstF32Op: (),
    core.ConstF64Op: (),
    core.ConstantOp: (),
    core.AddOp: (lambda op, g: g, lambda op, g: g),
    core.SubOp: (lambda op, g: g, lambda op, g: core.NegOp(g)),
    core.MulOp: (lambda op, g: core.MulOp(g, op.rhs), lambda op, g: core.MulOp(g, op.lhs)),
    core.DivOp: (
        lambda op, g: core.DivOp(g, op.rhs, profile=Profile.CORE_V1_1),
        lambda op, g: core.NegOp(core.DivOp(core.MulOp(g, op.result), op.rhs, profile=Profile.CORE_V1_1)),
    ),
    core.SumOp: (expand,),
    core.MeanOp: (mean_input,),
    core.ReshapeOp: (lambda op, g: core.ReshapeOp(g, new_shape=op.operand_shape(0)),),
    core.TransposeOp: (lambda op, g: core.TransposeOp(g, permutation=inverse_permutation(op.values()["permutation"])),),
    core.ExpandDimsOp: (lambda op, g: core.SqueezeOp(g, axes=op.values()["axes"]),),
    core.SqueezeOp: (lambda op, g: core.ExpandDimsOp(g, axes=op.values()["axes"]),),
    core.IndexOp: (lambda op, g: core.IndexScatterOp(g, shape=op.operand_shape(0), indices=op.values()["indices"]),),
    core.SliceOp: (
        lambda op, g: core.SliceScatterOp(g, shape=op.operand_shape(0), starts=op.values()["starts"], steps=op.values()["steps"]),
    ),
    core.GatherOp: (lambda op, g: core.ScatterAddOp(op.indices, g, shape=op.operand_shape(0)), None),
    core.DotOp: (dot_lhs, dot_rhs),
    core.MatMulOp: (matmul_lhs, matmul_rhs),
    core.Conv2dOp: (
        lambda op, g: input_gradient(op, g, op.filter, op.operand_shape(0)),
        lambda op, g: filter_gradient(op, op.input, g, op.operand_shape(1)),
    ),
    core.ReluOp: (lambda op, g: core.ReluGradOp(g, op.input),),
    core.NegOp: (lambda op, g: core.NegOp(g),),
    core.ExpOp: (lambda op, g: core.MulOp(g, op.result),),
    core.LogOp: (lambda op, g: core.MulOp(g, core.ReciprocalOp(op.input)),),
    core.ReluGradOp: (lambda op, g: core.ReluGradOp(g, op.input), None),
    core.ReciprocalOp: (lambda op, g: core.NegOp(core.MulOp(core.MulOp(g, op.result), op.result)),),
    core.BroadcastToOp: (lambda op, g: g,),
    core.ScatterAddOp: (None, lambda op, g: core.GatherOp(g, op.indices)),
    core.SliceScatterOp: (slice_scatter_updates,),
    core.IndexScatterOp: (lambda op, g: core.IndexOp(g, indices=op.values()["indices"]),),
    core.Conv2dBackwardInputOp: (
        lambda op, g: core.Conv2dOp(g, op.filter, **convolution(op)),
        lambda op, g: filter_gradient(op, g, op.gradient, op.operand_shape(1)),
    ),
    core.Conv2dBackwardFilterOp: (
        lambda op, g: input_gradient(op, op.gradient, g, op.operand_shape(0)),
        lambda op, g: core.Conv2dOp(op.input, g, **convolution(op)),
    ),
}
"""Op class -> one rule per operand, in operand order."""

REFUSED_UNDER: dict[type[core.CoreOp], tuple[Profile, str]] = {
    core.Conv2dOp: (Profile.CORE_V1, "core-v1 lists Conv2d as unsupported; profile core-v1.1 differentiates it"),
}
"""Ops whose rule a profile forbids, with the reason."""

OPTIONAL: dict[type[core.CoreOp], str] = {
    core.DivOp: "the specification excludes Div; "
    "the option div-gradient (from Python div_gradient=True) allows the quotient rule",
}
"""Ops whose rule needs the option `div-gradient`, with the reason."""
