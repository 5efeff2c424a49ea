"""
Rows that sample images at places that are data: RoiAlign in regions, DeformConv around the elements of windows.

Both interpolate linearly between neighbours. Their results have the derivatives of the gathers and products that they become.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.errors import brief, error
from mind_dialect.ptir.types import F32, SI64
from mind_dialect.types import Shape

from ..unsupported import Refused
from .converter import OnnxConverter, OnnxRow
from .emitter import check_constants, static
from .model import array_dtype
from .node import Node
from .sampling import ImageAxis, elements, interpolated

_CENTERS = ("half_pixel", "output_half_pixel")


@dataclass(frozen=True)
class _Line:
    """The samples of regions along an axis, `[regions, bins, samples]`: two neighbours, the share of the second, which exist."""

    low: SSAValue
    high: SSAValue
    share: SSAValue
    inside: SSAValue


def _line(to: OnnxConverter, start: SSAValue, length: SSAValue, bins: int, samples: int, extent: int) -> _Line:
    """Samples in the middle of equal parts of bins; a place of up to 1 before the first element is that element."""
    dtype = array_dtype(to.dtype(start))
    regions = static(to.shape(start))[0]
    shape = (regions, bins, samples)

    def spread(v: SSAValue, axis: int) -> SSAValue:
        return to.broadcast(to.reshape(v, tuple(n if a == axis else 1 for a, n in enumerate(shape))), shape)

    each = spread(to.over(length, float(bins)), 0)
    number, part = (to.array_constant((np.arange(n) + shift).astype(dtype)) for n, shift in ((bins, 0), (samples, 0.5)))
    place = to.plus(spread(start, 0), to.times(spread(number, 1), each))
    place = to.plus(place, to.over(to.times(spread(part, 2), each), float(samples)))
    inside = to.emit(ptir.AndOp, to.compare("greater_equal", place, -1.0), to.compare("less_equal", place, float(extent)))
    place = to.select(inside, place, to.like(0.0, place))
    place = to.two(ptir.MinimumOp, to.two(ptir.MaximumOp, place, 0.0), extent - 1.0)
    low = to.emit(ptir.FloorOp, place)
    high = to.two(ptir.MinimumOp, to.plus(low, 1.0), extent - 1.0)
    return _Line(to.cast(low, SI64), to.cast(high, SI64), to.minus(place, low), inside)


def roi_align(to: OnnxConverter, node: Node) -> SSAValue:
    """The mean, or the greatest, of samples in each bin of each region of one of the images."""
    x, rois, batch = node.ranked(0, 4), node.ranked(1, 2), node.ranked(2, 1)
    shape, regions = static(to.shape(x), "RoiAlign"), static(to.shape(rois), "RoiAlign")
    samples, mode = node.int("sampling_ratio"), node.word("mode", "avg", ("avg", "max"))
    center = node.word(
        "coordinate_transformation_mode", "half_pixel" if node.schema.since_version >= 16 else "output_half_pixel", _CENTERS
    )
    bins = [node.int("output_height", 1), node.int("output_width", 1)]
    if samples == 0:
        raise Refused("a number of samples that depends on the regions", "set sampling_ratio")
    if samples < 0 or min(bins) < 1 or 0 in shape[2:]:
        what = f"sampling_ratio {samples} and bins {brief(bins)} of images of shape {brief(list(shape))}"
        raise error("E8002", what, attribute="sampling_ratio", value=samples)
    if regions[1] != 4 or static(to.shape(batch)) != regions[:1]:
        message = f"regions of shape {brief(list(regions))} with {brief(list(to.shape(batch)))} numbers of images"
        raise error("E3003", message, dimension="rois", extents=(4, regions[1]))
    wide = to.dtype(x) if to.dtype(x).bits >= 32 else F32
    scaled = to.times(to.cast(rois, wide), node.float("spatial_scale", 1.0))
    scaled = to.minus(scaled, 0.5) if center == "half_pixel" else scaled
    corners = [to.reshape(to.part(scaled, 1, i, i + 1), regions[:1]) for i in range(4)]
    lines: list[_Line] = []
    for k in range(2):
        start = corners[1 - k]
        length = to.minus(corners[3 - k], start)
        length = length if center == "half_pixel" else to.two(ptir.MaximumOp, length, 1.0)
        lines.append(_line(to, start, length, bins[k], samples, shape[2 + k]))
    images = to.reshape(to.transpose(to.cast(x, wide), (1, 0, 2, 3)), (1, shape[1], math.prod(shape) // max(shape[1], 1)))
    values = _corners(to, images, to.cast(batch, SI64), lines, (shape[0], *shape[2:]))
    if mode == "max":  # of weighted neighbours, as ONNX Runtime and the reference evaluator have it
        found = values[0]
        for value in values[1:]:
            found = to.emit(ptir.MaximumOp, found, value)
    else:
        found = values[0]
        for value in values[1:]:
            found = to.plus(found, value)
    found = to.reshape(found, (shape[1], regions[0], bins[0], samples, bins[1], samples))
    pooled = to.reduced("max", found, (3, 5), keepdims=False) if mode == "max" else to.mean(found, (3, 5), keepdims=False)
    return to.cast(to.transpose(pooled, (1, 0, 2, 3)), to.dtype(x))


def _corners(to: OnnxConverter, images: SSAValue, batch: SSAValue, lines: Sequence[_Line], sizes: Shape) -> list[SSAValue]:
    """The four neighbours of each sample times their weights."""
    (regions, height, samples), (_, width, _) = (static(to.shape(line.low)) for line in lines)
    shape = (1, regions, height, samples, width, samples)

    def spread(v: SSAValue, *axes: int) -> SSAValue:
        return to.broadcast(to.reshape(v, tuple(n if a in axes else 1 for a, n in enumerate(shape))), shape)

    axes = ((1, 2, 3), (1, 4, 5))
    inside = to.emit(ptir.AndOp, *(spread(line.inside, *own) for line, own in zip(lines, axes, strict=True)))
    found: list[SSAValue] = []
    for second in itertools.product((False, True), repeat=2):
        weights, places = list[SSAValue](), [spread(batch, 1)]
        for line, own, is_high in zip(lines, axes, second, strict=True):
            weights.append(spread(line.share if is_high else to.minus(1.0, line.share), *own))
            places.append(spread(line.high if is_high else line.low, *own))
        weight = to.times(weights[0], weights[1])
        found.append(elements(to, images, [(place, inside) for place in places], sizes, weight))
    return found


def deform_conv(to: OnnxConverter, node: Node) -> SSAValue:
    """A convolution whose windows have an offset for each element, and perhaps a factor."""
    x, w, offset = node.x(0), node.x(1), node.x(2)
    shape, filters, offsets = (static(to.shape(v), "DeformConv") for v in (x, w, offset))
    n = len(shape) - 2
    if n < 1 or len(filters) != n + 2 or len(offsets) != n + 2:
        raise error(
            "E3002", f"filters of rank {len(filters)}, offsets of rank {len(offsets)}", expected=n + 2, actual=len(filters)
        )
    kernel, out, batch = filters[2:], offsets[2:], shape[0]
    groups, parts, size = node.int("group", 1), node.int("offset_group", 1), math.prod(kernel)
    strides, dilations, pads = node.each("strides", n, 1), node.each("dilations", n, 1), node.each("pads", 2 * n, 0)
    _check_deform(node, shape, filters, offsets, (groups, parts))
    expected = tuple(
        (shape[2 + i] + pads[i] + pads[n + i] - (kernel[i] - 1) * dilations[i] - 1) // strides[i] + 1 for i in range(n)
    )
    if expected != out:
        message = f"offsets of shape {brief(list(offsets))} for results of shape {brief(list(expected))}"
        raise error("E3003", message, dimension="offset", extents=(expected, out))
    wide = to.dtype(x) if to.dtype(x).bits >= 32 else F32
    moves = to.reshape(to.cast(offset, wide), (batch * parts, size, n, *out))
    at: list[SSAValue] = []
    for i in range(n):
        move = to.reshape(to.part(moves, 2, i, i + 1), (batch * parts, size, *out))
        at.append(to.plus(move, to.broadcast(_window_places(to, i, kernel, out, strides, dilations, pads, move), to.shape(move))))
    flat = to.reshape(to.cast(x, wide), (batch * parts, shape[1] // parts, math.prod(shape[2:])))
    axes = [ImageAxis(to, shape[2:], i, "zeros", align=True) for i in range(n)]
    columns = interpolated(to, flat, axes, at, "linear")
    length = math.prod(out)
    if (mask := node.optional(4)) is not None:
        factor = to.reshape(to.cast(mask, wide), (batch * parts, 1, size * length))
        columns = to.times(columns, to.broadcast(factor, to.shape(columns)))
    columns = to.reshape(columns, (batch, groups, shape[1] // groups * size, length))
    matrix = to.reshape(to.cast(w, wide), (groups, filters[0] // groups, filters[1] * size))
    roles = {"batch_lhs": (0,), "batch_rhs": (1,), "contract_lhs": (2,), "contract_rhs": (2,)}
    found = to.emit(ptir.DotGeneralOp, matrix, columns, **roles)
    found = to.reshape(to.transpose(found, (2, 0, 1, 3)), (batch, filters[0], *out))
    if (bias := node.optional(3)) is not None:
        found = to.plus(found, to.broadcast(to.along(to.cast(bias, wide), 1, n + 2), to.shape(found)))
    return to.cast(found, to.dtype(x))


def _check_deform(node: Node, shape: Shape, filters: Shape, offsets: Shape, parts: tuple[int, int]) -> None:
    """Refuse channels that do not divide into groups, and offsets of another number."""
    groups, own = parts
    n, size = len(shape) - 2, math.prod(filters[2:])
    if min(parts) < 1 or shape[1] != filters[1] * groups or filters[0] % groups or shape[1] % own or 0 in (size, *shape[2:]):
        message = (
            f"images of shape {brief(list(shape))}, filters of shape {brief(list(filters))}, {groups} groups, {own} of offsets"
        )
        raise error("E3003", message, dimension="channels", extents=(shape[1], filters[1] * groups))
    if offsets[:2] != (shape[0], own * size * n):
        message = f"offsets of shape {brief(list(offsets))}, expected {[shape[0], own * size * n]} first"
        raise error("E3003", message, dimension="offset", extents=(own * size * n, offsets[1]))
    check_constants(size * math.prod(offsets[2:]), "DeformConv")


def _window_places(
    to: OnnxConverter,
    axis: int,
    kernel: Shape,
    out: Shape,
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    like: SSAValue,
) -> SSAValue:
    """The places of the elements of windows along an axis, `[1, elements, ...]`, without offsets."""
    n = len(kernel)
    element = np.arange(kernel[axis]).reshape([-1 if i == axis else 1 for i in range(n)]) * dilations[axis]
    element = np.broadcast_to(element, kernel).reshape(1, -1, *(1,) * n)
    window = np.arange(out[axis]).reshape(1, 1, *(-1 if i == axis else 1 for i in range(n))) * strides[axis] - pads[axis]
    places = (element + window).astype(array_dtype(to.dtype(like)))
    return to.array_constant(places)


REGIONS: dict[str, OnnxRow | Refused] = {"DeformConv": deform_conv, "RoiAlign": roi_align}
