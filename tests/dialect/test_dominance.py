"""Definition before use, in regions and control flow, and ops of other dialects beside ours."""

from __future__ import annotations

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import FunctionType, ModuleOp, i1
from xdsl.dialects.cf import BranchOp, ConditionalBranchOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from mind_dialect.core import NegOp, ReluOp
from mind_dialect.errors import MindError
from mind_dialect.program import core_block
from mind_dialect.types import F32, I32, tensor_type
from mind_dialect.verify import failures
from mixed_programs import codes, parse

X = tensor_type(F32, (2,))


# Definition before use

NESTED = [
    ("enclosing value", "scf.if %c { %0 = mind.neg %x : tensor<2xf32> }", []),
    (
        "value of a closed region",
        "scf.if %c { %0 = mind.neg %x : tensor<2xf32> } else { %1 = mind.neg %0 : tensor<2xf32> }",
        None,
    ),
    (
        "later value of the enclosing block",
        '"test.op"() ({ %0 = mind.neg %1 : tensor<2xf32> }) : () -> ()  %1 = mind.neg %x : tensor<2xf32>',
        ["E4001"],
    ),
    ("a result inside its own op", '%1 = "test.op"() ({ %0 = mind.neg %1 : tensor<2xf32> }) : () -> tensor<2xf32>', ["E4001"]),
    ("itself", "%0 = mind.neg %0 : tensor<2xf32>", ["E4001"]),
]


@pytest.mark.parametrize(("name", "body", "expected"), NESTED, ids=[row[0] for row in NESTED])
def test_regions(name: str, body: str, expected: list[str] | None):
    text = f"func.func @f(%x: tensor<2xf32>, %c: i1) {{ {body} func.return }}"
    if expected is None:
        with pytest.raises(Exception, match=r"SSA value|defined"):
            parse(text)  # the parser's own scoping forbids it
    else:
        assert codes(text) == expected


def test_a_value_of_a_region_is_not_seen_beside_it():
    inner = Block()
    inner_op = test.TestOp(result_types=[X])
    inner.add_op(inner_op)
    outer = Block()
    outer.add_ops([test.TestOp(regions=[Region(inner)]), NegOp(inner_op.results[0])])
    assert [e.code for e in failures(test.TestOp(regions=[Region(outer)]))] == ["E4001"]


def test_nothing_is_seen_across_isolation():
    block, inner = Block(arg_types=[X]), Block()
    inner.add_ops([NegOp(block.args[0]), ReturnOp()])
    block.add_ops([FuncOp("g", FunctionType.from_lists([], []), Region(inner)), ReturnOp()])
    function = FuncOp("f", FunctionType.from_lists([X], []), Region(block))
    assert [e.code for e in failures(ModuleOp([function]))] == ["E4001"]


def test_a_value_of_another_module_or_of_none():
    other, block = Block(arg_types=[X]), Block()
    block.add_ops([NegOp(other.args[0]), NegOp(NegOp(other.args[0])), ReturnOp()])
    module = ModuleOp([FuncOp("f", FunctionType.from_lists([], []), Region(block))])
    assert [e.code for e in failures(module)] == ["E4001", "E4001"]


DIAMOND = """func.func @f(%c: i1, %x: tensor<2xf32>) -> tensor<2xf32> {
  %a = mind.neg %x : tensor<2xf32>
  cf.cond_br %c, ^left, ^right
^left:
  %l = mind.exp %a : tensor<2xf32>
  cf.br ^join(%l : tensor<2xf32>)
^right:
  %r = mind.exp %a : tensor<2xf32>
  cf.br ^join(%r : tensor<2xf32>)
^join(%j: tensor<2xf32>):
  %s = mind.add %VALUE, %x : tensor<2xf32>
  func.return %s : tensor<2xf32>
}"""


@pytest.mark.parametrize(
    ("value", "expected"), [("j", []), ("a", []), ("x", []), ("l", ["E4001"]), ("r", ["E4001"]), ("s", ["E4001"])]
)
def test_blocks(value: str, expected: list[str]):
    assert codes(DIAMOND.replace("VALUE", value)) == expected


LOOP = """func.func @f(%c: i1, %x: tensor<2xf32>) {
  cf.br ^head
^body:
  %b = mind.exp %h : tensor<2xf32>
  cf.br ^head
^head:
  %h = mind.neg %VALUE : tensor<2xf32>
  cf.cond_br %c, ^body, ^exit
^exit:
  func.return
^unreached:
  %u = mind.exp %h : tensor<2xf32>
  %v = mind.exp %b : tensor<2xf32>
  func.return
}"""


