"""
Eigenvalues and singular values of small matrices, one in each lane of a vector, by Jacobi's rotations.

Each sweep rotates every pair of rows once, until no lane has a pair that a rotation changes. Matrices are scaled first, so that
no square overflows or underflows. Matrices with infinities or NaN end the call, or have NaN for all results.

Golub and Van Loan: Matrix Computations, 4th edition, sections 8.5.2 and 8.6.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from .lane_reflectors import decomposed
from .lane_rooms import LaneMatrix, Room, Work

MOST_SWEEPS = 40
"""Sweeps at most: matrices of this size need up to ten."""
SMALLEST = 2.0**-53
"""The greatest magnitude of pairs, relative to their rows, for which a matrix is diagonal."""


def emit_eigenvalues(work: Work, starts: Sequence[str]) -> None:
    """Make symmetric matrices diagonal, of which the lower triangle is read, and sort the diagonal."""
    a, values, *rest = work.rooms
    work.read(0, starts[0], a)
    n = str(a.rows)
    scale = _scaled(work, a, lambda i: ("0", work.f.add(i, "1")))
    for room in rest:
        work.identity(room)

    def rotate(p: str, q: str, most: str) -> str:
        angle, most = _diagonalizing(work, a, p, q, most)
        for low, high, x, y in _pairs(work, p, q, n):
            for r in work.each(low, high):
                _rotated(work, a, angle, x(r), y(r))
        for room in rest:
            for r in work.each("0", n):
                _rotated(work, room, angle, (p, r), (q, r))
        return most

    _sweeps(work, a.rows, rotate)
    for i in work.each("0", n):
        values.store(work.op("fmul", a.load(i, i), scale), i, "0")
    _sorted(work, values, rest, "olt")
    _without(work, scale, [values, *rest])
    work.write(1, starts[1], values, (1, a.rows))
    if rest:
        work.write(2, starts[2], rest[0].transposed)


def emit_singular_values(work: Work, starts: Sequence[str]) -> None:
    """
    Make the columns of matrices, of at least as many rows, orthogonal, whose lengths are the singular values.

    The reflectors of the sorted columns multiply to the left vectors: they complete those of zeros to a basis.
    """
    a, values, *rest = work.rooms
    columns, n = a.transposed, str(a.columns)
    work.read(0, starts[0], a)
    scale = _scaled(work, a, lambda i: ("0", str(a.columns)))
    for room in rest[1:2]:
        work.identity(room)

    def rotate(p: str, q: str, most: str) -> str:
        angle, most = _orthogonalizing(work, columns, p, q, most)
        for room in (columns, *rest[1:2]):
            for r in work.each("0", str(room.columns)):
                _rotated(work, room, angle, (p, r), (q, r))
        return most

    _sweeps(work, a.columns, rotate)
    for i in work.each("0", n):
        values.store(work.lanes.intrinsic("sqrt", work.type, _product(work, columns, i, i)), i, "0")
    _sorted(work, values, [columns, *rest[1:2]], "ogt")
    for i in work.each("0", n):
        values.store(work.op("fmul", values.load(i, "0"), scale), i, "0")
    if rest:
        _left_vectors(work, a, rest[0], rest[2])
    _without(work, scale, [values, *rest[:2]])
    number = 2 if rest else 1
    work.write(number, starts[number], values, (1, a.columns))
    if rest:
        left, right, _ = rest
        work.write(1, starts[1], left)
        work.write(3, starts[3], right)


def _scaled(work: Work, a: Room, columns: Callable[[str], tuple[str, str]]) -> str:
    """Divide matrices by their greatest magnitudes, 1 for 0 and NaN for infinities, which are returned."""
    lanes, type = work.lanes, work.type

    def row(i: str, /, *values: str) -> list[str]:
        def element(j: str, /, *values: str) -> list[str]:
            x = work.magnitude(a.load(i, j))
            more = lanes.compare("fcmp ugt", type, x, values[0])
            number = lanes.compare("fcmp ord", type, values[0], values[0])
            return [lanes.select(lanes.binary("and", "i1", more, number), type, x, values[0])]

        return work.fold(*columns(i), element, [(type, values[0])])

    (most,) = work.fold("0", str(a.rows), row, [(type, work.number(0.0))])
    most = lanes.select(work.is_zero(most), type, work.number(1.0), work.op("fadd", most, work.op("fsub", most, most)))
    work.fail(lanes.compare("fcmp uno", type, most, most))
    for i in work.each("0", str(a.rows)):
        for j in work.each(*columns(i)):
            a.store(work.op("fdiv", a.load(i, j), most), i, j)
    return most


def _without(work: Work, scale: str, rooms: Sequence[Room]) -> None:
    """Write NaN for all results of matrices whose scale is NaN, where they do not end the call."""
    if work.step.failing is not None:
        return
    failed = work.lanes.compare("fcmp uno", work.type, scale, scale)
    for room in rooms:
        for i in work.each("0", str(room.rows)):
            for j in work.each("0", str(room.columns)):
                room.store(work.lanes.select(failed, work.type, work.number(math.nan), room.load(i, j)), i, j)


def _sweeps(work: Work, n: int, rotate: Callable[[str, str, str], str]) -> None:
    """Rotate all pairs of rows until no lane has a pair left; `rotate` returns the greatest magnitude of a pair so far."""
    f, lanes, type = work.f, work.lanes, work.type

    def goes_on(sweep: str, most: str) -> str:
        some = lanes.any(lanes.compare("fcmp ogt", type, most, work.number(SMALLEST)))
        return f.op(f"and i1 {some}, {f.op(f'icmp slt i64 {sweep}, {MOST_SWEEPS}')}")

    def sweep(number: str, _: str) -> Sequence[str]:
        def first(p: str, /, *values: str) -> list[str]:
            def second(q: str, /, *values: str) -> list[str]:
                return [rotate(p, q, values[0])]

            return work.fold(f.add(p, "1"), str(n), second, [(type, values[0])])

        (most,) = work.fold("0", str(n - 1), first, [(type, work.number(0.0))])
        return f.add(number, "1"), most

    f.repeat([("i64", "0"), (lanes.of(type), work.number(1.0))], goes_on, sweep)


def _pairs(
    work: Work, p: str, q: str, n: str
) -> Iterator[tuple[str, str, Callable[[str], tuple[str, str]], Callable[[str], tuple[str, str]]]]:
    """Return the other rows, and where the lower triangle has their elements of rows and columns `p < q`."""
    yield "0", p, lambda r: (p, r), lambda r: (q, r)
    yield work.f.add(p, "1"), q, lambda r: (r, p), lambda r: (q, r)
    yield work.f.add(q, "1"), n, lambda r: (r, p), lambda r: (r, q)


def _rotated(work: Work, a: LaneMatrix, angle: tuple[str, str], x: tuple[str, str], y: tuple[str, str]) -> None:
    """Replace two elements by `x cos - y sin` and `x sin + y cos`, given the sine and the tangent of half the angle."""
    (sine, half), first, second = angle, a.load(*x), a.load(*y)
    a.store(work.less(first, sine, work.plus(second, half, first)), *x)
    a.store(work.plus(second, sine, work.less(first, half, second)), *y)


def _rotation(work: Work, difference: str, twice: str) -> tuple[str, tuple[str, str]]:
    """Return the tangent of the smaller angle whose double has the tangent `twice / difference`, its sine, and half's tangent."""
    lanes, type, one, zero = work.lanes, work.type, work.number(1.0), work.number(0.0)
    square = work.plus(work.op("fmul", difference, difference), twice, twice)
    length = work.op("fadd", work.magnitude(difference), lanes.intrinsic("sqrt", type, square))
    is_none = work.is_zero(length)
    signed = lanes.select(lanes.compare("fcmp olt", type, difference, zero), type, work.negative(twice), twice)
    tangent = work.op("fdiv", lanes.select(is_none, type, zero, signed), lanes.select(is_none, type, one, length))
    cosine = work.op("fdiv", one, lanes.intrinsic("sqrt", type, work.plus(one, tangent, tangent)))
    sine = work.op("fmul", tangent, cosine)
    return tangent, (sine, work.op("fdiv", sine, work.op("fadd", one, cosine)))


