"""
The native CPU target: PTIR as LLVM IR text, already vectorised, one module per program.

    program.py       a function as a module with one entry: optimised, fused, planned, printed; the pass and the target of tools
    planner.py       which kernels in which order; what falls back to NumPy (outlining.py)
    kernels.py       the table of kernel patterns, and reasons for the fallback     <- kernels plug in here; fusions: fusions.py
    patterns.py      what a row of it is: `match` with a cost, `expand`, the choice of a row
    plan.py          the launches so far: what kernels append to                     values.py   where values are
    codegen.py       kind of kernel -> its text, when memory is assigned      kernel_steps.py, kernel_text.py
    groups.py        a fused group -> one loop nest: its schedule (schedule.py) and text (loops.py, crossed.py over places.py)
    rows/            fusions over the same rows -> one row kernel       emission.py in each: text
    products/        a product, and what is done before and after it                  convolutions/       <- the same with windows
    calling.py       how an entry calls a kernel: at once or by the pool of threads (pool/, record.py); partials.py, costs.py
    elementwise.py   op class -> instructions                    vmath/              <- functions of real numbers plug in here
    control.py       branches and loops as launches      flow.py   their code      table.py   entries and offsets of operands
    views.py, nest.py   strides and axes        lanes.py, casts.py, failures.py, ir.py
    target_info.py   what code is generated for                  host.py          <- the machine of this process

Nothing here needs llvmlite; `mind_runtime.native` compiles the text and calls it. A program found on disk is not lowered, so this
says what a lowered one is (lowered.py) and leaves the rest to be imported.
"""

from .host import detect
from .lowered import Entry, Foreign, Native, Packing, Reading, TableEntry
from .target_info import TARGETS, TargetInfo, target_of

__all__ = ["TARGETS", "Entry", "Foreign", "Native", "Packing", "Reading", "TableEntry", "TargetInfo", "detect", "target_of"]
