"""Lines sorted in lanes: the bits of NumPy's kernels, for zeros with signs and NaN that differ as well."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from mind_dialect import ptir
from mind_dialect.ptir.types import DTYPES, SI32, PtirDType
from mind_lowering.native import TARGETS
from mind_lowering.native.kernel_steps import LaneSort
from mind_lowering.native.lane_networks import halving, sorting
from mind_lowering.native.lane_order import lane_order
from mind_lowering.native.line_axes import LineAxes
from mind_lowering.native.views import Buffer, Use, View
from native_same import block, same, types, way
from ptir_forms import program

__all__ = ["way"]
pytestmark = pytest.mark.usefixtures("way")

ONE_WAY = pytest.mark.parametrize("way", [""], indirect=True)
SOME = ("f32", "bf16", "f16", "ui8", "si16", "i1", "ui32", "f64", "si64", "ui64")
"""Dtypes of which a key and a place are one number, and those of 64 bits, whose places have vectors of their own."""
SHAPES = [
    *(((18, n), 1) for n in (2, 3, 5, 8, 9, 15, 16, 17, 31, 40, 64, 100)),
    ((4, 130), 1),  # as few lines as there may be
    ((7, 33), 1),
    ((37, 20), 0),
    ((2, 21, 33), 1),
    ((3, 5, 7), 2),
    ((3, 1, 6, 11), 2),
]


def in_order(axis: int, *, descending: bool = False) -> Callable[[Any], Any]:
    return lambda x: ptir.SortOp(x, axis=axis, descending=descending).result


def best(axis: int, k: int, *, largest: bool, places: str = "si32") -> Callable[[Any], Any]:
    return lambda x: list(ptir.TopKOp(x, axis=axis, k=k, largest=largest, indices_dtype=places).results)


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", SOME)
def test_lines_in_order(dtype: str) -> None:
    for number, (shape, axis) in enumerate(SHAPES):
        same(in_order(axis, descending=bool(number % 2)), block(DTYPES[dtype], shape, number, special=True))


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", SOME)
def test_places_in_order(dtype: str) -> None:
    """Equal keys keep their order; all, some and one of the best of each line."""
    for number, (shape, axis) in enumerate(SHAPES):
        x = block(DTYPES[dtype], shape, number, special=True)
        k = (shape[axis], max(1, shape[axis] // 3), 1, min(8, shape[axis]))[number % 4]
        same(best(axis, k, largest=bool(number % 2), places=("si32", "si64")[number % 2]), x)


@ONE_WAY
@pytest.mark.parametrize(("shape", "axis"), [((16, 1000), 1), ((40, 300), 1), ((513, 16), 0), ((4, 4000), 1)])
def test_long_lines(shape: tuple[int, ...], axis: int) -> None:
    """Runs of blocks whose number is no power of two, in as many vectors as fit on the stack."""
    rng = np.random.default_rng(1)
    narrow = rng.standard_normal(shape).astype(np.float32), rng.integers(-3, 3, shape).astype(np.int16)
    for x in (*narrow, rng.standard_normal(shape), rng.integers(-3, 3, shape)):
        same(in_order(axis), x)
        same(best(axis, shape[axis], largest=False), x)
        same(best(axis, shape[axis], largest=True), np.sort(x, axis))


@ONE_WAY
def test_lines_that_are_views() -> None:
    """Lines of a slice of a transpose, whose elements and whose neighbours are apart."""
    x = np.random.default_rng(2).standard_normal((50, 3, 20)).astype(np.float32)

    def turned(v: Any) -> Any:
        return ptir.SliceOp(ptir.TransposeOp(v, perm=(2, 1, 0)).result, starts=(1, 0, 3), sizes=(17, 3, 40)).result

    for axis in (0, 1, 2):
        same(lambda v, a=axis: in_order(a)(turned(v)), x)
        same(lambda v, a=axis: best(a, 2, largest=True)(turned(v)), x)


@pytest.mark.parametrize("dtype", ["bf16", "ui8", "si16"])
def test_few_lines_of_columns(dtype: str) -> None:
    """Elements of a vector of lines that are eight apart, so that each is written by itself: no bytes behind it are."""
    x = block(DTYPES[dtype], (4, 4, 7))
    same(lambda v: best(1, 2, largest=True)(ptir.TransposeOp(v, perm=(2, 1, 0)).result), x)
    same(lambda v: in_order(1)(ptir.TransposeOp(v, perm=(2, 1, 0)).result), x)


def odd(dtype: str, shape: tuple[int, int], share: float) -> np.ndarray:
    """Numbers, zeros of both signs, and NaN of both signs that hold numbers, a share of each line."""
    rng = np.random.default_rng(3)
    kind = np.dtype(dtype)
    bits = np.dtype(f"u{kind.itemsize}")
    x = rng.integers(-2, 3, shape).astype(kind)
    top, mantissa = 8 * kind.itemsize - 1, {2: 10, 4: 23, 8: 52}[kind.itemsize]
    nan = ((1 << top) - (1 << mantissa)) + rng.integers(1, 1 << (mantissa - 1), shape) + (1 << (mantissa - 1))
    nan = nan.astype(bits) | (rng.integers(0, 2, shape).astype(bits) << bits.type(top))
    zeros = rng.integers(0, 2, shape).astype(bits) << bits.type(top)
    which = rng.random(shape)
    return np.where(which < share, nan, np.where(which < 2 * share, zeros, x.view(bits))).view(kind)


@pytest.mark.parametrize("way", ["", "checked"], indirect=True)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
@pytest.mark.parametrize(("shape", "share"), [((19, 12), 0.2), ((19, 70), 0.4), ((2, 300), 0.1), ((33, 9), 0.5)])
def test_zeros_and_nan_keep_their_order_and_bits(shape: tuple[int, int], share: float, dtype: str, *, descending: bool) -> None:
    """The order of a stable sort, by all that an element holds: in lanes, and of lines by themselves (of two)."""
    x = odd(dtype, shape, share)
    bits = x.view(f"u{x.dtype.itemsize}")
    rank = np.where(np.isnan(x), np.inf, x.astype(np.float64))
    order = np.argsort(-rank if descending else rank, axis=1, kind="stable")
    expected = np.take_along_axis(bits, order, 1)
    found = mind_runtime.compile(program(types(x), in_order(1, descending=descending)), target="native")(x)
    np.testing.assert_array_equal(np.asarray(found).view(bits.dtype), expected)
    for k in (5, shape[1]):
        values, places = mind_runtime.compile(program(types(x), best(1, k, largest=descending)), target="native")(x)
        np.testing.assert_array_equal(places, order[:, :k])
        np.testing.assert_array_equal(np.asarray(values).view(bits.dtype), expected[:, :k])


def step(dtype: str, shape: tuple[int, ...], axis: int, *, best: int | None = None) -> LaneSort:
    """A sort along the last axis, or a search for the best of each line."""
    kind = DTYPES[dtype]

    def view(dtype: PtirDType, shape: tuple[int, ...]) -> View:
        strides = tuple(prod(shape[a + 1 :]) for a in range(len(shape)))
        return View(Buffer(Use.ARENA, 0, dtype, prod(shape)), dtype, shape, strides)

    found = (*shape[:-1], shape[-1] if best is None else best)
    return LaneSort("sort", view(kind, shape), axis, False, view(kind, found), None if best is None else view(SI32, found))


@ONE_WAY
def test_which_lines_are_sorted_in_lanes() -> None:
    host = TARGETS["avx512"]
    for dtype, width in (("f32", 16), ("f64", 8), ("bf16", 32), ("ui8", 32)):
        assert (order := lane_order(step(dtype, (100, 20), 1), host)) is not None
        assert order.width == width
    joined = lane_order(step("f32", (5, 4, 20), 2), host)
    assert joined is not None
    assert joined.axes == LineAxes((20,), ((20, 20),))
    assert (order := lane_order(step("f32", (100, 20), 1, best=20), host)) is not None
    assert (order.bits, order.place_bits, order.width) == (64, 32, 8)
    assert (order := lane_order(step("f64", (100, 20), 1, best=20), host)) is not None, "a key and a place are 96 bits"
    assert (order.bits, order.place_bits, order.parts, order.width) == (64, 0, 2, 8)
    assert lane_order(step("f32", (3, 20), 1), host) is None, "three lines"
    assert lane_order(step("f32", (20,), 0), host) is None, "one line"
    assert lane_order(step("f32", (100, 20000), 1), host) is None, "keys do not fit on the stack"
    assert lane_order(step("f32", (100, 1), 1), host) is None, "one element"
    assert lane_order(step("f32", (100, 256), 1, best=64), host) is not None
    assert lane_order(step("f32", (100, 257), 1, best=64), host) is None, "a threshold finds the best of a long line"
    assert lane_order(step("f32", (100, 257), 1, best=65), host) is not None
    assert (order := lane_order(step("f32", (100, 4000), 1), host)) is not None
    assert order.width == 8, "half of a vector, so that keys fit"
    assert lane_order(step("f64", (100, 2000), 1, best=2000), host) is not None
    assert lane_order(step("f64", (100, 2100), 1, best=2100), host) is None, "keys and places do not fit on the stack"


@ONE_WAY
@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 11, 16])
def test_exchanges_sort(count: int) -> None:
    """All lines of zeros and ones, which is enough for all lines (Knuth, The Art of Computer Programming, 5.3.4, theorem Z)."""
    lines = np.array(np.meshgrid(*[[0, 1]] * count, indexing="ij")).reshape(count, -1)
    for a, b in sorting(count):
        lines[[a, b]] = np.minimum(lines[a], lines[b]), np.maximum(lines[a], lines[b])
    assert (np.diff(lines, axis=0) >= 0).all()


@ONE_WAY
def test_exchanges_sort_what_goes_up_and_down() -> None:
    for turn in range(9):
        for first in (0, 1):
            line = np.roll(np.repeat([first, 1 - first], [turn, 8 - turn]), 3)
            for a, b in halving(8):
                line[[a, b]] = min(line[a], line[b]), max(line[a], line[b])
            assert (np.diff(line) >= 0).all()
