"""Movement of windows along the axes of an operand, and where they reach beyond it."""

from __future__ import annotations

from mind_dialect.lazy_dataclass import dataclass

from .ir import Function

MOST_PHASES = 16
"""Kernels that one op with a base dilation becomes, at most: each is code of its own."""


@dataclass(frozen=True)
class Slide:
    """Movement of a window along one axis of the image."""

    extent: int
    """Of the image."""
    places: int
    window: int
    stride: int
    dilation: int
    low: int
    """Padding before the image."""
    blocks: int = 1
    """Into how many blocks, of `window` places each, a longer window is cut."""

    @property
    def taps(self) -> int:
        """Return the number of places of the window in all blocks."""
        return self.window * self.blocks

    @property
    def edges(self) -> int:
        """
        Return the number of places of the window that are beyond the image somewhere.

        >>> [Slide(56, 3, n, 1, 1, 1).edges for n in (3, 56)]
        [1, 2]
        """
        return self.taps - max(0, self.inside(self.places - 1)[1] - self.inside(0)[0])

    def inside(self, place: int) -> tuple[int, int]:
        """
        The places of the window that are in the image, from the first to before the end.

        >>> [Slide(5, 3, 3, 2, 1, 1).inside(p) for p in range(3)]
        [(1, 3), (0, 3), (0, 2)]
        """
        start = place * self.stride - self.low
        first = min(self.taps, max(0, -(start // self.dilation)))
        return first, max(first, min(self.taps, -((start - self.extent) // self.dilation)))

    @property
    def whole(self) -> range:
        """
        Return the places whose windows are inside of the image.

        >>> Slide(7, 4, 3, 2, 1, 1).whole, Slide(1, 3, 3, 1, 1, 1).whole
        (range(1, 3), range(1, 1))
        """
        first = max(0, -(-self.low // self.stride))
        last = (self.extent - 1 - (self.taps - 1) * self.dilation + self.low) // self.stride
        return range(first, max(first, min(self.places, last + 1)))

    @property
    def is_inside(self) -> bool:
        """Return whether all windows are inside of the image."""
        return all(self.inside(place) == (0, self.taps) for place in (0, self.places - 1))


@dataclass(frozen=True)
class Clip:
    """Windows along an axis of the operands of a group that are cut off where they reach beyond these."""

    place: int
    """The axis of the group along which the windows move."""
    window: int
    """The axis of the group along which the places of a window lie; it is reduced."""
    slide: Slide


def phases_along(extent: int, places: int, taps: int, base: int, low: int) -> list[tuple[int, int, int, Slide]]:
    """
    Return the phases along one axis of a window with a stride of 1: the first result, the first tap, the step, and a slide.

    With a base dilation of `b`, the results at `r + b * q` meet the taps `first + b * u` alone, where `first = (low - r) mod b`,
    and then the elements `q + u - (low - r - first) / b`: a window without holes, whose slide is that of these taps.

    >>> for phase in phases_along(4, 8, 3, 2, 1):
    ...     print(phase)
    (0, 1, 2, Slide(extent=4, places=4, window=1, stride=1, dilation=1, low=0, blocks=1))
    (1, 0, 2, Slide(extent=4, places=4, window=2, stride=1, dilation=1, low=0, blocks=1))
    """
    found: list[tuple[int, int, int, Slide]] = []
    for r in range(min(base, places)):
        first = (low - r) % base
        slide = Slide(extent, -(-(places - r) // base), max(0, -(-(taps - first) // base)), 1, 1, (low - r - first) // base)
        found.append((r, first, base, slide))
    return found


def window_bounds(f: Function, slide: Slide, begin: str) -> tuple[str, str]:
    """Emit the bounds that `Slide.inside` gives for a window that begins at a place of the image."""

    def steps(x: str) -> str:
        """Emit the number of steps of the window that it takes to pass `x`, within the window."""
        x = f.call("llvm.smax.i64", "i64", ("i64", x), ("i64", "0"))
        if slide.dilation > 1:
            x = f.op(f"udiv i64 {f.add(x, str(slide.dilation - 1))}, {slide.dilation}", "steps")
        return f.call("llvm.smin.i64", "i64", ("i64", x), ("i64", str(slide.window)), hint="bound")

    return steps(f.op(f"sub nsw i64 0, {begin}", "before")), steps(f.op(f"sub nsw i64 {slide.extent}, {begin}", "left"))
