"""
Loops that count, as `ptir.scan`: what JAX writes for `lax.scan` and `fori_loop`.

A `while` counts if one carried integer starts at a known number, gains a known step in each iteration, and is compared with a
known limit. Its induction variable becomes a scanned input. A carried value that stays the same and is only read one row per
iteration, in order, becomes a scanned input too. One that is only written one row per iteration becomes a stacked output, so
reverse mode does not store it once per iteration. Everything else is carried.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import tensor_type

from .converter import RETURNS, StablehloConverter, Values
from .counted_rows import Counter, Indices, Rows, known_integer, row_op, start_of
from .elementwise import DIRECTIONS
from .foreign import ForeignOp, name_of

MAX_TRIPS = 1 << 31
"""Loops of more iterations stay `while`."""
_MIRRORED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}


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
    limit, start = known_integer(to, right), start_of(to, op.operands[place])
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


class _Scan:
    """A counted loop on its way to a scan."""

    def __init__(self, to: StablehloConverter, op: ForeignOp, body: Block, last: Operation, counter: Counter):
        self.to, self.op, self.body, self.last, self.counter = to, op, body, last, counter
        self.indices = Indices(to, counter, body.args[counter.place])
        others = [i for i in range(len(body.args)) if i != counter.place]
        self.reads = {i: rows for i in others if (rows := self._read(i))}
        self.writes = {i: row for i in others if i not in self.reads and (row := self._written(i)) is not None}
        self.carried = [i for i in others if i not in self.reads and i not in self.writes]

    def _rows(self, place: int, op: Operation) -> Rows | None:
        """An op that reads or writes rows in order, all of them inside."""
        argument = self.body.args[place]
        if op.parent is not self.body or (found := row_op(self.to, op, argument)) is None:
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
            for value in bound:
                to.sizes.captured(outer[value], to.env[value])
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
