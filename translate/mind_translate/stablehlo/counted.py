"""
Loops that count, as `ptir.scan`: what JAX writes for `lax.scan` and `fori_loop`.

A `while` counts if one carried integer starts at a known number, gains a known step in each iteration, and is compared with a
known limit. Its induction variable becomes a scanned input. A carried value that stays the same and is only read one row per
iteration, in order, becomes a scanned input too. One that is only written one row per iteration becomes a stacked output, so
reverse mode does not store it once per iteration. Everything else is carried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.func import CallOp
from xdsl.ir import Block, Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import tensor_type

from ..landing import INTEGER_KINDS
from .converter import RETURNS, StablehloConverter, Values
from .elementwise import DIRECTIONS
from .foreign import ForeignOp, as_integers, landed_spec, name_of
from .structural import static

MAX_TRIPS = 1 << 31
"""Loops of more iterations stay `while`."""
_MIRRORED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}


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


def as_scan(to: StablehloConverter, op: ForeignOp, cond: Block, body: Block) -> Values | None:
    """The results of a loop that counts, emitted as a scan; None for other loops."""
    last = body.last_op
    if last is None or name_of(last) not in RETURNS or len(last.operands) != len(op.operands):
        return None
    if (counter := _counter(to, op, cond, body, last)) is None:
        return None
    if counter.trips == 0:
        return op.operands
    return _Scan(to, op, body, last, counter).emit()


# The counter


def _counter(to: StablehloConverter, op: ForeignOp, cond: Block, body: Block, last: Operation) -> Counter | None:
    compare = _returned(cond)
    if compare is None or name_of(compare) != "stablehlo.compare":
        return None
    kind = DIRECTIONS[ForeignOp(compare, (), ()).word("comparison_direction", tuple(DIRECTIONS))]
    left, right = compare.operands
    if right in cond.args:
        left, right, kind = right, left, _MIRRORED.get(kind, kind)
    if left not in cond.args:
        return None
    place = next(i for i, argument in enumerate(cond.args) if argument is left)
    limit, start = known_integer(to, right), _start(to, op.operands[place])
    step = _step(to, body.args[place], last.operands[place])
    if limit is None or start is None or step is None:
        return None
    trips = trip_count(start, step, limit, kind)
    dtype = to.dtype(op.operands[place])
    if trips is None or trips > MAX_TRIPS:
        return None
    element = dtype.element
    fits = getattr(element, "least", 0) <= min(start, start + trips * step)
    fits = fits and max(start, start + trips * step) <= getattr(element, "most", 0)
    return Counter(place, start, step, trips) if fits else None


def _start(to: StablehloConverter, value: SSAValue) -> int | None:
    dtype, shape = to.spec(value)
    number = to.known_scalar(value) if shape == () and dtype.kind in INTEGER_KINDS else None
    return number if isinstance(number, int) else None


def _returned(block: Block) -> Operation | None:
    """The op that gives the only result of a block."""
    last = block.last_op
    if last is None or name_of(last) not in RETURNS or len(last.operands) != 1:
        return None
    owner = last.operands[0].owner
    return owner if isinstance(owner, Operation) and owner.parent is block else None


def _step(to: StablehloConverter, argument: SSAValue, following: SSAValue) -> int | None:
    """The number that is added to an argument."""
    op = following.owner
    if not isinstance(op, Operation) or name_of(op) not in ("stablehlo.add", "stablehlo.subtract"):
        return None
    left, right = op.operands
    if right is argument and name_of(op) == "stablehlo.add":
        left, right = right, left
    if left is not argument or (step := known_integer(to, right)) is None:
        return None
    return step if name_of(op) == "stablehlo.add" else -step


def known_integer(to: StablehloConverter, value: SSAValue) -> int | None:
    """The number of a constant in the region, or of a known value around it."""
    op = value.owner
    if value in to.env:
        return _start(to, to.env[value])
    if isinstance(op, Operation) and name_of(op) == "stablehlo.constant":
        found = as_integers(op.properties.get("value", op.attributes.get("value")))
        return found[0] if found is not None and len(found) == 1 and landed_spec(value.type).shape == () else None
    if isinstance(op, Operation) and name_of(op) in ("stablehlo.convert", "stablehlo.reshape") and len(op.operands) == 1:
        inner = known_integer(to, op.operands[0])
        return inner if landed_spec(value.type).dtype.kind in INTEGER_KINDS else None
    return None


def trip_count(start: int, step: int, limit: int, kind: str) -> int | None:
    """
    Return the trip count of a loop that runs while its counter is `kind` than the limit; None if endless or not known.

    >>> trip_count(0, 1, 5, "less"), trip_count(4, -2, 0, "greater_equal"), trip_count(0, 2, 5, "not_equal")
    (5, 3, None)
    """
    distance = limit - start
    if kind == "not_equal":
        trips = distance // step if step and distance % step == 0 else -1
        return 0 if distance == 0 else trips if trips > 0 else None
    if kind not in _MIRRORED:
        return None
    if kind.startswith("greater"):
        step, distance = -step, -distance
    if kind.endswith("equal"):
        distance += 1
    if distance <= 0:
        return 0
    return -(-distance // step) if step > 0 else None


# Rows


class _Indices:
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


def _row_op(to: StablehloConverter, op: Operation, value: SSAValue) -> tuple[SSAValue, SSAValue | None] | None:
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


class _Scan:
    """A counted loop on its way to a scan."""

    def __init__(self, to: StablehloConverter, op: ForeignOp, body: Block, last: Operation, counter: Counter):
        self.to, self.op, self.body, self.last, self.counter = to, op, body, last, counter
        self.indices = _Indices(to, counter, body.args[counter.place])
        others = [i for i in range(len(body.args)) if i != counter.place]
        self.reads = {i: rows for i in others if (rows := self._read(i))}
        self.writes = {i: row for i in others if i not in self.reads and (row := self._written(i)) is not None}
        self.carried = [i for i in others if i not in self.reads and i not in self.writes]

    def _rows(self, place: int, op: Operation) -> Rows | None:
        """An op that reads or writes rows in order, all of them inside."""
        argument = self.body.args[place]
        if op.parent is not self.body or (found := _row_op(self.to, op, argument)) is None:
            return None
        affine = self.indices.of(found[0])
        extent = self.to.shape(self.op.operands[place])[0]
        if affine is None or abs(affine[0]) != 1 or not isinstance(extent, int):
            return None
        rows = Rows(place, op, affine[1], affine[0], found[1])
        low = rows.low(self.counter.trips)
        return rows if 0 <= low and low + self.counter.trips <= extent else None

    def _read(self, place: int) -> list[Rows]:
        """The ops that read rows of a value that stays the same; none if anything else uses it."""
        argument = self.body.args[place]
        uses = [use.operation for use in argument.uses]
        if self.last.operands[place] is not argument or uses.count(self.last) != 1:
            return []
        found = [self._rows(place, op) for op in uses if op is not self.last]
        rows = [r for r in found if r is not None and r.value is None]
        return rows if len(rows) == len(found) else []

    def _written(self, place: int) -> Rows | None:
        """The op that writes one row of a value and nothing else is done with."""
        argument, following = self.body.args[place], self.last.operands[place]
        uses = [use.operation for use in argument.uses]
        op = following.owner
        if len(uses) != 1 or op is not uses[0] or not isinstance(op, Operation) or len(op.results) != 1:
            return None
        if [use.operation for use in following.uses] != [self.last]:
            return None
        rows = self._rows(place, op)
        return rows if rows is not None and rows.value is not None else None

    def emit(self) -> Values:
        """The scan, and what follows it."""
        to, trips = self.to, self.counter.trips
        bound = [v for v in to.captures(self.op.op.regions[1:]) if v in to.env]
        initial = [*(self.op.operands[i] for i in self.carried), *(to.env[v] for v in bound)]
        scanned = [self._induction()]
        reads = [rows for found in self.reads.values() for rows in found]
        scanned += [self._scanned(rows) for rows in reads]
        types = [v.type for v in initial] + [tensor_type(to.dtype(v), to.shape(v)[1:]) for v in scanned]
        outer, skipped = to.env, {rows.op for rows in (*reads, *self.writes.values())}

        def run(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            count = len(initial)
            names = [*(self.body.args[i] for i in self.carried), *bound, self.body.args[self.counter.place]]
            to.env = {**outer, **dict(zip(names, arguments, strict=False))}
            for rows, row in zip(reads, arguments[count + 1 :], strict=True):
                result = rows.op.results[0]
                to.env[result] = to.reshape(row, to.spec_of(result).shape)
            to.run_ops(self.body, skipped)
            carried = [to.env[self.last.operands[i]] for i in self.carried]
            rows = [self._row(written) for written in self.writes.values()]
            return [*carried, *arguments[len(carried) : count], *rows]

        try:
            region = to.region(types, run)
        finally:
            to.env = outer
        scan = to.add(ptir.ScanOp(*initial, *scanned, carry_count=len(initial), scan_output_count=len(self.writes), body=region))
        return self._results(scan.results[: len(self.carried)], scan.results[len(initial) :], trips)

    def _row(self, written: Rows) -> SSAValue:
        """Emit the row that an iteration writes, without the dimension of 1."""
        assert written.value is not None
        return self.to.reshape(self.to.env[written.value], self.to.shape(self.op.operands[written.place])[1:])

    def _induction(self) -> SSAValue:
        """The values of the induction variable."""
        to, counter = self.to, self.counter
        dtype = to.dtype(self.op.operands[counter.place])
        numbers = to.emit(ptir.IotaOp, shape=(counter.trips,), dtype=dtype, axis=0)
        if counter.step != 1:
            numbers = to.emit(ptir.MulOp, numbers, to.like(counter.step, numbers))
        return numbers if counter.start == 0 else to.emit(ptir.AddOp, numbers, to.like(counter.start, numbers))

    def _scanned(self, rows: Rows) -> SSAValue:
        """The rows that are read, first one first."""
        low = rows.low(self.counter.trips)
        x = self.to.part(self.op.operands[rows.place], 0, low, low + self.counter.trips)
        return x if rows.step > 0 else self.to.emit(ptir.ReverseOp, x, axes=(0,))

    def _results(self, carried: Values, stacked: Values, trips: int) -> Values:
        to, found = self.to, list(self.op.operands)
        found[self.counter.place] = to.fill(self.counter.end, to.dtype(found[self.counter.place]))
        for i, value in zip(self.carried, carried, strict=True):
            found[i] = value
        for (i, rows), value in zip(self.writes.items(), stacked, strict=True):
            ordered = value if rows.step > 0 else to.emit(ptir.ReverseOp, value, axes=(0,))
            found[i] = self._written_into(found[i], ordered, rows.low(trips))
        return found

    def _written_into(self, x: SSAValue, rows: SSAValue, low: int) -> SSAValue:
        """`x` with its rows from `low` on replaced."""
        to = self.to
        extent, count = to.shape(x)[0], self.counter.trips
        assert isinstance(extent, int)
        parts = [to.part(x, 0, 0, low)] if low else []
        parts += [rows, *([to.part(x, 0, low + count, extent)] if low + count < extent else [])]
        return to.concat(parts, 0)
