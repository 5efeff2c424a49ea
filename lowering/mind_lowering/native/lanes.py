"""
Lanes: some elements at once, in vector registers, and how elements of PTIR's dtypes come from memory and go back.

i1 is one bit in a register and a byte in memory. f16 and bf16 are computed on as f32, each result rounded. Dtypes that nothing
computes on here (fp8, 4 bits, complex) can still be moved: their registers hold the bits.
"""

from __future__ import annotations

from collections.abc import Sequence

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.types import BF16, F16, F32, F64, I1, Kind, PtirDType

from .ir import Function, float_text, suffix, vector
from .target_info import LINE, TargetInfo

MOST_APART = 8
"""The greatest stride of elements that are read and written as vectors of neighbours, with the permutations of AVX-512."""


def register(dtype: PtirDType) -> str:
    """The LLVM type that one element is computed in."""
    if dtype is I1:
        return "i1"
    if dtype.kind is Kind.FLOAT and dtype.bits >= 16:
        return "double" if dtype is F64 else "float"
    return f"i{dtype.size * 8}"


def stored(dtype: PtirDType) -> str:
    """The LLVM type of one element in memory."""
    if dtype is F16:
        return "half"
    return register(dtype) if dtype in (F32, F64) else f"i{dtype.size * 8}"


