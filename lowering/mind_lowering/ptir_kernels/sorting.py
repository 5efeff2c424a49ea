"""Kernels that put elements in order: NaN is greater than all numbers, zeros are equal, equals keep their order."""

from __future__ import annotations

from mind_dialect import ptir_shapes as shapes

from .formats import Array, DTypeLike, Widening, format_of


class Sorting(Widening):
    """Orders along one axis, by keys: integers in the same order as the elements."""

    def sort(self, x: Array, *, axis: int, descending: bool) -> Array:
        """The elements in ascending or descending order, stably."""
        form = format_of(x.dtype)
        if not descending and form.dtype is form.work:
            return self.xp.sort(x, axis=axis, kind="stable")
        return self.xp.take_along_axis(x, self._order(x, axis, descending), axis)

    def top_k(self, x: Array, *, k: int, axis: int, largest: bool, indices_dtype: DTypeLike) -> tuple[Array, Array]:
        """The `k` greatest (or least), best first, and their indices; of equals the lower index first."""
        shapes.top_k(x.shape, k=k, axis=axis)
        axis %= len(x.shape)
        indices = self._order(x, axis, largest)[(*[slice(None)] * axis, slice(0, k))]
        return self.xp.take_along_axis(x, indices, axis), indices.astype(indices_dtype)

    def _order(self, x: Array, axis: int, descending: bool) -> Array:
        """The stable order; descending is the ascending order of the keys with all bits flipped."""
        keys = self._keys(x)
        return self.xp.argsort(self.xp.invert(keys) if descending else keys, axis=axis, kind="stable")

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
