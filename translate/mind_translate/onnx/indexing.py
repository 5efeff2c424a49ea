"""
Rows of gathers and scatters. Negative indices count from the end; others out of range are errors of the run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.errors import error
from mind_dialect.ptir.types import SI64, Kind
from mind_dialect.ptir_shapes import Dim

from ..unsupported import Refused
from .converter import OnnxConverter, OnnxRow
from .emitter import HOW_SIZED, static
from .node import Node
from .structural import taken

KINDS = {"none": "replace", "add": "add", "mul": "mul", "max": "max", "min": "min"}


def from_start(to: OnnxConverter, index: SSAValue, n: Dim) -> SSAValue:
    """Indices into `n` elements, counted from the start."""
    index = to.index(index)
    if to.dtype(index).kind is Kind.UNSIGNED:
        return index
    moved = to.plus(index, to.like(n, index) if isinstance(n, int) else to.cast(to.size(n), to.dtype(index)))
    known = to.known(index)
    if known is not None and all(isinstance(v, int) and v >= 0 for v in known):
        return index
    return to.select(to.compare("less", index, 0), moved, index)


def _gather(to: OnnxConverter, node: Node) -> SSAValue:
    x, index = node.x(), node.x(1)
    axis, rank, depth = node.axis("axis", 0, x), len(to.shape(x)), len(to.shape(index))
    rows = to.transpose(x, [axis, *(i for i in range(rank) if i != axis)])
    found = to.emit(ptir.TakeOp, rows, from_start(to, index, to.shape(x)[axis]))
    return to.transpose(found, [*range(depth, depth + axis), *range(depth), *range(depth + axis, depth + rank - 1)])


def _gather_elements(to: OnnxConverter, node: Node) -> SSAValue:
    x = node.x()
    index, axis = node.ranked(1, len(to.shape(x))), node.axis("axis", 0, x)
    index = from_start(to, index, to.shape(x)[axis])
    for i, (n, m) in enumerate(zip(to.shape(x), to.shape(index), strict=True)):
        if i != axis and n != m:
            (limit,) = static((m,), "GatherElements")
            x = to.part(x, i, 0, limit)
    return to.emit(ptir.GatherOp, x, index, axis=axis)


def _scatter_elements(to: OnnxConverter, node: Node) -> SSAValue:
    x = node.x()
    rank, axis = len(to.shape(x)), node.axis("axis", 0, x)
    index, updates = node.ranked(1, rank), node.ranked(2, rank)
    kind = KINDS[node.word("reduction", "none", tuple(KINDS))]
    index = from_start(to, index, to.shape(x)[axis])
    outside = [i for i, (n, m) in enumerate(zip(to.shape(x), to.shape(index), strict=True)) if i != axis and n != m]
    if kind != "mul" and not outside:
        return to.emit(ptir.ScatterReduceOp, x, index, updates, kind=kind, axis=axis)
    shape = static(to.shape(index), "ScatterElements")
    places = [index if i == axis else to.emit(ptir.IotaOp, shape=shape, dtype=to.dtype(index), axis=i) for i in range(len(shape))]
    vectors = to.concat([to.reshape(p, (math.prod(shape), 1)) for p in places], 1)
    return _scattered(to, x, vectors, to.reshape(updates, (math.prod(shape),)), kind, len(shape))


def _scattered(to: OnnxConverter, x: SSAValue, vectors: SSAValue, updates: SSAValue, kind: str, depth: int) -> SSAValue:
    """Windows of `updates` at index vectors of `depth` components into the first dimensions of `x`."""
    batch = len(to.shape(vectors)) - 1
    rest = len(to.shape(x)) - depth
    return to.emit(
        ptir.ScatterWindowsOp,
        x,
        vectors,
        updates,
        kind=kind,
        update_window_dims=tuple(range(batch, batch + rest)),
        inserted_window_dims=tuple(range(depth)),
        input_batching_dims=(),
        scatter_indices_batching_dims=(),
        scatter_dims_to_operand_dims=tuple(range(depth)),
        index_vector_dim=batch,
        mode="raise",
        unique=False,
    )


def _vectors(to: OnnxConverter, index: SSAValue, sizes: Sequence[Dim]) -> SSAValue:
    """Index vectors counted from the start."""
    last = len(to.shape(index)) - 1
    parts = [from_start(to, to.part(index, last, i, i + 1), n) for i, n in enumerate(sizes)]
    return to.concat(parts, last)


def _components(to: OnnxConverter, index: SSAValue, rank: int) -> int:
    if not to.shape(index):
        raise error("E3002", "indices are a scalar, expected rank 1 or more", expected="1 or more", actual=0)
    (n,) = static(to.shape(index)[-1:], "index vectors")
    if not 1 <= n <= rank:
        raise error("E3003", f"index vectors of {n} components into rank {rank}", dimension=-1, extents=(n, rank))
    return n


def _gather_nd(to: OnnxConverter, node: Node) -> SSAValue:
    x, index, batch = node.x(), node.x(1), node.int("batch_dims")
    shape = to.shape(x)
    if batch < 0 or batch >= min(len(shape), len(to.shape(index))):
        raise error("E8002", f"batch_dims is {batch}", attribute="batch_dims", value=batch)
    depth = _components(to, index, len(shape) - batch)
    lead = tuple(range(batch))
    if any(isinstance(n, str) for n in shape[batch + depth :]):
        return _rows(to, node, x, index, depth)
    vectors = _vectors(to, index, shape[batch : batch + depth])
    rest = len(shape) - batch - depth
    outer = len(to.shape(index)) - 1
    return to.emit(
        ptir.GatherWindowsOp,
        x,
        vectors,
        offset_dims=tuple(range(outer, outer + rest)),
        collapsed_slice_dims=tuple(range(batch, batch + depth)),
        operand_batching_dims=lead,
        start_indices_batching_dims=lead,
        start_index_map=tuple(range(batch, batch + depth)),
        index_vector_dim=outer,
        slice_sizes=tuple(1 if i < batch + depth else n for i, n in enumerate(shape)),
        mode="raise",
    )


def _rows(to: OnnxConverter, node: Node, x: SSAValue, index: SSAValue, depth: int) -> SSAValue:
    """Parts with dimensions that have names: rows of a table, one after the other in the order of the vectors' components."""
    shape = to.shape(x)
    if node.int("batch_dims"):
        raise Refused("parts of a batch along dimensions without sizes", HOW_SIZED)
    sizes = static(shape[:depth], "index vectors")
    table = to.reshape(x, (math.prod(sizes), *shape[depth:]))
    vectors, last = _vectors(to, index, sizes), len(to.shape(index)) - 1
    factors = [math.prod(sizes[i + 1 :]) for i in range(depth)]
    places = to.times(vectors, to.constant(to.dtype(vectors), (depth,), factors))
    return to.emit(ptir.TakeOp, table, to.reduced("sum", places, [last], keepdims=False))


