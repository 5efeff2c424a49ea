"""
The loop nest of a group: each operand read where it lies, each result written once, reduced results in registers until complete.

Lanes run along one axis. Where that is kept, whole vectors of results are summed over the reduced axes; where it is reduced,
vectors of partial sums are folded by a fixed tree at the end. So results depend on the width of the lanes alone. The units of
work are iterations of the outermost loops, and runs along the lanes where those are few.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from math import prod

from xdsl.ir import SSAValue

from mind_dialect.ptir import ReduceOp
from mind_dialect.ptir.types import PtirDType
from mind_passes.ptir.building import accumulator

from .costs import traffic
from .elementwise import emit
from .failures import Sites
from .groups import Group, only_summed
from .ir import Function, identifier
from .kernel_text import unflattened
from .lanes import Lanes, stored
from .nontemporal import twice
from .places import Indexes, Place, Places, Spot
from .reductions import addend, combine, finished, fold, identity
from .schedule import NestSchedule
from .slides import window_bounds
from .target_info import LINE

_NAMES = "ijklmn"
AHEAD = 1 << 10
"""Bytes by which lines are asked for: ops on elements leave few instructions in flight that could wait for memory."""


class Nest(Places):
    """The loops of one group, on their way into a function."""

    def __init__(self, f: Function, group: Group, sites: Sites, schedule: NestSchedule):
        super().__init__(f, schedule.host, sites, schedule.axes)
        self.group, self.schedule = group, schedule
        self.along, self.width = schedule.along, schedule.width
        self.products = only_summed(group)
        self.is_far = self.extent > AHEAD and traffic(group.views) > schedule.host.l2_bytes
        """True if runs along the lanes are long, and not all that is read and written stays in a cache of the second level."""
        self.sum_rooms: list[tuple[PtirDType, str]] = []
        """The memory of each reduction's sums of a run along the lanes, where they are in memory."""
        self.part: tuple[str, str, Callable[[], str]] | None = None
        """The current run along the lanes, not all of them: where it begins and ends, and whether it is the last."""
        self.inputs: list[Spot] = []
        """Inputs, then tables."""
        self.outputs: list[Spot] = []
        self.totals: list[Spot] = []
        self.joined: set[int] = set()
        """The outputs that are written together with the next one, element by element."""
        self.past: set[int] = set()
        """By identity: the outputs that are written by non-temporal stores."""

    def emit(self) -> int:
        """The body of the function; how many units of work it does."""
        units = 1
        if prod(n for i, n in enumerate(self.group.shape) if i not in self.group.axes):
            self.find_spots()
            for reduction, _ in self.group.reductions if self.schedule.is_row_by_row else ():
                dtype, hint = accumulator(reduction), identifier(reduction.result.name_hint or "sum")
                self.sum_rooms.append((dtype, self.f.op(f"alloca [{self.schedule.run} x {stored(dtype)}], align 64", hint)))
            streams = zip(self.outputs, self.group.past(self.cache), strict=True)
            past = [s for k, (s, is_past) in enumerate(streams) if is_past and self.is_in_lines(s, 1 + (k in self.joined))]

            def loops(streamed: bool) -> None:
                self.past = {id(spot) for spot in past} if streamed else set()
                self.nest()

            twice(self.f, [spot.base for spot in past], loops)
            units = self.schedule.units
        self.f.ret("0")
        return units

    @property
    def cache(self) -> int:
        """Return the bytes of cache that results go past if the group moves more."""
        return self.host.shared_bytes

    def find_spots(self) -> None:
        """Load the address of each view."""
        group = self.group
        values = (*group.inputs, *(v for v, _ in group.outputs), *(r.result for r, _ in group.reductions))
        values += tuple(op.operands[0] for op in group.tables)
        every = self.spots(group.views, [identifier(v.name_hint or "v") for v in values])
        first, second, third = accumulate(map(len, (group.inputs, group.outputs, group.reductions)))
        self.inputs, self.outputs, self.totals = every[:first] + every[third:], every[first:second], every[second:third]
        self.joined = {k for k in group.joined if self.stride(self.outputs[k]) == 2}
        for spot in self.inputs:
            spot.shift = -sum(slide.low * (spot.strides[i] // slide.dilation) for i, (_, slide) in self.schedule.clips.items())

    # Loops

    def nest(self) -> None:
        """All loops, outermost first: kept axes, then reduced ones, the lanes innermost of their kind."""
        schedule = self.schedule
        inner: Callable[[Indexes], None] = self.run
        if schedule.is_row_by_row:
            inner = self.row_by_row
        elif self.group.reductions:
            inner = self.columns if schedule.lanes_are_kept else self.rows
        lead, kept, pieces, f = schedule.lead, schedule.kept, schedule.pieces, self.f
        if lead == 1 and pieces == 1:
            self.loops(kept, {}, inner, ("%begin", "%end"))
        elif lead == 0:
            if pieces > 1:
                bounds = f.mul("%begin", schedule.chunk), f.mul("%end", schedule.chunk)
                self.part = *bounds, lambda: f.op(f"icmp eq i64 %end, {pieces}", "last")
            self.loops(kept, {}, inner)
        else:

            def unit(u: str) -> None:
                *indices, piece = unflattened(f, u, schedule.grid)
                if pieces > 1:
                    low = f.mul(piece, schedule.chunk)
                    self.part = low, f.add(low, str(schedule.chunk)), lambda: f.op(f"icmp eq i64 {piece}, {pieces - 1}", "last")
                self.loops(kept[lead:], dict(zip(kept, indices, strict=False)), inner)

            for u in f.each("%begin", "%end", hint="unit"):
                unit(u)

    def loops(
        self, order: Sequence[int], at: Indexes, inner: Callable[[Indexes], None], bounds: tuple[str, str] | None = None
    ) -> None:
        """The loops over some axes, one in the other."""
        if not order:
            inner(at)
            return
        i, rest = order[0], order[1:]
        low, high = bounds or ("0", str(self.axes[i].extent))
        for index in self.f.each(low, high, hint=_NAMES[min(i, 5)]):
            self.loops(rest, {**at, i: index}, inner)

    def bounds(self, order: Sequence[int], at: Indexes) -> dict[int, tuple[str, str]]:
        """Emit the bounds of the loops over some axes, given the indices of others: windows are read inside of operands."""
        found = {i: ("0", str(self.axes[i].extent)) for i in order}
        for i, (place, slide) in self.schedule.clips.items():
            start = "0" if place is None else self.f.mul(at[place], slide.stride)
            found[i] = window_bounds(self.f, slide, self.f.add(start, str(-slide.low)))
        return found

    def carried(
        self,
        order: Sequence[int],
        at: Indexes,
        inner: Callable[[Indexes, Sequence[str]], list[str]],
        state: Sequence[str],
        bounds: Mapping[int, tuple[str, str]],
    ) -> list[str]:
        """As `loops` between some bounds, with values that go from iteration to iteration."""
        if not order:
            return inner(at, state)
        i, rest = order[0], order[1:]

        def body(index: str, /, *values: str) -> list[str]:
            return self.carried(rest, {**at, i: index}, inner, values, bounds)

        return self.f.loop(*bounds[i], 1, body, self.typed(state), _NAMES[min(i, 5)])

    def typed(self, state: Sequence[str]) -> list[tuple[str, str]]:
        """Accumulators with their types, those of one reduction next to each other."""
        each, lanes = len(state) // max(1, len(self.group.reductions)), self.lanes()
        types = [lanes.type(accumulator(r)) for r, _ in self.group.reductions for _ in range(each)]
        return list(zip(types, state, strict=True))

    def vectors(self) -> tuple[list[Lanes], int, list[Lanes]]:
        """The vectors of one iteration along the lanes, up to where iterations are whole, and the vectors of the rest."""
        n, unroll = self.extent, self.schedule.unroll
        full = n - n % (self.width * unroll)
        rest = [self.lanes() for _ in range((n - full) // self.width)]
        rest += [self.lanes((n - full) % self.width)] if n % self.width else []
        return [self.lanes() for _ in range(unroll)], full, rest

    def lanes_along(self, body: Callable[[str, list[Lanes]], None]) -> None:
        """
        Vectors along the axis of the lanes: `body(first index, lanes of each)`, several vectors an iteration, then the rest.
        """
        every, full, rest = self.vectors()
        low, high, step = "0", str(full), self.width * self.schedule.unroll
        if self.part:
            low, high = self.part[0], self.f.least(self.part[1], str(full))
        for index in self.f.each(low, high, step, hint="x"):
            body(index, every)
        if rest and self.part:
            self.f.when(self.part[2](), lambda: body(str(full), rest))
        elif rest:
            body(str(full), rest)

    # Loop bodies

    def run(self, at: Indexes) -> None:
        """Without reductions: read, compute, write."""
        sources, targets = self.places(self.inputs, at), self.places(self.outputs, at)

        def body(index: str, every: list[Lanes]) -> None:
            self.ask_for_later(sources, index, every)
            self.compute(sources, targets, index, every)

        self.lanes_along(body)

    def row_by_row(self, at: Indexes) -> None:
        """Reductions with the lanes along a kept axis, row by row: the sums of a run along the lanes are in memory."""
        first = self.part[0] if self.part else "0"
        rooms = [self.f.address(stored(dtype), room, self.f.mul(first, -1)) for dtype, room in self.sum_rooms]

        def begin(index: str, every: list[Lanes]) -> None:
            self.store_sums(rooms, index, every, [identity(x, r) for r, _ in self.group.reductions for x in every])

        def row(now: Indexes) -> None:
            sources, targets = self.places(self.inputs, now), self.places(self.outputs, now)

            def body(index: str, every: list[Lanes]) -> None:
                self.ask_for_later(sources, index, every)
                found = self.compute(sources, targets, index, every)
                self.store_sums(rooms, index, every, self.accumulate(found, every, self.load_sums(rooms, index, every)))

            self.lanes_along(body)

        self.lanes_along(begin)
        self.loops([i for i, a in enumerate(self.axes) if a.reduced], at, row)
        self.lanes_along(lambda index, every: self.write_sums(at, index, every, self.load_sums(rooms, index, every)))

    def load_sums(self, rooms: Sequence[str], index: str, every: list[Lanes]) -> list[str]:
        """Load the sums of some vectors, those of one reduction next to each other."""
        pairs = zip(self.sum_rooms, rooms, strict=True)
        return [x.load(t, room, self.f.add(index, str(u * self.width)), 1) for (t, _), room in pairs for u, x in enumerate(every)]

    def store_sums(self, rooms: Sequence[str], index: str, every: list[Lanes], sums: Sequence[str]) -> None:
        """Store the sums of some vectors, those of one reduction next to each other."""
        for k, ((dtype, _), room) in enumerate(zip(self.sum_rooms, rooms, strict=True)):
            for u, lanes in enumerate(every):
                lanes.store(dtype, sums[k * len(every) + u], room, self.f.add(index, str(u * self.width)), 1)

    def write_sums(self, at: Indexes, index: str, every: list[Lanes], sums: Sequence[str]) -> None:
        """Write the results of reductions in some vectors."""
        places = self.places(self.totals, at)
        for k, (reduction, _) in enumerate(self.group.reductions):
            for u, lanes in enumerate(every):
                result = self.result(lanes, reduction, sums[k * len(every) + u])
                self.write(places[k], self.f.add(index, str(u * self.width)), lanes, result)

    def columns(self, at: Indexes) -> None:
        """Reductions with the lanes along a kept axis: a vector of results at a time."""
        order = [i for i, a in enumerate(self.axes) if a.reduced]
        bounds = self.bounds(order, at)

        def body(index: str, every: list[Lanes]) -> None:
            def iteration(inner: Indexes, values: Sequence[str]) -> list[str]:
                now = {**at, **inner}
                found = self.compute(self.places(self.inputs, now), self.places(self.outputs, now), index, every)
                return self.accumulate(found, every, values)

            state = [identity(every[0], r) for r, _ in self.group.reductions for _ in every]
            self.write_sums(at, index, every, self.carried(order, {}, iteration, state, bounds))

        self.lanes_along(body)

    def rows(self, at: Indexes) -> None:
        """Reductions with the lanes along a reduced axis: partial results, folded at the end by a fixed tree."""
        order = [i for i, a in enumerate(self.axes) if a.reduced and i != self.along]
        reductions, unroll = self.group.reductions, self.schedule.unroll
        state = [identity(self.lanes(), r) for r, _ in reductions for _ in range(unroll)]
        totals = self.carried(order, {}, lambda inner, values: self.row({**at, **inner}, values), state, self.bounds(order, at))
        for place, (k, (reduction, _)) in zip(self.places(self.totals, at), enumerate(reductions), strict=True):
            lanes = self.lanes()
            lanes.hint = identifier(reduction.result.name_hint or "sum")
            scalar = fold(lanes, reduction, totals[k * unroll : (k + 1) * unroll])
            one = lanes.narrowed(1)
            self.write(place, "0", one, self.result(one, reduction, scalar))

    def result(self, lanes: Lanes, reduction: ReduceOp, total: str) -> str:
        """Return the value to write of a reduction: its result, or its part of it as it is accumulated."""
        return total if self.group.partial is not None else finished(lanes, reduction, total)

    def row(self, at: Indexes, state: Sequence[str]) -> list[str]:
        """One run along a reduced axis."""
        sources, targets = self.places(self.inputs, at), self.places(self.outputs, at)
        every, full, rest = self.vectors()
        unroll = len(every)

        def iteration(index: str, /, *values: str) -> list[str]:
            self.ask_for_later(sources, index, every)
            return self.accumulate(self.compute(sources, targets, index, every), every, values)

        found = self.f.loop("0", str(full), self.width * unroll, iteration, self.typed(state), "x")
        if rest:
            starts = range(0, len(found), unroll)
            kept = [value for start in starts for value in found[start : start + len(rest)]]
            kept = self.accumulate(self.compute(sources, targets, str(full), rest), rest, kept)
            for k, start in enumerate(starts):
                found[start : start + len(rest)] = kept[k * len(rest) : (k + 1) * len(rest)]
        return found

    # Some vectors

    def places(self, spots: Sequence[Spot], at: Indexes) -> list[Place]:
        """Return the places of some spots at some indices; an input that is the same in all lanes is read at once."""
        count = len(self.group.inputs) if spots is self.inputs else 0
        return [self.uniform(self.place(s, at)) if k < count else self.place(s, at) for k, s in enumerate(spots)]

    def ask_for_later(self, sources: Sequence[Place], index: str, every: Sequence[Lanes]) -> None:
        """Ask for the lines that some iterations later read, if there are so many and they come from afar."""
        if not self.is_far or every[0].mask is not None:
            return
        for place in sources:
            view = place.spot.view
            if not self.is_run(place) or traffic([view]) <= self.host.l1_bytes:
                continue
            for line in range(AHEAD, AHEAD + len(every) * self.width * view.dtype.size, LINE):
                self.ask_for(place, self.f.add(index, str(line // view.dtype.size)))

    def compute(self, sources: list[Place], targets: list[Place], index: str, every: list[Lanes]) -> list[dict[SSAValue, str]]:
        """Read, compute and write some vectors; every value of each."""
        starts = [self.f.add(index, str(u * self.width)) for u in range(len(every))]
        found = [self.point(sources, start, lanes) for start, lanes in zip(starts, every, strict=True)]
        self.put(targets, starts, every, found)
        return found

    def put(self, targets: list[Place], starts: Sequence[str], every: list[Lanes], found: list[dict[SSAValue, str]]) -> None:
        """Write the results of some vectors."""
        for start, lanes, values in zip(starts, every, found, strict=True):
            results = [values[value] for value, _ in self.group.outputs]
            for k, (target, result) in enumerate(zip(targets, results, strict=True)):
                lanes.streamed = id(target.spot) in self.past
                if k in self.joined:
                    self.write_pair(targets[k : k + 2], start, lanes, results[k : k + 2])
                elif k - 1 not in self.joined:
                    self.write(target, start, lanes, result)
            lanes.streamed = False

    def point(self, sources: list[Place], index: str, lanes: Lanes) -> dict[SSAValue, str]:
        """The values of all ops in some lanes."""
        found: dict[SSAValue, str] = {}
        tables = dict(zip(self.group.tables, sources[len(self.group.inputs) :], strict=True))
        for source, value in zip(sources, self.group.inputs, strict=False):
            found[value] = self.read(source, index, lanes)
        for op in self.group.ops:
            lanes.hint = identifier(op.results[0].name_hint or op.OPCODE)
            operands = [found[v] for v in self.group.operands(op)]
            if op in tables:
                found[op.results[0]] = self.pick(tables[op], index, lanes, op.operand_spec(1).dtype, *operands)
                continue
            lanes.contract = op in self.products
            found[op.results[0]] = emit(lanes, op, operands, self.sites)
            lanes.contract = False
        return found

    def accumulate(self, found: list[dict[SSAValue, str]], every: list[Lanes], state: Sequence[str]) -> list[str]:
        """The accumulators after some more vectors."""
        made: list[str] = []
        for k, (reduction, _) in enumerate(self.group.reductions):
            for u, (lanes, values) in enumerate(zip(every, found, strict=True)):
                lanes.hint = identifier(reduction.result.name_hint or reduction.values()["kind"])
                x = addend(lanes, reduction, values[reduction.x])
                made.append(combine(lanes, reduction, state[k * len(every) + u], x))
        return made
