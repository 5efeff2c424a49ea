"""Shape rules of elementwise ops and of broadcasting."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import error
from .extents import Shape, non_negative, rank_error, same


def elementwise(shape: Shape) -> Shape:
    """
    >>> elementwise((2, 3))
    (2, 3)
    """
    return shape


def broadcast(a: Shape, b: Shape) -> Shape:
    """
    NumPy broadcasting; the error names the leftmost failing dimension of the aligned shapes.

    >>> broadcast((2, 1), (3,))
    (2, 3)
    >>> broadcast((3, 4), (3, 5))
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3001: cannot broadcast [3, 4] with [3, 5]: 4 and 5 at dimension 1, expected equal or 1
    """
    if a == b:
        return a
    rank = max(len(a), len(b))
    left, right = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    for i, (m, n) in enumerate(zip(left, right, strict=True)):
        if m != n and m != 1 and n != 1:
            raise error(
                "E3001",
                f"cannot broadcast {list(a)} with {list(b)}: {m} and {n} at dimension {i}, expected equal or 1",
                shapes=(a, b),
                dimension=i,
                extents=(m, n),
            )
    return tuple(n if m == 1 else m for m, n in zip(left, right, strict=True))


def broadcast_axes(src: Shape, dst: Shape) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """
    The axes of `dst` that broadcasting `src` to it prepended, and those it stretched.

    >>> broadcast_axes((2, 1), (4, 2, 3))
    ((0,), (2,))
    """
    pad = len(dst) - len(src)
    return tuple(range(pad)), tuple(i for i in range(pad, len(dst)) if src[i - pad] == 1 != dst[i])


def broadcast_to(x: Shape, *, shape: Sequence[int]) -> Shape:
    """
    Only axes of extent 1 are stretched; new axes are prepended.

    >>> broadcast_to((3, 1), shape=(2, 3, 4))
    (2, 3, 4)
    >>> broadcast_to((3,), shape=(4,))
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3001: cannot broadcast [3] to [4]: 3 and 4 at dimension 0
    """
    target = non_negative(shape)
    pad = len(target) - len(x)
    if pad < 0:
        raise rank_error(f"at most {len(target)}", len(x))
    for i, (m, n) in enumerate(zip((1,) * pad + x, target, strict=True)):
        if m not in (1, n):
            message = f"cannot broadcast {list(x)} to {list(target)}: {m} and {n} at dimension {i}"
            raise error("E3001", message, shapes=(x, target), dimension=i, extents=(m, n))
    return target


def relu_grad(g: Shape, x: Shape) -> Shape:
    """
    >>> relu_grad((2,), (2,))
    (2,)
    """
    same("gradient", g, x)
    return x
