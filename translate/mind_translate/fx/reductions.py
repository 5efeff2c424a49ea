"""
Rows of reductions, running reductions, and sorts.

Sums of truths and integers are stated as si64, to which the operand is cast; narrow floats accumulate in f32, as in torch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import I1, SI32, SI64, Kind
from mind_dialect.ptir_shapes import UNKNOWN

from .converter import AtenConverter, Call, Results, Row, Table, wide

Axes = int | Sequence[int] | None


def _sum(to: AtenConverter, call: Call, x: SSAValue, dims: Axes = None, keep: bool = False, *_: Any) -> SSAValue:
    return to.reduce("sum", to.cast(x, call.dtype), dims, keep)


def _sum_all(to: AtenConverter, call: Call, x: SSAValue, *_: Any) -> SSAValue:
    return to.reduce("sum", to.cast(x, call.dtype), None)


def _prod(to: AtenConverter, call: Call, x: SSAValue, dim: Axes = None, keep: bool = False, *_: Any) -> SSAValue:
    return to.reduce("prod", to.cast(x, call.dtype), dim, keep)


def _prod_all(to: AtenConverter, call: Call, x: SSAValue, *_: Any) -> SSAValue:
    return to.reduce("prod", to.cast(x, call.dtype), None)


def _mean(to: AtenConverter, call: Call, x: SSAValue, dims: Axes = None, keep: bool = False, *_: Any) -> SSAValue:
    x = to.cast(x, wide(call.dtype))
    return to.cast(to.mean(x, to.axes(x, dims), keep), call.dtype)


def _mean_all(to: AtenConverter, call: Call, x: SSAValue, *_: Any) -> SSAValue:
    return _mean(to, call, x)


def _extreme(kind: str) -> Row:
    """The greatest or least; a maximum shares its derivative among equals, as torch's `amax` does."""

    def row(to: AtenConverter, call: Call, x: SSAValue, dims: Axes = None, keep: bool = False) -> SSAValue:
        if to.dtype(x) is I1:
            return to.cast(to.reduce(kind, to.cast(x, SI32), dims, keep), I1)
        return to.reduce(kind, x, dims, keep)

    return row


def _truths(kind: str) -> Row:
    """Any or all; of nothing the least or greatest integer, which the comparison makes false or true."""

    def row(to: AtenConverter, call: Call, x: SSAValue, dims: Axes = None, keep: bool = False) -> SSAValue:
        found = to.reduce(kind, to.cast(to.cast(x, I1), SI32), dims, keep)
        return to.cast(to.compare("greater", found, 0), call.dtype)

    return row


def _extreme_at(op_type: type[ptir.PtirOp]) -> Row:
    """The greatest or least along one axis and its index; the value is read at the index, where its derivative goes, too."""

    def row(to: AtenConverter, call: Call, x: SSAValue, dim: int, keep: bool = False) -> Results:
        if not to.shape(x):
            return x, to.fill(0, SI64)
        axis = to.axis(x, dim)
        index = to.emit(op_type, _ordered(to, x), axis=axis, keepdims=True, output_dtype=SI64)
        value = to.emit(ptir.GatherOp, x, index, axis=axis)
        return to.shaped(value, call.shape), to.shaped(index, call.shape)

    return row


def _ordered(to: AtenConverter, x: SSAValue) -> SSAValue:
    """Truths as numbers."""
    return to.cast(x, SI32) if to.dtype(x) is I1 else x


def _arg(op_type: type[ptir.PtirOp]) -> Row:
    def row(to: AtenConverter, call: Call, x: SSAValue, dim: int | None = None, keep: bool = False) -> SSAValue:
        if not to.shape(x):
            return to.fill(0, SI64)
        if dim is None:
            x, dim = to.reshape(x, (math.prod(to.sizes(x)),)), 0
        found = to.emit(op_type, _ordered(to, x), axis=to.axis(x, dim), keepdims=bool(keep), output_dtype=SI64)
        return to.shaped(found, call.shape)

    return row


def _var(to: AtenConverter, call: Call, x: SSAValue, dims: Axes = None, correction: Any = 1, keep: bool = False) -> SSAValue:
    """The sum of squares about the mean by `n - correction`, at least 0 of them."""
    return to.cast(_wide_variance(to, x, dims, correction, keep), call.dtype)


def _std(to: AtenConverter, call: Call, x: SSAValue, dims: Axes = None, correction: Any = 1, keep: bool = False) -> SSAValue:
    """The root of the variance; the derivative of the root is 0 where all numbers are equal."""
    variance = _wide_variance(to, x, dims, correction, keep)
    is_zero = to.compare("equal", variance, 0.0)
    root = to.emit(ptir.SqrtOp, to.select(is_zero, to.like(1.0, variance), variance))
    return to.cast(to.select(is_zero, to.like(0.0, root), root), call.dtype)


