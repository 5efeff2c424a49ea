"""Ops that take many elements to one: reductions, the place of the greatest, contraction, windows, segments."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def

from .. import ptir_shapes as shapes
from ..codecs import BOOLEAN, INTEGERS
from .attributes import DTYPE, INTEGER, PAIRS, SCALAR, Word
from .base import OneResultOp
from .legal import check_accumulator, check_cast
from .types import PtirDType

REDUCE_KINDS = ("sum", "max", "min")


def accumulated(dtype: PtirDType, values: Mapping[str, Any]) -> PtirDType:
    """The result dtype of an op with `accum_dtype` and perhaps `out_dtype`; E8003, E2005 for wrong ones."""
    accumulator = check_accumulator(dtype, values["accum_dtype"])
    result = values.get("out_dtype") or dtype
    check_cast(accumulator, result)
    return result


class AccumulatingOp(OneResultOp, ABC):
    """Accumulates in `accum_dtype` (f32 for narrower floats, else the operand's), then casts to `out_dtype` (the operand's)."""

    OPTIONAL: ClassVar = frozenset({"accum_dtype", "out_dtype"})

    @classmethod
    def result_dtype(cls, dtypes: Sequence[PtirDType], values: Mapping[str, Any]) -> PtirDType:
        return accumulated(dtypes[0], values)


@irdl_op_definition
class ReduceOp(AccumulatingOp):
    """
    The sum, greatest or least over `axes`; no axes, no change.

    An empty sum is 0; an empty greatest is -inf, or the least integer; an empty least is +inf, or the greatest integer. NaN wins.
    """

    name = "ptir.reduce"
    OPCODE: ClassVar = "reduce"
    OPERANDS: ClassVar = ("x",)
    CODECS: ClassVar = {
        "kind": Word(*REDUCE_KINDS),
        "axes": INTEGERS,
        "keepdims": BOOLEAN,
        "accum_dtype": DTYPE,
        "out_dtype": DTYPE,
    }
    RULE: ClassVar = staticmethod(shapes.reduce)
    RULE_TAKES: ClassVar = ("axes", "keepdims")
    x = operand_def()
    kind = prop_def()
    axes = prop_def()
    keepdims = prop_def()
    accum_dtype = opt_prop_def()
    out_dtype = opt_prop_def()


@irdl_op_definition
class ArgMaxOp(OneResultOp):
    """The index of the greatest along `axis`: the first of equals, the first NaN if there is one."""

    name = "ptir.arg_max"
    OPCODE: ClassVar = "arg_max"
    OPERANDS: ClassVar = ("x",)
    CODECS: ClassVar = {"axis": INTEGER, "keepdims": BOOLEAN, "output_dtype": DTYPE}
    RULE: ClassVar = staticmethod(shapes.arg_max)
    RULE_TAKES: ClassVar = ("axis", "keepdims")
    x = operand_def()
    axis = prop_def()
    keepdims = prop_def()
    output_dtype = prop_def()

    @classmethod
    def result_dtype(cls, dtypes: Sequence[PtirDType], values: Mapping[str, Any]) -> PtirDType:
        return values["output_dtype"]


@irdl_op_definition
class DotGeneralOp(AccumulatingOp):
    """The products of lhs and rhs, summed over the contracted axes, for each place along the batch axes."""

    name = "ptir.dot_general"
    OPCODE: ClassVar = "dot_general"
    OPERANDS: ClassVar = ("lhs", "rhs")
    SAME_DTYPE: ClassVar = ("lhs", "rhs")
    CODECS: ClassVar = {
        "batch_lhs": INTEGERS,
        "batch_rhs": INTEGERS,
        "contract_lhs": INTEGERS,
        "contract_rhs": INTEGERS,
        "accum_dtype": DTYPE,
        "out_dtype": DTYPE,
    }
    RULE: ClassVar = staticmethod(shapes.dot_general)
    RULE_TAKES: ClassVar = ("batch_lhs", "batch_rhs", "contract_lhs", "contract_rhs")
    lhs = operand_def()
    rhs = operand_def()
    batch_lhs = prop_def()
    batch_rhs = prop_def()
    contract_lhs = prop_def()
    contract_rhs = prop_def()
    accum_dtype = opt_prop_def()
    out_dtype = opt_prop_def()


@irdl_op_definition
class ReduceWindowOp(AccumulatingOp):
    """The reduction of each window. Padding and the holes of `base_dilation` hold the identity of the reduction."""

    name = "ptir.reduce_window"
    OPCODE: ClassVar = "reduce_window"
    OPERANDS: ClassVar = ("x",)
    CODECS: ClassVar = {
        "kind": Word(*REDUCE_KINDS),
        "window_dims": INTEGERS,
        "strides": INTEGERS,
        "padding": PAIRS,
        "base_dilation": INTEGERS,
        "window_dilation": INTEGERS,
        "accum_dtype": DTYPE,
    }
    RULE: ClassVar = staticmethod(shapes.reduce_window)
    RULE_TAKES: ClassVar = ("window_dims", "strides", "padding", "base_dilation", "window_dilation")
    x = operand_def()
    kind = prop_def()
    window_dims = prop_def()
    strides = prop_def()
    padding = prop_def()
    base_dilation = prop_def()
    window_dilation = prop_def()
    accum_dtype = opt_prop_def()


@irdl_op_definition
class ExtractPatchesOp(OneResultOp):
    """Windows of a channels-last image, each laid out as one vector: window places in row-major order, channels fastest."""

    name = "ptir.extract_patches"
    OPCODE: ClassVar = "extract_patches"
    OPERANDS: ClassVar = ("x",)
    CODECS: ClassVar = {"window": INTEGERS, "strides": INTEGERS, "dilation": INTEGERS, "padding": PAIRS, "pad_value": SCALAR}
    RULE: ClassVar = staticmethod(shapes.extract_patches)
    RULE_TAKES: ClassVar = ("window", "strides", "dilation", "padding")
    SCALARS: ClassVar = ("pad_value",)
    x = operand_def()
    window = prop_def()
    strides = prop_def()
    dilation = prop_def()
    padding = prop_def()
    pad_value = prop_def()


@irdl_op_definition
class SegmentReduceOp(AccumulatingOp):
    """
    Rows of `data` reduced into `num_segments` buckets; ids out of range are E6001 at run time.

    An empty bucket is as an empty reduction. `indices_are_sorted` and `unique` are promises.
    """

    name = "ptir.segment_reduce"
    OPCODE: ClassVar = "segment_reduce"
    OPERANDS: ClassVar = ("data", "segment_ids")
    CODECS: ClassVar = {
        "kind": Word("sum", "max"),
        "num_segments": INTEGER,
        "accum_dtype": DTYPE,
        "indices_are_sorted": BOOLEAN,
        "unique": BOOLEAN,
    }
    RULE: ClassVar = staticmethod(shapes.segment_reduce)
    RULE_TAKES: ClassVar = ("num_segments",)
    data = operand_def()
    segment_ids = operand_def()
    kind = prop_def()
    num_segments = prop_def()
    accum_dtype = opt_prop_def()
    indices_are_sorted = prop_def()
    unique = prop_def()
