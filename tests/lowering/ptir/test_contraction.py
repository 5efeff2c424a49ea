"""dot_general and convolution on every dtype, accumulator and arrangement of axes, against plain loops with exact products."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mind_dialect.ptir.legal import accumulators, default_accumulator
from mind_dialect.ptir.types import DTYPES, PtirDType
from ptir_oracle import array, assert_elements, bounded, elements, ids, is_integer, legal, run, samples, wrapped

Axes = tuple[int, ...]


def block(dtype: PtirDType, shape: Sequence[int], seed: int = 0) -> np.ndarray:
    return np.resize(samples(dtype, math.prod(shape), special=False, seed=seed), tuple(shape))


def exact(x: Any, dtype: PtirDType) -> Any:
    return Fraction(x) if dtype.is_float else x


def check(found: Any, terms: list[list[Any]], accumulator: PtirDType) -> None:
    """The sums of some products: integers modulo the accumulator, floats within the bound."""
    if is_integer(accumulator):
        assert_elements(found, [wrapped(sum(t), accumulator) for t in terms])
    else:
        bounded(found, terms, accumulator, accumulator.name)


def products(lhs: np.ndarray, rhs: np.ndarray, bl: Axes, br: Axes, cl: Axes, cr: Axes, dtype: PtirDType) -> list[list[Any]]:
    """The summands of every place: batch as listed, then the rest of lhs, then the rest of rhs."""
    bl, cl = (tuple(a % lhs.ndim for a in axes) for axes in (bl, cl))
    br, cr = (tuple(a % rhs.ndim for a in axes) for axes in (br, cr))
    free_l = [a for a in range(lhs.ndim) if a not in bl + cl]
    free_r = [a for a in range(rhs.ndim) if a not in br + cr]
    ranges = [lhs.shape[a] for a in bl], [lhs.shape[a] for a in free_l], [rhs.shape[a] for a in free_r]
    found: list[list[Any]] = []
    for b, m, n in itertools.product(*(list(itertools.product(*map(range, r))) for r in ranges)):
        row: list[Any] = []
        for k in itertools.product(*(range(lhs.shape[a]) for a in cl)):
            left, right = (
                dict(zip((*bl, *free_l, *cl), (*b, *m, *k), strict=True)),
                dict(zip((*br, *free_r, *cr), (*b, *n, *k), strict=True)),
            )
            x, y = lhs[tuple(left[a] for a in range(lhs.ndim))].tolist(), rhs[tuple(right[a] for a in range(rhs.ndim))].tolist()
            row.append(exact(x, dtype) * exact(y, dtype))
        found.append(row)
    return found


ARRANGEMENTS: list[tuple[Axes, Axes, Axes, Axes, Axes, Axes]] = [
    ((3, 4), (4, 2), (), (), (1,), (0,)),
    ((3, 4), (2, 4), (), (), (1,), (1,)),
    ((4, 3), (4, 2), (), (), (0,), (0,)),
    ((3, 4), (4, 2), (), (), (-1,), (-2,)),
    ((2, 3, 4), (2, 4, 5), (0,), (0,), (2,), (1,)),
    ((2, 3, 4), (2, 5, 4), (0,), (0,), (2,), (2,)),
    ((3, 2, 4), (5, 2, 4), (1,), (1,), (2,), (2,)),
    ((2, 3, 4), (3, 2, 5, 4), (1, 0), (0, 1), (2,), (3,)),
    ((2, 3, 4), (3, 2, 5, 4), (0, 1), (1, 0), (2,), (3,)),
    ((2, 3, 4), (3, 5, 2), (), (), (0, 1), (2, 0)),
    ((2, 3, 4), (4, 3), (), (), (2, 1), (0, 1)),
    ((2, 2, 3, 2), (2, 3, 2, 5), (), (), (3, 2), (0, 1)),
    ((3,), (2,), (), (), (), ()),
    ((3,), (3,), (), (), (0,), (0,)),
    ((2, 3), (2, 3), (0, 1), (0, 1), (), ()),
    ((2, 0), (0, 3), (), (), (1,), (0,)),
    ((0, 2), (2, 3), (), (), (1,), (0,)),
    ((), (), (), (), (), ()),
]


@pytest.mark.parametrize(("op", "dtype"), [p for p in legal("contraction") if p[0] == "dot_general"], ids=ids)
def test_dot_general(op: str, dtype: PtirDType):
    for left, right, *axes in ARRANGEMENTS:
        lhs, rhs = block(dtype, left), block(dtype, right, 1)
        names = dict(zip(("batch_lhs", "batch_rhs", "contract_lhs", "contract_rhs"), axes, strict=True))
        terms = products(lhs, rhs, *axes, dtype)
        accumulator = default_accumulator(dtype)
        check(run(op, lhs, rhs, out_dtype=accumulator, **names), terms, accumulator)
        check(
            run(op, np.asfortranarray(lhs), rhs[..., ::-1][..., ::-1] if rhs.ndim else rhs, out_dtype=accumulator, **names),
            terms,
            accumulator,
        )


@pytest.mark.parametrize(("op", "dtype"), [p for p in legal("contraction") if p[0] == "dot_general"], ids=ids)
def test_accumulators(op: str, dtype: PtirDType):
    names: dict[str, Axes] = {"batch_lhs": (0,), "batch_rhs": (0,), "contract_lhs": (2,), "contract_rhs": (1,)}
    lhs, rhs = block(dtype, (2, 3, 8)), block(dtype, (2, 8, 2), 1)
    terms = products(lhs, rhs, (0,), (0,), (2,), (1,), dtype)
    for accumulator in accumulators(dtype):
        check(run(op, lhs, rhs, accum_dtype=accumulator, out_dtype=accumulator, **names), terms, accumulator)


MATRICES: dict[str, Axes] = {"batch_lhs": (), "batch_rhs": (), "contract_lhs": (1,), "contract_rhs": (0,)}


def test_an_accumulator_is_honoured():
    ones, row = array([[1.0] * 3000], "f16"), array([[1.0]] * 3000, "f16")
    assert elements(run("dot_general", ones, row, **MATRICES)) == [3000]
    assert elements(run("dot_general", ones, row, accum_dtype=DTYPES["f16"], **MATRICES)) == [2048]
    big = array([[127] * 4], "si8")
    assert elements(run("dot_general", big, big.T, **MATRICES)) == [wrapped(4 * 127 * 127, DTYPES["si8"])]
    wide = {"accum_dtype": DTYPES["si32"]}
    assert elements(run("dot_general", big, big.T, **wide, **MATRICES)) == [127]
    assert elements(run("dot_general", big, big.T, **wide, out_dtype=DTYPES["si32"], **MATRICES)) == [4 * 127 * 127]
    largest = array([[60000.0]], "f16")
    out = {"out_dtype": DTYPES["f32"]}
    assert elements(run("dot_general", largest, largest, **out, **MATRICES)) == [3.6e9], "products are exact"


def test_long_sums_of_integers_are_exact():
    """Beyond what f64 holds exactly, and in every width."""
    for name in ("si16", "ui16", "si32", "ui32", "si64", "ui64"):
        dtype = DTYPES[name]
        for length in (4, 11, 4000):
            x, y = (np.resize(samples(dtype, 60, seed=s), (1, length)) for s in (0, 1))
            expected = [wrapped(sum(a * b for a, b in zip(elements(x), elements(y), strict=True)), dtype)]
            assert elements(run("dot_general", x, y.T, **MATRICES)) == expected


@pytest.mark.parametrize(("dtype", "zero"), [("f32", 0.0), ("si4", 0), ("bf16", 0.0), ("cf64", 0j)])
def test_nothing_to_sum_is_zero(dtype: str, zero: Any):
    lhs, rhs = array(np.zeros((2, 0)).tolist(), dtype), array(np.zeros((3, 0)).tolist(), dtype)
    assert_elements(run("dot_general", lhs, rhs.T, **MATRICES), [zero] * 6)


def test_special_values_meet_as_ieee_says():
    x = array([[math.inf, 1.0], [math.nan, 0.0], [0.0, 1.0]], "f32")
    found = elements(run("dot_general", x, array([[0.0], [2.0]], "f32"), **MATRICES))
    assert math.isnan(found[0])
    assert math.isnan(found[1])
    assert found[2] == 2.0


@st.composite
def contractions(draw: st.DrawFn) -> tuple[Axes, Axes, Axes, Axes, Axes, Axes]:
    """Any arrangement of up to two batch, two contracted and two free axes on each side."""
    extents = st.integers(0, 3)
    batch, contracted = (draw(st.lists(extents, max_size=2)) for _ in range(2))
    sides: list[tuple[Axes, Axes, Axes]] = []
    for _ in range(2):
        free = draw(st.lists(extents, max_size=2))
        labels = (
            [("b", i) for i in range(len(batch))]
            + [("c", i) for i in range(len(contracted))]
            + [("f", i) for i in range(len(free))]
        )
        order = draw(st.permutations(labels))
        sizes = {"b": batch, "c": contracted, "f": free}
        shape = tuple(sizes[kind][i] for kind, i in order)
        sides.append(
            (
                shape,
                tuple(order.index(("b", i)) for i in range(len(batch))),
                tuple(order.index(("c", i)) for i in range(len(contracted))),
            )
        )
    (left, bl, cl), (right, br, cr) = sides
    return left, right, bl, br, cl, cr


@settings(max_examples=60)
@given(contractions())
def test_any_arrangement_of_axes(arrangement: tuple[Axes, ...]):
    left, right, *axes = arrangement
    dtype = DTYPES["si32"]
    lhs, rhs = block(dtype, left), block(dtype, right, 1)
    names = dict(zip(("batch_lhs", "batch_rhs", "contract_lhs", "contract_rhs"), axes, strict=True))
    terms = products(lhs, rhs, *axes, dtype)
    check(run("dot_general", lhs, rhs, **names), terms, dtype)
    floats = run("dot_general", lhs.astype("f4"), rhs.astype("f4"), **names)
    assert_elements(floats, [float(sum(t)) for t in terms])


# Convolution

CONVOLUTIONS: list[tuple[Axes, Axes, dict[str, Any]]] = [
    ((2, 5, 4, 3), (3, 2, 3, 4), {}),
    ((1, 5, 4, 2), (3, 3, 2, 3), {"strides": (2, 1), "padding": ((1, 2), (0, 1))}),
    ((1, 5, 4, 2), (2, 2, 2, 3), {"window_dilation": (2, 3), "padding": ((0, 0), (1, 1))}),
    ((1, 3, 3, 2), (2, 2, 2, 3), {"base_dilation": (2, 3), "padding": ((1, 1), (0, 2))}),
    ((2, 4, 3, 4), (1, 1, 4, 3), {}),
    ((2, 4, 3, 4), (1, 1, 4, 3), {"strides": (2, 3)}),
    ((1, 4, 3, 4), (2, 2, 2, 6), {"feature_group_count": 2}),
    ((1, 4, 3, 3), (2, 2, 1, 6), {"feature_group_count": 3, "strides": (1, 2), "window_dilation": (2, 1)}),
    ((1, 4, 3, 3), (3, 3, 1, 3), {"feature_group_count": 3, "padding": ((1, 1), (1, 1))}),
    ((2, 7, 2), (3, 2, 3), {"strides": (2,)}),
    ((2, 3), (3, 4), {}),
    ((1, 2, 2, 3), (3, 1, 3, 2), {}),
    ((0, 4, 4, 1), (2, 2, 1, 1), {}),
    ((1, 4, 4, 0), (2, 2, 0, 2), {}),
    ((1, 3, 3, 1), (2, 2, 1, 1), {"strides": (1 << 50, 1 << 61)}),
]


def settled(rank: int, given: dict[str, Any]) -> dict[str, Any]:
    ones = (1,) * rank
    zeros = ((0, 0),) * rank
    return {"strides": ones, "padding": zeros, "base_dilation": ones, "window_dilation": ones, "feature_group_count": 1, **given}


def convolved(lhs: np.ndarray, rhs: np.ndarray, p: dict[str, Any], shape: Axes, dtype: PtirDType) -> list[list[Any]]:
    """The products of every place, from the definition."""
    rank, groups, out = lhs.ndim - 2, p["feature_group_count"], rhs.shape[-1]
    per_group = rhs.shape[-2]
    terms: list[list[Any]] = []
    for n, *at, o in itertools.product(*map(range, shape)):
        row: list[Any] = []
        for k in itertools.product(*map(range, rhs.shape[:rank])):
            where = [
                a * s + j * w - low
                for a, j, s, w, (low, _) in zip(at, k, p["strides"], p["window_dilation"], p["padding"], strict=True)
            ]
            inside = all(
                0 <= v and v % d == 0 and v // d < n for v, d, n in zip(where, p["base_dilation"], lhs.shape[1:-1], strict=True)
            )
            if inside:
                place = tuple(v // d for v, d in zip(where, p["base_dilation"], strict=True))
                for c in range(per_group):
                    x, y = lhs[(n, *place, o // (out // groups) * per_group + c)].tolist(), rhs[(*k, c, o)].tolist()
                    row.append(exact(x, dtype) * exact(y, dtype))
        terms.append(row)
    return terms


@pytest.mark.parametrize(("op", "dtype"), [p for p in legal("contraction") if p[0] == "convolution"], ids=ids)
def test_convolution(op: str, dtype: PtirDType):
    for left, right, given_ in CONVOLUTIONS:
        p = settled(len(left) - 2, given_)
        lhs, rhs = block(dtype, left), block(dtype, right, 1)
        accumulator = default_accumulator(dtype)
        found = run(op, lhs, rhs, out_dtype=accumulator, **p)
        check(found, convolved(lhs, rhs, p, found.shape, dtype), accumulator)


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("dtype", ["f16", "bf16", "si8", "si4", "f32"])
def test_convolution_accumulates_as_told(dtype: str, groups: int):
    lhs, rhs = block(DTYPES[dtype], (1, 4, 4, 4)), block(DTYPES[dtype], (2, 2, 4 // groups, 4), 1)
    p = settled(2, {"feature_group_count": groups})
    for accumulator in accumulators(DTYPES[dtype]):
        found = run("convolution", lhs, rhs, accum_dtype=accumulator, out_dtype=accumulator, **p)
        check(found, convolved(lhs, rhs, p, found.shape, DTYPES[dtype]), accumulator)
    assert run("convolution", lhs, rhs, **p).dtype == lhs.dtype
