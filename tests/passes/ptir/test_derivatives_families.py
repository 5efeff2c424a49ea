"""
Derivatives of reductions, windows and indexing where differences say little.

Ties, dtypes of results and accumulators, NaN and padding, sizes of what rules build, refusals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_dialect.ptir import (
    ConvolutionOp,
    DotGeneralOp,
    LayerNormOp,
    PtirOp,
    ReduceOp,
    ReduceWindowOp,
    ScatterReduceOp,
    SegmentReduceOp,
    SortOp,
    TopKOp,
)
from mind_passes.autodiff import GradientOptions, differentiate
from mind_passes.forward import forward_mode
from ptir_derivative_rows.base import R, Row
from ptir_derivative_rows.checks import Derivatives, program
from ptir_derivative_rows.reduction import DOTS
from ptir_derivative_rows.windows import POOLS
from window_oracle import shared_equally


def gradients(row: Row, *cotangents: Any, dtype: str = "f64") -> list[np.ndarray]:
    d = Derivatives(row, dtype)
    return list(d.gradient[0](*d.arguments, *(np.asarray(g, d.results[0].dtype) for g in cotangents)))


def pushed(row: Row, *tangents: Any) -> np.ndarray:
    d = Derivatives(row)
    return d.pushed([np.asarray(t, float) for t in tangents])[0]


def reduced(kind: str, x: Sequence[float], **properties: Any) -> Row:
    return R(ReduceOp, f"f64[{len(x)}]", kind=kind, axes=(0,), keepdims=True, data={0: x}, **properties)


def segments(x: Sequence[float], ids: Sequence[int], count: int) -> Row:
    arguments = f"f64[{len(x)}] si32[{len(x)}]"
    promises = {"indices_are_sorted": False, "unique": False}
    return R(SegmentReduceOp, arguments, kind="max", num_segments=count, data={0: x, 1: ids}, **promises)


def scattered(kind: str, x: Sequence[float], places: Sequence[int], updates: Sequence[float]) -> Row:
    arguments = f"f64[{len(x)}] si32[{len(updates)}] f64[{len(updates)}]"
    return R(ScatterReduceOp, arguments, kind=kind, axis=0, data={0: x, 1: places, 2: updates})


TIES: list[tuple[Row, list[float], list[list[float]]]] = [
    (reduced("max", [1, 3, 3, 0]), [2], [[0, 1, 1, 0]]),
    (reduced("min", [0, 3, 0, -0.0, 1]), [3], [[1, 0, 1, 1, 0]]),
    (reduced("max", [-np.inf, -np.inf]), [1], [[0.5, 0.5]]),
    (segments([1, 1, 0, 5], [0, 0, 2, 2], 3), [4, 7, 3], [[2, 2, 0, 3]]),
    (scattered("max", [1, 5], [0, 0, 1], [1, 1, 2]), [3, 4], [[1, 4], [1, 1, 0]]),
    (scattered("min", [1, 5, 0], [0, 0, 1], [1, 2, 5]), [3, 4, 6], [[1.5, 2, 6], [1.5, 0, 2]]),
    (scattered("max", [0, 0], [1, 1, 1], [3, 2, 3]), [1, 4], [[1, 0], [2, 0, 2]]),
    (scattered("replace", [1, 2], [0, 0, 0], [5, 5, 5]), [3, 4], [[0, 4], [0, 0, 3]]),
    (scattered("add", [1, 2], [0, 0, 1], [5, 5, 5]), [3, 4], [[3, 4], [3, 3, 4]]),
    (R(TopKOp, "f64[3]", k=1, axis=0, largest=True, indices_dtype="si32", data={0: [1, 2, 2]}), [1], [[0, 1, 0]]),
    (R(SortOp, "f64[3]", axis=0, descending=True, data={0: [1, 2, 1]}), [1, 2, 3], [[2, 1, 3]]),
]


@pytest.mark.parametrize(("row", "g", "expected"), TIES, ids=[f"{row} {row.data}" for row, *_ in TIES])
def test_ties(row: Row, g: list[float], expected: list[list[float]]):
    found = gradients(row, g)
    assert [x.tolist() for x in found] == expected
    directions = [np.arange(1.0, len(x) + 1) for x in expected]
    product = sum(float(np.dot(x, t)) for x, t in zip(expected, directions, strict=True))
    np.testing.assert_allclose(np.dot(pushed(row, *directions), g), product, rtol=1e-15)


@pytest.mark.parametrize("row", [r for r in POOLS if r.properties["kind"] != "sum" and not r.extents], ids=str)
@pytest.mark.parametrize("values", [(0.0, 1.0), (-np.inf, np.inf)], ids=["ties", "infinities"])
def test_ties_in_windows(row: Row, values: tuple[float, float]):
    rng = row.rng(1)
    x = rng.choice([*values, values[0]], row.shape(0))
    module = row.module()
    y = np.asarray(program(module, "f")(x)[0])
    g = rng.integers(1, 9, y.shape).astype(float)
    gradient = differentiate(module, "f", GradientOptions(seed="cotangent", keep_primal=False))
    found = program(gradient.module, "f_grad")(x, g)[0]
    expected = shared_equally(x, row.properties, g)
    np.testing.assert_allclose(found, expected, atol=1e-14)
    t = rng.integers(1, 9, x.shape).astype(float)
    tangent = program(forward_mode(module, "f").module, "f_jvp")(x, t)[1]
    np.testing.assert_allclose(np.sum(tangent * g), np.sum(t * expected), rtol=1e-13, atol=1e-13)


def test_nan_is_not_hidden():
    (x_adj,) = gradients(reduced("max", [1, np.nan]), [1.0])
    assert np.isnan(x_adj).all()


def test_counts_of_ties_are_exact_in_narrow_floats():
    n = 70_000  # more than the greatest f16
    (x_adj,) = gradients(reduced("max", [1.0] * n), [7.0], dtype="f16")
    assert x_adj.dtype == np.float16
    np.testing.assert_allclose(x_adj.astype(float), 7 / n, rtol=1e-3)


ONES = {"strides": (1,), "padding": ((1, 0),), "base_dilation": (1,), "window_dilation": (1,), "feature_group_count": 1}
DOT = {"batch_lhs": (), "batch_rhs": (), "contract_lhs": (1,), "contract_rhs": (0,)}
MIXED: list[tuple[type[PtirOp], str, dict[str, Any]]] = [
    (ReduceOp, "f32[2,3]", {"kind": "sum", "axes": (1,), "keepdims": False}),
    (ReduceOp, "f32[2,3]", {"kind": "max", "axes": (1,), "keepdims": True}),
    (DotGeneralOp, "f32[2,3] f32[3,2]", DOT),
    (ConvolutionOp, "f32[1,4,2] f32[2,2,3]", ONES),
    (ConvolutionOp, "f32[1,5,2] f32[2,2,3]", {**ONES, "strides": (2,)}),
    (ConvolutionOp, "f32[1,4,2] f32[2,1,2]", {**ONES, "feature_group_count": 2}),
    (ConvolutionOp, "f32[1,4,4] f32[2,2,2]", {**ONES, "feature_group_count": 2}),
]


@pytest.mark.parametrize(("dtype", "accum", "out"), [("f32", None, "f64"), ("f32", "f64", "f16"), ("f64", None, "f32")])
@pytest.mark.parametrize(("op", "arguments", "properties"), MIXED)
def test_dtypes_of_results_and_accumulators(
    op: type[PtirOp], arguments: str, properties: dict[str, Any], dtype: str, accum: str | None, out: str
):
    """On small whole numbers, which all dtypes hold, the derivatives are those of the op in f64."""
    rng = np.random.default_rng(5)
    plain = R(op, arguments.replace("f32", "f64"), **properties)
    data = {i: rng.permutation(np.arange(plain.shape(i)[0] * 100))[: int(np.prod(plain.shape(i)))] % 7 for i in plain.floats}
    plain = R(op, arguments.replace("f32", "f64"), data=data, **properties)
    mixed = R(op, arguments.replace("f32", dtype), data=data, accum_dtype=accum, out_dtype=out, **properties)
    exact, d = Derivatives(plain), Derivatives(mixed, dtype)
    g = rng.integers(-3, 4, exact.results[0].shape)
    ts = [rng.integers(-3, 4, x.shape) for x in exact.arguments]
    expected = exact.gradient[0](*exact.arguments, g.astype(float))
    found = d.gradient[0](*d.arguments, g.astype(d.results[0].dtype))
    for a, b, x in zip(found, expected, d.arguments, strict=True):
        assert a.dtype == x.dtype
        np.testing.assert_allclose(a, b, rtol=1e-3)
    (tangent,) = d.pushed([t.astype(x.dtype) for t, x in zip(ts, d.arguments, strict=True)])
    assert tangent.dtype == d.results[0].dtype
    np.testing.assert_allclose(tangent, exact.pushed([t.astype(float) for t in ts])[0], rtol=1e-3)


def test_an_extreme_rounded_by_out_dtype_is_still_found():
    x = [1.0, 1.0 + 2**-30]
    (x_adj,) = gradients(reduced("max", x, out_dtype="f32"), [1.0])
    assert x_adj.tolist() == [0, 1]


def test_layer_norm_in_f16_is_computed_in_f32():
    row = R(LayerNormOp, "f64[4,300] f64[300] f64[300]", feature_axis=1, epsilon=1e-5)
    wide, narrow = Derivatives(row), Derivatives(row, "f16")
    for a, b in zip(narrow.pulled()[0], wide.pulled()[0], strict=True):
        assert a.dtype == np.float16
        np.testing.assert_allclose(a.astype(float), b, rtol=4e-3, atol=4e-3 * np.abs(b).max())


def ops_of(row: Row) -> Counter[str]:
    gradient = differentiate(row.module(), "f", GradientOptions(seed="cotangent", keep_primal=False))
    free = {"ptir.constant", "ptir.reshape", "ptir.broadcast_to", "func.return"}
    return Counter(op.name for op in gradient.function.body.block.ops if op.name not in free)


@pytest.mark.parametrize("row", [r for r in DOTS if r.build is None and "f64[0" not in r.arguments], ids=str)
def test_a_product_has_one_product_and_one_transpose_per_operand(row: Row):
    found = ops_of(row)
    assert found["ptir.dot_general"] == 2
    assert found["ptir.transpose"] <= 2
    assert found.total() == found["ptir.dot_general"] + found["ptir.transpose"]


@pytest.mark.parametrize("axes", [((1,), (0,)), ((1,), (1,)), ((0,), (0,)), ((0,), (1,))])
def test_a_product_of_matrices_needs_no_transpose(axes: Any):
    shapes = ["2,3" if axes[0] == (1,) else "3,2", "3,4" if axes[1] == (0,) else "4,3"]
    found = ops_of(
        R(DotGeneralOp, f"f64[{shapes[0]}] f64[{shapes[1]}]", **{**DOT, "contract_lhs": axes[0], "contract_rhs": axes[1]})
    )
    assert found == {"ptir.dot_general": 2}


def test_sizes_of_gradients():
    sizes = {str(row): ops_of(row).total() for row in POOLS}
    assert max(sizes.values()) <= 48  # of a large window, along three axes one after the other
    tiled = [row for row in POOLS if row.arguments == "f64[2,4,6,2]"]
    assert [ops_of(row).total() for row in tiled] == [0, 6, 6]
    assert ops_of(R(LayerNormOp, "f64[4,6] f64[6] f64[6]", feature_axis=1, epsilon=1e-5)).total() <= 23


def test_a_window_of_any_size_has_a_derivative_of_the_same_size():
    def size(window: int) -> int:
        given = {"strides": (1,), "padding": ((0, 0),), "base_dilation": (1,), "window_dilation": (1,)}
        return ops_of(R(ReduceWindowOp, "f64[900]", kind="max", window_dims=(window,), **given)).total()

    assert size(20) == size(800)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (R(SortOp, "f64[?]", axis=0, descending=False), "has a dimension without a name, expected a size or a name"),
    ],
    ids=["sort"],
)
def test_what_needs_sizes_says_so(row: Row, message: str):
    with pytest.raises(MindError) as e:
        differentiate(row.module(), "f", GradientOptions(seed="cotangent"))
    assert e.value.code == "E5006"
    assert message in e.value.message
