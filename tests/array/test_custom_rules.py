"""Functions with reverse rules of their own: `ma.custom_vjp` against JAX's, in every composition, and their programs."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mind_array as ma
from mind_dialect.errors import MindError
from mind_dialect.program import functions
from mind_dialect.verify import verify
from mind_passes.inline import inline_module

X = np.linspace(-1.5, 1.25, 6, dtype=np.float32).reshape(2, 3)
OURS = SimpleNamespace(np=ma, grad=ma.grad, vmap=ma.vmap, scan=ma.scan, cond=ma.cond, jit=ma.jit, checkpoint=ma.checkpoint)
OURS.custom_vjp, OURS.while_loop = ma.custom_vjp, ma.while_loop


def saturated(lib: Any) -> Any:
    """Twice the derivative of tanh, from its result; the forward rule calls the function itself."""

    @lib.custom_vjp
    def f(x: Any) -> Any:
        return lib.np.tanh(x)

    def forward(x: Any) -> Any:
        y = f(x)
        return y, y

    f.defvjp(forward, lambda y, g: (2 * g * (1 - y * y),))
    return f


def scaled(lib: Any) -> Any:
    """A product, whose rule knows no gradient by the scale, has residuals in a dict and a result of two parts."""

    @lib.custom_vjp
    def f(x: Any, scale: Any) -> Any:
        return {"a": x * scale["s"], "b": lib.np.sum(x)}

    def forward(x: Any, scale: Any) -> Any:
        return f(x, scale), {"x": x, "s": scale["s"]}

    f.defvjp(forward, lambda r, g: (3 * g["a"] * r["s"] * r["x"] + g["b"], None))
    return f


def itself(lib: Any) -> Any:
    """A function whose backward rule calls it: its second derivative is the rule of the rule."""

    @lib.custom_vjp
    def f(x: Any) -> Any:
        return lib.np.exp(x)

    f.defvjp(lambda x: (f(x), x), lambda x, g: (g * f(x) + x,))
    return f


def outer(lib: Any) -> Any:
    """A function with a rule whose forward rule calls another one."""
    inner = saturated(lib)

    @lib.custom_vjp
    def f(x: Any) -> Any:
        return inner(x) * x

    f.defvjp(lambda x: (f(x), (x, inner(x))), lambda r, g: (g * (r[0] * r[1] + inner(r[0])),))
    return f


FUNCTIONS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "saturated": saturated,
    "scaled": lambda lib: lambda x: (y := scaled(lib)(x, {"s": x[..., :1] + 2}))["a"] * y["b"],
    "itself": itself,
    "outer": outer,
}


def _loss(lib: Any, f: Any) -> Callable[[Any], Any]:
    return lambda x: lib.np.sum(f(x) * x)


def _second(lib: Any, f: Any) -> Any:
    return lib.grad(lambda x: lib.np.sum(lib.grad(_loss(lib, f))(x) ** 2))


COMPOSITIONS: dict[str, Callable[[Any, Any], Callable[[Any], Any]]] = {
    "value": _loss,
    "grad": lambda lib, f: lib.grad(_loss(lib, f)),
    "grad of grad": _second,
    "grad of grad of grad": lambda lib, f: lib.grad(lambda x: lib.np.sum(_second(lib, f)(x) ** 2)),
    "jit of grad of grad": lambda lib, f: lib.jit(_second(lib, f)),
    "vmap of grad": lambda lib, f: lib.vmap(lib.grad(_loss(lib, f))),
    "grad of vmap": lambda lib, f: lib.grad(lambda x: lib.np.sum(lib.vmap(_loss(lib, f))(x) ** 2)),
    "vmap of vmap of grad": lambda lib, f: lambda x: lib.vmap(lib.vmap(lib.grad(_loss(lib, f))))(x[None]),
    "two batches": lambda lib, f: lambda x: lib.np.sum(lib.vmap(f)(x) ** 2) * lib.np.sum(lib.vmap(f)(x[:1]) ** 3),
    "grad of scan": lambda lib, f: lib.grad(
        lambda x: lib.np.sum(lib.scan(lambda c, v: (f(c) * v, lib.np.sum(f(v))), x[0], x)[0] ** 2)
    ),
    "grad of scan of vmap": lambda lib, f: lib.grad(
        lambda x: lib.np.sum(lib.scan(lambda c, v: (c + lib.np.sum(lib.vmap(f)(v[None])), f(v)), 0.5 * x[0, 0], x)[1] ** 2)
    ),
    "grad of cond": lambda lib, f: lib.grad(lambda x: lib.np.sum(lib.cond(x[0, 0] < 0, lambda y: f(y), lambda y: y, x) ** 2)),
    "while of grad": lambda lib, f: (
        lambda x: lib.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, lib.grad(_loss(lib, f))(c[1])), (0, x))[1]
    ),
    "grad of checkpoint": lambda lib, f: lib.grad(lambda x: lib.np.sum(lib.checkpoint(lambda y: f(lib.np.sin(y)))(x) ** 2)),
}


@pytest.mark.parametrize("composition", COMPOSITIONS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_results_are_those_of_jax(function: str, composition: str):
    jax = pytest.importorskip("jax", reason="JAX is not installed: no oracle")
    theirs = SimpleNamespace(np=jax.numpy, grad=jax.grad, vmap=jax.vmap, scan=jax.lax.scan, cond=jax.lax.cond, jit=jax.jit)
    theirs.custom_vjp, theirs.while_loop, theirs.checkpoint = jax.custom_vjp, jax.lax.while_loop, jax.checkpoint
    found, expected = (COMPOSITIONS[composition](lib, FUNCTIONS[function](lib)) for lib in (OURS, theirs))
    wanted = np.asarray(expected(X))
    np.testing.assert_allclose(np.asarray(found(X)), wanted, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(np.asarray(ma.jit(found, target="native")(X)), wanted, rtol=2e-5, atol=2e-5)


def _clipped() -> Any:
    @ma.custom_vjp
    def clip(x: Any, limit: Any) -> Any:
        return x

    clip.defvjp(lambda x, limit: (x, limit), lambda limit, g: (ma.clip(g, -limit, limit), None))
    return clip


def test_a_program_calls_functions_whose_rules_are_in_its_module():
    clip = _clipped()
    module = ma.trace(lambda x: ma.sum(clip(x, 1.0) * clip(x, 1.0)) + ma.sum(clip(x, 2.0)), ma.spec((3,)))
    verify(module)
    main, clip_function, rule = functions(module)
    assert str(main).count("func.call @clip(") == 3
    assert str(clip_function).splitlines() == [
        "func.func private @clip(%x: tensor<3xf64>, %limit: tensor<f64>, %result: tensor<3xf64>, %residuals: tensor<f64>) -> "
        "tensor<3xf64> attributes {mind.vjp = @clip_vjp, mind.vjp_wrt = array<i64: 0>} {",
        "  func.return %result : tensor<3xf64>",
        "}",
    ]
    assert str(rule).startswith(
        "func.func private @clip_vjp(%x: tensor<3xf64>, %limit: tensor<f64>, %result: tensor<3xf64>, "
        "%residuals: tensor<f64>, %cotangent: tensor<3xf64>) -> tensor<3xf64> {\n  %0 = ptir.neg %residuals"
    )
    inline_module(module)
    assert "ptir.neg" not in str(next(functions(module)))


def test_functions_of_other_types_or_batches_get_names_of_their_own():
    clip = _clipped()

    def f(x: Any) -> Any:
        return ma.sum(ma.vmap(clip)(x, x)) + ma.sum(clip(x[0], 1.0)) + ma.sum(ma.vmap(clip)(x[:1], x[:1]))

    x = np.array([[0.5, 3.0], [-4.0, 1.0]])
    module = ma.trace(ma.grad(f), ma.spec((2, 2)))
    verify(module)
    names = [func.sym_name.data for func in functions(module)]
    assert len(names) == len(set(names)) > 6
    np.testing.assert_allclose(np.asarray(ma.grad(f)(x)), np.clip(1, -x, x) + np.array([[1 + np.clip(1, -0.5, 0.5), 2], [0, 0]]))


def test_a_function_that_is_traced_alone_leaves_its_name_to_it():
    clip = _clipped()
    assert [func.sym_name.data for func in functions(ma.trace(clip, ma.spec((3,)), 1.0))] == ["clip", "clip_1", "clip_vjp"]
    np.testing.assert_array_equal(np.asarray(ma.vmap(clip)(np.ones((2, 3)), np.ones(2))), np.ones((2, 3)))
    np.testing.assert_array_equal(np.asarray(ma.grad(lambda x: clip(x, 0.5))(3.0)), 0.5)


def test_rules_capture_arrays_and_these_are_constants_for_derivatives():
    weights = ma.asarray(np.array([1.0, 2.0, 3.0]))

    def loss(w: Any, x: Any) -> Any:
        @ma.custom_vjp
        def f(x: Any) -> Any:
            return x * w

        f.defvjp(lambda x: (x * w, None), lambda r, g: (g * w * weights,))
        return ma.sum(f(x) * w)

    w, x = np.array([2.0, 3.0, 4.0]), np.array([1.0, -1.0, 0.5])
    for gradient in (ma.grad(loss, argnums=(0, 1)), ma.jit(ma.grad(loss, argnums=(0, 1)), target="native")):
        by_w, by_x = gradient(w, x)
        np.testing.assert_allclose(np.asarray(by_w), x * w)  # not of the w that the rule captures
        np.testing.assert_allclose(np.asarray(by_x), w * w * np.asarray(weights))
    scanned = ma.grad(lambda x: ma.scan(lambda c, v: (c + loss(v + w, w * x), None), 0.0, w)[0])
    np.testing.assert_allclose(np.asarray(scanned(1.0)), sum(((v + w) ** 2 * np.asarray(weights) * w).sum() for v in w))


def test_a_rule_that_calls_its_function_has_so_many_derivatives_and_then_an_error():
    f = itself(OURS)
    g = f
    for _ in range(3):
        g = ma.grad(g)
    np.testing.assert_allclose(float(g(0.5)), np.exp(0.5) + 0.5 + 1, rtol=1e-12)  # f' = f + x, f'' = f + x + 1 = f'''
    with pytest.raises(MindError, match=r"E5001: .*@itself|E5001: .*derivative rule of its own") as caught:
        ma.grad(g)(0.5)
    assert "test_custom_rules.py" in str(caught.value)


WRONG: dict[str, tuple[Callable[..., Any], Callable[..., Any], str]] = {
    "no pair": (lambda x: x, lambda r, g: (g,), r"E1104: custom_vjp f: forward returns TracedArray, expected \(result, res"),
    "residuals that are no arrays": (lambda x: (x, "a"), lambda r, g: (g,), "E1105: custom_vjp f: residuals is a str"),
    "a result that is no array": (lambda x: ("a", x), lambda r, g: (g,), "E1105: custom_vjp f: result is a str"),
    "another number of adjoints": (lambda x: (x, x), lambda r, g: (g, g), "E2007: custom_vjp f: backward returns 2 adjoints"),
    "another container": (lambda x: (x, x), lambda r, g: ([g],), "E1104: custom_vjp f: backward returns"),
    "another shape": (lambda x: (x, x), lambda r, g: (ma.sum(g),), "E2001: custom_vjp f: backward returns float64.. for arg"),
    "another dtype": (lambda x: (x, x), lambda r, g: (ma.astype(g, ma.float32),), "E2001: custom_vjp f: backward returns float3"),
    "text as an adjoint": (lambda x: (x, x), lambda r, g: ("g",), "E2001: f: x is a str"),
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_of_rules_are_coded_errors_at_the_line_of_the_call(name: str):
    forward, backward, message = WRONG[name]

    @ma.custom_vjp
    def f(x: Any) -> Any:
        return x

    f.defvjp(forward, backward)
    with pytest.raises(MindError, match=message) as caught:
        ma.grad(lambda x: ma.sum(f(x)))(np.ones(3))
    assert "test_custom_rules.py:" in str(caught.value)


def test_saved_programs_and_modules_with_rules_run_and_differentiate(tmp_path: Any):
    clip = _clipped()

    def f(x: Any) -> Any:
        return ma.sum(clip(x, 1.0) ** 2)

    x = np.array([0.25, 3.0])
    ma.save(tmp_path / "f.mlir", ma.jit(f).lower(x))
    assert float(ma.load(tmp_path / "f.mlir")(x)) == 9.0625
    again = ma.from_module(ma.trace(f, ma.spec((2,))), "f")
    np.testing.assert_array_equal(np.asarray(ma.grad(again)(x)), [0.5, 1.0])
