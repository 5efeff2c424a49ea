"""Keys with True, False, masks and empty index arrays, drawn at random: reading and updating as NumPy does, eager and traced."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import mind_array as ma
from mind_dialect.errors import MindError

ENTRIES: tuple[Any, ...] = (
    *(True, False, np.True_, None, ..., 0, -1, slice(None), slice(1, None), slice(0, 0), slice(None, None, -1)),
    *([], [0], [True], [True, False, True], np.array([], int), np.array([0, 1]), np.array([[0], [1]]), np.array(1)),
    *(np.array(True), np.array(False), np.zeros((0,), bool), np.zeros((0, 2), int)),
)
SHAPES = ((), (0,), (1,), (3,), (2, 3), (0, 3), (3, 2, 3))


def drawn(seed: int) -> tuple[Any, Any]:
    rng = random.Random(seed)
    shape = rng.choice(SHAPES)
    key = tuple(rng.choice(ENTRIES) for _ in range(rng.randint(1, 4)))
    return np.arange(float(np.prod(shape))).reshape(shape), key[0] if len(key) == 1 else key


def found(call: Any) -> Any:
    """What a call gives; None where the key is refused."""
    try:
        return np.asarray(call())
    except (MindError, IndexError):
        return None


def agree(ours: Any, theirs: Any) -> None:
    assert (ours is None) == (theirs is None)
    if ours is not None:
        np.testing.assert_array_equal(ours, theirs, strict=True)


def changed(x: Any, key: Any, change: Any) -> Any:
    y = x.copy()
    change(y, key, 7.0)
    return y


@pytest.mark.parametrize("part", range(8))
def test_keys_drawn_at_random_select_and_change_what_they_do_in_numpy(part: int):
    for seed in range(40 * part, 40 * part + 40):
        x, key = drawn(seed)
        selected = found(lambda x=x, key=key: x[key])
        agree(found(lambda x=x, key=key: ma.asarray(x)[key]), selected)
        agree(found(lambda x=x, key=key: ma.jit(lambda a: a[key])(x)), selected)
        assigned = found(lambda x=x, key=key: changed(x, key, lambda y, k, v: y.__setitem__(k, v)))
        agree(found(lambda x=x, key=key: ma.asarray(x).at[key].set(7.0)), assigned)
        added = found(lambda x=x, key=key: changed(x, key, np.add.at))
        agree(found(lambda x=x, key=key: ma.asarray(x).at[key].add(7.0)), added)


def test_truths_are_one_entry_that_broadcasts_with_index_arrays():
    x = np.arange(6.0).reshape(2, 3)
    for key in ((True, True), (0, slice(None), True), (True, [0, 1]), (slice(None), True, [1]), (None, False, slice(None), True)):
        expected = x[key]
        agree(np.asarray(ma.asarray(x)[key]), expected)
        agree(np.asarray(ma.jit(lambda a, key=key: a[key])(x)), expected)


def test_indices_of_nothing_are_integers():
    (empty,) = ma.ix_([])
    assert empty.dtype == np.int64 == np.ix_([])[0].dtype
    assert np.asarray(ma.ones((3, 2))[ma.ix_([], [0])]).shape == (0, 1)
