"""
The loop nest of a group whose results lie along one axis and some operands along another: transposes, and ops on transposes.

Squares of such an operand are read along its own lines and transposed in registers, so that no element is gathered and lines of
memory are read and written whole. Nothing else differs from the plain nest.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from mind_dialect.ptir.types import I1, PtirDType

from .failures import Sites
from .groups import Group
from .ir import Function
from .kernel_text import unflattened
from .lanes import Lanes, register
from .loops import Nest
from .nontemporal import APART
from .places import Indexes, Place, Places
from .schedule import CrossedSchedule, schedule_of
from .target_info import LINE, TargetInfo
from .transposes import transposed


def emit_group(f: Function, host: TargetInfo, group: Group, sites: Sites) -> int:
    """Emit the loop nest of a group; how many units of work it has."""
    schedule = schedule_of(host, group)
    crossed = isinstance(schedule, CrossedSchedule)
    return (CrossedNest(f, group, sites, schedule) if crossed else Nest(f, group, sites, schedule)).emit()


AHEAD = 2
"""Squares by which lines are asked for, to read or to write, where each lies in a page of its own: no hardware foresees it."""


class CrossedNest(Nest):
    """The nest of a group, results along one axis and some operands along another."""

    def __init__(self, f: Function, group: Group, sites: Sites, schedule: CrossedSchedule):
        super().__init__(f, group, sites, schedule)
        self.crossing = schedule
        self.lines = Places(f, schedule.host, sites, schedule.axes)
        """Reads along the lines of operands that are crossed."""
        self.lines.along, self.lines.width = schedule.across, schedule.width
        self.rooms: list[str] = []
        """Memory on the stack for the columns of squares, by operand, where loops run over them."""

    @property
    def cache(self) -> int:
        return self.host.shared_bytes // APART

    def find_spots(self) -> None:
        super().find_spots()
        if not self.crossing.is_unrolled:
            for k in self.crossing.crossed:
                lanes, dtype = self.lanes(), self.inputs[k].view.dtype
                self.rooms.append(
                    self.f.op(f"alloca [{self.crossing.strip} x {lanes.of(moved(dtype))}], align {LINE}", "columns")
                )

    def nest(self) -> None:
        f, extents, block = self.f, self.crossing.grid, self.crossing.block
        _, full, rest = self.vectors()

        def strip(number: str, at: Indexes, piece: str) -> None:
            index, whole = f.mul(number, self.crossing.strip), [self.lanes() for _ in range(self.crossing.unroll)]

            def run(every: list[Lanes]) -> None:
                self.strip_of(at, index, every, piece)

            if rest and full:
                f.choose(f.op(f"icmp slt i64 {index}, {full}", "whole"), lambda: run(whole), lambda: run(rest))
            else:
                run(rest or whole)

        for u in f.each("%begin", "%end", hint="unit"):
            *indices, number, piece = unflattened(f, u, extents)
            at, first = dict(zip(self.crossing.kept, indices, strict=True)), f.mul(number, block)
            if block == 1:
                strip(first, at, piece)
                continue
            for number in f.each(first, f.least(f.add(first, str(block)), str(self.crossing.strips)), hint="strip"):
                strip(number, at, piece)

    def strip_of(self, at: Indexes, index: str, every: list[Lanes], piece: str) -> None:
        """Emit the loop over a part of the indices across, for some vectors of results from `index` on."""
        f, n, width = self.f, self.crossing.axes[self.crossing.across].extent, self.width
        full, rest, low = n - n % width, n % width, f.mul(piece, self.crossing.chunk)
        for j in f.each(low, f.least(f.add(low, str(self.crossing.chunk)), str(full)), width, hint="j"):
            self.squares(at, index, every, j, width)
        if rest and self.crossing.pieces > 1:
            is_last = f.op(f"icmp eq i64 {piece}, {self.crossing.pieces - 1}", "last")
            f.when(is_last, lambda: self.squares(at, index, every, str(full), rest))
        elif rest:
            self.squares(at, index, every, str(full), rest)

    def squares(self, at: Indexes, index: str, every: list[Lanes], j: str, count: int) -> None:
        """Emit some squares next to each other: their columns from `j` on, `count` of them."""
        starts = [self.f.add(index, str(u * self.width)) for u in range(len(every))]
        if self.crossing.is_unrolled:  # one after the other, because registers have room for one
            for start, lanes in zip(starts, every, strict=True):
                squares = [self.columns_of(k, at, start, lanes, j, count) for k in self.crossing.crossed]
                for u in range(count):
                    self.column(at, [start], [lanes], self.f.add(j, str(u)), [[square[u]] for square in squares])
            return
        columns = [
            [self.columns_of(k, at, s, lanes, j, count) for s, lanes in zip(starts, every, strict=True)]
            for k in self.crossing.crossed
        ]
        for room, each, k in zip(self.rooms, columns, self.crossing.crossed, strict=True):
            of = self.lanes().of(moved(self.inputs[k].view.dtype))
            for v, square in enumerate(each):
                for u, column in enumerate(square[:count]):
                    self.f.do(f"store {of} {column}, ptr {self.f.address(of, room, str(u * self.crossing.unroll + v))}")
        for i in self.f.each("0", str(count), hint="u"):
            found: list[list[str]] = []
            for room, k in zip(self.rooms, self.crossing.crossed, strict=True):
                of, base = self.lanes().of(moved(self.inputs[k].view.dtype)), self.f.mul(i, self.crossing.unroll)
                places = [self.f.address(of, room, self.f.add(base, str(v))) for v in range(len(every))]
                found.append([self.f.op(f"load {of}, ptr {p}", "column") for p in places])
            self.column(at, starts, every, self.f.add(j, i), found)

    def columns_of(self, k: int, at: Indexes, start: str, lanes: Lanes, j: str, count: int) -> list[str]:
        """Return the columns of a square of operand `k`, read along its lines."""
        spot, dtype, assigned = self.inputs[k], self.inputs[k].view.dtype, lanes.counted or self.width
        assert self.along is not None, "results have lanes"
        vector, type = self.lines.lanes(count % self.width), moved(dtype)
        rows: list[str] = []
        for i in range(assigned):
            place = self.lines.place(spot, {**at, self.along: self.f.add(start, str(i))})
            if self.crossing.asks:
                self.ask_for(place, self.f.add(j, str(AHEAD * self.width)))
            rows.append(vector.convert("zext", register(dtype), type, self.lines.read(place, j, vector)))
        rows += [lanes.number(type, 0)] * (self.width - assigned)
        return transposed(lanes, type, rows)

    def column(self, at: Indexes, starts: Sequence[str], every: list[Lanes], j: str, columns: Sequence[Sequence[str]]) -> None:
        """Emit the group at index `j` across, in some vectors; `columns` are the operands that are crossed."""
        now = {**at, self.crossing.across: j}
        others = [None if k in self.crossing.crossed else p for k, p in enumerate(self.others(now))]
        found: list[dict[SSAValue, str]] = []
        for v, (start, lanes) in enumerate(zip(starts, every, strict=True)):
            own = iter([self.as_read(k, c[v], lanes) for k, c in zip(self.crossing.crossed, columns, strict=True)])
            found.append(self.point([next(own) if p is None else p for p in others], start, lanes))
        targets = self.places(self.outputs, now)
        for start in starts if self.crossing.asks else ():
            later = self.f.add(start, str(AHEAD * self.width))
            for place in others:
                if place is not None and self.is_run(place):
                    self.ask_for(place, later)
            for place in targets:
                if self.is_run(place) and id(place.spot) not in self.past:
                    self.ask_for(place, later, write=True)
        self.put(targets, starts, every, found)

    def others(self, at: Indexes) -> list[Place | None]:
        """Return where operands are that are not crossed; None for those that are."""
        return [None if k in self.crossing.crossed else self.uniform(self.place(s, at)) for k, s in enumerate(self.inputs)]

    def as_read(self, k: int, column: str, lanes: Lanes) -> Place:
        """Return a column of a square as the value of operand `k`."""
        is_truth = self.inputs[k].view.dtype is I1
        value = lanes.compare("icmp ne", "i8", column, lanes.number("i8", 0)) if is_truth else column
        return Place(self.inputs[k], value, is_value=True)


def moved(dtype: PtirDType) -> str:
    """Return the LLVM type in which elements are transposed: truths as bytes."""
    return "i8" if dtype is I1 else register(dtype)
