"""
The shape dialect: sizes and shapes as values, what is known of them (`lattice`), and functions and constraints on them.

Two generations of its text are read: an early specification, and MLIR's dialect of today. The modern spelling is printed where
there is one.
"""

from xdsl.ir import Dialect

from .base import ShapeOp
from .constants import (
    CONSTANT_OPS,
    EARLY_CONSTANT_OPS,
    ConstantDimOp,
    ConstantOp,
    ConstShapeOp,
    ConstSizeOp,
    ConstWitnessOp,
    attribute_of,
    lattice_of,
)
from .constraints import (
    CONSTRAINT_OPS,
    AssumingAllOp,
    AssumingOp,
    AssumingYieldOp,
    ConstraintOp,
    CstrBroadcastableOp,
    CstrEqOp,
    CstrRequireOp,
    IsBroadcastableOp,
    ShapeEqOp,
)
from .functions import FUNCTION_OPS, FuncOp, FunctionLibraryOp, ReturnOp, check_libraries, libraries, library_functions
from .meeting import JoinOp, MeetingOp, MeetOp
from .reduction import REDUCTION_OPS, ReduceOp, YieldOp
from .shapes import (
    EARLY_SHAPE_OPS,
    SHAPE_OPS_PROPER,
    AnyOp,
    BroadcastOp,
    ConcatOp,
    CreateShapeOp,
    DebugPrintOp,
    DimOp,
    FromExtentsOp,
    FromExtentTensorOp,
    GetExtentOp,
    NumElementsOp,
    RankOp,
    ShapeOfOp,
    SplitAtOp,
    ToExtentTensorOp,
    ValueAsShapeOp,
    ValueOfOp,
    WithShapeOp,
)
from .sizes import SIZE_OPS, AddOp, DivOp, IndexToSizeOp, MaxOp, MinOp, MulOp, SizeArithmeticOp, SizeToIndexOp
from .types import SHAPE_TYPES, ElementType, ShapeType, SizeType, ValueShapeType, WitnessType

MODERN_OPS: tuple[type[ShapeOp], ...] = (
    *SIZE_OPS,
    *CONSTANT_OPS,
    *SHAPE_OPS_PROPER,
    *CONSTRAINT_OPS,
    *REDUCTION_OPS,
    *FUNCTION_OPS,
)
"""The ops of MLIR's dialect of today."""

EARLY_OPS: tuple[type[ShapeOp], ...] = (*EARLY_CONSTANT_OPS, *EARLY_SHAPE_OPS)
"""The ops that only the early specification has."""

SHAPE_OPS: tuple[type[ShapeOp], ...] = (*MODERN_OPS, *EARLY_OPS)

Shape = Dialect("shape", [*SHAPE_OPS], [*SHAPE_TYPES])

__all__ = [
    "EARLY_OPS",
    "MODERN_OPS",
    "SHAPE_OPS",
    "SHAPE_TYPES",
    "AddOp",
    "AnyOp",
    "AssumingAllOp",
    "AssumingOp",
    "AssumingYieldOp",
    "BroadcastOp",
    "ConcatOp",
    "ConstShapeOp",
    "ConstSizeOp",
    "ConstWitnessOp",
    "ConstantDimOp",
    "ConstantOp",
    "ConstraintOp",
    "CreateShapeOp",
    "CstrBroadcastableOp",
    "CstrEqOp",
    "CstrRequireOp",
    "DebugPrintOp",
    "DimOp",
    "DivOp",
    "ElementType",
    "FromExtentTensorOp",
    "FromExtentsOp",
    "FuncOp",
    "FunctionLibraryOp",
    "GetExtentOp",
    "IndexToSizeOp",
    "IsBroadcastableOp",
    "JoinOp",
    "MaxOp",
    "MeetOp",
    "MeetingOp",
    "MinOp",
    "MulOp",
    "NumElementsOp",
    "RankOp",
    "ReduceOp",
    "ReturnOp",
    "Shape",
    "ShapeEqOp",
    "ShapeOfOp",
    "ShapeOp",
    "ShapeType",
    "SizeArithmeticOp",
    "SizeToIndexOp",
    "SizeType",
    "SplitAtOp",
    "ToExtentTensorOp",
    "ValueAsShapeOp",
    "ValueOfOp",
    "ValueShapeType",
    "WithShapeOp",
    "WitnessType",
    "YieldOp",
    "attribute_of",
    "check_libraries",
    "lattice_of",
    "libraries",
    "library_functions",
]
