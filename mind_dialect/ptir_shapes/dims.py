"""Dimensions: what is known of them, when they must be equal, and the axes that name them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import MindError, brief, error
from ..extents.dims import (
    UNKNOWN,
    Dim,
    add_dims,
    are_equal,
    are_related,
    are_unequal,
    is_expression,
    is_nonnegative,
    simplicity,
    sub_dims,
)
from ..extents.expr import MAX_COEFFICIENT
from ..extents.recording import Requirement, is_internal, recorder
from ..shapes.extents import MAX_EXTENT, axis_error

INFER = -1
"""In `reshape`, the one extent that follows from the others."""
Dims = tuple[Dim, ...]
Pairs = tuple[tuple[int, int], ...]


def meet(a: Dim, b: Dim) -> Dim | None:
    """
    Return what is known of two dimensions that must be equal: a size says more than a name, a name more than an expression, which
    says more than nothing; None if they are unequal for all sizes of names.

    >>> meet("B", 4), meet("?", "B"), meet("B", "C"), meet(3, 4), meet("P+T", "N"), meet("T", "T+1")
    (4, 'B', 'B', None, 'N', None)
    """
    if a == b or b == UNKNOWN:
        return a
    if a == UNKNOWN:
        return b
    if are_unequal(a, b):
        return None
    if is_expression(a) or is_expression(b):
        return min(a, b, key=simplicity)
    return b if isinstance(b, int) or is_internal(a) else a


def require(a: Dim, relation: str, b: Dim, code: str, wording: str, **context: Any) -> None:
    """
    Demand that two dimensions are in a relation, `==`, `!=`, `<=`, `>=`, `<` or `>`: the one hook of all rules.

    What is broken for all sizes of names is refused with `code`. What is broken for some of them only is left to the run, unless
    a `Recorder` keeps it. `wording` has `{lhs}` and `{rhs}` for the dimensions, and nothing else that only the run knows.

    >>> require("T", "<=", 4, "E3003", "{lhs} of {rhs}", dimension="x", extents=())
    >>> require("T+1", "<=", "T", "E3003", "{lhs} of {rhs}", dimension="x", extents=())
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3003: T+1 of T
    """
    limit = b
    if relation == "<=" and isinstance(a, int) and a >= MAX_COEFFICIENT and not isinstance(b, int):
        limit = MAX_COEFFICIENT - 1  # no expression holds more, so that no run would check it
    known = are_related(a, relation, limit)
    if known is False:
        raise error(code, wording.format(lhs=a, rhs=b), **context)
    if known is None and (record := recorder()) is not None:
        record.requirements.append(Requirement(a, relation, b, code, wording))


def same_shape(first: Dims, *others: Dims, category: str | None = None) -> Dims:
    """
    The common shape: no implicit broadcasting.

    >>> same_shape((2, "B"), (2, 3))
    (2, 3)
    >>> same_shape((2, 3), (2, 1))
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3001: shapes [2, 3] and [2, 1] differ at dimension 1: 3 and 1; broadcast_to makes them equal
    """
    result, record = first, recorder()
    for other in others:
        if other is result or other == result:
            continue
        if len(other) != len(result):
            message = f"shapes {list(first)} and {list(other)} differ in rank; broadcast_to makes them equal"
            raise error("E3002", message, category=category, expected=len(result), actual=len(other))
        dims, open_ = list[Dim](), False
        for i, (m, n) in enumerate(zip(result, other, strict=True)):
            if (d := meet(m, n)) is None:
                message = f"shapes {brief(list(result))} and {brief(list(other))} differ at dimension {i}: {m} and {n}"
                raise error(
                    "E3001",
                    f"{message}; broadcast_to makes them equal",
                    category=category,
                    shapes=(result, other),
                    dimension=i,
                    extents=(m, n),
                )
            dims.append(d)
            open_ = open_ or (record is not None and are_equal(m, n) is not True)
        if open_ and record is not None:
            record.requirements.append(Requirement(result, "same", other, "E3001", ""))
        result = tuple(dims)
    return result


def equal_dims(what: str, m: Dim, n: Dim) -> Dim:
    """
    Demand that two dimensions are equal, and return what is known of them; E3003 if they differ for all sizes.

    >>> equal_dims("contracted", 3, 4)
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3003: contracted extents 3 and 4, expected equal
    """
    if m != n or m == UNKNOWN:
        wording = f"{what} extents {{lhs}} and {{rhs}}, expected equal"
        require(m, "==", n, "E3003", wording, dimension=what, extents=(m, n))
    found = meet(m, n)
    return m if found is None else found


def extents(shape: Sequence[Dim], least: int = 0) -> Dims:
    """
    A stated shape: sizes from `least` up, names, nothing unknown.

    >>> extents([3, "B"])
    (3, 'B')
    >>> extents([3, -2])
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3006: extent -2 at 1 in [3, -2], expected 0 to 2^63 - 1 or a name
    """
    for i, n in enumerate(shape):
        if n == UNKNOWN or (isinstance(n, int) and not least <= n <= MAX_EXTENT):
            message = f"extent {brief(n)} at {i} in {brief(list(shape))}, expected {least} to 2^63 - 1 or a name"
            raise error("E3006", message, category="NegativeDimension", shape=tuple(shape), index=i, value=n)
        if is_expression(n):
            context = {"shape": tuple(shape), "index": i, "value": n}
            require(n, ">=", least, "E3006", f"extent {{lhs}} at {i}, {n}, expected at least {least}", **context)
    return tuple(shape)


def bounded(shape: Sequence[Dim]) -> Dims:
    """A derived shape; E3006 for an extent that nothing can hold."""
    for i, n in enumerate(shape):
        if isinstance(n, int) and not 0 <= n <= MAX_EXTENT:
            message = f"result extent {brief(n)} at {i} in {brief(list(shape))}, expected 0 to 2^63 - 1"
            raise error("E3006", message, category="NegativeDimension", shape=tuple(shape), index=i, value=n)
    return tuple(shape)


def rank_error(what: str, expected: object, actual: int) -> MindError:
    """E3002: something has the wrong rank or length."""
    return error("E3002", f"{what} has rank {actual}, expected {expected}", expected=expected, actual=actual)


def lengths(rank: int, **lists: Sequence[object]) -> None:
    """
    Raise E4007 unless each list has one entry per dimension.

    >>> lengths(2, starts=(0,))
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E4007: starts has 1 entries, expected 2, one per dimension
    """
    for name, entries in lists.items():
        if len(entries) != rank:
            message = f"{name} has {len(entries)} entries, expected {rank}, one per dimension"
            raise error("E4007", message, rank=rank, lengths=tuple(len(v) for v in lists.values()))


def at_least(least: int, **lists: Sequence[Dim]) -> None:
    """
    Raise E8002 for an entry below `least`; for one that is an expression, if it is below for all sizes of names.

    >>> at_least(1, strides=(2, 0))
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E8002: strides [2, 0] holds 0, expected at least 1
    """
    for name, entries in lists.items():
        for n in entries:
            if not (isinstance(n, int) and n >= least):
                wording = f"{name} {brief(list(entries))} holds {{lhs}}, expected at least {least}"
                require(n, ">=", least, "E8002", wording, attribute=name, value=n)


def require_inside(start: Dim, size: Dim, n: Dim, code: str, wording: str, negative: str, **context: Any) -> None:
    """
    Demand that `size` elements from `start` on are among `n`: `0 <= start`, `0 <= size` and `start + size <= n`.

    `negative` is the wording where one of the first two is broken.

    >>> require_inside("P", "T", "P+T", "E4012", "{lhs} of {rhs}", "", dimension=0, bounds=(), extent=0)
    >>> require_inside(1, "T", "T", "E4012", "{lhs} of {rhs}", "", dimension=0, bounds=(), extent=0)
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E4012: T+1 of T
    """
    for least in (start, size):
        require(least, ">=", 0, code, negative, **context)
    require(add_dims(start, size), "<=", n, code, wording, **context)


def is_inside(start: Dim, size: Dim, n: Dim) -> bool:
    """Return whether sizes say that `size` elements from `start` on are among `n`; False for names: see `holds`."""
    return isinstance(start, int) and isinstance(size, int) and isinstance(n, int) and 0 <= start <= start + size <= n


def holds(start: Dim, size: Dim, n: Dim) -> bool:
    """
    Return whether `size` elements from `start` on are among `n`, for all sizes of names.

    >>> holds("P", "T", "P+T"), holds(0, "N-2", "N"), holds(0, 2, "?")
    (True, False, False)
    """
    return all((is_nonnegative(start), is_nonnegative(size), is_nonnegative(sub_dims(n, add_dims(start, size)))))


def axis(a: int, rank: int) -> int:
    """
    An axis in [0, rank).

    >>> axis(-1, 3)
    2
    >>> axis(3, 3)
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3004: axis 3 is out of range for rank 3, expected -3 <= axis < 3
    """
    if not -rank <= a < rank:
        raise axis_error(a, rank, -rank)
    return a + rank if a < 0 else a


def axes(given: Sequence[int], rank: int) -> tuple[int, ...]:
    """
    Axes in [0, rank) in the given order; duplicates are found after negative ones are resolved.

    >>> axes((-1, 0), 3)
    (2, 0)
    >>> axes((2, -1), 3)
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3005: axis 2 is given twice in [2, -1]
    """
    found: list[int] = []
    seen: set[int] = set()
    for a in given:
        n = axis(a, rank)
        if n in seen:
            raise error("E3005", f"axis {n} is given twice in {brief(list(given))}", axes=tuple(given), duplicate=n)
        seen.add(n)
        found.append(n)
    return tuple(found)
