"""
The early form of the shape dialect rewritten to that of today, op by op; what today's cannot say is an error.

    shape.constant 3, [3, 4]          shape.const_size 3, shape.const_shape [3, 4] : !shape.shape
    shape.constant_dim                shape.const_size
    shape.join                        shape.meet
    shape.create_shape                shape.value_as_shape; of indices, shape.from_extent_tensor
    shape.reduce with an i32 index    with an index, cast where it is used
    shape.return in a reduce          shape.yield

Ops of no operands at all are constants, as upstream cannot read the text that it prints for them:

    shape.from_extents, shape.broadcast        shape.const_shape []
    shape.cstr_eq                              shape.const_witness true
    shape.shape_eq, shape.is_broadcastable     arith.constant true

Types and the order of ops stay, and so do attributes, names and places.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, cast

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect import shape as sh
from mind_dialect.dominance import walk
from mind_dialect.errors import MindError, brief, error
from mind_dialect.shape.types import ElementType, index, is_extents, shape

from .generations import mentions, rename, replace, retype_counter

UnknownConstants = Literal["error", "keep", "dynamic"]


def modernize(module: Operation, unknown: UnknownConstants = "error") -> None:
    """
    Rewrite every op of the early form inside `module`.

    `unknown` says what becomes of constants that are unknown, unranked or invalid: E9013, or stay as they are, which upstream
    reads in generic form, or, of ranked shapes, the number that upstream has for a dynamic extent. E9013 for
    `!shape.element_type`, too. Nothing is rewritten if there is an error.
    """
    found = list(walk(module))
    for op in found:
        if mentions(op, ElementType):
            raise no_form(op, "today's dialect has no type !shape.element_type")
        if isinstance(op, sh.ConstantOp):
            _modern_constant(op, unknown)
        _of_nothing(op)
    for op in found:
        if isinstance(op, sh.ConstantOp):
            if (modern := _modern_constant(op, unknown)) is not None:
                replace(op, [modern])
        elif (constant := _of_nothing(op)) is not None:
            replace(op, [constant])
        elif (rewrite := _REWRITES.get(type(op))) is not None:
            rewrite(op)


def no_form(op: Operation, issue: str) -> MindError:
    """E9013: an op that today's dialect cannot say."""
    return error("E9013", f"{op.name} has no modern form: {issue}", operation=op, generation="modern", issue=issue, op=op.name)


def _modern_constant(op: sh.ConstantOp, unknown: UnknownConstants) -> sh.ShapeOp | None:
    """The constant of today's dialect; None to keep `op`, E9013 if there is none."""
    value = op.lattice()
    if isinstance(value, int):
        return sh.ConstSizeOp(value=value)
    if isinstance(value, tuple):
        known = [extent for extent in value if isinstance(extent, int)]
        if len(known) == len(value):
            return sh.ConstShapeOp.of(known, shape)
        if unknown == "dynamic":
            return sh.ConstShapeOp.of([e if isinstance(e, int) else DYNAMIC_INDEX for e in value], shape)
    if unknown == "keep":
        return None
    shown = brief(op.value)
    choices = "unknown=dynamic for a number that stands for it, unknown=keep" if isinstance(value, tuple) else "unknown=keep"
    raise no_form(
        op, f"the constant {shown} is not known in full; {choices} to keep the op, which upstream reads in generic form"
    )


def _constant_dim(op: Operation) -> None:
    replace(op, [sh.ConstSizeOp(value=cast(int, cast(sh.ConstantDimOp, op).lattice()))])


def _join(op: Operation) -> None:
    rename(op, sh.MeetOp)


def _create_shape(op: Operation) -> None:
    rename(op, sh.FromExtentTensorOp if is_extents(op.operands[0].type) else sh.ValueAsShapeOp)


def _empty_shape(result: Attribute) -> Operation:
    """The shape of no extents, of the type of `result` if that can be."""
    return sh.ConstShapeOp.of([], shape if result == shape else None)


def _truth(_: Attribute) -> Operation:
    return arith.ConstantOp(IntegerAttr.from_bool(True))


OF_NOTHING: Mapping[type[Operation], Callable[[Attribute], Operation] | None] = {
    sh.FromExtentsOp: _empty_shape,
    sh.BroadcastOp: _empty_shape,
    sh.CstrEqOp: lambda _: sh.ConstWitnessOp(passing=True),
    sh.ShapeEqOp: _truth,
    sh.IsBroadcastableOp: _truth,
    sh.AnyOp: None,
}
"""Results of variadic ops without operands; None for an op that gives nothing then."""


def _of_nothing(op: Operation) -> Operation | None:
    """The constant that an op without operands is; None for other ops, E9013 if there is no such constant."""
    if op.operands or type(op) not in OF_NOTHING:
        return None
    make, result = OF_NOTHING[type(op)], op.results[0].type
    if make is None:
        raise no_form(op, "it has no operands, so it is any one of no shapes")
    made = make(result)
    if made.results[0].type != result:
        raise no_form(op, f"upstream reads it with operands only, and there is no constant of type {brief(result)}")
    return made


def _reduce(op: Operation) -> None:
    block = cast(sh.ReduceOp, op).body.block
    retype_counter(op, block, index)
    if isinstance(block.last_op, sh.ReturnOp):
        rename(block.last_op, sh.YieldOp)


_REWRITES: Mapping[type[Operation], Callable[[Operation], None]] = {
    sh.ConstantDimOp: _constant_dim,
    sh.JoinOp: _join,
    sh.CreateShapeOp: _create_shape,
    sh.ReduceOp: _reduce,
}


@dataclass(frozen=True)
class ShapeModernizePass(ModulePass):
    """
    Rewrite the early form of the shape dialect to that of today's MLIR; of unknown constants see the option.

    Today's form has no constants that are unknown. `unknown=error`, the default, refuses them; `unknown=dynamic` writes the
    number that MLIR has for unknown extents, `unknown=keep` leaves them as they are.
    """

    name = "mind-shape-modernize"

    unknown: UnknownConstants = "error"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        if ctx.get_optional_dialect(arith.Arith.name) is None:
            ctx.load_dialect(arith.Arith)
        modernize(op, self.unknown)
