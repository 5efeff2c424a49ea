"""
The loop nest of a group whose results lie along one axis and some operands along another: transposes, and ops on transposes.

Squares of such an operand are read along its own lines and transposed in registers, so that no element is gathered and lines of
memory are read and written whole. Nothing else differs from the plain nest.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from mind_dialect.ptir.types import I1, PtirDType

from ..launch.limits import Limit
from .costs import CALLS
from .failures import Sites
from .groups import Group
from .ir import Function
from .kernel_text import unflattened
from .lanes import Lanes, register
from .loops import ENOUGH, Nest
from .nontemporal import LINE
from .places import Indexes, Place, Places
from .target_info import TargetInfo
from .transposes import transposed
from .views import Buffer

WIDEST = 16
"""Lanes of a square: as many shuffles are needed for each element as that has bits."""
UNROLLED = 4
"""Ops of a group that are emitted for each column of a square; longer groups loop over the columns."""
SHORTEST = 256
"""Elements across in one unit of work, at least."""


def crossed_axes(nest: Nest) -> tuple[int, int] | None:
    """Return the axis of the results' lanes and that along which operands lie that are strided there, if there are both."""
    group = nest.group
    if group.reductions or group.partial is not None or any(v.lookups for v in group.views):
        return None
    count, width = len(group.inputs), min(nest.width, WIDEST)
    inputs = [k for k, v in enumerate(group.inputs.values()) if isinstance(v.base, Buffer) and v.dtype.size <= 8]
    places = [i for i, axis in enumerate(nest.axes) if axis.extent >= width > 1]
    for along in places:
        if any(s != 1 for s in nest.axes[along].strides[count : count + len(group.outputs)]):
            continue
        crossed = [k for k in inputs if nest.axes[along].strides[k] not in (0, 1)]
        for across in places:
            if across != along and any(nest.axes[across].strides[k] == 1 for k in crossed):
                return along, across
    return None


def nest_of(f: Function, host: TargetInfo, group: Group, sites: Sites) -> Nest:
    """Return the loop nest of a group, on its way into a function."""
    nest = Nest(f, host, group, sites)
    axes = crossed_axes(nest)
    return nest if axes is None else CrossedNest(f, host, group, sites, *axes)


