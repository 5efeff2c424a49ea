"""Elementwise ops that take several operators: accurate functions, integer division, shifts and casts as PTIR defines them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import F32, F64, I1, SI32, SI64, Kind, PtirDType

from .builder import ARRAYS, EVERY, NUMBERS, STORED, OnnxBuilder, Rule

UNSIGNED = {SI32: 12, SI64: 13}
"""`TensorProto.DataType` of the unsigned integers of as many bits."""


def number(b: OnnxBuilder, value: Any, dtype: PtirDType) -> str:
    """Return a scalar, which ONNX broadcasts."""
    return b.constant(np.array(value, ARRAYS[dtype]))


def is_nan(b: OnnxBuilder, x: str) -> str:
    """`x != x`, for every dtype of floats."""
    return b("Not", b("Equal", x, x))


def _dtype(op: Any) -> PtirDType:
    return op.operand_spec(0).dtype


def _expm1(b: OnnxBuilder, op: Any, x: list[str]) -> str:
    """`tanh(x / 2) * (exp(x) + 1)`, which loses nothing near 0."""
    dtype = _dtype(op)
    half = b("Tanh", b("Mul", x[0], number(b, 0.5, dtype)))
    return b("Mul", half, b("Add", b("Exp", x[0]), number(b, 1, dtype)))


def _log1p(b: OnnxBuilder, op: Any, x: list[str]) -> str:
    """`log(u) * x / (u - 1)` for `u = 1 + x` (Goldberg: What every computer scientist should know; 1991, theorem 4)."""
    dtype = _dtype(op)
    one = number(b, 1, dtype)
    u = b("Add", x[0], one)
    found = b("Mul", b("Log", u), b("Div", x[0], b("Sub", u, one)))
    same = b("Or", b("Equal", u, one), b("Equal", u, number(b, np.inf, dtype)))
    return b("Where", same, x[0], found)


def _cbrt(b: OnnxBuilder, op: Any, x: list[str]) -> str:
    """A power, and one step of Newton's method for the bits that its exponent lacks."""
    dtype = _dtype(op)
    size = b("Abs", x[0])
    y = b("Pow", size, number(b, 1 / 3, dtype))
    step = b("Div", b("Sub", y, b("Div", size, b("Mul", y, y))), number(b, 3, dtype))
    root = b("Mul", b("Sign", x[0]), b("Sub", y, step))
    special = b("Or", b("Equal", size, number(b, 0, dtype)), b("Equal", size, number(b, np.inf, dtype)))
    return b("Where", special, x[0], root)


def _round_away(b: OnnxBuilder, op: Any, x: list[str]) -> str:
    """The floor of the magnitude, one more from a half on, with the sign of `x`."""
    dtype = _dtype(op)
    size, zero = b("Abs", x[0]), number(b, 0, dtype)
    floor = b("Floor", size)
    up = b("GreaterOrEqual", b("Sub", size, floor), number(b, 0.5, dtype))
    rounded = b("Add", floor, b("Where", up, number(b, 1, dtype), zero))
    return b("Where", b("Equal", x[0], zero), x[0], b("Where", b("Less", x[0], zero), b("Neg", rounded), rounded))


def _is_negative(b: OnnxBuilder, x: str, dtype: PtirDType) -> str:
    """The sign of a float, -0 included."""
    zero = number(b, 0, dtype)
    return b("Or", b("Less", x, zero), b("Less", b("Reciprocal", x), zero))


def _atan2(b: OnnxBuilder, op: Any, x: list[str]) -> str:
    """The arc tangent of the smaller magnitude over the larger one, moved to its octant."""
    dtype = _dtype(op)
    down, along = (b("Abs", v) for v in x)
    small, large = b("Min", down, along), b("Max", down, along)
    equal = b("Equal", small, large)
    both_zero = b("Equal", large, number(b, 0, dtype))
    ratio = b("Where", equal, number(b, 1, dtype), b("Div", small, large))
    angle = b("Atan", b("Where", both_zero, number(b, 0, dtype), ratio))
    angle = b("Where", b("Greater", down, along), b("Sub", number(b, np.pi / 2, dtype), angle), angle)
    angle = b("Where", _is_negative(b, x[1], dtype), b("Sub", number(b, np.pi, dtype), angle), angle)
    angle = b("Where", _is_negative(b, x[0], dtype), b("Neg", angle), angle)
    return b("Where", b("Or", is_nan(b, x[0]), is_nan(b, x[1])), b("Add", x[0], x[1]), angle)


def _division(b: OnnxBuilder, op: Any, x: list[str]) -> str:
    """Integers: the divisors 0 and -1 may trap, so neither is divided by; PTIR rejects 0 (E8004), here the result is `x`."""
    dtype = _dtype(op)
    if dtype in (F32, F64):
        return b("Div", *x)
    minus = b("Equal", x[1], number(b, -1, dtype))
    return b("Where", minus, b("Neg", x[0]), b("Div", x[0], _safe(b, x[1], minus, dtype)))


