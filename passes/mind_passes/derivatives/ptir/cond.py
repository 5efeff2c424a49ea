"""
The derivatives of `ptir.cond`.

Reverse: the condition is asked again, and the chosen branch runs backwards. What it needs of the forward run are further results
of the forward cond; values of one type share a slot, and the branch that has none for it yields zeros. `ptir.checkpoint` saves
nothing: the branch runs forwards once more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue

from mind_dialect.ptir import CondOp

from ...emit import append
from ...loop_options import CHECKPOINT
from ...ptir import construct
from ...ptir.building import substitute
from ...residuals import Cut, cut
from ..dependence import union
from ..rules import Value, can_vary
from ..walks import Flows, Forward, Reverse, Whole, WholeForward
from .bodies import body_gradient, finish, types_of, with_arguments


def flows(of: Flows, op: CondOp) -> list[int]:
    """Return what either branch lets through; nothing flows through the condition."""
    branches = [of.of_block(region.block) for region in op.regions]
    return [union(masks) << 1 for masks in zip(*branches, strict=True)]


def adjoints(sweep: Reverse, op: CondOp, gs: Sequence[SSAValue | None]) -> list[Value | None]:
    operands = list(op.operands)
    pred, args = operands[0], operands[1:]
    seeded = [j for j, g in enumerate(gs) if g is not None]
    active = [x in sweep.varied for x in args]
    bodies = [body_gradient(sweep, region.block, active, seeded) for region in op.regions]
    wanted = [i for i in range(len(args)) if any(b.adjoints[i] is not None for b in bodies)]
    if not wanted:
        return [None] * len(operands)
    results = [[b.adjoint(i) for i in wanted] for b in bodies]
    everything = CHECKPOINT in op.attributes
    cuts = [
        cut(b.block, b.end, found, b.gs, at_hand=set(b.block.args), everything=everything)
        for b, found in zip(bodies, results, strict=True)
    ]
    slots, placed = _slots(cuts)
    used = sorted({x.index for c in cuts for x in c.arguments})
    saved = _forward(op, [b.block for b in bodies], cuts, slots, placed)
    captured, place = [args[i] for i in used], {i: k for k, i in enumerate(used)}
    given = [g for g in gs if g is not None]
    inputs = [*captured, *saved, *given]
    regions: list[Region] = []
    for c, found, places in zip(cuts, results, placed, strict=True):
        computed = iter(places)
        order = [place[x.index] if isinstance(x, BlockArgument) else len(used) + next(computed) for x in c.residuals]
        order += [len(used) + len(slots) + k for k in range(len(given))]
        block, ends = with_arguments(c.backward, types_of(inputs), order, [c.became.get(x, x) for x in found])
        regions.append(Region(finish(block, ends)))
    backward = CondOp.create(operands=[pred, *inputs], regions=regions, result_types=[args[i].type for i in wanted])
    backward.location = op.location
    sweep.block.add_op(backward)
    found_adjoints: list[Value | None] = [None] * len(operands)
    for i, x_adj in zip(wanted, backward.results, strict=True):
        found_adjoints[i + 1] = x_adj
    return found_adjoints


def _slots(cuts: Sequence[Cut]) -> tuple[list[SSAValue], list[list[int]]]:
    """One value per slot to say its type, and for each branch the slots of its computed residuals."""
    slots: list[SSAValue] = []
    placed: list[list[int]] = []
    of_type: dict[Attribute, list[int]] = {}
    for c in cuts:
        taken: Counter[Attribute] = Counter()
        places: list[int] = []
        for x in c.computed:
            alike = of_type.setdefault(x.type, [])
            if taken[x.type] == len(alike):
                alike.append(len(slots))
                slots.append(x)
            places.append(alike[taken[x.type]])
            taken[x.type] += 1
        placed.append(places)
    return slots, placed


def _forward(
    op: CondOp, blocks: Sequence[Block], cuts: Sequence[Cut], slots: Sequence[SSAValue], placed: Sequence[Sequence[int]]
) -> list[SSAValue]:
    """Let the forward cond hand out the slots; gives them."""
    if not slots:
        return []
    regions: list[Region] = []
    for block, c, places in zip(blocks, cuts, placed, strict=True):
        end = block.last_op
        assert end is not None
        plain = list(end.operands)
        block.erase_op(end)
        at = dict(zip(places, c.computed, strict=True))
        filled = [at[k] if k in at else append(block, construct.full(0, slot)) for k, slot in enumerate(slots)]
        regions.append(Region(finish(block, [*plain, *filled])))
    types: list[Attribute] = [*op.result_types, *types_of(slots)]
    count = len(op.results)
    made = CondOp.create(operands=op.operands, regions=regions, result_types=types, attributes=op.attributes)
    substitute(op, made)
    return list(made.results[count:])


def tangents(walk: Forward, op: CondOp, ts: Sequence[SSAValue | None]) -> list[Value | None]:
    """One cond for the results and their tangents."""
    given = [t for t in ts if t is not None]
    count = len(op.operands) - 1
    varied = sum(1 << i for i, t in enumerate(ts) if t is not None)
    out = [j for j, mask in enumerate(walk.flows.through(op)) if mask & varied and can_vary(op.results[j].type)]
    regions: list[Region] = []
    for region in op.regions:
        block = Block(arg_types=[*region.block.arg_types, *types_of(given)])
        inner = walk.nested(block)
        inner.enter(region.block, block.args)
        moving = [block.args[i - 1] for i, t in enumerate(ts) if t is not None]
        inner.tangents.update(zip(moving, block.args[count:], strict=True))
        end = inner.run(list(region.block.ops))
        results = [inner.copies[y] for y in end.operands]
        regions.append(Region(finish(block, [*results, *(inner.tangent(results[j]) for j in out)])))
    types = [*op.result_types, *(op.result_types[j] for j in out)]
    made = CondOp.create(operands=[*op.operands, *given], regions=regions, result_types=types, attributes=op.attributes)
    made.location = op.location
    walk.block.add_op(made)
    walk.replace(op, made.results[: len(op.results)])
    found: list[Value | None] = [None] * len(op.results)
    for j, t in zip(out, made.results[len(op.results) :], strict=True):
        found[j] = t
    return found


COND = Whole(adjoints, flows)
COND_FORWARD = WholeForward(tangents)
