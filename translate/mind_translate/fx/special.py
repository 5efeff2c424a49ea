"""
Rows of special functions. All are computed in f64 and rounded once, so that f32 results are often nearer than torch's.

Piecewise formulas are evaluated within their piece only, by clamped operands: derivatives of other pieces stay finite.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import F64

from ..bessel import bessel_ie
from ..erfc import erfc, erfcx
from ..formulas import Formula, polynomial
from ..unsupported import Refused
from ..zeta import digamma, polygamma, zeta
from . import special_coefficients as c
from .converter import AtenConverter, Call, Operand, Row, Table

Function = Callable[[Formula], SSAValue]
ROOT_2_BY_PI, QUARTER = math.sqrt(2 / math.pi), math.pi / 4


def _of_f64(function: Function) -> Row:
    def row(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
        if not call.dtype.is_float:
            raise Refused(f"a special function of {call.dtype}")
        return to.cast(function(Formula(to, to.cast(x, F64))), call.dtype)

    return row


def _quotient(m: Formula, x: SSAValue, fraction: tuple[tuple[float, ...], tuple[float, ...]]) -> SSAValue:
    return m.div(polynomial(m, x, fraction[0]), polynomial(m, x, fraction[1]))


def _clamped(m: Formula, x: SSAValue, low: float, high: float) -> SSAValue:
    """Within bounds, at which the derivative is that of x; NaN stays."""
    x = m.to.select(m.to.compare("less", x, low), m.to.like(low, x), x)
    return m.to.select(m.to.compare("greater", x, high), m.to.like(high, x), x)


def _chosen(m: Formula, kind: str, bound: float, first: SSAValue, second: SSAValue) -> SSAValue:
    """`first` where `x kind bound`."""
    return m.to.select(m.to.compare(kind, m.x, bound), first, second)


def _bessel_i(order: int, *, scaled: bool) -> Function:
    """`exp(-|x|) I(x)`, or `I(x)`: NaN at infinities, as torch has it."""

    def function(m: Formula) -> SSAValue:
        found = bessel_ie(order, m)
        return found if scaled else m.mul(found, m(ptir.ExpOp, m(ptir.AbsOp, m.x)))

    return function


def _far_bessel(m: Formula, x: SSAValue, first: type[ptir.PtirOp], second: type[ptir.PtirOp], sign: float) -> SSAValue:
    """`sqrt(2 / (pi x)) (p first(x - pi/4) + sign q second(x - pi/4))` from 5 on (Cephes, `j0.c`)."""
    square = m.div(25.0, m.mul(x, x))
    angle = m.sub(x, QUARTER)
    even = m.mul(_quotient(m, square, c.ORDER_0_COSINE), m(first, angle))
    odd = m.mul(m.mul(m.div(5.0 * sign, x), _quotient(m, square, c.ORDER_0_SINE)), m(second, angle))
    return m.div(m.mul(m.add(even, odd), ROOT_2_BY_PI), m(ptir.SqrtOp, x))


def _near_j0(m: Formula, x: SSAValue) -> SSAValue:
    square = m.mul(x, x)
    zeros = m.mul(m.sub(square, 5.78318596294678452118), m.sub(square, 30.4712623436620863991))
    return m.mul(zeros, _quotient(m, square, c.J0_NEAR))


def _bessel_j0(m: Formula) -> SSAValue:
    """NaN at infinities, as torch has it."""
    size = m(ptir.AbsOp, m.x)
    far = _far_bessel(m, _clamped(m, size, 5.0, math.inf), ptir.CosOp, ptir.SinOp, -1)
    return m.to.select(m.to.compare("less_equal", size, 5.0), _near_j0(m, _clamped(m, size, 0.0, 5.0)), far)


def _bessel_y0(m: Formula) -> SSAValue:
    """`-inf` at 0, NaN below it."""
    near = _clamped(m, m.x, 5e-324, 5.0)
    logarithm = m.mul(m.mul(m(ptir.LogOp, near), 2 / math.pi), _near_j0(m, near))
    near = m.add(_quotient(m, m.mul(near, near), c.Y0_NEAR), logarithm)
    found = _chosen(m, "less_equal", 5.0, near, _far_bessel(m, _clamped(m, m.x, 5.0, math.inf), ptir.SinOp, ptir.CosOp, 1))
    found = _chosen(m, "less", 0.0, m.to.like(math.nan, found), found)
    return _chosen(m, "equal", 0.0, m.to.like(-math.inf, found), found)


def _spherical_j0(m: Formula) -> SSAValue:
    """`sin(x) / x`, by its series near 0; 0 at infinities."""
    square = m.mul(small := _clamped(m, m.x, -0.5, 0.5), small)
    near = polynomial(m, square, [(-1) ** k / math.factorial(2 * k + 1) for k in range(9)])
    size = m(ptir.AbsOp, m.x)
    is_far = m.to.compare("greater_equal", size, 0.5)
    is_plain = m.to.emit(ptir.AndOp, is_far, m.to.compare("less", size, math.inf))
    x = m.to.select(is_plain, m.x, m.to.like(1.0, m.x))
    far = m.to.select(is_plain, m.div(m(ptir.SinOp, x), x), m.to.like(0.0, x))
    return m.to.select(is_far, far, near)


def _airy_middle(m: Formula, x: SSAValue) -> SSAValue:
    """Between -2.09 and 2.09 the two series in `x^3` (NIST Digital Library of Mathematical Functions, 9.4.1)."""
    cube = m.mul(m.mul(x, x), x)
    first, second = [1.0], [1.0]
    for k in range(1, 18):
        first.append(first[-1] / ((3 * k - 1) * 3 * k))
        second.append(second[-1] / (3 * k * (3 * k + 1)))
    return m.sub(
        m.mul(polynomial(m, cube, first), 0.355028053887817239260),
        m.mul(m.mul(x, polynomial(m, cube, second)), 0.258819403792806798405),
    )


def _airy_below(m: Formula, x: SSAValue) -> SSAValue:
    """Of `-x` from 2.09 on, by a sine and a cosine of `2/3 (-x)^(3/2)` (Cephes, `airy.c`)."""
    root = m(ptir.SqrtOp, x)
    angle = m.mul(m.mul(x, root), 2 / 3)
    z = m.div(1.0, angle)
    square, turned = m.mul(z, z), m.add(angle, QUARTER)
    sine = m.mul(m(ptir.SinOp, turned), m.add(m.mul(square, _quotient(m, square, c.AIRY_SINE)), 1.0))
    cosine = m.mul(m(ptir.CosOp, turned), m.mul(z, _quotient(m, square, c.AIRY_COSINE)))
    return m.mul(m.div(m.sub(sine, cosine), m(ptir.SqrtOp, root)), 1 / math.sqrt(math.pi))


def _airy_above(m: Formula, x: SSAValue) -> SSAValue:
    root = m(ptir.SqrtOp, x)
    angle = m.mul(m.mul(x, root), 2 / 3)
    decay = m.div(m(ptir.ExpOp, m(ptir.NegOp, angle)), m(ptir.SqrtOp, root))
    return m.mul(m.mul(_quotient(m, m.div(1.0, angle), c.AIRY_FAR), decay), 0.5 / math.sqrt(math.pi))


def _airy_ai(m: Formula) -> SSAValue:
    """NaN at infinities, as torch has it."""
    middle = _airy_middle(m, _clamped(m, m.x, -2.09, 2.09))
    above = _airy_above(m, _clamped(m, m.x, 2.09, 1e4))
    below = _airy_below(m, _clamped(m, m(ptir.NegOp, m.x), 2.09, math.inf))
    found = _chosen(m, "greater_equal", 2.09, above, _chosen(m, "less", -2.09, below, middle))
    return _chosen(m, "equal", math.inf, m.to.like(math.nan, found), found)


def _ndtri(m: Formula) -> SSAValue:
    """The quantile of the normal distribution: its middle and, by `sqrt(-2 log p)`, its two tails (Cephes, `ndtri.c`)."""
    edge = math.exp(-2)
    upper = m.to.compare("greater", m.x, 0.5)
    tail = m.to.select(upper, m.sub(1.0, m.x), m.x)
    y = m.sub(_clamped(m, m.x, edge, 1 - edge), 0.5)
    square = m.mul(y, y)
    middle = m.mul(m.add(y, m.mul(y, m.mul(square, _quotient(m, square, c.QUANTILE_MIDDLE)))), math.sqrt(2 * math.pi))
    root = m(ptir.SqrtOp, m.mul(m(ptir.LogOp, _clamped(m, tail, 5e-324, edge)), -2.0))
    z = m.div(1.0, root)
    is_near = m.to.compare("less", root, 8.0)
    rest = m.to.select(is_near, _quotient(m, z, c.QUANTILE_TAIL), _quotient(m, z, c.QUANTILE_FAR_TAIL))
    far = m.sub(m.sub(root, m.div(m(ptir.LogOp, root), root)), m.mul(z, rest))
    far = m.to.select(upper, far, m(ptir.NegOp, far))
    found = m.to.select(m.to.compare("greater", tail, edge), middle, far)
    for value, limit in ((0.0, -math.inf), (1.0, math.inf)):
        found = _chosen(m, "equal", value, m.to.like(limit, found), found)
    return m.to.select(m.to.compare("less", tail, 0.0), m.to.like(math.nan, found), found)


def _entr(m: Formula) -> SSAValue:
    """`-x log x`, 0 at 0, where the slope is infinite, and -inf below, where the slope is NaN."""
    kinds = ("greater", "equal", "less")
    positive, zero, below = (m.to.select(m.to.compare(kind, m.x, 0.0), m.x, m.to.like(1.0, m.x)) for kind in kinds)
    found = m(ptir.NegOp, m.mul(positive, m(ptir.LogOp, positive)))
    found = _chosen(m, "equal", 0.0, m(ptir.SqrtOp, m.add(zero, 0.0)), found)  # the root has this value and slope at 0
    without_slope = m(ptir.SqrtOp, m.add(m.mul(below, 0.0), 0.0))
    found = _chosen(m, "less", 0.0, m.add(without_slope, -math.inf), found)
    found = _chosen(m, "equal", -math.inf, m.to.like(-math.inf, m.x), found)  # above, 0 times -inf is NaN
    return m.to.select(m.to.compare("equal", m.x, m.x), found, m.x)


def _log_ndtr(m: Formula) -> SSAValue:
    """The logarithm of the normal distribution's function: by erfcx up to 1, by log1p beyond."""
    is_low = m.to.compare("less", m.x, 1.0)
    low, high = m.to.select(is_low, m.x, m.to.like(0.0, m.x)), m.to.select(is_low, m.to.like(1.0, m.x), m.x)
    root = m.mul(low, -math.sqrt(0.5))
    below = m.sub(m(ptir.LogOp, m.mul(erfcx(Formula(m.to, root)), 0.5)), m.mul(root, root))
    return m.to.select(is_low, below, m(ptir.Log1pOp, m.mul(erfc(m.to, m.mul(high, math.sqrt(0.5))), -0.5)))


