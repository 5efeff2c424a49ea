"""Windows at index vectors on the native target: looked up, or combined, where each component of a vector says."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from machines import RUNNABLE
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.types import SI64
from mind_lowering.native.host import CHECKS_VARIABLE, ISA_VARIABLE
from mind_lowering.ptir_kernels.formats import array_dtype
from ptir_forms import like, program

PLAIN = {"operand_batching_dims": (), "start_indices_batching_dims": ()}


def same(module: Any, *given: Any) -> str:
    """Compare the target with that of NumPy, bit by bit; return the kernels."""
    expected = mind_runtime.compile(module, target="numpy")(*given)
    run = mind_runtime.compile(module, target="native")
    assert run(*given).tobytes() == expected.tobytes()
    return "\n".join(run.explain())


class Drawn:
    """Random dimension numbers of a gather."""

    def __init__(self, seed: int):
        pick = self.pick = random.Random(seed)
        rank = pick.randrange(1, 4)
        self.shape = [pick.choice((1, 3, 5, 9)) for _ in range(rank)]
        axes = pick.sample(range(rank), rank)
        batching = axes[: pick.choice((0, 0, 1)) if rank > 1 else 0]
        mapped = axes[len(batching) :][: pick.randrange(1, rank - len(batching) + 1)]
        sizes = [pick.randrange(1, n + 1) for n in self.shape]
        collapsed = sorted(a for a in axes if a not in batching and pick.randrange(2))
        self.sizes = [1 if a in collapsed or a in batching else n for a, n in enumerate(sizes)]
        outer = [pick.choice((1, 2, 7, 40)) for _ in range(pick.randrange(0, 3))] + [self.shape[a] for a in batching]
        places = list(range(len(outer)))
        self.vector = pick.randrange(len(outer) + 1)
        if len(mapped) == 1 and pick.randrange(2):
            self.vector, self.indices = len(outer), outer
        else:
            self.indices = [*outer[: self.vector], len(mapped), *outer[self.vector :]]
        own = [i + (i >= self.vector) for i in places[len(outer) - len(batching) :]]
        kept = [n for a, n in enumerate(self.sizes) if a not in collapsed and a not in batching]
        offset = sorted(pick.sample(range(len(outer) + len(kept)), len(kept)))
        left = iter(kept), iter(outer)
        self.result = [next(left[0] if i in offset else left[1]) for i in range(len(outer) + len(kept))]
        self.mapped = mapped
        self.gather = {
            "offset_dims": tuple(offset),
            "collapsed_slice_dims": tuple(collapsed),
            "operand_batching_dims": tuple(batching),
            "start_indices_batching_dims": tuple(own),
            "start_index_map": tuple(mapped),
            "index_vector_dim": self.vector,
        }
        self.scatter = {
            "update_window_dims": tuple(offset),
            "inserted_window_dims": tuple(collapsed),
            "input_batching_dims": tuple(batching),
            "scatter_indices_batching_dims": tuple(own),
            "scatter_dims_to_operand_dims": tuple(mapped),
            "index_vector_dim": self.vector,
        }

    def vectors(self, rng: np.random.Generator, beyond: int = 0) -> np.ndarray:
        """Index vectors inside, or up to so far outside."""
        limits = [self.shape[a] - self.sizes[a] + 1 for a in self.mapped]
        columns = [rng.integers(-beyond, n + beyond, self.indices) for n in limits]
        if self.vector == len(self.indices):
            return columns[0].astype(np.int64)
        along = np.arange(len(limits)).reshape([-1 if i == self.vector else 1 for i in range(len(self.indices))])
        return np.choose(np.broadcast_to(along, self.indices), columns).astype(np.int64)


def types(*of: tuple[str, Any]) -> str:
    return " ".join(f"{dtype}[{','.join(map(str, extents))}]" for dtype, extents in of)


@pytest.mark.parametrize("seed", range(40))
def test_drawn_gathers(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    it, rng = Drawn(seed), np.random.default_rng(seed)
    monkeypatch.setenv(ISA_VARIABLE, it.pick.choice(RUNNABLE))
    monkeypatch.setenv(CHECKS_VARIABLE, "1" if seed % 2 else "")
    dtype, mode = it.pick.choice(("f32", "f64", "bf16", "i1", "si8", "cf32")), it.pick.choice(("raise", "clamp"))
    index = it.pick.choice(("si32", "si64"))
    x = rng.integers(0, 2 if dtype == "i1" else 100, it.shape).astype(array_dtype(dtype))
    vectors = it.vectors(rng, beyond=3 if mode == "clamp" else 0).astype(array_dtype(index))
    module = program(
        types((dtype, it.shape), (index, it.indices)),
        lambda a, i: ptir.GatherWindowsOp(a, i, **it.gather, slice_sizes=tuple(it.sizes), mode=mode),
    )
    assert "0 ops on NumPy" in same(module, x, vectors)


@pytest.mark.parametrize("seed", range(40))
def test_drawn_scatters(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole numbers, so that sums are exact in any order."""
    it, rng = Drawn(seed), np.random.default_rng(seed)
    monkeypatch.setenv(ISA_VARIABLE, it.pick.choice(RUNNABLE))
    monkeypatch.setenv(CHECKS_VARIABLE, "1" if seed % 2 else "")
    dtype, kind = it.pick.choice(("f32", "f64", "bf16", "si8", "si32")), it.pick.choice(("add", "mul", "max", "min", "replace"))
    x, updates = (rng.integers(-9, 9, s).astype(array_dtype(dtype)) for s in (it.shape, it.result))
    module = program(
        types((dtype, it.shape), ("si64", it.indices), (dtype, it.result)),
        lambda a, i, u: ptir.ScatterWindowsOp(a, i, u, **it.scatter, kind=kind, mode="raise", unique=False),
    )
    assert "0 ops on NumPy" in same(module, x, it.vectors(rng), updates)


