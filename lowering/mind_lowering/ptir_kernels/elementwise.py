"""Kernels of what is computed at each place by itself, for every dtype: see `ufuncs.py` for where one array function does it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mind_dialect.errors import MindError, error
from mind_dialect.ptir import CompareOp

from .erf import erf32, erf64
from .formats import Array, DTypeLike, Widening, format_of
from .special import digamma, erf_inv, lgamma
from .ufuncs import UFUNCS


def _lifted(name: str) -> Callable[..., Array]:
    """The array function `name` on widened operands, its result of their dtype."""

    def kernel(self: Elementwise, *operands: Array) -> Array:
        return self.narrow(getattr(self.xp, name)(*map(self.widen, operands)), operands[0].dtype)

    kernel.__name__ = name
    return kernel


def _test(name: str) -> Callable[..., Array]:
    """The comparison `name` of widened operands, as i1."""

    def kernel(self: Elementwise, a: Array, b: Array) -> Array:
        return getattr(self.xp, name)(self.widen(a), self.widen(b))

    kernel.__name__ = name
    return kernel


class Elementwise(Widening):
    """Operands have one shape and dtype. Integers wrap. NaN is greater and less than all, and no kernel keeps it secret."""

    def identity(self, x: Array) -> Array:
        """`x` itself."""
        return x

    def rsqrt(self, x: Array) -> Array:
        """`1 / sqrt(x)`."""
        xp = self.xp
        root = xp.sqrt(self.widen(x))
        return self.narrow(xp.divide(root.dtype.type(1), root), x.dtype)

    def power(self, a: Array, b: Array) -> Array:
        """Return `a` to the power `b`. NumPy may take the square root where `b` is 0.5, which differs at -0 and -inf."""
        x, y = self.widen(a), self.widen(b)
        found = self.xp.power(x, y)
        if self.xp is np and format_of(a.dtype).kind == "f" and np.any(is_root := y == 0.5):
            differs = is_root & ((x == 0) | (x == -np.inf))
            if differs.any():
                found = self.xp.where(differs, np.abs(x), found)
        return self.narrow(found, a.dtype)

    def sign(self, x: Array) -> Array:
        """-1, 0 or 1; of floats, zeros and NaN stay as they are."""
        xp, wide = self.xp, self.widen(x)
        if wide.dtype.kind == "c":
            return self._direction(wide)
        found = xp.sign(wide)
        return self.narrow(xp.copysign(found, wide) if wide.dtype.kind == "f" else found, x.dtype)

    def _direction(self, z: Array) -> Array:
        """`z / |z|`, scaled first so that no square overflows or vanishes; zeros stay as they are, and infinities give NaN."""
        xp = self.xp
        largest = xp.maximum(xp.absolute(z.real), xp.absolute(z.imag))
        scale = xp.where(largest == 0, z.real.dtype.type(1), largest)
        real, imag = xp.divide(z.real, scale), xp.divide(z.imag, scale)
        size = xp.where(largest == 0, z.real.dtype.type(1), xp.hypot(real, imag))
        return self.from_parts(xp.divide(real, size), xp.divide(imag, size))

    def logistic(self, x: Array) -> Array:
        """`1 / (1 + exp(-x))`; the exponential is of a number whose real part is not positive, so it does not overflow."""
        xp, wide = self.xp, self.widen(x)
        one = wide.dtype.type(1)
        below, is_real = wide.real < 0, wide.dtype.kind != "c"
        small = xp.exp(xp.negative(xp.absolute(wide)) if is_real else xp.where(below, wide, xp.negative(wide)))
        return self.narrow(xp.divide(xp.where(below, small, one), xp.add(small, one)), x.dtype)

    def log1p(self, x: Array) -> Array:
        """`log(1 + x)`: of complex numbers near 0 by the square of the magnitude less 1, which keeps their digits."""
        xp, wide = self.xp, self.widen(x)
        if wide.dtype.kind != "c":
            return self.narrow(xp.log1p(wide), x.dtype)
        number, a, b = wide.real.dtype.type, wide.real, wide.imag
        near = (xp.absolute(a) < 0.5) & (xp.absolute(b) < 0.5)
        square = xp.where(near, xp.add(xp.multiply(a, xp.add(a, number(2))), xp.multiply(b, b)), number(0))
        shifted = xp.add(a, number(1))
        real = xp.where(near, xp.multiply(xp.log1p(square), number(0.5)), xp.log(xp.hypot(shifted, b)))
        return self.from_parts(real, xp.arctan2(b, shifted))

    def erf(self, x: Array) -> Array:
        """The error function: within 2 ulp in f64, 4 ulp in f32."""
        wide = self.widen(x)
        return self.narrow((erf64 if wide.dtype.itemsize == 8 else erf32)(self.xp, wide), x.dtype)

    def erf_inv(self, x: Array) -> Array:
        """The inverse of the error function: within 3 ulp."""
        return self._special(erf_inv, x)

    def lgamma(self, x: Array) -> Array:
        """The logarithm of the gamma function: within 4 ulp of f64 where `x` is positive, else of the terms that cancel."""
        return self._special(lgamma, x)

    def digamma(self, x: Array) -> Array:
        """The derivative of `lgamma`, as precise as the greatest of its terms."""
        return self._special(digamma, x)

    def _special(self, function: Callable[..., Array], x: Array) -> Array:
        wide = self.widen(x)
        return self.narrow(function(self.xp, wide).astype(wide.dtype), x.dtype)

    def round_away(self, x: Array) -> Array:
        """The nearest whole number; of two as near the one farther from 0."""
        xp, wide = self.xp, self.widen(x)
        size = xp.absolute(wide)
        whole = xp.floor(size)
        return self.narrow(xp.copysign(whole + (size - whole >= 0.5).astype(wide.dtype), wide), x.dtype)

    # Complex numbers

    def real(self, x: Array) -> Array:
        """The real part, in memory of its own."""
        return self.copy(x.real)

    def imag(self, x: Array) -> Array:
        """The imaginary part, in memory of its own."""
        return self.copy(x.imag)

    def from_parts(self, real: Array, imag: Array) -> Array:
        """Complex numbers of two parts, each as it is."""
        out = self.xp.empty(real.shape, f"complex{real.dtype.itemsize * 16}")
        out.real[...] = real
        out.imag[...] = imag
        return out

    def clamp(self, x: Array, lo: Array, hi: Array) -> Array:
        """`min(max(x, lo), hi)`, NaN if any of them is."""
        xp = self.xp
        return self.narrow(xp.minimum(xp.maximum(self.widen(x), self.widen(lo)), self.widen(hi)), x.dtype)

    # Division

    def divide(self, a: Array, b: Array) -> Array:
        """The quotient; of integers truncated, the least by -1 being itself. E8004 is an integer divided by zero."""
        x, y = self.widen(a), self.widen(b)
        if format_of(a.dtype).kind in "fc":
            return self.narrow(self.xp.divide(x, y), a.dtype)
        self._check_divisors(x, y)
        return self.narrow(self._truncated(x, y), a.dtype)

    def remainder(self, a: Array, b: Array) -> Array:
        """Return the remainder of truncated division, of the sign of `a`. E8004 is an integer divided by zero."""
        x, y = self.widen(a), self.widen(b)
        if format_of(a.dtype).kind in "iu":
            self._check_divisors(x, y)
        return self.narrow(self.xp.fmod(x, y), a.dtype)

    def _check_divisors(self, a: Array, b: Array) -> None:
        if not b.all():
            raise self._division_by_zero(a, b)

    def _division_by_zero(self, a: Array, b: Array) -> MindError:
        first = int(self.xp.asarray(a)[self.xp.asarray(b) == 0][0])
        return error("E8004", f"division of the integer {first} by 0, expected another divisor", operands=[first, 0])

    def _truncated(self, a: Array, b: Array) -> Array:
        """Floor division, plus 1 where the quotient is negative and not exact."""
        xp = self.xp
        q = xp.floor_divide(a, b)
        if a.dtype.kind == "u":
            return q
        inexact = xp.not_equal(xp.multiply(q, b), a)
        return xp.add(q, xp.logical_and(inexact, xp.less(xp.bitwise_xor(a, b), 0)), dtype=a.dtype)

    # Bits

    def bitcast(self, x: Array, *, dtype: DTypeLike) -> Array:
        """The bits of `x` as numbers of another dtype of the same width."""
        form = format_of(dtype)
        if form.bits < 8:
            return self._from_bits(self._bits(x, form.kind), dtype)
        return self.copy(x).view(dtype)

    def truncate(self, x: Array, *, dtype: DTypeLike) -> Array:
        """Integers of another dtype with the same low bits."""
        return self.narrow(self.widen(x).astype(format_of(dtype).work), dtype)

    def popcount(self, x: Array) -> Array:
        """Count the set bits: in pairs, in fours, in bytes, and the sum of the bytes by a product."""
        bits = self._bits(x, "u")
        return self._from_bits(self._ones(bits), x.dtype)

    def _ones(self, bits: Array) -> Array:
        number, width = bits.dtype.type, bits.dtype.itemsize * 8
        every = (1 << width) - 1
        pairs = bits - ((bits >> number(1)) & number(every // 3))
        fours = (pairs & number(every // 5)) + ((pairs >> number(2)) & number(every // 5))
        of_bytes = (fours + (fours >> number(4))) & number(every // 17)
        return (of_bytes * number(every // 255)) >> number(width - 8)

    def count_leading_zeros(self, x: Array) -> Array:
        """Count the 0 bits above the highest set one."""
        bits, count = self._bits(x, "u"), format_of(x.dtype).bits
        number = bits.dtype.type
        for step in (1, 2, 4, 8, 16, 32):
            if step < bits.dtype.itemsize * 8:
                bits = bits | (bits >> number(step))
        return self._from_bits(number(count) - self._ones(bits), x.dtype)

    # Shifts. An amount outside 0 .. bits - 1 shifts everything out, here as in the array functions for their own widths.

    def left_shift(self, a: Array, b: Array) -> Array:
        """`a * 2 ** b`, wrapping; 0 where `b` is negative or at least the width."""
        return self.narrow(self.xp.left_shift(self.widen(a), self.widen(b)), a.dtype)

    def shift_right_arithmetic(self, a: Array, b: Array) -> Array:
        """The bits of `a` shifted right; from the left come copies of the top bit, of unsigned numbers too."""
        signed = self._bits(a, "i")
        return self._from_bits(self.xp.right_shift(signed, self._amounts(a, b, signed.dtype)), a.dtype)

    def shift_right_logical(self, a: Array, b: Array) -> Array:
        """The bits of `a` shifted right; from the left come zeros."""
        unsigned = self._bits(a, "u")
        return self._from_bits(self.xp.right_shift(unsigned, self._amounts(a, b, unsigned.dtype)), a.dtype)

    def _bits(self, a: Array, kind: str) -> Array:
        """The bits of integers as signed (i) or unsigned (u) ones of at least 8 bits."""
        form, wide = format_of(a.dtype), self.widen(a)
        if form.bits >= 8:
            return wide.view(f"{kind}{wide.dtype.itemsize}")
        xp = self.xp
        low = xp.bitwise_and(wide.view("u1"), xp.uint8(15))
        return low if kind == "u" else xp.subtract(xp.bitwise_xor(low, xp.uint8(8)), xp.uint8(8)).view("i1")

    def _amounts(self, a: Array, b: Array, dtype: Any) -> Array:
        """Shift amounts, those outside 0 .. bits - 1 as one that shifts everything out; one for all along broadcast axes."""
        strides = getattr(b, "strides", None) or ()
        b = b[tuple(slice(1) if step == 0 else slice(None) for step in strides)] if 0 in strides else b
        xp, bits, wide = self.xp, format_of(a.dtype).bits, self.widen(b)
        outside = (wide < 0) | (wide >= bits)
        width = dtype.itemsize * 8
        return xp.where(outside, dtype.type(width - (dtype.kind == "i")), wide.astype(dtype))

    def _from_bits(self, bits: Array, dtype: Any) -> Array:
        work = format_of(dtype).work
        return self.narrow(bits.view(work), dtype)


for _name in UFUNCS.values():
    if not hasattr(Elementwise, _name):
        setattr(Elementwise, _name, (_test if _name in CompareOp.KINDS else _lifted)(_name))
