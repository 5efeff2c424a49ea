"""Decisions on what the contract leaves open, as a user meets them: a small program each, compiled and run."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import Interpreter
from xdsl.interpreters.func import FuncFunctions

from mind_dialect.errors import MindError
from mind_dialect.ptir_program import state_version
from mind_lowering.custom_calls import register_custom_call, unregister_custom_call
from mind_lowering.kernels import NUMPY
from mind_lowering.lower_to_numpy import lower_module
from mind_passes.inline import inline_module
from mind_runtime import Program, compile, register_implementations
from programs import parse
from tool_runs import mind_opt


def program(text: str) -> Program:
    module = parse(text)
    state_version(module)
    return compile(module)


def function(arguments: str, results: str, body: str, returned: str) -> Program:
    return program(f"func.func @f({arguments}) -> {results} {{\n{body}\nfunc.return {returned} : {results.strip('()')}\n}}")


def i4(*values: int) -> np.ndarray:
    return np.array(values if len(values) != 1 else values[0], np.int32)


def f4(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def refused(code: str, category: str, run: Any, *arguments: Any) -> MindError:
    with pytest.raises(MindError) as raised:
        run(*arguments)
    assert (raised.value.code, raised.value.category) == (code, category)
    return raised.value


# Loops and branches

WHILE = """
%r, %c = ptir.while %n, %n : (tensor<si32>, tensor<si32>) -> (tensor<si32>, tensor<si32>) cond {
^bb0(%i: tensor<si32>, %t: tensor<si32>):
  %one = ptir.constant 1 : tensor<si32>
  %ten = ptir.constant 10 : tensor<si32>
  %j = ptir.add %i, %one : tensor<si32>
  %p = ptir.compare %j, %ten kind = less : (tensor<si32>, tensor<si32>) -> tensor<i1>
  ptir.yield %p, %j, %t : tensor<i1>, tensor<si32>, tensor<si32>
} body {
^bb0(%i: tensor<si32>, %t: tensor<si32>):
  %s = ptir.add %i, %t : tensor<si32>
  ptir.yield %i, %s : tensor<si32>, tensor<si32>
}"""


@pytest.mark.parametrize("n", [0, 7, 8, 9, 50])
def test_what_the_condition_of_a_loop_carries_feeds_the_body_and_the_result(n: int):
    """`cond` counts up by itself, so a run that used the carry of before would end with another count."""
    counted, total, i = n, n, n
    while True:
        i += 1
        counted = i
        if i >= 10:
            break
        total += i
    r, c = function("%n: tensor<si32>", "(tensor<si32>, tensor<si32>)", WHILE, "%r, %c")(i4(n))
    assert (int(r), int(c)) == (counted, total)


SCAN = """
%r, %s = ptir.scan %c, %x carry_count = 1 scan_output_count = 1
    : (tensor<si32>, tensor<?xsi32, "T">) -> (tensor<si32>, tensor<?xsi32, "T">) body {
^bb0(%a: tensor<si32>, %e: tensor<si32>):
  %b = ptir.add %a, %e : tensor<si32>
  ptir.yield %b, %b : tensor<si32>, tensor<si32>
}"""


@pytest.mark.parametrize("n", [0, 1, 5])
def test_a_scan_goes_over_axis_0_and_one_over_nothing_changes_nothing(n: int):
    run = function('%c: tensor<si32>, %x: tensor<?xsi32, "T">', '(tensor<si32>, tensor<?xsi32, "T">)', SCAN, "%r, %s")
    last, all = run(i4(3), np.arange(1, n + 1, dtype=np.int32))
    assert int(last) == 3 + n * (n + 1) // 2
    assert all.tolist() == [3 + i * (i + 1) // 2 for i in range(1, n + 1)]
    assert (all.shape, all.dtype) == ((n,), np.int32)


COND = """
%r = ptir.cond %p, %x : (tensor<i1>, tensor<si32>) -> tensor<si32> true {
^bb0(%a: tensor<si32>):
  ptir.yield %a : tensor<si32>
} false {
^bb0(%a: tensor<si32>):
  %z = ptir.constant 0 : tensor<si32>
  %b = ptir.div %a, %z : tensor<si32>
  ptir.yield %b : tensor<si32>
}"""


def test_only_the_branch_taken_runs():
    run = function("%p: tensor<i1>, %x: tensor<si32>", "tensor<si32>", COND, "%r")
    assert int(run(np.array(True), i4(7))) == 7
    refused("E8004", "IntegerDivideByZero", run, np.array(False), i4(7))


# Dimensions

PAIR = '%x: tensor<?xf32, "N">, %y: tensor<?xf32, "M">'


def test_names_are_bound_by_the_arguments_of_one_call():
    run = function(PAIR.replace("M", "N"), 'tensor<?xf32, "N">', '%a = ptir.add %x, %y : tensor<?xf32, "N">', "%a")
    assert run(f4(1, 2), f4(3, 4)).tolist() == [4, 6]
    assert run(f4(1, 2, 3), f4(3, 4, 5)).tolist() == [4, 6, 8]
    found = refused("E8001", "DynamicDimensionMismatch", run, f4(1, 2), f4(1, 2, 3))
    assert (found.context["name"], set(found.context["extents"])) == ("N", {2, 3})


def test_different_names_may_be_equal_sizes():
    body = '%a = ptir.add %x, %y : (tensor<?xf32, "N">, tensor<?xf32, "M">) -> tensor<?xf32, "N">'
    run = function(PAIR, 'tensor<?xf32, "N">', body, "%a")
    assert run(f4(1, 2), f4(3, 4)).tolist() == [4, 6]
    with pytest.raises(MindError):
        run(f4(1, 2), f4(3))


def test_a_dynamic_dimension_of_size_1_is_not_broadcast():
    """Even where NumPy would: what the text does not say is not done."""
    body = '%a = ptir.add %x, %y : (tensor<?xf32, "N">, tensor<?xf32, "M">) -> tensor<?xf32, "N">'
    with pytest.raises(MindError):
        function(PAIR, 'tensor<?xf32, "N">', body, "%a")(f4(1, 2), f4(3))


def test_a_claim_about_a_size_is_checked():
    run = function("%x: tensor<?xf32>", "tensor<3xf32>", "%a = ptir.neg %x : tensor<?xf32> -> tensor<3xf32>", "%a")
    assert run(f4(1, 2, 3)).tolist() == [-1, -2, -3]
    with pytest.raises(MindError):
        run(f4(1, 2))


def test_a_window_larger_than_a_dynamic_dimension_is_refused():
    body = '%a = ptir.dynamic_slice %x, %s sizes = [3] : (tensor<?xf32, "N">, tensor<1xsi32>) -> tensor<3xf32>'
    run = function('%x: tensor<?xf32, "N">, %s: tensor<1xsi32>', "tensor<3xf32>", body, "%a")
    assert run(f4(1, 2, 3, 4), i4(9).reshape(1)).tolist() == [2, 3, 4]
    assert run(f4(1, 2, 3, 4), i4(-9).reshape(1)).tolist() == [1, 2, 3]
    with pytest.raises(MindError, match="E4012"):
        run(f4(1, 2), i4(0).reshape(1))


# Random numbers

DRAWS = """%a = ptir.rng_uniform shape = [8] dtype = f32 : tensor<8xf32>
%b = ptir.rng_uniform shape = [8] dtype = f32 : tensor<8xf32>"""


def draws() -> Program:
    return function("", "(tensor<8xf32>, tensor<8xf32>)", DRAWS, "%a, %b")


def test_a_run_draws_by_its_seed_and_each_op_for_itself():
    run = draws()
    first, second = run()
    assert first.tolist() != second.tolist()
    assert [x.tolist() for x in run(seed=0)] == [first.tolist(), second.tolist()]
    assert run(seed=1)[0].tolist() != first.tolist()
    assert ((first >= 0) & (first < 1)).all()
    with pytest.raises(MindError, match="E7001"):
        run(seed=-1)


@pytest.mark.parametrize("merging", ["cse", "canonicalize", "mind-ptir-cse", "mind-ptir-canonicalize"])
def test_equal_draws_are_not_merged_by_us_nor_by_xdsl(merging: str):
    text = f"func.func @f() -> (tensor<8xf32>, tensor<8xf32>) {{\n{DRAWS}\nfunc.return %a, %b : tensor<8xf32>, tensor<8xf32>\n}}"
    assert mind_opt("--lenient", "-p", merging, stdin=text).out.count("ptir.rng_uniform") == 2


@pytest.mark.parametrize("removing", ["dce", "canonicalize", "cse", "mind-ptir-dce"])
def test_a_draw_that_nobody_uses_stays_so_that_later_ones_are_the_same(removing: str):
    text = f"func.func @f() -> tensor<8xf32> {{\n{DRAWS}\nfunc.return %b : tensor<8xf32>\n}}"
    reduced = mind_opt("--lenient", "-p", removing, stdin=text).out
    assert reduced.count("ptir.rng_uniform") == 2
    assert program(reduced)().tolist() == draws()()[1].tolist()


DRAWING_LOOPS = """
func.func @main(%x: tensor<3xf32>) -> (tensor<4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<4xf32>) {
  %p = func.call @draw() : () -> tensor<4xf32>
  %a, %b = ptir.scan %x carry_count = 0 scan_output_count = 2 : (tensor<3xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) body {
  ^bb0(%e: tensor<f32>):
    %r = func.call @draw() : () -> tensor<4xf32>
    %q = func.call @total() : () -> tensor<4xf32>
    ptir.yield %r, %q : tensor<4xf32>, tensor<4xf32>
  }
  %w = func.call @total() : () -> tensor<4xf32>
  func.return %p, %a, %b, %w : tensor<4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<4xf32>
}
func.func @total() -> tensor<4xf32> {
  %zero = ptir.constant 0 : tensor<si32>
  %z = ptir.constant fill 0.0 : tensor<4xf32>
  %i, %q = ptir.while %zero, %z : (tensor<si32>, tensor<4xf32>) -> (tensor<si32>, tensor<4xf32>) cond {
  ^bb1(%c: tensor<si32>, %w: tensor<4xf32>):
    %three = ptir.constant 3 : tensor<si32>
    %go = ptir.compare %c, %three kind = less : (tensor<si32>, tensor<si32>) -> tensor<i1>
    %s = func.call @draw() : () -> tensor<4xf32>
    %v = ptir.add %s, %w : tensor<4xf32>
    ptir.yield %go, %c, %v : tensor<i1>, tensor<si32>, tensor<4xf32>
  } body {
  ^bb2(%c: tensor<si32>, %w: tensor<4xf32>):
    %one = ptir.constant 1 : tensor<si32>
    %d = ptir.add %c, %one : tensor<si32>
    %g = func.call @draw() : () -> tensor<4xf32>
    %h = ptir.add %g, %w : tensor<4xf32>
    ptir.yield %d, %h : tensor<si32>, tensor<4xf32>
  }
  func.return %q : tensor<4xf32>
}
func.func @draw() -> tensor<4xf32> {
  %r = ptir.rng_uniform shape = [4] dtype = f32 : tensor<4xf32>
  func.return %r : tensor<4xf32>
}
"""


def uniform(ordinal: int, *iterations: int, seed: int = 0) -> np.ndarray:
    return NUMPY.rng_uniform(shape=(4,), dtype=np.dtype("f4"), ordinal=ordinal, seed=seed, iterations=iterations)


def expected_draws(seed: int) -> list[np.ndarray]:
    """Five draws stand in the program: before the scan, three in it, of which a loop makes two, and two in a loop after it."""

    def total(first: int, *outer: int) -> np.ndarray:
        found = np.zeros(4, np.float32)
        for iteration in range(4):
            found = uniform(first, *outer, iteration, seed=seed) + found
            if iteration < 3:
                found = uniform(first + 1, *outer, iteration, seed=seed) + found
        return found

    scanned = [uniform(1, iteration, seed=seed) for iteration in range(3)]
    return [uniform(0, seed=seed), np.stack(scanned), np.stack([total(2, iteration) for iteration in range(3)]), total(4)]


@pytest.mark.parametrize("seed", [0, 5])
def test_each_iteration_of_a_loop_draws_by_its_number(seed: int):
    """In compiled programs, in lowered ones, and in xDSL's interpreter, calls and nested loops included."""
    module = parse(f'module attributes {{ptir.spec_version = "ptir.v0.4"}} {{{DRAWING_LOOPS}}}')
    x, expected = f4(0, 0, 0), expected_draws(seed)
    assert len({row.tobytes() for row in expected[1]}) == 3
    run = compile(module, "main")
    for found in (run(x, seed=seed), run(x, seed=seed), interpreted(module, x, seed), interpreted(module, x, seed)):
        assert [v.tolist() for v in found] == [v.tolist() for v in expected]
    inline_module(module)
    assert [v.tolist() for v in interpreted(module, x, seed)] == [v.tolist() for v in expected]
    lower_module(module)
    assert [v.tolist() for v in interpreted(module, x, seed)] == [v.tolist() for v in expected]
    assert [v.tolist() for v in compile(module, "main")(x, seed=seed)] == [v.tolist() for v in expected]


