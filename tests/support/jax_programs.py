"""JAX programs whose StableHLO is read: models, optimisers, random numbers, indexing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

RNG = np.random.default_rng(0)


def normal(*shape: int) -> Any:
    """Normal numbers of f32."""
    return jnp.asarray(RNG.normal(size=shape).astype(np.float32))


def mlp(params: Any, x: Any, y: Any) -> Any:
    """The loss of a perceptron of one hidden layer."""
    hidden = jax.nn.relu(x @ params["w1"] + params["b1"])
    return jnp.mean((hidden @ params["w2"] - y) ** 2)


MLP = ({"w1": normal(4, 8), "b1": normal(8), "w2": normal(8, 2)}, normal(5, 4), normal(5, 2))


def adam(params: Any, m: Any, v: Any, x: Any, y: Any) -> Any:
    """A step of Adam on the perceptron."""
    grads = jax.grad(mlp)(params, x, y)
    m = jax.tree.map(lambda a, g: 0.9 * a + 0.1 * g, m, grads)
    v = jax.tree.map(lambda a, g: 0.999 * a + 0.001 * g * g, v, grads)
    return jax.tree.map(lambda p, a, b: p - 0.01 * a / (jnp.sqrt(b) + 1e-8), params, m, v), m, v


def norm(x: Any, gain: Any) -> Any:
    """A normalised row."""
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * gain


def layer(x: Any, p: Any) -> Any:
    """A layer of a small GPT."""
    q, k, v = (
        t.reshape(t.shape[0], t.shape[1], 2, -1).transpose(0, 2, 1, 3) for t in jnp.split(norm(x, p["g"]) @ p["qkv"], 3, -1)
    )
    scores = q @ k.transpose(0, 1, 3, 2) / 2.0
    mask = jnp.tril(jnp.ones((scores.shape[-1],) * 2, bool))
    mixed = jax.nn.softmax(jnp.where(mask, scores, -1e9), -1) @ v
    x = x + mixed.transpose(0, 2, 1, 3).reshape(x.shape) @ p["o"]
    return x + jax.nn.gelu(norm(x, p["g"]) @ p["up"]) @ p["down"]


def gpt(params: Any, tokens: Any, scanned: bool) -> Any:
    """The loss of a small GPT, its layers one after the other or scanned."""
    x = params["embedding"][tokens]
    if scanned:
        x, _ = jax.lax.scan(lambda x, p: (layer(x, p), None), x, params["layers"])
    else:
        for i in range(2):
            x = layer(x, jax.tree.map(lambda p, i=i: p[i], params["layers"]))
    logits = x @ params["embedding"].T
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[..., None], -1).mean()


GPT = {
    "embedding": normal(11, 8),
    "layers": {
        "g": 1 + 0.1 * normal(2, 8),
        "qkv": normal(2, 8, 24),
        "o": normal(2, 8, 8),
        "up": normal(2, 8, 16),
        "down": normal(2, 16, 8),
    },
}
TOKENS = jnp.asarray(RNG.integers(0, 11, (2, 6)).astype(np.int32))


def lstm(w: Any, u: Any, xs: Any) -> Any:
    """The sum of squares of the outputs of an LSTM."""

    def step(carry: Any, x: Any) -> Any:
        h, c = carry
        i, f, g, o = jnp.split(x @ w + h @ u, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    _, ys = jax.lax.scan(step, (jnp.zeros(3), jnp.zeros(3)), xs)
    return (ys**2).sum()


def cnn(w: Any, v: Any, x: Any) -> Any:
    """The loss of a convolution, a pool of maxima and a product."""
    y = jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    y = jax.lax.reduce_window(jax.nn.relu(y), -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return jnp.mean((y.reshape(y.shape[0], -1) @ v) ** 2)


def dropout(key: Any, x: Any) -> Any:
    """Dropout by JAX's own random numbers."""
    kept = jax.random.bernoulli(key, 0.7, x.shape)
    return jnp.where(kept, x / 0.7, 0), jax.random.uniform(key, (3, 4)), jax.random.randint(key, (5,), 0, 100)


def dropped(key: Any, x: Any, w: Any) -> Any:
    """The loss of a layer with dropout."""
    kept = jax.random.bernoulli(key, 0.7, x.shape)
    return jnp.sum(jnp.where(kept, x / 0.7, 0) @ w) ** 2 / 10


def drawn(key: Any, mean: Any, scale: Any) -> Any:
    """The loss of normal random numbers, by their mean and scale."""
    return jnp.mean((mean + scale * jax.random.normal(key, mean.shape)) ** 2)


def sorted_loss(x: Any) -> Any:
    """The loss of sorted numbers and of the greatest of each row."""
    return jnp.sum(jnp.sort(x, 0) * jnp.arange(5.0)[:, None]) + jnp.sum(jax.lax.top_k(x, 3)[0] ** 2)


def adam_loss(*state: Any) -> Any:
    """The loss after a step of Adam."""
    return mlp(adam(*state)[0], *state[3:])


