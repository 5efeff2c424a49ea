"""
Rows of quantized operators of ONNX Runtime: integers that stand for `(x - zero) * scale`.

Products are exact sums of integers. Others dequantize their operands, compute in floats, and quantize the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.errors import error
from mind_dialect.ptir.types import F32, SI32, UI8

from ..unsupported import Refused
from .contrib_checks import stated
from .converter import OnnxConverter, OnnxRow, Values
from .elementwise import negative_part
from .nn import average_pool, max_pool
from .node import Node, axis_of
from .products import centred, dequantize, dot, matmul, qlinear_conv, quantize, scalar
from .reductions import softmax

Compute = Callable[[OnnxConverter, Node, Sequence[SSAValue]], SSAValue]
Triple = tuple[int, int, int]
"""The operands that are a tensor, its scale and its zero point."""


def dequantized(to: OnnxConverter, node: Node, at: Triple) -> SSAValue:
    """`(x - zero) * scale` in the dtype of the scale, of one scale."""
    x, scale, zero = node.x(at[0]), scalar(to, node.x(at[1])), node.optional(at[2])
    return to.times(to.cast(centred(to, x, zero), to.dtype(scale)), scale)


def quantized(to: OnnxConverter, x: SSAValue, scale: SSAValue, zero: SSAValue) -> SSAValue:
    """`saturate(round(x / scale) + zero)` in the dtype of the zero point, with rounding to even."""
    rounded = to.emit(ptir.RoundOp, to.over(x, scalar(to, scale)))
    return to.cast(to.plus(rounded, to.cast(scalar(to, zero), to.dtype(rounded))), to.dtype(zero))


def _zero(to: OnnxConverter, node: Node, i: int) -> SSAValue:
    """The zero point of the result, 0 in the dtype of the first operand where it is not given."""
    return node.x(i) if node.has(i) else to.fill(0, to.dtype(node.x(0)))


def _through_floats(operands: Sequence[Triple], result: tuple[int, int], compute: Compute) -> OnnxRow:
    """A row that computes of dequantized operands; `result` are the operands that are its scale and zero point."""

    def row(to: OnnxConverter, node: Node) -> SSAValue:
        found = compute(to, node, [dequantized(to, node, at) for at in operands])
        return quantized(to, found, node.x(result[0]), _zero(to, node, result[1]))

    return row


def _leaky_relu(to: OnnxConverter, node: Node, xs: Sequence[SSAValue]) -> SSAValue:
    return negative_part(to, xs[0], to.times(xs[0], node.float("alpha", 0.01)))


def _softmax(to: OnnxConverter, node: Node, xs: Sequence[SSAValue]) -> SSAValue:
    (x,) = xs
    axis, shape = node.axis("axis", -1, x), to.shape(x)
    if node.int("opset", 13) < 13 and any(n != 1 for n in shape[axis + 1 :]):
        raise Refused("a softmax over several axes", "reshape the operand, so that it is over the last one")
    _, powers, total = softmax(to, x, axis)
    return to.over(powers, total)


def _channels_last(to: OnnxConverter, x: SSAValue, compute: Callable[[SSAValue], SSAValue], *, last: int = 1) -> SSAValue:
    """Results for images that have channels last, if `last`, of a function of images that have them second."""
    if not last:
        return compute(x)
    n = len(to.shape(x))
    found = compute(to.transpose(x, [0, n - 1, *range(1, n - 1)]))
    return to.transpose(found, [0, *range(2, n), 1])


def _average_pool(to: OnnxConverter, node: Node, xs: Sequence[SSAValue]) -> SSAValue:
    return _channels_last(to, xs[0], lambda x: average_pool(to, node, x), last=node.int("channels_last"))


def _global_average_pool(to: OnnxConverter, node: Node, xs: Sequence[SSAValue]) -> SSAValue:
    return _channels_last(to, xs[0], lambda x: to.mean(x, list(range(2, len(to.shape(x))))), last=node.int("channels_last"))


def _where(to: OnnxConverter, node: Node) -> SSAValue:
    x, y = (dequantized(to, node, at) for at in ((1, 2, 3), (4, 5, 6)))
    return quantized(to, to.chosen(node.x(0), x, y), node.x(7), node.x(8))


def _concat(to: OnnxConverter, node: Node) -> SSAValue:
    count, rest = divmod(len(node.operands) - 2, 3)
    if rest:
        raise error("E2007", f"has {rest} operands too many, expected a scale and a zero point of each", expected=3, actual=rest)
    xs = [dequantized(to, node, (i, i + 1, i + 2)) for i in range(2, 2 + 3 * count, 3)]
    return quantized(to, to.concat(xs, axis_of(node.int("axis"), len(to.shape(xs[0])))), node.x(0), node.x(1))


# Products


def _to_floats(to: OnnxConverter, node: Node, a: Triple, b: Triple, bias: int) -> SSAValue:
    """`(a - a_zero) (b - b_zero) * scales + bias`; those of `b` may be one for each column."""
    x, y = node.x(a[0]), node.x(b[0])
    total = matmul(to, centred(to, x, node.optional(a[2])), centred(to, y, node.optional(b[2]), len(to.shape(y)) - 1))
    scale = to.times(scalar(to, node.x(a[1])), scalar(to, node.x(b[1])))
    found = to.times(to.cast(total, to.dtype(scale)), scale)
    return to.plus(found, node.x(bias)) if node.has(bias) else found


def _dynamic_matmul(to: OnnxConverter, node: Node) -> SSAValue:
    """A product with an operand that is quantized in the run, by its least and greatest elements and 0."""
    x, y = node.x(), node.x(1)
    axes = list(range(len(to.shape(x))))
    low, high = (
        to.two(op, to.reduced(kind, x, axes, keepdims=False), 0.0)
        for op, kind in ((ptir.MinimumOp, "min"), (ptir.MaximumOp, "max"))
    )
    span = to.over(to.minus(high, low), 255.0)
    scale = to.select(to.compare("equal", span, 0.0), to.like(1.0, span), span)
    zero = to.cast(to.emit(ptir.RoundOp, to.over(to.minus(0.0, low), scale)), UI8)
    total = matmul(to, centred(to, quantized(to, x, scale, zero), zero), centred(to, y, node.optional(3), len(to.shape(y)) - 1))
    found = to.times(to.cast(total, F32), to.times(scale, scalar(to, node.x(2))))
    return to.plus(found, node.x(4)) if node.has(4) else found


def _gemm(to: OnnxConverter, node: Node) -> SSAValue:
    """A product of matrices with an integer C of its scale; floats where no scale of the result is given."""
    x, y = node.ranked(0, 2), node.ranked(3, 2)
    columns = 0 if node.int("transB") else 1
    total = dot(
        to, centred(to, x, node.optional(2)), centred(to, y, node.optional(5), columns),
        [], [], [0 if node.int("transA") else 1], [1 - columns],
    )  # fmt: skip
    if node.has(6):
        total = to.plus(total, to.cast(node.x(6), SI32))
    scale = to.times(to.times(scalar(to, node.x(1)), scalar(to, node.x(4))), node.float("alpha", 1.0))
    found = to.times(to.cast(total, to.dtype(scale)), scale)
    return quantized(to, found, node.x(7), node.x(8)) if node.has(7) and node.has(8) else found


def _conv(to: OnnxConverter, node: Node) -> SSAValue:
    return _channels_last(to, node.x(0), lambda x: qlinear_conv(to, node, x), last=node.int("channels_last"))


def _nhwc_max_pool(to: OnnxConverter, node: Node) -> SSAValue:
    return _channels_last(to, node.x(), lambda x: max_pool(to, node, x)[0])


_POOL = "auto_pad ceil_mode dilations kernel_shape pads strides"
_ONE, _TWO = [(0, 1, 2)], [(0, 1, 2), (3, 4, 5)]
_SUM: Compute = lambda to, node, xs: to.plus(xs[0], xs[1])  # noqa: E731
_PRODUCT: Compute = lambda to, node, xs: to.times(xs[0], xs[1])  # noqa: E731
_SIGMOID: Compute = lambda to, node, xs: to.emit(ptir.LogisticOp, xs[0])  # noqa: E731


def _float_product(to: OnnxConverter, node: Node) -> SSAValue | Values:
    return _to_floats(to, node, (0, 2, 4), (1, 3, 5), 6)


_ROWS: dict[str, OnnxRow] = {
    "DequantizeLinear": stated(2, 3, "axis", dequantize),
    "DynamicQuantizeMatMul": stated(3, 5, "", _dynamic_matmul),
    "MatMulIntegerToFloat": stated(4, 7, "", _float_product),
    "NhwcMaxPool": stated(1, 1, _POOL, _nhwc_max_pool),
    "QGemm": stated(6, 9, "alpha transA transB", _gemm),
    "QLinearAdd": stated(7, 8, "", _through_floats(_TWO, (6, 7), _SUM), optional=(2, 5)),
    "QLinearAveragePool": stated(
        4, 5, f"{_POOL} channels_last count_include_pad", _through_floats(_ONE, (3, 4), _average_pool), optional=(2,)
    ),
    "QLinearConcat": stated(5, 1 << 16, "axis", _concat),
    "QLinearConv": stated(8, 9, "auto_pad channels_last dilations group kernel_shape pads strides", _conv),
    "QLinearGlobalAveragePool": stated(5, 5, "channels_last", _through_floats(_ONE, (3, 4), _global_average_pool)),
    "QLinearLeakyRelu": stated(4, 5, "alpha", _through_floats(_ONE, (3, 4), _leaky_relu), optional=(2,)),
    "QLinearMul": stated(7, 8, "", _through_floats(_TWO, (6, 7), _PRODUCT), optional=(2, 5)),
    "QLinearSigmoid": stated(4, 5, "", _through_floats(_ONE, (3, 4), _SIGMOID), optional=(2,)),
    "QLinearSoftmax": stated(5, 5, "axis opset", _through_floats(_ONE, (3, 4), _softmax), optional=(2,)),
    "QLinearWhere": stated(9, 9, "", _where),
    "QuantizeLinear": stated(2, 3, "axis", quantize),
}
QUANTIZED: dict[str, OnnxRow] = {f"com.microsoft.{name}": row for name, row in _ROWS.items()}
"""By name, with the domain."""
