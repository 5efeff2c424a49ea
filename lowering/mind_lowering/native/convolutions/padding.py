"""
Filter taps over padding: the image is 0 there, and 0 times a tap that is infinite or NaN is NaN.

A tile skips taps that lie outside of the image, which changes no sum while these taps are finite. It sees whether they are

- along its own axis, in its sums: rows that together use all taps have finite sums only if all taps are finite;
- along the other axes, in the sums of a tile inside of the image, which uses all taps and comes first if its unit of work has
  one; else it reads the taps that all of its rows skip.

Where they are not, it adds `0 * tap` for each tap that a row skips.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.types import Kind

from ..ir import Function
from ..kernel_text import multiply_add
from ..lanes import Lanes, register
from ..target_info import TargetInfo
from .convolution import MOST_TAPS, Convolution

Spans = Sequence[tuple[int, int]]
"""For each tap along an axis, the rows of a tile that use it: the first, and the end."""
Load = Callable[[str, int], str]
"""Emits one vector of columns of the weights, by its number, at an index counted from the first weight of the tile."""
Ask = Callable[[str], None]
"""Emits a prefetch of the weights that are read some steps after those at an index."""
CHAINS = 4
"""So many sums of one vector of columns at most are added up at the same time."""


def covering_rows(spans: Spans, rows: int) -> list[int] | None:
    """
    Return rows of a tile that together use every tap along its axis; None if there are none.

    >>> covering_rows([(1, 4), (0, 4), (0, 3)], 4), covering_rows([(1, 2), (0, 2), (0, 1)], 2), covering_rows([(0, 0), (0, 2)], 2)
    ([1], [0, 1], None)
    """
    left, found = set(range(len(spans))), list[int]()
    while left or not found:
        used = [{tap for tap in left if spans[tap][0] <= row < spans[tap][1]} for row in range(rows)]
        row = max(range(rows), key=lambda r: len(used[r]))
        if left and not used[row]:
            return None
        found.append(row)
        left -= used[row]
    return sorted(found)


@dataclass
class Skips:
    """
    Taps that the rows of a tile skip: along its own axis by `spans`, if these are given, and others outside of their bounds.

    The bounds, `first` and `end` of an axis, are parameters of each function that reads them.
    """

    it: Convolution
    spans: Spans | None
    rows: int
    vectors: int
    """Of columns."""

    def __post_init__(self) -> None:
        is_float = self.it.total.kind is Kind.FLOAT
        self.along = None if self.spans is None else self.it.cut.along - 1
        """The axis of the window that the spans are of."""
        spans = enumerate(self.spans or ())
        self.edges = [tap for tap, span in spans if span != (0, self.rows)] if is_float else []
        self.bounds = {i - 1: (f"%first{i}", f"%end{i}") for i in self.it.bounded} if is_float else {}

    def __bool__(self) -> bool:
        return bool(self.edges or self.bounds)


def suspect(f: Function, lanes: Lanes, skips: Skips, sums: Sequence[str]) -> str:
    """Emit whether a tap along the axis of a tile may be not finite, given its sums."""
    if (rows := covering_rows(skips.spans or (), skips.rows)) is None:
        return "true"
    type = register(skips.it.total)
    seen = [sums[row * skips.vectors + q] for row in rows for q in range(skips.vectors)]
    total = reduce(partial(lanes.binary, "fadd", type), [lanes.binary("fsub", type, value, value) for value in seen])
    return lanes.any(lanes.compare("fcmp uno", type, total, total))


def any_of(f: Function, tests: Sequence[str]) -> str:
    """Emit whether one of some i1 is true."""
    return reduce(lambda a, b: f.op(f"or i1 {a}, {b}", "any"), tests) if tests else "false"


def has_border(it: Convolution) -> bool:
    """Return whether some tiles skip taps in all of their rows, which count if they are not finite."""
    return bool(it.bounded) and it.total.kind is Kind.FLOAT


class Border:
    """
    Emits, in the function of a kernel, which places are at a border and have to look at the taps that they skip.

    A place inside of the image uses all taps, so where its sums are finite, no other place of its columns has to look.
    """

    def __init__(self, f: Function, it: Convolution):
        self.f, self.it = f, it
        self.count = it.panels
        self.seen = f.op(f"alloca [{self.count} x i64], align 8" if self.count > 1 else "alloca i64, align 8", "seen")
        """Address of the first of the columns whose taps are known to be finite, one for each panel."""
        self.forget()

    def forget(self) -> None:
        """Emit that no taps are known to be finite: those that come are of another block of the window."""
        for panel in self.f.each("0", str(self.count), hint="panel"):
            self.f.do(f"store i64 -1, ptr {self._of(panel)}, align 8")

    def _of(self, panel: str) -> str:
        """Emit the address of what is known of a panel."""
        return self.f.address("i64", self.seen, panel) if self.count > 1 else self.seen

    def rotated(self, first: str, last: str, i: str) -> str:
        """Emit the `i`-th place of a unit of work, from its middle on, which is rather inside than its first."""
        count = self.f.op(f"sub nsw i64 {last}, {first}", "count")
        place = self.f.add(i, self.f.op(f"lshr i64 {count}, 1", "middle"))
        beyond = self.f.op(f"icmp sge i64 {place}, {count}", "beyond")
        return self.f.add(first, self.f.op(f"select i1 {beyond}, i64 {self.f.op(f'sub nsw i64 {place}, {count}')}, i64 {place}"))

    def is_outside(self, bounds: Sequence[str]) -> str:
        """Emit whether a place skips taps, given the bounds of the window there."""
        tests: list[str] = []
        for k, axis in enumerate(self.it.bounded):
            tests.append(self.f.op(f"icmp sgt i64 {bounds[2 * k]}, 0", "before"))
            tests.append(self.f.op(f"icmp slt i64 {bounds[2 * k + 1]}, {self.it.slides[axis - 1].window}", "after"))
        return any_of(self.f, tests)

    def has_to_look(self, outside: str, panel: str, columns: str) -> str:
        """Emit whether a place has to look at taps, given whether it skips some, its panel and the first of its columns."""
        seen = self.f.op(f"load i64, ptr {self._of(panel)}, align 8", "seen")
        return self.f.op(f"and i1 {outside}, {self.f.op(f'icmp ne i64 {seen}, {columns}', 'unknown')}", "border")

    def note(self, outside: str, panel: str, columns: str, status: str) -> None:
        """Emit the note that taps are finite where the status of a tile says so, if it uses them all."""
        at = self._of(panel)
        finite = self.f.op(f"icmp eq i64 {status}, 0", "finite")
        old = self.f.op(f"load i64, ptr {at}, align 8", "seen")
        whole = self.f.op(f"select i1 {outside}, i64 {old}, i64 {columns}", "seen")
        self.f.do(f"store i64 {self.f.op(f'select i1 {finite}, i64 {whole}, i64 {old}', 'seen')}, ptr {at}, align 8")


class Padding:
    """Emits a function that adds to the sums of a tile, row by row in memory, what skipped taps give."""

    def __init__(self, f: Function, host: TargetInfo, skips: Skips, load: Load, ask: Ask):
        self.f, self.skips, self.it, self.vectors, self.load, self.ask = f, skips, skips.it, skips.vectors, load, ask
        self.lanes = Lanes(f, host, skips.it.cut.width, None, "tap")
        self.zero = self.lanes.constant(self.it.total, 0)

    def emit(self, room: str, border: str, suspect: str) -> None:
        """Emit the additions to the sums at address `room` for what all rows skip, if `border`, and some, if `suspect`."""
        rows = range(self.skips.rows)
        if self.skips.bounds:
            self.f.when(border, lambda: self._add(room, rows, self._outer()))
        if self.skips.edges:
            self.f.when(suspect, lambda: self._edges(room))

    def _add(self, room: str, rows: Iterable[int], addends: Sequence[str]) -> None:
        """Emit the addition of a vector for each vector of columns to the sums of some rows."""
        type = register(self.it.total)
        of, size = self.lanes.of(type), self.it.cut.width
        for row in rows:
            for q, addend in enumerate(addends):
                at = self.f.address(type, room, str((row * self.vectors + q) * size))
                total = self._plus(self.lanes.op(f"load {of}, ptr {at}, align {self.it.total.size}"), addend)
                self.f.do(f"store {of} {total}, ptr {at}, align {self.it.total.size}")

    def _plus(self, a: str, b: str) -> str:
        return self.lanes.binary("fadd", register(self.it.total), a, b)

    def _outer(self) -> list[str]:
        """Emit what the taps give that all rows skip: those along the axis of the tile side by side, unless they are many."""
        along, slides = self.skips.along, self.it.slides
        taps = range(1 if along is None else slides[along].window)
        if len(taps) > MOST_TAPS:
            (sums,) = self._scanned([[0]], range(len(slides)), inside=False)
            return sums
        chains = self._scanned([taps[i::CHAINS] for i in range(min(CHAINS, len(taps)))], self._other_axes, inside=False)
        return [reduce(self._plus, [chain[q] for chain in chains]) for q in range(self.vectors)]

    def _edges(self, room: str) -> None:
        """Emit the additions of what the taps give that some rows skip."""
        for tap in self.skips.edges:
            low, high = (self.skips.spans or ())[tap]
            (addends,) = self._scanned([[tap]], self._other_axes, inside=True)
            self._add(room, [row for row in range(self.skips.rows) if not low <= row < high], addends)

    @property
    def _other_axes(self) -> list[int]:
        return [axis for axis in range(len(self.it.slides)) if axis != self.skips.along]

    def _scanned(self, chains: Sequence[Sequence[int]], axes: Sequence[int], *, inside: bool) -> list[list[str]]:
        """
        Emit the sums of `0 * tap` for each chain of taps along the tile's axis, for each vector of columns.

        They are over the channels, and over the places of the window along some axes that are inside of the bounds, or not.
        """
        f, it, bounds = self.f, self.it, self.skips.bounds
        strides, type = it.weight_strides, self.lanes.type(it.total)

        def typed(sums: Sequence[str]) -> list[tuple[str, str]]:
            return [(type, value) for value in sums]

        def every_channel(index: str, sums: Sequence[str]) -> list[str]:
            def step(k: str, /, *values: str) -> list[str]:
                return self._channel(f.add(index, f.mul(k, strides[-1])), chains, values)

            return f.loop("0", str(1 if it.by_channel else it.rhs.shape[-2]), 1, step, typed(sums), "k")

        def level(depth: int, index: str, outside: Sequence[str], sums: Sequence[str]) -> list[str]:
            if depth == len(axes):
                if inside:
                    return every_channel(index, sums)
                return f.changed(any_of(f, outside), typed(sums), lambda: every_channel(index, sums))
            axis = axes[depth]
            low, high = bounds.get(axis, ("0", str(it.slides[axis].window)))

            def iteration(t: str, /, *values: str) -> list[str]:
                tests = list(outside)
                if axis in bounds and not inside:
                    tests += [f.op(f"icmp slt i64 {t}, {low}", "before"), f.op(f"icmp sge i64 {t}, {high}", "after")]
                return level(depth + 1, f.add(index, f.mul(t, strides[axis])), tests, values)

            ends = (low, high) if inside else ("0", str(it.slides[axis].window))
            return f.loop(*ends, 1, iteration, typed(sums), "t")

        found = level(0, "0", [], [self.zero] * (len(chains) * self.vectors))
        return [found[i * self.vectors : (i + 1) * self.vectors] for i in range(len(chains))]

    def _channel(self, index: str, chains: Sequence[Sequence[int]], sums: Sequence[str]) -> list[str]:
        """Emit one step of the sums of chains: the taps of one channel at one place of the window."""
        found = list(sums)
        across = 0 if self.skips.along is None else self.it.weight_strides[self.skips.along]
        for i, taps in enumerate(chains):
            for tap in taps:
                at = self.f.add(index, str(tap * across))
                self.ask(at)
                for q in range(self.vectors):
                    place = i * self.vectors + q
                    found[place] = multiply_add(self.lanes, self.it.total, self.load(at, q), self.zero, found[place])
        return found
