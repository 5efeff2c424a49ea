"""
Fourier transforms along an axis across memory: as many neighbouring columns at a time as vectors have lanes.

They are interleaved transforms, so that all passes are over whole vectors. A line too long for the stack is treated as a matrix:
its columns are transformed, each number is multiplied by a root of unity (a twiddle factor), the matrix is transposed, and its
columns are transformed again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from math import log2, prod

import numpy as np

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.types import PtirDType

from .failures import Sites
from .fourier import RATE, SCRATCH
from .fourier_passes import FourierPasses, FourierStep, Parts, exchanged
from .fourier_tables import PRIMES, column_factors, padded_length, roots, split_roots
from .ir import Function
from .kernel_text import argument, unflattened
from .lanes import Lanes
from .target_info import LINE, TargetInfo
from .transposes import transposed
from .views import View, form

FEWEST = 4
"""Columns that are transformed at once, at least; fewer are copied to lines."""


@dataclass
class FourierColumns(FourierStep):
    """
    The transform `kind` of each column of the matrices `x`, stored in `out`; rows of both are contiguous.

    Where it `begins` the transforms of long lines, results are multiplied by roots of unity and stored transposed; `out` shares
    no memory with `x` then. Else `out` may be `x`.
    """

    name: str
    kind: str
    x: View
    factors: View
    out: View
    width: int
    """Lanes."""
    begins: bool = False

    @property
    def length(self) -> int:
        """Return the numbers of a column."""
        return self.x.shape[-2]

    @property
    def flops(self) -> int:
        """Return five for each number and bit of the length, with chirps those of two longer transforms, and six for a root."""
        return int(self.x.count * (5 * _passes_of(self.length) + 6 * self.begins))

    def cost(self, host: TargetInfo) -> float:
        return self.flops / RATE

    def key(self) -> Hashable:
        return self.kind, self.begins, self.width, *map(form, self.addresses)

    def contents(self) -> str:
        padded = padded_length(self.length, PRIMES)
        by = "" if padded == self.length else f" by chirps of {padded}"
        then = ", times roots of unity, transposed" if self.begins else ""
        return f"{self.kind} of the columns of {list(self.x.shape)}{by}{then}"

    @property
    def blocks(self) -> int:
        """Return the number of units of work of a matrix."""
        return -(-self.x.shape[-1] // self.width)


def columns_width(host: TargetInfo, real: PtirDType, length: int, columns: int) -> int | None:
    """Return the lanes of a transform of columns; None where they are few, or too long for the stack."""
    padded, lanes = padded_length(length, PRIMES), host.lanes(real.size)
    if columns < FEWEST or padded > _longest(host, real):
        return None
    fit = SCRATCH // (4 * real.size * padded)
    return min(lanes, *(1 << n.bit_length() - 1 for n in (fit, columns)))


def _longest(host: TargetInfo, real: PtirDType) -> int:
    """Return the numbers of the longest column: as many neighbours as a line of the caches holds fit the stack."""
    return SCRATCH // (4 * real.size * min(host.lanes(real.size), LINE // (2 * real.size)))


def _passes_of(length: int) -> float:
    """Return about how many passes of radix 2 a transform of a column is worth."""
    padded = padded_length(length, PRIMES)
    return log2(length) if padded == length else 2 * padded / length * log2(padded)


def matrix_of(host: TargetInfo, real: PtirDType, length: int) -> tuple[int, int] | None:
    """
    Return the rows and columns of the matrix that a long line is; None where there is none.

    It takes the fewest passes, then is in whole vectors and nearly square.
    """
    lanes, longest = host.lanes(real.size), _longest(host, real)
    found: list[tuple[float, int, float, tuple[int, int]]] = []
    for rows in range(max(lanes, FEWEST), longest + 1):
        columns, rest = divmod(length, rows)
        if rest or not max(lanes, FEWEST) <= columns <= longest:
            continue
        if max(padded_length(n, PRIMES) for n in (rows, columns)) <= longest:
            parts = 2 * (columns % lanes > 0) + (rows % lanes > 0)
            found.append((round(_passes_of(rows) + _passes_of(columns)), parts, abs(log2(rows / columns)), (rows, columns)))
    return min(found)[-1] if found else None


def matrix_factors(shape: Sequence[int], width: int, *, begins: bool) -> np.ndarray:
    """
    Return the factors of the columns of a matrix: those of the passes, then where they begin long lines the others.

    These are the roots by which the first columns are multiplied, and those by which the rows of later ones are in addition.
    """
    rows, columns = shape
    found = [column_factors(rows)]
    if begins:
        found.append(roots(np.outer(np.arange(rows), np.arange(width)), rows * columns).reshape(2, -1).ravel())
        found.append(split_roots(width, root_count(shape, width), rows * columns, 1))
    return np.concatenate(found)


def root_count(shape: Sequence[int], width: int) -> int:
    """Return the number of roots of unity that rows of blocks of columns are multiplied by."""
    rows, columns = shape
    return (rows - 1) * ((columns - 1) // width) + 1


def emit_columns(f: Function, host: TargetInfo, step: FourierColumns, sites: Sites) -> int:
    """Emit the loop over blocks of columns; return their number."""
    body, batch = _ColumnTransforms(f, host, step), step.x.shape[:-2]

    for u in f.each("%begin", "%end", hint="block"):
        *at, block = unflattened(f, u, [*batch, step.blocks])
        body.emit(block, *step.elements(f, at))
    f.ret("0")
    return prod(batch) * step.blocks


class _ColumnTransforms(FourierPasses):
    """Emits the transforms of a block of as many columns as lanes: row after row on the stack, a vector each."""

    def __init__(self, f: Function, host: TargetInfo, step: FourierColumns):
        self.x, factors, self.out = (argument(f, i, name) for i, name in enumerate(("x", "factors", "out")))
        super().__init__(f, host, step.factors.dtype, step.width, step.length, factors, together=True)
        self.step, self.rest = step, step.x.shape[-1] % step.width
        self.inverse = step.kind == "ifft"
        self.divisor = step.length if self.inverse else 1

    def emit(self, block: str, x: str, out: str) -> None:
        """Emit the transforms of a block of the matrix at element `x` of the operand into that at `out` of the result."""
        f, step = self.f, self.step
        column = f.mul(block, step.width)

        def load(index: str, at: str, lanes: Lanes) -> None:
            if step.x.dtype is self.real:
                value = lanes.load(self.real, at, "0", 1), lanes.constant(self.real, 0)
            else:
                value = self.load_interleaved(at, lanes)
            self.store(self.arrays[0], index, value, lanes)

        self._rows(step.x, self.x, f.add(x, column), block, load)
        source, _ = self.transform(inverse=self.inverse)
        if step.begins:
            self._store_transposed(source, self.address(self.out, f.add(out, f.mul(column, step.out.strides[-2]))), block)
            return

        def store(index: str, at: str, lanes: Lanes) -> None:
            self.store_interleaved(at, self.divided(self.load(source, index, lanes), self.divisor, lanes), lanes)

        self._rows(step.out, self.out, f.add(out, column), block, store)

    def _rows(self, view: View, base: str, first: str, block: str, body: Callable[[str, str, Lanes], None]) -> None:
        """Emit `body` for the index on the stack and the address of each row of a block, or each number of one not full."""
        f, step, parts = self.f, self.step, view.dtype.size // self.real.size
        base = f.address(self.type, base, f.mul(first, parts))

        def start(j: str) -> str:
            return f.address(self.type, base, f.mul(j, parts * view.strides[-2]))

        def full() -> None:
            for j in f.each("0", str(step.length), hint="row"):
                body(f.mul(j, step.width), start(j), self.wide)

        def part() -> None:
            for j in f.each("0", str(step.length), hint="row"):
                at = start(j)
                for lane in f.each("0", str(self.rest), hint="lane"):
                    body(f.add(f.mul(j, step.width), lane), f.address(self.type, at, f.mul(lane, parts)), self.one)

        if self.rest:
            f.choose(f.op(f"icmp slt i64 {block}, {step.blocks - 1}", "full"), full, part)
        else:
            full()

    def _store_transposed(self, source: Parts, out: str, block: str) -> None:
        """Store columns as rows, multiplied by roots of unity: squares of `width` rows are transposed in registers."""
        f, step, width = self.f, self.step, self.step.width
        tables = column_factors(step.length).size
        near = [f.address(self.type, self.factors, str(tables + part * step.length * width)) for part in range(2)]
        far = f.address(self.type, self.factors, str(tables + 2 * step.length * width))
        count = root_count(step.x.shape[-2:], width)
        columns = f.least(str(width), f.op(f"sub nsw i64 {step.x.shape[-1]}, {f.mul(block, width)}", "left"))

        def product(index: str) -> Parts:
            re, im = self.root(far, count, f.op(f"mul nsw i64 {index}, {block}", "place"), self.one)
            place = f.mul(index, width)
            common = self.wide.splat(self.type, re), self.wide.splat(self.type, im)
            by = self.times(self.load((near[0], near[1]), place), common)
            value = self.divided(self.load(source, place), self.divisor, self.wide)
            return exchanged(self.times(exchanged(value, self.inverse), by), self.inverse)

        def square(row: str) -> None:
            rows = [product(f.add(row, str(j))) for j in range(width)]
            parts = [transposed(self.wide, self.type, [value[part] for value in rows]) for part in range(2)]
            for lane, value in enumerate(zip(*parts, strict=True)):
                at = self.address(out, f.add(row, str(lane * step.out.strides[-2])))
                if self.rest <= lane and self.rest:
                    is_column = f.op(f"icmp slt i64 {lane}, {columns}", "there")
                    f.when(is_column, partial(self.store_interleaved, at, value, self.wide))
                else:
                    self.store_interleaved(at, value, self.wide)

        self.overlapping(square, step.length, width, "row")
