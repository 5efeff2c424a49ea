"""
Scans in a plan: launches one after the other in which slices are addresses, or iterations that copy theirs.

Iterations that need nothing from the host are the same launches each time: kernels copy their slices by the induction variable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
    scan = _Scan(build, op, block, slices, stacks, ops, before)
    alone = all_device(ops)
    unrolled = alone and count * (enqueued(ops) + len(stacks)) <= device.MOST_UNROLLED
    if unrolled:
        scan.insert(before, scan.copies_out(stacks))
    else:
        scan.separate()
        (scan.count_iterations if alone else scan.copy_slices)()
    block.add_ops([*scan.ops, YieldOp()])
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


@dataclass
class _Scan:
    """The body of a scan on its way: `ops` of the iteration, of which those from `before` on overwrite the carries."""

    build: LaunchBuilder
    op: ForOp
    block: Block
    slices: list[Pair]
    stacks: list[Pair]
    ops: list[Operation]
    before: int

    def insert(self, at: int, ops: Sequence[Operation]) -> None:
        """Insert ops at a place."""
        self.ops[at:at] = ops

    def copies_out(self, pairs: Sequence[Pair]) -> list[Operation]:
        """Copies of values to slices of stacks, given pairs of both."""
        return [
            op for stack, value in pairs for part in [AtOp(stack, self.block.args[0])] for op in (part, CopyOp(value, part.res))
        ]

    def separate(self) -> None:
        """Give each slice memory of its own, whose allocation comes first."""
        own: dict[SSAValue, SSAValue] = {}
        with self.build.region() as front:
            for _, part in self.slices:
                if isinstance(part.owner, AtOp):
                    layout = read_ref(part.type)
                    own[part] = self.build.alloc(layout.dtype, layout.shape)
        for part, address in own.items():
            part.replace_all_uses_with(address)
        self.ops = [*front, *(op for op in self.ops if not (isinstance(op, AtOp) and op.res in own))]
        self.slices = [(whole, own.get(part, part)) for whole, part in self.slices]
        self.stacks = [(s, own.get(v, v)) for s, v in self.stacks]
        self.before += len(front) - len(own)

    def count_iterations(self) -> None:
        """Let the body copy its slices and count its iterations, by kernels; append what begins to count."""
        build = self.build
        number = build.alloc(UI64, (1,))
        build.count(number, begins=True)
        with build.region() as out:
            self._copied(number, [(s, build.ready(v, self.op)) for s, v in self.stacks if read_ref(v.type).nbytes], out=True)
        self.insert(self.before, out)
        with build.region() as into:
            self._copied(number, [(s, v) for s, v in self.slices if read_ref(v.type).nbytes], out=False)
        self.insert(len(self.slices), into)  # behind their allocations
        with build.region() as end:
            build.count(number)
        self.ops += end

    def _copied(self, number: SSAValue, pairs: Sequence[Pair], *, out: bool) -> None:
        """Append the kernel that copies slices, if there are any, given pairs of a whole array and a slice."""
        wholes, parts = [s for s, _ in pairs], [v for _, v in pairs]
        if pairs:
            kernel = self.build.calls.add(slices_kernel(pairs, out=out))
            reads, writes = (parts, wholes) if out else (wholes, parts)
            self.build.kernel(kernel, [number, *reads], writes, "slices out" if out else "slices in")

    def copy_slices(self) -> None:
        """Let each iteration begin with copies of its slices, and end with those to stacks of what carries did not overwrite."""
        with self.build.region() as out:
            aside = [(s, self.build.moved(v, self.op)) for s, v in self.stacks]
        self.insert(self.before, out)
        parts = [(AtOp(whole, self.block.args[0]), inner) for whole, inner in self.slices]
        self.insert(len(self.slices), [o for part, inner in parts for o in (part, CopyOp(part.res, inner))])
        self.ops += self.copies_out(aside)
