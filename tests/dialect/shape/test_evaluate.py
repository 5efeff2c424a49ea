"""Rows of evaluation: what an op gives for given values, and the walk that puts them together."""

from __future__ import annotations

from typing import Any

import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, memref, scf, tensor, test
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp

from mind_dialect import register
from mind_dialect.mlir_parser import MindParser
from mind_dialect.shape import SHAPE_OPS
from mind_dialect.shape import dataflow as dataflow_module
from mind_dialect.shape.dataflow import Dataflow
from mind_dialect.shape.evaluate import EVALUATE, Shaped
from mind_dialect.shape.lattice import Invalid, show

REGIONS = {"assuming", "assuming_yield", "reduce", "yield", "return", "func", "function_library"}
"""Ops with regions and terminators, which the walk knows."""


def parse(text: str) -> ModuleOp:
    ctx = Context()
    for dialect in (builtin.Builtin, func.Func, arith.Arith, tensor.Tensor, memref.MemRef, scf.Scf, test.Test):
        ctx.load_dialect(dialect)
    register(ctx)
    module = MindParser(ctx, text).parse_module()
    module.verify()
    return module


def shown(value: Any) -> str:
    if isinstance(value, Shaped):
        return f"{show(value.shape)} of {show(value.contents)}"
    return (
        f"invalid: {value.reason}" if isinstance(value, Invalid) else str(value) if value in (None, True, False) else show(value)
    )


def flow(body: str, arguments: str = "", **bindings: int) -> tuple[Dataflow, list[str]]:
    """What is known of the operands of the last op of a function with this body."""
    module = parse(f"func.func @f({arguments}) {{\n{body}\nfunc.return }}")
    function = next(op for op in module.ops if isinstance(op, FuncOp))
    found = Dataflow(bindings)
    found.run(function.body)
    last = function.body.blocks[0].last_op
    assert isinstance(last, ReturnOp)
    assert last.prev_op is not None
    return found, [shown(found.of(v)) for v in last.prev_op.operands]


def known(expression: str, arguments: str = "", **bindings: int) -> str:
    """What is known of `%r` of a body."""
    return flow(f'{expression}\n"test.op"(%r) : (TYPE) -> ()'.replace("TYPE", _type_of(expression)), arguments, **bindings)[1][0]


def _type_of(expression: str) -> str:
    """The type that a line `%r = ... // TYPE` names."""
    return expression.rpartition("//")[2].strip()


SIZES = "%u: !shape.size, %i: index, %c: index"
SHAPES = (
    '%s: !shape.shape, %e: tensor<2xindex>, %x: tensor<?x4xf32, "B,*">, %y: tensor<?x4xf32>, %z: tensor<*xf32>, '
    "%q: tensor<?x?xf32>, %l: tensor<2xi32>, %m: tensor<?xi64>"
)


def constant(name: str, value: str) -> str:
    return f"%{name} = shape.constant {value} : !shape.{'shape' if value.startswith('[') else 'size'}\n"


