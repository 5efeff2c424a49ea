"""
Attention whose batch B and length T are known at a call only: errors early, shapes without running, one program for all sizes.

    python examples/dynamic_attention.py

A wrong T is refused when the program is compiled for it, a wrong B by a check on the host before any kernel runs. What is
returned has shapes that are told without running; sizes that come again get a program of their own, with the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.parser import Parser

import mind_runtime
from mind_dialect import register
from mind_dialect.errors import MindError
from mind_passes.shape.specialize import specialize

LONGEST = 16
"""The lengths that the table of distances below knows."""

PROGRAM = f"""
module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @attention(%q: tensor<?x?x64xf32, "B,T,*">, %k: tensor<?x?x64xf32, "B,T,*">, %v: tensor<?x?x64xf32, "B,T,*">,
                       %bias: tensor<{LONGEST}x{LONGEST}xf32>) -> tensor<?x?x64xf32, "B,T,*"> {{
    %scores = ptir.dot_general %q, %k batch_lhs = [0] batch_rhs = [0] contract_lhs = [2] contract_rhs = [2]
      : (tensor<?x?x64xf32, "B,T,*">, tensor<?x?x64xf32, "B,T,*">) -> tensor<?x?x?xf32, "B,T,T">
    %near = ptir.broadcast_to %bias result_shape = [B, T, T] : tensor<{LONGEST}x{LONGEST}xf32> -> tensor<?x?x?xf32, "B,T,T">
    %biased = ptir.add %scores, %near : tensor<?x?x?xf32, "B,T,T">
    %most = ptir.reduce %biased kind = max axes = [2] keepdims = true : tensor<?x?x?xf32, "B,T,T"> -> tensor<?x?x1xf32, "B,T,*">
    %mosts = ptir.broadcast_to %most result_shape = [B, T, T] : tensor<?x?x1xf32, "B,T,*"> -> tensor<?x?x?xf32, "B,T,T">
    %shifted = ptir.sub %biased, %mosts : tensor<?x?x?xf32, "B,T,T">
    %powers = ptir.exp %shifted : tensor<?x?x?xf32, "B,T,T">
    %sum = ptir.reduce %powers kind = sum axes = [2] keepdims = true : tensor<?x?x?xf32, "B,T,T"> -> tensor<?x?x1xf32, "B,T,*">
    %sums = ptir.broadcast_to %sum result_shape = [B, T, T] : tensor<?x?x1xf32, "B,T,*"> -> tensor<?x?x?xf32, "B,T,T">
    %weights = ptir.div %powers, %sums : tensor<?x?x?xf32, "B,T,T">
    %out = ptir.dot_general %weights, %v batch_lhs = [0] batch_rhs = [0] contract_lhs = [2] contract_rhs = [1]
      : (tensor<?x?x?xf32, "B,T,T">, tensor<?x?x64xf32, "B,T,*">) -> tensor<?x?x64xf32, "B,T,*">
    func.return %out : tensor<?x?x64xf32, "B,T,*">
  }}
}}
"""


def attention() -> ModuleOp:
    """The program, parsed."""
    ctx = Context()
    for dialect in (Builtin, Func):
        ctx.load_dialect(dialect)
    register(ctx)
    return Parser(ctx, PROGRAM).parse_module()


def refusal(action: Callable[..., object], *arguments: object) -> str:
    """The message of the error that a call raises."""
    try:
        action(*arguments)
    except MindError as e:
        return str(e)
    raise AssertionError("nothing was refused")


def inputs(b: int, t: int) -> list[np.ndarray]:
    """Random arguments for sizes of B and T."""
    random = np.random.default_rng(b * 100 + t)
    q, k, v = (random.standard_normal((b, t, 64), np.float32) for _ in range(3))
    return [q, k, v, np.zeros((LONGEST, LONGEST), np.float32)]


def expected(q: np.ndarray, k: np.ndarray, v: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """The same in NumPy."""
    scores = q @ k.swapaxes(1, 2) + bias
    powers = np.exp(scores - scores.max(2, keepdims=True))
    return powers / powers.sum(2, keepdims=True) @ v


def main() -> None:
    print("for T = 20, at compile time:")
    print(" ", refusal(specialize, attention(), {"T": 20}))

    program = mind_runtime.compile(attention())
    q, k, _, bias = inputs(2, LONGEST)
    print("for two sizes of B, before any kernel:")
    print(" ", refusal(program, q, k, inputs(3, LONGEST)[2], bias))
    print("for T = 20, before any kernel:")
    print(" ", refusal(program, *inputs(2, 20)[:3], bias))

    print("shapes without running:", mind_runtime.output_shapes(program, (8, 16, 64), (8, 16, 64), (8, 16, 64), (16, 16)))
    for b in (1, 2, 8):
        for _ in range(3):
            given = inputs(b, LONGEST)
            np.testing.assert_allclose(program(*given), expected(*given), rtol=2e-4, atol=2e-5)
    print("the results are NumPy's")


if __name__ == "__main__":
    main()
