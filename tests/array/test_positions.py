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


def test_no_array_of_all_positions() -> None:
    x, i = ma.spec((4000,), "float64", name="x"), ma.spec((), "int64", name="i")
    assert "ptir.iota" not in str(ma.trace(lambda x, i: x.at[i].set(1.0), x, i))
    assert "ptir.iota" in str(ma.trace(lambda x, i: x.at[i, :].set(1.0), ma.spec((3, 4), "float64", name="x"), i)), "rows"
