"""Ops that take many elements to one: reductions, the place of the greatest, contraction, windows, segments."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def

from .. import ptir_shapes as shapes
from ..codecs import BOOLEAN, INTEGERS
from ..extents.dims import product_dims
from ..op import TENSOR
from ..ptir_shapes import Dims
from .attributes import DIM, DTYPE, INTEGER, PAIRS, SCALAR, Word
from .base import OneResultOp
from .legal import check_accumulator, check_cast
from .types import PtirDType

CONTRACT_KINDS = ("sum", "max", "min")
BIT_KINDS = ("and", "or", "xor")
REDUCE_KINDS = (*CONTRACT_KINDS, "prod", *BIT_KINDS)
"""EXTENSION beyond the contract's three: tensor libraries have products and reductions of bits."""


def accumulated(dtype: PtirDType, values: Mapping[str, Any]) -> PtirDType:
    """The result dtype of an op with `accum_dtype` and perhaps `out_dtype`; E8003, E2005 for wrong ones."""
    accumulator = check_accumulator(dtype, values["accum_dtype"])
    result = values.get("out_dtype") or dtype
    check_cast(accumulator, result)
    return result


class AccumulatingOp(OneResultOp, ABC):
    """Accumulates in `accum_dtype` (f32 for narrower floats, else the operand's), then casts to `out_dtype` (the operand's)."""

    @classmethod
    def result_dtype(cls, dtypes: Sequence[PtirDType], values: Mapping[str, Any]) -> PtirDType:
        return accumulated(dtypes[0], values)


@irdl_op_definition
class ReduceOp(AccumulatingOp):
    """
    The sum, greatest, least, product, or bitwise and, or, exclusive or over `axes`; no axes, no change.

    An empty sum is 0; an empty greatest is -inf, or the least integer; an empty least is +inf, or the greatest integer; an empty
    product is 1; an empty `and` has all bits set, `or` and `xor` none. NaN wins.
    """

    name = "ptir.reduce"
    RULE: ClassVar = staticmethod(shapes.reduce)
    RULE_TAKES: ClassVar = ("axes", "keepdims")
    x = operand_def(TENSOR)
    kind = prop_def(Word(*REDUCE_KINDS))
    axes = prop_def(INTEGERS)
    keepdims = prop_def(BOOLEAN)
    accum_dtype = opt_prop_def(DTYPE)
    out_dtype = opt_prop_def(DTYPE)

    @property
    def extension(self) -> str | None:
        kind = self.values()["kind"]
        return None if kind in CONTRACT_KINDS else f"reduce of kind {kind}"


class ArgReductionOp(OneResultOp, ABC):
    """The index of one element along `axis`: the first of equals, the first NaN if there is one."""

    RULE: ClassVar = staticmethod(shapes.arg_max)
    RULE_TAKES: ClassVar = ("axis", "keepdims")
    x = operand_def(TENSOR)
    axis = prop_def(INTEGER)
    keepdims = prop_def(BOOLEAN)
    output_dtype = prop_def(DTYPE)

    @classmethod
    def result_dtype(cls, dtypes: Sequence[PtirDType], values: Mapping[str, Any]) -> PtirDType:
        return values["output_dtype"]


@irdl_op_definition
class ArgMaxOp(ArgReductionOp):
    """The index of the greatest along `axis`: the first of equals, the first NaN if there is one."""

    name = "ptir.arg_max"


@irdl_op_definition
class ArgMinOp(ArgReductionOp):
    """The index of the least along `axis`: the first of equals, the first NaN if there is one."""

    name = "ptir.arg_min"
    EXTENSION: ClassVar = "the negative of the least integer is itself, so that arg_max of neg is wrong"


@irdl_op_definition
class DotGeneralOp(AccumulatingOp):
    """The products of lhs and rhs, summed over the contracted axes, for each place along the batch axes."""

    name = "ptir.dot_general"
    SAME_DTYPE: ClassVar = ("lhs", "rhs")
    RULE: ClassVar = staticmethod(shapes.dot_general)
    RULE_TAKES: ClassVar = ("batch_lhs", "batch_rhs", "contract_lhs", "contract_rhs")
    lhs = operand_def(TENSOR)
    rhs = operand_def(TENSOR)
    batch_lhs = prop_def(INTEGERS)
    batch_rhs = prop_def(INTEGERS)
    contract_lhs = prop_def(INTEGERS)
    contract_rhs = prop_def(INTEGERS)
    accum_dtype = opt_prop_def(DTYPE)
    out_dtype = opt_prop_def(DTYPE)


