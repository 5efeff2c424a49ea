"""
Integers of 8 and 16 bits, ui32, f16 and bf16 are computed in a wider dtype, with the bits of the narrow op.

For targets without kernels of narrow dtypes. Each op becomes casts of its operands, the op in the wide dtype, and a conversion
back: `truncate` keeps the low bits, which are those of the narrow op for sums, products and bitwise ops; a cast rounds a float
once, as the contract asks for floats narrower than f32. Extremes saturate, since the wide identity of nothing is another number.
Accumulators wider than the operands become casts of the operands.

Casts that a target cannot do in one step become several: to integers by way of a clamp, from f64 and integers to f16 and bf16 by
way of f32, with the numbers corrected that would be rounded twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import ptir, register
from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.op import value_of
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import BF16, F16, F32, F64, I1, SI8, SI16, SI32, SI64, UI8, UI16, UI32, PtirDType, read_type
from mind_dialect.ptir_shapes import UNKNOWN

from ..widen import with_dtypes
from . import construct as make
from .building import accumulator, put_before
from .construct import Value
from .dead_ops import replace_values

WIDE: Mapping[PtirDType, PtirDType] = {
    **dict.fromkeys((SI8, UI8, SI16, UI16), SI32), UI32: SI64, F16: F32, BF16: F32,
}  # fmt: skip
"""The dtype that holds every number of a narrow one, and in which it is computed."""
MOVES = frozenset({
    ptir.ReshapeOp, ptir.TransposeOp, ptir.BroadcastToOp, ptir.SliceOp, ptir.StridedSliceOp, ptir.ReverseOp, ptir.ConcatOp,
    ptir.TileOp, ptir.PadOp, ptir.SelectOp, ptir.TakeOp, ptir.GatherOp, ptir.GatherWindowsOp, ptir.DynamicSliceOp,
    ptir.DynamicUpdateSliceOp, ptir.ExtractPatchesOp, ptir.StopGradientOp, ptir.DimensionSizeOp,
})  # fmt: skip
"""Ops that only move elements: in a narrow dtype they are what they are, unless the target lacks it."""
_BITS = "it reads the bits of its dtype"
_COMPLEX = "its numbers are complex"
_REGIONS = "the ops in its regions are expanded"
LEFT: Mapping[type[PtirOp], str] = {
    **dict.fromkeys((ptir.BitcastOp, ptir.PopcountOp, ptir.CountLeadingZerosOp), _BITS),
    **dict.fromkeys((ptir.RealOp, ptir.ImagOp, ptir.ComplexOp, ptir.ConjOp, ptir.FftOp), _COMPLEX),
    **dict.fromkeys((ptir.CondOp, ptir.WhileOp, ptir.ScanOp, ptir.FusionOp, ptir.YieldOp), _REGIONS),
    **dict.fromkeys((ptir.RngUniformOp, ptir.RngNormalOp), "its numbers depend on the dtype"),
    **dict.fromkeys((ptir.QuantizeOp, ptir.DequantizeOp, ptir.RequantizeOp), "ptir-expand-quantized expands it"),
    ptir.ConstantOp: "it holds its numbers",
    ptir.CustomCallOp: "its function states the dtypes",
}
"""The ops that stay, and why."""
CONVERSIONS = (ptir.CastOp, ptir.TruncateOp)
SHIFTED_AS: Mapping[type[PtirOp], Mapping[PtirDType, PtirDType]] = {
    ptir.ShiftRightLogicalOp: {SI8: UI8, SI16: UI16},
    ptir.ShiftRightArithmeticOp: {UI8: SI8, UI16: SI16, UI32: SI32},
}
"""As which dtype the bits of an integer are read, where a shift to the right brings in zeros or signs."""
OVERFLOWS: Mapping[PtirDType, tuple[float, float]] = {
    F16: (float.fromhex("0x1.ffep15"), float.fromhex("0x1.ffdffep15")),
    BF16: (float.fromhex("0x1.ffp127"), float.fromhex("0x1.fefffep127")),
}
"""From which magnitude on a float is rounded to an infinity, and the number of f32 below."""


def moves(op: Operation) -> bool:
    """Return whether an op only moves elements."""
    return type(op) in MOVES


def expand_narrow(module: Operation, is_computed: Callable[[Operation], bool] = moves) -> None:
    """Compute ops of narrow dtypes in wide ones, except those that the target computes as they are."""
    became: dict[SSAValue, SSAValue] = {}
    for op in [op for op in walk(module) if isinstance(op, PtirOp) and type(op) not in LEFT]:
        if (made := _expanded(op, is_computed)) is None:
            continue
        for old, value in zip(op.results, made, strict=True):
            new = put_before(op, value)
            new.name_hint = new.name_hint or old.name_hint
            became[old] = new
    replace_values(module, _resolved(became))


def _resolved(became: Mapping[SSAValue, SSAValue]) -> dict[SSAValue, SSAValue]:
    """An op that became one of its operands stands for what that became."""
    found: dict[SSAValue, SSAValue] = {}
    for old, new in became.items():
        found[old] = found.get(new, new)
    return found


def _expanded(op: PtirOp, is_computed: Callable[[Operation], bool]) -> list[Value] | None:
    """Return the results of an op by wide ops, None for one that stays."""
    specs = [read_type(v.type) for v in (*op.operands, *op.results)]
    narrow = any(s.dtype in WIDE for s in specs)
    if isinstance(op, CONVERSIONS):
        return _conversion(op) if narrow and not any(UNKNOWN in s.shape for s in specs) else None
    if _accumulates(op):
        return None if accumulator(op) in (F16, BF16) else [_accumulated(op)]
    return _widened(op) if narrow and not is_computed(op) else None


def _accumulates(op: PtirOp) -> bool:
    """Return whether an op sums, with a narrow dtype or in another dtype than its operands'."""
    if not isinstance(op, ptir.AccumulatingOp):
        return False
    source, result = op.operand_spec(0).dtype, op.result_spec().dtype
    return source in WIDE or result is not source or accumulator(op) is not source


