"""Derivatives around branches and loops: what is saved, what is computed again, what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr

from mind_dialect.errors import MindError
from mind_dialect.program import functions
from mind_dialect.ptir import RandomOp, ScanOp
from mind_dialect.ptir_program import SPEC_VERSION, VERSION_ATTRIBUTE
from mind_passes.autodiff import GradientOptions, differentiate
from mind_passes.forward import forward_mode
from mind_passes.functional import vmap
from mind_runtime import compile
from programs import parse
from tool_runs import mind_opt

SCAN = """
func.func @f(%w: tensor<4xf64>, %h: tensor<4xf64>, %xs: tensor<LENGTHx4xf64>) -> tensor<f64> {
  %r:2 = ptir.scan %w, %h, %xs carry_count = 2 scan_output_count = 0
      : (tensor<4xf64>, tensor<4xf64>, tensor<LENGTHx4xf64>) -> (tensor<4xf64>, tensor<4xf64>) body {
  ^bb0(%w1: tensor<4xf64>, %h1: tensor<4xf64>, %x: tensor<4xf64>):
BODY
  }
  %l = ptir.reduce %r#1 kind = sum axes = [0] keepdims = false : tensor<4xf64> -> tensor<f64>
  func.return %l : tensor<f64>
}
"""
STEP = """
    %a = ptir.mul %w1, %h1 : tensor<4xf64>
    %b = ptir.add %a, %x : tensor<4xf64>
    %c = ptir.sin %b : tensor<4xf64>
    %d = ptir.exp %c : tensor<4xf64>
    %e = ptir.tanh %d : tensor<4xf64>
    ptir.yield %w1, %e : tensor<4xf64>, tensor<4xf64>
