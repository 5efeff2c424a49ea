"""
Rows of Chebyshev polynomials of the four kinds, whose degrees are data.

By closed forms in f64 (NIST Digital Library of Mathematical Functions, 18.5.1 to 18.5.4): with `x = cos a` quotients of sines and
cosines of multiples of a, beyond 1 of hyperbolic ones. Below 0 the values are those of `-x`, with the sign of an odd degree,
where the third and the fourth kind change places. At 1 they are tangents, so that derivatives are right there too.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import F64

from ..formulas import Formula
from ..stablehlo.chlo import REAL_COSH, REAL_SINH
from ..unsupported import Refused
from .converter import AtenConverter, Call, Operand, Row, Table

FIRST, SECOND, THIRD, FOURTH = "t", "u", "v", "w"
_MIRRORED = {THIRD: FOURTH, FOURTH: THIRD}


def _closed(m: Formula, kind: str, n: SSAValue, angle: SSAValue, *, beyond: bool) -> SSAValue:
    """`cos(n a)`, `sin((n + 1) a) / sin a`, `cos((n + 1/2) a) / cos(a / 2)` or `sin((n + 1/2) a) / sin(a / 2)`; hyperbolic."""

    def wave(multiple: SSAValue, *, even: bool) -> SSAValue:
        if beyond:
            return (REAL_COSH if even else REAL_SINH)(m.to, multiple)
        return m(ptir.CosOp if even else ptir.SinOp, multiple)

    if kind == FIRST:
        return wave(m.mul(n, angle), even=True)
    step, unit = (1.0, angle) if kind == SECOND else (0.5, m.mul(angle, 0.5))
    return m.div(wave(m.mul(m.add(n, step), angle), even=kind == THIRD), wave(unit, even=kind == THIRD))


def _tangent(m: Formula, kind: str, n: SSAValue, rise: SSAValue) -> SSAValue:
    """The value and slope at 1."""
    if kind == FIRST:
        return m.add(1.0, m.mul(m.mul(n, n), rise))
    pairs = m.mul(n, m.add(n, 1.0))
    if kind == THIRD:
        return m.add(1.0, m.mul(pairs, rise))
    value = m.add(n, 1.0) if kind == SECOND else m.add(m.mul(n, 2.0), 1.0)
    slope = m.mul(pairs, m.add(n, 2.0)) if kind == SECOND else m.mul(pairs, value)
    return m.add(value, m.mul(m.div(slope, 3.0), rise))


def _above(m: Formula, kind: str, n: SSAValue, a: SSAValue) -> SSAValue:
    """Of `a` from 0 on."""
    inner, outer = (m.to.select(m.to.compare(word, a, 1.0), a, m.to.like(v, a)) for word, v in (("less", 0.5), ("greater", 2.0)))
    sine = m.mul(m(ptir.SqrtOp, m.sub(1.0, inner)), m(ptir.SqrtOp, m.add(inner, 1.0)))
    within = _closed(m, kind, n, m(ptir.Atan2Op, sine, inner), beyond=False)
    rise = m.sub(outer, 1.0)
    root = m.mul(m(ptir.SqrtOp, rise), m(ptir.SqrtOp, m.add(outer, 1.0)))
    beyond = _closed(m, kind, n, m(ptir.Log1pOp, m.add(rise, root)), beyond=True)
    found = m.to.select(m.to.compare("less", a, 1.0), within, beyond)
    return m.to.select(m.to.compare("equal", a, 1.0), _tangent(m, kind, n, m.sub(a, 1.0)), found)


def chebyshev(kind: str, *, shifted: bool) -> Row:
    """Of `x`, or of `2 x - 1`; of the whole part of a degree, 0 for negative ones."""

    def row(to: AtenConverter, call: Call, x: Operand, n: Operand) -> SSAValue:
        if not call.dtype.is_float:
            raise Refused(f"a polynomial of {call.dtype}")
        x, n = (to.cast(to.operand(call, v), F64) for v in (x, n))
        m = Formula(to, x)
        x = m.sub(m.mul(x, 2.0), 1.0) if shifted else x
        is_below = to.compare("less", x, 0.0)
        is_negative = to.compare("less_equal", n, -1.0)
        degree = m(ptir.FloorOp, to.select(to.compare("less", n, 0.0), to.like(0.0, n), n))
        a = to.select(is_below, m(ptir.NegOp, x), x)
        found = _above(m, kind, degree, a)
        below = _above(m, _MIRRORED[kind], degree, a) if kind in _MIRRORED else found
        odd = to.compare("not_equal", m(ptir.RemainderOp, degree, 2.0), 0.0)
        below = to.select(odd, m(ptir.NegOp, below), below)
        found = to.select(is_below, below, found)
        found = to.select(to.compare("equal", x, x), found, x)
        found = to.select(to.compare("equal", degree, 0.0), to.like(1.0, x), found)
        found = to.select(is_negative, to.like(0.0, n), found)
        return to.cast(found, call.dtype)

    return row


ORTHOGONAL: Table = {
    f"special_{'shifted_' if shifted else ''}chebyshev_polynomial_{kind}.{overload}": chebyshev(kind, shifted=shifted)
    for kind in (FIRST, SECOND, THIRD, FOURTH)
    for shifted in (False, True)
    for overload in ("default", "x_scalar", "n_scalar")
}
