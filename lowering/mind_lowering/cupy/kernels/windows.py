"""Reductions of windows, such as pooling: a thread for each window, which takes up its elements in row-major order."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Block

from mind_dialect.ptir import ReduceWindowOp
from mind_dialect.ptir.legal import default_accumulator
from mind_dialect.ptir.types import PtirDType

from .element import for_each, function, lone_body, scratch
from .folds import check_total, identity
from .kernel import CudaKernel, KernelWriter, Schedule, indented
from .places import cut, place, spec
from .scalars import STORED, cast, register
from .unsupported import Unsupported

MOST_PLACES = 1 << 16
"""So many elements of a window at most."""


class WindowReductionSchedule(Schedule):
    """A reduction of windows."""

    def __init__(self, op: ReduceWindowOp, block: Block):
        self.op, self.body, values = op, lone_body(op, block), op.values()
        (dtype, extents), self.shape, self.kind = spec(op.x), spec(op.result)[1], values["kind"]
        self.wide: PtirDType = values["accum_dtype"] or default_accumulator(dtype)
        self.window: Sequence[int] = values["window_dims"]
        places = prod(self.window)
        if 0 in (prod(self.shape), places, prod(extents)) or places > MOST_PLACES:
            raise Unsupported(f"windows of {places} elements")
        check_total(self.kind, self.wide)

    def emit(self) -> CudaKernel:
        op, values, writer = self.op, self.op.values(), KernelWriter(self.body)
        (dtype, extents), shape, kind, wide, window = spec(op.x), self.shape, self.kind, self.wide, self.window
        size, places, rank = prod(shape), prod(window), len(shape)
        names = [f"p{a}" for a in range(rank)]
        at = place(*(((n,), p) for n, p in zip(extents, names, strict=True)))
        lines = function(writer.source, "element", op.x, at, ", ".join(f"I {p}" for p in names), wide)
        outer, inner = (scratch(writer.source) for _ in range(2))
        first = [c.number for c in cut(place((shape, "e")), range(rank), outer)]
        within = [c.number for c in cut(place((tuple(window), "k")), range(rank), inner)]
        start = cast(identity(kind, dtype), dtype, wide)
        iteration = list(inner.lines)
        given: list[str] = []
        for a, extent in enumerate(extents):
            stride, dilation, base = values["strides"][a], values["window_dilation"][a], values["base_dilation"][a]
            low, _ = values["padding"][a]
            iteration.append(f"const I p{a} = {first[a]} * {stride} + {within[a]} * {dilation} - {low};")
            tests = [f"p{a} < 0", f"p{a} >= {(extent - 1) * base + 1}", *([f"p{a} % {base} != 0"] if base > 1 else [])]
            iteration.append(f"const bool outside{a} = {' || '.join(tests)};")
            given.append(f"p{a} / {base}" if base > 1 else f"p{a}")
        outside = " || ".join(f"outside{a}" for a in range(rank))
        iteration.append(f"total = mind::{kind.capitalize()}::of(total, {outside} ? {start} : element({', '.join(given)}));")
        stored = f"mind::Stored<{STORED[dtype]}>::store({cast('total', wide, dtype)})"
        each = [
            *outer.lines,
            f"{register(wide)} total = {start};",
            f"for (I k = 0; k < {places}; ++k) {{",
            *indented(iteration),
            "}",
            f"b0[e] = {stored};",
        ]
        return for_each(writer, "e", size, each, lines)
