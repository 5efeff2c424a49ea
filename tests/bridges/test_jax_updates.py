"""Updates of one window of an array, as of `x.at[i].set(row)`: they are slices that loops update in place, and no scatters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mind_passes.functional import value_and_grad
from mind_runtime import compile

jax = pytest.importorskip("jax", reason="JAX is not installed")
import jax.numpy as jnp  # noqa: E402, after the skip
from jax import lax  # noqa: E402, after the skip

from mind_bridges.jax import from_jax  # noqa: E402, after the skip

RNG = np.random.default_rng(0)
X, ROW, COLUMN = np.float32(RNG.normal(size=(6, 5))), np.float32(RNG.normal(size=5)), np.float32(RNG.normal(size=6))


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=2e-5, atol=1e-6)


def agree(f: Callable[..., Any], *arrays: Any, wrt: int = 2, target: str = "numpy") -> str:
    """Compare a value and the gradients of its squares with JAX's; return the program."""
    module = from_jax(f, *arrays)
    expected = jax.jit(f)(*arrays)
    close(compile(module, target=target)(*arrays), expected)
    loss = lambda *xs: jnp.sum(f(*xs) ** 2)  # noqa: E731
    gradient = value_and_grad(from_jax(loss, *arrays), "main", wrt=[f"xs[{i}]" for i in range(wrt)])
    found = compile(gradient, "main_grad", target=target)(*arrays)
    for a, b in zip(found[1:], jax.grad(loss, tuple(range(wrt)))(*arrays), strict=True):
        close(a, b)
    return str(module)


STATIC: dict[str, tuple[Callable[..., Any], np.ndarray]] = {
    "row": (lambda x, v: x.at[2].set(v), ROW),
    "last row": (lambda x, v: x.at[-1].add(v), ROW),
    "column": (lambda x, v: x.at[:, 3].mul(v), COLUMN),
    "element": (lambda x, v: x.at[1, 4].set(v[0]), ROW),
    "inside": (lambda x, v: x.at[1:-1, 1:-1].add(v[1:4] * x[2:, :-2]), ROW),
    "rows": (lambda x, v: x.at[2:4].subtract(v), ROW),
    "everything": (lambda x, v: x.at[:].set(v), ROW),
    "outside": (lambda x, v: x.at[17].set(v, mode="drop"), ROW),
}


@pytest.mark.parametrize("target", ["numpy", "native", "xla"])
@pytest.mark.parametrize("name", STATIC)
def test_a_window_at_a_constant_place(name: str, target: str) -> None:
    if target == "native":
        pytest.importorskip("llvmlite")
    f, v = STATIC[name]
    assert "scatter" not in agree(f, X, v, target=target)


@pytest.mark.parametrize("dtype", [np.int32, np.int8, np.uint8])
@pytest.mark.parametrize("kind", ["set", "add", "multiply", "subtract"])
def test_places_that_are_data_are_dropped_outside(kind: str, dtype: type) -> None:
    f = lambda x, v, i: getattr(x.at[i], kind)(v)  # noqa: E731
    for place in (0, 5, 6, 100, -1, -6, -7):
        if place >= 0 or dtype is not np.uint8:
            assert "scatter" not in agree(f, X, ROW, np.array(place, dtype))


@pytest.mark.parametrize("start", [(0, 0), (4, 3), (5, 3), (4, 4), (-1, 0), (9, 9)])
@pytest.mark.parametrize("name", ["scatter", "scatter_add", "scatter_sub", "scatter_mul"])
def test_a_window_that_leaves_an_array_in_part_is_dropped(name: str, start: tuple[int, int]) -> None:
    numbers = lax.ScatterDimensionNumbers((0, 1), (), (0, 1))
    f = lambda x, v, i: getattr(lax, name)(x, i, v, numbers, mode="fill", unique_indices=True)  # noqa: E731
    assert "scatter" not in agree(f, X, X[:2, :2] + 1, np.int32(start))


@pytest.mark.parametrize("place", [0, 5, 6, 1 << 31, (1 << 32) - 1])
def test_places_without_a_sign(place: int) -> None:
    """Places that are less than 0 as signed integers are outside, for a window of some dimensions and for several windows."""
    for numbers, window, count in (((0,), (0,), 1), ((0, 1), (0,), 1), ((0, 1), (0,), 2)):
        dimensions = lax.ScatterDimensionNumbers((1,), window, numbers)
        x, v = X, np.resize(ROW, (count, 5 if len(numbers) == 1 else 2))
        indices = np.resize(np.uint32([place, 0]), (count, len(numbers)))
        f = lambda x, v, i, d=dimensions: lax.scatter(x, i, v, d, mode="fill")  # noqa: E731
        close(compile(from_jax(f, x, v, indices))(x, v, indices), jax.jit(f)(x, v, indices))


def test_windows_of_other_dtypes() -> None:
    for x in (X > 0, X.astype(np.int32), X.astype(np.int8), X + 1j * X):
        module = from_jax(lambda x, i: x.at[i].set(x[0]).at[1:3, 2:].set(x[3:5, :3]), x, np.int32(4))
        np.testing.assert_array_equal(compile(module)(x, np.int32(4)), _expected(x))


def _expected(x: np.ndarray) -> np.ndarray:
    y = x.copy()
    y[4] = x[0]
    y[1:3, 2:] = x[3:5, :3]
    return y


@pytest.mark.parametrize("kind", ["min", "max"])
def test_extremes_and_several_windows_remain_scatters(kind: str) -> None:
    x = np.float32([1, 2, 2, 5])
    f = lambda x, v: getattr(x.at[1], kind)(v[0])  # noqa: E731
    close(compile(from_jax(f, x, ROW))(x, ROW), jax.jit(f)(x, ROW))
    assert "scatter" in str(from_jax(f, x, ROW))
    several = lambda x, v, i: x.at[i].add(v)  # noqa: E731
    assert "scatter" in agree(several, X, ROW, np.int32([1, 1, 9, -1]))
    assert "scatter" in str(from_jax(jax.vmap(several, (None, None, 0)), X, ROW, np.int32([1, 1, 9])))


def test_arrays_and_windows_without_elements() -> None:
    for f, x in ((lambda x: x.at[1:1].set(3.0), X), (lambda x: x.at[:, 0].set(3.0), X[:0])):
        close(compile(from_jax(f, x))(x), jax.jit(f)(x))


@pytest.mark.parametrize("target", ["numpy", "native"])
def test_a_loop_that_updates_an_array_does_not_copy_it_nor_its_adjoint(target: str) -> None:
    if target == "native":
        pytest.importorskip("llvmlite")

    def f(x: Any, v: Any) -> Any:
        step = lambda k, x: x.at[k, k // 2].set(x[k - 1, 0] * v[1] + x[k, 1]).at[k - 1].add(v)  # noqa: E731
        return lax.fori_loop(1, 6, step, x)

    agree(f, X, ROW, target=target)
    if target == "native":
        module = value_and_grad(from_jax(lambda x, v: jnp.sum(f(x, v) ** 2), X, ROW), "main", wrt=["x"])
        for lines in (
            compile(from_jax(f, X, ROW), target=target).explain(),
            compile(module, "main_grad", target=target).explain(),
        ):
            inside = [line for line in lines if line.startswith("native    ")]
            assert inside
            assert not any("over [6, 5]" in line for line in inside)
