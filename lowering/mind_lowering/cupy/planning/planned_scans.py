"""
Scans in a plan: launches one after the other in which slices are addresses, or iterations that copy theirs.

Iterations that need nothing from the host are the same launches each time: kernels copy their slices by the induction variable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, SSAValue

from mind_dialect.ptir.control import yielded
from mind_dialect.ptir.types import UI64

from ...launch import control_ops as launch
from ...launch.control_ops import AtOp, YieldOp
from ...launch.memory_ops import CopyOp
from ...launch.ref import read_ref
from ...xp.regions import ForOp
from . import device
from .builder import LaunchBuilder
from .device import all_device, enqueued
from .iterations import slices_kernel

Pair = tuple[SSAValue, SSAValue]
"""A whole array, and what an iteration has of it."""


def plan_scan(build: LaunchBuilder, op: ForOp, plan_block: Callable[[Block], None]) -> None:
    """Append a scan, the ops of whose body `plan_block` appends."""
    body, scanned = op.body_region.block, [build.ordered(build.values[v], op) for v in op.scanned]
    count = read_ref(scanned[0].type).shape[0]
    carried = build.carried(op, body.args[: len(op.inits)])
    build.iteration(op, begins=True)
    block = Block(arg_types=[IndexType()])
    with build.region() as ops:
        slices = [(whole, _slice(build, whole, block.args[0], count)) for whole in scanned]
        for argument, (_, part) in zip(body.args[len(carried) :], slices, strict=True):
            build.bind(argument, part)
        plan_block(body)
        given = yielded(body)
        stacks = [(build.values[s], build.values[v]) for s, v in zip(op.stacks, given[len(carried) :], strict=True)]
        before = len(ops)
        build.assign(given[: len(carried)], carried, op)
        build.iteration(op)
    alone = all_device(ops)
    unrolled = alone and count * (enqueued(ops) + len(stacks)) <= device.MOST_UNROLLED
    if unrolled:
        ops[before:before] = _copies([(v, AtOp(s, block.args[0])) for s, v in stacks])
    else:
        slices, stacks, ops, before = _apart(build, slices, stacks, ops, before)
        (_count_iterations if alone else _copy_slices)(build, op, block, slices, stacks, ops, before)
    block.add_ops([*ops, YieldOp()])
    build.add(launch.ForOp(count, [], block, unrolled=unrolled), op)
    for result, address in zip(op.results, carried, strict=True):
        build.bind(result, address)


def _slice(build: LaunchBuilder, whole: SSAValue, index: SSAValue, count: int) -> SSAValue:
    """A slice of what is scanned as the body sees it: where it lies, unless there are so many that it is copied for sure."""
    part = AtOp(whole, index)
    layout = read_ref(part.res.type)
    if count > device.MOST_UNROLLED:
        return build.alloc(layout.dtype, layout.shape)
    build.add(part)
    return part.res


def _copies(pairs: Sequence[tuple[SSAValue, AtOp]]) -> list[Operation]:
    """Copies of values to slices."""
    return [op for value, part in pairs for op in (part, CopyOp(value, part.res))]


def _apart(
    build: LaunchBuilder, slices: Sequence[Pair], stacks: Sequence[Pair], ops: Sequence[Operation], before: int
) -> tuple[list[Pair], list[Pair], list[Operation], int]:
    """The same with memory of its own for each slice, whose allocations come first."""
    own: dict[SSAValue, SSAValue] = {}
    with build.region() as front:
        for _, part in slices:
            if isinstance(part.owner, AtOp):
                layout = read_ref(part.type)
                own[part] = build.alloc(layout.dtype, layout.shape)
    for part, address in own.items():
        part.replace_all_uses_with(address)
    kept = [op for op in ops if not (isinstance(op, AtOp) and op.res in own)]
    found = [(whole, own.get(part, part)) for whole, part in slices]
    return found, [(s, own.get(v, v)) for s, v in stacks], [*front, *kept], before + len(front) - len(own)


def _count_iterations(
    build: LaunchBuilder,
    op: ForOp,
    block: Block,
    slices: Sequence[Pair],
    stacks: Sequence[Pair],
    ops: list[Operation],
    before: int,
) -> None:
    """
    Let the body copy its slices and count its iterations; append what begins to count.

    Stacks get theirs `before` the carries are overwritten.
    """
    number = build.alloc(UI64, (1,))
    build.count(number, begins=True)
    with build.region() as out:
        pairs = [(s, build.ready(v, op)) for s, v in stacks if read_ref(v.type).nbytes]
        if pairs:
            kernel = build.calls.add(slices_kernel(pairs, out=True))
            build.kernel(kernel, [number, *(v for _, v in pairs)], [s for s, _ in pairs], "slices out")
    ops[before:before] = out
    with build.region() as into:
        pairs = [(s, v) for s, v in slices if read_ref(v.type).nbytes]
        if pairs:
            kernel = build.calls.add(slices_kernel(pairs, out=False))
            build.kernel(kernel, [number, *(s for s, _ in pairs)], [v for _, v in pairs], "slices in")
    front = len(slices)  # behind their allocations
    ops[front:front] = into
    with build.region() as end:
        build.count(number)
    ops += end


def _copy_slices(
    build: LaunchBuilder,
    op: ForOp,
    block: Block,
    slices: Sequence[Pair],
    stacks: Sequence[Pair],
    ops: list[Operation],
    before: int,
) -> None:
    """Let each iteration begin with copies of its slices, and end with copies to the stacks of what carries did not overwrite."""
    with build.region() as out:
        aside = [(s, build.moved(v, op)) for s, v in stacks]
    ops[before:before] = out
    parts = [AtOp(whole, block.args[0]) for whole, _ in slices]
    front = len(slices)
    ops[front:front] = [o for part, (_, inner) in zip(parts, slices, strict=True) for o in (part, CopyOp(part.res, inner))]
    ops += _copies([(v, AtOp(s, block.args[0])) for s, v in aside])
