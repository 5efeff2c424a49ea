"""
Folds of constants: what `evaluate` computes of an op all of whose operands are constants, where that is a constant.

MLIR writes an extent that is not known as a negative number; to `evaluate` it is a name. A fold that finds anything but a
constant leaves the op. So does a result that no constant op of the result's type can hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute, Operation

from mind_dialect.shape import (
    AddOp,
    BroadcastOp,
    ConcatOp,
    CstrRequireOp,
    DivOp,
    FromExtentsOp,
    GetExtentOp,
    IndexToSizeOp,
    MulOp,
    NumElementsOp,
    RankOp,
    ShapeEqOp,
    SizeToIndexOp,
    SplitAtOp,
    ToExtentTensorOp,
)
from mind_dialect.shape.evaluate import Shaped, Value, evaluate
from mind_dialect.shape.lattice import Extent, Invalid
from mind_dialect.shape.types import WitnessType

from .constants import Constant

Extents = tuple[int, ...]
FOLDS: frozenset[type[Operation]] = frozenset(
    {
        *(AddOp, MulOp, DivOp, IndexToSizeOp, SizeToIndexOp, BroadcastOp, ConcatOp, SplitAtOp, GetExtentOp, RankOp),
        *(NumElementsOp, FromExtentsOp, ToExtentTensorOp, ShapeEqOp, CstrRequireOp),
    }
)
"""The ops that MLIR folds; it never folds `meet`, `max` of constants or `debug_print`."""


def broadcast(a: Extents, b: Extents) -> Extents | None:
    """
    The shape that two constant shapes broadcast to, None if they do not. Negative extents are numbers like others, but for MLIR's
    dynamic one: it gives way to what is above 1, and stays with 0 and 1.

    >>> broadcast((2, 1), (3,)), broadcast((2,), (3,)), broadcast((DYNAMIC_INDEX,), (5,)), broadcast((-1,), (5,))
    ((2, 3), None, (5,), None)
    """
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    padded = (1,) * (len(longer) - len(shorter)) + shorter
    found = [_broadcast_extents(m, n) for m, n in zip(longer, padded, strict=True)]
    return None if None in found else tuple(n for n in found if n is not None)


def _broadcast_extents(m: int, n: int) -> int | None:
    if m == n or n == 1:
        return m
    if m == 1:
        return n
    if DYNAMIC_INDEX in (m, n):
        return max(m, n) if max(m, n) > 1 else DYNAMIC_INDEX
    return None


def fold(op: Operation, constants: Sequence[Constant]) -> list[Constant] | None:
    """Return the constants that the results of an op of `FOLDS` are, given those that its operands are; None if they are none."""
    if isinstance(op, BroadcastOp):  # MLIR's rule for unknown extents is not NumPy's
        return _broadcast_all(constants)
    if isinstance(op, ShapeEqOp):  # MLIR takes an unknown extent for a number
        return [len(set(constants)) == 1] if constants else None
    found = evaluate(op, [_known(value) for value in constants])
    folded = [_constant(value, result.type) for value, result in zip(found, op.results, strict=True)]
    return None if None in folded else [value for value in folded if value is not None]


def _broadcast_all(shapes: Sequence[Any]) -> list[Constant] | None:
    found: Extents | None = shapes[0] if len(shapes) > 1 else None
    for shape in shapes[1:]:
        found = None if found is None else broadcast(found, shape)
    return None if found is None else [found]


def _known(value: Constant) -> Value:
    """Return a constant as `evaluate` takes it: unknown extents are names."""
    return tuple(n if n >= 0 else f"_{-n}" for n in value) if isinstance(value, tuple) else value


def _constant(value: Value, type: Attribute) -> Constant | None:
    """Return a result of `evaluate` as a constant, if it is one. A witness that fails is False."""
    if isinstance(value, Shaped):
        value = value.contents
    if isinstance(value, tuple):
        extents = [_number(n) for n in value]
        return None if None in extents else tuple(n for n in extents if n is not None)
    if isinstance(value, Invalid) and isinstance(type, WitnessType):
        return False
    return value if isinstance(value, bool | int) else None


def _number(extent: Extent) -> int | None:
    if isinstance(extent, int):
        return extent
    return -int(extent[1:]) if extent.startswith("_") else None
