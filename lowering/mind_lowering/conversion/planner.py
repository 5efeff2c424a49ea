"""How a plan is made: one walk over a function for live ranges and aliases, then slots, then the peak."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import prod
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, Region, SSAValue

from mind_dialect import ptir
from mind_dialect.errors import brief, error
from mind_dialect.program import functions
from mind_dialect.ptir.types import DTYPE_OF_TYPE
from mind_dialect.ptir.types import read_type as read_ptir_type
from mind_dialect.ptir_shapes import UNKNOWN, Dims
from mind_dialect.types import NUMERIC, DType

from .buffers import (
    CONSTANTS,
    IDENTITIES,
    IN_PLACE,
    VIEWS,
    Alias,
    BufferizeOptions,
    BufferPlan,
    BufferSlot,
    FunctionPlan,
    PlannedBuffer,
    Usage,
)
from .walk import Event, WalkStep, steps

MAX_BYTES = (1 << 63) - 1
Index = int | None
"""A buffer's number; None for a value that is no tensor."""
Binding = tuple[Index, Alias | None]
"""The buffer whose memory a value shares, and how; nothing for memory of its own."""
OWN: Binding = (None, None)


def plan_buffers(module: ModuleOp, options: BufferizeOptions | None = None) -> BufferPlan:
    """Plan every function of a verified module. See `plan_function`."""
    return BufferPlan({func.sym_name.data: plan_function(func, options) for func in functions(module)})


def plan_function(func: FuncOp, options: BufferizeOptions | None = None) -> FunctionPlan:
    """
    Plan a verified function, in time proportional to n log n.

    Raises E4000 for a region of several blocks, E8001 and E2005 for what `options` asks for and is not known, E6004 for a
    buffer of 2^63 bytes or more.
    """
    plan = _BufferPlanner(func, options or BufferizeOptions()).run()
    for buffer in plan.buffers:
        buffer.live = plan.buffers[buffer.group].live
    for buffer in plan.buffers:
        buffer.in_place = _in_place(plan, buffer)
    _assign_slots(plan)
    plan.peak_bytes = _peak(plan)
    return plan


def read_spec(type: TensorType) -> tuple[DType | None, Dims]:
    """The dtype, if it is one of ours, and the dimensions of a tensor type."""
    element = type.element_type
    if element in DTYPE_OF_TYPE:
        return read_ptir_type(type)
    shape = tuple(UNKNOWN if n == DYNAMIC_INDEX else n for n in type.get_shape())
    return next((d for d in NUMERIC if d.type == element), None), shape


@dataclass
class _Frame:
    """An op whose regions are being walked."""

    op: Operation
    used: list[Index]
    begin: int
    kept: list[int] = field(default_factory=list[int])
    """Buffers from outside that its regions use, and what they yield: needed until it ends."""
    carries: list[Index] = field(default_factory=list["Index"])
    """What a loop carries from iteration to iteration."""
    yielded: list[Index] = field(default_factory=list["Index"])


