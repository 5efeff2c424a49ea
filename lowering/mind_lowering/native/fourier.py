"""
Fourier transforms of lengths that are powers of two, a line at a time on the stack of its thread.

Stockham's form of the transform with radix 4: each pass reads one array and writes another, so that no order of bits is to be
undone; a pass of radix 2 ends it where the length asks for one. Real and imaginary parts are arrays of their own. Transforms of
real numbers are those of half the length, of even numbers as real parts and odd ones as imaginary ones. The inverse is the
transform with the parts exchanged, before and after.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from mind_dialect.ptir.types import PtirDType

from .failures import Sites
from .ir import Function
from .kernel_text import argument, index_of, multiply_add, unflattened
from .lanes import Lanes, register
from .memory import Access, buffers_of
from .steps import NativeStep
from .target_info import TargetInfo
from .views import View, form

SCRATCH = 256 << 10
"""Bytes on the stack of a unit of work, at most."""
RATE = 6.0
"""Operations in a nanosecond, about."""
Parts = tuple[str, str]
"""The addresses of real and imaginary parts, or the parts of some numbers."""


@dataclass
class FourierTransform(NativeStep):
    """The transform `kind` of each line of `x` along its last axis, into a dense `out`; `factors` are those of `factors_of`."""

    name: str
    kind: str
    x: View
    factors: View
    out: View
    length: int
    """Complex numbers that are transformed: half those of a real line."""
    width: int
    """Lanes."""

    @property
    def addresses(self) -> Sequence[View]:
        return [self.x, self.factors, self.out]

    def access(self) -> Access:
        return Access(buffers_of([self.x, self.factors]), buffers_of([self.out]))

    @property
    def flops(self) -> int:
        """Five for each number and bit of the length."""
        return 5 * prod(self.out.shape[:-1]) * self.length * (self.length.bit_length() - 1)

    def cost(self, host: TargetInfo) -> float:
        return self.flops / RATE

    def key(self) -> Hashable:
        return self.kind, self.length, self.width, *map(form, self.addresses)

    def contents(self) -> str:
        return f"{self.kind} of {list(self.x.shape)}"


def width_of(host: TargetInfo, real: PtirDType, length: int) -> int:
    """Return the lanes of a transform: a pass combines four numbers that are a quarter of the length apart."""
    return max(1, min(host.lanes(real.size), length // 4))


def passes(length: int) -> list[tuple[int, int]]:
    """Return the radix of each pass, and how many transforms are interleaved before it."""
    found, done = list[tuple[int, int]](), 1
    while length // done >= 4:
        found.append((4, done))
        done *= 4
    return [*found, (2, done)] if length // done == 2 else found


def factors_of(kind: str, length: int, width: int) -> np.ndarray:
    """
    Return the factors that the passes read: of radix 4 three powers of a root of unity, those of a real line at the end.

    Of each power the real parts and then the imaginary ones: one for each group of interleaved numbers, or where these are fewer
    than lanes one for each number.
    """
    turns: list[np.ndarray] = []
    for radix, done in passes(length):
        groups = length // done // 4
        if radix == 4:
            place = np.repeat(np.arange(groups), 1 if done >= width else done)
            turns += [place * power / (length // done) for power in (1, 2, 3)]
    if kind in ("rfft", "irfft"):
        turns.append(np.arange(length + 1) / (2 * length))
    parts = [part for turn in turns for part in (np.cos(2 * np.pi * turn), -np.sin(2 * np.pi * turn))]
    if kind in ("rfft", "irfft"):
        parts[-1][-1] = 0  # of -1
    return np.concatenate(parts) if parts else np.zeros(1)


def exchanged(parts: Parts) -> Parts:
    """Return imaginary and real parts."""
    return parts[1], parts[0]


def emit_fourier(f: Function, host: TargetInfo, step: FourierTransform, sites: Sites) -> int:
    """Emit the loop over lines; how many there are."""
    lines = step.out.shape[:-1]
    body = _Line(f, host, step)

    def unit(u: str, /, *values: str) -> None:
        at = unflattened(f, u, list(lines))
        body.emit(*(index_of(f, View(v.base, v.dtype, lines, v.strides[:-1]), at) for v in (step.x, step.out)))

    f.loop("%begin", "%end", 1, unit, hint="line")
    f.ret("0")
    return prod(lines)


class _Line:
    """The transform of one line."""

    def __init__(self, f: Function, host: TargetInfo, step: FourierTransform):
        self.f, self.step, self.n = f, step, step.length
        self.real = step.factors.dtype
        self.type = register(self.real)
        self.wide, self.one = Lanes(f, host, step.width), Lanes(f, host, 1)
        self.x, self.factors, self.out = (argument(f, i, name) for i, name in enumerate(("x", "factors", "out")))
        self.rooms: list[Parts] = [(self.room("re"), self.room("im")) for _ in range(2)]
        self.read = 0
        """Factors that the passes so far have read."""

    def room(self, hint: str) -> str:
        """Memory on the stack for a part of a line, and one number more."""
        return self.f.op(f"alloca [{self.n + 1} x {self.type}], align 64", hint)

    def emit(self, x: str, out: str) -> None:
        """The line that begins at an element of the operand, into the one that begins at an element of the result."""
        kind, f = self.step.kind, self.f
        source, target = self.rooms
        x, out = (f.mul(i, 1 if real else 2) for i, real in ((x, kind == "rfft"), (out, kind == "irfft")))
        self.take(f.address(self.type, self.x, x), source)
        if kind == "irfft":
            self.halves(source, target, inverse=True)
            source, target = target, source
        if kind.startswith("i"):
            source, target = exchanged(source), exchanged(target)
        for radix, done in passes(self.n):
            (self.four if radix == 4 else self.two)(source, target, done)
            source, target = target, source
        if kind.startswith("i"):
            source = exchanged(source)
        if kind == "rfft":
            self.halves(source, target, inverse=False)
            source = target
        self.give(source, f.address(self.type, self.out, out))

    # Memory

    def load(self, parts: Parts, index: str, lanes: Lanes | None = None) -> Parts:
        """Numbers from an index on."""
        re, im = (((lanes or self.wide).load(self.real, p, index, 1)) for p in parts)
        return re, im

    def store(self, parts: Parts, index: str, value: Parts, lanes: Lanes | None = None) -> None:
        """Put numbers where `load` finds them."""
        for p, v in zip(parts, value, strict=True):
            (lanes or self.wide).store(self.real, v, p, index, 1)

    def shuffled(self, a: str, b: str, places: Sequence[int]) -> str:
        """Some lanes of two vectors."""
        of = self.wide.of(self.type)
        chosen = ", ".join(f"i32 {i}" for i in places)
        return self.f.op(f"shufflevector {of} {a}, {of} {b}, <{len(places)} x i32> <{chosen}>", "turned")

    def each(self, body: Callable[[str, Lanes], None], count: int) -> None:
        """`body` for vectors of numbers, then for those that are left."""
        full = count // self.wide.width * self.wide.width
        for low, high, lanes in ((0, full, self.wide), (full, count, self.one)):

            def some(i: str, /, *values: str, lanes: Lanes = lanes) -> None:
                body(i, lanes)

            self.f.loop(str(low), str(high), lanes.width, some, hint="i")

    def take(self, x: str, target: Parts) -> None:
        """Read a line, two neighbours as one number if they are real."""
        stride, kind, n = self.step.x.strides[-1], self.step.kind, self.n
        second = stride if kind == "rfft" else 1
        width = self.wide.width

        def some(i: str, lanes: Lanes) -> None:
            at = self.f.mul(i, 2 * stride)
            if stride == 1 and lanes.width > 1:
                a, b = (lanes.load(self.real, x, self.f.add(at, str(k * width)), 1) for k in range(2))
                value = self.shuffled(a, b, range(0, 2 * width, 2)), self.shuffled(a, b, range(1, 2 * width, 2))
            else:
                a, b = (lanes.load(self.real, x, self.f.add(at, str(k * second)), 2 * stride) for k in range(2))
                value = a, b
            self.store(target, i, value, lanes)

        self.each(some, n + 1 if kind == "irfft" else n)
        if kind == "irfft":  # the ends of the transform of real numbers are real
            for i in (0, n):
                self.one.store(self.real, self.one.constant(self.real, 0), target[1], str(i), 1)

    def give(self, source: Parts, out: str) -> None:
        """Write a line; the inverses divide by its length."""
        kind, width = self.step.kind, self.wide.width

        def some(i: str, lanes: Lanes) -> None:
            value = self.load(source, i, lanes)
            if kind.startswith("i"):
                by = lanes.constant(self.real, 1 / self.n)
                value = lanes.binary("fmul", self.type, value[0], by), lanes.binary("fmul", self.type, value[1], by)
            at = self.f.mul(i, 2)
            if lanes.width > 1:
                pairs = [i // 2 + (i % 2) * width for i in range(2 * width)]
                value = (self.shuffled(*value, pairs[:width]), self.shuffled(*value, pairs[width:]))
            for k, v in enumerate(value):
                lanes.store(self.real, v, out, self.f.add(at, str(k * lanes.width)), 1)

        self.each(some, self.n + 1 if kind == "rfft" else self.n)

    # Arithmetic

    def add(self, a: Parts, b: Parts) -> Parts:
        """Sums."""
        return self.wide.binary("fadd", self.type, a[0], b[0]), self.wide.binary("fadd", self.type, a[1], b[1])

    def sub(self, a: Parts, b: Parts) -> Parts:
        """Differences."""
        return self.wide.binary("fsub", self.type, a[0], b[0]), self.wide.binary("fsub", self.type, a[1], b[1])

    def times(self, a: Parts, w: Parts, lanes: Lanes | None = None) -> Parts:
        """Products with factors."""
        lanes = lanes or self.wide
        opposite = lanes.op(f"fneg {lanes.of(self.type)} {a[1]}")
        re, im = (lanes.binary("fmul", self.type, a[0], w[k]) for k in range(2))
        return multiply_add(lanes, self.real, opposite, w[1], re), multiply_add(lanes, self.real, a[1], w[0], im)

    def powers(self, count: int) -> list[Parts]:
        """Return the addresses of the factors of a pass of radix 4, so many of each power."""
        places = [self.f.address(self.type, self.factors, str(self.read + i * count)) for i in range(6)]
        self.read += 6 * count
        return list(zip(places[::2], places[1::2], strict=True))

    def combined(self, source: Parts, first: str, apart: int, factors: Sequence[Parts]) -> list[Parts]:
        """Transforms of four numbers that are so far apart, multiplied by factors."""
        f = self.f
        a, b, c, d = (self.load(source, f.add(first, str(k * apart))) for k in range(4))
        evens, odds, rest = self.add(a, c), self.add(b, d), self.sub(a, c)
        turned = self.wide.binary("fsub", self.type, b[1], d[1]), self.wide.binary("fsub", self.type, d[0], b[0])
        others = [self.add(rest, turned), self.sub(evens, odds), self.sub(rest, turned)]
        return [self.add(evens, odds), *(self.times(y, w) for y, w in zip(others, factors, strict=True))]

    def four(self, source: Parts, target: Parts, done: int) -> None:
        """A pass of radix 4 over `done` interleaved transforms."""
        f, width, quarter = self.f, self.wide.width, self.n // 4
        if done < width:
            powers = self.powers(quarter)

            def some(i: str, /, *values: str) -> None:
                found = self.combined(source, i, quarter, [self.load(w, i) for w in powers])
                for j, value in enumerate(self.interleaved(found, done)):
                    self.store(target, f.add(f.mul(i, 4), str(j * width)), value)

            f.loop("0", str(quarter), width, some, hint="i")
            return
        powers = self.powers(quarter // done)

        def group(p: str, /, *values: str) -> None:
            factors: list[Parts] = []
            for w in powers:
                re, im = (self.wide.load(self.real, part, p, 0) for part in w)
                factors.append((re, im))

            def some(q: str, /, *values: str) -> None:
                found = self.combined(source, f.add(q, f.mul(p, done)), quarter, factors)
                for k, value in enumerate(found):
                    self.store(target, f.add(f.add(q, f.mul(p, 4 * done)), str(k * done)), value)

            f.loop("0", str(done), width, some, hint="q")

        f.loop("0", str(quarter // done), 1, group, hint="p")

    def interleaved(self, found: Sequence[Parts], done: int) -> list[Parts]:
        """Four vectors as four others: in turn `done` lanes of each."""
        res, ims = (self.in_turn([x[part] for x in found], done) for part in range(2))
        return list(zip(res, ims, strict=True))

    def in_turn(self, found: Sequence[str], done: int) -> list[str]:
        """As `interleaved`, of one part: lanes of two vectors and of two others, then of what these gave."""
        width, results = self.wide.width, list[str]()
        for j in range(4):
            places = [(o % (4 * done) // done, o // (4 * done) * done + o % done) for o in range(j * width, (j + 1) * width)]
            halves: list[str] = []
            for h in (0, 2):
                lanes = [(k - h) * width + lane if h <= k < h + 2 else 0 for k, lane in places]
                halves.append(self.shuffled(found[h], found[h + 1], lanes))
            results.append(self.shuffled(halves[0], halves[1], [k // 2 * width + i for i, (k, _) in enumerate(places)]))
        return results

    def two(self, source: Parts, target: Parts, done: int) -> None:
        """The pass of radix 2, which is the last."""

        def some(q: str, /, *values: str) -> None:
            a, b = self.load(source, q), self.load(source, self.f.add(q, str(done)))
            self.store(target, q, self.add(a, b))
            self.store(target, self.f.add(q, str(done)), self.sub(a, b))

        self.f.loop("0", str(done), self.wide.width, some, hint="q")

    def halves(self, source: Parts, target: Parts, *, inverse: bool) -> None:
        """The transform of a real line, of that of half its length, or the other way round; one number more than that has."""
        f, n, width = self.f, self.n, self.wide.width
        if not inverse:  # the transform repeats
            self.store(source, str(n), self.load(source, "0", self.one), self.one)
        first = self.step.factors.count - 2 * (n + 1)
        table = f.address(self.type, self.factors, str(first)), f.address(self.type, self.factors, str(first + n + 1))

        def some(k: str, lanes: Lanes) -> None:
            a, w = self.load(source, k, lanes), self.load(table, k, lanes)
            last = f.op(f"sub nsw i64 {n - lanes.width + 1}, {k}", "other")
            b = self.load(source, last, lanes)
            if lanes.width > 1:
                b = (self.shuffled(b[0], b[0], range(width - 1, -1, -1)), self.shuffled(b[1], b[1], range(width - 1, -1, -1)))
            half = lanes.constant(self.real, 0.5)

            def scaled(code: str, x: str, y: str) -> str:
                return lanes.binary("fmul", self.type, half, lanes.binary(code, self.type, x, y))

            even = scaled("fadd", a[0], b[0]), scaled("fsub", a[1], b[1])
            # The odd numbers, times i: forwards `w (a - conj b) / 2i`, backwards `i (a - conj b) / 2w`.
            difference = scaled("fsub", a[0], b[0]), scaled("fadd", a[1], b[1])
            if inverse:
                conjugate = w[0], lanes.op(f"fneg {lanes.of(self.type)} {w[1]}")
                product = self.times(difference, conjugate, lanes)
                value = lanes.binary("fsub", self.type, even[0], product[1]), lanes.binary("fadd", self.type, even[1], product[0])
            else:
                product = self.times(difference, w, lanes)
                value = lanes.binary("fadd", self.type, even[0], product[1]), lanes.binary("fsub", self.type, even[1], product[0])
            self.store(target, k, value, lanes)

        self.each(some, n if inverse else n + 1)
