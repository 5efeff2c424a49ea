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
from .kernel_text import argument, unflattened
from .lane_networks import Column, Columns, sorting
from .lane_order import MOST_BEST, LaneOrder, lane_order
from .lanes import register, stored
from .sort_keys import Keys
from .target_info import TargetInfo
from .transposes import transposed
from .views import View

LEAST_SQUARE = 4
"""Smaller squares are not transposed: their elements are gathered one by one."""


def emit_lane_sort(f: Function, host: TargetInfo, step: LaneSort, sites: Sites) -> int:
    """Emit a sort of lines in lanes; how many units of work it has."""
    order = lane_order(step, host)
    assert order is not None, "the plan asked before it made the step"
    _LaneSort(f, host, step, sites, order).emit()
    f.ret("0")
    return order.units


class _LaneSort:
    """The lines of some units of work."""

    def __init__(self, f: Function, host: TargetInfo, step: LaneSort, sites: Sites, order: LaneOrder):
        self.f, self.host, self.step, self.sites, self.order = f, host, step, sites, order
        self.keys = Keys(step.source.dtype, step.descending)
        self.columns = Columns(f, host, order)
        self.lanes = self.columns.lanes
        self.n, self.count = step.source.shape[step.axis], step.values.shape[step.axis]
        self.is_float = step.source.dtype.kind is Kind.FLOAT
        self.room = ""

    def emit(self) -> None:
        f, order, step = self.f, self.order, self.step
        bases = [argument(f, i, name) for i, name in zip(range(len(step.lines)), ("x", "values", "places"), strict=False)]
        if not order.in_registers:
            self.room = f.op(f"alloca [{order.columns * order.parts} x {self.lanes.of(order.type)}], align 64", "keys")
        *outer, (lines, *_) = order.axes
        for unit in f.each("%begin", "%end", hint="lines"):
            *at, group = unflattened(f, unit, [*(axis[0] for axis in outer), order.groups])
            line = f.least(f.mul(group, order.width), str(lines - order.width))  # the last ones may be sorted twice
            starts: list[str] = []
            for number, (view, base) in enumerate(zip(step.lines, bases, strict=True)):
                index = f.mul(line, order.axes[-1][1 + number])
                for i, axis in zip(at, outer, strict=True):
                    index = f.add(index, f.mul(i, axis[1 + number]))
                starts.append(f.address(stored(view.dtype), base, index))
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
            size = self.square(self.count)
            for i in self.f.each("0", str(self.count), size):
                first = self.f.least(i, str(self.count - size)) if self.count % size else i
                self.written([self.columns.load(self.room, first, j) for j in range(size)], starts, first)
        if self.is_float:
            self.f.when(self.lanes.any(odd), lambda: self.again(starts))

    # Keys

    def square(self, count: int) -> int:
        """Elements of a line that are read or written at once."""
        return min(self.order.width, 1 << (count.bit_length() - 1))

    def squares(self, count: int) -> Iterator[tuple[int, int]]:
        """Return the first element and the number of what is read or written at once; the last ones may overlap."""
        size = self.square(count)
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
        f, lanes, size, parts = self.f, self.lanes, self.square(self.n), self.order.parts

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
        f, lanes, size = self.f, self.lanes, self.square(self.n)

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
        f, lanes, view, order = self.f, self.lanes, self.step.source, self.order
        (first, size), along, stride = part, order.axes[-1][1], view.strides[self.step.axis]
        if stride == 1 and along != 1 and size >= LEAST_SQUARE:
            elements = self.turned_in(source, first, size)
        else:
            elements = [lanes.load(view.dtype, source, f.mul(f.add(first, str(j)), stride), along) for j in range(size)]
        found: list[Column] = []
        for j, x in enumerate(elements):
            found.append(self.column(x, f.add(first, str(j))))
            if self.is_float:
                odd = lanes.binary("or", "i1", odd, self.keys.is_odd(lanes, x))
        return found, odd

    def column(self, x: str, index: str) -> Column:
        """Return the column of the elements of one index."""
        lanes, order = self.lanes, self.order
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
        return self.lanes.number(self.order.type, (1 << (self.order.bits - 1)) - 1)

    @property
    def lowest(self) -> str:
        """The bit that makes unsigned keys signed ones: on some machines those alone are compared in vectors."""
        return self.lanes.number(self.order.type, -(1 << (self.order.bits - 1)))

    # Squares

    def turned_in(self, source: str, first: str, size: int) -> list[str]:
        """Elements from `first` on of lines whose elements are neighbours, as one vector of each."""
        f, view, width = self.f, self.step.source, self.order.width
        small, type = self.lanes.narrowed(size), register(view.dtype)
        parts: list[list[str]] = []
        for line in range(0, width, size):
            starts = [f.add(first, str((line + j) * self.order.axes[-1][1])) for j in range(size)]
            parts.append(transposed(small, type, [small.load(view.dtype, source, start, 1) for start in starts]))
        return [self.joined(type, [part[j] for part in parts]) for j in range(size)]

    def joined(self, type: str, parts: Sequence[str]) -> str:
        """Vectors one after another in one."""
        found, width = list(parts), self.order.width // len(parts)
        while len(found) > 1:
            of, mask = self.lanes.narrowed(width).of(type), ", ".join(f"i32 {i}" for i in range(2 * width))
            pairs = zip(found[::2], found[1::2], strict=True)
            found = [self.f.op(f"shufflevector {of} {a}, {of} {b}, <{2 * width} x i32> <{mask}>") for a, b in pairs]
            width *= 2
        return found[0]

    def turned_out(self, view: View, vectors: Sequence[str], target: str, first: str, number: int) -> None:
        """Write vectors, one of each element from `first` on, to lines whose elements are neighbours."""
        f, size, type = self.f, len(vectors), register(view.dtype)
        small = self.lanes.narrowed(size)
        for line in range(0, self.order.width, size):
            mask = ", ".join(f"i32 {line + i}" for i in range(size))
            of = self.lanes.of(type)
            rows = [f.op(f"shufflevector {of} {v}, {of} poison, <{size} x i32> <{mask}>") for v in vectors]
            for j, row in enumerate(transposed(small, type, rows)):
                small.store(view.dtype, row, target, f.add(first, str((line + j) * self.order.axes[-1][number])), 1)

    # Results

    def written(self, columns: Sequence[Column], starts: Sequence[str], first: str) -> None:
        """Write columns, from the one of number `first` on, as elements and places."""
        lanes, order, step = self.lanes, self.order, self.step
        values: list[str] = []
        places: list[str] = []
        for column in columns:
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
        self.put(step.values, values, starts[1], first, 2)
        if step.places is not None:
            self.put(step.places, places, starts[2], first, 3)

    def put(self, view: View, vectors: Sequence[str], target: str, first: str, number: int) -> None:
        """Write vectors to lines; `number` is that of the view among an axis's strides."""
        along, stride, size = self.order.axes[-1][number], view.strides[self.step.axis], len(vectors)
        if stride == 1 and along != 1 and size >= LEAST_SQUARE:
            self.turned_out(view, vectors, target, first, number)
            return
        for j, x in enumerate(vectors):
            self.lanes.store(view.dtype, x, target, self.f.mul(self.f.add(first, str(j)), stride), along)

    def again(self, starts: Sequence[str]) -> None:
        """Write the elements of equal keys once more, line by line."""
        f, step = self.f, self.step
        for lane in f.each("0", str(self.order.width), hint="lane"):
            line = [
                f.address(stored(view.dtype), start, f.mul(lane, self.order.axes[-1][1 + number]))
                for number, (view, start) in enumerate(zip(step.lines, starts, strict=True))
            ]
            write_again(f, self.host, step, self.sites, line)
