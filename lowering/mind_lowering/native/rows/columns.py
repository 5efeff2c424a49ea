"""
The loops of a row kernel whose rows are strided: softmax along an axis that is not the last, norms over channels, and the like.

Lanes run from row to row, along the kept axis in which memory is consecutive. Some neighbouring rows are a *strip*: all passes
over a strip follow one another, so that what the first brought into the cache is there for the rest. A number of the row is a
lane of a vector here. Each lane adds up its row in blocks, so results do not depend on the width of vectors.

A strip is one *group* of a few vectors, whose numbers are in registers, or several: then numbers of its rows are in memory, and
each pass goes through all groups at a place of the rows before it goes to the next place, which is far off.

Lines of a strip lie as far apart, often a page, and share few sets of a cache: they leave it before the next pass. So of a strip
that is more than the first-level cache, inputs that several passes read are kept by the first one, in contiguous memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from mind_dialect.ptir import GatherOp, PtirLiteralAttr
from mind_dialect.ptir.types import Kind, PtirDType
from mind_passes.ptir.building import accumulator

from ..casts import constant
from ..elementwise import emit
from ..failures import Failure, Sites
from ..ir import Function, identifier
from ..kernel_text import fail_where, unflattened
from ..lanes import Lanes, register, stored
from ..nest import Axis
from ..nontemporal import twice
from ..places import Indexes, Place
from ..reductions import combine, finished, identity
from ..target_info import LINE, TargetInfo
from ..views import Buffer, Indices, View
from .loops import Pass, RowLanes, RowLoops, reduction_of
from .plan import Counting, RowPlan, Value, kept_as, kept_size

BLOCK = 64
"""Places of a row that are added up by themselves, where it has twice as many."""
AHEAD = 8
"""Places of a row by which lines are asked for, to read or to write: each is in a page of its own, which no hardware foresees."""


class ColumnLoops(RowLoops):
    """The loops of one row kernel, `groups` of `vectors` vectors of neighbouring rows at a time; `along` is a kept axis."""

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
        groups: int,
        kept: Mapping[Value, int],
    ):
        super().__init__(f, host, sites, plan, axes, along, width)
        self.outer = [i for i in self.kept_axes if i != along]
        self.group = width * vectors
        """Rows of a group."""
        self.strip = self.group * groups
        """Rows of a strip."""
        self.kept = kept
        self.vectors: dict[Value, list[str]] = {}
        """Numbers of the rows of a group, by vector, as far as they are in registers."""
        self.strip_at: tuple[str, int, Sequence[Lanes]] = ("0", 1, ())
        """The first row of a strip, the number of its groups, and the lanes of each."""
        self.first = "0"
        """The first row of a group, counted from that of the strip."""
        self.numbered: set[Value] = set()
        """Numbers of the rows that are computed and in memory."""

    # Strips

    def emit(self, views: Sequence[View], hints: Sequence[str], rows: int, per_unit: int, past: Collection[Value]) -> None:
        """The loop over the strips of some units: all whole ones, then those that are not."""
        f = self.f
        self.find_spots(views, hints)
        for values in self.plan.rooms(self.kept):
            bytes = self.plan.length * self.strip * kept_size(values[0])
            room = f.op(f"alloca [{bytes} x i8], align 64", identifier(values[-1].hint or "kept"))
            self.room.update(dict.fromkeys(values, room))
        if self.strip > self.group:
            self.allocate_numbers()
        whole, rest = divmod(self.extent, self.strip)
        outer = rows // self.extent
        every = [self.lanes()] * (self.group // self.width)

        def inside(index: str) -> None:
            *at, strip = unflattened(f, index, [*(self.axes[i].extent for i in self.outer), whole])
            self.strip_of(dict(zip(self.outer, at, strict=True)), f.mul(strip, self.strip), self.strip // self.group, every)

        def last(index: str) -> None:
            places = unflattened(f, f.add(index, str(-outer * whole)), [self.axes[i].extent for i in self.outer])
            at, groups, start = dict(zip(self.outer, places, strict=True)), rest // self.group, whole * self.strip
            if groups:
                self.strip_of(at, str(start), groups, every)
            if left := rest % self.group:
                lanes = [self.lanes(min(self.width, left - k) % self.width) for k in range(0, left, self.width)]
                self.strip_of(at, str(start + groups * self.group), 1, lanes)

        def loops(streamed: bool) -> None:
            self.past = past if streamed else ()
            low = f.mul("%begin", per_unit)
            high = f.least(f.mul("%end", per_unit), str(outer * (whole + (rest > 0))))
            if whole:
                for index in f.each(low, f.least(high, str(outer * whole)), hint="strip"):
                    inside(index)
            if rest:
                for index in f.each(f.greatest(low, str(outer * whole)), high, hint="rest"):
                    last(index)

        past = [value for value in past if self.is_in_lines(self.outputs[value])]
        twice(f, [self.outputs[value].base for value in past], loops)

    def allocate_numbers(self) -> None:
        """Allocate memory for the numbers of the rows of a strip, two arrays for what is added up in blocks."""
        for value in self.plan.values:
            if value.is_thin:
                dtype = accumulator(reduction_of(value)) if value.is_total else kept_as(value.dtype)
                count = self.strip * (1 + value.is_total)
                self.room[value] = self.f.op(f"alloca [{count} x {stored(dtype)}], align 64", identifier(value.hint or "v"))

    def strip_of(self, at: Indexes, start: str, groups: int, lanes: Sequence[Lanes]) -> None:
        """All passes over the rows from `start` on, in some groups of vectors."""
        self.at, self.strip_at = at, (start, groups, lanes)
        self.numbered.clear()
        self.begin_group("0")
        for stage in range(self.plan.stages):
            self.numbers(stage)
            self.sweep(stage, at, stage == 0)
        self.numbers(self.plan.stages)
        if any(v.is_thin for v in self.outputs):
            self.each_group(self.write_numbers)

    def each_group(self, body: Callable[[], None]) -> None:
        """Emit something for each group of the strip."""
        _, groups, _ = self.strip_at
        if groups > 1:
            for index in self.f.each("0", str(groups), hint="group"):
                self.begin_group(self.f.mul(index, self.group))
                body()
        else:
            body()

    def begin_group(self, first: str) -> None:
        """Begin a group of rows; where it is the only one, what its rows are given stays in registers."""
        start, groups, lanes = self.strip_at
        self.first, start = first, self.f.add(start, first)
        self.iterations = [RowLanes(replace(x), self.f.add(start, str(i * self.width)), number=i) for i, x in enumerate(lanes)]
        self.vectors.clear()
        for value in self.inputs if groups == 1 else ():
            if value.is_thin:
                self.read_number(value)

    def write_numbers(self) -> None:
        """Write the results that are one number for each row."""
        for value, spot in self.outputs.items():
            if value.is_thin:
                place = self.place(spot, self.at)
                for iteration in self.iterations:
                    iteration.lanes.hint = spot.hint
                    self.write(place, iteration.index, iteration.lanes, self.number_of(iteration, value))

    # Numbers of rows

    def read_number(self, value: Value) -> None:
        """Read a number that the rows of a group are given."""
        if value.view is not None and isinstance(value.view.base, Buffer | Indices):
            place = self.place(self.inputs[value], self.at)
            self.vectors[value] = [self.read(place, i.index, i.lanes) for i in self.iterations]

    def numbers(self, stage: int) -> None:
        """Compute what is one number per row and needs no sums of this stage or later."""
        wanted = [v for v in self.plan.values if v.is_thin and not v.is_total and v.stage <= stage and v not in self.numbered]
        if wanted:
            self.numbered.update(wanted)
            self.each_group(lambda: self.compute_numbers(wanted))

    def compute_numbers(self, wanted: Sequence[Value]) -> None:
        """Compute some numbers of the rows of a group, and keep them."""
        for value in wanted:
            found: list[str] = []
            assert value.op is not None
            for iteration in self.iterations:
                iteration.lanes.hint = identifier(value.hint or "v")
                if isinstance(value.op, GatherOp):
                    found.append(self.picked_in(iteration, value, value.op))
                else:
                    operands = [self.number_of(iteration, v) for v in value.operands]
                    found.append(emit(iteration.lanes, value.op, operands, self.sites))
            self.vectors[value] = found
            if self.in_memory:
                self.store_numbers(value, kept_as(value.dtype), found)

    @property
    def in_memory(self) -> bool:
        """Return whether numbers of the rows are in memory: those of several groups."""
        return self.strip_at[1] > 1

    def store_numbers(self, value: Value, dtype: PtirDType, found: Sequence[str], block: bool = False) -> None:
        """Store a number of each row of a group."""
        for iteration, x in zip(self.iterations, found, strict=True):
            iteration.lanes.store(dtype, x, self.room[value], self.number_at(iteration, block), 1)

    def load_numbers(self, value: Value, dtype: PtirDType, block: bool = False) -> list[str]:
        """Load a number of each row of a group."""
        return [i.lanes.load(dtype, self.room[value], self.number_at(i, block), 1) for i in self.iterations]

    def number_at(self, iteration: RowLanes, block: bool) -> str:
        """Return the index of some lanes in an array of numbers of the strip, or in its second half, that of a block."""
        return self.f.add(self.first, str(iteration.number * self.width + self.strip * block))

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
        if value.view is not None and isinstance(value.view.base, PtirLiteralAttr):
            return constant(iteration.lanes, value.view.base)
        if value not in self.vectors and value.op is None:
            self.read_number(value)
        elif value not in self.vectors and value.is_total:
            op = reduction_of(value)
            totals = self.load_numbers(value, accumulator(op))
            self.vectors[value] = [finished(i.lanes, op, total) for i, total in zip(self.iterations, totals, strict=True)]
        elif value not in self.vectors:
            self.vectors[value] = self.load_numbers(value, kept_as(value.dtype))
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
        state = self.begun(totals)
        found = self.across(self.inner, at, "0", run, state, fetches)
        for k, value in enumerate(totals if not self.in_memory else ()):
            ends = zip(self.iterations, found[k * count : (k + 1) * count], strict=True)
            self.vectors[value] = [finished(i.lanes, reduction_of(value), total) for i, total in ends]

    def begun(self, totals: Sequence[Value], block: bool = False) -> list[str]:
        """Return what sums begin with; nothing where they are in memory, where it is stored."""

        def store() -> None:
            for value in totals:
                op = reduction_of(value)
                self.store_numbers(value, accumulator(op), [identity(i.lanes, op) for i in self.iterations], block)

        if not self.in_memory:
            return [identity(i.lanes, reduction_of(v)) for v in totals for i in self.iterations]
        if totals:
            self.each_group(store)
        return []

    def typed(self, run: Pass, state: Sequence[str]) -> list[tuple[str, str]]:
        return [] if self.in_memory else super().typed(run, state)

    def across(self, order: Sequence[int], at: Indexes, flat: str, run: Pass, state: Sequence[str], fetches: bool) -> list[str]:
        """The loops over the axes of a row; long ones add up blocks, so that errors grow with the number of blocks alone."""
        f, extent = self.f, self.axes[order[0]].extent if order else 0
        if len(order) != 1 or extent < 2 * BLOCK or not run.totals:
            return super().across(order, at, flat, run, state, fetches)
        (axis,) = order
        start, run = f.mul(flat, extent), replace(run, block=True)
        ops = [(reduction_of(v), i.lanes) for v in run.totals for i in self.iterations]

        def place(index: str, /, *values: str) -> list[str]:
            return self.along_lanes({**at, axis: index}, replace(run, flat=f.add(start, index)), values, fetches)

        def block(low: str, /, *values: str) -> list[str]:
            begun = self.typed(run, self.begun(run.totals, block=True))
            found = f.loop(low, f.least(f.add(low, str(BLOCK)), str(extent)), 1, place, begun, "i")
            if self.in_memory:
                self.each_group(lambda: self.add_block(run.totals))
                return []
            return [combine(lanes, op, a, b) for (op, lanes), a, b in zip(ops, values, found, strict=True)]

        return f.loop("0", str(extent), BLOCK, block, self.typed(run, state), "block")

    def add_block(self, totals: Sequence[Value]) -> None:
        """Add the sums of a block to those of the rows of a group."""
        for value in totals:
            op = reduction_of(value)
            pairs = zip(*(self.load_numbers(value, accumulator(op), block) for block in (False, True)), strict=True)
            found = [combine(i.lanes, op, a, b) for i, (a, b) in zip(self.iterations, pairs, strict=True)]
            self.store_numbers(value, accumulator(op), found)

    def along_lanes(self, at: Indexes, run: Pass, state: Sequence[str], fetches: bool) -> list[str]:
        """One place of each row."""
        if not self.in_memory:
            return self.at_place(at, run, state, fetches)

        def group() -> None:
            before = [x for v in run.totals for x in self.load_numbers(v, accumulator(reduction_of(v)), run.block)]
            after, count = self.at_place(at, run, before, fetches), run.unroll
            for k, value in enumerate(run.totals):
                self.store_numbers(value, accumulator(reduction_of(value)), after[k * count : (k + 1) * count], run.block)

        self.each_group(group)
        return []

    def at_place(self, at: Indexes, run: Pass, state: Sequence[str], fetches: bool) -> list[str]:
        """One place of each row of a group; the sums after it."""
        self.find_places(run, at)
        iterations = [replace(i, known={}) for i in self.iterations]
        if fetches:
            self.fetch_ahead(run.places.values(), iterations[0].index)
        written = [place for value, place in run.targets if value not in self.past]
        self.fetch_ahead(written, iterations[0].index, write=True)
        return self.together(run, iterations, list(state))

    def thin_lane(self, iteration: RowLanes, value: Value) -> str:
        return self.number_of(iteration, value)

    def kept_at(self, run: Pass, iteration: RowLanes, value: Value) -> tuple[str, str]:
        return self.room[value], self.f.add(self.f.mul(run.flat, self.strip), self.number_at(iteration, False))

    def compared(self, run: Pass, iteration: RowLanes, value: Value, counting: Counting) -> str:
        """A comparison of what counts places with an integer of each row."""
        assert value.op is not None
        operands = [self.lane(run, iteration, v) for v in value.operands]
        iteration.lanes.hint = identifier(value.hint or "compare")
        return emit(iteration.lanes, value.op, operands, self.sites)

    def fetch_ahead(self, places: Iterable[Place], start: str, *, write: bool = False) -> None:
        """Ask for the lines of a later place of the strip's rows."""
        for place in places:
            spot, size = place.spot, place.spot.view.dtype.size
            step = spot.strides[self.inner[-1]]
            if not self.is_run(place) or step * size < LINE:
                continue
            for line in range(0, len(self.iterations) * self.width * size, LINE):
                self.ask_for(place, self.f.add(start, str(AHEAD * step + line // size)), write=write)
