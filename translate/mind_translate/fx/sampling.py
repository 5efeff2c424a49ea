"""Rows that read images and volumes between their places."""

from __future__ import annotations

import itertools
import math

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import SI32, SI64

from ..unsupported import Refused
from .converter import AtenConverter, Call, Table

LINEAR, NEAREST, CUBIC = range(3)
ZEROS, BORDER = 0, 1


def _clipped(to: AtenConverter, place: SSAValue, size: int) -> SSAValue:
    """Between the first and the last place, without a derivative at and beyond them; NaN is the last."""
    place = to.select(to.compare("less_equal", place, 0.0), to.like(0.0, place), place)
    return to.select(to.compare("less", place, float(size - 1)), place, to.like(float(size - 1), place))


def _reflected(to: AtenConverter, place: SSAValue, low: float, span: float) -> SSAValue:
    """Reflected at `low` and at `low + span` until it is between them."""
    if span == 0:
        return to.like(0.0, place)
    place = to.emit(ptir.AbsOp, to.math(ptir.SubOp, place, low))
    extra = to.math(ptir.RemainderOp, place, span)
    flips = to.emit(ptir.FloorOp, to.math(ptir.DivOp, place, span))
    is_even = to.compare("equal", to.math(ptir.RemainderOp, flips, 2.0), 0.0)
    back = to.math(ptir.SubOp, to.like(span, extra), extra)
    return to.math(ptir.AddOp, to.select(is_even, extra, back), low)


def _unpadded(to: AtenConverter, coordinate: SSAValue, size: int, align: bool) -> SSAValue:
    """A coordinate as a place along an axis: -1 and 1 are the centres of the outer elements if they are aligned, else edges."""
    place = to.math(ptir.MulOp, to.math(ptir.AddOp, coordinate, 1.0), (size - 1 if align else size) / 2)
    return place if align else to.math(ptir.SubOp, place, 0.5)


def _padded(to: AtenConverter, place: SSAValue, size: int, padding: int, align: bool) -> SSAValue:
    """A place along an axis as the padding moves it inside."""
    if padding == ZEROS:
        return place
    if padding != BORDER:
        place = _reflected(to, place, 0.0 if align else -0.5, size - 1 if align else size)
    return _clipped(to, place, size)


def _grid_sampler(to: AtenConverter, call: Call, x: SSAValue, grid: SSAValue, mode: int, padding: int, align: bool) -> SSAValue:
    """The sum of the neighbours in each direction by how near they are, or the nearest one; 0 outside with `zeros`."""
    sizes = to.sizes(x)[2:]
    n = len(sizes)
    if mode not in (LINEAR, NEAREST, CUBIC) or (mode == CUBIC and n != 2):
        raise Refused("cubic interpolation of a volume", "use mode='bilinear'")
    coordinates = (to.reshape(to.part(grid, n + 1, n - 1 - i, n - i), to.shape(grid)[: n + 1]) for i in range(n))
    taps = [_taps(to, v, size, mode, padding, align) for v, size in zip(coordinates, sizes, strict=True)]
    found: SSAValue | None = None
    for corner in itertools.product(*taps):
        weight: SSAValue | None = None
        for _, part in corner:
            weight = part if weight is None or part is None else to.emit(ptir.MulOp, weight, part)
        value = _at(to, x, [place for place, _ in corner], weight)
        found = value if found is None else to.emit(ptir.AddOp, found, value)
    assert found is not None
    return to.reshape(found, call.shape)


def _taps(
    to: AtenConverter, coordinate: SSAValue, size: int, mode: int, padding: int, align: bool
) -> list[tuple[SSAValue, SSAValue | None]]:
    """Return the whole places along an axis that a coordinate reads, with their weights."""
    if mode == CUBIC:
        place = _unpadded(to, coordinate, size, align)
        first = to.emit(ptir.FloorOp, place)
        places = (to.math(ptir.AddOp, first, float(i - 1)) for i in range(4))
        return list(zip((_padded(to, p, size, padding, align) for p in places), _cubic(to, place, first), strict=True))
    place = _padded(to, _unpadded(to, coordinate, size, align), size, padding, align)
    if mode == NEAREST:
        return [(to.emit(ptir.RoundOp, place), None)]
    first = to.emit(ptir.FloorOp, place)
    more = to.emit(ptir.SubOp, place, first)
    less = to.math(ptir.SubOp, to.like(1.0, more), more)
    return [(first, less), (to.math(ptir.AddOp, first, 1.0), more)]


def _cubic(to: AtenConverter, place: SSAValue, first: SSAValue) -> list[SSAValue]:
    """Return the weights of four places around one by Keys' cubic convolution, whose parameter is -0.75 here."""
    beyond = to.emit(ptir.SubOp, place, first)
    left = to.math(ptir.SubOp, to.like(1.0, beyond), beyond)

    def polynomial(x: SSAValue, *factors: float) -> SSAValue:
        found = to.math(ptir.MulOp, x, factors[0])
        for factor in factors[1:-1]:
            found = to.emit(ptir.MulOp, to.math(ptir.AddOp, found, factor) if factor else found, x)
        return to.math(ptir.AddOp, found, factors[-1])

    a = -0.75
    far = (polynomial(to.math(ptir.AddOp, x, 1.0), a, -5 * a, 8 * a, -4 * a) for x in (beyond, left))
    near = (polynomial(x, a + 2, -(a + 3), 0.0, 1.0) for x in (beyond, left))
    (before, after), (here, next_) = far, near
    return [before, here, next_, after]


def _at(to: AtenConverter, x: SSAValue, at: list[SSAValue], weight: SSAValue | None) -> SSAValue:
    """The elements at whole places, in one axis, times a weight; 0 outside of the image or volume."""
    batch, channels, *sizes = to.sizes(x)
    dtype = SI32 if math.prod(sizes) < 1 << 31 else SI64
    index: SSAValue | None = None
    inside: SSAValue | None = None
    for place, size in zip(at, sizes, strict=True):
        is_in = (to.compare("greater_equal", place, 0.0), to.compare("less_equal", place, float(size - 1)))
        inside = to.logical(ptir.AndOp, inside, *is_in)
        whole = to.cast(to.select(to.emit(ptir.AndOp, *is_in), place, to.like(0.0, place)), dtype)
        index = whole if index is None else to.emit(ptir.AddOp, to.math(ptir.MulOp, index, size), whole)
    assert index is not None
    assert inside is not None
    count = math.prod(to.sizes(index)[1:])
    spread = (batch, channels, count)
    indices = to.broadcast(to.reshape(index, (batch, 1, count)), spread)
    value = to.emit(ptir.GatherOp, to.reshape(x, (batch, channels, math.prod(sizes))), indices, axis=2)
    if weight is not None:
        value = to.math(ptir.MulOp, value, to.reshape(weight, (batch, 1, count)))
    mask = to.broadcast(to.reshape(inside, (batch, 1, count)), spread)
    return to.select(mask, value, to.like(0.0, value))


SAMPLING: Table = {"grid_sampler_2d.default": _grid_sampler, "grid_sampler_3d.default": _grid_sampler}
