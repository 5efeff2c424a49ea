"""Values that products and convolutions compute once more rather than store: the same bits, in less memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_array as ma
import mind_runtime
from mind_lowering import code_cache as cache
from mind_lowering.native import costs, detect
from native_checks import assert_close, several

WIDTH, SIDE = 128, 32


def _loss(y: Any) -> Any:
    return ma.sum(y * y)


def _gelu(x: Any, w: Any, v: Any) -> Any:
    return _loss(ma.nn.gelu(x @ w, approximate="tanh") @ v)


def _cubes(x: Any, w: Any, v: Any) -> Any:
    """Its derivative reads the squares."""
    y = x @ w
    return _loss(((y * y) * y) @ v)


def _rows(x: Any, w: Any, v: Any) -> Any:
    """Rows read a product, and the gradient of the next product what they read."""
    y = x @ w
    return _loss(ma.nn.softmax(y * 0.5 + 1.0, axis=-1) @ v)


def _silu(x: Any, w: Any, v: Any) -> Any:
    """A function and a product need all that is stored."""
    y = x @ w
    return _loss((y * ma.nn.sigmoid(y)) @ v)


def _convolution(x: Any, w: Any) -> Any:
    return ma.ptir.convolution(
        x, w, strides=(1, 1), padding=((1, 1),) * 2, base_dilation=(1, 1), window_dilation=(1, 1), feature_group_count=1
    )


def _convolutions(x: Any, w: Any, v: Any) -> Any:
    y = _convolution(x, w)
    return _loss(_convolution((y * y) * y, v))


def _dense(cells: int) -> tuple[tuple[int, ...], ...]:
    return (cells // WIDTH, 64), (64, WIDTH), (WIDTH, WIDTH)


def _images(cells: int) -> tuple[tuple[int, ...], ...]:
    return (cells // (SIDE * SIDE * 8), SIDE, SIDE, 8), (3, 3, 8, 8), (3, 3, 8, 8)


LOSSES: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[tuple[int, ...], ...]], int]] = {
    "gelu": (_gelu, _dense, 3),
    "cubes": (_cubes, _dense, 1),
    "rows": (_rows, _dense, 0),
    "silu": (_silu, _dense, 0),
    "convolutions": (_convolutions, _images, 1),
}
"""Functions, the shapes of their arguments by the cells of what is large, and how many such arrays are not stored."""


def _compiled(loss: Callable[..., Any], arrays: list[Any], target: str) -> Any:
    specs = [ma.spec(x.shape, x.dtype, name=n) for n, x in zip("xwv", arrays, strict=True)]
    return mind_runtime.compile(ma.trace(lambda x, w, v: ma.value_and_grad(loss, (0, 1, 2))(x, w, v), *specs), target=target)


@pytest.mark.parametrize("name", LOSSES)
def test_bits_stay_and_memory_shrinks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, "")
    loss, shapes, saved = LOSSES[name]
    size, rng = detect().l2_bytes, np.random.default_rng(7)
    arrays = [rng.standard_normal(shape).astype(np.float32) / 4 for shape in shapes(size // 4)]
    found = _compiled(loss, arrays, "native")
    results = several(found(*arrays))
    monkeypatch.setattr(costs, "CHEAP", -1)
    mind_runtime.clear_cache()
    stored = _compiled(loss, arrays, "native")
    assert (stored.arena_plan().bytes - found.arena_plan().bytes) // size == saved
    expected = several(_compiled(loss, arrays, "numpy")(*arrays))
    for a, b, c in zip(results, several(stored(*arrays)), expected, strict=True):
        assert a.tobytes() == b.tobytes()
        assert_close(a, c, ulps=64, scale=float(np.abs(c).max()))
