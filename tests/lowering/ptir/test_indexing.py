"""Kernels whose places are data, against plain loops: every dtype, duplicates, bounds, clamping, memory."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_dialect.ptir.legal import default_accumulator
from mind_dialect.ptir.types import DTYPES, PtirDType
from ptir_oracle import (
    KERNELS,
    array,
    assert_elements,
    bounded,
    elements,
    extreme,
    ids,
    is_integer,
    legal,
    run,
    samples,
    wrapped,
)

INDEX = ("si32", "si64")


def block(dtype: PtirDType, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.resize(samples(dtype, math.prod(shape), special=False, seed=seed), shape)


def places(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    return list(itertools.product(*map(range, shape)))


def combined(kind: str, parts: dict[Any, list[Any]], found: np.ndarray, dtype: PtirDType) -> None:
    """Each place of the result is what `kind` makes of its parts, the first of which was there before."""
    rows = [parts[p] for p in places(found.shape)]
    if kind == "replace":
        assert_elements(found, [row[-1] for row in rows])
    elif kind in ("max", "min"):
        assert_elements(found, [extreme(kind, row, dtype) for row in rows])
    elif is_integer(dtype):
        assert_elements(found, [wrapped(sum(row), dtype) for row in rows])
    else:
        bounded(found, rows, dtype, default_accumulator(dtype).name)


@pytest.mark.parametrize(("op", "dtype"), [p for p in legal("indexing") if p[0] == "take"], ids=ids)
def test_take(op: str, dtype: PtirDType):
    x = block(dtype, (5, 3))
    for index in INDEX:
        rows = array([[4, 0], [2, 2]], index)
        expected = [v for r in elements(rows) for v in elements(x[r])]
        assert_elements(run(op, x, rows), expected)
        assert_elements(run(op, x, rows[0, 0]), elements(x[4]))
        assert_elements(run(op, x, np.asarray(rows[0, 0])), elements(x[4]))
        assert run(op, x, rows[:0]).shape == (0, 2, 3)
        assert run(op, x[:0], rows[:0]).shape == (0, 2, 3)


@pytest.mark.parametrize(("op", "dtype"), [p for p in legal("indexing") if p[0] == "gather"], ids=ids)
def test_gather(op: str, dtype: PtirDType):
    x = block(dtype, (2, 3, 4))
    for axis, n in ((0, 5), (1, 1), (-1, 6), (2, 0)):
        a = axis % 3
        shape = (*x.shape[:a], n, *x.shape[a + 1 :])
        for index in INDEX:
            indices = array(np.arange(math.prod(shape)).reshape(shape) * 7 % x.shape[a], index)
            expected = [x[(*p[:a], int(indices[p]), *p[a + 1 :])].tolist() for p in places(shape)]
            assert_elements(run(op, x, indices, axis=axis), expected)


@pytest.mark.parametrize(("op", "dtype"), [p for p in legal("indexing") if p[0].startswith("scatter_reduce")], ids=ids)
def test_scatter_reduce(op: str, dtype: PtirDType):
    kind = op.split()[1]
    x = block(dtype, (2, 3, 4))
    for axis, n in ((0, 5), (1, 4), (-1, 9), (2, 0)):
        a = axis % 3
        shape = (*x.shape[:a], n, *x.shape[a + 1 :])
        updates = block(dtype, shape, 1)
        for index in INDEX:
            indices = array(np.arange(math.prod(shape)).reshape(shape) * 5 % x.shape[a], index)
            parts = {p: [x[p].tolist()] for p in places(x.shape)}
            for p in places(shape):
                parts[(*p[:a], int(indices[p]), *p[a + 1 :])].append(updates[p].tolist())
            combined(kind, parts, run(op, x, indices, updates, axis=axis), dtype)
            turned = [np.asfortranarray(v) for v in (x, indices, updates)]
            combined(kind, parts, run(op, *turned, axis=axis), dtype)


ROWS: dict[str, Any] = {"update_window_dims": (1,), "inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,)}
POINTS: dict[str, Any] = {**ROWS, "update_window_dims": ()}
WINDOWS: dict[str, Any] = {
    "update_window_dims": (1, 2),
    "inserted_window_dims": (),
    "scatter_dims_to_operand_dims": (0, 1),
    "index_vector_dim": 0,
}
SCATTERS: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((5, 3), (4,), (4, 3), ROWS),
    ((5, 3), (4,), (3, 4), {**ROWS, "update_window_dims": (0,)}),
    (
        (5, 6),
        (4, 2),
        (4,),
        {**POINTS, "inserted_window_dims": (0, 1), "scatter_dims_to_operand_dims": (1, 0), "index_vector_dim": 1},
    ),
    ((5, 6), (2, 4), (4, 2, 3), WINDOWS),
    ((5, 6), (2, 4), (2, 3, 4), {**WINDOWS, "update_window_dims": (0, 1)}),
    (
        (5, 6, 2),
        (2, 3, 1),
        (2, 2, 3, 2),
        {**ROWS, "update_window_dims": (1, 3), "scatter_dims_to_operand_dims": (1,), "index_vector_dim": 2},
    ),
    ((4,), (0,), (0,), POINTS),
    ((), (3, 0), (3,), {**POINTS, "inserted_window_dims": (), "scatter_dims_to_operand_dims": (), "index_vector_dim": 1}),
]
"""Shapes of x, indices and updates, and the dimension numbers."""


def scattered(x: np.ndarray, indices: np.ndarray, updates: np.ndarray, d: dict[str, Any]) -> dict[Any, list[Any]]:
    """StableHLO's scatter, place by place of the updates."""
    vector = d.get("index_vector_dim", indices.ndim)
    parts = {p: [x[p].tolist()] for p in places(x.shape)}
    kept = [a for a in range(x.ndim) if a not in d["inserted_window_dims"]]
    for p in places(updates.shape):
        batch = [p[a] for a in range(updates.ndim) if a not in d["update_window_dims"]]
        full = [0] * x.ndim
        for n, target in enumerate(d["scatter_dims_to_operand_dims"]):
            at = list(batch)
            if vector < indices.ndim:
                at.insert(vector, n)
            full[target] += int(indices[tuple(at)])
        for axis, a in zip(kept, d["update_window_dims"], strict=True):
            full[axis] += p[a]
        parts[tuple(full)].append(updates[p].tolist())
    return parts