def _is_extreme(op: PtirOp) -> bool:
    return op.values().get("kind") in ("max", "min")


def _widened(op: PtirOp) -> list[Value]:
    """The op with wide operands, and its results back in their own dtypes."""
    operands = [to_wide(v) for v in op.operands]
    source = op.operand_spec(0).dtype if op.operands else None
    if source is not None and (read := SHIFTED_AS.get(type(op), {}).get(source)) is not None:
        operands[0] = make.cast(to_narrow(op.operands[0], read), WIDE[source])
    wide = _clone(op, operands, {narrow.type: to.type for narrow, to in WIDE.items()})
    back = to_cast if _is_extreme(op) else to_narrow
    return [back(new, read_type(old.type).dtype) for old, new in zip(op.results, wide.results, strict=True)]


def _accumulated(op: PtirOp) -> Value:
    """The op on operands in the accumulator's dtype, and its result in the dtype that the op states."""
    source, accum = op.operand_spec(0).dtype, accumulator(op)
    wide = WIDE.get(accum, accum)
    operands = [to_cast(v, wide) if read_type(v.type).dtype is source else to_wide(v) for v in op.operands]
    types = {dtype.type: wide.type for dtype in (source, op.result_spec().dtype)}
    made = _clone(op, operands, types, accum_dtype=None, out_dtype=None)
    total: Value = made.results[0]
    if accum in WIDE or _is_extreme(op):
        total = to_cast(total, source) if _is_extreme(op) else to_narrow(total, accum)
    return to_cast(total, op.result_spec().dtype)


def _clone(op: PtirOp, operands: list[Value], types: Mapping[Attribute, Attribute], **changed: Any) -> PtirOp:
    """The op on other operands, with other dtypes in its properties and results."""
    values = {name: with_dtypes(a, types) for name, a in op.properties.items() if name not in changed}
    results = [with_dtypes(v.type, types) for v in op.results]
    return type(op).create(operands=[value_of(v) for v in operands], properties=values, result_types=results)


def to_wide(x: SSAValue) -> Value:
    """Return a value in the dtype that it is computed in."""
    dtype = read_type(x.type).dtype
    return make.cast(x, WIDE.get(dtype, dtype))


def to_narrow(x: Value, dtype: PtirDType) -> Value:
    """Return a value that was computed in the wide dtype of `dtype` in `dtype`: low bits of integers, floats rounded."""
    found, shape = make.spec(x)
    if found is dtype or dtype.is_float:
        return make.cast(x, dtype)
    return make.make(ptir.TruncateOp, x, type=make.typed(dtype, shape), dtype=dtype)


