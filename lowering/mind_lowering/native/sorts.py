"""
Stable orders along an axis: keys, unsigned numbers in the order of the elements, and the places they came from.

Few keys are inserted one by one; many are put in order byte by byte, from the lowest, but for bytes that are the same in all. Of
the best of many, only those are put in order that the highest byte lets pass.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import prod

from mind_dialect.ptir.types import BF16, I1, Kind, PtirDType

from .failures import Failure, Sites, fail_where
from .ir import Function, LoopBody
from .lanes import Lanes, register, stored
from .memory import Access, rounded_up
from .products.product import form, unflattened
from .steps import PATIENCE, SharedStep, argument, patient
from .target_info import TargetInfo
from .views import Buffer, View

FEW = 48
"""So many keys are inserted one by one."""
MOST_UNITS = 32
"""So many units of work at most: each has memory of its own."""
_DIGITS = 256


@dataclass(frozen=True)
class Keys:
    """How the keys of a dtype are made: their LLVM type, and how many bytes of them say something."""

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

    def of(self, one: Lanes, x: str) -> str:
        """The key of an element: NaN is greater than all numbers, zeros are equal."""
        dtype, type = self.dtype, self.type
        if dtype.kind is Kind.FLOAT:
            key = self._of_float(one, x)
        elif dtype is I1:
            key = one.convert("zext", "i1", type, x)
        else:
            key = x if dtype.kind is Kind.UNSIGNED else one.binary("xor", type, x, str(-(1 << (self.bits - 1))))
        return one.binary("xor", type, key, "-1") if self.descending else key

    def _of_float(self, one: Lanes, x: str) -> str:
        float_type = register(self.dtype)
        wide = "i64" if float_type == "double" else "i32"
        width = int(wide[1:])
        plus = one.binary("fadd", float_type, x, one.number(float_type, 0.0))  # -0 + 0 is +0
        bits = one.convert("bitcast", float_type, wide, plus)
        negative = one.compare("icmp slt", wide, bits, "0")
        flipped = one.select(
            negative, wide, one.binary("xor", wide, bits, "-1"), one.binary("xor", wide, bits, str(-(1 << (width - 1))))
        )
        is_nan = one.compare("fcmp uno", float_type, x, x)
        key = one.select(is_nan, wide, "-1", flipped)
        if self.dtype is BF16:
            return one.convert("trunc", wide, "i16", one.binary("lshr", wide, key, "16"))
        return key


@dataclass
class Sort(SharedStep):
    """
    The best `count` elements of each line of `source` along `axis`, best first, in `values`, and their places in `places`.

    `room` is memory to work in.
    """

    name: str
    source: View
    axis: int
    descending: bool
    values: View
    places: View | None
    room: Buffer

    @property
    def addresses(self) -> Sequence[View]:
        room = View(self.room, self.room.dtype, (self.room.count,), (1,))
        return [self.source, self.values, room, *([] if self.places is None else [self.places])]

    def access(self) -> Access:
        bases = [v.base for v in self.addresses if isinstance(v.base, Buffer)]
        return Access(bases[:1], bases[1:])

    def cost(self, host: TargetInfo) -> float:
        """Some ten nanoseconds an element."""
        return self.source.count * 10.0

    def key(self) -> Hashable:
        places = None if self.places is None else form(self.places)
        return form(self.source), self.axis, self.descending, form(self.values), places

    def contents(self) -> str:
        count, n = self.values.shape[self.axis], self.source.shape[self.axis]
        what = "sort" if self.places is None else f"the first {count}"
        return f"{what} of {n} along axis {self.axis} of {list(self.source.shape)}"

    def emit(self, f: Function, host: TargetInfo, sites: Sites) -> int:
        units = _Lines(f, host, self, sites).emit()
        f.ret("0")
        return units


def units_of(source: View, axis: int) -> int:
    """How many units of work a sort has."""
    return min(MOST_UNITS, prod(n for a, n in enumerate(source.shape) if a != axis))


def parts_of(source: View, axis: int) -> tuple[int, int]:
    """The bytes of an array of keys and of an array of places."""
    return rounded_up(source.shape[axis] * Keys(source.dtype, False).bits // 8), rounded_up(4 * source.shape[axis])


def room_of(source: View, axis: int) -> int:
    """The bytes that a unit of work needs: keys and places, twice."""
    return 2 * sum(parts_of(source, axis))


class _Lines:
    """The lines of some units, each put in order by itself."""

    def __init__(self, f: Function, host: TargetInfo, step: Sort, sites: Sites):
        self.f, self.host, self.step, self.sites = f, host, step, sites
        self.keys = Keys(step.source.dtype, step.descending)
        self.one = Lanes(f, host, 1)
        self.n, self.count = step.source.shape[step.axis], step.values.shape[step.axis]
        self.passes = self.keys.bits // 8
        self.pairs: list[tuple[str, str]] = []
        """Two arrays of keys, and of where they came from."""
        self.outer = [a for a in range(len(step.source.shape)) if a != step.axis]

    def emit(self) -> int:
        f, step = self.f, self.step
        bases = [argument(f, i, name) for i, name in enumerate(("x", "values", "room"))]
        places = argument(f, 3, "places") if step.places is not None else ""
        extents = [step.source.shape[a] for a in self.outer]
        lines, units = prod(extents), units_of(step.source, step.axis)
        room = f.address("i8", bases[2], f.mul("%begin", room_of(step.source, step.axis)), "room")
        keys, origins = parts_of(step.source, step.axis)
        for i in (0, 1):
            at = i * (keys + origins)
            self.pairs.append((f.address("i8", room, str(at), "keys"), f.address("i8", room, str(at + keys), "from")))
        self.counts = f.op(f"alloca [{self.passes * _DIGITS} x i32], align 64", "counts")

        def line(u: str, /, *values: str) -> None:
            at = unflattened(f, u, extents) if lines > 1 else ["0"] * len(extents)

            def start(view: View) -> str:
                index = "0"
                for a, i in zip(self.outer, at, strict=True):
                    index = f.add(index, f.mul(i, view.strides[a]))
                return index

            source = f.address(stored(step.source.dtype), bases[0], start(step.source))
            self.make(source)
            left = self.sifted() if 4 * self.count <= self.n and self.n > FEW else str(self.n)
            origins = self.inserted() if self.n <= FEW else self.by_bytes(left)
            to_values = f.address(stored(step.source.dtype), bases[1], start(step.values))
            to = "" if step.places is None else f.address(stored(step.places.dtype), places, start(step.places))
            self.write(origins, source, to_values, to)

        # Lines are dealt out in runs: units are few, for each has memory of its own.
        each = -(-lines // units)
        last = f.least(f.mul("%end", each), str(lines))
        f.loop(f.mul("%begin", each), last, 1, line, hint="line")
        return units

    # Arrays

    def load(self, type: str, base: str, index: str) -> str:
        return self.f.op(f"load {type}, ptr {self.f.address(type, base, index)}, align {int(type[1:]) // 8}")

    def store(self, type: str, value: str, base: str, index: str) -> None:
        self.f.do(f"store {type} {value}, ptr {self.f.address(type, base, index)}, align {int(type[1:]) // 8}")

    def long(self, high: str, body: LoopBody) -> None:
        """A loop over at most all keys of a line."""
        if self.n <= PATIENCE:
            self.f.loop("0", high, 1, body)
        else:
            patient(self.f, "0", high, body)

    def make(self, source: str) -> None:
        """Keys and places of a line, in order."""
        view, (keys, origins) = self.step.source, self.pairs[0]

        def iteration(i: str, /, *values: str) -> None:
            x = self.one.load(view.dtype, source, self.f.mul(i, view.strides[self.step.axis]), 0)
            self.store(self.keys.type, self.keys.of(self.one, x), keys, i)
            self.store("i32", self.f.op(f"trunc i64 {i} to i32"), origins, i)

        patient(self.f, "0", str(self.n), iteration)

    def digit(self, key: str, place: int) -> str:
        """A byte of a key."""
        type, f = self.keys.type, self.f
        shifted = f.op(f"lshr {type} {key}, {8 * place}") if place else key
        low = f.op(f"and {type} {shifted}, 255") if self.keys.bits > 8 * (place + 1) else shifted
        return low if type == "i64" else f.op(f"zext {type} {low} to i64", "digit")

    def cleared(self, count: int) -> None:
        size = ("i64", str(4 * _DIGITS * count))
        self.f.call("llvm.memset.p0.i64", "void", ("ptr", self.counts), ("i8", "0"), size, ("i1", "false"), immediate=(3,))

    def counted(self, key: str, place: int, slot: int) -> None:
        f = self.f
        index = f.add(self.digit(key, place), str(slot * _DIGITS))
        self.store("i32", f.op(f"add i32 {self.load('i32', self.counts, index)}, 1"), self.counts, index)

    # Orders

    def sifted(self) -> str:
        """Keep the keys whose highest byte is no more than that of the last one wanted; how many there are."""
        f, (keys, origins) = self.f, self.pairs[0]
        top = self.passes - 1
        self.cleared(1)
        patient(f, "0", str(self.n), lambda i, *_: self.counted(self.load(self.keys.type, keys, i), top, 0))

        def add(d: str, /, *values: str) -> list[str]:
            total, limit = values
            here = f.op(f"icmp slt i64 {total}, {self.count}", "more")
            some = f.op(f"zext i32 {self.load('i32', self.counts, d)} to i64")
            return [f.add(total, some), f.op(f"select i1 {here}, i64 {d}, i64 {limit}", "limit")]

        _, limit = f.loop("0", str(_DIGITS), 1, add, [("i64", "0"), ("i64", "0")], "d")

        def keep(i: str, /, *values: str) -> list[str]:
            key, origin = self.load(self.keys.type, keys, i), self.load("i32", origins, i)
            self.store(self.keys.type, key, keys, values[0])
            self.store("i32", origin, origins, values[0])
            passes = f.op(f"icmp sle i64 {self.digit(key, top)}, {limit}", "passes")
            return [f.add(values[0], f.op(f"zext i1 {passes} to i64"))]

        (left,) = patient(f, "0", str(self.n), keep, [("i64", "0")])
        return left

    def inserted(self) -> str:
        """Each key moved before those that are greater."""
        f, type, (keys, origins) = self.f, self.keys.type, self.pairs[0]

        def iteration(i: str, /, *values: str) -> None:
            key, origin = self.load(type, keys, i), self.load("i32", origins, i)
            before, head, look, shift, done = f.block, *(f.label(x) for x in ("head", "look", "shift", "done"))
            j, less = f.name_of("j"), f.name_of("less")
            f.do(f"br label %{head}")
            f.start(head)
            f.do(f"{j} = phi i64 [ {i}, %{before} ], [ {less}, %{shift} ]")
            f.do(f"br i1 {f.op(f'icmp sgt i64 {j}, 0')}, label %{look}, label %{done}")
            f.start(look)
            f.do(f"{less} = sub i64 {j}, 1")
            other = self.load(type, keys, less)
            f.do(f"br i1 {f.op(f'icmp ugt {type} {other}, {key}')}, label %{shift}, label %{done}")
            f.start(shift)
            self.store(type, other, keys, j)
            self.store("i32", self.load("i32", origins, less), origins, j)
            f.do(f"br label %{head}")
            f.start(done)
            self.store(type, key, keys, j)
            self.store("i32", origin, origins, j)

        f.loop("1", str(self.n), 1, iteration, hint="i")
        return origins

    def by_bytes(self, left: str) -> str:
        """Stably by each byte in iteration, unless all keys share it."""
        f, type = self.f, self.keys.type
        self.cleared(self.passes)

        def count(i: str, /, *values: str) -> None:
            key = self.load(type, self.pairs[0][0], i)
            for place in range(self.passes):
                self.counted(key, place, place)

        self.long(left, count)
        now = [*self.pairs[0], *self.pairs[1]]
        for place in range(self.passes):
            first = self.digit(self.load(type, now[0], "0"), place)
            share = f.op(f"zext i32 {self.load('i32', self.counts, f.add(first, str(place * _DIGITS)))} to i64")
            differ = f.op(f"zext i1 {f.op(f'icmp ne i64 {share}, {left}')} to i64", "differ")

            def once(_: str, /, *values: str, place: int = place) -> list[str]:
                self.dealt(left, place, values)
                return [*values[2:], *values[:2]]

            now = f.loop("0", differ, 1, once, [("ptr", p) for p in now], "pass")
        return now[1]

    def dealt(self, left: str, place: int, pointers: Sequence[str]) -> None:
        """Keys and places from the first two arrays to the others, by one byte."""
        f, type = self.f, self.keys.type
        keys, origins, to_keys, to_origins = pointers
        counts = f.address("i32", self.counts, str(place * _DIGITS))

        def start(d: str, /, *values: str) -> list[str]:
            some = self.load("i32", counts, d)
            self.store("i32", values[0], counts, d)
            return [f.op(f"add i32 {values[0]}, {some}")]

        f.loop("0", str(_DIGITS), 1, start, [("i32", "0")], "d")

        def iteration(i: str, /, *values: str) -> None:
            key, origin = self.load(type, keys, i), self.load("i32", origins, i)
            digit = self.digit(key, place)
            slot = self.load("i32", counts, digit)
            self.store("i32", f.op(f"add i32 {slot}, 1"), counts, digit)
            to = f.op(f"zext i32 {slot} to i64", "to")
            self.inside(to, str(self.n))
            self.store(type, key, to_keys, to)
            self.store("i32", origin, to_origins, to)

        self.long(left, iteration)

    def write(self, origins: str, source: str, to_values: str, to_places: str) -> None:
        """The elements in their order, as they lie in memory, and where they came from."""
        f, step, axis = self.f, self.step, self.step.axis
        type, size = stored(step.source.dtype), step.source.dtype.size

        def iteration(i: str, /, *_: str) -> None:
            origin = f.op(f"zext i32 {self.load('i32', origins, i)} to i64", "origin")
            self.inside(origin, str(self.n))
            place = f.address(type, source, f.mul(origin, step.source.strides[axis]))
            x = f.op(f"load {type}, ptr {place}, align {size}")
            f.do(f"store {type} {x}, ptr {f.address(type, to_values, f.mul(i, step.values.strides[axis]))}, align {size}")
            if step.places is not None:
                kind = stored(step.places.dtype)
                at = f.mul(i, step.places.strides[axis])
                self.store(kind, origin if kind == "i64" else f.op(f"trunc i64 {origin} to {kind}"), to_places, at)

        patient(f, "0", str(self.count), iteration)

    def inside(self, index: str, count: str) -> None:
        """Where kernels are checked, leave this one unless an index is below a count."""
        if self.host.checked:
            beyond = self.f.op(f"icmp uge i64 {index}, {count}", "beyond")
            fail_where(self.one, self.sites, beyond, Failure.OUTSIDE, None, [("i64", index, True)])
