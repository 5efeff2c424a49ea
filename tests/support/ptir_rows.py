"""
Rows for tests of the ptir dialect: an op, the types of its operands, what it gives or which code refuses it, its properties.

Types are written `f32[2,B]`: the contract's dtype and the dimensions, names and `?` included.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Attribute

from mind_dialect.ptir import (
    BINARY_EXTENSIONS,
    BINARY_OPS,
    FUNCTIONS,
    UNARY_EXTENSIONS,
    UNARY_OPS,
    AbsOp,
    ArgMaxOp,
    ArgMinOp,
    Atan2Op,
    BitcastOp,
    BroadcastToOp,
    CastOp,
    ClampOp,
    CompareOp,
    ComplexOp,
    ConcatOp,
    ConjOp,
    ConstantOp,
    ConvolutionOp,
    CountLeadingZerosOp,
    CumulativeOp,
    CumulativeSumOp,
    CustomCallOp,
    DequantizeOp,
    DigammaOp,
    DimensionSizeOp,
    DotGeneralOp,
    DynamicSliceOp,
    DynamicUpdateSliceOp,
    ExpOp,
    ExtractPatchesOp,
    FftOp,
    GatherOp,
    GatherWindowsOp,
    ImagOp,
    IotaOp,
    LayerNormOp,
    NegOp,
    NotOp,
    PadOp,
    PopcountOp,
    PtirLiteralAttr,
    PtirOp,
    QuantizeOp,
    RaggedDotOp,
    RealOp,
    ReduceOp,
    ReduceWindowOp,
    RequantizeOp,
    ReshapeOp,
    ReverseOp,
    RngNormalOp,
    RngUniformOp,
    ScatterAddOp,
    ScatterReduceOp,
    ScatterWindowsOp,
    SegmentReduceOp,
    SelectOp,
    SliceOp,
    SortOp,
    StopGradientOp,
    StridedSliceOp,
    TakeOp,
    TileOp,
    TopKOp,
    TransposeOp,
    TruncateOp,
    WindowArgOp,
)
from mind_dialect.ptir.attributes import scalar
from mind_dialect.ptir.legal import LEGAL
from mind_dialect.ptir.types import TensorSpec, dtype_named, tensor_type


def spec(text: str) -> TensorSpec:
    dtype, _, dims = text.rstrip("]").partition("[")
    return TensorSpec(dtype_named(dtype), tuple(int(d) if d.isdigit() else d for d in dims.split(",") if d))


def typed(text: str):
    return tensor_type(*spec(text))


def specs(text: str) -> list[TensorSpec]:
    return [spec(t) for t in re.findall(r"\w+\[[^]]*\]", text)]


def types(text: str) -> list[Attribute]:
    return [tensor_type(*s) for s in specs(text)]


@dataclass
class Row:
    op: type[PtirOp]
    operands: str
    expected: str
    """Result types, or a code, with the category after a slash where the contract names one."""
    properties: dict[str, Any] = field(default_factory=dict)
    declared: str | None = None

    def attributes(self) -> dict[str, Attribute]:
        """The properties as attributes; scalars given as numbers get the dtype of the first operand."""
        numbers = {n: scalar(specs(self.operands)[0].dtype, v) for n, v in self.properties.items() if n in self.op.SCALARS}
        return self.op.store_properties({**self.properties, **numbers})

    @property
    def is_refused(self) -> bool:
        return self.expected[0] == "E"

    def __str__(self) -> str:
        shown = " ".join(f"{k}={v}" for k, v in self.properties.items())
        return f"{self.op.OPCODE}({self.operands}) {shown}".replace("\n", " ")[:90]


def R(op: type[PtirOp], operands: str, expected: str, declared: str | None = None, **properties: Any) -> Row:
    return Row(op, operands, expected, properties, declared)


def literal(text: str, *values: object) -> PtirLiteralAttr:
    dtype, shape = spec(text)
    return PtirLiteralAttr.from_values(dtype, shape, values)


UNARY = [
    R(op, f"{dtype}[2,B]", f"{dtype}[2,B]")
    for op in (*UNARY_OPS, *UNARY_EXTENSIONS, StopGradientOp, *FUNCTIONS, DigammaOp)
    if op.OPCODE in LEGAL and op is not Atan2Op  # a test of that table names the op that it lacks
    for dtype in (["ui8"] if op in (NotOp, PopcountOp, CountLeadingZerosOp) else ["f32"])
]
BINARY = [
    row
    for op in (*BINARY_OPS, *BINARY_EXTENSIONS, Atan2Op)
    if op.OPCODE in LEGAL
    for d in (["si4"] if op.OPCODE[:3] in ("and", "or", "xor", "shi") else ["f16"])
    for row in (
        R(op, f"{d}[2,3] {d}[2,3]", f"{d}[2,3]"),
        R(op, f"{d}[2,B] {d}[2,?]", f"{d}[2,B]"),
        R(op, f"{d}[2,B] {d}[2,3]", f"{d}[2,3]"),
        R(op, f"{d}[2,3] {d}[2,1]", "E3001"),
        R(op, f"{d}[2,3] {d}[3]", "E3002"),
        R(op, f"{d}[] {'si8' if d == 'si4' else 'f32'}[]", "E2004"),
        R(op, f"{d}[]", "E2007"),
    )
]
dot = {"batch_lhs": (), "batch_rhs": (), "contract_lhs": (1,), "contract_rhs": (0,)}
window = {"window_dims": (2,), "strides": (2,), "padding": ((0, 0),), "base_dilation": (1,), "window_dilation": (1,)}
places = {name: value for name, value in window.items() if name != "base_dilation"}
conv = {
    "strides": (1, 1),
    "padding": ((1, 1), (1, 1)),
    "base_dilation": (1, 1),
    "window_dilation": (1, 1),
    "feature_group_count": 1,
}
patches = {"window": (3, 3), "strides": (2, 2), "dilation": (1, 1), "padding": ((0, 0), (0, 0)), "pad_value": 0.0}
rows_of = {"inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,)}
top = {"largest": True, "indices_dtype": "si32"}
segments = {"indices_are_sorted": False, "unique": False}
none: dict[str, tuple[int, ...]] = {"operand_batching_dims": (), "start_indices_batching_dims": ()}
read_rows: dict[str, Any] = {
    **none,
    "offset_dims": (1,),
    "collapsed_slice_dims": (0,),
    "start_index_map": (0,),
    "index_vector_dim": 1,
    "slice_sizes": (1, 3),
    "mode": "clamp",
}
write_rows: dict[str, Any] = {
    **{"input_batching_dims": (), "scatter_indices_batching_dims": (), "update_window_dims": (1,)},
    **{"inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,), "index_vector_dim": 1},
    **{"mode": "drop", "unique": False},
}
paired = {**read_rows, "operand_batching_dims": (0,), "start_indices_batching_dims": (0,), "collapsed_slice_dims": (1,)}
paired |= {"start_index_map": (1,), "offset_dims": (2,), "index_vector_dim": 2, "slice_sizes": (1, 1, 4)}
edges = {"low": (1, 0), "high": (0, 2), "interior": (1, 0)}

ROWS: list[Row] = [
    R(ConstantOp, "", "bf16[2]", value=literal("bf16[2]", 1.0, float("nan"))),
    R(ConstantOp, "", "si4[]", value=literal("si4[]", -8)),
    R(ConstantOp, "", "E4005", value="x"),
    *UNARY,
    R(ExpOp, "si32[2]", "E2005/DTypeNotSupported"),
    R(AbsOp, "cf32[2,B]", "f32[2,B]"),
    R(AbsOp, "i1[2]", "E2005/DTypeNotSupported"),
    R(NegOp, "f32[?]", "f32[N]", declared="f32[N]"),
    R(NegOp, "f32[?]", "f32[3]", declared="f32[3]"),
    R(NegOp, "f32[N]", "E4015", declared="f32[?]"),
    R(NegOp, "f32[3]", "E4015", declared="f32[N]"),
    R(NegOp, "f32[3]", "E4015", declared="bf16[3]"),
    R(NegOp, "f32[3]", "E2007", declared="f32[3] f32[3]"),
    *BINARY,
    R(CompareOp, "cf32[2] cf32[2]", "i1[2]", kind="not_equal"),
    R(CompareOp, "cf32[2] cf32[2]", "E2005/DTypeNotSupported", kind="less"),
    R(CompareOp, "f32[2] f32[3]", "E3001/CompareOperandsMustMatchShape", kind="less"),
    R(CompareOp, "f32[2] f32[2,1]", "E3002/CompareOperandsMustMatchShape", kind="less"),
    R(CompareOp, "f32[2] f64[2]", "E2004/CompareDTypePromotionInvalid", kind="equal"),
    R(CompareOp, "f32[2] f32[2]", "E8002/InvalidAttributeValue", kind="lesser"),
    R(CompareOp, "f32[2] f32[2]", "E4000"),
    R(SelectOp, "i1[2] f32[2] f32[2]", "f32[2]"),
    R(SelectOp, "i1[] f32[2] f32[2]", "E3002"),
    R(SelectOp, "f32[2] f32[2] f32[2]", "E2005/DTypeNotSupported"),
    R(SelectOp, "i1[2] f32[2] f16[2]", "E2004"),
    R(CastOp, "f32[2,B]", "fp8_e4m3[2,B]", dtype="fp8_e4m3"),
    R(CastOp, "i1[2]", "cf64[2]", dtype="cf64"),
    R(CastOp, "cf32[2]", "E2005/DTypeNotSupported", dtype="f32"),
    R(CastOp, "f32[2]", "E2005/DTypeNotSupported", dtype="f24"),
    R(RealOp, "cf32[2,B]", "f32[2,B]"),
    R(ImagOp, "cf64[]", "f64[]"),
    R(ConjOp, "cf64[2]", "cf64[2]"),
    R(ComplexOp, "f32[2,B] f32[2,3]", "cf32[2,3]"),
    R(RealOp, "f32[2]", "E2005/DTypeNotSupported"),
    R(ImagOp, "f64[2]", "E2005/DTypeNotSupported"),
    R(ConjOp, "f64[2]", "E2005/DTypeNotSupported"),
    R(ComplexOp, "f16[2] f16[2]", "E2005/DTypeNotSupported"),
    R(ComplexOp, "f32[2] f64[2]", "E2004"),
    R(ComplexOp, "f64[2] f64[3]", "E3001"),
    R(BitcastOp, "f32[2,B]", "ui32[2,B]", dtype="ui32"),
    R(BitcastOp, "si4[?]", "ui4[?]", dtype="ui4"),
    R(BitcastOp, "bf16[2]", "si16[2]", dtype="si16"),
    R(BitcastOp, "f32[2]", "E2005/DTypeNotSupported", dtype="ui64"),
    R(BitcastOp, "i1[2]", "E2005/DTypeNotSupported", dtype="i1"),
    R(BitcastOp, "cf32[2]", "E2005/DTypeNotSupported", dtype="f64"),
    R(TruncateOp, "si32[2,B]", "ui8[2,B]", dtype="ui8"),
    R(TruncateOp, "ui4[2]", "si64[2]", dtype="si64"),
    R(TruncateOp, "f32[2]", "E2005/DTypeNotSupported", dtype="si32"),
    R(TruncateOp, "si32[2]", "E2005/DTypeNotSupported", dtype="i1"),
    R(ReduceOp, "bf16[2,B]", "bf16[2]", kind="sum", axes=(-1,), keepdims=False),
    R(ReduceOp, "bf16[2,B]", "f32[1,1]", kind="max", axes=(1, 0), keepdims=True, accum_dtype="f32", out_dtype="f32"),
    R(ReduceOp, "f32[2,0]", "f32[2]", kind="min", axes=(1,), keepdims=False),
    R(ReduceOp, "f32[2]", "f32[2]", kind="sum", axes=(), keepdims=False),
    R(ReduceOp, "bf16[2,B]", "f64[2]", kind="prod", axes=(1,), keepdims=False, accum_dtype="f32", out_dtype="f64"),
    R(ReduceOp, "i1[2,B]", "i1[2]", kind="xor", axes=(1,), keepdims=False),
    R(ReduceOp, "si4[2,B]", "si32[2]", kind="and", axes=(1,), keepdims=False, accum_dtype="si32", out_dtype="si32"),
    R(ReduceOp, "i1[2]", "E2005/DTypeNotSupported", kind="prod", axes=(0,), keepdims=False),
    R(ReduceOp, "f32[2]", "E2005/DTypeNotSupported", kind="or", axes=(0,), keepdims=False),
    R(ReduceOp, "f32[2,3]", "E3005", kind="sum", axes=(1, -1), keepdims=False),
    R(ReduceOp, "f32[2,3]", "E3004", kind="sum", axes=(2,), keepdims=False),
    R(ReduceOp, "f32[2,3]", "E3004", kind="sum", axes=(-3,), keepdims=False),
    R(ReduceOp, "i1[2]", "E2005/DTypeNotSupported", kind="sum", axes=(0,), keepdims=False),
    R(ReduceOp, "cf32[2]", "E2005/DTypeNotSupported", kind="max", axes=(0,), keepdims=False),
    R(ReduceOp, "f32[2]", "E8003/InvalidAccumDTypeOverride", kind="sum", axes=(0,), keepdims=False, accum_dtype="f16"),
    R(ReduceOp, "si8[2]", "E8003/InvalidAccumDTypeOverride", kind="sum", axes=(0,), keepdims=False, accum_dtype="f32"),
    R(ReduceOp, "cf32[2]", "E2005/DTypeNotSupported", kind="sum", axes=(0,), keepdims=False, out_dtype="f32"),
    R(ReduceOp, "f32[2]", "E4000", kind="sum", axes=(0,)),
    R(ReduceOp, "f32[2]", "E8002/InvalidAttributeValue", kind="mean", axes=(0,), keepdims=False),
    R(ArgMaxOp, "f32[2,B]", "si32[2]", axis=-1, keepdims=False, output_dtype="si32"),
    R(ArgMaxOp, "f32[2,0]", "E3006", axis=1, keepdims=False, output_dtype="si32"),
    R(ArgMaxOp, "f32[2,0]", "si64[1,0]", axis=0, keepdims=True, output_dtype="si64"),
    R(ArgMaxOp, "f32[2]", "E2005/DTypeNotSupported", axis=0, keepdims=False, output_dtype="ui32"),
    R(ArgMinOp, "f32[2,B]", "si32[2]", axis=-1, keepdims=False, output_dtype="si32"),
    R(ArgMinOp, "f32[2,0]", "E3006", axis=1, keepdims=False, output_dtype="si32"),
    R(ArgMinOp, "cf32[2]", "E2005/DTypeNotSupported", axis=0, keepdims=False, output_dtype="si32"),
    R(DotGeneralOp, "f32[2,3] f32[3,4]", "f32[2,4]", **dot),
    R(DotGeneralOp, "bf16[2,K] bf16[K,N]", "f32[2,N]", accum_dtype="f32", out_dtype="f32", **dot),
    R(
        DotGeneralOp,
        "f32[5,6,2] f32[6,5,3]",
        "f32[6,5,2,3]",
        batch_lhs=(1, 0),
        batch_rhs=(0, 1),
        contract_lhs=(),
        contract_rhs=(),
    ),
    R(DotGeneralOp, "f32[2,3] f32[4,5]", "E3003", **dot),
    R(DotGeneralOp, "f32[2,3] f64[3,4]", "E2004", **dot),
    R(DotGeneralOp, "f32[2,3] f32[3,4]", "E4007", **{**dot, "contract_rhs": ()}),
    R(DotGeneralOp, "f32[2,3] f32[3,4]", "E3005", batch_lhs=(1,), batch_rhs=(0,), contract_lhs=(-1,), contract_rhs=(0,)),
    R(DotGeneralOp, "i1[2,3] i1[3,4]", "E2005/DTypeNotSupported", **dot),
    R(ReshapeOp, "f32[2,3]", "f32[6]", new_shape=(-1,)),
    R(ReshapeOp, "f32[B,6]", "f32[B,2,3]", new_shape=("B", 2, -1)),
    R(ReshapeOp, "f32[B,6]", "f32[T]", declared="f32[T]", new_shape=(-1,)),
    R(ReshapeOp, "f32[0,3]", "f32[0,7]", new_shape=(0, 7)),
    R(ReshapeOp, "f32[2,3]", "E3007", new_shape=(4,)),
    R(ReshapeOp, "f32[B,0]", "E3007", new_shape=(-1, 0)),
    R(ReshapeOp, "f32[B,6]", "f32[B,6]", new_shape=(-1, 6)),
    R(ReshapeOp, "f32[B,6]", "f32[B+(B floordiv 2),4]", new_shape=(-1, 4)),
    R(ReshapeOp, "f32[B,6]", "f32[C,6]", new_shape=("C", 6)),
    R(ReshapeOp, "f32[2,3]", "E3007", new_shape=(4, -1)),
    R(ReshapeOp, "f32[2,3]", "E3006/NegativeDimension", new_shape=(-1, -1)),
    R(ReshapeOp, "f32[2,3]", "E3006/NegativeDimension", new_shape=(-2, 3)),
    R(ReshapeOp, "f32[2,3]", "E8002/InvalidAttributeValue", new_shape=("2B", 3)),
    R(TransposeOp, "f32[2,B,4]", "f32[4,2,B]", perm=(2, 0, 1)),
    R(TransposeOp, "f32[2,3]", "E3008", perm=(0, 0)),
    R(TransposeOp, "f32[2,3]", "E3008", perm=(0,)),
    R(TransposeOp, "f32[2,3]", "E3008", perm=(0, 2)),
    R(BroadcastToOp, "f32[3,1]", "f32[2,3,B]", result_shape=(2, 3, "B")),
    R(BroadcastToOp, "f32[B]", "f32[2,4]", result_shape=(2, 4)),
    R(BroadcastToOp, "f32[1]", "f32[0]", result_shape=(0,)),
    R(BroadcastToOp, "f32[3]", "E3001/BroadcastDimsInvalid", result_shape=(4,)),
    R(BroadcastToOp, "f32[3]", "E3001/BroadcastDimsInvalid", result_shape=(1,)),
    R(BroadcastToOp, "f32[1,3]", "E3002/BroadcastRankMismatch", result_shape=(3,)),
    R(BroadcastToOp, "f32[1]", "E3006/NegativeDimension", result_shape=(-1,)),
    R(SliceOp, "f32[4,B]", "f32[2,3]", starts=(2, 0), sizes=(2, 3)),
    R(SliceOp, "f32[4]", "E4012", starts=(2,), sizes=(3,)),
    R(SliceOp, "f32[4]", "E4012", starts=(-1,), sizes=(3,)),
    R(SliceOp, "f32[4]", "E4007", starts=(), sizes=(3,)),
    R(ConcatOp, "f32[2,3] f32[4,3]", "f32[6,3]", axis=0),
    R(ConcatOp, "f32[2,B]", "f32[2,B]", axis=-1),
    R(ConcatOp, "f32[2,B] f32[2,1]", "f32[2,B+1]", axis=-1),
    R(ConcatOp, "", "E2007", axis=0),
    R(ConcatOp, "f32[2] f16[2]", "E2004", axis=0),
    R(ConcatOp, "f32[2,3] f32[2,4]", "E3003", axis=0),
    R(ConcatOp, "f32[2,3] f32[2]", "E3002", axis=0),
    R(ConcatOp, "f32[]", "E3004", axis=0),
    R(ConcatOp, f"i1[{2**62}] i1[{2**62}]", "E3006/NegativeDimension", axis=0),
    R(PadOp, "f32[3,B]", "f32[6,B+2]", pad_value=float("-inf"), **edges),
    R(PadOp, "si8[0,1]", "si8[1,3]", pad_value=-3, **edges),
    R(PadOp, "si8[0,1]", "E4005", pad_value=1000, **edges),
    R(PadOp, "f32[3,3]", "E2004", pad_value=literal("f64[]", 0.0), **edges),
    R(PadOp, "f32[3,3]", "E4005", pad_value=literal("f32[1]", 0.0), **edges),
    R(PadOp, "f32[3]", "E4007", pad_value=0.0, **edges),
    R(PadOp, "f32[3]", "E8002/InvalidAttributeValue", pad_value=0.0, low=(-1,), high=(0,), interior=(0,)),
    R(TileOp, "f32[2,B]", "f32[6,B]", repeats=(3, 1)),
    R(TileOp, "f32[2]", "E8002/InvalidAttributeValue", repeats=(-1,)),
    R(TileOp, f"i1[{2**40}]", "E3006/NegativeDimension", repeats=(2**40,)),
    R(IotaOp, "", "bf16[2,B]", shape=(2, "B"), dtype="bf16", axis=-1),
    R(IotaOp, "", "E2005/DTypeNotSupported", shape=(2,), dtype="i1", axis=0),
    R(IotaOp, "", "E3004", shape=(), dtype="f32", axis=0),
    R(TakeOp, "f32[10,4] si32[2,T]", "f32[2,T,4]"),
    R(TakeOp, "f32[10,4] ui32[2]", "E2005/DTypeNotSupported"),
    R(TakeOp, "f32[] si32[2]", "E3002"),
    R(GatherOp, "f32[2,3] si64[2,7]", "f32[2,7]", axis=-1),
    R(GatherOp, "f32[2,3] si64[1,7]", "E3003", axis=1),
    R(GatherOp, "f32[2,3] si64[7]", "E3002", axis=1),
    R(ScatterAddOp, "f32[9,4] si32[2] f32[2,4]", "f32[9,4]", update_window_dims=(1,), **rows_of),
    R(ScatterAddOp, "f32[9,4] si32[2,1] f32[2,4]", "f32[9,4]", update_window_dims=(1,), index_vector_dim=1, **rows_of),
    R(ScatterAddOp, "f32[9,4] si32[2,2] f32[2,4]", "E3003", update_window_dims=(1,), index_vector_dim=1, **rows_of),
    R(ScatterAddOp, "f32[9,4] si32[2] f32[3,4]", "E3003", update_window_dims=(1,), **rows_of),
    R(ScatterAddOp, "f32[9,4] si32[2] f32[2,5]", "E4012", update_window_dims=(1,), **rows_of),
    R(ScatterAddOp, "f32[9,4] si32[2] f32[2]", "E3002", update_window_dims=(), **rows_of),
    R(ScatterAddOp, "f32[9,4] si32[2] f32[2,4]", "E3004", update_window_dims=(1,), index_vector_dim=2, **rows_of),
    R(ScatterReduceOp, "f32[2,3] si32[2,7] f32[2,7]", "f32[2,3]", axis=1, kind="add"),
    R(ScatterReduceOp, "cf32[2] si32[7] cf32[7]", "cf32[2]", axis=0, kind="replace"),
    R(ScatterReduceOp, "cf32[2] si32[7] cf32[7]", "E2005/DTypeNotSupported", axis=0, kind="max"),
    R(ScatterReduceOp, "f32[2,3] si32[2,7] f32[2,6]", "E3001", axis=1, kind="min"),
    R(ScatterReduceOp, "f32[2,3] si32[2,7] f16[2,7]", "E2004", axis=1, kind="add"),
    R(GatherWindowsOp, "f32[9,4] si32[B,1]", "f32[B,3]", **read_rows),
    R(GatherWindowsOp, "i1[9,4] si64[5]", "i1[5,3]", **read_rows),
    R(GatherWindowsOp, "f32[B,9,4] si32[B,5,1]", "f32[B,5,4]", **paired),
    R(GatherWindowsOp, "f32[2,9,4] si32[3,5,1]", "E3003", **paired),
    R(GatherWindowsOp, "f32[9,4] si32[5,2]", "E3003", **read_rows),
    R(GatherWindowsOp, "f32[9,4] si32[5,1]", "E4012", **{**read_rows, "slice_sizes": (1, 5)}),
    R(GatherWindowsOp, "f32[9,4] si32[5,1]", "E4012", **{**read_rows, "slice_sizes": (2, 3)}),
    R(GatherWindowsOp, "f32[9,4] si32[5,1]", "E3002", **{**read_rows, "offset_dims": ()}),
    R(GatherWindowsOp, "f32[9,4] si32[5,1]", "E4007", **{**read_rows, "slice_sizes": (1,)}),
    R(GatherWindowsOp, "f32[9,4] si32[5,1]", "E4007", **{**read_rows, "operand_batching_dims": (1,)}),
    R(GatherWindowsOp, "f32[9,4] si32[5,1]", "E3004", **{**read_rows, "index_vector_dim": 3}),
    R(GatherWindowsOp, "f32[9,4] si32[5,1]", "E8002/InvalidAttributeValue", **{**read_rows, "mode": "drop"}),
    R(GatherWindowsOp, "f32[9,4] ui8[5,1]", "E2005/DTypeNotSupported", **read_rows),
    R(ScatterWindowsOp, "f32[9,4] si32[B,1] f32[B,3]", "f32[9,4]", kind="mul", **write_rows),
    R(ScatterWindowsOp, "i1[9,4] si32[2] i1[2,4]", "i1[9,4]", kind="replace", **write_rows),
    R(ScatterWindowsOp, "i1[9,4] si32[2] i1[2,4]", "E2005/DTypeNotSupported", kind="add", **write_rows),
    R(ScatterWindowsOp, "f32[9,4] si32[2,1] f32[2,5]", "E4012", kind="max", **write_rows),
    R(ScatterWindowsOp, "f32[9,4] si32[2,1] f32[3,4]", "E3003", kind="max", **write_rows),
    R(ScatterWindowsOp, "f32[9,4] si32[2,1] f32[2]", "E3004", kind="max", **write_rows),
    R(ScatterWindowsOp, "f32[9,4] si32[2,1] f32[2,4,1]", "E3002", kind="max", **write_rows),
    R(ScatterWindowsOp, "f32[9,4] si32[2,1] f16[2,4]", "E2004", kind="min", **write_rows),
    R(
        ScatterWindowsOp,
        "f32[9,4] si32[2,1] f32[2,4]",
        "E8002/InvalidAttributeValue",
        kind="min",
        **{**write_rows, "mode": "fill"},
    ),
    R(DynamicSliceOp, "f32[8,B] si32[2]", "f32[1,4]", sizes=(1, 4)),
    R(DynamicSliceOp, "f32[8,4] si32[2]", "E4012", sizes=(1, 5)),
    R(DynamicSliceOp, "f32[8,4] si32[3]", "E3003", sizes=(1, 4)),
    R(DynamicSliceOp, "f32[8,4] si32[]", "E3002", sizes=(1, 4)),
    R(DynamicUpdateSliceOp, "f32[8,4] f32[1,4] si64[2]", "f32[8,4]", sizes=(1, 4)),
    R(DynamicUpdateSliceOp, "f32[8,4] f32[1,4] si64[2]", "E3001", sizes=(2, 4)),
    R(DynamicUpdateSliceOp, "f32[8,4] f16[1,4] si64[2]", "E2004", sizes=(1, 4)),
    R(LayerNormOp, "f32[2,8] f32[8] f32[8]", "f32[2,8]", epsilon=1e-5, feature_axis=-1),
    R(LayerNormOp, "f32[2,8] f32[7] f32[8]", "E3003", epsilon=1e-5, feature_axis=-1),
    R(LayerNormOp, "f32[2,8] f32[1,8] f32[8]", "E3002", epsilon=1e-5, feature_axis=-1),
    R(LayerNormOp, "f32[2,8] f32[8] f32[8]", "E8002/InvalidAttributeValue", epsilon=float("nan"), feature_axis=-1),
    R(ClampOp, "si8[2] si8[2] si8[2]", "si8[2]"),
    R(ClampOp, "si8[2] si8[] si8[2]", "E3002"),
    R(ReduceWindowOp, "f32[5]", "f32[2]", kind="max", **window),
    R(ReduceWindowOp, "f32[B]", "f32[B floordiv 2]", kind="sum", accum_dtype="f64", **window),
    R(ReduceWindowOp, "f32[1]", "f32[0]", kind="max", **window),
    R(ReduceWindowOp, "f32[5]", "E8002/InvalidAttributeValue", kind="max", **{**window, "strides": (0,)}),
    R(ReduceWindowOp, "f32[5]", "E4007", kind="max", **{**window, "padding": ()}),
    R(WindowArgOp, "f32[5]", "si32[2]", kind="max", output_dtype="si32", **places),
    R(WindowArgOp, "f32[B]", "si64[B floordiv 2]", kind="min", output_dtype="si64", **places),
    R(WindowArgOp, "f32[1]", "si32[0]", kind="max", output_dtype="si32", **places),
    R(WindowArgOp, "f32[5]", "E8002/InvalidAttributeValue", kind="max", output_dtype="si32", **{**places, "strides": (0,)}),
    R(WindowArgOp, "f32[5]", "E4007", kind="max", output_dtype="si32", **{**places, "padding": ()}),
    R(WindowArgOp, "cf32[5]", "E2005/DTypeNotSupported", kind="max", output_dtype="si32", **places),
    R(WindowArgOp, "f32[5]", "E2005/DTypeNotSupported", kind="max", output_dtype="ui32", **places),
    R(WindowArgOp, "f32[2147483649]", "E8002/InvalidAttributeValue", kind="max", output_dtype="si32", **places),
    R(ExtractPatchesOp, "f32[N,5,5,3]", "f32[N,2,2,27]", **patches),
    R(ExtractPatchesOp, "f32[3]", "E3002", **patches),
    R(
        CustomCallOp,
        "f32[2]",
        "f32[2] si8[?]",
        declared="f32[2] si8[?]",
        target="a.b.v1",
        attrs={"x": 1, "y": [0.5, float("inf")]},
    ),
    R(CustomCallOp, "", "i1[]", declared="i1[]", target="a.b.v12", attrs={}),
    R(CustomCallOp, "", "E8002/InvalidAttributeValue", declared="", target="b.v1x", attrs={}),
    R(CustomCallOp, "", "E8002/InvalidAttributeValue", declared="", target="v1", attrs={}),
    R(CustomCallOp, "", "E8002/InvalidAttributeValue", declared="", target="a.v1", attrs={"x": [1, 2.0]}),
    R(CustomCallOp, "", "E8002/InvalidAttributeValue", declared="", target="a.v1", attrs={"x": {}}),
    R(CustomCallOp, "", "E2003", target="a.b.v1", attrs={}),
    R(RngUniformOp, "", "f32[2,B]", shape=(2, "B"), dtype="f32"),
    R(RngUniformOp, "", "E2005/DTypeNotSupported", shape=(2,), dtype="si32"),
    R(RngNormalOp, "", "bf16[]", shape=(), dtype="bf16"),
    R(RngNormalOp, "", "E3006/NegativeDimension", shape=(-1,), dtype="bf16"),
    R(TopKOp, "f32[2,5]", "f32[2,3] si32[2,3]", k=3, axis=-1, **top),
    R(TopKOp, "f32[2,B]", "f32[2,3] si32[2,3]", k=3, axis=-1, **top),
    R(TopKOp, "f32[2,5]", "E8002/InvalidAttributeValue", k=6, axis=-1, **top),
    R(TopKOp, "cf32[2,5]", "E2005/DTypeNotSupported", k=3, axis=-1, **top),
    R(SegmentReduceOp, "f32[6,4] si32[6]", "f32[3,4]", kind="sum", num_segments=3, **segments),
    R(SegmentReduceOp, "f32[6,4] si32[5]", "E3003", kind="sum", num_segments=3, **segments),
    R(SegmentReduceOp, "f32[6,4] si32[6,1]", "E3002", kind="max", num_segments=3, **segments),
    R(SegmentReduceOp, "f32[6]  si32[6]", "E8002/InvalidAttributeValue", kind="max", num_segments=-1, **segments),
    R(QuantizeOp, "f32[2,3]", "si8[2,3]", output_dtype="si8"),
    R(QuantizeOp, "f32[2,3] f32[3] si8[3]", "si8[2,3]", output_dtype="si8", axis=-1),
    R(QuantizeOp, "f32[2,3] f32[] si8[]", "si8[2,3]", output_dtype="si8"),
    R(QuantizeOp, "f32[2,3] f32[]", "E2007", output_dtype="si8"),
    R(QuantizeOp, "f32[2,3] f32[3] si8[3]", "E3002", output_dtype="si8"),
    R(QuantizeOp, "f32[2,3] f16[] si8[]", "E2004", output_dtype="si8"),
    R(QuantizeOp, "f32[2,3] f32[] ui8[]", "E2004", output_dtype="si8"),
    R(QuantizeOp, "f32[2,3]", "E2005/DTypeNotSupported", output_dtype="f16"),
    R(DequantizeOp, "si8[2,3]", "f32[2,3]"),
    R(DequantizeOp, "si8[2,3] f16[] si8[]", "f16[2,3]"),
    R(DequantizeOp, "si8[2,3] f16[] si8[]", "E2004", output_dtype="f32"),
    R(DequantizeOp, "si8[2,3] si8[] si8[]", "E2005/DTypeNotSupported"),
    R(RequantizeOp, "si8[2] f32[] si8[] f32[] ui4[]", "ui4[2]", output_dtype="ui4"),
    R(RequantizeOp, "si8[2] f32[] si8[] f64[] ui4[]", "E2004", output_dtype="ui4"),
    R(CumulativeSumOp, "f32[2,B]", "f32[2,B]", axis=-1, exclusive=True, reverse=False),
    R(CumulativeSumOp, "f32[2]", "E3004", axis=1, exclusive=True, reverse=False),
    R(RaggedDotOp, "f32[M,3] f32[2,3,4] si64[2]", "f32[M,4]", kind="rows"),
    R(RaggedDotOp, "bf16[5,3] bf16[2,3,4] si32[2]", "f32[5,4]", kind="rows", out_dtype="f32"),
    R(RaggedDotOp, "f64[5,3] f64[5,4] si32[2]", "f64[2,3,4]", kind="contract"),
    R(RaggedDotOp, "f32[M,3] f32[M,4] si32[G]", "f32[G,3,4]", kind="contract", accum_dtype="f64"),
    R(RaggedDotOp, "f32[5,3] f32[2,3,4] si64[3]", "E3003", kind="rows"),
    R(RaggedDotOp, "f32[5,3] f32[2,4,4] si64[2]", "E3003", kind="rows"),
    R(RaggedDotOp, "f32[5,3] f32[6,4] si64[2]", "E3003", kind="contract"),
    R(RaggedDotOp, "f32[5,3] f32[3,4] si64[2]", "E3002", kind="rows"),
    R(RaggedDotOp, "f32[5,3] f32[2,3,4] si64[]", "E3002", kind="rows"),
    R(RaggedDotOp, "f32[5,3] f64[2,3,4] si64[2]", "E2004", kind="rows"),
    R(RaggedDotOp, "f32[5,3] f32[2,3,4] f32[2]", "E2005/DTypeNotSupported", kind="rows"),
    R(RaggedDotOp, "f64[5,3] f64[2,3,4] si32[2]", "E8003", kind="rows", accum_dtype="f32"),
    R(RaggedDotOp, "f32[5,3] f32[2,3,4] si32[2]", "E8002", kind="columns"),
    R(FftOp, "cf32[B,4]", "cf32[B,4]", kind="fft", lengths=(4,)),
    R(FftOp, "cf64[2,B,3]", "cf64[2,4,3]", kind="ifft", lengths=(4, 3)),
    R(FftOp, "f32[B,8,6]", "cf32[B,8,4]", kind="rfft", lengths=(8, 6)),
    R(FftOp, "f64[0,5]", "cf64[0,3]", kind="rfft", lengths=(5,)),
    R(FftOp, "cf64[B,4]", "f64[B,7]", kind="irfft", lengths=(7,)),
    R(FftOp, "cf32[B,4]", "f32[B,6]", kind="irfft", lengths=(6,)),
    R(FftOp, "cf32[1]", "f32[1]", kind="irfft", lengths=(1,)),
    R(FftOp, "cf32[3]", "E3003", kind="irfft", lengths=(3,)),
    R(FftOp, "f32[4]", "E3003", kind="rfft", lengths=(5,)),
    R(FftOp, "cf32[4,5]", "E3003", kind="fft", lengths=(5, 4)),
    R(FftOp, "cf32[4]", "E3002", kind="fft", lengths=(4, 4)),
    R(FftOp, "cf32[]", "E3002", kind="fft", lengths=(1,)),
    R(FftOp, "cf32[0]", "E8002", kind="fft", lengths=(0,)),
    R(FftOp, "cf32[4]", "E8002", kind="fft", lengths=()),
    R(FftOp, "cf32[4]", "E8002/InvalidAttributeValue", kind="dct", lengths=(4,)),
    R(FftOp, "f32[4]", "E2005/DTypeNotSupported", kind="fft", lengths=(4,)),
    R(FftOp, "cf32[4]", "E2005/DTypeNotSupported", kind="rfft", lengths=(4,)),
    R(FftOp, "f16[4]", "E2005/DTypeNotSupported", kind="rfft", lengths=(4,)),
    R(FftOp, "f32[4]", "E2005/DTypeNotSupported", kind="irfft", lengths=(6,)),
    R(CumulativeOp, "f32[2,B]", "f32[2,B]", kind="max", axis=-1, exclusive=True, reverse=False),
    R(CumulativeOp, "cf32[2]", "cf32[2]", kind="prod", axis=0, exclusive=False, reverse=True),
    R(CumulativeOp, "cf32[2]", "E2005/DTypeNotSupported", kind="min", axis=0, exclusive=False, reverse=True),
    R(CumulativeOp, "i1[2]", "E2005/DTypeNotSupported", kind="prod", axis=0, exclusive=False, reverse=True),
    R(CumulativeOp, "f32[2]", "E8002/InvalidAttributeValue", kind="sum", axis=0, exclusive=False, reverse=True),
    R(CumulativeOp, "f32[2]", "E3004", kind="min", axis=1, exclusive=True, reverse=False),
    R(SortOp, "bf16[2,3]", "bf16[2,3]", axis=0, descending=True),
    R(SortOp, "cf32[2]", "E2005/DTypeNotSupported", axis=0, descending=True),
    R(ReverseOp, "i1[2,3]", "i1[2,3]", axes=(0, -1)),
    R(ReverseOp, "i1[2,3]", "E3005", axes=(1, -1)),
    R(StridedSliceOp, "f32[10]", "f32[3]", starts=(1,), limits=(8,), strides=(3,)),
    R(StridedSliceOp, "f32[10]", "E4008", starts=(1,), limits=(8,), strides=(0,)),
    R(StridedSliceOp, "f32[10]", "E4012", starts=(1,), limits=(11,), strides=(1,)),
    R(StridedSliceOp, "f32[N]", "f32[N-1]", starts=(1,), limits=("N",), strides=(1,)),
    R(DimensionSizeOp, "i1[2,B]", "si64[]", axis=-1),
    R(DimensionSizeOp, "fp8_e4m3[?]", "si64[]", axis=0),
    R(DimensionSizeOp, "f32[]", "E3004", axis=0),
    R(ConvolutionOp, "f32[N,5,5,4] f32[3,3,4,8]", "f32[N,5,5,8]", **conv),
    R(ConvolutionOp, "f32[1,5,5,4] f32[3,3,2,8]", "f32[1,5,5,8]", **{**conv, "feature_group_count": 2}),
    R(ConvolutionOp, "f32[1,5,5,4] f32[3,3,3,8]", "E4009", **conv),
    R(ConvolutionOp, "f32[1,5,5,4] f32[3,3,2,7]", "E4009", **{**conv, "feature_group_count": 2}),
    R(ConvolutionOp, "f32[1,5,5,4] f32[3,K,4,8]", "E3006", **conv),
    R(ConvolutionOp, "f32[1,5,5,4] f32[3,4,8]", "E3002", **conv),
]
"""Every op without regions, accepted and refused."""
