"""
The loops of a row kernel: for each row a pass for each stage, over memory that the first pass brought into the cache.

Short rows stay in registers from pass to pass. Of longer ones, what is dear to compute is kept in memory of the kernel's own, and
the next row is fetched while this one is worked on. Sums of a row are folded by a fixed tree; sums over rows are taken for each
unit of work, in the order of the rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mind_dialect.ptir import MulOp, ReduceOp
from mind_dialect.ptir.types import PtirDType
from mind_passes.ptir.building import accumulator

from ..elementwise import emit, integer_test
from ..failures import Sites
from ..ir import Function, identifier
from ..lanes import Lanes, stored
from ..nest import Axis
from ..nontemporal import twice
from ..places import Indexes, Place, Spot
from ..reductions import addend, combine, finished, fold, identity
from ..target_info import TargetInfo
from ..views import View
from .numbers import RowNumbers
from .plan import REGISTERS, Counting, RowPlan, Value, kept_as

RESIDENT = 8
"""Vectors of a row that stays in registers, at most."""
RESIDENT_OPS = 200
"""Vectors of all values of such a row, at most."""
FETCHED = 512
"""Bytes of a row from which on the next one is fetched ahead."""
LINE = 64
"""Bytes that are fetched at once."""


@dataclass
class RowLanes:
    """Some lanes of a row on their way, from element `index` on, and what is known of them."""

    lanes: Lanes
    index: str
    known: dict[Value, str] = field(default_factory=dict[Value, str])
    number: int = 0
    """Which of the vectors that are worked on at a time."""


@dataclass
class Pass:
    """One pass over a row: what it computes, in order, and where inputs and outputs are at its indices."""

    stage: int
    needed: Sequence[Value]
    totals: Sequence[Value]
    unroll: int
    places: dict[Value, Place] = field(default_factory=dict[Value, Place])
    targets: list[tuple[Value, Place]] = field(default_factory=list[tuple[Value, Place]])
    sums: list[tuple[ReduceOp, Value, Place]] = field(default_factory=list[tuple[ReduceOp, Value, Place]])
    flat: str = "0"
    """Index of the run along the lanes in the arrays that hold a row."""


class RowLoops(RowNumbers):
    """
    The loops of one row kernel, on their way into a function.

    `views` are those of inputs, outputs and of sums over rows, in this order; `along` is the axis of the lanes, one of a row's.
    """

    def __init__(self, f: Function, host: TargetInfo, sites: Sites, plan: RowPlan, axes: Sequence[Axis], along: int, width: int):
        super().__init__(f, host, sites, plan, axes, along, width)
        self.kept_axes = [i for i, a in enumerate(axes) if not a.reduced]
        self.inner = [i for i, a in enumerate(axes) if a.reduced and i != along]
        vectors = -(-self.extent // width)
        full = [v for v in plan.values if not v.is_thin]
        most = RESIDENT * host.registers // REGISTERS
        self.resident = not self.inner and vectors <= most and vectors * len(full) <= RESIDENT_OPS
        self.kept: Mapping[Value, int] = {} if self.resident else plan.kept
        """The values that are kept for later passes, each with the pass that computes it."""
        self.outputs: dict[Value, Spot] = {}
        self.sums: list[tuple[ReduceOp, Value, Spot]] = []
        """The reductions over rows, each with the memory of all units."""
        self.columns: list[tuple[ReduceOp, Value, Spot]] = []
        """The same, with the memory of the unit."""
        self.past: Collection[Value] = ()
        """Values that are written by non-temporal stores."""
        self.room: dict[Value, str] = {}
        """Addresses of the values kept for later passes."""
        self.summed = _only_summed(plan)
        self.iterations: list[RowLanes] = []
        """Of a row that stays in registers."""

    # Rows

    def emit(self, views: Sequence[View], hints: Sequence[str], rows: int, per_unit: int, past: Collection[Value]) -> None:
        """The loop over the rows of some units; what is in `past` is written by non-temporal stores, where it is aligned."""
        f = self.f
        self.find_spots(views, hints)
        for value in self.kept:
            type = stored(kept_as(value.dtype))
            self.room[value] = f.op(f"alloca [{self.plan.length} x {type}], align 64", identifier(value.hint or "kept"))

        def unit(index: str, /, *values: str) -> None:
            self.begin_columns(index)
            high = f.least(f.mul(f.add(index, "1"), per_unit), str(rows))
            f.loop(f.mul(index, per_unit), high, 1, self.row, hint="row")

        def loops(streamed: bool) -> None:
            self.past = past if streamed else ()
            if self.sums:
                f.loop("%begin", "%end", 1, unit, hint="unit")
            else:
                f.loop(f.mul("%begin", per_unit), f.least(f.mul("%end", per_unit), str(rows)), 1, self.row, hint="row")

        past = [value for value in past if self.is_in_lines(self.outputs[value])]
        twice(f, [self.outputs[value].base for value in past], loops)

    def find_spots(self, views: Sequence[View], hints: Sequence[str]) -> None:
        """Load the address of each view."""
        spots = iter(self.spots(views, [identifier(h or "v") for h in hints]))
        self.inputs = {value: next(spots) for value in self.plan.inputs.values()}
        self.outputs = {value: next(spots) for _, value, _ in self.plan.outputs}
        self.sums = [(op, value, next(spots)) for op, value in self.plan.columns]

    def begin_columns(self, unit: str) -> None:
        """Begin the sums over the rows of a unit: each unit has a row of them."""
        f, self.columns = self.f, []
        for op, value, spot in self.sums:
            dtype, length = spot.view.dtype, self.plan.length
            base = f.address(stored(dtype), spot.base, f.mul(unit, length), spot.hint)
            self.columns.append((op, value, replace(spot, base=base)))
            full = length - length % self.width

            def clear(index: str, /, *values: str, op: ReduceOp = op, base: str = base, dtype: PtirDType = dtype) -> None:
                lanes = self.lanes()
                lanes.store(dtype, identity(lanes, op), base, index, 1)

            f.loop("0", str(full), self.width, clear, hint="x")
            if full < length:
                rest = self.lanes(length - full)
                rest.store(dtype, identity(rest, op), base, str(full), 1)

    def row(self, row: str, /, *values: str) -> None:
        """All passes over one row."""
        at = self.indexes(row)
        self.iterations = (
            [RowLanes(lanes, str(i * self.width)) for i, lanes in enumerate(self.all_lanes())] if self.resident else []
        )
        self.begin(at)
        fetching = max(range(self.plan.stages), key=lambda s: sum(v.cost for v in self.needed(s)))
        for stage in range(self.plan.stages):
            self.numbers(stage)
            self.sweep(stage, at, fetching == stage and not self.resident)
        self.numbers(self.plan.stages)
        for value, spot in self.outputs.items():
            if value.is_thin:
                self.write(self.place(spot, at), "0", Lanes(self.f, self.host, 1, hint=spot.hint), self.scalar(value))

    def indexes(self, row: str) -> Indexes:
        """The indices of a row along the axes that are kept."""
        found: Indexes = {}
        for i in reversed(self.kept_axes[1:]):
            found[i] = self.f.op(f"urem i64 {row}, {self.axes[i].extent}", "at")
            row = self.f.op(f"udiv i64 {row}, {self.axes[i].extent}", "at")
        return found | {i: row for i in self.kept_axes[:1]}

    def all_lanes(self) -> list[Lanes]:
        """Return the lanes of all vectors of a run along the lanes."""
        n = self.extent
        return [self.lanes() for _ in range(n // self.width)] + [self.lanes(n % self.width)] * (n % self.width > 0)

    # Passes

    def needed(self, stage: int) -> list[Value]:
        """Return the values that a pass computes."""
        return self.plan.needed(stage, self.kept)

    def sweep(self, stage: int, at: Indexes, fetches: bool) -> None:
        """One pass; its totals are known after it."""
        needed = self.needed(stage)
        totals = [v for v in self.plan.values if v.is_total and v.stage == stage]
        if not needed and not self.plan.roots(stage):
            return
        few = sum(v.cost for v in needed) <= 8
        most = (4 if few else 2) * self.host.registers // REGISTERS
        run = Pass(stage, needed, totals, max(1, min(most, self.extent // self.width)))
        for value in needed:  # before the loop, so that all of the row after it may use them
            if value.counting is not None:
                self.bounded(value.counting)
            for x in () if value.counting is not None else value.operands:
                if x.is_thin:
                    self.splat(x)
        lanes = self.lanes()
        state = [identity(lanes, reduction_of(v)) for v in totals for _ in range(run.unroll)]
        found = self.across(self.inner, at, "0", run, state, fetches)
        for k, value in enumerate(totals):
            op = reduction_of(value)
            lanes = self.lanes()
            lanes.hint = identifier(value.hint or "sum")
            folded = fold(replace(lanes, mask=None, counted=0), op, found[k * run.unroll : (k + 1) * run.unroll])
            self.thin[value] = finished(lanes.narrowed(1), op, folded)

    def across(self, order: Sequence[int], at: Indexes, flat: str, run: Pass, state: Sequence[str], fetches: bool) -> list[str]:
        """The loops over the axes of a row, the lanes innermost; accumulators go from iteration to iteration."""
        if not order:
            return self.along_lanes(at, replace(run, flat=flat), state, fetches)
        i, rest = order[0], order[1:]

        def body(index: str, /, *values: str) -> list[str]:
            inside = self.f.add(self.f.mul(flat, self.axes[i].extent), index)
            return self.across(rest, {**at, i: index}, inside, run, values, fetches)

        return self.f.loop("0", str(self.axes[i].extent), 1, body, self.typed(run, state), "i")

    def typed(self, run: Pass, state: Sequence[str]) -> list[tuple[str, str]]:
        """Accumulators with their types, those of one total next to each other."""
        types = [self.lanes().type(accumulator(reduction_of(v))) for v in run.totals for _ in range(run.unroll)]
        return list(zip(types, state, strict=True))

    def along_lanes(self, at: Indexes, run: Pass, state: Sequence[str], fetches: bool) -> list[str]:
        """One run along the lanes."""
        run = replace(run, flat=self.f.mul(run.flat, self.extent))
        self.find_places(run, at)
        if self.resident:
            return self.together(run, self.iterations, list(state))
        n, step = self.extent, self.width * run.unroll
        full = n - n % step

        def body(index: str, /, *values: str) -> list[str]:
            iterations = [RowLanes(self.lanes(), self.f.add(index, str(u * self.width))) for u in range(run.unroll)]
            for iteration in iterations if fetches else ():
                self.fetch(run, iteration)
            return self.together(run, iterations, list(values))

        found = self.f.loop("0", str(full), step, body, self.typed(run, state), "x")
        rest = self.all_lanes()[full // self.width :]
        return self.together(run, [RowLanes(lanes, str(full + i * self.width)) for i, lanes in enumerate(rest)], found)

    def find_places(self, run: Pass, at: Indexes) -> None:
        """Find where inputs and outputs are at the indices of a pass."""
        run.places = {v: self.place(s, at) for v, s in self.inputs.items() if not v.is_thin}
        run.targets = [(v, self.place(s, at)) for v, s in self.outputs.items() if not v.is_thin and v.stage == run.stage]
        run.sums = [(op, v, self.place(s, at)) for op, v, s in self.columns if v.stage == run.stage]

    def together(self, run: Pass, iterations: Sequence[RowLanes], state: list[str]) -> list[str]:
        """Compute, keep, write and add up some vectors; the accumulators after them."""
        roots = self.plan.roots(run.stage)
        for iteration in iterations:
            self.compute(run, iteration)
            for value in roots:  # read before anything is written, perhaps in the same place
                self.lane(run, iteration, value)
        for u, iteration in enumerate(iterations):
            for value, place in run.targets:
                iteration.lanes.hint, iteration.lanes.streamed = place.spot.hint, value in self.past
                self.write(place, iteration.index, iteration.lanes, self.lane(run, iteration, value))
                iteration.lanes.streamed = False
            for op, value, place in run.sums:
                self.add_column(run, iteration, op, value, place)
            for k, total in enumerate(run.totals):
                op, slot = reduction_of(total), k * run.unroll + u % run.unroll
                iteration.lanes.hint = identifier(total.hint or "sum")
                x = addend(iteration.lanes, op, self.lane(run, iteration, total.operands[0]))
                state[slot] = combine(iteration.lanes, op, state[slot], x)
        return state

    def add_column(self, run: Pass, iteration: RowLanes, op: ReduceOp, value: Value, place: Place) -> None:
        """Add some lanes to the sums over the rows of the unit."""
        lanes, dtype = iteration.lanes, place.spot.view.dtype
        before = self.read(place, iteration.index, lanes)
        whole = replace(lanes, mask=None, counted=0)
        added = addend(whole, op, self.lane(run, iteration, value))
        self.write(place, iteration.index, lanes, combine(whole, op, before, added))
        assert dtype is accumulator(op)

    # Lanes

    def compute(self, run: Pass, iteration: RowLanes) -> None:
        """The values of a pass in some lanes."""
        for value in run.needed:
            if value in iteration.known:
                continue
            assert value.op is not None
            if value.counting is None:
                operands = [self.lane(run, iteration, v) for v in value.operands]
                iteration.lanes.hint = identifier(value.hint or value.op.OPCODE)
                iteration.lanes.contract = value in self.summed
                iteration.known[value] = emit(iteration.lanes, value.op, operands, self.sites)
                iteration.lanes.contract = False
            else:
                iteration.known[value] = self.compared(run, iteration, value, value.counting)
            if self.kept.get(value) == run.stage:
                iteration.lanes.store(kept_as(value.dtype), iteration.known[value], *self.kept_at(run, iteration, value), 1)

    def kept_at(self, run: Pass, iteration: RowLanes, value: Value) -> tuple[str, str]:
        """Return the address of some lanes of a kept value."""
        return self.room[value], self.f.add(run.flat, iteration.index)

    def lane(self, run: Pass, iteration: RowLanes, value: Value) -> str:
        """One value in some lanes: computed now or before, kept, or read."""
        if value.is_thin:
            return self.thin_lane(iteration, value)
        if value not in iteration.known:
            iteration.lanes.hint = identifier(value.hint or "v")
            if value.op is None:
                iteration.known[value] = self.read(run.places[value], iteration.index, iteration.lanes)
            else:
                iteration.known[value] = iteration.lanes.load(kept_as(value.dtype), *self.kept_at(run, iteration, value), 1)
        return iteration.known[value]

    def thin_lane(self, iteration: RowLanes, value: Value) -> str:
        """A number of the row, or of each row, in some lanes."""
        return self.splat(value)

    def compared(self, run: Pass, iteration: RowLanes, value: Value, counting: Counting) -> str:
        """A comparison of what counts places with an integer of the row, in 32 bits."""
        lanes, place = iteration.lanes, run.places[counting.counter]
        lanes.hint = identifier(value.hint or "compare")
        stride = self.stride(place.spot)
        first = self.f.add(place.text, self.f.mul(iteration.index, stride))
        start = lanes.splat("i32", Lanes(self.f, self.host, 1, hint="at").convert("trunc", "i64", "i32", first))
        steps = ", ".join(f"i32 {k * stride}" for k in range(self.width))
        counted = lanes.binary("add", "i32", start, f"<{steps}>" if self.width > 1 else "0")
        operands = [counted, self.bounded(counting)][:: 1 if value.operands[0] is counting.counter else -1]
        assert value.op is not None
        return lanes.compare(integer_test(value.op.values()["kind"], True), "i32", *operands)

    def fetch(self, run: Pass, iteration: RowLanes) -> None:
        """Ask for the same lanes of the next row's inputs."""
        if not self.kept_axes:
            return
        for place in run.places.values():
            spot, dtype = place.spot, place.spot.view.dtype
            step = spot.strides[self.kept_axes[-1]]
            if not spot.in_memory or place.along or self.stride(spot) != 1 or not step:
                continue
            offset = 0 if not iteration.index.isdigit() else int(iteration.index) * dtype.size
            if self.extent * dtype.size >= FETCHED and offset % LINE == 0:
                next = self.f.address(stored(dtype), place.text, self.f.add(iteration.index, str(step)))
                arguments = (("ptr", next), ("i32", "0"), ("i32", "3"), ("i32", "1"))
                self.f.call("llvm.prefetch.p0", "void", *arguments, immediate=(1, 2, 3))


def reduction_of(value: Value) -> ReduceOp:
    """Return the op of a total."""
    assert isinstance(value.op, ReduceOp)
    return value.op


def _only_summed(plan: RowPlan) -> set[Value]:
    """The products that nothing but sums of the row use: they need no rounding of their own."""
    used = {x for v in plan.values if not v.is_total for x in v.operands} | {v for _, v, _ in plan.outputs}
    used |= {v for _, v in plan.columns}
    summed: set[Value] = set()
    for value in plan.values:
        if isinstance(value.op, ReduceOp) and value.op.values()["kind"] == "sum":
            same = accumulator(value.op) is value.operands[0].dtype
            (summed if same else used).add(value.operands[0])
    return {v for v in summed - used if isinstance(v.op, MulOp)}