def _scatter_nd(to: OnnxConverter, node: Node) -> SSAValue:
    x, index, updates = node.x(0), node.x(1), node.x(2)
    kind = KINDS[node.word("reduction", "none", tuple(KINDS))]
    depth = _components(to, index, len(to.shape(x)))
    return _scattered(to, x, _vectors(to, index, to.shape(x)[:depth]), updates, kind, depth)


def _one_hot(to: OnnxConverter, node: Node) -> SSAValue:
    """`values` is (off, on); an index outside of the depth is off everywhere."""
    index, values = node.x(0), node.x(2)
    depth = node.integers(1)
    if depth is None or len(depth) != 1 or depth[0] < 0:
        raise error("E8002", f"depth is {depth}, expected one number", attribute="depth", value=depth)
    (n,) = depth
    rank = len(to.shape(index)) + 1
    axis = node.int("axis", -1)
    if not -rank <= axis < rank:
        raise error("E3004", f"axis {axis} is out of range for rank {rank}", axis=axis, rank=rank)
    axis %= rank
    whole = from_start(to, to.cast(index, SI64), n)
    shape = to.shape(index)
    shape = (*shape[:axis], n, *shape[axis:])
    places = to.emit(ptir.IotaOp, shape=shape, dtype=SI64, axis=axis)
    hot = to.compared("equal", places, to.reshape(whole, (*shape[:axis], 1, *shape[axis + 1 :])))
    off, on = (to.broadcast(to.reshape(to.part(values, 0, i, i + 1), ()), shape) for i in (0, 1))
    return to.select(hot, on, off)


