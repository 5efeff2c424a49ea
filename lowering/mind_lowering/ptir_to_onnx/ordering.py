"""Orders, running combinations and windows: NaN is the greatest of a sort and wins every maximum, minimum and arg."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import SI64, PtirDType
from mind_dialect.ptir_shapes import Dim

from .builder import ARRAYS, EVERY, FLOATS, INT64, NUMBERS, NUMERIC, OnnxBuilder, Rule, reduction_identity
from .scalars import is_nan

COMBINE = {"sum": "Add", "prod": "Mul", "max": "Max", "min": "Min"}


def _arg(largest: bool) -> Rule:
    operator = "ArgMax" if largest else "ArgMin"

    def rule(b: OnnxBuilder, op: Any, x: list[str]) -> str:
        """The first NaN, if there is one."""
        values, (dtype, shape) = op.values(), op.operand_spec(0)
        given: dict[str, Any] = {"axis": values["axis"] % len(shape), "keepdims": int(values["keepdims"])}
        found = b(operator, x[0], **given)
        if dtype in FLOATS:
            nan = b("Cast", is_nan(b, x[0]), to=6)
            some = b("Cast", b("ReduceMax", nan, b.integers([given["axis"]]), keepdims=given["keepdims"]), to=9)
            found = b("Where", some, b("ArgMax", nan, **given), found)
        return b("Cast", found, to=NUMBERS[values["output_dtype"]])

    return rule


def _order(b: OnnxBuilder, op: Any, x: str, *, descending: bool) -> str:
    """
    Return the indices that sort along the axis; equal elements keep their order.

    ONNX leaves the place of NaN open: a stable sort with infinity in its place, then a stable sort by what is NaN.
    """
    dtype, shape = op.operand_spec(0)
    axis = op.values()["axis"] % len(shape)
    given: dict[str, Any] = {"axis": axis, "largest": int(descending), "sorted": 1}
    count = b.integers([shape[axis]])
    if dtype not in FLOATS:
        return b.several("TopK", 2, x, count, **given)[1]
    nan = is_nan(b, x)
    key = b("Where", nan, b.constant(np.array(np.inf, ARRAYS[dtype])), x)
    first = b.several("TopK", 2, key, count, **given)[1]
    flags = b("GatherElements", b("Cast", nan, to=INT64), first, axis=axis)
    return b("GatherElements", first, b.several("TopK", 2, flags, count, **given)[1], axis=axis)


def _sort(b: OnnxBuilder, op: Any, x: list[str]) -> str:
    values = op.values()
    order = _order(b, op, x[0], descending=values["descending"])
    return b("GatherElements", x[0], order, axis=values["axis"] % len(op.operand_spec(0).shape))


def _top_k(b: OnnxBuilder, op: Any, x: list[str]) -> list[str]:
    values = op.values()
    axis = values["axis"] % len(op.operand_spec(0).shape)
    order = _order(b, op, x[0], descending=values["largest"])
    first = b("Slice", order, b.integers([0]), b.integers([values["k"]]), b.integers([axis]))
    return [b("GatherElements", x[0], first, axis=axis), b("Cast", first, to=NUMBERS[op.result_spec(1).dtype])]


def pad(b: OnnxBuilder, x: str, low: Sequence[Dim], high: Sequence[Dim], value: Any, dtype: PtirDType) -> str:
    """Return `x` with a margin of a value."""
    if not any((*low, *high)):
        return x
    return b("Pad", x, b.sizes([*low, *high]), b.constant(np.array(value, ARRAYS[dtype])))


def dilated(b: OnnxBuilder, x: str, shape: Sequence[int], holes: Sequence[int], value: Any, dtype: PtirDType) -> str:
    """Return `x` with so many elements of a value between two neighbours along each axis: padded rows, joined again."""
    if not any(holes) or not prod(shape):
        return x
    split = [n for extent in shape for n in (extent, 1)]
    margins = [n for hole in holes for n in (0, hole)]
    wide = pad(b, b("Reshape", x, b.integers(split)), [0] * len(split), margins, value, dtype)
    joined = b("Reshape", wide, b.integers(n * (hole + 1) for n, hole in zip(shape, holes, strict=True)))
    ends = [n * (hole + 1) - hole for n, hole in zip(shape, holes, strict=True)]
    return b("Slice", joined, b.integers([0] * len(shape)), b.integers(ends))


def _shifted(
    b: OnnxBuilder, x: str, axis: int, by: int, value: Any, shape: Sequence[int], dtype: PtirDType, *, back: bool
) -> str:
    """Return `x` moved along an axis, to the end or back to the front; a value comes in."""
    by = min(by, shape[axis])
    amount = [by if d == axis else 0 for d in range(len(shape))]
    none = [0] * len(shape)
    if back:
        return pad(b, b("Slice", x, b.integers(amount), b.integers(shape)), none, amount, value, dtype)
    ends = [n - k for n, k in zip(shape, amount, strict=True)]
    return pad(b, b("Slice", x, b.integers(none), b.integers(ends)), amount, none, value, dtype)


def _cumulative(b: OnnxBuilder, op: Any, x: list[str]) -> str:
    """
    Combine each element with the one `span` before it, for spans 1, 2, 4 and so on.

    Hillis and Steele: Data parallel algorithms; CACM 1986.
    """
    values, (dtype, shape) = op.values(), op.operand_spec(0)
    start, axis, found = reduction_identity(values["kind"], dtype), values["axis"] % len(shape), x[0]
    if values["exclusive"]:
        found = _shifted(b, found, axis, 1, start, shape, dtype, back=values["reverse"])
    span = 1
    while span < shape[axis]:
        moved = _shifted(b, found, axis, span, start, shape, dtype, back=values["reverse"])
        found, span = b(COMBINE[values["kind"]], moved, found), 2 * span
    return b("Identity", found)


def _places(b: OnnxBuilder, x: str, axis: int, window: int, stride: int, hole: int, count: int, rank: int) -> list[str]:
    """Return a strided slice along an axis for each place of a window."""
    found: list[str] = []
    for i in range(window):
        begin = i * hole
        end = begin + (count - 1) * stride + 1
        bounds = [b.integers([n]) for n in (begin, max(begin, end), axis, stride)]
        found.append(b("Slice", x, *bounds))
    return found


def _reduce_window(b: OnnxBuilder, op: Any, x: list[str]) -> str:
    """One axis after the other: as many slices as the window is long, combined."""
    values, (dtype, shape) = op.values(), op.operand_spec(0)
    start = reduction_identity(values["kind"], dtype)
    found = dilated(b, x[0], shape, [n - 1 for n in values["base_dilation"]], start, dtype)
    low, high = ([pair[side] for pair in values["padding"]] for side in (0, 1))
    found = pad(b, found, low, high, start, dtype)
    windows = zip(values["window_dims"], values["strides"], values["window_dilation"], op.result_spec().shape, strict=True)
    for axis, (window, stride, hole, count) in enumerate(windows):
        slices = _places(b, found, axis, window, stride, hole, count, len(shape))
        found = slices[0]
        for other in slices[1:]:
            found = b(COMBINE[values["kind"]], found, other)
    return b("Identity", found)


def _window_arg(b: OnnxBuilder, op: Any, x: list[str]) -> str:
    """Values and flat indices together, one axis after the other; padding has the greatest index, and becomes -1."""
    values, (dtype, shape), result = op.values(), op.operand_spec(0), op.result_spec()
    none = np.iinfo(np.int64).max
    low, high = ([pair[side] for pair in values["padding"]] for side in (0, 1))
    value = pad(b, x[0], low, high, reduction_identity(values["kind"], dtype), dtype)
    counted = b("Reshape", b.integers(range(prod(shape))), b.integers(shape))
    place = pad(b, counted, low, high, none, SI64)
    windows = zip(values["window_dims"], values["strides"], values["window_dilation"], result.shape, strict=True)
    for axis, (window, stride, hole, count) in enumerate(windows):
        pairs = [_places(b, v, axis, window, stride, hole, count, len(shape)) for v in (value, place)]
        (value, *others), (place, *other_places) = pairs
        for other, other_place in zip(others, other_places, strict=True):
            wins = _is_better(b, dtype, values["kind"], (other, other_place), (value, place))
            value, place = b("Where", wins, other, value), b("Where", wins, other_place, place)
    place = b("Where", b("Equal", place, b.constant(np.array(none))), b.constant(np.array(-1, np.int64)), place)
    return b("Cast", place, to=NUMBERS[result.dtype])


def _is_better(b: OnnxBuilder, dtype: PtirDType, kind: str, one: tuple[str, str], other: tuple[str, str]) -> str:
    """NaN first, then the greater or lesser, then the lower index."""
    before, ties = b("Greater" if kind == "max" else "Less", one[0], other[0]), b("Equal", one[0], other[0])
    if dtype in FLOATS:
        nan, other_nan = is_nan(b, one[0]), is_nan(b, other[0])
        before = b("Or", before, b("And", nan, b("Not", other_nan)))
        ties = b("Or", ties, b("And", nan, other_nan))
    return b("Or", before, b("And", ties, b("Less", one[1], other[1])))


def _extract_patches(b: OnnxBuilder, op: Any, x: list[str]) -> str:
    """A strided slice of the padded image for each place of the window, one after the other."""
    values, dtype, shape = op.values(), op.operand_spec(0).dtype, op.result_spec().shape
    low, high = ([0, *(pair[side] for pair in values["padding"]), 0] for side in (0, 1))
    padded = pad(b, x[0], low, high, values["pad_value"].item(), dtype)
    axes = range(1, len(shape) - 1)
    parts: list[str] = []
    for place in product(*map(range, values["window"])):
        begin = [i * hole for i, hole in zip(place, values["dilation"], strict=True)]
        spans = zip(begin, shape[1:-1], values["strides"], strict=True)
        end = [first + max(0, (n - 1) * stride + 1) for first, n, stride in spans]
        parts.append(b("Slice", padded, *(b.integers(v) for v in (begin, end, axes, values["strides"]))))
    return b("Concat", *parts, axis=len(shape) - 1)


RULES: Mapping[type[PtirOp], tuple[Rule, frozenset[PtirDType]]] = {
    ptir.ArgMaxOp: (_arg(True), NUMERIC),
    ptir.ArgMinOp: (_arg(False), NUMERIC),
    ptir.SortOp: (_sort, NUMERIC),
    ptir.TopKOp: (_top_k, NUMERIC),
    ptir.CumulativeOp: (_cumulative, NUMERIC),
    ptir.ReduceWindowOp: (_reduce_window, NUMERIC),
    ptir.WindowArgOp: (_window_arg, NUMERIC),
    ptir.ExtractPatchesOp: (_extract_patches, EVERY),
}
