"""Rows of `kernels.py` for what is combined at places that are data, for running sums and for the place of the greatest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import PtirLiteralAttr, PtirOp
from mind_dialect.ptir.legal import default_accumulator
from mind_dialect.ptir.types import BF16, F16, F32, I1, SI32, SI64, UI8, Kind, PtirDType

from ..launch.ref import row_major
from .kernel_steps import Column, IndexCheck, Scan, Scatter
from .patterns import Builder, row
from .reasons import rounded_each_step, unsupported
from .reductions import end_of
from .synthetic_groups import Add, compute, converted
from .target_info import TargetInfo
from .views import Buffer, Use, View, filled, indices, whole


def _in_memory(build: Builder, value: SSAValue) -> View:
    """A value where it lies, or where nothing does, copied."""
    view = build.view(value)
    return view if isinstance(view.base, Buffer) and not view.lookups else build.copied(value, view)


def _scatter_add(build: Builder, op: ptir.ScatterAddOp) -> None:
    """Each window of updates begins where its index vector says."""
    x, index, updates = (build.shape(v) for v in op.operands)
    values, rank = op.values(), len(x)
    inserted = {a % rank for a in values["inserted_window_dims"]}
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
    view = _in_memory(build, op.operands[1])
    outer = [a for a in range(len(index)) if a != vector]
    columns: list[Column] = []
    for i, axis in enumerate(targets):
        along = [0] * len(updates)
        for place, a in zip(scatter_dims, outer, strict=True):
            along[place] = view.strides[a]
        offset = view.offset + (i * view.strides[vector] if vector < len(index) else 0)
        columns.append(
            Column(View(view.base, view.dtype, updates, tuple(along), offset), steps[axis], axis, x[axis], sizes[axis])
        )
    order = [*scatter_dims, *(w for a, w in zip(operand_axes, window_dims, strict=True) if a in targets)]
    _scattered(build, op, "add", columns, strides, order)


def _scatter_reduce(build: Builder, op: ptir.ScatterReduceOp) -> None:
    """Along one axis, updates go where their indices say."""
    x, updates = build.shape(op.operands[0]), build.shape(op.operands[2])
    values = op.values()
    kind: str = values["kind"]
    axis: int = values["axis"] % len(x)
    view, steps = _in_memory(build, op.operands[1]), row_major(x)
    column = Column(replace(view, shape=updates), steps[axis], axis, x[axis])
    _scattered(build, op, kind, [column], [0 if a == axis else s for a, s in enumerate(steps)], [axis])


def _scattered(
    build: Builder, op: PtirOp, kind: str, columns: Sequence[Column], strides: Sequence[int], order: Sequence[int]
) -> None:
    """Check the indices, copy the operand, and combine the updates in place; sums of narrow floats are rounded once."""
    x, update = op.operands[0], op.operands[2]
    updates = _in_memory(build, update)
    name, dtype = op.results[0].name_hint or op.OPCODE, op.operand_spec(0).dtype
    if updates.count == 0:
        build.copy(x, build.view(x), build.target(op.results[0]))
        return
    build.add(IndexCheck(f"{name}.indices", op, [_shrunk(c) for c in columns]))
    target = build.target(op.results[0])
    sums = target
    if kind == "add" and dtype in (F16, BF16):
        sums = whole(build.buffer(Use.ARENA, F32, target.count, f"{name}.sums"), target.shape)
        converted(build, name, build.view(x), sums)
    else:
        build.copy(x, build.view(x), target)
    spread = View(sums.base, sums.dtype, updates.shape, tuple(strides))
    build.add(Scatter(name, op, kind, updates, spread, columns, order))
    if sums is not target:
        converted(build, name, sums, target)


def _shrunk(column: Column) -> Column:
    """Indices without the axes along which they do not move."""
    view = column.index
    kept = [a for a, s in enumerate(view.strides) if s and view.shape[a] > 1]
    shape, strides = (tuple(of[a] for a in kept) for of in (view.shape, view.strides))
    return replace(column, index=replace(view, shape=shape, strides=strides))


def _segment_reduce(build: Builder, op: ptir.SegmentReduceOp) -> None:
    """Rows are combined with the identity of their segments, in the accumulator's dtype."""
    values, dtype = op.values(), op.operand_spec(0).dtype
    kind: str = {"sum": "add", "max": "max"}[values["kind"]]
    total: PtirDType = values["accum_dtype"] or default_accumulator(dtype)
    data, ids = (_in_memory(build, v) for v in op.operands)
    name, count = op.result.name_hint or op.OPCODE, values["num_segments"]
    unique = whole(build.buffer(Use.ARENA, UI8, count, f"{name}.seen"), (count,)) if values["unique"] else None
    plain = Column(ids, 0, 0, count)
    build.add(IndexCheck(f"{name}.ids", op, [plain], values["indices_are_sorted"], unique))
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


