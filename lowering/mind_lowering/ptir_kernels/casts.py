"""
Conversions between dtypes, by the contract's rules and nothing else's.

To floats nearest, ties to even, rounded once; to integers truncated and saturated, NaN to 0; to i1 whether it is not 0.
"""

from __future__ import annotations

from .formats import Array, DTypeLike, Format, Widening, format_of


class Casts(Widening):
    """The kernel `cast`, which others use for accumulators and results."""

    def cast(self, x: Array, *, dtype: DTypeLike) -> Array:
        """`x` as `dtype`; `x` itself if it is that already. Complex numbers only become complex ones: the verifier saw to it."""
        source, target = format_of(x.dtype), format_of(dtype)
        if source.dtype == target.dtype:
            return x
        if target.kind == "b":
            return self.xp.not_equal(self.widen(x), source.work.type(0))
        if source.kind == "b":
            return x.astype(target.work).astype(target.dtype)
        if target.kind in "fc":
            return self._to_float(x, source, target)
        integers = self._clipped(self.widen(x), source, target) if source.kind in "iu" else self._truncate(self.widen(x), target)
        return integers.astype(target.dtype)

    def _to_float(self, x: Array, source: Format, target: Format) -> Array:
        """Formats of f16 and above are converted to by the array library, which rounds once; to narrower ones it rounds twice."""
        if target.bits >= 32 or target.name == "f16":
            return self.widen(x).astype(target.dtype)
        return self._to_odd_f32(x, source).astype(target.dtype)

    def _to_odd_f32(self, x: Array, source: Format) -> Array:
        """
        `x` in f32, and if inexact then with the last bit set.

        Rounded once more, to no more than 22 bits, it gives what rounding `x` itself gives.
        """
        xp, wide = self.xp, self.widen(x)
        if source.bits < 32 or source.name == "f32":
            return wide.astype(xp.float32)
        if source.kind in "iu":
            wide = self._to_odd_f64(wide, source)
        nearest = wide.astype(xp.float32)
        back = nearest.astype(xp.float64)
        bits = nearest.view(xp.int32)
        one = bits.dtype.type(1)
        toward_zero = xp.where(xp.absolute(back) > xp.absolute(wide), bits - one, bits)
        return xp.where(back == wide, bits, toward_zero | one).view(xp.float32)

    def _to_odd_f64(self, x: Array, source: Format) -> Array:
        """Integers in f64; of those with more than 53 bits the lower ones are gathered in the last that is kept."""
        xp = self.xp
        if source.bits < 64:
            return x.astype(xp.float64)
        number = x.dtype.type
        low = xp.bitwise_and(x, number(0x7FF))
        gathered = xp.bitwise_or(xp.bitwise_xor(x, low), xp.where(low != 0, number(0x800), number(0)))
        large = x > number(1 << 53)
        if source.kind == "i":
            large = large | (x < number(-(1 << 53)))
        return xp.where(large, gathered, x).astype(xp.float64)

    def _truncate(self, x: Array, target: Format) -> Array:
        """Floats as integers of the target's work dtype and of its range."""
        xp, number = self.xp, x.dtype.type
        whole = xp.trunc(x)
        above = whole >= number(2.0 ** (target.bits - (target.kind == "i")))  # the least power of 2 that does not fit is exact
        below = whole < number(target.least)
        inside = xp.where(above | below | (whole != whole), number(0), whole).astype(target.work)
        to = target.work.type
        return xp.where(above, to(target.most), xp.where(below, to(target.least), inside))

    def _clipped(self, x: Array, source: Format, target: Format) -> Array:
        """Integers in the range of the target, still in their own dtype."""
        xp, number = self.xp, x.dtype.type
        if source.least < target.least:
            x = xp.maximum(x, number(target.least))
        return xp.minimum(x, number(target.most)) if source.most > target.most else x
