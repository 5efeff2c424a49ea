"""Mutated programs through mind-opt: exit status 0 or 1, never a traceback, never an error without a code of its own."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tool_runs import mind_opt

PROGRAM = """\
module attributes {mind.profile = "core-v1.1"} {
  func.func @f(%x: tensor<2x4x4x1xf32> {mind.name = "x"}, %k: tensor<2x2x1x1xf32>, %i: tensor<2xi64>)
      -> (tensor<2xf32>, tensor<f32>) {
    %0 = mind.conv2d %x, %k strides = [1, 1] padding = Same : (tensor<2x4x4x1xf32>, tensor<2x2x1x1xf32>) -> tensor<2x4x4x1xf32>
    %1 = mind.sum %0 axes = [1, 2, 3] keepdims = false : tensor<2x4x4x1xf32> -> tensor<2xf32>
    %c = mind.constant [nan, -0.0] : tensor<2xf32>
    %2 = mind.mul %1, %c : tensor<2xf32>
    %3 = mind.gather %2, %i : (tensor<2xf32>, tensor<2xi64>) -> tensor<2xf32>
    %4 = mind.reshape %3 new_shape = [-1, 1] : tensor<2xf32> -> tensor<2x1xf32>
    %5 = mind.squeeze %4 axes = [1] : tensor<2x1xf32> -> tensor<2xf32>
    %6 = mind.slice %5 starts = [0] ends = [2] steps = [1] : tensor<2xf32>
    %7 = mind.const_f32 1.5 : tensor<f32>
    %8 = "mind.add"(%7, %7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    func.return %6, %8 : tensor<2xf32>, tensor<f32>
  }
}
"""
CORE_IR = """\
%0 = Input {name=x} : tensor<f32[2, 3]>
%1 = Input {name=w} : tensor<f32[3, 2]>
%2 = MatMul (%0, %1) : tensor<f32[2, 2]>
%3 = ConstTensor {dtype=f32, shape=(2,), value=[1.5, -0.0]} : tensor<f32[2]>
%4 = Mul (%2, %3) : tensor<f32[2, 2]>
%5 = Sum (%4) {axes=[], keepdims=false} : tensor<f32[]>
outputs: %5
"""
TOKEN = re.compile(r'"[^"]*"|[%@#!][\w.]+|[\w.]+|\s+|.')
WORDS = [
    *"[ ] { } ( ) < > = : -> , -1 0 3 1.5 nan -inf 1e400 999999999999 %0 %x %99 i32 unit // axes keepdims fill true".split(),
    *"tensor<f32> tensor<0xf32> tensor<?xf32> tensor<*xf32> tensor<2xi1> ^bb0: loc(unknown) mind.profile !a=f32".split(),
    *"mind.div mind.foo scf.if xp.call func.return".split(),
    *("9" * 5000, '"', "\\", "\n", "\0", "é", "// -----"),
    *("#mind.literal<1.0 : tensor<f32>>", "dense<1.0> : tensor<2xf32>"),
]
RUNS = [
    (),
    ("--canonicalize",),
    ("--autodiff=output=0 seed=ones",),
    ("--lower-to-numpy",),
    ("-t", "numpy"),
    ("-t", "core-ir"),
    ("--verify-all",),
]


@st.composite
def mutated(draw: st.DrawFn, text: str) -> str:
    """A program with up to six tokens replaced, dropped, doubled or swapped."""
    tokens = TOKEN.findall(text)
    for _ in range(draw(st.integers(1, 6))):
        i = draw(st.integers(0, len(tokens) - 1))
        j = draw(st.integers(0, len(tokens) - 1))
        match draw(st.sampled_from("replace drop double swap insert copy".split())):
            case "replace":
                tokens[i] = draw(st.sampled_from(WORDS))
            case "drop":
                tokens[i] = ""
            case "double":
                tokens[i] *= 2
            case "swap":
                tokens[i], tokens[j] = tokens[j], tokens[i]
            case "insert":
                tokens[i] += draw(st.sampled_from(WORDS))
            case _:
                tokens[i] = tokens[j]
    return "".join(tokens)


def check(text: str | bytes, *args: str) -> None:
    result = mind_opt(*args, stdin=text)
    assert result.status in (0, 1)
    assert "Traceback" not in result.err
    assert "E7004" not in result.err, result.err
    assert bool(result.status) == bool(result.err)
    assert re.match(r"(error\[E\d{4}\]: \S|$)", result.err), result.err
    if not result.status and "-t" not in args:
        assert mind_opt(stdin=result.out).status == 0


FUZZ = settings(max_examples=150)


@FUZZ
@given(mutated(PROGRAM), st.sampled_from(RUNS))
def test_mutated_programs(text: str, run: tuple[str, ...]) -> None:
    check(text, *run)


@FUZZ
@given(mutated(CORE_IR), st.sampled_from(RUNS))
def test_mutated_core_ir(text: str, run: tuple[str, ...]) -> None:
    check(text, "-f", "core-ir", *run)


@FUZZ
@given(st.binary(max_size=60), st.integers(0, len(PROGRAM)))
def test_bytes_anywhere(data: bytes, at: int) -> None:
    check(PROGRAM[:at].encode() + data + PROGRAM[at:].encode())


@FUZZ
@given(st.text(max_size=40))
def test_any_options(options: str) -> None:
    check(PROGRAM, f"--autodiff={options}")
    check(PROGRAM, "-p", options)


@pytest.mark.parametrize("run", RUNS)
def test_the_seeds_are_good(run: tuple[str, ...]) -> None:
    """Else the mutations would test little."""
    for text, more in ((PROGRAM, ()), (CORE_IR, ("-f", "core-ir"))):
        result = mind_opt(*more, *run, stdin=text)
        assert (result.status, result.err) == (0, "")
