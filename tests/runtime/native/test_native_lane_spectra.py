"""Eigenvalues and singular values of small matrices of a batch, one in each lane: to some units of the norm, as LAPACK's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from matrix_calls import call, calls, normal, run
from mind_dialect import ptir
from mind_dialect.errors import MindError
from native_same import types, way
from ptir_forms import program

__all__ = ["way"]
pytestmark = pytest.mark.usefixtures("way")

BOTH = pytest.mark.parametrize("dtype", ["float32", "float64"])
BATCHES = [(4,), (9,), (3, 7)]
FEW = [(), (1,), (2,), (3,), (1, 2)]
HUGE = {"float32": 1e30, "float64": 1e290}


def scaled(x: np.ndarray, dtype: str) -> list[np.ndarray]:
    """Matrices, and the same whose squares overflow or underflow."""
    return [(x * factor).astype(dtype) for factor in (1.0, HUGE[dtype], 1 / HUGE[dtype])]


def close(found: np.ndarray, wanted: Any, dtype: str, size: int, norm: Any = 1.0) -> None:
    """To some units of the norm of each matrix."""
    assert found.shape == np.shape(wanted)
    assert (np.abs(found - wanted) <= (8 + 2 * size) * np.finfo(dtype).eps * norm).all()


def symmetric(n: int, batch: tuple[int, ...]) -> list[np.ndarray]:
    """Matrices of several spectra: any, some zeros, and two numbers alone."""
    x, half = normal(0, *batch, n, n), normal(1, *batch, n, max(1, n // 2))
    turn = np.linalg.qr(x)[0]
    two = turn * np.where(np.arange(n) % 2, -1.0, 1.0) @ np.swapaxes(turn, -1, -2)
    found = [x + np.swapaxes(x, -1, -2), half @ np.swapaxes(half, -1, -2), two, np.zeros_like(x), np.eye(n) + 0 * x]
    return [np.tril(y) + np.swapaxes(np.tril(y, -1), -1, -2) for y in found]


@pytest.mark.exhaustive
@BOTH
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 13, 16])
def test_eigenvalues(n: int, dtype: str) -> None:
    """They ascend; the upper triangle is not read."""
    for batch in [*BATCHES, *(FEW if n in (2, 5) else ())]:
        for exact in symmetric(n, batch):
            for x in scaled(exact, dtype):
                read = np.where(np.tri(n) == 1, x, np.nan).astype(dtype)
                values, vectors = run(calls("eigh"), read)
                alone = run(calls("eigvalsh"), read)[0]
                whole = x.astype("float64")
                norm = np.maximum(np.abs(whole).max((-1, -2)), 1e-307)[..., None]
                for found in (values, alone):
                    assert found.dtype == dtype
                    close(found / norm, np.linalg.eigvalsh(whole) / norm, dtype, n)
                    assert (np.diff(found) >= 0).all()
                v = vectors.astype("float64")
                close(whole / norm[..., None] @ v, v * (values / norm)[..., None, :], dtype, n)
                close(np.swapaxes(v, -1, -2) @ v, np.broadcast_to(np.eye(n), v.shape), dtype, n)


def general(m: int, n: int, batch: tuple[int, ...]) -> list[np.ndarray]:
    """Matrices of several spectra: any, a lower rank, ones alone, and of columns of different sizes."""
    x, k = normal(0, *batch, m, n), min(m, n)
    low = normal(1, *batch, m, max(1, k // 2)) @ normal(2, *batch, max(1, k // 2), n)
    u, _, vh = np.linalg.svd(x, full_matrices=False)
    return [x, low, u @ vh, np.zeros_like(x), x * 10.0 ** -np.arange(n)]


@pytest.mark.exhaustive
@BOTH
@pytest.mark.parametrize("sizes", [(1, 1), (1, 3), (3, 1), (3, 3), (5, 3), (3, 5), (4, 4), (8, 8), (20, 6), (9, 16)])
def test_singular_values(sizes: tuple[int, int], dtype: str) -> None:
    """They descend; vectors are orthonormal for zeros, too."""
    m, n = sizes
    k, size = min(sizes), max(sizes)
    for batch in [*BATCHES, *(FEW if sizes in ((3, 5), (5, 3)) else ())]:
        for exact in general(m, n, batch):
            for x in scaled(exact, dtype):
                whole = x.astype("float64")
                wanted = np.linalg.svd(whole, compute_uv=False)
                norm = np.maximum(wanted.max(-1), 1e-307)[..., None]
                for full in (False, True):
                    u, values, vh = (y.astype("float64") for y in run(calls("svd", {"full_matrices": full}), x))
                    close(values / norm, wanted / norm, dtype, size)
                    assert (np.diff(values) <= 0).all()
                    product = u[..., :k] * (values / norm)[..., None, :] @ vh[..., :k, :]
                    close(product, whole / norm[..., None], dtype, size)
                    for v in (np.swapaxes(u, -1, -2), vh):
                        close(
                            v @ np.swapaxes(v, -1, -2),
                            np.broadcast_to(np.eye(v.shape[-2]), (*batch, *v.shape[-2:-1] * 2)),
                            dtype,
                            size,
                        )
                close(run(calls("svdvals"), x)[0] / norm, wanted / norm, dtype, size)


def test_values_without_vectors() -> None:
    """Vectors that nothing reads are not computed."""
    x = normal(0, 9, 4, 4)
    for kind, number, name in (("eigh", 0, "eigvalsh"), ("svd", 1, "svdvals")):
        attrs = {"full_matrices": True} if kind == "svd" else {}
        compiled = mind_runtime.compile(program(types(x), lambda v: call(kind, v, attrs=attrs)[number]), target="native")  # noqa: B023
        assert f"{name} of [9, 4, 4]" in "\n".join(compiled.explain())


def test_long_matrices_are_left_to_lapack() -> None:
    """It decomposes them first, to square ones."""
    for sizes, found in (((20, 6), True), ((21, 6), False), ((6, 21), False), ((9, 40, 16), True), ((9, 41, 16), False)):
        compiled = mind_runtime.compile(program(types(np.zeros(sizes)), calls("svdvals")), target="native")
        assert ("0 ops on NumPy" in compiled.explain()[0]) == found, sizes


def test_operands_and_results_in_any_layout() -> None:
    x = normal(0, 4, 5, 9)
    turned = run(lambda v: call("svdvals", ptir.TransposeOp(v, perm=(2, 1, 0)).result), x)[0]
    np.testing.assert_allclose(turned, np.linalg.svd(x.transpose(2, 1, 0), compute_uv=False), rtol=1e-13)

    def columns(v: Any) -> Any:
        return ptir.TransposeOp(call("svd", v, attrs={"full_matrices": False})[2], perm=(0, 2, 1)).result

    vh = run(lambda v: call("svd", v, attrs={"full_matrices": False})[2], x)[0]
    np.testing.assert_array_equal(run(columns, x)[0], vh.transpose(0, 2, 1))


@BOTH
@pytest.mark.parametrize("kind", ["eigh", "eigvalsh", "svd", "svdvals"])
@pytest.mark.parametrize("n", [1, 3])
def test_matrices_that_are_not_finite(n: int, kind: str, dtype: str) -> None:
    """They are an error, as NumPy's, or have NaN for all results, and their neighbours their own."""
    x = (np.arange(1.0, 10)[:, None, None] * np.eye(n)).astype(dtype)
    x[6:, n - 1, 0] = np.nan, np.inf, -np.inf
    attrs = {"full_matrices": True} if kind == "svd" else {}
    found = run(calls(kind, attrs | {"failure": "nan"}), x)
    for y in found:
        assert y.dtype == dtype
        assert np.isnan(y[6:]).all()
        assert np.isfinite(y[:6]).all()
    np.testing.assert_array_equal(found[kind == "svd"][:6], np.arange(1, 7)[:, None] + np.zeros(n))
    for bad in x[6:]:
        with pytest.raises(MindError, match="did not converge") as caught:
            run(calls(kind, attrs), bad)
        assert caught.value.code == "E6006"
