"""Calls of the array library that are kernels of ours in a plan, and the kernels of those of one function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.dialects.func import FuncOp

from ...xp import CallOp
from ...xp.regions import LoopOp
from ..source import CudaKernels
from .kernel import CudaKernel
from .random_numbers import draw_stages, loops_around
from .sorts import sort_stages
from .stages import KernelStage, Staged

STAGED: dict[str, Callable[[CallOp], Staged | None]] = {
    **dict.fromkeys(("k.rng_uniform", "k.rng_normal"), draw_stages),
    **dict.fromkeys(("k.sort", "k.top_k"), sort_stages),
}
"""Bodies of kernels for these calls; None for calls without a kernel of ours."""


@dataclass
class CallKernels:
    """The kernels of the calls of a function of a plain name, by their names in Python; a plan adds what else it needs."""

    name: str = "f"
    kernels: CudaKernels = field(default_factory=CudaKernels)
    of: dict[CallOp, Staged] = field(default_factory=dict[CallOp, Staged])
    names: dict[KernelStage, str] = field(default_factory=dict[KernelStage, str])
    loops: dict[LoopOp, int] = field(default_factory=dict[LoopOp, int])
    """The loops whose iterations draw, and how many are around each."""

    def add(self, kernel: CudaKernel) -> str:
        """The name of one more kernel."""
        return self.kernels.add(self.name, kernel)


def call_kernels(func: FuncOp, name: str, kernels: CudaKernels) -> CallKernels:
    """The kernels of the calls in a lowered function of a plain name, which `kernels` is given too."""
    found = CallKernels(name, kernels)
    for op in func.walk():
        if isinstance(op, CallOp) and (how := STAGED.get(op.function)) is not None and (staged := how(op)) is not None:
            found.of[op] = staged
            found.names |= {stage: found.add(stage.kernel) for stage in staged.stages}
            if "iterations" in op.values():
                found.loops |= {loop: i for i, loop in enumerate(loops_around(op))}
    return found