@pytest.mark.parametrize(("op", "dtype"), [p for p in legal("indexing") if p[0] == "scatter_add"], ids=ids)
def test_scatter_add(op: str, dtype: PtirDType):
    for number, (shape, index_shape, update_shape, dimensions) in enumerate(SCATTERS):
        x, updates = block(dtype, shape), block(dtype, update_shape, 1)
        limit = 3 if len(dimensions) == 4 else 4
        indices = array((np.arange(math.prod(index_shape)) * 3 % limit).reshape(index_shape), INDEX[number % 2])
        parts = scattered(x, indices, updates, dimensions)
        combined("add", parts, run(op, x, indices, updates, **dimensions), dtype)


def test_updates_are_added_in_order():
    """1 is lost beside 2 ** 24 in f32, so the order shows."""
    x, indices = array([0.0], "f32"), array([0, 0, 0], "si32")
    for values, expected in (([2.0**24, 1.0, 1.0], 2.0**24), ([1.0, 1.0, 2.0**24], 2.0**24 + 2)):
        updates = array(values, "f32")
        assert elements(run("scatter_reduce add", x, indices, updates, axis=0)) == [expected]
        assert elements(run("scatter_add", x, indices, updates, **POINTS)) == [expected]


@pytest.mark.parametrize(("op", "dtype"), [p for p in legal("indexing") if p[0].startswith("segment_reduce")], ids=ids)
def test_segment_reduce(op: str, dtype: PtirDType):
    kind = op.split()[1]
    data = block(dtype, (7, 2))
    for index in INDEX:
        ids_ = array([3, 0, 3, 1, 0, 3, 1], index)
        found = run(op, data, ids_, num_segments=5, indices_are_sorted=False, unique=False)
        for s, j in places((5, 2)):
            part = [data[i, j].tolist() for i in range(7) if ids_[i] == s]
            if kind == "max":
                assert_elements(found[s, j], [extreme("max", part, dtype)])
            elif is_integer(dtype):
                assert_elements(found[s, j], [wrapped(sum(part), dtype)])
            else:
                bounded(found[s, j], [part], dtype, default_accumulator(dtype).name)
        assert run(op, data[:0], ids_[:0], num_segments=0, indices_are_sorted=True, unique=True).shape == (0, 2)


