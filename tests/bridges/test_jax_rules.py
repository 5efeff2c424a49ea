"""What JAX says of derivatives comes with its functions: `stop_gradient`, custom rules of users and of JAX itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

from mind_dialect.errors import MindError
from mind_dialect.program import functions
from mind_dialect.verify import verify
from mind_passes.autodiff import GradientOptions, differentiate
from mind_passes.derivatives.custom import JVP, VJP
from mind_passes.forward import forward_mode
from mind_passes.functional import value_and_grad
from mind_passes.vectorize import VectorizeOptions, vectorize
from mind_runtime import compile

jax = pytest.importorskip("jax", reason="JAX is not installed")
import jax.numpy as jnp  # noqa: E402, after the skip
from jax import lax  # noqa: E402, after the skip

from mind_bridges.jax import from_jax  # noqa: E402, after the skip
from mind_bridges.jax_rules import MOST_ORDERS  # noqa: E402, after the skip

WEIGHTS = jnp.arange(4.0) + 1
X = np.array([-1.5, 0.0, 0.0, 2.0], np.float32)
"""Zeros, where rules differ from the derivatives of the ops."""


@jax.custom_vjp
def clipped(x: Any, limit: Any, label: Any) -> Any:
    return x * limit + label


def clipped_forward(x: Any, limit: Any, label: Any) -> Any:
    return clipped(x, limit, label), (x, limit)


clipped.defvjp(clipped_forward, lambda saved, g: (jnp.clip(g, -saved[1], saved[1]), jnp.sum(saved[0] * g), None))


@jax.custom_jvp
def scaled(x: Any) -> Any:
    return jnp.sin(x)


@scaled.defjvp
def scaled_rule(primals: Any, tangents: Any) -> Any:
    return scaled(primals[0]), 3 * jnp.cos(primals[0]) * scaled(primals[0]) * tangents[0]


@jax.custom_vjp
def pair(x: Any, y: Any) -> Any:
    return x + y, jnp.argmax(x)


pair.defvjp(lambda x, y: (pair(x, y), None), lambda _, gs: (2 * gs[0], 5 * gs[0]))


def step(c: Any, row: Any) -> Any:
    return scaled(c) + clipped(row, 0.5, 1), c


def in_scan(x: Any) -> Any:
    return jnp.sum(lax.scan(step, x, jnp.stack([x, 2 * x]))[0])


def unrolled(x: Any) -> Any:
    """What `in_scan` computes; its second derivatives in JAX go through the rules, those of a scan past them."""
    return jnp.sum(step(step(x, x)[0], 2 * x)[0])


def in_cond(x: Any) -> Any:
    return jnp.sum(lax.cond(jnp.sum(x) > 0, scaled, lambda y: -y, x))


def in_jit(x: Any) -> Any:
    layer = jax.jit(lambda y: scaled(y) * 2)
    return jnp.sum(layer(layer(x)))


@jax.custom_jvp
def weighted(x: Any) -> Any:
    return jax.jit(lambda y: y * jnp.asarray(X) ** 2)(x)


weighted.defjvp(lambda xs, ts: (weighted(*xs), jnp.asarray(X) * ts[0]))


@partial(jax.custom_jvp, nondiff_argnums=(0,))
@jax.jit
def powered(n: Any, x: Any) -> Any:
    return x**n


@powered.defjvp
@jax.jit
def powered_rule(n: Any, primals: Any, tangents: Any) -> Any:
    """Capture a traced `n` in the rule of the second `powered`, which JAX thus derives once only, as that of `expn`."""
    return powered(n, primals[0]), tangents[0] * n * powered(n - 1, primals[0])


@jax.custom_vjp
def cubed(x: Any) -> Any:
    return x**3 * WEIGHTS


cubed.defvjp(lambda x: (cubed(x), x), lambda x, g: (2 * g * x**2 * WEIGHTS,))


@jax.custom_jvp
def squared(x: Any) -> Any:
    return x**2 * WEIGHTS


squared.defjvp(lambda xs, ts: (squared(*xs), 3 * xs[0] * ts[0] * WEIGHTS))


def repeated(f: Callable[[Any], Any], x: Any) -> Any:
    """A function in the bodies of a scan, of a loop and of branches, to which JAX passes the arrays that it captures."""
    x = lax.scan(lambda h, row: (jnp.tanh(f(h)) + row, h), x, jnp.stack([x, 2 * x]))[0]
    x = lax.fori_loop(0, 2, lambda _, h: jnp.tanh(f(h / 2)) + x, x)
    return jnp.sum(lax.cond(jnp.sum(x) > 100, jnp.sin, lambda y: f(y / 2), x))


def matrix(x: Any) -> Any:
    return 3 * jnp.eye(4) + jnp.outer(x, x + 1) - jnp.outer(x**2, x)


def filtered(x: Any) -> Any:
    """Solve a system of each step's matrix, as Kalman filters do."""
    return jnp.sum(lax.scan(lambda c, r: (jnp.linalg.solve(matrix(c / 4), r), c), x, jnp.stack([x + 1, 2 * x]))[0])


