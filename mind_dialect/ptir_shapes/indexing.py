"""Shapes of ops whose places are data, and of those that work along one axis."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import error
from . import dims
from .dims import Dim, Dims, at_least, equal_dims, is_inside, lengths, rank_error, require, require_inside, same_shape


def dynamic_slice(x: Dims, start: Dims, *, sizes: Sequence[Dim]) -> Dims:
    """
    The start is a vector, one entry per dimension, clamped at run time; the window must fit. Sizes may be expressions of names.

    >>> dynamic_slice((8, 4), (2,), sizes=(1, 4)), dynamic_slice(("P+T", 4), (2,), sizes=("T", 4))
    ((1, 4), ('T', 4))
    >>> dynamic_slice((8, 4), (2,), sizes=(1, 5))
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E4012: a window of 5 at dimension 1 of extent 4, expected 0 to 4
    """
    lengths(len(x), sizes=sizes)
    if len(start) != 1:
        raise rank_error("start", 1, len(start))
    equal_dims("start", start[0], len(x))
    for i, (size, n) in enumerate(zip(sizes, x, strict=True)):
        if not is_inside(0, size, n):
            wording = f"a window of {{lhs}} at dimension {i} of extent {{rhs}}, expected 0 to {{rhs}}"
            negative = f"a window of {{lhs}} at dimension {i}, expected at least {{rhs}}"
            require_inside(0, size, n, "E4012", wording, negative, dimension=i, bounds=(0, size), extent=n)
    return tuple(sizes)


def dynamic_update_slice(x: Dims, update: Dims, start: Dims, *, sizes: Sequence[Dim]) -> Dims:
    """
    >>> dynamic_update_slice((8, 4), (1, 4), (2,), sizes=(1, 4))
    (8, 4)
    """
    same_shape(update, dynamic_slice(x, start, sizes=sizes))
    return x


def take(x: Dims, indices: Dims) -> Dims:
    """
    >>> take((10, 4), (2, "T"))
    (2, 'T', 4)
    """
    if len(x) < 1:
        raise rank_error("x", "at least 1", 0)
    return indices + x[1:]


def gather(x: Dims, indices: Dims, *, axis: int) -> Dims:
    """
    Along `axis` the extents may differ, elsewhere not.

    >>> gather((2, 3), (2, 7), axis=1)
    (2, 7)
    """
    a = dims.axis(axis, len(x))
    if len(indices) != len(x):
        raise rank_error("indices", len(x), len(indices))
    return tuple(n if i == a else equal_dims(f"dimension {i}", n, x[i]) for i, n in enumerate(indices))


def scatter_reduce(x: Dims, indices: Dims, updates: Dims, *, axis: int) -> Dims:
    """
    >>> scatter_reduce((2, 3), (2, 7), (2, 7), axis=1)
    (2, 3)
    """
    gather(x, same_shape(indices, updates), axis=axis)
    return x


def scatter_add(
    x: Dims,
    indices: Dims,
    updates: Dims,
    *,
    update_window_dims: Sequence[int],
    inserted_window_dims: Sequence[int],
    scatter_dims_to_operand_dims: Sequence[int],
    index_vector_dim: int | None = None,
) -> Dims:
    """
    StableHLO's scatter dimensions; without `index_vector_dim` every index is a scalar.

    >>> rows = dict(inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
    >>> scatter_add((10, 4), (2, 3), (2, 3, 4), update_window_dims=(2,), **rows)
    (10, 4)
    """
    vector = len(indices) if index_vector_dim is None else index_vector_dim
    if not 0 <= vector <= len(indices):
        raise error(
            "E3004",
            f"index_vector_dim {vector}, expected 0 to {len(indices)}, the rank of indices",
            axis=vector,
            rank=len(indices),
        )
    for name, entries in (("inserted_window_dims", inserted_window_dims), ("update_window_dims", update_window_dims)):
        if list(entries) != sorted(entries):
            raise error("E8002", f"{name} {list(entries)}, expected ascending", attribute=name, value=tuple(entries))
    inserted = frozenset(dims.axes(inserted_window_dims, len(x)))
    window_dims = frozenset(dims.axes(update_window_dims, len(updates)))
    targets = dims.axes(scatter_dims_to_operand_dims, len(x))
    length = indices[vector] if vector < len(indices) else 1
    equal_dims("index vector", length, len(targets))
    window, scattered = [n for i, n in enumerate(x) if i not in inserted], [n for i, n in enumerate(indices) if i != vector]
    if len(window_dims) != len(window) or len(updates) != len(window) + len(scattered):
        expected = f"{len(scattered)} scatter and {len(window)} window dimensions"
        raise rank_error(f"updates with window dimensions {list(update_window_dims)}", expected, len(updates))
    rest = iter(scattered)
    window_sizes = iter(window)
    for i, n in enumerate(updates):
        if i not in window_dims:
            equal_dims(f"updates dimension {i}", n, next(rest))
        else:
            require_window(i, n, next(window_sizes))
    return x


def require_window(i: int, size: Dim, limit: Dim) -> None:
    """Demand that an update window, dimension `i` of updates, is no larger than the dimension of the operand that it lies in."""
    wording = f"update window {{lhs}} at dimension {i}, expected at most {{rhs}}"
    require(size, "<=", limit, "E4012", wording, dimension=i, bounds=(0, size), extent=limit)


def top_k(x: Dims, *, k: Dim, axis: int) -> Dims:
    """
    >>> top_k((2, 5), k=3, axis=-1), top_k((2, "N"), k="N", axis=-1)
    ((2, 3), (2, 'N'))
    >>> top_k((2, 5), k=6, axis=-1)
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E8002: k 6 along an axis of extent 5, expected 0 to 5
    """
    a = dims.axis(axis, len(x))
    n = x[a]
    wording, negative = "k {lhs} along an axis of extent {rhs}, expected 0 to {rhs}", "k {lhs}, expected at least {rhs}"
    require_inside(0, k, n, "E8002", wording, negative, attribute="k", value=k)
    return (*x[:a], k, *x[a + 1 :])


def segment_reduce(data: Dims, ids: Dims, *, num_segments: Dim) -> Dims:
    """
    >>> segment_reduce((6, 4), (6,), num_segments=3), segment_reduce(("N", 4), ("N",), num_segments="B+1")
    ((3, 4), ('B+1', 4))
    """
    if len(data) < 1:
        raise rank_error("data", "at least 1", 0)
    if len(ids) != 1:
        raise rank_error("segment_ids", 1, len(ids))
    equal_dims("segment_ids", ids[0], data[0])
    at_least(0, num_segments=(num_segments,))
    return (num_segments, *data[1:])


def scales(x: Dims, parameters: Sequence[Dims], axis: int | None) -> Dims:
    """
    Scale and zero point: scalars, or one entry per place along `axis`.

    >>> scales((2, 3), [(3,), (3,)], 1), scales((2, 3), [(), ()], None)
    ((2, 3), (2, 3))
    """
    a = None if axis is None else dims.axis(axis, len(x))
    for p in parameters:
        if len(p) != (a is not None):
            raise rank_error("scale or zero_point", int(a is not None), len(p))
        if a is not None:
            equal_dims("scale", p[0], x[a])
    return x


def layer_norm(x: Dims, gamma: Dims, beta: Dims, *, feature_axis: int) -> Dims:
    """
    >>> layer_norm((2, 8), (8,), (8,), feature_axis=-1)
    (2, 8)
    """
    a = dims.axis(feature_axis, len(x))
    for name, scale in (("gamma", gamma), ("beta", beta)):
        if len(scale) != 1:
            raise rank_error(name, 1, len(scale))
        equal_dims(name, scale[0], x[a])
    return x
