"""
Random programs with branches, scans and loops, under every composition of the three passes.

Oracles: central differences, adjointness `<J v, g> = <v, J^T g>`, symmetry of the Hessian, and loops over examples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from mind_passes.autodiff import GradientOptions, differentiate
from mind_passes.derivatives.ptir import REVERSE
from mind_passes.forward import ForwardOptions, forward_mode
from mind_passes.functional import vmap
from ptir_batching import compiled
from ptir_smooth_programs import Maker
from ptir_wide_programs import WideMaker

Arrays = Sequence[np.ndarray]
Run = Callable[..., tuple[np.ndarray, ...]]
N = 2
"""Examples in a batch."""


def arguments(rng: np.random.Generator, batch: tuple[int, ...] = ()) -> list[np.ndarray]:
    floats = [rng.uniform(-1.5, 1.5, (*batch, *s)) for s in ((), (3,), (2, 3))]
    return [*floats, rng.random(batch) < 0.5, rng.integers(0, 4, batch).astype(np.int32)]


def directions(rng: np.random.Generator, batch: tuple[int, ...] = ()) -> list[np.ndarray]:
    return [rng.standard_normal((*batch, *s)) for s in ((), (3,), (2, 3))]


def difference(run: Run, xs: Arrays, vs: Arrays) -> np.ndarray | None:
    """The derivative of all results along `vs` by differences; None at a kink or a jump, where two step sizes disagree."""
    flat = lambda t: np.concatenate([np.ravel(y) for y in run(*[x + t * v for x, v in zip(xs, vs)], *xs[3:])])  # noqa: B905, E731
    one, half = ((8 * (flat(e) - flat(-e)) - (flat(2 * e) - flat(-2 * e))) / (12 * e) for e in (1e-4, 3e-5))
    return half if np.allclose(one, half, rtol=1e-6, atol=1e-7) else None


def inner(xs: Arrays, ys: Arrays) -> float:
    return float(sum(np.sum(x * y) for x, y in zip(xs, ys, strict=True)))


def close(a: Arrays | np.ndarray, b: Arrays | np.ndarray, rtol: float = 1e-9) -> None:
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol)


def first_order(module: ModuleOp, rng: np.random.Generator) -> None:
    xs, vs, gs = arguments(rng), directions(rng), [rng.standard_normal(()), rng.standard_normal((2, 3))]
    run = compiled(module, "f")
    ys = run(*xs)
    pushed = compiled(forward_mode(module, "f").module, "f_jvp")(*xs, *vs)
    pulled = compiled(differentiate(module, "f", GradientOptions(seed="cotangent")).module, "f_grad")(*xs, *gs)
    saving = GradientOptions(seed="cotangent", checkpoint="every-1")
    close(compiled(differentiate(module, "f", saving).module, "f_grad")(*xs, *gs), pulled, 1e-12)
    close(pushed[:2], ys, 1e-14)
    close(pulled[:2], ys, 1e-14)
    found, expected = inner(pushed[2:], gs), inner(pulled[2:], vs)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    if (numeric := difference(run, xs, vs)) is not None:
        np.testing.assert_allclose(np.concatenate([t.ravel() for t in pushed[2:]]), numeric, rtol=1e-5, atol=1e-5)


def second_order(module: ModuleOp, rng: np.random.Generator) -> None:
    """Forward over reverse, reverse over forward and reverse over reverse are one Hessian."""
    xs, vs, ws = arguments(rng), directions(rng), directions(rng)
    gradient = differentiate(module, "f", GradientOptions(output=0, keep_primal=False)).module
    run = compiled(gradient, "f_grad")
    product = compiled(forward_mode(gradient, "f_grad", ForwardOptions(keep_primal=False)).module, "f_grad_jvp")(*xs, *vs)
    twice = differentiate(gradient, "f_grad", GradientOptions(seed="cotangent", keep_primal=False)).module
    close(compiled(twice, "f_grad_grad")(*xs, *vs), product)
    tangent = forward_mode(module, "f", ForwardOptions(keep_primal=False)).module
    options = GradientOptions(output=0, keep_primal=False, wrt=(0, 1, 2))
    close(compiled(differentiate(tangent, "f_jvp", options).module, "f_jvp_grad")(*xs, *vs), product)
    other = compiled(twice, "f_grad_grad")(*xs, *ws)
    np.testing.assert_allclose(inner(product, ws), inner(other, vs), rtol=1e-8, atol=1e-8)
    if (numeric := difference(run, xs, vs)) is not None:
        np.testing.assert_allclose(np.concatenate([p.ravel() for p in product]), numeric, rtol=1e-4, atol=1e-4)


def batches(module: ModuleOp, rng: np.random.Generator) -> None:
    """A batch of gradients, a gradient of a batch and a batch of Jacobian-vector products against loops over the examples."""
    xs, vs = arguments(rng, (N,)), directions(rng, (N,))
    options = GradientOptions(output=0, keep_primal=False)
    gradient = differentiate(module, "f", options).module
    tangent = forward_mode(module, "f").module
    looped = [compiled(gradient, "f_grad")(*(x[i] for x in xs)) for i in range(N)]
    expected = [np.stack(each) for each in zip(*looped, strict=True)]
    close(compiled(vmap(gradient, "f_grad"), "f_grad_vmap")(*xs), expected)
    close(compiled(vmap(gradient, "f_grad", size=N), "f_grad_vmap")(*xs), expected)
    batch = vmap(module, "f", size=N)
    ones = GradientOptions(output=0, keep_primal=False, seed="ones")
    close(compiled(differentiate(batch, "f_vmap", ones).module, "f_vmap_grad")(*xs), expected)
    looped = [compiled(tangent, "f_jvp")(*(x[i] for x in (*xs, *vs))) for i in range(N)]
    expected = [np.stack(each) for each in zip(*looped, strict=True)]
    close(compiled(vmap(tangent, "f_jvp"), "f_jvp_vmap")(*xs, *vs), expected)
    close(compiled(forward_mode(batch, "f_vmap").module, "f_vmap_jvp")(*xs, *vs), expected)


# A seed, not hypothesis' own generator, which keeps programs small; so there is nothing to shrink.
SEEDS = st.integers(0, (1 << 32) - 1)
BUDGET = {"phases": (Phase.generate,)}


@settings(max_examples=14, **BUDGET)
@given(SEEDS)
def test_jvp_and_vjp_are_adjoint_and_agree_with_differences(seed: int):
    first_order(Maker(Random(seed)).module(6, 2), np.random.default_rng(seed))


@settings(max_examples=7, **BUDGET)
@given(SEEDS)
def test_there_is_one_hessian(seed: int):
    second_order(Maker(Random(seed)).module(4, 2), np.random.default_rng(seed))


@settings(max_examples=7, **BUDGET)
@given(SEEDS)
def test_batches_of_derivatives_and_derivatives_of_batches(seed: int):
    batches(Maker(Random(seed)).module(4, 2), np.random.default_rng(seed))


@settings(max_examples=10, **BUDGET)
@given(SEEDS)
def test_ops_of_every_family_agree_with_differences(seed: int):
    first_order(WideMaker(Random(seed)).module(6, 2), np.random.default_rng(seed))


@settings(max_examples=5, **BUDGET)
@given(SEEDS)
def test_ops_of_every_family_have_one_hessian(seed: int):
    second_order(WideMaker(Random(seed)).module(4, 2), np.random.default_rng(seed))


@settings(max_examples=5, **BUDGET)
@given(SEEDS)
def test_ops_of_every_family_in_batches(seed: int):
    batches(WideMaker(Random(seed)).module(4, 2), np.random.default_rng(seed))


def test_the_maximum_of_an_empty_segment_stays_finite():
    """This program has the cosine of such a maximum; of -inf neither the cosine nor its derivatives are numbers."""
    seed = 2029112995
    module = Maker(Random(seed)).module(7, 2)
    run = compiled(module, "f")
    assert any(op.name == "ptir.segment_reduce" for op in module.walk())
    assert all(np.isfinite(y).all() for y in run(*arguments(np.random.default_rng(seed))))
    first_order(module, np.random.default_rng(seed))


def test_the_programs_have_the_ops_with_derivatives_that_others_lack():
    """What is left has integers or no derivative, or is drawn, called, or packed by scales."""
    drawn = {op.name for seed in range(100) for op in WideMaker(Random(seed)).module(16, 1).walk()}
    left = {op.name.removeprefix("ptir.") for op in REVERSE if op.name.startswith("ptir.") and op.name not in drawn}
    assert left <= {
        *(
            "bitcast",
            "count_leading_zeros",
            "not",
            "or",
            "popcount",
            "shift_left",
            "shift_right_arithmetic",
            "shift_right_logical",
        ),
        *("xor", "truncate", "window_arg", "stop_gradient", "rng_normal", "rng_uniform", "custom_call"),
        *("quantize", "dequantize", "requantize"),
    }


def strays(module: ModuleOp) -> set[str]:
    """The ops outside of a module that use a value in it: each keeps an op from being seen as dead."""
    inside = set(module.walk())
    values = [v for op in inside for v in (*op.results, *(a for r in op.regions for block in r.blocks for a in block.args))]
    return {use.operation.name for v in values for use in v.uses if use.operation not in inside}


@pytest.mark.parametrize("maker", [Maker, WideMaker])
def test_no_rule_makes_an_op_that_is_left_out(maker: type[Maker]):
    for seed in range(12):
        module = maker(Random(seed)).module(8, 1)
        gradient = differentiate(module, "f", GradientOptions(seed="cotangent"))
        tangent = forward_mode(module, "f")
        for made in (gradient.module, tangent.module, vmap(module, "f", size=N)):
            assert strays(made) == set(), seed
