"""
Hoisting of packing: kernels that rearrange an array for other kernels run as seldom as may be.

What they read decides where: constants, and inputs that are the same in each call, are packed once for all calls, in
`launch.prepack`; what no iteration of a loop writes is packed before the outermost such loop. Packing kernels cannot fail, so one
in a branch, or in a loop without iterations, may run although its results are not needed.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.errors import error
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.program import functions

from .base import LaunchOp
from .compute_ops import KernelOp
from .control_ops import ForOp, PrepackOp, WhileOp, YieldOp
from .liveness import base, launch_ops, unviewed, written
from .memory_ops import AllocOp, Space, ViewOp
from .return_op import ReturnOp

BUDGET = 256 << 20
"""Bytes at most of packed memory that stays while loops run, or from call to call."""


@dataclass(frozen=True)
class LaunchHoistPackingPass(ModulePass):
    """
    Move packing before loops that do not change what is packed, or into `launch.prepack`.

    It moves into `launch.prepack` where no call changes what is packed. Equal packings in one place are merged. `budget` bounds
    the bytes of memory that is packed earlier than where it is read.
    """

    name = "mind-launch-hoist-packing"

    budget: int = BUDGET

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        if self.budget < 0:
            raise error("E7001", f"budget is {self.budget}, expected at least 0", option="budget")
        for func in functions(op):
            if len(func.body.blocks) == 1 and isinstance(func.body.block.last_op, ReturnOp):
                hoist_packing(func, self.budget)


def hoist_packing(func: FuncOp, budget: int = BUDGET) -> None:
    """Hoist the packing kernels of a function of launches, each with the memory that it writes."""
    packs = [op for op in launch_ops(func.body.block) if isinstance(op, KernelOp) and op.packing is not None]
    if packs:
        _Hoisting(func, budget).run(packs)


class _Hoisting:
    def __init__(self, func: FuncOp, budget: int):
        self.top, self.left = func.body.block, budget
        self.prepack = next((op for op in self.top.ops if isinstance(op, PrepackOp)), None)
        self.kept = sum(isinstance(op, AllocOp) and op.kind is Space.KEPT for op in self.top.ops)
        """The number of allocations that are kept between calls."""
        self.writes: dict[Operation, set[SSAValue]] = {}
        """Of each loop, what it writes to."""
        self.known: dict[tuple[Operation | None, int, tuple[SSAValue, ...], tuple[Attribute, ...]], KernelOp] = {}

    def run(self, packs: Sequence[KernelOp]) -> None:
        """Hoist kernels in the order of the program, those that write to one array together."""
        groups: dict[SSAValue, list[KernelOp]] = {}
        for op in packs:
            if len(op.writes) == 1:
                groups.setdefault(op.writes[0], []).append(op)
        for memory, ops in groups.items():
            alloc = memory.owner
            if not isinstance(alloc, AllocOp) or alloc.kind is not Space.ARENA or alloc.over is not None:
                continue
            if any(op not in ops and memory in op.effects()[1] for op in _users(memory)) or not _stays(alloc):
                continue
            once = all(self.is_fixed(v) for op in ops for v in op.reads)
            loop = None if once else self.loop_before(ops)
            if (once or loop is not None) and not self.merge(alloc, ops, loop) and alloc.ref.nbytes <= self.left:
                self.left -= alloc.ref.nbytes
                self.hoist(alloc, ops, loop)

    def is_fixed(self, value: SSAValue) -> bool:
        """Return whether an array is the same in all calls, and is there before any."""
        owner = unviewed(value).owner
        if not isinstance(owner, AllocOp):
            return False
        return owner.kind in (Space.CONSTANT, Space.KEPT) or (owner.kind is Space.INPUT and owner.fixed is not None)

    def loop_before(self, ops: Sequence[KernelOp]) -> Operation | None:
        """The outermost loop whose iterations all find what kernels read as it was before the loop."""
        found: Operation | None = None
        parent = ops[0].parent_op()
        while parent is not None and not isinstance(parent, FuncOp):
            several = isinstance(parent, WhileOp) or (isinstance(parent, ForOp) and parent.trip_count != 1)
            if several and all(self.is_invariant(v, parent) for op in ops for v in op.reads):
                found = parent
            parent = parent.parent_op()
        return found if found is None or all(_is_in(op, found) for op in ops) else None

    def is_invariant(self, value: SSAValue, loop: Operation) -> bool:
        """Return whether an array is there before a loop, which does not write to it."""
        if loop not in self.writes:
            self.writes[loop] = written(op for region in loop.regions for block in region.blocks for op in launch_ops(block))
        return not _is_in(unviewed(value).owner, loop) and base(value) not in self.writes[loop]

    def merge(self, alloc: AllocOp, ops: Sequence[KernelOp], loop: Operation | None) -> bool:
        """Let an equal packing that was hoisted to the same place stand for one; whether there is one."""
        (op, *more) = ops
        assert op.packing is not None
        key = loop, op.word("packing"), tuple(op.reads), tuple([alloc.res.type])
        known = self.known.setdefault(key, op)
        if known is op or more:
            return False
        alloc.res.replace_all_uses_with(known.writes[0])
        op.detach()
        op.erase()
        alloc.detach()
        alloc.erase()
        return True

    def hoist(self, alloc: AllocOp, ops: Sequence[KernelOp], loop: Operation | None) -> None:
        if loop is None:
            alloc.space, alloc.index = StringAttr(Space.KEPT), IntegerAttr(self.kept, i64)
            self.kept += 1
            prepack = self.prepack or self.begin(ops)
            self.prepack = prepack
            for op in ops:
                for value in op.reads:
                    _lift(value, prepack)
            last = prepack.body.block.last_op
            assert last is not None
            _move(alloc, prepack)
            for op in ops:
                _move(op, last)
            return
        for op in (alloc, *ops):
            for value in op.operands:
                _lift(value, loop)
            _move(op, loop)

    def begin(self, ops: Sequence[KernelOp]) -> PrepackOp:
        """Insert an empty prepack after the inputs and constants at the front of the function."""
        made = PrepackOp(Block([YieldOp()]))
        first = next(op for op in self.top.ops if not (isinstance(op, AllocOp) and op.kind is not Space.ARENA))
        self.top.insert_op_before(made, first)
        return made


def _users(memory: SSAValue) -> list[LaunchOp]:
    return [use.operation for use in memory.uses if isinstance(use.operation, LaunchOp)]


def _stays(alloc: AllocOp) -> bool:
    """Return whether memory has the name of its allocation alone: no view or loop passes it on."""
    return all(isinstance(op, KernelOp) for op in _users(alloc.res))


def _is_in(owner: Operation | Block, loop: Operation) -> bool:
    """Return whether an op, or a block, is in a region of another op."""
    return owner is not loop and loop.is_ancestor(owner)


def _lift(value: SSAValue, before: Operation) -> None:
    """Move the op that gives an address to where it can be used before an op, if it is not there yet."""
    owner, block = value.owner, before.parent
    assert block is not None
    if not isinstance(owner, AllocOp | ViewOp):
        return
    if isinstance(owner, ViewOp):
        _lift(owner.source, before)
    inner = owner.parent is not block and block.find_ancestor_op_in_block(owner) is not None
    if inner or (owner.parent is block and before.is_before_in_block(owner)):
        _move(owner, before)


def _move(op: Operation, before: Operation) -> None:
    assert before.parent is not None
    op.detach()
    before.parent.insert_op_before(op, before)
