"""Slices along dimensions with names, and with names as bounds, against NumPy at all sizes from 0 to 5."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mind_array as ma
from mind_dialect.errors import MindError
from programs import parse

TABLE = np.arange(12.0).reshape(4, 3)
Part = Callable[[Any, Any, Any], Any]
Fits = Callable[[int, int], bool]
PARTS: dict[str, tuple[Part, Fits]] = {
    "up to a name": (lambda xp, x, t: x[:t], lambda n, t: t <= n),
    "from a name": (lambda xp, x, t: x[t:], lambda n, t: t <= n),
    "up to the last": (lambda xp, x, t: x[:-1], lambda n, t: n >= 1),
    "the last two": (lambda xp, x, t: x[-2:], lambda n, t: n >= 2),
    "the second": (lambda xp, x, t: x[1:2], lambda n, t: n >= 2),
    "an empty one": (lambda xp, x, t: x[3:1], lambda n, t: True),
    "from the second up to a name": (lambda xp, x, t: x[1:t], lambda n, t: 1 <= t <= n),
    "two axes": (lambda xp, x, t: x[:t, 1:], lambda n, t: t <= n),
    "behind a new axis": (lambda xp, x, t: x[None, :t, ..., 0], lambda n, t: t <= n),
    "beside an index array": (lambda xp, x, t: x[:t, xp.asarray([2, 0, 2])], lambda n, t: t <= n),
    "beside a stride": (lambda xp, x, t: x[:t, ::2], lambda n, t: t <= n),
    "beside a reversed axis": (lambda xp, x, t: x[:t, ::-1], lambda n, t: t <= n),
    "every second": (lambda xp, x, t: x[::2], lambda n, t: True),
    "every third from the second up to a name": (lambda xp, x, t: x[1:t:3], lambda n, t: 1 <= t <= n),
    "every second but the last": (lambda xp, x, t: x[:-1:2], lambda n, t: n >= 1),
    "one of the last two": (lambda xp, x, t: x[-2::2], lambda n, t: n >= 2),
    "one of two beside a stride": (lambda xp, x, t: x[-2::2, ::2], lambda n, t: n >= 2),
    "two strides": (lambda xp, x, t: x[::2, ::-2], lambda n, t: True),
    "backwards": (lambda xp, x, t: x[::-1], lambda n, t: True),
    "backwards by two": (lambda xp, x, t: x[::-2], lambda n, t: True),
    "backwards down to the second": (lambda xp, x, t: x[:0:-1], lambda n, t: n >= 1),
    "backwards by two from the last but one": (lambda xp, x, t: x[-2::-2], lambda n, t: n >= 1),
    "backwards by three from a name": (lambda xp, x, t: x[t::-3], lambda n, t: t < n),
    "backwards down to a name": (lambda xp, x, t: x[:t:-1], lambda n, t: t < n),
    "backwards, an empty one": (lambda xp, x, t: x[1:3:-1], lambda n, t: True),
    "a stride beside an index array": (lambda xp, x, t: x[::-2, xp.asarray([2, 0, 2])], lambda n, t: True),
    "a stride behind a new axis": (lambda xp, x, t: x[None, ::2, 0], lambda n, t: True),
    "of a constant": (lambda xp, x, t: xp.asarray(TABLE)[:t] * x[:1], lambda n, t: t <= 4 and n >= 1),
}
"""A part of `x` of shape `(N, 3)` for a size `T`, and for which `N` and `T` its bounds are inside."""


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("name", PARTS)
def test_slices_along_named_dimensions_are_numpys_at_all_sizes_or_refused(name: str, target: Any):
    part, fits = PARTS[name]
    sizes = {"x": ("N", 3), "t": ("T",)}

    def loss(x: Any, t: Any) -> Any:
        return ma.sum(part(ma, x, t) ** 2.0)

    value = ma.jit(lambda x, t: part(ma, x, t.shape[0]), sizes=sizes, target=target)
    gradient = ma.jit(ma.grad(lambda x, t: loss(x, t.shape[0])), sizes=sizes, target=target)
    for n, t in itertools.product(range(6), repeat=2):
        x, length = np.arange(1.0, 3 * n + 1).reshape(n, 3), np.zeros(t)
        if not fits(n, t):
            for f in (value, gradient):
                with pytest.raises(MindError, match=r"E4012|E3006|E8002"):
                    f(x, length)
            continue
        np.testing.assert_array_equal(value(x, length).ndarray, part(np, x, t))
        np.testing.assert_array_equal(gradient(x, length).ndarray, by_differences(part, x, t))


def by_differences(part: Part, x: np.ndarray[Any, Any], t: int) -> np.ndarray[Any, Any]:
    """The gradient of the sum of squares of a part by central differences, which are exact for squares of small integers."""
    found = np.zeros_like(x)
    for i in np.ndindex(*x.shape):
        step = np.zeros_like(x)
        step[i] = 1.0
        found[i] = (np.sum(part(np, x + step, t) ** 2) - np.sum(part(np, x - step, t) ** 2)) / 2
    return found


def test_a_slice_bounded_by_a_name_is_recorded_as_a_slice():
    g = ma.jit(lambda x, t: x[: t.shape[0]], sizes={"x": ("N",), "t": ("T",)})
    text = str(g.lower(ma.spec(("N",), "float32"), ma.spec(("T",), "float32")).ptir)
    assert 'ptir.slice %x starts = [0] sizes = [T] : tensor<?xf32, "N"> -> tensor<?xf32, "T">' in text
    with pytest.raises(MindError, match=r"E4012: .*N is dimension 0 of input x, T is dimension 0 of input t"):
        g(np.zeros(2), np.zeros(3))


NO_PARTS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "a step of 0": ("E6001", lambda x, t: x[: t.shape[0] : 0]),
    "a step that is a size": ("E1109", lambda x, t: x[:: t.shape[0]]),
    "a step that is a fraction": ("E6001", lambda x, t: x[::1.5]),
    "a fraction": ("E6001", lambda x, t: x[:1.5]),
    "a word": ("E6001", lambda x, t: ma.zeros(8)[:"T"]),
}


@pytest.mark.parametrize("name", NO_PARTS)
def test_parts_that_names_cannot_bound_are_refused(name: str):
    code, part = NO_PARTS[name]
    with pytest.raises(MindError, match=code):
        ma.jit(part, sizes={"x": ("N",), "t": ("T",)})(np.ones(4), np.ones(2))


def test_a_dimension_without_a_name_has_one_of_its_own():
    x = np.arange(3.0)
    for part in (lambda x: x[:2], lambda x: x[1:], lambda x: x[-2:]):
        np.testing.assert_array_equal(ma.jit(part, sizes={"x": (None,)})(x).ndarray, part(x))


UNNAMED = """
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @f(%x: tensor<?x4xf64>) -> tensor<?x4xf64> {
    %y = ptir.custom_call %x target = "some.part.v1" attrs = {} : tensor<?x4xf64> -> tensor<?x4xf64>
    return %y : tensor<?x4xf64>
  }
}
"""


@pytest.mark.parametrize("part", [lambda y: y[1:], lambda y: y[-2:], lambda y: y[:, :2]])
def test_parts_along_unknown_dimensions_are_refused(part: Any):
    f = ma.from_module(parse(UNNAMED))
    with pytest.raises(MindError, match="E1109"):
        ma.jit(lambda x: part(f(x)), sizes={"x": ("N", 4)})(np.ones((3, 4)))


def spread(n: int) -> Any:
    """Numbers in no order, with two that are equal."""
    x = np.random.default_rng(n).standard_normal((n, 3))
    x[: n // 3] = x[n - n // 3 :]
    return x


def order(xp: Any, x: Any) -> Any:
    return xp.argsort(x, axis=0, stable=True)


ORDERS: dict[str, tuple[Callable[[Any, Any], Any], bool]] = {
    "sort": (lambda xp, x: xp.sort(x, axis=0), True),
    "argsort": (order, True),
    "argsort of the other axis": (lambda xp, x: xp.argsort(x, axis=1), True),
    "median": (lambda xp, x: xp.median(x, axis=0), False),
    "median of all": (lambda xp, x: xp.median(x), False),
    "median, kept": (lambda xp, x: xp.median(x, axis=0, keepdims=True), False),
    "quantiles": (lambda xp, x: xp.quantile(x, [0.0, 0.3, 0.5, 1.0], axis=0), False),
    "percentile": (lambda xp, x: xp.percentile(x, 80, axis=0), False),
    "variance": (lambda xp, x: xp.var(x, axis=0), False),
    "standard deviation": (lambda xp, x: xp.std(x, axis=0), False),
}
"""What depends on the order of elements along an open size, and whether it is of no elements too."""


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("name", ORDERS)
def test_orders_along_named_dimensions_are_numpys(name: str, target: Any) -> None:
    f, of_none = ORDERS[name]
    value = ma.jit(lambda x: f(ma, x), sizes={"x": ("N", 3)}, target=target)
    for n in range(0 if of_none else 1, 6):
        np.testing.assert_allclose(value(spread(n)).ndarray, f(np, spread(n)), rtol=1e-14, atol=1e-15)
    if name == "median":
        for bad in (np.nan, np.inf, -np.inf):
            x = spread(5)
            x[2, 1] = bad
            np.testing.assert_array_equal(value(x).ndarray, np.median(x, axis=0))
        with pytest.raises(MindError, match="E6001"):
            value(spread(0))


@pytest.mark.parametrize("name", ["sort", "median", "quantiles", "variance", "standard deviation"])
def test_gradients_of_orders_are_central_differences(name: str) -> None:
    f, _ = ORDERS[name]
    weights = np.array([1.0, 2.0, -1.5])
    gradient = ma.jit(ma.grad(lambda x: ma.sum(f(ma, x) * weights)), sizes={"x": ("N", 3)})
    for n in range(2, 6):
        x = np.random.default_rng(n).standard_normal((n, 3))
        found = np.zeros_like(x)
        for i in np.ndindex(*x.shape):
            step = np.zeros_like(x)
            step[i] = 1e-6
            found[i] = (np.sum(f(np, x + step) * weights) - np.sum(f(np, x - step) * weights)) / 2e-6
        np.testing.assert_allclose(gradient(x).ndarray, found, atol=1e-8)
