"""
Lookups at known places along an axis, as the ops that move whole parts where they suffice.

Slices, reversals, repeats and concatenations are views or copies of whole rows in the targets, and their derivatives are slices
and sums; a `take` reads each element by its index, and its derivative is a scatter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import SI64
from mind_dialect.shapes import inverse_permutation

from .landing import Lander

MOST_RUNS = 4
"""So many parts are concatenated at most: padding on both sides and what is between, and one more."""


def at_places(to: Lander, x: SSAValue, axis: int, places: Sequence[int]) -> SSAValue:
    """Return the elements at `places` along an axis."""
    size = to.shape(x)[axis]
    is_static = all(isinstance(n, int) for n in to.shape(x))
    if not is_static or not isinstance(size, int) or not all(0 <= place < size for place in places):
        return _taken(to, x, axis, places)
    if not places:
        return to.part(x, axis, 0, 0)
    if (repeats := _repeats(places)) > 1:
        found = at_places(to, x, axis, places[::repeats])
        return _repeated(to, found, axis, repeats)
    runs = list(_runs(places))
    if len(runs) > MOST_RUNS:
        return _taken(to, x, axis, places)
    return to.concat([_run(to, x, axis, run) for run in runs], axis)


def _repeats(places: Sequence[int]) -> int:
    """Return how often each place occurs in succession, if all occur equally often; otherwise 1."""
    first = next((i for i, place in enumerate(places) if place != places[0]), len(places))
    groups = range(0, len(places), first)
    uniform = len(places) % first == 0 and all(len(set(places[i : i + first])) == 1 for i in groups)
    return first if uniform else 1


def _runs(places: Sequence[int]) -> Iterator[range | tuple[int, int]]:
    """Yield the ranges of which `places` consists, and a place with its count where one is repeated."""
    steps = [b - a for a, b in pairwise(places)]
    start, is_one = 0, len(set(steps)) <= 1
    while start < len(places):
        step = steps[start] if start < len(steps) and (is_one or abs(steps[start]) <= 1) else None
        end = start + 1
        while step is not None and end < len(places) and steps[end - 1] == step:
            end += 1
        first, count = places[start], end - start
        yield (first, count) if step == 0 else range(first, first + (step or 1) * count, step or 1)
        start = end


def _run(to: Lander, x: SSAValue, axis: int, run: range | tuple[int, int]) -> SSAValue:
    """Return the elements of a range, or one element repeated."""
    if isinstance(run, tuple):
        place, count = run
        return _repeated(to, to.part(x, axis, place, place + 1), axis, count)
    ascending = run if run.step > 0 else run[::-1]
    found = to.part(x, axis, ascending[0], ascending[-1] + 1, ascending.step)
    return found if ascending is run else to.emit(ptir.ReverseOp, found, axes=(axis,))


def _repeated(to: Lander, x: SSAValue, axis: int, count: int) -> SSAValue:
    """Return each element `count` times in succession."""
    shape = to.shape(x)
    after = shape[axis + 1 :]
    size = shape[axis]
    assert isinstance(size, int), "checked by the caller"
    if size == 1:
        return to.broadcast(x, (*shape[:axis], count, *after))
    spread = to.broadcast(to.reshape(x, (*shape[: axis + 1], 1, *after)), (*shape[: axis + 1], count, *after))
    return to.reshape(spread, (*shape[:axis], size * count, *after))


def _taken(to: Lander, x: SSAValue, axis: int, places: Sequence[int]) -> SSAValue:
    """Return the elements at `places` by their indices."""
    perm = [axis, *(i for i in range(len(to.shape(x))) if i != axis)]
    found = to.emit(ptir.TakeOp, to.transpose(x, perm), to.constant(SI64, (len(places),), places))
    return to.transpose(found, inverse_permutation(perm))
