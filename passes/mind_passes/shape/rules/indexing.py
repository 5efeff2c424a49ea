"""Shapes of ops whose places are data, and of those with parameters along an axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from mind_dialect import core, ptir, ptir_shapes
from mind_dialect.core import CoreOp
from mind_dialect.extents.dims import is_nonnegative
from mind_dialect.ptir import PtirOp

from ..emitter import Emitter, Shape
from .row import Row
from .structural import reaches, window

_ALONG = "{what} of size {{lhs}}, expected {{rhs}}"


def _rows(e: Emitter, op: Operation, x: Shape, indices: Shape) -> Shape:
    """Rows of `x`, one for each index."""
    return e.shape([*e.extents(indices), *e.extents(x)[1:]])


def _core_index(e: Emitter, op: core.IndexOp, x: Shape) -> Shape:
    return e.shape([])


def _core_scatter_add(e: Emitter, op: core.ScatterAddOp, indices: Shape, updates: Shape) -> Shape:
    target = e.shape(op.values()["shape"])
    e.same(updates, _rows(e, op, target, indices))
    return target


def _core_slice_scatter(e: Emitter, op: core.SliceScatterOp, updates: Shape) -> Shape:
    given = op.values()
    for i, (n, start, step) in enumerate(zip(given["shape"], given["starts"], given["steps"], strict=True)):
        count = e.extent(updates, i)
        last = e.add(e.mul(e.add(count, -1), step), start + 1)
        reach = e.mul(e.min(count, 1), last)  # no updates reach nowhere
        e.require(reach, "le", n, "E4012", f"updates reach up to {{lhs}} along dimension {i} of size {{rhs}}")
    return e.shape(given["shape"])


def _core_index_scatter(e: Emitter, op: core.IndexScatterOp, update: Shape) -> Shape:
    return e.shape(op.values()["shape"])


def _equal_off_axis(e: Emitter, x: Shape, indices: Shape, axis: int) -> Shape:
    found = [
        e.extent(indices, i)
        if i == axis
        else e.equal(e.extent(indices, i), e.extent(x, i), "E3003", _ALONG.format(what=f"dimension {i} of indices"))
        for i in range(x.rank)
    ]
    return e.shape(found)


def _gather(e: Emitter, op: ptir.GatherOp, x: Shape, indices: Shape) -> Shape:
    return _equal_off_axis(e, x, indices, ptir_shapes.axis(op.values()["axis"], x.rank))


def _scatter_reduce(e: Emitter, op: ptir.ScatterReduceOp, x: Shape, indices: Shape, updates: Shape) -> Shape:
    _equal_off_axis(e, x, e.same(indices, updates), ptir_shapes.axis(op.values()["axis"], x.rank))
    return x


def _scatter_add(e: Emitter, op: ptir.ScatterAddOp, x: Shape, indices: Shape, updates: Shape) -> Shape:
    given = op.values()
    vector = indices.rank if given["index_vector_dim"] is None else given["index_vector_dim"]
    targets, inserted = given["scatter_dims_to_operand_dims"], ptir_shapes.axes(given["inserted_window_dims"], x.rank)
    windowed = ptir_shapes.axes(given["update_window_dims"], updates.rank)
    if vector < indices.rank:
        e.require(e.extent(indices, vector), "eq", len(targets), "E3003", _ALONG.format(what="index vectors"))
    limits = iter([e.extent(x, i) for i in range(x.rank) if i not in inserted])
    scattered = iter([e.extent(indices, i) for i in range(indices.rank) if i != vector])
    for i, n in enumerate(e.extents(updates)):
        if i in windowed:
            wording = f"update window of size {{lhs}} along dimension {i}, expected at most {{rhs}}"
            e.require(n, "le", next(limits), "E4012", wording)
        else:
            e.require(n, "eq", next(scattered), "E3003", _ALONG.format(what=f"dimension {i} of updates"))
    return x


def _indexed(
    e: Emitter, x: Shape, indices: Shape, batching: Sequence[int], own: Sequence[int], targets: Sequence[int], vector: int
) -> list[SSAValue]:
    """The extents of the indices but for that of the index vectors."""
    if vector < indices.rank:
        e.require(e.extent(indices, vector), "eq", len(targets), "E3003", _ALONG.format(what="index vectors"))
    batches = zip(ptir_shapes.axes(batching, x.rank), ptir_shapes.axes(own, indices.rank), strict=True)
    for a, i in batches:
        e.require(e.extent(x, a), "eq", e.extent(indices, i), "E3003", _ALONG.format(what=f"batching dimension {i} of indices"))
    return [e.extent(indices, i) for i in range(indices.rank) if i != vector]


def _gather_windows(e: Emitter, op: ptir.GatherWindowsOp, x: Shape, indices: Shape) -> Shape:
    v = op.values()
    dims = (v["operand_batching_dims"], v["start_indices_batching_dims"], v["start_index_map"], v["index_vector_dim"])
    outer = iter(_indexed(e, x, indices, *dims))
    batching = ptir_shapes.axes(v["operand_batching_dims"], x.rank)
    reaches(e, x, [0 if i in batching else n for i, n in enumerate(v["slice_sizes"])])
    gone = ptir_shapes.axes((*v["collapsed_slice_dims"], *v["operand_batching_dims"]), x.rank)
    windows = iter([n for a, n in enumerate(v["slice_sizes"]) if a not in gone])
    rank = indices.rank - (v["index_vector_dim"] < indices.rank) + x.rank - len(gone)
    offsets = ptir_shapes.axes(v["offset_dims"], rank)
    return e.shape([next(windows) if i in offsets else next(outer) for i in range(rank)])


def _scatter_windows(e: Emitter, op: ptir.ScatterWindowsOp, x: Shape, indices: Shape, updates: Shape) -> Shape:
    v = op.values()
    batching = v["input_batching_dims"]
    dims = (batching, v["scatter_indices_batching_dims"], v["scatter_dims_to_operand_dims"], v["index_vector_dim"])
    outer = iter(_indexed(e, x, indices, *dims))
    gone = ptir_shapes.axes((*v["inserted_window_dims"], *batching), x.rank)
    limits = iter([e.extent(x, i) for i in range(x.rank) if i not in gone])
    windows = ptir_shapes.axes(v["update_window_dims"], updates.rank)
    for i, n in enumerate(e.extents(updates)):
        if i in windows:
            wording = f"update window of size {{lhs}} along dimension {i}, expected at most {{rhs}}"
            e.require(n, "le", next(limits), "E4012", wording)
        else:
            e.require(n, "eq", next(outer), "E3003", _ALONG.format(what=f"dimension {i} of updates"))
    return x


def _dynamic_slice(e: Emitter, op: PtirOp, x: Shape, start: Shape) -> Shape:
    sizes = op.values()["sizes"]
    e.require(e.extent(start, 0), "eq", x.rank, "E3003", _ALONG.format(what="start"))
    return window(e, x, (0,) * x.rank, sizes)


def _dynamic_update_slice(e: Emitter, op: ptir.DynamicUpdateSliceOp, x: Shape, update: Shape, start: Shape) -> Shape:
    e.same(update, _dynamic_slice(e, op, x, start))
    return x


# Along an axis


def _vectors(e: Emitter, n: SSAValue, vectors: Sequence[tuple[str, Shape]]) -> None:
    """Demand that vectors have `n` entries."""
    for name, vector in vectors:
        if vector.rank:
            e.require(e.extent(vector, 0), "eq", n, "E3003", _ALONG.format(what=name))


def _layer_norm(e: Emitter, op: ptir.LayerNormOp, x: Shape, gamma: Shape, beta: Shape) -> Shape:
    axis = ptir_shapes.axis(op.values()["feature_axis"], x.rank)
    _vectors(e, e.extent(x, axis), [("gamma", gamma), ("beta", beta)])
    return x


def _quantization(e: Emitter, op: ptir.QuantizationOp, x: Shape, *parameters: Shape) -> Shape:
    axis = op.values()["axis"]
    if axis is not None:
        names = [name.replace("_", " ") for name in op.PARAMETERS]
        _vectors(e, e.extent(x, ptir_shapes.axis(axis, x.rank)), list(zip(names, parameters, strict=False)))
    return x


def _top_k(e: Emitter, op: ptir.TopKOp, x: Shape) -> list[Shape]:
    given = op.values()
    axis = ptir_shapes.axis(given["axis"], x.rank)
    k = e.dim(given["k"])
    if not is_nonnegative(given["k"]):
        e.require(k, "ge", 0, "E8002", "k {lhs}, expected at least 0")
    e.require(k, "le", e.extent(x, axis), "E8002", "k {lhs} along an axis of size {rhs}")
    found = e.shape([k if i == axis else n for i, n in enumerate(e.extents(x))])
    return [found, found]


def _segment_reduce(e: Emitter, op: ptir.SegmentReduceOp, data: Shape, ids: Shape) -> Shape:
    _vectors(e, e.extent(data, 0), [("segment ids", ids)])
    count = op.values()["num_segments"]
    if not is_nonnegative(count):
        e.require(e.dim(count), "ge", 0, "E8002", "num_segments {lhs}, expected at least 0")
    return e.shape([e.dim(count), *e.extents(data)[1:]])


CORE: Mapping[type[CoreOp], Row] = {
    core.IndexOp: _core_index,
    core.GatherOp: _rows,
    core.ScatterAddOp: _core_scatter_add,
    core.SliceScatterOp: _core_slice_scatter,
    core.IndexScatterOp: _core_index_scatter,
}

PTIR: Mapping[type[PtirOp], Row] = {
    ptir.TakeOp: _rows,
    ptir.GatherOp: _gather,
    ptir.ScatterAddOp: _scatter_add,
    ptir.GatherWindowsOp: _gather_windows,
    ptir.ScatterWindowsOp: _scatter_windows,
    ptir.ScatterReduceOp: _scatter_reduce,
    ptir.DynamicSliceOp: _dynamic_slice,
    ptir.DynamicUpdateSliceOp: _dynamic_update_slice,
    ptir.LayerNormOp: _layer_norm,
    ptir.QuantizeOp: _quantization,
    ptir.DequantizeOp: _quantization,
    ptir.RequantizeOp: _quantization,
    ptir.TopKOp: _top_k,
    ptir.SegmentReduceOp: _segment_reduce,
}
