"""
Rows of gather and scatter.

StableHLO clamps the starts of a gather and drops the elements of a scatter that leave the operand; PTIR refuses both when run.
Rows along the first dimension become `take`, and rows that are scattered have one index each. All other dimension numbers become
flat indices into the operand, which every target has kernels for. What a scatter drops is left to `dropped_rows.py`. Products,
and operands whose sizes are not known, become `gather_windows` and `scatter_windows`. A body that PTIR has no kind for runs
update by update.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.ir import Block, SSAValue

from mind_dialect import ptir
from mind_dialect.errors import error
from mind_dialect.ptir.types import I1, SI32, SI64, Kind, PtirDType, tensor_type
from mind_dialect.ptir.windows_at import GATHER_DIMS, SCATTER_DIMS
from mind_dialect.ptir_shapes import Dims
from mind_dialect.shapes import inverse_permutation

from ..unsupported import Refused
from .converter import StablehloConverter, StablehloRow, Values
from .dropped_rows import combined_rows, one_more, sizes_of
from .foreign import DimensionNumbers, ForeignOp
from .scalars import simple_kind
from .structural import static, zero


def _strides(sizes: Sequence[int]) -> list[int]:
    """
    Return the distances of neighbours along each dimension in row-major order.

    >>> _strides((2, 3, 4))
    [12, 4, 1]
    """
    return [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]


class _Starts:
    """The index vectors of a gather or scatter: one component at a time."""

    def __init__(
        self, to: StablehloConverter, op: ForeignOp, indices: SSAValue, vector_dim: int, components: int, sizes: Sequence[int]
    ):
        self.to, self.vector_dim = to, vector_dim
        self.dtype: PtirDType = SI64 if math.prod(sizes) >= 1 << 31 else SI32
        found = to.index(indices)
        self.indices = to.cast(found, SI64) if self.dtype is SI64 else found
        self.dtype = to.dtype(self.indices)
        (self.shape,) = sizes_of(to.shape(indices))
        if not 0 <= vector_dim <= len(self.shape):
            raise error(
                "E3004",
                f"index_vector_dim {vector_dim} is out of range for indices of rank {len(self.shape)}",
                axis=vector_dim,
                rank=len(self.shape),
            )
        length = self.shape[vector_dim] if vector_dim < len(self.shape) else 1
        if length != components:
            message = f"index vectors have {length} components, expected {components}, one per mapped dimension"
            raise error("E3003", message, dimension=vector_dim, extents=(length, components))
        self.batch = [n for i, n in enumerate(self.shape) if i != vector_dim]

    def component(self, j: int) -> SSAValue:
        """Component `j` of every index vector, of the batch shape."""
        if self.vector_dim >= len(self.shape):
            return self.indices
        return self.to.reshape(self.to.part(self.indices, self.vector_dim, j, j + 1), tuple(self.batch))

    def batch_axis(self, d: int) -> int:
        """Return the axis of the batch shape that dimension `d` of the indices is."""
        return d - (d > self.vector_dim)

    def counted(self, n: int) -> SSAValue:
        """0 to n - 1."""
        return self.to.emit(ptir.IotaOp, shape=(n,), dtype=self.dtype, axis=0)


def _gather(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    return gathered(to, op, op.integers("slice_sizes"))


def _dynamic_gather(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    sizes = to.sizes.shape(op.operands[2], "bounds that depend on data")
    numbers = [n for n in sizes if isinstance(n, int)]
    return gathered(to, op, numbers) if len(numbers) == len(sizes) else _one_slice(to, op, sizes)


def _one_slice(to: StablehloConverter, op: ForeignOp, sizes: Dims) -> SSAValue:
    """The gather of one slice, whose sizes have names. Raises `Refused` for other gathers of such slices."""
    x, indices = op.operands[:2]
    numbers, rank = op.numbers("dimension_numbers"), len(to.shape(x))
    mapped, count = numbers.list("start_index_map", rank), static(to.shape(indices))
    whole = len(numbers.list("offset_dims", len(op.shape))) == len(op.shape) == rank == len(sizes)
    if not whole or count is None or list(count) != [len(mapped)] or len(set(mapped)) != len(mapped):
        raise Refused("a gather of several slices whose sizes are not known", "give the slices sizes")
    starts = to.index(indices)
    parts = [to.slice(starts, [mapped.index(d)], [mapped.index(d) + 1]) if d in mapped else None for d in range(rank)]
    nothing = to.constant(to.dtype(starts), (1,), [0])
    return to.emit(ptir.DynamicSliceOp, x, to.concat([nothing if p is None else p for p in parts], 0), sizes=tuple(sizes))


def gathered(to: StablehloConverter, op: ForeignOp, slices: Sequence[int]) -> SSAValue:
    """The gather of slices of the given sizes."""
    x, indices = op.operands[:2]
    if any(static(shape) is None for shape in (to.shape(x), op.shape, to.shape(indices))):
        return _gather_windows(to, op, slices)
    sizes, result, _ = sizes_of(to.shape(x), op.shape, to.shape(indices))
    numbers, rank = op.numbers("dimension_numbers"), len(sizes)
    offset = numbers.list("offset_dims", len(result))
    collapsed, batching = numbers.list("collapsed_slice_dims", rank), numbers.list("operand_batching_dims", rank)
    mapped = numbers.list("start_index_map", rank)
    of_indices = numbers.list("start_indices_batching_dims", len(to.shape(indices)))
    if len(slices) != rank or any(not 0 <= s <= n for s, n in zip(slices, sizes, strict=True)):
        raise op.wrong("slice_sizes", f"{rank} sizes that fit the operand, {list(sizes)}")
    if 0 in result:
        return to.fill(zero(to.dtype(x)), op.dtype, result)
    starts = _Starts(to, op, indices, numbers.integer("index_vector_dim"), len(mapped), sizes)
    batch = [i for i in range(len(result)) if i not in offset]
    windows = [d for d in range(rank) if d not in collapsed and d not in batching]
    if [result[i] for i in batch] != starts.batch or [result[i] for i in offset] != [slices[d] for d in windows]:
        raise error(
            "E4015", f"a result of shape {list(result)} does not fit the dimension numbers", declared=result, inferred=None
        )
    if mapped == collapsed == (0,) and not batching and tuple(slices[1:]) == tuple(sizes[1:]):
        rows = to.emit(ptir.TakeOp, x, to.clamp(starts.component(0), 0, sizes[0] - 1))
        order = [*batch, *offset]
        return to.transpose(rows, inverse_permutation(order))
    axis_of = {d: starts.batch_axis(of_index) for d, of_index in _paired(op, batching, of_indices)}
    if not offset and mapped == collapsed and _is_along(mapped, axis_of, result):
        where = to.clamp(starts.component(0), 0, sizes[mapped[0]] - 1)
        return to.emit(ptir.GatherOp, x, where, axis=mapped[0])
    strides, parts = _strides(sizes), list[SSAValue]()
    for j, d in enumerate(mapped):
        start = to.clamp(starts.component(j), 0, sizes[d] - slices[d])
        parts.append(to.place(_times(to, start, strides[d]), batch, result))
    for d, axis in axis_of.items():
        parts.append(to.place(_times(to, starts.counted(starts.batch[axis]), strides[d]), [batch[axis]], result))
    for place, d in zip(offset, windows, strict=True):
        if slices[d] > 1:
            parts.append(to.place(_times(to, starts.counted(slices[d]), strides[d]), [place], result))
    flat = to.logical(ptir.AddOp, *parts)
    flat = to.fill(0, starts.dtype, result) if flat is None else flat
    return to.emit(ptir.TakeOp, to.reshape(x, (math.prod(sizes),)), flat)


def _is_along(mapped: Sequence[int], axis_of: Mapping[int, int], result: Sequence[int]) -> bool:
    """Return whether elements are gathered along one dimension, every other one being a batch dimension in its place."""
    return len(mapped) == 1 and {**axis_of, mapped[0]: mapped[0]} == {d: d for d in range(len(result))}


def _paired(op: ForeignOp, batching: Sequence[int], of_indices: Sequence[int]) -> list[tuple[int, int]]:
    """Return the batching dimensions of an operand with those of the indices; E8002 unless there are as many."""
    if len(batching) != len(of_indices):
        name = "dimension_numbers" if op.short.endswith("gather") else "scatter_dimension_numbers"
        raise op.wrong(name, "as many batching dimensions of the operand as of the indices")
    return list(zip(batching, of_indices, strict=True))


def _window_dims(numbers: DimensionNumbers, names: Sequence[str], ranks: Mapping[str, int]) -> dict[str, Any]:
    """The dimension numbers of an op on windows; each list counts dimensions of a value of the rank that `ranks` has for it."""
    lists = {name: numbers.list(name, ranks[name]) for name in names[:-1]}
    return {**lists, names[-1]: numbers.integer(names[-1])}


def _gather_windows(to: StablehloConverter, op: ForeignOp, slices: Sequence[int]) -> SSAValue:
    x, indices = op.operands[:2]
    of_x, of_indices = len(to.shape(x)), len(to.shape(indices))
    ranks = {**dict.fromkeys(GATHER_DIMS, of_x), "offset_dims": len(op.shape), "start_indices_batching_dims": of_indices}
    dims = _window_dims(op.numbers("dimension_numbers"), GATHER_DIMS, ranks)
    return to.emit(ptir.GatherWindowsOp, x, to.index(indices), **dims, slice_sizes=tuple(slices), mode="clamp")


def _scatter_windows(to: StablehloConverter, op: ForeignOp, kind: str) -> SSAValue:
    x, indices, updates = op.operands
    of_x, of_updates, of_indices = (len(to.shape(v)) for v in (x, updates, indices))
    ranks = {**dict.fromkeys(SCATTER_DIMS, of_x), "update_window_dims": of_updates, "scatter_indices_batching_dims": of_indices}
    dims = _window_dims(op.numbers("scatter_dimension_numbers"), SCATTER_DIMS, ranks)
    unique = bool(op.integer("unique_indices", 0))
    return to.emit(ptir.ScatterWindowsOp, x, to.index(indices), updates, kind=kind, **dims, mode="drop", unique=unique)


def _times(to: StablehloConverter, x: SSAValue, factor: int) -> SSAValue:
    return x if factor == 1 else to.emit(ptir.MulOp, x, to.like(factor, x))


def _scatter(to: StablehloConverter, op: ForeignOp) -> Values:
    count = (len(op.operands) - 1) // 2
    xs, indices, updates = op.operands[:count], op.operands[count], op.operands[count + 1 :]
    if count < 1 or len(updates) != count:
        raise op.wrong("operands", "inputs, indices, and as many updates as inputs")
    xs, updates = promoted(to, op.body(), 0, xs), promoted(to, op.body(), count, updates)
    op.operands = [*xs, indices, *updates]
    numbers = op.numbers("scatter_dimension_numbers")
    shapes = (to.shape(xs[0]), to.shape(updates[0]), to.shape(indices))
    kind = _windows_kind(to, op, to.dtype(xs[0])) if count == 1 else None
    if kind is not None and (kind == "mul" or any(static(s) is None for s in shapes)):
        return [_scatter_windows(to, op, kind)]
    sizes, shape, _ = sizes_of(*shapes)
    rank = len(sizes)
    window = numbers.list("update_window_dims", len(shape))
    inserted, batching = numbers.list("inserted_window_dims", rank), numbers.list("input_batching_dims", rank)
    mapped = numbers.list("scatter_dims_to_operand_dims", rank)
    of_indices = numbers.list("scatter_indices_batching_dims", len(to.shape(indices)))
    if 0 in shape or 0 in sizes:
        return xs
    starts = _Starts(to, op, indices, numbers.integer("index_vector_dim"), len(mapped), sizes)
    batch = [i for i in range(len(shape)) if i not in window]
    windows = [d for d in range(rank) if d not in inserted and d not in batching]
    if [shape[i] for i in batch] != starts.batch or len(windows) != len(window):
        raise error(
            "E3002", f"updates of shape {list(shape)} do not fit the dimension numbers", expected=starts.batch, actual=shape
        )
    vectors = {d: starts.component(j) for j, d in enumerate(mapped)}
    for d, of_index in _paired(op, batching, of_indices):
        axis = starts.batch_axis(of_index)
        vectors[d] = to.place(starts.counted(starts.batch[axis]), [axis], tuple(starts.batch))
    if kind is not None and _are_rows({d: shape[axis] for axis, d in zip(window, windows, strict=True)}, vectors, sizes):
        return [_scatter_rows(to, kind, xs[0], vectors, updates[0], batch)]
    places = {d: to.place(v, batch, shape) for d, v in vectors.items()}
    for axis, d in zip(window, windows, strict=True):
        if shape[axis] == 1 and d in places:
            continue
        inside = to.place(starts.counted(shape[axis]), [axis], shape)
        places[d] = to.emit(ptir.AddOp, places[d], inside) if d in places else inside
    return scattered(to, op, op.body(), xs, _flat_indices(to, places, sizes, starts.dtype, shape), updates)


def _are_rows(windows: Mapping[int, int], vectors: Mapping[int, SSAValue], sizes: Sequence[int]) -> bool:
    """Return whether windows are one long along neighbouring dimensions, those of `vectors`, and whole along all others."""
    whole = {d: n for d, n in enumerate(sizes) if d not in vectors}
    if not vectors or max(vectors) - min(vectors) >= len(vectors) or math.prod(whole.values()) == 1:
        return False
    return {d: n for d, n in windows.items() if n > 1 or d in whole} == whole


def _scatter_rows(
    to: StablehloConverter, kind: str, x: SSAValue, vectors: Mapping[int, SSAValue], updates: SSAValue, batch: Sequence[int]
) -> SSAValue:
    """Combine rows with those of an operand that the components of their index vectors say; dropped rows go to one more."""
    sizes, shape = sizes_of(to.shape(x), to.shape(updates))
    first, end = min(vectors), max(vectors) + 1
    numbers, windows = sizes[first:end], [i for i in range(len(shape)) if i not in batch]
    inside, dtype = {d - first: v for d, v in vectors.items()}, to.dtype(vectors[first])
    flat = _flat_indices(to, inside, numbers, dtype, tuple(shape[i] for i in batch))
    count, number = math.prod(numbers), math.prod(shape[i] for i in batch)
    extents = [*sizes[:first], number, *sizes[end:]]
    rows = to.reshape(to.transpose(updates, [*windows[:first], *batch, *windows[first:]]), tuple(extents))
    cells = to.reshape(x, (*sizes[:first], count, *sizes[end:]))
    return to.reshape(combined_rows(to, kind, cells, to.reshape(flat, (number,)), rows, first), sizes)


def _flat_indices(
    to: StablehloConverter, places: dict[int, SSAValue], sizes: Sequence[int], dtype: PtirDType, shape: tuple[int, ...]
) -> SSAValue:
    """Return row-major indices of elements by their places along each dimension; -1 where one is out of bounds."""
    flat, valid = None, None
    for d, stride in enumerate(_strides(sizes)):
        if (place := places.get(d)) is None:
            continue
        fits = to.emit(ptir.AndOp, to.compare("greater_equal", place, 0), to.compare("less", place, sizes[d]))
        valid = to.logical(ptir.AndOp, valid, fits)
        flat = to.logical(ptir.AddOp, flat, _times(to, place, stride))
    flat = to.fill(0, dtype, shape) if flat is None else flat
    return flat if valid is None else to.select(valid, flat, to.like(-1, flat))


def promoted(to: StablehloConverter, block: Block, first: int, values: Values) -> list[SSAValue]:
    """
    Return values in the dtypes that a body takes, from its argument `first` on: StableHLO lets it compute in wider ones.

    E8005 for a body that takes no wider dtype, or too few values.
    """
    taken = block.args[first : first + len(values)]
    if len(taken) != len(values):
        count, least = len(block.args), first + len(values)
        raise error("E8005", f"a region takes {count} values, expected {least}", region=0, expected=least, actual=count)
    dtypes = [to.spec_of(argument).dtype for argument in taken]
    for value, dtype in zip(values, dtypes, strict=True):
        given = to.dtype(value)
        if given is not dtype and (given.kind is not dtype.kind or given.bits >= dtype.bits):
            message = f"a region takes {dtype.name}, expected {given.name} or a wider dtype of its kind"
            raise error("E8005", message, region=0, expected=given.name, actual=dtype.name)
    return [to.cast(value, dtype) for value, dtype in zip(values, dtypes, strict=True)]


def scatter_flat(to: StablehloConverter, op: ForeignOp, block: Block, x: SSAValue, flat: SSAValue, updates: SSAValue) -> SSAValue:
    """As `scattered`, of one operand."""
    return scattered(to, op, block, promoted(to, block, 0, [x]), flat, promoted(to, block, 1, [updates]))[0]


def scattered(to: StablehloConverter, op: ForeignOp, block: Block, xs: Values, flat: SSAValue, updates: Values) -> Values:
    """Combine updates into operands at flat indices by a body; -1 drops an update."""
    dtype, shape = to.spec(xs[0])
    sizes, of_updates = sizes_of(shape, to.shape(flat))
    count, number = math.prod(sizes), math.prod(of_updates)
    one = to.reshape(flat, (number,))
    rows = [to.reshape(v, (number,)) for v in updates]
    cells = [to.reshape(x, (count,)) for x in xs]
    kind = _scatter_kind(simple_kind(to, block), dtype) if len(xs) == 1 else None
    if kind is not None:
        return [to.reshape(combined_rows(to, kind, cells[0], one, rows[0], 0), sizes)]
    where = to.select(to.compare("less", one, 0), to.like(count, one), one)
    made = _one_by_one(to, block, [one_more(to, v, 0) for v in cells], where, rows)
    return [to.reshape(to.part(v, 0, 0, count), sizes) for v in made]


def _windows_kind(to: StablehloConverter, op: ForeignOp, dtype: PtirDType) -> str | None:
    """The kind of `scatter_windows` for the body of a scatter, also one that `scatter_reduce` lacks."""
    kind = simple_kind(to, op.body())
    if kind == "multiply" and dtype is not I1:
        return "mul"
    return _scatter_kind(kind, dtype) if kind == "replace" or dtype is not I1 else None


def _scatter_kind(kind: str | None, dtype: PtirDType) -> str | None:
    """PTIR's kind of scatter for a body's op."""
    if dtype is I1:
        known = {"add": "max", "or": "max", "maximum": "max", "and": "min", "minimum": "min", "multiply": "min"}
    elif dtype.kind is Kind.COMPLEX:
        known = {"add": "add"}
    else:
        known = {"add": "add", "maximum": "max", "minimum": "min"}
    return {**known, "replace": "replace"}.get(kind or "")


def _one_by_one(to: StablehloConverter, block: Block, cells: Values, where: SSAValue, rows: Values) -> Values:
    """Run the body once for each update, in order."""
    bound = to.captures([block.parent] if block.parent is not None else [])
    invariant = [to.env[v] for v in bound]
    count, outer = len(cells), to.env

    def body(arguments: Values) -> Values:
        to.env = {**outer, **dict(zip(bound, arguments[count : count + len(bound)], strict=True))}
        index, *new = arguments[count + len(bound) :]
        start = to.reshape(index, (1,))
        olds = [to.reshape(to.emit(ptir.DynamicSliceOp, v, start, sizes=(1,)), ()) for v in arguments[:count]]
        made = to.vectorized(block, [*olds, *new], (), count)
        whole = [
            to.emit(ptir.DynamicUpdateSliceOp, v, to.reshape(m, (1,)), start, sizes=(1,))
            for v, m in zip(arguments[:count], made, strict=True)
        ]
        return [*whole, *arguments[count : count + len(bound)]]

    carried = [*cells, *invariant]
    types = [v.type for v in carried]
    scalars = [tensor_type(to.dtype(v), ()) for v in (where, *rows)]
    try:
        region = to.region([*types, *scalars], body)
    finally:
        to.env = outer
    scan = ptir.ScanOp(*carried, where, *rows, carry_count=len(carried), scan_output_count=0, body=region)
    return to.add(scan).results[:count]


def _torch_index_select(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    x, indices = op.operands
    axis, batches = op.integer("dim"), op.integer("batch_dims", 0)
    if batches:
        raise Refused("an index_select with batch dimensions", "write it as gather")
    (sizes,) = sizes_of(to.shape(x))
    if not 0 <= axis < len(sizes):
        raise error("E3004", f"dim {axis} is out of range for rank {len(sizes)}", axis=axis, rank=len(sizes))
    order = [axis, *(i for i in range(len(sizes)) if i != axis)]
    rows = to.emit(ptir.TakeOp, to.transpose(x, order), to.clamp(to.index(indices), 0, sizes[axis] - 1))
    count = len(to.shape(indices))
    moved = list(range(count, count + axis))
    return to.transpose(rows, [*moved, *range(count), *range(count + axis, count + len(sizes) - 1)])


INDEXING: dict[str, StablehloRow | Refused] = {
    "stablehlo.dynamic_gather": _dynamic_gather,
    "stablehlo.gather": _gather,
    "stablehlo.scatter": _scatter,
    "stablehlo.torch_index_select": _torch_index_select,
}
