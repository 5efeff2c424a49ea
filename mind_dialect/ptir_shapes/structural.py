"""Shapes of ops that work element by element or move elements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import reduce
from math import prod

from ..errors import MindError, brief, error
from ..extents.dims import add_dims, are_equal, are_unequal, ceildiv_dims, exact_quotient, max_dims, mul_dims, sub_dims
from ..extents.recording import Requirement, recorder
from ..shapes.extents import shown_count
from . import dims
from .dims import (
    INFER,
    UNKNOWN,
    Dim,
    Dims,
    at_least,
    bounded,
    equal_dims,
    extents,
    is_inside,
    lengths,
    meet,
    rank_error,
    require,
    require_inside,
    same_shape,
)


def elementwise(x: Dims) -> Dims:
    """
    >>> elementwise((2, "B"))
    (2, 'B')
    """
    return x


def compare(lhs: Dims, rhs: Dims) -> Dims:
    """
    As `same_shape`, under the contract's own name for the failure.

    >>> compare((2,), (2,))
    (2,)
    """
    return same_shape(lhs, rhs, category="CompareOperandsMustMatchShape")


def reshape(x: Dims, *, new_shape: Sequence[Dim]) -> Dims:
    """
    One extent may be -1: the quotient of the others, of which none may be 0 then.

    >>> reshape((2, 6), new_shape=(3, -1)), reshape(("B", 6), new_shape=("B", 2, -1)), reshape(("B", 6), new_shape=(-1,))
    ((3, 4), ('B', 2, 3), ('6*B',))
    >>> reshape((2, 3), new_shape=(2, 4))
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3007: cannot reshape [2, 3] to [2, 4]: 6 elements to 8
    """
    given = tuple(new_shape)
    holes = [i for i, n in enumerate(given) if n == INFER]
    extents([0 if i in holes[:1] else n for i, n in enumerate(given)])
    old_names, new_names = Counter(_names(x)), Counter(_names(given))
    common = old_names & new_names
    old_names, new_names = old_names - common, new_names - common
    count, known = prod(n for n in x if isinstance(n, int)), prod(n for n in given if isinstance(n, int) and n != INFER)
    inferred: Dim = UNKNOWN
    old, new = _product(count, old_names), _product(known, new_names)
    fits = not holes or known > 0
    if isinstance(old, int) and isinstance(new, int):
        fits = fits and (old % new == 0 if holes else old == new)
        inferred = old // new if fits and holes else UNKNOWN
    else:
        fits = fits and (bool(holes) or not are_unequal(_product(1, Counter(x)), _product(1, Counter(given))))
        inferred = exact_quotient(old, new) if fits and holes else UNKNOWN
    if not fits:
        message = f"cannot reshape {brief(list(x))} to {brief(list(given))}: {_shown(old)} elements to {_shown(new)}"
        raise error("E3007", message, shapes=(x, given), counts=(_shown(old), _shown(new)))
    if recorder() is not None:
        _record_reshape(x, given, inferred if holes else None)
    return bounded([inferred if i in holes else n for i, n in enumerate(given)])


def _record_reshape(x: Dims, given: Dims, inferred: Dim | None) -> None:
    """Demand for a recorder what sizes may still break: as many elements, and of an inferred extent that it can be inferred."""
    stated = [n for n in given if n != INFER]
    wanted = _product(1, Counter(stated))
    into = f"into shape ({given[0]},)" if len(given) == 1 else f"into shape ({','.join(map(str, given))})"  # as NumPy says it
    if inferred is not None:
        require(wanted, ">", 0, "E3007", f"cannot reshape array {into}, which has no elements", shapes=(x, given), counts=())
        wanted = mul_dims(wanted, inferred)
    wording = f"cannot reshape array of size {{lhs}} {into}"
    require(_product(1, Counter(x)), "==", wanted, "E3007", wording, shapes=(x, given), counts=())


def _names(shape: Sequence[Dim]) -> list[str]:
    return [n for n in shape if isinstance(n, str)]


def _product(size: int, dims: Counter[str] | Counter[Dim]) -> Dim:
    return reduce(mul_dims, dims.elements(), size)


def _shown(n: Dim) -> Dim:
    return n if isinstance(n, str) else shown_count(n)


def transpose(x: Dims, *, perm: Sequence[int]) -> Dims:
    """
    >>> transpose((2, "B", 4), perm=(2, 0, 1))
    (4, 2, 'B')
    >>> transpose((2, 3), perm=(0, 0))
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3008: [0, 0] is no permutation of the 2 axes: 0 is given twice
    """
    rank = len(x)
    try:
        found = dims.axes(perm, rank)
        violation = "" if len(found) == rank else f"it has {len(found)} entries"
    except MindError as e:
        found, violation = (), f"{e.context['axis']} is out of range" if "axis" in e.context else ""
        violation = violation or f"{e.context['duplicate']} is given twice"
    if violation:
        message = f"{brief(list(perm))} is no permutation of the {rank} axes: {violation}"
        raise error("E3008", message, permutation=tuple(perm), rank=rank, violation=violation)
    return tuple(x[i] for i in found)


def broadcast_to(x: Dims, *, result_shape: Sequence[Dim]) -> Dims:
    """
    Axes of size 1 stretch, new ones are prepended; a dynamic size that is not 1 must turn out equal.

    >>> broadcast_to((3, 1), result_shape=(2, 3, "B"))
    (2, 3, 'B')
    >>> broadcast_to((3,), result_shape=(4,))
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3001: cannot broadcast [3] to [4]: 3 and 4 at dimension 0, expected equal or 1 and any
    >>> broadcast_to((1, 3), result_shape=(3,))
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3002: cannot broadcast [1, 3] to [3]: rank 2 to rank 1, expected no fewer
    """
    target = extents(result_shape)
    pad = len(target) - len(x)
    if pad < 0:
        message = f"cannot broadcast {list(x)} to {list(target)}: rank {len(x)} to rank {len(target)}, expected no fewer"
        raise error("E3002", message, category="BroadcastRankMismatch", expected=len(x), actual=len(target))
    record, open_ = recorder(), False
    for i, m in enumerate(x):
        n = target[pad + i]
        if m != 1 and record is not None and are_equal(m, n) is not True:
            open_ = True
        if m != 1 and meet(m, n) is None and are_unequal(m, 1):
            given = f"cannot broadcast {brief(list(x))} to {brief(list(target))}"
            message = f"{given}: {m} and {n} at dimension {pad + i}, expected equal or 1 and any"
            raise error("E3001", message, category="BroadcastDimsInvalid", shapes=(x, target), dimension=pad + i, extents=(m, n))
    if open_ and record is not None:
        record.requirements.append(Requirement(x, "broadcasts", target, "E3001", ""))
    return target


def slice(x: Dims, *, starts: Sequence[Dim], sizes: Sequence[Dim]) -> Dims:
    """
    Bounds may be expressions of names; what they may break for some sizes only is left to the run.

    >>> slice((4, "B"), starts=(1, 0), sizes=(3, 2)), slice(("P+T", "N"), starts=("P", "N-2"), sizes=("T", 2))
    ((3, 2), ('T', 2))
    >>> slice(("N",), starts=("N-2",), sizes=(3,))
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E4012: slice N-2 + 3 = N+1 at dimension 0 of extent N, expected start + size <= N
    >>> slice((4,), starts=(2,), sizes=(3,))
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E4012: slice 2 + 3 at dimension 0 of extent 4, expected start + size <= 4
    """
    lengths(len(x), starts=starts, sizes=sizes)
    for i, (start, size, n) in enumerate(zip(starts, sizes, x, strict=True)):
        if is_inside(start, size, n):
            continue
        end, what, where = add_dims(start, size), f"slice {start} + {size}", f"at dimension {i}"
        total = " = {lhs}" if isinstance(end, str) else ""
        wording = f"{what}{total} {where} of extent {{rhs}}, expected start + size <= {{rhs}}"
        negative = f"{what} {where} holds {{lhs}}, expected non-negative numbers"
        require_inside(start, size, n, "E4012", wording, negative, dimension=i, bounds=(start, end), extent=n)
    return tuple(sizes)


def strided_slice(x: Dims, *, starts: Sequence[Dim], limits: Sequence[Dim], strides: Sequence[int]) -> Dims:
    """
    Every `stride`-th element from `start` up to, not including, `limit`; bounds may be expressions as in `slice`.

    >>> strided_slice((10,), starts=(1,), limits=(8,), strides=(3,))
    (3,)
    >>> strided_slice(("N",), starts=(0,), limits=("N",), strides=(2,))
    ('N ceildiv 2',)
    """
    lengths(len(x), starts=starts, limits=limits, strides=strides)
    for i, stride in enumerate(strides):
        if stride < 1:
            raise error("E4008", f"stride {stride} at dimension {i}, expected positive", dimension=i, step=stride)
    counts: list[Dim] = []
    for i, (start, limit, stride, n) in enumerate(zip(starts, limits, strides, x, strict=True)):
        size = sub_dims(limit, start)
        if not is_inside(start, size, n):
            where, order = f"at dimension {i}", "expected 0 <= start <= limit"
            wording = f"slice {start}:{{lhs}} {where} of extent {{rhs}}, {order} <= {{rhs}}"
            negative = f"slice {start}:{limit} {where} has a start or size of {{lhs}}, {order}"
            require_inside(start, size, n, "E4012", wording, negative, dimension=i, bounds=(start, limit), extent=n)
        counts.append(ceildiv_dims(size, stride))
    return tuple(counts)


def concat(*xs: Dims, axis: int) -> Dims:
    """
    >>> concat((2, 3), (4, 3), axis=0), concat((2, "B"), (2, 1), axis=-1)
    ((6, 3), (2, 'B+1'))
    >>> concat((2, 3), (4, 5), axis=0)
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3003: dimension 1 extents 3 and 5, expected equal
    """
    a, result = dims.axis(axis, len(xs[0])), list(xs[0])
    total: Dim = xs[0][a]
    for x in xs[1:]:
        if len(x) != len(result):
            raise rank_error("operand of concat", len(result), len(x))
        for i, n in enumerate(x):
            if i != a:
                result[i] = equal_dims(f"dimension {i}", result[i], n)
        total = add_dims(total, x[a])
    result[a] = total
    return bounded(result)


def pad(x: Dims, *, low: Sequence[Dim], high: Sequence[Dim], interior: Sequence[int]) -> Dims:
    """
    Edges may be expressions of names.

    >>> pad((3, "B"), low=(1, 0), high=(0, 0), interior=(2, 0)), pad((0,), low=(1,), high=(1,), interior=(5,))
    ((8, 'B'), (2,))
    >>> pad(("T",), low=("P",), high=("N-T",), interior=(0,))
    ('N+P',)
    """
    lengths(len(x), low=low, high=high, interior=interior)
    at_least(0, low=low, high=high, interior=interior)
    rows = zip(x, low, high, interior, strict=True)
    return bounded([add_dims(add_dims(lo, spread(n, inner)), hi) for n, lo, hi, inner in rows])


def spread(n: Dim, interior: int) -> Dim:
    """
    The extent of `n` elements with `interior` others between each two.

    >>> spread(3, 2), spread(0, 2), spread("T", 1)
    (7, 0, 'T+max(1,T)-1')
    """
    if isinstance(n, int):
        return n + max(0, n - 1) * interior
    return add_dims(n, mul_dims(max_dims(0, sub_dims(n, 1)), interior)) if interior else n


def tile(x: Dims, *, repeats: Sequence[Dim]) -> Dims:
    """
    >>> tile((2, "B"), repeats=(3, 1)), tile(("B",), repeats=("T+1",))
    ((6, 'B'), ('B*T+B',))
    """
    lengths(len(x), repeats=repeats)
    at_least(0, repeats=repeats)
    return bounded([0 if r == 0 else mul_dims(n, r) for n, r in zip(x, repeats, strict=True)])


def iota(*, shape: Sequence[Dim], axis: int) -> Dims:
    """
    >>> iota(shape=(2, "B"), axis=-1)
    (2, 'B')
    """
    dims.axis(axis, len(shape))
    return extents(shape)


def along(x: Dims, *, axis: int) -> Dims:
    """
    Return the shape of an op that works along one axis and keeps the shape.

    >>> along((2, 3), axis=-1)
    (2, 3)
    """
    dims.axis(axis, len(x))
    return x


def dimension_size(x: Dims, *, axis: int) -> Dims:
    """
    >>> dimension_size(("B", 3), axis=-1)
    ()
    """
    dims.axis(axis, len(x))
    return ()


def reverse(x: Dims, *, axes: Sequence[int]) -> Dims:
    """
    >>> reverse((2, 3), axes=(0, -1))
    (2, 3)
    """
    dims.axes(axes, len(x))
    return x
