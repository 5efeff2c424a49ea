"""
Random numbers from Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011).

The generator is a function of a key and a counter, so element `i` of a draw is the same on every target and in every process.
The key is the low half of the run's seed and the op's ordinal in the program; the counter is the number of the block of four
words (two words), the high half of the seed, and 0. Words are taken in order. In loops each iteration has a key of its own: for
each loop around the op, outermost first, the key becomes the first two words of the block with that key whose counter is the
number of the iteration (two words), the high half of the seed, and 1. Iterations count from 0 each time that a loop begins.
"""

from __future__ import annotations

from math import prod
from operator import mul
from types import SimpleNamespace
from typing import Any

from .casts import Casts
from .formats import Array, DTypeLike, Ints, format_of

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10
_LOW = 0xFFFFFFFF
_PRECISION = {"bf16": 8, "f16": 11}
"""Bits of significand, where that is less than the 24 bits which are drawn: rounding those could give 1."""


def uniform_bits(dtype: str) -> int:
    """Return the bits of a word that a uniform number of a dtype has: as many as it holds exactly, at most 24."""
    return min(24, _PRECISION.get(dtype, 24))


_NUMBERS = SimpleNamespace(uint64=int, multiply=mul)
"""Python's own numbers as an array namespace, for one block at a time."""


def philox(xp: Any, counter: tuple[Any, Any, Any, Any], key: tuple[int, int]) -> tuple[Array, Array, Array, Array]:
    """Ten rounds on four words, each held in an unsigned 64-bit array or number."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    low, half = xp.uint64(_LOW), xp.uint64(32)
    m0, m1 = map(xp.uint64, MULTIPLIERS)
    for _ in range(ROUNDS):
        p0, p1 = xp.multiply(c0, m0), xp.multiply(c2, m1)
        c0, c1, c2, c3 = (p1 >> half) ^ c1 ^ xp.uint64(k0), p1 & low, (p0 >> half) ^ c3 ^ xp.uint64(k1), p0 & low
        k0, k1 = (k0 + WEYL[0]) & _LOW, (k1 + WEYL[1]) & _LOW
    return c0, c1, c2, c3


def key_of(ordinal: int, seed: int, iterations: Ints) -> tuple[int, int]:
    """The key of a draw."""
    key = (seed & _LOW, ordinal & _LOW)
    for iteration in iterations:
        key = philox(_NUMBERS, (iteration & _LOW, iteration >> 32, seed >> 32, 1), key)[:2]
    return key


class Random(Casts):
    """
    Draws. `seed` is the run's, of up to 64 bits; `ordinal` tells the draws of one program apart.

    `iterations` are the induction variables of the loops around the op, the outermost first.
    """

    def rng_uniform(self, *, shape: Ints, dtype: DTypeLike, ordinal: int, seed: int = 0, iterations: Ints = ()) -> Array:
        """Uniform in [0, 1): the top 24 bits of a word by 2**-24, of dtypes with fewer bits as many as they have."""
        bits = uniform_bits(format_of(dtype).name)
        words = self._words(prod(shape), seed, key_of(ordinal, seed, iterations))[: prod(shape)]
        numbers = (words >> self.xp.uint64(32 - bits)).astype("float64") * 2.0**-bits
        return self.cast(numbers, dtype=dtype).reshape(tuple(shape))

    def rng_normal(self, *, shape: Ints, dtype: DTypeLike, ordinal: int, seed: int = 0, iterations: Ints = ()) -> Array:
        """Normal of mean 0 and variance 1, two from two words by Box and Muller, in f64 and rounded once."""
        xp = self.xp
        words = self._words(prod(shape), seed, key_of(ordinal, seed, iterations))
        unit = (words >> xp.uint64(8)).astype("float64")
        radius = xp.sqrt(-2.0 * xp.log((unit[0::2] + 1.0) * 2.0**-24))  # of a number in (0, 1]
        angle = unit[1::2] * (2.0**-24 * 2.0 * xp.pi)
        numbers = xp.stack([radius * xp.cos(angle), radius * xp.sin(angle)], axis=-1).reshape(-1)
        return self.cast(numbers[: prod(shape)], dtype=dtype).reshape(tuple(shape))

    def _words(self, count: int, seed: int, key: tuple[int, int]) -> Array:
        """At least `count` words, a multiple of four."""
        xp = self.xp
        blocks = xp.arange(-(-count // 4), dtype="uint64")
        zero = xp.uint64(0)
        high = xp.uint64((seed >> 32) & _LOW)
        counter = (blocks & xp.uint64(_LOW), blocks >> xp.uint64(32), high, zero)
        words = philox(xp, counter, key)
        return xp.stack(xp.broadcast_arrays(*words), axis=-1).reshape(-1)
