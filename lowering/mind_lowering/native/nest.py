"""
The axes that a kernel runs over: those of extent 1 left out, neighbours joined where they are one axis in effect, one chosen for
the lanes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mind_dialect.lazy_dataclass import dataclass

from .lanes import MOST_APART

APART, GATHERED = 2, 4
"""Costs of lanes that are a few elements apart, and of those that are gathered, where those of every other element are 1."""
SHORT = 4
"""Elements of a short axis, at most."""


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

        Elements a few apart are read by loads of their neighbours, for less than what others cost, which are gathered. Lanes that
        are summed, most of which idle because the axis is short, cost as much as several views a few elements apart.
        """
        idle = lanes // self.extent if self.reduced and 0 < self.extent <= SHORT else 0
        return idle + sum(map(_apart, self.strides)), self.extent < lanes


def _apart(stride: int) -> int:
    """Return the cost of lanes that are so far apart."""
    return 0 if stride in (0, 1) else 1 if stride in (-1, 2) else APART if 2 < stride <= MOST_APART else GATHERED


def axes_of(
    shape: Sequence[int], reduced: Sequence[int], strides: Sequence[Sequence[int]], apart: Collection[int] = ()
) -> list[Axis]:
    """
    The axes that matter, outermost first; `strides` are those of each view.

    Axes in `apart` are not joined to those before them, nor is what follows such an axis of extent 1.

    >>> [a.extent for a in axes_of((2, 1, 3, 4), (), [(12, 0, 4, 1), (0, 0, 0, 1)])]
    [6, 4]
    >>> [(a.extent, a.first) for a in axes_of((2, 3, 4), (), [(12, 4, 1)], apart=(1,))]
    [(2, 0), (12, 1)]
    >>> [(a.extent, a.first) for a in axes_of((2, 1, 3), (), [(3, 3, 1)], apart=(0, 1))]
    [(2, 0), (3, 2)]
    """
    found: list[Axis] = []
    is_apart = False
    for place, n in enumerate(shape):
        is_apart |= place in apart
        if n == 1:
            continue
        axis = Axis(n, place in reduced, [s[place] for s in strides], place)
        joins, is_apart = not is_apart, False
        if found and found[-1].reduced == axis.reduced and joins:
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
