"""Bodies of reductions, windows and scatters that compute in a wider dtype than that of their inputs, against NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from mind_passes.functional import vjp
from mind_runtime import compile
from stablehlo_programs import EXECUTORS, Array, program, read, run, same

X = np.random.default_rng(3).normal(size=8).astype(ml_dtypes.bfloat16)
U = np.random.default_rng(4).normal(size=4).astype(ml_dtypes.bfloat16)
WIDE = X.astype(np.float32)
FIRST = WIDE.reshape(4, 2).argmax(1) + np.arange(0, 8, 2)


def body(kind: str, dtype: str = "f32") -> str:
    return f"""({{
    ^bb0(%p: tensor<{dtype}>, %q: tensor<{dtype}>):
      %s = stablehlo.{kind} %p, %q : tensor<{dtype}>
      stablehlo.return %s : tensor<{dtype}>
    }})"""


SELECT = """({
    ^bb0(%p: tensor<bf16>, %q: tensor<bf16>):
      %s = stablehlo.compare GT, %p, %q : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
      stablehlo.return %s : tensor<i1>
    },"""
ZERO = "%z = stablehlo.constant dense<0.0> : tensor<bf16>"


def scattered(at: Array) -> Array:
    found = np.zeros(8, np.float32)
    np.add.at(found, at, U.astype(np.float32))
    return found


CASES: dict[str, tuple[str, Array]] = {
    "reduce": (
        f"""{ZERO}
    %r = "stablehlo.reduce"(%x, %z) {body("add")} {{dimensions = array<i64: 0>}} :
      (tensor<8xbf16>, tensor<bf16>) -> tensor<f32>""",
        WIDE.sum(),
    ),
    "reduce from a wider value": (
        f"""%z = stablehlo.constant dense<2.0> : tensor<f32>
    %r = "stablehlo.reduce"(%x, %z) {body("multiply")} {{dimensions = array<i64: 0>}} :
      (tensor<8xbf16>, tensor<f32>) -> tensor<f32>""",
        2 * WIDE.prod(),
    ),
    "reduce_window": (
        f"""{ZERO}
    %r = "stablehlo.reduce_window"(%x, %z) {body("add")} {{window_dimensions = array<i64: 5>}} :
      (tensor<8xbf16>, tensor<bf16>) -> tensor<4xf32>""",
        np.array([WIDE[i : i + 5].sum() for i in range(4)], np.float32),
    ),
    "scatter": (
        f"""%i = stablehlo.constant dense<[[6], [6], [9], [0]]> : tensor<4x1xi32>
    %r = "stablehlo.scatter"(%x, %i, %u) {body("add")} {{scatter_dimension_numbers = #stablehlo.scatter<
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}} :
      (tensor<8xbf16>, tensor<4x1xi32>, tensor<4xbf16>) -> tensor<8xf32>""",
        WIDE + np.array([U[3], 0, 0, 0, 0, 0, np.float32(U[0]) + np.float32(U[1]), 0], np.float32),
    ),
    "select_and_scatter": (
        f"""{ZERO}
    %r = "stablehlo.select_and_scatter"(%x, %u, %z) {SELECT}{body("add")[1:]} {{window_dimensions = array<i64: 2>,
      window_strides = array<i64: 2>}} : (tensor<8xbf16>, tensor<4xbf16>, tensor<bf16>) -> tensor<8xf32>""",
        scattered(FIRST),
    ),
}


def text_of(name: str) -> str:
    ops, expected = CASES[name]
    shape = "".join(f"{n}x" for n in expected.shape)
    return program("%x: tensor<8xbf16>, %u: tensor<4xbf16>", ops, f"tensor<{shape}f32>")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("executor", EXECUTORS)
def test_values(name: str, executor: str) -> None:
    same(run(text_of(name), X, U, executor=executor), CASES[name][1], 1e-6)


def test_the_gradient_reaches_the_narrow_input() -> None:
    _, dx, _ = compile(vjp(read(text_of("reduce"))), "main_grad")(X, U, np.float32(1.5))
    same(dx, np.full(8, 1.5, ml_dtypes.bfloat16))
