"""
What holds for the derivatives of every row, each against something computed in another way.

First order: both modes against central differences, and against each other. Second order: forward over reverse against
differences of the gradient, then reverse over reverse and reverse over forward against that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from mind_passes.autodiff import GradientOptions, differentiate
from mind_passes.forward import ForwardOptions, forward_mode
from mind_runtime import compile

from .base import Row

Arrays = Sequence[np.ndarray]
Function = Callable[..., tuple[np.ndarray, ...]]

STEP = 3e-4


def program(module: ModuleOp, name: str) -> Function:
    """A function of the module that always returns a tuple."""
    compiled = compile(module, name)

    def run(*arguments: np.ndarray) -> tuple[np.ndarray, ...]:
        results = compiled(*arguments)
        return results if isinstance(results, tuple) else (results,)

    return run


def is_float(x: np.ndarray) -> bool:
    """Whether numbers are differentiated: floating-point or complex ones."""
    return x.dtype.kind in "fc"


def moved(arguments: Arrays, direction: Arrays, step: float) -> list[np.ndarray]:
    """The arguments, the floating-point ones a step along a direction with one array for each of them."""
    along = iter(direction)
    return [np.asarray(x + step * next(along), x.dtype) if is_float(x) else x for x in arguments]


def difference(function: Function, arguments: Arrays, direction: Arrays) -> list[np.ndarray]:
    """The derivative of each floating-point result along `direction`, to the fourth order; 0 where a result is infinite."""
    at = {k: function(*moved(arguments, direction, k * STEP)) for k in (-2, -1, 1, 2)}
    found: list[np.ndarray] = []
    for ys in zip(*(at[k] for k in (-2, -1, 1, 2)), strict=True):
        if is_float(ys[0]):
            a, b, c, d = (np.where(np.isinf(y), 0, y) for y in ys)
            found.append((8 * (c - b) - (d - a)) / (12 * STEP))
    return found


def random_like(rng: np.random.Generator, arrays: Arrays) -> list[np.ndarray]:
    """Numbers between -1 and 1 for each floating-point array, and such parts of complex numbers."""

    def drawn(x: np.ndarray) -> np.ndarray:
        found = rng.uniform(-1, 1, x.shape)
        return np.asarray(found + 1j * rng.uniform(-1, 1, x.shape) if x.dtype.kind == "c" else found, x.dtype)

    return [drawn(x) for x in arrays if is_float(x)]


def only(values: Arrays, i: int) -> list[np.ndarray]:
    """Zeros but for array `i`."""
    return [x if k == i else np.zeros_like(x) for k, x in enumerate(values)]


def dot(a: Arrays, b: Arrays) -> float:
    """The pairing of adjoints and tangents: of complex numbers the real part of the product, without conjugation."""
    return float(sum(np.real(np.sum(x * y)) for x, y in zip(a, b, strict=True)))


def assert_close(found: Arrays, expected: Arrays, rtol: float, what: str, program: object = "") -> None:
    """Elementwise, relative to the greatest number of each array."""
    assert [x.shape for x in found] == [x.shape for x in expected], what
    for i, (a, b) in enumerate(zip(found, expected, strict=True)):
        scale = max(float(np.max(np.abs(b), initial=0.0)), 1e-2)
        if not np.allclose(a, b, rtol=rtol, atol=rtol * scale, equal_nan=True):  # printing a program takes long
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * scale, err_msg=f"{what}, number {i}\n{program}")


def near(a: float, b: float, rtol: float, what: str, program: object = "") -> None:
    assert abs(a - b) <= rtol * max(abs(a), abs(b), 1e-2), f"{what}: {a} and {b}\n{program}"


def unit_vectors(x: np.ndarray) -> list[np.ndarray]:
    """One for each element, of complex numbers one for each part."""
    found = [e.reshape(x.shape) for e in np.eye(x.size, dtype=x.dtype)]
    return [*found, *(e * 1j for e in found)] if x.dtype.kind == "c" else found


class Derivatives:
    """The derivative functions of one row in one dtype, each made when it is first asked for."""

    def __init__(self, row: Row, dtype: str = "f64"):
        self.row, self.module = row, row.module(dtype)
        self.arguments = row.values(dtype)
        self.primal = program(self.module, "f")
        self.results = self.primal(*self.arguments)
        self.outputs = [k for k, y in enumerate(self.results) if is_float(y)]
        self.tangents = random_like(row.rng(100), self.arguments)
        self.cotangents = random_like(row.rng(200), self.results)

    @cached_property
    def gradients(self) -> list[Any]:
        """A gradient module for each floating-point output; its function returns gradients only."""
        options = [GradientOptions(output=k, seed="cotangent", keep_primal=False) for k in self.outputs]
        return [differentiate(self.module, "f", o) for o in options]

    @cached_property
    def gradient(self) -> list[Function]:
        return [program(g.module, g.function.sym_name.data) for g in self.gradients]

    @cached_property
    def forward(self) -> Any:
        return forward_mode(self.module, "f")

    @cached_property
    def jvp(self) -> Function:
        return program(self.forward.module, self.forward.function.sym_name.data)

    def pulled(self) -> list[list[np.ndarray]]:
        """For each floating-point output, the gradients of the arguments under its cotangent."""
        return [list(f(*self.arguments, g)) for f, g in zip(self.gradient, self.cotangents, strict=True)]

    def pushed(self, tangents: Arrays) -> list[np.ndarray]:
        """The tangents of the floating-point outputs."""
        return list(self.jvp(*self.arguments, *tangents)[len(self.results) :])


@cache
def derivatives(row: Row, dtype: str = "f64") -> Derivatives:
    """Those of a row; its tests share them, as compiling takes most of their time."""
    return Derivatives(row, dtype)


def check_forward(row: Row) -> None:
    """Tangents against differences, with all arguments varying and with each alone."""
    d = derivatives(row)
    results = d.jvp(*d.arguments, *d.tangents)
    for found, expected in zip(results, d.results, strict=False):
        np.testing.assert_array_equal(found, expected)
    expected = difference(d.primal, d.arguments, d.tangents)
    assert_close(d.pushed(d.tangents), expected, row.rtol, "tangents by rule and by differences", d.forward.function)
    if len(row.floats) < 2:
        return
    for k, i in enumerate(row.floats):
        alone = forward_mode(d.module, "f", ForwardOptions(wrt=(i,)))
        found = program(alone.module, alone.function.sym_name.data)(*d.arguments, d.tangents[k])[len(d.results) :]
        expected = difference(d.primal, d.arguments, only(d.tangents, k))
        assert_close(found, expected, row.rtol, f"tangents where only argument {i} varies", alone.function)


def check_reverse(row: Row) -> None:
    """Gradients against differences: every element of a small argument, random directions of a large one."""
    d = derivatives(row)
    for gradient, g, adjoints, k in zip(d.gradients, d.cotangents, d.pulled(), range(len(d.outputs)), strict=True):
        assert [a.shape for a in adjoints] == [t.shape for t in d.tangents]
        for i, t in enumerate(d.tangents):
            directions = unit_vectors(t) if t.size <= 12 else [random_like(row.rng(300, i, n), [t])[0] for n in range(3)]
            for e in directions:
                along = difference(d.primal, d.arguments, [e if n == i else np.zeros_like(x) for n, x in enumerate(d.tangents)])
                scale = 1e-2 * float(np.max(np.abs(adjoints[i])))
                expected, found = dot([g], [along[k]]), dot([adjoints[i]], [e])
                near(found, expected, row.rtol * max(1.0, scale), f"gradient of argument {row.floats[i]}", gradient.function)


def check_adjointness(row: Row) -> None:
    """`<J v, w> = <v, J^T w>`, but for rounding."""
    d = derivatives(row)
    pushed = d.pushed(d.tangents)
    for k, adjoints in enumerate(d.pulled()):
        near(dot([pushed[k]], [d.cotangents[k]]), dot(d.tangents, adjoints), 1e-11, f"<J v, w> and <v, J^T w> of output {k}")


def check_narrow(row: Row, dtype: str = "f32", rtol: float = 3e-5) -> None:
    """The derivatives in a narrower dtype are those in f64, rounded."""
    wide, narrow = derivatives(row), derivatives(row, dtype)
    for found, expected in zip(narrow.pulled(), wide.pulled(), strict=True):
        assert {x.dtype for x in found} <= {x.dtype for x in narrow.arguments}
        assert_close(found, expected, rtol, f"gradients in {dtype}")
    assert_close(narrow.pushed(narrow.tangents), wide.pushed(wide.tangents), rtol, f"tangents in {dtype}")


def check_second_order(row: Row) -> None:
    """Forward over reverse against differences of the gradient; the other two orders of modes against it."""
    d = derivatives(row)
    for k, gradient in enumerate(d.gradients):
        name = gradient.function.sym_name.data
        arguments = [*d.arguments, d.cotangents[k]]
        second = forward_mode(gradient.module, name)
        over = program(second.module, second.function.sym_name.data)
        direction = random_like(row.rng(400, k), arguments)
        expected = difference(d.gradient[k], arguments, direction)
        found = over(*arguments, *direction)[len(row.floats) :]
        assert_close(found, expected, row.rtol, "forward over reverse and differences of the gradient", second.function)
        check_reverse_over_reverse(row, gradient, arguments, direction, found)
        still = [*d.tangents, np.zeros_like(d.cotangents[k])]
        check_reverse_over_forward(d, k, over(*arguments, *still)[len(row.floats) :])


def check_reverse_over_reverse(row: Row, gradient: Any, arguments: Arrays, direction: Arrays, derivative: Arrays) -> None:
    """For each gradient, `<u, D v>` with the derivative D along v is `<D^T u, v>`."""
    for i, along in enumerate(derivative):
        second = differentiate(
            gradient.module, gradient.function.sym_name.data, GradientOptions(output=i, seed="cotangent", keep_primal=False)
        )
        u = random_like(row.rng(500, i), [along])
        found = program(second.module, second.function.sym_name.data)(*arguments, *u)
        near(dot(u, [along]), dot(found, direction), 1e-9, f"reverse over reverse, gradient {i}", second.function)


def check_reverse_over_forward(d: Derivatives, k: int, expected: Arrays) -> None:
    """The gradient of `<w, J(x) t>` is the derivative of `J(x)^T w` along t: second derivatives commute."""
    output = len(d.results) + k
    options = GradientOptions(output=output, seed="cotangent", keep_primal=False)
    second = differentiate(d.forward.module, d.forward.function.sym_name.data, options)
    found = program(second.module, second.function.sym_name.data)(*d.arguments, *d.tangents, d.cotangents[k])
    assert_close(found[: len(expected)], expected, 1e-9, "reverse over forward and forward over reverse", second.function)


def check_third_order(row: Row) -> None:
    """Forward over forward over reverse against differences of forward over reverse."""
    d = derivatives(row)
    for k, gradient in enumerate(d.gradients):
        second = forward_mode(gradient.module, gradient.function.sym_name.data)
        name = second.function.sym_name.data
        third = forward_mode(second.module, name)
        arguments = [*d.arguments, d.cotangents[k], *random_like(row.rng(600, k), [*d.arguments, d.cotangents[k]])]
        direction = random_like(row.rng(700, k), arguments)
        found = program(third.module, third.function.sym_name.data)(*arguments, *direction)
        expected = difference(program(second.module, name), arguments, direction)
        assert_close(found[len(found) - len(expected) :], expected, row.rtol, "third derivatives", third.function)


def check_jax(row: Row, jax: Any) -> None:
    """`jax.vjp` and `jax.jvp` of the same function."""
    assert row.jax is not None
    d = derivatives(row)

    def function(*values: Any) -> Any:
        given = dict(zip(row.floats, values, strict=True))
        return row.jax(jax, *(given.get(i, jax.numpy.asarray(x)) for i, x in enumerate(d.arguments)))

    def numbers(found: Any) -> list[np.ndarray]:
        return [np.asarray(x) for x in (found if isinstance(found, tuple) else (found,))]

    point = [jax.numpy.asarray(d.arguments[i]) for i in row.floats]
    found, pushed = jax.jvp(function, point, [jax.numpy.asarray(t) for t in d.tangents])
    floats = [y for y in numbers(found) if is_float(y)]
    assert_close([d.results[k] for k in d.outputs], floats, 1e-12, "results, by JAX")
    assert_close(d.pushed(d.tangents), [t for t in numbers(pushed) if is_float(t)], 1e-11, "tangents by JAX")
    for k, adjoints in enumerate(d.pulled()):
        result, pull = jax.vjp(lambda *v: [y for y in as_tuple(function(*v)) if y.dtype.kind in "fc"][k], *point)  # noqa: B023
        assert result.shape == d.cotangents[k].shape
        assert_close(adjoints, numbers(pull(jax.numpy.asarray(d.cotangents[k]))), 1e-11, "gradients by JAX")


def as_tuple(values: Any) -> tuple[Any, ...]:
    return values if isinstance(values, tuple) else (values,)
