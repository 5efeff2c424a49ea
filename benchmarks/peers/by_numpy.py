"""The workloads by hand in NumPy, as its users write them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from models.peers import by_numpy

from . import families, workloads
from .workloads import EPSILON, HEADS, RATE, TINY_TURNS, Arrays

Call = Callable[[], Any]
ONE = np.float32(1)


def tiny(a: Arrays) -> Call:
    x, b = a["a"], a["b"]

    def call() -> Any:
        y = x
        for _ in range(TINY_TURNS):
            y = np.maximum(y * b + x, 0) - b
        return y

    return call


def chain(arrays: Arrays) -> Call:
    a, b, c = (arrays[name] for name in "abc")
    return lambda: (np.maximum(a * b + c, 0) * np.exp(-a) - b) * c


def shares(x: Any) -> Any:
    """Softmax along the last axis."""
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def softmax(a: Arrays) -> Call:
    x = a["x"]
    return lambda: shares(x)


def surprise(x: Any, labels: Any, rows: Any) -> tuple[Any, Any]:
    """Mean cross entropy and its gradient."""
    z = x - x.max(1, keepdims=True)
    e = np.exp(z)
    total = e.sum(1, keepdims=True)
    loss = (np.log(total[:, 0]) - z[rows, labels]).mean()
    e /= total
    e[rows, labels] -= ONE
    e *= np.float32(1 / len(rows))
    return loss, e


def cross_entropy(a: Arrays) -> Call:
    x, labels = a["x"], a["labels"]
    rows = np.arange(len(labels))
    return lambda: surprise(x, labels, rows)


def normal(x: Any, gamma: Any, beta: Any) -> Any:
    """Layer norm."""
    centred = x - x.mean(-1, keepdims=True)
    variance = (centred * centred).mean(-1, keepdims=True)
    return centred / np.sqrt(variance + np.float32(EPSILON)) * gamma + beta


def layer_norm(a: Arrays) -> Call:
    x, gamma, beta = a["x"], a["gamma"], a["beta"]
    return lambda: normal(x, gamma, beta)


def layer_norm_gradient(a: Arrays) -> Call:
    x, gamma, beta, dy = a["x"], a["gamma"], a["beta"], a["dy"]

    def call() -> Any:
        centred = x - x.mean(1, keepdims=True)
        inverse = ONE / np.sqrt((centred * centred).mean(1, keepdims=True) + np.float32(EPSILON))
        unit = centred * inverse
        g = dy * gamma
        dx = inverse * (g - g.mean(1, keepdims=True) - unit * (g * unit).mean(1, keepdims=True))
        return unit * gamma + beta, dx, (dy * unit).sum(0), dy.sum(0)

    return call


def mlp(a: Arrays) -> Call:
    x, labels = a["x"], a["labels"]
    held = [a[f"{kind}{i}"].copy() for i in range(3) for kind in "wb"]
    rows = np.arange(len(labels))

    def call() -> Any:
        w0, b0, w1, b1, w2, b2 = held
        h0 = np.maximum(x @ w0 + b0, 0)
        h1 = np.maximum(h0 @ w1 + b1, 0)
        loss, d2 = surprise(h1 @ w2 + b2, labels, rows)
        d1 = (d2 @ w2.T) * (h1 > 0)
        d0 = (d1 @ w1.T) * (h0 > 0)
        gradients = x.T @ d0, d0.sum(0), h0.T @ d1, d1.sum(0), h1.T @ d2, d2.sum(0)
        for p, g in zip(held, gradients, strict=True):
            p -= np.float32(RATE) * g
        return loss

    return call


def gelu(x: Any) -> Any:
    """By tanh."""
    return np.float32(0.5) * x * (ONE + np.tanh(np.float32(0.7978845608) * (x + np.float32(0.044715) * x * x * x)))


def gpt2_layer(a: Arrays) -> Call:
    x = a["x"]
    length, width = x.shape
    mask = np.triu(np.full((length, length), -1e9, np.float32), 1)
    scale = np.float32((width // HEADS) ** -0.5)

    def call() -> Any:
        h = normal(x, a["ln_1.gamma"], a["ln_1.beta"]) @ a["attention.w_qkv"] + a["attention.b_qkv"]
        q, k, v = h.reshape(length, 3, HEADS, width // HEADS).transpose(1, 2, 0, 3)
        y = shares(q @ k.transpose(0, 2, 1) * scale + mask) @ v
        y = x + y.transpose(1, 0, 2).reshape(length, width) @ a["attention.w_out"] + a["attention.b_out"]
        h = normal(y, a["ln_2.gamma"], a["ln_2.beta"]) @ a["feed_forward.w_in"] + a["feed_forward.b_in"]
        return y + gelu(h) @ a["feed_forward.w_out"] + a["feed_forward.b_out"]

    return call


def gpt2_decode(a: Arrays) -> Call:
    config = workloads.decode_config(a["tok_embeddings.weight"].shape[1] < 768)
    capacity = a["blocks.0.attention.k_cache"].shape[1]
    peer = by_numpy.GPT2(config, a, capacity)
    for i, (keys, values) in enumerate(peer.caches):
        keys[:], values[:] = (a[f"blocks.{i}.attention.{kind}_cache"] for kind in "kv")

    def call() -> Any:
        peer.length = capacity - 1
        return peer(a["tokens"])[0]

    return call


def convolution(a: Arrays) -> Call:
    x, bias = a["x"], a["bias"]
    filters = np.ascontiguousarray(a["weight"].transpose(2, 3, 1, 0)).reshape(-1, len(bias))

    def call() -> Any:
        padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2)).transpose(0, 1, 2, 4, 5, 3)
        return (windows.reshape(-1, len(filters)) @ filters + bias).reshape(*x.shape[:3], -1)

    return call


def resnet34(a: Arrays) -> Call:
    weights = {name: array for name, array in a.items() if name != "image"}
    peer = by_numpy.ResNet34(workloads.resnet_config(a["image"].shape[-1] < 224), weights)
    return lambda: peer(a["image"])


def along(x: Any, axis: int) -> Any:
    """Softmax along an axis."""
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def greatest(x: Any) -> Any:
    """The 50 greatest of each row and where they are, in order."""
    places = np.argpartition(-x, 50, 1)[:, :50]
    places = np.take_along_axis(places, np.argsort(-np.take_along_axis(x, places, 1), 1, kind="stable"), 1)
    return np.take_along_axis(x, places, 1), places


def batch_norm(x: Any, gamma: Any, beta: Any) -> Any:
    mean = x.mean((0, 1, 2))
    centred = x - mean
    return centred / np.sqrt((centred * centred).mean((0, 1, 2)) + np.float32(EPSILON)) * gamma + beta


def halves(parts: Any) -> Any:
    return np.stack(parts, -1).astype(np.float32)


class Functions:
    """The functions of NumPy that families of programs use."""

    exp, sum, tanh, where, roll, loop = np.exp, np.sum, np.tanh, np.where, np.roll, staticmethod(families.looped)

    @staticmethod
    def scan(step: Callable[..., Any], state: Any, rows: Any) -> Any:
        return families.scanned(step, state, rows, np.stack)


def embedding(table: Any, tokens: Any, dy: Any) -> Any:
    gradient = np.zeros_like(table)
    np.add.at(gradient, tokens, dy)
    return table[tokens], gradient


def per_example(x: Any, y: Any, w0: Any, w1: Any) -> Any:
    """The gradients of `families.loss`, by hand."""
    hidden = np.tanh(x @ w0)
    error = hidden @ w1 - y
    before = error @ w1.T * (1 - hidden * hidden)
    return x[:, :, None] * before[:, None, :], hidden[:, :, None] * error[:, None, :]


def on(function: Callable[..., Any]) -> Callable[[Arrays], Call]:
    """A family: a function of its arrays."""
    return lambda arrays: lambda: function(*arrays.values())


SIDES: dict[str, Callable[[Arrays], Call]] = {
    "cumsum": on(lambda x: np.cumsum(x, 1)),
    "transpose": on(lambda x: np.ascontiguousarray(x.T)),
    "transpose_add": on(lambda x, y: x + y.T),
    "softmax_middle": on(lambda x: along(x, 1)),
    "softmax_first": on(lambda x: along(x, 0)),
    "top_k": on(greatest),
    "sort": on(lambda x: np.sort(x, 1)),
    "batch_norm": on(batch_norm),
    "row_int4": on(lambda x, codes, scales: x @ families.decoded(halves, codes, scales).T),
    "bodies": on(partial(families.bodies, np)),
    "selective_scan": on(partial(families.selective_scan, Functions)),
    "embedding": on(embedding),
    "histogram": on(lambda x: np.bincount((x * 256).astype(np.int32), minlength=256)),
    "stencil": on(partial(families.heat, Functions)),
    "mandelbrot": on(partial(families.mandelbrot, Functions)),
    "per_example": on(per_example),
    "tiny": tiny,
    "chain1k": chain,
    "chain10M": chain,
    "softmax": softmax,
    "cross_entropy": cross_entropy,
    "layer_norm": layer_norm,
    "layer_norm_gradient": layer_norm_gradient,
    "mlp": mlp,
    "gpt2_layer": gpt2_layer,
    "gpt2_decode": gpt2_decode,
    "conv1": convolution,
    "conv8": convolution,
    "resnet34": resnet34,
}
