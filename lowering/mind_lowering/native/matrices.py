"""
LU decompositions, triangular systems and Cholesky factors, computed in place in the results, row by row.

An LU decomposition subtracts from all rows below, as `mind_array`'s function for NumPy does: each product and each difference is
rounded, so that the bits are the same. Rows of a solution and of a factor are sums over the rows before, kept in registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import PtirDType

from .failures import Failure, Sites
from .ir import Function
from .kernel_text import PATIENCE, argument, fail_where, index_of, multiply_add, poll, unflattened
from .lanes import Lanes, register
from .matrix_steps import Factorization
from .target_info import TargetInfo
from .views import View

COLUMNS = 64
"""Columns of right-hand sides that are one unit of work."""
PANEL = 16
"""Columns of an LU decomposition that are decomposed before those right of them."""
VECTORS = 4
"""Sums of a row that are made at once."""
FEW = 4
"""Lanes of vectors so short that what is left of one is computed one by one."""


@dataclass(frozen=True)
class StridedMatrix:
    """One matrix in memory."""

    f: Function
    dtype: PtirDType
    base: str
    strides: Sequence[int]

    def at(self, row: str, column: str) -> str:
        """The place of an element."""
        return self.f.add(self.f.mul(row, self.strides[0]), self.f.mul(column, self.strides[1]))

    def load(self, lanes: Lanes, row: str, column: str) -> str:
        """Elements of a row from a column on."""
        return lanes.load(self.dtype, self.base, self.at(row, column), self.strides[1])

    def splat(self, lanes: Lanes, row: str, column: str) -> str:
        """One element in every lane."""
        return lanes.load(self.dtype, self.base, self.at(row, column), 0)

    def store(self, lanes: Lanes, value: str, row: str, column: str) -> None:
        """Put elements where `load` finds them."""
        lanes.store(self.dtype, value, self.base, self.at(row, column), self.strides[1])


def emit_factorization(f: Function, host: TargetInfo, step: Factorization, sites: Sites) -> int:
    """Emit the loops over matrices; how many units of work there are."""
    bases = [argument(f, i, "matrix") for i in range(len(step.addresses))]
    batch = step.found[0].shape[:-2]
    parts = -(-step.found[0].shape[-1] // COLUMNS) if step.kind.startswith("solve") else 1
    emit = EMITTERS[step.kind]
    for u in f.each("%begin", "%end", hint="matrix"):
        *at, part = unflattened(f, u, [*batch, parts])
        starts = [index_of(f, View(v.base, v.dtype, batch, v.strides[: len(batch)]), at) for v in step.addresses]
        matrices = [
            StridedMatrix(f, v.dtype, f.address(register(v.dtype), base, start), (0, *v.strides[len(batch) :])[-2:])
            for v, base, start in zip(step.addresses, bases, starts, strict=True)
        ]
        loops = Loops(f, host, step.found[0].dtype, step.found[0].shape[-2:], sites, step.failing)
        emit(loops, f.mul(part, COLUMNS), matrices)
    f.ret("0")
    return prod(batch) * parts


class Loops:
    """Loops of all the algorithms: over rows, and over the columns of rows by vectors."""

    def __init__(
        self,
        f: Function,
        host: TargetInfo,
        dtype: PtirDType,
        shape: Sequence[int],
        sites: Sites | None = None,
        failing: PtirOp | None = None,
    ):
        self.sites, self.failing = sites, failing
        self.f, self.dtype, self.type = f, dtype, register(dtype)
        self.rows, self.columns = shape
        self.one = Lanes(f, host, 1)
        self.wide = Lanes(f, host, min(host.lanes(dtype.size), 1 << max(self.columns - 1, 0).bit_length()))

    def fail_where(self, wrong: str) -> None:
        """Leave the kernel where a matrix has no inverse, or no factor, if that is an error."""
        if self.sites is not None and self.failing is not None:
            fail_where(self.one, self.sites, wrong, Failure.SINGULAR, self.failing, [])

    def steps(self, count: str, body: Callable[[str], None]) -> None:
        """A loop over rows, or columns, one after the other; one that takes long looks for signals."""

        def iteration(i: str) -> None:
            if self.rows * self.columns > PATIENCE:
                poll(self.f)
            body(i)

        self.each("0", count, iteration)

    def each(self, low: str, high: str, body: Callable[[str], None], step: int = 1) -> None:
        """A short loop over rows, or columns."""
        for i in self.f.each(low, high, step):
            body(i)

    def along(self, low: str, high: str, body: Callable[[Sequence[tuple[Lanes, str]]], object], vectors: int = 1) -> None:
        """The columns from `low` to `high`, some vectors at a time, then one, then those that are left."""
        f, width = self.f, self.wide.width
        sizes = [(vectors, self.wide), (1, self.wide)] + ([(1, self.one)] if width <= FEW else [])
        for count, lanes in [(count, lanes) for count, lanes in sizes if count * lanes.width <= self.columns]:
            size, end = count * lanes.width, high
            if size > 1:
                left = f.op(f"sub nsw i64 {high}, {low}", "left")
                end = f.add(low, f.mul(f.op(f"sdiv i64 {left}, {size}", "times"), size))
            for j in f.each(low, end, size, hint="column"):
                body([(lanes, f.add(j, str(v * lanes.width))) for v in range(count)])
            low = end
        if width > FEW:

            def rest() -> None:
                body([(self._first(low, high), low)])

            f.when(f.op(f"icmp slt i64 {low}, {high}", "some"), rest)

    def _first(self, low: str, high: str) -> Lanes:
        """A vector of which only as many lanes count as there are columns."""
        lanes = self.wide
        left = self.f.op(f"trunc i64 {self.f.op(f'sub nsw i64 {high}, {low}', 'left')} to i32", "left")
        steps = ", ".join(f"i32 {i}" for i in range(lanes.width))
        return replace(lanes, mask=lanes.compare("icmp slt", "i32", f"<{steps}>", lanes.splat("i32", left)))

    def copy(self, source: StridedMatrix, target: StridedMatrix, low: str, high: str) -> None:
        """Some columns of a matrix."""

        def row(i: str) -> None:
            self.along(low, high, lambda some: [target.store(to, source.load(to, i, j), i, j) for to, j in some])

        self.steps(str(self.rows), row)

    def exchange(self, x: StridedMatrix, place: tuple[str, str], other: tuple[str, str], lanes: Lanes) -> None:
        """Exchange elements of two rows."""
        a, b = x.load(lanes, *place), x.load(lanes, *other)
        x.store(lanes, b, *place)
        x.store(lanes, a, *other)

    def less_rows(
        self,
        x: StridedMatrix,
        rows: Sequence[str],
        columns: tuple[str, str],
        by: Callable[[Lanes, str, str], str],
        known: tuple[str, str],
        rounded: bool = False,
    ) -> None:
        """`x[row, columns] -= by(row, k) * x[k, columns]` for known rows `k`, in order; products are `rounded`, or not."""

        def part(some: Sequence[tuple[Lanes, str]]) -> None:
            lanes = some[0][0]
            places = [(row, j) for row in rows for _, j in some]
            initial = [(lanes.of(self.type), x.load(lanes, *place)) for place in places]

            def term(k: str, /, *sums: str) -> list[str]:
                factors = [by(lanes, row, k) for row in rows]
                read = [x.load(lanes, k, j) for _, j in some]
                pairs = [(factor, v) for factor in factors for v in read]
                return [self._less(lanes, rounded, *pair, s) for pair, s in zip(pairs, sums, strict=True)]

            for place, value in zip(places, self.f.loop(*known, 1, term, initial, hint="k"), strict=True):
                x.store(lanes, value, *place)

        self.along(*columns, part, VECTORS)

    def _less(self, lanes: Lanes, rounded: bool, a: str, b: str, c: str) -> str:
        """`c - a * b`."""
        if rounded:
            return lanes.binary("fsub", self.type, c, lanes.binary("fmul", self.type, a, b))
        return multiply_add(lanes, self.dtype, lanes.op(f"fneg {lanes.of(self.type)} {a}"), b, c)

    def pairs(self, low: str, high: str, body: Callable[[Sequence[str]], None]) -> None:
        """Rows from `low` to `high`, two at a time, then one that is left."""
        f = self.f
        left = f.op(f"sub nsw i64 {high}, {low}", "left")
        end = f.add(low, f.mul(f.op(f"sdiv i64 {left}, 2", "times"), 2))
        self.each(low, end, lambda r: body([r, f.add(r, "1")]), 2)
        self.each(end, high, lambda r: body([r]))

    def divide(self, x: StridedMatrix, row: str, columns: tuple[str, str], divisor: str) -> None:
        """Divide elements of a row by a scalar."""

        def part(some: Sequence[tuple[Lanes, str]]) -> None:
            for lanes, j in some:
                by = lanes.splat(self.type, divisor)
                x.store(lanes, lanes.binary("fdiv", self.type, x.load(lanes, row, j), by), row, j)

        self.along(*columns, part)


def _solve(lower: bool) -> Callable[[Loops, str, Sequence[StridedMatrix]], None]:
    def emit(loops: Loops, first: str, matrices: Sequence[StridedMatrix]) -> None:
        """Substitute, for `COLUMNS` right-hand sides from the first one on."""
        a, b, x = matrices
        f, n = loops.f, loops.rows
        some = (first, f.least(f.add(first, str(COLUMNS)), str(loops.columns)))
        loops.copy(b, x, *some)

        def row(t: str) -> None:
            i = t if lower else f.op(f"sub nsw i64 {n - 1}, {t}", "row")
            known = ("0", i) if lower else (f.add(i, "1"), str(n))
            loops.less_rows(x, [i], some, a.splat, known)
            loops.divide(x, i, some, a.splat(loops.one, i, i))

        loops.steps(str(n), row)

    return emit


def _cholesky(loops: Loops, first: str, matrices: Sequence[StridedMatrix]) -> None:
    """
    Make the rows of the upper factor, each contiguous, then turn it.

    As with LAPACK there is none where a number on the diagonal is not greater than 0. NaN there makes all that follow NaN, and
    all of the factor NaN unless a matrix without a factor is an error.
    """
    x, u = matrices
    f, one, n, type = loops.f, loops.one, str(loops.rows), loops.type
    nan = one.number(type, float("nan"))

    def row(i: str) -> None:
        loops.each(i, n, lambda j: u.store(one, x.load(one, j, i), i, j))
        loops.less_rows(u, [i], (i, n), lambda lanes, row, k: u.splat(lanes, k, row), ("0", i))
        pivot = u.load(one, i, i)
        loops.fail_where(f.op(f"fcmp ole {type} {pivot}, {one.number(type, 0.0)}", "negative"))
        wrong = f.op(f"fcmp ule {type} {pivot}, {one.number(type, 0.0)}", "wrong")
        root = one.select(wrong, type, nan, one.intrinsic("sqrt", type, pivot))
        u.store(one, root, i, i)
        loops.divide(u, i, (f.add(i, "1"), n), root)

    def turned(i: str) -> None:
        def element(j: str) -> None:
            u.store(one, u.load(one, i, j), j, i)
            u.store(one, one.number(type, 0.0), i, j)

        loops.each(f.add(i, "1"), n, element)

    def without(i: str) -> None:
        loops.each("0", n, lambda j: u.store(one, nan, i, j))

    loops.steps(n, row)
    loops.steps(n, turned)
    if loops.failing is not None:
        return
    last = u.load(one, str(loops.rows - 1), str(loops.rows - 1))
    failed = f.op(f"fcmp uno {type} {last}, {last}", "failed")
    f.when(failed, lambda: loops.steps(n, without))


def decompose(loops: Loops, first: str, matrices: Sequence[StridedMatrix]) -> None:
    """Decompose some columns at a time, with all rows exchanged; then what these columns subtract from those right of them."""
    x, packed, pivots, order = matrices
    f, rows, columns = loops.f, str(loops.rows), str(loops.columns)
    loops.copy(x, packed, "0", columns)
    loops.each("0", rows, lambda i: order.store(loops.one, f.op(f"trunc i64 {i} to i32"), "0", i))

    def panel(p: str) -> None:
        start = f.mul(p, PANEL)
        end = f.least(f.add(start, str(PANEL)), str(min(loops.rows, loops.columns)))

        def pivot(i: str) -> None:
            other = pivot_row(loops, packed, i)
            pivots.store(loops.one, f.op(f"trunc i64 {other} to i32"), "0", i)
            loops.exchange(order, ("0", i), ("0", other), loops.one)
            loops.along("0", columns, lambda some: [loops.exchange(packed, (i, j), (other, j), to) for to, j in some])
            _below(loops, packed, i, end)

        def less(some: Sequence[str], known: str) -> None:
            loops.less_rows(packed, some, (end, columns), packed.splat, (start, known), rounded=True)

        loops.each(start, end, pivot)
        loops.each(f.add(start, "1"), end, lambda r: less([r], r))
        loops.pairs(end, rows, lambda some: less(some, end))

    loops.steps(str(-(-min(loops.rows, loops.columns) // PANEL)), panel)


def pivot_row(loops: Loops, packed: StridedMatrix, i: str) -> str:
    """Return the row of the first of the greatest magnitudes in column `i` from row `i` on, or of the first NaN."""
    f, one, type = loops.f, loops.one, loops.type

    def better(r: str, /, *values: str) -> list[str]:
        size = one.intrinsic("fabs", type, packed.load(one, r, i))
        more, number = (f.op(f"fcmp {code} {type} {a}, {values[0]}") for code, a in (("ugt", size), ("ord", values[0])))
        is_better = f.op(f"and i1 {more}, {number}", "better")
        return [
            f.op(f"select i1 {is_better}, {t} {a}, {t} {b}") for t, a, b in zip((type, "i64"), (size, r), values, strict=True)
        ]

    start = [(type, one.intrinsic("fabs", type, packed.load(one, i, i))), ("i64", i)]
    return f.loop(f.add(i, "1"), str(loops.rows), 1, better, start, hint="row")[1]


def _below(loops: Loops, packed: StridedMatrix, i: str, end: str) -> None:
    """Divide column `i` by the pivot, 1 for one of 0, and subtract from the columns up to `end`."""
    f, one, type = loops.f, loops.one, loops.type
    divisor = packed.load(one, i, i)
    zero = f.op(f"fcmp oeq {type} {divisor}, {one.number(type, 0.0)}", "zero")
    divisor = f.op(f"select i1 {zero}, {type} {one.number(type, 1.0)}, {type} {divisor}", "divisor")

    def row(r: str) -> None:
        factor = one.binary("fdiv", type, packed.load(one, r, i), divisor)
        packed.store(one, factor, r, i)
        loops.less_rows(packed, [r], (f.add(i, "1"), end), packed.splat, (i, f.add(i, "1")), rounded=True)

    loops.each(f.add(i, "1"), str(loops.rows), row)


EMITTERS: dict[str, Callable[[Loops, str, Sequence[StridedMatrix]], None]] = {
    "lu": decompose,
    "cholesky": _cholesky,
    "solve_lower": _solve(True),
    "solve_upper": _solve(False),
}
"""By kind: given the first column of a unit of work, and the matrices of its operands and results."""
