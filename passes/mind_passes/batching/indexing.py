"""
Batching of ops whose places are data.

An index that is out of range for its example must stay out of range, so examples never share an axis that is indexed: the batch
is an axis along which elements correspond (`gather`, `scatter_reduce`, windows at index vectors), a window (`scatter_add`), or an
index of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import tensor_type
from mind_dialect.ptir.windows_at import GATHER_DIMS, SCATTER_DIMS
from mind_dialect.ptir_shapes import Dim

from ..ptir import construct as c
from .rules import Flags, Row, Value, Values, after, again, by_loop, from_front, rank, spread, spread_all, to_front
from .windows import cut, overwritten


def taken(op: ptir.TakeOp, xs: Values, flags: Flags, size: Dim) -> Value | Sequence[Value]:
    """Rows of one table for all; rows of all tables by the same numbers; or, both batched, a gather along axis 1."""
    x, indices = xs
    if not flags[0]:
        return again(op, xs, size)
    if not flags[1]:
        place = rank(op.operands[1])
        return to_front(again(op, [from_front(x, 1), indices], size, place), place)
    row, places = c.dims(op.operands[0])[1:], c.dims(op.operands[1])
    if 0 in row or (len(places) > 1 and any(isinstance(n, str) for n in places)):
        return by_loop(op, xs, flags, size)
    count = places[0] if len(places) == 1 else prod(cast("tuple[int, ...]", places))
    shape = (size, count, *row)
    numbers = c.broadcast(c.reshape(indices, (size, count, *[1] * len(row))), shape)
    found = c.make(ptir.GatherOp, x, numbers, type=tensor_type(c.spec(x).dtype, shape), axis=1)
    return c.reshape(found, (size, *places, *row))


def corresponding(op: ptir.PtirOp, xs: Values, flags: Flags, size: Dim) -> Value:
    """Everywhere but along the axis, operands correspond; along the batch axis too."""
    (axis,) = after((op.values()["axis"],), rank(op.operands[0]))
    return again(op, spread_all(xs, flags, size), size, axis=axis)


def scattered(op: ptir.ScatterAddOp, xs: Values, flags: Flags, size: Dim) -> Value:
    """Indices that are not batched place windows through all examples; others get the number of the example as one index more."""
    v = op.values()
    x, updates = spread(xs[0], flags[0], size), spread(xs[2], flags[2], size)
    inserted = after(v["inserted_window_dims"], rank(op.operands[0]))
    targets = after(v["scatter_dims_to_operand_dims"], rank(op.operands[0]))
    window = after(v["update_window_dims"], rank(op.operands[2]))
    if not flags[1]:
        return again(op, [x, xs[1], updates], size, update_window_dims=(0, *window), inserted_window_dims=inserted,
                     scatter_dims_to_operand_dims=targets)  # fmt: skip
    return again(
        op,
        [x, _numbered(op, xs[1], size), updates],
        size,
        update_window_dims=window,
        inserted_window_dims=(0, *inserted),
        scatter_dims_to_operand_dims=(0, *targets),
        index_vector_dim=_vector_dim(op) + 1,
    )


def windows(op: ptir.GatherWindowsOp | ptir.ScatterWindowsOp, xs: Values, flags: Flags, size: Dim) -> Value:
    """The batch is one batching dimension more, of both."""
    v, ranks = op.values(), [rank(x) for x in op.operands]
    is_gather = isinstance(op, ptir.GatherWindowsOp)
    vector = {"index_vector_dim": v["index_vector_dim"] + 1}
    if is_gather:
        changed = {"slice_sizes": (1, *v["slice_sizes"]), "offset_dims": after(v["offset_dims"], rank(op.results[0]))}
    else:
        changed = {"update_window_dims": after(v["update_window_dims"], ranks[2])}
    names = GATHER_DIMS if is_gather else SCATTER_DIMS
    for name, of in zip(names[1:5], (0, 0, 1, 0), strict=True):
        changed[name] = after(v[name], ranks[of])
    for name in names[2:4]:
        changed[name] = (0, *changed[name])
    return again(op, spread_all(xs, flags, size), size, **changed, **vector)


def _vector_dim(op: ptir.ScatterAddOp) -> int:
    """Return the dimension that the components of an index are in, or would be in."""
    stated = op.values()["index_vector_dim"]
    return rank(op.operands[1]) if stated is None else stated


def _numbered(op: ptir.ScatterAddOp, indices: SSAValue, size: Dim) -> Value:
    """Batched index vectors with the number of the example before their components."""
    dtype, shape = c.spec(op.operands[1])
    axis = _vector_dim(op) + 1
    known = (size, *c.dims(op.operands[1]))
    vectors = c.reshape(indices, (*known, 1)) if axis == len(known) else indices
    shape = c.spec(vectors).shape
    one = (*shape[:axis], 1, *shape[axis + 1 :])
    numbers = c.make(ptir.IotaOp, type=tensor_type(dtype, one), shape=one, dtype=dtype, axis=0)
    length = len(op.values()["scatter_dims_to_operand_dims"]) + 1
    return c.make(ptir.ConcatOp, numbers, vectors, type=tensor_type(dtype, (*one[:axis], length, *one[axis + 1 :])), axis=axis)


_DYNAMIC = "the starts are batched, and the operand or the window has a dynamic dimension"

INDEXING: dict[type[ptir.PtirOp], Row] = {
    ptir.TakeOp: Row(
        taken,
        "table and indices are batched, and rows have no elements or indices several dimensions, one of them dynamic",
    ),
    ptir.GatherOp: Row(corresponding),
    ptir.ScatterAddOp: Row(scattered),
    ptir.ScatterReduceOp: Row(corresponding),
    ptir.GatherWindowsOp: Row(windows),
    ptir.ScatterWindowsOp: Row(windows),
    ptir.DynamicSliceOp: Row(cut, _DYNAMIC),
    ptir.DynamicUpdateSliceOp: Row(overwritten, _DYNAMIC),
}
