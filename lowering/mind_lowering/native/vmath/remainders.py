"""
fmod: the exact rest of a division truncated toward zero, with the sign of the dividend.

The whole number `n` nearest to the rounded quotient differs from the exact one by less than 1 while that is below a bound. Then
`|x| - n |y|` is a multiple of the last place of `y`, less than `y` in magnitude, so a fused product gives it exactly, and adding
`|y|` where it is negative is exact too. Larger quotients, and operands that are not finite or 0, take the C library's function.
"""

from __future__ import annotations

from .reals import Reals, where_any


def fmod(v: Reals, x: str, y: str) -> str:
    """`x - n y` with the `n` nearest to `x / y` that is not beyond it."""
    name = "fmod" if v.double else "fmodf"
    v.lanes.function.module.declare(name, v.type, [v.type, v.type])
    if v.double and not v.lanes.host.fma:  # two roundings in the place of one are not exact
        return where_any(v, v.lanes.number("i1", 1), (x, y), x, "fmod.far", name)
    size, by = v.abs(x), v.abs(y)
    quotient, magic = v.div(size, by), v.c(1.5 * 2.0**v.digits)
    whole = v.sub(v.add(quotient, magic), magic)
    rest = v.exact_fma(v.neg(whole), by, size)
    rest = v.where(v.test("olt", rest, v.c(0)), v.add(rest, by), rest)
    rest = v.where(v.test("olt", size, by), size, rest)  # `y` may be infinite
    is_far = v.test("uge", quotient, v.c(2.0 ** (v.digits - 1)))
    return where_any(v, is_far, (x, y), v.with_sign_of(rest, x), "fmod.far", name)
