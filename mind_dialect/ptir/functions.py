"""EXTENSION elementwise functions that importers and array libraries need: of real numbers, and of the bits of integers."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition

from .base import PtirOp
from .elementwise import BinaryOp, UnaryOp


@irdl_op_definition
class Atan2Op(BinaryOp):
    """The angle of the point `(rhs, lhs)`, from -pi to pi, as IEEE 754 defines atan2."""

    name = "ptir.atan2"
    EXTENSION: ClassVar = "angles, and the inverses of sine, cosine and tangent"


@irdl_op_definition
class CbrtOp(UnaryOp):
    """The cube root, with the sign of `x`."""

    name = "ptir.cbrt"
    EXTENSION: ClassVar = "pow is NaN for negative numbers, and rounds 1 / 3"


@irdl_op_definition
class RoundAwayOp(UnaryOp):
    """The nearest whole number, ties away from zero."""

    name = "ptir.round_away"
    EXTENSION: ClassVar = "round takes ties to even; C, StableHLO and others also have this"


@irdl_op_definition
class ErfInvOp(UnaryOp):
    """The number whose error function is `x`: infinite at -1 and 1, NaN beyond."""

    name = "ptir.erf_inv"
    EXTENSION: ClassVar = "normal random numbers from uniform ones; no sum of other ops is precise"


@irdl_op_definition
class LgammaOp(UnaryOp):
    """The logarithm of the magnitude of the gamma function: +inf at 0 and the negative integers."""

    name = "ptir.lgamma"
    EXTENSION: ClassVar = "densities of distributions; no sum of other ops is precise"


@irdl_op_definition
class DigammaOp(UnaryOp):
    """The derivative of `lgamma`: NaN at 0 and the negative integers."""

    name = "ptir.digamma"
    EXTENSION: ClassVar = "the derivative of lgamma"


@irdl_op_definition
class PopcountOp(UnaryOp):
    """The number of bits that are set, in the dtype of `x`."""

    name = "ptir.popcount"
    EXTENSION: ClassVar = "hashing and sets of bits; a dozen ops otherwise"


@irdl_op_definition
class CountLeadingZerosOp(UnaryOp):
    """The number of 0 bits above the highest bit that is set, in the dtype of `x`; for 0, all bits count."""

    name = "ptir.count_leading_zeros"
    EXTENSION: ClassVar = "logarithms of integers; a dozen ops otherwise"


FUNCTIONS: tuple[type[PtirOp], ...] = (*(CbrtOp, RoundAwayOp, ErfInvOp, LgammaOp, PopcountOp, CountLeadingZerosOp, Atan2Op),)
"""Functions that a kernel of any target can hold together with other elementwise ops; `digamma` is several ops."""
