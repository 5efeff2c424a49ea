"""The inverse of the error function: polynomials in the logarithm of what is missing to 1, or in its root where that is large."""

from __future__ import annotations

from collections.abc import Sequence

from ... import special_coefficients as k
from .reals import Reals

_PIECES_F32 = ((2.5, 2.5, k.ERF_INV_SMALL_F32), (3.1180339887498949, 0.8819660112501052, k.ERF_INV_LARGE_F32))
_PIECES_F64 = (
    *((3.125, 3.125, k.ERF_INV_SMALL_F64), (3.25, 0.75, k.ERF_INV_MIDDLE_F64)),
    (5.0625, 1.0625, k.ERF_INV_LARGE_F64),
)
"""Middle, half width and polynomial of each piece; the first is of the logarithm, the others of its root."""


def erf_inv(v: Reals, x: str, logarithm: str) -> str:
    """
    Emit `erf_inv`, given the logarithm of `(1 - x) (1 + x)`.

    Infinite at -1 and 1, NaN beyond: the logarithm is, and `x` times the polynomial of infinity has the sign of `x`.
    """
    one, w = v.c(1), v.neg(logarithm)
    root = v.sqrt(v.at_most(w, 37.0))
    pieces = _PIECES_F64 if v.double else _PIECES_F32
    found = _piece(v, w, *pieces[0])
    for bound, piece in zip((6.25, 16.0) if v.double else (5.0,), pieces[1:], strict=True):
        found = v.where(v.test("ogt", w, v.c(bound)), _piece(v, root, *piece), found)
    found = v.where(v.test("oeq", v.abs(x), one), v.c(float("inf")), found)
    return v.mul(x, found)


def _piece(v: Reals, x: str, middle: float, half: float, coefficients: Sequence[float]) -> str:
    t = v.mul(v.sub(x, v.c(middle)), v.c(1 / half))
    return v.polynomial(t, coefficients)
