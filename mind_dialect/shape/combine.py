"""Shapes of the lattice that are made of other shapes: broadcasting, concatenation, splitting."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import brief
from ..extents.dims import are_equal
from ..ptir_shapes.dims import UNKNOWN
from .lattice import MAX_RANK, UNRANKED, Extent, Invalid, Ranked, Shape, Size, Truth, Unranked, invalid, of_valid, ranked


def _numpy_tuple(shape: Shape) -> str:
    if not isinstance(shape, tuple):
        return "(*)"
    return f"({shape[0]},)" if len(shape) == 1 else f"({','.join(map(str, shape))})"


def _cannot_broadcast(shapes: Sequence[Shape]) -> str:
    """NumPy's wording."""
    return f"operands could not be broadcast together with shapes {brief(' '.join(map(_numpy_tuple, shapes)))}"


def _columns(shapes: Sequence[Shape]) -> list[list[Extent]]:
    """By dimension of the result, the extents of the ranked shapes that are not known to be 1 or equal to one before."""
    known = [s for s in shapes if isinstance(s, tuple)]
    rank = max(map(len, known), default=0)
    columns: list[list[Extent]] = [[] for _ in range(rank)]
    for shape in known:
        for column, extent in zip(columns[rank - len(shape) :], shape, strict=True):
            if extent == UNKNOWN or not (are_equal(extent, 1) or any(are_equal(extent, other) for other in column)):
                column.append(extent)
    return columns


def broadcast(*shapes: Shape, error: str | None = None) -> Shape:
    """
    The common shape that NumPy broadcasts to, whatever the order of operands.

    In each dimension, extents other than 1 must be equal. One that is known decides, as unknown ones are 1 or equal to it. A
    name among ones only stays; next to another name or an unknown extent it may be the 1, so the result is unknown. The
    specification's text gives 1 for `"?"` and 1, which is wrong where it turns out to be 5. An unranked operand makes the
    result unranked, but hides no contradiction among the others; combining two at a time would.

    >>> broadcast((2, 1), (3,)), broadcast(("?",), (1,)), broadcast(("?",), (5,)), broadcast(("B",), (1, 1)), broadcast()
    ((2, 3), ('?',), (5,), (1, 'B'), ())
    >>> broadcast(("B",), ("B",)), broadcast(("B",), ("C",)), broadcast((2,), UNRANKED)
    (('B',), ('?',), Unranked())
    >>> broadcast((2, 3), UNRANKED, (4,))
    Invalid(reason='operands could not be broadcast together with shapes (2,3) (*) (4,)')
    """
    if (bad := invalid(*shapes)) is not None:
        return bad
    found: list[Extent] = []
    for column in _columns(shapes):
        sizes = [extent for extent in column if isinstance(extent, int)]
        if len(sizes) > 1:
            return Invalid(error or _cannot_broadcast(shapes))
        found.append(sizes[0] if sizes else 1 if not column else column[0] if len(column) == 1 else UNKNOWN)
    return tuple(found) if UNRANKED not in shapes else UNRANKED


def is_broadcastable(*shapes: Shape) -> Truth:
    """
    Return whether the shapes broadcast, if that is certain.

    >>> is_broadcastable((2, 1), (3,)), is_broadcastable((2,), (3,)), is_broadcastable(("?",), (3,))
    (True, False, None)
    >>> is_broadcastable(("?",), (1,)), is_broadcastable(("B",), ("B",)), is_broadcastable(UNRANKED, (1, 1))
    (True, True, True)
    """
    if isinstance(broadcast(*shapes), Invalid):
        return False
    columns = _columns(shapes)
    unranked = shapes.count(UNRANKED)
    if unranked == 0 or (unranked == 1 and not any(columns)):
        return True if all(len(column) <= 1 for column in columns) else None
    return True if len(shapes) < 2 else None


@of_valid
def concat(a: Ranked | Unranked, b: Ranked | Unranked) -> Shape:
    """
    The extents of one after those of the other.

    >>> concat((2, "?"), (3,)), concat((2,), UNRANKED)
    ((2, '?', 3), Unranked())
    """
    return UNRANKED if isinstance(a, Unranked) or isinstance(b, Unranked) else ranked(a + b)


def split_at(shape: Shape, index: Size) -> tuple[Shape, Shape]:
    """
    The first `index` extents and the others; a negative index counts from the end.

    >>> split_at((2, 3, 4), 1), split_at((2, 3, 4), -1), split_at(UNRANKED, -2), split_at((2, 3), "?")
    (((2,), (3, 4)), ((2, 3), (4,)), (Unranked(), ('?', '?')), (Unranked(), Unranked()))
    >>> split_at((2, 3), 3)[0]
    Invalid(reason='index 3 is out of bounds for a split of rank 2')
    """
    if isinstance(shape, Invalid) or isinstance(index, Invalid):
        bad = shape if isinstance(shape, Invalid) else index
        assert isinstance(bad, Invalid)
        return bad, bad
    if isinstance(index, str):
        return (shape, shape) if shape == () else (UNRANKED, UNRANKED)
    rank = len(shape) if isinstance(shape, tuple) else MAX_RANK
    if not -rank <= index <= rank:
        bad = Invalid(f"index {index} is out of bounds for a split of rank {rank}")
        return bad, bad
    if not isinstance(shape, tuple):
        part: Shape = (UNKNOWN,) * abs(index)
        return (UNRANKED, part) if index < 0 else (part, UNRANKED)
    place = index + rank if index < 0 else index
    return shape[:place], shape[place:]
