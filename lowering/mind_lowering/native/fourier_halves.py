"""
The transforms of long lines of real numbers from those of their pairs of neighbours, and the inverse: a pass over memory.

The kernels of shorter lines contain it (`fourier.py`).
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from math import prod

from mind_dialect.lazy_dataclass import dataclass

from .failures import Sites
from .fourier_passes import ComplexLanes, FourierStep, Parts
from .ir import Function
from .kernel_text import argument, unflattened
from .target_info import TargetInfo
from .views import View, form

CHUNK = 1 << 12
"""Numbers of a unit of work."""


@dataclass
class FourierHalves(FourierStep):
    """
    The transforms of lines of `2 n` real numbers, `n + 1` complex numbers each, from those of their `n` pairs of neighbours.

    An `inverse` step computes the latter from the former. Lines are contiguous; `factors` are those of `split_roots`.
    """

    name: str
    x: View
    factors: View
    out: View
    width: int
    """Lanes."""
    inverse: bool

    @property
    def length(self) -> int:
        """Return the number of pairs of neighbours of a line."""
        return min(self.x.shape[-1], self.out.shape[-1])

    @property
    def chunks(self) -> int:
        """Return the number of units of work of a line."""
        return -(-(self.length - 1) // CHUNK)

    def key(self) -> Hashable:
        return self.inverse, self.width, *map(form, self.addresses)

    def contents(self) -> str:
        what = f"lines of {2 * self.length} real numbers"
        return f"halves of the transforms of {what}" if self.inverse else f"transforms of {what} of their halves"


def emit_halves(f: Function, host: TargetInfo, step: FourierHalves, sites: Sites) -> int:
    """Emit the loop over parts of lines; return their number."""
    body, batch = _Halves(f, host, step), step.x.shape[:-1]

    for u in f.each("%begin", "%end", hint="chunk"):
        *at, chunk = unflattened(f, u, [*batch, step.chunks])
        body.emit(chunk, *step.elements(f, at))
    f.ret("0")
    return prod(batch) * step.chunks


class _Halves(ComplexLanes):
    """Emits the numbers of a part of a line."""

    def __init__(self, f: Function, host: TargetInfo, step: FourierHalves):
        self.x, self.factors, self.out = (argument(f, i, name) for i, name in enumerate(("x", "factors", "out")))
        super().__init__(f, host, step.factors.dtype, step.width)
        self.step, self.n = step, step.length

    def emit(self, chunk: str, x: str, out: str) -> None:
        """Emit a chunk of the line at element `x` of the operand into the line at element `out` of the result."""
        f, n, width = self.f, self.n, self.wide.width
        x, out = self.address(self.x, x), self.address(self.out, out)
        first = f.add(f.mul(chunk, CHUNK), "1")
        for i in f.each(first, f.least(f.add(first, str(CHUNK)), str(n)), width, hint="k"):
            k = f.least(i, str(n - width))
            a = self.load_interleaved(self.address(x, k), self.wide)
            b = self.load_interleaved(self.address(x, f.op(f"sub nsw i64 {n - width + 1}, {k}", "other")), self.wide)
            b = self.reversed(b) if width > 1 else b
            root = self.root(self.factors, n + 1, k, self.wide)
            value = self.from_halves(a, b, root, self.wide, inverse=self.step.inverse)
            self.store_interleaved(self.address(out, k), value, self.wide)
        f.when(f.op(f"icmp eq i64 {chunk}, 0", "first"), partial(self._ends, x, out))

    def _ends(self, x: str, out: str) -> None:
        """Emit the first number, and the last one of a transform of real numbers; both are real there."""
        lanes, zero = self.one, self.one.constant(self.real, 0)

        def at(base: str, k: int) -> Parts:
            return self.load_interleaved(self.address(base, str(k)), lanes)

        def combined(a: str, b: str) -> Parts:
            return lanes.binary("fadd", self.type, a, b), lanes.binary("fsub", self.type, a, b)

        if self.step.inverse:
            half = lanes.constant(self.real, 0.5)
            re, im = (lanes.binary("fmul", self.type, half, v) for v in combined(at(x, 0)[0], at(x, self.n)[0]))
            self.store_interleaved(out, (re, im), lanes)
        else:
            for k, value in zip((0, self.n), combined(*at(x, 0)), strict=True):
                self.store_interleaved(self.address(out, str(k)), (value, zero), lanes)
