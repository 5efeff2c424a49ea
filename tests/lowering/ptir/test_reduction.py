"""Reductions on every legal dtype, accumulator and result dtype, against exact sums and plain loops."""

import functools
import itertools
import math
import operator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_dialect.ptir.legal import accumulators, default_accumulator
from mind_dialect.ptir.types import DTYPES, SI64, PtirDType
from mind_lowering.ptir_kernels.table import kernel_call
from mind_lowering.xp.functions import FUNCTIONS, Storage
from ptir_oracle import (
    FLOAT_FORMATS,
    KERNELS,
    array,
    assert_elements,
    assert_near,
    bounded,
    bounds,
    cast,
    dtype_of,
    elements,
    extreme,
    ids,
    is_integer,
    legal,
    op_of,
    rounded,
    run,
    samples,
    stored,
    wrapped,
)

AXES = [(), (0,), (1,), (-1,), (0, 2), (2, 0), (0, 1, 2)]


def groups(x: np.ndarray, axes: tuple[int, ...]) -> list[list[Any]]:
    """The elements that each place of the result is made of, in row-major order."""
    axes = tuple(a % x.ndim for a in axes)
    kept = [range(n) for a, n in enumerate(x.shape) if a not in axes]
    found: list[list[Any]] = []
    for place in itertools.product(*kept):
        rest = iter(place)
        found.append(elements(x[tuple([slice(None) if a in axes else next(rest) for a in range(x.ndim)])]))
    return found


def finite(dtype: PtirDType, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    count = math.prod(shape)
    values = samples(dtype, count, special=False, seed=seed)
    return np.resize(values, count).reshape(shape)


@pytest.mark.parametrize(("op", "dtype"), legal("reduction"), ids=ids)
def test_every_legal_dtype(op: str, dtype: PtirDType):
    if op.startswith("reduce "):
        for axes, keepdims in itertools.product(AXES, (False, True)):
            check_reduce(op.split()[1], finite(dtype, (3, 4, 5)), axes, keepdims)
    elif op in ("arg_max", "arg_min"):
        check_arg_extreme(op, dtype)
    elif op == "cumulative_sum":
        check_cumulative_sum(dtype)
    elif op.startswith("cumulative "):
        check_cumulative(op.split()[1], dtype)
    else:
        check_layer_norm(dtype)


def check_reduce(kind: str, x: np.ndarray, axes: tuple[int, ...], keepdims: bool) -> None:
    found = run(f"reduce {kind}", x, axes=axes, keepdims=keepdims)
    parts = groups(x, axes)
    dtype = dtype_of(x)
    if kind == "prod":
        products_near(found, parts, dtype)
    elif kind != "sum":
        assert_elements(found, [chosen(kind, p, dtype) for p in parts])
    elif is_integer(dtype):
        assert_elements(found, [wrapped(sum(p), dtype) for p in parts])
    else:
        bounded(found, parts, dtype, default_accumulator(dtype).name)


BITS = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}


def chosen(kind: str, values: list[Any], dtype: PtirDType) -> Any:
    """The greatest or least of some numbers, or their bits joined."""
    if kind not in BITS:
        return extreme(kind, values, dtype)
    ones = -1 if dtype.kind == "signed" else bounds(dtype)[1]
    found = functools.reduce(BITS[kind], map(int, values), ones if kind == "and" else 0)
    return bool(found) if dtype.bits == 1 else found


def products_near(found: np.ndarray, parts: list[list[Any]], dtype: PtirDType) -> None:
    """Products of integers wrap; of others each step rounds once in the accumulator."""
    if is_integer(dtype):
        assert_elements(found, [wrapped(math.prod(p), dtype) for p in parts])
        return
    wide = np.clongdouble if dtype.kind == "complex" else np.longdouble
    exact = [functools.reduce(operator.mul, [wide(v) for v in p], wide(1)) for p in parts]
    if dtype.kind == "complex":
        assert_near(found, [complex(v) for v in exact], ulps=4 * max(map(len, parts), default=1))
        return
    ulps = 1 if default_accumulator(dtype) is not dtype else max(map(len, parts), default=1)
    assert_near(found, [Fraction(*v.as_integer_ratio()) for v in exact], ulps=ulps)


SUMMED = sorted({d.name for k, d in legal("reduction") if k == "reduce sum" and d.kind != "complex"})