ROWS: list[tuple[str, str]] = [
    ("%r = shape.const_size 3 // SIZE", "3"),
    ("%r = shape.const_shape [3, -1] : SHAPE // SHAPE", "[3, ?]"),
    ("%r = shape.const_shape [3, 4] : tensor<2xindex> // tensor<2xindex>", "[2] of [3, 4]"),
    ("%r = shape.const_witness true // !shape.witness", "True"),
    ("%r = shape.const_witness false // !shape.witness", "invalid: a constraint that never holds"),
    (constant("r", "[3, ?]") + "// SHAPE", "[3, ?]"),
    (constant("r", '[invalid "why"]') + "// SHAPE", "invalid: why"),
    ('%r = "shape.constant_dim"() {value = 1 : i32} : () -> SIZE // SIZE', "1"),
    ("%a = shape.const_size 3 %r = shape.add %a, %a : SIZE, SIZE -> SIZE // SIZE", "6"),
    ("%a = shape.const_size 3 %r = shape.mul %a, %a : SIZE, SIZE -> SIZE // SIZE", "9"),
    ("%a = shape.const_size 3 %r = shape.mul %a, %u : SIZE, SIZE -> SIZE // SIZE", "?"),
    ("%a = arith.constant -7 : index %b = arith.constant 2 : index %r = shape.div %a, %b : index, index -> index // index", "-4"),
    (
        "%a = arith.constant -7 : index %b = shape.const_size 2 %r = shape.add %a, %b : index, SIZE -> SIZE // SIZE",
        "invalid: negative size -5",
    ),
    ("%a = shape.const_size 0 %r = shape.div %u, %a : SIZE, SIZE -> SIZE // SIZE", "invalid: integer "
     "division or modulo by zero"),
    ("%a = shape.const_size 3 %r = shape.max %a, %a : SIZE, SIZE -> SIZE // SIZE", "3"),
    ("%a = shape.const_size 0 %r = shape.min %a, %u : SIZE, SIZE -> SIZE // SIZE", "0"),
    (constant("a", "[3, ?]") + "%r = shape.max %a, %a : SHAPE, SHAPE -> SHAPE // SHAPE", "[3, ?]"),
    ("%a = arith.constant -1 : index %r = shape.index_to_size %a // SIZE", "invalid: negative size -1"),
    ("%a = shape.const_size 3 %r = shape.size_to_index %a : SIZE // index", "3"),
    ('%r = shape.shape_of %x : tensor<?x4xf32, "B,*"> -> SHAPE // SHAPE', "[B, 4]"),
    ("%r = shape.shape_of %y : tensor<?x4xf32> -> tensor<?xindex> // tensor<?xindex>", "[2] of [?, 4]"),
    ("%r = shape.shape_of %z : tensor<*xf32> -> SHAPE // SHAPE", "[*]"),
    ("%a = arith.constant dense<[2, 3]> : tensor<2xi32> %r = shape.value_as_shape %a : tensor<2xi32> -> SHAPE // SHAPE",
     "[2, 3]"),
    ("%a = arith.constant dense<[2, -3]> : tensor<2xi32> %r = shape.create_shape %a : tensor<2xi32> // SHAPE",
     "invalid: negative extent -3 in [2, -3]"),
    ("%r = shape.create_shape %l : tensor<2xi32> // SHAPE", "[?, ?]"),
    ("%r = shape.create_shape %m : tensor<?xi64> // SHAPE", "[*]"),
    ("%r = shape.from_extent_tensor %e : tensor<2xindex> // SHAPE", "[?, ?]"),
    ("%r = shape.to_extent_tensor %s : SHAPE -> tensor<2xindex> // tensor<2xindex>", "[2] of [*]"),
    ("%a = shape.const_size 3 %r = shape.from_extents %a, %i : SIZE, index // SHAPE", "[3, ?]"),
    ("%a = arith.constant -3 : index %r = shape.from_extents %a : index // SHAPE", "invalid: negative extent -3 in [-3]"),
    (constant("a", "[3, ?]") + constant("b", "[?, 4]") + "%r = shape.join %a, %b : SHAPE // SHAPE", "[3, 4]"),
    (constant("a", "[3]") + constant("b", "[4]") + '%r = shape.join %a, %b, error="no" : SHAPE // SHAPE', "invalid: no"),
    (constant("a", "3") + constant("b", "4") + '%r = shape.meet %a, %b, error="no" : SIZE, SIZE -> SIZE '
     "// SIZE", "invalid: no"),
    (constant("a", '[invalid "one"]') + '%r = shape.meet %a, %a, error="no" : SHAPE, SHAPE -> SHAPE '
     "// SHAPE", "invalid: one"),
    (constant("a", "[3, ?]") + constant("b", "[1]") + "%r = shape.broadcast %a, %b : SHAPE, SHAPE -> SHAPE "
     "// SHAPE", "[3, ?]"),
    (constant("a", "[3]") + constant("b", "[4]") + '%r = shape.broadcast %a, %b {error="no"} : SHAPE, SHAPE -> SHAPE '
     "// SHAPE", "invalid: no"),
    (constant("a", "[3, ?]") + "%r = shape.any %a, %s : SHAPE, SHAPE -> SHAPE // SHAPE", "[3, ?]"),
    (constant("a", "[3, ?]") + "%r = shape.concat %a, %a : SHAPE, SHAPE -> SHAPE // SHAPE", "[3, ?, 3, ?]"),
    (constant("a", "[3, ?]") + '%n = arith.constant -1 : index %h, %r = "shape.split_at"(%a, %n) : (SHAPE, index) -> '
     "(SHAPE, SHAPE) // SHAPE", "[?]"),
    (constant("a", "[3, ?]") + "%n = arith.constant 2 : index %r = shape.get_extent %a, %n : SHAPE, index -> SIZE "
     "// SIZE", "invalid: axis 2 is out of bounds for array of dimension 2"),
    (constant("a", "[3, ?]") + "%r = shape.rank %a : SHAPE -> SIZE // SIZE", "2"),
    (constant("a", "[3, 4]") + "%r = shape.num_elements %a : SHAPE -> SIZE // SIZE", "12"),
    ('%n = shape.const_size 0 %r = shape.dim %x, %n : tensor<?x4xf32, "B,*">, SIZE -> SIZE // SIZE', "B"),
    (constant("a", "[3, ?]") + '%r = "shape.debug_print"(%a) : (SHAPE) -> SHAPE // SHAPE', "[3, ?]"),
    (constant("a", "[3, ?]") + "%r = shape.is_broadcastable %a, %a : SHAPE, SHAPE // i1", "None"),
    (constant("a", "[3]") + constant("b", "[4]") + "%r = shape.shape_eq %a, %b : SHAPE, SHAPE // i1", "False"),
    (constant("a", "[3]") + constant("b", "[4]") + "%r = shape.cstr_broadcastable %a, %b : SHAPE, SHAPE // !shape.witness",
     "invalid: operands could not be broadcast together with shapes (3,) (4,)"),
    (constant("a", "[3]") + constant("b", "[4]") + "%r = shape.cstr_eq %a, %b : SHAPE, SHAPE // !shape.witness",
     "invalid: shapes [3] and [4] differ at dimension 0: 3 and 4"),
    (constant("a", "[3]") + "%r = shape.cstr_eq %a, %a : SHAPE, SHAPE // !shape.witness", "True"),
    ('%a = arith.constant false %r = shape.cstr_require %a, "no" // !shape.witness', "invalid: no"),
    ('%a = arith.constant true %r = shape.cstr_require %a, "no" // !shape.witness', "True"),
    ("%a = shape.const_witness true %r = shape.assuming_all %a, %a // !shape.witness", "True"),
    (constant("a", "[3]") + "%w = shape.cstr_eq %a, %s : SHAPE, SHAPE %v = shape.const_witness true %r = "
     "shape.assuming_all %w, %v // !shape.witness", "None"),
    ("%a = shape.const_shape [3, 4] : SHAPE %v = shape.with_shape %y, %a : tensor<?x4xf32>, SHAPE %r = shape.shape_of %v "
     ": !shape.value_shape -> SHAPE // SHAPE", "[3, 4]"),
    ("%a = shape.const_shape [3, 4] : SHAPE %v = shape.with_shape %y, %a : tensor<?x4xf32>, SHAPE %r = shape.value_of %v "
     ": tensor<?x4xf32> // tensor<?x4xf32>", "[3, 4] of [*]"),
    ("%a = shape.const_shape [3, 5] : SHAPE %r = shape.with_shape %y, %a : tensor<?x4xf32>, SHAPE // !shape.value_shape",
     "invalid: shapes [?, 4] and [3, 5] differ at dimension 1: 4 and 5"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "expected"), ROWS)
