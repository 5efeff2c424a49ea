"""
Conversions between dtypes, by the contract.

To floats nearest, rounded once; to integers truncated, saturated, NaN to 0; to i1 whether it is not 0.
"""

from __future__ import annotations

from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.types import BF16, F8E4M3, F8E5M2, F16, F32, F64, I1, SI64, Kind, PtirDType

from .lanes import Lanes, register, stored


def cast(lanes: Lanes, x: str, source: PtirDType, target: PtirDType) -> str:
    """`x`, lanes of `source`, as lanes of `target`; dtypes that are computed on here."""
    if source is target:
        return x
    if target is I1:
        test = "fcmp une" if source.kind is Kind.FLOAT else "icmp ne"
        return lanes.compare(test, register(source), x, lanes.constant(source, 0))
    if target.kind is Kind.FLOAT:
        return _to_float(lanes, x, source, target)
    if source.kind is Kind.FLOAT:
        return _saturated(lanes, x, register(source), target)
    if source is I1:
        return lanes.convert("zext", "i1", register(target), x)
    return _between_integers(lanes, x, source, target)


def _to_float(lanes: Lanes, x: str, source: PtirDType, target: PtirDType) -> str:
    of, to = register(source), register(target)
    if source in _FP8:
        return _to_float(lanes, _decoded(lanes, x, source), F32, target)
    if source.kind is not Kind.FLOAT:
        if target in (F16, BF16) and source.bits > 16:
            return lanes.rounded(target, _odd_f32(lanes, _odd_f64(lanes, x, source)))
        code = "sitofp" if source.kind is Kind.SIGNED else "uitofp"
        return lanes.rounded(target, lanes.convert(code, of, to, x))
    if source is F64:
        if target in (F16, BF16):
            return lanes.rounded(target, _odd_f32(lanes, x))
        return lanes.convert("fptrunc", of, to, x)
    if target is F32:
        return x
    return lanes.convert("fpext", of, to, x) if target is F64 else lanes.rounded(target, x)


_FP8 = {F8E4M3: (3, 7, 0x7F), F8E5M2: (2, 15, 0x7C)}
"""By dtype: the bits of its fraction, its bias, and its first magnitude that is not finite."""


def _decoded(lanes: Lanes, x: str, source: PtirDType) -> str:
    """
    Numbers of 8 bits as f32, which has all of them. F8E5M2 is the upper half of f16.

    Their bits at the place of those of f32 are the number, subnormal or not, but for the bias of the exponent. What is not finite
    has an exponent of ones, and one more bit than infinity if it is NaN: of F8E4M3 all of it is.
    """
    if source is F8E5M2 and lanes.host.half:
        bits = lanes.binary("shl", "i16", lanes.convert("zext", "i8", "i16", x), lanes.number("i16", 8))
        return lanes.convert("fpext", "half", "float", lanes.convert("bitcast", "i16", "half", bits))
    fraction, bias, special = _FP8[source]
    shifted = lanes.binary("shl", "i32", lanes.convert("sext", "i8", "i32", x), lanes.number("i32", 23 - fraction))
    placed = lanes.binary("and", "i32", shifted, lanes.number("i32", 0x80000000 | 0x7F << (23 - fraction)))
    unbiased = lanes.convert("bitcast", "i32", "float", placed)
    number = lanes.binary("fmul", "float", unbiased, lanes.number("float", 2.0 ** (127 - bias)))
    beyond = lanes.convert("bitcast", "i32", "float", lanes.binary("or", "i32", placed, lanes.number("i32", 0x7F800000)))
    magnitude = lanes.binary("and", "i8", x, lanes.number("i8", 0x7F))
    is_finite = lanes.compare("icmp ult", "i8", magnitude, lanes.number("i8", special))
    return lanes.select(is_finite, "float", number, beyond)


def _odd_f32(lanes: Lanes, x: str) -> str:
    """f64 as f32, with the last bit set if that is inexact: rounded once more, it gives what rounding `x` itself gives."""
    near = lanes.convert("fptrunc", "double", "float", x)
    back = lanes.convert("fpext", "float", "double", near)
    bits = lanes.convert("bitcast", "float", "i32", near)
    larger = lanes.compare("fcmp ogt", "double", lanes.intrinsic("fabs", "double", back), lanes.intrinsic("fabs", "double", x))
    inward = lanes.binary("sub", "i32", bits, lanes.convert("zext", "i1", "i32", larger))
    odd = lanes.binary("or", "i32", inward, lanes.number("i32", 1))
    exact = lanes.compare("fcmp ueq", "double", back, x)
    return lanes.convert("bitcast", "i32", "float", lanes.select(exact, "i32", bits, odd))


