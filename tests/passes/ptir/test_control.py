"""What canonicalisation knows of branches and loops: one iteration, no iteration, constants, and dead carries."""

# ruff: noqa: E501

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from xdsl.dialects.builtin import ModuleOp

from counting import calls
from mind_dialect.dominance import walk
from mind_dialect.ptir import CompareOp, CondOp, ConstantOp, PtirLiteralAttr, PtirOp, ScanOp, WhileOp
from mind_dialect.ptir.types import I1, SI32, read_type
from mind_dialect.verify import verify
from mind_lowering.ptir_optimize import optimize
from mind_passes.ptir.canonicalize import canonicalize
from mind_passes.ptir.dce import PtirDcePass
from mind_passes.ptir.loop_carried import drop_unneeded
from programs import context, parse
from ptir_control_programs import control_programs
from ptir_evaluator import evaluate, function_of, same_bits, special_inputs

V, S, N = "tensor<4xf32>", "tensor<f32>", "tensor<si32>"
INPUTS = f"%p: tensor<i1>, %x: {V}, %y: {V}, %n: {N}, %rows: tensor<3x4xf32>, %none: tensor<0x4xf32>, %one: tensor<1x4xf32>"
DRAW = "%d = ptir.rng_uniform shape = [4] dtype = f32 : () -> tensor<4xf32>"


def module_of(body: str, *returned: str) -> ModuleOp:
    """A function of `INPUTS`; each returned value is given with its type."""
    types = ", ".join(r.partition(" : ")[2] for r in returned)
    values = ", ".join(r.partition(" : ")[0] for r in returned)
    module = parse(f"""module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f({INPUTS}) -> ({types}) {{
    {body}
    func.return {values} : {types}
  }}
}}""")
    verify(module)
    return module


def branch(pred: str, args: str, true: str, false: str, *, count: int = 1, results: int = 1) -> str:
    """`%r = cond` of vectors; regions take `%a0`, `%a1` and on, and are given up to their yield."""
    takes = ", ".join([V] * count)
    gives = ", ".join([V] * results)
    block = "^bb0(" + ", ".join(f"%a{i}: {V}" for i in range(count)) + "):"
    names = "%r" if results == 1 else f"%r:{results}"
    return f"""{names} = ptir.cond {pred}, {args} : (tensor<i1>, {takes}) -> ({gives}) true {{
    {block}
    {true} : {gives}
    }} false {{
    {block}
    {false} : {gives}
    }}"""


def loop(inits: str, types: list[str], test: str, passed: str, body: str, following: str) -> str:
    """`%r:n = while`; `cond` and `body` take `%a0` and on."""
    names, all_types = f"%r:{len(types)}", ", ".join(types)
    block = "^bb0(" + ", ".join(f"%a{i}: {t}" for i, t in enumerate(types)) + "):"
    return f"""{names} = ptir.while {inits} : ({all_types}) -> ({all_types}) cond {{
    {block}
    {test}
    ptir.yield %go, {passed} : tensor<i1>, {all_types}
    }} body {{
    {block}
    {body}
    ptir.yield {following} : {all_types}
    }}"""


COUNTS = f"""%zero = ptir.constant 0 : {N}
    %go = ptir.compare %a0, %zero kind = greater : ({N}, {N}) -> tensor<i1>"""
LESS = f"%u = ptir.constant 1 : {N}\n%less = ptir.sub %a0, %u : {N}"


def scan(
    operands: str, carried: list[str], scanned: list[str], body: str, yielded: str, outputs: list[str], length: int = 3
) -> str:
    """`%r:n = scan`; the body takes `%a0` and on, and is given up to what it yields."""
    takes = [*carried, *(t.replace(f"<{length}x", "<", 1) for t in scanned)]
    stacks = [t.replace("<", f"<{length}x", 1) for t in outputs]
    results = [*carried, *stacks]
    block = "^bb0(" + ", ".join(f"%a{i}: {t}" for i, t in enumerate(takes)) + "):"
    names = "%r" if len(results) == 1 else f"%r:{len(results)}"
    counts = f"carry_count = {len(carried)} scan_output_count = {len(outputs)}"
    return f"""{names} = ptir.scan {operands} {counts} : ({", ".join([*carried, *scanned])}) -> ({", ".join(results)}) body {{
    {block}
    {body}
    ptir.yield {yielded} : {", ".join([*carried, *outputs])}
    }}"""