def conjugate_gradients(x: Any) -> Any:
    a = matrix(x) @ matrix(x).T
    return jnp.sum(jax.scipy.sparse.linalg.cg(lambda v: a @ v, x + 2, maxiter=8)[0])


def root(x: Any) -> Any:
    def solve(f: Any, start: Any) -> Any:
        return lax.fori_loop(0, 20, lambda _, v: v - f(v) / (3 * v**2 + 1), start)

    return lax.custom_root(lambda v: v**3 + v - jnp.sum(x**2), 1.0, solve, lambda g, y: y / g(1.0))


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "stop_gradient": lambda x: jnp.sum(lax.stop_gradient(x) * x),
    "stop_gradient of integers": lambda x: jnp.sum(x * lax.stop_gradient(jnp.arange(4))),
    "stop_gradient in a scan": lambda x: jnp.sum(lax.scan(lambda c, r: (c * lax.stop_gradient(r), c), x, jnp.stack([x, x]))[0]),
    "custom_vjp": lambda x: jnp.sum(10 * clipped(x, 1.5, 2) ** 2),
    "custom_vjp of a literal": lambda x: jnp.sum(clipped(1.0, x[0], 2)),
    "custom_vjp of one value twice": lambda x: jnp.sum(clipped(x[0], x[0], 2) ** 2),
    "custom_vjp of a captured array": lambda x: jnp.sum(clipped(jnp.asarray(X) * 2, x[3], 2)),
    "custom_jvp": lambda x: jnp.sum(scaled(x) ** 2),
    "several results": lambda x: jnp.sum(pair(x, 2 * x)[0] ** 2) + pair(x, x)[1],
    "scan": in_scan,
    "cond": in_cond,
    "jit": in_jit,
    "vmap": lambda x: jnp.sum(jax.vmap(scaled)(x)),
    "vmap of custom_vjp": lambda x: jnp.sum(jax.vmap(clipped, (0, None, None))(x, 0.5, 1) ** 2),
    "checkpoint": lambda x: jnp.sum(jax.checkpoint(lambda y: scaled(scaled(y)))(x)),
    "grad inside": lambda x: jnp.sum(jax.grad(lambda y: jnp.sum(scaled(y) ** 2))(x)),
    "relu": lambda x: jnp.sum(jax.nn.relu(x)),
    "relu6": lambda x: jnp.sum(jax.nn.relu6(x) ** 2),
    "logaddexp": lambda x: jnp.sum(jnp.logaddexp(x, -x)),
    "xlogy": lambda x: jnp.sum(jax.scipy.special.xlogy(x, x + 3)),
    "i0": lambda x: jnp.sum(jnp.i0(x)),
    "sinc": lambda x: jnp.sum(jnp.sinc(x)),
    "softmax": lambda x: jnp.sum(jax.nn.softmax(x) * jnp.arange(4)),
    "custom_jvp of a body with an array": lambda x: jnp.sum(weighted(x) + weighted(x + 1)),
    "custom_jvp that captures an array": lambda x: jnp.sum(squared(x)) + jnp.sum(jax.jit(lambda y: squared(y))(x + 1)),
    "custom_vjp that captures an array": lambda x: jnp.sum(cubed(x)) + jnp.sum(jax.jit(lambda y: cubed(y))(x + 1)),
    "custom_jvp that captures an array, in loops": lambda x: repeated(squared, x),
    "custom_vjp that captures an array, in loops": lambda x: repeated(cubed, x),
    "betainc": lambda x: jnp.sum(jax.scipy.special.betainc(2.0, jnp.arange(4.0) + 1, jax.nn.sigmoid(x)) * x),
    "distribution of Student's t": lambda x: jnp.sum(jax.scipy.special.betainc(2.5, 0.5, 5 / (5 + (x + 0.25) ** 2))),
    "solve": lambda x: jnp.sum(jnp.linalg.solve(matrix(x), x + 2) ** 2),
    "solve of a literal": lambda x: jnp.sum(jnp.linalg.solve(matrix(x), jnp.ones((4, 2)))),
    "solve in a scan": filtered,
    "inverse": lambda x: jnp.sum(jnp.linalg.inv(matrix(x))),
    "determinant": lambda x: jnp.linalg.det(matrix(x)) + jnp.linalg.slogdet(matrix(x))[1],
    "conjugate gradients": conjugate_gradients,
    "root": root,
    "gammainc": lambda x: jnp.sum(jax.scipy.special.gammainc(x + 2, 1.5) + jax.scipy.special.gammaincc(2.5, x + 3)),
    "random gamma": lambda x: jnp.sum(jax.random.gamma(jax.random.key(0), x + 2)),
    "rule of a traced exponent": lambda x: jnp.sum(powered(3, x)),
}


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, 2e-5, 2e-5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_jax(name: str) -> None:
    f = PROGRAMS[name]
    module = from_jax(f, X)
    verify(module)
    close(compile(module, "main")(X), f(X))
    close(compile(value_and_grad(module, "main"), "main_grad", "native")(X)[1], jax.grad(lambda x: f(x) * 1.0)(X))