@pytest.mark.parametrize("dtype", SUMMED)
def test_accumulators(dtype: str):
    """Every legal accumulator, to a result of its own dtype."""
    x = finite(DTYPES[dtype], (4, 6))
    for accumulator in accumulators(DTYPES[dtype]):
        found = run("reduce sum", x, axes=(1,), keepdims=False, accum_dtype=accumulator, out_dtype=accumulator)
        parts = groups(x, (1,))
        if is_integer(accumulator):
            assert_elements(found, [wrapped(sum(p), accumulator) for p in parts])
        else:
            bounded(found, parts, accumulator, accumulator.name)


def test_an_accumulator_is_honoured():
    many = array([1.0] * 3000, "f16")
    assert run("reduce sum", many, axes=(0,), keepdims=False) == 3000
    narrow = {"accum_dtype": DTYPES["f16"]}
    assert run("reduce sum", many, axes=(0,), keepdims=False, **narrow) == 2048, "1 is lost beside 2048 in f16"
    assert run("reduce sum", array([1.0] * 300, "bf16"), axes=(0,), keepdims=False, accum_dtype=DTYPES["bf16"]) == 256
    assert run("reduce sum", array([100] * 3, "si8"), axes=(0,), keepdims=False) == 44
    wide = {"accum_dtype": DTYPES["si32"]}
    assert run("reduce sum", array([100] * 3, "si8"), axes=(0,), keepdims=False, **wide) == 127, "saturates only at the end"
    assert run("reduce sum", array([100] * 3, "si8"), axes=(0,), keepdims=False, out_dtype=DTYPES["si32"]) == 44
    assert run("reduce sum", array([100] * 3, "si8"), axes=(0,), keepdims=False, out_dtype=DTYPES["si32"], **wide) == 300
    assert run("reduce sum", array([7, 7], "si4"), axes=(0,), keepdims=False) == -2
    big = array([2.0**24, 1.0, 1.0], "f32")
    assert run("reduce sum", big, axes=(0,), keepdims=False, accum_dtype=DTYPES["f64"]) == 2**24 + 2
    assert run("reduce sum", array([60000.0, 60000.0, -60000.0], "f16"), axes=(0,), keepdims=False) == 60000
    assert np.isnan(
        run("reduce sum", array([60000.0, 60000.0, -math.inf], "f16"), axes=(0,), keepdims=False, accum_dtype=DTYPES["f16"])
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize(("op", "dtype"), [p for p in legal("reduction") if p[0].startswith("reduce ")], ids=ids)
@pytest.mark.parametrize("out", ["si8", "f16", "f64", "i1", "cf32"])
def test_results_are_cast(op: str, dtype: PtirDType, out: str):
    if dtype.kind == "complex" and out != "cf32":
        return
    x = finite(dtype, (3, 2))
    kept = run(op, x, axes=(0,), keepdims=True, out_dtype=default_accumulator(dtype))
    found = run(op, x, axes=(0,), keepdims=True, out_dtype=DTYPES[out])
    assert_elements(found, [cast(v, DTYPES[out]) for v in elements(kept)])


@pytest.mark.parametrize(("op", "dtype"), [p for p in legal("reduction") if p[0].startswith("reduce ")], ids=ids)
def test_empty_reductions(op: str, dtype: PtirDType):
    kind = op.split()[1]
    x = array([], dtype).reshape(2, 0, 3)
    expected = stored(int(kind == "prod"), dtype) if kind in ("sum", "prod") else chosen(kind, [], dtype)
    for axes, n in (((1,), 6), ((0, 1), 3), ((0, 1, 2), 1)):
        for keepdims in (False, True):
            assert_elements(run(op, x, axes=axes, keepdims=keepdims), [expected] * n)
    assert run(op, x, axes=(0,), keepdims=False).shape == (0, 3)
    assert run(op, x, axes=(), keepdims=False).shape == (2, 0, 3)


@pytest.mark.parametrize(("op", "dtype"), [p for p in legal("reduction") if p[0].startswith("reduce ")], ids=ids)
def test_reductions_of_rank_0_and_extent_1(op: str, dtype: PtirDType):
    x = finite(dtype, (1, 1))
    assert_elements(run(op, x, axes=(0, 1), keepdims=False), elements(x))
    for scalar in (np.asarray(x[0, 0]), x[0, 0]):
        assert_elements(run(op, scalar, axes=(), keepdims=True), elements(x))


@pytest.mark.parametrize(("op", "dtype"), [p for p in legal("reduction") if p[0].startswith("reduce ")], ids=ids)
def test_a_reduction_over_no_axes_is_the_operand(op: str, dtype: PtirDType):
    """Bit for bit, -0 and NaN included; then it is cast."""
    x = samples(dtype, 12)[:12].reshape(3, 4)
    for keepdims in (False, True):
        same = run(op, x, axes=(), keepdims=keepdims)
        assert_elements(same, elements(x))
        wide = run(op, x, axes=(), keepdims=keepdims, out_dtype=default_accumulator(dtype))
        assert_elements(wide, [cast(v, default_accumulator(dtype)) for v in elements(x)])
    if dtype.is_float:
        signs = np.signbit(np.asarray(run(op, array([-0.0, 0.0], dtype), axes=(), keepdims=True), "f8"))
        assert signs.tolist() == [True, False]
    if dtype.kind == "complex":
        zero = np.array([complex(-0.0, -0.0)], x.dtype)
        assert run(op, zero, axes=(), keepdims=True).tobytes() == zero.tobytes()


@pytest.mark.parametrize("kernel", ["table", "kernel"])
def test_a_reduction_over_no_axes_does_not_share_memory_unless_the_table_says_so(kernel: str):
    x = array([1.0, -0.0], "f32")
    if kernel == "table":
        assert FUNCTIONS[kernel_call(op_of("reduce sum", x, axes=(), keepdims=True)).callee] is Storage.WHOLE
    else:
        assert not np.shares_memory(KERNELS.reduce(x, kind="max", axes=(), keepdims=True), x)


@pytest.mark.parametrize("dtype", [d.name for k, d in legal("reduction") if k == "reduce max" and d.is_float])
@pytest.mark.parametrize("kind", ["max", "min"])
def test_nan_wins(dtype: str, kind: str):
    x = array([[1.0, math.nan, 2.0], [3.0, 1.0, 2.0]], dtype)
    expected = [math.nan, 3.0 if kind == "max" else 1.0]
    assert_elements(run(f"reduce {kind}", x, axes=(1,), keepdims=False), expected)
    assert_elements(run(f"reduce {kind}", x[:, ::-1], axes=(1,), keepdims=False), expected)


def check_arg_extreme(op: str, dtype: PtirDType) -> None:
    x = np.stack([samples(dtype, 12)[:12], np.roll(samples(dtype, 12)[:12], 5), finite(dtype, (12,))])
    for axis, keepdims, output in itertools.product((0, 1, -1), (False, True), ("si32", "si64")):
        found = run(op, x, axis=axis, keepdims=keepdims, output_dtype=DTYPES[output])
        assert_elements(found, [first_of(op, p) for p in groups(x, (axis,))])
    assert run(op, x[:0], axis=1, keepdims=False, output_dtype=SI64).shape == (0,)


def first_of(op: str, values: list[Any]) -> int:
    nans = [i for i, v in enumerate(values) if v != v]
    return nans[0] if nans else values.index(max(values) if op == "arg_max" else min(values))


@pytest.mark.parametrize("dtype", [d.name for k, d in legal("reduction") if k == "arg_max" and d.is_float])
@pytest.mark.parametrize("op", ["arg_max", "arg_min"])
def test_arg_max_takes_the_first_of_equals_in_every_order(op: str, dtype: str):
    """NaN before, between and after greater and smaller numbers; zeros of both signs; along both axes and both ways."""
    most = math.nan if dtype == "fp8_e4m3" else math.inf
    for values in ([math.nan, math.nan, most, 1.0], [2.0, 2.0, -1.0, 0.0], [-0.0, 0.0, -0.0, -1.0]):
        orders = list(itertools.permutations(values))
        expected = [first_of(op, list(order)) for order in orders]
        x = array(orders, dtype)
        for given, axis in ((x, 1), (np.asfortranarray(x), 1), (x.T, 0), (x[:, ::-1].copy()[:, ::-1], 1)):
            assert_elements(run(op, given, axis=axis, keepdims=False, output_dtype=SI64), expected)


@pytest.mark.parametrize("op", ["arg_max", "arg_min"])
def test_arg_max_of_nothing_is_refused(op: str):
    with pytest.raises(MindError, match="extent 0"):
        run(op, array([], "f32").reshape(0, 3), axis=0, keepdims=False, output_dtype=SI64)


def check_cumulative(kind: str, dtype: PtirDType) -> None:
    """Every prefix by itself; special values among extremes."""
    x = finite(dtype, (3, 4, 5)) if kind == "prod" else np.resize(samples(dtype, 12), 60).reshape(3, 4, 5)
    for axis, exclusive, reverse in itertools.product((0, 1, -1), (False, True), (False, True)):
        found = run(f"cumulative {kind}", x, axis=axis, exclusive=exclusive, reverse=reverse)
        n = x.shape[axis]
        for place in range(n):
            within = slice(place + exclusive, n) if reverse else slice(0, place + 1 - exclusive)
            before = np.take(x, range(*within.indices(n)), axis=axis)
            parts = groups(before, (axis,))
            part = np.take(found, place, axis=axis)
            if kind == "prod":
                products_near(part, parts, dtype)
            else:
                assert_elements(
                    np.where(part == 0, abs(part), part),
                    [abs(v) if v == 0 else v for v in [chosen(kind, p, dtype) for p in parts]],
                )
    assert run(f"cumulative {kind}", x[:, :0], axis=1, exclusive=True, reverse=False).shape == (3, 0, 5)


def test_the_least_integer_is_the_least():
    """Where the negative of an operand would be asked for its greatest, the least integer would not be found."""
    assert run("arg_min", array([0, -128, 127], "si8"), axis=0, keepdims=False, output_dtype=SI64) == 1


def test_a_product_in_a_narrow_accumulator_rounds_each_step():
    x = array([1.0009765625] * 200, "f16")
    narrow = run("reduce prod", x, axes=(0,), keepdims=False, accum_dtype=DTYPES["f16"])
    total = 1.0
    for v in elements(x):
        total = rounded(total * v, "f16")
    assert float(narrow) == total
    assert float(run("reduce prod", x, axes=(0,), keepdims=False)) != total


def check_cumulative_sum(dtype: PtirDType) -> None:
    x = finite(dtype, (3, 5))
    for axis, exclusive, reverse in itertools.product((0, 1, -1), (False, True), (False, True)):
        found = run("cumulative_sum", x, axis=axis, exclusive=exclusive, reverse=reverse)
        moved, terms = np.moveaxis(x, axis, -1), list[list[Any]]()
        for row in moved.reshape(-1, moved.shape[-1]):
            for i in range(len(row)):
                part = row[i + exclusive :] if reverse else row[: i + 1 - exclusive]
                terms.append(elements(part))
        found = np.moveaxis(found, axis, -1)
        if is_integer(dtype):
            assert_elements(found, [wrapped(sum(t), dtype) for t in terms])
        else:
            bounded(found, terms, dtype, default_accumulator(dtype).name)
    assert run("cumulative_sum", x[:, :0], axis=1, exclusive=True, reverse=False).shape == (3, 0)


def check_layer_norm(dtype: PtirDType) -> None:
    x, gamma, beta = finite(dtype, (4, 6)), finite(dtype, (6,), 1), finite(dtype, (6,), 2)
    found = run("layer_norm", x, gamma, beta, epsilon=1e-5, feature_axis=-1)
    expected = normalised(elements(x), elements(gamma), elements(beta), 1e-5)
    for a, b in zip(elements(found), expected, strict=True):
        assert abs(a - b) <= 16 * 2.0 ** -min(24, FLOAT_FORMATS[dtype.name][0]) * max(1.0, abs(b)) or dtype.bits == 64
        assert dtype.bits != 64 or abs(a - b) <= 1e-14 * max(1.0, abs(b))
    turned = run("layer_norm", np.ascontiguousarray(x.T), gamma, beta, epsilon=1e-5, feature_axis=0)
    assert_near(turned.T, [Fraction(v) for v in elements(found)], ulps=16)
    assert run("layer_norm", x[:0], gamma, beta, epsilon=0.0, feature_axis=1).shape == (0, 6)


def normalised(x: list[float], gamma: list[float], beta: list[float], epsilon: float) -> list[float]:
    n = len(gamma)
    found: list[float] = []
    for start in range(0, len(x), n):
        row = [Fraction(v) for v in x[start : start + n]]
        mean = sum(row) / n
        variance = sum((v - mean) ** 2 for v in row) / n
        scale = math.sqrt(float(variance) + epsilon)
        found += [float(v - mean) / scale * g + b for v, g, b in zip(row, gamma, beta, strict=True)]
    return found


def test_layer_norm_uses_the_biased_variance():
    x = array([[1.0, 3.0]], "f64")
    found = run("layer_norm", x, array([1.0, 1.0], "f64"), array([0.0, 0.0], "f64"), epsilon=0.0, feature_axis=1)
    assert_elements(found, [-1.0, 1.0])


def test_sums_round_to_the_result_once():
    x = array([1.0, 2.0**-8, 2.0**-20], "f32")
    found = run("reduce sum", x, axes=(0,), keepdims=False, out_dtype=DTYPES["bf16"])
    assert elements(found) == [rounded(1 + 2.0**-8 + 2.0**-20, "bf16")]
