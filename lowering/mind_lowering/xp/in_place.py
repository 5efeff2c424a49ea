"""
Updates in place: which calls write over memory that nothing needs any more, and the copies that loops and results then need.

Before this pass every result has memory of its own and nothing is copied. An op may write to memory that no use after it needs,
which the liveness analysis says, and that belongs to the function. What a loop carries is written to only on demand: the loop
then copies an initial value that others need too, once, before it begins, and a yielded value that is not the loop's own; a
cache that is updated step by step is so never copied in the loop. Results share memory with nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import prod

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from mind_dialect.ptir import FusionOp
from mind_dialect.ptir.control import terminator, yielded
from mind_dialect.ptir.types import read_type
from mind_dialect.ptir_shapes import UNKNOWN

from .functions import (
    COPY,
    FUNCTIONS,
    IN_PLACE,
    MATRICES,
    REPEATING,
    ROW_MAJOR,
    ROW_MAJOR_RESULTS,
    UPDATES,
    Storage,
)
from .liveness import NameRanges
from .memory import LoopCarry, Memory, MemoryLayout, MemoryView, fixed, fresh, is_shared
from .ops import CallOp, call_properties
from .regions import ConditionOp, ForOp, IfOp, LoopOp, WhileOp

Origins = dict[Operation, Operation]
"""The op that each op of a lowered function comes from."""


def update_in_place(
    block: Block, donate: Collection[int] = (), origins: Origins | None = None, overwrites: Mapping[Operation, int] | None = None
) -> None:
    """
    Let the calls of a lowered function without frees write in place, and copy where memory must be a loop's or a result's own.

    `donate` names inputs by number whose memory may be written to. Copies get the `origins` of the ops that need them. Fusions
    in `overwrites` write over the operand of that number, whatever it costs.
    """
    _InPlace(block, donate, {} if origins is None else origins, overwrites or {}).function(block)


class _InPlace:
    """The walk through a function: `views` says where each value is."""

    def __init__(self, block: Block, donate: Collection[int], origins: Origins, overwrites: Mapping[Operation, int]):
        self.live = NameRanges(block)
        self.views: dict[SSAValue, MemoryView] = {}
        self.origins = origins
        self.overwrites = overwrites
        for i, argument in enumerate(block.args):
            self.hold(argument, fresh() if i in donate else fixed())

    def hold(self, value: SSAValue, view: MemoryView) -> None:
        """Note where a value is."""
        self.views[value] = view
        view.memory.use(self.live.uses.get(value, ()))

    def of(self, values: Sequence[SSAValue]) -> list[MemoryView]:
        return [self.views[v] for v in values]

    def insert(self, function: str, value: SSAValue, before: Operation, cause: Operation) -> SSAValue:
        """Put a call on a value before an op, which `cause` makes necessary."""
        made = CallOp.create(operands=[value], result_types=[value.type], properties=call_properties(function, None))
        made.location = cause.location
        if (origin := self.origins.get(cause)) is not None:
            self.origins[made] = origin
        block = before.parent
        assert block is not None
        block.insert_op_before(made, before)
        return made.results[0]

    def copy(self, value: SSAValue, before: Operation, cause: Operation) -> SSAValue:
        """Put a copy of a value before an op."""
        made = self.insert(COPY, value, before, cause)
        self.views[made] = fresh()
        return made

    # Ops

    def function(self, block: Block) -> None:
        """Walk through the ops of a function, and let its results have memory of their own in row-major order."""
        self.block(block)
        ending = terminator(block)
        taken: set[Memory] = set()
        for i, value in enumerate(ending.operands):
            view = self.views[value]
            own = view.memory.writable and view.layout >= MemoryLayout.DENSE and view.memory not in taken
            if not own or read_type(value.type).shape == ():
                ending.operands[i] = value = self.copy(value, ending, ending)
            elif not self.is_ordered(value):
                ending.operands[i] = value = self.insert(ROW_MAJOR, value, ending, ending)
                self.views[value] = view
            taken.add(self.views[value].memory)

    def block(self, block: Block) -> None:
        for op in list(block.ops):
            if isinstance(op, CallOp):
                self.call(op)
            elif isinstance(op, FusionOp):
                self.fusion(op)
            elif isinstance(op, IfOp):
                self.branch(op)
            elif isinstance(op, WhileOp):
                self.while_loop(op)
            elif isinstance(op, ForOp):
                self.for_loop(op)

    def call(self, op: CallOp) -> None:
        """Let a call work in place where it can."""
        function, inputs = op.function, op.operands
        if function in UPDATES and self.dies(op, self.of(inputs)):
            function = UPDATES[function]
            op.properties["callee"] = StringAttr(function)
            self.views[inputs[0]].memory.write()
        into = self.reused(op)
        if into is not None:
            op.properties["into"] = IntegerAttr(into, i64)
        for result in op.results:
            self.hold(result, self.result_view(function, inputs) if into is None else self.views[inputs[into]])

    def fusion(self, op: FusionOp) -> None:
        """A kernel makes new arrays, but for one that it writes over an operand: a copy of it, if others need it."""
        into, view = self.overwrites.get(op), None
        if into is not None:
            target = op.operands[into]
            others = [v for i, v in enumerate(op.operands) if i != into]
            if self.dies(op, self.of([target, *others])) and self.is_ordered(target):
                self.views[target].memory.write()
            else:
                op.operands[into] = target = self.copy(target, op, op)
            view = self.views[target]
        for result in op.results:
            self.hold(result, view or fresh())

    def dies(self, op: Operation, views: Sequence[MemoryView]) -> bool:
        """Return whether an op may write to the memory of its first operand: nothing later needs it, and no other operand."""
        first = views[0]
        return first.is_writable and not self.live.is_used_after(first.memory.uses, op) and not is_shared(first.memory, views)

    def reused(self, op: CallOp) -> int | None:
        """
        Return the number of an operand that dies here and whose memory the result can have, if that is worth it.

        Not what an enclosing loop carries: it would have to be copied before the loop begins.
        """
        if op.function not in IN_PLACE or not _is_large(op.results[0].type):
            return None
        for i, value in enumerate(op.operands):
            view = self.views[value]
            if value.type != op.results[0].type or view.layout < MemoryLayout.DENSE or view.memory.carries:
                continue
            if self.dies(op, [view, *self.of([v for v in op.operands if v is not value])]):
                return i
        return None

    def result_view(self, function: str, inputs: Sequence[SSAValue]) -> MemoryView:
        """Return the memory of the result of a call."""
        storage = FUNCTIONS[function]
        if storage is Storage.CONSTANT:
            return fixed(MemoryLayout.REPEATED)
        if function in REPEATING and not inputs:
            return fresh(MemoryLayout.REPEATED)
        if storage is Storage.OWN:
            always = function in ROW_MAJOR_RESULTS or (function == MATRICES and _are_matrices(inputs))
            return fresh() if always or all(map(self.is_ordered, inputs)) else fresh(MemoryLayout.DENSE)
        source = self.views[inputs[0]]
        layout = source.layout if storage is Storage.WHOLE else min(source.layout, MemoryLayout.DISTINCT)
        return MemoryView(source.home, MemoryLayout.REPEATED if function in REPEATING else layout)

    def is_ordered(self, value: SSAValue) -> bool:
        """Return whether a value is known to be in row-major order."""
        return self.views[value].layout is MemoryLayout.ROW_MAJOR or len(read_type(value.type).shape) < 2

    # Control flow

    def branch(self, op: IfOp) -> None:
        for region in op.regions:
            self.block(region.block)
        for result, *values in zip(op.results, *(yielded(r.block) for r in op.regions), strict=True):
            found, memory = self.of(values), Memory()
            for view in found:
                memory.join(view.memory)
            self.hold(result, MemoryView(memory, min(view.layout for view in found)))

    def while_loop(self, op: WhileOp) -> None:
        carries = _Carries(self, op, ())
        test, body = op.cond_region.block, op.body_region.block
        carries.enter(test)
        self.block(test)
        condition = test.last_op
        assert isinstance(condition, ConditionOp), "verified"
        passed = self.of(condition.inputs)
        for argument, view in zip(body.args, passed, strict=True):
            self.hold(argument, view)
        carries.iterate(body)
        carries.leave(op.operands, passed)

    def for_loop(self, op: ForOp) -> None:
        """The results of a scan are its carried values as the next iteration would find them."""
        carries = _Carries(self, op, op.scanned)
        carries.enter(op.body_region.block)
        carries.iterate(op.body_region.block)
        passed = [MemoryView(Memory(carries={carry: None}), MemoryLayout.ROW_MAJOR) for carry in carries.carries]
        carries.leave(op.inits, passed)


class _Carries:
    """The carried values of a loop, and their memory as it is seen from inside and from outside."""

    def __init__(self, walk: _InPlace, op: LoopOp, scanned: Sequence[SSAValue]):
        self.walk, self.op = walk, op
        self.carries = [LoopCarry() for _ in op.initial()]
        self.scanned = {LoopCarry(): walk.views[v] for v in scanned}
        self.yielded: list[SSAValue] = []

    def enter(self, block: Block) -> None:
        """Say where the arguments of the loop's first block are: what it carries, then slices, which nothing writes to."""
        views = [MemoryView(Memory(carries={c: None}), MemoryLayout.ROW_MAJOR) for c in self.carries]
        slices = [MemoryView(Memory(writable=False, carries={c: None}), MemoryLayout.DISTINCT) for c in self.scanned]
        for argument, view in zip(block.args, [*views, *slices], strict=True):
            self.walk.hold(argument, view)

    def iterate(self, body: Block) -> None:
        """Walk through the body; copy what written carries must have for themselves, in the body and before the loop."""
        self.walk.block(body)
        self._close(body)
        self._begin()

    def _close(self, body: Block) -> None:
        """Copy the yielded values of written carries that are not the loop's own."""
        ending, count = terminator(body), len(self.carries)
        own = list(ending.operands[:count])
        changed = True
        while changed:
            changed = False
            for i, carry in enumerate(self.carries):
                view = self.walk.views[ending.operands[i]]
                if not carry.written:
                    continue
                if not view.is_writable or is_shared(view.memory, self.walk.of(ending.operands[:count])):
                    ending.operands[i] = self.walk.copy(ending.operands[i], ending, self.op)
                    changed = True
                for other in view.memory.carries if ending.operands[i] is own[i] else ():
                    changed |= not other.written
                    other.written = True
        self.yielded = list(ending.operands[:count])

    def _begin(self) -> None:
        """Copy the initial values of written carries that something else needs too."""
        op, walk = self.op, self.walk
        for i, carry in enumerate(self.carries):
            if not carry.written:
                continue
            view = walk.views[op.operands[i]]
            present = [*walk.of(op.initial()), *self.scanned.values()]
            if view.is_writable and not walk.live.is_used_after(view.memory.uses, op) and not is_shared(view.memory, present):
                view.memory.write()
            else:
                op.operands[i] = walk.copy(op.operands[i], op, op)

    def leave(self, initial: Sequence[SSAValue], passed: Sequence[MemoryView]) -> None:
        """Say where the results are: in the memory of any of the initial values, or of what the body yielded."""
        outside = dict(zip(self.carries, self.walk.of(initial), strict=True)) | self.scanned
        inside = self.walk.of(self.yielded)
        for carry, view in zip(self.carries, inside, strict=True):
            self._join(outside[carry].memory, view.memory, outside)
        _join_equal(inside, [outside[carry].memory for carry in self.carries])
        layouts = {carry: view.layout for carry, view in outside.items()}
        before = None
        while before != layouts:
            before = dict(layouts)
            for carry, view in zip(self.carries, inside, strict=True):
                layouts[carry] = min(layouts[carry], _layout(view, layouts))
        memories = [Memory() for _ in passed]
        for memory, view in zip(memories, passed, strict=True):
            self._join(memory, view.memory, outside)
        _join_equal(passed, memories)
        for result, memory, view in zip(self.op.results, memories, passed, strict=True):
            self.walk.hold(result, MemoryView(memory, _layout(view, layouts)))

    @staticmethod
    def _join(memory: Memory, inner: Memory, outside: Mapping[LoopCarry, MemoryView]) -> None:
        """Let `memory` be what `inner` is, seen from outside."""
        for carry in inner.carries:
            if carry in outside:
                memory.join(outside[carry].memory)
        memory.root().writable &= inner.writable


