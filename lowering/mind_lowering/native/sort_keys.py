"""Keys of elements: unsigned integers in the order of the elements, and what vectors compare in their place."""

from __future__ import annotations

import math

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.types import BF16, I1, Kind, PtirDType

from .lanes import Lanes, register
from .line_axes import LineAxes
from .target_info import TargetInfo


@dataclass(frozen=True)
class Keys:
    """Encoding of a dtype as sort keys: their LLVM type, and how many bytes of them say something."""

    dtype: PtirDType
    descending: bool

    @property
    def bits(self) -> int:
        """Of a key."""
        if self.dtype.kind is Kind.FLOAT:
            return 16 if self.dtype is BF16 else max(32, self.dtype.bits)
        return max(8, self.dtype.bits)

    @property
    def type(self) -> str:
        """The LLVM type of a key."""
        return f"i{self.bits}"

    def of(self, lanes: Lanes, x: str) -> str:
        """The keys of some elements: NaN is greater than all numbers, zeros are equal."""
        dtype, type = self.dtype, self.type
        if dtype.kind is Kind.FLOAT:
            key = self._of_float(lanes, x)
        elif dtype is I1:
            key = lanes.convert("zext", "i1", type, x)
        else:
            lowest = lanes.number(type, -(1 << (self.bits - 1)))
            key = x if dtype.kind is Kind.UNSIGNED else lanes.binary("xor", type, x, lowest)
        return lanes.binary("xor", type, key, lanes.number(type, -1)) if self.descending else key

    def _of_float(self, lanes: Lanes, x: str) -> str:
        float_type = register(self.dtype)
        wide = "i64" if float_type == "double" else "i32"
        ones, lowest = lanes.number(wide, -1), lanes.number(wide, -(1 << (int(wide[1:]) - 1)))
        plus = lanes.binary("fadd", float_type, x, lanes.number(float_type, 0.0))  # -0 + 0 is +0
        bits = lanes.convert("bitcast", float_type, wide, plus)
        negative = lanes.compare("icmp slt", wide, bits, lanes.number(wide, 0))
        flipped = lanes.select(negative, wide, lanes.binary("xor", wide, bits, ones), lanes.binary("xor", wide, bits, lowest))
        key = lanes.select(lanes.compare("fcmp uno", float_type, x, x), wide, ones, flipped)
        if self.dtype is BF16:
            return lanes.convert("trunc", wide, "i16", lanes.binary("lshr", wide, key, lanes.number(wide, 16)))
        return key

    def is_odd(self, lanes: Lanes, x: str) -> str:
        """Return which elements, of floats, are not the only one of their key: zeros with a sign, NaN."""
        type = register(self.dtype)
        wide = "i64" if type == "double" else "i32"
        bits = lanes.convert("bitcast", type, wide, x)
        zero = lanes.compare("icmp eq", wide, bits, lanes.number(wide, -(1 << (int(wide[1:]) - 1))))
        return lanes.binary("or", "i1", zero, lanes.compare("fcmp uno", type, x, x))

    def element(self, lanes: Lanes, key: str) -> str:
        """Elements of some keys: of zeros the one without a sign, of NaN any."""
        dtype, type = self.dtype, self.type
        ones, lowest = lanes.number(type, -1), lanes.number(type, -(1 << (self.bits - 1)))
        key = lanes.binary("xor", type, key, ones) if self.descending else key
        if dtype is I1:
            return lanes.compare("icmp ne", type, key, lanes.number(type, 0))
        if dtype.kind is not Kind.FLOAT:
            return key if dtype.kind is Kind.UNSIGNED else lanes.binary("xor", type, key, lowest)
        negative = lanes.compare("icmp sge", type, key, lanes.number(type, 0))
        bits = lanes.binary("xor", type, key, lanes.select(negative, type, ones, lowest))
        if dtype is BF16:
            bits = lanes.binary("shl", "i32", lanes.convert("zext", type, "i32", bits), lanes.number("i32", 16))
        return lanes.convert("bitcast", "i64" if type == "i64" else "i32", register(dtype), bits)

    @property
    def zero(self) -> int:
        """The key of zeros of floats."""
        return (1 << (self.bits - 1)) - self.descending

    @property
    def nan(self) -> int:
        """The key of NaN."""
        return 0 if self.descending else (1 << self.bits) - 1


