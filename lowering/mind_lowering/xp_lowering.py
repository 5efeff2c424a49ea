"""One function on its way from PTIR to `xp`: where each value is, calls of kernels, updates in place, checks of dimensions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from xdsl.ir import Attribute, Block, Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.extents.dims import is_expression, solutions
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import read_type
from mind_dialect.ptir_shapes import UNKNOWN

from . import xp
from .custom_calls import known_target
from .dynamic_dims import claims, needs_check, rule_arguments
from .ownership import Grade, Held, Memory, fixed, fresh, shared
from .ptir_idioms import IdiomStep, steps
from .xp import CallOp, ExpectOp
from .xp.arguments import ITERATIONS, SEED
from .xp.functions import CHECK, COPY, CUSTOM, FUNCTIONS, IN_PLACE, MATRICES, REPEATING, ROW_MAJOR, ROW_MAJOR_RESULTS, Storage

_UPDATES = (ptir.DynamicUpdateSliceOp, ptir.ScatterAddOp, ptir.ScatterReduceOp, ptir.ScatterWindowsOp)
"""Ops whose kernels have a form, named with `_into` behind it, that works in the memory of the first operand."""


Control = Mapping[type[Operation], Callable[[Any, Any], None]]
"""What lowers an op with regions, given the lowering and the op."""


class Lowering:
    """
    One function on its way. `ops` is the block being filled; `held` says where each new value is.

    `control` lowers ops with regions, which ask for their blocks.
    """

    def __init__(self, control: Control) -> None:
        self.control = control
        self.ops: list[Operation] = []
        self.origins: dict[Operation, Operation] = {}
        self.origin: Operation | None = None
        self.values: dict[SSAValue, SSAValue] = {}
        self.held: dict[SSAValue, Held] = {}
        self.uses: dict[SSAValue, int] = {}
        self.draws = 0
        self.loops = 0
        self.names: set[str] = set()

    # Values

    def bind(self, old: SSAValue, new: SSAValue, held: Held | None = None) -> None:
        """Let `new` stand for `old`."""
        self.values[old] = new
        if held is not None:
            self.held[new] = held
        if self.uses.get(old):
            self.held[new].memory.count(1)

    def take(self, olds: Sequence[SSAValue]) -> list[SSAValue]:
        """The values that stand for `olds`, one use of each being over."""
        news: list[SSAValue] = []
        for old in olds:
            new = self.values[old]
            news.append(new)
            self.uses[old] -= 1
            if self.uses[old] == 0:
                self.held[new].memory.count(-1)
        return news

    def emit(self, op: Operation) -> Operation:
        """Append an op that comes from the current one."""
        if self.origin is not None:
            op.location = self.origin.location
            self.origins[op] = self.origin
        self.ops.append(op)
        return op

    def call(
        self,
        callee: str,
        inputs: Sequence[SSAValue],
        types: Sequence[Attribute],
        arguments: Mapping[str, Any] | None = None,
        into: int | None = None,
    ) -> Sequence[SSAValue]:
        """Append a call; its result gets the memory of input `into`, if that is given."""
        properties = xp.call_properties(callee, arguments, into)
        return self.emit(CallOp.create(operands=inputs, result_types=types, properties=properties)).results

    def copy(self, value: SSAValue) -> SSAValue:
        """A copy of a value, in memory of its own."""
        (made,) = self.call(COPY, [value], [value.type])
        self.held[made] = fresh()
        return made

    # Blocks

    def function(self, block: Block, ending: Operation) -> None:
        """The ops of a function and its return."""
        self.origin = None
        returned = self.block(block, ending)
        self.origin = ending
        outputs: list[SSAValue] = []
        taken: set[Memory] = set()
        for value in returned:
            held = self.held[value]
            own = held.memory.writable and held.grade >= Grade.OWN and held.memory.root() not in taken
            if not own or read_type(value.type).shape == ():
                value = self.copy(value)
            elif not self.ordered(value):
                (value,) = self.call(ROW_MAJOR, [value], [value.type])
                self.held[value] = held
            taken.add(self.held[value].memory.root())
            outputs.append(value)
        self.emit(xp.ReturnOp.create(operands=outputs))

    def block(self, block: Block, ending: Operation) -> list[SSAValue]:
        """Append what the ops of a block are, whose arguments are bound; the values that its last op uses."""
        planned = steps(list(block.ops)[:-1], ending.operands)
        for step in planned:
            for value in step.operands:
                self.uses[value] = self.uses.get(value, 0) + 1
        for value in ending.operands:
            self.uses[value] = self.uses.get(value, 0) + 1
        for argument in block.args:
            if self.uses.get(argument):
                self.held[self.values[argument]].memory.count(1)
        for step in planned:
            self.origin = step.op
            try:
                self.step(step)
            except MindError as e:
                raise e if e.op is not None else e.at(step.op, step.op.place()) from None
        return self.take(ending.operands)

    def nested(self, block: Block, ending: Operation) -> tuple[list[Operation], list[SSAValue]]:
        """The ops that a region's block becomes, and what its last op uses."""
        outer, self.ops, origin = self.ops, [], self.origin
        yielded = self.block(block, ending)
        self.origin = origin
        ops, self.ops = self.ops, outer
        return ops, yielded

    def repeated(self, block: Block, ending: Operation) -> tuple[list[Operation], list[SSAValue]]:
        """As `nested`, of a loop."""
        self.loops += 1
        found = self.nested(block, ending)
        self.loops -= 1
        return found

    def step(self, step: IdiomStep) -> None:
        """Append what one op is."""
        lower = self.control.get(type(step.op))
        if lower is None:
            self.lower_call(step)
        else:
            lower(self, step.op)

    def lower_call(self, step: IdiomStep) -> None:
        """Append the call of a kernel, its results held where the kernel puts them."""
        op = step.op
        inputs = self.take(step.operands)
        if needs_check(op):
            self.check_rule(op)
        callee, arguments = step.callee or "", dict(step.arguments)
        if isinstance(op, ptir.CustomCallOp):
            callee, arguments = CUSTOM, _custom(op)
        elif isinstance(op, ptir.RandomOp):
            arguments |= {"ordinal": self.draws, "seed": SEED, **({"iterations": ITERATIONS} if self.loops else {})}
            self.draws += 1
        elif isinstance(op, _UPDATES) and self.dies(inputs):
            callee = f"{callee}_into"
            self.held[inputs[0]].memory.write()
        into = self.reused(op, callee, inputs)
        results = self.call(callee, inputs, op.result_types, arguments, into)
        for old, new in zip(op.results, results, strict=True):
            self.bind(old, new, self.result_held(callee, inputs) if into is None else self.held[inputs[into]])
            new.name_hint = old.name_hint
        for i, dims in claims(op) if not isinstance(op, ptir.CustomCallOp) else ():
            self.expect(results[i], dims)
        if isinstance(op, ptir.CustomCallOp):
            for result in results:
                self.expect(result, read_type(result.type).shape)

    def dies(self, inputs: Sequence[SSAValue]) -> bool:
        """Return whether the first input's memory may be written to: nothing that is still used has it, nor has another input."""
        first = self.held[inputs[0]]
        return first.ready and first.memory.live == 0 and not shared(first.memory, [self.held[v] for v in inputs])

    def reused(self, op: PtirOp, callee: str, inputs: Sequence[SSAValue]) -> int | None:
        """
        The number of an input that dies here and whose memory the result can have, if that is worth it.

        Not what an enclosing loop carries: it would have to be copied before the loop begins.
        """
        if callee not in IN_PLACE or not _is_large(op.results[0].type):
            return None
        for i, value in enumerate(inputs):
            held = self.held[value]
            if value.type != op.results[0].type or held.grade < Grade.OWN or held.memory.carries:
                continue
            others = [v for v in inputs if v is not value]
            alone = not any(self.held[v].memory.root() is held.memory.root() for v in others)
            if held.memory.writable and held.memory.live == 0 and alone:
                return i
        return None

    def result_held(self, callee: str, inputs: Sequence[SSAValue]) -> Held:
        """Return the memory of the result of a call."""
        storage = FUNCTIONS[callee]
        if storage is Storage.CONSTANT:
            return fixed(Grade.REPEATED)
        if callee in REPEATING and not inputs:
            return fresh(Grade.REPEATED)
        if storage is Storage.OWN:
            always = callee in ROW_MAJOR_RESULTS or (callee == MATRICES and _are_matrices(inputs))
            ordered = always or all(self.ordered(v) for v in inputs)
            return fresh() if ordered else fresh(Grade.OWN)
        source = self.held[inputs[0]]
        grade = source.grade if storage is Storage.WHOLE else min(source.grade, Grade.PLACES)
        return Held(source.memory, Grade.REPEATED if callee in REPEATING else grade)

    def ordered(self, value: SSAValue) -> bool:
        """Return whether a value is known to be in row-major order."""
        return self.held[value].grade is Grade.WHOLE or len(read_type(value.type).shape) < 2

    # Dynamic dimensions

    def expect_inputs(self, arguments: Sequence[SSAValue]) -> None:
        """Give the names of inputs' dimensions their sizes, by expressions if need be; then check expressions of names."""
        shapes = [read_type(argument.type).shape for argument in arguments]
        for argument, dims in zip(arguments, shapes, strict=True):
            if any(isinstance(d, str) and not is_expression(d) for d in dims):
                self.expect(argument, [UNKNOWN if is_expression(d) else d for d in dims])
        for found in solutions(shapes):
            dims = shapes[found.shape]
            self.expect(arguments[found.shape], [d if i == found.axis else UNKNOWN for i, d in enumerate(dims)])
        for argument, dims in zip(arguments, shapes, strict=True):
            if any(map(is_expression, dims)):
                self.expect(argument, [d if is_expression(d) else UNKNOWN for d in dims])

    def expect_result(self, value: SSAValue) -> None:
        """Check the dimensions of what a loop gives, and give new names their sizes."""
        dims = read_type(value.type).shape
        if any(isinstance(d, str) for d in dims):
            self.expect(value, dims)

    def expect(self, value: SSAValue, dims: Sequence[int | str]) -> None:
        """Append a check of a value's dimensions."""
        self.emit(ExpectOp(value, dims))

    def check_rule(self, op: PtirOp) -> None:
        """Append a check of the op's shape rule."""
        inputs = [self.values[v] for v in op.operands]
        self.call(CHECK, inputs, [], {"op": op.OPCODE, **rule_arguments(op)})


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


def _custom(op: ptir.CustomCallOp) -> dict[str, Any]:
    """The arguments of a custom call, whose target must be registered by now: E8007."""
    values = op.values()
    known_target(values["target"])
    return {**values, "dtypes": tuple(read_type(v.type).dtype for v in op.results)}
