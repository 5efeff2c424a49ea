"""
The loop nest of a group: each operand read where it lies, each result written once, reduced results in registers until complete.

Lanes run along one axis. Where that is kept, whole vectors of results are summed over the reduced axes; where it is reduced,
vectors of partial sums are folded by a fixed tree at the end. So results depend on the width of the lanes alone. The units of
work are iterations of the outermost loops, and runs along the lanes where those are few.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from xdsl.ir import SSAValue

from mind_dialect.ptir import ReduceOp
from mind_dialect.ptir.types import BF16, F16, read_type
from mind_passes.ptir.building import accumulator

from ..launch.limits import Limit
from .costs import CALLS
from .elementwise import emit
from .failures import Sites
from .groups import Group, only_summed
from .ir import Function, identifier
from .kernel_text import unflattened
from .lanes import Lanes
from .nest import axes_of, lane_axis
from .nontemporal import twice
from .places import Indexes, Place, Places, Spot
from .reductions import addend, combine, finished, fold, identity
from .slides import window_bounds
from .target_info import TargetInfo

CHUNK, NARROWEST = 1 << 14, 512
"""Elements in one unit of work, where it is a run along the lanes, and how many lie along these at least."""
LIMITED_CHUNK = 1 << 12
"""Elements in such a unit where a size limits how many units are run: what the last one does beyond the size is of no use."""
ENOUGH = 64
"""So many units of work are shared out well."""
UNROLL = 4
"""Vectors in one iteration of the innermost loop, mostly."""
_NAMES = "ijklmn"


class Nest(Places):
    """The loops of one group, on their way into a function."""

    def __init__(self, f: Function, host: TargetInfo, group: Group, sites: Sites):
        clipped = {a + k for clip in group.clips for a in (clip.place, clip.window) for k in (0, 1)}
        axes = axes_of(group.shape, group.axes, [v.strides for v in group.views], group.limited | clipped)
        super().__init__(f, host, sites, axes, group.origin[0] if group.origin else None)
        self.group = group
        self.width = self.lane_count()
        of = {axis.first: i for i, axis in enumerate(self.axes)}
        self.clips = {of[clip.window]: (of.get(clip.place), clip.slide) for clip in group.clips}
        """By axis of places in windows: the axis along which these windows move, if it has several places, and how."""
        excluded = {i for window, (place, _) in self.clips.items() for i in (window, place)}
        excluded.update(i for i, axis in enumerate(self.axes) if axis.reduced and group.keeps_lanes)
        self.along = lane_axis(self.axes, self.width, excluded)
        extent = self.extent
        self.width = min(self.width, 1 << (extent - 1).bit_length())
        self.unroll = max(1, min(self.vectors_a_iteration(), extent // self.width))
        self.products = only_summed(group)
        self.kept = [i for i, a in enumerate(self.axes) if not a.reduced and i != self.along]
        self.chunk, self.pieces = self.runs()
        self.part: tuple[str, str, Callable[[], str]] | None = None
        """The current run along the lanes, not all of them: where it begins and ends, and whether it is the last."""
        self.inputs: list[Spot] = []
        self.outputs: list[Spot] = []
        self.totals: list[Spot] = []
        self.past: set[int] = set()
        """By identity: the outputs that are written by non-temporal stores."""

    def lane_count(self) -> int:
        """Lanes for the widest dtype that is computed with."""
        group = self.group
        values = [*group.inputs, *(r for op in group.ops for r in op.results), *(r.result for r, _ in group.reductions)]
        dtypes = [read_type(v.type).dtype for v in values] + [accumulator(r) for r, _ in group.reductions]
        return self.host.lanes(max([4 if d in (F16, BF16) else d.size for d in dtypes], default=1))

    def vectors_a_iteration(self) -> int:
        """Return the number of vectors along the lanes that are worked on at once, if there are as many."""
        group = self.group
        if any(type(op) in CALLS for op in group.ops):
            return 1
        if self.lanes_are_kept and len(group.reductions) == 1 and len(group.ops) <= 1 and len(group.views) <= 3:
            return self.host.registers // 2  # long stretches of each row: what is read is far apart from row to row
        return UNROLL if len(group.ops) <= 8 and len(group.views) <= 6 else 2

    def emit(self) -> int:
        """The body of the function; how many units of work it does."""
        units = 1
        if prod(n for i, n in enumerate(self.group.shape) if i not in self.group.axes):
            self.find_spots()
            past = [s for s, streams in zip(self.outputs, self.group.past(), strict=True) if streams and self.is_in_lines(s)]

            def loops(streamed: bool) -> None:
                self.past = {id(spot) for spot in past} if streamed else set()
                self.nest()

            twice(self.f, [spot.base for spot in past], loops)
            units = self.units
        self.f.ret("0")
        return units

    def find_spots(self) -> None:
        """Load the address of each view."""
        group = self.group
        values = (*group.inputs, *(v for v, _ in group.outputs), *(r.result for r, _ in group.reductions))
        every = self.spots(group.views, [identifier(v.name_hint or "v") for v in values])
        first, second = len(group.inputs), len(group.inputs) + len(group.outputs)
        self.inputs, self.outputs, self.totals = every[:first], every[first:second], every[second:]
        for spot in self.inputs:
            spot.shift = -sum(slide.low * (spot.strides[i] // slide.dilation) for i, (_, slide) in self.clips.items())

    # Loops

    @property
    def lanes_are_kept(self) -> bool:
        """Return whether the lanes run along an axis of the result."""
        return self.along is None or not self.axes[self.along].reduced

    def runs(self) -> tuple[int, int]:
        """Return the length of runs along the lanes, and their number: one, unless lanes are kept and other loops are few."""
        if not self.lanes_are_kept or prod(self.axes[i].extent for i in self.kept) >= ENOUGH:
            return self.extent, 1
        reduced = max(1, prod(a.extent for a in self.axes if a.reduced))
        iteration = self.width * self.unroll
        most = LIMITED_CHUNK if self.group.limited else CHUNK
        chunk = -(-max(most // reduced, NARROWEST) // iteration) * iteration
        return (chunk, -(-self.extent // chunk)) if self.extent > chunk else (self.extent, 1)

    @property
    def lead(self) -> int:
        """Return the number of outermost loops that are units of work."""
        count = 0
        while count < len(self.kept) and prod(self.extents[:count]) * self.pieces < ENOUGH:
            count += 1
        return count

    @property
    def extents(self) -> list[int]:
        """Of the axes that are kept, without the lanes."""
        return [self.axes[i].extent for i in self.kept]

    @property
    def grid(self) -> list[int]:
        """Return the number of units of work by axis of the grid."""
        return [*self.extents[: self.lead], self.pieces]

    @property
    def units(self) -> int:
        """Return the number of units of work."""
        return prod(self.grid)

    def limit(self, place: int) -> Limit | None:
        """Return how the size of an axis of the group limits units; None where no units of work are apart along it."""
        i = next((i for i, axis in enumerate(self.axes) if axis.first == place), None)
        scale = 0 if i is None else self.axes[i].extent // self.group.shape[place]
        found = None if i is None else self._limit_along(i, scale)
        return None if found is None or self.grid[found.axis] == 1 else found

    def _limit_along(self, i: int, scale: int) -> Limit | None:
        if i in self.kept[: self.lead]:
            return Limit(self.kept.index(i), scale, 1)
        return Limit(self.lead, scale, self.chunk) if i == self.along and self.lanes_are_kept else None

    def nest(self) -> None:
        """All loops, outermost first: kept axes, then reduced ones, the lanes innermost of their kind."""
        inner: Callable[[Indexes], None] = self.run
        if self.group.reductions:
            inner = self.columns if self.lanes_are_kept else self.rows
        lead, f = self.lead, self.f
        if lead == 1 and self.pieces == 1:
            self.loops(self.kept, {}, inner, ("%begin", "%end"))
        elif lead == 0:
            if self.pieces > 1:
                bounds = f.mul("%begin", self.chunk), f.mul("%end", self.chunk)
                self.part = *bounds, lambda: f.op(f"icmp eq i64 %end, {self.pieces}", "last")
            self.loops(self.kept, {}, inner)
        else:

            def unit(u: str, /, *values: str) -> None:
                *indices, piece = unflattened(f, u, [*self.extents[:lead], self.pieces])
                if self.pieces > 1:
                    low = f.mul(piece, self.chunk)
                    self.part = low, f.add(low, str(self.chunk)), lambda: f.op(f"icmp eq i64 {piece}, {self.pieces - 1}", "last")
                self.loops(self.kept[lead:], dict(zip(self.kept, indices, strict=False)), inner)

            f.loop("%begin", "%end", 1, unit, hint="unit")

    def loops(
        self, order: Sequence[int], at: Indexes, inner: Callable[[Indexes], None], bounds: tuple[str, str] | None = None
    ) -> None:
        """The loops over some axes, one in the other."""
        if not order:
            inner(at)
            return
        i, rest = order[0], order[1:]
        low, high = bounds or ("0", str(self.axes[i].extent))

        def body(index: str, /, *values: str) -> None:
            self.loops(rest, {**at, i: index}, inner)

        self.f.loop(low, high, 1, body, hint=_NAMES[min(i, 5)])

    def bounds(self, order: Sequence[int], at: Indexes) -> dict[int, tuple[str, str]]:
        """Emit the bounds of the loops over some axes, given the indices of others: windows are read inside of operands."""
        found = {i: ("0", str(self.axes[i].extent)) for i in order}
        for i, (place, slide) in self.clips.items():
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
        n = self.extent
        full = n - n % (self.width * self.unroll)
        rest = [self.lanes() for _ in range((n - full) // self.width)]
        rest += [self.lanes((n - full) % self.width)] if n % self.width else []
        return [self.lanes() for _ in range(self.unroll)], full, rest

    def lanes_along(self, body: Callable[[str, list[Lanes]], None]) -> None:
        """
        Vectors along the axis of the lanes: `body(first index, lanes of each)`, several vectors an iteration, then the rest.
        """
        every, full, rest = self.vectors()
        low, high, step = "0", str(full), self.width * self.unroll
        if self.part:
            low, high = self.part[0], self.f.least(self.part[1], str(full))

        def iteration(index: str, /, *values: str) -> None:
            body(index, every)

        self.f.loop(low, high, step, iteration, hint="x")
        if rest and self.part:
            self.f.when(self.part[2](), lambda: body(str(full), rest))
        elif rest:
            body(str(full), rest)

    # Loop bodies

    def run(self, at: Indexes) -> None:
        """Without reductions: read, compute, write."""
        sources, targets = self.places(self.inputs, at), self.places(self.outputs, at)

        def body(index: str, every: list[Lanes]) -> None:
            self.compute(sources, targets, index, every)

        self.lanes_along(body)

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
            totals = self.carried(order, {}, iteration, state, bounds)
            places = self.places(self.totals, at)
            for k, (reduction, _) in enumerate(self.group.reductions):
                for u, lanes in enumerate(every):
                    result = self.result(lanes, reduction, totals[k * len(every) + u])
                    self.write(places[k], self.f.add(index, str(u * self.width)), lanes, result)

        self.lanes_along(body)

    def rows(self, at: Indexes) -> None:
        """Reductions with the lanes along a reduced axis: partial results, folded at the end by a fixed tree."""
        order = [i for i, a in enumerate(self.axes) if a.reduced and i != self.along]
        reductions = self.group.reductions
        state = [identity(self.lanes(), r) for r, _ in reductions for _ in range(self.unroll)]
        totals = self.carried(order, {}, lambda inner, values: self.row({**at, **inner}, values), state, self.bounds(order, at))
        for place, (k, (reduction, _)) in zip(self.places(self.totals, at), enumerate(reductions), strict=True):
            lanes = self.lanes()
            lanes.hint = identifier(reduction.result.name_hint or "sum")
            scalar = fold(lanes, reduction, totals[k * self.unroll : (k + 1) * self.unroll])
            one = lanes.narrowed(1)
            self.write(place, "0", one, self.result(one, reduction, scalar))

    def result(self, lanes: Lanes, reduction: ReduceOp, total: str) -> str:
        """Return the value to write of a reduction: its result, or its part of it as it is accumulated."""
        return total if self.group.partial is not None else finished(lanes, reduction, total)

    def row(self, at: Indexes, state: Sequence[str]) -> list[str]:
        """One run along a reduced axis."""
        sources, targets = self.places(self.inputs, at), self.places(self.outputs, at)
        every, full, rest = self.vectors()

        def iteration(index: str, /, *values: str) -> list[str]:
            return self.accumulate(self.compute(sources, targets, index, every), every, values)

        found = self.f.loop("0", str(full), self.width * self.unroll, iteration, self.typed(state), "x")
        if rest:
            starts = range(0, len(found), self.unroll)
            kept = [value for start in starts for value in found[start : start + len(rest)]]
            kept = self.accumulate(self.compute(sources, targets, str(full), rest), rest, kept)
            for k, start in enumerate(starts):
                found[start : start + len(rest)] = kept[k * len(rest) : (k + 1) * len(rest)]
        return found

    # Some vectors

    def places(self, spots: Sequence[Spot], at: Indexes) -> list[Place]:
        """Return the places of some spots at some indices; what is the same in all lanes is read at once."""
        is_input = spots is self.inputs
        return [self.uniform(self.place(s, at)) if is_input else self.place(s, at) for s in spots]

    def compute(self, sources: list[Place], targets: list[Place], index: str, every: list[Lanes]) -> list[dict[SSAValue, str]]:
        """Read, compute and write some vectors; every value of each."""
        starts = [self.f.add(index, str(u * self.width)) for u in range(len(every))]
        found = [self.point(sources, start, lanes) for start, lanes in zip(starts, every, strict=True)]
        self.put(targets, starts, every, found)
        return found

    def put(self, targets: list[Place], starts: Sequence[str], every: list[Lanes], found: list[dict[SSAValue, str]]) -> None:
        """Write the results of some vectors."""
        for start, lanes, values in zip(starts, every, found, strict=True):
            for target, (value, _) in zip(targets, self.group.outputs, strict=True):
                lanes.streamed = id(target.spot) in self.past
                self.write(target, start, lanes, values[value])
            lanes.streamed = False

    def point(self, sources: list[Place], index: str, lanes: Lanes) -> dict[SSAValue, str]:
        """The values of all ops in some lanes."""
        found: dict[SSAValue, str] = {}
        for source, value in zip(sources, self.group.inputs, strict=True):
            found[value] = self.read(source, index, lanes)
        for op in self.group.ops:
            lanes.hint = identifier(op.results[0].name_hint or op.OPCODE)
            lanes.contract = op in self.products
            found[op.results[0]] = emit(lanes, op, [found[v] for v in op.operands], self.sites)
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
