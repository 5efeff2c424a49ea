"""
The launches of a function so far: the builder that kernel rows append to, in one walk over the ops of a function.

Each native kernel is one `launch.kernel`, whose schedule says what its code does, and whose code object generates it once memory
is assigned; a step on NumPy is a `launch.host_call`. Loops carry addresses. What the passes over launches decide (which kernels
are hoisted, where loop-carried values lie, which memory is shared) is not known here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Generator, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from math import prod
from typing import TypeAlias

from xdsl.dialects.builtin import LocationAttr, StringAttr, UnitAttr, UnknownLoc
from xdsl.ir import Attribute, Block, Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import BF16, F16, UI16, UI64, read_type

from ..launch.compute_ops import HostCallOp, KernelOp
from ..launch.hoist_packing import BUDGET
from ..launch.kernel_body import body_of_op
from ..launch.kernel_patterns import Choice, Rejections
from ..launch.memory_ops import AllocOp, ViewOp
from ..launch.ref import ref
from .complex_parts import complex_parts
from .concats import concat_of, parts
from .demanded import Demanded
from .grouping import group_name, is_lookup
from .groups import Group, forwards
from .joins import boxes, in_box, is_read_in_parts
from .lookups import looked_up, table_of, windows_of
from .memory import buffers_of
from .outlining import NoKernel, random_ops, shown
from .partials import cut_up
from .patterns import KernelPattern, in_memory, readable
from .products.deferred import Deferred
from .schedule import crossed_inputs
from .steps import Limited, NativeStep
from .update_windows import dies_in, moved, update_of, window_of
from .values import Values
from .views import Buffer, Joined, Use, View, in_memory_of, indices_of, reshaped, whole

ITERATION = "the number of the iteration"
"""The schedule of the kernel that writes the induction variable of a loop to memory, for kernels that read it."""
TITLE = "of"
"""The attribute of a branch or a loop that says which op of the program it is."""

Chosen: TypeAlias = Choice[KernelPattern] | Rejections


@dataclass
class EnclosingLoop:
    """A loop around the op that is planned: the depth of its body, and whether it may have several iterations."""

    depth: int
    hoists: bool
    iteration: View | None = None
    """View of the induction variable, counted from 0, if something in the loop needs it."""
    packings: set[int] = field(default_factory=set[int])
    """The packings that are hoisted out of it."""


GROWTH = 2
"""Results that are computed once for all calls take at most so many times the memory that they are computed from."""


@dataclass(frozen=True)
class PlannedKernel:
    """The code object of a kernel, and the buffers of its operands: those that it reads, then those that it writes."""

    step: NativeStep
    buffers: Sequence[Buffer]


@dataclass
class NativePlan(Values, ABC):
    """The launches of a function so far, and where each value is."""

    top: Block = field(default_factory=Block)
    """The block of the function."""
    block: Block = field(default_factory=Block)
    """The block that is being filled."""
    kernels: dict[KernelOp, PlannedKernel] = field(default_factory=dict[KernelOp, PlannedKernel])
    host_calls: dict[HostCallOp, tuple[PtirOp, int]] = field(default_factory=dict[HostCallOp, tuple[PtirOp, int]])
    """Of each step on NumPy, its op, and how many random draws the program made before it."""
    deferred: dict[SSAValue, Deferred] = field(default_factory=dict[SSAValue, Deferred])
    """Values that are not computed, because products alone read them and widen them in registers."""
    joined: dict[ptir.ConcatOp, View] = field(default_factory=dict[ptir.ConcatOp, View])
    """The memory of concats some of whose parts have been written to it."""
    draws: int = 0
    drawn: bool = False
    """True if native code draws random numbers."""
    origin: LocationAttr = field(default_factory=UnknownLoc)
    """The location of the op that is planned, of a fusion those of its ops: that of its kernels."""
    loops: list[EnclosingLoop] = field(default_factory=list[EnclosingLoop])
    """The loops around the current op, the outermost first."""
    calls: EnclosingLoop = field(default_factory=lambda: EnclosingLoop(0, hoists=True))
    """The calls of the program, as if they were iterations."""
    fixed: set[Buffer] = field(default_factory=set[Buffer])
    """The inputs that are the same in each call."""
    packing_number: int | None = None
    """The number of the packing that the kernels which are appended are part of, if they are of one."""
    packings: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    """The number of each packing, by all that its contents depend on."""
    demanded: Demanded = field(default_factory=Demanded)
    """The part of each value that results depend on."""
    unlimited: list[str] = field(default_factory=list[str])
    """Of a function some of whose results are read up to a size: each kernel that no size limits, and why."""
    choices: list[tuple[PtirOp, Chosen]] = field(default_factory=list[tuple[PtirOp, Chosen]])
    """Of each planned op: the row of the table that takes it, and why others do not."""
    packed: int = 0
    """Bytes of packed memory that `hoist-packing` is to keep while loops run, or from call to call."""

    def rejected(self) -> Iterator[str]:
        """Yield a line for each planned op that some rows do not take: the row that takes it, and the reasons of the others."""
        for op, chosen in self.choices:
            taken, rejections = (chosen.pattern.name, chosen.rejections) if isinstance(chosen, Choice) else ("numpy", chosen)
            if rejections:
                reasons = "; ".join(f"not {name}: {rejection.reason}" for name, rejection in rejections)
                yield f"{shown(op)}: {taken}; {reasons}"
        yield from (f"without a limit: {line}" for line in self.unlimited)

    @contextmanager
    def filling(self, block: Block) -> Generator[None]:
        """Append what is planned to the block of a region; what is in it is given up where an op has no kernel."""
        outer = self.block
        self.block = block
        self.depth += 1
        try:
            yield
        except NoKernel:
            drop(block, None)
            raise
        finally:
            self.block = outer
            self.depth -= 1

    def input(self, argument: SSAValue, *, donated: bool, fixed: bool) -> None:
        """Append the allocation of an argument, which may be overwritten, or is the same in each call."""
        self.views[argument] = view = self.new(Use.INPUT, argument)
        buffer = self.buffer_of(view)
        alloc = self.address(buffer).owner
        assert isinstance(alloc, AllocOp)
        alloc.properties.update({name: UnitAttr() for name, holds in (("donated", donated), ("fixed", fixed)) if holds})
        if fixed:
            self.fixed.add(buffer)

    def address(self, buffer: Buffer) -> SSAValue:
        """Return the address of a buffer; the first use of memory places its allocation, that of a constant in the function."""
        if buffer.value is None:  # of a kernel that was chosen before it was given memory
            self.allocate(buffer, (buffer.count,))
        value = buffer.address
        if isinstance(alloc := value.owner, AllocOp) and alloc.parent is None:
            (self.top if buffer.use is Use.CONSTANT else self.block).add_op(alloc)
        return value

    def seen(self, view: View, type: Attribute | None = None) -> SSAValue:
        """Return the address of a view of memory, by default as an array of its layout."""
        assert isinstance(view.base, Buffer), "in memory"
        source, type = self.address(view.base), ref(view.dtype, view.shape, view.strides) if type is None else type
        if source.type == type and not view.offset:
            return source
        self.block.add_op(op := ViewOp(source, type, view.offset))
        return op.res

    def _iteration(self, loop: EnclosingLoop) -> View:
        """Return the view of the induction variable of a loop, which its iterations write to memory first."""
        if loop.iteration is None:
            loop.iteration = whole(self.buffer(Use.ARENA, UI64, 1, "iteration"), ())
        return loop.iteration

    def add(self, step: NativeStep) -> None:
        """Append a native kernel, or several where one would be too few to share."""
        for part in cut_up(self, step) if type(step) is Group else [step]:
            self.kernel(part)

    def kernel(self, step: NativeStep) -> KernelOp:
        """Append the launch of a kernel."""
        if isinstance(step, Group) and not self.demanded.sizes:
            step = forwards(step)
        access = step.access()
        reads, writes = list(dict.fromkeys(access.reads)), list(dict.fromkeys(access.writes))
        pairs = [(writes.index(new), reads.index(old)) for new, old in access.over if old.bytes and old in reads]
        pairs += [(i, reads.index(b)) for i, b in enumerate(writes) if b in reads]
        # What runs for all calls, or in a loop, is not limited.
        is_limited = self.demanded.sizes and not self.depth and self.packing_number is None
        found = self.limited(step) if is_limited else None
        op = KernelOp(
            step.name,
            [self.address(b) for b in reads],
            [self.address(b) for b in writes],
            sizes=[] if found is None else [self.address(self.buffer_of(self.view(size))) for size, _ in found.limits],
            grid=None if found is None else found.grid,
            limits=None if found is None else [limit for _, limit in found.limits],
            inplace=(list(dict.fromkeys(pairs)) or None) if self.packing_number is None else None,
            packing=self.packing_number,
            schedule=StringAttr(step.contents()),
            fails=None if writes else StringAttr("index"),
        )
        op.location = self.origin
        self.block.add_op(op)
        self.kernels[op] = PlannedKernel(step, (*reads, *writes))
        return op

    def copy(self, value: SSAValue, source: View, target: View) -> KernelOp:
        """Append a copy of a value from one place to another, bit by bit."""
        if source.dtype in (F16, BF16) and isinstance(source.base, Buffer):  # which would be widened and narrowed again
            source, target = replace(source, dtype=UI16), replace(target, dtype=UI16)
        name = f"{value.name_hint}.copy" if value.name_hint else "copy"
        if isinstance(source.base, Joined):
            return [self.copy(value, in_box(source, b), in_box(target, b)) for b in boxes(source.shape, [source])][-1]
        return self.kernel(Group(name, source.shape, {value: source}, outputs=[(value, target)]))

    def copied(self, value: SSAValue, source: View) -> View:
        """A value in memory of its own, in row-major order."""
        target = self.new(Use.ARENA, value)
        self.copy(value, source, target)
        return target

    def group(self, ops: Sequence[PtirOp], results: Sequence[SSAValue]) -> None:
        """
        Append ops that groups can hold as one group with some results.

        What little depends on fixed inputs alone is computed once for all calls, as packing is: result by result.
        """
        inner = set[Operation | Block](ops)
        views = [v for op in ops for value in op.operands if value.owner not in inner for v in in_memory_of(self.view(value))]
        if not self._is_fixed(ops, results, views):
            self._group(ops, results)
            return
        for value in results:
            with self.packing(views, self._bytes(value)):
                self._group(_needed(ops, value), [value])

    def _is_fixed(self, ops: Sequence[PtirOp], results: Sequence[SSAValue], views: Sequence[View]) -> bool:
        """Return whether elementwise ops read inputs that are the same in each call, and results are small."""
        buffers = buffers_of(views)
        fails = any(op.can_fail() for op in ops) or any(v.lookups for v in views)
        small = max(self.host.l1_bytes, min(self.host.l2_bytes, GROWTH * sum(b.bytes for b in buffers)))
        if fails or any(isinstance(op, ptir.ReduceOp) for op in ops) or sum(map(self._bytes, results)) > small:
            return False
        return bool(buffers) and self.packing_number is None and all(map(self._is_same_in_calls, buffers))

    def _is_same_in_calls(self, buffer: Buffer) -> bool:
        return buffer.use is Use.CONSTANT or buffer in self.fixed

    def _bytes(self, value: SSAValue) -> int:
        return prod(self.shape(value)) * read_type(value.type).dtype.size

    def _group(self, ops: Sequence[PtirOp], results: Sequence[SSAValue]) -> None:
        made = {r for op in ops for r in op.results}
        made_by: set[Operation] = set(ops)
        inner = [op for op in ops if not isinstance(op, ptir.ReduceOp | ptir.ComplexOp)]
        group = Group(group_name(ops, results), self.group_shape(ops[0]), ops=list(inner))
        for op in ops:
            if is_lookup(op):
                self._look_up(op, group, computed=op.operands[1] in made)
                continue
            for value in op.operands:
                if value not in made:
                    group.inputs[value] = self.view(value)
        for value in results:
            if isinstance(value.owner, ptir.ReduceOp):
                group.reductions.append((value.owner, self.target(value)))
            elif isinstance(value.owner, ptir.ComplexOp):
                group.outputs += zip(value.owner.operands, complex_parts(self.target(value)), strict=True)
            else:
                group.outputs.append((value, self._result(value, made_by, group)))
        for part in self._in_parts(self._straightened(group)):
            self.add(part)

    def _straightened(self, group: Group) -> Group:
        """Return a group that reads copies of large operands which lie across its results, if it looks elements up."""
        inputs = list(group.inputs.items())
        copies = {value: self.copied(value, view) for value, view in (inputs[k] for k in crossed_inputs(self.host, group))}
        return replace(group, inputs={**group.inputs, **copies})

    def _look_up(self, op: PtirOp, group: Group, *, computed: bool) -> None:
        """Let a group have the table of a lookup whose indices it computes, or read what is looked up at indices in memory."""
        table, indices = op.operands
        x = in_memory(self, table)
        if computed:
            group.tables[op] = table_of(op, x)
            return
        group.ops.remove(op)
        where = readable(self, indices)
        group.inputs[op.results[0]] = (
            windows_of(op, x, where) if isinstance(op, ptir.GatherWindowsOp) else looked_up(op, x, where)
        )

    def _in_parts(self, group: Group) -> Iterator[Group]:
        """Yield the groups that a group is: itself, or one over each box in which every operand lies in one part."""
        inputs = group.inputs
        if not any(isinstance(v.base, Joined) for v in inputs.values()):
            yield group
        elif group.reductions or group.tables or any(v.lookups for v in inputs.values()):
            together = {value: self.copied(value, v) if isinstance(v.base, Joined) else v for value, v in inputs.items()}
            yield replace(group, inputs=together)
        else:
            for box in boxes(group.shape, list(inputs.values())):
                places = {value: in_box(v, box) for value, v in inputs.items()}
                results = [(value, in_box(v, box)) for value, v in group.outputs]
                yield replace(group, shape=box[1], inputs=places, outputs=results)

    def _result(self, value: SSAValue, members: Container[Operation], group: Group) -> View:
        """Return memory for a result of a group: a part of that of the concat or update that alone reads it, or its own."""
        found = None if self.demanded.sizes else concat_of(value, members)
        if found is None or is_read_in_parts(found[0], self.host):
            return self._window(value, members, group) or self.target(value)
        op, index = found
        if op not in self.joined:
            self.joined[op] = self.new(Use.ARENA, op.result)
        view = reshaped(parts(op, self.joined[op])[index], self.shape(value))
        if view is None:
            return self.target(value)
        self.views[value] = view
        return view

    def _window(self, value: SSAValue, members: Container[Operation], group: Group) -> View | None:
        """Return the window of a copy of an updated array that a result is written to; the group then reads the copy."""
        is_apart = self.demanded.sizes or group.reductions or group.tables or self.packing_number is not None
        op = None if is_apart else update_of(value, members)
        x = None if op is None else self.views.get(op.operands[0])
        if op is None or x is None or any(view.base is x.base for _, view in group.outputs):
            return None
        target = self.new(Use.ARENA, op.result)
        old, part = (window_of(op, view, self.shape(value)) for view in (x, target))
        inputs = None if old is None else moved(list(group.inputs.values()), x, target, old)
        if part is None or inputs is None or not dies_in(op, value, self.views):
            return None
        self.copy(op.operands[0], x, target)
        self.views[op.result], self.views[value] = target, part
        group.inputs.update(zip(group.inputs, inputs, strict=True))
        return part

    def reduction(self, op: ptir.ReduceOp, source: View, result: SSAValue) -> None:
        """Append one reduction of a view, whose result stands for another value."""
        group = Group(group_name([op], [result]), source.shape, {op.x: source})
        group.reductions.append((op, self.target(result)))
        self.add(group)

    def iterations(self) -> list[View]:
        """Return the induction variables of the loops around, in memory."""
        return [self._iteration(loop) for loop in self.loops]

    def hoists(self, views: Sequence[View], size: int) -> bool:
        """
        Return whether packing of views that writes so many bytes is hoisted: all calls, or all iterations, find them alike.

        The rule is that of `launch-hoist-packing`: a kernel may be chosen because its operand is packed elsewhere.
        """
        return self.packed + size <= BUDGET and self._scope(views) is not None

    def _scope(self, views: Sequence[View]) -> EnclosingLoop | None:
        """Return the outermost loop that packing of views is hoisted out of, or what stands for all calls."""
        buffers = buffers_of([*views, *indices_of(views)])
        if all(map(self._is_same_in_calls, buffers)):
            return self.calls
        return next((loop for loop in self.loops if loop.hoists and all(b.depth < loop.depth for b in buffers)), None)

    @contextmanager
    def packing(self, views: Sequence[View], size: int, key: Hashable = None) -> Generator[None]:
        """Let kernels that rearrange views be a packing where it is hoisted; those of one key give equal arrays."""
        scope = self._scope(views) if self.hoists(views, size) else None
        if scope is None:
            yield
            return
        number = self.packings.setdefault(len(self.packings) if key is None else key, len(self.packings))
        outer, self.packing_number, last = self.packing_number, number, self.block.last_op
        try:
            yield
        finally:
            self.packing_number = outer
        if number not in scope.packings:
            scope.packings.add(number)
            op = self.block.first_op if last is None else last.next_op
            while op is not None:
                self.packed += op.ref.nbytes if isinstance(op, AllocOp) and op.literal is None else 0
                op = op.next_op

    def foreign(self, op: PtirOp, reason: str) -> None:
        """Append an op that NumPy runs; in a region, none is."""
        if self.depth:
            raise NoKernel(f"in it {shown(op)}: {reason}")
        views = [self.views[v] if isinstance(self.views[v].base, Buffer) else self.copied(v, self.views[v]) for v in op.operands]
        reads, outputs = [self.seen(view) for view in views], [self.new(Use.FOREIGN, value) for value in op.results]
        self.views.update(zip(op.results, outputs, strict=True))
        writes = [self.seen(view) for view in outputs]
        ordinal = self.draws if isinstance(op, ptir.RandomOp) else None
        call = HostCallOp(op.OPCODE, reads, writes, body_of_op(op), reason, ordinal)
        call.location = op.location
        self.block.add_op(call)
        self.host_calls[call] = op, self.draws
        self.draws += random_ops(op)

    @abstractmethod
    def step(self, op: PtirOp) -> None:
        """Append what an op is."""

    @abstractmethod
    def limited(self, step: NativeStep) -> Limited | None:
        """Return how sizes limit a kernel; None where none does."""


def _needed(ops: Sequence[PtirOp], value: SSAValue) -> list[PtirOp]:
    """Return the ops of a group, in their order, that one of its results depends on."""
    values: set[SSAValue] = {value}
    for op in reversed(ops):
        if values.intersection(op.results):
            values.update(op.operands)
    return [op for op in ops if values.intersection(op.results)]


def drop(block: Block, last: Operation | None) -> None:
    """Give up the ops of a block after `last`; memory that is allocated there can be used again."""
    while (op := block.last_op) is not None and op is not last:
        op.detach()
        if not isinstance(op, AllocOp):
            op.drop_all_references()


def memory_type(value: SSAValue) -> Attribute:
    """The type of memory of its own for a tensor."""
    dtype, dims = read_type(value.type)
    return ref(dtype, tuple([n for n in dims if isinstance(n, int)]))
