"""ptir-cse: which ops are equal, in functions and in regions, and what that costs."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination

import counting
from mind_dialect.dominance import walk
from mind_dialect.ptir import AddOp, AndOp, CompareOp, MaximumOp, MinimumOp, MulOp, OrOp, PtirOp, XorOp
from mind_dialect.ptir.types import ALL, Kind, PtirDType
from mind_dialect.verify import verify
from mind_passes.ptir import cse
from mind_passes.ptir.cse import COMMUTATIVE, eliminate_common
from mind_passes.ptir.dead_ops import erase_dead
from mind_tools import frontends
from programs import context, parse
from ptir_evaluator import evaluate, function_of, same_bits, special_inputs


def module_of(arguments: str, body: str) -> ModuleOp:
    """The ops of a function, whose results go to an op of others."""
    uses = "\n".join(f'"test.op"({name}) : ({type}) -> ()' for name, type in used(body))
    module = parse(f"""module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f({arguments}) {{
    {body}
    {uses}
    func.return
  }}
}}""")
    verify(module)
    return module


def used(body: str) -> list[tuple[str, str]]:
    """The values of the flat lines of a body, and their types."""
    lines = [line.strip() for line in body.splitlines() if line.startswith("%")]
    return [(line.split(" ")[0], line.rsplit(" -> ", 1)[-1].rsplit(" : ", 1)[-1]) for line in lines if not line.endswith("{")]


X = "%x: tensor<4xf32>, %y: tensor<4xf32>, %p: tensor<i1>"


def loop(result: str, *lines: str) -> str:
    inner = "\n      ".join(line for text in lines for line in text.split("\n"))
    return f"""{result} = ptir.cond %p, %x : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> true {{
    ^bb0(%a: tensor<4xf32>):
      {inner}
      ptir.yield %r : tensor<4xf32>
    }} false {{
    ^bb0(%a: tensor<4xf32>):
      ptir.yield %a : tensor<4xf32>
    }}"""


TWICE = "%r = ptir.exp %a : tensor<4xf32>"
CASES: dict[str, tuple[str, int]] = {
    "same": ("%a = ptir.neg %x : tensor<4xf32>\n%b = ptir.neg %x : tensor<4xf32>", 1),
    "other operand": ("%a = ptir.neg %x : tensor<4xf32>\n%b = ptir.neg %y : tensor<4xf32>", 0),
    "other op": ("%a = ptir.neg %x : tensor<4xf32>\n%b = ptir.exp %x : tensor<4xf32>", 0),
    "after merging": (
        "%a = ptir.neg %x : tensor<4xf32>\n%b = ptir.neg %x : tensor<4xf32>\n"
        "%c = ptir.exp %a : tensor<4xf32>\n%d = ptir.exp %b : tensor<4xf32>",
        2,
    ),
    "swapped sum": ("%a = ptir.add %x, %y : tensor<4xf32>\n%b = ptir.add %y, %x : tensor<4xf32>", 1),
    "swapped difference": ("%a = ptir.sub %x, %y : tensor<4xf32>\n%b = ptir.sub %y, %x : tensor<4xf32>", 0),
    "swapped maximum": ("%a = ptir.maximum %x, %y : tensor<4xf32>\n%b = ptir.maximum %y, %x : tensor<4xf32>", 0),
    "swapped comparison": (
        "%a = ptir.compare %x, %y kind = less : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>\n"
        "%b = ptir.compare %y, %x kind = greater : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>\n"
        "%c = ptir.compare %y, %x kind = less_equal : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>\n"
        "%d = ptir.compare %x, %y kind = greater_equal : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>\n"
        "%e = ptir.compare %x, %y kind = equal : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>\n"
        "%f = ptir.compare %y, %x kind = equal : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>",
        3,
    ),
    "other comparison": (
        "%a = ptir.compare %x, %y kind = less : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>\n"
        "%b = ptir.compare %x, %y kind = greater : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>",
        0,
    ),
    "other property": (
        "%a = ptir.sort %x axis = 0 descending = true : tensor<4xf32>\n"
        "%b = ptir.sort %x axis = 0 descending = false : tensor<4xf32>",
        0,
    ),
    "other attribute": (
        '%a = ptir.neg %x {"my.note" = 1 : i64} : tensor<4xf32>\n%b = ptir.neg %x {"my.note" = 2 : i64} : tensor<4xf32>',
        0,
    ),
    "constants": ("%a = ptir.constant fill 0.0 : tensor<4xf32>\n%b = ptir.constant fill 0.0 : tensor<4xf32>", 1),
    "zeros of two signs": ("%a = ptir.constant fill 0.0 : tensor<4xf32>\n%b = ptir.constant fill -0.0 : tensor<4xf32>", 0),
    "zeros of two types": ("%a = ptir.constant 0 : tensor<si32>\n%b = ptir.constant 0 : tensor<ui32>", 0),
    "NaN": ("%a = ptir.constant fill nan : tensor<4xf32>\n%b = ptir.constant fill nan : tensor<4xf32>", 1),
    "draws": (
        "%a = ptir.rng_uniform shape = [4] dtype = f32 : () -> tensor<4xf32>\n"
        "%b = ptir.rng_uniform shape = [4] dtype = f32 : () -> tensor<4xf32>",
        0,
    ),
    "calls": (
        '%a = ptir.custom_call %x target = "a.b.v1" attrs = {} : tensor<4xf32>\n'
        '%b = ptir.custom_call %x target = "a.b.v1" attrs = {} : tensor<4xf32>',
        1,
    ),
    "branches": (loop("%b", TWICE) + "\n" + loop("%c", "%r = ptir.neg %a : tensor<4xf32>"), 0),
    "equal branches": (loop("%b", TWICE) + "\n" + loop("%c", TWICE), 1),
    "branches that draw": (
        "\n".join(
            loop(name, "%d = ptir.rng_uniform shape = [4] dtype = f32 : () -> tensor<4xf32>",
                "%r = ptir.add %a, %d : tensor<4xf32>")
            for name in ("%b", "%c")
        ),
        0,
    ),
    "inside a branch": (loop("%b", "%s = ptir.exp %a : tensor<4xf32>\n %t = ptir.exp %a : tensor<4xf32>\n"
                             " %r = ptir.mul %s, %t : tensor<4xf32>"), 1),
    "not across branches": ("%s = ptir.exp %x : tensor<4xf32>\n" + loop("%b", TWICE), 0),
    "branches equal once merged inside": (
        loop("%b", "%s = ptir.exp %a : tensor<4xf32>\n %r = ptir.mul %s, %s : tensor<4xf32>")
        + "\n"
        + loop("%c", "%s = ptir.exp %a : tensor<4xf32>", "%t = ptir.exp %a : tensor<4xf32>",
               "%r = ptir.mul %s, %t : tensor<4xf32>"),
        2,
    ),
    "into a foreign region": (
        '%a = ptir.exp %x : tensor<4xf32>\n "test.op"() ({\n %b = ptir.exp %x : tensor<4xf32>\n'
        ' %c = ptir.neg %x : tensor<4xf32>\n "test.termop"(%b, %c) : (tensor<4xf32>, tensor<4xf32>) -> ()\n}) : () -> ()\n'
        "%d = ptir.neg %x : tensor<4xf32>",
        1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_merges(name: str) -> None:
    body, merged = CASES[name]
    module = module_of(X, body)
    count = sum(isinstance(op, PtirOp) for op in walk(module))
    assert eliminate_common(module) == (merged > 0)
    verify(module)
    inside_a_merged_branch = {"equal branches": 3, "branches equal once merged inside": 4}.get(name, 0)
    assert count - sum(isinstance(op, PtirOp) for op in walk(module)) == merged + inside_a_merged_branch
    assert not eliminate_common(module)


STOCK_DIFFERS = {
    "swapped sum": "xDSL's cse does not swap operands of what commutes",
    "swapped comparison": "xDSL's cse knows no comparison",
}
"""Where xDSL's `cse` merges less than ours, and why."""


