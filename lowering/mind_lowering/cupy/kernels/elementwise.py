"""Kernels in which every element is computed by itself."""

from __future__ import annotations

from math import prod

from xdsl.ir import Block

from mind_dialect.ptir import PtirOp

from .body import Body
from .indexing import WHOLE, IndexingCheck, Known, whole_place
from .kernel import MOST_BLOCKS, THREADS, CudaKernel, KernelWriter, Schedule, indented, vector_width
from .places import reshaped, spec
from .scope import Scope
from .unsupported import Unsupported


class ElementwiseSchedule(Schedule):
    """Every thread some neighbouring elements, then those so many further on, until all are done."""

    def __init__(self, op: PtirOp | None, block: Block):
        self.body = body = Body(block)
        body.check_size()
        shapes = [spec(v)[1] for v in body.results]
        self.size = prod(shapes[0]) if shapes else 0
        if not shapes or any(prod(s) != self.size for s in shapes):
            raise Unsupported("results of different sizes")
        self.at, self.width = whole_place(shapes[0]), vector_width(body, self.size)
        if self.size:
            check = IndexingCheck(Known(body))
            check.values([(v, reshaped(self.at, s, check)) for v, s in zip(body.results, shapes, strict=True)])

    def emit(self) -> CudaKernel:
        writer, size, width = KernelWriter(self.body), self.size, self.width
        if size == 0:
            return writer.kernel([], writer.launch(0, THREADS))
        grid = min(-(-size // (THREADS * width)), MOST_BLOCKS)
        head = [f"const I {WHOLE} = start + j;" if width > 1 else f"const I {WHOLE} = start;"]
        inner = writer.elements(
            Scope(writer.source),
            self.at,
            head,
            range(len(self.body.results)),
            vector=(width, "start", f"I({size})"),
            guard=f"{WHOLE} < {size}" if size % width else None,
        )
        first, step = f"(I(blockIdx.x) * {THREADS} + threadIdx.x) * {width}", f"I(gridDim.x) * {THREADS * width}"
        loop = [f"for (I start = {first}; start < {size}; start += {step}) {{", *indented(inner), "}"]
        return writer.kernel(loop, writer.launch(grid, THREADS))
