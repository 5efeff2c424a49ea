"""
Elements of each kind of number: checks, bytes and text of a single one, without arrays.

Storage is little-endian. Numbers of fewer than 8 bits take one byte each. Texts are the shortest decimals that read back.
"""

from __future__ import annotations

import math
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property

Number = bool | int | float | complex
BEYOND = "is beyond the finite range; write inf for infinity"


class UnfitError(ValueError):
    """A value that an element type cannot hold; the message completes the sentence "the element ..."."""


class Element(ABC):
    """One element type: what it holds, its bytes, its text."""

    size: int
    """Bytes per element."""

    @abstractmethod
    def check(self, value: object) -> Number:
        """`value` as this type holds it: exact for integers, to nearest even for floats. Raises `UnfitError`."""

    @abstractmethod
    def pack(self, values: Sequence[Number]) -> bytes:
        """The bytes of checked values."""

    @abstractmethod
    def unpack(self, data: bytes) -> tuple[Number, ...]:
        """The values that the bytes hold, every bit pattern being one."""

    @abstractmethod
    def text(self, value: Number) -> str:
        """`value` as Python writes it, in as few digits as read back."""


class Boolean(Element):
    """i1: a byte, 0 or 1; written `true`, `false`."""

    size = 1

    def check(self, value: object) -> bool:
        if isinstance(value, bool) or (isinstance(value, int) and value in (0, 1)):
            return bool(value)
        raise UnfitError("is neither true nor false")

    def pack(self, values: Sequence[Number]) -> bytes:
        return bytes(bool(v) for v in values)

    def unpack(self, data: bytes) -> tuple[bool, ...]:
        return tuple(b != 0 for b in data)

    def text(self, value: Number) -> str:
        return "true" if value else "false"


