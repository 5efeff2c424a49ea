"""
Elementwise ops. Floats of 8 bits are computed in f32, as by our kernels; what XLA would do with them is its own.

StableHLO's integers wrap where PTIR's `cast` saturates, so values are clamped before they are converted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.scalars import SCALARS
from mind_dialect.ptir.types import F32, F64, I1, SI4, SI32, SI64, UI4, UI32, Kind, PtirDType, part_of

from .builder import INTEGERS, StablehloBuilder, Values, bounds, dtype_of, shape_of, static

NAMES: Mapping[type[PtirOp], str] = {
    ptir.OPS_BY_OPCODE[opcode]: row.stablehlo for opcode, row in SCALARS.items() if row.stablehlo is not None
}
"""Ops that are one op of StableHLO on the same operands."""

DIRECTIONS = {
    **{"less": "LT", "less_equal": "LE", "equal": "EQ"},
    **{"greater_equal": "GE", "greater": "GT", "not_equal": "NE"},
}

Rule = Callable[[StablehloBuilder, Any, Values], SSAValue]


def is_small(dtype: PtirDType) -> bool:
    """Return whether a dtype is a float of 8 bits."""
    return dtype.is_float and dtype.bits == 8


def widened(b: StablehloBuilder, x: SSAValue) -> SSAValue:
    """A float of 8 bits in f32, everything else as it is."""
    return b.convert(x, F32) if is_small(dtype_of(x)) else x


def in_f32(rule: Rule) -> Rule:
    """The rule, with floats of 8 bits computed in f32 and rounded once."""

    def wide(b: StablehloBuilder, op: PtirOp, x: Values) -> SSAValue:
        dtype = dtype_of(x[0])
        if not is_small(dtype):
            return rule(b, op, x)
        return cast_to(b, rule(b, op, [widened(b, v) for v in x]), dtype)

    return wide


def _named(name: str) -> Rule:
    return lambda b, op, x: b(name, *x)


def _abs(b: StablehloBuilder, op: ptir.AbsOp, x: Values) -> SSAValue:
    """Unsigned integers are their own magnitudes; of a complex number it is a real one."""
    dtype = dtype_of(x[0])
    if dtype.kind is Kind.UNSIGNED:
        return x[0]
    return b.typed("abs", (part_of(dtype), shape_of(x[0])), x[0])


def _sign(b: StablehloBuilder, op: ptir.SignOp, x: Values) -> SSAValue:
    """Of an unsigned integer 0 or 1."""
    if dtype_of(x[0]).kind is Kind.UNSIGNED:
        return b("minimum", x[0], b.like(1, x[0]))
    return b("sign", x[0])


def _reciprocal(b: StablehloBuilder, op: ptir.ReciprocalOp, x: Values) -> SSAValue:
    return b("divide", b.like(1, x[0]), x[0])


def _clamp(b: StablehloBuilder, op: ptir.ClampOp, x: Values) -> SSAValue:
    """`min(max(x, lo), hi)`."""
    return b("minimum", b("maximum", x[0], x[1]), x[2])


def _compare(b: StablehloBuilder, op: ptir.CompareOp, x: Values) -> SSAValue:
    return b.compare(DIRECTIONS[op.values()["kind"]], widened(b, x[0]), widened(b, x[1]))


def _select(b: StablehloBuilder, op: ptir.SelectOp, x: Values) -> SSAValue:
    return b.select(x[0], x[1], x[2])


def _same(b: StablehloBuilder, op: PtirOp, x: Values) -> SSAValue:
    return x[0]


def _popcount(b: StablehloBuilder, op: ptir.PopcountOp, x: Values) -> SSAValue:
    """Of 4 bits with a sign as of those without: XLA counts copies of the sign too."""
    if dtype_of(x[0]) is not SI4:
        return b("popcnt", x[0])
    shape = shape_of(x[0])
    return b.typed("bitcast_convert", (SI4, shape), b("popcnt", b.typed("bitcast_convert", (UI4, shape), x[0])))


def _cast(b: StablehloBuilder, op: ptir.CastOp, x: Values) -> SSAValue:
    return cast_to(b, x[0], op.result_spec().dtype)


def _bitcast(b: StablehloBuilder, op: ptir.BitcastOp, x: Values) -> SSAValue:
    target = op.result_spec().dtype
    return x[0] if target is dtype_of(x[0]) else b.typed("bitcast_convert", (target, shape_of(x[0])), x[0])


def _truncate(b: StablehloBuilder, op: ptir.TruncateOp, x: Values) -> SSAValue:
    return b.convert(x[0], op.result_spec().dtype)


def _part(name: str) -> Rule:
    return lambda b, op, x: b.typed(name, (op.result_spec().dtype, shape_of(x[0])), x[0])


def _complex(b: StablehloBuilder, op: ptir.ComplexOp, x: Values) -> SSAValue:
    return b.typed("complex", (op.result_spec().dtype, static(op.result_spec())), *x)


def _conj(b: StablehloBuilder, op: ptir.ConjOp, x: Values) -> SSAValue:
    dtype, shape = dtype_of(x[0]), shape_of(x[0])
    real, imag = (b.typed(name, (part_of(dtype), shape), x[0]) for name in ("real", "imag"))
    return b.typed("complex", (dtype, shape), real, b("negate", imag))


RULES: Mapping[type[PtirOp], Rule] = {
    **{op: in_f32(_named(name)) for op, name in NAMES.items()},
    ptir.AbsOp: in_f32(_abs),
    ptir.SignOp: in_f32(_sign),
    ptir.ReciprocalOp: in_f32(_reciprocal),
    ptir.ClampOp: in_f32(_clamp),
    ptir.CompareOp: _compare,
    ptir.SelectOp: _select,
    ptir.StopGradientOp: _same,
    ptir.CastOp: _cast,
    ptir.BitcastOp: _bitcast,
    ptir.TruncateOp: _truncate,
    ptir.PopcountOp: _popcount,
    ptir.RealOp: _part("real"),
    ptir.ImagOp: _part("imag"),
    ptir.ComplexOp: _complex,
    ptir.ConjOp: _conj,
}
"""Each rule returns the one result of its op."""


# Conversions


def cast_to(b: StablehloBuilder, x: SSAValue, target: PtirDType) -> SSAValue:
    """`x` as PTIR casts it: integers saturate, NaN becomes 0, i1 asks for what is not 0, floats round once to nearest."""
    source = dtype_of(x)
    if source is target:
        return x
    if target is I1:
        wide = widened(b, x)
        return b.compare("NE", wide, b.like(0, wide))
    if source is I1:
        return b.convert(x, target)
    if target.kind in INTEGERS:
        return _to_integer(b, widened(b, x), target)
    if target.is_float and target.bits < 32:
        return _to_narrow_float(b, x, target)
    return b.convert(widened(b, x), target)


def _to_integer(b: StablehloBuilder, x: SSAValue, target: PtirDType) -> SSAValue:
    """Floats go by way of 32 or 64 bits, to which XLA saturates."""
    source = dtype_of(x)
    if source.is_float:
        wide = target if target.bits >= 32 else SI32
        x, source = b.convert(x, wide), wide
    (low, high), (target_low, target_high) = bounds(source), bounds(target)
    least, most = max(low, target_low), min(high, target_high)
    if (least, most) != (low, high):
        x = b("clamp", b.scalar(least, source), x, b.scalar(most, source), like=x)
    return b.convert(x, target)


def _to_narrow_float(b: StablehloBuilder, x: SSAValue, target: PtirDType) -> SSAValue:
    """By way of an f32 whose last bit says that it is inexact: rounded once more, it gives what rounding `x` gives."""
    source = dtype_of(x)
    if source is F64 or (source.kind in INTEGERS and source.bits >= 32):
        x = _to_odd_f32(b, x)
    elif source is not target:
        x = b.convert(x, F32)
    return b.convert(x, target)


def _to_odd_f32(b: StablehloBuilder, x: SSAValue) -> SSAValue:
    source = dtype_of(x)
    wide = _to_odd_f64(b, x) if source.kind in INTEGERS else x
    shape = shape_of(x)
    nearest = b.convert(wide, F32)
    back = b.convert(nearest, F64)
    bits = b.typed("bitcast_convert", (UI32, shape), nearest)
    one = b.like(1, bits)
    is_above = b.compare("GT", b("abs", back), b("abs", wide))
    toward_zero = b.select(is_above, b("subtract", bits, one), bits)
    odd = b.typed("bitcast_convert", (F32, shape), b("or", toward_zero, one))
    is_odd = b("and", b.compare("NE", back, wide), b.compare("EQ", wide, wide))
    return b.select(is_odd, odd, nearest)


def _to_odd_f64(b: StablehloBuilder, x: SSAValue) -> SSAValue:
    """Integers in f64; of those with more than 53 bits the lower ones are gathered in the last that is kept."""
    if dtype_of(x).bits < 64:
        return b.convert(x, F64)
    low = b("and", x, b.like(0x7FF, x))
    sticky = b.select(b.compare("NE", low, b.like(0, x)), b.like(0x800, x), b.like(0, x))
    gathered = b("or", b("xor", x, low), sticky)
    large = b.compare("GT", x, b.like(1 << 53, x))
    if dtype_of(x) is SI64:
        large = b("or", large, b.compare("LT", x, b.like(-(1 << 53), x)))
    return b.convert(b.select(large, gathered, x), F64)
