"""
The passes of Fourier transforms and the tables that they read, which depend on lengths only.

A transform of length `n` is one pass for each factor of `n`: radix 4 as often as it divides `n`, then the primes. Tables are f64.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

RADICES = (4, 2, 3, 5, 7, 11, 13)
"""Radices of passes, in their order: after passes of radix 4, most interleaved transforms fill whole vectors."""
PRIMES = (17, 19, 23, 29, 31)
"""More radices, for lines that are transformed together; chirps transform a single line faster."""


def radices(length: int, more: Sequence[int] = ()) -> list[int] | None:
    """
    Return the radix of each pass; None for a length with other factors, unless they are among `more`.

    >>> radices(1000), radices(34)
    ([4, 2, 5, 5, 5], None)
    """
    found = list[int]()
    for radix in (*RADICES, *more):
        while length % radix == 0:
            found.append(radix)
            length //= radix
    return found if length == 1 else None


def passes(length: int) -> list[tuple[int, int]]:
    """Return the radix of each pass, and the number of transforms that are interleaved before it."""
    found = radices(length, PRIMES)
    assert found is not None, "a length that has passes"
    return [(radix, prod(found[:i])) for i, radix in enumerate(found)]


def roots(numbers: np.ndarray, length: int) -> np.ndarray:
    """
    Return the cosines and the negative sines of `numbers / length` of a full turn, as rows of f64.

    Quarter turns are exact; cosines and sines are computed of angles of an eighth of a turn at most.
    """
    eighths = 4 * (numbers % length)
    quarters = (2 * eighths + length) // (2 * length)
    angle = np.pi / 2 * ((eighths - quarters * length) / length)
    c, s = np.cos(angle), np.sin(angle)
    quarters = quarters % 4
    real = np.choose(quarters, [c, -s, -c, s])
    return np.stack([real, np.choose(quarters, [-s, -c, s, c])])


def powers_of(length: int, radix: int, done: int, width: int) -> np.ndarray | None:
    """
    Return the twiddle factors of a pass: for each power from 1 to `radix - 1` of roots of unity their real, then imaginary parts.

    There is one root for each group of `done` interleaved transforms, or one for each number of it where `done < width`. None for
    the last pass, which needs no factors.
    """
    groups = length // done // radix
    if groups == 1:
        return None
    place = np.repeat(np.arange(groups), 1 if done >= width else done)
    return np.concatenate([roots(place * power, length // done).ravel() for power in range(1, radix)])


def padded_length(length: int, more: Sequence[int] = ()) -> int:
    """
    Return the length of the transforms by which a line is transformed: its own, or one for the chirps of a large prime factor.

    `more` are radices in addition to those of `RADICES`.

    >>> padded_length(1000), padded_length(997)
    (1000, 2000)
    """
    if radices(length, more) is not None:
        return length
    found = -(-(2 * length - 1) // 16) * 16
    while max(radices(found) or RADICES) > 5:
        found += 16
    return found


def chirps(length: int, padded: int) -> list[np.ndarray]:
    """
    Return the chirp `exp(-i pi k^2 / length)`, and the transform of its conjugate that a product with it convolves.

    `2 j k = j^2 + k^2 - (k - j)^2` makes a transform a convolution with chirps (Bluestein), by transforms of `padded` numbers.
    The spectrum is divided by `padded`, so that the inverse transform need not be.
    """
    places = np.arange(length)
    chirp = roots(places * places, 2 * length)
    conjugate = np.zeros(padded, complex)
    conjugate[places] = conjugate[-places] = chirp[0] - 1j * chirp[1]
    spectrum = np.fft.fft(conjugate) / padded
    return [chirp.ravel(), spectrum.real, spectrum.imag]


def factors_of(length: int, width: int, *, paired: bool = False, more: Sequence[int] = ()) -> np.ndarray:
    """
    Return the chirps of a line, the factors of its passes, and if `paired` the roots that separate pairs of real numbers.

    They end with `width` zeros, because passes load whole vectors where they use a part.
    """
    padded = padded_length(length, more)
    found = [] if padded == length else chirps(length, padded)
    powers = [powers_of(padded, radix, done, width) for radix, done in passes(padded)]
    found += [part for part in powers if part is not None]
    if paired:
        found.append(roots(np.arange(length + 1), 2 * length).ravel())
    return np.concatenate([*found, np.zeros(width)])


def column_factors(length: int) -> np.ndarray:
    """Return the factors of columns that are transformed together: whole vectors are interleaved from the first pass on."""
    return factors_of(length, 1, more=PRIMES)


def split_size(count: int) -> int:
    """Return how many consecutive roots of `split_roots` have one factor: a power of two near the square root of `count`."""
    return 1 << (max(count, 1).bit_length() + 1) // 2


def split_roots(step: int, count: int, length: int, width: int) -> np.ndarray:
    """
    Return two short tables instead of the roots of unity `step * i / length` for `i < count`: each root is a product of two.

    The first has one root for each place in a run of `split_size(count)`, and a vector more; the second one for each run.
    """
    size = split_size(count)
    runs = np.arange(-(-count // size)) * size
    return np.concatenate([roots(step * places, length).ravel() for places in (np.arange(size + width), runs)])
