"""
From Core IR to `xp`: the one table that gives every op its kernel, and the pass that lowers whole functions with it.

Properties are resolved here, once: axes and slice bounds are made explicit, shapes are those of the result, padding becomes
four numbers. Values are freed after their last use. Outputs never share memory with inputs, constants or each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import core, shapes
from mind_dialect.core import CoreOp
from mind_dialect.core.attributes import BOOLEAN, INTEGERS
from mind_dialect.errors import MindError
from mind_dialect.literals import LiteralAttr
from mind_dialect.program import core_block, foreign_op, functions, holds_core_ir
from mind_dialect.types import Shape, read_type

from . import xp
from .xp import CONSTANT, COPY, FUNCTIONS, CallOp, FreeOp, ReturnOp, Storage, can_free, no_outputs

Arguments = dict[str, Attribute]


@dataclass(frozen=True)
class Kernel:
    """How an op is called: the function's name and, from the op, its keyword arguments."""

    callee: str
    arguments: Callable[[Any], Arguments] | None = None


def _ints(values: Any) -> Attribute:
    return INTEGERS.attribute(values)


def _scalar(op: core.ScalarConstant) -> Arguments:
    return {"value": LiteralAttr.filled(op.dtype, (), op.values()["value"])}


def _reduction(op: core.ReductionOp) -> Arguments:
    """The reduced axes, all of them where none are named; counting from the end was settled by the verifier."""
    values = op.values()
    axes = shapes.reduced_axes(op.operand_shape(0), values["axes"], negative=True)
    keepdims = bool(values["keepdims"] and values["axes"])
    return {"axis": _ints(axes), "keepdims": BOOLEAN.attribute(keepdims)}


def _sum(op: core.SumOp) -> Arguments:
    return {**_reduction(op), "dtype": op.dtype.type}


def _mean(op: core.MeanOp) -> Arguments:
    axes = shapes.reduced_axes(op.operand_shape(0), op.values()["axes"], negative=True)
    count = prod(op.operand_shape(0)[i] for i in axes)
    return {**_reduction(op), "count": IntegerAttr(count, i64)}


def _result_shape(op: CoreOp) -> Arguments:
    return {"shape": _ints(op.result_shape)}


def _slice(op: core.SliceOp) -> Arguments:
    bounds = shapes.slice_bounds(op.operand_shape(0), **op.values(), negative=True)
    return dict(zip(("starts", "ends", "steps"), map(_ints, bounds), strict=True))


def _slice_scatter(op: core.SliceScatterOp) -> Arguments:
    return {name: op.properties[name] for name in ("shape", "starts", "steps")}


def _index_scatter(op: core.IndexScatterOp) -> Arguments:
    return {name: op.properties[name] for name in ("shape", "indices")}


def _window(op: CoreOp, x: Shape, filter: Shape) -> Arguments:
    values = op.values()
    pads = shapes.conv2d_pads(x, filter, strides=values["strides"], padding=values["padding"])
    return {"strides": op.properties["strides"], "pads": _ints([n for pair in pads for n in pair])}


def _backward_input(op: core.Conv2dBackwardInputOp) -> Arguments:
    return {**_result_shape(op), **_window(op, op.result_shape, op.operand_shape(1))}


def _backward_filter(op: core.Conv2dBackwardFilterOp) -> Arguments:
    return {**_result_shape(op), **_window(op, op.operand_shape(0), op.result_shape)}


KERNELS: dict[type[CoreOp], Kernel] = {
    core.ConstI64Op: Kernel(CONSTANT, _scalar),
    core.ConstF32Op: Kernel(CONSTANT, _scalar),
    core.ConstF64Op: Kernel(CONSTANT, _scalar),
    core.ConstantOp: Kernel(CONSTANT, lambda op: {"value": op.literal}),
    core.AddOp: Kernel("xp.add"),
    core.SubOp: Kernel("xp.subtract"),
    core.MulOp: Kernel("xp.multiply"),
    core.DivOp: Kernel("k.divide"),
    core.SumOp: Kernel("xp.add.reduce", _sum),
    core.MeanOp: Kernel("k.mean", _mean),
    core.ReshapeOp: Kernel("k.reshape", _result_shape),
    core.TransposeOp: Kernel("k.transpose", lambda op: {"axes": op.permutation}),
    core.ExpandDimsOp: Kernel("k.reshape", _result_shape),
    core.SqueezeOp: Kernel("k.reshape", _result_shape),
    core.IndexOp: Kernel("k.index", lambda op: {"indices": op.indices}),
    core.SliceOp: Kernel("k.slice", _slice),
    core.GatherOp: Kernel("k.gather"),
    core.DotOp: Kernel("xp.matmul"),
    core.MatMulOp: Kernel("xp.matmul"),
    core.Conv2dOp: Kernel("k.conv2d", lambda op: _window(op, op.operand_shape(0), op.operand_shape(1))),
    core.ReluOp: Kernel("k.relu"),
    core.NegOp: Kernel("xp.negative"),
    core.ExpOp: Kernel("xp.exp"),
    core.LogOp: Kernel("xp.log"),
    core.ReluGradOp: Kernel("k.relu_grad"),
    core.ReciprocalOp: Kernel("xp.reciprocal"),
    core.BroadcastToOp: Kernel("xp.broadcast_to", _result_shape),
    core.ScatterAddOp: Kernel("k.scatter_add", _result_shape),
    core.SliceScatterOp: Kernel("k.slice_scatter", _slice_scatter),
    core.IndexScatterOp: Kernel("k.index_scatter", _index_scatter),
    core.Conv2dBackwardInputOp: Kernel("k.conv2d_backward_input", _backward_input),
    core.Conv2dBackwardFilterOp: Kernel("k.conv2d_backward_filter", _backward_filter),
}
"""Every op's kernel; a test closes the table over `mind_dialect.core`."""