def interpreted(module: ModuleOp, x: np.ndarray, seed: int) -> Any:
    interpreter = Interpreter(module)
    interpreter.register_implementations(FuncFunctions())
    register_implementations(interpreter, seed)
    return interpreter.call_op("main", (x,))


SCF_LOOPS = """
func.func @main(%n: index) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %start = ptir.constant fill 0.0 : tensor<4xf32>
  %y = scf.for %i = %zero to %n step %one iter_args(%a = %start) -> (tensor<4xf32>) {
    %r = ptir.rng_uniform shape = [4] dtype = f32 : tensor<4xf32>
    %b = ptir.sub %r, %a : tensor<4xf32>
    scf.yield %b : tensor<4xf32>
  }
  %m, %z = scf.while (%k = %zero, %a = %start) : (index, tensor<4xf32>) -> (index, tensor<4xf32>) {
    %p = arith.cmpi slt, %k, %n : index
    scf.condition(%p) %k, %a : index, tensor<4xf32>
  } do {
  ^bb0(%k: index, %a: tensor<4xf32>):
    %l = arith.addi %k, %one : index
    %r = ptir.rng_uniform shape = [4] dtype = f32 : tensor<4xf32>
    %b = ptir.sub %r, %a : tensor<4xf32>
    scf.yield %l, %b : index, tensor<4xf32>
  }
  func.return %y, %z : tensor<4xf32>, tensor<4xf32>
}
"""


