"""Matrices that are not finite: an error, or NaN for their results alone; LAPACK, which might not return, does not get them."""

from __future__ import annotations

import numpy as np
import pytest

import mind_array as ma
import mind_runtime
from matrix_calls import calls
from mind_dialect.errors import MindError
from native_same import types
from ptir_forms import program

pytestmark = pytest.mark.parametrize("target", ["numpy", "native"])

SIZES = pytest.mark.parametrize("n", [1, 3, 24])
SPECTRA = pytest.mark.parametrize("kind", ["eigh", "eigvalsh", "svd", "svdvals"])


def spectrum(kind: str, target: str, x: np.ndarray, **attrs: str) -> list[np.ndarray]:
    full = {"full_matrices": True} if kind == "svd" else {}
    found = mind_runtime.compile(program(types(x), calls(kind, full | attrs)), target=target)(x)
    return list(found) if isinstance(found, tuple) else [found]


@SPECTRA
@SIZES
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_results_are_nan(n: int, dtype: str, kind: str, target: str) -> None:
    x = (np.arange(1.0, 10)[:, None, None] * np.eye(n)).astype(dtype)
    x[6:, n - 1, 0] = np.nan, np.inf, -np.inf
    found = spectrum(kind, target, x, failure="nan")
    for y in found:
        assert y.dtype == dtype
        assert np.isnan(y[6:]).all()
        assert np.isfinite(y[:6]).all()
    np.testing.assert_array_equal(found[kind == "svd"][:6], np.arange(1, 7)[:, None] + np.zeros(n))


@SPECTRA
@SIZES
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_they_are_an_error(n: int, bad: float, kind: str, target: str) -> None:
    x = np.eye(n)
    x[0, 0] = bad
    for attrs in ({}, {"failure": "error"}):
        with pytest.raises(MindError, match="did not converge") as caught:
            spectrum(kind, target, x, **attrs)
        assert caught.value.code == "E6006"


def test_an_infinity_in_the_triangle_that_is_not_read(target: str) -> None:
    for n in (5, 24):
        x = np.eye(n)[None] + np.zeros((4, 1, 1))
        x[1, 0, 3] = np.inf
        np.testing.assert_array_equal(spectrum("eigvalsh", target, x)[0], np.ones((4, n)))
        np.testing.assert_array_equal(spectrum("eigh", target, x)[0], np.ones((4, n)))


@pytest.mark.parametrize("function", ["pinv", "matrix_rank", "cond", "lstsq"])
def test_functions_of_singular_values(function: str, target: str) -> None:
    """NumPy returns zeros for some of them, or does not return."""
    x = np.eye(3)
    x[0, 0] = np.inf
    f = getattr(ma.linalg, function)
    with pytest.raises(MindError, match="SVD did not converge"):
        ma.jit(lambda y: f(y, y)[0] if function == "lstsq" else f(y), target=target)(x)
