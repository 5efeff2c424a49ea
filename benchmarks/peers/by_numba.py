"""Those workloads that are loops, in numba with `parallel` and `fastmath`, as its users write them; the rest has no side here."""

from __future__ import annotations

import os
from collections.abc import Callable
from math import exp, log, sqrt
from typing import Any

import numba
import numpy as np

from .workloads import EPSILON, TINY_TURNS, Arrays

NAME = "numba"
numba.set_num_threads(min(int(os.environ.get("SIDE_THREADS", "1")), numba.config.NUMBA_NUM_THREADS))
Call = Callable[[], Any]
loops: Any = numba.njit(parallel=True, fastmath=True)
ZERO, ONE = np.float32(0), np.float32(1)


@numba.njit(fastmath=True)
def _tiny(a: Any, b: Any) -> Any:
    out = np.empty_like(a)
    for i in range(a.size):
        x = a[i]
        for _ in range(TINY_TURNS):
            x = max(x * b[i] + a[i], ZERO) - b[i]
        out[i] = x
    return out


@loops
def _chain(a: Any, b: Any, c: Any) -> Any:
    out = np.empty_like(a)
    for i in numba.prange(a.size):
        out[i] = (max(a[i] * b[i] + c[i], ZERO) * exp(-a[i]) - b[i]) * c[i]
    return out


@numba.njit(fastmath=True)
def _short_chain(a: Any, b: Any, c: Any) -> Any:
    out = np.empty_like(a)
    for i in range(a.size):
        out[i] = (max(a[i] * b[i] + c[i], ZERO) * exp(-a[i]) - b[i]) * c[i]
    return out


@loops
def _softmax(x: Any) -> Any:
    out = np.empty_like(x)
    for i in numba.prange(x.shape[0]):
        top = x[i, 0]
        for j in range(x.shape[1]):
            top = max(top, x[i, j])
        total = ZERO
        for j in range(x.shape[1]):
            out[i, j] = exp(x[i, j] - top)
            total += out[i, j]
        for j in range(x.shape[1]):
            out[i, j] *= ONE / total
    return out


@loops
def _cross_entropy(x: Any, labels: Any) -> Any:
    n, m = x.shape
    out, losses = np.empty_like(x), np.empty(n, np.float32)
    for i in numba.prange(n):
        top = x[i, 0]
        for j in range(m):
            top = max(top, x[i, j])
        total = ZERO
        for j in range(m):
            out[i, j] = exp(x[i, j] - top)
            total += out[i, j]
        losses[i] = log(total) - (x[i, labels[i]] - top)
        for j in range(m):
            out[i, j] *= ONE / (total * np.float32(n))
        out[i, labels[i]] -= ONE / np.float32(n)
    return losses.mean(), out


@loops
def _layer_norm(x: Any, gamma: Any, beta: Any) -> Any:
    n, m = x.shape
    out = np.empty_like(x)
    for i in numba.prange(n):
        total, squares = ZERO, ZERO
        for j in range(m):
            total += x[i, j]
        mean = total / np.float32(m)
        for j in range(m):
            squares += (x[i, j] - mean) * (x[i, j] - mean)
        inverse = ONE / sqrt(squares / np.float32(m) + np.float32(EPSILON))
        for j in range(m):
            out[i, j] = (x[i, j] - mean) * inverse * gamma[j] + beta[j]
    return out


def _caller(function: Callable[..., Any], *names: str) -> Callable[[Arrays], Call]:
    def make(arrays: Arrays) -> Call:
        given = [arrays[name] for name in names]
        return lambda: function(*given)

    return make


SIDES: dict[str, Callable[[Arrays], Call]] = {
    "tiny": _caller(_tiny, "a", "b"),
    "chain1k": _caller(_short_chain, *"abc"),
    "chain10M": _caller(_chain, *"abc"),
    "softmax": _caller(_softmax, "x"),
    "cross_entropy": _caller(_cross_entropy, "x", "labels"),
    "layer_norm": _caller(_layer_norm, "x", "gamma", "beta"),
}
