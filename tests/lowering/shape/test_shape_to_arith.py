"""`lower-shape-to-arith`: what functions become, and what is refused, each op with its reason."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import cf, memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import Interpreter
from xdsl.parser import Parser

import mind_runtime
from counting import calls
from mind_dialect.errors import CATALOGUE, MindError
from mind_dialect.shape import SHAPE_OPS, AssumingOp, AssumingYieldOp, FunctionLibraryOp, ReduceOp, ReturnOp, YieldOp
from mind_dialect.shape import FuncOp as ShapeFuncOp
from mind_dialect.shape.lattice import Invalid
from mind_lowering.shape_arith.functions import MAX_OPS, RESULTS_ATTRIBUTE, decoded
from mind_lowering.shape_arith.rows import ROWS
from mind_lowering.shape_to_arith import SHOWN, lower
from mind_tools.mind_opt import main
from programs import context


def read(text: str) -> ModuleOp:
    ctx = context()
    for dialect in (cf.Cf, memref.MemRef):
        ctx.load_dialect(dialect)
    module = Parser(ctx, text).parse_module()
    module.verify()
    return module


def lowered(text: str) -> ModuleOp:
    module = read(text)
    lower(module)
    module.verify()
    assert not any(op.name.startswith("shape.") for op in module.walk())
    return module


def callable_of(module: ModuleOp, function: str = "f") -> Callable[..., Any]:
    interpreter = Interpreter(module)
    mind_runtime.register_implementations(interpreter)
    stated = interpreter.get_op_for_symbol(function).attributes.get(RESULTS_ATTRIBUTE)

    def call(*arguments: Any) -> Any:
        results = interpreter.call_op(function, arguments)
        return list(results) if stated is None else decoded([part.data for part in stated.data], results)

    return call


def call(module: ModuleOp, *arguments: Any, function: str = "f") -> Any:
    return callable_of(module, function)(*arguments)


def refusal(text: str) -> MindError:
    module = read(text)
    before = str(module)
    with pytest.raises(MindError) as caught:
        lower(module)
    assert str(module) == before
    e = caught.value
    assert set(CATALOGUE[e.code].context) <= e.context.keys()
    return e


@pytest.mark.quick
def test_every_op_has_a_row_or_is_known_to_functions():
    regions = {AssumingOp, AssumingYieldOp, ReduceOp, YieldOp, ReturnOp, ShapeFuncOp, FunctionLibraryOp}
    assert set(ROWS) | regions == set(SHAPE_OPS)
    assert not set(ROWS) & regions


BROADCAST = """
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?xf32>) -> !shape.shape {
  %a = shape.shape_of %x : tensor<?x4xf32> -> !shape.shape
  %b = shape.shape_of %y : tensor<?x?xf32> -> !shape.shape
  %r = shape.broadcast %a, %b : !shape.shape, !shape.shape -> !shape.shape
  func.return %r : !shape.shape
}
"""


def test_straight_lines_of_arith_only():
    module = lowered(BROADCAST)
    names = {op.name for op in module.walk()}
    assert names <= {"builtin.module", "func.func", "func.return", "tensor.dim"} | {
        f"arith.{op}" for op in ("constant", "cmpi", "select", "ori", "andi")
    }
    assert sum(op.name == "arith.select" for op in module.walk()) == 1  # 4 beside an unknown extent is 4
    assert call(module, np.zeros((3, 4)), np.zeros((1, 1))) == [(3, 4)]
    assert call(module, np.zeros((3, 4)), np.zeros((2, 4))) == [None]


def test_a_validity_only_where_an_error_can_arise():
    text = BROADCAST.replace("shape.broadcast %a, %b", "shape.concat %a, %b")
    (func,) = lowered(text).ops
    assert [str(t) for t in func.function_type.outputs.data] == ["index"] * 4
    (func,) = lowered(BROADCAST).ops
    assert [str(t) for t in func.function_type.outputs.data] == ["index", "index", "i1"]


def test_what_was_asserted_is_not_asked_again():
    text = BROADCAST.replace("%r =", "%w = shape.cstr_broadcastable %a, %b : !shape.shape, !shape.shape\n  %r =")
    module = lowered(text)
    assert sum(op.name == "cf.assert" for op in module.walk()) == 1
    (func,) = module.ops
    assert [str(t) for t in func.function_type.outputs.data] == ["index", "index"]
    with pytest.raises(MindError) as caught:
        call(module, np.zeros((3, 4)), np.zeros((2, 4)))
    assert caught.value.code == "E9020"


def test_an_assertion_in_a_branch_proves_nothing_after_it():
    text = """
    func.func @f(%i: index, %p: i1) -> !shape.size {
      scf.if %p {
        %z = shape.index_to_size %i
        %j = shape.size_to_index %z : !shape.size
        "test.op"(%j) : (index) -> ()
      }
      %r = shape.index_to_size %i
      func.return %r : !shape.size
    }"""
    (func,) = lowered(text).ops
    assert [str(t) for t in func.function_type.outputs.data] == ["index", "i1"]


CONTROL_FLOW = """
func.func @f(%p: i1, %x: tensor<?x?xf32>, %y: tensor<?x4xf32>, %n: index) -> (!shape.shape, !shape.size, !shape.size, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sx = shape.shape_of %x : tensor<?x?xf32> -> !shape.shape
  %sy = shape.shape_of %y : tensor<?x4xf32> -> !shape.shape
  %r, %m, %i = scf.if %p -> (!shape.shape, !shape.size, index) {
    %three = shape.const_size 3
    scf.yield %sx, %three, %n : !shape.shape, !shape.size, index
  } else {
    %b = shape.broadcast %sx, %sy : !shape.shape, !shape.shape -> !shape.shape
    %e = shape.num_elements %b : !shape.shape -> !shape.size
    scf.yield %b, %e, %c1 : !shape.shape, !shape.size, index
  }
  %all, %k = scf.for %j = %c0 to %n step %c1 iter_args(%a = %r, %s = %m) -> (!shape.shape, !shape.size) {
    %b = shape.broadcast %a, %sy : !shape.shape, !shape.shape -> !shape.shape
    %d = shape.mul %s, %s : !shape.size, !shape.size -> !shape.size
    scf.yield %b, %d : !shape.shape, !shape.size
  }
  %limit = arith.constant 100 : index
  %one = shape.const_size 1
  %u, %t = scf.while (%a = %one, %z = %c0) : (!shape.size, index) -> (!shape.size, !shape.size) {
    %v = shape.size_to_index %a : !shape.size
    %go = arith.cmpi slt, %v, %limit : index
    %zz = shape.index_to_size %z
    scf.condition(%go) %a, %zz : !shape.size, !shape.size
  } do {
  ^bb0(%b: !shape.size, %z: !shape.size):
    %c = shape.add %b, %b : !shape.size, !shape.size -> !shape.size
    %q = shape.size_to_index %z : !shape.size
    %q1 = arith.addi %q, %c1 : index
    scf.yield %c, %q1 : !shape.size, index
  }
  func.return %all, %k, %u, %i : !shape.shape, !shape.size, !shape.size, index
}
"""


@pytest.mark.parametrize("iterations", [0, 1, 3])
@pytest.mark.parametrize("first", [True, False])
def test_branches_and_loops_pass_on_shapes(first: bool, iterations: int):
    original, made = read(CONTROL_FLOW), lowered(CONTROL_FLOW)
    for x, y in (((2, 4), (2, 4)), ((1, 1), (3, 4)), ((2, 3), (2, 4)), ((0, 4), (1, 4)), ((5, 4), (2, 4)), ((2**20, 4), (1, 4))):
        given = first, np.broadcast_to(0.0, x), np.broadcast_to(0.0, y), iterations
        expected = [None if isinstance(v, Invalid) else v for v in callable_of(original)(*given)]
        assert call(made, *given) == expected, (x, y)


def test_a_witness_goes_through_a_branch():
    text = """
    func.func @f(%p: i1, %q: i1) -> index {
      %w = scf.if %p -> (!shape.witness) {
        %a = shape.cstr_require %q, "asked for"
        scf.yield %a : !shape.witness
      } else {
        %a = shape.const_witness true
        scf.yield %a : !shape.witness
      }
      %r = shape.assuming %w -> (index) {
        %c = arith.constant 7 : index
        shape.assuming_yield %c : index
      }
      func.return %r : index
    }"""
    module = lowered(text)
    assert [call(module, *given) for given in ((True, True), (False, True), (False, False))] == [[7], [7], [7]]
    with pytest.raises(MindError) as caught:
        call(module, True, False)
    assert (caught.value.code, "asked for" in str(caught.value)) == ("E9020", True)


def test_blocks_and_branches():
    text = """
    func.func @f(%n: !shape.size, %p: i1) -> !shape.size {
      %c = shape.const_size 3
      cf.cond_br %p, ^a, ^b
    ^a:
      %x = shape.add %n, %c : !shape.size, !shape.size -> !shape.size
      func.return %x : !shape.size
    ^b:
      %y = shape.mul %n, %c : !shape.size, !shape.size -> !shape.size
      func.return %y : !shape.size
    }"""
    module = lowered(text)
    assert call(module, 5, True) == [8]
    assert call(module, 5, False) == [15]
    assert call(module, 2**62, False) == [None]
    assert "expected the same" in refusal(text.replace("func.return %y", "func.return %c")).message


def test_calls_that_pass_shapes_are_put_in_place_and_their_functions_go():
    text = """
    func.func private @double(%s: !shape.shape) -> !shape.shape {
      %r = shape.concat %s, %s : !shape.shape, !shape.shape -> !shape.shape
      func.return %r : !shape.shape
    }
    func.func @f(%x: tensor<?xf32>) -> !shape.shape {
      %s = shape.shape_of %x : tensor<?xf32> -> !shape.shape
      %t = func.call @double(%s) : (!shape.shape) -> !shape.shape
      %u = func.call @double(%t) : (!shape.shape) -> !shape.shape
      func.return %u : !shape.shape
    }"""
    module = lowered(text)
    assert [op.sym_name.data for op in module.ops] == ["f"]
    assert call(module, np.zeros(3)) == [(3, 3, 3, 3)]
    public = refusal(text.replace("private @double", "@double"))
    assert "argument 0 %s of type !shape.shape has no rank that is known" in public.message


def test_a_shape_function_becomes_a_function():
    text = """
    shape.func @f(%x: tensor<?xf32>, %n: !shape.size, %w: !shape.witness) -> (!shape.size, !shape.witness) {
      %s = shape_of %x : tensor<?xf32> -> !shape.shape
      %e = num_elements %s : !shape.shape -> !shape.size
      %r = max %e, %n : !shape.size, !shape.size -> !shape.size
      %v = assuming_all %w, %w
      return %r, %v : !shape.size, !shape.witness
    }"""
    module = lowered(text)
    assert next(iter(module.ops)).name == "func.func"
    assert call(module, np.zeros(3), 5, True) == [5, True]


def test_other_functions_stay():
    text = "func.func @g(%i: index) -> index { %c = arith.constant 1 : index func.return %i : index }"
    module = read(text)
    before = str(module)
    lower(module)
    assert str(module) == before


@pytest.mark.parametrize(
    ("line", "issue"),
    [
        ("%r = shape.rank %e : tensor<?xindex> -> index", "the rank is unknown: the length of a tensor<?xindex> is not known"),
        ("%r = shape.shape_of %u : tensor<*xf32> -> !shape.shape", "the rank is unknown: tensor<*xf32> is unranked"),
        ('%r = "shape.debug_print"(%z) : (!shape.size) -> !shape.size', "it prints"),
        ("%r = shape.constant ? : !shape.size", "? is not known in full"),
        ("%r = shape.constant [3, ?] : !shape.shape", "[3, ?] is not known in full"),
        ("%r = shape.constant [*] : !shape.shape", "[*] is not known in full"),
        ('%r = shape.constant [invalid "why"] : !shape.shape', "it is invalid: why"),
        ("%r = shape.const_shape [3, -1] : !shape.shape", "[3, ?] is not known in full"),
        ("%r = shape.any : -> !shape.shape", "any one of no shapes"),
        ('%q, %r = "shape.split_at"(%h, %i) : (tensor<2xindex>, index) -> (!shape.shape, !shape.shape)', "not constant"),
        ('%q, %r = "shape.split_at"(%h, %z3) : (tensor<2xindex>, !shape.size) -> (!shape.shape, !shape.shape)', "out of bounds"),
        ("%r = shape.to_extent_tensor %h : tensor<2xindex> -> tensor<3xindex>", "a shape of rank 2, declared tensor<3xindex>"),
        ('%r = "test.op"(%z) : (!shape.size) -> index', "it takes a !shape.size"),
        ('%r = "test.op"() : () -> !shape.size', "it gives a !shape.size"),
        (
            "%r = scf.if %p -> (!shape.shape) { %q = shape.shape_of %x : tensor<?xf32> -> !shape.shape "
            "scf.yield %q : !shape.shape } "
            "else { %q = shape.const_shape [2, 3] : !shape.shape scf.yield %q : !shape.shape } // -> !shape.shape",
            "scf.if %r: it passes on shapes of ranks 1 and 2, expected one rank",
        ),
        (
            "%s = shape.const_shape [2] : !shape.shape "
            "%r = scf.for %k = %i to %i step %i iter_args(%a = %s) -> (!shape.shape) { "
            "%q = shape.concat %a, %s : !shape.shape, !shape.shape -> !shape.shape "
            "scf.yield %q : !shape.shape } // -> !shape.shape",
            "it passes on shapes of ranks 1 and 2, expected one rank",
        ),
        (
            "%q = shape.with_shape %x, %h : tensor<?xf32>, tensor<2xindex> %r = scf.if %p -> (!shape.value_shape) "
            "{ scf.yield %q : !shape.value_shape } else { scf.yield %q : !shape.value_shape } // -> !shape.value_shape",
            "it passes on a !shape.value_shape, which is not a number",
        ),
        (
            '%r = scf.if %p -> (!shape.size) { scf.yield %z : !shape.size } else { %q = "shape.debug_print"(%z) '
            ": (!shape.size) -> !shape.size scf.yield %q : !shape.size } // -> !shape.size",
            "it prints",
        ),
        ("%r = shape.with_shape %x, %h : tensor<?xf32>, tensor<2xindex>", "a result of type !shape.value_shape is not a number"),
    ],
)
def test_what_has_no_lowering_is_named_with_its_reason(line: str, issue: str):
    type = "!shape.value_shape" if "with_shape" in line else line.rsplit("-> ", 1)[-1].rsplit(" : ", 1)[-1].strip("()")
    type, line = type.split(", ")[-1], line.partition(" // ")[0]
    arguments = (
        "%e: tensor<?xindex>, %h: tensor<2xindex>, %u: tensor<*xf32>, %x: tensor<?xf32>, %z: !shape.size, %i: index, %p: i1"
    )
    text = f"func.func @f({arguments}) -> {type} {{ %z3 = shape.const_size 3 {line} func.return %r : {type} }}"
    e = refusal(text)
    assert e.code == "E9014"
    assert issue in e.message


def test_one_error_names_every_op_and_not_what_only_follows():
    lines = "\n".join(
        f"%r{i} = shape.rank %e : tensor<?xindex> -> index %s{i} = shape.size_to_index %r{i} : index" for i in range(20)
    )
    text = f"""
    func.func @f(%e: tensor<?xindex>) {{ {lines} func.return }}
    func.func @g(%s: !shape.shape) {{ func.return }}
    shape.function_library @lib {{ }} mapping {{}}"""
    e = refusal(text)
    assert e.message.startswith("21 ops have no lowering to arith: shape.rank %r0: the rank is unknown")
    assert e.message.count("shape.rank") == SHOWN
    assert e.message.endswith("; and 5 more")
    assert e.context["ops"] == ["shape.rank"] * 20 + ["func.func"]
    assert "size_to_index" not in e.message


def test_places_in_the_source_are_named(tmp_path: Any):
    path = tmp_path / "program.mlir"
    path.write_text(
        "func.func @f(%e: tensor<?xindex>) -> index {\n  %r = shape.rank %e : tensor<?xindex> -> index\n  return %r : index\n}\n"
    )
    error = io.StringIO()

    with pytest.raises(SystemExit), contextlib.redirect_stderr(error):
        main([str(path), "--lower-shape-to-arith"])
    assert "error[E9014]: 1 op has no lowering to arith: shape.rank %r at line 2: the rank is unknown" in error.getvalue()


def nested(depth: int, rank: int) -> str:
    body = f"func.func @f(%n: !shape.size) -> !shape.size {{ %s = shape.const_shape {[2] * rank} : !shape.shape\n"
    for d in range(depth):
        body += f"%r{d} = shape.reduce(%s, %n) : !shape.shape -> !shape.size {{\n"
        body += f"^bb0(%i{d}: index, %d{d}: !shape.size, %a{d}: !shape.size):\n"
    body += "shape.yield %n : !shape.size }\n"
    for d in range(depth - 2, -1, -1):
        body += f"shape.yield %r{d + 1} : !shape.size }}\n"
    return body + "func.return %r0 : !shape.size }"


def test_reductions_are_unrolled_up_to_a_limit():
    assert call(lowered(nested(3, 4)), 7) == [7]
    e = refusal(nested(4, 1000))
    assert (e.code, e.context["limit"]) == ("E9022", MAX_OPS)


def test_a_reduction_over_what_may_be_invalid_must_do_no_harm():
    text = """
    func.func @f(%i: index, %n: !shape.size) -> !shape.size {
      %s = shape.from_extents %i : index
      %r = shape.reduce(%s, %n) : !shape.shape -> !shape.size {
      ^bb0(%k: index, %d: !shape.size, %a: !shape.size):
        %t = shape.add %d, %a : !shape.size, !shape.size -> !shape.size
        shape.yield %t : !shape.size
      }
      func.return %r : !shape.size
    }"""
    module = lowered(text)
    assert call(module, 3, 4) == [7]
    assert call(module, -3, 4) == [None]
    harmful = text.replace("%t =", '"test.op"() : () -> ()\n        %t =')
    assert "does more than compute" in refusal(harmful).message


def test_calls_that_never_end_are_refused():
    text = """
    func.func @f(%s: !shape.size) -> !shape.size {
      %r = func.call @f(%s) : (!shape.size) -> !shape.size
      func.return %r : !shape.size
    }"""
    assert refusal(text).code == "E4000"


def test_ranks_up_to_a_thousand_and_no_more():
    shape = f"tensor<{'1x' * 999}?xf32>"
    line = "%s = shape.shape_of %x : {0} -> !shape.shape %r = shape.num_elements %s : !shape.shape -> !shape.size"
    text = f"func.func @f(%x: {shape}) -> !shape.size {{ {line.format(shape)} func.return %r : !shape.size }}"
    assert str(lowered(text)).count("tensor.dim") == 1
    twice = f"func.func @f(%x: {shape}) -> !shape.shape {{ %s = shape.shape_of %x : {shape} -> !shape.shape "
    twice += "%r = shape.concat %s, %s : !shape.shape, !shape.shape -> !shape.shape func.return %r : !shape.shape }"
    assert "rank 2000 is more than 1000" in refusal(twice).message


def test_linear_in_the_ops():
    def work(count: int) -> int:
        lines = ["%v0 = shape.shape_of %x : tensor<?x?xf32> -> !shape.shape"]
        for i in range(count):
            lines.append(f"%v{i + 1} = shape.broadcast %v{i}, %v0 : !shape.shape, !shape.shape -> !shape.shape")
        body = "\n".join(lines)
        text = f"func.func @f(%x: tensor<?x?xf32>) -> !shape.shape {{ {body} func.return %v{count} : !shape.shape }}"
        module = read(text)
        return calls(lambda: lower(module))

    assert work(400) < 4.5 * work(100)


def test_codes_of_constraints_stay_with_their_assertions():
    text = """
    func.func @f(%i: index) {
      %c = arith.constant 3 : index
      %p = arith.cmpi eq, %i, %c : index
      %w = shape.cstr_require %p, "three" {mind.code = "E3006"}
      func.return
    }"""
    module = lowered(text)
    assert re.search(r'cf\.assert %\w+, "three" \{mind\.code = "E3006"\}', str(module))
    assert call(module, 3) == []
    with pytest.raises(MindError) as caught:
        call(module, 4)
    assert caught.value.code == "E3006"


EDGES = [-(2**63), -(2**63) + 1, -(2**32), -3, -1, 0, 1, 2, 3, 2**31, 2**32, 2**62, 2**63 - 1]
ARITHMETIC = """
func.func @f(%a: index, %b: index, %z: !shape.size) -> (
  !shape.size, !shape.size, !shape.size, !shape.size, !shape.size, !shape.size
) {
  %0 = shape.add %a, %b : index, index -> !shape.size
  %1 = shape.mul %a, %b : index, index -> !shape.size
  %2 = shape.div %a, %b : index, index -> !shape.size
  %3 = shape.add %z, %b : !shape.size, index -> !shape.size
  %4 = shape.mul %z, %b : !shape.size, index -> !shape.size
  %5 = shape.div %z, %b : !shape.size, index -> !shape.size
  func.return %0, %1, %2, %3, %4, %5 : !shape.size, !shape.size, !shape.size, !shape.size, !shape.size, !shape.size
}
"""
PRODUCT = """
func.func @f(%a: !shape.size, %b: !shape.size, %c: !shape.size) -> (!shape.size, !shape.size) {
  %s = shape.from_extents %a, %b, %c : !shape.size, !shape.size, !shape.size
  %n = shape.num_elements %s : !shape.shape -> !shape.size
  %m = shape.mul %a, %b : !shape.size, !shape.size -> !shape.size
  func.return %n, %m : !shape.size, !shape.size
}
"""


@pytest.mark.parametrize("text", [ARITHMETIC, PRODUCT], ids=["signed", "product"])
def test_overflow_and_signs_at_the_edges(text: str):
    """Whatever the numbers, the lowered function has what the lattice has: exact integers, or invalid."""
    made, plain = callable_of(lowered(text)), callable_of(read(text))
    edges = EDGES if text is ARITHMETIC else [n for n in EDGES if n >= 0]
    for a in edges:
        for b in edges:
            third = [abs(a) % 2**62] if text is ARITHMETIC else [0, 1, 3, 2**32, 2**63 - 1]
            for c in third:
                wanted = [None if isinstance(v, Invalid) else v for v in plain(a, b, c)]
                assert made(a, b, c) == wanted, (a, b, c)
