"""Enzyme's derivative calls against central differences and JAX: in StableHLO, PTIR and Core IR, nested, in every spelling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from mind_dialect.dominance import walk
from mind_dialect.enzyme import ACTIVITIES, DerivativeCall
from mind_dialect.errors import MindError, MindParseError
from mind_passes.enzyme import FORWARD_ARGUMENTS, FORWARD_RESULTS, REVERSE_ARGUMENTS, REVERSE_RESULTS, lower_enzyme
from mind_runtime import compile
from mind_tools.frontends import parse

X, W, DX, DY = np.array([0.5, -1.0, 2.0]), np.array([1.5, 0.25, -0.5]), np.array([1.0, 2.0, -1.0]), np.array([0.5, -2.0, 3.0])
FUNCTION = """
func.func private @f(%x: tensor<3xf64>, %w: tensor<3xf64>, %n: tensor<i32>) -> (tensor<3xf64>, tensor<i32>, tensor<f64>) {
  %p = stablehlo.multiply %x, %w : tensor<3xf64>
  %t = stablehlo.tanh %p : tensor<3xf64>
  %q = stablehlo.multiply %t, %x : tensor<3xf64>
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %l = stablehlo.reduce(%q init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3xf64>, tensor<f64>) -> tensor<f64>
  return %t, %n, %l : tensor<3xf64>, tensor<i32>, tensor<f64>
}
"""
V, S, N = "tensor<3xf64>", "tensor<f64>", "tensor<i32>"


def f(x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, float]:
    t = np.tanh(x * w)
    return t, float(np.sum(t * x))


def words(given: str, spelling: str) -> str:
    return "[" + ", ".join(spelling.format(f"enzyme_{word}") for word in given.split()) + "]"


def call(
    kind: str,
    operands: str,
    activity: str,
    ret_activity: str,
    types: str,
    *,
    around: str = "{{{}}}",
    word: str = "#enzyme<activity {}>",
) -> str:
    properties = around.format(f"activity = {words(activity, word)}, ret_activity = {words(ret_activity, word)}")
    return f"enzyme.{kind} @f({operands}) {properties} : {types}"


def lowered(text: str) -> ModuleOp:
    """The module of a text, its derivative calls lowered."""
    module = parse(text)
    lower_enzyme(module)
    assert not any(isinstance(op, DerivativeCall) or "enzyme" in op.name for op in walk(module))
    return module


def run(module: ModuleOp, target: str, *arguments: Any) -> tuple[np.ndarray, ...]:
    found: Any = compile(module, "main", target=target)(*arguments)
    return cast("tuple[np.ndarray, ...]", found) if isinstance(found, tuple) else (found,)


def central(along: Callable[[float], Any], eps: float = 1e-6) -> Any:
    """The central difference of what `along` gives."""
    return (along(eps) - along(-eps)) / (2 * eps)


REVERSE = f"""
func.func @main(%x: {V}, %w: {V}, %n: {N}, %dt: {V}, %dl: {S}) -> ({N}, {S}, {V}, {V}) {{
  %r:4 = {
    call(
        "autodiff",
        "%x, %w, %n, %dt, %dl",
        "active active const",
        "activenoneed const active",
        f"({V}, {V}, {N}, {V}, {S}) -> ({N}, {S}, {V}, {V})",
    )
}
  return %r#0, %r#1, %r#2, %r#3 : {N}, {S}, {V}, {V}
}}
"""
FORWARD = f"""
func.func @main(%x: {V}, %dx: {V}, %w: {V}, %n: {N}) -> ({V}, {N}, {S}, {S}) {{
  %r:4 = {
    call(
        "fwddiff",
        "%x, %dx, %w, %n",
        "dup const const",
        "dupnoneed const dup",
        f"({V}, {V}, {V}, {N}) -> ({V}, {N}, {S}, {S})",
    )
}
  return %r#0, %r#1, %r#2, %r#3 : {V}, {N}, {S}, {S}
}}
"""


@pytest.mark.parametrize("target", ["numpy", "native"])
def test_reverse_mode_against_central_differences(target: str) -> None:
    n, y, dx, dw = run(lowered(FUNCTION + REVERSE), target, X, W, np.int32(7), DY, np.float64(1.5))

    def loss(x: np.ndarray, w: np.ndarray) -> float:
        t, y = f(x, w)
        return float(np.sum(t * DY)) + 1.5 * y

    basis = np.eye(3)
    assert n == 7
    np.testing.assert_allclose(y, f(X, W)[1])
    np.testing.assert_allclose(dx, [central(lambda e, b=b: loss(X + e * b, W)) for b in basis], rtol=1e-7)
    np.testing.assert_allclose(dw, [central(lambda e, b=b: loss(X, W + e * b)) for b in basis], rtol=1e-7)


@pytest.mark.parametrize("target", ["numpy", "native"])
def test_forward_mode_against_central_differences(target: str) -> None:
    dt, n, y, dl = run(lowered(FUNCTION + FORWARD), target, X, DX, W, np.int32(7))
    assert n == 7
    np.testing.assert_allclose(y, f(X, W)[1])
    np.testing.assert_allclose(dt, central(lambda e: f(X + e * DX, W)[0]), rtol=1e-7)
    np.testing.assert_allclose(dl, central(lambda e: f(X + e * DX, W)[1]), rtol=1e-7)


def test_both_modes_against_jax() -> None:
    jax = pytest.importorskip("jax", reason="no JAX: nothing to compare with")
    with jax.enable_x64(True):

        def loss(x: Any, w: Any) -> Any:
            t = jax.numpy.tanh(x * w)
            return t, jax.numpy.sum(t * x)

        _, pull = jax.vjp(loss, X, W)
        _, tangents = jax.jvp(loss, (X, W), (DX, np.zeros(3)))
        found = run(lowered(FUNCTION + REVERSE), "numpy", X, W, np.int32(7), DY, np.float64(1.5))
        for given, expected in zip(found[2:], pull((DY, np.float64(1.5))), strict=True):
            np.testing.assert_allclose(given, expected, rtol=1e-12)
        found = run(lowered(FUNCTION + FORWARD), "numpy", X, DX, W, np.int32(7))
        np.testing.assert_allclose(found[0], tangents[0], rtol=1e-12)
        np.testing.assert_allclose(found[3], tangents[1], rtol=1e-12)


@pytest.mark.parametrize("around", ["{{{}}}", "<{{{}}}>", "<{}>"])
@pytest.mark.parametrize("word", ["#enzyme<activity {}>", "#enzyme.activity<{}>"])
def test_every_spelling_gives_the_same(around: str, word: str) -> None:
    text = FUNCTION + REVERSE
    head, inner = text.split("{activity = ", 1)
    inner, tail = inner.split("} :", 1)
    for name in ACTIVITIES:
        inner = inner.replace(f"#enzyme<activity {name}>", word.format(name))
    other = head + around.format("activity = " + inner) + " :" + tail
    assert str(lowered(other)) == str(lowered(text))
    assert str(lowered(str(parse(other)))) == str(lowered(text))  # and the generic form, in which it prints


def test_derivatives_of_derivatives() -> None:
    text = """
