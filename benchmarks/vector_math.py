"""
Functions of real numbers in vectors beside NumPy: nanoseconds per element on one core, from the first level of the cache.

    python benchmarks/vector_math.py [function ...]

Both are timed in iteration, on the same numbers, in rounds; what is given is the median. The ratio is NumPy's time to ours.
"""

from __future__ import annotations

import ctypes
import statistics
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import vector_math as vm
from mind_lowering.native.host import this_machine
from mind_lowering.native.target_info import TARGETS
from mind_lowering.native.vmath import MATH

ELEMENTS, ROUNDS, SECONDS = 4096, 15, 0.002
NUMPY = {name: getattr(np, name) for name in ("exp", "log", "tanh", "sin", "cos", "expm1", "log1p")}
NUMPY["pow"] = np.power


def per_element(run, repetitions: int) -> float:
    """Nanoseconds per element of some runs."""
    start = time.perf_counter_ns()
    for _ in range(repetitions):
        run()
    return (time.perf_counter_ns() - start) / repetitions / ELEMENTS


def measured(opcode: str, type: str, isa: str) -> tuple[float, float | None]:
    """Our time and NumPy's."""
    dtype, host = vm.TYPES[type], TARGETS[isa]
    rng = np.random.default_rng(0)
    x = np.abs(rng.standard_normal(ELEMENTS)).astype(dtype) * 2 + dtype(0.01)
    y, out = rng.standard_normal(ELEMENTS).astype(dtype), np.empty(ELEMENTS, dtype)
    place, _ = vm.address(opcode, type, host.lanes(out.itemsize), isa)
    entry = ctypes.PYFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)(place)
    pointers = [ctypes.c_void_p(v.ctypes.data) for v in (x, y, out)]
    size = ctypes.c_int64(ELEMENTS)
    operands = (x, y) if opcode in vm.BINARY else (x,)
    runs = [lambda: entry(*pointers, size)]
    if opcode in NUMPY:
        runs.append(lambda: NUMPY[opcode](*operands, out=out))
    repetitions = [max(1, int(SECONDS * 1e9 / ELEMENTS / per_element(run, 3))) for run in runs]
    rounds = [[per_element(run, n) for run, n in zip(runs, repetitions, strict=True)] for _ in range(ROUNDS)]
    ours, *others = (statistics.median(times) for times in zip(*rounds, strict=True))
    return ours, others[0] if others else None


def main() -> None:
    """Print the table."""
    isa = this_machine().isa
    print(f"{isa}, {ELEMENTS} elements, ns per element (G elements/s), NumPy {np.__version__}\n")
    print("| function | type | ours | NumPy | ratio |\n|---|---|---|---|---|")
    for opcode in sys.argv[1:] or MATH:
        for type, short in (("float", "f32"), ("double", "f64")):
            ours, numpy = measured(opcode, type, isa)
            beside = ("-", "-") if numpy is None else (f"{numpy:.3f} ({1 / numpy:.2f})", f"{numpy / ours:.2f}")
            print(f"| {opcode} | {short} | {ours:.3f} ({1 / ours:.2f}) | {beside[0]} | {beside[1]} |", flush=True)


if __name__ == "__main__":
    main()
