"""Arithmetic on dimensions with names, against NumPy at small sizes; what depends on sizes is refused while it is traced."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mind_array as ma
from mind_array import Dim
from mind_dialect.errors import MindError
from mind_dialect.extents.dims import size_in

F = Callable[..., Any]
SIZES = {"x": ("N", 3), "t": ("T",)}


def largest(a: Any, b: Any) -> Any:
    return Dim.max(a, b)


PROGRAMS: dict[str, tuple[F, F]] = {
    "twice": (lambda xp, x, n, t: xp.reshape(x, (n * 3,)), lambda n, t: True),
    "halves": (lambda xp, x, n, t: xp.reshape(x, (n // 2, 6)), lambda n, t: n % 2 == 0),
    "one more": (lambda xp, x, n, t: xp.broadcast_to(x[:1], (t + 1, 3)), lambda n, t: n >= 1),
    "product": (lambda xp, x, n, t: xp.zeros((n * t, 2)) + 1.0, lambda n, t: True),
    "half of the rows": (lambda xp, x, n, t: x[: n // 2] * 2.0, lambda n, t: True),
    "the other half": (lambda xp, x, n, t: x[(n + 1) // 2 :] * 2.0, lambda n, t: True),
    "all but": (lambda xp, x, n, t: x[: n - t], lambda n, t: n >= t),
    "the last": (lambda xp, x, n, t: x[-1], lambda n, t: n >= 1),
    "the first": (lambda xp, x, n, t: x[0], lambda n, t: n >= 1),
    "one by its size": (lambda xp, x, n, t: x[n - 1, 1:], lambda n, t: n >= 1),
    "from behind": (lambda xp, x, n, t: x[-t - 1 :], lambda n, t: n >= t + 1),
    "greater": (lambda xp, x, n, t: xp.ones(largest(n, t)), lambda n, t: True),
    "lesser": (lambda xp, x, n, t: x[: Dim.min(n, t)], lambda n, t: True),
    "positions": (lambda xp, x, n, t: xp.arange(n), lambda n, t: True),
    "behind others": (lambda xp, x, n, t: xp.arange(t, t + n), lambda n, t: True),
    "every third": (lambda xp, x, n, t: xp.arange(1, n + t, 3), lambda n, t: True),
    "between": (lambda xp, x, n, t: xp.arange(t, n), lambda n, t: True),
    "tiles": (lambda xp, x, n, t: xp.tile(x, (t + 1, 2)), lambda n, t: True),
    "identity": (lambda xp, x, n, t: xp.eye(n + 1, t), lambda n, t: True),
    "windows": (lambda xp, x, n, t: xp.reshape(x[: n // 2 * 2], (n // 2, 2, 3)), lambda n, t: True),
    "remainder": (lambda xp, x, n, t: xp.zeros((n % 3, 5 - t % 4)), lambda n, t: True),
    "mean": (lambda xp, x, n, t: xp.sum(x, axis=0) / (n + 1), lambda n, t: True),
    "scaled": (lambda xp, x, n, t: x * (t - 2) + n // 2, lambda n, t: True),
    "numbers": (lambda xp, x, n, t: xp.asarray(n * t - 7), lambda n, t: True),
    "floors": (lambda xp, x, n, t: xp.asarray((n - t) // 2), lambda n, t: True),
    "no difference": (lambda xp, x, n, t: x[: n - n + 1], lambda n, t: n >= 1),
}
"""A function of `x` of shape `(N, 3)` and both sizes, and for which sizes NumPy's result has the shape that the text says."""


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_computed_sizes_are_numpys_or_refused(name: str, target: Any) -> None:
    f, fits = PROGRAMS[name]
    g = ma.jit(lambda x, t: f(ma, x, *x.shape[:1], *t.shape), sizes=SIZES, target=target)
    for n, t in itertools.product((0, 1, 2, 3, 5), (0, 1, 2, 4)):
        x, length = np.arange(1.0, 3 * n + 1).reshape(n, 3), np.zeros(t)
        if not fits(n, t):
            with pytest.raises(MindError, match=r"E4012|E3006|E3007|E3001"):
                g(x, length)
            continue
        found, wanted = np.asarray(g(x, length)), np.asarray(f(np, x, n, t))
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype), (name, n, t)
        np.testing.assert_allclose(found, wanted, rtol=1e-15, err_msg=f"{name} {n} {t}")


