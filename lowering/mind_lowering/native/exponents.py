"""Products whose factors are split in numbers from 1 to 2 and exponents, so that none overflows or underflows on the way."""

from __future__ import annotations

from .lanes import Lanes

START = [("double", 1.0), ("i64", 0)]
"""The types and values of a product of no factors: a number from 1 to 2 with its sign, and an exponent."""


def multiplied(lanes: Lanes, number: str, exponent: str, factor: str) -> list[str]:
    """Return a product in two parts times a factor of f64."""
    mantissa, more = _split(lanes, factor)
    number, carry = _split(lanes, lanes.binary("fmul", "double", number, mantissa))
    return [number, lanes.binary("add", "i64", lanes.binary("add", "i64", exponent, more), carry)]


def joined(lanes: Lanes, number: str, exponent: str) -> str:
    """Return the product as f64."""
    for _ in range(3):
        least = lanes.intrinsic("smin", "i64", exponent, lanes.number("i64", 1000))
        some = lanes.intrinsic("smax", "i64", least, lanes.number("i64", -1000))
        biased = lanes.binary("add", "i64", some, lanes.number("i64", 1023))
        power = lanes.convert("bitcast", "i64", "double", lanes.binary("shl", "i64", biased, lanes.number("i64", 52)))
        number = lanes.binary("fmul", "double", number, power)
        exponent = lanes.binary("sub", "i64", exponent, some)
    return number


def _split(lanes: Lanes, x: str) -> tuple[str, str]:
    """Return a number from 1 to 2, with a sign, and an exponent; of zeros, infinities and NaN `x` and 0."""

    def constant(value: int) -> str:
        return lanes.number("i64", value)

    size = lanes.intrinsic("fabs", "double", x)
    is_small = lanes.compare("fcmp olt", "double", size, lanes.number("double", 2.0**-1000))
    x = lanes.select(is_small, "double", lanes.binary("fmul", "double", x, lanes.number("double", 2.0**100)), x)
    bits = lanes.convert("bitcast", "double", "i64", x)
    field = lanes.binary("and", "i64", lanes.binary("lshr", "i64", bits, constant(52)), constant(2047))
    rest = lanes.binary("and", "i64", bits, constant(~(2047 << 52)))
    mantissa = lanes.convert("bitcast", "i64", "double", lanes.binary("or", "i64", rest, constant(1023 << 52)))
    is_normal = lanes.compare("icmp ult", "i64", lanes.binary("sub", "i64", field, constant(1)), constant(2046))
    bias = lanes.select(is_small, "i64", constant(1123), constant(1023))
    exponent = lanes.binary("sub", "i64", field, bias)
    return lanes.select(is_normal, "double", mantissa, x), lanes.select(is_normal, "i64", exponent, constant(0))
