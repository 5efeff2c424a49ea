"""
A call of the array library as kernels of ours that run one after the other.

Where there is a plan these run instead of the call, so that a graph can hold it.
"""

from __future__ import annotations

from dataclasses import dataclass

from .kernel import CudaKernel


@dataclass(frozen=True)
class KernelStage:
    """
    A kernel, and what it takes, in this order: what it reads, then what it writes.

    Words are `operand 0`, `result 0`, `scratch 0` and so on, and `state` for the seed and the induction variables.
    """

    kernel: CudaKernel
    reads: tuple[str, ...]
    writes: tuple[str, ...]


@dataclass(frozen=True)
class Staged:
    """The stages, and the bytes of each scratch."""

    stages: tuple[KernelStage, ...]
    scratch: tuple[int, ...] = ()
