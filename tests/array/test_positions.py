"""Updates at index arrays, against NumPy: the positions are computed, not looked up in an array of all of them."""

from __future__ import annotations

import re
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
ROWS: dict[str, Callable[[Any], Any]] = {
    "first": lambda i: i,
    "middle": lambda i: (slice(None), i),
    "last": lambda i: (..., i),
    "pairs": lambda i: (i, i),
    "pairs apart": lambda i: (i, slice(None), i),
    "an integer": lambda i: (2, slice(None), i),
    "parts": lambda i: (i, slice(3, 30)),
    "parts before": lambda i: (slice(3, 30), i),
    "parts of both axes": lambda i: (i, slice(3, 30), slice(5)),
}
"""Keys of rows of an array of rank 3, or of parts of them, by an index array."""


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
    assert "ptir.iota" in str(ma.trace(lambda x, i: x.at[i, ::2].set(1.0), ma.spec((3, 4), "float64", name="x"), i)), (
        "parts of rows"
    )


@pytest.mark.parametrize("method", [*METHODS, "min"])
@pytest.mark.parametrize("name", list(ROWS))
def test_rows_need_one_index_each(name: str, method: str) -> None:
    """No array has an index for each element: neither all positions nor those of the elements of the rows."""
    x, i = ma.spec((60, 50, 40), "float64", name="x"), ma.spec((7,), "int32", name="i")

    def updated(x: ma.Array, i: ma.Array) -> ma.Array:
        return getattr(x.at[ROWS[name](i)], method)(1.0)

    text = str(ma.trace(updated, x, i))
    assert "ptir.iota" not in text
    assert ("ptir.scatter_add" in text) == (method == "add" and "parts" not in name.split())
    wide = [line for line in text.splitlines() if re.search(r"-> tensor<(7x\d+|\d+x7)\S*xsi\d", line)]
    assert all(re.search(r"ptir\.(broadcast_to|reshape|concat) ", line) for line in wide)


ROW_KEYS: dict[str, tuple[Any, ...]] = {
    "rows": (_of(1, -1, 1, 0),),
    "a row": (np.array(-2),),
    "rows of an unsigned index": (_of(1, 0, 1, dtype=np.uint8), slice(None)),
    "no rows": (_of(),),
    "rows by a matrix": (_of(0, 1, 1, 2).reshape(2, 2),),
    "middle": (slice(None), _of(3, 0, 3)),
    "last": (..., _of(1, 1, -2)),
    "pairs": (_of(0, 1, 0), _of(2, -1, 2)),
    "pairs that broadcast": (slice(None), _of(0, 1)[:, None], _of(1, 0, 1)),
    "pairs apart": (_of(0, 1, 0), slice(None), _of(1, -1, 1)),
    "with an integer": (1, slice(None), _of(1, 0)),
    "with an integer before all": (-1, _of(2, 2)),
    "new axes": (None, _of(0, 2), None, slice(None)),
    "a new axis between pairs": (_of(0, 2), None, _of(0, 2)),
    "true": (True, slice(None), _of(0, 2)),
    "false": (False, _of(2)),
    "slices of steps": (_of(0, 2), slice(None, None, -1), slice(0, 1)),
    "above": (_of(0, 3),),
    "below": (slice(None), slice(None), _of(-3)),
    "above in a pair": (_of(0, 1), _of(4, 0)),
    "above in an empty row": (_of(5), slice(0, 0)),
    "parts of rows": (_of(1, -1, 1), slice(1, 3)),
    "parts of both axes": (_of(1, -1, 1), slice(1, 3), slice(1)),
    "parts of an axis of two": (_of(0, 2, 0), slice(None), slice(1, None)),
    "before": (slice(1, None), _of(3, 0, 3)),
    "before and after": (slice(1, None), _of(3, 0, 3), slice(1, 2)),
    "parts of the last": (..., slice(-3, -1), _of(1, 1, -2)),
    "parts apart": (_of(0, 1, 0), slice(1, 3), _of(1, -1, 1)),
    "parts of a matrix of rows": (_of(0, 1, 1, 2).reshape(2, 2), slice(2, None)),
    "parts of no rows": (_of(), slice(1, 3)),
    "parts with an integer": (1, slice(1, 3), _of(1, 0)),
    "parts and a new axis": (_of(0, 2), None, slice(1, 3)),
    "parts above": (_of(0, 3), slice(1, 3)),
    "parts below": (slice(1, 3), slice(None), _of(-3)),
}