class _BufferPlanner:
    """One walk over a function; live ranges are kept at the first buffer of each group."""

    def __init__(self, func: FuncOp, options: BufferizeOptions):
        self.func = func
        self.options = options
        self.plan = FunctionPlan(func.sym_name.data)
        self.buffers = self.plan.buffers
        self.clock = 0
        self.frames: list[_Frame] = []
        self.depth: list[int] = []

    def run(self) -> FunctionPlan:
        check_single_block(self.func, self.func.body)
        for argument in self.func.body.block.args:
            self.define(argument, usage=Usage.PARAMETER)
        for step in steps(self.func):
            match step.event:
                case Event.OP:
                    self.op(step.op)
                case Event.REGION:
                    self.region(step)
                case Event.REGION_END:
                    pass
                case Event.OP_END:
                    self.op_end()
        return self.plan

    # Definitions and uses

    def define(self, value: SSAValue, binding: Binding = OWN, usage: Usage = Usage.TEMPORARY, begin: Index = None) -> Index:
        """The buffer of a new value, live from `begin` on, which is now unless given."""
        if not isinstance(value.type, TensorType):
            return None
        index, (source, alias) = len(self.buffers), binding
        dtype, shape, size = self.measure(cast(TensorType, value.type))
        live = (self.clock if begin is None else begin, self.clock)
        buffer = PlannedBuffer(
            index, value, dtype, shape, size, usage, live, alias if source is not None else None, source, index
        )
        self.buffers.append(buffer)
        self.depth.append(len(self.frames))
        self.plan.values[value] = index
        if source is not None:
            buffer.group = self.buffers[source].group
            self.depth[buffer.group] = min(self.depth[buffer.group], len(self.frames))
            self.touch(index)
        return index

    def touch(self, index: Index) -> None:
        """The memory of a buffer is needed now; what comes from outside of a region, until the op around it ends."""
        if index is None:
            return
        root = self.buffers[self.buffers[index].group]
        root.live = (root.live[0], self.clock)
        depth = self.depth[root.index]
        if depth < len(self.frames):
            self.frames[depth].kept.append(root.index)

    def measure(self, type: TensorType) -> tuple[DType | None, Dims, int | None]:
        """The dtype, dimensions and bytes of a tensor type; the coded errors of `plan_function`."""
        dtype, shape = read_spec(type)
        shape = tuple(self.options.sizes.get(n, n) if isinstance(n, str) else n for n in shape)
        issue = f"{brief(type)} in @{self.plan.name}"
        unknown = next((n for n in shape if isinstance(n, str)), None)
        if unknown is not None and self.options.require_static_shapes:
            raise error("E8001", f"{issue} has no known size", operation=self.func, name=unknown, extents=())
        if dtype is None and self.options.require_known_dtypes:
            names = [d.name for d in DTYPE_OF_TYPE.values()]
            raise error("E2005", f"{issue} has no dtype of ours", operation=self.func, dtype=brief(type), supported=names)
        if dtype is None or unknown is not None:
            return dtype, shape, None
        if (size := dtype.size * prod(cast("tuple[int, ...]", shape))) > MAX_BYTES:
            message = f"{issue} takes {size} bytes, expected less than 2^63"
            raise error("E6004", message, operation=self.func, shape=shape, dtype=dtype.name, backend="plan")
        return dtype, shape, size

    # Ops

    def op(self, op: Operation) -> None:
        self.clock += 1
        used = [self.plan.values.get(v) for v in op.operands]
        for index in used:
            self.touch(index)
        if isinstance(op, ReturnOp):
            for index in used:
                self.escape(index)
        elif isinstance(op, ptir.YieldOp) and self.frames:
            self.frames[-1].yielded = used
            self.frames[-1].kept += [i for i in used if i is not None]
        if op.regions:
            self.frames.append(_Frame(op, used, self.clock))
            return
        usage = Usage.CONSTANT if type(op) in CONSTANTS else Usage.TEMPORARY
        for value in op.results:
            self.define(value, self.binding(op, used), usage)

    def escape(self, index: Index) -> None:
        """A buffer is handed to the caller, and so is the memory that it shares."""
        if index is not None:
            self.buffers[index].usage |= Usage.RESULT
            self.buffers[self.buffers[index].group].usage |= Usage.RESULT

    def binding(self, op: Operation, used: list[Index]) -> Binding:
        """What the result of an op without regions shares."""
        if type(op) in VIEWS and used:
            return used[0], Alias.IDENTITY if keeps_order(op) else Alias.VIEW
        if type(op) in IDENTITIES and used and is_dense(self.plan, used[0]):
            return used[0], Alias.IDENTITY
        return OWN

    # Regions

    def region(self, step: WalkStep) -> None:
        """The parameters of a region: the operands of a branch, the carried values of a loop, views of what is scanned."""
        region, frame = cast(Region, step.region), self.frames[-1]
        check_single_block(step.op, region)
        arguments = region.block.args
        carried = not frame.carries
        for argument, binding in zip(arguments, parameters(frame, len(arguments)), strict=True):
            index = self.define(argument, binding, begin=frame.begin)
            if binding is OWN and carried:
                frame.carries.append(index)
                frame.kept += [index] if index is not None else []

    def op_end(self) -> None:
        self.clock += 1
        frame = self.frames.pop()
        for index in frame.kept:
            self.touch(index)
        for value, (binding, begin) in zip(frame.op.results, results(frame), strict=True):
            self.define(value, binding, begin=begin)


def parameters(frame: _Frame, count: int) -> list[Binding]:
    """What the parameters of a region share."""
    op, used = frame.op, frame.used
    match op:
        case ptir.CondOp():
            return [(i, Alias.IDENTITY) for i in used[1:]]
        case ptir.FusionOp():
            return [(i, Alias.IDENTITY) for i in used]
        case ptir.ScanOp():
            carried: int = op.values()["carry_count"]
            return [*[OWN] * carried, *((i, Alias.VIEW) for i in used[carried:])]
        case ptir.WhileOp() if frame.carries:
            return [(i, Alias.IDENTITY) for i in frame.carries]
        case _:
            return [OWN] * count


def results(frame: _Frame) -> list[tuple[Binding, Index]]:
    """What the results of an op with regions share, and since when they are live if not from its end."""
    op, count = frame.op, len(frame.op.results)
    carries: list[tuple[Binding, Index]] = [((i, Alias.IDENTITY), None) for i in frame.carries]
    match op:
        case ptir.FusionOp():
            return [((i, Alias.IDENTITY), None) for i in frame.yielded]
        case ptir.WhileOp():
            return carries
        case ptir.ScanOp():
            return [*carries, *[(OWN, frame.begin)] * (count - len(carries))]
        case _:
            return [(OWN, None)] * count


def check_single_block(op: Operation, region: Region) -> None:
    """Raise E4000 for a region that is not one block: its text order is not the order of the run."""
    if (count := len(region.blocks)) != 1:
        given = f"{count} blocks"
        message = f"{op.name} has a region of {given}, expected one block"
        raise error("E4000", message, operation=op, given=given, expected="one block")


