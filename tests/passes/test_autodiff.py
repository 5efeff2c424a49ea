"""The autodiff driver: signature, options, accumulation, zeros, errors. The rules have their own table."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest
from xdsl.passes import PassPipeline

from mind_dialect.core import AddOp, Conv2dOp, MulOp, NegOp, SumOp
from mind_dialect.errors import MindError, error
from mind_dialect.program import functions, input_names, outputs, value_ids
from mind_dialect.verify import verify
from mind_passes import autodiff
from mind_passes.autodiff import GradientOptions, MindAutodiffPass, differentiate, select_function
from mind_passes.derivatives.core import RULES
from mind_runtime import compile
from mind_tools import frontends
from programs import context, parse

LOSS = """
func.func @loss(%x: tensor<2x3xf32>, %w: tensor<3xf32>, %n: tensor<3xi32>) -> tensor<f32> {
  %h = mind.mul %x, %w : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %y = mind.sum %h axes = [] keepdims = false : tensor<2x3xf32> -> tensor<f32>
  func.return %y : tensor<f32>
}"""
VECTOR = """
func.func @f(%x: tensor<3xf64>) -> tensor<3xf64> {
  %y = mind.exp %x : tensor<3xf64>
  func.return %y : tensor<3xf64>
}"""
CONV = """
func.func @f(%x: tensor<1x4x4x1xf64>, %w: tensor<2x2x1x1xf64>) -> tensor<f64> {
  %c = mind.conv2d %x, %w strides = [1, 1] padding = Valid : (tensor<1x4x4x1xf64>, tensor<2x2x1x1xf64>) -> tensor<1x3x3x1xf64>
  %y = mind.sum %c axes = [] keepdims = false : tensor<1x3x3x1xf64> -> tensor<f64>
  func.return %y : tensor<f64>
}"""
DIV = """
func.func @f(%x: tensor<f64>, %w: tensor<f64>) -> tensor<f64> attributes {mind.profile = "core-v1.1"} {
  %y = mind.div %x, %w : tensor<f64>
  func.return %y : tensor<f64>
}"""


def gradients(text: str, function: str | None = None, **options):
    return differentiate(parse(text), function, GradientOptions(**options))


def run(text: str, *arguments, function: str | None = None, **options):
    gradient = gradients(text, function, **options)
    return compile(gradient.module, gradient.function.sym_name.data)(*arguments)


def test_results_are_the_outputs_then_one_gradient_per_floating_input():
    x, w = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([1, 2, 3], np.float32)
    y, dx, dw = run(LOSS, x, w, np.zeros(3, np.int32))
    assert y == np.sum(x * w)
    np.testing.assert_array_equal(dx, np.broadcast_to(w, (2, 3)))
    np.testing.assert_array_equal(dw, x.sum(0))


def test_the_input_module_is_left_alone():
    module = parse(LOSS)
    before = str(module)
    differentiate(module)
    assert str(module) == before


def test_association_is_recorded_and_survives_printing():
    gradient = gradients(LOSS)
    again = parse(str(gradient.module))
    verify(again)
    grad = select_function(again, "loss_grad")
    assert str(grad.attributes["mind.grad_of"]) == "@loss"
    assert str(grad.attributes["mind.grad_wrt"]) == "array<i64: 0, 1>"
    assert str(again) == str(gradient.module)


def test_map_from_primal_to_gradient_value():
    gradient = gradients(LOSS)
    x, w, _ = gradient.primal.body.block.args
    assert list(gradient.gradients) == [x, w]
    assert tuple(gradient.gradients.values()) == outputs(gradient.function)[1:]
    ids = value_ids(gradient.function.body.block)
    assert gradient.value_ids() == {0: ids[gradient.gradients[x]], 1: ids[gradient.gradients[w]]}


def test_keep_primal_false_returns_gradients_only():
    assert len(outputs(gradients(LOSS, keep_primal=False).function)) == 2


def test_wrt_by_id_name_and_intermediate_in_ascending_id():
    one = gradients(LOSS, wrt=("w", 0))
    assert str(one.function.attributes["mind.grad_wrt"]) == "array<i64: 0, 1>"
    h = gradients(LOSS, wrt=("h",))
    assert str(h.function.attributes["mind.grad_wrt"]) == "array<i64: 3>"
    assert str(gradients(LOSS, wrt=(3,)).function) == str(h.function)
    _, dh = compile(h.module, "loss_grad")(np.ones((2, 3), np.float32), np.ones(3, np.float32), np.zeros(3, np.int32))
    np.testing.assert_array_equal(dh, np.ones((2, 3), np.float32))


def test_an_intermediate_and_what_feeds_it_both_get_their_gradient():
    gradient = gradients(LOSS, wrt=("x", "h"))
    w = np.array([1, 2, 3], np.float32)
    _, dx, dh = compile(gradient.module, "loss_grad")(np.ones((2, 3), np.float32), w, np.zeros(3, np.int32))
    np.testing.assert_array_equal(dh, np.ones((2, 3), np.float32))
    np.testing.assert_array_equal(dx, np.broadcast_to(w, (2, 3)))


MERGED = """func.func @f(%x: tensor<2x3xf64>, %y: tensor<2x3xf64>) -> tensor<f64> attributes {mind.profile = "core-v1.1"} {
  %n = mind.neg %y : tensor<2x3xf64>
  %nn = mind.neg %n : tensor<2x3xf64>
  %h = mind.add %x, %n : tensor<2x3xf64>
  %h_1 = mind.sub %nn, %n : tensor<2x3xf64>
  %r = mind.relu %h : tensor<2x3xf64>
  %rr = mind.relu %r : tensor<2x3xf64>
  %one = mind.const_f64 1.0 : tensor<f64>
  %same = mind.mul %rr, %one : (tensor<2x3xf64>, tensor<f64>) -> tensor<2x3xf64>
  %t = mind.transpose %same permutation = [1, 0] : tensor<2x3xf64> -> tensor<3x2xf64>
  %tt = mind.transpose %t permutation = [1, 0] : tensor<3x2xf64> -> tensor<2x3xf64>
  %flat = mind.reshape %t new_shape = [6] : tensor<3x2xf64> -> tensor<6xf64>
  %back = mind.reshape %flat new_shape = [2, 3] : tensor<6xf64> -> tensor<2x3xf64>
  %dead = mind.exp %x : tensor<2x3xf64>
  %2 = mind.mul %n, %h_1 : tensor<2x3xf64>
  %3 = mind.mul %tt, %back : tensor<2x3xf64>
  %4 = mind.mul %rr, %r : tensor<2x3xf64>
  %5 = mind.mul %same, %h : tensor<2x3xf64>
  %6 = mind.mul %nn, %2 : tensor<2x3xf64>
  %7 = mind.add %3, %4 : tensor<2x3xf64>
  %8 = mind.add %5, %6 : tensor<2x3xf64>
  %all = mind.mul %7, %8 : tensor<2x3xf64>
  %l = mind.sum %all axes = [] keepdims = false : tensor<2x3xf64> -> tensor<f64>
  func.return %l : tensor<f64>
}"""
"""Every result is named whose op canonicalisation replaces, merges with another, looks through or erases."""
NAMED = re.findall(r"%([a-z]\w*) = .*?([^ ]*)$", MERGED, re.MULTILINE)


def cut(name: str, type: str) -> str:
    """The program with the value `name` as another input."""
    lines = [line for line in MERGED.split("\n") if not line.lstrip().startswith(f"%{name} = ")]
    return "\n".join(lines).replace(") -> tensor<f64> attributes", f", %{name}: {type}) -> tensor<f64> attributes", 1)


@pytest.mark.parametrize(("name", "type"), NAMED, ids=[name for name, _ in NAMED])
def test_a_named_value_has_its_own_derivative_whatever_canonicalisation_makes_of_it(name: str, type: str):
    """By central differences in a program that has the value as an input: nothing is merged with it, no use forgotten."""
    x, y = np.array([[0.5, 1.0, 2.0], [1.5, 0.25, 0.75]]), np.array([[-0.5, 0.75, 1.0], [0.5, -1.25, 0.25]])
    returned = MERGED.replace("return %l : tensor<f64>", f"return %{name} : {type}")
    at = compile(parse(returned.replace("-> tensor<f64> attributes", f"-> {type} attributes", 1)))(x, y)
    program = compile(parse(cut(name, type)))
    expected = np.zeros_like(at)
    for index in np.ndindex(at.shape):
        step = np.zeros_like(at)
        step[index] = 2.0**-20
        expected[index] = (program(x, y, at + step) - program(x, y, at - step)) / 2.0**-19
    gradient = gradients(MERGED, wrt=(name, "y"), keep_primal=False)
    (both,) = [compile(gradient.module, "f_grad")(x, y)]
    dy, found = both
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(dy, compile(gradients(MERGED, wrt=("y",), keep_primal=False).module, "f_grad")(x, y), rtol=1e-14)
    assert np.any(found) == (name != "dead")
    assert [x.name_hint for x in gradient.gradients][1] == name.removesuffix("_1")


def test_names_stay_with_values_through_autodiff():
    """The function keeps its names, what stands for a named value takes its name, and the gradient function has both."""
    gradient = gradients(MERGED, seed="one")
    names = [op.results[0].name_hint for op in gradient.primal.body.block.ops if op.results]
    assert names == ["n", "h", "h", "r", "t", "back", *[None] * 7, "all", "l"]
    assert outputs(gradient.function)[0].name_hint == "l"


def test_a_name_that_calls_bring_along_gives_way_to_the_callers_own():
    text = """
    func.func @g(%x: tensor<f64>) -> tensor<f64> {
      %h = mind.exp %x : tensor<f64>
      %only = mind.neg %h : tensor<f64>
      %r = mind.mul %only, %h : tensor<f64>
      func.return %r : tensor<f64>
    }
    func.func @f(%x: tensor<f64>) -> tensor<f64> {
      %c = func.call @g(%x) : (tensor<f64>) -> tensor<f64>
      %h = mind.mul %c, %c : tensor<f64>
      %l = mind.mul %h, %h : tensor<f64>
      func.return %l : tensor<f64>
    }"""
    x = np.float64(0.5)
    c = -(np.exp(x) ** 2)
    for name, expected in (("h", 2 * c * c), ("%h", 2 * c * c), ("c", 4 * c**3), ("only", 4 * c**3 * np.exp(x))):
        (found,) = [run(text, x, function="f", wrt=(name,), keep_primal=False)]
        np.testing.assert_allclose(found, expected, rtol=1e-14)
    twice = re.sub(r"%h = mind.mul %c, %c : (\S+)", r"%h = func.call @g(%c) : (\1) -> \1", text)
    with pytest.raises(MindError, match="wrt=only names several values of @f"):
        differentiate(frontends.parse(twice), "f", GradientOptions(wrt=("only",)))


def test_what_the_loss_does_not_reach_gets_explicit_zeros():
    text = """func.func @f(%x: tensor<f32>, %unused: tensor<2x3xf32>) -> tensor<f32> {
      %y = mind.exp %x : tensor<f32>
      func.return %y : tensor<f32>
    }"""
    _, _, zeros = run(text, np.float32(1), np.ones((2, 3), np.float32))
    assert (zeros.dtype, zeros.tolist()) == (np.float32, [[0, 0, 0], [0, 0, 0]])


def test_constant_loss_has_zero_gradients_and_keeps_the_cotangent_in_the_signature():
    text = """func.func @f(%x: tensor<2xf32>) -> tensor<f32> {
      %y = mind.const_f32 1.0 : tensor<f32>
      func.return %y : tensor<f32>
    }"""
    _, dx = run(text, np.ones(2, np.float32), np.float32(1), seed="cotangent")
    assert dx.tolist() == [0, 0]


def test_terms_accumulate_in_reverse_instruction_order_existing_first():
    text = """func.func @f(%x: tensor<f64>) -> tensor<f64> {
      %e = mind.exp %x : tensor<f64>
      %l = mind.log %x : tensor<f64>
      %t = mind.mul %e, %l : tensor<f64>
      func.return %t : tensor<f64>
    }"""
    body = list(gradients(text, seed="cotangent").function.body.block.ops)
    add = body[-2]
    assert isinstance(add, AddOp)
    of_log, of_exp = (x.owner for x in add.operands)
    assert isinstance(of_log, MulOp)
    assert isinstance(of_exp, MulOp)
    assert "mind.reciprocal" in {x.owner.name for x in of_log.operands}
    assert "mind.exp" in {x.owner.name for x in of_exp.operands}


def test_loss_that_is_an_input_or_returned_twice():
    text = """func.func @f(%x: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
      func.return %x, %x : tensor<f64>, tensor<f64>
    }"""
    module = parse(text.replace("func.return", "%c = mind.const_f64 2.0 : tensor<f64>\n func.return"))
    assert float(compile(differentiate(module, "f", GradientOptions(output=1)).module, "f_grad")(np.float64(5))[2]) == 1


def test_seeds():
    x = np.array([0.0, 1.0, 2.0])
    np.testing.assert_allclose(run(VECTOR, x, seed="ones")[1], np.exp(x))
    g = np.array([3.0, 4.0, 5.0])
    gradient = gradients(VECTOR, seed="cotangent")
    assert gradient.function.body.block.args[1].name_hint == "cotangent"
    np.testing.assert_allclose(compile(gradient.module, "f_grad")(x, g)[1], g * np.exp(x))


def test_each_of_several_cotangents_is_named_after_its_output():
    text = """func.func @f(%x: tensor<f64>, %cotangent2: tensor<f64>, %n: tensor<i64>)
        -> (tensor<f64>, tensor<i64>, tensor<f64>, tensor<f64>) {
      %y = mind.exp %x : tensor<f64>
      %z = mind.neg %cotangent2 : tensor<f64>
      func.return %y, %n, %z, %x : tensor<f64>, tensor<i64>, tensor<f64>, tensor<f64>
    }"""
    names = input_names(gradients(text, seed="cotangent").function)
    assert names == ["x", "cotangent2", "n", "cotangent0", "cotangent2_", "cotangent3"]


def test_relu_at_zero_and_beside_infinity():
    text = """func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = mind.relu %x : tensor<4xf32>
      func.return %y : tensor<4xf32>
    }"""
    x, g = np.array([-1, 0, np.nan, 2], np.float32), np.array([np.inf, 1, np.inf, 3], np.float32)
    _, dx = run(text, x, g, seed="cotangent")
    np.testing.assert_array_equal(dx, np.array([0, 0, 0, 3], np.float32))


def test_log_gradient_at_zero_is_infinite():
    text = VECTOR.replace("mind.exp", "mind.log")
    assert run(text, np.array([0.0, 1.0, 2.0]), seed="ones")[1].tolist() == [np.inf, 1.0, 0.5]


def test_conv2d_by_profile():
    with pytest.raises(MindError, match="core-v1 lists Conv2d") as e:
        gradients(CONV)
    assert (e.value.code, e.value.category, e.value.context) == ("E5001", "UnsupportedOp", {"op": "Conv2d", "id": "Conv2d %c"})
    gradient = gradients(CONV, profile="core-v1.1")
    assert '"core-v1.1"' in str(gradient.function.attributes["mind.profile"])
    assert len(compile(gradient.module, "f_grad")(np.ones((1, 4, 4, 1)), np.ones((2, 2, 1, 1)))) == 3


def test_div_needs_the_option():
    with pytest.raises(MindError, match="div-gradient") as e:
        gradients(DIV)
    assert e.value.code == "E5001"
    _, dx, dw = run(DIV, np.float64(3), np.float64(2), div_gradient=True)
    assert (dx, dw) == (0.5, -0.75)


def test_refused_ops_do_not_matter_where_no_gradient_flows():
    text = DIV.replace("func.return %y", "%z = mind.mul %w, %w : tensor<f64>\n func.return %z")
    assert run(text, np.float64(3), np.float64(2))[1:] == (0.0, 4.0)


def test_verify_false_reaches_div_in_core_v1():
    text = DIV.replace(' attributes {mind.profile = "core-v1.1"}', "")
    with pytest.raises(MindError) as e:
        gradients(text)
    assert e.value.code == "E6003"
    with pytest.raises(MindError) as e:
        gradients(text, verify=False)
    assert e.value.code == "E5001"


MULTIPLE = """func.func @f(%x: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
  %y = mind.exp %x : tensor<f64>
  %z = mind.log %x : tensor<f64>
  func.return %y, %z : tensor<f64>, tensor<f64>
}"""
NO_OUTPUT = "func.func @f(%x: tensor<f64>) { %y = mind.exp %x : tensor<f64> func.return }"
BAD_AXIS = """func.func @f(%x: tensor<2x2xf64>) -> tensor<2xf64> {
  %y = mind.sum %x axes = [3] keepdims = false : tensor<2x2xf64> -> tensor<2xf64>
  func.return %y : tensor<2xf64>
}"""
BAD_SHAPE = """func.func @f(%x: tensor<2xf64>, %z: tensor<3xf64>) -> tensor<f64> {
  %y = mind.mul %x, %z : (tensor<2xf64>, tensor<3xf64>) -> tensor<3xf64>
  %s = mind.sum %y axes = [] keepdims = false : tensor<3xf64> -> tensor<f64>
  func.return %s : tensor<f64>
}"""
MIXED = """func.func @f(%x: tensor<f64>) -> tensor<f64> {
  %y = mind.exp %x : tensor<f64>
  %z = "test.op"(%y) : (tensor<f64>) -> tensor<f64>
  func.return %z : tensor<f64>
}"""
INTEGER = """func.func @f(%x: tensor<i32>) -> tensor<i32> {
  %y = mind.mul %x, %x : tensor<i32>
  func.return %y : tensor<i32>
}"""
ERRORS = [
    (LOSS, {"wrt": (2,)}, "E5005", "UnsupportedOp", "with respect to 2 of type tensor<3xi32>"),
    (LOSS, {"wrt": ("nope",)}, "E7003", "UsageError", "wrt=nope names no value of @loss"),
    (LOSS, {"wrt": (9,)}, "E7003", "UsageError", "wrt=9 names no value"),
    (INTEGER, {}, "E5005", "UnsupportedOp", "an output of type tensor<i32>"),
    (VECTOR, {}, "E5004", "UnsupportedShape", r"the loss has shape \[3\], expected rank 0"),
    (VECTOR, {"seed": "one"}, "E5004", "UnsupportedShape", "expected rank 0"),
    (VECTOR, {"seed": "two"}, "E7001", "UsageError", "seed=two, expected one, ones or cotangent"),
    (MULTIPLE, {}, "E7001", "UsageError", "has 2 outputs, choose one with output=0 to output=1"),
    (MULTIPLE, {"output": 2}, "E7001", "UsageError", "output=2 of @f, expected 0 to 1"),
    (NO_OUTPUT, {}, "E4003", "VerificationError", "no output to differentiate"),
    (BAD_AXIS, {}, "E3004", "ShapeError", "axis 3"),
    (BAD_AXIS, {"verify": False, "seed": "ones"}, "E5003", "InvalidAxis", "axis 3"),
    (BAD_SHAPE, {}, "E3001", "ShapeError", "cannot broadcast"),
    (BAD_SHAPE, {"verify": False}, "E5004", "UnsupportedShape", r"Mul %y: the adjoint of an operand of type tensor<2xf64>"),
    (MIXED, {}, "E5001", "UnsupportedOp", "test.op %z: cannot be differentiated: it is no op of Core IR"),
    (LOSS, {"profile": "core-v9"}, "E7001", "UsageError", "unknown profile 'core-v9'"),
]


@pytest.mark.parametrize(("text", "options", "code", "category", "message"), ERRORS)
def test_errors(text, options, code, category, message):
    with pytest.raises(MindError, match=message) as e:
        gradients(text, **options)
    assert (e.value.code, e.value.category) == (code, category)


def test_a_wrong_rule_is_caught_by_verification(monkeypatch):
    monkeypatch.setitem(RULES, NegOp, (lambda op, g: SumOp(g, axes=(), keepdims=False),))
    text = VECTOR.replace("mind.exp", "mind.neg")
    with pytest.raises(MindError) as e:
        gradients(text, seed="ones")
    assert (e.value.code, e.value.category) == ("E5002", "Verification")
    assert e.value.context["inner"] == "E4015"


def test_the_gradient_is_verified_unless_it_is_asked_not_to_be(monkeypatch):
    text = VECTOR.replace("mind.exp", "mind.neg")
    monkeypatch.setattr(autodiff, "verify", refuse)
    with pytest.raises(MindError) as e:
        gradients(text, seed="ones")
    assert (e.value.code, e.value.context["inner"]) == ("E5002", "E4015")
    assert gradients(text, seed="ones", verify=False).function.sym_name.data == "f_grad"


def refuse(func):
    """Refuse what was derived."""
    if func.sym_name.data.endswith("_grad"):
        raise error("E4015", "refused", operation=func, declared="f32", inferred="f64")


def test_the_options_of_the_pass_default_to_those_of_the_function():
    assert {f.name: getattr(MindAutodiffPass(), f.name) for f in fields(GradientOptions)} == vars(GradientOptions())


def test_a_missing_rule_is_an_error(monkeypatch):
    monkeypatch.delitem(RULES, NegOp)
    with pytest.raises(MindError, match="Neg %y: cannot be differentiated: it has no derivative rule") as e:
        gradients(VECTOR.replace("mind.exp", "mind.neg"), seed="ones")
    assert e.value.code == "E5001"


def test_function_choice():
    two = LOSS + VECTOR
    with pytest.raises(MindError, match="which function is meant") as e:
        gradients(two)
    assert e.value.code == "E7003"
    with pytest.raises(MindError, match="no function 'g'"):
        gradients(two, "g")
    assert gradients(two, "@loss").function.sym_name.data == "loss_grad"


def test_the_pass_differentiates_every_function_that_has_no_gradient_yet():
    module = parse(LOSS + LOSS.replace("@loss", "@other"))
    ctx = context()
    PassPipeline((MindAutodiffPass(), MindAutodiffPass())).apply(ctx, module)
    assert [f.sym_name.data for f in module.ops] == ["loss", "loss_grad", "other", "other_grad"]
    with pytest.raises(MindError, match="@loss_grad exists already") as e:
        MindAutodiffPass(function="loss").apply(ctx, module)
    assert e.value.code == "E4002"


def test_gradient_of_a_gradient():
    text = """func.func @f(%x: tensor<f64>) -> tensor<f64> {
      %a = mind.exp %x : tensor<f64>
      %b = mind.log %a : tensor<f64>
      %c = mind.mul %b, %a : tensor<f64>
      func.return %c : tensor<f64>
    }"""
    first = gradients(text)
    second = differentiate(first.module, "f_grad", GradientOptions(output=1))
    x = 0.7  # f = x e^x, f'' = (x + 2) e^x
    assert compile(second.module, "f_grad_grad")(np.float64(x))[2] == pytest.approx((x + 2) * np.exp(x), rel=1e-12)


def test_locations_of_the_primal_are_kept():
    module = parse(LOSS.replace("-> tensor<2x3xf32>\n", '-> tensor<2x3xf32> loc("a.mlir":3:5)\n', 1))
    gradient = differentiate(module)
    places = [str(op.location) for op in gradient.function.body.block.ops]
    assert sum('"a.mlir":3:5' in p for p in places) >= 2


SCRIPT = """
import sys
sys.path.insert(0, {support!r})
from programs import parse
from mind_passes.autodiff import differentiate
print(differentiate(parse({text!r})).module)
"""


def test_same_bytes_in_every_process():
    from pathlib import Path

    script = SCRIPT.format(support=str(Path(__file__).parents[1] / "support"), text=LOSS)
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_scatter_of_no_elements_has_a_derivative_of_none(step: int, axis: int, place: int):
    """The slice that takes the derivative back is as empty, wherever it begins and whatever its step."""
    found, starts, steps = [3, 3], [0, 0], [1, 1]
    found[axis], starts[axis], steps[axis] = 0, place, step
    shown = "x".join(map(str, found))
    text = f"""func.func @f(%x: tensor<3x3xf64>) -> tensor<3x3xf64> {{
  %s = mind.slice %x starts = [0, 0] ends = {found} steps = [1, 1] : tensor<3x3xf64> -> tensor<{shown}xf64>
  %y = mind.slice_scatter %s shape = [3, 3] starts = {starts} steps = {steps} : tensor<{shown}xf64> -> tensor<3x3xf64>
  func.return %y : tensor<3x3xf64>
}}"""
    assert run(text, np.ones((3, 3)), seed="ones", keep_primal=False).tolist() == np.zeros((3, 3)).tolist()


@pytest.mark.parametrize("hint", [None, "c"])
def test_an_error_of_the_walk_back_is_about_the_op_of_the_function(hint: str | None):
    """Not about its copy in a gradient function that never comes to be, whose inputs would number it differently."""
    module = parse(CONV)
    (func,) = functions(module)
    (convolution,) = (op for op in func.body.block.ops if isinstance(op, Conv2dOp))
    convolution.results[0].name_hint = hint
    with pytest.raises(MindError) as e:
        MindAutodiffPass(seed="cotangent").apply(context(), module)
    assert e.value.op is convolution
    assert e.value.context["id"] == f"Conv2d {'%2' if hint is None else '%c'}"
    assert e.value.message.startswith(e.value.context["id"])
