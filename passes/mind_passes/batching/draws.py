"""
Random ops out of regions: a draw depends on its place among the random ops of the text alone, so it can be made before the loop.

What is made before is passed in: as an argument of a `cond`, as a carried value of a loop, unchanged from step to step.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, Region, SSAValue

from mind_dialect.dominance import walk
from mind_dialect.ptir import CondOp, RandomOp, ScanOp, WhileOp, YieldOp

from ..ptir.canonicalize import rewire

_Found = tuple[RandomOp, Region]


def hoist_draws(block: Block) -> None:
    """Let no random op stand in a region of an op of PTIR in `block`, in place; their order in the text stays."""
    holders = _holders(block)
    became: dict[SSAValue, SSAValue] = {}
    for op in tuple(block.ops):
        rewire(op, became)
        if op in holders:
            became.update(_lifted(op, holders))


def _holders(block: Block) -> set[Operation]:
    """The ops of `block`, and inside them, that hold a random op."""
    found: set[Operation] = set()
    for top in block.ops:
        for op in walk(top):
            holder = op
            while isinstance(op, RandomOp) and holder is not top and (outer := holder.parent_op()) is not None:
                if outer in found:
                    break
                found.add(outer)
                holder = outer
    return found


def _lifted(op: Operation, holders: set[Operation]) -> dict[SSAValue, SSAValue]:
    """Put the draws inside `op` before it; what its results become."""
    block = op.parent
    if not isinstance(op, CondOp | WhileOp | ScanOp) or not isinstance(block, Block):
        return {}
    draws: list[_Found] = []
    for region in op.regions:
        became: dict[SSAValue, SSAValue] = {}
        for inner in tuple(region.block.ops):
            rewire(inner, became)
            if inner in holders:
                became.update(_lifted(inner, holders))
        draws += [(inner, region) for inner in region.block.ops if isinstance(inner, RandomOp)]
    for draw, region in draws:
        region.block.detach_op(draw)
        block.insert_op_before(draw, op)
    return _passed(op, block, draws)


def _passed(op: CondOp | WhileOp | ScanOp, block: Block, draws: Sequence[_Found]) -> dict[SSAValue, SSAValue]:
    """Replace `op` by one that takes the draws too; what its results become."""
    values = [draw.results[0] for draw, _ in draws]
    place = op.values()["carry_count"] if isinstance(op, ScanOp) else None
    for region in op.regions:
        _take(region, values, [value for value, (_, home) in zip(values, draws, strict=True) if home is region], place)
        if not isinstance(op, CondOp):
            _pass_on(region, len(values), place)
    properties, types = dict(op.properties), list(op.result_types)
    if place is not None:
        properties.update(op.store_properties({"carry_count": place + len(values)}))
    added = [] if isinstance(op, CondOp) else [v.type for v in values]
    where = len(op.operands) if place is None else place
    at = len(types) if place is None else place
    made = type(op).create(
        operands=[*op.operands[:where], *values, *op.operands[where:]],
        properties=properties,
        attributes=dict(op.attributes),
        result_types=[*types[:at], *added, *types[at:]],
        regions=[op.detach_region(region) for region in tuple(op.regions)],
        location=op.location,
    )
    block.insert_op_before(made, op)
    news = [*made.results[:at], *made.results[at + len(added) :]]
    for old, new in zip(op.results, news, strict=True):
        new.name_hint = old.name_hint
    became: dict[SSAValue, SSAValue] = dict(zip(op.results, news, strict=True))
    block.detach_op(op)
    return became


def _take(region: Region, values: Sequence[SSAValue], own: Sequence[SSAValue], place: int | None) -> None:
    """Arguments for all draws, in the place of the region's own."""
    start = len(region.block.args) if place is None else place
    arguments = [region.block.insert_arg(v.type, start + i) for i, v in enumerate(values)]
    became: dict[SSAValue, SSAValue] = {v: a for v, a in zip(values, arguments, strict=True) if v in own}
    for op in region.block.ops:
        rewire(op, became)


def _pass_on(region: Region, count: int, place: int | None) -> None:
    """Yield the added arguments of a loop as they are."""
    ending = region.block.last_op
    assert isinstance(ending, YieldOp), "verified"
    start = len(region.block.args) - count if place is None else place
    at = len(ending.operands) if place is None else place
    ending.operands = [*ending.operands[:at], *region.block.args[start : start + count], *ending.operands[at:]]
