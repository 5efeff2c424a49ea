"""PTIR programs by `compile`: loops, caches updated in place, dynamic dimensions, seeds, custom calls, donated inputs."""

# ruff: noqa: E501

from __future__ import annotations

import re
import tracemalloc
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import Interpreter

import mind_runtime
from mind_dialect.errors import MindError
from mind_dialect.ptir.types import read_type
from mind_lowering.custom_calls import register_custom_call, unregister_custom_call
from programs import parse
from ptir_evaluator import evaluate, function_of
from ptir_programs import ACCEPTED, regions_module, row_module
from ptir_rows import Row


def module(body: str, inputs: str, outputs: str) -> ModuleOp:
    text = f"func.func @f({inputs}) -> ({outputs}) {{\n{body}\n}}"
    return parse(f'module attributes {{ptir.spec_version = "ptir.v0.4"}} {{\n{text}\n}}')


def failure(run: Any, *values: Any, **options: Any) -> MindError:
    with pytest.raises(MindError) as e:
        run(*values, **options)
    return e.value


def interpreted(program: ModuleOp, *arguments: Any) -> tuple[Any, ...]:
    interpreter = Interpreter(program)
    mind_runtime.register_implementations(interpreter)
    return interpreter.call_op(function_of(program).sym_name.data, arguments)


# Every op


def samples(row: Row) -> list[np.ndarray]:
    """Arguments for a row of static shapes: small numbers first, then zeros, which are indices too."""
    found = []
    for i, argument in enumerate(function_of(row_module(row)).body.block.args):
        spec = mind_runtime.TensorSpec.of("", argument.type)
        count = int(np.prod(spec.shape))
        found.append((np.arange(count).reshape(spec.shape) * (i == 0) % 7).astype(spec.numpy_dtype))
    return found


def is_static(row: Row) -> bool:
    func = function_of(row_module(row))
    return all(read_type(t).is_static for t in (*func.function_type.inputs, *func.function_type.outputs))


RUNNABLE = [row for row in ACCEPTED if row.op.OPCODE != "custom_call" and is_static(row)]


@pytest.mark.parametrize("row", RUNNABLE, ids=str)
def test_every_op_runs_as_its_kernel_does(row: Row) -> None:
    program = row_module(row)
    arrays = samples(row)
    run = mind_runtime.compile(program)
    if (expected := outcome(program, arrays)) is None:
        assert failure(run, *arrays).code in ("E6001", "E8004")
        return
    found = run(*arrays)
    for results in (found if isinstance(found, tuple) else (found,), interpreted(program, *arrays)):
        for got, want in zip(results, expected, strict=True):
            assert (got.dtype, got.shape) == (np.asarray(want).dtype, np.shape(want))
            assert np.asarray(got).tobytes() == np.ascontiguousarray(want).tobytes()


def outcome(program: ModuleOp, arrays: list[np.ndarray]) -> Any:
    """What the plain evaluator gives, or None where it refuses the values."""
    try:
        with np.errstate(all="ignore"):
            return evaluate(function_of(program), arrays)
    except MindError:
        return None


# Control flow


@pytest.mark.parametrize("truth", [True, False])
@pytest.mark.parametrize("start", [-5, 3, 10, 11])
def test_nested_regions(start: int, truth: bool) -> None:
    program = regions_module()
    arguments = (np.array(start, np.int32), np.arange(6, dtype=np.float32).reshape(3, 2), np.array(truth))
    expected = evaluate(function_of(program), arguments)
    for results in (mind_runtime.compile(program)(*arguments), interpreted(program, *arguments)):
        for got, want in zip(results, expected, strict=True):
            np.testing.assert_array_equal(got, want)


COUNT = """
%s = ptir.while %n : tensor<si32> cond {
^bb0(%a: tensor<si32>):
  %zero = ptir.constant 0 : tensor<si32>
  %p = ptir.compare %a, %zero kind = greater : (tensor<si32>, tensor<si32>) -> tensor<i1>
  ptir.yield %p, %a : tensor<i1>, tensor<si32>
} body {
^bb0(%a: tensor<si32>):
  %one = ptir.constant 1 : tensor<si32>
  %b = ptir.sub %a, %one : tensor<si32>
  ptir.yield %b : tensor<si32>
}
func.return %s : tensor<si32>
"""


