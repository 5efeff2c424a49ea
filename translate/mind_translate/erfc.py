"""The complementary error function, and the same without its decay, for every importer."""

from __future__ import annotations

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import F32, F64

from .erfc_coefficients import ERFC_FAR, ERFC_NEAR, ERFC_TAIL_F32
from .formulas import Formula, polynomial
from .landing import Lander

_INVERSE_ROOT_OF_PI = 0.56418958354775628695
_FARTHEST = 1e25
"""Beyond it `exp(x^2) erfc(x)` is `1 / (x sqrt(pi))` in f64, and powers of x overflow."""


def _without_decay(m: Formula, size: SSAValue) -> SSAValue:
    """`exp(x^2) erfc(x)` from 1 on, by the rational functions of Cephes."""
    near, far = (m.div(*(polynomial(m, size, c) for c in fraction)) for fraction in (ERFC_NEAR, ERFC_FAR))
    return m.to.select(m.to.compare("less", size, 8.0), near, far)


def erfc(to: Lander, x: SSAValue) -> SSAValue:
    """
    `1 - erf(x)` near 0, beyond it `exp(-x^2)` times a rational function of `x`, and `2 - erfc(-x)` below 0.

    Within 8 units in the last place where the result is no denormal number; dtypes narrower than f32 are computed in f32. `x^2`
    is split, so that its rounding is not multiplied by the exponential.
    """
    if to.dtype(x) is not F64:
        return to.cast(_erfc_f32(Formula(to, to.cast(x, F32))), to.dtype(x))
    return _erfc_f64(Formula(to, x))


def _joined(m: Formula, tail: SSAValue, near: float) -> SSAValue:
    """Return `1 - erf(x)` for magnitudes of at most `near`, else the tail of the magnitude, or 2 less that below 0."""
    tail = m.to.select(m.to.compare("less", m.x, 0.0), m.sub(2.0, tail), tail)
    is_small = m.to.compare("less_equal", m(ptir.AbsOp, m.x), near)
    found = m.to.select(is_small, m.sub(1.0, m(ptir.ErfOp, m.x)), tail)
    return m.to.select(m.to.compare("equal", m.x, m.x), found, m.x)


def _erfc_f32(m: Formula) -> SSAValue:
    """`x^2` is a rounded square, and what is missing to the exact one (Dekker, 1971), by which the exponential is corrected."""
    size = m(ptir.MinimumOp, m(ptir.MaximumOp, m(ptir.AbsOp, m.x), 0.5), 10.1)  # erfc(10.1) is 0 in f32
    scaled = m.mul(size, 4097.0)
    high = m(ptir.StopGradientOp, m.sub(scaled, m.sub(scaled, size)))  # 12 bits, whose square is exact
    low, square = m.sub(size, high), m.mul(size, size)
    missing = m.add(m.add(m.sub(m.mul(high, high), square), m.mul(m.mul(2.0, high), low)), m.mul(low, low))
    decay = m.mul(m(ptir.ExpOp, m(ptir.NegOp, square)), m.sub(1.0, missing))
    rest = polynomial(m, m.div(m.sub(size, 2.0), m.add(size, 2.0)), ERFC_TAIL_F32)
    return _joined(m, m.mul(decay, m.div(rest, m.add(1.0, m.mul(2.0, size)))), 0.5)


def _erfc_f64(m: Formula) -> SSAValue:
    """`x^2` is a square without roundings and a rest, whose exponentials are multiplied."""
    to = m.to
    size = m(ptir.MinimumOp, m(ptir.MaximumOp, m(ptir.AbsOp, m.x), 1.0), 30.0)  # erfc(30) is 0 in f64
    high = m(ptir.StopGradientOp, to.cast(to.cast(size, F32), F64))  # its square is exact
    decay = m.mul(m(ptir.ExpOp, m(ptir.NegOp, m.mul(high, high))), m(ptir.ExpOp, m.mul(m.sub(high, size), m.add(high, size))))
    return _joined(m, m.mul(decay, _without_decay(m, size)), 1.0)


def erfcx(m: Formula) -> SSAValue:
    """`exp(x^2) erfc(x)` of a number of f64; infinite far below 0."""
    low = m.to.select(m.to.compare("greater", m.x, 1.0), m.to.like(1.0, m.x), m.x)  # at 1 the derivative is that of x, not shared
    product = m.mul(m(ptir.ExpOp, m.mul(low, low)), m.sub(1.0, m(ptir.ErfOp, low)))
    size = m(ptir.MinimumOp, m(ptir.MaximumOp, m.x, 1.0), _FARTHEST)
    last = m.div(_INVERSE_ROOT_OF_PI, m(ptir.MaximumOp, m.x, _FARTHEST))
    far = m.to.select(m.to.compare("greater", m.x, _FARTHEST), last, _without_decay(m, size))
    return m.to.select(m.to.compare("greater", m.x, 1.0), far, product)
