"""The ops of Core IR by family, in one order that every table of the project follows."""

from .base import CoreOp
from .constants import ConstantOp, ConstF32Op, ConstF64Op, ConstI64Op, ScalarConstant
from .contraction import Conv2dOp, DotOp, MatMulOp
from .elementwise import AddOp, BinaryOp, DivOp, ExpOp, LogOp, MulOp, NegOp, ReluOp, SubOp, UnaryOp
from .gradient import (
    BroadcastToOp,
    Conv2dBackwardFilterOp,
    Conv2dBackwardInputOp,
    IndexScatterOp,
    ReciprocalOp,
    ReluGradOp,
    ScatterAddOp,
    SliceScatterOp,
)
from .indexing import GatherOp, IndexOp, SliceOp
from .structural import ExpandDimsOp, MeanOp, ReductionOp, ReshapeOp, SqueezeOp, SumOp, TransposeOp

CORE_OPS: tuple[type[CoreOp], ...] = (
    ConstI64Op,
    ConstF32Op,
    ConstF64Op,
    ConstantOp,
    AddOp,
    SubOp,
    MulOp,
    DivOp,
    SumOp,
    MeanOp,
    ReshapeOp,
    TransposeOp,
    ExpandDimsOp,
    SqueezeOp,
    IndexOp,
    SliceOp,
    GatherOp,
    DotOp,
    MatMulOp,
    Conv2dOp,
    ReluOp,
    NegOp,
    ExpOp,
    LogOp,
)
"""The specification's opcodes (`Input` is a block argument), and `Div`."""

EXTENSION_OPS: tuple[type[CoreOp], ...] = (
    ReluGradOp,
    ReciprocalOp,
    BroadcastToOp,
    ScatterAddOp,
    SliceScatterOp,
    IndexScatterOp,
    Conv2dBackwardInputOp,
    Conv2dBackwardFilterOp,
)
"""Ops that gradients need beyond the specification."""

OPS_BY_OPCODE: dict[str, type[CoreOp]] = {op.OPCODE: op for op in (*CORE_OPS, *EXTENSION_OPS)}

__all__ = [
    "CORE_OPS",
    "EXTENSION_OPS",
    "OPS_BY_OPCODE",
    "AddOp",
    "BinaryOp",
    "BroadcastToOp",
    "ConstF32Op",
    "ConstF64Op",
    "ConstI64Op",
    "ConstantOp",
    "Conv2dBackwardFilterOp",
    "Conv2dBackwardInputOp",
    "Conv2dOp",
    "CoreOp",
    "DivOp",
    "DotOp",
    "ExpOp",
    "ExpandDimsOp",
    "GatherOp",
    "IndexOp",
    "IndexScatterOp",
    "LogOp",
    "MatMulOp",
    "MeanOp",
    "MulOp",
    "NegOp",
    "ReciprocalOp",
    "ReductionOp",
    "ReluGradOp",
    "ReluOp",
    "ReshapeOp",
    "ScalarConstant",
    "ScatterAddOp",
    "SliceOp",
    "SliceScatterOp",
    "SqueezeOp",
    "SubOp",
    "SumOp",
    "TransposeOp",
    "UnaryOp",
]
