"""
Running sums, products and extremes along an axis, in its order, each line in a lane of its own.

Where lines lie along memory, vectors of a few lines are read along them and transposed in registers, so that each lane still
walks a line of its own: no element is gathered, and the order of the additions is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from .target_info import LINE, TargetInfo
from .transposes import transposed

VECTORS = 4
MOST_SQUARES = 4
"""Squares that are read before the first of them is written, at most."""
UNITS, NARROWEST = 4, 4
"""Transposed lines are shared out in so many units of work, if each has so many lines at least."""
LARGE = 8 << 20
"""Bytes of an operand from which on its lines are walked by strips: caches hold smaller ones."""
PAGE, STRIP, STRIPS = 4096, 4096, 16
"""Bytes between the rows of lines that are walked by strips, bytes of a row of a strip at most, and strips at least."""


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
        self.room = ""
        """Memory for the totals of a strip of lines, where registers do not hold them."""
        if self.is_crossed:
            self._narrow()
        elif self.loops.order:
            self._widen()
        self.source, self.target = self.loops.spots(step.addresses, ["x", "sum"])
        self.lines = Places(f, host, sites, self.loops.axes)
        """Reads and writes along the lines, not across them."""
        self.lines.width = self.loops.width
        self.lines.along = self.loops.order[0] if self.loops.order else None

    def _is_crossed(self) -> bool:
        """Return whether lanes run across lines that are consecutive in memory, or every other element of it."""
        loops = self.loops
        if loops.along is None or not loops.order or loops.width == 1:
            return False
        consecutive = all(s in (1, 2) for s in loops.axes[loops.order[0]].strides)
        return consecutive and any(s not in (0, 1) for s in loops.axes[loops.along].strides)

    def _narrow(self) -> None:
        """Make each vector of lines a unit of work, of fewer lanes where there are few lines to share out."""
        loops = self.loops
        lines = prod(loops.axes[i].extent for i in loops.kept) * loops.extent
        while loops.width > NARROWEST and lines < UNITS * loops.width:
            loops.width //= 2
        loops.chunk = loops.width

    def _widen(self) -> None:
        """
        Make units of work strips of more lines, whose totals are in memory, where there are many lines.

        Registers hold few lines; where each row is a page or more, walks of a few lines of memory at a time wait for each.
        """
        loops, size = self.loops, self.dtype.size
        if loops.along is None or all(s * size < PAGE for s in loops.axes[loops.order[0]].strides):
            return
        lines = prod(loops.axes[i].extent for i in loops.kept) * loops.extent
        turns = min(STRIP // size, lines // STRIPS) // (loops.width * VECTORS)
        if turns > 1 and lines * self.extent * size >= LARGE:
            loops.chunk = turns * loops.width * VECTORS
            self.room = self.f.op(f"alloca [{loops.chunk} x {register(self.dtype)}], align {LINE}", "totals")

    def emit(self) -> int:
        """Emit the body of the function and return the number of its units of work."""
        loops = self.loops

        def unit(at: Indexes, low: str, high: str) -> None:
            if self.room:
                self.strip(at, low, high)
            elif self.is_crossed:
                loops.vectors(low, high, 1, lambda index, every: self.transposed_lines(at, index, every))
            else:
                loops.vectors(low, high, VECTORS, lambda index, every: self.lanes_of_lines(at, index, every))

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

    def place(self, spot: Spot, at: Indexes, i: str) -> Place:
        """Return where the walk along lines of lanes is at step `i`."""
        now = self.f.op(f"sub nsw i64 {self.extent - 1}, {i}", "back") if self.step.reverse else i
        return self.loops.place(spot, {**at, self.loops.order[0]: now} if self.loops.order else at)

    def walk(self, at: Indexes, body: Callable[..., list[str]], state: Sequence[tuple[str, str]] = ()) -> None:
        """Emit the loop `body(source, target, *state)` over the places of steps."""

        def iteration(i: str, /, *values: str) -> list[str]:
            here = self.place(self.source, at, i)
            return body(here, self.place(self.target, at, self.f.add(i, str(int(self.step.exclusive)))), *values)

        patient(self.f, "0", str(self.extent - int(self.step.exclusive)), iteration, state)

    def lanes_of_lines(self, at: Indexes, index: str, every: list[Lanes]) -> None:
        """Emit the walk of some vectors of lines, from one end of the axis to the other."""
        loops, starts = self.loops, [self.f.add(index, str(u * self.loops.width)) for u in range(len(every))]

        def row(here: Place, there: Place, *values: str) -> list[str]:
            found: list[str] = []
            for start, lanes, total in zip(starts, every, values, strict=True):
                found.append(self.combine(lanes, total, loops.read(here, start, lanes)))
                loops.write(there, start, lanes, found[-1])
            return found

        if self.step.exclusive:
            first = self.place(self.target, at, "0")
            for start, lanes in zip(starts, every, strict=True):
                loops.write(first, start, lanes, self.identity(lanes))
        self.walk(at, row, [(lanes.type(self.dtype), self.neutral(lanes)) for lanes in every])

    def strip(self, at: Indexes, low: str, high: str) -> None:
        """Emit the walk of the lines from `low` to before `high`, row by row."""
        f, loops, type = self.f, self.loops, register(self.dtype)

        def each(body: Callable[[str, Lanes, str], None]) -> None:
            """Emit `body(index, lanes, address of the totals)` for the vectors of the strip."""

            def some(index: str, every: list[Lanes]) -> None:
                for u, lanes in enumerate(every):
                    start = f.add(index, str(u * loops.width))
                    body(start, lanes, f.address(type, self.room, f.op(f"sub nsw i64 {start}, {low}", "x")))

            loops.vectors(low, high, VECTORS, some)

        def begin(start: str, lanes: Lanes, total: str) -> None:
            f.do(f"store {lanes.of(type)} {self.neutral(lanes)}, ptr {total}")
            if self.step.exclusive:
                loops.write(self.place(self.target, at, "0"), start, lanes, self.identity(lanes))

        def row(here: Place, there: Place) -> list[str]:
            def add(start: str, lanes: Lanes, total: str) -> None:
                before = f.op(f"load {lanes.of(type)}, ptr {total}", "total")
                found = self.combine(lanes, before, loops.read(here, start, lanes))
                f.do(f"store {lanes.of(type)} {found}, ptr {total}")
                loops.write(there, start, lanes, found)

            each(add)
            return []

        each(begin)
        self.walk(at, row)

    def transposed_lines(self, at: Indexes, index: str, every: list[Lanes]) -> None:
        """
        Emit the walk of one vector of lines by squares: as many steps as there are lanes, transposed there and back.

        The squares of a line of memory are read before the first of them is written: lines of results may have places of the
        caches in common with those that are read, where rows are pages apart.
        """
        f, loops, (lanes,), n = self.f, self.loops, every, self.extent
        assert loops.along is not None, "lines are crossed"
        count, width = lanes.counted or lanes.width, lanes.width
        lines = [{**at, loops.along: f.add(index, str(i))} for i in range(count)]
        sources, targets = ([self.lines.place(spot, line) for line in lines] for spot in (self.source, self.target))
        whole = lanes.narrowed(width)
        block = width * min(MOST_SQUARES, max(1, LINE // (width * self.dtype.size)))
        full, rest = divmod(n, block)

        def squares(first: str, steps: int, total: str, shown: str) -> list[str]:
            counts = [min(width, steps - start) for start in range(0, steps, width)]
            parts = [(f.add(first, str(k * width)), self.lines.lanes(m % width)) for k, m in enumerate(counts)]
            read = [[self.lines.read(line, *part) for part in parts] for line in sources]
            found: list[list[str]] = [[]] * len(parts)
            for k in self.in_order(len(parts)):
                rows = [row[k] for row in read] + [self.neutral(whole)] * (width - count)
                found[k], total, shown = self.square(whole, rows, counts[k], total, shown)
            for i, line in enumerate(targets):
                for k, part in enumerate(parts):
                    self.lines.write(line, *part, found[k][i])
            return [total, shown]

        def iteration(i: str, /, *state: str) -> list[str]:
            first = f.mul(i, block)
            return squares(f.op(f"sub nsw i64 {n - block}, {first}", "back") if self.step.reverse else first, block, *state)

        type = whole.type(self.dtype)
        state = patient(f, "0", str(full), iteration, [(type, self.neutral(whole)), (type, self.identity(whole))])
        if rest:
            squares("0" if self.step.reverse else str(full * block), rest, *state)

    def square(self, lanes: Lanes, rows: list[str], steps: int, total: str, shown: str) -> tuple[list[str], str, str]:
        """Emit some steps of the lines of a square; return its rows of results, the total after it, and that before."""
        columns = transposed(lanes, register(self.dtype), rows)
        for u in self.in_order(steps):
            total = self.combine(lanes, total, columns[u])
            columns[u], shown = shown if self.step.exclusive else total, total
        return transposed(lanes, register(self.dtype), columns), total, shown

    def in_order(self, count: int) -> Sequence[int]:
        """Return places in the order of the walk."""
        return range(count)[::-1] if self.step.reverse else range(count)
