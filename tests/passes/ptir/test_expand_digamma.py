"""Digamma as elementwise ops: the numbers of its own kernel but for roundings, also within native loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mind_dialect import ptir
from mind_dialect.verify import verify
from mind_passes.ptir.expand_digamma import expand_digamma
from mind_runtime import compile
from native_same import types
from ptir_forms import program

EDGES = [
    0.0,
    -0.0,
    -1,
    -2,
    -7,
    np.inf,
    -np.inf,
    np.nan,
    1e-300,
    1e300,
    0.5,
    1,
    9.999,
    10,
    1.4616321449683622,
    -0.5,
    -10.25,
    -1e-9,
    1e17,
]


def points(dtype: str) -> Any:
    rng = np.random.default_rng(0)
    with np.errstate(over="ignore"):
        return np.concatenate([EDGES, rng.uniform(-20, 20, 2000), np.geomspace(1e-30, 1e30, 200)]).astype(dtype)


def near(found: Any, wanted: Any, x: Any) -> None:
    """Results are rounded once, of sums of f64 whose terms are a few units in the last place off; those of f16 from f32."""
    with np.errstate(all="ignore"):
        x = x.astype("f8")
        terms = np.abs(1 / x) + np.abs(np.log(np.abs(x))) + 1 + np.where(x < 0, np.abs(1 / (x - np.round(x))), 0)
        eps = float(np.finfo(found.dtype).eps) if found.dtype != np.float64 else 0
        close = np.abs(found.astype("f8") - wanted.astype("f8")) <= eps * np.abs(wanted) + 16 * np.finfo("f8").eps * terms
    is_same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    assert (is_same | close).all(), x[~(is_same | close)]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_numbers_are_those_of_the_kernel(dtype: str) -> None:
    x = points(dtype)
    module = program(types(x), ptir.DigammaOp)
    copy = module.clone()
    assert expand_digamma(copy)
    verify(copy)
    assert not any(isinstance(op, ptir.DigammaOp) for op in copy.walk())
    near(compile(copy)(x), compile(module)(x), x)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_native_code_computes_it_in_loops(dtype: str) -> None:
    pytest.importorskip("llvmlite")
    rows = points(dtype)[:2100].reshape(3, 700)

    def body(total: Any, row: Any) -> list[Any]:
        found = ptir.DigammaOp(row)
        return [ptir.AddOp(total, found), found]

    def scan(start: Any, xs: Any) -> Any:
        return ptir.ScanOp(start, xs, carry_count=1, scan_output_count=1, body=body).results

    module = program(types(rows[0], rows), scan)
    native = compile(module, target="native")
    assert " 0 ops on NumPy" in native.explain()[0]
    (_, found), (_, wanted) = (run(np.zeros_like(rows[0]), rows) for run in (native, compile(module)))
    near(found, wanted, rows)


def test_values_that_are_read_twice_are_made_once() -> None:
    module = program("f64[4]", lambda x: [ptir.DigammaOp(x), ptir.DigammaOp(ptir.DigammaOp(x))])
    expand_digamma(module)
    verify(module)
    assert 200 < sum(1 for _ in module.walk()) < 300