def _wide_variance(to: AtenConverter, x: SSAValue, dims: Axes, correction: Any, keep: bool) -> SSAValue:
    x = to.cast(x, wide(to.dtype(x)))
    axes = to.axes(x, dims)
    if to.dtype(x).kind is Kind.COMPLEX:
        parts = (_variance(to, to.emit(part, x), axes, correction, keep) for part in (ptir.RealOp, ptir.ImagOp))
        return to.emit(ptir.AddOp, *parts)
    return _variance(to, x, axes, correction, keep)


def _variance(to: AtenConverter, x: SSAValue, axes: Sequence[int], correction: Any, keep: bool) -> SSAValue:
    centred = to.math(ptir.SubOp, x, to.mean(x, axes, keep=True))
    total = to.reduce("sum", to.emit(ptir.MulOp, centred, centred), axes, keep)
    return to.by_count(total, x, axes, 1 if correction is None else correction)


def _var_unbiased(to: AtenConverter, call: Call, x: SSAValue, dims: Axes, unbiased: bool = True, keep: bool = False) -> SSAValue:
    return _var(to, call, x, dims, 1 if unbiased else 0, keep)


def _var_mean(to: AtenConverter, call: Call, x: SSAValue, dims: Axes = None, correction: Any = 1, keep: bool = False) -> Results:
    return _var(to, call, x, dims, correction, keep), _mean(to, Call(call.name, call.results[1:]), x, dims, keep)


def _std_mean(to: AtenConverter, call: Call, x: SSAValue, dims: Axes = None, correction: Any = 1, keep: bool = False) -> Results:
    return _std(to, call, x, dims, correction, keep), _mean(to, Call(call.name, call.results[1:]), x, dims, keep)


def _cumulative(kind: str) -> Row:
    def row(to: AtenConverter, call: Call, x: SSAValue, dim: int, *_: Any) -> SSAValue:
        x = to.cast(x, call.dtype)
        if not to.shape(x):
            return x
        properties: dict[str, Any] = {"axis": to.axis(x, dim), "exclusive": False, "reverse": False}
        if kind == "sum":
            return to.emit(ptir.CumulativeSumOp, x, **properties)
        return to.emit(ptir.CumulativeOp, x, kind=kind, **properties)

    return row


def _sort(to: AtenConverter, call: Call, x: SSAValue, dim: int = -1, descending: bool = False) -> Results:
    """A stable sort: in which order equals are left is not stated, so that any is right."""
    if not to.shape(x):
        return x, to.fill(0, SI64)
    axis = to.axis(x, dim)
    k = to.shape(x)[axis]
    return _top_k(to, call, x, to.sizes(x, [axis])[0] if k == UNKNOWN else k, dim, descending)


def _sort_stable(
    to: AtenConverter, call: Call, x: SSAValue, stable: bool | None = None, dim: int = -1, descending: bool = False
) -> Results:
    return _sort(to, call, x, dim, descending)


def _top_k(to: AtenConverter, call: Call, x: SSAValue, k: int | str, dim: int = -1, largest: bool = True, *_: Any) -> Results:
    """The greatest first, NaN among the greatest. The values are read at the indices."""
    if not to.shape(x):
        return x, to.fill(0, SI64)
    axis = to.axis(x, dim)
    found = to.add(ptir.TopKOp(_ordered(to, x), k=k, axis=axis, largest=bool(largest), indices_dtype=SI64))
    indices = found.results[1]
    return to.emit(ptir.GatherOp, x, indices, axis=axis), indices


REDUCTIONS: Table = {
    "all.default": _truths("min"),
    "all.dim": _truths("min"),
    "all.dims": _truths("min"),
    "amax.default": _extreme("max"),
    "amin.default": _extreme("min"),
    "any.default": _truths("max"),
    "any.dim": _truths("max"),
    "any.dims": _truths("max"),
    "argmax.default": _arg(ptir.ArgMaxOp),
    "argmin.default": _arg(ptir.ArgMinOp),
    "cumprod.default": _cumulative("prod"),
    "cumsum.default": _cumulative("sum"),
    "max.default": _extreme("max"),
    "max.dim": _extreme_at(ptir.ArgMaxOp),
    "mean.default": _mean_all,
    "mean.dim": _mean,
    "min.default": _extreme("min"),
    "min.dim": _extreme_at(ptir.ArgMinOp),
    "prod.default": _prod_all,
    "prod.dim_int": _prod,
    "sort.default": _sort,
    "sort.stable": _sort_stable,
    "std.correction": _std,
    "std_mean.correction": _std_mean,
    "sum.default": _sum_all,
    "sum.dim_IntList": _sum,
    "topk.default": _top_k,
    "var.correction": _var,
    "var.dim": _var_unbiased,
    "var_mean.correction": _var_mean,
}