@irdl_op_definition
class RaggedDotOp(AccumulatingOp):
    """
    Products of consecutive groups of rows, of `group_sizes` rows each, as mixture-of-experts layers need them.

    `rows` multiplies the rows of a group by its own matrix, `[m, k]` by `[g, k, n]`; rows after the last group give 0. `contract`
    sums over the rows of a group, `[m, k]` and `[m, n]`, for each of the groups: `[g, k, n]`. Each has the other among its
    derivatives. A negative size counts as 0, and rows beyond the last are none.
    """

    name = "ptir.ragged_dot"
    EXTENSION: ClassVar = "masked products do as many times the work as there are groups"
    SAME_DTYPE: ClassVar = ("lhs", "rhs")
    RULE: ClassVar = staticmethod(shapes.ragged_dot)
    RULE_TAKES: ClassVar = ("kind",)
    lhs = operand_def(TENSOR)
    rhs = operand_def(TENSOR)
    group_sizes = operand_def(TENSOR)
    kind = prop_def(Word("rows", "contract"))
    accum_dtype = opt_prop_def(DTYPE)
    out_dtype = opt_prop_def(DTYPE)


@irdl_op_definition
class ReduceWindowOp(AccumulatingOp):
    """The reduction of each window. Padding and the holes of `base_dilation` hold the identity of the reduction."""

    name = "ptir.reduce_window"
    RULE: ClassVar = staticmethod(shapes.reduce_window)
    RULE_TAKES: ClassVar = ("window_dims", "strides", "padding", "base_dilation", "window_dilation")
    x = operand_def(TENSOR)
    kind = prop_def(Word(*CONTRACT_KINDS))
    window_dims = prop_def(INTEGERS)
    strides = prop_def(INTEGERS)
    padding = prop_def(PAIRS)
    base_dilation = prop_def(INTEGERS)
    window_dilation = prop_def(INTEGERS)
    accum_dtype = opt_prop_def(DTYPE)


@irdl_op_definition
class WindowArgOp(OneResultOp):
    """
    The flat index in `x`, in row-major order, of the greatest or least of each window: the first of equals, the first NaN.

    Padding never wins; a window that holds nothing else has -1.
    """

    name = "ptir.window_arg"
    EXTENSION: ClassVar = "the index of a maximum of a window needs a table with a row per place of the window otherwise"
    RULE: ClassVar = staticmethod(shapes.window_arg)
    RULE_TAKES: ClassVar = ("window_dims", "strides", "padding", "window_dilation")
    x = operand_def(TENSOR)
    kind = prop_def(Word("max", "min"))
    window_dims = prop_def(INTEGERS)
    strides = prop_def(INTEGERS)
    padding = prop_def(PAIRS)
    window_dilation = prop_def(INTEGERS)
    output_dtype = prop_def(DTYPE)

    @classmethod
    def infer_shape(cls, operands: Sequence[Dims], values: Mapping[str, Any]) -> Dims:
        dtype = values["output_dtype"]
        wording = f"output_dtype {dtype} cannot hold an index of {{lhs}} elements"
        count = product_dims(operands[0])
        shapes.require(count, "<=", 1 << (dtype.bits - 1), "E8002", wording, attribute="output_dtype", value=str(dtype))
        return super().infer_shape(operands, values)

    @classmethod
    def result_dtype(cls, dtypes: Sequence[PtirDType], values: Mapping[str, Any]) -> PtirDType:
        return values["output_dtype"]


@irdl_op_definition
class ExtractPatchesOp(OneResultOp):
    """Windows of a channels-last image, each laid out as one vector: window places in row-major order, channels fastest."""

    name = "ptir.extract_patches"
    RULE: ClassVar = staticmethod(shapes.extract_patches)
    RULE_TAKES: ClassVar = ("window", "strides", "dilation", "padding")
    SCALARS: ClassVar = ("pad_value",)
    x = operand_def(TENSOR)
    window = prop_def(INTEGERS)
    strides = prop_def(INTEGERS)
    dilation = prop_def(INTEGERS)
    padding = prop_def(PAIRS)
    pad_value = prop_def(SCALAR)


@irdl_op_definition
class SegmentReduceOp(AccumulatingOp):
    """
    Rows of `data` reduced into `num_segments` buckets, maybe an expression of names; ids out of range are E6001 at run time.

    An empty bucket is as an empty reduction. `indices_are_sorted` and `unique` are promises.
    """

    name = "ptir.segment_reduce"
    CAN_FAIL: ClassVar = True
    RULE: ClassVar = staticmethod(shapes.segment_reduce)
    RULE_TAKES: ClassVar = ("num_segments",)
    data = operand_def(TENSOR)
    segment_ids = operand_def(TENSOR)
    kind = prop_def(Word("sum", "max"))
    num_segments = prop_def(DIM)
    accum_dtype = opt_prop_def(DTYPE)
    indices_are_sorted = prop_def(BOOLEAN)
    unique = prop_def(BOOLEAN)
