"""
Matrices in lanes: on the stack, element by element, each a vector of the elements of all of them.

Loops over rows and columns of very small matrices are unrolled, so that their elements stay in registers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from mind_dialect.ptir.types import Kind

from .failures import Failure, Sites
from .ir import Function
from .kernel_text import fail_where, multiply_add
from .lane_lines import LaneLines
from .lanes import Lanes, register
from .matrix_steps import LaneFactorization
from .target_info import TargetInfo

UNROLLED = 16
"""Elements of the largest matrices whose loops are unrolled."""


class LaneMatrix(Protocol):
    """Matrices whose elements are read and written."""

    rows: int
    columns: int
    type: str

    def load(self, i: str, j: str, /) -> str: ...

    def store(self, x: str, i: str, j: str, /) -> None: ...


class Room:
    """Matrices on the stack."""

    def __init__(self, work: Work, rows: int, columns: int, type: str):
        self.work, self.rows, self.columns, self.type = work, rows, columns, type
        self.base = work.f.op(f"alloca [{rows * columns} x {work.lanes.of(type)}], align 64", "room")

    def _at(self, i: str, j: str) -> str:
        f = self.work.f
        return f.address(self.work.lanes.of(self.type), self.base, f.add(f.mul(i, self.columns), j))

    @property
    def transposed(self) -> LaneMatrix:
        """The same matrices, with rows for columns."""
        return Transposed(self)

    def load(self, i: str, j: str) -> str:
        """Return an element of all matrices."""
        return self.work.f.op(f"load {self.work.lanes.of(self.type)}, ptr {self._at(i, j)}, align {self.work.align}", "x")

    def store(self, x: str, i: str, j: str) -> None:
        """Write an element of all matrices."""
        self.work.f.do(f"store {self.work.lanes.of(self.type)} {x}, ptr {self._at(i, j)}, align {self.work.align}")


class Transposed:
    """The matrices of a room with rows for columns."""

    def __init__(self, room: Room):
        self.room, self.rows, self.columns, self.type = room, room.columns, room.rows, room.type

    def load(self, i: str, j: str) -> str:
        """Return an element of all matrices."""
        return self.room.load(j, i)

    def store(self, x: str, i: str, j: str) -> None:
        """Write an element of all matrices."""
        self.room.store(x, j, i)


class Work:
    """The operations of all algorithms: rooms, loops, and elements of views."""

    def __init__(self, f: Function, host: TargetInfo, step: LaneFactorization, sites: Sites):
        self.f, self.step, self.sites, self.axes = f, step, sites, step.axes
        width = step.width(host)
        self.lanes = Lanes(f, host, width)
        self.lines = LaneLines(self.lanes)
        self.dtype = step.total
        self.type, self.places = register(self.dtype), f"i{self.dtype.bits}"
        self.align = min(64, width * self.dtype.size)
        self.unrolled = max(m * n for m, n, _ in step.rooms) <= UNROLLED
        self.rooms = [Room(self, m, n, self.places if places else self.type) for m, n, places in step.rooms]

    # Loops

    def each(self, low: str, high: str) -> Iterator[str]:
        """Return the iterations of a short loop."""
        if self.unrolled:
            yield from (str(i) for i in range(int(low), int(high)))
        else:
            yield from self.f.each(low, high)

    def backwards(self, low: str, high: str) -> Iterator[str]:
        """Return the iterations of a short loop from the last one on."""
        if self.unrolled:
            yield from (str(i) for i in reversed(range(int(low), int(high))))
            return
        for t in self.f.each(low, high):
            yield self.f.op(f"sub nsw i64 {self.f.add(high, self.f.add(low, '-1'))}, {t}", "row")

    def fold(self, low: str, high: str, body: Callable[..., list[str]], initial: Sequence[tuple[str, str]]) -> list[str]:
        """Return the values after a short loop, whose `body(i, *values)` gives the next ones."""
        if not self.unrolled:
            return self.f.loop(low, high, 1, body, [(self.lanes.of(type), x) for type, x in initial])
        values = [x for _, x in initial]
        for i in range(int(low), int(high)):
            values = body(str(i), *values)
        return values

    # Elements

    def number(self, x: float) -> str:
        """Return a number in every lane."""
        return self.lanes.number(self.type, x)

    def place(self, i: str) -> str:
        """Return an index in every lane."""
        if i.isdigit():
            return self.lanes.number(self.places, int(i))
        return self.lanes.splat(self.places, i if self.places == "i64" else self.f.op(f"trunc i64 {i} to {self.places}"))

    def op(self, code: str, a: str, b: str) -> str:
        """Return an operation of two elements of all matrices."""
        return self.lanes.binary(code, self.type, a, b)

    def is_zero(self, x: str) -> str:
        """Return whether elements are 0."""
        return self.lanes.compare("fcmp oeq", self.type, x, self.number(0.0))

    def identity(self, room: LaneMatrix) -> None:
        """Write ones on the diagonals, and zeros."""
        for i in self.each("0", str(room.rows)):
            for j in self.each("0", str(room.columns)):
                room.store(self.number(0.0), i, j)
        for i in self.each("0", str(min(room.rows, room.columns))):
            room.store(self.number(1.0), i, i)

    def exchange(self, x: LaneMatrix, i: str, other: str, first: str) -> None:
        """Exchange row `i` and another one, in each lane another, from column `first` on."""
        for c in self.each(first, str(x.columns)):
            old = x.load(i, c)

            def row(r: str, /, *values: str, c: str = c, old: str = old) -> list[str]:
                here = self.lanes.compare("icmp eq", self.places, other, self.place(r))
                found = x.load(r, c)
                x.store(self.lanes.select(here, x.type, old, found), r, c)
                return [self.lanes.select(here, x.type, found, values[0])]

            x.store(self.fold(self.f.add(i, "1"), str(x.rows), row, [(x.type, old)])[0], i, c)

    def magnitude(self, x: str) -> str:
        """Return absolute values."""
        return self.lanes.intrinsic("fabs", self.type, x)

    def less(self, c: str, a: str, b: str, *, rounded: bool = False) -> str:
        """Return `c - a * b`, its product rounded or not."""
        if rounded:
            return self.op("fsub", c, self.op("fmul", a, b))
        return multiply_add(self.lanes, self.dtype, self.negative(a), b, c)

    def negative(self, x: str) -> str:
        """Return elements with the other sign."""
        return self.lanes.op(f"fneg {self.lanes.of(self.type)} {x}")

    def plus(self, c: str, a: str, b: str) -> str:
        """Return `c + a * b`."""
        return multiply_add(self.lanes, self.dtype, a, b, c)

    def runs(
        self, number: int, shape: Sequence[int], is_dense: bool
    ) -> Iterator[tuple[str, Callable[[str], tuple[str, str]], int, int]]:
        """
        Return where runs of elements of a view begin, the row and column of each element, their number, and its stride.

        A matrix whose elements are neighbours in memory and in its room is one run, others are runs of rows or of columns.
        """
        rows, columns = shape
        down, along = (0, *self.step.addresses[number].strides[self.step.batch_rank :])[-2:]
        f = self.f
        if (down == columns or rows == 1) and along == 1 and is_dense:
            yield "0", (lambda e: ("0", e)), rows * columns, 1
        elif down == 1:
            for j in self.each("0", str(columns)):
                yield f.mul(j, along), (lambda e, j=j: (e, j)), rows, 1
        else:
            for i in self.each("0", str(rows)):
                yield f.mul(i, down), (lambda e, i=i: (i, e)), columns, along

    def parts(self, count: int) -> Iterator[tuple[str, int]]:
        """Return the parts of a run."""
        if not self.unrolled:
            yield from self.lines.parts(count)
            return
        size = self.lines.square(count)
        yield from ((str(min(i, count - size)), size) for i in range(0, count, size))

    def read(self, number: int, start: str, room: Room) -> None:
        """Copy the matrices of a view to a room."""
        view = self.step.addresses[number]
        for begin, at, count, stride in self.runs(number, (room.rows, room.columns), True):
            base = self.f.address(register(view.dtype), start, begin)
            for first, size in self.parts(count):
                for j, x in enumerate(self.lines.read(view.dtype, base, first, size, (stride, self.apart(number)))):
                    room.store(self.lanes.convert("fpext", register(view.dtype), self.type, x), *at(self.f.add(first, str(j))))

    def write(self, number: int, start: str, room: LaneMatrix, shape: tuple[int, int] | None = None) -> None:
        """Copy the matrices of a room to a view, or the first rows of them."""
        view, given = self.step.addresses[number], room.type
        code = "trunc" if view.dtype.kind is not Kind.FLOAT else "fptrunc"
        for begin, at, count, stride in self.runs(number, shape or (room.rows, room.columns), isinstance(room, Room)):
            base = self.f.address(register(view.dtype), start, begin)
            for first, size in self.parts(count):
                found = [room.load(*at(self.f.add(first, str(j)))) for j in range(size)]
                found = [self.lanes.convert(code, given, register(view.dtype), x) for x in found]
                self.lines.write(view.dtype, found, base, first, (stride, self.apart(number)))

    def write_number(self, number: int, start: str, x: str) -> None:
        """Write one number of each matrix to a view."""
        dtype = self.step.addresses[number].dtype
        x = self.lanes.convert("fptrunc", self.type, register(dtype), x)
        self.lanes.store(dtype, x, start, "0", self.apart(number))

    def apart(self, number: int) -> int:
        """Return the step from matrix to matrix of a view."""
        return self.axes.strides[-1][number]

    def fail(self, wrong: str) -> None:
        """Leave the kernel where matrices have no inverse, or no factor, if that is an error."""
        if self.step.failing is not None:
            fail_where(self.lanes, self.sites, wrong, Failure.SINGULAR, self.step.failing, [])