def test_a_hundred_thousand_iterations_need_no_recursion_and_no_memory() -> None:
    program = mind_runtime.compile(module(COUNT, "%n: tensor<si32>", "tensor<si32>"))
    tracemalloc.start()
    try:
        assert program(np.array(100_000, np.int32)) == 0
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


CACHE = """
%zero = ptir.constant 0 : tensor<si32>
%i, %c, %r, %m = ptir.while %zero, %cache, %row, %n : (tensor<si32>, tensor<1000x64xf32>, tensor<1x64xf32>, tensor<si32>)
    -> (tensor<si32>, tensor<1000x64xf32>, tensor<1x64xf32>, tensor<si32>) cond {
^bb0(%i: tensor<si32>, %c: tensor<1000x64xf32>, %r: tensor<1x64xf32>, %m: tensor<si32>):
  %p = ptir.compare %i, %m kind = less : (tensor<si32>, tensor<si32>) -> tensor<i1>
  ptir.yield %p, %i, %c, %r, %m : tensor<i1>, tensor<si32>, tensor<1000x64xf32>, tensor<1x64xf32>, tensor<si32>
} body {
^bb0(%i: tensor<si32>, %c: tensor<1000x64xf32>, %r: tensor<1x64xf32>, %m: tensor<si32>):
  %one = ptir.constant 1 : tensor<si32>
  %j = ptir.add %i, %one : tensor<si32>
  %column = ptir.constant [0] : tensor<1xsi32>
  %v = ptir.reshape %i new_shape = [1] : tensor<si32> -> tensor<1xsi32>
  %start = ptir.concat %v, %column axis = 0 : (tensor<1xsi32>, tensor<1xsi32>) -> tensor<2xsi32>
  %d = ptir.dynamic_update_slice %c, %r, %start sizes = [1, 64]
    : (tensor<1000x64xf32>, tensor<1x64xf32>, tensor<2xsi32>) -> tensor<1000x64xf32>
  %s = ptir.add %r, %r : tensor<1x64xf32>
  ptir.yield %j, %d, %s, %m : tensor<si32>, tensor<1000x64xf32>, tensor<1x64xf32>, tensor<si32>
}
func.return %c : tensor<1000x64xf32>
"""
CACHE_INPUTS = "%cache: tensor<1000x64xf32>, %row: tensor<1x64xf32>, %n: tensor<si32>"
CACHE_BYTES = 4 * 1000 * 64


def cache_arguments() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.zeros((1000, 64), np.float32), np.ones((1, 64), np.float32), np.array(10, np.int32)


def peak_of(run: Any, *arguments: Any) -> tuple[Any, int]:
    tracemalloc.start()
    try:
        return run(*arguments), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_cache_in_a_loop_is_copied_once_at_most() -> None:
    program = mind_runtime.compile(module(CACHE, CACHE_INPUTS, "tensor<1000x64xf32>"))
    arguments = cache_arguments()
    program(*arguments)
    result, peak = peak_of(program, *arguments)
    assert CACHE_BYTES <= peak < 1.1 * CACHE_BYTES
    np.testing.assert_array_equal(result[:11, 0], [*(2.0**i for i in range(10)), 0])
    assert not arguments[0].any()


def test_a_donated_cache_is_not_copied_at_all() -> None:
    program = mind_runtime.compile(module(CACHE, CACHE_INPUTS, "tensor<1000x64xf32>"), donate=("cache",))
    program(*cache_arguments())
    arguments = cache_arguments()
    result, peak = peak_of(program, *arguments)
    assert result.ctypes.data == arguments[0].ctypes.data
    assert peak < CACHE_BYTES / 10


STEP = """
%d = ptir.dynamic_update_slice %cache, %row, %start sizes = [1, 64]
  : (tensor<1000x64xf32>, tensor<1x64xf32>, tensor<2xsi32>) -> tensor<1000x64xf32>
{more}
func.return %d{returned} : tensor<1000x64xf32>{types}
"""


@pytest.mark.parametrize(
    ("more", "returned", "types", "copies"),
    [
        ("", "", "", 0),
        # The old cache is used afterwards, and then in its turn written to.
        ("%s = ptir.neg %cache : tensor<1000x64xf32>", ", %s", ", tensor<1000x64xf32>", 1),
    ],
)
def test_a_donated_cache_is_written_to_unless_it_is_still_used(more: str, returned: str, types: str, copies: int) -> None:
    body = STEP.format(more=more, returned=returned, types=types)
    inputs = "%cache: tensor<1000x64xf32>, %row: tensor<1x64xf32>, %start: tensor<2xsi32>"
    program = mind_runtime.compile(module(body, inputs, f"tensor<1000x64xf32>{types}"), donate=["cache"])
    start = np.array([3, 0], np.int32)
    program(*cache_arguments()[:2], start)
    (cache, row, _) = cache_arguments()
    _, peak = peak_of(program, cache, row, start)
    assert copies * CACHE_BYTES <= peak < (copies + 0.2) * CACHE_BYTES
    assert cache[3, 0] == (0 if copies else 1)


