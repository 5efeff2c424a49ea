"""Windows that overlap, drawn: one axis after the other gives the numbers of all axes at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mind_dialect import ptir
from mind_dialect.program import functions
from mind_passes.fusion.split_windows import split_windows
from mind_runtime import compile
from mind_tools.frontends import parse

DTYPES = {"f32": np.float32, "f64": np.float64, "si32": np.int32, "ui8": np.uint8}


def windows(rng: np.random.Generator, kind: str, dtype: str) -> tuple[Any, tuple[int, ...]]:
    """Return a reduction of drawn windows over two or three of four axes, at least two of which overlap."""
    while True:
        shape = tuple(int(n) for n in rng.integers([1, 5, 7, 7], [4, 14, 16, 20]))
        size = [int(n) for n in rng.integers([1, 1, 2, 3], [2, 4, 6, 6])]
        strides, dilations = ([int(n) for n in rng.integers(1, high, 4)] for high in (3, 3))
        padding = [[int(n) for n in rng.integers(0, k, 2)] for k in size]
        each = zip(shape, size, strides, dilations, padding, strict=True)
        places = [(n + sum(pads) - (k - 1) * d - 1) // s + 1 for n, k, s, d, pads in each]
        if min(places) > 0 and sum(k > 1 for k in size) > 1:
            break
    x, y = (f"tensor<{'x'.join(map(str, s))}x{dtype}>" for s in (shape, places))
    module = parse(
        f"""
module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%x: {x}) -> {y} {{
    %y = ptir.reduce_window %x kind = {kind} window_dims = {size} strides = {strides} padding = {padding}
      base_dilation = [1, 1, 1, 1] window_dilation = {dilations} : {x} -> {y}
    func.return %y : {y}
  }}
}}""".replace(f"{x} -> {x}", x)
    )
    return module, shape


@pytest.mark.parametrize("kind", ["max", "min", "sum"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(8))
def test_results_are_equal(kind: str, dtype: str, seed: int) -> None:
    rng = np.random.default_rng([seed, *kind.encode(), *dtype.encode()])
    module, shape = windows(rng, kind, dtype)
    x = rng.standard_normal(shape) * 50 if dtype[0] == "f" else rng.integers(0, 200, shape)
    x = x.astype(DTYPES[dtype])
    if dtype[0] == "f" and kind != "sum":
        x[rng.random(shape) < 0.02] = np.nan
    expected = compile(module.clone())(x)
    changed = module.clone()
    if split_windows(changed):
        (func,) = functions(changed)
        assert sum(isinstance(op, ptir.ReduceWindowOp) for op in func.walk()) > 1
        np.testing.assert_array_equal(compile(changed)(x), expected)
    np.testing.assert_allclose(compile(module, target="native")(x), expected, rtol=1e-5, atol=1e-3 if dtype == "f32" else 1e-9)


def test_some_are_split() -> None:
    found = [split_windows(windows(np.random.default_rng(seed), "max", "f32")[0]) for seed in range(8)]
    assert any(found)
    assert not split_windows(windows(np.random.default_rng(0), "max", "f32")[0], lambda op: False)
