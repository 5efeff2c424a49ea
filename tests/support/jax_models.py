"""A small GPT in JAX, its parameters as arguments of their own, and how they lie on meshes of devices."""

from __future__ import annotations

import inspect
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

VOCABULARY, WIDTH, HEADS, LENGTH, BATCH = 16, 16, 4, 8, 8


def normed(x: Any, gain: Any) -> Any:
    mean = jnp.mean(x, -1, keepdims=True)
    centred = x - mean
    return centred * jax.lax.rsqrt(jnp.mean(centred * centred, -1, keepdims=True) + 1e-5) * gain


def gpt_loss(tokens: Any, targets: Any, embedding: Any, gain: Any, qkv: Any, project: Any, up: Any, down: Any, head: Any) -> Any:
    """The cross-entropy of one block, from one-hot tokens; batch first."""
    x = jnp.einsum("btv,vd->btd", tokens, embedding)
    h = normed(x, gain)
    q, k, v = (jnp.einsum("btd,dhe->bthe", h, w) for w in qkv)
    scores = jnp.einsum("bthe,bshe->bhts", q, k) / math.sqrt(q.shape[-1])
    mask = jnp.tril(jnp.ones((tokens.shape[1],) * 2, bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), -1)
    x = x + jnp.einsum("bhts,bshe,hed->btd", weights, v, project)
    x = x + jax.nn.gelu(normed(x, gain) @ up) @ down
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(x @ head) * targets, -1))


NAMES = list(inspect.signature(gpt_loss).parameters)
PARAMETERS = NAMES[2:]
SHAPES = {
    "tokens": (BATCH, LENGTH, VOCABULARY),
    "targets": (BATCH, LENGTH, VOCABULARY),
    "embedding": (VOCABULARY, WIDTH),
    "gain": (WIDTH,),
    "qkv": (3, WIDTH, HEADS, WIDTH // HEADS),
    "project": (HEADS, WIDTH // HEADS, WIDTH),
    "up": (WIDTH, 4 * WIDTH),
    "down": (4 * WIDTH, WIDTH),
    "head": (WIDTH, VOCABULARY),
}


def gpt_arguments(seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    found = [(rng.standard_normal(shape) / 4).astype(np.float32) for shape in SHAPES.values()]
    for i in (0, 1):
        found[i] = np.eye(VOCABULARY, dtype=np.float32)[rng.integers(0, VOCABULARY, (BATCH, LENGTH))]
    return found


LAYOUTS: dict[str, tuple[str, dict[str, str]]] = {
    "data parallel": ("data=8", {"tokens": "data", "targets": "data"}),
    "data and tensor parallel": (
        "data=4,model=2",
        {
            "tokens": "data",
            "targets": "data",
            "qkv": "_,_,model",
            "project": "model",
            "up": "_,model",
            "down": "model",
        },
    ),
    "fully sharded": (
        "data=8",
        {
            **{"tokens": "data", "targets": "data", "embedding": "data", "qkv": "_,data", "project": "_,_,data"},
            **{"up": "_,data", "down": "data", "head": "_,data"},
        },
    ),
}
