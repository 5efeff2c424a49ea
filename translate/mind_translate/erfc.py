"""The complementary error function, and the same without its decay, for every importer: in f64, rounded once."""

from __future__ import annotations

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import F32, F64

from .erfc_coefficients import ERFC_FAR, ERFC_NEAR
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
    `1 - erf(x)` up to 1, beyond it `exp(-x^2)` times a rational function of `x`, `2 - erfc(-x)` below 0, all in f64.

    `x^2` is split, so that its rounding is not multiplied by the exponential: within 8 units in the last place of f64 where the
    result is no denormal number; other dtypes are rounded once.
    """
    m = Formula(to, wide := to.cast(x, F64))
    size = m(ptir.MinimumOp, m(ptir.MaximumOp, m(ptir.AbsOp, wide), 1.0), 30.0)  # erfc(30) is 0 in f64
    high = m(ptir.StopGradientOp, to.cast(to.cast(size, F32), F64))  # its square is exact
    decay = m.mul(m(ptir.ExpOp, m(ptir.NegOp, m.mul(high, high))), m(ptir.ExpOp, m.mul(m.sub(high, size), m.add(high, size))))
    tail = m.mul(decay, _without_decay(m, size))
    tail = to.select(to.compare("less", wide, 0.0), m.sub(2.0, tail), tail)
    is_small = to.compare("less_equal", m(ptir.AbsOp, wide), 1.0)
    found = to.select(is_small, m.sub(1.0, m(ptir.ErfOp, wide)), tail)
    return to.cast(to.select(to.compare("equal", wide, wide), found, wide), to.dtype(x))


def erfcx(m: Formula) -> SSAValue:
    """`exp(x^2) erfc(x)` of a number of f64; infinite far below 0."""
    low = m.to.select(m.to.compare("greater", m.x, 1.0), m.to.like(1.0, m.x), m.x)  # at 1 the derivative is that of x, not shared
    product = m.mul(m(ptir.ExpOp, m.mul(low, low)), m.sub(1.0, m(ptir.ErfOp, low)))
    size = m(ptir.MinimumOp, m(ptir.MaximumOp, m.x, 1.0), _FARTHEST)
    last = m.div(_INVERSE_ROOT_OF_PI, m(ptir.MaximumOp, m.x, _FARTHEST))
    far = m.to.select(m.to.compare("greater", m.x, _FARTHEST), last, _without_decay(m, size))
    return m.to.select(m.to.compare("greater", m.x, 1.0), far, product)
