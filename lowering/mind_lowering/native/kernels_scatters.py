"""Rows of `kernels.py` for what is combined at places that are data, and for running sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import PtirLiteralAttr, PtirOp
from mind_dialect.ptir.legal import default_accumulator
from mind_dialect.ptir.types import BF16, F16, F32, I1, UI8, Kind, PtirDType

from ..launch.kernel_patterns import Match, Rejection
from ..launch.ref import row_major
from .demanded import shape_of
from .grouping import BEYOND
from .kernel_steps import Column, IndexCheck, PrivateScatter, Scan, Scatter
from .lookups import component
from .nest import axes_of
from .patterns import Builder, KernelPattern, Operands, in_memory, moving, readable, row
from .reasons import unsupported, why_not_reduced
from .reductions import end_of
from .synthetic_groups import Add, compute, converted
from .target_info import TargetInfo
from .views import Buffer, Joined, Use, View, filled, whole

_SEGMENTS = {"sum": "add", "max": "max"}
"""The operation that combines the rows of a segment, by the kind of the op."""
_COMBINE: Mapping[str, type[PtirOp]] = {"add": ptir.AddOp, "max": ptir.MaximumOp, "min": ptir.MinimumOp}
"""The ops that combine two arrays as a kind of scatter does."""
BANKS = 4
"""Tables of a part, which its updates fill in turn."""
LEAST_PART, LEAST_FOLD = 1 << 14, 8
"""Updates of a part, at least, and for each element of its tables."""
MOST_PARTS = 16


def parts_of(updates: int, count: int) -> int:
    """
    Return the number of parts of some updates of `count` places; below 2 where private tables are not worth their folding.

    >>> parts_of(4_000_000, 256), parts_of(4_000_000, 50_000), parts_of(20_000, 256)
    (16, 2, 1)
    """
    return min(MOST_PARTS, updates // max(LEAST_PART, LEAST_FOLD * BANKS * count))


def why_ordered(kind: str, dtype: PtirDType) -> str | None:
    """Return why the order of updates matters for a kind of scatter in a dtype; None if it does not."""
    if kind == "replace":
        return "the last of several updates stays"
    return None if dtype.kind in (Kind.SIGNED, Kind.UNSIGNED) and dtype is not I1 else f"the order of updates matters in {dtype}"


def _scatter_windows(build: Builder, op: ptir.ScatterAddOp | ptir.ScatterWindowsOp) -> None:
    """Each window of updates begins where its index vector says, and where it is in the batch."""
    x, index, updates = (build.shape(v) for v in op.operands)
    values, rank = op.values(), len(x)
    batching = [a % rank for a in values.get("input_batching_dims", ())]
    inserted = {*batching, *(a % rank for a in values["inserted_window_dims"])}
    targets: list[int] = [a % rank for a in values["scatter_dims_to_operand_dims"]]
    window_dims: list[int] = [a % len(updates) for a in values["update_window_dims"]]
    scatter_dims = [a for a in range(len(updates)) if a not in window_dims]
    operand_axes = [a for a in range(rank) if a not in inserted]
    sizes = dict.fromkeys(inserted, 1) | {a: updates[w] for a, w in zip(operand_axes, window_dims, strict=True)}
    steps = row_major(x)
    strides = [0] * len(updates)
    for axis, place in zip(operand_axes, window_dims, strict=True):
        strides[place] = steps[axis]
    vector: int = len(index) if values["index_vector_dim"] is None else values["index_vector_dim"]
    view = build.view(op.operands[1])
    fixed = _fixed_starts(view, vector, [x[a] - sizes[a] for a in targets])
    if not all(isinstance(component(view, vector, i).base, Buffer) for i in range(len(targets)) if i not in fixed):
        view, fixed = in_memory(build, op.operands[1]), {}
    outer = dict(zip((a for a in range(len(index)) if a != vector), scatter_dims, strict=True))
    for axis, i in zip(batching, values.get("scatter_indices_batching_dims", ()), strict=True):
        strides[outer[i % len(index)]] += steps[axis]
    columns: list[Column] = []
    for i, axis in enumerate(targets):
        if i in fixed:
            continue
        part, along = component(view, vector, i), [0] * len(updates)
        for a, place in outer.items():
            along[place] = part.strides[a]
        where = View(part.base, part.dtype, updates, tuple(along), part.offset)
        columns.append(Column(where, steps[axis], axis, x[axis], sizes[axis]))
    moved = {c.axis for c in columns}
    order = [*scatter_dims, *(w for a, w in zip(operand_axes, window_dims, strict=True) if a in moved)]
    first = sum(start * steps[targets[i]] for i, start in fixed.items())
    _scattered(build, op, values.get("kind", "add"), columns, strides, order, first)


def _fixed_starts(vectors: View, dim: int, last: Sequence[int]) -> dict[int, int]:
    """Return the starts of windows that are one number for all index vectors, from 0 to `last`, by component; none if all are."""
    if not isinstance(vectors.base, Joined):
        return {}
    found: dict[int, int] = {}
    for i, most in enumerate(last):
        base = component(vectors, dim, i).base
        if isinstance(base, PtirLiteralAttr) and isinstance(start := base.item(), int) and 0 <= start <= most:
            found[i] = start
    return found if len(found) < len(last) else {}


def why_not_scattered(op: ptir.ScatterAddOp | ptir.ScatterReduceOp | ptir.ScatterWindowsOp, host: TargetInfo) -> str | None:
    """Return why updates are combined by NumPy."""
    return _why_not_windows(op, host) if isinstance(op, ptir.ScatterWindowsOp) else _why_not(op, host)


def _why_not_windows(op: ptir.ScatterWindowsOp, host: TargetInfo) -> str | None:
    """Return why windows of updates are combined by NumPy."""
    values = op.values()
    if values["mode"] != "raise":
        return BEYOND
    if values["unique"]:
        return "it promises that no element is updated twice"
    if values["kind"] == "mul" and op.operand_spec(0).dtype is I1:
        return "it multiplies truths"
    return _why_not(op, host)


def _scatter_reduce(build: Builder, op: ptir.ScatterReduceOp) -> None:
    """Along one axis, updates go where their indices say."""
    x, updates = build.shape(op.operands[0]), build.shape(op.operands[2])
    values = op.values()
    kind: str = values["kind"]
    axis: int = values["axis"] % len(x)
    view, steps = in_memory(build, op.operands[1]), row_major(x)
    column = Column(replace(view, shape=updates), steps[axis], axis, x[axis])
    _scattered(build, op, kind, [column], [0 if a == axis else s for a, s in enumerate(steps)], [axis])


def _scattered(
    build: Builder,
    op: PtirOp,
    kind: str,
    columns: Sequence[Column],
    strides: Sequence[int],
    order: Sequence[int],
    first: int = 0,
) -> None:
    """Check the indices, copy the operand, combine the updates in place; sums and products of narrow floats are rounded once."""
    x, update = op.operands[0], op.operands[2]
    updates = _updates(build, update)
    name, dtype = op.results[0].name_hint or op.OPCODE, op.operand_spec(0).dtype
    if updates.count == 0:
        build.copy(x, build.view(x), build.target(op.results[0]))
        return
    build.add(IndexCheck(f"{name}.indices", op, [_shrunk(c) for c in columns]))
    target = build.target(op.results[0])
    sums = target
    if kind in ("add", "mul") and dtype in (F16, BF16):
        sums = whole(build.buffer(Use.ARENA, F32, target.count, f"{name}.sums"), target.shape)
        converted(build, name, build.view(x), sums)
    else:
        build.copy(x, build.view(x), target)
    spread = View(sums.base, sums.dtype, updates.shape, tuple(strides), sums.offset + first)
    build.add(Scatter(name, op, kind, updates, spread, columns, order))
    if sums is not target:
        converted(build, name, sums, target)


def _updates(build: Builder, update: SSAValue) -> View:
    """Return updates where they can be read, looked up where their indices were checked."""
    view = build.view(update)
    return view if all(k.clamped and k.index is not None for k in view.lookups) else readable(build, update)


def _shrunk(column: Column) -> Column:
    """Indices without the axes along which they do not move."""
    view = column.index
    kept = [a for a, s in enumerate(view.strides) if s and view.shape[a] > 1]
    shape, strides = (tuple(of[a] for a in kept) for of in (view.shape, view.strides))
    return replace(column, index=replace(view, shape=shape, strides=strides))


def _segment_reduce(build: Builder, op: ptir.SegmentReduceOp) -> None:
    """Rows are combined with the identity of their segments, in the accumulator's dtype."""
    values, dtype = op.values(), op.operand_spec(0).dtype
    kind = _SEGMENTS[values["kind"]]
    total: PtirDType = values["accum_dtype"] or default_accumulator(dtype)
    data, ids = readable(build, op.operands[0]), in_memory(build, op.operands[1])
    name, count = op.result.name_hint or op.OPCODE, values["num_segments"]
    _check_ids(build, op, ids)
    target = build.target(op.result)
    sums = target
    if total is not dtype:
        sums = whole(build.buffer(Use.ARENA, total, target.count, f"{name}.sums"), target.shape)
    number = 0 if kind == "add" else end_of(dtype, least=True)
    build.copy(op.result, filled(_literal(total, number), sums.shape), sums)
    if data.count:
        spread = View(ids.base, ids.dtype, data.shape, (ids.strides[0], *[0] * (len(data.shape) - 1)), ids.offset)
        rows = View(sums.base, sums.dtype, data.shape, (0, *sums.strides[1:]))
        build.add(Scatter(name, op, kind, data, rows, [Column(spread, sums.strides[0], 0, count)], [0]))
    if sums is not target:
        converted(build, name, sums, target)


