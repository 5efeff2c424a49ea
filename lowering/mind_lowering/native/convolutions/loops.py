"""
The kernel of a convolution: units of work are some panels of columns of a group at some places, panels slowest.

So what neighbouring units read of the weights stays in cache, and each unit writes places of its own. A long window is cut into
blocks: a unit adds up the sums of all blocks of its part, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from math import prod

from mind_dialect.lazy_dataclass import dataclass

from ..failures import Sites
from ..ir import Function
from ..kernel_text import unflattened
from ..slides import Slide, window_bounds
from ..target_info import TargetInfo
from .convolution import EmittedConvolution
from .padding import Border, has_border
from .sums import Taps
from .tile import ConvolutionTile, emit_tile


def emit_convolution(f: Function, host: TargetInfo, convolution: EmittedConvolution, sites: Sites) -> int:
    """The body of the kernel; how many units of work it has."""
    return _ConvolutionLoops(f, host, convolution, sites).emit()


@dataclass(frozen=True)
class _ColumnPanel:
    """Some neighbouring columns: their number, the first one, how many, and where they begin in both operands."""

    number: str
    column: str
    columns: int
    a: str
    b: str


@dataclass(frozen=True)
class _WindowBlock:
    """A block of the window: its first places, where it begins in the weights, and whether to add to sums in memory."""

    firsts: Sequence[str]
    b: str
    more: str


@dataclass(frozen=True)
class _OuterPlace:
    """A place along the outer axes of the result: its indices, where its window begins, and the bounds of the window."""

    at: Sequence[str]
    a: str
    bounds: Sequence[str]
    outside: str
    """The condition that the window reaches beyond the image."""


class _ConvolutionLoops:
    def __init__(self, f: Function, host: TargetInfo, convolution: EmittedConvolution, sites: Sites):
        self.f, self.host, self.it, self.sites = f, host, convolution, sites
        self.runs = runs_of(convolution)
        self.known: dict[ConvolutionTile, str] = {}
        self.border: Border | None = None

    def emit(self) -> int:
        """The loop over units of work; how many there are."""
        f, it = self.f, self.it
        self.border = Border(f, it) if has_border(it) else None
        extents = it.grid
        for u in f.each("%begin", "%end", hint="unit"):
            self.unit(*(unflattened(f, u, extents) if prod(extents) > 1 else ["0"] * 4))
        return prod(extents)

    def unit(self, part: str, group: str, some: str, run: str) -> None:
        """
        The tiles of a unit of work.

        Panels are innermost where the weights of all of them stay in cache, as by channel: the image is read, and results are
        stored, in the order of memory. In each block of a long window panels by channel are outside of the few places, so that
        these share what is in the first cache.
        """

        def only(panel: _ColumnPanel) -> Callable[[Callable[[_ColumnPanel], None]], None]:
            return lambda then: then(panel)

        panels, blocks, places = partial(self.panels, part, group, some), partial(self.blocks, part), partial(self.places, run)
        if self.it.blocks == 1 and (self.it.by_channel or self.it.weights_of_group <= self.host.l2_bytes // 4):
            blocks(lambda block: places(block, lambda place: self.tiles(block, place, panels)))
        elif self.it.by_channel:
            blocks(lambda block: panels(lambda panel: places(block, lambda place: self.tiles(block, place, only(panel)))))
        else:
            panels(lambda panel: blocks(lambda block: places(block, lambda place: self.tiles(block, place, only(panel)))))

    def panels(self, part: str, group: str, some: str, then: Callable[[_ColumnPanel], None]) -> None:
        """The panels of a unit; of those of a group, the last one may have fewer columns."""
        f, it = self.f, self.it
        first = f.mul(some, it.work[0])
        last, (full, rest) = f.least(f.add(first, str(it.work[0])), str(it.panels)), divmod(it.columns, it.cut.columns)

        def panel(p: str) -> None:
            if not rest or not full:
                then(self.panel(part, group, p, rest or it.cut.columns))
                return
            f.when(f.op(f"icmp slt i64 {p}, {full}", "whole"), lambda: then(self.panel(part, group, p, it.cut.columns)))
            f.when(f.op(f"icmp eq i64 {p}, {full}", "last"), lambda: then(self.panel(part, group, p, rest)))

        for p in f.each(first, last, hint="panel"):
            panel(p)

    def panel(self, part: str, group: str, number: str, columns: int) -> _ColumnPanel:
        """A panel of a group, and its place in the sums of a part."""
        f, it = self.f, self.it
        column = f.add(f.mul(group, it.columns), f.mul(number, it.cut.columns))
        if it.packed is None:
            b = f.mul(column, it.rhs.strides[-1])
        else:
            b = f.add(f.mul(group, it.packed.strides[0]), f.mul(number, it.packed.strides[1]))
        channel = column if it.by_channel else f.mul(group, it.rhs.shape[-2])
        a = f.mul(channel, it.lhs.strides[-1])
        return _ColumnPanel(number, f.add(f.mul(part, it.columns * it.groups), column), columns, a, b)

    def blocks(self, part: str, then: Callable[[_WindowBlock], None]) -> None:
        """The blocks of the window that are of a part."""
        f, it = self.f, self.it
        each = it.blocks // it.parts
        for k in f.each("0", str(each), hint="block"):
            numbers = unflattened(f, f.add(f.mul(part, each), k), [s.blocks for s in it.slides]) if it.blocks > 1 else []
            firsts = [f.mul(number, slide.window) for number, slide in zip(numbers, it.slides, strict=False)]
            b = "0"
            for first, stride in zip(firsts, it.weight_strides, strict=False):
                b = f.add(b, f.mul(first, stride))
            if self.border is not None and it.blocks > 1:
                self.border.forget()
            more = f.op(f"icmp ne i64 {k}, 0", "more") if each > 1 else "false"
            then(_WindowBlock(firsts or ["0"] * len(it.slides), b, more))

    def places(self, run: str, block: _WindowBlock, then: Callable[[_OuterPlace], None]) -> None:
        """The places of a unit along the outer axes."""
        f, it = self.f, self.it
        first = f.mul(run, it.work[1])
        last = f.least(f.add(first, str(it.work[1])), str(prod(it.extents)))
        for number in f.each("0", f.op(f"sub nsw i64 {last}, {first}", "count"), hint="place"):
            flat = f.add(first, number) if self.border is None else self.border.rotated(first, last, number)
            at = unflattened(f, flat, it.extents) if prod(it.extents) > 1 else ["0"] * len(it.extents)
            a, bounds = "0", list[str]()
            for i, index in zip(it.outer, at, strict=True):
                if i == 0:
                    a = f.add(a, f.mul(index, it.lhs.strides[0]))
                    continue
                slide = it.slides[i - 1]
                begin = f.add(f.mul(index, slide.stride), str(-slide.low))
                begin = f.add(begin, f.mul(block.firsts[i - 1], slide.dilation))
                a = f.add(a, f.mul(begin, it.lhs.strides[i]))
                if i in it.bounded:
                    bounds += window_bounds(f, slide, begin)
            then(_OuterPlace(at, a, bounds, "false" if self.border is None else self.border.is_outside(bounds)))

    def tiles(self, block: _WindowBlock, place: _OuterPlace, panels: Callable[[Callable[[_ColumnPanel], None]], None]) -> None:
        """The tiles along the axis of the rows, each for some panels."""
        f, it = self.f, self.it
        along = it.cut.along
        slide = it.slides[along - 1] if along else Slide(0, 0, 1, 1, 1, 0)
        for start, count, rows, taps in self.runs:

            def tile(t: str, start: int = start, rows: int = rows, taps: Taps | None = taps) -> None:
                row = f.add(f.mul(t, rows), str(start))
                begin = f.add(f.mul(row, slide.stride), str(-slide.low))
                a = f.add(place.a, f.mul(begin, it.lhs.strides[along]))
                panels(lambda panel: self.call(block, place, panel, (row, a), ConvolutionTile(rows, panel.columns, taps)))

            for t in f.each("0", str(count), hint="tile"):
                tile(t)

    def call(
        self, block: _WindowBlock, place: _OuterPlace, panel: _ColumnPanel, at: tuple[str, str], tile: ConvolutionTile
    ) -> None:
        """The call of a tile, given its row and where that begins in the image."""
        f, it, border = self.f, self.it, self.border
        row, a = at
        flags = [] if border is None else [f"i1 {border.has_to_look(place.outside, panel.number, panel.column)}"]
        flags += [f"i1 {block.more}"] if it.blocks > 1 else []
        numbers = f.add(panel.a, a), f.add(panel.b, block.b), *place.at, row, panel.column
        given = ", ".join([*(f"i64 {v}" for v in numbers), *flags, *(f"i64 {v}" for v in place.bounds)])
        status = f.op(f"call i64 @{self.tile(tile)}(ptr %args, {given})", "status")
        if self.host.checked:
            f.leave(f.op(f"icmp sgt i64 {status}, 0", "failed"), lambda: status)
        if border is not None:
            border.note(place.outside, panel.number, panel.column, status)

    def tile(self, tile: ConvolutionTile) -> str:
        """The function of a tile."""
        if tile not in self.known:
            self.known[tile] = emit_tile(self.f, self.host, self.it, tile, self.sites)
        return self.known[tile]


def runs_of(convolution: EmittedConvolution) -> list[tuple[int, int, int, Taps | None]]:
    """Equal neighbouring tiles along the axis of the rows: the first row, how many tiles, their rows, their taps."""
    it = convolution
    along, tall = it.cut.along, it.cut.rows
    extent = it.out.shape[along]
    tiles = [(start, min(tall, extent - start)) for start in range(0, extent, tall)]
    if along == 0 or it.slides[along - 1].is_inside:
        kinds = [(rows, None) for _, rows in tiles]
    else:
        kinds = [(rows, taps_of(it.slides[along - 1], start, rows)) for start, rows in tiles]
    found: list[tuple[int, int, int, Taps | None]] = []
    for (rows, taps), run in groupby(range(len(tiles)), kinds.__getitem__):
        numbers = list(run)
        found.append((tiles[numbers[0]][0], len(numbers), rows, taps))
    return found


def taps_of(slide: Slide, start: int, rows: int) -> Taps | None:
    """For each place of the window the rows of a tile that have it in the image; None if all have all."""
    spans = [slide.inside(start + r) for r in range(rows)]
    if all(span == (0, slide.window) for span in spans):
        return None
    found: list[tuple[int, int]] = []
    for tap in range(slide.window):
        having = [r for r, (low, high) in enumerate(spans) if low <= tap < high]
        found.append((having[0], having[-1] + 1) if having else (0, 0))
    return tuple(found)
