"""A dimension as a value: on all targets, in derivatives and batches, and where StableHLO asks for one."""

from __future__ import annotations

import numpy as np
import pytest

from host_runs import RUNS
from mind_dialect.program import functions
from mind_lowering.ptir_optimize import optimize
from mind_passes.functional import jvp, vjp
from mind_passes.shape.specialize import specialize
from mind_passes.vectorize import vectorize
from mind_runtime import compile
from mind_tools.frontends import parse

MEAN = """builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @mean(%x: tensor<?x2xf64, "DIM,*">) -> tensor<2xf64> {
    %y = ptir.mul %x, %x : tensor<?x2xf64, "DIM,*">
    %0 = ptir.reduce %y kind = sum axes = [0] keepdims = false : tensor<?x2xf64, "DIM,*"> -> tensor<2xf64>
    %1 = ptir.dimension_size %x axis = -2 : tensor<?x2xf64, "DIM,*"> -> tensor<si64>
    %2 = ptir.cast %1 dtype = f64 : tensor<si64> -> tensor<f64>
    %3 = ptir.broadcast_to %2 result_shape = [2] : tensor<f64> -> tensor<2xf64>
    %4 = ptir.div %0, %3 : tensor<2xf64>
    func.return %4 : tensor<2xf64>
  }
}"""
NAMED = MEAN.replace("DIM", "T")
UNKNOWN = MEAN.replace(', "DIM,*"', "")


def array(n: int, *batch: int) -> np.ndarray:
    return np.random.default_rng(n).standard_normal((*batch, n, 2))


@pytest.mark.parametrize("text", [NAMED, UNKNOWN], ids=["named", "unknown"])
@pytest.mark.parametrize("target", RUNS)
def test_the_mean_over_a_dynamic_dimension(target: str, text: str) -> None:
    run = RUNS[target](parse(text))
    for n in (*range(1, 6), 3, 3):
        x = array(n)
        np.testing.assert_allclose(run(x), np.mean(x * x, axis=0), rtol=1e-14)
    assert np.isnan(run(array(0))).all()


def test_the_derivative_of_a_mean_counts_the_rows() -> None:
    module = parse(NAMED)
    value, tangent = compile(module), compile(jvp(module, "mean"), "mean_jvp")
    gradient = compile(vjp(module, "mean"), "mean_grad")
    for n in range(1, 6):
        x, d, g, h = array(n), array(n + 7)[:n], np.array([0.5, -2.0]), 1e-3
        numeric = (value(x + h * d) - value(x - h * d)) / (2 * h)
        np.testing.assert_allclose(tangent(x, d)[1], numeric, atol=1e-10)
        np.testing.assert_allclose(np.sum(gradient(x, g)[1] * d), np.sum(g * numeric), atol=1e-10)


def test_a_batch_has_the_size_of_each_example() -> None:
    run = compile(vectorize(parse(NAMED)).module, "mean_vmap")
    for n in range(1, 4):
        x = array(n, 3)
        np.testing.assert_allclose(run(x), np.mean(x * x, axis=1), rtol=1e-14)


def test_a_static_size_is_a_constant() -> None:
    module = parse(NAMED)
    specialize(module, {"T": 5})
    optimize(module)
    (func,) = functions(module)
    assert not any(op.name == "ptir.dimension_size" for op in func.walk())
    np.testing.assert_allclose(compile(module)(array(5)), np.mean(array(5) ** 2, axis=0))


def test_stablehlo_asks_for_the_size_of_any_dimension() -> None:
    module = parse("""module {
      func.func @main(%x: tensor<?x2xf32>) -> tensor<i32> {
        %0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x2xf32>) -> tensor<i32>
        return %0 : tensor<i32>
      }
    }""")
    assert "ptir.dimension_size" in str(module)
    run = compile(module)
    for n in (0, 4, 4):
        found = run(np.zeros((n, 2), np.float32))
        assert (found.dtype, found) == (np.int32, n)
