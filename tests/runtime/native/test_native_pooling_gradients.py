"""
Gradients of pooling on the native target, against their definition place by place.

Elements that tie for the extreme of a window share its adjoint.
"""

from __future__ import annotations

import random
from math import prod
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

pytest.importorskip("llvmlite")

import mind_runtime
from machines import RUNNABLE
from mind_dialect import ptir
from mind_dialect.program import functions
from mind_lowering import code_cache as cache
from mind_lowering.native.host import CHECKS_VARIABLE, ISA_VARIABLE
from mind_lowering.native.program import planned, prepared
from mind_lowering.native.target_info import TARGETS
from mind_passes.functional import vjp
from ptir_forms import program
from window_oracle import shared_equally


@pytest.fixture(autouse=True)
def _nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of one run is found by another."""
    monkeypatch.setenv(cache.VARIABLE, "")


Form = tuple[tuple[int, ...], dict[str, Any]]
NO, ONE = (0, 0), (1, 1)


def form(shape: tuple[int, ...], window: Any, strides: Any, padding: Any = None, dilation: Any = None, base: Any = None) -> Form:
    """A pooling of images `[N, spatial..., C]`."""
    ones = (1,) * len(window)
    values = {
        "window_dims": (1, *window, 1),
        "strides": (1, *strides, 1),
        "padding": (NO, *(padding or (NO,) * len(window)), NO),
        "base_dilation": (1, *(base or ones), 1),
        "window_dilation": (1, *(dilation or ones), 1),
    }
    return shape, values


FORMS: dict[str, Form] = {
    "as in ResNet": form((2, 8, 9, 17), (3, 3), (2, 2), (ONE, ONE)),
    "strides of 1": form((2, 6, 7, 16), (3, 3), (1, 1), (ONE, ONE)),
    "strides as long as the window": form((2, 6, 8, 5), (2, 2), (2, 2)),
    "strides longer than the window": form((1, 11, 10, 8), (2, 3), (3, 4), ((1, 0), NO)),
    "a window that strides divide": form((1, 12, 9, 3), (4, 3), (2, 1), ((1, 1), (0, 2))),
    "strides leave a rest": form((1, 10, 11, 4), (5, 4), (3, 3), ((2, 1), (0, 1))),
    "dilation": form((1, 9, 9, 3), (3, 2), (1, 1), ((2, 1), (0, 2)), (2, 3)),
    "dilation and strides": form((1, 9, 9, 3), (3, 2), (2, 3), (ONE, ONE), (2, 2)),
    "holes": form((1, 5, 6, 3), (3, 3), (2, 1), (ONE, ONE), None, (2, 3)),
    "one axis": form((3, 21, 4), (3,), (2,), ((0, 1),)),
    "three axes": form((1, 5, 6, 4, 3), (3, 2, 3), (2, 1, 1), (ONE, (0, 1), ONE)),
    "a large window": form((1, 12, 11, 2), (6, 5), (1, 2), ((2, 3), (2, 2))),
    "windows that miss the end": form((1, 9, 13, 3), (3, 3), (4, 5)),
    "no images": form((0, 5, 5, 3), (3, 3), (1, 1)),
}
EVERY = pytest.mark.parametrize(("shape", "values"), FORMS.values(), ids=FORMS)


def module_of(shape: tuple[int, ...], values: dict[str, Any], kind: str, dtype: str = "f64") -> ModuleOp:
    """A pooling and its derivative."""
    module = program(f"{dtype}[{','.join(map(str, shape))}]", lambda x: ptir.ReduceWindowOp(x, kind=kind, **values).result)
    return vjp(module)


def check(shape: tuple[int, ...], values: dict[str, Any], kind: str, x: Any) -> None:
    module = module_of(shape, values, kind)
    (primal, derivative) = (mind_runtime.compile(module, f.sym_name.data, target="native") for f in functions(module))
    assert "0 ops on NumPy" in derivative.explain()[0]
    g = np.random.default_rng(1).integers(1, 9, np.shape(primal(x))).astype(float)
    _, found = derivative(x, g)
    np.testing.assert_allclose(found, shared_equally(x, {"kind": kind, **values}, g), rtol=1e-13, atol=1e-13)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["max", "min"])
@EVERY
def test_extremes(shape: tuple[int, ...], values: dict[str, Any], kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ties, infinities, and checks of every place that is touched."""
    monkeypatch.setenv(CHECKS_VARIABLE, "1")
    rng = np.random.default_rng(0)
    check(shape, values, kind, rng.standard_normal(shape))
    check(shape, values, kind, rng.choice([0.0, 1.0, 1.0, np.inf, -np.inf], shape))


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(20))
def test_random_forms(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pick = random.Random(seed)
    monkeypatch.setenv(ISA_VARIABLE, pick.choice(RUNNABLE))
    rank = pick.choice((1, 2, 2, 3))
    each = [[pick.randint(*ends) for _ in range(rank)] for ends in ((1, 4), (1, 3), (1, 2), (0, 2), (0, 2))]
    window, strides, dilation, low, high = each
    padding = [(min(a, w - 1), min(b, w - 1)) for a, b, w in zip(low, high, window, strict=True)]
    extents = [pick.randint((w - 1) * d + 1, 11) for w, d in zip(window, dilation, strict=True)]
    shape, values = form((pick.choice((1, 2)), *extents, pick.choice((1, 3, 8))), window, strides, padding, dilation)
    check(shape, values, pick.choice(("max", "min")), np.random.default_rng(seed).choice([0.0, 1.0, 2.0], shape))


def test_nan_reaches_the_window_that_it_is_in() -> None:
    """No element equals NaN, the greatest of its window: as on the NumPy target."""
    shape, values = FORMS["as in ResNet"]
    x = np.random.default_rng(0).standard_normal(shape)
    x[1, 3, 4, 2] = np.nan
    module = module_of(shape, values, "max")
    g = np.ones((2, 4, 5, 17))
    found, expected = (mind_runtime.compile(module, "f_grad", target=target)(x, g)[1] for target in ("native", "numpy"))
    assert np.isnan(expected).any()
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize(
    "values",
    [
        form((8, 56, 56, 64), (3, 3), (2, 2), (ONE, ONE)),
        form((8, 56, 56, 64), (3, 3), (1, 1), (ONE, ONE)),
        form((8, 56, 56, 64), (5, 5), (2, 2), ((2, 2), (2, 2))),
    ],
    ids=["3 by 2", "3 by 1", "5 by 2"],
)
@pytest.mark.parametrize("isa", ["avx512", "avx2", "neon"])
def test_no_patches_are_stored(values: Form, isa: str) -> None:
    """Temporaries take less than four images: with borders x, its gradient, the result and the shares; patches would be nine."""
    module = module_of(*values, "max", "f32")
    (func,) = (f for f in functions(module) if f.sym_name.data == "f_grad")
    plan = planned(prepared(func, TARGETS[isa]), TARGETS[isa])
    assert plan.arena < 4 * 4.5 * prod(values[0])


@pytest.mark.parametrize(
    ("values", "pads", "patches"),
    [
        (form((2, 12, 14, 16), (3, 3), (2, 2), (ONE, ONE)), 1, 0),
        (form((2, 12, 14, 16), (3, 3), (1, 1), (ONE, ONE)), 2, 1),
        (form((2, 13, 14, 16), (3, 3), (2, 2), (ONE, ONE)), 1, 1),
    ],
    ids=["as in ResNet", "strides of 1", "blocks reach further than windows"],
)
def test_one_copy_with_a_border_where_blocks_have_that_of_windows(values: Form, pads: int, patches: int) -> None:
    """
    Elements are compared with the results of their windows, and windows with theirs: both read elements with a border.

    Counted are pads of what has the shape of x, which with strides of 1 results and shares have, and patches with padding.
    """
    (func,) = (f for f in functions(module_of(values[0], values[1], "max", "f32")) if f.sym_name.data.endswith("_grad"))
    work = prepared(func, TARGETS["avx2"])
    bordered = [op for op in work.walk() if isinstance(op, ptir.PadOp) and op.operands[0].type == work.args[0].type]
    patched = [op for op in work.walk() if isinstance(op, ptir.ExtractPatchesOp) and any(map(any, op.values()["padding"]))]
    assert (len(bordered), len(patched)) == (pads, patches)
