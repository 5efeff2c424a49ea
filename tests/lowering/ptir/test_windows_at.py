"""Windows at index vectors against StableHLO's specification of gather and scatter, element by element in plain Python."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_dialect.ptir.types import PtirDType
from mind_dialect.ptir.windows_at import scatter_dims
from ptir_oracle import array, assert_elements, assert_near, elements, ids, legal, run, samples, stored

Index = tuple[int, ...]
ROW = {"offset_dims": (1,), "collapsed_slice_dims": (0,), "start_index_map": (0,), "slice_sizes": (1, 4)}
PAIRED = {"operand_batching_dims": (0,), "start_indices_batching_dims": (0,), "start_index_map": (1,), "vector": 2}
CROSSED = {"operand_batching_dims": (0, 2), "start_indices_batching_dims": (1, 0), "start_index_map": (1,), "vector": 2}
CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "rows": ((5, 4), (3, 1), ROW),
    "parts": ((5, 4), (3, 2), {"offset_dims": (1, 2), "start_index_map": (1, 0), "slice_sizes": (2, 3)}),
    "elements": (
        (5, 4),
        (2, 3, 2),
        {"collapsed_slice_dims": (0, 1), "start_index_map": (0, 1), "slice_sizes": (1, 1), "vector": 2},
    ),
    "vectors first": (
        (5, 4),
        (1, 3),
        {"offset_dims": (0,), "collapsed_slice_dims": (1,), "start_index_map": (1,), "slice_sizes": (3, 1), "vector": 0},
    ),
    "scalars": ((7,), (4,), {"offset_dims": (1,), "start_index_map": (0,), "slice_sizes": (2,), "vector": 1}),
    "one window": ((5, 4), (2,), {"offset_dims": (0, 1), "start_index_map": (0, 1), "slice_sizes": (2, 2), "vector": 0}),
    "batches": ((2, 5, 4), (2, 3, 1), {"offset_dims": (2,), "collapsed_slice_dims": (1,), "slice_sizes": (1, 1, 3), **PAIRED}),
    "crossed batches": ((3, 5, 2), (2, 3, 1), {"offset_dims": (0,), "slice_sizes": (1, 2, 1), **CROSSED}),
    "negative": ((5, 4), (3, 1), {**ROW, "offset_dims": (-1,), "collapsed_slice_dims": (-2,), "start_index_map": (-2,)}),
    "nothing": ((5, 4), (3, 1), {**ROW, "slice_sizes": (1, 0)}),
    "no indices": ((5, 4), (0, 1), ROW),
}
"""Shape of x, of the indices, dimension numbers of a gather."""
EMPTY = ("offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims", "start_index_map")


def dims_of(given: dict[str, Any]) -> dict[str, Any]:
    found = {name: given.get(name, ()) for name in EMPTY}
    return {**found, "index_vector_dim": given.get("vector", 1)}


def windows(shape: Index, indices: np.ndarray, given: dict[str, Any], sizes: Index) -> Iterator[tuple[Index, Index, Index]]:
    """For each element of a window: its place in the result, where the window starts in x, and its place in the window."""
    dims, vector = dims_of(given), given.get("vector", 1)
    rank = len(shape)
    outer = [n for i, n in enumerate(indices.shape) if i != vector]
    gone = {a % rank for a in (*dims["collapsed_slice_dims"], *dims["operand_batching_dims"])}
    kept = [a for a in range(rank) if a not in gone]
    total = len(outer) + len(kept)
    offsets = [d % total for d in dims["offset_dims"]]
    for place in itertools.product(*map(range, outer)):
        at = list(place)
        at.insert(vector, slice(None))  # type: ignore[arg-type]
        vector_here = np.atleast_1d(indices[tuple(at)] if vector < indices.ndim else indices[place])
        start = [0] * rank
        for component, a in zip(vector_here.tolist(), dims["start_index_map"], strict=True):
            start[a % rank] = component
        for a, i in zip(dims["operand_batching_dims"], dims["start_indices_batching_dims"], strict=True):
            start[a] = place[i - (i > vector)]
        for window in itertools.product(*(range(sizes[a]) for a in kept)):
            batch, inner = iter(place), iter(window)
            result = tuple(next(inner) if d in offsets else next(batch) for d in range(total))
            offset = [0] * rank
            for a, o in zip(kept, window, strict=True):
                offset[a] = o
            yield result, tuple(start), tuple(offset)


def moved(start: Index, shape: Index, sizes: Index) -> Index:
    return tuple(min(max(s, 0), n - size) for s, n, size in zip(start, shape, sizes, strict=True))


def drawn(name: str, mode: str, seed: int = 0) -> tuple[Index, np.ndarray, dict[str, Any]]:
    """A case, its indices inside of x or, but for `raise`, perhaps outside."""
    shape, index_shape, given = CASES[name]
    dims, rng = dims_of(given), np.random.default_rng(seed)
    indices = np.zeros(index_shape, np.int64)
    for component, a in enumerate(dims["start_index_map"]):
        free = shape[a] - given["slice_sizes"][a]
        low, high = (0, free) if mode == "raise" else (-2, shape[a] + 2)
        moved = (
            indices[None] if dims["index_vector_dim"] == len(index_shape) else np.moveaxis(indices, dims["index_vector_dim"], 0)
        )
        view = moved[component, ...]
        view[...] = rng.integers(low, high, view.shape, endpoint=True)
    return shape, indices, given


@pytest.mark.parametrize("mode", ["raise", "clamp", "fill"])
@pytest.mark.parametrize("name", CASES)
def test_gather(name: str, mode: str):
    shape, indices, given = drawn(name, mode)
    sizes = given["slice_sizes"]
    x = np.arange(1, np.prod(shape) + 1, dtype=np.float32).reshape(shape)
    for index_dtype in ("si32", "si64"):
        found = run("gather_windows", x, array(indices, index_dtype), **dims_of(given), slice_sizes=sizes, mode=mode)
        seen = 0
        for result, start, offset in windows(shape, indices, given, sizes):
            begin = moved(start, shape, sizes) if mode == "clamp" else start
            at = tuple(s + o for s, o in zip(begin, offset, strict=True))
            inside = all(0 <= i < n for i, n in zip(at, shape, strict=True))
            assert found[result] == (x[at] if inside else 0), (result, at)
            seen += 1
        assert seen == found.size


COMBINED = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "max": max,
    "min": min,
    "replace": lambda a, b: b,
}


@pytest.mark.parametrize("mode", ["raise", "drop"])
@pytest.mark.parametrize("kind", COMBINED)
@pytest.mark.parametrize("name", CASES)
def test_scatter(name: str, kind: str, mode: str):
    """Windows meet; they are combined in row-major order of the updates."""
    shape, indices, given = drawn(name, mode, seed=1)
    sizes = given["slice_sizes"]
    reads = {result: (start, offset) for result, start, offset in windows(shape, indices, given, sizes)}
    gathered = run(
        "gather_windows", np.zeros(shape, np.int32), array(indices, "si64"), **dims_of(given), slice_sizes=sizes, mode="fill"
    )
    updates = np.random.default_rng(2).integers(-3, 4, gathered.shape).astype(np.int32)
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    expected = x.astype(object)
    for result in itertools.product(*map(range, gathered.shape)):
        start, offset = reads[result]
        at = tuple(s + o for s, o in zip(start, offset, strict=True))
        if all(0 <= i < n for i, n in zip(at, shape, strict=True)):
            expected[at] = COMBINED[kind](expected[at], int(updates[result]))
    dims = scatter_dims(dims_of(given))
    found = run(f"scatter_windows {kind}", x, array(indices, "si64"), updates, **dims, mode=mode, unique=False)
    assert found.tolist() == expected.astype(np.int64).astype(np.int32).tolist()


ROWS = dims_of(CASES["rows"][2])
OPS = [p for p in legal("indexing") if "_windows" in p[0]]


@pytest.mark.parametrize(("op", "dtype"), OPS, ids=ids)
def test_every_legal_dtype(op: str, dtype: PtirDType):
    pool = samples(dtype, 24, special=op.endswith(("windows", "replace", "min", "max")))
    x, indices = np.resize(pool, 20).reshape(5, 4), np.array([[4], [0], [4]], np.int32)
    if op == "gather_windows":
        found = run(op, x, indices, **ROWS, slice_sizes=(1, 4), mode="raise")
        assert_elements(found, elements(x[[4, 0, 4]]))
        return
    updates = np.roll(pool, 7)[:12].reshape(3, 4)
    kind = op.split()[1]
    found = run(op, x, indices, updates, **scatter_dims(ROWS), mode="raise", unique=False)
    assert_elements(found[1:4], elements(x[1:4]))
    for column in range(4):
        assert same_as(kind, found[0, column], [x[0, column], updates[1, column]], dtype)
        assert same_as(kind, found[4, column], [x[4, column], updates[0, column], updates[2, column]], dtype)


def same_as(kind: str, found: Any, parts: list[Any], dtype: PtirDType) -> bool:
    """Combined in the wide dtype, rounded once."""
    values = [v.item() for v in np.array(parts)] if dtype.kind != "float" else [float(v) for v in parts]
    if kind in ("add", "mul"):
        total: Any = values[0]
        for v in values[1:]:
            total = COMBINED[kind](total, v)
        if dtype.is_float or dtype.kind == "complex":
            assert_near(np.array([found]), [total], ulps=3)
            return True
        return bool(found == array([stored(int(total), dtype)], dtype)[0])
    if kind == "replace":
        chosen = values[-1]
    else:
        chosen = float("nan") if any(v != v for v in values) else COMBINED[kind](*values)
    got = float(found) if dtype.is_float else np.asarray(found).item()
    return got == chosen or (got != got and chosen != chosen)


@pytest.mark.parametrize("index", [-1, 5, 2**31 - 1, -(2**31)])
def test_a_window_outside_is_refused(index: int):
    x, indices = np.zeros((5, 4), np.float32), np.array([[0], [index]], np.int32)
    with pytest.raises(MindError) as caught:
        run("gather_windows", x, indices, **ROWS, slice_sizes=(1, 4), mode="raise")
    assert (caught.value.code, caught.value.category) == ("E6001", "GatherIndexOutOfBounds")
    with pytest.raises(MindError) as caught:
        run("scatter_windows add", x, indices, x[:2], **scatter_dims(ROWS), mode="raise", unique=False)
    assert (caught.value.code, caught.value.category) == ("E6001", "ScatterIndexOutOfBounds")


def test_a_promise_that_is_broken_is_refused():
    x, indices = np.zeros((5, 4), np.float32), np.array([[3], [3]], np.int32)
    with pytest.raises(MindError, match="unique is promised, found two updates of one element") as caught:
        run("scatter_windows add", x, indices, x[:2], **scatter_dims(ROWS), mode="drop", unique=True)
    assert caught.value.code == "E8002"
    indices = np.array([[3], [9]], np.int32)  # what is left out meets nothing
    run("scatter_windows add", x, np.concatenate([indices, indices[1:]]), x[:3], **scatter_dims(ROWS), mode="drop", unique=True)


def test_filling_reads_nothing_of_an_empty_tensor():
    x, indices = np.zeros((0, 4), np.float32), np.array([[0], [1]], np.int32)
    with pytest.raises(MindError):
        run("gather_windows", x, indices, **ROWS, slice_sizes=(1, 4), mode="raise")
    empty = {**ROWS, "collapsed_slice_dims": (), "offset_dims": (1, 2)}
    found = run("gather_windows", x, indices, **empty, slice_sizes=(0, 4), mode="fill")
    assert found.shape == (2, 0, 4)