ADAM = (MLP[0], *(jax.tree.map(lambda p: jnp.abs(p) * 0.1, MLP[0]) for _ in range(2)), *MLP[1:])
KEY = jnp.asarray(np.array([3, 14159], np.uint32))
INDICES = jnp.asarray(RNG.integers(0, 7, (7, 7)).astype(np.int32))

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "mlp": (mlp, MLP),
    "mlp gradient": (jax.grad(mlp), MLP),
    "adam": (adam, ADAM),
    "adam loss": (adam_loss, ADAM),
    "gpt": (lambda p, t: gpt(p, t, False), (GPT, TOKENS)),
    "gpt scanned": (lambda p, t: gpt(p, t, True), (GPT, TOKENS)),
    "gpt scanned gradient": (jax.value_and_grad(lambda p, t: gpt(p, t, True)), (GPT, TOKENS)),
    "lstm": (lstm, (normal(4, 12), normal(3, 12), normal(5, 4))),
    "lstm gradient": (jax.grad(lstm, argnums=(0, 1, 2)), (normal(4, 12), normal(3, 12), normal(5, 4))),
    "cnn": (cnn, (normal(3, 3, 2, 4), normal(64, 3), normal(2, 8, 8, 2))),
    "cnn gradient": (jax.grad(cnn, argnums=(0, 1)), (normal(3, 3, 2, 4), normal(64, 3), normal(2, 8, 8, 2))),
    "dropout": (dropout, (KEY, normal(4, 5))),
    "random normal": (lambda key: jax.random.normal(key, (4, 5)), (KEY,)),
    "dropout loss": (dropped, (KEY, normal(4, 5), normal(5, 3))),
    "random normal loss": (drawn, (KEY, normal(4, 5), normal(4, 5))),
    "sort loss": (sorted_loss, (normal(5, 7),)),
    "einsum loss": (lambda a, b: jnp.sum(jnp.einsum("bhqd,bkhd->bhqk", a, b) ** 2), (normal(2, 3, 4, 5), normal(2, 6, 3, 5))),
    "reversed scan": (lambda x: jax.lax.scan(lambda c, x: (c + x, c * x), 0.0, x, reverse=True), (normal(5),)),
    "fori_loop": (lambda x: jax.lax.fori_loop(3, 11, lambda i, v: v.at[i].set(v[i - 1] * 0.5 + i), x), (normal(12),)),
    "while_loop": (lambda x: jax.lax.while_loop(lambda v: v.sum() < 100, lambda v: v * 1.5, x), (jnp.abs(normal(4)) + 1,)),
    "switch": (
        lambda i, x: jax.lax.switch(i, [lambda x: x + 1, lambda x: x * 2, jnp.sin, lambda x: -x, lambda x: x @ x * x], x),
        (jnp.int32(9), normal(3)),
    ),
    "argmax, argmin": (lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 0), jnp.argmax(x)), (normal(5, 7),)),
    "sorts": (
        lambda x: (
            jnp.sort(x, 0),
            jnp.argsort(x, 1),
            jax.lax.sort((jnp.round(x), x), num_keys=2),
            jnp.sort(-jnp.abs(x), descending=True),
        ),
        (normal(5, 7),),
    ),
    "running": (lambda x: (jnp.cumsum(x, 0), jnp.cumprod(x, 1), jax.lax.cummax(x, reverse=True)), (normal(5, 7),)),
    "indexing": (
        lambda x, i: (jnp.take_along_axis(x, i, 1), x[i[0]], x.at[i[0]].add(2.0), x.at[i[0], 0].mul(3.0), x[i[0], i[1]]),
        (normal(7, 7), INDICES),
    ),
    "segment_sum": (lambda x, i: jax.ops.segment_sum(x, i, 4), (normal(7, 2), jnp.array([0, 1, 9, -3, 3, 3, 1]))),
    "einsum": (lambda a, b: jnp.einsum("bhqd,bkhd->bhqk", a, b), (normal(2, 3, 4, 5), normal(2, 6, 3, 5))),
    "integers": (lambda x, y: (x**y, x // 3, x % 3, x >> 1), (jnp.arange(-4, 6), jnp.arange(10))),
    "bf16": (lambda x: jax.nn.softmax((x @ x.T).astype(jnp.bfloat16), -1).astype(jnp.float32), (normal(6, 6),)),
    "convolution": (
        lambda x, w: jax.lax.conv_general_dilated(
            x, w, (2, 1), ((1, -1), (2, 0)), (1, 2), (2, 1), dimension_numbers=("NCHW", "OIHW", "NHWC"), feature_group_count=2
        ),
        (normal(2, 4, 9, 8), normal(6, 2, 3, 2)),
    ),
    "functions": (
        lambda x: (jax.scipy.special.erf(x), jax.nn.gelu(x), jnp.sinh(x * 9), jnp.arcsinh(x * 5e3), jnp.arctan2(x, x[::-1])),
        (normal(9),),
    ),
    "complex": (lambda x: (jnp.abs(x + 1j * x[::-1]), jnp.real(jnp.exp(1j * x)), jnp.angle(x + 1j)), (normal(9),)),
}
"""Functions and arguments."""
LOSSES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    name: PROGRAMS[name]
    for name in (
        *("mlp", "gpt", "gpt scanned", "lstm", "cnn"),
        *("adam loss", "dropout loss", "random normal loss", "sort loss", "einsum loss"),
    )
}
"""Those with a scalar result, for gradients."""
