"""
Functions of complex numbers that PTIR has for real ones only, by their parts.

Source of the formulas: W. Kahan, "Branch Cuts for Complex Elementary Functions", 1987.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import F32

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


def _is_infinite(to: Lander, x: SSAValue) -> SSAValue:
    return to.compare("equal", to.emit(ptir.AbsOp, x), math.inf)


def _finite(to: Lander, x: SSAValue) -> SSAValue:
    """Return a real number, an eighth of the largest one where it is beyond that."""
    largest = 2.0**124 if to.dtype(x) == F32 else 2.0**1020
    return to.emit(ptir.MinimumOp, to.emit(ptir.MaximumOp, x, to.like(-largest, x)), to.like(largest, x))


def _of_finite(function: Function, real_is_infinite: bool) -> Function:
    """
    Return a function by its values at numbers with finite parts.

    One of its own parts is infinite where a part of the number is: the real or the imaginary one.
    """

    def extended(to: Lander, z: SSAValue) -> SSAValue:
        x, y = parts(to, z)
        found = list(parts(to, function(to, _complex(to, _finite(to, x), _finite(to, y)))))
        is_infinite = to.emit(ptir.MaximumOp, _is_infinite(to, x), _is_infinite(to, y))
        part = 0 if real_is_infinite else 1
        negative = to.compare("less", found[part], 0.0)
        endless = to.select(negative, to.like(-math.inf, x), to.like(math.inf, x))
        found[part] = to.select(is_infinite, endless, found[part])
        return _complex(to, *found)

    return extended


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

    return _of_finite(function, real_is_infinite=False)


def complex_acos(asinh: Function) -> Function:
    """`2 atan2(Re sqrt(1 - z), Re sqrt(1 + z)) + i asinh(Im(conj(sqrt(1 + z)) sqrt(1 - z)))`."""

    def function(to: Lander, z: SSAValue) -> SSAValue:
        minus, plus = _roots(to, z, below=False)
        real = _scaled(to, to.emit(ptir.Atan2Op, to.emit(ptir.RealOp, minus), to.emit(ptir.RealOp, plus)), 2.0)
        return _complex(to, real, asinh(to, to.emit(ptir.ImagOp, _mul(to, to.emit(ptir.ConjOp, plus), minus))))

    return _of_finite(function, real_is_infinite=False)


def complex_acosh(asinh: Function) -> Function:
    """`asinh(Re(conj(sqrt(z - 1)) sqrt(z + 1))) + 2i atan2(Im sqrt(z - 1), Re sqrt(z + 1))`."""

    def function(to: Lander, z: SSAValue) -> SSAValue:
        minus, plus = _roots(to, z, below=True)
        real = asinh(to, to.emit(ptir.RealOp, _mul(to, to.emit(ptir.ConjOp, minus), plus)))
        return _complex(
            to, real, _scaled(to, to.emit(ptir.Atan2Op, to.emit(ptir.ImagOp, minus), to.emit(ptir.RealOp, plus)), 2.0)
        )

    return _of_finite(function, real_is_infinite=True)


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
    """
    `log1p(4x / ((1 - x)^2 + y^2)) / 4 + i atan2(2y, (1 - x)(1 + x) - y^2) / 2`.

    Both fractions are reduced by the largest of 1, `|x|` and `|y|`, so that no square overflows. Of a negative x the function of
    -x is negated: a logarithm of a fraction near -1 would lose digits. It is selected, because the derivative of `|x|` at 0 is 0.
    """
    x, y = (_finite(to, v) for v in parts(to, z))
    is_negative = to.compare("less", x, 0.0)
    x = to.select(is_negative, to.emit(ptir.NegOp, x), x)
    one = to.like(1.0, x)
    larger = to.emit(ptir.MaximumOp, to.emit(ptir.AbsOp, x), to.emit(ptir.AbsOp, y))
    scale = to.emit(ptir.StopGradientOp, to.emit(ptir.MaximumOp, larger, one))
    less = to.emit(ptir.SubOp, one, x)
    small, low = to.emit(ptir.DivOp, less, scale), to.emit(ptir.DivOp, y, scale)
    square = _mul(to, low, y)
    ratio = to.emit(
        ptir.DivOp, _scaled(to, to.emit(ptir.DivOp, x, scale), 4.0), to.emit(ptir.AddOp, _mul(to, small, less), square)
    )
    below = to.emit(ptir.SubOp, _mul(to, small, to.emit(ptir.AddOp, one, x)), square)
    angle = to.emit(ptir.Atan2Op, _scaled(to, low, 2.0), below)
    real = _scaled(to, to.emit(ptir.Log1pOp, ratio), 0.25)
    return _complex(to, to.select(is_negative, to.emit(ptir.NegOp, real), real), _scaled(to, angle, 0.5))


def complex_hyperbolic(of_cos: Function, of_sin: Function) -> Function:
    """`f x cos y + i g x sin y`, with 0 for `inf * 0`: sinh of sinh and cosh, cosh of cosh and sinh."""

    def function(to: Lander, z: SSAValue) -> SSAValue:
        x, y = parts(to, z)
        large, small = of_sin(to, x), to.emit(ptir.SinOp, y)
        is_zero = to.emit(ptir.MinimumOp, to.compare("equal", small, 0.0), _is_infinite(to, large))
        large = to.select(is_zero, to.like(1.0, large), large)
        return _complex(to, _mul(to, of_cos(to, x), to.emit(ptir.CosOp, y)), _mul(to, large, small))

    return function
