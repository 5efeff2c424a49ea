"""Arguments of NumPy's functions on arrays: `where=`, `initial=`, axes that are None, modes, and those refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mind_array as ma
from mind_dialect.errors import MindError

X = np.random.default_rng(0).uniform(-2.0, 2.0, (3, 4))
MASK = X > 0
WHOLE = np.array([[15, 25, -35], [7, -4, 120]])
W = np.array([1.0, 2.0, 3.0, 4.0])

CALLS: dict[str, Any] = {
    "sum where": lambda xp, x: xp.sum(x, axis=0, where=MASK),
    "sum initial": lambda xp, x: xp.sum(x, axis=1, initial=3.0),
    "prod": lambda xp, x: xp.prod(x, where=MASK, initial=2.0),
    "max": lambda xp, x: xp.max(x, axis=0, where=MASK, initial=0.5),
    "min": lambda xp, x: xp.min(x, axis=1, keepdims=True, initial=-9.0),
    "max of integers": lambda xp, x: xp.max(xp.asarray(WHOLE), axis=0, where=WHOLE > 8, initial=-100),
    "max of nothing": lambda xp, x: xp.max(x[:0], axis=0, initial=2.0),
    "mean": lambda xp, x: xp.mean(x, axis=1, where=MASK),
    "any": lambda xp, x: xp.any(x > 1, axis=0, where=MASK),
    "all": lambda xp, x: xp.all(x > 1, axis=0, where=~MASK),
    "sort": lambda xp, x: xp.sort(x, axis=None),
    "sort of a kind": lambda xp, x: xp.sort(x, axis=0, kind="stable")[xp.argsort(x[:, 0], kind="stable")],
    "einsum": lambda xp, x: xp.einsum("ij,kj,kl->il", x, x, x, optimize=True),
    "meshgrid": lambda xp, x: xp.concatenate([xp.ravel(g) for g in xp.meshgrid(x[0], x[:, 0], sparse=True)]),
    "identity": lambda xp, x: xp.identity(3) @ x,
    "argsort": lambda xp, x: xp.argsort(x, axis=None),
    "concat": lambda xp, x: xp.concatenate([x, x], axis=None),
    "round": lambda xp, x: xp.round(xp.asarray(WHOLE), -1),
    "fabs": lambda xp, x: xp.fabs(xp.asarray(WHOLE)),
    "linspace down": lambda xp, x: xp.linspace(-0.5, 10, 4, dtype=np.int64),
    "linspace": lambda xp, x: xp.linspace(0, 10, 7, dtype=np.int64),
    "average": lambda xp, x: xp.average(x, axis=1, weights=W),
    "transforms": lambda xp, x: (
        xp.fft.ifft2(xp.fft.fft2(x, axes=(1, 0)), norm="ortho").real + xp.fft.irfft2(xp.fft.rfft2(x), s=(3, 4))
    ),
    "average of two axes": lambda xp, x: xp.average(x, axis=(1, 0), weights=X.T**2),
}


@pytest.mark.parametrize("name", CALLS)
def test_arguments_of_both_namespaces(name: str) -> None:
    call = CALLS[name]
    expected = call(np, X)
    for found in (call(ma, ma.asarray(X)), ma.jit(lambda x: call(ma, x))(X)):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.ndarray, expected, rtol=1e-12)


PROTOCOL: dict[str, Any] = {
    "sort": lambda x: np.sort(x, axis=None),
    "sort of a kind": lambda x: np.sort(x, axis=0, kind="stable"),
    "argsort": lambda x: np.argsort(x, None, "stable"),
    "concatenate": lambda x: np.concatenate([x, x], axis=None),
    "concatenate by place": lambda x: np.concatenate([x, x], None),
    "a list beside an array": lambda x: np.concatenate([x[0], [1, 2]]),
    "pad": lambda x: np.pad(x, 1, constant_values=3.0),
    "mean": lambda x: np.mean(x, dtype=np.float32),
    "where": lambda x: np.sum(x, where=MASK) + np.mean(x, where=MASK) + np.max(x, where=MASK, initial=0.0),
    "astype": lambda x: np.astype(x, np.float32),
    "clipped": lambda x: np.take(x, [0, 9, -9], axis=1, mode="clip"),
    "wrapped": lambda x: np.take(x, [-1, 9], mode="wrap"),
    "bounds": lambda x: np.clip(np.argsort(x), -0.5, 2),
}


@pytest.mark.parametrize("name", PROTOCOL)
def test_arguments_under_the_protocols(name: str) -> None:
    f = PROTOCOL[name]
    expected = f(X)
    for found in (f(ma.asarray(X)), ma.jit(f)(X)):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.ndarray, expected, rtol=1e-6)


GAPS = np.array([[np.nan, 1.0, 2.0], [np.nan, -3.0, np.nan]])
OF_DTYPES: dict[str, tuple[Any, Any]] = {
    "logical": (lambda x: np.logical_and(x, np.logical_not(x - 15)) | np.logical_xor(x, 1), WHOLE),
    "logical of floats": (lambda x: np.logical_or(x, 0.0), GAPS),
    "nansum": (lambda x: np.nansum(x, axis=0), WHOLE),
    "nanmax": (lambda x: np.nanmax(x, axis=1) - np.nanmin(x, axis=1), WHOLE),
    "nanmean": (lambda x: np.nanmean(x), WHOLE),
    "nanprod": (lambda x: np.nanprod(x) + np.nancumsum(x)[-1], WHOLE),
    "nanmax of none": (lambda x: np.nanmax(x, axis=0), GAPS),
    "nanmin of none": (lambda x: np.nanmin(x, axis=0, initial=5.0), GAPS),
    "nansum of complex": (lambda x: np.nansum(x * 1j, axis=0), GAPS),
    "gradient": (lambda x: np.gradient(x, axis=1), X.astype(np.float32)),
    "gradient at points": (lambda x: np.gradient(x, W, axis=1), X.astype(np.float32)),
    "cov": (lambda x: np.cov(x), X.astype(np.float32)),
}


@pytest.mark.parametrize("name", OF_DTYPES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_dtypes_are_those_of_numpy(name: str) -> None:
    f, x = OF_DTYPES[name]
    expected = f(x)
    for found in (f(ma.asarray(x)), ma.jit(f)(x)):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.ndarray, expected, rtol=1e-6)


def test_where_of_a_condition_alone_lists_places() -> None:
    for found, expected in zip(np.where(ma.asarray(MASK)), np.where(MASK), strict=True):
        np.testing.assert_array_equal(found, expected)


REFUSED: dict[str, tuple[Any, str, str]] = {
    "argument": (lambda x: np.quantile(x, 0.5, method="lower"), "E1110", "'method'; the arguments are a, q, axis, keepdims"),
    "out": (lambda x: np.add(x, x, out=np.zeros((3, 4))), "E1110", "write x = np.add"),
    "out of a function": (lambda x: np.sum(x, out=np.zeros(())), "E1110", "'out'"),
    "at": (lambda x: np.add.at(x, [0], 1.0), "E1110", "write x = x.at[i].add(v)"),
    "where": (lambda x: np.add(x, x, where=MASK), "E1110", "write np.where"),
    "mode": (lambda x: np.take(x, [0], mode="nearest"), "E1110", "expected 'raise', 'clip' or 'wrap'"),
    "where without initial": (lambda x: ma.max(x, where=MASK), "E1110", "pass initial="),
    "where of numbers": (lambda x: ma.sum(x, where=x), "E2005", "expected bool"),
    "weights": (lambda x: ma.average(x, weights=ma.asarray(W)), "E3001", "weights of shape [4], expected [3, 4]"),
    "a list": (lambda x: ma.take(x, [0, 1], axis=0), "E2001", "write ma.asarray(indices)"),
    "widths": (lambda x: ma.pad(x, ((1, 1), (2, 2), (3, 3))), "E1110", "a pair for each axis"),
    "fractions": (lambda x: ma.pad(x, 1.5), "E1110", "expected whole numbers"),
    "values": (lambda x: ma.pad(x, 1, constant_values=(1, 2)), "E1110", "expected one number"),
    "an array": (lambda x: ma.trace(x), "E1105", "ma.linalg.trace"),
    "a bound": (lambda x: ma.clip(ma.astype(x, ma.int8), ma.asarray(-0.5)), "E1107", "int8 and float64"),
    "a wide bound": (lambda x: ma.clip(ma.ones(2, dtype=ma.uint8), max=ma.asarray(300)), "E1107", "max is of int64"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_what_to_write(name: str) -> None:
    f, code, text = REFUSED[name]
    for given in (ma.asarray(X), None):
        with pytest.raises(MindError, match=code) as caught:
            f(given) if given is not None else ma.jit(f)(X)
        assert text in str(caught.value)


METHODS: dict[str, Any] = {
    "diagonal": lambda x: x.diagonal(1),
    "trace": lambda x: x.trace() + x.trace(offset=-1),
    "searchsorted": lambda x: (x[0] * x[0]).cumsum().searchsorted([0.5, 9.0]),
    "std": lambda x: x.std(ddof=1) + x.var(axis=0, ddof=1).sum(),
    "take": lambda x: x.take([0, 2]) + x.take([1, 1], axis=1).sum(),
    "mean": lambda x: x.mean(axis=0, where=MASK),
    "sum": lambda x: x.sum(axis=1, where=MASK, initial=2.0),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_of_arrays(name: str) -> None:
    f = METHODS[name]
    expected = f(X)
    for found in (f(ma.asarray(X)), ma.jit(f)(X)):
        np.testing.assert_allclose(found.ndarray, expected, rtol=1e-12)


def test_items_and_members_of_concrete_arrays() -> None:
    x = ma.asarray(WHOLE)
    assert x.item(4) == -4
    assert x.item(1, 2) == x.item((1, 2)) == 120
    assert 25 in x
    assert 26 not in x
    with pytest.raises(IndexError, match="E6001"):
        x.item(6)
    with pytest.raises(TypeError, match="E1101"):
        ma.jit(lambda x: 25 in x)(WHOLE)


@pytest.mark.parametrize(
    ("name", "text"), [("fill", "ma.full_like"), ("flat", "ma.ravel"), ("tile", "ma.tile"), ("view", "np.asarray")]
)
def test_attributes_that_arrays_lack_say_what_to_write(name: str, text: str) -> None:
    with pytest.raises(AttributeError, match=f"an array has no attribute '{name}'.*{text}"):
        getattr(ma.asarray(X), name)
    assert not hasattr(ma.asarray(X), "other")


def test_masks_and_truth_values_as_keys_of_traced_arrays() -> None:
    np.testing.assert_array_equal(ma.jit(lambda x: x[True, 1:, True])(X), X[True, 1:, True])
    np.testing.assert_array_equal(ma.jit(lambda x: x[range(2), range(1, 3)])(X), X[range(2), range(1, 3)])
    np.testing.assert_array_equal(ma.jit(lambda x: x[:, [True, False, True, True]])(X), X[:, [True, False, True, True]])
    for key in (np.array([True, False]), (slice(None), np.array([True, False, True])), [True] * 4):
        with pytest.raises(IndexError, match="E6001"):
            ma.jit(lambda x, key=key: x[key])(X)
    with pytest.raises(IndexError, match="E6001"):
        ma.asarray(X)[::0]
