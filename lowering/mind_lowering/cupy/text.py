"""The text around kernels: what they all call, and several of them as one module for NVRTC."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

NVRTC_OPTIONS = ("-std=c++17", "--fmad=false", "-default-device", "-diag-suppress=177,550")
"""
Unused variables are left to the compiler. No products fused into sums: results are those of the NumPy target, but for functions
such as exp, and the order of sums.
"""


@lru_cache(maxsize=1)
def prelude() -> str:
    """The functions that kernels call, as C++."""
    return (Path(__file__).parent / "mind.cuh").read_text(encoding="ascii")


def module_text(kernels: Sequence[str]) -> str:
    """The source of a module with these kernels."""
    return "\n".join([prelude(), *kernels])
