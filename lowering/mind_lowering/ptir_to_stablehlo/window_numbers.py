"""The dimension numbers of `gather_windows` and `scatter_windows`, every axis counted from 0, and how large their windows are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mind_dialect import ptir
from mind_dialect.ptir.windows_at import GATHER_DIMS, SCATTER_DIMS

from .builder import Values, shape_of


@dataclass(frozen=True)
class WindowNumbers:
    """`windows` are the extents of a window along the axes of `x`, `targets` the axes that index vectors have entries for."""

    lists: Mapping[str, Any]
    targets: Sequence[int]
    vector: int
    windows: Sequence[int]


def gather_numbers(op: ptir.GatherWindowsOp, x: Values) -> WindowNumbers:
    """Return the dimension numbers of a gather."""
    values, rank, of_indices = op.values(), len(shape_of(x[0])), len(shape_of(x[1]))
    ranks = {"offset_dims": len(op.result_spec().shape), "start_indices_batching_dims": of_indices}
    lists: dict[str, list[int]] = {name: [a % ranks.get(name, rank) for a in values[name]] for name in GATHER_DIMS[:-1]}
    vector = values["index_vector_dim"]
    return WindowNumbers({**lists, GATHER_DIMS[-1]: vector}, lists["start_index_map"], vector, values["slice_sizes"])


def scatter_numbers(op: ptir.ScatterWindowsOp, x: Values) -> WindowNumbers:
    """Return the dimension numbers of a scatter; along axes without a window dimension of the updates, windows are of 1."""
    values, rank, updates = op.values(), len(shape_of(x[0])), shape_of(x[2])
    ranks = {"update_window_dims": len(updates), "scatter_indices_batching_dims": len(shape_of(x[1]))}
    lists: dict[str, list[int]] = {name: [a % ranks.get(name, rank) for a in values[name]] for name in SCATTER_DIMS[:-1]}
    gone = {*lists["inserted_window_dims"], *lists["input_batching_dims"]}
    sizes = iter([updates[a] for a in lists["update_window_dims"]])
    windows = [1 if d in gone else next(sizes) for d in range(rank)]
    vector = values["index_vector_dim"]
    return WindowNumbers({**lists, SCATTER_DIMS[-1]: vector}, lists["scatter_dims_to_operand_dims"], vector, windows)