SCATTERS = {
    "scatter_add": "%d = ptir.scatter_add %cache, %at, %rows update_window_dims = [1] inserted_window_dims = [0]"
    " scatter_dims_to_operand_dims = [0] : (tensor<1000x64xf32>, tensor<2xsi32>, tensor<2x64xf32>) -> tensor<1000x64xf32>",
    "scatter_reduce": "%at2 = ptir.broadcast_to %column result_shape = [2, 64] : tensor<2x1xsi32> -> tensor<2x64xsi32>\n"
    "%d = ptir.scatter_reduce %cache, %at2, %rows kind = max axis = 0"
    " : (tensor<1000x64xf32>, tensor<2x64xsi32>, tensor<2x64xf32>) -> tensor<1000x64xf32>",
}
COLUMN = "%column = ptir.reshape %at new_shape = [2, 1] : tensor<2xsi32> -> tensor<2x1xsi32>\n"
SCATTER_INPUTS = "%cache: tensor<1000x64xf32>, %at: tensor<2xsi32>, %rows: tensor<2x64xf32>"


def scatter_arguments() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.zeros((1000, 64), np.float32), np.array([3, 999], np.int32), np.ones((2, 64), np.float32)


@pytest.mark.parametrize("op", SCATTERS)
@pytest.mark.parametrize(
    ("more", "returned", "copies"),
    [("", "", 0), ("%s = ptir.neg %cache : tensor<1000x64xf32>", ", %s", 1)],
    ids=["dies", "lives"],
)
def test_a_scatter_writes_to_what_dies_and_to_nothing_else(op: str, more: str, returned: str, copies: int) -> None:
    types = ", tensor<1000x64xf32>" * copies
    body = f"{COLUMN}{SCATTERS[op]}\n{more}\nfunc.return %d{returned} : tensor<1000x64xf32>{types}"
    program = mind_runtime.compile(module(body, SCATTER_INPUTS, f"tensor<1000x64xf32>{types}"), donate=["cache"])
    program(*scatter_arguments())
    cache, at, rows = scatter_arguments()
    found, peak = peak_of(program, cache, at, rows)
    first = found[0] if copies else found
    assert (first.ctypes.data == cache.ctypes.data) == (copies == 0)
    assert copies * CACHE_BYTES <= peak < (copies + 0.2) * CACHE_BYTES
    assert sorted(np.flatnonzero(first.sum(1))) == [3, 999]
    (expected, *_) = evaluate(function_of(module(body, SCATTER_INPUTS, f"tensor<1000x64xf32>{types}")), scatter_arguments())
    np.testing.assert_array_equal(first, expected)


@pytest.mark.parametrize("op", SCATTERS)
@pytest.mark.parametrize("donate", [(), ("cache",)])
def test_a_loop_of_scatters_copies_once_at_most(op: str, donate: tuple[str, ...]) -> None:
    step = SCATTERS[op].replace("%cache", "%c").replace("%at,", "%a,").replace("%rows", "%r").replace("%column", "%k")
    body = f"""{COLUMN}
%zero = ptir.constant 0 : tensor<si32>
%i, %end, %x, %y, %z = ptir.while %zero, %cache, %at, %rows, %column :
    (tensor<si32>, tensor<1000x64xf32>, tensor<2xsi32>, tensor<2x64xf32>, tensor<2x1xsi32>)
    -> (tensor<si32>, tensor<1000x64xf32>, tensor<2xsi32>, tensor<2x64xf32>, tensor<2x1xsi32>) cond {{
^bb0(%i: tensor<si32>, %c: tensor<1000x64xf32>, %a: tensor<2xsi32>, %r: tensor<2x64xf32>, %k: tensor<2x1xsi32>):
  %ten = ptir.constant 10 : tensor<si32>
  %p = ptir.compare %i, %ten kind = less : (tensor<si32>, tensor<si32>) -> tensor<i1>
  ptir.yield %p, %i, %c, %a, %r, %k
    : tensor<i1>, tensor<si32>, tensor<1000x64xf32>, tensor<2xsi32>, tensor<2x64xf32>, tensor<2x1xsi32>
}} body {{
^bb0(%i: tensor<si32>, %c: tensor<1000x64xf32>, %a: tensor<2xsi32>, %r: tensor<2x64xf32>, %k: tensor<2x1xsi32>):
  %one = ptir.constant 1 : tensor<si32>
  %j = ptir.add %i, %one : tensor<si32>
  {step}
  ptir.yield %j, %d, %a, %r, %k
    : tensor<si32>, tensor<1000x64xf32>, tensor<2xsi32>, tensor<2x64xf32>, tensor<2x1xsi32>
}}
func.return %end : tensor<1000x64xf32>"""
    program = mind_runtime.compile(module(body, SCATTER_INPUTS, BIG), donate=donate)
    program(*scatter_arguments())
    arguments = scatter_arguments()
    found, peak = peak_of(program, *arguments)
    copies = 1 - len(donate)
    assert copies * CACHE_BYTES <= peak < (copies + 0.2) * CACHE_BYTES
    assert found[3, 0] == (10 if op == "scatter_add" else 1)
    assert arguments[0].any() == (not copies)


