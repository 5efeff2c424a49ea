"""
Layers of networks, each a function from tensors to a tensor, in the idiom of the contract and of its public producer.

Softmax and the second form of attention are the contract's canonical library forms. Images are channels last inside; weights of
convolutions are `[out, in / groups, height, width]` as checkpoints have them.
"""

from __future__ import annotations

import math

from mind_dialect import ptir
from mind_dialect.ptir.types import F32

from .builder import Builder, Tensor

MASKED = -1e9
"""What is added to the score of a key that a query must not see: finite, so that a row of nothing else stays a number."""


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, compute: str | None = None) -> Tensor:
    """`x @ weight + bias`, the weight being `[in, out]`; the product in dtype `compute` if given, the rest in that of `x`."""
    y = (converted(x, compute) @ converted(weight, compute)).cast(x.dtype.name) if compute else x @ weight
    return y if bias is None else y + bias


def converted(x: Tensor, dtype: str | None) -> Tensor:
    """In another dtype, if one is given and it is another."""
    return x if dtype in (None, x.dtype.name) else x.cast(dtype)


def layer_norm(x: Tensor, gamma: Tensor, beta: Tensor, epsilon: float = 1e-5) -> Tensor:
    """Each row of the last axis with mean 0 and variance 1 (biased, `epsilon` inside the root), times gamma, plus beta."""
    axis, rows = len(x.shape) - 1, (*x.shape[:-1], 1)
    total = x.reduce("sum", (axis,))
    share = x.build.scalar(x.dtype, 1 / x.shape[-1], rows)
    centred = x - total * share
    variance = (centred * centred).reduce("sum", (axis,)) * share
    inverse = (variance + x.build.scalar(x.dtype, epsilon, rows)).rsqrt()
    normalised, gamma, beta = centred * inverse, gamma.broadcast_to(x.shape), beta.broadcast_to(x.shape)
    return normalised * gamma + beta


def softmax(x: Tensor, *, training: bool = False) -> Tensor:
    """
    Shares of 1 along the last axis, in proportion to the exponentials, accumulated in f32.

    What is taken off first cancels, so its derivative is 0: in `training` nobody works that out anew.
    """
    greatest = x.reduce("max", (-1,), accumulate="f32")
    shifted = (x - (greatest.stop_gradient() if training else greatest)).exp()
    return shifted / shifted.reduce("sum", (-1,), accumulate="f32")


def gelu(x: Tensor, approximate: str = "erf") -> Tensor:
    """`x` times the normal distribution function of `x`, by the error function or by the approximation with tanh."""
    if approximate == "erf":
        return x * 0.5 * ((x / math.sqrt(2)).erf() + 1.0)
    inner = (x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)
    return x * 0.5 * (inner.tanh() + 1.0)


def relu(x: Tensor) -> Tensor:
    """The greater of `x` and 0."""
    return x.maximum(x.build.scalar(x.dtype, 0.0, x.shape))


def relu6(x: Tensor) -> Tensor:
    """`x` between 0 and 6."""
    return relu(x).minimum(x.build.scalar(x.dtype, 6.0, x.shape))


def masked(visible: Tensor) -> Tensor:
    """What to add to scores: 0 where a key is visible, `MASKED` where it is not; f32."""
    zero, low = (visible.build.scalar(F32, v, visible.shape) for v in (0.0, MASKED))
    return visible.select(zero, low)


def causal_mask(build: Builder, length: int) -> Tensor:
    """`[length, length]`: each place sees itself and what is before it."""
    rows, columns = (build.iota("si32", (length, length), axis) for axis in (0, 1))
    mask = masked(rows >= columns)
    return mask.slice((0, 0), (length, length))


def decode_mask(position: Tensor, capacity: int) -> Tensor:
    """`[1, capacity]`: the place `position` (si32 `[1]`) sees itself and what is before it."""
    keys = position.build.iota("si32", (capacity,), 0)
    query = keys.dynamic_slice(position, (1,))
    shape = (1, capacity)
    return masked(query.broadcast_to(shape) >= keys.broadcast_to(shape))


