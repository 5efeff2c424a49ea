"""
Rows that read or write images at places: GridSample at computed ones, Col2Im at those of windows.

The definitions of coordinates, borders and filters are those of the operators in ONNX's documentation.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.errors import brief, error
from mind_dialect.ptir.types import F32, SI32, SI64

from ..unsupported import Refused
from .converter import OnnxConverter, OnnxRow
from .emitter import check_constants, static
from .model import array_dtype
from .node import Node

Element = tuple[SSAValue, SSAValue]
"""The index of an element, along an axis or in a flat image, and whether there is one."""
MODES = {"linear": "linear", "bilinear": "linear", "nearest": "nearest", "cubic": "cubic", "bicubic": "cubic"}
PADDINGS = ("zeros", "border", "reflection")
_CUBIC = -0.75
"""The parameter of Keys' filter."""
FARTHEST = 2
"""A neighbour of a place within the ends is at most so far beyond them."""
MOST_CORNERS = 64
"""Neighbours of a place that are written as ops of their own: those of the cubic filter in three dimensions."""


def _reflected(to: OnnxConverter, place: SSAValue, low: float, high: float) -> SSAValue:
    """Reflected at both ends until it is between them."""
    if low == high:
        return to.like(low, place)
    span = high - low
    distance = to.emit(ptir.AbsOp, to.minus(place, low))
    extra = to.two(ptir.RemainderOp, distance, span)
    flips = to.emit(ptir.FloorOp, to.over(distance, span))
    is_even = to.compare("equal", to.two(ptir.RemainderOp, flips, 2.0), 0.0)
    return to.select(is_even, to.plus(extra, low), to.minus(high, extra))


def _reflected_once(to: OnnxConverter, place: SSAValue, low: float, high: float) -> SSAValue:
    """Reflected at an end that it is beyond, by no more than from one end to the other."""
    place = to.select(to.compare("less", place, low), to.minus(2 * low, place), place)
    return to.select(to.compare("greater", place, high), to.minus(2 * high, place), place)


def _clipped(to: OnnxConverter, place: SSAValue, size: int) -> SSAValue:
    place = to.select(to.compare("less", place, 0.0), to.like(0.0, place), place)
    return to.select(to.compare("greater", place, size - 1.0), to.like(size - 1.0, place), place)


class ImageAxis:
    """An axis of an image: how long it is, and what lies beyond its ends."""

    def __init__(self, to: OnnxConverter, sizes: Sequence[int], axis: int, padding: str, align: bool):
        self.to, self.size, self.padding, self.align = to, sizes[axis], padding, align
        self.index = SI32 if math.prod(sizes) < 2**31 else SI64
        self.ends = (0.0, self.size - 1.0) if align else (-0.5, self.size - 0.5)

    def place(self, coordinate: SSAValue, mode: str) -> SSAValue:
        """
        A coordinate from -1 to 1 as a place; what is beyond the ends is brought between them, but with `zeros`.

        Beyond a border the cubic filter goes on over repeated elements, as in ONNX Runtime and PyTorch; the reference evaluator
        takes the border element.
        """
        to, size = self.to, self.size
        place = to.times(to.plus(coordinate, 1.0), (size - 1 if self.align else size) / 2)
        place = place if self.align else to.minus(place, 0.5)
        place = to.emit(ptir.RoundOp, place) if mode == "nearest" else place
        if self.padding == "zeros" or (self.padding, mode) == ("border", "cubic"):
            return place
        beyond = to.emit(ptir.OrOp, to.compare("less", place, self.ends[0]), to.compare("greater", place, self.ends[1]))
        inner = _clipped(to, place, size) if self.padding == "border" else _reflected(to, place, *self.ends)
        return to.select(beyond, inner, place)

    def element(self, place: SSAValue) -> Element:
        """The index of the element at a whole place, at most 2 beyond the ends, and whether there is one; NaN has none."""
        to = self.to
        if self.padding == "reflection":
            reflected = _reflected_once if self.ends[1] - self.ends[0] >= FARTHEST else _reflected
            place = to.emit(ptir.FloorOp, reflected(to, place, *self.ends))
        if self.padding != "zeros":
            place = _clipped(to, place, self.size)
        inside = to.emit(ptir.AndOp, to.compare("greater_equal", place, 0.0), to.compare("less", place, float(self.size)))
        return to.cast(to.select(inside, place, to.like(0.0, place)), self.index), inside


def _filter(to: OnnxConverter, mode: str, share: SSAValue) -> list[tuple[int, SSAValue]]:
    """The neighbours of a place and their weights, of how far it is beyond a whole place."""
    rest = to.minus(1.0, share)
    if mode == "linear":
        return [(0, rest), (1, share)]

    def near(d: SSAValue) -> SSAValue:
        inner = to.minus(to.times(d, _CUBIC + 2), _CUBIC + 3)
        return to.plus(to.times(to.times(inner, d), d), 1.0)

    def far(d: SSAValue) -> SSAValue:
        inner = to.plus(to.times(to.minus(to.times(d, _CUBIC), 5 * _CUBIC), d), 8 * _CUBIC)
        return to.minus(to.times(inner, d), 4 * _CUBIC)

    return [(-1, far(to.plus(share, 1.0))), (0, near(share)), (1, near(rest)), (2, far(to.plus(rest, 1.0)))]


