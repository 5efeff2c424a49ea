"""Elements that are a few apart, read and written as vectors of neighbours: what NumPy gives, and nothing else is touched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from mind_dialect import ptir
from mind_dialect.ptir.types import DTYPES
from mind_lowering.native import TARGETS
from mind_lowering.native.ir import LlvmModule
from mind_lowering.native.lanes import MOST_APART, Lanes
from mind_lowering.native.nest import axes_of, lane_axis
from native_same import block, same, way

__all__ = ["way"]
pytestmark = pytest.mark.usefixtures("way")


def column(x: Any, number: int) -> Any:
    n, _ = x.type.get_shape()
    return ptir.ReshapeOp(ptir.SliceOp(x, starts=(0, number), sizes=(n, 1)).result, new_shape=(n,)).result


def columns(stride: int) -> Callable[[Any], Any]:
    """The first column plus the last one, and all columns the other way round."""
    return lambda x: [ptir.AddOp(column(x, 0), column(x, stride - 1)), ptir.ReverseOp(x, axes=(1,))]


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16", "f16", "si8", "i1", "ui16", "si64"])
def test_columns(dtype: str) -> None:
    """All strides that are read so and one more; whole vectors, rests of them, and less than one."""
    for stride in range(2, MOST_APART + 2):
        for n in (1, 3, 16, 37, 300):
            x = block(DTYPES[dtype], (n, stride), stride, special=True)
            if dtype == "i1":
                same(lambda v, s=stride: [ptir.AndOp(column(v, 0), column(v, s - 1)), ptir.ReverseOp(v, axes=(1,))], x)
            else:
                same(columns(stride), x)


@pytest.mark.parametrize("dtype", ["bf16", "si8", "ui16"])
def test_columns_that_are_narrowed(dtype: str) -> None:
    """No bytes but those of a column are written, where a vector of neighbours has one element of it as well."""

    def put(x: Any) -> Any:
        parts = [ptir.CastOp(ptir.AddOp(column(x, i), column(x, 0)), dtype=DTYPES[dtype]).result for i in range(stride)]
        return ptir.ConcatOp(*[ptir.ReshapeOp(part, new_shape=(n, 1)) for part in parts], axis=1)

    for stride in (3, 5, 8):
        for n in (1, 7, 37):
            x = np.random.default_rng(n).integers(1, 60, (n, stride))
            same(put, x.astype(np.float32 if dtype == "bf16" else np.int32))


@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16", "si8", "i1"])
def test_backwards(dtype: str) -> None:
    for shape, axes in (((3, 100), (1,)), ((70,), (0,)), ((5, 2, 33), (0, 2)), ((9, 31), (0, 1))):
        same(lambda v, a=axes: ptir.ReverseOp(v, axes=a), block(DTYPES[dtype], shape, special=True))


@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16", "si8", "i1"])
def test_sums_along_short_axes(dtype: str) -> None:
    """Lanes run along the lines, whose elements are a few apart; lines may have no elements."""
    kinds = ("and", "or") if dtype == "i1" else ("sum", "max", "prod")
    for n in (0, 1, 2, 3, 4, 5):
        for lines in (1, 7, 50):
            for kind in kinds if n else kinds[:1]:
                x = block(DTYPES[dtype], (lines, n))
                x = np.random.default_rng(n).integers(-3, 4, x.shape).astype(x.dtype)  # sums are exact in any order
                same(lambda v, k=kind: ptir.ReduceOp(v, kind=k, axes=(1,), keepdims=False).result, x)


@pytest.mark.parametrize("way", [""], indirect=True)
@pytest.mark.parametrize(
    ("shape", "reduced", "strides", "along"),
    [
        ((1000, 3), (1,), [(3, 1), (1, 0)], 0),
        ((1000, 16), (1,), [(16, 1), (1, 0)], 1),
        ((1000, 3), (), [(3, 1), (3, -1)], 1),
        ((1000, 3), (), [(3, 1), (1, 1000)], 0),
    ],
)
def test_which_axis_has_the_lanes(shape: tuple[int, ...], reduced: tuple[int, ...], strides: Any, along: int) -> None:
    """Not a short one that is summed, nor one along which elements are far apart."""
    assert lane_axis(axes_of(shape, reduced, strides), 16) == along


@pytest.mark.parametrize("way", [""], indirect=True)
@pytest.mark.parametrize("isa", ["avx512", "avx2", "neon", "baseline"])
@pytest.mark.parametrize("width", [2, 4, 8, 16])
def test_vectors_of_neighbours(isa: str, width: int) -> None:
    """They end with the last element that is wanted, and hold each one once."""
    f = LlvmModule("", "").function("f", "void", [])
    lanes = Lanes(f, TARGETS[isa], width)
    for stride in range(2, lanes.most_apart + 1):
        runs = lanes.runs(stride)
        assert [lane for _, found in runs for lane in found] == list(range(width))
        assert all(first + place == lane * stride for first, found in runs for lane, place in found.items())
        assert runs[0][0] == 0
        assert runs[-1][0] + width == (width - 1) * stride + 1
        assert len(runs) <= stride