def places(i: Any, j: Any, shape: tuple[int, ...]) -> Any:
    """Vectors of two components, each of which is the same along an axis."""
    rows = ptir.BroadcastToOp(ptir.ReshapeOp(i, new_shape=(shape[0], 1, 1)), result_shape=(*shape, 1))
    columns = ptir.BroadcastToOp(ptir.ReshapeOp(j, new_shape=(shape[1], 1)), result_shape=(*shape, 1))
    return ptir.ConcatOp(rows, columns, axis=2)


CELLS = {"offset_dims": (), "collapsed_slice_dims": (0, 1), "start_index_map": (0, 1), "index_vector_dim": 2, **PLAIN}


def test_components_are_read_where_they_lie() -> None:
    """Vectors are not put together, and what reads the elements is in the same kernel, for gathers; nor for scatters."""

    def gathered(x: Any, i: Any, j: Any) -> Any:
        found = ptir.GatherWindowsOp(x, places(i, j, (30, 40)), **CELLS, slice_sizes=(1, 1), mode="raise")
        other = ptir.GatherWindowsOp(x, places(i, j, (30, 40)), **CELLS, slice_sizes=(1, 1), mode="clamp")
        return ptir.AddOp(ptir.MulOp(found, like(found, 2)), other)

    rng = np.random.default_rng(0)
    x, i, j = rng.normal(size=(9, 8)).astype(np.float32), rng.integers(0, 9, 30), rng.integers(0, 8, 40)
    kernels = same(program("f32[9,8] si64[30] si64[40]", gathered), x, i, j)
    assert "1 native kernel, 0 ops on NumPy" in kernels

    def scattered(x: Any, i: Any, j: Any, u: Any) -> Any:
        dims = {"update_window_dims": (), "inserted_window_dims": (0, 1), "scatter_dims_to_operand_dims": (0, 1)}
        batch = {"input_batching_dims": (), "scatter_indices_batching_dims": (), "index_vector_dim": 2}
        where = places(i, j, (30, 40))
        return ptir.ScatterWindowsOp(x, where, u, **dims, **batch, kind="max", mode="raise", unique=False)

    u = rng.normal(size=(30, 40)).astype(np.float32)
    kernels = same(program("f32[9,8] si64[30] si64[40] f32[30,40]", scattered), x, i, j, u)
    assert "copy over [30, 40" not in kernels