def grid_sample(to: OnnxConverter, node: Node) -> SSAValue:
    """The sum of the neighbours in each direction by their weights, or the nearest one."""
    x, grid = node.x(0), node.x(1)
    shape, places = static(to.shape(x), "GridSample"), static(to.shape(grid), "GridSample")
    count = len(shape) - 2
    if count < 1 or len(places) != len(shape):
        raise error("E3002", f"a grid of rank {len(places)} for rank {len(shape)}", expected=len(shape), actual=len(places))
    if places[-1] != count or places[0] != shape[0]:
        message = f"a grid of shape {brief(list(places))} for images of shape {brief(list(shape))}"
        raise error("E3003", message, dimension="last", extents=(count, places[-1]))
    if 0 in shape[2:]:
        raise error("E8002", f"images of shape {brief(list(shape))} have no elements", attribute="X", value=0)
    mode = MODES[node.word("mode", "linear", tuple(MODES))]
    padding, align = node.word("padding_mode", "zeros", PADDINGS), bool(node.int("align_corners"))
    if not to.dtype(x).is_float and mode != "nearest":
        raise Refused(f"{mode} interpolation of {to.dtype(x)}", "cast the images to f32")
    if 4**count > MOST_CORNERS and mode == "cubic":
        raise Refused(f"cubic interpolation in {count} dimensions", "at most 3 are")
    wide = to.dtype(grid) if to.dtype(grid).bits >= 32 else F32
    axes = [ImageAxis(to, shape[2:], i, padding, align) for i in range(count)]
    parts = (to.reshape(to.part(grid, count + 1, i, i + 1), places[:-1]) for i in range(count - 1, -1, -1))
    at = [axis.place(to.cast(part, wide), mode) for axis, part in zip(axes, parts, strict=True)]
    flat = to.reshape(x, (*shape[:2], math.prod(shape[2:])))
    if mode == "nearest":
        found = elements(to, flat, [axis.element(p) for axis, p in zip(axes, at, strict=True)], shape[2:], None)
    else:
        found = interpolated(to, to.cast(flat, wide), axes, at, mode)
    return to.reshape(to.cast(found, to.dtype(x)), (*shape[:2], *places[1:-1]))


def interpolated(to: OnnxConverter, flat: SSAValue, axes: Sequence[ImageAxis], at: Sequence[SSAValue], mode: str) -> SSAValue:
    """
    Return flat images `[N, C, elements]` at places along each axis, of shape `[N, ...]`, as `[N, C, places]`.

    Places along the axes are put together for each channel: fewer of them are in memory than of neighbours.
    """
    floors = [to.emit(ptir.FloorOp, p) for p in at]
    filters = [_filter(to, mode, to.minus(p, f)) for p, f in zip(at, floors, strict=True)]
    taps = [
        [
            (_spread_element(to, flat, axis.element(to.plus(floor, float(offset)))), _spread(to, flat, weight))
            for offset, weight in each
        ]
        for axis, floor, each in zip(axes, floors, filters, strict=True)
    ]
    sizes = [axis.size for axis in axes]
    if mode == "cubic":
        return _along(to, flat, taps, (), sizes)
    found: SSAValue | None = None
    for corner in itertools.product(*taps):
        weight = corner[0][1]
        for _, factor in corner[1:]:
            weight = to.times(weight, factor)
        value = _looked_up(to, flat, _position(to, [element for element, _ in corner], sizes), weight)
        found = value if found is None else to.plus(found, value)
    assert found is not None
    return found


def _along(
    to: OnnxConverter,
    flat: SSAValue,
    taps: Sequence[Sequence[tuple[Element, SSAValue]]],
    at: tuple[Element, ...],
    sizes: Sequence[int],
) -> SSAValue:
    """The sum along one axis after the other: of rows of neighbours first, then of rows."""
    if len(at) == len(taps):
        return _looked_up(to, flat, _position(to, at, sizes), None)
    found: SSAValue | None = None
    for element, weight in taps[len(at)]:
        value = to.times(_along(to, flat, taps, (*at, element), sizes), weight)
        found = value if found is None else to.plus(found, value)
    assert found is not None
    return found


def elements(
    to: OnnxConverter,
    flat: SSAValue,
    at: Sequence[Element],
    sizes: Sequence[int],
    weight: SSAValue | None,
) -> SSAValue:
    """Elements of flat images `[N, C, elements]` times a weight; 0 where there is none."""
    element = _spread_element(to, flat, _position(to, at, sizes))
    return _looked_up(to, flat, element, None if weight is None else _spread(to, flat, weight))


def _position(to: OnnxConverter, at: Sequence[Element], sizes: Sequence[int]) -> Element:
    """Return the element of a flat image that elements along each axis are."""
    index, inside = at[0]
    for (more, is_in), size in zip(at[1:], sizes[1:], strict=True):
        index = to.plus(to.times(index, size), more)
        inside = to.emit(ptir.AndOp, inside, is_in)
    return index, inside


