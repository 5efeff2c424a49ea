"""
pow: `e^(y log |x|)`, with more digits of the logarithm than the result has; sign and special cases by IEEE 754.

f32 is computed in f64, by powers of 2. In f64 logarithm and product are sums of two floats.
"""

from __future__ import annotations

import math
from dataclasses import replace

from . import coefficients as k
from .reals import Reals, decomposed, factor_and_term, less_one


def power(v: Reals, x: str, y: str) -> str:
    """`x^y`."""
    size = v.abs(x)
    found = _power_of_size(v, size, y) if v.double else _power_of_short_size(v, size, y)
    return _with_special_cases(v, x, y, size, found)


def _power_of_short_size(short: Reals, size: str, y: str) -> str:
    """`size^y` in f32, `2^(y log2 size)` in f64: there is no product of so few digits that it would have to be split."""
    v = replace(short, type="double")
    size, y = short.widened(size), short.widened(y)
    significand, exponent = decomposed(v, size, False)
    factor, term = factor_and_term(v, "log2", significand, k.LOG2_FACTORS, k.LOG2_TERMS)
    r = v.exact_fma(significand, factor, v.c(-1))
    log = v.fma(r, v.polynomial(r, k.LOG2_F64_OF_F32), v.add(exponent, term))
    product = v.mul(y, log if v.full else _of_extremes(v, size, log))
    product = v.at_least(v.at_most(product, 200.0), -200.0)
    number, whole = v.nearest(product, 1.0)
    found = v.polynomial(v.sub(product, whole), k.EXP2_F64_OF_F32)
    return v.narrowed(v.scaled_in_range(found, whole, number))


def _of_extremes(v: Reals, size: str, log: str) -> str:
    """The logarithm, with those of 0 and infinity."""
    log = v.where(v.test("oeq", size, v.c(0)), v.c(-math.inf), log)
    return v.where(v.test("oeq", size, v.c(math.inf)), size, log)


def _power_of_size(v: Reals, size: str, y: str) -> str:
    """`size^y`. Exponents that are too large for a split product are as good as a bound: all but 1 go beyond every float."""
    y = v.at_least(v.at_most(y, 2.0**70), -(2.0**70))
    log, log_rest = _long_log(v, size)
    log = _of_extremes(v, size, log)
    product, rest = v.two_product(y, log)
    rest = v.fma(y, log_rest, rest)
    inside = v.test("olt", v.abs(product), v.c(1000.0))
    rest = v.where(inside, rest, v.c(0))
    product = v.at_least(v.at_most(product, 1000.0), -1000.0)
    number, whole = v.nearest(product, 1 / math.log(2), 2 * v.bias)
    long, short = k.LN2_SHORT_F64
    r = v.add(v.fma(whole, v.c(-long), product), v.fma(whole, v.c(-short), rest))
    return v.scaled(v.add(less_one(v, r, k.EXP_F64), v.c(1)), whole, number)


def _long_log(v: Reals, size: str) -> tuple[str, str]:
    """The logarithm as a sum of two floats, to some 63 bits."""
    significand, exponent = decomposed(v, size, True)
    factor, term = factor_and_term(v, "log", significand, k.LOG_FACTORS_F64, k.LOG_TERMS_F64)
    product, lost = v.two_product(significand, factor)
    r, r_rest = v.fast_two_sum(v.sub(product, v.c(1)), lost)
    square, square_rest = v.two_product(r, r)
    minus_half = v.c(-0.5)
    cube = v.mul(v.mul(square, r), v.polynomial(r, k.LOG_F64_PRECISE))
    main, rest1 = v.fast_two_sum(v.fma(exponent, v.c(k.LN2_SHORT_F64[0]), term), r)
    main, rest2 = v.fast_two_sum(main, v.mul(square, minus_half))
    second = v.fma(square_rest, minus_half, v.fma(v.neg(r), r_rest, r_rest))
    rest = v.add(v.add(rest1, rest2), v.fma(exponent, v.c(k.LN2_SHORT_F64[1]), v.add(second, cube)))
    return v.fast_two_sum(main, rest)


def _with_special_cases(v: Reals, x: str, y: str, size: str, found: str) -> str:
    """`found`, which is `|x|^y`, with its sign, and what IEEE 754 says of 1, 0, infinity, NaN and negative numbers."""
    lanes, zero, one = v.lanes, v.c(0), v.c(1)
    whole, odd = _kind(v, y)
    found = v.where(v.test("oeq", size, one), one, found)
    negative = lanes.compare("icmp slt", v.integer, v.bits(x), v.i(0))
    found = v.where(lanes.binary("and", "i1", negative, odd), v.neg(found), found)
    below = v.test("olt", x, zero)
    broken = lanes.binary("xor", "i1", whole, lanes.number("i1", 1))
    finite = v.test("olt", size, v.c(math.inf))
    undefined = lanes.binary("and", "i1", lanes.binary("and", "i1", below, finite), broken)
    unordered = v.test("uno", x, y)
    found = v.where(lanes.binary("or", "i1", undefined, unordered), v.c(math.nan), found)
    is_one = lanes.binary("or", "i1", v.test("oeq", x, one), v.test("oeq", y, zero))
    return v.where(is_one, one, found)


def _kind(v: Reals, y: str) -> tuple[str, str]:
    """Emit whether `y` is an integer, and whether an odd one. Infinity is an even one."""
    lanes, size = v.lanes, v.abs(y)
    magic = v.c(2.0**v.digits)
    small = v.test("olt", size, magic)
    shifted = v.where(small, v.add(size, magic), size)
    same = v.test("oeq", v.sub(shifted, magic), size)
    whole = lanes.binary("or", "i1", same, v.test("oge", size, magic))
    last = lanes.compare("icmp ne", v.integer, v.on_bits("and", v.bits(shifted), 1), v.i(0))
    odd = lanes.binary("and", "i1", lanes.binary("and", "i1", last, whole), v.test("olt", size, v.c(2.0 ** (v.digits + 1))))
    return whole, odd
