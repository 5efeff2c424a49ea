"""
Small matrices, one in each lane of a vector: decompositions, systems, inverses and determinants of a batch.

A pivot is another row in each lane, so that rows are exchanged by selections. LU decompositions and triangular systems are
computed as those of single matrices are (`matrices.py`), with the same bits; the others in f64, as NumPy computes them for f32
too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from . import vmath
from .exponents import START, joined, multiplied
from .failures import Sites
from .ir import Function
from .kernel_text import argument
from .lane_jacobi import emit_eigenvalues, emit_singular_values
from .lane_lines import each_unit
from .lane_reflectors import decomposed
from .lane_rooms import Room, Work
from .matrix_steps import LaneFactorization
from .target_info import TargetInfo


def emit_lane_factorization(f: Function, host: TargetInfo, step: LaneFactorization, sites: Sites) -> int:
    """Emit the loop over the units of work; how many there are."""
    bases = [argument(f, i, "matrix") for i in range(len(step.addresses))]
    work = Work(f, host, step, sites)
    for starts in each_unit(f, work.axes, work.lanes.width, list(zip(step.addresses, bases, strict=True))):
        EMITTERS[step.kind](work, starts)
    f.ret("0")
    return work.axes.units(work.lanes.width)


# Elimination


def _pivot(work: Work, a: Room, i: str) -> str:
    """Return the rows of the first of the greatest magnitudes in column `i` from row `i` on, or of the first NaN."""
    lanes, type = work.lanes, work.type

    def better(r: str, /, *values: str) -> list[str]:
        size = work.magnitude(a.load(r, i))
        more, number = (lanes.compare(f"fcmp {code}", type, x, values[0]) for code, x in (("ugt", size), ("ord", values[0])))
        is_better = lanes.binary("and", "i1", more, number)
        return [lanes.select(is_better, type, size, values[0]), lanes.select(is_better, work.places, work.place(r), values[1])]

    start = [(type, work.magnitude(a.load(i, i))), (work.places, work.place(i))]
    return work.fold(work.f.add(i, "1"), str(a.rows), better, start)[1]


def _eliminated(work: Work, a: Room, i: str, divisor: str, others: Sequence[Room], *, rounded: bool) -> None:
    """Divide column `i` by the pivots, and subtract multiples of row `i` from the rows below, of other matrices too."""
    below = work.f.add(i, "1")
    for r in work.each(below, str(a.rows)):
        factor = work.op("fdiv", a.load(r, i), divisor)
        a.store(factor, r, i)
        for room, first in ((a, below), *((b, "0") for b in others)):
            for c in work.each(first, str(room.columns)):
                room.store(work.less(room.load(r, c), factor, room.load(i, c), rounded=rounded), r, c)


def _lu(work: Work, starts: Sequence[str]) -> None:
    """Decompose with all rows exchanged; a pivot of 0 divides by 1."""
    a, order, pivots = work.rooms
    work.read(0, starts[0], a)
    for i in work.each("0", str(a.rows)):
        order.store(work.place(i), i, "0")
    for i in work.each("0", str(pivots.rows)):
        pivot = _pivot(work, a, i)
        pivots.store(pivot, i, "0")
        work.exchange(a, i, pivot, "0")
        work.exchange(order, i, pivot, "0")
        divisor = a.load(i, i)
        zero = work.is_zero(divisor)
        _eliminated(work, a, i, work.lanes.select(zero, work.type, work.number(1.0), divisor), (), rounded=True)
    work.write(1, starts[1], a)
    for number, room in ((2, pivots), (3, order)):
        work.write(number, starts[number], room, (1, room.rows))


def _pivots(
    work: Work, a: Room, body: Callable[[str, str, Sequence[str]], list[str]], initial: Sequence[tuple[str, float]]
) -> list[str]:
    """Return the values after `body(pivot, whether rows changed places, values)` for each pivot of an elimination."""
    lanes, type = work.lanes, work.type

    def column(i: str, /, *values: str) -> list[str]:
        row = _pivot(work, a, i)
        work.exchange(a, i, row, i)
        pivot = a.load(i, i)
        _eliminated(work, a, i, lanes.select(work.is_zero(pivot), type, work.number(1.0), pivot), (), rounded=False)
        return body(pivot, lanes.compare("icmp ne", work.places, row, work.place(i)), values)

    return work.fold("0", str(a.rows), column, [(type, lanes.number(type, value)) for type, value in initial])


def _determinant(work: Work, starts: Sequence[str]) -> None:
    """Multiply the pivots; each exchange of rows changes the sign."""
    (a,) = work.rooms
    lanes, type = work.lanes, work.type
    work.read(0, starts[0], a)

    def factor(pivot: str, changed: str, values: Sequence[str]) -> list[str]:
        return multiplied(lanes, values[0], values[1], lanes.select(changed, type, work.negative(pivot), pivot))

    work.write_number(1, starts[1], joined(lanes, *_pivots(work, a, factor, START)))


def _logarithm(work: Work, starts: Sequence[str]) -> None:
    """Multiply the signs of the pivots, and add up the logarithms of their magnitudes."""
    (a,) = work.rooms
    lanes, type, one, zero = work.lanes, work.type, work.number(1.0), work.number(0.0)
    work.read(0, starts[0], a)

    def factor(pivot: str, changed: str, values: Sequence[str]) -> list[str]:
        logarithm = vmath.call(lanes, "log", type, [work.magnitude(pivot)])
        above, below = (lanes.compare(f"fcmp {code}", type, pivot, zero) for code in ("ogt", "olt"))
        sign = lanes.select(above, type, one, lanes.select(below, type, work.number(-1.0), pivot))
        sign = lanes.select(changed, type, work.negative(sign), sign)
        return [work.op("fmul", values[0], sign), work.op("fadd", values[1], logarithm)]

    for number, x in enumerate(_pivots(work, a, factor, [(type, 1.0), (type, 0.0)]), 1):
        work.write_number(number, starts[number], x)


def _system(work: Work, starts: Sequence[str]) -> None:
    """Eliminate with the right-hand sides, those of an inverse the columns of the identity, then substitute backwards."""
    a, b = work.rooms
    work.read(0, starts[0], a)
    if len(work.step.given) > 1:
        work.read(1, starts[1], b)
    else:
        work.identity(b)
    for i in work.each("0", str(a.rows)):
        pivot = _pivot(work, a, i)
        work.exchange(a, i, pivot, i)
        work.exchange(b, i, pivot, "0")
        divisor = a.load(i, i)
        work.fail(work.is_zero(divisor))
        _eliminated(work, a, i, divisor, [b], rounded=False)
    _substituted(work, a, b, lower=False)
    work.write(len(work.step.given), starts[-1], b)


def _substituted(work: Work, a: Room, x: Room, *, lower: bool) -> None:
    """Replace right-hand sides by the solutions, of which each needs those before it, or behind it."""
    n = str(a.rows)
    for i in work.each("0", n) if lower else work.backwards("0", n):
        known = ("0", i) if lower else (work.f.add(i, "1"), n)
        divisor = a.load(i, i)
        for c in work.each("0", str(x.columns)):

            def term(k: str, /, *values: str, c: str = c, i: str = i) -> list[str]:
                return [work.less(values[0], a.load(i, k), x.load(k, c))]

            (left,) = work.fold(*known, term, [(work.type, x.load(i, c))])
            x.store(work.op("fdiv", left, divisor), i, c)


def _triangular(lower: bool) -> Callable[[Work, Sequence[str]], None]:
    def emit(work: Work, starts: Sequence[str]) -> None:
        """Substitute."""
        a, x = work.rooms
        work.read(0, starts[0], a)
        work.read(1, starts[1], x)
        _substituted(work, a, x, lower=lower)
        work.write(2, starts[2], x)

    return emit


# Factors


def _cholesky(work: Work, starts: Sequence[str]) -> None:
    """
    Make the lower factor column by column; where a pivot is not greater than 0 there is none: NaN, or a failure.

    A pivot of NaN is no failure: as with LAPACK, NaN is in what depends on it.
    """
    (a,) = work.rooms
    f, lanes, type, n = work.f, work.lanes, work.type, str(a.rows)
    nan = work.number(float("nan"))
    work.read(0, starts[0], a)

    def column(i: str, /, *values: str) -> list[str]:
        below = f.add(i, "1")
        pivot = a.load(i, i)
        wrong = lanes.compare("fcmp ule", type, pivot, work.number(0.0))
        root = lanes.select(wrong, type, nan, lanes.intrinsic("sqrt", type, pivot))
        a.store(root, i, i)
        for r in work.each(below, n):
            a.store(work.op("fdiv", a.load(r, i), root), r, i)
        for c in work.each(below, n):
            factor = a.load(c, i)
            for r in work.each(c, n):
                a.store(work.less(a.load(r, c), factor, a.load(r, i)), r, c)
        if work.step.failing is not None:
            wrong = lanes.compare("fcmp ole", type, pivot, work.number(0.0))
        return [lanes.binary("or", "i1", values[0], wrong)]

    (failed,) = work.fold("0", n, column, [("i1", lanes.number("i1", 0))])
    work.fail(failed)
    for i in work.each("0", n):
        for j in work.each(f.add(i, "1"), n):
            a.store(work.number(0.0), i, j)
        if work.step.failing is None:
            for j in work.each("0", n):
                a.store(lanes.select(failed, type, nan, a.load(i, j)), i, j)
    work.write(1, starts[1], a)


def _reflectors(work: Work, starts: Sequence[str]) -> None:
    """Decompose matrices into Q and R, or into R with its reflectors, their scales, and Q."""
    a, q, scales = work.rooms
    work.read(0, starts[0], a)
    decomposed(work, a, q, scales)
    given = len(work.step.given)
    if work.step.kind == "geqrf":
        work.write(given, starts[1], a)
        work.write(given + 1, starts[2], scales, (1, scales.rows))
        work.write(given + 2, starts[3], q)
        return
    work.write(given, starts[1], q)
    for i in work.each("0", str(a.rows)):
        for j in work.each("0", work.f.least(i, str(a.columns))):
            a.store(work.number(0.0), i, j)
    work.write(given + 1, starts[2], a, (work.step.found[1].shape[-2], a.columns))


EMITTERS: dict[str, Callable[[Work, Sequence[str]], None]] = {
    "lu": _lu,
    "cholesky": _cholesky,
    "solve_lower": _triangular(True),
    "solve_upper": _triangular(False),
    "solve": _system,
    "inv": _system,
    "det": _determinant,
    "slogdet": _logarithm,
    "qr": _reflectors,
    "geqrf": _reflectors,
    **dict.fromkeys(("eigh", "eigvalsh"), emit_eigenvalues),
    **dict.fromkeys(("svd", "svdvals"), emit_singular_values),
}
"""By kind: given where the matrices of a unit of work begin."""
