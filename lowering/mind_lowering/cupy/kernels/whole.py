"""
Ops that are a kernel by themselves, with what computes their operands element by element: scans, updates in place, segments.

Each row gives the kernel of a fusion that ends in the op; None where the op is there as a map among others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import Block

from mind_dialect import ptir

from ..products.convolution import convolution_kernel
from .kernel import CudaKernel
from .scans import cumulative_kernel
from .scatters import scatter_add_kernel
from .segments import segment_kernel
from .updates import scatter_reduce_kernel, window_kernel
from .windows import window_reduction_kernel

WHOLE_OPS: dict[type[Any], Callable[[Any, Block], CudaKernel | None]] = {
    ptir.ConvolutionOp: convolution_kernel,
    ptir.CumulativeSumOp: cumulative_kernel,
    ptir.CumulativeOp: cumulative_kernel,
    ptir.DynamicUpdateSliceOp: window_kernel,
    ptir.ScatterReduceOp: scatter_reduce_kernel,
    ptir.ScatterAddOp: scatter_add_kernel,
    ptir.SegmentReduceOp: segment_kernel,
    ptir.ReduceWindowOp: window_reduction_kernel,
}
"""The kernel of a fusion that holds such an op; closed by a test."""
