"""
Rows of softmax and of normalisation: layer, group and batch, with the statistics that torch returns alongside.

Narrow floats are normalised in f32 and rounded once, as in torch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir_shapes import Dims

from ..attention import softmax
from ..unsupported import Refused
from .converter import AtenConverter, Call, Results, Row, Table, wide


def _softmax(*, log: bool = False, safe: bool = False) -> Row:
    def row(to: AtenConverter, call: Call, x: SSAValue, dim: int, *_: Any) -> SSAValue:
        if not call.shape:
            return to.number(0.0 if log else 1.0, call.dtype)
        x = to.cast(to.cast(x, call.dtype), wide(call.dtype))
        return to.cast(softmax(to, x, to.axis(x, dim), guarded=safe, log=log), call.dtype)

    return row


def _stated(to: AtenConverter, call: Call, values: Sequence[SSAValue]) -> list[SSAValue | None]:
    """The results in the dtypes and shapes that the call states."""
    found: list[SSAValue | None] = []
    for value, spec in zip(values, call.results, strict=False):
        found.append(None if spec is None else to.shaped(to.cast(value, spec.dtype), spec.shape))
    return found


def _moments(
    to: AtenConverter, x: SSAValue, axes: Sequence[int], epsilon: float
) -> tuple[SSAValue, SSAValue, SSAValue, SSAValue]:
    """Emit `x` less its mean, the mean, the biased variance, and the reciprocal deviation."""
    mean = to.mean(x, axes, keep=True)
    centred = to.math(ptir.SubOp, x, mean)
    variance = to.mean(to.emit(ptir.MulOp, centred, centred), axes, keep=True)
    return centred, mean, variance, to.emit(ptir.RsqrtOp, to.math(ptir.AddOp, variance, epsilon))


def _affine(to: AtenConverter, x: SSAValue, weight: SSAValue | None, bias: SSAValue | None, axes: Sequence[int]) -> SSAValue:
    """`x weight + bias`, whose dimensions are those of `x` at `axes`."""
    for op_type, factor in ((ptir.MulOp, weight), (ptir.AddOp, bias)):
        if factor is not None:
            x = to.emit(op_type, x, to.place(to.cast(factor, to.dtype(x)), axes, to.shape(x)))
    return x


def _layer_norm(
    to: AtenConverter,
    call: Call,
    x: SSAValue,
    dims: Sequence[int],
    weight: SSAValue | None,
    bias: SSAValue | None,
    epsilon: float,
) -> Results:
    x = to.cast(x, wide(call.dtype))
    rank = len(to.shape(x))
    axes = list(range(rank - len(dims), rank))
    centred, mean, _, scale = _moments(to, x, axes, epsilon)
    found = _affine(to, to.math(ptir.MulOp, centred, scale), weight, bias, axes)
    return _stated(to, call, [found, mean, scale])


def _group_norm(
    to: AtenConverter,
    call: Call,
    x: SSAValue,
    weight: SSAValue | None,
    bias: SSAValue | None,
    batch: int,
    channels: int,
    count: int,
    groups: int,
    epsilon: float,
) -> Results:
    shape = to.shape(x)
    x = to.reshape(to.cast(x, wide(call.dtype)), (batch, groups, channels // groups * count))
    centred, mean, _, scale = _moments(to, x, [2], epsilon)
    found = to.reshape(to.math(ptir.MulOp, centred, scale), shape)
    return _stated(to, call, [_affine(to, found, weight, bias, [1]), mean, scale])


def _batch_norm_by(
    to: AtenConverter,
    call: Call,
    x: SSAValue,
    weight: SSAValue | None,
    bias: SSAValue | None,
    mean: SSAValue,
    variance: SSAValue,
    momentum: float,
    epsilon: float,
) -> list[SSAValue | None]:
    """
    By running statistics: `x factor + offset`, both of which depend on parameters alone, as in torch.

    The second and third result are empty.
    """
    x = to.cast(x, wide(call.dtype))
    mean, variance = (to.cast(v, to.dtype(x)) for v in (mean, variance))
    factor = to.emit(ptir.RsqrtOp, to.math(ptir.AddOp, variance, epsilon))
    if weight is not None:
        factor = to.emit(ptir.MulOp, factor, to.cast(weight, to.dtype(x)))
    offset = to.emit(ptir.MulOp, mean, factor)
    offset = to.emit(ptir.NegOp, offset) if bias is None else to.emit(ptir.SubOp, to.cast(bias, to.dtype(x)), offset)
    found = to.cast(_affine(to, x, factor, offset, [1]), call.dtype)
    return [found, *(None if spec is None else to.number(0, *spec) for spec in call.results[1:])]


def _batch_statistics(to: AtenConverter, x: SSAValue, epsilon: float) -> tuple[SSAValue, SSAValue, SSAValue, SSAValue, int]:
    """Emit the normalised value, and the mean, variance and reciprocal deviation of each channel; count their elements too."""
    axes = [0, *range(2, len(to.shape(x)))]
    centred, mean, variance, scale = _moments(to, x, axes, epsilon)
    channels: Dims = to.shape(x)[1:2]
    found = to.math(ptir.MulOp, centred, scale)
    mean, variance, scale = (to.reshape(v, channels) for v in (mean, variance, scale))
    return found, mean, variance, scale, math.prod(to.sizes(x, axes))


def _batch_norm_without(
    to: AtenConverter, call: Call, x: SSAValue, weight: Any, bias: Any, training: bool, momentum: float, epsilon: float
) -> Results:
    """By the statistics of the batch, which no running ones accompany."""
    x = to.cast(x, wide(call.dtype))
    found, mean, _, scale, _ = _batch_statistics(to, x, epsilon)
    return _stated(to, call, [_affine(to, found, weight, bias, [1]), mean, scale])


def _batch_norm(
    to: AtenConverter,
    call: Call,
    x: SSAValue,
    weight: SSAValue | None,
    bias: SSAValue | None,
    mean: SSAValue,
    variance: SSAValue,
    training: bool,
    momentum: float,
    epsilon: float,
) -> Sequence[SSAValue | None]:
    """By the statistics of the batch, with new running ones: the unbiased variance, by `momentum`."""
    if not training:
        return [*_batch_norm_by(to, call, x, weight, bias, mean, variance, momentum, epsilon)[:3], mean, variance]
    x = to.cast(x, wide(call.dtype))
    found, batch_mean, batch_variance, scale, count = _batch_statistics(to, x, epsilon)
    unbiased = to.scaled(batch_variance, count / max(1, count - 1))
    running = [
        to.emit(ptir.AddOp, to.scaled(old, 1 - momentum), to.scaled(to.cast(new, to.dtype(old)), momentum))
        for old, new in ((mean, batch_mean), (variance, unbiased))
    ]
    return _stated(to, call, [_affine(to, found, weight, bias, [1]), batch_mean, scale, *running])


def _batch_norm_with_update(
    to: AtenConverter,
    call: Call,
    x: SSAValue,
    weight: Any,
    bias: Any,
    mean: SSAValue,
    variance: SSAValue,
    momentum: float,
    epsilon: float,
) -> Results:
    """The functional form in training, with an empty result before the running statistics: room of other devices."""
    *first, reserve, new_mean, new_variance = call.results
    inner = Call(call.name, (*first, new_mean, new_variance))
    found = _batch_norm(to, inner, x, weight, bias, mean, variance, True, momentum, epsilon)
    return [*found[:3], None if reserve is None else to.number(0, *reserve), *found[3:]]


NORMALIZATION: Table = {
    "_batch_norm_with_update_functional.default": _batch_norm_with_update,
    "_log_softmax.default": _softmax(log=True),
    "_native_batch_norm_legit.default": Refused(
        "running statistics that are updated in place", "functional graphs of torch.export hold the functional form"
    ),
    "_native_batch_norm_legit.no_stats": _batch_norm_without,
    "_native_batch_norm_legit_functional.default": _batch_norm,
    "_native_batch_norm_legit_no_training.default": _batch_norm_by,
    "_safe_softmax.default": _softmax(safe=True),
    "_softmax.default": _softmax(),
    "native_group_norm.default": _group_norm,
    "native_layer_norm.default": _layer_norm,
}