def _greater(work: Work, x: str, most: str) -> str:
    return work.lanes.intrinsic("maxnum", work.type, x, most)


def _significant(work: Work, x: str, bound: float) -> str:
    """Return numbers, but 0 for those up to a bound, which are roundings."""
    is_small = work.lanes.compare("fcmp ole", work.type, work.magnitude(x), work.number(bound))
    return work.lanes.select(is_small, work.type, work.number(0.0), x)


def _diagonalizing(work: Work, a: Room, p: str, q: str, most: str) -> tuple[tuple[str, str], str]:
    """Make the element of two rows 0; return the rotation, and the greatest magnitude of such an element."""
    x, first, second = _significant(work, a.load(q, p), SMALLEST), a.load(p, p), a.load(q, q)
    tangent, angle = _rotation(work, work.op("fsub", second, first), work.op("fadd", x, x))
    a.store(work.less(first, tangent, x), p, p)
    a.store(work.plus(second, tangent, x), q, q)
    a.store(work.number(0.0), q, p)
    return angle, _greater(work, work.magnitude(x), most)


def _product(work: Work, a: LaneMatrix, p: str, q: str) -> str:
    """Return the product of two rows."""

    def term(r: str, /, *values: str) -> list[str]:
        return [work.plus(values[0], a.load(p, r), a.load(q, r))]

    return work.fold("0", str(a.columns), term, [(work.type, work.number(0.0))])[0]