def _check_ids(build: Builder, op: ptir.SegmentReduceOp, ids: View) -> None:
    """Append the check of ids: inside, and as they are promised to be."""
    values, name = op.values(), op.result.name_hint or op.OPCODE
    count: int = values["num_segments"]
    unique = whole(build.buffer(Use.ARENA, UI8, count, f"{name}.seen"), (count,)) if values["unique"] else None
    build.add(IndexCheck(f"{name}.ids", op, [Column(ids, 0, 0, count)], values["indices_are_sorted"], unique))


@dataclass(frozen=True)
class PrivateTables:
    """Private tables of a scatter of single elements, `count` each; `axis` of the operand is what indices run along."""

    kind: str
    total: PtirDType
    parts: int
    count: int
    axis: int


def _private_tables(op: PtirOp) -> tuple[PrivateTables, int] | str:
    """Return the private tables of a scatter and how many updates it has, or why its updates are no single elements."""
    values, x, updates = op.values(), shape_of(op.operands[0]), prod(shape_of(op.operands[-1]))
    kind, total, axis = values.get("kind", "add"), op.operand_spec(0).dtype, 0
    if isinstance(op, ptir.SegmentReduceOp):
        single, kind, count = prod(x[1:]) == 1, _SEGMENTS[kind], values["num_segments"]
        total = values["accum_dtype"] or default_accumulator(total)
    else:
        axes: Sequence[int] = [values["axis"]] if isinstance(op, ptir.ScatterReduceOp) else values["scatter_dims_to_operand_dims"]
        axis = axes[0] % len(x) if len(axes) == 1 else 0
        count = prod(x)
        single = len(axes) == 1 and count == x[axis] and updates == prod(shape_of(op.operands[1]))
    tables = PrivateTables(kind, total, parts_of(updates, count) if count else 0, count, axis)
    return (tables, updates) if single else "updates are not single elements along one axis"