def test_row(expression: str, expected: str) -> None:
    expression = expression.replace("SHAPE", "!shape.shape").replace("SIZE", "!shape.size")
    assert known(expression, f"{SIZES}, {SHAPES}") == expected


@pytest.mark.quick
def test_every_op_is_evaluated_and_every_row_is_tried() -> None:
    assert {op.name.removeprefix("shape.") for op in SHAPE_OPS if op not in EVALUATE} == REGIONS
    assert set(EVALUATE) <= set(SHAPE_OPS)
    missing = [op.name for op in EVALUATE if not any(op.name in row for row, _ in ROWS)]
    assert missing == []


FOREIGN_ROWS = [
    ("%a = arith.constant 3 : index %r = arith.addi %a, %a : index // index", "6"),
    ("%a = arith.constant 9223372036854775807 : index %r = arith.addi %a, %a : index // index", "?"),
    ("%a = arith.constant 3 : index %r = arith.subi %c, %c : index // index", "?"),
    ("%a = arith.constant 3 : index %r = arith.muli %a, %a : index // index", "9"),
    ("%a = arith.constant 3 : index %r = arith.minsi %a, %a : index // index", "3"),
    ("%a = arith.constant 0 : index %r = arith.minsi %a, %c : index // index", "?"),
    ("%a = arith.constant 0 : index %r = arith.maxsi %a, %c : index // index", "?"),
    ("%a = arith.constant 3 : index %r = arith.cmpi eq, %a, %a : index // i1", "True"),
    ("%a = arith.constant 3 : index %b = arith.constant -3 : index %r = arith.cmpi ult, %a, %b : index // i1", "None"),
    ("%a = arith.constant 3 : index %b = arith.constant -3 : index %r = arith.cmpi slt, %a, %b : index // i1", "False"),
    ("%a = arith.constant 300 : index %r = arith.index_cast %a : index to i8 // i8", "?"),
    ("%a = arith.constant 3 : i32 %r = arith.index_cast %a : i32 to index // index", "3"),
    ('%z0 = arith.constant 0 : index %r = tensor.dim %x, %z0 : tensor<?x4xf32, "B,*"> // index', "B"),
    ('%z0 = arith.constant 5 : index %r = tensor.dim %x, %z0 : tensor<?x4xf32, "B,*"> // index', "?"),
    ("%a = arith.constant 3 : index %r = tensor.from_elements %a, %c : tensor<2xindex> // tensor<2xindex>", "[2] of [3, ?]"),
    ("%a = arith.constant 1 : index %b = arith.constant dense<[4, 5]> : tensor<2xindex> %r = tensor.extract %b[%a] : "
     "tensor<2xindex> // index", "5"),
    ("%r = tensor.cast %e : tensor<2xindex> to tensor<?xindex> // tensor<?xindex>", "[2] of [*]"),
    ("%b = arith.constant dense<[4, 5]> : tensor<2xindex> %r = tensor.reshape %q(%b) : (tensor<?x?xf32>, tensor<2xindex>) -> "
     "tensor<?x?xf32> // tensor<?x?xf32>", "[4, 5] of [*]"),
    ("%b = arith.constant dense<[4, -5]> : tensor<2xindex> %r = tensor.reshape %q(%b) : (tensor<?x?xf32>, tensor<2xindex>) -> "
     "tensor<?x?xf32> // tensor<?x?xf32>", "[?, ?] of [*]"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "expected"), FOREIGN_ROWS)
