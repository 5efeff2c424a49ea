"""Scalars that a concat puts together, as the right-hand side of a differential equation: one kernel, which writes the vector."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from hypothesis import given
from hypothesis import strategies as st

import mind_array as ma


def compared(f: Any, *arrays: Any) -> list[str]:
    """Compare a function on both targets; return its kernels."""
    compiled = ma.jit(f, target="native")
    for x, y in zip(compiled(*arrays), ma.jit(f)(*arrays), strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-4 if x.dtype == np.float32 else 1e-12)
        assert x.dtype == y.dtype
    lines = compiled.lower(*arrays).explain()
    assert " 0 ops on NumPy" in lines[0]
    return lines


@given(st.data())
def test_drawn_vectors_of_scalars(data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 9))
    dtype = data.draw(st.sampled_from(["float64", "float32", "int32", "int64"]))
    forms = [data.draw(st.integers(0, 4)) for _ in range(count)]
    places = [(data.draw(st.integers(0, 4)), data.draw(st.integers(0, 4))) for _ in range(count)]
    kept, looped = data.draw(st.booleans()), data.draw(st.booleans())

    def part(x: Any, form: int, i: int, j: int) -> Any:
        return [x[i] * x[j], x[i] - x[j] * 2, x[i], ma.sum(x, dtype=x.dtype), x[i] + 1][form]

    def vector(x: Any) -> tuple[Any, Any]:
        parts = [part(x, form, *place) for form, place in zip(forms, places, strict=True)]
        return ma.stack(parts), parts[0] if kept else x[0]

    def run(x: Any) -> Any:
        if not looped:
            return vector(x)

        def step(c: Any, i: Any) -> Any:
            found, first = vector(c)
            return ma.clip(ma.concat([found, c])[:5], -7, 7), (found, first)

        last, stacked = ma.scan(step, x, length=3)
        return last, *stacked

    compared(run, (np.random.default_rng(0).standard_normal(5) * 3).astype(dtype))


def test_a_differential_equation_is_two_kernels_a_step() -> None:
    def step(s: Any, _: Any) -> Any:
        d = ma.stack([10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]])
        return s + 0.01 * d, s

    lines = compared(lambda x: ma.scan(step, x, length=20), np.ones(3))
    assert len([line for line in lines if line.startswith("native    ") and "copy" not in line]) == 2
    assert len([line for line in lines if line.startswith("native    ")]) <= 3
