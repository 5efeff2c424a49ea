"""The tables that kernels of Fourier transforms read, and the matrices that long lines are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from mind_dialect.ptir.types import F32, F64
from mind_lowering.native.fourier import SCRATCH
from mind_lowering.native.fourier_columns import columns_width, matrix_of
from mind_lowering.native.fourier_tables import (
    PRIMES,
    chirps,
    factors_of,
    padded_length,
    passes,
    radices,
    roots,
    split_roots,
    split_size,
)
from mind_lowering.native.target_info import TARGETS


def test_radices_multiply_to_the_length() -> None:
    for n in range(1, 400):
        found = radices(n)
        largest = max((p for p in range(2, n + 1) if n % p == 0 and all(p % q for q in range(2, p))), default=1)
        assert (found is None) == (largest > 13)
        assert found is None or int(np.prod(found)) == n


@pytest.mark.parametrize("n", [17, 31, 34, 97, 998, 4099])
def test_chirps_are_convolved_as_a_transform(n: int) -> None:
    """Each number of a transform is a sum of products with a chirp, by definition."""
    padded = padded_length(n)
    assert padded >= 2 * n - 1
    assert max(radices(padded) or [99]) <= 5
    chirp, re, im = chirps(n, padded)
    factors = chirp[:n] + 1j * chirp[n:]
    x = np.random.default_rng(n).standard_normal((n, 2)) @ [1, 1j]
    product = np.fft.fft(x * factors, padded) * (re + 1j * im)
    found = np.fft.ifft(product)[:n] * factors * padded
    np.testing.assert_allclose(found, np.fft.fft(x), atol=1e-14 * n, rtol=0)
    places = np.arange(n)
    np.testing.assert_allclose(factors, np.exp(-1j * np.pi * (places**2 % (2 * n)) / n), atol=2e-15, rtol=0)


@pytest.mark.parametrize("length", [1, 4, 30, 32, 64, 1000, 1001])
@pytest.mark.parametrize("width", [1, 4, 16])
def test_factors_are_roots_of_unity(length: int, width: int) -> None:
    found = factors_of(length, width)
    count = 0
    for radix, done in passes(length):
        groups = length // done // radix
        size = groups if done >= width else length // radix
        for power in range(1, radix if groups > 1 else 1):
            re, im = found[count : count + size], found[count + size : count + 2 * size]
            place = np.arange(size) if done >= width else np.arange(size) // done
            np.testing.assert_allclose(re + 1j * im, np.exp(-2j * np.pi * power * done / length * place), atol=1e-15, rtol=0)
            count += 2 * size
    np.testing.assert_array_equal(found[count:], np.zeros(width))


def test_roots_are_exact_at_quarter_turns() -> None:
    re, im = roots(np.arange(-8, 9), 4)
    np.testing.assert_array_equal(re, [1, 0, -1, 0] * 4 + [1])
    np.testing.assert_array_equal(im, [0, -1, 0, 1] * 4 + [0])
    re, im = roots(np.arange(1 << 20), 1 << 20)
    np.testing.assert_allclose(re + 1j * im, np.exp(-2j * np.pi * np.arange(1 << 20) / (1 << 20)), atol=1e-15, rtol=0)
    assert np.abs(re**2 + im**2 - 1).max() <= 2 * np.finfo(np.float64).eps


@pytest.mark.parametrize("count", [1, 2, 17, 1000, 4097])
@pytest.mark.parametrize("width", [1, 8])
def test_split_roots_are_factors_of_roots(count: int, width: int) -> None:
    size = split_size(count)
    runs = -(-count // size)
    found = split_roots(3, count, 10007, width)
    near_by, far = np.split(found, [2 * (size + width)])
    (a, b), (c, d) = near_by.reshape(2, -1), far.reshape(2, runs)
    place = np.arange(count)
    product = (a + 1j * b)[place % size] * (c + 1j * d)[place // size]
    np.testing.assert_allclose(product, np.exp(-2j * np.pi * (3 * place % 10007) / 10007), atol=1e-15, rtol=0)


@pytest.mark.parametrize("host", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("real", [F32, F64], ids=str)
def test_matrices_of_long_lines_fit_the_stack(host: Any, real: Any) -> None:
    for n in (101022, 49023, 1 << 14, 1 << 20, 1 << 22, 3 * 10**6, 10**5, 15**5, 77**3):
        found = matrix_of(host, real, n)
        assert found is not None
        assert found[0] * found[1] == n
        for length, others in (found, found[::-1]):
            width = columns_width(host, real, length, others)
            assert width is not None
            assert 4 * width * padded_length(length, PRIMES) * real.size <= SCRATCH
            assert width <= min(others, length)
    assert matrix_of(host, real, 1 << 26) is None