def _polygamma(to: AtenConverter, call: Call, n: int, x: SSAValue) -> SSAValue:
    if not call.dtype.is_float:
        raise Refused(f"a special function of {call.dtype}")
    return to.cast(polygamma(to, n, to.cast(x, F64)), call.dtype)


def _zeta(to: AtenConverter, call: Call, s: Operand, q: Operand, *_: Any) -> SSAValue:
    s, q = (to.cast(to.operand(call, v), F64) for v in (s, q))
    return to.cast(zeta(to, s, q), call.dtype)


def _digamma(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
    return digamma(to, to.cast(x, call.dtype))


SPECIAL: Table = {
    "digamma.default": _digamma,
    "i0.default": _of_f64(_bessel_i(0, scaled=False)),
    "polygamma.default": _polygamma,
    "special_airy_ai.default": _of_f64(_airy_ai),
    "special_bessel_j0.default": _of_f64(_bessel_j0),
    "special_bessel_y0.default": _of_f64(_bessel_y0),
    "special_i0e.default": _of_f64(_bessel_i(0, scaled=True)),
    "special_i1.default": _of_f64(_bessel_i(1, scaled=False)),
    "special_i1e.default": _of_f64(_bessel_i(1, scaled=True)),
    "special_entr.default": _of_f64(_entr),
    "special_log_ndtr.default": _of_f64(_log_ndtr),
    "special_erfcx.default": _of_f64(erfcx),
    "special_modified_bessel_i0.default": _of_f64(_bessel_i(0, scaled=False)),
    "special_modified_bessel_i1.default": _of_f64(_bessel_i(1, scaled=False)),
    "special_ndtri.default": _of_f64(_ndtri),
    "special_spherical_bessel_j0.default": _of_f64(_spherical_j0),
    **{f"special_zeta.{overload}": _zeta for overload in ("default", "other_scalar", "self_scalar")},
}
