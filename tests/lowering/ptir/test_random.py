"""Philox4x32-10 against its authors' test vectors and a plain Python round; the draws against their definition."""

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from mind_lowering.ptir_kernels.random import philox
from ptir_oracle import DTYPES, FLOAT_FORMATS, KERNELS, PtirDType, array, assert_near, elements, ids, legal, rounded, run

VECTORS = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
"""The known answers for philox4x32 with 10 rounds that come with the authors' Random123."""


@pytest.mark.parametrize(("counter", "key", "answer"), VECTORS)
def test_the_authors_test_vectors(counter: tuple[int, ...], key: tuple[int, int], answer: tuple[int, ...]):
    words = philox(np, tuple(np.uint64(c) for c in counter), key)
    assert tuple(map(int, words)) == answer
    assert philox_in_python(counter, key) == answer


def philox_in_python(counter: tuple[int, ...], key: tuple[int, int]) -> tuple[int, ...]:
    c, (k0, k1) = list(counter), key
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k0, b % 2**32, (a >> 32) ^ c[3] ^ k1, a % 2**32]
        k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
    return tuple(c)


def words(count: int, seed: int, ordinal: int, iterations: tuple[int, ...] = ()) -> list[int]:
    found: list[int] = []
    key = (seed % 2**32, ordinal)
    for iteration in iterations:
        first, second, *_ = philox_in_python((iteration % 2**32, iteration >> 32, seed >> 32, 1), key)
        key = (first, second)
    for block in range(-(-count // 4)):
        found += philox_in_python((block % 2**32, block >> 32, seed >> 32, 0), key)
    return found


def draw(
    op: str, shape: tuple[int, ...], dtype: PtirDType, ordinal: int = 3, seed: int = 0, iterations: tuple[int, ...] | None = None
) -> Any:
    more = (
        {"ordinal": ordinal, "seed": seed} if iterations is None else {"ordinal": ordinal, "seed": seed, "iterations": iterations}
    )
    return run(op, shape=shape, dtype=dtype, more=more)


@pytest.mark.parametrize(("op", "dtype"), legal("random"), ids=ids)
def test_every_legal_dtype(op: str, dtype: PtirDType):
    for shape, seed in (((3, 7), 0), ((), 5), ((0, 2), 5), ((4,), 2**40 + 17), ((5,), 2**64 - 1)):
        count = math.prod(shape)
        drawn = words(count + 1, seed, 3)
        if op == "rng_uniform":
            bits = min(24, FLOAT_FORMATS[dtype.name][0])
            expected = [rounded((w >> (32 - bits)) * 2.0**-bits, dtype.name) for w in drawn[:count]]
            assert elements(draw(op, shape, dtype, seed=seed)) == expected
        else:
            assert_near(draw(op, shape, dtype, seed=seed), normals(drawn)[:count], ulps=1 if dtype.bits < 64 else 8)


def normals(drawn: list[int]) -> list[float]:
    found: list[float] = []
    for u, v in zip(drawn[::2], drawn[1::2], strict=False):
        radius = math.sqrt(-2 * math.log(((u >> 8) + 1) * 2.0**-24))
        angle = 2 * math.pi * (v >> 8) * 2.0**-24
        found += [radius * math.cos(angle), radius * math.sin(angle)]
    return found


def test_draws_are_told_apart_by_seed_and_ordinal():
    base = draw("rng_uniform", (64,), DTYPES["f32"])
    assert elements(draw("rng_uniform", (64,), DTYPES["f32"])) == elements(base)
    others = [draw("rng_uniform", (64,), DTYPES["f32"], **k) for k in ({"ordinal": 4}, {"seed": 1}, {"seed": 2**32})]
    assert len({tuple(elements(x)) for x in (base, *others)}) == 4
    assert elements(draw("rng_uniform", (2, 32), DTYPES["f32"])) == elements(base), "the shape does not matter"


@pytest.mark.parametrize("dtype", ["bf16", "f16", "f32", "f64"])
def test_the_draws_look_as_they_should(dtype: str):
    uniform = draw("rng_uniform", (40_000,), DTYPES[dtype]).astype("f8")
    assert uniform.min() >= 0
    assert uniform.max() < 1
    low = 2.0 ** -min(FLOAT_FORMATS[dtype][0], 24) / 2  # numbers of few bits are truncated
    assert abs(uniform.mean() + low - 0.5) < 5 / math.sqrt(12 * 40_000)
    normal = draw("rng_normal", (40_000,), DTYPES[dtype]).astype("f8")
    assert np.isfinite(normal).all()
    assert abs(normal.mean()) < 5 / 200
    assert abs(normal.std() - 1) < 5 / math.sqrt(2 * 40_000)
    assert abs((np.abs(normal) < 1).mean() - 0.6827) < 0.012


TURNS = [(), (0,), (1,), (0, 0), (0, 1), (1, 0), (7, 2**32 + 1), (7, 1), (0, 0, 0), (2**40,)]


@pytest.mark.parametrize("seed", [0, 2**63 + 11])
def test_each_iteration_of_loops_has_a_key_of_its_own(seed: int):
    found: list[tuple[float, ...]] = []
    for iterations in TURNS:
        drawn = draw("rng_uniform", (9,), DTYPES["f32"], seed=seed, iterations=iterations)
        assert elements(drawn) == [(w >> 8) * 2.0**-24 for w in words(9, seed, 3, iterations)[:9]]
        found.append(tuple(elements(drawn)))
    assert len(set(found)) == len(TURNS)
    assert found[0] == tuple(elements(draw("rng_uniform", (9,), DTYPES["f32"], seed=seed)))
    normal = draw("rng_normal", (9,), DTYPES["f64"], seed=seed, iterations=(3, 4))
    assert_near(normal, normals(words(10, seed, 3, (3, 4)))[:9], ulps=8)


def test_iterations_look_independent():
    drawn = np.stack([KERNELS.rng_uniform(shape=(64,), dtype=np.dtype("f8"), ordinal=0, iterations=(t,)) for t in range(400)])
    assert abs(drawn.mean() - 0.5) < 5 / math.sqrt(12 * drawn.size)
    assert abs(np.corrcoef(drawn[:-1].reshape(-1), drawn[1:].reshape(-1))[0, 1]) < 5 / math.sqrt(drawn.size)


def test_the_same_numbers_in_another_process():
    program = (
        "import numpy, hashlib; from mind_lowering.ptir_kernels.kernels import PtirKernels; k = PtirKernels(numpy)\n"
        "d = k.rng_normal(shape=(999,), dtype=numpy.dtype('f4'), ordinal=1, seed=7)\n"
        "print(hashlib.sha256(d.tobytes()).hexdigest())"
    )
    here = KERNELS.rng_normal(shape=(999,), dtype=np.dtype("f4"), ordinal=1, seed=7)
    import hashlib

    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()
    assert other == hashlib.sha256(here.tobytes()).hexdigest()
    assert array([1.0], "f32").dtype == here.dtype
