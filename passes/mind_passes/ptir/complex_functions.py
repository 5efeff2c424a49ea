"""
Functions of complex numbers by their parts, as C's `complex.h` has them: infinities, NaN and the signs of zeros included.

No square on the way overflows or vanishes before the result does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, log, sqrt
from typing import TypeAlias

from mind_dialect import ptir
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
    """`e^a (cos b + i sin b)`, by `e^(a / 2)` twice, so that it overflows no earlier than a part does."""
    a, b = z
    half = make.make(ptir.ExpOp, make.scale(a, 0.5))
    real, imag = (make.mul(make.mul(half, make.make(f, b)), half) for f in (ptir.CosOp, ptir.SinOp))
    is_no_number = _is(make.sub(b, b), "not_equal", 0)
    real = make.where(_both(_is(a, "equal", inf), is_no_number), make.full(inf, a), real)
    imag = make.where(_is(b, "equal", 0), b, imag)
    is_nothing, zero = _both(_is(a, "equal", -inf), is_no_number), make.full(0, a)
    return make.where(is_nothing, zero, real), make.where(is_nothing, zero, imag)


def logarithm(z: Parts) -> Parts:
    """`log |z| + i atan2(b, a)`; near 1 by `m m + n n - 1 = (m - 1) (m + 1) + n n`, of the greater part m and the other, n."""
    a, b = z
    scaled = _Scaled.of(z)
    m, n = _greater(_size(a), _size(b)), make.elementwise(ptir.MinimumOp, _size(a), _size(b))
    one, half = make.full(1, a), make.full(0.5, a)
    above = make.add(make.mul(make.sub(m, one), make.add(m, one)), make.mul(n, n))
    near = make.mul(half, make.make(ptir.Log1pOp, above))
    apart = make.sub(make.make(ptir.LogOp, scaled.size), scaled.chosen(log))
    real = make.where(_both(_is(m, "greater", 0.5), _is(m, "less", 2)), near, apart)
    return scaled.or_infinite(real), make.elementwise(ptir.Atan2Op, b, a)


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
