"""Unmodified NumPy code on arrays of `mind_array`, eager and compiled: NEP 13 and NEP 18."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mind_array as ma
from mind_dialect.errors import MindError

X = np.random.default_rng(0).uniform(0.2, 2.0, (3, 4))
PROGRAMS: dict[str, Any] = {
    "exp": lambda x: np.exp(x @ x.T).sum(axis=0),
    "normalise": lambda x: (x - np.mean(x, axis=-1, keepdims=True)) / np.sqrt(np.var(x, axis=-1, keepdims=True) + 1e-5),
    "where": lambda x: np.where(x > 1, x, 0.0),
    "concatenate": lambda x: np.concatenate([x, x * 2], axis=1),
    "stack": lambda x: np.stack([x, x]),
    "reductions": lambda x: np.sum(x, 0) + np.max(x, axis=0) - np.min(x, axis=0) + np.prod(x, axis=0),
    "std": lambda x: np.std(x, axis=1, ddof=1),
    "clip": lambda x: np.clip(x, 0.5, 1.5),
    "reduce": lambda x: np.add.reduce(x) + np.maximum.reduce(x, axis=0),
    "accumulate": lambda x: np.add.accumulate(x, axis=1),
    "transpose": lambda x: np.transpose(x) + np.reshape(x, (4, 3)),
    "dot": lambda x: np.dot(x, x.T) + np.matmul(x, x.T),
    "trace": lambda x: np.trace(x, 1) + np.trace(np.stack([x, x + 1.0]), -1, 1, 2) + np.trace(np.stack([x, x + 1.0])).sum(),
    "einsum": lambda x: np.einsum("ij,kj->ik", x, x),
    "split": lambda x: np.split(x, 2, axis=1)[1],
    "pad": lambda x: np.pad(x, ((1, 0), (0, 1))),
    "take": lambda x: np.take(x, np.array([2, 0]), axis=1),
    "sort": lambda x: np.sort(x, axis=0),
    "cumsum": lambda x: np.cumsum(x),
    "median": lambda x: np.median(x, axis=0),
    "norm": lambda x: np.linalg.norm(x) + np.linalg.norm(x, axis=1),
    "outer": lambda x: np.outer(x[0], x[1]),
    "stacks": lambda x: np.vstack([x, x]) + np.hstack([x[:, :2], x[:, 2:]])[:1],
    "like": lambda x: np.zeros_like(x) + np.full_like(x, 3.0) + np.ones_like(x),
    "round": lambda x: np.round(x, 2),
    "moves": lambda x: np.moveaxis(np.expand_dims(x, 0), 0, 1) + np.swapaxes(x, 0, 1)[:3, None, :1],
    "interp": lambda x: np.interp(x[0], np.array([0.0, 1.0, 2.0]), np.array([0.0, 10.0, 5.0])),
    "nan": lambda x: np.nansum(x) + np.nanmax(x),
    "methods": lambda x: x.sum(axis=0) + x.mean(0) + x.max(axis=0) - x.reshape(4, 3).T.min(axis=0).sum() + x.ravel()[0],
    "allclose": lambda x: np.isclose(x, x + 1e-12),
    "logical": lambda x: np.logical_and(x > 0.5, np.less(x, 1.0)),
    "average": lambda x: np.average(x, axis=0),
    "argmax": lambda x: np.argmax(x, axis=1) + np.argmin(x, axis=1),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_numpy_code_means_what_it_means(name: str):
    f = PROGRAMS[name]
    expected = f(X)
    for found in (f(ma.asarray(X)), ma.jit(f)(X), ma.jit(f, target="native")(X)):
        assert isinstance(found, ma.Array)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.ndarray, expected, rtol=1e-9)


def test_numpys_promotion_holds_under_its_functions():
    x, y = ma.ones(2, dtype=ma.int32), ma.ones(2, dtype=ma.float32)
    assert np.add(x, y).dtype == np.float64
    assert np.sqrt(x).dtype == np.float64
    assert np.mean(x).dtype == np.float64
    assert np.add(y, 1).dtype == np.float32
    assert np.true_divide(x, 2).dtype == np.float64
    with pytest.raises(TypeError, match="E1107"):
        ma.add(x, y)


def test_gradients_go_through_numpy_functions():
    g = ma.grad(lambda x: np.sum(np.exp(x) * np.tanh(x)))(X)
    np.testing.assert_allclose(g.ndarray, np.exp(X) * (np.tanh(X) + 1 - np.tanh(X) ** 2))


WRONG = {
    "no row": (lambda x: np.linalg.eigvals(x), "E2001: np.linalg.eigvals has no row"),
    "no method": (lambda x: np.add.reduceat(x, [0]), r"E2001: np\.add\.reduceat has no row"),
    "no reduction": (lambda x: np.subtract.reduce(x), r"E2001: np\.subtract\.reduce has no row"),
    "out": (lambda x: np.add(x, x, out=np.zeros((3, 4))), "E1110"),
    "where": (lambda x: np.add(x, x, where=np.ones((3, 4), bool)), "E1110"),
    "a size that depends on data": (lambda x: ma.jit(np.bincount)(np.array([1, 2])), "E1108"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_has_no_row_is_a_coded_error_with_what_there_is(name: str):
    call, message = WRONG[name]
    with pytest.raises(MindError, match=message):
        call(ma.asarray(X))
