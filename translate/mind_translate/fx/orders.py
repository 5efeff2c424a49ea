"""Rows about the order of elements: medians, the k-th least, places in sorted sequences, and counts of ranges."""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.extents.dims import UNKNOWN, floordiv_dims, product_dims, sub_dims
from mind_dialect.ptir.types import F32, I1, SI32, SI64, Kind

from ..unsupported import Refused
from .converter import AtenConverter, Call, Operand, Results, Row, Table
from .structural import MOST_STRIDED

MOST_COMPARED = 64
"""In sequences of at most this many elements, all are compared with each element whose place is counted."""
MOST_PLACES = 1 << 30
"""Places in sequences of at most this many elements are counted in 32 bits, without an overflow between."""


def _ascending(to: AtenConverter, x: SSAValue, axis: int) -> SSAValue:
    """The indices that sort along an axis, NaN last; equals keep their order."""
    if to.dtype(x).kind is Kind.COMPLEX:
        raise Refused("an order of complex numbers")
    ordered = to.cast(x, SI32) if to.dtype(x) is I1 else x
    return to.add(ptir.TopKOp(ordered, k=to.shape(x)[axis], axis=axis, largest=False, indices_dtype=SI64)).results[1]


def _read(to: AtenConverter, call: Call, x: SSAValue, place: SSAValue, axis: int) -> tuple[SSAValue, SSAValue]:
    """The element at a place of the ascending order, and its index. The value is read there, where its derivative goes."""
    index = to.emit(ptir.GatherOp, _ascending(to, x, axis), place, axis=axis)
    found = to.emit(ptir.GatherOp, x, index, axis=axis)
    return to.shaped(found, call.shape), to.shaped(index, call.shape)


def _kth_value(to: AtenConverter, call: Call, x: SSAValue, k: int, dim: int = -1, keep: bool = False) -> Results:
    """The k-th least, from 1."""
    if not to.shape(x):
        return x, to.fill(0, SI64)
    axis = to.axis(x, dim)
    shape = to.shape(x)
    return _read(to, call, x, to.fill(k - 1, SI64, (*shape[:axis], 1, *shape[axis + 1 :])), axis)


def _middle(to: AtenConverter, x: SSAValue, axis: int, *, over_nan: bool) -> SSAValue:
    """The place of the lower median in the ascending order: of the first NaN if there is one, or of what is none."""
    shape, size = to.shape(x), to.shape(x)[axis]
    kept, half = (*shape[:axis], 1, *shape[axis + 1 :]), floordiv_dims(sub_dims(size, 1), 2)
    if not to.dtype(x).is_float:
        return to.number(half, SI64, kept)
    count = to.reduce("sum", to.cast(to.compare("equal", x, x), SI64), axis, True)  # of numbers
    if over_nan:
        half = to.math(ptir.ShiftRightArithmeticOp, to.math(ptir.SubOp, count, 1), 1)
        return to.math(ptir.MaximumOp, half, 0)
    is_short = to.emit(ptir.CompareOp, count, to.number(size, SI64, kept), kind="less")
    return to.select(is_short, count, to.number(half, SI64, kept))


def _median_along(*, over_nan: bool) -> Row:
    def row(to: AtenConverter, call: Call, x: SSAValue, dim: int = -1, keep: bool = False) -> Results:
        if not to.shape(x):
            return x, to.fill(0, SI64)
        axis = to.axis(x, dim)
        return _read(to, call, x, _middle(to, x, axis, over_nan=over_nan), axis)

    return row