class Integer(Element):
    """Two's complement of `bits` bits; 4 bits are the low half of a byte."""

    def __init__(self, bits: int, signed: bool = True):
        self.bits, self.signed = bits, signed
        self.size = max(1, bits // 8)
        code = {1: "b", 2: "h", 4: "i", 8: "q"}[self.size]
        self._code = code if signed else code.upper()
        self.least = -(1 << (bits - 1)) if signed else 0
        self.most = (1 << (bits - signed)) - 1

    def check(self, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise UnfitError("is not a number")
        if not isinstance(value, int):
            raise UnfitError("is no integer")
        if not self.least <= value <= self.most:
            low = f"-2^{self.bits - 1}" if self.signed else "0"
            raise UnfitError(f"is outside {low} .. 2^{self.bits - self.signed} - 1")
        return value

    def pack(self, values: Sequence[Number]) -> bytes:
        if self.bits < 8:
            return bytes(int(v.real) & 15 for v in values)
        return struct.pack(f"<{len(values)}{self._code}", *values)

    def unpack(self, data: bytes) -> tuple[int, ...]:
        if self.bits < 8:
            return tuple((b & 15) - (16 if self.signed and b & 8 else 0) for b in data)
        return struct.unpack(f"<{len(data) // self.size}{self._code}", data)

    def text(self, value: Number) -> str:
        return str(value)


class Float(Element):
    """A float that `struct` knows: f16 (`e`), f32 (`f`), f64 (`d`)."""

    def __init__(self, code: str):
        self._code, self.size = code, struct.calcsize(code)

    def check(self, value: object) -> float:
        return self.rounded(as_float(value))

    def rounded(self, value: float) -> float:
        """`value` to the nearest number of this type; `UnfitError` for a finite one that would become infinite."""
        try:
            return struct.unpack(f"<{self._code}", struct.pack(f"<{self._code}", value))[0]
        except OverflowError:
            raise UnfitError(BEYOND) from None

    def pack(self, values: Sequence[Number]) -> bytes:
        return struct.pack(f"<{len(values)}{self._code}", *values)

    def unpack(self, data: bytes) -> tuple[float, ...]:
        return struct.unpack(f"<{len(data) // self.size}{self._code}", data)

    def text(self, value: Number) -> str:
        number = value.real
        return repr(number) if self._code == "d" else shortest(float(number), self.rounded, 3 if self._code == "e" else 6)


class SmallFloat(Element):
    """
    A float of 8 or 16 bits: a sign, `exponent` bits, `mantissa` bits. Without infinities the all-ones pattern is NaN alone.

    >>> e4m3 = SmallFloat(4, 3, infinite=False)
    >>> e4m3.check(17), e4m3.pack([17.0, -0.0]), max(v for v in e4m3.unpack(bytes(range(256))) if v == v)
    (16.0, b'X\\x80', 448.0)
    """

    def __init__(self, exponent: int, mantissa: int, infinite: bool = True):
        self.mantissa, self.infinite = mantissa, infinite
        self.size = (1 + exponent + mantissa) // 8
        self._sign = 1 << (exponent + mantissa)
        self._least = 2 - (1 << (exponent - 1))
        """The exponent of subnormal numbers."""
        ones = ((1 << exponent) - 1) << mantissa
        self._infinity = ones if infinite else None
        self._nan = ones | 1 << (mantissa - 1) if infinite else self._sign - 1
        self._largest = ones - 1 if infinite else self._sign - 2

    def check(self, value: object) -> float:
        return self.rounded(as_float(value))

    def rounded(self, value: float) -> float:
        """`value` to the nearest number of this type, ties to even; `UnfitError` for what it has not."""
        return self._decode(self._encode(value))

    def _encode(self, value: float) -> int:
        sign = self._sign if math.copysign(1.0, value) < 0 else 0
        if math.isnan(value):
            return sign | self._nan
        if math.isinf(value):
            if self._infinity is None:
                raise UnfitError("is infinite; the type has no infinity")
            return sign | self._infinity
        if value == 0:
            return sign
        power = max(math.frexp(value)[1] - 1, self._least)
        steps = round(math.ldexp(abs(value), self.mantissa - power))  # exact, and `round` takes ties to even
        bits = ((power - self._least) << self.mantissa) + steps
        if bits > self._largest:
            raise UnfitError(BEYOND if self.infinite else "is beyond the finite range; the type has no infinity")
        return sign | bits

    def _decode(self, bits: int) -> float:
        sign, magnitude = (-1.0 if bits & self._sign else 1.0), bits & (self._sign - 1)
        if magnitude > self._largest:
            return math.copysign(math.inf if magnitude == self._infinity else math.nan, sign)
        power, fraction = magnitude >> self.mantissa, magnitude & ((1 << self.mantissa) - 1)
        if power:
            fraction += 1 << self.mantissa
        return sign * math.ldexp(fraction, self._least + max(power - 1, 0) - self.mantissa)

    @cached_property
    def _values(self) -> tuple[float, ...]:
        return tuple(self._decode(bits) for bits in range(2 * self._sign))

    def pack(self, values: Sequence[Number]) -> bytes:
        code = "B" if self.size == 1 else "H"
        return struct.pack(f"<{len(values)}{code}", *(self._encode(float(v.real)) for v in values))

    def unpack(self, data: bytes) -> tuple[float, ...]:
        patterns: tuple[int, ...] = struct.unpack(f"<{len(data) // self.size}{'B' if self.size == 1 else 'H'}", data)
        table = self._values
        return tuple([table[bits] for bits in patterns])

    def text(self, value: Number) -> str:
        return shortest(float(value.real), self.rounded, 1)


class Complex(Element):
    """Two floats: the real part first. Written `(1.0, -2.0)`."""

    def __init__(self, part: Float):
        self._part, self.size = part, 2 * part.size

    def check(self, value: object) -> complex:
        if isinstance(value, complex):
            return complex(self._part.rounded(value.real), self._part.rounded(value.imag))
        return complex(self._part.check(value), 0.0)

    def pack(self, values: Sequence[Number]) -> bytes:
        return self._part.pack([part for v in values for part in (v.real, v.imag)])

    def unpack(self, data: bytes) -> tuple[complex, ...]:
        parts = self._part.unpack(data)
        return tuple(map(complex, parts[::2], parts[1::2]))

    def text(self, value: Number) -> str:
        return f"({self._part.text(value.real)}, {self._part.text(value.imag)})"


def as_float(value: object) -> float:
    """A real number as f64; `UnfitError` for what is none or is beyond the range of f64."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnfitError("is not a number")
    try:
        return float(value)
    except OverflowError:
        raise UnfitError(BEYOND) from None


def shortest(value: float, rounded: Callable[[float], float], digits: int) -> str:
    """
    The shortest decimal of at least `digits` digits that `rounded` takes to `value`; for NaN and infinity their names.

    >>> shortest(0.10000000149011612, Float("f").rounded, 6)
    '0.1'
    """
    if math.isfinite(value):
        for n in range(digits, 17):
            candidate = float(f"{value:.{n}g}")
            try:
                if rounded(candidate) == value:
                    return repr(candidate)
            except UnfitError:  # the decimal lies just beyond the largest number
                continue
    return repr(value)
