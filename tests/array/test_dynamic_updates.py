"""Updates `x.at[key]` along dimensions with names, and with names as bounds, against NumPy at all sizes from 0 to 5."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mind_array as ma
from mind_dialect.errors import MindError

TABLE = np.arange(15.0).reshape(5, 3)
INDEX = np.array([1, -1, 1])
Key = Callable[[int], Any]
Fits = Callable[[int, int], bool]
KEYS: dict[str, tuple[Key, Fits]] = {
    "the first": (lambda t: 0, lambda n, t: n >= 1),
    "the fourth": (lambda t: 3, lambda n, t: n >= 4),
    "the last": (lambda t: -1, lambda n, t: n >= 1),
    "a column": (lambda t: (slice(None), 1), lambda n, t: True),
    "an element": (lambda t: (2, 1), lambda n, t: n >= 3),
    "from the second": (lambda t: slice(1, None), lambda n, t: n >= 1),
    "but the last": (lambda t: slice(None, -1), lambda n, t: n >= 1),
    "up to a name": (lambda t: slice(None, t), lambda n, t: t <= n),
    "from a name": (lambda t: (slice(t, None), 0), lambda n, t: t <= n),
    "at a name": (lambda t: t, lambda n, t: t < n),
    "all": (lambda t: ..., lambda n, t: True),
    "every second": (lambda t: slice(None, None, 2), lambda n, t: True),
    "backwards by two": (lambda t: slice(None, None, -2), lambda n, t: True),
    "rows by index": (lambda t: INDEX, lambda n, t: n >= 2),
    "elements by index": (lambda t: (INDEX, INDEX), lambda n, t: n >= 2),
    "a column by index": (lambda t: (slice(None), INDEX), lambda n, t: True),
}
UPDATES: dict[str, Any] = {
    "set": lambda x, k, v: x.__setitem__(k, v),
    "add": lambda x, k, v: np.add.at(x, k, v),
    "multiply": lambda x, k, v: np.multiply.at(x, k, v),
    "max": lambda x, k, v: np.maximum.at(x, k, v),
}
GETS: dict[str, Any] = {
    "clip": lambda x, i: x[np.clip(np.where(i < 0, i + len(x), i), 0, len(x) - 1)],
    "wrap": lambda x, i: x[i % len(x)],
    "fill": lambda x, i: np.array([x[j] if -len(x) <= j < len(x) else [7.0] * 3 for j in i]),
}


@pytest.mark.parametrize("kind", UPDATES)
@pytest.mark.parametrize("name", KEYS)
def test_an_update_is_numpys_or_an_error(name: str, kind: str) -> None:
    key, fits = KEYS[name]

    def update(x: Any, t: Any) -> Any:
        return getattr(x.at[key(t.shape[0])], kind)(2.5)

    f = ma.jit(update, sizes={"x": ("N", 3), "t": ("T",)})
    for n, t in itertools.product(range(6), range(1, 4)):
        x = TABLE[:n].copy()
        if fits(n, t):
            expected = x.copy()
            UPDATES[kind](expected, key(t), 2.5)
            np.testing.assert_array_equal(f(x, np.ones(t)).ndarray, expected, err_msg=str((n, t)))
        else:
            with pytest.raises(MindError, match=r"E4012|E8002|E6001|E3006"):
                f(x, np.ones(t))


@pytest.mark.parametrize("name", KEYS)
def test_gradients_of_updates(name: str) -> None:
    """What is overwritten has no gradient, and a value that is added has one for each element that it is added to."""
    key, fits = KEYS[name]
    loss = ma.grad(lambda x, v, t: ma.sum(x.at[key(t.shape[0])].set(v) ** 2), argnums=(0, 1))
    f = ma.jit(loss, sizes={"x": ("N", 3), "t": ("T",)})
    for n, t in itertools.product((4, 5), (1, 2)):
        if not fits(n, t):
            continue
        expected, places = 2 * TABLE[:n], np.zeros((n, 3))
        expected[key(t)], places[key(t)] = 0, 1
        by_x, by_v = f(TABLE[:n].copy(), np.array(1.5), np.ones(t))
        np.testing.assert_allclose(by_x.ndarray, expected)
        np.testing.assert_allclose(by_v.ndarray, 3.0 * places.sum())


@pytest.mark.parametrize("mode", GETS)
def test_elements_out_of_range(mode: str) -> None:
    how = {"fill_value": 7.0} if mode == "fill" else {}
    f = ma.jit(lambda x, i: x.at[i].get(mode=mode, **how), sizes={"x": ("N", 3)})
    index = np.array([0, 4, -1, -7, 9])
    for n in range(1, 6):
        np.testing.assert_array_equal(f(TABLE[:n].copy(), index).ndarray, GETS[mode](TABLE[:n], index))


def test_elements_by_index_are_checked_against_the_size() -> None:
    f = ma.jit(lambda x, i: x[i, i], sizes={"x": ("N", 3)})
    for n, i in itertools.product(range(1, 6), range(-6, 6)):
        x, index = TABLE[:n].copy(), np.array([0, i])
        if -min(n, 3) <= i < min(n, 3):
            np.testing.assert_array_equal(f(x, index).ndarray, x[index, index])
        else:
            with pytest.raises(MindError, match="E6001"):
                f(x, index)


def test_statistics_along_a_name() -> None:
    cov = ma.jit(lambda x: ma.cov(x, rowvar=False), sizes={"x": ("N", 3)})
    corr = ma.jit(lambda x: ma.corrcoef(x, rowvar=False), sizes={"x": ("N", 3)})
    search = ma.jit(lambda x, q: (ma.searchsorted(x, q), ma.searchsorted(x, q, side="right")), sizes={"x": ("N",)})
    rng = np.random.default_rng(0)
    wanted = np.array([-1.0, 2.0, 2.5, 9.0])
    for n in range(2, 6):
        x = rng.standard_normal((n, 3))
        np.testing.assert_allclose(cov(x).ndarray, np.cov(x, rowvar=False), rtol=1e-12)
        np.testing.assert_allclose(corr(x).ndarray, np.corrcoef(x, rowvar=False), rtol=1e-12)
    for n in range(6):
        ordered = np.array([0.0, 2.0, 2.0, 3.0, 8.0])[:n]
        left, right = search(ordered, wanted)
        np.testing.assert_array_equal(left.ndarray, np.searchsorted(ordered, wanted))
        np.testing.assert_array_equal(right.ndarray, np.searchsorted(ordered, wanted, side="right"))
