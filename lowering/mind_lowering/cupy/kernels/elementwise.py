"""Kernels in which every element is computed by itself."""

from __future__ import annotations

from math import prod

from .body import WHOLE, Body, Scope, whole_place
from .kernel import MOST_BLOCKS, THREADS, CudaKernel, KernelWriter, indented
from .places import spec
from .unsupported import Unsupported


def elementwise_kernel(body: Body) -> CudaKernel:
    """Every thread some neighbouring elements, then those so many further on, until all are done."""
    shapes = [spec(v)[1] for v in body.results]
    size = prod(shapes[0]) if shapes else 0
    if not shapes or any(prod(s) != size for s in shapes):
        raise Unsupported("results of different sizes")
    writer = KernelWriter(body)
    if size == 0:
        return writer.kernel([], writer.launch(0, THREADS))
    width = writer.width(size)
    grid = min(-(-size // (THREADS * width)), MOST_BLOCKS)
    head = [f"const I {WHOLE} = start + j;" if width > 1 else f"const I {WHOLE} = start;"]
    inner = writer.elements(
        Scope(writer.source),
        whole_place(shapes[0]),
        head,
        range(len(shapes)),
        vector=(width, "start", f"I({size})"),
        guard=f"{WHOLE} < {size}" if size % width else None,
    )
    first, step = f"(I(blockIdx.x) * {THREADS} + threadIdx.x) * {width}", f"I(gridDim.x) * {THREADS * width}"
    loop = [f"for (I start = {first}; start < {size}; start += {step}) {{", *indented(inner), "}"]
    return writer.kernel(loop, writer.launch(grid, THREADS))