def test_the_same_text_runs_on_concrete_arrays() -> None:
    x = np.arange(12.0).reshape(4, 3)
    for name, (f, fits) in PROGRAMS.items():
        if fits(4, 2):
            np.testing.assert_array_equal(np.asarray(f(ma, ma.asarray(x), 4, 2)), np.asarray(f(np, x, 4, 2)), err_msg=name)


OPERATIONS: dict[str, F] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "max": Dim.max, "min": Dim.min,
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_are_those_of_numbers(name: str) -> None:
    """Of two dimensions or one and a number, on each side, at all small sizes; a quotient by a name is refused."""
    of = OPERATIONS[name]
    plain = {"max": max, "min": min}.get(name, of)
    operands: list[Any] = [Dim("B"), Dim("T"), Dim("B+T"), Dim("2*T+1"), Dim("T floordiv 2"), 0, 1, 3, -2]
    for a, b in itertools.product(operands, repeat=2):
        if not isinstance(a, Dim) and not isinstance(b, Dim):
            continue
        if name in ("//", "%") and (isinstance(b, Dim) or b == 0):
            with pytest.raises(MindError, match="E1109"):
                of(a, b)
            continue
        found = of(a, b)
        for sizes in ({"B": m, "T": n} for m, n in itertools.product((0, 1, 2, 7), repeat=2)):
            left, right = (size_in(str(d) if isinstance(d, str) else d, sizes) for d in (a, b))
            assert size_in(found, sizes) == plain(left, right), (a, name, b, sizes)
        assert isinstance(found, Dim | int)


B, T = Dim("B"), Dim("T")


def test_comparisons_that_all_sizes_decide_have_answers() -> None:
    assert T + 1 > T
    assert T >= 0
    assert not T < 0
    assert not (T + 1 <= T)
    assert bool(T + 1)
    assert T * 2 == 2 * T
    assert T + B == B + T
    assert T != T + 1
    assert T - T == 0
    assert 0 - (-T) == T == +T


