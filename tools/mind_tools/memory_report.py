"""
What `mind-run --memory` says: the most bytes in use at once beyond the inputs, planned and measured.

There are two plans. The buffer plan is of the program as it stands, calls put in place, whoever runs it. The bound is of the
program as the target runs it, after lowering, with what kernels need beside their results; a run stays under it, but for Python's
own objects.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.func import FuncOp

from mind_lowering.conversion import BufferizeOptions, plan_function
from mind_passes.inline import calls_in, inlined
from mind_runtime import Program


def measured(program: Program, func: FuncOp, arguments: Sequence[Any]) -> tuple[Any, str]:
    """
    What a run returns, and a line on its memory. Inputs and constants, which are there before, count nowhere.

    The second of two runs is measured, as the first may load modules.
    """
    plan = plan_function(inlined(func).func if calls_in(func) else func, BufferizeOptions(sizes=program.sizes(arguments)))
    bound = program.memory_need(*arguments)
    program(*arguments)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        results = program(*arguments)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    unknown = f" and {plan.unknown} buffers of unknown size" if plan.unknown else ""
    planned = f"buffer plan {plan.peak_bytes} bytes{unknown}"
    return results, f"memory: {planned}, bound of the run {bound} bytes, measured peak {peak - before} bytes"
