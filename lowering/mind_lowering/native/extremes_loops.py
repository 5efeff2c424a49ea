"""
The loop nest of a search for extremes: of each window the first element that is the greatest or least, or the first NaN.

Lanes run along windows, and the loops over the places of a window are in row-major order, so that of equals the first one is
kept. The index of an element is that of its window's first place, which a vector needs once, plus that of its place in the
window, which is one number in all lanes.
"""

from __future__ import annotations

from collections.abc import Sequence

from mind_dialect.ptir.types import I1, Kind, PtirDType, read_type

from .failures import Sites
from .first_extremes import ExtremesSchedule, FirstExtremes
from .ir import Function
from .lanes import Lanes, register
from .loops import Nest
from .places import Indexes
from .reductions import end_of, finished
from .target_info import TargetInfo


def is_better(lanes: Lanes, kind: str, dtype: PtirDType, x: str, best: str) -> str:
    """Return whether an element is greater (or less) than the best one so far, or NaN where that is not."""
    greater = kind == "max"
    if dtype.kind is Kind.FLOAT:
        beyond = lanes.compare("fcmp ugt" if greater else "fcmp ult", register(dtype), x, best)
        return lanes.binary("and", "i1", beyond, lanes.compare("fcmp ord", register(dtype), best, best))
    sign = "s" if dtype.kind is Kind.SIGNED and dtype is not I1 else "u"
    return lanes.compare(f"icmp {sign}{'gt' if greater else 'lt'}", register(dtype), x, best)


class ExtremesNest(Nest):
    """The nest of `FirstExtremes`, which carries the best value of each window and the place in it."""

    def __init__(self, f: Function, host: TargetInfo, group: FirstExtremes, sites: Sites):
        super().__init__(f, group, sites, ExtremesSchedule(host, group))
        self.extremes, self.index = group, group.index
        self.dtype = read_type(next(iter(group.inputs)).type).dtype
        self.order = [i for i, a in enumerate(self.axes) if a.reduced]

    def columns(self, at: Indexes) -> None:
        """Search the windows of some vectors at a time."""
        bounds = self.bounds(self.order, at)
        first = {i: low for i, (low, _) in bounds.items()}
        starts = {clip: bounds[clip] for clip in self.schedule.clips if self.extremes.has_empty}

        def body(index: str, every: list[Lanes]) -> None:
            def iteration(inner: Indexes, state: Sequence[str]) -> list[str]:
                place = self.uniform(self.place(self.inputs[0], {**at, **inner}))
                found = [self.read(place, self.f.add(index, str(u * self.width)), lanes) for u, lanes in enumerate(every)]
                return self.step(every, found, inner, state)

            least = end_of(self.dtype, least=self.extremes.kind == "max")
            state = [lanes.constant(self.dtype, least) for lanes in every]
            if self.index is not None:
                state += [self.tap(lanes, first) for lanes in every]
            state = self.carried(self.order, {}, iteration, state, bounds)
            self.finish(at, index, every, state, list(starts.values()))

        self.lanes_along(body)

    def step(self, every: list[Lanes], found: Sequence[str], inner: Indexes, state: Sequence[str]) -> list[str]:
        """Compare one more place of each window with the best ones."""
        values, taps, kind = list(state[: len(every)]), list(state[len(every) :]), self.extremes.kind
        tap = self.tap(every[0], inner) if taps else ""
        for u, (lanes, x) in enumerate(zip(every, found, strict=True)):
            better = is_better(lanes, kind, self.dtype, x, values[u])
            values[u] = lanes.select(better, register(self.dtype), x, values[u])
            if taps:
                taps[u] = lanes.select(better, register(self._index_dtype), tap, taps[u])
        return values + taps

    @property
    def _index_dtype(self) -> PtirDType:
        assert self.index is not None
        return read_type(self.index.x.type).dtype

    def typed(self, state: Sequence[str]) -> list[tuple[str, str]]:
        lanes = self.lanes()
        count = len(state) // (1 if self.index is None else 2)
        types = [lanes.type(self.dtype if k < count else self._index_dtype) for k in range(len(state))]
        return list(zip(types, state, strict=True))

    def tap(self, lanes: Lanes, at: Indexes) -> str:
        """Emit how far a place in a window is behind its first place in the operand, in every lane."""
        total, type = "0", register(self._index_dtype)
        for i, index in at.items():
            total = self.f.add(total, self.f.mul(index, self.inputs[1].strides[i]))
        return lanes.splat(type, total if type == "i64" else self.f.op(f"trunc i64 {total} to {type}", "tap"))

    def finish(
        self, at: Indexes, index: str, every: list[Lanes], state: Sequence[str], clipped: Sequence[tuple[str, str]]
    ) -> None:
        """Write the results of some vectors; windows between no bounds of a clipped axis have the index -1."""
        has_places = [self.f.op(f"icmp slt i64 {low}, {high}", "met") for low, high in clipped]
        for u, lanes in enumerate(every):
            start = self.f.add(index, str(u * self.width))
            for spot, (op, _) in zip(self.totals, self.group.reductions, strict=True):
                total = state[u]
                if op is self.index:
                    type = register(self._index_dtype)
                    origin = self.read(self.place(self.inputs[1], at), start, lanes)
                    total = lanes.binary("add", type, origin, state[len(every) + u])
                    of = lanes.of(type)
                    for met in has_places:
                        total = lanes.op(f"select i1 {met}, {of} {total}, {of} {lanes.number(type, -1)}")
                self.write(self.place(spot, at), start, lanes, finished(lanes, op, total))


def emit_extremes(f: Function, host: TargetInfo, step: FirstExtremes, sites: Sites) -> int:
    """Emit the loop nest of a search; how many units of work it has."""
    return ExtremesNest(f, host, step, sites).emit()
