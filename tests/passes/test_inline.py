"""mind-inline: calls in place mean what the calls meant, whatever calls what; what has no end or no body is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.interpreter import Interpreter
from xdsl.rewriter import Rewriter

import mind_runtime
from counting import calls
from mind_dialect.errors import MindError
from mind_dialect.program import functions, input_names
from mind_dialect.verify import verify
from mind_lowering.lower_to_numpy import lower_module
from mind_passes import callees, inline
from mind_passes.callees import calls_in
from mind_passes.inline import inline_calls, inline_module, inlined
from programs import parse

VECTOR = "tensor<2xf32>"


def unary(name: str, body: str, *, type: str = VECTOR) -> str:
    """A function from `%x` to `%r`."""
    return f"func.func @{name}(%x: {type}) -> {type} {{\n{body}\n  func.return %r : {type}\n}}\n"


def call(callee: str, of: str = "x", result: str = "r", type: str = VECTOR) -> str:
    return f"  %{result} = func.call @{callee}(%{of}) : ({type}) -> {type}\n"


def op(name: str, *operands: str, result: str = "r", type: str = VECTOR) -> str:
    return f"  %{result} = {name} {', '.join(f'%{v}' for v in operands)} : {type}\n"


def program(*functions_: str) -> ModuleOp:
    return parse(f'module attributes {{ptir.spec_version = "ptir.v0.4"}} {{\n{"".join(functions_)}}}')


def function(module: ModuleOp, name: str) -> FuncOp:
    (found,) = [f for f in functions(module) if f.sym_name.data == name]
    return found


def failure(run: Callable[[], object]) -> MindError:
    with pytest.raises(MindError) as info:
        run()
    return info.value


def interpreted(module: ModuleOp, name: str, *arguments: object) -> tuple[object, ...]:
    interpreter = Interpreter(module)
    mind_runtime.register_implementations(interpreter)
    return interpreter.call_op(name, arguments)


NESTED = (
    unary("main", call("twice", result="a") + call("twice", of="a", result="b") + op("DIALECT.neg", "b")),
    unary("twice", call("square", result="a") + call("passed", of="a", result="b") + op("DIALECT.add", "a", "b")),
    unary("square", op("DIALECT.mul", "x", "x")),
    "func.func @passed(%x: tensor<2xf32>) -> tensor<2xf32> {\n  func.return %x : tensor<2xf32>\n}\n",
)


@pytest.mark.parametrize("dialect", ["mind", "ptir"])
def test_calls_of_calls_mean_what_they_meant(dialect: str):
    module = program(*(text.replace("DIALECT", dialect) for text in NESTED))
    x = np.array([1.5, -0.5], np.float32)
    (expected,) = interpreted(module, "main", x)
    np.testing.assert_array_equal(expected, -2 * (2 * x * x) ** 2)
    np.testing.assert_array_equal(mind_runtime.compile(module, "main")(x), expected)
    assert len(calls_in(function(module, "main"))) == 2, "compiling leaves the module as it is"
    inline_calls(function(module, "main"))
    verify(module)
    assert [o.name for o in function(module, "main").body.block.ops] == [
        *(f"{dialect}.{name}" for name in ("mul", "add", "mul", "add", "neg")),
        "func.return",
    ]
    assert len(calls_in(function(module, "twice"))) == 2, "only the function that was named changes"
    np.testing.assert_array_equal(interpreted(module, "main", x)[0], expected)


@pytest.mark.parametrize("dialect", ["mind", "ptir"])
def test_lowering_whole_modules_puts_calls_in_place(dialect: str):
    module = program(*(text.replace("DIALECT", dialect) for text in NESTED), unary("only", call("square")))
    x = np.array([3, -2], np.float32)
    expected = [mind_runtime.compile(module, name)(x) for name in ("main", "only")]
    lower_module(module)
    assert not any(isinstance(o, CallOp) for o in module.walk())
    for name, value in zip(("main", "only"), expected, strict=True):
        np.testing.assert_array_equal(mind_runtime.compile(module, name)(x), value)


def test_lowering_leaves_the_calls_of_other_dialects():
    module = parse(
        unary("square", op("mind.mul", "x", "x"))
        + "func.func private @elsewhere(tensor<2xf32>) -> tensor<2xf32>\n"
        + unary("external", call("elsewhere"))
        + "func.func @other(%x: tensor<2xf32>) -> tensor<2xf32> {\n  %zero = arith.constant 0 : index\n"
        + call("square")
        + "  func.return %r : tensor<2xf32>\n}\n"
    )
    lower_module(module)
    assert [len(calls_in(function(module, name))) for name in ("external", "other")] == [1, 1]
    assert "xp.return" in str(function(module, "square"))


def test_regions_loops_and_results_in_any_order():
    scan = """