TRUE, FALSE = "%t = ptir.constant true : tensor<i1>\n", "%t = ptir.constant false : tensor<i1>\n"
NEG, EXP = f"%b = ptir.neg %a0 : {V}\nptir.yield %b", f"%b = ptir.exp %a0 : {V}\nptir.yield %b"
R = f"%r : {V}"
ROWS = "tensor<3x4xf32>"
NESTED = branch("%s", "%outer", NEG, EXP).replace("%a", "%i").replace("%b", "%j").replace("%outer", "%a0").replace("%r", "%q")

CASES: dict[str, tuple[ModuleOp, list[str]]] = {
    "cond, true": (module_of(TRUE + branch("%t", "%x", NEG, EXP), R), ["neg"]),
    "cond, false": (module_of(FALSE + branch("%t", "%x", NEG, EXP), R), ["exp"]),
    "cond, unknown": (module_of(branch("%p", "%x", NEG, EXP), R), ["cond", "neg", "yield", "exp", "yield"]),
    "cond, nested and known": (
        module_of(TRUE + branch("%t", "%x", TRUE.replace("%t", "%s") + NESTED + "\nptir.yield %q", EXP), R), ["neg"]
    ),
    "cond, the other branch draws": (
        module_of(TRUE + branch("%t", "%x", NEG, f"{DRAW}\nptir.yield %d"), R),
        ["constant", "cond", "neg", "yield", "rng_uniform", "yield"],
    ),
    "cond, its own branch draws": (module_of(TRUE + branch("%t", "%x", f"{DRAW}\nptir.yield %d", NEG), R), ["rng_uniform"]),
    "cond, either way the same": (
        module_of(branch("%p", "%x, %y", f"{NEG}, %a1", f"{EXP}, %a1", count=2, results=2), f"%r#0 : {V}", f"%r#1 : {V}"),
        ["cond", "neg", "yield", "exp", "yield"],
    ),
    "cond, one or the other": (
        module_of(branch("%p", "%x, %y", "ptir.yield %a0, %a1", "ptir.yield %a1, %a0", count=2, results=2), f"%r#0 : {V}", f"%r#1 : {V}"),
        ["cond", "yield", "yield"],
    ),
    "cond, either way one constant": (
        module_of(branch("%p", "%x", f"%c = ptir.constant fill 2.0 : {V}\nptir.yield %c", f"%c = ptir.constant fill 2.0 : {V}\nptir.yield %c"), R),
        ["constant"],
    ),
    "cond, two constants": (
        module_of(branch("%p", "%x", f"%c = ptir.constant fill 2.0 : {V}\nptir.yield %c", f"%c = ptir.constant fill 3.0 : {V}\nptir.yield %c"), R),
        ["cond", "constant", "yield", "constant", "yield"],
    ),
    "cond, an unused result and what it is made of": (
        module_of(branch("%p", "%x, %y", f"%b = ptir.neg %a0 : {V}\n%c = ptir.exp %a1 : {V}\nptir.yield %b, %c", "ptir.yield %a0, %a1", count=2, results=2), f"%r#0 : {V}"),
        ["cond", "neg", "yield", "yield"],
    ),
    "cond, a constant is given": (
        module_of(f"%k = ptir.constant fill 1.0 : {V}\n" + branch("%p", "%x, %k", f"%b = ptir.mul %a0, %a1 : {V}\nptir.yield %b", EXP, count=2), R),
        ["cond", "yield", "exp", "yield"],
    ),
    "while, a carry for itself alone": (
        module_of(loop("%n, %x, %y", [N, V, V], COUNTS, "%a0, %a1, %a2", f"{LESS}\n%b = ptir.neg %a1 : {V}\n%c = ptir.add %a2, %a1 : {V}", "%less, %b, %c"), f"%r#1 : {V}"),
        ["while", "constant", "compare", "yield", "constant", "sub", "neg", "yield"],
    ),
    "while, a ring of carries": (
        module_of(loop("%n, %x, %y", [N, V, V], COUNTS, "%a0, %a1, %a2", LESS, "%less, %a2, %a1"), f"%r#0 : {N}"),
        ["while", "constant", "compare", "yield", "constant", "sub", "yield"],
    ),
    "while, a ring that is used": (
        module_of(loop("%n, %x, %y", [N, V, V], COUNTS, "%a0, %a1, %a2", LESS, "%less, %a2, %a1"), f"%r#1 : {V}"),
        ["while", "constant", "compare", "yield", "constant", "sub", "yield"],
    ),
    "while, what is passed on": (
        module_of(loop("%n, %x, %y", [N, V, V], COUNTS, "%a0, %a1, %a2", f"{LESS}\n%b = ptir.add %a1, %a2 : {V}", "%less, %b, %a2"), f"%r#1 : {V}", f"%r#2 : {V}"),
        ["while", "constant", "compare", "yield", "constant", "sub", "add", "yield"],
    ),
    "while, a constant is passed on": (
        module_of(f"%k = ptir.constant fill 1.0 : {V}\n" + loop("%n, %x, %k", [N, V, V], COUNTS, "%a0, %a1, %a2", f"{LESS}\n%b = ptir.mul %a1, %a2 : {V}\n%c = ptir.neg %b : {V}", "%less, %c, %a2"), f"%r#1 : {V}"),
        ["while", "constant", "compare", "yield", "constant", "sub", "neg", "yield"],
    ),
    "while, one value twice": (
        module_of(loop("%n, %x, %y, %y", [N, V, V, V], COUNTS, "%a0, %a1, %a2, %a3", f"{LESS}\n%b = ptir.add %a1, %a2 : {V}\n%c = ptir.add %b, %a3 : {V}", "%less, %c, %a2, %a3"), f"%r#1 : {V}"),
        ["while", "constant", "compare", "yield", "constant", "sub", "add", "add", "yield"],
    ),
    "while, never": (
        module_of(loop("%n, %x", [N, V], "%go = ptir.constant false : tensor<i1>\n" + f"%b = ptir.neg %a1 : {V}", "%a0, %b", "", "%a0, %a1"), f"%r#1 : {V}"),
        ["neg"],
    ),
    "while, unused": (module_of(loop("%n, %x", [N, V], COUNTS, "%a0, %a1", LESS, "%less, %a1"), f"%x : {V}"), []),
    "while, unused but drawing": (
        module_of(loop("%n, %x", [N, V], COUNTS, "%a0, %a1", f"{LESS}\n{DRAW}\n%b = ptir.add %a1, %d : {V}", "%less, %b"), f"%x : {V}"),
        ["while", "constant", "compare", "yield", "constant", "sub", "rng_uniform", "yield"],
    ),
    "scan, of nothing": (
        module_of(scan("%x, %none", [V], ["tensor<0x4xf32>"], f"%b = ptir.add %a0, %a1 : {V}", "%b, %b", [V], 0), f"%r#0 : {V}", "%r#1 : tensor<0x4xf32>"),
        ["constant"],
    ),
    "scan, of one": (
        module_of(scan("%x, %one", [V], ["tensor<1x4xf32>"], f"%b = ptir.add %a0, %a1 : {V}\n%c = ptir.neg %a1 : {V}", "%b, %c", [V], 1), f"%r#0 : {V}", "%r#1 : tensor<1x4xf32>"),
        ["reshape", "add", "neg", "reshape"],
    ),
    "scan, of one that draws": (
        module_of(scan("%x, %one", [V], ["tensor<1x4xf32>"], f"{DRAW}\n%b = ptir.add %a0, %d : {V}", "%b", [], 1), R),
        ["scan", "rng_uniform", "add", "yield"],
    ),
    "scan, carries, outputs and slices for nobody": (
        module_of(
            f"%rows2 = ptir.neg %rows : {ROWS}\n" + scan("%x, %y, %rows, %rows2", [V, V], [ROWS, ROWS], f"%b = ptir.add %a0, %a3 : {V}\n%c = ptir.add %a1, %a2 : {V}\n%d = ptir.exp %c : {V}", "%b, %c, %d", [V]),
            f"%r#0 : {V}",
        ),
        ["neg", "scan", "add", "yield"],
    ),
    "scan, only its length": (
        module_of(scan("%x, %rows", [V], [ROWS], f"%b = ptir.neg %a0 : {V}\n%c = ptir.exp %b : {V}", "%c", []), R),
        ["scan", "neg", "exp", "yield"],
    ),
    "scan, a slice comes out as it is": (
        module_of(scan("%x, %rows", [V], [ROWS], f"%b = ptir.add %a0, %a1 : {V}", "%b, %a1", [V]), f"%r#0 : {V}", f"%r#1 : {ROWS}"),
        ["scan", "add", "yield"],
    ),
    "scan, a constant comes out": (
        module_of(scan("%x, %rows", [V], [ROWS], f"%b = ptir.add %a0, %a1 : {V}\n%c = ptir.constant fill 2.0 : {V}", "%b, %c", [V]), f"%r#0 : {V}", f"%r#1 : {ROWS}"),
        ["constant", "scan", "add", "yield"],
    ),
    "scan, zeros go in": (
        module_of(f"%z = ptir.constant fill -0.0 : {ROWS}\n" + scan("%x, %rows, %z", [V], [ROWS, ROWS], f"%b = ptir.add %a1, %a2 : {V}\n%c = ptir.mul %a0, %b : {V}", "%c", []), R),
        ["scan", "mul", "yield"],
    ),
}  # fmt: skip


