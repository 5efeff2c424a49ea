"""Calls of `mind.linalg` as programs, and their results on the native target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import mind_runtime
from mind_dialect import ptir
from mind_dialect.op import value_of
from native_same import text, types
from ptir_forms import program, shape
from ptir_rows import typed


def call(kind: str, *operands: Any, attrs: Any = None) -> list[Any]:
    """A call of `mind.linalg`, with the results that its function has."""
    (*batch, m, n), dtype = shape(operands[-1]), str(value_of(operands[-1]).type.element_type)
    k = min(m, n)
    rows = m if (attrs or {}).get("mode") == "complete" else k
    sizes = {
        "lu": [(m, n), (k,), (m,)],
        "det": [()],
        "slogdet": [(), ()],
        "qr": [(m, rows), (rows, n)],
        "geqrf": [(m, n), (k,), (m, k)],
        "eigh": [(n,), (m, n)],
        "eigvalsh": [(n,)],
        "svd": [(m, m), (k,), (n, n)] if (attrs or {}).get("full_matrices") else [(m, k), (k,), (k, n)],
        "svdvals": [(k,)],
    }.get(kind, [(m, n)])
    dtypes = [dtype] + (["si32", "si32"] if kind == "lu" else [dtype] * 2)
    kinds = [typed(text(d, (*batch, *size))) for d, size in zip(dtypes, sizes, strict=False)]
    return list(ptir.CustomCallOp(*operands, target=f"mind.linalg.{kind}.v1", attrs=attrs or {}, result_types=kinds).results)


def calls(kind: str, attrs: Any = None) -> Callable[..., list[Any]]:
    return lambda *operands: call(kind, *operands, attrs=attrs)


def normal(seed: int, *sizes: int, dtype: str = "float64") -> Any:
    return np.random.default_rng(seed).standard_normal(sizes).astype(dtype)


def run(body: Callable[..., Any], *arrays: Any) -> list[np.ndarray]:
    """Results of kernels in lanes alone."""
    compiled = mind_runtime.compile(program(types(*arrays), body), target="native")
    assert "0 ops on NumPy" in compiled.explain()[0]
    assert any("in lanes" in line for line in compiled.explain()) or max(arrays[0].shape[:-2], default=1) < 4
    found = compiled(*arrays)
    return list(found) if isinstance(found, tuple) else [found]
