"""
Ops whose places are data. ONNX Runtime counts negative indices from the end and rejects others in words of its own.

Windows at index vectors become flat indices into the flattened operand: one coordinate tensor for each of its axes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import I1, PtirDType
from mind_dialect.ptir.windows_at import gather_dims

from ..ptir_to_stablehlo.window_numbers import WindowNumbers, gather_numbers, scatter_numbers
from .builder import ARRAYS, EVERY, INT64, NUMERIC, STORED, OnnxBuilder, Rule, reduction_identity

REDUCTIONS = {"add": "add", "mul": "mul", "max": "max", "min": "min", "replace": "none"}


def _take(b: OnnxBuilder, op: Any, x: list[str]) -> str:
    return b("Gather", *x, axis=0)


def _gather(b: OnnxBuilder, op: Any, x: list[str]) -> str:
    return b("GatherElements", *x, axis=op.values()["axis"] % len(op.operand_spec(0).shape))


def _scatter_reduce(b: OnnxBuilder, op: Any, x: list[str]) -> str:
    values = op.values()
    axis = values["axis"] % len(op.operand_spec(0).shape)
    return b("ScatterElements", *x, axis=axis, reduction=REDUCTIONS[values["kind"]])


def _segment_reduce(b: OnnxBuilder, op: Any, x: list[str]) -> str:
    """An empty segment keeps the identity."""
    dtype, shape = op.result_spec()
    kind = op.values()["kind"]
    start = b("Expand", b.constant(np.array(reduction_identity(kind, dtype), ARRAYS[dtype])), b.integers(shape))
    places = b("Unsqueeze", b("Cast", x[1], to=INT64), b.integers([-1]))
    return b("ScatterND", start, places, x[0], reduction="add" if kind == "sum" else "max")


def _clamped(b: OnnxBuilder, starts: str, most: Sequence[int]) -> str:
    """Starts of windows, moved so that the windows fit; index vectors lie along the last axis."""
    wide = b("Cast", starts, to=INT64)
    return b("Max", b("Min", wide, b.integers(most)), b.constant(np.array(0, np.int64)))


def _strides(shape: Sequence[int]) -> list[int]:
    return [prod(shape[d + 1 :]) for d in range(len(shape))]


def _dynamic_slice(b: OnnxBuilder, op: Any, x: list[str]) -> str:
    """Rows from each axis that is cut: a Slice from computed places would have no shape that readers can infer."""
    shape, sizes = op.operand_spec(0).shape, op.values()["sizes"]
    cut = [d for d, (n, size) in enumerate(zip(shape, sizes, strict=True)) if n != size]
    if not cut:
        return b("Identity", x[0])
    starts, found = _clamped(b, x[1], [n - size for n, size in zip(shape, sizes, strict=True)]), x[0]
    for d in cut:
        first = b("Gather", starts, b.integers([d]), axis=0)
        found = b("Gather", found, b("Add", first, b.integers(range(sizes[d]))), axis=d)
    return found


def _dynamic_update_slice(b: OnnxBuilder, op: Any, x: list[str]) -> str:
    shape, sizes = op.operand_spec(0).shape, op.operand_spec(1).shape
    if not shape:
        return b("Identity", x[1])
    starts = _clamped(b, x[2], [n - size for n, size in zip(shape, sizes, strict=True)])
    first = b("ReduceSum", b("Mul", starts, b.integers(_strides(shape))), keepdims=0)
    offsets = [0]
    for stride, size in zip(_strides(shape), sizes, strict=True):
        offsets = [before + stride * i for before in offsets for i in range(size)]
    places = b("Add", first, b.integers(offsets))
    return _scattered(b, x[0], places, x[1], shape, "none")


def _scattered(b: OnnxBuilder, x: str, places: str, updates: str, shape: Sequence[int], reduction: str, spare: str = "") -> str:
    """Combine updates with elements of `x` at flat indices; `spare` is an element after the last one, which is cut off."""
    flat = b("Reshape", x, b.integers([prod(shape)]))
    flat = b("Concat", flat, spare, axis=0) if spare else flat
    rows = b("Reshape", updates, b.integers([-1]))
    found = b("ScatterElements", flat, b("Reshape", places, b.integers([-1])), rows, axis=0, reduction=reduction)
    found = b("Slice", found, b.integers([0]), b.integers([prod(shape)])) if spare else found
    return b("Reshape", found, b.integers(shape), allowzero=1)


def _coordinates(
    b: OnnxBuilder, numbers: WindowNumbers, indices: str, ranks: tuple[int, int, int], shape: Sequence[int]
) -> list[str]:
    """
    Return, for each axis of the operand, where each element of the windows is along it; none are clamped.

    `numbers` are those of a gather; `ranks` of the operand, the indices and the result, whose shape is `shape`.
    """
    operand, of_indices, result = ranks
    lists = numbers.lists
    gone = {*lists["collapsed_slice_dims"], *lists["operand_batching_dims"]}
    window_axes = dict(zip([d for d in range(operand) if d not in gone], lists["offset_dims"], strict=True))
    batch_axes = [a for a in range(result) if a not in lists["offset_dims"]]
    rest = [d for d in range(of_indices) if d != numbers.vector]
    wide = b("Cast", indices, to=INT64)
    spread = [shape[a] if a in batch_axes else 1 for a in range(result)]
    found: list[str] = []
    for d in range(operand):
        along: dict[int, int] = {}
        if d in window_axes:
            along[window_axes[d]] = numbers.windows[d]
        elif d in lists["operand_batching_dims"]:
            position = lists["start_indices_batching_dims"][lists["operand_batching_dims"].index(d)]
            axis = batch_axes[rest.index(position)]
            along[axis] = shape[axis]
        counted = np.zeros([1] * result, np.int64)
        for axis, n in along.items():
            counted = np.arange(n).reshape([n if a == axis else 1 for a in range(result)])
        where = b.constant(np.asarray(counted, np.int64))
        if d in numbers.targets:
            start = wide
            if numbers.vector < of_indices:
                start = b("Gather", wide, b.constant(np.array(list(numbers.targets).index(d), np.int64)), axis=numbers.vector)
            where = b("Add", b("Reshape", start, b.integers(spread)), where)
        found.append(where)
    return found


def _flat(b: OnnxBuilder, coordinates: Sequence[str], operand: Sequence[int], shape: Sequence[int]) -> str:
    """Return flat indices of the result's shape."""
    total = b.constant(np.zeros([1] * len(shape), np.int64))
    for where, stride in zip(coordinates, _strides(operand), strict=True):
        total = b("Add", total, b("Mul", where, b.constant(np.array(stride, np.int64))))
    return b("Expand", total, b.integers(shape))