def opcodes(module: ModuleOp) -> list[str]:
    return [op.OPCODE for op in walk(module) if isinstance(op, PtirOp)]


def settled(module: ModuleOp) -> int:
    """Canonicalise until nothing changes; how many rounds that took."""
    rounds = 1
    while canonicalize(module):
        verify(module)
        rounds += 1
        assert rounds < 10
    return rounds


@pytest.mark.parametrize("case", CASES)
def test_what_is_left(case: str) -> None:
    module, expected = CASES[case]
    before, module = module, module.clone()
    settled(module)
    verify(module)
    assert opcodes(module) == expected
    assert str(parse(str(module))) == str(module)
    for seed in range(4):
        arrays = special_inputs(function_of(before), seed)
        arrays[3] = np.array(seed, np.int32)
        a, b = (evaluate(function_of(m), arrays, seed=seed) for m in (before, module))
        assert all(map(same_bits, a, b))


def test_sizes_that_the_run_checks_stay() -> None:
    """Two inputs of a scan whose lengths have different names: the run finds out whether they are equal."""
    text = """module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @f(%x: tensor<4xf32>, %a: tensor<?x4xf32, "A,*">, %b: tensor<?x4xf32, "B,*">) -> tensor<4xf32> {
    %r = ptir.scan %x, %a, %b carry_count = 1 scan_output_count = 0
        : (tensor<4xf32>, tensor<?x4xf32, "A,*">, tensor<?x4xf32, "B,*">) -> tensor<4xf32> body {
    ^bb0(%c: tensor<4xf32>, %d: tensor<4xf32>, %e: tensor<4xf32>):
      %s = ptir.add %c, %d : tensor<4xf32>
      ptir.yield %s : tensor<4xf32>
    }
    func.return %r : tensor<4xf32>
  }
}"""
    module = parse(text)
    settled(module)
    assert [len(op.operands) for op in walk(module) if isinstance(op, ScanOp)] == [3]
    module = parse(text.replace('"B,*"', '"A,*"'))
    settled(module)
    assert [len(op.operands) for op in walk(module) if isinstance(op, ScanOp)] == [2]


