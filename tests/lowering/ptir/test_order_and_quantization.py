"""Sorting and top-k by Python's stable sort; quantisation by exact fractions."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_dialect.ptir.types import DTYPES, SI32, PtirDType
from ptir_oracle import (
    KERNELS,
    array,
    assert_elements,
    assert_near,
    bounds,
    elements,
    ids,
    legal,
    rounded,
    run,
    samples,
)


def order(values: list[Any], *, descending: bool) -> list[int]:
    """The stable order: NaN greater than all numbers, zeros equal."""

    def key(i: int) -> tuple[bool, Any]:
        nan = values[i] != values[i]
        return nan, 0 if nan else values[i]

    found = sorted(range(len(values)), key=key)
    if not descending:
        return found
    groups = [list(g) for _, g in itertools.groupby(found, key=key)]
    return [i for group in reversed(groups) for i in group]


def rows(dtype: PtirDType) -> np.ndarray:
    values = samples(dtype, 14)[:14]
    return np.stack([values, np.roll(values, 5), np.concatenate([values[:7], values[:7]])])


@pytest.mark.parametrize(("op", "dtype"), [p for p in legal("order") if p[0] == "sort"], ids=ids)
@pytest.mark.parametrize("descending", [False, True])
def test_sort(op: str, dtype: PtirDType, descending: bool):
    x = rows(dtype)
    for axis, y in ((1, x), (-1, x), (0, x.T)):
        found = run(op, y, axis=axis, descending=descending)
        expected = [row[i] for row in x.tolist() for i in order(row, descending=descending)]
        assert_elements(found.T if axis == 0 else found, expected)
    assert run(op, x[:, :0], axis=1, descending=descending).shape == (3, 0)


@pytest.mark.parametrize(("op", "dtype"), [p for p in legal("order") if p[0] == "top_k"], ids=ids)
@pytest.mark.parametrize("largest", [False, True])
def test_top_k(op: str, dtype: PtirDType, largest: bool):
    x = rows(dtype)
    for k, axis, index in itertools.product((0, 1, 5, 14), (1, 0), ("si32", "si64")):
        operand = x if axis else x.T
        values, indices = run(op, operand, k=k, axis=axis - 2, largest=largest, indices_dtype=DTYPES[index])
        expected = [(row, order(row, descending=largest)[:k]) for row in x.tolist()]
        assert_elements(indices if axis else indices.T, [i for _, best in expected for i in best])
        assert_elements(values if axis else values.T, [row[i] for row, best in expected for i in best])


@pytest.mark.parametrize("dtype", [DTYPES[n] for n in ("f32", "f64", "si32", "ui32", "si64", "ui64", "si16", "bf16")], ids=str)
@pytest.mark.parametrize("descending", [False, True])
def test_equal_elements_of_long_lines_keep_their_order(dtype: PtirDType, descending: bool):
    """NumPy's vector sorts, which are not stable, begin at lengths that other tests do not have."""
    x = np.random.default_rng(5).permutation(np.tile(samples(dtype, 14)[:14], 100))
    expected = order(x.tolist(), descending=descending)
    values, indices = run("top_k", x, k=x.size, axis=0, largest=descending, indices_dtype=SI32)
    assert elements(indices) == expected
    assert_elements(values, [x.tolist()[i] for i in expected])
    found = run("sort", x, axis=0, descending=descending)
    assert_elements(found, [x.tolist()[i] for i in expected])
    assert np.signbit(found.astype("f8")).tolist() == np.signbit(x[expected].astype("f8")).tolist()


def test_top_k_finds_every_element_once():
    """Equal numbers, infinities and NaN: the cases that others get wrong."""
    x = array([-math.inf, 5.0, -math.inf, math.nan, 5.0], "f32")
    values, indices = run("top_k", x, k=5, axis=0, largest=True, indices_dtype=SI32)
    assert elements(indices) == [3, 1, 4, 0, 2]
    assert_elements(values, [math.nan, 5.0, 5.0, -math.inf, -math.inf])


@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "bf16", "fp8_e4m3"])
def test_every_nan_is_the_greatest_whatever_its_sign(dtype: str):
    x = array([1.0, math.nan, 2.0], dtype)
    signed = np.where(np.arange(3) == 1, -x, x)
    assert_elements(run("sort", signed, axis=0, descending=False), [1.0, 2.0, math.nan])
    assert_elements(run("sort", signed, axis=0, descending=True), [math.nan, 2.0, 1.0])
    _, indices = run("top_k", np.concatenate([x, signed]), k=3, axis=0, largest=True, indices_dtype=SI32)
    assert elements(indices) == [1, 4, 2]