BIG = "tensor<1000x64xf32>"
CHAINS = {
    "a chain": ("%a = ptir.exp %x : T\n%b = ptir.add %a, %x : T\n%r = ptir.maximum %b, %y : T", 1, 2),
    "the second operand": ("%a = ptir.exp %x : T\n%r = ptir.sub %y, %a : T", 1, 1),
    "both operands are one": ("%a = ptir.exp %x : T\n%r = ptir.mul %a, %a : T", 1, 1),
    "used again": ("%a = ptir.exp %x : T\n%b = ptir.neg %a : T\n%r = ptir.add %b, %a : T", 2, 1),
    "inputs are not ours": ("%r = ptir.add %x, %y : T", 1, 0),
    "another type": ("%a = ptir.exp %x : T\n%r = ptir.cast %a dtype = f64 : T -> tensor<1000x64xf64>", 3, 0),
    "a view of it is used again": (
        "%a = ptir.exp %x : T\n%v = ptir.reshape %a new_shape = [64, 1000] : T -> tensor<64x1000xf32>\n%b = ptir.neg %a : T\n"
        "%w = ptir.reshape %v new_shape = [1000, 64] : tensor<64x1000xf32> -> T\n%r = ptir.add %b, %w : T",
        2, 1,
    ),
    "two views": (
        "%a = ptir.exp %x : T\n%v = ptir.reverse %a axes = [0] : T\n%r = ptir.sub %a, %v : T", 2, 0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CHAINS)
def test_elementwise_results_take_the_memory_of_what_dies(case: str) -> None:
    body, arrays, reused = CHAINS[case]
    result = "tensor<1000x64xf64>" if "f64" in body else BIG
    text = f"{body}\nfunc.return %r : {result}".replace("T", BIG).replace(f"{BIG}ensor", "tensor")
    program = mind_runtime.compile(module(text, f"%x: {BIG}, %y: {BIG}", result))
    assert program.source.count("out=") == reused
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((1000, 64)).astype(np.float32) for _ in range(2))
    before = x.copy(), y.copy()
    program(x, y)
    found, peak = peak_of(program, x, y)
    assert arrays * CACHE_BYTES <= peak < (arrays + 0.2) * CACHE_BYTES
    assert program.memory_need(x, y) == arrays * CACHE_BYTES
    (expected,) = evaluate(function_of(module(text, f"%x: {BIG}, %y: {BIG}", result)), [x, y])
    assert np.array_equal(found, expected)
    assert np.array_equal(x, before[0])
    assert np.array_equal(y, before[1])


def test_what_cannot_be_donated_is_refused() -> None:
    program = module(CACHE, CACHE_INPUTS, "tensor<1000x64xf32>")
    assert failure(mind_runtime.compile, program, donate=["kv"]).code == "E7003"
    run = mind_runtime.compile(program, donate=["cache"])
    _, row, n = cache_arguments()
    read_only = np.zeros((1000, 64), np.float32)
    read_only.flags.writeable = False
    shared = np.zeros((1000, 64), np.float32)
    for cache, other in ((read_only, row), (np.zeros((64, 1000), np.float32).T, row), (shared, shared[:1])):
        e = failure(run, cache, other, n)
        assert e.code == "E2001"
        assert e.message.startswith("input cache of @f: expected a donated array")


