"""The options of the target `cupy`, in one place."""

from __future__ import annotations

from dataclasses import dataclass

from ..target_options import Switches


@dataclass(frozen=True)
class CupyOptions(Switches):
    """Each is on or off. None of them changes what a program means, but for how floats are rounded."""

    target = "cupy"

    fast_reduce: bool = False
    """Sums of floats may be added up in any order, and so differ in the last digits from run to run."""
    tf32: bool = False
    """Products of f32 may round their operands to 10 bits, for tensor cores."""
    epilogues: bool = False
    """Biases, GELU by tanh and their gradients may be computed by cuBLASLt with the products next to them, in f32."""
    warp_groups: bool = False
    """Attention of f16 and bf16 may be computed by four warps together (`wgmma`) on GPUs of compute capability 9.0."""
    graph: bool = True
    """True if sections that can be captured become CUDA graphs."""


DEFAULT = CupyOptions()