def test_segments_accumulate_as_told():
    data, ids_ = array([100, 100, -100], "si8"), array([0, 0, 0], "si32")
    more = {"num_segments": 1, "indices_are_sorted": True, "unique": False}
    assert elements(run("segment_reduce sum", array([100, 100], "si8"), ids_[:2], **more)) == [-56]
    assert elements(run("segment_reduce sum", array([100, 100], "si8"), ids_[:2], accum_dtype=DTYPES["si16"], **more)) == [127]
    assert elements(run("segment_reduce sum", data, ids_, **more)) == [100]
    ones = array([1.0] * 3000, "f16")
    assert elements(run("segment_reduce sum", ones, np.zeros(3000, "i4"), **more)) == [3000]
    assert elements(run("segment_reduce sum", ones, np.zeros(3000, "i4"), accum_dtype=DTYPES["f16"], **more)) == [2048]


@pytest.mark.parametrize(("ids_", "promise"), [([1, 0], "indices_are_sorted"), ([0, 0], "unique")])
def test_a_broken_promise_is_refused(ids_: list[int], promise: str):
    promises = {"indices_are_sorted": False, "unique": False, promise: True}
    with pytest.raises(MindError, match=promise) as caught:
        run("segment_reduce sum", array([1.0, 2.0], "f32"), array(ids_, "si32"), num_segments=2, **promises)
    assert caught.value.code == "E8002"


@pytest.mark.parametrize("index", INDEX)
@pytest.mark.parametrize("wrong", [-1, 3, 2**31 - 1, -(2**31)])
def test_indices_out_of_range_are_refused(index: str, wrong: int):
    x, at = array([1.0, 2.0, 3.0], "f32"), array([0, wrong, 1], index)
    calls = [
        ("take", (x, at), {}, "Gather"),
        ("gather", (x, at), {"axis": 0}, "Gather"),
        ("scatter_reduce replace", (x, at, x), {"axis": 0}, "Scatter"),
        ("scatter_reduce add", (x, at, x), {"axis": 0}, "Scatter"),
        ("scatter_add", (x, at, x), POINTS, "Scatter"),
        ("segment_reduce sum", (x, at), {"num_segments": 3, "indices_are_sorted": False, "unique": False}, "Scatter"),
    ]
    for op, operands, properties, what in calls:
        with pytest.raises(MindError, match=f"index {wrong} is out of bounds along axis 0") as caught:
            run(op, *operands, **properties)
        assert (caught.value.code, caught.value.category) == ("E6001", f"{what}IndexOutOfBounds")
    with pytest.raises(MindError, match="E6001"):
        run("take", x, at[1])


def test_a_scattered_window_must_lie_inside():
    x, updates = array(np.zeros((5, 6)).tolist(), "f32"), array(np.ones((1, 2, 3)).tolist(), "f32")
    run("scatter_add", x, array([[3], [3]], "si32"), updates, **WINDOWS)
    with pytest.raises(MindError, match="a window of 2 at 4 is out of bounds along axis 0"):
        run("scatter_add", x, array([[4], [3]], "si32"), updates, **WINDOWS)


@pytest.mark.parametrize(("op", "dtype"), [p for p in legal("indexing") if p[0].startswith("dynamic_")], ids=ids)
def test_windows_start_where_they_are_told_or_as_near_as_fits(op: str, dtype: PtirDType):
    x, sizes = block(dtype, (4, 5)), (2, 3)
    update = block(dtype, sizes, 1)
    for start in [(0, 0), (1, 2), (2, 2), (3, 4), (-1, -5), (2**31 - 1, -(2**31))]:
        first = [min(max(s, 0), n - k) for s, n, k in zip(start, x.shape, sizes, strict=True)]
        for index in INDEX:
            if op == "dynamic_slice":
                found = run(op, x, array(start, index), sizes=sizes)
                assert_elements(found, elements(x[first[0] : first[0] + 2, first[1] : first[1] + 3]))
            else:
                found = run(op, x, update, array(start, index), sizes=sizes)
                inside = {(first[0] + p[0], first[1] + p[1]): update[p] for p in places(sizes)}
                assert_elements(found, [inside.get(p, x[p]).tolist() for p in places(x.shape)])
    none = array([], "si32")
    if op == "dynamic_slice":
        assert_elements(run(op, x[0, 0], none, sizes=()), elements(x[0, 0]))
    else:
        assert_elements(run(op, x[0, 0], update[0, 0], none, sizes=()), elements(update[0, 0]))


