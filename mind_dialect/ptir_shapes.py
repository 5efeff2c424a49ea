"""
Shape rules of PTIR: pure functions from dimensions and attributes to dimensions. No IR, no arrays.

A dimension is a size, a name (`"B"`: the same size wherever it stands in one call), or unknown (`"?"`). Compilation refuses what
is wrong whatever the sizes turn out to be; what only may be wrong is left to the run, which knows sizes. Of two dimensions that
must be equal, the result has the one that says more. Axes may be negative: -1 is the last. Each rule raises a coded error with
the values. Source of the rules: the chapters "Broadcasting policy" and "Operation reference" of the PTIR backend contract.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .errors import MindError, brief, error

UNKNOWN = "?"
INFER = -1
"""In `reshape`, the one extent that follows from the others."""
MAX_EXTENT = (1 << 63) - 1
"""What MLIR and NumPy can hold."""

Dim = int | str
Dims = tuple[Dim, ...]
Pairs = tuple[tuple[int, int], ...]


def elementwise(x: Dims) -> Dims:
    """
    >>> elementwise((2, "B"))
    (2, 'B')
    """
    return x


def meet(a: Dim, b: Dim) -> Dim | None:
    """
    What is known of two dimensions that must be equal: a size says more than a name, a name more than nothing; None if unequal.

    >>> meet("B", 4), meet("?", "B"), meet("B", "C"), meet(3, 4)
    (4, 'B', 'B', None)
    """
    if a == b or b == UNKNOWN:
        return a
    if a == UNKNOWN:
        return b
    if isinstance(a, str):
        return b if isinstance(b, int) else a
    return a if isinstance(b, str) else None


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
    result = first
    for other in others:
        if other is result or other == result:
            continue
        if len(other) != len(result):
            message = f"shapes {list(first)} and {list(other)} differ in rank; broadcast_to makes them equal"
            raise error("E3002", message, category=category, expected=len(result), actual=len(other))
        dims: list[Dim] = []
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
        result = tuple(dims)
    return result


def compare(lhs: Dims, rhs: Dims) -> Dims:
    """
    As `same_shape`, under the contract's own name for the failure.

    >>> compare((2,), (2,))
    (2,)
    """
    return same_shape(lhs, rhs, category="CompareOperandsMustMatchShape")


def equal_dims(what: str, m: Dim, n: Dim) -> Dim:
    """
    What is known of two dimensions that must be equal.

    >>> equal_dims("contracted", 3, 4)
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3003: contracted extents 3 and 4, expected equal
    """
    if (d := meet(m, n)) is None:
        raise error("E3003", f"{what} extents {m} and {n}, expected equal", dimension=what, extents=(m, n))
    return d


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


def at_least(least: int, **lists: Sequence[int]) -> None:
    """
    Raise E8002 unless every entry is in least .. 2^63 - 1.

    >>> at_least(1, strides=(2, 0))
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E8002: strides [2, 0] holds 0, expected at least 1
    """
    for name, entries in lists.items():
        for n in entries:
            if n < least:
                message = f"{name} {brief(list(entries))} holds {n}, expected at least {least}"
                raise error("E8002", message, attribute=name, value=n)


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
        raise error("E3004", f"axis {a} is out of range for rank {rank}, expected -{rank} <= axis < {rank}", axis=a, rank=rank)
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


def reduce(x: Dims, *, axes: Sequence[int], keepdims: bool) -> Dims:
    """
    No axes, no change: not a full reduction.

    >>> reduce((2, "B", 4), axes=(-1,), keepdims=True), reduce((2, 3), axes=(), keepdims=False)
    ((2, 'B', 1), (2, 3))
    """
    found = _axes(axes, len(x))
    if keepdims:
        return tuple(1 if i in found else n for i, n in enumerate(x))
    return tuple(n for i, n in enumerate(x) if i not in found)


_axes = axes


def arg_max(x: Dims, *, axis: int, keepdims: bool) -> Dims:
    """
    >>> arg_max((2, 3), axis=-1, keepdims=False)
    (2,)
    >>> arg_max((2, 0), axis=1, keepdims=False)
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3006: no maximum along axis 1 of [2, 0], which has extent 0, expected at least 1
    """
    a = _axis(axis, len(x))
    if x[a] == 0:
        message = f"no maximum along axis {a} of {list(x)}, which has extent 0, expected at least 1"
        raise error("E3006", message, shape=x, index=a, value=0)
    return reduce(x, axes=(a,), keepdims=keepdims)


_axis = axis


def dot_general(
    lhs: Dims,
    rhs: Dims,
    *,
    batch_lhs: Sequence[int],
    batch_rhs: Sequence[int],
    contract_lhs: Sequence[int],
    contract_rhs: Sequence[int],
) -> Dims:
    """
    Batch dimensions in the order listed, then what is left of lhs, then what is left of rhs.

    >>> dot_general((5, 2, 3), (5, 3, 4), batch_lhs=(0,), batch_rhs=(0,), contract_lhs=(2,), contract_rhs=(1,))
    (5, 2, 4)
    >>> dot_general((2, 3), (4, 5), batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,))
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3003: contracted extents 3 and 4, expected equal
    """
    for what, left, right in (("batch", batch_lhs, batch_rhs), ("contract", contract_lhs, contract_rhs)):
        if len(left) != len(right):
            message = f"{what}_lhs {list(left)} and {what}_rhs {list(right)}, expected as many axes on both sides"
            raise error("E4007", message, rank=len(left), lengths=(len(left), len(right)))
    used_lhs, used_rhs = axes((*batch_lhs, *contract_lhs), len(lhs)), axes((*batch_rhs, *contract_rhs), len(rhs))
    paired = [
        equal_dims("batch" if i < len(batch_lhs) else "contracted", lhs[a], rhs[b])
        for i, (a, b) in enumerate(zip(used_lhs, used_rhs, strict=True))
    ]
    rest = [n for i, n in enumerate(lhs) if i not in used_lhs] + [n for i, n in enumerate(rhs) if i not in used_rhs]
    return (*paired[: len(batch_lhs)], *rest)


def reshape(x: Dims, *, new_shape: Sequence[Dim]) -> Dims:
    """
    One extent may be -1. It is unknown if it depends on dynamic dimensions that do not cancel.

    >>> reshape((2, 6), new_shape=(3, -1)), reshape(("B", 6), new_shape=("B", 2, -1)), reshape(("B", 6), new_shape=(-1,))
    ((3, 4), ('B', 2, 3), ('?',))
    >>> reshape((2, 3), new_shape=(2, 4))
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3007: cannot reshape [2, 3] to [2, 4]: 6 elements to 8
    """
    given = tuple(new_shape)
    holes = [i for i, n in enumerate(given) if n == INFER]
    extents([0 if i in holes[:1] else n for i, n in enumerate(given)])
    old_names, new_names = _names(x), _names(given)
    for name in list(new_names):
        if name in old_names and name != UNKNOWN:
            old_names.remove(name)
            new_names.remove(name)
    count, known = prod(n for n in x if isinstance(n, int)), prod(n for n in given if isinstance(n, int) and n != INFER)
    if old_names or new_names:
        inferred: Dim = UNKNOWN
        fits = True
        if holes and len(old_names) == 1 and not new_names and count == known:
            inferred = old_names[0]
    else:
        fits = known > 0 and count % known == 0 if holes else count == known
        inferred = count // known if fits and holes else UNKNOWN
    if not fits:
        message = f"cannot reshape {brief(list(x))} to {brief(list(given))}: {_shown(count)} elements to {_shown(known)}"
        raise error("E3007", message, shapes=(x, given), counts=(_shown(count), _shown(known)))
    return tuple(inferred if i in holes else n for i, n in enumerate(given))


def _names(shape: Sequence[Dim]) -> list[str]:
    return [n for n in shape if isinstance(n, str)]


def _shown(n: int) -> int | str:
    return n if n.bit_length() < 200 else f"about 2^{n.bit_length() - 1}"


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
        found = axes(perm, rank)
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
    for i, m in enumerate(x):
        n = target[pad + i]
        if m != 1 and meet(m, n) is None:
            given = f"cannot broadcast {brief(list(x))} to {brief(list(target))}"
            message = f"{given}: {m} and {n} at dimension {pad + i}, expected equal or 1 and any"
            raise error("E3001", message, category="BroadcastDimsInvalid", shapes=(x, target), dimension=pad + i, extents=(m, n))
    return target


def slice(x: Dims, *, starts: Sequence[int], sizes: Sequence[int]) -> Dims:
    """
    >>> slice((4, "B"), starts=(1, 0), sizes=(3, 2))
    (3, 2)
    >>> slice((4,), starts=(2,), sizes=(3,))
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E4012: slice 2 + 3 at dimension 0 of extent 4, expected start + size <= 4
    """
    lengths(len(x), starts=starts, sizes=sizes)
    for i, (start, size, n) in enumerate(zip(starts, sizes, x, strict=True)):
        if start < 0 or size < 0 or start + size > (n if isinstance(n, int) else MAX_EXTENT):
            limit = f"start + size <= {n}" if start >= 0 <= size else "non-negative numbers"
            message = f"slice {start} + {size} at dimension {i} of extent {n}, expected {limit}"
            raise error("E4012", message, dimension=i, bounds=(start, start + size), extent=n)
    return tuple(sizes)


def strided_slice(x: Dims, *, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int]) -> Dims:
    """
    Every `stride`-th element from `start` up to, not including, `limit`.

    >>> strided_slice((10,), starts=(1,), limits=(8,), strides=(3,))
    (3,)
    """
    lengths(len(x), starts=starts, limits=limits, strides=strides)
    for i, stride in enumerate(strides):
        if stride < 1:
            raise error("E4008", f"stride {stride} at dimension {i}, expected positive", dimension=i, step=stride)
    for i, (start, limit, n) in enumerate(zip(starts, limits, x, strict=True)):
        if not 0 <= start <= limit <= (n if isinstance(n, int) else MAX_EXTENT):
            message = f"slice {start}:{limit} at dimension {i} of extent {n}, expected 0 <= start <= limit <= {n}"
            raise error("E4012", message, dimension=i, bounds=(start, limit), extent=n)
    return tuple(-((start - limit) // stride) for start, limit, stride in zip(starts, limits, strides, strict=True))


def dynamic_slice(x: Dims, start: Dims, *, sizes: Sequence[int]) -> Dims:
    """
    The start is a vector, one entry per dimension, clamped at run time; the window must fit.

    >>> dynamic_slice((8, 4), (2,), sizes=(1, 4))
    (1, 4)
    >>> dynamic_slice((8, 4), (2,), sizes=(1, 5))
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E4012: a window of 5 at dimension 1 of extent 4, expected 0 to 4
    """
    lengths(len(x), sizes=sizes)
    if len(start) != 1:
        raise rank_error("start", 1, len(start))
    equal_dims("start", start[0], len(x))
    for i, (size, n) in enumerate(zip(sizes, x, strict=True)):
        if not 0 <= size <= (n if isinstance(n, int) else MAX_EXTENT):
            message = f"a window of {size} at dimension {i} of extent {n}, expected 0 to {n}"
            raise error("E4012", message, dimension=i, bounds=(0, size), extent=n)
    return tuple(sizes)


def dynamic_update_slice(x: Dims, update: Dims, start: Dims, *, sizes: Sequence[int]) -> Dims:
    """
    >>> dynamic_update_slice((8, 4), (1, 4), (2,), sizes=(1, 4))
    (8, 4)
    """
    same_shape(update, dynamic_slice(x, start, sizes=sizes))
    return x


def concat(*xs: Dims, axis: int) -> Dims:
    """
    >>> concat((2, 3), (4, 3), axis=0), concat((2, "B"), (2, 1), axis=-1)
    ((6, 3), (2, '?'))
    >>> concat((2, 3), (4, 5), axis=0)
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3003: dimension 1 extents 3 and 5, expected equal
    """
    a, result = _axis(axis, len(xs[0])), list(xs[0])
    total: Dim = xs[0][a]
    for x in xs[1:]:
        if len(x) != len(result):
            raise rank_error("operand of concat", len(result), len(x))
        for i, n in enumerate(x):
            if i != a:
                result[i] = equal_dims(f"dimension {i}", result[i], n)
        n = x[a]
        total = total + n if isinstance(total, int) and isinstance(n, int) else UNKNOWN
    result[a] = total
    return bounded(result)


def pad(x: Dims, *, low: Sequence[int], high: Sequence[int], interior: Sequence[int]) -> Dims:
    """
    >>> pad((3, "B"), low=(1, 0), high=(0, 0), interior=(2, 0)), pad((0,), low=(1,), high=(1,), interior=(5,))
    ((8, 'B'), (2,))
    """
    lengths(len(x), low=low, high=high, interior=interior)
    at_least(0, low=low, high=high, interior=interior)
    return bounded([_padded(n, lo + hi, inner) for n, lo, hi, inner in zip(x, low, high, interior, strict=True)])


def _padded(n: Dim, outer: int, interior: int) -> Dim:
    if isinstance(n, int):
        return n + outer + max(0, n - 1) * interior
    return n if outer == 0 and interior == 0 else UNKNOWN


def tile(x: Dims, *, repeats: Sequence[int]) -> Dims:
    """
    >>> tile((2, "B"), repeats=(3, 1)), tile(("B",), repeats=(2,))
    ((6, 'B'), ('?',))
    """
    lengths(len(x), repeats=repeats)
    at_least(0, repeats=repeats)
    return bounded(
        [n if r == 1 else 0 if r == 0 else UNKNOWN if isinstance(n, str) else n * r for n, r in zip(x, repeats, strict=True)]
    )


def iota(*, shape: Sequence[Dim], axis: int) -> Dims:
    """
    >>> iota(shape=(2, "B"), axis=-1)
    (2, 'B')
    """
    _axis(axis, len(shape))
    return extents(shape)


def take(x: Dims, indices: Dims) -> Dims:
    """
    >>> take((10, 4), (2, "T"))
    (2, 'T', 4)
    """
    if len(x) < 1:
        raise rank_error("x", "at least 1", 0)
    return indices + x[1:]


def gather(x: Dims, indices: Dims, *, axis: int) -> Dims:
    """
    Along `axis` the extents may differ, elsewhere not.

    >>> gather((2, 3), (2, 7), axis=1)
    (2, 7)
    """
    a = _axis(axis, len(x))
    if len(indices) != len(x):
        raise rank_error("indices", len(x), len(indices))
    return tuple(n if i == a else equal_dims(f"dimension {i}", n, x[i]) for i, n in enumerate(indices))


def scatter_reduce(x: Dims, indices: Dims, updates: Dims, *, axis: int) -> Dims:
    """
    >>> scatter_reduce((2, 3), (2, 7), (2, 7), axis=1)
    (2, 3)
    """
    gather(x, same_shape(indices, updates), axis=axis)
    return x


def scatter_add(
    x: Dims,
    indices: Dims,
    updates: Dims,
    *,
    update_window_dims: Sequence[int],
    inserted_window_dims: Sequence[int],
    scatter_dims_to_operand_dims: Sequence[int],
    index_vector_dim: int | None,
) -> Dims:
    """
    StableHLO's scatter dimensions; without `index_vector_dim` every index is a scalar.

    >>> rows = dict(inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), index_vector_dim=None)
    >>> scatter_add((10, 4), (2, 3), (2, 3, 4), update_window_dims=(2,), **rows)
    (10, 4)
    """
    vector = len(indices) if index_vector_dim is None else index_vector_dim
    if not 0 <= vector <= len(indices):
        raise error(
            "E3004",
            f"index_vector_dim {vector}, expected 0 to {len(indices)}, the rank of indices",
            axis=vector,
            rank=len(indices),
        )
    for name, entries in (("inserted_window_dims", inserted_window_dims), ("update_window_dims", update_window_dims)):
        if list(entries) != sorted(entries):
            raise error("E8002", f"{name} {list(entries)}, expected ascending", attribute=name, value=tuple(entries))
    inserted, window_dims = axes(inserted_window_dims, len(x)), axes(update_window_dims, len(updates))
    targets = axes(scatter_dims_to_operand_dims, len(x))
    length = indices[vector] if vector < len(indices) else 1
    equal_dims("index vector", length, len(targets))
    window, scattered = [n for i, n in enumerate(x) if i not in inserted], [n for i, n in enumerate(indices) if i != vector]
    if len(window_dims) != len(window) or len(updates) != len(window) + len(scattered):
        expected = f"{len(scattered)} scatter and {len(window)} window dimensions"
        raise rank_error(f"updates with window dimensions {list(update_window_dims)}", expected, len(updates))
    rest = iter(scattered)
    window_sizes = iter(window)
    for i, n in enumerate(updates):
        if i not in window_dims:
            equal_dims(f"updates dimension {i}", n, next(rest))
        elif isinstance(limit := next(window_sizes), int) and isinstance(n, int) and n > limit:
            raise error(
                "E4012", f"update window {n} at dimension {i}, expected at most {limit}", dimension=i, bounds=(0, n), extent=limit
            )
    return x


def layer_norm(x: Dims, gamma: Dims, beta: Dims, *, feature_axis: int) -> Dims:
    """
    >>> layer_norm((2, 8), (8,), (8,), feature_axis=-1)
    (2, 8)
    """
    a = _axis(feature_axis, len(x))
    for name, scale in (("gamma", gamma), ("beta", beta)):
        if len(scale) != 1:
            raise rank_error(name, 1, len(scale))
        equal_dims(name, scale[0], x[a])
    return x


def _window_extent(n: Dim, window: int, stride: int, pads: tuple[int, int], base: int, dilation: int) -> Dim:
    if isinstance(n, str):
        trivial = window == stride == base == dilation == 1 and pads == (0, 0)
        return n if trivial else UNKNOWN
    padded = sum(pads) + (0 if n == 0 else (n - 1) * base + 1)
    reach = (window - 1) * dilation + 1
    return 0 if padded < reach else (padded - reach) // stride + 1


def windows(
    spatial: Dims, window: Sequence[int], strides: Sequence[int], padding: Pairs, base: Sequence[int], dilation: Sequence[int]
) -> Dims:
    """
    How often a window fits, per dimension; not at all in less than its dilated extent.

    >>> windows((5, 2), (3, 3), (2, 1), ((1, 1), (0, 0)), (1, 1), (1, 1))
    (3, 0)
    """
    lengths(len(spatial), window=window, strides=strides, padding=padding, base_dilation=base, window_dilation=dilation)
    at_least(1, window=window, strides=strides, base_dilation=base, window_dilation=dilation)
    at_least(0, padding=[n for pair in padding for n in pair])
    return bounded([_window_extent(*each) for each in zip(spatial, window, strides, padding, base, dilation, strict=True)])


def reduce_window(
    x: Dims,
    *,
    window_dims: Sequence[int],
    strides: Sequence[int],
    padding: Pairs,
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
) -> Dims:
    """
    >>> reduce_window((5,), window_dims=(3,), strides=(2,), padding=((0, 1),), base_dilation=(1,), window_dilation=(1,))
    (2,)
    """
    return windows(x, window_dims, strides, padding, base_dilation, window_dilation)


def extract_patches(x: Dims, *, window: Sequence[int], strides: Sequence[int], dilation: Sequence[int], padding: Pairs) -> Dims:
    """
    Channels last; the patch is the last dimension, its channels fastest.

    >>> extract_patches((1, 5, 5, 3), window=(3, 3), strides=(2, 2), dilation=(1, 1), padding=((0, 0), (0, 0)))
    (1, 2, 2, 27)
    """
    if len(x) < 2:
        raise rank_error("x", "at least 2 (batch, spatial..., channels)", len(x))
    spatial = windows(x[1:-1], window, strides, padding, (1,) * (len(x) - 2), dilation)
    cells, channels = prod(window), x[-1]
    patch = channels * cells if isinstance(channels, int) else channels if cells == 1 else UNKNOWN
    return bounded((x[0], *spatial, patch))


def convolution(
    lhs: Dims,
    rhs: Dims,
    *,
    strides: Sequence[int],
    padding: Pairs,
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
    feature_group_count: int,
) -> Dims:
    """
    lhs is batch, spatial..., channels; rhs is spatial..., channels per group, output channels.

    >>> one = dict(strides=(1, 1), padding=((1, 1), (1, 1)), base_dilation=(1, 1), window_dilation=(1, 1))
    >>> convolution((1, 5, 5, 4), (3, 3, 2, 8), feature_group_count=2, **one)
    (1, 5, 5, 8)
    """
    if len(lhs) < 2:
        raise rank_error("lhs", "at least 2 (batch, spatial..., channels)", len(lhs))
    if len(rhs) != len(lhs):
        raise rank_error("rhs", len(lhs), len(rhs))
    at_least(1, feature_group_count=(feature_group_count,))
    window = [n for n in rhs[:-2] if isinstance(n, int)]
    if len(window) != len(rhs) - 2:
        raise error("E3006", f"the window of {list(rhs)}, expected static", shape=rhs, index=0, value=UNKNOWN)
    channels, per_group, out = lhs[-1], rhs[-2], rhs[-1]
    if isinstance(channels, int) and isinstance(per_group, int) and channels != per_group * feature_group_count:
        message = f"input has {channels} channels, filter {per_group} in each of {feature_group_count} groups, expected equal"
        raise error("E4009", message, channels=(channels, per_group))
    if isinstance(out, int) and out % feature_group_count:
        message = f"{out} output channels, expected a multiple of feature_group_count {feature_group_count}"
        raise error("E4009", message, channels=(channels, out))
    return (lhs[0], *windows(lhs[1:-1], window, strides, padding, base_dilation, window_dilation), out)


def top_k(x: Dims, *, k: int, axis: int) -> Dims:
    """
    >>> top_k((2, 5), k=3, axis=-1)
    (2, 3)
    >>> top_k((2, 5), k=6, axis=-1)
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E8002: k 6 along an axis of extent 5, expected 0 to 5
    """
    a = _axis(axis, len(x))
    n = x[a]
    if not 0 <= k <= (n if isinstance(n, int) else MAX_EXTENT):
        raise error("E8002", f"k {k} along an axis of extent {n}, expected 0 to {n}", attribute="k", value=k)
    return (*x[:a], k, *x[a + 1 :])


def segment_reduce(data: Dims, ids: Dims, *, num_segments: int) -> Dims:
    """
    >>> segment_reduce((6, 4), (6,), num_segments=3)
    (3, 4)
    """
    if len(data) < 1:
        raise rank_error("data", "at least 1", 0)
    if len(ids) != 1:
        raise rank_error("segment_ids", 1, len(ids))
    equal_dims("segment_ids", ids[0], data[0])
    at_least(0, num_segments=(num_segments,))
    return (num_segments, *data[1:])


def scales(x: Dims, parameters: Sequence[Dims], axis: int | None) -> Dims:
    """
    Scale and zero point: scalars, or one entry per place along `axis`.

    >>> scales((2, 3), [(3,), (3,)], 1), scales((2, 3), [(), ()], None)
    ((2, 3), (2, 3))
    """
    a = None if axis is None else _axis(axis, len(x))
    for p in parameters:
        if len(p) != (a is not None):
            raise rank_error("scale or zero_point", int(a is not None), len(p))
        if a is not None:
            equal_dims("scale", p[0], x[a])
    return x


def along(x: Dims, *, axis: int) -> Dims:
    """
    What works along one axis and keeps the shape.

    >>> along((2, 3), axis=-1)
    (2, 3)
    """
    _axis(axis, len(x))
    return x


def reverse(x: Dims, *, axes: Sequence[int]) -> Dims:
    """
    >>> reverse((2, 3), axes=(0, -1))
    (2, 3)
    """
    _axes(axes, len(x))
    return x
