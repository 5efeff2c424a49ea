"""ptir-hoist: work leaves loops with its bits, and stays where it must."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from counting import calls
from mind_dialect.dominance import walk
from mind_dialect.ptir import PtirOp, ScanOp, WhileOp
from mind_dialect.verify import verify
from mind_lowering.ptir_optimize import optimize
from mind_passes.ptir.hoist import hoist
from programs import parse
from ptir_control_programs import control_programs
from ptir_evaluator import evaluate, function_of, same_bits, special_inputs

M, XS = "tensor<8x8xsi32>", "tensor<3x8x8xsi32>"
TEMPLATES = {
    "neg": "ptir.neg {0} : " + M,
    "add": "ptir.add {0}, {1} : " + M,
    "mul": "ptir.mul {0}, {1} : " + M,
    "transpose": "ptir.transpose {0} perm = [1, 0] : " + M,
    "dot": "ptir.dot_general {0}, {1} batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : "
    + f"({M}, {M}) -> {M}",
}
"""Ops that give the same bits in any order of sums, and in arrays of any size."""


@st.composite
def bodies(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """The ops of a body of `%a` (carried), `%w`, `%v` (invariant), `%x`, `%y` (sliced), and the values it may yield."""
    pool, lines = ["%a", "%w", "%v", "%x", "%y"], list[str]()
    for i in range(draw(st.integers(1, 8))):
        kind = draw(st.sampled_from(sorted(TEMPLATES)))
        lines.append(f"%t{i} = " + TEMPLATES[kind].format(draw(st.sampled_from(pool)), draw(st.sampled_from(pool))))
        pool.append(f"%t{i}")
    return lines, [draw(st.sampled_from(pool[1:])) for _ in range(3)]


def scan_of(lines: list[str], yielded: list[str]) -> ModuleOp:
    """A scan that carries the first value yielded and stacks the others."""
    text = "\n".join(lines)
    module = parse(f"""module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%c: {M}, %wo: {M}, %vo: {M}, %xs: {XS}, %ys: {XS}) -> ({M}, {XS}, {XS}) {{
    %r:5 = ptir.scan %c, %wo, %vo, %xs, %ys carry_count = 3 scan_output_count = 2
        : ({M}, {M}, {M}, {XS}, {XS}) -> ({M}, {M}, {M}, {XS}, {XS}) body {{
    ^bb0(%a: {M}, %w: {M}, %v: {M}, %x: {M}, %y: {M}):
      {text}
      ptir.yield {yielded[0]}, %w, %v, {yielded[1]}, {yielded[2]} : {M}, {M}, {M}, {M}, {M}
    }}
    func.return %r#0, %r#3, %r#4 : {M}, {XS}, {XS}
  }}
}}""")
    verify(module)
    return module


def agree(before: ModuleOp, after: ModuleOp, arrays: list[np.ndarray]) -> None:
    verify(after)
    a, b = (evaluate(function_of(m), arrays) for m in (before, after))
    assert len(a) == len(b) > 0
    assert all(map(same_bits, a, b))


@settings(max_examples=25)
@given(bodies())
def test_scans_keep_their_bits(body: tuple[list[str], list[str]]) -> None:
    module = scan_of(*body)
    rng = np.random.default_rng(1)
    arrays = [rng.integers(-9, 9, shape).astype(np.int32) for shape in [(8, 8)] * 3 + [(3, 8, 8)] * 2]
    once = module.clone()
    hoist(once)
    agree(module, once, arrays)
    text = str(once)
    assert not hoist(once)
    assert str(once) == text
    optimized = module.clone()
    optimize(optimized)
    agree(module, optimized, arrays)


NAMES = ("%a", "%w", "%v", "%x", "%y")


def cond_of(before: list[str], true: list[str], false: list[str]) -> ModuleOp:
    """A branch whose regions, and what is before it, are ops of the same five values; each part gives its last value."""
    block = f"^bb0({', '.join(f'{name}: {M}' for name in NAMES)}):"
    regions = ["\n".join([block, *ops, f"ptir.yield %t{len(ops) - 1} : {M}"]).replace("%", "%in_") for ops in (true, false)]
    text = "\n".join(before)
    module = parse(f"""module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%p: tensor<i1>, {", ".join(f"{name}: {M}" for name in NAMES)}) -> ({M}, {M}) {{
    {text}
    %r = ptir.cond %p, {", ".join(NAMES)} : (tensor<i1>, {", ".join([M] * 5)}) -> {M} true {{
    {regions[0]}
    }} false {{
    {regions[1]}
    }}
    func.return %r, %t{len(before) - 1} : {M}, {M}
  }}
}}""")
    verify(module)
    return module


@settings(max_examples=25)
@given(bodies(), bodies(), st.integers(1, 8))
def test_branches_keep_their_bits(body: tuple[list[str], list[str]], other: tuple[list[str], list[str]], shared: int) -> None:
    """Branches that begin as each other and as what is before them."""
    first, second = body[0], other[0]
    module = cond_of(first[:shared], first, second if len(second) % 2 else first[:shared])
    rng = np.random.default_rng(2)
    matrices = [rng.integers(-9, 9, (8, 8)).astype(np.int32) for _ in NAMES]
    after = module.clone()
    hoist(after)
    for pred in (True, False):
        agree(module, after, [np.array(pred), *matrices])
    text = str(after)
    assert not hoist(after)
    assert str(after) == text


@settings(max_examples=25)
@given(control_programs())
def test_random_programs_of_loops_and_branches(text: str) -> None:
    module = parse(text)
    verify(module)
    after = module.clone()
    hoist(after)
    for seed in range(2):
        agree(module, after, special_inputs(function_of(module), seed))


def test_work_leaves_all_loops_around_it() -> None:
    """From the inner of two loops to the function."""
    inner = f"""%q:2 = ptir.scan %a, %w, %x carry_count = 2 scan_output_count = 0 : ({M}, {M}, {M}) -> ({M}, {M}) body {{
      ^bb0(%b: {M}, %u: {M}, %z: tensor<8xsi32>):
        %p = {TEMPLATES["dot"].format("%u", "%u")}
        %s = ptir.add %b, %p : {M}
        ptir.yield %s, %u : {M}, {M}
      }}"""
    module = scan_of([inner], ["%q#0", "%a", "%a"])
    assert hoist(module)
    verify(module)
    (product,) = (op for op in walk(module) if isinstance(op, PtirOp) and op.OPCODE == "dot_general")
    assert product.parent is function_of(module).body.block


@pytest.mark.parametrize("yielded", ["%w", "%a"])
def test_nothing_to_move_changes_nothing(yielded: str) -> None:
    module = scan_of(["%t = ptir.add %a, %x : " + M], ["%t", yielded, "%a"])
    text = str(module)
    assert not hoist(module)
    assert str(module) == text


def test_a_loop_without_steps_runs_what_left_it() -> None:
    """A while whose condition is false at once gives what it was given, whatever was computed before it."""
    module = parse("""module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @f(%p: tensor<i1>, %w: tensor<4xf32>) -> tensor<4xf32> {
    %n = ptir.not %p : tensor<i1>
    %r:3 = ptir.while %n, %w, %w : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> (tensor<i1>, tensor<4xf32>, tensor<4xf32>) cond {
    ^bb0(%a: tensor<i1>, %b: tensor<4xf32>, %c: tensor<4xf32>):
      ptir.yield %a, %a, %b, %c : tensor<i1>, tensor<i1>, tensor<4xf32>, tensor<4xf32>
    } body {
    ^bb0(%a: tensor<i1>, %b: tensor<4xf32>, %c: tensor<4xf32>):
      %e = ptir.exp %c : tensor<4xf32>
      %s = ptir.add %b, %e : tensor<4xf32>
      %stop = ptir.constant false : tensor<i1>
      ptir.yield %stop, %s, %c : tensor<i1>, tensor<4xf32>, tensor<4xf32>
    }
    func.return %r#1 : tensor<4xf32>
  }
}""")
    after = module.clone()
    assert hoist(after)
    (loop,) = (op for op in walk(after) if isinstance(op, WhileOp))
    assert not any(op.name == "ptir.exp" for op in walk(loop))
    for first in (True, False):
        agree(module, after, [np.array(first), np.array([1, np.inf, np.nan, -0.0], np.float32)])


def test_marked_ops_stay() -> None:
    """What an executor marked as failing is run where the program has it."""
    module = scan_of(["%t0 = ptir.div %w, %v : " + M, "%t = ptir.add %a, %t0 : " + M], ["%t", "%w", "%w"])
    assert not hoist(module)
    assert any(op.name == "ptir.div" for op in walk(next(op for op in walk(module) if isinstance(op, ScanOp))))


def test_effort_is_linear_in_the_ops() -> None:
    def effort(n: int) -> int:
        lines = ["%t0 = ptir.add %w, %v : " + M]
        lines += [f"%t{i} = ptir.add %t{i - 1}, {('%w', '%x', '%a')[min(i // (n // 3), 2)]} : {M}" for i in range(1, n)]
        module = scan_of(lines, [f"%t{n - 1}", "%w", f"%t{2 * (n // 3) - 1}"])
        return calls(lambda: hoist(module))

    assert effort(240) < 2.3 * effort(120)
