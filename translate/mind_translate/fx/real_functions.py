"""Rows of elementwise functions of two kinds: of real numbers beyond core ATen, and of divisors of integers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import F64, SI32, SI64, Kind, tensor_type

from ..erfc import erfc
from ..landing import INTEGER_KINDS
from ..unsupported import Refused
from .converter import AtenConverter, Call, Operand, Results, Table, wide
from .neighbours import signbit

_MANTISSA_BITS, _BIAS = 52, 1022
"""Of f64, where mantissas lie from 1/2 to 1."""


def _argument(to: AtenConverter, y: SSAValue, x: SSAValue) -> SSAValue:
    """The argument of the point (x, y); at the origin the derivatives are 0."""
    is_origin = to.emit(ptir.AndOp, *(to.compare("equal", v, 0.0) for v in (x, y)))
    kept = to.emit(ptir.StopGradientOp, x)
    found = to.emit(ptir.Atan2Op, y, to.select(is_origin, to.like(1.0, x), x))
    return to.select(is_origin, to.emit(ptir.Atan2Op, to.emit(ptir.StopGradientOp, y), kept), found)


def _atan2(to: AtenConverter, call: Call, y: SSAValue, x: SSAValue) -> SSAValue:
    return _argument(to, to.operand(call, y), to.operand(call, x))


def _angle(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
    """The argument of complex numbers; of real ones pi below 0, else 0, and NaN of NaN."""
    if to.dtype(x).kind is Kind.COMPLEX:
        return _argument(to, to.emit(ptir.ImagOp, x), to.emit(ptir.RealOp, x))
    x = to.cast(x, call.dtype)
    found = to.select(to.compare("less", x, 0.0), to.like(math.pi, x), to.like(0.0, x))
    return to.select(to.compare("equal", x, x), found, to.emit(ptir.StopGradientOp, x))


def _exp2(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
    x = to.cast(to.cast(x, call.dtype), wide(call.dtype))
    return to.cast(to.emit(ptir.PowOp, to.like(2, x), x), call.dtype)


def _hypot(to: AtenConverter, call: Call, x: SSAValue, y: SSAValue) -> SSAValue:
    """
    The root of the sum of squares, of numbers that are divided by the greater; infinite if one is, whatever the other.

    Great ones are divided by a 16th of it, so that cotangents times the divisor do not overflow.
    """
    x, y = (to.cast(to.operand(call, v), wide(call.dtype)) for v in (x, y))
    sizes = [to.emit(ptir.StopGradientOp, to.emit(ptir.AbsOp, v)) for v in (x, y)]
    scale = to.emit(ptir.MaximumOp, *sizes)
    is_plain = to.emit(ptir.AndOp, to.compare("greater", scale, 0.0), to.compare("less", scale, math.inf))
    scale = to.select(to.compare("greater", scale, 1.0), to.scaled(scale, 1 / 16), scale)
    scale = to.select(is_plain, scale, to.like(1.0, scale))
    first, second = (to.emit(ptir.DivOp, v, scale) for v in (x, y))
    squares = (to.emit(ptir.MulOp, v, v) for v in (first, second))
    found = to.emit(ptir.MulOp, scale, to.emit(ptir.SqrtOp, to.emit(ptir.AddOp, *squares)))
    is_infinite = to.emit(ptir.OrOp, *(to.compare("equal", size, math.inf) for size in sizes))
    return to.cast(to.select(is_infinite, to.like(math.inf, found), found), call.dtype)


def _fmod(to: AtenConverter, call: Call, x: Operand, y: Operand) -> SSAValue:
    """The remainder with the sign of the dividend; by 0 it is NaN, and its derivative by the divisor `-x / 0`."""
    is_known = not isinstance(y, SSAValue) and y != 0
    x, y = to.operand(call, x), to.operand(call, y)
    if is_known or not call.dtype.is_float:
        return to.emit(ptir.RemainderOp, x, y)
    is_zero, one = to.compare("equal", y, 0.0), to.like(1.0, y)
    rest = to.emit(ptir.RemainderOp, x, to.select(is_zero, one, y))
    dividend, divisor = to.select(is_zero, x, to.like(0.0, x)), to.select(is_zero, y, one)
    quotient = to.emit(ptir.StopGradientOp, to.emit(ptir.DivOp, dividend, divisor))
    return to.select(is_zero, to.emit(ptir.SubOp, dividend, to.emit(ptir.MulOp, quotient, divisor)), rest)


def _remainder(to: AtenConverter, call: Call, x: Operand, y: Operand) -> SSAValue:
    """The remainder with the sign of the divisor."""
    rest, y = _fmod(to, call, x, y), to.operand(call, y)
    signs_differ = to.emit(ptir.XorOp, to.compare("less", rest, 0), to.compare("less", y, 0))
    moves = to.emit(ptir.AndOp, to.compare("not_equal", rest, 0), signs_differ)
    return to.select(moves, to.emit(ptir.AddOp, rest, y), rest)


def _erfc(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
    return erfc(to, to.cast(x, call.dtype))


def _round_decimals(to: AtenConverter, call: Call, x: SSAValue, decimals: int) -> SSAValue:
    """A whole number of steps of `10 ** -decimals`, ties to the even one."""
    if not call.dtype.is_float:
        raise Refused("integers rounded to decimals", "divide, round and multiply")
    step, wider = 10.0 ** abs(decimals), to.cast(x, wide(call.dtype))
    there, back = (ptir.DivOp, ptir.MulOp) if decimals < 0 else (ptir.MulOp, ptir.DivOp)
    return to.cast(to.math(back, to.emit(ptir.RoundOp, to.math(there, wider, step)), step), call.dtype)


def _copysign(to: AtenConverter, call: Call, x: SSAValue, y: Operand) -> SSAValue:
    """The magnitude of `x` with the sign of `y`, also of -0."""
    size = to.emit(ptir.AbsOp, to.operand(call, x))
    if not isinstance(y, SSAValue):
        return to.emit(ptir.NegOp, size) if math.copysign(1.0, y.real) < 0 else size
    negative = to.broadcast(signbit(to, y), call.shape)
    return to.select(negative, to.emit(ptir.NegOp, size), size)


def _frexp(to: AtenConverter, call: Call, x: SSAValue) -> Results:
    """A mantissa from 1/2 to 1 and the power of 2 that it is multiplied by; 0, infinities and NaN stay, with a power of 0."""
    number = to.cast(x, F64)
    size = to.emit(ptir.StopGradientOp, to.emit(ptir.AbsOp, number))
    is_plain = to.emit(ptir.AndOp, to.compare("greater", size, 0.0), to.compare("less", size, math.inf))
    is_small = to.compare("less", size, 2.0**-1022)
    size = to.select(is_small, to.math(ptir.MulOp, size, 2.0**54), size)
    power = to.cast(to.math(ptir.ShiftRightLogicalOp, to.bits(size, SI64), _MANTISSA_BITS), SI64)
    power = to.math(ptir.SubOp, power, _BIAS)
    power = to.select(is_small, to.math(ptir.SubOp, power, 54), power)
    power = to.select(is_plain, power, to.like(0, power))
    half = to.math(ptir.ShiftRightArithmeticOp, power, 1)
    for part in (half, to.emit(ptir.SubOp, power, half)):  # a power of 2 each that f64 has
        bits = to.math(ptir.ShiftLeftOp, to.math(ptir.SubOp, to.like(1023, part), part), _MANTISSA_BITS)
        number = to.emit(ptir.MulOp, number, to.bits(bits, F64))
    return to.cast(number, call.dtype), to.cast(power, SI32)


def _divisor(to: AtenConverter, call: Call, x: SSAValue, y: SSAValue) -> SSAValue:
    """The greatest common divisor by Euclid's algorithm, all pairs at once until the last one is done."""
    if call.dtype.kind not in INTEGER_KINDS:
        raise Refused(f"a common divisor of {call.dtype}")
    first, second = (to.operand(call, v) for v in (x, y))
    if call.dtype.kind is Kind.SIGNED:
        first, second = (to.emit(ptir.AbsOp, v) for v in (first, second))
    types = [tensor_type(*to.spec(first))] * 2

    def goes_on(pair: Sequence[SSAValue]) -> list[SSAValue]:
        left = to.cast(to.compare("not_equal", pair[1], 0), SI32)
        count = to.emit(ptir.ReduceOp, left, kind="max", axes=tuple(range(len(call.shape))), keepdims=False)
        return [to.compare("greater", count if call.shape else left, 0), *pair]

    def step(pair: Sequence[SSAValue]) -> list[SSAValue]:
        a, b = pair
        is_done = to.compare("equal", b, 0)
        rest = to.emit(ptir.RemainderOp, a, to.select(is_done, to.like(1, b), b))
        return [to.select(is_done, a, b), to.select(is_done, b, rest)]

    if 0 in call.shape:
        return first
    return to.add(ptir.WhileOp(first, second, cond=to.region(types, goes_on), body=to.region(types, step))).results[0]


def _multiple(to: AtenConverter, call: Call, x: SSAValue, y: SSAValue) -> SSAValue:
    """The least common multiple, not negative; 0 of 0."""
    divisor = _divisor(to, call, x, y)
    safe = to.select(to.compare("equal", divisor, 0), to.like(1, divisor), divisor)
    found = to.emit(ptir.MulOp, to.emit(ptir.DivOp, to.operand(call, x), safe), to.operand(call, y))
    return to.emit(ptir.AbsOp, found) if call.dtype.kind is Kind.SIGNED else found


REAL_FUNCTIONS: Table = {
    "angle.default": _angle,
    "atan2.default": _atan2,
    "copysign.Scalar": _copysign,
    "copysign.Tensor": _copysign,
    "erfc.default": _erfc,
    "exp2.default": _exp2,
    "frexp.Tensor": _frexp,
    **{f"fmod.{overload}": _fmod for overload in ("Tensor", "Scalar")},
    "gcd.default": _divisor,
    "hypot.default": _hypot,
    "lcm.default": _multiple,
    **{f"remainder.{overload}": _remainder for overload in ("Tensor", "Scalar", "Scalar_Tensor")},
    "round.decimals": _round_decimals,
}