def _inside(b: OnnxBuilder, coordinates: Sequence[str], operand: Sequence[int], shape: Sequence[int]) -> str:
    """Return which elements lie in the operand."""
    found = b("Expand", b.constant(np.array(True)), b.integers(shape))
    zero = b.constant(np.array(0, np.int64))
    for where, n in zip(coordinates, operand, strict=True):
        below = b("Less", where, b.constant(np.array(n, np.int64)))
        found = b("And", found, b("And", b("GreaterOrEqual", where, zero), below))
    return found


def _gather_windows(b: OnnxBuilder, op: Any, x: list[str]) -> str:
    operand, (dtype, shape), mode = op.operand_spec(0).shape, op.result_spec(), op.values()["mode"]
    numbers = gather_numbers(op, list(op.operands))
    if not prod(operand) or not prod(shape):
        return b("Expand", b.constant(np.zeros((), ARRAYS[dtype])), b.integers(shape))
    starts = x[1]
    if mode == "clamp":
        most = np.array([operand[d] - numbers.windows[d] for d in numbers.targets], np.int64)
        axes = [1] * len(op.operand_spec(1).shape)
        if numbers.vector < len(axes):
            axes[numbers.vector] = len(most)
        fitted = b("Min", b("Cast", starts, to=INT64), b.constant(most.reshape(axes)))
        starts = b("Max", fitted, b.constant(np.array(0, np.int64)))
    ranks = len(operand), len(op.operand_spec(1).shape), len(shape)
    where = _coordinates(b, numbers, starts, ranks, shape)
    places, flat = _flat(b, where, operand, shape), b("Reshape", x[0], b.integers([prod(operand)]))
    if mode != "fill":
        return b("Gather", flat, places, axis=0)
    inside = _inside(b, where, operand, shape)
    found = b("Gather", flat, b("Where", inside, places, b.constant(np.array(0, np.int64))), axis=0)
    if dtype is I1:
        return b("And", found, inside)
    return b("Where", inside, found, b.constant(np.zeros((), ARRAYS[dtype])))


