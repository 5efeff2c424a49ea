"""
Updates of rows: `x.at[key]` where a key has index arrays, and selects slices of step 1 along the other axes, if there are any.

The axes with an index become one axis, along which the updates are scattered: one index for a row, not one for each of its
elements. Where slices are parts of an axis, the rows are windows, each at an index vector.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mind_dialect import ptir
from mind_dialect.extents.dims import product_dims
from mind_dialect.shapes import inverse_permutation

from .array import Array
from .dtypes import int64
from .emit import constant, emit
from .indexing import Plan
from .operands import broadcast


def selects_rows(plan: Plan) -> bool:
    """Return whether a key has an index array, and selects a window that is not empty along the axes without an index."""
    if not plan.indexed or not all(isinstance(plan.starts[a], int) for a in plan.dropped):
        return False
    rest, parts = _rest(plan), parts_of_axes(plan)
    if any(plan.sizes[a] == 0 or plan.steps[a] != 1 or a in plan.flipped for a in rest):
        return False
    return not parts or all(isinstance(n, int) for n in (*plan.starts, *plan.shape, *(n for i in plan.indices for n in i.shape)))


def parts_of_axes(plan: Plan) -> list[int]:
    """Return the axes without an index of which a key selects a part."""
    return [a for a in _rest(plan) if plan.sizes[a] != plan.shape[a] or plan.starts[a] != 0]


def scattered_rows(x: Array, plan: Plan, kind: str, new: Array) -> Array:
    """Return `x` with `new` combined in at the rows, or windows of rows, that a key selects."""
    from .rows.manipulation import reshaped, transposed

    axes, rest, indices = plan.indexed, _rest(plan), plan.indices
    if plan.dropped:
        given = dict(zip(axes, indices, strict=True))
        axes = sorted((*axes, *plan.dropped))
        indices = [given[a] if a in given else constant(plan.starts[a], int64) for a in axes]
    extents, others, sizes = [x.shape[a] for a in axes], [x.shape[a] for a in rest], [plan.sizes[a] for a in rest]
    index = plan.joint(indices, extents)
    adjacent = axes[-1] - axes[0] == len(axes) - 1
    at, order = axes[0] if adjacent else 0, (*axes, *rest)
    moved = x if adjacent else transposed(x, order)
    joined = reshaped(moved, _with(others, at, [product_dims(extents)]))
    count = product_dims(index.shape)
    rows = reshaped(_updates(plan, new, sizes, index.shape, at), _with(sizes, at, [count]))
    numbers, parts = reshaped(index, (count,)), parts_of_axes(plan)
    if parts:
        starts = {n + (n >= at): plan.starts[a] for n, a in enumerate(rest) if a in parts}
        found = _scattered_windows(kind, joined, numbers, rows, at, starts)
    else:
        found = combined_rows(kind, joined, numbers, rows, at)
    found = reshaped(found, moved.shape)
    return found if adjacent else transposed(found, inverse_permutation(order))


def _rest(plan: Plan) -> list[int]:
    """Return the axes without an index."""
    return [a for a in range(len(plan.shape)) if a not in plan.indexed and a not in plan.dropped]


def _with(extents: list[Any], place: int, block: list[Any]) -> tuple[Any, ...]:
    """Return extents with a block of others before one of them."""
    return (*extents[:place], *block, *extents[place:])


def _updates(plan: Plan, new: Array, others: list[Any], block: tuple[Any, ...], at: int) -> Array:
    """Return the updates, with the axes of the index arrays before axis `at` of the others, not where a result has them."""
    from .rows.manipulation import reshaped, transposed

    place, rank = plan.place(only_axes=True), len(block)
    arranged = reshaped(broadcast(new, plan.final(others, block)), _with(others, place, list(block)))
    if place == at:
        return arranged
    numbers = list(range(arranged.ndim))
    rest = [*numbers[:place], *numbers[place + rank :]]
    return transposed(arranged, _with(rest, at, numbers[place : place + rank]))


def combined_rows(kind: str, x: Array, index: Array, updates: Array, axis: int) -> Array:
    """Return an array with rows along an axis combined in, in the order of the index."""
    from .rows.manipulation import reshaped

    rank = len(x.shape)
    if kind == "mul":
        return _scattered_windows(kind, x, index, updates, axis, {})
    if kind == "add" and rank > 1:
        return emit(ptir.ScatterAddOp, x, index, updates, **_row_dims(rank, axis))
    wide = index if rank == 1 else broadcast(reshaped(index, (*index.shape, *[1] * (rank - axis - 1))), updates.shape)
    return emit(ptir.ScatterReduceOp, x, wide, updates, kind=kind, axis=axis)


def _row_dims(rank: int, axis: int, others: Iterable[int] = ()) -> dict[str, Any]:
    """Return the dimension numbers of a scatter of rows along an axis, whose index vectors are also along some others."""
    windows = tuple([a for a in range(rank) if a != axis])
    targets = (axis, *others)
    return {"update_window_dims": windows, "inserted_window_dims": (axis,), "scatter_dims_to_operand_dims": targets}


def _scattered_windows(kind: str, x: Array, index: Array, updates: Array, axis: int, starts: dict[int, int]) -> Array:
    """Return an array with windows of rows along an axis combined in; `starts` has the first element along other axes, or 0."""
    from .rows.manipulation import concat, reshaped

    if starts:
        count = index.shape[0]
        columns = [constant(start, index.dtype, (count, 1)) for start in starts.values()]
        index = concat([reshaped(index, (count, 1)), *columns], axis=1)
    batch: dict[str, Any] = dict.fromkeys(("input_batching_dims", "scatter_indices_batching_dims"), ())
    how: dict[str, Any] = {"kind": kind, "index_vector_dim": 1, "mode": "raise", "unique": False}
    return emit(ptir.ScatterWindowsOp, x, index, updates, **_row_dims(len(x.shape), axis, starts), **batch, **how)
