"""
Every op that can fail, used in every way, at every place, fails alike on all targets.

The NumPy target runs a program op by op, as it is written; what it raises, with code, category, text and context, is what the
other targets have to raise, whatever they made of the program.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import pytest

import mind_runtime
from cuda_emulation import compiler
from fake_device import Batch, compile_on_fake
from mind_dialect import ptir
from mind_dialect.dominance import walk
from mind_dialect.errors import MindError
from mind_dialect.op import DialectOp
from mind_dialect.ptir import OPS_BY_OPCODE
from mind_lowering.cupy.kernels.failures import sites_of
from mind_lowering.cupy.reasons import LIBRARY
from mind_passes.ptir.failing import can_fail
from mind_tools.frontends import parse

HEAD = 'module attributes {{ptir.spec_version = "ptir.v0.4"}} {{\n{0}\n}}'
GIVEN = "%x: tensor<4x2xsi32>, %i: tensor<3xsi32>, %y: tensor<3x2xsi32>, %c: tensor<i1>"
OPS: dict[str, tuple[str, str, list[int]]] = {
    "take": ("ptir.take %x, %i : (tensor<4x2xsi32>, tensor<3xsi32>)", "3x2", [0, 4, 9]),
    "take below 0": ("ptir.take %x, %i : (tensor<4x2xsi32>, tensor<3xsi32>)", "3x2", [0, -1, 1]),
    "gather": ("ptir.gather %x, %j axis = 0 : (tensor<4x2xsi32>, tensor<3x2xsi32>)", "3x2", [0, 4, 9]),
    "gather along 1": ("ptir.gather %y, %j axis = 1 : (tensor<3x2xsi32>, tensor<3x2xsi32>)", "3x2", [0, 1, 2]),
    "scatter_reduce": (
        "ptir.scatter_reduce %x, %j, %y axis = 0 kind = add : (tensor<4x2xsi32>, tensor<3x2xsi32>, tensor<3x2xsi32>)",
        "4x2",
        [3, 4, 0],
    ),
    "scatter_add": (
        "ptir.scatter_add %x, %i, %y update_window_dims = [1] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0] "
        ": (tensor<4x2xsi32>, tensor<3xsi32>, tensor<3x2xsi32>)",
        "4x2",
        [3, -1, 7],
    ),
    "scatter_add of windows": (
        "ptir.scatter_add %x, %i, %w update_window_dims = [1, 2] inserted_window_dims = [] scatter_dims_to_operand_dims = [0] "
        ": (tensor<4x2xsi32>, tensor<3xsi32>, tensor<3x2x2xsi32>)",
        "4x2",
        [2, 0, 3],
    ),
    "segment_reduce": (
        "ptir.segment_reduce %y, %i "
        "kind = sum num_segments = 4 indices_are_sorted = false unique = false : (tensor<3x2xsi32>, tensor<3xsi32>)",
        "4x2",
        [3, 4, 0],
    ),
    "gather_windows": (
        "ptir.gather_windows %x, %i offset_dims = [1] collapsed_slice_dims = [0] operand_batching_dims = [] "
        "start_indices_batching_dims = [] start_index_map = [0] index_vector_dim = 1 slice_sizes = [1, 2] mode = raise "
        ": (tensor<4x2xsi32>, tensor<3xsi32>)",
        "3x2",
        [0, 4, 9],
    ),
    "scatter_windows": (
        "ptir.scatter_windows %x, %i, %y kind = add update_window_dims = [1] inserted_window_dims = [0] input_batching_dims = [] "
        "scatter_indices_batching_dims = [] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 mode = raise unique = false "
        ": (tensor<4x2xsi32>, tensor<3xsi32>, tensor<3x2xsi32>)",
        "4x2",
        [3, 4, 0],
    ),
    "segment_reduce, unsorted": (
        "ptir.segment_reduce %y, %i "
        "kind = max num_segments = 4 indices_are_sorted = true unique = false : (tensor<3x2xsi32>, tensor<3xsi32>)",
        "4x2",
        [3, 1, 2],
    ),
    "segment_reduce, twice": (
        "ptir.segment_reduce %y, %i "
        "kind = max num_segments = 4 indices_are_sorted = false unique = true : (tensor<3x2xsi32>, tensor<3xsi32>)",
        "4x2",
        [3, 1, 3],
    ),
    "div": ("ptir.div %y, %j : (tensor<3x2xsi32>, tensor<3x2xsi32>)", "3x2", [1, 0, 2]),
    "remainder": ("ptir.remainder %y, %j : (tensor<3x2xsi32>, tensor<3x2xsi32>)", "3x2", [1, 0, 2]),
}
"""An op on `%x`, `%i` or on values computed from them, the shape of its result, and integers for `%i` on which it fails."""
FINE = [0, 1, 1]
"""Integers for `%i` on which none fails but those that divide, or that promise distinct ones."""
MADE = """%j0 = ptir.reshape %i new_shape = [3, 1] : tensor<3xsi32> -> tensor<3x1xsi32>
%j = ptir.broadcast_to %j0 result_shape = [3, 2] : tensor<3x1xsi32> -> tensor<3x2xsi32>
%w0 = ptir.reshape %y new_shape = [3, 2, 1] : tensor<3x2xsi32> -> tensor<3x2x1xsi32>
%w = ptir.broadcast_to %w0 result_shape = [3, 2, 2] : tensor<3x2x1xsi32> -> tensor<3x2x2xsi32>"""
USES: dict[str, str] = {
    "used": "%r = ptir.neg %t : tensor<{n}xsi32>",
    "unused": "%r = ptir.neg %y : tensor<3x2xsi32>",
    "the first row": "%s = ptir.slice %t starts = [0, 0] sizes = [1, 2] : tensor<{n}xsi32> -> tensor<1x2xsi32>\n"
    "%r = ptir.neg %s : tensor<1x2xsi32>",
    "nothing of it": "%r = ptir.slice %t starts = [0, 1] sizes = [2, 0] : tensor<{n}xsi32> -> tensor<2x0xsi32>",
    "times 0": "%z = ptir.constant fill 0 : tensor<{n}xsi32>\n%r = ptir.mul %t, %z : tensor<{n}xsi32>",
    "minus itself": "%r = ptir.sub %t, %t : tensor<{n}xsi32>",
    "never selected": "%z = ptir.constant fill 0 : tensor<{n}xsi32>\n%f = ptir.constant fill false : tensor<{n}xi1>\n"
    "%r = ptir.select %f, %t, %z : (tensor<{n}xi1>, tensor<{n}xsi32>, tensor<{n}xsi32>) -> tensor<{n}xsi32>",
    "in a sum of nothing": "%s = ptir.slice %t starts = [0, 0] sizes = [0, 2] : tensor<{n}xsi32> -> tensor<0x2xsi32>\n"
    "%r = ptir.reduce %s kind = sum axes = [0] keepdims = false : tensor<0x2xsi32> -> tensor<2xsi32>",
    "after one that cancels": "%m = ptir.neg %t : tensor<{n}xsi32>\n%r = ptir.neg %m : tensor<{n}xsi32>",
}


def indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def op_text(op: str) -> str:
    text, shape, _ = OPS[op]
    return f"{MADE}\n%t = {text} -> tensor<{shape}xsi32>"


def result_of(use: str, shape: str) -> str:
    """The type of `%r`."""
    return re.findall(r"tensor<[^>]*>", USES[use].format(n=shape).splitlines()[-1])[-1]


def straight(op: str, use: str) -> str:
    """The op by itself."""
    _, shape, _ = OPS[op]
    type = result_of(use, shape)
    body = f"{op_text(op)}\n{USES[use].format(n=shape)}\nfunc.return %r : {type}"
    return HEAD.format(f"func.func @f({GIVEN}) -> {type} {{\n{indented(body)}\n}}")


def outcome(run: Any, *arguments: Any) -> Any:
    """What a call gives, or all that its error says."""
    try:
        with np.errstate(all="ignore"):
            found = run(*arguments)
    except MindError as e:
        return e.code, e.category, e.message, e.context
    return [np.asarray(x).tolist() for x in (found if isinstance(found, tuple) else (found,))]


def arguments(integers: list[int], flag: bool = True) -> list[Any]:
    return [
        np.arange(8, dtype=np.int32).reshape(4, 2),
        np.array(integers, np.int32),
        np.arange(1, 7, dtype=np.int32).reshape(3, 2),
        np.array(flag),
    ]


def compiled(text: str, target: str) -> Any:
    if target == "cupy":
        compiler()
        return compile_on_fake(parse(text))
    if target == "native":
        pytest.importorskip("llvmlite")
    return mind_runtime.compile(parse(text), target=target)


@lru_cache(maxsize=1)
def on_cupy() -> dict[tuple[str, str], Any]:
    """All straight programs, whose kernels are compiled together."""
    compiler()
    batch = Batch()
    return {case: batch.add(parse(straight(*case))) for case in product(OPS, USES)}


def same(found: Any, expected: Any, what: str) -> None:
    """Equal outcomes; a batch calls each of its functions by another name."""
    assert found == expected, f"{what}: {found}, expected {expected}"


@pytest.mark.parametrize("target", ["native", "cupy"])
@pytest.mark.parametrize("op", OPS)
def test_every_op_in_every_use(op: str, target: str) -> None:
    for use in USES:
        text = straight(op, use)
        run, reference = on_cupy()[op, use] if target == "cupy" else compiled(text, target), compiled(text, "numpy")
        for integers in (OPS[op][2], FINE, [1, 2, 3], [5, 0, 0]):
            values = arguments(integers)
            expected = outcome(reference, *values)
            same(outcome(run, *values), expected, f"{use} {integers}")
            if integers is OPS[op][2]:
                assert isinstance(expected, tuple), f"{use}: the op does not fail, the test would show nothing"


# At other places

PLACES: dict[str, str] = {
    "scan": """%x0, %i0, %y0, %b = ptir.scan %ox, %oi, %oy, %s carry_count = 3 scan_output_count = 1
    : (tensor<4x2xsi32>, tensor<3xsi32>, tensor<3x2xsi32>, tensor<{length}xsi32>)
    -> (tensor<4x2xsi32>, tensor<3xsi32>, tensor<3x2xsi32>, tensor<{length}xsi32>) body {{
  ^bb0(%x: tensor<4x2xsi32>, %i: tensor<3xsi32>, %y: tensor<3x2xsi32>, %e: tensor<si32>):
{body}
    ptir.yield %x, %i, %y, %e : tensor<4x2xsi32>, tensor<3xsi32>, tensor<3x2xsi32>, tensor<si32>
  }}""",
    "cond": """%b = ptir.cond %oc, %ox, %oi, %oy : (tensor<i1>, tensor<4x2xsi32>, tensor<3xsi32>, tensor<3x2xsi32>)
    -> tensor<3x2xsi32> true {{
  ^bb0(%x: tensor<4x2xsi32>, %i: tensor<3xsi32>, %y: tensor<3x2xsi32>):
{body}
    ptir.yield %y : tensor<3x2xsi32>
  }} false {{
  ^bb0(%xf: tensor<4x2xsi32>, %if: tensor<3xsi32>, %yf: tensor<3x2xsi32>):
    ptir.yield %yf : tensor<3x2xsi32>
  }}""",
    "while": """%c0, %x0, %i0, %b = ptir.while %oc, %ox, %oi, %oy
    : (tensor<i1>, tensor<4x2xsi32>, tensor<3xsi32>, tensor<3x2xsi32>)
    -> (tensor<i1>, tensor<4x2xsi32>, tensor<3xsi32>, tensor<3x2xsi32>) cond {{
  ^bb0(%cw: tensor<i1>, %xw: tensor<4x2xsi32>, %iw: tensor<3xsi32>, %yw: tensor<3x2xsi32>):
    ptir.yield %cw, %cw, %xw, %iw, %yw : tensor<i1>, tensor<i1>, tensor<4x2xsi32>, tensor<3xsi32>, tensor<3x2xsi32>
  }} body {{
  ^bb0(%c: tensor<i1>, %x: tensor<4x2xsi32>, %i: tensor<3xsi32>, %y: tensor<3x2xsi32>):
{body}
    %no = ptir.constant false : tensor<i1>
    ptir.yield %no, %x, %i, %y : tensor<i1>, tensor<4x2xsi32>, tensor<3xsi32>, tensor<3x2xsi32>
  }}""",
}
"""An op whose result is used by nobody in a region, which runs once, or not at all: for other lengths, or other predicates."""


def nested(op: str, place: str, length: int) -> str:
    """The op in a region, with ops before it that an optimiser takes away."""
    inside = PLACES[place].format(body=indented(indented(op_text(op))), length=length)
    body = f"%k = ptir.neg %oy : tensor<3x2xsi32>\n%s = ptir.constant fill 1 : tensor<{length}xsi32>\n{inside}"
    given = GIVEN.replace("%", "%o")
    return HEAD.format(
        f"func.func @f({given}) -> tensor<3x2xsi32> {{\n{indented(body)}\n  func.return %oy : tensor<3x2xsi32>\n}}"
    )


def called(op: str) -> str:
    """The op in a function that another calls, for nothing."""
    _, shape, _ = OPS[op]
    names = ", ".join(re.findall(r"%\w+", GIVEN))
    types = ", ".join(re.findall(r"tensor<[^>]*>", GIVEN))
    inner = (
        f"func.func @g({GIVEN}) -> tensor<{shape}xsi32> {{\n{indented(op_text(op))}\n  func.return %t : tensor<{shape}xsi32>\n}}"
    )
    call = f"%k = ptir.neg %y : tensor<3x2xsi32>\n%t = func.call @g({names}) : ({types}) -> tensor<{shape}xsi32>"
    return HEAD.format(
        f"func.func @f({GIVEN}) -> tensor<3x2xsi32> {{\n{indented(call)}\n  func.return %y : tensor<3x2xsi32>\n}}\n{inner}"
    )


@pytest.mark.parametrize("place", [*PLACES, "call"])
@pytest.mark.parametrize("op", OPS)
def test_every_op_at_every_place(op: str, place: str) -> None:
    for length in (0, 1, 2) if place == "scan" else (1,):
        text = called(op) if place == "call" else nested(op, place, length)
        run, reference = (mind_runtime.compile(parse(text), "f", target) for target in ("native", "numpy"))
        for integers, flag in product((OPS[op][2], [1, 2, 3]), (True, False)):
            values = arguments(integers, flag)
            expected = outcome(reference, *values)
            same(outcome(run, *values), expected, f"{length} {integers} {flag}")
            runs = (length > 0) if place == "scan" else flag or place == "call"
            assert isinstance(expected, tuple) or not (runs and integers is OPS[op][2])
            assert isinstance(expected, list) or runs


@pytest.mark.parametrize("place", PLACES)
def test_places_on_cupy(place: str) -> None:
    text = nested("take", place, 2)
    run, reference = compiled(text, "cupy"), compiled(text, "numpy")
    for integers, flag in product((OPS["take"][2], [1, 2, 3]), (True, False)):
        same(outcome(run, *arguments(integers, flag)), outcome(reference, *arguments(integers, flag)), f"{integers} {flag}")


CORE: dict[str, tuple[str, list[Any]]] = {
    "Gather": (
        """func.func @f(%x: tensor<3xf32>, %i: tensor<2xi64>) -> tensor<2xf32> {
  %n = mind.neg %x : tensor<3xf32>
  %m = mind.neg %n : tensor<3xf32>
  %g = mind.gather %m, %i : (tensor<3xf32>, tensor<2xi64>) -> tensor<2xf32>
  func.return %g : tensor<2xf32>
}""",
        [np.ones(3, np.float32), np.array([0, 3], np.int64)],
    ),
    "Gather, unused": (
        """func.func @f(%x: tensor<3xf32>, %i: tensor<2xi32>) -> tensor<3xf32> {
  %g = mind.gather %x, %i : (tensor<3xf32>, tensor<2xi32>) -> tensor<2xf32>
  %n = mind.neg %x : tensor<3xf32>
  func.return %n : tensor<3xf32>
}""",
        [np.ones(3, np.float32), np.array([0, -1], np.int32)],
    ),
    "Index": (
        """func.func @f(%x: tensor<3x2xf32>) -> tensor<f32> {
  %i = mind.index %x indices = [1, 5] : tensor<3x2xf32> -> tensor<f32>
  func.return %i : tensor<f32>
}""",
        [np.ones((3, 2), np.float32)],
    ),
    "Div": (
        """func.func @f(%x: tensor<3xi32>, %y: tensor<3xi32>) -> tensor<3xi32> attributes {mind.profile = "core-v1.1"} {
  %n = mind.neg %x : tensor<3xi32>
  %m = mind.neg %n : tensor<3xi32>
  %d = mind.div %m, %y : tensor<3xi32>
  func.return %d : tensor<3xi32>
}""",
        [np.arange(1, 4, dtype=np.int32), np.array([1, 0, 2], np.int32)],
    ),
}


@pytest.mark.parametrize("case", CORE)
def test_errors_of_core_ir(case: str) -> None:
    """They name the op of Core IR, in its own words."""
    text, values = CORE[case]
    outcomes = {target: outcome(compiled(text, target), *values) for target in ("numpy", "native", "cupy")}
    expected = outcomes["numpy"]
    assert isinstance(expected, tuple)
    assert expected[0] in ("E6001", "E6006")
    assert expected[1] == "RuntimeError"
    assert expected[2].startswith(case.partition(",")[0]), expected[2]
    for target, found in outcomes.items():
        same(found, expected, target)


def test_a_dynamic_program_names_its_op_at_every_call() -> None:
    """The first call runs the general program, later ones one that was compiled for the sizes."""
    text = """module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @f(%x: tensor<?xf32, "N">, %i: tensor<2xsi32>) -> tensor<2xf32> {
    %k = ptir.neg %x : tensor<?xf32, "N">
    %m = ptir.neg %k : tensor<?xf32, "N">
    %t = ptir.take %m, %i : (tensor<?xf32, "N">, tensor<2xsi32>) -> tensor<2xf32>
    func.return %t : tensor<2xf32>
  }
}"""
    values = [np.ones(3, np.float32), np.array([0, 7], np.int32)]
    for target in ("numpy", "native"):
        run = compiled(text, target)
        assert len({str(outcome(run, *values)) for _ in range(4)}) == 1


@pytest.mark.quick
def test_the_ops_that_can_fail_are_those_of_kernels() -> None:
    """An op can fail if and only if its kernels have sites; every such op is tried above."""
    failing = {op for op in OPS_BY_OPCODE.values() if op.CAN_FAIL or op.can_fail is not DialectOp.can_fail}
    tried = {type(op) for case in product(OPS, ["used"]) for op in walk(parse(straight(*case))) if can_fail(op)}
    assert tried == failing
    seen: set[str] = set()
    for case in product(OPS, USES):
        for op in walk(parse(straight(*case))):
            if isinstance(op, ptir.PtirOp) and not op.regions:
                assert bool(sites_of(op)) == (can_fail(op) and type(op) not in LIBRARY), op.name
                seen.add(op.OPCODE)
    assert {op.OPCODE for op in failing} <= seen


@pytest.mark.parametrize("code", ["div", "remainder"])
@pytest.mark.parametrize("target", ["numpy", "native"])
def test_division_by_a_constant(code: str, target: str) -> None:
    """By a number but 0 it does not fail, so it is erased where nothing reads it; by 0, or by several numbers, it stays."""

    def run(divisor: str) -> Any:
        return compiled(
            f"""module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%x: tensor<2xsi32>) -> tensor<2xsi32> {{
    %c = ptir.constant {divisor} : tensor<2xsi32>
    %dead = ptir.{code} %x, %c : tensor<2xsi32>
    %y = ptir.neg %x : tensor<2xsi32>
    func.return %y : tensor<2xsi32>
  }}
}}""",
            target,
        )

    x = np.array([5, -7], np.int32)
    for divisor in ("fill 3", "fill -1", "[3, 4]"):
        np.testing.assert_array_equal(run(divisor)(x), -x)
    for divisor in ("fill 0", "[3, 0]"):
        found = outcome(run(divisor), x)
        assert isinstance(found, tuple)
        assert found[0] == "E8004"
    if target == "native":
        assert not any(code in line for line in run("fill 3").explain())
        assert any(code in line for line in run("[3, 4]").explain())
