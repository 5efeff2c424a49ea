"""
The rewrites of `mind-canonicalize`, one table: op class -> rules, tried in this order.

A rule is a function from an op to an existing value or a new op that stands for it. It looks at the op and at the ops that define
its operands, which are canonical by then, never at uses: dead code must not decide. Its docstring is its equation and the side
condition that makes the equation true for every input, NaN, -0 and overflow included.
"""

from __future__ import annotations

from mind_dialect import core

from .building import Rule
from .constants import ARITHMETIC, fold_floats, fold_integers
from .elementwise import (
    add_neg,
    add_zero,
    div_one,
    implicit_broadcast,
    mul_minus_one,
    mul_one,
    mul_zero,
    neg_neg,
    relu_grad_of_relu,
    relu_grad_twice,
    relu_relu,
    sub_from_zero,
    sub_neg,
    sub_zero,
)
from .structural import (
    broadcast_of_broadcast,
    index_of_slice,
    reduction_of_one,
    slice_of_slice,
    transpose_identity,
    transpose_of_transpose,
    unchanged,
    view_of_view,
)

RULES: dict[type[core.CoreOp], tuple[Rule, ...]] = {
    core.AddOp: (fold_integers, add_zero, add_neg, implicit_broadcast),
    core.SubOp: (fold_integers, sub_zero, sub_from_zero, sub_neg, implicit_broadcast),
    core.MulOp: (fold_integers, mul_one, mul_zero, mul_minus_one, implicit_broadcast),
    core.DivOp: (div_one, implicit_broadcast),
    core.SumOp: (reduction_of_one,),
    core.MeanOp: (reduction_of_one,),
    core.ReshapeOp: (unchanged, view_of_view),
    core.TransposeOp: (transpose_identity, transpose_of_transpose),
    core.ExpandDimsOp: (unchanged, view_of_view),
    core.SqueezeOp: (unchanged, view_of_view),
    core.IndexOp: (index_of_slice,),
    core.SliceOp: (unchanged, slice_of_slice),
    core.ReluOp: (relu_relu,),
    core.NegOp: (fold_integers, neg_neg),
    core.ReluGradOp: (relu_grad_of_relu, relu_grad_twice),
    core.BroadcastToOp: (unchanged, broadcast_of_broadcast),
    core.SliceScatterOp: (unchanged,),
}

FLOAT_RULES: dict[type[core.CoreOp], tuple[Rule, ...]] = {
    cls: (fold_floats, *rules) if cls in ARITHMETIC else rules for cls, rules in RULES.items()
}
"""The same with floats folded, which is for those who ask."""

__all__ = ["FLOAT_RULES", "RULES"]
