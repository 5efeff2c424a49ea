"""
Running sums, products and extremes along an axis, in its order, each line in a lane of its own.

Where lines lie along memory, vectors of a few lines are read along them and transposed in registers, so that each lane still
walks a line of its own: no element is gathered, and the order of the additions is the same.
"""

from __future__ import annotations

from math import prod

from mind_dialect.ptir.types import Kind

from .failures import Sites
from .ir import Function
from .kernel_steps import Scan
from .kernel_text import patient
from .lanes import Lanes, register
from .ordered import Ordered
from .places import Indexes, Place, Places, Spot
from .reductions import combined, identity_of
from .target_info import TargetInfo
from .transposes import transposed

VECTORS = 4
UNITS, NARROWEST = 4, 4
"""Transposed lines are shared out in so many units of work, if each has so many lines at least."""


def emit_scan(f: Function, host: TargetInfo, step: Scan, sites: Sites) -> int:
    """Emit a scan; how many units of work it has."""
    return _Walk(f, host, step, sites).emit()


class _Walk:
    """The loops of one scan."""

    def __init__(self, f: Function, host: TargetInfo, step: Scan, sites: Sites):
        self.f, self.step, self.dtype = f, step, step.source.dtype
        self.extent = step.source.shape[step.axis]
        self.loops = Ordered(f, host, sites, step.source.shape, [step.axis], step.addresses, self.dtype.size, VECTORS)
        self.is_crossed = self._is_crossed()
        if self.is_crossed:
            self._narrow()
        self.source, self.target = self.loops.spots(step.addresses, ["x", "sum"])
        self.lines = Places(f, host, sites, self.loops.axes)
        """Reads and writes along the lines, not across them."""
        self.lines.width = self.loops.width
        self.lines.along = self.loops.order[0] if self.loops.order else None

    def _is_crossed(self) -> bool:
        """Return whether lanes run across lines that are consecutive in memory."""
        loops = self.loops
        if loops.along is None or not loops.order or loops.width == 1:
            return False
        consecutive = all(s == 1 for s in loops.axes[loops.order[0]].strides)
        return consecutive and any(s not in (0, 1) for s in loops.axes[loops.along].strides)

    def _narrow(self) -> None:
        """Make each vector of lines a unit of work, of fewer lanes where there are few lines to share out."""
        loops = self.loops
        lines = prod(loops.axes[i].extent for i in loops.kept) * loops.extent
        while loops.width > NARROWEST and lines < UNITS * loops.width:
            loops.width //= 2
        loops.chunk = loops.width

    def emit(self) -> int:
        """Emit the body of the function and return the number of its units of work."""
        loops = self.loops
        body, vectors = (self.transposed_lines, 1) if self.is_crossed else (self.lanes_of_lines, VECTORS)

        def unit(at: Indexes, low: str, high: str) -> None:
            loops.vectors(low, high, vectors, lambda index, every: body(at, index, every))

        units = loops.units(unit)
        self.f.ret("0")
        return units

    def combine(self, lanes: Lanes, total: str, x: str) -> str:
        """Emit one step of the scan."""
        if self.step.kind == "sum" and self.dtype.kind is Kind.FLOAT:
            return lanes.binary("fadd", register(self.dtype), total, x)
        return combined(lanes, self.step.kind, self.dtype, total, x)

    def neutral(self, lanes: Lanes) -> str:
        """Return the value that leaves every number as it is: of sums -0."""
        is_sum = self.step.kind == "sum" and self.dtype.kind is Kind.FLOAT
        return lanes.constant(self.dtype, -0.0 if is_sum else identity_of(self.step.kind, self.dtype))

    def identity(self, lanes: Lanes) -> str:
        """Return the first result of an exclusive scan."""
        return lanes.constant(self.dtype, identity_of(self.step.kind, self.dtype))

    def lanes_of_lines(self, at: Indexes, index: str, every: list[Lanes]) -> None:
        """Emit the walk of some vectors of lines, from one end of the axis to the other."""
        f, step, loops, n = self.f, self.step, self.loops, self.extent
        starts = [f.add(index, str(u * loops.width)) for u in range(len(every))]

        def place(spot: Spot, i: str) -> Place:
            """Return where the walk is at step `i`."""
            now = f.op(f"sub nsw i64 {n - 1}, {i}", "back") if step.reverse else i
            return loops.place(spot, {**at, loops.order[0]: now} if loops.order else at)

        def iteration(i: str, /, *values: str) -> list[str]:
            here, there = place(self.source, i), place(self.target, f.add(i, str(int(step.exclusive))))
            found: list[str] = []
            for start, lanes, total in zip(starts, every, values, strict=True):
                found.append(self.combine(lanes, total, loops.read(here, start, lanes)))
                loops.write(there, start, lanes, found[-1])
            return found

        if step.exclusive:
            first = place(self.target, "0")
            for start, lanes in zip(starts, every, strict=True):
                loops.write(first, start, lanes, self.identity(lanes))
        state = [(lanes.type(self.dtype), self.neutral(lanes)) for lanes in every]
        patient(f, "0", str(n - int(step.exclusive)), iteration, state)

    def transposed_lines(self, at: Indexes, index: str, every: list[Lanes]) -> None:
        """Emit the walk of one vector of lines by squares: as many steps as there are lanes, transposed there and back."""
        f, loops, (lanes,), n = self.f, self.loops, every, self.extent
        assert loops.along is not None, "lines are crossed"
        count, width = lanes.counted or lanes.width, lanes.width
        lines = [{**at, loops.along: f.add(index, str(i))} for i in range(count)]
        sources, targets = ([self.lines.place(spot, line) for line in lines] for spot in (self.source, self.target))
        whole = lanes.narrowed(width)
        full, rest = divmod(n, width)

        def square(first: str, steps: int, total: str, shown: str) -> list[str]:
            vector = self.lines.lanes(steps % width)
            rows = [self.lines.read(place, first, vector) for place in sources] + [self.neutral(whole)] * (width - count)
            columns = transposed(whole, register(self.dtype), rows)
            for u in reversed(range(steps)) if self.step.reverse else range(steps):
                total = self.combine(whole, total, columns[u])
                columns[u], shown = shown if self.step.exclusive else total, total
            for place, row in zip(targets, transposed(whole, register(self.dtype), columns), strict=False):
                self.lines.write(place, first, vector, row)
            return [total, shown]

        def iteration(i: str, /, *values: str) -> list[str]:
            first = f.mul(i, width)
            return square(f.op(f"sub nsw i64 {n - width}, {first}", "back") if self.step.reverse else first, width, *values)

        type = whole.type(self.dtype)
        state = patient(f, "0", str(full), iteration, [(type, self.neutral(whole)), (type, self.identity(whole))])
        if rest:
            square("0" if self.step.reverse else str(full * width), rest, *state)
