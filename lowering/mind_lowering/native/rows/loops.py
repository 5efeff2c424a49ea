"""
The loops of a row kernel: for each row, or some neighbouring rows, a pass for each stage, over memory that the first pass brought
into the cache.

Sums of a row are folded by a fixed tree; sums over rows are taken for each unit of work, in the order of the rows. Lanes run
along each row (`along.py`) or from row to row (`columns.py`); this is what both do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import DivOp, ExpOp, MulOp, PtirOp, ReduceOp, StopGradientOp, SubOp
from mind_dialect.ptir.types import Kind
from mind_passes.ptir.building import accumulator

from .. import vmath
from ..elementwise import emit
from ..failures import Sites
from ..ir import Function, identifier
from ..lanes import Lanes, register
from ..nest import Axis
from ..places import Indexes, Place, Places, Spot
from ..reductions import addend, combine
from ..target_info import TargetInfo
from ..views import View
from ..vmath.quotients import MOST_TOTAL, REPEATED, pays, shared
from ..vmath.reals import Reals
from .plan import Counting, RowPlan, Value, kept_as


@dataclass
class RowLanes:
    """Some lanes of a row on their way, from element `index` on, and what is known of them."""

    lanes: Lanes
    index: str
    known: dict[Value, str] = field(default_factory=dict[Value, str])
    number: int = 0
    """The number of the vector, among those of an iteration."""


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
    block: bool = False
    """True if sums are those of a block of the row."""


class RowLoops(Places, ABC):
    """The loops of one row kernel, on their way into a function; `along` is the axis of the lanes, `width` of them."""

    def __init__(self, f: Function, host: TargetInfo, sites: Sites, plan: RowPlan, axes: Sequence[Axis], along: int, width: int):
        super().__init__(f, host, sites, axes)
        self.plan, self.along, self.width = plan, along, width
        self.kept_axes = [i for i, a in enumerate(axes) if not a.reduced]
        self.inner = [i for i, a in enumerate(axes) if a.reduced and i != along]
        self.kept: Mapping[Value, int] = plan.kept
        """The values that are kept for later passes, each with the pass that computes it."""
        self.at: Indexes = {}
        """The indices of the row, or of the rows."""
        self.inputs: dict[Value, Spot] = {}
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
        self.functions = dict.fromkeys(fractions := _fractions(plan), vmath.NOT_ABOVE_ONE)
        """The values that functions for fewer operands compute, in fewer instructions, each with its function."""
        self.corrects = plan.length >= REPEATED * (width if axes[along].reduced else 1)
        """True if quotients by a number of the row are products with its reciprocal, corrected."""
        if self.corrects:
            self.functions |= dict.fromkeys(_shares(plan, fractions), vmath.SHARE)
        self.iterations: list[RowLanes] = []
        """The vectors that are worked on in all passes."""

    @abstractmethod
    def emit(self, views: Sequence[View], hints: Sequence[str], rows: int, per_unit: int, past: Collection[Value]) -> None:
        """
        Emit the loop over the rows of some units; what is in `past` is written by non-temporal stores, where it is aligned.

        `views` are those of inputs, outputs and of sums over rows, in this order.
        """

    @abstractmethod
    def along_lanes(self, at: Indexes, run: Pass, state: Sequence[str], fetches: bool) -> list[str]:
        """Emit one run along the lanes; the accumulators after it."""

    @abstractmethod
    def kept_at(self, run: Pass, iteration: RowLanes, value: Value) -> tuple[str, str]:
        """Return the address of some lanes of a kept value."""

    @abstractmethod
    def thin_lane(self, iteration: RowLanes, value: Value) -> str:
        """Return a number of the row, or of each row, in some lanes."""

    @abstractmethod
    def compared(self, run: Pass, iteration: RowLanes, value: Value, counting: Counting) -> str:
        """Emit a comparison of what counts places with an integer of the row, or of each row."""

    def find_spots(self, views: Sequence[View], hints: Sequence[str]) -> None:
        """Load the address of each view."""
        spots = iter(self.spots(views, [identifier(h or "v") for h in hints]))
        self.inputs = {value: next(spots) for value in self.plan.inputs.values()}
        self.outputs = {value: next(spots) for _, value, _ in self.plan.outputs}
        self.sums = [(op, value, next(spots)) for op, value in self.plan.columns]

    def needed(self, stage: int) -> list[Value]:
        """Return the values that a pass computes."""
        return self.plan.needed(stage, self.kept)

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
                iteration.known[value] = self.computed(iteration.lanes, value, value.op, operands)
                iteration.lanes.contract = False
            else:
                iteration.known[value] = self.compared(run, iteration, value, value.counting)
            self.keep(run, iteration, value)

    def keep(self, run: Pass, iteration: RowLanes, value: Value) -> None:
        """Store a value in some lanes, if this pass keeps it."""
        if self.kept.get(value) == run.stage:
            iteration.lanes.store(kept_as(value.dtype), iteration.known[value], *self.kept_at(run, iteration, value), 1)

    def computed(self, lanes: Lanes, value: Value, op: PtirOp, operands: Sequence[str]) -> str:
        """Emit one op in some lanes, by a function for fewer operands if there is one."""
        dtype = op.result_spec().dtype
        if (function := self.functions.get(value)) is not None:
            return lanes.rounded(dtype, vmath.call(lanes, function, register(dtype), operands))
        is_shared = self.corrects and isinstance(op, DivOp) and dtype.kind is Kind.FLOAT and value.operands[1].is_thin
        if is_shared and pays(lanes):
            return lanes.rounded(dtype, shared(Reals(lanes, register(dtype)), *operands))
        return emit(lanes, op, operands, self.sites)

    def lane(self, run: Pass, iteration: RowLanes, value: Value) -> str:
        """One value in some lanes: computed now or before, kept, or read."""
        if value.is_thin:
            return self.thin_lane(iteration, value)
        if value not in iteration.known:
            iteration.lanes.hint = identifier(value.hint or "v")
            if value.op is None and self.kept.get(value, run.stage) == run.stage:
                iteration.known[value] = self.read(run.places[value], iteration.index, iteration.lanes)
                self.keep(run, iteration, value)
            else:
                iteration.known[value] = iteration.lanes.load(kept_as(value.dtype), *self.kept_at(run, iteration, value), 1)
        return iteration.known[value]


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


def _fractions(plan: RowPlan) -> set[Value]:
    """The exponentials of differences to the greatest of the row: none is above 1, since no operand is above 0."""
    found: set[Value] = set()
    for value in plan.values:
        if isinstance(value.op, ExpOp) and isinstance(value.operands[0].op, SubOp):
            x, most = value.operands[0].operands
            while isinstance(most.op, StopGradientOp):
                (most,) = most.operands
            if most.is_total and reduction_of(most).values()["kind"] == "max" and most.operands[0] is x and most.dtype is x.dtype:
                found.add(value)
    return found


def _shares(plan: RowPlan, fractions: Collection[Value]) -> list[Value]:
    """The quotients of such exponentials by their sum, which has a 1 among its terms and none above."""
    if plan.length > MOST_TOTAL:
        return []
    found: list[Value] = []
    for value in plan.values:
        if isinstance(value.op, DivOp):
            x, total = value.operands
            is_sum = total.is_total and reduction_of(total).values()["kind"] == "sum"
            if is_sum and x in fractions and total.operands[0] is x:
                found.append(value)
    return found
