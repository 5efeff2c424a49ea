"""
Fourier transforms of lines, one at a time on the stack of its thread.

A line of an even number of real numbers is transformed as one of half the length, with even numbers as real parts and odd ones as
imaginary parts; one of an odd number as complex numbers with imaginary parts 0.
"""

from __future__ import annotations

from collections.abc import Hashable
from math import log2, prod

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.types import PtirDType

from .failures import Sites
from .fourier_passes import FourierPasses, FourierStep, Parts
from .fourier_tables import padded_length
from .ir import Function
from .kernel_text import argument, unflattened
from .lanes import Lanes
from .target_info import TargetInfo
from .views import View, form

SCRATCH = 256 << 10
"""Bytes of the arrays of a unit of work on the stack, at most."""
RATE = 6.0
"""Estimated operations in a nanosecond, for costs."""


@dataclass
class FourierTransform(FourierStep):
    """The transform `kind` of lines of `x`, along its last axis, stored in a dense `out`; `factors` are those of `factors_of`."""

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
    def flops(self) -> int:
        """Return five for each number and bit of the length; with chirps, those of two longer transforms."""
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
        """Return whether pairs of neighbours of a real line are transformed as complex numbers."""
        real = {"rfft": self.x, "irfft": self.out}.get(self.kind)
        return real is not None and real.shape[-1] == 2 * self.length


def width_of(host: TargetInfo, real: PtirDType, length: int) -> int:
    """Return the lanes of a transform: a pass of radix 4 loads vectors a quarter of the length apart."""
    return min(host.lanes(real.size), 1 << max(0, padded_length(length) // 4 - 1).bit_length())


def emit_fourier(f: Function, host: TargetInfo, step: FourierTransform, sites: Sites) -> int:
    """Emit the loop over lines; return their number."""
    lines = step.out.shape[:-1]
    body = _Line(f, host, step)

    for u in f.each("%begin", "%end", hint="line"):
        body.emit(*step.elements(f, unflattened(f, u, list(lines))))
    f.ret("0")
    return prod(lines)


class _Line(FourierPasses):
    """Emits the transform of one line."""

    def __init__(self, f: Function, host: TargetInfo, step: FourierTransform):
        self.x, factors, self.out = (argument(f, i, name) for i, name in enumerate(("x", "factors", "out")))
        super().__init__(f, host, step.factors.dtype, step.width, step.length, factors)
        self.step = step
        self.divisor = step.length if step.kind.startswith("i") else 1

    def emit(self, x: str, out: str) -> None:
        """Emit the transform of the line at element `x` of the operand into the line at element `out` of the result."""
        kind, f, paired = self.step.kind, self.f, self.step.paired
        x, out = (f.mul(i, 1 if real else 2) for i, real in ((x, kind == "rfft"), (out, kind == "irfft")))
        x, out = f.address(self.type, self.x, x), f.address(self.type, self.out, out)
        if kind == "rfft" and not paired:
            self._load_real(x)
        elif kind == "irfft":
            self._load_line(x, self.arrays[1 if paired else 0], self.step.x.shape[-1])
            if paired:
                self._halves(self.arrays[1], self.arrays[0], inverse=True)
            else:
                self._mirror(self.arrays[0])
        else:
            self._load_line(x, self.arrays[0], self.length)
        source, target = self.transform(inverse=kind.startswith("i"))
        if kind == "rfft" and paired:
            self._halves(source, target, inverse=False)
            source = target
        if kind == "irfft" and not paired:
            self._store_real(source, out)
        else:
            self._store_line(source, out)

    # Memory

    def _load_line(self, x: str, target: Parts, count: int) -> None:
        """Load a line, pairs of neighbours as complex numbers if they are real."""
        stride, kind = self.step.x.strides[-1], self.step.kind
        second = stride if kind == "rfft" else 1

        def some(i: str, lanes: Lanes) -> None:
            at = self.f.mul(i, 2 * stride)
            if stride == 1:
                value = self.load_interleaved(self.f.address(self.type, x, at), lanes)
            else:
                a, b = (lanes.load(self.real, x, self.f.add(at, str(k * second)), 2 * stride) for k in range(2))
                value = a, b
            self.store(target, i, value, lanes)

        self.each(some, count)
        if kind == "irfft":  # the ends of the transform of real numbers are real
            for i in (0, count - 1) if self.step.paired else (0,):
                self.one.store(self.real, self.one.constant(self.real, 0), target[1], str(i), 1)

    def _load_real(self, x: str) -> None:
        """Load a line of real numbers as complex ones."""
        stride = self.step.x.strides[-1]

        def some(i: str, lanes: Lanes) -> None:
            re = lanes.load(self.real, x, self.f.mul(i, stride), stride)
            self.store(self.arrays[0], i, (re, lanes.constant(self.real, 0)), lanes)

        self.each(some, self.length)

    def _mirror(self, target: Parts) -> None:
        """Store the second half of an odd number of numbers: the conjugates of the first half, reversed."""

        def some(i: str, lanes: Lanes) -> None:
            re, im = self.load(target, self.f.add(i, "1"), lanes)
            value = re, lanes.op(f"fneg {lanes.of(self.type)} {im}")
            at = self.f.op(f"sub nsw i64 {self.length - lanes.width}, {i}", "other")
            self.store(target, at, self.reversed(value) if lanes.width > 1 else value, lanes)

        self.each(some, self.length // 2)

    def _store_line(self, source: Parts, out: str) -> None:
        """Store a line, divided by its length after an inverse."""

        def some(i: str, lanes: Lanes) -> None:
            self.store_interleaved(self.address(out, i), self.divided(self.load(source, i, lanes), self.divisor, lanes), lanes)

        self.each(some, self.length if self.step.kind == "irfft" else self.step.out.shape[-1])

    def _store_real(self, source: Parts, out: str) -> None:
        """Store the real parts of a line."""

        def some(i: str, lanes: Lanes) -> None:
            re, _ = self.divided(self.load(source, i, lanes), self.divisor, lanes)
            lanes.store(self.real, re, out, i, 1)

        self.each(some, self.length)

    def _halves(self, source: Parts, target: Parts, *, inverse: bool) -> None:
        """Emit the transform of a real line, `length + 1` numbers, from that of its pairs of neighbours; or the inverse."""
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
