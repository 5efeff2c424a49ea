"""
Fourier transforms of lines whose lengths have small factors, a line at a time on the stack of its thread.

Transforms of an even number of real numbers are those of half the length, of even numbers as real parts and odd ones as imaginary
ones; those of an odd number take zeros as imaginary parts.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import log2, prod

from mind_dialect.ptir.types import PtirDType

from .failures import Sites
from .fourier_passes import FourierPasses, Parts
from .fourier_tables import padded_length
from .ir import Function
from .kernel_text import argument, index_of, unflattened
from .lanes import Lanes
from .memory import Access, buffers_of
from .steps import NativeStep
from .target_info import TargetInfo
from .views import View, form

SCRATCH = 256 << 10
"""Bytes on the stack of a unit of work, at most."""
RATE = 6.0
"""Operations in a nanosecond, about."""


@dataclass
class FourierTransform(NativeStep):
    """The transform `kind` of each line of `x` along its last axis, into a dense `out`; `factors` are those of `factors_of`."""

    name: str
    kind: str
    x: View
    factors: View
    out: View
    length: int
    """Complex numbers that are transformed: half those of a real line of even length."""
    width: int
    """Lanes."""

    @property
    def addresses(self) -> Sequence[View]:
        return [self.x, self.factors, self.out]

    def access(self) -> Access:
        return Access(buffers_of([self.x, self.factors]), buffers_of([self.out]))

    @property
    def flops(self) -> int:
        """Five for each number and bit of the length; by chirps, of two longer transforms."""
        padded = padded_length(self.length)
        times = 1 if padded == self.length else 2
        return int(5 * times * prod(self.out.shape[:-1]) * padded * log2(padded))

    def cost(self, host: TargetInfo) -> float:
        return self.flops / RATE

    def key(self) -> Hashable:
        return self.kind, self.length, self.width, *map(form, self.addresses)

    def contents(self) -> str:
        padded = padded_length(self.length)
        by = "" if padded == self.length else f" by chirps of {padded}"
        return f"{self.kind} of {list(self.x.shape)}{by}"

    @property
    def paired(self) -> bool:
        """Return whether two neighbours of a real line are one number."""
        real = {"rfft": self.x, "irfft": self.out}.get(self.kind)
        return real is not None and real.shape[-1] == 2 * self.length


def width_of(host: TargetInfo, real: PtirDType, length: int) -> int:
    """Return the lanes of a transform: passes combine numbers that are a fraction of the length apart."""
    return min(host.lanes(real.size), 1 << max(0, padded_length(length) // 4 - 1).bit_length())


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


class _Line(FourierPasses):
    """The transform of one line."""

    def __init__(self, f: Function, host: TargetInfo, step: FourierTransform):
        self.x, factors, self.out = (argument(f, i, name) for i, name in enumerate(("x", "factors", "out")))
        super().__init__(f, host, step.factors.dtype, step.width, step.length, factors)
        self.step = step
        self.divisor = step.length if step.kind.startswith("i") else 1

    def emit(self, x: str, out: str) -> None:
        """The line that begins at an element of the operand, into the one that begins at an element of the result."""
        kind, f, paired = self.step.kind, self.f, self.step.paired
        x, out = (f.mul(i, 1 if real else 2) for i, real in ((x, kind == "rfft"), (out, kind == "irfft")))
        x, out = f.address(self.type, self.x, x), f.address(self.type, self.out, out)
        if kind == "rfft" and not paired:
            self._take_real(x)
        elif kind == "irfft":
            self._take(x, self.rooms[1 if paired else 0], self.step.x.shape[-1])
            if paired:
                self._halves(self.rooms[1], self.rooms[0], inverse=True)
            else:
                self._mirror(self.rooms[0])
        else:
            self._take(x, self.rooms[0], self.length)
        source, target = self.transform(inverse=kind.startswith("i"))
        if kind == "rfft" and paired:
            self._halves(source, target, inverse=False)
            source = target
        if kind == "irfft" and not paired:
            self._give_real(source, out)
        else:
            self._give(source, out)

    # Memory

    def _take(self, x: str, target: Parts, count: int) -> None:
        """Read a line, two neighbours as one number if they are real."""
        stride, kind = self.step.x.strides[-1], self.step.kind
        second = stride if kind == "rfft" else 1

        def some(i: str, lanes: Lanes) -> None:
            at = self.f.mul(i, 2 * stride)
            if stride == 1:
                value = self.numbers(self.f.address(self.type, x, at), lanes)
            else:
                a, b = (lanes.load(self.real, x, self.f.add(at, str(k * second)), 2 * stride) for k in range(2))
                value = a, b
            self.store(target, i, value, lanes)

        self.each(some, count)
        if kind == "irfft":  # the ends of the transform of real numbers are real
            for i in (0, count - 1) if self.step.paired else (0,):
                self.one.store(self.real, self.one.constant(self.real, 0), target[1], str(i), 1)

    def _take_real(self, x: str) -> None:
        """Read a line of real numbers as complex ones."""
        stride = self.step.x.strides[-1]

        def some(i: str, lanes: Lanes) -> None:
            re = lanes.load(self.real, x, self.f.mul(i, stride), stride)
            self.store(self.rooms[0], i, (re, lanes.constant(self.real, 0)), lanes)

        self.each(some, self.length)

    def _mirror(self, target: Parts) -> None:
        """Put behind a first half, of an odd number of numbers, the conjugates of what is in it."""

        def some(i: str, lanes: Lanes) -> None:
            re, im = self.load(target, self.f.add(i, "1"), lanes)
            value = re, lanes.op(f"fneg {lanes.of(self.type)} {im}")
            at = self.f.op(f"sub nsw i64 {self.length - lanes.width}, {i}", "other")
            self.store(target, at, self.reversed(value) if lanes.width > 1 else value, lanes)

        self.each(some, self.length // 2)

    def _give(self, source: Parts, out: str) -> None:
        """Write a line; the inverses divide by its length."""

        def some(i: str, lanes: Lanes) -> None:
            self.put(self.address(out, i), self.divided(self.load(source, i, lanes), self.divisor, lanes), lanes)

        self.each(some, self.length if self.step.kind == "irfft" else self.step.out.shape[-1])

    def _give_real(self, source: Parts, out: str) -> None:
        """Write the real parts of a line."""

        def some(i: str, lanes: Lanes) -> None:
            re, _ = self.divided(self.load(source, i, lanes), self.divisor, lanes)
            lanes.store(self.real, re, out, i, 1)

        self.each(some, self.length)

    def _halves(self, source: Parts, target: Parts, *, inverse: bool) -> None:
        """The transform of a real line, of that of half its length, or the other way round; one number more than that has."""
        f, n = self.f, self.length
        if not inverse:  # the transform repeats
            self.store(source, str(n), self.load(source, "0", self.one), self.one)
        table = f.address(self.type, self.factors, str(self.step.factors.count - self.wide.width - 2 * (n + 1)))
        roots = table, f.address(self.type, table, str(n + 1))

        def some(k: str, lanes: Lanes) -> None:
            a, w = self.load(source, k, lanes), self.load(roots, k, lanes)
            b = self.load(source, f.op(f"sub nsw i64 {n - lanes.width + 1}, {k}", "other"), lanes)
            if lanes.width > 1:
                b = self.reversed(b)
            value = self.from_halves(a, b, w, lanes, inverse=inverse)
            self.store(target, k, value, lanes)

        self.each(some, n if inverse else n + 1)
