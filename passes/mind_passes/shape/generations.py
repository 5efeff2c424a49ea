"""Shared by both directions between the generations of the shape dialect: replace an op, rename one, look for a type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.arith import IndexCastOp
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Attribute, Block, Operation, ParametrizedAttribute
from xdsl.rewriter import Rewriter


def replace(op: Operation, new: Sequence[Operation]) -> None:
    """Replace `op` by ops the last of which gives its results, and has its names and attributes."""
    block, last = op.parent, new[-1]
    assert block is not None
    for made in new:
        made.location = op.location
    last.attributes = {**op.attributes, **last.attributes}
    for old, result in zip(op.results, last.results, strict=True):
        result.name_hint = old.name_hint
    block.insert_ops_before(new[:-1], op)
    Rewriter.replace_op(op, last)


def rename(op: Operation, new: type[Operation]) -> None:
    """Replace `op` by an op of another name with the same operands, properties and types."""
    replace(op, [new.create(operands=op.operands, result_types=op.result_types, properties=op.properties)])


def retype_counter(op: Operation, block: Block, type: Attribute) -> None:
    """Give the first argument of a `reduce` region another integer type; casts to that type go, other uses get one back."""
    old = block.args[0]
    if old.type == type:
        return
    casts = [user for use in old.uses if isinstance(user := use.operation, IndexCastOp) and user.result.type == type]
    new = Rewriter.replace_value_with_new_type(old, type)
    back = IndexCastOp.create(operands=[new], result_types=[old.type])
    back.location = op.location
    new.replace_all_uses_with(back.results[0])
    back.operands = [new]
    for user in casts:
        Rewriter.replace_op(user, [], [new])
    if back.results[0].first_use is None:
        back.erase()
    elif (first := block.first_op) is not None:
        block.insert_op_before(back, first)


def mentions(op: Operation, type: type[Attribute]) -> bool:
    """Return whether a value or attribute of `op` has, or holds, an attribute of class `type`."""
    values = [*op.operand_types, *op.result_types, *(a.type for r in op.regions for b in r.blocks for a in b.args)]
    return any(_holds(a, type) for a in (*values, *op.properties.values(), *op.attributes.values()))


def _holds(attribute: Attribute, type: type[Attribute]) -> bool:
    """Return whether `attribute` is of class `type`, or has one in it."""
    stack: list[Any] = [attribute]
    while stack:
        found = stack.pop()
        if isinstance(found, type):
            return True
        if isinstance(found, ParametrizedAttribute):
            stack += found.parameters
        elif isinstance(found, ArrayAttr | DictionaryAttr):
            held: Any = cast(Any, found).data
            stack += held.values() if isinstance(found, DictionaryAttr) else held
    return False