def _odd_f64(lanes: Lanes, x: str, source: PtirDType) -> str:
    """Integers as f64; of those of more than 53 bits the lower ones are gathered in the last that is kept."""
    type, signed = register(source), source.kind is Kind.SIGNED
    if source.bits == 64:
        low = lanes.binary("and", type, x, lanes.number(type, 0x7FF))
        lossy = lanes.compare("icmp ne", type, low, lanes.number(type, 0))
        gathered = lanes.binary("or", type, lanes.binary("xor", type, x, low), lanes.number(type, 0x800))
        size = lanes.integer_intrinsic("abs", type, x, False) if signed else x
        large = lanes.compare("icmp ugt", type, size, lanes.number(type, 1 << 53))
        x = lanes.select(lanes.binary("and", "i1", large, lossy), type, gathered, x)
    return lanes.convert("sitofp" if signed else "uitofp", type, "double", x)


def _saturated(lanes: Lanes, x: str, of: str, target: PtirDType) -> str:
    """
    Floats as the integers of a dtype: the nearest of its numbers where they are beyond, 0 where they are NaN.

    LLVM's instruction for that takes lanes one by one on x86: there, vectors are converted where they are inside.
    """
    to, kind = register(target), "fptosi" if target.kind is Kind.SIGNED else "fptoui"
    if lanes.width == 1 or lanes.host.saturates:
        shown = {"float": "f32", "double": "f64"}
        lane = "" if lanes.width == 1 else f"v{lanes.width}"
        name = f"llvm.{kind}.sat.{lane}{to}.{lane}{shown[of]}"
        return lanes.function.call(name, lanes.of(to), (lanes.of(of), x), hint=lanes.hint)
    least, most = _range(target)  # `least` and `most` + 1 are 0 and powers of 2, which floats have
    low, end = lanes.number(of, least), lanes.number(of, most + 1)
    inside = lanes.compare("fcmp olt", of, x, end)
    bounded = lanes.select(lanes.compare("fcmp ogt", of, x, low), of, x, low)
    safe = lanes.select(inside, of, bounded, lanes.number(of, 0))
    wide = "i32" if target.bits < 32 else to
    found = lanes.convert("fptosi" if target.bits < 32 else kind, of, wide, safe)
    found = lanes.convert("trunc", wide, to, found)
    return lanes.select(lanes.compare("fcmp oge", of, x, end), to, lanes.number(to, most), found)


def _between_integers(lanes: Lanes, x: str, source: PtirDType, target: PtirDType) -> str:
    of, to = register(source), register(target)
    least, most = _range(source)
    low, high = _range(target)
    prefix = "s" if source.kind is Kind.SIGNED else "u"
    if least < low:
        x = lanes.intrinsic(f"{prefix}max", of, x, lanes.number(of, low))
    if most > high:
        x = lanes.intrinsic(f"{prefix}min", of, x, lanes.number(of, high))
    if source.bits == target.bits:
        return x
    code = "trunc" if source.bits > target.bits else "sext" if source.kind is Kind.SIGNED else "zext"
    return lanes.convert(code, of, to, x)


def truncated(lanes: Lanes, x: str, source: PtirDType, target: PtirDType) -> str:
    """Integers by their low bits; wider ones get copies of the sign."""
    code = "trunc" if source.bits > target.bits else "sext" if source.kind is Kind.SIGNED else "zext"
    return lanes.convert(code, register(source), register(target), x)


def bitcast(lanes: Lanes, x: str, source: PtirDType, target: PtirDType) -> str:
    """The bits of `x`, as they lie in memory, as another dtype of the same width."""
    bits = lanes.convert("bitcast", stored(source), stored(target), lanes.to_memory(source, x))
    return lanes.from_memory(target, bits)


def _range(dtype: PtirDType) -> tuple[int, int]:
    if dtype.kind is Kind.SIGNED:
        return -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1
    return 0, (1 << dtype.bits) - 1


def constant(lanes: Lanes, literal: PtirLiteralAttr) -> str:
    """The number of a constant of one element, in every lane."""
    value = literal.item()
    assert not isinstance(value, complex), "complex constants have memory"
    return lanes.constant(literal.spec[0], value)


def counted(lanes: Lanes, count: str, dtype: PtirDType) -> str:
    """Indices, lanes of i64, as a dtype holds them: integers wrap, floats are rounded."""
    if dtype.kind is Kind.FLOAT:
        return cast(lanes, count, SI64, dtype)
    return lanes.convert("trunc", "i64", register(dtype), count)
