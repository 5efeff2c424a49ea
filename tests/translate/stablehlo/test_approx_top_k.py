"""JAX's `approx_max_k` and `approx_min_k`, which become the exact ones, as on XLA's hosts; comparators that are none of these."""

from __future__ import annotations

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_dialect.program import functions
from mind_passes.functional import vjp
from mind_runtime import compile
from stablehlo_programs import EXECUTORS, read, run

CONFIG = "aggregate_to_topk = true, is_fallback = true, recall_target = 0.95 : f32, reduction_dim = {} : i64, top_k = 3 : i64"


def approximate(
    direction: str = "GT", axis: int = 1, shape: str = "4x3", operands: str = "%p, %q", called: str = "[@c]", config: str = CONFIG
) -> str:
    attributes = f"called_computations = {called}, mhlo.backend_config = {{{config.format(axis)}}}"
    return f"""
module {{
  func.func @c(%p: tensor<f32>, %q: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {{
    %0 = stablehlo.compare {direction}, {operands} : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }}
  func.func public @main(%x: tensor<4x9xf32>) -> (tensor<{shape}xf32>, tensor<{shape}xi32>) {{
    %i = stablehlo.iota dim = {axis} : tensor<4x9xi32>
    %n = stablehlo.constant dense<-1> : tensor<i32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %r:2 = stablehlo.custom_call @ApproxTopK(%x, %i, %z, %n) {{{attributes}}}
      : (tensor<4x9xf32>, tensor<4x9xi32>, tensor<f32>, tensor<i32>) -> (tensor<{shape}xf32>, tensor<{shape}xi32>)
    return %r#0, %r#1 : tensor<{shape}xf32>, tensor<{shape}xi32>
  }}
}}
"""


X = np.random.default_rng(0).permutation(36).reshape(4, 9).astype(np.float32)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(("direction", "axis", "shape"), [("GT", 1, "4x3"), ("LT", 1, "4x3"), ("GT", 0, "3x9"), ("GT", 1, "4x6")])
def test_the_exact_ones_are_taken(direction: str, axis: int, shape: str, executor: str) -> None:
    """As many as the result has: more than `top_k` where the caller aggregates."""
    values, places = run(approximate(direction, axis, shape), X, executor=executor)
    order = np.argsort(-X if direction == "GT" else X, axis=axis, kind="stable")
    wanted = np.take(order, range(values.shape[axis]), axis=axis)
    np.testing.assert_array_equal(places, wanted)
    np.testing.assert_array_equal(values, np.take_along_axis(X, wanted, axis=axis))


def test_comparators_do_not_stay() -> None:
    """Else the module would have two functions that could be meant; one that something else calls stays."""
    assert [f.sym_name.data for f in functions(read(approximate()))] == ["main"]
    call = "%w = call @c(%z, %z, %n, %n) : (tensor<f32>, tensor<f32>, tensor<i32>, tensor<i32>) -> tensor<i1>"
    called = approximate().replace("    return %r#0", f"    {call}\n    return %r#0")
    assert [f.sym_name.data for f in functions(read(called))] == ["c", "main"]


def test_adjoints_go_where_values_came_from() -> None:
    gradient = compile(vjp(read(approximate()), "main"), "main_grad")
    g = np.arange(1.0, 13.0, dtype=np.float32).reshape(4, 3)
    _, places, adjoint = gradient(X, g)
    np.testing.assert_array_equal(np.take_along_axis(adjoint, places, axis=1), g)
    assert np.count_nonzero(adjoint) == 12


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (approximate("NE"), "E8008"),
        (approximate(operands="%q, %p"), "E8008"),
        (approximate(called="[]"), "E8008"),
        (approximate(called="[@nothing]"), "E8008"),
        (approximate(config="top_k = 3 : i64"), "E8002"),
        (approximate(config="reduction_dim = 2 : i64"), "E8002"),
    ],
)
def test_others_are_refused(text: str, code: str) -> None:
    with pytest.raises(MindError) as caught:
        read(text)
    assert caught.value.code == code
