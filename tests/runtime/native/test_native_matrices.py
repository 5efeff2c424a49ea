"""LU decompositions, triangular systems and Cholesky factors as kernels: bits of NumPy's where stated, else its numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.op import value_of
from mind_lowering.custom_calls import register_custom_call
from mind_lowering.native.kernels_matrices import MOST_ROWS
from native_control_programs import dot, scan
from native_same import same, text, types, way
from ptir_forms import program, shape
from ptir_rows import typed

__all__ = ["way"]
rng = np.random.default_rng(0)
SIZES = [1, 2, 3, 5, 16, 17, 33, 70]


def call(kind: str, *operands: Any, attrs: Any = None) -> Any:
    """A call, with the results that its function has."""
    last = operands[-1]
    *batch, m, n = shape(last)
    kinds = [value_of(last).type]
    if kind == "lu":
        kinds += [typed(text("si32", (*batch, size))) for size in (min(m, n), m)]
    made = ptir.CustomCallOp(*operands, target=f"mind.linalg.{kind}.v1", attrs=attrs or {}, result_types=kinds)
    return list(made.results)


@pytest.mark.parametrize("batch", [(), (3,)])
def test_a_matrix_without_a_factor_is_an_error_by_default(batch: tuple[int, ...]) -> None:
    x = positive(*batch, 5)
    near(run(lambda x: call("cholesky", x), x)[0], np.linalg.cholesky(x))
    x[..., 2, 2] = -1
    for attrs in ({}, {"failure": "error"}):
        with pytest.raises(MindError, match=r"E6006: .*cholesky.*Matrix is not positive definite"):
            run(lambda x, attrs=attrs: call("cholesky", x, attrs=attrs), x)
    x[..., 2, 2] = np.nan
    found = run(lambda x: call("cholesky", x), x)[0]
    assert np.isnan(found[..., 2, 2]).all()
    assert not found[..., 0, 1:].any()


def factor(x: Any) -> Any:
    return call("cholesky", x, attrs={"failure": "nan"})


def normal(*sizes: int, dtype: str = "float32") -> Any:
    return rng.standard_normal(sizes).astype(dtype)


def positive(*sizes: int, dtype: str = "float32") -> Any:
    x = normal(*sizes, sizes[-1], dtype=dtype)
    return x @ np.swapaxes(x, -1, -2) + sizes[-1] * np.eye(sizes[-1], dtype=dtype)


def triangular(*sizes: int, dtype: str = "float32") -> Any:
    """A matrix whose both triangles are well conditioned."""
    return normal(*sizes, sizes[-1], dtype=dtype) / sizes[-1] + 2 * np.eye(sizes[-1], dtype=dtype)


def run(body: Callable[..., Any], *arrays: Any) -> Sequence[Any]:
    """Results of kernels alone."""
    compiled = mind_runtime.compile(program(types(*arrays), body), target="native")
    assert "0 ops on NumPy" in compiled.explain()[0]
    found = compiled(*arrays)
    return found if isinstance(found, tuple) else (found,)


def near(found: Any, wanted: Any) -> None:
    """Sums of n products are as precise as their order allows."""
    scale = np.abs(wanted).max(initial=1)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=0, atol=max(wanted.shape[-2:]) * np.finfo(wanted.dtype).eps * scale * 4)


@pytest.mark.exhaustive
@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("n", SIZES)
def test_decompositions_have_the_bits_of_numpy(n: int) -> None:
    lu = lambda x: call("lu", x)  # noqa: E731
    same(lu, normal(n, n))
    same(lu, normal(3, n, n + 5, dtype="float64"))
    same(lu, normal(2, 1, n + 21, n))


@pytest.mark.usefixtures("way")
def test_pivots_are_the_first_of_the_greatest_also_zeros_and_nan() -> None:
    lu = lambda x: call("lu", x)  # noqa: E731
    whole = rng.integers(-2, 3, (40, 9, 9)).astype(np.float32)
    same(lu, whole)
    whole[:, :, 4] = 0
    whole[::3, 5, 2] = np.nan
    whole[::5, 7, 3] = np.inf
    same(lu, whole)
    same(lu, np.zeros((20, 20), np.float32))


@pytest.mark.usefixtures("way")
def test_a_decomposition_multiplies_to_what_was_given() -> None:
    x = normal(50, 37, dtype="float64")
    packed, pivots, order = run(lambda x: call("lu", x), x)
    lower, upper = np.tril(packed[:, :37], -1) + np.eye(50, 37), np.triu(packed[:37])
    np.testing.assert_allclose(lower @ upper, x[order], atol=1e-13)
    assert np.abs(np.tril(lower, -1)).max() <= 1
    assert (pivots >= np.arange(37)).all()


@pytest.mark.exhaustive
@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", SIZES)
def test_triangular_systems(n: int, dtype: str) -> None:
    """Of one triangle; the other one is not read, so that a NaN in it does not matter."""
    for columns in (1, 3, 65, 130):
        a, b = triangular(n, dtype=dtype), normal(n, columns, dtype=dtype)
        for kind, triangle in (("solve_lower", np.tril), ("solve_upper", np.triu)):
            spoilt = np.where(triangle(np.ones((n, n))) == 1, a, np.nan).astype(dtype)
            (found,) = run(lambda a, b, kind=kind: call(kind, a, b), spoilt, b)
            near(found, np.linalg.solve(triangle(a).astype("float64"), b).astype(dtype))


@pytest.mark.exhaustive
@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", SIZES)
def test_cholesky_factors(n: int, dtype: str) -> None:
    """The upper triangle is not read, as NumPy does not, and zeros are in it."""
    x = positive(3, n, dtype=dtype)
    spoilt = np.where(np.tri(n) == 1, x, np.nan).astype(dtype)
    (found,) = run(factor, spoilt)
    near(found, np.linalg.cholesky(x.astype("float64")).astype(dtype))
    assert not np.triu(found, 1).any()


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("spoil", [0.0, -1.0, np.nan, -np.inf])
@pytest.mark.parametrize("at", [0, 4, 16, 17])
def test_a_matrix_without_a_factor_gives_nan_and_no_other_does(spoil: float, at: int) -> None:
    """As the function for NumPy: all of that matrix, the upper triangle too; but for NaN, which LAPACKs treat differently."""
    x = np.stack([np.eye(18, dtype=np.float32)] * 3)
    x[1, at, at] = spoil
    if spoil == spoil:
        same(factor, x)
    (found,) = run(factor, x)
    assert np.isnan(found[1]).all()
    assert not np.isnan(found[[0, 2]]).any()


@pytest.mark.usefixtures("way")
def test_operands_of_any_layout() -> None:
    """Transposed, a part, a broadcast, and results that are read on."""
    x, a, b = normal(4, 24, 12), triangular(12), normal(12, 7)
    same(lambda x: call("lu", ptir.TransposeOp(x, perm=[0, 2, 1])), x)
    same(lambda x: call("lu", ptir.SliceOp(x, starts=[1, 3, 2], sizes=[2, 17, 9])), x)
    (found,) = run(lambda a, b: call("solve_lower", ptir.TransposeOp(a, perm=[1, 0]), b), a, b)
    near(found, np.linalg.solve(np.tril(a.T), b))
    (found,) = run(lambda a, b: call("solve_upper", a, ptir.TransposeOp(b, perm=[1, 0])), a, np.ascontiguousarray(b.T))
    near(found, np.linalg.solve(np.triu(a), b))
    (found,) = run(lambda a: factor(ptir.AddOp(a, ptir.TransposeOp(a, perm=[1, 0]))), a)
    near(found, np.linalg.cholesky(a + a.T))
    many = normal(5, 12, 2)

    def repeated(a: Any, b: Any) -> Any:
        return ptir.ExpOp(call("solve_lower", ptir.BroadcastToOp(a, result_shape=[5, 12, 12]), b)[0])

    (found,) = run(repeated, a, many)
    near(found, np.exp(np.linalg.solve(np.tril(a), many)))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("sizes", [(0, 0), (0, 3), (3, 0), (0, 3, 3), (2, 0, 0)])
def test_no_elements(sizes: tuple[int, ...]) -> None:
    empty = np.zeros(sizes, np.float32)
    same(lambda x: call("lu", x), empty)
    if sizes[-1] == sizes[-2]:
        same(factor, empty)
        same(lambda a, b: call("solve_lower", a, b), empty, empty)
    if sizes == (3, 0):
        same(lambda a, b: call("solve_upper", a, b), triangular(3), empty)


@pytest.mark.usefixtures("way")
def test_a_loop_around_a_system_is_native() -> None:
    """A filter whose gain comes from a factor: three calls in each iteration."""

    def step(carry: Any, x: Any) -> Any:
        lower = factor(carry)[0]
        half = call("solve_lower", lower, x)[0]
        found = call("solve_upper", ptir.TransposeOp(lower, perm=[1, 0]), half)[0]
        return ptir.AddOp(carry, dot(half, ptir.TransposeOp(half, perm=[1, 0]))), found

    a, xs = positive(6, dtype="float64"), normal(20, 6, 2, dtype="float64")
    last, found = run(lambda a, xs: scan(step, a, xs, stacks=1), a, xs)
    wanted = a
    for x, solved in zip(xs, found, strict=True):
        near(solved, np.linalg.solve(wanted, x))
        half = np.linalg.solve(np.linalg.cholesky(wanted), x)
        wanted = wanted + half @ half.T
    near(last, wanted)


def reason(body: Callable[..., Any], *arrays: Any) -> str:
    """What `--explain` says of the step on NumPy."""
    lines = mind_runtime.compile(program(types(*arrays), body), target="native").explain()
    (line,) = [line for line in lines if "custom_call" in line]
    return line


def test_what_is_left_to_numpy_and_why() -> None:
    x = positive(4)
    assert "kernels do not decompose matrices of cf32" in reason(lambda x: call("lu", x), x.astype(np.complex64))
    assert f"1 to {MOST_ROWS['cholesky']} rows" in reason(factor, positive(MOST_ROWS["cholesky"] + 1))
    register_custom_call("mind.linalg.other.v1", lambda xp, x: x)
    assert "its function is a Python function" in reason(lambda x: call("other", x), x)
    assert f"1 to {MOST_ROWS['inv']} rows" in reason(lambda x: call("inv", x), positive(MOST_ROWS["inv"] + 1))
    with pytest.raises(MindError, match="E8002"):
        mind_runtime.compile(program(types(x), lambda x: call("lu", x, attrs={"mode": 1})), target="native")(x)


@pytest.mark.parametrize(
    ("kind", "shapes", "results"),
    [
        ("lu", [(3,)], [(3,)]),
        ("lu", [], []),
        ("lu", [(3, 3)], [(3, 3)]),
        ("solve_lower", [(3, 3)], [(3, 3)]),
        ("solve_lower", [(3, 4), (3, 2)], [(3, 2)]),
        ("solve_lower", [(3, 3), (2, 3, 2)], [(2, 3, 2)]),
        ("solve_upper", [(3, 3), (3, 2)], [(3, 3)]),
        ("cholesky", [(3, 4)], [(3, 4)]),
        ("inv", [(3, 4)], [(3, 4)]),
        ("inv", [(3,)], [(3,)]),
        ("det", [(3, 3)], [(3,)]),
        ("solve", [(3, 3)], [(3, 3)]),
        ("solve", [(3, 3), (4, 2)], [(4, 2)]),
        ("solve", [(3, 3), (2, 3, 2)], [(3, 2)]),
    ],
)
def test_calls_that_are_not_those_of_the_functions_go_to_numpy(kind: str, shapes: Any, results: Any) -> None:
    """What they do there is as without kernels: an error, or a result."""

    def body(*operands: Any) -> Any:
        attrs = {"failure": "nan"} if kind == "cholesky" else {}
        types = [typed(text("f32", shape)) for shape in results]
        called = ptir.CustomCallOp(*operands, target=f"mind.linalg.{kind}.v1", attrs=attrs, result_types=types)
        return list(called.results) or ptir.IotaOp(shape=[2], dtype="si32", axis=0)

    same(body, *(normal(*shape) for shape in shapes), native_only=False)


def test_systems_of_two_dtypes_go_to_numpy() -> None:
    same(lambda a, b: call("solve_lower", a, b), triangular(3), normal(3, 2, dtype="float64"), native_only=False)
