"""
Shape rules of Core IR: pure functions from shapes and attributes to the result shape. No IR, no arrays.

The verifier, the op constructors, the importers and the expression builder all call these. Each rule raises a coded
`MindError` that names the failing dimension and extents. `negative=True` is `core-v1.1`: axes count from the end, slice
bounds below 0 are clamped to 0. Rules follow the chapters "Core IR" and "Shapes and dtypes" of the MIND specification.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

from .errors import MindError, brief, error

Shape = tuple[int, ...]
MAX_EXTENT = (1 << 63) - 1
"""What MLIR and NumPy can hold."""
Padding = str | tuple[tuple[int, int], tuple[int, int]]


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


def positive(shape: Sequence[int]) -> Shape:
    """
    A declared shape: every extent is positive.

    >>> positive([3, 0])
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3006: extent 0 at 1 in [3, 0], expected positive
    """
    return _extents(shape, 1, "positive")


def non_negative(shape: Sequence[int]) -> Shape:
    """
    A derived shape: extents may be 0.

    >>> non_negative([3, 0])
    (3, 0)
    """
    return _extents(shape, 0, "non-negative")


def _extents(shape: Sequence[int], least: int, wanted: str) -> Shape:
    for i, n in enumerate(shape):
        if not least <= n <= MAX_EXTENT:
            wanted = wanted if n < least else "at most 2^63 - 1"
            message = f"extent {brief(n)} at {i} in {brief(list(shape))}, expected {wanted}"
            raise error("E3006", message, shape=tuple(shape), index=i, value=n)
    return tuple(shape)


def rank_error(expected: str, actual: int) -> MindError:
    """E3002: an operand has the wrong rank."""
    return error("E3002", f"rank {actual}, expected {expected}", expected=expected, actual=actual)


def normalize_axes(axes: Sequence[int], rank: int, negative: bool = False) -> tuple[int, ...]:
    """
    Axes in [0, rank), ascending; duplicates are found after negative axes are resolved.

    >>> normalize_axes((2, -3), 3, negative=True)
    (0, 2)
    >>> normalize_axes((-1,), 3)
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3004: axis -1 is out of range for rank 3, expected 0 <= axis < 3
    """
    low = -rank if negative else 0
    for a in axes:
        if not low <= a < rank:
            raise error("E3004", f"axis {a} is out of range for rank {rank}, expected {low} <= axis < {rank}", axis=a, rank=rank)
    found = sorted(a + rank if a < 0 else a for a in axes)
    for a, b in pairwise(found):
        if a == b:
            raise error("E3005", f"axis {a} is given twice in {list(axes)}", axes=tuple(axes), duplicate=a)
    return tuple(found)


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


def shown_count(n: int) -> int | str:
    """
    A number of elements for a message: Python refuses to print integers of more than 4,300 digits.

    >>> shown_count(6), shown_count(2**4000 + 1)
    (6, 'about 2^4000')
    """
    return n if n.bit_length() < 200 else f"about 2^{n.bit_length() - 1}"


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


def index(shape: Shape, *, indices: Sequence[int]) -> Shape:
    """
    Bounds are a matter of run time (E6001 there).

    >>> index((3, 4), indices=(2, 1))
    ()
    """
    if len(indices) != len(shape):
        raise error(
            "E4006",
            f"{len(indices)} indices for rank {len(shape)}, expected one per dimension",
            rank=len(shape),
            length=len(indices),
        )
    return ()


def slice_bounds(
    shape: Shape, *, starts: Sequence[int], ends: Sequence[int], steps: Sequence[int], negative: bool = False
) -> tuple[Shape, Shape, Shape]:
    """
    Checked starts, ends and steps; under `negative` bounds below 0 become 0.

    >>> slice_bounds((5,), starts=(-1,), ends=(4,), steps=(2,), negative=True)
    ((0,), (4,), (2,))
    """
    rank, lengths = len(shape), (len(starts), len(ends), len(steps))
    if lengths != (rank, rank, rank):
        counts = "/".join(map(str, lengths))
        raise error("E4007", f"{counts} starts/ends/steps for rank {rank}, expected {rank} each", rank=rank, lengths=lengths)
    if negative:
        starts, ends = [max(0, s) for s in starts], [max(0, e) for e in ends]
    for i, (start, end, step) in enumerate(zip(starts, ends, steps, strict=True)):
        if step <= 0:
            raise error("E4008", f"step {step} at dimension {i}, expected positive", dimension=i, step=step)
        if start < 0 or not 0 <= end <= shape[i]:
            raise error(
                "E4012",
                f"bounds {start}:{end} at dimension {i} of extent {shape[i]}, expected 0 <= start and 0 <= end <= {shape[i]}",
                dimension=i,
                bounds=(start, end),
                extent=shape[i],
            )
    return tuple(starts), tuple(ends), tuple(steps)


def slice(shape: Shape, *, starts: Sequence[int], ends: Sequence[int], steps: Sequence[int], negative: bool = False) -> Shape:
    """
    Extent `max(0, ceil((end - start) / step))` per dimension.

    >>> slice((5, 6), starts=(0, 4), ends=(5, 2), steps=(2, 1))
    (3, 0)
    """
    bounds = slice_bounds(shape, starts=starts, ends=ends, steps=steps, negative=negative)
    return tuple(max(0, -((start - end) // step)) for start, end, step in zip(*bounds, strict=True))


def gather(shape: Shape, indices: Shape) -> Shape:
    """
    >>> gather((10, 4), (2, 3))
    (2, 3, 4)
    """
    if not shape:
        raise rank_error("at least 1", 0)
    return indices + shape[1:]


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


def relu_grad(g: Shape, x: Shape) -> Shape:
    """
    >>> relu_grad((2,), (2,))
    (2,)
    """
    same("gradient", g, x)
    return x


def scatter_add(indices: Shape, updates: Shape, *, shape: Sequence[int]) -> Shape:
    """
    The transpose of `gather`.

    >>> scatter_add((2, 3), (2, 3, 4), shape=(10, 4))
    (10, 4)
    """
    target = non_negative(shape)
    same("updates", updates, gather(target, indices))
    return target


def slice_scatter(updates: Shape, *, shape: Sequence[int], starts: Sequence[int], steps: Sequence[int]) -> Shape:
    """
    The transpose of `slice`: zeros of `shape` with `updates` at `starts`, `steps` apart.

    >>> slice_scatter((2,), shape=(5,), starts=(1,), steps=(2,))
    (5,)
    """
    target = non_negative(shape)
    rank, lengths = len(target), (len(starts), len(updates), len(steps))
    if lengths != (rank, rank, rank):
        raise error("E4007", f"starts, updates, steps have ranks {lengths}, expected {rank} each", rank=rank, lengths=lengths)
    for i, (start, count, step) in enumerate(zip(starts, updates, steps, strict=True)):
        if step <= 0:
            raise error("E4008", f"step {step} at dimension {i}, expected positive", dimension=i, step=step)
        last = start + (count - 1) * step
        if start < 0 or (count and last >= target[i]):
            raise error(
                "E4012",
                f"updates reach from {start} to {last} at dimension {i} of extent {target[i]}",
                dimension=i,
                bounds=(start, last),
                extent=target[i],
            )
    return target


def index_scatter(update: Shape, *, shape: Sequence[int], indices: Sequence[int]) -> Shape:
    """
    The transpose of `index`: zeros of `shape` with the scalar `update` at `indices`.

    >>> index_scatter((), shape=(3, 4), indices=(2, 1))
    (3, 4)
    """
    target = non_negative(shape)
    same("update", update, index(target, indices=indices))
    return target


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


def same(what: str, given: Shape, expected: Shape) -> None:
    """
    Raise E3001 or E3002 unless `given` is `expected`: no broadcasting here.

    >>> same("gradient", (2, 3), (2, 4))
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3001: gradient has shape [2, 3], expected [2, 4]
    """
    if len(given) != len(expected):
        raise rank_error(f"{len(expected)} for the {what}", len(given))
    for i, (m, n) in enumerate(zip(given, expected, strict=True)):
        if m != n:
            raise error(
                "E3001",
                f"{what} has shape {list(given)}, expected {list(expected)}",
                shapes=(given, expected),
                dimension=i,
                extents=(m, n),
            )
