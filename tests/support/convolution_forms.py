"""
Convolutions of any form, and their definition, written out with NumPy in a wider precision.

A sum of K products may be off by K * eps * (sum of the magnitudes).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest

import mind_runtime
from mind_dialect import ptir
from mind_dialect.ptir.types import BF16, F16, F32, F64, PtirDType
from mind_lowering.native.host import CHECKS_VARIABLE, ISA_VARIABLE
from mind_lowering.ptir_kernels.formats import array_dtype
from native_checks import computed_here
from native_text import load_backwards
from ptir_forms import program


@dataclass(frozen=True)
class Form:
    """A convolution: extents of the image, the window and so on, one number per axis."""

    batch: int
    image: tuple[int, ...]
    channels: int
    window: tuple[int, ...]
    out: int
    strides: tuple[int, ...] = ()
    padding: tuple[tuple[int, int], ...] = ()
    base_dilation: tuple[int, ...] = ()
    window_dilation: tuple[int, ...] = ()
    groups: int = 1

    def values(self) -> dict[str, Any]:
        ones = (1,) * len(self.image)
        return {
            "strides": self.strides or ones,
            "padding": self.padding or ((0, 0),) * len(self.image),
            "base_dilation": self.base_dilation or ones,
            "window_dilation": self.window_dilation or ones,
            "feature_group_count": self.groups,
        }

    @property
    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return (self.batch, *self.image, self.channels), (*self.window, self.channels // self.groups, self.out)


def module_of(form: Form, dtype: PtirDType, **options: Any) -> Any:
    types = " ".join(f"{dtype}[{','.join(map(str, s))}]" for s in form.shapes)
    return program(types, lambda x, w: ptir.ConvolutionOp(x, w, **form.values(), **options).result)


def defined(form: Form, x: Any, w: Any) -> Any:
    """The definition: for each place of the window, the elements that it meets times the weights there."""
    values, rank = form.values(), len(form.image)
    holes = [b - 1 for b in values["base_dilation"]]
    extents = [n + max(0, n - 1) * h + sum(p) for n, h, p in zip(form.image, holes, values["padding"], strict=True)]
    wide = np.zeros((form.batch, *extents, form.channels), x.dtype)
    inner = [
        slice(low, low + (n - 1) * (h + 1) + 1 if n else low, h + 1)
        for (low, _), n, h in zip(values["padding"], form.image, holes, strict=True)
    ]
    wide[(slice(None), *inner)] = x
    reach = [(k - 1) * d + 1 for k, d in zip(form.window, values["window_dilation"], strict=True)]
    places = [max(0, (n - r) // s + 1) for n, r, s in zip(extents, reach, values["strides"], strict=True)]
    out = np.zeros((form.batch, *places, form.out), x.dtype)
    each, own = form.channels // form.groups, form.out // form.groups
    for tap in product(*map(range, form.window)) if 0 not in places else ():
        starts = [t * d for t, d in zip(tap, values["window_dilation"], strict=True)]
        cut = [slice(a, a + (n - 1) * s + 1, s) for a, n, s in zip(starts, places, values["strides"], strict=True)]
        met = wide[(slice(None), *cut)]
        for g in range(form.groups):
            part = np.einsum(
                "...c,co->...o", met[..., g * each : (g + 1) * each], w[(*tap, slice(None), slice(g * own, (g + 1) * own))]
            )
            out[..., g * own : (g + 1) * own] += part
    assert rank == len(places)
    return out


def arrays(form: Form, dtype: PtirDType, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    if dtype.kind == "float":
        return tuple(rng.standard_normal(s).astype(array_dtype(dtype.name)) for s in form.shapes)  # type: ignore[return-value]
    low = 0 if dtype.kind == "unsigned" else -100
    return tuple(rng.integers(low, 100, s).astype(array_dtype(dtype.name)) for s in form.shapes)  # type: ignore[return-value]


def run(form: Form, dtype: PtirDType, x: Any, w: Any) -> Any:
    found = mind_runtime.compile(module_of(form, dtype), target="native")
    assert "0 ops on NumPy" in found.explain()[0] or not computed_here(dtype.name)
    return found(x, w)


def check(form: Form, dtype: PtirDType = F32) -> None:
    x, w = arrays(form, dtype)
    check_result(form, dtype, x, w, run(form, dtype, x, w))


def check_result(form: Form, dtype: PtirDType, x: Any, w: Any, found: Any) -> None:
    """Compare what was found with the definition."""
    if dtype.kind != "float":
        expected = defined(form, x.astype(np.int64), w.astype(np.int64)).astype(found.dtype)
        np.testing.assert_array_equal(found, expected)
        return
    wide = np.longdouble if dtype is F64 else np.float64
    expected, size = defined(form, x.astype(wide), w.astype(wide)), defined(form, abs(x.astype(wide)), abs(w.astype(wide)))
    eps = np.finfo(np.float64 if dtype is F64 else np.float32).eps
    bound = (np.prod(w.shape[:-1]) * eps + (2.0**-8 if dtype is BF16 else 2.0**-11 if dtype is F16 else 0)) * size
    assert found.shape == expected.shape
    assert np.all(abs(found.astype(wide) - expected) <= bound)


def check_on(isa: str, form: Form, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare results on a machine that this one can be taken for, without and with checks of every place that is touched."""
    monkeypatch.setenv(ISA_VARIABLE, isa)
    check(form)
    monkeypatch.setenv(CHECKS_VARIABLE, "1")
    check(form)


def check_sharing(form: Form, isa: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Compare results with those of each unit of every kernel by itself, the last one first; return how many units there were."""
    x, w = arrays(form, F32)
    monkeypatch.setenv(ISA_VARIABLE, isa)
    whole = run(form, F32, x, w)
    split = load_backwards(monkeypatch)
    mind_runtime.clear_cache()
    assert run(form, F32, x, w).tobytes() == whole.tobytes()
    mind_runtime.clear_cache()
    return split[0]