"""


def module_of(text: str) -> ModuleOp:
    module = parse(text)
    module.attributes[VERSION_ATTRIBUTE] = StringAttr(SPEC_VERSION)
    return module


def scan_module(body: str, length: int) -> ModuleOp:
    return module_of(SCAN.replace("LENGTH", str(length)).replace("BODY", body))


def gradient_of(module: ModuleOp, **options: object) -> ModuleOp:
    return differentiate(module, "f", GradientOptions(**options)).module  # pyright: ignore[reportArgumentType]


def scans(module: ModuleOp, name: str = "f_grad") -> list[ScanOp]:
    (func,) = (f for f in functions(module) if f.sym_name.data == name)
    return [op for op in func.body.block.ops if isinstance(op, ScanOp)]


def saved(body: str) -> int:
    """How many stacks the forward scan of the gradient hands out."""
    return stacks(gradient_of(scan_module(body, 5)))


def stacks(module: ModuleOp) -> int:
    return scans(module)[0].values()["scan_output_count"]


def test_a_step_saves_each_value_that_its_adjoints_use_once():
    assert saved(STEP) == 4, "h1 for w; sin's operand, exp's and tanh's results; not c, w1 or x"


def test_what_is_cheap_to_compute_again_is_not_saved():
    body = """
    %p = ptir.compare %w1, %x kind = less : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xi1>
    %s = ptir.select %p, %h1, %x : (tensor<4xi1>, tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    %k = ptir.iota shape = [4] dtype = f64 axis = 0 : tensor<4xf64>
    %m = ptir.mul %s, %k : tensor<4xf64>
    ptir.yield %w1, %m : tensor<4xf64>, tensor<4xf64>
"""
    assert saved(body) == 0


def test_what_is_stacked_already_is_not_saved_again():
    body = """
    %t = ptir.tanh %h1 : tensor<4xf64>
    ptir.yield %w1, %t : tensor<4xf64>, tensor<4xf64>
"""
    text = SCAN.replace("LENGTH", "5").replace("BODY", body.replace("yield %w1, %t :", "yield %w1, %t, %t : tensor<4xf64>,"))
    text = text.replace("scan_output_count = 0", "scan_output_count = 1").replace("%r:2", "%r:3")
    text = text.replace("-> (tensor<4xf64>, tensor<4xf64>) body", "-> (tensor<4xf64>, tensor<4xf64>, tensor<5x4xf64>) body")
    assert stacks(gradient_of(module_of(text))) == 1


def arguments(length: int) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [rng.standard_normal(s) for s in ((4,), (4,), (length, 4))]


@pytest.mark.parametrize("checkpoint", ["every-1", "every-3", "every-16", "every-100", "sqrt"])
def test_checkpoints_change_no_number(checkpoint: str):
    given = arguments(16)
    expected = compile(gradient_of(scan_module(STEP, 16)), "f_grad")(*given)
    found = compile(gradient_of(scan_module(STEP, 16), checkpoint=checkpoint), "f_grad")(*given)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


def stacked_elements(module: ModuleOp) -> int:
    """The elements of everything that a scan of the gradient stacks, and of what its inner scans do at one time."""
    total = 0
    for scan in scans(module):
        inner = [op for op in scan.body_region.block.ops if isinstance(op, ScanOp)]
        results = [r for op in (scan, *inner) for r in op.results[op.values()["carry_count"] :]]
        total += sum(int(np.prod(r.type.get_shape())) for r in results)
    return total


def test_checkpoints_hold_less():
    whole = stacked_elements(gradient_of(scan_module(STEP, 256)))
    some = stacked_elements(gradient_of(scan_module(STEP, 256), checkpoint="sqrt"))
    assert some < whole / 2


@pytest.mark.parametrize("text", ["every-0", "every", "all", "every--1", "sqrt "])
def test_other_checkpoints_are_refused(text: str):
    with pytest.raises(MindError, match="expected every-N") as found:
        gradient_of(scan_module(STEP, 5), checkpoint=text)
    assert found.value.code == "E7001"


RANDOM = """
    %z = ptir.rng_normal shape = [4] dtype = f64 : tensor<4xf64>
    %a = ptir.mul %h1, %z : tensor<4xf64>
    %b = ptir.add %a, %x : tensor<4xf64>
    ptir.yield %w1, %b : tensor<4xf64>, tensor<4xf64>
"""


@pytest.mark.parametrize("checkpoint", [None, "every-2"])
def test_numbers_once_drawn_are_saved_and_never_drawn_again(checkpoint: str | None):
    module = gradient_of(scan_module(RANDOM, 4), checkpoint=checkpoint)
    (func,) = (f for f in functions(module) if f.sym_name.data == "f_grad")
    assert sum(isinstance(op, RandomOp) for op in func.walk()) == 1
    # The loss is linear in h: the gradient by h is the product of the numbers drawn, and so is what h contributes to the loss.
    w, h, xs = arguments(4)
    loss, _, h_adj, _ = compile(module, "f_grad")(w, h, np.zeros_like(xs), seed=3)
    assert loss == pytest.approx(np.sum(h_adj * h), rel=1e-12)


MARKED = """
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  %a = ptir.sin %x {ptir.checkpoint} : tensor<4xf64>
  %b = ptir.exp %a {ptir.checkpoint} : tensor<4xf64>
  %c = ptir.tanh %b : tensor<4xf64>
  %d = ptir.mul %c, %b : tensor<4xf64>
  func.return %d : tensor<4xf64>
}
"""


@pytest.mark.parametrize("flags", [(), ("--ptir-optimize",)])
def test_marked_ops_are_computed_again_where_their_adjoints_are(flags: tuple[str, ...]):
    text = mind_opt("--lenient", "--autodiff=seed=ones", *flags, stdin=MARKED).out
    lines = text[text.index("@f_grad") :].splitlines()
    ops = [line.split(" = ")[1].split()[0] for line in lines if " = ptir" in line]
    assert (ops.count("ptir.exp"), ops.count("ptir.sin"), ops.count("ptir.tanh")) == (2, 2, 1)
    x = np.array([0.1, 0.2, -0.3, 2.0])
    _, x_adj = compile(parse(text), "f_grad")(x)

    def f(x: np.ndarray) -> np.ndarray:
        return np.tanh(np.exp(np.sin(x))) * np.exp(np.sin(x))

    np.testing.assert_allclose(x_adj, (f(x + 1e-6) - f(x - 1e-6)) / 2e-6, rtol=1e-8)


def test_same_bytes_in_every_process():
    program = "import sys, test_derivatives_control as t; print(t.everything())"
    folder, support = Path(__file__).parent, Path(__file__).parents[2] / "support"
    outputs = set[str]()
    for seed in ("0", "1", "4711"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": f"{folder}{os.pathsep}{support}"}
        run = subprocess.run([sys.executable, "-c", program], env=environment, text=True, capture_output=True, check=True)
        outputs.add(run.stdout)
    assert outputs == {f"{everything()}\n"}


def everything() -> str:
    """The gradient, the tangents and a batch of a program with a loop, and derivatives of these."""
    module = gradient_of(scan_module(STEP, 9), checkpoint="sqrt")
    second = differentiate(module, "f_grad", GradientOptions(output=1, seed="cotangent")).module
    return str(forward_mode(vmap(second, "f_grad"), "f_grad").module)


CALLS = """
func.func @g(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %m = ptir.mul %x, %y : tensor<3xf64>
  %s = ptir.sin %m : tensor<3xf64>
  func.return %s : tensor<3xf64>
}
func.func @f(%x: tensor<3xf64>) -> tensor<3xf64> {
  %a = func.call @g(%x, %x) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  %b = func.call @g(%a, %x) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  func.return %b : tensor<3xf64>
}
"""


def test_a_function_is_differentiated_through_what_it_calls():
    found = differentiate(module_of(CALLS), None, GradientOptions(seed="ones"))
    assert found.primal.sym_name.data == "f", "a function that is called is not meant"
    x = np.array([0.3, -0.7, 1.1])
    _, x_adj = compile(found.module, "f_grad")(x)

    def f(x: np.ndarray) -> np.ndarray:
        return np.sin(np.sin(x * x) * x)

    np.testing.assert_allclose(x_adj, (f(x + 1e-6) - f(x - 1e-6)) / 2e-6, rtol=1e-8)


FUSED = """
func.func @f(%x: tensor<3xf64>) -> tensor<3xf64> {
  %y = ptir.fusion %x : tensor<3xf64> body {
  ^bb0(%a: tensor<3xf64>):
    %s = ptir.sin %a : tensor<3xf64>
    %m = ptir.mul %s, %a : tensor<3xf64>
    ptir.yield %m : tensor<3xf64>
  }
  func.return %y : tensor<3xf64>
}
"""


def test_a_fused_group_is_differentiated_as_its_ops():
    x = np.array([0.3, -0.7, 1.1])
    _, x_adj = compile(gradient_of(module_of(FUSED), seed="ones"), "f_grad")(x)
    np.testing.assert_allclose(x_adj, np.sin(x) + x * np.cos(x), rtol=1e-14)


LIMITED = """
func.func @f(%x: tensor<f64>) -> tensor<f64> {
  %r = ptir.while %x : tensor<f64> cond {
  ^bb0(%a: tensor<f64>):
    %limit = ptir.constant 100.0 : tensor<f64>
    %p = ptir.compare %a, %limit kind = less : (tensor<f64>, tensor<f64>) -> tensor<i1>
    ptir.yield %p, %a : tensor<i1>, tensor<f64>
  } body {
  ^bb0(%b: tensor<f64>):
    %n = ptir.mul %b, %b : tensor<f64>
    ptir.yield %n : tensor<f64>
  }
  func.return %r : tensor<f64>
}
"""


def test_a_loop_may_iteration_less_often_than_its_bound_but_not_more_often():
    module = gradient_of(module_of(LIMITED), max_iterations=4)
    run = compile(module, "f_grad")
    value, x_adj = run(np.float64(1.5))
    assert (value, x_adj) == pytest.approx((1.5**16, 16 * 1.5**15), rel=1e-14)
    assert run(np.float64(200.0)) == (200.0, 1.0)
    with pytest.raises(MindError) as found:
        run(np.float64(1.01))
    assert found.value.code == "E6001"


@pytest.mark.parametrize("bound", [0, -1, 1 << 63])
def test_other_bounds_are_refused(bound: int):
    with pytest.raises(MindError, match="max-iterations") as found:
        gradient_of(module_of(LIMITED), max_iterations=bound)
    assert found.value.code == "E7001"
