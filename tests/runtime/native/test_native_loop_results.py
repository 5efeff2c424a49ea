"""Results of loops whose carries change places, in programs of several functions: read by the host, after it, and far away."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from mind_lowering.native.codegen import MOST_CALLS
from mind_runtime import compile
from mind_tools.frontends import parse


def loop(start: str, trips: str, init: str, result: str) -> str:
    """Running sums from the last row to the first, whose memory changes places with that of the carry."""
    types = "tensor<si64>, tensor<si64>, tensor<2x3xf64>"
    return f"""%{result}.count, %{result}.trips, %{result} = ptir.while {start}, {trips}, {init} : ({types}) -> ({types}) cond {{
      ^bb0(%i: tensor<si64>, %m: tensor<si64>, %a: tensor<2x3xf64>):
        %p = ptir.compare %i, %m kind = less : (tensor<si64>, tensor<si64>) -> tensor<i1>
        ptir.yield %p, %i, %m, %a : tensor<i1>, {types}
      }} body {{
      ^bb0(%i: tensor<si64>, %m: tensor<si64>, %a: tensor<2x3xf64>):
        %b = ptir.cumulative_sum %a axis = 0 exclusive = false reverse = true : tensor<2x3xf64>
        %one = ptir.constant 1 : tensor<si64>
        %j = ptir.add %i, %one : tensor<si64>
        ptir.yield %j, %m, %b : {types}
      }}"""


LOOP = loop("%z", "%n", "%x", "y")
IN_SCAN = f"""%y = ptir.scan %x, %w carry_count = 1 scan_output_count = 0
    : (tensor<2x3xf64>, tensor<2x2xf64>) -> tensor<2x3xf64> body {{
    ^bb0(%c: tensor<2x3xf64>, %row: tensor<2xf64>):
      %zero = ptir.constant 0 : tensor<si64>
      %three = ptir.constant 3 : tensor<si64>
      {loop("%zero", "%three", "%c", "inner")}
      ptir.yield %inner : tensor<2x3xf64>
    }}"""
HOST = "%h = ptir.ragged_dot %w, %y, %g kind = contract : (tensor<2x2xf64>, tensor<2x3xf64>, tensor<2xsi32>) -> tensor<2x2x3xf64>"
CHAIN = "\n".join(
    f"%t{i + 1} = ptir.sort %t{i} axis = {i % 2} descending = true : tensor<2x3xf64>" for i in range(MOST_CALLS + 40)
)
BODIES = {
    "read by the host": f"""{HOST}
      %t = ptir.reshape %y new_shape = [3, 2] : tensor<2x3xf64> -> tensor<3x2xf64>""",
    "read after the host": f"""{HOST.replace("%y", "%x")}
      %s = ptir.tanh %y : tensor<2x3xf64>
      %t = ptir.reshape %s new_shape = [3, 2] : tensor<2x3xf64> -> tensor<3x2xf64>""",
    "read far away": f"""{CHAIN.replace("%t0", "%x")}
      %s = ptir.add %t{MOST_CALLS + 40}, %y : tensor<2x3xf64>
      %t = ptir.reshape %s new_shape = [3, 2] : tensor<2x3xf64> -> tensor<3x2xf64>
      {HOST}""",
}


def program(looping: str, body: str) -> str:
    return f"""builtin.module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
    func.func @f(%n: tensor<si64>, %x: tensor<2x3xf64>, %w: tensor<2x2xf64>, %g: tensor<2xsi32>) -> (tensor<2x3xf64>, tensor<3x2xf64>, tensor<2x2x3xf64>) {{
      %z = ptir.constant 0 : tensor<si64>
      {looping}
      {body}
      func.return %y, %t, %h : tensor<2x3xf64>, tensor<3x2xf64>, tensor<2x2x3xf64>
    }}
  }}"""  # noqa: E501


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
@pytest.mark.parametrize("body", BODIES)
def test_a_result_that_another_function_reads(body: str, trips: int) -> None:
    rng = np.random.default_rng(trips)
    x, w = rng.standard_normal((2, 3)), rng.standard_normal((2, 2))
    module = parse(program(LOOP, BODIES[body]))
    given = (np.int64(trips), x, w, np.array([1, 1], np.int32))
    y, t, h = compile(module, target="native")(*given)
    expected = x
    for _ in range(trips):
        expected = np.cumsum(expected[::-1], axis=0)[::-1]
    np.testing.assert_allclose(y, expected, rtol=1e-14)
    for ours, theirs in zip((y, t, h), compile(module)(*given), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("body", ["read by the host", "read after the host"])
def test_a_loop_in_a_loop(body: str) -> None:
    module = parse(program(IN_SCAN, BODIES[body]))
    rng = np.random.default_rng(1)
    given = (np.int64(0), rng.standard_normal((2, 3)), rng.standard_normal((2, 2)), np.array([1, 1], np.int32))
    for ours, theirs in zip(compile(module, target="native")(*given), compile(module)(*given), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
