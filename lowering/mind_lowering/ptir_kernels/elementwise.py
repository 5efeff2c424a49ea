"""Kernels of what is computed at each place by itself, for every dtype: see `ufuncs.py` for where one array function does it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mind_dialect.errors import MindError, error

from .erf import erf32, erf64
from .formats import Array, Widening, format_of


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

    negative = _lifted("negative")
    absolute = _lifted("absolute")
    exp = _lifted("exp")
    log = _lifted("log")
    tanh = _lifted("tanh")
    reciprocal = _lifted("reciprocal")
    add = _lifted("add")
    subtract = _lifted("subtract")
    multiply = _lifted("multiply")
    maximum = _lifted("maximum")
    minimum = _lifted("minimum")
    sqrt = _lifted("sqrt")
    sin = _lifted("sin")
    cos = _lifted("cos")
    floor = _lifted("floor")
    ceil = _lifted("ceil")
    rint = _lifted("rint")
    expm1 = _lifted("expm1")
    log1p = _lifted("log1p")
    power = _lifted("power")
    invert = _lifted("invert")
    bitwise_and = _lifted("bitwise_and")
    bitwise_or = _lifted("bitwise_or")
    bitwise_xor = _lifted("bitwise_xor")

    less = _test("less")
    less_equal = _test("less_equal")
    equal = _test("equal")
    greater_equal = _test("greater_equal")
    greater = _test("greater")
    not_equal = _test("not_equal")

    def identity(self, x: Array) -> Array:
        """`x` itself."""
        return x

    def rsqrt(self, x: Array) -> Array:
        """`1 / sqrt(x)`."""
        xp = self.xp
        root = xp.sqrt(self.widen(x))
        return self.narrow(xp.divide(root.dtype.type(1), root), x.dtype)

    def sign(self, x: Array) -> Array:
        """-1, 0 or 1; of floats, zeros and NaN stay as they are."""
        xp, wide = self.xp, self.widen(x)
        found = xp.sign(wide)
        return self.narrow(xp.copysign(found, wide) if wide.dtype.kind == "f" else found, x.dtype)

    def logistic(self, x: Array) -> Array:
        """`1 / (1 + exp(-x))`; the exponential is of a number that is not positive, so it does not overflow."""
        xp, wide = self.xp, self.widen(x)
        one = wide.dtype.type(1)
        small = xp.exp(xp.negative(xp.absolute(wide)))
        return self.narrow(xp.divide(xp.where(wide < 0, small, one), xp.add(small, one)), x.dtype)

    def erf(self, x: Array) -> Array:
        """The error function: within 2 ulp in f64, 4 ulp in f32."""
        wide = self.widen(x)
        return self.narrow((erf64 if wide.dtype.itemsize == 8 else erf32)(self.xp, wide), x.dtype)

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
        """What truncated division leaves, of the sign of `a`. E8004 is an integer divided by zero."""
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
        """Shift amounts, those outside 0 .. bits - 1 as one that shifts everything out."""
        xp, bits, wide = self.xp, format_of(a.dtype).bits, self.widen(b)
        outside = (wide < 0) | (wide >= bits)
        width = dtype.itemsize * 8
        return xp.where(outside, dtype.type(width - (dtype.kind == "i")), wide.astype(dtype))

    def _from_bits(self, bits: Array, dtype: Any) -> Array:
        work = format_of(dtype).work
        return self.narrow(bits.view(work), dtype)
