"""The shape dialect in xDSL's interpreter: what values are, which errors are values, and what is printed."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import arith, cf, memref
from xdsl.interpreter import Interpreter, InterpreterFunctions, impl, register_impls
from xdsl.parser import Parser

import mind_runtime
from mind_dialect.errors import MindError
from mind_dialect.shape.lattice import UNRANKED, Invalid
from mind_runtime.foreign_scalars import ADDED
from mind_runtime.interpreted_shape import MAX_STEPS, ValueShape
from programs import context

S, Z, V, W = "!shape.shape", "!shape.size", "!shape.value_shape", "!shape.witness"
WHY = Invalid("why")


def run(text: str, *arguments: Any, function: str = "f", file: Any = None) -> Any:
    ctx = context()
    for dialect in (cf.Cf, memref.MemRef):
        ctx.load_dialect(dialect)
    module = Parser(ctx, text).parse_module()
    module.verify()
    interpreter = Interpreter(module, file=file)
    mind_runtime.register_implementations(interpreter)
    return interpreter.call_op(function, arguments)


def one(op: str, inputs: dict[str, str], result: str, *arguments: Any) -> Any:
    """The result of one op on values of the given types."""
    signature = ", ".join(f"%{name}: {type}" for name, type in inputs.items())
    (found,) = run(f"func.func @f({signature}) -> {result} {{ %r = {op} func.return %r : {result} }}", *arguments)
    return found.tolist() if isinstance(found, np.ndarray) else found


@pytest.mark.parametrize(
    ("op", "inputs", "result", "arguments", "expected"),
    [
        (f"shape.add %a, %b : {Z}, index -> {Z}", {"a": Z, "b": "index"}, Z, (3, -1), 2),
        (f"shape.add %a, %b : {Z}, index -> {Z}", {"a": Z, "b": "index"}, Z, (3, -4), Invalid("negative size -1")),
        (f"shape.add %a, %a : {Z}, {Z} -> {Z}", {"a": Z}, Z, ("?",), "?"),
        (f"shape.mul %a, %a : {Z}, {Z} -> {Z}", {"a": Z}, Z, (2**32,), Invalid("overflow")),
        (f"shape.div %a, %a : {Z}, {Z} -> {Z}", {"a": Z}, Z, (0,), Invalid("by zero")),
        (f"shape.rank %a : {S} -> {Z}", {"a": S}, Z, (WHY,), WHY),
        (f"shape.rank %a : {S} -> {Z}", {"a": S}, Z, (UNRANKED,), "?"),
        (f"shape.broadcast %a, %e : {S}, tensor<?xindex> -> {S}", {"a": S, "e": "tensor<?xindex>"}, S, ((3, 1), [4]), (3, 4)),
        (f"shape.concat %a, %b : {S}, {S} -> {S}", {"a": S, "b": S}, S, ((1, 2), UNRANKED), UNRANKED),
        (f"shape.shape_eq %a, %b : {S}, {S}", {"a": S, "b": S}, "i1", (WHY, WHY), True),
        (f"shape.shape_eq %a, %b : {S}, {S}", {"a": S, "b": S}, "i1", (WHY, ()), False),
        (f"shape.is_broadcastable %a, %b : {S}, {S}", {"a": S, "b": S}, "i1", (WHY, ()), False),
        ("shape.from_extents %i, %i : index, index", {"i": "index"}, S, (-1,), Invalid("negative")),
        (f"shape.shape_of %x : memref<2x?xf32> -> {S}", {"x": "memref<2x?xf32>"}, S, (np.zeros((2, 3)),), (2, 3)),
        (f"shape.shape_of %x : tensor<*xf32> -> {S}", {"x": "tensor<*xf32>"}, S, (np.zeros((2, 3)),), (2, 3)),
        (f"shape.shape_of %v : {V} -> {S}", {"v": V}, S, (ValueShape(None, (2, "?")),), (2, "?")),
        (f"shape.value_as_shape %x : tensor<2xi32> -> {S}", {"x": "tensor<2xi32>"}, S, (np.array([3, 4], np.int32),), (3, 4)),
        (f"shape.to_extent_tensor %a : {S} -> tensor<?xindex>", {"a": S}, "tensor<?xindex>", ((3, 4),), [3, 4]),
        (f"shape.with_shape %x, %a : tensor<?xf32>, {S}", {"x": "tensor<?xf32>", "a": S}, V, (np.zeros(2), (3,)), WHY),
        ("shape.assuming_all %w, %v", {"w": W, "v": W}, W, (True, WHY), WHY),
        ("shape.assuming_all %w, %v", {"w": W, "v": W}, W, (True, None), None),
    ],
)
def test_a_value_is_what_the_lattice_has(op: str, inputs: dict[str, str], result: str, arguments: Any, expected: Any):
    given = [np.array(a) if isinstance(a, list) else a for a in arguments]
    assert one(op, inputs, result, *given) == expected


@pytest.mark.parametrize(
    ("op", "inputs", "result", "arguments", "code", "message"),
    [
        (f"shape.size_to_index %a : {Z}", {"a": Z}, "index", (WHY,), "E9020", "size_to_index: why"),
        (f"shape.size_to_index %a : {Z}", {"a": Z}, "index", ("?",), "E9021", "the result is ?"),
        ("shape.mul %i, %i : index, index -> index", {"i": "index"}, "index", (2**40,), "E9020", "overflow"),
        (f"shape.is_broadcastable %a, %b : {S}, {S}", {"a": S, "b": S}, "i1", (("?",), (3,)), "E9021", "the result is ?"),
        (f"shape.cstr_eq %a, %b : {S}, {S}", {"a": S, "b": S}, W, ((2,), (3,)), "E9020", "cstr_eq: shapes [2] and [3] differ"),
        (f"shape.cstr_broadcastable %a, %b : {S}, {S}", {"a": S, "b": S}, W, ((2,), (3,)), "E9020", "(2,) (3,)"),
        ('shape.cstr_require %p, "because"', {"p": "i1"}, W, (False,), "E9020", "cstr_require: because"),
        ('shape.cstr_require %p, "because" {mind.code = "E8001"}', {"p": "i1"}, W, (False,), "E8001", "because"),
        (f"shape.to_extent_tensor %a : {S} -> tensor<?xindex>", {"a": S}, "tensor<?xindex>", ((3, "?"),), "E9021", "[3, ?]"),
        (f"shape.to_extent_tensor %a : {S} -> tensor<3xindex>", {"a": S}, "tensor<3xindex>", ((3,),), "E9020", "rank 1"),
        (f"shape.shape_of %x : tensor<2xf32> -> {S}", {"x": "tensor<2xf32>"}, S, (np.zeros(3),), "E9020", "shape [3], declared"),
        ("shape.value_of %v : tensor<2xf32>", {"v": V}, "tensor<2xf32>", (ValueShape(None, (2,)),), "E9021", "unknown"),
        ("shape.value_of %v : tensor<2xf32>", {"v": V}, "tensor<2xf32>", (WHY,), "E9020", "why"),
    ],
)
def test_what_a_type_cannot_hold_fails(op: str, inputs: dict[str, str], result: str, arguments: Any, code: str, message: str):
    with pytest.raises(MindError) as caught:
        one(op, inputs, result, *arguments)
    assert caught.value.code == code
    assert message in caught.value.message


def test_a_list_of_more_than_a_thousand_extents_is_invalid():
    found = one("shape.from_extent_tensor %e : tensor<?xindex>", {"e": "tensor<?xindex>"}, S, np.ones(1001, np.int64))
    assert isinstance(found, Invalid)
    assert found.reason == "rank 1001 is more than 1000"


@pytest.mark.parametrize(("witness", "code"), [(WHY, "E9020"), (None, "E9021")])
def test_assuming_needs_a_witness_that_holds(witness: Any, code: str):
    text = f"func.func @f(%w: {W}) -> index {{ %r = shape.assuming %w -> (index) {{ %c = arith.constant 3 : index "
    text += "shape.assuming_yield %c : index } func.return %r : index }"
    assert run(text, True) == (3,)
    with pytest.raises(MindError) as caught:
        run(text, witness)
    assert caught.value.code == code


def test_printing_is_the_specifications_syntax_in_the_order_of_the_run():
    text = f'func.func @f(%a: {S}, %z: {Z}) {{ %b = "shape.debug_print"(%a) : ({S}) -> {S} '
    text += f'%y = "shape.debug_print"(%z) : ({Z}) -> {Z} func.return }}'
    file = io.StringIO()
    for a, z in (((3, "?"), 4), (UNRANKED, "?"), (WHY, WHY), ((), 0)):
        run(text, a, z, file=file)
    assert file.getvalue().split("\n") == ["[3, ?]", "4", "[*]", "?", "[invalid]", "[invalid]", "[]", "0", ""]


REDUCE = """
func.func @f(%s: !shape.shape, %n: !shape.size) -> !shape.size {
  %r = "shape.reduce"(%s, %n) ({
  ^bb0(%i: i32, %d: !shape.size, %acc: !shape.size):
    %j = arith.index_cast %i : i32 to index
    %m = shape.mul %d, %j : !shape.size, index -> !shape.size
    %t = shape.add %acc, %m : !shape.size, !shape.size -> !shape.size
    "shape.return"(%t) : (!shape.size) -> ()
  }) : (!shape.shape, !shape.size) -> !shape.size
  func.return %r : !shape.size
}
"""


@pytest.mark.parametrize(
    ("shape", "expected"), [((5, 6, 7), 120), ((), 100), ((2, "?"), "?"), (UNRANKED, "?"), (WHY, WHY)], ids=str
)
def test_reduce_runs_once_per_extent_in_order(shape: Any, expected: Any):
    assert run(REDUCE, shape, 100) == (expected,)


def test_nested_reductions_end():
    body = "func.func @f(%s: !shape.shape, %n: !shape.size) -> !shape.size {\n"
    for depth in range(4):
        body += f"%r{depth} = shape.reduce(%s, %n) : !shape.shape -> !shape.size {{\n"
        body += f"^bb0(%i{depth}: index, %d{depth}: !shape.size, %a{depth}: !shape.size):\n"
    body += "shape.yield %n : !shape.size }\n"
    for depth in range(2, -1, -1):
        body += f"shape.yield %r{depth + 1} : !shape.size }}\n"
    body += "func.return %r0 : !shape.size }"
    assert run(body, (1, 2, 3), 7) == (7,)
    with pytest.raises(MindError) as caught:
        run(body, (1,) * 1000, 7)
    assert caught.value.code == "E9022"
    assert caught.value.context["limit"] == MAX_STEPS


def test_functions_of_libraries_are_called_by_their_op():
    text = f"""
    builtin.module {{
      shape.function_library @lib {{
        shape.func @same(%v: {V}) -> {S} {{ %0 = shape_of %v : {V} -> {S} return %0 : {S} }}
        shape.func @declared(%v: {V}) -> {S}
      }} mapping {{test.op = @same}}
      shape.func @g(%z: {Z}) -> {Z} {{ %0 = add %z, %z : {Z}, {Z} -> {Z} return %0 : {Z} }}
    }}"""
    module = Parser(context(), text).parse_module()
    interpreter = Interpreter(module)
    mind_runtime.register_implementations(interpreter)
    inner = next(iter(module.ops))
    library = next(iter(inner.body.ops)) if inner.name == "builtin.module" else inner
    assert interpreter.call_op(library.function_of("test.op"), (ValueShape(None, (2, 3)),)) == ((2, 3),)
    assert interpreter.call_op(library.functions["same"], (WHY,)) == (WHY,)
    with pytest.raises(MindError) as caught:
        interpreter.call_op(library.functions["declared"], (WHY,))
    assert caught.value.code == "E4000"


# Ops of other dialects


@pytest.mark.parametrize(
    ("op", "a", "b", "expected"),
    [
        ("maxsi", -1, 2, 2), ("maxui", -1, 2, -1), ("minsi", -1, 2, -1), ("minui", -1, 2, 2),
        ("divui", -1, 2, 2**63 - 1), ("remui", -1, 10, 5), ("ceildivsi", -7, 2, -3), ("ceildivui", 7, 2, 4),
    ],
)  # fmt: skip
def test_arithmetic_that_xdsl_lacks(op: str, a: int, b: int, expected: int):
    assert one(f"arith.{op} %a, %b : index", {"a": "index", "b": "index"}, "index", a, b) == expected


@pytest.mark.quick
def test_every_added_op_is_tested_or_asserts():
    tested = {"arith.maxsi", "arith.maxui", "arith.minsi", "arith.minui", "arith.divui", "arith.remui", "arith.ceildivsi"}
    assert {op.name for op in ADDED} == tested | {"arith.ceildivui", "cf.assert"}


def test_an_assertion_fails_with_its_message():
    text = 'func.func @f(%p: i1) { cf.assert %p, "because" func.return }'
    assert run(text, True) == ()
    with pytest.raises(MindError, match=r"E9020: cf\.assert: because"):
        run(text, False)


def test_division_by_zero_is_an_error():
    with pytest.raises(MindError) as caught:
        one("arith.divui %a, %b : index", {"a": "index", "b": "index"}, "index", 3, 0)
    assert caught.value.code == "E8004"


def test_what_somebody_registered_before_stays():
    @register_impls
    class Theirs(InterpreterFunctions):
        @impl(arith.MaxUIOp)
        def run_max(self, interpreter: Interpreter, op: arith.MaxUIOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
            return (42,)

    text = "func.func @f(%a: index) -> (index, index) { %0 = arith.maxui %a, %a : index %1 = arith.minui %a, %a : index "
    module = Parser(context(), f"{text} func.return %0, %1 : index, index }}").parse_module()
    interpreter = Interpreter(module)
    interpreter.register_implementations(Theirs())
    mind_runtime.register_implementations(interpreter)
    assert interpreter.call_op("f", (3,)) == (42, 3)


def test_tensors_of_extents():
    text = """
    func.func @f(%a: index, %b: index) -> (tensor<?xindex>, tensor<?xindex>) {
      %e = tensor.from_elements %a, %b, %a : tensor<3xindex>
      %c = tensor.cast %e : tensor<3xindex> to tensor<?xindex>
      %s = tensor.extract_slice %c[%a] [%b] [1] : tensor<?xindex> to tensor<?xindex>
      func.return %c, %s : tensor<?xindex>, tensor<?xindex>
    }"""
    c, s = run(text, 1, 2)
    assert (c.tolist(), s.tolist()) == ([1, 2, 1], [2, 1])
    for a, b in ((1, 3), (-1, 1), (4, 0), (0, -1)):
        with pytest.raises(MindError) as caught:
            run(text, a, b)
        assert caught.value.code == "E6001"
