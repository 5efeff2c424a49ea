"""
atan2: the arc tangent of a quotient of at most a half, and a multiple of pi / 4.

The quotient is that of the lesser magnitude and the greater one or, where that is more, that of their difference, which is exact
then, and their sum: the tangent of the angle less pi / 4. Magnitudes are scaled first: no sum overflows, no product is subnormal.
"""

from __future__ import annotations

from . import coefficients as k
from .reals import Reals


def atan2(v: Reals, y: str, x: str) -> str:
    """The angle of the point `(x, y)`, from -pi to pi, with the sign of `y`."""
    width, height = v.abs(x), v.abs(y)
    is_steep = v.test("ogt", height, width)
    greater, lesser = v.where(is_steep, height, width), v.where(is_steep, width, height)
    scale = v.where(v.test("ogt", greater, v.c(1)), v.c(0.5), v.c(2.0 ** (60 if v.double else 24)))
    greater, lesser = v.mul(greater, scale), v.mul(lesser, scale)
    is_far = v.test("ogt", lesser, v.mul(greater, v.c(0.5)))
    ratio = v.div(v.where(is_far, v.sub(lesser, greater), lesser), v.where(is_far, v.add(lesser, greater), greater))
    is_even = v.test("oeq", greater, lesser)  # zeros and infinities, whose quotients are NaN
    ratio = v.where(is_even, v.c(0), ratio)
    is_far = v.lanes.binary("and", "i1", v.test("ogt", lesser, v.c(0)), v.lanes.binary("or", "i1", is_even, is_far))
    square = v.mul(ratio, ratio)
    found = v.fma(v.mul(square, ratio), v.polynomial(square, k.ATAN_F64 if v.double else k.ATAN_F32), ratio)
    return v.with_sign_of(_turned(v, found, is_far, is_steep, _is_negative(v, x)), y)


def _is_negative(v: Reals, x: str) -> str:
    """Emit whether the sign of a number is that of negative ones, also of -0."""
    return v.lanes.compare("icmp slt", v.integer, v.bits(x), v.i(0))


def _turned(v: Reals, angle: str, is_far: str, is_steep: str, is_left: str) -> str:
    """
    Add an angle to its multiple of pi / 4, or subtract it, in the upper half: of steep points it is counted from pi / 2, of those
    on the left from pi.

    Both parts of the multiple are added to it, the lesser one first.
    """
    signed = v.where(v.lanes.binary("xor", "i1", is_steep, is_left), v.neg(angle), angle)
    parts: list[str] = []
    for part in range(2):
        one, two, three, four = (v.c(_quarters(v, count)[part]) for count in (1, 2, 3, 4))
        near = v.where(is_steep, two, v.where(is_left, four, v.c(0)))
        parts.append(v.where(is_far, v.where(is_left, three, one), near))
    return v.add(parts[0], v.add(signed, parts[1]))


def _quarters(v: Reals, count: int) -> tuple[float, float]:
    """Return so many quarters of pi in two parts."""
    if count == 3:
        return k.THREE_QUARTERS_PI_F64 if v.double else k.THREE_QUARTERS_PI_F32
    first, second, _ = k.PI_F64 if v.double else k.PI_F32
    return first * count / 4, second * count / 4
