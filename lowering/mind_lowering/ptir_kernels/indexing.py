"""Kernels whose places are data. An index out of range, a negative one included, is E6001; starts of windows are clamped."""

from __future__ import annotations

from math import prod
from typing import Any

from mind_dialect.errors import MindError, error
from mind_dialect.shapes import inverse_permutation

from .formats import Array, Ints, format_of
from .reduction import Reductions
from .ufuncs import REDUCERS

GATHER, SCATTER = "GatherIndexOutOfBounds", "ScatterIndexOutOfBounds"
_COMBINERS = {**REDUCERS, "add": "add", "mul": "multiply"}


class Indexing(Reductions):
    """Kernels of indices. Updates of one place are combined in row-major order, in the widened dtype, and rounded once."""

    def take(self, x: Array, indices: Array) -> Array:
        """Rows of `x`."""
        self.check_indices(indices, x.shape, 0, GATHER)
        return x.take(indices, axis=0)

    def gather(self, x: Array, indices: Array, *, axis: int) -> Array:
        """At each place `i`, the element of `x` at `i` with `i[axis]` replaced by `indices[i]`."""
        self.check_indices(indices, x.shape, axis % len(x.shape), GATHER)
        return self.xp.take_along_axis(x, indices, axis)

    def check_indices(self, indices: Array, shape: Ints, axis: int, category: str) -> None:
        """Raise E6001 for an index outside `shape[axis]`. As unsigned numbers, negative ones are the largest of all."""
        if indices.size and int(indices.view(f"u{indices.dtype.itemsize}").max()) >= shape[axis]:
            outside = (indices < 0) | (indices >= shape[axis])
            first = self.xp.asarray(indices)[self.xp.asarray(outside)][0]
            raise out_of_bounds(int(first), shape, axis, category)

    # Scatter

    def scatter_reduce(self, x: Array, indices: Array, updates: Array, *, kind: str, axis: int) -> Array:
        """`x`, at each place `i` with `i[axis]` replaced by `indices[i]` combined with `updates[i]`; `replace` keeps the last."""
        return self.scatter_reduce_into(self.copy(x), indices, updates, kind=kind, axis=axis)

    def scatter_reduce_into(self, x: Array, indices: Array, updates: Array, *, kind: str, axis: int) -> Array:
        """As `scatter_reduce`, but in the memory of `x`, which the caller gives up; a copy if that cannot be written to."""
        axis %= len(x.shape)
        self.check_indices(indices, x.shape, axis, SCATTER)
        return self._scattered(self._writeable(x), self._flat_places(indices, x.shape, axis), updates.reshape(-1), kind)

    def _scattered(self, x: Array, places: Array, updates: Array, kind: str) -> Array:
        """`x` itself, its elements of these row-major numbers combined with updates, one by one."""
        xp, form = self.xp, format_of(x.dtype)
        if kind == "replace":
            target, where = self._elements(x, places)
            target[where] = updates
        elif form.dtype is form.work:
            target, where = self._elements(x, places)
            getattr(xp, _COMBINERS[kind]).at(target, where, updates)
        else:
            found, which = xp.unique(places, return_inverse=True)
            target, where = self._elements(x, found)
            total = self.widen(target[where])
            getattr(xp, _COMBINERS[kind]).at(total, which.reshape(-1), self.widen(updates))
            target[where] = self.narrow(total, x.dtype)
        return x

    def _elements(self, x: Array, places: Array) -> tuple[Array, Any]:
        """An array with the memory of `x`, and an index of it, for row-major numbers of elements."""
        return (x.reshape(-1), places) if x.flags.c_contiguous else (x, self.xp.unravel_index(places, x.shape))

    def _writeable(self, x: Array) -> Array:
        """`x`, or a copy if it cannot be written to."""
        return x if isinstance(x, self.xp.ndarray) and getattr(x.flags, "writeable", True) else self.copy(x)

    def _flat_places(self, indices: Array, shape: Ints, axis: int) -> Array:
        """For each index in row-major order, the row-major number of the element that it names."""
        xp = self.xp
        places = xp.asarray(indices).astype("int64") * prod(shape[axis + 1 :])
        for a, n in enumerate(indices.shape):
            if a != axis:
                step = prod(shape[a + 1 :])
                places += (xp.arange(n, dtype="int64") * step).reshape([-1 if b == a else 1 for b in range(len(shape))])
        return places.reshape(-1)

    def scatter_add(self, x: Array, indices: Array, updates: Array, **dims: Any) -> Array:
        """`x` with windows of `updates` added, by StableHLO's dimension numbers; a window must lie inside of `x`."""
        return self.scatter_add_into(self.copy(x), indices, updates, **dims)

    def scatter_add_into(
        self,
        x: Array,
        indices: Array,
        updates: Array,
        *,
        update_window_dims: Ints,
        inserted_window_dims: Ints,
        scatter_dims_to_operand_dims: Ints,
        index_vector_dim: int | None = None,
    ) -> Array:
        """As `scatter_add`, but in the memory of `x`, which the caller gives up; a copy if that cannot be written to."""
        dims = (update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims, index_vector_dim)
        places, values = self._scatter_places(x.shape, indices, updates, *dims)
        return self._scattered(self._writeable(x), places, values, "add")

    def _scatter_places(
        self,
        shape: Ints,
        indices: Array,
        updates: Array,
        update_window_dims: Ints,
        inserted_window_dims: Ints,
        scatter_dims_to_operand_dims: Ints,
        index_vector_dim: int | None,
    ) -> tuple[Array, Array]:
        """For each update the row-major number of its element, and its value; E6001 for a window that is not inside."""
        rank = len(shape)
        inserted, targets = ({a % rank for a in inserted_window_dims}, [a % rank for a in scatter_dims_to_operand_dims])
        window_dims = [a % len(updates.shape) for a in update_window_dims]
        scatter_dims = [a for a in range(len(updates.shape)) if a not in window_dims]
        vectors = self._index_vectors(indices, index_vector_dim)
        window = iter([updates.shape[a] for a in window_dims])
        sizes = [1 if a in inserted else next(window) for a in range(rank)]
        self._check_windows(vectors, sizes, targets, shape)
        order = [*scatter_dims, *window_dims]
        places = self._window_places(vectors, sizes, targets, shape).reshape([updates.shape[a] for a in order])
        return places.transpose(inverse_permutation(order)).reshape(-1), updates.reshape(-1)

    def _index_vectors(self, indices: Array, dim: int | None) -> Array:
        """The index vectors as the rows of one matrix, in row-major order."""
        moved = self.xp.asarray(indices)
        if dim is None or dim == len(moved.shape):
            return moved.reshape((-1, 1)).astype("int64")
        moved = self.xp.moveaxis(moved, dim, -1)
        return moved.reshape((prod(moved.shape[:-1]), moved.shape[-1])).astype("int64")

    def _check_windows(self, vectors: Array, sizes: Ints, targets: Ints, shape: Ints) -> None:
        if 0 in sizes or vectors.shape[0] == 0:
            return
        for column, a in enumerate(targets):
            starts = vectors[:, column]
            outside = (starts < 0) | (starts > shape[a] - sizes[a])
            if outside.any():
                raise out_of_bounds(int(starts[outside][0]), shape, a, SCATTER, sizes[a])

    def _window_places(self, vectors: Array, sizes: Ints, targets: Ints, shape: Ints) -> Array:
        """The row-major numbers of the elements of x: one row per index vector, then the axes of the window."""
        xp, rank = self.xp, len(shape)
        total = xp.zeros((vectors.shape[0], *sizes), "int64")
        for axis, size in enumerate(sizes):
            step = prod(shape[axis + 1 :])
            total += (xp.arange(size, dtype="int64") * step).reshape([-1 if b == axis + 1 else 1 for b in range(rank + 1)])
        for column, axis in enumerate(targets):
            total += (vectors[:, column] * prod(shape[axis + 1 :])).reshape((-1, *[1] * rank))
        return total

    def segment_reduce(
        self,
        data: Array,
        segment_ids: Array,
        *,
        kind: str,
        num_segments: int,
        accum_dtype: Any = None,
        indices_are_sorted: bool = False,
        unique: bool = False,
    ) -> Array:
        """
        Rows of `data` combined by id, row by row in `accum_dtype`; an empty segment has the identity.

        A broken promise (`indices_are_sorted`, `unique`) is E8002: it would be a wrong number on a target that relies on it.
        """
        self.check_indices(segment_ids, (num_segments,), 0, SCATTER)
        self._check_promises(segment_ids, indices_are_sorted, unique)
        source = format_of(data.dtype)
        accum = format_of(source.accumulator if accum_dtype is None else accum_dtype)
        rows = self.cast(data, dtype=accum.dtype)
        if accum.kind in "iu":
            rows = self.widen(rows)
        out = self.full((num_segments, *data.shape[1:]), self.identity_of(kind, source), rows.dtype)
        getattr(self.xp, REDUCERS[kind]).at(out, segment_ids, rows)
        return self.cast(self.narrow(out, accum.dtype), dtype=data.dtype)

    def _check_promises(self, ids: Array, indices_are_sorted: bool, unique: bool) -> None:
        if indices_are_sorted and (ids[1:] < ids[:-1]).any():
            raise broken_promise("indices_are_sorted")
        if unique and self.xp.unique(ids).size != ids.size:
            raise broken_promise("unique")

    # Windows that start where an operand says

    def dynamic_slice(self, x: Array, start: Array, *, sizes: Ints) -> Array:
        """The window of `sizes` elements from `start`, clamped so that it fits; E4012 if it cannot fit. A view."""
        return x[_window(x.shape, start, sizes)]

    def dynamic_update_slice(self, x: Array, update: Array, start: Array, *, sizes: Ints) -> Array:
        """A copy of `x` with the window from `start`, clamped, overwritten."""
        return self.dynamic_update_slice_into(self.copy(x), update, start, sizes=sizes)

    def dynamic_update_slice_into(self, x: Array, update: Array, start: Array, *, sizes: Ints) -> Array:
        """As `dynamic_update_slice`, but in the memory of `x`, which the caller gives up; a copy if that cannot be written to."""
        window, target = _window(x.shape, start, sizes), self._writeable(x)
        target[window] = update
        return target


