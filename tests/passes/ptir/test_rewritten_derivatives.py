"""A rewritten program has the derivatives of the program as it was: for each rewrite of views, products and loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from mind_dialect.ptir.types import F32, read_type
from mind_dialect.verify import verify
from mind_passes.functional import vjp
from mind_passes.ptir.canonicalize import canonicalize
from mind_passes.ptir.hoist import hoist
from mind_passes.ptir.sink_views import sink_views
from programs import parse
from ptir_evaluator import evaluate, function_of
from ptir_rewrite_rows import function
from ptir_slice_rows import SLICE_ROWS

PRODUCT = (
    "ptir.dot_general {0}, {1} batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0]"
    " : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>"
)


def recurrence(op: str, *, yielded: str = "%s, %v, %t") -> str:
    """A scan of three steps of a matrix and a weight that stacks `%t`; `op` defines `%p` from the weight `%v` and slice `%x`."""
    return f"""module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%h: tensor<2x8xf32>, %w: tensor<8x8xf32>, %xs: tensor<3x2x8xf32>) -> (tensor<2x8xf32>, tensor<3x2x8xf32>) {{
    %r:3 = ptir.scan %h, %w, %xs carry_count = 2 scan_output_count = 1
        : (tensor<2x8xf32>, tensor<8x8xf32>, tensor<3x2x8xf32>) -> (tensor<2x8xf32>, tensor<8x8xf32>, tensor<3x2x8xf32>) body {{
    ^bb0(%a: tensor<2x8xf32>, %v: tensor<8x8xf32>, %x: tensor<2x8xf32>):
      {op}
      %q = ptir.mul %a, %p : tensor<2x8xf32>
      %s = ptir.sin %q : tensor<2x8xf32>
      %t = ptir.tanh %p : tensor<2x8xf32>
      ptir.yield {yielded} : tensor<2x8xf32>, tensor<8x8xf32>, tensor<2x8xf32>
    }}
    func.return %r#0, %r#2 : tensor<2x8xf32>, tensor<3x2x8xf32>
  }}
}}"""


LOOPS = {
    "input products": recurrence(f"%p = {PRODUCT.format('%x', '%v')}"),
    "invariant": recurrence(f"%e = ptir.exp %v : tensor<8x8xf32>; %p = {PRODUCT.format('%a', '%e')}".replace("; ", "\n")),
    "stacked": recurrence("%p = ptir.exp %x : tensor<2x8xf32>"),
}
X = "%x: tensor<2x3xf32>"
TURN, BACK = "ptir.transpose {0} perm = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>", "tensor<3x2xf32> -> tensor<2x3xf32>"


def branches(before: str, true: str, false: str) -> str:
    """A branch by the sign of a sum; `before` defines `%e` from `%x` and `%w`, the branches yield `%r` of `%a` and `%v`."""
    one = "tensor<2x8xf32>, tensor<8x8xf32>"
    block = "^bb0(%a: tensor<2x8xf32>, %v: tensor<8x8xf32>):"
    regions = [f"{{\n{block}\n{body}\nptir.yield %r : tensor<2x8xf32>\n}}" for body in (true, false)]
    return f"""module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%x: tensor<2x8xf32>, %w: tensor<8x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {{
    {before}
    %s = ptir.reduce %x kind = sum axes = [0, 1] keepdims = false : tensor<2x8xf32> -> tensor<f32>
    %z = ptir.constant 0.0 : tensor<f32>
    %p = ptir.compare %s, %z kind = greater : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c = ptir.cond %p, %x, %w : (tensor<i1>, {one}) -> tensor<2x8xf32> true {regions[0]} false {regions[1]}
    func.return %c, %e : tensor<2x8xf32>, tensor<2x8xf32>
  }}
}}"""


MULTIPLIED = f"%d = {PRODUCT.format('%a', '%v')}\n"
BRANCHES = {
    "computed before": branches(
        f"%e = {PRODUCT.format('%x', '%w')}",
        MULTIPLIED + "%r = ptir.sin %d : tensor<2x8xf32>",
        "%r = ptir.neg %a : tensor<2x8xf32>",
    ),
    "in both branches": branches(
        "%e = ptir.sin %x : tensor<2x8xf32>",
        MULTIPLIED + "%r = ptir.sin %d : tensor<2x8xf32>",
        MULTIPLIED + "%r = ptir.mul %d, %a : tensor<2x8xf32>",
    ),
}
SINKING = {
    "transposes": function(
        X,
        f"%t = {TURN.format('%x')}; %s = ptir.sin %t : tensor<3x2xf32>; %m = ptir.mul %s, %t : tensor<3x2xf32>;"
        f" %r = ptir.transpose %m perm = [1, 0] : {BACK}",
    ),
    "reshapes": function(
        X,
        "%t = ptir.reshape %x new_shape = [6] : tensor<2x3xf32> -> tensor<6xf32>; %s = ptir.sin %t : tensor<6xf32>;"
        " %r = ptir.reshape %s new_shape = [2, 3] : tensor<6xf32> -> tensor<2x3xf32>",
    ),
    "reductions": function(
        X,
        f"%t = {TURN.format('%x')}; %s = ptir.sin %t : tensor<3x2xf32>;"
        " %r = ptir.reduce %s kind = max axes = [1] keepdims = false : tensor<3x2xf32> -> tensor<3xf32>",
    ),
    "products": function(
        X + ", %w: tensor<2x2xf32>",
        f"%t = {TURN.format('%x')}; %s = ptir.sin %t : tensor<3x2xf32>;"
        " %r = ptir.dot_general %s, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0]"
        " : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>",
    ),
}
CASES = {
    row.rule: text if "%i:" in (text := function(row.arguments, row.fires[0])) else text.replace("si32", "f32")
    for row in SLICE_ROWS
    if "si8" not in row.arguments
}


def pulled_back(module: ModuleOp, name: str, seed: int = 0) -> list[np.ndarray]:
    """The outputs and adjoints of `@f` for random arguments and cotangents."""
    derived = vjp(module, name)
    func = function_of(derived, f"{name}_grad")
    rng = np.random.default_rng(seed)
    specs = [read_type(a.type) for a in func.body.block.args]
    arrays = [rng.uniform(-1, 1, s.shape).astype(np.float32) if s.dtype is F32 else np.ones(s.shape, np.int32) for s in specs]
    return evaluate(func, arrays)


@pytest.mark.parametrize("rule", CASES)
def test_derivatives_of_rewritten_programs(rule: str) -> None:
    module = parse(CASES[rule])
    verify(module)
    assert all(read_type(a.type).dtype is F32 or a.name_hint == "i" for a in function_of(module).body.block.args)
    expected = pulled_back(module.clone(), "f")
    assert canonicalize(module)
    found = pulled_back(module, "f")
    assert len(found) == len(expected) > 1
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("text", "rewrite"), [*((t, hoist) for t in LOOPS.values()), *((t, sink_views) for t in SINKING.values())]
)
def test_derivatives_of_loops_and_views(text: str, rewrite: Callable[[ModuleOp], bool]) -> None:
    """Up to the order of sums: a product over all steps sums the gradient of a weight in another order than steps do."""
    module = parse(text)
    verify(module)
    before = module.clone()
    assert rewrite(module)
    verify(module)
    for seed in range(4):
        expected, found = pulled_back(before, "f", seed), pulled_back(module, "f", seed)
        assert len(found) == len(expected) > 1
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-5 * np.abs(b).max())
