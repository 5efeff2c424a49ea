"""
The loops of a row kernel whose lanes run along each row; what is one number per row is read or computed as a scalar.

Short rows stay in registers from pass to pass. Of longer ones, what is dear to compute is kept in memory of the kernel's own, and
the next row is fetched while this one is worked on, as are the lines that a later pass writes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from mind_dialect.ptir import GatherOp, PtirLiteralAttr
from mind_dialect.ptir.types import Kind, PtirDType

from ..casts import constant
from ..elementwise import emit, integer_test
from ..failures import Failure, Sites
from ..ir import Function, identifier
from ..kernel_text import fail_where
from ..lanes import Lanes, register, stored
from ..nest import Axis
from ..nontemporal import twice
from ..places import Indexes, Place, Spot
from ..reductions import finished, fold, identity
from ..target_info import LINE, TargetInfo
from ..views import Buffer, Indices, View
from .loops import Pass, RowLanes, RowLoops, reduction_of
from .plan import REGISTERS, Counting, RowPlan, Value, kept_as

RESIDENT = 8
"""Vectors of a row that stays in registers, at most."""
RESIDENT_OPS = 200
"""Vectors of all values of such a row, at most."""
FETCHED = 512
"""Bytes of a row from which on the next one is fetched ahead, and lines of results are."""


class AlongLoops(RowLoops):
    """The loops of one row kernel, `along` being one of a row's axes."""

    def __init__(self, f: Function, host: TargetInfo, sites: Sites, plan: RowPlan, axes: Sequence[Axis], along: int, width: int):
        super().__init__(f, host, sites, plan, axes, along, width)
        vectors = -(-self.extent // width)
        full = [v for v in plan.values if not v.is_thin]
        most = RESIDENT * host.registers // REGISTERS
        self.resident = not self.inner and vectors <= most and vectors * len(full) <= RESIDENT_OPS
        if self.resident:
            self.kept = {}
        self.thin: dict[Value, str] = {}
        """Numbers of the row, as scalars."""
        self.splats: dict[Value | Counting, str] = {}
        """The same in every lane; for a comparison with what counts places, in 32 bits."""

    # Rows

    def emit(self, views: Sequence[View], hints: Sequence[str], rows: int, per_unit: int, past: Collection[Value]) -> None:
        f = self.f
        self.find_spots(views, hints)
        for value in self.kept:
            type = stored(kept_as(value.dtype))
            self.room[value] = f.op(f"alloca [{self.plan.length} x {type}], align 64", identifier(value.hint or "kept"))

        def some(low: str, high: str) -> None:
            for row in f.each(f.mul(low, per_unit), f.least(f.mul(high, per_unit), str(rows)), hint="row"):
                self.row(row)

        def loops(streamed: bool) -> None:
            self.past = past if streamed else ()
            if not self.sums:
                some("%begin", "%end")
                return
            for unit in f.each("%begin", "%end", hint="unit"):
                self.begin_columns(unit)
                some(unit, f.add(unit, "1"))

        past = [value for value in past if self.is_in_lines(self.outputs[value])]
        twice(f, [self.outputs[value].base for value in past], loops)

    def begin_columns(self, unit: str) -> None:
        """Begin the sums over the rows of a unit: each unit has a row of them."""
        f, self.columns = self.f, []
        for op, value, spot in self.sums:
            dtype, length = spot.view.dtype, self.plan.length
            base = f.address(stored(dtype), spot.base, f.mul(unit, length), spot.hint)
            self.columns.append((op, value, replace(spot, base=base)))
            full = length - length % self.width
            for index in f.each("0", str(full), self.width, hint="x"):
                lanes = self.lanes()
                lanes.store(dtype, identity(lanes, op), base, index, 1)
            if full < length:
                rest = self.lanes(length - full)
                rest.store(dtype, identity(rest, op), base, str(full), 1)

    def row(self, row: str) -> None:
        """All passes over one row."""
        at = self.indexes(row)
        self.iterations = (
            [RowLanes(lanes, str(i * self.width)) for i, lanes in enumerate(self.all_lanes())] if self.resident else []
        )
        self.begin(at)
        fetching = self.dearest(self.plan.stages)
        for stage in range(self.plan.stages):
            self.numbers(stage)
            self.sweep(stage, at, fetching == stage and not self.resident)
        self.numbers(self.plan.stages)
        for value, spot in self.outputs.items():
            if value.is_thin:
                self.write(self.place(spot, at), "0", Lanes(self.f, self.host, 1, hint=spot.hint), self.scalar(value))

    def dearest(self, stages: int) -> int:
        """Return the pass that costs most, of the first so many: memory is waited for the least while it runs."""
        return max(range(stages), key=lambda s: sum(v.cost for v in self.needed(s)))

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

    # Numbers of the row

    def begin(self, at: Indexes) -> None:
        """Begin a row: read the numbers that it is given."""
        self.at = at
        self.thin.clear()
        self.splats.clear()
        for value, spot in self.inputs.items():
            if value.is_thin and value.view is not None and isinstance(value.view.base, Buffer | Indices):
                one = Lanes(self.f, self.host, 1, hint=spot.hint)
                self.thin[value] = self.read(self.place(spot, at), "0", one)

    def numbers(self, stage: int) -> None:
        """Compute what is one number per row and needs no sums of this stage or later."""
        for value in self.plan.values:
            if value.is_total or value.stage > stage or value in self.thin or value.op is None:
                continue
            one = Lanes(self.f, self.host, 1, hint=identifier(value.hint or "v"))
            if isinstance(value.op, GatherOp):
                self.thin[value] = self.picked(one, value, value.op)
            elif value.is_thin:
                self.thin[value] = emit(one, value.op, [self.scalar(v) for v in value.operands], self.sites)

    def picked(self, one: Lanes, value: Value, op: GatherOp) -> str:
        """The element of the row at an index, which is checked."""
        number, row = value.operands
        index = one.convert(_widening(number.dtype), register(number.dtype), "i64", self.scalar(number))
        outside = one.compare("icmp uge", "i64", index, str(self.plan.length))
        fail_where(one, self.sites, outside, Failure.INDEX, op, [("i64", index, True)])
        return self.read(self.place(self.inputs[row], self.at), index, one)

    def scalar(self, value: Value) -> str:
        """A number of the row."""
        if value not in self.thin:
            assert value.view is not None
            self.thin[value] = constant(Lanes(self.f, self.host, 1), _literal(value.view))
        return self.thin[value]

    def splat(self, value: Value) -> str:
        """A number of the row in every lane."""
        if value.view is not None and not isinstance(value.view.base, Buffer | Indices):
            return constant(self.lanes(), _literal(value.view))
        if value not in self.splats:
            lanes = Lanes(self.f, self.host, self.width, hint=identifier(value.hint or "v"))
            self.splats[value] = lanes.splat(register(value.dtype), self.scalar(value))
        return self.splats[value]

    def bounded(self, counting: Counting) -> str:
        """An integer in every lane, in 32 bits: what is below or above all places stays so."""
        if counting not in self.splats:
            value, (low, high) = counting.number, (counting.low, counting.high)
            one = Lanes(self.f, self.host, 1, hint=identifier(value.hint or "v"))
            code = _widening(value.dtype)
            wide = one.convert(code, register(value.dtype), "i64", self.scalar(value))
            if code == "zext":
                wide = one.intrinsic("umin", "i64", wide, str(high + 1))
            wide = one.intrinsic("smax", "i64", one.intrinsic("smin", "i64", wide, str(high + 1)), str(low - 1))
            lanes = Lanes(self.f, self.host, self.width, hint=one.hint)
            self.splats[counting] = lanes.splat("i32", one.convert("trunc", "i64", "i32", wide))
        return self.splats[counting]

    # Passes

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

    def along_lanes(self, at: Indexes, run: Pass, state: Sequence[str], fetches: bool) -> list[str]:
        run = replace(run, flat=self.f.mul(run.flat, self.extent))
        self.find_places(run, at)
        if self.resident:
            return self.together(run, self.iterations, list(state))
        n, step = self.extent, self.width * run.unroll
        full = n - n % step
        claimed = [(v, self.place(s, at)) for v, s in self.outputs.items() if self.claims(run.stage, v, s)]

        def body(index: str, /, *values: str) -> list[str]:
            iterations = [RowLanes(self.lanes(), self.f.add(index, str(u * self.width))) for u in range(run.unroll)]
            for u, iteration in enumerate(iterations):
                if fetches:
                    self.fetch(run, iteration, u * self.width)
                self.claim(claimed, iteration, u * self.width)
            return self.together(run, iterations, list(values))

        found = self.f.loop("0", str(full), step, body, self.typed(run, state), "x")
        rest = self.all_lanes()[full // self.width :]
        return self.together(run, [RowLanes(lanes, str(full + i * self.width)) for i, lanes in enumerate(rest)], found)

    def kept_at(self, run: Pass, iteration: RowLanes, value: Value) -> tuple[str, str]:
        return self.room[value], self.f.add(run.flat, iteration.index)

    def thin_lane(self, iteration: RowLanes, value: Value) -> str:
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

    def fetch(self, run: Pass, iteration: RowLanes, before: int) -> None:
        """Ask for the same lanes of the next row's inputs, unless `before` elements of this iteration are on the same line."""
        if not self.kept_axes:
            return
        for place in run.places.values():
            spot, dtype = place.spot, place.spot.view.dtype
            step = spot.strides[self.kept_axes[-1]]
            if not self.is_run(place) or not step:
                continue
            if self.extent * dtype.size >= FETCHED and before * dtype.size % LINE == 0:
                self.ask_for(place, self.f.add(iteration.index, str(step)))

    def claims(self, stage: int, value: Value, spot: Spot) -> bool:
        """Return whether this pass, the dearest before that which writes a value, asks for the lines to be written."""
        if value.is_thin or not value.stage or value in self.past or self.stride(spot) != 1:
            return False
        return stage == self.dearest(value.stage) and self.extent * value.dtype.size >= FETCHED

    def claim(self, claimed: Sequence[tuple[Value, Place]], iteration: RowLanes, before: int) -> None:
        """Ask for the lines of some lanes that a later pass writes, unless `before` elements of this iteration are on them."""
        for value, place in claimed:
            if before * value.dtype.size % LINE == 0:
                self.ask_for(place, iteration.index, write=True)


def _widening(dtype: PtirDType) -> str:
    """Return the instruction that widens integers of a dtype."""
    return "sext" if dtype.kind is Kind.SIGNED else "zext"


def _literal(view: View) -> PtirLiteralAttr:
    assert isinstance(view.base, PtirLiteralAttr)
    return view.base
