"""Small matrices of a batch, one in each lane: the bits of single matrices where stated, else the numbers of LAPACK."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from matrix_calls import call, calls, normal, run
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_lowering.native.matrix_steps import ALONE, MOST_IN_SPECTRA
from native_same import same, types, way
from ptir_forms import program

__all__ = ["way"]
pytestmark = pytest.mark.usefixtures("way")

ONE_WAY = pytest.mark.parametrize("way", [""], indirect=True)
BOTH = pytest.mark.parametrize("dtype", ["float32", "float64"])
SIZES = [1, 2, 3, 4, 5, 7, 9, 16]
BATCHES = [(4,), (9,), (3, 7)]
FEW = [(), (1,), (2,), (3,), (1, 2)]
"""Batches of which only what has no other kernel is in lanes, or in one."""


def regular(seed: int, batch: tuple[int, ...], n: int, dtype: str) -> Any:
    """Matrices whose conditions are good, with pivots that are not on the diagonal."""
    x = normal(seed, *batch, n, n) / max(1, n) + 2 * np.eye(n)
    order = np.random.default_rng(seed).permuted(np.broadcast_to(np.arange(n), (*batch, n)), axis=-1)
    return np.take_along_axis(x, order[..., None], -2).astype(dtype)


def near(found: np.ndarray, wanted: Any, size: int = 1) -> None:
    """To some units of the last place of the greatest, as the order of sums allows; f32 is rounded once."""
    assert found.shape == wanted.shape
    units = 4 if found.dtype == np.float32 else 64 * size
    np.testing.assert_allclose(found, wanted, rtol=0, atol=units * np.finfo(found.dtype).eps * np.abs(wanted).max(initial=1))


@pytest.mark.exhaustive
@BOTH
@pytest.mark.parametrize("n", SIZES)
def test_lu_has_the_bits_of_numpy(n: int, dtype: str) -> None:
    for seed, batch in enumerate(BATCHES):
        same(calls("lu"), regular(seed, batch, n, dtype))
    same(calls("lu"), normal(3, 5, n, n + 3, dtype=dtype))
    same(calls("lu"), normal(4, 5, n + 2, n, dtype=dtype))


@BOTH
def test_pivots_are_the_first_of_the_greatest_also_zeros_and_nan(dtype: str) -> None:
    x = np.random.default_rng(0).integers(-2, 3, (40, 5, 5)).astype(dtype)
    same(calls("lu"), x)
    x[:, :, 2] = 0
    x[::3, 3, 1] = np.nan
    x[::5, 4, 2] = np.inf
    same(calls("lu"), x)
    same(calls("lu"), np.zeros((6, 3, 3), dtype))


@pytest.mark.exhaustive
@BOTH
@pytest.mark.parametrize("n", SIZES)
def test_systems_inverses_and_determinants(n: int, dtype: str) -> None:
    for seed, batch in enumerate([*BATCHES, *(FEW if n in (2, 5) else ())]):
        a, b = regular(seed, batch, n, dtype), normal(seed + 9, *batch, n, 1 + seed, dtype=dtype)
        exact = a.astype("float64")
        near(run(calls("solve"), a, b)[0], np.linalg.solve(exact, b), n)
        near(run(calls("inv"), a)[0], np.linalg.inv(exact), n)
        near(run(calls("det"), a)[0], np.linalg.det(exact), n)
        for found, wanted in zip(run(calls("slogdet"), a), np.linalg.slogdet(exact), strict=True):
            near(found, wanted, n)


@pytest.mark.exhaustive
@BOTH
@pytest.mark.parametrize("n", SIZES)
def test_triangular_systems_read_one_triangle(n: int, dtype: str) -> None:
    for columns in (1, 3):
        a, b = normal(1, 11, n, n) / n + 2 * np.eye(n), normal(2, 11, n, columns, dtype=dtype)
        for kind, triangle in (("solve_lower", np.tril), ("solve_upper", np.triu)):
            spoilt = np.where(triangle(np.ones((n, n))) == 1, a, np.nan).astype(dtype)
            exact = triangle(np.nan_to_num(spoilt)).astype("float64")
            found, wanted = run(calls(kind), spoilt, b)[0], np.linalg.solve(exact, b)
            np.testing.assert_allclose(found, wanted, rtol=0, atol=16 * n * np.finfo(dtype).eps * np.abs(wanted).max())


@pytest.mark.exhaustive
@BOTH
@pytest.mark.parametrize("n", SIZES)
def test_cholesky_factors(n: int, dtype: str) -> None:
    """The upper triangle is not read, and zeros are in it; where there is no factor, NaN is."""
    x = normal(0, 13, n, n)
    x = (x @ np.swapaxes(x, -1, -2) + np.eye(n)).astype(dtype)
    wanted = np.linalg.cholesky(x.astype("float64"))
    spoilt = np.where(np.tri(n) == 1, x, np.nan).astype(dtype)
    for attrs in ({}, {"failure": "nan"}):
        (found,) = run(calls("cholesky", attrs), spoilt)
        near(found, wanted, n)
        assert not np.triu(found, 1).any()
    spoilt[::3, n - 1, n - 1] = -1
    (found,) = run(calls("cholesky", {"failure": "nan"}), spoilt)
    assert np.isnan(found[::3]).all()
    near(found[1::3], wanted[1::3], n)


@pytest.mark.exhaustive
@BOTH
@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 1), (1, 3), (2, 2), (4, 4), (6, 4), (4, 6), (9, 9), (12, 5)])
def test_reflectors_are_those_of_lapack(m: int, n: int, dtype: str) -> None:
    """Q and R by their signs too, complete ones, and reflectors with their scales."""
    for batch in (*BATCHES[1:], *(FEW if n == 4 else ())):
        x = normal(m * n, *batch, m, n, dtype=dtype)
        exact = x.astype("float64")
        for mode in ("reduced", "complete"):
            for found, wanted in zip(run(calls("qr", {"mode": mode}), x), np.linalg.qr(exact, mode), strict=True):
                near(found, wanted, m)
        packed, scales, q = run(calls("geqrf"), x)
        reflectors, wanted = np.linalg.qr(exact, "raw")
        near(packed, np.swapaxes(reflectors, -1, -2), m)
        near(scales, wanted, m)
        near(q, np.linalg.qr(exact)[0], m)


@ONE_WAY
def test_reflectors_of_zeros_and_of_numbers_whose_squares_are_beyond() -> None:
    x = normal(0, 8, 5, 3)
    x[0] = 0
    x[1, 1:] = 0
    x[2, :, 1] = x[2, :, 0]
    x[3] *= 1e200
    x[4] *= 1e-200
    x[5, 0, 0] = 0
    for found, wanted in zip(run(calls("qr", {"mode": "reduced"}), x), np.linalg.qr(x), strict=True):
        scale = np.abs(wanted).max((-1, -2), keepdims=True)
        np.testing.assert_allclose(
            found[[0, 1, 3, 4, 5]] / np.where(scale, scale, 1)[[0, 1, 3, 4, 5]],
            (wanted / np.where(scale, scale, 1))[[0, 1, 3, 4, 5]],
            atol=1e-14,
        )
    q, r = run(calls("qr", {"mode": "reduced"}), x)
    np.testing.assert_allclose(q[2] @ r[2], x[2], atol=1e-14)


@BOTH
def test_determinants_of_singular_matrices_and_nan(dtype: str) -> None:
    x = np.ones((6, 3, 3), dtype)
    x[1] = np.eye(3)
    x[2, 1, 1] = np.nan
    x[3] = -np.eye(3)[[1, 0, 2]]
    np.testing.assert_array_equal(run(calls("det"), x)[0], [0, 1, np.nan, 1, 0, 0])
    if dtype == "float64":
        diagonals = [[1e200, 1e200, 1e-300], [1e-300, -1e-300, 1e300], [0, 1e300, 1e300], [1e-310, 1e20, 1], [np.inf, 2, 1]] * 2
        wanted = np.array([1e100, -1e-300, 0, 1e-290, np.inf] * 2)
        np.testing.assert_allclose(run(calls("det"), np.stack([np.diag(d) for d in diagonals]))[0], wanted, rtol=1e-13)
    sign, logarithm = run(calls("slogdet"), x)
    np.testing.assert_array_equal(sign, [0, 1, np.nan, 1, 0, 0])
    np.testing.assert_array_equal(logarithm, [-np.inf, 0, np.nan, 0, -np.inf, -np.inf])


@BOTH
@pytest.mark.parametrize("n", [2, 5])
def test_matrices_without_a_result_are_errors_as_on_numpy(n: int, dtype: str) -> None:
    """One among others, in the first, the last and another group of lanes; NaN is none."""
    for at in (0, 13, 20):
        x = np.broadcast_to(np.eye(n, dtype=dtype), (21, n, n)).copy()
        x[at, n - 1] = 0
        b = np.ones((21, n, 1), dtype)
        for body, arrays in ((calls("inv"), (x,)), (calls("solve"), (x, b)), (calls("cholesky"), (x,))):
            same(body, *arrays)
            with pytest.raises(MindError, match=r"E6006: .*(Singular matrix|Matrix is not positive definite)"):
                mind_runtime.compile(program(types(*arrays), body), target="native")(*arrays)
        x[at, n - 1] = np.nan
        assert np.isnan(run(calls("inv"), x)[0][at]).any()


@BOTH
@pytest.mark.parametrize("n", [2, 5])
def test_nan_is_no_failure_of_a_factor(n: int, dtype: str) -> None:
    """A matrix with NaN has a factor with NaN, and others of the batch have theirs."""
    for at in [(0, 0), (n - 1, 0), (n - 1, n - 1)]:
        x = np.broadcast_to(2 * np.eye(n, dtype=dtype), (9, n, n)).copy()
        x[(4, *at)] = np.nan
        (found,) = run(calls("cholesky"), x)
        kept = np.arange(9) != 4
        np.testing.assert_allclose(found[kept], np.linalg.cholesky(x[kept]), rtol=1e-6)
        assert np.isnan(found[4]).any()


@BOTH
@pytest.mark.parametrize(("m", "n"), [(2, 1), (3, 1), (2, 2), (6, 4)])
def test_reflectors_of_nan_are_nan(m: int, n: int, dtype: str) -> None:
    """Also where it is the only number below the diagonal that is not 0."""
    x = np.broadcast_to(np.eye(m, n, dtype=dtype), (9, m, n)).copy()
    x[4, m - 1, 0] = np.nan
    exact = x.astype("float64")
    for found, wanted in zip(run(calls("qr", {"mode": "reduced"}), x), np.linalg.qr(exact), strict=True):
        np.testing.assert_allclose(found[[0, 8]], wanted[[0, 8]])
        assert np.isnan(found[4]).any()
    scales = run(calls("geqrf"), x)[1]
    assert np.isnan(scales[4, 0])


@BOTH
@pytest.mark.parametrize(("m", "n"), [(1, 3), (2, 2), (3, 4)])
def test_infinities_that_nothing_reflects_stay(m: int, n: int, dtype: str) -> None:
    x = np.broadcast_to(np.eye(m, n, dtype=dtype), (9, m, n)).copy()
    x[4, 0, n - 1] = np.inf
    for found, wanted in zip(run(calls("qr", {"mode": "reduced"}), x), np.linalg.qr(x.astype("float64")), strict=True):
        np.testing.assert_array_equal(found, wanted)


@ONE_WAY
def test_operands_of_any_layout() -> None:
    """Transposes, slices, one matrix for all, batches whose axes are apart, and results that are parts of others."""
    x, b = regular(1, (6, 5), 4, "float64"), normal(2, 6, 5, 4, 2)
    turned = lambda v: ptir.TransposeOp(v, perm=(0, 1, 3, 2)).result  # noqa: E731
    same(lambda v: call("lu", turned(v)), x)
    near(run(lambda v: call("inv", turned(v)), x)[0], np.linalg.inv(np.swapaxes(x, -1, -2)), 4)
    swapped = lambda v: ptir.TransposeOp(v, perm=(1, 0, 2, 3)).result  # noqa: E731
    near(run(lambda v: call("det", swapped(v)), x)[0], np.linalg.det(np.swapaxes(x, 0, 1)), 4)
    outer = lambda v: ptir.TransposeOp(v, perm=(2, 3, 0, 1)).result  # noqa: E731
    near(run(lambda v: call("inv", outer(v)), np.ascontiguousarray(x.transpose(2, 3, 0, 1)))[0], np.linalg.inv(x), 4)
    part = lambda v: ptir.SliceOp(v, starts=(1, 0, 1, 0), sizes=(4, 5, 3, 3)).result  # noqa: E731
    near(run(lambda v: call("qr", part(v), attrs={"mode": "reduced"}), x)[1], np.linalg.qr(x[1:5, :, 1:, :3])[1], 4)
    one = lambda a, v: call("solve", ptir.BroadcastToOp(a, result_shape=(6, 5, 4, 4)).result, v)  # noqa: E731
    near(run(one, x[0, 0], b)[0], np.linalg.solve(x[0, 0], b), 4)
    joined = lambda v: ptir.ConcatOp(v, call("inv", v)[0], axis=3).result  # noqa: E731
    near(run(joined, x)[0], np.concatenate([x, np.linalg.inv(x)], 3), 4)


@ONE_WAY
def test_which_matrices_have_lanes() -> None:
    """Batches of four, and matrices that fit on the stack; other ones are NumPy's, or have rows in lanes."""

    def explained(kind: str, *sizes: int, dtype: str = "float64", attrs: Any = None) -> str:
        x = regular(0, sizes[:-1], sizes[-1], dtype)
        return "\n".join(mind_runtime.compile(program(types(x), calls(kind, attrs)), target="native").explain())

    assert "in lanes" in explained("inv", 4, 32)
    assert "in lanes" not in explained("inv", 4, 33)
    assert "in lanes" not in explained("inv", 3, 4)
    assert "in lanes" in explained("det", 4, 45)
    assert "in lanes" in explained("lu", 4, 40)
    assert "in lanes" not in explained("lu", 4, 45)
    assert "in lanes" not in explained("lu", 3, 4)
    assert "in lanes" in explained("cholesky", 4, 8, attrs={"failure": "error"})
    assert "in lanes" not in explained("cholesky", 3, 8)
    assert "in lanes" in explained("slogdet", 3, ALONE["slogdet"])
    assert f"1 to {ALONE['slogdet']} rows" in explained("slogdet", 3, ALONE["slogdet"] + 1)
    for kind in ("eigh", "svdvals"):
        assert "in lanes" in explained(kind, 4, MOST_IN_SPECTRA)
        assert "NumPy has LAPACK" in explained(kind, 4, MOST_IN_SPECTRA + 1)
        assert "0 ops on NumPy" in explained(kind, ALONE[kind])
        assert "NumPy has LAPACK" in explained(kind, ALONE[kind] + 1)
    assert "does not take its attributes" in explained("qr", 4, 4, attrs={"mode": "raw"})


@ONE_WAY
def test_matrices_without_elements() -> None:
    for empty in (np.zeros((5, 0, 0)), np.zeros((0, 3, 3))):
        for kind in ("det", "slogdet", "inv", "lu"):
            same(calls(kind), empty, native_only=False)
    for sizes in ((5, 3, 0), (5, 0, 3), (0, 2, 2)):
        same(calls("qr", {"mode": "complete"}), np.zeros(sizes), native_only=False)
