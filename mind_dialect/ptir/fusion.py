"""EXTENSION `ptir.fusion`: a group of ops that a target turns into one kernel. It means what its body means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import irdl_op_definition, region_def, var_operand_def, var_result_def

from ..errors import error
from ..op import value_of
from .control import Body, RegionOp, YieldOp, expect, region_of, signature
from .elementwise import BINARY_OPS, UNARY_OPS, CastOp, ClampOp, CompareOp, ConstantOp, SelectOp, StopGradientOp
from .extensions import BINARY_EXTENSIONS, UNARY_EXTENSIONS
from .reduction import DotGeneralOp, ReduceOp
from .structural import BroadcastToOp, IotaOp, ReshapeOp
from .types import TensorSpec

FUSIBLE: dict[type[Operation], str] = {
    **dict.fromkeys((*UNARY_OPS, *BINARY_OPS, *UNARY_EXTENSIONS, *BINARY_EXTENSIONS), "elementwise"),
    **dict.fromkeys((CompareOp, SelectOp, CastOp, StopGradientOp, ClampOp), "elementwise"),
    **dict.fromkeys((BroadcastToOp, ReshapeOp, ConstantOp, IotaOp), "view"),
    ReduceOp: "reduction",
    DotGeneralOp: "contraction",
}
"""What may stand in a fusion, by the part it plays there."""


@irdl_op_definition
class FusionOp(RegionOp):
    """
    The results of `body` on the operands, as one kernel.

    The body holds elementwise ops, constants, broadcasts, reshapes, reductions, and at most one contraction: see `FUSIBLE`.
    """

    name = "ptir.fusion"
    OPCODE: ClassVar = "fusion"
    EXTENSION: ClassVar = "the contract's fusion hints lie beside the code they speak of; this holds it"
    REGION_NAMES: ClassVar = ("body",)
    args = var_operand_def()
    body = region_def()
    res = var_result_def()

    def __init__(self, *args: SSAValue | Operation, body: Region | Body, result_types: Sequence[Attribute] | None = None):
        super().__init__(*args, regions=[region_of(body, [value_of(v).type for v in args])], result_types=result_types)

    @classmethod
    def infer_regions(
        cls, operands: Sequence[TensorSpec], values: Mapping[str, Any], regions: Sequence[Region]
    ) -> Sequence[TensorSpec]:
        taken, results = signature(regions[0], "body")
        expect("body", "takes", taken, operands)
        contractions = 0
        for op in regions[0].block.ops:
            if isinstance(op, YieldOp):
                continue
            part = FUSIBLE.get(type(op))
            contractions += part == "contraction"
            if part is None or contractions > 1:
                given = op.name if part is None else f"a second {op.name}"
                expected = "elementwise ops, broadcasts, reductions and at most one contraction"
                raise error(
                    "E8005", f"the body holds {given}, expected {expected}", region="body", expected=expected, actual=given
                )
        return results
