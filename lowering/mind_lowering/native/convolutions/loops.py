"""
The kernel of a convolution: units of work are some panels of columns of a group at some places, panels slowest.

So what neighbouring units read of the weights stays in cache, and each unit writes places of its own. A long window is cut into
blocks: a unit adds up the sums of all blocks of its part, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from math import prod

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
        (panels, places), extents = it.work, it.grid

        def unit(u: str, /, *values: str) -> None:
            part, group, some, run = unflattened(f, u, extents) if prod(extents) > 1 else ["0"] * 4
            first = f.mul(some, panels)
            last = f.least(f.add(first, str(panels)), str(it.panels))

            def panel(p: str, /, *values: str) -> None:
                self.by_panel(p, lambda columns: self.blocks(part, group, p, columns, run, places))

            f.loop(first, last, 1, panel, hint="panel")

        f.loop("%begin", "%end", 1, unit, hint="unit")
        return prod(extents)

    def by_panel(self, panel: str, then: Callable[[int], None]) -> None:
        """`then(columns)` of a panel, of which the last may have fewer."""
        f, size = self.f, self.it.cut.columns
        full, rest = divmod(self.it.columns, size)
        if not rest or not full:
            then(rest or size)
            return
        f.when(f.op(f"icmp slt i64 {panel}, {full}", "whole"), lambda: then(size))
        f.when(f.op(f"icmp eq i64 {panel}, {full}", "last"), lambda: then(rest))

    def blocks(self, part: str, group: str, panel: str, columns: int, run: str, count: int) -> None:
        """A panel at all places of a unit, for each block of the window of a part."""
        f, it = self.f, self.it
        column = f.add(f.mul(group, it.columns), f.mul(panel, it.cut.columns))
        if it.packed is None:
            b = f.mul(column, it.rhs.strides[-1])
        else:
            b = f.add(f.mul(group, it.packed.strides[0]), f.mul(panel, it.packed.strides[1]))
        channel = column if it.by_channel else f.mul(group, it.rhs.shape[-2])
        start = f.mul(channel, it.lhs.strides[-1])
        column = f.add(f.mul(part, it.columns * it.groups), column)
        each = it.blocks // it.parts

        def block(k: str, /, *values: str) -> None:
            numbers = unflattened(f, f.add(f.mul(part, each), k), [s.blocks for s in it.slides]) if it.blocks > 1 else []
            firsts = [f.mul(number, slide.window) for number, slide in zip(numbers, it.slides, strict=False)]
            at = b
            for first, stride in zip(firsts, it.weight_strides, strict=False):
                at = f.add(at, f.mul(first, stride))
            if self.border is not None and it.blocks > 1:
                self.border.forget()
            more = f.op(f"icmp ne i64 {k}, 0", "more") if each > 1 else "false"
            self.places(start, at, firsts or ["0"] * len(it.slides), (column, columns), (run, count), more)

        f.loop("0", str(each), 1, block, hint="block")

    def places(self, start: str, b: str, firsts: Sequence[str], panel: tuple[str, int], run: tuple[str, int], more: str) -> None:
        """
        A panel at all places of a unit, for the block of the window whose first places are `firsts`.

        If `more`, the sums of blocks before are in memory.
        """
        f, it = self.f, self.it
        first = f.mul(run[0], run[1])
        last = f.least(f.add(first, str(run[1])), str(prod(it.extents)))

        def place(number: str, /, *values: str) -> None:
            flat = f.add(first, number) if self.border is None else self.border.rotated(first, last, number)
            at = unflattened(f, flat, it.extents) if prod(it.extents) > 1 else ["0"] * len(it.extents)
            a, bounds = start, list[str]()
            for i, index in zip(it.outer, at, strict=True):
                if i == 0:
                    a = f.add(a, f.mul(index, it.lhs.strides[0]))
                    continue
                slide = it.slides[i - 1]
                begin = f.add(f.mul(index, slide.stride), str(-slide.low))
                begin = f.add(begin, f.mul(firsts[i - 1], slide.dilation))
                a = f.add(a, f.mul(begin, it.lhs.strides[i]))
                if i in it.bounded:
                    bounds += window_bounds(f, slide, begin)
            self.tiles(a, b, at, *panel, bounds, more)

        f.loop("0", f.op(f"sub nsw i64 {last}, {first}", "count"), 1, place, hint="place")

    def tiles(self, a: str, b: str, at: Sequence[str], column: str, columns: int, bounds: Sequence[str], more: str) -> None:
        """The tiles along the axis of the rows."""
        f, it, border = self.f, self.it, self.border
        outside = "false" if border is None else border.is_outside(bounds)
        flags = [] if border is None else [f"i1 {border.has_to_look(outside, column)}"]
        flags += [f"i1 {more}"] if it.blocks > 1 else []
        along = it.cut.along
        slide = it.slides[along - 1] if along else Slide(0, 0, 1, 1, 1, 0)
        for start, count, rows, taps in self.runs:
            name = self.tile(ConvolutionTile(rows, columns, taps))

            def iteration(t: str, /, *values: str, start: int = start, rows: int = rows, name: str = name) -> None:
                row = f.add(f.mul(t, rows), str(start))
                begin = f.add(f.mul(row, slide.stride), str(-slide.low))
                first = f.add(a, f.mul(begin, it.lhs.strides[along]))
                given = ", ".join([*(f"i64 {v}" for v in (first, b, *at, row, column)), *flags, *(f"i64 {v}" for v in bounds)])
                status = f.op(f"call i64 @{name}(ptr %args, {given})", "status")
                if self.host.checked:
                    f.leave(f.op(f"icmp sgt i64 {status}, 0", "failed"), lambda: status)
                if border is not None:
                    border.note(outside, column, status)

            f.loop("0", str(count), 1, iteration, hint="tile")

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
