"""Shapes and what every rule needs: checked extents, axes in range, the errors that name them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ..errors import MindError, brief, error

Shape = tuple[int, ...]
MAX_EXTENT = (1 << 63) - 1
"""The greatest extent that MLIR and NumPy can hold."""


def positive(shape: Sequence[int]) -> Shape:
    """
    A declared shape: every extent is positive.

    >>> positive([3, 0])
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3006: extent 0 at 1 in [3, 0], expected positive
    """
    return _extents(shape, 1, "positive")


def non_negative(shape: Sequence[int]) -> Shape:
    """
    A derived shape: extents may be 0.

    >>> non_negative([3, 0])
    (3, 0)
    """
    return _extents(shape, 0, "non-negative")


def _extents(shape: Sequence[int], least: int, wanted: str) -> Shape:
    for i, n in enumerate(shape):
        if not least <= n <= MAX_EXTENT:
            wanted = wanted if n < least else "at most 2^63 - 1"
            message = f"extent {brief(n)} at {i} in {brief(list(shape))}, expected {wanted}"
            raise error("E3006", message, shape=tuple(shape), index=i, value=n)
    return tuple(shape)


def shown_count(n: int) -> int | str:
    """
    A number of elements for a message: Python refuses to print integers of more than 4,300 digits.

    >>> shown_count(6), shown_count(2**4000 + 1)
    (6, 'about 2^4000')
    """
    return n if n.bit_length() < 200 else f"about 2^{n.bit_length() - 1}"


def rank_error(expected: str, actual: int) -> MindError:
    """E3002: an operand has the wrong rank."""
    return error("E3002", f"rank {actual}, expected {expected}", expected=expected, actual=actual)


def same(what: str, given: Shape, expected: Shape) -> None:
    """
    Raise E3001 or E3002 unless `given` is `expected`: no broadcasting here.

    >>> same("gradient", (2, 3), (2, 4))
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3001: gradient has shape [2, 3], expected [2, 4]
    """
    if len(given) != len(expected):
        raise rank_error(f"{len(expected)} for the {what}", len(given))
    for i, (m, n) in enumerate(zip(given, expected, strict=True)):
        if m != n:
            raise error(
                "E3001",
                f"{what} has shape {list(given)}, expected {list(expected)}",
                shapes=(given, expected),
                dimension=i,
                extents=(m, n),
            )


def axis_error(axis: int, rank: int, low: int) -> MindError:
    """
    E3004 for an axis that is not in [low, rank).

    >>> str(axis_error(1, 0, 0))
    'E3004: axis 1 is out of range: a tensor of rank 0 has no axes'
    """
    message = f"axis {axis} is out of range for rank {rank}, expected {low} <= axis < {rank}"
    if rank == 0:
        message = f"axis {axis} is out of range: a tensor of rank 0 has no axes"
    return error("E3004", message, axis=axis, rank=rank)


def normalize_axes(axes: Sequence[int], rank: int, negative: bool = False) -> tuple[int, ...]:
    """
    Axes in [0, rank), ascending; duplicates are found after negative axes are resolved.

    >>> normalize_axes((2, -3), 3, negative=True)
    (0, 2)
    >>> normalize_axes((-1,), 3)
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3004: axis -1 is out of range for rank 3, expected 0 <= axis < 3
    """
    low = -rank if negative else 0
    for a in axes:
        if not low <= a < rank:
            raise axis_error(a, rank, low)
    found = sorted(a + rank if a < 0 else a for a in axes)
    for a, b in pairwise(found):
        if a == b:
            raise error("E3005", f"axis {a} is given twice in {list(axes)}", axes=tuple(axes), duplicate=a)
    return tuple(found)
