"""
Elementwise ops on one element, in arith and math: one table by op class.

Integers carry no sign in MLIR, so the op says it. Floats of fewer than 32 bits are computed in f32 and rounded once, those of 8
bits in all ops. What arith leaves undefined, such as a shift by the width or a cast of a number too large, is written out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from xdsl.dialects import arith, math
from xdsl.ir import Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.scalars import UNARY
from mind_dialect.ptir.types import F32, F64, I1, Kind, PtirDType

from .builder import LinalgBuilder, element_type

Value = SSAValue
Scalar = Callable[[LinalgBuilder, PtirDType, list[Value]], Value]
"""From elements of a dtype to an element."""


def is_integer(dtype: PtirDType) -> bool:
    """Return whether a dtype is one of integers, i1 not counted."""
    return dtype.kind in (Kind.SIGNED, Kind.UNSIGNED)


def least(dtype: PtirDType) -> int:
    """The least integer of a dtype."""
    return -(1 << (dtype.bits - 1)) if dtype.kind is Kind.SIGNED else 0


def most(dtype: PtirDType) -> int:
    """The greatest integer of a dtype."""
    return (1 << (dtype.bits - (dtype.kind is Kind.SIGNED))) - 1


# Conversions


def cast(b: LinalgBuilder, source: PtirDType, target: PtirDType, x: Value) -> Value:
    """
    The contract's conversion.

    Floats to nearest; to integers truncated, saturating, NaN to 0; integers to integers saturating; to i1 whether it is not 0.
    """
    if source is target:
        return x
    if target is I1:
        return _wide_compare(b, "not_equal", source, [x, b.scalar(source, 0.0 if source.is_float else 0)])
    if target.is_float:
        return _to_float(b, source, target, x)
    if source.is_float:
        return _float_to_integer(b, source, target, x)
    return _resize(b, source, target, x) if source is I1 else _integer_to_integer(b, source, target, x)


def _to_float(b: LinalgBuilder, source: PtirDType, target: PtirDType, x: Value) -> Value:
    type = element_type(target)
    if source.is_float:
        if source.bits < target.bits:
            return b(arith.ExtFOp(x, type))
        if source.bits > target.bits:
            return b(arith.TruncFOp(x, type))
        return b(arith.TruncFOp(b(arith.ExtFOp(x, element_type(F32))), type))
    signed = source.kind is Kind.SIGNED
    # Numbers in the range of 8 bit floats and of f16 are exact in f32, so that this rounds once; what is beyond stays beyond.
    middle = F32 if target.bits == 8 or target.name == "f16" else target
    found = b(arith.SIToFPOp(x, element_type(middle)) if signed else arith.UIToFPOp(x, element_type(middle)))
    return found if middle is target else b(arith.TruncFOp(found, type))


def _float_to_integer(b: LinalgBuilder, source: PtirDType, target: PtirDType, x: Value) -> Value:
    if source.bits < 32:
        x, source = b(arith.ExtFOp(x, element_type(F32))), F32
    type = element_type(target)
    signed = target.kind is Kind.SIGNED
    found = b(arith.FPToSIOp(x, type) if signed else arith.FPToUIOp(x, type))
    above = _compare_float(b, "oge", x, b.scalar(source, float(most(target) + 1)))
    below = _compare_float(b, "ole", x, b.scalar(source, float(least(target))))
    found = b(arith.SelectOp(above, b.integer(most(target), type), found))
    found = b(arith.SelectOp(below, b.integer(least(target), type), found))
    return b(arith.SelectOp(_compare_float(b, "uno", x, x), b.integer(0, type), found))


def _integer_to_integer(b: LinalgBuilder, source: PtirDType, target: PtirDType, x: Value) -> Value:
    type = element_type(source)
    signed = source.kind is Kind.SIGNED
    if least(source) < least(target):
        x = b(arith.MaxSIOp(x, b.integer(least(target), type)))
    if most(source) > most(target):
        x = b((arith.MinSIOp if signed else arith.MinUIOp)(x, b.integer(most(target), type)))
    return _resize(b, source, target, x)


def _resize(b: LinalgBuilder, source: PtirDType, target: PtirDType, x: Value) -> Value:
    """Bits added, by the sign of `source`, or dropped."""
    type: Any = element_type(target)
    if source.bits == target.bits:
        return x
    if source.bits > target.bits:
        return b(arith.TruncIOp(x, type))
    return b(arith.ExtSIOp(x, type) if source.kind is Kind.SIGNED else arith.ExtUIOp(x, type))


def wrap(b: LinalgBuilder, source: PtirDType, target: PtirDType, x: Value) -> Value:
    """An integer by its low bits."""
    return _resize(b, source, target, x)


def bitcast(b: LinalgBuilder, source: PtirDType, target: PtirDType, x: Value) -> Value:
    """The same bits; integers carry no sign in MLIR, so between them there is nothing to do."""
    type = element_type(target)
    return x if type == element_type(source) else b(arith.BitcastOp(x, type))


# Comparison

_FLOAT = {"less": "olt", "less_equal": "ole", "equal": "oeq", "greater_equal": "oge", "greater": "ogt", "not_equal": "une"}
_INTEGER = {"less": "lt", "less_equal": "le", "greater_equal": "ge", "greater": "gt"}


def _compare_float(b: LinalgBuilder, predicate: str, x: Value, y: Value) -> Value:
    return b(arith.CmpfOp(x, y, predicate))


def compare(b: LinalgBuilder, kind: str, dtype: PtirDType, x: Value, y: Value) -> Value:
    """Return whether `x kind y`, as i1; with NaN only `not_equal` holds."""
    if dtype.is_float:
        return _compare_float(b, _FLOAT[kind], x, y)
    if kind in ("equal", "not_equal"):
        return b(arith.CmpiOp(x, y, "eq" if kind == "equal" else "ne"))
    return b(arith.CmpiOp(x, y, ("s" if dtype.kind is Kind.SIGNED else "u") + _INTEGER[kind]))


# Arithmetic


def _in_f32(rule: Scalar, below: int = 32) -> Scalar:
    """A rule for floats of at least `below` bits, for all: others are widened, and the result rounded."""

    def widened(b: LinalgBuilder, dtype: PtirDType, x: list[Value]) -> Value:
        if not dtype.is_float or dtype.bits >= below:
            return rule(b, dtype, x)
        return cast(b, F32, dtype, rule(b, F32, [cast(b, dtype, F32, v) for v in x]))

    return widened


def _unary(kind: Callable[[Value], Operation]) -> Scalar:
    return _in_f32(lambda b, _dtype, x: b(kind(x[0])))


def _binary(floats: Any, integers: Any, unsigned: Any = None, truth: Any = None) -> Scalar:
    """The arith op for each kind of dtype; of integers one for both signs unless there are two."""
    by_kind = {Kind.FLOAT: floats, Kind.SIGNED: integers, Kind.UNSIGNED: unsigned or integers, Kind.BOOL: truth or integers}
    return _in_f32(lambda b, dtype, x: b(by_kind[dtype.kind](x[0], x[1])), below=16)


def _neg(b: LinalgBuilder, dtype: PtirDType, x: list[Value]) -> Value:
    if dtype.is_float:
        return b(arith.NegfOp(x[0]))
    return b(arith.SubiOp(b.scalar(dtype, 0), x[0]))


def _abs(b: LinalgBuilder, dtype: PtirDType, x: list[Value]) -> Value:
    """Of integers the greater of x and -x, which is x for the least of all."""
    if dtype.is_float:
        return b(math.AbsFOp(x[0]))
    return b(arith.MaxSIOp(x[0], _neg(b, dtype, x))) if dtype.kind is Kind.SIGNED else x[0]


def _reciprocal(b: LinalgBuilder, dtype: PtirDType, x: list[Value]) -> Value:
    return b(arith.DivfOp(b.scalar(dtype, 1.0), x[0]))


def _rsqrt(b: LinalgBuilder, dtype: PtirDType, x: list[Value]) -> Value:
    return b(arith.DivfOp(b.scalar(dtype, 1.0), b(math.SqrtOp(x[0]))))


def _sign(b: LinalgBuilder, dtype: PtirDType, x: list[Value]) -> Value:
    """Zeros and NaN stay as they are."""
    one, zero = (1.0, 0.0) if dtype.is_float else (1, 0)
    found = b(arith.SelectOp(compare(b, "greater", dtype, x[0], b.scalar(dtype, zero)), b.scalar(dtype, one), x[0]))
    if dtype.kind is Kind.UNSIGNED:
        return found
    return b(arith.SelectOp(compare(b, "less", dtype, x[0], b.scalar(dtype, zero)), b.scalar(dtype, -one), found))


def _logistic(b: LinalgBuilder, dtype: PtirDType, x: list[Value]) -> Value:
    """The exponential is of a number that is not positive, so it does not overflow."""
    one = b.scalar(dtype, 1.0)
    small = b(math.ExpOp(b(arith.NegfOp(b(math.AbsFOp(x[0]))))))
    upper = b(arith.SelectOp(compare(b, "less", dtype, x[0], b.scalar(dtype, 0.0)), small, one))
    return b(arith.DivfOp(upper, b(arith.AddfOp(one, small))))


def _not(b: LinalgBuilder, dtype: PtirDType, x: list[Value]) -> Value:
    return b(arith.XOrIOp(x[0], b.integer(-1 if dtype is not I1 else 1, element_type(dtype))))


def _divide(b: LinalgBuilder, dtype: PtirDType, x: list[Value]) -> Value:
    """Truncated division by what is not 0; by -1 it is the negation, as the least number over -1 is undefined in arith."""
    if dtype.is_float:
        return b(arith.DivfOp(x[0], x[1]))
    if dtype.kind is Kind.UNSIGNED:
        return b(arith.DivUIOp(x[0], x[1]))
    by_minus_one, safe = _safe_divisor(b, dtype, x[1])
    return b(arith.SelectOp(by_minus_one, _neg(b, dtype, x), b(arith.DivSIOp(x[0], safe))))


def _remainder(b: LinalgBuilder, dtype: PtirDType, x: list[Value]) -> Value:
    """As `_divide`; what division by -1 leaves is 0. Of integers only: this version of xDSL has no `arith.remf`."""
    if dtype.kind is Kind.UNSIGNED:
        return b(arith.RemUIOp(x[0], x[1]))
    by_minus_one, safe = _safe_divisor(b, dtype, x[1])
    return b(arith.SelectOp(by_minus_one, b.scalar(dtype, 0), b(arith.RemSIOp(x[0], safe))))


def _safe_divisor(b: LinalgBuilder, dtype: PtirDType, y: Value) -> tuple[Value, Value]:
    by_minus_one = compare(b, "equal", dtype, y, b.scalar(dtype, -1))
    return by_minus_one, b(arith.SelectOp(by_minus_one, b.scalar(dtype, 1), y))


def _shift(kind: Callable[[Value, Value], Operation], keeps_sign: bool) -> Scalar:
    """A shift; by the width or more, negative amounts included, all bits go, and the sign stays if it does."""

    def rule(b: LinalgBuilder, dtype: PtirDType, x: list[Value]) -> Value:
        type = element_type(dtype)
        inside = b(arith.CmpiOp(x[1], b.integer(dtype.bits, type), "ult"))
        amount = b(arith.SelectOp(inside, x[1], b.integer(dtype.bits - 1 if keeps_sign else 0, type)))
        shifted = b(kind(x[0], amount))
        return shifted if keeps_sign else b(arith.SelectOp(inside, shifted, b.integer(0, type)))

    return rule


def _popcount(b: LinalgBuilder, dtype: PtirDType, x: list[Value]) -> Value:
    """Count the set bits: sums of neighbours, twice as wide each time, as convert-math-to-libm refuses `math.ctpop`."""
    type, bits, found, width = element_type(dtype), dtype.bits, x[0], 1
    while width < bits:
        mask = sum(((1 << width) - 1) << place for place in range(0, bits, 2 * width))
        low = b(arith.AndIOp(found, b.integer(mask, type)))
        high = b(arith.AndIOp(b(arith.ShRUIOp(found, b.integer(width, type))), b.integer(mask, type)))
        found, width = b(arith.AddiOp(low, high)), 2 * width
    return found


def _leading_zeros(b: LinalgBuilder, dtype: PtirDType, x: list[Value]) -> Value:
    """Count the bits above the highest that is set: those that stay 0 when each bit is copied to all below it."""
    type, found, width = element_type(dtype), x[0], 1
    while width < dtype.bits:
        found = b(arith.OrIOp(found, b(arith.ShRUIOp(found, b.integer(width, type)))))
        width *= 2
    return _popcount(b, dtype, [b(arith.XOrIOp(found, b.integer(-1, type)))])


add = _binary(arith.AddfOp, arith.AddiOp)
sub = _binary(arith.SubfOp, arith.SubiOp)
mul = _binary(arith.MulfOp, arith.MuliOp)
div = _in_f32(_divide, below=16)
maximum = _binary(arith.MaximumfOp, arith.MaxSIOp, arith.MaxUIOp, arith.OrIOp)
minimum = _binary(arith.MinimumfOp, arith.MinSIOp, arith.MinUIOp, arith.AndIOp)


def clamp(b: LinalgBuilder, dtype: PtirDType, x: list[Value]) -> Value:
    """`min(max(x, lo), hi)`."""
    return minimum(b, dtype, [maximum(b, dtype, x[:2]), x[2]])


_MATH: dict[str, Any] = {op.name: op for op in math.Math.operations}
ARITHMETIC: Mapping[type[PtirOp], Scalar] = {
    **{ptir.OPS_BY_OPCODE[name]: _unary(_MATH[f"math.{row.mlir}"]) for name, row in UNARY.items() if row.mlir is not None},
    ptir.NegOp: _in_f32(_neg, below=16),
    ptir.AbsOp: _in_f32(_abs, below=16),
    ptir.RsqrtOp: _in_f32(_rsqrt),
    ptir.ReciprocalOp: _in_f32(_reciprocal),
    ptir.AddOp: add,
    ptir.SubOp: sub,
    ptir.MulOp: mul,
    ptir.DivOp: div,
    ptir.MaximumOp: maximum,
    ptir.MinimumOp: minimum,
    ptir.StopGradientOp: lambda b, dtype, x: x[0],
    ptir.ClampOp: clamp,
    ptir.Atan2Op: _in_f32(lambda b, dtype, x: b(math.Atan2Op(x[0], x[1]))),
    ptir.PopcountOp: _popcount,
    ptir.CountLeadingZerosOp: _leading_zeros,
    ptir.SignOp: _in_f32(_sign, below=16),
    ptir.LogisticOp: _in_f32(_logistic),
    ptir.NotOp: _not,
    ptir.PowOp: _in_f32(lambda b, dtype, x: b(math.PowFOp(x[0], x[1]))),
    ptir.RemainderOp: _remainder,
    ptir.AndOp: lambda b, dtype, x: b(arith.AndIOp(x[0], x[1])),
    ptir.OrOp: lambda b, dtype, x: b(arith.OrIOp(x[0], x[1])),
    ptir.XorOp: lambda b, dtype, x: b(arith.XOrIOp(x[0], x[1])),
    ptir.ShiftLeftOp: _shift(arith.ShLIOp, keeps_sign=False),
    ptir.ShiftRightArithmeticOp: _shift(arith.ShRSIOp, keeps_sign=True),
    ptir.ShiftRightLogicalOp: _shift(arith.ShRUIOp, keeps_sign=False),
}
"""Ops whose result has the dtype of their operands."""


def element(b: LinalgBuilder, op: PtirOp, x: list[Value]) -> Value:
    """Emit an elementwise op on an element of each operand."""
    dtype = op.operand_spec(0).dtype
    match op:
        case ptir.CompareOp():
            return _wide_compare(b, op.values()["kind"], dtype, x)
        case ptir.SelectOp():
            return b(arith.SelectOp(x[0], x[1], x[2]))
        case ptir.CastOp():
            return cast(b, dtype, op.result_spec().dtype, x[0])
        case ptir.BitcastOp():
            return bitcast(b, dtype, op.result_spec().dtype, x[0])
        case ptir.TruncateOp():
            return wrap(b, dtype, op.result_spec().dtype, x[0])
        case _:
            return ARITHMETIC[type(op)](b, dtype, x)


def _wide_compare(b: LinalgBuilder, kind: str, dtype: PtirDType, x: list[Value]) -> Value:
    if dtype.is_float and dtype.bits < 16:
        return compare(b, kind, F32, *[cast(b, dtype, F32, v) for v in x])
    return compare(b, kind, dtype, x[0], x[1])


ELEMENTWISE: frozenset[type[PtirOp]] = frozenset({*ARITHMETIC, ptir.CompareOp, ptir.SelectOp, ptir.CastOp, *ptir.CONVERSIONS})
"""Every op that `element` takes."""


Number = tuple[PtirDType, Value]
"""An element with its dtype."""


def quantized(b: LinalgBuilder, x: Number, scale: Number | None, zero_point: Number | None, target: PtirDType) -> Value:
    """The quotient in f32 or wider, rounded to even, plus the zero point, which is exact in f64, saturated to an integer."""
    wide = F64 if x[0] is F64 else F32
    quotient = cast(b, x[0], wide, x[1])
    if scale is not None:
        quotient = b(arith.DivfOp(quotient, cast(b, scale[0], wide, scale[1])))
    whole = cast(b, wide, F64, b(math.RoundEvenOp(quotient)))
    if zero_point is not None:
        whole = b(arith.AddfOp(whole, cast(b, zero_point[0], F64, zero_point[1])))
    return cast(b, F64, target, whole)


def dequantized(b: LinalgBuilder, x: Number, scale: Number | None, zero_point: Number | None, target: PtirDType) -> Value:
    """`(x - zero_point) * scale` in f64, rounded once."""
    found = cast(b, x[0], F64, x[1])
    if zero_point is not None:
        found = b(arith.SubfOp(found, cast(b, zero_point[0], F64, zero_point[1])))
    if scale is not None:
        found = b(arith.MulfOp(found, cast(b, scale[0], F64, scale[1])))
    return cast(b, F64, target, found)
