"""
Constant folding: exactly, or not at all.

Integers fold when no element overflows. Floats fold only when asked, one IEEE operation rounded once to the dtype, and never to
a NaN. The result type never changes. Source: "Canonicalisation" of the Core IR chapter.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect.core import AddOp, ConstantOp, CoreOp, MulOp, NegOp, ScalarConstant, SubOp
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.literals import LiteralAttr, Number
from mind_dialect.types import F32, DType, Shape, read_type

from .building import in_place_of, same_type

FOLD_LIMIT = 256
"""Literals of more stored elements are neither read nor made here, which bounds time and memory per op."""

ARITHMETIC: dict[type[CoreOp], Callable[..., Any]] = {
    AddOp: operator.add,
    SubOp: operator.sub,
    MulOp: operator.mul,
    NegOp: operator.neg,
}
"""The foldable ops on one element: Python's integers are exact, its floats are f64."""


@dataclass(frozen=True)
class Known:
    """A constant operand: its stored elements in row-major order, one for a fill."""

    op: ScalarConstant | ConstantOp
    values: tuple[Number, ...]
    shape: Shape

    def elements(self, shape: Shape) -> Sequence[Number]:
        """Every element of this constant broadcast to `shape`, in row-major order."""
        if len(self.values) == 1:
            return self.values * math.prod(shape)
        offsets, pad = [0], len(shape) - len(self.shape)
        for axis, extent in enumerate(shape):
            i = axis - pad
            stride = 0 if i < 0 or self.shape[i] == 1 else math.prod(self.shape[i + 1 :])
            offsets = [offset + k * stride for offset in offsets for k in range(extent)]
        return [self.values[offset] for offset in offsets]


def known(value: SSAValue) -> Known | None:
    """Return the constant that `value` is: None unless it is one of at most `FOLD_LIMIT` stored elements."""
    op = value.owner
    if isinstance(op, ScalarConstant):
        return Known(op, (op.CODECS["value"].value(op.properties["value"]),), ())
    if not isinstance(op, ConstantOp):
        return None
    dtype, shape = read_type(value.type)
    literal = op.literal
    return Known(op, literal.values(), shape) if len(literal.data.data) <= FOLD_LIMIT * dtype.size else None


def uniform(value: SSAValue) -> Number | None:
    """
    The number that every element of `value` is, or None. A zero keeps its sign; NaN is None.
    """
    found = known(value)
    if found is None:
        return None
    first = found.values[0]
    return first if all(v == first and _signs_agree(v, first) for v in found.values) else None


def _signs_agree(a: Number, b: Number) -> bool:
    return math.copysign(1, a) == math.copysign(1, b)


def is_all(value: SSAValue, number: Number) -> bool:
    """Return whether every element of `value` is `number`; +0 and -0 are two float numbers."""
    found = uniform(value)
    return found is not None and found == number and (isinstance(found, int) or _signs_agree(found, number))


def fold_integers(op: CoreOp) -> CoreOp | None:
    """
    `c1 op c2 = c` and `-c1 = c`, for Add, Sub, Mul and Neg of integer constants, where no element overflows.
    """
    return _fold(op, floats=False)


def fold_floats(op: CoreOp) -> CoreOp | None:
    """
    `c1 op c2 = c` and `-c1 = c`, for Add, Sub, Mul and Neg of float constants, where no element of the result is NaN.

    f64 is what Python computes. An f32 result computed in f64 and rounded is the f32 operation rounded once, because 53 bits
    are at least twice 24 and two more.
    """
    return _fold(op, floats=True)


def _fold(op: CoreOp, *, floats: bool) -> CoreOp | None:
    operands: list[Known] = []
    for value in op.operands:
        if (found := known(value)) is None:
            return None
        operands.append(found)
    dtype, shape = read_type(op.results[0].type)
    if dtype.is_float is not floats:
        return None
    if all(len(k.values) == 1 for k in operands):
        rows = [k.values for k in operands]
    elif math.prod(shape) <= FOLD_LIMIT:
        rows = [k.elements(shape) for k in operands]
    else:
        return None
    results: list[Number] = []
    for numbers in zip(*rows, strict=True):
        if (number := _stored(ARITHMETIC[type(op)](*numbers), dtype)) is None:
            return None
        results.append(number)
    scalar = operands[0].op
    if all(isinstance(k.op, ScalarConstant) for k in operands):
        return in_place_of(op, type(scalar), value=results[0])
    return constant(op, results)


def _stored(number: Number, dtype: DType) -> Number | None:
    """`number`, computed without error or in f64, as an element of `dtype`; None for an integer overflow and for NaN."""
    if not dtype.is_float:
        bits = 8 * dtype.size - 1
        return number if -(1 << bits) <= number < 1 << bits else None
    if math.isnan(number):
        return None
    if dtype is not F32:
        return number
    try:
        return struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)


def constant(op: CoreOp, values: Sequence[Number]) -> ConstantOp:
    """A tensor constant in the place of `op`, from all its elements or, as a fill, from one."""
    dtype, shape = read_type(op.results[0].type)
    if len(values) == 1 and math.prod(shape) != 1:
        return in_place_of(op, ConstantOp, value=LiteralAttr.filled(dtype, shape, values[0]))
    return in_place_of(op, ConstantOp, value=LiteralAttr.from_values(dtype, shape, values))


def zeros(op: CoreOp, zero: SSAValue) -> SSAValue | CoreOp | None:
    """
    Zeros in the place of `op`, as the constant `zero` has them: itself, a fill if it is one, else every element written out.

    None where a literal would be too large, or have no elements (a constant's extents are positive).
    """
    if same_type(zero.type, op.results[0].type):
        return zero
    shape = read_type(op.results[0].type)[1]
    count = math.prod(shape)
    if isinstance(zero.owner, ConstantOp) and zero.owner.literal.is_fill and count:
        return constant(op, [0])
    return constant(op, [0] * count) if 0 < count <= FOLD_LIMIT else None
