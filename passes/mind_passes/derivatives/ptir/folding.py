"""
The transpose of `unfold`: what windows share is added up.

Where windows tile an axis it is a reshape. Else it is one windowed sum over all axes. Windows at places `p`, each with `count`
places `j` in it, are laid out as one axis of elements `p * count + j`. Those that belong to one element of x, `p + d * j = q`,
are `d * count - 1` apart, so that windows of `count` elements, that far apart, with a stride of `count`, sum them. A stride of
windows above 1 leaves places in a window that never meet: phases, an axis of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import ReduceWindowOp
from mind_dialect.ptir_shapes import Dim, Dims

from ...ptir.construct import Value, broadcast, reshape, scalar, spec
from ...ptir.parts import AxisSlice, pad
from .window_parts import fold_parts
from .windows import Sliding, cut


@dataclass(frozen=True)
class Folding:
    """Adds up the windows along one axis."""

    axis: Sliding
    places: int
    """The places of windows, those of `interior` included."""
    interior: int
    """Empty places between each two, where stride and dilation do not fit together."""
    count: int
    """Places in a window that differ in the place of the sum they go to."""
    phases: int
    """Places in a window that go to one place of the sum, side by side."""
    dilation: int

    @property
    def gap(self) -> int:
        """Return the distance between the elements of a sum."""
        return self.dilation * self.count - 1

    @property
    def wanted(self) -> tuple[int, int]:
        """The first and the last place of the sum that has elements of x in it, the latter not included."""
        return self.axis.low // self.phases, -(-(self.axis.low + self.axis.spread) // self.phases)

    @property
    def around(self) -> tuple[int, int]:
        """The padding with which there are just the wanted sums; less than nothing where others come before or after."""
        first, last = self.wanted
        edge, beyond = (self.count - 1) * self.gap, self.places + (self.count - 1) * self.dilation
        return edge - first * self.count, edge + (last - beyond) * self.count

    @property
    def padding(self) -> tuple[int, int]:
        """The padding, with as many sums more as keep it from cutting elements off."""
        low, high = self.around
        (before, after), count = self.unwanted, self.count
        return low + before * count, high + after * count

    @property
    def unwanted(self) -> tuple[int, int]:
        """Return the numbers of sums before and after the wanted ones."""
        low, high = (max(0, -(n // self.count)) for n in self.around)
        return low, high

    @property
    def sums(self) -> tuple[int, int]:
        """The first and the last sum that is computed, the latter not included."""
        return self.wanted[0] - self.unwanted[0], self.wanted[1] + self.unwanted[1]


def folding(axis: Sliding) -> Folding:
    """The way to fold an axis of known extents."""
    dilation = 1 if axis.window == 1 else axis.dilation
    if axis.stride == 1 or dilation == 1:
        return Folding(axis, axis.o, 0, -(-axis.window // axis.stride), axis.stride, dilation)
    return Folding(axis, (axis.o - 1) * axis.stride + 1, axis.stride - 1, axis.window, 1, dilation)


def fold(v: Value, axes: Sequence[Sliding]) -> Value:
    """Add up for each element of x what it gets from all windows, of `v` in the shape of `unfold`."""
    shape = tuple(a.x for a in axes)
    if 0 in shape or 0 in spec(v).shape:
        return broadcast(scalar(0.0, spec(v).dtype), shape)
    if any(a.dynamic for a in axes):
        return fold_parts(v, axes)
    if all(a.tiled for a in axes):
        return joined(v, axes)
    foldings = [None if a.still else folding(a) for a in axes]
    ends = [None if f is None else AxisSlice(f.axis.low - f.sums[0] * f.phases, f.axis.n, f.axis.base) for f in foldings]
    return cut(summed(laid_out(v, foldings, shape), foldings, shape), {i: c for i, c in enumerate(ends) if c is not None})


def joined(v: Value, axes: Sequence[Sliding]) -> Value:
    """Windows one after the other; what is padding is cut off, and what no window reaches is 0."""
    found = reshape(v, tuple(a.y if a.still else a.o * a.window for a in axes))
    found = cut(found, {i: AxisSlice(a.low, min(a.n, a.o * a.window - a.low)) for i, a in enumerate(axes) if not a.still})
    return pad(found, [0] * len(axes), [0 if a.still else max(0, a.n + a.low - a.o * a.window) for a in axes], [0] * len(axes))


def laid_out(v: Value, foldings: Sequence[Folding | None], x: Dims) -> Value:
    """The elements to sum along one axis for each of x, each followed by an axis of phases if there are several."""
    high, interior = list[int](), list[int]()
    shape: list[Dim] = []
    for f, n in zip(foldings, x, strict=True):
        if f is None:
            high, interior, shape = [*high, 0], [*interior, 0], [*shape, n]
            continue
        high, interior = [*high, 0, f.count * f.phases - f.axis.window], [*interior, f.interior, 0]
        shape += [f.places * f.count, f.phases] if f.phases > 1 else [f.places * f.count]
    return reshape(pad(v, [0] * len(high), high, interior), shape)


def summed(v: Value, foldings: Sequence[Folding | None], x: Dims) -> Value:
    """The sums, all phases of an axis in one; the rest of the axis of x is still to be cut off."""
    window, dilation = list[int](), list[int]()
    padding: list[tuple[int, int]] = []
    shape: list[Dim] = []
    for f, n in zip(foldings, x, strict=True):
        if f is None:
            window, dilation, padding, shape = [*window, 1], [*dilation, 1], [*padding, (0, 0)], [*shape, n]
            continue
        phases = [1] * (f.phases > 1)
        window, dilation = [*window, f.count, *phases], [*dilation, max(f.gap, 1), *phases]
        padding += [f.padding, *[(0, 0) for _ in phases]]
        shape.append((f.sums[1] - f.sums[0]) * f.phases)
    if all(w == 1 for w in window):
        found = pad(v, [low for low, _ in padding], [high for _, high in padding], [0] * len(padding))
    else:
        found = ReduceWindowOp(
            v,
            kind="sum",
            window_dims=window,
            strides=window,
            padding=padding,
            base_dilation=[1] * len(window),
            window_dilation=dilation,
        )
    return reshape(found, shape)
