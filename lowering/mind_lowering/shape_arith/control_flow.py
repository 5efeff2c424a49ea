"""
`scf.if`, `scf.for` and `scf.while` that pass on sizes, shapes or witnesses, as the same ops that pass on numbers and truths.

Ranks are static: both branches, and all iterations, must pass on shapes of one rank. What a loop carries has a validity of its
own, as an iteration may make it invalid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from mind_dialect.shape.types import SHAPE_TYPES

from .numbers import Numbers
from .operands import Lowered, Refused
from .packing import PASSED_ON, PassedOn, joined, packing

INVALID = ("an earlier iteration returned an invalid value",)


class ValueLowering(Protocol):
    """Lowers the ops of a function."""

    to: Numbers

    def lowered(self, value: SSAValue) -> Lowered: ...
    def operand(self, value: SSAValue) -> SSAValue: ...
    def value(self, x: Lowered, type: Attribute) -> SSAValue: ...
    def define(self, values: Sequence[SSAValue], lowered: Sequence[Lowered]) -> None: ...
    def inside(self, op: Operation, block: Block) -> list[Lowered]: ...


def passes_shapes(op: Operation) -> bool:
    """Return whether an op passes on values of the dialect to or from its regions."""
    return any(isinstance(v.type, SHAPE_TYPES) for v in (*op.operands, *op.results))


def _packed(f: ValueLowering, packings: Sequence[PassedOn], xs: Sequence[Lowered]) -> list[SSAValue]:
    """The values to pass on."""
    found: list[SSAValue] = []
    for p, x in zip(packings, xs, strict=True):
        found += p.packed(f.to, x) if isinstance(p.type, PASSED_ON) else [f.value(x, p.type)]
    return found


def _unpacked(f: ValueLowering, packings: Sequence[PassedOn], values: Sequence[SSAValue]) -> list[Lowered]:
    """Return the lowered values that passed-on values stand for."""
    found: list[Lowered] = []
    rest = list(values)
    for p in packings:
        count = len(p.types)
        found.append(p.unpacked(f.to, rest[:count]))
        rest = rest[count:]
    return found


def _types(packings: Sequence[PassedOn]) -> list[Attribute]:
    return [t for p in packings for t in p.types]


def _packings(f: ValueLowering, xs: Sequence[Lowered], types: Sequence[Attribute], checked: bool | None = None) -> list[PassedOn]:
    if other := next((t for t in types if isinstance(t, SHAPE_TYPES) and not isinstance(t, PASSED_ON)), None):
        raise Refused(f"it passes on a {other}, which is not a number")
    return [packing(f.to, x, t, checked=checked) for x, t in zip(xs, types, strict=True)]


def _yield(f: ValueLowering, packings: Sequence[PassedOn], xs: Sequence[Lowered]) -> None:
    f.to.put(scf.YieldOp(*_packed(f, packings, xs)))


def _replace(f: ValueLowering, op: Operation, made: Operation, packings: Sequence[PassedOn]) -> None:
    """Put down the new op, whose results stand for those of the old one."""
    made.attributes = dict(op.attributes)
    f.to.put(made)
    f.define(op.results, _unpacked(f, packings, made.results))


def _if(f: ValueLowering, op: Operation) -> None:
    op = cast(scf.IfOp, op)
    blocks = [op.true_region.block, op.false_region.block]
    made, found, each = [Block(), Block()], list[list[Lowered]](), list[list[PassedOn]]()
    for block, new in zip(blocks, made, strict=True):
        with f.to.inside(new):
            found.append(f.inside(op, block))
            each.append(_packings(f, found[-1], op.result_types))
    packings = [joined(a, b) for a, b in zip(*each, strict=True)]
    for xs, new in zip(found, made, strict=True):
        with f.to.inside(new):
            _yield(f, packings, xs)
    regions = [Region(new) for new in made]
    operands = [f.operand(op.cond)]
    _replace(f, op, scf.IfOp.create(operands=operands, result_types=_types(packings), regions=regions), packings)


def _carried(f: ValueLowering, values: Sequence[SSAValue]) -> tuple[list[PassedOn], list[SSAValue]]:
    """Return how values are carried through a loop, and the values that it begins with."""
    xs = [f.lowered(v) for v in values]
    found = _packings(f, xs, [v.type for v in values], checked=True)
    packings = [joined(p, PassedOn(p.type, p.count, p.checked, INVALID)) if isinstance(p.type, PASSED_ON) else p for p in found]
    return packings, _packed(f, packings, xs)


def _entered(f: ValueLowering, block: Block, packings: Sequence[PassedOn], first: Sequence[Attribute] = ()) -> Block:
    """The new block of a region, whose arguments stand for those of the old one."""
    made = Block(arg_types=[*first, *_types(packings)])
    with f.to.inside(made):
        f.define(block.args, [*made.args[: len(first)], *_unpacked(f, packings, made.args[len(first) :])])
    return made


def _for(f: ValueLowering, op: Operation) -> None:
    op = cast(scf.ForOp, op)
    packings, initial = _carried(f, op.iter_args)
    block = op.body.block
    made = _entered(f, block, packings, [block.args[0].type])
    with f.to.inside(made):
        _yield(f, packings, f.inside(op, block))
    operands = [*map(f.operand, (op.lb, op.ub, op.step)), *initial]
    loop = scf.ForOp.create(
        operands=operands, result_types=_types(packings), properties=dict(op.properties), regions=[Region(made)]
    )
    _replace(f, op, loop, packings)


def _while(f: ValueLowering, op: Operation) -> None:
    op = cast(scf.WhileOp, op)
    packings, initial = _carried(f, op.arguments)
    before = _entered(f, op.before_region.block, packings)
    with f.to.inside(before):
        condition, *passed = f.inside(op, op.before_region.block)
        results = _packings(f, passed, op.result_types, checked=True)
        going_on = f.value(condition, i1)
        f.to.put(scf.ConditionOp(going_on, *_packed(f, results, passed)))
    after = _entered(f, op.after_region.block, results)
    with f.to.inside(after):
        _yield(f, packings, f.inside(op, op.after_region.block))
    regions = [Region(before), Region(after)]
    _replace(f, op, scf.WhileOp.create(operands=initial, result_types=_types(results), regions=regions), results)


CONTROL_FLOW: Mapping[type[Operation], Callable[[ValueLowering, Operation], None]] = {
    scf.IfOp: _if,
    scf.ForOp: _for,
    scf.WhileOp: _while,
}
"""Ops of other dialects whose regions may pass on values of this one."""
