"""
Few long lines in order, each by several units of work, in three steps:

    split   partition each line twice: four parts, with their places in the order
    parts   sort each part (`quicksorts.py`)
    finish  write NaN and zeros of a line once more, or sort a line by bytes whose pivots were bad
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from math import prod

from .failures import Sites
from .ir import Function
from .kernel_steps import Sort
from .kernel_text import argument, unflattened
from .memory import Access, buffers_of
from .quicksorts import Part, Quicksort, sorts_by_pivots
from .sorts import Lines, line_starts
from .target_info import TargetInfo

PHASES = ("split", "parts", "finish")
PARTS = 4
"""Parts of a line."""
LONG = 1 << 15
"""Elements of a line that is sorted in parts."""
FEW_LINES = 4
"""More lines than these are enough work for threads."""
_WORDS = 5
"""Words of a part in memory: where its keys are, where its room is, their number, the first rank, if its pivots were bad."""


@dataclass
class PartedSort(Sort):
    """One of the steps of a sort in parts: `split`, `parts` or `finish`."""

    phase: str = "split"

    @property
    def lines_in_all(self) -> int:
        """The number of lines."""
        return prod(n for a, n in enumerate(self.source.shape) if a != self.axis)

    @property
    def units(self) -> int:
        """The lines, or their parts."""
        return self.lines_in_all * (PARTS if self.phase == "parts" else 1)

    @property
    def table(self) -> int:
        """The bytes before the table of parts in the room of a line."""
        return 2 * sum(self.parts)

    @property
    def room_of_unit(self) -> int:
        """The bytes that a line needs."""
        return self.table + -(-8 * (PARTS * _WORDS + 1) // 64) * 64

    def access(self) -> Access:
        """The split writes the room, the parts the results, of which the last step writes some again."""
        source, values, *room = buffers_of(self.addresses)
        if self.phase == "split":
            return Access([source], room)
        return Access(room if self.phase == "parts" else [source, values, *room], [values, *room])

    def cost(self, host: TargetInfo) -> float:
        """Some nanoseconds an element; next to nothing at the end."""
        return self.source.count * {"split": 2.0, "parts": 4.0, "finish": 0.01}[self.phase]

    def key(self) -> Hashable:
        return super().key(), self.phase

    def contents(self) -> str:
        return f"{super().contents()}, {self.phase}"


def is_sorted_in_parts(step: Sort, host: TargetInfo) -> bool:
    """Return whether the lines of a sort are few and long."""
    n = step.source.shape[step.axis]
    return sorts_by_pivots(step, host) and n >= LONG and step.source.count // n < FEW_LINES


def emit_parted_sort(f: Function, host: TargetInfo, step: PartedSort, sites: Sites) -> int:
    """Emit a step of a sort in parts; how many units of work it has."""
    _Parted(f, host, step, sites).emit()
    f.ret("0")
    return step.units


class _Parted:
    def __init__(self, f: Function, host: TargetInfo, step: PartedSort, sites: Sites):
        self.f, self.host, self.step, self.sites = f, host, step, sites
        self.quick = Quicksort(f, host, step)
        self.bases = [argument(f, i, name) for i, name in enumerate(("x", "values", "room"))]

    def emit(self) -> None:
        """Emit the loop over units."""
        f, step = self.f, self.step
        if step.phase == "parts":
            for unit in f.each("%begin", "%end", hint="part"):
                line, part = unflattened(f, unit, [step.lines_in_all, PARTS])
                self.sorted(line, part)
            return
        for line in f.each("%begin", "%end", hint="line"):
            (self.split if step.phase == "split" else self.finished)(line)

    # A line

    def rooms(self, line: str) -> tuple[str, str, str]:
        """Return the two arrays of keys of a line and the table of its parts."""
        f, step = self.f, self.step
        room = f.address("i8", self.bases[2], f.mul(line, step.room_of_unit), "room")
        keys, _ = step.parts
        return room, f.address("i8", room, str(keys), "keys"), f.address("i8", room, str(step.table), "table")

    def word(self, table: str, part: str, number: int) -> str:
        """Return the address of a word of a part."""
        return self.f.address("i64", table, self.f.add(self.f.mul(part, _WORDS), str(number)))

    # Phases

    def split(self, line: str) -> None:
        """Partition a line, and both of its parts."""
        f, (source, _), (*rooms, table) = self.f, line_starts(self.f, self.step, self.bases, line), self.rooms(line)
        halves, odd = self.quick.split(source, rooms)
        parts = [part for half in halves for part in self.quick.functions.halved(f, half)]
        for number, part in enumerate(parts):
            for word, (type, value) in enumerate(zip(("ptr", "ptr", "i64", "i64", "i64"), (*part, "0"), strict=True)):
                f.do(f"store {type} {value}, ptr {self.word(table, str(number), word)}, align 8")
        for bit in odd:
            f.do(f"store i64 {f.op(f'zext i1 {bit} to i64')}, ptr {self.word(table, str(PARTS), 0)}, align 8")

    def sorted(self, line: str, part: str) -> None:
        """Sort a part."""
        f, (_, values), (*_, table) = self.f, line_starts(self.f, self.step, self.bases, line), self.rooms(line)
        types = ("ptr", "ptr", "i64", "i64")
        words = [f.op(f"load {type}, ptr {self.word(table, part, word)}, align 8") for word, type in enumerate(types)]
        failed = self.quick.sorted([Part(*words)], values)
        f.do(f"store i64 {f.op(f'zext i1 {failed} to i64')}, ptr {self.word(table, part, len(types))}, align 8")

    def finished(self, line: str) -> None:
        """Sort a line by bytes, or write NaN and zeros once more, if need be."""
        f, (source, values), (*rooms, table) = self.f, line_starts(self.f, self.step, self.bases, line), self.rooms(line)
        failed = "0"
        for part in range(PARTS):
            found = f.op(f"load i64, ptr {self.word(table, str(part), _WORDS - 1)}, align 8")
            failed = f.op(f"or i64 {failed}, {found}", "failed")
        odd = [f.op(f"load i64, ptr {self.word(table, str(PARTS), 0)}, align 8", "odd")] * self.quick.is_float
        lines = Lines(f, self.host, self.step, self.sites)
        lines.pairs += [[room] for room in rooms]
        bits = [f.op(f"icmp ne i64 {word}, 0") for word in (failed, *odd)]
        lines.finish(bits[0], bits[1:], source, values)
