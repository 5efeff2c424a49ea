"""
The rewrites of `ptir-canonicalize`, one table: op class -> rules, tried in this order.

A rule is a function from an op to an existing value or a new op that stands for its result. It looks at the op and at the ops
that define its operands, which are canonical by then; of uses it asks only whether there is one. Its docstring is its equation
and the side condition that makes the equation true for every input.
"""

from __future__ import annotations

from mind_dialect import ptir

from ..building import Rule
from . import casts, complex_parts, constants, contraction, elementwise, integers, lookups, pads, slices, structural

RULES: dict[type[ptir.PtirOp], tuple[Rule, ...]] = {
    ptir.NegOp: (elementwise.neg_neg,),
    ptir.AbsOp: (elementwise.abs_of_sign,),
    **dict.fromkeys((ptir.ErfOp, ptir.ErfInvOp, ptir.TanhOp, ptir.SinOp, ptir.CbrtOp), (elementwise.odd_function,)),
    ptir.CosOp: (elementwise.even_function,),
    ptir.AddOp: (elementwise.add_zero, elementwise.add_neg, integers.sum_of_constants, pads.sum_of_pads),
    ptir.SubOp: (
        elementwise.sub_zero,
        elementwise.sub_neg,
        elementwise.sub_from_zero,
        elementwise.sub_self,
        integers.sum_of_constants,
    ),
    ptir.MulOp: (
        elementwise.mul_one,
        elementwise.mul_zero,
        elementwise.mul_minus_one,
        elementwise.neg_of_scaled,
        integers.reassociate,
    ),
    ptir.DivOp: (elementwise.div_one, elementwise.div_power_of_two, elementwise.neg_of_scaled),
    ptir.MaximumOp: (elementwise.same_operands, elementwise.extreme_of_end),
    ptir.MinimumOp: (elementwise.same_operands, elementwise.extreme_of_end),
    ptir.SelectOp: (elementwise.select_equal, elementwise.select_known, elementwise.select_not, elementwise.select_truths),
    ptir.CastOp: (casts.cast_same, casts.cast_of_cast),
    ptir.TruncateOp: (casts.widening_truncate,),
    ptir.StopGradientOp: (elementwise.idempotent,),
    ptir.ReduceOp: (structural.reduction_of_one, structural.reduce_of_reduce),
    ptir.DotGeneralOp: (contraction.transpose_into_dot, contraction.broadcast_out_of_dot),
    ptir.ReshapeOp: (
        structural.unchanged,
        constants.reshape_of_constant,
        structural.reshape_of_reshape,
        structural.reshape_of_broadcast,
        structural.reshape_of_iota,
    ),
    ptir.TransposeOp: (
        structural.transpose_identity,
        constants.transpose_of_constant,
        structural.transpose_of_transpose,
        structural.transpose_of_concat,
        contraction.transpose_of_dot,
    ),
    ptir.BroadcastToOp: (structural.unchanged, constants.broadcast_of_constant, structural.broadcast_of_broadcast),
    ptir.SliceOp: (
        structural.slice_everything,
        constants.slice_of_constant,
        structural.slice_of_slice,
        structural.slice_of_concat,
        slices.slice_of_pad,
        slices.slice_of_broadcast,
        slices.slice_of_transpose,
        slices.slice_across_concat,
    ),
    ptir.ConcatOp: (structural.concat_of_one, slices.concat_of_slices),
    ptir.PadOp: (structural.pad_nothing, slices.pad_of_pad),
    ptir.TileOp: (structural.tile_once,),
    ptir.DynamicSliceOp: (structural.dynamic_slice_everything, structural.dynamic_slice_known),
    **dict.fromkeys((ptir.TakeOp, ptir.GatherOp), (lookups.lookup_of_elementwise,)),
    ptir.DynamicUpdateSliceOp: (structural.update_everything,),
    ptir.FloorOp: (elementwise.idempotent,),
    ptir.CeilOp: (elementwise.idempotent,),
    ptir.RoundOp: (elementwise.idempotent,),
    ptir.SignOp: (elementwise.idempotent,),
    ptir.NotOp: (elementwise.not_not, elementwise.not_compare),
    ptir.AndOp: (elementwise.same_operands, elementwise.and_ones, elementwise.and_zero, integers.reassociate),
    ptir.OrOp: (elementwise.same_operands, elementwise.bitwise_zero, elementwise.or_ones, integers.reassociate),
    ptir.CompareOp: (elementwise.compare_self,),
    ptir.XorOp: (elementwise.xor_self, elementwise.bitwise_zero, integers.reassociate),
    ptir.ShiftLeftOp: (elementwise.shift_nothing,),
    ptir.ShiftRightArithmeticOp: (elementwise.shift_nothing,),
    ptir.ShiftRightLogicalOp: (elementwise.shift_nothing,),
    **dict.fromkeys(
        (ptir.RealOp, ptir.ImagOp), (complex_parts.part_of_complex, complex_parts.part_of_conj, complex_parts.part_of_cast)
    ),
    ptir.ComplexOp: (complex_parts.complex_of_parts,),
    ptir.ConjOp: (complex_parts.conj_of_conj, complex_parts.conj_of_complex),
    ptir.ReverseOp: (structural.reverse_nothing, structural.reverse_of_reverse),
    ptir.StridedSliceOp: (structural.slice_of_unit_stride,),
    ptir.DimensionSizeOp: (constants.dimension_size_of_static,),
}

FAST_RULES: dict[type[ptir.PtirOp], tuple[Rule, ...]] = {
    ptir.AddOp: (elementwise.fast_add_zero,),
    ptir.SubOp: (elementwise.fast_sub_zero, elementwise.fast_sub_self),
    ptir.MulOp: (elementwise.fast_mul_zero,),
    ptir.DivOp: (elementwise.fast_div_constant,),
}
"""Rules of `fast-math`, which treat floats as real numbers; tried after the others."""

ALL_RULES: dict[type[ptir.PtirOp], tuple[Rule, ...]] = {cls: (*rules, *FAST_RULES.get(cls, ())) for cls, rules in RULES.items()}

__all__ = ["ALL_RULES", "FAST_RULES", "RULES"]
