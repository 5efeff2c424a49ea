"""Kernels that put elements in order: NaN is greater than all numbers, zeros are equal, equals keep their order."""

from __future__ import annotations

from mind_dialect import ptir_shapes as shapes

from .formats import Array, DTypeLike, Widening, format_of


class Sorting(Widening):
    """Orders along one axis, by keys: integers in the same order as the elements."""

    def sort(self, x: Array, *, axis: int, descending: bool) -> Array:
        """
        The elements in ascending or descending order, stably.

        Equal elements have equal bits, zeros of two signs and NaN apart. Without a negative zero or a NaN any order of equals is
        the stable one, and NumPy's default algorithm is several times faster than its stable one.
        """
        form = format_of(x.dtype)
        if form.dtype is not form.work or (form.kind == "f" and self._has_unlike_equals(x)):
            return self.xp.take_along_axis(x, self._order(x, axis, descending), axis)
        ordered = self.xp.sort(x, axis=axis, kind=None if x.dtype.itemsize > 2 else "stable")
        return self.xp.flip(ordered, axis) if descending else ordered

    def top_k(self, x: Array, *, k: int, axis: int, largest: bool, indices_dtype: DTypeLike) -> tuple[Array, Array]:
        """The `k` greatest (or least), best first, and their indices; of equals the lower index first."""
        shapes.top_k(x.shape, k=k, axis=axis)
        axis %= len(x.shape)
        indices = self._order(x, axis, largest)[(*[slice(None)] * axis, slice(0, k))]
        return self.xp.take_along_axis(x, indices, axis), indices.astype(indices_dtype)

    def _order(self, x: Array, axis: int, descending: bool) -> Array:
        """
        The stable order; descending is the ascending order of the keys with all bits flipped.

        NumPy orders keys of at most 16 bits by counting. Others become distinct, so that its default algorithm, several times
        faster than its stable one, finds the only order: the key, or its rank, and the index are the halves of one integer.
        """
        xp, keys = self.xp, self._keys(x)
        keys = xp.invert(keys) if descending else keys
        if keys.dtype.itemsize <= 2:
            return xp.argsort(keys, axis=axis, kind="stable")
        shape = [1] * x.ndim
        shape[axis] = x.shape[axis]
        indices = xp.arange(x.shape[axis]).reshape(shape)
        if keys.dtype.itemsize == 4:
            signed = keys.astype("i8") - (1 << 31 if keys.dtype.kind == "u" else 0)
            return xp.sort((signed << 32) | indices, axis=axis) & 0xFFFFFFFF
        order = xp.argsort(keys, axis=axis)
        ordered = xp.take_along_axis(keys, order, axis)
        ranks = xp.zeros(x.shape, "i8")
        at = (*[slice(None)] * (axis % x.ndim),)
        xp.cumsum(ordered[(*at, slice(1, None))] != ordered[(*at, slice(None, -1))], axis=axis, out=ranks[(*at, slice(1, None))])
        return xp.sort((ranks << 32) | order, axis=axis) & 0xFFFFFFFF

    def _has_unlike_equals(self, x: Array) -> bool:
        return bool(self.xp.any((x != x) | ((x == 0) & self.xp.signbit(x))))

    def _keys(self, x: Array) -> Array:
        """Integers in the order of the elements, equal for equal ones."""
        xp, wide = self.xp, self.widen(x)
        kind = format_of(x.dtype).kind
        if kind == "b":
            return wide.view("u1")
        if kind != "f":
            return wide
        bits = (wide + wide.dtype.type(0)).view(f"i{wide.dtype.itemsize}")  # -0 + 0 is +0
        most = xp.iinfo(bits.dtype).max
        return xp.where(wide != wide, bits.dtype.type(most), xp.where(bits < 0, bits ^ bits.dtype.type(most), bits))
