"""Shape rules of products: inner, matrix, convolution."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import error
from .elementwise import broadcast
from .extents import MAX_EXTENT, Shape, non_negative, positive, rank_error, same

Padding = str | tuple[tuple[int, int], tuple[int, int]]


def dot(a: Shape, b: Shape) -> Shape:
    """
    >>> dot((2, 3), (3,)), dot((3,), (3, 4)), dot((3,), (3,)), dot((2, 3), (3, 4))
    ((2,), (4,), (), (2, 4))
    """
    for s in (a, b):
        if len(s) not in (1, 2):
            raise rank_error("1 or 2", len(s))
    k = 0 if len(b) == 1 else -2
    _contract(a, b, k)
    return a[:-1] + (b[1:] if len(b) == 2 else ())


def matmul(a: Shape, b: Shape) -> Shape:
    """
    Leading dimensions broadcast.

    >>> matmul((5, 2, 3), (3, 4))
    (5, 2, 4)
    >>> matmul((2, 3), (4, 5))
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3003: cannot contract [2, 3] with [4, 5]: 3 and 4, expected equal
    """
    for s in (a, b):
        if len(s) < 2:
            raise rank_error("at least 2", len(s))
    _contract(a, b, -2)
    return (*broadcast(a[:-2], b[:-2]), a[-2], b[-1])


def _contract(a: Shape, b: Shape, k: int) -> None:
    if a[-1] != b[k]:
        raise error(
            "E3003",
            f"cannot contract {list(a)} with {list(b)}: {a[-1]} and {b[k]}, expected equal",
            dimension="K",
            extents=(a[-1], b[k]),
        )


def conv2d(x: Shape, filter: Shape, *, strides: Sequence[int], padding: Padding) -> Shape:
    """
    NHWC input, HWCF filter, cross-correlation.

    >>> conv2d((1, 5, 5, 3), (3, 3, 3, 8), strides=(2, 2), padding="Same")
    (1, 3, 3, 8)
    >>> conv2d((1, 5, 5, 3), (3, 3, 4, 8), strides=(1, 1), padding="Valid")
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E4009: input has 3 channels, filter has 4, expected equal
    """
    for s in (x, filter):
        if len(s) != 4:
            raise rank_error("4", len(s))
    if x[3] != filter[2]:
        raise error("E4009", f"input has {x[3]} channels, filter has {filter[2]}, expected equal", channels=(x[3], filter[2]))
    if len(strides) != 2 or min(strides) < 1:
        raise error("E4010", f"strides {list(strides)}, expected two positive numbers", strides=tuple(strides))
    positive(filter[:2])
    pads = conv2d_pads(x, filter, strides=strides, padding=padding)
    out = [(x[1 + i] + sum(pads[i]) - filter[i]) // strides[i] + 1 for i in (0, 1)]
    for i, n in enumerate(out):
        if not 0 < n <= MAX_EXTENT:
            message = f"output extent {n} at {i + 1}: input {list(x)} with padding {pads[i]} under a filter {list(filter)}"
            raise error("E3006", message, shape=(x[0], *out, filter[3]), index=i + 1, value=n)
    return (x[0], out[0], out[1], filter[3])


def conv2d_pads(x: Shape, filter: Shape, *, strides: Sequence[int], padding: Padding) -> tuple[tuple[int, int], tuple[int, int]]:
    """
    `((top, bottom), (left, right))`. `Same` gives ceil(extent / stride), the odd pad at the bottom and right.

    >>> conv2d_pads((1, 5, 5, 1), (2, 2, 1, 1), strides=(1, 1), padding="Same")
    ((0, 1), (0, 1))
    """
    if padding == "Valid":
        return ((0, 0), (0, 0))
    if padding == "Same":
        total = [max(0, (-(-x[1 + i] // strides[i]) - 1) * strides[i] + filter[i] - x[1 + i]) for i in (0, 1)]
        return ((total[0] // 2, total[0] - total[0] // 2), (total[1] // 2, total[1] - total[1] // 2))
    if isinstance(padding, str) or [len(p) for p in padding] != [2, 2] or min(map(min, padding)) < 0:
        raise error(
            "E4013",
            f"padding {padding}, expected Valid, Same or Custom with two pairs of non-negative numbers",
            padding=padding,
        )
    return padding


def conv2d_backward_input(g: Shape, filter: Shape, *, shape: Sequence[int], strides: Sequence[int], padding: Padding) -> Shape:
    """
    `shape` is the shape of the convolution's input.

    >>> conv2d_backward_input((1, 3, 3, 8), (3, 3, 3, 8), shape=(1, 5, 5, 3), strides=(1, 1), padding="Valid")
    (1, 5, 5, 3)
    """
    x = non_negative(shape)
    same("gradient", g, conv2d(x, filter, strides=strides, padding=padding))
    return x


def conv2d_backward_filter(x: Shape, g: Shape, *, shape: Sequence[int], strides: Sequence[int], padding: Padding) -> Shape:
    """
    `shape` is the shape of the convolution's filter.

    >>> conv2d_backward_filter((1, 5, 5, 3), (1, 3, 3, 8), shape=(3, 3, 3, 8), strides=(1, 1), padding="Valid")
    (3, 3, 3, 8)
    """
    filter = non_negative(shape)
    same("gradient", g, conv2d(x, filter, strides=strides, padding=padding))
    return filter
