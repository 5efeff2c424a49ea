"""
Our passes inside another xDSL flow: a module of several dialects, the passes of both projects in one pipeline.

    python examples/embedding.py

The module holds a Core IR function beside one of `scf` and `arith`, as a host program would have it. `register` makes our
dialect known to the host's context; `get_all_passes` adds our passes to the host's own table. Verification by
`mind_dialect.verify` adds dominance and coded errors to xDSL's and leaves the ops of other dialects to their own verifiers.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.passes import PassPipeline
from xdsl.transforms import get_all_passes as get_xdsl_passes

import mind_dialect
from mind_dialect.verify import verify
from mind_tools.universe import get_all_passes

PROGRAM = """
func.func @loss(%x: tensor<2x3xf32>, %w: tensor<3xf32>) -> tensor<f32> {
  %0 = mind.mul %w, %x : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = mind.exp %0 : tensor<2x3xf32>
  %2 = mind.sum %1 axes = [] keepdims = false : tensor<2x3xf32> -> tensor<f32>
  func.return %2 : tensor<f32>
}

func.func @steps(%n: i32, %quick: i1) -> i32 {
  %zero = arith.constant 0 : i32
  %same = arith.addi %n, %zero : i32
  %steps = scf.if %quick -> (i32) {
    %ten = arith.constant 10 : i32
    scf.yield %ten : i32
  } else {
    scf.yield %same : i32
  }
  func.return %steps : i32
}
"""
PIPELINE = 'canonicalize,mind-canonicalize,mind-autodiff{function="loss" wrt="w"},cse'


def host_context() -> Context:
    """The context of a host that knows some dialects of xDSL, and now ours."""
    ctx = Context()
    for dialect in (builtin.Builtin, func.Func, arith.Arith, scf.Scf):
        ctx.load_dialect(dialect)
    mind_dialect.register(ctx)
    return ctx


def run(text: str = PROGRAM, pipeline: str = PIPELINE) -> ModuleOp:
    """Parse `text` with xDSL's own parser, run the pipeline, and verify before every pass and at the end."""
    ctx = host_context()
    module = Parser(ctx, text, "embedding").parse_module()
    passes = {**get_xdsl_passes(), **get_all_passes()}
    PassPipeline.parse_spec(passes, pipeline, lambda previous, module, following: verify(module)).apply(ctx, module)
    return module


if __name__ == "__main__":
    print(run())
