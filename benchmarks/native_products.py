"""
Matrix products of the native target beside NumPy's (OpenBLAS, one thread): GFLOP/s, and GB/s of the weights where rows are few.

    python benchmarks/native_products.py [--isa avx2] [--rounds 15] [--out benchmarks/results]

Both write into arrays that are there. They are timed in iteration, in rounds, by the processor time of the thread, so that a busy
neighbour costs caches and clock but no iterations; a ratio is that of one round, and what is given is the median, least to most.
The peak of multiplications in registers and that of reading memory are measured in the same run.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import ctypes
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from machine import described
from streams import VECTORS, loops_of

from lone_products import compiled
from mind_dialect.ptir.types import F32, F64, PtirDType
from mind_lowering.native.host import this_machine
from mind_lowering.native.ir import LlvmModule
from mind_lowering.native.lanes import Lanes
from mind_lowering.native.target_info import TARGETS, TargetInfo
from mind_runtime.native import jit

SECONDS = 0.02
"""Of one sample, at least."""
SQUARES = (64, 128, 256, 512, 1024)
SHAPES: Sequence[tuple[PtirDType, tuple[int, int, int], str]] = (
    *[(F32, (n, n, n), "AB") for n in SQUARES],
    *[(F32, (512, 512, 512), form) for form in ("A'B", "AB'", "A'B'")],
    *[(F64, (n, n, n), "AB") for n in SQUARES],
    *[(F32, (128, k, n), "AB") for k, n in ((768, 2304), (768, 3072), (3072, 768))],
    *[(F32, (8, 768, 3072), form) for form in ("AB", "AB'")],
)
"""Products: dtype; rows, depth, columns; which operand lies transposed."""
DECODE = tuple((F32, (1, 768, n), form) for n in (768, 3072, 50257) for form in ("AB", "AB'"))
"""One row against weights: as fast as memory, or a cache, is read."""


def per_call(run: Callable[[], object], calls: int) -> float:
    """Seconds of processor time."""
    start = time.thread_time()
    for _ in range(calls):
        run()
    return (time.thread_time() - start) / calls


def in_iteration(runs: Sequence[Callable[[], object]], rounds: int) -> list[list[float]]:
    """The times of each, round by round."""
    calls = []
    for run in runs:
        per_call(run, 2)
        calls.append(max(1, int(SECONDS / max(per_call(run, 2), 1e-7))))
    return list(zip(*[[per_call(run, n) for run, n in zip(runs, calls, strict=True)] for _ in range(rounds)], strict=True))


def spread(values: Sequence[float], digits: int) -> str:
    """The median, least to most."""
    return f"{median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def row(host: TargetInfo, dtype: PtirDType, shape: tuple[int, int, int], form: str, rounds: int, *, decode: bool) -> str:
    """A row of the table."""
    m, k, n = shape
    rng = np.random.default_rng(0)
    kind = np.float32 if dtype is F32 else np.float64
    a = rng.standard_normal((k, m) if form.startswith("A'") else (m, k)).astype(kind)
    b = rng.standard_normal((n, k) if form.endswith("B'") else (k, n)).astype(kind)
    a, b = a.T if form.startswith("A'") else a, b.T if form.endswith("B'") else b
    out, expected = np.empty((m, n), kind), np.empty((m, n), kind)
    product = compiled(host, a, b, out, (dtype,) * 4)
    ours, numpy = in_iteration([product.caller(a, b, out), lambda: np.matmul(a, b, out=expected)], rounds)
    np.testing.assert_allclose(out, expected, atol=1e-3, rtol=1e-3)
    work = (k * n * dtype.size if decode else 2 * m * k * n) / 1e9
    ratios = [theirs / mine for mine, theirs in zip(ours, numpy, strict=True)]
    cells = [str(dtype), f"{m} x {k} x {n}", form, *(spread([work / t for t in times], 1) for times in (ours, numpy))]
    return f"| {' | '.join([*cells, spread(ratios, 2)])} |"


TURNS, SUMS = 1 << 16, 10
"""Of the loops that show what a core can do."""


def multiplications(host: TargetInfo) -> tuple[Callable[[int], int], object]:
    """Return a function of the address of some floats, which multiplies and adds in registers, and what must be kept with it."""
    module, width = LlvmModule(host.triple, "peaks"), host.lanes(4)
    f = module.function("work", "i64", [("ptr", "p")], internal=False)
    lanes = Lanes(f, host, width)
    x, type = lanes.load(F32, "%p", "0", 1), lanes.type(F32)

    def multiply(i: str, /, *values: str) -> list[str]:
        return [lanes.intrinsic("fma" if host.fma else "fmuladd", "float", v, x, x) for v in values]

    for total in f.loop("0", str(TURNS), 1, multiply, [(type, x)] * SUMS):
        lanes.store(F32, total, "%p", "0", 1)
    f.ret("0")
    library = jit.load(module.text(), host, ["work"])
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(library.addresses["work"]), library


def peak_flops(host: TargetInfo, rounds: int) -> float:
    """GFLOP/s of multiplications and additions in registers: f32, this thread."""
    (work, _kept), room = multiplications(host), np.ones(host.lanes(4), np.float32)
    (times,) = in_iteration([lambda: work(room.ctypes.data)], rounds)
    return 2 * TURNS * SUMS * host.lanes(4) / min(times) / 1e9


def peak_reads(host: TargetInfo, rounds: int) -> float:
    """GB/s of reading 128 MiB: f32, this thread."""
    (loops, _kept), room = loops_of(host, 1, 0), np.ones(1 << 25, np.float32)
    sink, count = np.empty(host.lanes(4), np.float32), room.nbytes // (host.vector_bytes * VECTORS)
    (times,) = in_iteration([lambda: loops["plain"](room.ctypes.data, sink.ctypes.data, count, 1)], rounds)
    return room.nbytes / min(times) / 1e9


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="matrix products beside NumPy's")
    parser.add_argument("--isa", choices=sorted(TARGETS), help="take this machine for a lesser one")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--small", action="store_true", help="only the smallest shapes")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args(argv)
    host: Any = TARGETS[options.isa] if options.isa else this_machine()
    before = peak_flops(host, options.rounds), peak_reads(host, options.rounds)
    lines: list[str] = []
    parts = (("GFLOP/s", SHAPES, False), ("GB/s of weights", DECODE, True))
    for unit, shapes, decode in parts:
        lines += ["", f"| dtype | rows x depth x columns | form | ours, {unit} | NumPy, {unit} | ratio |", f"|{' --- |' * 6}"]
        for dtype, shape, form in shapes[:1] if options.small else shapes:
            lines.append(row(host, dtype, shape, form, options.rounds, decode=decode))
            print(lines[-1], flush=True)
    flops, bandwidth = map(max, before, (peak_flops(host, options.rounds), peak_reads(host, options.rounds)))
    head = [
        f"# Matrix products on {host.isa}",
        "",
        f"Medians of {options.rounds} rounds (least to most), by processor time of one thread, as NumPy has.",
        f"{described(['numpy', 'llvmlite'])}.",
        f"Multiplications and additions in registers reach {flops:.0f} GFLOP/s in f32, reading 128 MiB {bandwidth:.0f} GB/s.",
        "A ratio above 1 is ours ahead.",
    ]
    options.out.mkdir(parents=True, exist_ok=True)
    name = f"native_products_{host.isa}.md" if options.isa else "native_products.md"
    (options.out / name).write_text("\n".join([*head, *lines]) + "\n", encoding="utf-8")
    print("\n".join(head))
    return 0


if __name__ == "__main__":
    sys.exit(main())
