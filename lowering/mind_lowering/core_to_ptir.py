"""
From Core IR to PTIR, function by function: what each op means is in `core_rules`, here are signatures, names and notes.

i32 and i64 become si32 and si64; names, profile and other attributes stay. ValueIds that a gradient function holds of its primal
are renumbered, as one op may become several.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, FunctionType, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.codecs import INTEGERS
from mind_dialect.core import CoreOp
from mind_dialect.errors import MindError
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.program import core_block, foreign_op, functions, holds_core_ir, value_ids
from mind_dialect.ptir_program import SPEC_VERSION, VERSION_ATTRIBUTE
from mind_dialect.types import read_type

from .core_rules import RULES, converted_type
from .emitter import Emitter

GRADIENT_OF, GRADIENT_IN = "mind.grad_of", "mind.grad_wrt"


@dataclass(frozen=True)
class Converted:
    """A converted function, for each of its ops the op that it comes from, and what each value became."""

    func: FuncOp
    origins: list[Operation]
    values: dict[SSAValue, SSAValue]


def is_core(func: FuncOp) -> bool:
    """Return whether `func` is to be taken for Core IR: it holds such ops, or it only passes on tensors of Core IR."""
    if holds_core_ir(func):
        return True
    if foreign_op(func) is not None:
        return False
    try:
        for argument in func.body.block.args:
            read_type(argument.type)
    except MindError:
        return False
    return True


def converted(func: FuncOp) -> Converted:
    """
    A verified function of Core IR as a new function of PTIR, which stands in no module; in linear time.

    Raises E4000 where the function is not one flat block of Core IR.
    """
    old = core_block(func)
    new = Block(arg_types=[converted_type(t) for t in old.arg_types])
    values: dict[SSAValue, SSAValue] = dict(zip(old.args, new.args, strict=True))
    for before, after in values.items():
        after.name_hint = before.name_hint
    emit = Emitter()
    for op in old.ops:
        emit.origin = op
        if isinstance(op, CoreOp):
            values[op.results[0]] = _convert_op(emit, op, [values[v] for v in op.operands])
    ending = _return(old.last_op, values)
    new.add_ops([*emit.ops, ending])
    type = FunctionType.from_lists(new.arg_types, ending.operand_types)
    properties = {**func.properties, "function_type": type}
    made = FuncOp.create(properties=properties, attributes=dict(func.attributes), regions=[Region(new)])
    made.location = func.location
    return Converted(made, emit.origins, values)


def _convert_op(emit: Emitter, op: CoreOp, operands: list[SSAValue]) -> SSAValue:
    try:
        value = RULES[type(op)](emit, op, operands)
    except MindError as e:
        raise e.at(op, op.place()) from None
    value.name_hint = op.results[0].name_hint
    return value


def _return(old: Operation | None, values: dict[SSAValue, SSAValue]) -> Operation:
    operands: Sequence[SSAValue] = () if old is None else old.operands
    ending = ReturnOp.create(operands=[values[v] for v in operands])
    if old is not None:
        ending.location = old.location
    return ending


def convert_module(module: ModuleOp) -> None:
    """Convert every function that is Core IR; those of other dialects alone stay as they are, a mixture is E4000."""
    renumbered: dict[str, dict[int, int]] = {}
    found = [func for func in functions(module) if is_core(func)]
    for func in found:
        result = converted(func)
        renumbered[func.sym_name.data] = _renumbering(func, result)
        replace_body(func, result.func)
    if found:
        module.attributes[VERSION_ATTRIBUTE] = StringAttr(SPEC_VERSION)
    for func in functions(module):
        _renumber(func, renumbered)


def _renumbering(func: FuncOp, result: Converted) -> dict[int, int]:
    """The new ValueId of each old one."""
    new = value_ids(result.func.body.block)
    return {i: new[result.values[value]] for value, i in value_ids(func.body.block).items()}


def replace_body(func: FuncOp, made: FuncOp) -> None:
    func.properties["function_type"] = made.function_type
    func.body.detach_block(old := func.body.block)
    made.body.move_blocks(func.body)
    old.erase(safe_erase=False)


def _renumber(func: FuncOp, renumbered: dict[str, dict[int, int]]) -> None:
    """Let the note on what a gradient function differentiates by mean the same values as before."""
    of, ids = func.attributes.get(GRADIENT_OF), func.attributes.get(GRADIENT_IN)
    if isinstance(of, SymbolRefAttr) and isinstance(ids, DenseArrayBase):
        new = renumbered.get(of.root_reference.data, {})
        old = INTEGERS.value(cast("DenseArrayBase[Any]", ids))
        func.attributes[GRADIENT_IN] = INTEGERS.attribute([new.get(i, i) for i in old])


@dataclass(frozen=True)
class ConvertMindToPtirPass(ModulePass):
    """Convert functions of Core IR to PTIR: broadcasting, padding and masks explicit, integers signed."""

    name = "mind-convert-to-ptir"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        convert_module(op)