def test_loops_of_scf_count_their_iterations_too():
    module = parse(f'module attributes {{ptir.spec_version = "ptir.v0.4"}} {{{SCF_LOOPS}}}')
    interpreter = Interpreter(module)
    register_implementations(interpreter)
    for _ in range(2):
        for ordinal, found in enumerate(interpreter.call_op("main", (3,))):
            assert found.tolist() == (uniform(ordinal, 2) - (uniform(ordinal, 1) - uniform(ordinal, 0))).tolist()


def test_a_loop_that_fails_leaves_no_iteration_behind():
    divided = """    %k = ptir.cast %e dtype = si32 : tensor<f32> -> tensor<si32>
    %bad = ptir.div %k, %k : tensor<si32>
    %q = func.call @total"""
    text = DRAWING_LOOPS.replace("    %q = func.call @total", divided)
    interpreter = Interpreter(parse(f'module attributes {{ptir.spec_version = "ptir.v0.4"}} {{{text}}}'))
    register_implementations(interpreter)
    with pytest.raises(MindError, match="E8004"):
        interpreter.call_op("main", (f4(1, 0, 1),))
    assert [v.tolist() for v in interpreter.call_op("main", (f4(1, 1, 1),))] == [v.tolist() for v in expected_draws(0)]


# Custom calls