def test_a_scan_of_no_steps_and_one_that_stacks_scalars() -> None:
    body = """
    %c, %s = ptir.scan %z, %x carry_count = 1 scan_output_count = 1 : (tensor<f32>, tensor<{n}xf32>) -> (tensor<f32>, tensor<{n}xf32>) body {{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %d = ptir.add %a, %b : tensor<f32>
      ptir.yield %d, %d : tensor<f32>, tensor<f32>
    }}
    func.return %c, %s : tensor<f32>, tensor<{n}xf32>"""
    for n in (0, 4):
        program = mind_runtime.compile(
            module(body.format(n=n), f"%z: tensor<f32>, %x: tensor<{n}xf32>", f"tensor<f32>, tensor<{n}xf32>")
        )
        x = np.arange(n, dtype=np.float32)
        total, sums = program(np.float32(1), x)
        np.testing.assert_array_equal(sums, np.cumsum(x) + 1)
        assert total == 1 + x.sum()


def deep(loops: int) -> str:
    """A loop in a loop, and so on."""
    head = "%{i}_ = ptir.scan %{x} carry_count = 0 scan_output_count = 1 : tensor<{o}xf32> -> tensor<{o}xf32> body {{\n^bb0(%{i}: tensor<{n}xf32>):\n"
    text = "".join(
        head.format(i=f"a{d}", x=f"a{d - 1}", n="x".join("1" * (loops - d + 1)), o="x".join("1" * (loops - d + 2)))
        for d in range(1, loops + 1)
    )
    tail = "".join(
        f"ptir.yield %{'r' if d == loops else f'a{d + 1}_'} : tensor<{'x'.join('1' * (loops - d + 1))}xf32>\n}}\n"
        for d in range(loops, 0, -1)
    )
    return f"{text}%r = ptir.neg %a{loops} : tensor<1xf32>\n{tail}func.return %a1_ : tensor<{'x'.join('1' * (loops + 1))}xf32>"


def test_loops_nested_deeper_than_python_can_say_are_refused() -> None:
    for loops in (17, 19, 30):
        type = f"tensor<{'x'.join('1' * (loops + 1))}xf32>"
        program = module(deep(loops), f"%a0: {type}", type)
        if loops == 17:
            assert mind_runtime.compile(program)(np.ones([1] * 18, np.float32)).ravel() == [-1]
        else:
            e = failure(mind_runtime.compile, program)
            assert (e.code, e.op is not None) == ("E6003", True)
            assert "as Python nests 20 at most" in e.message
            assert "xDSL's interpreter" in e.message


def test_the_interpreter_nests_loops_as_deeply_as_they_come() -> None:
    type = f"tensor<{'x'.join('1' * 31)}xf32>"
    (found,) = interpreted(module(deep(30), f"%a0: {type}", type), np.ones([1] * 31, np.float32))
    assert found.ravel() == [-1]


# Dynamic dimensions

STACKED = """
%a = ptir.scan %x carry_count = 0 scan_output_count = 1 : (tensor<4x?xf32{0}>) -> tensor<4x?xf32{1}> body {{
^bb0(%e: tensor<?xf32{2}>):
  %n = ptir.neg %e : tensor<?xf32{2}> -> tensor<?xf32{3}>
  ptir.yield %n : tensor<?xf32{3}>
}}
func.return %a : tensor<4x?xf32{1}>
"""
MATRIX, VECTOR = ', "*,N"', ', "N"'


@pytest.mark.parametrize(
    ("names", "code", "message"),
    [
        (("", "", "", ""), "E6003", 'name the dimension where an input has it, as in tensor<4x?xf32, "*,N">'),
        (("", MATRIX, "", VECTOR), "E8001", "the size of dimension N is not known here"),
        ((MATRIX, MATRIX, VECTOR, VECTOR), None, ""),
    ],
    ids=["nowhere", "inside", "everywhere"],
)
def test_what_a_scan_stacks_has_sizes_that_are_known_before_it(names: tuple[str, ...], code: str | None, message: str) -> None:
    """Where they are not the error says so; xDSL's interpreter needs none."""
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    program = module(STACKED.format(*names), f"%x: tensor<4x?xf32{names[0]}>", f"tensor<4x?xf32{names[1]}>")
    if code is None:
        np.testing.assert_array_equal(mind_runtime.compile(program)(x), -x)
    else:
        e = failure(mind_runtime.compile, program)
        assert (e.code, e.op is not None, message in e.message) == (code, True, True)
    np.testing.assert_array_equal(interpreted(program, x)[0], -x)


