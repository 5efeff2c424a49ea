"""
Kernels that count the iterations of loops, and move the slices of an iteration: nothing of a long scan comes from the host.

The induction variable is in memory. Iterations can then be one graph, the same again and again, some of them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from xdsl.ir import SSAValue

from ...launch.ref import read_ref
from ..kernels.kernel import NAME, THREADS, VECTOR_BYTES, CudaKernel, Launch, indented
from .addresses import alignment

_UNITS = {16: "mind::Pack<mind::ui64, 2>", 8: "mind::ui64", 4: "mind::ui32", 2: "mind::ui16", 1: "mind::ui8"}
_MOST_BLOCKS = 1024


def iteration_kernel(*, begins: bool) -> CudaKernel:
    """Emit the kernel that sets the induction variable of a loop, to 0 or to the next."""
    head = f'extern "C" __global__ void __launch_bounds__(32) {NAME}(mind::ui64* b0)'
    text = f"{head}\n{{\n    if (threadIdx.x == 0) *b0 = {'0' if begins else '*b0 + 1'};\n}}\n"
    return CudaKernel(text, Launch((), 1, 32), (), ("first_iteration" if begins else "next_iteration",))


def slices_kernel(pairs: Sequence[tuple[SSAValue, SSAValue]], *, out: bool) -> CudaKernel:
    """
    Emit the kernel that copies the slices of an iteration from whole arrays, or `out` to them, given pairs of both.

    It takes the induction variable, what it reads, and what it writes.
    """
    reads, writes, iterations = list[str](), list[str](), list[str]()
    most = 0
    for i, (whole, inner) in enumerate(pairs):
        unit, size = _unit(whole, inner), read_ref(inner.type).nbytes
        type, count = _UNITS[unit], size // unit
        most = max(most, count)
        reads.append(f"const {type}* __restrict__ a{i}")
        writes.append(f"{type}* __restrict__ b{i}")
        moved = f"b{i}[first{i} + e] = a{i}[e]" if out else f"b{i}[e] = a{i}[first{i} + e]"
        iterations += [f"const long long first{i} = iteration * {count};", f"if (e < {count}) {moved};"]
    opening = f'extern "C" __global__ void __launch_bounds__({THREADS}) {NAME}'
    step = f"(long long)gridDim.x * {THREADS}"
    loop = f"for (long long e = (long long)blockIdx.x * {THREADS} + threadIdx.x; e < {most}; e += {step}) {{"
    body = ["const long long iteration = (long long)*number;", loop, *indented(iterations), "}"]
    parameters = ", ".join(["const mind::ui64* __restrict__ number", *reads, *writes])
    text = "\n".join([f"{opening}({parameters})", "{", *indented(body), "}", ""])
    return CudaKernel(
        text, Launch((), min(-(-most // THREADS), _MOST_BLOCKS), THREADS), (), ("slices_out" if out else "slices_in",)
    )


def _unit(whole: SSAValue, inner: SSAValue) -> int:
    """Return the number of bytes that are copied at once: all slices begin at a multiple of them."""
    return gcd(VECTOR_BYTES, alignment(whole), alignment(inner), read_ref(inner.type).nbytes)
