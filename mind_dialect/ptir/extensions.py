"""EXTENSION ops, of the contract's form but not in it: what the contract says only in many ops, or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, traits_def
from xdsl.traits import Commutative

from .. import ptir_shapes as shapes
from ..codecs import BOOLEAN, INTEGERS
from ..op import TENSOR
from .attributes import DIMS, DTYPE, INTEGER, PAIRS, Word
from .base import OneResultOp, PtirOp
from .elementwise import BinaryOp, DivisionOp, UnaryOp
from .reduction import AccumulatingOp
from .types import SI64, PtirDType


@irdl_op_definition
class SqrtOp(UnaryOp):
    """The square root; NaN below 0."""

    name = "ptir.sqrt"
    EXTENSION: ClassVar = "the contract has rsqrt and reciprocal, which round twice and turn sqrt(0) into 1 / inf"


@irdl_op_definition
class SinOp(UnaryOp):
    """The sine, of radians."""

    name = "ptir.sin"
    EXTENSION: ClassVar = "rotary embeddings and position tables"


@irdl_op_definition
class CosOp(UnaryOp):
    """The cosine, of radians."""

    name = "ptir.cos"
    EXTENSION: ClassVar = "rotary embeddings and position tables"


@irdl_op_definition
class FloorOp(UnaryOp):
    """The greatest whole number not above `x`."""

    name = "ptir.floor"
    EXTENSION: ClassVar = "rounding; a cast to an integer and back saturates"


@irdl_op_definition
class CeilOp(UnaryOp):
    """The least whole number not below `x`."""

    name = "ptir.ceil"
    EXTENSION: ClassVar = "rounding; a cast to an integer and back saturates"


@irdl_op_definition
class RoundOp(UnaryOp):
    """The nearest whole number, ties to even."""

    name = "ptir.round"
    EXTENSION: ClassVar = "rounding; a cast to an integer and back saturates"


@irdl_op_definition
class SignOp(UnaryOp):
    """-1, 0 or 1; zeros and NaN stay as they are. Of complex numbers `x / |x|`."""

    name = "ptir.sign"
    EXTENSION: ClassVar = "two comparisons and two selections otherwise"


@irdl_op_definition
class LogisticOp(UnaryOp):
    """`1 / (1 + exp(-x))`, without overflow."""

    name = "ptir.logistic"
    EXTENSION: ClassVar = "gates such as SiLU; four ops that overflow otherwise"


@irdl_op_definition
class Expm1Op(UnaryOp):
    """`exp(x) - 1`, exact near 0."""

    name = "ptir.expm1"
    EXTENSION: ClassVar = "exp and sub lose all digits near 0"


@irdl_op_definition
class Log1pOp(UnaryOp):
    """`log(1 + x)`, exact near 0."""

    name = "ptir.log1p"
    EXTENSION: ClassVar = "add and log lose all digits near 0"


@irdl_op_definition
class NotOp(UnaryOp):
    """Every bit flipped; of i1 the negation."""

    name = "ptir.not"
    EXTENSION: ClassVar = "the contract has no bitwise ops"


@irdl_op_definition
class PowOp(BinaryOp):
    """`lhs ** rhs`, as IEEE 754 defines pow."""

    name = "ptir.pow"
    EXTENSION: ClassVar = "exp(rhs * log(lhs)) is NaN for negative lhs"


@irdl_op_definition
class RemainderOp(DivisionOp):
    """The remainder of truncated division, with the sign of `lhs`; integer division by zero is E8004 at run time."""

    name = "ptir.remainder"
    EXTENSION: ClassVar = "hashing and wrapping positions"


@irdl_op_definition
class AndOp(BinaryOp):
    """Bitwise and."""

    name = "ptir.and"
    EXTENSION: ClassVar = "the contract has no bitwise ops; masks are combined with them"
    traits = traits_def(Commutative())


@irdl_op_definition
class OrOp(BinaryOp):
    """Bitwise or."""

    name = "ptir.or"
    EXTENSION: ClassVar = "the contract has no bitwise ops; masks are combined with them"
    traits = traits_def(Commutative())


@irdl_op_definition
class XorOp(BinaryOp):
    """Bitwise exclusive or."""

    name = "ptir.xor"
    EXTENSION: ClassVar = "the contract has no bitwise ops"
    traits = traits_def(Commutative())


@irdl_op_definition
class ShiftLeftOp(BinaryOp):
    """`lhs * 2 ** rhs`, wrapping; 0 where `rhs` is negative or at least the width."""

    name = "ptir.shift_left"
    EXTENSION: ClassVar = "the contract has no bitwise ops; packed 4-bit weights need them"


@irdl_op_definition
class ShiftRightArithmeticOp(BinaryOp):
    """`floor(lhs / 2 ** rhs)` with the sign of the bits kept; all sign where `rhs` is negative or at least the width."""

    name = "ptir.shift_right_arithmetic"
    EXTENSION: ClassVar = "the contract has no bitwise ops; packed 4-bit weights need them"


@irdl_op_definition
class ShiftRightLogicalOp(BinaryOp):
    """The bits of `lhs` shifted right, zeros from the left; 0 where `rhs` is negative or at least the width."""

    name = "ptir.shift_right_logical"
    EXTENSION: ClassVar = "the contract has no bitwise ops; packed 4-bit weights need them"


@irdl_op_definition
class CumulativeSumOp(OneResultOp):
    """
    Sums along `axis` of all elements up to each one, accumulated as by `reduce`.

    `exclusive` leaves the element itself out, `reverse` sums from the end.
    """

    name = "ptir.cumulative_sum"
    EXTENSION: ClassVar = "nucleus sampling and ragged offsets; a scan of single steps otherwise"
    RULE: ClassVar = staticmethod(shapes.along)
    RULE_TAKES: ClassVar = ("axis",)
    x = operand_def(TENSOR)
    axis = prop_def(INTEGER)
    exclusive = prop_def(BOOLEAN)
    reverse = prop_def(BOOLEAN)


@irdl_op_definition
class CumulativeOp(OneResultOp):
    """
    The product, greatest or least along `axis` of all elements up to each one; `cumulative_sum` has the sums.

    `exclusive` leaves the element itself out, so that the first is as an empty reduction; `reverse` begins at the end. NaN wins.
    """

    name = "ptir.cumulative"
    EXTENSION: ClassVar = "running extremes, and the derivative of a product; a scan of single steps otherwise"
    RULE: ClassVar = staticmethod(shapes.along)
    RULE_TAKES: ClassVar = ("axis",)
    x = operand_def(TENSOR)
    kind = prop_def(Word("prod", "max", "min"))
    axis = prop_def(INTEGER)
    exclusive = prop_def(BOOLEAN)
    reverse = prop_def(BOOLEAN)


@irdl_op_definition
class SortOp(OneResultOp):
    """The elements along `axis` in ascending (or descending) order; NaN is greater than all numbers, equals keep their order."""

    name = "ptir.sort"
    EXTENSION: ClassVar = "top_k sorts too, but gives indices that not everyone wants"
    RULE: ClassVar = staticmethod(shapes.along)
    RULE_TAKES: ClassVar = ("axis",)
    x = operand_def(TENSOR)
    axis = prop_def(INTEGER)
    descending = prop_def(BOOLEAN)


@irdl_op_definition
class ReverseOp(OneResultOp):
    """The elements in reverse order along `axes`."""

    name = "ptir.reverse"
    EXTENSION: ClassVar = "the derivative of a convolution; a take with computed indices otherwise"
    RULE: ClassVar = staticmethod(shapes.reverse)
    x = operand_def(TENSOR)
    axes = prop_def(INTEGERS)


@irdl_op_definition
class StridedSliceOp(OneResultOp):
    """Every `strides[i]`-th element from `starts[i]` up to, not including, `limits[i]`; these may be expressions of names."""

    name = "ptir.strided_slice"
    EXTENSION: ClassVar = "the contract's slice has unit stride"
    RULE: ClassVar = staticmethod(shapes.strided_slice)
    x = operand_def(TENSOR)
    starts = prop_def(DIMS)
    limits = prop_def(DIMS)
    strides = prop_def(INTEGERS)


@irdl_op_definition
class DimensionSizeOp(OneResultOp):
    """The extent of `x` along `axis`, whatever its elements are, in si64."""

    name = "ptir.dimension_size"
    EXTENSION: ClassVar = "a sum of as many ones otherwise, and nothing for a dimension without a name"
    RULE: ClassVar = staticmethod(shapes.dimension_size)
    x = operand_def(TENSOR)
    axis = prop_def(INTEGER)

    @classmethod
    def result_dtype(cls, dtypes: Sequence[PtirDType], values: Mapping[str, Any]) -> PtirDType:
        return SI64


@irdl_op_definition
class ConvolutionOp(AccumulatingOp):
    """
    Cross-correlation, channels last: lhs `[N, spatial..., C]`, rhs `[spatial..., C / groups, O]`, result `[N, spatial..., O]`.

    `base_dilation` puts zeros between the elements of lhs, `window_dilation` holes between those of rhs.
    """

    name = "ptir.convolution"
    EXTENSION: ClassVar = "extract_patches and dot_general otherwise, with the patches in memory"
    SAME_DTYPE: ClassVar = ("lhs", "rhs")
    RULE: ClassVar = staticmethod(shapes.convolution)
    RULE_TAKES: ClassVar = ("strides", "padding", "base_dilation", "window_dilation", "feature_group_count")
    lhs = operand_def(TENSOR)
    rhs = operand_def(TENSOR)
    strides = prop_def(INTEGERS)
    padding = prop_def(PAIRS)
    base_dilation = prop_def(INTEGERS)
    window_dilation = prop_def(INTEGERS)
    feature_group_count = prop_def(INTEGER)
    accum_dtype = opt_prop_def(DTYPE)
    out_dtype = opt_prop_def(DTYPE)


UNARY_EXTENSIONS: tuple[type[PtirOp], ...] = (
    *(SqrtOp, SinOp, CosOp, FloorOp, CeilOp, RoundOp, SignOp, LogisticOp, Expm1Op, Log1pOp, NotOp),
)
BINARY_EXTENSIONS: tuple[type[PtirOp], ...] = (
    *(PowOp, RemainderOp, AndOp, OrOp, XorOp, ShiftLeftOp, ShiftRightArithmeticOp, ShiftRightLogicalOp),
)
