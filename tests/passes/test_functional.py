"""The Python functions: the right pass, the right options, against central differences and loops over examples."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr

from mind_dialect.build import exp, expand_dims, log, program, sum, variable
from mind_dialect.errors import MindError
from mind_dialect.ptir_program import ENTRY_ATTRIBUTE, SPEC_VERSION, VERSION_ATTRIBUTE
from mind_passes.functional import grad, hessian_vector_product, jvp, value_and_grad, vjp, vmap
from mind_runtime import compile
from programs import parse

LOSS = """
func.func @f(%x: tensor<3xf64>, %w: tensor<3xf64>) -> tensor<f64> {
  %p = ptir.mul %x, %w : tensor<3xf64>
  %t = ptir.tanh %p : tensor<3xf64>
  %q = ptir.mul %t, %w : tensor<3xf64>
  %l = ptir.reduce %q kind = sum axes = [0] keepdims = false : tensor<3xf64> -> tensor<f64>
  func.return %l : tensor<f64>
}
"""
TWO = """
func.func @f(%x: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xsi32>, tensor<f64>) {
  %n = ptir.cast %x dtype = si32 : tensor<3xf64> -> tensor<3xsi32>
  %s = ptir.sin %x : tensor<3xf64>
  %q = ptir.mul %x, %s : tensor<3xf64>
  %l = ptir.reduce %q kind = sum axes = [0] keepdims = false : tensor<3xf64> -> tensor<f64>
  func.return %s, %n, %l : tensor<3xf64>, tensor<3xsi32>, tensor<f64>
}
"""


def parsed(text: str) -> ModuleOp:
    module = parse(text)
    module.attributes[VERSION_ATTRIBUTE] = StringAttr(SPEC_VERSION)
    return module


X, W, V = np.array([0.5, -1.0, 2.0]), np.array([1.5, 0.25, -0.5]), np.array([1.0, 2.0, -1.0])


def numpy_loss(x: np.ndarray, w: np.ndarray) -> float:
    return float(np.sum(np.tanh(x * w) * w))


def numpy_gradient(x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    t = np.tanh(x * w)
    return w * w * (1 - t * t), t + w * x * (1 - t * t)


@pytest.fixture
def loss() -> ModuleOp:
    return parsed(LOSS)


def test_grad_returns_gradients_only(loss: ModuleOp):
    before = str(loss)
    found = compile(grad(loss), "f_grad")(X, W)
    for a, b in zip(found, numpy_gradient(X, W), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)
    assert str(loss) == before, "the module that was given stays"


def test_value_and_grad_of_some_inputs(loss: ModuleOp):
    value, w_adj = compile(value_and_grad(loss, wrt=["w"]), "f_grad")(X, W)
    assert value == pytest.approx(numpy_loss(X, W), rel=1e-14)
    np.testing.assert_allclose(w_adj, numpy_gradient(X, W)[1], rtol=1e-14)


def test_one_input_may_stand_alone(loss: ModuleOp):
    expected = str(grad(loss, wrt=["w"]))
    assert str(grad(loss, wrt="w")) == str(grad(loss, wrt=1)) == expected


def test_vjp_takes_a_cotangent_for_each_floating_point_output():
    s_adj, l_adj = np.array([1.0, -2.0, 3.0]), np.array(0.5)
    s, n, loss, x_adj = compile(vjp(parsed(TWO)), "f_grad")(X, s_adj, l_adj)
    np.testing.assert_array_equal(n, X.astype(np.int32))
    np.testing.assert_allclose(s, np.sin(X), rtol=1e-14)
    assert loss == pytest.approx(np.sum(X * np.sin(X)), rel=1e-14)
    np.testing.assert_allclose(x_adj, s_adj * np.cos(X) + l_adj * (np.sin(X) + X * np.cos(X)), rtol=1e-14)


def test_jvp_pushes_a_tangent_for_each_output():
    s, _, loss, s_t, l_t = compile(jvp(parsed(TWO)), "f_jvp")(X, V)
    np.testing.assert_allclose(s_t, V * np.cos(X), rtol=1e-14)
    assert l_t == pytest.approx(np.sum(V * (np.sin(X) + X * np.cos(X))), rel=1e-14)
    np.testing.assert_allclose([*s, loss], [*np.sin(X), np.sum(X * np.sin(X))], rtol=1e-14)


def test_hessian_vector_product_is_the_difference_of_gradients(loss: ModuleOp):
    found = compile(hessian_vector_product(loss, wrt=["w"]), "f_hvp")(X, W, V)
    step = 1e-5
    expected = (numpy_gradient(X, W + step * V)[1] - numpy_gradient(X, W - step * V)[1]) / (2 * step)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_per_example_gradients_are_a_batch_of_gradients(loss: ModuleOp):
    xs = np.array([X, -X, X + 1, X * 2])
    per_example = compile(vmap(grad(loss, wrt=["w"]), "f_grad", in_axes=(0, None)), "f_grad_vmap")
    np.testing.assert_allclose(per_example(xs, W), [numpy_gradient(x, W)[1] for x in xs], rtol=1e-14)


def test_a_batch_along_another_axis(loss: ModuleOp):
    xs = np.array([X, -X, X + 1, X * 2])
    found = compile(vmap(parsed(TWO), in_axes=-1, out_axes=(1, 0, 0), size="B"), "f_vmap")(np.ascontiguousarray(xs.T))
    np.testing.assert_allclose(found[0], np.sin(xs).T, rtol=1e-14)
    np.testing.assert_allclose(found[2], np.sum(xs * np.sin(xs), axis=1), rtol=1e-14)


def test_core_ir_is_sent_to_its_conversion():
    text = "func.func @f(%x: tensor<3xf64>) -> tensor<3xf64> {\n"
    text += "  %y = mind.exp %x : tensor<3xf64>\n  func.return %y : tensor<3xf64>\n}"
    with pytest.raises(MindError, match="convert-mind-to-ptir") as found:
        jvp(parsed(text))
    assert found.value.code == "E4000"


def test_a_hessian_vector_product_is_by_inputs_and_needs_a_free_name(loss: ModuleOp):
    with pytest.raises(MindError, match="inside @f") as found:
        hessian_vector_product(loss, wrt=[2])
    assert found.value.code == "E7003"
    taken = parsed(LOSS + "func.func @f_hvp(%y: tensor<f64>) -> tensor<f64> { func.return %y : tensor<f64> }")
    with pytest.raises(MindError, match="@f_hvp exists already") as found:
        hessian_vector_product(taken, "f")
    assert found.value.code == "E4002"


def test_gradients_come_in_the_order_of_the_inputs(loss: ModuleOp):
    one, other = (compile(grad(loss, wrt=wrt), "f_grad")(X, W) for wrt in (["x", "w"], ["w", "x", "w"]))
    for a, b, expected in zip(one, other, numpy_gradient(X, W), strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(a, expected, rtol=1e-14)


def test_none_stands_for_all_inputs(loss: ModuleOp):
    found = compile(vmap(loss, in_axes=None, out_axes=None, size=3), "f_vmap")(X, W)
    assert found == pytest.approx(numpy_loss(X, W), rel=1e-14)


FUNCTIONS = [grad, value_and_grad, vjp, jvp, hessian_vector_product, vmap]


@pytest.mark.parametrize("transform", FUNCTIONS)
def test_what_is_no_module_is_answered_with_what_to_give(transform: Callable[..., ModuleOp], loss: ModuleOp):
    given: list[tuple[object, str]] = [
        (lambda a: a, 'found a function; call it on variables of mind_dialect.build and give program("f", result)'),
        (np.tanh, 'found a ufunc; call it on variables of mind_dialect.build and give program("f", result)'),
        (variable("x", "f64", ()), 'found an Expression; give program("f", expression) of mind_dialect.build'),
        (compile(loss), "found a Program; give the module from which it was compiled"),
        (next(iter(loss.ops)), "found a FuncOp; give the module that holds it"),
        (LOSS, "found a str; mind_tools.frontends has load(path) and parse(text)"),
    ]
    for value, message in given:
        with pytest.raises(MindError) as e:
            transform(value)
        assert (e.value.code, e.value.message) == ("E2001", f"expected a module, {message}")


@pytest.mark.parametrize("transform", [grad, value_and_grad, vjp])
def test_an_expression_that_divides_has_a_derivative_on_request(transform: Callable[..., ModuleOp]):
    x = variable("x", "f64", (2, 3))
    softmax = exp(x) / expand_dims(sum(exp(x), [-1]), [-1])
    module = program("f", -sum(log(softmax) * softmax))
    with pytest.raises(MindError, match=r"E5001: Div %\S+: cannot be differentiated: .*from Python div_gradient=True"):
        transform(module)
    seeds = [np.float64(1)] if transform is vjp else []
    at = np.array([[0.5, -1.0, 2.0], [0.0, 0.25, 1.0]])
    found = compile(transform(module, div_gradient=True), "f_grad")(at, *seeds)
    p = np.exp(at) / np.exp(at).sum(-1, keepdims=True)
    h = -(p * np.log(p)).sum(-1, keepdims=True)
    np.testing.assert_allclose(found if transform is grad else found[1], -p * (np.log(p) + h), rtol=1e-12)


def test_the_entry_that_a_module_states_is_meant_among_several() -> None:
    module = parsed(LOSS + LOSS.replace("@f", "@g"))
    with pytest.raises(MindError, match=r"E7003: which function is meant is not stated"):
        grad(module)
    module.attributes[ENTRY_ATTRIBUTE] = SymbolRefAttr("g")
    x, w = np.array([0.5, -1, 2]), np.array([1, 2.0, 3])
    np.testing.assert_array_equal(compile(grad(module), "g_grad")(x, w), compile(grad(module, "f"), "f_grad")(x, w))
    assert "@g_vmap" in str(vmap(module))
    module.attributes[ENTRY_ATTRIBUTE] = SymbolRefAttr("h")
    with pytest.raises(MindError, match=r"E2002"):
        grad(module)
