"""Ops with regions, as scf: a branch, a loop that asks first, a loop of known length; a fusion is what its body is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import i1
from xdsl.ir import Region, SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp
from mind_passes.ptir.ragged import expansion

from .builder import LinalgBuilder, converted_type, shape_of
from .reductions import loop
from .structural import Values

Inline = Callable[[LinalgBuilder, Region, Sequence[SSAValue]], Values]
"""Converts the ops of a region, given its parameters, and returns what it yields."""


def cond(b: LinalgBuilder, op: ptir.CondOp, x: Values, inline: Inline) -> Values:
    truth = b(tensor.ExtractOp(x[0], [], i1))
    taken, other = (b.region([], lambda c, _, r=r: inline(c, r, x[1:]), lambda v: scf.YieldOp(*v)) for r in op.regions)
    made = b.add(scf.IfOp(truth, [converted_type(t) for t in op.result_types], taken, other))
    return list(made.results)


def while_loop(b: LinalgBuilder, op: ptir.WhileOp, x: Values, inline: Inline) -> Values:
    """Convert a loop: what `cond` yields after its truth goes on, into the body or out, as scf.condition has it."""
    types = [v.type for v in x]

    def before(c: LinalgBuilder, v: Sequence[SSAValue]) -> Values:
        truth, *carried = inline(c, op.regions[0], v)
        return [c(tensor.ExtractOp(truth, [], i1)), *carried]

    first = b.region(types, before, lambda v: scf.ConditionOp(v[0], *v[1:]))
    second = b.region(types, lambda c, v: inline(c, op.regions[1], v), lambda v: scf.YieldOp(*v))
    return list(b.add(scf.WhileOp(x, types, first, second)).results)


def scan(b: LinalgBuilder, op: ptir.ScanOp, x: Values, inline: Inline) -> Values:
    """Each iteration takes a slice of what is scanned and writes one of what is stacked."""
    count = op.num_carries
    scanned = x[count:]
    stacks = [b.empty(converted_type(t)) for t in op.result_types[count:]]

    def iteration(c: LinalgBuilder, v: Sequence[SSAValue]) -> Values:
        place, carried, written = v[0], v[1 : 1 + count], v[1 + count :]
        slices = [_row(c, value, place) for value in scanned]
        found = inline(c, op.regions[0], [*carried, *slices])
        rows = [c.reshape(value, (1, *shape_of(value))) for value in found[count:]]
        return [*found[:count], *(_written(c, row, into, place) for row, into in zip(rows, written, strict=True))]

    return loop(b, shape_of(scanned[0])[0], [*x[:count], *stacks], iteration)


def _row(b: LinalgBuilder, x: SSAValue, place: SSAValue) -> SSAValue:
    """`x[place]`."""
    rest = shape_of(x)[1:]
    return b.reshape(b.slice(x, [place, *[0] * len(rest)], (1, *rest)), rest)


def _written(b: LinalgBuilder, row: SSAValue, into: SSAValue, place: SSAValue) -> SSAValue:
    return b.insert(row, into, [place, *[0] * (len(shape_of(into)) - 1)])


def fusion(b: LinalgBuilder, op: ptir.FusionOp, x: Values, inline: Inline) -> Values:
    return inline(b, op.regions[0], x)


def ragged_dot(b: LinalgBuilder, op: ptir.RaggedDotOp, x: Values, inline: Inline) -> Values:
    """As the masked products that it means."""
    return inline(b, expansion(op), x)


RULES: Mapping[type[PtirOp], Any] = {
    ptir.CondOp: cond,
    ptir.WhileOp: while_loop,
    ptir.ScanOp: scan,
    ptir.FusionOp: fusion,
    ptir.RaggedDotOp: ragged_dot,
}