func.func private @f(%x: tensor<f64>) -> tensor<f64> {
  %a = stablehlo.sine %x : tensor<f64>
  %y = stablehlo.multiply %a, %x : tensor<f64>
  return %y : tensor<f64>
}
func.func private @g(%x: tensor<f64>) -> tensor<f64> {
  %one = stablehlo.constant dense<1.0> : tensor<f64>
  %d = enzyme.autodiff @f(%x, %one) {activity = [#enzyme<activity enzyme_active>],
    ret_activity = [#enzyme<activity enzyme_activenoneed>]} : (tensor<f64>, tensor<f64>) -> tensor<f64>
  return %d : tensor<f64>
}
func.func @main(%x: tensor<f64>, %dx: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
  %d, %h = enzyme.fwddiff @g(%x, %dx) {activity = [#enzyme<activity enzyme_dup>],
    ret_activity = [#enzyme<activity enzyme_dup>]} : (tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>)
  return %d, %h : tensor<f64>, tensor<f64>
}
"""
    first, second = run(lowered(text), "numpy", np.float64(0.7), np.float64(2.0))
    np.testing.assert_allclose(first, np.sin(0.7) + 0.7 * np.cos(0.7))
    np.testing.assert_allclose(second, 2 * (2 * np.cos(0.7) - 0.7 * np.sin(0.7)))


def test_a_call_inside_of_a_loop() -> None:
    text = """
func.func private @f(%x: tensor<f64>) -> tensor<f64> {
  %y = stablehlo.multiply %x, %x : tensor<f64>
  return %y : tensor<f64>
}
func.func @main(%x: tensor<f64>) -> tensor<f64> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %rate = stablehlo.constant dense<0.25> : tensor<f64>
  %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<f64>
  cond {
    %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %d = enzyme.autodiff @f(%v, %rate) {activity = [#enzyme<activity enzyme_active>],
      ret_activity = [#enzyme<activity enzyme_activenoneed>]} : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %n = stablehlo.subtract %v, %d : tensor<f64>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %n : tensor<i32>, tensor<f64>
  }
  return %r#1 : tensor<f64>
}
"""
    assert run(lowered(text), "numpy", np.float64(8.0)) == (1.0,)


def test_complex_adjoints_are_those_of_enzyme() -> None:
    """Enzyme's test `csquare.mlir` gives `2 conj(conj(dy) x)`, the direction of steepest ascent of the real part of <dy, y>."""
    c = "tensor<complex<f64>>"
    text = f"""
func.func private @f(%x: {c}) -> {c} {{
  %y = stablehlo.multiply %x, %x : {c}
  return %y : {c}
}}
func.func @main(%x: {c}, %dy: {c}) -> {c} {{
  %d = {call("autodiff", "%x, %dy", "active", "activenoneed", f"({c}, {c}) -> {c}")}
  return %d : {c}
}}
"""
    x, dy = np.complex128(0.5 - 2j), np.complex128(1.5 + 0.25j)
    (dx,) = run(lowered(text), "numpy", x, dy)
    np.testing.assert_allclose(dx, 2 * np.conj(np.conj(dy) * x))
    pairing = [central(lambda e, d=d: np.real(np.conj(dy) * (x + e * d) ** 2)) for d in (1, 1j)]
    np.testing.assert_allclose([np.real(dx), np.imag(dx)], pairing, rtol=1e-7)


def test_core_ir_has_reverse_mode() -> None:
    text = """
func.func @f(%x: tensor<3xf32>, %w: tensor<3xf32>) -> tensor<3xf32> {
  %y = mind.mul %x, %w : tensor<3xf32>
  func.return %y : tensor<3xf32>
}
func.func @main(%x: tensor<3xf32>, %w: tensor<3xf32>, %d: tensor<3xf32>) -> tensor<3xf32> {
  %r = enzyme.autodiff @f(%x, %w, %d) {activity = [#enzyme<activity enzyme_active>, #enzyme<activity enzyme_const>],
    ret_activity = [#enzyme<activity enzyme_activenoneed>]} : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %s = mind.add %r, %x : tensor<3xf32>
  func.return %s : tensor<3xf32>
}
"""
    x, w, d = (v.astype(np.float32) for v in (X, W, DX))
    np.testing.assert_array_equal(run(lowered(text), "numpy", x, w, d)[0], w * d + x)


DYNAMIC = """
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func private @f(%x: tensor<?xf64, "N">, %w: tensor<?x3xf64, "N,*">) -> (tensor<?xf64, "N">, tensor<?x3xf64, "N,*">) {
  %y = ptir.mul %x, %x : tensor<?xf64, "N">
  %v = ptir.exp %w : tensor<?x3xf64, "N,*">
  func.return %y, %v : tensor<?xf64, "N">, tensor<?x3xf64, "N,*">
}
func.func @main(%x: tensor<?xf64, "N">, %w: tensor<?x3xf64, "N,*">, %d: tensor<?xf64, "N">) -> tensor<?xf64, "N"> {
  %g = enzyme.autodiff @f(%x, %w, %d) {activity = [#enzyme<activity enzyme_active>, #enzyme<activity enzyme_const>],
    ret_activity = [#enzyme<activity enzyme_activenoneed>, #enzyme<activity enzyme_constnoneed>]}
    : (tensor<?xf64, "N">, tensor<?x3xf64, "N,*">, tensor<?xf64, "N">) -> tensor<?xf64, "N">
  func.return %g : tensor<?xf64, "N">
}
}
"""


def test_dimensions_keep_their_names() -> None:
    found = run(lowered(DYNAMIC), "numpy", np.arange(4.0), np.zeros((4, 3)), np.ones(4))
    np.testing.assert_array_equal(found[0], 2 * np.arange(4.0))
    callee, caller = DYNAMIC.split("func.func @main")
    with pytest.raises(MindError, match="%x has type") as caught:
        lowered(f"{callee}func.func @main{caller.replace(chr(34) + 'N', chr(34) + 'M')}")
    assert caught.value.code == "E2001"


def test_results_that_nothing_active_reaches_have_zero_derivatives() -> None:
    text = (
        FUNCTION
        + f"""
func.func @main(%x: {V}, %w: {V}, %n: {N}) -> {V} {{
  %r = {call("autodiff", "%x, %w, %n", "active const const", "constnoneed constnoneed constnoneed", f"({V}, {V}, {N}) -> {V}")}
  return %r : {V}
}}
"""
    )
    np.testing.assert_array_equal(run(lowered(text), "numpy", X, W, np.int32(1))[0], np.zeros(3))


def test_each_activity_is_known_to_a_mode_or_refused() -> None:
    for table in (REVERSE_ARGUMENTS, FORWARD_ARGUMENTS, REVERSE_RESULTS, FORWARD_RESULTS):
        assert set(table) < set(ACTIVITIES)


def test_nothing_runs_with_a_derivative_call_in_it() -> None:
    with pytest.raises(MindError) as caught:
        compile(parse(FUNCTION + REVERSE), "main")
    assert caught.value.code == "E4000"
    assert "enzyme.autodiff" in caught.value.message


def test_a_long_chain_of_calls_needs_no_deep_stack() -> None:
    links = "".join(
        f"func.func private @f{i}(%x: {S}) -> {S} {{\n  %y = call @f{i + 1}(%x) : ({S}) -> {S}\n  return %y : {S}\n}}\n"
        for i in range(1100)
    )
    text = f"{links}func.func private @f1100(%x: {S}) -> {S} {{\n  return %x : {S}\n}}\n"
    lower_enzyme(parse(text))


def test_text_that_is_cut_off_is_a_coded_error() -> None:
    text = FUNCTION + REVERSE.replace("{activity", "<activity").replace("]} :", "]> :")
    first, last = text.index("enzyme.autodiff"), text.rindex("return")
    assert str(lowered(text)) == str(lowered(FUNCTION + REVERSE))
    for end in range(first, last, 7):
        with pytest.raises((MindError, MindParseError)):
            parse(text[:end])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("fn = @f", "fn = 3 : i64"),
        ("fn = @f, ", ""),
        ("activity = [", "activity = [3 : i64, "),
        ("ret_activity = [", "width = 1.0 : f32, ret_activity = ["),
        ("ret_activity = [", "ret_activity = [[], "),
        ("ret_activity = [", "strong_zero = 3 : i64, ret_activity = ["),
        ("ret_activity = [", "more = 3 : i64, ret_activity = ["),
    ],
)
def test_properties_of_another_kind_are_coded_errors(old: str, new: str) -> None:
    text = str(parse(FUNCTION + REVERSE))
    module = text.replace(old, new, 1)
    assert module != text
    with pytest.raises(MindError, match="autodiff") as caught:
        lower_enzyme(parse(module))
    assert caught.value.code == "E4000"
