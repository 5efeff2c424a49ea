"""The example of a foreign dialect with derivatives of ours: its numbers against differences."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import mind_runtime
from mind_passes.functional import hessian_vector_product, value_and_grad

FILE = Path(__file__).parents[1] / "examples" / "foreign_autodiff.py"
X, W = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.1, -0.7])


@pytest.fixture(scope="module")
def example() -> ModuleType:
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("foreign_autodiff", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def loss(w: np.ndarray) -> float:
    return float(np.sum(np.log1p(np.exp(X * w)) ** 2))


def along(w: np.ndarray, i: int, step: float = 1e-4) -> tuple[float, float, float]:
    e = step * np.eye(3)[i]
    return loss(w - e), loss(w), loss(w + e)


def test_the_gradient_is_that_of_differences(example: ModuleType):
    module = value_and_grad(example.parsed(), wrt=["w"])
    assert "act.softplus" in str(module), "their ops stay until they are lowered"
    value, found = mind_runtime.compile(example.lowered(module), "loss_grad")(X, W)
    assert value == pytest.approx(loss(W), rel=1e-14)
    expected = [(c - a) / 2e-4 for a, _, c in (along(W, i) for i in range(3))]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_the_second_derivative_is_that_of_differences(example: ModuleType):
    product = mind_runtime.compile(example.lowered(hessian_vector_product(example.parsed(), wrt=["w"])), "loss_hvp")
    for i in range(3):
        a, b, c = along(W, i)
        expected = np.eye(3)[i] * (a - 2 * b + c) / 1e-8  # the loss is a sum over elements
        np.testing.assert_allclose(product(X, W, np.eye(3)[i]), expected, rtol=1e-5, atol=1e-6)


def test_it_runs_as_a_program(example: ModuleType, capsys: pytest.CaptureFixture[str]):
    example.main()
    assert "act.square" in capsys.readouterr().out