def test_a_size_that_only_a_branch_knows_is_not_used_after_it() -> None:
    body = """
    %c = ptir.cond %p, %x : (tensor<i1>, tensor<?xf32>) -> tensor<f32> true {
    ^bb0(%a: tensor<?xf32>):
      %n = ptir.neg %a : tensor<?xf32> -> tensor<?xf32, "N">
      %s = ptir.reduce %n kind = sum axes = [0] keepdims = false : tensor<?xf32, "N"> -> tensor<f32>
      ptir.yield %s : tensor<f32>
    } false {
    ^bb0(%a: tensor<?xf32>):
      %s = ptir.constant 1.0 : tensor<f32>
      ptir.yield %s : tensor<f32>
    }
    %r = ptir.broadcast_to %c result_shape = [N] : tensor<f32> -> tensor<?xf32, "N">
    func.return %r : tensor<?xf32, "N">"""
    e = failure(mind_runtime.compile, module(body, "%p: tensor<i1>, %x: tensor<?xf32>", 'tensor<?xf32, "N">'))
    assert (e.code, e.context["name"]) == ("E8001", "N")


def test_names_are_bound_at_entry_and_a_mismatch_is_one_error_before_any_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    body = """%y = ptir.add %x, %w : tensor<?x4xf32, "B,*">
              %s = ptir.reduce %y kind = sum axes = [1] keepdims = false : tensor<?x4xf32, "B,*"> -> tensor<?xf32, "B">
              func.return %s : tensor<?xf32, "B">"""
    program = mind_runtime.compile(module(body, '%x: tensor<?x4xf32, "B,*">, %w: tensor<?x4xf32, "B,*">', 'tensor<?xf32, "B">'))
    for n in (0, 1, 5):
        np.testing.assert_array_equal(program(np.ones((n, 4), np.float32), np.ones((n, 4), np.float32)), np.full(n, 8.0))
    monkeypatch.setattr(np, "add", None)
    e = failure(program, np.ones((1, 4), np.float32), np.ones((5, 4), np.float32))
    assert (e.code, e.category, e.context) == ("E8001", "DynamicDimensionMismatch", {"name": "B", "extents": (1, 5)})
    assert e.message == "input w of @f: dimension 0, B, has size 5, elsewhere 1; expected one size"
    e = failure(program, np.ones((2, 3), np.float32), np.ones((2, 4), np.float32))
    assert (e.code, e.message) == (
        "E2001",
        "input x of @f: expected a NumPy array of float32[B, 4], found float32[2, 3]: dimension 1 is 3, expected 4",
    )