def _orthogonalizing(work: Work, a: LaneMatrix, p: str, q: str, most: str) -> tuple[tuple[str, str], str]:
    """Return the rotation after which two rows are orthogonal, and the greatest cosine of two rows."""
    lanes, type = work.lanes, work.type
    first, x, second = _product(work, a, p, p), _product(work, a, p, q), _product(work, a, q, q)
    lengths = work.op("fmul", lanes.intrinsic("sqrt", type, first), lanes.intrinsic("sqrt", type, second))
    is_none = lanes.compare("fcmp olt", type, lengths, work.number(2.0**-1000))
    x = lanes.select(is_none, type, work.number(0.0), x)
    lengths = lanes.select(is_none, type, work.number(1.0), lengths)
    cosine = _significant(work, work.op("fdiv", work.magnitude(x), lengths), a.columns * SMALLEST)
    x = lanes.select(work.is_zero(cosine), type, work.number(0.0), x)
    _, angle = _rotation(work, work.op("fsub", second, first), work.op("fadd", x, x))
    return angle, _greater(work, cosine, most)


def _sorted(work: Work, values: Room, rows: Sequence[LaneMatrix], before: str) -> None:
    """Sort values and the rows with them, each time the first of those left."""
    lanes, type = work.lanes, work.type
    for i in work.each("0", str(values.rows - 1)):

        def better(r: str, /, *found: str) -> list[str]:
            x = values.load(r, "0")
            is_better = lanes.compare(f"fcmp {before}", type, x, found[0])
            return [lanes.select(is_better, type, x, found[0]), lanes.select(is_better, work.places, work.place(r), found[1])]

        start = [(type, values.load(i, "0")), (work.places, work.place(i))]
        place = work.fold(work.f.add(i, "1"), str(values.rows), better, start)[1]
        for room in (values, *rows):
            work.exchange(room, i, place, "0")


def _left_vectors(work: Work, a: Room, left: Room, scales: Room) -> None:
    """Make orthonormal columns, of which the first ones have the directions of orthogonal ones."""
    decomposed(work, a, left, scales)
    for k in work.each("0", str(a.columns)):
        is_turned = work.lanes.compare("fcmp olt", work.type, a.load(k, k), work.number(0.0))
        for r in work.each("0", str(left.rows)):
            x = left.load(r, k)
            left.store(work.lanes.select(is_turned, work.type, work.negative(x), x), r, k)
