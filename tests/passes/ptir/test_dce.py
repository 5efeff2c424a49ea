"""ptir-dce: what goes and what stays, in functions and in regions."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region
from xdsl.transforms.dead_code_elimination import DeadCodeElimination

from mind_dialect.dominance import walk
from mind_dialect.ptir import CondOp, NegOp, PtirOp, RngUniformOp, YieldOp
from mind_dialect.ptir.types import F32, I1, tensor_type
from mind_dialect.verify import verify
from mind_passes.ptir.dead_ops import erase_dead, replace_values
from programs import context, parse

HEAD = 'module attributes {ptir.spec_version = "ptir.v0.4"} {'
LOOP = """
    %r = ptir.scan %x, %x carry_count = 1 scan_output_count = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> body {
    ^bb0(%c: tensor<4xf32>, %e: tensor<f32>):
      INNER
      ptir.yield %c : tensor<4xf32>
    }"""
DRAW = "%d = ptir.rng_uniform shape = [2] dtype = f32 : () -> tensor<2xf32>"

CASES: dict[str, tuple[str, str, list[str]]] = {
    "unused": ("%a = ptir.neg %x : tensor<4xf32>", "%x", []),
    "used": ("%a = ptir.neg %x : tensor<4xf32>", "%a", ["neg"]),
    "chain": ("%a = ptir.neg %x : tensor<4xf32>\n%b = ptir.exp %a : tensor<4xf32>", "%x", []),
    "half a chain": ("%a = ptir.neg %x : tensor<4xf32>\n%b = ptir.exp %a : tensor<4xf32>", "%a", ["neg"]),
    "would fail": ("%z = ptir.constant fill 9 : tensor<1xsi32>\n"
                   "%t = ptir.take %x, %z : (tensor<4xf32>, tensor<1xsi32>) -> tensor<1xf32>", "%x", []),
    "one of two results": (
        "%a, %i = ptir.top_k %x k = 4 axis = 0 largest = true indices_dtype = si32"
        " : tensor<4xf32> -> (tensor<4xf32>, tensor<4xsi32>)",
        "%a",
        ["top_k"],
    ),
    "random": (DRAW, "%x", ["rng_uniform"]),
    "custom call": ('%a = ptir.custom_call %x target = "a.b.v1" attrs = {} : tensor<4xf32>', "%x", []),
    "loop": (LOOP.replace("INNER", "%n = ptir.neg %c : tensor<4xf32>"), "%x", []),
    "inside a loop": (LOOP.replace("INNER", "%n = ptir.neg %c : tensor<4xf32>"), "%r", ["scan", "yield"]),
    "loop around a draw": (LOOP.replace("INNER", DRAW), "%x", ["scan", "rng_uniform", "yield"]),
    "foreign": ('%a = ptir.neg %x : tensor<4xf32>\n"test.op"(%a) : (tensor<4xf32>) -> ()', "%x", ["neg"]),
    "foreign region": (
        '%a = ptir.neg %x : tensor<4xf32>\n%b = ptir.neg %x : tensor<4xf32>\n"test.op"() ({\n%c = ptir.exp %a : tensor<4xf32>\n'
        '%d = ptir.exp %b : tensor<4xf32>\n"test.termop"(%d) : (tensor<4xf32>) -> ()\n}) : () -> ()',
        "%x",
        ["neg", "exp"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_stays(name: str) -> None:
    body, returned, left = CASES[name]
    module = parse(
        f"{HEAD} func.func @f(%x: tensor<4xf32>, %unused: tensor<f32>) -> tensor<4xf32> {{\n"
        f"{body}\nfunc.return {returned} : tensor<4xf32>\n}} }}"
    )
    verify(module)
    count, stock = sum(1 for _ in walk(module)), module.clone()
    changed = erase_dead(module)
    verify(module)
    DeadCodeElimination().apply(context(), stock)
    assert stock.is_structurally_equivalent(module)
    assert [op.OPCODE for op in walk(module) if isinstance(op, PtirOp)] == left
    assert changed == (sum(1 for _ in walk(module)) < count)
    assert "%unused" in str(module)
    assert not erase_dead(module)


def test_deep_nesting_needs_no_recursion() -> None:
    """Two thousand branches inside each other, each with a dead op, and an op that keeps them all alive in the innermost."""
    types = [tensor_type(I1, ()), tensor_type(F32, ())]
    inner: Operation = RngUniformOp(shape=(), dtype="f32")
    for _ in range(2000):
        blocks = [Block(arg_types=types), Block(arg_types=types)]
        for block in blocks:
            block.add_op(NegOp(block.args[1]))
        blocks[0].add_op(inner)
        for block in blocks:
            block.add_op(YieldOp(block.args[1]))
        inner = CondOp.create(operands=[], result_types=[types[1]], regions=[Region(b) for b in blocks])
    module = ModuleOp([inner])
    assert erase_dead(module)
    assert {op.name for op in walk(module)} == {"builtin.module", "ptir.cond", "ptir.yield", "ptir.rng_uniform"}


def test_replacing_says_whether_it_did_anything():
    module = parse(f"""{HEAD}
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {{
    %a = ptir.neg %x : tensor<4xf32>
    %b = ptir.exp %a : tensor<4xf32>
    func.return %b : tensor<4xf32>
  }}
}}""")
    a, b = (op.results[0] for op in walk(module) if isinstance(op, PtirOp))
    assert replace_values(module, {}) is False
    assert [op.name for op in walk(module) if isinstance(op, PtirOp)] == ["ptir.neg", "ptir.exp"]
    assert replace_values(module, {b: a}) is True
    assert [op.name for op in walk(module) if isinstance(op, PtirOp)] == ["ptir.neg"]
