"""
Memory of loop-carried values: nothing is copied that need not be.

A body may yield memory that it allocates: new memory in each iteration. This pass decides where such a value lies. It is, in this
order,

    in place: written where the carry is, if what was there is not read any more, or only by the kernel that writes over it;
    left: a part of an array that the loop slices, or memory from before the loop, where no kernel of the loop writes to it;
    rotated: in a second allocation, which changes places with the carry's for the next iteration.

A loop whose carries do not have the memory that they are given for themselves stays as it is.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.program import functions

from .base import LaunchOp
from .compute_ops import KernelOp
from .control_ops import AtOp, ConditionOp, ForOp, IfOp, WhileOp, YieldOp
from .liveness import base, blocks_of, is_same_part, is_whole, launch_ops, unviewed, whole
from .memory_ops import AllocOp, CopyOp, Space, ViewOp
from .ref import read_ref, ref
from .region_uses import Loop, RegionUses, comes_after, holds, replace_memory
from .return_op import ReturnOp


@dataclass(frozen=True)
class LaunchLoopCarriedPass(ModulePass):
    """
    Assign memory to loop-carried values: in place, left where they are, or in two allocations that rotate.

    An alloc that a body yields is new memory in each iteration, which `launch-assign-memory` refuses where this pass has not run.
    """

    name = "mind-launch-loop-carried"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        for func in functions(op):
            if len(func.body.blocks) == 1 and isinstance(func.body.block.last_op, ReturnOp):
                place_loop_carried(func)


def place_loop_carried(func: FuncOp) -> None:
    """Give the carries of all loops of a function memory, those of inner loops first."""
    ops = [op for op in launch_ops(func.body.block) if isinstance(op, Loop | IfOp)]
    for op in reversed(ops):
        if isinstance(op, IfOp):
            _place_branch(op)
        elif op.inits and not (isinstance(op, ForOp) and op.unrolled is not None):
            _Placement(op).run()


def _place_branch(op: IfOp) -> None:
    """Let what the regions of a branch pass on to a result in place have the memory of the result."""
    regions = [region.block for region in (op.then, op.otherwise)]
    found = [RegionUses({}) for _ in regions]
    for uses, block in zip(found, regions, strict=True):
        uses.visit(block)
    for memory in [m for m in found[0].written if m in found[1].written and m not in found[0].inner]:
        if not isinstance(memory.owner, AllocOp) or memory.owner.kind is not Space.ARENA or _is_used_before(memory, op):
            continue
        reached = [uses.reach(memory, [block], partial(holds, block)) for uses, block in zip(found, regions, strict=True)]
        both = [old for old in reached[0] if old in reached[1]]
        for paths in reached:
            for inner in next(iter([paths[old] for old in both] or paths.values()), ()):
                if inner.owner.parent is not None:
                    replace_memory(inner, memory)


def _is_used_before(memory: SSAValue, op: Operation) -> bool:
    return any(comes_after(op, use.operation) for use in memory.uses)


class _Placement:
    """Decisions on the carries of one loop, by number."""

    def __init__(self, loop: Loop):
        self.loop = loop
        if isinstance(loop, ForOp):
            self.blocks, self.arguments = [loop.body.block], [list(loop.body.block.args[1:])]
        else:
            self.blocks = [loop.test.block, loop.body.block]
            self.arguments = [list(block.args) for block in self.blocks]
        self.carries: Sequence[SSAValue] = self.arguments[0]
        self.uses = RegionUses(dict(zip(self.arguments[-1], self.carries, strict=True)))
        last = self.blocks[-1].last_op
        assert last is not None
        self.last, self.yields = last, list(last.operands)
        self.moved: list[int] = []
        """The carries that are elsewhere in the next iteration."""
        self.left: list[int] = []
        """The carries that are read where they were left."""
        self.rotated: dict[int, SSAValue] = {}
        """Next values of the carries that rotate: another carry, or an allocation."""

    def run(self) -> None:
        """Decide and rewrite, unless the loop is not of the form."""
        self.visit()
        if self.elide_copies():
            self.visit()
        condition = self.blocks[0].last_op
        if isinstance(condition, ConditionOp):
            for i, result in enumerate(self.loop.res):
                if result.uses:
                    insort(self.uses.at.setdefault(self.carries[i], []), self.uses.order[condition])
        self.moved = [i for i, c in enumerate(self.carries) if self.next_of(i) is not c]
        count = -1
        while count != len(self.left):
            count = len(self.left)
            fixed = {self.carries[i] for i in self.left}
            self.left += [i for i in self.moved if i not in self.left and (self.is_left(i) or self.next_of(i) in fixed)]
        if self.has_own_carries(condition):
            if self.is_of_the_form():
                self.decide()
            elif self.moved:
                self.copy()

    def visit(self) -> None:
        """Number the ops of the loop."""
        self.uses = RegionUses(self.uses.names)
        for block in self.blocks:
            self.uses.visit(block)
        for value in self.yields:
            self.uses.use(value)

    def elide_copies(self) -> bool:
        """Let a body yield the memory that an inner loop ends in, not a copy, where nothing else needs it; whether it did."""
        count = 0
        for i, value in enumerate(self.yields):
            copy = next((u.operation for u in value.uses if isinstance(u.operation, KernelOp) and _is_copy(u.operation)), None)
            if copy is None or copy.writes[0] is not value or copy.reads[0].type != value.type or not is_whole(value):
                continue
            source, alloc = self.uses.memory(copy.reads[0]), value.owner
            only = all(u.operation in (copy, self.last) for u in value.uses)
            mine = isinstance(source.owner, AllocOp) and source in self.uses.inner and source.owner.kind is Space.ARENA
            if (
                isinstance(alloc, AllocOp)
                and only
                and mine
                and is_whole(copy.reads[0])
                and not self.uses.is_used(source, self.uses.order[copy])
            ):
                self.yields[i] = copy.reads[0]
                self.last.operands = self.yields
                copy.detach()
                copy.erase()
                alloc.detach()
                alloc.erase()
                count += 1
        return count > 0

    def next_of(self, i: int) -> SSAValue:
        """The memory that carry `i` is in next."""
        return self.uses.memory(self.yields[i])

    def has_own_carries(self, condition: Operation | None) -> bool:
        """Return whether the loop has the memory of each carry for itself, passes it on as it is, and writes to none."""
        if isinstance(condition, ConditionOp) and list(condition.inputs) != self.arguments[0]:
            return False
        inits = [whole(v) for v in self.loop.inits]
        owned = all(a is not None and self.is_own(a) for a in inits) and len(set(inits)) == len(inits)
        return owned and not any(c in self.uses.written for c in self.carries)

    def is_of_the_form(self) -> bool:
        """Return whether what the body yields is memory that carries can be given."""
        others = [i for i in range(len(self.carries)) if i not in self.left]
        following = [self.next_of(i) for i in others]
        distinct = len(set(following)) == len(following) and all(is_whole(self.yields[i]) for i in others)
        return distinct and all(self.is_new(m) for m in following if m not in self.carries)

    def copy(self) -> None:
        """Copy what the body yields into the carries, all of it before any carry changes."""
        block = self.blocks[-1]
        copies: list[CopyOp] = []
        for i in self.moved:
            layout = read_ref(self.carries[i].type)
            alloc = AllocOp(ref(layout.dtype, layout.shape), Space.ARENA)
            block.insert_ops_before([alloc, CopyOp(self.yields[i], alloc.res)], self.last)
            copies.append(CopyOp(alloc.res, self.arguments[-1][i]))
            self.yields[i] = self.arguments[-1][i]
        block.insert_ops_before(copies, self.last)
        self.last.operands = self.yields
        self.left.clear()
        self.rewrite()

    def is_own(self, init: AllocOp) -> bool:
        """Return whether memory that the loop is given is a temporary, which only ops before it use."""
        if init.kind is not Space.ARENA or init.over is not None or init.parent is not self.loop.parent:
            return False
        return all(
            op is self.loop or (op.parent is self.loop.parent and isinstance(op, KernelOp) and op.is_before_in_block(self.loop))
            for op in (use.operation for use in init.res.uses)
        )

    def is_new(self, memory: SSAValue) -> bool:
        """Return whether memory is a temporary of the loop: no op outside names it, but after a test that writes it."""
        owner = memory.owner
        if not isinstance(owner, AllocOp) or owner.kind is not Space.ARENA or owner.over is not None:
            return False
        outside = [use.operation for use in memory.uses if not any(holds(b, use.operation) for b in self.blocks)]
        in_test = len(self.blocks) == 2 and holds(self.blocks[0], self.uses.writers[memory][0])
        return not outside or in_test

    def is_inner(self, alloc: AllocOp) -> bool:
        """Return whether an allocation is in the loop, or is memory that its test writes first."""
        return any(holds(b, alloc) for b in self.blocks) or (alloc.res in self.uses.written and self.is_new(alloc.res))

    def is_left(self, i: int) -> bool:
        """Return whether a body yields memory that it does not write, or a part of an array, which no other part is of."""
        owner = unviewed(self.yields[i]).owner
        if isinstance(owner, AtOp) and any(holds(b, owner) for b in self.blocks):
            return read_ref(owner.res.type).is_row_major and self.is_sliced_alike(owner)
        memory = self.next_of(i)
        return memory not in self.uses.inner and memory not in self.carries and memory not in self.uses.written

    def is_sliced_alike(self, at: AtOp) -> bool:
        """Return whether the loop writes to an array only by equal slices of one iteration."""
        array, stride = base(at.source), abs(read_ref(at.source.type).strides[0])
        for op in (op for block in self.blocks for op in launch_ops(block)):
            for value in op.effects()[1] if isinstance(op, LaunchOp) else ():
                if base(value) is not array:
                    continue
                owner = unviewed(value).owner
                if not isinstance(owner, AtOp) or not is_same_part(owner, at) or stride < read_ref(owner.res.type).count:
                    return False
        return True

    def decide(self) -> None:
        """Decide on each carry, then rewrite the loop."""
        taken: dict[SSAValue, int] = {}
        for i in self.moved:
            if i not in self.left and not self.put_in_place(i, taken):
                self.rotated[i] = self.next_of(i)
        for memory, i in taken.items():
            replace_memory(memory, self.loop.inits[i])
        self.rewrite()

    def put_in_place(self, i: int, taken: dict[SSAValue, int]) -> bool:
        """Note the memory that is that of carry `i`, if what the body yields for it can be."""
        new = self.next_of(i)
        if new in self.carries or new in taken:
            return False
        between = self.uses.reach(new, self.blocks, self.is_inner).get(self.carries[i])
        if between is None and not self.uses.is_read_before(self.carries[i], new):
            return False
        if any(memory in taken or self.rotates(memory) for memory in (new, *(between or ()))):
            return False
        taken.update(dict.fromkeys((new, *(between or ())), i))
        return True

    def rotates(self, memory: SSAValue) -> bool:
        """Return whether memory is one of those that rotate in an inner loop: only its results name them afterwards."""
        inner = [use.operation for use in memory.uses if isinstance(use.operation, Loop)]
        return any(argument in self.uses.written for loop in inner for block in blocks_of(loop) for argument in block.args)

    # The loop that carries less

    def rewrite(self) -> None:
        """Replace the loop by one that carries what is left where it is and what rotates; the rest is memory from outside."""
        loop, block = self.loop, self.loop.parent
        assert block is not None
        carried = [*sorted(self.left), *self.rotated]
        spares = self.spares()
        inits = [self.begun(i) if i in self.left else loop.inits[i] for i in carried] + [memory for memory, _ in spares]
        new = [[_argument(b, inits, k) for k in range(len(inits))] for b in self.blocks]
        for args, begun in zip(new, self.arguments, strict=True):
            for k, i in enumerate(carried):
                begun[i].replace_all_uses_with(args[k])
        for i in range(len(self.carries)):
            if i not in carried:
                for begun in self.arguments:
                    begun[i].replace_all_uses_with(loop.inits[i])
                loop.res[i].replace_all_uses_with(loop.inits[i])
        for k, (memory, _) in enumerate(spares, len(carried)):
            for args, inner in zip(new, self.blocks, strict=True):
                memory.replace_uses_with_if(args[k], lambda use, inner=inner: holds(inner, use.operation))
        following = list(self.last.operands)
        yielded = [following[i] for i in carried] + [
            self.spare(new[-1], carried, i, inits[k]) for k, (_, i) in enumerate(spares, len(carried))
        ]
        self.last.operands = yielded
        if isinstance(condition := self.blocks[0].last_op, ConditionOp):
            condition.operands = [condition.go_on, *new[0]]
        for inner, begun in zip(self.blocks, self.arguments, strict=True):
            for argument in begun:
                inner.erase_arg(argument)
        self.replace(inits, carried, [memory for memory, _ in spares])

    def spares(self) -> list[tuple[SSAValue, int]]:
        """The allocations that rotate, now before the loop, each with the carry that has its memory next but one."""
        loop, block = self.loop, self.loop.parent
        assert block is not None
        made = [m for m in self.rotated.values() if m not in {self.carries[i] for i in self.rotated}]
        vacant = [i for i in self.rotated if self.carries[i] not in self.rotated.values()]
        found: list[tuple[SSAValue, int]] = []
        for memory in made:
            alloc = memory.owner
            assert isinstance(alloc, AllocOp)
            size = alloc.ref.nbytes
            found.append(
                (memory, vacant.pop(next(k for k, i in enumerate(vacant) if read_ref(loop.inits[i].type).nbytes == size)))
            )
            if any(holds(b, alloc) for b in self.blocks):
                alloc.detach()
                block.insert_op_before(alloc, loop)
        return found

    def spare(self, args: Sequence[SSAValue], carried: Sequence[int], i: int, init: SSAValue) -> SSAValue:
        """Return the memory of carry `i`, which it leaves, as that of an allocation which it changes places with."""
        value = args[carried.index(i)]
        if value.type == init.type:
            return value
        view = ViewOp(value, init.type)
        self.blocks[-1].insert_op_before(view, self.last)
        return view.res

    def begun(self, i: int) -> SSAValue:
        """Return what a carry that is only read begins with: the source of a copy, which is then not made, or its copy."""
        init = self.loop.inits[i]
        copies = [use.operation for use in init.uses if use.operation is not self.loop]
        copy = copies[0] if len(copies) == 1 else None
        if not isinstance(copy, KernelOp) or not _is_copy(copy):
            return init
        source = copy.reads[0]
        if source.type != init.type or self.uses.memory(source) in self.uses.written or _is_written_after(source, copy):
            return init
        copy.detach()
        copy.erase()
        return source

    def replace(self, inits: Sequence[SSAValue], carried: Sequence[int], spares: Sequence[SSAValue]) -> None:
        """Put a loop that carries `inits` into the place of the loop, or the same loop without carries."""
        loop, block = self.loop, self.loop.parent
        assert block is not None
        for inner in self.blocks:
            assert inner.parent is not None
            inner.parent.detach_block(inner)
        made = ForOp(loop.trip_count, inits, self.blocks[0]) if isinstance(loop, ForOp) else WhileOp(inits, *self.blocks)
        made.attributes.update(loop.attributes)
        made.location = loop.location
        block.insert_op_before(made, loop)
        for k, i in enumerate(carried):
            loop.res[i].replace_all_uses_with(made.res[k])
        for k, memory in enumerate(spares, len(carried)):
            memory.replace_uses_with_if(made.res[k], lambda use: use.operation is not made and comes_after(use.operation, made))
        used = {v for v in inits}
        olds = [v.owner for v in loop.inits if v not in used]
        loop.detach()
        loop.erase()
        for alloc in olds:
            if isinstance(alloc, AllocOp) and not alloc.res.uses:
                alloc.detach()
                alloc.erase()


def _argument(block: Block, inits: Sequence[SSAValue], k: int) -> SSAValue:
    argument = block.insert_arg(inits[k].type, len(block.args))
    argument.name_hint = inits[k].name_hint
    return argument


def _is_copy(op: KernelOp) -> bool:
    """Return whether the body of a kernel says that it copies what it reads."""
    if len(op.reads) != 1 or len(op.writes) != 1 or not op.body.blocks:
        return False
    last = op.body.block.last_op
    return isinstance(last, YieldOp) and list(last.operands) == list(op.body.block.args)


def _is_written_after(value: SSAValue, op: Operation) -> bool:
    """Return whether an op that may run after another one writes to the memory of a value."""
    waiting, memory = [base(value)], base(value)
    if isinstance(memory, BlockArgument):
        return True
    while waiting:
        for use in waiting.pop().uses:
            other = use.operation
            if isinstance(other, ViewOp | AtOp):
                waiting.append(other.res)
            elif isinstance(other, LaunchOp) and any(base(v) is memory for v in other.effects()[1]):
                if op.parent is None or not comes_after(op, other):
                    return True
    return False
