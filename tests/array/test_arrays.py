"""Arrays of `mind_array`: operators, promotion, indexing, updates, conversions, and that they are values."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mind_array as ma
from mind_array.dtypes import STANDARD, kind_of
from mind_dialect.errors import MindError

X = np.arange(24.0).reshape(2, 3, 4)


def same(found: Any, expected: Any) -> None:
    """One dtype, one shape, the same elements."""
    np.testing.assert_array_equal(np.asarray(found), expected, strict=True)


# Operators and promotion

OPERATORS = {
    "x + y": lambda x, y: x + y,
    "x - 2": lambda x, y: x - 2,
    "2 - x": lambda x, y: 2 - x,
    "x * y": lambda x, y: x * y,
    "x / y": lambda x, y: x / y,
    "x // y": lambda x, y: x // y,
    "x % y": lambda x, y: x % y,
    "x ** 2": lambda x, y: x**2,
    "2 ** x": lambda x, y: 2**x,
    "-x": lambda x, y: -x,
    "abs(x)": lambda x, y: abs(x),
    "x < y": lambda x, y: x < y,
    "x == y": lambda x, y: x == y,
    "x != 3": lambda x, y: x != 3,
    "x @ y": lambda x, y: x @ y,
}


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
def test_operators_are_those_of_numpy_eager_and_compiled(name: str, dtype: str):
    x, y = (np.array(v, dtype) for v in ([1, 2, 5], [3, 2, 4]))
    operator = OPERATORS[name]
    if name == "x / y" and dtype in ("int32", "uint8"):
        pytest.skip("the standard leaves the division of integers undefined")
    expected = np.asarray(operator(x, y))
    a, b = ma.asarray(x), ma.asarray(y)
    for found in (operator(a, b), ma.jit(operator)(a, b), ma.jit(operator, target="native")(a, b)):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-6)


PROMOTED = [
    ("int8", "uint8", "int16"),
    ("uint32", "int8", "int64"),
    ("float32", "float64", "float64"),
    ("float32", "complex64", "complex64"),
    ("float64", "complex64", "complex128"),
    ("int16", "int64", "int64"),
    ("bool", "bool", "bool"),
]
UNDEFINED = [("int32", "float32"), ("bool", "int8"), ("uint64", "int8"), ("int64", "complex128")]


@pytest.mark.parametrize(("a", "b", "expected"), PROMOTED)
def test_promotion_is_that_of_the_standard(a: str, b: str, expected: str):
    x, y = ma.ones(2, dtype=getattr(ma, a)), ma.ones(2, dtype=getattr(ma, b))
    assert ma.result_type(x, y) == ma.result_type(y, x) == getattr(ma, expected)
    assert ma.trace(lambda x, y: ma.where(ma.ones(2, dtype=ma.bool), x, y), x, y)
    assert ma.where(ma.ones(2, dtype=ma.bool), x, y).dtype == getattr(ma, expected)


@pytest.mark.parametrize(("a", "b"), UNDEFINED)
def test_what_the_standard_leaves_undefined_is_refused_with_the_cast_to_write(a: str, b: str):
    x, y = ma.ones(2, dtype=getattr(ma, a)), ma.ones(2, dtype=getattr(ma, b))
    for call in (lambda: ma.result_type(x, y), lambda: ma.equal(x, y), lambda: ma.jit(ma.equal)(x, y)):
        with pytest.raises(TypeError, match=r"E1107: .* ma\.astype\(x, "):
            call()


def test_python_numbers_take_the_dtype_of_the_array():
    for dtype in ("float32", "int8", "complex64"):
        x = ma.ones(2, dtype=getattr(ma, dtype))
        assert (x + 1).dtype == (1 + x).dtype == x.dtype
        assert ma.jit(lambda x: x + 1)(x).dtype == x.dtype
    assert (ma.ones(2, dtype=ma.float32) * 1j).dtype == ma.complex64
    assert ma.add(ma.ones(2, dtype=ma.float32), np.float64(1)).dtype == ma.float64, "a NumPy scalar is no Python number"
    for x, number in ((ma.ones(2, dtype=ma.int8), 1.5), (ma.ones(2, dtype=ma.bool), 1), (ma.ones(2), True)):
        with pytest.raises(TypeError, match="E1107"):
            _ = x + number
    for number, to in ((0.5, "float64"), (1j, "complex128")):
        with pytest.raises(TypeError, match=rf"E1107: int64 and a Python .* cast one of them with ma.astype\(x, ma.{to}\)"):
            _ = ma.arange(3) * number
    with pytest.raises(OverflowError, match="E4005"):
        _ = ma.ones(2, dtype=ma.int8) + 300


def test_python_numbers_as_arguments_of_a_jitted_function_are_weak_as_well():
    f = ma.jit(lambda x, s: (x * s, s * 2.0, x + (s + 1.0) * 0.5))
    first, second, third = f(ma.ones(2, dtype=ma.float32), 3.0)
    assert (first.dtype, second.dtype, third.dtype) == (ma.float32, ma.float64, ma.float32)
    same(third, np.array([3, 3], np.float32))


def test_in_place_operators_keep_dtype_and_shape():
    x = y = ma.ones(3, dtype=ma.float32)
    x += 1
    assert x is y
    same(y, np.full(3, 2, np.float32))
    with pytest.raises(TypeError, match="E1107"):
        x += ma.ones(3)
    with pytest.raises(TypeError, match="E1107"):
        x += ma.ones((2, 3), dtype=ma.float32)


def test_shapes_that_do_not_broadcast_are_named():
    for call in (lambda x, y: x + y, ma.jit(lambda x, y: x + y)):
        with pytest.raises(ValueError, match=r"E3001: shapes \[2, 3\] and \[4\] do not broadcast: 3 and 4 at axis 1"):
            call(ma.ones((2, 3)), ma.ones(4))


# Indexing

KEYS: list[Any] = [
    *(0, -1, (1, 2, 3), (slice(None), 1), slice(1, None), (slice(None, None, 2), slice(None, None, -1)), (Ellipsis, 0)),
    *((None, 0), (slice(None), None, 1), (0, Ellipsis, None), (slice(2, 0), slice(5, None)), (Ellipsis,), ()),
    *(np.array([1, 0, 1]), (slice(None), np.array([2, -1])), (np.array([0, 1]), slice(None), np.array([1, 2]))),
    *((0, slice(None), np.array([1, 2])), (0, np.array([1, 2])), (slice(None), np.array([[0, 1], [2, 0]]), slice(1, 3))),
    *((np.array([0, 1]), np.array([2, 2]), np.array([3, 0])), (np.array([0]), None, np.array([1, 2])), X > 11, X[:, :, 0] > 5),
    *((slice(None), X[0, :, 0] > 3), np.True_, False, ([0, 1], slice(0, 2)), (slice(-1, None), slice(-9, 9), slice(3, None, -2))),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_indexing_is_that_of_numpy_eager_and_compiled(key: Any):
    expected = X[key]
    same(ma.asarray(X)[key], expected)
    same(ma.jit(lambda x: x[key])(ma.asarray(X)), expected)


@pytest.mark.parametrize(
    "key",
    [
        k
        for k in KEYS
        if (isinstance(k, np.ndarray) and k.dtype != bool)
        or (isinstance(k, tuple) and any(isinstance(p, np.ndarray) and p.dtype != bool for p in k))
    ],
    ids=str,
)
def test_indexing_by_traced_arrays_is_that_of_numpy(key: Any):
    keys = key if isinstance(key, tuple) else (key,)
    arrays = [ma.asarray(k) for k in keys if isinstance(k, np.ndarray)]

    def f(x: ma.Array, *indices: ma.Array) -> ma.Array:
        rest = iter(indices)
        return x[tuple([next(rest) if isinstance(k, np.ndarray) else k for k in keys])]

    same(ma.jit(f)(ma.asarray(X), *arrays), X[key])
    same(ma.jit(f, target="native")(ma.asarray(X), *arrays), X[key])


@settings(max_examples=60)
@given(data=st.data(), shape=hnp.array_shapes(min_dims=1, max_dims=4, max_side=4))
def test_any_basic_key_is_read_as_numpy_reads_it(data: st.DataObject, shape: tuple[int, ...]):
    x = np.arange(math.prod(shape)).reshape(shape)
    key = data.draw(hnp.basic_indices(shape, allow_newaxis=True))
    same(ma.asarray(x)[key], x[key])
    same(ma.jit(lambda x: x[key])(ma.asarray(x)), np.asarray(x[key]))


@settings(max_examples=60)
@given(data=st.data(), shape=hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
def test_any_integer_arrays_are_read_as_numpy_reads_them(data: st.DataObject, shape: tuple[int, ...]):
    x = np.arange(math.prod(shape)).reshape(shape)
    key = data.draw(hnp.integer_array_indices(shape, result_shape=hnp.array_shapes(min_dims=1, max_dims=2, max_side=3)))
    same(ma.jit(lambda x, *k: x[k])(ma.asarray(x), *(ma.asarray(k) for k in key)), x[key])


BAD_KEYS = {
    "too far": (5,),
    "too many": (0, 0, 0, 0),
    "twice": (Ellipsis, Ellipsis),
    "float": (1.5,),
    "word": ("a",),
    "floats": (np.array([0.5]),),
}


@pytest.mark.parametrize("name", BAD_KEYS)
def test_a_key_that_does_not_fit_is_an_index_error(name: str):
    for call in (lambda x: x[BAD_KEYS[name]], ma.jit(lambda x: x[BAD_KEYS[name]])):
        with pytest.raises(IndexError, match=r"E6001: index \["):
            call(ma.asarray(X))


def test_a_traced_index_out_of_range_is_an_error_of_the_run():
    f = ma.jit(lambda x, i: x[i])
    same(f(ma.asarray(X), ma.asarray([-1])), X[[-1]])
    for target in ("numpy", "native"):
        with pytest.raises(IndexError, match="E6001"):
            ma.jit(lambda x, i: x[i], target=target)(ma.asarray(X), ma.asarray([2]))
    with pytest.raises(IndexError, match="E6001"):
        ma.jit(lambda x, i, j: x[i, j])(ma.asarray(X), ma.asarray([0]), ma.asarray([3]))


# Updates

UPDATED: list[Any] = [
    *(
        0,
        (slice(None), 1),
        (slice(0, 1), slice(1, 3)),
        (Ellipsis, slice(None, None, 2)),
        np.array([1]),
        (np.array([0, 1]), np.array([2, 0])),
    ),
    *((slice(None), np.array([2, 0])), X > 11, (1, 2, 3), (slice(None), slice(None, None, -1), 0)),
]


@pytest.mark.parametrize("kind", ["set", "add", "multiply", "min", "max"])
@pytest.mark.parametrize("key", UPDATED, ids=str)
def test_updates_are_those_of_numpy_eager_and_compiled(key: Any, kind: str):
    expected = X.copy()
    value = 7.0
    combined = {"set": lambda v: value, "add": lambda v: v + value, "multiply": lambda v: v * value}
    combined |= {"min": lambda v: np.minimum(v, value), "max": lambda v: np.maximum(v, value)}
    expected[key] = combined[kind](expected[key])
    for f in (lambda x: getattr(x.at[key], kind)(value), ma.jit(lambda x: getattr(x.at[key], kind)(value))):
        x = ma.asarray(X)
        same(f(x), expected)
        same(x, X)


def test_segments_and_bins_have_no_negative_numbers():
    x, ids = ma.asarray([1.0, 2.0]), ma.asarray([0, -1])
    for f in (lambda ids: ma.segment_sum(x, ids, num_segments=3), lambda ids: ma.bincount(ids, minlength=3)):
        with pytest.raises(MindError, match=r"E6001.*-1|E1110.*-1"):
            f(ids)
        with pytest.raises(MindError, match=r"E6001.*-1"):
            ma.jit(f)(ids)


MET: list[Any] = [np.array([1, 0, 1, -1, 1]), (0, np.array([1, 1, 0, 2, 1])), (Ellipsis, np.array([2, 0, 0, 1, 0]))]


@pytest.mark.parametrize("kind", ["add", "multiply", "min", "max"])
@pytest.mark.parametrize("key", MET, ids=str)
def test_every_update_of_a_repeated_index_counts(key: Any, kind: str):
    x = np.arange(1.0, 10.0).reshape(3, 3)
    value = np.array([2.0, 3.0, 5.0, 7.0, 11.0]).reshape((5, 1) if isinstance(key, np.ndarray) else (5,))
    expected = x.copy()
    getattr(np, {"min": "minimum", "max": "maximum"}.get(kind, kind)).at(expected, key, value)

    def updated(x: Any, value: Any) -> Any:
        return getattr(x.at[key], kind)(value)

    for f in (updated, ma.jit(updated)):
        same(f(ma.asarray(x), ma.asarray(value)), expected)


def test_derivatives_of_products_at_indices():
    x, key, value = ma.asarray([2.0, 3.0, 5.0]), np.array([1, 0, 1]), ma.asarray([7.0, 11.0, 13.0])
    same(ma.grad(lambda x: ma.sum(x.at[key].multiply(value)))(x), np.array([11.0, 91.0, 1.0]))
    same(ma.grad(lambda v: ma.sum(x.at[key].multiply(v)))(value), np.array([39.0, 2.0, 21.0]))
    zeros = ma.asarray([0.0, 11.0, 0.0])
    same(ma.grad(lambda v: ma.sum(x.at[key].multiply(v)))(zeros), np.array([0.0, 2.0, 0.0]))
    same(ma.hessian(lambda v: ma.sum(x.at[key].multiply(v)))(zeros), np.array([[0.0, 0, 3], [0, 0, 0], [3, 0, 0]]))
    same(ma.jacfwd(lambda v: x.at[key].multiply(v))(ma.asarray([0.0, 11.0, 13.0]))[1], np.array([39.0, 0.0, 0.0]))
    for mode in (ma.jacrev, ma.jacfwd):
        found = mode(lambda v: x.at[key[:2]].multiply(v, unique_indices=True))(value[:2])
        same(found, np.array([[0.0, 2.0], [3.0, 0.0], [0.0, 0.0]]))
        same(mode(lambda v: x.at[1].multiply(v))(ma.asarray(7.0)), np.array([0.0, 3.0, 0.0]))


def test_updates_with_traced_indices_and_masks():
    x, rows = ma.zeros((4, 2)), ma.asarray([1, 3, 1])
    found = ma.jit(lambda x, r: x.at[r].add(ma.ones(2)))(x, rows)
    same(found, np.array([[0, 0], [2, 2], [0, 0], [1, 1.0]]))
    same(ma.jit(lambda x: x.at[x < 2].set(9.0))(ma.arange(4.0)), np.array([9, 9, 2, 3.0]))


def test_assignment_copies_what_other_arrays_share():
    x = ma.arange(6.0)
    view, reshaped, constant = x[1:3], ma.reshape(x, (2, 3)), ma.broadcast_to(ma.ones(1), (4,))
    x[1] = 9.0
    constant[0] = 5.0
    same(view, np.array([1.0, 2.0]))
    same(reshaped, np.arange(6.0).reshape(2, 3))
    same(x, np.array([0, 9, 2, 3, 4, 5.0]))
    same(constant, np.array([5, 1, 1, 1.0]))
    given = np.zeros(2)
    taken = ma.asarray(given)
    taken[0] = 1.0
    assert given[0] == 0


def test_assignment_keeps_the_dtype():
    x = ma.zeros(3, dtype=ma.int8)
    x[0] = 5
    with pytest.raises(TypeError, match="E1107"):
        x[0] = 1.5
    with pytest.raises(TypeError, match="E1107"):
        x[0] = ma.ones((), dtype=ma.int64)
    with pytest.raises(OverflowError, match="E4005"):
        x[0] = 300
    with pytest.raises(IndexError, match="E6001"):
        x[3] = 1


# Conversions


def test_numpy_sees_an_array_without_a_copy():
    x = ma.arange(3.0)
    assert np.asarray(x) is x.ndarray
    assert np.array(x) is not x.ndarray
    assert np.from_dlpack(x).ctypes.data == x.ndarray.ctypes.data
    assert float(ma.asarray(2.5)) == 2.5
    assert int(ma.asarray(3)) == 3
    assert [int(v) for v in ma.arange(3)] == [0, 1, 2]
    assert bool(ma.asarray(True))
    with pytest.raises(ValueError, match=r"E1110.*ma\.any"):
        bool(ma.ones(2))


def test_narrow_floats_and_those_of_ml_dtypes_compute():
    pytest.importorskip("ml_dtypes")
    for name in ("float16", "bfloat16", "float8_e4m3fn"):
        x = ma.asarray([1.0, 2.0, 0.5], dtype=getattr(ma, name))
        found = ma.jit(lambda x: ma.exp(x) + x * 2)(x)
        assert found.dtype == x.dtype
        same(found, np.asarray(ma.exp(x) + x * 2))
    with pytest.raises(TypeError, match="E1107"):
        _ = ma.ones(2, dtype=ma.bfloat16) + ma.ones(2, dtype=ma.float16)


@pytest.mark.parametrize("name", sorted(STANDARD))
def test_arrays_print_their_dtype(name: str):
    x = ma.zeros(2, dtype=STANDARD[name])
    assert repr(x).startswith("Array([")
    assert name in repr(x)
    assert kind_of(x.dtype) in "biufc"


def endless() -> list[Any]:
    """A list that holds itself."""
    found: list[Any] = []
    found.append(found)
    return found


WRONG = {
    "a word": (lambda: ma.add("a", ma.ones(2)), "E2001"),
    "a dtype": (lambda: ma.zeros(2, dtype="float99"), "E2005"),
    "a string array": (lambda: ma.asarray(np.array(["a"])), "E2005"),
    "a ragged list": (lambda: ma.asarray([[1], [2, 3]]), "E3010"),
    "a list that holds itself": (lambda: ma.asarray(endless()), "E3010"),
    "more than the memory": (lambda: ma.ones((2**30, 2**20)), "E6004"),
    "more bytes than there are addresses": (lambda: ma.zeros((2**40, 2**40)), "E6004"),
    "a range of more than the memory": (lambda: ma.arange(2**50), "E6004"),
    "a view of more than the memory": (lambda: ma.broadcast_to(ma.ones(1), (2**50,)), "E6004"),
    "a range without an end": (lambda: ma.arange(float("inf")), "E1110"),
    "a range of an array": (lambda: ma.arange(np.ones(2)), "E2001"),
    "repeats of more than the memory": (lambda: ma.repeat(ma.ones(2), np.array([2**50, 1])), "E6004"),
    "rounding an array": (lambda: round(ma.ones(2)), "E1110"),
    "a way to count": (lambda: ma.ones(3).at[4].get(mode="drop"), "E7003"),
    "a fill that is not a number": (lambda: ma.ones(3).at[4].get(mode="fill", fill_value=ma.ones(2)), "E1110"),
    "an axis": (lambda: ma.sum(ma.ones(2), axis=2), "E3004"),
    "an axis twice": (lambda: ma.sum(ma.ones((2, 2)), axis=(0, 0)), "E3005"),
    "a shape": (lambda: ma.reshape(ma.ones(4), (3,)), "E3007"),
    "a kind of dtype": (lambda: ma.sin(ma.ones(2, dtype=ma.int32)), "E2005"),
    "a device": (lambda: ma.zeros(2, device="gpu:0"), "E6002"),
    "an integer divided by zero": (lambda: ma.ones(2, dtype=ma.int32) // 0, "E8004"),
    "no elements": (lambda: ma.max(ma.ones(0)), "E1110"),
    "a negative extent": (lambda: ma.zeros((2, -1)), "E3006"),
    "an axis that is not a number": (lambda: ma.sum(ma.ones(2), axis="x"), "E1110"),
    "a complex number as a real one": (lambda: ma.astype(ma.ones(2, dtype=ma.complex64), ma.float32), "E2005"),
    "a device of an array": (lambda: ma.ones(2).to_device("tpu"), "E6002"),
    "the class": (lambda: ma.Array([1]), "E1110"),
    "matrices": (lambda: ma.ones((2, 3)) @ ma.ones((2, 3)), "E3003"),
    "stacked shapes": (lambda: ma.stack([ma.ones(2), ma.ones(3)]), "E3001"),
    "einsum": (lambda: ma.einsum("ij->k", ma.ones((2, 2))), "E1110"),
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_coded_errors_at_the_line_of_the_caller(name: str):
    call, code = WRONG[name]
    with pytest.raises(MindError) as caught:
        call()
    assert caught.value.code == code
    assert "test_arrays.py:" in str(caught.value)


# As other objects


def test_arrays_are_pickled_copied_and_formatted():
    x = ma.asarray([[1.0, 2.5]], dtype=ma.float32)
    for made in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x), copy.deepcopy({"x": x})["x"]):
        same(made, np.asarray(x))
        made[0, 0] = 7.0
        assert float(x[0, 0]) == 1.0
    assert f"{ma.asarray(2.5):.2f} {ma.asarray([1, 2])} {ma.asarray([1, 2]):>6}" == "2.50 [1 2]  [1 2]"
    assert (round(ma.asarray(2.567), 2), round(ma.asarray(3.0))) == (2.57, 3)


def test_the_byte_order_of_another_machine_is_read():
    x = np.arange(6, dtype=">f4").reshape(2, 3)
    for found in (ma.asarray(x), ma.add(x, 0.0), ma.jit(lambda x: x + 0.0)(x), ma.jit(lambda x: x + 0.0, target="native")(x)):
        assert found.dtype.isnative
        same(found, x.astype(np.float32))
    assert ma.zeros(2, dtype=np.dtype(">i8")).dtype == ma.int64
    with pytest.raises(ValueError, match="E1110"):
        ma.asarray(x, copy=False)


@pytest.mark.parametrize("compiled", [False, True])
def test_an_index_out_of_range_is_an_error_or_what_a_mode_says(compiled: bool):
    x, rows = X[0], np.array([0, -1, 3, -4, 7])

    def call(f: Any) -> Any:
        return ma.jit(f)(ma.asarray(x), ma.asarray(rows)) if compiled else f(ma.asarray(x), ma.asarray(rows))

    same(call(lambda x, k: x.at[k, 1:].get(mode="clip")), x[[0, 2, 2, 0, 2], 1:])
    same(call(lambda x, k: x.at[k].get(mode="wrap")), x[[0, 2, 0, 2, 1]])
    filled = x[[0, 2, 0, 0, 0]].copy()
    filled[2:] = -5.0
    same(call(lambda x, k: x.at[k].get(mode="fill", fill_value=-5.0)), filled)
    both = np.where([True, False, False, False, False], x[0, 1], 0.0)
    same(call(lambda x, k: x.at[k, k + 1].get(mode="fill")), np.where(np.arange(5) == 1, x[2, 0], both))
    same(call(lambda x, k: x.at[::-1, 9].get(mode="fill", fill_value=1.0)), np.ones(3))
    same(call(lambda x, k: x.at[::-1, None, 9].get(mode="clip")), x[::-1, None, 3])
    with pytest.raises(IndexError, match="E6001"):
        call(lambda x, k: x.at[k].get())
