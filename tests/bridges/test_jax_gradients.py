"""Functions of JAX whose StableHLO has poor derivatives, another meaning or a rare form, against JAX's own results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_passes.autodiff import GradientOptions, differentiate
from mind_passes.forward import ForwardOptions, forward_mode
from mind_passes.functional import value_and_grad
from mind_runtime import compile
from mind_translate.stablehlo import read_stablehlo

jax = pytest.importorskip("jax", reason="JAX is not installed")
import jax.numpy as jnp  # noqa: E402, after the skip
from jax import export, lax  # noqa: E402, after the skip

from mind_bridges.jax import from_jax  # noqa: E402, after the skip

INF = np.inf
RNG = np.random.default_rng(0)


def agree(f: Callable[..., Any], *arrays: np.ndarray, target: str = "numpy") -> None:
    """Compare values, cotangents and tangents with those of JAX; all arrays are of floats."""
    module = from_jax(f, *arrays)
    expected = jax.jit(f)(*arrays)
    close(compile(module, "main", target=target)(*arrays), expected)
    cotangent, *tangents = (np.linspace(0.5, 1.5, np.size(a), dtype=np.float32).reshape(np.shape(a)) for a in (expected, *arrays))
    wrt = tuple(range(len(arrays)))
    reverse = differentiate(module, "main", GradientOptions(wrt, seed="cotangent", keep_primal=False))
    found = compile(reverse.module, "main_grad", target=target)(*arrays, cotangent)
    for a, b in zip(found if isinstance(found, tuple) else (found,), jax.vjp(f, *arrays)[1](jnp.asarray(cotangent)), strict=True):
        close(a, b)
    forward = forward_mode(module, "main", ForwardOptions(wrt, keep_primal=False))
    close(compile(forward.module, "main_jvp", target=target)(*arrays, *tangents), jax.jvp(f, arrays, tuple(tangents))[1])


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("target", ["numpy", "native", "xla"])
@pytest.mark.parametrize("name", ["sigmoid", "silu", "log_sigmoid"])
def test_gates_have_finite_derivatives_where_exp_overflows(name: str, target: str) -> None:
    if target == "native":
        pytest.importorskip("llvmlite")
    agree(getattr(jax.nn, name), np.float32([-1e4, -100, -89, -1, 0, 2, 100]), target=target)


def test_gates_of_other_dtypes_and_in_loops() -> None:
    x = np.float32([-100.0, 0.5, 3.0])
    agree(lambda x: lax.scan(lambda c, v: (c * jax.nn.sigmoid(v), jax.nn.sigmoid(c)), jnp.float32(1), x)[1], x)
    agree(jax.vmap(jax.nn.sigmoid), x)
    for dtype in (np.float16, np.complex64):
        y = np.array([0.5, -2], dtype)
        np.testing.assert_allclose(compile(from_jax(jax.nn.sigmoid, y))(y), jax.nn.sigmoid(y), rtol=1e-3)


@pytest.mark.parametrize("target", ["numpy", "xla"])
@pytest.mark.parametrize("name", ["sin", "cos", "sinc", "sinh", "cosh", "tan", "arcsinh", "arctan"])
def test_functions_of_complex_numbers_have_derivatives_on_both_axes(name: str, target: str) -> None:
    z = np.array([0, 2j, -0.5j, 1.5, -1, 0.3 - 0.4j], np.complex64)
    z = z + np.float32(name == "arcsinh")  # off the branch cut

    def loss(z: Any) -> Any:
        y = getattr(jnp, name)(z)
        return jnp.sum(y.real) + 2 * jnp.sum(y.imag * z.real)

    value, gradient = compile(value_and_grad(from_jax(loss, z)), "main_grad", target=target)(z)
    for found, expected in zip((value, gradient), jax.value_and_grad(loss)(z), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["arcsin", "arccos", "arccosh", "arctanh"])
def test_inverse_functions_of_complex_numbers_have_derivatives(name: str) -> None:
    z = np.array([0.2 + 0.5j, 1.5 - 1j, 2 + 3j, 0.4 + 0.1j], np.complex64)

    def loss(z: Any) -> Any:
        y = getattr(jnp, name)(z)
        return jnp.sum(y.real) + 2 * jnp.sum(y.imag)

    found = compile(value_and_grad(from_jax(loss, z)), "main_grad")(z)
    for a, b in zip(found, jax.value_and_grad(loss)(z), strict=True):
        close(a, b)


@pytest.mark.parametrize("name", ["i0e", "i1e", "i0", "i1"])
def test_bessel_functions_have_derivatives_everywhere(name: str) -> None:
    f = getattr(jax.scipy.special, name)
    agree(f, np.float32([-20, -1, 0.5, 7.9, 8.1]))
    module = value_and_grad(from_jax(lambda x: jnp.sum(f(x)), np.zeros(2, np.float32)))
    (near, far) = compile(module, "main_grad")(np.float32([0, 1e5]))[1]
    assert near == {"0": 0, "1": 0.5}[name[1]]
    assert abs(far) < 1e-6 or not name.endswith("e")


def test_zeta_and_polygamma() -> None:
    """SciPy's values, below -9 too, where JAX's are others; derivatives are the next functions of the row."""
    special, by = pytest.importorskip("scipy.special"), jax.scipy.special
    q = np.array([1e-3, 0.3, 1, 2.5, 11, 300, -0.5, -7.25, -30.75], np.float32)
    order = np.array([1.25, 2, 3, 7, 1.5, 4, 2, 3, 4], np.float32)
    found = compile(from_jax(by.zeta, order, q), "main", target="native")(order, q)
    np.testing.assert_allclose(found, special.zeta(order.astype("float64"), q.astype("float64")), rtol=1e-6)
    edges = np.float32([[2, 0], [2, -3], [1, 2], [0.5, 2], [np.nan, 1], [2, np.nan], [2.5, -0.5]]).T
    np.testing.assert_array_equal(compile(from_jax(by.zeta, *edges), "main")(*edges), special.zeta(*edges))
    for n in (0, 1, 2, 6):
        values, slopes = (special.polygamma(m, q.astype("float64")) for m in (n, n + 1))
        module = value_and_grad(from_jax(lambda x, n=n: jnp.sum(by.polygamma(n, x)), q))
        np.testing.assert_allclose(compile(module, "main_grad")(q)[1][:6], slopes[:6], rtol=2e-6)
        found = compile(from_jax(lambda x, n=n: by.polygamma(n, x), q), "main")(q)
        np.testing.assert_allclose(found[:6], values[:6], rtol=2e-6)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("row", [[1, 2, 3], [-INF, 1, 2], [2, -INF, 2], [5, 5, -200]])
def test_cumulative_logsumexp(row: list[float], reverse: bool) -> None:
    agree(lambda x: lax.cumlogsumexp(x, reverse=reverse), np.float32(row))
    agree(lambda x: lax.cumlogsumexp(x, axis=1, reverse=reverse), np.float32([row, row[::-1]]))


def test_a_long_cumulative_logsumexp_is_no_loop_over_its_elements() -> None:
    x = np.float32(RNG.normal(size=500))
    assert len(str(from_jax(lax.cumlogsumexp, x)).splitlines()) < 2000


PLACES = np.int32([[0, 1], [4, 5], [7, -3], [3, 4], [0, -1]])
"""Starts of windows of 2 by 2 in an array of 5 by 6: the second and the last leave it in part, the third as a whole."""
NUMBERS = lax.ScatterDimensionNumbers((1, 2), (), (0, 1))


@pytest.mark.parametrize("mode", ["fill", "clip", None])
@pytest.mark.parametrize("name", ["scatter", "scatter_add", "scatter_mul", "scatter_min", "scatter_max", "scatter_sub"])
def test_windows_that_leave_an_array_in_part_are_dropped_as_a_whole(name: str, mode: str | None) -> None:
    def f(x: Any, indices: Any, new: Any) -> Any:
        return getattr(lax, name)(x, indices, new, NUMBERS, mode=mode)

    x, new = np.float32(RNG.normal(size=(5, 6))), np.float32(RNG.normal(size=(5, 2, 2)))
    for dtype in (np.int32, np.int8):
        places = PLACES.astype(dtype)
        close(compile(from_jax(f, x, places, new))(x, places, new), f(x, places, new))
    if name in ("scatter_add", "scatter_sub"):
        agree(lambda x, new: f(x, PLACES, new), x, new)
        both = jax.vmap(f, (0, None, 0))
        xs, news = np.stack([x, -x]), np.stack([new, 2 * new])
        close(compile(from_jax(both, xs, PLACES, news))(xs, PLACES, news), both(xs, PLACES, news))


def test_combiners_may_have_rules_which_do_not_count_there() -> None:
    x = np.float32(RNG.normal(size=(4, 6)))
    for f in (
        lambda x: lax.reduce(x, -jnp.inf, jnp.logaddexp, (1,)),
        lambda x: lax.reduce_window(x, -jnp.inf, jnp.logaddexp, (2, 2), (2, 2), "VALID"),
    ):
        close(compile(from_jax(f, x))(x), f(x))


def test_the_entry_of_a_module_with_rules_needs_no_name() -> None:
    a, b = np.float32([[3, 1], [1, 2]]), np.float32([1, 2])
    f = lambda a, b: jnp.sum(jnp.linalg.solve(a, b) ** 2)  # noqa: E731
    found = compile(value_and_grad(from_jax(f, a, b), wrt="a"), "main_grad")(a, b)
    close(found[1], jax.grad(f)(a, b))


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (2, 0, 3)])
def test_products_of_nothing(shape: tuple[int, ...]) -> None:
    x = np.zeros(shape, np.float32)
    for axis in (None, 0, -1):
        f = lambda x, axis=axis: jnp.nanprod(x, axis=axis)  # noqa: E731
        close(compile(from_jax(f, x))(x), f(x))


@pytest.mark.parametrize("implementation", ["threefry2x32", "rbg"])
def test_keys_of_random_numbers_are_their_words(implementation: str) -> None:
    random = jax.random

    @jax.custom_jvp
    def noisy(key: Any, x: Any) -> Any:
        return x + random.normal(key, x.shape)

    noisy.defjvp(lambda primals, tangents: (noisy(*primals), 3 * tangents[1]))

    def f(state: Any, x: Any) -> Any:
        def step(key: Any, v: Any) -> Any:
            return random.fold_in(key, 1), noisy(key, v)

        return lax.scan(step, state["key"], x)

    key, x = random.key(3, impl=implementation), np.float32([1, 2, 3])
    words = np.asarray(random.key_data(key))
    module = from_jax(f, {"key": key}, x)
    last, found = compile(module)(words, x)
    expected = f({"key": key}, x)
    np.testing.assert_array_equal(last, random.key_data(expected[0]))
    close(found, expected[1])
    forward = forward_mode(module, "main", ForwardOptions(("x",), keep_primal=False))
    close(compile(forward.module, "main_jvp")(words, x, np.ones(3, np.float32)), np.full(3, 3.0))


def test_calls_of_python_are_refused_with_a_cure() -> None:
    def printing(x: Any) -> Any:
        jax.debug.print("{}", x)
        return x

    def calling(x: Any) -> Any:
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    for f in (printing, calling):
        with pytest.raises(MindError, match=r"a call of Python, such as jax.debug.print.*remove it from the function") as e:
            from_jax(f, np.ones(3, np.float32))
        assert e.value.code == "E8008"


SORTS: dict[str, Callable[[Any], Any]] = {
    "columns": lambda x: jnp.sort(x, 0),
    "rows": lambda x: jnp.sort(x, 1),
    "descending": lambda x: jnp.sort(x, 1, descending=True),
    "places": lambda x: jnp.argsort(x, 1),
    "by a key": lambda x: lax.sort((jnp.abs(x - 0.5), x), dimension=1, num_keys=1)[1],
    "median": lambda x: jnp.median(x, 0),
}


@pytest.mark.parametrize("name", SORTS)
def test_sorts_along_and_beside_symbolic_dimensions(name: str) -> None:
    f = SORTS[name]
    spec = jax.ShapeDtypeStruct(export.symbolic_shape("b, 4"), np.float32)
    module = read_stablehlo(export.export(jax.jit(f))(spec).mlir_module(), "sorts")
    program = compile(module, "main")
    for rows in (1, 5):
        x = np.float32(RNG.normal(size=(rows, 4)))
        x[0, :2] = np.nan, -0.0
        np.testing.assert_array_equal(program(x), f(jnp.asarray(x)))


RUNNING: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: jnp.cumsum(x, 0),
    "sum from the end": lambda x: lax.cumsum(x, 0, reverse=True),
    "product": lambda x: jnp.cumprod(x, 0),
    "greatest": lambda x: lax.cummax(x, axis=0),
    "least from the end": lambda x: lax.cummin(x, axis=0, reverse=True),
    "sum of a sum": lambda x: jnp.cumsum(jnp.concatenate([x, x]), 0),
    "gradient": jax.grad(lambda x: jnp.sum(jnp.cumsum(x, 0) ** 2)),
}


@pytest.mark.parametrize("name", RUNNING)
def test_running_sums_along_symbolic_dimensions(name: str) -> None:
    f = RUNNING[name]
    spec = jax.ShapeDtypeStruct(export.symbolic_shape("b, 3"), np.float32)
    module = read_stablehlo(export.export(jax.jit(f))(spec).mlir_module(), "running")
    gradient = differentiate(module, "main", GradientOptions((0,), seed="cotangent", keep_primal=False)).module
    for rows in (1, 4):
        x = np.float32(RNG.normal(size=(rows, 3)))
        expected, pull = jax.vjp(f, x)
        close(compile(module, "main")(x), expected)
        close(compile(gradient, "main_grad")(x, np.ones_like(expected)), pull(jnp.ones_like(expected))[0])


def test_windows_along_symbolic_dimensions_are_refused_with_a_cure() -> None:
    spec = jax.ShapeDtypeStruct(export.symbolic_shape("b, 4"), np.float32)
    text = export.export(jax.jit(lambda x: lax.reduce_window(x, 0.0, lax.add, (x.shape[0], 1), (1, 1), "VALID")))(
        spec
    ).mlir_module()
    with pytest.raises(MindError, match=r"windows along a dimension whose size is not known.*give that dimension a size") as e:
        read_stablehlo(text, "windows")
    assert e.value.code == "E8008"