def test_foreign_row(expression: str, expected: str) -> None:
    found, (text,) = flow(f'{expression}\n"test.op"(%r) : ({_type_of(expression)}) -> ()', f"{SIZES}, {SHAPES}")
    assert text == expected
    assert found.faults == []


def test_names_have_the_sizes_that_are_bound() -> None:
    expression = '%r = shape.shape_of %x : tensor<?x4xf32, "B,*"> -> !shape.shape // !shape.shape'
    assert known(expression, SHAPES, B=8) == "[8, 4]"
    assert known(expression, SHAPES, C=8) == "[B, 4]"


PRODUCT = """%one = shape.const_size 1
%r = "shape.reduce"(%s, %one) ({
^bb0(%index: i32, %dim: !shape.size, %acc: !shape.size):
  %next = shape.mul %acc, %dim : !shape.size, !shape.size -> !shape.size
  "shape.return"(%next) : (!shape.size) -> ()
}) : (!shape.shape, !shape.size) -> !shape.size // !shape.size"""


@pytest.mark.parametrize(
    ("shape", "expected"),
    [("[3, 4]", "12"), ("[]", "1"), ("[3, ?]", "?"), ("[*]", "?"), ('[invalid "why"]', "invalid: why"), ("[0, 3]", "0")],
)
def test_reduce_runs_over_the_extents(shape: str, expected: str) -> None:
    assert known(constant("s", shape) + PRODUCT) == expected


def test_reduce_counts_its_steps_from_zero_and_sees_values_outside() -> None:
    body = """%s = shape.const_shape [7, 5] : tensor<2xindex> %c = arith.constant 10 : index
%r = shape.reduce(%s, %c) : tensor<2xindex> -> index {
^bb0(%i: index, %d: index, %acc: index):
  %t = arith.muli %acc, %c : index
  %n = arith.addi %t, %i : index
  shape.yield %n : index
} // index"""
    assert known(body) == "1001"


