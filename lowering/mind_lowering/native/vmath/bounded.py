"""
tanh in f32, and erf: odd functions that tend to 1, in sixteen pieces of one width, each a polynomial around its middle.

The piece around 0 has no constant term, so results are as precise there as elsewhere. tanh in f64 would take polynomials that are
too long, for it is not entire; it is in `exponentials`.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import coefficients as k
from .reals import Reals


def _odd(v: Reals, name: str, x: str, step: float, rows: Sequence[Sequence[float]], steep: bool = False) -> str:
    """Beyond the last piece the function is 1 to the last bit."""
    size = v.at_most(v.abs(x), 15.49 * step)
    return v.with_sign_of(v.piecewise(name, size, step, rows, steep), x)


def tanh(v: Reals, x: str) -> str:
    """The hyperbolic tangent in f32."""
    return _odd(v, "tanh", x, k.TANH_STEP_F32, k.TANH_F32)


def erf(v: Reals, x: str) -> str:
    """The error function."""
    if v.double:
        return _odd(v, "erf", x, k.ERF_STEP_F64, k.ERF_F64)
    return _odd(v, "erf", x, k.ERF_STEP_F32, k.ERF_F32, steep=True)
