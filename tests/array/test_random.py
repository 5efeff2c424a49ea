"""Random numbers of `mind_array`: the bits are fixed, the same everywhere, and have the right distributions."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import mind_array as ma
from mind_dialect.errors import MindError
from mind_lowering.ptir_kernels.random import philox

GOLDEN = {
    "bits": [1713891541, 3781805453, 3159862348, 2600524760, 4175744164],
    "split": [768504805, 323543615],
}


def test_the_generator_is_philox():
    zero = np.zeros(2, np.uint64)
    words = philox(np, (np.arange(2, dtype=np.uint64), zero, zero, zero), (7, 9))
    key = ma.asarray([7, 9], dtype=ma.uint32)
    np.testing.assert_array_equal(ma.random.bits(key, (7,)).ndarray, np.stack(words, -1).reshape(-1)[:7])


def test_the_bits_stay_what_they_are():
    key = ma.random.key(0)
    assert ma.random.bits(key, (5,)).tolist() == GOLDEN["bits"]
    assert ma.random.split(key)[0].tolist() == GOLDEN["split"]


DRAWS: dict[str, Any] = {
    "uniform": lambda k: ma.random.uniform(k, (2000,)),
    "uniform f32": lambda k: ma.random.uniform(k, (2000,), dtype=ma.float32, minval=-1.0, maxval=3.0),
    "normal": lambda k: ma.random.normal(k, (2000,)),
    "normal f32": lambda k: ma.random.normal(k, (2000,), dtype=ma.float32),
    "truncated": lambda k: ma.random.truncated_normal(k, -1.0, 2.0, (2000,)),
    "bernoulli": lambda k: ma.random.bernoulli(k, 0.25, (2000,)),
    "randint": lambda k: ma.random.randint(k, (2000,), -3, 5),
    "permutation": lambda k: ma.random.permutation(k, 50),
    "categorical": lambda k: ma.random.categorical(k, ma.log(ma.asarray([[0.1, 0.6, 0.3]] * 2000))),
    "split": lambda k: ma.random.split(k, 3),
    "fold_in": lambda k: ma.random.fold_in(k, 12),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_draw_is_the_same_eager_compiled_and_batched(name: str):
    draw = DRAWS[name]
    keys = ma.random.split(ma.random.key(5), 2)
    eager = np.stack([np.asarray(draw(keys[i])) for i in range(2)])
    assert (eager[0] != eager[1]).any()
    exact = name not in ("normal", "normal f32", "truncated", "categorical")
    for f in (ma.jit(draw), ma.jit(draw, target="native")):
        found = np.asarray(f(keys[1]))
        (np.testing.assert_array_equal if exact else np.testing.assert_allclose)(found, eager[1])
    (np.testing.assert_array_equal if exact else np.testing.assert_allclose)(np.asarray(ma.vmap(draw)(keys)), eager)


def test_distributions():
    key = ma.random.key(1)
    found = {name: np.asarray(draw(key)).astype(float) for name, draw in DRAWS.items()}
    assert 0 <= found["uniform"].min() < found["uniform"].max() < 1
    assert abs(found["uniform"].mean() - 0.5) < 0.03
    assert abs(found["uniform f32"].mean() - 1) < 0.1
    assert abs(found["normal"].mean()) < 0.1
    assert abs(found["normal"].std() - 1) < 0.06
    assert -1 <= found["truncated"].min() < -0.99 < 1.9 < found["truncated"].max() <= 2
    assert abs(found["truncated"].mean() - 0.2295) < 0.05
    assert abs(found["bernoulli"].mean() - 0.25) < 0.04
    assert set(found["randint"]) == set(range(-3, 5))
    assert sorted(found["permutation"]) == list(range(50))
    shares = np.bincount(found["categorical"].astype(int)) / 2000
    np.testing.assert_allclose(shares, [0.1, 0.6, 0.3], atol=0.05)


@pytest.mark.parametrize("dtype", [ma.int8, ma.uint8, ma.int16, ma.int32, ma.uint32, ma.int64, ma.uint64], ids=str)
def test_integers_fill_ranges_that_are_wider_than_half_their_dtype(dtype: Any):
    limits = np.iinfo(dtype)
    for low, high in ((int(limits.min), int(limits.max) + 1), (int(limits.min) + 3, int(limits.max) - 3)):
        high = min(high, low + 2**32)
        f = partial(ma.random.randint, shape=(4000,), minval=low, maxval=high, dtype=dtype)
        for g in (f, ma.jit(lambda k, f=f: f(k)), ma.jit(lambda k, f=f: f(k), target="native")):
            found = g(ma.random.key(0))
            assert found.dtype == dtype
            shares = np.histogram([int(x) - low for x in found.tolist()], 8, (0, high - low))[0] / 4000
            np.testing.assert_allclose(shares, 1 / 8, atol=0.03)


@pytest.mark.parametrize("dtype", [ma.float16, ma.bfloat16, ma.float32, ma.float64], ids=str)
def test_floats_have_the_dtype_asked_for_and_stay_below_their_bound(dtype: Any):
    key = ma.random.key(0)
    for low, high in ((1.0, 2.0), (-3, 5), (ma.asarray([1.0, 2.0]), np.float32(4)), (2.0, 1.0)):
        found = ma.random.uniform(key, (20000, 2), minval=low, maxval=high, dtype=dtype)
        assert (found.dtype, found.shape) == (dtype, (20000, 2))
        low, high, found = (np.asarray(x, np.float64) for x in (low, high, found))
        assert ((found != high) & (np.minimum(low, high) <= found) & (found <= np.maximum(low, high))).all()
        np.testing.assert_allclose(found.mean(0), np.broadcast_to((low + high) / 2, (2,)), atol=0.05)
    for g in (ma.random.normal(key, (3,), dtype=dtype), ma.random.truncated_normal(key, -1, 1.5, (3,), dtype=dtype)):
        assert g.dtype == dtype
    slope = ma.grad(lambda high: ma.sum(ma.random.uniform(key, (9,), minval=1.0, maxval=high, dtype=dtype)))
    if dtype in (ma.float32, ma.float64):
        expected = ma.sum(ma.random.uniform(key, (9,), dtype=dtype))
        np.testing.assert_allclose(np.asarray(slope(ma.asarray(3.0, dtype=dtype))), expected.ndarray, rtol=1e-6)


@pytest.mark.parametrize("dtype", [ma.float16, ma.bfloat16, ma.float32, ma.float64], ids=str)
def test_many_equal_categories_are_equally_probable_in_every_dtype(dtype: Any):
    found = ma.random.categorical(ma.random.key(0), ma.zeros((1000, 2000), dtype=dtype))
    np.testing.assert_allclose(np.bincount(found.ndarray // 500, minlength=4) / 1000, 0.25, atol=0.05)


WRONG = {
    "a complex bound": (lambda: ma.random.uniform(ma.random.key(0), (2,), maxval=1j), "E2005"),
    "bounds of another shape": (lambda: ma.random.uniform(ma.random.key(0), (2,), maxval=np.ones(3)), "E3001"),
    "a permutation of an axis that is not there": (lambda: ma.random.permutation(ma.random.key(0), np.ones(3), axis=1), "E3004"),
    "a permutation of a fraction": (lambda: ma.random.permutation(ma.random.key(0), 1.5), "E3004"),
    "more words than a count": (lambda: ma.random.bits(ma.random.key(0), (10**30,)), "E6004"),
    "a seed that is negative": (lambda: ma.random.key(-1), "E1110"),
    "a seed that is no integer": (lambda: ma.random.key(1.5), "E2005"),
    "several seeds": (lambda: ma.random.key(np.array([1, 2])), "E1110"),
    "a number of keys": (lambda: ma.random.split(ma.random.key(0), -1), "E1110"),
    "a number of keys that is no integer": (lambda: ma.random.split(ma.random.key(0), 2.5), "E1110"),
    "folding in a fraction": (lambda: ma.random.fold_in(ma.random.key(0), 1.5), "E2005"),
    "folding in several numbers": (lambda: ma.random.fold_in(ma.random.key(0), np.arange(2)), "E1110"),
    "a range beyond the dtype": (lambda: ma.random.randint(ma.random.key(0), (2,), 0, 1000, dtype=ma.int8), "E4005"),
    "a range of fractions": (lambda: ma.random.randint(ma.random.key(0), (2,), 0.5, 3), "E1110"),
    "more than the memory": (lambda: ma.random.normal(ma.random.key(0), (2**50,)), "E6004"),
    "no key": (lambda: ma.random.bits(ma.ones(2), (3,)), "E2001"),
    "an integer dtype": (lambda: ma.random.normal(ma.random.key(0), (2,), dtype=ma.int32), "E2005"),
    "an empty range": (lambda: ma.random.randint(ma.random.key(0), (2,), 3, 3), "E1110"),
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_coded_errors(name: str):
    call, code = WRONG[name]
    with pytest.raises(MindError) as caught:
        call()
    assert caught.value.code == code


def test_negative_numbers_make_keys_of_their_own():
    key = ma.random.key(3)
    for f in (ma.random.fold_in, ma.jit(ma.random.fold_in)):
        found = {tuple(np.asarray(f(key, np.int64(n))).tolist()) for n in (-2, -1, 0, 1, 2)}
        assert len(found) == 5
    np.testing.assert_array_equal(np.asarray(ma.random.key(ma.asarray(-1))), [2**32 - 1] * 2)
