"""
Functions of complex numbers that PTIR has for real ones only, by their parts.

Source of the formulas: W. Kahan, "Branch Cuts for Complex Elementary Functions", 1987.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import SSAValue

from mind_dialect import ptir

from ..landing import Lander

Function = Callable[[Lander, SSAValue], SSAValue]


def parts(to: Lander, z: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Return the real and the imaginary part."""
    return to.emit(ptir.RealOp, z), to.emit(ptir.ImagOp, z)


def _mul(to: Lander, x: SSAValue, y: SSAValue) -> SSAValue:
    return to.emit(ptir.MulOp, x, y)


def _scaled(to: Lander, x: SSAValue, factor: float) -> SSAValue:
    return to.emit(ptir.MulOp, x, to.like(factor, x))


def _complex(to: Lander, x: SSAValue, y: SSAValue) -> SSAValue:
    return to.emit(ptir.ComplexOp, x, y)


def _neg(to: Lander, x: SSAValue) -> SSAValue:
    return to.emit(ptir.NegOp, x)


def _roots(to: Lander, z: SSAValue, below: bool) -> tuple[SSAValue, SSAValue]:
    """
    Return `sqrt(1 - z)`, or `sqrt(z - 1)` if `below`, and `sqrt(1 + z)`.

    The imaginary part keeps the sign of a zero, which says the side of a branch cut; sums with the complex number 1 lose it.
    """
    x, y = parts(to, z)
    one = to.like(1.0, x)
    if below:
        first = _complex(to, to.emit(ptir.SubOp, x, one), y)
    else:
        first = _complex(to, to.emit(ptir.SubOp, one, x), _neg(to, y))
    return to.emit(ptir.SqrtOp, first), to.emit(ptir.SqrtOp, _complex(to, to.emit(ptir.AddOp, one, x), y))


def complex_asin(asinh: Function) -> Function:
    """`atan2(x, Re(sqrt(1 - z) sqrt(1 + z))) + i asinh(Im(conj(sqrt(1 - z)) sqrt(1 + z)))`, with `asinh` of real numbers."""

    def function(to: Lander, z: SSAValue) -> SSAValue:
        minus, plus = _roots(to, z, below=False)
        real = to.emit(ptir.Atan2Op, to.emit(ptir.RealOp, z), to.emit(ptir.RealOp, _mul(to, minus, plus)))
        return _complex(to, real, asinh(to, to.emit(ptir.ImagOp, _mul(to, to.emit(ptir.ConjOp, minus), plus))))

    return function


def complex_acos(asinh: Function) -> Function:
    """`2 atan2(Re sqrt(1 - z), Re sqrt(1 + z)) + i asinh(Im(conj(sqrt(1 + z)) sqrt(1 - z)))`."""

    def function(to: Lander, z: SSAValue) -> SSAValue:
        minus, plus = _roots(to, z, below=False)
        real = _scaled(to, to.emit(ptir.Atan2Op, to.emit(ptir.RealOp, minus), to.emit(ptir.RealOp, plus)), 2.0)
        return _complex(to, real, asinh(to, to.emit(ptir.ImagOp, _mul(to, to.emit(ptir.ConjOp, plus), minus))))

    return function


def complex_acosh(asinh: Function) -> Function:
    """`asinh(Re(conj(sqrt(z - 1)) sqrt(z + 1))) + 2i atan2(Im sqrt(z - 1), Re sqrt(z + 1))`."""

    def function(to: Lander, z: SSAValue) -> SSAValue:
        minus, plus = _roots(to, z, below=True)
        real = asinh(to, to.emit(ptir.RealOp, _mul(to, to.emit(ptir.ConjOp, minus), plus)))
        return _complex(
            to, real, _scaled(to, to.emit(ptir.Atan2Op, to.emit(ptir.ImagOp, minus), to.emit(ptir.RealOp, plus)), 2.0)
        )

    return function


def _turned(to: Lander, z: SSAValue) -> SSAValue:
    """`i z`."""
    x, y = parts(to, z)
    return _complex(to, _neg(to, y), x)


def _turned_back(to: Lander, z: SSAValue) -> SSAValue:
    """`-i z`."""
    x, y = parts(to, z)
    return _complex(to, y, _neg(to, x))


def turned(function: Function) -> Function:
    """`-i f(i z)`: `asinh` from `asin`, `atan` from `atanh`."""
    return lambda to, z: _turned_back(to, function(to, _turned(to, z)))


def complex_atanh(to: Lander, z: SSAValue) -> SSAValue:
    """`log1p(4x / ((1 - x)^2 + y^2)) / 4 + i atan2(2y, (1 - x)(1 + x) - y^2) / 2`."""
    x, y = parts(to, z)
    one = to.like(1.0, x)
    less, square = to.emit(ptir.SubOp, one, x), _mul(to, y, y)
    ratio = to.emit(ptir.DivOp, _scaled(to, x, 4.0), to.emit(ptir.AddOp, _mul(to, less, less), square))
    below = to.emit(ptir.SubOp, _mul(to, less, to.emit(ptir.AddOp, one, x)), square)
    return _complex(
        to, _scaled(to, to.emit(ptir.Log1pOp, ratio), 0.25), _scaled(to, to.emit(ptir.Atan2Op, _scaled(to, y, 2.0), below), 0.5)
    )


def complex_hyperbolic(of_cos: Function, of_sin: Function) -> Function:
    """`f x cos y + i g x sin y`: sinh of sinh and cosh, cosh of cosh and sinh."""

    def function(to: Lander, z: SSAValue) -> SSAValue:
        x, y = parts(to, z)
        return _complex(to, _mul(to, of_cos(to, x), to.emit(ptir.CosOp, y)), _mul(to, of_sin(to, x), to.emit(ptir.SinOp, y)))

    return function
