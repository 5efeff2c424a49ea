"""Derivatives where a formula has a case of its own, and of functions of complex numbers that run on the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mind_array as ma

STEP = 1e-6
Z = np.random.default_rng(1).standard_normal(5) * 2 + 1j * np.random.default_rng(2).standard_normal(5)
AXES = np.array([0.5, -0.25, 2j, -1.5j, 0.3 + 0.0j, -0.0 + 0.7j])


@pytest.mark.parametrize(
    "name", ["sinh", "cosh", "tan", "asin", "acos", "atan", "asinh", "acosh", "atanh", "expm1", "exp2", "tanh"]
)
def test_functions_of_complex_numbers(name: str) -> None:
    f = getattr(ma, name)
    # asinh, acosh and atanh have branch cuts on the imaginary or the real axis
    z = Z if name in ("acosh", "atan", "asinh") else np.concatenate([Z, AXES])
    with np.errstate(all="ignore"):
        along_real = (np.asarray(f(ma.asarray(z + STEP))) - np.asarray(f(ma.asarray(z - STEP)))) / (2 * STEP)

    def loss(z: Any) -> Any:
        y = f(z)
        return ma.sum(ma.real(y)) + 2.0 * ma.sum(ma.imag(y))

    expected = along_real * (1 - 2j)  # d Re f - 2i d Im f, without conjugation
    for target in (None, "numpy", "native"):
        gradient = ma.grad(loss) if target is None else ma.jit(ma.grad(loss), target=target)
        np.testing.assert_allclose(gradient(ma.asarray(z)), expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        ma.jvp(f, (ma.asarray(z),), (ma.ones(z.shape, dtype=ma.complex128),))[1], along_real, rtol=1e-6, atol=1e-6
    )
    np.testing.assert_allclose(ma.vmap(ma.grad(loss))(ma.asarray(z)), expected, rtol=1e-6, atol=1e-6)


def test_branch_cuts_have_the_derivative_of_the_side_that_the_sign_of_zero_says() -> None:
    cut = np.array([complex(2, 0.0), complex(2, -0.0), complex(-2, 0.0), complex(-2, -0.0)])
    inside = np.array([2 + 1e-9j, 2 - 1e-9j, -2 + 1e-9j, -2 - 1e-9j])
    for f in (ma.asin, ma.acos):
        gradient = ma.grad(lambda z, f=f: ma.sum(ma.real(f(z) * f(z))))
        np.testing.assert_allclose(gradient(ma.asarray(cut)), gradient(ma.asarray(inside)), rtol=1e-6)


def test_second_derivatives_of_host_functions() -> None:
    def gradient(z: Any) -> Any:
        return ma.grad(lambda z: ma.sum(ma.real(ma.asin(z) * ma.sinh(z))))(z)

    expected = (np.asarray(gradient(ma.asarray(Z + STEP))) - np.asarray(gradient(ma.asarray(Z - STEP)))) / (2 * STEP)
    found = ma.jvp(gradient, (ma.asarray(Z),), (ma.ones(Z.shape, dtype=ma.complex128),))[1]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


AT_CORNERS = {
    "asinh": (ma.asinh, [0.0, -0.0, 0.5, 1e9, -1e9], [1, 1, 1 / np.sqrt(1.25), 1e-9, 1e-9]),
    "remainder": (lambda x: x % 1.5, [0.0, 3.0, -1.5, 0.7], [1, 1, 1, 1]),
    "remainder of a negative": (lambda x: ma.remainder(x, -1.5), [0.0, 3.0, -1.5, 0.7], [1, 1, 1, 1]),
}


@pytest.mark.parametrize("name", AT_CORNERS)
def test_corners(name: str) -> None:
    f, points, expected = AT_CORNERS[name]
    np.testing.assert_allclose(ma.grad(lambda x: ma.sum(f(x)))(ma.asarray(points)), expected, rtol=1e-9)


def test_remainders_keep_the_sign_of_their_zeros() -> None:
    x = np.array([0.0, -0.0, 3.0, -3.0, np.nan, np.inf, 2.0])
    for divisor in (1.5, -1.5):
        with np.errstate(all="ignore"):
            expected = np.mod(x, divisor)
        traced = [ma.jit(lambda x, d=divisor: x % d, target=target)(x) for target in ("numpy", "native")]
        for found in (ma.asarray(x) % divisor, *traced):
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(np.signbit(found.ndarray[:4]), np.signbit(expected[:4]))


def test_exponentials_of_numbers_with_infinite_parts() -> None:
    z = np.array([complex(a, b) for a in (np.inf, -np.inf) for b in (0.0, -0.0)])
    np.testing.assert_array_equal(ma.exp2(ma.asarray(z)), np.exp2(z))
    expected = [complex(np.inf, 0.0), complex(np.inf, -0.0), complex(-1, 0.0), complex(-1, -0.0)]
    np.testing.assert_array_equal(ma.expm1(ma.asarray(z)), expected)


def test_the_next_number_moves_with_the_first_operand():
    """As in PyTorch; bits are unchanged, also of zeros, infinities, NaN and the least numbers."""
    special = np.array([0.0, -0.0, 1.0, -1.5, 5e-324, -5e-324, np.inf, -np.inf, np.nan, np.finfo(np.float64).max])
    x, y = (a.ravel() for a in np.meshgrid(special, special))
    with np.errstate(all="ignore"):
        expected = np.nextafter(x, y)
    for f in (ma.nextafter, ma.jit(ma.nextafter), lambda x, y: ma.jvp(ma.nextafter, (x, y), (ma.ones_like(x), y))[0]):
        found = np.asarray(f(ma.asarray(x), ma.asarray(y)))
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
    gradients = ma.grad(lambda x, y: ma.sum(ma.nextafter(x, y) * 3.0), (0, 1))(np.array([1.0, -2.5]), np.array([2.0, 0.0]))
    np.testing.assert_array_equal([np.asarray(g) for g in gradients], [[3.0, 3.0], [0.0, 0.0]])
