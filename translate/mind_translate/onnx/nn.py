"""Rows of pools and normalizations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.errors import error
from mind_dialect.ptir.types import F32, SI64
from mind_dialect.ptir_shapes import Dims

from ..unsupported import Refused
from .converter import OnnxConverter, OnnxRow, Values
from .emitter import static
from .extents import Array
from .node import Node
from .windows import Window, window_of


def pooled(to: OnnxConverter, x: SSAValue, kind: str, window: Window) -> SSAValue:
    """A reduction of windows of the spatial dimensions."""
    return to.emit(ptir.ReduceWindowOp, x, kind=kind, base_dilation=(1,) * (len(window.size) + 2), **_windows(window))


def _windows(window: Window) -> dict[str, Any]:
    return {
        "window_dims": (1, 1, *window.size),
        "strides": (1, 1, *window.strides),
        "padding": ((0, 0), (0, 0), *window.padding),
        "window_dilation": (1, 1, *window.dilations),
    }


def _pool_window(to: OnnxConverter, node: Node, x: SSAValue) -> Window:
    return window_of(node, to.shape(x)[2:], node.ints("kernel_shape") or [])


def max_pool(to: OnnxConverter, node: Node, x: SSAValue) -> list[SSAValue]:
    """The greatest elements of windows, and their places if they are a result."""
    window = _pool_window(to, node, x)
    found = [pooled(to, x, "max", window)]
    if node.wants(1):
        index = to.emit(ptir.WindowArgOp, x, kind="max", output_dtype=SI64, **_windows(window))
        found.append(_by_columns(to, index, to.shape(x)) if node.int("storage_order") else index)
    return found


def _by_columns(to: OnnxConverter, index: SSAValue, shape: Dims) -> SSAValue:
    """Flat places in row-major order as those in column-major order of the spatial axes; images stay row-major."""
    sizes = static(shape[2:], "indices of MaxPool in column-major order")
    rest, found, stride = index, to.like(0, index), 1
    places: list[SSAValue] = []
    for n in reversed(sizes):
        places.insert(0, to.two(ptir.RemainderOp, rest, n))
        rest = to.over(rest, n)
    for place, n in zip(places, sizes, strict=True):
        found, stride = to.plus(found, to.times(place, stride)), stride * n
    return to.plus(found, to.times(rest, stride))


def average_pool(to: OnnxConverter, node: Node, x: SSAValue) -> SSAValue:
    """Sums over counts: of the elements, and with `count_include_pad` of the pads, but not of what `ceil_mode` adds."""
    window = _pool_window(to, node, x)
    total = pooled(to, x, "sum", window)
    spatial = to.shape(x)[2:]
    if all(isinstance(n, int) for n in spatial):
        counts = _counts(static(spatial), window, pads=bool(node.int("count_include_pad")))
        return to.over(total, to.cast(to.array_constant(counts.astype(np.float32)), to.dtype(x)))
    ones = to.fill(1, to.dtype(x), (1, 1, *to.shape(x)[2:]))
    counted = window
    if node.int("count_include_pad"):
        low, high = [0, 0, *window.low], [0, 0, *window.high]
        ones = to.pad(ones, 1, low, high)
        n = len(window.size)
        counted = Window(window.size, window.strides, window.dilations, [0] * n, [0] * n, window.extra)
    return to.over(total, pooled(to, ones, "sum", counted))


def _counts(sizes: Sequence[int], window: Window, *, pads: bool) -> Array:
    """The number of elements in each window, `[1, 1, places...]`: of the operand, or also of pads that are no part of `extra`."""
    found = np.ones((1, 1, *(1 for _ in sizes)), np.int64)
    for axis, (n, (low, high)) in enumerate(zip(sizes, window.padding, strict=True)):
        size, step, dilation = window.size[axis], window.strides[axis], window.dilations[axis]
        first, last = (-low, n + window.high[axis]) if pads else (0, n)
        starts = np.arange(-low, n + high - window.reach[axis] + 1, step)
        taps = starts[:, None] + dilation * np.arange(size)
        count = ((taps >= first) & (taps < last)).sum(1)
        found = found * count.reshape(-1, *(1,) * (len(sizes) - axis - 1))
    return found


def _powered(to: OnnxConverter, x: SSAValue, p: float) -> SSAValue:
    size = to.emit(ptir.AbsOp, x)
    return size if p == 1 else to.times(x, x) if p == 2 else to.two(ptir.PowOp, size, p)


def _rooted(to: OnnxConverter, x: SSAValue, p: float) -> SSAValue:
    return x if p == 1 else to.emit(ptir.SqrtOp, x) if p == 2 else to.two(ptir.PowOp, x, 1 / p)


def _lp_pool(to: OnnxConverter, node: Node) -> SSAValue:
    x, p = node.x(), _order(node)
    return _rooted(to, pooled(to, _powered(to, x, p), "sum", _pool_window(to, node, x)), p)


def _order(node: Node) -> int:
    """The order of a norm; E8002 below 1."""
    if (p := node.int("p", 2)) < 1:
        raise error("E8002", f"p is {p}, expected 1 or more", attribute="p", value=p)
    return p


def _spatial(to: OnnxConverter, x: SSAValue) -> list[int]:
    return list(range(2, len(to.shape(x))))


def _global_lp_pool(to: OnnxConverter, node: Node) -> SSAValue:
    x, p = node.x(), _order(node)
    return _rooted(to, to.reduced("sum", _powered(to, x, p), _spatial(to, x)), p)


def _lp_normalization(to: OnnxConverter, node: Node) -> SSAValue:
    """Vectors by their norm; those of 0 stay, as the specification has it."""
    x, p = node.x(), _order(node)
    total = to.reduced("sum", _powered(to, x, p), [node.axis("axis", -1, x)])
    is_zero = to.emit(ptir.CompareOp, total, to.like(0, total), kind="equal")
    return to.over(x, _rooted(to, to.select(is_zero, to.like(1, total), total), p))


def _lrn(to: OnnxConverter, node: Node) -> SSAValue:
    """`x / (bias + alpha / size * sum of squares of neighbouring channels) ** beta`."""
    x, size = node.x(), node.int("size", 1)
    rank = len(to.shape(x))
    if size < 1 or rank < 2:
        raise error("E8002", f"size is {size}", attribute="size", value=size)
    low = (size - 1) // 2
    total = to.emit(
        ptir.ReduceWindowOp,
        to.times(x, x),
        kind="sum",
        window_dims=tuple(size if i == 1 else 1 for i in range(rank)),
        strides=(1,) * rank,
        padding=tuple((low, size - 1 - low) if i == 1 else (0, 0) for i in range(rank)),
        base_dilation=(1,) * rank,
        window_dilation=(1,) * rank,
    )
    scale = to.plus(to.times(total, node.float("alpha", 1e-4) / size), node.float("bias", 1.0))
    return to.over(x, to.two(ptir.PowOp, scale, node.float("beta", 0.75)))


# Normalization


def normalized(to: OnnxConverter, x: SSAValue, axes: Sequence[int], epsilon: float) -> tuple[SSAValue, SSAValue, SSAValue]:
    """`(x - mean) / sqrt(variance + epsilon)`, the mean and the inverse deviation."""
    mean = to.mean(x, axes)
    centre = to.minus(x, mean)
    inverse = to.emit(ptir.RsqrtOp, to.plus(to.mean(to.times(centre, centre), axes), epsilon))
    return to.times(centre, inverse), mean, inverse


def _layer_norm(to: OnnxConverter, node: Node) -> Values:
    """In f32 at least, as `stash_type` says."""
    x = node.x()
    axis = node.axis("axis", -1, x)
    dtype = to.dtype(x)
    wide = node.dtype("stash_type", F32) if dtype.bits < 32 else dtype
    y, mean, inverse = normalized(to, to.cast(x, wide), range(axis, len(to.shape(x))), node.float("epsilon", 1e-5))
    found = to.times(to.cast(y, dtype), node.x(1))
    return [found if not node.has(2) else to.plus(found, node.x(2)), mean, inverse]


def _batch_norm(to: OnnxConverter, node: Node) -> Values:
    x, gamma, beta, mean, variance = (node.x(i) for i in range(5))
    rank = len(to.shape(x))
    if rank < 1:
        raise error("E3002", "a scalar, expected rank 1 or more", expected="1 or more", actual=rank)
    channel = min(1, rank - 1)
    running: list[SSAValue] = []
    if node.int("training_mode"):
        axes = [i for i in range(rank) if i != channel]
        held, momentum = (mean, variance), node.float("momentum", 0.9)
        mean = to.mean(x, axes, keepdims=False)
        centre = to.minus(x, to.along(mean, channel, rank))
        variance = to.mean(to.times(centre, centre), axes, keepdims=False)
        running = [
            to.plus(to.times(old, momentum), to.times(new, 1 - momentum)) for old, new in zip(held, (mean, variance), strict=True)
        ]
    inverse = to.emit(ptir.RsqrtOp, to.plus(variance, node.float("epsilon", 1e-5)))
    gain, shift = to.times(inverse, to.cast(gamma, to.dtype(inverse))), to.cast(beta, to.dtype(mean))
    wide = to.cast(x, to.dtype(mean))
    if running:
        wide = to.minus(wide, to.along(mean, channel, rank))
    else:  # both vectors then depend on parameters alone
        shift = to.minus(shift, to.times(mean, gain))
    found = to.plus(to.times(wide, to.along(gain, channel, rank)), to.along(shift, channel, rank))
    return [to.cast(found, to.dtype(x)), *running]


def _instance_norm(to: OnnxConverter, node: Node) -> SSAValue:
    x = node.x()
    y, _, _ = normalized(to, x, _spatial(to, x), node.float("epsilon", 1e-5))
    gain, shift = (to.along(node.x(i), 1, len(to.shape(x))) for i in (1, 2))
    return to.plus(to.times(y, gain), shift)


NN: dict[str, OnnxRow | Refused] = {
    "AveragePool": lambda to, node: average_pool(to, node, node.x()),
    "BatchNormalization": _batch_norm,
    "GlobalAveragePool": lambda to, node: to.mean(node.x(), _spatial(to, node.x())),
    "GlobalLpPool": _global_lp_pool,
    "GlobalMaxPool": lambda to, node: to.reduced("max", node.x(), _spatial(to, node.x())),
    "InstanceNormalization": _instance_norm,
    "LRN": _lrn,
    "LayerNormalization": _layer_norm,
    "LpNormalization": _lp_normalization,
    "LpPool": _lp_pool,
    "MaxPool": lambda to, node: max_pool(to, node, node.x()),
}
