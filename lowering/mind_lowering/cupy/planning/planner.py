"""How a plan is made: one walk over a lowered function."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from mind_dialect.ptir import FusionOp, PtirLiteralAttr
from mind_dialect.ptir.types import PtirDType, dtype_named, read_type

from ...kernels import NUMPY
from ...xp import CallOp, ExpectOp, FreeOp, ReturnOp, is_constant
from ...xp_functions import COPY, EMPTY, ROW_MAJOR
from ...xp_regions import ConditionOp, ForOp, IfOp, LoopOp, WhileOp
from ..kernels.call_kernels import CallKernels
from ..kernels.stages import Staged
from ..launching import ALIGNMENT
from .host_calls import VIEWS, host_reason
from .iterations import iteration_kernel
from .lifetimes import place_buffers
from .plan import (
    Branch,
    Buffer,
    Call,
    Copy,
    Launch,
    Loop,
    Place,
    Plan,
    Step,
    Unplanned,
    row_major,
    same_strides,
)
from .planned_products import plan_matmul, plan_product, reshaped
from .planned_scans import plan_scan, yielded


def plan_function(
    func: FuncOp, kernels: Mapping[FusionOp, tuple[str, Any]], donated: Collection[int] = (), calls: CallKernels | None = None
) -> Plan:
    """
    The plan of a function lowered for CuPy; Unplanned where a dimension has no size.

    `kernels` gives for each fusion the name of its kernel and its `Launch` of `kernel.py`, `calls` those of calls that are
    kernels of ours.
    """
    planner = Planner(kernels, donated, calls or CallKernels())
    block = func.body.block
    for i, argument in enumerate(block.args):
        dtype, shape = planner.spec(argument)
        buffer = planner.buffer("input", dtype.size * prod(shape), i)
        planner.places[argument] = Place(buffer, 0, shape, row_major(shape, dtype.size), dtype)
    planner.block(block)
    ending = block.last_op
    assert isinstance(ending, ReturnOp), "lowered"
    outputs = planner.results(ending, donated)
    inputs = [planner.places[a] for a in block.args]
    state = 0 if planner.state is None else planner.state.buffer.bytes
    plan = Plan(func.sym_name.data, planner.steps, inputs, outputs, planner.constants, planner.buffers, state=state)
    place_buffers(plan, donated)
    return plan


@dataclass
class Planner:
    kernels: Mapping[FusionOp, tuple[str, Any]]
    donated: Collection[int] = ()
    calls: CallKernels = field(default_factory=CallKernels)
    steps: list[Step] = field(default_factory=list["Step"])
    places: dict[SSAValue, Place] = field(default_factory=dict[SSAValue, Place])
    buffers: list[Buffer] = field(default_factory=list[Buffer])
    constants: list[tuple[Place, PtirLiteralAttr]] = field(default_factory=list[tuple[Place, PtirLiteralAttr]])
    state: Place | None = None
    """The seed and the induction variables, once they are needed."""

    # Values

    def spec(self, value: SSAValue) -> tuple[PtirDType, tuple[int, ...]]:
        """The dtype and sizes of a value."""
        dtype, dims = read_type(value.type)
        shape = tuple(n for n in dims if isinstance(n, int))
        if len(shape) != len(dims):
            raise Unplanned("a dimension has no size before the run")
        return dtype, shape

    def buffer(self, role: str, size: int, index: int = -1) -> Buffer:
        """New memory."""
        made = Buffer(role, size, index)
        self.buffers.append(made)
        return made

    def made(self, value: SSAValue) -> Place:
        """A place of its own for a value."""
        dtype, shape = self.spec(value)
        buffer = self.buffer("arena", dtype.size * prod(shape))
        place = self.places[value] = Place(buffer, 0, shape, row_major(shape, dtype.size), dtype)
        return place

    def room(self, role: str, size: int, dtype: str) -> Place:
        """Bytes, or numbers, for a kernel's own use."""
        kind = dtype_named(dtype)
        return Place(self.buffer(role, size * kind.size), 0, (size,), (kind.size,), kind)

    # Ops

    def block(self, block: Block) -> None:
        """Append the steps of a block's ops."""
        for op in block.ops:
            if isinstance(op, CallOp):
                self.call(op)
            elif isinstance(op, FusionOp):
                self.launch(op)
            elif isinstance(op, IfOp):
                self.branch(op)
            elif isinstance(op, WhileOp):
                self.loop(op)
            elif isinstance(op, ForOp):
                plan_scan(self, op)
            else:
                assert isinstance(op, FreeOp | ExpectOp) or op is block.last_op, op.name

    def launch(self, op: FusionOp) -> None:
        """A kernel of ours."""
        name, how = self.kernels[op]
        inputs = [self.ready(self.places[v], op) for v in op.operands]
        if how.into is None:
            outputs = [self.made(r) for r in op.results]
        else:
            self.places[op.results[0]] = inputs[how.into]
            outputs = [self.places[op.results[0]]]
        step = Launch(op, name, inputs, outputs)
        if how.scratch:
            step.scratch = self.room("arena", how.scratch, "ui8")
        if how.counters:
            step.counters = self.room("kept", how.counters, "ui32")
        if how.fails:
            step.record = self.room("record", 3, "ui64")
        if how.grid:
            self.steps.append(step)

    def staged(self, op: CallOp, staged: Staged) -> None:
        """A call that is kernels of ours."""
        scratch = [self.room("arena", size, "ui8") for size in staged.scratch]
        kinds = {
            "operand": [self.ready(self.places[v], op) for v in op.operands],
            "result": [self.made(r) for r in op.results],
            "scratch": scratch,
        }

        def place(word: str) -> Place:
            kind, _, number = word.partition(" ")
            return kinds[kind][int(number)] if number else self.iterations()

        for stage in staged.stages:
            if stage.kernel.launch.grid:
                reads, writes = [place(w) for w in stage.reads], [place(w) for w in stage.writes]
                self.steps.append(Launch(op, self.calls.names[stage], reads, writes))

    def iterations(self) -> Place:
        """The seed, then the induction variable of each loop."""
        if self.state is None:
            self.state = self.room("state", 1 + max(self.calls.loops.values(), default=-1) + 1, "ui64")
        return self.state

    def iteration(self, op: LoopOp, *, begins: bool = False) -> None:
        """Append what sets the induction variable of a loop, if draws depend on it."""
        if op in self.calls.loops:
            number = replace(self.iterations(), offset=8 * (1 + self.calls.loops[op]), shape=(1,))
            self.steps.append(self.counted(number, begins=begins))

    def counted(self, number: Place, *, begins: bool = False) -> Launch:
        """What sets the number of an iteration, to 0 or to the next."""
        return Launch(None, self.calls.add(iteration_kernel(begins=begins)), [], [number])

    def call(self, op: CallOp) -> None:
        """A view, a constant, kernels of ours, or a call of the array library."""
        function, arguments = op.function, op.values()
        if is_constant(op):
            return self.constant(op, arguments["value"])
        if (staged := self.calls.of.get(op)) is not None:
            return self.staged(op, staged)
        inputs = [self.places[v] for v in op.operands]
        if function == EMPTY:
            self.made(op.results[0])
            return None
        if function in VIEWS and (view := self.view(op, inputs[0], arguments)) is not None:
            self.places[op.results[0]] = view
            return None
        if function == "k.dot_general" and plan_product(self, op, inputs, arguments):
            return None
        if function == "xp.matmul" and plan_matmul(self, op, inputs):
            return None
        if not op.results:
            raise Unplanned("shapes are checked during the run")
        host = host_reason(op)
        if op.target is not None or function.endswith("_into"):
            target = self.places[op.target if op.target is not None else op.operands[0]]
            self.places[op.results[0]] = target
            self.steps.append(Call(op, function, inputs, arguments, [target], host, into=True))
        elif function in (COPY, ROW_MAJOR):
            self.steps.append(Copy(inputs[0], self.made(op.results[0]), op))
        else:
            self.steps.append(Call(op, function, inputs, arguments, [self.made(r) for r in op.results], host))
        return None

    def constant(self, op: CallOp, literal: Any) -> None:
        """A constant; one number is repeated by strides of 0."""
        dtype, shape = self.spec(op.results[0])
        fill = literal.is_fill
        buffer = self.buffer("constant", dtype.size if fill else dtype.size * prod(shape), len(self.constants))
        strides = (0,) * len(shape) if fill else row_major(shape, dtype.size)
        place = self.places[op.results[0]] = Place(buffer, 0, shape, strides, dtype)
        self.constants.append((place, literal))

    def view(self, op: CallOp, source: Place, arguments: dict[str, Any]) -> Place | None:
        """The place of a view, as NumPy finds it; None where elements have to be moved."""
        dtype, shape = self.spec(op.results[0])
        if op.function in ("k.reshape", ROW_MAJOR, "k.identity"):
            return None if op.function == ROW_MAJOR and not source.is_ordered else reshaped(source, shape)
        kind = np.dtype(f"V{dtype.size}")
        seen: Any = np.lib.stride_tricks.as_strided(np.empty(1, kind), source.shape, source.strides)
        start = seen.__array_interface__["data"][0]
        seen = getattr(NUMPY, op.function.partition(".")[2])(seen, **arguments)
        offset = 0 if 0 in shape else seen.__array_interface__["data"][0] - start
        return Place(source.buffer, source.offset + offset, shape, tuple(seen.strides), dtype)

    def copy(self, source: Place, target: Place, op: Operation | None) -> None:
        """Append a copy, unless it is one of a place to itself."""
        if target.bytes and not self.is_same(source, target):
            self.steps.append(Copy(source, target, op))

    @staticmethod
    def is_same(a: Place, b: Place) -> bool:
        """Whether two places of one shape are the same elements."""
        return a.buffer is b.buffer and a.offset == b.offset and same_strides(a.shape, a.strides, b.strides)

    # Control flow

    def nested(self, block: Block) -> list[Step]:
        """The steps of a region's block."""
        outer, self.steps = self.steps, []
        self.block(block)
        inner, self.steps = self.steps, outer
        return inner

    def branch(self, op: IfOp) -> None:
        """Each branch copies what it yields to where the results are."""
        results = [self.made(r) for r in op.results]
        found: list[list[Step]] = []
        for region in op.regions:
            outer, self.steps = self.steps, []
            self.block(region.block)
            self.assign(yielded(region.block), results, op)
            found.append(self.steps)
            self.steps = outer
        self.steps.append(Branch(op, self.places[op.condition], found[0], found[1]))

    def assign(self, values: Sequence[SSAValue], targets: Sequence[Place], op: Operation) -> None:
        """Copies of values to places, all at once: what another copy would overwrite is put aside first."""
        sources = [self.places[v] for v in values]
        written = {t.buffer for s, t in zip(sources, targets, strict=True) if not self.is_same(s, t)}
        for i, (source, target) in enumerate(zip(sources, targets, strict=True)):
            if source.buffer in written and not self.is_same(source, target):
                aside = Place(self.buffer("arena", source.bytes), 0, target.shape, target.strides, target.dtype)
                self.copy(source, aside, op)
                sources[i] = aside
        for source, target in zip(sources, targets, strict=True):
            self.copy(source, target, op)

    def carried(self, op: WhileOp | ForOp, arguments: Sequence[SSAValue]) -> list[Place]:
        """Where a loop keeps what it carries: where the initial value is, if the loop takes it and it is all of its memory."""
        found: list[Place] = []
        for i, (value, argument) in enumerate(zip(op.initial(), arguments, strict=True)):
            source = self.places[value]
            if i in op.taken() and self.is_alone(source) and not any(p.buffer is source.buffer for p in found):
                self.places[argument] = source
            else:
                self.copy(source, self.made(argument), op)
            found.append(self.places[argument])
        return found

    def is_alone(self, place: Place) -> bool:
        """Whether nothing but one value is in the memory of a place, which is the function's to write to."""
        own = place.buffer.role == "arena" or (place.buffer.role == "input" and place.buffer.index in self.donated)
        return own and place.is_whole and sum(p.buffer is place.buffer for p in self.places.values()) == 1

    def loop(self, op: WhileOp) -> None:
        """Keep loop-carried values in one place from iteration to iteration."""
        test, body = op.cond_region.block, op.body_region.block
        carried = self.carried(op, test.args)
        self.iteration(op, begins=True)
        tests = self.nested(test)
        condition = test.last_op
        assert isinstance(condition, ConditionOp), "verified"
        for argument, value in zip(body.args, condition.inputs, strict=True):
            self.places[argument] = self.places[value]
        outer, self.steps = self.steps, []
        self.block(body)
        self.assign(yielded(body), carried, op)
        self.iteration(op)
        iteration, self.steps = self.steps, outer
        self.steps.append(Loop(op, tests, self.places[condition.go_on], iteration))
        for result, value in zip(op.results, condition.inputs, strict=True):
            self.places[result] = self.places[value]

    def ready(self, place: Place, op: Operation) -> Place:
        """A place with the same elements that a kernel can read: in row-major order, from a good address."""
        if place.is_ordered and place.offset % ALIGNMENT == 0 and place.buffer.aligned:
            return place
        if place.buffer.role == "constant" and not any(place.strides):
            literal = self.constants[place.buffer.index][1]
            buffer = self.buffer("constant", place.bytes, len(self.constants))
            made = Place(buffer, 0, place.shape, row_major(place.shape, place.dtype.size), place.dtype)
            self.constants.append((made, literal))
            return made
        return self.moved(place, op)

    def ordered(self, place: Place, op: Operation) -> Place:
        """A place with the same elements in row-major order."""
        return place if place.is_ordered else self.moved(place, op)

    def moved(self, place: Place, op: Operation) -> Place:
        """A copy in row-major order."""
        strides = row_major(place.shape, place.dtype.size)
        made = Place(self.buffer("arena", place.bytes), 0, place.shape, strides, place.dtype)
        self.copy(place, made, op)
        return made

    def results(self, ending: ReturnOp, donated: Collection[int]) -> list[Place]:
        """Where the results are: in memory of their own, or of a donated input."""
        found: list[Place] = []
        taken: set[Buffer] = set()
        for i, value in enumerate(ending.operands):
            place = self.places[value]
            given = place.buffer.role == "input" and place.buffer.index in donated
            if place.buffer in taken or not place.is_whole or not (place.buffer.role == "arena" or given):
                dtype, shape = place.dtype, place.shape
                own = Place(self.buffer("output", place.bytes, i), 0, shape, row_major(shape, dtype.size), dtype)
                self.copy(place, own, ending)
                place = own
            elif not given:
                place.buffer.role, place.buffer.index = "output", i
            taken.add(place.buffer)
            found.append(place)
        return found
