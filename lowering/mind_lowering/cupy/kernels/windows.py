"""Reductions of windows, such as pooling: a thread for each window, which takes up its elements in row-major order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

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


def window_place(values: Mapping[str, Any], axis: int, extent: int, window: str, within: str) -> tuple[str, str, str]:
    """
    Return the statement of the place of an element of a window along an axis, when it is outside, and its index inside.

    `values` are the properties of the op, `extent` is that of the operand; `window` and `within` are the numbers of the window,
    and of the element in it.
    """
    stride, dilation, base = (values[name][axis] for name in ("strides", "window_dilation", "base_dilation"))
    low, _ = values["padding"][axis]
    p = f"p{axis}"
    outside = [f"{p} < 0", f"{p} >= {(extent - 1) * base + 1}", *([f"{p} % {base} != 0"] if base > 1 else [])]
    statement = f"const I {p} = {window} * {stride} + {within} * {dilation} - {low};"
    return statement, " || ".join(outside), f"{p} / {base}" if base > 1 else p


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
            statement, is_outside, element = window_place(values, a, extent, first[a], within[a])
            iteration += [statement, f"const bool outside{a} = {is_outside};"]
            given.append(element)
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