def _literal(dtype: PtirDType, number: float) -> PtirLiteralAttr:
    if dtype.kind is Kind.FLOAT:
        return PtirLiteralAttr.from_values(dtype, (), (float(number),))
    return PtirLiteralAttr.from_values(dtype, (), (bool(number) if dtype is I1 else int(number),))


def _cumulative(build: Builder, op: ptir.CumulativeSumOp | ptir.CumulativeOp) -> None:
    values: Mapping[str, Any] = op.values()
    source, target = _in_memory(build, op.x), build.target(op.result)
    if target.count:
        axis = values["axis"] % len(target.shape)
        name = op.result.name_hint or op.OPCODE
        build.add(Scan(name, values.get("kind", "sum"), source, target, axis, values["exclusive"], values["reverse"]))


def _arg_extreme(build: Builder, op: ptir.ArgMaxOp | ptir.ArgMinOp) -> None:
    """The least index of the elements that are the greatest (or least), or that are NaN."""
    kind = "max" if isinstance(op, ptir.ArgMaxOp) else "min"
    values, dtype = op.values(), op.operand_spec(0).dtype
    x, target = build.view(op.x), build.target(op.result)
    axis: int = values["axis"] % len(x.shape)
    if target.count == 0:
        return
    name = op.result.name_hint or op.OPCODE
    kept = tuple(n for a, n in enumerate(x.shape) if a != axis)
    greatest = whole(build.buffer(Use.ARENA, dtype, target.count, f"{name}.{kind}"), kept)

    def extreme(add: Add, v: SSAValue) -> Sequence[SSAValue]:
        return [add(ptir.ReduceOp(v, kind=kind, axes=[axis], keepdims=False))]

    compute(build, f"{name}.{kind}", [x], extreme, [greatest])
    strides = list(greatest.strides)
    strides.insert(axis, 0)
    count = SI32 if x.shape[axis] < 1 << 31 else SI64
    spread = View(greatest.base, dtype, x.shape, tuple(strides))
    beyond = filled(_literal(count, x.shape[axis]), x.shape)

    def first(add: Add, v: SSAValue, most: SSAValue, index: SSAValue, none: SSAValue) -> Sequence[SSAValue]:
        found = add(ptir.CompareOp(v, most, kind="equal"))
        if dtype.kind is Kind.FLOAT:
            found = add(ptir.OrOp(found, add(ptir.CompareOp(v, v, kind="not_equal"))))
        chosen = add(ptir.SelectOp(found, index, none))
        return [add(ptir.ReduceOp(chosen, kind="min", axes=[axis], keepdims=False, out_dtype=values["output_dtype"]))]

    views = [x, spread, indices(count, x.shape, axis), beyond]
    compute(build, name, views, first, [View(target.base, target.dtype, kept, row_major(kept))])


def _why_not(op: PtirOp, host: TargetInfo) -> str | None:
    """Return why nothing is computed in the dtype of an operand; to replace elements no arithmetic is needed."""
    replaces = isinstance(op, ptir.ScatterReduceOp) and op.values()["kind"] == "replace"
    return None if replaces else unsupported([op.operand_spec(0).dtype], host)


def _why_no_segments(op: ptir.SegmentReduceOp, host: TargetInfo) -> str | None:
    values, dtype = op.values(), op.operand_spec(0).dtype
    total: PtirDType = values["accum_dtype"] or default_accumulator(dtype)
    return unsupported([dtype, total], host) or rounded_each_step(values["kind"], total)


SCATTERS = (
    row("scatter", ptir.ScatterAddOp, _scatter_add, _why_not),
    row("scatter", ptir.ScatterReduceOp, _scatter_reduce, _why_not),
    row("segments", ptir.SegmentReduceOp, _segment_reduce, _why_no_segments),
    row("scan", ptir.CumulativeSumOp, _cumulative, _why_not),
    row("scan", ptir.CumulativeOp, _cumulative, _why_not),
    row("place of the extreme", ptir.ArgMaxOp, _arg_extreme, _why_not),
    row("place of the extreme", ptir.ArgMinOp, _arg_extreme, _why_not),
)
"""Their rows."""
