"""Formulas of real numbers as importers write them: arithmetic in which plain numbers stand for constants, and polynomials."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import F32

from .landing import Lander


class Formula:
    """Arithmetic of real numbers as it is written, for the formulas below; plain numbers stand for constants."""

    def __init__(self, to: Lander, x: SSAValue):
        self.to, self.x = to, x

    def __call__(self, op_type: Callable[..., ptir.PtirOp], *operands: SSAValue | float) -> SSAValue:
        return self.to.emit(op_type, *(v if isinstance(v, SSAValue) else self.to.like(v, self.x) for v in operands))

    def add(self, x: SSAValue | float, y: SSAValue | float) -> SSAValue:
        """`x + y`."""
        return self(ptir.AddOp, x, y)

    def sub(self, x: SSAValue | float, y: SSAValue | float) -> SSAValue:
        """`x - y`."""
        return self(ptir.SubOp, x, y)

    def mul(self, x: SSAValue | float, y: SSAValue | float) -> SSAValue:
        """`x * y`."""
        return self(ptir.MulOp, x, y)

    def div(self, x: SSAValue | float, y: SSAValue | float) -> SSAValue:
        """`x / y`."""
        return self(ptir.DivOp, x, y)


def _real(to: Lander, x: SSAValue) -> Formula:
    """Formulas on a real number, computed in f32 at least."""
    return Formula(to, to.cast(x, F32) if to.dtype(x).bits < 32 else x)


def of_real(formula: Callable[[Formula, SSAValue], SSAValue]) -> Callable[[Lander, SSAValue], SSAValue]:
    """A function of real numbers by its formula."""

    def function(to: Lander, x: SSAValue) -> SSAValue:
        m = _real(to, x)
        return to.cast(formula(m, m.x), to.dtype(x))

    return function


def polynomial(m: Formula, t: SSAValue, coefficients: Sequence[float]) -> SSAValue:
    """Horner's scheme, lowest power first."""
    found: SSAValue | float = coefficients[-1]
    for c in coefficients[-2::-1]:
        found = m.add(m.mul(t, found), c)
    return found if isinstance(found, SSAValue) else m.to.like(found, t)
