"""
Ops whose places are data. XLA clamps what it gathers from, and drops updates that fall outside; PTIR rejects both (E6001).

With `checks` the program reports them; see `checks.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.extents.dims import add_dims
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import I1
from mind_dialect.ptir_shapes import Dim

from .attributes import attribute, flag, integers, numbers
from .builder import StablehloBuilder, Values, accumulator, dtype_of, identity, is_static, shape_of, static
from .elementwise import Rule, cast_to, is_small, widened
from .reductions import SUMS
from .window_numbers import WindowNumbers, gather_numbers, scatter_numbers


def _take(b: StablehloBuilder, op: ptir.TakeOp, x: Values) -> SSAValue:
    rank, rest = len(shape_of(x[1])), shape_of(x[0])[1:]
    text = numbers(
        offset_dims=list(range(rank, rank + len(rest))), collapsed_slice_dims=[0], start_index_map=[0], index_vector_dim=rank
    )
    return _gathered(b, op, x, text, [1, *rest])


def _gather(b: StablehloBuilder, op: ptir.GatherOp, x: Values) -> SSAValue:
    rank = len(shape_of(x[0]))
    axis = op.values()["axis"] % rank
    batch = [i for i in range(rank) if i != axis]
    text = numbers(
        collapsed_slice_dims=[axis],
        operand_batching_dims=batch,
        start_indices_batching_dims=batch,
        start_index_map=[axis],
        index_vector_dim=rank,
    )
    return _gathered(b, op, x, text, [1] * rank)


def _gathered(b: StablehloBuilder, op: PtirOp, x: Values, dimension_numbers: str, sizes: Sequence[Dim]) -> SSAValue:
    result = op.result_spec()
    if 0 in (*result.shape, *shape_of(x[0])):  # nothing is looked up, or there is nothing to look up in
        return b.fill(False if result.dtype.name == "i1" else 0, result)
    properties = {
        "dimension_numbers": attribute("gather", dimension_numbers),
        "indices_are_sorted": flag(False),
    }
    if is_static(sizes):
        return b.typed("gather", result, *x, slice_sizes=integers(sizes), **properties)
    return b.typed("dynamic_gather", result, *x, b.vector(sizes), **properties)


def _gather_windows(b: StablehloBuilder, op: ptir.GatherWindowsOp, x: Values) -> SSAValue:
    """XLA clamps starts; where elements outside are 0, they are taken from a margin of zeros."""
    values, starts = gather_numbers(op, x), x[1]
    sizes, into = list(values.windows), x[0]
    if op.values()["mode"] == "fill":
        margins = [values.windows[d] if d in values.targets else 0 for d in range(len(sizes))]
        into, starts = _with_margin(b, x[0], x[1], margins, values)
    return _gathered(b, op, [into, starts], numbers(**values.lists), sizes)


def _scatter_windows(b: StablehloBuilder, op: ptir.ScatterWindowsOp, x: Values) -> SSAValue:
    """XLA drops a window that is not all inside; those that are in part meet a margin, which is cut off."""
    values, shape = scatter_numbers(op, x), shape_of(x[0])
    wide = [d for d in values.targets if values.windows[d] > 1]
    margins = [values.windows[d] if d in wide else 0 for d in range(len(shape))]
    if op.values()["mode"] == "raise" or not wide or not all(shape_of(x[2])) or not all(shape):
        return _scattered(b, x, numbers(**values.lists), op.values()["kind"])
    into, starts = _with_margin(b, x[0], x[1], margins, values)
    found = _scattered(b, [into, starts, x[2]], numbers(**values.lists), op.values()["kind"])
    return b.slice(found, margins, [add_dims(m, n) for m, n in zip(margins, shape, strict=True)])


def _with_margin(
    b: StablehloBuilder, x: SSAValue, starts: SSAValue, margins: Sequence[int], values: WindowNumbers
) -> tuple[SSAValue, SSAValue]:
    """`x` inside of zeros, and where windows begin in it; those far outside lie in the margin whole."""
    dtype, shape = dtype_of(starts), shape_of(starts)

    def per_target(entries: Sequence[Dim]) -> SSAValue:
        if values.vector == len(shape):
            return b.broadcast(b.extent(entries[0], dtype), shape, [])
        return b.broadcast(b.convert(b.vector(entries), dtype), shape, [values.vector])

    low = per_target([-max(margins[d], 1) for d in values.targets])
    high = per_target([shape_of(x)[d] for d in values.targets])
    moved = per_target([margins[d] for d in values.targets])
    inside = b("add", b("minimum", b("maximum", starts, low), high), moved)
    zero = b.scalar(False if dtype_of(x) is I1 else 0, dtype_of(x))
    return b.pad(x, zero, margins, margins, [0] * len(margins)), inside


def _scatter_add(b: StablehloBuilder, op: ptir.ScatterAddOp, x: Values) -> SSAValue:
    values = op.values()
    rank = len(shape_of(x[1]))
    vector = values["index_vector_dim"]
    text = numbers(
        update_window_dims=list(values["update_window_dims"]),
        inserted_window_dims=list(values["inserted_window_dims"]),
        scatter_dims_to_operand_dims=list(values["scatter_dims_to_operand_dims"]),
        index_vector_dim=rank if vector is None else vector,
    )
    return _scattered(b, x, text, "add")


def _scatter_reduce(b: StablehloBuilder, op: ptir.ScatterReduceOp, x: Values) -> SSAValue:
    rank = len(shape_of(x[0]))
    axis = op.values()["axis"] % rank
    batch = [i for i in range(rank) if i != axis]
    text = numbers(
        inserted_window_dims=[axis],
        input_batching_dims=batch,
        scatter_indices_batching_dims=batch,
        scatter_dims_to_operand_dims=[axis],
        index_vector_dim=rank,
    )
    return _scattered(b, x, text, op.values()["kind"])


def _segment_reduce(b: StablehloBuilder, op: ptir.SegmentReduceOp, x: Values) -> SSAValue:
    values, result, dtype = op.values(), op.result_spec(), dtype_of(x[0])
    kind = values["kind"]
    wide = accumulator(dtype, values["accum_dtype"]) if kind in SUMS else dtype
    start = b.fill(identity(kind, wide), (wide, static(result)))
    rank = len(shape_of(x[0]))
    text = numbers(
        update_window_dims=list(range(1, rank)),
        inserted_window_dims=[0],
        scatter_dims_to_operand_dims=[0],
        index_vector_dim=1,
    )
    return cast_to(b, _scattered(b, [start, x[1], b.convert(x[0], wide)], text, kind), result.dtype)


def _scattered(b: StablehloBuilder, x: Values, dimension_numbers: str, kind: str) -> SSAValue:
    """Floats of 8 bits are combined in f32, rounded after each update as our kernels do only where one update comes."""
    target = dtype_of(x[0])
    if not all(shape_of(x[2])) or not all(shape_of(x[0])):
        return x[0]
    into, updates = (widened(b, x[0]), widened(b, x[2])) if is_small(target) else (x[0], x[2])
    properties = {
        "scatter_dimension_numbers": attribute("scatter", dimension_numbers),
        "indices_are_sorted": flag(False),
        "unique_indices": flag(False),
    }
    region = b.combining(kind, dtype_of(into))
    return cast_to(b, b.add("scatter", [into, x[1], updates], [into.type], properties, [region])[0], target)


RULES: Mapping[type[PtirOp], Rule] = {
    ptir.TakeOp: _take,
    ptir.GatherOp: _gather,
    ptir.ScatterAddOp: _scatter_add,
    ptir.GatherWindowsOp: _gather_windows,
    ptir.ScatterWindowsOp: _scatter_windows,
    ptir.ScatterReduceOp: _scatter_reduce,
    ptir.SegmentReduceOp: _segment_reduce,
}
"""Each rule returns the one result of its op."""