def _spread(to: OnnxConverter, flat: SSAValue, value: SSAValue) -> SSAValue:
    """Return a value of shape `[N, ...]` as `[N, C, places]`, the same for each channel of flat images."""
    batch, channels, _ = static(to.shape(flat))
    count = math.prod(static(to.shape(value))[1:])
    return to.broadcast(to.reshape(value, (batch, 1, count)), (batch, channels, count))


def _spread_element(to: OnnxConverter, flat: SSAValue, element: Element) -> Element:
    index, inside = element
    return _spread(to, flat, index), _spread(to, flat, inside)


def _looked_up(to: OnnxConverter, flat: SSAValue, element: Element, weight: SSAValue | None) -> SSAValue:
    """Return elements of flat images times a weight; 0 where there is none."""
    index, inside = element
    value = to.emit(ptir.GatherOp, flat, index, axis=2)
    value = value if weight is None else to.times(value, weight)
    return to.select(inside, value, to.like(0, value))


def _col2im(to: OnnxConverter, node: Node) -> SSAValue:
    """The sum of windows, each where it lies in an image `[N, C, ...]`; what lies in the pads is dropped."""
    x = node.ranked(0, 3)
    image, block = node.integers(1), node.integers(2)
    assert image is not None
    assert block is not None
    n = len(image)
    strides, dilations, pads = node.each("strides", n, 1), node.each("dilations", n, 1), node.each("pads", 2 * n, 0)
    if len(block) != n or min([1, *strides, *dilations, *block]) < 1 or min([0, *image, *pads]) < 0:
        raise error("E8002", f"windows {brief(block)} in images {brief(image)}", attribute="block_shape", value=block)
    batch, columns, length = static(to.shape(x), "Col2Im")
    padded = [s + pads[i] + pads[n + i] for i, s in enumerate(image)]
    counts = [(p - (k - 1) * d - 1) // s + 1 for p, k, d, s in zip(padded, block, dilations, strides, strict=True)]
    size = math.prod(block)
    if columns % size or min(counts) < 0 or math.prod(counts) != length:
        message = f"columns of shape {[batch, columns, length]} for {brief(counts)} windows of {brief(block)}"
        raise error("E3003", message, dimension="columns", extents=(size, math.prod(max(c, 0) for c in counts)))
    check_constants(size * length, "Col2Im")
    places = np.zeros((), np.int64)
    inside = np.ones((), bool)
    for i, (extent, k, d, s) in enumerate(zip(image, block, dilations, strides, strict=True)):
        along = np.arange(k)[:, None] * d + np.arange(counts[i])[None, :] * s - pads[i]
        shape = [1] * i + [k] + [1] * (n - 1) + [counts[i]] + [1] * (n - 1 - i)
        along = along.reshape(shape)
        places, inside = places * extent + along, inside & (along >= 0) & (along < extent)
    count = math.prod(image)
    index = to.array_constant(np.where(inside, places, count).reshape(-1))
    spread = (batch, columns // size, size * length)
    zeros = to.fill(0, to.dtype(x), (*spread[:2], count + 1))
    found = to.emit(
        *(ptir.ScatterReduceOp, zeros, to.broadcast(to.reshape(index, (1, 1, spread[2])), spread), to.reshape(x, spread)),
        **{"kind": "add", "axis": 2},
    )
    return to.reshape(to.part(found, 2, 0, count), (*spread[:2], *image))


def _affine_grid(to: OnnxConverter, node: Node) -> SSAValue:
    """Images of the points of a grid under maps `[N, n, n + 1]`; the schema's function takes a batch of 1 for no axis."""
    theta, size = node.ranked(0, 3), node.integers(1)
    assert size is not None
    batch, n, columns = static(to.shape(theta), "AffineGrid")
    if n not in (2, 3) or columns != n + 1 or len(size) != n + 2 or size[0] != batch or min(size[2:]) < 1:
        message = f"maps of shape {[batch, n, columns]} for images of shape {brief(size)}"
        raise error("E3003", message, dimension="theta", extents=(columns, len(size) - 1))
    check_constants(math.prod(size[2:]) * columns, "AffineGrid")
    axes = [np.linspace(-1, 1, k) if k > 1 else np.zeros(1) for k in size[2:]]  # of one point, its centre
    if not node.int("align_corners"):
        axes = [axis * (k - 1) / k for axis, k in zip(axes, size[2:], strict=True)]
    points = np.stack([*np.meshgrid(*axes, indexing="ij")[::-1], np.ones(size[2:])], -1).reshape(-1, columns)
    base = to.array_constant(points.astype(array_dtype(to.dtype(theta))))
    found = to.emit(ptir.DotGeneralOp, base, theta, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(2,))
    return to.reshape(to.transpose(found, (1, 0, 2)), (batch, *size[2:], n))


SAMPLING: dict[str, OnnxRow | Refused] = {"AffineGrid": _affine_grid, "Col2Im": _col2im, "GridSample": grid_sample}
