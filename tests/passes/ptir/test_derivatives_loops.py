"""Loops whose iterations are counted before they run, and what an op may say about its own derivative."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr

from mind_dialect.errors import MindError
from mind_dialect.ptir_program import SPEC_VERSION, VERSION_ATTRIBUTE
from mind_passes.autodiff import GradientOptions, differentiate
from mind_passes.forward import forward_mode
from mind_runtime import compile
from programs import parse

COUNTED = """
func.func @f(%x: tensor<f64>) -> tensor<f64> {
  %start = ptir.constant START : tensor<DTYPE>
  %n, %r = ptir.while %start, %x : (tensor<DTYPE>, tensor<f64>) -> (tensor<DTYPE>, tensor<f64>) cond {
  ^bb0(%i: tensor<DTYPE>, %a: tensor<f64>):
    %limit = ptir.constant LIMIT : tensor<DTYPE>
    %p = ptir.compare %i, %limit kind = KIND : (tensor<DTYPE>, tensor<DTYPE>) -> tensor<i1>
    ptir.yield %p, %i, %a : tensor<i1>, tensor<DTYPE>, tensor<f64>
  } body {
  ^bb0(%i: tensor<DTYPE>, %a: tensor<f64>):
    %step = ptir.constant STEP : tensor<DTYPE>
    %j = ptir.add %i, %step : tensor<DTYPE>
    %b = ptir.sin %a : tensor<f64>
    ptir.yield %j, %b : tensor<DTYPE>, tensor<f64>
  }
  func.return %r : tensor<f64>
}
"""
TWICE = """
func.func @f(%x: tensor<f64>, %y: tensor<f64>) -> tensor<f64> {
  %z = ptir.constant 0 : tensor<si32>
  %n, %r, %q = ptir.while %z, %x, %y : (tensor<si32>, tensor<f64>, tensor<f64>) -> (tensor<si32>, tensor<f64>, tensor<f64>) cond {
  ^bb0(%i: tensor<si32>, %a: tensor<f64>, %k: tensor<f64>):
    %c = ptir.constant 3 : tensor<si32>
    %p = ptir.compare %i, %c kind = less : (tensor<si32>, tensor<si32>) -> tensor<i1>
    ptir.yield %p, %i, %a, %a : tensor<i1>, tensor<si32>, tensor<f64>, tensor<f64>
  } body {
  ^bb0(%i: tensor<si32>, %a: tensor<f64>, %k: tensor<f64>):
    %s = ptir.constant 1 : tensor<si32>
    %j = ptir.add %i, %s : tensor<si32>
    %b = ptir.sin %a : tensor<f64>
    ptir.yield %j, %b, %k : tensor<si32>, tensor<f64>, tensor<f64>
  }
  %m = ptir.mul %r, %q : tensor<f64>
  %o = ptir.add %m, %q : tensor<f64>
  func.return %o : tensor<f64>
}
"""
MARKED = """
func.func @f(%x: tensor<f64>, %s: tensor<4xf64>) -> tensor<f64> {
  %z = ptir.constant 3 : tensor<si32>
  %r = ptir.scan %x, %s carry_count = 1 scan_output_count = 0 SCAN : (tensor<f64>, tensor<4xf64>) -> tensor<f64> body {
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %c = ptir.sin %a SIN : tensor<f64>
    ptir.yield %c : tensor<f64>
  }
  %n, %q = ptir.while %z, %r WHILE : (tensor<si32>, tensor<f64>) -> (tensor<si32>, tensor<f64>) cond {
  ^bb0(%i: tensor<si32>, %a: tensor<f64>):
    %limit = ptir.constant 0 : tensor<si32>
    %p = ptir.compare %i, %limit kind = greater : (tensor<si32>, tensor<si32>) -> tensor<i1>
    ptir.yield %p, %i, %a : tensor<i1>, tensor<si32>, tensor<f64>
  } body {
  ^bb0(%i: tensor<si32>, %a: tensor<f64>):
    %one = ptir.constant 1 : tensor<si32>
    %j = ptir.sub %i, %one : tensor<si32>
    %b = ptir.exp %a : tensor<f64>
    %c = ptir.sin %b : tensor<f64>
    %d = ptir.tanh %c : tensor<f64>
    ptir.yield %j, %d : tensor<si32>, tensor<f64>
  }
  func.return %q : tensor<f64>
}
"""


def module_of(text: str, **parts: object) -> ModuleOp:
    for name, part in parts.items():
        text = text.replace(name, str(part))
    module = parse(text)
    module.attributes[VERSION_ATTRIBUTE] = StringAttr(SPEC_VERSION)
    return module


def gradient_of(module: ModuleOp, **options: object) -> ModuleOp:
    return differentiate(module, "f", GradientOptions(**options)).module  # pyright: ignore[reportArgumentType]


def sines(x: float, count: int) -> tuple[float, float]:
    """`sin` of itself so many times, and its derivative."""
    slope = 1.0
    for _ in range(count):
        x, slope = np.sin(x), slope * np.cos(x)
    return x, slope


@pytest.mark.parametrize(
    ("dtype", "start", "limit", "step", "kind", "iterations"),
    [
        ("si32", 0, 5, 2, "less", 3),
        ("si32", 0, 4, 2, "less_equal", 3),
        ("si32", 6, 0, -2, "greater", 3),
        ("si32", 6, 0, -2, "not_equal", 3),
        ("si32", 2, 2, 5, "equal", 1),
        ("ui8", 250, 254, 1, "less_equal", 5),
        ("si32", 5, 5, 1, "less", 0),
        ("si32", 5, 5, -1, "less", 0),
        ("si32", 5, 5, 1, "greater", 0),
        ("si32", 2, 3, 1, "equal", 0),
    ],
)
def test_the_iterations_of_a_counter_are_known(dtype: str, start: int, limit: int, step: int, kind: str, iterations: int):
    module = module_of(COUNTED, START=start, LIMIT=limit, STEP=step, KIND=kind, DTYPE=dtype)
    expected = sines(0.7, iterations)
    assert compile(gradient_of(module), "f_grad")(np.float64(0.7)) == pytest.approx(expected, rel=1e-14)
    tangent = compile(forward_mode(module).module, "f_jvp")(np.float64(0.7), np.float64(1.0))
    assert tangent == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("dtype", "start", "limit", "step", "kind", "iterations"),
    [
        ("si8", 0, 120, 100, "less", 14),
        ("ui8", 0, 255, 2, "less", None),
        ("ui8", 250, 255, 10, "less", None),
    ],
)
def test_a_counter_that_wraps_around_needs_a_bound(
    dtype: str, start: int, limit: int, step: int, kind: str, iterations: int | None
):
    """In si8, 0 + 100 + 100 is -56: the loop turns on, which counting with larger numbers misses."""
    module = module_of(COUNTED, START=start, LIMIT=limit, STEP=step, KIND=kind, DTYPE=dtype)
    with pytest.raises(MindError, match="any number of times") as found:
        gradient_of(module)
    assert found.value.code == "E5001"
    if iterations is not None:
        run = compile(gradient_of(module, max_iterations=iterations), "f_grad")
        assert run(np.float64(0.7)) == pytest.approx(sines(0.7, iterations), rel=1e-14)


@pytest.mark.parametrize(
    ("update", "iterations"),
    [
        ("ptir.add %i, %step", 3),
        ("ptir.add %step, %i", 3),
        ("ptir.sub %i, %step", None),
        ("ptir.sub %step, %i", None),
        ("ptir.mul %i, %step", None),
        ("ptir.add %i, %i", None),
        ("ptir.sub %i, %i", None),
        ("ptir.add %step, %step", None),
    ],
)
def test_only_what_adds_a_constant_counts(update: str, iterations: int | None):
    """From 0 up to 5 in steps of 2; a counter that goes the other way, back and forth or nowhere needs a bound."""
    text = COUNTED.replace("ptir.add %i, %step", update)
    module = module_of(text, START=0, LIMIT=5, STEP=2, KIND="less", DTYPE="si32")
    if iterations is not None:
        assert compile(gradient_of(module), "f_grad")(np.float64(0.7)) == pytest.approx(sines(0.7, iterations), rel=1e-14)
        return
    with pytest.raises(MindError, match="any number of times") as found:
        gradient_of(module)
    assert found.value.code == "E5001"


def test_a_condition_may_pass_one_value_on_twice():
    value, x_adj, y_adj = compile(gradient_of(module_of(TWICE), max_iterations=5), "f_grad")(np.float64(0.7), np.float64(2.0))
    r, slope = sines(0.7, 3)
    assert (value, x_adj, y_adj) == pytest.approx((r * r + r, (2 * r + 1) * slope, 0.0), rel=1e-14)


def marked(**marks: str) -> ModuleOp:
    return module_of(MARKED, **{name: marks.get(name, "") for name in ("SCAN", "SIN", "WHILE")})


@pytest.mark.parametrize(
    "marks",
    [{"SCAN": "{ptir.checkpoint}"}, {"SCAN": '{ptir.checkpoint = "every-3"}'}, {"SIN": "{ptir.checkpoint}"},
     {"WHILE": "{ptir.checkpoint}"}, {"WHILE": "{ptir.max_iterations = 9 : i8}"}],
    ids=str,
)  # fmt: skip
def test_marks_change_no_number(marks: dict[str, str]):
    given = np.float64(0.7), np.ones(4)
    plain = compile(gradient_of(marked()), "f_grad")(*given)
    for a, b in zip(compile(gradient_of(marked(**marks)), "f_grad")(*given), plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


def test_a_marked_loop_saves_what_it_carries_only():
    def writes(module: ModuleOp) -> int:
        return str(module).count("ptir.dynamic_update_slice")

    assert writes(gradient_of(marked())) == 2, "the results of exp and tanh"
    assert writes(gradient_of(marked(WHILE="{ptir.checkpoint}"))) == 1


@pytest.mark.parametrize("text", ['"x"', "-1 : i64", "0 : i64", "3.0 : f64", "[1]", "unit", f"{1 << 63} : i128"])
def test_other_bounds_on_a_loop_are_refused(text: str):
    with pytest.raises(MindError, match=r"while %.*: ptir.max_iterations = .*, expected a positive integer") as found:
        gradient_of(marked(WHILE=f"{{ptir.max_iterations = {text}}}"))
    assert found.value.code == "E7001"
    assert found.value.op is not None


@pytest.mark.parametrize(
    ("place", "text"),
    [("SCAN", "3 : i64"), ("SCAN", '"every-0"'), ("SCAN", "false"), ("SIN", '"sqrt"'), ("WHILE", '"every-2"'), ("SIN", "[]")],
)
def test_other_checkpoints_on_an_op_are_refused(place: str, text: str):
    with pytest.raises(MindError, match=r"(scan|sin|while) %.*checkpoint ?=.*, expected") as found:
        gradient_of(marked(**{place: f"{{ptir.checkpoint = {text}}}"}))
    assert found.value.code == "E7001"
    assert found.value.op is not None


def test_a_bound_on_what_is_no_loop_is_refused():
    with pytest.raises(MindError, match=r"sin %.*ptir.max_iterations") as found:
        gradient_of(marked(SIN="{ptir.max_iterations = 3 : i64}"))
    assert found.value.code == "E7001"


def test_a_long_chain_of_marked_ops_needs_no_recursion():
    lines = [f"%v{i + 1} = ptir.sin %v{i} {{ptir.checkpoint}} : tensor<f64>" for i in range(1200)]
    text = f"func.func @f(%v0: tensor<f64>) -> tensor<f64> {{ {' '.join(lines)} func.return %v1200 : tensor<f64> }}"
    module = gradient_of(module_of(text))
    assert str(module).count("ptir.recomputed") == 1199, "all but the last, of which nothing needs the result"
    found = compile(module, "f_grad")(np.float64(0.7))
    assert found == pytest.approx(sines(0.7, 1200), rel=1e-9)


DYNAMIC = """
func.func @f(%x: tensor<?xf64, "B">) -> tensor<?xf64, "B"> {
  %r = ptir.while %x : tensor<?xf64, "B"> cond {
  ^bb0(%a: tensor<?xf64, "B">):
    %m = ptir.reduce %a kind = sum axes = [0] keepdims = false : tensor<?xf64, "B"> -> tensor<f64>
    %c = ptir.constant 5.0 : tensor<f64>
    %p = ptir.compare %m, %c kind = less : (tensor<f64>, tensor<f64>) -> tensor<i1>
    ptir.yield %p, %a : tensor<i1>, tensor<?xf64, "B">
  } body {
  ^bb0(%a: tensor<?xf64, "B">):
    %b = ptir.exp %a : tensor<?xf64, "B">
    ptir.yield %b : tensor<?xf64, "B">
  }
  func.return %r : tensor<?xf64, "B">
}
"""


def test_what_a_rule_cannot_make_is_an_error_of_its_op():
    with pytest.raises(MindError, match=r"E5006: while %r: .*size is not known") as found:
        gradient_of(module_of(DYNAMIC), seed="cotangent", max_iterations=4)
    assert found.value.op is not None
    constant = "%c = ptir.constant 1.0 : tensor<f64> func.return %c : tensor<f64>"
    unnamed = module_of(f"func.func @f(%x: tensor<?xf64>) -> tensor<f64> {{ {constant} }}")
    with pytest.raises(MindError, match=r"E5006: @f: .*without a name") as found:
        gradient_of(unnamed)
    assert found.value.op is not None


def test_a_product_along_axes_of_a_value_that_no_iteration_changes() -> None:
    """Its rule made an op that nothing used, so that an op with a use stayed, in a loop that lost the carry which it read."""
    module = parse("""builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
      func.func @f(%p: tensor<i1>, %n: tensor<si32>, %x: tensor<2x3xf64>) -> tensor<f64> {
        %y = ptir.cond %p, %n, %x : (tensor<i1>, tensor<si32>, tensor<2x3xf64>) -> tensor<2x3xf64> true {
        ^bb0(%m: tensor<si32>, %a: tensor<2x3xf64>):
          %i = ptir.constant 0 : tensor<si32>
          %0, %1, %2, %3 = ptir.while %i, %m, %a, %a {ptir.max_iterations = 4 : i64}
              : (tensor<si32>, tensor<si32>, tensor<2x3xf64>, tensor<2x3xf64>)
              -> (tensor<si32>, tensor<si32>, tensor<2x3xf64>, tensor<2x3xf64>) cond {
          ^bb0(%j: tensor<si32>, %k: tensor<si32>, %b: tensor<2x3xf64>, %c: tensor<2x3xf64>):
            %less = ptir.compare %j, %k kind = less : (tensor<si32>, tensor<si32>) -> tensor<i1>
            ptir.yield %less, %j, %k, %b, %c : tensor<i1>, tensor<si32>, tensor<si32>, tensor<2x3xf64>, tensor<2x3xf64>
          } body {
          ^bb0(%j: tensor<si32>, %k: tensor<si32>, %b: tensor<2x3xf64>, %c: tensor<2x3xf64>):
            %one = ptir.constant 1 : tensor<si32>
            %next = ptir.add %j, %one : tensor<si32>
            %t = ptir.tanh %b : tensor<2x3xf64>
            %product = ptir.reduce %t kind = prod axes = [1, 0] keepdims = true : tensor<2x3xf64> -> tensor<1x1xf64>
            %wide = ptir.broadcast_to %product result_shape = [2, 3] : tensor<1x1xf64> -> tensor<2x3xf64>
            %d = ptir.tanh %wide : tensor<2x3xf64>
            ptir.yield %next, %k, %b, %d : tensor<si32>, tensor<si32>, tensor<2x3xf64>, tensor<2x3xf64>
          }
          ptir.yield %3 : tensor<2x3xf64>
        } false {
        ^bb0(%m: tensor<si32>, %a: tensor<2x3xf64>):
          ptir.yield %a : tensor<2x3xf64>
        }
        %sum = ptir.reduce %y kind = sum axes = [0, 1] keepdims = false : tensor<2x3xf64> -> tensor<f64>
        func.return %sum : tensor<f64>
      }
    }""")
    gradient = differentiate(module, "f", GradientOptions(keep_primal=False)).module
    run = compile(gradient, "f_grad")
    x = np.random.default_rng(3).uniform(0.5, 1.5, (2, 3))
    t = np.tanh(x)
    product = t.prod()
    expected = 6 * (1 - np.tanh(product) ** 2) * product / t * (1 - t**2)
    np.testing.assert_allclose(run(np.bool_(True), np.int32(2), x), expected, rtol=1e-12)
    np.testing.assert_array_equal(run(np.bool_(False), np.int32(0), x), np.ones((2, 3)))
