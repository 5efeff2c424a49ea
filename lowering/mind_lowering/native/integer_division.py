"""
Quotients and remainders of integers in lanes, which no instruction set divides: floats do, exactly.

For `a` and `b` of n bits, `a / b` is an integer or differs from the next one by at least `1 / b`, that is by a relative
`1 / (a + b) > 2^-(n + 1)`. A float of more than n + 1 bits is rounded by less than that, so its quotient, cut off, is that of the
integers: f32 (24 bits) for up to 16 bits, f64 (53 bits) for 32. Constants are left to LLVM, which multiplies and shifts.
"""

from __future__ import annotations

from mind_dialect.ptir.types import Kind, PtirDType

from .lanes import Lanes, register
from .reductions import is_constant


def quotient(lanes: Lanes, dtype: PtirDType, a: str, b: str) -> str:
    """Return `a / b` without its fraction, for `b` other than 0 and, of signed numbers, other than -1."""
    is_signed, type = dtype.kind is Kind.SIGNED, register(dtype)
    if lanes.width == 1 or dtype.bits > 32 or is_constant(b):
        return lanes.binary("sdiv" if is_signed else "udiv", type, a, b)
    real, sign = "float" if dtype.bits <= 16 else "double", "s" if is_signed else "u"

    def converted(x: str) -> str:
        return lanes.convert(f"{sign}itofp", "i32", real, lanes.convert("sext" if is_signed else "zext", type, "i32", x))

    found = lanes.binary("fdiv", real, converted(a), converted(b))
    return lanes.convert("trunc", "i32", type, lanes.convert(f"fpto{sign}i", real, "i32", found))


def remainder(lanes: Lanes, dtype: PtirDType, a: str, b: str) -> str:
    """Return what is left of `a`, with its sign, for the `b` that `quotient` takes."""
    type = register(dtype)
    if lanes.width == 1 or dtype.bits > 32 or is_constant(b):
        return lanes.binary("srem" if dtype.kind is Kind.SIGNED else "urem", type, a, b)
    return lanes.binary("sub", type, a, lanes.binary("mul", type, quotient(lanes, dtype, a, b), b))
