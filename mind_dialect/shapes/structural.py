"""Shape rules of reductions and of ops that move or rename elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..errors import error
from .extents import Shape, normalize_axes, positive, shown_count


def reduce(shape: Shape, *, axes: Sequence[int], keepdims: bool, negative: bool = False) -> Shape:
    """
    Empty `axes` reduce everything to rank 0, whatever `keepdims` says.

    >>> reduce((3, 4, 5), axes=(1,), keepdims=True)
    (3, 1, 5)
    >>> reduce((3, 4, 5), axes=(), keepdims=True)
    ()
    """
    found = normalize_axes(axes, len(shape), negative)
    if not found:
        return ()
    if keepdims:
        return tuple(1 if i in found else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in found)


def mean(shape: Shape, *, axes: Sequence[int], keepdims: bool, negative: bool = False) -> Shape:
    """
    As `reduce`; a mean over no elements is rejected.

    >>> mean((0, 4), axes=(0,), keepdims=False)
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3006: mean over no elements: extent 0 at 0 in [0, 4], expected positive
    """
    result = reduce(shape, axes=axes, keepdims=keepdims, negative=negative)
    for i in reduced_axes(shape, axes, negative):
        if shape[i] == 0:
            raise error(
                "E3006",
                f"mean over no elements: extent 0 at {i} in {list(shape)}, expected positive",
                shape=shape,
                index=i,
                value=0,
            )
    return result


def reduced_axes(shape: Shape, axes: Sequence[int], negative: bool = False) -> tuple[int, ...]:
    """
    The axes a reduction sums over: all of them when `axes` is empty.

    >>> reduced_axes((3, 4), ())
    (0, 1)
    """
    return normalize_axes(axes, len(shape), negative) or tuple(range(len(shape)))


def reshape(shape: Shape, *, new_shape: Sequence[int]) -> Shape:
    """
    One extent may be -1; the rest are positive; the element count is kept.

    >>> reshape((2, 6), new_shape=(3, -1))
    (3, 4)
    >>> reshape((2, 3), new_shape=(2, 4))
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3007: cannot reshape [2, 3] (6 elements) to [2, 4] (8 elements)
    """
    given = tuple(new_shape)
    holes = [i for i, n in enumerate(given) if n == -1]
    positive([1 if i in holes[:1] else n for i, n in enumerate(given)])
    count, known = prod(shape), prod(n for n in given if n != -1)
    if holes and count > 0 and count % known == 0:
        return positive([count // known if n == -1 else n for n in given])
    if holes or count != known:
        counts = shown_count(count), shown_count(known)
        message = f"cannot reshape {list(shape)} ({counts[0]} elements) to {list(given)} ({counts[1]} elements)"
        raise error("E3007", message, shapes=(shape, given), counts=counts)
    return given


def transpose(shape: Shape, *, permutation: Sequence[int]) -> Shape:
    """
    >>> transpose((2, 3, 4), permutation=(2, 0, 1))
    (4, 2, 3)
    >>> transpose((2, 3, 4), permutation=(0, 2, 2))
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3008: [0, 2, 2] is no permutation of the axes of rank 3: 2 is given twice
    """
    rank = len(shape)
    if sorted(permutation) != list(range(rank)):
        violation = f"its length is {len(permutation)}"
        if len(permutation) == rank:
            seen: set[int] = set()
            bad = next(a for a in permutation if not 0 <= a < rank or a in seen or seen.add(a))
            violation = f"{bad} is given twice" if bad in seen else f"{bad} is out of range"
        raise error(
            "E3008",
            f"{list(permutation)} is no permutation of the axes of rank {rank}: {violation}",
            permutation=tuple(permutation),
            rank=rank,
            violation=violation,
        )
    return tuple(shape[i] for i in permutation)


def inverse_permutation(permutation: Sequence[int]) -> tuple[int, ...]:
    """
    >>> inverse_permutation((2, 0, 1))
    (1, 2, 0)
    """
    return tuple(sorted(range(len(permutation)), key=permutation.__getitem__))


def expand_dims(shape: Shape, *, axes: Sequence[int], negative: bool = False) -> Shape:
    """
    Axes are places in the result, inserted in ascending order, each within the rank of its moment.

    >>> expand_dims((3, 4), axes=(0, 2))
    (1, 3, 1, 4)
    >>> expand_dims((3,), axes=(0, 3))
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3004: axis 3 is out of range for rank 3, expected 0 <= axis < 3
    """
    found = normalize_axes(axes, len(shape) + len(axes), negative)
    rest = iter(shape)
    return tuple(1 if i in found else next(rest) for i in range(len(shape) + len(found)))


def squeeze(shape: Shape, *, axes: Sequence[int], negative: bool = False) -> Shape:
    """
    No axes, no change.

    >>> squeeze((1, 3, 1, 4), axes=(0, 2))
    (3, 4)
    >>> squeeze((2, 3, 1), axes=(1,))
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3009: cannot squeeze axis 1 of [2, 3, 1]: its extent is 3, expected 1
    """
    found = normalize_axes(axes, len(shape), negative)
    for a in found:
        if shape[a] != 1:
            raise error(
                "E3009",
                f"cannot squeeze axis {a} of {list(shape)}: its extent is {shape[a]}, expected 1",
                axis=a,
                extent=shape[a],
                shape=shape,
            )
    return tuple(n for i, n in enumerate(shape) if i not in found)
