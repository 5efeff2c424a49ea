"""Kernels that move, repeat or number elements. They take every dtype as it is; where they can, they give views."""

from __future__ import annotations

from math import prod
from typing import Any

from mind_dialect import ptir_shapes as shapes
from mind_dialect.ptir.literal import PtirLiteralAttr

from .casts import Casts
from .formats import Array, DTypeLike, Ints, array_dtype, format_of


class Structure(Casts):
    """Constants and the rearrangement of elements."""

    def constant(self, *, value: PtirLiteralAttr) -> Array:
        """The elements of a literal, read-only where arrays can be; a fill is one element, repeated by strides of 0."""
        dtype, shape = value.spec
        target = array_dtype(dtype.name)
        if dtype.bits == 4:  # a literal holds the low half of each byte
            form = format_of(target)
            elements = self.narrow(self.xp.frombuffer(value.data.data, form.work), target)
        else:
            elements = self.xp.frombuffer(value.data.data, target)
        if hasattr(elements.flags, "writeable"):
            elements.flags.writeable = False
        return self.xp.broadcast_to(elements.reshape(()), shape) if value.is_fill else elements.reshape(shape)

    def reshape(self, x: Array, *, new_shape: Ints) -> Array:
        """The same elements in row-major order; one extent may be -1."""
        shape: Any = new_shape
        return x.reshape(shapes.reshape(x.shape, new_shape=shape) if -1 in shape else shape)

    def transpose(self, x: Array, *, perm: Ints) -> Array:
        """Axis `i` of the result is axis `perm[i]` of `x`."""
        return x.transpose(tuple(perm))

    def broadcast_to(self, x: Array, *, result_shape: Ints) -> Array:
        """Repeat along new leading axes and axes of size 1."""
        return self.xp.broadcast_to(x, tuple(result_shape))

    def slice(self, x: Array, *, starts: Ints, sizes: Ints) -> Array:
        """The window of `sizes` elements from `starts`."""
        return x[tuple([slice(start, start + size) for start, size in zip(starts, sizes, strict=True)])]

    def strided_slice(self, x: Array, *, starts: Ints, limits: Ints, strides: Ints) -> Array:
        """Every `strides[i]`-th element from `starts[i]` up to, not including, `limits[i]`."""
        return x[tuple(map(slice, starts, limits, strides))]

    def reverse(self, x: Array, *, axes: Ints) -> Array:
        """The elements in reverse order along `axes`."""
        flipped = {a % len(x.shape) for a in axes}
        return x[tuple([slice(None, None, -1 if a in flipped else 1) for a in range(len(x.shape))])]

    def dimension_size(self, x: Array, *, axis: int) -> Array:
        """The extent along `axis`."""
        return self.xp.asarray(x.shape[axis], dtype="int64")

    def concat(self, *xs: Array, axis: int) -> Array:
        """The operands one after the other."""
        return self.xp.concatenate(xs, axis=axis)

    def tile(self, x: Array, *, repeats: Ints) -> Array:
        """`x`, `repeats[i]` times along each axis."""
        found = x if prod(repeats) == 1 else self.xp.tile(x, tuple(repeats))
        return self.copy(found) if prod(repeats) == 1 or 0 in x.shape else found  # of nothing it is a view

    def pad(self, x: Array, *, low: Ints, high: Ints, interior: Ints, pad_value: Any) -> Array:
        """`low` elements of `pad_value` before, `high` after, `interior` between each two."""
        extents: Any = shapes.pad(x.shape, low=low, high=high, interior=interior)
        out = self.full(extents, pad_value, x.dtype)
        out[tuple([_spread(*each) for each in zip(low, x.shape, interior, strict=True)])] = x
        return out

    def iota(self, *, shape: Ints, dtype: DTypeLike, axis: int) -> Array:
        """0, 1, 2 and on along `axis`, counted in si64 and converted, integers wrapping; the other axes are strides of 0."""
        form, axis = format_of(dtype), axis % len(shape)
        counted = self.xp.arange(shape[axis], dtype="int64")
        numbers = self.cast(counted, dtype=dtype) if form.kind == "f" else self.narrow(counted.astype(form.work), dtype)
        return self.xp.broadcast_to(numbers.reshape(tuple([-1 if a == axis else 1 for a in range(len(shape))])), tuple(shape))


def _spread(low: int, count: int, interior: int) -> slice:
    """`count` places from `low`, `interior` others between each two."""
    return slice(low, low + (count - 1) * (interior + 1) + 1, interior + 1) if count else slice(low, low)