REFUSED: dict[str, tuple[str, F]] = {
    "smaller": ("E1109", lambda: T < B),
    "at most a number": ("E1109", lambda: T <= 4),
    "truth": ("E1109", lambda: bool(T)),
    "Python's maximum": ("E1109", lambda: max(T, B)),
    "a number": ("E1109", lambda: int(T)),
    "an index": ("E1109", lambda: range(T)),
    "a fraction": ("E1109", lambda: T / 2),
    "a share": ("E1109", lambda: 1 / T),
    "a power": ("E1109", lambda: T**2),
    "a float": ("E1109", lambda: float(T)),
    "a quotient by 0": ("E1109", lambda: T // 0),
    "a quotient by a name": ("E1109", lambda: 8 // T),
    "no name": ("E1109", lambda: Dim("?") + 1),
    "too large": ("E1109", lambda: T * 2**62 * 4),
    "after tracing": ("E1102", lambda: ma.asarray(T)),
    "a negative extent": ("E3006", lambda: ma.jit(lambda x: ma.zeros(-x.shape[0] - 1), sizes={"x": ("T",)})(np.ones(2))),
    "a bound from the end": ("E1109", lambda: ma.jit(lambda x: x[-x.shape[0] :], sizes={"x": ("T",)})(np.ones(2))),
    "a step of 0": ("E1109", lambda: ma.jit(lambda x: ma.arange(0, x.shape[0], 0), sizes={"x": ("T",)})(np.ones(2))),
    "a step back": ("E1109", lambda: ma.jit(lambda x: ma.arange(x.shape[0], 0, -1), sizes={"x": ("T",)})(np.ones(2))),
    "a start with a fraction": ("E1110", lambda: ma.jit(lambda x: ma.arange(0.5, x.shape[0]), sizes={"x": ("T",)})(np.ones(2))),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_depends_on_sizes_is_refused(name: str) -> None:
    code, f = REFUSED[name]
    with pytest.raises(MindError) as found:
        f()
    assert found.value.code == code


@pytest.mark.parametrize("other", [1.5, "T", None, [1]])
def test_operands_that_are_no_sizes_are_type_errors(other: Any) -> None:
    for of in (operator.add, operator.mul, operator.lt):
        with pytest.raises(TypeError):
            of(T, other)


def test_a_gradient_through_computed_sizes() -> None:
    def loss(x: Any) -> Any:
        n = x.shape[0]
        return ma.sum(ma.reshape(x[: n // 2 * 2], (n // 2, 2)) ** 2.0) / (n + 1)

    for n in range(5):
        x = np.arange(1.0, n + 1)
        kept = np.where(np.arange(n) < n // 2 * 2, x, 0.0)
        found = np.asarray(ma.jit(ma.grad(loss), sizes={"x": ("N",)})(x))
        np.testing.assert_allclose(found, 2 * kept / (n + 1), rtol=1e-15)


def test_batches_through_computed_sizes() -> None:
    f = ma.vmap(lambda x: ma.sum(x) / x.shape[0] + ma.arange(x.shape[0], dtype=ma.float64))
    x = np.arange(6.0).reshape(2, 3)
    wanted = x.mean(axis=1)[:, None] + np.arange(3)
    np.testing.assert_allclose(np.asarray(ma.jit(f, sizes={"x": ("B", "N")})(x)), wanted)


KEY = ma.random.key(3)
FUNCTIONS: dict[str, F] = {
    "roll": lambda x: ma.roll(x, 3, axis=0),
    "roll of both axes": lambda x: ma.roll(x, (-2, 7), axis=(0, 1)),
    "roll of all": lambda x: ma.roll(x, 5),
    "diff": lambda x: ma.diff(x, axis=0),
    "second differences": lambda x: ma.diff(x, 2, axis=1),
    "take from the end": lambda x: ma.take(x, ma.arange(x.shape[0]) - x.shape[0], axis=0),
    "take_along_axis": lambda x: ma.take_along_axis(x, ma.argsort(x[:, :1], axis=1) - 1, axis=1),
    "bits": lambda x: ma.random.bits(KEY, x.shape),
    "uniform": lambda x: ma.random.uniform(KEY, (x.shape[1], 2)),
    "normal": lambda x: x * ma.random.normal(KEY, x.shape),
    "truncated_normal": lambda x: ma.random.truncated_normal(KEY, -1.0, 1.0, x.shape),
    "bernoulli": lambda x: ma.where(ma.random.bernoulli(KEY, 0.5, x.shape), x, 0.0),
    "randint": lambda x: ma.random.randint(KEY, x.shape, -3, 9),
    "categorical": lambda x: ma.random.categorical(KEY, ma.pad(x, [(0, 0), (0, 1)])),
    "gradient of dropout": ma.grad(lambda x: ma.sum(ma.nn.dropout(x, KEY, rate=0.5) ** 2)),
    "gradient of a roll": ma.grad(lambda x: ma.sum(ma.roll(x, 3, axis=1) * x)),
}


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_open_sizes_are_those_of_exact_sizes(name: str, target: Any) -> None:
    f = FUNCTIONS[name]
    open_sizes = ma.jit(f, sizes={"x": ("N", "T")}, target=target)
    for shape in itertools.product((0, 1, 2, 5, 8), (1, 3, 4)):
        x = np.random.default_rng(shape).normal(size=shape)
        if (name == "diff" and not shape[0]) or (name == "second differences" and shape[1] < 2):
            with pytest.raises(MindError, match="E4012"):  # as any slice that does not fit
                open_sizes(x)
            continue
        found, expected = open_sizes(x), ma.jit(f)(x)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.ndarray, expected.ndarray, rtol=1e-12)