FORWARD = [name for name in PROGRAMS if name not in ("several results", "scan") and "custom_vjp" not in name]


@pytest.mark.parametrize("name", FORWARD)
def test_forward_derivatives_are_those_of_jax(name: str) -> None:
    f = PROGRAMS[name]
    found = compile(forward_mode(from_jax(f, X), "main").module, "main_jvp")(X, 2 - X)
    close(found[1], jax.jvp(f, (X,), (2 - X,))[1])


@pytest.mark.parametrize(
    "name", ["custom_jvp", "jit", "scan", "relu", "xlogy", "sinc", "stop_gradient", "logaddexp", "softmax", "solve"]
)
def test_second_derivatives_are_those_of_jax(name: str) -> None:
    f = PROGRAMS[name]
    once = differentiate(from_jax(f, X), "main", GradientOptions(keep_primal=False)).module
    twice = differentiate(once, "main_grad", GradientOptions(seed="ones", keep_primal=False)).module
    oracle = unrolled if f is in_scan else f
    close(compile(twice, "main_grad_grad")(X), jax.grad(lambda x: jnp.sum(jax.grad(oracle)(x)))(X))


@pytest.mark.parametrize(
    "name", ["custom_vjp", "custom_jvp", "scan", "cond", "relu", "several results", "stop_gradient", "solve"]
)
def test_derivatives_of_batches_are_those_of_jax(name: str) -> None:
    f = PROGRAMS[name]
    xs = np.stack([X, X + 1, 2 * X])
    batched = vectorize(from_jax(f, X), "main", VectorizeOptions(size=3)).module
    made = differentiate(batched, "main_vmap", GradientOptions(seed="ones", keep_primal=False)).module
    close(compile(made, "main_vmap_grad")(xs), jax.vmap(jax.grad(lambda x: f(x) * 1.0))(xs))


def test_equal_rules_are_imported_once() -> None:
    """Two layers that trace a function apart share its rules; another shape needs others."""
    module = from_jax(lambda x: jnp.sum(scaled(x) + scaled(2 * x)) + scaled(x[0]), X)
    names = [f.sym_name.data for f in functions(module)]
    assert sorted(n for n in names if n.startswith("scaled")) == [
        "scaled", "scaled_1", "scaled_jvp", "scaled_jvp_1", "scaled_vjp", "scaled_vjp_1",
    ]  # fmt: skip


def test_functions_of_one_name_keep_their_own_rules() -> None:
    def tripled(factor: float) -> Any:
        @jax.custom_vjp
        def f(x: Any) -> Any:
            return jnp.sin(x)

        f.defvjp(lambda x: (f(x), None), lambda _, g: (factor * g,))
        return f

    def program(x: Any) -> Any:
        return jnp.sum(tripled(2.0)(x) + 10 * tripled(3.0)(x))

    close(compile(value_and_grad(from_jax(program, X), "main"), "main_grad")(X)[1], np.full(4, 32.0))


def test_rules_without_an_end_stop_with_an_error() -> None:
    """Each rule of `jnp.sinc` is for a further derivative; what is beyond the last one imported is no silent zero."""
    module = from_jax(lambda x: jnp.sinc(x), np.float32(0.3))
    name = "main"
    for order in range(MOST_ORDERS):
        module = differentiate(module, name, GradientOptions(keep_primal=False)).module
        name += "_grad"
        expected: Any = jnp.sinc
        for _ in range(order + 1):
            expected = jax.grad(expected)
        close(compile(module, name)(np.float32(0.3)), expected(np.float32(0.3)))
    with pytest.raises(MindError, match=r"has a derivative rule of its own, but no mind\.vjp") as caught:
        differentiate(module, name)
    assert caught.value.code == "E5001"


def test_forward_mode_of_a_reverse_rule_is_refused_as_in_jax() -> None:
    with pytest.raises(TypeError):
        jax.jvp(PROGRAMS["custom_vjp"], (X,), (X,))
    with pytest.raises(MindError, match=r"no mind\.jvp") as caught:
        forward_mode(from_jax(PROGRAMS["custom_vjp"], X), "main")
    assert caught.value.code == "E5001"


