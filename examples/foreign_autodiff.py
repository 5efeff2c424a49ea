"""
A dialect of somebody else becomes differentiable: two ops, one line of derivative each, none of our files touched.

The ops of `act` stand in a function of PTIR. Registered rules give the reverse and the forward derivative; their own lowering,
one rewrite pattern per op, makes the result run on any target.

    python examples/foreign_autodiff.py
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def
from xdsl.parser import Parser
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriter, PatternRewriteWalker, RewritePattern
from xdsl.pattern_rewriter import op_type_rewrite_pattern as rewrite

import mind_dialect
import mind_runtime
from mind_dialect.ptir import ExpOp, Log1pOp, LogisticOp, MulOp
from mind_passes.derivatives.registry import register_derivative
from mind_passes.functional import hessian_vector_product, value_and_grad
from mind_passes.ptir.construct import add, mul


@irdl_op_definition
class SoftplusOp(IRDLOperation):
    """`log(1 + exp(x))`."""

    name = "act.softplus"
    x = operand_def()
    result = result_def()
    assembly_format: ClassVar = "$x attr-dict `:` type($x) `->` type($result)"


@irdl_op_definition
class SquareOp(IRDLOperation):
    """`x * x`."""

    name = "act.square"
    x = operand_def()
    result = result_def()
    assembly_format: ClassVar = "$x attr-dict `:` type($x) `->` type($result)"


Act = Dialect("act", [SoftplusOp, SquareOp])

# What makes them differentiable. Both are elementwise, so one rule is the reverse and the forward one.
register_derivative(SoftplusOp, diagonal=(lambda op, v: mul(v, LogisticOp(op.x)),))
register_derivative(SquareOp, diagonal=(lambda op, v: mul(v, add(op.x, op.x)),))


class LowerSoftplus(RewritePattern):
    """`softplus(x) = log1p(exp(x))`."""

    @rewrite
    def match_and_rewrite(self, op: SoftplusOp, rewriter: PatternRewriter) -> None:
        exp = ExpOp(op.x)
        rewriter.replace(op, [exp, Log1pOp(exp)])


class LowerSquare(RewritePattern):
    """`square(x) = x * x`."""

    @rewrite
    def match_and_rewrite(self, op: SquareOp, rewriter: PatternRewriter) -> None:
        rewriter.replace(op, MulOp(op.x, op.x))


PROGRAM = """
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @loss(%x: tensor<3xf64>, %w: tensor<3xf64>) -> tensor<f64> {
    %p = ptir.mul %x, %w : tensor<3xf64>
    %s = act.softplus %p : tensor<3xf64> -> tensor<3xf64>
    %q = act.square %s : tensor<3xf64> -> tensor<3xf64>
    %l = ptir.reduce %q kind = sum axes = [0] keepdims = false : tensor<3xf64> -> tensor<f64>
    func.return %l : tensor<f64>
  }
}
"""


def parsed() -> ModuleOp:
    """The program, by a context that knows both dialects."""
    ctx = Context()
    for dialect in (Builtin, Func, Act):
        ctx.load_dialect(dialect)
    mind_dialect.register(ctx)
    return Parser(ctx, PROGRAM).parse_module()


def lowered(module: ModuleOp) -> ModuleOp:
    """The module without ops of `act`."""
    PatternRewriteWalker(GreedyRewritePatternApplier([LowerSoftplus(), LowerSquare()])).rewrite_module(module)
    return module


def main() -> None:
    gradient = value_and_grad(parsed(), wrt=["w"])
    print(gradient)
    x, w, v = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.1, -0.7]), np.array([1.0, 0.0, 0.0])
    loss, w_adj = mind_runtime.compile(lowered(gradient), "loss_grad")(x, w)
    print("loss", loss, "gradient", w_adj)
    product = hessian_vector_product(parsed(), wrt=["w"])
    print("Hessian times", v, "is", mind_runtime.compile(lowered(product), "loss_hvp")(x, w, v))


if __name__ == "__main__":
    main()
