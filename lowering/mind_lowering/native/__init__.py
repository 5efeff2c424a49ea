"""
The native CPU target: PTIR as LLVM IR text, already vectorised, one module per program.

    program.py       a function as a module with one entry: optimised, fused, planned, printed
    planner.py       which kernels in which order; what falls back to NumPy
    kernels.py       op class -> native kernel, or the reason for the fallback      <- matrix products, row kernels plug in here
    groups.py        a fused group -> one loop nest (loops.py over places.py)
    rows/            fusions over the same rows -> one row kernel
    products/        a product, and what is done before and after it                  convolutions/       <- the same with windows
    calling.py       how an entry calls a kernel: at once or by the pool of threads (pool/); partials.py, costs.py
    elementwise.py   op class -> instructions                    vmath/              <- functions of real numbers plug in here
    memory.py        the arena        views.py, nest.py   strides and axes        lanes.py, casts.py, failures.py, ir.py, host.py

Nothing here needs llvmlite; `mind_runtime.native` compiles the text and calls it.
"""

from .host import HOSTS, Host, detect, host_of
from .program import Entry, Native, dynamic, lower, prepared

__all__ = ["HOSTS", "Entry", "Host", "Native", "detect", "dynamic", "host_of", "lower", "prepared"]
