"""Native quantisation: bit for bit what NumPy's kernels give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from mind_dialect import ptir
from mind_dialect.ptir.legal import QUANTIZED, WIDE_FLOATS
from mind_dialect.ptir.types import BF16, F32, SI8, SI32, UI16, PtirDType
from mind_lowering.ptir_kernels.formats import array_dtype
from native_checks import computed_here
from native_same import block, same, way
from ptir_oracle import bounds, ids, samples

__all__ = ["way"]
pytestmark = pytest.mark.usefixtures("way")
PLAIN = pytest.mark.parametrize("way", [""], indirect=True)
rng = np.random.default_rng(8)


def scales(dtype: PtirDType, count: int) -> Any:
    return (2.0 ** rng.integers(-6, 3, count) * rng.uniform(0.7, 1.4, count)).astype(array_dtype(dtype.name))


def zeros(dtype: PtirDType, count: int) -> Any:
    least, most = bounds(dtype)
    return rng.integers(max(least, -(1 << 20)), min(most, 1 << 20), count).astype(array_dtype(dtype.name))


def table(dtype: PtirDType) -> Any:
    return np.resize(samples(dtype, 60, special=True), (21, 3))


@PLAIN
@pytest.mark.parametrize("target", QUANTIZED, ids=ids)
@pytest.mark.parametrize("dtype", WIDE_FLOATS, ids=ids)
def test_quantize(dtype: PtirDType, target: PtirDType) -> None:
    x = table(dtype)
    wide = target.bits > 4
    same(lambda v: ptir.QuantizeOp(v, output_dtype=target).result, x, native_only=wide)
    for axis in (None, 1):
        given = (scales(dtype, 3), zeros(target, 3)) if axis else (scales(dtype, 1)[0], zeros(target, 1)[0])
        given = tuple(np.asarray(v) for v in given)
        same(lambda v, s, z, a=axis: ptir.QuantizeOp(v, s, z, output_dtype=target, axis=a).result, x, *given, native_only=wide)


@PLAIN
@pytest.mark.parametrize("target", WIDE_FLOATS, ids=ids)
@pytest.mark.parametrize("dtype", QUANTIZED, ids=ids)
def test_dequantize(dtype: PtirDType, target: PtirDType) -> None:
    x, here = table(dtype), computed_here(target.name)
    same(lambda v: ptir.DequantizeOp(v, output_dtype=target).result, x, native_only=here)
    for axis in (None, 0):
        given = (scales(target, 21), zeros(dtype, 21)) if axis == 0 else (scales(target, 1)[0], zeros(dtype, 1)[0])
        given = tuple(np.asarray(v) for v in given)
        same(lambda v, s, z, a=axis: ptir.DequantizeOp(v, s, z, axis=a).result, x, *given)


@PLAIN
@pytest.mark.parametrize("scale", WIDE_FLOATS, ids=ids)
@pytest.mark.parametrize(("dtype", "target"), [(SI8, SI8), (SI8, UI16), (SI32, SI8), (UI16, SI32)], ids=ids)
def test_requantize(dtype: PtirDType, target: PtirDType, scale: PtirDType) -> None:
    x = table(dtype)
    same(lambda v: ptir.RequantizeOp(v, output_dtype=target).result, x)
    given = [np.asarray(v) for v in (scales(scale, 1)[0], zeros(dtype, 1)[0], scales(scale, 1)[0], zeros(target, 1)[0])]
    same(lambda v, *p: ptir.RequantizeOp(v, *p, output_dtype=target).result, x, *given)


def test_fused_with_what_is_around_it() -> None:
    """In all ways; one kernel does a sum, the quantisation and its inverse."""
    for dtype, target in ((F32, SI8), (BF16, UI16)):
        x = block(dtype, (9, 40))

        def body(v: Any, s: Any, z: Any, target: PtirDType = target) -> Any:
            q = ptir.QuantizeOp(ptir.AddOp(v, v).result, s, z, output_dtype=target, axis=1).result
            return [q, ptir.DequantizeOp(q, s, z, axis=1).result]

        same(body, x, scales(dtype, 40), zeros(target, 40))