def kernel_call(op: CoreOp) -> tuple[str, Arguments]:
    """The callee and keyword arguments that run a verified op."""
    kernel = KERNELS[type(op)]
    try:
        return kernel.callee, kernel.arguments(op) if kernel.arguments is not None else {}
    except MindError as e:
        raise e.at(op, op.place()) from None


def lower_function(func: FuncOp) -> None:
    """
    Replace the Core IR of a verified function by `xp` ops, in place and in linear time.

    Raises E4000 where the function is not one flat block of Core IR, E2007 where it returns nothing.
    """
    block = core_block(func)
    old = list(block.ops)
    lowered = _lower_ops(old, {argument: argument for argument in block.args})
    for op in reversed(old):
        block.erase_op(op)
    block.add_ops(lowered)


def lowered_copy(func: FuncOp) -> FuncOp:
    """As `lower_function`, but in a new function, which stands in no module."""
    block = core_block(func)
    copy = Block(arg_types=block.arg_types)
    for new, argument in zip(copy.args, block.args, strict=True):
        new.name_hint = argument.name_hint
    copy.add_ops(_lower_ops(list(block.ops), dict(zip(block.args, copy.args, strict=True))))
    return FuncOp.create(properties=dict(func.properties), attributes=dict(func.attributes), regions=[Region(copy)])


def _lower_ops(ops: list[Operation], values: dict[SSAValue, SSAValue]) -> list[Operation]:
    if not ops[-1].operands:
        raise no_outputs().at(ops[-1], ops[-1].name)
    calls = [_lower_op(op, values) for op in ops[:-1] if isinstance(op, CoreOp)]
    copies, ending = _lower_return(ops[-1], values)
    return _with_frees([*calls, *copies, ending])


def _lower_op(op: CoreOp, values: dict[SSAValue, SSAValue]) -> Operation:
    callee, arguments = kernel_call(op)
    old = op.results[0]
    call = _call(callee, [values[v] for v in op.operands], old.type, arguments)
    call.location = op.location
    result = call.results[0]
    result.name_hint = old.name_hint
    values[old] = result
    return call


def _call(callee: str, inputs: list[SSAValue], type: Attribute, arguments: Mapping[str, Attribute] | None = None) -> CallOp:
    return CallOp.create(operands=inputs, result_types=[type], properties=xp.call_properties(callee, arguments))


def _lower_return(op: Operation, values: Mapping[SSAValue, SSAValue]) -> tuple[list[Operation], ReturnOp]:
    """The return, and before it the copies which make each output a row-major array of its own."""
    copies: list[Operation] = []
    returned: list[SSAValue] = []
    taken: set[SSAValue] = set()
    for operand in op.operands:
        value = values[operand]
        memory = _own_memory(value)
        if memory is None or memory in taken or read_type(value.type)[1] == ():
            copy = _call(COPY, [value], value.type)
            copy.location = op.location
            copies.append(copy)
            value = copy.results[0]
        else:
            taken.add(memory)
        returned.append(value)
    ending = ReturnOp.create(operands=returned)
    ending.location = op.location
    return copies, ending


def _own_memory(value: SSAValue) -> SSAValue | None:
    """The value whose whole memory `value` is; None if that belongs to an input or a constant, or `value` is a part of it."""
    while isinstance(call := value.owner, CallOp):
        storage = FUNCTIONS[call.function]
        if storage is Storage.OWN:
            return value
        if storage is not Storage.WHOLE:
            return None
        value = call.operands[0]
    return None


def _with_frees(ops: list[Operation]) -> list[Operation]:
    """The ops with a free after each last use; a result that nothing uses is freed at once."""
    live: set[SSAValue] = set()
    backwards: list[Operation] = []
    for op in reversed(ops):
        dying: dict[SSAValue, None] = {}
        for value in (*op.operands, *op.results):
            if value not in live and can_free(value):
                dying[value] = None
        live.update(op.operands)
        if dying and not isinstance(op, ReturnOp):
            backwards.append(FreeOp.create(operands=list(dying)))
        backwards.append(op)
    backwards.reverse()
    return backwards


def lower_module(module: ModuleOp) -> None:
    """Lower every function that is Core IR; those of other dialects alone stay as they are, a mixture is E4000."""
    for func in list(functions(module)):
        if holds_core_ir(func) or _only_returns(func):
            lower_function(func)


def _only_returns(func: FuncOp) -> bool:
    """Whether a function just passes on some tensors of Core IR."""
    try:
        for argument in func.body.block.args if foreign_op(func) is None else ():
            read_type(argument.type)
    except MindError:
        return False
    return foreign_op(func) is None


@dataclass(frozen=True)
class LowerToNumpyPass(ModulePass):
    """Lower functions of Core IR to calls over an array namespace, values freed at their last use."""

    name = "mind-lower-to-numpy"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        xp.register(ctx)
        lower_module(op)
