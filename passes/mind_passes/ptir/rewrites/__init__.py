"""
The rewrites of `ptir-canonicalize`, one table: op class -> rules, tried in this order.

A rule is a function from an op to an existing value or a new op that stands for its result. It looks at the op and at the ops
that define its operands, which are canonical by then; of uses it asks only whether there is one. Its docstring is its equation
and the side condition that makes the equation true for every input.
"""

from __future__ import annotations

from mind_dialect.ptir import (
    AbsOp,
    AddOp,
    AndOp,
    BroadcastToOp,
    CastOp,
    CbrtOp,
    CeilOp,
    CompareOp,
    ConcatOp,
    CosOp,
    DimensionSizeOp,
    DivOp,
    DotGeneralOp,
    DynamicSliceOp,
    DynamicUpdateSliceOp,
    ErfInvOp,
    ErfOp,
    FloorOp,
    MaximumOp,
    MinimumOp,
    MulOp,
    NegOp,
    NotOp,
    OrOp,
    PadOp,
    PtirOp,
    ReduceOp,
    ReshapeOp,
    ReverseOp,
    RoundOp,
    SelectOp,
    ShiftLeftOp,
    ShiftRightArithmeticOp,
    ShiftRightLogicalOp,
    SignOp,
    SinOp,
    SliceOp,
    StopGradientOp,
    StridedSliceOp,
    SubOp,
    TanhOp,
    TileOp,
    TransposeOp,
    XorOp,
)

from ..building import Rule
from . import casts, constants, contraction, elementwise, integers, pads, slices, structural

RULES: dict[type[PtirOp], tuple[Rule, ...]] = {
    NegOp: (elementwise.neg_neg,),
    AbsOp: (elementwise.abs_of_sign,),
    **dict.fromkeys((ErfOp, ErfInvOp, TanhOp, SinOp, CbrtOp), (elementwise.odd_function,)),
    CosOp: (elementwise.even_function,),
    AddOp: (elementwise.add_zero, elementwise.add_neg, integers.sum_of_constants, pads.sum_of_pads),
    SubOp: (
        elementwise.sub_zero,
        elementwise.sub_neg,
        elementwise.sub_from_zero,
        elementwise.sub_self,
        integers.sum_of_constants,
    ),
    MulOp: (
        elementwise.mul_one,
        elementwise.mul_zero,
        elementwise.mul_minus_one,
        elementwise.neg_of_scaled,
        integers.reassociate,
    ),
    DivOp: (elementwise.div_one, elementwise.div_power_of_two, elementwise.neg_of_scaled),
    MaximumOp: (elementwise.same_operands,),
    MinimumOp: (elementwise.same_operands,),
    SelectOp: (elementwise.select_equal, elementwise.select_known, elementwise.select_not, elementwise.select_truths),
    CastOp: (casts.cast_same, casts.cast_of_cast),
    StopGradientOp: (elementwise.idempotent,),
    ReduceOp: (structural.reduction_of_one, structural.reduce_of_reduce),
    DotGeneralOp: (contraction.transpose_into_dot, contraction.broadcast_out_of_dot),
    ReshapeOp: (structural.unchanged, constants.reshape_of_constant, structural.reshape_of_reshape),
    TransposeOp: (
        structural.transpose_identity,
        constants.transpose_of_constant,
        structural.transpose_of_transpose,
        contraction.transpose_of_dot,
    ),
    BroadcastToOp: (structural.unchanged, constants.broadcast_of_constant, structural.broadcast_of_broadcast),
    SliceOp: (
        structural.slice_everything,
        constants.slice_of_constant,
        structural.slice_of_slice,
        structural.slice_of_concat,
        slices.slice_of_pad,
        slices.slice_of_broadcast,
        slices.slice_of_transpose,
        slices.slice_across_concat,
    ),
    ConcatOp: (structural.concat_of_one, slices.concat_of_slices),
    PadOp: (structural.pad_nothing, slices.pad_of_pad),
    TileOp: (structural.tile_once,),
    DynamicSliceOp: (structural.dynamic_slice_everything, structural.dynamic_slice_known),
    DynamicUpdateSliceOp: (structural.update_everything,),
    FloorOp: (elementwise.idempotent,),
    CeilOp: (elementwise.idempotent,),
    RoundOp: (elementwise.idempotent,),
    SignOp: (elementwise.idempotent,),
    NotOp: (elementwise.not_not, elementwise.not_compare),
    AndOp: (elementwise.same_operands, elementwise.and_ones, elementwise.and_zero, integers.reassociate),
    OrOp: (elementwise.same_operands, elementwise.bitwise_zero, elementwise.or_ones, integers.reassociate),
    CompareOp: (elementwise.compare_self,),
    XorOp: (elementwise.xor_self, elementwise.bitwise_zero, integers.reassociate),
    ShiftLeftOp: (elementwise.shift_nothing,),
    ShiftRightArithmeticOp: (elementwise.shift_nothing,),
    ShiftRightLogicalOp: (elementwise.shift_nothing,),
    ReverseOp: (structural.reverse_nothing, structural.reverse_of_reverse),
    StridedSliceOp: (structural.slice_of_unit_stride,),
    DimensionSizeOp: (constants.dimension_size_of_static,),
}

FAST_RULES: dict[type[PtirOp], tuple[Rule, ...]] = {
    AddOp: (elementwise.fast_add_zero,),
    SubOp: (elementwise.fast_sub_zero, elementwise.fast_sub_self),
    MulOp: (elementwise.fast_mul_zero,),
    DivOp: (elementwise.fast_div_constant,),
}
"""Rules of `fast-math`, which treat floats as real numbers; tried after the others."""

ALL_RULES: dict[type[PtirOp], tuple[Rule, ...]] = {cls: (*rules, *FAST_RULES.get(cls, ())) for cls, rules in RULES.items()}

__all__ = ["ALL_RULES", "FAST_RULES", "RULES"]
