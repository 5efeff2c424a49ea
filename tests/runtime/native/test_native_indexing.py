"""Native scatters, running sums, places of the greatest and orders: bit for bit what NumPy's kernels give."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.legal import LEGAL
from mind_dialect.ptir.types import DTYPES, PtirDType
from native_same import block, every, same, way
from ptir_forms import program

__all__ = ["way"]
pytestmark = pytest.mark.usefixtures("way")


@pytest.mark.exhaustive
@every("scatter_reduce")
def test_scatter_reduce(name: str, dtype: PtirDType) -> None:
    kind, rng = name.split()[1], np.random.default_rng(1)
    for shape, axis, count in (((5,), 0, 40), ((4, 37), 0, 9), ((3, 6), 1, 11), ((2, 3, 40), -2, 8), ((3, 4), 0, 0)):
        x = block(dtype, shape)
        extents = tuple(count if a == axis % len(shape) else n for a, n in enumerate(shape))
        updates = block(dtype, extents, 1, special=kind in ("max", "min"))
        where = rng.integers(0, shape[axis], extents).astype(np.int32 if axis else np.int64)
        same(lambda a, i, u, axis=axis: ptir.ScatterReduceOp(a, i, u, kind=kind, axis=axis).result, x, where, updates)


NAMES = ("update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims")
SCATTERS = [
    (shape, index, updates, dict(zip(NAMES, dims, strict=True)), vector)
    for shape, index, updates, dims, vector in (
        ((10, 40), (6, 1), (6, 40), ([1], [0], [0]), 1),
        ((10, 4), (2, 3), (2, 3, 4), ([2], [0], [0]), None),
        ((6, 7), (2, 9), (9,), ([], [0, 1], [1, 0]), 0),
        ((6, 7), (9, 2), (2, 9, 3), ([0, 2], [], [0, 1]), 1),
        ((5, 6, 20), (7, 2), (7, 3, 20), ([1, 2], [0], [0, 1]), 1),
        ((9,), (1,), (5,), ([0], [], [0]), 0),
        ((3, 5), (0, 1), (0, 5), ([1], [0], [0]), 1),
    )
]


def scattered(dims: dict[str, Any], vector: int | None) -> Callable[..., Any]:
    options = dims if vector is None else {**dims, "index_vector_dim": vector}
    return lambda a, i, u: ptir.ScatterAddOp(a, i, u, **options).result


@pytest.mark.exhaustive
@every("scatter_add")
def test_scatter_add(name: str, dtype: PtirDType) -> None:
    rng = np.random.default_rng(2)
    for shape, index, updates, dims, vector in SCATTERS:
        where = rng.integers(0, 3 if vector != 0 or len(index) > 1 else 5, index).astype(np.int32)
        same(scattered(dims, vector), block(dtype, shape), where, block(dtype, updates, 1))


def segments(kind: str, options: dict[str, Any]) -> Callable[..., Any]:
    return lambda a, i: ptir.SegmentReduceOp(a, i, kind=kind, **options).result


@pytest.mark.parametrize("way", ["", "checked"], indirect=True)
def test_what_is_counted_or_constant_is_looked_up() -> None:
    """There is no memory to look into, but an index that differs from lane to lane, and that must be there."""
    inside = np.random.default_rng(4).integers(0, 5, (3, 21)).astype(np.int32)
    beyond = inside.copy()
    beyond[2, 19] = 5
    for where in (inside, beyond):
        for axis in (0, 1):
            count = {"shape": (5, 21), "dtype": "si32", "axis": axis}
            same(lambda i, c=count: ptir.GatherOp(ptir.IotaOp(**c), i, axis=0).result, where)
            same(lambda i, c=count: ptir.TakeOp(ptir.IotaOp(**c), i).result, where)
        full = PtirLiteralAttr.filled(DTYPES["f32"], (5, 21), 7.0)
        same(lambda i, x=full: ptir.GatherOp(ptir.ConstantOp(x), i, axis=0).result, where)
        same(lambda i, x=full: ptir.TakeOp(ptir.ConstantOp(x), i).result, where)


def test_kernels_that_look_up_what_is_counted_are_shared_if_they_are_equal() -> None:
    def body(i: Any) -> list[Any]:
        return [ptir.TakeOp(ptir.IotaOp(shape=(n,), dtype="si32", axis=0), i) for n in (4, 6)]

    same(body, np.array([3, 1, 0], np.int32))
    same(body, np.array([3, 4, 0], np.int32))


def test_indices_out_of_bounds() -> None:
    """The same error, with the same numbers; of several, that of the first in the order of NumPy."""
    rng = np.random.default_rng(3)
    x = np.arange(28, dtype=np.float32).reshape(4, 7)
    for wrong in ([(3, 4, -1)], [(0, 0, 4)], [(8, 6, 9), (2, 3, -7)]):
        where = rng.integers(0, 4, (9, 7))
        for i, j, value in wrong:
            where[i, j] = value
        updates = np.ones((9, 7), np.float32)
        same(lambda a, i, u: ptir.ScatterReduceOp(a, i, u, kind="add", axis=0).result, x, where, updates)
    for shape, index, updates, dims, vector in SCATTERS[:6]:
        for value in (-1, 100, 6):
            where = np.zeros(index, np.int64)
            where.flat[-1] = value
            same(scattered(dims, vector), np.zeros(shape, np.float32), where, np.ones(updates, np.float32))
    for value in (-1, 3):
        options = {"num_segments": 3, "indices_are_sorted": False, "unique": False}
        same(segments("sum", options), np.ones((3, 2), np.float32), np.array([0, value, 9]))


def test_nothing_has_changed_where_an_index_is_wrong() -> None:
    x = np.zeros((4, 3), np.float32)
    module = program("f32[4,3] si32[2,3] f32[2,3]", lambda a, i, u: ptir.ScatterReduceOp(a, i, u, kind="add", axis=0).result)
    run = mind_runtime.compile(module, target="native", donate=["arg0"])
    where = np.zeros((2, 3), np.int32)
    where[1, 2] = 4
    with pytest.raises(MindError):
        run(x, where, np.ones((2, 3), np.float32))
    assert not x.any()


@pytest.mark.exhaustive
@every("segment_reduce")
def test_segment_reduce(name: str, dtype: PtirDType) -> None:
    kind = name.split()[1]
    rng = np.random.default_rng(4)
    for shape in ((20,), (20, 3), (9, 40), (4, 2, 35), (0, 3)):
        where = rng.integers(0, 5, shape[0]).astype(np.int32)
        options = {"num_segments": 6, "indices_are_sorted": False, "unique": False}
        same(segments(kind, options), block(dtype, shape, special=kind == "max"), where)


def test_promises_of_ids() -> None:
    x = np.ones((4, 2), np.float32)
    for where in ([0, 1, 2, 3], [0, 1, 1, 2], [1, 0, 2, 3], [3, 0, 3, 1]):
        for is_sorted in (False, True):
            for unique in (False, True):
                options = {"num_segments": 4, "indices_are_sorted": is_sorted, "unique": unique}
                same(segments("sum", options), x, np.array(where))


@pytest.mark.exhaustive
@every("cumulative_sum")
def test_cumulative_sum(name: str, dtype: PtirDType) -> None:
    for shape, axis in (
        ((37,), 0),
        ((5, 70), 0),
        ((3, 0), 0),
        ((70, 9), -1),
    ):
        x = block(dtype, shape, special=dtype.kind == "float")
        for exclusive, reverse in ((False, False), (True, False), (False, True), (True, True))[:: 1 if shape == (5, 70) else 4]:
            same(lambda v, a=axis, e=exclusive, r=reverse: ptir.CumulativeSumOp(v, axis=a, exclusive=e, reverse=r).result, x)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("kind", "dtype"), [(k, d) for k in ("prod", "max", "min") for d in LEGAL[f"cumulative {k}"]["x"]])
def test_cumulative(kind: str, dtype: PtirDType) -> None:
    for shape, axis in (((37,), 0), ((5, 70), 0), ((3, 0), 0), ((70, 9), -1)):
        x = block(dtype, shape, special=kind != "prod")
        for exclusive, reverse in ((False, False), (True, False), (False, True), (True, True)):
            options = {"kind": kind, "axis": axis, "exclusive": exclusive, "reverse": reverse}
            same(lambda v, options=options: ptir.CumulativeOp(v, **options).result, x)


def test_negative_zeros_in_running_sums() -> None:
    for exclusive in (False, True):
        same(
            lambda v, e=exclusive: ptir.CumulativeSumOp(v, axis=0, exclusive=e, reverse=False).result,
            np.array([-0.0, -0.0, 0.0, -0.0], np.float32),
        )


@pytest.mark.exhaustive
@every("arg_max")
def test_arg_max(name: str, dtype: PtirDType) -> None:
    arg_extreme(ptir.ArgMaxOp, dtype)


@pytest.mark.exhaustive
@every("arg_min")
def test_arg_min(name: str, dtype: PtirDType) -> None:
    arg_extreme(ptir.ArgMinOp, dtype)


def arg_extreme(op: type[ptir.ArgMaxOp | ptir.ArgMinOp], dtype: PtirDType) -> None:
    for shape, axis in (((37,), 0), ((5, 70), 0), ((3, 4, 33), 1), ((0, 3), 1), ((3, 300), -1)):
        x, keeps = block(dtype, shape, special=True), len(shape) == 2
        output = "si64" if keeps else "si32"
        same(lambda v, a=axis, k=keeps, o=output: op(v, axis=a, keepdims=k, output_dtype=o).result, x)


LINES = [((40,), 0), ((300,), 0), ((3, 50), 1), ((70, 3), 0), ((2, 5, 3), -2), ((1,), 0), ((0, 4), 1), ((3, 0), 1), ((40, 60), 1)]


@pytest.mark.exhaustive
@every("sort")
def test_sort(name: str, dtype: PtirDType) -> None:
    for shape, axis in LINES[:: 1 if str(dtype) == "f32" else 3]:
        x = block(dtype, shape, special=True)
        for descending in (False, True):
            same(lambda v, a=axis, d=descending: ptir.SortOp(v, axis=a, descending=d).result, x)


@pytest.mark.exhaustive
@every("top_k")
def test_top_k(name: str, dtype: PtirDType) -> None:
    for number, (shape, axis) in enumerate(LINES[:: 1 if str(dtype) == "f32" else 3]):
        x = block(dtype, shape, special=True)
        for k in {0, 1, shape[axis] // 5, shape[axis]} if shape[axis] else {0}:
            options = {"k": k, "axis": axis, "largest": bool(number % 2), "indices_dtype": ("si32", "si64")[k % 2]}
            same(lambda v, o=options: list(ptir.TopKOp(v, **o).results), x)


def test_long_lines_with_many_equal_keys() -> None:
    rng = np.random.default_rng(5)
    few = rng.integers(0, 9, 5000).astype(np.float32) - 4
    for x in (few, rng.standard_normal(5000).astype(np.float32), rng.integers(-3, 3, 5000)):
        for k, largest in ((7, True), (1000, False), (5000, True)):
            options = {"k": k, "axis": 0, "largest": largest, "indices_dtype": "si32"}
            same(lambda v, o=options: list(ptir.TopKOp(v, **o).results), x)


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", ["f32", "bf16", "f64", "ui8", "si64"])
def test_the_best_of_lines_about_as_long_as_blocks(dtype: str) -> None:
    """Every size of blocks, elements after the last block, special values anywhere, best elements first, last and all equal."""
    for n, k in ((49, 1), (63, 1), (64, 15), (65, 16), (129, 2), (256, 4), (257, 64), (1000, 15), (1000, 31), (1000, 250)):
        x = block(DTYPES[dtype], (3, n), n, special=True)
        for line in (x, np.sort(x), np.sort(x)[:, ::-1].copy(), np.broadcast_to(x[:, :1], x.shape).copy()):
            options = {"k": k, "axis": 1, "largest": bool(n % 2), "indices_dtype": "si32"}
            same(lambda v, o=options: list(ptir.TopKOp(v, **o).results), line)
    strided = {"k": 5, "axis": 0, "largest": True, "indices_dtype": "si32"}
    same(lambda v: list(ptir.TopKOp(v, **strided).results), block(DTYPES[dtype], (333, 3), special=True))


@pytest.mark.parametrize("seed", range(12))
def test_random_scatters_with_windows(seed: int) -> None:
    """Dimension numbers of all kinds, windows that meet, small integers in f32 and numbers whose sum depends on their order."""
    pick = random.Random(seed)
    rank = pick.randint(1, 3)
    shape = [pick.randint(1, 6) for _ in range(rank)]
    inserted = sorted(pick.sample(range(rank), pick.randint(0, rank)))
    targets = pick.sample(range(rank), pick.randint(0, rank))
    batch = [pick.randint(1, 5) for _ in range(pick.randint(0, 2))]
    window = [pick.randint(1, shape[a]) for a in range(rank) if a not in inserted]
    total = len(window) + len(batch)
    window_dims = sorted(pick.sample(range(total), len(window)))
    sizes, rest, inner = [], iter(batch), iter(window)
    for place in range(total):
        sizes.append(next(inner) if place in window_dims else next(rest))
    vector = pick.randint(0, len(batch))
    index = [*batch[:vector], len(targets), *batch[vector:]]
    every = dict.fromkeys(inserted, 1) | dict(zip([a for a in range(rank) if a not in inserted], window, strict=True))
    where = np.zeros(index, np.int32)
    rng = np.random.default_rng(seed)
    for column, axis in enumerate(targets):
        part = np.moveaxis(where, vector, -1)
        part[..., column] = rng.integers(0, shape[axis] - every[axis] + 1, part.shape[:-1])
    dims = {"update_window_dims": window_dims, "inserted_window_dims": inserted, "scatter_dims_to_operand_dims": targets}
    x, updates = (rng.standard_normal(s).astype(np.float32) for s in (shape, sizes))
    same(scattered(dims, vector), x, where, updates)
