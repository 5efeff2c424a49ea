"""Functions of modules with open dimensions, put into what is traced: their dimensions become those of their operands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mind_array as ma
from mind_dialect.errors import MindError
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