def test_more_than_there_are_is_refused():
    with pytest.raises(MindError, match="k 3 along an axis of extent 2"):
        KERNELS.top_k(array([1.0, 2.0], "f32"), k=3, axis=0, largest=True, indices_dtype=np.dtype("i4"))


# Quantisation

FLOATS = ("bf16", "f16", "f32", "f64")


def quantized(x: float, scale: float | None, zero: int, working: str, target: PtirDType) -> int:
    if x != x:
        return 0
    least, most = bounds(target)
    if math.isinf(x):
        return most if x > 0 else least
    ratio = rounded(Fraction(x) / Fraction(1 if scale is None else scale), working)
    if math.isinf(ratio):
        return most if ratio > 0 else least
    return min(max(round(Fraction(ratio)) + zero, least), most)


def zero_points(dtype: PtirDType, count: int) -> list[int]:
    least, most = bounds(dtype)
    return [min(max(v, least), most) for v in (0, 3, -5, least, most)][:count]


@pytest.mark.parametrize(("op", "dtype"), [p for p in legal("quantization") if p[0] == "quantize"], ids=ids)
@pytest.mark.parametrize("target", ["si4", "ui4", "si8", "ui8", "si16", "ui16", "si32", "ui32"])
def test_quantize(op: str, dtype: PtirDType, target: str):
    x, out, working = samples(dtype, 40), DTYPES[target], "f64" if dtype.bits == 64 else "f32"
    properties = {"output_dtype": out}
    found = run(op, x, **properties)
    assert_elements(found, [quantized(v, None, 0, working, out) for v in elements(x)], x)
    for zero in zero_points(out, 5):
        scale = array(0.125 if zero else 0.1, dtype)
        found = run(op, x, scale, array(zero, out), **properties)
        assert_elements(found, [quantized(v, float(scale), zero, working, out) for v in elements(x)], x)
    table = np.resize(x, (4, 3))
    scales, zeros = array([0.5, 3.0, 0.0625], dtype), array(zero_points(out, 3), out)
    for axis in (1, -1):
        found = run(op, table, scales, zeros, axis=axis, **properties)
        expected = [
            quantized(v, elements(scales)[i % 3], elements(zeros)[i % 3], working, out) for i, v in enumerate(elements(table))
        ]
        assert_elements(found, expected)


@pytest.mark.parametrize(("op", "dtype"), [p for p in legal("quantization") if p[0] == "dequantize"], ids=ids)
@pytest.mark.parametrize("target", FLOATS)
def test_dequantize(op: str, dtype: PtirDType, target: str):
    x = samples(dtype, 30)
    assert_near(run(op, x), [Fraction(v) for v in elements(x)], ulps=0.5)
    assert_near(run(op, x, output_dtype=DTYPES[target]), [Fraction(v) for v in elements(x)], ulps=0.5)
    for zero in zero_points(dtype, 5):
        scale = array(0.1, target)
        expected = [(v - zero) * Fraction(float(scale)) for v in elements(x)]
        for properties in ({}, {"output_dtype": DTYPES[target]}):
            found = run(op, x, scale, array(zero, dtype), **properties)
            assert_near(found, expected, ulps=0.5001)
    scales, zeros = array([0.5, 3.0], target), array(zero_points(dtype, 2), dtype)
    table = np.resize(x, (2, 5))
    expected = [(v - elements(zeros)[i // 5]) * Fraction(elements(scales)[i // 5]) for i, v in enumerate(elements(table))]
    assert_near(run(op, table, scales, zeros, axis=0), expected, ulps=0.5001)


@pytest.mark.parametrize(("op", "dtype"), [p for p in legal("quantization") if p[0] == "requantize"], ids=ids)
@pytest.mark.parametrize("target", ["si4", "ui8", "si16", "si32"])
def test_requantize(op: str, dtype: PtirDType, target: str):
    x, out = samples(dtype, 30), DTYPES[target]
    assert_elements(run(op, x, output_dtype=out), [min(max(v, bounds(out)[0]), bounds(out)[1]) for v in elements(x)])
    for zero, output_zero in itertools.product(zero_points(dtype, 2), zero_points(out, 2)):
        scale, output_scale = array(0.1, "f32"), array(0.3, "f32")
        found = run(op, x, scale, array(zero, dtype), output_scale, array(output_zero, out), output_dtype=out)
        real = [rounded((v - zero) * Fraction(float(scale)), "f32") for v in elements(x)]
        assert_elements(found, [quantized(v, float(output_scale), output_zero, "f32", out) for v in real])


def test_ties_go_to_even():
    x = array([0.5, 1.5, 2.5, -0.5, -1.5], "f32")
    assert elements(run("quantize", x, output_dtype=DTYPES["si8"])) == [0, 2, 2, 0, -2]
