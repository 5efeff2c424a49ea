"""
Householder's reflectors of small matrices, one matrix in each lane of a vector.

They are LAPACK's (`dlarfg`): `1 - tau v v^T` with 1 as the first element of `v` makes a column's other elements 0, and the
sign of what remains is the opposite of what was there. Columns are scaled, so that their squares do not overflow.
"""

from __future__ import annotations

from .lane_rooms import Room, Work


def reflector(work: Work, a: Room, k: str, scales: Room) -> None:
    """Make the reflector of column `k` below its diagonal, which is written there, and its scale; of zeros there is none."""
    lanes, type, below = work.lanes, work.type, work.f.add(k, "1")

    def greater(r: str, /, *values: str) -> list[str]:
        x = a.load(r, k)
        some = lanes.compare("fcmp une", type, x, work.number(0.0))  # NaN, which a maximum may leave out, is some
        return [lanes.intrinsic("maxnum", type, values[0], work.magnitude(x)), lanes.binary("or", "i1", values[1], some)]

    start = [(type, work.number(0.0)), ("i1", lanes.number("i1", 0))]
    rest, some = work.fold(below, str(a.rows), greater, start)
    head = a.load(k, k)
    most = lanes.intrinsic("maxnum", type, rest, work.magnitude(head))
    most = lanes.select(work.is_zero(most), type, work.number(1.0), most)

    def squared(r: str, /, *values: str) -> list[str]:
        x = work.op("fdiv", a.load(r, k), most)
        return [work.plus(values[0], x, x)]

    first = work.op("fdiv", head, most)
    (squares,) = work.fold(below, str(a.rows), squared, [(type, work.op("fmul", first, first))])
    length = work.op("fmul", most, lanes.intrinsic("sqrt", type, squares))
    length = work.negative(lanes.intrinsic("copysign", type, length, head))
    tau = work.op("fdiv", work.op("fsub", length, head), length)
    scales.store(lanes.select(some, type, tau, work.number(0.0)), k, "0")
    divisor = lanes.select(some, type, work.op("fsub", head, length), work.number(1.0))
    for r in work.each(below, str(a.rows)):
        a.store(work.op("fdiv", a.load(r, k), divisor), r, k)
    a.store(lanes.select(some, type, length, head), k, k)


def reflected(work: Work, a: Room, k: str, scales: Room, x: Room, first: str) -> None:
    """Reflect matrices from column `first` on by the reflector in column `k`."""
    below, rows = work.f.add(k, "1"), str(a.rows)
    tau = scales.load(k, "0")
    is_none = work.is_zero(tau)
    for c in work.each(first, str(x.columns)):

        def term(r: str, /, *values: str, c: str = c) -> list[str]:
            return [work.plus(values[0], a.load(r, k), x.load(r, c))]

        head = x.load(k, c)
        (along,) = work.fold(below, rows, term, [(work.type, head)])
        along = work.lanes.select(is_none, work.type, work.number(0.0), work.op("fmul", along, tau))  # infinities stay
        x.store(work.op("fsub", head, along), k, c)
        for r in work.each(below, rows):
            x.store(work.less(x.load(r, c), along, a.load(r, k)), r, c)


def decomposed(work: Work, a: Room, q: Room, scales: Room) -> None:
    """Make R and its reflectors in place, then multiply the reflectors to Q, from the last one on."""
    for k in work.each("0", str(scales.rows)):
        reflector(work, a, k, scales)
        reflected(work, a, k, scales, a, work.f.add(k, "1"))
    work.identity(q)
    for k in work.backwards("0", str(scales.rows)):
        reflected(work, a, k, scales, q, k)
