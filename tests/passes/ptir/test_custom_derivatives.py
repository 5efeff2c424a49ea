"""Functions with derivative rules of their own: where autodiff and batching use them, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from mind_dialect.errors import MindError
from mind_passes.autodiff import GradientOptions, differentiate
from mind_passes.derivatives.custom import JVP, VJP
from mind_passes.forward import forward_mode
from mind_passes.vectorize import VectorizeOptions, vectorize
from mind_runtime import compile
from programs import parse

RULES = "mind.vjp = @f_vjp, mind.jvp = @f_jvp"
FUNCTIONS = """
  func.func private @f(%x: tensor<3xf64>, %n: tensor<3xsi32>) -> (tensor<3xf64>, tensor<3xsi32>) attributes {RULES} {
    %0 = ptir.sin %x : tensor<3xf64>
    func.return %0, %n : tensor<3xf64>, tensor<3xsi32>
  }
  func.func private @f_vjp(%x: tensor<3xf64>, %n: tensor<3xsi32>, %g: tensor<3xf64>) -> tensor<3xf64> {
    %0 = ptir.cos %x : tensor<3xf64>
    %1 = ptir.mul %0, %g : tensor<3xf64>
    %2 = ptir.constant fill SCALE : tensor<3xf64>
    %3 = ptir.mul %1, %2 : tensor<3xf64>
    func.return %3 : tensor<3xf64>
  }
  func.func private @f_jvp(%x: tensor<3xf64>, %n: tensor<3xsi32>, %t: tensor<3xf64>) -> tensor<3xf64> {
    %0 = func.call @f_vjp(%x, %n, %t) : (tensor<3xf64>, tensor<3xsi32>, tensor<3xf64>) -> tensor<3xf64>
    func.return %0 : tensor<3xf64>
  }
"""
CALL = "%{0}, %k{0} = func.call @f(%{1}, %n) : (tensor<3xf64>, tensor<3xsi32>) -> (tensor<3xf64>, tensor<3xsi32>)"
BODIES = {
    "straight": f"""
    {CALL.format("a", "x")}
    {CALL.format("b", "a")}
    %r = ptir.mul %b, %x : tensor<3xf64>""",
    "helper": """
    %b = func.call @helper(%x, %n) : (tensor<3xf64>, tensor<3xsi32>) -> tensor<3xf64>
    %r = ptir.mul %b, %x : tensor<3xf64>""",
    "cond": f"""
    %p = ptir.constant true : tensor<i1>
    %r = ptir.cond %p, %x, %n : (tensor<i1>, tensor<3xf64>, tensor<3xsi32>) -> tensor<3xf64> true {{
    ^bb0(%x_: tensor<3xf64>, %n_: tensor<3xsi32>):
      {CALL.format("a", "x_").replace("%n)", "%n_)")}
      ptir.yield %a : tensor<3xf64>
    }} false {{
    ^bb0(%x_: tensor<3xf64>, %n_: tensor<3xsi32>):
      ptir.yield %x_ : tensor<3xf64>
    }}""",
    "scan": f"""
    %xs = ptir.broadcast_to %x result_shape = [4, 3] : tensor<3xf64> -> tensor<4x3xf64>
    %r, %m = ptir.scan %x, %n, %xs carry_count = 2 scan_output_count = 0
      : (tensor<3xf64>, tensor<3xsi32>, tensor<4x3xf64>) -> (tensor<3xf64>, tensor<3xsi32>) body {{
    ^bb0(%c: tensor<3xf64>, %n_: tensor<3xsi32>, %row: tensor<3xf64>):
      {CALL.format("a", "c").replace("%n)", "%n_)")}
      %d = ptir.mul %a, %row : tensor<3xf64>
      ptir.yield %d, %ka : tensor<3xf64>, tensor<3xsi32>
    }}""",
}
HELPER = f"""
  func.func private @helper(%x: tensor<3xf64>, %n: tensor<3xsi32>) -> tensor<3xf64> {{
    {CALL.format("a", "x")}
    func.return %a : tensor<3xf64>
  }}
