"""
Base dilation by phases: an image with holes between its elements is read where it lies, and the holes nowhere.

With a base dilation of `b`, the results at `r + b * q` are phase `r` of `b`. They meet elements of the image under the taps
`first + b * u` alone, where `first = (low - r) mod b`, and then element `q + u - (low - r - first) / b`: a convolution without
holes of every `b`-th tap. All other taps of the window lie over holes or padding for the whole phase. They are multiplied by 0,
which counts where they are infinite or NaN: the sums of a phase begin with what these taps give.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from mind_dialect import ptir
from mind_dialect.lazy_dataclass import dataclass

from ...launch.views import Ints
from ..demanded import shape_of
from ..slides import MOST_PHASES, Slide, phases_along
from ..views import View, window
from .convolution import is_long


@dataclass(frozen=True)
class Phase:
    """The results from `start` on, every `steps[i]`-th along axis `i`, and the taps from `first` on that they meet, as many."""

    start: Ints
    first: Ints
    steps: Ints
    taps: Ints
    slides: Sequence[Slide]
    """One per axis, of the window of these taps alone."""

    def results(self, view: View) -> View:
        """Return this phase of a view of the shape of the result."""
        sizes = [slide.places for slide in self.slides]
        return window(view, [0, *self.start, 0], [view.shape[0], *sizes, view.shape[-1]], [1, *self.steps, 1])

    def weights(self, view: View) -> View:
        """Return the taps of a filter that this phase meets."""
        return window(view, [*self.first, 0, 0], [*self.taps, *view.shape[-2:]], [*self.steps, 1, 1])

    def meets(self, tap: Ints) -> bool:
        """Return whether this phase meets a tap."""
        return all((t - first) % b == 0 for t, first, b in zip(tap, self.first, self.steps, strict=True))


def why_no_phases(op: ptir.ConvolutionOp) -> str | None:
    """Return why a convolution is not computed by phases; None if it is."""
    values = op.values()
    count = prod(values["base_dilation"])
    if count == 1:
        return "no base dilation"
    if any(n != 1 for n in (*values["strides"], *values["window_dilation"])):
        return "a stride or a window dilation in addition to the base dilation"
    if count > MOST_PHASES:
        return f"{count} phases, more than {MOST_PHASES}"
    return "the sums of a long window are finished block by block" if is_long(op) else None


def phases_of(op: ptir.ConvolutionOp) -> list[Phase]:
    """
    Return the phases of a convolution that have results, in row-major order; a phase may have no taps.

    The base dilation is that of the left operand, and there are neither strides nor a window dilation.
    """
    values = op.values()
    axes = [
        phases_along(*each)
        for each in zip(
            shape_of(op.lhs)[1:-1],
            shape_of(op.result)[1:-1],
            shape_of(op.rhs)[:-2],
            values["base_dilation"],
            [low for low, _ in values["padding"]],
            strict=True,
        )
    ]
    return [
        Phase(*(tuple(part) for part in zip(*[(r, first, b, slide.window, slide) for r, first, b, slide in each], strict=True)))
        for each in product(*axes)
    ]
