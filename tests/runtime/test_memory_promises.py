"""
What a program says that it needs in memory: no less than a run takes, not much more, and the limit from which it is refused.

Each row is a program whose arrays are so large that all else is small beside them. What a run of the NumPy target takes is what
NumPy reports to `tracemalloc`.
"""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import mind_runtime
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_lowering.memory_need import MAX_RANK, check_rank
from mind_lowering.numpy import lowered
from mind_lowering.xp.peak import peak
from mind_lowering.xp.peak_bound import PeakBound
from mind_passes.fusion.fuse import PtirFusePass
from mind_tools.frontends import parse
from programs import context
from ptir_evaluator import function_of
from ptir_forms import program

SMALL = 1 << 16
"""Bytes of objects of Python, and of arrays of a few numbers."""


@dataclass(frozen=True)
class Case:
    """A module, and how many times what is taken may be said to be needed."""

    module: Any
    at_most: float = 1.3


def convolution(batch: int, groups: int, window: int, dtype: str = "f32") -> Case:
    side, channels, padding = 64, 16, window // 2
    values = {
        "strides": (1, 1),
        "padding": ((padding, padding),) * 2,
        "base_dilation": (1, 1),
        "window_dilation": (1, 1),
        "feature_group_count": groups,
    }
    types = f"{dtype}[{batch},{side},{side},{channels}] {dtype}[{window},{window},{channels // groups},{channels}]"
    # Windows of one element need no copy, and one channel per group needs no windows, neither of which is foreseen.
    at_most = 22.0 if groups == channels else 3.0 if window == 1 else 1.3
    return Case(program(types, lambda x, w: ptir.ConvolutionOp(x, w, **values)), at_most)


def patches(side: int, window: int) -> Case:
    """Windows of one element are a view of the padded image, which is then the result."""
    zero = ptir.PtirLiteralAttr.from_values(ptir.types.F32, (), (0.0,))
    values = {"window": (window, window), "strides": (1, 1), "dilation": (1, 1), "padding": ((1, 1), (1, 1)), "pad_value": zero}
    return Case(program(f"f32[1,{side},{side},4]", lambda x: ptir.ExtractPatchesOp(x, **values)), 2.2 if window == 1 else 1.3)


def pooled(side: int, dtype: str) -> Case:
    ones = (1, 1, 1, 1)
    values = {"window_dims": (1, 3, 3, 1), "strides": ones, "base_dilation": ones, "window_dilation": ones}
    padding = ((0, 0), (1, 1), (1, 1), (0, 0))
    return Case(
        program(f"{dtype}[1,{side},{side},8]", lambda x: ptir.ReduceWindowOp(x, kind="max", padding=padding, **values)), 1.6
    )


N = 1 << 18
T = f"tensor<{N}xf32>"
WIDE = f"tensor<8x{N}xf32>"


def branch(first: str, second: str, after: str) -> Case:
    """
    A branch of which one side, or both, makes something large, and something large after it.

    `large` makes and drops eight times the operand, `held` yields a value in memory of its own, `small` passes the operand on.
    """
    bodies = {
        "large": f"%w{{0}} = ptir.broadcast_to %a{{0}} result_shape = [8, {N}] : {T} -> {WIDE}\n"
        f"%e{{0}} = ptir.exp %w{{0}} : {WIDE}\n"
        f"%y{{0}} = ptir.reduce %e{{0}} kind = sum axes = [0] keepdims = false : {WIDE} -> {T}",
        "held": f"%y{{0}} = ptir.neg %a{{0}} : {T}",
        "small": f"%y{{0}} = ptir.stop_gradient %a{{0}} : {T}",
    }
    regions = [
        f"{{\n^bb0(%a{i}: {T}):\n{bodies[kind].format(i)}\nptir.yield %y{i} : {T}\n}}" for i, kind in enumerate((first, second))
    ]
    tail = bodies[after].format(9).replace("%a9", "%c")
    text = f"""module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%p: tensor<i1>, %x: {T}) -> {T} {{
    %m = ptir.exp %x : {T}
    %c = ptir.cond %p, %m : (tensor<i1>, {T}) -> {T} true {regions[0]} false {regions[1]}
    {tail}
    func.return %y9 : {T}
  }}
}}"""
    return Case(parse(text), 3.0)


