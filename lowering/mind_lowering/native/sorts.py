"""
Stable orders along an axis: keys, unsigned numbers in the order of the elements, and the places they came from.

Few keys are inserted one by one; many are put in order byte by byte, from the lowest, but for bytes that are the same in all. Of
the best of many, only those are put in order that a threshold lets pass, which enough of them reach. Long lines of keys without
places are partitioned (`quicksorts.py`), where the machine compresses vectors, and few of them are shared by threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from mind_dialect.ptir.types import Kind

from .equal_keys import write_again
from .failures import Sites
from .ir import Function, suffix
from .kernel_steps import FEW, Sort
from .kernel_text import PATIENCE, argument, check_inside, patient, patiently, unflattened
from .lanes import Lanes, stored
from .quicksort_steps import PARTS, WORDS, PartedSort, sorts_by_pivots
from .quicksorts import Part, Quicksort
from .sort_keys import Keys
from .target_info import TargetInfo

_DIGITS = 256


def emit_sort(f: Function, host: TargetInfo, step: Sort, sites: Sites) -> int:
    """Emit a sort; how many units of work it has."""
    units = _Lines(f, host, step, sites).emit()
    f.ret("0")
    return units


def emit_parted_sort(f: Function, host: TargetInfo, step: PartedSort, sites: Sites) -> int:
    """Emit a step of a sort in parts; how many units of work it has."""
    _Parted(f, host, step, sites).emit()
    f.ret("0")
    return step.units


def _line_starts(f: Function, step: Sort, bases: Sequence[str], line: str) -> list[str]:
    """Return where a line, given its number, begins in the source, the values and, if there are any, the places."""
    outer = [a for a in range(len(step.source.shape)) if a != step.axis]
    extents = [step.source.shape[a] for a in outer]
    at = unflattened(f, line, extents) if prod(extents) > 1 else ["0"] * len(extents)
    found: list[str] = []
    for view, base in zip(step.lines, bases, strict=False):
        index = "0"
        for a, i in zip(outer, at, strict=True):
            index = f.add(index, f.mul(i, view.strides[a]))
        found.append(f.address(stored(view.dtype), base, index))
    return found


class _Lines:
    """
    The lines of some units, each put in order by itself.

    `pairs` are two arrays of keys, each with one of where they came from unless keys are moved alone.
    """

    def __init__(self, f: Function, host: TargetInfo, step: Sort, sites: Sites):
        self.f, self.host, self.step, self.sites = f, host, step, sites
        self.keys = Keys(step.source.dtype, step.descending)
        self.one = Lanes(f, host, 1)
        self.n, self.count = step.source.shape[step.axis], step.values.shape[step.axis]
        self.passes = self.keys.bits // 8
        self.pairs: list[list[str]] = []
        self.counts = f.op(f"alloca [{self.passes * _DIGITS} x i32], align 64", "counts")
        self.quick = Quicksort(f, host, step) if sorts_by_pivots(step, host) else None

    def emit(self) -> int:
        """Emit the loop over lines; how many units of work it has."""
        f, step = self.f, self.step
        bases = [argument(f, i, name) for i, name in zip(range(len(step.lines)), ("x", "values", "places"), strict=False)]
        lines, units, (keys, origins) = step.source.count // self.n, step.units, step.parts
        room = f.address("i8", argument(f, len(bases), "room"), f.mul("%begin", step.room_of_unit), "room")
        for i in (0, 1):
            at = i * (keys + origins)
            places = [f.address("i8", room, str(at + keys), "from")] if origins else []
            self.pairs.append([f.address("i8", room, str(at), "keys"), *places])
        # Lines are dealt out in runs: units are few, for each has memory of its own.
        each = -(-lines // units)
        last = f.least(f.mul("%end", each), str(lines))
        for u in f.each(f.mul("%begin", each), last, hint="line"):
            self.line(*_line_starts(f, step, bases, u))
        return units

    def line(self, source: str, values: str, places: str = "") -> None:
        """Put a line in order, given where it begins."""
        if self.quick is not None:
            failed, odd = self.quick.line(source, values, [arrays[0] for arrays in self.pairs])
            self.finish(failed, odd, source, values)
            return
        if self.step.keys_alone:
            self.sort_keys(source, values)
            return
        if (size := self.step.block) is not None:
            left = self.sifted(source, size)
        else:
            self.make(source)
            left = str(self.n)
        _, origins = self.inserted() if self.n <= FEW else self.by_bytes(left)
        self.write(origins, source, values, places)

    def finish(self, failed: str, odd: Sequence[str], source: str, values: str) -> None:
        """Sort a line by bytes whose pivots were bad; write NaN and zeros of others once more where there are any."""

        def write() -> None:
            for bit in odd:
                self.f.when(bit, lambda: write_again(self.f, self.host, self.step, self.sites, [source, values]))

        self.f.choose(failed, lambda: self.sort_keys(source, values), write)

    # Arrays

    def load(self, type: str, base: str, index: str) -> str:
        return self.f.op(f"load {type}, ptr {self.f.address(type, base, index)}, align {int(type[1:]) // 8}")

    def store(self, type: str, value: str, base: str, index: str) -> None:
        self.f.do(f"store {type} {value}, ptr {self.f.address(type, base, index)}, align {int(type[1:]) // 8}")

    def long(self, high: str) -> Iterator[str]:
        """Return the iterations over at most all keys of a line."""
        return self.f.each("0", high) if self.n <= PATIENCE else patiently(self.f, "0", high)

    def make(self, source: str) -> None:
        """Keys and places of a line, in order."""
        keys, origins = self.pairs[0]
        for i in patiently(self.f, "0", str(self.n)):
            self.store(self.keys.type, self.key_at(source, i), keys, i)
            self.store("i32", self.f.op(f"trunc i64 {i} to i32"), origins, i)

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

    def sifted(self, source: str, size: int) -> str:
        """
        Keep the elements whose keys are no more than a threshold that enough of them reach; return their number.

        The threshold is, of the least keys of blocks of elements, the last one wanted. Only blocks that reach it are looked into,
        and those whose least key it is only until they have as many elements as are wanted.
        """
        f, type = self.f, self.keys.type
        blocks, least = self.n // size, self.pairs[1][0]
        self.least_of_blocks(source, blocks, size, least)
        limit = self.selected(least, blocks)

        def keep(i: str, /, *values: str) -> list[str]:
            key = self.key_at(source, i)
            self.store(type, key, self.pairs[0][0], values[0])
            self.store("i32", f.op(f"trunc i64 {i} to i32"), self.pairs[0][1], values[0])
            passes = f.op(f"icmp ule {type} {key}, {limit}", "passes")
            return [f.add(values[0], f.op(f"zext i1 {passes} to i64"))]

        def block(b: str, /, *values: str) -> list[str]:
            left, equal = values
            key = self.load(type, least, b)
            same = f.op(f"icmp eq {type} {key}, {limit}", "same")
            wanted = f.op(f"and i1 {same}, {f.op(f'icmp ult i64 {equal}, {self.count}')}", "wanted")
            reaches = f.op(f"or i1 {wanted}, {f.op(f'icmp ult {type} {key}, {limit}')}", "reaches")

            def inside() -> list[str]:
                first = f.mul(b, size)
                (now,) = f.loop(first, f.add(first, str(size)), 1, keep, [("i64", left)])
                more = f.op(f"select i1 {same}, i64 {f.op(f'sub i64 {now}, {left}')}, i64 0", "more")
                return [now, f.add(equal, more)]

            return f.changed(reaches, [("i64", left), ("i64", equal)], inside)

        some, _ = patient(f, "0", str(blocks), block, [("i64", "0"), ("i64", "0")])
        (left,) = f.loop(str(blocks * size), str(self.n), 1, keep, [("i64", some)])
        return left

    def key_at(self, source: str, i: str) -> str:
        """Return the key of an element."""
        view = self.step.source
        return self.keys.of(self.one, self.one.load(view.dtype, source, self.f.mul(i, view.strides[self.step.axis]), 0))

    def least_of_blocks(self, source: str, blocks: int, size: int, target: str) -> None:
        """Store the least key of each block of elements."""
        f, view, type = self.f, self.step.source, self.keys.type
        stride = view.strides[self.step.axis]
        lanes = Lanes(f, self.host, min(size, self.host.lanes(max(4, self.keys.bits // 8))))
        for b in patiently(f, "0", str(blocks)):
            found: list[str] = []
            for start in range(0, size, lanes.width):
                at = f.mul(f.add(f.mul(b, size), str(start)), stride)
                found.append(self.keys.of(lanes, lanes.load(view.dtype, source, at, stride)))
            while len(found) > 1:
                found = [lanes.intrinsic("umin", type, x, y) for x, y in zip(found[::2], found[1::2], strict=True)]
            name = f"llvm.vector.reduce.umin.{suffix(type, lanes.width)}"
            least = found[0] if lanes.width == 1 else f.call(name, type, (lanes.of(type), found[0]), hint="least")
            self.store(type, least, target, b)

    def selected(self, keys: str, count: int) -> str:
        """Return the last one wanted of some keys, bit by bit from the highest: whether enough keys are no more than a number."""
        f, type = self.f, self.keys.type
        lanes = Lanes(f, self.host, self.host.lanes(max(4, self.keys.bits // 8)))
        full = count - count % lanes.width

        def number(low: str, lanes: Lanes, first: str, most: str) -> str:
            x = f.op(f"load {lanes.of(type)}, ptr {f.address(type, keys, first)}, align {self.keys.bits // 8}")
            fits = lanes.compare("icmp ule", type, x, lanes.splat(type, most))
            here = lanes.convert("zext", "i1", "i32", fits)
            name = f"llvm.vector.reduce.add.{suffix('i32', lanes.width)}"
            return f.op(f"add i32 {low}, {here if lanes.width == 1 else f.call(name, 'i32', (lanes.of('i32'), here))}", "fit")

        def bit(b: str, /, *values: str) -> list[str]:
            place = b if type == "i64" else f.op(f"trunc i64 {b} to {type}")
            one = f.op(f"lshr {type} {-(1 << (self.keys.bits - 1))}, {place}", "bit")
            most = f.op(f"or {type} {values[0]}, {f.op(f'sub {type} {one}, 1')}", "most")
            (fit,) = f.loop("0", str(full), lanes.width, lambda i, *v: [number(v[0], lanes, i, most)], [("i32", "0")])
            (fit,) = f.loop(str(full), str(count), 1, lambda i, *v: [number(v[0], self.one, i, most)], [("i32", fit)])
            enough = f.op(f"icmp uge i32 {fit}, {self.count}", "enough")
            return [f.op(f"select i1 {enough}, {type} {values[0]}, {type} {f.op(f'or {type} {values[0]}, {one}')}", "limit")]

        (limit,) = f.loop("0", str(self.keys.bits), 1, bit, [(type, "0")], "bit")
        return limit

    def inserted(self) -> list[str]:
        """Each key moved before those that are greater."""
        f, type, (keys, origins) = self.f, self.keys.type, self.pairs[0]
        for i in f.each("1", str(self.n)):
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
        return self.pairs[0]

    def by_bytes(self, left: str) -> list[str]:
        """Stably by each byte in iteration, unless all keys share it; return which arrays have them in order."""
        f, type = self.f, self.keys.type
        self.cleared(self.passes)
        for i in self.long(left):
            key = self.load(type, self.pairs[0][0], i)
            for place in range(self.passes):
                self.counted(key, place, place)
        now = [*self.pairs[0], *self.pairs[1]]
        for place in range(self.passes):
            first = self.digit(self.load(type, now[0], "0"), place)
            share = f.op(f"zext i32 {self.load('i32', self.counts, f.add(first, str(place * _DIGITS)))} to i64")
            differ = f.op(f"zext i1 {f.op(f'icmp ne i64 {share}, {left}')} to i64", "differ")

            def once(_: str, /, *values: str, place: int = place) -> list[str]:
                half = len(values) // 2
                self.dealt(left, place, values[:half], values[half:])
                return [*values[half:], *values[:half]]

            now = f.loop("0", differ, 1, once, [("ptr", p) for p in now], "pass")
        return now[: len(now) // 2]

    def dealt(self, left: str, place: int, source: Sequence[str], target: Sequence[str]) -> None:
        """Keys, and places if there are any, from some arrays to others, by one byte."""
        f, types = self.f, (self.keys.type, "i32")
        counts = f.address("i32", self.counts, str(place * _DIGITS))

        def start(d: str, /, *values: str) -> list[str]:
            some = self.load("i32", counts, d)
            self.store("i32", values[0], counts, d)
            return [f.op(f"add i32 {values[0]}, {some}")]

        f.loop("0", str(_DIGITS), 1, start, [("i32", "0")], "d")
        for i in self.long(left):
            found = [self.load(type, array, i) for type, array in zip(types, source, strict=False)]
            digit = self.digit(found[0], place)
            slot = self.load("i32", counts, digit)
            self.store("i32", f.op(f"add i32 {slot}, 1"), counts, digit)
            to = f.op(f"zext i32 {slot} to i64", "to")
            check_inside(self.one, self.sites, to, self.step.held)
            for type, x, array in zip(types, found, target, strict=False):
                self.store(type, x, array, to)

    def sort_keys(self, source: str, values: str) -> None:
        """Sort keys without places, and write the elements that they stand for."""
        f, view = self.f, self.step.values

        def make(i: str, /, *odd: str) -> list[str]:
            x = self.one.load(view.dtype, source, f.mul(i, self.step.source.strides[self.step.axis]), 0)
            self.store(self.keys.type, self.keys.of(self.one, x), self.pairs[0][0], i)
            return [self.one.binary("or", "i1", bit, self.keys.is_odd(self.one, x)) for bit in odd]

        is_float = view.dtype.kind is Kind.FLOAT
        odd = patient(f, "0", str(self.n), make, [("i1", "false")] if is_float else [])
        (keys,) = self.by_bytes(str(self.n))
        for i in patiently(f, "0", str(self.n)):
            x = self.keys.element(self.one, self.load(self.keys.type, keys, i))
            self.one.store(view.dtype, x, values, f.mul(i, view.strides[self.step.axis]), 0)
        for bit in odd:
            f.when(bit, lambda: write_again(f, self.host, self.step, self.sites, [source, values]))

    def write(self, origins: str, source: str, to_values: str, to_places: str) -> None:
        """The elements in their order, as they lie in memory, and where they came from."""
        f, step, axis = self.f, self.step, self.step.axis
        type, size = stored(step.source.dtype), step.source.dtype.size
        for i in patiently(f, "0", str(self.count)):
            origin = f.op(f"zext i32 {self.load('i32', origins, i)} to i64", "origin")
            check_inside(self.one, self.sites, origin, self.n)
            place = f.address(type, source, f.mul(origin, step.source.strides[axis]))
            x = f.op(f"load {type}, ptr {place}, align {size}")
            f.do(f"store {type} {x}, ptr {f.address(type, to_values, f.mul(i, step.values.strides[axis]))}, align {size}")
            if step.places is not None:
                kind = stored(step.places.dtype)
                at = f.mul(i, step.places.strides[axis])
                self.store(kind, origin if kind == "i64" else f.op(f"trunc i64 {origin} to {kind}"), to_places, at)


class _Parted:
    """
    Few long lines in order, each by several units of work, in three steps:

        split   partition each line twice: four parts, with their places in the order
        parts   sort each part (`quicksorts.py`)
        finish  write NaN and zeros of a line once more, or sort a line by bytes whose pivots were bad
    """

    def __init__(self, f: Function, host: TargetInfo, step: PartedSort, sites: Sites):
        self.f, self.host, self.step, self.sites = f, host, step, sites
        self.quick = Quicksort(f, host, step)
        self.bases = [argument(f, i, name) for i, name in enumerate(("x", "values", "room"))]

    def emit(self) -> None:
        """Emit the loop over units."""
        f, step = self.f, self.step
        if step.phase == "parts":
            for unit in f.each("%begin", "%end", hint="part"):
                line, part = unflattened(f, unit, [step.lines_in_all, PARTS])
                self.sorted(line, part)
            return
        for line in f.each("%begin", "%end", hint="line"):
            (self.split if step.phase == "split" else self.finished)(line)

    # A line

    def rooms(self, line: str) -> tuple[str, str, str]:
        """Return the two arrays of keys of a line and the table of its parts."""
        f, step = self.f, self.step
        room = f.address("i8", self.bases[2], f.mul(line, step.room_of_unit), "room")
        keys, _ = step.parts
        return room, f.address("i8", room, str(keys), "keys"), f.address("i8", room, str(step.table), "table")

    def word(self, table: str, part: str, number: int) -> str:
        """Return the address of a word of a part."""
        return self.f.address("i64", table, self.f.add(self.f.mul(part, WORDS), str(number)))

    # Phases

    def split(self, line: str) -> None:
        """Partition a line, and both of its parts."""
        f, (source, _), (*rooms, table) = self.f, _line_starts(self.f, self.step, self.bases, line), self.rooms(line)
        halves, odd = self.quick.split(source, rooms)
        parts = [part for half in halves for part in self.quick.functions.halved(f, half)]
        for number, part in enumerate(parts):
            for word, (type, value) in enumerate(zip(("ptr", "ptr", "i64", "i64", "i64"), (*part, "0"), strict=True)):
                f.do(f"store {type} {value}, ptr {self.word(table, str(number), word)}, align 8")
        for bit in odd:
            f.do(f"store i64 {f.op(f'zext i1 {bit} to i64')}, ptr {self.word(table, str(PARTS), 0)}, align 8")

    def sorted(self, line: str, part: str) -> None:
        """Sort a part."""
        f, (_, values), (*_, table) = self.f, _line_starts(self.f, self.step, self.bases, line), self.rooms(line)
        types = ("ptr", "ptr", "i64", "i64")
        words = [f.op(f"load {type}, ptr {self.word(table, part, word)}, align 8") for word, type in enumerate(types)]
        failed = self.quick.sorted([Part(*words)], values)
        f.do(f"store i64 {f.op(f'zext i1 {failed} to i64')}, ptr {self.word(table, part, len(types))}, align 8")

    def finished(self, line: str) -> None:
        """Sort a line by bytes, or write NaN and zeros once more, if need be."""
        f, (source, values), (*rooms, table) = self.f, _line_starts(self.f, self.step, self.bases, line), self.rooms(line)
        failed = "0"
        for part in range(PARTS):
            found = f.op(f"load i64, ptr {self.word(table, str(part), WORDS - 1)}, align 8")
            failed = f.op(f"or i64 {failed}, {found}", "failed")
        odd = [f.op(f"load i64, ptr {self.word(table, str(PARTS), 0)}, align 8", "odd")] * self.quick.is_float
        lines = _Lines(f, self.host, self.step, self.sites)
        lines.pairs += [[room] for room in rooms]
        bits = [f.op(f"icmp ne i64 {word}, 0") for word in (failed, *odd)]
        lines.finish(bits[0], bits[1:], source, values)