def _safe(b: OnnxBuilder, divisor: str, minus: str, dtype: PtirDType) -> str:
    trap = b("Or", minus, b("Equal", divisor, number(b, 0, dtype)))
    return b("Where", trap, number(b, 1, dtype), divisor)


def _remainder(b: OnnxBuilder, op: Any, x: list[str]) -> str:
    """With the sign of the dividend, as C's `fmod`; integers divide as `_division` does."""
    dtype = _dtype(op)
    if dtype in (F32, F64):
        return b("Mod", *x, fmod=1)
    return b("Mod", x[0], _safe(b, x[1], b("Equal", x[1], number(b, -1, dtype)), dtype), fmod=1)


def _bits(logical: str, bitwise: str) -> Rule:
    return lambda b, op, x: b(logical if _dtype(op) is I1 else bitwise, *x)


def _shift(direction: str, *, arithmetic: bool = False) -> Rule:
    """ONNX shifts unsigned integers, to and from which a cast keeps the bits."""

    def rule(b: OnnxBuilder, op: Any, x: list[str]) -> str:
        dtype = _dtype(op)
        wide, own, least = UNSIGNED[dtype], NUMBERS[dtype], number(b, 0, dtype)
        most = number(b, dtype.bits, dtype)
        outside = b("Not", b("And", b("GreaterOrEqual", x[1], least), b("Less", x[1], most)))
        amount = b("Cast", b("Where", outside, least, x[1]), to=wide)
        negative = b("Less", x[0], least)
        given = b("Where", negative, b("BitwiseNot", x[0]), x[0]) if arithmetic else x[0]
        shifted = b("Cast", b("BitShift", b("Cast", given, to=wide), amount, direction=direction), to=own)
        shifted = b("Where", outside, least, shifted)
        return b("Where", negative, b("BitwiseNot", shifted), shifted) if arithmetic else shifted

    return rule


def cast(b: OnnxBuilder, op: Any, x: list[str]) -> str:
    """Integers saturate and NaN becomes 0, where a cast of ONNX keeps low bits, or leaves the result open."""
    source, to = op.operand_spec(0).dtype, op.result_spec().dtype
    if to not in (SI32, SI64) or source not in EVERY or source in (to, I1, SI32):
        return b("Cast", x[0], to=NUMBERS[to])
    least, most = (getattr(np.iinfo(ARRAYS[to]), name) for name in ("min", "max"))
    if source is SI64:
        clamped = b("Min", b("Max", x[0], number(b, least, SI64)), number(b, most, SI64))
        return b("Cast", clamped, to=NUMBERS[to])
    low, high = (number(b, value, source) for value in (float(least), float(most + 1)))
    below, above = b("Less", x[0], low), b("GreaterOrEqual", x[0], high)
    inside = b("Cast", b("Where", b("Or", b("Or", below, above), is_nan(b, x[0])), number(b, 0, source), x[0]), to=NUMBERS[to])
    return b("Where", below, number(b, least, to), b("Where", above, number(b, most, to), inside))


def _truncate(b: OnnxBuilder, op: Any, x: list[str]) -> str:
    return b("Cast", x[0], to=NUMBERS[op.result_spec().dtype])


def _select(b: OnnxBuilder, op: Any, x: list[str]) -> str:
    """ONNX Runtime selects no truth values."""
    if op.operand_spec(1).dtype is not I1:
        return b("Where", *x)
    return b("Or", b("And", x[0], x[1]), b("And", b("Not", x[0]), x[2]))


_FLOATS = frozenset({F32, F64})
_INTEGERS = frozenset({SI32, SI64})
_NUMERIC = _FLOATS | _INTEGERS
_BITS = _INTEGERS | {I1}
RULES: Mapping[type[PtirOp], tuple[Rule, frozenset[PtirDType]]] = {
    ptir.Expm1Op: (_expm1, _FLOATS),
    ptir.Log1pOp: (_log1p, _FLOATS),
    ptir.CbrtOp: (_cbrt, _FLOATS),
    ptir.RoundAwayOp: (_round_away, _FLOATS),
    ptir.Atan2Op: (_atan2, frozenset({F32})),
    ptir.DivOp: (_division, _NUMERIC),
    ptir.RemainderOp: (_remainder, _NUMERIC),
    ptir.NotOp: (_bits("Not", "BitwiseNot"), _BITS),
    ptir.AndOp: (_bits("And", "BitwiseAnd"), _BITS),
    ptir.OrOp: (_bits("Or", "BitwiseOr"), _BITS),
    ptir.XorOp: (_bits("Xor", "BitwiseXor"), _BITS),
    ptir.ShiftLeftOp: (_shift("LEFT"), _INTEGERS),
    ptir.ShiftRightArithmeticOp: (_shift("RIGHT", arithmetic=True), _INTEGERS),
    ptir.ShiftRightLogicalOp: (_shift("RIGHT"), _INTEGERS),
    ptir.CastOp: (cast, STORED),
    ptir.TruncateOp: (_truncate, frozenset(d for d in STORED if d.kind in (Kind.SIGNED, Kind.UNSIGNED))),
    ptir.SelectOp: (_select, _NUMERIC | {I1}),
}
