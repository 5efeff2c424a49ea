"""The rows of a carried value that the iterations of a counted loop read or write, one after the other."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, SSAValue

from ..landing import INTEGER_KINDS
from .converter import RETURNS, StablehloConverter
from .elementwise import DIRECTIONS
from .foreign import ForeignOp, as_integers, landed_spec, name_of
from .structural import static


@dataclass(frozen=True)
class Counter:
    """The induction variable: argument `place` takes `start`, `start + step` and so on, `trips` times."""

    place: int
    start: int
    step: int
    trips: int

    @property
    def end(self) -> int:
        """Its value after the loop."""
        return self.start + self.step * self.trips


@dataclass(frozen=True)
class Rows:
    """One row of a carried value per iteration: read or written by `op`, first row `first`, one step up or down."""

    place: int
    op: Operation
    first: int
    step: int
    value: SSAValue | None = None
    """Value that is written."""

    def low(self, trips: int) -> int:
        """The least row."""
        return self.first if self.step > 0 else self.first - (trips - 1)


def start_of(to: StablehloConverter, value: SSAValue) -> int | None:
    """Return the integer that a value before the loop is; None if it is not known."""
    dtype, shape = to.spec(value)
    number = to.known_scalar(value) if shape == () and dtype.kind in INTEGER_KINDS else None
    return number if isinstance(number, int) else None


def known_integer(to: StablehloConverter, value: SSAValue) -> int | None:
    """The number of a constant in the region, or of a known value around it."""
    op = value.owner
    if value in to.env:
        return start_of(to, to.env[value])
    if isinstance(op, Operation) and name_of(op) == "stablehlo.constant":
        found = as_integers(op.properties.get("value", op.attributes.get("value")))
        return found[0] if found is not None and len(found) == 1 and landed_spec(value.type).shape == () else None
    if isinstance(op, Operation) and name_of(op) in ("stablehlo.convert", "stablehlo.reshape") and len(op.operands) == 1:
        inner = known_integer(to, op.operands[0])
        return inner if landed_spec(value.type).dtype.kind in INTEGER_KINDS else None
    return None


class Indices:
    """Integers of the body in terms of the iteration: `a * t + b`, or None."""

    def __init__(self, to: StablehloConverter, counter: Counter, argument: SSAValue):
        self.to, self.trips = to, counter.trips
        self.found: dict[SSAValue, tuple[int, int] | None] = {argument: (counter.step, counter.start)}

    def of(self, value: SSAValue, depth: int = 16) -> tuple[int, int] | None:
        """The two numbers of an integer."""
        if value not in self.found:
            self.found[value] = self._of(value, depth)
        return self.found[value]

    def _of(self, value: SSAValue, depth: int) -> tuple[int, int] | None:
        if (number := known_integer(self.to, value)) is not None:
            return (0, number)
        op = value.owner
        if not isinstance(op, Operation) or not depth:
            return None
        name = name_of(op).removeprefix("stablehlo.")
        if name == "select":
            truth = self._truth(op.operands[0], depth - 1)
            return None if truth is None else self.of(op.operands[1 if truth else 2], depth - 1)
        if name not in ("add", "subtract", "negate", "convert", "reshape"):
            return None
        parts = [self.of(v, depth - 1) for v in op.operands]
        if any(part is None for part in parts) or not parts:
            return None
        (a, b), *rest = [part for part in parts if part is not None]
        match name:
            case "add":
                found = a + rest[0][0], b + rest[0][1]
            case "subtract":
                found = a - rest[0][0], b - rest[0][1]
            case "negate":
                found = -a, -b
            case _:
                found = a, b
        return found if self._fits(value, *found) else None

    def _fits(self, value: SSAValue, a: int, b: int) -> bool:
        """Return whether no iteration overflows the type."""
        element = landed_spec(value.type).dtype.element
        ends = (b, a * (self.trips - 1) + b)
        return getattr(element, "least", 1) <= min(ends) and max(ends) <= getattr(element, "most", 0)

    def _truth(self, value: SSAValue, depth: int) -> bool | None:
        """Return whether a comparison holds in all iterations or in none."""
        op = value.owner
        if not isinstance(op, Operation) or name_of(op) != "stablehlo.compare" or not depth:
            return None
        kind = DIRECTIONS[ForeignOp(op, (), ()).word("comparison_direction", tuple(DIRECTIONS))]
        left, right = (self.of(v, depth - 1) for v in op.operands)
        if left is None or right is None or kind not in ("less", "greater_equal"):
            return None
        a, b = left[0] - right[0], left[1] - right[1]
        ends = (b, a * (self.trips - 1) + b)
        if max(ends) < 0:
            return kind == "less"
        return kind != "less" if min(ends) >= 0 else None


def row_op(to: StablehloConverter, op: Operation, value: SSAValue) -> tuple[SSAValue, SSAValue | None] | None:
    """
    The index, and the row if it writes one, of an op that reads or writes one row of `value`; None for others.

    A call counts if the function does nothing else with its arguments.
    """
    name = name_of(op)
    if name in ("stablehlo.dynamic_slice", "stablehlo.dynamic_update_slice"):
        return _direct_row(to, op, value, name)
    if not isinstance(op, CallOp) or list(op.operands).count(value) != 1 or len(op.results) != 1:
        return None
    block = to.callee(op.callee.root_reference.data).body.block
    names = {name_of(inner) for inner in block.ops}
    known = {"stablehlo.constant", "stablehlo.reshape", "stablehlo.broadcast_in_dim", "stablehlo.dynamic_slice", *RETURNS}
    if len(block.args) != len(op.operands) or not names <= known | {"stablehlo.dynamic_update_slice"}:
        return None
    argument = block.args[next(i for i, v in enumerate(op.operands) if v is value)]
    uses = [use.operation for use in argument.uses]
    if len(uses) != 1 or (inner := _direct_row(to, uses[0], argument, name_of(uses[0]))) is None:
        return None
    last = block.last_op
    index, row = inner
    made = None if last is None else _through(last.operands[0])
    if made is not uses[0].results[0] or index not in block.args:
        return None
    outer: dict[SSAValue, SSAValue] = dict(zip(block.args, op.operands, strict=True))
    if row is None:
        return outer[index], None
    row = _through(row)
    return (outer[index], outer[row]) if row in outer else None


def _through(value: SSAValue) -> SSAValue:
    """Return the value from before dimensions of 1 were put in or left out."""
    while isinstance(op := value.owner, Operation) and name_of(op) in ("stablehlo.reshape", "stablehlo.broadcast_in_dim"):
        before, after = (static(landed_spec(v.type).shape) for v in (op.operands[0], value))
        if before is None or after is None or [n for n in before if n != 1] != [n for n in after if n != 1]:
            break
        dims = as_integers(op.properties.get("broadcast_dimensions", op.attributes.get("broadcast_dimensions")))
        if dims is not None and list(dims) != sorted(dims):
            break
        value = op.operands[0]
    return value


def _direct_row(to: StablehloConverter, op: Operation, value: SSAValue, name: str) -> tuple[SSAValue, SSAValue | None] | None:
    if name not in ("stablehlo.dynamic_slice", "stablehlo.dynamic_update_slice") or op.operands[0] is not value:
        return None
    reads = name == "stablehlo.dynamic_slice"
    starts = op.operands[1 if reads else 2 :]
    part = op.results[0] if reads else op.operands[1]
    whole, row = landed_spec(value.type).shape, landed_spec(part.type).shape
    if not whole or row != (1, *whole[1:]) or len(starts) != len(whole) or value in op.operands[1:]:
        return None
    if any(known_integer(to, v) != 0 for v in starts[1:]):
        return None
    return starts[0], None if reads else part
