"""
Our passes in somebody else's flow: a module of `func`, `scf` and `arith` descends the gradient of a Core IR function.

The module calls @loss_grad, which our pass adds; stock passes of xDSL run before and after ours; xDSL's interpreter runs the
result step by step. Nothing here needs mind-opt.

    python examples/foreign_flow.py
"""

from __future__ import annotations

import numpy as np
import xdsl.transforms
from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.dialects.scf import Scf
from xdsl.interpreter import Interpreter
from xdsl.interpreters.arith import ArithFunctions
from xdsl.interpreters.func import FuncFunctions
from xdsl.interpreters.scf import ScfFunctions
from xdsl.parser import Parser
from xdsl.passes import PassPipeline

import mind_dialect
import mind_runtime
from mind_dialect.verify import verify
from mind_tools.universe import get_all_passes

PROGRAM = """
// The squared error of a linear model: Core IR, one flat block.
func.func @loss(%x: tensor<4x2xf64>, %y: tensor<4xf64>, %w: tensor<2xf64>) -> tensor<f64> {
  %p = mind.dot %x, %w : (tensor<4x2xf64>, tensor<2xf64>) -> tensor<4xf64>
  %e = mind.sub %p, %y : tensor<4xf64>
  %s = mind.mul %e, %e : tensor<4xf64>
  %l = mind.mean %s axes = [] keepdims = false : tensor<4xf64> -> tensor<f64>
  func.return %l : tensor<f64>
}

// The descent: a loop of another dialect around ops of ours and a call of the gradient that does not exist yet.
func.func @fit(%x: tensor<4x2xf64>, %y: tensor<4xf64>, %w0: tensor<2xf64>) -> tensor<2xf64> {
  %first = arith.constant 0 : index
  %steps = arith.constant 200 : index
  %step = arith.constant 1 : index
  %fitted = scf.for %i = %first to %steps step %step iter_args(%w = %w0) -> (tensor<2xf64>) {
    %l, %w_adj = func.call @loss_grad(%x, %y, %w)
      : (tensor<4x2xf64>, tensor<4xf64>, tensor<2xf64>) -> (tensor<f64>, tensor<2xf64>)
    %rate = mind.const_f64 0.1 : tensor<f64>
    %change = mind.mul %rate, %w_adj : (tensor<f64>, tensor<2xf64>) -> tensor<2xf64>
    %next = mind.sub %w, %change : tensor<2xf64>
    scf.yield %next : tensor<2xf64>
  }
  func.return %fitted : tensor<2xf64>
}
"""
PIPELINE = 'canonicalize,mind-autodiff{function="loss" wrt="w"},licm,cse,canonicalize'


def compiled() -> ModuleOp:
    """The module with its gradient, through a pipeline of xDSL's passes and ours."""
    ctx = Context()
    for dialect in (Builtin, Func, Arith, Scf):
        ctx.load_dialect(dialect)
    mind_dialect.register(ctx)
    module = Parser(ctx, PROGRAM).parse_module()
    PassPipeline.parse_spec(xdsl.transforms.get_all_passes() | get_all_passes(), PIPELINE).apply(ctx, module)
    verify(module)
    return module


def fit(module: ModuleOp, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Run @fit in xDSL's interpreter, which knows our ops by their kernels."""
    interpreter = Interpreter(module)
    for functions in (FuncFunctions(), ScfFunctions(), ArithFunctions()):
        interpreter.register_implementations(functions)
    mind_runtime.register_implementations(interpreter)
    (fitted,) = interpreter.call_op("fit", (x, y, np.zeros(2)))
    return fitted


def main() -> None:
    """Show the module, then recover the weights that the data was made with."""
    module = compiled()
    print(module)
    x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, -1.0]])
    print("fitted", fit(module, x, x @ np.array([3.0, -2.0])).round(4))


if __name__ == "__main__":
    main()
