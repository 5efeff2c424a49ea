"""
The loops of a row kernel whose rows are strided: softmax along an axis that is not the last, norms over channels, and the like.

Lanes run from row to row, along the kept axis in which memory is consecutive. A few vectors of neighbouring rows are a *strip*:
all passes over a strip follow one another, so that what the first brought into the cache is there for the rest. A number of the
row is a lane of a vector here. Each lane adds up its row in blocks, so results do not depend on the width of vectors.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from mind_dialect.ptir import GatherOp
from mind_dialect.ptir.types import Kind

from ..casts import constant
from ..elementwise import emit
from ..failures import Failure, Sites
from ..ir import Function, identifier
from ..kernel_text import fail_where, prefetch, unflattened
from ..lanes import Lanes, register, stored
from ..nest import Axis
from ..nontemporal import twice
from ..places import Indexes
from ..reductions import combine, finished, identity
from ..target_info import TargetInfo
from ..views import Buffer, Indices, View
from .loops import LINE, Pass, RowLanes, RowLoops, reduction_of
from .plan import Counting, RowPlan, Value, kept_as

BLOCK = 64
"""Places of a row that are added up by themselves, where it has twice as many."""
AHEAD = 8
"""Places of a row by which the first pass fetches its inputs ahead: each is in a page of its own, which no hardware foresees."""


class ColumnLoops(RowLoops):
    """The loops of one row kernel, `vectors` vectors of neighbouring rows at a time; `along` is a kept axis."""

    def __init__(
        self,
        f: Function,
        host: TargetInfo,
        sites: Sites,
        plan: RowPlan,
        axes: Sequence[Axis],
        along: int,
        width: int,
        *,
        vectors: int,
        keeps: bool,
    ):
        super().__init__(f, host, sites, plan, axes, along, width)
        self.outer = [i for i in self.kept_axes if i != along]
        self.strip = width * vectors
        """Rows of a strip."""
        if not keeps:
            self.kept = {}
        self.vectors: dict[Value, list[str]] = {}
        """Numbers of the rows of a strip, by vector."""

    # Strips

    def emit(self, views: Sequence[View], hints: Sequence[str], rows: int, per_unit: int, past: Collection[Value]) -> None:
        """The loop over the strips of some units: all whole ones, then those that are not."""
        f = self.f
        self.find_spots(views, hints)
        for value in self.kept:
            type = stored(kept_as(value.dtype))
            size = self.plan.length * self.strip
            self.room[value] = f.op(f"alloca [{size} x {type}], align 64", identifier(value.hint or "kept"))
        whole, rest = divmod(self.extent, self.strip)
        outer = rows // self.extent
        every = [self.lanes()] * (self.strip // self.width)
        lanes = [self.lanes(min(self.width, rest - k) % self.width) for k in range(0, rest, self.width)]

        def inside(index: str, /, *values: str) -> None:
            *at, strip = unflattened(f, index, [*(self.axes[i].extent for i in self.outer), whole])
            self.rows_of(dict(zip(self.outer, at, strict=True)), f.mul(strip, self.strip), every)

        def last(index: str, /, *values: str) -> None:
            at = unflattened(f, f.add(index, str(-outer * whole)), [self.axes[i].extent for i in self.outer])
            self.rows_of(dict(zip(self.outer, at, strict=True)), str(whole * self.strip), lanes)

        def loops(streamed: bool) -> None:
            self.past = past if streamed else ()
            low = f.mul("%begin", per_unit)
            high = f.least(f.mul("%end", per_unit), str(outer * (whole + (rest > 0))))
            if whole:
                f.loop(low, f.least(high, str(outer * whole)), 1, inside, hint="strip")
            if rest:
                f.loop(f.greatest(low, str(outer * whole)), high, 1, last, hint="rest")

        past = [value for value in past if self.is_in_lines(self.outputs[value])]
        twice(f, [self.outputs[value].base for value in past], loops)

    def rows_of(self, at: Indexes, start: str, lanes: Sequence[Lanes]) -> None:
        """All passes over the rows from `start` on, in some vectors."""
        self.iterations = [RowLanes(replace(x), self.f.add(start, str(i * self.width)), number=i) for i, x in enumerate(lanes)]
        self.begin(at)
        for stage in range(self.plan.stages):
            self.numbers(stage)
            self.sweep(stage, at, stage == 0)
        self.numbers(self.plan.stages)
        for value, spot in self.outputs.items():
            if value.is_thin:
                place = self.place(spot, at)
                for iteration in self.iterations:
                    iteration.lanes.hint = spot.hint
                    self.write(place, iteration.index, iteration.lanes, self.number_of(iteration, value))

    # Numbers of rows

    def begin(self, at: Indexes) -> None:
        """Begin a strip: read the numbers that its rows are given."""
        self.at = at
        self.vectors.clear()
        for value, spot in self.inputs.items():
            if value.is_thin and value.view is not None and isinstance(value.view.base, Buffer | Indices):
                place = self.place(spot, at)
                self.vectors[value] = [self.read(place, i.index, i.lanes) for i in self.iterations]

    def numbers(self, stage: int) -> None:
        """Compute what is one number per row and needs no sums of this stage or later."""
        for value in self.plan.values:
            if value.is_total or value.stage > stage or value in self.vectors or value.op is None or not value.is_thin:
                continue
            self.vectors[value] = []
            for iteration in self.iterations:
                iteration.lanes.hint = identifier(value.hint or "v")
                if isinstance(value.op, GatherOp):
                    self.vectors[value].append(self.picked_in(iteration, value, value.op))
                else:
                    operands = [self.number_of(iteration, v) for v in value.operands]
                    self.vectors[value].append(emit(iteration.lanes, value.op, operands, self.sites))

    def picked_in(self, iteration: RowLanes, value: Value, op: GatherOp) -> str:
        """The element of each row at an index, which is checked."""
        number, row = value.operands
        lanes, spot = iteration.lanes, self.inputs[row]
        code = "sext" if number.dtype.kind is Kind.SIGNED else "zext"
        index = lanes.convert(code, register(number.dtype), "i64", self.number_of(iteration, number))
        outside = lanes.compare("icmp uge", "i64", index, lanes.number("i64", self.plan.length))
        fail_where(lanes, self.sites, outside, Failure.INDEX, op, [("i64", index, True)])
        (axis,) = self.inner
        place, stride = self.place(spot, self.at), self.stride(spot)
        offsets = lanes.binary("mul", "i64", index, lanes.number("i64", spot.strides[axis]))
        offsets = lanes.binary("add", "i64", offsets, lanes.count(self.f.mul(iteration.index, stride), stride))
        self.guard_each(place, offsets, lanes)
        return lanes.load_from(spot.view.dtype, place.text, offsets)

    def number_of(self, iteration: RowLanes, value: Value) -> str:
        """One number of each row of a vector."""
        if value.view is not None and not isinstance(value.view.base, Buffer | Indices):
            return constant(iteration.lanes, value.view.base)
        return self.vectors[value][iteration.number]

    # Passes

    def sweep(self, stage: int, at: Indexes, fetches: bool) -> None:
        """One pass; its totals are known after it."""
        needed = self.needed(stage)
        totals = [v for v in self.plan.values if v.is_total and v.stage == stage]
        if not needed and not self.plan.roots(stage):
            return
        count = len(self.iterations)
        run = Pass(stage, needed, totals, count)
        state = [identity(i.lanes, reduction_of(v)) for v in totals for i in self.iterations]
        found = self.across(self.inner, at, "0", run, state, fetches)
        for k, value in enumerate(totals):
            ends = zip(self.iterations, found[k * count : (k + 1) * count], strict=True)
            self.vectors[value] = [finished(i.lanes, reduction_of(value), total) for i, total in ends]

    def across(self, order: Sequence[int], at: Indexes, flat: str, run: Pass, state: Sequence[str], fetches: bool) -> list[str]:
        """The loops over the axes of a row; long ones add up blocks, so that errors grow with the number of blocks alone."""
        f, extent = self.f, self.axes[order[0]].extent if order else 0
        if len(order) != 1 or extent < 2 * BLOCK or not run.totals:
            return super().across(order, at, flat, run, state, fetches)
        (axis,) = order
        start = f.mul(flat, extent)
        ops = [(reduction_of(v), i.lanes) for v in run.totals for i in self.iterations]

        def place(index: str, /, *values: str) -> list[str]:
            return self.along_lanes({**at, axis: index}, replace(run, flat=f.add(start, index)), values, fetches)

        def block(low: str, /, *values: str) -> list[str]:
            begun = self.typed(run, [identity(lanes, op) for op, lanes in ops])
            found = f.loop(low, f.least(f.add(low, str(BLOCK)), str(extent)), 1, place, begun, "i")
            return [combine(lanes, op, a, b) for (op, lanes), a, b in zip(ops, values, found, strict=True)]

        return f.loop("0", str(extent), BLOCK, block, self.typed(run, state), "block")

    def along_lanes(self, at: Indexes, run: Pass, state: Sequence[str], fetches: bool) -> list[str]:
        """One place of each row."""
        self.find_places(run, at)
        iterations = [replace(i, known={}) for i in self.iterations]
        if fetches:
            self.fetch_ahead(run, iterations[0].index)
        return self.together(run, iterations, list(state))

    def thin_lane(self, iteration: RowLanes, value: Value) -> str:
        return self.number_of(iteration, value)

    def kept_at(self, run: Pass, iteration: RowLanes, value: Value) -> tuple[str, str]:
        return self.room[value], self.f.add(self.f.mul(run.flat, self.strip), str(iteration.number * self.width))

    def compared(self, run: Pass, iteration: RowLanes, value: Value, counting: Counting) -> str:
        """A comparison of what counts places with an integer of each row."""
        assert value.op is not None
        operands = [self.lane(run, iteration, v) for v in value.operands]
        iteration.lanes.hint = identifier(value.hint or "compare")
        return emit(iteration.lanes, value.op, operands, self.sites)

    def fetch_ahead(self, run: Pass, start: str) -> None:
        """Ask for the lines of a later place of the strip's rows."""
        for place in run.places.values():
            spot, size = place.spot, place.spot.view.dtype.size
            step = spot.strides[self.inner[-1]]
            if not spot.in_memory or place.along or self.stride(spot) != 1 or step * size < LINE:
                continue
            for line in range(0, len(self.iterations) * self.width * size, LINE):
                index = self.f.add(start, str(AHEAD * step + line // size))
                prefetch(self.f, self.f.address(stored(spot.view.dtype), place.text, index))