def _layout(view: MemoryView, carried: Mapping[LoopCarry, MemoryLayout]) -> MemoryLayout:
    """Return the layout of a value of a loop, given those of what it carries."""
    return min([view.layout, *(carried.get(c, MemoryLayout.ROW_MAJOR) for c in view.memory.carries)])


def _join_equal(views: Sequence[MemoryView], memories: Sequence[Memory]) -> None:
    """Join those of the memories whose views are of one memory."""
    first: dict[Memory, Memory] = {}
    for view, memory in zip(views, memories, strict=True):
        first.setdefault(view.memory, memory).join(memory)


def _are_matrices(values: Sequence[SSAValue]) -> bool:
    """Return whether no value is a stack of matrices, whose product may have its matrices in the order that theirs are in."""
    return all(len(read_type(v.type).shape) < 3 for v in values)


IN_PLACE_FROM = 1 << 16
"""Bytes from which on memory is written to again: less stays in caches, and the text reads better without."""


def _is_large(type: Attribute) -> bool:
    """Return whether values of a type have memory that is worth taking over; a named dimension may have any size."""
    dtype, shape = read_type(type)
    if not shape or UNKNOWN in shape:
        return False
    sizes = [n for n in shape if isinstance(n, int)]
    return len(sizes) < len(shape) or dtype.size * prod(sizes) >= IN_PLACE_FROM