@dataclass
class Lanes:
    """`width` elements of every value in a function. `mask` are the lanes that count, a vector of i1, or None for all."""

    function: Function
    host: TargetInfo
    width: int
    mask: str | None = None
    hint: str = "v"
    contract: bool = False
    """True if a product that is only summed may be rounded together with its sum."""
    counted: int = 0
    """Number of lanes that count, the first ones; 0 for all."""
    streamed: bool = False
    """True if whole vectors are written by non-temporal stores: they are aligned."""

    def narrowed(self, width: int) -> Lanes:
        """As this, of another width, without a mask."""
        return Lanes(self.function, self.host, width, None, self.hint, self.contract)

    # Types and constants

    def type(self, dtype: PtirDType) -> str:
        """The type of a value of a dtype."""
        return vector(register(dtype), self.width)

    def of(self, type: str) -> str:
        """The vector of an LLVM type."""
        return vector(type, self.width)

    def number(self, type: str, value: float) -> str:
        """A constant in every lane."""
        if type in ("float", "double"):
            text = float_text(float(value), type)
        elif type == "i1":
            text = "true" if value else "false"
        else:
            text = str(int(value))
        return text if self.width == 1 else f"splat ({type} {text})"

    def constant(self, dtype: PtirDType, value: float) -> str:
        """A number of a dtype in every lane."""
        return self.number(register(dtype), value)

    def splat(self, type: str, scalar: str) -> str:
        """A scalar in every lane."""
        if self.width == 1:
            return scalar
        one = self.op(f"insertelement {self.of(type)} poison, {type} {scalar}, i64 0")
        return self.op(f"shufflevector {self.of(type)} {one}, {self.of(type)} poison, {self.of('i32')} zeroinitializer")

    def count(self, first: str, step: int = 1) -> str:
        """`first`, `first + step` and on, as i64."""
        base = self.splat("i64", first)
        if self.width == 1:
            return base
        steps = ", ".join(f"i64 {i * step}" for i in range(self.width))
        return self.op(f"add {self.of('i64')} {base}, <{steps}>")

    # Instructions. `type` is that of one lane.

    def op(self, text: str) -> str:
        """An instruction, its value called after the op that it comes from."""
        return self.function.op(text, self.hint)

    def binary(self, code: str, type: str, a: str, b: str) -> str:
        """An arithmetic instruction."""
        return self.op(f"{code} {self.of(type)} {a}, {b}")

    def inverted(self, bits: str) -> str:
        """The lanes of which a vector of i1 is false."""
        return self.binary("xor", "i1", bits, self.number("i1", 1))

    def compare(self, code: str, type: str, a: str, b: str) -> str:
        """A comparison, `code` as in `fcmp olt`."""
        return self.op(f"{code} {self.of(type)} {a}, {b}")

    def select(self, condition: str, type: str, a: str, b: str) -> str:
        """`a` where `condition`, else `b`."""
        return self.op(f"select {self.of('i1')} {condition}, {self.of(type)} {a}, {self.of(type)} {b}")

    def convert(self, code: str, source: str, target: str, x: str) -> str:
        """A conversion such as `sext`; none where the types are the same."""
        return x if source == target else self.op(f"{code} {self.of(source)} {x} to {self.of(target)}")

    def settled(self, type: str, value: str) -> str:
        """Return floats with zeros for subnormal numbers where these count as 0, for code that looks at bits."""
        return self.intrinsic("canonicalize", type, value) if self.host.flushes else value

    def intrinsic(self, name: str, type: str, *operands: str) -> str:
        """An intrinsic of one type, `name` without it."""
        of = self.of(type)
        return self.function.call(f"llvm.{name}.{suffix(type, self.width)}", of, *((of, v) for v in operands), hint=self.hint)

    def integer_intrinsic(self, name: str, type: str, x: str, flag: bool) -> str:
        """An intrinsic with a flag at its end."""
        of, text = self.of(type), "true" if flag else "false"
        name = f"llvm.{name}.{suffix(type, self.width)}"
        return self.function.call(name, of, (of, x), ("i1", text), hint=self.hint, immediate=(1,))

    def any(self, bits: str) -> str:
        """Emit whether any lane of a vector of i1 is true."""
        if self.width == 1:
            return bits
        name = f"llvm.vector.reduce.or.{suffix('i1', self.width)}"
        return self.function.call(name, "i1", (self.of("i1"), bits), hint="any")

    def active(self, bits: str) -> str:
        """`bits` in the lanes that count."""
        return bits if self.mask is None else self.op(f"and {self.of('i1')} {bits}, {self.mask}")

    def extract(self, type: str, x: str, lane: str) -> str:
        """One lane."""
        return x if self.width == 1 else self.op(f"extractelement {self.of(type)} {x}, i64 {lane}")

    # Memory

    def load(self, dtype: PtirDType, base: str, index: str, stride: int) -> str:
        """Elements from `index` on, `stride` apart; with stride 0 one element in every lane."""
        type, f = stored(dtype), self.function
        if stride == 0 or self.width == 1:
            scalar = f.op(f"load {type}, ptr {f.address(type, base, index)}, align {dtype.size}", self.hint)
            one = self.narrowed(1).from_memory(dtype, scalar)
            return self.splat(register(dtype), one)
        if stride == 1:
            return self.from_memory(dtype, self._consecutive(type, dtype.size, f.address(type, base, index)))
        if stride == -1 and (self.mask is None or self.counted):
            count = self.counted or self.width
            read = self._consecutive(type, dtype.size, f.address(type, base, f.add(index, str(1 - count))))
            backwards = [count - 1 - lane if lane < count else -1 for lane in range(self.width)]
            return self.from_memory(dtype, self._picked(type, read, "poison", backwards))
        if 1 < stride <= self.most_apart and (self.mask is None or self.counted):
            return self.from_memory(dtype, self._apart(type, dtype.size, base, index, stride))
        return self.from_memory(dtype, self._gathered(type, dtype.size, self._addresses(type, base, index, stride)))

    @property
    def most_apart(self) -> int:
        """The greatest stride of elements that are picked from vectors of neighbours: gathers take several times as long."""
        return 1 if self.width == 2 else MOST_APART if self.host.has_avx512 else MOST_APART // 2

    def _apart(self, type: str, align: int, base: str, index: str, stride: int) -> str:
        """
        Every `stride`-th element, from vectors of neighbours.

        The last vector ends with the last element that is wanted, so that nothing behind it is read.
        """
        found, wanted = "", self.counted or self.width
        for number, (first, lanes) in enumerate(self.runs(stride)):
            address = self.function.address(type, base, self.function.add(index, str(first)))
            read = self._some(type, align, address, {place for lane, place in lanes.items() if lane < wanted})
            if not number:
                found = self._picked(type, read, "poison", [lanes.get(lane, -1) for lane in range(self.width)])
                continue
            places = [self.width + lanes[lane] if lane in lanes else lane for lane in range(self.width)]
            found = self._picked(type, found, read, places)
        return found

    def _picked(self, type: str, a: str, b: str, places: Sequence[int]) -> str:
        """Emit a vector of lanes of two by their number, -1 for any."""
        of, lanes = self.of(type), ", ".join(f"i32 {p}" if p >= 0 else "i32 poison" for p in places)
        return self.op(f"shufflevector {of} {a}, {of} {b}, <{self.width} x i32> <{lanes}>")

    def runs(self, stride: int) -> list[tuple[int, dict[int, int]]]:
        """
        Vectors of neighbours that hold every `stride`-th element: the first place of each, and the places in it by lane.

        >>> from .target_info import TARGETS
        >>> Lanes(None, TARGETS["baseline"], 4).runs(3)
        [(0, {0: 0, 1: 3}), (4, {2: 2}), (6, {3: 3})]
        """
        last = (self.width - 1) * stride + 1 - self.width
        found: list[tuple[int, dict[int, int]]] = []
        lane = 0
        while lane < self.width:
            first = min(lane * stride // self.width * self.width, last)
            lanes = {i: i * stride - first for i in range(lane, self.width) if i * stride < first + self.width}
            found.append((first, lanes))
            lane += len(lanes)
        return found

    def _some(self, type: str, align: int, address: str, wanted: set[int]) -> str:
        """The lanes of consecutive elements that are wanted, all of them where no lane is masked; nothing else is read then."""
        of = self.of(type)
        if self.mask is None:
            return self.op(f"load {of}, ptr {address}, align {align}")
        if not wanted:
            return "zeroinitializer"
        bits = ", ".join(f"i1 {'true' if lane in wanted else 'false'}" for lane in range(self.width))
        arguments = (("ptr", address), ("i32", str(align)), (self.of("i1"), f"<{bits}>"), (of, "zeroinitializer"))
        name = f"llvm.masked.load.{suffix(type, self.width)}.p0"
        return self.function.call(name, of, *arguments, hint=self.hint, immediate=(1,))

    def load_from(self, dtype: PtirDType, base: str, offsets: str) -> str:
        """Elements at so many offsets, a vector of i64; lanes that do not count read nothing."""
        type = stored(dtype)
        places = self.op(f"getelementptr {type}, ptr {base}, {self.of('i64')} {offsets}")
        return self.from_memory(dtype, self._gathered(type, dtype.size, places))

    def _gathered(self, type: str, align: int, places: str) -> str:
        name = f"llvm.masked.gather.{suffix(type, self.width)}.{suffix('ptr', self.width)}"
        mask, of = self.mask or self.number("i1", 1), self.of(type)
        arguments = ((self.of("ptr"), places), ("i32", str(align)), (self.of("i1"), mask), (of, "zeroinitializer"))
        return self.function.call(name, of, *arguments, hint=self.hint, immediate=(1,))

    def store(self, dtype: PtirDType, value: str, base: str, index: str, stride: int) -> None:
        """Put elements where `load` finds them."""
        type, f = stored(dtype), self.function
        value, of, align = self.to_memory(dtype, value), self.of(type), dtype.size
        if self.width == 1 or (stride == 1 and self.mask is None):
            past = self.streamed and self.width * align in (16, 32, 64, 128)  # the last one is two stores
            how = f"align {min(self.width * align, LINE)}, !nontemporal !0" if past else f"align {align}"
            f.do(f"store {of} {value}, ptr {f.address(type, base, index)}, {how}")
            return
        mask = self.mask or self.number("i1", 1)
        if stride == 1 and mask == ones(self.width, 1):
            self._store_one(type, align, value, 0, f.address(type, base, index))
            return
        if 1 < stride <= self.most_apart and self.host.has_avx512 and (self.mask is None or self.counted):
            self._store_apart(type, align, value, base, index, stride)
            return
        if stride == 1:
            name, place = f"llvm.masked.store.{suffix(type, self.width)}.p0", ("ptr", f.address(type, base, index))
        else:
            name = f"llvm.masked.scatter.{suffix(type, self.width)}.{suffix('ptr', self.width)}"
            place = (self.of("ptr"), self._addresses(type, base, index, stride))
        f.call(name, "void", (of, value), place, ("i32", str(align)), (self.of("i1"), mask), immediate=(2,))

    def _store_one(self, type: str, align: int, value: str, lane: int, address: str) -> None:
        """
        Put one lane of a vector there.

        LLVM 22 makes a truncation and a masked store of one lane a store of what was not truncated yet: too many bytes
        (llvm/llvm-project#179489).
        """
        one = self.op(f"extractelement {self.of(type)} {value}, i64 {lane}")
        self.function.do(f"store {type} {one}, ptr {address}, align {align}")

    def _store_apart(self, type: str, align: int, value: str, base: str, index: str, stride: int) -> None:
        """Put elements `stride` apart, by vectors of which some lanes are written: scattering takes several times as long."""
        f, of, wanted = self.function, self.of(type), self.counted or self.width
        for first, lanes in self.runs(stride):
            written = {place: lane for lane, place in lanes.items() if lane < wanted}
            if len(written) == 1:
                ((place, lane),) = written.items()
                self._store_one(type, align, value, lane, f.address(type, base, f.add(index, str(first + place))))
            elif written:
                spread = self._picked(type, value, "poison", [written.get(place, -1) for place in range(self.width)])
                mask = ", ".join(f"i1 {'true' if place in written else 'false'}" for place in range(self.width))
                name, place = f"llvm.masked.store.{suffix(type, self.width)}.p0", f.address(type, base, f.add(index, str(first)))
                arguments = ((of, spread), ("ptr", place), ("i32", str(align)), (self.of("i1"), f"<{mask}>"))
                f.call(name, "void", *arguments, immediate=(2,))

    def store_to(self, dtype: PtirDType, value: str, base: str, offsets: str) -> None:
        """Put elements where `load_from` finds them; of lanes at one place the last one stays."""
        type = stored(dtype)
        value = self.to_memory(dtype, value)
        places = self.op(f"getelementptr {type}, ptr {base}, {self.of('i64')} {offsets}")
        if self.width == 1:
            self.function.do(f"store {type} {value}, ptr {places}, align {dtype.size}")
            return
        name = f"llvm.masked.scatter.{suffix(type, self.width)}.{suffix('ptr', self.width)}"
        mask = (self.of("i1"), self.mask or self.number("i1", 1))
        place = (self.of("ptr"), places)
        self.function.call(name, "void", (self.of(type), value), place, ("i32", str(dtype.size)), mask, immediate=(2,))

    def _consecutive(self, type: str, align: int, address: str) -> str:
        of = self.of(type)
        if self.mask is None:
            return self.op(f"load {of}, ptr {address}, align {align}")
        arguments = (("ptr", address), ("i32", str(align)), (self.of("i1"), self.mask), (of, "zeroinitializer"))
        name = f"llvm.masked.load.{suffix(type, self.width)}.p0"
        return self.function.call(name, of, *arguments, hint=self.hint, immediate=(1,))

    def _addresses(self, type: str, base: str, index: str, stride: int) -> str:
        first = self.function.address(type, base, index)
        places = ", ".join(f"i64 {i * stride}" for i in range(self.width))
        return self.op(f"getelementptr {type}, ptr {first}, {self.of('i64')} <{places}>")

    def from_memory(self, dtype: PtirDType, x: str) -> str:
        """Elements as they lie in memory, in registers."""
        if dtype is I1:
            return self.compare("icmp ne", "i8", x, self.number("i8", 0))
        if dtype is F16:
            return self.convert("fpext", "half", "float", x)
        return self.widened_bf16(x) if dtype is BF16 else x

    def to_memory(self, dtype: PtirDType, x: str) -> str:
        """Elements from registers, as they lie in memory."""
        if dtype is I1:
            return self.convert("zext", "i1", "i8", x)
        if dtype is F16:
            return self.convert("fptrunc", "float", "half", x)
        return self.narrowed_bf16(x) if dtype is BF16 else x

    # f16 and bf16

    def widened_bf16(self, bits: str) -> str:
        """The bits of bf16 as f32."""
        wide = self.binary("shl", "i32", self.convert("zext", "i16", "i32", bits), self.number("i32", 16))
        return self.convert("bitcast", "i32", "float", wide)

    def narrowed_bf16(self, x: str) -> str:
        """f32 as the bits of the nearest bf16, ties to even; NaN stays NaN."""
        bits = self.convert("bitcast", "float", "i32", x)
        last = self.binary("and", "i32", self.binary("lshr", "i32", bits, self.number("i32", 16)), self.number("i32", 1))
        nearest = self.binary("add", "i32", self.binary("add", "i32", bits, self.number("i32", 0x7FFF)), last)
        quiet = self.binary("or", "i32", bits, self.number("i32", 0x400000))
        is_nan = self.compare("fcmp uno", "float", x, x)
        high = self.binary("lshr", "i32", self.select(is_nan, "i32", quiet, nearest), self.number("i32", 16))
        return self.convert("trunc", "i32", "i16", high)

    def rounded(self, dtype: PtirDType, x: str) -> str:
        """A result that was computed in f32, as the dtype holds it."""
        if dtype is F16:
            return self.convert("fpext", "half", "float", self.convert("fptrunc", "float", "half", x))
        return self.widened_bf16(self.narrowed_bf16(x)) if dtype is BF16 else x


def ones(width: int, count: int) -> str:
    """A mask of the first `count` lanes, as a constant."""
    return "<" + ", ".join(f"i1 {'true' if i < count else 'false'}" for i in range(width)) + ">"


def halves(width: int) -> Sequence[int]:
    """
    The widths of a tree that folds a vector: the upper half onto the lower, until one lane is left.

    >>> halves(16)
    [8, 4, 2, 1]
    """
    found: list[int] = []
    while width > 1:
        width //= 2
        found.append(width)
    return found