def test_a_fault_in_reduce_is_found_once_and_only_if_the_region_runs() -> None:
    body = """%z = shape.const_size 0
%r = shape.reduce(%s, %z) : !shape.shape -> !shape.size {
^bb0(%i: index, %d: !shape.size, %acc: !shape.size):
  %n = shape.div %d, %z : !shape.size, !shape.size -> !shape.size
  shape.yield %n : !shape.size
}"""
    for shape, faults in (("[7, 5]", 1), ("[]", 0), ("[*]", 0), ("[?]", 1)):
        found, _ = flow(constant("s", shape) + body)
        assert [fault.reason for fault in found.faults] == ["integer division or modulo by zero"] * faults


def test_one_cause_is_one_fault() -> None:
    found, last = flow(
        constant("a", "[3]")
        + constant("b", "[4]")
        + """%s = shape.broadcast %a, %b : !shape.shape, !shape.shape -> !shape.shape
%t = shape.concat %s, %a : !shape.shape, !shape.shape -> !shape.shape
%n = shape.num_elements %t : !shape.shape -> !shape.size
%p = shape.is_broadcastable %s, %a : !shape.shape, !shape.shape
%w = shape.cstr_require %p, "no"
%v = shape.cstr_eq %s, %a : !shape.shape, !shape.shape
%o = shape.assuming %v -> (!shape.shape) {
  %f = shape.broadcast %a, %b : !shape.shape, !shape.shape -> !shape.shape
  shape.assuming_yield %f : !shape.shape
}
"test.op"(%n, %w, %o) : (!shape.size, !shape.witness, !shape.shape) -> ()"""
    )
    reason = "operands could not be broadcast together with shapes (3,) (4,)"
    assert [(fault.op.name, fault.reason) for fault in found.faults] == [("shape.broadcast", reason)]
    assert last == [f"invalid: {reason}"] * 3


def test_no_faults_where_a_branch_may_not_be_taken_or_a_loop_not_run() -> None:
    bad = "%q = shape.broadcast %a, %b : !shape.shape, !shape.shape -> !shape.shape"
    consts = constant("a", "[3]") + constant("b", "[4]")
    found, _ = flow(f"{consts} scf.if %p {{ {bad} }}", "%p: i1")
    assert found.faults == []
    found, _ = flow(f"{consts} %w = shape.const_witness true shape.assuming %w {{ {bad} }}")
    assert len(found.faults) == 1


def test_nested_reductions_end_soon() -> None:
    depth, rank = 8, 1000
    open_ = "".join(
        f"%r{i} = shape.reduce(%s, %one) : !shape.shape -> !shape.size {{\n"
        f"^bb0(%i{i}: index, %d{i}: !shape.size, %a{i}: !shape.size):\n"
        for i in range(depth)
    )
    close = "".join(f"shape.yield %{'one' if i == depth - 1 else f'r{i + 1}'} : !shape.size }}\n" for i in reversed(range(depth)))
    shape = f"%s = shape.const_shape {[1] * rank} : !shape.shape\n%one = shape.const_size 1\n"
    found, last = flow(f'{shape}{open_}{close}"test.op"(%r0) : (!shape.size) -> ()')
    assert last == ["?"]
    assert found._steps > -(1 << 20)


def test_few_steps_leave_results_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    body = constant("s", "[3, 4]") + PRODUCT
    assert known(body) == "12"
    monkeypatch.setattr(dataflow_module, "MAX_STEPS", 3)
    assert known(body) == "?"


def test_what_is_known_inside_reduce_holds_for_each_step() -> None:
    body = constant("s", "[3, 4]") + PRODUCT + '\n"test.op"(%r) : (!shape.size) -> ()'
    module = parse(f"func.func @f() {{\n{body}\nfunc.return }}")
    function = next(op for op in module.ops if isinstance(op, FuncOp))
    found = Dataflow()
    found.run(function.body)
    (region,) = [op.regions[0] for op in function.body.block.ops if op.regions]
    step = region.block.first_op
    assert step is not None
    assert [shown(found.of(v)) for v in (*region.block.args[1:], step.results[0])] == ["?"] * 3