def repeat_heads(x: Tensor, heads: int) -> Tensor:
    """`[..., kv_heads, T, d]` with each head repeated for the queries that share it: `[..., heads, T, d]`."""
    *outer, kv_heads, length, depth = x.shape
    grouped = x.reshape(*outer, kv_heads, 1, length, depth)
    return grouped.broadcast_to((*outer, kv_heads, heads // kv_heads, length, depth)).reshape(*outer, heads, length, depth)


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, *, transposed: bool = False, training: bool = False) -> Tensor:
    """
    What each query gathers from the values whose keys it resembles: `[..., S, d]` from q `[..., S, d]`, k and v `[..., T, d]`.

    Scores are f32, and the mask `[S, T]` is added to them once they are scaled. `transposed` turns the keys before the product
    instead of contracting their last axis: the contract's library form, as against its producer's. `training` as for `softmax`.
    """
    rank = len(q.shape)
    batch = tuple(range(rank - 2))
    if transposed:
        k = k.transpose(*batch, rank - 1, rank - 2)
    keys_axis = rank - 2 if transposed else rank - 1
    scores = q.dot(k, contract=((rank - 1,), (keys_axis,)), batch=(batch, batch), accumulate="f32")
    scores = scores * q.build.scalar(scores.dtype, 1 / math.sqrt(q.shape[-1]), scores.shape)
    shares = softmax(scores + mask, training=training)
    if v.dtype is not shares.dtype:
        shares = shares.cast(v.dtype.name)
    return shares.dot(v, contract=((rank - 1,), (rank - 2,)), batch=(batch, batch))


def conv2d(x: Tensor, weight: Tensor, bias: Tensor, *, stride: int = 1, padding: int = 0, groups: int = 1) -> Tensor:
    """The cross-correlation of an image `[N, H, W, C]` with `weight`, by patches and a contraction."""
    out, depth, *window = weight.shape
    patches = x.build.emit(
        ptir.ExtractPatchesOp,
        x,
        window=tuple(window),
        strides=(stride, stride),
        dilation=(1, 1),
        padding=((padding, padding), (padding, padding)),
        pad_value=0.0,
    )
    place = patches.shape[:3]
    if groups == 1:
        y = patches.reshape(*place, *window, depth).dot(weight, contract=((3, 4, 5), (2, 3, 1)))
        return y + bias
    patches = patches.reshape(*place, *window, groups, depth)
    filters = weight.reshape(groups, out // groups, depth, *window)
    y = patches.dot(filters, contract=((3, 4, 6), (3, 4, 2)), batch=((5,), (0,)))
    return y.transpose(1, 2, 3, 0, 4).reshape(*place, out) + bias


def max_pool(x: Tensor, *, window: int, stride: int, padding: int) -> Tensor:
    """The greatest of each window of an image `[N, H, W, C]`."""
    pads = ((0, 0), (padding, padding), (padding, padding), (0, 0))
    ones = (1, 1, 1, 1)
    return x.build.emit(
        ptir.ReduceWindowOp,
        x,
        kind="max",
        window_dims=(1, window, window, 1),
        strides=(1, stride, stride, 1),
        padding=pads,
        base_dilation=ones,
        window_dilation=ones,
    )


def average_pool(x: Tensor) -> Tensor:
    """The mean of each channel of an image `[N, H, W, C]`: `[N, C]`."""
    count, height, width, channels = x.shape
    total = x.reduce("sum", (1,)).reduce("sum", (2,))
    return (total / float(height * width)).reshape(count, channels)


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """
    How surprising the `targets` are to the shares that `logits` stand for: a mean over all places, in nats, rank 0.

    Per place it is `log(sum(exp(logits))) - logits[target]`, with the greatest taken off before the exponential and put back
    behind the logarithm, so that nothing overflows. In f32 at least: narrower logits are widened.
    """
    logits = converted(logits, "f32") if logits.dtype.size < 4 else logits
    *places, _ = logits.shape
    greatest = logits.reduce("max", (-1,)).stop_gradient()
    totals = (logits - greatest).exp().reduce("sum", (-1,)).log() + greatest
    chosen = logits.gather(targets.reshape(*places, 1), len(places))
    surprise = (totals - chosen).reduce("sum", tuple(range(len(logits.shape))), keepdims=False)
    return surprise / float(math.prod(places))
