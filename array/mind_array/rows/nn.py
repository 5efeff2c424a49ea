"""Functions of neural networks, in the form that the pass `mind-ptir-recognize` finds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mind_dialect import ptir

from ..array import Array
from ..dtypes import as_dtype, bool_, float32, int64, ptir_dtype
from ..emit import check_memory, constant, emit
from ..faults import fault
from ..kinds import is_sequence
from ..operands import array_of, axes_of, axis_of, broadcast, cast, one, promoted
from ..table import PIECEWISE, SMOOTH, row
from . import elementwise as e
from .contraction import dot_general
from .creation import iota
from .creation import one_hot as _one_hot
from .indexing import index_array
from .manipulation import expand_dims, reshaped
from .mathematics import erf
from .parts import isfinite, select
from .reductions import count_of, reduced
from .trigonometry import tanh

MASKED = -1e9
"""Addend to the score of a key that a query must not see: finite, so that a row of nothing else stays a number."""


def stop_gradient(x: Any, /) -> Array:
    """Return `x`, which derivatives take for a constant."""
    return emit(ptir.StopGradientOp, array_of(x, "stop_gradient"))


row(standard=False)(stop_gradient)


def straight_through(value: Any, x: Any, /) -> Array:
    """
    Return `value`, whose derivative is taken to be that of `x`: for rounding, quantisation and thresholds.

    Both are real floats of one shape; `ma.nn.straight_through(ma.round(x), x)` rounds, and lets gradients pass. Where `x` is not
    finite the derivative stops.
    """
    (result, moving), dtype = promoted("straight_through", "float", *(array_of(v, "straight_through") for v in (value, x)))
    if result.shape != moving.shape:
        message = f"straight_through: shapes {list(result.shape)} and {list(moving.shape)}, expected equal ones"
        raise fault("E1110", message, argument="x", value=str(moving.shape))
    moving = select(isfinite(moving), moving, constant(0.0, dtype, moving.shape))
    return e.add(stop_gradient(result), e.subtract(moving, stop_gradient(moving)))


row(module="nn", standard=False, category="float", arrays=2)(straight_through)


@row(module="nn", standard=False, category="real", derivative=PIECEWISE)
def relu(x: Any, /) -> Array:
    """Return the greater of `x` and 0."""
    return e.maximum(one("relu", "real", x), 0)


@row(module="nn", standard=False, category="float", derivative=SMOOTH)
def sigmoid(x: Any, /) -> Array:
    """Return `1 / (1 + exp(-x))`, without overflow."""
    return emit(ptir.LogisticOp, one("sigmoid", "float", x))


@row(module="nn", standard=False, category="float", derivative=SMOOTH)
def silu(x: Any, /) -> Array:
    """Return `x * sigmoid(x)`."""
    array = one("silu", "float", x)
    return e.multiply(array, sigmoid(array))


@row(module="nn", standard=False, category="float", derivative=SMOOTH)
def softplus(x: Any, /) -> Array:
    """Return `log(1 + exp(x))` without overflow."""
    from .mathematics import logaddexp

    return logaddexp(one("softplus", "float", x), 0.0)


@row(module="nn", standard=False, category="float", derivative=SMOOTH)
def gelu(x: Any, /, *, approximate: str = "erf") -> Array:
    """Return `x` times the normal distribution function of `x`, by the error function or by its form with `tanh`."""
    array = one("gelu", "float", x)
    if approximate == "erf":
        return e.multiply(e.multiply(array, 0.5), e.add(erf(e.divide(array, math.sqrt(2.0))), 1.0))
    if approximate != "tanh":
        raise fault(
            "E1110", f"gelu: approximate is {approximate!r}, expected 'erf' or 'tanh'", argument="approximate", value=approximate
        )
    cube = e.multiply(e.multiply(array, array), array)
    inner = e.multiply(e.add(array, e.multiply(cube, 0.044715)), math.sqrt(2.0 / math.pi))
    return e.multiply(e.multiply(array, 0.5), e.add(tanh(inner), 1.0))


@row(module="nn", standard=False, category="float", derivative=SMOOTH)
def softmax(x: Any, /, axis: int = -1) -> Array:
    """Return shares of 1 along `axis` in proportion to the exponentials, summed in float32 at least."""
    array = one("softmax", "float", x)
    axes = (axis_of(axis, array.ndim, "softmax"),)
    greatest = stop_gradient(_wide_reduce("max", array, axes))
    shares = e.exp(e.subtract(array, greatest))
    return e.divide(shares, _wide_reduce("sum", shares, axes))


def _wide_reduce(kind: str, x: Array, axes: tuple[int, ...]) -> Array:
    """A reduction that keeps its axes; of narrow floats accumulated in float32."""
    return emit(ptir.ReduceOp, x, kind=kind, axes=axes, keepdims=True)


@row(module="nn", standard=False, category="float", derivative=SMOOTH)
def logsumexp(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    """Return the logarithm of the sum of exponentials over the axes, without overflow."""
    array = one("logsumexp", "float", x)
    axes = axes_of(axis, array.ndim, "logsumexp")
    greatest = stop_gradient(reduced("max", array, axes, True))
    finite = e.less(e.subtract(greatest, greatest), math.inf)  # inf - inf is NaN, which is not less
    safe = select(finite, greatest, constant(0.0, array.dtype, greatest.shape))
    found = e.add(e.log(reduced("sum", e.exp(e.subtract(array, safe)), axes, True)), safe)
    return found if keepdims else reshaped(found, tuple([n for a, n in enumerate(found.shape) if a not in axes]))


@row(module="nn", standard=False, category="float", derivative=SMOOTH)
def log_softmax(x: Any, /, axis: int = -1) -> Array:
    """Return the logarithms of the shares of `softmax`."""
    array = one("log_softmax", "float", x)
    return e.subtract(array, logsumexp(array, axis=axis, keepdims=True))


def _mean(x: Array, axes: tuple[int, ...]) -> Array:
    """The mean over axes, which stay with extent 1: the sum times the share of one element."""
    total = reduced("sum", x, axes, True)
    count = count_of(x, axes, x.dtype)
    return e.multiply(total, 1.0 / count) if isinstance(count, int) and count else e.divide(total, count)


@row(module="nn", standard=False, category="float", derivative=SMOOTH)
def layer_norm(x: Any, gamma: Any = None, beta: Any = None, /, *, axis: int = -1, epsilon: float = 1e-5) -> Array:
    """Return `x` with mean 0 and variance 1 along `axis` (biased, `epsilon` inside the root), times gamma, plus beta."""
    array = one("layer_norm", "float", x)
    place = axis_of(axis, array.ndim, "layer_norm")
    centred = e.subtract(array, _mean(array, (place,)))
    variance = _mean(e.multiply(centred, centred), (place,))
    found = e.multiply(centred, emit(ptir.RsqrtOp, e.add(variance, float(epsilon))))
    return _scaled(found, gamma, beta, place)


def _scaled(x: Array, gamma: Any, beta: Any, place: int) -> Array:
    """`x * gamma + beta`, with vectors along an axis; None leaves one out."""
    for vector, op in ((gamma, e.multiply), (beta, e.add)):
        if vector is not None:
            aligned = array_of(vector, "layer_norm")
            x = op(x, reshaped(aligned, (*aligned.shape, *(1,) * (x.ndim - 1 - place))))
    return x


@row(module="nn", standard=False, category="float", derivative=SMOOTH)
def rms_norm(x: Any, gamma: Any = None, /, *, axis: int = -1, epsilon: float = 1e-5) -> Array:
    """Return `x` divided by the root of its mean square along `axis`, times gamma."""
    array = one("rms_norm", "float", x)
    place = axis_of(axis, array.ndim, "rms_norm")
    inverse = emit(ptir.RsqrtOp, e.add(_mean(e.multiply(array, array), (place,)), float(epsilon)))
    return _scaled(e.multiply(array, inverse), gamma, None, place)


@row(module="nn", standard=False)
def one_hot(x: Any, num_classes: int, /, *, axis: int = -1, dtype: Any = None) -> Array:
    """Return, along a new axis, 1 at the place of each index and 0 elsewhere."""
    return _one_hot(x, num_classes, axis=axis, dtype=dtype)


@row(module="nn", standard=False, category="float", arrays=3, derivative=SMOOTH)
def attention(
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    /,
    *,
    scale: float | None = None,
    causal: bool = False,
    window: int | tuple[int, int] | None = None,
    cap: float | None = None,
) -> Array:
    """
    Return what each query gathers from the values whose keys it resembles.

    q is `[..., S, d]`, k and v are `[..., T, d]`. `mask`, `[S, T]` or more, says which keys take part if it is boolean, else it
    is added to the scores, which are float32 at least. With `causal`, query i takes keys up to i; `window=(before, after)`, or
    one number for both, takes so many keys around i. `cap` bounds scores to -cap .. cap by a tanh, before masks. Queries that a
    boolean mask, `causal` or `window` leaves without keys get 0.
    """
    (query, keys, values), dtype = promoted("attention", "float", *(array_of(x, "attention") for x in (q, k, v)))
    n = query.ndim
    batch = tuple(range(n - 2))
    wide = as_dtype(float32) if dtype.itemsize < 4 else dtype
    names = {"contract_lhs": (n - 1,), "contract_rhs": (n - 1,), "batch_lhs": batch, "batch_rhs": batch}
    scores = emit(ptir.DotGeneralOp, query, keys, **names, out_dtype=ptir_dtype(wide))
    scores = e.multiply(scores, 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if cap is not None:
        if not 0 < cap < math.inf:
            raise fault("E1110", f"attention: cap is {cap!r}, expected a positive number", argument="cap", value=cap)
        scores = e.multiply(tanh(e.divide(scores, cap)), cap)
    taken = _band(scores, causal, window)
    if mask is not None and (given := array_of(mask, "attention")).dtype == as_dtype(bool_):
        taken = given if taken is None else e.logical_and(taken, given)
    elif mask is not None:
        scores = e.add(scores, cast(array_of(mask, "attention"), wide))
    if taken is not None:
        taken = broadcast(taken, scores.shape)
        scores = select(taken, scores, constant(-math.inf, wide, scores.shape))
    shares = softmax(scores) if taken is None else _guarded_softmax(scores)
    return dot_general(cast(shares, dtype), values, ((n - 1,), (n - 2,)), (batch, batch))


def _band(scores: Array, causal: bool, window: Any) -> Array | None:
    """Return which keys each query takes by its place; None for all."""
    before, after = (None, None) if window is None else _numbers("attention", "window", window, 2)
    if window is not None and min(before or 0, after or 0) < 0:
        raise fault("E1110", f"attention: window is {window!r}, expected numbers from 0", argument="window", value=str(window))
    after = 0 if causal else after
    shape = tuple(scores.shape[-2:])
    query, key = (iota(shape, axis, as_dtype(int64)) for axis in (0, 1))
    found: Array | None = None
    if after is not None:
        found = e.less_equal(key, e.add(query, after) if after else query)
    if before is not None:
        early = e.greater_equal(key, e.subtract(query, before) if before else query)
        found = early if found is None else e.logical_and(found, early)
    return found


def _guarded_softmax(x: Array) -> Array:
    """Return `softmax` along the last axis, with 0 for rows that are -inf throughout."""
    axes = (x.ndim - 1,)
    greatest = stop_gradient(_wide_reduce("max", x, axes))
    greatest = select(e.equal(greatest, -math.inf), constant(0.0, x.dtype, greatest.shape), greatest)
    shares = e.exp(e.subtract(x, greatest))
    total = _wide_reduce("sum", shares, axes)
    return e.divide(shares, select(e.equal(total, 0.0), constant(1.0, x.dtype, total.shape), total))


def _numbers(name: str, argument: str, value: Any, count: int) -> tuple[int, ...]:
    """A number for each of so many axes; E1110 for what is neither a number nor as many of them."""
    found = tuple(value) if is_sequence(value) else (value,) * count
    if len(found) != count or not all(isinstance(v, int | np.integer) and not isinstance(v, bool) for v in found):
        expected = "an integer" if count == 1 else f"an integer or {count} of them"
        raise fault("E1110", f"{name}: {argument} is {value!r}, expected {expected}", argument=argument, value=value)
    return tuple(int(v) for v in found)


def _pads(
    name: str, padding: Any, extents: Sequence[Any], window: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> tuple[tuple[int, int], ...]:
    """
    Return the numbers of places to add before and after each spatial axis.

    As words, `valid` adds none, and `same` as many as make ceil(extent / stride) places of results, half of them before.
    """
    n = len(window)
    if padding == "valid":
        return ((0, 0),) * n
    if padding == "same":
        found: list[tuple[int, int]] = []
        for extent, size, step, apart in zip(extents, window, stride, dilation, strict=True):
            total = (size - 1) * apart
            if step != 1:
                if not isinstance(extent, int):
                    message = f"{name}: padding is 'same' with stride {step}, expected stride 1 for an extent without a size"
                    raise fault("E1110", message, argument="padding", value=padding)
                total = max((-(-extent // step) - 1) * step + total + 1 - extent, 0)
            found.append((total // 2, total - total // 2))
        return tuple(found)
    pads = tuple(padding) if is_sequence(padding) else (padding,) * n
    if isinstance(padding, str) or len(pads) != n:
        expected = f"'same', 'valid', an integer, or {n} integers or pairs of them"
        raise fault("E1110", f"{name}: padding is {padding!r}, expected {expected}", argument="padding", value=padding)
    made = [_numbers(name, "padding", p, 2) for p in pads]
    return tuple((low, high) for low, high in made)


@row(module="nn", standard=False, category="float", arrays=2, derivative=SMOOTH)
def conv(
    x: Any, weight: Any, bias: Any = None, /, *, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Array:
    """
    Return the cross-correlation of images `[N, spatial..., C]` with `weight` `[spatial..., C / groups, O]`, plus `bias` `[O]`.

    `stride`, `padding` and `dilation` are a number, or one per spatial axis; a padding may be a pair, or one of the words `valid`
    (none) and `same` (a result has ceil(extent / stride) places).
    """
    (image, filters), _ = promoted("conv", "float", array_of(x, "conv"), array_of(weight, "conv"))
    n = max(image.ndim - 2, 0)
    strides, apart = _numbers("conv", "stride", stride, n), _numbers("conv", "dilation", dilation, n)
    found = emit(
        ptir.ConvolutionOp,
        *(image, filters),
        strides=strides,
        padding=_pads("conv", padding, image.shape[1:-1], filters.shape[:n], strides, apart),
        base_dilation=(1,) * n,
        window_dilation=apart,
        feature_group_count=_numbers("conv", "groups", groups, 1)[0],
    )
    return found if bias is None else e.add(found, bias)


def _pooled(name: str, kind: str, x: Array, window: Any, stride: Any, padding: Any) -> Array:
    n = max(x.ndim - 2, 0)
    sizes = _numbers(name, "window", window, n)
    check_memory(sizes, x.dtype)
    steps = sizes if stride is None else _numbers(name, "stride", stride, n)
    ones = (1,) * x.ndim
    return emit(
        *(ptir.ReduceWindowOp, x),
        kind=kind,
        window_dims=(1, *sizes, 1),
        strides=(1, *steps, 1),
        padding=((0, 0), *_pads(name, padding, x.shape[1:-1], sizes, steps, (1,) * n), (0, 0)),
        base_dilation=ones,
        window_dilation=ones,
    )


@row(module="nn", standard=False, category="float", derivative=PIECEWISE)
def max_pool(x: Any, /, window: Any, *, stride: Any = None, padding: Any = 0) -> Array:
    """Return the greatest of each window of images `[N, spatial..., C]`; the window is the stride unless given."""
    return _pooled("max_pool", "max", one("max_pool", "float", x), window, stride, padding)


@row(module="nn", standard=False, category="float", derivative=SMOOTH)
def avg_pool(x: Any, /, window: Any, *, stride: Any = None, padding: Any = 0) -> Array:
    """Return the mean of each window of images `[N, spatial..., C]`, padding counted as zeros; options as `max_pool`."""
    array = one("avg_pool", "float", x)
    total = _pooled("avg_pool", "sum", array, window, stride, padding)
    return e.divide(total, float(math.prod(_numbers("avg_pool", "window", window, array.ndim - 2))))


@row(module="nn", standard=False, category="float", arrays=2, derivative=SMOOTH)
def cross_entropy(logits: Any, labels: Any, /, *, axis: int = -1) -> Array:
    """
    Return how surprising the labels are to the shares that logits stand for: a mean over all places, in nats, of rank 0.

    `labels` are integers with the shape of `logits` without `axis`.
    """
    array = one("cross_entropy", "float", logits)
    array = cast(array, as_dtype(float32)) if array.dtype.itemsize < 4 else array
    place = axis_of(axis, array.ndim, "cross_entropy")
    greatest = stop_gradient(emit(ptir.ReduceOp, array, kind="max", axes=(place,), keepdims=True))
    shifted = e.exp(e.subtract(array, greatest))
    totals = e.add(e.log(emit(ptir.ReduceOp, shifted, kind="sum", axes=(place,), keepdims=True)), greatest)
    index = expand_dims(array_of(labels, "cross_entropy"), axis=place)
    chosen = emit(
        ptir.GatherOp,
        array,
        index if index.dtype.name == "int32" else index_array(index, array.shape[place], "cross_entropy"),
        axis=place,
    )
    surprise = e.subtract(totals, chosen)
    total = reduced("sum", surprise, tuple(range(surprise.ndim)), False)
    count = count_of(surprise, tuple(range(surprise.ndim)), surprise.dtype)
    return e.divide(total, float(count) if isinstance(count, int) else count)


@row(module="nn", standard=False, category="float", derivative=SMOOTH)
def dropout(x: Any, key: Any, /, *, rate: float) -> Array:
    """Return `x` with a share `rate` of its elements 0, by `key`, and the others divided by the share that remains."""
    from ..random import bernoulli

    array = one("dropout", "float", x)
    if not 0 <= rate < 1:
        raise fault("E1110", f"dropout: rate is {rate}, expected 0 to 1", argument="rate", value=rate)
    kept = bernoulli(key, 1.0 - rate, array.shape)
    return select(kept, e.divide(array, 1.0 - rate), constant(0.0, array.dtype, array.shape))