@pytest.mark.parametrize("target", ["eager", "numpy", "native"])
@pytest.mark.parametrize("method", list(METHODS))
@pytest.mark.parametrize("name", list(ROW_KEYS))
def test_rows_against_numpy(name: str, method: str, target: str) -> None:
    if target == "native":
        pytest.importorskip("llvmlite")
    x, key = np.arange(24.0).reshape(3, 4, 2), ROW_KEYS[name]
    arrays = [k for k in key if isinstance(k, np.ndarray)]

    def updated(array: ma.Array, *indices: ma.Array) -> ma.Array:
        left = iter(indices)
        return getattr(array.at[tuple(next(left) if isinstance(k, np.ndarray) else k for k in key)], method)(9.5)

    call = updated if target == "eager" else ma.jit(updated, target=target)
    wanted = x.copy()
    try:
        METHODS[method](wanted, key)
    except IndexError:
        with pytest.raises(MindError, match="E6001"):
            call(ma.asarray(x), *map(ma.asarray, arrays))
    else:
        found = call(ma.asarray(x), *map(ma.asarray, arrays))
        np.testing.assert_array_equal(np.asarray(found), wanted, strict=True)


def test_the_last_of_repeated_rows_stays() -> None:
    x, rows = np.zeros((40, 3)), np.tile(_of(1, 3, 1), 30)
    values = np.arange(x[rows].size, dtype=np.float64).reshape(-1, 3)
    x[rows] = values
    for target in ("numpy", "native"):

        def updated(x: ma.Array, i: ma.Array, v: ma.Array) -> ma.Array:
            return x.at[i].set(v)

        found = ma.jit(updated, target=target)(np.zeros((40, 3)), rows, values)
        np.testing.assert_array_equal(np.asarray(found), x)


PARTS = ["parts of rows", "parts of both axes", "before", "parts apart", "parts with an integer", "parts and a new axis"]


@pytest.mark.parametrize("name", ["rows", "middle", "pairs", "pairs apart", "with an integer", "new axes", *PARTS])
def test_derivatives_of_rows(name: str) -> None:
    """A sum of added rows is linear: its gradient has ones, and what is read at the key."""
    x, key, weights = np.zeros((3, 4, 2)), ROW_KEYS[name], np.random.default_rng(5).standard_normal((3, 4, 2))
    value = np.zeros(x[key].shape)

    def loss(x: ma.Array, v: ma.Array) -> ma.Array:
        return ma.sum(x.at[key].add(v) * weights)

    found = ma.grad(loss, argnums=(0, 1))(ma.asarray(x), ma.asarray(value))
    np.testing.assert_array_equal(np.asarray(found[0]), weights)
    np.testing.assert_array_equal(np.asarray(found[1]), weights[key])


@pytest.mark.parametrize("method", ["set", "add", "min", "max"])
@pytest.mark.parametrize("name", [*PARTS, "parts of a matrix of rows", "parts of no rows"])
def test_derivatives_of_parts_are_those_of_jax(name: str, method: str) -> None:
    jax = pytest.importorskip("jax")
    key, rng = ROW_KEYS[name], np.random.default_rng(7)
    x, weights = rng.standard_normal((3, 4, 2)), rng.standard_normal((3, 4, 2))
    v = rng.standard_normal(x[key].shape)

    def loss(x: Any, v: Any) -> Any:
        return (getattr(x.at[key], method)(v) ** 2 * weights).sum()

    with jax.enable_x64():
        wanted = jax.grad(loss, argnums=(0, 1))(x, v)
        tangent = jax.jvp(lambda x, v: getattr(x.at[key], method)(v), (x, v), (weights, v))[1]
    found = ma.grad(loss, argnums=(0, 1))(ma.asarray(x), ma.asarray(v))
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-12)
    moved = ma.jvp(lambda x, v: getattr(x.at[key], method)(v), (x, v), (weights, v))[1]
    np.testing.assert_allclose(np.asarray(moved), tangent, rtol=1e-12)


def test_rows_of_dimensions_with_names() -> None:
    for method, assign in METHODS.items():

        def updated(x: ma.Array, i: ma.Array, method: str = method) -> ma.Array:
            return getattr(x.at[i], method)(9.5)

        f = ma.jit(updated, sizes={"x": ("N", "M"), "i": ("K",)})
        for n, m, i in ((3, 4, [0, 2, -1]), (1, 2, []), (5, 0, [4])):
            x = np.ones((n, m))
            wanted = x.copy()
            assign(wanted, np.array(i, np.int64))
            np.testing.assert_array_equal(np.asarray(f(x, np.array(i, np.int64))), wanted)


def test_a_row_of_a_loop() -> None:
    x = np.arange(12.0).reshape(4, 3)

    def step(k: ma.Array, x: ma.Array) -> ma.Array:
        return x.at[k, :].add(x[k - 1])

    def loop(x: ma.Array) -> ma.Array:
        return ma.fori_loop(1, 4, step, x)

    np.testing.assert_array_equal(np.asarray(ma.jit(loop)(x)), np.cumsum(x, axis=0))
