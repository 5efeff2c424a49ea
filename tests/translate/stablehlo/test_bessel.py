"""`chlo.bessel_i1e` against mpmath and JAX, its derivative against central differences, its coefficients against their fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mind_translate.bessel_coefficients as numbers
from mind_dialect.errors import MindError
from mind_passes.functional import jvp
from mind_runtime import compile
from stablehlo_programs import EXECUTORS, program, read, run

POINTS = np.concatenate(
    [np.linspace(-30, 30, 601), 8 + np.linspace(-1e-9, 1e-9, 9), np.geomspace(1e-300, 1e300, 61), -np.geomspace(1e-300, 1e3, 30)]
)


def i1e(shape: str) -> str:
    return program(f"%x: tensor<{shape}>", f"%r = chlo.bessel_i1e %x : tensor<{shape}> -> tensor<{shape}>", f"tensor<{shape}>")


def exact(x: float) -> float:
    import mpmath as mp

    with mp.workdps(40):
        if abs(x) > 1e6:  # three terms of its series at infinity (NIST Digital Library of Mathematical Functions, 10.40.1)
            y = mp.mpf(abs(x))
            return float(mp.sign(x) * (1 - 3 / (8 * y) - 15 / (128 * y * y)) / mp.sqrt(2 * mp.pi * y))
        return float(mp.exp(-abs(mp.mpf(x))) * mp.besseli(1, mp.mpf(x)))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_values(executor: str) -> None:
    pytest.importorskip("mpmath")
    wanted = np.array([exact(float(x)) for x in POINTS])
    np.testing.assert_allclose(run(i1e(f"{len(POINTS)}xf64"), POINTS, executor=executor), wanted, rtol=9e-16)
    small = POINTS[(np.abs(POINTS) < 1e30) & (np.abs(POINTS) > 1e-30) | (POINTS == 0)].astype(np.float32)
    wanted = np.array([exact(float(x)) for x in small]).astype(np.float32)
    np.testing.assert_allclose(run(i1e(f"{len(small)}xf32"), small, executor=executor), wanted, rtol=6e-8)
    half = np.linspace(-20, 20, 101).astype(np.float16)
    wanted = np.array([exact(float(x)) for x in half]).astype(np.float16)
    np.testing.assert_array_equal(run(i1e("101xf16"), half, executor=executor), wanted)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_f32_is_rounded_nearly_once(executor: str) -> None:
    """Every exponent, subnormal numbers among them, and both pieces densely."""
    pytest.importorskip("mpmath")
    rng = np.random.default_rng(3)
    spread = np.ldexp(rng.uniform(1, 2, 277), np.arange(-149, 128))
    x = np.concatenate([spread, rng.uniform(0, 30, 700), np.linspace(7.9, 8.1, 23)]).astype(np.float32)
    x = np.concatenate([x, -x])
    wanted = np.array([exact(float(v)) for v in x])
    found = run(i1e(f"{x.size}xf32"), x, executor=executor)
    assert np.max(np.abs(found - wanted) / np.spacing(np.abs(wanted).astype(np.float32))) < 0.51


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_special_values(executor: str, dtype: str) -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan], np.float32 if dtype == "f32" else np.float64)
    found = run(i1e(f"5x{dtype}"), x, executor=executor)
    np.testing.assert_array_equal(found, [0, 0, 0, 0, np.nan])
    np.testing.assert_array_equal(np.signbit(found[:4]), [False, True, False, True])


def test_derivative_in_f32() -> None:
    """That of order 0 less `(1 + 1 / |x|)` of order 1, of the sign of `x`: central differences of f32 would have few digits."""
    mp = pytest.importorskip("mpmath")
    x = (np.linspace(-20, 20, 41) + 0.01).astype(np.float32)
    _, slope = compile(jvp(read(i1e("41xf32")), "main"), "main_jvp")(x, np.ones(41, np.float32))
    sizes = [mp.mpf(abs(float(v))) for v in x]
    wanted = [float(mp.exp(-y) * (mp.besseli(0, y) - (1 + 1 / y) * mp.besseli(1, y))) for y in sizes]
    np.testing.assert_allclose(slope, wanted, rtol=3e-6, atol=1e-8)


def test_derivative() -> None:
    x = np.linspace(-20, 20, 41) + 0.01
    module = jvp(read(i1e("41xf64")), "main")
    _, slope = compile(module, "main_jvp")(x, np.ones(41))
    text, eps = i1e("41xf64"), 1e-5
    np.testing.assert_allclose(slope, (run(text, x + eps) - run(text, x - eps)) / (2 * eps), rtol=1e-6, atol=1e-10)


def test_jax_gives_the_same() -> None:
    jax = pytest.importorskip("jax", reason="no JAX: nothing to compare with")

    def f(x: Any) -> Any:
        return jax.lax.bessel_i1e(x)

    x = np.linspace(-30, 30, 121).astype(np.float32)
    text = jax.jit(f).lower(x).as_text()
    assert "chlo.bessel_i1e" in text
    np.testing.assert_allclose(run(text, x), f(x), rtol=2e-6, atol=1e-9)


def test_integers_are_refused() -> None:
    with pytest.raises(MindError, match="bessel_i1e of si32") as caught:
        read(i1e("3xi32"))
    assert caught.value.code == "E8008"


def test_the_coefficients_are_those_of_the_fit() -> None:
    pytest.importorskip("mpmath")
    import special_fits

    assert Path(numbers.__file__).read_text(encoding="utf-8") == special_fits.text("bessel")
