"""Bindings hold the arrays that native code reads, and none that it has packed for its kernels."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_array as ma
import mind_runtime
import ptir_forms
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_runtime import bind
from native_checks import several

rng = np.random.default_rng(5)
F32 = ma.float32


def weights(*shape: int) -> Any:
    return rng.standard_normal(shape, dtype=np.float32)


def held_after(program: Any, array: Any) -> bool:
    """Return whether the only reference to an array is gone with its name; `array` is a list of it."""
    reference = weakref.ref(array.pop())
    gc.collect()
    assert program is not None
    return reference() is not None


def product(x: ma.Array, w: ma.Array) -> ma.Array:
    return ma.maximum(x @ w, 0.0)


def product_and_sum(x: ma.Array, w: ma.Array) -> ma.Array:
    return x @ w + ma.sum(w)


def product_and_weight(x: ma.Array, w: ma.Array) -> tuple[ma.Array, ma.Array]:
    return x @ w, w


def convolution(x: ma.Array, w: ma.Array) -> ma.Array:
    return ma.nn.conv(x, w, padding=1)


X, IMAGE = (64, 130), (1, 28, 28, 64)
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...]]] = {
    "product": (product, X, (130, 70)),
    "convolution": (convolution, IMAGE, (3, 3, 64, 128)),
}
"""Whose weights are packed, and read by nothing else."""


def bound(name: str, function: Callable[..., Any], x: tuple[int, ...], w: Any, **options: Any) -> Any:
    module = ma.trace(function, ma.spec(x, F32, name="x"), ma.spec(w.shape, F32, name="w", parameter=True))
    return bind(module, {"w": w}, target=name, **options)


@pytest.mark.parametrize("name", PROGRAMS)
def test_packed_weights_are_not_held(name: str) -> None:
    function, shape, of_weights = PROGRAMS[name]
    w, x = [weights(*of_weights)], weights(*shape)
    expected = bound("numpy", function, shape, w[0].copy())(x)
    program = bound("native", function, shape, w[0])
    assert not held_after(program, w)
    for _ in range(3):
        np.testing.assert_allclose(program(x), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("function", [product_and_sum, product_and_weight])
def test_weights_that_calls_read_are_held(function: Callable[..., Any]) -> None:
    w, x = [weights(130, 70)], weights(*X)
    expected = bound("numpy", function, X, w[0].copy())(x)
    program = bound("native", function, X, w[0])
    assert held_after(program, w)
    for one, other in zip(several(program(x)), several(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("name", PROGRAMS)
def test_calls_through_python_use_what_is_packed(name: str) -> None:
    function, shape, of_weights = PROGRAMS[name]
    w, x = [weights(*of_weights)], weights(*shape)
    program = bound("native", function, shape, w[0])
    expected = program(x)
    assert not held_after(program, w)
    doubled = np.repeat(x, 2, axis=-1)[..., ::2]
    out = np.empty_like(expected)
    assert not doubled.flags.c_contiguous
    assert program(x, out=out) is out
    for found in (out, program(doubled), program._slowly(x), program._slowly(x)):
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(MindError, match="E2001"):
        program(x.astype(np.float64))


def test_a_program_that_draws_packs_once() -> None:
    """Its calls go through Python, for the seed."""

    def noisy(x: Any, w: Any) -> Any:
        return ptir.AddOp(ptir_forms.dot(x, w, (1,), (0,)), ptir.RngUniformOp(shape=(64, 70), dtype="f32"))

    module, x, w = ptir_forms.program("f32[64,130] f32[130,70]", noisy), weights(*X), [weights(130, 70)]
    name = mind_runtime.compile(module).inputs[1].name
    expected = bind(module, {name: w[0].copy()})(x, seed=3)
    native = bind(module, {name: w[0]}, target="native")
    assert not held_after(native, w)
    for _ in range(2):
        np.testing.assert_allclose(native(x, seed=3), expected, rtol=1e-4, atol=1e-4)


def test_two_bindings_of_one_function_have_weights_of_their_own() -> None:
    x, ws = weights(*X), [weights(130, 70), weights(130, 70)]
    programs = [bound("native", product, X, w) for w in ws]
    for _ in range(2):
        for program, w in zip(programs, ws, strict=True):
            np.testing.assert_allclose(program._slowly(x), np.maximum(x @ w, 0), rtol=1e-4, atol=1e-4)


def test_a_binding_beside_calls_of_its_program() -> None:
    """The program packs weights in each call; frames that it keeps are those of a binding's calls too."""
    x, w, other = weights(*X), weights(130, 70), weights(130, 70)
    program = bound("native", product, X, w)
    for _ in range(2):
        np.testing.assert_allclose(program._slowly(x), np.maximum(x @ w, 0), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(program.program(x, other), np.maximum(x @ other, 0), rtol=1e-4, atol=1e-4)


def test_a_program_that_donates_holds_all_that_is_bound() -> None:
    """Its donated arguments may share memory with none of it, on any target."""

    def step(state: ma.Array, w: ma.Array) -> ma.Array:
        return product(state, w)

    module = ma.trace(step, ma.spec((64, 64), F32, name="state"), ma.spec((64, 64), F32, name="w", parameter=True))
    w = [weights(64, 64)]
    program = bind(module, {"w": w[0]}, target="native", donate=["state"])
    with pytest.raises(MindError, match="E2001"):
        program(w[0])
    assert held_after(program, w)
