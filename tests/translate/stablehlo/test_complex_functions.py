"""Functions of complex numbers that are imported by their parts: infinite parts, and parts whose squares overflow."""

from __future__ import annotations

import numpy as np
import pytest

from stablehlo_programs import program, run

NAMES = {
    **{"sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh},
    **{"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan},
}
INF, HUGE = np.inf, {np.complex64: 1e30, np.complex128: 1e200}


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", NAMES)
def test_infinite_and_huge_parts(name: str, dtype: type) -> None:
    sizes = (0.0, -0.0, 0.5, -2.0, INF, -INF) if name in ("sinh", "cosh") else (0.0, -0.0, 0.5, -2.0, HUGE[dtype], INF, -INF)
    z = np.array([complex(x, y) for x in sizes for y in sizes], dtype)
    type_ = f"tensor<{z.size}xcomplex<f{z.itemsize * 4}>>"
    found = run(program(f"%x: {type_}", f"%r = chlo.{name} %x : {type_} -> {type_}", type_), z)
    with np.errstate(all="ignore"):
        expected = NAMES[name](z)
    known = ~np.isnan(expected)
    tolerance = 8 * np.finfo(dtype).eps
    for part in ("real", "imag"):
        np.testing.assert_allclose(getattr(found[known], part), getattr(expected[known], part), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_precision(name: str) -> None:
    """Within 8 units in the last place of the magnitude, near the singularities -1, 1, -i and i too."""
    rng = np.random.default_rng(0)
    z = 2 * (rng.standard_normal(4000) + 1j * rng.standard_normal(4000))
    near = (rng.standard_normal(4000) + 1j * rng.standard_normal(4000)) * 10.0 ** rng.uniform(-3, 0, 4000)
    z = np.concatenate([z, near, *(near + pole for pole in (1, -1, 1j, -1j))]).astype(np.complex64)
    type_ = f"tensor<{z.size}xcomplex<f32>>"
    found = run(program(f"%x: {type_}", f"%r = chlo.{name} %x : {type_} -> {type_}", type_), z)
    expected = NAMES[name](z.astype(np.complex128))
    error = np.abs(found - expected) / np.abs(expected)
    assert error.max() <= 8 * np.finfo(np.float32).eps, z[error.argmax()]