func.func @main(%c: tensor<f32>, %xs: tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>) {
  %r, %s = ptir.scan %c, %xs carry_count = 1 scan_output_count = 1 :
    (tensor<f32>, tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>) body {
  ^bb0(%carry: tensor<f32>, %x: tensor<f32>):
    %a, %b = func.call @swap(%carry, %x) : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    %t = ptir.sub %a, %b : tensor<f32>
    ptir.yield %t, %a : tensor<f32>, tensor<f32>
  }
  func.return %r, %s : tensor<f32>, tensor<3xf32>
}
func.func @swap(%p: tensor<f32>, %q: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  func.return %q, %p : tensor<f32>, tensor<f32>
}
"""
    module = program(scan)
    c, xs = np.array(2, np.float32), np.array([1, 4, 9], np.float32)
    carry, stacked = mind_runtime.compile(module, "main")(c, xs)
    assert (carry, list(stacked)) == (9 - (4 - (1 - 2)), [1, 4, 9])
    for one, other in zip(interpreted(module, "main", c, xs), (carry, stacked), strict=True):
        np.testing.assert_array_equal(one, other)


def test_names_and_locations():
    module = program(
        unary("f", call("g", result="given").replace("%x)", "%x)") + op("ptir.neg", "given")),
        unary("g", op("ptir.exp", "x", result="e") + op("ptir.log", "e")),
    )
    line = FileLineColLoc(StringAttr("a.mlir"), IntAttr(7), IntAttr(3))
    exp, log, _ = function(module, "g").body.block.ops
    exp.location = line
    whole = inlined(function(module, "f"))
    made = list(whole.func.body.block.ops)
    assert [o.results[0].name_hint for o in made[:-1]] == ["e", "given", "r"]
    assert made[0].location is line
    assert [whole.origins[o] for o in made[:2]] == [exp, log]
    assert whole.callees == [function(module, "g")]
    assert whole.func.parent is None


def test_an_unnamed_input_stays_unnamed():
    module = program(unary("id", "").replace("%r", "%x"), unary("f", call("id", result="named") + op("ptir.neg", "named")))
    func = function(module, "f")
    func.body.block.args[0].name_hint = None
    inline_calls(func)
    assert input_names(func) == ["arg0"]


def test_an_error_of_the_run_names_the_op_of_the_callee():
    take = (
        "  %c = ptir.constant [5] : tensor<1xsi32>\n  %r = ptir.take %x, %c : (tensor<2xf32>, tensor<1xsi32>) -> tensor<1xf32>\n"
    )
    callee = f"func.func @g(%x: tensor<2xf32>) -> tensor<1xf32> {{\n{take}  func.return %r : tensor<1xf32>\n}}\n"
    caller = callee.replace(take, "  %r = func.call @g(%x) : (tensor<2xf32>) -> tensor<1xf32>\n").replace("@g(%x: ", "@f(%x: ")
    module = program(caller, callee)
    e = failure(lambda: mind_runtime.compile(module, "f")(np.zeros(2, np.float32)))
    assert (e.code, e.op) == ("E6001", list(function(module, "g").body.block.ops)[1])


def test_callees_are_verified_when_their_callers_are_compiled():
    module = program(unary("f", call("g")), unary("g", op("ptir.add", "x", "x")))
    block = function(module, "g").body.block
    block.first_op.operands = [block.args[0]]
    assert failure(lambda: mind_runtime.compile(module, "f")).code == "E2007"


def test_a_callee_of_the_newer_profile_makes_its_caller_one():
    div = unary("g", op("mind.div", "x", "x")).replace(
        "-> tensor<2xf32> {", '-> tensor<2xf32> attributes {mind.profile = "core-v1.1"} {'
    )
    module = program(unary("f", call("g")), div)
    verify(module)
    inline_calls(function(module, "f"))
    verify(module)
    assert function(module, "f").attributes["mind.profile"] == StringAttr("core-v1.1")


DIMS = """
func.func @f(%x: tensor<?xf32, "B">, %y: tensor<?xf32, "C">) -> (tensor<?xf32, "B">, tensor<?xf32, "C">) {
  %a = func.call @g(%x) : (tensor<?xf32, "B">) -> tensor<?xf32, "B">
  %b = func.call @h(%y) : (tensor<?xf32, "C">) -> tensor<?xf32, "C">
  func.return %a, %b : tensor<?xf32, "B">, tensor<?xf32, "C">
}
func.func @g(%x: tensor<?xf32, "B">) -> tensor<?xf32, "B"> {
  %d = ptir.tile %x repeats = [2] : tensor<?xf32, "B"> -> tensor<?xf32, "C">
  %r = ptir.neg %x : tensor<?xf32, "B">
  func.return %r : tensor<?xf32, "B">
}
func.func @h(%x: tensor<?xf32, "C">) -> tensor<?xf32, "C"> {
  %d = ptir.tile %x repeats = [2] : tensor<?xf32, "C"> -> tensor<?xf32, "B">
  %r = ptir.exp %x : tensor<?xf32, "C">
  func.return %r : tensor<?xf32, "C">
}
"""


def test_equal_names_of_different_functions_are_different_sizes():
    module = program(DIMS)
    x, y = np.ones(3, np.float32), np.zeros(4, np.float32)
    a, b = mind_runtime.compile(module, "f")(x, y)
    np.testing.assert_array_equal(a, -x)
    np.testing.assert_array_equal(b, np.ones(4))


def test_names_of_the_callee_become_those_of_the_operands():
    """xDSL wants equal types at calls; a program on its way may have others."""
    module = program(DIMS)
    func = function(module, "f")
    x, y = func.body.block.args
    first, second = calls_in(func)
    first.operands, second.operands = [y], [x]
    Rewriter.replace_value_with_new_type(first.results[0], y.type)
    Rewriter.replace_value_with_new_type(second.results[0], x.type)
    inline_calls(func)
    types = [str(o.results[0].type) for o in func.body.block.ops if o.results]
    assert types == ['tensor<?xf32, "C_1">', 'tensor<?xf32, "C">', 'tensor<?xf32, "B_1">', 'tensor<?xf32, "B">']


@pytest.mark.parametrize("given", ["tensor<?xf32>", "tensor<?x2xf32>", "tensor<?xf64>", "f32"])
def test_other_types_are_refused(given: str):
    module = program(DIMS, f"func.func private @types({given})")
    func = function(module, "f")
    call_ = calls_in(func)[0]
    Rewriter.replace_value_with_new_type(func.body.block.args[0], function(module, "types").function_type.inputs.data[0])
    before = str(module)
    e = failure(lambda: inline_calls(func))
    assert (e.code, e.op) == ("E4016", call_)
    assert str(module) == before


CYCLES = {
    "itself": ((unary("f", call("f")),), "@f -> @f"),
    "through others": ((unary("f", call("g")), unary("g", call("h")), unary("h", call("g"))), "@g -> @h -> @g"),
    "far": (
        (*(unary(f"f{i}", call(f"f{i + 1}")) for i in range(40)), unary("f40", call("f0"))),
        "@f0 -> @f1 -> @f2 -> @f3 -> @f4 -> @f5 -> ... -> @f37 -> @f38 -> @f39 -> @f40 -> @f0",
    ),
}


@pytest.mark.parametrize("name", CYCLES)
def test_recursion_is_refused_and_the_cycle_named(name: str):
    texts, cycle = CYCLES[name]
    module = program(*texts)
    before = str(module)
    for run in (lambda: inline_calls(next(functions(module))), lambda: inline_module(module)):
        e = failure(run)
        assert e.code == "E4000"
        assert f"calls itself, {cycle}, expected" in e.message
        assert isinstance(e.op, CallOp)
    assert str(module) == before


def test_a_callee_used_twice_is_no_cycle():
    module = program(
        unary("f", call("g", result="a") + call("h", of="a")), unary("g", call("h")), unary("h", op("ptir.neg", "x"))
    )
    inline_module(module)
    assert not any(calls_in(f) for f in functions(module))


def test_an_unknown_callee_is_refused():
    module = program(unary("f", call("nowhere")), unary("g", op("ptir.neg", "x")))
    e = failure(lambda: inline_calls(function(module, "f")))
    assert (e.code, e.category) == ("E4016", "VerificationError")
    assert "@nowhere is not in the module, expected one of ['@f', '@g']" in e.message


def test_calls_that_double_at_each_step_are_refused_before_memory_is_used():
    doubling = [unary(f"f{i}", call(f"f{i + 1}", result="a") + call(f"f{i + 1}", of="a")) for i in range(60)]
    module = program(*doubling, unary("f60", op("ptir.neg", "x")))
    e = failure(lambda: inline_calls(function(module, "f0")))
    assert e.code == "E6003"
    assert "ops and" in e.message
    assert failure(lambda: mind_runtime.compile(module, "f0")).code == "E6003"


def test_the_module_as_a_whole_is_bounded_too(monkeypatch: pytest.MonkeyPatch):
    module = program(*(unary(f"f{i}", call("g")) for i in range(5)), unary("g", op("ptir.neg", "x")))
    monkeypatch.setattr(inline, "MAX_OPS", 14)
    assert failure(lambda: inline_module(module)).code == "E6003"
    monkeypatch.setattr(inline, "MAX_OPS", 15)
    inline_module(module)


def test_regions_in_regions_through_calls_are_bounded():
    nested = """func.func @f{}(%p: tensor<i1>) -> tensor<i1> {{
  %r = ptir.cond %p, %p : (tensor<i1>, tensor<i1>) -> tensor<i1> true {{
  ^bb0(%a: tensor<i1>):
    %s = func.call @f{}(%a) : (tensor<i1>) -> tensor<i1>
    ptir.yield %s : tensor<i1>
  }} false {{
  ^bb1(%b: tensor<i1>):
    ptir.yield %b : tensor<i1>
  }}
  func.return %r : tensor<i1>
}}
"""
    count = callees.MAX_DEPTH + 1
    module = program(
        *(nested.format(i, i + 1) for i in range(count)), unary(f"f{count}", "", type="tensor<i1>").replace("%r", "%x")
    )
    e = failure(lambda: inline_calls(function(module, "f0")))
    assert (e.code, f"regions {count} deep" in e.message) == ("E6003", True)
    inline_calls(function(module, "f1"))


def chain(length: int) -> ModuleOp:
    """Functions that each call the next one."""
    links = [unary(f"f{i}", op("ptir.neg", "x", result="a") + call(f"f{i + 1}", of="a")) for i in range(length)]
    return program(*links, unary(f"f{length}", op("ptir.neg", "x")))


def many(length: int) -> ModuleOp:
    """A function of many calls."""
    body = "".join(call("g", of=f"v{i}" if i else "x", result=f"v{i + 1}") for i in range(length))
    return program(
        unary("f0", body).replace(f"%v{length} ", "%r "), unary("g", op("ptir.neg", "x", result="a") + op("ptir.neg", "a"))
    )


@pytest.mark.parametrize("shape", [chain, many])
def test_the_work_is_linear(shape: Callable[[int], ModuleOp]):
    counts: list[int] = []
    for length in (300, 600):
        func = function(shape(length), "f0")
        counts.append(calls(lambda func=func: inline_calls(func)))
        assert len(list(func.body.block.ops)) == (length + 2 if shape is chain else 2 * length + 1)
    assert counts[1] < 2.1 * counts[0]
