"""A program and its gradient on every executor, and a program in every printed form: what a change breaks first."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context

import mind_dialect
from mind_passes.functional import value_and_grad
from mind_runtime import compile
from mind_runtime.executors import executor_names
from mind_tools.universe import TARGETS
from numpy_launches import on_numpy
from programs import parse

EXECUTORS = executor_names()
LOSS = """
func.func @smoke_loss(%x: tensor<4x3xf64>, %w: tensor<3x2xf64>) -> tensor<f64> {
  %0 = mind.matmul %x, %w : (tensor<4x3xf64>, tensor<3x2xf64>) -> tensor<4x2xf64>
  %1 = mind.exp %0 : tensor<4x2xf64>
  %2 = mind.sum %1 axes = [] keepdims = false : tensor<4x2xf64> -> tensor<f64>
  func.return %2 : tensor<f64>
}
"""
NAMED = """
module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @smoke(%x: tensor<?xf32, "N">) -> tensor<?xf32, "N"> {
    %0 = ptir.exp %x : tensor<?xf32, "N">
    func.return %0 : tensor<?xf32, "N">
  }
}
"""
TEXTS = {"mind-core-ir": LOSS, "mind-shape-python": NAMED}
NEEDS = {"native": "llvmlite", "xla": "jax", "onnx": "onnxruntime", "iree": "iree.runtime"}
"""What an executor is skipped without."""
RUNS: dict[str, Callable[[Any, str], Callable[..., Any]]] = {
    "numpy": compile,
    "native": lambda module, name: compile(module, name, target="native"),
    "cupy": lambda module, name: on_numpy(module),
    **{target: partial(compile, target=target) for target in ("xla", "onnx", "iree")},
}


def test_every_executor_has_a_run() -> None:
    assert set(RUNS) == set(EXECUTORS)


@pytest.mark.quick
@pytest.mark.parametrize("target", EXECUTORS)
def test_a_gradient(target: str) -> None:
    if target in NEEDS:
        pytest.importorskip(NEEDS[target])
    module = value_and_grad(parse(LOSS), wrt=["w"])
    module.body.block.erase_op(module.body.block.first_op)
    x, w = np.linspace(-1, 1, 12).reshape(4, 3), np.linspace(-0.5, 0.5, 6).reshape(3, 2)
    value, gradient = RUNS[target](module, "smoke_loss_grad")(x, w)
    np.testing.assert_allclose(np.asarray(value), np.exp(x @ w).sum(), rtol=1e-13)
    np.testing.assert_allclose(np.asarray(gradient), x.T @ np.exp(x @ w), rtol=1e-13)


@pytest.mark.quick
@pytest.mark.parametrize("target", [name for name, load in TARGETS.items() if not hasattr(load(), "emit_bytes")])
def test_a_text(target: str) -> None:
    if target == "mind-native":
        pytest.importorskip("llvmlite")
    context = Context()
    mind_dialect.register(context)
    output = io.StringIO()
    TARGETS[target]()().emit(context, parse(TEXTS.get(target, NAMED.replace('?xf32, "N"', "3xf32"))), output)
    assert "smoke" in output.getvalue()
