"""Rows of elementwise ops that are about NaN, signs and bits: extremes that pass over NaN, sign bits, and adjacent floats."""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import DTYPES, I1

from ..stablehlo.chlo import next_after
from .converter import AtenConverter, Call, Operand, Row, Table


def _number_extreme(kind: str, of_truths: type[ptir.PtirOp]) -> Row:
    """The greater or the less, the other where one is NaN; the first of equals, to which torch gives the derivative."""

    def row(to: AtenConverter, call: Call, x: Operand, y: Operand) -> SSAValue:
        x, y = to.operand(call, x), to.operand(call, y)
        if call.dtype is I1:
            return to.emit(of_truths, x, y)
        is_first = to.compare(kind, x, y)
        if call.dtype.is_float:
            is_first = to.emit(ptir.OrOp, is_first, to.compare("not_equal", y, y))
        return to.select(is_first, x, y)

    return row


def signbit(to: AtenConverter, x: SSAValue) -> SSAValue:
    """The highest bit: of floats it is set for -0 and for some NaN."""
    dtype = to.dtype(x)
    if dtype is I1:
        return to.like(False, x)
    return to.compare("less", to.bits(x, DTYPES[f"si{dtype.bits}"]) if dtype.is_float else x, 0)


def _signbit(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
    return signbit(to, x)


def _next_after(to: AtenConverter, call: Call, x: Operand, y: Operand) -> SSAValue:
    """The derivative is that of `x`, as the step is constant between powers of 2: `x - x` without a derivative is added to it."""
    x, y = to.operand(call, x), to.operand(call, y)
    found = to.emit(ptir.StopGradientOp, next_after(to, x, y))
    moving = to.emit(ptir.AddOp, found, to.emit(ptir.SubOp, x, to.emit(ptir.StopGradientOp, x)))
    size = to.emit(ptir.AbsOp, found)
    is_plain = to.emit(ptir.AndOp, to.compare("not_equal", x, y), to.compare("greater", size, 0.0))  # -0 + 0 is 0
    is_plain = to.emit(ptir.AndOp, is_plain, to.compare("less", to.emit(ptir.AbsOp, x), math.inf))
    return to.select(is_plain, moving, found)


NEIGHBOURS: Table = {
    "fmax.default": _number_extreme("greater_equal", ptir.OrOp),
    "fmin.default": _number_extreme("less_equal", ptir.AndOp),
    "nextafter.default": _next_after,
    "signbit.default": _signbit,
}
