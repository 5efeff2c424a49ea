"""Rows reduced into segments: a block for each segment takes up its rows in their order. Promises of the ids are checked."""

from __future__ import annotations

from math import prod

from xdsl.ir import Block

from mind_dialect.ptir import SegmentReduceOp
from mind_dialect.ptir.legal import default_accumulator
from mind_dialect.ptir.types import SI64, PtirDType

from .element import function, lone_body
from .folds import check_total, identity
from .kernel import MOST_BLOCKS, CudaKernel, KernelWriter, Schedule, indented
from .places import place, spec
from .scalars import STORED, cast, register
from .unsupported import Unsupported

MOST_LOOKS = 1 << 34
"""So many looks at an id at most: each segment looks at all of them."""
_EACH = 4


class SegmentSchedule(Schedule):
    """A segmented reduction."""

    def __init__(self, op: SegmentReduceOp, block: Block):
        self.op, self.body, values = op, lone_body(op, block), op.values()
        (dtype, shape), self.segments, self.kind = spec(op.data), values["num_segments"], values["kind"]
        self.rows, self.width = shape[0], prod(shape[1:])
        self.wide: PtirDType = values["accum_dtype"] or default_accumulator(dtype)
        if 0 in (self.rows, self.width, self.segments) or self.segments * self.rows > MOST_LOOKS:
            raise Unsupported(f"{self.rows} rows for {self.segments} segments")
        check_total(self.kind, self.wide)

    def emit(self) -> CudaKernel:
        op, values, writer = self.op, self.op.values(), KernelWriter(self.body)
        (dtype, shape), segments, kind, wide = spec(op.data), self.segments, self.kind, self.wide
        rows, width = self.rows, self.width
        lines = function(writer.source, "id", op.segment_ids, place((spec(op.segment_ids)[1], "j")), "I j", SI64)
        lines += function(writer.source, "element", op.data, place(((rows,), "j"), (shape[1:], "w")), "I j, I w", wide)
        sorted_site, unique_site = (1, 1 + values["indices_are_sorted"])
        checks = [f"if (mind::ui64(id(j)) >= {segments}u) mind::fail(record, 0, mind::ui64(j), id(j));"]
        if values["indices_are_sorted"]:
            checks.append(f"if (j && id(j) < id(j - 1)) mind::fail(record, {sorted_site}, mind::ui64(j), id(j));")
        each = f"for (int i = 0; i < {_EACH}; ++i)"
        start = cast(identity(kind, dtype), dtype, wide)
        unique = f"if (count++ && threadIdx.x == 0) mind::fail(record, {unique_site}, mind::ui64(j), mind::si64(s));"
        inside, place_of = f"first + threadIdx.x + 256 * i < {width}", "first + threadIdx.x + 256 * i"
        take = f"if ({inside}) total[i] = mind::{kind.capitalize()}::of(total[i], element(j, {place_of}));"
        stored = f"mind::Stored<{STORED[dtype]}>::store({cast('total[i]', wide, dtype)})"
        iteration = [
            f"for (I first = 0; first < {width}; first += {256 * _EACH}) {{",
            f"    {register(wide)} total[{_EACH}];",
            "    int count = 0;",
            f"    {each} total[i] = {start};",
            f"    mind::in_order(I(0), I({rows}), [&](I j) {{ return id(j) == s; }}, [&](I j) {{",
            *([f"        {unique}"] if values["unique"] else []),
            f"        {each} {take}",
            "    });",
            f"    {each} if ({inside}) b0[s * {width} + {place_of}] = {stored};",
            "}",
        ]
        first, step = "I(blockIdx.x) * 256 + threadIdx.x", "I(gridDim.x) * 256"
        check = [f"for (I j = {first}; j < {rows}; j += {step}) {{", *indented(checks), "}"]
        loop = [f"for (I s = blockIdx.x; s < {segments}; s += gridDim.x) {{", *indented(iteration), "}"]
        return writer.kernel([*lines, *check, *loop], writer.launch(min(segments, MOST_BLOCKS), 256))
