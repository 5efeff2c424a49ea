"""The gradient of the extremes of windows as one native kernel, against its definition and against the ops of its body."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

pytest.importorskip("llvmlite")

import mind_runtime
from machines import RUNNABLE
from mind_dialect import ptir
from mind_dialect.program import functions
from mind_dialect.ptir import FusionOp
from mind_lowering import code_cache as cache
from mind_lowering.native.extremes_gradient import MOST_SEGMENTS, Overlap
from mind_lowering.native.host import CHECKS_VARIABLE, ISA_VARIABLE
from mind_lowering.native.program import lower, prepared
from mind_lowering.native.slides import Slide
from mind_lowering.native.target_info import TARGETS
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_passes.functional import vjp
from mind_passes.fusion.defuse import defuse
from native_text import load_backwards
from programs import parse
from ptir_forms import program
from window_oracle import shared_equally

Extents = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]
KERNEL = "gradient of the extremes of windows"


@pytest.fixture(autouse=True)
def _nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of one run is found by another."""
    monkeypatch.setenv(cache.VARIABLE, "")


def properties(
    window: tuple[int, ...], strides: tuple[int, ...], padding: Pairs, dilation: tuple[int, ...] = ()
) -> dict[str, Any]:
    ones = (1,) * len(window)
    names = {"window_dims": window, "strides": strides, "padding": padding, "window_dilation": dilation or ones}
    return {**names, "base_dilation": ones}


def module_of(shape: tuple[int, ...], values: dict[str, Any], kind: str = "max", dtype: str = "f32") -> ModuleOp:
    """A pooling and its derivative."""
    return vjp(program(f"{dtype}[{','.join(map(str, shape))}]", lambda x: ptir.ReduceWindowOp(x, kind=kind, **values).result))


def gradient_of(module: ModuleOp, target: str = "native") -> Any:
    return mind_runtime.compile(module, "f_grad", target=target)


def has_kernel(compiled: Any) -> bool:
    return any(KERNEL in line for line in compiled.explain())


def taken_apart(module: ModuleOp) -> ModuleOp:
    """The same module with the ops of fusions in their places."""
    module = module.clone()
    assert defuse(module)
    return module


