"""
Core IR's convolution and its gradients in PTIR.

The gradient in the input is not written as a convolution of a dilated gradient: that would multiply the zeros between its
elements by the filter, which may hold infinity. The products that exist are computed once and added where they belong.
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from mind_dialect import core, ptir, shapes
from mind_dialect.core import CoreOp
from mind_dialect.ptir.types import SI64
from mind_dialect.types import Shape

from .emitter import Emitter

UNROLLED = 64
"""Filters of at most so many places have their products added place by place; larger ones by a scatter."""

Pads = tuple[tuple[int, int], tuple[int, int]]


def _window(op: CoreOp, x: Shape, filter: Shape) -> tuple[tuple[int, int], Pads]:
    """The strides, and the padding in numbers."""
    strides, padding = (op.values()[name] for name in ("strides", "padding"))
    return tuple(strides), shapes.conv2d_pads(x, filter, strides=strides, padding=padding)  # pyright: ignore[reportReturnType]


def conv2d(emit: Emitter, op: core.Conv2dOp, operands: list[SSAValue]) -> SSAValue:
    """A convolution without dilation or groups."""
    strides, padding = _window(op, op.operand_shape(0), op.operand_shape(1))
    window: dict[str, Any] = {"strides": strides, "padding": padding}
    one = {"base_dilation": (1, 1), "window_dilation": (1, 1), "feature_group_count": 1}
    return emit(ptir.ConvolutionOp, *operands, **window, **one)


def conv2d_backward_filter(emit: Emitter, op: core.Conv2dBackwardFilterOp, operands: list[SSAValue]) -> SSAValue:
    """The windows of the padded input, contracted with the gradient over batch and places."""
    x, g = operands
    strides, padding = _window(op, op.operand_shape(0), op.result_shape)
    window: dict[str, Any] = {"window": op.result_shape[:2], "strides": strides, "padding": padding}
    patches = emit(ptir.ExtractPatchesOp, x, dilation=(1, 1), pad_value=0, **window)
    places = {"contract_lhs": (0, 1, 2), "contract_rhs": (0, 1, 2)}
    product = emit(ptir.DotGeneralOp, patches, g, batch_lhs=(), batch_rhs=(), **places)
    return emit.reshape(product, op.result_shape)


def conv2d_backward_input(emit: Emitter, op: core.Conv2dBackwardInputOp, operands: list[SSAValue]) -> SSAValue:
    """Each window's share, added into the padded input; then the padding is cut off."""
    strides, pads = _window(op, op.result_shape, op.operand_shape(1))
    n, h, w, c = op.result_shape
    padded = (n, h + sum(pads[0]), w + sum(pads[1]), c)
    kh, kw = op.operand_shape(1)[:2]
    added = _unrolled if kh * kw <= UNROLLED else _scattered
    total = added(emit, operands[0], operands[1], op.operand_shape(1), op.operand_shape(0), strides, padded)
    if total.type == op.result.type:
        return total
    return emit(ptir.SliceOp, total, starts=(0, pads[0][0], pads[1][0], 0), sizes=op.result_shape)


def _unrolled(
    emit: Emitter, g: SSAValue, filter: SSAValue, window: Shape, out: Shape, strides: tuple[int, int], padded: Shape
) -> SSAValue:
    """For each place of the filter in iteration, its products with the gradient, spread by the strides."""
    (kh, kw, c, _), (n, oh, ow, _) = window, out
    sides = {"batch_lhs": (), "batch_rhs": (), "contract_lhs": (3,), "contract_rhs": (3,)}
    products = emit(ptir.DotGeneralOp, g, filter, **sides)  # n, oh, ow, kh, kw, c
    gaps = [step - 1 if count > 1 else 0 for step, count in zip(strides, (oh, ow), strict=True)]
    spans = [(count - 1) * (gap + 1) + 1 for gap, count in zip(gaps, (oh, ow), strict=True)]
    total = emit.fill(emit.spec(g).dtype, padded, 0)
    for i in range(kh):
        for j in range(kw):
            share = emit(ptir.SliceOp, products, starts=(0, 0, 0, i, j, 0), sizes=(n, oh, ow, 1, 1, c))
            share = emit.reshape(share, (n, oh, ow, c))
            high = (0, padded[1] - i - spans[0], padded[2] - j - spans[1], 0)
            share = emit(ptir.PadOp, share, low=(0, i, j, 0), high=high, interior=(0, *gaps, 0), pad_value=0)
            total = emit(ptir.AddOp, total, share)
    return total


def _scattered(
    emit: Emitter, g: SSAValue, filter: SSAValue, window: Shape, out: Shape, strides: tuple[int, int], padded: Shape
) -> SSAValue:
    """The same sums in the same order, as rows scattered to the places of the padded input."""
    (kh, kw, c, _), (n, oh, ow, _) = window, out
    sides = {"batch_lhs": (), "batch_rhs": (), "contract_lhs": (3,), "contract_rhs": (3,)}
    products = emit(ptir.TransposeOp, emit(ptir.DotGeneralOp, g, filter, **sides), perm=(3, 4, 1, 2, 0, 5))
    grid, places = (kh, kw, oh, ow), kh * kw * oh * ow
    rows = _places(emit, grid, 0, strides[0] if oh > 1 else 1)
    columns = _places(emit, grid, 1, strides[1] if ow > 1 else 1)
    flat = emit(ptir.AddOp, emit(ptir.MulOp, rows, emit.fill(SI64, grid, padded[2])), columns)
    total = emit(
        ptir.ScatterAddOp,
        emit.fill(emit.spec(g).dtype, (padded[1] * padded[2], n, c), 0),
        emit.reshape(flat, (places,)),
        emit.reshape(products, (places, n, c)),
        update_window_dims=(1, 2),
        inserted_window_dims=(0,),
        scatter_dims_to_operand_dims=(0,),
    )
    total = emit.reshape(total, (padded[1], padded[2], n, c))
    return emit(ptir.TransposeOp, total, perm=(2, 0, 1, 3))


def _places(emit: Emitter, grid: Shape, axis: int, stride: int) -> SSAValue:
    """Along one axis of the padded input, the place that each filter place has in each window."""
    inside = emit(ptir.IotaOp, shape=grid, dtype=SI64, axis=axis)
    start = emit(ptir.IotaOp, shape=grid, dtype=SI64, axis=axis + 2)
    return emit(ptir.AddOp, inside, emit(ptir.MulOp, start, emit.fill(SI64, grid, stride)))
