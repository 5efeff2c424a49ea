"""
The rewrites of `mind-canonicalize`, one table: op class -> rules, tried in this order.

A rule is a function from an op to an existing value or a new op that stands for it. It looks at the op and at the ops that define
its operands, which are canonical by then, never at uses: dead code must not decide. Its docstring is its equation and the side
condition that makes the equation true for every input, NaN, -0 and overflow included.
"""

from __future__ import annotations

from mind_dialect.core import (
    AddOp,
    BroadcastToOp,
    CoreOp,
    DivOp,
    ExpandDimsOp,
    IndexOp,
    MeanOp,
    MulOp,
    NegOp,
    ReluGradOp,
    ReluOp,
    ReshapeOp,
    SliceOp,
    SliceScatterOp,
    SqueezeOp,
    SubOp,
    SumOp,
    TransposeOp,
)

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

RULES: dict[type[CoreOp], tuple[Rule, ...]] = {
    AddOp: (fold_integers, add_zero, add_neg, implicit_broadcast),
    SubOp: (fold_integers, sub_zero, sub_from_zero, sub_neg, implicit_broadcast),
    MulOp: (fold_integers, mul_one, mul_zero, mul_minus_one, implicit_broadcast),
    DivOp: (div_one, implicit_broadcast),
    SumOp: (reduction_of_one,),
    MeanOp: (reduction_of_one,),
    ReshapeOp: (unchanged, view_of_view),
    TransposeOp: (transpose_identity, transpose_of_transpose),
    ExpandDimsOp: (unchanged, view_of_view),
    SqueezeOp: (unchanged, view_of_view),
    IndexOp: (index_of_slice,),
    SliceOp: (unchanged, slice_of_slice),
    ReluOp: (relu_relu,),
    NegOp: (fold_integers, neg_neg),
    ReluGradOp: (relu_grad_of_relu, relu_grad_twice),
    BroadcastToOp: (unchanged, broadcast_of_broadcast),
    SliceScatterOp: (unchanged,),
}

FLOAT_RULES: dict[type[CoreOp], tuple[Rule, ...]] = {
    cls: (fold_floats, *rules) if cls in ARITHMETIC else rules for cls, rules in RULES.items()
}
"""The same with floats folded, which is for those who ask."""

__all__ = ["FLOAT_RULES", "RULES"]