@dataclass(frozen=True)
class ComparedKeys:
    """
    Keys as vectors compare them: signed integers, or the elements themselves, negated where the order is descending.

    Vectors compare signed integers on all machines, floats twice as fast as integers of 64 bits on some. As floats, NaN is an
    infinity, and zeros are equal: such elements, which `Keys.is_odd` finds, have to be written once more.
    """

    keys: Keys
    are_floats: bool

    @staticmethod
    def of_step(dtype: PtirDType, descending: bool, host: TargetInfo) -> ComparedKeys:
        """Return the keys of elements that are sorted without the places they came from."""
        keys = Keys(dtype, descending)
        return ComparedKeys(keys, dtype.kind is Kind.FLOAT and keys.bits >= 32 and host.has_float_extremes)

    @property
    def type(self) -> str:
        """The LLVM type of a key."""
        return register(self.keys.dtype) if self.are_floats else self.keys.type

    @property
    def greatest(self) -> float:
        """A key that none is greater than."""
        return math.inf if self.are_floats else (1 << (self.keys.bits - 1)) - 1

    @property
    def least(self) -> float:
        """A key that none is less than."""
        return -math.inf if self.are_floats else -(1 << (self.keys.bits - 1))

    def of(self, lanes: Lanes, x: str) -> str:
        """Return the keys of some elements."""
        if not self.are_floats:
            return self._signed(lanes, self.keys.of(lanes, x))
        number = lanes.select(lanes.compare("fcmp uno", self.type, x, x), self.type, lanes.number(self.type, math.inf), x)
        return self._directed(lanes, number)

    def element(self, lanes: Lanes, key: str) -> str:
        """Return the elements of some keys, as `Keys.element` does."""
        return self._directed(lanes, key) if self.are_floats else self.keys.element(lanes, self._signed(lanes, key))

    def compare(self, lanes: Lanes, test: str, a: str, b: str) -> str:
        """Return where keys are, by `test`, `lt`, `le` or `gt` others."""
        return lanes.compare(f"fcmp o{test}" if self.are_floats else f"icmp s{test}", self.type, a, b)

    def extremes(self, lanes: Lanes, a: str, b: str) -> tuple[str, str]:
        """Return the lesser and the greater keys of two vectors."""
        if self.are_floats:
            less, greater = (self.compare(lanes, test, a, b) for test in ("lt", "gt"))
            return lanes.select(less, self.type, a, b), lanes.select(greater, self.type, a, b)
        return lanes.intrinsic("smin", self.type, a, b), lanes.intrinsic("smax", self.type, a, b)

    def _directed(self, lanes: Lanes, x: str) -> str:
        return lanes.op(f"fneg {lanes.of(self.type)} {x}") if self.keys.descending else x

    def _signed(self, lanes: Lanes, keys: str) -> str:
        return lanes.binary("xor", self.type, keys, lanes.number(self.type, -(1 << (self.keys.bits - 1))))


@dataclass(frozen=True)
class LaneOrder:
    """The sizes of a sort in lanes: bits of a key and of the place in it; lanes; columns of a block, and in all."""

    bits: int
    place_bits: int
    parts: int
    """Vectors of a column: two where a key and its place do not fit in 64 bits."""
    width: int
    block: int
    columns: int
    axes: LineAxes
    compared: ComparedKeys | None = None
    """Keys without places."""

    @property
    def type(self) -> str:
        """The LLVM type of a key."""
        return f"i{self.bits}" if self.compared is None else self.compared.type

    @property
    def in_registers(self) -> bool:
        """Return whether a line is one block."""
        return self.columns <= self.block
