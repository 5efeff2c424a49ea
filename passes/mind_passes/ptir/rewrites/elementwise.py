"""
Rewrites of elementwise ops.

What stands here unmarked is true for every element of every legal dtype, NaN, infinities, both zeros and wrapping integers
included; a NaN's sign and payload do not count. `FAST` rules treat floats as real numbers and need `fast-math`.
"""

from __future__ import annotations

import math
from math import frexp
from typing import Any, cast

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.elements import UnfitError
from mind_dialect.ptir.types import Kind, PtirDType

from ..building import Found, fill, in_place_of, is_all, spec_of, uniform

REAL = (Kind.SIGNED, Kind.UNSIGNED, Kind.FLOAT)
INTEGERS = (Kind.SIGNED, Kind.UNSIGNED)


def _dtype(op: ptir.PtirOp) -> PtirDType:
    return spec_of(op.results[0]).dtype


def _neutral_zero(dtype: PtirDType) -> float:
    """Return the zero that added to any number leaves it as it is: of the two float zeros, -0."""
    return 0 if dtype.kind in INTEGERS else -0.0


def _inside(value: SSAValue, cls: type[ptir.UnaryOp]) -> SSAValue | None:
    """`x`, where `value` is `cls(x)`."""
    return value.owner.x if isinstance(value.owner, cls) else None


def add_zero(op: ptir.AddOp) -> Found:
    """`x + 0 = x` and `0 + x = x` for integers, `x + -0 = x` for floats and complex numbers. `-0 + +0` is +0: that one stays."""
    zero = _neutral_zero(_dtype(op))
    return op.lhs if is_all(op.rhs, zero) else op.rhs if is_all(op.lhs, zero) else None


def sub_zero(op: ptir.SubOp) -> Found:
    """`x - +0 = x`. Always; `-0 - -0` is +0, so that -0 does not do."""
    return op.lhs if is_all(op.rhs, 0) else None


def mul_one(op: ptir.MulOp) -> Found:
    """`x * 1 = x` and `1 * x = x`, for integers and floats. A complex infinity times `1 + 0i` has a NaN."""
    if _dtype(op).kind not in REAL:
        return None
    return op.lhs if is_all(op.rhs, 1) else op.rhs if is_all(op.lhs, 1) else None


def div_one(op: ptir.DivOp) -> Found:
    """`x / 1 = x`, for integers and floats."""
    return op.lhs if _dtype(op).kind in REAL and is_all(op.rhs, 1) else None


def div_power_of_two(op: ptir.DivOp) -> Found:
    """
    `x / c = x * (1 / c)`, for floats, where c is a power of two whose reciprocal the dtype holds exactly.

    Both sides round the same real number once, underflow and overflow included.
    """
    dtype, shape = spec_of(op.results[0])
    number = uniform(op.rhs) if dtype.kind is Kind.FLOAT else None
    if number is None or abs(frexp(number.real)[0]) != 0.5 or any(isinstance(d, str) for d in shape):
        return None
    try:
        reciprocal = dtype.element.check(1 / number)
    except UnfitError:
        return None
    if reciprocal != 1 / number:
        return None
    return in_place_of(op, ptir.MulOp, op.lhs, fill(op, dtype, cast(tuple[int, ...], shape), reciprocal).result)


def mul_zero(op: ptir.MulOp) -> Found:
    """`x * 0 = 0`, for integers. Of floats, NaN, infinities and negative numbers give something else."""
    return _mul_zero(op) if _dtype(op).kind in INTEGERS else None


def _mul_zero(op: ptir.MulOp) -> Found:
    return op.rhs if is_all(op.rhs, 0) else op.lhs if is_all(op.lhs, 0) else None


def mul_minus_one(op: ptir.MulOp) -> Found:
    """`x * -1 = -x`, for floats and signed integers: the least integer is its own negative both ways."""
    if _dtype(op).kind not in (Kind.SIGNED, Kind.FLOAT):
        return None
    x = op.lhs if is_all(op.rhs, -1) else op.rhs if is_all(op.lhs, -1) else None
    return None if x is None else in_place_of(op, ptir.NegOp, x)


def neg_neg(op: ptir.NegOp) -> Found:
    """`-(-x) = x`. Always: integers wrap."""
    return _inside(op.x, ptir.NegOp)


def odd_function(op: ptir.UnaryOp) -> Found:
    """
    `f(-x) = -f(x)`, for erf, its inverse, tanh, sin and cbrt of real numbers.

    Executors compute them by the magnitude and the sign, so that this holds bit for bit, of zeros and infinities too.
    """
    x = _inside(op.x, ptir.NegOp) if _dtype(op).kind is Kind.FLOAT else None
    return None if x is None else in_place_of(op, ptir.NegOp, in_place_of(op, type(op), x).result)


