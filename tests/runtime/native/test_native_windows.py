"""Borders, holes and windows of native kernels, axis by axis: `numpy.pad` and plain loops are the oracles."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from mind_dialect import ptir
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.types import F32, SI32
from ptir_forms import program

X = np.arange(1, 13, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("edges", [e for e in product(((0, 0), (1, 0), (0, 2), (2, 1)), repeat=2) if any(map(any, e))], ids=str)
def test_each_border_by_itself(edges: tuple[tuple[int, int], ...]) -> None:
    low, high = zip(*edges, strict=True)
    pad_value = PtirLiteralAttr.from_values(F32, (), (-7.0,))
    values = {"low": low, "high": high, "interior": (0, 0), "pad_value": pad_value}
    run = mind_runtime.compile(program("f32[3,4]", lambda x: [ptir.PadOp(x, **values)]), target="native")
    np.testing.assert_array_equal(run(X), np.pad(X, edges, constant_values=-7.0))


@pytest.mark.parametrize("interior", [(0, 1), (2, 0), (1, 3)])
def test_holes_along_each_axis(interior: tuple[int, int]) -> None:
    values = {"low": (0, 1), "high": (0, 0), "interior": interior, "pad_value": PtirLiteralAttr.from_values(F32, (), (0.5,))}
    run = mind_runtime.compile(program("f32[3,4]", lambda x: [ptir.PadOp(x, **values)]), target="native")
    steps = [i + 1 for i in interior]
    expected = np.full((2 * steps[0] + 1, 3 * steps[1] + 2), 0.5, np.float32)
    expected[:: steps[0], 1 :: steps[1]] = X
    np.testing.assert_array_equal(run(X), expected)


def patches(x: Any, window: Any, strides: Any, dilation: Any, padding: Any, number: int) -> Any:
    """Every window of an image `[N, H, W, C]`, element by element."""
    x = np.pad(x, [(0, 0), *padding, (0, 0)], constant_values=number)
    counts = [(n - (w - 1) * d - 1) // s + 1 for n, w, d, s in zip(x.shape[1:3], window, dilation, strides, strict=True)]
    found = np.zeros((x.shape[0], *counts, *window, x.shape[3]), x.dtype)
    for n, i, j, a, b, c in np.ndindex(*found.shape):
        found[n, i, j, a, b, c] = x[n, i * strides[0] + a * dilation[0], j * strides[1] + b * dilation[1], c]
    return found


@pytest.mark.parametrize("padding", [((0, 0), (0, 0)), ((1, 0), (0, 0)), ((0, 1), (2, 0)), ((2, 1), (0, 3))], ids=str)
@pytest.mark.parametrize(
    ("window", "strides", "dilation"),
    [((2, 3), (1, 1), (1, 1)), ((2, 2), (2, 1), (1, 2)), ((1, 2), (3, 2), (1, 1)), ((3, 1), (1, 3), (2, 1))],
    ids=str,
)
def test_patches(window: Any, strides: Any, dilation: Any, padding: Any) -> None:
    x = np.arange(2 * 5 * 6 * 3, dtype=np.int32).reshape(2, 5, 6, 3)
    pad_value = PtirLiteralAttr.from_values(SI32, (), (-5,))
    values = {"window": window, "strides": strides, "dilation": dilation, "padding": padding, "pad_value": pad_value}
    module = program("si32[2,5,6,3]", lambda x: [ptir.ExtractPatchesOp(x, **values)])
    expected = patches(x, window, strides, dilation, padding, -5)
    for target in ("native", "numpy"):
        found = mind_runtime.compile(module, target=target)(x)
        np.testing.assert_array_equal(found, expected.reshape(found.shape))
