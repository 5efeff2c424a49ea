"""Rows of products and convolutions, those of quantized integers included, which are summed in si32, exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.errors import brief, error
from mind_dialect.extents.dims import add_dims, are_equal
from mind_dialect.ptir.types import DTYPES, F32, SI32, PtirDType, TensorSpec
from mind_dialect.ptir_shapes import Dims

from .. import linear_algebra as linalg
from ..unsupported import Refused
from .converter import OnnxConverter, OnnxRow
from .emitter import SizesMayDiffer, common_shape, static
from .node import Node
from .windows import Window, window_of


def matmul(to: OnnxConverter, x: SSAValue, y: SSAValue) -> SSAValue:
    """NumPy's `matmul`: vectors are rows on the left and columns on the right, leading dimensions broadcast."""
    of_x, of_y = to.shape(x), to.shape(y)
    if not of_x or not of_y:
        raise error("E3002", "a product of a scalar, expected rank 1 or more", expected="1 or more", actual=0)
    x = to.reshape(x, (1, *of_x)) if len(of_x) == 1 else x
    y = to.reshape(y, (*of_y, 1)) if len(of_y) == 1 else y
    (*left, m, k), (*right, rows, n) = to.shape(x), to.shape(y)
    if not are_equal(k, rows):
        if isinstance(k, str) or isinstance(rows, str):
            raise SizesMayDiffer(f"a product of {brief(list(of_x))} by {brief(list(of_y))}", k, rows)
        raise error("E3003", f"cannot multiply {brief(list(of_x))} by {brief(list(of_y))}", dimension="rows", extents=(k, rows))
    if not right:
        found = dot(to, x, y, [], [], [len(left) + 1], [0])
    else:
        batch = common_shape(tuple(left), tuple(right))
        axes = list(range(len(batch)))
        x, y = to.broadcast(x, (*batch, m, k)), to.broadcast(y, (*batch, rows, n))
        found = dot(to, x, y, axes, axes, [len(batch) + 1], [len(batch)])
    shape = list(to.shape(found))
    if len(of_y) == 1:
        del shape[-1]
    if len(of_x) == 1:
        del shape[-1 if len(of_y) == 1 else -2]
    return to.reshape(found, tuple(shape))


def dot(to: OnnxConverter, x: SSAValue, y: SSAValue, *axes: Sequence[int]) -> SSAValue:
    names = ("batch_lhs", "batch_rhs", "contract_lhs", "contract_rhs")
    return to.emit(ptir.DotGeneralOp, x, y, **{name: tuple(a) for name, a in zip(names, axes, strict=True)})


def _matmul(to: OnnxConverter, node: Node) -> SSAValue:
    return matmul(to, node.x(0), node.x(1))


def gemm(to: OnnxConverter, node: Node) -> SSAValue:
    """`alpha A B + beta C`, of matrices that may be transposed."""
    x, y = node.x(0), node.x(1)
    found = dot(to, x, y, [], [], [0 if node.int("transA") else 1], [1 if node.int("transB") else 0])
    alpha, beta = (_factor(to, found, node.float(name, 1.0)) for name in ("alpha", "beta"))
    found = found if alpha == 1 else to.times(found, to.like(alpha, found))
    if beta == 0 or not node.has(2):  # as in BLAS, 0 drops the bias, so that its NaNs do not reach the result
        return found
    bias = node.x(2)
    return to.plus(found, bias if beta == 1 else to.times(bias, to.like(beta, bias)))


def _factor(to: OnnxConverter, x: SSAValue, factor: float) -> float:
    if to.dtype(x).is_float:
        return factor
    if factor != int(factor):
        raise Refused("a fraction of integers", "cast the operands to floats")
    return int(factor)


def square(to: OnnxConverter, x: SSAValue) -> SSAValue:
    """Square matrices; E3002 and E3003 for others."""
    shape = to.shape(x)
    if len(shape) < 2:
        raise error("E3002", f"rank {len(shape)}, expected at least 2", expected="at least 2", actual=len(shape))
    if shape[-1] != shape[-2]:
        raise error("E3003", f"matrices {brief(list(shape))}, expected square ones", dimension="columns", extents=shape[-2:])
    return x


def _det(to: OnnxConverter, node: Node) -> SSAValue:
    """The determinants of square matrices."""
    x = square(to, node.x())
    return linalg.call(to, "det", [x], [TensorSpec(to.dtype(x), to.shape(x)[:-2])])[0]


# Windows of convolutions and pools


