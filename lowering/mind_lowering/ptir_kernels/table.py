"""
The kernel of each op, with its arguments: one row per op class, closed by a test over the dialect.

Where the dtypes are native to the array namespace and no option asks for more, the row is the array function itself. Arguments
are Python values: numbers, tuples, dtypes of the dialect. A dimension that has a name is left as that, for the caller to bind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from mind_dialect import ptir
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.legal import default_accumulator
from mind_dialect.ptir.scalars import SCALARS
from mind_dialect.ptir.types import PtirDType

from ..xp.arguments import SizeArgument
from .ufuncs import REDUCERS, UFUNCS

NATIVE = frozenset(
    {"i1", "si8", "ui8", "si16", "ui16", "si32", "ui32", "si64", "ui64", "f32", "f64", "cf32", "cf64"},
)
"""Dtypes that array functions compute in themselves; a test holds it equal to what `formats.py` says."""


@dataclass(frozen=True)
class Call:
    """A function of the array namespace (`xp.`) or a kernel (`k.`), and its keyword arguments after the operands."""

    callee: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


Row = Callable[[Any], Call]


def _kernel(name: str, *drop: str) -> Row:
    """The kernel `name` with the op's properties, those that are absent or listed left out."""

    def row(op: PtirOp) -> Call:
        return Call(f"k.{name}", {n: v for n, v in op.values().items() if v is not None and n not in drop})

    return row


def _plain(callee: str) -> Row:
    return lambda op: Call(callee)


def _ufunc(opcode: str) -> Row:
    """The array function for native dtypes, else the kernel which widens."""
    name = UFUNCS[opcode]
    return lambda op: Call(f"xp.{name}" if _native(op) else f"k.{name}")


def _native(op: PtirOp) -> bool:
    return op.operand_spec(0).dtype.name in NATIVE


def _log1p(op: ptir.Log1pOp) -> Call:
    """The array function but for complex numbers, of which it loses the digits near 0."""
    return _plain("k.log1p")(op) if op.operand_spec(0).dtype.kind == "complex" else _ufunc(op.OPCODE)(op)


def _pow(op: ptir.PowOp) -> Call:
    """The array function but for floats, of which NumPy may take a square root where it should take a power."""
    return Call("k.power") if op.operand_spec(0).dtype.kind == "float" else _ufunc(op.OPCODE)(op)


def _div(op: ptir.DivOp) -> Call:
    dtype = op.operand_spec(0).dtype
    return Call("xp.divide" if dtype.name in NATIVE and not _is_integer(dtype) else "k.divide")


def _remainder(op: ptir.RemainderOp) -> Call:
    dtype = op.operand_spec(0).dtype
    return Call("xp.fmod" if dtype.name in NATIVE and not _is_integer(dtype) else "k.remainder")


def _is_integer(dtype: PtirDType) -> bool:
    return dtype.kind in ("signed", "unsigned")


def _compare(op: ptir.CompareOp) -> Call:
    return _ufunc(op.values()["kind"])(op)


def _to_dtype(name: str) -> Row:
    """The kernel `name` where the dtype changes."""

    def row(op: PtirOp) -> Call:
        dtype = op.values()["dtype"]
        return Call("k.identity") if dtype is op.operand_spec(0).dtype else Call(f"k.{name}", {"dtype": dtype})

    return row


def accumulates_plainly(op: PtirOp, values: Mapping[str, Any]) -> bool:
    """Return whether operand, accumulator and result have one native dtype."""
    dtype = op.operand_spec(0).dtype
    plain = values["accum_dtype"] in (None, dtype) and values.get("out_dtype") in (None, dtype)
    return plain and dtype.name in NATIVE and default_accumulator(dtype) is dtype


def _reduce(op: ptir.ReduceOp) -> Call:
    """
    `add.reduce` and its like. An extreme over no elements has no identity there, so that goes to the kernel.

    Over no axes it is the operand: a sum would turn -0 into +0.
    """
    values = op.values()
    axes: tuple[int, ...] = values["axes"]
    shape = op.operand_spec(0).shape
    arithmetic = values["kind"] in ("sum", "prod")
    filled = all(n != 0 and not isinstance(n, str) for n in (shape[a] for a in axes))
    if not accumulates_plainly(op, values) or not (arithmetic or filled):
        return _kernel("reduce")(op)
    if not axes:
        return Call("k.identity")
    name = REDUCERS[values["kind"]]
    arguments: dict[str, Any] = {"axis": axes, "keepdims": values["keepdims"]}
    return Call(f"xp.{name}.reduce", {**arguments, "dtype": op.operand_spec(0).dtype} if arithmetic else arguments)


