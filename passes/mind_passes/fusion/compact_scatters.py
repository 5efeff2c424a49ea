"""
Rows added to a much larger constant are summed in an array with one row for each update: the gradient of an embedding is such.

    scatter_add fill(c), indices [n], updates [n, d]   is   select(first < n, take(sums, first), c)

    first [v]     the number of the first update of each row, n for a row without updates
    sums [n, d]   fill(c) with the updates added, each at the number of the first update of its row

The large array is never stored: the selection fuses with the elementwise ops that read it. Updates of one row are added in their
order, as before, so results have the same bits. A `take` by the same indices must come before: it reports an index out of range.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from mind_dialect import ptir, register
from mind_dialect.dominance import walk
from mind_dialect.ptir import FUSIBLE, ScatterAddOp, TakeOp
from mind_dialect.ptir.types import SI32, tensor_type

from ..ptir.construct import broadcast, compare, elementwise, filled, make, reshape, spec, static, where
from ..ptir.failing import ORIGIN
from ..ptir.patterns.matching import is_fill

LEAST_RATIO = 2
"""So many rows at least has the constant for each update."""
LEAST_BYTES = 1 << 20
"""A smaller constant is scattered to as it is: kernels have a price, whatever they move."""


def compact_scatters(root: Operation, least_bytes: int = LEAST_BYTES) -> bool:
    """Rewrite, inside a verified `root`, the sums of rows in large constants that only elementwise ops read; return if any."""
    order = {op: number for number, op in enumerate(walk(root))}
    found = [op for op in order if isinstance(op, ScatterAddOp) and _adds_rows(op, least_bytes) and _is_checked(op, order)]
    for op in found:
        block = op.parent
        assert block is not None
        made = _compacted(op)
        block.insert_ops_before(made, op)
        for new in made:
            new.location = op.location
            if new.name in ("ptir.take", "ptir.scatter_add", "ptir.scatter_reduce") and ORIGIN in op.attributes:
                new.attributes[ORIGIN] = op.attributes[ORIGIN]
        made[-1].results[0].name_hint = op.results[0].name_hint
        op.results[0].replace_all_uses_with(made[-1].results[0])
        op.detach()
        op.erase()
    return bool(found)


def _adds_rows(op: ScatterAddOp, least_bytes: int) -> bool:
    """Return whether an op adds whole rows to a constant of many more rows, for elementwise ops alone."""
    (dtype, shape), indices, updates = spec(op.x), spec(op.indices).shape, spec(op.updates).shape
    values, rank = op.values(), len(indices)
    if not isinstance(op.x.owner, Operation) or not is_fill(op.x.owner) or len(shape) < 2:
        return False
    sizes = [n for n in (*shape, *indices, *updates) if isinstance(n, int) and n > 0]
    if len(sizes) != len(shape) + len(indices) + len(updates):
        return False
    windows = tuple(values["update_window_dims"]) == tuple(range(rank, len(updates))) and updates == (*indices, *shape[1:])
    along = tuple(values["inserted_window_dims"]) == (0,) == tuple(values["scatter_dims_to_operand_dims"])
    if not windows or not along or values["index_vector_dim"] is not None:
        return False
    large = static(op.x)[0] >= LEAST_RATIO * prod(static(op.indices)) and dtype.size * prod(static(op.x)) >= least_bytes
    uses = [use.operation for use in op.results[0].uses]
    return large and bool(uses) and all(FUSIBLE.get(type(user)) == "elementwise" for user in uses)


def _is_checked(op: ScatterAddOp, order: Mapping[Operation, int]) -> bool:
    """Return whether a `take` before an op rejects the indices that the op must reject; `order` numbers ops as they lie."""
    rows = spec(op.x).shape[0]
    takes = [use.operation for use in op.indices.uses if isinstance(use.operation, TakeOp) and use.index == 1]
    return any(other.parent is op.parent and spec(other.x).shape[0] == rows and order[other] < order[op] for other in takes)


def _compacted(op: ScatterAddOp) -> list[Operation]:
    """Return the ops of the sums by first updates, the last giving the result."""
    (dtype, shape), count = spec(op.x), prod(static(op.indices))
    rows, *rest = static(op.x)
    inner, column = tuple(rest), (rows, *(1 for _ in rest))
    assert isinstance(op.x.owner, ptir.ConstantOp), "checked"
    (number,) = dtype.element.unpack(op.x.owner.literal.data.data)
    indices, updates = reshape(op.indices, (count,)), reshape(op.updates, (count, *inner))
    none, numbers = filled(count, SI32, (rows,)), ptir.IotaOp(shape=(count,), dtype=SI32, axis=0)
    first = make(ptir.ScatterReduceOp, none, indices, numbers, kind="min", axis=0)
    slots = make(TakeOp, first, indices, type=tensor_type(SI32, (count,)))
    start = filled(number, dtype, (count, *inner))
    window: dict[str, Any] = {"update_window_dims": tuple(range(1, len(shape))), "inserted_window_dims": (0,)}
    sums = make(ScatterAddOp, start, slots, updates, scatter_dims_to_operand_dims=(0,), **window)
    last = filled(count - 1, SI32, (rows,))
    there = elementwise(ptir.MinimumOp, first, last)
    looked_up = make(TakeOp, sums, there, type=tensor_type(dtype, shape))
    has_any = compare("less", first, none)
    lifted = reshape(has_any, column)
    spread = broadcast(lifted, shape)
    every = (indices, updates, none, numbers, first, slots, start, sums, last, there, looked_up, has_any, lifted, spread)
    return [*dict.fromkeys(v for v in every if isinstance(v, Operation)), where(spread, looked_up, op.x)]


@dataclass(frozen=True)
class PtirCompactScattersPass(ModulePass):
    """
    Sum rows that are added to a large constant in an array of one row for each update.

    Constants of fewer than `least-bytes=1048576` are scattered to as they are.
    """

    name = "mind-ptir-compact-scatters"

    least_bytes: int = LEAST_BYTES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        compact_scatters(op, self.least_bytes)