def test_what_an_op_of_another_dialect_takes_is_needed() -> None:
    body = loop("%n, %x, %y", [N, V, V], COUNTS, "%a0, %a1, %a2", f"{LESS}\n%b = ptir.neg %a1 : {V}", "%less, %b, %a1")
    module = module_of(f'{body}\n"test.op"(%r#2) : ({V}) -> ()', f"%x : {V}")
    settled(module)
    assert [len(op.operands) for op in walk(module) if isinstance(op, WhileOp)] == [3]


def test_dead_carries_of_nested_loops_go_at_once() -> None:
    """A value handed in through three loops for nobody is gone after one pass of dead code elimination."""
    text = f"%w = ptir.neg %a1 : {V}\n"
    for depth in range(3):
        following = "%less, %w, %a2" if depth == 0 else f"%less, %r{depth - 1}#1, %r{depth - 1}#2"
        text = loop("%n, %x, %y", [N, V, V], COUNTS, "%a0, %a1, %a2", f"{LESS}\n{text}", following).replace("%r:", f"%r{depth}:")
        if depth < 2:  # inside of another loop, which has names of its own
            text = re.sub(r"%(a\d|w|zero|go|u|less)\b", rf"%\1_{depth}", text)
            text = text.replace("%n, %x, %y", "%a0, %a1, %a2")
    module = module_of(text, f"%r2#1 : {V}")
    before = module.clone()
    PtirDcePass().apply(context(), module)
    verify(module)
    assert [len(op.operands) for op in walk(module) if isinstance(op, WhileOp)] == [2, 2, 2]
    assert not drop_unneeded(module)
    for iterations in (0, 1, 2):
        arrays = special_inputs(function_of(before))
        arrays[3] = np.array(iterations, np.int32)
        a, b = (evaluate(function_of(m), arrays) for m in (before, module))
        assert all(map(same_bits, a, b))


