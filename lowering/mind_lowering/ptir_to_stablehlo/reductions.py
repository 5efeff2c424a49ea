"""Reductions, windows, prefixes, products and sorts. Sums are in the dtype of the accumulator throughout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.extents.dims import add_dims, product_dims
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import SI64, PtirDType
from mind_dialect.ptir_shapes import Dim

from .attributes import attribute, flag, integer, integers, numbers, pairs
from .builder import (
    StablehloBuilder,
    Values,
    accumulator,
    dtype_of,
    identity,
    precision,
    shape_of,
    stablehlo_type,
    static,
)
from .elementwise import Rule, cast_to, is_small, widened
from .structural import dynamic_slice

SUMS = ("sum", "add", "prod")
"""Kinds of reductions that accumulate."""


def _accumulated(b: StablehloBuilder, op: PtirOp, x: SSAValue, kind: str) -> SSAValue:
    """The operand in the dtype that the op reduces in; what only compares stays as it is, but for floats of 8 bits."""
    dtype = dtype_of(x)
    wide = accumulator(dtype, op.values().get("accum_dtype")) if kind in SUMS else dtype
    return widened(b, x) if is_small(wide) else b.convert(x, wide)


def _reduce(b: StablehloBuilder, op: ptir.ReduceOp, x: Values) -> SSAValue:
    values, result = op.values(), op.result_spec()
    rank = len(shape_of(x[0]))
    axes = sorted({a % rank for a in values["axes"]}) if rank else []
    wide = _accumulated(b, op, x[0], values["kind"])
    narrow = _identity_of(b, op, wide, x[0], values["kind"], axes)
    return cast_to(b, b.reshape(narrow, static(result)), result.dtype)


def _identity_of(b: StablehloBuilder, op: PtirOp, wide: SSAValue, x: SSAValue, kind: str, axes: Sequence[int]) -> SSAValue:
    """The reduction; an empty one of floats of 8 bits gives their own limits, which f32 would not."""
    shape = shape_of(x)
    if is_small(dtype_of(x)) and kind not in SUMS and axes and not all(shape[a] for a in axes):
        rest = [n for i, n in enumerate(shape) if i not in axes]
        return b.fill(identity(kind, dtype_of(x)), (dtype_of(x), rest))
    return b.reduce(kind, wide, axes)


def _arg_max(b: StablehloBuilder, op: ptir.ArgMaxOp, x: Values) -> SSAValue:
    return _arg(b, op, x, "max")


def _arg_min(b: StablehloBuilder, op: ptir.ArgMinOp, x: Values) -> SSAValue:
    return _arg(b, op, x, "min")


def _arg(b: StablehloBuilder, op: PtirOp, x: Values, kind: str) -> SSAValue:
    """Values and indices reduced together: NaN first, then the greatest or least, then the lower index."""
    index, shape = op.result_spec().dtype, shape_of(x[0])
    axis = op.values()["axis"] % len(shape)
    values = widened(b, x[0])
    dtype = dtype_of(values)
    operands = [values, b.iota(index, shape, axis), b.scalar(identity(kind, dtype), dtype), b.scalar(0, index)]
    scalars = [stablehlo_type(dtype, ()), stablehlo_type(index, ())]
    region = b.region([*scalars, *scalars], lambda v: _better(b, dtype, "GT" if kind == "max" else "LT", v))
    rest = [n for i, n in enumerate(shape) if i != axis]
    types = [stablehlo_type(dtype, rest), stablehlo_type(index, rest)]
    found = b.add("reduce", operands, types, {"dimensions": integers([axis])}, [region])[1]
    return b.reshape(found, static(op.result_spec()))


def _better(b: StablehloBuilder, dtype: PtirDType, direction: str, v: Sequence[SSAValue]) -> Values:
    value, place, other, other_place = v
    before, ties = b.compare(direction, value, other), b.compare("EQ", value, other)
    if dtype.is_float:
        nan, other_nan = b.compare("NE", value, value), b.compare("NE", other, other)
        before = b("or", before, b("and", nan, b("not", other_nan)))
        ties = b("or", ties, b("and", nan, other_nan))
    wins = b("or", before, b("and", ties, b.compare("LT", place, other_place)))
    return [b.select(wins, value, other), b.select(wins, place, other_place)]


def _reduce_window(b: StablehloBuilder, op: ptir.ReduceWindowOp, x: Values) -> SSAValue:
    values, result = op.values(), op.result_spec()
    wide = _accumulated(b, op, x[0], values["kind"])
    if not static(result):
        return cast_to(b, wide, result.dtype)
    dtype = dtype_of(wide)
    lists: dict[str, Any] = {
        "window_dimensions": integers(values["window_dims"]),
        "window_strides": integers(values["strides"]),
        "base_dilations": integers(values["base_dilation"]),
        "window_dilations": integers(values["window_dilation"]),
        "padding": pairs(values["padding"]),
    }
    start = b.scalar(identity(values["kind"], dtype_of(x[0]) if values["kind"] not in SUMS else dtype), dtype)
    type = stablehlo_type(dtype, static(result))
    found = b.add("reduce_window", [wide, start], [type], lists, [b.combining(values["kind"], dtype)])[0]
    return cast_to(b, found, result.dtype)


def _window_arg(b: StablehloBuilder, op: ptir.WindowArgOp, x: Values) -> SSAValue:
    """
    Values and flat indices reduced together.

    Padding has the worst value and the greatest index, so it wins against nothing else, and becomes -1.
    """
    given, result, shape = op.values(), op.result_spec(), shape_of(x[0])
    index, values = result.dtype, widened(b, x[0])
    dtype, ones = dtype_of(values), [1] * len(shape)
    if 0 in (*result.shape, *shape):
        return b.fill(-1, result)
    places = b.reshape(b.iota(index, [product_dims(shape)], 0), shape)
    none = (1 << (index.bits - 1)) - 1
    lists: dict[str, Any] = {
        "window_dimensions": integers(given["window_dims"]),
        "window_strides": integers(given["strides"]),
        "base_dilations": integers(ones),
        "window_dilations": integers(given["window_dilation"]),
        "padding": pairs(given["padding"]),
    }
    operands = [values, places, b.scalar(identity(given["kind"], dtype), dtype), b.scalar(none, index)]
    scalars = [stablehlo_type(dtype, ()), stablehlo_type(index, ())]
    region = b.region([*scalars, *scalars], lambda v: _better(b, dtype, "GT" if given["kind"] == "max" else "LT", v))
    types = [stablehlo_type(t, static(result)) for t in (dtype, index)]
    found = b.add("reduce_window", operands, types, lists, [region])[1]
    return b.select(b.compare("EQ", found, b.fill(none, result)), b.fill(-1, result), found)


def _cumulative_sum(b: StablehloBuilder, op: ptir.CumulativeSumOp, x: Values) -> SSAValue:
    return _running(b, op, x[0], "sum")


def _cumulative(b: StablehloBuilder, op: ptir.CumulativeOp, x: Values) -> SSAValue:
    return _running(b, op, x[0], op.values()["kind"])


def _running(b: StablehloBuilder, op: PtirOp, x: SSAValue, kind: str) -> SSAValue:
    """
    Combine all elements up to each one along the axis, in as many steps as the extent has binary digits.

    Each step combines every element with the one `span` before it, and doubles `span` (Hillis and Steele: Data parallel
    algorithms; CACM 1986). A window as long as the axis would be quadratic on some devices.
    """
    values = op.values()
    wide = _accumulated(b, op, x, kind)
    first = identity(kind, dtype_of(wide) if kind in SUMS else dtype_of(x))
    start, axis, reverse = b.scalar(first, dtype_of(wide)), values["axis"] % len(shape_of(x)), values["reverse"]
    if values["exclusive"]:
        wide = _shifted(b, wide, start, axis, 1, reverse)
    if not isinstance(shape_of(x)[axis], int):
        return cast_to(b, _running_in_loop(b, wide, first, axis, kind, reverse), dtype_of(x))
    span = 1
    while span < shape_of(x)[axis]:
        wide = b.combined(kind, _shifted(b, wide, start, axis, span, reverse), wide)
        span *= 2
    return cast_to(b, wide, dtype_of(x))


def _shifted(b: StablehloBuilder, x: SSAValue, start: SSAValue, axis: int, by: int, reverse: bool) -> SSAValue:
    """`x` moved along `axis`, to the end or, in reverse, to the front; `start` comes in."""
    shape = shape_of(x)
    none = [0] * len(shape)
    amount = [by if i == axis else 0 for i in range(len(shape))]
    low, high = (none, amount) if reverse else (amount, none)
    limits = [add_dims(n, k) for n, k in zip(shape, high, strict=True)]
    return b.slice(b.pad(x, start, low, high, none), high, limits)


def _running_in_loop(b: StablehloBuilder, x: SSAValue, first: object, axis: int, kind: str, reverse: bool) -> SSAValue:
    """The steps along an axis whose extent has no number, as a loop that carries `span`."""
    shape: Sequence[Dim] = shape_of(x)
    none: list[Dim] = [0] * len(shape)
    amount = [n if i == axis else 0 for i, n in enumerate(shape)]

    def step(v: Sequence[SSAValue]) -> Values:
        span, found = v
        start = b.scalar(first, dtype_of(x))
        padded = b.pad(found, start, *((none, amount) if reverse else (amount, none)), [0] * len(shape))
        at = span if reverse else b("subtract", b.extent(shape[axis], SI64), span)
        zero = b.scalar(0, SI64)
        moved = dynamic_slice(b, padded, [at if i == axis else zero for i in range(len(shape))], shape)
        return [b("multiply", span, b.scalar(2, SI64)), b.combined(kind, moved, found)]

    operands = [b.scalar(1, SI64), x]
    types = [v.type for v in operands]
    test = b.region(types, lambda v: [b.compare("LT", v[0], b.extent(shape[axis], SI64))])
    return b.add("while", operands, types, None, [test, b.region(types, step)])[1]


def _dot_general(b: StablehloBuilder, op: ptir.DotGeneralOp, x: Values) -> SSAValue:
    values, result = op.values(), op.result_spec()
    wide = accumulator(dtype_of(x[0]), values["accum_dtype"])
    lhs, rhs = (_operand(b, v, wide) for v in x)
    left, right = len(shape_of(lhs)), len(shape_of(rhs))
    text = numbers(
        lhs_batching_dimensions=[a % left for a in values["batch_lhs"]],
        rhs_batching_dimensions=[a % right for a in values["batch_rhs"]],
        lhs_contracting_dimensions=[a % left for a in values["contract_lhs"]],
        rhs_contracting_dimensions=[a % right for a in values["contract_rhs"]],
    )
    properties = {"dot_dimension_numbers": attribute("dot", text), **precision(b.options, dtype_of(lhs))}
    return cast_to(b, b.typed("dot_general", (wide, static(result)), lhs, rhs, **properties), result.dtype)


def _operand(b: StablehloBuilder, x: SSAValue, wide: PtirDType) -> SSAValue:
    """An operand of a product: floats of 16 bits stay as they are if sums are in f32, everything else is converted."""
    dtype = dtype_of(x)
    return x if dtype.is_float and dtype.bits == 16 and wide.bits == 32 else b.convert(x, wide)


def _convolution(b: StablehloBuilder, op: ptir.ConvolutionOp, x: Values) -> SSAValue:
    values, result = op.values(), op.result_spec()
    wide = accumulator(dtype_of(x[0]), values["accum_dtype"])
    lhs, rhs = (_operand(b, v, wide) for v in x)
    spatial = [str(i) for i in range(len(static(result)) - 2)]
    image, kernel = ", ".join(["b", *spatial, "f"]), ", ".join([*spatial, "i", "o"])
    properties: dict[str, Any] = {
        "window_strides": integers(values["strides"]),
        "padding": pairs(values["padding"]),
        "lhs_dilation": integers(values["base_dilation"]),
        "rhs_dilation": integers(values["window_dilation"]),
        "dimension_numbers": attribute("conv", f"[{image}]x[{kernel}]->[{image}]"),
        "feature_group_count": integer(values["feature_group_count"]),
        "batch_group_count": integer(1),
        **precision(b.options, dtype_of(lhs)),
    }
    return cast_to(b, b.typed("convolution", (wide, static(result)), lhs, rhs, **properties), result.dtype)


def _sort(b: StablehloBuilder, op: ptir.SortOp, x: Values) -> SSAValue:
    values, dtype = op.values(), dtype_of(x[0])
    found = sorted_along(b, [widened(b, x[0])], values["axis"] % len(shape_of(x[0])), descending=values["descending"])[0]
    return cast_to(b, found, dtype)


def _top_k(b: StablehloBuilder, op: ptir.TopKOp, x: Values) -> Values:
    """A stable sort of values with their indices, and the first `k` of both."""
    values, shape, dtype = op.values(), shape_of(x[0]), dtype_of(x[0])
    axis = values["axis"] % len(shape)
    places = b.iota(op.result_spec(1).dtype, shape, axis)
    found = sorted_along(b, [widened(b, x[0]), places], axis, descending=values["largest"])
    first = [b.slice(v, [0] * len(shape), static(op.result_spec())) for v in found]
    return [cast_to(b, first[0], dtype), first[1]]


def sorted_along(b: StablehloBuilder, xs: Values, axis: int, *, descending: bool) -> Values:
    """Sort by the first operand, NaN the greatest; equal ones keep their order, the other operands go along."""
    dtype = dtype_of(xs[0])

    def is_before(v: Sequence[SSAValue]) -> Values:
        lhs, rhs = v[:2]
        before = b.compare("GT" if descending else "LT", lhs, rhs)
        if dtype.is_float:
            nan, other = (lhs, rhs) if descending else (rhs, lhs)
            only = b("and", b.compare("NE", nan, nan), b.compare("EQ", other, other))
            before = b("or", before, only)
        return [before]

    region = b.region([stablehlo_type(dtype_of(x), ()) for x in xs for _ in (0, 1)], is_before)
    return b.add("sort", xs, [x.type for x in xs], {"dimension": integer(axis), "is_stable": flag(True)}, [region])


RULES: Mapping[type[PtirOp], Rule] = {
    ptir.ReduceOp: _reduce,
    ptir.ArgMaxOp: _arg_max,
    ptir.ArgMinOp: _arg_min,
    ptir.ReduceWindowOp: _reduce_window,
    ptir.WindowArgOp: _window_arg,
    ptir.CumulativeSumOp: _cumulative_sum,
    ptir.CumulativeOp: _cumulative,
    ptir.DotGeneralOp: _dot_general,
    ptir.ConvolutionOp: _convolution,
    ptir.SortOp: _sort,
}
"""Each rule returns the one result of its op."""
SEVERAL: Mapping[type[PtirOp], Any] = {ptir.TopKOp: _top_k}
"""Each rule returns all results of its op."""