CALL = '%a = ptir.custom_call %x target = "test_decisions.scale.v1" attrs = {factor = 2.0 : f64} : tensor<2xf32>'


def test_a_custom_call_runs_what_is_registered_and_nothing_else():
    name = "test_decisions.scale.v1"
    register_custom_call(name, lambda xp, x, *, factor: x * xp.float32(factor))
    try:
        run = function("%x: tensor<2xf32>", "tensor<2xf32>", CALL, "%a")
        assert run(f4(1, 2)).tolist() == [2, 4]
        wrong = function("%x: tensor<2xf32>", "tensor<2xf32>", CALL.replace("factor", "fctor"), "%a")
        refused("E8002", "InvalidAttributeValue", wrong, f4(1, 2))
    finally:
        unregister_custom_call(name)
    refused("E8007", "Unimplemented", lambda: function("%x: tensor<2xf32>", "tensor<2xf32>", CALL, "%a")(f4(1, 2)))


# Numbers


@pytest.mark.parametrize(
    ("source", "target", "values", "expected"),
    [
        (np.float32, "si8", [2.9, -2.9, 300, -300, np.inf, np.nan], [2, -2, 127, -128, 127, 0]),
        (np.int32, "ui8", [-5, 5, 300], [0, 5, 255]),
        (np.float32, "i1", [0.0, -0.0, 0.5, np.nan], [False, False, True, True]),
        (np.bool_, "f32", [True, False], [1.0, 0.0]),
        (np.float32, "f8E4M3FN", [448, 1e9, -1e9, 0.1], [448, np.nan, np.nan, 0.1015625]),
        (np.float32, "f8E5M2", [1e9, -1e9, 0.1], [np.inf, -np.inf, 0.09375]),
        (np.float32, "f16", [1e9, -1e9], [np.inf, -np.inf]),
        (np.float32, "complex<f32>", [1.5], [1.5 + 0j]),
    ],
    ids=lambda v: v if isinstance(v, str) else None,
)
def test_casts(source: Any, target: str, values: list[Any], expected: list[Any]):
    given = {np.float32: "f32", np.int32: "si32", np.bool_: "i1"}[source]
    n = len(values)
    body = f"%a = ptir.cast %x dtype = {target} : tensor<{n}x{given}> -> tensor<{n}x{target}>"
    found = function(f"%x: tensor<{n}x{given}>", f"tensor<{n}x{target}>", body, "%a")(np.array(values, source))
    np.testing.assert_array_equal(found.astype(np.complex64), np.array(expected, np.complex64))


