"""
Layers of networks: plain functions of arrays, in the idiom of the contract and of its public producer.

Softmax and the second form of attention are the contract's canonical library forms. Images are channels last inside; weights of
convolutions are `[out, in / groups, height, width]` as checkpoints have them.
"""

from __future__ import annotations

import math

import mind_array as ma
from mind_array import Array

MASKED = -1e9
"""What is added to the score of a key that a query must not see: finite, so that a row of nothing else stays a number."""

layer_norm, gelu, relu, cross_entropy = ma.nn.layer_norm, ma.nn.gelu, ma.nn.relu, ma.nn.cross_entropy


def linear(x: Array, weight: Array, bias: Array | None = None, compute: str | None = None) -> Array:
    """`x @ weight + bias`, the weight being `[in, out]`; the product in dtype `compute` if given, the rest in that of `x`."""
    y = ma.astype(converted(x, compute) @ converted(weight, compute), x.dtype, copy=False) if compute else x @ weight
    return y if bias is None else y + bias


def converted(x: Array, dtype: str | None) -> Array:
    """In another dtype, if one is given."""
    return x if dtype is None else ma.astype(x, dtype, copy=False)


def widened(x: Array) -> Array:
    """In f32 if it is narrower."""
    return ma.astype(x, "f32") if x.dtype.name in ("bfloat16", "float16") else x


def wide_layer_norm(x: Array, gamma: Array, beta: Array, *, epsilon: float) -> Array:
    """The layer norm of `x` in f32 at least, in the dtype of `x`."""
    y = layer_norm(widened(x), widened(gamma), widened(beta), epsilon=epsilon)
    return ma.astype(y, x.dtype, copy=False)


def softmax(x: Array, *, training: bool = False) -> Array:
    """
    Shares of 1 along the last axis, in proportion to the exponentials.

    What is taken off first cancels, so its derivative is 0: in `training` nobody works that out anew.
    """
    greatest = ma.max(x, axis=-1, keepdims=True)
    shifted = ma.exp(x - (ma.stop_gradient(greatest) if training else greatest))
    return shifted / ma.sum(shifted, axis=-1, keepdims=True)


def relu6(x: Array) -> Array:
    """`x` between 0 and 6."""
    return ma.minimum(relu(x), 6.0)


def masked(visible: Array) -> Array:
    """What to add to scores: 0 where a key is visible, `MASKED` where it is not; f32."""
    zero, low = (ma.full(visible.shape, value, dtype=ma.float32) for value in (0.0, MASKED))
    return ma.where(visible, zero, low)


def causal_mask(length: int) -> Array:
    """`[length, length]`: each place sees itself and what is before it."""
    rows, columns = (ma.ptir.iota(shape=(length, length), dtype=ma.int32, axis=axis) for axis in (0, 1))
    return masked(rows >= columns)


def decode_mask(position: Array, capacity: int) -> Array:
    """`[1, capacity]`: the place `position` (int32 `[1]`) sees itself and what is before it."""
    keys = ma.ptir.iota(shape=(capacity,), dtype=ma.int32, axis=0)
    query = ma.dynamic_slice(keys, position, (1,))
    return masked(ma.broadcast_to(query, (1, capacity)) >= keys)


def position_mask(positions: Array, capacity: int) -> Array:
    """`[T, capacity]`: each place of `positions` (int32 `[T]`) sees itself and what is before it; sizes may be names."""
    (length,) = positions.shape
    keys = ma.ptir.iota(shape=(length, capacity), dtype=ma.int32, axis=1)
    return masked(ma.broadcast_to(ma.expand_dims(positions, axis=1), (length, capacity)) >= keys)


def repeat_heads(x: Array, heads: int) -> Array:
    """`[..., kv_heads, T, d]` with each head repeated for the queries that share it: `[..., heads, T, d]`."""
    *outer, kv_heads, length, depth = x.shape
    if kv_heads == heads:
        return x
    wide = ma.broadcast_to(x.reshape(*outer, kv_heads, 1, length, depth), (*outer, kv_heads, heads // kv_heads, length, depth))
    return wide.reshape(*outer, heads, length, depth)


def attention(q: Array, k: Array, v: Array, mask: Array, *, transposed: bool = False, training: bool = False) -> Array:
    """
    What each query gathers from the values whose keys it resembles: `[..., S, d]` from q `[..., S, d]`, k and v `[..., T, d]`.

    Scores are f32, of f64 operands f64, and the mask `[S, T]` is added to them once they are scaled. `transposed` turns the keys
    before the product instead of contracting their last axis: the contract's library form, as against its producer's. `training`
    as for `softmax`.
    """
    n = len(q.shape)
    batch = tuple(range(n - 2))
    axes = {"batch_lhs": batch, "batch_rhs": batch, "contract_lhs": (n - 1,)}
    keys = ma.matrix_transpose(k) if transposed else k
    scored = ma.float64 if q.dtype.name == "float64" else ma.float32
    wide = {"accum_dtype": scored, "out_dtype": scored}
    scores = ma.ptir.dot_general(q, keys, contract_rhs=(n - 2 if transposed else n - 1,), **axes, **wide)
    mask = ma.astype(mask, scored, copy=False)
    shares = softmax(scores * (1 / math.sqrt(q.shape[-1])) + mask, training=training)
    return ma.ptir.dot_general(ma.astype(shares, v.dtype, copy=False), v, contract_rhs=(n - 2,), **axes)


def conv2d(x: Array, weight: Array, bias: Array, *, stride: int = 1, padding: int = 0, groups: int = 1) -> Array:
    """The cross-correlation of an image `[N, H, W, C]` with `weight`, by patches and a contraction."""
    out, depth, *window = weight.shape
    pads = ((padding, padding), (padding, padding))
    patches = ma.ptir.extract_patches(x, window=window, strides=(stride, stride), dilation=(1, 1), padding=pads, pad_value=0.0)
    place = patches.shape[:3]
    if groups == 1:
        return ma.tensordot(patches.reshape(*place, *window, depth), weight, axes=((3, 4, 5), (2, 3, 1))) + bias
    filters = weight.reshape(groups, out // groups, depth, *window)
    axes = {"contract_lhs": (3, 4, 6), "contract_rhs": (3, 4, 2), "batch_lhs": (5,), "batch_rhs": (0,)}
    y = ma.ptir.dot_general(patches.reshape(*place, *window, groups, depth), filters, **axes)
    return ma.permute_dims(y, (1, 2, 3, 0, 4)).reshape(*place, out) + bias


def max_pool(x: Array, *, window: int, stride: int, padding: int) -> Array:
    """The greatest of each window of an image `[N, H, W, C]`."""
    return ma.nn.max_pool(x, window, stride=stride, padding=padding)


def average_pool(x: Array) -> Array:
    """The mean of each channel of an image `[N, H, W, C]`: `[N, C]`."""
    count, height, width, channels = x.shape
    total = ma.sum(ma.sum(x, axis=1, keepdims=True), axis=2, keepdims=True)
    return (total / float(height * width)).reshape(count, channels)
