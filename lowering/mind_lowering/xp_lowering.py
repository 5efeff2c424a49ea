"""One function on its way from PTIR to `xp`: calls of kernels and checks of dimensions, each result in memory of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.ir import Attribute, Block, Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.extents.dims import is_expression
from mind_dialect.extents.solutions import solutions
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import read_type
from mind_dialect.ptir_shapes import UNKNOWN

from . import xp
from .custom_calls import known_target
from .dynamic_dims import claims, needs_check, rule_arguments
from .ptir_idioms import IdiomStep, steps
from .xp import CallOp, ExpectOp
from .xp.arguments import ITERATIONS, SEED
from .xp.functions import CHECK, CUSTOM

Control = Mapping[type[Operation], Callable[[Any, Any], None]]
"""A function that lowers an op with regions, given the lowering and the op."""


class Lowering:
    """
    One function on its way. `ops` is the block being filled; `values` says which value stands for each of the function.

    `control` lowers ops with regions, which ask for their blocks.
    """

    def __init__(self, control: Control) -> None:
        self.control = control
        self.ops: list[Operation] = []
        self.origins: dict[Operation, Operation] = {}
        self.origin: Operation | None = None
        self.values: dict[SSAValue, SSAValue] = {}
        self.overwrites: dict[Operation, int] = {}
        """Kernels that write over an operand, by its number."""
        self.draws = 0
        self.loops = 0
        self.names: set[str] = set()

    def of(self, olds: Sequence[SSAValue]) -> list[SSAValue]:
        """Return the values that stand for `olds`."""
        return [self.values[v] for v in olds]

    def stand(self, olds: Sequence[SSAValue], news: Sequence[SSAValue]) -> None:
        """Let each of `news`, results or parameters made for them, stand for one of `olds`, and have its name."""
        for old, new in zip(olds, news, strict=True):
            self.values[old] = new
            new.name_hint = old.name_hint

    def emit(self, op: Operation) -> Operation:
        """Append an op that comes from the current one."""
        if self.origin is not None:
            op.location = self.origin.location
            self.origins[op] = self.origin
        self.ops.append(op)
        return op

    def call(
        self, callee: str, inputs: Sequence[SSAValue], types: Sequence[Attribute], arguments: Mapping[str, Any] | None = None
    ) -> Sequence[SSAValue]:
        """Append a call."""
        properties = xp.call_properties(callee, arguments)
        return self.emit(CallOp.create(operands=inputs, result_types=types, properties=properties)).results

    # Blocks

    def function(self, block: Block, ending: Operation) -> None:
        """Append the ops of a function and its return."""
        self.origin = None
        returned = self.block(block, ending)
        self.origin = ending
        self.emit(xp.ReturnOp.create(operands=returned))

    def block(self, block: Block, ending: Operation) -> list[SSAValue]:
        """Append what the ops of a block are, for whose arguments values stand; the values that its last op uses."""
        found = steps(list(block.ops)[:-1], ending.operands)
        try:
            for step in found:
                self.origin = step.op
                self.step(step)
            return self.of(ending.operands)
        finally:
            for step in found:
                if step.op.parent is None:  # made for this alone: the program must not count it among its uses
                    step.op.drop_all_references()

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
        """Append what one op is; errors name it."""
        lower = self.control.get(type(step.op))
        try:
            if lower is None:
                self.lower_call(step)
            else:
                lower(self, step.op)
        except MindError as e:
            raise e if e.op is not None else e.at(step.op, step.op.place()) from None

    def lower_call(self, step: IdiomStep) -> None:
        """Append the call of a kernel."""
        op = step.op
        inputs = self.of(step.operands)
        if needs_check(op):
            self.check_rule(op)
        callee, arguments = step.callee or "", dict(step.arguments)
        if isinstance(op, ptir.CustomCallOp):
            callee, arguments = CUSTOM, _custom(op)
        elif isinstance(op, ptir.RandomOp):
            arguments |= {"ordinal": self.draws, "seed": SEED, **({"iterations": ITERATIONS} if self.loops else {})}
            self.draws += 1
        results = self.call(callee, inputs, op.result_types, arguments)
        self.stand(op.results, results)
        for i, dims in claims(op) if not isinstance(op, ptir.CustomCallOp) else ():
            self.expect(results[i], dims)
        if isinstance(op, ptir.CustomCallOp):
            for result in results:
                self.expect(result, read_type(result.type).shape)

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
        self.call(CHECK, self.of(op.operands), [], {"op": op.OPCODE, **rule_arguments(op)})


def _custom(op: ptir.CustomCallOp) -> dict[str, Any]:
    """The arguments of a custom call, whose target must be registered by now: E8007."""
    values = op.values()
    known_target(values["target"])
    return {**values, "dtypes": tuple(read_type(v.type).dtype for v in op.results)}
