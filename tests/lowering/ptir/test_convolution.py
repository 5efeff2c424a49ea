"""Convolutions against their definition: a sum over the places of the window and the channels of a group, by plain loops."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from mind_lowering.ptir_kernels.table import Call
from ptir_oracle import perform

PAIRS = {
    "plain": ((1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1)),
    "strides": ((2, 3), ((0, 0), (0, 0)), (1, 1), (1, 1)),
    "padding": ((1, 1), ((1, 0), (2, 1)), (1, 1), (1, 1)),
    "strides and padding": ((2, 1), ((1, 1), (0, 2)), (1, 1), (1, 1)),
    "holes in the image": ((1, 2), ((0, 1), (1, 0)), (2, 3), (1, 1)),
    "holes in the window": ((1, 1), ((1, 2), (0, 0)), (1, 1), (2, 1)),
    "everything": ((2, 1), ((1, 2), (2, 1)), (1, 2), (2, 2)),
}
"""Strides, padding, base dilation, window dilation."""
GROUPS = {
    "one group": (1, 3, 2),
    "two groups": (2, 4, 6),
    "a channel a group": (3, 3, 3),
    "two of a channel": (3, 3, 6),
    "one channel": (1, 1, 2),
}
"""Groups, channels of the image, channels of the result."""


def convolved(x: Any, w: Any, strides: Any, padding: Any, base: Any, hole: Any, groups: int) -> Any:
    """The definition: `x[n, i, j, c]` with zeros around and between, `w[i, j, c in the group, o]`."""
    wide = [low + high + (n - 1) * step + 1 for n, (low, high), step in zip(x.shape[1:3], padding, base, strict=True)]
    padded = np.zeros((x.shape[0], *wide, x.shape[3]), x.dtype)
    padded[:, padding[0][0] :: base[0], padding[1][0] :: base[1]][:, : x.shape[1], : x.shape[2]] = x
    sizes = [(n - (k - 1) * h - 1) // s + 1 for n, k, h, s in zip(wide, w.shape[:2], hole, strides, strict=True)]
    out = np.zeros((x.shape[0], *sizes, w.shape[3]), x.dtype)
    per_group, each = w.shape[2], w.shape[3] // groups
    for n, i, j, o in np.ndindex(*out.shape):
        for a, b, c in product(*map(range, w.shape[:3])):
            pixel = padded[n, i * strides[0] + a * hole[0], j * strides[1] + b * hole[1], (o // each) * per_group + c]
            out[n, i, j, o] += pixel * w[a, b, c, o]
    return out


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "complex64"])
@pytest.mark.parametrize("window", [(1, 1), (2, 3), (3, 2)], ids=str)
@pytest.mark.parametrize("shape", GROUPS)
@pytest.mark.parametrize("pairs", PAIRS)
def test_a_convolution_is_what_its_definition_says(pairs: str, shape: str, window: tuple[int, int], dtype: str) -> None:
    """Small integers, so that sums are exact in every order."""
    groups, channels, out = GROUPS[shape]
    strides, padding, base, hole = PAIRS[pairs]
    rng = np.random.default_rng([len(pairs), len(shape), *window])
    x = rng.integers(-5, 6, (2, 5, 6, channels)).astype(dtype)
    w = rng.integers(-5, 6, (*window, channels // groups, out)).astype(dtype)
    values = {"strides": strides, "padding": padding, "base_dilation": base, "window_dilation": hole}
    found = perform(Call("k.convolution", {**values, "feature_group_count": groups}), x, w)
    assert found.dtype == x.dtype
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, convolved(x, w, strides, padding, base, hole, groups))


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("size", [(0, 5, 5), (2, 0, 5), (2, 5, 0)], ids=str)
def test_a_convolution_of_nothing(size: tuple[int, int, int], groups: int) -> None:
    """Where padding alone is left the sums are 0; without it there are no places."""
    x, w = np.zeros((*size, 4), np.float32), np.ones((2, 2, 4 // groups, 4), np.float32)
    for pad in (0, 1):
        values = {"strides": (1, 1), "padding": ((pad, pad),) * 2, "base_dilation": (1, 1), "window_dilation": (1, 1)}
        found = perform(Call("k.convolution", {**values, "feature_group_count": groups}), x, w)
        places = [max(0, n + 2 * pad - 1) for n in size[1:]]
        assert found.shape == (size[0], *places, 4)
        assert not found.any()
