"""
The patterns of CUDA kernels for the body of a fusion, in the order in which they are asked.

An attention and its gradient are known by their products; then come ops that are a kernel by themselves; any other body is
elementwise, with or without reductions.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from xdsl.ir import Block

from ..products.attention import attention_kernel, is_attention
from ..products.attention_gradient import gradient_kernel, is_gradient
from .body import Body
from .elementwise import elementwise_kernel
from .kernel import CudaKernel
from .places import spec
from .reductions import reduction_kernel
from .unsupported import Unsupported
from .whole import WHOLE_OPS

MOST_PARAMETERS = 256
"""So many arrays at most; CUDA allows 4096 bytes of parameters."""
MOST_OPS = 2000
MOST_ELEMENTS = 1 << 48
"""A failure is reported by a place of so many bits."""


def _kernel_of_attention(block: Block) -> CudaKernel | None:
    return attention_kernel(block) if is_attention(block) else None


def _kernel_of_gradient(block: Block) -> CudaKernel | None:
    return gradient_kernel(block) if is_gradient(block) else None


def _kernel_of_whole_op(block: Block) -> CudaKernel | None:
    """The kernel of the first op that is one by itself."""
    for op in block.ops:
        if type(op) in WHOLE_OPS and (found := WHOLE_OPS[type(op)](op, block)) is not None:
            return found
    return None


def _kernel_of_elements(block: Block) -> CudaKernel:
    body = Body(block)
    if len(body.inputs) + len(body.results) > MOST_PARAMETERS or len(body.ops) > MOST_OPS:
        raise Unsupported(f"{len(body.ops)} ops of {len(body.inputs)} arrays in a kernel")
    if any(prod(spec(v)[1]) >= MOST_ELEMENTS for op in body.ops for v in op.results):
        raise Unsupported(f"{MOST_ELEMENTS} elements or more")
    return reduction_kernel(body) if body.reductions else elementwise_kernel(body)


PATTERNS: tuple[Callable[[Block], CudaKernel | None], ...] = (
    _kernel_of_attention,
    _kernel_of_gradient,
    _kernel_of_whole_op,
    _kernel_of_elements,
)
"""Each gives the kernel of a body, None for one that it is not about, and raises Unsupported for one that has no kernel."""


def make_kernel(block: Block) -> CudaKernel:
    """The kernel of the body of a fusion; Unsupported says why there is none."""
    return next(kernel for pattern in PATTERNS if (kernel := pattern(block)) is not None)
