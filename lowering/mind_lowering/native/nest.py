"""
The axes that a kernel runs over: those of extent 1 left out, neighbours joined where they are one axis in effect, one chosen for
the lanes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

GATHERED = 4
"""Cost of lanes that are gathered, where those of every other element are 1."""


@dataclass
class Axis:
    """One axis: its extent, whether it is summed over, and how far each view moves per step of it."""

    extent: int
    reduced: bool
    strides: list[int]
    first: int = 0
    """The outermost axis of the shape that it is made of."""

    def cost(self, lanes: int) -> tuple[int, bool]:
        """
        Return the cost of lanes along it: of views that are neither consecutive nor constant, then whether lanes would idle.

        Every other element is read by loads of its neighbours, for less than what others cost, which are gathered.
        """
        return sum(0 if s in (0, 1) else 1 if s == 2 else GATHERED for s in self.strides), self.extent < lanes


def axes_of(
    shape: Sequence[int], reduced: Sequence[int], strides: Sequence[Sequence[int]], apart: Collection[int] = ()
) -> list[Axis]:
    """
    The axes that matter, outermost first; `strides` are those of each view. Axes in `apart` are not joined to those before them.

    >>> [a.extent for a in axes_of((2, 1, 3, 4), (), [(12, 0, 4, 1), (0, 0, 0, 1)])]
    [6, 4]
    >>> [(a.extent, a.first) for a in axes_of((2, 3, 4), (), [(12, 4, 1)], apart=(1,))]
    [(2, 0), (12, 1)]
    """
    found: list[Axis] = []
    for place, n in enumerate(shape):
        if n == 1:
            continue
        axis = Axis(n, place in reduced, [s[place] for s in strides], place)
        if found and found[-1].reduced == axis.reduced and place not in apart:
            last = found[-1]
            if all(outer == inner * n for outer, inner in zip(last.strides, axis.strides, strict=True)):
                found[-1] = Axis(last.extent * n, axis.reduced, axis.strides, last.first)
                continue
        found.append(axis)
    return found


def lane_axis(axes: Sequence[Axis], lanes: int, without: Collection[int | None] = ()) -> int | None:
    """The axis that costs least to run lanes along, the last one of equals, `without` some; None if there is none."""
    places = sorted([i for i in range(len(axes)) if i not in without], key=lambda i: (*axes[i].cost(lanes), -i))
    return places[0] if places else None
