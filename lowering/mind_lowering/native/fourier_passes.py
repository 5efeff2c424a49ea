"""
The passes of a Fourier transform between two arrays on the stack of a thread: Stockham's algorithm, of any radix.

Each pass reads one array and writes the other, so that results need no reordering by reversed digits. Real and imaginary parts
are separate arrays. The inverse is the transform with the parts exchanged, before and after.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from mind_dialect.ptir.types import PtirDType

from .fourier_tables import PRIMES, padded_length, passes, roots, split_size
from .ir import Function
from .kernel_text import index_of, multiply_add
from .lanes import Lanes, register
from .memory import Access, buffers_of
from .steps import NativeStep
from .target_info import TargetInfo
from .views import View

Parts = tuple[str, str]
"""Addresses of the real and imaginary parts of complex numbers, or their values in registers."""


def exchanged(parts: Parts, holds: bool = True) -> Parts:
    """Return the parts in the opposite order if a condition holds, else as they are."""
    return (parts[1], parts[0]) if holds else parts


class FourierStep(NativeStep):
    """A step that computes `out` of `x` and a table of factors."""

    x: View
    factors: View
    out: View

    @property
    def addresses(self) -> Sequence[View]:
        return [self.x, self.factors, self.out]

    def access(self) -> Access:
        return Access(buffers_of([self.x, self.factors]), buffers_of([self.out]))

    def elements(self, f: Function, at: Sequence[str]) -> list[str]:
        """Return the indices of the first elements of the operand and of the result at indices along their outer axes."""
        return [index_of(f, replace(v, shape=v.shape[: len(at)], strides=v.strides[: len(at)]), at) for v in (self.x, self.out)]


class ComplexLanes:
    """Complex numbers in vectors of `width` lanes, each part in a vector of its own."""

    def __init__(self, f: Function, host: TargetInfo, real: PtirDType, width: int):
        self.f, self.real, self.type = f, real, register(real)
        self.wide, self.one = Lanes(f, host, width), Lanes(f, host, 1)

    # Memory

    def load(self, parts: Parts, index: str, lanes: Lanes | None = None) -> Parts:
        """Load complex numbers from an index on, whose parts are separate arrays."""
        re, im = (((lanes or self.wide).load(self.real, p, index, 1)) for p in parts)
        return re, im

    def store(self, parts: Parts, index: str, value: Parts, lanes: Lanes | None = None) -> None:
        """Store complex numbers from an index on, whose parts are separate arrays."""
        for p, v in zip(parts, value, strict=True):
            (lanes or self.wide).store(self.real, v, p, index, 1)

    def address(self, base: str, index: str) -> str:
        """Return the address of a complex number of an array in which real and imaginary parts alternate."""
        return self.f.address(self.type, base, self.f.mul(index, 2))

    def load_interleaved(self, at: str, lanes: Lanes) -> Parts:
        """Load complex numbers from an address on, at which their parts alternate."""
        a, b = (lanes.load(self.real, at, str(k * lanes.width), 1) for k in range(2))
        return self.deinterleaved(a, b) if lanes.width > 1 else (a, b)

    def store_interleaved(self, at: str, value: Parts, lanes: Lanes) -> None:
        """Put numbers where `load_interleaved` finds them."""
        for k, v in enumerate(self.interleaved(value) if lanes.width > 1 else value):
            lanes.store(self.real, v, at, str(k * lanes.width), 1)

    def shuffled(self, a: str, b: str, places: Sequence[int]) -> str:
        """Return a vector of the lanes `places` of two vectors; a lane of a negative one is undefined."""
        of = self.wide.of(self.type)
        chosen = ", ".join("i32 poison" if i < 0 else f"i32 {i}" for i in places)
        return self.f.op(f"shufflevector {of} {a}, {of} {b}, <{len(places)} x i32> <{chosen}>", "shuffled")

    def deinterleaved(self, a: str, b: str) -> Parts:
        """Return the parts of numbers whose parts alternate in two vectors."""
        width = self.wide.width
        return self.shuffled(a, b, range(0, 2 * width, 2)), self.shuffled(a, b, range(1, 2 * width, 2))

    def interleaved(self, value: Parts) -> Parts:
        """Return the two vectors in which the parts of numbers alternate."""
        width = self.wide.width
        places = [i // 2 + (i % 2) * width for i in range(2 * width)]
        return self.shuffled(*value, places[:width]), self.shuffled(*value, places[width:])

    def reversed(self, value: Parts) -> Parts:
        """Return a vector of numbers in reverse order."""
        places = range(self.wide.width - 1, -1, -1)
        return self.shuffled(value[0], value[0], places), self.shuffled(value[1], value[1], places)

    def each(self, body: Callable[[str, Lanes], None], count: int) -> None:
        """Emit `body` for vectors of `count` numbers, the last of which may overlap the one before; or for each of few."""
        lanes = self.wide if count >= self.wide.width else self.one
        self.overlapping(lambda i: body(i, lanes), count, lanes.width)

    def overlapping(self, body: Callable[[str], None], count: int, step: int, hint: str = "i") -> None:
        """Emit `body` for each `step`-th index below `count`; the last step ends at `count`, and may overlap the one before."""

        for i in self.f.each("0", str(count), step, hint=hint):
            body(self.f.least(i, str(count - step)) if count % step else i)

    def divided(self, value: Parts, by: int, lanes: Lanes) -> Parts:
        """Return numbers divided by a length; as they are for 1."""
        if by == 1:
            return value
        factor = lanes.constant(self.real, 1 / by)
        return lanes.binary("fmul", self.type, value[0], factor), lanes.binary("fmul", self.type, value[1], factor)

    def root(self, table: str, count: int, index: str, lanes: Lanes) -> Parts:
        """Return the roots of unity from an index on, by the tables of `split_roots`."""
        size, f = split_size(count), self.f
        runs, extent = -(-count // size), size + lanes.width
        low, high = f.op(f"and i64 {index}, {size - 1}", "low"), f.op(f"lshr i64 {index}, {size.bit_length() - 1}", "high")
        ends = [f.address(self.type, table, str(i)) for i in (0, extent, 2 * extent, 2 * extent + runs)]
        near = self.load((ends[0], ends[1]), low, lanes)
        re, im = (lanes.load(self.real, part, high, 0) for part in ends[2:])
        return self.times(near, (re, im), lanes)

    # Arithmetic

    def add(self, a: Parts, b: Parts) -> Parts:
        """Return sums of complex numbers."""
        return self.wide.binary("fadd", self.type, a[0], b[0]), self.wide.binary("fadd", self.type, a[1], b[1])

    def sub(self, a: Parts, b: Parts) -> Parts:
        """Return differences of complex numbers."""
        return self.wide.binary("fsub", self.type, a[0], b[0]), self.wide.binary("fsub", self.type, a[1], b[1])

    def times(self, a: Parts, w: Parts, lanes: Lanes | None = None) -> Parts:
        """Return products of complex numbers."""
        lanes = lanes or self.wide
        opposite = lanes.op(f"fneg {lanes.of(self.type)} {a[1]}")
        re, im = (lanes.binary("fmul", self.type, a[0], w[k]) for k in range(2))
        return multiply_add(lanes, self.real, opposite, w[1], re), multiply_add(lanes, self.real, a[1], w[0], im)

    def from_halves(self, a: Parts, b: Parts, w: Parts, lanes: Lanes, *, inverse: bool) -> Parts:
        """
        Return numbers of the transform of a real line from that of its pairs of neighbours as complex numbers, or the inverse.

        `a` are the numbers at some indices, `b` those at the same indices counted from the end, `w` the roots of unity.
        """
        half = lanes.constant(self.real, 0.5)

        def scaled(code: str, x: str, y: str) -> str:
            return lanes.binary("fmul", self.type, half, lanes.binary(code, self.type, x, y))

        even = scaled("fadd", a[0], b[0]), scaled("fsub", a[1], b[1])
        # The odd numbers, times i: forwards `w (a - conj b) / 2i`, backwards `i (a - conj b) / 2w`.
        difference = scaled("fsub", a[0], b[0]), scaled("fadd", a[1], b[1])
        if inverse:
            re, im = self.times(difference, (w[0], lanes.op(f"fneg {lanes.of(self.type)} {w[1]}")), lanes)
            return lanes.binary("fsub", self.type, even[0], im), lanes.binary("fadd", self.type, even[1], re)
        re, im = self.times(difference, w, lanes)
        return lanes.binary("fadd", self.type, even[0], im), lanes.binary("fsub", self.type, even[1], re)


class FourierPasses(ComplexLanes):
    """
    Emits the transform of one line, or of `width` interleaved lines where they are transformed `together`.

    The parts of the numbers of each line are in `arrays[0]` before, and in the array that `transform` returns after. `factors` is
    the address of a table of `factors_of`.
    """

    def __init__(
        self, f: Function, host: TargetInfo, real: PtirDType, width: int, length: int, factors: str, *, together: bool = False
    ):
        super().__init__(f, host, real, width)
        self.length, self.together, self.factors = length, width if together else 1, factors
        self.padded = padded_length(length, PRIMES if together else ())
        self.n = self.padded * self.together
        """Numbers of an array."""
        self.arrays: list[Parts] = [(self._array("re"), self._array("im")) for _ in range(2)]
        self.read = 0
        """Factors that the passes emitted so far read."""
        for part in chain.from_iterable(self.arrays):  # lanes behind the numbers are loaded, and left out of results
            self.wide.store(real, self.wide.constant(real, 0), part, str(self.n), 1)

    def _array(self, hint: str) -> str:
        """Return memory on the stack for one part of all numbers, and for vectors that end behind them."""
        return self.f.op(f"alloca [{self.n + self.wide.width} x {self.type}], align 64", hint)

    def transform(self, *, inverse: bool) -> tuple[Parts, Parts]:
        """Emit the transform of `arrays[0]`; return the array with the result, and the other one."""
        source, target = (exchanged(array, inverse) for array in self.arrays)
        if self.padded == self.length:
            source, target = self._run(source, target)
        else:
            chirp, spectrum = self._chirps()
            self._multiply(source, target, chirp, self.length)
            self._clear(target)
            source, target = self._run(target, source)
            self._multiply(source, target, spectrum, self.padded)
            source, target = map(exchanged, self._run(exchanged(target), exchanged(source)))
            self._multiply(source, target, chirp, self.length)
            source, target = target, source
        return exchanged(source, inverse), exchanged(target, inverse)

    def _run(self, source: Parts, target: Parts) -> tuple[Parts, Parts]:
        """Emit the passes; return the array with the result, and the other one."""
        self.read = 0 if self.padded == self.length else 2 * (self.length + self.padded)
        for radix, done in passes(self.padded):
            interleaved = done * self.together
            (self._short if interleaved < self.wide.width else self._long)(source, target, radix, interleaved)
            source, target = target, source
        return source, target

    # Chirps

    def _chirps(self) -> tuple[Parts, Parts]:
        """Return the addresses of a chirp and of the spectrum that convolves with it."""
        places = (0, self.length, 2 * self.length, 2 * self.length + self.padded)
        a, b, c, d = (self.f.address(self.type, self.factors, str(place)) for place in places)
        return (a, b), (c, d)

    def _multiply(self, source: Parts, target: Parts, factors: Parts, count: int) -> None:
        """Store the products of the numbers of a line with their factors in another array."""

        def some(i: str, lanes: Lanes) -> None:
            self.store(target, i, self.times(self.load(source, i, lanes), self.load(factors, i, lanes), lanes), lanes)

        if self.together == 1:
            self.each(some, count)
            return
        for i in self.f.each("0", str(count), hint="row"):
            re, im = (self.wide.load(self.real, part, i, 0) for part in factors)
            at = self.f.mul(i, self.together)
            self.store(target, at, self.times(self.load(source, at), (re, im)))

    def _clear(self, target: Parts) -> None:
        """Store zeros behind the numbers of the lines, up to the padded length."""

        def some(i: str, lanes: Lanes) -> None:
            zero = lanes.constant(self.real, 0)
            self.store(target, self.f.add(i, str(self.length * self.together)), (zero, zero), lanes)

        self.each(some, (self.padded - self.length) * self.together)

    # Arithmetic

    def _transformed(self, found: Sequence[Parts]) -> list[Parts]:
        """Return the transform of as many numbers as the radix."""
        match found:
            case (a, b):
                return [self.add(a, b), self.sub(a, b)]
            case (a, b, c, d):
                evens, odds, rest = self.add(a, c), self.add(b, d), self.sub(a, c)
                rotated = self.wide.binary("fsub", self.type, b[1], d[1]), self.wide.binary("fsub", self.type, d[0], b[0])
                return [self.add(evens, odds), self.add(rest, rotated), self.sub(evens, odds), self.sub(rest, rotated)]
            case _:
                return self._of_prime(found)

    def _of_prime(self, found: Sequence[Parts]) -> list[Parts]:
        """Return the transform of an odd number of numbers, by sums and differences of the k-th and the k-th from the end."""
        first, count = found[0], len(found)
        half = (count + 1) // 2
        pairs = [(found[j], found[count - j]) for j in range(1, half)]
        sums, differences = [self.add(*pair) for pair in pairs], [self.sub(*pair) for pair in pairs]
        results = [first] * count
        for value in sums:
            results[0] = self.add(results[0], value)
        for k in range(1, half):
            cosines, sines = roots(k * np.arange(1, half), count).tolist()
            even = self._weighted(sums, cosines, first)
            # `i` times the sum of differences weighted by negative sines.
            re, im = self._weighted(differences, sines, None)
            odd = self.wide.op(f"fneg {self.wide.of(self.type)} {im}"), re
            results[k], results[count - k] = self.add(even, odd), self.sub(even, odd)
        return results

    def _weighted(self, values: Sequence[Parts], weights: Sequence[float], first: Parts | None) -> Parts:
        """Return the sum of numbers times real constants, added to `first` if there is one."""
        found: list[str] = []
        for part in range(2):
            total = None if first is None else first[part]
            for value, weight in zip(values, weights, strict=True):
                by = self.wide.constant(self.real, weight)
                if total is None:
                    total = self.wide.binary("fmul", self.type, value[part], by)
                else:
                    total = multiply_add(self.wide, self.real, value[part], by, total)
            assert total is not None, "an odd number of numbers is more than one"
            found.append(total)
        return found[0], found[1]

    # Passes

    def _powers(self, radix: int, groups: int, count: int) -> list[Parts]:
        """Return the addresses of the factors of a pass, `count` of each power; none for one group."""
        if groups == 1:
            return []
        places = [self.f.address(self.type, self.factors, str(self.read + i * count)) for i in range(2 * (radix - 1))]
        self.read += 2 * (radix - 1) * count
        return list(zip(places[::2], places[1::2], strict=True))

    def _combined(self, source: Parts, first: str, radix: int, factors: Sequence[Parts]) -> list[Parts]:
        """Return the transforms of `radix` vectors of a pass, the first one at an index, multiplied by factors."""
        apart = self.n // radix
        found = self._transformed([self.load(source, self.f.add(first, str(k * apart))) for k in range(radix)])
        return [found[0], *(self.times(y, w) for y, w in zip(found[1:], factors, strict=True))] if factors else found

    def _long(self, source: Parts, target: Parts, radix: int, done: int) -> None:
        """Emit a pass over `done` interleaved transforms, a vector at least."""
        f, groups = self.f, self.n // radix // done
        powers = self._powers(radix, groups, groups)

        def group(p: str) -> None:
            factors: list[Parts] = []
            for w in powers:
                re, im = (self.wide.load(self.real, part, p, 0) for part in w)
                factors.append((re, im))

            def some(q: str) -> None:
                found = self._combined(source, f.add(q, f.mul(p, done)), radix, factors)
                for k, value in enumerate(found):
                    self.store(target, f.add(f.add(q, f.mul(p, radix * done)), str(k * done)), value)

            self.overlapping(some, done, self.wide.width, "q")

        for p in f.each("0", str(groups), hint="p"):
            group(p)

    def _short(self, source: Parts, target: Parts, radix: int, done: int) -> None:
        """Emit a pass over interleaved transforms that are less than a vector: a vector holds as many whole groups as fit."""
        f, width, count = self.f, self.wide.width, self.n // radix
        powers = self._powers(radix, count // done, count)
        used = min(width // done * done, count)
        ends = [min(j * width, max(0, radix * used - width)) for j in range(-(-radix * used // width))]

        def some(i: str) -> None:
            found = self._combined(source, i, radix, [self.load(w, i) for w in powers])
            for first in ends:
                places = [divmod(o % (radix * used), radix * done) for o in range(first, first + width)]
                lanes = [(o // done, p * done + o % done) for p, o in places]
                re, im = (self._chosen([value[part] for value in found], lanes) for part in range(2))
                self.store(target, f.add(f.mul(i, radix), str(first)), (re, im))

        self.overlapping(some, count, used)

    def _chosen(self, found: Sequence[str], lanes: Sequence[tuple[int, int]]) -> str:
        """Return a vector of lanes `(vector, lane)` of some vectors: pairs of them are shuffled, then the results are merged."""
        width = self.wide.width
        numbers = sorted({k for k, _ in lanes})
        merged: list[tuple[set[int], str]] = []
        for a, b in zip(numbers[::2], [*numbers[1::2], numbers[-1]], strict=False):
            places = [(width if k == b != a else 0) + lane if k in (a, b) else -1 for k, lane in lanes]
            merged.append(({a, b}, self.shuffled(found[a], found[b], places)))
        while len(merged) > 1:
            (ours, x), (others, y) = merged.pop(0), merged.pop(0)
            places = [i if k in ours else width + i if k in others else -1 for i, (k, _) in enumerate(lanes)]
            merged.append((ours | others, self.shuffled(x, y, places)))
        return merged[0][1]
