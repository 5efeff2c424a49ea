"""
Today's shape dialect rewritten to the early form, op by op; what the early form cannot say is an error.

    shape.const_size, shape.const_shape     shape.constant; a negative extent is `?`
    shape.meet                              shape.join
    shape.value_as_shape of integers,
    shape.from_extent_tensor                shape.create_shape
    shape.broadcast of more than two        one of two, again and again
    shape.reduce with an index              with an i32 index, cast where it is used
    shape.yield                             shape.return

The early form has shapes and sizes only, no indices or extent tensors as such, no witnesses and no functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from mind_dialect import register
from mind_dialect import shape as sh
from mind_dialect.dominance import walk
from mind_dialect.errors import MindError, brief, error
from mind_dialect.shape.types import INDICES, ShapeType, SizeType, ValueShapeType, shape, size

from .generations import rename, replace, retype_counter


def to_early(module: Operation) -> None:
    """Rewrite every op of today's form inside `module`; E9013, and nothing is rewritten, if one has no early form."""
    found = [op for op in walk(module) if isinstance(op, sh.ShapeOp)]
    for op in found:
        _check(op)
    for op in found:
        if (rewrite := _REWRITES.get(type(op))) is not None:
            rewrite(op)


def _check(op: sh.ShapeOp) -> None:
    """E9013 unless the early form can say `op`."""
    if type(op) not in _SAID_EARLY:
        raise no_form(op, "the early specification has nothing like it")
    values = [*op.operand_types, *op.result_types]
    if isinstance(op, sh.YieldOp | sh.ReturnOp):
        parent = op.parent_op()
        if parent is not None and not isinstance(parent, sh.ReduceOp):
            raise no_form(op, f"it ends {parent.name}, which has none")
        values = []
    elif isinstance(op, sh.ReduceOp):
        values = values[:1]
    elif isinstance(op, sh.ShapeOfOp):
        values = values[1:]
    elif isinstance(op, sh.ValueAsShapeOp | sh.FromExtentTensorOp | sh.CreateShapeOp):
        if not INDICES.accepts(values[0]):
            raise no_form(op, f"its operand is {brief(values[0])}, expected a list of i32, i64 or index")
        values = values[1:]
    for found in values:
        if not isinstance(found, ShapeType | SizeType | ValueShapeType):
            raise no_form(op, f"a value of type {brief(found)}; the early form has !shape.shape and !shape.size only")


def no_form(op: Operation, issue: str) -> MindError:
    """E9013: an op that the early form cannot say."""
    return error("E9013", f"{op.name} has no early form: {issue}", operation=op, generation="early", issue=issue, op=op.name)


def _constant(op: Operation) -> None:
    value = cast(sh.ConstSizeOp | sh.ConstShapeOp, op).lattice()
    type: Attribute = size if isinstance(op, sh.ConstSizeOp) else shape
    replace(op, [sh.ConstantOp.of(value, type)])


def _broadcast(op: Operation) -> None:
    """The reason of a failure is kept by each step."""
    if not op.operands:
        replace(op, [sh.ConstantOp.of((), shape)])
        return
    if len(op.operands) == 1:
        Rewriter.replace_op(op, [], [op.operands[0]])
        return
    steps: list[Operation] = []
    last = op.operands[0]
    for operand in op.operands[1:]:
        steps.append(sh.BroadcastOp.create(operands=[last, operand], result_types=[shape], properties=op.properties))
        last = steps[-1].results[0]
    replace(op, steps)


def _create_shape(op: Operation) -> None:
    rename(op, sh.CreateShapeOp)


def _join(op: Operation) -> None:
    rename(op, sh.JoinOp)


def _reduce(op: Operation) -> None:
    block = cast(sh.ReduceOp, op).body.block
    retype_counter(op, block, i32)
    if isinstance(block.last_op, sh.YieldOp):
        rename(block.last_op, sh.ReturnOp)


_REWRITES: Mapping[type[Operation], Callable[[Operation], None]] = {
    sh.ConstSizeOp: _constant,
    sh.ConstShapeOp: _constant,
    sh.MeetOp: _join,
    sh.ValueAsShapeOp: _create_shape,
    sh.FromExtentTensorOp: _create_shape,
    sh.BroadcastOp: _broadcast,
    sh.ReduceOp: _reduce,
}
_SAID_EARLY = {*sh.EARLY_OPS, *_REWRITES, sh.AddOp, sh.MulOp, sh.ShapeOfOp, sh.DebugPrintOp, sh.YieldOp, sh.ReturnOp}


@dataclass(frozen=True)
class ShapeToEarlyPass(ModulePass):
    """Rewrite today's shape dialect to the form of its early specification; what that form cannot express is an error."""

    name = "mind-shape-to-early"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        to_early(op)