# What follows from the live ranges


def is_dense(plan: FunctionPlan, index: Index) -> bool:
    """Whether a buffer is all of its group's memory, in order."""
    while index is not None and plan.buffers[index].source is not None:
        if plan.buffers[index].alias is Alias.VIEW:
            return False
        index = plan.buffers[index].source
    return index is not None


def keeps_order(op: Operation) -> bool:
    """Whether a view shows all elements in the same order: a slice of everything, a transpose that moves only extents of 1."""
    if not isinstance(op, ptir.SliceOp | ptir.BroadcastToOp | ptir.TransposeOp):
        return False
    before, after = op.operand_spec(0).shape, op.result_spec().shape
    if isinstance(op, ptir.TransposeOp):
        moved = [a % len(before) for a in op.values()["perm"]]
        kept = [a for a in moved if before[a] != 1]
        return kept == sorted(kept)
    return [n for n in before if n != 1] == [n for n in after if n != 1] and UNKNOWN not in before


def _in_place(plan: FunctionPlan, buffer: PlannedBuffer) -> Index:
    """The first operand that dies where `buffer` is made, has its type, and is not read in another order at the same time."""
    op = buffer.value.owner
    if not isinstance(op, Operation) or not buffer.owns or type(op) not in IN_PLACE:
        return None
    used = [plan.values[v] for v in op.operands if v in plan.values]
    for i in IN_PLACE[type(op)]:
        candidate = plan.buffers[plan.values[op.operands[i]]]
        root = plan.buffers[candidate.group]
        same = (candidate.dtype, candidate.shape) == (buffer.dtype, buffer.shape) and is_dense(plan, candidate.index)
        others = (other for other in used if plan.buffers[other].group == root.index)
        dies = root.live[1] == buffer.live[0] and not root.usage & (Usage.PARAMETER | Usage.CONSTANT)
        if same and dies and all(_reads_alike(plan, op, other, candidate) for other in others):
            return candidate.index
    return None


def _reads_alike(plan: FunctionPlan, op: Operation, index: int, candidate: PlannedBuffer) -> bool:
    """Whether an operand in the same memory is read element by element where the result is written."""
    elementwise = len(IN_PLACE[type(op)]) > 1 or len(op.operands) == 1
    return index == candidate.index and (elementwise or list(op.operands).count(candidate.value) == 1)


def _assign_slots(plan: FunctionPlan) -> None:
    """
    Give every temporary that owns memory a slot: the first of its dtype and size whose last user ended before it begins.

    One that ends where another begins is still read there, so they never share.
    """
    kept = Usage.PARAMETER | Usage.RESULT | Usage.CONSTANT
    buckets: dict[tuple[str, int, str], list[PlannedBuffer]] = {}
    for buffer in plan.buffers:
        if buffer.owns and not buffer.usage & kept:
            buckets.setdefault(_bucket(buffer), []).append(buffer)
    for key in sorted(buckets):
        for users in _first_fit(sorted(buckets[key], key=lambda b: b.live[0])):
            index = len(plan.slots)
            plan.slots.append(BufferSlot(index, users[0].dtype, users[0].byte_len, tuple(b.index for b in users)))
            for buffer in users:
                buffer.slot = index
    for buffer in plan.buffers:
        buffer.slot = plan.buffers[buffer.group].slot


def _bucket(buffer: PlannedBuffer) -> tuple[str, int, str]:
    """What may share a slot: equal dtype and size, or equal names for sizes; what has neither shares none."""
    dtype = "" if buffer.dtype is None else buffer.dtype.name
    if buffer.byte_len is not None:
        return dtype, buffer.byte_len, ""
    unknown = buffer.dtype is None or UNKNOWN in buffer.shape
    return dtype, -1, f"{buffer.index:020}" if unknown else ",".join(map(str, buffer.shape))


def _first_fit(buffers: list[PlannedBuffer]) -> list[list[PlannedBuffer]]:
    """Buffers in the order of their beginning, by the lowest-numbered slot that is free."""
    slots: list[list[PlannedBuffer]] = []
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    for buffer in buffers:
        while busy and busy[0][0] < buffer.live[0]:
            heappush(free, heappop(busy)[1])
        slot = heappop(free) if free else len(slots)
        if slot == len(slots):
            slots.append([])
        slots[slot].append(buffer)
        heappush(busy, (buffer.live[1], slot))
    return slots


def _peak(plan: FunctionPlan) -> int:
    """The most bytes of memory live at one op, parameters and constants left out."""
    change: dict[int, int] = {}
    for buffer in plan.buffers:
        if buffer.owns and not buffer.usage & (Usage.PARAMETER | Usage.CONSTANT):
            size = buffer.byte_len or 0
            change[buffer.live[0]] = change.get(buffer.live[0], 0) + size
            change[buffer.live[1] + 1] = change.get(buffer.live[1] + 1, 0) - size
    live = most = 0
    for at in sorted(change):
        live += change[at]
        most = max(most, live)
    return most
