"""
Networks that sort columns: the `i`-th column has the `i`-th key of each line, in one lane of a vector.

Columns exchange minima and maxima, which takes no branch and is the same for all lines: blocks of them are sorted in registers,
then merged by a bitonic network whose first step compares ends that mirror each other (Batcher, Sorting networks and their
applications, 1968), so that every exchange has its minimum first and columns behind the last one need not exist.

A column is one vector, or two where a key and its place do not fit in 64 bits: keys, and places, which decide between equal keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .ir import Function, symbol
from .lanes import Lanes
from .sort_keys import LaneOrder
from .target_info import TargetInfo

Column = tuple[str, ...]
"""Its vectors: keys, and places if these have vectors of their own."""


class Columns:
    """Exchanges of columns, and columns in memory."""

    def __init__(self, f: Function, host: TargetInfo, order: LaneOrder):
        self.f, self.host, self.order = f, host, order
        self.lanes = Lanes(f, host, order.width)
        self.align = min(64, order.width * order.bits // 8)

    def _at(self, room: str, first: str, j: int, part: int) -> str:
        """Return the address of a vector of the `j`-th column behind the one of number `first`."""
        index = self.f.add(self.f.mul(self.f.add(first, str(j)), self.order.parts), str(part))
        return self.f.address(self.lanes.of(self.order.type), room, index)

    def load(self, room: str, first: str, j: int) -> Column:
        """Return a column in memory."""
        f, of = self.f, self.lanes.of(self.order.type)
        found = [self._at(room, first, j, part) for part in range(self.order.parts)]
        return tuple(f.op(f"load {of}, ptr {place}, align {self.align}", "k") for place in found)

    def store(self, column: Column, room: str, first: str, j: int) -> None:
        """Write a column to memory."""
        of = self.lanes.of(self.order.type)
        for part, x in enumerate(column):
            self.f.do(f"store {of} {x}, ptr {self._at(room, first, j, part)}, align {self.align}")

    def exchanged(self, columns: Sequence[Column], pairs: Iterator[tuple[int, int]]) -> list[Column]:
        """Return columns of which some, by number, exchanged minima and maxima."""
        found, lanes, type, compared = list(columns), self.lanes, self.order.type, self.order.compared
        for a, b in pairs:
            low, high = found[a], found[b]
            if compared is not None:
                found[a], found[b] = ((x,) for x in compared.extremes(lanes, low[0], high[0]))
                continue
            if len(low) == 1:
                found[a], found[b] = ((lanes.intrinsic(name, type, low[0], high[0]),) for name in ("smin", "smax"))
                continue
            greater = self._greater(low, high)
            found[a] = tuple(lanes.select(greater, type, y, x) for x, y in zip(low, high, strict=True))
            found[b] = tuple(lanes.select(greater, type, x, y) for x, y in zip(low, high, strict=True))
        return found

    def _greater(self, low: Column, high: Column) -> str:
        """Return where the key of the first column is greater, or is equal and has the greater place."""
        lanes, type = self.lanes, self.order.type
        greater, later = (lanes.compare("icmp sgt", type, x, y) for x, y in zip(low, high, strict=True))
        same = lanes.compare("icmp eq", type, low[0], high[0])
        return lanes.binary("or", "i1", greater, lanes.binary("and", "i1", same, later))

    def network(self) -> str:
        """Return the function that puts the columns in a room in order."""
        order, module = self.order, self.f.module
        places = ".places" * (order.parts - 1)
        name = f"lanes.sorted.{order.columns}x{order.width}.{order.type}{places}"
        if name not in module.functions:
            _Network(module.function(name, "void", [("ptr", "keys")]), self.host, order).emit()
        return symbol(name)


class _Network:
    """The function that sorts the keys of more than one block."""

    def __init__(self, f: Function, host: TargetInfo, order: LaneOrder):
        self.f, self.order = f, order
        self.columns = Columns(f, host, order)
        self.blocks = order.columns // order.block

    def emit(self) -> None:
        """Sort each block, then merge runs of 1, 2, 4 and so on blocks."""
        f = self.f
        self.in_blocks(list(sorting(self.order.block)))
        rounds = (self.blocks - 1).bit_length()
        for r in f.each("0", str(rounds), hint="round"):
            run = f.op(f"shl i64 1, {r}", "run")
            self.merged(run, mirrored=True)
            for s in f.each("0", r, hint="step"):
                less = f.op(f"sub i64 {r}, {s}")
                self.merged(f.op(f"lshr i64 {f.op(f'shl i64 1, {less}')}, 1", "run"), mirrored=False)
            self.in_blocks(list(halving(self.order.block)))
        f.ret()

    def in_blocks(self, pairs: list[tuple[int, int]]) -> None:
        """Exchange columns of each block in registers."""
        size = self.order.block
        for first in self.f.each("0", str(self.order.columns), size, "block"):
            found = [self.columns.load("%keys", first, j) for j in range(size)]
            for j, column in enumerate(self.columns.exchanged(found, iter(pairs))):
                self.columns.store(column, "%keys", first, j)

    def merged(self, run: str, *, mirrored: bool) -> None:
        """Exchange columns of two runs of blocks that follow each other, in mirrored or in equal order, for all pairs of runs."""
        f, size = self.f, self.order.block
        twice = f.op(f"shl i64 {run}, 1", "twice")
        pairs = f.op(f"udiv i64 {f.add(str(self.blocks - 1), twice)}, {twice}", "pairs")
        for pair in f.each("0", pairs, hint="pair"):
            first = f.op(f"mul i64 {pair}, {twice}", "first")
            second = f.add(first, run)
            # Each block of the second run that exists exchanges with the mirrored, or the same, block of the first run.
            there = f.least(run, f.op(f"sub i64 {self.blocks}, {second}", "rest"))
            for b in f.each("0", f.greatest(there, "0"), hint="b"):
                upper = f.mul(f.add(second, b), size)
                if mirrored:
                    lower = f.mul(f.op(f"sub i64 {f.op(f'sub i64 {second}, {b}')}, 1"), size)
                else:
                    lower = f.mul(f.add(first, b), size)
                self.exchanged(lower, upper, mirrored=mirrored)

    def exchanged(self, lower: str, upper: str, *, mirrored: bool) -> None:
        """Exchange the columns of two blocks."""
        size = self.order.block
        for j in range(size):
            places = [(lower, size - 1 - j if mirrored else j), (upper, j)]
            found = [self.columns.load("%keys", *place) for place in places]
            for place, column in zip(places, self.columns.exchanged(found, iter([(0, 1)])), strict=True):
                self.columns.store(column, "%keys", *place)


def sorting(count: int) -> Iterator[tuple[int, int]]:
    """
    The exchanges that sort so many vectors: Batcher's odd-even merges, without those of vectors that do not exist.

    >>> list(sorting(4))
    [(0, 1), (2, 3), (0, 2), (1, 3), (1, 2)]
    """
    p = 1
    while p < count:
        k = p
        while k >= 1:
            for j in range(k % p, count - k, 2 * k):
                for i in range(min(k, count - j - k)):
                    if (i + j) // (2 * p) == (i + j + k) // (2 * p):
                        yield i + j, i + j + k
            k //= 2
        p *= 2


def halving(count: int) -> Iterator[tuple[int, int]]:
    """
    The exchanges that sort a bitonic block of so many vectors.

    >>> list(halving(4))
    [(0, 2), (1, 3), (0, 1), (2, 3)]
    """
    k = count // 2
    while k:
        yield from ((i, i + k) for i in range(count) if not i & k)
        k //= 2
