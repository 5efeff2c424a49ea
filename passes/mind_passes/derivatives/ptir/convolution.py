"""
The derivatives of convolution, by what is fastest as array operations.

The adjoint of lhs is a convolution of that of the result, strides and base dilation exchanged, with the filter turned around.
With strides that would multiply by zeros, so there it is a product with the filter, folded. That of rhs is a product of patches.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Operation, SSAValue

from mind_dialect.ptir import ConvolutionOp, ExtractPatchesOp, ReduceOp, ReverseOp
from mind_dialect.ptir.types import tensor_type
from mind_dialect.ptir_shapes import Dims

from ...ptir.construct import Value, broadcast, cast, dims, make, mul, reshape, spec, transpose
from ...ptir.parts import pad
from ..walks import ForwardRow, Row
from .folding import fold
from .products import contract, usable, wider
from .shared import product_rule, zeros
from .transposed import is_transposable, transposed, transposed_extents, without_excess
from .windows import Sliding, interleaved, sized, sliding, still


def spatial_axes(op: ConvolutionOp) -> tuple[Sliding, ...]:
    values, x, y = op.values(), dims(op.lhs), dims(op.result)
    window = [sized(n) for n in spec(op.rhs).shape[:-2]]
    rest = (values[n] for n in ("strides", "padding", "base_dilation", "window_dilation"))
    return sliding(x[1:-1], y[1:-1], window, *rest)


def lhs_adjoint(op: ConvolutionOp, g: SSAValue) -> Value:
    axes = spatial_axes(op)
    if 0 in (*dims(op.lhs), *spec(g).shape):
        return zeros(op.lhs)
    strided = any(a.stride > 1 for a in axes) or all(a.window == 1 for a in axes) or not is_transposable(axes)
    if strided and op.values()["feature_group_count"] == 1:
        return folded_product(op, axes, g)
    return turned_around(op, axes, g)


def folded_product(op: ConvolutionOp, axes: Sequence[Sliding], g: SSAValue) -> Value:
    """Add up what each place gives to each element of its window."""
    rank = len(axes) + 2
    dtype, shape = spec(op.lhs)
    product = contract(g, op.rhs, ((rank - 1,), (rank - 1,)), dtype=dtype, accum=op.values()["accum_dtype"])
    whole = (still(shape[0]), *axes, still(shape[-1]))
    return fold(interleaved(product, whole), whole)


def turned_around(op: ConvolutionOp, axes: Sequence[Sliding], g: SSAValue) -> Value:
    """The convolution of `g` with the filter, in which every group has inputs and outputs exchanged."""
    (dtype, shape), values = spec(op.lhs), op.values()
    whole = (still(shape[0]), *axes, still(spec(g).shape[-1]))
    found = transposed(g, whole)
    if found is None:
        return zeros(op.lhs)
    places, padding = found
    work = wider(spec(g).dtype, dtype)
    product = make(
        ConvolutionOp,
        cast(places, work),
        cast(exchanged(op.rhs, values["feature_group_count"]), work),
        type=tensor_type(dtype, (*transposed_extents(whole)[:-1], shape[-1])),
        strides=[a.base for a in axes],
        padding=padding[1:-1],
        base_dilation=[a.stride for a in axes],
        window_dilation=[a.dilation for a in axes],
        feature_group_count=values["feature_group_count"],
        accum_dtype=usable(values["accum_dtype"], work),
        out_dtype=None if work is dtype else dtype,
    )
    return without_excess(product, whole)


def exchanged(rhs: SSAValue, groups: int) -> Value:
    """A filter `[window..., inputs per group, outputs]`, turned around, as `[window..., outputs per group, inputs]`."""
    *window, inputs, outputs = (sized(n) for n in dims(rhs))
    k = len(window)
    moving = [a for a, n in enumerate(window) if n > 1]
    found: Value = make(ReverseOp, rhs, axes=moving) if moving else rhs
    if groups == 1:
        return transpose(found, [*range(k), k + 1, k])
    found = transpose(reshape(found, (*window, inputs, groups, outputs // groups)), [*range(k), k + 2, k + 1, k])
    return reshape(found, (*window, outputs // groups, groups * inputs))


def rhs_adjoint(op: ConvolutionOp, g: SSAValue) -> Value:
    axes, (dtype, shape), values = spatial_axes(op), spec(op.rhs), op.values()
    if 0 in (*shape, *spec(op.lhs).shape, *spec(g).shape):
        return zeros(op.rhs)
    patches, accum = patches_of(op.lhs, axes), values["accum_dtype"]
    over = tuple(range(len(axes) + 1))
    if values["feature_group_count"] == 1:
        return reshape(contract(patches, g, (over, over), dtype=dtype, accum=accum), shape)
    return grouped_filter(op, patches, g, over)


def patches_of(x: SSAValue, axes: Sequence[Sliding]) -> Value:
    """The windows of `x`, those of an image of single elements `x` itself."""
    if all(a.still for a in axes):
        return x
    spread = pad(x, [0] * (len(axes) + 2), [0] * (len(axes) + 2), [0, *(a.base - 1 for a in axes), 0])
    return ExtractPatchesOp(
        spread,
        window=[a.window for a in axes],
        strides=[a.stride for a in axes],
        dilation=[a.dilation for a in axes],
        padding=[(a.low, a.high) for a in axes],
        pad_value=0.0,
    )


def grouped_filter(op: ConvolutionOp, patches: Value, g: SSAValue, over: tuple[int, ...]) -> Value:
    """Group by group; with one input channel in each, a sum of elementwise products is faster than small products of matrices."""
    (dtype, shape), values = spec(op.rhs), op.values()
    groups, cells = values["feature_group_count"], prod(sized(n) for n in shape[:-2])
    inputs, outputs = sized(shape[-2]), sized(shape[-1]) // groups
    places: Dims = dims(g)[:-1]
    windows = reshape(patches, (*places, cells, groups, inputs))
    parts = reshape(g, (*places, groups, outputs))
    k = len(places)
    if inputs > 1:
        found: Value = contract(windows, parts, (over, over), batch=((k + 1,), (k,)), dtype=dtype, accum=values["accum_dtype"])
        return reshape(transpose(found, [1, 2, 0, 3]), shape)
    work = wider(spec(g).dtype, dtype)
    each = (*places, cells, groups, outputs)
    factor = broadcast(reshape(cast(parts, work), (*places, 1, groups, outputs)), each)
    products = mul(broadcast(cast(windows, work), each), factor)
    accum = usable(values["accum_dtype"], work)
    total = ReduceOp(products, kind="sum", axes=over, keepdims=False, accum_dtype=accum)
    return reshape(cast(total, dtype), shape)


REVERSE: dict[type[Operation], Row] = {ConvolutionOp: (lhs_adjoint, rhs_adjoint)}
FORWARD: dict[type[Operation], ForwardRow] = {ConvolutionOp: product_rule}
