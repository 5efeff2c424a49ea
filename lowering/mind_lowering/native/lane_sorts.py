"""
Stable orders of many lines at once: each lane of a vector has a line of its own (`lane_networks.py`).

Keys of one value are one element. Those that say where they came from have their place in the low bits, or in a vector of its own
where 64 bits do not hold both: no two are equal, and the order is stable. Without places, equal keys differ at most in the sign
of zero or in what a NaN holds: such lines, which are few, have their zeros and NaN written once more in their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mind_dialect.ptir.types import Kind

from .equal_keys import write_again
from .failures import Sites
from .ir import Function
from .kernel_steps import LaneSort
from .kernel_text import argument
from .lane_lines import LaneLines, each_unit
from .lane_networks import Column, Columns, sorting
from .lane_order import MOST_BEST, lane_order
from .lanes import register, stored
from .sort_keys import Keys, LaneOrder
from .target_info import TargetInfo


def emit_lane_sort(f: Function, host: TargetInfo, step: LaneSort, sites: Sites) -> int:
    """Emit a sort of lines in lanes; how many units of work it has."""
    order = lane_order(step, host)
    assert order is not None, "the plan asked before it made the step"
    _LaneSort(f, host, step, sites, order).emit()
    f.ret("0")
    return order.axes.units(order.width)


class _LaneSort:
    """The lines of some units of work."""

    def __init__(self, f: Function, host: TargetInfo, step: LaneSort, sites: Sites, order: LaneOrder):
        self.f, self.host, self.step, self.sites, self.order = f, host, step, sites, order
        self.keys = Keys(step.source.dtype, step.descending)
        self.columns = Columns(f, host, order)
        self.lanes = self.columns.lanes
        self.elements = LaneLines(self.lanes)
        self.n, self.count = step.source.shape[step.axis], step.values.shape[step.axis]
        self.is_float = step.source.dtype.kind is Kind.FLOAT
        self.room = ""

    def emit(self) -> None:
        f, order, step = self.f, self.order, self.step
        bases = [argument(f, i, name) for i, name in zip(range(len(step.lines)), ("x", "values", "places"), strict=False)]
        if not order.in_registers:
            self.room = f.op(f"alloca [{order.columns * order.parts} x {self.lanes.of(order.type)}], align 64", "keys")
        for starts in each_unit(f, order.axes, order.width, list(zip(step.lines, bases, strict=True))):
            self.lines(starts)

    def lines(self, starts: Sequence[str]) -> None:
        """The lines of a unit of work, which begin there in source, values and places."""
        if self.order.in_registers or self.count <= MOST_BEST:
            columns, odd = (self.whole if self.order.in_registers else self.best)(starts[0])
            for first, size in self.squares(self.count):
                self.written(columns[first : first + size], starts, str(first))
        else:
            odd = self.filled(starts[0])
            self.f.do(f"call void {self.columns.network()}(ptr {self.room})")
            for first, size in self.elements.parts(self.count):
                self.written([self.columns.load(self.room, first, j) for j in range(size)], starts, first)
        if self.is_float:
            self.f.when(self.lanes.any(odd), lambda: self.again(starts))

    # Keys

    def squares(self, count: int) -> Iterator[tuple[int, int]]:
        """Return the first element and the number of what is read or written at once; the last ones may overlap."""
        size = self.elements.square(count)
        yield from ((min(i, count - size), size) for i in range(0, count, size))

    def whole(self, source: str) -> tuple[list[Column], str]:
        """Return the columns of lines that are one block, in order, and which lines have a NaN or a negative zero."""
        columns, odd = list[Column](), self.lanes.number("i1", 0)
        for first, size in self.squares(self.n):
            found, odd = self.loaded(source, (str(first), size), odd)
            columns[first : first + size] = found
        return self.columns.exchanged(columns, sorting(self.n)), odd

    def best(self, source: str) -> tuple[list[Column], str]:
        """Return the columns of the best of the lines: each key that follows is put before those that are greater."""
        f, lanes, size, parts = self.f, self.lanes, self.elements.square(self.n), self.order.parts

        def some(i: str, /, *values: str) -> list[str]:
            columns, odd = self.loaded(source, (i, size), values[-1])
            best = [tuple(values[j : j + parts]) for j in range(0, len(values) - 1, parts)]
            return [*(x for column in self.kept(best, columns) for x in column), odd]

        carried = [(lanes.of(self.order.type), self.greatest)] * (self.count * parts)
        whole = self.n - self.n % size
        *values, odd = f.loop("0", str(whole), size, some, [*carried, (lanes.of("i1"), lanes.number("i1", 0))])
        found = [tuple(values[j : j + parts]) for j in range(0, len(values), parts)]
        for i in range(whole, self.n):
            columns, odd = self.loaded(source, (str(i), 1), odd)
            found = self.kept(found, columns)
        return found, odd

    def kept(self, best: Sequence[Column], columns: Sequence[Column]) -> list[Column]:
        """Return the best so far and those of some more columns."""
        found = list(best)
        for column in columns:
            worse = column
            for j, other in enumerate(found):
                found[j], worse = self.columns.exchanged([other, worse], iter([(0, 1)]))
        return found

    def filled(self, source: str) -> str:
        """Put the columns of the lines in the room, the greatest behind them; return which lines have NaN or a negative zero."""
        f, lanes, size = self.f, self.lanes, self.elements.square(self.n)

        def some(i: str, /, *odd: str) -> list[str]:
            first = f.least(i, str(self.n - size)) if self.n % size else i
            columns, found = self.loaded(source, (first, size), odd[0])
            for j, column in enumerate(columns):
                self.columns.store(column, self.room, first, j)
            return [found]

        (odd,) = f.loop("0", str(self.n), size, some, [(lanes.of("i1"), lanes.number("i1", 0))])
        for i in range(self.n, self.order.columns):
            self.columns.store((self.greatest,) * self.order.parts, self.room, str(i), 0)
        return odd

    def loaded(self, source: str, part: tuple[str, int], odd: str) -> tuple[list[Column], str]:
        """Return columns of a part of the lines, given its first element and their number, and which lanes were odd or are."""
        f, lanes, view = self.f, self.lanes, self.step.source
        first, size = part
        found: list[Column] = []
        for j, x in enumerate(self.elements.read(view.dtype, source, first, size, self.steps(0))):
            found.append(self.column(x, f.add(first, str(j))))
            if self.is_float:
                odd = lanes.binary("or", "i1", odd, self.keys.is_odd(lanes, x))
        return found, odd

    def column(self, x: str, index: str) -> Column:
        """Return the column of the elements of one index."""
        lanes, order = self.lanes, self.order
        if order.compared is not None:
            return (order.compared.of(lanes, x),)
        key, place = lanes.convert("zext", self.keys.type, order.type, self.keys.of(lanes, x)), list[str]()
        if self.step.places is not None:
            place = [lanes.convert("trunc", "i64", order.type, lanes.splat("i64", index))]
        if order.place_bits:
            key = lanes.binary("shl", order.type, key, lanes.number(order.type, order.place_bits))
            key = lanes.binary("or", order.type, key, place.pop())
        return (lanes.binary("xor", order.type, key, self.lowest), *place)

    @property
    def greatest(self) -> str:
        """The greatest key, and a place behind all others."""
        if self.order.compared is not None:
            return self.lanes.number(self.order.type, self.order.compared.greatest)
        return self.lanes.number(self.order.type, (1 << (self.order.bits - 1)) - 1)

    @property
    def lowest(self) -> str:
        """The bit that makes unsigned keys signed ones: on some machines those alone are compared in vectors."""
        return self.lanes.number(self.order.type, -(1 << (self.order.bits - 1)))

    # Results

    def written(self, columns: Sequence[Column], starts: Sequence[str], first: str) -> None:
        """Write columns, from the one of number `first` on, as elements and places."""
        lanes, order, step = self.lanes, self.order, self.step
        values: list[str] = []
        places: list[str] = []
        for column in columns:
            if order.compared is not None:
                values.append(order.compared.element(lanes, column[0]))
                continue
            key = lanes.binary("xor", order.type, column[0], self.lowest)
            if step.places is not None:
                if order.place_bits:
                    place = lanes.binary("and", order.type, key, lanes.number(order.type, (1 << order.place_bits) - 1))
                    key = lanes.binary("lshr", order.type, key, lanes.number(order.type, order.place_bits))
                else:
                    place = column[1]
                wide = int(register(step.places.dtype)[1:]) > order.bits
                places.append(lanes.convert("zext" if wide else "trunc", order.type, register(step.places.dtype), place))
            values.append(self.keys.element(lanes, lanes.convert("trunc", order.type, self.keys.type, key)))
        for number, (view, vectors) in enumerate(zip(step.lines[1:], (values, places), strict=False), 1):
            self.elements.write(view.dtype, vectors, starts[number], first, self.steps(number))

    def steps(self, number: int) -> tuple[int, int]:
        """Return the steps from element to element and from line to line in source, values or places."""
        return self.step.lines[number].strides[self.step.axis], self.order.axes.strides[-1][number]

    def again(self, starts: Sequence[str]) -> None:
        """Write the elements of equal keys once more, line by line."""
        f, step = self.f, self.step
        for lane in f.each("0", str(self.order.width), hint="lane"):
            line = [
                f.address(stored(view.dtype), start, f.mul(lane, self.order.axes.strides[-1][number]))
                for number, (view, start) in enumerate(zip(step.lines, starts, strict=True))
            ]
            write_again(f, self.host, step, self.sites, line)