@pytest.mark.parametrize(("value", "expected"), [("x", []), ("b", ["E4001"]), ("u", ["E4001"])])
def test_loops_and_unreached_code(value: str, expected: list[str]):
    assert codes(LOOP.replace("VALUE", value)) == expected


def test_a_branch_into_another_region():
    far, block = Block(), Block(arg_types=[i1])
    block.add_op(ConditionalBranchOp(block.args[0], far, [], far, []))
    function = FuncOp("f", FunctionType.from_lists([i1], []), Region([block, Block([ReturnOp()])]))
    assert [e.code for e in failures(ModuleOp([function]))] == ["E4016"]


def test_ten_thousand_blocks():
    blocks = [Block(arg_types=[X])]
    value = blocks[0].args[0]
    for _ in range(10_000):
        following = Block()
        op = NegOp(value)
        blocks[-1].add_ops([op, BranchOp(following)])
        value = op.result
        blocks.append(following)
    blocks[-1].add_op(ReturnOp())
    assert list(failures(ModuleOp([FuncOp("f", FunctionType.from_lists([X], []), Region(blocks))]))) == []


def test_ten_thousand_regions_deep():
    op = NegOp(Block(arg_types=[X]).args[0])
    root = test.TestTermOp(regions=[Region(Block([op]))])
    for _ in range(10_000):
        root = test.TestTermOp(regions=[Region(Block([root]))])
    assert [e.code for e in failures(root)] == ["E4001"]
    inner = Block(arg_types=[tensor_type(I32, (2,))])
    inner.add_ops([ReluOp.create(operands=[inner.args[0]], result_types=[X]), test.TestTermOp()])
    root = test.TestTermOp(regions=[Region(inner)])
    for _ in range(10_000):
        root = test.TestTermOp(regions=[Region(Block([root]))])
    assert [e.code for e in failures(root)] == ["E2005"]


# Ops of other dialects

FOREIGN = """func.func @f(%t: tensor<2xf32>, %c: i1, %i: index) -> f32 {
  %n = mind.neg %t : tensor<2xf32>
  %r = scf.if %c -> (tensor<2xf32>) {
    %a = mind.exp %n : tensor<2xf32>
    scf.yield %a : tensor<2xf32>
  } else {
    scf.yield %n : tensor<2xf32>
  }
  %s = mind.sum %r axes = [] keepdims = false : tensor<2xf32> -> tensor<f32>
  %e = tensor.extract %s[] : tensor<f32>
  %z = arith.addf %e, %e : f32
  "unknown.op"(%z) : (f32) -> ()
  func.return %z : f32
}"""


def test_ops_of_other_dialects_are_tolerated():
    module = parse(FOREIGN)
    assert list(failures(module)) == []
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    with pytest.raises(MindError, match=r"E4000: @f is not one flat block of Core IR: found scf.if"):
        core_block(function)


E4016 = [
    ("no return", "func.func @f(%x: tensor<2xf32>) { %0 = mind.neg %x : tensor<2xf32> }", "Neg %1: is the last op of its block"),
    ("no op at all", "func.func @f(%x: tensor<2xf32>) { }", "block 0 of a region is empty"),
    ("empty block", "func.func @f() {\n cf.br ^a\n^a:\n}", "block 1 of a region is empty"),
    ("returned types", "func.func @f(%x: tensor<2xf32>) { func.return %x : tensor<2xf32> }", "same types as the function output"),
    ("two functions of one name", "func.func @f() { func.return } func.func @f() { func.return }", 'Redefinition of symbol "f"'),
    ("unknown callee", "func.func @f() { func.call @g() : () -> () func.return }", "'@g' could not be found"),
    ("a return outside a function", '"test.op"() ({ func.return }) : () -> ()', "func.return: does not verify"),
    (
        "successors in the middle",
        'func.func @f() {\n "my.branch"() [^a] : () -> ()\n cf.br ^a\n^a:\n func.return\n}',
        "is not the last op",
    ),
]


@pytest.mark.parametrize(("name", "text", "says"), E4016, ids=[row[0] for row in E4016])
def test_what_another_dialect_reports(name: str, text: str, says: str):
    found = list(failures(parse(text)))
    assert [e.code for e in found] == ["E4016"]
    assert says in found[0].message
    assert found[0].context["issue"]


def test_core_block_needs_a_return():
    block = Block(arg_types=[X])
    block.add_op(NegOp(block.args[0]))
    with pytest.raises(MindError, match=r"E4000.*found a function without func.return"):
        core_block(FuncOp("f", FunctionType.from_lists([X], []), Region(block)))
    with pytest.raises(MindError, match=r"E4000.*found func.func with 0 blocks"):
        core_block(FuncOp.external("f", [X], []))
