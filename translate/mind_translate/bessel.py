"""The modified Bessel functions of the first kind of order 0 and 1, for every importer."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import F32, F64

from .bessel_coefficients import I0E_FAR, I0E_NEAR, I1E_FAR, I1E_FAR_F32, I1E_NEAR, I1E_NEAR_F32
from .formulas import Formula, polynomial
from .landing import Lander

_TABLES = ((I0E_NEAR, I0E_FAR), (I1E_NEAR, I1E_FAR))


def bessel_ie(order: int, m: Formula) -> SSAValue:
    """
    `exp(-|x|) I(x)`: up to 8 a polynomial in `|x|`, times `x` for order 1, beyond it one in `8 / |x|` over `sqrt(|x|)`.

    Within 4 units in the last place for operands of f64.
    """
    near_table, far_table = _TABLES[order]
    size = m(ptir.AbsOp, m.x)
    is_far = m.to.compare("greater", size, 8.0)
    small, large = (m.to.select(is_far, *pair) for pair in ((m.to.like(8.0, size), size), (size, m.to.like(8.0, size))))
    near = polynomial(m, m.sub(m.mul(small, 0.25), 1.0), near_table)
    far = m.div(polynomial(m, m.sub(m.div(16.0, large), 1.0), far_table), m(ptir.SqrtOp, large))
    if order == 1:
        near = m.mul(m.x, near)
        far = m.to.select(m.to.compare("less", m.x, 0.0), m(ptir.NegOp, far), far)
    return m.to.select(is_far, far, near)


def bessel_i1e(to: Lander, x: SSAValue) -> SSAValue:
    """`exp(-|x|) I(x)` of order 1: within 4 units in the last place of f64; dtypes narrower than f32 are computed in f32."""
    if to.dtype(x) is F64:
        return bessel_ie(1, Formula(to, x))
    return to.cast(_i1e_f32(Formula(to, to.cast(x, F32))), to.dtype(x))


def _polynomial(m: Formula, t: SSAValue, coefficients: Sequence[float]) -> SSAValue:
    """The polynomial in even and odd powers, computed side by side."""
    square = m.mul(t, t)
    even, odd = (polynomial(m, square, coefficients[start::2]) for start in (0, 1))
    return m.add(even, m.mul(t, odd))


def _i1e_f32(m: Formula) -> SSAValue:
    """
    The same pieces by short polynomials in f64, whose sum is rounded once.

    Quotient and root of the far piece are computed in f32; a step of Newton's method completes each in f64.
    """
    to, size = m.to, m(ptir.AbsOp, m.x)
    is_far = to.compare("greater", size, 8.0)
    small, large = (to.select(is_far, *pair) for pair in ((to.like(8.0, size), size), (size, to.like(8.0, size))))
    inverse = m.div(16.0, large)
    root = m.mul(m(ptir.SqrtOp, inverse), 0.25)
    large = to.select(to.compare("equal", large, math.inf), to.like(1.0, large), large)  # its root is 0
    wide_x, small, inverse, root, large = (to.cast(v, F64) for v in (m.x, small, inverse, root, large))
    w = Formula(to, wide_x)
    near = w.mul(wide_x, _polynomial(w, w.sub(w.mul(small, 0.25), 1.0), I1E_NEAR_F32))
    inverse = w.mul(inverse, w.sub(2.0, w.mul(w.mul(large, inverse), 0.0625)))
    root = w.mul(root, w.sub(1.5, w.mul(w.mul(w.mul(large, root), root), 0.5)))
    far = w.mul(polynomial(w, w.sub(inverse, 1.0), I1E_FAR_F32), root)
    far = to.select(to.compare("less", m.x, 0.0), w(ptir.NegOp, far), far)
    return to.cast(to.select(is_far, far, near), F32)
