"""How results of the native target are held against those of NumPy: integers bit by bit, floats within a bound."""

from __future__ import annotations

from typing import Any

import numpy as np

from mind_dialect.ptir.types import DTYPES
from mind_lowering.native import detect
from mind_lowering.native.target_info import computes
from mind_lowering.ptir_kernels.formats import format_of

SUM_ULPS = 1.0
"""The error of a sum of K terms of one sign is at most K times this, in units of the last place: decision 14 of the contract."""


def computed_here(*dtypes: str) -> bool:
    """Return whether the machine that code is made for has arithmetic of these dtypes."""
    return all(computes(DTYPES[name], detect()) for name in dtypes)


def several(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def assert_close(found: Any, expected: Any, *, ulps: float = 4, scale: float | None = None) -> None:
    """
    Equal dtypes and shapes; integers, truths and special values equal, floats within `ulps` units of the expected number.

    Parts of complex numbers are so near in units of their magnitude. `scale` is a magnitude that errors are relative to, where
    sums cancel.
    """
    assert isinstance(found, np.ndarray)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.flags.c_contiguous
    assert found.flags.writeable
    form = format_of(expected.dtype)
    if form.kind == "c":
        _assert_parts_close(found, expected, ulps, scale)
        return
    if form.kind != "f":
        assert found.tobytes() == np.ascontiguousarray(expected).tobytes()
        return
    with np.errstate(all="ignore"):
        a, b = (x.astype(form.work).astype(np.float64) for x in (found, expected))
        finite = np.isfinite(b)
        np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
        np.testing.assert_array_equal(a[np.isinf(b)], b[np.isinf(b)])
        epsilon = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-23, "f64": 2.0**-52, "fp8_e4m3": 2.0**-3, "fp8_e5m2": 2.0**-2}
        least = {"f16": 2.0**-24, "bf16": 2.0**-133, "f32": 2.0**-149, "f64": 2.0**-1074}.get(form.name, 2.0**-16)
        size = np.abs(b) if scale is None else np.maximum(np.abs(b), scale)
        bound = ulps * np.maximum(size * epsilon[form.name], least)
        wrong = finite & ~(np.abs(a - b) <= bound)
    assert not wrong.any(), (a[wrong][:5], b[wrong][:5], np.argwhere(wrong)[:5])


def _assert_parts_close(found: Any, expected: Any, ulps: float, scale: float | None) -> None:
    """As `assert_close`, of complex numbers."""
    with np.errstate(all="ignore"):
        size = np.abs(expected.astype(np.complex128))
        size = np.maximum(np.where(np.isfinite(size), size, 0), scale or 0)
        info = np.finfo(expected.dtype)
        bound = ulps * np.maximum(size * float(info.eps), float(info.smallest_subnormal))
        for a, b in ((found.real, expected.real), (found.imag, expected.imag)):
            finite = np.isfinite(b)
            np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
            np.testing.assert_array_equal(a[np.isinf(b)], b[np.isinf(b)])
            wrong = finite & ~(np.abs(a.astype(np.float64) - b.astype(np.float64)) <= bound)
            assert not wrong.any(), (found[wrong][:5], expected[wrong][:5], np.argwhere(wrong)[:5])
