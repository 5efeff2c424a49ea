"""
Rows of ops that work element by element; in bodies of reductions they run on whole arrays, so no row looks at the stated shape.

i1 has no arithmetic in PTIR; StableHLO defines add and maximum as or, multiply and minimum as and. Division by zero is defined
in StableHLO (all ones; the remainder is the dividend), but an error in PTIR, so divisors are guarded unless they are known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.errors import error
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.scalars import BINARY, UNARY, ScalarFunction
from mind_dialect.ptir.types import BF16, F8E4M3, F8E5M2, F16, F32, F64, I1, SI32, Kind, PtirDType, dtype_named, part_of

from ..landing import INTEGER_KINDS, Lander
from ..unsupported import Refused
from .complex_functions import turned
from .converter import StablehloConverter, StablehloRow, Values
from .foreign import ForeignOp


def _named(table: Mapping[str, ScalarFunction]) -> dict[str, type[PtirOp]]:
    """The ops of a table by their names in StableHLO."""
    return {row.stablehlo: ptir.OPS_BY_OPCODE[opcode] for opcode, row in table.items() if row.stablehlo is not None}


_UNARY = {"popcnt": ptir.PopcountOp} | {name: op for name, op in _named(UNARY).items() if not name.startswith("chlo.")}
_BINARY = _named(BINARY)
_OF_TRUTHS: Mapping[str, type[PtirOp]] = {
    "add": ptir.OrOp,
    "maximum": ptir.OrOp,
    "minimum": ptir.AndOp,
    "multiply": ptir.AndOp,
    "subtract": ptir.XorOp,
}
DIRECTIONS = {"EQ": "equal", "NE": "not_equal", "LT": "less", "LE": "less_equal", "GT": "greater", "GE": "greater_equal"}
COMPARE_TYPES = ("FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED", "NOTYPE")


def unary(op_type: type[PtirOp]) -> StablehloRow:
    """Return the row of an op of one operand."""
    return lambda to, op: to.emit(op_type, op.operands[0])


def _binary(name: str) -> StablehloRow:
    return lambda to, op: combine(to, name, op.operands[0], op.operands[1])


def combine(to: StablehloConverter, name: str, x: SSAValue, y: SSAValue) -> SSAValue:
    """The row of a binary op of StableHLO, by its name, on two values."""
    return to.emit(_OF_TRUTHS.get(name, _BINARY[name]) if to.is_truth(x) else _BINARY[name], x, y)


def _abs(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    x = op.operands[0]
    return x if to.dtype(x).kind is Kind.UNSIGNED else to.emit(ptir.AbsOp, x)


def _sign(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    x = op.operands[0]
    return to.emit(ptir.MinimumOp, x, to.like(1, x)) if to.dtype(x).kind is Kind.UNSIGNED else to.emit(ptir.SignOp, x)


_complex_tangent = turned(lambda to, z: to.emit(ptir.TanhOp, z))


def tangent(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    """`sin(x) / cos(x)`; of complex numbers `-i tanh(i x)`, since their sine and cosine overflow where the tangent is finite."""
    x = op.operands[0]
    if to.dtype(x).kind is Kind.COMPLEX:
        return _complex_tangent(to, x)
    return to.emit(ptir.DivOp, to.emit(ptir.SinOp, x), to.emit(ptir.CosOp, x))


def _is_finite(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    x = op.operands[0]
    if to.dtype(x) is F8E4M3:  # has no infinities
        return to.compare("equal", x, x)
    return to.compare("less", to.emit(ptir.AbsOp, x), math.inf)


def _divide(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    return guarded(to, ptir.DivOp, op.operands[0], op.operands[1])


def _remainder(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    return guarded(to, ptir.RemainderOp, op.operands[0], op.operands[1])


def guarded(to: Lander, op_type: type[PtirOp], x: SSAValue, y: SSAValue) -> SSAValue:
    """x / y, or the remainder. `x / 0 = -1` and `x % 0 = x` for integers, -1 being all ones."""
    dtype, known = to.dtype(x), to.known(y)
    if dtype.kind not in INTEGER_KINDS or (known is not None and all(v != 0 for v in known)):
        return to.emit(op_type, x, y)
    is_zero = to.compare("equal", y, 0)
    found = to.emit(op_type, x, to.select(is_zero, to.like(1, y), y))
    ones = -1 if dtype.kind is Kind.SIGNED else (1 << dtype.bits) - 1
    return to.select(is_zero, x if op_type is ptir.RemainderOp else to.like(ones, x), found)


def _power(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    return power(to, *op.operands)


def power(to: Lander, x: SSAValue, y: SSAValue) -> SSAValue:
    """`x ** y`, of integers wrapping; negative powers of 0 are -1, as division by 0 is."""
    dtype = to.dtype(x)
    if dtype.kind not in INTEGER_KINDS:
        return to.emit(ptir.PowOp, x, y)
    positive = integer_power(to, x, y)
    if dtype.kind is Kind.UNSIGNED:
        return positive
    # x ** -n: 1 and -1 stay units, 1 / 0 is -1 as in division, all others are 0
    one, minus = to.like(1, x), to.like(-1, x)
    is_odd = to.compare("equal", to.emit(ptir.AndOp, y, one), one)
    unit = to.select(to.compare("equal", x, minus), to.select(is_odd, minus, one), to.like(0, x))
    inverse = to.select(to.compare("equal", x, one), one, to.select(to.compare("equal", x, 0), minus, unit))
    return to.select(to.compare("less", y, 0), inverse, positive)


def integer_power(to: Lander, x: SSAValue, y: SSAValue) -> SSAValue:
    """`x ** y`, wrapping, by squaring: a loop over the bits of `y`, which count as unsigned."""
    dtype = to.dtype(x)

    def next_bit(v: Values) -> Values:
        count, result, square, rest = v
        bit = to.compare("not_equal", to.emit(ptir.AndOp, rest, to.like(1, rest)), 0)
        return (
            to.emit(ptir.AddOp, count, to.fill(1, to.dtype(count))),
            to.select(bit, to.emit(ptir.MulOp, result, square), result),
            to.emit(ptir.MulOp, square, square),
            to.emit(ptir.ShiftRightLogicalOp, rest, to.like(1, rest)),
        )

    start = [to.fill(0, SI32), to.like(1, x), x, y]
    types = [v.type for v in start]
    cond = to.region(types, lambda v: [to.compare("less", v[0], dtype.bits), *v])
    return to.add(ptir.WhileOp(*start, cond=cond, body=to.region(types, next_bit))).results[1]


def _compare(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    kind = DIRECTIONS[op.word("comparison_direction", tuple(DIRECTIONS))]
    x, y = op.operands
    if op.word("compare_type", COMPARE_TYPES, "NOTYPE") == "TOTALORDER" and to.dtype(x).is_float:
        x, y = total_order(to, x), total_order(to, y)
    return to.compare(kind, x, y)


def total_order(to: StablehloConverter, x: SSAValue) -> SSAValue:
    """Integers that are ordered as IEEE 754 totally orders floats: -NaN, -inf, ..., -0, 0, ..., inf, NaN."""
    dtype = dtype_named(f"si{to.dtype(x).bits}")
    bits = to.bits(x, dtype)
    most = (1 << (dtype.bits - 1)) - 1
    return to.select(to.compare("less", bits, 0), to.emit(ptir.XorOp, bits, to.like(most, bits)), bits)


def _select(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    return to.select(*op.operands)


def _clamp(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    low, x, high = op.operands
    shape = to.shape(x)
    return to.emit(ptir.ClampOp, x, to.broadcast(low, shape), to.broadcast(high, shape))


def _convert(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    return converted(to, op.operands[0], op.dtype)


def converted(to: StablehloConverter, x: SSAValue, dtype: PtirDType) -> SSAValue:
    """`x` in another dtype as StableHLO converts: integers wrap, floats truncate and saturate, complex numbers lose a part."""
    source = to.dtype(x)
    if source.kind in INTEGER_KINDS and dtype.kind in INTEGER_KINDS:
        return to.wrap(x, dtype)
    if source.kind is Kind.COMPLEX and dtype.kind is not Kind.COMPLEX:
        x = to.emit(ptir.RealOp, x)
    return to.cast(x, dtype)


def _bitcast_convert(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    x = op.operands[0]
    source, dtype = to.dtype(x), op.dtype
    if source is dtype:
        return x
    if source.kind is dtype.kind is Kind.COMPLEX:
        raise Refused("the bits of complex numbers as complex numbers of another width", "convert them by way of floats")
    if source is I1:
        return to.bits(packed(to, x, dtype), dtype)
    if dtype is I1:
        return unpacked(to, x)
    if source.kind is Kind.COMPLEX:
        shape = (*to.shape(x), 1)
        both = [to.reshape(to.emit(part, x), shape) for part in (ptir.RealOp, ptir.ImagOp)]
        return to.bits(to.concat(both, len(shape) - 1), dtype)
    if dtype.kind is Kind.COMPLEX:
        last = len(op.shape)
        both = to.bits(x, part_of(dtype))
        real, imag = (to.reshape(to.part(both, last, i, i + 1), op.shape) for i in (0, 1))
        return to.emit(ptir.ComplexOp, real, imag)
    return to.bits(x, dtype)


def packed(to: StablehloConverter, x: SSAValue, dtype: PtirDType) -> SSAValue:
    """Truths along the last dimension as the bits of one unsigned integer of the width of `dtype`, the lowest first."""
    word = dtype_named(f"ui{dtype.bits}")
    shape = to.shape(x)
    if not shape or shape[-1] != dtype.bits:
        raise error("E3003", f"the last extent is not {dtype.bits}", dimension="last", extents=(shape[-1:], dtype.bits))
    places = to.emit(ptir.IotaOp, shape=shape, dtype=word, axis=len(shape) - 1)
    return to.emit(
        ptir.ReduceOp, to.emit(ptir.ShiftLeftOp, to.cast(x, word), places), kind="sum", axes=(len(shape) - 1,), keepdims=False
    )


def unpacked(to: StablehloConverter, x: SSAValue) -> SSAValue:
    """The bits of a number as truths along a new last dimension, the lowest first."""
    word = dtype_named(f"ui{to.dtype(x).bits}")
    shape = (*to.shape(x), word.bits)
    bits = to.broadcast(to.reshape(to.bits(x, word), (*shape[:-1], 1)), shape)
    places = to.emit(ptir.IotaOp, shape=shape, dtype=word, axis=len(shape) - 1)
    shifted = to.emit(ptir.ShiftRightLogicalOp, bits, places)
    return to.compare("not_equal", to.emit(ptir.AndOp, shifted, to.like(1, shifted)), 0)


def _reduce_precision(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    """
    Round to `exponent_bits` and `mantissa_bits`: to nearest, ties to even; too large ones to infinity, too small ones to 0.

    The bits are rounded as an integer: half a unit, less one where the last kept bit is 0, is added, and the rest cut off. The
    derivative is that of the identity, as JAX has it.
    """
    exponent, mantissa = op.integer("exponent_bits"), op.integer("mantissa_bits")
    x = op.operands[0]
    dtype = to.dtype(x)
    own_exponent, own_mantissa = FORMATS[dtype]
    if not 1 <= exponent < 1 << 16 or not 0 <= mantissa < 1 << 16:
        raise op.wrong("exponent_bits", "at least 1, and mantissa_bits from 0 up")
    word = dtype_named(f"ui{dtype.bits}")
    bits = to.bits(x, word)
    sign = to.emit(ptir.AndOp, bits, to.like(1 << (dtype.bits - 1), bits))
    size = to.emit(ptir.XorOp, bits, sign)
    infinity = ((1 << own_exponent) - 1) << own_mantissa
    if mantissa < own_mantissa:
        cut = own_mantissa - mantissa
        last = to.emit(ptir.AndOp, to.emit(ptir.ShiftRightLogicalOp, size, to.like(cut, size)), to.like(1, size))
        half = to.emit(ptir.AddOp, size, to.emit(ptir.AddOp, last, to.like((1 << (cut - 1)) - 1, size)))
        size = to.emit(ptir.AndOp, half, to.like((1 << (dtype.bits - 1)) - (1 << cut), half))
    if exponent < own_exponent:
        bias, own_bias = (1 << (exponent - 1)) - 1, (1 << (own_exponent - 1)) - 1
        least, most = (own_bias - bias + 1) << own_mantissa, ((own_bias + bias + 1) << own_mantissa) - 1
        size = to.select(to.compare("less", size, least), to.like(0, size), size)
        size = to.select(to.compare("greater", size, most), to.like(infinity, size), size)
    found = to.bits(to.emit(ptir.OrOp, size, sign), dtype)
    plain = to.select(to.compare("equal", x, x), found, x)
    if dtype not in (F16, BF16, F32, F64):
        return plain
    nothing = to.emit(ptir.SubOp, to.emit(ptir.StopGradientOp, x), x)  # which is 0 for finite numbers, and varies as -x does
    return to.select(to.compare("equal", nothing, 0), to.emit(ptir.SubOp, plain, nothing), plain)


FORMATS = {F8E4M3: (4, 3), F8E5M2: (5, 2), BF16: (8, 7), F16: (5, 10), F32: (8, 23), F64: (11, 52)}
"""Bits of exponent and mantissa."""


def _real(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    x = op.operands[0]
    return to.emit(ptir.RealOp, x) if to.dtype(x).kind is Kind.COMPLEX else x


def _imag(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    x = op.operands[0]
    return to.emit(ptir.ImagOp, x) if to.dtype(x).kind is Kind.COMPLEX else to.like(0, x)


def _complex(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    return to.emit(ptir.ComplexOp, *op.operands)


def _barrier(to: StablehloConverter, op: ForeignOp) -> Values:
    return op.operands


POINTWISE: dict[str, StablehloRow | Refused] = {
    **{f"stablehlo.{name}": unary(op_type) for name, op_type in _UNARY.items()},
    **{f"stablehlo.{name}": _binary(name) for name in _BINARY},
    "stablehlo.abs": _abs,
    "stablehlo.clamp": _clamp,
    "stablehlo.compare": _compare,
    "stablehlo.bitcast_convert": _bitcast_convert,
    "stablehlo.complex": _complex,
    "stablehlo.convert": _convert,
    "stablehlo.divide": _divide,
    "stablehlo.imag": _imag,
    "stablehlo.is_finite": _is_finite,
    "stablehlo.optimization_barrier": _barrier,
    "stablehlo.power": _power,
    "stablehlo.real": _real,
    "stablehlo.reduce_precision": _reduce_precision,
    "stablehlo.remainder": _remainder,
    "stablehlo.select": _select,
    "stablehlo.sign": _sign,
    "stablehlo.tan": tangent,
}
"""Ops that bodies of reductions may hold, constants and calls aside."""