def convolution(
    to: OnnxConverter, x: SSAValue, w: SSAValue, window: Window, groups: int, base: Sequence[int] | None = None
) -> SSAValue:
    """A convolution with channels second, by one with channels last."""
    n = len(window.size)
    x = to.transpose(x, [0, *range(2, 2 + n), 1])
    w = to.transpose(w, [*range(2, 2 + n), 1, 0])
    found = to.emit(
        ptir.ConvolutionOp,
        x,
        w,
        strides=tuple(window.strides),
        padding=tuple(window.padding),
        base_dilation=tuple(base or (1,) * n),
        window_dilation=tuple(window.dilations),
        feature_group_count=groups,
    )
    return to.transpose(found, [0, n + 1, *range(1, n + 1)])


def _operands(to: OnnxConverter, node: Node, x: SSAValue, w: SSAValue) -> tuple[Dims, tuple[int, ...]]:
    """The spatial sizes of the operand and of the kernel."""
    if len(to.shape(x)) != len(to.shape(w)) or len(to.shape(x)) < 3:
        ranks = (len(to.shape(x)), len(to.shape(w)))
        raise error("E3002", f"operands of ranks {ranks[0]} and {ranks[1]}, expected one rank from 3", expected=3, actual=ranks)
    return to.shape(x)[2:], static(to.shape(w)[2:], "windows")


def _with_bias(to: OnnxConverter, x: SSAValue, bias: SSAValue | None) -> SSAValue:
    return x if bias is None else to.plus(x, to.along(bias, 1, len(to.shape(x))))


def conv(to: OnnxConverter, node: Node) -> SSAValue:
    """A convolution with a bias for each channel."""
    x, w = node.x(0), node.x(1)
    spatial, size = _operands(to, node, x, w)
    window = window_of(node, spatial, size)
    for n, (low, high), reach in zip(spatial, window.padding, window.reach, strict=True):
        if not isinstance(n, int):  # a call with less is an error of ONNX Runtime; sizes of layers of convolutions stay short
            to.demand(add_dims(n, low + high), reach)
    return _with_bias(to, convolution(to, x, w, window, node.int("group", 1)), node.optional(2))


