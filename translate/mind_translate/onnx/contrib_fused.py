"""
Rows of operators that ONNX Runtime puts into the models that it optimizes: several operators of ONNX in one.

They are those of its domain `com.microsoft`, and one of the default domain that ONNX does not define. Their definitions:
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.errors import brief, error
from mind_dialect.ptir.types import F32, SI32

from .. import linear_algebra as linalg
from ..unsupported import Refused
from .contrib_checks import stated
from .converter import OnnxConverter, OnnxRow, Values
from .elementwise import gelu, hard_sigmoid, negative_part, relu
from .nn import normalized
from .node import Node
from .products import conv, gemm, matmul, square
from .sampling import grid_sample
from .structural import trilu

# Activations


def _biased(to: OnnxConverter, node: Node) -> SSAValue:
    x, bias = node.x(), node.optional(1)
    return x if bias is None else to.plus(x, bias)


def _quick_gelu(to: OnnxConverter, node: Node) -> SSAValue:
    x = node.x()
    return to.times(x, to.emit(ptir.LogisticOp, to.times(x, node.float("alpha", 1.702))))


Activation = Callable[[OnnxConverter, SSAValue, Sequence[float]], SSAValue]
ACTIVATIONS: dict[str, tuple[tuple[float, ...], Activation]] = {
    "": ((), lambda to, x, _: x),
    "Clip": ((-math.inf, math.inf), lambda to, x, p: to.two(ptir.MinimumOp, to.two(ptir.MaximumOp, x, p[0]), p[1])),
    "HardSigmoid": ((0.2, 0.5), lambda to, x, p: hard_sigmoid(to, x, p[0], p[1])),
    "LeakyRelu": ((0.01,), lambda to, x, p: negative_part(to, x, to.times(x, p[0]))),
    "Relu": ((), lambda to, x, _: relu(to, x)),
    "Sigmoid": ((), lambda to, x, _: to.emit(ptir.LogisticOp, x)),
    "Tanh": ((), lambda to, x, _: to.emit(ptir.TanhOp, x)),
}
"""Functions that may follow a product, by name: default parameters, and the arithmetic."""


def _activated(to: OnnxConverter, node: Node, x: SSAValue, given: Sequence[float]) -> SSAValue:
    """Return the activation that a node names, of a product. Raises `Refused` for another one."""
    name = node.word("activation")
    if name not in ACTIVATIONS:
        raise Refused(f"the activation {brief(name)}", f"use one of {', '.join(filter(None, ACTIVATIONS))}")
    defaults, function = ACTIVATIONS[name]
    return function(to, x, [*given[: len(defaults)], *defaults[len(given) :]])


# Products


def _fused_matmul(to: OnnxConverter, node: Node) -> SSAValue:
    operands: list[SSAValue] = []
    for i, name in enumerate(("transA", "transB")):
        x = node.x(i)
        rank = len(to.shape(x))
        if node.int(f"transBatch{'AB'[i]}") and rank > 2:  # the rows are the first axis, before the batch
            x = to.transpose(x, [*range(1, rank - 1), 0, rank - 1])
        operands.append(to.transpose(x, [*range(rank - 2), rank - 1, rank - 2]) if node.int(name) and rank > 1 else x)
    found, alpha = matmul(to, *operands), node.float("alpha", 1.0)
    return found if alpha == 1 else to.times(found, alpha)


def _fused_gemm(to: OnnxConverter, node: Node) -> SSAValue:
    names = [f"activation_{name}" for name in ("alpha", "beta") if f"activation_{name}" in node.attributes]
    return _activated(to, node, gemm(to, node), [node.float(name, 0.0) for name in names])


def _fused_conv(to: OnnxConverter, node: Node) -> SSAValue:
    found = conv(to, node)
    if node.has(3):
        found = to.plus(found, node.x(3))
    return _activated(to, node, found, node.floats("activation_params") or [])


# Normalizations


def _scaled(to: OnnxConverter, x: SSAValue, gamma: SSAValue, epsilon: float, *, centres: bool) -> Values:
    """The rows of `x` normalized in f32 at least, then scaled; the means, if `centres`, and the inverse deviations."""
    dtype, last = to.dtype(x), [len(to.shape(x)) - 1]
    wide = to.cast(x, F32) if dtype.bits < 32 else x
    statistics: list[SSAValue] = []
    if centres:
        y, *statistics = normalized(to, wide, last, epsilon)
    else:
        statistics.append(to.emit(ptir.RsqrtOp, to.plus(to.mean(to.times(wide, wide), last), epsilon)))
        y = to.times(wide, statistics[0])
    return [to.times(to.cast(y, dtype), gamma), *statistics]


def _simplified(to: OnnxConverter, node: Node) -> Values:
    x = node.x()
    if node.axis("axis", -1, x) != len(to.shape(x)) - 1:
        raise Refused("a norm over several axes", "reshape the operand, so that it is over the last one")
    return _scaled(to, x, node.x(1), node.float("epsilon", 1e-5), centres=False)


def _skip_norm(to: OnnxConverter, node: Node, *, centres: bool) -> Values:
    """The norm of a sum of operands, and as last result the sum."""
    total, beta = to.plus(node.x(0), node.x(1)), node.optional(3) if centres else None
    if (bias := node.optional(4 if centres else 3)) is not None:
        total = to.plus(total, bias)
    y, *statistics = _scaled(to, total, node.x(2), node.float("epsilon", 1e-12), centres=centres)
    found = y if beta is None else to.plus(y, beta)
    mean = statistics[0] if centres else None
    if node.wants(1) and mean is None:
        raise Refused("the mean of a norm that has none", "leave out the result")
    return [found, mean, statistics[-1], total]


def _embed_norm(to: OnnxConverter, node: Node) -> Values:
    """The norm of summed embeddings of words, places and segments; how many keys of a mask count; the sum."""
    words = to.index(node.ranked(0, 2))
    batch, length = to.shape(words)
    total = to.emit(ptir.TakeOp, node.ranked(2, 2), words)
    places = to.index(node.x(8)) if node.has(8) else to.reshape(to.counted(length), (1, length))
    total = to.plus(total, to.emit(ptir.TakeOp, node.ranked(3, 2), places))
    if node.has(1) and node.has(4):
        total = to.plus(total, to.emit(ptir.TakeOp, node.ranked(4, 2), to.index(node.x(1))))
    y, *_ = _scaled(to, total, node.x(5), node.float("epsilon", 1e-12), centres=True)
    count: SSAValue | None = None
    if node.wants(1):
        is_key = to.cast(to.compare("equal", node.x(7), 1), SI32) if node.has(7) else to.fill(0, SI32, (batch, 1))
        count = to.reduced("sum", is_key, [1], keepdims=False)
    return [to.plus(y, node.x(6)), count, total]


def _inverse(to: OnnxConverter, node: Node) -> SSAValue:
    x = square(to, node.x())
    (found,) = linalg.call(to, "inv", [x], [to.spec(x)])
    return found


def _distances(to: OnnxConverter, node: Node) -> SSAValue:
    """The distances between all rows of two matrices, or their squares, from differences."""
    x, y = node.ranked(0, 2), node.ranked(1, 2)
    metric = node.word("metric", "sqeuclidean", ("sqeuclidean", "euclidean"))
    (n, k), (m, width) = to.shape(x), to.shape(y)
    if k != width:
        raise error("E3003", f"rows of {k} and of {width} numbers", dimension="columns", extents=(k, width))
    apart = to.minus(to.reshape(x, (n, 1, k)), to.reshape(y, (1, m, k)))
    found = to.reduced("sum", to.times(apart, apart), [2], keepdims=False)
    return found if metric == "sqeuclidean" else to.emit(ptir.SqrtOp, found)


_CONV = "auto_pad dilations group kernel_shape pads strides"
FUSED: dict[str, OnnxRow] = {
    "SimplifiedLayerNormalization": stated(2, 2, "axis epsilon stash_type", _simplified),
    "com.microsoft.BiasGelu": stated(2, 2, "", lambda to, node: gelu(to, _biased(to, node), is_exact=True)),
    "com.microsoft.CDist": stated(2, 2, "metric", _distances),
    "com.microsoft.EmbedLayerNormalization": stated(7, 9, "epsilon mask_index_type", _embed_norm, optional=(1, 4)),
    "com.microsoft.FastGelu": stated(1, 2, "", lambda to, node: gelu(to, _biased(to, node), is_exact=False)),
    "com.microsoft.FusedConv": stated(2, 4, f"{_CONV} activation activation_params", _fused_conv),
    "com.microsoft.FusedGemm": stated(
        2, 3, "alpha beta transA transB activation activation_alpha activation_beta activation_gamma", _fused_gemm
    ),
    "com.microsoft.FusedMatMul": stated(2, 2, "alpha transA transB transBatchA transBatchB", _fused_matmul),
    "com.microsoft.Gelu": stated(1, 1, "", lambda to, node: gelu(to, node.x(), is_exact=True)),
    "com.microsoft.GridSample": stated(2, 2, "align_corners mode padding_mode", grid_sample),
    "com.microsoft.Inverse": stated(1, 1, "", _inverse),
    "com.microsoft.QuickGelu": stated(1, 1, "alpha", _quick_gelu),
    "com.microsoft.SkipLayerNormalization": stated(3, 5, "epsilon", lambda to, node: _skip_norm(to, node, centres=True)),
    "com.microsoft.SkipSimplifiedLayerNormalization": stated(
        3, 4, "epsilon", lambda to, node: _skip_norm(to, node, centres=False)
    ),
    "com.microsoft.TransposeMatMul": stated(2, 2, "alpha transA transB", _fused_matmul),
    "com.microsoft.Trilu": stated(1, 2, "upper", trilu),
}
"""By name, with the domain unless it is that of ONNX."""
