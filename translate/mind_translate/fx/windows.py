"""
Rows of pools and of resized images.

The greatest of a window is read at its index, so that its derivative goes to the first of equals, as in torch. Averages of
windows that are not all alike, and resized images, are products with constant matrices or rows by number along each axis.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.extents.dims import product_dims, sub_dims
from mind_dialect.ptir.types import F32, SI64, PtirDType
from mind_dialect.ptir_shapes import Dim, Dims

from ..places import at_places
from ..unsupported import Refused
from .converter import AtenConverter, Call, Results, Row, Table, wide
from .structural import MOST_STRIDED, taken

Sizes = Sequence[int]


def _rounded(dtype: PtirDType, value: float) -> float:
    """Return a position or a weight as torch computes it, in the dtype in which it computes images."""
    return float(dtype.element.check(value))  # pyright: ignore[reportArgumentType]


def _each(values: Sizes, n: int) -> list[int]:
    return list(values) * n if len(values) == 1 else list(values)


def _padding(
    sizes: Dims, out: Dims, window: Sizes, strides: Sizes, low: Sizes, dilation: Sizes, ceil_mode: bool
) -> list[tuple[int, int]]:
    """Padding with which the windows are as many as stated, whatever way they were counted."""
    found: list[tuple[int, int]] = []
    for size, count, k, step, before, spread in zip(sizes, out, window, strides, low, dilation, strict=True):
        if isinstance(size, int) and isinstance(count, int):
            found.append((before, max(0, (count - 1) * step + spread * (k - 1) + 1 - size - before)))
        elif ceil_mode and step > 1:
            raise Refused("a pool that counts windows beyond a size that is not known", "use ceil_mode=False")
        else:
            found.append((before, before))
    return found


def _max_pool(n: int) -> Row:
    def row(
        to: AtenConverter,
        call: Call,
        x: SSAValue,
        window: Sizes,
        stride: Sizes = (),
        padding: Sizes = (0,),
        dilation: Sizes = (1,),
        ceil_mode: bool = False,
    ) -> Results:
        window = _each(window, n)
        strides = _each(stride, n) if stride else window
        dilation, low = _each(dilation, n), _each(padding, n)
        sizes = to.shape(x)
        lead = len(sizes) - n
        pads = _padding(sizes[lead:], call.shape[lead:], window, strides, low, dilation, ceil_mode)
        index = to.emit(
            ptir.WindowArgOp,
            x,
            kind="max",
            window_dims=(*(1,) * lead, *window),
            strides=(*(1,) * lead, *strides),
            padding=(*((0, 0),) * lead, *pads),
            window_dilation=(*(1,) * lead, *dilation),
            output_dtype=SI64,
        )
        value = to.emit(ptir.TakeOp, to.reshape(x, (product_dims(sizes),)), index)
        return value, to.math(ptir.RemainderOp, index, product_dims(sizes[lead:]))

    return row


def _max_pool_backward(to: AtenConverter, call: Call, g: SSAValue, x: SSAValue, *rest: Any) -> SSAValue:
    """Adjoints of maxima summed where the maxima are, by their indices in an image."""
    indices = rest[-1]
    lead, sizes = to.shape(x)[:-2], to.shape(x)[-2:]
    shape = (*lead, product_dims(to.shape(g)[-2:]))
    places, adjoint = (to.reshape(v, shape) for v in (indices, g))
    zero = to.number(0, call.dtype, (*lead, product_dims(sizes)))
    found = to.emit(ptir.ScatterReduceOp, zero, to.index(places), adjoint, kind="add", axis=len(lead))
    return to.reshape(found, call.shape)


def _avg_pool(n: int) -> Row:
    def row(
        to: AtenConverter,
        call: Call,
        x: SSAValue,
        window: Sizes,
        stride: Sizes = (),
        padding: Sizes = (0,),
        ceil_mode: bool = False,
        include_pad: bool = True,
        divisor: int | None = None,
    ) -> SSAValue:
        window = _each(window, n)
        strides, low = _each(stride, n) if stride else window, _each(padding, n)
        x = to.cast(x, wide(call.dtype))
        sizes = to.shape(x)
        lead = len(sizes) - n
        pads = _padding(sizes[lead:], call.shape[lead:], window, strides, low, [1] * n, ceil_mode)
        total = to.emit(
            ptir.ReduceWindowOp,
            x,
            kind="sum",
            window_dims=(*(1,) * lead, *window),
            strides=(*(1,) * lead, *strides),
            padding=(*((0, 0),) * lead, *pads),
            base_dilation=(1,) * len(sizes),
            window_dilation=(1,) * len(sizes),
        )
        for axis, (size, k, step, p) in enumerate(zip(sizes[lead:], window, strides, low, strict=True), lead):
            counts = _counts(size, call.shape[axis], k, step, p, include_pad)
            if divisor is None:
                total = to.emit(ptir.DivOp, total, _along(to, counts, axis, total))
        return to.cast(total if divisor is None else to.math(ptir.DivOp, total, float(divisor)), call.dtype)

    return row


def _counts(size: Dim, out: Dim, window: int, step: int, padding: int, include_pad: bool) -> list[float]:
    """Return the number of elements of each window: those of the padding count too, or do not; what is beyond it never does."""
    if not isinstance(size, int) or not isinstance(out, int):
        if padding and not include_pad:
            raise Refused("an average without the padding along a size that is not known", "use count_include_pad=True")
        return [float(window)]
    found: list[float] = []
    for i in range(out):
        start = i * step - padding
        end = min(start + window, size + padding)
        found.append(float(end - start if include_pad else min(end, size) - max(start, 0)))
    return found


def _along(to: AtenConverter, values: Sequence[float], axis: int, x: SSAValue) -> SSAValue:
    """Numbers along one axis of the shape of `x`."""
    if len(set(values)) == 1:
        return to.like(values[0], x)
    return to.place(to.constant(to.dtype(x), (len(values),), values), [axis], to.shape(x))


def _adaptive_max(n: int) -> Row:
    """The greatest of each window of an adaptive pool, read at its index; short windows repeat their last element."""

    def row(to: AtenConverter, call: Call, x: SSAValue, out: Sizes) -> Results:
        lead = len(call.shape) - n
        sizes, counts = to.sizes(x, range(lead, lead + n)), _ints(call.shape[lead:])
        windows = [_windows(size, count) for size, count in zip(sizes, counts, strict=True)]
        if math.prod(len(w) * len(w[0]) for w in windows if w) > MOST_STRIDED:
            raise Refused("an adaptive pool with very many elements")
        if not math.prod(call.shape):  # pyright: ignore[reportArgumentType]
            return x, to.fill(0, SI64, call.shape)
        places = [
            sum(i * math.prod(sizes[k + 1 :]) for k, i in enumerate(at))
            for cell in itertools.product(*windows)
            for at in itertools.product(*cell)
        ]
        width = math.prod(len(w[0]) for w in windows)
        table = to.integers(places, (*counts, width))
        flat, _ = to.front(to.reshape(x, (*to.shape(x)[:lead], math.prod(sizes))), [lead])
        met = to.emit(ptir.TakeOp, flat, table)
        met = to.transpose(met, [*range(n + 1, n + 1 + lead), *range(n + 1)])
        best = to.emit(ptir.ArgMaxOp, met, axis=lead + n, keepdims=True, output_dtype=SI64)
        found = (to.emit(ptir.GatherOp, v, best, axis=lead + n) for v in (met, to.broadcast(table, to.shape(met))))
        value, index = (to.reshape(v, call.shape) for v in found)
        return value, index

    return row


def _windows(size: int, count: int) -> list[list[int]]:
    """The places of each window of an adaptive pool, all as many as those of the longest."""
    bounds = [(i * size // count, -((i + 1) * size // -count)) for i in range(count)]
    width = max((end - start for start, end in bounds), default=0)
    return [[min(j, end - 1) for j in range(start, start + width)] for start, end in bounds]


def _adaptive(n: int) -> Row:
    """Averages of windows from `floor(i S / O)` to `ceil((i + 1) S / O)`, along one axis after the other."""

    def row(to: AtenConverter, call: Call, x: SSAValue, out: Sizes) -> SSAValue:
        x = to.cast(x, wide(call.dtype))
        for axis in range(len(call.shape) - n, len(call.shape)):
            size, count = to.sizes(x, [axis])[0], call.shape[axis]
            assert isinstance(count, int)
            shape = to.shape(x)
            if count and size % count == 0:
                split = to.reshape(x, (*shape[:axis], count, size // count, *shape[axis + 1 :]))
                x = to.mean(split, [axis + 1])
            elif not count:
                x = to.part(x, axis, 0, 0)
            else:
                x = to.along(x, axis, [_share(i, size, count) for i in range(count)])
        return to.cast(x, call.dtype)

    return row


def _share(i: int, size: int, count: int) -> list[float]:
    start, end = i * size // count, -((i + 1) * size // -count)
    return [1 / (end - start) if start <= j < end else 0.0 for j in range(size)]


def _arithmetic(call: Call) -> PtirDType:
    """Return the dtype in which an image is interpolated. Raises `Refused` for integers."""
    if not call.dtype.is_float:
        raise Refused(
            "an interpolation of integers, whose weights torch rounds", "convert the image by .float(), and round the result"
        )
    return wide(call.dtype)


def _factors(dtype: PtirDType, scales: Sequence[float] | None, sizes: Sizes, out: Sizes, align: bool = False) -> list[float]:
    """Return the distances, in the image, of the positions of the result, rounded to `dtype`."""
    if align:
        found = [(s - 1) / (o - 1) if o > 1 else 0.0 for s, o in zip(sizes, out, strict=True)]
    elif scales is not None:
        found = [1 / s for s in scales]
    else:
        found = [s / o for s, o in zip(sizes, out, strict=True)]
    return [_rounded(dtype, v) for v in found]


def _nearest(n: int, offset: float = 0.0) -> Row:
    """Return the row of the element at each position plus `offset`, rounded down, which torch computes in f32 for all dtypes."""

    def row(to: AtenConverter, call: Call, x: SSAValue, out: Any, scales: Sequence[float] | None = None) -> SSAValue:
        if scales is None:
            factors = _factors(F32, None, to.sizes(x, range(2, 2 + n)), _ints(call.shape[2:]))
        else:
            factors = [_rounded(F32, 1 / s) for s in scales]
        for axis, factor in enumerate(factors, 2):
            size, count = to.shape(x)[axis], call.shape[axis]
            if not isinstance(size, int) or not isinstance(count, int):
                steps = to.cast(to.emit(ptir.IotaOp, shape=(count,), dtype=SI64, axis=0), F32)
                found = to.cast(to.math(ptir.MulOp, to.math(ptir.AddOp, steps, offset), factor), SI64)
                x = taken(to, x, axis, to.math(ptir.MinimumOp, found, sub_dims(size, 1)))
                continue
            places = [min(math.floor(_rounded(F32, (i + offset) * factor)), size - 1) for i in range(count)]
            x = at_places(to, x, axis, places)
        return x

    return row


def _ints(shape: Dims) -> list[int]:
    return [int(n) for n in shape]


def _bilinear(
    to: AtenConverter, call: Call, x: SSAValue, out: Any, align: bool, scales: Sequence[float] | None = None
) -> SSAValue:
    """Between two neighbours along each axis, by how near they are."""
    dtype = _arithmetic(call)
    x = to.cast(x, dtype)
    factors = _factors(dtype, scales, to.sizes(x, (2, 3)), _ints(call.shape[2:]), align)
    for axis, factor in zip((2, 3), factors, strict=True):
        size, count = to.sizes(x, [axis])[0], int(call.shape[axis])
        places = [_rounded(dtype, i * factor if align else max((i + 0.5) * factor - 0.5, 0.0)) for i in range(count)]
        first = [min(math.floor(p), size - 1) for p in places]
        parts = [p - i for p, i in zip(places, first, strict=True)]
        left = at_places(to, x, axis, first)
        right = at_places(to, x, axis, [min(i + 1, size - 1) for i in first])
        less, more = ([1 - p for p in parts], parts)
        x = to.emit(
            ptir.AddOp,
            to.emit(ptir.MulOp, left, _along(to, [_rounded(dtype, v) for v in less], axis, left)),
            to.emit(ptir.MulOp, right, _along(to, [_rounded(dtype, v) for v in more], axis, right)),
        )
    return to.cast(x, call.dtype)


def _smooth(support: float, weight: Callable[[float], float]) -> Row:
    """
    Return the row of a resize with `antialias=True`.

    `weight` is a function of the distance, 0 from `support` on, in steps of the wider of image and result. Each row of weights
    is divided by its sum.
    """

    def row(to: AtenConverter, call: Call, x: SSAValue, out: Any, align: bool, *scales: float | None) -> SSAValue:
        dtype = _arithmetic(call)
        x = to.cast(x, dtype)
        for axis, scale in zip((2, 3), scales, strict=True):
            size, count = to.sizes(x, [axis])[0], int(call.shape[axis])
            (factor,) = _factors(dtype, None if align or scale is None else [scale], [size], [count], align)
            step = max(factor, 1.0)
            rows: list[list[float]] = []
            for i in range(count):
                center, reach = factor * (i + 0.5), support * step
                first, end = max(int(center - reach + 0.5), 0), min(int(center + reach + 0.5), size)
                found = [weight((j - center + 0.5) / step) if first <= j < end else 0.0 for j in range(size)]
                rows.append([w / sum(found) for w in found])
            x = to.along(x, axis, rows)
        return to.cast(x, call.dtype)

    return row


def _linear_weight(distance: float) -> float:
    return max(0.0, 1 - abs(distance))


def _cubic_weight(distance: float, a: float = -0.5) -> float:
    """Return the weight by Keys' cubic convolution kernel."""
    x = abs(distance)
    if x < 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return (((x - 5) * x + 8) * x - 4) * a if x < 2 else 0.0