def hidden(module: ModuleOp) -> ModuleOp:
    """A copy whose branches have predicates that only folding knows."""
    module = module.clone()
    for op in walk(module):
        if isinstance(op, ConstantOp) and read_type(op.result.type).dtype is I1:
            truth = op.literal.values()[0]
            numbers = [ConstantOp(PtirLiteralAttr.from_values(SI32, (), [n])) for n in (0, 0 if truth else 1)]
            test = CompareOp(*numbers, kind="equal")
            op.parent.insert_ops_before([*numbers, test], op)
            op.result.replace_all_uses_with(test.result)
    return module


INPUT_ARRAYS = [np.arange(1, 5, dtype=np.float32), np.array([[10, 20], [30, 40]], np.float32)]


@settings(max_examples=60)
@given(control_programs())
def test_random_programs_keep_their_results(text: str) -> None:
    module = parse(text)
    expected = evaluate(function_of(module), INPUT_ARRAYS)
    for work, run in (
        (module.clone(), settled),
        (hidden(module), settled),
        (hidden(module), drop_unneeded),
        (hidden(module), optimize),
    ):
        run(work)
        verify(work)
        assert all(map(same_bits, evaluate(function_of(work), INPUT_ARRAYS), expected))
        if run is optimize:
            assert not any(isinstance(op, CondOp) for op in walk(work))
        elif run is drop_unneeded:
            assert not drop_unneeded(work)


def test_many_carries_take_linear_time() -> None:
    counts = {}
    for n in (50, 100):
        carried = ", ".join(f"%a{i}" for i in range(1, n + 1))
        chain = "\n".join(f"%b{i} = ptir.neg %a{i} : {V}" for i in range(1, n + 1))
        following = "%less, " + ", ".join(f"%b{i}" for i in range(1, n + 1))
        inits = "%n, " + ", ".join(["%x"] * n)
        body = loop(inits, [N, *[V] * n], COUNTS, f"%a0, {carried}", f"{LESS}\n{chain}", following)
        module = module_of(body, f"%r#1 : {V}")
        counts[n] = calls(lambda module=module: canonicalize(module))
        assert [len(op.operands) for op in walk(module) if isinstance(op, WhileOp)] == [2]
    assert counts[100] < 2.2 * counts[50]
