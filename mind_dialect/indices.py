"""
Axes and indices in NumPy's forms, for tensors of known shape.

Axes and indices may be negative: they are counted from the front before an op is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import Any

from .errors import brief, error
from .types import Shape

Axis = int | Sequence[int] | None


def axes_of(rank: int, axis: Axis) -> tuple[int, ...]:
    """
    Return axes counted from the front; none stands for all. E3004 for one that is out of range.

    >>> axes_of(2, -1), axes_of(2, None)
    ((1,), ())
    """
    if axis is None:
        return ()
    found: list[int] = []
    for a in (axis,) if isinstance(axis, int) else tuple(axis):
        if not isinstance(a, int) or isinstance(a, bool) or not -rank <= a < rank:  # pyright: ignore[reportUnnecessaryIsInstance]
            message = f"axis {brief(repr(a))} is out of range for rank {rank}, expected {-rank} to {rank - 1}"
            raise error("E3004", message, axis=a, rank=rank)
        found.append(a % rank)
    if not found:
        raise error("E3004", "axis is empty, expected an axis, several, or None for all", axis=(), rank=rank)
    return tuple(found)


def index_entries(key: Any, shape: Shape) -> list[int | tuple[int, int, int]]:
    """
    Return for each axis an index, counted from the front, or start, stop and step of a slice.

    E4000 for what is neither, E4006 for too many, E4012 for an index out of range, E4008 for a step that is not positive.

    >>> index_entries((..., -1), (2, 3)), index_entries(slice(1, None), (2, 3))
    ([(0, 2, 1), 2], [(1, 2, 1), (0, 3, 1)])
    """
    found: list[int | tuple[int, int, int]] = []
    for i, (k, n) in enumerate(zip(_entries(key, len(shape)), shape, strict=True)):
        if isinstance(k, int):
            found.append(_place(i, k, n))
            continue
        start, stop, step = k.indices(n)
        if step < 1:
            raise error("E4008", f"step {step} at axis {i}, expected positive", dimension=i, step=step)
        found.append((start, max(start, stop), step))
    return found


def _entries(key: Any, rank: int) -> list[Any]:
    """Return an integer or a slice for each axis."""
    keys: Any = (key,)
    if isinstance(key, tuple):
        keys = key  # pyright: ignore[reportUnknownVariableType]
    entries: list[Any] = []
    for k in keys:
        if not isinstance(k, int | slice | EllipsisType) or isinstance(k, bool):
            given = brief(repr(k))
            expected = "integers, slices and ...; gather takes rows by an integer tensor"
            raise error("E4000", f"index {given}: expected {expected}", given=given, expected=expected)
        entries.append(k)
    gaps = entries.count(Ellipsis)
    used = len(entries) - gaps
    if gaps > 1 or used > rank:
        message = f"{used} indices for rank {rank}" if gaps < 2 else "`...` is given twice"
        raise error("E4006", f"index: {message}", rank=rank, length=used)
    if not gaps:
        entries.append(Ellipsis)
    place = entries.index(Ellipsis)
    entries[place : place + 1] = [slice(None)] * (rank - used)
    return entries


def _place(axis: int, index: int, n: int) -> int:
    if not -n <= index < n:
        message = f"index {index} at axis {axis} of extent {n}, expected {-n} to {n - 1}"
        raise error("E4012", message, dimension=axis, bounds=(index, index + 1), extent=n)
    return index % n
