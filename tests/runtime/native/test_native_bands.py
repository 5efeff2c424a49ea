"""Few rows against a large matrix that is read as it lies: in bands with sums of their own, or one row after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from lone_products import HOSTS_HERE, compiled
from machines import RUNNABLE
from mind_dialect import ptir
from mind_dialect.ptir.types import BF16, F32, F64, SI32, PtirDType
from mind_lowering import code_cache as cache
from mind_lowering.native.host import CHECKS_VARIABLE, ISA_VARIABLE
from mind_lowering.native.target_info import TargetInfo
from mind_lowering.ptir_kernels.formats import array_dtype
from ptir_forms import dot, like, program

MACHINES = pytest.mark.parametrize("host", HOSTS_HERE, ids=RUNNABLE)
SHAPES = [(1, 401, 703), (2, 776, 390), (4, 392, 1000), (1, 200, 6001)]
"""Rows, depth, columns: one row of the matrix at a time and eight, bands that are equal and that are not."""
rng = np.random.default_rng(13)


def operands(shape: tuple[int, int, int], dtype: PtirDType, batch: tuple[int, ...] = ()) -> tuple[Any, Any]:
    """Small integers: their sums are exact."""
    m, k, n = shape
    a, b = (np.rint(3 * rng.standard_normal((*batch, *s))).astype(array_dtype(dtype.name)) for s in ((m, k), (k, n)))
    return a, b


@pytest.mark.exhaustive
@MACHINES
@pytest.mark.parametrize("dtype", [F32, F64, SI32, BF16], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(map(str, s)))
def test_every_band_is_added_once(host: TargetInfo, shape: tuple[int, int, int], dtype: PtirDType) -> None:
    a, b = operands(shape, dtype)
    b[-1, -1], total = 1, F32 if dtype is BF16 else dtype
    out = np.full((shape[0], shape[2]), 77, array_dtype(total.name))
    made = compiled(host, a, b, out, (dtype, dtype, total, total))
    assert made.product.cut.bands > 1
    for pieces in (1, 3, 100):
        out[:] = 77
        made.caller(a, b, out, pieces, backwards=pieces > 1)()
        np.testing.assert_array_equal(out, np.matmul(a.astype(np.float64), b.astype(np.float64)).astype(out.dtype))


@MACHINES
def test_batches_and_rows_that_are_apart(host: TargetInfo) -> None:
    a, b = operands((1, 200, 700), F32, (2, 3))
    wide = np.repeat(b, 2, axis=-1)[..., :900]
    for left, right in ((a, b), (a[:, :1], b[:, :1]), (a, np.broadcast_to(b[:1], b.shape)), (a, wide[..., 7:707])):
        out = np.full((*left.shape[:-2], 1, right.shape[-1]), 77, np.float32)
        made = compiled(host, left, right, out, (F32,) * 4)
        assert made.product.cut.bands > 1
        made.caller(left, right, out, 5, backwards=True)()
        np.testing.assert_array_equal(out, np.matmul(left.astype(np.float64), right).astype(np.float32))


@pytest.mark.exhaustive
@MACHINES
@pytest.mark.parametrize("dtype", [F32, F64, BF16], ids=str)
@pytest.mark.parametrize("columns", [640, 703])
def test_rows_begin_anywhere_in_a_line(host: TargetInfo, dtype: PtirDType, columns: int) -> None:
    """What is beside the rows is NaN; memory is read by whole lines where all rows begin at one place in theirs."""
    total = F32 if dtype is BF16 else dtype
    for first in (0, 1, 2, 7, 15):
        a, b = operands((2 if first == 7 else 1, 451, columns), dtype)
        room = np.full((451, 720), np.nan, b.dtype)
        lying = room[:, first : first + columns]
        lying[:] = b
        out = np.full((len(a), columns), 77, array_dtype(total.name))
        made = compiled(host, a, lying, out, (dtype, dtype, total, total))
        by_lines = host.vector_bytes > 16 and (dtype is not BF16 or host.has_avx512)
        assert ("by lines of memory" in made.text) == by_lines
        made.caller(a, lying, out, 3, backwards=True)()
        np.testing.assert_array_equal(out, np.matmul(a.astype(np.float64), b.astype(np.float64)).astype(out.dtype))


@MACHINES
@pytest.mark.parametrize("dtype", [F32, F64, BF16], ids=str)
@pytest.mark.parametrize(
    "shape", [(1, 301, 500), (2, 67, 2001), (2, 128, 1100), (1, 5, 30000)], ids=lambda s: "x".join(map(str, s))
)
def test_dot_products_with_one_row_after_the_other(host: TargetInfo, shape: tuple[int, int, int], dtype: PtirDType) -> None:
    """A row of the matrix lies along the contracted axis: some vectors of partial sums, the last of them masked."""
    a, b = operands(shape, dtype)
    turned, total = np.ascontiguousarray(b.T).T, F32 if dtype is BF16 else dtype
    out = np.full((shape[0], shape[2]), 77, array_dtype(total.name))
    compiled(host, a, turned, out, (dtype, dtype, total, total)).caller(a, turned, out, 3, backwards=True)()
    np.testing.assert_array_equal(out, np.matmul(a.astype(np.float64), b.astype(np.float64)).astype(out.dtype))


@pytest.mark.parametrize("settings", [{}, {ISA_VARIABLE: "baseline"}, {CHECKS_VARIABLE: "1"}], ids=["", "baseline", "checked"])
@pytest.mark.parametrize("shape", SHAPES[:2], ids=lambda s: "x".join(map(str, s)))
def test_results_are_finished_after_all_bands(
    shape: tuple[int, int, int], settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bias, maximum and residual follow the last band, for any number of threads, also where the residual is written over."""
    for name, value in {cache.VARIABLE: "", **settings}.items():
        monkeypatch.setenv(name, value)
    m, k, n = shape

    def body(x: Any, w: Any, b: Any, r: Any) -> Any:
        y = ptir.AddOp(dot(x, w, (1,), (0,)), ptir.BroadcastToOp(b, result_shape=[m, n]))
        return ptir.AddOp(ptir.MaximumOp(y, like(y, 0.0)), r)

    module = program(f"f32[{m},{k}] f32[{k},{n}] f32[{n}] f32[{m},{n}]", body)
    x, w = operands(shape, F32)
    w[-1, 5] = np.nan
    b, r = (np.rint(9 * rng.standard_normal(s)).astype(np.float32) for s in (n, (m, n)))
    with np.errstate(invalid="ignore"):
        expected = (np.maximum(np.matmul(x.astype(np.float64), w) + b, 0) + r).astype(np.float32)
    for threads in (1, 3):
        made = mind_runtime.compile(module, target="native", threads=threads, donate=["arg3"])
        assert any("bands" in line for line in made.explain())
        np.testing.assert_array_equal(made(x, w, b, r.copy()), expected)