def _tensor_scatter(to: OnnxConverter, node: Node) -> SSAValue:
    """Rows of a cache: each sequence of the batch is written from its own place on, around the end if circular."""
    x, update, starts = node.x(0), node.x(1), node.optional(2)
    axis = node.axis("axis", -2, x)
    shape, rows = static(to.shape(x), "TensorScatter"), static(to.shape(update), "TensorScatter")
    places = to.emit(ptir.IotaOp, shape=rows, dtype=SI64, axis=axis)
    if starts is not None:
        places = to.plus(places, to.along(to.cast(starts, SI64), 0, len(shape)))
    if node.word("mode", "linear", ("linear", "circular")) == "circular":
        places = to.emit(ptir.RemainderOp, places, to.like(shape[axis], places))
    return to.emit(ptir.ScatterReduceOp, x, places, update, kind="replace", axis=axis)


def _compress(to: OnnxConverter, node: Node) -> SSAValue:
    """The rows where a known condition holds; without an axis those of the flat operand."""
    x, condition = node.x(), node.array(1)
    if "axis" not in node.attributes:
        x = to.reshape(x, (math.prod(static(to.shape(x), "Compress")),))
    places = np.flatnonzero(np.zeros(0) if condition is None else condition)
    return taken(to, x, node.axis("axis", 0, x), places)


def _max_unpool(to: OnnxConverter, node: Node) -> SSAValue:
    """The elements at the flat places that a pool gave, zeros elsewhere."""
    x, index = node.x(0), node.x(1)
    shape, size = static(to.shape(x), "MaxUnpool"), node.ints("kernel_shape") or []
    n = len(size)
    if len(shape) != n + 2:
        raise error(
            "E3002", f"X has rank {len(shape)}, expected {n + 2}, as kernel_shape says", expected=n + 2, actual=len(shape)
        )
    strides, pads = node.each("strides", n, 1), node.each("pads", 2 * n, 0)
    spatial = [(s - 1) * t - a - b + k for s, t, a, b, k in zip(shape[2:], strides, pads[:n], pads[n:], size, strict=True)]
    own = (*shape[:2], *spatial)
    result = tuple(node.integers(2) or own) if node.has(2) else own
    if len(result) != len(own) or any(m < k for m, k in zip(result, own, strict=True)):
        raise error("E8002", f"output_shape {list(result)} of {list(own)}", attribute="output_shape", value=result)
    count = math.prod(shape)
    empty = to.fill(0, to.dtype(x), (math.prod(own),))
    flat = [to.reshape(to.index(index), (count,)), to.reshape(x, (count,))]
    found = to.reshape(to.emit(ptir.ScatterReduceOp, empty, *flat, kind="replace", axis=0), own)
    return to.pad(found, 0, [0] * len(own), [m - k for m, k in zip(result, own, strict=True)])


DYNAMIC_RESULT = Refused("a result whose size depends on data", "compute it before the program, or pass it as an input")

INDEXING: dict[str, OnnxRow | Refused] = {
    "Compress": _compress,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "MaxUnpool": _max_unpool,
    "NonMaxSuppression": DYNAMIC_RESULT,
    "NonZero": DYNAMIC_RESULT,
    "OneHot": _one_hot,
    "Scatter": _scatter_elements,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
    "TensorScatter": _tensor_scatter,
    "Unique": DYNAMIC_RESULT,
}
