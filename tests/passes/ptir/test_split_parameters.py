"""ptir-split-parameters: what is prepared, what stays, and that both functions together are the old one."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from mind_dialect.dominance import walk
from mind_dialect.errors import MindError
from mind_dialect.program import input_names
from mind_dialect.ptir import PtirOp
from mind_dialect.verify import verify
from mind_passes.ptir.split_parameters import split_parameters
from programs import parse
from ptir_evaluator import evaluate, function_of, same_bits


def module_of(body: str, returned: str = "%r : tensor<3x4xf32>") -> ModuleOp:
    module = parse(f"""module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%x: tensor<3x4xf32>, %w: tensor<4x4xf32> {{ptir.parameter}}, %p: tensor<i1>, %b: tensor<4xf32> {{ptir.parameter}})
      -> {returned.partition(" : ")[2]} {{
    {body}
    func.return {returned}
  }}
}}""")
    verify(module)
    return module


AXES = "batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0]"
DOT = f"{AXES} : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>"
TURN = "perm = [1, 0] : tensor<4x4xf32>"
WIDE = "result_shape = [3, 4] : tensor<4xf32> -> tensor<3x4xf32>"
ADD = "%r = ptir.add %x, %c : tensor<3x4xf32>"
CASES: dict[str, tuple[str, list[str], list[str], list[str]]] = {
    "a transposed weight": (
        f"%t = ptir.transpose %w {TURN}\n%r = ptir.dot_general %x, %t {DOT}",
        ["transpose"], ["dot_general"], ["x", "p", "b", "prepared0"],
    ),
    "a weight that is needed as it is, too": (
        f"%t = ptir.transpose %w {TURN}\n%d = ptir.dot_general %x, %t {DOT}\n%r = ptir.dot_general %d, %w {DOT}",
        ["transpose"], ["dot_general", "dot_general"], ["x", "w", "p", "b", "prepared0"],
    ),
    "a broadcast stays": (f"%c = ptir.broadcast_to %b {WIDE}\n{ADD}", [], ["broadcast_to", "add"], ["x", "w", "p", "b"]),
    "what is broadcast is": (
        f"%e = ptir.exp %b : tensor<4xf32>\n%c = ptir.broadcast_to %e {WIDE}\n{ADD}",
        ["exp"], ["broadcast_to", "add"], ["x", "w", "p", "prepared0"],
    ),
    "a broadcast before work": (
        f"%c0 = ptir.broadcast_to %b {WIDE}\n%c = ptir.exp %c0 : tensor<3x4xf32>\n{ADD}",
        ["broadcast_to", "exp"], ["add"], ["x", "w", "p", "prepared0"],
    ),
    "a constant on both sides": (
        f"%k = ptir.constant fill 2.0 : tensor<4xf32>\n%e = ptir.mul %b, %k : tensor<4xf32>\n%l = ptir.broadcast_to %k {WIDE}\n"
        f"%c0 = ptir.broadcast_to %e {WIDE}\n%c = ptir.add %c0, %l : tensor<3x4xf32>\n{ADD}",
        ["constant", "mul", "broadcast_to", "broadcast_to", "add"], ["add"], ["x", "w", "p", "prepared0"],
    ),
    "two results, used twice": (
        f"%e = ptir.exp %b : tensor<4xf32>\n%f = ptir.neg %e : tensor<4xf32>\n%c0 = ptir.broadcast_to %e {WIDE}\n"
        f"%c = ptir.broadcast_to %f {WIDE}\n%s = ptir.add %x, %c0 : tensor<3x4xf32>\n%r = ptir.mul %s, %c : tensor<3x4xf32>",
        ["exp", "neg"], ["broadcast_to", "broadcast_to", "add", "mul"], ["x", "w", "p", "prepared0", "prepared1"],
    ),
    "random numbers": (
        "%d = ptir.rng_uniform shape = [3, 4] dtype = f32 : () -> tensor<3x4xf32>\n%r = ptir.add %x, %d : tensor<3x4xf32>",
        [], ["rng_uniform", "add"], ["x", "w", "p", "b"],
    ),
    "a branch on an input": (
        f"""%e = ptir.cond %p, %b : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> true {{
        ^bb0(%a: tensor<4xf32>):
          ptir.yield %a : tensor<4xf32>
        }} false {{
        ^bb0(%a: tensor<4xf32>):
          %n = ptir.neg %a : tensor<4xf32>
          ptir.yield %n : tensor<4xf32>
        }}
        %c = ptir.broadcast_to %e {WIDE}\n{ADD}""",
        [], ["cond", "yield", "neg", "yield", "broadcast_to", "add"], ["x", "w", "p", "b"],
    ),
}  # fmt: skip


def opcodes(module: ModuleOp, name: str) -> list[str]:
    return [op.OPCODE for op in walk(function_of(module, name)) if isinstance(op, PtirOp)]


@pytest.mark.parametrize("name", CASES)
def test_what_is_prepared(name: str) -> None:
    body, prepared, left, names = CASES[name]
    module = module_of(body)
    before = module.clone()
    func = function_of(module)
    prepare = split_parameters(func)
    verify(module)
    assert (prepare is not None) == bool(prepared)
    assert opcodes(module, "f") == left
    assert input_names(func) == names
    if prepare is not None:
        assert opcodes(module, "f_prepare") == prepared
        assert str(func.attributes["ptir.prepare"]) == "@f_prepare"
    together(before, module)
    assert str(parse(str(module))) == str(module)
    text = str(module)
    assert split_parameters(func) is None
    assert str(module) == text


def together(before: ModuleOp, after: ModuleOp) -> None:
    rng = np.random.default_rng(0)
    arrays = {"x": (3, 4), "w": (4, 4), "b": (4,)}
    given = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in arrays.items()}
    given["p"] = np.True_
    func = function_of(after, "f")
    values = dict(given)
    if "ptir.prepare" in func.attributes:
        prepare = function_of(after, "f_prepare")
        found = evaluate(prepare, [given[name] for name in input_names(prepare)])
        values.update({f"prepared{i}": x for i, x in enumerate(found)})
    a = evaluate(function_of(before), [given[name] for name in ("x", "w", "p", "b")])
    b = evaluate(func, [values[name] for name in input_names(func)])
    assert all(map(same_bits, a, b))


def test_weights_by_name() -> None:
    body, *_ = CASES["what is broadcast is"]
    module = module_of(body)
    assert split_parameters(function_of(module), ["w"]) is None
    assert split_parameters(function_of(module), ["b"]) is not None
    with pytest.raises(MindError, match=r"E7003: @f has no input 'v'"):
        split_parameters(function_of(module_of(body), "f"), ["v"])


def test_a_weight_that_is_returned_is_an_input() -> None:
    module = module_of("%e = ptir.exp %b : tensor<4xf32>", "%b : tensor<4xf32>")
    assert split_parameters(function_of(module)) is None
    module = module_of("%e = ptir.exp %b : tensor<4xf32>", "%e : tensor<4xf32>")
    assert split_parameters(function_of(module)) is not None
    verify(module)
    assert opcodes(module, "f") == []


def test_a_name_that_is_taken() -> None:
    module = module_of(CASES["what is broadcast is"][0])
    func = function_of(module)
    other = func.clone()
    other.sym_name = type(func.sym_name)("f_prepare")
    module.body.block.insert_op_after(other, func)
    prepare = split_parameters(func)
    assert prepare is not None
    assert prepare.sym_name.data == "f_prepare0"
    verify(module)