def _match_private(op: PtirOp, operands: Operands, host: TargetInfo) -> Match | Rejection:
    """Match a scatter of so many single elements, in any order, that each thread may as well have a table of its own."""
    if isinstance(found := _private_tables(op), str):
        return Rejection(found)
    tables, updates = found
    if (reason := why_ordered(tables.kind, tables.total)) is not None:
        return Rejection(reason)
    if tables.parts < 2:
        return Rejection(f"{updates} updates are few for tables of {tables.count}")
    size = BANKS * tables.count * tables.total.size
    if size > host.l2_bytes // 2:
        return Rejection(f"the tables of a part take {size} bytes, more than half of the second cache")
    return Match(moving([*op.operands, *op.results]), tables)


def _expand_private(build: Builder, op: PtirOp, match: Match) -> None:
    """Append a scatter into private tables, and the fold of all of them with what the operand holds."""
    tables: PrivateTables = match.schedule
    x, where, update = op.operands if len(op.operands) == 3 else (None, *reversed(op.operands))
    assert where is not None
    name, index, updates = op.results[0].name_hint or op.OPCODE, _line(build, where, in_memory), _line(build, update, readable)
    if isinstance(op, ptir.SegmentReduceOp) and (op.values()["indices_are_sorted"] or op.values()["unique"]):
        _check_ids(build, op, index)
    extents = (tables.parts, BANKS, tables.count)
    every = whole(build.buffer(Use.ARENA, tables.total, prod(extents), f"{name}.tables"), extents)
    column = Column(index, 1, tables.axis, tables.count)
    build.add(PrivateScatter(name, op, tables.kind, updates, column, every))
    target = build.target(op.results[0])
    sums = target if x is None else whole(build.buffer(Use.ARENA, tables.total, tables.count, f"{name}.sums"), target.shape)

    def folded(add: Add, v: SSAValue) -> Sequence[SSAValue]:
        options: dict[str, Any] = {"axes": [0, 1], "keepdims": False, "out_dtype": sums.dtype}
        options |= {"kind": "sum", "accum_dtype": tables.total} if tables.kind == "add" else {"kind": tables.kind}
        return [add(ptir.ReduceOp(v, **options))]

    compute(build, f"{name}.fold", [every], folded, [replace(sums, shape=(tables.count,), strides=(1,))])
    if x is not None:

        def combined(add: Add, a: SSAValue, b: SSAValue) -> Sequence[SSAValue]:
            return [add(_COMBINE[tables.kind](a, b))]

        compute(build, name, [build.view(x), sums], combined, [target])