class CrossedNest(Nest):
    """The nest of a group, results along the axis `along` and some operands along `across`."""

    def __init__(self, f: Function, host: TargetInfo, group: Group, sites: Sites, along: int, across: int):
        super().__init__(f, host, group, sites)
        self.along, self.across = along, across
        self.width = min(self.lane_count(), WIDEST)
        size = min((v.dtype.size for _, v in group.outputs), default=1)
        self.unroll = max(1, min(LINE // (self.width * size), self.extent // self.width))
        self.kept = [i for i in range(len(self.axes)) if i not in (along, across)]
        self.strip = self.width * self.unroll
        """Elements along the lanes in one unit of work."""
        self.strips = -(-self.extent // self.strip)
        self.chunk, self.pieces = self._pieces()
        count = len(group.inputs)
        strides = [(self.axes[along].strides[k], self.axes[across].strides[k]) for k in range(count)]
        memory = [isinstance(v.base, Buffer) and v.dtype.size <= 8 for v in group.inputs.values()]
        self.crossed = [k for k in range(count) if memory[k] and strides[k][0] not in (0, 1) and strides[k][1] == 1]
        self.lines = Places(f, host, sites, self.axes)
        """Reads along the lines of operands that are crossed."""
        self.lines.along, self.lines.width = across, self.width
        self.is_unrolled = len(group.ops) <= UNROLLED and not any(type(op) in CALLS for op in group.ops)
        self.rooms: list[str] = []
        """Memory on the stack for the columns of squares, by operand, where loops run over them."""

    def _pieces(self) -> tuple[int, int]:
        """Return the length of runs across and their number: one, unless there is little else to share out."""
        extent = self.axes[self.across].extent
        wanted = -(-ENOUGH // (self.strips * prod(self.extents)))
        chunk = -(-max(SHORTEST, extent // wanted) // self.width) * self.width
        return (chunk, -(-extent // chunk)) if wanted > 1 and extent > chunk else (extent, 1)

    @property
    def grid(self) -> list[int]:
        return [*self.extents, self.strips, self.pieces]

    def _limit_along(self, i: int, scale: int) -> Limit | None:
        if i in self.kept:
            return Limit(self.kept.index(i), scale, 1)
        outer = len(self.kept)
        return Limit(outer, scale, self.strip) if i == self.along else Limit(outer + 1, scale, self.chunk)

    def find_spots(self) -> None:
        super().find_spots()
        if not self.is_unrolled:
            for k in self.crossed:
                lanes, dtype = self.lanes(), self.inputs[k].view.dtype
                self.rooms.append(self.f.op(f"alloca [{self.strip} x {lanes.of(moved(dtype))}], align {LINE}", "columns"))

    def nest(self) -> None:
        f, extents = self.f, self.grid
        _, full, rest = self.vectors()

        def unit(u: str, /, *values: str) -> None:
            *indices, strip, piece = unflattened(f, u, extents)
            at, index = dict(zip(self.kept, indices, strict=True)), f.mul(strip, self.strip)

            def run(every: list[Lanes]) -> None:
                self.strip_of(at, index, every, piece)

            whole = [self.lanes() for _ in range(self.unroll)]
            if rest and full:
                f.choose(f.op(f"icmp slt i64 {index}, {full}", "whole"), lambda: run(whole), lambda: run(rest))
            else:
                run(rest or whole)

        f.loop("%begin", "%end", 1, unit, hint="unit")

    def strip_of(self, at: Indexes, index: str, every: list[Lanes], piece: str) -> None:
        """
        Emit the loop of one unit of work: some vectors of results from `index` on, for a part of the indices across.

        So operands are read in a few long streams, and lines of results that are far apart are written whole.
        """
        f, n, width = self.f, self.axes[self.across].extent, self.width
        full, rest, low = n - n % width, n % width, f.mul(piece, self.chunk)

        def whole(j: str, /, *values: str) -> None:
            self.squares(at, index, every, j, width)

        f.loop(low, f.least(f.add(low, str(self.chunk)), str(full)), width, whole, hint="j")
        if rest and self.pieces > 1:
            is_last = f.op(f"icmp eq i64 {piece}, {self.pieces - 1}", "last")
            f.when(is_last, lambda: self.squares(at, index, every, str(full), rest))
        elif rest:
            self.squares(at, index, every, str(full), rest)

    def squares(self, at: Indexes, index: str, every: list[Lanes], j: str, count: int) -> None:
        """Emit some squares next to each other: their columns from `j` on, `count` of them."""
        starts = [self.f.add(index, str(u * self.width)) for u in range(len(every))]
        columns = [
            [self.columns_of(k, at, s, lanes, j, count) for s, lanes in zip(starts, every, strict=True)] for k in self.crossed
        ]
        if self.is_unrolled:
            for u in range(count):
                self.column(at, starts, every, self.f.add(j, str(u)), [[c[u] for c in each] for each in columns])
            return
        for room, each, k in zip(self.rooms, columns, self.crossed, strict=True):
            of = self.lanes().of(moved(self.inputs[k].view.dtype))
            for v, square in enumerate(each):
                for u, column in enumerate(square[:count]):
                    self.f.do(f"store {of} {column}, ptr {self.f.address(of, room, str(u * self.unroll + v))}")

        def iteration(u: str, /, *values: str) -> None:
            found: list[list[str]] = []
            for room, k in zip(self.rooms, self.crossed, strict=True):
                of, base = self.lanes().of(moved(self.inputs[k].view.dtype)), self.f.mul(u, self.unroll)
                places = [self.f.address(of, room, self.f.add(base, str(v))) for v in range(len(every))]
                found.append([self.f.op(f"load {of}, ptr {p}", "column") for p in places])
            self.column(at, starts, every, self.f.add(j, u), found)

        self.f.loop("0", str(count), 1, iteration, hint="u")

    def columns_of(self, k: int, at: Indexes, start: str, lanes: Lanes, j: str, count: int) -> list[str]:
        """Return the columns of a square of operand `k`, read along its lines."""
        spot, dtype, assigned = self.inputs[k], self.inputs[k].view.dtype, lanes.counted or self.width
        assert self.along is not None, "results have lanes"
        vector, type = self.lines.lanes(count % self.width), moved(dtype)
        rows: list[str] = []
        for i in range(assigned):
            place = self.lines.place(spot, {**at, self.along: self.f.add(start, str(i))})
            rows.append(vector.convert("zext", register(dtype), type, self.lines.read(place, j, vector)))
        rows += [lanes.number(type, 0)] * (self.width - assigned)
        return transposed(lanes, type, rows)

    def column(self, at: Indexes, starts: Sequence[str], every: list[Lanes], j: str, columns: Sequence[Sequence[str]]) -> None:
        """Emit the group at index `j` across, in some vectors; `columns` are the operands that are crossed."""
        now = {**at, self.across: j}
        others = [None if k in self.crossed else p for k, p in enumerate(self.others(now))]
        found: list[dict[SSAValue, str]] = []
        for v, (start, lanes) in enumerate(zip(starts, every, strict=True)):
            own = iter([self.as_read(k, c[v], lanes) for k, c in zip(self.crossed, columns, strict=True)])
            found.append(self.point([next(own) if p is None else p for p in others], start, lanes))
        self.put(self.places(self.outputs, now), starts, every, found)

    def others(self, at: Indexes) -> list[Place | None]:
        """Return where operands are that are not crossed; None for those that are."""
        return [None if k in self.crossed else self.uniform(self.place(s, at)) for k, s in enumerate(self.inputs)]

    def as_read(self, k: int, column: str, lanes: Lanes) -> Place:
        """Return a column of a square as the value of operand `k`."""
        is_truth = self.inputs[k].view.dtype is I1
        value = lanes.compare("icmp ne", "i8", column, lanes.number("i8", 0)) if is_truth else column
        return Place(self.inputs[k], value, is_value=True)


def moved(dtype: PtirDType) -> str:
    """Return the LLVM type in which elements are transposed: truths as bytes."""
    return "i8" if dtype is I1 else register(dtype)
