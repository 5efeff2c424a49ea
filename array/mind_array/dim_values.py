"""Sizes of dimensions as numbers that a program computes with."""

from __future__ import annotations

from functools import partial

from mind_dialect import ptir
from mind_dialect.extents.dims import extent_of, names_in
from mind_dialect.extents.operations import Algebra, fold
from mind_dialect.ptir.types import SI8, read_type

from .array import Array
from .dtypes import int64
from .emit import constant, emit
from .faults import fault
from .trace import ACTIVE, TracedArray, traced


def dim_value(dim: str) -> Array:
    """
    Return the size of a dimension, or of an expression of such, as a weak int64 number of the program.

    E1102 for a dimension of a function that is traced no longer, E1109 for one without a name.
    """
    if (trace := ACTIVE.get()) is None:
        message = f"dimension {str(dim)!r} of a function that is traced no longer"
        raise fault("E1102", message, made=str(dim), traced="nothing")
    if not names_in(dim):
        raise fault("E1109", f"the size of dimension {str(dim)!r}, expected one with a name", name=str(dim))

    def named(name: str) -> Array:
        for value in trace.block.args:
            if name in (spec := read_type(value.type)).shape:
                return emit(ptir.DimensionSizeOp, traced(value, trace, spec), axis=spec.shape.index(name))
        return emit(ptir.DimensionSizeOp, emit(ptir.IotaOp, shape=(name,), dtype=SI8, axis=0), axis=0)

    def quotient(a: Array, b: Array) -> Array:
        """Rounded down, of a positive divisor."""
        rest = emit(ptir.RemainderOp, emit(ptir.AddOp, emit(ptir.RemainderOp, a, b), b), b)
        return emit(ptir.DivOp, emit(ptir.SubOp, a, rest), b)

    def number(n: int) -> Array:
        return constant(n, int64)

    add, sub, mul, larger = (partial(emit, op) for op in (ptir.AddOp, ptir.SubOp, ptir.MulOp, ptir.MaximumOp))
    found = fold(extent_of(str(dim)), Algebra(number, named, add, sub, mul, quotient, larger))
    if isinstance(found, TracedArray):
        found.weak = True
    return found