"""
X, N = np.array([0.3, -1.2, 2.0]), np.array([1, 2, 3], np.int32)


def program(body: str, rules: str = RULES, scale: float = 1.0) -> ModuleOp:
    functions = FUNCTIONS.replace("RULES", rules).replace("SCALE", str(scale))
    return parse(f"""builtin.module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @main(%x: tensor<3xf64>, %n: tensor<3xsi32>) -> tensor<3xf64> {{
    {BODIES[body]}
    func.return %r : tensor<3xf64>
  }}
  {HELPER if "@helper" in BODIES[body] else ""}
  {functions}
}}""")


def plain(body: str) -> ModuleOp:
    """The program whose derivatives are those of the ops."""
    module = program(body)
    for func in module.body.ops:
        assert isinstance(func, FuncOp)
        func.attributes.pop(VJP, None)
        func.attributes.pop(JVP, None)
    return module


def gradient(module: ModuleOp) -> ModuleOp:
    return differentiate(module, "main", GradientOptions(seed="ones", keep_primal=False)).module


@pytest.mark.parametrize("body", BODIES)
def test_right_rules_give_the_derivatives_of_the_ops(body: str) -> None:
    ours, theirs = program(body), plain(body)
    np.testing.assert_allclose(*(compile(gradient(m), "main_grad")(X, N) for m in (ours, theirs)), rtol=1e-13)
    np.testing.assert_allclose(
        *(compile(forward_mode(m, "main").module, "main_jvp")(X, N, X + 1)[1] for m in (ours, theirs)), rtol=1e-13
    )


@pytest.mark.parametrize("body", BODIES)
def test_a_rule_replaces_the_derivative_of_the_ops(body: str) -> None:
    """A rule that is nothing: of `straight`, what is left is the derivative of the factor."""
    found = compile(gradient(program(body, scale=0.0)), "main_grad")(X, N)
    left = {"straight": np.sin(np.sin(X)), "helper": np.sin(X), "cond": np.zeros(3), "scan": np.sin(_before_last(X))}
    np.testing.assert_allclose(found, left[body], rtol=1e-13)


def _before_last(x: np.ndarray) -> np.ndarray:
    """The carried value of the scan before its last step, of which only the scanned rows have a derivative then."""
    for _ in range(3):
        x = np.sin(x) * X
    return x


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("batch_first", [True, False])
def test_rules_are_batched(body: str, batch_first: bool) -> None:
    xs = np.stack([X, X * 0.5, X - 1.0, X * 2])
    options = VectorizeOptions(in_axes=(0, None), size=4)
    module = program(body, scale=2.0)
    expected = np.stack([compile(gradient(module), "main_grad")(x, N) for x in xs])
    if batch_first:
        batched = vectorize(module, "main", options).module
        made, name = differentiate(batched, "main_vmap", GradientOptions(seed="ones", keep_primal=False)).module, "main_vmap_grad"
    else:
        made, name = vectorize(gradient(module), "main_grad", options).module, "main_grad_vmap"
    np.testing.assert_allclose(compile(made, name)(xs, N), expected, rtol=1e-13)


def test_a_rule_is_differentiated_again() -> None:
    """Second derivatives go through the rule: the reverse rule of `sin` doubled is `2 cos`, whose derivative is `-2 sin`."""
    module = program("helper", scale=2.0)
    options = GradientOptions(seed="ones", keep_primal=False)
    second = differentiate(gradient(module), "main_grad", options).module
    found = compile(second, "main_grad_grad")(X, N)
    np.testing.assert_allclose(found, 2 * np.cos(X) + 2 * np.cos(X) - 2 * X * np.sin(X), rtol=1e-13)


def test_every_target_runs_the_function_itself() -> None:
    for target in ("numpy", "native"):
        np.testing.assert_allclose(
            compile(program("straight", scale=0.0), "main", target)(X, N), np.sin(np.sin(X)) * X, rtol=1e-13
        )


@pytest.mark.parametrize(
    ("rules", "code", "words"),
    [
        ("mind.vjp = @nothing", "E4016", "mind.vjp of @f is @nothing, expected the name of a function in the module"),
        ("mind.vjp = 3 : i64", "E4016", "mind.vjp of @f is 3 : i64, expected the name of a function in the module"),
        ("mind.vjp = @f", "E4016", "mind.vjp of @f: @f is (tensor<3xf64>, tensor<3xsi32>) -> (tensor<3xf64>, tensor<3xsi32>)"),
        ("mind.vjp = @f_vjp, mind.vjp_wrt = array<i64: 1>", "E4016", "mind.vjp_wrt of @f is array<i64: 1>, expected some of [0]"),
        ("mind.vjp = @f_vjp, mind.vjp_wrt = 0 : i64", "E4016", "mind.vjp_wrt of @f is 0 : i64, expected some of [0]"),
        ("mind.vjp = @f_vjp, mind.vjp_wrt = array<i64: 0, 0>", "E4016", "mind.vjp_wrt of @f is array<i64: 0, 0>"),
        ("mind.vjp = @f_vjp, mind.vjp_wrt = array<i64: -1>", "E4016", "mind.vjp_wrt of @f is array<i64: -1>"),
        ("mind.vjp = @f_vjp, mind.vjp_wrt = array<i64>", "E4016", "mind.vjp of @f: @f_vjp is"),
        ("mind.jvp = @f_jvp", "E5001", "@f has a derivative rule of its own, but no mind.vjp"),
    ],
)
def test_refusals(rules: str, code: str, words: str) -> None:
    with pytest.raises(MindError) as caught:
        gradient(program("straight", rules))
    assert caught.value.code == code
    assert words in caught.value.message


def test_no_rule_for_the_other_mode() -> None:
    with pytest.raises(MindError, match=r"but no mind\.jvp") as caught:
        forward_mode(program("straight", "mind.vjp = @f_vjp"), "main")
    assert caught.value.code == "E5001"


def test_rules_are_no_functions_to_differentiate() -> None:
    """Without a name, the only function that somebody wrote is meant."""
    assert differentiate(program("straight"), options=GradientOptions(seed="ones")).primal.sym_name.data == "main"


@pytest.mark.parametrize("size", [None, "B", 4])
def test_batches_of_functions_with_rules_have_the_name_that_their_callers_give_to_the_batch(size: int | str | None):
    text = """builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @main(%xs: tensor<?x3xf64, "N,*">) -> tensor<3xf64> {
    %s = ptir.reduce %xs kind = sum axes = [0] keepdims = false : tensor<?x3xf64, "N,*"> -> tensor<3xf64>
    %y = func.call @doubled(%s) : (tensor<3xf64>) -> tensor<3xf64>
    func.return %y : tensor<3xf64>
  }
  func.func private @doubled(%x: tensor<3xf64>) -> tensor<3xf64> attributes {mind.vjp = @rule} {
    %0 = ptir.add %x, %x : tensor<3xf64>
    func.return %0 : tensor<3xf64>
  }
  func.func private @rule(%x: tensor<3xf64>, %g: tensor<3xf64>) -> tensor<3xf64> {
    func.return %g : tensor<3xf64>
  }
}"""
    batched = vectorize(parse(text), "main", VectorizeOptions(size=size)).module
    gradient = differentiate(batched, "main_vmap", GradientOptions(seed="ones")).module
    xs = np.arange(24.0).reshape(4, 2, 3)
    y, adjoint = compile(gradient, "main_vmap_grad")(xs)
    np.testing.assert_array_equal(y, 2 * xs.sum(1))
    np.testing.assert_array_equal(adjoint, np.ones_like(xs))
