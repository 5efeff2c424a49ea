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