@pytest.mark.parametrize("name", CASES)
def test_the_stock_pass_merges_the_same_and_erases_what_is_unused(name: str) -> None:
    stock = module_of(X, CASES[name][0])
    ours = stock.clone()
    CommonSubexpressionElimination().apply(context(), stock)
    verify(stock)
    eliminate_common(ours)
    erase_dead(ours)
    assert stock.is_structurally_equivalent(ours) == (name not in STOCK_DIFFERS)


def swapped(op: type[PtirOp], dtype: PtirDType) -> list[ModuleOp]:
    """A program of one op, and that of its operands in the other order."""
    text = """module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%x: tensor<41x{t}>, %y: tensor<41x{t}>) -> tensor<41x{t}> {{
    %r = ptir.{op} {operands} : tensor<41x{t}>
    func.return %r : tensor<41x{t}>
  }}
}}"""
    return [parse(text.format(t=dtype.type, op=op.OPCODE, operands=o)) for o in ("%x, %y", "%y, %x")]


def is_legal(op: type[PtirOp], dtype: PtirDType) -> bool:
    """There is no arithmetic of truth values, no order of complex numbers, and no bits of floats and of these."""
    if op in (AddOp, MulOp):
        return dtype.kind is not Kind.BOOL
    if op in (MaximumOp, MinimumOp):
        return dtype.kind is not Kind.COMPLEX
    return dtype.kind not in (Kind.FLOAT, Kind.COMPLEX)