def test_an_update_in_place_takes_the_memory_of_a_dying_operand():
    x, update, start = array([1.0, 2.0, 3.0], "f32"), array([9.0], "f32"), array([5], "si32")
    assert KERNELS.dynamic_update_slice_into(x, update, start, sizes=(1,)) is x
    assert elements(x) == [1.0, 2.0, 9.0]
    frozen = np.broadcast_to(array([1.0], "f32"), (3,))
    found = KERNELS.dynamic_update_slice_into(frozen, update, start, sizes=(1,))
    assert (elements(found), elements(frozen)) == ([1.0, 1.0, 9.0], [1.0, 1.0, 1.0])
    assert elements(KERNELS.dynamic_update_slice_into(x[0], update[0], array([], "si32"), sizes=())) == [9.0]


ROW_BY_ROW = {"update_window_dims": (1,), "inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,)}
NO_BATCHES = {"input_batching_dims": (), "scatter_indices_batching_dims": (), "index_vector_dim": 1}


LAYOUTS = {
    "rows": lambda x: x.copy(),
    "columns": lambda x: x.copy(order="F"),
    "every other": lambda x: np.repeat(x, 2, axis=0)[::2],
    "read-only": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
}


@pytest.mark.parametrize(("op", "dtype"), [p for p in legal("indexing") if p[0].startswith("scatter_")], ids=ids)
def test_a_scatter_in_place_takes_the_memory_of_a_dying_operand(op: str, dtype: PtirDType):
    """Whatever its strides, with the bits of one that copies; what is read-only is copied."""
    values = samples(dtype, 24, seed=1)
    rows, updates = np.resize(values, 12).reshape(4, 3), np.resize(values[::-1], 9).reshape(3, 3)
    name, _, kind = op.partition(" ")
    if name == "scatter_add":
        indices, properties = array([1, 3, 1], "si32"), ROW_BY_ROW
    elif name == "scatter_windows":
        indices = array([[1], [3], [1]], "si32")
        properties = {**ROW_BY_ROW, **NO_BATCHES, "kind": kind, "mode": "raise", "unique": False}
    else:
        indices, properties = array([[0, 3, 1], [2, 0, 1], [0, 0, 1]], "si64"), {"kind": kind, "axis": 0}
    with np.errstate(all="ignore"):
        expected = getattr(KERNELS, name)(rows, indices, updates, **properties)
        for layout, make in LAYOUTS.items():
            x = make(rows)
            found = getattr(KERNELS, f"{name}_into")(x, indices, updates, **properties)
            assert (found is x) == (layout != "read-only")
            assert found.tobytes() == expected.tobytes()
            assert layout != "read-only" or x.tobytes() == rows.tobytes()


def test_a_scatter_that_is_refused_writes_nothing():
    x, updates = array([[1.0, 2.0]] * 3, "f32"), array([[5.0, 5.0]] * 2, "f32")
    before = x.copy()
    with pytest.raises(MindError, match="E6001"):
        KERNELS.scatter_add_into(x, array([0, 3], "si32"), updates, **ROW_BY_ROW)
    with pytest.raises(MindError, match="E6001"):
        KERNELS.scatter_reduce_into(x, array([[0, 0], [0, -1]], "si32"), updates, kind="replace", axis=0)
    properties = {**ROW_BY_ROW, **NO_BATCHES, "kind": "add", "mode": "raise", "unique": True}
    for indices, code in (([[0], [3]], "E6001"), ([[1], [1]], "E8002")):
        with pytest.raises(MindError, match=code):
            KERNELS.scatter_windows_into(x, array(indices, "si32"), updates, **properties)
    assert x.tobytes() == before.tobytes()


def test_an_update_of_overlapping_memory():
    x = array([1.0, 2.0, 3.0, 4.0], "f32")
    assert elements(KERNELS.dynamic_update_slice_into(x, x[:3], array([1], "si32"), sizes=(3,))) == [1.0, 1.0, 2.0, 3.0]


def test_a_window_that_cannot_fit_is_refused():
    """Along dynamic dimensions only the run knows; the code is that of the verifier."""
    x, start = array([1.0, 2.0], "f32"), array([0], "si32")
    for call in (
        lambda: KERNELS.dynamic_slice(x, start, sizes=(3,)),
        lambda: KERNELS.dynamic_update_slice(x, array([0.0] * 3, "f32"), start, sizes=(3,)),
        lambda: KERNELS.dynamic_update_slice_into(x, array([0.0] * 3, "f32"), start, sizes=(3,)),
    ):
        with pytest.raises(MindError, match="a window of 3 at dimension 0 of extent 2") as caught:
            call()
        assert caught.value.code == "E4012"