def _window(shape: Ints, start: Array, sizes: Ints) -> tuple[slice, ...]:
    found: list[slice] = []
    for i, (first, size, n) in enumerate(zip(start.tolist(), sizes, shape, strict=True)):
        if size > n:
            message = f"a window of {size} at dimension {i} of extent {n}, expected 0 to {n}"
            raise error("E4012", message, dimension=i, bounds=(0, size), extent=n)
        clamped = min(max(first, 0), n - size)
        found.append(slice(clamped, clamped + size))
    return tuple(found)


def out_of_bounds(index: int, shape: Ints, axis: int, category: str, window: int = 1) -> MindError:
    """E6001 under the contract's name for it."""
    extents, limit = list(shape), shape[axis] - window
    what = f"index {index}" if window == 1 else f"a window of {window} at {index}"
    message = f"{what} is out of bounds along axis {axis} of {extents}, expected 0 <= index <= {limit}"
    return error("E6001", message, category=category, indices=[index], shape=extents, axis=axis)


def broken_promise(promise: str, found: str | None = None) -> MindError:
    """E8002 for a promise that does not hold, by default one of `segment_reduce`."""
    found = found or {"indices_are_sorted": "ids that are not ascending", "unique": "an id that occurs twice"}[promise]
    message = f"{promise} is promised, found {found}"
    return error("E8002", message, attribute=promise, value=True)
