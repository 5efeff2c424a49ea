"""
Folds of constants: from the constants that the operands are to those that the results are, as MLIR's own dialect folds them.

A fold that gives None leaves the op. So does a result that no constant op of the result's type can hold. Where MLIR's would wrap
around or take an unknown extent, which is written as a negative number, for a number, these leave the op too.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation

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

from .constants import Constant

Extents = tuple[int, ...]
Fold = Callable[..., Any]
"""From constants to a constant, or to one for each of several results."""


def broadcast(a: Extents, b: Extents) -> Extents | None:
    """
    The shape that two constant shapes broadcast to, None if they do not. Negative extents are numbers like others, but for MLIR's
    dynamic one: it gives way to what is above 1, and stands beside 0 and 1.

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


def _broadcast_all(*shapes: Extents) -> Extents | None:
    if len(shapes) < 2:
        return None
    found: Extents | None = shapes[0]
    for shape in shapes[1:]:
        found = None if found is None else broadcast(found, shape)
    return found


def _same(value: Constant) -> Constant:
    return value


def _div(a: int, b: int) -> int | None:
    return a // b if b else None


def _equal(*shapes: Extents) -> bool | None:
    return all(shape == shapes[0] for shape in shapes) if shapes else None


def _split_at(shape: Extents, index: int) -> tuple[Extents, Extents] | None:
    if not -len(shape) <= index <= len(shape):
        return None
    place = index + len(shape) if index < 0 else index
    return shape[:place], shape[place:]


def _get_extent(shape: Extents, index: int) -> int | None:
    return shape[index] if 0 <= index < len(shape) and shape[index] >= 0 else None


def _num_elements(shape: Extents) -> int | None:
    return None if any(n < 0 for n in shape) else prod(shape)


def _from_extents(*extents: int) -> Extents | None:
    return None if any(n < 0 for n in extents) else extents


FOLDS: Mapping[type[Operation], Fold] = {
    AddOp: operator.add,
    MulOp: operator.mul,
    DivOp: _div,
    IndexToSizeOp: _same,
    SizeToIndexOp: _same,
    BroadcastOp: _broadcast_all,
    ConcatOp: operator.add,
    SplitAtOp: _split_at,
    GetExtentOp: _get_extent,
    RankOp: len,
    NumElementsOp: _num_elements,
    FromExtentsOp: _from_extents,
    ToExtentTensorOp: _same,
    ShapeEqOp: _equal,
    CstrRequireOp: _same,
}
"""Only ops all of whose operands are constants; what MLIR never folds (`meet`, `max` of constants, `debug_print`) has no row."""


def fold(op: Operation, constants: list[Any]) -> list[Constant] | None:
    """The constants that the results of `op` are, given those that its operands are."""
    found: Any = FOLDS[type(op)](*constants)
    if found is None:
        return None
    return list(found) if len(op.results) > 1 else [found]
