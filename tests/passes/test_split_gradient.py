"""Gradients in two functions: the same numbers as in one, residuals saved once, and nothing computed twice that is dear."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.program import functions
from mind_dialect.verify import verify
from mind_passes.autodiff import GradientOptions, differentiate
from mind_passes.split_gradient import SAVED, SplitGradient, split_gradient
from mind_runtime import compile
from mind_tools.frontends import parse
from ptir_forms import program


def split(module: Any, wrt: Any = None) -> tuple[Any, FuncOp, SplitGradient]:
    found = differentiate(module, "f", GradientOptions(wrt, seed="cotangent"))
    parts = split_gradient(found.module, found.function)
    verify(found.module)
    return found.module, found.function, parts


def run(module: Any, function: FuncOp, arrays: Any) -> list[Any]:
    found = compile(module, function.sym_name.data)(*arrays)
    return [np.asarray(y) for y in (found if isinstance(found, tuple) else (found,))]


def same(module: Any, arrays: Any, cotangents: Any, wrt: Any = None) -> tuple[Any, SplitGradient]:
    """Both parts give the bits of the whole."""
    whole, gradient, parts = split(module, wrt)
    wanted = run(whole, gradient, [*arrays, *cotangents])
    results = run(whole, parts.forward, arrays)
    given = [*arrays, *results]
    adjoints = run(whole, parts.backward, [*(given[i] for i in parts.saved), *cotangents])
    count = len(wanted) - len(adjoints)
    for found, y in zip([*results[:count], *adjoints], wanted, strict=True):
        np.testing.assert_array_equal(found, y)
    assert parts.backward.attributes[SAVED].get_values() == parts.saved  # pyright: ignore
    return whole, parts


def names(function: FuncOp) -> list[str]:
    return [op.name.removeprefix("ptir.") for op in function.body.block.ops]


def product(x: Any, w: Any) -> Any:
    return ptir.DotGeneralOp(x, w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,))


def test_a_perceptron_does_its_products_once() -> None:
    module = program("f32[4,3] f32[3,5] f32[5,2]", lambda x, a, b: product(ptir.TanhOp(product(x, a)), b))
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=s).astype(np.float32) for s in ((4, 3), (3, 5), (5, 2))]
    _, parts = same(module, arrays, [rng.normal(size=(4, 2)).astype(np.float32)])
    assert (names(parts.forward).count("dot_general"), names(parts.forward).count("tanh")) == (2, 1)
    assert (names(parts.backward).count("dot_general"), names(parts.backward).count("tanh")) == (4, 0)
    assert len(parts.forward.function_type.outputs) == 2  # the result, and what tanh gave


def test_a_result_that_is_a_residual_is_saved_once() -> None:
    module = program("f32[4]", lambda x: ptir.TanhOp(x))
    x = np.linspace(-1, 1, 4).astype(np.float32)
    _, parts = same(module, [x], [np.ones(4, np.float32)])
    assert (len(parts.forward.function_type.outputs), parts.saved) == (1, (1,))


def test_cheap_ops_on_inputs_are_computed_again() -> None:
    module = program("f32[4] f32[4]", lambda x, y: ptir.ExpOp(ptir.MulOp(ptir.AddOp(x, y), ptir.AddOp(x, y))))
    arrays = [np.linspace(-1, 1, 4).astype(np.float32), np.ones(4, np.float32)]
    _, parts = same(module, arrays, [np.ones(4, np.float32)])
    assert parts.saved == (0, 1, 2)  # both inputs, and the exponential that is the result
    assert "add" in names(parts.backward)


def test_random_numbers_are_saved() -> None:
    def made(x: Any) -> Any:
        noise = ptir.RngUniformOp(shape=(4,), dtype="f32")
        return ptir.MulOp(ptir.TanhOp(x), noise)

    _, _, parts = split(program("f32[4]", made))
    assert "rng_uniform" in names(parts.forward)
    assert "rng_uniform" not in names(parts.backward)


def test_several_results_and_some_inputs() -> None:
    module = program("f32[4] si32[] f32[4]", lambda x, n, y: [ptir.ExpOp(x), ptir.AddOp(n, n), ptir.MulOp(ptir.SinOp(y), x)])
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=4).astype(np.float32), np.array(3, np.int32), rng.normal(size=4).astype(np.float32)]
    same(module, arrays, [rng.normal(size=4).astype(np.float32) for _ in range(2)])
    same(module, arrays, [rng.normal(size=4).astype(np.float32) for _ in range(2)], (2,))


def test_scans() -> None:
    def made(x: Any, xs: Any) -> Any:
        body: Any = lambda c, row: [ptir.TanhOp(ptir.MulOp(c, row))]  # noqa: E731
        return ptir.ScanOp(x, xs, carry_count=1, scan_output_count=0, body=body).results[0]

    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=2), rng.normal(size=(5, 2))]
    same(program("f64[2] f64[5,2]", made), arrays, [np.ones(2)])


def test_an_input_that_nothing_depends_on_has_zeros() -> None:
    same(program("f32[3] f32[2]", lambda x, y: ptir.ExpOp(x)), [np.ones(3, np.float32), np.ones(2, np.float32)],
         [np.ones(3, np.float32)])  # fmt: skip


def test_the_same_text_each_time() -> None:
    module = program("f32[4,3] f32[3,5]", lambda x, a: ptir.TanhOp(product(x, a)))
    assert str(split(module)[0]) == str(split(module)[0])


@pytest.mark.parametrize("options", [GradientOptions(), GradientOptions(seed="cotangent", keep_primal=False)])
def test_what_cannot_be_split_is_an_error(options: GradientOptions) -> None:
    module = program("f32[4]", lambda x: ptir.ReduceOp(ptir.ExpOp(x), kind="sum", axes=(0,), keepdims=False))
    found = differentiate(module, "f", options)
    with pytest.raises(MindError, match="seed=cotangent, keep-primal=true") as caught:
        split_gradient(found.module, found.function)
    assert caught.value.code == "E7001"
    with pytest.raises(MindError, match="@f is no gradient function"):
        split_gradient(found.module, next(functions(found.module)))


@pytest.mark.parametrize("stated", ['"x"', "@f", "1 : i64"])
def test_a_function_that_states_something_else_is_no_gradient(stated: str) -> None:
    module = parse(f"""builtin.module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
      func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> attributes {{mind.grad_wrt = {stated}}} {{
        func.return %x : tensor<2xf32>
      }}
    }}""")
    (func,) = functions(module)
    with pytest.raises(MindError, match="E7001: @f is no gradient function"):
        split_gradient(module, func)


def test_more_inputs_than_results_are_no_gradient() -> None:
    module = parse("""builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
      func.func @f(%x: tensor<2xf32> {mind.cotangent}) -> tensor<2xf32> attributes {mind.grad_wrt = array<i64: 0, 1, 2>} {
        func.return %x : tensor<2xf32>
      }
    }""")
    (func,) = functions(module)
    with pytest.raises(MindError, match="E7001: @f has no cotangents or primal results"):
        split_gradient(module, func)