def numbers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    """Random numbers of few values, so that many tie, with zeros of both signs, infinities and NaN among them."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-3, 4, shape) / 2.0
    x = np.where(rng.random(shape) < 0.02, rng.choice([np.inf, -np.inf, np.nan, -0.0], shape), x)
    return x.astype(array_dtype(dtype))


NO, ONE = (0, 0), (1, 1)
POOL = properties((1, 3, 3, 1), (1, 2, 2, 1), (NO, ONE, ONE, NO))
FORMS: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "as in ResNet": ((2, 12, 14, 24), POOL),
    "blocks reach further than windows": ((2, 13, 15, 19), POOL),
    "strides of 1": ((2, 9, 8, 17), properties((1, 3, 3, 1), (1, 1, 1, 1), (NO, ONE, ONE, NO))),
    "no padding": ((2, 9, 8, 16), properties((1, 2, 3, 1), (1, 1, 2, 1), (NO,) * 4)),
    "windows that leave gaps": ((1, 11, 12, 16), properties((1, 2, 2, 1), (1, 3, 3, 1), (NO, (1, 0), ONE, NO))),
    "windows of padding alone": ((1, 5, 6, 16), properties((1, 2, 2, 1), (1, 1, 1, 1), (NO, (3, 2), (0, 3), NO))),
    "padding on one side": ((2, 10, 9, 16), properties((1, 3, 4, 1), (1, 2, 3, 1), (NO, (0, 1), (2, 0), NO))),
    "windows that miss the end": ((2, 12, 13, 16), properties((1, 3, 3, 1), (1, 4, 4, 1), (NO,) * 4)),
    "one axis": ((3, 21, 32), properties((1, 3, 1), (1, 2, 1), (NO, (0, 1), NO))),
    "three axes": ((1, 5, 6, 4, 16), properties((1, 3, 2, 2, 1), (1, 2, 1, 1, 1), (NO, ONE, (0, 1), NO, NO))),
    "an axis between": ((2, 7, 3, 8, 16), properties((1, 3, 1, 3, 1), (1, 2, 1, 2, 1), (NO, ONE, NO, ONE, NO))),
    "the first axis": ((9, 5, 16), properties((3, 1, 1), (2, 1, 1), (ONE, NO, NO))),
    "a window as large as the image": ((2, 3, 3, 16), properties((1, 3, 3, 1), (1, 1, 1, 1), (NO, ONE, ONE, NO))),
}


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize(("shape", "values"), FORMS.values(), ids=FORMS)
def test_forms(shape: tuple[int, ...], values: dict[str, Any], kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The definition place by place, with ties, infinities and checks of every element that is touched."""
    monkeypatch.setenv(CHECKS_VARIABLE, "1")
    module = module_of(shape, values, kind, "f64")
    compiled = gradient_of(module)
    assert has_kernel(compiled)
    x = np.random.default_rng(0).choice([0.0, 1.0, 2.0, np.inf, -np.inf], shape)
    primal = mind_runtime.compile(module, "f", target="numpy")(x)
    g = np.random.default_rng(1).integers(1, 9, primal.shape).astype(float)
    y, found = compiled(x, g)
    np.testing.assert_array_equal(y, primal)
    np.testing.assert_allclose(found, shared_equally(x, {"kind": kind, **values}, g), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16", "f16"])
@pytest.mark.parametrize("isa", RUNNABLE)
def test_numbers_are_those_of_the_ops(isa: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With NaN, of which a window shares nothing but NaN, and infinite adjoints, on NumPy and without the kernel."""
    monkeypatch.setenv(ISA_VARIABLE, isa)
    if dtype == "f16" and not TARGETS[isa].half:
        pytest.skip("no instruction converts f16")
    for shape, values in list(FORMS.values())[:: 2 if dtype == "f32" else 5]:
        module = module_of(shape, values, "max", dtype)
        compiled, other = gradient_of(module), gradient_of(taken_apart(module))
        assert has_kernel(compiled) != has_kernel(other)
        x = numbers(shape, dtype)
        with np.errstate(all="ignore"):
            g = numbers(mind_runtime.compile(module, "f", target="numpy")(x).shape, dtype, 1)
            found, *expected = (c(x, g)[1].astype(np.float64) for c in (compiled, other, gradient_of(module, "numpy")))
        for one in expected:
            np.testing.assert_allclose(found, one, rtol=2e-2 if dtype in ("bf16", "f16") else 1e-6)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(60))
def test_random_forms(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pick = random.Random(seed)
    monkeypatch.setenv(ISA_VARIABLE, pick.choice(RUNNABLE))
    monkeypatch.setenv(CHECKS_VARIABLE, "1" if seed % 2 else "")
    rank = pick.choice((1, 2, 2, 3))
    window = [pick.choice((1, 2, 3)) for _ in range(rank)]
    strides = [pick.choice((1, 2, 3)) for _ in range(rank)]
    padding = [(pick.randint(0, w), pick.randint(0, w)) for w in window]
    shape = (pick.choice((1, 2)), *(pick.randint(w, 11) for w in window), pick.choice((16, 21)))
    values = properties((1, *window, 1), (1, *strides, 1), (NO, *padding, NO))
    x = np.random.default_rng(seed).choice([0.0, 1.0, 2.0], shape)
    module = module_of(shape, values, pick.choice(("max", "min")), "f64")
    g = np.random.default_rng(1).standard_normal(mind_runtime.compile(module, "f", target="numpy")(x).shape)
    found, expected = (gradient_of(module, target)(x, g)[1] for target in ("native", "numpy"))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("values", [POOL, FORMS["strides of 1"][1], FORMS["no padding"][1]], ids=["3 by 2", "3 by 1", "2x3"])
@pytest.mark.parametrize("isa", ["avx512", "avx2", "neon"])
def test_nothing_is_stored(values: dict[str, Any], isa: str) -> None:
    """One kernel for the value and one for the gradient, without temporaries."""
    (func,) = (f for f in functions(module_of((8, 56, 56, 64), values)) if f.sym_name.data == "f_grad")
    native = lower(prepared(func, TARGETS[isa]), TARGETS[isa])
    assert native.arena == 0
    assert [KERNEL in str(note) for note in native.notes] == [False, True]


def test_results_do_not_depend_on_how_work_is_shared_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each unit of every kernel by itself, the last one first."""
    every = [(module_of((2, 40, 9, 16), values), values) for values in (POOL, FORMS["strides of 1"][1])]
    x = numbers((2, 40, 9, 16), "f32")
    gs = [numbers(mind_runtime.compile(m, "f", target="numpy")(x).shape, "f32", 1) for m, _ in every]
    whole = [gradient_of(m)(x, g)[1].tobytes() for (m, _), g in zip(every, gs, strict=True)]
    split = load_backwards(monkeypatch)
    mind_runtime.clear_cache()
    assert [gradient_of(m)(x, g)[1].tobytes() for (m, _), g in zip(every, gs, strict=True)] == whole
    assert sum(split) >= 4
    mind_runtime.clear_cache()


def test_operands_that_are_views() -> None:
    """A transposed, reversed operand, and an adjoint that is one number."""

    def body(x: Any) -> Any:
        view = ptir.ReverseOp(ptir.TransposeOp(x, perm=[0, 2, 3, 1]), axes=[1])
        y = ptir.ReduceWindowOp(view, kind="max", **POOL).result
        return ptir.ReduceOp(y, kind="sum", axes=[0, 1, 2, 3], keepdims=False).result

    module = vjp(program("f32[2,16,9,8]", body))
    x = np.random.default_rng(0).integers(0, 9, (2, 16, 9, 8)).astype(np.float32)
    compiled = gradient_of(module)
    assert has_kernel(compiled)
    found, expected = (c(x, np.float32(2.0))[1] for c in (compiled, gradient_of(module, "numpy")))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


REJECTED: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "windows along the last axis": ((2, 4, 16, 16), properties((1, 1, 3, 3), (1, 1, 2, 2), (NO, NO, ONE, ONE))),
    "few channels": ((2, 9, 9, 1), POOL),
    "dilated windows": ((2, 9, 9, 16), properties((1, 3, 3, 1), (1, 1, 1, 1), (NO,) * 4, (1, 2, 2, 1))),
    "rows that the stack does not hold": ((1, 6, 300, 64), FORMS["strides of 1"][1]),
    "many ways beyond the operand": ((1, 9, 9, 16), properties((1, 4, 4, 1), (1, 1, 1, 1), (NO, (3, 3), (3, 3), NO))),
}


@pytest.mark.parametrize(("shape", "values"), REJECTED.values(), ids=REJECTED)
def test_forms_without_the_kernel(shape: tuple[int, ...], values: dict[str, Any]) -> None:
    module = module_of(shape, values)
    compiled = gradient_of(module)
    assert any(isinstance(op, FusionOp) for op in module.walk())
    assert not has_kernel(compiled)
    x = np.random.default_rng(0).integers(0, 9, shape).astype(np.float32)
    g = np.ones(mind_runtime.compile(module, "f", target="numpy")(x).shape, np.float32)
    np.testing.assert_allclose(compiled(x, g)[1], gradient_of(module, "numpy")(x, g)[1], rtol=1e-6)


@pytest.mark.parametrize(("old", "new"), [("kind = equal", "kind = less"), ("ptir.mul", "ptir.add"), ("0.0", "1.0")])
def test_a_fusion_of_the_pattern_with_another_body(old: str, new: str) -> None:
    """It means what its body means."""
    text = str(module_of((1, 6, 6, 16), POOL))
    assert old in text
    module = parse(text.replace(old, new))
    compiled = gradient_of(module)
    assert not has_kernel(compiled)
    x = np.random.default_rng(0).integers(0, 9, (1, 6, 6, 16)).astype(np.float32)
    g = np.ones((1, 3, 3, 16), np.float32)
    np.testing.assert_allclose(compiled(x, g)[1], gradient_of(module, "numpy")(x, g)[1], rtol=1e-6)


def test_overlaps() -> None:
    """Elements and windows, place by place."""
    pick = random.Random(0)
    for _ in range(500):
        extent, window, stride, low, high = (pick.randint(*ends) for ends in ((1, 9), (1, 4), (1, 4), (0, 3), (0, 3)))
        places = (extent + low + high - window) // stride + 1
        if places < 1:
            continue
        overlap = Overlap(slide := Slide(extent, places, window, stride, 1, low))
        held: dict[int, list[int]] = {i: [p for p in range(places) if 0 <= i + low - p * stride < window] for i in range(extent)}
        for start, end, phases in overlap.phases:
            for block in range(start, end):
                for phase in phases:
                    windows = [block - v for v in overlap.holding(phase)]
                    assert [p for p in windows if 0 <= p < places] == held.pop(block * stride + phase - low)
                    assert all(p in overlap.windows for p in windows)
        assert not held
        assert all(slide.inside(p) == taps for start, end, taps in overlap.taps for p in range(start, end))
    assert MOST_SEGMENTS >= 9, "windows of two axes with a border on each side"
