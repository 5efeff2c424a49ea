"""
Functions of complex numbers by their parts, as C's `complex.h` has them: infinities, NaN and the signs of zeros included.

No square on the way overflows or vanishes before the result does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf, log, sqrt
from typing import TypeAlias

from mind_dialect import ptir
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.types import F32, F64, I1, SI32, SI64, PtirDType

from . import construct as make
from .construct import Value

Parts: TypeAlias = tuple[Value, Value]
"""The real and the imaginary parts of complex numbers."""

SCALES: Mapping[PtirDType, tuple[tuple[float, float], tuple[float, float]]] = {
    F32: ((2.0**-40, 2.0**100), (2.0**60, 2.0**-70)),
    F64: ((2.0**-300, 2.0**600), (2.0**500, 2.0**-600)),
}
"""
The number below which, and that above which, numbers are scaled before they are squared, each with its factor.

Between them the square of the greater part is a normal number, and a part whose square is none adds nothing to it.
"""


def _size(x: Value) -> Value:
    return make.make(ptir.AbsOp, x)


def _greater(x: Value, y: Value) -> Value:
    return make.elementwise(ptir.MaximumOp, x, y)


def _both(x: Value, y: Value) -> Value:
    return make.elementwise(ptir.AndOp, x, y, dtype=I1)


def _is(x: Value, kind: str, number: float) -> Value:
    return make.compare(kind, x, make.full(number, x))


def _is_no_number(x: Value) -> Value:
    """Return where a number is infinite or NaN."""
    return _is(make.sub(x, x), "not_equal", 0)


@dataclass
class _Scaled:
    """Complex numbers times powers of two, so that their squares neither overflow nor vanish, and their magnitudes."""

    parts: Parts
    size: Value
    largest: Value
    """The greater magnitude of the parts as they were."""
    is_small: Value
    is_large: Value

    @staticmethod
    def of(z: Parts) -> _Scaled:
        """Scale numbers."""
        largest = _greater(_size(z[0]), _size(z[1]))
        (low, _), (high, _) = SCALES[make.spec(largest).dtype]
        found = _Scaled(z, largest, largest, _is(largest, "less", low), _is(largest, "greater", high))
        scale = found.chosen(lambda s: s)
        x, y = found.parts = make.mul(z[0], scale), make.mul(z[1], scale)
        found.size = make.make(ptir.SqrtOp, make.add(make.mul(x, x), make.mul(y, y)))
        return found

    def chosen(self, of: Callable[[float], float]) -> Value:
        """Return a function of the powers of two."""
        (_, up), (_, down) = SCALES[make.spec(self.largest).dtype]
        small, large, other = (make.full(of(s), self.largest) for s in (up, down, 1.0))
        return make.where(self.is_small, small, make.where(self.is_large, large, other))

    def or_infinite(self, x: Value) -> Value:
        """Return infinity where a part is infinite, whatever the other one is, else a number."""
        first, second = (_is(_size(part), "equal", inf) for part in self.parts)
        return make.where(make.elementwise(ptir.OrOp, first, second, dtype=I1), make.full(inf, x), x)


def real(z: Parts) -> Value:
    """The real part."""
    return z[0]


def imag(z: Parts) -> Value:
    """The imaginary part."""
    return z[1]


def conj(z: Parts) -> Parts:
    """`a - bi`."""
    return z[0], make.neg(z[1])


def magnitude(z: Parts) -> Value:
    """`sqrt(a a + b b)`."""
    scaled = _Scaled.of(z)
    return scaled.or_infinite(make.mul(scaled.size, scaled.chosen(lambda s: 1 / s)))


def sign(z: Parts) -> Parts:
    """`z / |z|`: zeros stay as they are, infinities give NaN."""
    a, b = z
    largest, one = _greater(_size(a), _size(b)), make.full(1, a)
    is_zero = _is(largest, "equal", 0)
    scale = make.where(is_zero, one, largest)
    a, b = make.div(a, scale), make.div(b, scale)
    root = make.make(ptir.SqrtOp, make.add(make.mul(a, a), make.mul(b, b)))
    size = make.where(is_zero, one, root)
    return make.div(a, size), make.div(b, size)


def product(x: Parts, y: Parts, of: Callable[[Value, Value], Value] = make.mul) -> Parts:
    """`(a + bi) (c + di) = (ac - bd) + (ad + bc) i`, of products of any kind."""
    (a, b), (c, d) = x, y
    return make.sub(of(a, c), of(b, d)), make.add(of(a, d), of(b, c))


def quotient(x: Parts, y: Parts) -> Parts:
    """By the quotient of the lesser and the greater part (Smith, Algorithm 116, CACM 1962); 0 divides each part."""
    (a, b), (c, d) = x, y
    size_c, size_d = _size(c), _size(d)
    is_real = make.compare("greater_equal", size_c, size_d)
    greater, less = make.where(is_real, c, d), make.where(is_real, d, c)
    ratio = make.div(less, greater)
    scale = make.div(make.full(1, c), make.add(greater, make.mul(less, ratio)))
    first, second = make.where(is_real, a, b), make.where(is_real, b, a)
    real = make.mul(make.add(first, make.mul(second, ratio)), scale)
    less_part = make.mul(first, ratio)
    imag = make.mul(make.where(is_real, make.sub(second, less_part), make.sub(less_part, second)), scale)
    is_zero = _is(_greater(size_c, size_d), "equal", 0)
    return make.where(is_zero, make.div(a, size_c), real), make.where(is_zero, make.div(b, size_c), imag)


def reciprocal(z: Parts) -> Parts:
    """`1 / z`, as `quotient`; of 0 it is NaN."""
    a, b = z
    is_real, one = make.compare("greater_equal", _size(a), _size(b)), make.full(1, a)
    greater, less = make.where(is_real, a, b), make.where(is_real, b, a)
    ratio = make.div(less, greater)
    divisor = make.add(greater, make.mul(less, ratio))
    first, second = make.where(is_real, one, ratio), make.where(is_real, ratio, one)
    return make.div(first, divisor), make.div(make.neg(second), divisor)


def exp(z: Parts) -> Parts:
    """`e^a (cos b + i sin b)`."""
    a, b = z
    real, imag = _grown(a, make.make(ptir.CosOp, b), make.make(ptir.SinOp, b))
    is_no_number = _is_no_number(b)
    real = make.where(_both(_is(a, "equal", inf), is_no_number), make.full(inf, a), real)
    imag = make.where(_is(b, "equal", 0), b, imag)
    is_nothing, zero = _both(_is(a, "equal", -inf), is_no_number), make.full(0, a)
    return make.where(is_nothing, zero, real), make.where(is_nothing, zero, imag)


def expm1(z: Parts) -> Parts:
    """`e^a cos b - 1 + i e^a sin b`; where `|a|` is at most 1 the real part is `(e^a - 1) cos b - 2 sin(b / 2)^2`."""
    a, b = z
    cos, half_sin = make.make(ptir.CosOp, b), make.make(ptir.SinOp, make.scale(b, 0.5))
    real, imag = _grown(a, cos, make.make(ptir.SinOp, b))
    near = make.sub(make.mul(make.make(ptir.Expm1Op, a), cos), make.scale(make.mul(half_sin, half_sin), 2))
    is_real = _both(_is(b, "equal", 0), _is(a, "less", inf))
    real = make.where(_is(_size(a), "greater", 1), make.sub(real, make.full(1, a)), near)
    return real, make.where(is_real, b, imag)


def logistic(z: Parts) -> Parts:
    """
    `1 / (1 + e^-z)`, by `q = e^-|a|`, `m = 1 - q`, `c = cos(b / 2)` and `s = sin(b / 2)`.

    The denominator is `m m + 4 q c c`, the imaginary numerator `2 q s c`, the real one `m + 2 q c c` or, where a < 0,
    `q (2 c c - m)`. Only the last of these cancels, where it is the lesser part.
    """
    a, b = z
    size, zero, two = _size(a), make.full(0, a), make.full(2, a)
    q, m = make.make(ptir.ExpOp, make.neg(size)), make.neg(make.make(ptir.Expm1Op, make.neg(size)))
    is_open = _both(_is(size, "equal", inf), _is_no_number(b))
    half = make.scale(make.where(is_open, zero, b), 0.5)
    c, s = make.make(ptir.CosOp, half), make.make(ptir.SinOp, half)
    square = make.mul(two, make.mul(c, c))
    above, below = make.add(m, make.mul(q, square)), make.mul(q, make.sub(square, m))
    divisor = make.add(make.mul(m, m), make.mul(two, make.mul(q, square)))
    real = make.where(_is(a, "less", 0), below, above)
    return make.div(real, divisor), make.div(make.mul(two, make.mul(q, make.mul(s, c))), divisor)


def sin(z: Parts) -> Parts:
    """`sin a cosh b + i cos a sinh b`; an imaginary part that is 0 or infinite stays where a is no finite number."""
    a, b = z
    real, imag = _circular(z, ptir.SinOp, ptir.CosOp)
    stays = make.compare("equal", make.add(b, b), b)
    return real, make.where(_both(_is_no_number(a), stays), b, imag)


def cos(z: Parts) -> Parts:
    """`cos a cosh b - i sin a sinh b`; where a is no finite number, an infinite b gives an infinite real part, and a 0 stays."""
    a, b = z
    real, imag = _circular(z, ptir.CosOp, ptir.SinOp)
    is_no_number = _is_no_number(a)
    real = make.where(_both(is_no_number, _is(_size(b), "equal", inf)), make.full(inf, a), real)
    return real, make.where(_both(is_no_number, _is(b, "equal", 0)), b, make.neg(imag))


def _circular(z: Parts, of_real: type[ptir.UnaryOp], of_imag: type[ptir.UnaryOp]) -> Parts:
    """Return `of_real(a) cosh b` and `of_imag(a) sinh b`, zeros where a factor is 0 and the other one infinite or NaN."""
    a, b = z
    sinh, cosh, rest = _hyperbolic(b)
    before = make.mul(make.make(of_real, a), cosh), make.mul(make.make(of_imag, a), sinh)
    real, imag = (make.where(_is(x, "equal", 0), x, y) for x, y in zip(before, _grown(rest, *before), strict=True))
    return real, imag


def tanh(z: Parts) -> Parts:
    """`(sinh a cosh a + i sin b cos b) / (sinh a sinh a + cos b cos b)`; a great a gives 1 and `4 e^-2|a| sin b cos b`."""
    a, b = z
    sinh, cosh, rest = _hyperbolic(a)
    s, c = make.make(ptir.SinOp, b), make.make(ptir.CosOp, b)
    divisor = make.add(make.mul(sinh, sinh), make.mul(c, c))
    is_one = _both(_is(rest, "not_equal", 0), _is(make.sub(b, b), "equal", 0))
    stays = make.elementwise(ptir.OrOp, make.compare("equal", make.add(a, a), a), is_one, dtype=I1)
    limited = make.make(ptir.ClampOp, a, make.full(-1, a), make.full(1, a))
    decay = make.make(ptir.ExpOp, make.neg(rest))
    imag = make.mul(make.mul(make.div(make.mul(s, c), divisor), decay), decay)
    imag = make.where(_both(_is(_size(a), "equal", inf), _is_no_number(b)), make.full(0, b), imag)
    return make.where(stays, limited, make.div(make.mul(sinh, cosh), divisor)), make.where(_is(b, "equal", 0), b, imag)


LIMITS: Mapping[PtirDType, float] = {F32: 10.0, F64: 20.0}
"""Whole numbers above which `e^-2x` is nothing next to 1."""


def _hyperbolic(x: Value) -> tuple[Value, Value, Value]:
    """
    Return `sinh` and `cosh` of x within the limits, and the magnitude beyond them: where it is not 0, they grow by `e^rest`.

    The two are finite; where x is NaN, the rest is.
    """
    size = _size(x)
    limit = make.full(LIMITS[make.spec(x).dtype], x)
    inner = make.where(make.compare("less", size, limit), size, limit)
    above = make.make(ptir.Expm1Op, inner)
    power = make.add(above, make.full(1, x))
    sinh = make.scale(make.add(above, make.div(above, power)), 0.5)
    cosh = make.scale(make.add(power, make.make(ptir.ReciprocalOp, power)), 0.5)
    return _with_sign(sinh, x), cosh, make.sub(size, inner)


def _grown(exponent: Value, *numbers: Value) -> tuple[Value, ...]:
    """Return numbers times `e^exponent`, by its square root twice, so that none overflows earlier than the product does."""
    half = make.make(ptir.ExpOp, make.scale(exponent, 0.5))
    return tuple(make.mul(make.mul(half, x), half) for x in numbers)


def logarithm(z: Parts, less_one: Value | None = None) -> Parts:
    """
    `log |z| + i atan2(b, a)`; near 1 by `m m + n n - 1 = (m - 1) (m + 1) + n n`, of the greater part m and the other, n.

    `less_one` is `a - 1`, where it is known with more digits than `a` has.
    """
    a, b = z
    scaled = _Scaled.of(z)
    m, n = _greater(_size(a), _size(b)), make.elementwise(ptir.MinimumOp, _size(a), _size(b))
    one, half = make.full(1, a), make.full(0.5, a)
    above = make.add(make.mul(make.sub(m, one), make.add(m, one)), make.mul(n, n))
    if less_one is not None:
        shifted = make.mul(less_one, make.add(less_one, make.full(2, a)))
        above = make.where(_is(_size(less_one), "less", 0.5), make.add(shifted, make.mul(b, b)), above)
    near = make.mul(half, make.make(ptir.Log1pOp, above))
    apart = make.sub(make.make(ptir.LogOp, scaled.size), scaled.chosen(log))
    real = make.where(_both(_is(m, "greater_equal", 0.5), _is(m, "less", 2)), near, apart)
    return scaled.or_infinite(real), make.elementwise(ptir.Atan2Op, b, a)


def log1p(z: Parts) -> Parts:
    """`log(1 + z)`, near 0 of what `|1 + z|` squared is above 1, `a (a + 2) + b b`."""
    a, b = z
    return logarithm((make.add(a, make.full(1, a)), b), less_one=a)


def root(z: Parts) -> Parts:
    """
    The square root, `t + b / 2t i` or, where a < 0, `|b| / 2t + t i` with the sign of b, where `t = sqrt((|a| + |z|) / 2)`.

    Zeros stay, and an infinite imaginary part makes both parts infinite.
    """
    a, b = z
    scaled = _Scaled.of(z)
    x, y = scaled.parts
    half, zero, infinity = make.full(0.5, a), make.full(0, a), make.full(inf, a)
    t = make.make(ptir.SqrtOp, make.mul(half, make.add(_size(x), scaled.size)))
    t = make.where(make.compare("equal", _size(a), infinity), infinity, t)
    other, back = make.mul(half, make.div(y, t)), scaled.chosen(lambda s: 1 / sqrt(s))
    t, other = make.mul(t, back), make.mul(other, back)
    is_negative = make.compare("less", a, zero)
    real, imag = make.where(is_negative, _size(other), t), make.where(is_negative, _with_sign(t, b), other)
    is_zero, is_infinite = make.compare("equal", scaled.largest, zero), make.compare("equal", _size(b), infinity)
    real = make.where(is_infinite, infinity, make.where(is_zero, zero, real))
    return real, make.where(is_infinite, b, make.where(is_zero, b, imag))


def _with_sign(x: Value, of: Value) -> Value:
    """A number that is not negative, with the sign of another."""
    dtype, shape = make.spec(of)
    integer = SI32 if dtype is F32 else SI64
    bits = make.make(ptir.BitcastOp, of, type=make.typed(integer, shape), dtype=integer)
    return make.where(_is(bits, "less", 0), make.neg(x), x)


def reciprocal_root(z: Parts) -> Parts:
    """`1 / sqrt(z)`."""
    found = root(z)
    return quotient((make.full(1, found[0]), make.full(0, found[0])), found)
