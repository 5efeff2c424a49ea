"""
The machines that tests run as: this one, or this one taken for a lesser one.

A plan (which kernel, which tiles, which stores) depends on a `TargetInfo`. A test of a plan therefore names one; a test of
results holds on every machine, and with `--isa=every` it runs as each instruction set that this machine executes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from numpy._core import _multiarray_umath as numpy_core  # the only home of the names of what NumPy dispatches on

from mind_lowering.native import host as host_module
from mind_lowering.native.host import ISA_VARIABLE
from mind_lowering.native.target_info import TARGETS, TargetInfo

THIS = host_module.this_machine()
_TAKEN_FOR = host_module.detect()
_HERE = host_module.runnable()
RUNNABLE = _HERE[_HERE.index(_TAKEN_FOR.isa) :]
"""The instruction sets that this machine, or what the environment takes it for, executes, in the order of `TARGETS`."""
_OPENBLAS = {"avx2vnni": "Haswell", "avx2": "Haswell", "baseline": "Nehalem"}
_WITH_AVX2 = {"X86_V3", "AVX", "F16C", "FMA3", "AVX2"}
_NUMPY_KEEPS = {"avx2vnni": _WITH_AVX2, "avx2": _WITH_AVX2, "baseline": set[str]()}


def with_stated_caches() -> TargetInfo:
    """Return this machine with the caches that `TARGETS` has, so that plans depend on the instruction set alone."""
    like = TARGETS[THIS.isa]
    return replace(THIS, l1_bytes=like.l1_bytes, l2_bytes=like.l2_bytes, shared_bytes=like.shared_bytes)


def environment(isa: str) -> Mapping[str, str]:
    """Return the variables that make a new process, its NumPy and its BLAS do without what `isa` lacks."""
    if isa == THIS.isa or isa not in _OPENBLAS:
        return {ISA_VARIABLE: isa}
    without = sorted(set(numpy_core.__cpu_dispatch__) - _NUMPY_KEEPS[isa])
    return {ISA_VARIABLE: isa, "OPENBLAS_CORETYPE": _OPENBLAS[isa], "NPY_DISABLE_CPU_FEATURES": " ".join(without)}