def _conv_transpose(to: OnnxConverter, node: Node) -> SSAValue:
    """The gradient of a convolution by its operand: a convolution of the strided operand with the kernel backwards."""
    x, w, groups = node.x(0), node.x(1), node.int("group", 1)
    spatial, size = _operands(to, node, x, w)
    n = len(size)
    strides, dilations = node.ints("strides") or [1] * n, node.ints("dilations") or [1] * n
    more = node.ints("output_padding") or [0] * n
    reach = [(k - 1) * d + 1 for k, d in zip(size, dilations, strict=True)]
    low, high = _cropped(node, spatial, strides, [r + m for r, m in zip(reach, more, strict=True)])
    for extent in spatial:
        to.demand(extent, 1)
    c, m, *kernel = static(to.shape(w), "ConvTranspose")
    if groups < 1 or c % groups:
        raise error("E8002", f"group is {groups} of {c} channels", attribute="group", value=groups)
    w = to.reshape(w, (groups, c // groups, m, *kernel))
    w = to.reshape(to.transpose(w, [0, 2, 1, *range(3, 3 + n)]), (groups * m, c // groups, *kernel))
    w = to.emit(ptir.ReverseOp, w, axes=tuple(range(2, 2 + n)))
    pads = [(r - 1 - a, r - 1 - b + e) for r, a, b, e in zip(reach, low, high, more, strict=True)]
    inside = Window(list(size), [1] * n, dilations, [max(0, a) for a, _ in pads], [max(0, b) for _, b in pads], [0] * n)
    found = convolution(to, x, w, inside, groups, strides)
    for i, (a, b) in enumerate(pads):
        if a < 0 or b < 0:
            found = to.part(found, 2 + i, max(0, -a), add_dims(to.shape(found)[2 + i], min(0, b)))
    return _with_bias(to, found, node.optional(2))


def _cropped(node: Node, dims: Dims, strides: Sequence[int], last: Sequence[int]) -> tuple[list[int], list[int]]:
    """
    Return the amounts that are cut off the whole result before and after; `last` is what follows the place of the last element.

    What a wanted shape has more than the whole result is after it, as where `output_padding` says so.
    """
    n = len(dims)
    mode = node.word("auto_pad", "NOTSET", ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"))
    shape = (node.ints("output_shape") or [])[-n:]
    if not shape and not mode.startswith("SAME"):
        pads = (node.ints("pads") if mode == "NOTSET" else None) or [0] * (2 * n)
        return pads[:n], pads[n:]
    spatial = static(dims, "a ConvTranspose that pads to a size")
    shape = shape or [s * t for s, t in zip(spatial, strides, strict=True)]
    full = [(s - 1) * t + r for s, t, r in zip(spatial, strides, last, strict=True)]
    totals = [f - s for f, s in zip(full, shape, strict=True)]
    low = [max(0, t) // 2 if mode == "SAME_UPPER" else -(-max(0, t) // 2) for t in totals]
    return low, [t - a for t, a in zip(totals, low, strict=True)]


# Integers


def centred(to: OnnxConverter, x: SSAValue, zero: SSAValue | None, axis: int | None = None) -> SSAValue:
    """`x - zero` in si32; `zero` is one number, one for each place along `axis`, or broadcasts."""
    wide = to.cast(x, SI32)
    if zero is None:
        return wide
    zero = to.cast(zero, SI32)
    if to.shape(zero) == (1,):
        zero = to.reshape(zero, ())
    if len(to.shape(zero)) == 1 and axis is not None:
        zero = to.along(zero, axis, len(to.shape(x)))
    return to.minus(wide, zero)


def _matmul_integer(to: OnnxConverter, node: Node) -> SSAValue:
    x, y = node.x(0), node.x(1)
    of_x, of_y = len(to.shape(x)), len(to.shape(y))
    return matmul(to, centred(to, x, node.optional(2), of_x - 2), centred(to, y, node.optional(3), of_y - 1))


def _conv_integer(to: OnnxConverter, node: Node) -> SSAValue:
    x, w = node.x(0), node.x(1)
    window = window_of(node, *_operands(to, node, x, w))
    return convolution(to, centred(to, x, node.optional(2)), centred(to, w, node.optional(3), 0), window, node.int("group", 1))


def _rescaled(to: OnnxConverter, total: SSAValue, scale: SSAValue, zero: SSAValue, dtype: PtirDType) -> SSAValue:
    """`saturate(round(total * scale) + zero)`, with rounding to even, in the dtype of the scale."""
    number = to.times(to.cast(total, to.dtype(scale)), scale)
    if dtype.is_float:
        return to.cast(number, dtype)
    rounded = to.emit(ptir.RoundOp, to.cast(number, F32 if to.dtype(number).bits < 32 else to.dtype(number)))
    return to.cast(to.plus(rounded, to.cast(zero, to.dtype(rounded))), dtype)


def scalar(to: OnnxConverter, x: SSAValue) -> SSAValue:
    """One element, of rank 0 or 1, as one of rank 0; another value is itself."""
    return to.reshape(x, ()) if to.shape(x) == (1,) else x


def _qlinear_matmul(to: OnnxConverter, node: Node) -> SSAValue:
    x, x_scale, x_zero, y, y_scale, y_zero, scale, zero = (node.x(i) for i in range(8))
    if to.dtype(x).is_float:
        raise Refused("quantized products of floats", "dequantize the operands")
    total = matmul(to, centred(to, x, x_zero, len(to.shape(x)) - 2), centred(to, y, y_zero, len(to.shape(y)) - 1))
    factor = to.over(to.times(_rows(to, x_scale), scalar(to, y_scale)), scalar(to, scale))
    return _rescaled(to, total, factor, scalar(to, zero), to.dtype(zero))


def _rows(to: OnnxConverter, scale: SSAValue) -> SSAValue:
    """A scale of each row as a column."""
    scale = scalar(to, scale)
    return to.reshape(scale, (*to.shape(scale), 1)) if len(to.shape(scale)) == 1 else scale


def qlinear_conv(to: OnnxConverter, node: Node, x: SSAValue) -> SSAValue:
    """A convolution of integers with scales, of an image that is given."""
    x_scale, x_zero, w, w_scale, w_zero, scale, zero = (node.x(i) for i in range(1, 8))
    window = window_of(node, *_operands(to, node, x, w))
    total = convolution(to, centred(to, x, x_zero), centred(to, w, w_zero, 0), window, node.int("group", 1))
    total = _with_bias(to, total, node.optional(8))
    factor = to.over(to.times(scalar(to, x_scale), scalar(to, w_scale)), scalar(to, scale))
    if len(to.shape(factor)) == 1:
        factor = to.along(factor, 1, len(to.shape(total)))
    return _rescaled(to, total, factor, scalar(to, zero), to.dtype(zero))


# Quantization


def _spread(to: OnnxConverter, p: SSAValue, x: SSAValue, axis: int, block: int) -> SSAValue:
    """A parameter of blocks along `axis`, repeated to the shape of `x`."""
    shape, given = static(to.shape(x), "blocks"), static(to.shape(p), "blocks")
    if len(given) != len(shape) or block < 1 or given[axis] * block < shape[axis]:
        message = f"blocks of {brief(block)} along axis {axis} of {list(shape)}, and scales of shape {list(given)}"
        raise error("E8002", message, attribute="block_size", value=block)
    wide = to.reshape(p, (*given[: axis + 1], 1, *given[axis + 1 :]))
    repeated: Dims = (*given[: axis + 1], block, *given[axis + 1 :])
    flat = (*given[:axis], given[axis] * block, *given[axis + 1 :])
    return to.part(to.reshape(to.broadcast(wide, repeated), flat), axis, 0, shape[axis])


def _parameters(to: OnnxConverter, node: Node, x: SSAValue, zero: SSAValue | None) -> tuple[int, list[SSAValue | None]]:
    """The axis of scales, and scale and zero point as they broadcast with `x`."""
    scale = node.x(1)
    rank = len(to.shape(x))
    axis = node.int("axis", 1)
    block = node.int("block_size")
    given: list[SSAValue | None] = [scale, zero]
    if block:
        axis = node.axis("axis", 1, x)
        return axis, [None if p is None else _spread(to, p, x, axis, block) for p in given]
    if to.shape(scale) in ((), (1,)):
        return 0, [None if p is None else to.reshape(p, ()) for p in given]
    axis = node.axis("axis", 1, x)
    return axis, [None if p is None else to.along(p, axis, rank) for p in given]


def quantize(to: OnnxConverter, node: Node) -> SSAValue:
    """`saturate(round(x / scale) + zero)`; floats of 8 bits are not rounded to whole numbers."""
    x, zero = node.x(), node.optional(2)
    dtype = to.dtype(zero) if zero is not None else node.dtype("output_dtype", DTYPES["ui8"])
    _, (scale, zero) = _parameters(to, node, x, zero)
    assert scale is not None
    precision = node.dtype("precision", to.dtype(scale))
    number = to.over(to.cast(x, precision), to.cast(scale, precision))
    if dtype.is_float:
        most = 448.0 if dtype.name == "fp8_e4m3" else 57344.0
        near = to.emit(ptir.ClampOp, number, to.like(-most, number), to.like(most, number)) if node.int("saturate", 1) else number
        return to.cast(near, dtype)
    rounded = to.emit(ptir.RoundOp, to.cast(number, F32) if precision.bits < 32 else number)
    return to.cast(rounded if zero is None else to.plus(rounded, to.cast(zero, to.dtype(rounded))), dtype)


def dequantize(to: OnnxConverter, node: Node) -> SSAValue:
    """`(x - zero) * scale`, by the quantized op where it has the form."""
    x, zero = node.x(), node.optional(2)
    found = node.dtype("output_dtype", to.dtype(node.x(1)))
    axis, (scale, zero) = _parameters(to, node, x, zero)
    assert scale is not None
    if to.dtype(x).is_float:
        return to.cast(to.times(to.cast(x, to.dtype(scale)), scale), found)
    if not node.int("block_size"):
        per_axis = to.shape(scale) != ()
        plain = [to.reshape(p, (math.prod(static(to.shape(p))),) if per_axis else ()) for p in (scale, zero) if p is not None]
        if zero is None:
            plain.append(to.fill(0, to.dtype(x), to.shape(plain[0])))
        properties: dict[str, Any] = {"axis": axis} if per_axis else {}
        return to.cast(to.add(ptir.DequantizeOp(x, *plain, **properties)).results[0], found)
    return to.cast(to.times(to.cast(centred(to, x, zero), to.dtype(scale)), scale), found)


PRODUCTS: dict[str, OnnxRow | Refused] = {
    "Conv": conv,
    "ConvInteger": _conv_integer,
    "ConvTranspose": _conv_transpose,
    "DequantizeLinear": dequantize,
    "Det": _det,
    "Gemm": gemm,
    "MatMul": _matmul,
    "MatMulInteger": _matmul_integer,
    "QLinearConv": lambda to, node: qlinear_conv(to, node, node.x()),
    "QLinearMatMul": _qlinear_matmul,
    "QuantizeLinear": quantize,
}
