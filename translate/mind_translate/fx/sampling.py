"""Rows that read volumes between their places. Of images torch decomposes the same op itself (`grid_sampler_2d`)."""

from __future__ import annotations

import itertools
import math

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import SI64

from ..unsupported import Refused
from .converter import AtenConverter, Call, Table

LINEAR, NEAREST = 0, 1
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


def _place(to: AtenConverter, coordinate: SSAValue, size: int, padding: int, align: bool) -> SSAValue:
    """A coordinate as a place along an axis: -1 and 1 are the centres of the outer elements if they are aligned, else edges."""
    place = to.math(ptir.MulOp, to.math(ptir.AddOp, coordinate, 1.0), (size - 1 if align else size) / 2)
    place = place if align else to.math(ptir.SubOp, place, 0.5)
    if padding == ZEROS:
        return place
    if padding != BORDER:
        place = _reflected(to, place, 0.0 if align else -0.5, size - 1 if align else size)
    return _clipped(to, place, size)


def _grid_sampler_3d(
    to: AtenConverter, call: Call, x: SSAValue, grid: SSAValue, mode: int, padding: int, align: bool
) -> SSAValue:
    """The sum of the neighbours in each direction by how near they are, or the nearest one; 0 outside with `zeros`."""
    if mode not in (LINEAR, NEAREST):
        raise Refused("cubic interpolation of a volume", "use mode='bilinear'")
    sizes = to.sizes(x)[2:]
    coordinates = (to.reshape(to.part(grid, 4, 2 - i, 3 - i), to.shape(grid)[:4]) for i in range(3))
    places = [_place(to, v, n, padding, align) for v, n in zip(coordinates, sizes, strict=True)]
    if mode == NEAREST:
        return _at(to, call, x, [to.emit(ptir.RoundOp, p) for p in places], None)
    floors = [to.emit(ptir.FloorOp, p) for p in places]
    found: SSAValue | None = None
    for corner in itertools.product((0, 1), repeat=3):
        at = [to.math(ptir.AddOp, f, 1.0) if up else f for f, up in zip(floors, corner, strict=True)]
        weight: SSAValue | None = None
        for p, f, up in zip(places, floors, corner, strict=True):
            part = to.emit(ptir.SubOp, p, f)
            part = part if up else to.math(ptir.SubOp, to.like(1.0, part), part)
            weight = part if weight is None else to.emit(ptir.MulOp, weight, part)
        value = _at(to, call, x, at, weight)
        found = value if found is None else to.emit(ptir.AddOp, found, value)
    assert found is not None
    return found


def _at(to: AtenConverter, call: Call, x: SSAValue, at: list[SSAValue], weight: SSAValue | None) -> SSAValue:
    """The elements at whole places times a weight; 0 outside the volume."""
    batch, channels, *sizes = to.sizes(x)
    index: SSAValue | None = None
    inside: SSAValue | None = None
    for place, size in zip(at, sizes, strict=True):
        is_in = (to.compare("greater_equal", place, 0.0), to.compare("less_equal", place, float(size - 1)))
        inside = to.logical(ptir.AndOp, inside, *is_in)
        whole = to.cast(to.select(to.emit(ptir.AndOp, *is_in), place, to.like(0.0, place)), SI64)
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
    return to.reshape(to.select(mask, value, to.like(0.0, value)), call.shape)


SAMPLING: Table = {"grid_sampler_3d.default": _grid_sampler_3d}
