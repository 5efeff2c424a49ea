"""Runs functions of PTIR by XLA, several of them as one XLA program, for comparison with the NumPy target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.func import FuncOp

from mind_lowering.ptir_to_stablehlo import ExportOptions, stablehlo_program
from mind_runtime.xla.artifact import exported

Arrays = Sequence[np.ndarray]


def run_all(cases: Sequence[tuple[FuncOp, Arrays]], *, seed: int = 0, checks: bool = False) -> list[list[np.ndarray]]:
    """The results of each function; with `checks` the last of each is the number of the first op that was wrong, or 0."""
    import jax

    programs = [stablehlo_program(func, ExportOptions(checks=checks)) for func, _ in cases]
    with jax.enable_x64(True):
        calls = [exported(program, "f", (jax.default_backend(),)) for program in programs]

        def whole(given: Any) -> Any:
            return [call.call(*arrays) for call, arrays in zip(calls, given, strict=True)]

        words = np.array([seed & 0xFFFFFFFF, seed >> 32], np.uint32)
        given = [[*arrays, words] if p.takes_seed else list(arrays) for p, (_, arrays) in zip(programs, cases, strict=True)]
        found = jax.jit(whole)(given)
    results = [[np.asarray(x) for x in each] for each in found]
    for program, each in zip(programs, results, strict=True):
        if checks and program.sites is None:
            each.append(np.array(0, np.int32))
    return results


def normal_numbers(x: np.ndarray) -> np.ndarray:
    """The array with 0 for numbers so small that XLA takes them for 0: the subnormal ones."""
    if x.dtype.kind in "biu" or "int" in x.dtype.name:
        return x
    if x.dtype.kind == "c":
        half = x.real.dtype
        return (normal_numbers(x.real.astype(half)) + 1j * normal_numbers(x.imag.astype(half))).astype(x.dtype)
    import ml_dtypes

    least = ml_dtypes.finfo(x.dtype).smallest_normal  # which knows NumPy's dtypes too
    wide = x.astype(np.float64)
    return np.where(np.abs(wide) < float(least), 0, wide).astype(x.dtype)