def even_function(op: ptir.CosOp) -> Found:
    """`cos(-x) = cos(x)`, of real numbers."""
    x = _inside(op.x, ptir.NegOp) if _dtype(op).kind is Kind.FLOAT else None
    return None if x is None else in_place_of(op, ptir.CosOp, x)


def neg_of_scaled(op: ptir.MulOp | ptir.DivOp) -> Found:
    """`-x * c = -(x * c)` and `-x / c = -(x / c)`, for floats and a constant c."""
    x = _inside(op.lhs, ptir.NegOp) if _dtype(op).kind is Kind.FLOAT else None
    if x is None or uniform(op.rhs) is None:
        return None
    return in_place_of(op, ptir.NegOp, in_place_of(op, type(op), x, op.rhs).result)


def add_neg(op: ptir.AddOp) -> Found:
    """`x + -y = x - y` and `-y + x = x - y`. Always: that is what subtraction is, in IEEE 754 and with wrapping integers."""
    if (y := _inside(op.rhs, ptir.NegOp)) is not None:
        return in_place_of(op, ptir.SubOp, op.lhs, y)
    y = _inside(op.lhs, ptir.NegOp)
    return None if y is None else in_place_of(op, ptir.SubOp, op.rhs, y)


def sub_neg(op: ptir.SubOp) -> Found:
    """`x - -y = x + y`. Always."""
    y = _inside(op.rhs, ptir.NegOp)
    return None if y is None else in_place_of(op, ptir.AddOp, op.lhs, y)


def sub_from_zero(op: ptir.SubOp) -> Found:
    """`0 - x = -x` for integers, `-0 - x = -x` for floats and complex numbers; `+0 - +0` is +0, not -0."""
    return in_place_of(op, ptir.NegOp, op.rhs) if is_all(op.lhs, _neutral_zero(_dtype(op))) else None


def sub_self(op: ptir.SubOp) -> Found:
    """`x - x = 0`, for integers; of floats, infinities and NaN give NaN."""
    return _zero(op) if op.lhs is op.rhs and _dtype(op).kind in INTEGERS else None


def _zero(op: ptir.PtirOp) -> Found:
    """Zeros in the place of `op`; None where its shape is dynamic."""
    dtype = spec_of(op.results[0]).dtype
    return _all(op, dtype.element.unpack(bytes(dtype.size))[0])


def _all(op: ptir.PtirOp, value: Any) -> Found:
    """One number in the place of all elements of `op`; None where its shape is dynamic."""
    dtype, shape = spec_of(op.results[0])
    if any(isinstance(d, str) for d in shape):
        return None
    return fill(op, dtype, cast(tuple[int, ...], shape), value)


def abs_of_sign(op: ptir.AbsOp) -> Found:
    """`|(|x|)| = |x|`, and `|-x| = |x|` but for unsigned integers, whose negative is another number."""
    if isinstance(op.x.owner, ptir.AbsOp):
        return op.x
    x = _inside(op.x, ptir.NegOp) if _dtype(op).kind is not Kind.UNSIGNED else None
    return None if x is None else in_place_of(op, ptir.AbsOp, x)


def idempotent(op: ptir.UnaryOp) -> Found:
    """`f(f(x)) = f(x)`, for what rounds, takes the sign or stops gradients; the sign of a complex number is itself rounded."""
    is_rounded = isinstance(op, ptir.SignOp) and _dtype(op).kind is Kind.COMPLEX
    return op.x if isinstance(op.x.owner, type(op)) and not is_rounded else None


def not_not(op: ptir.NotOp) -> Found:
    """`~~x = x`. Always."""
    return _inside(op.x, ptir.NotOp)


_OPPOSITE = dict(zip(ptir.CompareOp.KINDS, ("greater_equal", "greater", "not_equal", "less", "less_equal", "equal"), strict=True))


def not_compare(op: ptir.NotOp) -> Found:
    """`not (x < y) = x >= y` and so on, without NaN; `not (x == y) = x != y` and back, for every dtype."""
    test = op.x.owner
    if not isinstance(test, ptir.CompareOp):
        return None
    kind = test.values()["kind"]
    exact = kind in ("equal", "not_equal") or spec_of(test.lhs).dtype.kind is not Kind.FLOAT
    return in_place_of(op, ptir.CompareOp, *test.operands, kind=_OPPOSITE[kind]) if exact else None


def compare_self(op: ptir.CompareOp) -> Found:
    """`x == x = true`, `x < x = false` and so on. Not for floats and complex numbers: NaN is not equal to itself."""
    if op.lhs is not op.rhs or spec_of(op.lhs).dtype.kind in (Kind.FLOAT, Kind.COMPLEX):
        return None
    return _all(op, op.values()["kind"] in ("equal", "less_equal", "greater_equal"))


def same_operands(op: ptir.BinaryOp) -> Found:
    """`max(x, x) = x`, likewise min, and, or. Always."""
    return op.lhs if op.lhs is op.rhs else None


