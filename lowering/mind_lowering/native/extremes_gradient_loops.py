"""The loops of the gradient of extremes of windows: a band of rows, rows of shares on the stack, elements that add shares up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from ..launch.ref import row_major
from .extremes_gradient import ExtremesGradient
from .failures import Sites
from .ir import Function
from .kernel_text import multiply_add, unflattened
from .lanes import Lanes, register
from .nest import Axis
from .nontemporal import twice
from .places import Indexes, Places
from .target_info import TargetInfo

Runs = Mapping[int, Sequence[tuple[int, int, Any]]]
"""By axis: the loops over it, each from a first to before a last index, and what holds in it."""


def emit_extremes_gradient(f: Function, host: TargetInfo, step: ExtremesGradient, sites: Sites) -> int:
    """Emit the kernel of a gradient; how many units of work it has."""
    return _Band(f, host, step, sites).emit()


class _Band(Places):
    def __init__(self, f: Function, host: TargetInfo, step: ExtremesGradient, sites: Sites):
        strides = [v.strides for v in step.views]
        super().__init__(f, host, sites, [Axis(n, False, [s[i] for s in strides], i) for i, n in enumerate(step.x.shape)])
        self.step, self.overlaps, self.walk = step, step.overlaps, step.walk
        self.last = self.along = len(self.axes) - 1
        self.width, self.type = step.width, register(step.total)
        self.inner = range(self.walk + 1, self.last)
        kept = [len(self.overlaps[i].windows) for i in self.inner]
        padded = -(-self.extent // self.width) * self.width
        self.kept_shape = (self.overlaps[self.walk].meeting, *kept, padded)
        self.kept_strides = dict(zip(range(self.walk, self.last), row_major(self.kept_shape), strict=False))
        self.at: Indexes = {}
        """Indices along the axes before the walk."""
        self.streamed = False

    def emit(self) -> int:
        """Emit the body of the function and return the number of its units of work."""
        f, step = self.f, self.step
        self.x, self.y, self.g, self.out = self.spots(step.views, ["x", "y", "g", "dx"])
        self.results, self.shares = (
            f.op(f"alloca [{prod(self.kept_shape)} x {self.type}], align 64", hint) for hint in ("results", "shares")
        )

        def loops(streamed: bool) -> None:
            self.streamed = streamed
            for u in f.each("%begin", "%end", hint="unit"):
                self.unit(u)

        twice(f, [self.out.base] if step.past(self.host.shared_bytes) and self.is_in_lines(self.out) else [], loops)
        f.ret("0")
        return prod(step.grid)

    def unit(self, u: str) -> None:
        """Emit the walk along one band."""
        f, step, overlap = self.f, self.step, self.overlaps[self.walk]
        *outer, band = unflattened(f, u, step.grid)
        self.at = dict(enumerate(outer))
        blocks = overlap.blocks
        begin = f.add(f.mul(band, step.rows), str(blocks.start))
        end = f.least(f.add(begin, str(step.rows)), str(blocks.stop))
        for s in f.each("0", str(overlap.meeting), hint="slot"):
            self.blank(s)

        def row(a: str) -> None:
            slot = self.slot(a, 0)
            f.choose(self.is_in(a, range(overlap.slide.places)), lambda: self.window_row(a, slot), lambda: self.blank(slot))
            f.when(f.op(f"icmp sge i64 {a}, {begin}", "own"), lambda: self.element_rows(a))

        for a in f.each(f.add(begin, str(1 - overlap.meeting)), end, hint="row"):
            row(a)

    # Positions

    def is_in(self, index: str, places: range) -> str:
        """Emit whether an index is one of some places."""
        return self.f.op(f"icmp ult i64 {self.f.add(index, str(-places.start))}, {len(places)}", "inside")

    def slot(self, a: str, before: int) -> str:
        """Emit which of the rows that are kept is that of the windows so many before `a`."""
        meeting = self.overlaps[self.walk].meeting
        return "0" if meeting == 1 else self.f.op(f"urem i64 {self.f.add(a, str(meeting - before))}, {meeting}", "slot")

    def kept_index(self, slot: str, at: Indexes) -> str:
        """Emit the index of a window among the results and shares on the stack."""
        index = self.f.mul(slot, self.kept_strides[self.walk])
        for i in self.inner:
            index = self.f.add(index, self.f.mul(self.f.add(at[i], str(-self.overlaps[i].windows.start)), self.kept_strides[i]))
        return index

    def elements(self, at: Indexes) -> Indexes:
        """Emit the indices of the first elements of windows, or of blocks, along the axes inside of the walk."""
        found: Indexes = {}
        for i in self.inner:
            slide = self.overlaps[i].slide
            found[i] = self.f.add(self.f.mul(at[i], slide.stride), str(-slide.low))
        return found

    def over(self, runs: Runs, body: Callable[[Indexes, dict[int, Any]], None]) -> None:
        """Emit the loops over the axes inside of the walk: `body(indices, what holds in each run)`."""

        def loops(i: int, at: Indexes, holds: dict[int, Any]) -> None:
            if i == self.last:
                body(at, holds)
                return
            for low, high, value in runs[i]:
                for index in self.f.each(str(low), str(high)):
                    loops(i + 1, {**at, i: index}, {**holds, i: value})

        loops(self.walk + 1, {}, {})

    def vectors(self, body: Callable[[str, Lanes], None]) -> None:
        """Emit the loop along the last axis: `body(index, lanes)` for each vector."""
        full = self.extent - self.extent % self.width
        for index in self.f.each("0", str(full), self.width, hint="x"):
            body(index, self.lanes())
        if full < self.extent:
            body(str(full), self.lanes(self.extent - full))

    # Windows

    def blank(self, slot: str) -> None:
        """Emit a row of windows that do not exist: no element equals their results."""
        f, whole = self.f, Lanes(self.f, self.host, self.width)
        first, count = f.mul(slot, self.kept_strides[self.walk]), prod(self.kept_shape[1:])

        result, share = (whole.constant(self.step.total, value) for value in (float("nan"), 0.0))
        for index in f.each("0", str(count), self.width, hint="x"):
            self.keep(whole, f.add(first, index), result, share)

    def keep(self, lanes: Lanes, index: str, result: str, share: str) -> None:
        """Emit stores of results and shares of some windows."""
        for base, value in ((self.results, result), (self.shares, share)):
            lanes.narrowed(self.width).store(self.step.total, value, base, index, 1)

    def window_row(self, a: str, slot: str) -> None:
        """Emit the shares of a row of windows, by where these reach beyond the operand."""
        overlap = self.overlaps[self.walk]
        runs = {i: self.overlaps[i].taps for i in self.inner}
        for low, high, taps in overlap.taps:

            def windows(taps: tuple[int, int] = taps) -> None:
                self.over(runs, lambda at, holds: self.window(a, slot, at, {**holds, self.walk: taps}))

            if len(overlap.taps) == 1:
                windows()
            else:
                self.f.when(self.is_in(a, range(low, high)), windows)

    def window(self, a: str, slot: str, at: Indexes, taps: Mapping[int, tuple[int, int]]) -> None:
        """Emit the shares of the windows at one position: their adjoints over how many elements equal their results."""
        f, slide = self.f, self.overlaps[self.walk].slide
        first = f.add(f.mul(a, slide.stride), str(-slide.low))
        x = self.place(self.x, {**self.at, self.walk: first, **self.elements(at)})
        y, g = (self.place(spot, {**self.at, self.walk: a, **at}) for spot in (self.y, self.g))
        kept = self.kept_index(slot, at)
        strides = self.x.strides
        each = [[j * strides[i] for j in range(*taps[i])] for i in range(self.walk, self.last)]
        offsets = [sum(offset) for offset in product(*each)]

        def vector(index: str, lanes: Lanes) -> None:
            result, one = self.read(y, index, lanes), lanes.constant(self.step.total, 1.0)
            count = lanes.constant(self.step.total, 0.0)
            for offset in offsets:
                element = self.read(x, f.add(index, str(offset)), lanes)
                count = lanes.binary("fadd", self.type, count, self.equal(lanes, element, result))
            if not self.step.full:
                count = lanes.select(lanes.compare("fcmp ogt", self.type, count, one), self.type, count, one)
            share = lanes.binary("fdiv", self.type, self.read(g, index, lanes), count)
            self.keep(lanes, f.add(kept, index), result, share)

        self.vectors(vector)

    def equal(self, lanes: Lanes, a: str, b: str) -> str:
        """Emit 1 where two vectors are equal, and 0 elsewhere."""
        number = lanes.constant
        is_equal = lanes.compare("fcmp oeq", self.type, a, b)
        return lanes.select(is_equal, self.type, number(self.step.total, 1.0), number(self.step.total, 0.0))

    # Elements

    def element_rows(self, a: str) -> None:
        """Emit the rows of elements of a block along the walk."""
        f, overlap = self.f, self.overlaps[self.walk]
        slide = overlap.slide
        runs = {i: self.overlaps[i].phases for i in self.inner}
        is_whole = all(len(phases) == slide.stride for *_, phases in overlap.phases)
        for phase in range(slide.stride):
            row = f.add(f.mul(a, slide.stride), str(phase - slide.low))
            slots = {v: self.slot(a, v) for v in overlap.holding(phase)}

            def elements(row: str = row, slots: Mapping[int, str] = slots) -> None:
                self.over(runs, lambda at, holds: self.block(row, slots, at, holds))

            if is_whole:
                elements()
            else:
                f.when(self.is_in(row, range(slide.extent)), elements)

    def block(self, row: str, slots: Mapping[int, str], at: Indexes, phases: Mapping[int, Sequence[int]]) -> None:
        """Emit the elements of one block in a row: each adds up the shares of the windows whose results it equals."""
        f = self.f
        first = {**self.at, self.walk: row, **self.elements(at)}
        x, out = self.place(self.x, first), self.place(self.out, first)
        bases = {v: self.kept_index(slot, at) for v, slot in slots.items()}
        kept = {v: [f.address(self.type, base, index) for base in (self.results, self.shares)] for v, index in bases.items()}

        def vector(index: str, lanes: Lanes) -> None:
            whole = lanes.narrowed(self.width)
            known: dict[tuple[int, ...], list[str]] = {}

            def window(before: tuple[int, ...]) -> list[str]:
                """Return the results and the shares of windows so many before the block along each axis."""
                if before not in known:
                    offset = sum(n * self.kept_strides[i] for i, n in zip(self.inner, before[1:], strict=True))
                    at = f.add(index, str(-offset))
                    known[before] = [whole.load(self.step.total, base, at, 1) for base in kept[before[0]]]
                return known[before]

            for phase in product(*(phases[i] for i in self.inner)):
                x_offset, out_offset = (
                    sum(b * spot.strides[i] for i, b in zip(self.inner, phase, strict=True)) for spot in (self.x, self.out)
                )
                holding = [self.overlaps[i].holding(b) for i, b in zip(self.inner, phase, strict=True)]
                element = self.read(x, f.add(index, str(x_offset)), lanes)
                total = self.summed(lanes, element, [window(before) for before in product(slots, *holding)])
                lanes.streamed = self.streamed
                self.write(out, f.add(index, str(out_offset)), lanes, total)

        self.vectors(vector)

    def summed(self, lanes: Lanes, element: str, windows: Sequence[Sequence[str]]) -> str:
        """Emit the sum of the shares of windows whose results an element equals; of others 0 times the share is added."""
        total = lanes.constant(self.step.total, 0.0)
        for result, share in windows:
            total = multiply_add(lanes, self.step.total, self.equal(lanes, element, result), share, total)
        return total
