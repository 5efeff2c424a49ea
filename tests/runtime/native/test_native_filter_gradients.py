"""
Gradients of filters on the native target, against their definition written out with NumPy in a wider precision.

A sum of K products may be off by K * eps * (sum of the magnitudes).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

pytest.importorskip("llvmlite")

import mind_array as ma
import mind_runtime
from machines import RUNNABLE
from mind_array import Array
from mind_dialect.program import functions
from mind_lowering import code_cache as cache
from mind_lowering.native.convolutions import blocks, convolution, plan
from mind_lowering.native.convolutions.convolution import ENOUGH, Convolution, ConvolutionStep
from mind_lowering.native.host import CHECKS_VARIABLE, ISA_VARIABLE
from mind_lowering.native.program import planned, prepared
from mind_lowering.native.target_info import TARGETS, TargetInfo
from mind_passes.functional import vjp
from native_text import load_backwards


@pytest.fixture(autouse=True)
def _nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of one run is found by another."""
    monkeypatch.setenv(cache.VARIABLE, "")


@dataclass(frozen=True)
class Filter:
    """A convolution: images, extents, the window and so on, one number per axis."""

    images: int
    extents: tuple[int, ...]
    window: tuple[int, ...]
    inputs: int
    outputs: int
    groups: int = 1
    strides: tuple[int, ...] = ()
    padding: tuple[tuple[int, int], ...] = ()
    dilation: tuple[int, ...] = ()

    def options(self) -> dict[str, Any]:
        ones = (1,) * len(self.window)
        padding = self.padding or ((0, 0),) * len(self.window)
        return {"stride": self.strides or ones, "padding": padding, "dilation": self.dilation or ones}

    @property
    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        channels = self.inputs * self.groups
        return (self.images, *self.extents, channels), (*self.window, self.inputs, self.outputs * self.groups)

    @property
    def places(self) -> tuple[int, ...]:
        o = self.options()
        each = zip(self.extents, self.window, o["stride"], o["padding"], o["dilation"], strict=True)
        return tuple((n + sum(pads) - (k - 1) * d - 1) // s + 1 for n, k, s, pads, d in each)


def module_of(form: Filter, dtype: Any = np.float32) -> ModuleOp:
    """A convolution, and its derivative in the filter."""

    return vjp(ma.trace(convolution_of(form), *specs_of(form, dtype)), wrt=["w"])


def convolution_of(form: Filter) -> Callable[[Array, Array], Array]:
    def convolved(x: Array, w: Array) -> Array:
        return ma.nn.conv(x, w, groups=form.groups, **form.options())

    return convolved


def specs_of(form: Filter, dtype: Any) -> list[Any]:
    return [ma.spec(shape, dtype, name=name) for name, shape in zip("xw", form.shapes, strict=True)]


def gradient(form: Filter, dtype: Any = np.float32) -> Any:
    """The program of the filter's gradient, on the native target."""
    return mind_runtime.compile(module_of(form, dtype), "convolved_grad", target="native")


def defined(form: Filter, x: Any, g: Any) -> Any:
    """The definition: at each place of the window, the elements that it meets times the cotangents there."""
    options, (_, shape) = form.options(), form.shapes
    padded = np.pad(x, ((0, 0), *options["padding"], (0, 0)))
    found = np.zeros(shape, x.dtype)
    split = g.reshape(*g.shape[:-1], form.groups, form.outputs)
    for tap in product(*map(range, form.window)):
        cut = [
            slice(t * d, t * d + (n - 1) * s + 1, s)
            for t, d, n, s in zip(tap, options["dilation"], form.places, options["stride"], strict=True)
        ]
        met = padded[(slice(None), *cut)].reshape(*g.shape[:-1], form.groups, form.inputs)
        found[tap] = np.einsum("pgi,pgj->igj", *(v.reshape(-1, *v.shape[-2:]) for v in (met, split))).reshape(shape[-2:])
    return found


def arrays(form: Filter, dtype: Any = np.float32) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    shapes = *form.shapes, (form.images, *form.places, form.outputs * form.groups)
    return tuple(rng.standard_normal(shape).astype(dtype) for shape in shapes)  # type: ignore[return-value]


def check(form: Filter, dtype: Any = np.float32) -> Any:
    """Check the gradient against its definition; the program."""
    x, w, g = arrays(form, dtype)
    program = gradient(form, dtype)
    _, found = program(x, w, g)
    wide = np.longdouble if dtype is np.float64 else np.float64
    expected = defined(form, x.astype(wide), g.astype(wide))
    size = defined(form, abs(x.astype(wide)), abs(g.astype(wide)))
    assert found.shape == expected.shape
    assert np.all(abs(found - expected) <= form.images * prod(form.places) * np.finfo(dtype).eps * size)
    return program


SAME = ((1, 1), (1, 1))
FORMS = {
    "each channel by itself": Filter(2, (14, 15), (3, 3), 1, 1, 40, padding=SAME),
    "each channel by itself, strides": Filter(1, (21, 20), (5, 5), 1, 1, 19, (2, 2), ((2, 2), (2, 1))),
    "each channel by itself, a stride longer than the window": Filter(2, (40, 17), (2, 1), 1, 1, 33, (3, 4)),
    "each channel by itself, an axis, dilation": Filter(3, (70,), (3,), 1, 1, 16, padding=((2, 2),), dilation=(2,)),
    "dense": Filter(2, (14, 14), (3, 3), 8, 24, padding=SAME),
    "dense, strides leave a rest": Filter(1, (18, 19), (3, 2), 5, 7, strides=(2, 3), padding=((0, 1), (2, 0))),
    "dense, dilation": Filter(2, (16, 17), (3, 3), 4, 17, padding=((2, 2), (3, 1)), dilation=(2, 3)),
    "few inputs": Filter(1, (30, 31), (7, 7), 3, 32, strides=(2, 2), padding=((3, 3), (3, 3))),
    "groups": Filter(2, (12, 12), (3, 3), 8, 16, 3, padding=SAME),
    "groups of one output": Filter(2, (12, 12), (3, 3), 3, 1, 5, padding=SAME),
    "three axes": Filter(2, (6, 7, 8), (2, 3, 2), 3, 4, padding=((0, 1), (1, 1), (1, 0))),
    "more padding than image": Filter(2, (9, 9), (3, 3), 2, 3, padding=((9, 9), (0, 0))),
    "an image of one place": Filter(70, (3, 3), (3, 3), 2, 9),
    "no images": Filter(0, (9, 9), (3, 3), 2, 3),
}
EVERY = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


@EVERY
def test_forms(form: Filter, monkeypatch: pytest.MonkeyPatch) -> None:
    """With checks of every place that is touched."""
    monkeypatch.setenv(CHECKS_VARIABLE, "1")
    program = check(form)
    assert "0 ops on NumPy" in program.explain()[0]
    assert not form.images or any("convolution.1: convolution" in line for line in program.explain())


ORDERS = {"channels last": (0, 1, 2, 3), "channels first": (0, 3, 1, 2), "images last": (3, 1, 2, 0), "rows first": (1, 0, 3, 2)}
"""Axes of images, which are places in two axes between images and channels, in the order of memory."""


@pytest.mark.exhaustive
@pytest.mark.parametrize("outputs", [24, 128])
@pytest.mark.parametrize("of_places", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("of_image", ORDERS.values(), ids=ORDERS)
def test_orders_of_axes(
    of_image: tuple[int, ...], of_places: tuple[int, ...], outputs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 128 outputs neighbouring places are 512 bytes apart, in few sets of a cache."""
    monkeypatch.setenv(CHECKS_VARIABLE, "1")
    form = Filter(2, (9, 10), (3, 3), 12, outputs, padding=SAME)
    made = in_small_caches(monkeypatch, 6000)
    x, w, g = arrays(form)
    convolved = convolution_of(form)

    def turned(x: Array, w: Array) -> Array:
        return ma.permute_dims(convolved(ma.permute_dims(x, np.argsort(of_image).tolist()), w), of_places)

    given = x.transpose(of_image).copy(), w, g.transpose(of_places).copy()
    specs = [ma.spec(a.shape, np.float32, name=name) for name, a in zip("xw", given[:2], strict=True)]
    program = mind_runtime.compile(vjp(ma.trace(turned, *specs), wrt=["w"]), "turned_grad", target="native")
    _, found = program(*given)
    expected, size = (defined(form, *(f(v.astype(np.float64)) for v in (x, g))) for f in (np.asarray, np.abs))
    assert np.all(abs(found - expected) <= form.images * prod(form.places) * np.finfo(np.float32).eps * size)
    assert any(it.blocks > 1 for it in made)


def in_small_caches(monkeypatch: pytest.MonkeyPatch, size: int) -> list[Convolution]:
    """Take every window for long, and caches for small, so that windows are cut into blocks; the convolutions to come."""
    found: list[Convolution] = []

    def small(host: TargetInfo, it: Convolution) -> Convolution:
        found.append(blocks.in_blocks(replace(host, l2_bytes=size), it))
        return found[-1]

    monkeypatch.setattr(convolution, "LONG", 2)
    monkeypatch.setattr(convolution, "LONGER", 0)
    monkeypatch.setattr(convolution, "UNIT", 1)
    monkeypatch.setattr(plan, "in_blocks", small)
    return found


@pytest.mark.exhaustive
@pytest.mark.parametrize("size", [600, 6000])
@EVERY
def test_forms_in_blocks(form: Filter, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHECKS_VARIABLE, "1")
    made = in_small_caches(monkeypatch, size)
    check(form)
    assert size > 600 or not form.images or any(it.blocks > 1 for it in made)


@pytest.mark.parametrize("seed", range(30))
def test_random_forms(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pick = random.Random(seed)
    monkeypatch.setenv(ISA_VARIABLE, pick.choice(RUNNABLE))
    if seed % 3:
        in_small_caches(monkeypatch, pick.choice((300, 2000)))
    rank = pick.choice((1, 2, 2, 3))

    def some(*numbers: int) -> tuple[int, ...]:
        return tuple(pick.choice(numbers) for _ in range(rank))

    window, dilation = some(1, 2, 3, 4), some(1, 1, 2)
    extents = tuple(pick.randint((k - 1) * d + 1, 13) for k, d in zip(window, dilation, strict=True))
    padding = tuple((pick.randrange(3), pick.randrange(3)) for _ in range(rank))
    inputs, outputs, groups = pick.choice(((1, 1, 8), (1, 1, 21), (8, 16, 1), (3, 5, 2), (1, 2, 3), (4, 1, 4)))
    form = Filter(pick.choice((1, 2, 8)), extents, window, inputs, outputs, groups, some(1, 1, 2, 3), padding, dilation)
    check(form, pick.choice((np.float32, np.float64)))


@pytest.mark.parametrize("size", [600, 1 << 20])
@pytest.mark.parametrize("at", [(0, 0, 0, 1), (0, 0, 5, 1), (0, 13, 13, 1), (1, 6, 7, 1)])
@pytest.mark.parametrize("name", ["each channel by itself", "dense"])
def test_an_infinite_cotangent_meets_the_padding(
    name: str, at: tuple[int, ...], size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """0 times infinity is NaN, as on the NumPy target."""
    form = FORMS[name]
    in_small_caches(monkeypatch, size)
    x, _, g = arrays(form)
    g[at] = np.inf
    _, found = gradient(form)(x, np.zeros(form.shapes[1], np.float32), g)
    with np.errstate(invalid="ignore"):
        expected = defined(form, x.astype(np.float64), g.astype(np.float64))
    for test in (np.isnan, np.isposinf, np.isneginf):
        np.testing.assert_array_equal(test(found), test(expected))


@pytest.mark.parametrize("name", ["each channel by itself", "dense", "groups"])
def test_results_do_not_depend_on_how_work_is_shared_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each unit of every kernel by itself, the last one first."""
    form = FORMS[name]
    in_small_caches(monkeypatch, 600)
    given = arrays(form)
    _, whole = gradient(form)(*given)

    split = load_backwards(monkeypatch)
    mind_runtime.clear_cache()
    _, found = gradient(form)(*given)
    assert sum(split) > 1
    assert found.tobytes() == whole.tobytes()


@pytest.mark.parametrize(
    "form",
    [
        Filter(8, (56, 56), (3, 3), 1, 1, 128, padding=SAME),
        Filter(8, (56, 56), (3, 3), 64, 64, padding=SAME),
        Filter(8, (56, 56), (3, 3), 64, 128, strides=(2, 2), padding=SAME),
        Filter(8, (28, 28), (3, 3), 16, 16, 8, padding=SAME),
        Filter(8, (14, 14), (3, 3), 256, 256, padding=SAME),
    ],
    ids=str,
)
@pytest.mark.parametrize("isa", ["avx512", "avx2", "neon"])
def test_no_patches_are_stored(form: Filter, isa: str) -> None:
    """Temporaries take less than an image and its cotangents: their panels, those of a filter, its gradient in parts."""
    (func,) = (f for f in functions(module_of(form)) if f.sym_name.data == "convolved_grad")
    plan = planned(prepared(func, TARGETS[isa]), TARGETS[isa])
    image, filter = (4 * prod(shape) for shape in form.shapes)
    columns = form.outputs * form.groups
    panels = 4.8 * form.images * prod(form.places) * columns if columns % 128 == 0 and form.inputs > 1 else 0
    assert plan.arena < max(image / 2, 3 * filter) + panels


@pytest.mark.parametrize("strides", [(1, 1), (2, 2)])
@pytest.mark.parametrize("isa", ["avx512", "avx2", "baseline", "neon"])
def test_kernels_of_channels_by_themselves_are_shared(strides: tuple[int, ...], isa: str) -> None:
    """They multiply little for what they move: the value, the gradient of the filter, and that of the images in phases."""

    def steps(form: Filter) -> list[Convolution]:
        module = vjp(ma.trace(convolution_of(form), *specs_of(form, np.float32)))
        (func,) = (f for f in functions(module) if f.sym_name.data == "convolved_grad")
        kernels = planned(prepared(func, TARGETS[isa]), TARGETS[isa]).planner.kernels.values()
        return [k.step.convolution for k in kernels if isinstance(k.step, ConvolutionStep)]

    every = steps(Filter(8, (56, 56), (3, 3), 1, 1, 128, strides, SAME))
    assert len(every) == (3 if strides == (1, 1) else 6)
    assert min(prod(it.grid) for it in every) >= ENOUGH
    assert {prod(it.grid) for it in steps(Filter(1, (6, 6), (3, 3), 1, 1, 8, strides, SAME))} == {1}
