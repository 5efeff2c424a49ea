"""
Systems of linear equations, inverses and determinants of small matrices, by an LU decomposition on the stack.

The decomposition is that of `matrices.py`. As with LAPACK, a pivot of 0 ends the call with an error where the matrix is inverted.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import prod

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import SI32

from .exponents import START, joined, multiplied
from .failures import Sites
from .ir import Function
from .kernel_text import argument, index_of, unflattened
from .lanes import register
from .matrices import Loops, StridedMatrix, decompose
from .matrix_steps import RATE
from .memory import Access, buffers_of
from .steps import NativeStep
from .target_info import TargetInfo
from .views import View, broadcast, form

SMALL = 2.0
"""Nanoseconds for an element of a small matrix, whose loops are short: more than its arithmetic."""


@dataclass
class LinearSystem(NativeStep):
    """
    Results of square matrices, by `kind`; `found` is dense, operands are broadcast over its leading axes.

    - `solve`: of `a` and `b` the solution of `a x = b`;
    - `inv`: the inverse;
    - `det`: the determinant.
    """

    name: str
    kind: str
    op: PtirOp
    given: Sequence[View]
    found: View

    @property
    def sources(self) -> Sequence[PtirOp]:
        return [self.op]

    @property
    def addresses(self) -> Sequence[View]:
        return [*self.given, self.found]

    @property
    def rows(self) -> int:
        """The number of rows of a matrix."""
        return self.given[0].shape[-1]

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading axes of the result."""
        return tuple(self.found.shape if self.kind == "det" else self.found.shape[:-2])

    def access(self) -> Access:
        return Access(buffers_of(self.given), buffers_of([self.found]))

    @property
    def flops(self) -> int:
        """Two for each product that is subtracted."""
        n = self.rows
        columns = 0 if self.kind == "det" else self.found.shape[-1]
        return prod(self.batch) * (n**3 * 2 // 3 + 2 * n * n * columns)

    def cost(self, host: TargetInfo) -> float:
        """That of its products, and of loops over the elements."""
        return self.flops / RATE + SMALL * prod(self.batch) * self.rows**2

    def key(self) -> Hashable:
        return self.kind, tuple(map(form, self.addresses))

    def contents(self) -> str:
        return f"{self.kind} of {' and '.join(str(list(view.shape)) for view in self.given)}"


def emit_system(f: Function, host: TargetInfo, step: LinearSystem, sites: Sites) -> int:
    """Emit the loop over matrices; return the number of matrices."""
    bases = [argument(f, i, "matrix") for i in range(len(step.addresses))]
    n, dtype, batch = step.rows, step.found.dtype, step.batch
    rooms = [
        StridedMatrix(f, kind, f.op(f"alloca [{count} x {register(kind)}], align 64", hint), strides)
        for kind, count, hint, strides in ((dtype, n * n, "packed", (n, 1)), *((SI32, n, "rows", (0, 1)),) * 2)
    ]
    square = Loops(f, host, dtype, (n, n))
    views = [broadcast(v, (*batch, *v.shape[-2:])) for v in step.given]
    for u in f.each("%begin", "%end", hint="matrix"):
        at = unflattened(f, u, batch) if batch else []
        matrices = [_at(f, v, base, at) for v, base in zip([*views, step.found], bases, strict=True)]
        decompose(square, "0", [matrices[0], *rooms])
        _FINISH[step.kind](_Solved(f, host, step, sites, rooms), matrices)
    f.ret("0")
    return prod(batch)


def _at(f: Function, view: View, base: str, at: Sequence[str]) -> StridedMatrix:
    """Return one matrix, or one number as a matrix, of a view."""
    count = len(at)
    start = index_of(f, View(view.base, view.dtype, view.shape[:count], view.strides[:count]), at)
    strides = (0, 0, *view.strides[count:])[-2:]
    return StridedMatrix(f, view.dtype, f.address(register(view.dtype), base, start), strides)


@dataclass
class _Solved:
    """A decomposition on the stack, and what is computed from it."""

    f: Function
    host: TargetInfo
    step: LinearSystem
    sites: Sites
    rooms: Sequence[StridedMatrix]

    def check(self) -> None:
        """Leave the kernel where a pivot is 0."""
        packed, n = self.rooms[0], self.step.rows
        loops = Loops(self.f, self.host, self.step.found.dtype, (n, n), self.sites, self.step.op)
        zero = loops.one.number(loops.type, 0.0)

        def is_zero(i: str) -> None:
            loops.fail_where(self.f.op(f"fcmp oeq {loops.type} {packed.load(loops.one, i, i)}, {zero}", "singular"))

        loops.each("0", str(n), is_zero)

    def substitute(self, found: StridedMatrix, side: Callable[[Loops, str, str], None]) -> None:
        """Solve both triangular systems; `side` puts row `i` of the result where row `order[i]` of the right-hand sides goes."""
        packed, _, order = self.rooms
        f, n, dtype = self.f, self.step.rows, self.step.found.dtype
        loops = Loops(f, self.host, dtype, (n, self.step.found.shape[-1]))
        columns = ("0", str(loops.columns))

        def forward(i: str) -> None:
            side(loops, i, f.op(f"sext i32 {order.load(loops.one, '0', i)} to i64", "source"))
            loops.less_rows(found, [i], columns, packed.splat, ("0", i))

        def backward(t: str) -> None:
            i = f.op(f"sub nsw i64 {n - 1}, {t}", "row")
            loops.less_rows(found, [i], columns, packed.splat, (f.add(i, "1"), str(n)))
            loops.divide(found, i, columns, packed.load(loops.one, i, i))

        loops.steps(str(n), forward)
        loops.steps(str(n), backward)


def _solve(solved: _Solved, matrices: Sequence[StridedMatrix]) -> None:
    _, b, found = matrices

    def side(loops: Loops, i: str, source: str) -> None:
        loops.along("0", str(loops.columns), lambda some: [found.store(to, b.load(to, source, j), i, j) for to, j in some])

    solved.check()
    solved.substitute(found, side)


def _inverse(solved: _Solved, matrices: Sequence[StridedMatrix]) -> None:
    """Solve for the columns of the identity."""
    found = matrices[1]

    def side(loops: Loops, i: str, source: str) -> None:
        one, zero = (loops.one.number(loops.type, value) for value in (1.0, 0.0))
        loops.along("0", str(loops.columns), lambda some: [found.store(to, to.splat(loops.type, zero), i, j) for to, j in some])
        found.store(loops.one, one, i, source)

    solved.check()
    solved.substitute(found, side)


def _determinant(solved: _Solved, matrices: Sequence[StridedMatrix]) -> None:
    """Multiply the diagonal, with the sign of the exchanges of rows."""
    packed, pivots, _ = solved.rooms
    f, n, dtype = solved.f, solved.step.rows, solved.step.found.dtype
    loops = Loops(f, solved.host, dtype, (n, n))
    one, type = loops.one, loops.type

    def factor(i: str, /, *carried: str) -> list[str]:
        x = one.convert("fpext", type, "double", packed.load(one, i, i))
        pivot = f.op(f"sext i32 {pivots.load(one, '0', i)} to i64", "pivot")
        exchanged = f.op(f"icmp ne i64 {pivot}, {i}", "exchanged")
        x = f.op(f"select i1 {exchanged}, double {f.op(f'fneg double {x}')}, double {x}")
        number, exponent = carried
        return multiplied(one, number, exponent, x)

    number, exponent = f.loop("0", str(n), 1, factor, [(type, one.number(type, value)) for type, value in START])
    product = joined(one, number, exponent)
    matrices[1].store(one, one.convert("fptrunc", "double", type, product), "0", "0")


_FINISH: dict[str, Callable[[_Solved, Sequence[StridedMatrix]], None]] = {"solve": _solve, "inv": _inverse, "det": _determinant}
"""By kind: computes a result from a decomposition, the operands and the result."""
