"""
The schedule of a group's loop nest: its axes, the axis of the lanes, vectors in an iteration, and units of work.

It depends on the group and on the machine alone, and emits nothing, so the planner asks it too: before it splits a reduction
(`partials.py`), limits units to a size (`limits.py`), or reads windows in place (`clipped_windows.py`). `loops.py` and
`crossed.py` emit it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from mind_dialect.ptir.types import BF16, F16, read_type
from mind_passes.ptir.building import accumulator

from ..launch.limits import Limit
from .costs import CALLS, traffic
from .groups import Group
from .nest import axes_of, lane_axis
from .nontemporal import APART
from .target_info import LINE, TargetInfo
from .views import Buffer

CHUNK, NARROWEST = 1 << 14, 512
"""Elements in one unit of work, where it is a run along the lanes, and how many lie along these at least."""
LIMITED_CHUNK = 1 << 12
"""Elements in such a unit where a size limits how many units are run: what the last one does beyond the size is of no use."""
IN_MEMORY = 1 << 14
"""Bytes of the sums of a run along the lanes, at most, where they are in memory."""
ENOUGH = 64
"""So many units of work are shared out well."""
UNROLL = 4
"""Vectors in one iteration of the innermost loop, mostly."""
WIDEST = 16
"""Lanes of a square: as many shuffles are needed for each element as that has bits."""
PAIR = 2 * LINE
"""Bytes of results next to each other that squares write: memory is faster by pairs of lines."""
UNROLLED = 4
"""Ops of a group that are emitted for each column of a square; longer groups loop over the columns."""
SHORTEST = 256
"""Elements of a run in one unit of work, at least."""
NEAR = 128
"""Elements across in one unit of work that runs along the lanes."""


class NestSchedule:
    """The schedule of a group whose operands all lie along the axis of the lanes, or are gathered."""

    def __init__(self, host: TargetInfo, group: Group):
        self.host, self.group = host, group
        clipped = {a + k for clip in group.clips for a in (clip.place, clip.window) for k in (0, 1)}
        self.axes = axes_of(group.shape, group.axes, [v.strides for v in group.views], group.limited | clipped)
        of = {axis.first: i for i, axis in enumerate(self.axes)}
        self.clips = {of[clip.window]: (of.get(clip.place), clip.slide) for clip in group.clips}
        """By axis of places in windows: the axis along which these windows move, if it has several places, and how."""
        excluded = {i for window, (place, _) in self.clips.items() for i in (window, place)}
        excluded.update(i for i, axis in enumerate(self.axes) if axis.reduced and group.keeps_lanes)
        self.width = self.lane_count()
        self.along = lane_axis(self.axes, self.width, excluded)
        self.width = min(self.width, 1 << (self.extent - 1).bit_length())
        self.unroll = max(1, min(self.vectors_in_iteration(), self.extent // self.width))
        self.kept = [i for i, a in enumerate(self.axes) if not a.reduced and i != self.along]
        self.chunk, self.pieces = self._runs()

    def lane_count(self) -> int:
        """Return the number of lanes for the widest dtype that is computed with."""
        group = self.group
        values = [*group.inputs, *(r for op in group.ops for r in op.results), *(r.result for r, _ in group.reductions)]
        dtypes = [read_type(v.type).dtype for v in values] + [accumulator(r) for r, _ in group.reductions]
        return self.host.lanes(max([4 if d in (F16, BF16) else d.size for d in dtypes], default=1))

    def vectors_in_iteration(self) -> int:
        """Return the number of vectors along the lanes that are worked on at once, if there are as many."""
        group = self.group
        if any(type(op) in CALLS for op in group.ops):
            return 1
        if self.lanes_are_kept and len(group.reductions) == 1 and len(group.ops) <= 1 and len(group.views) <= 3:
            return self.host.registers // 2  # long stretches of each row: what is read is far apart from row to row
        return UNROLL if len(group.ops) <= 8 and len(group.views) <= 6 else 2

    @property
    def run(self) -> int:
        """Return the number of elements along the lanes that a unit of work has, at most."""
        return self.extent if self.lead == 0 else min(self.chunk, self.extent)

    @property
    def is_row_by_row(self) -> bool:
        """
        Return whether a reduction reads whole rows in order and has its sums in memory, which the first-level cache holds.

        Otherwise they are in registers, as many as vectors of a row that are read at a time: others are read in another pass over
        all rows. That is faster, unless a pass also writes a few vectors of each row.
        """
        size = sum(accumulator(r).size for r, _ in self.group.reductions)
        if not size or not self.lanes_are_kept or self.clips or not self.group.outputs:
            return False
        return self.width * self.unroll < self.run <= IN_MEMORY // size

    def _runs(self) -> tuple[int, int]:
        """Return the length of runs along the lanes, and their number: one, unless lanes are kept and other loops are few."""
        if not self.lanes_are_kept or prod(self.extents) >= ENOUGH:
            return self.extent, 1
        reduced = max(1, prod(a.extent for a in self.axes if a.reduced))
        iteration = self.width * self.unroll
        most = LIMITED_CHUNK if self.group.limited else CHUNK
        chunk = -(-max(most // reduced, NARROWEST) // iteration) * iteration
        return (chunk, -(-self.extent // chunk)) if self.extent > chunk else (self.extent, 1)

    @property
    def extent(self) -> int:
        """Return the number of elements that the lanes run along."""
        return 1 if self.along is None else self.axes[self.along].extent

    @property
    def lanes_are_kept(self) -> bool:
        """Return whether the lanes run along an axis of the result."""
        return self.along is None or not self.axes[self.along].reduced

    @property
    def lead(self) -> int:
        """Return the number of outermost loops that are units of work."""
        count = 0
        while count < len(self.kept) and prod(self.extents[:count]) * self.pieces < ENOUGH:
            count += 1
        return count

    @property
    def extents(self) -> list[int]:
        """Return the extents of the axes that are kept, without the lanes."""
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


class CrossedSchedule(NestSchedule):
    """The schedule of a group, results along the axis `along` and some operands along `across`: by squares of both."""

    def __init__(self, host: TargetInfo, group: Group, along: int, across: int):
        super().__init__(host, group)
        self.along, self.across = along, across
        self.width = min(self.lane_count(), WIDEST)
        size = min((v.dtype.size for _, v in group.outputs), default=1)
        self.unroll = max(1, min(PAIR // (self.width * size), self.extent // self.width))
        self.kept = [i for i in range(len(self.axes)) if i not in (along, across)]
        self.strip = self.width * self.unroll
        """Elements along the lanes in one iteration."""
        self.strips = -(-self.extent // self.strip)
        lines, places = self.axes[across].strides, self.axes[along].strides
        self.crossed = [k for k in _in_memory(group) if places[k] not in (0, 1) and lines[k] == 1]
        """The operands that lie along `across`, by number."""
        ends = slice(len(group.inputs) + len(group.outputs))
        is_far = traffic(group.views) >= host.shared_bytes // APART
        streams = sum(a == 1 and b != 0 for a, b in zip(places[ends], lines[ends], strict=True))
        self.is_short = streams > len(self.crossed) or (is_far and not self._in_lines(lines))
        """
        True if units of work run along the lanes, and are short across.

        So the most streams of memory are passed line after line: those of operands that are crossed, or those of the others.
        Large results whose lines are written in two parts are better passed that way too.
        """
        self.asks = self.is_short and is_far
        """True if lines are asked for ahead: where more comes from memory than the caches hold."""
        self.chunk, self.pieces, self.block = self._pieces()
        self.is_unrolled = len(group.ops) <= UNROLLED and not any(type(op) in CALLS for op in group.ops)

    def _in_lines(self, strides: Sequence[int]) -> bool:
        """Return whether results have whole lines of memory, by their strides across."""
        first = len(self.group.inputs)
        targets = [v for _, v in self.group.outputs]
        return all(s * v.dtype.size % LINE == 0 for s, v in zip(strides[first:], targets, strict=False))

    def _pieces(self) -> tuple[int, int, int]:
        """Return the length of runs across, their number, and how many strips a unit of work has, so that there are enough."""
        extent, kept = self.axes[self.across].extent, prod(self.extents)
        if self.is_short:
            chunk = -(-min(NEAR, extent) // self.width) * self.width
            pieces = -(-extent // chunk)
            wanted = -(-ENOUGH // (pieces * kept))
            return chunk, pieces, max(-(-self.strips // wanted), min(self.strips, -(-SHORTEST // self.strip)))
        wanted = -(-ENOUGH // (self.strips * kept))
        chunk = -(-max(SHORTEST, extent // wanted) // self.width) * self.width
        return (chunk, -(-extent // chunk), 1) if wanted > 1 and extent > chunk else (extent, 1, 1)

    @property
    def grid(self) -> list[int]:
        return [*self.extents, -(-self.strips // self.block), self.pieces]

    def _limit_along(self, i: int, scale: int) -> Limit | None:
        if i in self.kept:
            return Limit(self.kept.index(i), scale, 1)
        outer = len(self.kept)
        return Limit(outer, scale, self.strip * self.block) if i == self.along else Limit(outer + 1, scale, self.chunk)


def schedule_of(host: TargetInfo, group: Group) -> NestSchedule:
    """Return the schedule of a group."""
    plain = NestSchedule(host, group)
    axes = _crossed_axes(plain)
    return plain if axes is None else CrossedSchedule(host, group, *axes)


def crossed_inputs(host: TargetInfo, group: Group) -> list[int]:
    """Return the large operands of a group that looks elements up, by number, that lie across its results: no squares there."""
    if not any(v.lookups for v in group.views):
        return []
    plain = NestSchedule(host, group)
    if (found := _axes_across(plain)) is None:
        return []
    along, across = (plain.axes[i].strides for i in found)
    crossed = [k for k in _in_memory(group) if along[k] not in (0, 1) and across[k] == 1]
    inputs = list(group.inputs.values())
    return [k for k in crossed if inputs[k].count * inputs[k].dtype.size > host.l1_bytes]


def _crossed_axes(plain: NestSchedule) -> tuple[int, int] | None:
    """Return the axes of squares, if the schedule of a group is by squares."""
    return None if any(v.lookups for v in plain.group.views) else _axes_across(plain)


def _axes_across(plain: NestSchedule) -> tuple[int, int] | None:
    """Return the axis of the results' lanes and that along which operands lie that are strided there, if there are both."""
    group = plain.group
    if group.reductions or group.partial is not None or any(axis.extent == 0 for axis in plain.axes):
        return None
    count, width = len(group.inputs), min(plain.width, WIDEST)
    places = [i for i, axis in enumerate(plain.axes) if axis.extent >= width > 1]
    for along in places:
        if any(s != 1 for s in plain.axes[along].strides[count : count + len(group.outputs)]):
            continue
        crossed = [k for k in _in_memory(group) if plain.axes[along].strides[k] not in (0, 1)]
        for across in places:
            if across != along and any(plain.axes[across].strides[k] == 1 for k in crossed):
                return along, across
    return None


def _in_memory(group: Group) -> list[int]:
    """Return the numbers of the operands in memory, none looked up, in a dtype whose elements can be transposed in registers."""
    views = enumerate(group.inputs.values())
    return [k for k, v in views if isinstance(v.base, Buffer) and not v.lookups and v.dtype.size <= 8]
