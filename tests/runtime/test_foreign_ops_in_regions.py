"""Ops of other dialects in regions of PTIR: refused by name where a function is compiled, dead or alive, on every target."""

from __future__ import annotations

import pytest

import mind_runtime
from mind_dialect.errors import MindError
from mind_tools.frontends import parse

MODULE = """module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%p: tensor<i1>, %x: tensor<3xf32>) -> tensor<3xf32> {{
    %r = ptir.cond %p, %x : (tensor<i1>, tensor<3xf32>) -> tensor<3xf32> true {{
    ^bb0(%a: tensor<3xf32>):
      {op}
      ptir.yield %{result} : tensor<3xf32>
    }} false {{
    ^bb0(%b: tensor<3xf32>):
      ptir.yield %b : tensor<3xf32>
    }}
    func.return %r : tensor<3xf32>
  }}
}}"""


@pytest.mark.parametrize(
    ("op", "result", "name"),
    [("%y = math.exp %a : tensor<3xf32>", "y", "math.exp"), ("%y = arith.constant 1 : i32", "a", "arith.constant")],
)
@pytest.mark.parametrize("target", ["numpy", "native"])
def test_refused(target: str, op: str, result: str, name: str) -> None:
    if target == "native":
        pytest.importorskip("llvmlite")
    with pytest.raises(MindError, match=rf"E4000: @f is not one block of PTIR: found {name}") as refused:
        mind_runtime.compile(parse(MODULE.format(op=op, result=result)), target=target)
    assert refused.value.op is not None
    assert refused.value.op.name == name
