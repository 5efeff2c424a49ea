"""Ragged products: NumPy group by group, on every target and by the masked products that they mean."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mind_runtime
from mind_dialect.ptir import FusionOp, RaggedDotOp
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_passes.ptir.ragged import expansion
from ptir_forms import program

SIZES = [[2, 0, 3], [0, 0, 0], [5, 0, 1], [1, 1, 1], [-3, 2, 1], [9, 9, 9], [0, 2**40, 4]]
"""All rows, none, exactly as many, too few, a negative size, too many, far too many."""
ROWS, GROUPS, DEPTH, WIDTH = 6, 3, 4, 5


def expected(kind: str, a: Any, b: Any, sizes: list[int]) -> Any:
    """Row by row, from the definition."""
    ends = np.cumsum(np.maximum(sizes, 0))
    owners = [int(np.searchsorted(ends, r, side="right")) for r in range(len(a))]
    if kind == "rows":
        return np.stack([a[r] @ b[i] if i < len(sizes) else np.zeros(b.shape[2]) for r, i in enumerate(owners)])
    found = np.zeros((len(sizes), a.shape[1], b.shape[1]))
    for r, i in enumerate(owners):
        if i < len(sizes):
            found[i] += np.outer(a[r], b[r])
    return found


def types(kind: str, dtype: str = "f64") -> str:
    other = f"{GROUPS},{DEPTH},{WIDTH}" if kind == "rows" else f"{ROWS},{WIDTH}"
    return f"{dtype}[{ROWS},{DEPTH}] {dtype}[{other}] si64[{GROUPS}]"


def operands(kind: str) -> list[Any]:
    rng = np.random.default_rng(5)
    second = (GROUPS, DEPTH, WIDTH) if kind == "rows" else (ROWS, WIDTH)
    return [rng.integers(-4, 5, shape).astype(np.float64) for shape in ((ROWS, DEPTH), second)]


def direct(kind: str, **dtypes: Any) -> Any:
    return lambda a, b, sizes: RaggedDotOp(a, b, sizes, kind=kind, **dtypes)


def meant(kind: str, **dtypes: Any) -> Any:
    """The expansion, in a fusion."""

    def body(a: Any, b: Any, sizes: Any) -> Any:
        return FusionOp(a, b, sizes, body=expansion(RaggedDotOp(a, b, sizes, kind=kind, **dtypes)))

    return body


@pytest.mark.parametrize("target", ["numpy", "native", "xla", "onnx"])
@pytest.mark.parametrize("form", [direct, meant])
@pytest.mark.parametrize("kind", ["rows", "contract"])
def test_whole_numbers(kind: str, form: Any, target: str) -> None:
    """Exact, so in any order of sums."""
    pytest.importorskip({"native": "llvmlite", "xla": "jax", "onnx": "onnxruntime"}.get(target, "numpy"))
    run = mind_runtime.compile(program(types(kind), form(kind)), target=target)
    for sizes in SIZES:
        a, b = operands(kind)
        np.testing.assert_array_equal(run(a, b, np.array(sizes)), expected(kind, a, b, sizes))


@pytest.mark.parametrize("dtype", ["bf16", "f16", "f32", "si8", "ui32", "cf64", "fp8_e4m3"])
@pytest.mark.parametrize("kind", ["rows", "contract"])
def test_dtypes(kind: str, dtype: str) -> None:
    """Both forms give the same bits, as nothing is rounded twice."""
    a, b = (x.astype(array_dtype(dtype)) for x in operands(kind))
    for sizes in SIZES:
        found = [mind_runtime.compile(program(types(kind, dtype), form(kind)))(a, b, np.array(sizes)) for form in (direct, meant)]
        assert found[0].dtype == array_dtype(dtype)
        np.testing.assert_array_equal(*(x.astype(np.complex128) for x in found))


def test_a_wide_sum_of_narrow_numbers() -> None:
    a = np.full((ROWS, DEPTH), 100, np.int8)
    b = np.full((GROUPS, DEPTH, WIDTH), 100, np.int8)
    run = mind_runtime.compile(program(types("rows", "si8"), direct("rows", accum_dtype="si32", out_dtype="si32")))
    found = run(a, b, np.array([2, 2, 2]))
    assert found.dtype == np.int32
    assert (found == 100 * 100 * DEPTH).all()


@pytest.mark.parametrize("form", [direct, meant])
@pytest.mark.parametrize("kind", ["rows", "contract"])
def test_nothing_of_one_group_reaches_another(kind: str, form: Any) -> None:
    a, b = operands(kind)
    b[0 if kind == "rows" else slice(0, 2)] = np.nan
    found = mind_runtime.compile(program(types(kind), form(kind)))(a, b, np.array([2, 3, 1]))
    outside = found[2:] if kind == "rows" else found[1:]
    assert np.isnan(found).any()
    assert not np.isnan(outside).any()


def test_named_dimensions() -> None:
    run = mind_runtime.compile(program("f64[M,4] f64[G,4,5] si64[G]", direct("rows")))
    for rows in (0, 1, 7):
        a, b = np.ones((rows, 4)), np.ones((2, 4, 5))
        np.testing.assert_array_equal(run(a, b, np.array([1, 2])), expected("rows", a, b, [1, 2]) if rows else np.zeros((0, 5)))
