"""Functions of modules with open dimensions, put into what is traced: their dimensions become those of their operands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mind_array as ma
import mind_runtime
from mind_dialect.declared_dims import declarations_of
from mind_dialect.errors import MindError
from mind_dialect.program import functions
from mind_dialect.verify import verify
from programs import parse

HEAD = 'builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {'
UNNAMED = f"""{HEAD}
  func.func @f(%x: tensor<?x4xf64>) -> tensor<?x4xf64> {{
    %y = ptir.tanh %x : tensor<?x4xf64>
    %z = ptir.mul %y, %y : tensor<?x4xf64>
    return %z : tensor<?x4xf64>
  }}
}}"""
LOOP = f"""{HEAD}
  func.func @f(%x: tensor<?x4xf64>) -> tensor<?x4xf64> {{
    %r = ptir.scan %x, %x carry_count = 1 scan_output_count = 0 : (tensor<?x4xf64>, tensor<?x4xf64>) -> tensor<?x4xf64> body {{
    ^bb0(%carry: tensor<?x4xf64>, %row: tensor<4xf64>):
      %n = ptir.add %carry, %carry : tensor<?x4xf64>
      ptir.yield %n : tensor<?x4xf64>
    }}
    return %r : tensor<?x4xf64>
  }}
}}"""
NAMED = f"""{HEAD}
  func.func @f(%x: tensor<?xf64, "T">, %y: tensor<?xf64, "N">, %z: tensor<?xf64, "N+T">) -> tensor<?xf64, "N+T"> FACTS {{
    %0 = ptir.concat %x, %y axis = 0 : (tensor<?xf64, "T">, tensor<?xf64, "N">) -> tensor<?xf64, "N+T">
    %1 = ptir.mul %0, %z : tensor<?xf64, "N+T">
    return %1 : tensor<?xf64, "N+T">
  }}
}}"""
SIZES: list[Any] = [None, {"x": ("N", 4)}, {"x": (None, 4)}]
X = np.arange(12.0).reshape(3, 4) / 10
WANTED = np.tanh(X) ** 2


def squared() -> Any:
    return ma.from_module(parse(UNNAMED))


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_unknown_dimensions_are_those_of_operands(sizes: Any) -> None:
    """With sizes, with names: beside other arrays, in slices, twice, in derivatives and batches."""
    f, options = squared(), {} if sizes is None else {"sizes": sizes}
    np.testing.assert_allclose(np.asarray(ma.jit(lambda x: f(x) * 2.0 + x, **options)(X)), WANTED * 2 + X, rtol=1e-14)
    np.testing.assert_allclose(np.asarray(ma.jit(lambda x: f(x)[1:] + f(x)[:-1], **options)(X)), WANTED[1:] + WANTED[:-1])
    np.testing.assert_allclose(np.asarray(ma.jit(lambda x: f(f(x)), **options)(X)), np.tanh(WANTED) ** 2, rtol=1e-14)
    found = np.asarray(ma.jit(ma.grad(lambda x: ma.sum(f(x))), **options)(X))
    step = 1e-6
    slopes = (np.tanh(X + step) ** 2 - np.tanh(X - step) ** 2) / (2 * step)
    np.testing.assert_allclose(found, slopes, atol=1e-8)


def test_unknown_dimensions_in_batches() -> None:
    batch = np.stack([X, X + 1])
    for options in ({}, {"sizes": {"x": ("B", "N", 4)}}):
        np.testing.assert_allclose(np.asarray(ma.jit(ma.vmap(squared()), **options)(batch)), np.tanh(batch) ** 2, rtol=1e-14)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_regions_take_the_dimensions_too(sizes: Any) -> None:
    f = ma.from_module(parse(LOOP))
    found = ma.jit(lambda x: f(x) + x, **({} if sizes is None else {"sizes": sizes}))(X)
    np.testing.assert_array_equal(np.asarray(found), X * 8 + X)


def named(facts: str = "") -> Any:
    return ma.from_module(parse(NAMED.replace("FACTS", facts)))


def test_names_become_those_of_the_caller() -> None:
    """The names N and T are the other way round there."""
    f = named()
    x, y = np.arange(3.0), np.arange(2.0)
    wanted = np.concatenate([x, y]) * 2
    swapped = ma.jit(lambda x, y: f(x, y, ma.full((x.shape[0] + y.shape[0],), 2.0)), sizes={"x": ("N",), "y": ("T",)})
    np.testing.assert_array_equal(np.asarray(swapped(x, y)), wanted)
    np.testing.assert_array_equal(np.asarray(ma.jit(lambda x, y: f(x, y, ma.full((5,), 2.0)))(x, y)), wanted)
    mixed = ma.jit(lambda x, y: f(x, y, ma.full((x.shape[0] + 2,), 2.0)), sizes={"x": ("A",)})
    np.testing.assert_array_equal(np.asarray(mixed(x, y)), wanted)


REFUSED: dict[str, tuple[str, Any, Any]] = {
    "another size": ("E3003", lambda f: lambda x, y: f(x, y, ma.ones(4)), None),
    "sizes that may differ": ("E3003", lambda f: lambda x, y: f(x, y, x), {"x": ("A",), "y": ("B",)}),
    "another dtype": ("E2001", lambda f: lambda x, y: f(x, y, ma.ones(5, dtype="float32")), None),
    "another rank": ("E2001", lambda f: lambda x, y: f(x, y, ma.ones((5, 1))), None),
}


@pytest.mark.parametrize("name", REFUSED)
def test_operands_that_do_not_fit_are_refused(name: str) -> None:
    code, body, sizes = REFUSED[name]
    with pytest.raises(MindError) as found:
        ma.jit(body(named()), **({} if sizes is None else {"sizes": sizes}))(np.ones(3), np.ones(2))
    assert found.value.code == code


def test_a_size_that_breaks_a_declaration_is_refused() -> None:
    f = named('attributes {mind.dims = ["T <= 2"]}')
    with pytest.raises(MindError, match="E8010"):
        ma.jit(lambda x, y: f(x, y, ma.ones(5)))(np.ones(3), np.ones(2))


DECLARES = f"""{HEAD}
  func.func @f(%x: tensor<?xf64, "T">) -> tensor<?xf64, "T"> attributes {{mind.dims = ["T in 2..8", "T % 2 == 0"]}} {{
    %y = ptir.exp %x : tensor<?xf64, "T">
    return %y : tensor<?xf64, "T">
  }}
}}"""
CALLERS: dict[str, tuple[Any, list[str]]] = {
    "alone": (lambda f, x: f(x), ["N in 2..8", "N % 2 == 0"]),
    "twice": (lambda f, x: f(f(x)), ["N in 2..8", "N % 2 == 0"]),
    "part": (lambda f, x: f(x[1:]), ["2 <= N-1", "N-1 <= 8", "(N-1) % 2 == 0"]),
    "gradient": (lambda f, x: ma.grad(lambda y: ma.sum(f(y)))(x), ["N in 2..8", "N % 2 == 0"]),
    "inner function": (lambda f, x: ma.jit(lambda y: f(y))(x), ["N in 2..8", "N % 2 == 0"]),
    "loop": (
        lambda f, x: ma.scan(lambda carry, _: (f(carry) / 9, None), x, ma.ones(3))[0],
        ["N in 2..8", "N % 2 == 0"],
    ),
    "captured": (
        lambda f, x: ma.scan(lambda carry, _: (carry + ma.sum(f(x)), None), ma.sum(x), ma.ones(3))[0],
        ["N in 2..8", "N % 2 == 0"],
    ),
    "known size": (lambda f, x: f(ma.ones(4))[0] + x, []),
}


@pytest.mark.parametrize("case", CALLERS)
def test_the_caller_declares_in_its_names_what_the_function_does(case: str) -> None:
    """Calls that break it are refused, as those of the function itself are, and what is compiled relies on it."""
    call, texts = CALLERS[case]
    f = ma.from_module(parse(DECLARES))
    module = ma.trace(lambda x: call(f, x), ma.spec(("N",), ma.float64, name="x"), name="g")
    verify(module)
    (func,) = functions(module)
    assert [found.text for found in declarations_of(func)] == texts
    run = mind_runtime.compile(module)
    for n in range(1, 11):
        if all(found.holds({"N": n}) for found in declarations_of(func)):
            run(np.zeros(n))
            continue
        with pytest.raises(MindError, match=r"E8010: input x of @g has size"):
            run(np.zeros(n))


def test_a_batch_declares_what_its_examples_do() -> None:
    f = ma.from_module(parse(DECLARES))
    module = ma.trace(ma.vmap(lambda x: f(x)), ma.spec(("B", "N"), ma.float64, name="x"), name="g")
    (func,) = functions(module)
    assert [found.text for found in declarations_of(func)] == ["N in 2..8", "N % 2 == 0"]


def test_no_class_has_a_bound_that_the_function_does_not_take() -> None:
    pytest.importorskip("llvmlite")
    f = ma.from_module(parse(DECLARES.replace("2..8", "2..12")))
    module = ma.trace(lambda x: f(x) * 2, ma.spec(("N",), ma.float64, name="x"), name="g")
    program = mind_runtime.compile(module, target="native", specialize={"background": False, "compile_share": 0})
    found = {}
    for n in (6, 10):
        account = program.by_sizes.of(program.open_shapes([np.zeros(n)]))
        found[n] = program.classes.account(account, program.by_sizes.limits)[0]
        np.testing.assert_array_equal(program(np.zeros(n)), np.full(n, 2.0))
    assert found[6].shapes == ((8,),)
    assert found[10] is None, "the bound 16 breaks what is declared"
