"""
Fourier transforms of many short lines, as many at a time as vectors have lanes: lines become columns on the stack of a thread.

Numbers are copied one by one, by unrolled code for a line. Real lines are transformed as complex ones.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from math import log2

from mind_dialect.lazy_dataclass import dataclass

from .failures import Sites
from .fourier import RATE
from .fourier_passes import FourierPasses, FourierStep, Parts
from .fourier_tables import PRIMES, padded_length
from .ir import Function
from .kernel_text import argument
from .lanes import register
from .target_info import TargetInfo
from .views import View, form

LONGEST = 100
"""Numbers of a line, at most."""
FULL = 16
"""Lines of a multiple of this length fill vectors by themselves, and are transformed one by one."""


@dataclass
class FourierBatch(FourierStep):
    """The transform `kind` of each line of a dense `x` along its last axis, stored in a dense `out`."""

    name: str
    kind: str
    x: View
    factors: View
    out: View
    width: int
    """Lanes."""

    @property
    def length(self) -> int:
        """Return the length of the transform: of `irfft` that of the result, of which the operand has half the spectrum."""
        return (self.out if self.kind == "irfft" else self.x).shape[-1]

    @property
    def lines(self) -> int:
        """Return the number of lines."""
        return self.x.count // self.x.shape[-1]

    @property
    def flops(self) -> int:
        """Return five for each number and bit of the length; with chirps, those of two longer transforms."""
        padded = padded_length(self.length, PRIMES)
        return int(5 * self.lines * padded * log2(padded) * (1 if padded == self.length else 2))

    def cost(self, host: TargetInfo) -> float:
        return super().cost(host) + self.flops / RATE

    def key(self) -> Hashable:
        return self.kind, self.width, *map(form, self.addresses)

    def contents(self) -> str:
        return f"{self.kind} of {list(self.x.shape)}, {self.width} lines at once"


def emit_batch(f: Function, host: TargetInfo, step: FourierBatch, sites: Sites) -> int:
    """Emit the loop over groups of lines; return their number."""
    body = _Batch(f, host, step)

    for u in f.each("%begin", "%end", hint="lines"):
        body.emit(u)
    f.ret("0")
    return -(-step.lines // step.width)


class _Batch(FourierPasses):
    """Emits the transforms of as many lines as lanes: the k-th numbers of all lines are a vector on the stack."""

    def __init__(self, f: Function, host: TargetInfo, step: FourierBatch):
        self.x, factors, self.out = (argument(f, i, name) for i, name in enumerate(("x", "factors", "out")))
        super().__init__(f, host, step.factors.dtype, step.width, step.length, factors, together=True)
        self.step, self.inverse = step, step.kind.startswith("i")
        self.staged = f.op(f"alloca [{2 * step.length * step.width} x {self.type}], align 64", "staged")
        """Complex numbers whose parts alternate."""

    def emit(self, block: str) -> None:
        """Emit the transforms of the lines of a group."""
        f, step, kind = self.f, self.step, self.step.kind
        first = f.mul(block, step.width)
        count = f.least(str(step.width), f.op(f"sub nsw i64 {step.lines}, {first}", "left"))
        self._load_lines(first, count, self.arrays[0])
        source, other = self.transform(inverse=self.inverse)

        def store(row: str) -> None:
            value = self.divided(self.load(source, row), step.length if self.inverse else 1, self.wide)
            if kind == "irfft":
                self.store(other, row, value)
            else:
                self.store_interleaved(self.address(self.staged, row), value, self.wide)

        self._rows(step.out.shape[-1], store)
        self._copy(other[0] if kind == "irfft" else self.staged, (self.out, first), count, step.out.shape[-1], back=True)

    def _load_lines(self, first: str, count: str, target: Parts) -> None:
        """Load lines; of half a spectrum also the other half, which is its conjugate."""
        kind, n, width, extent = self.step.kind, self.step.length, self.step.width, self.step.x.shape[-1]
        zero = self.wide.constant(self.real, 0)
        if kind == "rfft":
            self._copy(target[0], (self.x, first), count, extent, back=False)
            self._rows(n, lambda row: self.wide.store(self.real, zero, target[1], row, 1))
            return
        self._copy(self.staged, (self.x, first), count, extent, back=False)
        self._rows(extent, lambda row: self.store(target, row, self.load_interleaved(self.address(self.staged, row), self.wide)))
        if kind == "irfft":
            for j in range(extent):
                re, im = self.load(target, str(j * width))
                if 2 * j % n == 0:
                    self.wide.store(self.real, zero, target[1], str(j * width), 1)
                else:
                    opposite = self.wide.op(f"fneg {self.wide.of(self.type)} {im}")
                    self.store(target, str((n - j) * width), (re, opposite))

    def _rows(self, count: int, body: Callable[[str], None]) -> None:
        """Emit `body` for the index of each row on the stack."""
        for i in self.f.each("0", str(count * self.step.width), self.step.width, hint="row"):
            body(i)

    def _copy(self, stack: str, lines: tuple[str, str], count: str, extent: int, *, back: bool) -> None:
        """Emit a copy of `count` lines of `extent` numbers, `(address, first line)`, to the columns of `stack`, or `back`."""
        f, (base, first), width = self.f, lines, self.step.width
        view = self.step.out if back else self.step.x
        type = register(self.real) if view.dtype is self.real else f"<2 x {self.type}>"
        align = self.real.size
        for lane in f.each("0", count, hint="lane"):
            start = f.address(type, base, f.mul(f.add(first, lane), extent))
            column = f.address(type, stack, lane)
            for j in range(extent):
                ends = f.address(type, start, str(j)), f.address(type, column, str(j * width))
                source, target = reversed(ends) if back else ends
                value = f.op(f"load {type}, ptr {source}, align {align}", "number")
                f.do(f"store {type} {value}, ptr {target}, align {align}")