@pytest.mark.parametrize(("row", "column"), [(9, 0), (-1, 3), (4, 7), (2, -5), (1 << 40, 1)])
@pytest.mark.parametrize("kind", ["gather", "scatter"])
def test_a_window_outside(kind: str, row: int, column: int) -> None:
    """The error names the axis and the windows, as that of the numpy target does."""
    windows = {"operand_batching_dims": (), "start_indices_batching_dims": (), "index_vector_dim": 1}
    into = {"input_batching_dims": (), "scatter_indices_batching_dims": (), "index_vector_dim": 1}

    def body(x: Any, i: Any, u: Any) -> Any:
        if kind == "gather":
            dims = {"offset_dims": (1, 2), "collapsed_slice_dims": (), "start_index_map": (0, 1)}
            return ptir.AddOp(ptir.GatherWindowsOp(x, i, **dims, **windows, slice_sizes=(2, 3), mode="raise"), u)
        dims = {"update_window_dims": (1, 2), "inserted_window_dims": (), "scatter_dims_to_operand_dims": (0, 1)}
        return ptir.ScatterWindowsOp(x, i, u, **dims, **into, kind="add", mode="raise", unique=False)

    module = program("f32[9,8] si64[20,2] f32[20,2,3]", body)
    vectors = np.ones((20, 2), np.int64)
    messages: list[str] = []
    for target in ("native", "numpy"):
        run = mind_runtime.compile(module, target=target)
        run(np.ones((9, 8), np.float32), vectors, np.ones((20, 2, 3), np.float32))
        wrong = vectors.copy()
        wrong[17] = row, column
        with pytest.raises(MindError) as e:
            run(np.ones((9, 8), np.float32), wrong, np.ones((20, 2, 3), np.float32))
        assert e.value.code == "E6001"
        messages.append(str(e.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("start", [0, 2, 5, 6, -1, 1 << 40])
@pytest.mark.parametrize("kind", ["add", "mul", "max", "replace"])
def test_a_start_that_is_one_number_for_all_windows(kind: str, start: int) -> None:
    """It is no index in memory, and windows that do not move along an axis meet nowhere along it; outside it is E6001."""

    def body(x: Any, i: Any, u: Any) -> Any:
        column = ptir.BroadcastToOp(ptir.ConstantOp(PtirLiteralAttr.from_values(SI64, (), (start,))), result_shape=(20, 1))
        vectors = ptir.ConcatOp(ptir.ReshapeOp(i, new_shape=(20, 1)), column, axis=1)
        dims = {"update_window_dims": (1,), "inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0, 1)}
        batch = {"input_batching_dims": (), "scatter_indices_batching_dims": (), "index_vector_dim": 1}
        return ptir.ScatterWindowsOp(x, vectors, u, **dims, **batch, kind=kind, mode="raise", unique=False)

    rng = np.random.default_rng(0)
    module = program("f32[9,8] si64[20] f32[20,3]", body)
    given = rng.normal(size=(9, 8)).astype("f4"), rng.integers(0, 9, 20), rng.normal(size=(20, 3)).astype("f4")
    if 0 <= start <= 5:
        assert "copy over [20, " not in same(module, *given)
        return
    for target in ("native", "numpy"):
        with pytest.raises(MindError, match="E6001"):
            mind_runtime.compile(module, target=target)(*given)


@pytest.mark.parametrize(
    ("op", "reason"),
    [
        (lambda x, i, u: ptir.GatherWindowsOp(x, i, **CELLS, slice_sizes=(1, 1), mode="fill"), "beyond the operand"),
        (lambda x, i, u: scattered_cells(x, i, u, mode="drop"), "beyond the operand"),
        (lambda x, i, u: scattered_cells(x, i, u, unique=True), "promises"),
    ],
    ids=["fill", "drop", "unique"],
)
def test_what_runs_on_numpy(op: Any, reason: str) -> None:
    rng = np.random.default_rng(0)
    x, u = rng.normal(size=(9, 8)).astype(np.float32), rng.normal(size=(3, 5)).astype(np.float32)
    vectors = np.stack(np.divmod(rng.permutation(72)[:15], 8), -1).reshape(3, 5, 2).astype(np.int64)
    kernels = same(program("f32[9,8] si64[3,5,2] f32[3,5]", op), x, vectors, u)
    assert reason in kernels


def scattered_cells(x: Any, i: Any, u: Any, **changed: Any) -> Any:
    dims = {"update_window_dims": (), "inserted_window_dims": (0, 1), "scatter_dims_to_operand_dims": (0, 1)}
    batch = {"input_batching_dims": (), "scatter_indices_batching_dims": (), "index_vector_dim": 2}
    return ptir.ScatterWindowsOp(x, i, u, **dims, **batch, **{"kind": "add", "mode": "raise", "unique": False, **changed})
