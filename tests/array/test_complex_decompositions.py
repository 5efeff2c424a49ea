"""Derivatives of eigenvalues, singular values and their vectors of complex matrices, against central differences and JAX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mind_array as ma

RNG = np.random.default_rng(4)
SQUARE = RNG.standard_normal((2, 3, 3)) + 1j * RNG.standard_normal((2, 3, 3))
TALL, WIDE = (RNG.standard_normal(s) + 1j * RNG.standard_normal(s) for s in ((4, 2), (2, 4)))
LEFT, RIGHT = RNG.standard_normal((4, 4)) + 1j * RNG.standard_normal((4, 4)), RNG.standard_normal((4, 4)) * (1 + 2j)
STEP = 1e-6


def _hermitian(x: Any, xp: Any = ma) -> Any:
    return x + xp.conj(xp.swapaxes(x, -1, -2))


def _eigenvectors(x: Any, xp: Any = ma) -> Any:
    """A function of the eigenvectors that does not depend on their phases."""
    values, vectors = xp.linalg.eigh(_hermitian(x, xp))
    weighted = vectors * xp.asarray(np.arange(1.0, 4.0) + 0j)
    return xp.sum(xp.abs(weighted @ xp.conj(xp.swapaxes(vectors, -1, -2)))) + xp.sum(values**3)


def _singular_vectors(x: Any, xp: Any = ma) -> Any:
    u, s, vh = xp.linalg.svd(x, full_matrices=False)
    m, k, n = (*u.shape[-2:], vh.shape[-1])
    product = (u * xp.asarray(np.arange(1.0, k + 1) + 0j)) @ vh
    return xp.sum(xp.abs(xp.asarray(LEFT[:m, :m]) @ product @ xp.asarray(RIGHT[:n, :n]))) + xp.sum(s**3)


LOSSES: dict[str, tuple[Any, np.ndarray[Any, Any]]] = {
    "eigvalsh": (lambda x: ma.sum(ma.linalg.eigvalsh(_hermitian(x)) * ma.arange(3.0)), SQUARE),
    "eigh": (_eigenvectors, SQUARE),
    "svdvals": (lambda x: ma.sum(ma.linalg.svdvals(x) * ma.arange(1.0, 3.0)), WIDE),
    "svd of tall": (_singular_vectors, TALL),
    "svd of wide": (_singular_vectors, WIDE),
    "svd of square": (_singular_vectors, SQUARE[0]),
    "spectral norm": (lambda x: ma.linalg.norm(x, 2) + ma.linalg.norm(x, "nuc"), TALL),
}


def _along(f: Any, x: Any, change: Any) -> float:
    return float(f(ma.asarray(x + STEP * change)) - f(ma.asarray(x - STEP * change))) / (2 * STEP)


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_and_tangents(name: str) -> None:
    f, x = LOSSES[name]
    gradient = ma.grad(f)
    g = np.asarray(gradient(ma.asarray(x)))
    np.testing.assert_allclose(ma.jit(gradient, target="native")(x), g, rtol=1e-10, atol=1e-12)
    for change in RNG.standard_normal((2, *x.shape)) * (1 + 0j), RNG.standard_normal((2, *x.shape)) * 1j:
        change = change[0]
        expected = _along(f, x, change)
        np.testing.assert_allclose(np.sum(g * change).real, expected, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(float(ma.jvp(f, (ma.asarray(x),), (ma.asarray(change),))[1]), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", ["eigh", "svdvals", "svd of tall", "svd of wide"])
def test_second_derivatives(name: str) -> None:
    f, x = LOSSES[name]
    change = RNG.standard_normal(x.shape) + 1j * RNG.standard_normal(x.shape)
    gradient = ma.grad(f)
    found = np.asarray(ma.jvp(gradient, (ma.asarray(x),), (ma.asarray(change),))[1])
    low, high = (np.asarray(gradient(ma.asarray(x + s * STEP * change))) for s in (-1, 1))
    np.testing.assert_allclose(found, (high - low) / (2 * STEP), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("f", "x"), [(_eigenvectors, SQUARE), (_singular_vectors, TALL), (_singular_vectors, WIDE)])
def test_gradients_are_those_of_jax(f: Any, x: Any) -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    from mind_bridges.jax import from_jax
    from mind_passes.functional import value_and_grad
    from mind_runtime import compile

    y = x.astype(np.complex64)
    expected = jax.value_and_grad(lambda z: f(z, jax.numpy))(y)
    found = compile(value_and_grad(from_jax(lambda z: f(z, jax.numpy), y)), "main_grad")(y)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-3)


def test_phases_of_vectors_are_those_of_jax() -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    y = TALL.astype(np.complex64)
    for i in (0, 2):
        found = ma.grad(lambda z, i=i: ma.sum(ma.real(ma.linalg.svd(z, full_matrices=False)[i])))(ma.asarray(y))
        expected = jax.grad(lambda z, i=i: jax.numpy.sum(jax.numpy.linalg.svd(z, full_matrices=False)[i].real))(y)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
