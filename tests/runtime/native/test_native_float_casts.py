"""Casts of floats to integers, in vectors: truncated, saturated, NaN to 0, as NumPy's kernels give them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from mind_dialect import ptir
from mind_lowering.native import TARGETS
from mind_lowering.native.program import lower, prepared
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_runtime.native import jit
from native_same import same, way
from ptir_evaluator import function_of
from ptir_forms import program

__all__ = ["way"]
INTEGERS = ["si8", "ui8", "si16", "ui16", "si32", "ui32", "si64", "ui64"]
BITS = sorted({bits for n in (7, 8, 15, 16, 31, 32, 63, 64) for bits in (n - 1, n, n + 1)})
POWERS = [2.0**bits for bits in BITS]


def numbers(dtype: str) -> Any:
    """Ends of all integer dtypes, their neighbours among the floats, fractions, zeros, infinities and NaN, of both signs."""
    made = np.float64 if dtype == "f64" else np.float32
    ends = np.array([*POWERS, *(p - 0.5 for p in POWERS), *(p - 1 for p in POWERS), 0.0, 0.25, 0.5, 0.999, 1e-40, 3e38], made)
    near = np.concatenate([ends, np.nextafter(ends, made(0)), np.nextafter(ends, made(np.inf)), [made(np.inf), made(np.nan)]])
    with np.errstate(over="ignore"):
        return np.concatenate([near, -near]).astype(array_dtype(dtype))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("source", ["f32", "f64", "f16", "bf16"])
@pytest.mark.parametrize("target", INTEGERS)
def test_casts_saturate(source: str, target: str) -> None:
    x = numbers(source)
    same(lambda v: ptir.CastOp(v, dtype=target).result, x)
    same(lambda v: ptir.CastOp(v, dtype=target).result, x[:5], native_only=False)


@pytest.mark.parametrize("isa", ["avx512", "avx2", "baseline"])
@pytest.mark.parametrize("target", ["si8", "ui8", "si16", "ui16", "si32", "ui32"])
def test_vectors_are_not_converted_one_by_one(target: str, isa: str) -> None:
    module = program("f32[4096]", lambda v: [ptir.CastOp(v, dtype=target).result])
    host = TARGETS[isa]
    assembly = jit.assembly(lower(prepared(function_of(module), host), host).text, host)
    assert "cvttps2" in assembly
    assert "cvttss2si" not in assembly


@pytest.mark.parametrize("isa", ["neon", "sve256"])
def test_where_an_instruction_saturates_it_is_all(isa: str) -> None:
    module = program("f32[4096]", lambda v: [ptir.CastOp(v, dtype="si32").result])
    host = TARGETS[isa]
    text = lower(prepared(function_of(module), host), host).text
    assert "llvm.fptosi.sat" in text
    assert "fcmp" not in text
    assert "fcvtzs" in jit.assembly(text, host)
