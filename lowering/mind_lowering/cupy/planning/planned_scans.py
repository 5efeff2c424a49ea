"""
How a plan has a scan: as steps one after the other in which slices are places, or as iterations that copy theirs.

Iterations that need nothing from the host are the same steps each time: kernels copy their slices by the induction variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import Block, SSAValue

from ...xp_regions import ForOp
from ..launching import ALIGNMENT
from . import plan
from .iterations import slices_kernel
from .plan import Copy, Launch, Place, Scan, Step, all_device, enqueued, row_major

if TYPE_CHECKING:
    from .planner import Planner


def yielded(block: Block) -> Sequence[SSAValue]:
    """What a region's block gives."""
    last = block.last_op
    assert last is not None, "verified"
    return last.operands


def plan_scan(planner: Planner, op: ForOp) -> None:
    """Append the step of a scan."""
    body, scanned = op.body_region.block, [planner.ordered(planner.places[v], op) for v in op.scanned]
    count = scanned[0].shape[0]
    carried = planner.carried(op, body.args[: len(op.inits)])
    slices = [(whole, _slice(planner, whole, count)) for whole in scanned]
    for argument, (_, inner) in zip(body.args[len(carried) :], slices, strict=True):
        planner.places[argument] = inner
    planner.iteration(op, begins=True)
    outer, planner.steps = planner.steps, []
    planner.block(body)
    given = yielded(body)
    stacks = [(planner.places[s], planner.places[v]) for s, v in zip(op.stacks, given[len(carried) :], strict=True)]
    step, before = Scan(op, count, slices, stacks, []), len(planner.steps)
    planner.assign(given[: len(carried)], carried, op)
    planner.iteration(op)
    step.body, planner.steps = planner.steps, outer
    alone = all_device(step.body)
    step.unrolled = alone and count * (enqueued(step.body) + len(stacks)) <= plan.MOST_UNROLLED
    if alone and not step.unrolled:
        _turning(planner, step, before)
    else:
        _stack(planner, step, before)
    for _, inner in slices if step.turning else (*slices, *step.stacks):
        inner.buffer.role = "slice" if step.unrolled else "arena"
    planner.steps.append(step)
    for result, place in zip(op.results, carried, strict=True):
        planner.places[result] = place


def _slice(planner: Planner, whole: Place, count: int) -> Place:
    """A slice of what is scanned as the body sees it. It is copied for sure where there are too many to unroll."""
    buffer = planner.buffer("slice", whole.bytes // max(count, 1))
    aligned = whole.buffer.aligned and not (whole.offset % ALIGNMENT or buffer.bytes % ALIGNMENT)
    buffer.aligned = aligned or count > plan.MOST_UNROLLED
    return Place(buffer, 0, whole.shape[1:], row_major(whole.shape[1:], whole.dtype.size), whole.dtype)


def _turning(planner: Planner, step: Scan, before: int) -> None:
    """
    Let the body copy its slices and count its iterations; append what begins to count.

    Stacks get theirs `before` the carries are overwritten.
    """
    number = planner.room("arena", 1, "ui64")
    planner.steps.append(planner.counted(number, begins=True))
    scanned = [(w, i) for w, i in step.scanned if i.bytes]
    outer, planner.steps = planner.steps, []
    stacks = [(w, planner.ready(v, step.op)) for w, v in step.stacks if v.bytes]
    if stacks:
        kernel = planner.calls.add(slices_kernel(stacks, out=True))
        planner.steps.append(Launch(None, kernel, [number, *(i for _, i in stacks)], [w for w, _ in stacks]))
    step.body[before:before], planner.steps = planner.steps, outer
    if scanned:
        kernel = planner.calls.add(slices_kernel(scanned, out=False))
        step.body.insert(0, Launch(None, kernel, [number, *(w for w, _ in scanned)], [i for _, i in scanned]))
    step.body.append(planner.counted(number))
    step.turning = True


def _stack(planner: Planner, step: Scan, before: int) -> None:
    """Let the body put values on stacks before it copies the carries, which may overwrite them: from `before` on."""
    copies: list[Step] = []
    for i, (whole, value) in enumerate(step.stacks):
        strides = row_major(value.shape, value.dtype.size)
        inner = Place(planner.buffer("slice", value.bytes), 0, value.shape, strides, value.dtype)
        copies.append(Copy(value, inner, step.op))
        step.stacks[i] = (whole, inner)
    step.body[before:before] = copies
