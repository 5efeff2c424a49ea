"""Kernels of windows: reductions, patches, convolution. A window that does not fit has no place; padding is explicit."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

from mind_dialect.errors import error
from mind_dialect.ptir_shapes import Pairs

from .contraction import Contraction
from .formats import Array, DTypeLike, Ints, format_of
from .reduction import Reductions
from .structural import Structure
from .ufuncs import REDUCERS

_LOOPED = 64
"""Up to so many places of a window along one axis are combined one after the other; more are reduced as a view."""


class Windows(Reductions, Structure, Contraction):
    """Extents follow from the operands, so views stay inside of them."""

    def reduce_window(
        self,
        x: Array,
        *,
        kind: str,
        window_dims: Ints,
        strides: Ints,
        padding: Pairs,
        base_dilation: Ints,
        window_dilation: Ints,
        accum_dtype: DTypeLike | None = None,
    ) -> Array:
        """
        The reduction of each window, one axis after the other, so that the cost is the sum of the window's extents.

        Padding and the holes of `base_dilation` hold the identity of the reduction.
        """
        source = format_of(x.dtype)
        accum = format_of(source.accumulator if accum_dtype is None else accum_dtype)
        identity = self.identity_of(kind, source)
        wide = self.cast(x, dtype=accum.dtype)
        wide = self.widen(wide) if accum.kind in "iu" else wide
        wide = self._padded(wide, padding, base_dilation, identity)
        for axis, each in enumerate(zip(window_dims, strides, window_dilation, strict=True)):
            if each != (1, 1, 1):
                wide = self._reduced_along(wide, REDUCERS[kind], axis, *each)
        found = wide if wide.dtype == accum.dtype else self.narrow(wide, accum.dtype)
        return self._own(self.cast(found, dtype=x.dtype), x)

    def window_arg(
        self,
        x: Array,
        *,
        kind: str,
        window_dims: Ints,
        strides: Ints,
        padding: Pairs,
        window_dilation: Ints,
        output_dtype: DTypeLike,
    ) -> Array:
        """
        The flat index of the first greatest or least of each window, of the first NaN, -1 in padding. E8002 if none fits.

        One axis after the other, the last first, so that of equals the first one in row-major order is met first.
        """
        size, dtype = prod(x.shape), self.xp.dtype(output_dtype)
        if size > self.xp.iinfo(dtype).max + 1:
            message = f"window_arg of {size} elements, whose indices {dtype} cannot hold, expected output_dtype = si64"
            raise error("E8002", message, attribute="output_dtype", value=str(dtype))
        best = self._padded(self.widen(x), padding, None, 0)
        index = self._padded(self.xp.arange(size, dtype=dtype).reshape(x.shape), padding, None, -1)
        pads = any(n for pair in padding for n in pair)
        for axis, each in reversed(list(enumerate(zip(window_dims, strides, window_dilation, strict=True)))):
            if each != (1, 1, 1):
                best, index = self._extreme_along((best, index), kind, pads, axis, *each)
        return self.xp.ascontiguousarray(index).reshape(index.shape)  # rank 0 stays

    def _extreme_along(
        self, x: tuple[Array, Array], kind: str, pads: bool, axis: int, window: int, stride: int, dilation: int
    ) -> tuple[Array, Array]:
        """
        The value and index of the winner of each window along one axis.

        A long window is two overlapping ones of half its length, and so on: of equals the first wins, which is in the first half.
        """
        count, before = places(x[0].shape[axis], window, stride, dilation), [slice(None)] * axis

        def part(pair: tuple[Array, Array], start: int, length: int, step: int) -> tuple[Array, Array]:
            at = (*before, slice(start, start + (length - 1) * step + 1, step) if length else slice(0, 0))
            return pair[0][at], pair[1][at]

        if window <= _LOOPED or not count:
            found = part(x, 0, count, stride)
            for offset in range(1, window if count else 1):
                found = self._winner(found, part(x, offset * dilation, count, stride), kind, pads)
            return found
        reach, found = 1, x
        while reach < window:
            step = min(reach, window - reach)
            length = found[0].shape[axis] - step * dilation
            found = self._winner(part(found, 0, length, 1), part(found, step * dilation, length, 1), kind, pads)
            reach += step
        return part(found, 0, count, stride)

    def _winner(self, first: tuple[Array, Array], second: tuple[Array, Array], kind: str, pads: bool) -> tuple[Array, Array]:
        """The second where it is greater, less, or the first NaN; an index of -1 never wins."""
        xp, (value, place), (other, other_place) = self.xp, first, second
        wins = xp.greater(other, value) if kind == "max" else xp.less(other, value)
        if value.dtype.kind == "f":
            wins = wins | (xp.isnan(other) & ~xp.isnan(value))
        if pads:
            wins = (wins | (place < 0)) & (other_place >= 0)
        return xp.where(wins, other, value), xp.where(wins, other_place, place)

    def _reduced_along(self, x: Array, name: str, axis: int, window: int, stride: int, dilation: int) -> Array:
        ufunc = getattr(self.xp, name)
        count = places(x.shape[axis], window, stride, dilation)
        if window > _LOOPED:
            return ufunc.reduce(self._windows(x, axis, (window,), (stride,), (dilation,)), axis=axis + 1, dtype=x.dtype)
        before = [slice(None)] * axis
        total: Array = None
        for offset in range(window):
            start = offset * dilation
            part = x[(*before, slice(start, start + (count - 1) * stride + 1, stride) if count else slice(0, 0))]
            total = part if total is None else ufunc(total, part)
        return total

    def extract_patches(self, x: Array, *, window: Ints, strides: Ints, dilation: Ints, padding: Pairs, pad_value: Any) -> Array:
        """Windows of a channels-last image as vectors: places of the window in row-major order, channels fastest."""
        padded = self._padded(x, ((0, 0), *padding, (0, 0)), None, pad_value)
        found = self._windows(padded, 1, window, strides, dilation)
        shape = (*found.shape[: 1 + len(window)], prod(window) * x.shape[-1])
        return self._own(found.reshape(shape), x)

    def _own(self, found: Array, x: Array) -> Array:
        """`found` in memory of its own, in row-major order, where it may be some of `x` or of what was made of it."""
        return self.copy(found) if self.xp.may_share_memory(found, x) or not found.flags.c_contiguous else found

    def convolution(
        self,
        lhs: Array,
        rhs: Array,
        *,
        strides: Ints,
        padding: Pairs,
        base_dilation: Ints,
        window_dilation: Ints,
        feature_group_count: int,
        accum_dtype: DTypeLike | None = None,
        out_dtype: DTypeLike | None = None,
    ) -> Array:
        """Cross-correlation, channels last, as matrix products over patches; one channel per group needs no patches."""
        source = format_of(lhs.dtype)
        accum = format_of(source.accumulator if accum_dtype is None else accum_dtype)
        window, groups = rhs.shape[:-2], feature_group_count
        if accum.dtype == accum.work and accum.kind in "fc":
            lhs, rhs = self.cast(lhs, dtype=accum.dtype), self.cast(rhs, dtype=accum.dtype)
        padded = self._padded(lhs, ((0, 0), *padding, (0, 0)), (1, *base_dilation, 1), 0)
        if groups > 1 and rhs.shape[-2] == 1 and rhs.dtype == accum.work:
            found = self._depthwise(padded, rhs, strides, window_dilation)
        else:
            patches = self._windows(padded, 1, window, strides, window_dilation)
            found = self._grouped(patches, rhs, groups, accum.dtype)
        found = self.xp.ascontiguousarray(found)  # which products of operands in another order are not
        return self.cast(found, dtype=source.dtype if out_dtype is None else out_dtype)

    def _grouped(self, patches: Array, rhs: Array, groups: int, accum: DTypeLike) -> Array:
        """One matrix product per group over patches [N, out..., window..., C]."""
        cells, per_group, out = prod(rhs.shape[:-2]), rhs.shape[-2], rhs.shape[-1]
        places = patches.shape[: len(patches.shape) - len(rhs.shape) + 1]
        if groups == 1:
            rows = patches.reshape((prod(places), cells * per_group))
            return self.products(rows, rhs.reshape((cells * per_group, out)), accum).reshape((*places, out))
        rows = patches.reshape((prod(places), cells, groups, per_group)).transpose((2, 0, 1, 3))
        rows = rows.reshape((groups, prod(places), cells * per_group))
        weights = rhs.reshape((cells * per_group, groups, out // groups)).transpose((1, 0, 2))
        found = self.products(rows, weights, accum)
        return found.transpose((1, 0, 2)).reshape((*places, out))

    def _depthwise(self, x: Array, rhs: Array, strides: Ints, dilation: Ints) -> Array:
        """Each channel by itself: a sum over the places of the window."""
        xp, rank = self.xp, len(x.shape) - 2
        channels, out = x.shape[-1], rhs.shape[-1]
        window = rhs.shape[:rank]
        counts = [places(n, *each) for n, *each in zip(x.shape[1:-1], window, strides, dilation, strict=True)]
        weights = rhs.reshape((prod(window), channels, out // channels))
        total = xp.zeros((x.shape[0], *counts, channels, out // channels), x.dtype)
        for offsets, weight in zip(product(*map(range, window)), weights, strict=True) if 0 not in counts else ():
            part = [
                slice(o * hole, o * hole + (n - 1) * step + 1, step)
                for o, n, step, hole in zip(offsets, counts, strides, dilation, strict=True)
            ]
            total += x[(slice(None), *part)][..., None] * weight
        return total.reshape((*total.shape[:-2], out))

    def _padded(self, x: Array, padding: Pairs, base_dilation: Ints | None, value: Any) -> Array:
        """`x` with what is around it and in its holes; itself if there is nothing."""
        interior = [n - 1 for n in base_dilation] if base_dilation is not None else [0] * len(x.shape)
        if not any(interior) and not any(n for pair in padding for n in pair):
            return x
        low, high = [pair[0] for pair in padding], [pair[1] for pair in padding]
        return self.pad(x, low=low, high=high, interior=interior, pad_value=value)

    def _windows(self, x: Array, first: int, window: Ints, strides: Ints, dilation: Ints) -> Array:
        """A view of shape [before..., places..., window..., after...], where the axes from `first` on slide."""
        rank, size = len(window), x.shape
        after = first + rank
        counts = [places(n, *each) for n, *each in zip(size[first:after], window, strides, dilation, strict=True)]
        steps, holes = list[int](), list[int]()
        for n, bytes, stride, hole in zip(size[first:after], x.strides[first:after], strides, dilation, strict=True):
            steps.append(bytes * min(stride, max(n, 1)))  # a longer step is never taken, and its bytes may overflow
            holes.append(bytes * min(hole, max(n, 1)))
        shape = (*size[:first], *counts, *window, *size[after:])
        strided = (*x.strides[:first], *steps, *holes, *x.strides[after:])
        if 0 in counts:  # such a window may be larger than anything
            return self.xp.zeros(shape, x.dtype)
        plain = x if format_of(x.dtype).dtype == format_of(x.dtype).work else x.view(f"u{x.dtype.itemsize}")
        return self.xp.lib.stride_tricks.as_strided(plain, shape, strided).view(x.dtype)  # as_strided refuses f8E5M2


def places(n: int, window: int, stride: int, dilation: int) -> int:
    """
    Return how often a window fits into `n` places.

    >>> places(5, 3, 2, 1), places(5, 3, 1, 2), places(5, 3, 1, 3)
    (2, 1, 0)
    """
    reach = (window - 1) * dilation + 1
    return 0 if n < reach else (n - reach) // stride + 1