def scan(length: int, outputs: int) -> Case:
    types = ", ".join([f"tensor<{length}x{N // 4}xf32>"] * outputs)
    one = f"tensor<{N // 4}xf32>"
    results = ", ".join(f"%r{i}" for i in range(outputs))
    text = f"""module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%h: {one}, %x: tensor<{length}x{N // 4}xf32>) -> ({types}) {{
    %l, {results} = ptir.scan %h, %x carry_count = 1 scan_output_count = {outputs}
      : ({one}, tensor<{length}x{N // 4}xf32>) -> ({one}, {types}) body {{
    ^bb0(%c: {one}, %e: {one}):
      %s = ptir.add %c, %e : {one}
      ptir.yield %s, {", ".join(["%s"] * outputs)} : {one}, {", ".join([one] * outputs)}
    }}
    func.return {results} : {types}
  }}
}}"""
    return Case(parse(text), 2.0)


def turned(x: Any) -> Any:
    return ptir.ReshapeOp(ptir.TransposeOp(x, perm=(1, 0)), new_shape=(-1,))


def spread(x: Any) -> Any:
    return ptir.ReshapeOp(ptir.BroadcastToOp(x, result_shape=(8, N // 8)), new_shape=(N,))


SQUARE = "tensor<512x512xf32>"
FLAT_BRANCH = f"""module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%p: tensor<i1>, %x: {SQUARE}) -> {T} {{
    %c = ptir.cond %p, %x : (tensor<i1>, {SQUARE}) -> {SQUARE} true {{
    ^bb0(%a: {SQUARE}):
      %n = ptir.transpose %a perm = [1, 0] : {SQUARE} -> {SQUARE}
      ptir.yield %n : {SQUARE}
    }} false {{
    ^bb0(%a: {SQUARE}):
      %n = ptir.transpose %a perm = [1, 0] : {SQUARE} -> {SQUARE}
      %e = ptir.exp %n : {SQUARE}
      ptir.yield %e : {SQUARE}
    }}
    %r = ptir.reshape %c new_shape = [{N}] : {SQUARE} -> {T}
    %y = ptir.neg %r : {T}
    func.return %y : {T}
  }}
}}"""
FLAT_LOOP = f"""module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%x: {SQUARE}, %s: tensor<2x512x512xf32>) -> {SQUARE} {{
    %t = ptir.transpose %x perm = [1, 0] : {SQUARE} -> {SQUARE}
    %c = ptir.scan %t, %s carry_count = 1 scan_output_count = 0 : ({SQUARE}, tensor<2x512x512xf32>) -> {SQUARE} body {{
    ^bb0(%a: {SQUARE}, %b: {SQUARE}):
      %r = ptir.reshape %a new_shape = [{N}] : {SQUARE} -> {T}
      %e = ptir.exp %r : {T}
      %q = ptir.reshape %e new_shape = [512, 512] : {T} -> {SQUARE}
      %m = ptir.add %q, %b : {SQUARE}
      ptir.yield %m : {SQUARE}
    }}
    func.return %c : {SQUARE}
  }}
}}"""


PRODUCTS_OF_BRANCH = f"""module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%p: tensor<i1>, %x: {SQUARE}) -> {SQUARE} {{
    %c = ptir.cond %p, %x : (tensor<i1>, {SQUARE}) -> {SQUARE} true {{
    ^bb0(%a: {SQUARE}):
      %e = ptir.exp %a : {SQUARE}
      ptir.yield %e : {SQUARE}
    }} false {{
    ^bb0(%a: {SQUARE}):
      %n = ptir.neg %a : {SQUARE}
      ptir.yield %n : {SQUARE}
    }}
    %y = ptir.dot_general %c, %c batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0]
      : ({SQUARE}, {SQUARE}) -> {SQUARE}
    %z = ptir.dot_general %y, %y batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0]
      : ({SQUARE}, {SQUARE}) -> {SQUARE}
    func.return %z : {SQUARE}
  }}
}}"""
WIDE_BRANCH = f"""module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%p: tensor<i1>, %x: {WIDE}) -> {WIDE} {{
    %c = ptir.cond %p, %x : (tensor<i1>, {WIDE}) -> {WIDE} true {{
    ^bb0(%a: {WIDE}):
      %e = ptir.exp %a : {WIDE}
      ptir.yield %e : {WIDE}
    }} false {{
    ^bb0(%a: {WIDE}):
      %e = ptir.neg %a : {WIDE}
      ptir.yield %e : {WIDE}
    }}
    func.return %c : {WIDE}
  }}
}}"""


CASES: dict[str, Case] = {
    **{
        f"convolution of {groups} groups, {batch} images, {window} by {window}": convolution(batch, groups, window)
        for groups in (1, 2, 4, 16)
        for batch in (1, 2)
        for window in (1, 3)
    },
    **{f"patches of {window}": patches(96, window) for window in (1, 2, 3)},
    **{
        f"convolution of {dtype}, {groups} groups": convolution(1, groups, 3, dtype)
        for dtype in ("f16", "f64")
        for groups in (1, 2)
    },
    **{f"pool of {dtype}": pooled(160, dtype) for dtype in ("f32", "f64", "f16", "si8", "si32")},
    **{
        f"branch: {a} or {b}, then {c}": branch(a, b, c)
        for a in ("large", "held", "small")
        for b in ("large", "held", "small")
        for c in ("large", "held", "small")
    },
    **{f"scan of {length}, {outputs} outputs": scan(length, outputs) for length in (1, 2, 8) for outputs in (1, 2)},
    "chain": Case(program(f"f32[{N}]", lambda x: ptir.ExpOp(ptir.NegOp(ptir.TanhOp(x))))),
    "wide chain": Case(program(f"f32[{N}] f32[{N}]", lambda x, y: [ptir.AddOp(ptir.ExpOp(x), ptir.TanhOp(y)), ptir.MulOp(x, y)])),
    "product": Case(
        program(
            "f32[512,512] f32[512,512]",
            lambda x, y: ptir.DotGeneralOp(x, y, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,)),
        )
    ),
    "transposed": Case(program("f32[512,512]", lambda x: ptir.ExpOp(ptir.TransposeOp(x, perm=(1, 0))))),
    "transposed twice, then flat": Case(program("f32[512,512] f32[512,512]", lambda x, y: ptir.AddOp(turned(x), turned(y)))),
    "transposed, written over, then flat": Case(
        program(
            "f32[512,512]",
            lambda x: ptir.SliceOp(
                ptir.ReshapeOp(ptir.NegOp(ptir.ExpOp(ptir.TransposeOp(x, perm=(1, 0)))), new_shape=(N,)), starts=[0], sizes=[2]
            ),
        )
    ),
    "broadcast, then flat": Case(program(f"f32[{N // 8}] f32[{N // 8}]", lambda x, y: ptir.AddOp(spread(x), spread(y)))),
    "a flat result of a branch": Case(parse(FLAT_BRANCH), 1.6),
    "products of what a branch gives": Case(parse(PRODUCTS_OF_BRANCH)),
    "a branch of large results": Case(parse(WIDE_BRANCH)),
    "flat in a loop": Case(parse(FLAT_LOOP), 2.0),
}


def arguments(run: Any, flag: bool) -> list[Any]:
    rng = np.random.default_rng(0)
    return [np.array(flag) if s.dtype.name == "i1" else rng.standard_normal(s.shape).astype(s.numpy_dtype) for s in run.inputs]


def taken(run: Any, given: list[Any]) -> int:
    """The most bytes that a run holds at once beyond its arguments."""
    run(*given)
    tracemalloc.start()
    try:
        run(*given)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", CASES)
def test_a_run_takes_what_it_is_said_to_need(name: str) -> None:
    case = CASES[name]
    run = mind_runtime.compile(case.module)
    most = max(taken(run, arguments(run, flag)) for flag in (True, False))
    need = run.memory_need(*arguments(run, True))
    assert most - SMALL <= need <= case.at_most * most + SMALL


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("target", ["numpy", "native"])
def test_a_limit_is_kept_to_the_byte(name: str, target: str) -> None:
    if target == "native":
        pytest.importorskip("llvmlite")
    module = CASES[name].module
    run = mind_runtime.compile(module, target=target)
    need = run.memory_need(*arguments(run, True))
    mind_runtime.compile(module, target=target, memory_limit=need)
    with pytest.raises(MindError) as caught:
        mind_runtime.compile(module, target=target, memory_limit=need - 1)
    assert caught.value.code == "E6004"
    assert f"{need} bytes are needed at once, {need - 1} are available" in caught.value.message


@pytest.mark.parametrize(("dtype", "stored", "computed"), [("f32", 4, 0), ("f64", 8, 0), ("si8", 1, 0), ("f16", 2, 4)])
def test_what_a_reduction_of_windows_needs(dtype: str, stored: int, computed: int) -> None:
    """The result, the padded input twice, and where it computes in a wider type the input and the result in that."""
    padded, x, out = 42 * 42 * 8, 40 * 40 * 8, 40 * 40 * 8
    run = mind_runtime.compile(pooled(40, dtype).module)
    assert run.memory_need(*arguments(run, True)) == out * stored + 2 * padded * max(stored, computed) + (x + out) * computed


@pytest.mark.parametrize("name", CASES)
def test_the_bound_of_the_peak_is_no_less(name: str) -> None:
    block = lowered(function_of(CASES[name].module)).func.body.block
    assert PeakBound(block).of({}) >= peak(block).bytes


def test_the_bound_of_the_peak_for_sizes() -> None:
    text = """module attributes {ptir.spec_version = "ptir.v0.4"} {
      func.func @f(%x: tensor<?x?xf32, "B,T">, %y: tensor<?xf32, "B+T">) -> (tensor<?x?xf32, "B,T">, tensor<?xf32, "B+T">) {
        %a = ptir.exp %x : tensor<?x?xf32, "B,T">
        %b = ptir.neg %a : tensor<?x?xf32, "B,T">
        %c = ptir.exp %y : tensor<?xf32, "B+T">
        func.return %b, %c : tensor<?x?xf32, "B,T">, tensor<?xf32, "B+T">
      }
    }"""
    block = lowered(function_of(parse(text))).func.body.block
    bound = PeakBound(block)
    for b, t in ((3, 5), (0, 7), (1000, 1), (0, 0)):
        sizes = {"B": b, "T": t}
        assert bound.of(sizes) >= peak(block, sizes).bytes
        assert bound.of(sizes) <= 4 * (3 * max(b, 1) * max(t, 1) + max(b + t, 1))


def test_a_fusion_needs_its_results() -> None:
    module = program(f"f32[{N}]", lambda x: ptir.ExpOp(ptir.NegOp(x)))
    PtirFusePass().apply(context(), module)
    block = function_of(module).body.block
    assert any(isinstance(op, ptir.FusionOp) for op in block.ops)
    assert peak(block).bytes == 4 * N


def test_the_most_dimensions_are_those_of_numpy() -> None:
    np.zeros((1,) * MAX_RANK)
    with pytest.raises(ValueError, match="dimension"):
        np.zeros((1,) * (MAX_RANK + 1))
    check_rank(tensor_of_rank(MAX_RANK))
    with pytest.raises(MindError, match=f"E6003: rank {MAX_RANK + 1} is not supported"):
        check_rank(tensor_of_rank(MAX_RANK + 1))


def tensor_of_rank(rank: int) -> Any:
    return ptir.types.tensor_type(ptir.types.F32, (1,) * rank)
