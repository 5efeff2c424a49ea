"""
sin and cos: `x = n pi + r`, and the sine of `r` with the sign of `n`; of the cosine `n` lies halfway between integers.

Up to a bound `n pi` is taken off in three parts, each step rounded once. Beyond it the lanes concerned, one after the other,
multiply by as many binary digits of 1 / pi as it takes (Payne and Hanek): a branch that is rarely taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from ..ir import suffix
from ..lanes import Lanes
from . import coefficients as k
from .reals import Reals, where_any


def sin(v: Reals, x: str) -> str:
    """The sine: that of `|x|`, with the sign of `x`."""
    found = _wave(v, v.abs(x), "sin")
    sign = v.on_bits("and", v.bits(x), -(1 << (63 if v.double else 31)))
    return v.of_bits(v.on_bits("xor", v.bits(found), sign))


def cos(v: Reals, x: str) -> str:
    """The cosine: `sin(|x| + pi / 2)`."""
    return _wave(v, v.abs(x), "cos")


def _wave(v: Reals, size: str, name: str) -> str:
    """sin or cos of what is not negative."""
    if v.double or v.lanes.host.fma:
        found = _near_wave(v, size, name, k.PI_F64 if v.double else k.PI_F32)
    else:
        wide = replace(v, type="double")
        found = v.narrowed(_near_wave(wide, v.widened(size), name, k.PI_SHORT_F64))
    bound = 2.0**30 if v.double else 2.0**17
    is_large = v.lanes.binary("and", "i1", v.test("oge", size, v.c(bound)), v.test("olt", size, v.c(math.inf)))
    return where_any(v, is_large, (size,), found, f"{name}.large", _large(v, name))


def _near_wave(v: Reals, size: str, name: str, parts: Sequence[float]) -> str:
    """
    Below the bound. The multiple of pi is taken off in three parts by products that are rounded once.

    f32 on a machine without these is computed in f64, where two parts do, the first so short that its product is exact.
    """
    number, whole = _nearest(v, size, name)
    r = size
    for part in parts:
        r = v.exact_fma(whole, v.c(-part), r) if len(parts) > 2 else v.fma(whole, v.c(-part), r)
    return _sine(v, r, number)


def _nearest(v: Reals, size: str, name: str) -> tuple[str, str]:
    """Bits that end in the even or odd of the sign, and `n` as a float; for cos that is 1/2 less than what the bits end in."""
    if name == "sin":
        return v.nearest(size, 1 / math.pi)
    magic = v.c(1.5 * 2.0**v.digits)
    shifted = v.add(v.fma(size, v.c(1 / math.pi), v.c(0.5)), magic)
    return v.bits(shifted), v.sub(v.sub(shifted, magic), v.c(0.5))


def _sine(v: Reals, r: str, number: str) -> str:
    """The sine of `r`, its sign turned if `number` is odd; roundings do not take it beyond 1."""
    square = v.mul(r, r)
    found = v.fma(v.mul(square, r), v.polynomial(square, k.SIN_F64 if v.double else k.SIN_F32), r)
    found = v.at_least(v.at_most(found, 1.0), -1.0)
    return v.of_bits(v.on_bits("xor", v.bits(found), v.on_bits("shl", number, 63 if v.double else 31)))


def _large(v: Reals, name: str) -> str:
    """The scalar function of a large number."""
    module, called = v.lanes.function.module, f"mind.{name}.large.one.{suffix(v.type, 1)}"
    if called not in module.functions:
        made = module.function(called, v.type, [(v.type, "x")])
        one = Reals(Lanes(made, v.lanes.host, 1, hint=name), v.type)
        wide = "%x" if v.double else one.widened("%x")
        rest, parity = _payne_hanek(one, wide, name)
        number = parity if v.double else made.op(f"trunc i64 {parity} to i32")
        made.ret(_sine(one, rest if v.double else one.narrowed(rest), number))
    return called


def _payne_hanek(v: Reals, x: str, name: str) -> tuple[str, str]:
    """
    `r` in f64 and the parity of `n`, of one f64 from 2^17 up.

    `x = m 2^e` with `m` of 53 bits. Digits of 1 / pi before the one that is worth `2^-e` only add even integers to `x / pi`;
    of the rest 192 digits leave, next to multiples of pi too, more right ones than a float has. The product modulo 2 is a number
    of 192 bits whose first is the parity; the others, as a signed fraction, times pi make `r`.
    """
    f = v.lanes.function
    bits = f.op(f"bitcast double {x} to i64")
    fraction = f.op(f"and i64 {bits}, {(1 << 52) - 1}")
    digits = f.op(f"or i64 {fraction}, {1 << 52}")
    exponent = f.op(f"lshr i64 {bits}, 52")
    high, low = _times(v, digits, _window(v, f.op(f"sub i64 {exponent}, {1075 - 63}")))
    if name == "cos":
        high = f.op(f"add i128 {high}, {1 << 126}")
    return _rest_and_parity(v, high, low)


def _window(v: Reals, start: str) -> list[str]:
    """192 digits of 1 / pi from a digit on, in words."""
    f = v.lanes.function
    table = f.module.table("mind.inverse_pi", "i64", k.INVERSE_PI)
    word, shift = f.op(f"lshr i64 {start}, 6"), f.op(f"and i64 {start}, 63")
    first = f.op(f"getelementptr i64, ptr {table}, i64 {word}")
    read = [f.op(f"load i64, ptr {f.address('i64', first, str(i))}, align 8") for i in range(4)]
    return [f.call("llvm.fshl.i64", "i64", ("i64", a), ("i64", b), ("i64", shift)) for a, b in pairwise(read)]


def _times(v: Reals, digits: str, words: Sequence[str]) -> tuple[str, str]:
    """The product modulo 2^192: its first 128 bits, and its last 64 as the first of another 128."""
    f = v.lanes.function
    factor = f.op(f"zext i64 {digits} to i128")
    wide = [f.op(f"zext i64 {w} to i128") for w in words]
    upper, middle, lower = (f.op(f"mul i128 {factor}, {w}") for w in wide)
    carried = f.op(f"add i128 {middle}, {f.op(f'lshr i128 {lower}, 64')}")
    return f.op(f"add i128 {carried}, {f.op(f'shl i128 {upper}, 64')}"), f.op(f"shl i128 {lower}, 64")


def _rest_and_parity(v: Reals, high: str, low: str) -> tuple[str, str]:
    """`r` and the parity, from `x / pi` modulo 2."""
    f = v.lanes.function

    def shifted(a: str, b: str, by: str) -> str:
        return f.call("llvm.fshl.i128", "i128", ("i128", a), ("i128", b), ("i128", by))

    fraction, rest = shifted(high, low, "1"), f.op(f"shl i128 {low}, 1")
    below = f.op(f"ashr i128 {fraction}, 127", "below")
    parity = f.op(f"trunc i128 {f.op(f'lshr i128 {high}, 127')} to i64")
    turned = f.op(f"trunc i128 {below} to i64")
    parity = f.op(f"xor i64 {parity}, {turned}")
    fraction, rest = f.op(f"xor i128 {fraction}, {below}"), f.op(f"xor i128 {rest}, {below}")
    zeros = f.call("llvm.ctlz.i128", "i128", ("i128", fraction), ("i1", "false"), immediate=(1,))
    leading = f.op(f"lshr i128 {shifted(fraction, rest, zeros)}, 64")
    product = f.op(f"lshr i128 {f.op(f'mul i128 {leading}, {k.PI_WORD}')}, 64")
    size = f.op(f"uitofp i64 {f.op(f'trunc i128 {product} to i64')} to double")
    power = f.op(f"sub i64 {1023 - 62}, {f.op(f'trunc i128 {zeros} to i64')}")
    power = f.op(f"shl i64 {power}, 52")
    size = f.op(f"fmul double {size}, {f.op(f'bitcast i64 {power} to double')}")
    sign = f.op(f"shl i64 {turned}, 63")
    signed = f.op(f"xor i64 {f.op(f'bitcast double {size} to i64')}, {sign}")
    return f.op(f"bitcast i64 {signed} to double"), parity
