"""Kernels of windows at index vectors, by the dimension numbers of StableHLO's gather and scatter."""

from __future__ import annotations

from math import prod
from typing import Any

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.shapes import inverse_permutation

from .formats import Array, Ints
from .indexing import GATHER, SCATTER, Indexing, broken_promise, out_of_bounds


@dataclass(frozen=True)
class Dims:
    """
    Dimension numbers, every axis counted from 0.

    `windows` are the dimensions of the updates, or of the gathered result, that are those of a window; `collapsed` the axes of x
    without one; axis `batching[i]` of x goes along with dimension `indices_batching[i]` of the indices; component `i` of an index
    vector is a place along `targets[i]`.
    """

    windows: Ints
    collapsed: Ints
    batching: Ints
    indices_batching: Ints
    targets: Ints
    vector: int


class WindowsAt(Indexing):
    """A window is named by a vector of places, one for each axis of x."""

    def gather_windows(
        self,
        x: Array,
        indices: Array,
        *,
        offset_dims: Ints,
        collapsed_slice_dims: Ints,
        operand_batching_dims: Ints,
        start_indices_batching_dims: Ints,
        start_index_map: Ints,
        index_vector_dim: int,
        slice_sizes: Ints,
        mode: str,
    ) -> Array:
        """The windows, at `offset_dims` of the result."""
        rank, index_rank = len(x.shape), len(indices.shape)
        outer = [n for i, n in enumerate(indices.shape) if i != index_vector_dim]
        batching = _axes(operand_batching_dims, rank)
        collapsed = _axes(collapsed_slice_dims, rank)
        kept = [n for a, n in enumerate(slice_sizes) if a not in collapsed and a not in batching]
        windows = _axes(offset_dims, len(outer) + len(kept))
        own = _axes(start_indices_batching_dims, index_rank)
        dims = Dims(windows, collapsed, batching, own, _axes(start_index_map, rank), index_vector_dim)
        starts = self._starts(indices, dims, rank)
        if mode == "clamp":
            most = self.xp.asarray([n - size for n, size in zip(x.shape, slice_sizes, strict=True)], dtype="int64")
            starts = self.xp.clip(starts, 0, most)
        elif mode == "raise":
            self._check_starts(starts, slice_sizes, dims.targets, x.shape, GATHER)
        places, inside = self._places_of(starts, slice_sizes, x.shape)
        if mode != "fill":
            found = x.reshape(-1)[places]
        elif prod(x.shape):
            found = self.xp.where(inside, x.reshape(-1)[self.xp.where(inside, places, 0)], self.full((), 0, x.dtype))
        else:
            found = self.full(places.shape, 0, x.dtype)
        found = found.reshape((*outer, *kept))
        order = _windows_last(windows, len(outer) + len(kept))
        return self.copy(found.transpose(inverse_permutation(order)))

    def scatter_windows(self, x: Array, indices: Array, updates: Array, *, kind: str, **values: Any) -> Array:
        """`x` with windows of `updates` combined in, in row-major order of the updates."""
        return self.scatter_windows_into(self.copy(x), indices, updates, kind=kind, **values)

    def scatter_windows_into(self, x: Array, indices: Array, updates: Array, *, kind: str, **values: Any) -> Array:
        """As `scatter_windows`, but in the memory of `x`, which the caller gives up; a copy if that cannot be written to."""
        places, found = self._windows_to_write(x.shape, indices, updates, **values)
        return self._scattered(self._writeable(x), places, found, kind)

    def _windows_to_write(
        self,
        shape: Ints,
        indices: Array,
        updates: Array,
        *,
        update_window_dims: Ints,
        inserted_window_dims: Ints,
        input_batching_dims: Ints,
        scatter_indices_batching_dims: Ints,
        scatter_dims_to_operand_dims: Ints,
        index_vector_dim: int,
        mode: str,
        unique: bool,
    ) -> tuple[Array, Array]:
        """
        Return the row-major number of the element that each update is combined with, and the updates.

        E6001 for a window that is not inside (`mode = raise`), E8002 for two updates of one element in spite of `unique`.
        """
        rank, update_rank = len(shape), len(updates.shape)
        batching, inserted = _axes(input_batching_dims, rank), _axes(inserted_window_dims, rank)
        windows = _axes(update_window_dims, update_rank)
        own = _axes(scatter_indices_batching_dims, len(indices.shape))
        dims = Dims(windows, inserted, batching, own, _axes(scatter_dims_to_operand_dims, rank), index_vector_dim)
        extents = iter([updates.shape[d] for d in windows])
        sizes = [1 if a in inserted or a in batching else next(extents) for a in range(rank)]
        starts = self._starts(indices, dims, rank)
        if mode == "raise":
            self._check_starts(starts, sizes, dims.targets, shape, SCATTER)
        places, inside = self._places_of(starts, sizes, shape)
        order = _windows_last(windows, update_rank)
        back = inverse_permutation(order)
        arranged = [updates.shape[d] for d in order]
        places = places.reshape(arranged).transpose(back).reshape(-1)
        values = updates.reshape(-1)
        if mode == "drop":
            kept = inside.reshape(arranged).transpose(back).reshape(-1)
            places, values = places[kept], values[kept]
        if unique and self.xp.unique(places).size != places.size:
            raise broken_promise("unique", "two updates of one element")
        return places, values

    def _starts(self, indices: Array, dims: Dims, rank: int) -> Array:
        """For each index vector in row-major order, where its window starts along each axis of x."""
        xp = self.xp
        moved = xp.asarray(indices).astype("int64")
        moved = moved[..., None] if dims.vector == len(moved.shape) else xp.moveaxis(moved, dims.vector, -1)
        outer = moved.shape[:-1]
        vectors = moved.reshape((prod(outer), moved.shape[-1]))
        starts = xp.zeros((vectors.shape[0], rank), "int64")
        for column, a in enumerate(dims.targets):
            starts[:, a] = vectors[:, column]
        for a, i in zip(dims.batching, dims.indices_batching, strict=True):
            place = i - (i > dims.vector)
            along = [-1 if d == place else 1 for d in range(len(outer))]
            starts[:, a] = xp.broadcast_to(xp.arange(outer[place], dtype="int64").reshape(along), outer).reshape(-1)
        return starts

    def _check_starts(self, starts: Array, sizes: Ints, targets: Ints, shape: Ints, category: str) -> None:
        if 0 in sizes or starts.shape[0] == 0:
            return
        for a in targets:
            outside = (starts[:, a] < 0) | (starts[:, a] > shape[a] - sizes[a])
            if outside.any():
                raise out_of_bounds(int(starts[:, a][outside][0]), shape, a, category, sizes[a])

    def _places_of(self, starts: Array, sizes: Ints, shape: Ints) -> tuple[Array, Array]:
        """The row-major numbers of the elements of each window, and whether they are elements of x."""
        xp, rank = self.xp, len(shape)
        places = xp.zeros((starts.shape[0], *sizes), "int64")
        inside = xp.ones(places.shape, bool)
        for a, (n, size) in enumerate(zip(shape, sizes, strict=True)):
            along = [-1 if b == a + 1 else 1 for b in range(rank + 1)]
            at = starts[:, a].reshape((-1, *[1] * rank)) + xp.arange(size, dtype="int64").reshape(along)
            inside &= (at >= 0) & (at < n)
            places += xp.where((at >= 0) & (at < n), at, 0) * prod(shape[a + 1 :])
        return places, inside


def _windows_last(windows: Ints, rank: int) -> list[int]:
    """Dimensions with those of the indices first and those of the windows last."""
    return [*(d for d in range(rank) if d not in windows), *windows]


def _axes(given: Any, rank: int) -> list[int]:
    return [a % rank for a in given]
