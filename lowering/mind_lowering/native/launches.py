"""
The steps of a function as launches: what runs natively, on memory that the `launch` dialect assigns and checks.

Each native step is one `launch.kernel`, whose schedule says what the step's code does; a step on NumPy is a `launch.host_call`;
loops carry addresses, and slices that move with them are `launch.at`. An allocation stands in the innermost block that holds all
of its uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IndexType, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.types import I1, read_type

from ..launch.assign_memory import Donation, assign_memory
from ..launch.compute_ops import HostCallOp, KernelOp
from ..launch.control_ops import AtOp, ConditionOp, ForOp, IfOp, PrepackOp, WhileOp, YieldOp
from ..launch.kernel_body import body_of_op
from ..launch.liveness import home
from ..launch.memory_ops import AllocOp, Space, ViewOp
from ..launch.ref import ref
from ..launch.return_op import ReturnOp
from .flow import Branch, Loop, Step
from .lowered import Foreign
from .memory import ALIGNMENT
from .steps import NativeStep
from .views import Buffer, Use, View

SPACES: dict[Use, Space] = {
    Use.INPUT: Space.INPUT,
    Use.OUTPUT: Space.OUTPUT,
    Use.CONSTANT: Space.CONSTANT,
    Use.ARENA: Space.ARENA,
    Use.FOREIGN: Space.HOST,
    Use.KEPT: Space.KEPT,
}
"""The space of each kind of memory; what moves with a loop is an address in one of them."""
ITERATION = "the number of the iteration"
"""The schedule of the kernel that writes the induction variable of a loop to memory, for kernels that read it."""
Path = tuple[tuple[int, int], ...]
"""Loops and branches around a step, the outermost first, and the regions of these that it is in."""
PREPACK: Path = ((0, 0),)
"""The path of the steps that run before any call."""


@dataclass
class NativeLaunches:
    """A function of launches, and the buffers whose memory the operands of its ops are."""

    func: FuncOp
    operands: dict[Operation, list[Buffer]] = field(default_factory=dict[Operation, list[Buffer]])
    """Of each kernel and host call, reads first, of what loops are given, and of the arrays that they slice."""

    def assign(self, inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> int:
        """Assign the memory, and state in each buffer where it lies; the bytes of the arena."""
        arena = assign_memory(self.func, order="size", align=ALIGNMENT, donation=Donation.IN_PLACE)
        for op, buffers in self.operands.items():
            for buffer, value in zip(buffers, _memory(op), strict=True):
                owner = home(value).owner
                if isinstance(owner, AllocOp) and buffer.root.use is not Use.MOVING:
                    _state(buffer.root, owner, inputs, outputs)
        return arena


def _memory(op: Operation) -> Sequence[SSAValue]:
    if isinstance(op, KernelOp | HostCallOp):
        return (*op.reads, *op.writes)
    return op.operands[:1] if isinstance(op, AtOp) else op.operands


def _state(buffer: Buffer, alloc: AllocOp, inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> None:
    """State in a buffer where its memory is."""
    if alloc.kind is Space.OUTPUT and buffer.use is Use.ARENA:
        buffer.into = outputs[alloc.number or 0]
        return
    buffer.offset = alloc.word("at", 0)
    if alloc.over is not None and isinstance(alloc.over.owner, AllocOp):
        buffer.over = inputs[alloc.over.owner.number or 0]


def launches_of(
    func: FuncOp,
    steps: Sequence[Step],
    once: Sequence[Step],
    inputs: Sequence[Buffer],
    constants: Sequence[tuple[Buffer, PtirLiteralAttr]],
    outputs: Sequence[Buffer],
) -> NativeLaunches:
    """Return the steps of a prepared function as launches, those of `once` as what runs before any call."""
    build = _Builder(dict(constants))
    new = Block(arg_types=func.body.block.arg_types)
    for argument, old, buffer in zip(new.args, func.body.block.args, inputs, strict=True):
        argument.name_hint = old.name_hint
        build.alloc(buffer)
    build.find_homes(once, PREPACK)
    build.find_homes(steps, ())
    build.homes.update({buffer.root: () for buffer in outputs})
    if once:
        build.nested(once, ())
        ops = build.part(once, PREPACK)
        build.ops.append(PrepackOp(Block([*ops, YieldOp()])))
    build.block(steps, ())
    ending = func.body.block.last_op
    assert ending is not None, "prepared"
    for buffer in outputs:
        if buffer.root not in build.values:  # of no elements: no step writes it
            build.alloc(buffer.root)
    found = [build.seen(build.value(b), _type_of(v)) for b, v in zip(outputs, ending.operands, strict=True)]
    new.add_ops([*build.ops, ReturnOp(found)])
    made = FuncOp.create(properties=dict(func.properties), attributes=dict(func.attributes), regions=[Region(new)])
    made.location = func.location
    return NativeLaunches(made, build.operands)


def _type_of(value: SSAValue) -> Attribute:
    dtype, dims = read_type(value.type)
    return ref(dtype, tuple([n for n in dims if isinstance(n, int)]))


@dataclass
class _Builder:
    """A function of launches on its way: `ops` is what is being filled."""

    literals: Mapping[Buffer, PtirLiteralAttr]
    ops: list[Operation] = field(default_factory=list[Operation])
    values: dict[Buffer, SSAValue] = field(default_factory=dict[Buffer, SSAValue])
    """The address of each buffer that has memory, and of each that moves while its loop is visited."""
    operands: dict[Operation, list[Buffer]] = field(default_factory=dict[Operation, list[Buffer]])
    homes: dict[Buffer, Path] = field(default_factory=dict[Buffer, Path])
    """The innermost block that holds all uses of each buffer."""
    inside: dict[int, dict[Buffer, None]] = field(default_factory=dict[int, dict[Buffer, None]])
    """By identity of a step, the buffers that it uses, those inside of it too."""
    numbers: dict[Space, int] = field(default_factory=dict[Space, int])

    # Places of allocations

    def find_homes(self, steps: Sequence[Step], path: Path) -> None:
        """Find the innermost block that holds all uses of each buffer that steps use."""
        for step in steps:
            self.visit(step, path)

    def visit(self, step: Step, path: Path) -> dict[Buffer, None]:
        """Note the uses of a step; the buffers that it uses."""
        found: dict[Buffer, None] = {}
        for buffer, inner in _uses(step, path):
            found[buffer] = None
            self.homes[buffer] = _common(self.homes.get(buffer, inner), inner)
        for i, part in enumerate(step.parts if isinstance(step, Loop | Branch) else ()):
            for each in part:
                found |= self.visit(each, (*path, (id(step), i)))
        self.inside[id(step)] = found
        return found

    # Memory

    def alloc(self, buffer: Buffer) -> SSAValue:
        """Append the allocation of a buffer."""
        space, literal = SPACES[buffer.use], self.literals.get(buffer)
        number: int | None = None
        if space in (Space.INPUT, Space.OUTPUT):
            number = buffer.index
        elif space in (Space.CONSTANT, Space.KEPT):
            number = self.numbers[space] = self.numbers.get(space, -1) + 1
        type = ref(buffer.dtype, buffer.extents if literal is None else literal.spec[1])
        op = AllocOp(type, space, number, literal=literal, donated=buffer.donated)
        op.res.name_hint = buffer.name or None
        self.ops.append(op)
        self.values[buffer] = op.res
        return op.res

    def value(self, buffer: Buffer) -> SSAValue:
        """The address of a buffer."""
        return self.values[buffer.root]

    def view(self, view: View) -> SSAValue:
        """The address of a view of memory."""
        assert isinstance(view.base, Buffer), "in memory"
        return self.seen(self.value(view.base), ref(view.dtype, view.shape, view.strides), view.offset)

    def seen(self, source: SSAValue, type: Attribute, offset: int = 0) -> SSAValue:
        """Return the address of what lies some elements from an address, as another type."""
        if source.type == type and not offset:
            return source
        op = ViewOp(source, type, offset)
        self.ops.append(op)
        return op.res

    # Steps

    def nested(self, steps: Iterable[Step], path: Path) -> None:
        """Append the allocations that steps use and that stand in the block that is being filled."""
        for step in steps:
            for buffer in self.inside[id(step)]:
                if buffer not in self.values and self.homes[buffer] == path:
                    self.alloc(buffer)

    def block(self, steps: Sequence[Step], path: Path) -> None:
        """Append steps, each after the allocations that it is the first to use."""
        for step in steps:
            self.nested((step,), path)
            match step:
                case Loop():
                    self.loop(step, path)
                case Branch():
                    self.branch(step, path)
                case Foreign():
                    self.host_call(step)
                case NativeStep():
                    self.kernel(step)

    def part(self, steps: Sequence[Step], path: Path) -> list[Operation]:
        """The ops of the steps of a region."""
        outer, self.ops = self.ops, []
        self.block(steps, path)
        found, self.ops = self.ops, outer
        return found

    def kernel(self, step: NativeStep) -> None:
        access = step.access()
        reads = list(dict.fromkeys(b.root for b in access.reads))
        writes = list(dict.fromkeys(b.root for b in access.writes))
        pairs = [
            (writes.index(new.root), reads.index(old.root)) for new, old in access.over if old.root.bytes and old.root in reads
        ]
        pairs += [(i, reads.index(b)) for i, b in enumerate(writes) if b in reads]
        op = KernelOp(
            step.name,
            [self.value(b) for b in reads],
            [self.value(b) for b in writes],
            inplace=list(dict.fromkeys(pairs)) or None,
            schedule=StringAttr(step.contents()),
            fails=None if writes else StringAttr("index"),
        )
        self.operands[op] = [*reads, *writes]
        self.ops.append(op)

    def host_call(self, step: Foreign) -> None:
        reads = [self.view(v) for v in step.inputs]
        writes = [self.seen(self.value(b), _type_of(r)) for b, r in zip(step.outputs, step.op.results, strict=True)]
        ordinal = step.draws if isinstance(step.op, ptir.RandomOp) else None
        op = HostCallOp(step.op.OPCODE, reads, writes, body_of_op(step.op), step.reason, ordinal)
        op.location = step.op.location
        self.operands[op] = [*(v.base for v in step.inputs if isinstance(v.base, Buffer)), *step.outputs]
        self.ops.append(op)

    def branch(self, step: Branch, path: Path) -> None:
        predicate = self.view(step.pred)
        parts = [self.part(part, (*path, (id(step), i))) for i, part in enumerate(step.parts)]
        self.ops.append(IfOp(predicate, [], *(Block([*ops, YieldOp()]) for ops in parts)))

    def loop(self, step: Loop, path: Path) -> None:
        """A loop, whose results stand for what it was given from now on."""
        types = [ref(c.buffer.dtype, c.buffer.extents) for c in step.carried]
        inits = [self.seen(self.view(c.first), type) for c, type in zip(step.carried, types, strict=True)]
        slots = [_base(c.first).root for c in step.carried]
        made = self.scan(step, path, inits, types) if step.iterations is not None else self.while_loop(step, path, inits, types)
        self.ops.append(made)
        self.operands[made] = [_base(c.first) for c in step.carried]
        places = {home(result): result for result in made.results}
        self.values.update({slot: places[v] for slot in slots if (v := self.values[slot]) in places})
        self.values.update(zip([c.buffer for c in step.carried], made.results, strict=True))

    def scan(self, step: Loop, path: Path, inits: Sequence[SSAValue], types: Sequence[Attribute]) -> Operation:
        assert step.iterations is not None
        block, outer = Block(arg_types=[IndexType(), *types]), self.ops
        index, self.ops = block.args[0], []
        self.values.update(zip([c.buffer for c in step.carried], block.args[1:], strict=True))
        for window in step.windows:
            of = window.of
            source = self.seen(
                self.value(_base(of)),
                ref(window.buffer.dtype, (step.iterations, window.buffer.count), (window.stride, 1)),
                of.offset,
            )
            self.ops.append(at := AtOp(source, index))
            self.operands[at] = [_base(of)]
            self.values[window.buffer] = at.res
        self.body(step, step.body, (*path, (id(step), 1)), begins=True)
        following = [self.seen(self.value(c.following), type) for c, type in zip(step.carried, types, strict=True)]
        block.add_ops([*self.ops, YieldOp(following)])
        self.ops = outer
        return ForOp(step.iterations, inits, block)

    def while_loop(self, step: Loop, path: Path, inits: Sequence[SSAValue], types: Sequence[Attribute]) -> Operation:
        assert step.pred is not None
        test, body, outer = Block(arg_types=types), Block(arg_types=types), self.ops
        buffers = [c.buffer for c in step.carried]
        self.ops = []
        self.values.update(zip(buffers, test.args, strict=True))
        self.body(step, step.head, (*path, (id(step), 0)), begins=True)
        predicate = self.seen(self.value(_base(step.pred)), ref(I1, ()), step.pred.offset)
        test.add_ops([*self.ops, ConditionOp(predicate, test.args)])
        self.ops = []
        self.values.update(zip(buffers, body.args, strict=True))
        self.body(step, step.body, (*path, (id(step), 1)))
        following = [self.seen(self.value(c.following), type) for c, type in zip(step.carried, types, strict=True)]
        body.add_ops([*self.ops, YieldOp(following)])
        self.ops = outer
        return WhileOp(inits, test, body)

    def body(self, step: Loop, steps: Sequence[Step], path: Path, *, begins: bool = False) -> None:
        """Append one region of a loop, the first of an iteration with the kernel that writes its number."""
        if begins and step.iteration is not None:
            buffer = _base(step.iteration).root
            if buffer not in self.values:
                self.alloc(buffer)
            self.ops.append(op := KernelOp("iteration", [], [self.values[buffer]], schedule=StringAttr(ITERATION)))
            self.operands[op] = [buffer]
        self.block(steps, path)


def _base(view: View) -> Buffer:
    assert isinstance(view.base, Buffer), "in memory"
    return view.base


def _uses(step: Step, path: Path) -> Iterator[tuple[Buffer, Path]]:
    """Yield the buffers in memory that a step itself uses, and in which block."""
    match step:
        case NativeStep():
            access = step.access()
            found = [(b, path) for b in (*access.writes, *access.reads)]
        case Foreign():
            found = [(b, path) for b in (*(_base(v) for v in step.inputs), *step.outputs)]
        case Branch():
            found = [(_base(step.pred), path)]
        case Loop():
            found = [(_base(v), path) for v in (*(c.first for c in step.carried), *(w.of for w in step.windows))]
            found += [(c.following, (*path, (id(step), 1))) for c in step.carried]
            first = (*path, (id(step), 0 if step.iterations is None else 1))
            found += [(_base(v), first) for v in (step.pred, step.iteration) if v is not None]
    yield from ((b.root, where) for b, where in found if b.root.use is not Use.MOVING)


def _common(one: Path, other: Path) -> Path:
    """The path of the innermost block that holds two blocks."""
    count = 0
    while count < min(len(one), len(other)) and one[count] == other[count]:
        count += 1
    return one[:count]
