"""The modified Bessel functions of the first kind of order 0 and 1, for every importer."""

from __future__ import annotations

from xdsl.ir import SSAValue

from mind_dialect import ptir

from .bessel_coefficients import I0E_FAR, I0E_NEAR, I1E_FAR, I1E_NEAR
from .formulas import Formula, polynomial

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