def _scatter_at(b: OnnxBuilder, op: Any, x: list[str], numbers: WindowNumbers, kind: str, *, drop: bool) -> str:
    (dtype, operand), shape = op.operand_spec(0), op.operand_spec(2).shape
    if not prod(operand) or not prod(shape):
        return b("Identity", x[0])
    ranks = len(operand), len(op.operand_spec(1).shape), len(shape)
    where = _coordinates(b, numbers, x[1], ranks, shape)
    places, spare = _flat(b, where, operand, shape), ""
    if drop:
        inside = _inside(b, where, operand, shape)
        places = b("Where", inside, places, b.constant(np.array(prod(operand), np.int64)))
        spare = b.constant(np.zeros(1, ARRAYS[dtype]))
    return _scattered(b, x[0], places, x[2], operand, REDUCTIONS[kind], spare)


def _scatter_windows(b: OnnxBuilder, op: Any, x: list[str]) -> str:
    given = scatter_numbers(op, list(op.operands))
    numbers = WindowNumbers(gather_dims(dict(given.lists)), given.targets, given.vector, given.windows)
    values = op.values()
    return _scatter_at(b, op, x, numbers, values["kind"], drop=values["mode"] == "drop")


def _scatter_add(b: OnnxBuilder, op: Any, x: list[str]) -> str:
    values, operand, updates = op.values(), op.operand_spec(0).shape, op.operand_spec(2).shape
    gone, vector = values["inserted_window_dims"], values["index_vector_dim"]
    sizes = iter([updates[a] for a in values["update_window_dims"]])
    windows = [1 if d in gone else next(sizes) for d in range(len(operand))]
    lists: dict[str, Any] = {"offset_dims": list(values["update_window_dims"]), "collapsed_slice_dims": list(gone)}
    lists |= {"operand_batching_dims": [], "start_indices_batching_dims": []}
    vector = len(op.operand_spec(1).shape) if vector is None else vector
    numbers = WindowNumbers(lists, list(values["scatter_dims_to_operand_dims"]), vector, windows)
    return _scatter_at(b, op, x, numbers, "add", drop=False)


RULES: Mapping[type[PtirOp], tuple[Rule, frozenset[PtirDType]]] = {
    ptir.TakeOp: (_take, STORED),
    ptir.GatherOp: (_gather, EVERY),
    ptir.ScatterReduceOp: (_scatter_reduce, NUMERIC),
    ptir.ScatterAddOp: (_scatter_add, NUMERIC),
    ptir.SegmentReduceOp: (_segment_reduce, NUMERIC),
    ptir.GatherWindowsOp: (_gather_windows, EVERY),
    ptir.ScatterWindowsOp: (_scatter_windows, NUMERIC),
    ptir.DynamicSliceOp: (_dynamic_slice, EVERY),
    ptir.DynamicUpdateSliceOp: (_dynamic_update_slice, EVERY),
}
