"""Updates at index arrays along all axes, against NumPy: the positions are computed, not looked up in an array of all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mind_array as ma
from mind_dialect.errors import MindError

VECTOR, MATRIX = np.arange(5.0), np.arange(12.0).reshape(3, 4)


def _of(*numbers: int, dtype: Any = np.int64) -> np.ndarray:
    return np.array(numbers, dtype)


KEYS: dict[str, tuple[np.ndarray, tuple[Any, ...]]] = {
    "a number": (VECTOR, (np.array(3),)),
    "repeated, from the end too": (VECTOR, (_of(0, 2, -2, 2),)),
    "unsigned": (VECTOR, (_of(1, 2, dtype=np.uint8),)),
    "of 32 bits": (VECTOR, (_of(1, -2, dtype=np.int32),)),
    "a new axis": (VECTOR, (None, _of(1, 2))),
    "above": (VECTOR, (_of(5),)),
    "below": (VECTOR, (_of(-6),)),
    "two numbers": (MATRIX, (np.array(1), np.array(-1))),
    "pairs": (MATRIX, (_of(0, 1), _of(2, -1))),
    "pairs that broadcast": (MATRIX, (_of(0, 1)[:, None], _of(1, 3))),
    "a new axis between": (MATRIX, (_of(0, 2), None, _of(0, 2))),
    "a column above": (MATRIX, (_of(0, 1), _of(2, 4))),
    "a row below": (MATRIX, (_of(0, -4), _of(2, 1))),
    "an unsigned row above": (MATRIX, (_of(7, dtype=np.uint8), _of(0))),
}
METHODS: dict[str, Callable[[np.ndarray, Any], None]] = {
    "set": lambda x, key: x.__setitem__(key, 9.5),
    "add": lambda x, key: np.add.at(x, key, 9.5),
    "max": lambda x, key: np.maximum.at(x, key, 9.5),
    "multiply": lambda x, key: np.multiply.at(x, key, 9.5),
}


@pytest.mark.parametrize("target", ["eager", "numpy", "native"])
@pytest.mark.parametrize("method", list(METHODS))
@pytest.mark.parametrize("name", list(KEYS))
def test_values_and_refusals(name: str, method: str, target: str) -> None:
    if target == "native":
        pytest.importorskip("llvmlite")
    x, key = KEYS[name]

    def updated(array: ma.Array, *indices: ma.Array) -> ma.Array:
        left = iter(indices)
        return getattr(array.at[tuple(None if k is None else next(left) for k in key)], method)(9.5)

    call = updated if target == "eager" else ma.jit(updated, target=target)
    operands = [ma.asarray(v) for v in (x, *(k for k in key if k is not None))]
    wanted = x.copy()
    try:
        METHODS[method](wanted, key)
    except IndexError:
        with pytest.raises(MindError, match="E6001"):
            call(*operands)
    else:
        np.testing.assert_array_equal(np.asarray(call(*operands)), wanted, strict=True)


@pytest.mark.parametrize("target", ["eager", "numpy", "native"])
@pytest.mark.parametrize("method", list(METHODS))
@pytest.mark.parametrize("x", [np.array(2.0), VECTOR, MATRIX], ids=["a number", "a vector", "a matrix"])
def test_keys_that_select_all_elements_or_none(x: np.ndarray, method: str, target: str) -> None:
    if target == "native":
        pytest.importorskip("llvmlite")
    arrays = [np.array(True), np.array(False)]
    for key in (..., (), None, (None, ...), True, False, (False, ...), *arrays):
        wanted = x.copy()
        METHODS[method](wanted, key)
        is_array = isinstance(key, np.ndarray)

        def updated(array: ma.Array, given: Any, key: Any = key, is_array: bool = is_array) -> ma.Array:
            return getattr(array.at[given if is_array else key], method)(9.5)

        call = updated if target == "eager" else ma.jit(updated, target=target)
        found = call(ma.asarray(x), ma.asarray(key if is_array else 0))
        np.testing.assert_array_equal(np.asarray(found), wanted, err_msg=repr(key), strict=True)


def test_a_mask_of_rank_0_takes_values_of_any_shape() -> None:
    for kept in (True, False):
        found = ma.jit(lambda x, mask: x.at[mask].set(x * 2.0))(MATRIX, np.array(kept))
        np.testing.assert_array_equal(np.asarray(found), MATRIX * (2.0 if kept else 1.0))
    with pytest.raises(MindError, match="E3001"):
        ma.asarray(VECTOR).at[False].set(np.zeros(3))


def test_no_array_of_all_positions() -> None:
    x, i = ma.spec((4000,), "float64", name="x"), ma.spec((), "int64", name="i")
    assert "ptir.iota" not in str(ma.trace(lambda x, i: x.at[i].set(1.0), x, i))
    assert "ptir.iota" in str(ma.trace(lambda x, i: x.at[i, :].set(1.0), ma.spec((3, 4), "float64", name="x"), i)), "rows"
