"""Shape rules of ops that read or write parts of a tensor."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import error
from .extents import Shape, non_negative, rank_error, same


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
