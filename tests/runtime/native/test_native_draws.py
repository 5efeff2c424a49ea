"""Native random numbers: uniform ones are NumPy's bit for bit, normal ones but for last bits of logarithm, sine and cosine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from mind_dialect import ptir
from mind_dialect.ptir.legal import WIDE_FLOATS
from mind_dialect.ptir.types import PtirDType
from mind_lowering.native import detect, lanes
from native_checks import assert_close
from native_same import way
from ptir_forms import program
from ptir_oracle import ids

__all__ = ["way"]
pytestmark = pytest.mark.usefixtures("way")
SEEDS = (0, 7, (1 << 63) + 12345, (1 << 64) - 1)


def drawn(op: Any, shape: tuple[int, ...], dtype: PtirDType, ulps: float) -> None:
    """Two draws of a program, the second after another one."""

    def body(x: Any) -> Any:
        first = op(shape=shape, dtype=dtype)
        ptir.RngUniformOp(shape=(3,), dtype="f32")
        return [first, op(shape=shape, dtype=dtype), ptir.NegOp(x)]

    module = program("f32[1]", body)
    native, reference = (mind_runtime.compile(module, target=t) for t in ("native", "numpy"))
    assert ("0 ops on NumPy" in native.explain()[0]) == lanes.computes(dtype, detect())
    x = np.ones(1, np.float32)
    for seed in SEEDS:
        found, expected = native(x, seed=seed), reference(x, seed=seed)
        for a, b in zip(found, expected, strict=True):
            assert_close(a, b, ulps=ulps)
            if not ulps:
                assert a.tobytes() == b.tobytes()
        assert np.array_equal(native(x, seed=seed)[0], found[0])
    if shape == (700, 41):
        assert not np.array_equal(found[0], found[1])
        assert not np.array_equal(native(x)[0], found[0])


@pytest.mark.parametrize("shape", [(1,), (3, 5), (700, 41), (0, 3), (64,)], ids=str)
@pytest.mark.parametrize("dtype", WIDE_FLOATS, ids=ids)
def test_uniform(dtype: PtirDType, shape: tuple[int, ...]) -> None:
    drawn(ptir.RngUniformOp, shape, dtype, 0)


@pytest.mark.parametrize("shape", [(3, 5), (700, 41)], ids=str)
@pytest.mark.parametrize("dtype", WIDE_FLOATS, ids=ids)
def test_normal(dtype: PtirDType, shape: tuple[int, ...]) -> None:
    """In f64 an angle near a zero of sine or cosine costs some units."""
    drawn(ptir.RngNormalOp, shape, dtype, 8 if dtype.bits == 64 else 1)


def test_draws_in_loops_have_keys_of_their_own() -> None:
    """There NumPy draws; what native code drew before counts."""

    def turn(carry: Any, step: Any) -> Any:
        return [ptir.AddOp(carry, ptir.RngUniformOp(shape=(4,), dtype="f32")), step]

    def body(x: Any) -> Any:
        y = ptir.AddOp(x, ptir.RngUniformOp(shape=(4,), dtype="f32")).result
        steps = ptir.IotaOp(shape=(5,), dtype="si32", axis=0).result
        looped = ptir.ScanOp(y, steps, carry_count=1, scan_output_count=1, body=turn)
        return [*looped.results, ptir.RngUniformOp(shape=(4,), dtype="f32")]

    module = program("f32[4]", body)
    x = np.zeros(4, np.float32)
    native, reference = (mind_runtime.compile(module, target=t) for t in ("native", "numpy"))
    for seed in SEEDS:
        for a, b in zip(native(x, seed=seed), reference(x, seed=seed), strict=True):
            assert_close(a, b, ulps=1)
