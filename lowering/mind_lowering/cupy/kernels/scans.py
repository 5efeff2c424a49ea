"""
Running sums: a block per row where the sums are along the last axis, a thread per column otherwise.

A block takes 1,024 elements at a time; what came before is carried on. The order of additions is always the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Block

from mind_dialect.ptir import CumulativeOp, CumulativeSumOp
from mind_dialect.ptir.legal import default_accumulator

from .element import for_each, function, lone_body
from .folds import identity
from .kernel import MOST_BLOCKS, CudaKernel, KernelWriter, Schedule, indented
from .places import place, spec
from .scalars import STORED, cast, register
from .unsupported import Unsupported

_BLOCK, _EACH = 256, 4


class ScanSchedule(Schedule):
    """
    Running sums, products or extremes: element `c` of row `o` at place `i` of what is not summed.

    Only sums have a kernel that shares rows among threads.
    """

    def __init__(self, op: CumulativeSumOp | CumulativeOp, block: Block):
        self.op, self.body = op, lone_body(op, block)
        values, (self.dtype, shape) = op.values(), spec(op.x)
        if 0 in shape:
            raise Unsupported("sums of nothing")
        axis: int = values["axis"] % len(shape)
        self.kind: str = values.get("kind", "sum")
        outer, self.count, inner = shape[:axis], shape[axis], shape[axis + 1 :]
        self.outer, self.width, self.wide = prod(outer), prod(inner), default_accumulator(self.dtype)
        self.at = place((outer, "o"), ((self.count,), "c"), (inner, "i"))
        self.type, self.zero = register(self.wide), identity(self.kind, self.wide)
        self.turned = f"{self.count - 1} - n" if values["reverse"] else "n"
        kept = "before" if values["exclusive"] else "after"
        self.stored = f"mind::Stored<{STORED[self.dtype]}>::store({cast(kept, self.wide, self.dtype)})"

    def emit(self) -> CudaKernel:
        writer = KernelWriter(self.body)
        lines = function(writer.source, "element", self.op.x, self.at, "I o, I c, I i", self.wide)
        return (self._rows if self.width == 1 and self.kind == "sum" else self._columns)(writer, lines)

    def _rows(self, writer: KernelWriter, lines: Sequence[str]) -> CudaKernel:
        """A block per row."""
        count, type = self.count, self.type
        each = f"for (int j = 0; j < {_EACH}; ++j) {{"
        here = [f"const I n = base + threadIdx.x * {_EACH} + j;", f"const I c = n < {count} ? {self.turned} : I(0);"]
        read = [*here, f"x[j] = n < {count} ? element(o, c, I(0)) : {self.zero};", "sum = mind::add(sum, x[j]);"]
        write = [f"const {type} after = mind::add(before, x[j]);", f"if (n < {count}) b0[o * {count} + c] = {self.stored};"]
        iteration = [
            f"{type} x[{_EACH}], sum = {self.zero}, all;",
            *(each, *indented(read), "}"),
            f"{type} before = mind::add(carry, mind::scan(sum, all));",
            *(each, *indented([*here, *write, "before = after;"]), "}"),
            "carry = mind::add(carry, all);",
        ]
        chunks = [f"for (I base = 0; base < {count}; base += {_BLOCK * _EACH}) {{", *indented(iteration), "}"]
        row = indented([f"{type} carry = {self.zero};", *chunks])
        loop = [f"for (I o = blockIdx.x; o < {self.outer}; o += gridDim.x) {{", *row, "}"]
        return writer.kernel([*lines, *loop], writer.launch(min(self.outer, MOST_BLOCKS), _BLOCK))

    def _columns(self, writer: KernelWriter, lines: Sequence[str]) -> CudaKernel:
        """A thread per column."""
        iteration = [
            f"const I c = {self.turned};",
            f"const {self.type} after = mind::{self.kind.capitalize()}::of(before, element(o, c, i));",
            f"b0[(o * {self.count} + c) * {self.width} + i] = {self.stored};",
            "before = after;",
        ]
        steps = [f"for (I n = 0; n < {self.count}; ++n) {{", *indented(iteration), "}"]
        head = [f"const I o = q / {self.width}, i = q % {self.width};", f"{self.type} before = {self.zero};"]
        return for_each(writer, "q", self.outer * self.width, [*head, *steps], lines)
