"""
Reading what `scatter_add` wrote: the windows of a tensor at index vectors, by the dimension numbers of StableHLO's scatter.

Rows are a `take`. Other windows are taken from the elements in one row, by the number of each in row-major order.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from mind_dialect.errors import MindError, error
from mind_dialect.ptir import IotaOp, ReshapeOp, ScatterAddOp, TakeOp
from mind_dialect.ptir.types import SI64, tensor_type
from mind_dialect.ptir_shapes import Dims, axes
from mind_dialect.shapes import inverse_permutation

from ...ptir.construct import Value, add, broadcast, cast, dims, full, make, mul, reshape, scalar, spec, transpose
from ...ptir.parts import AxisSlice, window


def gather_windows(op: ScatterAddOp, g: SSAValue) -> Value:
    """The adjoint of the updates: `g` where each of their elements went."""
    values, x, updates = op.values(), spec(op.x).shape, spec(op.updates).shape
    window_dims = axes(values["update_window_dims"], len(updates))
    index_rank = len(spec(op.indices).shape)
    plain = (values["inserted_window_dims"], values["scatter_dims_to_operand_dims"]) == ((0,), (0,))
    whole = tuple(updates[d] for d in window_dims) == x[1:]
    if plain and whole and values["index_vector_dim"] in (None, index_rank):
        scatter_dims = [d for d in range(len(updates)) if d not in window_dims]
        order = [*scatter_dims, *window_dims]
        rows = make(TakeOp, g, op.indices, type=tensor_type(spec(g).dtype, tuple(dims(op.updates)[d] for d in order)))
        return transpose(rows, inverse_permutation(order))
    row = ReshapeOp(g, new_shape=(-1,))
    return make(TakeOp, row, places(op), type=op.updates.type)


def places(op: ScatterAddOp) -> Value:
    """For each element of the updates, the row-major number of the element of x to which it was added."""
    values, shape, updates = op.values(), spec(op.x).shape, dims(op.updates)
    inserted = axes(values["inserted_window_dims"], len(shape))
    targets = axes(values["scatter_dims_to_operand_dims"], len(shape))
    window_dims = axes(values["update_window_dims"], len(updates))
    scatter_dims = [d for d in range(len(updates)) if d not in window_dims]
    steps = row_major(op, shape)
    kept = tuple(updates[d] if d in scatter_dims else 1 for d in range(len(updates)))
    found: Value = broadcast(scalar(0, SI64), updates)
    for j, target in enumerate(targets):
        start = reshape(component(op, j, tuple(updates[d] for d in scatter_dims)), kept)
        found = add(found, broadcast(mul(start, full(steps[target], start)), updates))
    window_axes = [a for a in range(len(shape)) if a not in inserted]
    for d, a in zip(window_dims, window_axes, strict=True):
        offsets = make(IotaOp, type=tensor_type(SI64, updates), shape=updates, dtype=SI64, axis=d)
        found = add(found, mul(offsets, full(steps[a], offsets)))
    return found


def component(op: ScatterAddOp, j: int, shape: Dims) -> Value:
    """Component `j` of the index vectors, in si64."""
    found, vector = spec(op.indices), op.values()["index_vector_dim"]
    if vector is None or vector == len(found.shape):
        return cast(op.indices, SI64)
    part = window(op.indices, {vector: AxisSlice(j, 1)})
    return cast(reshape(part, shape), SI64)


def row_major(op: ScatterAddOp, shape: Dims) -> list[int]:
    """By how much the number of an element grows along each axis."""
    steps = [1]
    for n in reversed(shape[1:]):
        if not isinstance(n, int):
            raise no_size(op)
        steps.append(steps[-1] * n)
    return steps[::-1][: len(shape)]


def no_size(op: ScatterAddOp) -> MindError:
    """E5006: the numbers of elements need sizes."""
    type = str(op.x.type)
    message = f"x of type {type} has a dimension that is no size; parts of windows are found by counting elements"
    return error("E5006", message, operation=op, type=type)
