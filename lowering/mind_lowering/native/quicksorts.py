"""
Single long lines of keys in order: partitions by pivots, in vectors, until parts are short enough to be sorted in lanes.

    partition(keys, room, n, pivot):  keys up to the pivot stay, moved to the front; the others are written to the room

Every vector is split in two by compressing stores, without a branch. Lows have the rest of the room as their own, and highs,
which are in the room now, the rest of the memory of the keys: nothing is copied back. As many short parts as a vector has lanes
are sorted together by one network (`lane_networks.py`) and written as elements. Parts without a rank that is read are
left alone. A line whose pivots are bad too often, as a chosen input can bring about, is left to the sort by bytes.

After J. Wassenberg et al., Vectorized and performance-portable Quicksort (2022), https://arxiv.org/abs/2205.05982.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mind_dialect.ptir.types import F32, F64, SI32, SI64, Kind

from .ir import Function, LlvmModule, suffix, symbol
from .kernel_steps import Sort
from .kernel_text import PATIENCE, patient, poll
from .lane_networks import Columns
from .lanes import Lanes, halves
from .line_axes import LineAxes
from .quicksort_steps import SHORT
from .sort_keys import ComparedKeys, LaneOrder
from .target_info import TargetInfo
from .transposes import transposed

DEPTH = 2
"""Partitions that a key is part of, at most, for each bit of the number of keys: more of them are bad pivots."""
_COUNT, _FAILED, _VALUES, _PARTS = range(4)
"""Words of the state of a line: how many parts wait for a sort in lanes, if pivots were bad, the results, the parts."""


class Part(NamedTuple):
    """Some keys, as much memory to work in, their number, and the place of the first of them in the results."""

    keys: str
    room: str
    n: str
    first: str

    @property
    def text(self) -> str:
        """Its words as arguments of a call."""
        return f"{self.arguments}, i64 {self.first}"

    @property
    def arguments(self) -> str:
        """The first three."""
        return f"ptr {self.keys}, ptr {self.room}, i64 {self.n}"


class Quicksort:
    """The sort of single lines of a step, and the functions that it calls."""

    def __init__(self, f: Function, host: TargetInfo, step: Sort):
        self.f, self.host, self.step = f, host, step
        self.keys = ComparedKeys.of_step(step.source.dtype, step.descending, host)
        self.width = host.lanes(self.keys.keys.bits // 8)
        self.n = step.source.shape[step.axis]
        self.stride = step.source.strides[step.axis]
        self.is_float = step.source.dtype.kind is Kind.FLOAT
        self.functions = _Functions(f.module, host, self.keys, step.values.strides[step.axis], step.ranks)
        self.words = f"[{_PARTS + 3 * self.width} x i64]"
        self.state = f.op(f"alloca {self.words}, align 64", "state")
        self.medians = f.op(f"alloca [{self.width} x {self.keys.type}], align 64", "medians")

    def line(self, source: str, values: str, rooms: Sequence[str]) -> tuple[str, list[str]]:
        """
        Sort a line, given where it begins in source and values and two arrays for its keys.

        Return a bit that is true if it could not be done, and, of floats, one that is true for NaN or a negative zero.
        """
        parts, odd = self.split(source, rooms)
        return self.sorted(parts, values), odd

    def split(self, source: str, rooms: Sequence[str]) -> tuple[list[Part], list[str]]:
        """Write the keys of a line as two parts; return these and, of floats, if the line has NaN or a negative zero."""
        f, view, functions = self.f, self.step.source, self.functions
        lanes, one = Lanes(f, self.host, self.width), Lanes(f, self.host, 1)
        pivot = self._pivot(source)

        def some(lanes: Lanes, i: str, values: Sequence[str]) -> list[str]:
            x = lanes.load(view.dtype, source, f.mul(i, self.stride), self.stride)
            key = self.keys.of(lanes, x)
            found = [lanes.binary("or", "i1", bit, self.keys.keys.is_odd(lanes, x)) for bit in values[2:]]
            passes = self.keys.compare(lanes, "le", key, lanes.splat(self.keys.type, pivot))
            if lanes.width == 1:
                return [*functions.put(f, rooms, key, passes, values[:2]), *found]
            return [*functions.divided(f, rooms, key, [passes, lanes.inverted(passes)], values[:2]), *found]

        whole, width = self.n // self.width, self.width
        carried = [*[("i64", "0")] * 2, *[(lanes.of("i1"), lanes.number("i1", 0))] * self.is_float]
        low, high, *odd = patient(f, "0", str(whole), lambda i, *values: some(lanes, f.mul(i, width), values), carried)
        carried = [("i64", low), ("i64", high), *(("i1", lanes.any(bit)) for bit in odd)]
        low, high, *odd = f.loop(str(whole * width), str(self.n), 1, lambda i, *values: some(one, i, values), carried)
        return functions.parts(f, Part(rooms[0], rooms[1], str(self.n), "0"), low, high), odd

    def _pivot(self, source: str) -> str:
        """Return a key near the median of a line: the median of those of some samples of it."""
        f, lanes, view, width = self.f, Lanes(self.f, self.host, self.width), self.step.source, self.width
        apart = self.n // width
        for i in f.each("0", str(width)):
            first = f.mul(i, apart // width * self.stride)
            numbers = "<" + ", ".join(f"i64 {j * apart * self.stride}" for j in range(width)) + ">"
            offsets = lanes.binary("add", "i64", lanes.splat("i64", first), numbers)
            median = self.functions.median(lanes, self.keys.of(lanes, lanes.load_from(view.dtype, source, offsets)))
            f.do(f"store {self.keys.type} {median}, ptr {f.address(self.keys.type, self.medians, i)}, align 4")
        return self.functions.median(lanes, lanes.load(self.functions.dtype, self.medians, "0", 1))

    def sorted(self, parts: Sequence[Part], values: str) -> str:
        """Sort parts of a line; return a bit that is true if it could not be done."""
        f = self.f
        f.do(f"store {self.words} zeroinitializer, ptr {self.state}, align 64")
        f.do(f"store ptr {values}, ptr {f.address('i64', self.state, str(_VALUES))}, align 8")
        f.polls = True
        for part in parts:
            arguments = f"ptr %args, ptr {self.state}, {part.text}, i64 {DEPTH * self.n.bit_length()}"
            status = f.op(f"call i64 {self.functions.quick()}({arguments})", "status")
            f.leave(f.op(f"icmp ne i64 {status}, 0", "interrupted"), lambda status=status: status)
        f.do(f"call void {self.functions.rest()}(ptr {self.state})")
        failed = f.op(f"load i64, ptr {f.address('i64', self.state, str(_FAILED))}, align 8")
        return f.op(f"icmp ne i64 {failed}, 0", "failed")


class _Functions:
    """
    Functions of a module that sort keys of one kind; `stride` is the one of elements in the results.

    If there are `ranks`, they alone are put in order.
    """

    def __init__(self, module: LlvmModule, host: TargetInfo, keys: ComparedKeys, stride: int, ranks: Sequence[int] = ()):
        self.module, self.host, self.keys, self.stride, self.ranks = module, host, keys, stride, ranks
        bits = keys.keys.bits
        self.type, self.width = keys.type, host.lanes(bits // 8)
        if keys.are_floats:
            self.dtype = F32 if bits == 32 else F64
        else:
            self.dtype = SI32 if bits == 32 else SI64
        self.kind = ".".join(map(str, (keys.keys.dtype, int(keys.keys.descending), stride, *ranks)))
        axes = LineAxes((self.width,), ((1,),))
        self.order = LaneOrder(bits, 0, 1, self.width, host.registers // 2, SHORT, axes, keys)

    def below(self, lanes: Lanes, count: str) -> str:
        """Return a mask of the lanes whose numbers are less than a count."""
        numbers = "<" + ", ".join(f"i64 {i}" for i in range(self.width)) + ">"
        return lanes.compare("icmp slt", "i64", numbers, lanes.splat("i64", count))

    def masked(self, f: Function, mask: str) -> Lanes:
        """Return lanes of which some count."""
        return Lanes(f, self.host, self.width, mask)

    # The recursion

    def quick(self) -> str:
        """Return the function that partitions keys and notes or sorts short parts; its result is the status of a poll."""
        name = f"quick.{self.kind}"
        if name not in self.module.functions:
            pointers, numbers = ("args", "state", "keys", "room"), ("n", "first", "depth")
            f = self.module.function(name, "i64", [*(("ptr", p) for p in pointers), *(("i64", n) for n in numbers)])
            carried = [*(("ptr", f"%{p}") for p in pointers[2:]), *(("i64", f"%{n}") for n in numbers)]

            def is_long(*values: str) -> str:
                return f.op(f"icmp sgt i64 {values[2]}, {SHORT}", "long")

            def partitioned(*values: str) -> list[str]:
                return self._partitioned(f, name, *values)

            keys, _, n, first, _ = f.repeat(carried, is_long, partitioned)
            f.when(f.op(f"icmp sgt i64 {n}, 0", "some"), lambda: self._noted(f, keys, n, first))
            f.ret("0")
        return symbol(name)

    def _partitioned(self, f: Function, name: str, *values: str) -> list[str]:
        """Partition keys, sort the fewer ones of both parts and return the others."""
        part, depth = Part(*values[:4]), values[4]
        f.when(f.op(f"icmp sgt i64 {part.n}, {PATIENCE}", "many"), lambda: poll(f))
        f.leave(f.op(f"icmp eq i64 {depth}, 0", "bad"), lambda: self._failed(f))
        pivot = self.pivot(f, part)
        low = f.op(f"call i64 {self.partition('le')}({part.arguments}, {self.type} {pivot})", "low")
        high = f.op(f"sub i64 {part.n}, {low}", "high")

        def without_pivots() -> list[str]:
            less = f.op(f"call i64 {self.partition('lt')}({part.arguments}, {self.type} {pivot})", "less")
            one = Lanes(f, self.host, 1)
            results = f.op(f"load ptr, ptr {f.address('i64', '%state', str(_VALUES))}, align 8", "values")
            for i in f.each(less, part.n):
                at = f.mul(f.add(part.first, i), self.stride)
                one.store(self.keys.keys.dtype, self.keys.element(one, pivot), results, at, 0)
            return [less]

        (low,) = f.changed(f.op(f"icmp eq i64 {high}, 0", "greatest"), [("i64", low)], without_pivots)
        parts = self.parts(f, part, low, high)
        fewer = f.op(f"icmp slt i64 {parts[0].n}, {parts[1].n}", "fewer")
        types = ("ptr", "ptr", "i64", "i64")
        now, later = (
            [f.op(f"select i1 {fewer}, {type} {a}, {type} {b}") for type, a, b in zip(types, *pair, strict=True)]
            for pair in (parts, parts[::-1])
        )
        depth = f.op(f"sub i64 {depth}, 1", "depth")
        status = f.op(f"call i64 {symbol(name)}(ptr %args, ptr %state, {Part(*now).text}, i64 {depth})", "status")
        f.leave(f.op(f"icmp ne i64 {status}, 0", "interrupted"), lambda: status)
        return [*later, depth]

    def parts(self, f: Function, part: Part, low: str, high: str) -> list[Part]:
        """Return the two parts of a partition: highs are in the room now."""
        lows = Part(part.keys, f.address(self.type, part.room, high), low, part.first)
        highs = Part(part.room, f.address(self.type, part.keys, low), high, f.add(part.first, low))
        return [found._replace(n=self._read_of(f, found)) for found in (lows, highs)]

    def halved(self, f: Function, part: Part) -> list[Part]:
        """Partition a part that is not short; the second one of two is empty otherwise."""

        def split() -> list[str]:
            pivot = self.pivot(f, part)
            return [f.op(f"call i64 {self.partition('le')}({part.arguments}, {self.type} {pivot})", "low")]

        (low,) = f.changed(f.op(f"icmp sgt i64 {part.n}, {SHORT}", "long"), [("i64", part.n)], split)
        return self.parts(f, part, low, f.op(f"sub i64 {part.n}, {low}", "high"))

    def _read_of(self, f: Function, part: Part) -> str:
        """Return the number of keys of a part, 0 if it has no rank that is read."""
        if not self.ranks:
            return part.n
        reads = "false"
        for rank in self.ranks:
            behind = f.op(f"sub i64 {rank}, {part.first}")
            reads = f.op(f"or i1 {reads}, {f.op(f'icmp ult i64 {behind}, {part.n}')}", "reads")
        return f.op(f"select i1 {reads}, i64 {part.n}, i64 0", "n")

    def _failed(self, f: Function) -> str:
        f.do(f"store i64 1, ptr {f.address('i64', '%state', str(_FAILED))}, align 8")
        return "0"

    def pivot(self, f: Function, part: Part) -> str:
        """Return the median of as many keys, evenly apart, as a vector has lanes."""
        lanes, width = Lanes(f, self.host, self.width), self.width
        step = f.op(f"lshr i64 {part.n}, {width.bit_length() - 1}", "apart")
        numbers = "<" + ", ".join(f"i64 {i}" for i in range(width)) + ">"
        half = lanes.splat("i64", f.op(f"lshr i64 {step}, 1"))
        offsets = lanes.binary("add", "i64", lanes.binary("mul", "i64", lanes.splat("i64", step), numbers), half)
        return self.median(lanes, lanes.load_from(self.dtype, part.keys, offsets))

    def median(self, lanes: Lanes, x: str) -> str:
        """Return the lower median of the keys in a vector."""
        type, width = self.type, self.width
        rank = lanes.number("i32", 0)
        for i in range(width):
            mask = ", ".join([f"i32 {i}"] * width)
            other = lanes.op(f"shufflevector {lanes.of(type)} {x}, {lanes.of(type)} poison, <{width} x i32> <{mask}>")
            less = self.keys.compare(lanes, "lt", other, x)
            rank = lanes.binary("add", "i32", rank, lanes.convert("zext", "i1", "i32", less))
        is_low = lanes.compare("icmp slt", "i32", rank, lanes.number("i32", width // 2))
        lows = lanes.select(is_low, type, x, lanes.number(type, self.keys.least))
        for size in halves(width):
            mask = ", ".join(f"i32 {(i + size) % width}" for i in range(width))
            other = lanes.op(f"shufflevector {lanes.of(type)} {lows}, {lanes.of(type)} poison, <{width} x i32> <{mask}>")
            lows = self.keys.extremes(lanes, lows, other)[1]
        return lanes.extract(type, lows, "0")

    # Partitions

    def partition(self, test: str) -> str:
        """Return the function that moves keys which pass a test to the front, others to a room, and returns how many pass."""
        name = f"partition.{test}.{self.type}"
        if name not in self.module.functions:
            f = self.module.function(name, "i64", [("ptr", "keys"), ("ptr", "room"), ("i64", "n"), (self.type, "pivot")])
            lanes = Lanes(f, self.host, self.width)
            pivot = lanes.splat(self.type, "%pivot")
            whole = f.op(f"and i64 %n, {-self.width}", "whole")

            def some(i: str, /, *ends: str) -> list[str]:
                x = lanes.load(self.dtype, "%keys", i, 1)
                passes = self.keys.compare(lanes, test, x, pivot)
                return self.divided(f, ["%keys", "%room"], x, [passes, lanes.inverted(passes)], ends)

            ends = f.loop("0", whole, self.width, some, [("i64", "0")] * 2)
            there = self.below(lanes, f.op(f"sub i64 %n, {whole}", "left"))
            x = self.masked(f, there).load(self.dtype, "%keys", whole, 1)
            passes = self.keys.compare(lanes, test, x, pivot)
            masks = [lanes.binary("and", "i1", there, mask) for mask in (passes, lanes.inverted(passes))]
            low, _ = self.divided(f, ["%keys", "%room"], x, masks, ends, partly=True)
            f.ret(low)
        return symbol(name)

    def divided(
        self, f: Function, rooms: Sequence[str], x: str, masks: Sequence[str], ends: Sequence[str], *, partly: bool = False
    ) -> list[str]:
        """
        Append the keys of each mask to an array and return its new ends.

        Whole vectors are written unless `partly`: what is behind the keys of a mask is not behind what was read.
        """
        lanes, of, bits = Lanes(f, self.host, self.width), Lanes(f, self.host, self.width).of, f"i{self.width}"
        found: list[str] = []
        for base, mask, end in zip(rooms, masks, ends, strict=True):
            name = f"llvm.experimental.vector.compress.{suffix(self.type, self.width)}"
            kept = f.call(name, of(self.type), (of(self.type), x), (of("i1"), mask), (of(self.type), "poison"))
            set_bits = f.op(f"bitcast {of('i1')} {mask} to {bits}")
            count = f.op(f"zext {bits} {f.call(f'llvm.ctpop.{bits}', bits, (bits, set_bits))} to i64", "count")
            (self.masked(f, self.below(lanes, count)) if partly else lanes).store(self.dtype, kept, base, end, 1)
            found.append(f.add(end, count))
        return found

    def put(self, f: Function, rooms: Sequence[str], key: str, passes: str, ends: Sequence[str]) -> list[str]:
        """Append a single key to the first array if it passes, to the second if it does not; return their new ends."""
        base = f.op(f"select i1 {passes}, ptr {rooms[0]}, ptr {rooms[1]}", "to")
        at = f.op(f"select i1 {passes}, i64 {ends[0]}, i64 {ends[1]}", "end")
        Lanes(f, self.host, 1).store(self.dtype, key, base, at, 0)
        low = f.op(f"zext i1 {passes} to i64")
        return [f.add(ends[0], low), f.add(ends[1], f.op(f"sub i64 1, {low}"))]

    # Short parts

    def _noted(self, f: Function, keys: str, n: str, first: str) -> None:
        """Note a short part; if there are as many as lanes, sort them."""
        slot = f.address("i64", "%state", str(_COUNT))
        count = f.op(f"load i64, ptr {slot}, align 8", "count")
        for number, (type, value) in enumerate((("ptr", keys), ("i64", n), ("i64", first))):
            at = f.add(count, str(_PARTS + number * self.width))
            f.do(f"store {type} {value}, ptr {f.address('i64', '%state', at)}, align 8")
        f.do(f"store i64 {f.add(count, '1')}, ptr {slot}, align 8")
        full = f.op(f"icmp eq i64 {count}, {self.width - 1}", "full")
        f.when(full, lambda: f.do(f"call void {self.rest()}(ptr %state)"))

    def rest(self) -> str:
        """Return the function that sorts the parts that wait and writes their elements."""
        name = f"parts.{self.kind}"
        if name not in self.module.functions:
            f = self.module.function(name, "void", [("ptr", "state")])
            columns = Columns(f, self.host, self.order)
            room = f.op(f"alloca [{SHORT} x {columns.lanes.of(self.type)}], align 64", "keys")
            parts = [
                [
                    f.op(f"load {type}, ptr {f.address('i64', '%state', str(_PARTS + number * self.width + j))}, align 8")
                    for number, type in enumerate(("ptr", "i64", "i64"))
                ]
                for j in range(self.width)
            ]
            self._read(f, columns, room, parts)
            f.do(f"call void {columns.network()}(ptr {room})")
            self._written(f, columns, room, parts)
            sizes = f.address("i64", "%state", str(_PARTS + self.width))
            f.do(f"store [{self.width} x i64] zeroinitializer, ptr {sizes}, align 8")
            f.do(f"store i64 0, ptr {f.address('i64', '%state', str(_COUNT))}, align 8")
            f.ret()
        return symbol(name)

    def _read(self, f: Function, columns: Columns, room: str, parts: Sequence[Sequence[str]]) -> None:
        """Put the keys of the parts in columns, the greatest key behind them."""
        lanes = columns.lanes
        greatest = lanes.number(self.type, self.keys.greatest)
        for start in f.each("0", str(SHORT), self.width, "row"):
            rows: list[str] = []
            for keys, n, _ in parts:
                there = self.below(lanes, f.op(f"sub i64 {n}, {start}"))
                x = self.masked(f, there).load(self.dtype, keys, start, 1)
                rows.append(lanes.select(there, self.type, x, greatest))
            for j, column in enumerate(transposed(lanes, self.type, rows)):
                columns.store((column,), room, start, j)

    def _written(self, f: Function, columns: Columns, room: str, parts: Sequence[Sequence[str]]) -> None:
        """Write columns as elements of the parts."""
        lanes = columns.lanes
        values = f.op(f"load ptr, ptr {f.address('i64', '%state', str(_VALUES))}, align 8", "values")
        for start in f.each("0", str(SHORT), self.width, "row"):
            found = [columns.load(room, start, j)[0] for j in range(self.width)]
            for row, (_, n, first) in zip(transposed(lanes, self.type, found), parts, strict=True):
                there = self.masked(f, self.below(lanes, f.op(f"sub i64 {n}, {start}")))
                at = f.mul(f.add(first, start), self.stride)
                there.store(self.keys.keys.dtype, self.keys.element(lanes, row), values, at, self.stride)
