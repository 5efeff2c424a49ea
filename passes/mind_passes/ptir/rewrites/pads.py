"""Sums of arrays that are zero but for one part each: what the gradients of the slices of an array add up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import AddOp, ConcatOp, PadOp
from mind_dialect.ptir.types import Kind

from ..building import Found, fill, in_place_of, spec_of

MOST_PADS = 64
"""Sums of more pads are not searched, which bounds the time per addition."""
REAL = (Kind.SIGNED, Kind.UNSIGNED, Kind.FLOAT)


@dataclass(frozen=True)
class _Part:
    """A value with zeros before and after it along one axis."""

    axis: int
    begin: int
    end: int
    value: SSAValue


def sum_of_pads(op: AddOp) -> Found:
    """
    `pad(x) + pad(y) + ... = concat(x + 0, y + 0, ...)`, where the parts fill an axis and no two meet; integers and floats.

    Each element is one of x, y and so on, to which zeros are added: `x + 0`, which turns -0 into +0. For integers it is x.
    Nothing else reads the pads and the sums between.
    """
    dtype, shape = spec_of(op.result)
    parts = _parts(op) if dtype.kind in REAL else None
    if parts is None or len({part.axis for part in parts}) != 1:
        return None
    parts.sort(key=lambda part: part.begin)
    axis = parts[0].axis
    ends = [0, *(part.end for part in parts)]
    if [part.begin for part in parts] != ends[:-1] or ends[-1] != shape[axis]:
        return None
    values = [part.value if dtype.kind is not Kind.FLOAT else _without_minus_zero(op, part.value) for part in parts]
    return in_place_of(op, ConcatOp, *values, axis=axis)


def _without_minus_zero(op: AddOp, x: SSAValue) -> SSAValue:
    dtype, shape = spec_of(x)
    zeros = fill(op, dtype, tuple(n for n in shape if isinstance(n, int)), 0)
    return in_place_of(op, AddOp, x, zeros.result, type=x.type).result


def _parts(op: AddOp) -> list[_Part] | None:
    """Return the pads that a tree of additions adds up, one part of an axis each; None if it adds something else."""
    found: list[_Part] = []
    stack: list[SSAValue] = [op.lhs, op.rhs]
    while stack:
        x = stack.pop()
        owner = x.owner
        part = _part(owner) if isinstance(owner, PadOp) else None
        if not x.has_one_use() or len(found) + len(stack) >= MOST_PADS or (part is None and not isinstance(owner, AddOp)):
            return None
        if part is not None:
            found.append(part)
        elif isinstance(owner, AddOp):
            stack += (owner.lhs, owner.rhs)
    return found


def _part(op: PadOp) -> _Part | None:
    """Return the one part of a pad with +0 along one axis, of static extents."""
    values: dict[str, Any] = dict(op.values())
    low: Sequence[Any] = values["low"]
    high: Sequence[Any] = values["high"]
    padded = [a for a, (before, after) in enumerate(zip(low, high, strict=True)) if before != 0 or after != 0]
    if len(padded) != 1 or any(values["interior"]) or any(values["pad_value"].data.data) or not spec_of(op.x).is_static:
        return None
    (axis,) = padded
    begin, extent = low[axis], spec_of(op.x).shape[axis]
    if not isinstance(begin, int) or not isinstance(high[axis], int) or not isinstance(extent, int) or extent == 0 or begin < 0:
        return None
    return _Part(axis, begin, begin + extent, op.x)