def test_integers_wrap_and_divide_toward_zero():
    body = "%a = ptir.mul %x, %y : tensor<3xsi32>\n%b = ptir.div %x, %y : tensor<3xsi32>"
    arguments = "%x: tensor<3xsi32>, %y: tensor<3xsi32>"
    run = function(arguments, "(tensor<3xsi32>, tensor<3xsi32>)", body, "%a, %b")
    products, quotients = run(i4(2**31 - 1, -(2**31), -7), i4(2, -1, 2))
    assert products.tolist() == [-2, -(2**31), -14]
    assert quotients.tolist() == [2**30 - 1, -(2**31), -3]
    refused("E8004", "IntegerDivideByZero", run, i4(1, 2, 3), i4(1, 0, 1))


@pytest.mark.parametrize(("indices", "wrong"), [([0, 3], 3), ([-1, 0], -1)])
def test_an_index_out_of_range_is_refused(indices: list[int], wrong: int):
    body = "%a = ptir.take %x, %i : (tensor<3xf32>, tensor<2xsi32>) -> tensor<2xf32>"
    run = function("%x: tensor<3xf32>, %i: tensor<2xsi32>", "tensor<2xf32>", body, "%a")
    assert run(f4(1, 2, 3), i4(2, 0)).tolist() == [3, 1]
    found = refused("E6001", "GatherIndexOutOfBounds", run, f4(1, 2, 3), i4(*indices))
    assert found.context["indices"] == [wrong]


def test_arrays_of_dtypes_that_numpy_lacks_are_those_of_ml_dtypes():
    run = function("%x: tensor<3xbf16>", "tensor<3xbf16>", "%a = ptir.add %x, %x : tensor<3xbf16>", "%a")
    found = run(np.array([1, 1.0078125, 3e38], ml_dtypes.bfloat16))
    assert found.dtype == ml_dtypes.bfloat16
    assert found.astype(np.float32).tolist() == [2, 2.015625, np.inf]
    nibbles = function("%x: tensor<2xsi4>", "tensor<2xsi4>", "%a = ptir.add %x, %x : tensor<2xsi4>", "%a")
    assert nibbles(np.array([7, -8], ml_dtypes.int4)).astype(int).tolist() == [-2, 0]
