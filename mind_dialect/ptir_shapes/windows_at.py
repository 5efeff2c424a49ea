"""Shapes of windows at index vectors: StableHLO's gather and scatter, with all of their dimension numbers."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import error
from . import dims
from .dims import Dim, Dims, at_least, bounded, equal_dims, lengths, rank_error, require
from .indexing import require_window


def _ascending(**given: Sequence[int]) -> None:
    for name, entries in given.items():
        if list(entries) != sorted(entries):
            raise error("E8002", f"{name} {list(entries)}, expected ascending", attribute=name, value=tuple(entries))


def _indexed(
    x: Dims,
    indices: Dims,
    collapsed: Sequence[int],
    batching: Sequence[int],
    indices_batching: Sequence[int],
    targets: Sequence[int],
    vector: int,
) -> tuple[list[int], list[Dim]]:
    """The axes of x that windows keep, and the extents of the indices but for that of the index vectors."""
    if not 0 <= vector <= len(indices):
        message = f"index_vector_dim {vector}, expected 0 to {len(indices)}, the rank of indices"
        raise error("E3004", message, axis=vector, rank=len(indices))
    if len(batching) != len(indices_batching):
        message = f"{len(batching)} batching dimensions of x and {len(indices_batching)} of indices, expected as many"
        raise error("E4007", message, rank=len(batching), lengths=(len(batching), len(indices_batching)))
    gone = frozenset(dims.axes((*collapsed, *batching), len(x)))
    dims.axes((*targets, *batching), len(x))
    own = dims.axes(indices_batching, len(indices))
    if vector in own:
        message = f"index_vector_dim {vector} is a batching dimension of indices, expected another"
        raise error("E3005", message, axes=tuple(own), duplicate=vector)
    for a, i in zip(dims.axes(batching, len(x)), own, strict=True):
        equal_dims("batching", x[a], indices[i])
    equal_dims("index vector", indices[vector] if vector < len(indices) else 1, len(targets))
    kept = [a for a in range(len(x)) if a not in gone]
    return kept, [n for i, n in enumerate(indices) if i != vector]


def gather_windows(
    x: Dims,
    indices: Dims,
    *,
    offset_dims: Sequence[int],
    collapsed_slice_dims: Sequence[int],
    operand_batching_dims: Sequence[int],
    start_indices_batching_dims: Sequence[int],
    start_index_map: Sequence[int],
    index_vector_dim: int,
    slice_sizes: Sequence[int],
) -> Dims:
    """
    Windows of `slice_sizes` at `offset_dims` of the result, the extents of indices at its other dimensions.

    >>> plain = dict(operand_batching_dims=(), start_indices_batching_dims=())
    >>> rows = dict(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,), index_vector_dim=1, **plain)
    >>> gather_windows((10, 4), ("B", 1), slice_sizes=(1, 3), **rows)
    ('B', 3)
    >>> gather_windows((10, 4), ("B", 1), slice_sizes=(1, 5), **rows)
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E4012: slice of 5 at dimension 1 of extent 4, expected 0 to 4
    """
    _ascending(offset_dims=offset_dims, collapsed_slice_dims=collapsed_slice_dims)
    lengths(len(x), slice_sizes=slice_sizes)
    at_least(0, slice_sizes=slice_sizes)
    own = (collapsed_slice_dims, operand_batching_dims, start_indices_batching_dims, start_index_map, index_vector_dim)
    kept, outer = _indexed(x, indices, *own)
    batching = frozenset(dims.axes(operand_batching_dims, len(x)))
    for i, (n, size) in enumerate(zip(x, slice_sizes, strict=True)):
        if i not in kept and size != 1:
            message = f"slice of {size} at dimension {i} of extent {n}, expected 1"
            raise error("E4012", message, dimension=i, bounds=(0, size), extent=n)
        if i not in batching:
            wording = f"slice of {{lhs}} at dimension {i} of extent {{rhs}}, expected 0 to {{rhs}}"
            require(size, "<=", n, "E4012", wording, dimension=i, bounds=(0, size), extent=n)
    rank = len(outer) + len(kept)
    offsets = frozenset(dims.axes(offset_dims, rank))
    if len(offsets) != len(kept):
        raise rank_error(f"windows with offset_dims {list(offset_dims)}", len(kept), len(offsets))
    windows, batches = iter([slice_sizes[a] for a in kept]), iter(outer)
    return bounded([next(windows) if i in offsets else next(batches) for i in range(rank)])


def scatter(
    x: Dims,
    indices: Dims,
    updates: Dims,
    *,
    update_window_dims: Sequence[int],
    inserted_window_dims: Sequence[int],
    input_batching_dims: Sequence[int],
    scatter_indices_batching_dims: Sequence[int],
    scatter_dims_to_operand_dims: Sequence[int],
    index_vector_dim: int,
) -> Dims:
    """
    >>> plain = dict(input_batching_dims=(), scatter_indices_batching_dims=())
    >>> rows = dict(inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), index_vector_dim=1, **plain)
    >>> scatter((10, 4), (2, 1), (2, 3), update_window_dims=(1,), **rows)
    (10, 4)
    """
    _ascending(update_window_dims=update_window_dims, inserted_window_dims=inserted_window_dims)
    own = (inserted_window_dims, input_batching_dims, scatter_indices_batching_dims, scatter_dims_to_operand_dims)
    kept, outer = _indexed(x, indices, *own, index_vector_dim)
    windows = frozenset(dims.axes(update_window_dims, len(updates)))
    if len(windows) != len(kept) or len(updates) != len(kept) + len(outer):
        expected = f"{len(outer)} scatter and {len(kept)} window dimensions"
        raise rank_error(f"updates with window dimensions {list(update_window_dims)}", expected, len(updates))
    limits, scattered = iter(kept), iter(outer)
    for i, n in enumerate(updates):
        if i not in windows:
            equal_dims(f"updates dimension {i}", n, next(scattered))
        else:
            require_window(i, n, x[next(limits)])
    return x