def results(op: type[PtirOp], dtype: PtirDType) -> list[bool]:
    """For some arguments, whether the op gives the same bits for its operands in either order."""
    programs = swapped(op, dtype)
    verify(programs[0])
    found: list[bool] = []
    for seed in range(20):
        arrays = special_inputs(function_of(programs[0]), seed)
        (a,), (b,) = (evaluate(function_of(p), arrays) for p in programs)
        found.append(same_bits(a, b))
    return found


PAIRS = pytest.mark.parametrize(
    ("op", "dtype"), [(op, d) for op in COMMUTATIVE for d in ALL], ids=lambda v: getattr(v, "OPCODE", str(v))
)


@PAIRS
def test_what_is_said_to_commute_does_bit_by_bit_and_nothing_else(op: type[PtirOp], dtype: PtirDType) -> None:
    """The arguments are such that an op which does not commute is seen not to."""
    if is_legal(op, dtype):
        assert all(results(op, dtype)) == (dtype.kind in COMMUTATIVE[op])
        return
    with pytest.raises(Exception, match="expected one of") as e:
        verify(swapped(op, dtype)[0])
    assert getattr(e.value, "category", "") == "DTypeNotSupported"


@pytest.mark.quick
def test_every_commutative_op_is_decided() -> None:
    assert set(COMMUTATIVE) == {AddOp, MulOp, MaximumOp, MinimumOp, AndOp, OrOp, XorOp}
    assert set(CompareOp.KINDS) == {"equal", "not_equal", *cse._SWAPPED, *cse._SWAPPED.values()}


def calls(n: int) -> int:
    """How many functions are called while `n` equal branches, none of which merges, are walked through."""
    bodies = [
        loop(f"%b{i}", f"%c = ptir.constant fill {i}.0 : tensor<4xf32>\n%r = ptir.add %a, %c : tensor<4xf32>") for i in range(n)
    ]
    module = module_of(X, "\n".join(bodies))
    return counting.calls(lambda: eliminate_common(module))


def test_many_branches_with_equal_operands_cost_linear_time() -> None:
    assert calls(400) < 2.2 * calls(200)


def test_a_use_that_stands_before_its_definition_in_the_text_is_of_what_stays():
    """Blocks stand in any order: ^use is the last to run."""
    module = frontends.parse("""module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
    cf.br ^make
  ^use:
    %s = ptir.neg %b : tensor<2xf32>
    func.return %s : tensor<2xf32>
  ^make:
    %a = ptir.exp %x : tensor<2xf32>
    %b = ptir.exp %x : tensor<2xf32>
    "test.op"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> ()
    cf.br ^use
  }
}""")
    assert eliminate_common(module)
    module.verify()
    (negation,) = (op for op in walk(module) if op.name == "ptir.neg")
    (exponential,) = (op for op in walk(module) if op.name == "ptir.exp")
    assert list(negation.operands) == list(exponential.results)
    assert not eliminate_common(module)
