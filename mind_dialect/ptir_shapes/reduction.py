"""Shapes of ops that take many elements to one: reductions, contractions, windows."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..errors import error
from ..extents.dims import add_dims, floordiv_dims, is_nonnegative, max_dims, mul_dims
from . import dims
from .dims import UNKNOWN, Dim, Dims, Pairs, at_least, bounded, equal_dims, lengths, rank_error, require


def reduce(x: Dims, *, axes: Sequence[int], keepdims: bool) -> Dims:
    """
    No axes, no change: not a full reduction.

    >>> reduce((2, "B", 4), axes=(-1,), keepdims=True), reduce((2, 3), axes=(), keepdims=False)
    ((2, 'B', 1), (2, 3))
    """
    found = frozenset(dims.axes(axes, len(x)))
    if keepdims:
        return tuple(1 if i in found else n for i, n in enumerate(x))
    return tuple(n for i, n in enumerate(x) if i not in found)


def arg_max(x: Dims, *, axis: int, keepdims: bool) -> Dims:
    """
    >>> arg_max((2, 3), axis=-1, keepdims=False)
    (2,)
    >>> arg_max((2, 0), axis=1, keepdims=False)
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3006: no extreme along axis 1, which has extent 0, expected at least 1
    """
    a = dims.axis(axis, len(x))
    wording = f"no extreme along axis {a}, which has extent {{lhs}}, expected at least 1"
    require(x[a], "!=", 0, "E3006", wording, shape=x, index=a, value=0)
    return reduce(x, axes=(a,), keepdims=keepdims)


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
    used_lhs, used_rhs = dims.axes((*batch_lhs, *contract_lhs), len(lhs)), dims.axes((*batch_rhs, *contract_rhs), len(rhs))
    paired = [
        equal_dims("batch" if i < len(batch_lhs) else "contracted", lhs[a], rhs[b])
        for i, (a, b) in enumerate(zip(used_lhs, used_rhs, strict=True))
    ]
    gone_lhs, gone_rhs = frozenset(used_lhs), frozenset(used_rhs)
    rest = [n for i, n in enumerate(lhs) if i not in gone_lhs] + [n for i, n in enumerate(rhs) if i not in gone_rhs]
    return (*paired[: len(batch_lhs)], *rest)


def ragged_dot(lhs: Dims, rhs: Dims, group_sizes: Dims, *, kind: str) -> Dims:
    """
    Rows times the matrix of their group, or the products of two matrices summed over the rows of each group.

    >>> ragged_dot(("M", 3), (2, 3, 4), (2,), kind="rows"), ragged_dot(("M", 3), ("M", 4), (2,), kind="contract")
    (('M', 4), (2, 3, 4))
    >>> ragged_dot((5, 3), (2, 3, 4), (3,), kind="rows")
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3003: groups extents 2 and 3, expected equal
    """
    wanted = {"lhs": (lhs, 2), "rhs": (rhs, 3 if kind == "rows" else 2), "group_sizes": (group_sizes, 1)}
    for name, (shape, rank) in wanted.items():
        if len(shape) != rank:
            raise rank_error(name, rank, len(shape))
    if kind == "rows":
        equal_dims("groups", rhs[0], group_sizes[0])
        equal_dims("contracted", lhs[1], rhs[1])
        return (lhs[0], rhs[2])
    equal_dims("contracted", lhs[0], rhs[0])
    return (group_sizes[0], lhs[1], rhs[1])


def _window_extent(n: Dim, window: int, stride: int, pads: tuple[int, int], base: int, dilation: int) -> Dim:
    reach = (window - 1) * dilation + 1
    if isinstance(n, int):
        padded = sum(pads) + (0 if n == 0 else (n - 1) * base + 1)
        return 0 if padded < reach else (padded - reach) // stride + 1
    spread = _at_least_0(add_dims(mul_dims(n, base), 1 - base)) if base > 1 else n
    # Where fewer are there than the window reaches, the quotient is at most 0.
    return _at_least_0(floordiv_dims(add_dims(spread, sum(pads) - reach + stride), stride))


def _at_least_0(n: Dim) -> Dim:
    """Return the greater of a dimension and 0: the dimension itself where facts say that it is, so that texts stay short."""
    return n if is_nonnegative(n) else max_dims(0, n)


def windows(
    spatial: Dims, window: Sequence[int], strides: Sequence[int], padding: Pairs, base: Sequence[int], dilation: Sequence[int]
) -> Dims:
    """
    Return how often a window fits, per dimension; 0 times in less than its dilated extent.

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


def window_arg(
    x: Dims, *, window_dims: Sequence[int], strides: Sequence[int], padding: Pairs, window_dilation: Sequence[int]
) -> Dims:
    """
    >>> window_arg((5,), window_dims=(3,), strides=(2,), padding=((0, 1),), window_dilation=(1,))
    (2,)
    """
    return windows(x, window_dims, strides, padding, (1,) * len(x), window_dilation)


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
    return bounded((x[0], *spatial, mul_dims(channels, cells)))


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
    taken = mul_dims(per_group, feature_group_count)
    wording = f"input has {{lhs}} channels, filter takes {{rhs}} with feature_group_count {feature_group_count}, expected equal"
    require(channels, "==", taken, "E4009", wording, channels=(channels, per_group))
    multiple = mul_dims(floordiv_dims(out, feature_group_count), feature_group_count)
    wording = f"{{rhs}} output channels, expected a multiple of feature_group_count {feature_group_count}"
    require(multiple, "==", out, "E4009", wording, channels=(channels, out))
    return (lhs[0], *windows(lhs[1:-1], window, strides, padding, base_dilation, window_dilation), out)