WINDOWS: Table = {
    "_upsample_bicubic2d_aa.default": _smooth(2.0, _cubic_weight),
    "_upsample_bilinear2d_aa.default": _smooth(1.0, _linear_weight),
    "_adaptive_avg_pool2d.default": _adaptive(2),
    "_adaptive_avg_pool3d.default": _adaptive(3),
    "adaptive_avg_pool1d.default": _adaptive(1),
    "adaptive_max_pool2d.default": _adaptive_max(2),
    "adaptive_max_pool3d.default": _adaptive_max(3),
    "avg_pool1d.default": _avg_pool(1),
    "avg_pool2d.default": _avg_pool(2),
    "avg_pool3d.default": _avg_pool(3),
    **{
        f"fractional_max_pool{n}d.default": Refused(
            "windows at positions that torch computes from random numbers", f"use max_pool{n}d"
        )
        for n in (2, 3)
    },
    "max_pool2d_with_indices.default": _max_pool(2),
    "max_pool2d_with_indices_backward.default": _max_pool_backward,
    "max_pool3d_with_indices.default": _max_pool(3),
    "upsample_bilinear2d.vec": _bilinear,
    **{f"upsample_nearest{n}d.vec": _nearest(n) for n in (1, 2, 3)},
    **{f"_upsample_nearest_exact{n}d.vec": _nearest(n, 0.5) for n in (1, 2, 3)},
}
