"""Shared by the derivatives of `cond`, `scan` and `while`: walking through a body, and putting new ops in their places."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import YieldOp

from ...emit import append, copy
from ...ptir import construct
from ..walks import Forward, Reverse


@dataclass(frozen=True)
class BodyGradient:
    """A copy of a body, its `ptir.yield`, and the adjoints of the body's arguments behind it."""

    block: Block
    end: Operation
    gs: list[BlockArgument]
    """Arguments of the block: the adjoints of the seeded results."""
    adjoints: list[SSAValue | None]
    """Of each argument of the body; None where no gradient flows."""

    def adjoint(self, i: int) -> SSAValue:
        """The adjoint of argument `i`, or explicit zeros."""
        found = self.adjoints[i]
        return append(self.block, construct.full(0.0, self.block.args[i])) if found is None else found


def body_gradient(sweep: Reverse, body: Block, active: Sequence[bool], seeded: Sequence[int]) -> BodyGradient:
    """Walk back through a copy of `body` from the results `seeded`; `active` says which arguments vary."""
    block, end = copied(body)
    ops = [op for op in block.ops if op is not end]
    arguments = list(block.args)
    walk = sweep.nested(block)
    walk.vary(ops, [x for x, varies in zip(arguments, active, strict=True) if varies])
    gs: list[BlockArgument] = []
    for i in seeded:
        y = end.operands[i]
        gs.append(block.insert_arg(y.type, len(block.args)))
        if y in walk.varied:
            walk.accumulate(y, gs[-1], None)
    walk.run(ops)
    return BodyGradient(block, end, gs, [walk.adjoints.get(x) for x in arguments])


def copied(body: Block) -> tuple[Block, Operation]:
    """A copy of a region's block, and its terminator."""
    block = Block(arg_types=body.arg_types)
    copies: dict[SSAValue, SSAValue] = dict(zip(body.args, block.args, strict=True))
    for x, y in copies.items():
        y.name_hint = x.name_hint
    for op in body.ops:
        block.add_op(copy(op, copies))
    assert block.last_op is not None
    return block, block.last_op


def with_arguments(
    block: Block, types: Sequence[Attribute], places: Sequence[int], results: Sequence[SSAValue]
) -> tuple[Block, list[SSAValue]]:
    """The ops of `block` in a block whose arguments have these types; argument `i` becomes `places[i]`, in `results` too."""
    made = Block(arg_types=types)
    became: dict[SSAValue, SSAValue] = {}
    for x, place in zip(block.args, places, strict=True):
        made.args[place].name_hint = x.name_hint
        x.replace_all_uses_with(made.args[place])
        became[x] = made.args[place]
    for op in tuple(block.ops):
        op.detach()
        made.add_op(op)
    return made, [became.get(x, x) for x in results]


def finish(block: Block, results: Sequence[SSAValue]) -> Block:
    """End a region with these results; what ended it before is replaced."""
    if isinstance(block.last_op, YieldOp):
        block.erase_op(block.last_op)
    block.add_op(YieldOp.create(operands=results))
    return block


def or_zeros(walk: Forward | Reverse, found: SSAValue | None, x: SSAValue) -> SSAValue:
    """An adjoint or tangent of `x`, explicit zeros where there is none."""
    return walk.append(construct.full(0.0, x)) if found is None else found


def types_of(values: Sequence[SSAValue]) -> list[Attribute]:
    return [x.type for x in values]


def take_place(sweep: Reverse, op: Operation, made: Sequence[Operation], results: Sequence[SSAValue]) -> None:
    """Put other ops in the place of `op`, with `results` for its results, and walk back through them instead."""
    block = op.parent
    assert isinstance(block, Block)
    for new in made:
        new.location = op.location
        block.insert_op_before(new, op)
    sweep.vary(made, [x for x in op.operands if x in sweep.varied])
    for old, new in zip(op.results, results, strict=True):
        old.replace_all_uses_with(new)
        if (g := sweep.adjoints.get(old)) is not None:
            sweep.accumulate(new, g, op)  # two results may have become one
    block.erase_op(op)
    sweep.run(made)