def extreme_of_end(op: ptir.MaximumOp | ptir.MinimumOp) -> Found:
    """`max(x, -inf) = x` for floats, `max(x, n) = x` for integers, none of which is less than `n`; likewise min."""
    dtype, sign = _dtype(op), -1 if isinstance(op, ptir.MaximumOp) else 1
    if dtype.kind is Kind.FLOAT:
        end: float = sign * math.inf
    elif dtype.kind in INTEGERS:
        least = -(1 << (dtype.bits - 1)) if dtype.kind is Kind.SIGNED else 0
        end = least if sign < 0 else least + (1 << dtype.bits) - 1
    else:
        return None
    return op.lhs if is_all(op.rhs, end) else op.rhs if is_all(op.lhs, end) else None


def xor_self(op: ptir.XorOp) -> Found:
    """`x ^ x = 0`. Always."""
    return _zero(op) if op.lhs is op.rhs else None


def _ones(dtype: PtirDType) -> int:
    """The number all of whose bits are set."""
    return (1 << dtype.bits) - 1 if dtype.kind is not Kind.SIGNED else -1


def bitwise_zero(op: ptir.OrOp | ptir.XorOp) -> Found:
    """`x | 0 = x` and `x ^ 0 = x`. Always."""
    return op.lhs if is_all(op.rhs, 0) else op.rhs if is_all(op.lhs, 0) else None


def and_ones(op: ptir.AndOp) -> Found:
    """`x & ~0 = x`. Always."""
    ones = _ones(_dtype(op))
    return op.lhs if is_all(op.rhs, ones) else op.rhs if is_all(op.lhs, ones) else None


def and_zero(op: ptir.AndOp) -> Found:
    """`x & 0 = 0`. Always."""
    return op.rhs if is_all(op.rhs, 0) else op.lhs if is_all(op.lhs, 0) else None


def or_ones(op: ptir.OrOp) -> Found:
    """`x | ~0 = ~0`. Always."""
    ones = _ones(_dtype(op))
    return op.rhs if is_all(op.rhs, ones) else op.lhs if is_all(op.lhs, ones) else None


def shift_nothing(op: ptir.BinaryOp) -> Found:
    """`x << 0 = x`, likewise to the right. Always."""
    return op.lhs if is_all(op.rhs, 0) else None


def select_equal(op: ptir.SelectOp) -> Found:
    """`p ? x : x = x`. Always."""
    return op.on_true if op.on_true is op.on_false else None


def select_known(op: ptir.SelectOp) -> Found:
    """`true ? x : y = x` and `false ? x : y = y`. Always."""
    truth = uniform(op.pred)
    return None if truth is None else op.on_true if truth else op.on_false


def select_not(op: ptir.SelectOp) -> Found:
    """`not p ? x : y = p ? y : x`. Always."""
    p = _inside(op.pred, ptir.NotOp)
    return None if p is None else in_place_of(op, ptir.SelectOp, p, op.on_false, op.on_true)


def select_truths(op: ptir.SelectOp) -> Found:
    """`p ? true : false = p`. Always."""
    return op.pred if _dtype(op).kind is Kind.BOOL and is_all(op.on_true, 1) and is_all(op.on_false, 0) else None


# With fast-math


def fast_add_zero(op: ptir.AddOp) -> Found:
    """`x + 0 = x`, which turns -0 into +0."""
    return op.lhs if _is_zero(op.rhs) else op.rhs if _is_zero(op.lhs) else None


def fast_sub_zero(op: ptir.SubOp) -> Found:
    """`x - 0 = x` and `0 - x = -x`, but for the sign of zero."""
    return op.lhs if _is_zero(op.rhs) else in_place_of(op, ptir.NegOp, op.rhs) if _is_zero(op.lhs) else None


def _is_zero(value: SSAValue) -> bool:
    return uniform(value) == 0


def fast_mul_zero(op: ptir.MulOp) -> Found:
    """`x * 0 = 0`, but for NaN, infinities and the sign of zero."""
    return op.rhs if _is_zero(op.rhs) else op.lhs if _is_zero(op.lhs) else None


def fast_sub_self(op: ptir.SubOp) -> Found:
    """`x - x = 0`, but for NaN and infinities."""
    return _zero(op) if op.lhs is op.rhs else None


def fast_div_constant(op: ptir.DivOp) -> Found:
    """`x / c = x * (1 / c)`, for a finite c other than 0, but for the last digits."""
    dtype, shape = spec_of(op.results[0])
    number = uniform(op.rhs) if dtype.kind is Kind.FLOAT else None
    if not number or number - number != 0 or any(isinstance(d, str) for d in shape):
        return None
    try:
        reciprocal = dtype.element.check(1 / number)
    except (UnfitError, OverflowError):
        return None
    if reciprocal == 0:
        return None
    return in_place_of(op, ptir.MulOp, op.lhs, fill(op, dtype, cast(tuple[int, ...], shape), reciprocal).result)
