"""Reductions over all pairs of points: values and gradients beside NumPy's in f64, what is stored, threads, special values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_array as ma
import mind_runtime
from machines import RUNNABLE
from mind_dialect import ptir
from mind_lowering.native import host as host_module
from mind_passes.functional import vjp
from native_checks import several
from ptir_forms import like, program, shape, spread


def pair(x: Any, axis: int, n: int) -> Any:
    """Points along one of two axes of all pairs."""
    size, length = shape(x)
    return ptir.BroadcastToOp(
        ptir.ReshapeOp(x, new_shape=(1, size, length) if axis else (size, 1, length)), result_shape=(n, n, length)
    )


def forces(x: Any, mass: Any) -> list[Any]:
    """The force on each point, softened where two are close."""
    n = shape(x)[0]
    between = ptir.SubOp(pair(x, 1, n), pair(x, 0, n))
    squared = ptir.ReduceOp(ptir.MulOp(between, between), kind="sum", axes=(2,), keepdims=True)
    near = ptir.AddOp(squared, like(squared, 0.5))
    weight = ptir.DivOp(spread(ptir.ReshapeOp(mass, new_shape=(1, n, 1)), near), ptir.MulOp(near, ptir.SqrtOp(near)))
    return [ptir.ReduceOp(ptir.MulOp(between, spread(weight, between)), kind="sum", axes=(1,), keepdims=False)]


def forces_of(x: Any, mass: Any) -> Any:
    """The same by NumPy, in f64."""
    between = x[None] - x[:, None]
    near = (between * between).sum(-1) + 0.5
    return (between * (mass / (near * np.sqrt(near)))[..., None]).sum(1)


def points(n: int, length: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, length)), abs(rng.standard_normal(n))


@pytest.mark.parametrize("length", [2, 3, 4, 5])
@pytest.mark.parametrize("n", [3, 40, 100])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_forces(n: int, length: int, dtype: str) -> None:
    """Axes that are unrolled, one that is too long, and too few points."""
    x, mass = (a.astype({"f32": np.float32, "f64": np.float64}[dtype]) for a in points(n, length))
    run = mind_runtime.compile(program(f"{dtype}[{n},{length}] {dtype}[{n}]", forces), target="native")
    expected = forces_of(x.astype(np.float64), mass.astype(np.float64))
    np.testing.assert_allclose(run(x, mass), expected, rtol=0, atol=(2e-6 if dtype == "f32" else 1e-14) * np.sqrt(n) * 8)


def test_no_array_of_all_pairs_is_stored() -> None:
    lines = mind_runtime.compile(program("f32[300,3] f32[300]", forces), target="native").explain()
    assert int(lines[0].split("arena ")[1].split()[0]) < 300 * 300
    assert sum("[300, 300" in line for line in lines) == 1


def test_gradients_against_differences() -> None:
    """Central differences in f64, along a direction."""
    n = 40
    x, mass = points(n, 3)
    module = vjp(program(f"f64[{n},3] f64[{n}]", forces))
    rng = np.random.default_rng(1)
    dy, along = rng.standard_normal((n, 3)), (rng.standard_normal((n, 3)), rng.standard_normal(n))
    found = several(mind_runtime.compile(module, "f_grad", target="native")(x, mass, dy))[-2:]
    step = 1e-5
    ahead, behind = (forces_of(x + s * along[0], mass + s * along[1]) for s in (step, -step))
    expected = ((ahead - behind) / (2 * step) * dy).sum()
    assert sum((g * a).sum() for g, a in zip(found, along, strict=True)) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min"])
@pytest.mark.parametrize("axes", [(2,), (0,), (0, 2), (1, 2), (0, 1, 2)], ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
def test_each_reduction(kind: str, axes: tuple[int, ...], keepdims: bool) -> None:
    def body(x: Any) -> list[Any]:
        between = ptir.MulOp(pair(x, 1, 40), pair(x, 0, 40))
        return [ptir.ReduceOp(between, kind=kind, axes=axes, keepdims=keepdims)]

    module = program("f64[40,3]", body)
    x = 1 + 0.01 * points(40, 3)[0]
    x[3, 1], x[7, 2] = -0.5, 1.5
    found, expected = (mind_runtime.compile(module, target=t)(x) for t in ("native", "numpy"))
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_two_short_axes() -> None:
    """What is left of an axis that was unrolled has a short axis itself, and is reduced along that."""

    def body(x: Any, y: Any) -> list[Any]:
        a, b = (ptir.BroadcastToOp(v, result_shape=(40, 40, 3, 2)) for v in (x, y))
        first = ptir.ReduceOp(ptir.MulOp(ptir.SubOp(a, b), b), kind="sum", axes=(3,), keepdims=False)
        return [ptir.ReduceOp(ptir.MulOp(first, first), kind="sum", axes=axes, keepdims=False) for axes in ((2,), (0,))]

    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((40, 1, 3, 2)), rng.standard_normal((1, 40, 3, 2))
    first = ((x - y) * y).sum(3)
    for found, axis in zip(
        mind_runtime.compile(program("f64[40,1,3,2] f64[1,40,3,2]", body), target="native")(x, y), (2, 0), strict=True
    ):
        np.testing.assert_allclose(found, (first * first).sum(axis), rtol=1e-12)


def test_special_values() -> None:
    """NaN and infinities reach the pairs that they are in, and no other."""
    x, mass = (a.astype(np.float32) for a in points(50, 3))
    x[7, 1], x[9, 2] = np.nan, np.inf
    module = program("f32[50,3] f32[50]", forces)
    with np.errstate(all="ignore"):
        found, expected = (mind_runtime.compile(module, target=t)(x, mass) for t in ("native", "numpy"))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(expected))


@pytest.mark.parametrize("isa", RUNNABLE)
def test_bits_do_not_depend_on_threads(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(host_module.ISA_VARIABLE, isa)
    mind_runtime.clear_cache()
    x, mass = (a.astype(np.float32) for a in points(500, 3))
    module = program("f32[500,3] f32[500]", forces)
    found = {mind_runtime.compile(module, target="native", threads=t)(x, mass).tobytes() for t in (1, 2, 3, 8)}
    assert len(found) == 1
    mind_runtime.clear_cache()


# Longer last axes, which are reduced as they are


def squares(x: Any, y: Any) -> Any:
    return ((x[:, None, :] - y[None, :, :]) ** 2).sum(-1)


def absolute(x: Any, y: Any) -> Any:
    return ma.sum(ma.sum(ma.abs(x[:, None, :] - y[None, :, :]), axis=-1), axis=1)


DISTANCES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "squared distances": (lambda x, y: ma.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=-1), squares),
    "sums of a kernel": (
        lambda x, y: ma.sum(ma.exp(-ma.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=-1)), axis=1),
        lambda x, y: np.exp(-squares(x, y)).sum(1),
    ),
    "the nearest point": (
        lambda x, y: ma.argmin(ma.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=-1), axis=1),
        lambda x, y: squares(x, y).argmin(1),
    ),
    "sums of absolute differences": (absolute, lambda x, y: abs(x[:, None, :] - y[None, :, :]).sum(-1).sum(1)),
    "the greatest difference": (
        lambda x, y: ma.max(ma.abs(x[:, None, :] - y[None, :, :]), axis=-1),
        lambda x, y: abs(x[:, None, :] - y[None, :, :]).max(-1),
    ),
}
"""Functions of two sets of points, and the same in NumPy."""


@pytest.mark.parametrize("length", [3, 16, 64])
@pytest.mark.parametrize("name", DISTANCES)
def test_no_array_of_the_differences_of_all_pairs_is_stored(name: str, length: int) -> None:
    function, oracle = DISTANCES[name]
    n = 96
    rng = np.random.default_rng(5)
    x, y = ((rng.standard_normal((n, length)) / np.sqrt(length)).astype(np.float32) for _ in range(2))
    module = ma.trace(lambda x, y: function(x, y), *(ma.spec((n, length), np.float32, name=name) for name in "xy"))
    run = mind_runtime.compile(module, target="native")
    expected = oracle(x.astype(np.float64), y.astype(np.float64))
    np.testing.assert_allclose(run(x, y), expected, rtol=2e-5)
    lines = run.explain()
    assert not any(line.startswith("numpy") for line in lines)
    assert int(lines[0].split("arena ")[1].split()[0]) <= 2 * n * n * 4, "two arrays of all pairs at most"
