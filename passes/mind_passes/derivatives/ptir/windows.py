"""
Windows as axes of their own.

`unfold` gives each axis that windows slide along two axes, the place of the window and the place in it: by a reshape where
windows tile the axis, else by patches. Its transpose is in `folding`.
"""

from __future__ import annotations

from collections.abc import Sequence

from mind_dialect.errors import error
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import ExtractPatchesOp, PadOp
from mind_dialect.ptir_shapes import Dim, Dims, Pairs

from ...ptir.construct import Value, broadcast, reshape, scalar, spec, transpose
from ...ptir.parts import AxisSlice, window


@dataclass(frozen=True)
class Sliding:
    """A window that slides along one axis: `x` elements, `base` apart, give `y` places."""

    x: Dim
    y: Dim
    window: int
    stride: int
    low: int
    high: int
    base: int
    dilation: int

    @property
    def still(self) -> bool:
        """Return whether each element is a window of its own."""
        return self.window == self.stride == self.base == 1 and self.low == self.high == 0

    @property
    def dynamic(self) -> bool:
        """Return whether windows slide along an extent that only the run knows."""
        return not self.still and (isinstance(self.x, str) or isinstance(self.y, str))

    @property
    def tiled(self) -> bool:
        """Return whether windows follow each other without gaps, so that folding adds nothing up."""
        plain = self.base == 1 and (self.dilation == 1 or self.window == 1)
        return self.still or (self.window == self.stride > self.low and plain)

    @property
    def reach(self) -> int:
        """From the first to the last element of a window, both included."""
        return (self.window - 1) * self.dilation + 1

    @property
    def n(self) -> int:
        """The extent of x."""
        return sized(self.x)

    @property
    def o(self) -> int:
        """Return the number of places."""
        return sized(self.y)

    @property
    def spread(self) -> int:
        """The extent of x with its holes."""
        return (self.n - 1) * self.base + 1 if self.n else 0

    @property
    def full(self) -> bool:
        """Return whether each window surely holds an element that is not padding."""
        inner = self.base == self.dilation == 1 and max(self.low, self.high) < self.window
        return self.still or (inner and not self.dynamic and self.n > 0)


def sized(extent: Dim) -> int:
    """An extent that is a size; E5006 for a name."""
    if isinstance(extent, str):
        message = f"windows slide along a dimension {extent}, expected a size: the derivative depends on it"
        raise error("E5006", message, type=extent)
    return extent


def sliding(
    x: Dims, y: Dims, window: Sequence[int], strides: Sequence[int], padding: Pairs, base: Sequence[int], dilation: Sequence[int]
) -> tuple[Sliding, ...]:
    """By axis."""
    each = zip(x, y, window, strides, padding, base, dilation, strict=True)
    return tuple(Sliding(m, n, w, s, low, high, b, d) for m, n, w, s, (low, high), b, d in each)


def still(x: Dim) -> Sliding:
    """An axis along which nothing slides."""
    return Sliding(x, x, 1, 1, 0, 0, 1, 1)


# Windows as axes


def apart(v: Value, axes: Sequence[Sliding]) -> Value:
    """`v`, of the shape of places, under the shape of `unfold`: the same at each place in a window."""
    once: list[Dim] = []
    for a in axes:
        once += [a.y] if a.still else [a.y, 1]
    return broadcast(reshape(v, once), unfolded(axes))


def unfolded(axes: Sequence[Sliding]) -> Dims:
    """The shape of `unfold`."""
    shape: list[Dim] = []
    for a in axes:
        shape += [a.y] if a.still else [a.y, a.window]
    return tuple(shape)


def inner_axes(axes: Sequence[Sliding]) -> tuple[int, ...]:
    """The axes of `unfold` that are places in windows."""
    found: list[int] = []
    position = 0
    for a in axes:
        if not a.still:
            found.append(position + 1)
        position += 1 if a.still else 2
    return tuple(found)


def unfold(x: Value, axes: Sequence[Sliding], padding: float) -> Value:
    """`x` with an axis for the places in the window after each axis of places."""
    if 0 in (shape := unfolded(axes)):
        return broadcast(scalar(padding, spec(x).dtype), shape)
    if all(a.tiled for a in axes):
        cuts = {i: AxisSlice(0, a.x if a.still else min(a.n, a.o * a.window - a.low)) for i, a in enumerate(axes)}
        low = [a.low for a in axes]
        high = [0 if a.still else max(0, a.o * a.window - a.low - a.n) for a in axes]
        return reshape(padded(cut(x, cuts), low, high, [0] * len(axes), padding), shape)
    x = padded(x, [0] * len(axes), [0] * len(axes), [a.base - 1 for a in axes], padding)
    found = spec(x).shape
    lead, tail = not axes[0].still, not axes[-1].still or len(axes) == 1
    image = reshape(x, (*[1] * lead, *found, *[1] * tail))
    spatial = axes[1 - lead : len(axes) - 1 + tail]
    patches = ExtractPatchesOp(
        image,
        window=[a.window for a in spatial],
        strides=[a.stride for a in spatial],
        dilation=[a.dilation for a in spatial],
        padding=[(a.low, a.high) for a in spatial],
        pad_value=padding,
    )
    return interleaved(patches, axes)


def bordered(x: Value, axes: Sequence[Sliding], padding: float) -> tuple[Value, tuple[Sliding, ...]]:
    """Return `x`, without holes, with its border as elements, and how windows slide over that: a border that others share."""
    whole = padded(x, [a.low for a in axes], [a.high for a in axes], [0] * len(axes), padding)
    sizes = zip(axes, spec(whole).shape, strict=True)
    return whole, tuple(a if a.still else Sliding(n, a.y, a.window, a.stride, 0, 0, 1, a.dilation) for a, n in sizes)


def interleaved(patches: Value, axes: Sequence[Sliding]) -> Value:
    """Patches, whose places in windows all come before the channels, under the shape of `unfold`."""
    last = axes[-1]
    before = axes if not last.still else axes[:-1]
    moving = [a for a in axes if not a.still]
    channels = [last.y] if last.still else []
    apart = reshape(patches, (*(a.y for a in before), *(a.window for a in moving), *channels))
    order: list[int] = []
    inner = len(before)
    for i, a in enumerate(before):
        order.append(i)
        if not a.still:
            order.append(inner)
            inner += 1
    return transpose(apart, [*order, *[inner] * len(channels)])


def padded(x: Value, low: Sequence[int], high: Sequence[int], interior: Sequence[int], number: float) -> Value:
    if not (any(low) or any(high) or any(interior)):
        return x
    return PadOp(x, low=low, high=high, interior=interior, pad_value=number)


def cut(x: Value, cuts: dict[int, AxisSlice]) -> Value:
    """`x` cut along some axes; `x` itself if nothing is cut off."""
    shape = spec(x).shape
    real = {a: c for a, c in cuts.items() if c != (0, shape[a], 1)}
    return window(x, real) if real else x