def _line(build: Builder, value: SSAValue, where: Callable[[Builder, SSAValue], View]) -> View:
    """Return the elements of a value along one axis, in row-major order; copied where they are not equally far apart."""
    view = where(build, value)
    axes = axes_of(view.shape, (), [view.strides])
    if len(axes) > 1:
        view = build.copied(value, view)
        axes = axes_of(view.shape, (), [view.strides])
    return replace(view, shape=(view.count,), strides=(axes[0].strides[0] if axes else 0,))


def _literal(dtype: PtirDType, number: float) -> PtirLiteralAttr:
    if dtype.kind is Kind.FLOAT:
        return PtirLiteralAttr.from_values(dtype, (), (float(number),))
    return PtirLiteralAttr.from_values(dtype, (), (bool(number) if dtype is I1 else int(number),))


def _cumulative(build: Builder, op: ptir.CumulativeSumOp | ptir.CumulativeOp) -> None:
    values: Mapping[str, Any] = op.values()
    source, target = in_memory(build, op.x), build.target(op.result)
    if target.count:
        axis = values["axis"] % len(target.shape)
        name = op.result.name_hint or op.OPCODE
        build.add(Scan(name, values.get("kind", "sum"), source, target, axis, values["exclusive"], values["reverse"]))


def _why_not(op: PtirOp, host: TargetInfo) -> str | None:
    """Return why nothing is computed in the dtype of an operand; to replace elements no arithmetic is needed."""
    replaces = isinstance(op, ptir.ScatterReduceOp | ptir.ScatterWindowsOp) and op.values()["kind"] == "replace"
    return None if replaces else unsupported([op.operand_spec(0).dtype], host)


SCATTERS = (
    KernelPattern("private tables", (ptir.ScatterAddOp, ptir.ScatterReduceOp), _match_private, _expand_private, _why_not),
    KernelPattern("private tables", (ptir.SegmentReduceOp,), _match_private, _expand_private, why_not_reduced),
    row("scatter", ptir.ScatterAddOp, _scatter_windows, _why_not),
    row("scatter", ptir.ScatterWindowsOp, _scatter_windows, _why_not_windows),
    row("scatter", ptir.ScatterReduceOp, _scatter_reduce, _why_not),
    row("segments", ptir.SegmentReduceOp, _segment_reduce, why_not_reduced),
    row("scan", ptir.CumulativeSumOp, _cumulative, _why_not),
    row("scan", ptir.CumulativeOp, _cumulative, _why_not),
)
"""Their rows."""
