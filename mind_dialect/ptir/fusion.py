"""EXTENSION `ptir.fusion`: a group of ops that a target turns into one kernel. It means what its body means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, region_def, var_operand_def, var_result_def

from ..errors import error
from ..op import TENSOR, value_of
from .attributes import Word
from .complex_parts import ComplexOp
from .control import Body, RegionOp, YieldOp, expect, region_of, signature
from .conversions import CONVERSIONS
from .elementwise import BINARY_OPS, UNARY_OPS, CastOp, ClampOp, CompareOp, ConstantOp, SelectOp, StopGradientOp
from .extensions import (
    BINARY_EXTENSIONS,
    UNARY_EXTENSIONS,
    ConvolutionOp,
    CumulativeOp,
    CumulativeSumOp,
    ReverseOp,
    StridedSliceOp,
)
from .functions import FUNCTIONS
from .indexing import DynamicSliceOp, DynamicUpdateSliceOp, GatherOp, ScatterAddOp, ScatterReduceOp, TakeOp
from .reduction import ArgMaxOp, DotGeneralOp, ExtractPatchesOp, ReduceOp, ReduceWindowOp, SegmentReduceOp
from .structural import BroadcastToOp, ConcatOp, IotaOp, PadOp, ReshapeOp, SliceOp, TileOp, TransposeOp
from .types import TensorSpec
from .windows_at import GatherWindowsOp

FUSIBLE: dict[type[Operation], str] = {
    **dict.fromkeys((*UNARY_OPS, *BINARY_OPS, *UNARY_EXTENSIONS, *BINARY_EXTENSIONS, *CONVERSIONS, *FUNCTIONS), "elementwise"),
    **dict.fromkeys((CompareOp, SelectOp, CastOp, StopGradientOp, ClampOp), "elementwise"),
    **dict.fromkeys((BroadcastToOp, ReshapeOp, ConstantOp, IotaOp), "view"),
    ReduceOp: "reduction",
    DotGeneralOp: "contraction",
}
"""Ops that `fuse` puts in a fusion, by the part that they play there."""

TARGETED: dict[type[Operation], str] = {
    **dict.fromkeys((TransposeOp, SliceOp, StridedSliceOp, ReverseOp, PadOp, ConcatOp, TileOp, ExtractPatchesOp), "map"),
    **dict.fromkeys((TakeOp, GatherOp, DynamicSliceOp, DynamicUpdateSliceOp), "map"),
    GatherWindowsOp: "lookup",
    ComplexOp: "join",
    ArgMaxOp: "reduction",
    **dict.fromkeys((CumulativeSumOp, CumulativeOp, ScatterAddOp, ScatterReduceOp, SegmentReduceOp, ReduceWindowOp), "whole"),
    ConvolutionOp: "contraction",
}
"""Further ops that may be in a fusion: a target whose kernels compute them puts them there."""

CONTRACTIONS: dict[str | None, int] = {
    **{None: 1, "softmax": 0, "gelu": 0, "gelu_tanh": 0, "rms_norm": 0},
    "attention": 2,
    "attention_gradient": 4,
    "window_extremes_gradient": 0,
    "product_epilogue": 1,
}
"""The number of contractions that a fusion of each pattern may hold. A pattern names what the whole body computes."""

_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_LIMITS = ("no contraction", "at most one contraction", *(f"at most {n} contractions" for n in ("two", "three", "four")))


@irdl_op_definition
class FusionOp(RegionOp):
    """
    The results of `body` on the operands, as one kernel.

    The body holds elementwise ops, constants, broadcasts, reshapes, reductions, and at most one contraction: see `FUSIBLE`, and
    `TARGETED` for further ops that a target may put there. A fusion with a `pattern` is a known function, for which a target may
    have its own kernel: see `CONTRACTIONS`.
    """

    name = "ptir.fusion"
    EXTENSION: ClassVar = "the contract's fusion hints only refer to ops; a fusion contains them"
    REGION_NAMES: ClassVar = ("body",)
    args = var_operand_def(TENSOR)
    pattern = opt_prop_def(Word(*(pattern for pattern in CONTRACTIONS if pattern is not None)))
    body = region_def()
    res = var_result_def(TENSOR)

    def __init__(
        self,
        *args: SSAValue | Operation,
        body: Region | Body,
        pattern: str | None = None,
        result_types: Sequence[Attribute] | None = None,
    ):
        regions = [region_of(body, [value_of(v).type for v in args])]
        super().__init__(*args, regions=regions, result_types=result_types, pattern=pattern)

    @classmethod
    def infer_regions(
        cls, operands: Sequence[TensorSpec], values: Mapping[str, Any], regions: Sequence[Region]
    ) -> Sequence[TensorSpec]:
        taken, results = signature(regions[0], "body")
        expect("body", "takes", taken, operands)
        contractions, most = 0, CONTRACTIONS[values["pattern"]]
        for op in regions[0].block.ops:
            if isinstance(op, YieldOp):
                continue
            part = FUSIBLE.get(type(op)) or TARGETED.get(type(op))
            contractions += part == "contraction"
            if part is None or contractions > most:
                given = op.name if part is None else f"a {_ORDINALS[most]} {op.name}"
                expected = f"elementwise ops, broadcasts, reductions and {_LIMITS[most]}"
                raise error(
                    "E8005", f"the body holds {given}, expected {expected}", region="body", expected=expected, actual=given
                )
        return results