def _median(*, over_nan: bool) -> Row:
    """Of all elements; equals share the derivative, as in torch."""

    def row(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
        count = math.prod(to.sizes(x))
        if not count:
            if not call.dtype.is_float:
                raise Refused("a median of no integers")
            return to.number(math.nan, call.dtype)
        flat = to.reshape(x, (count,))
        found, _ = _read(to, call, flat, _middle(to, flat, 0, over_nan=over_nan), 0)
        if not call.dtype.is_float:
            return found
        found = to.emit(ptir.StopGradientOp, found)
        is_median = to.emit(ptir.AndOp, to.compare("equal", flat, to.broadcast(found, (count,))), _is_finite(to, flat))
        change = to.select(is_median, to.emit(ptir.SubOp, flat, to.emit(ptir.StopGradientOp, flat)), to.like(0.0, flat))
        equals = to.math(ptir.MaximumOp, to.reduce("sum", to.cast(is_median, call.dtype), 0), 1.0)
        return to.emit(ptir.AddOp, found, to.emit(ptir.DivOp, to.reduce("sum", change, 0), equals))

    return row


def _is_finite(to: AtenConverter, x: SSAValue) -> SSAValue:
    return to.compare("less", to.emit(ptir.AbsOp, x), math.inf)


def _places(to: AtenConverter, call: Call, sequence: SSAValue, x: Operand, *, right: bool) -> SSAValue:
    """Count the elements of a sorted sequence that are less, with `right` those not greater; NaN is the greatest."""
    dtype = call.promoted or to.dtype(sequence)
    if isinstance(x, float) and not dtype.is_float:
        dtype = F32
    sequence, x = to.cast(sequence, dtype), to.broadcast(to.tensor(x, dtype), call.shape)
    size = to.shape(sequence)[-1]
    if isinstance(size, int) and size > MOST_COMPARED:
        return _searched(to, call, sequence, x, size, right=right)
    shape = (*call.shape, size)
    if math.prod(n for n in shape if isinstance(n, int)) > MOST_STRIDED:
        raise Refused("places of very many elements in a sequence of a size that is not known")
    own = to.shape(sequence)
    lone = len(own) == 1  # which serves all; else each row has its own
    sequence = to.broadcast(sequence if lone else to.reshape(sequence, (*own[:-1], 1, own[-1])), shape)
    x = to.broadcast(to.reshape(x, (*call.shape, 1)), shape)
    before = to.cast(_is_before(to, sequence, x, right=right), call.dtype)
    return to.reduce("sum", before, len(shape) - 1)


def _is_before(to: AtenConverter, sequence: SSAValue, x: SSAValue, *, right: bool) -> SSAValue:
    """Compare elements of a sorted sequence with those whose places are counted."""
    return to.emit(ptir.NotOp, to.compare("greater" if right else "greater_equal", sequence, x))


def _searched(to: AtenConverter, call: Call, sequence: SSAValue, x: SSAValue, size: int, *, right: bool) -> SSAValue:
    """Search by halves: in each step, skip as many elements as a power of 2 says, if the last of them is before."""
    dtype = SI32 if size <= MOST_PLACES else SI64
    place, axis = to.number(0, dtype, call.shape), len(to.shape(sequence)) - 1
    for bit in reversed(range(size.bit_length())):
        beyond = to.math(ptir.AddOp, place, 1 << bit)
        last = to.math(ptir.MinimumOp, to.math(ptir.SubOp, beyond, 1), size - 1)
        found = to.emit(ptir.GatherOp, sequence, last, axis=axis) if axis else to.emit(ptir.TakeOp, sequence, last)
        skips = to.emit(ptir.AndOp, _is_before(to, found, x, right=right), to.compare("less_equal", beyond, size))
        place = to.select(skips, beyond, place)
    return to.cast(place, call.dtype)


def _search_sorted(
    to: AtenConverter,
    call: Call,
    sequence: SSAValue,
    x: Operand,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    order: SSAValue | None = None,
) -> SSAValue:
    if order is not None:
        sequence = to.emit(ptir.GatherOp, sequence, to.index(order), axis=len(to.shape(sequence)) - 1)
    return _places(to, call, sequence, x, right=right or side == "right")


def _bucket(
    to: AtenConverter, call: Call, x: Operand, bounds: SSAValue, out_int32: bool = False, right: bool = False
) -> SSAValue:
    return _places(to, call, bounds, x, right=right)


def _histogram(to: AtenConverter, call: Call, x: SSAValue, bins: int = 100, low: float = 0, high: float = 0) -> SSAValue:
    """Counts of equal ranges from `low` to `high`, of the extremes of the data if they are equal; what is outside is none's."""
    dtype = call.dtype
    if not dtype.is_float:
        raise Refused(f"a histogram of {dtype}")
    count = product_dims(to.shape(x))
    if count == UNKNOWN:
        raise Refused("a histogram of a size that is not known", "give the program static shapes")
    if count == 0:
        return to.number(0, dtype, call.shape)
    flat = to.reshape(x, (count,))
    first, last = (to.number(v, dtype) for v in (low, high))
    if low == high:
        first, last = to.reduce("min", flat, 0), to.reduce("max", flat, 0)
        alike = to.compare("equal", first, last)
        first = to.select(alike, to.math(ptir.SubOp, first, 1), first)
        last = to.select(alike, to.math(ptir.AddOp, last, 1), last)
    width = to.emit(ptir.SubOp, last, first)
    start, end = (to.broadcast(v, (count,)) for v in (first, last))
    place = to.emit(ptir.MulOp, to.emit(ptir.SubOp, flat, start), to.like(bins, flat))
    place = to.cast(to.emit(ptir.DivOp, place, to.broadcast(width, (count,))), SI64)
    inside = to.emit(ptir.AndOp, to.compare("greater_equal", flat, start), to.compare("less_equal", flat, end))
    ones = to.cast(inside, dtype)
    return to.emit(ptir.ScatterReduceOp, to.number(0, dtype, call.shape), to.clamp(place, 0, bins - 1), ones, kind="add", axis=0)


ORDERS: Table = {
    "bucketize.Scalar": _bucket,
    "bucketize.Tensor": _bucket,
    "histc.default": _histogram,
    "kthvalue.default": _kth_value,
    "median.default": _median(over_nan=False),
    "median.dim": _median_along(over_nan=False),
    "nanmedian.default": _median(over_nan=True),
    "nanmedian.dim": _median_along(over_nan=True),
    "searchsorted.Scalar": _search_sorted,
    "searchsorted.Tensor": _search_sorted,
}