def _conversion(op: PtirOp) -> list[Value] | None:
    """Return a cast or truncation by steps of which each is to or from the wide dtype; None for one that is such a step."""
    source, to = op.operand_spec(0).dtype, op.result_spec().dtype
    if isinstance(op, ptir.TruncateOp):
        return [to_narrow(to_wide(op.operands[0]), to)] if source in WIDE else None
    if to is WIDE.get(source) or (source is F32 and to in (F16, BF16)):
        return None
    return [to_cast(op.operands[0], to)]


def to_cast(x: Value, dtype: PtirDType) -> Value:
    """Return `cast x` by steps: saturating to integers, rounded once to floats."""
    x = value_of(x)
    x = to_wide(x) if read_type(x.type).dtype is not dtype else x
    found = make.spec(x).dtype
    if found is dtype or dtype not in WIDE:
        return make.cast(x, dtype)
    if dtype.is_float:
        return _rounded(x, dtype)
    x = x if found in (SI32, SI64) else make.cast(x, WIDE[dtype])
    held, bounds = make.spec(x).dtype.element, dtype.element
    low, high = (make.full(n, x) for n in (max(bounds.least, held.least), min(bounds.most, held.most)))  # pyright: ignore
    return to_narrow(make.elementwise(ptir.MinimumOp, make.elementwise(ptir.MaximumOp, x, low), high), dtype)


def _rounded(x: Value, dtype: PtirDType) -> Value:
    """Return a wide number as f16 or bf16, rounded once."""
    match make.spec(x).dtype:
        case d if d is F32 or d is I1:
            return make.cast(make.cast(x, F32), dtype)
        case d if d is SI64:
            return make.cast(_rounded_f64(make.cast(_sticky(x), F64), dtype), dtype)
        case _:
            return make.cast(_rounded_f64(make.cast(x, F64), dtype), dtype)


def _sticky(x: Value) -> Value:
    """Return an integer that f64 holds, between the same numbers of f16 and bf16: of more than 53 bits, all low ones are one."""
    low = make.elementwise(ptir.AndOp, x, make.full(2047, x))
    some = make.where(make.compare("equal", low, make.full(0, x)), low, make.full(1024, x))
    large = make.compare(
        "greater_equal", make.make(ptir.AbsOp, make.add(make.sub(x, low), make.full(1, x))), make.full(1 << 53, x)
    )
    return make.where(large, make.add(make.sub(x, low), some), x)


def _rounded_f64(x: Value, dtype: PtirDType) -> Value:
    """
    Return the number of `dtype` nearest to a number of f64, in f32.

    Rounding by way of f32 is wrong only where f32 lands halfway between two numbers of `dtype` and `x` is on one side: then the
    one on that side is taken. Just below the overflow, f32 must not land on it.
    """
    limit, below = OVERFLOWS[dtype]
    near = make.cast(x, F32)
    inside = make.compare("less", make.make(ptir.AbsOp, x), make.full(limit, x))
    clipped = make.elementwise(
        ptir.MinimumOp, make.elementwise(ptir.MaximumOp, near, make.full(-below, near)), make.full(below, near)
    )
    near = make.where(inside, clipped, near)
    first = make.cast(make.cast(near, dtype), F32)
    other = make.add(near, make.sub(near, first))
    back = make.cast(make.cast(other, dtype), F32)
    halfway = make.elementwise(ptir.AndOp, make.compare("not_equal", near, first), make.compare("equal", back, other))
    exact = make.cast(near, F64)
    above, under = (make.elementwise(ptir.AndOp, halfway, make.compare(kind, x, exact)) for kind in ("greater", "less"))
    upper = make.where(above, make.elementwise(ptir.MaximumOp, first, other), first)
    nearest = make.where(under, make.elementwise(ptir.MinimumOp, first, other), upper)
    return make.where(inside, nearest, first)


@dataclass(frozen=True)
class PtirExpandNarrowPass(ModulePass):
    """Compute integers of 8 and 16 bits, ui32, f16 and bf16 in wider dtypes, with the same resulting bits."""

    name = "mind-ptir-expand-narrow"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        expand_narrow(op)