DYNAMIC = {
    "add": ("%y = ptir.add %x, %w : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>", "tensor<?xf32>", (1,), (3,), "E3001"),
    "names": (
        '%y = ptir.add %x, %w : (tensor<?xf32, "A">, tensor<?xf32, "B">) -> tensor<?xf32, "A">', 'tensor<?xf32, "A">', (1,), (3,), "E3001",
    ),
    "slice": ("%y = ptir.slice %x starts = [1] sizes = [2] : tensor<?xf32> -> tensor<2xf32>", "tensor<2xf32>", (2,), (3,), "E4012"),
    "reshape": ("%y = ptir.reshape %x new_shape = [2, 2] : tensor<?xf32> -> tensor<2x2xf32>", "tensor<2x2xf32>", (5,), (3,), "E3007"),
    "claim": ("%y = ptir.concat %x, %w axis = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<5xf32>", "tensor<5xf32>", (3,), (3,), "E8001"),
    "broadcast": (
        "%y = ptir.broadcast_to %x result_shape = [4] : tensor<?xf32> -> tensor<4xf32>", "tensor<4xf32>", (2,), (3,), "E3001",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DYNAMIC)
def test_what_a_rule_left_to_the_run_is_checked_there(name: str) -> None:
    line, type, x, w, code = DYNAMIC[name]
    operand = [re.search(r"\(?(tensor<\?[^>]*>)", line), re.search(r", (tensor<\?[^>]*>)\)", line)]
    types = [m[1] if m else "tensor<?xf32>" for m in operand]
    program = mind_runtime.compile(module(f"{line}\nfunc.return %y : {type}", f"%x: {types[0]}, %w: {types[1]}", type))
    assert failure(program, np.ones(x, np.float32), np.ones(w, np.float32)).code == code


def test_names_in_properties_and_a_name_for_what_was_computed() -> None:
    body = """%i = ptir.iota shape = [B, 2] dtype = si32 axis = 0 : tensor<?x2xsi32, "B,*">
              %c = ptir.concat %x, %x axis = 0 : (tensor<?xf32, "B">, tensor<?xf32, "B">) -> tensor<?xf32, "C">
              %z = ptir.constant 1.0 : tensor<f32>
              %o = ptir.broadcast_to %z result_shape = [C] : tensor<f32> -> tensor<?xf32, "C">
              %y = ptir.add %c, %o : tensor<?xf32, "C">
              func.return %i, %y : tensor<?x2xsi32, "B,*">, tensor<?xf32, "C">"""
    program = module(body, '%x: tensor<?xf32, "B">', 'tensor<?x2xsi32, "B,*">, tensor<?xf32, "C">')
    x = np.arange(3, dtype=np.float32)
    numbers, y = mind_runtime.compile(program)(x)
    np.testing.assert_array_equal(numbers, [[0, 0], [1, 1], [2, 2]])
    np.testing.assert_array_equal(y, [1, 2, 3, 1, 2, 3])


def test_memory_is_checked_with_the_sizes_of_the_call() -> None:
    body = """%y = ptir.broadcast_to %x result_shape = [B, B] : tensor<?xf32, "B"> -> tensor<?x?xf32, "B,B">
              %z = ptir.neg %y : tensor<?x?xf32, "B,B">
              func.return %z : tensor<?x?xf32, "B,B">"""
    program = mind_runtime.compile(module(body, '%x: tensor<?xf32, "B">', 'tensor<?x?xf32, "B,B">'), memory_limit=14_000)
    assert program(np.ones(40, np.float32)).shape == (40, 40)
    assert failure(program, np.ones(60, np.float32)).code == "E6004"


def test_rules_of_dynamic_scatters_and_quantisation_are_asked_again_with_the_sizes() -> None:
    body = """%y = ptir.scatter_add %x, %i, %u update_window_dims = [1] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0]
                : (tensor<?x2xf32, "B,*">, tensor<1xsi32>, tensor<1x2xf32>) -> tensor<?x2xf32, "B,*">
              %q = ptir.quantize %y, %s, %z output_dtype = si8 axis = 0
                : (tensor<?x2xf32, "B,*">, tensor<?xf32>, tensor<?xsi8>) -> tensor<?x2xsi8, "B,*">
              func.return %q : tensor<?x2xsi8, "B,*">"""
    inputs = '%x: tensor<?x2xf32, "B,*">, %i: tensor<1xsi32>, %u: tensor<1x2xf32>, %s: tensor<?xf32>, %z: tensor<?xsi8>'
    program = mind_runtime.compile(module(body, inputs, 'tensor<?x2xsi8, "B,*">'))
    ones = [np.ones((2, 2), np.float32), np.array([1], np.int32), np.ones((1, 2), np.float32)]
    np.testing.assert_array_equal(program(*ones, np.ones(2, np.float32), np.zeros(2, np.int8)), [[1, 1], [2, 2]])
    assert failure(program, *ones, np.ones(3, np.float32), np.zeros(3, np.int8)).code == "E3003"


# Random numbers and custom calls


def test_the_seed_makes_the_numbers() -> None:
    body = """%a = ptir.rng_uniform shape = [5] dtype = f32 : tensor<5xf32>
              %b = ptir.rng_uniform shape = [5] dtype = f32 : tensor<5xf32>
              func.return %a, %b : tensor<5xf32>, tensor<5xf32>"""
    program = mind_runtime.compile(module(body, "", "tensor<5xf32>, tensor<5xf32>"))
    a, b = program()
    np.testing.assert_array_equal(program(seed=0), (a, b))
    assert not np.array_equal(a, b)
    assert not np.array_equal(program(seed=1)[0], a)
    for seed in (-1, 1 << 64, 1.5, True):
        assert failure(program, seed=seed).code == "E7001"
    np.testing.assert_array_equal(interpreted(module(body, "", "tensor<5xf32>, tensor<5xf32>")), (a, b))


CALL = """%y = ptir.custom_call %x target = "test.scale.v1" attrs = {factor = 3 : i64} : tensor<2xf32> -> tensor<2xf32>
          func.return %y : tensor<2xf32>"""


def test_custom_calls_run_what_is_registered_and_nothing_else() -> None:
    program = module(CALL, "%x: tensor<2xf32>", "tensor<2xf32>")
    x = np.array([1, 2], np.float32)
    e = failure(mind_runtime.compile, program)
    assert (e.code, e.category, e.context["target"]) == ("E8007", "Unimplemented", "test.scale.v1")
    for function, outcome in (
        (lambda xp, x, *, factor: x * np.float32(factor), [3, 6]),
        (lambda xp, x, *, factor: x, [1, 2]),
        (lambda xp, x, *, factor: x.astype("f8"), "E2001"),
        (lambda xp, x, *, factor: x[:1], "E8001"),
        (lambda xp, x, *, factor: (x, x), "E2007"),
        (lambda xp, x: x, "E8002"),
    ):
        register_custom_call("test.scale.v1", function)
        try:
            run = mind_runtime.compile(program)
            if isinstance(outcome, str):
                assert failure(run, x).code == outcome
            else:
                result = run(x)
                np.testing.assert_array_equal(result, outcome)
                assert not np.may_share_memory(result, x)
        finally:
            unregister_custom_call("test.scale.v1")
    assert failure(register_custom_call, "no_version", len).code == "E8002"


# Errors name the op; the interpreter mixes dialects


def test_run_time_errors_name_the_op_inside_of_a_region() -> None:
    body = """%y = ptir.cond %p, %x, %i : (tensor<i1>, tensor<3xf32>, tensor<1xsi32>) -> tensor<1xf32> true {
              ^bb0(%a: tensor<3xf32>, %j: tensor<1xsi32>):
                %t = ptir.take %a, %j : (tensor<3xf32>, tensor<1xsi32>) -> tensor<1xf32>
                ptir.yield %t : tensor<1xf32>
              } false {
              ^bb0(%a: tensor<3xf32>, %j: tensor<1xsi32>):
                %t = ptir.slice %a starts = [0] sizes = [1] : tensor<3xf32> -> tensor<1xf32>
                ptir.yield %t : tensor<1xf32>
              }
              func.return %y : tensor<1xf32>"""
    program = mind_runtime.compile(module(body, "%p: tensor<i1>, %x: tensor<3xf32>, %i: tensor<1xsi32>", "tensor<1xf32>"))
    x, outside = np.ones(3, np.float32), np.array([3], np.int32)
    e = failure(program, np.array(True), x, outside)
    assert (e.code, e.category, e.op and e.op.name) == ("E6001", "GatherIndexOutOfBounds", "ptir.take")
    assert program(np.array(False), x, outside) == [1]
    body = "%y = ptir.div %a, %a : tensor<si8>\nfunc.return %y : tensor<si8>"
    e = failure(mind_runtime.compile(module(body, "%a: tensor<si8>", "tensor<si8>")), np.int8(0))
    assert (e.code, e.op and e.op.name) == ("E8004", "ptir.div")


MIXED = """
func.func @power(%x: tensor<2xf32>, %n: index) -> (tensor<2xf32>, f32, index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %start = arith.constant dense<2.0> : tensor<2xf32>
  %y = scf.for %i = %zero to %n step %one iter_args(%a = %start) -> (tensor<2xf32>) {
    %b = func.call @step(%a, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    scf.yield %b : tensor<2xf32>
  }
  %first = tensor.extract %y[%zero] : tensor<2xf32>
  %size = tensor.dim %y, %zero : tensor<2xf32>
  %empty = tensor.empty() : tensor<2xf32>
  %z = tensor.insert %first into %empty[%one] : tensor<2xf32>
  func.return %z, %first, %size : tensor<2xf32>, f32, index
}
func.func @step(%a: tensor<2xf32>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %b = ptir.mul %a, %x : tensor<2xf32>
  func.return %b : tensor<2xf32>
}
"""


def test_the_interpreter_mixes_our_ops_with_func_scf_arith_and_tensor() -> None:
    program = parse(f'module attributes {{ptir.spec_version = "ptir.v0.4"}} {{\n{MIXED}\n}}')
    x = np.array([3, 5], np.float32)
    z, first, size = interpreted(program, x, 3)
    np.testing.assert_array_equal(z, [0, 54])
    assert (first, size) == (54.0, 2)
    np.testing.assert_array_equal(x, [3, 5])
