"""
Rows of indexing with data. Indices of `index` and `index_put` that are negative count from the end; those of other ops must not
be, in torch and here (E6001). Masks are indices only where the shape of the result does not depend on them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import I1, SI64, Kind, PtirDType
from mind_dialect.ptir_shapes import Dim, Dims

from ..unsupported import Refused
from .converter import AtenConverter, Call, Operand, Results, Row, Table
from .elementwise import floor_div
from .structural import taken

_SIZES_DEPEND = Refused(
    "indexing with a mask, where the size of the result depends on data", "use torch.where, or the numbers of places"
)
_KINDS = {"sum": "add", "mean": "add", "prod": "mul", "amax": "max", "amin": "min"}


def _index_select(to: AtenConverter, call: Call, x: SSAValue, dim: int, indices: SSAValue) -> SSAValue:
    if not to.shape(x):
        return to.shaped(x, call.shape)
    return taken(to, x, to.axis(x, dim), to.reshape(indices, call.shape[dim : dim + 1] if dim >= 0 else (call.shape[dim],)))


def _embedding(
    to: AtenConverter,
    call: Call,
    weight: SSAValue,
    indices: SSAValue,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    *_: Any,
) -> SSAValue:
    """Rows by number; that of `padding_idx` has no derivative."""
    if scale_grad_by_freq:
        raise Refused("gradients of an embedding scaled by frequency", "leave out scale_grad_by_freq=True")
    found = to.emit(ptir.TakeOp, weight, to.index(indices))
    if padding_idx < 0:
        return found
    axes = range(len(to.shape(indices)))
    is_padding = to.place(to.compare("equal", indices, padding_idx), axes, to.shape(found))
    return to.select(is_padding, to.emit(ptir.StopGradientOp, found), found)


def _gather(to: AtenConverter, call: Call, x: SSAValue, dim: int, indices: SSAValue, *_: Any) -> SSAValue:
    if not to.shape(x):
        return to.broadcast(x, call.shape)
    if not call.shape:
        return to.shaped(to.emit(ptir.TakeOp, x, to.index(indices)), ())
    return to.emit(ptir.GatherOp, _cut(to, x, call.shape, to.axis(x, dim)), to.index(indices), axis=to.axis(x, dim))


def _cut(to: AtenConverter, x: SSAValue, shape: Dims, but: int | None = None) -> SSAValue:
    """The leading elements of `x` along every axis but one: as many as `shape` has."""
    for axis, n in enumerate(shape):
        if axis != but and n != to.shape(x)[axis]:
            size = n if isinstance(n, int) else to.sizes(x, [axis])[0]
            x = to.part(x, axis, 0, size)
    return x


class _Places:
    """Places that several index tensors point to: axes, index vectors, and the axes of the result that they become."""

    def __init__(self, to: AtenConverter, x: SSAValue, indices: Sequence[SSAValue | None]):
        self.axes = [i for i, index in enumerate(indices) if index is not None]
        given = [index for index in indices if index is not None]
        if any(to.is_truth(index) for index in given):
            raise _SIZES_DEPEND
        sizes = [to.shape(x)[i] for i in self.axes]
        self.shape = _common([to.shape(index) for index in given])
        wrapped = [to.broadcast(to.wrapped(i, n), self.shape) for i, n in zip(given, sizes, strict=True)]
        columns = [to.reshape(to.cast(i, SI64), (*self.shape, 1)) for i in wrapped]
        self.vectors = to.concat(columns, len(self.shape))
        rank, count = len(to.shape(x)), len(self.shape)
        rest = [i for i in range(rank) if i not in self.axes]
        together = self.axes == list(range(self.axes[0], self.axes[-1] + 1))
        start = sum(i < self.axes[0] for i in rest) if together else 0
        self.rest = [i if i < start else i + count for i in range(len(rest))]
        """Axes of the result that are those of `x` without an index."""

    def dims(self, window: str, missing: str, to_axes: str) -> dict[str, Any]:
        """The dimension numbers that gathers and scatters have in common, under their names."""
        names = {window: tuple(self.rest), missing: tuple(self.axes), to_axes: tuple(self.axes)}
        return {**names, "index_vector_dim": len(self.shape)}


def _common(shapes: Sequence[Dims]) -> Dims:
    rank = max(map(len, shapes))
    found: list[Dim] = [1] * rank
    for shape in shapes:
        for i, n in enumerate(shape, rank - len(shape)):
            found[i] = n if found[i] == 1 else found[i]
    return tuple(found)


def _index(to: AtenConverter, call: Call, x: SSAValue, indices: Sequence[SSAValue | None]) -> SSAValue:
    if sum(index is not None for index in indices) == 1 and not any(i is not None and to.is_truth(i) for i in indices):
        axis, index = next((axis, i) for axis, i in enumerate(indices) if i is not None)
        front, _ = to.front(x, [axis])
        found = to.emit(ptir.TakeOp, front, to.wrapped(index, to.shape(x)[axis]))
        count = len(to.shape(index))
        return to.transpose(found, [*range(count, count + axis), *range(count), *range(count + axis, len(call.shape))])
    at = _Places(to, x, indices)
    sizes = tuple(1 if i in at.axes else to.sizes(x, [i])[0] for i in range(len(to.shape(x))))
    return to.emit(
        ptir.GatherWindowsOp,
        x,
        at.vectors,
        **at.dims("offset_dims", "collapsed_slice_dims", "start_index_map"),
        operand_batching_dims=(),
        start_indices_batching_dims=(),
        slice_sizes=sizes,
        mode="raise",
    )


def _index_put(
    to: AtenConverter, call: Call, x: SSAValue, indices: Sequence[SSAValue | None], values: SSAValue, accumulate: bool = False
) -> SSAValue:
    """Values at index vectors; one mask selects where the values do not depend on how many are true."""
    values = to.cast(values, call.dtype)
    given = [(axis, index) for axis, index in enumerate(indices) if index is not None]
    if len(given) == 1 and to.is_truth(given[0][1]):
        return _put_by_mask(to, call, x, *given[0], values, accumulate)
    at = _Places(to, x, indices)
    kept = iter([n for i, n in enumerate(to.shape(x)) if i not in at.axes])
    spread = iter(at.shape)
    rank = len(at.shape) + len(at.rest)
    shape = tuple(next(kept) if i in at.rest else next(spread) for i in range(rank))
    return to.emit(
        ptir.ScatterWindowsOp,
        x,
        at.vectors,
        to.broadcast(values, shape),
        **at.dims("update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims"),
        kind="add" if accumulate else "replace",
        input_batching_dims=(),
        scatter_indices_batching_dims=(),
        mode="raise",
        unique=False,
    )


def _put_by_mask(
    to: AtenConverter, call: Call, x: SSAValue, axis: int, mask: SSAValue, values: SSAValue, accumulate: bool
) -> SSAValue:
    """`x` with values where a mask over the axes from one on is true. Raises `Refused` for a value per place that is true."""
    shape, covered = to.shape(values), len(to.shape(mask))
    behind = len(to.shape(x)) - axis - covered
    if len(shape) > behind:
        counted = len(shape) - behind - 1
        if shape[counted] != 1:
            raise _SIZES_DEPEND
        values = to.reshape(values, (*shape[:counted], *(1,) * covered, *shape[counted + 1 :]))
    mask, values = to.place(mask, range(axis, axis + covered), call.shape), to.broadcast(values, call.shape)
    return to.select(mask, to.emit(ptir.AddOp, x, values) if accumulate else values, x)


def scattered(to: AtenConverter, kind: str, x: SSAValue, dim: int, indices: SSAValue, updates: SSAValue) -> SSAValue:
    """`x` with updates combined in along an axis; as many updates count as there are indices."""
    shape = to.shape(x)
    if kind == "mul":
        return _multiplied(to, x, dim, indices, updates)
    x, indices, updates = (v if to.shape(v) else to.reshape(v, (1,)) for v in (x, indices, updates))
    updates, axis = _cut(to, updates, to.shape(indices)), to.axis(x, dim)
    met = _cut(to, x, to.shape(indices), axis)
    found = to.emit(ptir.ScatterReduceOp, met, to.index(indices), updates, kind=kind, axis=axis)
    if met is not x:
        start = to.integers([0] * len(to.shape(x)))
        found = to.emit(ptir.DynamicUpdateSliceOp, x, found, start, sizes=to.sizes(met))
    return to.reshape(found, shape)


def _multiplied(to: AtenConverter, x: SSAValue, dim: int, indices: SSAValue, updates: SSAValue) -> SSAValue:
    """`x` with updates multiplied in, by index vectors: an axis alone has no op for products."""
    whole = to.shape(x)
    x, indices, updates = (v if to.shape(v) else to.reshape(v, (1,)) for v in (x, indices, updates))
    shape, axis = to.shape(indices), to.axis(x, dim)
    columns = [
        to.cast(to.index(indices), SI64) if i == axis else to.emit(ptir.IotaOp, shape=shape, dtype=SI64, axis=i)
        for i in range(len(shape))
    ]
    found = to.emit(
        ptir.ScatterWindowsOp,
        x,
        to.concat([to.reshape(v, (*shape, 1)) for v in columns], len(shape)),
        _cut(to, updates, shape),
        update_window_dims=(),
        inserted_window_dims=tuple(range(len(shape))),
        scatter_dims_to_operand_dims=tuple(range(len(shape))),
        index_vector_dim=len(shape),
        kind="mul",
        input_batching_dims=(),
        scatter_indices_batching_dims=(),
        mode="raise",
        unique=False,
    )
    return to.reshape(found, whole)


def _scatter(kind: str) -> Row:
    def row(to: AtenConverter, call: Call, x: SSAValue, dim: int, indices: SSAValue, updates: Operand) -> SSAValue:
        if to.is_truth(x) and kind != "replace":
            raise Refused("a sum of booleans by index")
        shape = None if isinstance(updates, SSAValue) else to.shape(indices)
        return scattered(to, kind, x, dim, indices, to.tensor(updates, call.dtype, shape))

    return row


def _scatter_by(to: AtenConverter, call: Call, x: SSAValue, dim: int, indices: SSAValue, updates: Operand, kind: str) -> Results:
    """`scatter(..., reduce=)`, by `add` or `multiply`."""
    return _scatter({"add": "add", "multiply": "mul"}[kind])(to, call, x, dim, indices, updates)


def _limits(dtype: PtirDType) -> tuple[float, float]:
    """The least and the greatest number of a dtype."""
    if dtype.is_float:
        return -math.inf, math.inf
    if dtype.kind is Kind.UNSIGNED:
        return 0, (1 << dtype.bits) - 1
    return -(1 << dtype.bits - 1), (1 << dtype.bits - 1) - 1


def _scatter_reduce(
    to: AtenConverter, call: Call, x: SSAValue, dim: int, indices: SSAValue, updates: SSAValue, kind: str, include: bool = True
) -> SSAValue:
    """By sum, prod, mean, amax or amin; without `include_self` what is met starts from nothing."""
    if to.is_truth(x):
        raise Refused("a reduction of booleans by index")
    counts = None
    if kind == "mean":
        ones = to.like(1, _cut(to, updates, to.shape(indices)))
        start = to.like(1 if include else 0, x)
        counts = scattered(to, "add", start, dim, indices, ones)
        counts = counts if include else to.math(ptir.MaximumOp, counts, 1)
    if not include:
        low, high = _limits(call.dtype)
        nothing = {"amax": low, "amin": high, "prod": 1}.get(kind, 0)
        x = scattered(to, "replace", x, dim, indices, to.like(nothing, _cut(to, updates, to.shape(indices))))
    found = scattered(to, _KINDS[kind], x, dim, indices, updates)
    if counts is None:
        return found
    if call.dtype.is_float:
        return to.emit(ptir.DivOp, found, counts)
    return floor_div(to, call.dtype, found, counts)


def _index_reduce(
    to: AtenConverter, call: Call, x: SSAValue, dim: int, indices: SSAValue, source: SSAValue, kind: str, include: bool = True
) -> SSAValue:
    """Slices of the source combined in at indices along an axis."""
    if not to.shape(x):
        raise Refused("index_reduce of rank 0")
    return _scatter_reduce(to, call, x, dim, spread_index(to, indices, to.axis(x, dim), source), source, kind, include)


def spread_index(to: AtenConverter, indices: SSAValue, axis: int, source: SSAValue) -> SSAValue:
    """Indices along one axis of the source, for each of its elements."""
    shape = to.shape(source)
    return to.place(to.index(to.reshape(indices, shape[axis : axis + 1])), [axis], shape)


def _put(to: AtenConverter, call: Call, x: SSAValue, indices: SSAValue, source: SSAValue, accumulate: bool = False) -> SSAValue:
    """Elements by their places in row-major order, of which negative ones count from the end."""
    count, size = math.prod(to.sizes(indices)), math.prod(to.sizes(x))
    if not count:
        return x
    flat, places, source = to.reshape(x, (size,)), to.reshape(indices, (count,)), to.reshape(source, (count,))
    kind = "add" if accumulate else "replace"
    return to.reshape(scattered(to, kind, flat, 0, to.wrapped(places, size), source), call.shape)


def _masked_scatter(to: AtenConverter, call: Call, x: SSAValue, mask: SSAValue, source: SSAValue) -> SSAValue:
    """The next element of the source at each true place: places are a running count."""
    x, mask = to.broadcast(x, call.shape), to.broadcast(mask, call.shape)
    count = 1
    for n in to.sizes(x):
        count *= n
    flat = to.cast(to.reshape(mask, (count,)), SI64)
    seen = to.emit(ptir.CumulativeSumOp, flat, axis=0, exclusive=False, reverse=False)
    places = to.math(ptir.MaximumOp, to.math(ptir.SubOp, seen, 1), 0)
    elements = 1
    for n in to.sizes(source):
        elements *= n
    if not elements or not count:
        return x
    found = to.emit(ptir.TakeOp, to.reshape(source, (elements,)), places)
    return to.select(mask, to.reshape(found, call.shape), x)


def _index_add(
    to: AtenConverter, call: Call, x: SSAValue, dim: int, indices: SSAValue, source: SSAValue, alpha: Any = 1
) -> SSAValue:
    if not to.shape(x):
        raise Refused("index_add of rank 0")
    axis = to.axis(x, dim)
    source = to.scaled(to.cast(source, call.dtype), alpha)
    return scattered(to, "add", x, axis, spread_index(to, indices, axis, source), source)


def _truth_index(to: AtenConverter, call: Call, x: SSAValue, mask: SSAValue, value: Operand) -> SSAValue:
    return to.select(to.tensor(mask, I1, call.shape), to.operand(call, value), to.operand(call, x))


INDEXING: Table = {
    "embedding.default": _embedding,
    "gather.default": _gather,
    "index.Tensor": _index,
    "index_add.default": _index_add,
    "index_put.default": _index_put,
    "index_reduce.default": _index_reduce,
    "index_select.default": _index_select,
    "masked_fill.Scalar": _truth_index,
    "masked_fill.Tensor": _truth_index,
    "masked_scatter.default": _masked_scatter,
    "put.default": _put,
    "scatter.reduce": _scatter_by,
    "scatter.src": _scatter("replace"),
    "scatter.value": _scatter("replace"),
    "scatter.value_reduce": _scatter_by,
    "scatter_add.default": _scatter("add"),
    "scatter_reduce.two": _scatter_reduce,
}