def _dot_general(op: ptir.DotGeneralOp) -> Call:
    """`matmul` where batch axes lead and the last of lhs meets the one before the last of rhs, in floats."""
    values = op.values()
    n = len(values["batch_lhs"])
    ranks = len(op.operand_spec(0).shape), len(op.operand_spec(1).shape)
    axes = tuple(_positive(values[name], ranks[name.endswith("rhs")]) for name in _DOT_AXES)
    stacked = ranks == (n + 2, n + 2) and axes == (tuple(range(n)), tuple(range(n)), (n + 1,), (n,))
    if stacked and accumulates_plainly(op, values) and not _is_integer(op.operand_spec(0).dtype):
        return Call("xp.matmul")
    return _kernel("dot_general")(op)


_DOT_AXES = ("batch_lhs", "batch_rhs", "contract_lhs", "contract_rhs")


def _positive(axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    return tuple(a % rank for a in axes)


def _padded(name: str) -> Row:
    """`pad_value` as its one element."""
    kernel = _kernel(name)

    def row(op: PtirOp) -> Call:
        call = kernel(op)
        return Call(call.callee, {**call.arguments, "pad_value": call.arguments["pad_value"].item()})

    return row


def _sized(name: str, size: str) -> Row:
    """An argument as the size of a dimension, where it is one."""
    kernel = _kernel(name)

    def row(op: PtirOp) -> Call:
        call = kernel(op)
        given = call.arguments[size]
        return Call(call.callee, {**call.arguments, size: SizeArgument(given) if isinstance(given, str) else given})

    return row


def _rows(*ops: type[PtirOp]) -> dict[type[PtirOp], Row]:
    """The ops whose kernel has their name and takes their properties as they are."""
    return {op: _kernel(op.OPCODE) for op in ops}


KERNELS: dict[type[PtirOp], Row] = {
    **{ptir.OPS_BY_OPCODE[name]: (_ufunc if name in UFUNCS else _kernel)(name) for name in SCALARS},
    ptir.Log1pOp: _log1p,
    ptir.DivOp: _div,
    ptir.RemainderOp: _remainder,
    ptir.PowOp: _pow,
    **_rows(ptir.RealOp, ptir.ImagOp),
    ptir.ComplexOp: _plain("k.from_parts"),
    ptir.CompareOp: _compare,
    ptir.SelectOp: _plain("xp.where"),
    **{op: _to_dtype(op.OPCODE) for op in (ptir.CastOp, *ptir.CONVERSIONS)},
    ptir.StopGradientOp: _plain("k.identity"),
    ptir.ReduceOp: _reduce,
    ptir.DotGeneralOp: _dot_general,
    ptir.PadOp: _padded("pad"),
    ptir.ExtractPatchesOp: _padded("extract_patches"),
    **_rows(ptir.ConstantOp, ptir.ArgMinOp, ptir.ArgMaxOp, ptir.ReshapeOp, ptir.TransposeOp, ptir.BroadcastToOp, ptir.SliceOp),
    **_rows(ptir.ConcatOp, ptir.TileOp, ptir.IotaOp, ptir.TakeOp, ptir.GatherOp, ptir.ScatterAddOp, ptir.ScatterReduceOp),
    **_rows(ptir.DynamicSliceOp, ptir.DynamicUpdateSliceOp, ptir.LayerNormOp, ptir.ClampOp, ptir.ReduceWindowOp),
    **_rows(ptir.RngUniformOp, ptir.RngNormalOp),
    ptir.TopKOp: _sized("top_k", "k"),
    ptir.SegmentReduceOp: _sized("segment_reduce", "num_segments"),
    **_rows(ptir.QuantizeOp, ptir.DequantizeOp, ptir.RequantizeOp),
    **_rows(ptir.WindowArgOp, ptir.GatherWindowsOp, ptir.ScatterWindowsOp, ptir.FftOp),
    **_rows(ptir.CumulativeSumOp, ptir.CumulativeOp, ptir.SortOp, ptir.ReverseOp, ptir.StridedSliceOp, ptir.DimensionSizeOp),
    **_rows(ptir.ConvolutionOp, ptir.RaggedDotOp),
}
"""The row of every op that has a kernel. Random ops take `ordinal` and `seed` too, which the caller adds."""

WITHOUT_KERNEL: dict[type[PtirOp], str] = {
    ptir.CondOp: "the run takes one of its regions",
    ptir.WhileOp: "the run repeats its regions",
    ptir.ScanOp: "the run repeats its region",
    ptir.YieldOp: "it ends a region",
    ptir.FusionOp: "it means what its body means",
    ptir.CustomCallOp: "its function is registered by name",
}
"""The ops that no kernel runs, each with the reason."""


def kernel_call(op: PtirOp) -> Call:
    """The call that runs a verified op; its operands are the op's, in order. KeyError for an op of `WITHOUT_KERNEL`."""
    return KERNELS[type(op)](op)
