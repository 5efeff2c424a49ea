"""Lines side by side, one in each lane of a vector: where they begin, and their elements in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.types import PtirDType

from .ir import Function
from .kernel_text import unflattened
from .lanes import Lanes, register, stored
from .line_axes import LineAxes
from .transposes import transposed
from .views import View

LEAST_SQUARE = 4
"""Smaller squares are not transposed: their elements are gathered one by one."""


def each_unit(f: Function, axes: LineAxes, width: int, bases: Sequence[tuple[View, str]]) -> Iterator[list[str]]:
    """Return the iterations over a kernel's units of work: where in each view the lines of one begin."""
    *outer, lines = axes.extents
    for unit in f.each("%begin", "%end", hint="lines"):
        *at, group = unflattened(f, unit, [*outer, axes.groups(width)])
        line = f.least(f.mul(group, width), str(lines - width))  # the last ones may be computed twice
        starts: list[str] = []
        for number, (view, base) in enumerate(bases):
            index = f.mul(line, axes.strides[-1][number])
            for i, strides in zip(at, axes.strides, strict=False):
                index = f.add(index, f.mul(i, strides[number]))
            starts.append(f.address(stored(view.dtype), base, index))
        yield starts


@dataclass(frozen=True)
class LaneLines:
    """Elements of as many lines as there are lanes: those of one number are a vector."""

    lanes: Lanes

    def square(self, count: int) -> int:
        """Elements of a line that are read or written at once."""
        return min(self.lanes.width, 1 << (count.bit_length() - 1))

    def parts(self, count: int) -> Iterator[tuple[str, int]]:
        """Return, in a loop, the first element and the number of what is read or written at once; the last ones may overlap."""
        f, size = self.lanes.function, self.square(count)
        for i in f.each("0", str(count), size):
            yield f.least(i, str(count - size)) if count % size else i, size

    def read(self, dtype: PtirDType, base: str, first: str, size: int, steps: tuple[int, int]) -> list[str]:
        """Return elements from number `first` on; `steps` are those from one to the next of a line, and from line to line."""
        stride, apart = steps
        if stride == 1 and apart not in (0, 1) and size >= LEAST_SQUARE:
            return self._turned_in(dtype, base, first, size, apart)
        f = self.lanes.function
        return [self.lanes.load(dtype, base, f.mul(f.add(first, str(j)), stride), apart) for j in range(size)]

    def write(self, dtype: PtirDType, vectors: Sequence[str], base: str, first: str, steps: tuple[int, int]) -> None:
        """Write elements where `read` finds them."""
        stride, apart = steps
        if stride == 1 and apart != 1 and len(vectors) >= LEAST_SQUARE:
            self._turned_out(dtype, vectors, base, first, apart)
            return
        f = self.lanes.function
        for j, x in enumerate(vectors):
            self.lanes.store(dtype, x, base, f.mul(f.add(first, str(j)), stride), apart)

    def _turned_in(self, dtype: PtirDType, base: str, first: str, size: int, apart: int) -> list[str]:
        """Elements of lines whose elements are neighbours."""
        f, small, type = self.lanes.function, self.lanes.narrowed(size), register(dtype)
        parts: list[list[str]] = []
        for line in range(0, self.lanes.width, size):
            starts = [f.add(first, str((line + j) * apart)) for j in range(size)]
            parts.append(transposed(small, type, [small.load(dtype, base, start, 1) for start in starts]))
        return [self._joined(type, [part[j] for part in parts]) for j in range(size)]

    def _joined(self, type: str, parts: Sequence[str]) -> str:
        """Vectors one after another in one."""
        found, width = list(parts), self.lanes.width // len(parts)
        while len(found) > 1:
            of, mask = self.lanes.narrowed(width).of(type), ", ".join(f"i32 {i}" for i in range(2 * width))
            pairs = zip(found[::2], found[1::2], strict=True)
            found = [self.lanes.op(f"shufflevector {of} {a}, {of} {b}, <{2 * width} x i32> <{mask}>") for a, b in pairs]
            width *= 2
        return found[0]

    def _turned_out(self, dtype: PtirDType, vectors: Sequence[str], base: str, first: str, apart: int) -> None:
        """Write elements of lines whose elements are neighbours."""
        f, size, type, of = self.lanes.function, len(vectors), register(dtype), self.lanes.of(register(dtype))
        small = self.lanes.narrowed(size)
        for line in range(0, self.lanes.width, size):
            mask = ", ".join(f"i32 {line + i}" for i in range(size))
            rows = [self.lanes.op(f"shufflevector {of} {v}, {of} poison, <{size} x i32> <{mask}>") for v in vectors]
            for j, row in enumerate(transposed(small, type, rows)):
                small.store(dtype, row, base, f.add(first, str((line + j) * apart)), 1)
