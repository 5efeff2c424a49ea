"""PTIR programs for tests of the serialised forms: one function per row of `ptir_rows`, and programs with regions as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from mind_dialect.extents.dims import is_expression
from mind_dialect.ptir.types import read_type
from mind_dialect.ptir_program import SPEC_VERSION, VERSION_ATTRIBUTE
from mind_translate.ptir.rows import WITHOUT_ROW
from programs import parse
from ptir_rows import ROWS, Row, types

ACCEPTED = [row for row in ROWS if not row.is_refused]


def module_of(*functions: FuncOp) -> ModuleOp:
    module = ModuleOp(list(functions))
    module.attributes[VERSION_ATTRIBUTE] = StringAttr(SPEC_VERSION)
    return module


def function(arguments: str, body: Callable[..., Sequence[Operation]], name: str = "main") -> FuncOp:
    """A function that returns all results of its last op."""
    block = Block(arg_types=types(arguments))
    ops = body(*block.args)
    block.add_ops(ops)
    block.add_op(ReturnOp(*ops[-1].results))
    return FuncOp(name, ([a.type for a in block.args], [v.type for v in ops[-1].results]), Region(block))


def row_module(row: Row) -> ModuleOp:
    def body(*arguments: SSAValue) -> Sequence[Operation]:
        if row.op.OPCODE == "constant":
            return [row.op(**row.properties)]
        declared = None if row.declared is None else types(row.declared)
        return [row.op(*arguments, result_types=declared, **row.properties)]

    return module_of(function(row.operands, body))


def can_say(row: Row) -> bool:
    """Whether every dimension is a size or a name."""
    types = [v.type for op in row_module(row).walk() for v in (*op.operands, *op.results)]
    return not any(d == "?" or is_expression(d) for t in types for d in read_type(t).shape)


SAYABLE = [row for row in ACCEPTED if can_say(row) and row.op not in WITHOUT_ROW]
"""What both serialised forms can say."""


def has_negative_axis(row: Row) -> bool:
    """Whether the text changes in that axes are counted from 0."""
    axis, axes = row.properties.get("axis"), row.properties.get("axes", ())
    return any(a is not None and a < 0 for a in (axis, *axes))


REGIONS = """
module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @count(%n: tensor<si32>, %x: tensor<3x2xf32>, %p: tensor<i1>)
      -> (tensor<si32>, tensor<2xf32>, tensor<3xf32>, tensor<3x2xf32>) {
    %one = ptir.constant 1 : tensor<si32>
    %i = ptir.while %n : tensor<si32> cond {
    ^bb0(%a: tensor<si32>):
      %ten = ptir.constant 10 : tensor<si32>
      %t = ptir.compare %a, %ten kind = less : (tensor<si32>, tensor<si32>) -> tensor<i1>
      %a2 = ptir.reshape %a new_shape = [] : tensor<si32>
      ptir.yield %t, %a2 : tensor<i1>, tensor<si32>
    } body {
    ^bb0(%a: tensor<si32>):
      %u = ptir.constant 1 : tensor<si32>
      %b = ptir.add %a, %u : tensor<si32>
      ptir.yield %b : tensor<si32>
    }
    %z = ptir.constant [0.0, -inf] : tensor<2xf32>
    %c, %s = ptir.scan %z, %x carry_count = 1 scan_output_count = 1
      : (tensor<2xf32>, tensor<3x2xf32>) -> (tensor<2xf32>, tensor<3xf32>) body {
    ^bb0(%carry: tensor<2xf32>, %row: tensor<2xf32>):
      %v, %w = ptir.top_k %row k = 2 axis = 0 largest = true indices_dtype = si64
        : tensor<2xf32> -> (tensor<2xf32>, tensor<2xsi64>)
      %d = ptir.add %carry, %v : tensor<2xf32>
      %e = ptir.reduce %d kind = sum axes = [0] keepdims = false : tensor<2xf32> -> tensor<f32>
      ptir.yield %d, %e : tensor<2xf32>, tensor<f32>
    }
    %r = ptir.cond %p, %x : (tensor<i1>, tensor<3x2xf32>) -> tensor<3x2xf32> true {
    ^bb0(%y: tensor<3x2xf32>):
      %q = ptir.constant false : tensor<i1>
      %m = ptir.cond %q, %y : (tensor<i1>, tensor<3x2xf32>) -> tensor<3x2xf32> true {
      ^bb1(%k: tensor<3x2xf32>):
        %neg = ptir.neg %k : tensor<3x2xf32>
        ptir.yield %neg : tensor<3x2xf32>
      } false {
      ^bb1(%k: tensor<3x2xf32>):
        %g = ptir.fusion %k : tensor<3x2xf32> body {
        ^bb2(%h: tensor<3x2xf32>):
          %h1 = ptir.exp %h : tensor<3x2xf32>
          %h2 = ptir.tanh %h1 : tensor<3x2xf32>
          ptir.yield %h2 : tensor<3x2xf32>
        }
        ptir.yield %g : tensor<3x2xf32>
      }
      ptir.yield %m : tensor<3x2xf32>
    } false {
    ^bb0(%y: tensor<3x2xf32>):
      %y2 = ptir.abs %y : tensor<3x2xf32>
      ptir.yield %y2 : tensor<3x2xf32>
    }
    func.return %i, %c, %s, %r : tensor<si32>, tensor<2xf32>, tensor<3xf32>, tensor<3x2xf32>
  }
}
"""
"""Every op with regions, nested, in a form in which regions end in what they yield."""


def regions_module() -> ModuleOp:
    return parse(REGIONS)
