"""The pseudo-inverse: values of NumPy's, derivatives of central differences and of JAX, also where singular values are equal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mind_array as ma
from mind_dialect.errors import MindError
from mind_runtime import compile

Array = np.ndarray[Any, Any]
STEP = 1e-6


def normal(*shape: int) -> Array:
    return np.random.default_rng(len(shape) + sum(shape)).standard_normal(shape)


def complex_normal(*shape: int) -> Array:
    return normal(*shape) + 1j * normal(*shape, 1)[..., 0]


EQUAL = np.diag([3.0, 3.0, 1.0, 1.0, 0.5])
CASES: dict[str, tuple[Array, float | None]] = {
    "the identity": (np.eye(3), None),
    "a complex unitary matrix": (np.linalg.qr(complex_normal(3, 3))[0], None),
    "orthogonal columns": (np.linalg.qr(normal(5, 3))[0], None),
    "orthogonal rows": (np.linalg.qr(normal(2, 5, 3))[0].swapaxes(-1, -2) * 2, None),
    "tall matrices": (normal(2, 5, 3), None),
    "wide matrices": (normal(2, 2, 3, 5), None),
    "complex wide matrices": (complex_normal(2, 3, 5), None),
    "complex tall matrices": (complex_normal(5, 3), None),
    "a tolerance that truncates nothing": (np.eye(3), 0.1),
    "a truncated matrix": (np.diag([3.0, 2.0, 0.5]) @ np.linalg.qr(normal(3, 3))[0], 0.4),
    "truncated equal values": (EQUAL, 0.4),
    "kept equal values": (EQUAL, 0.2),
    "complex truncated matrices": (complex_normal(2, 4, 5), 0.5),
    "everything truncated": (np.eye(3)[:2], 1.5),
}


def reference(x: Array, rtol: float | None) -> Array:
    return np.linalg.pinv(x, rtol=1e-13 if rtol is None else rtol)


def like(x: Array) -> Array:
    return complex_normal(*x.shape) if np.iscomplexobj(x) else normal(*x.shape)


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives_of_both_modes(name: str, target: str) -> None:
    x, rtol = CASES[name]

    def f(x: Any) -> Any:
        return ma.linalg.pinv(x, rtol=rtol)

    t = like(x)
    slope = (reference(x + STEP * t, rtol) - reference(x - STEP * t, rtol)) / (2 * STEP)
    value, tangent = ma.jit(lambda x, t: ma.jvp(f, (x,), (t,)), target=target)(x, t)
    np.testing.assert_allclose(value, reference(x, rtol), atol=1e-12)
    np.testing.assert_allclose(tangent, slope, rtol=1e-6, atol=1e-7)
    g = like(slope)
    adjoint = np.asarray(ma.jit(lambda x, g: ma.vjp(f, x)[1](g), target=target)(x, g))
    np.testing.assert_allclose((adjoint * t).sum().real, (g * slope).sum().real, rtol=1e-6, atol=1e-7)


def test_derivatives_while_the_rank_stays() -> None:
    """Along changes of one factor; JAX has the same derivative along all others, too."""
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    left, right, change = normal(4, 2), normal(2, 5), normal(4, 2) * normal(1, 2)
    x, t = left @ right, change @ right
    slope = (reference(x + STEP * t, 1e-9) - reference(x - STEP * t, 1e-9)) / (2 * STEP)
    np.testing.assert_allclose(ma.jvp(ma.linalg.pinv, (x,), (t,))[1], slope, rtol=1e-6, atol=1e-7)
    with jax.enable_x64(True):
        for a, t in ((x, normal(4, 5)), (np.eye(3), normal(3, 3)), (np.zeros((3, 2)), np.ones((3, 2)))):
            theirs = jax.jvp(jax.numpy.linalg.pinv, (a,), (t,))[1]
            np.testing.assert_allclose(ma.jvp(ma.linalg.pinv, (a,), (t,))[1], theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rtol", [None, 1e-3])
@pytest.mark.parametrize("x", [np.eye(3), normal(4, 3), normal(3, 4)], ids=["identity", "tall", "wide"])
def test_second_derivatives(x: Array, rtol: float | None) -> None:
    def f(x: Any) -> Any:
        return ma.sum(ma.linalg.pinv(x, rtol=rtol) ** 3)

    t = normal(*x.shape)
    up, down = (np.asarray(ma.grad(f)(x + s * STEP * t)) for s in (1, -1))
    expected = (up - down) / (2 * STEP)
    np.testing.assert_allclose(ma.hvp(f, (x,), (t,)), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(ma.grad(lambda x: ma.sum(ma.grad(f)(x) * t))(x), expected, rtol=1e-5, atol=1e-5)


def test_second_derivatives_of_a_truncated_matrix_are_nan_in_both_modes() -> None:
    """No rule covers them; those of the other matrices of a batch, and along other arguments, are known."""

    def f(x: Any, w: Any) -> Any:
        return ma.sum(ma.linalg.pinv(x, rtol=0.4) * w)

    x, w = np.stack([np.diag([2.0, 1.0]), np.diag([4.0, 1.0])]), np.ones((2, 2, 2))
    of_x = np.isnan(ma.hvp(lambda x: f(x, w), (x,), (w,)))
    np.testing.assert_array_equal(of_x.all(axis=(1, 2)), [False, True])
    assert not of_x[0].any()
    again = np.isnan(ma.grad(lambda x: ma.sum(ma.grad(f)(x, w)))(x))
    np.testing.assert_array_equal(again, of_x)
    along = ma.jvp(lambda w: ma.grad(f)(x, w), (w,), (w,))[1]
    np.testing.assert_allclose(along, ma.grad(f)(x, w))


def test_a_batch_is_one_call_also_with_a_tolerance_each() -> None:
    x, rtol = normal(5, 4, 3), np.array([0.0, 0.3, 0.5, 0.7, 1.5])
    each = np.stack([reference(a, r) for a, r in zip(x, rtol, strict=True)])
    np.testing.assert_allclose(ma.linalg.pinv(x, rtol=ma.asarray(rtol)), each, atol=1e-12)
    mapped = ma.vmap(lambda a, r: ma.linalg.pinv(a, rtol=r))
    np.testing.assert_allclose(mapped(x, ma.asarray(rtol)), each, atol=1e-12)
    gradient = ma.vmap(ma.grad(lambda a: ma.sum(ma.linalg.pinv(a, rtol=0.3))))
    one = np.stack([np.asarray(ma.grad(lambda a: ma.sum(ma.linalg.pinv(a, rtol=0.3)))(a)) for a in x])
    np.testing.assert_allclose(gradient(x), one, atol=1e-12)
    assert "ptir.scan" not in str(ma.trace(gradient, ma.spec(x.shape)))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 0), (0, 2, 3)])
def test_matrices_without_elements(shape: tuple[int, ...]) -> None:
    x = np.zeros(shape)
    found = ma.linalg.pinv(x)
    assert found.shape == np.linalg.pinv(x).shape
    assert np.asarray(found).sum() == 0
    assert ma.grad(lambda x: ma.sum(ma.linalg.pinv(x)))(x).shape == shape


def test_one_call_is_traced_and_dimensions_may_have_names() -> None:
    text = str(ma.trace(ma.linalg.pinv, ma.spec((2, 3, 4))))
    assert text.count("ptir.custom_call") == text.count("mind.linalg.pinv.v1") == 1
    gradient = compile(ma.trace(ma.grad(lambda x: ma.sum(ma.linalg.pinv(x))), ma.spec(("n", "m"))))
    for x in (np.eye(3), normal(5, 3)):
        np.testing.assert_allclose(gradient(x), ma.grad(lambda x: ma.sum(ma.linalg.pinv(x)))(x), atol=1e-12)


@pytest.mark.parametrize(
    ("x", "rtol", "code"),
    [
        (np.ones(3), None, "E3002"),
        (np.ones((2, 2), np.int32), None, "E2005"),
        (np.ones((3, 2, 2)), np.ones(2), "E3001"),
        (np.full((2, 2), np.nan), None, "E6006"),
    ],
)
def test_other_operands_are_refused(x: Array, rtol: Any, code: str) -> None:
    with pytest.raises(MindError, match=code):
        ma.jit(lambda x: ma.linalg.pinv(x, rtol=None if rtol is None else ma.asarray(rtol)))(x)
