"""Putting ops into a block under construction, copies and what rules made; places for the errors of rules."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Block, Operation, OpResult, SSAValue

from mind_dialect.errors import MindError
from mind_dialect.op import DialectOp, value_of


def append(block: Block, value: SSAValue | Operation, source: Operation | None = None) -> SSAValue:
    """
    Append the unattached ops that `value` is made of, operands first, at the place in the text of `source`.

    Rules nest a few ops; a loop rather than recursion leaves how many to them.
    """
    value = value_of(value)
    if not isinstance(value, OpResult) or value.op.parent is not None:
        return value
    stack = [(value.op, iter(value.op.operands))]
    while stack:
        op, operands = stack[-1]
        inner = next((x.op for x in operands if isinstance(x, OpResult) and x.op.parent is None), None)
        if inner is not None:
            stack.append((inner, iter(inner.operands)))
            continue
        stack.pop()
        if source is not None:
            op.location = source.location
        block.add_op(op)
    return value


def discard(values: Iterable[SSAValue | Operation]) -> None:
    """Erase the unattached ops that only `values` are made of, so that nothing attached keeps them as uses."""
    stack = [value_of(value) for value in values]
    erased: set[Operation] = set()
    while stack:
        x = stack.pop()
        if not isinstance(x, OpResult) or (op := x.op) in erased or op.parent is not None:
            continue
        if all(y.first_use is None for y in op.results):
            stack += op.operands
            erased.add(op)
            op.erase()


def place_of(op: Operation) -> str:
    """Return the name of `op` in errors."""
    return op.place() if isinstance(op, DialectOp) else op.name


def placed(found: MindError, op: Operation) -> MindError:
    """The error of a rule, attributed to the op that it is for unless it names one."""
    return found if found.op is not None else found.at(op, place_of(op))


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