def test_inputs_that_nothing_uses_stay() -> None:
    module = from_jax(lambda x, unused: jax.nn.relu(x), X, X)
    assert compile(module, "main")(X, X).shape == (4,)
    assert compile(from_jax(lambda x, unused: 2 * x, X, X))(X, X).shape == (4,)


def test_names_of_inputs_stay() -> None:
    module = from_jax(lambda params: jax.nn.relu(params["w"]), {"w": X})
    main = next(f for f in functions(module) if f.sym_name.data == "main")
    assert isinstance(main, FuncOp)
    assert main.arg_attrs is not None
    assert "params['w']" in str(main.arg_attrs.data[0])
    rules = [f for f in functions(module) if VJP in f.attributes]
    assert [JVP in f.attributes for f in rules] == [True]


def test_static_arguments_of_a_jitted_function() -> None:
    f = jax.jit(lambda x, n: jax.nn.relu(x) * n, static_argnums=1)
    close(compile(from_jax(f, X, 3), "main")(X), f(X, 3))


@jax.custom_jvp
def broken(x: Any) -> Any:
    return jnp.tanh(x)


@broken.defjvp
def broken_rule(primals: Any, tangents: Any) -> Any:
    raise NotImplementedError("derive it by hand")


def test_a_function_whose_rule_jax_cannot_apply_has_values_but_no_derivative() -> None:
    module = from_jax(lambda x: jnp.sum(broken(x)), X)
    close(compile(module, "main")(X), np.sum(np.tanh(X)))
    with pytest.raises(MindError) as e:
        value_and_grad(module, "main")
    assert e.value.code == "E5001"


def test_functions_of_rules_with_names_of_each_other_stay_apart() -> None:
    """A rule whose functions are `f` and `f_1` joins a module that has an `f` of its own."""

    def f(x: Any) -> Any:
        return x * 3

    def rule(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        return outer(x), jax.jit(f)(t) * jax.jit(lambda y: y + 1)(x) + jax.jit(f)(jnp.stack([t, t]))[0]

    @jax.custom_jvp
    def outer(x: Any) -> Any:
        return jnp.sin(x)

    outer.defjvp(rule)
    loss = lambda x: jnp.sum(outer(x) + jax.jit(f)(x))  # noqa: E731
    close(compile(value_and_grad(from_jax(loss, X), "main"), "main_grad")(X)[1], jax.grad(loss)(X))


def test_a_rule_that_captures_a_traced_value_is_refused_not_zero() -> None:
    """JAX refuses it, too: the rule says nothing of the value."""

    def loss(x: Any) -> Any:
        @jax.custom_vjp
        def times(y: Any) -> Any:
            return x * y

        times.defvjp(lambda y: (times(y), None), lambda _, g: (g,))
        return jnp.sum(times(2 * x))

    with pytest.raises(MindError) as e:
        value_and_grad(from_jax(loss, X), "main")
    assert e.value.code == "E5001"


def test_an_array_that_is_constant_in_one_call_only_is_refused_in_the_other() -> None:
    @jax.jit
    def apart(w: Any, y: Any) -> Any:
        @jax.custom_vjp
        def times(v: Any) -> Any:
            return w * v

        times.defvjp(lambda v: (times(v), None), lambda _, g: (2 * g,))
        return times(y)

    constant = from_jax(lambda x: jnp.sum(apart(jnp.asarray(WEIGHTS), x)), X)
    close(compile(constant)(X), np.sum(WEIGHTS * X))
    for f in (lambda x: apart(WEIGHTS, x) + apart(x, x), lambda x: apart(x, x) + apart(WEIGHTS, x)):
        module = from_jax(lambda x, f=f: jnp.sum(f(x)), X)
        close(compile(module)(X), np.sum(WEIGHTS * X + X * X))
        with pytest.raises(MindError) as e:
            value_and_grad(module, "main")
        assert e.value.code == "E5001"


def test_a_primitive_that_jax_derives_by_some_operands_only_is_refused_for_the_others() -> None:
    module = from_jax(lambda a, x: jnp.sum(jax.scipy.special.betainc(a, 2.0, x)), np.ones(4, np.float32), X)
    with pytest.raises(MindError, match="regularized_incomplete_beta") as e:
        value_and_grad(module, "main", wrt=["a"])
    assert e.value.code == "E5001"


@pytest.mark.parametrize("depth", [34, 60])
def test_branches_in_branches_are_read_with_their_locations(depth: int) -> None:
    def branches(left: int) -> Callable[[Any], Any]:
        def f(x: Any) -> Any:
            return lax.cond(jnp.sum(x) > left, branches(left - 1), lambda y: y + 1, x) if left else x * 2

        return f

    x = np.full(3, 20.0, np.float32)
    module = from_jax(branches(depth), x)
    for start in (x, x + 10):
        close(compile(module)(start), branches(depth)(start))
