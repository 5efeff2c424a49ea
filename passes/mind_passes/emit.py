"""Putting ops into a block under construction: copies of given ones, and new ones that rules made."""

from __future__ import annotations

from xdsl.ir import Block, Operation, OpResult, SSAValue

from mind_dialect.op import value_of


def append(block: Block, value: SSAValue | Operation, source: Operation | None = None) -> SSAValue:
    """Append the unattached ops that `value` is made of, operands first, at the place in the text of `source`."""
    value = value_of(value)
    if isinstance(value, OpResult) and value.op.parent is None:
        _append_op(block, value.op, source)
    return value


def _append_op(block: Block, op: Operation, source: Operation | None) -> None:
    for x in op.operands:
        if isinstance(x, OpResult) and x.op.parent is None:
            _append_op(block, x.op, source)
    if source is not None:
        op.location = source.location
    block.add_op(op)


def copy(op: Operation, copies: dict[SSAValue, SSAValue]) -> Operation:
    """`op` on the copies of its operands; its results become copies too."""
    if op.regions:
        made = op.clone(copies)
    else:
        made = type(op).create(
            operands=[copies[x] for x in op.operands],
            result_types=op.result_types,
            properties=op.properties,
            attributes=op.attributes,
        )
        for original, result in zip(op.results, made.results, strict=True):
            result.name_hint = original.name_hint
            copies[original] = result
    made.location = op.location
    return made
